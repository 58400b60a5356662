// SPDX-License-Identifier: MIT
/*
 * cuda-counter: counts kernels on an NVIDIA GPU for perfctr-validate, which starts it. NVIDIA's
 * libraries are in this process only: they crash in some states, take more than 100 MB, and set up
 * their process for good. No clock and no setting of the GPU is changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "counter.h"

enum { MAX_GROUPS = 64, MAX_MODULES = 16, MAX_ARGUMENTS = 8, DIMENSIONS = 3 };

/* metrics that are counted together */
struct group {
	const char *names[CUDA_MAX_EVENTS]; /* with .sum */
	size_t count;
	void *host;
	uint8_t *config;
	size_t config_bytes, passes;
};

/* a launch of a kernel */
struct work {
	void *function;
	unsigned int grid[DIMENSIONS], block[DIMENSIONS];
	void *arguments[MAX_ARGUMENTS];
	uint64_t numbers[MAX_ARGUMENTS]; /* or addresses of buffers */
	size_t bytes[MAX_ARGUMENTS]; /* of buffers, 0: a number */
	unsigned int words[MAX_ARGUMENTS];
	size_t argument_count;
};

static void *context;
static const char *chip;
static uint8_t *availability;
static struct group groups[MAX_GROUPS];
static void *modules[MAX_MODULES];
static size_t group_count, module_count;

static void *allocate(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		end_with_error(FAILED, "out of memory");
	return memory;
}

/* --- the GPU ----------------------------------------------------------------------------- */

static const char *chip_of(int device)
{
	struct cupti_chip name = CUPTI_ARGUMENT(chip, name, .device = (size_t)device);

	check_cupti(cuptiDeviceGetChipName(&name), "chip of the GPU");
	return name.name ? name.name : "";
}

static void start_driver(void)
{
	library_open_driver();
	say_step("starting the driver");
	check_driver(cuInit(0), "start of the driver");
}

/* Opens a GPU, with its context. Return: its handle */
static int open_number(int number)
{
	int device = 0;

	say_step("opening GPU %d", number);
	check_driver(cuDeviceGet(&device, number), "GPU of that number");
	check_driver(cuDevicePrimaryCtxRetain(&context, device), "context");
	check_driver(cuCtxSetCurrent(context), "context");
	return device;
}

/* The first GPU with the chip, with its context. Return: its number */
static int choose(int wanted, const char *product, int *device)
{
	struct cupti_initialize initialize = CUPTI_ARGUMENT(initialize, reserved, 0);
	char others[256] = "";
	bool initialized = false;
	int count = 0;

	check_driver(cuDeviceGetCount(&count), "number of GPUs");
	for (int i = wanted < 0 ? 0 : wanted; i < (wanted < 0 ? count : wanted + 1); i++) {
		*device = open_number(i);
		if (!initialized) {
			library_open_cupti();
			say_step("initializing CUPTI");
			check_cupti(cuptiProfilerInitialize(&initialize), library_cupti_path());
			initialized = true;
		}
		chip = strdup(chip_of(i));
		if (!strcmp(product, "-") || !strcmp(product, chip))
			return i;
		snprintf(others + strlen(others), sizeof(others) - strlen(others), "%s%s",
			 *others ? ", " : "", chip);
		cuDevicePrimaryCtxRelease_v2(*device);
	}
	if (!*others)
		end_with_error(ABSENT, "no GPU of NVIDIA");
	end_with_error(OTHER, "it is for a %s, and here is only %s", product, others);
}

static void check_support(int device)
{
	struct cupti_supported s =
		CUPTI_ARGUMENT(supported, api, .device = device, .api = CUPTI_API_RANGE);

	check_cupti(cuptiProfilerDeviceSupported(&s), "support of the range profiler");
	if (s.supported != CUPTI_SUPPORTED)
		end_with_error(
			FAILED,
			"the range profiler %s on this GPU (architecture %d, SLI %d, vGPU %d, "
			"confidential computing %d, mining card %d, WSL %d; %d is supported)",
			s.supported == CUPTI_SUPPORT_DISABLED ? "is disabled" : "is not supported",
			s.architecture, s.sli, s.vgpu, s.confidential, s.cmp, s.wsl,
			CUPTI_SUPPORTED);
}

/* the counters that this process may use on this GPU */
static void get_availability(void)
{
	struct cupti_availability a = CUPTI_ARGUMENT(availability, image, .context = context);

	check_cupti(cuptiProfilerGetCounterAvailability(&a), "available counters");
	availability = a.image = allocate(a.bytes);
	check_cupti(cuptiProfilerGetCounterAvailability(&a), "available counters");
}

static void open_gpu(const char *ordinal, const char *product)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	struct cuda_uuid uuid = { { 0 } };
	char text[8192], name[128] = "", bus[64] = "";
	int device = 0, count = 0, version = 0, major = 0, minor = 0, number;
	uint32_t cupti = 0;
	size_t at;

	start_driver();
	number = choose(strcmp(ordinal, "-") ? atoi(ordinal) : -1, product, &device);
	check_support(number);
	say_step("asking for the counters");
	get_availability();
	check_driver(cuDeviceGetName(name, sizeof(name), device), "name of the GPU");
	check_driver(cuDeviceGetPCIBusId(bus, sizeof(bus), device), "place of the GPU");
	check_driver(cuDeviceGetUuid_v2(&uuid, device), "UUID of the GPU");
	check_driver(cuDeviceGetCount(&count), "number of GPUs");
	check_driver(cuDriverGetVersion(&version), "version of the driver");
	check_driver(cuDeviceGetAttribute(&major, CUDA_CC_MAJOR, device), "capability");
	check_driver(cuDeviceGetAttribute(&minor, CUDA_CC_MINOR, device), "capability");
	check_cupti(cuptiGetVersion(&cupti), "version of CUPTI");
	at = (size_t)snprintf(text, sizeof(text), "ok\ngpu=%s\nuuid=GPU", name);
	for (size_t i = 0; i < sizeof(uuid.bytes); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%02x",
				       i == 0 || (i >= 4 && i <= 10 && i % 2 == 0) ? "-" : "",
				       uuid.bytes[i]);
	at += (size_t)snprintf(text + at, sizeof(text) - at,
			       "\nplace=%s\nGPU number=%d of %d that the driver shows\nchip=%s\n"
			       "capability=%d.%d\ndriver API=%d\nCUPTI=%u\nCUPTI file=%s\n",
			       bus, number, count, chip, major, minor, version, cupti,
			       library_cupti_path());
	if (*library_refused())
		at += (size_t)snprintf(text + at, sizeof(text) - at, "CUPTI refused=%s\n",
				       library_refused());
	/* the driver numbers only these */
	if (visible && *visible)
		snprintf(text + at, sizeof(text) - at, "CUDA_VISIBLE_DEVICES=%.*s\n",
			 (int)strcspn(visible, "\n"), visible);
	say(text);
}

static void open_driver(const char *ordinal)
{
	char text[256], name[128] = "";

	start_driver();
	check_driver(cuDeviceGetName(name, sizeof(name),
				     open_number(strcmp(ordinal, "-") ? atoi(ordinal) : 0)),
		     "name of the GPU");
	snprintf(text, sizeof(text), "ok\ngpu=%s\n", name);
	say(text);
}

/* --- groups of metrics ------------------------------------------------------------------- */

static void *open_host(void)
{
	struct cupti_host_open open = CUPTI_ARGUMENT(host_open, host, .kind = CUPTI_KIND_RANGE,
						     .chip = chip, .availability = availability);

	check_cupti(cuptiProfilerHostInitialize(&open), "metrics of the chip");
	return open.host;
}

static void close_host(void *host)
{
	struct cupti_host_close close = CUPTI_ARGUMENT(host_close, host, .host = host);

	check_cupti(cuptiProfilerHostDeinitialize(&close), "metrics of the chip");
}

/* Why CUPTI refused to add a metric. @text: room for it */
static void refusal(const char *metric, int result, char *text, size_t size)
{
	char unknown[256];

	/* 1: the argument is as for the other metrics, so it is the name */
	if (result == CUPTI_INVALID_PARAMETER || result == CUPTI_UNKNOWN_METRIC)
		snprintf(text, size, "%s has no metric %s (result %d of CUPTI)", chip, metric,
			 result);
	else
		snprintf(text, size, "%s: %s", metric,
			 cupti_text(result, unknown, sizeof(unknown)));
}

static int add_names(void *host, const char **names, size_t count)
{
	struct cupti_add add =
		CUPTI_ARGUMENT(add, count, .host = host, .names = names, .count = count);

	return cuptiProfilerHostConfigAddMetrics(&add);
}

static void make_config(struct group *g)
{
	struct cupti_image_size size = CUPTI_ARGUMENT(image_size, bytes, .host = g->host);
	struct cupti_image image;
	struct cupti_passes passes;

	check_cupti(cuptiProfilerHostGetConfigImageSize(&size), "configuration");
	g->config_bytes = size.bytes;
	g->config = allocate(size.bytes);
	image = CUPTI_ARGUMENT(image, image, .host = g->host, .bytes = size.bytes,
			       .image = g->config);
	passes = CUPTI_ARGUMENT(passes, passes, .bytes = size.bytes, .image = g->config);
	check_cupti(cuptiProfilerHostGetConfigImage(&image), "configuration");
	check_cupti(cuptiProfilerHostGetNumOfPasses(&passes), "number of passes");
	g->passes = passes.passes;
	if (!g->passes || g->passes > CUDA_MAX_PASSES)
		end_with_error(FAILED, "CUPTI wants %zu passes for %zu metrics", g->passes,
			       g->count);
}

/*
 * A metric that CUPTI refuses makes its host object useless, so each is tried with one of its own.
 * Metrics of several calls are never put into one pass, so all are added at once afterwards.
 */
static void add_group(char *lines)
{
	static char answer[CUDA_MESSAGE];
	struct group *g = &groups[group_count];
	char *save, text[512];
	size_t at = 32;

	if (group_count == MAX_GROUPS)
		end_with_error(FAILED, "more than %d groups", MAX_GROUPS);
	say_step("looking up metrics");
	for (char *name = strtok_r(lines, "\n", &save); name; name = strtok_r(NULL, "\n", &save)) {
		void *host = open_host();
		char *metric = allocate(strlen(name) + sizeof(".sum"));
		int result;

		if (g->count == CUDA_MAX_EVENTS)
			end_with_error(FAILED, "more than %d events in a group", CUDA_MAX_EVENTS);
		sprintf(metric, "%s.sum", name);
		result = add_names(host, (const char **)&metric, 1);
		strcpy(text, "+");
		if (result)
			refusal(metric, result, text, sizeof(text));
		at += (size_t)snprintf(answer + at, sizeof(answer) - at, "%s\n", text);
		if (at >= sizeof(answer))
			end_with_error(FAILED, "too many events");
		close_host(host);
		if (!result)
			g->names[g->count++] = metric;
	}
	if (g->count) {
		g->host = open_host();
		check_cupti(add_names(g->host, g->names, g->count), "metrics together");
		make_config(g);
	}
	group_count++;
	/* the first line, whose length is only known now, ends where the others begin */
	at = (size_t)snprintf(text, sizeof(text), "ok %zu\n", g->passes);
	memcpy(answer + 32 - at, text, at);
	say(answer + 32 - at);
}

/* --- counting ---------------------------------------------------------------------------- */

static void add_module(size_t bytes)
{
	char *data = allocate(bytes + 1);
	size_t got = 0;

	if (module_count == MAX_MODULES)
		end_with_error(FAILED, "more than %d modules", MAX_MODULES);
	while (got < bytes) {
		const ssize_t more = hear(data + got, bytes - got);

		if (more <= 0)
			exit(1);
		got += (size_t)more;
	}
	say_step("loading a module");
	check_driver(cuModuleLoadData(&modules[module_count++], data), "module");
	free(data);
	say("ok");
}

static char *next_word(char **save)
{
	char *word = strtok_r(NULL, " ", save);

	if (!word)
		end_with_error(FAILED, "a request is too short");
	return word;
}

static void fill_buffers(const struct work *w)
{
	for (size_t i = 0; i < w->argument_count; i++)
		if (w->bytes[i])
			check_driver(cuMemsetD32_v2(w->numbers[i], w->words[i], w->bytes[i] / 4),
				     "filling a buffer");
	check_driver(cuCtxSynchronize(), "filling the buffers");
}

/* MODULE KERNEL GRID*3 BLOCK*3 ARGUMENT..., with buffers until end_work() */
static void begin_work(struct work *w, char **save)
{
	const size_t module = strtoul(next_word(save), NULL, 10);
	const char *kernel = next_word(save);
	char *word;

	*w = (struct work){ 0 };
	if (module >= module_count)
		end_with_error(FAILED, "a request names an unknown module");
	check_driver(cuModuleGetFunction(&w->function, modules[module], kernel), kernel);
	for (int i = 0; i < 2 * DIMENSIONS; i++)
		(i < DIMENSIONS ? w->grid : w->block)[i % DIMENSIONS] =
			(unsigned int)strtoul(next_word(save), NULL, 10);
	while (w->argument_count < MAX_ARGUMENTS && (word = strtok_r(NULL, " ", save))) {
		const size_t i = w->argument_count++;

		w->arguments[i] = &w->numbers[i];
		if (*word == 'b') {
			w->bytes[i] = strtoull(word + 1, &word, 10);
			w->words[i] = (unsigned int)strtoul(word + 1, NULL, 10);
			check_driver(cuMemAlloc_v2(&w->numbers[i], w->bytes[i]), "a buffer");
		} else {
			w->numbers[i] = strtoull(word, NULL, 10);
		}
	}
	if (strtok_r(NULL, " ", save))
		end_with_error(FAILED, "more than %d arguments", MAX_ARGUMENTS);
}

static void end_work(const struct work *w)
{
	for (size_t i = 0; i < w->argument_count; i++)
		if (w->bytes[i])
			check_driver(cuMemFree_v2(w->numbers[i]), "a buffer");
}

static void launch(struct work *w)
{
	check_driver(cuLaunchKernel(w->function, w->grid[0], w->grid[1], w->grid[2], w->block[0],
				    w->block[1], w->block[2], 0, NULL, w->arguments, NULL),
		     "launch");
	check_driver(cuCtxSynchronize(), "the kernel");
}

/* The same launch for each pass, in one range of each. Return: number of launches */
static size_t count_passes(const struct group *g, struct work *w, void *profiler)
{
	struct cupti_range range = CUPTI_ARGUMENT(range, profiler, .profiler = profiler);
	struct cupti_range_push push =
		CUPTI_ARGUMENT(range_push, name, .profiler = profiler, .name = "kernel");
	struct cupti_range_stop stop =
		CUPTI_ARGUMENT(range_stop, all_submitted, .profiler = profiler);
	size_t launches = 0;

	do {
		if (launches == g->passes)
			end_with_error(FAILED,
				       "CUPTI wants more than the %zu passes that it announced",
				       g->passes);
		say_step("pass %zu of %zu", launches + 1, g->passes);
		fill_buffers(w);
		check_cupti(cuptiRangeProfilerStart(&range), "begin of a pass");
		check_cupti(cuptiRangeProfilerPushRange(&push), "begin of a range");
		launch(w);
		launches++;
		check_cupti(cuptiRangeProfilerPopRange(&range), "end of a range");
		check_cupti(cuptiRangeProfilerStop(&stop), "end of a pass");
	} while (!stop.all_submitted);
	return launches;
}

/* Return: number of launches; @values: of the group's metrics */
static size_t count(struct group *g, struct work *w, double *values)
{
	struct cupti_range_enable enable =
		CUPTI_ARGUMENT(range_enable, profiler, .context = context);
	struct cupti_range_data_size size = CUPTI_ARGUMENT(range_data_size, bytes,
							   .names = g->names, .count = g->count,
							   .ranges = 1, .nodes = 1);
	struct cupti_range_config config = CUPTI_ARGUMENT(
		range_config, target_level, .config_bytes = g->config_bytes, .config = g->config,
		.range = CUPTI_USER_RANGE, .replay = CUPTI_USER_REPLAY, .ranges_per_pass = 1,
		.levels = 1, .first_level = 1);
	struct cupti_data_init init = CUPTI_ARGUMENT(data_init, data, 0);
	struct cupti_range_decode decode = CUPTI_ARGUMENT(range_decode, dropped, 0);
	struct cupti_range_data_info info = CUPTI_ARGUMENT(range_data_info, ranges, 0);
	struct cupti_evaluate evaluate = CUPTI_ARGUMENT(evaluate, values, .host = g->host,
							.names = g->names, .count = g->count,
							.values = values);
	struct cupti_range range = CUPTI_ARGUMENT(range, profiler, 0);
	size_t launches;

	say_step("enabling the range profiler");
	check_cupti(cuptiRangeProfilerEnable(&enable), "range profiler");
	range.profiler = size.profiler = config.profiler = init.profiler = decode.profiler =
		enable.profiler;
	check_cupti(cuptiRangeProfilerGetCounterDataSize(&size), "room for the counts");
	config.data = init.data = allocate(size.bytes);
	config.data_bytes = init.bytes = size.bytes;
	check_cupti(cuptiRangeProfilerCounterDataImageInitialize(&init), "room for the counts");
	check_cupti(cuptiRangeProfilerSetConfig(&config), "configuration");
	launches = count_passes(g, w, enable.profiler);
	say_step("reading the counts");
	check_cupti(cuptiRangeProfilerDecodeData(&decode), "counts");
	info.data = evaluate.data = config.data;
	info.bytes = evaluate.data_bytes = size.bytes;
	check_cupti(cuptiRangeProfilerGetCounterDataInfo(&info), "counts");
	if (decode.dropped || info.ranges != 1)
		end_with_error(FAILED, "CUPTI has %zu ranges instead of 1, and dropped %zu",
			       info.ranges, decode.dropped);
	check_cupti(cuptiProfilerHostEvaluateToGpuValues(&evaluate), "counts");
	check_cupti(cuptiRangeProfilerDisable(&range), "range profiler");
	free(config.data);
	return launches;
}

static void measure(char **save)
{
	static char answer[CUDA_MESSAGE];
	double values[CUDA_MAX_EVENTS] = { 0 };
	const size_t group = strtoul(next_word(save), NULL, 10);
	struct work work;
	size_t launches;
	int at;

	if (group >= group_count)
		end_with_error(FAILED, "a request names an unknown group");
	begin_work(&work, save);
	launches = count(&groups[group], &work, values);
	end_work(&work);
	at = snprintf(answer, sizeof(answer), "ok %zu\n", launches);
	/* 17 digits give back the same double */
	for (size_t i = 0; i < groups[group].count; i++)
		at += snprintf(answer + at, sizeof(answer) - (size_t)at, "%.17g\n", values[i]);
	say(answer);
}

/* for another profiler */
static void only_launch(char **save)
{
	struct work work;

	begin_work(&work, save);
	fill_buffers(&work);
	say_step("launching a kernel");
	launch(&work);
	end_work(&work);
	say("ok");
}

int main(void)
{
	static char request[CUDA_MESSAGE + 1];
	/* what the libraries print is no message, and nobody types for them */
	const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	int type = 0;
	socklen_t length = sizeof(type);
	ssize_t got;

	if (getsockopt(CUDA_SOCKET, SOL_SOCKET, SO_TYPE, &type, &length) || type != SOCK_SEQPACKET)
		return fputs("cuda-counter: perfctr validate starts this program\n", stderr), 2;
	dup2(nowhere, STDIN_FILENO);
	dup2(nowhere, STDOUT_FILENO);
	dup2(nowhere, STDERR_FILENO);
	while ((got = hear(request, CUDA_MESSAGE)) > 0) {
		char *save, *word;

		request[got] = '\0';
		if (!strncmp(request, "events\n", strlen("events\n"))) {
			add_group(request + strlen("events\n"));
			continue;
		}
		word = strtok_r(request, " ", &save);
		if (word && !strcmp(word, "open")) {
			char *ordinal = next_word(&save);

			open_gpu(ordinal, next_word(&save));
		} else if (word && !strcmp(word, "driver")) {
			open_driver(next_word(&save));
		} else if (word && !strcmp(word, "launch")) {
			only_launch(&save);
		} else if (word && !strcmp(word, "module")) {
			add_module(strtoul(next_word(&save), NULL, 10));
		} else if (word && !strcmp(word, "measure")) {
			measure(&save);
		} else {
			end_with_error(FAILED, "an unknown request");
		}
	}
	return 0;
}
