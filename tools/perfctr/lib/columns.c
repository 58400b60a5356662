// SPDX-License-Identifier: MIT
/* Words in columns of a terminal: wrapped, padded or cut. */
#include "output.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

#include "stream.h"

int terminal_columns(FILE *out, int otherwise)
{
	struct winsize size;

	if (!ioctl(stream_fd(out), TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return otherwise;
}

void columns_wrap(FILE *out, const char *text, int column, int indent, int columns)
{
	bool has_word = false;
	int blanks;

	if (column == COLUMNS_UNINDENTED) {
		column = 0;
	} else if (!column) {
		fprintf(out, "%*s", indent, "");
		column = indent;
	}
	if (!strchr(text, '\n') && column + (long)strlen(text) <= columns) {
		fprintf(out, "%s\n", text);
		return;
	}
	blanks = (int)strspn(text, " ");
	text += strspn(text, " \n");
	while (*text) {
		int length = (int)strcspn(text, " \n");

		if ((has_word || column > indent) && column + blanks + length > columns) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
			blanks = 0;
		}
		fprintf(out, "%*s%.*s", blanks, "", length, text);
		column += blanks + length;
		has_word = true;
		text += length;
		/* several blanks align what follows, those around a line feed do not */
		blanks = (int)strspn(text, " ");
		if (text[blanks] == '\n')
			blanks = 1;
		text += strspn(text, " \n");
	}
	fputc('\n', out);
}

void columns_cut(FILE *out, const char *text, int width)
{
	if ((int)strlen(text) <= width)
		fprintf(out, "%-*s", width, text);
	else
		fprintf(out, "%.*s…", width - 1, text);
}

void columns_name(FILE *out, const char *text, int width, int columns)
{
	const int length = (int)strlen(text);

	columns_cut(out, text, width ? width : length < columns ? length : columns);
	if (!width)
		fputc('\n', out);
}

static bool continues(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

char *columns_squeeze(char *text, size_t bytes)
{
	const size_t length = strlen(text);
	size_t head = bytes / 3, tail = length - (bytes - head - 3);

	if (length <= bytes || bytes < 12)
		return text;
	while (head && continues(text[head]))
		head--;
	while (continues(text[tail]))
		tail++;
	memcpy(text + head, "...", 3);
	memmove(text + head + 3, text + tail, length - tail + 1);
	return text;
}

int columns_wider(int width, const char *text)
{
	int length = (int)strlen(text);

	return length > width ? length : width;
}
