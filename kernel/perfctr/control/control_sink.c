// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of PERF_CONTROL: their layout, and the buffers of the application that they go to.
 */
#include <linux/align.h>
#include <linux/limits.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <drm/drm_gem.h>

#include "compat.h"
#include "control.h"

/* number in samples of a block's type, from 1; 0: the block is in none */
unsigned int drm_perfctr_control_type(struct drm_perfctr *pc, unsigned int block)
{
	const struct drm_perfctr_control_config *config = pc->config.control;
	u16 type = drm_perfctr_block_at(pc, block)->desc.type;
	unsigned int i;

	for (i = 0; i < DRM_PERFCTR_CONTROL_TYPES; i++)
		if (config->types[i] && config->types[i] == type)
			return i + 1;
	return 0;
}

/**
 * drm_perfctr_control_describe() - describe samples of PERF_CONTROL
 * @pc: the counters of a registered device
 * @info: description
 *
 * Returns: 0, or -EOPNOTSUPP if the device has no blocks for it.
 */
int drm_perfctr_control_describe(struct drm_perfctr *pc, struct drm_perfctr_control_info *info)
{
	unsigned int i, type, count = 0, counters = 0;

	*info = (struct drm_perfctr_control_info) {
		.sample_header_size = sizeof(struct perfctr_dense_sample),
		.block_header_size = sizeof(struct perfctr_dense_header),
		.flags = !!(pc->config.features & DRM_PERFCTR_FEATURE_STATES),
	};
	for (i = 0; pc->config.control && i < pc->block_count; i++) {
		type = drm_perfctr_control_type(pc, i);
		if (!type)
			continue;
		counters = max_t(u32, counters, drm_perfctr_block_at(pc, i)->desc.counters);
		info->blocks[type - 1]++;
		count++;
	}
	if (!count || counters > DRM_PERFCTR_CONTROL_SECTIONS * DRM_PERFCTR_SECTION_COUNTERS)
		return perfctr_reject(pc, EOPNOTSUPP, "PERF_CONTROL: %u blocks of %u counters",
				      count, counters);
	info->supported_clocks = pc->config.control->clocks;
	info->counters_per_block = ALIGN(counters, DRM_PERFCTR_SECTION_COUNTERS);
	info->sample_size = info->sample_header_size +
			    count * (info->block_header_size +
				     info->counters_per_block * sizeof(__le64));
	return 0;
}
EXPORT_SYMBOL_GPL(drm_perfctr_control_describe);

/* --- buffers ------------------------------------------------------------- */

static void unmap(struct perfctr_control_buffer *buffer)
{
	if (!buffer->obj)
		return;
	perfctr_gem_vunmap(buffer->obj, &buffer->map);
	drm_gem_object_put(buffer->obj);
}

static int check_buffer(struct drm_perfctr *pc, const char *name, const struct drm_gem_object *obj,
			u64 bytes)
{
	/* its exporter may move or revoke it */
	if (obj->import_attach)
		return perfctr_reject(pc, EINVAL, "%s: the buffer is imported", name);
	if (obj->size < bytes)
		return perfctr_reject(pc, EINVAL, "%s: %zu bytes, needed are %llu", name, obj->size,
				      bytes);
	/* it is mapped as a whole */
	if (obj->size > PERFCTR_MAX_RING_BYTES)
		return perfctr_reject(pc, EINVAL, "%s: %zu bytes are more than %llu", name,
				      obj->size, PERFCTR_MAX_RING_BYTES);
	return 0;
}

/* maps a buffer of the file, with at least so many bytes */
static int map_buffer(struct drm_perfctr *pc, struct drm_file *file, const char *name, u32 handle,
		      u64 bytes, struct perfctr_control_buffer *buffer)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, handle);
	int ret;

	if (!obj)
		return perfctr_reject(pc, EINVAL, "%s: no buffer has the handle %u", name, handle);
	ret = check_buffer(pc, name, obj, bytes);
	if (!ret)
		ret = perfctr_gem_vmap(obj, &buffer->map);
	if (ret) {
		drm_gem_object_put(obj);
		return ret;
	}
	buffer->obj = obj;
	/* samples are stored as to memory */
	if (buffer->map.is_iomem)
		return perfctr_reject(pc, EINVAL, "%s: the buffer is I/O memory", name);
	return 0;
}

/* --- the session's sink -------------------------------------------------- */

static struct perfctr_control_sink *to_control(struct perfctr_sink *sink)
{
	return container_of(sink, struct perfctr_control_sink, base);
}

static void release(struct perfctr_sink *base)
{
	struct perfctr_control_sink *sink = to_control(base);

	unmap(&sink->ring);
	unmap(&sink->control);
	kvfree(sink->blocks);
	kfree(sink);
}

static void add_view(struct perfctr_control_sink *sink, struct perfctr_view *view)
{
	unsigned int i;

	for (i = 0; i < sink->block_count; i++)
		if (sink->blocks[i].block == view->block)
			sink->blocks[i].views[view->header.section] = view;
}

/* finds the place of the session's blocks among all */
static int place_blocks(struct drm_perfctr_session *session, struct perfctr_control_sink *sink)
{
	u8 next[DRM_PERFCTR_CONTROL_TYPES] = { };
	struct drm_perfctr *pc = session->pc;
	unsigned int i, type;

	sink->blocks = kvcalloc(pc->block_count, sizeof(*sink->blocks), PERFCTR_GFP_USER);
	if (!sink->blocks)
		return -ENOMEM;
	for (i = 0; i < pc->block_count; i++) {
		type = drm_perfctr_control_type(pc, i);
		if (!type)
			continue;
		sink->blocks[sink->block_count++] = (struct perfctr_dense_block) {
			.block = drm_perfctr_block_at(pc, i),
			.type = type,
			.index = next[type - 1]++,
		};
	}
	for (i = 0; i < session->view_count; i++)
		add_view(sink, &session->views[i]);
	return 0;
}

static int attach(struct drm_perfctr_session *session, const struct drm_perfctr_open *open)
{
	struct perfctr_control_sink *sink = to_control(session->sink);
	const struct drm_perfctr_layout layout = {
		.slots = open->slots,
		.slot_stride = sink->info.sample_size,
		.sample_size = sink->info.sample_size,
		.map_bytes = sink->ring.obj->size + sink->control.obj->size,
	};
	struct perfctr_memory *memory;
	int ret;

	ret = place_blocks(session, sink);
	if (ret)
		return ret;
	memory = drm_perfctr_memory_describe(session->owner.charged, &layout);
	if (IS_ERR(memory))
		return PTR_ERR(memory);
	session->memory = memory;
	session->ring = &memory->ring;
	memory->watermark = open->watermark;
	drm_perfctr_ring_init_wide(&memory->ring, sink->ring.map.vaddr, sink->indices, &layout);
	drm_perfctr_update_status(session);
	ret = drm_perfctr_set_eventfd(session, open->eventfd);
	memory->counted = !ret;
	return ret;
}

static void begin(struct drm_perfctr_session *session)
{
	struct perfctr_control_sink *sink = to_control(session->sink);

	memcpy(sink->base_cycles, session->pc->cycles, sizeof(sink->base_cycles));
}

static void write_blocks(struct drm_perfctr_session *session, void *slot)
{
	const struct perfctr_control_sink *sink = to_control(session->sink);
	const unsigned int sections = sink->info.counters_per_block / DRM_PERFCTR_SECTION_COUNTERS;
	void *at = slot + sizeof(struct perfctr_dense_sample);
	unsigned int i, n;

	for (i = 0; i < sink->block_count; i++) {
		const struct perfctr_dense_block *dense = &sink->blocks[i];
		struct perfctr_dense_status status = { };

		for (n = 0; n < sections; n++) {
			u64 base_seq;

			if (!dense->views[n])
				continue;
			base_seq = session->sources[dense->views[n]->source].base_seq;
			status.states = drm_perfctr_sticky_since(&dense->block->states, base_seq);
			status.valid[n] = perfctr_block_valid(dense->block, n, session->set,
							      base_seq, status.states);
		}
		at = drm_perfctr_dense_block(at, dense, &status, sections);
	}
}

static void write_header(struct drm_perfctr_session *session, void *slot,
			 const struct drm_perfctr_sample_header *header)
{
	const u32 incomplete = DRM_PERFCTR_SAMPLE_OVERFLOW | DRM_PERFCTR_SAMPLE_ERROR |
			       DRM_PERFCTR_SAMPLE_RESET;
	struct perfctr_control_sink *sink = to_control(session->sink);
	struct perfctr_dense_sample sample = {
		.start_ns = header->start_ns,
		.end_ns = header->end_ns,
		.set = session->set,
		.user_data = header->user_data,
	};
	unsigned int i;

	if (header->flags & incomplete || header->lost_ns)
		sample.flags |= PERFCTR_DENSE_INCOMPLETE;
	if (header->flags & DRM_PERFCTR_SAMPLE_STRETCHED)
		sample.flags |= PERFCTR_DENSE_STRETCHED;
	for (i = 0; i < DRM_PERFCTR_CONTROL_CLOCKS; i++) {
		u64 cycles = session->pc->cycles[i];

		sample.cycles[i] = cycles - sink->base_cycles[i];
		sink->base_cycles[i] = cycles;
	}
	*(struct perfctr_dense_sample *)slot = sample;
}

static const struct perfctr_sink_ops sink_ops = {
	.attach = attach,
	.begin = begin,
	.blocks = write_blocks,
	.header = write_header,
	.release = release,
};

static int map_buffers(struct drm_perfctr *pc, struct perfctr_control_sink *sink,
		       const struct drm_perfctr_control_setup *setup)
{
	u64 end;
	int ret;

	if (setup->control_offset % sizeof(*sink->indices) ||
	    check_add_overflow(setup->control_offset,
			       (u64)sizeof(struct drm_perfctr_control_area), &end))
		return perfctr_reject(pc, EINVAL, "control_offset: %llu", setup->control_offset);
	ret = map_buffer(pc, sink->file, "ring", setup->ring,
			 (u64)sink->info.sample_size * setup->slots, &sink->ring);
	if (!ret)
		ret = map_buffer(pc, sink->file, "control", setup->control, end, &sink->control);
	if (!ret)
		sink->indices = sink->control.map.vaddr + setup->control_offset;
	return ret;
}

/* for drm_perfctr_session_create(), with buffers that it references and maps; or an ERR_PTR */
struct perfctr_control_sink *
drm_perfctr_control_sink_create(struct drm_perfctr *pc, struct drm_file *file,
				const struct drm_perfctr_control_setup *setup,
				const struct drm_perfctr_control_info *info)
{
	struct perfctr_control_sink *sink = kzalloc(sizeof(*sink), PERFCTR_GFP_USER);
	int ret;

	if (!sink)
		return ERR_PTR(-ENOMEM);
	sink->base.ops = &sink_ops;
	sink->file = file;
	sink->info = *info;
	ret = map_buffers(pc, sink, setup);
	if (!ret)
		return sink;
	release(&sink->base);
	return ERR_PTR(ret);
}
