// SPDX-License-Identifier: GPL-2.0
/*
 * What is around the models' PMUs on a machine that has them: devices, windows of registers and
 * interrupts for the kernel's own drivers, which are compiled with tegra410_redirect.h.
 *
 * lab/tegra410/ssdt.py describes CMEM latency, the links and the root complexes in ACPI, at the
 * addresses below. The table APMT, which has the CoreSight PMUs, is not known on x86, so their
 * devices are made here, as drivers/acpi/arm64/apmt.c makes them from it.
 */
#include <linux/acpi.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/platform_device.h>
#include <linux/property.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "soc_model.h"
#include "engine/vsoc_traffic.h"
#include "tegra410/tegra410_redirect.h"
#include "tegra410/tegra410_regs.h"

/* lab/tegra410/ssdt.py has the same */
#define HOST_BASE		0x7000000000ULL
#define HOST_PMU_SHIFT		21	/* each PMU's windows */
#define HOST_WINDOW_SHIFT	16
#define HOST_WINDOW_BYTES	0x1000
#define HOST_SOCKET_PMUS	32
#define HOST_PMUS		(VSOC_SOCKETS * HOST_SOCKET_PMUS)
/* ACPI names of the devices that instance_id and address filters belong to */
#define HOST_PCIE_HID		"NVDA20F0"
#define HOST_PCIE_TGT_HID	"NVDA20F1"
/* numbers of interrupts that the machine does not have */
#define HOST_IRQ		0x10000

static unsigned int soc_impl_id;
module_param(soc_impl_id, uint, 0444);
MODULE_PARM_DESC(soc_impl_id, "PMIIDR of UCF PMUs by the firmware, 0: their own (0)");

static bool soc_atomic;
module_param(soc_atomic, bool, 0444);
MODULE_PARM_DESC(soc_atomic, "the firmware says that CoreSight PMUs have accesses of 64 bits (N)");

static unsigned int soc_pause_us;
module_param(soc_pause_us, uint, 0644);
MODULE_PARM_DESC(soc_pause_us, "pause of a driver before it frees a counter, microseconds (0)");

static struct soc_pmu *plugged[HOST_PMUS];
static struct acpi_apmt_node nodes[HOST_PMUS];

static unsigned int number_of(const struct soc_place *place)
{
	static const u8 first[SOC_KINDS] = {
		[SOC_UCF]		= 0,
		[SOC_CMEM_LATENCY]	= 1,
		[SOC_NVLINK_C2C]	= 2,
		[SOC_NVCLINK]		= 3,
		[SOC_NVDLINK]		= 4,
		[SOC_PCIE]		= 8,
		[SOC_PCIE_TGT]		= 16,
	};
	const bool has_rc = place->kind == SOC_PCIE || place->kind == SOC_PCIE_TGT;

	static_assert(VSOC_ROOT_COMPLEXES <= 8);
	return place->socket * HOST_SOCKET_PMUS + first[place->kind] +
	       (has_rc ? place->root_complex : 0);
}

/* --- windows ---------------------------------------------------------------- */

/* the PMU of an address, or NULL */
static struct soc_pmu *pmu_at(u64 address)
{
	const u64 number = (address - HOST_BASE) >> HOST_PMU_SHIFT;

	return address >= HOST_BASE && number < HOST_PMUS ? plugged[number] : NULL;
}

static unsigned int window_of(u64 address)
{
	return (address & (BIT(HOST_PMU_SHIFT) - 1)) >> HOST_WINDOW_SHIFT;
}

static unsigned int offset_of(u64 address)
{
	return address & (BIT(HOST_WINDOW_SHIFT) - 1);
}

u32 tegra410_readl(const void __iomem *at)
{
	const u64 address = (__force uintptr_t)at;

	return soc_pmu_read(pmu_at(address), window_of(address), offset_of(address));
}
EXPORT_SYMBOL_GPL(tegra410_readl);

void tegra410_writel(u32 value, void __iomem *at)
{
	const u64 address = (__force uintptr_t)at;

	soc_pmu_write(pmu_at(address), window_of(address), offset_of(address), value);
}
EXPORT_SYMBOL_GPL(tegra410_writel);

u64 tegra410_readq(const void __iomem *at)
{
	const u64 address = (__force uintptr_t)at;

	return soc_pmu_read64(pmu_at(address), window_of(address), offset_of(address));
}
EXPORT_SYMBOL_GPL(tegra410_readq);

void tegra410_writeq(u64 value, void __iomem *at)
{
	const u64 address = (__force uintptr_t)at;

	soc_pmu_write64(pmu_at(address), window_of(address), offset_of(address), value);
}
EXPORT_SYMBOL_GPL(tegra410_writeq);

void tegra410_lo_hi_writeq(u64 value, void __iomem *at)
{
	tegra410_writel(lower_32_bits(value), at);
	tegra410_writel(upper_32_bits(value), at + 4);
}
EXPORT_SYMBOL_GPL(tegra410_lo_hi_writeq);

/* The address itself, which no memory access can use by mistake. */
void __iomem *tegra410_map(struct device *dev, const struct resource *resource)
{
	if (!resource)
		return IOMEM_ERR_PTR(-EINVAL);
	if (!pmu_at(resource->start))
		return IOMEM_ERR_PTR(-ENXIO);
	return (void __iomem *)(uintptr_t)resource->start;
}
EXPORT_SYMBOL_GPL(tegra410_map);

void __iomem *tegra410_platform_map(struct platform_device *device, unsigned int number)
{
	return tegra410_map(&device->dev, platform_get_resource(device, IORESOURCE_MEM, number));
}
EXPORT_SYMBOL_GPL(tegra410_platform_map);

/* --- interrupts ------------------------------------------------------------- */

static void free_irq_of(void *pmu)
{
	soc_irq_free(pmu);
}

int tegra410_request_irq(struct device *dev, unsigned int irq, irq_handler_t handler,
			 unsigned long flags, const char *name, void *data)
{
	struct soc_pmu *pmu = plugged[irq - HOST_IRQ];
	int ret = soc_irq_request(pmu, irq, handler, data);

	return ret ?: devm_add_action_or_reset(dev, free_irq_of, pmu);
}
EXPORT_SYMBOL_GPL(tegra410_request_irq);

int tegra410_irq_set_affinity(unsigned int irq, const struct cpumask *cpus)
{
	soc_irq_set_affinity(plugged[irq - HOST_IRQ], cpumask_first(cpus));
	return 0;
}
EXPORT_SYMBOL_GPL(tegra410_irq_set_affinity);

void tegra410_before_clear_bit(void)
{
	if (soc_pause_us)
		udelay(soc_pause_us);
}
EXPORT_SYMBOL_GPL(tegra410_before_clear_bit);

/* the container of a socket's processors: ACPI describes them on arm64 only */
bool tegra410_is_in_container(struct acpi_device *cpu, const char *hid, u64 container)
{
	const struct device *dev = (const struct device *)cpu;

	return cpu_to_node(dev->id) == container;
}
EXPORT_SYMBOL_GPL(tegra410_is_in_container);

/* --- devices ---------------------------------------------------------------- */

static struct acpi_apmt_node *describe(const struct soc_place *place)
{
	const unsigned int number = number_of(place);
	const u64 base = HOST_BASE + ((u64)number << HOST_PMU_SHIFT);
	struct acpi_apmt_node *node = &nodes[number];

	*node = (struct acpi_apmt_node) {
		.length = sizeof(*node),
		.id = number,
		.base_address0 = base,
		.base_address1 = base + BIT(HOST_WINDOW_SHIFT),
		.ovflw_irq = HOST_IRQ + number,
		.flags = ACPI_APMT_FLAGS_DUAL_PAGE | ACPI_APMT_FLAGS_AFFINITY_PROC_CONTAINER,
		.proc_affinity = place->socket,
	};
	if (soc_atomic)
		node->flags |= ACPI_APMT_FLAGS_ATOMIC_SUPP;
	if (place->kind == SOC_UCF) {
		node->type = ACPI_APMT_NODE_TYPE_CACHE;
		node->impl_id = soc_impl_id;
		return node;
	}
	node->type = ACPI_APMT_NODE_TYPE_ACPI;
	memcpy(&node->inst_primary, place->kind == SOC_PCIE ? HOST_PCIE_HID : HOST_PCIE_TGT_HID,
	       sizeof(node->inst_primary));
	node->inst_secondary = place->socket * VSOC_ROOT_COMPLEXES + place->root_complex;
	return node;
}

static int make_device(struct soc_pmu *pmu)
{
	struct acpi_apmt_node *node = describe(&pmu->place);
	const struct resource resources[] = {
		DEFINE_RES_MEM(node->base_address0, HOST_WINDOW_BYTES),
		DEFINE_RES_MEM(node->base_address1, HOST_WINDOW_BYTES),
		DEFINE_RES_IRQ(node->ovflw_irq),
	};
	const struct platform_device_info info = {
		.name = "arm-cs-arch-pmu",
		.id = node->id,
		.res = resources,
		.num_res = ARRAY_SIZE(resources),
		.data = &node,
		.size_data = sizeof(node),
	};

	pmu->pdev = platform_device_register_full(&info);
	return PTR_ERR_OR_ZERO(pmu->pdev);
}

int soc_host_plug(struct soc_pmu *pmu)
{
	const unsigned int number = number_of(&pmu->place);

	/* a machine whose firmware does not describe the SoC has no PMUs of it */
	if (plugged[number] || !acpi_dev_present(HOST_PCIE_HID, NULL, -1))
		return 0;
	plugged[number] = pmu;
	return pmu->place.kind <= SOC_PCIE_TGT ? make_device(pmu) : 0;
}

struct soc_pmu *soc_host_take(const struct soc_place *place)
{
	return plugged[number_of(place)];
}

bool soc_host_keep(struct soc_pmu *pmu)
{
	return plugged[number_of(&pmu->place)] == pmu;
}

/* The drivers are gone: they use what this module exports. */
void soc_host_exit(void)
{
	for (unsigned int i = 0; i < HOST_PMUS; i++) {
		struct soc_pmu *pmu = plugged[i];

		if (!pmu)
			continue;
		if (!IS_ERR_OR_NULL(pmu->pdev))
			platform_device_unregister(pmu->pdev);
		plugged[i] = NULL;
		soc_pmu_destroy(pmu);
	}
}
