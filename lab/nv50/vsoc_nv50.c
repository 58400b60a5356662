// SPDX-License-Identifier: GPL-2.0
/*
 * The GPU with NVIDIA-style counters: drives the model's wires from the workload engine, and is the
 * driver that connects the model to the counter source.
 *
 * While a job runs, the engine's slices clock the domains. Otherwise, each access clocks them for
 * the time elapsed.
 */
#include <linux/bitops.h>
#include <linux/debugfs.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_managed.h>

#include "nv50_mp.h"
#include "nv50_wires.h"
#include "source/pcounter/pcounter_perfctr.h"
#include "engine/vsoc.h"
#include "engine/vsoc_engine.h"
#include "engine/vsoc_fault.h"
#include "vsoc_nv50.h"

/* memory for 16,384 short packets of each domain */
#define RECORD_BYTES	(256u << 10)
/* while packets are recorded, limit of idle time to be clocked at once */
#define RECORD_IDLE_NS_MAX	NSEC_PER_SEC

struct vsoc_nv50 {
	struct pm_model pm;
	struct pcounter *pcounter;
	void *record[PCOUNTER_DOMAINS];
	struct nv50_waves waves;
	u32 mux[NV50_MUXES];
	u64 fraction[PCOUNTER_DOMAINS]; /* fractions of a clock, in 1/NSEC_PER_SEC */
	/* vsoc_now_ns() until which the domains were clocked */
	u64 time_ns;
	bool job;

	/* activities of the running command, those already due, and those that wait for clocks */
	struct nv50_demand demand;
	struct nv50_demand done;
	struct nv50_demand pending;

	struct nv50_mp mp;

	/* mask of domains whose STATUS and RECORD_STATUS read 0 until the registers are released */
	u8 silent;

	/* for nv50_expect() */
	struct vsoc_device *vsoc;
	size_t truth;
};

/* first register of the truth: PCOUNTER, then each TPC, after those of Mali-style blocks */
static size_t first_register(const struct vsoc_device *vsoc)
{
	return vsoc_gpu_set_first(vsoc, DRM_PERFCTR_SET_PRIMARY);
}

static void expect(void *priv, u32 position, u64 n)
{
	struct vsoc_nv50 *nv = priv;

	vsoc_gpu_count_truth(nv->vsoc, nv->truth + position, n);
}

/* --- clocks ------------------------------------------------------------------------ */

/* clocks of a domain in @ns at its nominal frequency */
static u64 advance(struct vsoc_nv50 *nv, unsigned int domain, u64 ns)
{
	u64 clocks = 0;

	while (ns) {
		const u64 part = min_t(u64, ns, NSEC_PER_SEC);
		u64 rest;

		clocks += div64_u64_rem(nv->fraction[domain] + part * nv50_domain_hz[domain],
					NSEC_PER_SEC, &rest);
		nv->fraction[domain] = rest;
		ns -= part;
	}
	return clocks;
}

static bool is_quad(const struct pm_model *pm, unsigned int d)
{
	return (pm->domains[d].ctrl & PCOUNTER_CTRL_MODE) == PCOUNTER_MODE_QUAD;
}

static bool is_recording(const struct vsoc_nv50 *nv)
{
	for (unsigned int d = 0; d < PCOUNTER_DOMAINS; d++)
		if ((nv->pm.domains[d].ctrl & PCOUNTER_CTRL_MODE) == PCOUNTER_MODE_RECORD)
			return true;
	return false;
}

/* account for time without a job */
void vsoc_nv50_idle(struct vsoc_device *vsoc)
{
	struct vsoc_nv50 *nv = vsoc->nv50;
	const struct vsoc_clock_state *clock = &vsoc->gpu.clocks[VSOC_CLOCK_SHADER];
	u64 now_ns, ns;

	if (!nv)
		return;
	lockdep_assert_held(&vsoc->hw_lock);
	now_ns = vsoc_now_ns(vsoc);
	if (nv->job || now_ns <= nv->time_ns)
		return;
	ns = now_ns - nv->time_ns;
	nv->time_ns = now_ns;
	/* bounded, so that a slow host can catch up */
	if (is_recording(nv))
		ns = min_t(u64, ns, RECORD_IDLE_NS_MAX);
	if (!clock->on)
		return;
	ns = mul_u64_u64_div_u64(ns, clock->hz, VSOC_SHADER_HZ);
	for (unsigned int d = 0; d < PCOUNTER_DOMAINS; d++) {
		const u64 clocks = advance(nv, d, ns);

		nv50_drive(&nv->pm, &nv->waves, d, nv->mux, NULL, false, clocks);
		if (d == 1) {
			nv->truth = first_register(vsoc);
			expect(nv, NV50_PCOUNTER_GPU_IDLE, clocks);
		}
		if (d != 3)
			continue;
		for (unsigned int k = 0; k < vsoc->shape.cores; k++) {
			static const u64 nothing[NV50_MP_ACTIVITIES];

			nv50_drive_mp(&nv->mp.tpc[k], nv->mux, nothing, clocks);
		}
	}
}

/* a job of @ctx begins, or ended (NULL): switches MP counters */
void vsoc_nv50_job(struct vsoc_device *vsoc, struct vsoc_ctx *ctx)
{
	struct vsoc_nv50 *nv = vsoc->nv50;

	if (!nv)
		return;
	mutex_lock(&vsoc->hw_lock);
	vsoc_nv50_idle(vsoc);
	nv->job = ctx;
	if (ctx)
		nv50_mp_begin(&nv->mp, ctx->mp);
	else
		nv50_mp_end(&nv->mp);
	mutex_unlock(&vsoc->hw_lock);
}

/* the duration of the command has passed */
void vsoc_nv50_methods(struct vsoc_device *vsoc, const struct drm_vsoc_cmd_methods *methods)
{
	mutex_lock(&vsoc->hw_lock);
	for (unsigned int i = 0; i < methods->count; i++)
		nv50_mp_method(&vsoc->nv50->mp, methods->methods[i].method,
			       methods->methods[i].data);
	mutex_unlock(&vsoc->hw_lock);
}

/* @records: for all TPCs, by physical index */
void vsoc_nv50_store(struct vsoc_device *vsoc, struct drm_vsoc_mp_record *records, u32 sequence)
{
	u64 tpcs = vsoc->shape.shader_present;

	mutex_lock(&vsoc->hw_lock);
	for (unsigned int k = 0; tpcs; k++, tpcs &= tpcs - 1) {
		struct drm_vsoc_mp_record *record = &records[__ffs64(tpcs)];

		for (unsigned int slot = 0; slot < MP_SLOTS; slot++)
			WRITE_ONCE(record->counters[slot],
				   nv50_mp_read(&vsoc->nv50->mp, k, slot));
		/* written last: userspace reads it first, with acquire semantics */
		smp_store_release(&record->sequence, sequence);
	}
	mutex_unlock(&vsoc->hw_lock);
}

/* MP counters of a new context; returns 0 or -ENOMEM */
int vsoc_nv50_ctx_init(struct vsoc_device *vsoc, struct vsoc_ctx *ctx)
{
	if (!vsoc->product_nv50)
		return 0;
	ctx->mp = kzalloc(sizeof(*ctx->mp), GFP_KERNEL_ACCOUNT);
	return ctx->mp ? 0 : -ENOMEM;
}

/* @cmd: the next command; NULL: begin or end of a job */
void vsoc_nv50_command(struct vsoc_device *vsoc, struct vsoc_work *work,
		       const struct drm_vsoc_command *cmd, const struct vsoc_thread *thread)
{
	struct vsoc_nv50 *nv = vsoc->nv50;

	if (!nv)
		return;
	nv50_command(&nv->demand, &vsoc->shape, cmd, thread);
	memset(&nv->done, 0, sizeof(nv->done));
	/* a command takes at least as long as the wires need to show its activities */
	if (cmd)
		work->duration_ns = max(work->duration_ns,
					nv50_demand_ns(&nv->demand, &vsoc->shape));
}

/* moves what has become due from @demand to @pending */
static void fall_due(const struct vsoc_work *work, u64 demand, u64 *done, u64 *pending)
{
	u64 due = demand;

	if (work->done_ns < work->duration_ns)
		due = mul_u64_u64_div_u64(demand, work->done_ns, work->duration_ns);
	*pending += due - *done;
	*done = due;
}

static void progress_gpu(struct vsoc_nv50 *nv, const struct vsoc_work *work, const u64 *clocks,
			 bool flush)
{
	u64 emitted[NV50_ACTIVITIES];

	for (unsigned int i = 0; i < NV50_ACTIVITIES; i++)
		fall_due(work, nv->demand.gpu[i], &nv->done.gpu[i], &nv->pending.gpu[i]);
	nv50_emit(nv->pending.gpu, clocks, flush, emitted);
	for (unsigned int i = 0; i < PCOUNTER_DOMAINS; i++)
		nv50_drive(&nv->pm, &nv->waves, i, nv->mux, emitted, true, clocks[i]);
	nv->truth = first_register(nv->vsoc);
	nv50_expect(emitted, expect, nv);
	expect(nv, NV50_PCOUNTER_GPU_BUSY, clocks[1]);
}

static void progress_mp(struct vsoc_nv50 *nv, const struct vsoc_work *work, unsigned int core,
			u64 clocks)
{
	u64 emitted[NV50_MP_ACTIVITIES];
	u64 *pending = nv->pending.mp[core];

	for (unsigned int i = 0; i < NV50_MP_ACTIVITIES; i++) {
		fall_due(work, nv->demand.mp[core][i], &nv->done.mp[core][i], &pending[i]);
		emitted[i] = min(pending[i], clocks);
		pending[i] -= emitted[i];
	}
	nv50_drive_mp(&nv->mp.tpc[core], nv->mux, emitted, clocks);
	nv->truth = first_register(nv->vsoc) + VSOC_NV50_POSITIONS * (1 + core);
	nv50_expect_mp(emitted, expect, nv);
}

/*
 * Account for a slice of a command.
 * @work: the command; @ns: length of the slice at nominal clocks; @time_ns: time that it took.
 */
void vsoc_nv50_progress(struct vsoc_device *vsoc, const struct vsoc_work *work, u64 ns,
			u64 time_ns)
{
	/* at the end of a command, the wires must have shown everything */
	const bool flush = work->done_ns == work->duration_ns;
	struct vsoc_nv50 *nv = vsoc->nv50;
	u64 clocks[PCOUNTER_DOMAINS];

	if (!nv)
		return;
	lockdep_assert_held(&vsoc->hw_lock);
	nv->time_ns += time_ns;
	for (unsigned int i = 0; i < PCOUNTER_DOMAINS; i++) {
		clocks[i] = advance(nv, i, ns);
		/* slices are rounded: add the clocks that the remainder needs */
		if (flush)
			clocks[i] = max(clocks[i], nv50_pending_clocks(nv->pending.gpu, i) +
						   nv50_pending_clocks(nv->demand.gpu, i) -
						   min(nv50_pending_clocks(nv->demand.gpu, i),
						       nv50_pending_clocks(nv->done.gpu, i)) + 2);
	}
	for (unsigned int k = 0; flush && k < vsoc->shape.cores; k++)
		for (unsigned int i = 0; i < NV50_MP_ACTIVITIES; i++)
			clocks[3] = max(clocks[3], nv->pending.mp[k][i] + nv->demand.mp[k][i] -
						   nv->done.mp[k][i]);
	progress_gpu(nv, work, clocks, flush);
	nv50_mp_passed(&nv->mp, time_ns);
	for (unsigned int k = 0; k < vsoc->shape.cores; k++)
		progress_mp(nv, work, k, clocks[3]);
}

/* the model's memory is set directly: GPU addresses are not modelled */
static void init_model(struct vsoc_nv50 *nv)
{
	pm_init(&nv->pm);
	for (unsigned int d = 0; d < PCOUNTER_DOMAINS; d++)
		pm_set_memory(&nv->pm, d, nv->record[d], RECORD_BYTES);
}

/* GPU reset: clears the registers */
void vsoc_nv50_reset(struct vsoc_device *vsoc)
{
	struct vsoc_nv50 *nv = vsoc->nv50;

	if (!nv)
		return;
	mutex_lock(&vsoc->hw_lock);
	vsoc_nv50_idle(vsoc);
	init_model(nv);
	memset(nv->mux, 0, sizeof(nv->mux));
	nv50_mp_reset(&nv->mp);
	mutex_unlock(&vsoc->hw_lock);
}

/* current frequency of a domain, which scales with the shader clock; any context */
u64 vsoc_nv50_hz(struct vsoc_device *vsoc, u8 clock)
{
	return mul_u64_u64_div_u64(nv50_domain_hz[clock],
				   READ_ONCE(vsoc->gpu.clocks[VSOC_CLOCK_SHADER].hz),
				   VSOC_SHADER_HZ);
}

/* --- the driver --------------------------------------------------------------------- */

/* while a job runs, its slices provide the clocks: time is that of the last slice */
static u64 begin(void *priv)
{
	struct vsoc_device *vsoc = priv;

	mutex_lock(&vsoc->hw_lock);
	vsoc_nv50_idle(vsoc);
	return vsoc->nv50->time_ns;
}

static void end(void *priv)
{
	struct vsoc_device *vsoc = priv;

	vsoc->nv50->silent = 0;
	mutex_unlock(&vsoc->hw_lock);
}

/* @domains: mask of domains that the request is for; returns false if an injected fault drops it */
static bool is_asked(struct vsoc_device *vsoc, u8 domains)
{
	struct vsoc_nv50 *nv = vsoc->nv50;

	if (vsoc_fault(vsoc, VSOC_FAULT_PCOUNTER_LOST))
		return false;
	if (vsoc_fault(vsoc, VSOC_FAULT_PCOUNTER_LATE))
		nv->silent |= domains;
	else
		nv->silent &= ~domains;
	return true;
}

static u32 read_register(void *priv, u32 reg)
{
	struct vsoc_device *vsoc = priv;
	const unsigned int d = reg / 4 % PCOUNTER_DOMAINS;
	const u32 value = pm_read(&vsoc->nv50->pm, reg);

	if (vsoc->nv50->silent & BIT(d) &&
	    (reg == PCOUNTER_STATUS(d) || reg == PCOUNTER_RECORD_STATUS(d)))
		return 0;
	return value;
}

static void write_register(void *priv, u32 reg, u32 value)
{
	struct vsoc_device *vsoc = priv;
	struct pm_model *pm = &vsoc->nv50->pm;
	const unsigned int d = reg / 4 % PCOUNTER_DOMAINS;

	if (reg == PGRAPH_PM_TRIGGER && !is_asked(vsoc, U8_MAX))
		return;
	/* the same value again requests a swap */
	if (reg == PCOUNTER_OP(d, PCOUNTER_PRE) && value == pm_read(pm, reg) && is_quad(pm, d)) {
		if (!is_asked(vsoc, BIT(d)))
			return;
		if (vsoc_fault(vsoc, VSOC_FAULT_PCOUNTER_TWICE))
			pm_write(pm, reg, value);
	}
	pm_write(pm, reg, value);
}

static void set_mux(void *priv, unsigned int mux, u32 value)
{
	struct vsoc_device *vsoc = priv;

	vsoc->nv50->mux[mux] = value;
}

static u64 hz(void *priv, unsigned int domain)
{
	return vsoc_nv50_hz(priv, domain);
}

static void mp_program(void *priv, const u32 *control)
{
	struct vsoc_device *vsoc = priv;

	nv50_mp_program(&vsoc->nv50->mp, control);
}

static u64 mp_take(void *priv, unsigned int tpc, unsigned int counter, bool *saturated)
{
	struct vsoc_device *vsoc = priv;
	const unsigned int k = hweight64(vsoc->shape.shader_present & (BIT_ULL(tpc) - 1));

	return nv50_mp_take(&vsoc->nv50->mp, k, counter, saturated);
}

static u64 mp_missed_ns(void *priv, unsigned int counter)
{
	struct vsoc_device *vsoc = priv;

	return nv50_mp_take_missed_ns(&vsoc->nv50->mp, counter);
}

static const struct pcounter_ops pcounter_ops = {
	.begin = begin,
	.end = end,
	.read = read_register,
	.write = write_register,
	.set_mux = set_mux,
	.hz = hz,
	.mp_program = mp_program,
	.mp_take = mp_take,
	.mp_missed_ns = mp_missed_ns,
};

static void free_record(struct drm_device *drm, void *data)
{
	struct vsoc_nv50 *nv = data;

	for (unsigned int d = 0; d < PCOUNTER_DOMAINS; d++)
		vfree(nv->record[d]);
}

int vsoc_nv50_init(struct vsoc_device *vsoc)
{
	struct vsoc_nv50 *nv;
	int ret;

	if (!vsoc->product_nv50)
		return 0;
	nv = drmm_kzalloc(&vsoc->drm, sizeof(*nv), GFP_KERNEL);
	if (!nv)
		return -ENOMEM;
	ret = drmm_add_action_or_reset(&vsoc->drm, free_record, nv);
	if (ret)
		return ret;
	for (unsigned int d = 0; d < PCOUNTER_DOMAINS; d++) {
		/* __GFP_NOWARN: the error is reported anyway */
		nv->record[d] = __vmalloc(RECORD_BYTES, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
		if (!nv->record[d])
			return -ENOMEM;
	}
	nv->vsoc = vsoc;
	init_model(nv);
	nv50_mp_init(&nv->mp, vsoc->shape.cores);
	nv->time_ns = vsoc_now_ns(vsoc);
	vsoc->nv50 = nv;
	return 0;
}

int vsoc_nv50_counters_init(struct vsoc_device *vsoc)
{
	struct vsoc_nv50 *nv = vsoc->nv50;
	struct pcounter_config config = {
		.ops = &pcounter_ops,
		.priv = vsoc,
		.tpcs = vsoc->shape.shader_present,
		.record_bytes = RECORD_BYTES,
	};

	memcpy(config.record, nv->record, sizeof(config.record));
	nv->pcounter = drmm_pcounter_create(&vsoc->drm, vsoc->pc, &config);
	return PTR_ERR_OR_ZERO(nv->pcounter);
}

static int pcounter_file_show(struct seq_file *m, void *data)
{
	const struct vsoc_device *vsoc = m->private;

	pcounter_show(vsoc->nv50->pcounter, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pcounter_file);

void vsoc_nv50_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	if (vsoc->nv50)
		debugfs_create_file("pcounter", 0444, dir, vsoc, &pcounter_file_fops);
}

/* --- truth --------------------------------------------------------------------------- */

static void show_line(struct seq_file *m, const char *account, const char *type, u32 index,
		      u32 position, const char *name, u64 value)
{
	if (account && !value)
		return;
	if (account)
		seq_printf(m, "%s ", account);
	seq_printf(m, "%s %u %u %s %llu\n", type, index, position, name, value);
}

/* in the format of the Mali-style truth; @values: of the primary set */
void vsoc_nv50_show(struct seq_file *m, const char *account, const u64 *values)
{
	static const struct {
		u8 position;
		const char *name;
	} pcounter[] = {
#define NAME(at, text)	{ at, text },
		NV50_PCOUNTER_COUNTERS(NAME)
	}, mp[] = {
		NV50_MP_COUNTERS(NAME)
	};
	static const u64 domains[PCOUNTER_DOMAINS] = {
		NV50_PCOUNTER_DOMAIN0, NV50_PCOUNTER_DOMAIN1, NV50_PCOUNTER_DOMAIN2,
		NV50_PCOUNTER_DOMAIN3, NV50_PCOUNTER_DOMAIN4, NV50_PCOUNTER_DOMAIN5,
		NV50_PCOUNTER_DOMAIN6, NV50_PCOUNTER_DOMAIN7,
	};
	const struct vsoc_device *vsoc = m->private;
	const u64 *v = values;
	u64 tpcs = vsoc->shape.shader_present;

	for (unsigned int d = 0; d < PCOUNTER_DOMAINS; d++)
		for (unsigned int i = 0; i < ARRAY_SIZE(pcounter); i++)
			if (domains[d] & BIT_ULL(pcounter[i].position))
				show_line(m, account, "PCOUNTER", d, pcounter[i].position,
					  pcounter[i].name, v[pcounter[i].position]);
	for (; tpcs; tpcs &= tpcs - 1) {
		v += VSOC_NV50_POSITIONS;
		for (unsigned int i = 0; i < ARRAY_SIZE(mp); i++)
			show_line(m, account, "MP", __ffs64(tpcs), mp[i].position, mp[i].name,
				  v[mp[i].position]);
	}
}
