// SPDX-License-Identifier: MIT
/* The result as text and as JSON. */
#include <inttypes.h>
#include <math.h>

#include "contention.h"
#include "lib/json.h"
#include "lib/verdicts.h"
#include "validate/report.h"

double contention_shown(const struct channel *channel, const struct load *p, size_t n)
{
	return contention_ratio(p->shown[n]) * (channel->kind == HITS	? 100 :
						channel->kind == OTHERS ? 1 :
									  channel->ns);
}

struct time_unit contention_time_unit(double ns, bool is_short)
{
	static const struct time_unit units[] = {
		{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }
	};
	size_t n = !is_short;

	while (n + 1 < ARRAY_SIZE(units) && ns >= 1e4 * units[n].ns)
		n++;
	return units[n];
}

const char *contention_unit(const struct channel *channel, double most, double *scale,
			    struct arena *arena)
{
	struct time_unit unit;

	*scale = 1;
	if (channel->kind == HITS)
		return "% of accesses hit";
	if (channel->kind == OTHERS && channel->ns != 1)
		return "cycles of others";
	unit = contention_time_unit(most, true);
	*scale = unit.ns;
	/* cycles of 1 GHz */
	return arena_printf(arena, "%s of %s", unit.name,
			    channel->kind == OTHERS ? "others" : "a request");
}

static void write_points(const struct aggressor *a, FILE *out)
{
	const struct time_unit unit = contention_time_unit((double)a->slowest->time_ns, false);

	fputs("  level                 time  slowdown  slowest run\n", out);
	for (size_t n = 0; n < a->count; n++) {
		const struct load *p = &a->points[n];

		fprintf(out, "  %-13" PRIu64 "%10.3f %-2s %8.2f", p->level,
			(double)p->time_ns / unit.ns, unit.name, contention_slowdown(a, p));
		if (p->runs > 1)
			fprintf(out, " %+10.1f %%",
				100 * ((double)p->max_time_ns / (double)p->time_ns - 1));
		fputs(p->runs > 1 ? "\n" : "   only one run\n", out);
	}
}

static void write_channel(const struct contention *c, const struct aggressor *a, size_t n,
			  FILE *out)
{
	const struct channel *channel = &c->channels[n];
	const struct correlation *of = &a->of[n];
	const double longer_ns = (double)(a->slowest->time_ns - a->points[0].time_ns);
	const double shown = contention_shown(channel, a->slowest, n);
	const double alone = contention_shown(channel, a->points, n);
	const struct time_unit time =
		contention_time_unit(of->added_ns > longer_ns ? of->added_ns : longer_ns, false);
	struct arena arena = { 0 };
	double scale;
	const char *unit = contention_unit(channel, shown > alone ? shown : alone, &scale, &arena);

	fprintf(out,
		"  %s (%s): rank correlation %+.2f, adds %.3f of %.3f %s%s; %.1f %s, "
		"%.1f alone%s\n",
		channel->name, verdicts_trust_name(channel->trust), contention_rho(of),
		of->added_ns / time.ns, longer_ns / time.ns, time.name,
		of->explains ? "" : ": too little", shown / scale, unit, alone / scale,
		of->has_others ? "; with others' requests" : "");
	arena_free(&arena);
}

static void write_work(const struct work *work, FILE *out)
{
	fputs(work->command, out);
	if (*work->cpus)
		fprintf(out, " on CPUs %s", work->cpus);
	if (*work->cgroup)
		fprintf(out, " in %s", work->cgroup);
}

/* Of more than all, beyond noise, some is counted twice. */
static void write_share(double explained, FILE *out)
{
	if (explained > 1.05)
		fprintf(out,
			" (%.0f %% of the added time: waits overlap, or a window is too small)",
			100 * explained);
	else
		fprintf(out, " (%.0f %% of the added time, %.0f %% unexplained)",
			fmin(100 * explained, 100), fmax(100 - 100 * explained, 0));
}

static void write_names(const struct contention *c, const struct aggressor *a, FILE *out)
{
	fprintf(out, "  interference channel%s: ", a->named_count > 1 ? "s" : "");
	for (size_t n = 0; n < a->named_count; n++)
		fprintf(out, "%s%s", n ? ", " : "", c->channels[a->named[n]].name);
	if (c->baseless)
		fputs("unknown: at a level the task is quicker than alone", out);
	else if (!a->named_count)
		fputs(contention_slower(a) ? "unknown: no channel explains it" : "none", out);
	else
		write_share(contention_explained(a), out);
	fputc('\n', out);
}

void contention_text(const struct contention *c, FILE *out)
{
	const double alone_ns = (double)c->aggressors[0].points[0].time_ns;
	const struct time_unit unit = contention_time_unit(alone_ns, false);

	fprintf(out, "%s\ntask: ", c->title);
	write_work(&c->task, out);
	fputs(", ", out);
	if (c->jobs)
		fprintf(out, "%" PRIu64 " jobs, ", c->jobs);
	fprintf(out, "alone %.3f %s", alone_ns / unit.ns, unit.name);
	report_print_configuration(out, &c->measured);
	fputc('\n', out);
	for (size_t n = 0; n < c->channel_count; n++)
		if (c->channels[n].missing)
			fprintf(out, "%s: not measured: %s\n", c->channels[n].name,
				c->channels[n].missing);
	for (size_t i = 0; i < c->aggressor_count; i++) {
		const struct aggressor *a = &c->aggressors[i];

		fprintf(out, "\nbeside %s: %.2f times as long\n  ", a->name,
			contention_slowdown(a, a->slowest));
		write_work(&a->work, out);
		fputc('\n', out);
		write_points(a, out);
		for (size_t n = 0; n < c->channel_count && contention_slower(a); n++)
			if (a->of[n].sign)
				write_channel(c, a, n, out);
		write_names(c, a, out);
	}
}

static void add_fraction(struct json_object *o, const char *name, const uint64_t value[2])
{
	struct json_object *pair = json_object_new_array();

	json_object_array_add(pair, json_object_new_uint64(value[0]));
	json_object_array_add(pair, json_object_new_uint64(value[1]));
	json_add(o, name, pair);
}

static void add_point(const struct contention *c, const struct load *load,
		      struct json_object *points)
{
	struct json_object *p = json_append(points), *shown = json_object_new_object();

	json_add_u64(p, "level", load->level);
	json_add_u64(p, "time_ns", load->time_ns);
	json_add_u64(p, "max_time_ns", load->max_time_ns);
	json_add_u64(p, "runs", load->runs);
	json_add(p, "shown", shown);
	for (size_t n = 0; n < c->channel_count; n++)
		if (!c->channels[n].missing)
			add_fraction(shown, c->channels[n].name, load->shown[n]);
}

static void add_channel(const struct channel *channel, const struct correlation *of,
			struct json_object *channels)
{
	struct json_object *o = json_append(channels);

	json_add_text(o, "name", channel->name);
	json_add_text(o, "missing", channel->missing);
	json_add_text(o, "trust", verdicts_trust_name(channel->trust));
	json_add_bool(o, "explains", of->explains);
	json_add_bool(o, "has_others", of->has_others);
	json_add_double(o, "rank_correlation", contention_rho(of));
	add_fraction(o, "rank_correlation_squared", of->squared);
	json_add_double(o, "growth", of->growth);
	json_add_double(o, "added_ns", of->added_ns);
}

static void add_place(const struct work *work, struct json_object *o)
{
	json_add_text(o, "cpus", *work->cpus ? work->cpus : NULL);
	json_add_text(o, "cgroup", *work->cgroup ? work->cgroup : NULL);
}

static void add_aggressor(const struct contention *c, const struct aggressor *a,
			  struct json_object *list)
{
	struct json_object *o = json_append(list), *points = json_object_new_array();
	struct json_object *channels = json_object_new_array();
	struct json_object *named = json_object_new_array();

	json_add_text(o, "name", a->name);
	json_add_text(o, "command", a->work.command);
	add_place(&a->work, o);
	json_add_text(o, "channel", a->named_count ? c->channels[*a->named].name : NULL);
	json_add(o, "named", named);
	json_add_bool(o, "slower", contention_slower(a));
	json_add_bool(o, "quicker", a->quicker != NULL);
	json_add_double(o, "slowdown", contention_slowdown(a, a->slowest));
	json_add_double(o, "explained",
			contention_slower(a) && !c->baseless ? contention_explained(a) : NAN);
	json_add(o, "points", points);
	json_add(o, "channels", channels);
	for (size_t n = 0; n < a->named_count; n++)
		json_object_array_add(named, json_object_new_string(c->channels[a->named[n]].name));
	for (size_t n = 0; n < a->count; n++)
		add_point(c, &a->points[n], points);
	for (size_t n = 0; n < c->channel_count; n++)
		add_channel(&c->channels[n], &a->of[n], channels);
}

void contention_json(const struct contention *c, FILE *out)
{
	struct json_object *root = json_object_new_object(), *list = json_object_new_array();

	json_add_text(root, "title", c->title);
	json_add_text(root, "machine", c->machine->name);
	json_add_text(root, "task", c->task.command);
	add_place(&c->task, root);
	if (c->jobs)
		json_add_u64(root, "jobs", c->jobs);
	report_add_configuration(root, &c->measured);
	json_add(root, "aggressors", list);
	for (size_t i = 0; i < c->aggressor_count; i++)
		add_aggressor(c, &c->aggressors[i], list);
	json_write(out, root, true);
}
