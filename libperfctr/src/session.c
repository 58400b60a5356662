// SPDX-License-Identifier: MIT
/* Sessions: memory for the ring, and the commands. */
#include "broker.h"
#include "refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MIN_SLOTS = 16,
	/* the time that a ring holds if the program does not say otherwise */
	DEFAULT_RING_NS = 250000000,
};

/* --- the command ioctl -------------------------------------------------------- */

int session_control(struct perfctr_device *device, uint32_t cmd, uint32_t *handle, void *argument,
		    size_t bytes)
{
	struct drm_perfctr_control c = {
		.cmd = cmd,
		.handle = *handle,
		.size = bytes,
		.pointer = (uintptr_t)argument,
	};
	int error = perfctr_device_ioctl(device, DRM_IOCTL_PERFCTR_CONTROL, &c);

	if (!error)
		*handle = c.handle;
	return error;
}

/* --- sizes -------------------------------------------------------------------- */

static uint32_t round_up_slots(uint64_t wanted, uint32_t most)
{
	uint32_t slots = 1;

	while (slots < wanted && slots < most)
		slots *= 2;
	return slots;
}

static void fill_setup(struct perfctr_selection *selection, const struct perfctr_session_opts *opts,
		       struct drm_perfctr_setup *setup)
{
	uint64_t slots = opts->slots;

	if (!slots) {
		slots = opts->period_ns ? DEFAULT_RING_NS / opts->period_ns : 0;
		slots = slots < MIN_SLOTS ? MIN_SLOTS : slots;
		if (selection->device->info.max_slots && slots > selection->device->info.max_slots)
			slots = selection->device->info.max_slots;
	}
	*setup = (struct drm_perfctr_setup){
		.flags = opts->flags | DRM_PERFCTR_SETUP_TEST_ONLY,
		/* 2^31 fits, and no kernel takes more */
		.slots = round_up_slots(slots, 1u << 31),
		.eventfd = -1,
		.watermark = opts->watermark,
		.period_ns = opts->period_ns,
		.requests = (uintptr_t)selection->requests,
		.request_count = (uint32_t)selection->request_count,
		.request_stride = sizeof(*selection->requests),
	};
}

/* Ask the kernel for the sizes; a ring that the program did not size may shrink. */
static int test_setup(struct perfctr_selection *selection, const struct perfctr_session_opts *opts,
		      struct drm_perfctr_setup *setup)
{
	struct perfctr_device *device = selection->device;
	uint32_t handle;
	int error;

	if (!selection->request_count)
		return perfctr_fail(device->ctx, -EINVAL, "nothing is selected");

	fill_setup(selection, opts, setup);
	do {
		handle = 0;
		error = session_control(device, DRM_PERFCTR_CMD_SETUP, &handle, setup,
					sizeof(*setup));
		if (error != -ERANGE || opts->slots || setup->slots == 1)
			break;
		setup->slots /= 2;
	} while (true);
	if (error)
		refusal_explain(selection, setup, error);
	else if (!setup->slot_stride || setup->ring_bytes / setup->slot_stride < setup->slots ||
		 setup->slots & (setup->slots - 1))
		error = perfctr_fail(device->ctx, -EPROTO, "%s: the kernel gives impossible sizes",
				     device->info.name);
	return error;
}

static void take_sizes(const struct drm_perfctr_setup *setup, struct perfctr_session_sizes *sizes)
{
	*sizes = (struct perfctr_session_sizes){
		.size = sizeof(*sizes),
		.ring_bytes = setup->ring_bytes,
		.slots = setup->slots,
		.slot_stride = setup->slot_stride,
		.sample_bytes = setup->sample_size,
		.block_count = setup->block_count,
	};
}

static int take_opts(struct perfctr_ctx *ctx, const struct perfctr_session_opts *from,
		     struct perfctr_session_opts *opts)
{
	int error;

	*opts = (struct perfctr_session_opts){ 0 };
	if (!from)
		return 0;
	error = perfctr_take_struct(ctx, "struct perfctr_session_opts", from, from->size, opts,
				    sizeof(*opts));
	if (error)
		return error;
	if (opts->reserved)
		return perfctr_fail(ctx, -EINVAL,
				    "struct perfctr_session_opts: reserved is not zero");
	if (opts->flags & ~(uint32_t)(DRM_PERFCTR_SETUP_KEEP_AWAKE | DRM_PERFCTR_SETUP_AUTOMATIC))
		return perfctr_fail(ctx, -EINVAL, "struct perfctr_session_opts: unknown flags 0x%x",
				    opts->flags);
	return 0;
}

EXPORT int perfctr_session_check(struct perfctr_selection *selection,
				 const struct perfctr_session_opts *opts,
				 struct perfctr_session_sizes *sizes)
{
	struct perfctr_ctx *ctx = selection->device->ctx;
	struct perfctr_session_sizes mine;
	struct drm_perfctr_setup setup;
	struct perfctr_session_opts o;
	int error;

	if (sizes && sizes->size < sizeof(sizes->size))
		return perfctr_fail(ctx, -EINVAL,
				    "struct perfctr_session_sizes: its size is not set");
	error = take_opts(ctx, opts, &o);
	if (!error)
		error = test_setup(selection, &o, &setup);
	if (error || !sizes)
		return error;

	take_sizes(&setup, &mine);
	mine.size = sizes->size;
	memset((char *)sizes + sizeof(sizes->size), 0, sizes->size - sizeof(sizes->size));
	memcpy(sizes, &mine, mine.size < sizeof(mine) ? mine.size : sizeof(mine));
	return 0;
}

/* --- buffers -------------------------------------------------------------------- */

static int buffer_create(struct perfctr_device *device, const char *what, uint64_t bytes,
			 struct buffer *buffer)
{
	const struct perfctr_sys *sys = device->ctx->sys;
	struct drm_perfctr_bo_create create = { .size = bytes };
	int error;

	if (bytes > SIZE_MAX)
		return perfctr_fail(device->ctx, -ERANGE, "a %s of %llu bytes", what,
				    (unsigned long long)bytes);
	error = sys->ioctl(sys->data, device->fd, DRM_IOCTL_PERFCTR_BO_CREATE, &create);
	if (error == -EINVAL && !(device->info.features & DRM_PERFCTR_FEATURE_BO_CREATE))
		return perfctr_fail(device->ctx, -EOPNOTSUPP,
				    "%s: its driver gives no memory for rings", device->info.name);
	if (error)
		return perfctr_fail(device->ctx, error, "%s: no memory for a %s of %llu bytes: %s",
				    device->info.name, what, (unsigned long long)bytes,
				    strerror(-error));
	buffer->handle = create.handle;
	buffer->bytes = (size_t)bytes;
	error = sys->mmap(sys->data, device->fd, create.mmap_offset, buffer->bytes, true,
			  &buffer->map);
	if (error) {
		buffer->map = NULL;
		return perfctr_fail(device->ctx, error, "%s: cannot map the %s: %s",
				    device->info.name, what, strerror(-error));
	}
	return 0;
}

static void buffer_destroy(struct perfctr_device *device, struct buffer *buffer)
{
	const struct perfctr_sys *sys = device->ctx->sys;
	struct drm_gem_close close = { .handle = buffer->handle };

	if (buffer->map)
		sys->munmap(sys->data, buffer->map, buffer->bytes);
	if (buffer->handle)
		sys->ioctl(sys->data, device->fd, DRM_IOCTL_GEM_CLOSE, &close);
}

/* --- life --------------------------------------------------------------------------- */

/* Ring, control area and eventfd are ours, and the kernel is told of them. */
static int create_buffers(struct perfctr_session *s, struct drm_perfctr_setup *setup)
{
	struct perfctr_device *device = s->selection->device;
	const struct perfctr_sys *sys = device->ctx->sys;
	int error;

	error = buffer_create(device, "ring", setup->ring_bytes, &s->ring);
	if (!error)
		error = buffer_create(device, "control area",
				      sizeof(struct drm_perfctr_ring_control), &s->control);
	if (error)
		return error;
	s->eventfd = sys->eventfd(sys->data);
	if (s->eventfd < 0)
		return perfctr_fail(device->ctx, s->eventfd, "cannot create an eventfd: %s",
				    strerror(-s->eventfd));
	setup->ring_handle = s->ring.handle;
	setup->control_handle = s->control.handle;
	setup->eventfd = s->eventfd;
	return 0;
}

static int map_file(struct perfctr_device *device, const char *what, int fd, uint64_t bytes,
		    bool writable, struct buffer *buffer)
{
	const struct perfctr_sys *sys = device->ctx->sys;
	int error = -ERANGE;

	if (bytes <= SIZE_MAX) {
		buffer->bytes = (size_t)bytes;
		error = sys->mmap(sys->data, fd, 0, buffer->bytes, writable, &buffer->map);
	}
	if (!error)
		return 0;
	buffer->map = NULL;
	return perfctr_fail(device->ctx, error, "%s: cannot map the broker's %s: %s",
			    device->info.name, what, strerror(-error));
}

/* They are the broker's: a mapping and an eventfd are all that is left here. */
static int map_files(struct perfctr_session *s)
{
	struct perfctr_device *device = s->selection->device;
	const struct perfctr_sys *sys = device->ctx->sys;
	int files[BROKER_FILES];
	int error = broker_take_files(device->broker, files);

	if (error)
		return error;
	s->eventfd = files[BROKER_EVENTFD];
	error = map_file(device, "ring", files[BROKER_RING], s->sizes.ring_bytes, false, &s->ring);
	if (!error)
		error = map_file(device, "control area", files[BROKER_CONTROL],
				 sizeof(struct drm_perfctr_ring_control), true, &s->control);
	sys->close(sys->data, files[BROKER_RING]);
	sys->close(sys->data, files[BROKER_CONTROL]);
	return error;
}

static int session_setup(struct perfctr_session *s, const struct perfctr_session_opts *opts)
{
	struct perfctr_device *device = s->selection->device;
	struct drm_perfctr_setup setup;
	int error;

	error = test_setup(s->selection, opts, &setup);
	if (error)
		return error;
	take_sizes(&setup, &s->sizes);
	s->period_ns = opts->period_ns;
	s->flags = opts->flags;
	if (!device->broker)
		error = create_buffers(s, &setup);
	if (error)
		return error;

	setup.flags &= ~(uint32_t)DRM_PERFCTR_SETUP_TEST_ONLY;
	setup.slot_stride = 0;
	setup.sample_size = 0;
	setup.ring_bytes = 0;
	setup.block_count = 0;
	error = session_control(device, DRM_PERFCTR_CMD_SETUP, &s->handle, &setup, sizeof(setup));
	if (error) {
		s->handle = 0;
		refusal_explain(s->selection, &setup, error);
		return error;
	}
	if (setup.slot_stride != s->sizes.slot_stride || setup.ring_bytes != s->sizes.ring_bytes)
		return perfctr_fail(device->ctx, -EPROTO,
				    "%s: the kernel changed its mind about the ring's size",
				    device->info.name);
	error = device->broker ? map_files(s) : 0;
	if (error)
		return error;
	perfctr_log(device->ctx, PERFCTR_LOG_INFO,
		    "%s: session %u, %u blocks, %u slots of %u bytes, period %llu ns",
		    device->info.name, s->handle, s->sizes.block_count, s->sizes.slots,
		    s->sizes.slot_stride, (unsigned long long)opts->period_ns);
	return 0;
}

EXPORT int perfctr_session_new(struct perfctr_selection *selection,
			       const struct perfctr_session_opts *opts,
			       struct perfctr_session **session)
{
	struct perfctr_ctx *ctx = selection->device->ctx;
	struct perfctr_session_opts o;
	struct perfctr_session *s;
	int error;

	error = take_opts(ctx, opts, &o);
	if (error)
		return error;
	s = calloc(1, sizeof(*s));
	if (!s)
		return perfctr_no_memory(ctx);
	atomic_init(&s->refs, 1);
	atomic_init(&s->has_cursor, false);
	s->eventfd = -1;
	error = perfctr_selection_copy(selection, &s->selection);
	if (error) {
		free(s);
		return error;
	}
	error = session_setup(s, &o);
	if (error) {
		perfctr_session_unref(s);
		return error;
	}
	*session = s;
	return 0;
}

EXPORT struct perfctr_session *perfctr_session_ref(struct perfctr_session *session)
{
	if (session)
		perfctr_refs_get(&session->refs);
	return session;
}

EXPORT struct perfctr_session *perfctr_session_unref(struct perfctr_session *session)
{
	struct perfctr_device *device;

	if (!session || !perfctr_refs_put(&session->refs))
		return NULL;
	device = session->selection->device;
	if (session->handle)
		session_control(device, DRM_PERFCTR_CMD_TEARDOWN, &session->handle, NULL, 0);
	if (session->eventfd >= 0)
		device->ctx->sys->close(device->ctx->sys->data, session->eventfd);
	buffer_destroy(device, &session->control);
	buffer_destroy(device, &session->ring);
	perfctr_selection_unref(session->selection);
	free(session);
	return NULL;
}

/* --- commands ------------------------------------------------------------------------ */

static int command(struct perfctr_session *s, uint32_t cmd, const char *name, void *argument,
		   size_t bytes)
{
	struct perfctr_device *device = s->selection->device;
	const char *reason;
	int error = session_control(device, cmd, &s->handle, argument, bytes);

	if (error && device->broker && broker_said_why(device->broker))
		return error;
	switch (error) {
	case 0:
		return 0;
	case -EALREADY:
		reason = cmd == DRM_PERFCTR_CMD_START ? "it counts already" : "it does not count";
		break;
	case -ENOTCONN:
		reason = "it does not count; start it first";
		break;
	case -ENOSPC:
		reason = "the ring is full; nothing is lost, read samples and advance the cursor";
		break;
	case -ENODEV:
		reason = "the device is gone";
		break;
	default:
		reason = strerror(-error);
	}
	return perfctr_fail(device->ctx, error, "%s: cannot %s the session: %s", device->info.name,
			    name, reason);
}

EXPORT int perfctr_session_start(struct perfctr_session *session, uint64_t user_data)
{
	struct drm_perfctr_start start = { .user_data = user_data };

	return command(session, DRM_PERFCTR_CMD_START, "start", &start, sizeof(start));
}

EXPORT int perfctr_session_sample(struct perfctr_session *session, uint64_t user_data)
{
	struct drm_perfctr_sample sample = { .user_data = user_data };

	return command(session, DRM_PERFCTR_CMD_SAMPLE, "sample", &sample, sizeof(sample));
}

EXPORT int perfctr_session_stop(struct perfctr_session *session, uint64_t user_data)
{
	struct drm_perfctr_stop stop = { .user_data = user_data };

	return command(session, DRM_PERFCTR_CMD_STOP, "stop", &stop, sizeof(stop));
}

EXPORT int perfctr_session_status(struct perfctr_session *session,
				  struct drm_perfctr_status *status, size_t size)
{
	struct drm_perfctr_status mine = { 0 };
	int error;

	error = command(session, DRM_PERFCTR_CMD_STATUS, "ask", &mine, sizeof(mine));
	if (error)
		return error;
	memset(status, 0, size);
	memcpy(status, &mine, size < sizeof(mine) ? size : sizeof(mine));
	return 0;
}

EXPORT const struct perfctr_session_sizes *
perfctr_session_sizes(const struct perfctr_session *session)
{
	return &session->sizes;
}

EXPORT uint32_t perfctr_session_handle(const struct perfctr_session *session)
{
	return session->handle;
}

EXPORT int perfctr_session_eventfd(const struct perfctr_session *session)
{
	return session->eventfd;
}

EXPORT struct perfctr_device *perfctr_session_device(const struct perfctr_session *session)
{
	return session->selection->device;
}

EXPORT struct perfctr_selection *perfctr_session_selection(const struct perfctr_session *session)
{
	return session->selection;
}
