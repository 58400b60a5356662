// SPDX-License-Identifier: MIT
/* Heads and facts of pages, classes and axes of pictures. */
#include "page.h"

#include <math.h>
#include <string.h>

#include "embed.h"
#include "output.h"

EMBED(common_css, "tools/common/page.css");

void page_begin(FILE *out, const char *command, const char *title, const char *style)
{
	fprintf(out,
		"<!DOCTYPE html>\n<!-- made by perfctr %s " PERFCTR_VERSION " -->\n"
		"<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
		"form-action 'none'\">\n<title>",
		command);
	markup_text(out, title);
	fprintf(out, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n", embed_common_css, style);
}

void page_element(FILE *out, const char *tag, const char *words)
{
	fprintf(out, "<%s>", tag);
	markup_text(out, words);
	/* the name of the element ends at its first attribute */
	fprintf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

void page_fact(FILE *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	fputs("<div>", out);
	page_element(out, "dt", name);
	page_element(out, "dd", value);
	fputs("</div>\n", out);
}

void picture_class(FILE *out, const struct picture_class *classes, size_t count, const char *words)
{
	if (!*words)
		return;
	fprintf(out, " class=\"%s\"", words);
	while (*words) {
		const size_t length = strcspn(words, " ");

		for (size_t n = 0; n < count; n++)
			if (strlen(classes[n].name) == length &&
			    !memcmp(classes[n].name, words, length))
				fprintf(out, " %s", classes[n].attributes);
		words += length;
		words += *words == ' ';
	}
}

double picture_step(double range, int most)
{
	const double power = pow(10, floor(log10(range / most)));

	/* a step more for what floating-point numbers round away */
	for (double step = power;; step = step < 2 * power ? 2 * power :
					  step < 5 * power ? 5 * power :
							     10 * power)
		if (range / step <= most + 0.001)
			return step;
}
