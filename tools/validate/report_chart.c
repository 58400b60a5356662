// SPDX-License-Identifier: MIT
/* Plots as SVG in HTML: expected and measured values over a parameter. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "lib/output.h"
#include "lib/page.h"

enum {
	WIDTH = 340,
	HEIGHT = 190,
	LEFT = 52,
	RIGHT = 10,
	TOP = 8,
	BOTTOM = 28,
	TICKS = 4,
	MAX_POINTS = 64,
	IDEA_STYLES = 4, /* colours of hypotheses */
};

/* a point of a line: value of the parameter, number of the study's point */
struct spot {
	int64_t x;
	size_t point;
};

struct chart {
	FILE *out;
	const struct study *study;
	size_t event;
	struct spot spots[MAX_POINTS];
	size_t count;
	struct axes axes;
};

double axes_x(const struct axes *axes, double value)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * value / axes->x_max;
}

double axes_y(const struct axes *axes, double value)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / axes->y_max;
}

/* Without the space that number_short() leaves for a unit. */
static const char *tick_text(double value, char *text, size_t size)
{
	size_t length;

	if (value == floor(value) && fabs(value) < 100000)
		snprintf(text, size, "%.0f", value);
	else
		number_short(value, text, size);
	length = strlen(text);
	if (length && text[length - 1] == ' ')
		text[length - 1] = '\0';
	return text;
}

void chart_class(FILE *out, const char *style)
{
	static const struct picture_class classes[] = {
		{ "grid", "stroke=\"#e8ebef\"" },
		{ "axis", "stroke=\"#d9dee4\"" },
		{ "measured", "fill=\"#1a1f26\" stroke=\"#f6f7f9\"" },
		{ "documented", "fill=\"none\" stroke=\"#5b6673\" stroke-dasharray=\"5 4\"" },
		{ "refined", "fill=\"none\" stroke=\"#1a7f4b\" stroke-width=\"2.2\"" },
		{ "i0", "fill=\"none\" stroke=\"#c2570c\" stroke-width=\"6\" opacity=\".55\"" },
		{ "i1", "fill=\"none\" stroke=\"#7a4bb5\" stroke-width=\"5\" opacity=\".6\"" },
		{ "i2", "fill=\"none\" stroke=\"#1f7a96\" stroke-width=\"4\" opacity=\".7\"" },
		{ "i3", "fill=\"none\" stroke=\"#a8336f\" stroke-width=\"3\" opacity=\".8\"" },
	};

	picture_class(out, classes, ARRAY_SIZE(classes), style);
}

void axes_begin(const struct axes *axes, FILE *out, const double *xs, size_t count,
		const char *caption)
{
	const double step = picture_step(axes->y_max, TICKS), last = axes_x(axes, xs[count - 1]);
	char text[32];

	fprintf(out,
		"<svg viewBox=\"0 0 %d %d\" role=\"img\" "
		"fill=\"#5b6673\" font-size=\"10\">",
		WIDTH, HEIGHT);
	for (double y = 0; y <= axes->y_max * 1.001; y += step) {
		fputs("<line", out);
		chart_class(out, "grid");
		fprintf(out,
			" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
			LEFT, WIDTH - RIGHT, axes_y(axes, y), axes_y(axes, y), LEFT - 5,
			axes_y(axes, y) + 3.5, tick_text(y, text, sizeof(text)));
	}
	for (size_t n = 0; n < count; n++) {
		const double x = axes_x(axes, xs[n]);

		/* label the first and the last, and those that do not touch a neighbour */
		if (n && n + 1 < count && (x - axes_x(axes, xs[n - 1]) < 24 || last - x < 24))
			continue;
		fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>", x,
			HEIGHT - BOTTOM + 13, n && n + 1 == count ? "end" : "middle",
			tick_text(xs[n], text, sizeof(text)));
	}
	fputs("<line", out);
	chart_class(out, "axis");
	fprintf(out,
		" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
		"<text x=\"%d\" y=\"%d\" text-anchor=\"end\">",
		LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - 3);
	markup_text(out, caption);
	fputs("</text>", out);
}

static int by_x(const void *a, const void *b)
{
	const struct spot *p = a, *q = b;

	return p->x < q->x ? -1 : p->x > q->x;
}

long chart_parameter(const struct benchmark *benchmark)
{
	for (size_t i = 0; i < benchmark->parameter_count; i++)
		if (benchmark->parameters[i].count > 1)
			return (long)i;
	return -1;
}

/*
 * points of the benchmark that differ in one parameter; the other parameters have their last value
 */
static void collect(struct chart *c, size_t benchmark, size_t parameter)
{
	const struct analysis *a = &c->study->analysis;
	const struct benchmark *b = &a->campaign->benchmarks[benchmark];

	for (size_t p = 0; p < a->point_count && c->count < MAX_POINTS; p++) {
		const struct point *point = &a->points[p];
		bool same = point->benchmark == benchmark;

		for (size_t i = 0; same && i < b->parameter_count; i++)
			if (i != parameter && b->parameters[i].count > 1)
				same = point->parameters[i] ==
				       b->parameters[i].values[b->parameters[i].count - 1];
		if (same && analysis_cell(a, p, c->event).count)
			c->spots[c->count++] = (struct spot){ point->parameters[parameter], p };
	}
	qsort(c->spots, c->count, sizeof(*c->spots), by_x);
}

static bool predicted(const struct chart *c, size_t n, const struct rule *rule, double *value)
{
	const struct analysis *a = &c->study->analysis;
	struct cell cell = analysis_cell(a, c->spots[n].point, c->event);
	uint64_t expected;

	if (!rule->given ||
	    analysis_expected(a, &a->points[c->spots[n].point], rule, cell.units, &expected))
		return false;
	*value = (double)expected;
	return true;
}

static void stretch(struct chart *c, const struct rule *rule)
{
	double value;

	for (size_t n = 0; n < c->count; n++)
		if (predicted(c, n, rule, &value) && value > c->axes.y_max)
			c->axes.y_max = value;
}

static void print_line(const struct chart *c, const struct rule *rule, const char *style)
{
	double value;

	fputs("<polyline", c->out);
	chart_class(c->out, style);
	fputs(" points=\"", c->out);
	for (size_t n = 0; n < c->count; n++)
		if (predicted(c, n, rule, &value))
			fprintf(c->out, "%.1f,%.1f ", axes_x(&c->axes, (double)c->spots[n].x),
				axes_y(&c->axes, value));
	fputs("\"/>", c->out);
}

static void print_measured(const struct chart *c)
{
	for (size_t n = 0; n < c->count; n++) {
		struct cell cell = analysis_cell(&c->study->analysis, c->spots[n].point, c->event);
		char text[40];

		fputs("<circle", c->out);
		chart_class(c->out, "measured");
		fprintf(c->out,
			" cx=\"%.1f\" cy=\"%.1f\" r=\"3.6\">"
			"<title>%" PRId64 ": %s</title></circle>",
			axes_x(&c->axes, (double)c->spots[n].x),
			axes_y(&c->axes, (double)cell.value), c->spots[n].x,
			number_group(cell.value, text, sizeof(text)));
	}
}

static void print_key(FILE *out, const char *style, const char *name)
{
	fprintf(out, "<span><svg viewBox=\"0 0 22 9\"><%s", style ? "polyline" : "circle");
	chart_class(out, style ? style : "measured");
	fprintf(out, " %s/></svg>",
		style ? "points=\"0,4.5 22,4.5\"" : "cx=\"11\" cy=\"4.5\" r=\"3.6\"");
	markup_text(out, name);
	fputs("</span>", out);
}

void chart_print(FILE *out, const struct study *study, size_t benchmark, size_t parameter,
		 size_t number)
{
	const struct campaign *campaign = study->analysis.campaign;
	const struct campaign_event *event = &campaign->events[number];
	const struct outcome *o = &study->outcomes[number];
	const struct rule *found = o->verdict == VERDICT_EXPLAINED ? &o->found : NULL;
	struct chart c = { .out = out, .study = study, .event = number, .axes.x_max = 1 };
	double xs[MAX_POINTS];
	char style[8];

	collect(&c, benchmark, parameter);
	if (c.count < 2)
		return;
	if (c.spots[c.count - 1].x > 0)
		c.axes.x_max = (double)c.spots[c.count - 1].x;
	for (size_t n = 0; n < c.count; n++) {
		struct cell cell = analysis_cell(&study->analysis, c.spots[n].point, number);

		xs[n] = (double)c.spots[n].x;
		c.axes.y_max = fmax(c.axes.y_max, (double)cell.value);
	}
	stretch(&c, &event->documented);
	for (size_t i = 0; i < event->idea_count; i++)
		stretch(&c, &event->ideas[i].rule);
	/* only zeros: the table shows that better */
	if (c.axes.y_max <= 0)
		return;
	c.axes.y_max *= 1.06;

	fputs("<figure><figcaption><b>", out);
	markup_text(out, event->name);
	fprintf(out, "</b><span class=\"verdict %s\">%s</span></figcaption>",
		verdict_names[o->verdict], verdict_names[o->verdict]);
	axes_begin(&c.axes, out, xs, c.count,
		   campaign->benchmarks[benchmark].parameters[parameter].name);
	for (size_t i = 0; i < event->idea_count; i++) {
		snprintf(style, sizeof(style), "i%zu", i % IDEA_STYLES);
		print_line(&c, &event->ideas[i].rule, style);
	}
	if (found)
		print_line(&c, found, "refined");
	print_line(&c, &event->documented, "documented");
	print_measured(&c);
	fputs("</svg><div class=\"legend\">", out);
	print_key(out, NULL, "measured");
	if (event->documented.given)
		print_key(out, "documented", campaign_word(event));
	if (found)
		print_key(out, "refined", "refined");
	for (size_t i = 0; i < event->idea_count; i++) {
		snprintf(style, sizeof(style), "i%zu", i % IDEA_STYLES);
		print_key(out, style, event->ideas[i].name);
	}
	fputs("</div></figure>\n", out);
}
