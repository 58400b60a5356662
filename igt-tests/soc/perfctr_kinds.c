// SPDX-License-Identifier: MIT
/**
 * TEST: Each kind of SoC block counts exactly the traffic that its filter selects
 * Description: Each kind of SoC block on one job's traffic, with each of its filters.
 *
 * SUBTEST: %s
 * Description: %arg[1]
 *
 * arg[1]:
 * @ucf-filters: UCF blocks count the bytes of the requested sources and homes
 * @ucf-sockets: the index of a UCF block is its socket
 * @pcie-filters: PCIE blocks count bytes, requests and requests in flight of the requested root
 *   ports and homes
 * @pcie-device: PCIE blocks count the device with that bus, device and function
 * @pcie-root-complexes: the index of a PCIE block is socket << 8 | root complex
 * @pcie-tgt-filters: PCIE_TGT blocks count traffic to the requested root ports and addresses
 * @cmem-latency: CMEM_LATENCY blocks count reads of 32 bytes that reach the memory, and their
 *   latency
 * @nvlink-c2c-filters: NVLINK_C2C blocks count reads and writes of the requested GPUs
 * @nvclink: NVCLINK blocks count reads to and from the second socket
 * @nvdlink: NVDLINK blocks count reads of CXL memory
 * @catalogue: each bit of a SoC block's mask is the PMU's event of that name
 */
#include <stdio.h>
#include <string.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_sys.h"
#include "igt_vsoc.h"

#define MAX_COMMANDS 4
#define MAX_BLOCKS 5
#define MAX_EVENTS 5
#define LINE DRM_VSOC_LINE_BYTES

/* a requested block and its expected counts */
struct wanted {
	const char *pmu;
	uint16_t index;
	uint64_t config, config1, config2;
	/* the counters of the block in ascending order, up to the first unused element */
	struct {
		uint8_t used, event;
		uint64_t count;
	} events[MAX_EVENTS];
};

struct fabric_case {
	const char *name;
	uint16_t type;
	struct drm_vsoc_command commands[MAX_COMMANDS];
	struct wanted blocks[MAX_BLOCKS];
};

#define COUNT(n, c)                                   \
	{                                             \
		.used = 1, .event = (n), .count = (c) \
	}
#define COPY(...)                                                  \
	{                                                          \
		.type = DRM_VSOC_CMD_COPY, .copy = { __VA_ARGS__ } \
	}
#define PCIE(...)                                                  \
	{                                                          \
		.type = DRM_VSOC_CMD_PCIE, .pcie = { __VA_ARGS__ } \
	}

#define READ .flags = DRM_VSOC_COPY_READ
#define WRITE .flags = DRM_VSOC_COPY_WRITE
#define BY(who) .initiator = DRM_VSOC_INITIATOR_##who
#define TO(where) .home = DRM_VSOC_HOME_##where

/* bits of the PMUs' filters, see format/ in sysfs */
#define UCF_SRC_NONCPU 0x1
#define UCF_SRC_CPU 0x2
#define UCF_DST_CMEM 0x100
#define UCF_DST_GMEM 0x200
#define PCIE_BDF(bdf) ((uint64_t)(bdf) << 8 | 1u << 24)
#define PCIE_DST_CMEM 0x1
#define PCIE_DST_GMEM 0x2
#define TGT_ROOT_PORTS(mask) ((uint64_t)(mask) << 3)
#define TGT_ADDRESS 0x800

/* index of the blocks of PCIe */
#define ROOT_COMPLEX(socket, rc) ((socket) << 8 | (rc))

static const struct fabric_case cases[] = {
	{
		.name = "ucf-filters",
		.type = DRM_PERFCTR_TEGRA410_BLOCK_UCF,
		.commands = {
			COPY(.bytes = 1000 * LINE, .hit_bytes = 400 * LINE, READ, BY(CPU),
			     TO(CMEM)),
			COPY(.bytes = 300 * LINE, READ, BY(NONCPU), TO(CMEM)),
			COPY(.bytes = 50 * LINE, WRITE, BY(CPU), TO(GMEM)),
		},
		.blocks = {
			{ "nvidia_ucf_pmu_0", .events = {
				COUNT(DRM_PERFCTR_TEGRA410_UCF_SLC_HIT_RD, 400),
				COUNT(DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD, 1300 * LINE),
				COUNT(DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD, 900 * LINE),
				COUNT(DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_WR, 50 * LINE) } },
			{ "nvidia_ucf_pmu_0", .config1 = UCF_SRC_NONCPU, .events = {
				COUNT(DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD, 300 * LINE) } },
			{ "nvidia_ucf_pmu_0", .config1 = UCF_SRC_CPU | UCF_DST_CMEM, .events = {
				COUNT(DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD, 600 * LINE) } },
			{ "nvidia_ucf_pmu_0", .config1 = UCF_DST_GMEM, .events = {
				COUNT(DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_WR, 50 * LINE) } },
		},
	},
	{
		.name = "ucf-sockets",
		.type = DRM_PERFCTR_TEGRA410_BLOCK_UCF,
		.commands = {
			COPY(.bytes = 70 * LINE, READ, BY(CPU), TO(CMEM), .socket = 1),
			COPY(.bytes = 9 * LINE, READ, BY(CPU), TO(CMEM)),
		},
		.blocks = {
			{ "nvidia_ucf_pmu_1", .index = 1, .events = {
				COUNT(DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD, 70 * LINE) } },
			{ "nvidia_ucf_pmu_0", .events = {
				COUNT(DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD, 9 * LINE) } },
		},
	},
	{
		.name = "pcie-filters",
		.type = DRM_PERFCTR_TEGRA410_BLOCK_PCIE,
		.commands = {
			PCIE(.bytes = 500 * LINE, .flags = DRM_VSOC_PCIE_READ, .root_port = 0,
			     .bdf = 0x0108, TO(CMEM), .latency_cycles = 30),
			PCIE(.bytes = 60 * LINE, .flags = DRM_VSOC_PCIE_READ, .root_port = 1,
			     .bdf = 0x0200, TO(GMEM), .latency_cycles = 100),
			PCIE(.bytes = 8 * LINE, .root_port = 1, .bdf = 0x0108, TO(CMEM)),
		},
		.blocks = {
			{ "nvidia_pcie_pmu_0_rc_0", .events = {
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_RD_BYTES, 560 * LINE),
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_WR_BYTES, 8 * LINE),
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_RD_REQ, 560),
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_WR_REQ, 8) } },
			{ "nvidia_pcie_pmu_0_rc_0", .config1 = 0x2, .events = {
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_RD_CUM_OUTS, 60 * 100) } },
			{ "nvidia_pcie_pmu_0_rc_0", .config2 = PCIE_DST_GMEM, .events = {
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_RD_REQ, 60) } },
		},
	},
	/* alone: the PMU cannot count with and without such a filter at the same time */
	{
		.name = "pcie-device",
		.type = DRM_PERFCTR_TEGRA410_BLOCK_PCIE,
		.commands = {
			PCIE(.bytes = 500 * LINE, .flags = DRM_VSOC_PCIE_READ, .bdf = 0x0108,
			     TO(CMEM), .latency_cycles = 30),
			PCIE(.bytes = 60 * LINE, .flags = DRM_VSOC_PCIE_READ, .bdf = 0x0109,
			     TO(CMEM)),
			PCIE(.bytes = 8 * LINE, .bdf = 0x0108, TO(GMEM)),
		},
		.blocks = {
			{ "nvidia_pcie_pmu_0_rc_0", .config1 = PCIE_BDF(0x0108), .events = {
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_RD_REQ, 500),
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_WR_REQ, 8),
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_RD_CUM_OUTS, 500 * 30) } },
			{ "nvidia_pcie_pmu_0_rc_0", .config1 = PCIE_BDF(0x0108),
			  .config2 = PCIE_DST_CMEM, .events = {
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_WR_REQ, 0) } },
		},
	},
	{
		.name = "pcie-root-complexes",
		.type = DRM_PERFCTR_TEGRA410_BLOCK_PCIE,
		.commands = {
			PCIE(.bytes = 11 * LINE, .flags = DRM_VSOC_PCIE_READ, TO(CMEM), .socket = 1,
			     .root_complex = 2),
			PCIE(.bytes = 3 * LINE, .flags = DRM_VSOC_PCIE_READ, TO(CMEM), .socket = 0,
			     .root_complex = 2),
			PCIE(.bytes = 5 * LINE, .flags = DRM_VSOC_PCIE_READ, TO(CMEM), .socket = 1,
			     .root_complex = 0),
		},
		.blocks = {
			{ "nvidia_pcie_pmu_1_rc_2", .index = ROOT_COMPLEX(1, 2), .events = {
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_RD_REQ, 11) } },
			{ "nvidia_pcie_pmu_0_rc_2", .index = ROOT_COMPLEX(0, 2), .events = {
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_RD_REQ, 3) } },
			{ "nvidia_pcie_pmu_1_rc_0", .index = ROOT_COMPLEX(1, 0), .events = {
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_RD_REQ, 5) } },
		},
	},
	{
		.name = "pcie-tgt-filters",
		.type = DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT,
		.commands = {
			PCIE(.bytes = 40 * LINE, .flags = DRM_VSOC_PCIE_READ | DRM_VSOC_PCIE_TARGET,
			     .root_port = 0, .address = 0x100000, TO(PCIE_PEER), BY(CPU),
			     .root_complex = 1),
			PCIE(.bytes = 6 * LINE, .flags = DRM_VSOC_PCIE_TARGET, .root_port = 3,
			     .address = 0x800000, TO(PCIE_PEER), BY(CPU), .root_complex = 1),
		},
		.blocks = {
			{ "nvidia_pcie_tgt_pmu_0_rc_1", .index = ROOT_COMPLEX(0, 1), .events = {
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_BYTES, 40 * LINE),
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_BYTES, 6 * LINE),
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_REQ, 40),
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_REQ, 6) } },
			{ "nvidia_pcie_tgt_pmu_0_rc_1", .index = ROOT_COMPLEX(0, 1),
			  .config = TGT_ROOT_PORTS(0x8), .events = {
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_REQ, 0),
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_REQ, 6) } },
			{ "nvidia_pcie_tgt_pmu_0_rc_1", .index = ROOT_COMPLEX(0, 1),
			  .config = TGT_ADDRESS, .config1 = 0x100000, .config2 = ~0xfffffull,
			  .events = {
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_TGT_RD_REQ, 40),
				COUNT(DRM_PERFCTR_TEGRA410_PCIE_TGT_WR_REQ, 0) } },
		},
	},
	{
		.name = "cmem-latency",
		.type = DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY,
		.commands = {
			COPY(.bytes = 100 * LINE, .hit_bytes = 30 * LINE, READ, BY(CPU), TO(CMEM),
			     .latency_cycles = 77),
			COPY(.bytes = 100 * LINE, WRITE, BY(CPU), TO(CMEM)),
			COPY(.bytes = 100 * LINE, READ, BY(CPU), TO(GMEM)),
		},
		.blocks = {
			{ "nvidia_cmem_latency_pmu_0", .events = {
				COUNT(DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_REQ, 140),
				COUNT(DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_CUM_OUTS, 140 * 77) } },
			{ "nvidia_cmem_latency_pmu_1", .index = 1, .events = {
				COUNT(DRM_PERFCTR_TEGRA410_CMEM_LATENCY_RD_REQ, 0) } },
		},
	},
	{
		.name = "nvlink-c2c-filters",
		.type = DRM_PERFCTR_TEGRA410_BLOCK_NVLINK_C2C,
		.commands = {
			COPY(.bytes = 20 * LINE, READ, BY(CPU), TO(GMEM), .latency_cycles = 10),
			COPY(.bytes = 7 * LINE, WRITE, BY(CPU), TO(GMEM), .gpu = 1),
			COPY(.bytes = 5 * LINE, READ, BY(GPU), TO(CMEM), .latency_cycles = 9),
		},
		.blocks = {
			{ "nvidia_nvlink_c2c_pmu_0", .events = {
				COUNT(DRM_PERFCTR_TEGRA410_C2C_IN_RD_CUM_OUTS, 5 * 9),
				COUNT(DRM_PERFCTR_TEGRA410_C2C_IN_RD_REQ, 5),
				COUNT(DRM_PERFCTR_TEGRA410_C2C_OUT_RD_CUM_OUTS, 20 * 10),
				COUNT(DRM_PERFCTR_TEGRA410_C2C_OUT_RD_REQ, 20),
				COUNT(DRM_PERFCTR_TEGRA410_C2C_OUT_WR_REQ, 7) } },
			{ "nvidia_nvlink_c2c_pmu_0", .config1 = 0x1, .events = {
				COUNT(DRM_PERFCTR_TEGRA410_C2C_OUT_RD_REQ, 20),
				COUNT(DRM_PERFCTR_TEGRA410_C2C_OUT_WR_REQ, 0) } },
			{ "nvidia_nvlink_c2c_pmu_0", .config1 = 0x2, .events = {
				COUNT(DRM_PERFCTR_TEGRA410_C2C_OUT_RD_REQ, 0),
				COUNT(DRM_PERFCTR_TEGRA410_C2C_OUT_WR_REQ, 7) } },
		},
	},
	{
		.name = "nvclink",
		.type = DRM_PERFCTR_TEGRA410_BLOCK_NVCLINK,
		.commands = {
			COPY(.bytes = 13 * LINE, READ, BY(CPU), TO(REMOTE), .latency_cycles = 8),
			COPY(.bytes = 4 * LINE, READ, BY(REMOTE), TO(CMEM), .latency_cycles = 6),
		},
		.blocks = {
			{ "nvidia_nvclink_pmu_0", .events = {
				COUNT(DRM_PERFCTR_TEGRA410_C2C_IN_RD_CUM_OUTS, 4 * 6),
				COUNT(DRM_PERFCTR_TEGRA410_C2C_IN_RD_REQ, 4),
				COUNT(DRM_PERFCTR_TEGRA410_C2C_OUT_RD_CUM_OUTS, 13 * 8),
				COUNT(DRM_PERFCTR_TEGRA410_C2C_OUT_RD_REQ, 13) } },
			{ "nvidia_nvclink_pmu_1", .index = 1, .events = {
				COUNT(DRM_PERFCTR_TEGRA410_C2C_OUT_RD_REQ, 0) } },
		},
	},
	{
		.name = "nvdlink",
		.type = DRM_PERFCTR_TEGRA410_BLOCK_NVDLINK,
		.commands = {
			COPY(.bytes = 15 * LINE, .hit_bytes = 5 * LINE, READ, BY(CPU), TO(CXL),
			     .latency_cycles = 12),
			COPY(.bytes = 2 * LINE, READ, BY(CPU), TO(CMEM)),
		},
		.blocks = {
			{ "nvidia_nvdlink_pmu_0", .events = {
				COUNT(DRM_PERFCTR_TEGRA410_C2C_IN_RD_CUM_OUTS, 10 * 12),
				COUNT(DRM_PERFCTR_TEGRA410_C2C_IN_RD_REQ, 10) } },
		},
	},
};

static struct igt_perfctr_device dev;

static int pmu_file(const char *pmu, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/%s", pmu, file);
	return igt_read_int(path);
}

static void add_block(struct igt_perfctr_session *s, uint16_t type, const struct wanted *w)
{
	struct drm_perfctr_block_request *r = igt_perfctr_add_pmu(
		s, w->index, pmu_file(w->pmu, "type"), w->config, DRM_PERFCTR_CPU_ANY);

	r->type = type;
	r->mask = 0;
	r->config1 = w->config1;
	r->config2 = w->config2;
	for (unsigned int e = 0; e < MAX_EVENTS && w->events[e].used; e++)
		r->mask |= 1ull << w->events[e].event;
}

/* checks header and counts; returns the block's size */
static uint32_t check_block(const struct drm_perfctr_block_header *b, uint16_t type,
			    const struct wanted *w)
{
	const uint64_t *values = (const void *)((const char *)b + b->header_size);
	unsigned int e;

	igt_assert_eq(b->type, type);
	igt_assert_eq(b->index, w->index);
	igt_assert_eq(b->section, 0);
	igt_assert_eq(b->set, 0);
	igt_assert_eq(b->clock, DRM_PERFCTR_CLOCK_NONE);
	igt_assert_eq(b->product, DRM_PERFCTR_TEGRA410_PRODUCT);
	igt_assert_eq_u64(igt_perfctr_identity(b)->config, w->config);
	igt_assert_eq_u64(igt_perfctr_identity(b)->config1, w->config1);
	igt_assert_eq_u64(igt_perfctr_identity(b)->config2, w->config2);
	igt_assert_eq_u32(igt_perfctr_identity(b)->pmu_type, pmu_file(w->pmu, "type"));
	igt_assert_eq(igt_perfctr_identity(b)->cpu, pmu_file(w->pmu, "cpumask"));
	igt_assert(!strcmp(igt_perfctr_identity(b)->pmu_name, w->pmu));
	for (e = 0; e < MAX_EVENTS && w->events[e].used; e++) {
		igt_assert(b->enable_mask >> w->events[e].event & 1);
		igt_info("%s event %u: %llu\n", w->pmu, w->events[e].event,
			 (unsigned long long)values[e]);
		igt_assert_eq_u64(values[e], w->events[e].count);
	}
	igt_assert_eq(__builtin_popcountll(b->enable_mask), (int)e);
	igt_assert_eq_u64(b->valid_mask, b->enable_mask);
	return b->size;
}

static void run(const struct fabric_case *c)
{
	const struct drm_perfctr_sample_header *h;
	struct igt_perfctr_session s;
	unsigned int commands = 0;
	const char *at;

	igt_perfctr_session_init(&s, &dev);
	s.setup.request_count = 0;
	for (unsigned int i = 0; i < MAX_BLOCKS && c->blocks[i].pmu; i++)
		add_block(&s, c->type, &c->blocks[i]);
	igt_perfctr_session_create(&s);
	while (commands < MAX_COMMANDS && c->commands[commands].type)
		commands++;
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, c->commands, commands));
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);

	h = igt_perfctr_slot(&s, 0);
	at = (const char *)h + h->header_size;
	igt_assert_eq(h->block_count, s.setup.request_count);
	for (unsigned int i = 0; i < h->block_count; i++)
		at += check_block((const void *)at, c->type, &c->blocks[i]);
	igt_assert_eq(igt_perfctr_drain(&s), 1);
	igt_perfctr_session_fini(&s);
}

/* names of a kind's events in sysfs, by their bits; cycles have no exact number */
#define MAX_CATALOGUE 20

struct catalogue {
	uint16_t type;
	const char *pmu, *names[MAX_CATALOGUE];
};

static const struct catalogue catalogues[] = {
	{ DRM_PERFCTR_TEGRA410_BLOCK_UCF,
	  "nvidia_ucf_pmu_0",
	  { "cycles",	      "bus_cycles",	     "slc_allocate",
	    "slc_wb",	      "slc_refill_rd",	     "slc_refill_wr",
	    "slc_hit_rd",     "slc_access_dataless", "slc_access_atomic",
	    "slc_access_rd",  "slc_access_wr",	     "slc_bytes_rd",
	    "slc_bytes_wr",   "mem_access_rd",	     "mem_access_wr",
	    "mem_bytes_rd",   "mem_bytes_wr",	     "local_snoop",
	    "ext_snp_access", "ext_snp_evict" } },
	{ DRM_PERFCTR_TEGRA410_BLOCK_PCIE,
	  "nvidia_pcie_pmu_0_rc_0",
	  { "rd_bytes", "wr_bytes", "rd_req", "wr_req", "rd_cum_outs", "cycles" } },
	{ DRM_PERFCTR_TEGRA410_BLOCK_PCIE_TGT,
	  "nvidia_pcie_tgt_pmu_0_rc_0",
	  { "rd_bytes", "wr_bytes", "rd_req", "wr_req", "cycles" } },
	{ DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY,
	  "nvidia_cmem_latency_pmu_0",
	  { "cycles", "rd_req", "rd_cum_outs" } },
	{ DRM_PERFCTR_TEGRA410_BLOCK_NVLINK_C2C,
	  "nvidia_nvlink_c2c_pmu_0",
	  { "cycles", "in_rd_cum_outs", "in_rd_req", "in_wr_cum_outs", "in_wr_req",
	    "out_rd_cum_outs", "out_rd_req", "out_wr_cum_outs", "out_wr_req" } },
	{ DRM_PERFCTR_TEGRA410_BLOCK_NVCLINK,
	  "nvidia_nvclink_pmu_0",
	  { "cycles", "in_rd_cum_outs", "in_rd_req", NULL, NULL, "out_rd_cum_outs",
	    "out_rd_req" } },
	{ DRM_PERFCTR_TEGRA410_BLOCK_NVDLINK,
	  "nvidia_nvdlink_pmu_0",
	  { "cycles", "in_rd_cum_outs", "in_rd_req" } },
};

/* "event=0x109" */
static uint64_t event_config(const char *pmu, const char *name)
{
	unsigned long long config = ~0ull;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/events/%s", pmu, name);
	f = fopen(path, "re");
	igt_assert_f(f, "no %s\n", path);
	igt_assert_eq(fscanf(f, "event=%llx", &config), 1);
	fclose(f);
	return config;
}

/* reads and writes of different sizes on every path, some of them twice */
static unsigned int every_way(struct drm_vsoc_command *c)
{
	unsigned int n = 0;

	for (unsigned int initiator = 0; initiator <= DRM_VSOC_INITIATOR_REMOTE; initiator++) {
		for (unsigned int home = 0; home <= DRM_VSOC_HOME_CXL; home++) {
			c[n].type = DRM_VSOC_CMD_COPY;
			c[n].copy.bytes = (2 + n) * LINE;
			c[n].copy.hit_bytes = LINE;
			c[n].copy.flags = DRM_VSOC_COPY_READ | (n % 2 ? DRM_VSOC_COPY_WRITE : 0);
			c[n].copy.initiator = initiator;
			c[n].copy.home = home;
			c[n].copy.latency_cycles = 3 + n;
			n++;
		}
	}
	c[n].type = DRM_VSOC_CMD_COPY;
	c[n].copy = (struct drm_vsoc_cmd_copy){ .bytes = 31 * LINE, READ, BY(CPU), TO(REMOTE) };
	n++;
	for (unsigned int i = 0; i < 4; i++, n++) {
		c[n].type = DRM_VSOC_CMD_PCIE;
		c[n].pcie.bytes = (40 + n) * LINE;
		c[n].pcie.flags = i;
		c[n].pcie.home = i & DRM_VSOC_PCIE_TARGET ? DRM_VSOC_HOME_PCIE_PEER :
							    DRM_VSOC_HOME_CMEM;
		c[n].pcie.initiator = i & DRM_VSOC_PCIE_TARGET ? DRM_VSOC_INITIATOR_CPU : 0;
	}
	return n;
}

static bool is_exact(const char *name)
{
	/* cycles pass between the reads of two blocks, and a PMU may have one counter for them */
	return name && !strstr(name, "cycles");
}

/* bits at a time, each counted twice: as many as the PMUs have counters for */
#define BITS_AT_ONCE 4

/* bits of a kind, and the same events by their names in perf */
static void same_events(const struct catalogue *k, unsigned int first, unsigned int bits)
{
	struct drm_vsoc_command commands[24] = { 0 };
	const struct wanted none = { .pmu = k->pmu };
	struct igt_perfctr_session s;

	igt_perfctr_session_init(&s, &dev);
	s.setup.request_count = 0;
	add_block(&s, k->type, &none);
	for (unsigned int bit = first; bit < first + bits; bit++) {
		if (!k->names[bit])
			continue;
		s.requests[0].mask |= 1ull << bit;
		if (is_exact(k->names[bit]))
			igt_perfctr_add_pmu(&s, bit, pmu_file(k->pmu, "type"),
					    event_config(k->pmu, k->names[bit]),
					    DRM_PERFCTR_CPU_ANY);
	}
	/* a kind with fewer events */
	if (!s.requests[0].mask)
		return;
	igt_perfctr_begin(&s);
	igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, commands, every_way(commands)));
	igt_perfctr_finish(&s);
	for (unsigned int bit = first; bit < first + bits; bit++) {
		const char *name = k->names[bit];
		uint64_t count;

		if (!name)
			continue;
		count = igt_perfctr_sum(&s, k->type, 0, bit);
		igt_info("%s/%s/: %llu\n", k->pmu, name, (unsigned long long)count);
		if (is_exact(name))
			igt_assert_eq_u64(count, igt_perfctr_sum(&s, DRM_PERFCTR_BLOCK_GENERIC_PMU,
								 bit, 0));
		/* the virtual SoC has no such traffic */
		if (strcmp(name, "slc_access_dataless") && strcmp(name, "slc_access_atomic"))
			igt_assert_lte_u64(1, count);
	}
	igt_perfctr_session_fini(&s);
}

static void catalogue(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(catalogues); i++) {
		const struct catalogue *k = &catalogues[i];

		for (unsigned int bit = 0; bit < MAX_CATALOGUE; bit += BITS_AT_ONCE)
			same_events(k, bit, BITS_AT_ONCE);
	}
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
		igt_require_f(dev.info.features & DRM_PERFCTR_FEATURE_PMU, "no perf events\n");
		igt_require_f(pmu_file("nvidia_ucf_pmu_0", "type") > 0, "no PMUs of the fabric\n");
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		igt_subtest(cases[i].name) run(&cases[i]);
	}
	igt_subtest("catalogue") catalogue();
}
