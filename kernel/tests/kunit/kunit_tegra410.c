// SPDX-License-Identifier: GPL-2.0
/*
 * The drivers of tegra410_pmu.ko on hardware that vsoc does not model: unreadable or changing
 * registers, a wrong identity, counters of other widths, incomplete platform data; and perf
 * callbacks in orders that perf does not use for uncore PMUs.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/platform_device.h>
#include <linux/regmap.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <kunit/test.h>

#include "../../tegra410/tegra410_pmu_platform.h"
#include "../../tegra410/tegra410_regs.h"

/* windows of the largest PMU, NV-DLink, with the broadcast window */
#define WINDOWS		(NVDLINK_INSTANCES + 1)
#define WINDOW_WORDS	1024
/* vsoc's sockets are smaller */
#define FIRST_SOCKET	40
#define ALWAYS		UINT_MAX
#define CYCLES_CONFIG	BIT_ULL(32)

struct fake {
	struct kunit *test;
	char name[16];
	struct platform_device *pdev;
	struct tegra410_pmu_platform_data pdata;
	u32 (*windows)[WINDOW_WORDS];
	/* reads that succeed before all others fail */
	unsigned int answers;
	/* each read changes the result of the next one */
	bool unstable;
	int irq_error;
	unsigned int irqs;
	unsigned int affinities;
	void (*handler)(void *data);
	void *data;
};

/* never reused: PMUs that had events stay registered */
static unsigned int next_socket = FIRST_SOCKET;

static u32 *reg_of(struct fake *fake, unsigned int window, unsigned int offset)
{
	return &fake->windows[window][offset / sizeof(u32)];
}

static int fake_read(void *context, unsigned int reg, unsigned int *value)
{
	struct fake *fake = context;
	u32 *word = reg_of(fake, reg >> TEGRA410_WINDOW_SHIFT, reg & 0xffff);

	if (!fake->answers)
		return -EIO;
	if (fake->answers != ALWAYS)
		fake->answers--;
	*value = *word;
	if (fake->unstable)
		(*word)++;
	return 0;
}

static int fake_write(void *context, unsigned int reg, unsigned int value)
{
	struct fake *fake = context;
	unsigned int window = reg >> TEGRA410_WINDOW_SHIFT, offset = reg & 0xffff;
	u32 *word = reg_of(fake, window, offset);

	/* write 1 to clear */
	if (window == CSPMU_PAGE1 && offset == CSPMU_PMOVSCLR)
		*word &= ~value;
	else
		*word = value;
	return 0;
}

static int fake_irq_request(void *context, void (*handler)(void *data), void *data)
{
	struct fake *fake = context;

	if (fake->irq_error)
		return fake->irq_error;
	fake->irqs++;
	fake->handler = handler;
	fake->data = data;
	return 0;
}

static void fake_irq_free(void *context)
{
	struct fake *fake = context;

	fake->irqs--;
}

static void fake_set_affinity(void *context, unsigned int cpu)
{
	struct fake *fake = context;

	fake->affinities++;
}

static const struct tegra410_pmu_irq_ops fake_irq_ops = {
	.request = fake_irq_request,
	.free = fake_irq_free,
	.set_affinity = fake_set_affinity,
};

static void interrupt(struct fake *fake)
{
	unsigned long flags;

	local_irq_save(flags);
	fake->handler(fake->data);
	local_irq_restore(flags);
}

static void unplug(struct fake *fake)
{
	platform_device_unregister(fake->pdev);
	fake->pdev = NULL;
}

static void destroy_fake(void *data)
{
	struct fake *fake = data;

	if (fake->pdev)
		unplug(fake);
	regmap_exit(fake->pdata.regmap);
	kvfree(fake->windows);
	kfree(fake);
}

/* identification and shape of the CoreSight kinds */
static void set_shape(struct fake *fake, unsigned int counters, unsigned int bits, bool cycles)
{
	static const u32 models[] = { UCF_PMIIDR_MODEL, PCIE_PMIIDR_MODEL, PCIE_TGT_PMIIDR_MODEL };

	*reg_of(fake, CSPMU_PAGE0, CSPMU_PMIIDR) = models[fake->pdata.kind] |
						   CSPMU_IMPLEMENTER_NVIDIA;
	*reg_of(fake, CSPMU_PAGE0, CSPMU_PMCFGR) = (counters + cycles - 1) | (bits - 1) << 8 |
						   (cycles ? CSPMU_PMCFGR_CC : 0);
}

static struct regmap *create_regmap(struct fake *fake)
{
	const struct regmap_config config = {
		/* must be unique in debugfs */
		.name = fake->name,
		.reg_bits = 32,
		.reg_stride = 4,
		.val_bits = 32,
		.reg_read = fake_read,
		.reg_write = fake_write,
		.fast_io = true,
		.use_raw_spinlock = true,
	};

	return regmap_init(NULL, NULL, fake, &config);
}

static struct fake *create_fake(struct kunit *test, enum tegra410_pmu_kind_id kind)
{
	struct fake *fake = kzalloc(sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake->test = test;
	fake->answers = ALWAYS;
	fake->pdata.kind = kind;
	fake->pdata.socket = next_socket++;
	cpumask_copy(&fake->pdata.cpus, cpu_possible_mask);
	snprintf(fake->name, sizeof(fake->name), "fake-%u", fake->pdata.socket);
	fake->windows = kvcalloc(WINDOWS, sizeof(*fake->windows), GFP_KERNEL);
	fake->pdata.regmap = create_regmap(fake);
	KUNIT_ASSERT_TRUE(test, fake->windows && !IS_ERR(fake->pdata.regmap));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, destroy_fake, fake), 0);
	if (kind <= TEGRA410_PMU_PCIE_TGT)
		set_shape(fake, 8, 64, true);
	return fake;
}

/* returns whether a driver bound the device */
static bool plug_data(struct fake *fake, const void *pdata, size_t bytes)
{
	fake->pdev = platform_device_register_data(NULL, TEGRA410_PMU_DEVICE, PLATFORM_DEVID_AUTO,
						   pdata, bytes);
	KUNIT_ASSERT_FALSE(fake->test, IS_ERR(fake->pdev));
	return device_is_bound(&fake->pdev->dev);
}

static bool plug(struct fake *fake)
{
	return plug_data(fake, &fake->pdata, sizeof(fake->pdata));
}

static void expect_refused(struct fake *fake)
{
	KUNIT_EXPECT_FALSE(fake->test, plug(fake));
	KUNIT_EXPECT_EQ(fake->test, fake->irqs, 0);
	unplug(fake);
}

static void expect_taken(struct fake *fake)
{
	KUNIT_ASSERT_TRUE(fake->test, plug(fake));
}

/* perf type of the PMU: all PMUs are devices of one bus, which a software event leads to */
static int type_of(struct fake *fake, const char *format)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
	};
	char name[48];
	struct perf_event *dummy;
	struct device *dev;
	int type = -ENODEV;

	snprintf(name, sizeof(name), format, fake->pdata.socket, fake->pdata.root_complex);
	dummy = perf_event_create_kernel_counter(&attr, 0, NULL, NULL, NULL);
	KUNIT_ASSERT_FALSE(fake->test, IS_ERR(dummy));
	dev = bus_find_device_by_name(dummy->pmu->dev->bus, NULL, name);
	if (dev)
		type = ((struct pmu *)dev_get_drvdata(dev))->type;
	put_device(dev);
	perf_event_release_kernel(dummy);
	return type;
}

static const char * const formats[TEGRA410_PMU_KINDS] = {
	[TEGRA410_PMU_UCF] = "nvidia_ucf_pmu_%u",
	[TEGRA410_PMU_PCIE] = "nvidia_pcie_pmu_%u_rc_%u",
	[TEGRA410_PMU_PCIE_TGT] = "nvidia_pcie_tgt_pmu_%u_rc_%u",
	[TEGRA410_PMU_CMEM_LATENCY] = "nvidia_cmem_latency_pmu_%u",
	[TEGRA410_PMU_NVLINK_C2C] = "nvidia_nvlink_c2c_pmu_%u",
	[TEGRA410_PMU_NVCLINK] = "nvidia_nvclink_pmu_%u",
	[TEGRA410_PMU_NVDLINK] = "nvidia_nvdlink_pmu_%u",
};

static struct perf_event *try_open(struct fake *fake, u64 config, u64 config1)
{
	struct perf_event_attr attr = {
		.type = type_of(fake, formats[fake->pdata.kind]),
		.size = sizeof(attr),
		.config = config,
		.config1 = config1,
		.disabled = 1,
	};

	return perf_event_create_kernel_counter(&attr, cpumask_first(cpu_online_mask), NULL, NULL,
						NULL);
}

static struct perf_event *open_event(struct fake *fake, u64 config)
{
	struct perf_event *event = try_open(fake, config, 0);

	KUNIT_ASSERT_FALSE(fake->test, IS_ERR(event));
	return event;
}

static struct perf_event *begin(struct fake *fake, u64 config)
{
	struct perf_event *event = open_event(fake, config);

	perf_event_enable(event);
	return event;
}

static void expect_open(struct fake *fake, u64 config, int error)
{
	struct perf_event *event = try_open(fake, config, 0);

	KUNIT_EXPECT_EQ(fake->test, PTR_ERR_OR_ZERO(event), error);
	if (!IS_ERR(event))
		perf_event_release_kernel(event);
}

static u64 count_of(struct perf_event *event)
{
	u64 enabled, running;

	return perf_event_read_value(event, &enabled, &running);
}

/* the hardware counts */
static void add64(struct fake *fake, unsigned int window, unsigned int offset, u64 count)
{
	u32 *word = reg_of(fake, window, offset);
	u64 value = (word[0] | (u64)word[1] << 32) + count;

	word[0] = lower_32_bits(value);
	word[1] = upper_32_bits(value);
}

static void incomplete_platform_data_is_refused(struct kunit *test)
{
	struct fake *fake = create_fake(test, TEGRA410_PMU_UCF);
	const struct tegra410_pmu_platform_data good = fake->pdata;

	KUNIT_EXPECT_FALSE(test, plug_data(fake, NULL, 0));
	unplug(fake);
	fake->pdata.kind = TEGRA410_PMU_KINDS;
	expect_refused(fake);
	fake->pdata = good;
	fake->pdata.regmap = NULL;
	expect_refused(fake);
	fake->pdata = good;
	cpumask_clear(&fake->pdata.cpus);
	expect_refused(fake);
	fake->pdata = good;
	expect_taken(fake);
}

static void link_without_peers_is_refused(struct kunit *test)
{
	struct fake *fake = create_fake(test, TEGRA410_PMU_NVCLINK);

	expect_refused(fake);
	fake->pdata.cpu_en_mask = BIT(NVCLINK_INSTANCES);
	expect_refused(fake);
	fake->pdata.cpu_en_mask = BIT(NVCLINK_INSTANCES - 1);
	expect_taken(fake);
	/* NVCLink has no write events */
	expect_open(fake, C2C_EVENT_IN_WR_REQ, -ENOENT);
	expect_open(fake, C2C_EVENTS, -ENOENT);
	expect_open(fake, C2C_EVENT_IN_RD_REQ, 0);

	fake = create_fake(test, TEGRA410_PMU_NVLINK_C2C);
	expect_refused(fake);
	fake->pdata.gpu_en_mask[1] = BIT(NVLINK_C2C_INSTANCES);
	expect_refused(fake);
	fake->pdata.gpu_en_mask[1] = 3;
	expect_taken(fake);
	KUNIT_EXPECT_EQ(test, PTR_ERR(try_open(fake, 0, BIT(0))), -EINVAL);
	expect_open(fake, C2C_EVENT_OUT_WR_REQ, 0);
}

static void registered_name_is_refused(struct kunit *test)
{
	struct fake *first = create_fake(test, TEGRA410_PMU_NVLINK_C2C);
	struct fake *second = create_fake(test, TEGRA410_PMU_NVLINK_C2C);

	first->pdata.gpu_en_mask[0] = 1;
	second->pdata = (struct tegra410_pmu_platform_data) {
		.kind = first->pdata.kind,
		.socket = first->pdata.socket,
		.cpus = first->pdata.cpus,
		.regmap = second->pdata.regmap,
		.gpu_en_mask = { 1 },
	};
	expect_taken(first);
	expect_refused(second);
	/* the PMU stays registered because events may use it */
	perf_event_release_kernel(open_event(first, C2C_EVENT_CYCLES));
	unplug(first);
	expect_open(first, C2C_EVENT_CYCLES, -ENODEV);
	/* only a device of the same shape takes it over */
	second->pdata.cpu_en_mask = 1;
	expect_refused(second);
	second->pdata.cpu_en_mask = 0;
	second->pdata.gpu_en_mask[0] = 0;
	expect_refused(second);
	second->pdata.gpu_en_mask[0] = 1;
	expect_taken(second);
	expect_open(second, C2C_EVENT_CYCLES, 0);
}

static void other_hardware_is_refused(struct kunit *test)
{
	struct fake *fake = create_fake(test, TEGRA410_PMU_PCIE);
	u32 *pmiidr = reg_of(fake, CSPMU_PAGE0, CSPMU_PMIIDR);
	u32 good = *pmiidr;
	unsigned int answers;

	*pmiidr = good ^ CSPMU_PMIIDR_PRODUCT;
	expect_refused(fake);
	*pmiidr = good ^ 1;
	expect_refused(fake);
	*pmiidr = UCF_PMIIDR_MODEL | CSPMU_IMPLEMENTER_NVIDIA;
	expect_refused(fake);
	*pmiidr = good;
	/* identity or shape cannot be read */
	for (answers = 0; answers < 2; answers++) {
		fake->answers = answers;
		expect_refused(fake);
	}
	fake->answers = ALWAYS;
	/* 0x1030 1 36b: part 0x103, variant 0, revision 1, implementer 0x36b */
	*pmiidr = 0;
	expect_refused(fake);
	*reg_of(fake, CSPMU_PAGE0, CSPMU_PMPIDR0) = 0x03;
	*reg_of(fake, CSPMU_PAGE0, CSPMU_PMPIDR1) = 0xb1;
	*reg_of(fake, CSPMU_PAGE0, CSPMU_PMPIDR2) = 0x06;
	*reg_of(fake, CSPMU_PAGE0, CSPMU_PMPIDR3) = 0x10;
	*reg_of(fake, CSPMU_PAGE0, CSPMU_PMPIDR4) = 0x03;
	expect_taken(fake);
}

static void any_number_of_counters_works(struct kunit *test)
{
	struct fake *fake = create_fake(test, TEGRA410_PMU_UCF);
	struct perf_event *events[32];
	unsigned int i;

	/* the cycle counter alone */
	set_shape(fake, 0, 64, true);
	expect_taken(fake);
	expect_open(fake, UCF_EVENT_BUS_CYCLES, -EINVAL);
	expect_open(fake, CYCLES_CONFIG, 0);
	unplug(fake);
	/* no cycle counter */
	set_shape(fake, 1, 64, false);
	expect_taken(fake);
	expect_open(fake, CYCLES_CONFIG, -EINVAL);
	expect_open(fake, UCF_EVENT_BUS_CYCLES, 0);
	unplug(fake);
	/* more counters than the enable registers have bits */
	set_shape(fake, 200, 64, true);
	expect_taken(fake);
	for (i = 0; i < ARRAY_SIZE(events); i++)
		events[i] = begin(fake, i == CSPMU_CYCLE_IDX ? CYCLES_CONFIG :
							       UCF_EVENT_MEM_BYTES_RD);
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		add64(fake, CSPMU_PAGE1, CSPMU_PMEVCNTR(i, 8), i + 1);
		KUNIT_EXPECT_EQ(test, count_of(events[i]), i + 1);
	}
	for (i = 0; i < ARRAY_SIZE(events); i++)
		perf_event_release_kernel(events[i]);
	unplug(fake);

	fake = create_fake(test, TEGRA410_PMU_PCIE);
	set_shape(fake, 1, 64, false);
	expect_taken(fake);
	expect_open(fake, CYCLES_CONFIG, -EINVAL);

	/* cycles are an ordinary event of this PMU */
	fake = create_fake(test, TEGRA410_PMU_PCIE_TGT);
	set_shape(fake, 1, 64, false);
	expect_taken(fake);
	events[0] = begin(fake, PCIE_TGT_EVENT_CYCLES);
	add64(fake, CSPMU_PAGE1, CSPMU_PMEVCNTR(0, 8), 7);
	KUNIT_EXPECT_EQ(test, count_of(events[0]), 7);
	perf_event_release_kernel(events[0]);
}

static void wrapped_32_bit_counters_are_exact(struct kunit *test)
{
	struct fake *fake = create_fake(test, TEGRA410_PMU_UCF);
	struct perf_event *event, *cycles;
	u32 *counter = reg_of(fake, CSPMU_PAGE1, CSPMU_PMEVCNTR(0, 4));
	u32 *cycle_counter = reg_of(fake, CSPMU_PAGE1, CSPMU_PMEVCNTR(CSPMU_CYCLE_IDX, 4));
	u32 *overflow = reg_of(fake, CSPMU_PAGE1, CSPMU_PMOVSCLR);

	set_shape(fake, 8, 32, true);
	/* 32-bit counters need an interrupt */
	expect_refused(fake);
	fake->pdata.irq_ops = &fake_irq_ops;
	fake->pdata.irq_ctx = fake;
	fake->irq_error = -EBUSY;
	expect_refused(fake);
	fake->irq_error = 0;
	expect_taken(fake);
	KUNIT_EXPECT_EQ(test, fake->irqs, 1);
	KUNIT_EXPECT_EQ(test, fake->affinities, 1);
	/* no event is active */
	interrupt(fake);

	event = begin(fake, UCF_EVENT_MEM_BYTES_RD);
	cycles = begin(fake, CYCLES_CONFIG);
	*counter += 100;
	*cycle_counter += 5;
	KUNIT_EXPECT_EQ(test, count_of(event), 100);
	/* wrapped: half of its range, plus 50 */
	*counter = 50;
	*overflow = BIT(0);
	interrupt(fake);
	KUNIT_EXPECT_EQ(test, *overflow, 0);
	KUNIT_EXPECT_EQ(test, count_of(event), BIT_ULL(31) + 51);
	KUNIT_EXPECT_EQ(test, *counter, U32_MAX >> 1);
	/* an unused counter's overflow, then an unreadable status */
	*overflow = BIT(3);
	interrupt(fake);
	*overflow = BIT(0);
	fake->answers = 0;
	interrupt(fake);
	fake->answers = ALWAYS;
	*counter += 1;
	KUNIT_EXPECT_EQ(test, count_of(event), BIT_ULL(31) + 52);
	/* an unreadable count is counted later */
	*counter += 7;
	fake->answers = 0;
	KUNIT_EXPECT_EQ(test, count_of(event), BIT_ULL(31) + 52);
	fake->answers = ALWAYS;
	KUNIT_EXPECT_EQ(test, count_of(event), BIT_ULL(31) + 59);
	KUNIT_EXPECT_EQ(test, count_of(cycles), 5);
	perf_event_release_kernel(event);
	perf_event_release_kernel(cycles);
	unplug(fake);
	KUNIT_EXPECT_EQ(test, fake->irqs, 0);
}

static void unreadable_counts_are_read_later(struct kunit *test)
{
	struct fake *fake = create_fake(test, TEGRA410_PMU_UCF);
	struct perf_event *event;
	unsigned int answers;

	expect_taken(fake);
	event = begin(fake, UCF_EVENT_MEM_BYTES_RD);
	/* each of the three reads of a counter of 64 bits */
	for (answers = 0; answers < 3; answers++) {
		add64(fake, CSPMU_PAGE1, CSPMU_PMEVCNTR(0, 8), 10);
		fake->answers = answers;
		KUNIT_EXPECT_EQ(test, count_of(event), 0);
	}
	fake->answers = ALWAYS;
	/* the high word changes with each read */
	fake->unstable = true;
	KUNIT_EXPECT_EQ(test, count_of(event), 0);
	fake->unstable = false;
	*reg_of(fake, CSPMU_PAGE1, CSPMU_PMEVCNTR(0, 8)) = lower_32_bits(U64_MAX >> 1) + 30;
	*reg_of(fake, CSPMU_PAGE1, CSPMU_PMEVCNTR(0, 8) + 4) = BIT(31);
	KUNIT_EXPECT_EQ(test, count_of(event), 30);
	perf_event_release_kernel(event);
}

static void unreadable_start_counts_from_first_read(struct kunit *test)
{
	static const struct {
		enum tegra410_pmu_kind_id kind;
		u64 config;
		unsigned int window;
		unsigned int offset;
	} counters[] = {
		{ TEGRA410_PMU_CMEM_LATENCY, CMEM_EVENT_RD_REQ, 13, CMEM_MC_REQ(2) },
		{ TEGRA410_PMU_CMEM_LATENCY, CMEM_EVENT_RD_CUM_OUTS, 0, CMEM_MC_AOR(1) },
		{ TEGRA410_PMU_CMEM_LATENCY, CMEM_EVENT_CYCLES, 0, CMEM_CYCLE },
		{ TEGRA410_PMU_NVDLINK, C2C_EVENT_IN_RD_REQ, 15, C2C_IN_RD_REQ },
		{ TEGRA410_PMU_NVDLINK, C2C_EVENT_CYCLES, 0, C2C_CYCLE },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		struct fake *fake = create_fake(test, counters[i].kind);
		struct perf_event *first, *second, *third;

		expect_taken(fake);
		first = begin(fake, counters[i].config);
		add64(fake, counters[i].window, counters[i].offset, 1000);
		fake->answers = 0;
		second = begin(fake, counters[i].config);
		add64(fake, counters[i].window, counters[i].offset, 10);
		KUNIT_EXPECT_EQ(test, count_of(second), 0);
		fake->answers = ALWAYS;
		third = begin(fake, counters[i].config);
		/* its start value is unknown: it counts from its first read */
		KUNIT_EXPECT_EQ(test, count_of(second), 0);
		add64(fake, counters[i].window, counters[i].offset, 3);
		KUNIT_EXPECT_EQ(test, count_of(second), 3);
		KUNIT_EXPECT_EQ(test, count_of(third), 3);
		KUNIT_EXPECT_EQ(test, count_of(first), 1013);
		perf_event_release_kernel(first);
		perf_event_release_kernel(second);
		perf_event_release_kernel(third);
		expect_open(fake, counters[i].kind == TEGRA410_PMU_NVDLINK ?
				  C2C_EVENT_OUT_RD_REQ : CMEM_EVENT_RD_CUM_OUTS + 1, -ENOENT);
	}
}

typedef void (*perf_callback)(struct perf_event *event, int flags);

static void callback(struct perf_event *event, perf_callback function, int flags)
{
	unsigned long irq;

	local_irq_save(irq);
	function(event, flags);
	local_irq_restore(irq);
}

static void repeated_stop_and_start_are_harmless(struct kunit *test)
{
	static const enum tegra410_pmu_kind_id kinds[] = {
		TEGRA410_PMU_UCF, TEGRA410_PMU_NVDLINK, TEGRA410_PMU_CMEM_LATENCY,
	};
	static const struct {
		unsigned int window;
		unsigned int offset;
		u64 config;
	} counters[] = {
		{ CSPMU_PAGE1, CSPMU_PMEVCNTR(0, 8), UCF_EVENT_MEM_BYTES_RD },
		{ 3, C2C_IN_RD_REQ, C2C_EVENT_IN_RD_REQ },
		{ 3, CMEM_MC_REQ(0), CMEM_EVENT_RD_REQ },
	};
	unsigned int i, others;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (others = 0; others < 2; others++) {
			struct fake *fake = create_fake(test, kinds[i]);
			struct perf_event *event, *other = NULL;

			expect_taken(fake);
			event = begin(fake, counters[i].config);
			if (others)
				other = begin(fake, counters[i].config);
			add64(fake, counters[i].window, counters[i].offset, 5);
			callback(event, event->pmu->stop, PERF_EF_UPDATE);
			KUNIT_EXPECT_TRUE(test, event->hw.state & PERF_HES_STOPPED);
			callback(event, event->pmu->stop, PERF_EF_UPDATE);
			add64(fake, counters[i].window, counters[i].offset, 70);
			KUNIT_EXPECT_EQ(test, local64_read(&event->count), 5);
			KUNIT_EXPECT_EQ(test, count_of(event), 5);
			callback(event, event->pmu->start, PERF_EF_RELOAD);
			callback(event, event->pmu->start, PERF_EF_RELOAD);
			KUNIT_EXPECT_FALSE(test, event->hw.state & PERF_HES_STOPPED);
			add64(fake, counters[i].window, counters[i].offset, 6);
			/* free-running counters are cleared for the first event */
			if (kinds[i] != TEGRA410_PMU_UCF && !others)
				add64(fake, counters[i].window, counters[i].offset, -75ull);
			KUNIT_EXPECT_EQ(test, count_of(event), 11);
			/* an event without a counter */
			perf_event_disable(event);
			callback(event, event->pmu->stop, 0);
			callback(event, event->pmu->start, PERF_EF_RELOAD);
			callback(event, event->pmu->del, 0);
			KUNIT_EXPECT_EQ(test, count_of(event), 11);
			if (other)
				perf_event_release_kernel(other);
			perf_event_release_kernel(event);
		}
	}
}

/* direct calls: perf does not add stopped events here */
static void stopped_event_counts_nothing(struct kunit *test)
{
	struct fake *fake = create_fake(test, TEGRA410_PMU_UCF);
	struct perf_event *event;
	unsigned long irq;

	expect_taken(fake);
	event = open_event(fake, UCF_EVENT_MEM_BYTES_RD);
	preempt_disable();
	local_irq_save(irq);
	KUNIT_EXPECT_EQ(test, event->pmu->add(event, 0), 0);
	add64(fake, CSPMU_PAGE1, CSPMU_PMEVCNTR(0, 8), 9);
	event->pmu->read(event);
	KUNIT_EXPECT_EQ(test, local64_read(&event->count), 0);
	event->pmu->del(event, 0);
	/* started, and stopped before perf enables the PMU */
	KUNIT_EXPECT_EQ(test, event->pmu->add(event, PERF_EF_START), 0);
	event->pmu->start(event, PERF_EF_RELOAD);
	event->pmu->stop(event, PERF_EF_UPDATE);
	event->pmu->pmu_enable(event->pmu);
	add64(fake, CSPMU_PAGE1, CSPMU_PMEVCNTR(0, 8), 9);
	event->pmu->del(event, 0);
	KUNIT_EXPECT_EQ(test, local64_read(&event->count), 0);
	local_irq_restore(irq);
	preempt_enable();
	perf_event_release_kernel(event);
}

static void interrupt_after_unplug_is_harmless(struct kunit *test)
{
	struct fake *fake = create_fake(test, TEGRA410_PMU_NVDLINK);
	struct perf_event *event;

	fake->pdata.irq_ops = &fake_irq_ops;
	fake->pdata.irq_ctx = fake;
	expect_taken(fake);
	event = begin(fake, C2C_EVENT_CYCLES);
	interrupt(fake);
	add64(fake, 0, C2C_CYCLE, 4);
	KUNIT_EXPECT_EQ(test, count_of(event), 4);
	/* after unplug the event stays stopped */
	unplug(fake);
	KUNIT_EXPECT_EQ(test, fake->irqs, 0);
	interrupt(fake);
	KUNIT_EXPECT_EQ(test, count_of(event), 4);
	KUNIT_EXPECT_TRUE(test, event->hw.state & PERF_HES_STOPPED);
	perf_event_disable(event);
	perf_event_enable(event);
	perf_event_release_kernel(event);
}

static void event_on_another_cpu_is_refused(struct kunit *test)
{
	struct fake *fake = create_fake(test, TEGRA410_PMU_UCF);
	unsigned int last = cpumask_last(cpu_possible_mask);

	if (last == cpumask_first(cpu_online_mask))
		kunit_skip(test, "there is only one CPU");
	cpumask_clear(&fake->pdata.cpus);
	cpumask_set_cpu(last, &fake->pdata.cpus);
	expect_taken(fake);
	expect_open(fake, UCF_EVENT_BUS_CYCLES, -EINVAL);
}

static void events_need_an_online_cpu(struct kunit *test)
{
	struct fake *fake = create_fake(test, TEGRA410_PMU_UCF);
	unsigned int cpu = cpumask_last(cpu_online_mask);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = UCF_EVENT_BUS_CYCLES,
		.disabled = 1,
	};
	struct perf_event *event;

	if (cpu == cpumask_first(cpu_online_mask))
		kunit_skip(test, "there is only one CPU");
	cpumask_clear(&fake->pdata.cpus);
	cpumask_set_cpu(cpu, &fake->pdata.cpus);
	fake->pdata.irq_ops = &fake_irq_ops;
	fake->pdata.irq_ctx = fake;
	expect_taken(fake);
	KUNIT_EXPECT_EQ(test, fake->affinities, 1);
	attr.type = type_of(fake, formats[TEGRA410_PMU_UCF]);
	event = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	KUNIT_EXPECT_FALSE(test, IS_ERR(event));
	if (!IS_ERR(event))
		perf_event_release_kernel(event);

	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	event = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -EINVAL);
	KUNIT_EXPECT_EQ(test, add_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, fake->affinities, 2);
	unplug(fake);

	/* the CPU goes and returns without a device; a device appears without the CPU */
	KUNIT_EXPECT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, add_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, fake->affinities, 2);
	KUNIT_EXPECT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_EXPECT_TRUE(test, plug(fake));
	KUNIT_EXPECT_EQ(test, fake->affinities, 2);
	KUNIT_EXPECT_EQ(test, add_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, fake->affinities, 3);
	event = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	KUNIT_EXPECT_FALSE(test, IS_ERR(event));
	if (!IS_ERR(event))
		perf_event_release_kernel(event);
}

static struct kunit_case tegra410_cases[] = {
	KUNIT_CASE(incomplete_platform_data_is_refused),
	KUNIT_CASE(link_without_peers_is_refused),
	KUNIT_CASE(registered_name_is_refused),
	KUNIT_CASE(other_hardware_is_refused),
	KUNIT_CASE(any_number_of_counters_works),
	KUNIT_CASE(wrapped_32_bit_counters_are_exact),
	KUNIT_CASE(unreadable_counts_are_read_later),
	KUNIT_CASE(unreadable_start_counts_from_first_read),
	KUNIT_CASE(repeated_stop_and_start_are_harmless),
	KUNIT_CASE(stopped_event_counts_nothing),
	KUNIT_CASE(interrupt_after_unplug_is_harmless),
	KUNIT_CASE(event_on_another_cpu_is_refused),
	KUNIT_CASE(events_need_an_online_cpu),
	{ }
};

static struct kunit_suite tegra410_suite = {
	.name = "tegra410",
	.test_cases = tegra410_cases,
};

kunit_test_suite(tegra410_suite);
