// SPDX-License-Identifier: MIT
#include "markup.h"

#include <stdlib.h>

#include "json.h"

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
