// SPDX-License-Identifier: MIT
/* Sessions: ring and commands. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

enum {
	MIN_SLOTS = 16,
	DEFAULT_RING_NS = 250000000, /* duration that a ring holds by default */
};

/* --- sizes -------------------------------------------------------------------- */

static uint32_t round_up_slots(uint64_t wanted, uint32_t most)
{
	uint32_t slots = 1;

	while (slots < wanted && slots < most)
		slots *= 2;
	return slots;
}

static void fill_setup(struct perfctr_selection *selection, const struct perfctr_session_opts *opts,
		       uint32_t flags, struct session_setup *setup)
{
	const bool is_local = device_is(selection->device, LINK_HOST);
	uint64_t slots = opts->slots;

	if (!slots) {
		slots = opts->period_ns ? DEFAULT_RING_NS / opts->period_ns : 0;
		slots = slots < MIN_SLOTS ? MIN_SLOTS : slots;
		if (selection->device->info.max_slots && slots > selection->device->info.max_slots)
			slots = selection->device->info.max_slots;
	}
	*setup = (struct session_setup){
		.flags = (opts->flags | flags) & ~(is_local ? 0 : PERFCTR_SESSION_SKIP_UNSUPPORTED),
		/* 2^31 fits, and no kernel accepts more */
		.slots = round_up_slots(slots, 1u << 31),
		.watermark = opts->watermark,
		.period_ns = opts->period_ns,
		.requests = selection->requests,
		.request_count = (uint32_t)selection->request_count,
		.eventfd = -1,
		.ring_fd = -1,
	};
}

/* Open it; a ring of default size may shrink. */
static int try_setup(struct perfctr_selection *selection, const struct perfctr_session_opts *opts,
		     struct session_setup *setup, int *number)
{
	struct perfctr_device *device = selection->device;
	int error;

	*number = -1;
	if (!device->link)
		return perfctr_fail(device->ctx, -EBADF, "%s: a capture's device cannot count",
				    device->info.name);
	if (!selection->request_count)
		return perfctr_fail(device->ctx, -EINVAL, "nothing is selected");
	error = refusal_of_filters(selection, setup);
	if (error)
		return error;

	do {
		error = device->link->open(device->link_data, setup, number);
		if (error != -ERANGE || opts->slots || setup->slots == 1)
			break;
		setup->slots /= 2;
	} while (true);
	if (error)
		refusal_explain(selection, setup, error);
	return error;
}

static bool is_possible(const struct drm_perfctr_layout *l)
{
	return l->slots && !(l->slots & (l->slots - 1)) && l->slot_stride &&
	       l->ring_offset >= sizeof(struct drm_perfctr_ring_control) &&
	       l->ring_offset < l->map_bytes && l->map_bytes <= INT32_MAX &&
	       (l->map_bytes - l->ring_offset) / l->slot_stride >= l->slots;
}

static int take_layout(struct perfctr_device *device, const struct drm_perfctr_layout *l,
		       struct perfctr_session_sizes *sizes)
{
	if (!is_possible(l))
		return perfctr_fail(device->ctx, -EPROTO, "%s: the kernel gives impossible sizes",
				    device->info.name);
	*sizes = (struct perfctr_session_sizes){
		.size = sizeof(*sizes),
		.ring_offset = l->ring_offset,
		.ring_bytes = l->map_bytes - l->ring_offset,
		.slots = l->slots,
		.slot_stride = l->slot_stride,
		.sample_bytes = l->sample_size,
		.block_count = l->block_count,
	};
	return 0;
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
	if (opts->flags & ~(uint32_t)(DRM_PERFCTR_OPEN_KEEP_AWAKE | DRM_PERFCTR_OPEN_AUTOMATIC |
				      PERFCTR_SESSION_SKIP_UNSUPPORTED))
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
	struct session_setup setup;
	struct perfctr_session_opts o;
	int number, error;

	if (sizes && sizes->size < sizeof(sizes->size))
		return perfctr_fail(ctx, -EINVAL,
				    "struct perfctr_session_sizes: its size is not set");
	error = take_opts(ctx, opts, &o);
	if (!error) {
		fill_setup(selection, &o, DRM_PERFCTR_OPEN_CHECK, &setup);
		error = try_setup(selection, &o, &setup, &number);
	}
	if (!error)
		error = take_layout(selection->device, &setup.layout, &mine);
	if (error || !sizes)
		return error;

	mine.size = sizes->size;
	memset((char *)sizes + sizeof(sizes->size), 0, sizes->size - sizeof(sizes->size));
	memcpy(sizes, &mine, mine.size < sizeof(mine) ? mine.size : sizeof(mine));
	return 0;
}

/* --- life --------------------------------------------------------------------------- */

static void unmap(struct perfctr_session *s, struct mapping *mapping)
{
	const struct perfctr_sys *sys = session_ctx(s)->sys;

	if (mapping->address)
		sys->munmap(sys->data, mapping->address, mapping->bytes);
}

static struct perfctr_session *new_session(struct perfctr_device *device)
{
	struct perfctr_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	atomic_init(&s->refs, 1);
	atomic_init(&s->has_cursor, false);
	s->device = perfctr_device_ref(device);
	s->number = s->eventfd = s->ring_fd = -1;
	return s;
}

/* What open() gave; the session owns it, also after a failure. */
static int take_setup(struct perfctr_session *s, const struct session_setup *setup)
{
	s->ring_fd = setup->ring_fd;
	s->eventfd = setup->eventfd;
	s->period_ns = setup->period_ns;
	return take_layout(s->device, &setup->layout, &s->sizes);
}

EXPORT int perfctr_session_new(struct perfctr_selection *selection,
			       const struct perfctr_session_opts *opts,
			       struct perfctr_session **session)
{
	struct perfctr_device *device = selection->device;
	struct perfctr_session_opts o;
	struct session_setup setup;
	struct perfctr_session *s;
	int error;

	error = take_opts(device->ctx, opts, &o);
	if (error)
		return error;
	s = new_session(device);
	if (!s)
		return perfctr_no_memory(device->ctx);
	error = perfctr_selection_copy(selection, &s->selection);
	if (!error) {
		fill_setup(s->selection, &o, 0, &setup);
		error = try_setup(s->selection, &o, &setup, &s->number);
	}
	if (!error)
		error = take_setup(s, &setup);
	if (!error)
		error = device->link->map(device->link_data, s->number, &setup, &s->control,
					  &s->ring);
	if (error) {
		perfctr_session_unref(s);
		return error;
	}
	s->flags = o.flags;
	perfctr_log(device->ctx, PERFCTR_LOG_INFO,
		    "%s: session %d, %u blocks, %u slots of %u bytes, period %llu ns",
		    device->info.name, s->number, s->sizes.block_count, s->sizes.slots,
		    s->sizes.slot_stride, (unsigned long long)o.period_ns);
	*session = s;
	return 0;
}

EXPORT int perfctr_session_new_raw(struct perfctr_device *device,
				   const struct drm_perfctr_open *open,
				   struct drm_perfctr_layout *layout,
				   struct perfctr_session **session)
{
	struct session_setup setup = {
		.flags = open->flags,
		.slots = open->slots,
		.period_ns = open->period_ns,
		.watermark = open->watermark,
		.requests = (const void *)(uintptr_t)open->requests,
		.request_count = open->request_count,
		.eventfd = -1,
		.ring_fd = -1,
	};
	struct perfctr_session *s;
	int error;

	*session = NULL;
	if (!device->link)
		return -EBADF;
	if (open->eventfd != -1 || open->layout || open->layout_size || open->pad ||
	    open->reserved[0] || open->reserved[1] ||
	    open->request_stride != sizeof(*setup.requests))
		return -EINVAL;
	s = new_session(device);
	if (!s)
		return -ENOMEM;
	error = device->link->open(device->link_data, &setup, &s->number);
	if (!error)
		error = take_setup(s, &setup);
	if (!error)
		*layout = setup.layout;
	if (error || setup.flags & DRM_PERFCTR_OPEN_CHECK)
		perfctr_session_unref(s);
	else
		*session = s;
	return error;
}

static void free_session(struct perfctr_session *session)
{
	struct perfctr_device *device = session->device;
	const struct perfctr_sys *sys = device->ctx->sys;

	if (session->number >= 0)
		device->link->close(device->link_data, session->number);
	unmap(session, &session->control);
	unmap(session, &session->ring);
	if (session->ring_fd >= 0)
		sys->close(sys->data, session->ring_fd);
	if (session->eventfd >= 0)
		sys->close(sys->data, session->eventfd);
	perfctr_selection_unref(session->selection);
	free(session);
	perfctr_device_unref(device);
}

DEFINE_REFS(EXPORT, perfctr_session, free_session)

/* --- commands ------------------------------------------------------------------------ */

/* The outcome of an operation: explain an error of it. */
static int outcome(struct perfctr_session *s, const char *name, int error)
{
	struct perfctr_device *device = s->device;
	const char *reason;

	if (error && perfctr_device_explained(device))
		return error;
	switch (error) {
	case 0:
		return 0;
	case -EALREADY:
		reason = !strcmp(name, "start") ? "it counts already" : "it does not count";
		break;
	case -ENOTCONN:
		reason = "it does not count; start it first";
		break;
	case -ENOSPC:
		reason = "the ring is full; nothing is lost, read samples and advance the cursor";
		break;
	case -EIO:
		reason = "the hardware did not get power or did not answer; the kernel log may say "
			 "why";
		break;
	case -EBUSY:
		reason = "another session uses another counter set, and the hardware has one at a "
			 "time; or a perf counter is in use";
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
	struct perfctr_device *device = session->device;

	return outcome(session, "start",
		       device->link->start(device->link_data, session->number, user_data));
}

EXPORT int perfctr_session_sample(struct perfctr_session *session, uint64_t user_data)
{
	struct perfctr_device *device = session->device;

	return outcome(session, "sample",
		       device->link->sample(device->link_data, session->number, user_data));
}

EXPORT int perfctr_session_sample_fence(struct perfctr_session *session, int fence_fd,
					int64_t timeout_ns, uint64_t user_data)
{
	const struct perfctr_sys *sys = session_ctx(session)->sys;
	int ready = sys->poll(sys->data, &fence_fd, 1, timeout_ns);

	if (ready > 0)
		return perfctr_session_sample(session, user_data);
	return perfctr_fail(session_ctx(session), ready ? ready : -ETIMEDOUT, "the job's fence: %s",
			    strerror(ready ? -ready : ETIMEDOUT));
}

EXPORT int perfctr_session_stop(struct perfctr_session *session, uint64_t user_data)
{
	struct perfctr_device *device = session->device;

	return outcome(session, "stop",
		       device->link->stop(device->link_data, session->number, user_data));
}

EXPORT int perfctr_session_status(struct perfctr_session *session,
				  struct drm_perfctr_status *status, size_t size)
{
	struct perfctr_device *device = session->device;
	struct drm_perfctr_status mine = { 0 };
	int error;

	error = outcome(session, "ask",
			device->link->status(device->link_data, session->number, &mine));
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

EXPORT int perfctr_session_fd(const struct perfctr_session *session)
{
	return device_is(session->device, LINK_KERNEL) ? session->number : -1;
}

EXPORT int perfctr_session_eventfd(const struct perfctr_session *session)
{
	return session->eventfd;
}

EXPORT int perfctr_session_reader(const struct perfctr_session *session)
{
	struct perfctr_device *device = session->device;
	int fd = device->link->reader ?
			 device->link->reader(device->link_data, session->number) :
			 device->ctx->sys->dup(device->ctx->sys->data, session->ring_fd);

	if (fd < 0)
		perfctr_fail(device->ctx, fd, "%s: no file for another reader of the ring: %s",
			     device->info.name, strerror(-fd));
	return fd;
}

EXPORT struct perfctr_device *perfctr_session_device(const struct perfctr_session *session)
{
	return session->device;
}

EXPORT struct perfctr_selection *perfctr_session_selection(const struct perfctr_session *session)
{
	return session->selection;
}
