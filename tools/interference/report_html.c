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

/* A value against the level. @slowest: the slowest run's time */
static double plotted(const struct contention *c, const struct load *p, long channel, bool slowest)
{
	return channel != TIME ? contention_shown(&c->channels[channel], p, (size_t)channel) :
				 (double)(slowest ? p->max_time_ns : p->time_ns) / 1e3;
}

/* A point with a bar to the slowest run. */
static void write_point(FILE *out, double x, double y, double slowest)
{
	fputs("<circle", out);
	chart_class(out, "measured");
	fprintf(out, " cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"/><path", x, y);
	chart_class(out, "axis");
	fprintf(out, " d=\"M%.1f %.1fV%.1f\"/>", x, y, slowest);
}

static bool is_named(const struct aggressor *a, long channel)
{
	for (size_t n = 0; n < a->named_count; n++)
		if ((long)a->named[n] == channel)
			return true;
	return false;
}

static void write_caption(const struct contention *c, const struct aggressor *a, long channel,
			  FILE *out)
{
	fputs("<figure><figcaption><b>", out);
	markup_text(out, channel == TIME ? "time of the task" : c->channels[channel].name);
	fprintf(out, "</b><span>%s%s</span></figcaption>",
		channel == TIME ? "us; bars: slowest run" : contention_unit(&c->channels[channel]),
		channel == TIME		? "" :
		is_named(a, channel)	? ": the channel" :
		a->of[channel].explains ? ": explains it" :
					  "");
}

static void plot(const struct contention *c, const struct aggressor *a, long channel, FILE *out)
{
	struct axes axes = { .x_max = (double)a->points[a->count - 1].level };
	double xs[LEVELS_MAX + 1];

	for (size_t n = 0; n < a->count; n++) {
		xs[n] = (double)a->points[n].level;
		axes.y_max = fmax(axes.y_max, 1.06 * plotted(c, &a->points[n], channel, true));
	}
	/* nobody uses the channel */
	if (axes.y_max <= 0)
		return;
	write_caption(c, a, channel, out);
	axes_begin(&axes, out, xs, a->count, "level of the aggressor, 0: alone");
	fputs("<polyline", out);
	chart_class(out, is_named(a, channel) ? "i3" : "refined");
	fputs(" points=\"", out);
	for (size_t n = 0; n < a->count; n++)
		if (channel == TIME || a->points[n].shown[channel][1])
			fprintf(out, "%.1f,%.1f ", axes_x(&axes, xs[n]),
				axes_y(&axes, plotted(c, &a->points[n], channel, false)));
	fputs("\"/>", out);
	for (size_t n = 0; n < a->count; n++)
		if (channel == TIME || a->points[n].shown[channel][1])
			write_point(out, axes_x(&axes, xs[n]),
				    axes_y(&axes, plotted(c, &a->points[n], channel, false)),
				    axes_y(&axes, plotted(c, &a->points[n], channel, true)));
	fputs("</svg></figure>\n", out);
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
	fputs("<h2>Numbers</h2><pre>", out);
	write_numbers(c, out);
	fputs("</pre></main></body></html>\n", out);
}
