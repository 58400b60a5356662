// SPDX-License-Identifier: GPL-2.0
/*
 * A PCI host bridge for each modelled root complex, in a segment of its own, with the root ports as
 * bridges on bus 0. Their configuration space is all there is: no windows, interrupts or devices.
 */
#include <linux/err.h>
#include <linux/numa.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "engine/vsoc_traffic.h"
#include "vsoc_fabric.h"

#define FIRST_SEGMENT		0x40
/* any number that no driver binds to */
#define PORT_DEVICE		0x22ff
#define PCIE_CAP		0x40
/* NVIDIA's capability with the place of a root port */
#define DVSEC			0x100
#define DVSEC_BYTES		0x14
#define DVSEC_PLACE		4

struct bridge {
	struct pci_sysdata sysdata;	/* of x86, first: bus->sysdata leads here */
	struct resource buses;
	struct pci_bus *bus;
	u8 socket, root_complex;
	/* by root port: what the kernel writes */
	u16 command[VSOC_ROOT_PORTS];
	u32 bus_numbers[VSOC_ROOT_PORTS];
};

struct vsoc_pci {
	struct bridge bridges[VSOC_SOCKETS * VSOC_ROOT_COMPLEXES];
};

static_assert(FIRST_SEGMENT + VSOC_SOCKETS * VSOC_ROOT_COMPLEXES <= 0x100,
	      "DVSEC has 8 bits for a segment");

static u32 port_word(const struct bridge *b, u32 port, int at)
{
	switch (at) {
	case PCI_VENDOR_ID:
		return PCI_VENDOR_ID_NVIDIA | PORT_DEVICE << 16;
	case PCI_COMMAND:
		return b->command[port] | PCI_STATUS_CAP_LIST << 16;
	case PCI_CLASS_REVISION:
		return PCI_CLASS_BRIDGE_PCI_NORMAL << 8;
	case PCI_CACHE_LINE_SIZE:
		return PCI_HEADER_TYPE_BRIDGE << 16;
	case PCI_PRIMARY_BUS:
		return b->bus_numbers[port];
	/* no windows: their ends are below their beginnings */
	case PCI_IO_BASE:
		return 0xf0;
	case PCI_MEMORY_BASE:
	case PCI_PREF_MEMORY_BASE:
		return 0xfff0;
	case PCI_CAPABILITY_LIST:
		return PCIE_CAP;
	case PCIE_CAP:
		return PCI_CAP_ID_EXP | (2 | PCI_EXP_TYPE_ROOT_PORT << 4) << 16;
	case DVSEC:
		return PCI_EXT_CAP_ID_DVSEC | 1 << 16;
	case DVSEC + PCI_DVSEC_HEADER1:
		return PCI_VENDOR_ID_NVIDIA | DVSEC_BYTES << 20;
	case DVSEC + PCI_DVSEC_HEADER2:
		return DVSEC_PLACE;
	/* bus, segment, root port, root complex; then the socket */
	case DVSEC + 0xc:
		return b->sysdata.domain << 8 | port << 16 | b->root_complex << 24;
	case DVSEC + 0x10:
		return b->socket;
	default:
		return 0;
	}
}

static int config_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *value)
{
	const struct bridge *b = bus->sysdata;

	if (!pci_is_root_bus(bus) || PCI_FUNC(devfn) || PCI_SLOT(devfn) >= VSOC_ROOT_PORTS) {
		*value = ~0;
		return PCIBIOS_DEVICE_NOT_FOUND;
	}
	*value = port_word(b, PCI_SLOT(devfn), where & ~3) >> where % 4 * 8;
	*value &= GENMASK(size * 8 - 1, 0);
	return PCIBIOS_SUCCESSFUL;
}

static int config_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 value)
{
	const u32 shift = where % 4 * 8, mask = GENMASK(size * 8 - 1, 0) << shift;
	struct bridge *b = bus->sysdata;
	u32 *numbers;

	if (!pci_is_root_bus(bus) || PCI_FUNC(devfn) || PCI_SLOT(devfn) >= VSOC_ROOT_PORTS)
		return PCIBIOS_DEVICE_NOT_FOUND;
	numbers = &b->bus_numbers[PCI_SLOT(devfn)];
	if ((where & ~3) == PCI_PRIMARY_BUS)
		*numbers = (*numbers & ~mask) | (value << shift & mask);
	else if (where == PCI_COMMAND)
		b->command[PCI_SLOT(devfn)] = value & (PCI_COMMAND_IO | PCI_COMMAND_MEMORY |
						       PCI_COMMAND_MASTER);
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops config_ops = {
	.read = config_read,
	.write = config_write,
};

static int add_bridge(struct bridge *b, struct device *parent)
{
	struct pci_host_bridge *host = pci_alloc_host_bridge(0);
	int ret;

	if (!host)
		return -ENOMEM;
	b->buses = (struct resource){ .name = "vsoc buses", .end = 0xff, .flags = IORESOURCE_BUS };
	b->sysdata.node = NUMA_NO_NODE;
	pci_add_resource(&host->windows, &b->buses);
	host->dev.parent = parent;
	host->sysdata = b;
	host->ops = &config_ops;
	ret = pci_scan_root_bus_bridge(host);
	if (ret) {
		pci_free_host_bridge(host);
		return ret;
	}
	b->bus = host->bus;
	pci_bus_add_devices(b->bus);
	return 0;
}

void vsoc_pci_remove(struct vsoc_pci *pci)
{
	pci_lock_rescan_remove();
	for (u32 i = 0; i < ARRAY_SIZE(pci->bridges); i++) {
		if (!pci->bridges[i].bus)
			continue;
		pci_stop_root_bus(pci->bridges[i].bus);
		pci_remove_root_bus(pci->bridges[i].bus);
	}
	pci_unlock_rescan_remove();
	kfree(pci);
}

struct vsoc_pci *vsoc_pci_add(struct device *parent)
{
	struct vsoc_pci *pci = kzalloc(sizeof(*pci), GFP_KERNEL);
	int ret = 0;

	if (!pci)
		return ERR_PTR(-ENOMEM);
	for (u32 i = 0; !ret && i < ARRAY_SIZE(pci->bridges); i++) {
		pci->bridges[i].socket = i / VSOC_ROOT_COMPLEXES;
		pci->bridges[i].root_complex = i % VSOC_ROOT_COMPLEXES;
		pci->bridges[i].sysdata.domain = FIRST_SEGMENT + i;
		ret = add_bridge(&pci->bridges[i], parent);
	}
	if (!ret)
		return pci;
	vsoc_pci_remove(pci);
	return ERR_PTR(ret);
}
