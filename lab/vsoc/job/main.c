// SPDX-License-Identifier: MIT
/* vsoc-job: runs jobs on the virtual SoC. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/number.h"
#include "lib/json.h"
#include "lib/option.h"
#include "runner.h"
#include "workload.h"

/* besides those of all tools */
enum { EXIT_CUT_SHORT = 3, EXIT_TIMED_OUT = 4 };

enum {
	DEFAULT_TIMEOUT_S = 30,
	MAX_CONTEXTS = 1024,
	DEMO_FRAME_NS = 33333333,
	/* frames queued ahead: one runs, one waits, as with double buffering */
	DEMO_QUEUED_FRAMES = 2,
	LINE_WORDS = 256,
};

struct options {
	const char *device;
	uint64_t fd;
	bool has_fd;
	const char *script;
	uint64_t repeat;
	uint64_t duration_ns;
	uint64_t timeout_ns;
	uint64_t random_jobs;
	bool random;
	uint64_t seed;
	uint64_t contexts;
	bool concurrent;
	/* session that samples each job, 0: none */
	uint64_t sample_session;
	bool fenced;
	bool demo;
	bool info;
	bool json;
	bool verbose;
	bool quiet;
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	stop = number;
}

static const char usage[] =
	"usage: vsoc-job [OPTION...] COMMAND [FIELD...] [COMMAND [FIELD...]]...\n"
	"       vsoc-job [OPTION...] -f FILE | --random N | --demo | --info\n"
	"\n"
	"Submits jobs to the virtual SoC (vsoc.ko) and waits until they are done.\n"
	"All commands of the command line are one job; in a file each line is one job,\n"
	"'# text' is a comment, 'sync' waits for all jobs, 'sleep 10ms' sleeps.\n"
	"'xN' before a command repeats it. Commands and their fields:\n";

static const char usage_options[] =
	"\n"
	"listing=FILE is what each thread of a compute does, NAME=NUMBER behind it a\n"
	"parameter of it; format: vsoc-job(1).\n"
	"\n"
	"  -d, --device NODE     /dev/dri/renderD128 or renderD128 (default: first vsoc)\n"
	"      --fd N            use the open DRM file N; samples name sessions of its device\n"
	"  -f, --file FILE       read jobs from FILE, - for standard input\n"
	"  -r, --repeat N        all that many times\n"
	"  -D, --duration TIME   repeat until TIME is over, then wait for what is queued\n"
	"      --random N        N random jobs; --seed S (default 1) repeats them exactly\n"
	"      --demo            a load that breathes, until interrupted or --duration\n"
	"  -c, --contexts N      spread jobs over N contexts\n"
	"      --concurrent      run copy, pcie and wait beside jobs of the GPU\n"
	"      --tag-contexts    for perfctr stat --per-context and record --in-stream: a\n"
	"                        sample around each job, tagged with 1 + its context's id\n"
	"      --fence           the same, but samples are taken before the job and when it\n"
	"                        is done, so the counts of perf PMUs are the job's too\n"
	"  -t, --timeout TIME    longest wait for one job (default 30s)\n"
	"  -j, --json            result as JSON; with -v each job too\n"
	"  -v, --verbose  -q, --quiet  -h, --help  --info (shape of the device)\n"
	"\n"
	"Exit: 0 all done, 1 error, 2 usage, 3 a job was cut short or a sample failed,\n"
	"4 a job was not done in time, 128+N ended by signal N (not with --demo).\n";

/* The session that perfctr shares with its workload. */
static int take_session(const struct app *app, void *options, const char *text)
{
	const char *fd = getenv("PERFCTR_FD"), *session = getenv("PERFCTR_SESSION");
	struct options *o = options;

	if (!fd || !session || number_parse_count(fd, &o->fd) || o->fd > INT_MAX ||
	    number_parse_count(session, &o->sample_session) || o->sample_session > INT_MAX)
		return app_usage(app, "--tag-contexts and --fence are for commands of perfctr stat "
				      "--per-context or perfctr record --in-stream");
	o->has_fd = true;
	return 0;
}

static int take_session_fenced(const struct app *app, void *options, const char *text)
{
	((struct options *)options)->fenced = true;
	return take_session(app, options, text);
}

/* Return: as option_parse(). */
static int parse_options(const struct app *app, int argc, char **argv, struct options *o)
{
	const struct option_spec options[] = {
		OPTION('d', "device", TEXT, &o->device),
		OPTION(0, "fd", NUMBER, &o->fd, .max = INT_MAX, .given = &o->has_fd),
		OPTION('f', "file", TEXT, &o->script),
		OPTION('r', "repeat", NUMBER, &o->repeat, .min = 1, .max = UINT32_MAX),
		OPTION('D', "duration", SECONDS, &o->duration_ns),
		OPTION('D', "seconds", SECONDS, &o->duration_ns),
		OPTION(0, "random", NUMBER, &o->random_jobs, .min = 1, .max = UINT32_MAX,
		       .given = &o->random),
		OPTION(0, "seed", NUMBER, &o->seed, .max = UINT64_MAX),
		OPTION(0, "demo", FLAG, &o->demo),
		OPTION('c', "contexts", NUMBER, &o->contexts, .min = 1, .max = MAX_CONTEXTS),
		OPTION(0, "concurrent", FLAG, &o->concurrent),
		OPTION(0, "tag-contexts", CALL_PLAIN, o, .call = take_session),
		OPTION(0, "fence", CALL_PLAIN, o, .call = take_session_fenced),
		OPTION('t', "timeout", SECONDS, &o->timeout_ns),
		OPTION(0, "info", FLAG, &o->info),
		OPTION('j', "json", FLAG, &o->json),
		OPTION('v', "verbose", FLAG, &o->verbose),
		OPTION('q', "quiet", FLAG, &o->quiet),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, usage, options, THEN_WORDS);

	if (status < 0) {
		command_help();
		fputs(usage_options, stdout);
	}
	if (!status && (optind < argc) + !!o->script + o->random + o->demo + o->info != 1)
		return app_usage(app, "give commands, -f FILE, --random N, --demo or --info");
	return status;
}

/* --- results -------------------------------------------------------------- */

struct report {
	const struct options *options;
	const struct runner *runner;
	struct json_object *jobs;
	struct json_object *stores;
};

/* The records of a job: counters of each TPC, by store command, in order. */
static void on_stores(const struct report *report, const struct runner_result *result)
{
	const struct drm_vsoc_info *info = &report->runner->info;

	for (uint32_t store = 0; !result->status && store < result->store_count; store++) {
		for (unsigned int tpc = 0; tpc < 64; tpc++) {
			const struct drm_vsoc_mp_record *record;
			struct json_object *entry, *counters;

			if (!(info->shader_present >> tpc & 1))
				continue;
			record = runner_record(report->runner, result->stores, store, tpc);
			if (!report->options->json) {
				printf("job %" PRIu64 " store %u tpc %u: %u %u %u %u\n", result->id,
				       record->sequence, tpc, record->counters[0],
				       record->counters[1], record->counters[2],
				       record->counters[3]);
				continue;
			}
			entry = json_append(report->stores);
			counters = json_object_new_array();
			json_add_u64(entry, "job", result->id);
			json_add_u64(entry, "context", result->ctx_id);
			json_add_u64(entry, "sequence", record->sequence);
			json_add_u64(entry, "tpc", tpc);
			for (unsigned int i = 0; i < DRM_VSOC_MP_COUNTERS; i++)
				json_object_array_add(counters,
						      json_object_new_uint64(record->counters[i]));
			json_add(entry, "counters", counters);
		}
	}
}

static void on_result(void *data, const struct runner_result *result)
{
	const struct report *report = data;
	const char *text = !result->status		? "done" :
			   result->status == -ETIME	? "not done in time" :
			   result->status == -ECANCELED ? "cut short" :
							  strerror(-result->status);

	on_stores(report, result);
	if (report->jobs) {
		struct json_object *job = json_append(report->jobs);

		json_add_u64(job, "id", result->id);
		json_add_u64(job, "context", result->ctx_id);
		json_add_u64(job, "commands", result->commands);
		json_add(job, "status", json_object_new_int(result->status));
		json_add_u64(job, "sample_errors", result->sample_errors);
		json_add(job, "sample_errno", json_object_new_int(result->sample_errno));
		return;
	}
	if (report->options->json ||
	    (!report->options->verbose && !result->status && !result->sample_errors))
		return;
	fprintf(stderr, "job %" PRIu64 ": %s", result->id, text);
	if (result->sample_errors)
		fprintf(stderr, ", %u samples failed: %s", result->sample_errors,
			strerror(-result->sample_errno));
	fputc('\n', stderr);
}

static void print_json(struct report *report, const struct runner *runner, uint64_t elapsed_ns)
{
	struct json_object *root = json_object_new_object();
	struct json_object *amounts = json_object_new_object();

	json_add_u64(root, "submitted", runner->submitted);
	json_add_u64(root, "done", runner->done);
	json_add_u64(root, "cut_short", runner->cancelled);
	json_add_u64(root, "timed_out", runner->timed_out);
	json_add_u64(root, "unfinished", runner->queue_count);
	json_add_u64(root, "sample_errors", runner->sample_errors);
	json_add_u64(root, "elapsed_ns", elapsed_ns);
	for (size_t i = 0; i < COMMAND_AMOUNTS && runner->amounts[i].command; i++) {
		const struct command_amount *a = &runner->amounts[i];
		struct json_object *command;

		if (!json_object_object_get_ex(amounts, a->command, &command)) {
			command = json_object_new_object();
			json_add(amounts, a->command, command);
		}
		json_add_u64(command, a->field, a->sum);
	}
	json_add(root, "amounts", amounts);
	if (report->jobs)
		json_add(root, "jobs", json_object_get(report->jobs));
	if (json_object_array_length(report->stores))
		json_add(root, "stores", json_object_get(report->stores));
	json_write(stdout, root, false);
}

static void print_text(const struct runner *runner, uint64_t elapsed_ns)
{
	char amount[32];

	printf("%" PRIu64 " jobs in %.3f s: %" PRIu64 " done", runner->submitted,
	       (double)elapsed_ns * 1e-9, runner->done);
	if (runner->cancelled)
		printf(", %" PRIu64 " cut short", runner->cancelled);
	if (runner->timed_out)
		printf(", %" PRIu64 " not done in time", runner->timed_out);
	if (runner->queue_count)
		printf(", %zu not waited for", runner->queue_count);
	if (runner->sample_errors)
		printf(", %" PRIu64 " samples failed", runner->sample_errors);
	putchar('\n');
	for (size_t i = 0; i < COMMAND_AMOUNTS && runner->amounts[i].command; i++)
		if (runner->amounts[i].sum)
			printf("%20s  %s.%s\n",
			       number_group(runner->amounts[i].sum, amount, sizeof(amount)),
			       runner->amounts[i].command, runner->amounts[i].field);
}

static void print_info(const struct drm_vsoc_info *info, bool json)
{
	static const struct {
		const char *name;
		size_t offset;
		size_t bytes;
	} members[] = {
#define MEMBER(name) { #name, offsetof(struct drm_vsoc_info, name), sizeof(info->name) }
		MEMBER(version),	 MEMBER(counters_per_block),
		MEMBER(shader_present),	 MEMBER(l2_slices),
		MEMBER(max_commands),	 MEMBER(max_contexts),
		MEMBER(max_queued_jobs), MEMBER(max_units),
		MEMBER(top_hz),		 MEMBER(coregroup_hz),
		MEMBER(shader_hz),	 MEMBER(max_wait_ns),
		MEMBER(sockets),	 MEMBER(root_complexes),
		MEMBER(root_ports),	 MEMBER(gpus),
		MEMBER(max_listing),	 MEMBER(max_steps),
		MEMBER(max_job_steps),
#undef MEMBER
	};
	struct json_object *root = json_object_new_object();

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const unsigned char *at = (const unsigned char *)info + members[i].offset;
		uint64_t value = 0;
		uint32_t narrow;

		if (members[i].bytes == sizeof(narrow)) {
			memcpy(&narrow, at, sizeof(narrow));
			value = narrow;
		} else {
			memcpy(&value, at, sizeof(value));
		}
		if (json)
			json_add_u64(root, members[i].name, value);
		else if (!strcmp(members[i].name, "shader_present"))
			printf("%-18s %#" PRIx64 "\n", members[i].name, value);
		else
			printf("%-18s %" PRIu64 "\n", members[i].name, value);
	}
	if (json)
		puts(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY));
	json_object_put(root);
}

/* --- what to run ---------------------------------------------------------- */

static int runner_failed(const struct runner *runner, int error)
{
	if (error != -EINTR)
		fprintf(stderr, "vsoc-job: %s\n", runner->error);
	return error;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };

	/* not restarted: a signal ends the sleep and the program */
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static int script_line(struct runner *runner, struct job *job, const char *const *words,
		       size_t count, char *error, size_t error_bytes)
{
	uint64_t ns;
	int ret;

	if (!strcmp(words[0], "sync") && count == 1)
		return runner_wait(runner, 0);
	if (!strcmp(words[0], "sleep") && count == 2) {
		if (number_parse_time(words[1], NS_PER_S, &ns)) {
			snprintf(error, error_bytes, "sleep: '%s' is no duration", words[1]);
			return -EINVAL;
		}
		sleep_ns(ns);
		return 0;
	}
	job_clear(job);
	ret = job_parse(job, words, count, error, error_bytes);
	if (ret)
		return ret;
	ret = runner_submit(runner, job);
	if (ret)
		snprintf(error, error_bytes, "%s", runner->error);
	return ret;
}

static int run_script(struct runner *runner, const struct options *o, uint64_t *lines)
{
	bool is_stdin = !strcmp(o->script, "-");
	FILE *file = is_stdin ? stdin : fopen(o->script, "re");
	size_t capacity = 0, number = 0;
	struct job job = { 0 };
	char *line = NULL;
	int ret = 0;

	if (!file) {
		fprintf(stderr, "vsoc-job: %s: %s\n", o->script, strerror(errno));
		return -errno;
	}
	while (!ret && !stop && getline(&line, &capacity, file) >= 0) {
		const char *words[LINE_WORDS];
		char error[512] = "", *rest, *word;
		size_t count = 0;

		number++;
		line[strcspn(line, "#\n")] = '\0';
		for (word = strtok_r(line, " \t\r", &rest); word && count < LINE_WORDS;
		     word = strtok_r(NULL, " \t\r", &rest))
			words[count++] = word;
		if (word) {
			fprintf(stderr, "vsoc-job: %s:%zu: more than %d words\n", o->script, number,
				LINE_WORDS);
			ret = -EINVAL;
			break;
		}
		if (!count)
			continue;
		*lines += 1;
		ret = script_line(runner, &job, words, count, error, sizeof(error));
		if (ret && ret != -EINTR)
			fprintf(stderr, "vsoc-job: %s:%zu: %s\n", is_stdin ? "<stdin>" : o->script,
				number, *error ? error : strerror(-ret));
	}
	job_free(&job);
	free(line);
	if (!is_stdin)
		fclose(file);
	return stop ? -EINTR : ret;
}

static int run_random(struct runner *runner, const struct options *o)
{
	struct workload_random random = {
		.state = o->seed,
		.info = &runner->info,
	};
	struct job job = { 0 };
	int ret = 0;

	for (uint64_t i = 0; !ret && i < o->random_jobs; i++) {
		ret = workload_random_job(&random, &job);
		if (!ret)
			ret = runner_submit(runner, &job);
	}
	job_free(&job);
	return ret ? runner_failed(runner, ret) : 0;
}

static int run_demo(struct runner *runner, const struct options *o)
{
	uint64_t begin_ns = runner_now_ns();
	struct job job = { 0 };
	int ret = 0;

	for (uint64_t frame = 0; !ret && !stop; frame++) {
		uint64_t due_ns = frame * DEMO_FRAME_NS;
		uint64_t elapsed_ns = runner_now_ns() - begin_ns;

		if (o->duration_ns && elapsed_ns >= o->duration_ns)
			break;
		if (elapsed_ns < due_ns)
			sleep_ns(due_ns - elapsed_ns);
		else
			/* late on a slow machine: drop frames, as a game would */
			frame = elapsed_ns / DEMO_FRAME_NS;
		ret = workload_demo_job(frame, DEMO_FRAME_NS, &runner->info, &job);
		if (!ret)
			ret = runner_submit(runner, &job);
		if (!ret)
			ret = runner_wait(runner, DEMO_QUEUED_FRAMES - 1);
	}
	job_free(&job);
	return ret ? runner_failed(runner, ret) : 0;
}

static int run_once(struct runner *runner, const struct options *o, const struct job *job,
		    uint64_t *lines)
{
	int ret;

	if (o->script)
		return run_script(runner, o, lines);
	if (o->random)
		return run_random(runner, o);
	ret = runner_submit(runner, job);
	return ret ? runner_failed(runner, ret) : 0;
}

static int run_all(struct runner *runner, const struct options *o, const struct job *job)
{
	uint64_t begin_ns = runner_now_ns(), lines = 0;
	int ret = 0;

	if (o->demo) {
		ret = run_demo(runner, o);
	} else if (o->duration_ns) {
		do
			ret = run_once(runner, o, job, &lines);
		while (!ret && runner_now_ns() - begin_ns < o->duration_ns);
	} else {
		for (uint64_t i = 0; !ret && i < o->repeat; i++)
			ret = run_once(runner, o, job, &lines);
	}
	if (!ret) {
		ret = runner_wait(runner, 0);
		if (ret)
			runner_failed(runner, ret);
	}
	return ret;
}

static int run(const struct options *o, const struct job *job)
{
	struct report report = { .options = o };
	struct runner runner = {
		.fd = -1,
		.sample_session = (int)o->sample_session,
		.fenced = o->fenced,
		.timeout_ns = o->timeout_ns,
		.stop = &stop,
		.on_result = on_result,
		.on_result_data = &report,
	};
	uint64_t begin_ns = runner_now_ns();
	int ret;

	report.runner = &runner;
	ret = runner_open(&runner, o->device, o->has_fd ? (int)o->fd : -1, (uint32_t)o->contexts,
			  o->concurrent);

	if (ret) {
		runner_failed(&runner, ret);
		runner_close(&runner);
		return EXIT_FAILED;
	}
	if (o->info) {
		print_info(&runner.info, o->json);
		runner_close(&runner);
		return EXIT_FINE;
	}

	if (o->json && o->verbose)
		report.jobs = json_object_new_array();
	report.stores = json_object_new_array();
	ret = run_all(&runner, o, job);
	if (o->json)
		print_json(&report, &runner, runner_now_ns() - begin_ns);
	else if (!o->quiet)
		print_text(&runner, runner_now_ns() - begin_ns);
	json_object_put(report.jobs);
	json_object_put(report.stores);
	runner_close(&runner);

	if (ret == -EINTR)
		return o->demo ? EXIT_FINE : 128 + stop;
	if (ret)
		return EXIT_FAILED;
	if (runner.timed_out)
		return EXIT_TIMED_OUT;
	return runner.cancelled || runner.sample_errors ? EXIT_CUT_SHORT : EXIT_FINE;
}

int main(int argc, char **argv)
{
	struct options o = {
		.repeat = 1,
		.timeout_ns = DEFAULT_TIMEOUT_S * NS_PER_S,
		.seed = 1,
		.contexts = 1,
	};
	const struct app app = {
		.program = "vsoc-job",
		.out = stdout,
		.err = stderr,
		.argv = argv,
	};
	struct sigaction action = { .sa_handler = on_signal };
	struct job job = { 0 };
	char error[512];
	int ret;

	/* app_bad_option() has the message */
	opterr = 0;
	ret = parse_options(&app, argc, argv, &o);
	if (ret)
		return ret < 0 ? EXIT_FINE : ret;
	ret = job_parse(&job, (const char *const *)argv + optind, (size_t)(argc - optind), error,
			sizeof(error));
	if (ret) {
		fprintf(stderr, "vsoc-job: %s\n", ret == -EINVAL ? error : strerror(-ret));
		job_free(&job);
		return ret == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}

	/* without SA_RESTART, so that a signal ends sleeps */
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	ret = run(&o, &job);
	job_free(&job);
	return ret;
}
