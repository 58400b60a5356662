// SPDX-License-Identifier: GPL-2.0
/*
 * The interpreter of command streams.
 *
 * Work (RUN_*) completes with its instruction, so scoreboard entries are never busy and WAIT never
 * waits. Opcodes that are not modelled end the stream with CS_INSTR_INVALID: PROGRESS_*,
 * PROT_REGION, RUN_TILING, RUN_FULLSCREEN, RUN_COMPUTE_INDIRECT, and undocumented ones.
 */
#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/minmax.h>

#include "mali_counters.h"
#include "mali_cs.h"
#include "mali_mcu.h"
#include "mali_regs.h"

#define INSTRUCTION_BYTES	8

enum stored_state {
	STATE_TIMESTAMP,
	STATE_CYCLES,
	STATE_DISJOINT,
	STATE_ERROR,
};

enum heap_operation {
	HEAP_TILING_STARTED = 0,
	HEAP_TILING_COMPLETED = 1,
	HEAP_FRAGMENT_COMPLETED = 3,
};

static struct mali_gpu *gpu_of(const struct mali_stream *stream)
{
	return stream->group->mcu->gpu;
}

/* --- registers ----------------------------------------------------------- */

static u32 destination(u64 instruction)
{
	return FIELD_GET(MALI_CS_DESTINATION, instruction);
}

static u32 address(u64 instruction)
{
	return FIELD_GET(MALI_CS_ADDRESS, instruction);
}

static u32 data(u64 instruction)
{
	return FIELD_GET(MALI_CS_DATA, instruction);
}

/* a register that the product does not have reads as zero and ignores writes */
static u32 get(const struct mali_stream *stream, u32 number)
{
	return number < MALI_REGISTERS ? stream->cs.reg[number] : 0;
}

static void set(struct mali_stream *stream, u32 number, u32 value)
{
	if (number < MALI_REGISTERS)
		stream->cs.reg[number] = value;
}

static u64 get64(const struct mali_stream *stream, u32 number)
{
	return (u64)get(stream, number + 1) << 32 | get(stream, number);
}

static void set64(struct mali_stream *stream, u32 number, u64 value)
{
	set(stream, number, lower_32_bits(value));
	set(stream, number + 1, upper_32_bits(value));
}

static s64 offset_of(u64 instruction)
{
	return (s16)FIELD_GET(MALI_CS_OFFSET, instruction);
}

static void bus_fault(struct mali_stream *stream, u64 va)
{
	mali_stream_fatal(stream, MALI_EXCEPTION_CS_BUS_FAULT, va);
}

/* --- memory -------------------------------------------------------------- */

static void load_store_multiple(struct mali_stream *stream, u64 instruction, bool store)
{
	const u32 as = stream->group->as;
	unsigned long mask = FIELD_GET(MALI_CS_REGISTER_MASK, instruction);
	u64 va = get64(stream, address(instruction)) + offset_of(instruction);
	unsigned int bit;
	int err;

	for_each_set_bit(bit, &mask, 16) {
		u64 word = va + bit * sizeof(u32);
		u32 number = destination(instruction) + bit;
		u64 value = get(stream, number);

		if (store)
			err = mali_mem_store(gpu_of(stream), as, word, sizeof(u32), value);
		else
			err = mali_mem_load(gpu_of(stream), as, word, sizeof(u32), &value);
		if (err) {
			bus_fault(stream, word);
			return;
		}
		if (!store)
			set(stream, number, value);
	}
}

static void store_state(struct mali_stream *stream, u64 instruction)
{
	struct mali_gpu *gpu = gpu_of(stream);
	u64 va = get64(stream, address(instruction)) + offset_of(instruction);
	u64 value = 0;

	switch (FIELD_GET(MALI_CS_STORED_STATE, instruction)) {
	case STATE_TIMESTAMP:
		value = mali_timestamp();
		break;
	case STATE_CYCLES:
		value = mali_cycles(gpu);
		break;
	case STATE_DISJOINT:
		/* the model's clock is never disjoint */
		break;
	case STATE_ERROR:
		value = stream->cs.error;
		break;
	}
	if (mali_mem_store(gpu, stream->group->as, va, sizeof(value), value))
		bus_fault(stream, va);
}

/* --- synchronisation objects --------------------------------------------- */

/* An object is a value, and an error word behind it: did the work before it fail? */

static size_t bytes_of(bool wide)
{
	return wide ? sizeof(u64) : sizeof(u32);
}

static void sync_write(struct mali_stream *stream, u64 instruction, bool wide, bool add)
{
	struct mali_gpu *gpu = gpu_of(stream);
	const u32 as = stream->group->as;
	const size_t bytes = bytes_of(wide);
	u64 va = get64(stream, address(instruction));
	u64 operand = wide ? get64(stream, data(instruction)) : get(stream, data(instruction));
	u32 status = instruction & MALI_CS_ERROR_PROPAGATE ? stream->cs.error : 0;
	u64 value = 0;

	/* write the status first: a reader that sees the new value also sees its status */
	if ((add && mali_mem_load(gpu, as, va, bytes, &value)) ||
	    mali_mem_store(gpu, as, va + bytes, sizeof(u32), status) ||
	    mali_mem_store(gpu, as, va, bytes, value + operand)) {
		bus_fault(stream, va);
		return;
	}
	stream->group->mcu->synced = true;
	mali_count(gpu, mali_block_csg(gpu, stream->group->number), MALI_CSG_SYNC_WRITES, 1);
	if (FIELD_GET(MALI_CS_SCOPE, instruction) == MALI_CS_SCOPE_SYSTEM)
		mali_group_event(stream->group, MALI_CSG_SYNC_UPDATE);
}

/* returns false if the stream has to wait */
static bool sync_wait(struct mali_stream *stream, u64 instruction, bool wide)
{
	u64 va = get64(stream, address(instruction));
	u64 limit = wide ? get64(stream, data(instruction)) : get(stream, data(instruction));
	bool greater = FIELD_GET(MALI_CS_WAIT_CONDITION, instruction) == MALI_CONDITION_GREATER;
	const u32 as = stream->group->as;
	u64 value, status;

	if (mali_mem_load(gpu_of(stream), as, va, bytes_of(wide), &value) ||
	    mali_mem_load(gpu_of(stream), as, va + bytes_of(wide), sizeof(u32), &status)) {
		bus_fault(stream, va);
		return true;
	}
	if (greater ? value <= limit : value > limit) {
		stream->wait = (struct mali_wait) {
			.va = va, .value = limit, .greater = greater, .wide = wide,
		};
		return false;
	}
	if (status && !(instruction & MALI_CS_ERROR_REJECT)) {
		stream->cs.error = 1;
		mali_stream_fault(stream, MALI_EXCEPTION_CS_INHERIT_FAULT, va);
	}
	return true;
}

/* --- control flow -------------------------------------------------------- */

static bool holds(u32 condition, s32 value)
{
	switch (condition) {
	case MALI_CONDITION_LEQUAL:
		return value <= 0;
	case MALI_CONDITION_GREATER:
		return value > 0;
	case MALI_CONDITION_EQUAL:
		return !value;
	case MALI_CONDITION_NEQUAL:
		return value;
	case MALI_CONDITION_LESS:
		return value < 0;
	case MALI_CONDITION_GEQUAL:
		return value >= 0;
	}
	return true;
}

static void branch(struct mali_stream *stream, u64 instruction)
{
	struct mali_cs *cs = &stream->cs;
	s64 bytes = offset_of(instruction) * INSTRUCTION_BYTES;

	if (!holds(FIELD_GET(MALI_CS_BRANCH_CONDITION, instruction),
		   get(stream, address(instruction))))
		return;
	if (cs->depth)
		cs->frame[cs->depth - 1].pc += bytes;
	else
		cs->extract += bytes;
}

static void call(struct mali_stream *stream, u64 instruction, bool jump)
{
	struct mali_cs *cs = &stream->cs;
	u64 va = get64(stream, address(instruction));
	u32 bytes = get(stream, data(instruction));

	if (va % INSTRUCTION_BYTES || bytes % INSTRUCTION_BYTES || (jump && !cs->depth)) {
		mali_stream_fatal(stream, MALI_EXCEPTION_CS_INSTR_INVALID, instruction);
		return;
	}
	if (!jump && cs->depth == MALI_CALL_DEPTH) {
		mali_stream_fatal(stream, MALI_EXCEPTION_CS_CALL_STACK_OVERFLOW, va);
		return;
	}
	if (!jump)
		cs->depth++;
	cs->frame[cs->depth - 1] = (struct mali_frame) { .pc = va, .end = va + bytes };
}

/* --- the rest ------------------------------------------------------------ */

/* the model has no caches; only the number of flushes matters */
static void flush(struct mali_stream *stream, u64 instruction)
{
	struct mali_gpu *gpu = gpu_of(stream);
	u32 latest = get(stream, address(instruction));

	guard(spinlock_irqsave)(&gpu->lock);
	/* zero: always flush; otherwise only if no flush happened since the host read the ID */
	if (!latest || latest == gpu->flush_id)
		mali_flush_caches_locked(gpu);
}

/* the tiler's part of the heap is free again */
static void end_fragment(struct mali_cs *cs)
{
	cs->fragment_ended++;
	cs->heap_room = cs->heap_bytes;
}

static void set_heap(struct mali_cs *cs, u64 va)
{
	if (va == cs->heap_va)
		return;
	cs->heap_va = va;
	cs->heap_bytes = 0;
	cs->heap_room = 0;
}

static void set_handler(struct mali_stream *stream, u64 instruction)
{
	if (FIELD_GET(MALI_CS_HANDLED_EXCEPTION, instruction) != MALI_CS_HANDLED_TILER_OOM)
		return;
	stream->cs.handler_va = get64(stream, address(instruction));
	stream->cs.handler_bytes = get(stream, data(instruction));
}

static void heap_operation(struct mali_stream *stream, u64 instruction)
{
	struct mali_cs *cs = &stream->cs;

	switch (FIELD_GET(MALI_CS_HEAP_OPERATION_KIND, instruction)) {
	case HEAP_TILING_STARTED:
		cs->vt_started++;
		break;
	case HEAP_TILING_COMPLETED:
		cs->vt_ended++;
		break;
	case HEAP_FRAGMENT_COMPLETED:
		end_fragment(cs);
		break;
	}
}

static void arithmetic(struct mali_stream *stream, u64 instruction, u32 opcode)
{
	const u32 to = destination(instruction);
	const s32 immediate = FIELD_GET(MALI_CS_IMMEDIATE32, instruction);
	const u32 source = address(instruction);

	switch (opcode) {
	case MALI_CS_MOVE48:
		set64(stream, to, FIELD_GET(MALI_CS_IMMEDIATE48, instruction));
		break;
	case MALI_CS_MOVE32:
		set(stream, to, immediate);
		break;
	case MALI_CS_ADD_IMMEDIATE32:
		set(stream, to, get(stream, source) + immediate);
		break;
	case MALI_CS_ADD_IMMEDIATE64:
		set64(stream, to, get64(stream, source) + (s64)immediate);
		break;
	case MALI_CS_UMIN32:
		set(stream, to, min(get(stream, source), get(stream, data(instruction))));
		break;
	}
}

/* returns false if the instruction blocks and must be executed again */
bool mali_cs_step(struct mali_stream *stream, u64 instruction)
{
	const u32 opcode = FIELD_GET(MALI_CS_OPCODE, instruction);
	struct mali_cs *cs = &stream->cs;

	if (xchg(&gpu_of(stream)->fail[MALI_FAIL_UNRECOVERABLE], 0)) {
		mali_stream_fatal(stream, MALI_EXCEPTION_CS_UNRECOVERABLE, instruction);
		return true;
	}
	switch (opcode) {
	case MALI_CS_NOP:
	case MALI_CS_WAIT:
	case MALI_CS_REQ_RESOURCE:
	case MALI_CS_FINISH_TILING:
	case MALI_CS_TRACE_POINT:
	case MALI_CS_SET_SB_ENTRY:
		break;
	case MALI_CS_SET_EXCEPTION_HANDLER:
		set_handler(stream, instruction);
		break;
	case MALI_CS_MOVE48:
	case MALI_CS_MOVE32:
	case MALI_CS_ADD_IMMEDIATE32:
	case MALI_CS_ADD_IMMEDIATE64:
	case MALI_CS_UMIN32:
		arithmetic(stream, instruction, opcode);
		break;
	case MALI_CS_LOAD_MULTIPLE:
	case MALI_CS_STORE_MULTIPLE:
		load_store_multiple(stream, instruction, opcode == MALI_CS_STORE_MULTIPLE);
		break;
	case MALI_CS_STORE_STATE:
		store_state(stream, instruction);
		break;
	case MALI_CS_BRANCH:
		branch(stream, instruction);
		break;
	case MALI_CS_CALL:
	case MALI_CS_JUMP:
		call(stream, instruction, opcode == MALI_CS_JUMP);
		break;
	case MALI_CS_FLUSH_CACHE2:
		flush(stream, instruction);
		break;
	case MALI_CS_ERROR_BARRIER:
		cs->error = 0;
		break;
	case MALI_CS_SYNC_ADD32:
	case MALI_CS_SYNC_ADD64:
		sync_write(stream, instruction, opcode == MALI_CS_SYNC_ADD64, true);
		break;
	case MALI_CS_SYNC_SET32:
	case MALI_CS_SYNC_SET64:
		sync_write(stream, instruction, opcode == MALI_CS_SYNC_SET64, false);
		break;
	case MALI_CS_SYNC_WAIT32:
	case MALI_CS_SYNC_WAIT64:
		return sync_wait(stream, instruction, opcode == MALI_CS_SYNC_WAIT64);
	case MALI_CS_HEAP_SET:
		set_heap(cs, get64(stream, address(instruction)));
		break;
	case MALI_CS_HEAP_OPERATION:
		heap_operation(stream, instruction);
		break;
	case MALI_CS_FINISH_FRAGMENT:
		if (instruction & MALI_CS_FRAGMENT_COMPLETED)
			end_fragment(cs);
		break;
	case MALI_CS_RUN_COMPUTE:
		mali_work_compute(stream);
		break;
	case MALI_CS_RUN_IDVS:
		return mali_work_idvs(stream, instruction);
	case MALI_CS_RUN_FRAGMENT:
		mali_work_fragment(stream);
		break;
	default:
		mali_stream_fatal(stream, MALI_EXCEPTION_CS_INSTR_INVALID, instruction);
	}
	return true;
}
