// SPDX-License-Identifier: MIT
/*
 * The PMU's events migrate during CPU hotplug and lose nothing of what they count before and after.
 * The drivers stop them on the way, so no traffic flows then. usage: hotplug FIRST SECOND: the CPUs
 * of socket 1; FIRST owns its PMUs
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "soc.h"

#define UCF "nvidia_ucf_pmu_1"
#define CMEM "nvidia_cmem_latency_pmu_1"
#define C2C "nvidia_nvlink_c2c_pmu_1"
#define EVENTS 4
/* the caches drop it again, so that the next one also reads memory */
#define COPY_CMEM "copy bytes=64Ki read write initiator=cpu home=cmem socket=1 " \
		  "copy bytes=64Ki dataless initiator=cpu home=cmem socket=1"
#define COPY_GMEM "copy bytes=64Ki read initiator=cpu home=gmem socket=1"

static const struct {
	const char *pmu;
	__u64 config;
	const char *name;
} events[EVENTS] = {
	{ UCF, 0x113, "slc_bytes_rd" },
	{ UCF, 0x114, "slc_bytes_wr" },
	{ CMEM, 1, "rd_req" },
	{ C2C, 6, "out_rd_req" },
};

static int fd[EVENTS];

static __u64 missing(const struct soc_count *base, const __u64 *truth)
{
	__u64 lost = 0;
	int i;

	for (i = 0; i < EVENTS; i++) {
		__u64 counted = soc_read(fd[i]).value - base[i].value;
		__u64 really = soc_truth(events[i].pmu, events[i].name, "") - truth[i];

		if (counted != really || !really) {
			printf("# %s %s: counted %lu, truth %lu\n", events[i].pmu, events[i].name,
			       (unsigned long)counted, (unsigned long)really);
			lost++;
		}
	}
	return lost;
}

static void load(void)
{
	soc_job("-r 4 " COPY_CMEM " " COPY_GMEM);
}

/* what the drivers miss while they move an event */
static void moved_under_load(int first, int second)
{
	__u64 counted = soc_read(fd[0]).value;
	__u64 truth = soc_truth(events[0].pmu, events[0].name, "");
	pid_t job = soc_job_start("-D 120s " COPY_CMEM);

	soc_cpu_online(second, true);
	usleep(300000);
	soc_cpu_online(first, false);
	usleep(300000);
	soc_cpu_online(first, true);
	soc_cpu_online(second, false);
	usleep(300000);
	soc_job_stop(job);
	/* let jobs end that were cut short with their submitter */
	usleep(300000);
	counted = soc_read(fd[0]).value - counted;
	truth = soc_truth(events[0].pmu, events[0].name, "") - truth;
	tap(counted <= truth && counted >= truth / 2,
	    "under load they count %.3f %% of it, and never more", 100.0 * counted / truth);
}

int main(int argc, char **argv)
{
	int first = argc == 3 ? atoi(argv[1]) : -1, second = argc == 3 ? atoi(argv[2]) : -1;
	__u64 truth[EVENTS];
	struct soc_count base[EVENTS];
	int i;

	if (argc != 3) {
		fprintf(stderr, "usage: hotplug FIRST SECOND\n");
		return 2;
	}

	tap(soc_pmu_cpu(UCF) == first, "CPU %d owns the PMU: %d", first, soc_pmu_cpu(UCF));
	for (i = 0; i < EVENTS; i++) {
		struct perf_event_attr attr = soc_attr(events[i].pmu, events[i].config, 0, 0);

		/* on any CPU of the socket */
		fd[i] = soc_open(&attr, -1, i % 2 ? first : second, -1, 0);
		base[i] = soc_read(fd[i]);
		truth[i] = soc_truth(events[i].pmu, events[i].name, "");
	}

	load();
	tap(soc_cpu_online(first, false), "CPU %d goes offline", first);
	tap(soc_pmu_cpu(UCF) == second, "CPU %d owns the PMU: %d", second, soc_pmu_cpu(UCF));
	load();
	tap(soc_cpu_online(first, true), "CPU %d comes back", first);
	tap(soc_pmu_cpu(UCF) == second, "the owner is still CPU %d", soc_pmu_cpu(UCF));
	tap(soc_cpu_online(second, false), "CPU %d goes offline", second);
	tap(soc_pmu_cpu(UCF) == first, "CPU %d owns the PMU again: %d", first, soc_pmu_cpu(UCF));
	load();
	tap(missing(base, truth) == 0, "no count is lost");
	moved_under_load(first, second);

	tap(soc_cpu_online(first, false), "the last CPU of the socket goes offline");
	tap(soc_pmu_cpu(UCF) == -1, "cpumask is empty: %d", soc_pmu_cpu(UCF));
	{
		struct perf_event_attr attr = soc_attr(UCF, 0x113, 0, 0);
		int got = soc_open(&attr, -1, first, -1, 0);

		tap(got == -EINVAL, "no event can be opened: %d", got);
	}
	soc_cpu_online(second, true);
	tap(soc_pmu_cpu(UCF) == second, "the first CPU back owns it: %d", soc_pmu_cpu(UCF));
	base[0] = soc_read(fd[0]);
	i = soc_event(UCF, 0x113, 0, 0, -1);
	soc_job("copy bytes=64Ki read initiator=cpu home=cmem socket=1");
	tap(i >= 0 && soc_read(i).value == 65536, "events count there");
	/* kernel/tegra410/README.md */
	tap(soc_read(fd[0]).value == base[0].value, "one that was open does not count again");
	soc_cpu_online(first, true);
	return tap_done();
}
