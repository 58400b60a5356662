// SPDX-License-Identifier: MIT
/*
 * Captures of version 1 hold structures of the kernel interface's versions 1 and 2. This file
 * converts them to version 3, record by record, so no other code depends on them.
 *
 * In versions 1 and 2 the range of a block's type implied its format, a PMU's filters came before
 * its times, and samples had no timestamp of the GPU.
 */
#include <string.h>

#include "capture.h"
#include "decode/layout.h"

enum {
	OLD_MUX_FIRST = 16,
	OLD_PMU_FIRST = 32,
	OLD_PMU_LAST = 63,
	OLD_SAMPLE_HEADER = 64,
	OLD_FEATURE_BO_CREATE = 1 << 5,
	/* struct drm_perfctr_device_info: a removed member, and the members after it */
	OLD_PMU_HEADER_SIZE = offsetof(struct drm_perfctr_device_info, ring_control_size),
	OLD_AFTER_IT = OLD_PMU_HEADER_SIZE + sizeof(uint32_t),
	OLD_LAST = offsetof(struct drm_perfctr_device_info, pad),
};

static uint8_t old_format(unsigned int type)
{
	if (type < OLD_MUX_FIRST || type > OLD_PMU_LAST)
		return 0;
	return type < OLD_PMU_FIRST ?
		       DRM_PERFCTR_FORMAT_RUNNING_TIMES :
		       DRM_PERFCTR_FORMAT_RUNNING_TIMES | DRM_PERFCTR_FORMAT_PMU_IDENTITY;
}

static void upgrade_device(unsigned char *content, size_t size)
{
	if (size < sizeof(struct drm_perfctr_device_info))
		return;
	content[0] &= (unsigned char)~OLD_FEATURE_BO_CREATE;
	memmove(content + OLD_PMU_HEADER_SIZE, content + OLD_AFTER_IT,
		OLD_LAST - OLD_PMU_HEADER_SIZE);
	memset(content + OLD_LAST, 0, sizeof(uint32_t));
}

static void upgrade_block_info(unsigned char *content, size_t size)
{
	struct drm_perfctr_block_info *info = (void *)content;

	if (size >= sizeof(*info))
		info->format = old_format(le16toh(info->type));
}

static void upgrade_request(unsigned char *content, size_t size)
{
	struct drm_perfctr_block_request *request = (void *)content;

	if (size >= sizeof(*request) &&
	    old_format(le16toh(request->type)) & DRM_PERFCTR_FORMAT_PMU_IDENTITY)
		request->flags |= htole32(DRM_PERFCTR_REQUEST_PMU);
}

static void upgrade_block(unsigned char *block, size_t size)
{
	struct drm_perfctr_block_header *header = (void *)block;
	struct {
		uint64_t config[3], times[2];
	} old;

	header->format = old_format(le16toh(header->type));
	if (!(header->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY) ||
	    size < sizeof(*header) + sizeof(old))
		return;
	memcpy(&old, header + 1, sizeof(old));
	memcpy(header + 1, old.times, sizeof(old.times));
	memcpy((unsigned char *)(header + 1) + sizeof(old.times), old.config, sizeof(old.config));
}

/* Malformed samples are left for the decoder to reject. */
static void upgrade_sample(struct perfctr_capture_record *record, unsigned char *content)
{
	/* the record's header is before the content and no longer needed */
	unsigned char *sample = content - CAPTURE_RECORD_HEADER_BYTES;
	struct drm_perfctr_sample_header *header = (void *)sample;
	size_t at;

	_Static_assert(sizeof(*header) == OLD_SAMPLE_HEADER + CAPTURE_RECORD_HEADER_BYTES, "room");
	if (record->size < OLD_SAMPLE_HEADER)
		return;
	memmove(sample, content, OLD_SAMPLE_HEADER);
	if (le16toh(header->header_size) != OLD_SAMPLE_HEADER)
		return;
	header->size = htole32(le32toh(header->size) + CAPTURE_RECORD_HEADER_BYTES);
	header->header_size = htole16(sizeof(*header));
	header->gpu_epoch = 0;
	header->gpu_timestamp = 0;
	record->content = sample;
	record->size += CAPTURE_RECORD_HEADER_BYTES;

	at = sizeof(*header);
	while (record->size - at >= LAYOUT_BLOCK_MIN) {
		size_t left = record->size - at, size;

		size = le32toh(((struct drm_perfctr_block_header *)(sample + at))->size);
		if (size < LAYOUT_BLOCK_MIN || size % CAPTURE_ALIGN || size > left)
			break;
		upgrade_block(sample + at, size);
		at += size;
	}
}

void capture_upgrade(struct perfctr_capture_record *record, unsigned char *content)
{
	switch (record->type) {
	case PERFCTR_CAPTURE_DEVICE:
		upgrade_device(content, record->size);
		break;
	case PERFCTR_CAPTURE_BLOCK:
		upgrade_block_info(content, record->size);
		break;
	case PERFCTR_CAPTURE_REQUEST:
		upgrade_request(content, record->size);
		break;
	case PERFCTR_CAPTURE_SAMPLE:
		upgrade_sample(record, content);
		break;
	default:
		break;
	}
}
