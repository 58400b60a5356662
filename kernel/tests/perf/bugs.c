// SPDX-License-Identifier: MIT
/*
 * What the kernel's drivers of these PMUs do wrong without the patches of kernel/tegra410. usage:
 * bugs NAME...: tests of the table below; lab/tegra410/tests/bugs runs them with and without.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "soc.h"

#define CYCLES (UINT64_C(1) << 32)
#define TGT_CYCLES 4
#define BDF(bdf) ((__u64)(bdf) << 8)
#define BDF_EN (UINT64_C(1) << 24)
#define ADDR_EN (UINT64_C(1) << 11)
#define WR_BYTES 1
#define RD_REQ 2
#define WR_REQ 3
#define PCIE "nvidia_pcie_pmu_0_rc_2"
#define PCIE_TGT "nvidia_pcie_tgt_pmu_0_rc_2"
#define CMEM "nvidia_cmem_latency_pmu_0"
#define C2C "nvidia_nvlink_c2c_pmu_0"
#define CLINK "nvidia_nvclink_pmu_0"
#define AMPERE "ampere_mcu_pmu_0"
#define MASK UINT64_C(0xfffffffffff00000)
#define SLOTS 8
#define COUNTERS 8
#define KIB 1024
/* 256 requests of the device 01:01.0 */
#define READ_16K "pcie read socket=0 rc=2 rp=1 bdf=0x108 home=cmem bytes=16Ki"
#define READ_OTHER "pcie read socket=0 rc=2 rp=2 bdf=0x208 home=cmem bytes=16Ki"
#define WRITE "pcie write target socket=0 rc=2 rp=1 home=peer initiator=cpu"

static int address_event(__u64 event, __u64 base, __u64 mask, bool pinned)
{
	struct perf_event_attr attr = soc_attr(PCIE_TGT, event | ADDR_EN, base, mask);

	attr.pinned = pinned;
	return soc_open(&attr, -1, soc_pmu_cpu(PCIE_TGT), -1, 0);
}

static void write_at(__u64 address, unsigned int kib)
{
	char job[160];

	snprintf(job, sizeof(job), WRITE " bytes=%uKi address=%#lx", kib, (unsigned long)address);
	soc_job(job);
}

/* the kernel without the patch ends here */
static void software_leader(void)
{
	struct perf_event_attr software = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(software),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	int leader = soc_open(&software, -1, soc_pmu_cpu(PCIE), -1, 0);
	int event = soc_event(PCIE, RD_REQ, 0, 0, leader);

	soc_job(READ_16K);
	tap(leader >= 0 && event >= 0 && soc_read(event).value == 256,
	    "software-leader: a software event leads a group of PCIE");
	close(event);
	close(leader);
}

static void slot_stolen(void)
{
	int event = address_event(WR_BYTES, 0x500000, MASK, false), cycles;
	__u64 counted;

	write_at(0x500000, 16);
	cycles = address_event(TGT_CYCLES, 0x500000, MASK, false);
	close(cycles);
	write_at(0x500000, 16);
	counted = soc_read(event).value;
	tap(cycles >= 0 && counted == 32 * KIB,
	    "slot-stolen: cycles with the address of another event: it counts %lu of %u",
	    (unsigned long)counted, 32 * KIB);
	close(event);
}

static void slot_lost(void)
{
	int cycles = address_event(TGT_CYCLES, 0, 0, false), fd[SLOTS];
	unsigned int exact = 0, i;
	struct soc_count count;

	close(cycles);
	for (i = 0; i < SLOTS; i++)
		fd[i] = address_event(WR_BYTES, (__u64)i << 20, MASK, false);
	for (i = 0; i < SLOTS; i++)
		write_at((__u64)i << 20, 16);
	for (i = 0; i < SLOTS; i++) {
		count = soc_read(fd[i]);
		exact += count.value == 16 * KIB && count.running_ns == count.enabled_ns;
		close(fd[i]);
	}
	tap(cycles >= 0 && exact == SLOTS, "slot-lost: after cycles with an address %u of %u count",
	    exact, SLOTS);
}

/* pinned events keep their slots while others come */
static void slot_twice(void)
{
	int first = address_event(WR_BYTES, 0x500000, MASK, true);
	int second = address_event(WR_BYTES, 0x600000, MASK, true), third;
	__u64 counted;

	close(first);
	third = address_event(WR_BYTES, 0x600000, MASK, false);
	close(second);
	write_at(0x600000, 16);
	counted = soc_read(third).value;
	tap(first >= 0 && second >= 0 && third >= 0 && counted == 16 * KIB,
	    "slot-twice: an address that another event had counts %lu of %u",
	    (unsigned long)counted, 16 * KIB);
	close(third);
}

/* events of @count different filters, which a PMU cannot count at once, took turns: each ran */
static bool took_turns(const int *fd, unsigned int count)
{
	__u64 running_ns = 0, enabled_ns = 0;
	struct soc_count c;

	for (unsigned int i = 0; i < count; i++) {
		if (fd[i] < 0)
			return false;
		c = soc_read(fd[i]);
		if (!c.running_ns)
			return false;
		running_ns += c.running_ns;
		enabled_ns += c.enabled_ns;
	}
	/* time passes between the reads; events that ran at once have all of it */
	return running_ns * count <= enabled_ns + enabled_ns / 4;
}

static void open_beside(void)
{
	struct perf_event_attr attr = soc_attr(PCIE, RD_REQ, BDF(0x108) | BDF_EN, 0);
	int running, leader = soc_event(PCIE, RD_REQ, BDF(0x109) | BDF_EN, 0, -1), event;
	int fd[SLOTS + 1];
	unsigned int i;
	__u64 before;
	pid_t job;

	/* it has no turns */
	attr.pinned = true;
	running = soc_open(&attr, -1, soc_pmu_cpu(PCIE), -1, 0);
	event = soc_event(PCIE, WR_BYTES, BDF(0x109) | BDF_EN, 0, leader);
	tap(running >= 0 && leader >= 0 && event >= 0,
	    "open-beside: a group with a BDF opens while another BDF is counted: %s",
	    event < 0 ? strerror(-event) : "yes");
	close(running);
	running = soc_event(PCIE, RD_REQ, BDF(0x108) | BDF_EN, 0, -1);
	/* in each turn there are requests, once the job runs */
	job = soc_job_start("-D 60s " READ_16K);
	for (i = 0; i < 20 && !soc_read(running).value; i++)
		usleep(500000);
	soc_job_stop(job);
	tap(took_turns((int[]){ running, leader }, 2), "open-beside: they take turns");
	tap(soc_read(running).value && !soc_read(leader).value,
	    "open-beside: and count their own device only: %lu and %lu requests",
	    (unsigned long)soc_read(running).value, (unsigned long)soc_read(leader).value);
	close(event);
	close(leader);
	close(running);

	for (i = 0; i <= SLOTS; i++)
		fd[i] = address_event(WR_BYTES, (__u64)i << 20, MASK, false);
	usleep(500000);
	for (before = i = 0; i <= SLOTS; i++) {
		before += fd[i] >= 0 ?
				  soc_read(fd[i]).running_ns * 100 / soc_read(fd[i]).enabled_ns :
				  0;
		close(fd[i]);
	}
	tap(before > SLOTS * 80 && before < SLOTS * 104,
	    "open-beside: %u addresses take turns in %u slots: %lu %% in use", SLOTS + 1, SLOTS,
	    (unsigned long)before);
}

/* needs vsoc.soc_impl_id=0xa16 and ampere_cspmu: the UCF PMU of socket 0 is one of Ampere's */
static void ampere_beside(void)
{
	int running = soc_event(AMPERE, 3, 1, 0, -1), leader = soc_event(AMPERE, 3, 2, 0, -1);
	int event = soc_event(AMPERE, 5, 2, 0, leader), alone = soc_event(AMPERE, 5, 3, 0, -1);
	int other = soc_event(AMPERE, 5, 3, 0, leader);

	tap(running >= 0 && leader >= 0 && event >= 0 && alone >= 0,
	    "ampere-beside: events of three thresholds open: group %s, alone %s",
	    event < 0 ? strerror(-event) : "yes", alone < 0 ? strerror(-alone) : "yes");
	usleep(500000);
	tap(took_turns((int[]){ running, leader, alone }, 3), "ampere-beside: they take turns");
	tap(other == -EINVAL, "ampere-beside: a group has one threshold: %d", other);
	close(event);
	close(leader);
	close(running);
	close(alone);
}

/*
 * Events are opened in a group on one CPU, while others of the PMU take turns on its own. Needs
 * vsoc.soc_pause_us: the driver has a freed counter without an event for longer.
 */
static void rotated_beside(void)
{
	int leader = soc_event(PCIE, CYCLES, 0, 0, -1), event, fd[COUNTERS + 1];
	unsigned int opened = 0, tries, i;
	cpu_set_t cpu;

	for (i = 0; i <= COUNTERS; i++)
		fd[i] = soc_event(PCIE, RD_REQ, 0, 0, -1);
	CPU_ZERO(&cpu);
	CPU_SET(!soc_pmu_cpu(PCIE), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	for (tries = 0; tries < 1000; tries++) {
		event = soc_event(PCIE, WR_BYTES, 0, 0, leader);
		opened += event >= 0;
		close(event);
	}
	tap(opened == tries && soc_read(fd[0]).running_ns < soc_read(fd[0]).enabled_ns,
	    "rotated-beside: beside events that take turns %u of %u are opened", opened, tries);
	for (i = 0; i <= COUNTERS; i++)
		close(fd[i]);
	close(leader);
}

/* the number of requests that @event counts of a device with BDF 0x108, and of another one */
static __u64 of_two_devices(int event)
{
	struct soc_count before, after;

	/* schedules the PMU's events again */
	close(soc_event(PCIE, WR_REQ, BDF(0x108) | BDF_EN, 0, -1));
	before = soc_read(event);
	soc_job(READ_16K);
	soc_job(READ_OTHER);
	after = soc_read(event);
	return after.running_ns > before.running_ns ? after.value - before.value : 0;
}

static void filter_kept(void)
{
	int cycles = soc_event(PCIE, CYCLES, 0, 0, -1);
	int first = soc_event(PCIE, RD_REQ, BDF(0x108) | BDF_EN, 0, cycles);
	int event = soc_event(PCIE, RD_REQ, 0, 0, cycles);
	int last = soc_event(PCIE, WR_BYTES, BDF(0x108) | BDF_EN, 0, cycles);
	__u64 counted;

	close(first);
	counted = last < 0 ? 0 : of_two_devices(event);
	tap(counted == 256, "filter-kept: the event with the group's BDF is closed: %lu of 256",
	    (unsigned long)counted);
	close(last);
	close(event);
	close(cycles);

	first = soc_event(PCIE, RD_REQ, BDF(0x108) | BDF_EN, 0, -1);
	event = soc_event(PCIE, RD_REQ, 0, 0, first);
	close(first);
	counted = of_two_devices(event);
	tap(counted == 256, "filter-kept: the leader with it is closed: %lu of 256",
	    (unsigned long)counted);
	close(event);
}

static void cycles_first(void)
{
	int cycles = soc_event(PCIE, CYCLES, 0, 0, -1);
	int event = soc_event(PCIE, RD_REQ, BDF(0x108) | BDF_EN, 0, cycles);

	soc_job(READ_16K);
	tap(cycles >= 0 && event >= 0 && soc_read(cycles).value && soc_read(event).value == 256,
	    "cycles-first: cycles lead a group with a BDF: %s",
	    event < 0 ? strerror(-event) : "opened");
	close(event);
	close(cycles);
}

/* lines of the kernel's log with @text since the descriptor's position */
static unsigned int logged(int fd, const char *text)
{
	unsigned int lines = 0;
	char record[2048];
	ssize_t got;

	for (;;) {
		got = read(fd, record, sizeof(record) - 1);
		/* overwritten before it was read */
		if (got < 0 && errno == EPIPE)
			continue;
		if (got <= 0)
			return lines;
		record[got] = '\0';
		lines += !!strstr(record, text);
	}
}

static void log_flood(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK), ports, device;
	unsigned int lines;
	bool turns;

	lseek(log, 0, SEEK_END);
	ports = soc_event(PCIE, RD_REQ, 0x3, 0, -1);
	device = soc_event(PCIE, RD_REQ, BDF(0x108) | BDF_EN, 0, -1);
	usleep(500000);
	turns = took_turns((int[]){ ports, device }, 2);
	close(ports);
	close(device);
	lines = logged(log, "BDF");
	tap(log >= 0 && turns && !lines,
	    "log-flood: a BDF %s root ports: %u lines of log in half a second",
	    turns ? "takes turns with" : "takes no turns with", lines);
	close(log);
}

static void refused(int event, const char *name, const char *what)
{
	tap(event == -EINVAL, "%s: %s: %s", name, what, event < 0 ? strerror(-event) : "opened");
	close(event);
}

static void solo_filters(void)
{
	refused(soc_event(PCIE, RD_REQ, 0xff | BDF(0x108) | BDF_EN, 0, -1), "solo-filters",
		"filters that exclude each other");
}

static void no_filter(void)
{
	refused(soc_event(PCIE, RD_REQ, BDF(0x108), 0, -1), "no-filter",
		"a BDF without its enable bit, and no root port");
}

/* vsoc.soc_gpu_mask=2 */
static void second_gpu(void)
{
	int all = soc_event(C2C, RD_REQ, 0, 0, -1), second = soc_event(C2C, RD_REQ, 2, 0, -1);
	__u64 truth = soc_truth(C2C, "in_rd_req", "");

	soc_job("copy bytes=64Ki read initiator=gpu home=cmem socket=0");
	truth = soc_truth(C2C, "in_rd_req", "") - truth;
	tap(truth && soc_read(all).value == truth && soc_read(second).value == truth,
	    "second-gpu: the only GPU is the second one: %lu of %lu",
	    (unsigned long)soc_read(all).value, (unsigned long)truth);
	close(all);
	close(second);
}

/* the same */
static void absent_gpu(void)
{
	refused(soc_event(C2C, RD_REQ, 1, 0, -1), "absent-gpu", "only an absent GPU");
}

static void hidden_events(void)
{
	int write = soc_event(CLINK, 3, 0, 0, -1);

	tap(write == -ENOENT, "hidden-events: writes to another SoC are no event: %s",
	    write < 0 ? strerror(-write) : "opened");
	close(write);
}

static int users(const char *module)
{
	char path[96];
	int number = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);
	file = fopen(path, "r");
	if (file && fscanf(file, "%d", &number) != 1)
		number = -1;
	if (file)
		fclose(file);
	return number;
}

static void module_kept(const char *name, const char *pmu, const char *module)
{
	int before = users(module), fd = soc_event(pmu, RD_REQ, 0, 0, -1);

	tap(fd >= 0 && before >= 0 && users(module) == before + 1,
	    "%s: an open event keeps its module: %d users, then %d", name, before, users(module));
	/* if it goes, Linux 6.12 ends at close() */
	tap(syscall(SYS_delete_module, module, O_NONBLOCK) && errno == EAGAIN,
	    "%s: it cannot be removed", name);
	close(fd);
}

static void c2c_module(void)
{
	module_kept("c2c-module", C2C, "nvidia_t410_c2c_pmu");
}

static void cmem_module(void)
{
	module_kept("cmem-module", CMEM, "nvidia_t410_cmem_latency_pmu");
}

static const struct {
	const char *name;
	void (*test)(void);
} tests[] = {
	{ "software-leader", software_leader },
	{ "slot-stolen", slot_stolen },
	{ "slot-twice", slot_twice },
	{ "open-beside", open_beside },
	{ "ampere-beside", ampere_beside },
	{ "rotated-beside", rotated_beside },
	{ "filter-kept", filter_kept },
	{ "cycles-first", cycles_first },
	{ "log-flood", log_flood },
	{ "solo-filters", solo_filters },
	{ "no-filter", no_filter },
	{ "second-gpu", second_gpu },
	{ "absent-gpu", absent_gpu },
	{ "hidden-events", hidden_events },
	{ "c2c-module", c2c_module },
	{ "cmem-module", cmem_module },
	{ "slot-lost", slot_lost },
};

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t n = 0;

		while (n < ARRAY_SIZE(tests) && strcmp(tests[n].name, argv[i]))
			n++;
		if (n == ARRAY_SIZE(tests)) {
			fprintf(stderr, "bugs: no test %s\n", argv[i]);
			return 2;
		}
		tests[n].test();
	}
	return tap_done();
}
