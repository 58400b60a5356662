// SPDX-License-Identifier: MIT
/* Event names: valid ones become the right requests, invalid ones the right error. */
#include <string.h>

#include "counters/selection.h"
#include "fixture.h"

#define PMUS "/sys/bus/event_source/devices/"

static void add_ucf(struct fake *f, bool second)
{
	fake_file(f, PMUS "nvidia_ucf_pmu_0/type", "20\n");
	fake_file(f, PMUS "nvidia_ucf_pmu_0/format/event", "config:0-32\n");
	fake_file(f, PMUS "nvidia_ucf_pmu_0/format/src_loc_cpu", "config1:1\n");
	fake_file(f, PMUS "nvidia_ucf_pmu_0/format/dst_loc_cmem", "config1:8\n");
	fake_file(f, PMUS "nvidia_ucf_pmu_0/events/cycles", "event=0x100000000\n");
	fake_file(f, PMUS "nvidia_ucf_pmu_0/events/mem_bytes_rd", "event=0x123\n");
	fake_file(f, PMUS "nvidia_ucf_pmu_0/events/mem_bytes_wr", "event=0x124\n");
	if (!second)
		return;
	fake_file(f, PMUS "nvidia_ucf_pmu_1/type", "21\n");
	fake_file(f, PMUS "nvidia_ucf_pmu_1/format/event", "config:0-32\n");
	fake_file(f, PMUS "nvidia_ucf_pmu_1/events/mem_bytes_rd", "event=0x123\n");
	fake_file(f, PMUS "nvidia_ucf_pmu_1/events/cycles", "event=0x100000000\n");
}

static void add_others(struct fake *f)
{
	fake_file(f, PMUS "nvidia_pcie_tgt_pmu_1_rc_3/type", "30\n");
	fake_file(f, PMUS "nvidia_pcie_tgt_pmu_1_rc_3/format/event", "config:0-2\n");
	fake_file(f, PMUS "nvidia_pcie_tgt_pmu_1_rc_3/format/dst_rp_mask", "config:3-10\n");
	fake_file(f, PMUS "nvidia_pcie_tgt_pmu_1_rc_3/format/dst_addr_base", "config1:0-63\n");
	fake_file(f, PMUS "nvidia_pcie_tgt_pmu_1_rc_3/events/rd_bytes", "event=0x0\n");
	fake_file(f, PMUS "nvidia_pcie_tgt_pmu_1_rc_3/events/cycles", "event=0x4\n");
	fake_file(f, PMUS "uncore_imc_0/type", "40\n");
	fake_file(f, PMUS "uncore_imc_0/format/event", "config:0-7\n");
	fake_file(f, PMUS "uncore_imc_0/format/umask", "config:8-15\n");
	fake_file(f, PMUS "uncore_imc_0/format/split", "config:16-17,32-33\n");
	fake_file(f, PMUS "uncore_imc_0/format/strange", "what:3\n");
	fake_file(f, PMUS "uncore_imc_0/format/later", "config3:0-7\n");
	fake_file(f, PMUS "uncore_imc_0/events/read", "event=0x04,umask=0x03\n");
	fake_file(f, PMUS "uncore_imc_0/events/read.unit", "MiB\n");
	fake_file(f, PMUS "uncore_imc_0/events/read.scale", "6.103515625e-5\n");
	fake_file(f, PMUS "uncore_imc_1/type", "41\n");
	fake_file(f, PMUS "uncore_imc_1/format/event", "config:0-7\n");
	fake_file(f, PMUS "uncore_imc_1/format/umask", "config:8-15\n");
	fake_file(f, PMUS "uncore_imc_1/events/read", "event=0x04,umask=0x03\n");
	fake_file(f, PMUS "tracepoint/type", "2\n");
	fake_file(f, "/sys/kernel/tracing/events/sched/sched_switch/id", "316\n");
}

static void begin(void)
{
	fake = fake_new();
	add_ucf(fake, true);
	add_others(fake);
	perfctr_ctx_new_with(&fake->sys, &ctx);
	open_device(NULL);
}

static void restart(void)
{
	end();
	begin();
}

static const struct drm_perfctr_block_request *request(size_t n)
{
	static const struct drm_perfctr_block_request none;
	const struct drm_perfctr_block_request *r = perfctr_selection_request(selection, n);

	return r ? r : &none;
}

TEST_WITH(begin, end, "blocks and counters by name")
{
	EQUAL(perfctr_selection_add(selection, "memsys1/L2_READ"), 1);
	EQUAL(perfctr_selection_request_count(selection), 1);
	EQUAL(request(0)->type, DRM_PERFCTR_MALI_BLOCK_MEMSYS);
	EQUAL(request(0)->index, 1);
	EQUAL(request(0)->mask, 1 << 5);
	EQUAL(perfctr_selection_add(selection, "memsys1/L2_READ_HIT"), 1);
	EQUAL(perfctr_selection_request_count(selection), 1);
	EQUAL(request(0)->mask, 3 << 5);
	CHECK(!perfctr_selection_request(selection, 1));
	restart();
	EQUAL(perfctr_selection_add(selection, "shader/FRAGMENTS"), 4);
	EQUAL(request(3)->index, 18);
	restart();
	EQUAL(perfctr_selection_add(selection, "shader16/"), 26);
	EQUAL(request(0)->mask, 0x3ffffff0);
	restart();
	EQUAL(perfctr_selection_add(selection, "SHADER1[68]/frag*"), 8);
	restart();
	EQUAL(perfctr_selection_add(selection, "shader*"), 4 * 26);
	restart();
	/* counter names, not all counters of the block tiler0 */
	EQUAL(perfctr_selection_add(selection, "tile*"), 4 + 4 * 3);
	EQUAL(perfctr_selection_add(selection, "tiler*"), 15);
	restart();
	EQUAL(perfctr_selection_add(selection, "GPU_ACTIVE,JOBS"), 2);
	EQUAL(request(0)->type, DRM_PERFCTR_MALI_BLOCK_CSHW);
}

TEST_WITH(begin, end, "an event of a text ends where the device says")
{
	/* of a block of the GPU there are no terms, of a PMU there are */
	EQUAL(perfctr_event_length(device, "shader/READ,GPU_ACTIVE"), strlen("shader/READ"));
	EQUAL(perfctr_event_length(device, "pmu/event=1,cpu=2/,b"), strlen("pmu/event=1,cpu=2/"));
	EQUAL(perfctr_event_length(device, "metric:a,pmu/b/"), strlen("metric:a"));
	EQUAL(perfctr_event_length(device, "cycles:u"), strlen("cycles:u"));
}

TEST_WITH(begin, end, "positions work without a name")
{
	EQUAL(perfctr_selection_add(selection, "shader0/C9"), 1);
	EQUAL(request(0)->mask, 1 << 9);
	EQUAL(perfctr_selection_add(selection, "shader0/9"), 1);
	EQUAL(perfctr_selection_request_count(selection), 1);
	EQUAL(perfctr_selection_add(selection, "shader0/C2"), -ENOENT);
	EQUAL(perfctr_selection_add(selection, "shader0/C99999999999"), -ENOENT);
	fake->blocks[0].product = 0x7777;
	EQUAL(perfctr_device_refresh(device), 0);
	EQUAL(perfctr_selection_add(selection, "fw"), 14);
}

TEST_WITH(begin, end, "events of CPU cores by perf's names, in each PMU of cores")
{
	fake_file(fake, PMUS "cpu_atom/type", "10\n");
	fake_file(fake, PMUS "cpu_atom/format/event", "config:0-7\n");
	fake_file(fake, PMUS "cpu_atom/cpus", "0\n");
	fake_file(fake, PMUS "cpu_atom/events/branch-instructions", "event=0xc4\n");
	fake_file(fake, PMUS "armv8_cortex_a53/type", "11\n");
	fake_file(fake, PMUS "armv8_cortex_a53/format/event", "config:0-15\n");
	fake_file(fake, PMUS "armv8_cortex_a53/events/br_retired", "event=0x21\n");
	fake_file(fake, PMUS "armv8_cortex_a53/events/inst_retired", "event=0x8\n");
	EQUAL(perfctr_selection_add(selection, "branches"), 2);
	CHECK(request(0)->config != request(1)->config);
	EQUAL(request(0)->config + request(1)->config, 0xc4 + 0x21);
	EQUAL(perfctr_selection_add(selection, "instructions"), 1);
	EQUAL(request(2)->pmu_type, 11);
	EQUAL(request(2)->config, 0x8);
	EQUAL(perfctr_selection_add(selection, "cache-misses"), -ENOENT);
}

TEST_WITH(begin, end, "counters past the first section")
{
	fake->blocks[5].counters = 128;
	fake->blocks[5].available[1] = 0x5;
	EQUAL(perfctr_device_refresh(device), 0);
	EQUAL(perfctr_selection_add(selection, "shader0/C66"), 1);
	EQUAL(request(0)->section, 1);
	EQUAL(request(0)->mask, 0x4);
}

TEST_WITH(begin, end, "events of SoC blocks")
{
	EQUAL(perfctr_selection_add(selection, "ucf0/mem_bytes_rd,src_loc_cpu=1,dst_loc_cmem/"), 1);
	EQUAL(request(0)->type, DRM_PERFCTR_TEGRA410_BLOCK_UCF);
	EQUAL(request(0)->index, 0);
	EQUAL(request(0)->pmu_type, 20);
	EQUAL(request(0)->cpu, -1);
	EQUAL(request(0)->mask, 1 << DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD);
	EQUAL(request(0)->config, 0);
	EQUAL(request(0)->config1, 0x102);
	/* same filter: same block; different filter: a separate block */
	EQUAL(perfctr_selection_add(selection, "ucf0/mem_bytes_wr,src_loc_cpu=1,dst_loc_cmem/"), 1);
	EQUAL(perfctr_selection_request_count(selection), 1);
	EQUAL(perfctr_selection_add(selection, "nvidia_ucf_pmu_0/mem_bytes_rd/"), 1);
	EQUAL(perfctr_selection_request_count(selection), 2);
	EQUAL(request(1)->type, DRM_PERFCTR_TEGRA410_BLOCK_UCF);
	EQUAL(request(1)->index, 0);
	EQUAL(request(1)->config1, 0);
	EQUAL(request(1)->mask, 1 << DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD);
	restart();
	EQUAL(perfctr_selection_add(selection, "ucf*/mem_bytes_*/,nvidia_ucf_pmu/cycles/"), 5);
	EQUAL(perfctr_selection_request_count(selection), 2);
	EQUAL(request(1)->index, 1);
	EQUAL(request(0)->mask, 0x18001);
	restart();
	EQUAL(perfctr_selection_add(selection, "mem_bytes_rd"), 2);
	restart();
	EQUAL(perfctr_selection_add(
		      selection, "pcie_tgt1_rc3/rd_bytes,dst_rp_mask=0x3,dst_addr_base=0x10000/"),
	      1);
	EQUAL(request(0)->index, 0x103);
	EQUAL(request(0)->mask, 1);
	EQUAL(request(0)->config, 0x18);
	EQUAL(request(0)->config1, 0x10000);
	restart();
	/* an event that the catalogue does not have */
	EQUAL(perfctr_selection_add(selection, "ucf0/event=0xf1/"), 1);
	EQUAL(request(0)->type, DRM_PERFCTR_BLOCK_GENERIC_PMU);
	EQUAL(request(0)->config, 0xf1);
}

/* perf keeps a PMU whose driver is unbound, without a CPU that counts for it */
TEST_WITH(begin, end, "PMUs without a CPU are gone")
{
	fake_file(fake, PMUS "nvidia_ucf_pmu_0/cpumask", "\n");
	fake_file(fake, PMUS "nvidia_ucf_pmu_1/cpumask", "0\n");
	EQUAL(perfctr_selection_add(selection, "ucf/mem_bytes_rd/"), 1);
	EQUAL(request(0)->index, 1);
	EQUAL(perfctr_selection_add(selection, "ucf0/mem_bytes_rd/"), -ENOENT);
}

static int count_names(void *data, const struct perfctr_pmu_event *event)
{
	*(unsigned int *)data += !strncmp(event->pmu, "nvidia_ucf", 10) ||
				 !strncmp(event->pmu, "xe_", 3);
	return 0;
}

static unsigned int offered(void)
{
	unsigned int found = 0;

	EQUAL(perfctr_device_pmu_events(device, count_names, &found), 0);
	return found;
}

TEST_WITH(begin, end, "PMUs that were found a moment ago are looked for no more")
{
	unsigned int before;

	fake_file(fake, "/proc/self", "");
	before = fake->listed_pmus;
	CHECK(offered() > 0);
	EQUAL(perfctr_selection_add(selection, "ucf0/mem_bytes_rd/"), 1);
	EQUAL(fake->listed_pmus, before + 1);
}

TEST_WITH(begin, end, "PMUs of another GPU are selected by their names only")
{
	fake_file(fake, PMUS "xe_0000_03_00.0/type", "50\n");
	fake_file(fake, PMUS "xe_0000_03_00.0/format/event", "config:0-7\n");
	fake_file(fake, PMUS "xe_0000_03_00.0/events/engine-active", "event=2\n");
	fake_file(fake, "/proc/self", "");
	/* without links nobody owns a PMU */
	EQUAL(offered(), 6);
	fake_file(fake, "/sys/class/drm/card0", "link:../../devices/platform/vsoc.0/drm/card0");
	fake_file(fake, "/sys/class/drm/renderD128",
		  "link:../../devices/platform/vsoc.0/drm/renderD128");
	fake_file(fake, "/sys/class/drm/card1", "link:../../devices/platform/vsoc.1/drm/card1");
	fake_file(fake, "/sys/class/drm/card2",
		  "link:../../devices/pci0000:00/0000:03:00.0/drm/card2");
	EQUAL(offered(), 5);
	EQUAL(perfctr_selection_add(selection, "metric:ucf.*") > 0, 1);
	fake_file(fake, PMUS "nvidia_ucf_pmu_0/device", "link:../platform/vsoc.0/tegra410-pmu.1");
	/* a part of a name is no parent */
	fake_file(fake, PMUS "nvidia_ucf_pmu_1",
		  "link:../../../devices/platform/vsoc.10/nvidia_ucf_pmu_1");
	EQUAL(offered(), 5);
	fake_file(fake, PMUS "nvidia_ucf_pmu_0/device", "link:../platform/vsoc.1/tegra410-pmu.1");
	EQUAL(offered(), 2);
	fake_file(fake, PMUS "nvidia_ucf_pmu_1",
		  "link:../../../devices/platform/vsoc.1/nvidia_ucf_pmu_1");
	EQUAL(offered(), 0);
	selection = perfctr_selection_unref(selection);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	EQUAL(perfctr_selection_add(selection, "metric:ucf.*"), -ENOENT);
	EQUAL(perfctr_selection_add(selection, "u*/mem_bytes_rd"), -ENOENT);
	EQUAL(perfctr_selection_add(selection, "mem_bytes_rd"), -ENOENT);
	EQUAL(perfctr_selection_add(selection, "ucf/mem_bytes_rd/"), 2);
	EQUAL(perfctr_selection_add(selection, "xe_0000_03_00.0/engine-active/"), 1);
}

TEST_WITH(begin, end, "a copy can be tried")
{
	struct perfctr_selection *copy = NULL;

	EQUAL(perfctr_selection_add(selection, "memsys1/L2_READ"), 1);
	EQUAL(perfctr_selection_copy(selection, &copy), 0);
	EQUAL(perfctr_selection_add(copy, "ucf1/cycles/"), 1);
	EQUAL(perfctr_selection_request_count(copy), 2);
	EQUAL(perfctr_selection_request_count(selection), 1);
	perfctr_selection_unref(copy);
}

TEST_WITH(begin, end, "perf style events")
{
	char unit[16];
	struct perfctr_block block;
	struct perfctr_sample sample;
	double scale = 0;

	EQUAL(perfctr_selection_add(selection, "software/cpu-clock/"), 1);
	EQUAL(request(0)->type, DRM_PERFCTR_BLOCK_GENERIC_PMU);
	EQUAL(request(0)->pmu_type, 1);
	EQUAL(request(0)->config, 0);
	EQUAL(request(0)->index, 0);
	EQUAL(perfctr_selection_add(selection, "context-switches"), 1);
	EQUAL(request(1)->config, 3);
	EQUAL(request(1)->index, 1);
	/* the same event again is the same counter */
	EQUAL(perfctr_selection_add(selection, "software/config=3/"), 1);
	EQUAL(perfctr_selection_request_count(selection), 2);
	EQUAL(perfctr_selection_add(selection, "software/config=3,cpu=2/"), 1);
	EQUAL(request(2)->cpu, 2);
	EQUAL(perfctr_selection_add(selection, "tracepoint/sched:sched_switch/"), 1);
	EQUAL(request(3)->config, 316);
	EQUAL(request(3)->pmu_type, 2);
	restart();
	EQUAL(perfctr_selection_add(selection, "uncore_imc/read/"), 2);
	EQUAL(request(0)->config, 0x304);
	EQUAL(request(1)->pmu_type, 41);
	fake->setup.request_count = 1;
	fake->requests[0] = *request(0);
	sample_begin(&fake->writer);
	sample_add_pmu(&fake->writer, DRM_PERFCTR_BLOCK_GENERIC_PMU, 0, 1, &fake->step, NULL, 1);
	perfctr_decode_sample(fake->writer.bytes, fake->writer.size, &sample);
	perfctr_decode_block(&sample, &block);
	perfctr_counter_unit(selection, &block, 0, unit, sizeof(unit), &scale);
	EQUAL_TEXT(unit, "MiB");
	CHECK(scale == 6.103515625e-5);
	restart();
	EQUAL(perfctr_selection_add(selection, "uncore_imc_0/split=0xf,event=7,config2=0x55/"), 1);
	EQUAL(request(0)->config, 0x300030007);
	EQUAL(request(0)->config2, 0x55);
	restart();
	EQUAL(perfctr_selection_add(selection,
				    "{uncore_imc_0/read/,uncore_imc_0/event=1,umask=2/},JOBS"),
	      3);
	EQUAL(request(1)->config, 0x201);
}

static const char *name_of(size_t n)
{
	return n < selection->request_count ? selection->labels[n].text : "";
}

TEST_WITH(begin, end, "two names of an event are two counters with these names")
{
	EQUAL(perfctr_selection_add(selection, "cs"), 1);
	EQUAL(strcmp(name_of(0), "context-switches"), 0);
	EQUAL(perfctr_selection_add(selection, "context-switches"), 1);
	EQUAL(perfctr_selection_request_count(selection), 2);
	EQUAL(strcmp(name_of(0), "cs"), 0);
	EQUAL(strcmp(name_of(1), "context-switches"), 0);
	EQUAL(request(1)->index, 1);
	/* a name that it has, a pattern */
	EQUAL(perfctr_selection_add(selection, "cs,software/context-switches/,software/con*es/"),
	      3);
	EQUAL(perfctr_selection_request_count(selection), 2);
	EQUAL(perfctr_selection_add(selection, "page-faults,faults,faults"), 3);
	EQUAL(perfctr_selection_request_count(selection), 4);
	EQUAL(strcmp(name_of(2), "page-faults"), 0);
	EQUAL(strcmp(name_of(3), "faults"), 0);
}

TEST_WITH(begin, end, "metrics select their counters")
{
	EQUAL(perfctr_selection_add(selection, "metric:l2_read_hit_ratio"), 4);
	EQUAL(perfctr_selection_request_count(selection), 2);
	EQUAL(request(0)->mask, 3 << 5);
	EQUAL(perfctr_selection_metric_count(selection), 1);
	EQUAL_TEXT(perfctr_selection_metric(selection, 0)->name, "l2_read_hit_ratio");
	CHECK(!perfctr_selection_metric(selection, 1));
	CHECK(perfctr_selection_add(selection, "metric:memsys.*") > 4);
	restart();
	EQUAL(perfctr_selection_add(selection, "metric:mem_read_bandwidth"), 2);
	EQUAL(request(0)->type, DRM_PERFCTR_TEGRA410_BLOCK_UCF);
	/* this machine has no such PMU */
	EQUAL(perfctr_selection_add(selection, "metric:cmem_read_latency"), -ENOENT);
	HAS_TEXT(perfctr_ctx_error(ctx), "no metric \"cmem_read_latency\"");
}

TEST_WITH(begin, end, "bad events are refused with a reason")
{
	static const struct {
		const char *text;
		int error;
		const char *reason;
	} cases[] = {
		{ "", -EINVAL, "an event name is missing" },
		{ "GPU_ACTIVE,", -EINVAL, "an event name is missing" },
		{ ",GPU_ACTIVE", -EINVAL, "an empty event" },
		{ "GPU_ACTIVE,,JOBS", -EINVAL, "an empty event" },
		{ "/FRAGMENTS", -EINVAL, "without a name" },
		{ "NOTHING", -ENOENT, "is named \"NOTHING\"" },
		{ "shader/NOTHING", -ENOENT, "shader has no counter or event \"NOTHING\"" },
		{ "FRAGMENTZ", -ENOENT, "did you mean FRAGMENTS;" },
		{ "l2_read_hit_ration", -ENOENT, "did you mean l2_read_hit_ratio;" },
		{ "firmware_utill", -ENOENT, "did you mean firmware_util, which this device" },
		{ "EXEC_INSTR_DIVERGED", -ENOENT, "a counter of mali_v10: did you mean INSTR_D" },
		{ "JS0_JOBS", -ENOENT, "is a counter of jm blocks (as of " },
		{ "ucf0/mem_byte_rd/", -ENOENT, "did you mean mem_bytes_rd;" },
		{ "shader1/FRAGMENTS", -ENOENT, "is named \"shader1\"" },
		{ "shader1/FRAGMENTS,shader0/JOBS,fw/C0", -ENOENT, "is named \"shader1\"" },
		{ "shadow*/C0,shadow*/C1", -ENOENT, "is named \"shadow*\"" },
		{ "memsys0/L2_READ/u", -EINVAL, "modifiers have no meaning" },
		{ "software/cpu-clock/u", -EINVAL, "modifiers have no meaning" },
		{ "ucf0/nothing/", -ENOENT, "ucf0 has no counter or event \"nothing\"" },
		{ "ucf0/nothing*/", -ENOENT, "has no counter or event \"nothing*\"" },
		{ "ucf0/mem_bytes_rd,src_loc_cpu=2/", -EINVAL, "does not fit its field" },
		{ "ucf0/mem_bytes_rd,src_loc_cpu=x/", -EINVAL, "\"x\" is no number" },
		{ "ucf0/mem_bytes_rd,src_loc_cpu=-1/", -EINVAL, "is no number" },
		{ "ucf0/=1/", -EINVAL, "is no term" },
		{ "ucf0/../type/", -EINVAL, "modifiers" },
		{ "uncore_imc_0/strange=1/", -EINVAL, "cannot read the format" },
		{ "uncore_imc_0/later=1/", -EINVAL, "later is in config3 of perf's events" },
		{ "uncore_imc_0/cpu=4294967296/", -EINVAL, "is no CPU" },
		{ "tracepoint/sched:nothing/", -ENOENT, "cannot read its id" },
		{ "sched:nothing", -ENOENT, "cannot read its id" },
		{ "cs:Z", -ENOENT, "modifiers of an event are u, k" },
		{ "sched:secret", -EACCES, "mount -o remount,mode=755 /sys/kernel/tracing" },
		{ "devfreq/*/", -ENOENT, "this machine has no device with a frequency" },
		{ "nvml/*/", -ENOENT, "this machine has no NVIDIA GPU" },
		{ "amdgpu/*/", -ENOENT, "this machine has no AMD GPU" },
		{ "metric:nothing", -ENOENT, "no metric" },
		{ "metric:nothing*", -ENOENT, "no metric" },
		{ "GPU_ACTIVE JOBS", -ENOENT, "" },
		{ "{GPU_ACTIVE}JOBS", -EINVAL, "a comma is missing" },
	};

	fake_file(fake, "/sys/kernel/tracing/events/sched/secret/id", "denied");
	EQUAL(perfctr_selection_add(selection, "fw/MCU_ACTIVE"), 1);
	for (size_t n = 0; n < ARRAY_SIZE(cases); n++) {
		if (!EQUAL(perfctr_selection_add(selection, cases[n].text), cases[n].error))
			test_fail(__FILE__, __LINE__, "at \"%s\"", cases[n].text);
		HAS_TEXT(perfctr_ctx_error(ctx), cases[n].reason);
		EQUAL(perfctr_selection_request_count(selection), 1);
	}
	/* one bad event in a list: nothing of the list is added */
	EQUAL(perfctr_selection_add(selection, "shader*,NOTHING"), -ENOENT);
	EQUAL(perfctr_selection_request_count(selection), 1);
}

TEST_WITH(begin, end, "long names are refused")
{
	char text[4096];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	EQUAL(perfctr_selection_add(selection, text), -EINVAL);
	memcpy(text, "software/", 9);
	EQUAL(perfctr_selection_add(selection, text), -EINVAL);
}

TEST_WITH(begin, end, "a device without perf events is named in the error")
{
	fake->info.features &= ~(uint32_t)DRM_PERFCTR_FEATURE_PMU;
	EQUAL(perfctr_device_refresh(device), 0);
	EQUAL(perfctr_selection_add(selection, "software/cpu-clock/"), -EOPNOTSUPP);
	EQUAL(perfctr_selection_add(selection, "cpu-clock"), -ENOENT);
	EQUAL(perfctr_selection_add(selection, "metric:mem_read_bandwidth"), -ENOENT);
}

TEST_WITH(begin, end, "counter sets are chosen first")
{
	EQUAL(perfctr_selection_set_counter_set(selection, 1), -EOPNOTSUPP);
	EQUAL(perfctr_selection_set_counter_set(selection, 99), -EOPNOTSUPP);
	EQUAL(perfctr_selection_set_counter_set(selection, 0), 0);
	EQUAL(perfctr_selection_add(selection, "GPU_ACTIVE"), 1);
	EQUAL(perfctr_selection_set_counter_set(selection, 0), -EBUSY);
}

static const char *filters(unsigned int type, uint64_t config, uint64_t config1, uint64_t config2)
{
	static char text[256];
	int length = perfctr_filter_text(type, config, config1, config2, text, sizeof(text));

	EQUAL(length, strlen(text));
	return text;
}

TEST("filters have names")
{
	char small[8] = "xxxxxxx";

	EQUAL_TEXT(filters(DRM_PERFCTR_TEGRA410_BLOCK_UCF, 0, 0, 0), "");
	EQUAL_TEXT(filters(DRM_PERFCTR_TEGRA410_BLOCK_UCF, 0, 0x102, 0),
		   "src_loc_cpu=1,dst_loc_cmem=1");
	EQUAL_TEXT(filters(DRM_PERFCTR_TEGRA410_BLOCK_PCIE, 0, 0x1010800, 0x11),
		   "src_bdf=0x108,src_bdf_en=1,dst_loc_cmem=1,dst_rem=1");
	EQUAL_TEXT(filters(DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT, 0x818, 0x10000, UINT64_MAX),
		   "dst_rp_mask=0x3,dst_addr_en=1,dst_addr_base=0x10000,"
		   "dst_addr_mask=0xffffffffffffffff");
	/* bits without a name are shown too */
	EQUAL_TEXT(filters(DRM_PERFCTR_TEGRA410_BLOCK_UCF, 0x10, 0x2000001, 5),
		   "src_loc_noncpu=1,config=0x10,config1=0x2000000,config2=0x5");
	EQUAL_TEXT(filters(DRM_PERFCTR_TEGRA410_BLOCK_NVCLINK, 0, 3, 0), "config1=0x3");
	EQUAL_TEXT(filters(DRM_PERFCTR_BLOCK_GENERIC_PMU, 1, 2, 3), "");
	EQUAL(perfctr_filter_text(DRM_PERFCTR_TEGRA410_BLOCK_UCF, 0, 2, 0, small, sizeof(small)),
	      13);
	EQUAL_TEXT(small, "src_loc");
	EQUAL(perfctr_filter_text(DRM_PERFCTR_TEGRA410_BLOCK_UCF, 0, 2, 0, NULL, 0), 13);
}

TEST_WITH(begin, end, "requests can be given raw")
{
	struct drm_perfctr_block_request r = { .type = DRM_PERFCTR_MALI_BLOCK_FW, .mask = 0x30 };

	EQUAL(perfctr_selection_add_request(selection, &r), 2);
	r.mask = 0;
	EQUAL(perfctr_selection_add_request(selection, &r), -EINVAL);
	r = (struct drm_perfctr_block_request){ .type = DRM_PERFCTR_TEGRA410_BLOCK_UCF,
						.flags = DRM_PERFCTR_REQUEST_PMU,
						.mask = 1 };
	EQUAL(perfctr_selection_add_request(selection, &r), 1);
	r.config1 = 1;
	EQUAL(perfctr_selection_add_request(selection, &r), 1);
	EQUAL(perfctr_selection_request_count(selection), 3);
	r.mask = 2;
	EQUAL(perfctr_selection_add_request(selection, &r), 1);
	EQUAL(perfctr_selection_request_count(selection), 3);
	EQUAL(request(2)->mask, 3);
	EQUAL(request(1)->mask, 1);
	r.type = DRM_PERFCTR_BLOCK_GENERIC_PMU;
	EQUAL(perfctr_selection_add_request(selection, &r), 1);
	EQUAL(request(3)->index, 0);
}
