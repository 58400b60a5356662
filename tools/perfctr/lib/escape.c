// SPDX-License-Identifier: MIT
/* Text in CSV, in HTML and SVG, and in labels of Prometheus. */
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "stream.h"

/* Return: the caller frees it; NULL: no memory, the stream has ended. */
static char *clean_for(FILE *out, const char *text)
{
	char *clean = json_clean_text(text);

	if (!clean)
		stream_fail(out, ENOMEM);
	return clean;
}

bool csv_field(FILE *out, const char *text, const char *separator)
{
	char *clean = clean_for(out, text);

	if (!clean)
		return false;
	if (!strstr(clean, separator) && !strpbrk(clean, "\"\n\r")) {
		fputs(clean, out);
		free(clean);
		return true;
	}
	fputc('"', out);
	for (const char *c = clean; *c; c++) {
		if (*c == '"')
			fputc('"', out);
		fputc(*c, out);
	}
	fputc('"', out);
	free(clean);
	return true;
}

void markup_text(FILE *out, const char *text)
{
	char *clean = clean_for(out, text);

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
	char *clean = clean_for(out, text);

	for (const char *c = clean; c && *c; c++) {
		const size_t as_it_is = strcspn(c, "\\\n\"");

		fwrite(c, 1, as_it_is, out);
		c += as_it_is;
		if (!*c)
			break;
		if (*c == '\\' || *c == '\n' || (*c == '"' && quote))
			fputc('\\', out);
		fputc(*c == '\n' ? 'n' : *c, out);
	}
	free(clean);
}
