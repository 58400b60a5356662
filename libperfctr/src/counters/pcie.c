// SPDX-License-Identifier: MIT
/*
 * The PCI segment that the PMU of a root complex counts. Root ports of Tegra410 have it in a
 * vendor-specific capability (DVSEC) of their configuration space.
 */
#include "base/device.h"

#include <errno.h>
#include <stdio.h>

#define PCI_DEVICES "/sys/bus/pci/devices"

enum {
	/* PCI Express base specification: configuration space and extended capabilities */
	CONFIG_BYTES = 4096,
	EXTENDED_START = 0x100,
	CAPABILITY_ALIGN = 4,
	/* a list without loops is not longer than this */
	CAPABILITIES_MAX = (CONFIG_BYTES - EXTENDED_START) / CAPABILITY_ALIGN,
	CAPABILITY_DVSEC = 0x23,
	DVSEC_HEADER1 = 4,
	DVSEC_HEADER2 = 8,
	/* assigned by NVIDIA: id 4 has the location of a root port */
	VENDOR_NVIDIA = 0x10de,
	DVSEC_ROOT_PORT = 4,
	ROOT_PORT_BUS = 0xc,
	ROOT_PORT_SEGMENT = 0xd,
	ROOT_PORT_NUMBER = 0xe,
	ROOT_PORT_COMPLEX = 0xf,
	ROOT_PORT_SOCKET = 0x10,
	ROOT_PORT_BYTES = 0x11,
};

static uint32_t word_at(const uint8_t *config, size_t offset)
{
	return config[offset] | (uint32_t)config[offset + 1] << 8 |
	       (uint32_t)config[offset + 2] << 16 | (uint32_t)config[offset + 3] << 24;
}

EXPORT int perfctr_pcie_port_decode(const void *config, size_t bytes,
				    struct perfctr_pcie_port *port)
{
	const uint8_t *c = config;
	size_t at = EXTENDED_START;

	if (bytes > CONFIG_BYTES)
		bytes = CONFIG_BYTES;
	for (unsigned int n = 0; n < CAPABILITIES_MAX; n++) {
		uint32_t header, header1, length;

		if (bytes < at + 4)
			return at == EXTENDED_START ? -ENODATA : -EBADMSG;
		header = word_at(c, at);
		/* no extended capabilities, or the device is gone */
		if (!header || header == UINT32_MAX)
			return at == EXTENDED_START ? -ENOENT : -EBADMSG;
		if ((header & 0xffff) == CAPABILITY_DVSEC && bytes >= at + DVSEC_HEADER2 + 2) {
			header1 = word_at(c, at + DVSEC_HEADER1);
			length = header1 >> 20;
			if ((header1 & 0xffff) == VENDOR_NVIDIA &&
			    (c[at + DVSEC_HEADER2] | c[at + DVSEC_HEADER2 + 1] << 8) ==
				    DVSEC_ROOT_PORT) {
				if (length < ROOT_PORT_BYTES || bytes < at + ROOT_PORT_BYTES)
					return -EBADMSG;
				*port = (struct perfctr_pcie_port){
					.bus = c[at + ROOT_PORT_BUS],
					.segment = c[at + ROOT_PORT_SEGMENT],
					.root_port = c[at + ROOT_PORT_NUMBER],
					.root_complex = c[at + ROOT_PORT_COMPLEX],
					.socket = c[at + ROOT_PORT_SOCKET],
				};
				return 0;
			}
		}
		at = header >> 20;
		if (!at)
			return -ENOENT;
		if (at < EXTENDED_START || at % CAPABILITY_ALIGN)
			return -EBADMSG;
	}
	/* more steps than possible positions: the list has a loop */
	return -EBADMSG;
}

struct walk {
	struct perfctr_ctx *ctx;
	perfctr_pcie_port_fn fn;
	void *data;
	/* the vendor's devices whose extended configuration space cannot be read */
	unsigned int hidden, found;
};

static int visit_port(void *arg, const char *address)
{
	struct walk *w = arg;
	const struct perfctr_sys *sys = w->ctx->sys;
	struct perfctr_pcie_port port;
	uint8_t config[CONFIG_BYTES];
	char path[PATH_BYTES];
	size_t bytes = 0;
	ssize_t done;
	int fd, error;

	if (snprintf(path, sizeof(path), "%s/%s/config", PCI_DEVICES, address) >= (int)sizeof(path))
		return 0;
	fd = sys->open(sys->data, path, 0);
	if (fd < 0)
		return 0;
	do {
		done = sys->read(sys->data, fd, config + bytes, sizeof(config) - bytes);
		bytes += done > 0 ? (size_t)done : 0;
	} while (done > 0 && bytes < sizeof(config));
	sys->close(sys->data, fd);

	error = perfctr_pcie_port_decode(config, bytes, &port);
	if (error == -ENODATA && bytes >= 2 && (config[0] | config[1] << 8) == VENDOR_NVIDIA)
		w->hidden++;
	if (error == -EBADMSG)
		perfctr_log(w->ctx, PERFCTR_LOG_WARNING, "%s: malformed capabilities", path);
	if (error)
		return 0;
	w->found++;
	port.address = address;
	return w->fn(w->data, &port);
}

EXPORT int perfctr_pcie_ports(struct perfctr_ctx *ctx, perfctr_pcie_port_fn fn, void *data)
{
	struct walk w = { .ctx = ctx, .fn = fn, .data = data };
	int result = ctx->sys->list(ctx->sys->data, PCI_DEVICES, visit_port, &w);

	/* a machine without PCI */
	if (result == -ENOENT)
		return 0;
	if (!result && !w.found && w.hidden)
		return perfctr_fail(
			ctx, -EACCES,
			"%u PCI devices hide the capabilities that name their root complex: "
			"only root may read them",
			w.hidden);
	return result;
}
