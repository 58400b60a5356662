// SPDX-License-Identifier: MIT
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

enum { FIRST_FD = 100, PAGE = 4096 };

static bool fails(struct fake *f, enum fake_call call, int *error)
{
	f->calls[call]++;
	*error = f->fail_error[call];
	return f->fail_at[call] && f->calls[call] == f->fail_at[call];
}

void fake_fail(struct fake *f, enum fake_call call, int nth, int error)
{
	f->fail_at[call] = nth;
	f->fail_error[call] = error;
	f->calls[call] = 0;
}

void fake_file(struct fake *f, const char *path, const char *content)
{
	fake_binary(f, path, content, 0);
}

void fake_binary(struct fake *f, const char *path, const void *content, size_t bytes)
{
	size_t n;

	for (n = 0; n < f->file_count && strcmp(f->files[n].path, path); n++)
		;
	if (n == f->file_count && f->file_count++ == ARRAY_SIZE(f->files))
		abort();
	f->files[n].path = path;
	f->files[n].content = content;
	f->files[n].bytes = bytes;
}

static int take_fd(struct fake *f)
{
	for (size_t n = 0; n < ARRAY_SIZE(f->fds); n++) {
		if (!f->fds[n].used) {
			memset(&f->fds[n], 0, sizeof(f->fds[n]));
			f->fds[n].used = true;
			f->open_fds++;
			return FIRST_FD + (int)n;
		}
	}
	abort();
}

static int index_of(struct fake *f, int fd)
{
	if (fd < FIRST_FD || fd >= FIRST_FD + (int)ARRAY_SIZE(f->fds) ||
	    !f->fds[fd - FIRST_FD].used)
		abort();
	return fd - FIRST_FD;
}

static bool has_counters(const char *driver)
{
	return !strcmp(driver, "vsoc") || !strcmp(driver, "panthor");
}

static int open_fdinfo(struct fake *f, const char *driver)
{
	const char *text = f->fdinfo		? f->fdinfo :
			   has_counters(driver) ? "drm-perfctr:\t4 ioctls 0x77\n" :
						  "drm-driver:\tother\n";
	int fd = take_fd(f);

	f->fds[fd - FIRST_FD].content = text;
	f->fds[fd - FIRST_FD].bytes = strlen(text);
	return fd;
}

static int fake_open(void *data, const char *path, int flags)
{
	struct fake *f = data;
	int error, fd, of;
	size_t n;

	if (sscanf(path, "/proc/self/fdinfo/%d", &of) == 1)
		return open_fdinfo(f, f->fds[index_of(f, of)].driver);
	for (n = 0; n < f->file_count; n++)
		if (!strcmp(f->files[n].path, path) && f->files[n].content)
			break;
	if (n == f->file_count)
		return -ENOENT;
	if (!strncmp(path, "/dev/", 5) && fails(f, FAKE_OPEN, &error))
		return error;
	if (!strcmp(f->files[n].content, "denied"))
		return -EACCES;
	fd = take_fd(f);
	f->fds[fd - FIRST_FD].content = f->files[n].content;
	f->fds[fd - FIRST_FD].bytes = f->files[n].bytes ?: strlen(f->files[n].content);
	if (!strncmp(f->files[n].content, "node:", 5)) {
		f->fds[fd - FIRST_FD].device = true;
		f->fds[fd - FIRST_FD].driver = f->files[n].content + 5;
	}
	return fd;
}

static int fake_close(void *data, int fd)
{
	struct fake *f = data;

	int n = index_of(f, fd);

	if (f->fds[n].session) {
		f->has_session = false;
		f->active = false;
		munmap(f->control, f->ring_file_bytes);
		f->control = NULL;
	}
	if (f->fds[n].memory)
		close(f->fds[n].memory);
	f->fds[n].used = false;
	f->open_fds--;
	return 0;
}

static int fake_dup(void *data, int fd)
{
	struct fake *f = data;
	int error, copy;

	if (fails(f, FAKE_DUP, &error))
		return error;
	copy = take_fd(f);
	f->fds[copy - FIRST_FD] = f->fds[index_of(f, fd)];
	return copy;
}

static ssize_t fake_read(void *data, int fd, void *bytes, size_t size)
{
	struct fake *f = data;
	int n = index_of(f, fd), error;
	size_t left;

	if (fails(f, FAKE_READ, &error))
		return error;
	if (f->fds[n].eventfd) {
		if (!f->eventfd_count)
			return -EAGAIN;
		memcpy(bytes, &f->eventfd_count, sizeof(f->eventfd_count));
		f->eventfd_count = 0;
		return sizeof(f->eventfd_count);
	}
	left = f->fds[n].bytes - f->fds[n].at;
	size = size < left ? size : left;
	memcpy(bytes, f->fds[n].content + f->fds[n].at, size);
	f->fds[n].at += size;
	return (ssize_t)size;
}

static int fake_eventfd(void *data)
{
	struct fake *f = data;
	int error, fd;

	if (fails(f, FAKE_EVENTFD, &error))
		return error;
	fd = take_fd(f);
	f->fds[fd - FIRST_FD].eventfd = true;
	return fd;
}

static int fake_poll(void *data, const int *fds, size_t count, int64_t timeout_ns)
{
	struct fake *f = data;
	int error;

	if (count != 1 || !f->fds[index_of(f, *fds)].eventfd)
		abort();
	if (fails(f, FAKE_POLL, &error))
		return error;
	if (!f->eventfd_count && f->on_poll)
		f->on_poll(f);
	return f->eventfd_count > 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* a file with the content "link:TARGET" */
static int fake_node_number(void *data, const char *path, unsigned int *major, unsigned int *minor)
{
	return -ENOENT;
}

static int fake_readlink(void *data, const char *path, char *text, size_t size)
{
	struct fake *f = data;

	for (size_t n = 0; n < f->file_count; n++)
		if (!strcmp(f->files[n].path, path) && !strncmp(f->files[n].content, "link:", 5))
			return snprintf(text, size, "%s", f->files[n].content + 5);
	return -ENOENT;
}

static int fake_list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	struct fake *f = data;
	size_t length = strlen(path), count = 0, n, k;
	char *names[ARRAY_SIZE(f->files)];
	bool exists = false;
	int error = 0;

	f->listed_pmus += !strcmp(path, "/sys/bus/event_source/devices");
	if (fails(f, FAKE_LIST, &error))
		return error;
	error = 0;
	for (n = 0; n < f->file_count; n++) {
		const char *rest = f->files[n].path + length;
		char *name;

		if (strncmp(f->files[n].path, path, length) || *rest != '/')
			continue;
		exists = true;
		name = strndup(rest + 1, strcspn(rest + 1, "/"));
		for (k = 0; k < count && strcmp(names[k], name); k++)
			;
		if (k < count || !*name)
			free(name);
		else
			names[count++] = name;
	}
	qsort(names, count, sizeof(*names), compare_names);
	for (n = 0; n < count; n++) {
		if (!error)
			error = fn(arg, names[n]);
		free(names[n]);
	}
	return exists ? error : -ENOENT;
}

static int fake_mmap(void *data, int fd, uint64_t offset, size_t size, bool writable,
		     void **address)
{
	struct fake *f = data;
	int error, memory = f->fds[index_of(f, fd)].memory;
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	uint64_t end = (offset + size + PAGE - 1) / PAGE * PAGE;

	if (!memory)
		abort();
	if (fails(f, FAKE_MMAP, &error))
		return error;
	if (writable && end > PAGE)
		return -EACCES;
	if (offset % PAGE || end > f->ring_file_bytes)
		return -EINVAL;
	/* mapped without write permission, as by the kernel */
	*address = mmap(NULL, size, prot, MAP_SHARED, memory, (off_t)offset);
	if (*address == MAP_FAILED)
		abort();
	f->mappings++;
	return 0;
}

static int fake_munmap(void *data, void *address, size_t size)
{
	struct fake *f = data;

	munmap(address, size);
	f->mappings--;
	return 0;
}

/* --- the kernel ---------------------------------------------------------------- */

static int answer_query(struct fake *f, struct drm_perfctr_query *q)
{
	static const struct drm_perfctr_clock_info clocks[] = {
		{ .clock = 0, .frequency_hz = 500000000, .name = "top" },
		{ .clock = 2, .frequency_hz = 800000000, .name = "shader" },
		{
			.clock = DRM_PERFCTR_CLOCK_TIMESTAMP,
			.valid_bits = 40,
			.frequency_hz = FAKE_GPU_HZ,
			.name = "timestamp",
			.gpu_timestamp = FAKE_GPU_TIMESTAMP,
			.raw_ns = FAKE_GPU_RAW_NS,
			.epoch = FAKE_GPU_EPOCH,
		},
	};
	const unsigned char *from;
	size_t bytes, size, count;

	switch (q->type) {
	case DRM_PERFCTR_QUERY_DEVICE:
		from = (void *)&f->info;
		size = sizeof(f->info);
		bytes = f->info_bytes;
		count = 1;
		break;
	case DRM_PERFCTR_QUERY_BLOCKS:
		from = (void *)f->blocks;
		size = sizeof(f->blocks[0]);
		bytes = f->block_bytes;
		count = f->block_count;
		break;
	case DRM_PERFCTR_QUERY_CLOCKS:
		from = (void *)clocks;
		bytes = size = sizeof(clocks[0]);
		count = ARRAY_SIZE(clocks);
		break;
	default:
		return -EINVAL;
	}
	if (q->pointer) {
		if (!q->stride || q->stride % 8)
			return -EINVAL;
		for (size_t n = 0; n < count && n < q->count; n++) {
			unsigned char *to = (unsigned char *)(uintptr_t)q->pointer + n * q->stride;
			size_t known = bytes < size ? bytes : size;

			memset(to, 0, q->stride);
			memcpy(to, from + n * size, known < q->stride ? known : q->stride);
		}
	}
	q->count = (uint32_t)count;
	q->stride = (uint32_t)bytes;
	return 0;
}

enum { FAKE_SPAN_NS = 1000000 };

/* The counters of a block that run now; the others wait for their slot. */
static uint64_t take_turns(const struct fake *f, uint64_t mask, unsigned int *used,
			   uint64_t *running)
{
	uint64_t valid = 0;

	for (unsigned int n = 0; mask; n++, mask &= mask - 1) {
		bool runs = !f->slots_at_once || *used < f->slots_at_once;

		running[n] = runs ? FAKE_SPAN_NS : 0;
		valid |= runs ? mask & -mask : 0;
		*used += runs;
	}
	return valid;
}

/* The blocks that one sample of the session has. */
static void make_sample(struct fake *f, uint32_t flags)
{
	struct sample_writer *w = &f->writer;
	struct drm_perfctr_sample_header *h = sample_begin(w);
	uint64_t values[64], mux_values[64], running[64];
	unsigned int used = 0;

	h->seq = f->seq;
	h->start_ns = 1000000 * (f->seq + f->merged);
	h->end_ns = h->start_ns + FAKE_SPAN_NS;
	h->flags = flags | f->sample_flags;
	h->gpu_epoch = FAKE_GPU_EPOCH;
	h->gpu_timestamp = FAKE_GPU_TIMESTAMP + f->seq;
	for (uint32_t bit = 0; bit < 64; bit++)
		values[bit] = f->step * (bit + 1);
	for (uint32_t n = 0; n < f->setup.request_count; n++) {
		const struct drm_perfctr_block_request *r = &f->requests[n];

		if (request_is_pmu(r)) {
			struct sample_pmu_block *p;
			uint64_t valid = take_turns(f, r->mask, &used, running);

			p = sample_add_pmu(w, r->type, r->index, r->mask, values, running,
					   FAKE_SPAN_NS);
			p->block.valid_mask = valid;
			p->block.states |= f->block_states;
			p->pmu.config = r->config;
			p->pmu.config1 = r->config1;
			p->pmu.config2 = r->config2;
			p->pmu.pmu_type = r->pmu_type;
			if (r->type != DRM_PERFCTR_BLOCK_GENERIC_PMU)
				strcpy(p->pmu.pmu_name, "nvidia");
		} else if (r->type == DRM_PERFCTR_NV50_BLOCK_PCOUNTER ||
			   r->type == DRM_PERFCTR_NV50_BLOCK_MP) {
			struct sample_mux_block *m;
			uint64_t valid = take_turns(f, r->mask, &used, running);
			uint64_t step =
				r->index < ARRAY_SIZE(f->mux_steps) ? f->mux_steps[r->index] : 0;

			for (uint32_t bit = 0; bit < 64; bit++)
				mux_values[bit] = (step ? step : f->step) * (bit + 1);
			m = sample_add_mux(w, r->type, r->index, r->mask, mux_values, running,
					   FAKE_SPAN_NS);
			m->block.valid_mask = valid;
			m->block.section = r->section;
			m->block.clock_cycles = f->mux_cycles;
			m->block.states |= f->block_states;
		} else {
			struct drm_perfctr_block_header *b;

			b = sample_add_block(w, r->type, r->index, r->mask, values);
			b->section = r->section;
			b->set = r->set;
			b->states |= f->block_states;
			/* blocks that a test adds have other counters */
			if (b->product == DRM_VSOC_PRODUCT_CSF)
				b->product = f->info.product;
		}
	}
}

bool fake_publish(struct fake *f, uint32_t flags)
{
	uint32_t extract = __atomic_load_n(&f->control->extract_idx, __ATOMIC_ACQUIRE);

	if (f->insert - extract >= f->setup.slots)
		return false;
	make_sample(f, flags);
	memcpy(f->ring + (f->insert & (f->setup.slots - 1)) * f->stride, f->writer.bytes,
	       f->writer.size);
	f->seq++;
	__atomic_store_n(&f->control->insert_idx, ++f->insert, __ATOMIC_RELEASE);
	f->eventfd_count++;
	return true;
}

/* Create a file of control area and slots, and the kernel's mapping of it. */
static int create_ring(struct fake *f, const struct drm_perfctr_layout *l)
{
	int fd = take_fd(f), memory = memfd_create("ring", MFD_CLOEXEC);

	f->ring_file_bytes = l->map_bytes;
	if (memory <= 0 || ftruncate(memory, (off_t)f->ring_file_bytes))
		abort();
	f->fds[fd - FIRST_FD].memory = memory;
	f->fds[fd - FIRST_FD].session = true;
	f->control = mmap(NULL, f->ring_file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (f->control == MAP_FAILED)
		abort();
	f->control->extract_idx = f->control->insert_idx = DRM_PERFCTR_RING_FIRST;
	f->ring = (unsigned char *)f->control + l->ring_offset;
	return fd;
}

static int open_session(struct fake *f, const struct drm_perfctr_open *o)
{
	const struct drm_perfctr_block_request *r = (void *)(uintptr_t)o->requests;
	struct drm_perfctr_layout layout;
	bool check = o->flags & DRM_PERFCTR_OPEN_CHECK;
	uint64_t ring_bytes;
	int error;

	if (fails(f, check ? FAKE_CHECK : FAKE_SESSION, &error))
		return error;
	if (o->request_count > ARRAY_SIZE(f->requests))
		return -E2BIG;
	for (uint32_t n = 0; n < o->request_count; n++)
		if (f->refused_error && r[n].type == f->refused_type)
			return f->refused_error;
	if (o->slots > f->info.max_slots)
		return -ERANGE;
	if ((check && o->eventfd != -1) || o->pad || o->reserved[0] || o->reserved[1] ||
	    o->request_stride != sizeof(*r) || o->layout_size != sizeof(layout))
		return -EINVAL;
	f->setup = *o;
	memcpy(f->requests, r, o->request_count * sizeof(f->requests[0]));
	make_sample(f, 0);
	f->stride = (uint32_t)(f->writer.size + FAKE_SLOT_ALIGN - 1) / FAKE_SLOT_ALIGN *
		    FAKE_SLOT_ALIGN;
	ring_bytes = (uint64_t)f->stride * o->slots;
	if (ring_bytes > f->info.max_ring_bytes)
		return -ERANGE;
	layout = (struct drm_perfctr_layout){
		.slots = o->slots,
		.slot_stride = f->stride,
		.sample_size = (uint32_t)f->writer.size,
		.block_count = o->request_count,
		.ring_offset = PAGE,
		.map_bytes = (uint32_t)(PAGE + (ring_bytes + PAGE - 1) / PAGE * PAGE),
	};
	memcpy((void *)(uintptr_t)o->layout, &layout, sizeof(layout));
	if (check)
		return 0;
	f->has_session = true;
	f->insert = DRM_PERFCTR_RING_FIRST;
	f->seq = 0;
	return create_ring(f, &layout);
}

static int start(struct fake *f)
{
	if (f->active)
		return -EALREADY;
	f->active = true;
	return 0;
}

static int sample(struct fake *f)
{
	if (!f->active)
		return -ENOTCONN;
	if (f->insert - __atomic_load_n(&f->control->extract_idx, __ATOMIC_ACQUIRE) + 1 >=
	    f->setup.slots)
		return -ENOSPC;
	fake_publish(f, DRM_PERFCTR_SAMPLE_MANUAL);
	return 0;
}

static int stop(struct fake *f)
{
	if (!f->active)
		return -EALREADY;
	f->active = false;
	return fake_publish(f, DRM_PERFCTR_SAMPLE_FINAL) ? 0 : -EIO;
}

/* a file that only reads: the same memory */
static int make_reader(struct fake *f, int n)
{
	int fd = take_fd(f);

	f->fds[fd - FIRST_FD].memory = dup(f->fds[n].memory);
	return fd;
}

static int session_ioctl(struct fake *f, int n, unsigned long request, void *argument)
{
	const struct drm_perfctr_command *command = argument;
	enum fake_call call = request == DRM_PERFCTR_IOCTL_START  ? FAKE_START :
			      request == DRM_PERFCTR_IOCTL_SAMPLE ? FAKE_SAMPLE :
			      request == DRM_PERFCTR_IOCTL_STOP	  ? FAKE_STOP :
			      request == DRM_PERFCTR_IOCTL_STATUS ? FAKE_STATUS :
			      request == DRM_PERFCTR_IOCTL_READER ? FAKE_READER :
								    FAKE_CALLS;
	int error;

	if (call == FAKE_CALLS)
		return -ENOTTY;
	if (fails(f, call, &error))
		return error;
	if (call <= FAKE_STOP && (command->flags || command->pad))
		return -EINVAL;
	switch (call) {
	case FAKE_START:
		return start(f);
	case FAKE_SAMPLE:
		return sample(f);
	case FAKE_STOP:
		return stop(f);
	case FAKE_READER:
		return argument ? -EINVAL : make_reader(f, n);
	default:
		*(struct drm_perfctr_status *)argument = (struct drm_perfctr_status){
			.slots = f->setup.slots,
			.published = f->insert - DRM_PERFCTR_RING_FIRST,
			.insert_idx = f->insert,
		};
		return 0;
	}
}

static int fake_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	struct fake *f = data;
	int n = index_of(f, fd), error;
	struct drm_version *version = argument;

	if (f->fds[n].session)
		return session_ioctl(f, n, request, argument);
	if (!f->fds[n].device)
		return -ENOTTY;
	if (request == DRM_IOCTL_VERSION) {
		size_t length = strlen(f->fds[n].driver);

		strncpy(version->name, f->fds[n].driver, version->name_len);
		version->name_len = length;
		return 0;
	}
	if (_IOC_NR(request) == DRM_COMMAND_BASE && f->l2_features) {
		/* type, size and address; the answer's fourth word. To tiler_present, as panthor */
		if (((uint32_t *)argument)[1] < 96)
			return -EINVAL;
		((uint32_t **)argument)[1][3] = f->l2_features;
		return 0;
	}
	if (!has_counters(f->fds[n].driver))
		return -EINVAL;
	if (request == DRM_PERFCTR_IOCTL_QUERY(FAKE_IOCTL_NR))
		return fails(f, FAKE_QUERY, &error) ? error : answer_query(f, argument);
	if (request == DRM_PERFCTR_IOCTL_OPEN(FAKE_IOCTL_NR))
		return open_session(f, argument);
	return -EINVAL;
}

/* --- the machine ---------------------------------------------------------------- */

static void add_block(struct fake *f, uint16_t type, uint16_t index, uint32_t clock,
		      uint64_t available)
{
	f->blocks[f->block_count++] = (struct drm_perfctr_block_info){
		.type = type,
		.index = index,
		.counters = 64,
		.product = DRM_VSOC_PRODUCT_CSF,
		.sets = 1,
		.clock = clock,
		.available = { available },
	};
}

struct fake *fake_new(void)
{
	static const uint16_t cores[] = { 0, 2, 16, 18 };
	struct fake *f = calloc(1, sizeof(*f));
	size_t n;

	f->sys = (struct perfctr_sys){
		.data = f,
		.open = fake_open,
		.close = fake_close,
		.dup = fake_dup,
		.read = fake_read,
		.ioctl = fake_ioctl,
		.mmap = fake_mmap,
		.munmap = fake_munmap,
		.eventfd = fake_eventfd,
		.poll = fake_poll,
		.list = fake_list,
		.readlink = fake_readlink,
		.node_number = fake_node_number,
	};
	f->step = 1;
	f->mux_cycles = 500;
	f->info_bytes = sizeof(f->info);
	f->block_bytes = sizeof(f->blocks[0]);
	f->info = (struct drm_perfctr_device_info){
		.features = DRM_PERFCTR_FEATURE_PERIODIC | DRM_PERFCTR_FEATURE_PMU |
			    DRM_PERFCTR_FEATURE_GPU_TIMESTAMP,
		.version = 4,
		.sample_header_size = sizeof(struct drm_perfctr_sample_header),
		.block_header_size = sizeof(struct drm_perfctr_block_header),
		.sets = 1,
		.max_slots = 4096,
		.max_sessions_per_file = 8,
		.max_requests = 64,
		.product = DRM_VSOC_PRODUCT_CSF,
		.min_period_ns = 10000,
		.unprivileged_min_period_ns = 1000000,
		.max_period_ns = 10000000000,
		.max_ring_bytes = 1 << 20,
		.name = "Fake SoC",
	};
	add_block(f, DRM_PERFCTR_MALI_BLOCK_FW, 0, DRM_PERFCTR_MALI_CLOCK_TOP, 0x3fff0);
	add_block(f, DRM_PERFCTR_MALI_BLOCK_CSHW, 0, DRM_PERFCTR_MALI_CLOCK_TOP, 0xffff0);
	add_block(f, DRM_PERFCTR_MALI_BLOCK_TILER, 0, DRM_PERFCTR_MALI_CLOCK_COREGROUP, 0x7fff0);
	add_block(f, DRM_PERFCTR_MALI_BLOCK_MEMSYS, 0, DRM_PERFCTR_MALI_CLOCK_COREGROUP, 0x7ffff0);
	add_block(f, DRM_PERFCTR_MALI_BLOCK_MEMSYS, 1, DRM_PERFCTR_MALI_CLOCK_COREGROUP, 0x7ffff0);
	for (n = 0; n < ARRAY_SIZE(cores); n++)
		add_block(f, DRM_PERFCTR_MALI_BLOCK_SHADER, cores[n], DRM_PERFCTR_MALI_CLOCK_SHADER,
			  0x3ffffff0);

	fake_file(f, "/dev/dri/card0", "node:vsoc");
	fake_file(f, "/dev/dri/renderD128", "node:vsoc");
	fake_file(f, "/sys/class/drm/card0/device/drm/renderD128", "");
	fake_file(f, "/sys/bus/event_source/devices/software/type", "1\n");
	return f;
}

void fake_free(struct fake *f)
{
	EQUAL(f->open_fds, 0);
	CHECK(!f->control);
	EQUAL(f->mappings, 0);
	CHECK(!f->has_session);
	free(f);
}
