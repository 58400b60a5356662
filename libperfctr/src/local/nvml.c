// SPDX-License-Identifier: MIT
/*
 * NVIDIA GPUs by NVML. The events of a GPU are known without it: its library is loaded only for a
 * session that counts one of them, because it wakes GPUs that sleep and keeps them awake. No call
 * is made while one sleeps, and none that waits for a measurement (GetPcieThroughput: 20 ms).
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "gauge.h"
#include "nvml.h"

#define DRIVER_FOLDER "/sys/bus/pci/drivers/nvidia"

enum {
	MOST_PROCESSES = 1024,
	/*
	 * A sample waits for the GPU. NVML wants 100 ms between two; a sample of a period of 100 ms
	 * may come a bit early. If NVML refuses it, it is not measured, and the next one has all.
	 */
	GPM_PAUSE_NS = 90000000,
};

/* what a call returns; one serves all events of it */
enum group {
	GROUP_ENERGY,
	GROUP_POWER,
	GROUP_TEMPERATURE,
	GROUP_CLOCK,
	GROUP_MEMORY,
	GROUP_UTILIZATION,
	GROUP_FIELD,
	GROUP_GPM,
	GROUP_PROCESS_MEMORY,
	GROUP_PROCESS_USE,
};

/* What no GPU exceeds: 10 kW, 1 TB/s of PCIe, 10 TB/s of NVLink, 1 s a second, 1,000 SMs, 4 GHz. */
static const struct gauge_kind temperature = { NVML_TEMPERATURE, false, 1000, 1, 0 };
static const struct gauge_kind power = { NVML_POWER, false, 1, 1, 0 };
static const struct gauge_kind energy = { NVML_ENERGY, true, 1000, 1, 10000000 };
static const struct gauge_kind clock_rate = { NVML_CLOCK, false, 1000000, 1, 0 };
static const struct gauge_kind activity = { NVML_ACTIVITY, false, 1, 1, 0 };
static const struct gauge_kind memory = { NVML_MEMORY, false, 1, 1, 0 };
static const struct gauge_kind pcie = { NVML_DATA, true, 1, 1, 1000000000000 };
static const struct gauge_kind nvlink = { NVML_DATA, true, 1024, 1, 10000000000 };
static const struct gauge_kind throttle = { NVML_THROTTLE, true, 1, 1, 1100000000 };
static const struct gauge_kind cycles = { NVML_CYCLES, true, 1, 1, 4000000000000 };

static const struct event {
	const char *name;
	const struct gauge_kind *kind;
	enum group group;
	unsigned int number; /* of the value among those of the call */
} events[] = {
	{ "energy", &energy, GROUP_ENERGY, 0 },
	{ "power", &power, GROUP_POWER, 0 },
	{ "temperature", &temperature, GROUP_TEMPERATURE, NVML_TEMPERATURE_GPU },
	{ "clock-graphics", &clock_rate, GROUP_CLOCK, NVML_CLOCK_GRAPHICS },
	{ "clock-sm", &clock_rate, GROUP_CLOCK, NVML_CLOCK_SM },
	{ "clock-memory", &clock_rate, GROUP_CLOCK, NVML_CLOCK_MEMORY },
	{ "clock-video", &clock_rate, GROUP_CLOCK, NVML_CLOCK_VIDEO },
	{ "memory-used", &memory, GROUP_MEMORY, 0 },
	{ "memory-free", &memory, GROUP_MEMORY, 1 },
	{ "utilization-gpu", &activity, GROUP_UTILIZATION, 0 },
	{ "utilization-memory", &activity, GROUP_UTILIZATION, 1 },
	{ "pcie-tx", &pcie, GROUP_FIELD, NVML_FIELD_PCIE_TX },
	{ "pcie-rx", &pcie, GROUP_FIELD, NVML_FIELD_PCIE_RX },
	{ "nvlink-tx", &nvlink, GROUP_FIELD, NVML_FIELD_NVLINK_TX },
	{ "nvlink-rx", &nvlink, GROUP_FIELD, NVML_FIELD_NVLINK_RX },
	{ "throttle-power", &throttle, GROUP_FIELD, NVML_FIELD_THROTTLE_POWER },
	{ "throttle-thermal", &throttle, GROUP_FIELD, NVML_FIELD_THROTTLE_THERMAL },
	{ "throttle-sync-boost", &throttle, GROUP_FIELD, NVML_FIELD_THROTTLE_SYNC_BOOST },
	{ "throttle-board-limit", &throttle, GROUP_FIELD, NVML_FIELD_THROTTLE_BOARD_LIMIT },
	{ "throttle-low-utilization", &throttle, GROUP_FIELD, NVML_FIELD_THROTTLE_LOW_UTILIZATION },
	{ "throttle-reliability", &throttle, GROUP_FIELD, NVML_FIELD_THROTTLE_RELIABILITY },
	{ "throttle-app-clocks", &throttle, GROUP_FIELD, NVML_FIELD_THROTTLE_APP_CLOCKS },
	{ "throttle-base-clocks", &throttle, GROUP_FIELD, NVML_FIELD_THROTTLE_BASE_CLOCKS },
	{ "sm-cycles", &cycles, GROUP_GPM, NVML_GPM_SM_CYCLES },
	{ "sm-cycles-active", &cycles, GROUP_GPM, NVML_GPM_SM_ACTIVE },
	{ "tensor-cycles-active", &cycles, GROUP_GPM, NVML_GPM_TENSOR_ACTIVE },
	/* with pid=N */
	{ "process-memory", &memory, GROUP_PROCESS_MEMORY, 0 },
	{ "process-sm", &activity, GROUP_PROCESS_USE, 0 },
	{ "process-memory-bandwidth", &activity, GROUP_PROCESS_USE, 1 },
};

struct gpu {
	struct gpu *next;
	char place[32]; /* "0000:01:00.0" */
	void *handle;
	void *first, *second; /* GPM samples: of the first reading, and of the last */
	uint64_t gpm_ns; /* of the last one; 0: none */
	double gpm_cycles; /* SM cycles as of it */
	unsigned long long use_us; /* of the newest utilization of a process that was read */
};

struct nvml_gauge {
	struct nvml_gauge *next;
	struct gauge gauge;
	const struct event *event;
	struct gpu *gpu;
	long pid;
};

/* a session */
struct nvml {
	struct nvml_api api;
	bool is_open;
	struct gpu *gpus;
	struct nvml_gauge *gauges; /* the newest first */
	/* answers of NVML, of one call */
	struct nvml_process processes[MOST_PROCESSES];
	struct nvml_process_use uses[MOST_PROCESSES];
};

/* --- GPUs --------------------------------------------------------------------------- */

struct walk {
	struct perfctr_ctx *ctx;
	int (*fn)(struct walk *w, const char *place);
	gauge_fn name_fn;
	void *arg;
	uint64_t hash;
	char place[32];
	const struct event *event;
};

static int visit_gpu(void *arg, const char *name)
{
	struct walk *w = arg;

	/* beside them are files: bind, new_id, uevent, and a link to the module */
	if (!strchr(name, ':') || strlen(name) >= sizeof(w->place))
		return 0;
	return w->fn(w, name);
}

static int walk_gpus(struct walk *w)
{
	const int result = w->ctx->sys->list(w->ctx->sys->data, DRIVER_FOLDER, visit_gpu, w);

	return result == -ENOENT ? 0 : result;
}

static int is_gpu(struct walk *w, const char *place)
{
	return 1;
}

static bool nvml_exists(struct perfctr_ctx *ctx)
{
	struct walk w = { .ctx = ctx, .fn = is_gpu };

	return walk_gpus(&w) == 1;
}

static int is_asleep(struct walk *w, const char *place)
{
	char path[PATH_BYTES], status[24];

	snprintf(path, sizeof(path), DRIVER_FOLDER "/%s/power/runtime_status", place);
	if (perfctr_sys_read_text(w->ctx->sys, path, status, sizeof(status)) <= 0 ||
	    strcmp(status, "suspended") != 0)
		return 0;
	snprintf(w->place, sizeof(w->place), "%s", place);
	return 1;
}

static int list_events(struct walk *w, const char *place)
{
	int error = 0;

	for (size_t n = 0; !error && n < ARRAY_SIZE(events); n++) {
		char name[sizeof(w->place) + 40];

		snprintf(name, sizeof(name), "%s:%s", place, events[n].name);
		error = w->name_fn(w->arg, name, events[n].kind);
	}
	return error;
}

static int nvml_list(struct perfctr_ctx *ctx, gauge_fn fn, void *arg, char *reason)
{
	struct walk w = { .ctx = ctx, .fn = list_events, .name_fn = fn, .arg = arg };

	return walk_gpus(&w);
}

static int find_event(struct walk *w, const char *place)
{
	for (size_t n = 0; n < ARRAY_SIZE(events); n++) {
		char name[sizeof(w->place) + 40];

		snprintf(name, sizeof(name), "%s:%s", place, events[n].name);
		if (perfctr_hash(name) != w->hash)
			continue;
		w->event = &events[n];
		snprintf(w->place, sizeof(w->place), "%s", place);
		return 1;
	}
	return 0;
}

/* --- the library -------------------------------------------------------------------- */

/* What a result means, and what helps. */
static const char *explain(int result)
{
	switch (result) {
	case NVML_NOT_SUPPORTED:
		return "this GPU or its driver does not measure it";
	case NVML_NO_PERMISSION:
		return "the driver keeps it for root (RmProfilingAdminOnly in "
		       "/proc/driver/nvidia/params)";
	case NVML_NO_DRIVER:
		return "the kernel module nvidia is not loaded: sudo modprobe nvidia";
	case NVML_NO_FUNCTION:
		return "the NVIDIA driver is too old for it";
	case NVML_GPU_LOST:
		return "the GPU fell off the bus or is otherwise lost: see the kernel log (Xid)";
	case NVML_OTHER_VERSION:
		return "the NVIDIA library and kernel module have different versions, as after an "
		       "upgrade: restart the machine";
	default:
		return "NVML failed";
	}
}

static int errno_of(int result)
{
	return result == NVML_NOT_SUPPORTED || result == NVML_NO_FUNCTION ? -EOPNOTSUPP :
	       result == NVML_NO_PERMISSION				  ? -EACCES :
	       result == NVML_GPU_LOST || result == NVML_NO_DRIVER	  ? -ENODEV :
									    -EIO;
}

static void *find_function(const struct perfctr_sys *sys, const char *name, const char *old)
{
	void *found = sys->symbol ? sys->symbol(sys->data, NVML_LIBRARY, name) : NULL;

	return !found && old && sys->symbol ? sys->symbol(sys->data, NVML_LIBRARY, old) : found;
}

/* Return: 0; a negative errno, with the reason. */
static int open_library(struct perfctr_ctx *ctx, struct nvml *nvml, char *reason)
{
	struct walk w = { .ctx = ctx, .fn = is_asleep };
	int result;

	if (nvml->is_open)
		return 0;
	if (walk_gpus(&w) == 1) {
		snprintf(reason, GAUGE_REASON_BYTES, "%s sleeps, and NVML would wake it", w.place);
		return -EHOSTDOWN;
	}
#define NVML_FIND(member, name, old, arguments) \
	*(void **)&nvml->api.member = find_function(ctx->sys, name, old);
	NVML_FUNCTIONS(NVML_FIND)
#undef NVML_FIND
	if (!nvml->api.init || !nvml->api.shutdown || !nvml->api.handle) {
		snprintf(reason, GAUGE_REASON_BYTES,
			 NVML_LIBRARY " of the NVIDIA driver cannot be loaded (on Debian: "
				      "sudo apt install libnvidia-ml1)");
		return -ENODEV;
	}
	result = nvml->api.init();
	if (result) {
		snprintf(reason, GAUGE_REASON_BYTES, "%s (NVML error %d)", explain(result), result);
		return result == NVML_NO_PERMISSION ? -EACCES : -ENODEV;
	}
	nvml->is_open = true;
	return 0;
}

/* --- values ------------------------------------------------------------------------- */

/* a session's reading of a GPU: values of calls that serve several events */
struct reading {
	struct nvml *nvml;
	const struct nvml_api *api;
	struct gpu *gpu;
	uint64_t now_ns;
	/* results of the calls, -1: not called yet */
	int memory_result, utilization_result, gpm_result, use_result;
	struct nvml_memory memory;
	struct nvml_utilization utilization;
	struct nvml_gpm gpm;
	unsigned int use_count; /* of nvml->uses */
};

/* all ones is NVML's word for "unknown" */
static int check_u32(int result, unsigned int value, uint64_t *out)
{
	*out = value;
	return result ? result : value == UINT32_MAX ? NVML_NO_DATA : 0;
}

static int check_percent(int result, unsigned int value, uint64_t *out)
{
	*out = value;
	return result ? result : value > 100 ? NVML_NO_DATA : 0;
}

static int read_memory(struct reading *r, unsigned int number, uint64_t *value)
{
	if (r->memory_result < 0)
		r->memory_result = r->api->memory ? r->api->memory(r->gpu->handle, &r->memory) :
						    NVML_NO_FUNCTION;
	*value = number ? r->memory.free : r->memory.used;
	if (!r->memory_result &&
	    (r->memory.used > r->memory.total || r->memory.free > r->memory.total))
		return NVML_NO_DATA;
	return r->memory_result;
}

static int read_utilization(struct reading *r, unsigned int number, uint64_t *value)
{
	if (r->utilization_result < 0)
		r->utilization_result =
			r->api->utilization ? r->api->utilization(r->gpu->handle, &r->utilization) :
					      NVML_NO_FUNCTION;
	return check_percent(r->utilization_result,
			     number ? r->utilization.memory : r->utilization.gpu, value);
}

static int read_field(const struct reading *r, unsigned int field, uint64_t *value)
{
	const bool is_nvlink = field == NVML_FIELD_NVLINK_TX || field == NVML_FIELD_NVLINK_RX;
	struct nvml_field f = { .field = field, .scope = is_nvlink ? NVML_ALL_LINKS : 0 };
	const int result = r->api->fields ? r->api->fields(r->gpu->handle, 1, &f) :
					    NVML_NO_FUNCTION;

	if (result || f.result)
		return result ? result : f.result;
	/* a count of bytes in 32 bits would wrap unseen within a tenth of a second */
	if (f.type != NVML_U64 && f.type != NVML_ULONG)
		return NVML_NOT_SUPPORTED;
	*value = f.type == NVML_U64 ? f.value.u64 : f.value.ulong;
	return *value == UINT64_MAX ? NVML_NO_DATA : 0;
}

/*
 * Take a GPM sample and ask for all totals between the first sample of the session and this one.
 * Whether NVML shows the totals themselves or what was added since the first sample: the growth
 * from reading to reading is the same.
 */
static int sample_gpm(struct reading *r)
{
	struct nvml_gpm_support support = { .version = NVML_GPM_VERSION };
	struct gpu *gpu = r->gpu;
	int result;

	if (!r->api->gpm_support || !r->api->gpm_alloc || !r->api->gpm_free ||
	    !r->api->gpm_sample || !r->api->gpm_metrics)
		return NVML_NO_FUNCTION;
	if (gpu->gpm_ns && r->now_ns - gpu->gpm_ns < GPM_PAUSE_NS)
		return NVML_NO_DATA;
	if (!gpu->second) {
		result = r->api->gpm_support(gpu->handle, &support);
		if (result || !support.supported)
			return result ? result : NVML_NOT_SUPPORTED;
		if (!gpu->first)
			result = r->api->gpm_alloc(&gpu->first);
		if (!result)
			result = r->api->gpm_alloc(&gpu->second);
		if (!result)
			result = r->api->gpm_sample(gpu->handle, gpu->first);
		gpu->gpm_ns = r->now_ns;
		return result ? result : NVML_NO_DATA;
	}
	result = r->api->gpm_sample(gpu->handle, gpu->second);
	gpu->gpm_ns = r->now_ns;
	r->gpm = (struct nvml_gpm){
		.version = NVML_GPM_VERSION, .count = 3, .first = gpu->first, .second = gpu->second
	};
	for (unsigned int n = 0; n < r->gpm.count; n++)
		r->gpm.metrics[n].metric = NVML_GPM_SM_CYCLES + n;
	return result ? result : r->api->gpm_metrics(&r->gpm);
}

static int read_gpm(struct reading *r, unsigned int metric, uint64_t *value)
{
	const struct nvml_gpm_metric *m = &r->gpm.metrics[metric - NVML_GPM_SM_CYCLES];
	const struct nvml_gpm_metric *elapsed = &r->gpm.metrics[0];

	if (r->gpm_result < 0) {
		r->gpm_result = sample_gpm(r);
		/* a clock that stands still: these are no totals */
		if (!r->gpm_result && !elapsed->result) {
			if (!(elapsed->value > r->gpu->gpm_cycles))
				r->gpm_result = NVML_NO_DATA;
			r->gpu->gpm_cycles = elapsed->value;
		}
	}
	if (r->gpm_result || m->result)
		return r->gpm_result ? r->gpm_result : m->result;
	if (!isfinite(m->value) || m->value < 0 || m->value >= 0x1p63)
		return NVML_NO_DATA;
	*value = (uint64_t)m->value;
	return 0;
}

/* Add the memory of a process that one of the lists has. */
static int add_processes(const struct reading *r,
			 int (*list)(void *, unsigned int *, struct nvml_process *), long pid,
			 bool *found, uint64_t *value)
{
	struct nvml_process *processes = r->nvml->processes;
	unsigned int count = MOST_PROCESSES;
	const int result = list ? list(r->gpu->handle, &count, processes) : NVML_NO_FUNCTION;

	for (unsigned int n = 0; !result && n < count && n < MOST_PROCESSES; n++) {
		if (processes[n].pid != (unsigned long)pid || processes[n].used == ~0ull)
			continue;
		/* a process of both kinds is in both lists, with the same memory */
		*value = processes[n].used > *value ? processes[n].used : *value;
		*found = true;
	}
	return result;
}

static int read_process_memory(const struct reading *r, long pid, uint64_t *value)
{
	bool found = false;
	int compute, graphics;

	*value = 0;
	compute = add_processes(r, r->api->compute, pid, &found, value);
	graphics = add_processes(r, r->api->graphics, pid, &found, value);
	if (compute && graphics)
		return compute;
	return found ? 0 : NVML_NO_DATA;
}

static int read_process_use(struct reading *r, unsigned int number, long pid, uint64_t *value)
{
	struct nvml_process_use *uses = r->nvml->uses;
	const struct nvml_process_use *newest = NULL;

	if (r->use_result < 0) {
		r->use_count = MOST_PROCESSES;
		r->use_result = r->api->process_use ?
					r->api->process_use(r->gpu->handle, uses, &r->use_count,
							    r->gpu->use_us) :
					NVML_NO_FUNCTION;
	}
	/* no process was active since */
	if (r->use_result == NVML_NOT_FOUND)
		return NVML_NO_DATA;
	for (unsigned int n = 0; !r->use_result && n < r->use_count && n < MOST_PROCESSES; n++) {
		if (uses[n].time_us > r->gpu->use_us)
			r->gpu->use_us = uses[n].time_us;
		if (uses[n].pid == (unsigned long)pid &&
		    (!newest || uses[n].time_us > newest->time_us))
			newest = &uses[n];
	}
	if (r->use_result || !newest)
		return r->use_result ? r->use_result : NVML_NO_DATA;
	return check_percent(0, number ? newest->memory : newest->sm, value);
}

/* Return: a result of NVML; NVML_NO_DATA: nothing was measured this time. */
static int read_event(struct reading *r, const struct event *event, long pid, uint64_t *value)
{
	const struct nvml_api *api = r->api;
	void *handle = r->gpu->handle;
	unsigned long long large = 0;
	unsigned int small = 0;
	int result;

	switch (event->group) {
	case GROUP_ENERGY:
		result = api->energy ? api->energy(handle, &large) : NVML_NO_FUNCTION;
		*value = large;
		return result;
	case GROUP_POWER:
		result = api->power ? api->power(handle, &small) : NVML_NO_FUNCTION;
		return check_u32(result, small, value);
	case GROUP_TEMPERATURE:
		result = api->temperature ? api->temperature(handle, (int)event->number, &small) :
					    NVML_NO_FUNCTION;
		return check_u32(result, small, value);
	case GROUP_CLOCK:
		result = api->clock ? api->clock(handle, (int)event->number, &small) :
				      NVML_NO_FUNCTION;
		return check_u32(result, small, value);
	case GROUP_MEMORY:
		return read_memory(r, event->number, value);
	case GROUP_UTILIZATION:
		return read_utilization(r, event->number, value);
	case GROUP_FIELD:
		return read_field(r, event->number, value);
	case GROUP_GPM:
		return read_gpm(r, event->number, value);
	case GROUP_PROCESS_MEMORY:
		return read_process_memory(r, pid, value);
	default:
		return read_process_use(r, event->number, pid, value);
	}
}

static void begin_reading(struct reading *r, struct nvml *nvml, struct gpu *gpu)
{
	memset(r, 0, sizeof(*r));
	r->nvml = nvml;
	r->api = &nvml->api;
	r->gpu = gpu;
	r->now_ns = perfctr_time_raw_ns();
	r->memory_result = r->utilization_result = r->gpm_result = r->use_result = -1;
}

/* --- a session's events ------------------------------------------------------------- */

static struct gpu *find_gpu(struct nvml *nvml, const char *place, char *reason)
{
	struct gpu *gpu;
	int result;

	for (gpu = nvml->gpus; gpu; gpu = gpu->next)
		if (!strcmp(gpu->place, place))
			return gpu;
	gpu = calloc(1, sizeof(*gpu));
	if (!gpu)
		return NULL;
	snprintf(gpu->place, sizeof(gpu->place), "%s", place);
	result = nvml->api.handle(place, &gpu->handle);
	if (result) {
		snprintf(reason, GAUGE_REASON_BYTES, "%s: %s (NVML error %d)", place,
			 explain(result), result);
		free(gpu);
		return NULL;
	}
	gpu->next = nvml->gpus;
	nvml->gpus = gpu;
	return gpu;
}

static int keep_gauge(struct nvml *nvml, const struct walk *w, struct gpu *gpu, long pid)
{
	struct nvml_gauge *g = malloc(sizeof(*g));

	if (!g)
		return -ENOMEM;
	*g = (struct nvml_gauge){
		.next = nvml->gauges,
		.gauge.kind = w->event->kind,
		.event = w->event,
		.gpu = gpu,
		.pid = pid,
	};
	nvml->gauges = g;
	return 0;
}

static bool is_of_process(const struct event *event)
{
	return event->group == GROUP_PROCESS_MEMORY || event->group == GROUP_PROCESS_USE;
}

static int open_event(struct nvml *nvml, const struct walk *w, long pid, char *reason)
{
	struct gpu *gpu = find_gpu(nvml, w->place, reason);
	struct reading r;
	uint64_t value;
	int result;

	if (!gpu)
		return *reason ? -ENODEV : -ENOMEM;
	begin_reading(&r, nvml, gpu);
	result = read_event(&r, w->event, pid, &value);
	if (!result || result == NVML_NO_DATA)
		return keep_gauge(nvml, w, gpu, pid);
	snprintf(reason, GAUGE_REASON_BYTES, "%s:%s: %s (NVML error %d)", w->place, w->event->name,
		 explain(result), result);
	return errno_of(result);
}

static int nvml_open(struct perfctr_ctx *ctx, void **state, uint64_t name, long pid,
		     struct gauge **gauge, char *reason)
{
	struct nvml *nvml = *state ? *state : calloc(1, sizeof(*nvml));
	struct walk w = { .ctx = ctx, .fn = find_event, .hash = name };
	int error;

	if (!nvml)
		return -ENOMEM;
	*state = nvml;
	if (walk_gpus(&w) != 1)
		return -ENOENT;
	if (is_of_process(w.event) != (pid > 0)) {
		snprintf(reason, GAUGE_REASON_BYTES, "%s is %s", w.event->name,
			 pid > 0 ? "of the whole GPU: leave out pid=" :
				   "of a process: give its number with pid=");
		return -EINVAL;
	}
	error = open_library(ctx, nvml, reason);
	if (!error)
		error = open_event(nvml, &w, pid, reason);
	if (!error)
		*gauge = &nvml->gauges->gauge;
	return error;
}

static void nvml_close(void *state)
{
	struct nvml *nvml = state;

	for (struct gpu *gpu = nvml->gpus, *next; gpu; gpu = next) {
		next = gpu->next;
		if (gpu->first)
			nvml->api.gpm_free(gpu->first);
		if (gpu->second)
			nvml->api.gpm_free(gpu->second);
		free(gpu);
	}
	for (struct nvml_gauge *g = nvml->gauges, *next; g; g = next) {
		next = g->next;
		free(g);
	}
	if (nvml->is_open)
		nvml->api.shutdown();
	free(nvml);
}

struct processes {
	long pids[2 * MOST_PROCESSES];
	size_t count;
};

static void note_processes(struct processes *p, struct nvml *nvml, const struct gpu *gpu,
			   int (*list)(void *, unsigned int *, struct nvml_process *))
{
	struct nvml_process *found = nvml->processes;
	unsigned int count = MOST_PROCESSES;

	if (!list || list(gpu->handle, &count, found))
		return;
	for (unsigned int n = 0; n < count && n < MOST_PROCESSES; n++) {
		size_t i = 0;

		while (i < p->count && p->pids[i] != (long)found[n].pid)
			i++;
		p->pids[i] = (long)found[n].pid;
		p->count += i == p->count;
	}
}

static int nvml_pids(struct perfctr_ctx *ctx, const char *name, int (*fn)(void *arg, long pid),
		     void *arg, char *reason)
{
	struct nvml *nvml = calloc(1, sizeof(*nvml));
	struct walk w = { .ctx = ctx, .fn = find_event, .hash = perfctr_hash(name) };
	struct processes p = { .count = 0 };
	struct gpu *gpu = NULL;
	int error;

	if (!nvml)
		return -ENOMEM;
	error = walk_gpus(&w) == 1 ? open_library(ctx, nvml, reason) : -ENOENT;
	if (!error) {
		gpu = find_gpu(nvml, w.place, reason);
		error = gpu ? 0 : *reason ? -ENODEV : -ENOMEM;
	}
	if (gpu && is_of_process(w.event)) {
		note_processes(&p, nvml, gpu, nvml->api.compute);
		note_processes(&p, nvml, gpu, nvml->api.graphics);
	}
	nvml_close(nvml);
	for (size_t n = 0; !error && n < p.count; n++)
		error = fn(arg, p.pids[n]);
	return error;
}

static void nvml_start(void *state)
{
	struct nvml *nvml = state;

	for (struct nvml_gauge *g = nvml->gauges; g; g = g->next)
		gauge_start(&g->gauge);
}

static void read_gpu(struct perfctr_ctx *ctx, struct nvml *nvml, struct gpu *gpu)
{
	struct walk w = { .ctx = ctx };
	const bool sleeps = is_asleep(&w, gpu->place) == 1;
	struct reading r;

	begin_reading(&r, nvml, gpu);
	for (struct nvml_gauge *g = nvml->gauges; g; g = g->next) {
		uint64_t value;

		if (g->gpu != gpu)
			continue;
		g->gauge.measured = false;
		if (!sleeps && !read_event(&r, g->event, g->pid, &value))
			gauge_take(&g->gauge, value, r.now_ns);
	}
}

static void nvml_read(struct perfctr_ctx *ctx, void *state)
{
	struct nvml *nvml = state;

	for (struct gpu *gpu = nvml->gpus; gpu; gpu = gpu->next)
		read_gpu(ctx, nvml, gpu);
}

const struct gauge_source nvml_source = {
	.pmu = "nvml",
	.exists = nvml_exists,
	.list = nvml_list,
	.open = nvml_open,
	.pids = nvml_pids,
	.start = nvml_start,
	.read = nvml_read,
	.close = nvml_close,
};
