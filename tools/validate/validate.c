// SPDX-License-Identifier: MIT
/* perfctr validate: which counters can be trusted. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/command.h"
#include "lib/option.h"
#include "lib/output.h"
#include "lib/verdicts.h"
#include "ncu.h"
#include "report.h"

/* in addition to those of all subcommands: a counter is neither trusted nor explained */
enum { EXIT_DOUBT = 5 };

static const char help[] =
	"usage: perfctr validate [OPTION...] [CAMPAIGN...]\n"
	"       perfctr validate [OPTION...] --measured FILE [CAMPAIGN]\n"
	"\n"
	"Finds out which counters can be trusted, and why not: runs benchmarks of which the\n"
	"counts are known, compares, and searches for what a counter counts instead. Without\n"
	"an argument: all built-in campaigns that this machine can run. A CAMPAIGN is the name\n"
	"of a built-in one or the path of a file.\n"
	"\n"
	"  -m, --measured FILE  evaluate measurements from a CSV or JSON file, or the folder that\n"
	"                       --evidence wrote\n"
	"  -l, --live           with -m: measure on the device what is proposed next\n"
	"      --propose FILE   CSV of all readings with rows to fill in for the next benchmark;\n"
	"                       its listing is written beside it\n"
	"      --from FILE      test first what another run's result file (--json) says\n"
	"  -n, --runs N         measure everything N times, whatever the campaign has\n"
	"  -d, --device DEVICE  node (/dev/dri/renderD128, renderD128), driver or name; on cuda\n"
	"                       the number of the GPU\n"
	"      --run-programs   programs that a campaign names may be run\n"
	"  -j, --json           the result file: verdicts with all readings, as JSON\n"
	"  -o, --output FILE    write the report there; to stdout goes its last line only\n"
	"      --html FILE      a page with tables, plots and the reasoning besides\n"
	"      --evidence DIR   a new folder for an assessor: inputs, results, reasoning, hashes\n"
	"      --save[=FILE]    note the verdicts for list, stat and top to show\n"
	"  -v, --verbose        the reasoning about trusted events too; what is being done, which\n"
	"                       is shown on a terminal in any case\n"
	"      --listings       only print the programs, with how often a thread executes what\n"
	"      --list           built-in campaigns\n"
	"      --launch         only launch the kernels of a campaign on cuda, for ncu to count\n"
	"      --metrics        only print the metrics of a campaign on cuda, as ncu takes them\n"
	"\n"
	"Verdicts: TRUSTED as documented, and no other definition fits, at two points or more;\n"
	"EXPLAINED not as documented, but one definition is left, or a guess; QUARANTINED\n"
	"several are, or too few points show it; UNTRUSTED none is. campaigns/format.md has\n"
	"the formats.\n"
	"Exit: 0 all are trusted or explained, 1 error, 2 usage, 3 not permitted, 4 no device,\n"
	"5 a counter is neither, or a campaign measured none; one that could not be measured\n"
	"here matters only if it is required. This is version 2, as the schema of the JSON.\n";

struct options {
	const char *measured;
	const char *folder; /* of --evidence, that --measured named; or NULL */
	const char *from;
	const char *propose;
	const char *output;
	const char *html;
	const char *evidence;
	const char *save_path;
	bool save;
	bool json;
	const char *device;
	uint64_t runs;
	bool live;
	bool run_programs;
	bool verbose;
	bool list;
	bool listings;
	bool launch;
	bool metrics;
	char **campaigns;
	size_t campaign_count;
};

struct validator {
	struct app *app;
	const struct options *options;
	struct arena arena;
	struct failure failure;
	struct study *studies;
	size_t study_count;
	const char **skipped;
	size_t skipped_count;
	size_t shown; /* the one of them whose reason says most, and its exit status */
	int shown_status;
	bool is_other; /* the machine of the last campaign is not the one that it is for */
	const char *which; /* how the only campaign was named, or NULL */
	bool has_folder; /* that of --evidence was created */
};

static int failed(struct validator *v)
{
	app_error(v->app, "%s", v->failure.text);
	return EXIT_FAILED;
}

static int load(struct validator *v, const char *which, struct study *study)
{
	struct campaign *campaign = arena_alloc(&v->arena, sizeof(*campaign));

	if (campaign_load(&v->arena, which, campaign, &v->failure) < 0)
		return -1;
	study->analysis = (struct analysis){
		.arena = &v->arena,
		.failure = &v->failure,
		.ctx = v->app->ctx,
		.campaign = campaign,
		.may_run = v->options->run_programs,
	};
	if (analysis_begin(&study->analysis) < 0)
		return -1;
	if (v->options->evidence && evidence_begin(campaign, v->options->evidence, &v->failure) < 0)
		return -1;
	v->has_folder = v->options->evidence;
	if (!v->options->from)
		return 0;
	study->carried = arena_array(&v->arena, campaign->event_count, sizeof(*study->carried));
	return from_read(&study->analysis, v->options->from, study->carried);
}

static int status_of(int error)
{
	return error == -EACCES || error == -EPERM  ? EXIT_DENIED :
	       error == -EINVAL || error == -ENOMEM ? EXIT_FAILED :
						      EXIT_NO_DEVICE;
}

/* Measures on the campaign's machine. On failure the reason is in @v->failure. */
static int run_live(struct validator *v, struct study *study)
{
	struct analysis *a = &study->analysis;
	FILE *progress = v->options->verbose || isatty(STDERR_FILENO) ? v->app->err : NULL;
	const char *device = a->campaign->device;
	struct machine machine;
	int error = 0, ret;

	if (!strcmp(device, "cpu"))
		ret = machine_cpu(a, &machine, &error);
	else if (!strcmp(device, "cuda"))
		ret = machine_cuda(a, v->options->device, &machine, &error);
	else
		ret = machine_device(a, v->options->device, &machine, &error);
	v->is_other = !strcmp(device, "cuda") && error == -ENXIO;
	if (ret < 0)
		return status_of(error);
	ret = study_run(study, &machine, progress);
	machine.close(&machine);
	return ret < 0 ? EXIT_FAILED : EXIT_FINE;
}

/* Rejects rows of impossible work, which only the benchmark can detect. */
static int check_rows(struct validator *v, struct analysis *a, const struct document *file)
{
	const char *place;

	if (!analysis_merge(a))
		return 0;
	if (a->bad_reading) {
		place = measured_place(file, a->campaign, &a->measured, a->bad_reading);
		app_error(v->app, "%s: %s", place, v->failure.text);
	} else {
		failed(v);
	}
	return -1;
}

/* Uses the cores of the device of the measurements; without it, the campaign's default. */
static int use_cores(struct analysis *a)
{
	const char *text = measured_configured(&a->measured, "cores");
	uint64_t mask;
	char *end;

	if (!text)
		return 0;
	errno = 0;
	mask = strtoull(text, &end, 16);
	if (errno || *end || !mask)
		return fail(a->failure, "configuration: 'cores' is '%s', not a mask as 0x50005",
			    text);
	return analysis_set_cores(a, mask);
}

/* Files of an evidence folder without a hash could be anybody's. Returns 0 or -1. */
static int check_pack(struct validator *v, const struct study *study)
{
	const struct campaign *c = study->analysis.campaign;
	const char *folder = v->options->folder;
	int error = 0;

	if (!folder)
		return 0;
	for (size_t b = 0; b < c->benchmark_count && !error; b++)
		if (c->benchmarks[b].listing)
			error = evidence_has(folder, c->benchmarks[b].listing_name, &v->arena,
					     &v->failure);
	return error;
}

static int read_measured(const struct document *file, struct analysis *a)
{
	return is_ncu(file) ? ncu_parse(file, a) : measured_parse(file, a->campaign, &a->measured);
}

static int evaluate(struct validator *v, const struct document *file)
{
	const struct options *o = v->options;
	struct study *study = &v->studies[0];
	const char *name = o->campaign_count ? o->campaigns[0] : measured_campaign(file);
	int status;

	if (!name) {
		app_error(v->app,
			  "%s:1:1: the file does not name its campaign; begin it with "
			  "\"# campaign: NAME\" (CSV) or a member \"campaign\" (JSON), or give "
			  "the name as an argument",
			  o->measured);
		return EXIT_FAILED;
	}
	v->which = name;
	if (load(v, name, study) < 0 || check_pack(v, study) < 0 ||
	    measured_is_of(file, name, study->analysis.campaign) < 0 ||
	    read_measured(file, &study->analysis) < 0 || use_cores(&study->analysis) < 0)
		return failed(v);
	if (check_rows(v, &study->analysis, file) < 0)
		return EXIT_FAILED;
	if (earlier_read(file, study) < 0)
		return failed(v);
	v->study_count = 1;
	if (!o->live)
		return study_run(study, NULL, NULL) < 0 ? failed(v) : EXIT_FINE;
	status = run_live(v, study);
	if (status)
		failed(v);
	return status;
}

static int evaluate_file(struct validator *v)
{
	struct document file = { .name = v->options->measured,
				 .arena = &v->arena,
				 .failure = &v->failure };
	int status = EXIT_FAILED;

	file.text = read_file(&v->arena, file.name, &file.length, &v->failure);
	if (file.text && file.length >= 3 && !memcmp(file.text, "\xef\xbb\xbf", 3)) {
		file.text += 3;
		file.length -= 3;
	}
	if (!file.text || measured_open(&file) < 0)
		failed(v);
	else
		status = evaluate(v, &file);
	document_free(&file);
	return status;
}

static void skip(struct validator *v, const char *name)
{
	const char *reason = arena_copy(&v->arena, v->failure.text, strlen(v->failure.text));

	v->skipped[2 * v->skipped_count] = name;
	v->skipped[2 * v->skipped_count + 1] = reason;
	v->skipped_count++;
	v->failure.text[0] = '\0';
}

/*
 * Runs a campaign on its machine. A campaign that was requested by name must not be skipped, but if
 * it is for another chip the other ones are run.
 */
static int evaluate_live(struct validator *v, const char *which, bool by_name)
{
	struct study *study = &v->studies[v->study_count];
	int status;

	*study = (struct study){ 0 };
	if (load(v, which, study) < 0)
		return failed(v);
	if (!*study->analysis.campaign->device) {
		if (!by_name)
			return EXIT_FINE;
		app_error(v->app, "nothing here can run %s: give --measured FILE", which);
		return EXIT_NO_DEVICE;
	}
	if (v->options->runs)
		study->analysis.campaign->runs = (unsigned int)v->options->runs;
	status = run_live(v, study);
	if (!status) {
		v->study_count++;
		return EXIT_FINE;
	}
	if (v->is_other && v->options->campaign_count > 1) {
		app_error(v->app, "%s is not run: %s", which, v->failure.text);
	} else if (by_name || (status != EXIT_DENIED && status != EXIT_NO_DEVICE)) {
		failed(v);
		if (status == EXIT_NO_DEVICE)
			app_error(v->app,
				  "%s runs on %s; --measured FILE evaluates measurements "
				  "of it",
				  which, study->analysis.campaign->device);
		return status;
	}
	/* a permission can be given; of devices that are not here the CPU is on every machine */
	if (!v->skipped_count || (status == EXIT_DENIED && v->shown_status != EXIT_DENIED) ||
	    (status == v->shown_status && !strcmp(study->analysis.campaign->device, "cpu"))) {
		v->shown = v->skipped_count;
		v->shown_status = status;
	}
	skip(v, study->analysis.campaign->name);
	return EXIT_FINE;
}

static int evaluate_all(struct validator *v)
{
	const struct options *o = v->options;
	size_t count = o->campaign_count;
	const char *file;
	int status = EXIT_FINE;

	while (!o->campaign_count && campaign_builtin(count))
		count++;
	v->studies = arena_array(&v->arena, count, sizeof(*v->studies));
	v->skipped = arena_array(&v->arena, 2 * count, sizeof(*v->skipped));
	for (size_t n = 0; !status && n < count; n++) {
		file = o->campaign_count ? o->campaigns[n] : campaign_builtin(n);
		if (!o->campaign_count)
			file = arena_copy(&v->arena, file, strcspn(file, "."));
		v->which = file;
		status = evaluate_live(v, file, o->campaign_count > 0);
	}
	if (status || v->study_count)
		return status;
	app_error(v->app, "no campaign can be run here; %s: %s", v->skipped[2 * v->shown],
		  v->skipped[2 * v->shown + 1]);
	return v->shown_status;
}

static int list_campaigns(struct validator *v)
{
	const char *file;

	for (size_t n = 0; (file = campaign_builtin(n)); n++) {
		struct campaign campaign;
		const char *name = arena_copy(&v->arena, file, strcspn(file, "."));

		if (campaign_load(&v->arena, name, &campaign, &v->failure) < 0)
			return failed(v);
		fprintf(v->app->out, "  %-14s %-6s %s\n", name,
			*campaign.device ? campaign.device : "-", campaign.title);
	}
	return EXIT_FINE;
}

static int print_listings(struct validator *v)
{
	struct study study = { 0 };
	int status = EXIT_FINE;

	for (size_t n = 0; !status && n < v->options->campaign_count; n++)
		if (load(v, v->options->campaigns[n], &study) < 0 ||
		    review_listings(&study.analysis, v->options->json, v->app->out) < 0)
			status = failed(v);
	return status;
}

/* What ncu needs to measure a campaign: the metrics, or the launches. */
static int help_ncu(struct validator *v)
{
	const struct options *o = v->options;
	const struct campaign *c;
	struct study study = { 0 };
	const char *comma = "";
	int error;

	if (load(v, o->campaigns[0], &study) < 0)
		return failed(v);
	c = study.analysis.campaign;
	if (strcmp(c->device, "cuda") != 0) {
		app_error(v->app, "%s is not for cuda, so ncu cannot count it", o->campaigns[0]);
		return EXIT_FAILED;
	}
	if (o->runs)
		study.analysis.campaign->runs = (unsigned int)o->runs;
	if (o->launch)
		return machine_cuda_launch(&study.analysis, o->device, &error) < 0 ?
			       (failed(v), status_of(error)) :
			       EXIT_FINE;
	for (size_t e = 0; e < c->event_count; e++)
		if (*c->events[e].counter) {
			fprintf(v->app->out, "%s%s.sum", comma, c->events[e].counter);
			comma = ",";
		}
	fputc('\n', v->app->out);
	return EXIT_FINE;
}

/* Writes a report to a file, and checks that it was written. */
static int write_report(struct validator *v, const struct report *report, const char *path,
			void (*write)(const struct report *report, FILE *out))
{
	struct output output;
	int status = output_open(v->app, path, &output);

	if (status)
		return status;
	write(report, output.stream);
	return output_close(v->app, &output, EXIT_FINE);
}

static void put_verdicts(const struct study *study, const char *date, struct verdicts *verdicts,
			 size_t *saved)
{
	static const unsigned int trusts[VERDICTS] = {
		[VERDICT_TRUSTED] = PERFCTR_TRUST_TRUSTED,
		[VERDICT_QUARANTINED] = PERFCTR_TRUST_QUARANTINED,
		[VERDICT_EXPLAINED] = PERFCTR_TRUST_EXPLAINED,
		[VERDICT_UNTRUSTED] = PERFCTR_TRUST_UNTRUSTED,
	};
	const struct campaign *campaign = study->analysis.campaign;

	for (size_t e = 0; e < campaign->event_count; e++) {
		const struct campaign_event *event = &campaign->events[e];
		const struct outcome *o = &study->outcomes[e];
		const struct perfctr_counter_desc *desc =
			verdicts_counter(event->counter, event->set);
		const struct verdict_note note = {
			.trust = trusts[o->verdict],
			.definition = o->verdict == VERDICT_TRUSTED ? NULL : o->definition,
			.reason = o->verdict == VERDICT_TRUSTED ? NULL : o->reason,
			.campaign = campaign->name,
			.time = date,
		};

		if (!desc || note.trust == PERFCTR_TRUST_UNVALIDATED)
			continue;
		verdicts_put(verdicts, desc, &note);
		++*saved;
	}
}

/* Saves the verdicts for list, stat and top. */
static int save_verdicts(struct validator *v, const char *date)
{
	struct verdicts *verdicts = verdicts_load(v->app->err);
	size_t saved = 0;
	char where[1024];
	int error;

	if (!verdicts)
		return EXIT_FAILED;
	for (size_t i = 0; i < v->study_count; i++) {
		const struct campaign *campaign = v->studies[i].analysis.campaign;

		if (campaign->database)
			put_verdicts(&v->studies[i], date, verdicts, &saved);
		else
			app_error(v->app,
				  "%s is not saved: what it calls documented is not what the "
				  "counter database says",
				  campaign->name);
	}
	error = verdicts_save(verdicts, v->options->save_path, where, sizeof(where));
	verdicts_free(verdicts);
	if (error) {
		app_error(v->app, "%s: %s", where, app_reason(-error));
		return EXIT_FAILED;
	}
	fprintf(v->app->err, "%zu verdicts saved in %s\n", saved, where);
	return EXIT_FINE;
}

static struct report report_of(struct validator *v)
{
	struct report report = {
		.studies = v->studies,
		.count = v->study_count,
		.skipped = v->skipped,
		.skipped_count = v->skipped_count,
		.verbose = v->options->verbose,
		.arena = &v->arena,
	};

	report_time(report.time, sizeof(report.time));
	uname(&report.on);
	return report;
}

/* The results are those of the files in the folder, so that they can be made again from these. */
static int write_evidence(struct validator *v)
{
	const char *folder = v->options->evidence;
	char *campaigns[] = { arena_printf(&v->arena, "%s/campaign.json", folder) };
	const struct options options = {
		.measured = arena_printf(&v->arena, "%s/readings.json", folder),
		.from = v->options->from ? arena_printf(&v->arena, "%s/from.json", folder) : NULL,
		.campaigns = campaigns,
		.campaign_count = 1,
		.verbose = true,
	};
	struct validator again = { .app = v->app, .options = &options };
	struct report report;
	int status;

	if (evidence_inputs(&v->studies[0], v->options->measured, v->options->from, folder) < 0) {
		evidence_discard(folder);
		return failed(v);
	}
	again.studies = arena_array(&again.arena, 1, sizeof(*again.studies));
	status = evaluate_file(&again);
	if (!status) {
		/* as who makes them again in the folder names it */
		again.studies[0].analysis.measured.source = "readings.json";
		report = report_of(&again);
		if (evidence_results(&report, folder, &again.failure) < 0)
			status = failed(&again);
	}
	arena_free(&again.arena);
	/* a measurement may have taken hours: it is kept */
	if (status && v->options->measured)
		evidence_discard(folder);
	else if (status)
		app_error(v->app, "%s keeps the readings: -m %s/readings.json --evidence ANOTHER",
			  folder, folder);
	return status;
}

/* Whether a counter is in doubt, or all are because none was measured, which is said. */
static bool is_doubtful(const struct app *app, const struct study *study)
{
	const struct campaign *c = study->analysis.campaign;
	bool doubt = false, measured = false;

	for (size_t e = 0; e < c->event_count; e++) {
		const struct outcome *of = &study->outcomes[e];

		measured |= of->verdict != VERDICT_SELECTED;
		/* a requirement is not met by a counter that was not measured */
		doubt |= !validate_usable(of) &&
			 (of->verdict != VERDICT_SELECTED || c->events[e].requirements);
	}
	if (!measured)
		app_error(app, "%s: no counter was measured; the report has the reason of each",
			  c->name);
	return doubt || !measured;
}

static int conclude(struct validator *v)
{
	struct report report = report_of(v);
	const struct options *o = v->options;
	bool doubt = false;
	int status;

	status = write_report(v, &report, o->output, o->json ? validate_json : validate_text);
	if (!status && o->output && !o->json)
		validate_summary(&report, v->app->out);
	if (!status && o->html)
		status = write_report(v, &report, o->html, validate_html);
	if (!status && o->propose)
		status = propose_write(v->app, &v->studies[0],
				       v->which ? v->which : v->studies[0].analysis.campaign->name,
				       o->propose, &v->arena);
	if (!status && o->save)
		status = save_verdicts(v, arena_copy(&v->arena, report.time,
						     strcspn(report.time, "T")));
	if (!status && o->evidence)
		status = write_evidence(v);
	if (status)
		return status;
	for (size_t i = 0; i < v->study_count; i++)
		doubt |= is_doubtful(v->app, &v->studies[i]);
	return doubt ? EXIT_DOUBT : EXIT_FINE;
}

static int take_save(const struct app *app, void *options, const char *text)
{
	struct options *o = options;

	o->save = true;
	o->save_path = text;
	return 0;
}

static int parse_options(struct app *app, int argc, char **argv, struct options *o)
{
	const struct option_spec options[] = {
		OPTION('m', "measured", TEXT, &o->measured),
		OPTION('j', "json", FLAG, &o->json),
		OPTION('l', "live", FLAG, &o->live),
		OPTION('n', "runs", NUMBER, &o->runs, .min = 1, .max = MAX_RUNS),
		OPTION('d', "device", TEXT, &o->device),
		OPTION(0, "run-programs", FLAG, &o->run_programs),
		OPTION('o', "output", TEXT, &o->output),
		OPTION('v', "verbose", FLAG, &o->verbose),
		OPTION(0, "from", TEXT, &o->from),
		OPTION(0, "propose", TEXT, &o->propose),
		OPTION(0, "html", TEXT, &o->html),
		OPTION(0, "evidence", TEXT, &o->evidence),
		OPTION(0, "save", CALL_OPTIONAL, o, .call = take_save),
		OPTION(0, "list", FLAG, &o->list),
		OPTION(0, "listings", FLAG, &o->listings),
		OPTION(0, "launch", FLAG, &o->launch),
		OPTION(0, "metrics", FLAG, &o->metrics),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_WORDS);

	if (status)
		return status;
	o->campaigns = argv + optind;
	o->campaign_count = (size_t)(argc - optind);
	if (o->measured && o->campaign_count > 1)
		return app_usage(app, "a file of measurements is of one campaign");
	if ((o->from || o->evidence || o->propose) && !o->measured && o->campaign_count != 1)
		return app_usage(app, "%s is for one campaign: give its name, or --measured",
				 o->from     ? "--from" :
				 o->evidence ? "--evidence" :
					       "--propose");
	if (o->listings && o->campaign_count != 1)
		return app_usage(app, "--listings is for one campaign: give its name or file");
	if ((o->launch || o->metrics) && (o->campaign_count != 1 || o->measured))
		return app_usage(app, "--launch and --metrics are for one campaign: give its name");
	if (o->save && o->measured)
		return app_usage(app, "--save is for this machine's counters: without --measured");
	if (o->live && !o->measured)
		return app_usage(app, "--live goes with --measured; without it all is live");
	return 0;
}

/* Reads a folder of --evidence: its files, if they are those that it was written with. */
static int take_folder(struct validator *v, struct options *o)
{
	const char *folder = o->measured, *from;
	struct stat status;

	if (stat(folder, &status) || !S_ISDIR(status.st_mode))
		return 0;
	if (o->campaign_count) {
		app_error(v->app, "%s has its campaign: give no other one", folder);
		return EXIT_USAGE;
	}
	from = arena_printf(&v->arena, "%s/from.json", folder);
	from = o->from || access(from, F_OK) ? NULL : from;
	if (evidence_check(folder, &v->arena, &v->failure) < 0 ||
	    evidence_has(folder, "campaign.json", &v->arena, &v->failure) < 0 ||
	    evidence_has(folder, "result.json", &v->arena, &v->failure) < 0 ||
	    (from && evidence_has(folder, "from.json", &v->arena, &v->failure) < 0))
		return failed(v);
	o->folder = folder;
	o->from = from ? from : o->from;
	o->measured = arena_printf(&v->arena, "%s/result.json", folder);
	o->campaigns = arena_alloc(&v->arena, sizeof(*o->campaigns));
	o->campaigns[0] = arena_printf(&v->arena, "%s/campaign.json", folder);
	o->campaign_count = 1;
	return 0;
}

static int validate_run(struct app *app, int argc, char **argv)
{
	struct options options = { 0 };
	struct validator v = { .app = app, .options = &options };
	int status = parse_options(app, argc, argv, &options);

	if (status)
		return status < 0 ? EXIT_FINE : status;
	if (options.list) {
		status = list_campaigns(&v);
	} else if (options.listings) {
		status = print_listings(&v);
	} else if (options.launch || options.metrics) {
		status = help_ncu(&v);
	} else if (options.measured) {
		v.studies = arena_array(&v.arena, 1, sizeof(*v.studies));
		status = take_folder(&v, &options);
		if (!status)
			status = evaluate_file(&v);
		if (!status)
			status = conclude(&v);
	} else {
		status = evaluate_all(&v);
		if (!status)
			status = conclude(&v);
	}
	/* only if it is empty */
	if (status && v.has_folder)
		rmdir(options.evidence);
	arena_free(&v.arena);
	return status;
}

int main(int argc, char **argv)
{
	struct app app = { .name = "validate" };

	/* an event takes a file on each CPU */
	child_raise_files();
	return app_main(&app, validate_run, argc, argv);
}
