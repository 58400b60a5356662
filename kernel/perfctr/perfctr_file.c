// SPDX-License-Identifier: GPL-2.0
/*
 * The descriptor of a session: OPEN returns it, and its ioctls are the session's commands.
 */
#include <linux/anon_inodes.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "perfctr_internal.h"

static_assert(sizeof(struct drm_perfctr_open) == 72);
static_assert(sizeof(struct drm_perfctr_command) == 16);
static_assert(sizeof(struct drm_perfctr_status) == 112);

/* --- the descriptor ------------------------------------------------------ */

static int run_command(struct drm_perfctr_session *session, unsigned int cmd, unsigned long arg,
		       int (*run)(struct drm_perfctr_session *session, u64 user_data))
{
	struct drm_perfctr_command command;
	int ret;

	if (_IOC_SIZE(cmd) > PERFCTR_STRUCT_SIZE_MAX)
		return perfctr_reject(session->pc, E2BIG, "size: %u bytes", _IOC_SIZE(cmd));
	ret = copy_struct_from_user(&command, sizeof(command), (void __user *)arg, _IOC_SIZE(cmd));
	if (ret)
		return ret;
	if (command.flags || command.pad)
		return perfctr_reject(session->pc, EINVAL, "flags or pad is not zero");
	ret = mutex_lock_interruptible(&session->command_lock);
	if (ret)
		return perfctr_result(ret);
	ret = run(session, command.user_data);
	mutex_unlock(&session->command_lock);
	return perfctr_result(ret);
}

static int write_status(struct drm_perfctr_session *session, unsigned int cmd, unsigned long arg)
{
	struct drm_perfctr_status status;

	drm_perfctr_session_status(session, &status);
	/* each mapping has a reference of the file for mappings, which is no reader itself */
	status.readers += file_count(session->mapped) - 2;
	return drm_perfctr_copy_out((void __user *)arg, _IOC_SIZE(cmd), &status, sizeof(status));
}

static int make_reader(struct drm_perfctr_session *session, unsigned long arg)
{
	struct file *file;
	int fd;

	if (arg)
		return perfctr_reject(session->pc, EINVAL, "READER: its argument is not zero");
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = drm_perfctr_memory_reader(session->memory);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	fd_install(fd, file);
	return fd;
}

static long session_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct drm_perfctr_session *session = file->private_data;

	switch (PERFCTR_IOCTL_OF_ANY_SIZE(cmd)) {
	case PERFCTR_IOCTL_OF_ANY_SIZE(DRM_PERFCTR_IOCTL_START):
		return run_command(session, cmd, arg, drm_perfctr_session_start);
	case PERFCTR_IOCTL_OF_ANY_SIZE(DRM_PERFCTR_IOCTL_SAMPLE):
		return run_command(session, cmd, arg, drm_perfctr_session_manual);
	case PERFCTR_IOCTL_OF_ANY_SIZE(DRM_PERFCTR_IOCTL_STOP):
		return run_command(session, cmd, arg, drm_perfctr_session_stop);
	case PERFCTR_IOCTL_OF_ANY_SIZE(DRM_PERFCTR_IOCTL_STATUS):
		return write_status(session, cmd, arg);
	case PERFCTR_IOCTL_OF_ANY_SIZE(DRM_PERFCTR_IOCTL_READER):
		return make_reader(session, arg);
	default:
		return drm_perfctr_memory_ioctl(session->memory, cmd, arg);
	}
}

/* a mapping keeps the ring's memory, but not the session */
static int session_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct drm_perfctr_session *session = file->private_data;
	int ret = drm_perfctr_memory_mmap(session->memory, vma);

	if (!ret)
		vma_set_file(vma, session->mapped);
	return ret;
}

static __poll_t session_poll(struct file *file, poll_table *wait)
{
	struct drm_perfctr_session *session = file->private_data;

	return drm_perfctr_memory_poll(session->memory, file, wait);
}

static int session_release(struct inode *inode, struct file *file)
{
	struct drm_perfctr_session *session = file->private_data;
	struct module *owner = session->pc->owner;

	fput(session->mapped);
	drm_perfctr_session_end(session);
	module_put(owner);
	return 0;
}

/* does not wait for locks */
static void session_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct drm_perfctr_session *session = file->private_data;

	seq_printf(m, "perfctr-device:\t%s\n", dev_name(session->pc->drm->dev));
	seq_printf(m, "perfctr-session:\t%llu\n", session->id);
	seq_printf(m, "perfctr-active:\t%u\n", READ_ONCE(session->active));
	seq_printf(m, "perfctr-memory:\t%llu KiB\n", session->memory->bytes / SZ_1K);
	if (perfctr_uses_set(session))
		seq_printf(m, "perfctr-set:\t%u\n", session->set);
}

static const struct file_operations session_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = session_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = session_mmap,
	.poll = session_poll,
	.release = session_release,
	.show_fdinfo = session_show_fdinfo,
	.llseek = noop_llseek,
};

/* --- OPEN ---------------------------------------------------------------- */

static int write_layout(const struct drm_perfctr_open *open,
			const struct drm_perfctr_layout *layout)
{
	return drm_perfctr_copy_out(u64_to_user_ptr(open->layout), open->layout_size, layout,
				    sizeof(*layout));
}

/* the file of a session, which owns it: an error ends it */
static struct file *make_file(struct drm_perfctr_session *session)
{
	struct module *owner = session->pc->owner;
	struct file *mapped, *file;

	/* the session may outlive the driver's file */
	if (!try_module_get(owner)) {
		drm_perfctr_session_end(session);
		return ERR_PTR(-ENODEV);
	}
	mapped = drm_perfctr_memory_reader(session->memory);
	file = mapped;
	if (!IS_ERR(mapped)) {
		session->mapped = mapped;
		file = anon_inode_getfile("[perfctr]", &session_fops, session, O_RDWR);
		if (IS_ERR(file))
			fput(mapped);
	}
	if (IS_ERR(file)) {
		drm_perfctr_session_end(session);
		module_put(owner);
	}
	return file;
}

/*
 * Returns the descriptor of a session, which it owns. User space owns it as soon as it is
 * installed, so nothing may fail after that, and all that user space sees is written before.
 */
static int hand_out(struct drm_perfctr_session *session, const struct drm_perfctr_open *open)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);
	struct file *file;
	int ret;

	if (fd < 0) {
		ret = perfctr_reject(session->pc, -fd, "no file descriptor for the session");
		drm_perfctr_session_end(session);
		return ret;
	}
	file = make_file(session);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	ret = write_layout(open, &session->memory->layout);
	if (ret) {
		fput(file);
		put_unused_fd(fd);
		return ret;
	}
	fd_install(fd, file);
	return fd;
}

/**
 * drm_perfctr_open_ioctl() - the OPEN ioctl
 * @pc: the counters
 * @data: struct drm_perfctr_open in kernel memory
 *
 * Returns: the descriptor; 0 with DRM_PERFCTR_OPEN_CHECK; or a negative errno of the uAPI header.
 */
int drm_perfctr_open_ioctl(struct drm_perfctr *pc, void *data)
{
	const struct drm_perfctr_open *open = data;
	struct drm_perfctr_block_request *requests;
	struct drm_perfctr_session *session;
	struct drm_perfctr_layout layout;
	int ret;

	ret = drm_perfctr_check_open(pc, open);
	if (ret)
		return ret;
	requests = drm_perfctr_copy_requests(pc, open);
	if (IS_ERR(requests))
		return PTR_ERR(requests);
	session = drm_perfctr_session_create(pc, open, requests, NULL, &layout);
	kvfree(requests);
	if (IS_ERR(session))
		return perfctr_result(PTR_ERR(session));
	return session ? hand_out(session, open) : write_layout(open, &layout);
}
EXPORT_SYMBOL_GPL(drm_perfctr_open_ioctl);

struct drm_perfctr_session *drm_perfctr_session_of(struct file *file)
{
	return file->f_op == &session_fops ? file->private_data : NULL;
}

/**
 * drm_perfctr_show_fdinfo() - tell user space the numbers of the ioctls
 * @p: output; keys follow Documentation/gpu/drm-usage-stats.rst
 * @pc: the counters
 *
 * Call it from the driver's show_fdinfo.
 */
void drm_perfctr_show_fdinfo(struct drm_printer *p, struct drm_perfctr *pc)
{
#ifdef PERFCTR_IN_TREE
	unsigned int nr = DRM_IOCTL_NR(DRM_IOCTL_PERFCTR_QUERY);
#else
	unsigned int nr = pc->config.ioctl_nr;
#endif

	drm_printf(p, "drm-perfctr:\t%u ioctls 0x%x\n", PERFCTR_VERSION, nr);
}
EXPORT_SYMBOL_GPL(drm_perfctr_show_fdinfo);
