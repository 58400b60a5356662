// SPDX-License-Identifier: GPL-2.0
/*
 * Stream slots: the ring buffer, calls into other buffers, stream status.
 */
#include <linux/bitfield.h>
#include <linux/kernel.h>

#include "mali_counters.h"
#include "mali_mcu.h"
#include "mali_regs.h"

/* instructions before the next stream is executed */
#define SLICE		256

#define INSTRUCTION_BYTES	8

static struct mali_gpu *gpu_of(const struct mali_stream *stream)
{
	return stream->group->mcu->gpu;
}

static void set_ack_state(struct mali_stream *stream, u32 state)
{
	u32 ack = mali_word(&stream->out->ack);

	mali_set_word(&stream->out->ack, (ack & ~MALI_CS_STATE) | state);
}

/* --- ring ---------------------------------------------------------------- */

/* the ring's pointers are in firmware's address space, the ring is in the group's */
static int read_insert(struct mali_stream *stream, u64 *insert)
{
	return mali_mem_load(gpu_of(stream), MALI_MCU_AS, stream->ring_input_va +
			     offsetof(struct mali_ring_input, insert), sizeof(*insert), insert);
}

static int write_extract(struct mali_stream *stream)
{
	return mali_mem_store(gpu_of(stream), MALI_MCU_AS, stream->ring_output_va +
			      offsetof(struct mali_ring_output, extract), sizeof(u64),
			      stream->cs.extract);
}

static void write_active(struct mali_stream *stream, u32 active)
{
	mali_mem_store(gpu_of(stream), MALI_MCU_AS, stream->ring_output_va +
		       offsetof(struct mali_ring_output, active), sizeof(active), active);
}

/* --- start and stop ------------------------------------------------------ */

static bool read_config(struct mali_stream *stream)
{
	stream->ring_va = mali_word64(&stream->in->ring_va);
	stream->ring_bytes = mali_word(&stream->in->ring_bytes);
	stream->ring_input_va = mali_word64(&stream->in->ring_input_va);
	stream->ring_output_va = mali_word64(&stream->in->ring_output_va);
	return is_power_of_2(stream->ring_bytes) && stream->ring_bytes >= PAGE_SIZE;
}

/* the group has set registers and calls: zero, or restored from the suspend buffer */
void mali_stream_start(struct mali_stream *stream)
{
	stream->state = MALI_STREAM_RUNNING;
	set_ack_state(stream, MALI_CS_START);
	/* an event that the host has not answered is raised again */
	mali_set_word(&stream->out->ack,
		      (mali_word(&stream->out->ack) & ~MALI_CS_TILER_OOM) |
		      (mali_word(&stream->in->req) & MALI_CS_TILER_OOM));
	mali_set_word(&stream->out->fault, 0);
	mali_set_word(&stream->out->fatal, 0);
	if (!read_config(stream)) {
		mali_stream_fatal(stream, MALI_EXCEPTION_CS_CONFIG_FAULT, stream->ring_bytes);
		return;
	}
	/* the host sets the position, which equals the saved one after a resume */
	if (mali_mem_load(gpu_of(stream), MALI_MCU_AS, stream->ring_input_va +
			  offsetof(struct mali_ring_input, extract), sizeof(u64),
			  &stream->cs.extract)) {
		mali_stream_fatal(stream, MALI_EXCEPTION_CS_BUS_FAULT, stream->ring_input_va);
		return;
	}
	write_active(stream, 1);
	/* the slot has the status of another group */
	mali_stream_status(stream);
}

void mali_stream_stop(struct mali_stream *stream)
{
	if (stream->state == MALI_STREAM_STOPPED)
		return;
	stream->state = MALI_STREAM_STOPPED;
	set_ack_state(stream, MALI_CS_STOP);
}

/* the host's answer to a full heap: a chunk, or none, so that the stream has to make room */
static void take_chunk(struct mali_stream *stream)
{
	struct mali_cs *cs = &stream->cs;
	u64 chunk = mali_word64(&stream->in->heap_start);
	u64 va = chunk & ~MALI_CHUNK_PAGES, bytes = (chunk & MALI_CHUNK_PAGES) << 12, next;

	stream->state = MALI_STREAM_RUNNING;
	/* a request that is repeated after a resume counts once */
	mali_count(gpu_of(stream), mali_block_csg(gpu_of(stream), stream->group->number),
		   MALI_CSG_HEAP_REQUESTS, 1);
	if (chunk && mali_mem_load(gpu_of(stream), stream->group->as, va, sizeof(next), &next)) {
		mali_stream_fatal(stream, MALI_EXCEPTION_CS_BUS_FAULT, va);
	} else if (chunk) {
		cs->heap_bytes += bytes;
		cs->heap_room += bytes;
	} else if (!cs->heap_bytes || !cs->handler_bytes) {
		mali_stream_fatal(stream, MALI_EXCEPTION_OOM, cs->heap_va);
	} else if (cs->depth == MALI_CALL_DEPTH) {
		mali_stream_fatal(stream, MALI_EXCEPTION_CS_CALL_STACK_OVERFLOW, cs->handler_va);
	} else {
		/* it renders what is in the heap */
		cs->frame[cs->depth++] = (struct mali_frame) {
			.pc = cs->handler_va, .end = cs->handler_va + cs->handler_bytes,
		};
		cs->heap_room = cs->heap_bytes;
	}
}

/* handles the host's doorbell for this stream */
void mali_stream_requests(struct mali_stream *stream)
{
	u32 req = mali_word(&stream->in->req);
	u32 wanted = FIELD_GET(MALI_CS_STATE, req);

	if (wanted == MALI_CS_START && stream->state == MALI_STREAM_STOPPED)
		mali_stream_start(stream);
	else if (wanted == MALI_CS_STOP)
		mali_stream_stop(stream);
	if (stream->state == MALI_STREAM_HEAP_FULL &&
	    !((req ^ mali_word(&stream->out->ack)) & MALI_CS_TILER_OOM))
		take_chunk(stream);
	/* the request bits that select idle conditions have no effect: all are reported */
	mali_set_word(&stream->out->ack,
		      (mali_word(&stream->out->ack) &
		       (MALI_CS_STATE | MALI_CS_TILER_OOM | MALI_CS_FATAL | MALI_CS_FAULT)) |
		      (req & ~(MALI_CS_STATE | MALI_CS_TILER_OOM | MALI_CS_FATAL | MALI_CS_FAULT)));
}

/* --- status and events ---------------------------------------------------- */

bool mali_stream_idle(const struct mali_stream *stream)
{
	return stream->state != MALI_STREAM_RUNNING && stream->state != MALI_STREAM_HEAP_FULL;
}

void mali_stream_status(struct mali_stream *stream)
{
	const struct mali_cs *cs = &stream->cs;
	const struct mali_wait *wait = &stream->wait;
	struct mali_stream_output *out = stream->out;
	const bool waits = stream->state == MALI_STREAM_WAITING;
	u32 flags = 0;

	if (stream->state == MALI_STREAM_STOPPED)
		return;
	if (waits)
		flags = MALI_CS_WAIT_SYNC | (wait->greater ? MALI_CS_WAIT_GREATER : 0) |
			(wait->wide ? MALI_CS_WAIT_64BIT : 0);
	mali_set_word64(&out->command_va, cs->depth ? cs->frame[cs->depth - 1].pc :
			stream->ring_va + (cs->extract & (stream->ring_bytes - 1)));
	mali_set_word(&out->wait, flags);
	mali_set_word64(&out->wait_va, waits ? wait->va : 0);
	mali_set_word(&out->wait_value_low, waits ? lower_32_bits(wait->value) : 0);
	mali_set_word(&out->wait_value_high, waits ? upper_32_bits(wait->value) : 0);
	/* no work is pending between instructions */
	mali_set_word(&out->scoreboards, 0);
	mali_set_word(&out->heap_vt_started, cs->vt_started);
	mali_set_word(&out->heap_vt_ended, cs->vt_ended);
	mali_set_word(&out->heap_fragment_ended, cs->fragment_ended);
	mali_set_word64(&out->heap_va, cs->heap_va);
	mali_set_word(&out->blocked_reason,
		      waits ? MALI_CS_BLOCKED_SYNC_WAIT : MALI_CS_BLOCKED_NOT);
}

/* --- running ------------------------------------------------------------- */

/* reads an instruction and advances; returns false if there is none or it cannot be read */
static bool fetch(struct mali_stream *stream, u64 *instruction)
{
	struct mali_gpu *gpu = gpu_of(stream);
	struct mali_cs *cs = &stream->cs;
	u64 insert, va, *next;

	while (cs->depth && cs->frame[cs->depth - 1].pc >= cs->frame[cs->depth - 1].end)
		cs->depth--;
	if (!cs->depth && read_insert(stream, &insert)) {
		mali_stream_fatal(stream, MALI_EXCEPTION_CS_BUS_FAULT, stream->ring_input_va);
		return false;
	}
	if (!cs->depth && cs->extract >= insert) {
		stream->state = MALI_STREAM_EMPTY;
		return false;
	}
	next = cs->depth ? &cs->frame[cs->depth - 1].pc : &cs->extract;
	va = cs->depth ? *next : stream->ring_va + (cs->extract & (stream->ring_bytes - 1));
	if (mali_mem_load(gpu, stream->group->as, va, sizeof(*instruction), instruction)) {
		mali_stream_fatal(stream, MALI_EXCEPTION_CS_BUS_FAULT, va);
		return false;
	}
	*next += INSTRUCTION_BYTES;
	return true;
}

/* a blocked instruction is executed again */
static void step_back(struct mali_stream *stream)
{
	struct mali_cs *cs = &stream->cs;

	if (cs->depth)
		cs->frame[cs->depth - 1].pc -= INSTRUCTION_BYTES;
	else
		cs->extract -= INSTRUCTION_BYTES;
}

/* returns true if the stream has more to execute */
bool mali_stream_run(struct mali_stream *stream)
{
	const u64 before = stream->group->mcu->instructions;
	u64 instruction;

	if (stream->state == MALI_STREAM_EMPTY || stream->state == MALI_STREAM_WAITING)
		stream->state = MALI_STREAM_RUNNING;
	if (stream->state != MALI_STREAM_RUNNING)
		return false;
	for (u32 i = 0; i < SLICE && stream->state == MALI_STREAM_RUNNING; i++) {
		if (!fetch(stream, &instruction))
			break;
		if (mali_cs_step(stream, instruction)) {
			stream->group->mcu->instructions++;
		} else {
			step_back(stream);
			if (stream->state == MALI_STREAM_RUNNING)
				stream->state = MALI_STREAM_WAITING;
		}
	}
	mali_count(gpu_of(stream), mali_block_csg(gpu_of(stream), stream->group->number),
		   MALI_CSG_INSTRUCTIONS, stream->group->mcu->instructions - before);
	if (write_extract(stream) && stream->state != MALI_STREAM_FATAL)
		mali_stream_fatal(stream, MALI_EXCEPTION_CS_BUS_FAULT, stream->ring_output_va);
	if (stream->state == MALI_STREAM_EMPTY)
		write_active(stream, 0);
	if (stream->state == MALI_STREAM_HEAP_FULL) {
		mali_stream_status(stream);
		mali_stream_heap_full(stream);
	}
	return stream->state == MALI_STREAM_RUNNING;
}
