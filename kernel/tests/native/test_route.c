// SPDX-License-Identifier: GPL-2.0
/*
 * The law of the memory system, on every path of the virtual SoC and on random ones, in both modes:
 * no hop has more requests in flight than the flow's window, each request is counted once, what is
 * in flight is what the requests took (Little), and more load never shortens a request.
 */
#include <math.h>

#include "kernel.h"
#include "test.h"

#define ktime_get_raw_fast_ns	ktime_get_raw_ns
#define __rcu
#define __ffs(x)		((unsigned int)__builtin_ctzl(x))
#define round_down(x, to)	((x) / (to) * (to))
#define kvcalloc(n, size, gfp)	((void)(gfp), calloc(n, size))
#define kvzalloc(size, gfp)	kvcalloc(1, size, gfp)
#define kvfree(memory)		free(memory)

#include "fabric/vsoc_route.c"

static struct vsoc_fabric fabric;
static struct soc_pmu pmus[VSOC_SOCKETS][5 + 2 * VSOC_ROOT_COMPLEXES];

/* the registers are tested in the machine */
void soc_pmu_count(struct soc_pmu *pmu, const struct soc_tag *tag, const u64 *amounts)
{
}

static void begin(bool exact, unsigned long gpu_mask)
{
	memset(&fabric, 0, sizeof(fabric));
	fabric.gpu_mask = gpu_mask;
	for (u32 s = 0; s < VSOC_SOCKETS; s++) {
		for (u32 i = 0; i < ARRAY_SIZE(pmus[s]); i++)
			pmus[s][i].hz = SOC_UCF_HZ;
		fabric.ucf[s] = &pmus[s][0];
		fabric.cmem[s] = &pmus[s][1];
		fabric.c2c[s] = &pmus[s][2];
		fabric.clink[s] = &pmus[s][3];
		fabric.dlink[s] = &pmus[s][4];
		for (u32 i = 0; i < VSOC_ROOT_COMPLEXES; i++) {
			fabric.pcie[s][i] = &pmus[s][5 + 2 * i];
			fabric.pcie_tgt[s][i] = &pmus[s][6 + 2 * i];
		}
	}
	check_eq(vsoc_routes_init(&fabric, exact), 0);
}

static void end(void)
{
	vsoc_routes_fini(&fabric);
}

/* --- paths ------------------------------------------------------------------ */

struct path {
	struct vsoc_traffic t;
	unsigned long gpu_mask;
};

static struct path paths[1024];
static u32 path_count;

static void add_path(unsigned long gpu_mask, u8 kind, u8 initiator, u8 home, u8 socket)
{
	for (u8 op = 0; op < MEMSIM_OPS; op++)
		paths[path_count++] = (struct path){
			.t = { .kind = kind, .initiator = initiator, .home = home, .op = op,
			       .socket = socket },
			.gpu_mask = gpu_mask,
		};
}

/* all that a command may ask for, with and without GPUs on NVLink-C2C */
static void find_paths(void)
{
	path_count = 0;
	for (unsigned long mask = 0; mask <= 1; mask++) {
		for (u8 socket = 0; socket < VSOC_SOCKETS; socket++) {
			for (u8 home = 0; home < VSOC_HOMES; home++) {
				for (u8 i = 0; i < VSOC_INITIATORS; i++)
					add_path(mask, VSOC_TRAFFIC_MEM, i, home, socket);
				add_path(mask, VSOC_TRAFFIC_PCIE_SRC,
					 DRM_VSOC_INITIATOR_NONCPU, home, socket);
			}
			for (u8 i = DRM_VSOC_INITIATOR_CPU; i < VSOC_INITIATORS; i++) {
				add_path(mask, VSOC_TRAFFIC_PCIE_TGT, i, DRM_VSOC_HOME_CXL, socket);
				add_path(mask, VSOC_TRAFFIC_PCIE_TGT, i,
					 DRM_VSOC_HOME_PCIE_PEER, socket);
			}
		}
	}
}

/* --- the law ------------------------------------------------------------------ */

struct load {
	struct vsoc_traffic t;
	u64 bytes_per_us, lines;	/* left to offer */
	u64 rest;
};

static struct memsim_count before[MEMSIM_FLOWS];

/* lines at a hop cannot be faster than its wires */
static u64 least_ps(const struct memsim_flow *f, u32 hop)
{
	u64 ps = 0;

	for (u32 i = hop; i < f->hop_count; i++) {
		ps += 2 * f->hops[i].wire_ps;
		/* it may be in the cache, where a request turns around */
		if (f->hops[i].cache != MEMSIM_NONE)
			break;
	}
	return ps;
}

static void check_run(u64 ps)
{
	for (u32 i = 0; i < MEMSIM_FLOWS; i++) {
		const struct memsim_flow *f = &fabric.sim.flows[i];
		const struct memsim_count *c = &f->count;
		u64 outer = f->window * ps;

		for (u32 hop = 0; hop < f->hop_count; hop++) {
			const u64 grew = c->outstanding_ps[hop] - before[i].outstanding_ps[hop];

			check(c->left[hop] <= c->entered[hop]);
			check(c->entered[hop] - c->left[hop] <= f->window);
			check(grew <= outer);
			/* what is in flight at a hop is in flight at the one before */
			outer = grew;
			check(!hop || c->entered[hop] <= c->entered[hop - 1]);
		}
		check_eq(c->entered[0] - c->left[0], f->in_flight);
		before[i] = *c;
	}
}

static void check_end(void)
{
	u64 lines[MEMSIM_SERVERS] = { 0 };

	for (u32 i = 0; i < MEMSIM_FLOWS; i++) {
		const struct memsim_flow *f = &fabric.sim.flows[i];
		const struct memsim_count *c = &f->count;

		if (!f->hop_count)
			continue;
		check_eq(c->offered, c->left[0]);
		for (u32 hop = 0; hop < f->hop_count; hop++) {
			const struct memsim_hop *h = &f->hops[hop];
			u64 lost;

			check_eq(c->left[hop], c->entered[hop]);
			check_eq(c->latency_ps[hop], c->outstanding_ps[hop]);
			/* coarse mode estimates what part of a wait was at which hop */
			lost = hop && !fabric.sim.exact ? min_t(u64, f->window, c->left[hop]) : 0;
			check(c->latency_ps[hop] >= (c->left[hop] - lost) * least_ps(f, hop));
			if (h->forward != MEMSIM_NONE)
				lines[h->forward] += c->left[hop];
			if (h->back != MEMSIM_NONE)
				lines[h->back] += c->left[hop];
			if (h->cache == MEMSIM_NONE)
				continue;
			lines[fabric.sim.caches[h->cache].memory] += c->lookup.writebacks;
			lines[fabric.sim.caches[h->cache].far] += c->lookup.far_writebacks;
		}
	}
	for (u32 i = 0; i < MEMSIM_SERVERS; i++) {
		const struct memsim_server *s = &fabric.sim.servers[i];

		check_eq(s->requests, lines[i]);
		/* 1 us of idle time; in coarse mode lines of ranges that made room at the end */
		check(s->busy_ps <= s->units * (fabric.sim.now_ps +
						(fabric.sim.exact ? 1 : 40) * 1000000ULL));
	}
}

static void offer(struct load *l, u64 step_ns)
{
	const u64 bytes = l->rest + l->bytes_per_us * step_ns / 1000;
	const u64 lines = min(bytes / SOC_LINE_BYTES, l->lines);

	l->rest = bytes % SOC_LINE_BYTES;
	if (!lines)
		return;
	l->t.bytes = lines * SOC_LINE_BYTES;
	l->lines -= lines;
	vsoc_route_offer(&fabric, &l->t, step_ns);
	l->t.address += l->t.bytes;
}

static bool is_pending(void)
{
	for (u32 i = 0; i < MEMSIM_FLOWS; i++)
		if (memsim_pending(&fabric.sim, i))
			return true;
	return false;
}

/* Return: the mean latency of the first load, in ps. */
static double run(struct load *loads, u32 count, u64 step_ns)
{
	bool more = true;

	memset(before, 0, sizeof(before));
	while (more || is_pending()) {
		more = false;
		for (u32 i = 0; i < count; i++) {
			offer(&loads[i], step_ns);
			more |= loads[i].lines;
		}
		memsim_run(&fabric.sim, step_ns * 1000);
		vsoc_routes_count(&fabric);
		check_run(step_ns * 1000);
	}
	check_end();
	return (double)fabric.sim.flows[0].count.latency_ps[0] / fabric.sim.flows[0].count.left[0];
}

/* the same traffic of @count initiators, each with its part of the rate */
static double measure(const struct path *p, bool exact, u32 count, u32 window, u64 rate, u64 lines,
		      u64 place)
{
	struct load loads[3] = { 0 };
	double ps;

	begin(exact, p->gpu_mask);
	for (u32 i = 0; i < count; i++) {
		loads[i] = (struct load){ .t = p->t, .bytes_per_us = rate / count,
					  .lines = lines / count };
		loads[i].t.slot = i;
		loads[i].t.window = window;
		loads[i].t.address = ((u64)(i + 1) << 34) + i * place * 2048;
	}
	ps = run(loads, count, 5000);
	end();
	return ps;
}

/*
 * Up to three initiators of one path, up to twice what its slowest queue takes. Tolerance 3 %; of
 * exact mode, where two streams may happen to meet in a bank less often, 10 %.
 */
TEST(law_holds_on_every_path)
{
	find_paths();
	check_eq(path_count, 2 * VSOC_SOCKETS * (VSOC_HOMES * (VSOC_INITIATORS + 1) + 6) *
		 MEMSIM_OPS);
	for (u32 i = 0; i < path_count; i++) {
		for (u32 exact = 0; exact < 2; exact++) {
			double last = 0;

			for (u64 rate = 1500; rate < 40000; rate += exact ? 12500 : 2500) {
				const double ps = measure(&paths[i], exact, 1 + i % 3, 4 << i % 6,
							  rate, exact ? 1200 : 3 * rate, 4);

				/* ranges that make room for others are written back at any load */
				check(ps >= (exact ? 0.9 : 0.97) * last ||
				      fabric.sim.flows[0].count.lookup.writebacks ||
				      fabric.sim.flows[0].count.lookup.far_writebacks);
				last = ps;
			}
		}
	}
}

/* two and three streams in a memory, in the mean of places: 40 % at any load, 10 % if it is full */
TEST(modes_agree_on_the_wait_for_a_memory)
{
	const struct path p = { .t = { .initiator = DRM_VSOC_INITIATOR_CPU } };

	for (u32 count = 2; count <= 3; count++) {
		for (u64 rate = 3000; rate <= 24000; rate += 3000) {
			double ps[2] = { 0 };

			for (u32 exact = 0; exact < 2; exact++)
				for (u32 place = 0; place < 8; place++)
					ps[exact] += measure(&p, exact, count, 64, rate, 9000,
							     777 * place + place * place);
			check(fabs(ps[0] / ps[1] - 1) < (rate > 20000 ? 0.1 : 0.4));
		}
	}
}

static struct vsoc_traffic random_traffic(struct random_state *random, u32 slot)
{
	struct vsoc_traffic t = paths[random_below(random, path_count)].t;

	t.slot = slot;
	t.window = 1 + random_below(random, 1 << random_below(random, 9));
	t.root_complex = random_below(random, VSOC_ROOT_COMPLEXES);
	t.gpu = t.home == DRM_VSOC_HOME_GMEM ? random_below(random, VSOC_GPUS) : 0;
	t.engine = random_below(random, 2);
	t.address = 8192 * random_below(random, 4096);
	t.command = 1;
	return t;
}

/* half of the time a machine of other speeds */
static void change_machine(struct random_state *random)
{
	for (u32 i = 0; i < MEMSIM_SERVERS; i++) {
		struct memsim_server *s = &fabric.sim.servers[i];

		if (!s->service_ps)
			continue;
		s->service_ps = 400 + random_below(random, 20000);
		s->units = 1 << random_below(random, 3);
		s->row_ps = s->row_ps ? random_below(random, 40000) : 0;
	}
}

/* loads that begin, go on and end one by one, of any paths, windows, rates and steps */
TEST(law_holds_for_random_loads)
{
	struct random_state random = { test_seed() };

	find_paths();
	for (u32 round = 0; round < test_rounds(150); round++) {
		struct load loads[8] = { 0 };
		const u64 step_ns = 500 + random_below(&random, 1 << random_below(&random, 18));

		begin(round % 2, random_below(&random, 4));
		if (random_below(&random, 2))
			change_machine(&random);
		for (u32 i = 0; i < 1 + random_below(&random, 8); i++) {
			loads[i].t = random_traffic(&random, i);
			loads[i].bytes_per_us = 100 + random_below(&random, 60000);
			loads[i].lines = 1 + random_below(&random, 3000);
		}
		run(loads, ARRAY_SIZE(loads), step_ns);
		end();
	}
}

/* blocks of as many lines as the cache has sets are replaced as a whole, in the order of use */
TEST(cached_paths_hit_like_a_list_of_blocks)
{
	struct random_state random = { test_seed() };

	for (u32 exact = 0; exact < 2; exact++) {
		u32 list[SLC_WAYS] = { 0 }, used = 0;
		u64 hits = 0, fills = 0;

		begin(exact, 0);
		for (u32 command = 1; command <= 80; command++) {
			const u32 block = 1 + random_below(&random, SLC_WAYS + 8);
			struct load l = {
				.t = { .initiator = random_below(&random, 2) ?
				       DRM_VSOC_INITIATOR_CPU : DRM_VSOC_INITIATOR_NONCPU,
				       .op = random_below(&random, MEMSIM_DATALESS),
				       .window = 16, .command = command,
				       .address = (u64)block * SLC_SETS * SOC_LINE_BYTES },
				.bytes_per_us = 8000, .lines = SLC_SETS,
			};
			const struct memsim_lookup *found = &fabric.sim.flows[0].count.lookup;
			u32 at = 0;

			while (at < used && list[at] != block)
				at++;
			hits += at < used ? SLC_SETS : 0;
			fills += at < used ? 0 : SLC_SETS;
			used = at == used && used < SLC_WAYS ? used + 1 : used;
			memmove(list + 1, list, min(at, SLC_WAYS - 1) * sizeof(*list));
			list[0] = block;
			while (l.lines || is_pending()) {
				offer(&l, 20000);
				memsim_run(&fabric.sim, 20000000);
			}
			check_eq(found->hits, hits);
			check_eq(found->fills, fills);
		}
		check(hits > 10 * SLC_SETS && fills > 20 * SLC_SETS);
		end();
	}
}
