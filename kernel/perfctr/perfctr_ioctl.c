// SPDX-License-Identifier: GPL-2.0
/*
 * DRM_IOCTL_PERFCTR_CONTROL: looks up sessions and copies structures.
 */
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "perfctr_internal.h"

static_assert(sizeof(struct drm_perfctr_control) == 24);
static_assert(sizeof(struct drm_perfctr_status) == 104);
/* START, STOP and SAMPLE consist of user_data only */
static_assert(sizeof(struct drm_perfctr_start) == sizeof(u64));
static_assert(sizeof(struct drm_perfctr_stop) == sizeof(u64));
static_assert(sizeof(struct drm_perfctr_sample) == sizeof(u64));

static u64 struct_size_of(u32 cmd)
{
	switch (cmd) {
	case DRM_PERFCTR_CMD_SETUP:
		return sizeof(struct drm_perfctr_setup);
	case DRM_PERFCTR_CMD_START:
	case DRM_PERFCTR_CMD_STOP:
	case DRM_PERFCTR_CMD_SAMPLE:
		return sizeof(u64);
	case DRM_PERFCTR_CMD_STATUS:
		return sizeof(struct drm_perfctr_status);
	default:
		return 0;
	}
}

static struct drm_perfctr_session *lookup(struct drm_perfctr_file *pf, u32 handle)
{
	struct drm_perfctr_session *session = drm_perfctr_session_get(pf, handle);

	if (!session)
		drm_dbg(pf->pc->drm, "perfctr: handle: no session %u\n", handle);
	return session;
}

/* a structure that has grown since version 3 would need its old size as the minimum here */
static int check_size(struct drm_perfctr *pc, const struct drm_perfctr_control *control)
{
	if (control->size < struct_size_of(control->cmd))
		return perfctr_reject(pc, EINVAL, "size: %llu bytes, version 3 has %llu",
				      control->size, struct_size_of(control->cmd));
	if (control->size > PERFCTR_STRUCT_SIZE_MAX)
		return perfctr_reject(pc, E2BIG, "size: %llu bytes", control->size);
	return 0;
}

/* copies a command's structure from userspace, of this version or a later one */
static int copy_in(struct drm_perfctr *pc, const struct drm_perfctr_control *control,
		   void *dst, size_t size)
{
	int ret;

	ret = copy_struct_from_user(dst, size, u64_to_user_ptr(control->pointer), control->size);
	if (ret == -E2BIG)
		drm_dbg(pc->drm, "perfctr: size: unknown members are not zero\n");
	return ret;
}

/* copies a structure to userspace; fields unknown to this version are zeroed */
static int copy_out(const struct drm_perfctr_control *control, const void *src, size_t size)
{
	void __user *dst = u64_to_user_ptr(control->pointer);

	if (copy_to_user(dst, src, size))
		return -EFAULT;
	if (control->size > size && clear_user(dst + size, control->size - size))
		return -EFAULT;
	return 0;
}

/*
 * Creates descriptor, structure and handle in this order: userspace owns the session as soon as the
 * handle exists, so nothing may fail after it.
 */
static int hand_out(struct drm_perfctr_file *pf, struct drm_perfctr_control *control,
		    struct drm_perfctr_setup *setup, struct drm_perfctr_session *session)
{
	struct file *file;
	int fd, ret;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return perfctr_reject(pf->pc, -fd, "no file descriptor for the ring");
	file = drm_perfctr_memory_file(session->memory);
	ret = PTR_ERR_OR_ZERO(file);
	if (ret)
		goto err_fd;
	setup->ring_fd = fd;
	ret = copy_out(control, setup, sizeof(*setup));
	if (ret)
		goto err_file;
	ret = xa_alloc_cyclic(&pf->sessions, &control->handle, session, XA_LIMIT(1, INT_MAX),
			      &pf->next_handle, PERFCTR_GFP_USER);
	if (ret < 0)
		goto err_file;
	fd_install(fd, file);
	return 0;

err_file:
	fput(file);
err_fd:
	put_unused_fd(fd);
	return ret;
}

static int control_setup(struct drm_perfctr_file *pf, struct drm_perfctr_control *control)
{
	struct drm_perfctr_session *session;
	struct drm_perfctr *pc = pf->pc;
	struct drm_perfctr_setup setup;
	int ret;

	ret = copy_in(pc, control, &setup, sizeof(setup));
	if (ret)
		return ret;
	if (atomic_inc_return(&pf->session_count) > PERFCTR_MAX_SESSIONS_FILE) {
		ret = perfctr_reject(pc, ENOSPC, "%u sessions in this file",
				     PERFCTR_MAX_SESSIONS_FILE);
		goto out_uncount;
	}
	session = drm_perfctr_setup(pc, &setup);
	ret = PTR_ERR_OR_ZERO(session);
	if (!ret && session) {
		ret = hand_out(pf, control, &setup, session);
		if (!ret)
			return 0;
		drm_perfctr_session_teardown(session);
	} else if (!ret) {
		ret = copy_out(control, &setup, sizeof(setup));
	}
out_uncount:
	atomic_dec(&pf->session_count);
	return ret;
}

static int control_teardown(struct drm_perfctr_file *pf, const struct drm_perfctr_control *control)
{
	struct drm_perfctr_session *session;

	if (control->size || control->pointer)
		return perfctr_reject(pf->pc, EINVAL, "TEARDOWN has no structure");
	/* removal from the table transfers ownership: there is no second teardown */
	session = xa_erase(&pf->sessions, control->handle);
	if (!session)
		return perfctr_reject(pf->pc, ENOENT, "handle: no session %u", control->handle);
	drm_perfctr_session_teardown(session);
	atomic_dec(&pf->session_count);
	return 0;
}

static int control_tagged(struct drm_perfctr_file *pf, const struct drm_perfctr_control *control,
			  int (*cmd)(struct drm_perfctr_session *session, u64 user_data))
{
	struct drm_perfctr_session *session;
	u64 user_data;
	int ret;

	ret = copy_in(pf->pc, control, &user_data, sizeof(user_data));
	if (ret)
		return ret;
	session = lookup(pf, control->handle);
	if (!session)
		return -ENOENT;
	ret = mutex_lock_interruptible(&session->command_lock);
	if (!ret) {
		ret = cmd(session, user_data);
		mutex_unlock(&session->command_lock);
	}
	drm_perfctr_session_put(session);
	return ret;
}

static int control_status(struct drm_perfctr_file *pf, const struct drm_perfctr_control *control)
{
	struct drm_perfctr_session *session;
	struct drm_perfctr_status status;

	session = lookup(pf, control->handle);
	if (!session)
		return -ENOENT;
	drm_perfctr_session_status(session, &status);
	drm_perfctr_session_put(session);
	return copy_out(control, &status, sizeof(status));
}

/**
 * drm_perfctr_control_ioctl() - DRM_IOCTL_PERFCTR_CONTROL
 * @pf: sessions of the file
 * @data: struct drm_perfctr_control in kernel memory
 *
 * Returns: 0 or a negative errno as in the uAPI header.
 */
int drm_perfctr_control_ioctl(struct drm_perfctr_file *pf, void *data)
{
	struct drm_perfctr_control *control = data;
	int ret;

	if (control->cmd == DRM_PERFCTR_CMD_TEARDOWN)
		return control_teardown(pf, control);
	if (!struct_size_of(control->cmd))
		return perfctr_reject(pf->pc, EINVAL, "cmd: %u", control->cmd);
	if (!control->pointer) {
		control->size = struct_size_of(control->cmd);
		return 0;
	}
	ret = check_size(pf->pc, control);
	if (ret)
		return ret;

	switch (control->cmd) {
	case DRM_PERFCTR_CMD_SETUP:
		return control_setup(pf, control);
	case DRM_PERFCTR_CMD_START:
		return control_tagged(pf, control, drm_perfctr_session_start);
	case DRM_PERFCTR_CMD_STOP:
		return control_tagged(pf, control, drm_perfctr_session_stop);
	case DRM_PERFCTR_CMD_SAMPLE:
		return control_tagged(pf, control, drm_perfctr_session_manual);
	default:
		return control_status(pf, control);
	}
}
EXPORT_SYMBOL_GPL(drm_perfctr_control_ioctl);

/**
 * drm_perfctr_file_open() - prepare a file for sessions
 * @pc: the counters
 * @pf: embedded in the driver's file; the driver's open calls this
 */
void drm_perfctr_file_open(struct drm_perfctr *pc, struct drm_perfctr_file *pf)
{
	pf->pc = pc;
	pf->next_handle = 1;
	atomic_set(&pf->session_count, 0);
	xa_init_flags(&pf->sessions, XA_FLAGS_ALLOC1);
}
EXPORT_SYMBOL_GPL(drm_perfctr_file_open);

/**
 * drm_perfctr_show_fdinfo() - print a file's use of the counters
 * @p: output; keys follow Documentation/gpu/drm-usage-stats.rst
 * @pf: the file
 *
 * Call it from the driver's show_fdinfo. "perfctr-sessions" is the number of sessions,
 * "perfctr-active" that of active ones, "perfctr-memory" the size of their rings. "perfctr-set" is
 * the counter set of active ones, while which START of a different set fails; it is omitted if
 * there is none. Does not wait for locks.
 */
void drm_perfctr_show_fdinfo(struct drm_printer *p, struct drm_perfctr_file *pf)
{
	unsigned int sessions = 0, active = 0;
	struct drm_perfctr_session *session;
	unsigned long handle;
	u64 bytes = 0;
	int set = -1;

	xa_lock(&pf->sessions);
	xa_for_each(&pf->sessions, handle, session) {
		sessions++;
		active += READ_ONCE(session->active);
		bytes += session->memory->bytes;
		if (perfctr_uses_set(session))
			set = session->set;
	}
	xa_unlock(&pf->sessions);
	drm_printf(p, "perfctr-sessions:\t%u\n", sessions);
	drm_printf(p, "perfctr-active:\t%u\n", active);
	drm_printf(p, "perfctr-memory:\t%llu KiB\n", bytes / SZ_1K);
	if (set >= 0)
		drm_printf(p, "perfctr-set:\t%d\n", set);
}
EXPORT_SYMBOL_GPL(drm_perfctr_show_fdinfo);
