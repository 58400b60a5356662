// SPDX-License-Identifier: MIT
/* vsoc-job: runs jobs on the virtual SoC. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/number.h"
#include "runner.h"
#include "workload.h"

enum exit_status {
	EXIT_FINE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_CUT_SHORT = 3,
	EXIT_TIMED_OUT = 4,
};

enum {
	DEFAULT_TIMEOUT_S = 30,
	MAX_CONTEXTS = 1024,
	DEMO_FRAME_NS = 33333333,
	/* frames queued ahead: one runs, one waits, as with double buffering */
	DEMO_QUEUED_FRAMES = 2,
	LINE_WORDS = 256,
};

static const uint64_t ns_per_s = 1000000000;

struct options {
	const char *device;
	int fd;
	const char *script;
	uint64_t repeat;
	uint64_t duration_ns;
	uint64_t timeout_ns;
	uint64_t random_jobs;
	bool random;
	uint64_t seed;
	uint32_t kinds;
	uint32_t contexts;
	/* session that samples each job, 0: none */
	uint32_t sample_handle;
	bool no_wait;
	bool fences;
	bool demo;
	bool info;
	bool json;
	bool verbose;
	bool quiet;
	bool dry_run;
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
	"      --fd N            use the open DRM file N; sample handles are of that file\n"
	"  -f, --file FILE       read jobs from FILE, - for standard input\n"
	"  -r, --repeat N        all that many times\n"
	"  -D, --duration TIME   repeat until TIME is over\n"
	"      --random N        N random jobs; --seed S (default 1) repeats them exactly;\n"
	"                        --only gpu|fabric leaves out the others\n"
	"      --demo            a load that breathes, until interrupted or --duration\n"
	"  -c, --contexts N      spread jobs over N contexts\n"
	"      --tag-contexts    for perfctr stat --per-context and record --in-stream: a\n"
	"                        sample around each job, tagged with 1 + its context's id\n"
	"  -t, --timeout TIME    longest wait for one job (default 30s)\n"
	"      --no-wait         return while jobs are queued (the device drops them at exit)\n"
	"      --fence           ask for a fence of each job and check that it signals\n"
	"  -j, --json            result as JSON; with -v each job too\n"
	"  -n, --dry-run         parse and print the number of commands, submit nothing\n"
	"  -v, --verbose  -q, --quiet  -h, --help  --info (shape of the device)\n"
	"\n"
	"Exit: 0 all done, 1 error, 2 usage, 3 a job was cut short or a sample failed,\n"
	"4 a job was not done in time, 128+N ended by signal N (not with --demo).\n";

static int usage_error(const char *text, const char *value)
{
	fprintf(stderr, "vsoc-job: %s%s%s; see vsoc-job --help\n", text, value ? ": " : "",
		value ? value : "");
	return -EINVAL;
}

enum long_option {
	OPT_FD = 256,
	OPT_RANDOM,
	OPT_SEED,
	OPT_ONLY,
	OPT_DEMO,
	OPT_TAG_CONTEXTS,
	OPT_NO_WAIT,
	OPT_FENCE,
	OPT_INFO,
};

static const struct option long_options[] = {
	{ "device", required_argument, NULL, 'd' },
	{ "fd", required_argument, NULL, OPT_FD },
	{ "file", required_argument, NULL, 'f' },
	{ "repeat", required_argument, NULL, 'r' },
	{ "duration", required_argument, NULL, 'D' },
	{ "seconds", required_argument, NULL, 'D' },
	{ "random", required_argument, NULL, OPT_RANDOM },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "only", required_argument, NULL, OPT_ONLY },
	{ "demo", no_argument, NULL, OPT_DEMO },
	{ "contexts", required_argument, NULL, 'c' },
	{ "tag-contexts", no_argument, NULL, OPT_TAG_CONTEXTS },
	{ "timeout", required_argument, NULL, 't' },
	{ "no-wait", no_argument, NULL, OPT_NO_WAIT },
	{ "fence", no_argument, NULL, OPT_FENCE },
	{ "info", no_argument, NULL, OPT_INFO },
	{ "json", no_argument, NULL, 'j' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int read_count(const char *what, const char *text, uint64_t min, uint64_t max,
		      uint64_t *value)
{
	if (number_parse_count(text, value) || *value < min || *value > max) {
		fprintf(stderr,
			"vsoc-job: %s '%s': give a number from %" PRIu64 " to %" PRIu64 "\n", what,
			text, min, max);
		return -EINVAL;
	}
	return 0;
}

static int read_kinds(const char *text, uint32_t *kinds)
{
	if (!strcmp(text, "gpu"))
		*kinds = WORKLOAD_GPU;
	else if (!strcmp(text, "fabric"))
		*kinds = WORKLOAD_FABRIC;
	else
		return usage_error("--only takes gpu or fabric, not", text);
	return 0;
}

/* The session that perfctr shares with its workload. */
static int read_shared_session(struct options *o)
{
	const char *fd = getenv("PERFCTR_FD"), *session = getenv("PERFCTR_SESSION");
	uint64_t value;
	int ret;

	if (!fd || !session)
		return usage_error("--tag-contexts is for commands of perfctr stat --per-context "
				   "or perfctr record --in-stream",
				   NULL);
	ret = read_count("PERFCTR_FD", fd, 0, 1 << 20, &value);
	if (ret)
		return ret;
	o->fd = (int)value;
	ret = read_count("PERFCTR_SESSION", session, 1, UINT32_MAX, &value);
	o->sample_handle = (uint32_t)value;
	return ret;
}

/* The member that an option without a value sets, or NULL. */
static bool *flag_of(struct options *o, int option)
{
	switch (option) {
	case OPT_DEMO:
		return &o->demo;
	case OPT_NO_WAIT:
		return &o->no_wait;
	case OPT_FENCE:
		return &o->fences;
	case OPT_INFO:
		return &o->info;
	case 'j':
		return &o->json;
	case 'n':
		return &o->dry_run;
	case 'v':
		return &o->verbose;
	case 'q':
		return &o->quiet;
	default:
		return NULL;
	}
}

/* Return: 0; 1 help was printed; -EINVAL with a message. */
static int parse_options(int argc, char **argv, struct options *o)
{
	uint64_t value;
	int c;

	while ((c = getopt_long(argc, argv, "d:f:r:D:c:t:jnvqh", long_options, NULL)) != -1) {
		bool *flag = flag_of(o, c);
		int ret = 0;

		if (flag) {
			*flag = true;
			continue;
		}
		switch (c) {
		case 'd':
			o->device = optarg;
			break;
		case OPT_FD:
			ret = read_count("--fd", optarg, 0, 1 << 20, &value);
			o->fd = (int)value;
			break;
		case 'f':
			o->script = optarg;
			break;
		case 'r':
			ret = read_count("--repeat", optarg, 1, UINT32_MAX, &o->repeat);
			break;
		case 'D':
			if (number_parse_time(optarg, ns_per_s, &o->duration_ns))
				ret = usage_error("no duration", optarg);
			break;
		case OPT_RANDOM:
			o->random = true;
			ret = read_count("--random", optarg, 1, UINT32_MAX, &o->random_jobs);
			break;
		case OPT_SEED:
			ret = read_count("--seed", optarg, 0, UINT64_MAX, &o->seed);
			break;
		case OPT_ONLY:
			ret = read_kinds(optarg, &o->kinds);
			break;
		case 'c':
			ret = read_count("--contexts", optarg, 1, MAX_CONTEXTS, &value);
			o->contexts = (uint32_t)value;
			break;
		case OPT_TAG_CONTEXTS:
			ret = read_shared_session(o);
			break;
		case 't':
			if (number_parse_time(optarg, ns_per_s, &o->timeout_ns))
				ret = usage_error("no duration", optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			command_help();
			fputs(usage_options, stdout);
			return 1;
		default:
			fputs("vsoc-job: see vsoc-job --help\n", stderr);
			return -EINVAL;
		}
		if (ret)
			return ret;
	}

	if ((optind < argc) + !!o->script + o->random + o->demo + o->info != 1)
		return usage_error("give commands, -f FILE, --random N, --demo or --info", NULL);
	return 0;
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
			entry = json_object_new_object();
			counters = json_object_new_array();
			json_object_object_add(entry, "job", json_object_new_uint64(result->id));
			json_object_object_add(entry, "context",
					       json_object_new_uint64(result->ctx_id));
			json_object_object_add(entry, "sequence",
					       json_object_new_uint64(record->sequence));
			json_object_object_add(entry, "tpc", json_object_new_uint64(tpc));
			for (unsigned int i = 0; i < DRM_VSOC_MP_COUNTERS; i++)
				json_object_array_add(counters,
						      json_object_new_uint64(record->counters[i]));
			json_object_object_add(entry, "counters", counters);
			json_object_array_add(report->stores, entry);
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
		struct json_object *job = json_object_new_object();

		json_object_object_add(job, "id", json_object_new_uint64(result->id));
		json_object_object_add(job, "context", json_object_new_uint64(result->ctx_id));
		json_object_object_add(job, "commands", json_object_new_uint64(result->commands));
		json_object_object_add(job, "status", json_object_new_int(result->status));
		json_object_object_add(job, "sample_errors",
				       json_object_new_uint64(result->sample_errors));
		json_object_object_add(job, "sample_errno",
				       json_object_new_int(result->sample_errno));
		json_object_array_add(report->jobs, job);
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

	json_object_object_add(root, "submitted", json_object_new_uint64(runner->submitted));
	json_object_object_add(root, "done", json_object_new_uint64(runner->done));
	json_object_object_add(root, "cut_short", json_object_new_uint64(runner->cancelled));
	json_object_object_add(root, "timed_out", json_object_new_uint64(runner->timed_out));
	json_object_object_add(root, "unfinished", json_object_new_uint64(runner->queue_count));
	json_object_object_add(root, "sample_errors",
			       json_object_new_uint64(runner->sample_errors));
	json_object_object_add(root, "elapsed_ns", json_object_new_uint64(elapsed_ns));
	for (size_t i = 0; i < COMMAND_AMOUNTS && runner->amounts[i].command; i++) {
		const struct command_amount *a = &runner->amounts[i];
		struct json_object *command;

		if (!json_object_object_get_ex(amounts, a->command, &command)) {
			command = json_object_new_object();
			json_object_object_add(amounts, a->command, command);
		}
		json_object_object_add(command, a->field, json_object_new_uint64(a->sum));
	}
	json_object_object_add(root, "amounts", amounts);
	if (report->jobs)
		json_object_object_add(root, "jobs", json_object_get(report->jobs));
	if (json_object_array_length(report->stores))
		json_object_object_add(root, "stores", json_object_get(report->stores));
	puts(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
	json_object_put(root);
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
			json_object_object_add(root, members[i].name,
					       json_object_new_uint64(value));
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
	struct timespec t = { (time_t)(ns / ns_per_s), (long)(ns % ns_per_s) };

	/* not restarted: a signal ends the sleep and the program */
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static int script_line(struct runner *runner, struct job *job, const char *const *words,
		       size_t count, bool dry_run, char *error, size_t error_bytes)
{
	uint64_t ns;
	int ret;

	if (!strcmp(words[0], "sync") && count == 1)
		return dry_run ? 0 : runner_wait(runner, 0);
	if (!strcmp(words[0], "sleep") && count == 2) {
		if (number_parse_time(words[1], ns_per_s, &ns)) {
			snprintf(error, error_bytes, "sleep: '%s' is no duration", words[1]);
			return -EINVAL;
		}
		if (!dry_run)
			sleep_ns(ns);
		return 0;
	}
	job_clear(job);
	ret = job_parse(job, words, count, error, error_bytes);
	if (ret || dry_run)
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
		ret = script_line(runner, &job, words, count, o->dry_run, error, sizeof(error));
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
		.kinds = o->kinds,
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
	if (!ret && !o->no_wait) {
		ret = runner_wait(runner, 0);
		if (ret)
			runner_failed(runner, ret);
	}
	return ret;
}

static int dry_run(const struct options *o, const struct job *job)
{
	uint64_t lines = 0;

	if (o->script) {
		if (run_script(NULL, o, &lines))
			return EXIT_USAGE;
		printf("%" PRIu64 " lines\n", lines);
	} else {
		printf("%zu commands\n", job->count);
	}
	return EXIT_FINE;
}

static int run(const struct options *o, const struct job *job)
{
	struct report report = { .options = o };
	struct runner runner = {
		.fd = -1,
		.fences = o->fences,
		.sample_handle = o->sample_handle,
		.timeout_ns = o->timeout_ns,
		.stop = &stop,
		.on_result = on_result,
		.on_result_data = &report,
	};
	uint64_t begin_ns = runner_now_ns();
	int ret;

	report.runner = &runner;
	ret = runner_open(&runner, o->device, o->fd, o->contexts);

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
		.fd = -1,
		.repeat = 1,
		.timeout_ns = DEFAULT_TIMEOUT_S * ns_per_s,
		.seed = 1,
		.kinds = WORKLOAD_ALL,
		.contexts = 1,
	};
	struct sigaction action = { .sa_handler = on_signal };
	struct job job = { 0 };
	char error[512];
	int ret = parse_options(argc, argv, &o);

	if (ret)
		return ret > 0 ? EXIT_FINE : EXIT_USAGE;
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
	ret = o.dry_run ? dry_run(&o, &job) : run(&o, &job);
	job_free(&job);
	return ret;
}
