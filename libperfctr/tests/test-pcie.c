// SPDX-License-Identifier: MIT
/* Root complexes and PCI segments, from synthetic configuration spaces. */
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

enum { CONFIG_BYTES = 4096, PORT_BYTES = 0x11, NVIDIA = 0x10de };

static void put(uint8_t *config, size_t at, uint32_t word)
{
	for (int i = 0; i < 4; i++)
		config[at + i] = (uint8_t)(word >> 8 * i);
}

static void capability(uint8_t *config, size_t at, unsigned int id, size_t next)
{
	put(config, at, id | 1u << 16 | (uint32_t)next << 20);
}

static void dvsec(uint8_t *config, size_t at, unsigned int vendor, unsigned int id,
		  unsigned int length, size_t next)
{
	capability(config, at, 0x23, next);
	put(config, at + 4, vendor | length << 20);
	config[at + 8] = (uint8_t)id;
	config[at + 9] = (uint8_t)(id >> 8);
}

static void port_data(uint8_t *config, size_t at, uint8_t bus, uint8_t segment, uint8_t rp,
		      uint8_t rc, uint8_t socket)
{
	const uint8_t bytes[] = { bus, segment, rp, rc, socket };

	memcpy(config + at + 0xc, bytes, sizeof(bytes));
}

/* a root port as in hardware: AER, another vendor's DVSEC, two of NVIDIA's */
static void root_port(uint8_t *config, uint8_t segment, uint8_t rp, uint8_t rc, uint8_t socket)
{
	memset(config, 0, CONFIG_BYTES);
	put(config, 0, NVIDIA | 0x22b2u << 16);
	capability(config, 0x100, 1, 0x148);
	dvsec(config, 0x148, 0x8086, 4, 0x20, 0x170);
	dvsec(config, 0x170, NVIDIA, 3, 0x20, 0x1a0);
	dvsec(config, 0x1a0, NVIDIA, 4, PORT_BYTES, 0x200);
	port_data(config, 0x1a0, 1, segment, rp, rc, socket);
	capability(config, 0x200, 0x19, 0);
}

/* decode a copy that ends at the end of the allocation, to detect overruns */
static int decode(const uint8_t *config, size_t bytes, struct perfctr_pcie_port *port)
{
	uint8_t *copy = malloc(bytes + !bytes);
	int error;

	memcpy(copy, config, bytes);
	error = perfctr_pcie_port_decode(copy, bytes, port);
	free(copy);
	return error;
}

TEST("a root port is found")
{
	struct perfctr_pcie_port port = { 0 };
	uint8_t config[CONFIG_BYTES];

	root_port(config, 9, 3, 4, 1);
	EQUAL(decode(config, CONFIG_BYTES, &port), 0);
	EQUAL(port.segment, 9);
	EQUAL(port.bus, 1);
	EQUAL(port.root_port, 3);
	EQUAL(port.root_complex, 4);
	EQUAL(port.socket, 1);
	/* all required bytes are there */
	EQUAL(decode(config, 0x1a0 + PORT_BYTES, &port), 0);
	EQUAL(decode(config, 0x1a0 + PORT_BYTES - 1, &port), -EBADMSG);
}

TEST("other devices are not")
{
	struct perfctr_pcie_port port;
	uint8_t config[CONFIG_BYTES] = { 0 };

	/* conventional PCI, or no extended capability */
	EQUAL(decode(config, CONFIG_BYTES, &port), -ENOENT);
	EQUAL(decode(config, 256, &port), -ENODATA);
	EQUAL(decode(config, 64, &port), -ENODATA);
	EQUAL(decode(config, 0, &port), -ENODATA);
	capability(config, 0x100, 1, 0);
	EQUAL(decode(config, CONFIG_BYTES, &port), -ENOENT);
	/* gone from the bus */
	memset(config, 0xff, sizeof(config));
	EQUAL(decode(config, CONFIG_BYTES, &port), -ENOENT);
	/* another vendor with the same id */
	memset(config, 0, sizeof(config));
	dvsec(config, 0x100, 0x8086, 4, 0x20, 0);
	EQUAL(decode(config, CONFIG_BYTES, &port), -ENOENT);
}

TEST("hostile lists end")
{
	static const size_t bad[] = { 0x40, 0xfc, 0x102, 0xffe };
	struct perfctr_pcie_port port;
	uint8_t config[CONFIG_BYTES] = { 0 };

	/* loops: to itself, and back and forth */
	capability(config, 0x100, 1, 0x100);
	EQUAL(decode(config, CONFIG_BYTES, &port), -EBADMSG);
	capability(config, 0x100, 1, 0x200);
	capability(config, 0x200, 2, 0x100);
	EQUAL(decode(config, CONFIG_BYTES, &port), -EBADMSG);
	/* invalid pointers */
	for (size_t n = 0; n < ARRAY_SIZE(bad); n++) {
		capability(config, 0x100, 1, bad[n]);
		EQUAL(decode(config, CONFIG_BYTES, &port), -EBADMSG);
	}
	capability(config, 0x100, 1, 0x300);
	EQUAL(decode(config, CONFIG_BYTES, &port), -EBADMSG);
	EQUAL(decode(config, 0x302, &port), -EBADMSG);
	/* a capability that is truncated, by its length or by the end of the space */
	memset(config, 0, sizeof(config));
	dvsec(config, 0x100, NVIDIA, 4, PORT_BYTES - 1, 0);
	EQUAL(decode(config, CONFIG_BYTES, &port), -EBADMSG);
	memset(config, 0, sizeof(config));
	capability(config, 0x100, 1, 0xff4);
	dvsec(config, 0xff4, NVIDIA, 4, PORT_BYTES, 0);
	EQUAL(decode(config, CONFIG_BYTES, &port), -EBADMSG);
}

TEST("any bytes are survived")
{
	struct perfctr_pcie_port port;
	uint8_t config[CONFIG_BYTES];
	unsigned int found = 0;
	uint64_t x = 1;

	for (int round = 0; round < 20000; round++) {
		root_port(config, 1, 2, 3, 0);
		for (int n = 0; n < 1 + round % 4; n++) {
			x = x * 6364136223846793005 + 1442695040888963407;
			/* mostly within the list */
			config[0x100 + (x >> 33) % (x >> 20 & 1 ? 0x110 : CONFIG_BYTES - 0x100)] =
				(uint8_t)(x >> 56);
		}
		x = x * 6364136223846793005 + 1442695040888963407;
		found +=
			!decode(config, round % 3 ? CONFIG_BYTES : (x >> 40) % CONFIG_BYTES, &port);
	}
	/* the rounds covered both results */
	CHECK(found > 1000 && found < 19000);
}

struct seen {
	char text[256];
	int result;
};

static int see(void *data, const struct perfctr_pcie_port *port)
{
	struct seen *seen = data;
	size_t length = strlen(seen->text);

	snprintf(seen->text + length, sizeof(seen->text) - length, "%s:%u.%u.%u.%u ", port->address,
		 port->socket, port->root_complex, port->root_port, port->segment);
	return seen->result;
}

#define PCI "/sys/bus/pci/devices/"

TEST_WITH(begin_fake, end, "a machine is walked")
{
	static uint8_t a[CONFIG_BYTES], b[CONFIG_BYTES], nic[CONFIG_BYTES], broken[CONFIG_BYTES];
	struct seen seen = { "", 0 };

	root_port(a, 4, 0, 4, 0);
	root_port(b, 9, 1, 3, 1);
	put(nic, 0, 0x15b3);
	capability(broken, 0x100, 1, 0x100);
	/* no PCI at all */
	EQUAL(perfctr_pcie_ports(ctx, see, &seen), 0);
	EQUAL_TEXT(seen.text, "");
	fake_binary(fake, PCI "0009:00:00.0/config", b, sizeof(b));
	fake_binary(fake, PCI "0004:00:00.0/config", a, sizeof(a));
	fake_binary(fake, PCI "0004:01:00.0/config", nic, sizeof(nic));
	fake_binary(fake, PCI "0005:00:00.0/config", broken, sizeof(broken));
	fake_file(fake, PCI "0006:00:00.0/config", "denied");
	EQUAL(perfctr_pcie_ports(ctx, see, &seen), 0);
	EQUAL_TEXT(seen.text, "0004:00:00.0:0.4.0.4 0009:00:00.0:1.3.1.9 ");
	/* the receiver's result ends the walk */
	seen = (struct seen){ "", 7 };
	EQUAL(perfctr_pcie_ports(ctx, see, &seen), 7);
	EQUAL_TEXT(seen.text, "0004:00:00.0:0.4.0.4 ");
}

TEST_WITH(begin_fake, end, "users see why there is nothing")
{
	static uint8_t a[CONFIG_BYTES];
	struct seen seen = { "", 0 };

	root_port(a, 4, 0, 4, 0);
	fake_binary(fake, PCI "0004:00:00.0/config", a, 64);
	EQUAL(perfctr_pcie_ports(ctx, see, &seen), -EACCES);
	HAS_TEXT(perfctr_ctx_error(ctx), "only root may read them");
	/* devices of other vendors cannot hide root ports */
	put(a, 0, 0x8086);
	EQUAL(perfctr_pcie_ports(ctx, see, &seen), 0);
}
