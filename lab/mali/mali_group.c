// SPDX-License-Identifier: GPL-2.0
/*
 * Group slots: start, suspend, resume, end; suspend buffers; which streams run.
 */
#include <linux/bitfield.h>
#include <linux/build_bug.h>
#include <linux/string.h>

#include "mali_mcu.h"

/* offsets in a group's part of the shared section; stream words follow those of all groups */
#define INPUT_OFFSET		0x200
#define OUTPUT_OFFSET		0x280
#define STREAM_STRIDE		0x10
#define STREAM_AREA		0x8000
#define STREAM_BYTES		0x200
#define STREAM_OUTPUT		0x100

static_assert(STREAM_AREA + MALI_GROUPS * MALI_STREAMS * STREAM_BYTES <=
	      MALI_SHARED_BYTES);
static_assert(MALI_STREAM_CONTROL_OFFSET + MALI_STREAMS * STREAM_STRIDE <= INPUT_OFFSET);
static_assert(sizeof(struct mali_stream_control) <= STREAM_STRIDE);
static_assert(sizeof(struct mali_stream_input) <= STREAM_OUTPUT);
static_assert(sizeof(struct mali_stream_output) <= STREAM_BYTES - STREAM_OUTPUT);

/* --- suspend buffers ----------------------------------------------------- */

#define SUSPEND_MAGIC		0x53555350

/* start of a suspend buffer; the streams follow */
struct suspend_header {
	u32 magic;
	u32 streams;
	u64 started;	/* mask of streams that were started */
};

static u64 stream_place(u64 va, u32 stream)
{
	return va + sizeof(struct suspend_header) + stream * sizeof(struct mali_cs);
}

static u32 suspend_bytes(const struct mali_product *product)
{
	return stream_place(0, MALI_STREAMS);
}

/* an error is a fault of firmware's own address space */
static int save(struct mali_group *group)
{
	struct mali_gpu *gpu = group->mcu->gpu;
	u64 va = mali_word64(&group->in->suspend_va);
	struct suspend_header header = {
		.magic = SUSPEND_MAGIC,
		.streams = MALI_STREAMS,
	};
	int err;

	for (u32 i = 0; i < header.streams; i++) {
		if (group->streams[i].state == MALI_STREAM_STOPPED)
			continue;
		header.started |= BIT_ULL(i);
		err = mali_mem_write(gpu, MALI_MCU_AS, stream_place(va, i),
				     &group->streams[i].cs, sizeof(group->streams[i].cs));
		if (err)
			return err;
	}
	return mali_mem_write(gpu, MALI_MCU_AS, va, &header, sizeof(header));
}

static int restore(struct mali_group *group)
{
	struct mali_gpu *gpu = group->mcu->gpu;
	u64 va = mali_word64(&group->in->suspend_va);
	struct suspend_header header;
	int err = mali_mem_read(gpu, MALI_MCU_AS, va, &header, sizeof(header));

	if (err)
		return err;
	/* not written by firmware: the host passed a different buffer, or overwrote this one */
	if (header.magic != SUSPEND_MAGIC || header.streams != MALI_STREAMS)
		return -EINVAL;
	for (u32 i = 0; i < header.streams; i++) {
		if (!(header.started & BIT_ULL(i)))
			continue;
		err = mali_mem_read(gpu, MALI_MCU_AS, stream_place(va, i),
				    &group->streams[i].cs, sizeof(group->streams[i].cs));
		if (err)
			return err;
		if (group->streams[i].cs.depth > MALI_CALL_DEPTH)
			return -EINVAL;
	}
	return 0;
}

/* --- requests ------------------------------------------------------------ */

bool mali_group_active(const struct mali_group *group)
{
	return group->state == MALI_CSG_START || group->state == MALI_CSG_RESUME;
}

static void update_status(struct mali_group *group)
{
	bool idle = true;

	for (u32 i = 0; i < MALI_STREAMS; i++) {
		mali_stream_status(&group->streams[i]);
		idle &= mali_stream_idle(&group->streams[i]);
	}
	mali_set_word(&group->out->state, idle ? MALI_CSG_OUTPUT_IDLE : 0);
}

void mali_group_reset(struct mali_group *group)
{
	for (u32 i = 0; i < MALI_STREAMS; i++)
		mali_stream_stop(&group->streams[i]);
	group->state = MALI_CSG_TERMINATE;
	group->idle = false;
}

static void ring_streams(struct mali_group *group)
{
	u32 req = mali_word(&group->in->doorbell_req);
	u32 rung = req ^ mali_doorbells_acknowledge(&group->out->doorbell_ack, req);

	for (u32 i = 0; i < MALI_STREAMS; i++)
		if (rung & BIT(i))
			mali_stream_requests(&group->streams[i]);
}

static int change_state(struct mali_group *group, u32 state)
{
	const bool was_active = mali_group_active(group);
	int err = 0;

	switch (state) {
	case MALI_CSG_START:
	case MALI_CSG_RESUME:
		group->as = FIELD_GET(MALI_CSG_CONFIG_AS, mali_word(&group->in->config));
		group->idle = false;
		for (u32 i = 0; i < MALI_STREAMS; i++)
			memset(&group->streams[i].cs, 0, sizeof(group->streams[i].cs));
		if (state == MALI_CSG_RESUME)
			err = restore(group);
		break;
	case MALI_CSG_SUSPEND:
		/* a chunk that the host granted before belongs to the group */
		if (was_active)
			ring_streams(group);
		update_status(group);
		if (was_active)
			err = save(group);
		break;
	}
	if (!err && (state == MALI_CSG_SUSPEND || state == MALI_CSG_TERMINATE))
		mali_group_reset(group);
	if (!err)
		group->state = state;
	return err;
}

/* an error means that firmware stops and no longer answers the host */
int mali_group_requests(struct mali_group *group)
{
	const u32 answers = MALI_CSG_STATE | MALI_CSG_ENDPOINT_CONFIG | MALI_CSG_STATUS_UPDATE;
	u32 req = mali_word(&group->in->req);
	u32 ack = mali_word(&group->out->ack);
	u32 pending = req ^ ack;
	int err;

	if (pending & MALI_CSG_STATE) {
		err = change_state(group, req & MALI_CSG_STATE);
		if (err)
			return err;
		ack = (ack & ~MALI_CSG_STATE) | (req & MALI_CSG_STATE);
	}
	if (mali_group_active(group))
		ring_streams(group);
	if (pending & MALI_CSG_STATUS_UPDATE)
		update_status(group);
	ack ^= pending & (MALI_CSG_ENDPOINT_CONFIG | MALI_CSG_STATUS_UPDATE);
	/* streams may have raised events meanwhile: keep those bits of ack */
	mali_group_acknowledge(group, (ack & answers) | (mali_word(&group->out->ack) & ~answers));
	return 0;
}

/* --- running ------------------------------------------------------------- */

/* executes a slice of each stream; returns true if any of them has more to execute */
bool mali_group_run(struct mali_group *group)
{
	const u64 before = group->mcu->instructions;
	bool more = false, idle = true;

	if (!mali_group_active(group))
		return false;
	for (u32 i = 0; i < MALI_STREAMS; i++) {
		more |= mali_stream_run(&group->streams[i]);
		idle &= mali_stream_idle(&group->streams[i]);
	}
	/* report idle again if instructions were executed since the last report */
	if (idle && (!group->idle || group->mcu->instructions != before)) {
		update_status(group);
		mali_group_event(group, MALI_CSG_IDLE);
	}
	group->idle = idle;
	return more;
}

/* --- boot ---------------------------------------------------------------- */

static void boot_stream(struct mali_group *group, u32 number, u32 group_offset)
{
	u32 words = STREAM_AREA +
		    (group->number * MALI_STREAMS + number) * STREAM_BYTES;
	struct mali_stream_control *control =
		mali_mcu_shared(group->mcu, group_offset + MALI_STREAM_CONTROL_OFFSET +
				number * STREAM_STRIDE);
	struct mali_stream *stream = &group->streams[number];

	memset(stream, 0, sizeof(*stream));
	stream->group = group;
	stream->number = number;
	stream->in = mali_mcu_shared(group->mcu, words);
	stream->out = mali_mcu_shared(group->mcu, words + STREAM_OUTPUT);
	mali_set_word(&control->input_va, MALI_SHARED_VA + words);
	mali_set_word(&control->output_va, MALI_SHARED_VA + words + STREAM_OUTPUT);
	mali_set_word(&control->features,
		      FIELD_PREP(MALI_STREAM_REGISTERS, MALI_REGISTERS - 1) |
		      FIELD_PREP(MALI_STREAM_SCOREBOARDS, MALI_SCOREBOARDS) |
		      MALI_STREAM_COMPUTE | MALI_STREAM_FRAGMENT | MALI_STREAM_TILER);
}

void mali_group_boot(struct mali_mcu *mcu, u32 number, u32 stride)
{
	const struct mali_product *product = mcu->gpu->product;
	u32 offset = MALI_GROUP_CONTROL_OFFSET + number * stride;
	struct mali_group_control *control = mali_mcu_shared(mcu, offset);
	struct mali_group *group = &mcu->group[number];

	group->mcu = mcu;
	group->number = number;
	group->in = mali_mcu_shared(mcu, offset + INPUT_OFFSET);
	group->out = mali_mcu_shared(mcu, offset + OUTPUT_OFFSET);
	/* the previous firmware ended or suspended every group */
	group->state = mali_word(&group->out->ack) & MALI_CSG_STATE;
	group->idle = false;
	if (mali_group_active(group))
		group->state = MALI_CSG_TERMINATE;
	mali_set_word(&control->features, 0);
	mali_set_word(&control->input_va, MALI_SHARED_VA + offset + INPUT_OFFSET);
	mali_set_word(&control->output_va, MALI_SHARED_VA + offset + OUTPUT_OFFSET);
	mali_set_word(&control->suspend_bytes, suspend_bytes(product));
	mali_set_word(&control->protected_suspend_bytes, suspend_bytes(product));
	mali_set_word(&control->stream_num, MALI_STREAMS);
	mali_set_word(&control->stream_stride, STREAM_STRIDE);
	for (u32 i = 0; i < MALI_STREAMS; i++)
		boot_stream(group, i, offset);
}
