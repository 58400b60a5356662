// SPDX-License-Identifier: MIT
#include "output.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"

void csv_field(FILE *out, const char *text, const char *separator)
{
	if (!strstr(text, separator) && !strpbrk(text, "\"\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

void markup_text(FILE *out, const char *text)
{
	char *clean = json_clean_text(text);

	for (const char *c = clean; c && *c; c++) {
		switch (*c) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			/* control characters are invalid in XML, even escaped */
			fputc((unsigned char)*c < ' ' ? ' ' : *c, out);
		}
	}
	free(clean);
}

void label_text(FILE *out, const char *text, bool quote)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '\n' || (*text == '"' && quote))
			fputc('\\', out);
		fputc(*text == '\n' ? 'n' : *text, out);
	}
}
