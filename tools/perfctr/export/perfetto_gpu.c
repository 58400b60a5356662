// SPDX-License-Identifier: MIT
/*
 * Counters of a GPU in a Perfetto trace: GpuInfo, then a GpuCounterEvent for each sample.
 *
 * Readers take the value of such an event as that of the time since the one before. So it is at the
 * end of its sample, and where samples do not follow one another there is an event of zeros. Ids
 * of counters are the same number in all of a trace, therefore those of a capture begin at a number
 * made of its identity.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/device.h"
#include "perfetto.h"

typedef Perfetto__GpuCounterDescriptor__GpuCounterGroup gpu_group;
typedef Perfetto__GpuCounterDescriptor__MeasureUnit gpu_unit;

#define GROUP(name) PERFETTO__GPU_COUNTER_DESCRIPTOR__GPU_COUNTER_GROUP__##name
#define UNIT(name) PERFETTO__GPU_COUNTER_DESCRIPTOR__MEASURE_UNIT__##name

enum {
	/* ids of 28 bits take four bytes each */
	COUNTER_IDS = 1 << 27,
	/* numbers of groups below are Perfetto's own */
	GROUP_IDS = 1 << 30,
	FIRST_RENDER_NODE = 128,
	MOST_GPUS = 64,
	/* tags: number of the field << 3 | 0 varint, 1 eight bytes, 2 with a length */
	/* an event's value is that of the time before it */
	VALUE_IS_OF_BEFORE = 1,
	TAG_TIMESTAMP = 8 << 3,
	TAG_SEQUENCE = 10 << 3,
	TAG_SEQUENCE_FLAGS = 13 << 3,
	TAG_COUNTER_EVENT = 52 << 3 | 2,
	TAG_COUNTERS = 2 << 3 | 2,
	TAG_GPU_ID = 3 << 3,
	TAG_COUNTER_ID = 1 << 3,
	TAG_INT_VALUE = 2 << 3,
	TAG_DOUBLE_VALUE = 3 << 3 | 1,
	VARINT_BYTES = 10,
	ID_BYTES = 5,
	/* tags, lengths, id and value of a counter */
	COUNTER_BYTES = 1 + 1 + 1 + ID_BYTES + 1 + VARINT_BYTES,
	/* what is before the counters of an event, and what is behind */
	EVENT_BYTES = 16 * VARINT_BYTES,
};

/* what is before the value of a counter: the message's tag, its length, the counter's id */
struct head {
	uint8_t bytes[1 + 1 + 1 + ID_BYTES], size;
};

struct gpu {
	uint32_t first_id; /* of the counters; a line's id is higher by its number */
	uint32_t gpu_id;
	size_t *lines; /* that are counters of the GPU */
	double *scales; /* of each of them, from the item's number */
	struct head *heads; /* of each of them, but for the length */
	size_t count;
	uint64_t end_ns; /* of the last event, on the clock of samples */
	uint8_t *event; /* its counters, then all of the packet */
};

/* --- what is said of the counters ------------------------------------------ */

/* PMUs whose values are those of GPUs */
static const char *const gpu_pmus[] = { "nvml", "amdgpu", "gpu_stats" };

static bool is_gpu(const struct export *e, const struct row *row)
{
	const struct perfctr_totals_block_info *info = row->info;
	const struct perfctr_totals *totals = e->file->totals;

	/* a metric of the whole device is of its blocks */
	for (size_t n = 0; !info && n < perfctr_totals_block_count(totals); n++) {
		info = perfctr_totals_block_info(perfctr_totals_block(totals, n));
		if (info->type != row->metric->block_type)
			info = NULL;
	}
	if (!info || !info->is_pmu)
		return info;
	/* beside other blocks, those of PMUs have times of their own */
	if (!device_is_local(e->file->device))
		return false;
	for (size_t n = 0; n < ARRAY_SIZE(gpu_pmus); n++)
		if (!strncmp(info->pmu, gpu_pmus[n], strlen(gpu_pmus[n])))
			return true;
	return false;
}

/* Lines of a block are together, blocks in the order of their first lines. */
static int by_block(const void *a, const void *b, void *data)
{
	const struct track *tracks = data;
	const size_t *x = a, *y = b, p = tracks[*x].first, q = tracks[*y].first;

	return p != q ? (p > q) - (p < q) : (*x > *y) - (*x < *y);
}

static void find_lines(struct export *e)
{
	const struct values_line *lines = e->values.lines;
	struct track *tracks = ((struct perfetto *)e->state)->tracks;
	struct gpu *gpu = ((struct perfetto *)e->state)->gpu;

	for (size_t n = 0; n < e->values.count; n++) {
		tracks[n].is_gpu = lines[n].is_block && is_gpu(e, lines[n].row);
		if (tracks[n].is_gpu)
			gpu->lines[gpu->count++] = n;
	}
	qsort_r(gpu->lines, gpu->count, sizeof(*gpu->lines), by_block, tracks);
}

static gpu_unit find_unit(const char *text, size_t length)
{
	static const struct {
		const char *text;
		gpu_unit unit;
	} units[] = {
		{ "bytes", UNIT(BYTE) },
		{ "bits", UNIT(BIT) },
		{ "Hz", UNIT(HERTZ) },
		{ "ns", UNIT(NANOSECOND) },
		{ "s", UNIT(SECOND) },
		{ "vertices", UNIT(VERTEX) },
		{ "vertex", UNIT(VERTEX) },
		{ "pixels", UNIT(PIXEL) },
		{ "pixel", UNIT(PIXEL) },
		{ "triangles", UNIT(TRIANGLE) },
		{ "primitives", UNIT(PRIMITIVE) },
		{ "primitive", UNIT(PRIMITIVE) },
		{ "fragments", UNIT(FRAGMENT) },
		{ "fragment", UNIT(FRAGMENT) },
		{ "mW", UNIT(MILLIWATT) },
		{ "W", UNIT(WATT) },
		{ "Joules", UNIT(JOULE) },
		{ "V", UNIT(VOLT) },
		{ "A", UNIT(AMPERE) },
		{ "%", UNIT(PERCENT) },
		{ "instructions", UNIT(INSTRUCTION) },
		{ "instruction", UNIT(INSTRUCTION) },
	};

	for (size_t n = 0; n < ARRAY_SIZE(units); n++)
		if (strlen(units[n].text) == length && !strncmp(units[n].text, text, length))
			return units[n].unit;
	return UNIT(NONE);
}

/* What Perfetto has no unit for is in the description only. */
static void set_units(Perfetto__GpuCounterDescriptor__GpuCounterSpec *spec, const char *text,
		      gpu_unit units[2])
{
	const size_t length = strcspn(text, "/");
	const char *below = text[length] ? text + length + 1 : "";

	units[0] = find_unit(text, length);
	units[1] = find_unit(below, strlen(below));
	/* cycles per second are hertz; those of a sample have no unit */
	if (!strcmp(text, "cycles/s")) {
		units[0] = UNIT(HERTZ);
		units[1] = UNIT(NONE);
	}
	spec->n_numerator_units = units[0] != UNIT(NONE);
	spec->numerator_units = &units[0];
	spec->n_denominator_units = units[1] != UNIT(NONE);
	spec->denominator_units = &units[1];
}

static gpu_group find_group(const struct row *row, const char *unit)
{
	static const struct {
		const char *part;
		gpu_group group;
	} words[] = {
		{ "vert", GROUP(VERTICES) },   { "frag", GROUP(FRAGMENTS) },
		{ "pixel", GROUP(FRAGMENTS) }, { "quad", GROUP(FRAGMENTS) },
		{ "tex", GROUP(FRAGMENTS) },   { "prim", GROUP(PRIMITIVES) },
		{ "tri", GROUP(PRIMITIVES) },  { "tile", GROUP(PRIMITIVES) },
		{ "compute", GROUP(COMPUTE) }, { "instr", GROUP(COMPUTE) },
		{ "thread", GROUP(COMPUTE) },  { "warp", GROUP(COMPUTE) },
		{ "byte", GROUP(MEMORY) },     { "mem", GROUP(MEMORY) },
		{ "l2", GROUP(MEMORY) },       { "cache", GROUP(MEMORY) },
		{ "read", GROUP(MEMORY) },     { "write", GROUP(MEMORY) },
		{ "shader", GROUP(COMPUTE) },  { "sp", GROUP(COMPUTE) },
	};
	const char *const texts[] = { unit, row->counter, row->label };

	for (size_t t = 0; t < ARRAY_SIZE(texts); t++)
		for (size_t n = 0; n < ARRAY_SIZE(words); n++)
			if (strcasestr(texts[t], words[n].part))
				return words[n].group;
	return GROUP(SYSTEM);
}

/* what is said of a counter */
struct spec {
	Perfetto__GpuCounterDescriptor__GpuCounterSpec spec;
	gpu_unit units[2];
	gpu_group group;
};

/* Return: 0 or -ENOMEM; the caller frees the description. */
static int describe_line(const struct export *e, size_t n, struct spec *s)
{
	struct gpu *gpu = ((struct perfetto *)e->state)->gpu;
	const struct row *row = e->values.lines[gpu->lines[n]].row;
	char unit[2 * ROW_UNIT_BYTES];
	const char *text = row->metric ? row->metric->short_text :
			   row->desc   ? row->desc->short_text :
					 "";

	perfetto_unit(e, gpu->lines[n], unit, sizeof(unit), &gpu->scales[n]);
	perfetto__gpu_counter_descriptor__gpu_counter_spec__init(&s->spec);
	if (asprintf(&s->spec.description, "%s%s%s", text, *text && *unit ? ", in " : "", unit) <
	    0) {
		s->spec.description = NULL;
		return -ENOMEM;
	}
	s->group = find_group(row, unit);
	set_units(&s->spec, unit, s->units);
	s->spec.has_counter_id = true;
	s->spec.counter_id = gpu->first_id + (uint32_t)n;
	s->spec.name = (char *)(uintptr_t)row->event;
	s->spec.has_select_by_default = true;
	s->spec.select_by_default = true;
	s->spec.n_groups = 1;
	s->spec.groups = &s->group;
	s->spec.has_value_direction = true;
	s->spec.value_direction = VALUE_IS_OF_BEFORE;
	return 0;
}

/* a block, as AGI knows it, and as a group of the user interface */
struct part {
	Perfetto__GpuCounterDescriptor__GpuCounterBlock block;
	Perfetto__GpuCounterDescriptor__GpuCounterGroupSpec group;
};

static void begin_part(struct part *part, size_t number, const char *label, uint32_t *ids)
{
	perfetto__gpu_counter_descriptor__gpu_counter_block__init(&part->block);
	part->block.has_block_id = true;
	part->block.block_id = (uint32_t)number;
	part->block.name = (char *)(uintptr_t)label;
	part->block.counter_ids = ids;
	perfetto__gpu_counter_descriptor__gpu_counter_group_spec__init(&part->group);
	part->group.has_group_id = true;
	/* the same block is the same group in another capture of the GPU */
	part->group.group_id = GROUP_IDS |
			       ((uint32_t)perfetto_hash(0, label, strlen(label)) & (GROUP_IDS - 1));
	part->group.name = (char *)(uintptr_t)label;
	part->group.counter_ids = ids;
}

/* what a descriptor points to, for as many counters, each with room for a block of its own */
struct description {
	Perfetto__GpuCounterDescriptor descriptor;
	struct spec *specs;
	struct part *parts;
	uint32_t *ids;
	Perfetto__GpuCounterDescriptor__GpuCounterSpec **spec_pointers;
	Perfetto__GpuCounterDescriptor__GpuCounterBlock **block_pointers;
	Perfetto__GpuCounterDescriptor__GpuCounterGroupSpec **group_pointers;
};

static bool allocate(struct description *d, size_t count)
{
	d->specs = calloc(count, sizeof(*d->specs));
	d->parts = calloc(count, sizeof(*d->parts));
	d->ids = calloc(count, sizeof(*d->ids));
	d->spec_pointers = calloc(count, sizeof(*d->spec_pointers));
	d->block_pointers = calloc(count, sizeof(*d->block_pointers));
	d->group_pointers = calloc(count, sizeof(*d->group_pointers));
	return d->specs && d->parts && d->ids && d->spec_pointers && d->block_pointers &&
	       d->group_pointers;
}

static int fill(const struct export *e, struct description *d)
{
	const struct gpu *gpu = ((struct perfetto *)e->state)->gpu;
	const char *label = NULL;
	size_t parts = 0;
	int error = 0;

	perfetto__gpu_counter_descriptor__init(&d->descriptor);
	for (size_t n = 0; !error && n < gpu->count; n++) {
		const char *own = e->values.lines[gpu->lines[n]].row->label;

		d->ids[n] = gpu->first_id + (uint32_t)n;
		error = describe_line(e, n, &d->specs[n]);
		d->spec_pointers[n] = &d->specs[n].spec;
		if (!label || strcmp(label, own)) {
			label = own;
			begin_part(&d->parts[parts], parts, label, &d->ids[n]);
			d->block_pointers[parts] = &d->parts[parts].block;
			d->group_pointers[parts] = &d->parts[parts].group;
			parts++;
		}
		d->parts[parts - 1].block.n_counter_ids++;
		d->parts[parts - 1].group.n_counter_ids++;
	}
	d->descriptor.n_specs = gpu->count;
	d->descriptor.specs = d->spec_pointers;
	d->descriptor.n_blocks = d->descriptor.n_counter_groups = parts;
	d->descriptor.blocks = d->block_pointers;
	d->descriptor.counter_groups = d->group_pointers;
	return error;
}

static int write_descriptor(struct export *e)
{
	Perfetto__GpuCounterEvent event = PERFETTO__GPU_COUNTER_EVENT__INIT;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	const struct gpu *gpu = ((struct perfetto *)e->state)->gpu;
	struct description d = { .ids = NULL };
	int error = -ENOMEM;

	if (allocate(&d, gpu->count))
		error = fill(e, &d);
	if (!error) {
		event.counter_descriptor = &d.descriptor;
		event.has_gpu_id = true;
		event.gpu_id = (int32_t)gpu->gpu_id;
		packet.gpu_counter_event = &event;
		/* some readers want a time of each event */
		packet.has_timestamp = true;
		packet.timestamp = perfetto_time(e, perfctr_totals_span(e->file->totals)->start_ns);
		error = perfetto_write(e, &packet);
	}
	for (size_t n = 0; d.specs && n < gpu->count; n++)
		free(d.specs[n].spec.description);
	free(d.specs);
	free(d.parts);
	free(d.ids);
	free(d.spec_pointers);
	free(d.block_pointers);
	free(d.group_pointers);
	return error;
}

static char *vendor_of(const char *driver)
{
	static const struct {
		const char *driver, *vendor;
	} vendors[] = {
		{ "panthor", "Arm" },	{ "panfrost", "Arm" }, { "kbase", "Arm" },
		{ "mali", "Arm" },	{ "msm", "Qualcomm" }, { "nouveau", "NVIDIA" },
		{ "nvidia", "NVIDIA" }, { "i915", "Intel" },   { "xe", "Intel" },
		{ "v3d", "Broadcom" },	{ "amdgpu", "AMD" },
	};

	for (size_t n = 0; n < ARRAY_SIZE(vendors); n++)
		if (!strcmp(driver, vendors[n].driver))
			return (char *)(uintptr_t)vendors[n].vendor;
	return NULL;
}

/*
 * The GPU's number in the trace: that of its render node, so those of a machine differ. Those of a
 * capture that have other nodes are counted down from the end, so no two of it are equal.
 */
static uint32_t number_of(const struct capture_file *file)
{
	const char *node = perfctr_device_path(file->device);
	unsigned int minor = FIRST_RENDER_NODE;

	if (sscanf(node, "/dev/dri/renderD%u", &minor) != 1 ||
	    minor - FIRST_RENDER_NODE >= MOST_GPUS)
		return capture_file_device(file) ? MOST_GPUS - 1 - file->number : 0;
	return minor - FIRST_RENDER_NODE;
}

/* GPUs of lower numbers have no properties here: another trace may have them. */
static int write_info(struct export *e)
{
	const struct drm_perfctr_device_info *info = perfctr_device_info(e->file->device);
	const char *driver = perfctr_device_driver(e->file->device);
	const char *product = perfctr_product_name(info->product);
	Perfetto__GpuInfo__Gpu gpus[MOST_GPUS], *pointers[MOST_GPUS];
	const uint32_t gpu_id = ((struct perfetto *)e->state)->gpu->gpu_id;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__GpuInfo all = PERFETTO__GPU_INFO__INIT;
	Perfetto__GpuInfo__Gpu *gpu = &gpus[gpu_id];
	Perfetto__GpuInfo__Gpu__KeyValue facts[4], *fact_pointers[ARRAY_SIZE(facts)];
	char id[32];
	const struct {
		const char *key, *value;
	} known[ARRAY_SIZE(facts)] = {
		{ "driver", driver },
		{ "gpu_id", info->gpu_id ? id : NULL },
		{ "kernel", capture_file_text(e->file, "kernel") },
		{ "host", capture_file_text(e->file, "host") },
	};

	snprintf(id, sizeof(id), "0x%" PRIx64, (uint64_t)info->gpu_id);
	for (uint32_t n = 0; n <= gpu_id; n++) {
		perfetto__gpu_info__gpu__init(&gpus[n]);
		pointers[n] = &gpus[n];
	}
	gpu->name = (char *)(uintptr_t)info->name;
	gpu->vendor = vendor_of(driver);
	gpu->model = (char *)(uintptr_t)info->name;
	gpu->architecture = (char *)(uintptr_t)product;
	gpu->extra_info = fact_pointers;
	for (size_t n = 0; n < ARRAY_SIZE(facts); n++) {
		Perfetto__GpuInfo__Gpu__KeyValue *fact = &facts[gpu->n_extra_info];

		if (!known[n].value || !*known[n].value)
			continue;
		perfetto__gpu_info__gpu__key_value__init(fact);
		fact->key = (char *)(uintptr_t)known[n].key;
		fact->value = (char *)(uintptr_t)known[n].value;
		fact_pointers[gpu->n_extra_info++] = fact;
	}
	all.n_gpus = gpu_id + 1;
	all.gpus = pointers;
	packet.gpu_info = &all;
	return perfetto_write(e, &packet);
}

/* --- events ---------------------------------------------------------------- */

static uint8_t *put_varint(uint8_t *to, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		*to++ = (uint8_t)(value | 0x80);
	*to++ = (uint8_t)value;
	return to;
}

/* A number behind its tag. */
static uint8_t *put_number(uint8_t *to, uint32_t tag, uint64_t value)
{
	return put_varint(put_varint(to, tag), value);
}

static uint8_t *put_double(uint8_t *to, double value)
{
	uint64_t bits;

	*to++ = TAG_DOUBLE_VALUE;
	memcpy(&bits, &value, sizeof(bits));
	bits = htole64(bits);
	memcpy(to, &bits, sizeof(bits));
	return to + sizeof(bits);
}

/* A message of less than 128 bytes. @value: 0 if @item is NULL or was not measured. */
static uint8_t *put_counter(const struct export *e, uint8_t *to, size_t n,
			    const struct values_item *item)
{
	const struct gpu *gpu = ((struct perfetto *)e->state)->gpu;
	const struct row *row = e->values.lines[gpu->lines[n]].row;
	uint8_t *begin = to;
	bool measured = item && item->is_measured;

	memcpy(to, gpu->heads[n].bytes, sizeof(gpu->heads[n].bytes));
	to += gpu->heads[n].size;
	if (!e->counts || row->metric)
		to = put_double(
			to, measured && isfinite(item->number) ? item->number * gpu->scales[n] : 0);
	/* the trace's integers are signed */
	else if (measured && item->count > INT64_MAX && !row_is_level(row))
		to = put_double(to, (double)item->count);
	else
		to = put_number(to, TAG_INT_VALUE, measured ? item->count : 0);
	begin[1] = (uint8_t)(to - begin - 2);
	return to;
}

/* Write an event: what put_counter() put behind EVENT_BYTES of @event. */
static void write_event(struct export *e, uint8_t *end, uint64_t raw_ns)
{
	const struct gpu *gpu = ((struct perfetto *)e->state)->gpu;
	uint8_t head[EVENT_BYTES], inner[2 * VARINT_BYTES], *to = head;
	const size_t inner_size = (size_t)(put_number(inner, TAG_GPU_ID, gpu->gpu_id) - inner);
	const size_t size = inner_size + (size_t)(end - gpu->event);
	uint8_t packet[EVENT_BYTES], *p = packet;

	p = put_number(p, TAG_TIMESTAMP, perfetto_time(e, raw_ns));
	p = put_number(p, TAG_SEQUENCE, perfetto_sequence(e));
	p = put_number(p, TAG_SEQUENCE_FLAGS, NEEDS_INCREMENTAL_STATE);
	p = put_number(p, TAG_COUNTER_EVENT, size);
	to = put_number(to, TAG_PACKET, (uint64_t)(p - packet) + size);
	text_add(e->text, (const char *)head, (size_t)(to - head));
	text_add(e->text, (const char *)packet, (size_t)(p - packet));
	text_add(e->text, (const char *)inner, inner_size);
	text_add(e->text, (const char *)gpu->event, (size_t)(end - gpu->event));
}

static void write_zeros(struct export *e, uint64_t raw_ns)
{
	const struct gpu *gpu = ((struct perfetto *)e->state)->gpu;
	uint8_t *to = gpu->event;

	for (size_t n = 0; n < gpu->count; n++)
		to = put_counter(e, to, n, NULL);
	write_event(e, to, raw_ns);
}

void perfetto_gpu_sample(struct export *e, const struct perfctr_sample *sample)
{
	struct gpu *gpu = ((struct perfetto *)e->state)->gpu;
	uint8_t *to;

	if (!gpu)
		return;
	if (sample->start_ns > gpu->end_ns)
		write_zeros(e, sample->start_ns);
	to = gpu->event;
	for (size_t n = 0; n < gpu->count; n++)
		if (e->values.items[gpu->lines[n]].is_present)
			to = put_counter(e, to, n, &e->values.items[gpu->lines[n]]);
	write_event(e, to, sample->end_ns);
	gpu->end_ns = sample->end_ns;
}

int perfetto_gpu_begin(struct export *e)
{
	struct perfetto *p = e->state;
	struct gpu *gpu = calloc(1, sizeof(*gpu));
	int error;

	if (!gpu)
		return -ENOMEM;
	p->gpu = gpu;
	gpu->lines = calloc(e->values.count + 1, sizeof(*gpu->lines));
	gpu->scales = calloc(e->values.count + 1, sizeof(*gpu->scales));
	gpu->heads = calloc(e->values.count + 1, sizeof(*gpu->heads));
	gpu->event = malloc((e->values.count + 1) * COUNTER_BYTES);
	if (!gpu->lines || !gpu->scales || !gpu->heads || !gpu->event)
		return -ENOMEM;
	find_lines(e);
	if (!gpu->count) {
		perfetto_gpu_end(e);
		return 0;
	}
	gpu->first_id = COUNTER_IDS | ((uint32_t)perfetto_id(e, ID_COUNTERS) & (COUNTER_IDS - 1));
	gpu->gpu_id = number_of(e->file);
	for (size_t n = 0; n < gpu->count; n++) {
		struct head *h = &gpu->heads[n];

		h->bytes[0] = TAG_COUNTERS;
		h->size = (uint8_t)(put_number(h->bytes + 2, TAG_COUNTER_ID,
					       gpu->first_id + (uint32_t)n) -
				    h->bytes);
	}
	error = write_info(e);
	return error ? error : write_descriptor(e);
}

void perfetto_gpu_end(struct export *e)
{
	struct perfetto *p = e->state;

	if (!p->gpu)
		return;
	free(p->gpu->lines);
	free(p->gpu->scales);
	free(p->gpu->heads);
	free(p->gpu->event);
	free(p->gpu);
	p->gpu = NULL;
}
