// SPDX-License-Identifier: MIT
/* Packets of Perfetto traces, and ids, times and units in them. */
#include "perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- ids ------------------------------------------------------------------- */

uint64_t perfetto_hash(uint64_t hash, const void *bytes, size_t size)
{
	/* FNV-1a */
	for (size_t n = 0; n < size; n++)
		hash = (hash ^ ((const uint8_t *)bytes)[n]) * UINT64_C(0x100000001b3);
	return hash;
}

uint64_t perfetto_identify(const struct export *e)
{
	const struct capture_file *file = e->file;
	const char *name = perfctr_device_info(file->device)->name;
	uint64_t hash = perfetto_hash(UINT64_C(0xcbf29ce484222325), name, strlen(name) + 1);

	for (size_t n = 0; n < file->text_count; n++) {
		const struct capture_text *text = &file->texts[n];

		hash = perfetto_hash(hash, text->key, strlen(text->key) + 1);
		hash = perfetto_hash(hash, text->value, strlen(text->value) + 1);
	}
	if (file->anchor_count)
		hash = perfetto_hash(hash, file->anchors, sizeof(*file->anchors));
	hash = perfetto_hash(hash, &perfctr_totals_span(file->totals)->start_ns, sizeof(uint64_t));
	if (file->number)
		hash = perfetto_hash(hash, &file->number, sizeof(file->number));
	/* rates and counts of the same capture are different tracks */
	return perfetto_hash(hash, &e->counts, sizeof(e->counts));
}

/* Each step can be undone (as in splitmix64). */
uint64_t perfetto_id(const struct export *e, uint64_t number)
{
	uint64_t id = ((const struct perfetto *)e->state)->identity + number;

	id = (id ^ id >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	id = (id ^ id >> 27) * UINT64_C(0x94d049bb133111eb);
	return id ^ id >> 31;
}

/* Perfetto's service numbers its sequences from 1 on. */
uint32_t perfetto_sequence(const struct export *e)
{
	return (uint32_t)perfetto_id(e, ID_SEQUENCE) | UINT32_C(1) << 31;
}

/* --- packets --------------------------------------------------------------- */

int perfetto_write(struct export *e, Perfetto__TracePacket *packet)
{
	struct perfetto *p = e->state;
	uint8_t head[11] = { TAG_PACKET };
	size_t size, left, head_bytes = 1;

	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = perfetto_sequence(e);
	if (!packet->has_sequence_flags) {
		/* the defaults in the first packet are needed to read this one */
		packet->has_sequence_flags = true;
		packet->sequence_flags = NEEDS_INCREMENTAL_STATE;
	}
	size = perfetto__trace_packet__get_packed_size(packet);
	if (size > p->room) {
		uint8_t *bytes = realloc(p->bytes, 2 * size);

		if (!bytes)
			return -ENOMEM;
		p->bytes = bytes;
		p->room = 2 * size;
	}
	perfetto__trace_packet__pack(packet, p->bytes);
	for (left = size; left > 0x7f; left >>= 7)
		head[head_bytes++] = (uint8_t)(left | 0x80);
	head[head_bytes++] = (uint8_t)left;
	text_add(e->text, (const char *)head, head_bytes);
	text_add(e->text, (const char *)p->bytes, size);
	return 0;
}

uint64_t perfetto_time(const struct export *e, uint64_t raw_ns)
{
	uint64_t ns;

	return capture_file_time(e->file, raw_ns, CLOCK_BOOTTIME, &ns) ? ns : raw_ns;
}

char *perfetto_unit(const struct export *e, size_t line, char *unit, size_t size, double *scale)
{
	const struct row *row = e->values.lines[line].row;
	const bool is_rate = e->values.lines[line].is_rate && !e->counts;
	const char *per_second = row_rate_unit(row, scale);

	snprintf(unit, size, "%s%s", is_rate && *scale != 1 ? "" : row->unit,
		 is_rate ? per_second : "");
	if (!is_rate)
		*scale = 1;
	return unit;
}
