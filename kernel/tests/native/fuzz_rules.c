// SPDX-License-Identifier: GPL-2.0
/*
 * Counting rules of the virtual SoC under libFuzzer: any listings, and commands within the limits
 * of SUBMIT, on devices of any shape.
 */
#include "kernel.h"
#include "vsoc_csf_counters.h"
#include "vsoc_rules.h"

#include "fuzz_input.h"

#define MAX_BLOCKS	(VSOC_SETS * (VSOC_BLOCK_MEMSYS + VSOC_MAX_L2_SLICES + VSOC_MAX_CORES))
#define MAX_LISTING	64
/* of a thread; fewer than SUBMIT allows, for speed */
#define MAX_STEPS	20000

static struct vsoc_shape shape;
static struct vsoc_counting counting;
static struct vsoc_work_item items[MAX_BLOCKS * 64];
static struct vsoc_step steps[MAX_LISTING];

static u64 amount(struct input *in)
{
	u64 value = input_u64(in);

	/* small, large and the largest */
	switch (value & 3) {
	case 0:
		return value >> 2 & 0xff;
	case 1:
		return VSOC_MAX_UNITS - (value >> 2 & 0xff);
	default:
		return (value >> 2) % (VSOC_MAX_UNITS + 1);
	}
}

static u64 lines(struct input *in)
{
	return amount(in) & ~(u64)(DRM_VSOC_LINE_BYTES - 1);
}

static bool run_listing(struct input *in, struct vsoc_thread *thread)
{
	struct vsoc_run run = { .steps = steps, .count = 1 + input_below(in, MAX_LISTING) };
	u64 executed = 0;
	u32 breath = 1 + input_u8(in);
	unsigned int i;
	int ret = -EAGAIN;

	memset(steps, 0, sizeof(steps));
	memset(thread, 0, sizeof(*thread));
	for (i = 0; i < run.count; i++) {
		struct drm_vsoc_instruction *insn = &steps[i].insn;

		insn->opcode = input_bytes(in, 2);
		insn->guard = input_u8(in) & 3;
		insn->guard_times = input_u8(in);
		insn->target = input_u8(in);
		if (input_u8(in) & 1) {
			/* an opcode that passes the check */
			static const u16 opcodes[] = {
				DRM_VSOC_OP_IADD3, DRM_VSOC_OP_FADD, DRM_VSOC_OP_LDG,
				DRM_VSOC_OP_STG, DRM_VSOC_OP_BRA, DRM_VSOC_OP_EXIT,
				DRM_VSOC_OP_I2F, DRM_VSOC_OP_S2R, DRM_VSOC_OP_SHFL,
			};

			insn->opcode = opcodes[insn->opcode % ARRAY_SIZE(opcodes)];
			insn->guard %= 3;
			if (insn->guard != DRM_VSOC_GUARD_TIMES)
				insn->guard_times = 0;
			insn->target = insn->opcode == DRM_VSOC_OP_BRA ?
				       insn->target % run.count : 0;
		}
		if (vsoc_listing_check(insn, run.count))
			return false;
	}
	while (ret == -EAGAIN && run.taken < MAX_STEPS)
		ret = vsoc_listing_run(&run, breath, thread);
	require(ret == 0 || ret == -EAGAIN || ret == -EINVAL);
	for (i = 0; i < VSOC_CLASSES; i++)
		executed += thread->on[i] + thread->off[i];
	require(executed == run.taken);
	require(thread->loads + thread->stores <= thread->on[VSOC_CLASS_LD_ST]);
	return !ret;
}

static bool random_command(struct input *in, struct drm_vsoc_command *cmd, bool *listing,
			   struct vsoc_thread *thread)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->type = 1 + input_below(in, DRM_VSOC_CMD_SAMPLE);
	switch (cmd->type) {
	case DRM_VSOC_CMD_DRAW:
		cmd->draw.vertices = amount(in);
		cmd->draw.primitives = amount(in);
		cmd->draw.primitives_culled = input_u64(in) % (cmd->draw.primitives + 1);
		cmd->draw.fragments = amount(in);
		cmd->draw.texels = amount(in);
		break;
	case DRM_VSOC_CMD_COMPUTE:
		cmd->compute.threads = amount(in);
		*listing = input_u8(in) & 1;
		if (*listing)
			return run_listing(in, thread);
		cmd->compute.instructions = input_bytes(in, 2);
		break;
	case DRM_VSOC_CMD_COPY:
		cmd->copy.bytes = lines(in);
		cmd->copy.hit_bytes = cmd->copy.bytes / 64 ?
				      input_u64(in) % (cmd->copy.bytes / 64) * 64 : 0;
		cmd->copy.flags = 1 + input_below(in, 3);
		cmd->copy.initiator = input_below(in, DRM_VSOC_INITIATOR_REMOTE + 1);
		cmd->copy.home = input_below(in, DRM_VSOC_HOME_REMOTE + 1);
		cmd->copy.socket = input_below(in, VSOC_SOCKETS);
		cmd->copy.latency_cycles = input_bytes(in, 2);
		if (cmd->copy.home == DRM_VSOC_HOME_GMEM)
			cmd->copy.gpu = input_below(in, VSOC_GPUS);
		break;
	case DRM_VSOC_CMD_PCIE:
		cmd->pcie.bytes = lines(in);
		cmd->pcie.flags = input_u8(in) & 1;
		cmd->pcie.socket = input_below(in, VSOC_SOCKETS);
		cmd->pcie.root_complex = input_below(in, VSOC_ROOT_COMPLEXES);
		cmd->pcie.root_port = input_below(in, VSOC_ROOT_PORTS);
		cmd->pcie.home = input_below(in, DRM_VSOC_HOME_REMOTE + 1);
		cmd->pcie.latency_cycles = input_bytes(in, 2);
		break;
	case DRM_VSOC_CMD_WAIT:
		cmd->wait.duration_ns = amount(in);
		break;
	}
	return true;
}

int fuzz_one_input(const u8 *data, size_t size)
{
	struct input in = { data, data + size };
	struct vsoc_work work = { .shape = &shape, .counting = &counting, .items = items };
	struct drm_vsoc_command cmd;
	struct vsoc_thread thread;
	bool listing = false;
	u32 i;

	vsoc_shape_init(&shape, input_u64(&in) ?: 1, 1 + input_below(&in, VSOC_MAX_L2_SLICES),
			input_u8(&in) & 1 ? 128 : 64);
	memset(&counting, 0, sizeof(counting));
	counting.profile = input_below(&in, VSOC_PROFILES);
	counting.miscount = input_below(&in, VSOC_MISCOUNTS);
	work.capacity = vsoc_work_capacity(&shape);
	require(work.capacity <= ARRAY_SIZE(items));

	while (input_left(&in)) {
		listing = false;
		if (!random_command(&in, &cmd, &listing, &thread))
			continue;
		vsoc_rules_command(&work, &cmd, listing ? &thread : NULL);
		require(work.count < work.capacity);
		require(work.stream_count <= VSOC_MAX_STREAMS);
		for (i = 0; i < work.count; i++) {
			require(items[i].block < VSOC_SETS * shape.blocks);
			require(items[i].counter < shape.counters_per_block);
			require(items[i].total && !items[i].done);
			require(items[i].stream <= work.stream_count);
		}
		/* virtual time does not wrap */
		require(work.duration_ns && work.duration_ns < 1ull << 62);
	}
	return 0;
}
