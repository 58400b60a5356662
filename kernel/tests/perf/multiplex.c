// SPDX-License-Identifier: MIT
/* perf multiplexes more events than counters: times are exact; what others cost an event. */
#include <stdlib.h>
#include <unistd.h>

#include "soc.h"

#define UCF "nvidia_ucf_pmu_0"
#define PCIE "nvidia_pcie_pmu_0_rc_3"
#define COUNTERS 8
#define EVENTS 12
#define SLC_BYTES_RD 0x113
#define CYCLES (UINT64_C(1) << 32)
#define UCF_GHZ 2.5
#define LOAD_S 2
/* tolerance for a steady load under emulation */
#define SLACK_PERCENT 35
/* what an event may lose to 200 others on a busy host */
#define LOSS_PERCENT 20

static void more_events_than_counters(void)
{
	struct soc_count first[EVENTS], count;
	__u64 running = 0, enabled = 0;
	bool honest = true, all_ran = true;
	double estimate = 0, truth, rate, in_use;
	int fd[EVENTS], cycles, i;
	pid_t load;

	load = soc_job_start("-D 60s copy bytes=64Ki read initiator=cpu home=cmem socket=0");
	usleep(300000);
	cycles = soc_event(UCF, CYCLES, 0, 0, -1);
	for (i = 0; i < EVENTS; i++)
		fd[i] = soc_event(UCF, SLC_BYTES_RD, 0, 0, -1);
	truth = -(double)soc_truth(UCF, "slc_bytes_rd", "");
	for (i = 0; i < EVENTS; i++)
		first[i] = soc_read(fd[i]);
	sleep(LOAD_S);
	truth += (double)soc_truth(UCF, "slc_bytes_rd", "");
	for (i = 0; i < EVENTS; i++) {
		count = soc_read(fd[i]);
		count.value -= first[i].value;
		count.enabled_ns -= first[i].enabled_ns;
		count.running_ns -= first[i].running_ns;
		honest &= count.running_ns <= count.enabled_ns;
		all_ran &= count.running_ns > 0 && count.value > 0;
		running += count.running_ns;
		enabled += count.enabled_ns;
		if (count.running_ns)
			estimate +=
				(double)count.value * count.enabled_ns / count.running_ns / EVENTS;
	}
	count = soc_read(cycles);
	soc_job_stop(load);

	tap(all_ran, "each of %d events ran on %d counters", EVENTS, COUNTERS);
	tap(honest, "running is never more than enabled");
	in_use = enabled ? (double)running * EVENTS / enabled : 0;
	tap(in_use > COUNTERS * 0.8 && in_use < COUNTERS * 1.02, "%d counters were in use: %.2f",
	    COUNTERS, in_use);
	tap(abs((int)(100 * estimate / truth) - 100) <= SLACK_PERCENT,
	    "scaled by its times a count is near the truth: %.2f", estimate / truth);
	/* perf stops at the first event that does not fit, so cycles are multiplexed too */
	rate = count.running_ns ? (double)count.value / count.running_ns : 0;
	tap(rate > UCF_GHZ * 0.9 && rate < UCF_GHZ * 1.1,
	    "cycles in the time that they ran are the clock: %.4f GHz", rate);
	for (i = 0; i < EVENTS; i++)
		close(fd[i]);
	close(cycles);
}

/* two events of the cycle counter are multiplexed too */
static void two_cycles(void)
{
	int a = soc_event(UCF, CYCLES, 0, 0, -1), b = soc_event(UCF, CYCLES, 0, 0, -1);
	struct soc_count count_a, count_b;

	sleep(1);
	count_a = soc_read(a);
	count_b = soc_read(b);
	tap(count_a.running_ns < count_a.enabled_ns && count_a.value && count_b.value,
	    "two cycles events share one counter: %.0f%% and %.0f%%",
	    100.0 * count_a.running_ns / count_a.enabled_ns,
	    100.0 * count_b.running_ns / count_b.enabled_ns);
	close(a);
	close(b);
}

/* filters by root port and by BDF exclude each other: the events alternate */
static void filters_in_turns(void)
{
	int ports = soc_event(PCIE, 0, 0x3, 0, -1);
	int device = soc_event(PCIE, 0, UINT64_C(0x108) << 8 | 1 << 24, 0, -1);
	struct soc_count a, b;
	pid_t load;

	load = soc_job_start("-D 60s pcie bytes=64Ki read socket=0 rc=3 rp=1 bdf=0x108 home=cmem");
	sleep(1);
	a = soc_read(ports);
	b = soc_read(device);
	soc_job_stop(load);
	/* time passes between the two reads; events that do not exclude each other reach 200 % */
	tap(a.value && b.value && a.running_ns + b.running_ns <= a.enabled_ns + a.enabled_ns / 4,
	    "root port and BDF filters take turns: %.0f%% and %.0f%%",
	    100.0 * a.running_ns / a.enabled_ns, 100.0 * b.running_ns / b.enabled_ns);
	close(ports);
	close(device);
}

/* the PMU stops while other events are opened and closed, which is long only on a busy host */
static void beside_others(void)
{
	__u64 truth, counted;
	pid_t load;
	int fd, other, i;

	fd = soc_event(UCF, SLC_BYTES_RD, 0, 0, -1);
	truth = soc_truth(UCF, "slc_bytes_rd", "");
	counted = soc_read(fd).value;
	load = soc_job_start("-D 60s copy bytes=64Ki read initiator=cpu home=cmem socket=0");
	for (i = 0; i < 200; i++) {
		other = soc_event(UCF, i % 2 ? CYCLES : SLC_BYTES_RD, 0, 0, -1);
		usleep(2000);
		close(other);
	}
	soc_job_stop(load);
	/* let jobs end that were cut short with their submitter */
	usleep(300000);
	counted = soc_read(fd).value - counted;
	truth = soc_truth(UCF, "slc_bytes_rd", "") - truth;
	tap(truth && counted <= truth && counted * 100 >= truth * (100 - LOSS_PERCENT),
	    "beside 200 others an event counts %.3f %% of it, and never more",
	    100.0 * counted / truth);
	close(fd);
}

int main(void)
{
	more_events_than_counters();
	two_cycles();
	filters_in_turns();
	beside_others();
	return tap_done();
}
