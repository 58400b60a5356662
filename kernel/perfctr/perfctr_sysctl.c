// SPDX-License-Identifier: GPL-2.0
/*
 * Who may count, how often and how much: sysctl dev.perfctr.*
 */
#include <linux/capability.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sysctl.h>

#include "compat.h"
#include "perfctr_internal.h"

/* 1: counters need CAP_PERFMON, 0: everybody who can open the node may count */
static int perfctr_paranoid = 1;
/* samples per second of one unprivileged session */
static int perfctr_max_sample_rate_hz = 1000;
/* of one unprivileged user, all devices together: an eighth of what a device has */
static int perfctr_user_sessions = PERFCTR_MAX_SESSIONS_DEVICE / 8;
/* of one unprivileged user's buffers: four of the largest rings */
static int perfctr_user_ring_kb = 4 * (int)(PERFCTR_MAX_BO_BYTES >> 10);

static int rate_min_hz = 1;
static int rate_max_hz = (int)(NSEC_PER_SEC / PERFCTR_MIN_PERIOD_NS);

static struct ctl_table_header *perfctr_sysctl_header;

static struct ctl_table perfctr_sysctl_table[] = {
	{
		.procname = "paranoid",
		.data = &perfctr_paranoid,
		.maxlen = sizeof(perfctr_paranoid),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	},
	{
		.procname = "max_sample_rate_hz",
		.data = &perfctr_max_sample_rate_hz,
		.maxlen = sizeof(perfctr_max_sample_rate_hz),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = &rate_min_hz,
		.extra2 = &rate_max_hz,
	},
	{
		.procname = "max_user_sessions",
		.data = &perfctr_user_sessions,
		.maxlen = sizeof(perfctr_user_sessions),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ZERO,
	},
	{
		.procname = "max_user_ring_kb",
		.data = &perfctr_user_ring_kb,
		.maxlen = sizeof(perfctr_user_ring_kb),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ZERO,
	},
	PERFCTR_SYSCTL_END
};

int perfctr_sysctl_init(void)
{
	perfctr_sysctl_header = register_sysctl("dev/perfctr", perfctr_sysctl_table);
	return perfctr_sysctl_header ? 0 : -ENOMEM;
}

void perfctr_sysctl_exit(void)
{
	unregister_sysctl_table(perfctr_sysctl_header);
}

/* counters show what other users' work does to the hardware */
bool perfctr_may_observe(void)
{
	return perfmon_capable() || !READ_ONCE(perfctr_paranoid);
}

u64 perfctr_unprivileged_min_period_ns(void)
{
	return max_t(u64, NSEC_PER_SEC / READ_ONCE(perfctr_max_sample_rate_hz),
		     PERFCTR_MIN_PERIOD_NS);
}

/* shortest period for the caller */
u64 perfctr_min_period_ns(void)
{
	return perfmon_capable() ? PERFCTR_MIN_PERIOD_NS : perfctr_unprivileged_min_period_ns();
}

unsigned int perfctr_max_user_sessions(void)
{
	return READ_ONCE(perfctr_user_sessions);
}

u64 perfctr_max_user_ring_bytes(void)
{
	return (u64)READ_ONCE(perfctr_user_ring_kb) << 10;
}
