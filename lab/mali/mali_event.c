// SPDX-License-Identifier: GPL-2.0
/*
 * Acknowledgments and events of firmware: words that the host reads, and their interrupts.
 *
 * An acknowledgment makes a bit of ack equal to req. An event makes it differ: it is pending until
 * the host makes req equal again, and is not raised a second time before that.
 */
#include "mali_mcu.h"
#include "mali_regs.h"

/* sets the word; whether the host wants an interrupt for a bit that changed */
static bool acknowledge(__le32 *word, u32 ack, const __le32 *mask)
{
	u32 changed = mali_word(word) ^ ack;

	mali_set_word(word, ack);
	return changed & mali_word(mask);
}

/*
 * Returns the former acknowledgment. It is written before the requests behind the doorbells are
 * read: the host, once a request is answered, rings again by toggling what is acknowledged then.
 */
u32 mali_doorbells_acknowledge(__le32 *word, u32 req)
{
	u32 before = mali_word(word);

	mali_set_word(word, req);
	/* pairs with the host's locks: it writes a request, then reads the acknowledgment */
	smp_mb();
	return before;
}

/* acknowledges all at once, with one interrupt */
void mali_global_acknowledge(struct mali_mcu *mcu, u32 ack)
{
	if (acknowledge(&mcu->out->ack, ack, &mcu->in->ack_irq_mask))
		mali_irq_raise(mcu->gpu, MALI_IRQ_JOB, MALI_JOB_IRQ_GLOBAL);
}

void mali_global_event(struct mali_mcu *mcu, u32 event)
{
	u32 ack = mali_word(&mcu->out->ack);

	if (!((mali_word(&mcu->in->req) ^ ack) & event))
		mali_global_acknowledge(mcu, ack ^ event);
}

void mali_group_acknowledge(struct mali_group *group, u32 ack)
{
	if (acknowledge(&group->out->ack, ack, &group->in->ack_irq_mask))
		mali_irq_raise(group->mcu->gpu, MALI_IRQ_JOB, BIT(group->number));
}

void mali_group_event(struct mali_group *group, u32 event)
{
	u32 ack = mali_word(&group->out->ack);

	if (!((mali_word(&group->in->req) ^ ack) & event))
		mali_group_acknowledge(group, ack ^ event);
}

/* --- streams -------------------------------------------------------------- */

static void stream_event(struct mali_stream *stream, u32 event)
{
	struct mali_group *group = stream->group;
	u32 ack = mali_word(&stream->out->ack);
	u32 req;

	if ((mali_word(&stream->in->req) ^ ack) & event)
		return;
	mali_set_word(&stream->out->ack, ack ^ event);
	if (!(mali_word(&stream->in->ack_irq_mask) & event))
		return;
	/* report to the group which stream it is */
	req = mali_word(&group->out->stream_irq_req);
	if (!((req ^ mali_word(&group->in->stream_irq_ack)) & BIT(stream->number)))
		mali_set_word(&group->out->stream_irq_req, req ^ BIT(stream->number));
	mali_irq_raise(group->mcu->gpu, MALI_IRQ_JOB, BIT(group->number));
}

/* the stream stops until its group ends */
void mali_stream_fatal(struct mali_stream *stream, u32 exception, u64 info)
{
	stream->state = MALI_STREAM_FATAL;
	mali_set_word64(&stream->out->fatal_info, info);
	mali_set_word(&stream->out->fatal, exception);
	stream_event(stream, MALI_CS_FATAL);
}

/* the stream stops until the host has answered */
void mali_stream_heap_full(struct mali_stream *stream)
{
	stream_event(stream, MALI_CS_TILER_OOM);
}

/* the stream continues */
void mali_stream_fault(struct mali_stream *stream, u32 exception, u64 info)
{
	mali_set_word64(&stream->out->fault_info, info);
	mali_set_word(&stream->out->fault, exception);
	stream_event(stream, MALI_CS_FAULT);
}
