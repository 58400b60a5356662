// SPDX-License-Identifier: MIT
/*
 * Errors of perf_event_open() for each kind of PMU, and conflicts of filters, addresses and
 * counters. Needs the virtual SoC with 8 programmable counters and both sockets' CPUs.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "soc.h"

#define CYCLES (UINT64_C(1) << 32)
#define BDF(bdf) ((__u64)(bdf) << 8)
#define BDF_EN (UINT64_C(1) << 24)
#define ADDR_EN (UINT64_C(1) << 11)
#define MAX_EVENTS 64

#define UCF "nvidia_ucf_pmu_0"
#define PCIE "nvidia_pcie_pmu_0_rc_2"
#define PCIE_TGT "nvidia_pcie_tgt_pmu_0_rc_2"
#define CMEM "nvidia_cmem_latency_pmu_0"
#define C2C "nvidia_nvlink_c2c_pmu_0"
#define CLINK "nvidia_nvclink_pmu_0"
#define DLINK "nvidia_nvdlink_pmu_0"
#define TGT_WRITE	"pcie write target socket=0 rc=2 rp=1 home=peer initiator=cpu"
#define SOCKET_1 "nvidia_ucf_pmu_1"

/* open events of a test */
static int fds[MAX_EVENTS];
static unsigned int fd_count;

static int keep(int fd)
{
	if (fd >= 0)
		fds[fd_count++] = fd;
	return fd;
}

static void close_all(void)
{
	while (fd_count)
		close(fds[--fd_count]);
}

static void expect(int got, int wanted, const char *pmu, const char *what)
{
	tap(wanted ? got == -wanted : got >= 0, "%s: %s: %s%s%s", pmu, what,
	    wanted ? strerror(wanted) : "accepted", got < 0 ? ", got " : "",
	    got < 0 ? strerror(-got) : "");
	if (got >= 0)
		close(got);
}

static const struct kind {
	const char *pmu;
	int unknown_errno; /* of event 15 */
	int task_errno;
} kinds[] = {
	{ UCF, 0, EINVAL },	      { PCIE, 0, EINVAL },     { PCIE_TGT, 0, EINVAL },
	{ CMEM, ENOENT, EOPNOTSUPP }, { C2C, ENOENT, EINVAL }, { CLINK, ENOENT, EINVAL },
	{ DLINK, ENOENT, EINVAL },
	{ NULL, 0, 0 },
};

static int cgroup_fd(void)
{
	/* a cgroup v1 perf_event hierarchy or v2, as the kernel supports */
	mkdir("/tmp/cgroup", 0755);
	mount("none", "/tmp/cgroup", "cgroup2", 0, NULL);
	return open("/tmp/cgroup", O_RDONLY | O_DIRECTORY);
}

/* the PMU's CPU is one of its associated CPUs */
static void associated(const char *pmu)
{
	char path[128], text[256] = "";
	int cpu = soc_pmu_cpu(pmu), first, last, length;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/associated_cpus", pmu);
	file = fopen(path, "re");
	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	for (const char *at = text; sscanf(at, "%d%n", &first, &length) == 1;) {
		last = first;
		at += length;
		if (sscanf(at, "-%d%n", &last, &length) == 1)
			at += length;
		found |= cpu >= first && cpu <= last;
		at += *at == ',';
	}
	tap(found, "%s: CPU %d is one of %s", pmu, cpu, strtok(text, "\n") ?: "none");
}

static void table(const struct kind *kind)
{
	const char *pmu = kind->pmu;
	int cpu = soc_pmu_cpu(pmu), other = soc_pmu_cpu(SOCKET_1), cgroup, leader;
	struct perf_event_attr attr;

	associated(pmu);
	attr = soc_attr(pmu, 1, 0, 0);
	expect(soc_open(&attr, -1, cpu, -1, 0), 0, pmu, "a plain event");

	attr.type = 0x7fffffff;
	expect(soc_open(&attr, -1, cpu, -1, 0), ENOENT, pmu, "a type that does not exist");

	attr = soc_attr(pmu, 15, 0, 0);
	expect(soc_open(&attr, -1, cpu, -1, 0), kind->unknown_errno, pmu, "unknown event");

	attr = soc_attr(pmu, 1, 0, 0);
	attr.sample_period = 1000;
	expect(soc_open(&attr, -1, cpu, -1, 0), EOPNOTSUPP, pmu, "sampling");

	attr = soc_attr(pmu, 1, 0, 0);
	expect(soc_open(&attr, 0, -1, -1, 0), kind->task_errno, pmu, "per task on any CPU");
	expect(soc_open(&attr, 0, cpu, -1, 0), kind->task_errno, pmu, "per task on a CPU");
	expect(soc_open(&attr, -1, -1, -1, 0), EINVAL, pmu, "neither task nor CPU");
	expect(soc_open(&attr, -1, other, -1, 0), EINVAL, pmu, "a CPU of the other socket");

	leader = soc_event(strcmp(pmu, UCF) ? UCF : PCIE, 1, 0, 0, -1);
	expect(soc_open(&attr, -1, cpu, leader, 0), EINVAL, pmu, "leader of another PMU");
	close(leader);

	attr.exclude_kernel = 1;
	expect(soc_open(&attr, -1, cpu, -1, 0), EINVAL, pmu, "exclude_kernel");

	attr = soc_attr(pmu, 1, 0, 0);
	cgroup = cgroup_fd();
	if (cgroup >= 0) {
		expect(soc_open(&attr, cgroup, cpu, -1, PERF_FLAG_PID_CGROUP), EINVAL, pmu,
		       "cgroup");
		close(cgroup);
	}
}

static void reserved_bits(void)
{
	expect(soc_event(UCF, 0x113, UINT64_C(1) << 40 | 0xf8, 0, -1), 0, UCF,
	       "bits without a meaning");
	expect(soc_event(CMEM, 5, 0, 0, -1), 0, CMEM, "event modulo 4");
	expect(soc_event(CMEM, 3, 0, 0, -1), ENOENT, CMEM, "event 3");
	expect(soc_event(C2C, 8, 0, 0, -1), 0, C2C, "last event");
	expect(soc_event(C2C, 9, 0, 0, -1), ENOENT, C2C, "event after the last");
	/* hidden, but taken by their numbers */
	expect(soc_event(CLINK, 3, 0, 0, -1), 0, CLINK, "a write event");
	expect(soc_event(DLINK, 5, 0, 0, -1), 0, DLINK, "an outgoing event");
}

static void groups(void)
{
	struct perf_event_attr software = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(software),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	int leader, i;

	leader = keep(soc_open(&software, -1, soc_pmu_cpu(UCF), -1, 0));
	expect(soc_event(UCF, 0x113, 0, 0, leader), 0, UCF, "software leader");
	keep(soc_event(UCF, 0x113, 0, 0, leader));
	keep(soc_open(&software, -1, soc_pmu_cpu(UCF), leader, 0));
	expect(soc_event(UCF, 0x113, 0, 0, leader), 0, UCF, "software beside it");
	expect(soc_event(PCIE, 0, 0, 0, leader), EINVAL, PCIE, "member of another PMU");
	close_all();

	leader = keep(soc_event(UCF, CYCLES, 0, 0, -1));
	expect(soc_event(UCF, CYCLES, 0, 0, leader), EINVAL, UCF, "cycles of a leader of cycles");
	close_all();

	leader = keep(soc_event(UCF, 0x113, 0, 0, -1));
	for (i = 1; i < 8; i++)
		keep(soc_event(UCF, 0x113, 0, 0, leader));
	tap(fd_count == 8, "%s: as many members as counters: %u", UCF, fd_count);
	expect(soc_event(UCF, 0x113, 0, 0, leader), EINVAL, UCF, "one member more");
	expect(soc_event(UCF, CYCLES, 0, 0, leader), 0, UCF, "cycles have a counter of their own");
	keep(soc_event(UCF, CYCLES, 0, 0, leader));
	expect(soc_event(UCF, CYCLES, 0, 0, leader), EINVAL, UCF, "two cycles in a group");
	close_all();
	expect(soc_event(UCF, 0x113, 0, 0, -1), 0, UCF, "after all that, a plain event");

	leader = keep(soc_event(CMEM, 1, 0, 0, -1));
	for (i = 1; i < 32; i++)
		keep(soc_event(CMEM, 1, 0, 0, leader));
	tap(fd_count == 32, "%s: 32 events in a group: %u", CMEM, fd_count);
	expect(soc_event(CMEM, 1, 0, 0, leader), EINVAL, CMEM, "a 33rd");
	close_all();
}

/* filters of events without a group are looked at when they are scheduled, and not by open */
static void pcie_filters(void)
{
	int leader;

	expect(soc_event(PCIE, 0, 0xff | BDF(0x108) | BDF_EN, 0, -1), 0, PCIE,
	       "RP and BDF of a solo event, at open");
	expect(soc_event(PCIE, 0, BDF(0x108), 0, -1), 0, PCIE, "BDF without enable");
	expect(soc_event(PCIE, CYCLES, 0xff | BDF(0x108) | BDF_EN, 0, -1), 0, PCIE,
	       "cycles are exempt");

	leader = keep(soc_event(PCIE, 0, BDF(0x108) | BDF_EN, 0, -1));
	expect(soc_event(PCIE, 1, BDF(0x109) | BDF_EN, 0, leader), EINVAL, PCIE,
	       "sibling with another BDF");
	expect(soc_event(PCIE, 1, 0x3, 0, leader), EINVAL, PCIE, "sibling with root ports");
	expect(soc_event(PCIE, 1, BDF(0x108) | BDF_EN, 0, leader), 0, PCIE, "sibling, same BDF");
	expect(soc_event(PCIE, 1, 0, 0, leader), 0, PCIE, "sibling without filter");
	expect(soc_event(PCIE, 1, BDF(0x109) | BDF_EN, 0, -1), 0, PCIE,
	       "a second BDF on the PMU, at open");
	expect(soc_event(PCIE, 1, BDF(0x108) | BDF_EN, 0, -1), 0, PCIE, "the same BDF again");
	expect(soc_event(PCIE, 1, 0x3, 0, -1), 0, PCIE, "root ports beside a BDF, in turns");
	close_all();
	expect(soc_event(PCIE, 1, BDF(0x109) | BDF_EN, 0, -1), 0, PCIE,
	       "another BDF when the first is closed");
	leader = keep(soc_event(PCIE, 0, 0x3, 0, -1));
	expect(soc_event(PCIE, 1, BDF(0x108) | BDF_EN, 0, leader), EINVAL, PCIE,
	       "leader without, sibling with BDF");
	close_all();
}

static int address_event(__u64 base)
{
	return soc_event(PCIE_TGT, 1 | ADDR_EN, base, UINT64_C(0xfffffffffff00000), -1);
}

/* bytes that an address event counts of 64 KiB written at @address */
static __u64 written_at(__u64 base, __u64 address)
{
	char job[160];
	__u64 value;
	int fd = address_event(base);

	if (fd < 0)
		return UINT64_MAX;
	snprintf(job, sizeof(job), "%s bytes=64Ki address=%#lx", TGT_WRITE, (unsigned long)address);
	soc_job(job);
	value = soc_read(fd).value;
	close(fd);
	return value;
}

/* of eight events for addresses from @first MiB on, how many count exactly what is written there */
static unsigned int exact_addresses(unsigned int first)
{
	unsigned int exact = 0, base = fd_count, i;
	char job[1024] = "";
	size_t length = 0;

	for (i = 0; i < 8; i++) {
		keep(address_event((__u64)(first + i) << 20));
		length += snprintf(job + length, sizeof(job) - length, "%s bytes=%uKi address=%#x ",
				   TGT_WRITE, 4 * (i + 1), (first + i) << 20);
	}
	soc_job(job);
	for (i = base; i < fd_count; i++)
		exact += soc_read(fds[i]).value == 4096 * (i - base + 1);
	return exact;
}

static void address_slots(void)
{
	struct soc_count ninth;
	__u64 i;

	tap(exact_addresses(0) == 8, "%s: eight target addresses", PCIE_TGT);
	keep(address_event(UINT64_C(8) << 20));
	soc_job(TGT_WRITE " bytes=64Ki address=0x800000");
	ninth = soc_read(fds[8]);
	tap(fd_count == 9 && ninth.running_ns < ninth.enabled_ns,
	    "%s: a ninth opens, and takes turns with them", PCIE_TGT);
	close(fds[--fd_count]);
	expect(address_event(UINT64_C(3) << 20), 0, PCIE_TGT, "one that exists is shared");
	expect(soc_event(PCIE_TGT, 1, 0, 0, -1), 0, PCIE_TGT, "without an address");
	close_all();

	/* all slots are free and working after closing in any order, also base 0 */
	for (i = 0; i < 8; i++)
		keep(address_event(i << 20));
	for (i = 0; i < 8; i += 2)
		close(fds[i]);
	for (i = 0; i < 8; i += 2)
		fds[i] = address_event((i + 16) << 20);
	close_all();
	tap(exact_addresses(32) == 8, "%s: eight other addresses afterwards", PCIE_TGT);
	close_all();

	tap(written_at(0x500000, 0x500000) == 65536, "%s: the requested address counts", PCIE_TGT);
	tap(written_at(0x500000, 0x600000) == 0, "%s: another address does not count", PCIE_TGT);
	tap(written_at(0, 0x10000) == 65536, "%s: base 0 is an address", PCIE_TGT);
}

/* the slot of an address stays programmed until its last user leaves */
static void shared_slot(void)
{
	int first = address_event(0x700000), second = address_event(0x700000);
	__u64 both, rest;

	soc_job(TGT_WRITE " bytes=64Ki address=0x700000");
	both = soc_read(first).value;
	close(first);
	soc_job(TGT_WRITE " bytes=4Ki address=0x700000");
	rest = soc_read(second).value;
	close(second);
	tap(both == 65536 && rest == 65536 + 4096, "%s: shared address: %lu, then %lu", PCIE_TGT,
	    (unsigned long)both, (unsigned long)rest);
}

static void gpu_masks(void)
{
	int cpu = soc_pmu_cpu(C2C), fd;
	struct perf_event_attr attr = soc_attr(C2C, 2, 1, 0);

	expect(soc_event(C2C, 2, 3, 0, -1), 0, C2C, "both GPUs");
	/* one counter, many events with different masks */
	fd = keep(soc_open(&attr, -1, cpu, -1, 0));
	attr.config1 = 2;
	expect(soc_open(&attr, -1, cpu, fd, 0), 0, C2C, "two masks in a group");
	close_all();
}

int main(void)
{
	const struct kind *kind;

	for (kind = kinds; kind->pmu; kind++)
		table(kind);
	reserved_bits();
	groups();
	pcie_filters();
	address_slots();
	shared_slot();
	gpu_masks();
	return tap_done();
}
