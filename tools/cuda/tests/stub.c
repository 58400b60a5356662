// SPDX-License-Identifier: MIT
/*
 * Stands for libcuda and libcupti where there is no GPU, for tests: as strict as the real ones are
 * known to be (sizes of arguments, order of calls, host objects that refused a metric), and counts
 * what the file CUDA_STUB says, lines "KERNEL GRID BLOCK ARGUMENT...|METRIC VALUE".
 * CUDA_STUB_FAULT: what goes wrong.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cuda.h"

#define API __attribute__((visibility("default")))

/* exported by NVIDIA's names */
#define DECLARE(name, arguments) API int stub_##name arguments __asm__(#name);
CUDA_FUNCTIONS(DECLARE)
CUPTI_FUNCTIONS(DECLARE)

/* the argument has exactly the size of its members */
#define CHECK(p, type, last)                                                                \
	if (!(p) || (p)->size != offsetof(struct cupti_##type, last) + sizeof((p)->last) || \
	    (p)->reserved)                                                                  \
	return CUPTI_INVALID_PARAMETER

enum { BUFFERS = 8, METRICS = 256, SIGNATURE = 256, PASS_METRICS = 4, DIE_AT = 5 };
enum { CONFIG_MAGIC = 0x434f4e46, DATA_MAGIC = 0x44415441, SMALL_IMAGE = 24 };
#define CONTEXT ((void *)0x1000)

static char *model;
static int is_started, context_is_current, is_profiling;
static struct {
	uint64_t address;
	size_t bytes;
	unsigned int word;
} buffers[BUFFERS];
static unsigned long launches; /* in all */

struct host {
	char names[METRICS][128];
	size_t count, calls;
	bool is_poisoned;
};

struct config {
	uint32_t magic, passes;
	size_t count;
	char names[METRICS][128];
	size_t pass_of[METRICS];
};

struct data {
	uint32_t magic;
	bool is_decoded;
	size_t count;
	double values[METRICS];
	char names[METRICS][128];
};

static struct {
	bool is_enabled, is_started, is_pushed;
	const struct config *config;
	struct data *data;
	size_t pass;
	unsigned int launched; /* in the range of this pass */
	char first[SIGNATURE], launched_last[SIGNATURE];
} profiler;

static bool fault(const char *name)
{
	const char *wanted = getenv("CUDA_STUB_FAULT");

	return wanted && !strcmp(wanted, name);
}

static void load_model(void)
{
	const char *path = getenv("CUDA_STUB");
	FILE *file = path ? fopen(path, "r") : NULL;
	size_t room = 1 << 24;

	model = calloc(1, room);
	model[0] = '\n';
	if (!file || !fread(model + 1, 1, room - 2, file))
		abort();
	fclose(file);
}

/* What the model has behind "\nBEFORE" and @key, or NULL. */
static const char *look_up(const char *before, const char *key)
{
	char text[3 * SIGNATURE];
	const char *at;

	snprintf(text, sizeof(text), "%s%s", before, key);
	at = strstr(model, text);
	return at ? at + strlen(text) : NULL;
}

/* --- the driver --------------------------------------------------------------------------- */

API int stub_cuInit(unsigned int flags)
{
	if (fault("no-device"))
		return CUDA_NO_DEVICE;
	load_model();
	is_started = 1;
	return flags != 0;
}

API int stub_cuDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

API int stub_cuDeviceGetCount(int *count)
{
	*count = 1;
	return !is_started;
}

API int stub_cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return ordinal ? 101 : !is_started;
}

API int stub_cuDeviceGetName(char *text, int size, int device)
{
	snprintf(text, (size_t)size, "Stub GPU");
	return device;
}

API int stub_cuDeviceGetAttribute(int *value, int attribute, int device)
{
	*value = attribute == CUDA_CC_MAJOR ? 9 : 0;
	return device;
}

API int stub_cuDeviceGetPCIBusId(char *text, int size, int device)
{
	snprintf(text, (size_t)size, "0000:01:00.0");
	return device;
}

API int stub_cuDeviceGetUuid_v2(struct cuda_uuid *uuid, int device)
{
	for (unsigned int i = 0; i < sizeof(uuid->bytes); i++)
		uuid->bytes[i] = (uint8_t)(0xa0 + i);
	return device;
}

API int stub_cuDevicePrimaryCtxRetain(void **context, int device)
{
	*context = CONTEXT;
	return device;
}

API int stub_cuDevicePrimaryCtxRelease_v2(int device)
{
	return device;
}

API int stub_cuCtxSetCurrent(void *context)
{
	context_is_current = context == CONTEXT;
	return !context_is_current;
}

API int stub_cuCtxSynchronize(void)
{
	return !context_is_current;
}

API int stub_cuModuleLoadData(void **module, const void *image)
{
	const char *text = image;

	if (fault("other-gpu"))
		return CUDA_NO_BINARY;
	/* a cubin, or PTX, which begins with comments */
	if (memcmp(text, "\177ELF", 4) != 0 && !strstr(text, "\n.version"))
		return 200;
	*module = (void *)0x2000;
	return 0;
}

API int stub_cuModuleGetFunction(void **function, void *module, const char *name)
{
	char key[SIGNATURE];

	snprintf(key, sizeof(key), "%s ", name);
	if (module != (void *)0x2000 || !look_up("\n", key))
		return 500;
	*function = strdup(name);
	return 0;
}

API int stub_cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	for (uint64_t i = 0; i < BUFFERS; i++) {
		if (buffers[i].address)
			continue;
		buffers[i].address = *address = (i + 1) << 40;
		buffers[i].bytes = bytes;
		return !bytes;
	}
	return 2;
}

static long buffer_of(uint64_t address)
{
	for (long i = 0; i < BUFFERS; i++)
		if (address && buffers[i].address == address)
			return i;
	return -1;
}

API int stub_cuMemFree_v2(uint64_t address)
{
	const long i = buffer_of(address);

	if (i < 0)
		return 1;
	buffers[i].address = 0;
	return 0;
}

API int stub_cuMemsetD32_v2(uint64_t address, unsigned int word, size_t words)
{
	const long i = buffer_of(address);

	/* a kernel of its own, so not in a range */
	if (i < 0 || 4 * words != buffers[i].bytes || profiler.is_started)
		return 1;
	buffers[i].word = word;
	return 0;
}

/* for a test that plays ncu: its own lines in the file CUDA_STUB_LAUNCHES */
static void note_launch(const char *text)
{
	const char *path = getenv("CUDA_STUB_LAUNCHES");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	fprintf(file, "%s\n", text);
	fclose(file);
}

API int stub_cuLaunchKernel(void *function, unsigned int gx, unsigned int gy, unsigned int gz,
			    unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
			    void *stream, void **arguments, void **extra)
{
	char text[SIGNATURE];
	int at = snprintf(text, sizeof(text), "%s %ux%ux%u %ux%ux%u", (char *)function, gx, gy, gz,
			  bx, by, bz);

	for (int i = 0; i < BUFFERS && arguments[i]; i++) {
		const uint64_t value = *(uint64_t *)arguments[i];
		const long buffer = buffer_of(value);

		at += snprintf(text + at, sizeof(text) - (size_t)at,
			       buffer < 0 ? " %llu" : " w%llu",
			       buffer < 0 ? (unsigned long long)value : buffers[buffer].word);
	}
	note_launch(text);
	if (fault("die") && ++launches == DIE_AT)
		raise(SIGSEGV);
	profiler.launched += profiler.is_pushed;
	snprintf(profiler.launched_last, sizeof(profiler.launched_last), "%s", text);
	return shared || stream || extra || !context_is_current;
}

API int stub_cuGetErrorName(int error, const char **name)
{
	*name = "STUB_ERROR";
	return 0;
}

/* --- CUPTI -------------------------------------------------------------------------------- */

API int stub_cuptiGetVersion(uint32_t *version)
{
	*version = 130001;
	return 0;
}

API int stub_cuptiGetResultString(int result, const char **text)
{
	*text = "STUB_RESULT";
	return 0;
}

API int stub_cuptiProfilerInitialize(struct cupti_initialize *p)
{
	CHECK(p, initialize, reserved);
	if (!is_started)
		return CUPTI_UNKNOWN;
	is_profiling = 1;
	return 0;
}

API int stub_cuptiDeviceGetChipName(struct cupti_chip *p)
{
	/* as the real one without a driver */
	if (!is_profiling)
		raise(SIGSEGV);
	CHECK(p, chip, name);
	p->name = "GH100";
	return p->device != 0;
}

API int stub_cuptiProfilerDeviceSupported(struct cupti_supported *p)
{
	CHECK(p, supported, api);
	p->supported = fault("unsupported") ? CUPTI_SUPPORT_DISABLED : CUPTI_SUPPORTED;
	p->architecture = p->sli = p->vgpu = p->confidential = p->cmp = p->wsl = CUPTI_SUPPORTED;
	return p->api != CUPTI_API_RANGE;
}

API int stub_cuptiProfilerGetCounterAvailability(struct cupti_availability *p)
{
	CHECK(p, availability, image);
	if (fault("noperm"))
		return CUPTI_NO_PRIVILEGE;
	if (fault("mig"))
		return CUPTI_MIG;
	if (p->image && p->bytes == SMALL_IMAGE)
		memset(p->image, 0x5a, SMALL_IMAGE);
	else if (p->image)
		return CUPTI_INVALID_PARAMETER;
	p->bytes = SMALL_IMAGE;
	return p->context != CONTEXT;
}

API int stub_cuptiProfilerHostInitialize(struct cupti_host_open *p)
{
	CHECK(p, host_open, host);
	if (strcmp(p->chip, "GH100") != 0)
		return CUPTI_CHIP_NAME;
	if (p->kind != CUPTI_KIND_RANGE || !p->availability || *p->availability != 0x5a)
		return CUPTI_INVALID_PARAMETER;
	p->host = calloc(1, sizeof(struct host));
	return 0;
}

API int stub_cuptiProfilerHostDeinitialize(struct cupti_host_close *p)
{
	CHECK(p, host_close, host);
	free(p->host);
	return 0;
}

API int stub_cuptiProfilerHostConfigAddMetrics(struct cupti_add *p)
{
	struct host *host;

	CHECK(p, add, count);
	host = p->host;
	if (host->is_poisoned)
		return CUPTI_UNKNOWN;
	host->calls++;
	for (size_t i = 0; i < p->count; i++) {
		char metric[128];
		const size_t length = strcspn(p->names[i], ".");

		host->is_poisoned = true;
		if (strcmp(p->names[i] + length, ".sum") != 0 || host->count == METRICS)
			return CUPTI_INVALID_PARAMETER;
		snprintf(metric, sizeof(metric), "%.*s ", (int)length, p->names[i]);
		/* as the real one's, not 17 */
		if (!look_up("|", metric))
			return CUPTI_INVALID_PARAMETER;
		host->is_poisoned = false;
		snprintf(host->names[host->count++], sizeof(host->names[0]), "%s", p->names[i]);
	}
	return 0;
}

API int stub_cuptiProfilerHostGetConfigImageSize(struct cupti_image_size *p)
{
	CHECK(p, image_size, bytes);
	p->bytes = sizeof(struct config);
	return ((struct host *)p->host)->is_poisoned ? CUPTI_UNKNOWN : 0;
}

/* Patched counts share a pass; of the hardware's, a few fit into one. */
API int stub_cuptiProfilerHostGetConfigImage(struct cupti_image *p)
{
	const struct host *host;
	struct config *config;
	size_t hardware = 0;
	bool patched = false;

	CHECK(p, image, image);
	host = p->host;
	config = (struct config *)p->image;
	if (p->bytes != sizeof(*config) || !host->count)
		return CUPTI_INVALID_PARAMETER;
	config->magic = CONFIG_MAGIC;
	config->count = host->count;
	memcpy(config->names, host->names, sizeof(config->names));
	for (size_t i = 0; i < host->count; i++)
		patched |= strstr(host->names[i], "_sass_") != NULL;
	for (size_t i = 0; i < host->count; i++)
		config->pass_of[i] =
			strstr(host->names[i], "_sass_") ? 0 : patched + hardware++ / PASS_METRICS;
	config->passes = (uint32_t)(patched + (hardware + PASS_METRICS - 1) / PASS_METRICS);
	/* metrics of several calls are never in one pass */
	config->passes += (uint32_t)host->calls - 1;
	return 0;
}

API int stub_cuptiProfilerHostGetNumOfPasses(struct cupti_passes *p)
{
	const struct config *config;

	CHECK(p, passes, passes);
	config = (const struct config *)p->image;
	if (p->bytes != sizeof(*config) || config->magic != CONFIG_MAGIC)
		return CUPTI_INVALID_PARAMETER;
	p->passes = config->passes;
	return 0;
}

API int stub_cuptiRangeProfilerEnable(struct cupti_range_enable *p)
{
	CHECK(p, range_enable, profiler);
	if (fault("busy"))
		return CUPTI_BUSY;
	if (profiler.is_enabled || p->context != CONTEXT)
		return CUPTI_INVALID_OPERATION;
	memset(&profiler, 0, sizeof(profiler));
	profiler.is_enabled = true;
	p->profiler = &profiler;
	return 0;
}

API int stub_cuptiRangeProfilerDisable(struct cupti_range *p)
{
	CHECK(p, range, profiler);
	if (!profiler.is_enabled || profiler.is_started)
		return CUPTI_INVALID_OPERATION;
	profiler.is_enabled = false;
	return 0;
}

API int stub_cuptiRangeProfilerGetCounterDataSize(struct cupti_range_data_size *p)
{
	CHECK(p, range_data_size, bytes);
	if (p->profiler != &profiler || p->ranges != 1 || p->nodes < p->ranges)
		return CUPTI_INVALID_PARAMETER;
	p->bytes = sizeof(struct data);
	return 0;
}

API int stub_cuptiRangeProfilerCounterDataImageInitialize(struct cupti_data_init *p)
{
	CHECK(p, data_init, data);
	if (p->profiler != &profiler || p->bytes != sizeof(struct data))
		return CUPTI_INVALID_PARAMETER;
	*(struct data *)p->data = (struct data){ .magic = DATA_MAGIC };
	return 0;
}

API int stub_cuptiRangeProfilerSetConfig(struct cupti_range_config *p)
{
	CHECK(p, range_config, target_level);
	profiler.config = (const struct config *)p->config;
	profiler.data = (struct data *)p->data;
	if (p->profiler != &profiler || p->config_bytes != sizeof(struct config) ||
	    profiler.config->magic != CONFIG_MAGIC || p->data_bytes != sizeof(struct data) ||
	    profiler.data->magic != DATA_MAGIC || p->range != CUPTI_USER_RANGE ||
	    p->replay != CUPTI_USER_REPLAY || p->ranges_per_pass != 1 || p->levels != 1 ||
	    p->first_level != 1 || p->pass || p->target_level)
		return CUPTI_INVALID_PARAMETER;
	return 0;
}

API int stub_cuptiRangeProfilerStart(struct cupti_range *p)
{
	CHECK(p, range, profiler);
	if (!profiler.is_enabled || !profiler.config || profiler.is_started)
		return CUPTI_INVALID_OPERATION;
	profiler.is_started = true;
	profiler.launched = 0;
	return 0;
}

API int stub_cuptiRangeProfilerPushRange(struct cupti_range_push *p)
{
	CHECK(p, range_push, name);
	if (!profiler.is_started || profiler.is_pushed || !p->name)
		return CUPTI_INVALID_OPERATION;
	profiler.is_pushed = true;
	return 0;
}

API int stub_cuptiRangeProfilerPopRange(struct cupti_range *p)
{
	CHECK(p, range, profiler);
	if (!profiler.is_pushed)
		return CUPTI_INVALID_OPERATION;
	profiler.is_pushed = false;
	return 0;
}

/* Counts the pass: its metrics, of what was launched in it. */
API int stub_cuptiRangeProfilerStop(struct cupti_range_stop *p)
{
	const struct config *config = profiler.config;

	CHECK(p, range_stop, all_submitted);
	if (!profiler.is_started || profiler.is_pushed || profiler.launched != 1)
		return CUPTI_INVALID_OPERATION;
	if (fault("hang"))
		for (;;)
			pause();
	if (fault("slow"))
		usleep(900000);
	/* replayed is the same work */
	if (!profiler.pass)
		strcpy(profiler.first, profiler.launched_last);
	else if (strcmp(profiler.first, profiler.launched_last) != 0)
		return CUPTI_INVALID_OPERATION;
	for (size_t i = 0; i < config->count; i++) {
		const size_t length = strcspn(config->names[i], ".");
		char key[2 * SIGNATURE];
		const char *value;

		if (config->pass_of[i] != profiler.pass)
			continue;
		snprintf(key, sizeof(key), "%s|%.*s ", profiler.launched_last, (int)length,
			 config->names[i]);
		value = look_up("\n", key);
		/* what the model does not have is no number */
		profiler.data->values[i] = value ? atof(value) : -1;
	}
	profiler.is_started = false;
	p->pass = ++profiler.pass;
	p->all_submitted = !fault("endless") && profiler.pass >= config->passes;
	return 0;
}

API int stub_cuptiRangeProfilerDecodeData(struct cupti_range_decode *p)
{
	CHECK(p, range_decode, dropped);
	if (fault("overflow"))
		return CUPTI_OVERFLOW;
	if (profiler.is_started || profiler.pass < profiler.config->passes)
		return CUPTI_INVALID_OPERATION;
	memcpy(profiler.data->names, profiler.config->names, sizeof(profiler.data->names));
	profiler.data->count = profiler.config->count;
	profiler.data->is_decoded = true;
	p->dropped = fault("dropped");
	return 0;
}

API int stub_cuptiRangeProfilerGetCounterDataInfo(struct cupti_range_data_info *p)
{
	CHECK(p, range_data_info, ranges);
	p->ranges = ((const struct data *)p->data)->is_decoded;
	return p->bytes != sizeof(struct data);
}

API int stub_cuptiProfilerHostEvaluateToGpuValues(struct cupti_evaluate *p)
{
	const struct data *data;

	CHECK(p, evaluate, values);
	data = (const struct data *)p->data;
	if (p->data_bytes != sizeof(*data) || !data->is_decoded || p->range)
		return CUPTI_INVALID_PARAMETER;
	for (size_t i = 0; i < p->count; i++) {
		size_t at = 0;

		while (at < data->count && strcmp(data->names[at], p->names[i]) != 0)
			at++;
		if (at == data->count)
			return CUPTI_INVALID_PARAMETER;
		p->values[i] = data->values[at];
	}
	if (fault("fraction"))
		p->values[0] += 0.5;
	if (fault("large"))
		p->values[0] = 1e18;
	return 0;
}
