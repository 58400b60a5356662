// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctl of PERF_CONTROL, and the sessions of a file that it names by numbers.
 */
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>
#include <drm/drm_file.h>
#include <drm/drm_perfctr_extension.h>

#include "control.h"

/**
 * DOC: sessions of PERF_CONTROL
 *
 * They have no descriptor. The device has a table of them; a number is valid for the file of SETUP
 * only. A session is never in the table without its file being open, because closing the file takes
 * all of its sessions out. So there is nothing in a driver's files that could be forgotten, and
 * what is in the table can be compared with any file.
 *
 * TEARDOWN and closing take a session out of the table: the one that succeeds ends it, after the
 * command that runs. A command that found it before holds a reference, and finds it dead.
 */

static struct drm_file *file_of(const struct drm_perfctr_session *session)
{
	return container_of(session->sink, struct perfctr_control_sink, base)->file;
}

/* a reference; NULL: the file has no such session */
static struct drm_perfctr_session *get_session(struct drm_perfctr *pc, struct drm_file *file,
					       u32 number)
{
	struct drm_perfctr_session *session;

	xa_lock(&pc->controlled);
	session = xa_load(&pc->controlled, number);
	if (session && file_of(session) != file)
		session = NULL;
	if (session)
		kref_get(&session->refcount);
	xa_unlock(&pc->controlled);
	return session;
}

/* takes it out of the table; false: it is not in it any more */
static bool take(struct drm_perfctr *pc, u32 number, struct drm_perfctr_session *session)
{
	bool taken;

	xa_lock(&pc->controlled);
	taken = xa_load(&pc->controlled, number) == session;
	if (taken)
		__xa_erase(&pc->controlled, number);
	xa_unlock(&pc->controlled);
	return taken;
}

/**
 * drm_perfctr_control_close() - end a file's sessions of PERF_CONTROL
 * @pc: the counters, or NULL
 * @file: the file, of which no ioctl runs
 *
 * Call it from the driver's postclose.
 */
void drm_perfctr_control_close(struct drm_perfctr *pc, struct drm_file *file)
{
	struct drm_perfctr_session *session;
	unsigned long number;

	if (!pc)
		return;
	/* locked: those of other files may end */
	xa_lock(&pc->controlled);
	xa_for_each(&pc->controlled, number, session) {
		if (file_of(session) != file)
			continue;
		__xa_erase(&pc->controlled, number);
		xa_unlock(&pc->controlled);
		drm_perfctr_session_end(session);
		xa_lock(&pc->controlled);
	}
	xa_unlock(&pc->controlled);
}
EXPORT_SYMBOL_GPL(drm_perfctr_control_close);

static int copy_in(struct drm_perfctr *pc, const struct drm_perfctr_control *control, void *to,
		   size_t size)
{
	if (control->size < size)
		return perfctr_reject(pc, EINVAL, "size: %llu, command %u needs %zu", control->size,
				      control->cmd, size);
	if (control->size > PERFCTR_STRUCT_SIZE_MAX)
		return perfctr_reject(pc, E2BIG, "size: %llu", control->size);
	return copy_struct_from_user(to, size, u64_to_user_ptr(control->pointer), control->size);
}

/* --- SETUP --------------------------------------------------------------- */

/* whether a block of the type has counters of the section, in the set */
static bool has_section(struct drm_perfctr *pc, u16 type, unsigned int section, u8 set)
{
	unsigned int i;

	for (i = 0; i < pc->block_count; i++) {
		const struct drm_perfctr_block_desc *desc = &drm_perfctr_block_at(pc, i)->desc;

		if (desc->type == type && section < perfctr_block_sections(desc) &&
		    set <= DRM_PERFCTR_SET_TERTIARY && desc->sets & BIT(set))
			return true;
	}
	return false;
}

/* requests for what of the masks exists; returns their number */
static unsigned int make_requests(struct drm_perfctr *pc,
				  const struct drm_perfctr_control_setup *setup,
				  struct drm_perfctr_block_request *requests)
{
	unsigned int type, section, count = 0;

	for (type = 0; type < DRM_PERFCTR_CONTROL_TYPES; type++) {
		u16 block_type = pc->config.control->types[type];

		for (section = 0; block_type && section < DRM_PERFCTR_CONTROL_SECTIONS; section++)
			if (setup->masks[type][section] &&
			    has_section(pc, block_type, section, setup->set))
				requests[count++] = (struct drm_perfctr_block_request) {
					.type = block_type,
					.index = DRM_PERFCTR_INDEX_ALL,
					.section = section,
					.set = setup->set,
					.flags = DRM_PERFCTR_REQUEST_AVAILABLE,
					.mask = setup->masks[type][section],
				};
	}
	return count;
}

/* permission and all rules but those of buffers and masks */
static int check_setup(struct drm_perfctr *pc, const struct drm_perfctr_control_setup *setup,
		       const struct drm_perfctr_open *open)
{
	int ret;

	if (memchr_inv(setup->pad, 0, sizeof(setup->pad)))
		return perfctr_reject(pc, EINVAL, "pad is not zero");
	if (open->eventfd < 0)
		return perfctr_reject(pc, EBADF, "eventfd: %d", open->eventfd);
	if (!open->request_count)
		return perfctr_reject(pc, EINVAL, "masks: no counter of any block");
	ret = drm_perfctr_check_open(pc, open);
	/* its callers know only the one */
	return ret == -EACCES ? -EPERM : ret;
}

static struct drm_perfctr_session *create_session(struct drm_perfctr *pc, struct drm_file *file,
						  const struct drm_perfctr_control_setup *setup)
{
	struct drm_perfctr_block_request
		requests[DRM_PERFCTR_CONTROL_TYPES * DRM_PERFCTR_CONTROL_SECTIONS];
	struct drm_perfctr_open open = {
		.slots = setup->slots,
		.period_ns = setup->period_ns,
		.eventfd = setup->eventfd,
		.watermark = 1,
		.request_stride = sizeof(requests[0]),
	};
	struct drm_perfctr_control_info info;
	struct perfctr_control_sink *sink;
	int ret;

	ret = drm_perfctr_control_describe(pc, &info);
	if (ret)
		return ERR_PTR(ret);
	open.request_count = make_requests(pc, setup, requests);
	ret = check_setup(pc, setup, &open);
	if (ret)
		return ERR_PTR(ret);
	sink = drm_perfctr_control_sink_create(pc, file, setup, &info);
	if (IS_ERR(sink))
		return ERR_CAST(sink);
	return drm_perfctr_session_create(pc, &open, requests, &sink->base, NULL);
}

static int setup(struct drm_perfctr *pc, const struct drm_perfctr_control *control,
		 struct drm_file *file)
{
	struct drm_perfctr_control_setup args;
	struct drm_perfctr_session *session;
	u32 number;
	int ret;

	ret = copy_in(pc, control, &args, sizeof(args));
	if (ret)
		return ret;
	/* reserved: after this nothing fails whose end would be a signal */
	ret = xa_alloc(&pc->controlled, &number, NULL, XA_LIMIT(1, INT_MAX), GFP_KERNEL);
	if (ret)
		return ret;
	session = create_session(pc, file, &args);
	if (IS_ERR(session)) {
		xa_erase(&pc->controlled, number);
		return PTR_ERR(session);
	}
	/* from here on the file has it */
	xa_store(&pc->controlled, number, session, GFP_KERNEL);
	return number;
}

/* --- other commands ------------------------------------------------------ */

static int teardown(struct drm_perfctr *pc, const struct drm_perfctr_control *control,
		    struct drm_file *file)
{
	struct drm_perfctr_session *session = get_session(pc, file, control->handle);
	int ret;

	if (!session)
		return perfctr_reject(pc, EINVAL, "TEARDOWN: no session %u", control->handle);
	ret = mutex_lock_interruptible(&session->command_lock);
	if (!ret) {
		if (take(pc, control->handle, session))
			drm_perfctr_session_end(session);
		else
			ret = -EINVAL;
		mutex_unlock(&session->command_lock);
	}
	drm_perfctr_session_put(session);
	return ret;
}

static int run_command(struct drm_perfctr *pc, const struct drm_perfctr_control *control,
		       struct drm_file *file,
		       int (*run)(struct drm_perfctr_session *session, u64 user_data))
{
	struct drm_perfctr_session *session;
	u64 user_data;
	int ret;

	ret = copy_in(pc, control, &user_data, sizeof(user_data));
	if (ret)
		return ret;
	session = get_session(pc, file, control->handle);
	if (!session)
		return perfctr_reject(pc, EINVAL, "no session %u", control->handle);
	ret = mutex_lock_interruptible(&session->command_lock);
	if (!ret) {
		ret = run(session, user_data);
		mutex_unlock(&session->command_lock);
	}
	drm_perfctr_session_put(session);
	return ret;
}

static int do_command(struct drm_perfctr *pc, const struct drm_perfctr_control *control,
		      struct drm_file *file)
{
	switch (control->cmd) {
	case DRM_PERFCTR_CONTROL_SETUP:
		return setup(pc, control, file);
	case DRM_PERFCTR_CONTROL_TEARDOWN:
		return teardown(pc, control, file);
	case DRM_PERFCTR_CONTROL_START:
		return run_command(pc, control, file, drm_perfctr_session_start);
	case DRM_PERFCTR_CONTROL_STOP:
		return run_command(pc, control, file, drm_perfctr_session_stop);
	case DRM_PERFCTR_CONTROL_SAMPLE:
		return run_command(pc, control, file, drm_perfctr_session_manual);
	default:
		return perfctr_reject(pc, EINVAL, "cmd: %u", control->cmd);
	}
}

/**
 * drm_perfctr_control_ioctl() - PERF_CONTROL
 * @pc: the counters, or NULL: -EOPNOTSUPP
 * @data: struct drm_perfctr_control in kernel memory
 * @file: file of the device
 *
 * Returns: the number of a new session; 0 for other commands; or a negative errno.
 */
int drm_perfctr_control_ioctl(struct drm_perfctr *pc, void *data, struct drm_file *file)
{
	return pc ? perfctr_result(do_command(pc, data, file)) : -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(drm_perfctr_control_ioctl);
