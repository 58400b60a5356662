// SPDX-License-Identifier: GPL-2.0
/*
 * Limits and permissions: sysctl dev.perfctr.*
 */
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/sizes.h>
#include <linux/sysctl.h>

#include "compat.h"
#include "perfctr_internal.h"

/* 1: counters need what perf asks for; 0: users may observe each other */
static int perfctr_paranoid = 1;
/* per unprivileged user, all rings: four of the largest, with their control areas */
int drm_perfctr_max_user_ring_kb = 4 * (int)((PERFCTR_MAX_RING_BYTES + SZ_1M) >> 10);

static struct ctl_table_header *perfctr_sysctl_header;

#define ENTRY(name, variable, least, most) { \
	.procname = (name), \
	.data = &(variable), \
	.maxlen = sizeof(variable), \
	.mode = 0644, \
	.proc_handler = proc_dointvec_minmax, \
	.extra1 = (least), \
	.extra2 = (most), \
}

static struct ctl_table perfctr_sysctl_table[] = {
	ENTRY("paranoid", perfctr_paranoid, SYSCTL_ZERO, SYSCTL_ONE),
	ENTRY("max_user_ring_kb", drm_perfctr_max_user_ring_kb, SYSCTL_ZERO, NULL),
	PERFCTR_SYSCTL_END
};

int drm_perfctr_sysctl_init(void)
{
	perfctr_sysctl_header = register_sysctl("dev/perfctr", perfctr_sysctl_table);
	return perfctr_sysctl_header || !IS_ENABLED(CONFIG_SYSCTL) ? 0 : -ENOMEM;
}

void drm_perfctr_sysctl_exit(void)
{
	unregister_sysctl_table(perfctr_sysctl_header);
}

/* not audited: callers without the capability are allowed, with limits */
bool drm_perfctr_has_privilege(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_PERFMON) ||
	       ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
}

/*
 * Whether the caller may count, and see in descriptions what reveals other users' activity. A
 * refusal is audited: security modules have no other question for it.
 */
bool drm_perfctr_may_observe(void)
{
	return !READ_ONCE(perfctr_paranoid) || !perfctr_allow_cpu();
}
