/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How an nv50 GPU executes a command, and the wires of PCOUNTER and of the TPCs on which this is
 * visible. Free of kernel interfaces.
 */
#ifndef _NV50_WIRES_H_
#define _NV50_WIRES_H_

#include <linux/types.h>
#include "nv50_counters.h"
#include "pm_model.h"
#include "engine/vsoc_rules.h"

/* activities, in clocks of their domain or in units */
enum nv50_activity {
	NV50_IA_BUSY,
	NV50_IA_WAITS_FOR_FB,
	NV50_VERTICES,
	NV50_PRIMITIVES,
	NV50_POINTS,
	NV50_LINES,
	NV50_TRIANGLES,
	NV50_STREAMED,
	NV50_CULLED,
	NV50_TILES,
	NV50_TILES_ZCULLED,
	NV50_RASTER_PIXELS,
	NV50_SHADED_0,
	NV50_SHADED_1,
	NV50_SHADED_2,
	NV50_ROP_BUSY,
	NV50_ROP_WAITS_FOR_FB,
	NV50_ROP_WAITS_FOR_SHADER,
	NV50_EARLY_Z,
	NV50_LATE_Z,
	NV50_SAMPLES,
	NV50_TEX_WAITS_FOR_FB,
	NV50_TEX_BASE,
	NV50_TEX_OTHER,
	NV50_GEOM_BUSY,
	NV50_GEOM_WAITS_FOR_SHADER,
	NV50_SHADER_BUSY,
	NV50_SHADER_WAITS_FOR_TEX,
	NV50_SHADER_WAITS_FOR_GEOM,
	NV50_SHADER_WAITS_FOR_ROP,
	NV50_TEX_BUSY,
	NV50_TEX_WAITS_FOR_SHADER,
	NV50_ACTIVITIES,
};

/* MP counter events that the model generates; it never generates others */
enum nv50_mp_activity {
	NV50_ACT_BRANCH,
	NV50_ACT_DIVERGENT_BRANCH,
	NV50_ACT_INSTRUCTIONS,
	NV50_ACT_CTA,
	NV50_ACT_SERIALIZE,
	NV50_ACT_TRIGGER,	/* of trigger 0, followed by the others */
	NV50_MP_ACTIVITIES = NV50_ACT_TRIGGER + VSOC_TRIGGERS,
};

/* activities of a command */
struct nv50_demand {
	u64 gpu[NV50_ACTIVITIES];
	u64 mp[VSOC_MAX_CORES][NV50_MP_ACTIVITIES]; /* of each TPC, by present core */
};

/* nominal clocks of the domains; the shader clock is vsoc's, and all scale with it */
extern const u64 nv50_domain_hz[PCOUNTER_DOMAINS];

void nv50_command(struct nv50_demand *demand, const struct vsoc_shape *shape,
		  const struct drm_vsoc_command *cmd, const struct vsoc_thread *thread);
u64 nv50_demand_ns(const struct nv50_demand *demand, const struct vsoc_shape *shape);

/* clocks of a domain that @pending needs */
u64 nv50_pending_clocks(const u64 *pending, unsigned int domain);
/*
 * Moves what fits into @clocks of each domain from @pending to @emitted; @flush: includes fractions
 * of a clock.
 */
void nv50_emit(u64 *pending, const u64 *clocks, bool flush, u64 *emitted);

/* activity on the wires of a domain; too large for the stack */
struct nv50_waves {
	struct pm_wave wave[PM_WAVES_MAX];
	unsigned int count;			/* elements in use */
};

/*
 * Clocks a domain for @clocks clocks, in which @emitted of nv50_emit() occurs; @mux: by enum
 * nv50_mux.
 */
void nv50_drive(struct pm_model *pm, struct nv50_waves *waves, unsigned int domain,
		const u32 *mux, const u64 *emitted, bool busy, u64 clocks);
/* the same for the MP counters of a TPC */
void nv50_drive_mp(struct mp_state *mp, const u32 *mux, const u64 *emitted, u64 clocks);

/* reports to @count what each counter of the database should count for @emitted */
void nv50_expect(const u64 *emitted, void (*count)(void *priv, u32 position, u64 n), void *priv);
void nv50_expect_mp(const u64 *emitted, void (*count)(void *priv, u32 position, u64 n),
		    void *priv);

#endif /* _NV50_WIRES_H_ */
