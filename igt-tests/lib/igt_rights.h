/* SPDX-License-Identifier: MIT */
/* Processes with fewer rights, and root's settings. */
#ifndef IGT_RIGHTS_H
#define IGT_RIGHTS_H

#include <linux/capability.h>
#include <stdint.h>

#include "igt_perfctr.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

#define IGT_NOBODY 65534

/* become @uid with exactly these capabilities, for good */
void igt_drop_to(unsigned int uid, uint64_t capabilities);
/* the session belongs to an unprivileged user; the caller is root again on return */
void igt_perfctr_create_as_nobody(struct igt_perfctr_session *s);
/* a descriptor passed to another process, and received there, close-on-exec */
void igt_send_fd(int socket, int fd);
int igt_receive_fd(int socket);
/* set dev.perfctr.@name */
void igt_perfctr_sysctl(const char *name, const char *value);
/* reset the limits of unprivileged users to their defaults */
void igt_perfctr_default_limits(void);

#endif
