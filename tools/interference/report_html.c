// SPDX-License-Identifier: MIT
/* A page with plots of the task's time, and of what each channel shows, against the level. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contention.h"
#include "lib/page.h"
#include "lib/output.h"
#include "validate/report.h"

enum { TIME = -1 }; /* instead of a channel */

/* what a plot shows */
struct plotted {
	long channel; /* or TIME */
	const char *unit;
	double scale; /* of the unit */
};

/* A value against the level. @slowest: the slowest run's time */
static double value_of(const struct contention *c, const struct load *p, const struct plotted *of,
		       bool slowest)
{
	const double value = of->channel != TIME ? contention_shown(&c->channels[of->channel], p,
								    (size_t)of->channel) :
						   (double)(slowest ? p->max_time_ns : p->time_ns);

	return value / of->scale;
}

/* A point with a bar to the slowest run, if it is above. */
static void write_point(FILE *out, double x, double y, double slowest)
{
	fputs("<circle", out);
	chart_class(out, "measured");
	fprintf(out, " cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"/>", x, y);
	if (slowest >= y)
		return;
	fputs("<path", out);
	chart_class(out, "axis");
	fprintf(out, " d=\"M%.1f %.1fV%.1f\"/>", x, y, slowest);
}

static bool has_bars(const struct aggressor *a)
{
	for (size_t n = 0; n < a->count; n++)
		if (a->points[n].runs > 1)
			return true;
	return false;
}

static bool is_named(const struct aggressor *a, long channel)
{
	for (size_t n = 0; n < a->named_count; n++)
		if ((long)a->named[n] == channel)
			return true;
	return false;
}

static void write_caption(const struct contention *c, const struct aggressor *a,
			  const struct plotted *of, FILE *out)
{
	const long channel = of->channel;

	fputs("<figure><figcaption><b>", out);
	markup_text(out, channel == TIME ? "time of the task" : c->channels[channel].name);
	fprintf(out, "</b><span>%s%s</span></figcaption>", of->unit,
		channel == TIME		? has_bars(a) ? "; bars: slowest run" : "" :
		is_named(a, channel)	? ": the channel" :
		a->of[channel].explains ? ": explains it" :
					  "");
}

/* The unit for the largest value. */
static void choose_unit(const struct contention *c, struct plotted *of, double most,
			struct arena *arena)
{
	if (of->channel == TIME) {
		const struct time_unit unit = contention_time_unit(most, false);

		of->unit = unit.name;
		of->scale = unit.ns;
	} else {
		of->unit = contention_unit(&c->channels[of->channel], most, &of->scale, arena);
	}
}

static void plot(const struct contention *c, const struct aggressor *a, long channel, FILE *out)
{
	struct axes axes = { .x_max = (double)a->points[a->count - 1].level };
	struct plotted of = { .channel = channel, .scale = 1 };
	struct arena arena = { 0 };
	double xs[LEVELS_MAX + 1], most = 0;

	for (size_t n = 0; n < a->count; n++) {
		xs[n] = (double)a->points[n].level;
		most = fmax(most, value_of(c, &a->points[n], &of, true));
	}
	/* nobody uses the channel */
	if (most <= 0)
		return;
	choose_unit(c, &of, most, &arena);
	axes.y_max = 1.06 * most / of.scale;
	write_caption(c, a, &of, out);
	axes_begin(&axes, out, xs, a->count, "level of the aggressor, 0: alone");
	fputs("<polyline", out);
	chart_class(out, is_named(a, channel) ? "i3" : "refined");
	fputs(" points=\"", out);
	for (size_t n = 0; n < a->count; n++)
		if (channel == TIME || a->points[n].shown[channel][1])
			fprintf(out, "%.1f,%.1f ", axes_x(&axes, xs[n]),
				axes_y(&axes, value_of(c, &a->points[n], &of, false)));
	fputs("\"/>", out);
	for (size_t n = 0; n < a->count; n++)
		if (channel == TIME || a->points[n].shown[channel][1])
			write_point(out, axes_x(&axes, xs[n]),
				    axes_y(&axes, value_of(c, &a->points[n], &of, false)),
				    axes_y(&axes, value_of(c, &a->points[n], &of, true)));
	fputs("</svg></figure>\n", out);
	arena_free(&arena);
}

static void write_numbers(const struct contention *c, FILE *out)
{
	char *text = NULL, *at;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	contention_text(c, memory);
	fclose(memory);
	at = text;
	for (const char *line; (line = strsep(&at, "\n"));) {
		markup_text(out, line);
		fputc('\n', out);
	}
	free(text);
}

void contention_html(const struct contention *c, FILE *out)
{
	report_page_begin(out, "interference", c->title);
	fputs("<main>", out);
	page_element(out, "h1", c->title);
	fputs("\n<dl>", out);
	page_fact(out, "task", c->task.command);
	for (size_t n = 0; n < c->measured.configuration_count; n++)
		page_fact(out, c->measured.configuration[2 * n],
			  c->measured.configuration[2 * n + 1]);
	fputs("</dl>\n", out);
	for (size_t i = 0; i < c->aggressor_count; i++) {
		const struct aggressor *a = &c->aggressors[i];

		fputs("<section>", out);
		page_element(out, "h2", a->name);
		fputs("\n<p>", out);
		page_element(out, "code", a->work.command);
		fputs("</p><div class=\"plots\">", out);
		for (long channel = TIME; channel < (long)c->channel_count; channel++)
			plot(c, a, channel, out);
		fputs("</div></section>\n", out);
	}
	fputs("<h2>Numbers</h2><pre class=\"whole\">", out);
	write_numbers(c, out);
	fputs("</pre></main></body></html>\n", out);
}
