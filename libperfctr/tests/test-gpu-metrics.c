// SPDX-License-Identifier: MIT
/* AMD GPUs by their file gpu_metrics, of which kernel-headers.py compares the layouts. */
#include "tree.h"

#include "local/gpu_metrics.h"

#define CARD "/sys/class/drm/card1"
#define PLACE "/sys/devices/pci0000:00/0000:03:00.0"
#define AMD "amdgpu/0000:03:00.0:"

static unsigned char file[GPU_METRICS_BYTES];
static size_t used;
static unsigned int reads; /* of gpu_metrics */
static int read_error;

static int counting_open(void *data, const char *path, int flags)
{
	reads += strstr(path, "gpu_metrics") != NULL;
	return tree_open(data, path, flags);
}

static ssize_t failing_read(void *data, int fd, void *bytes, size_t size)
{
	char path[64], target[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (read_error && perfctr_sys_real.readlink(NULL, path, target, sizeof(target)) > 0 &&
	    strstr(target, "gpu_metrics"))
		return read_error;
	return perfctr_sys_real.read(data, fd, bytes, size);
}

static void begin_card(void)
{
	begin();
	read_error = 0;
	sys.open = counting_open;
	sys.read = failing_read;
	put(PLACE "/power/runtime_status", "active\n");
	put_link(CARD "/device", "../../../devices/pci0000:00/0000:03:00.0");
}

static void place_file(void)
{
	put_bytes(PLACE "/gpu_metrics", file, used);
}

/* As the kernel's drivers: all ones, then the header. */
static void make_file(unsigned int format, unsigned int content, size_t bytes)
{
	memset(file, 0xff, sizeof(file));
	used = bytes;
	memcpy(file, &(uint16_t){ (uint16_t)bytes }, 2);
	file[2] = (unsigned char)format;
	file[3] = (unsigned char)content;
}

static void set(size_t at, unsigned int bytes, uint64_t value)
{
	memcpy(file + at, &value, bytes);
}

TEST_WITH(begin_card, end_tree, "a discrete GPU's values have their units")
{
	const struct perfctr_block block = { .type = DRM_PERFCTR_BLOCK_GENERIC_PMU, .index = 1 };
	char unit[16];
	double scale;
	struct seen seen;

	make_file(1, 3, 120);
	set(4, 2, 61);
	set(16, 2, 37);
	set(22, 2, 85);
	set(24, 8, 1000);
	set(54, 2, 2100);
	set(112, 8, 5);
	place_file();
	start(AMD "temperature_edge/," AMD "average_gfx_activity/," AMD "average_socket_power/," AMD
		  "energy_accumulator/," AMD "current_gfxclk/," AMD "indep_throttle_status/",
	      6);
	set(16, 2, 99);
	set(24, 8, 1700);
	place_file();
	seen = take_sample();
	EQUAL(seen.valid, 0x3f);
	EQUAL(seen.values[0], 61000);
	EQUAL(seen.values[1], 99000);
	EQUAL(seen.values[2], 85000);
	/* the unit of this energy is the chip's */
	EQUAL(seen.values[3], 700);
	EQUAL(seen.values[4], 2100000000);
	EQUAL(seen.values[5], 5);
	perfctr_counter_unit(selection, &block, 0, unit, sizeof(unit), &scale);
	EQUAL_TEXT(unit, "%");
	CHECK(scale == 1e-3);
}

TEST_WITH(begin_card, end_tree, "an APU's values have other units")
{
	struct seen seen;

	make_file(2, 4, 168);
	set(4, 2, 4512);
	set(28, 2, 5500);
	set(40, 2, 15000);
	set(158, 2, 900);
	place_file();
	start(AMD "temperature_gfx/," AMD "average_gfx_activity/," AMD "average_socket_power/," AMD
		  "average_cpu_current/",
	      4);
	seen = take_sample();
	EQUAL(seen.values[0], 45120);
	/* of which nobody knows whether it is in percent or in hundredths of it */
	EQUAL(seen.values[1], 5500);
	EQUAL(seen.values[2], 15000);
	EQUAL(seen.values[3], 900);
	EQUAL(perfctr_selection_request(selection, 0)->config, AMDGPU_TEMPERATURE);
	EQUAL(perfctr_selection_request(selection, 1)->config, AMDGPU_VALUE);
	EQUAL(perfctr_selection_request(selection, 2)->config, AMDGPU_POWER);
	EQUAL(perfctr_selection_request(selection, 3)->config, AMDGPU_CURRENT);
}

TEST_WITH(begin_card, end_tree, "energy in steps of 2^-16 J adds up to the last one")
{
	uint64_t energy = (1ull << 40) + 12345, sum = 0;

	make_file(1, 4, 288);
	set(24, 8, energy);
	place_file();
	start(AMD "energy_accumulator/", 1);
	/* each a fraction of a microjoule more than a whole number */
	for (unsigned int n = 0; n < 64; n++) {
		energy += 1021;
		set(24, 8, energy);
		place_file();
		sum += take_sample().values[0];
	}
	EQUAL(sum, 64ull * 1021 * 1000000 / 65536);
}

TEST_WITH(begin_card, end_tree, "traffic is in bytes")
{
	struct seen seen;

	make_file(1, 5, 360);
	set(136, 8, 12);
	set(176, 8, 1000);
	place_file();
	start(AMD "pcie_bandwidth_inst/," AMD "xgmi_read_data_acc-0/", 2);
	set(176, 8, 1005);
	place_file();
	seen = take_sample();
	EQUAL(seen.values[0], 12000000000);
	EQUAL(seen.values[1], 5000);
}

static unsigned int listed;
static char last[GPU_METRICS_NAME_BYTES];

static int count_event(void *data, const struct perfctr_pmu_event *event)
{
	if (!strcmp(event->pmu, "amdgpu") && event->event) {
		listed++;
		snprintf(last, sizeof(last), "%s", event->event);
	}
	return 0;
}

static unsigned int count_events(void)
{
	listed = 0;
	EQUAL(perfctr_pmu_events(ctx, count_event, NULL), 0);
	return listed;
}

TEST_WITH(begin_card, end_tree, "what the firmware does not fill in is no event, and not measured")
{
	make_file(1, 3, 120);
	set(18, 2, 4);
	place_file();
	EQUAL(count_events(), 1);
	EQUAL_TEXT(last, "0000:03:00.0:average_umc_activity");
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_selection_add(selection, AMD "average_gfx_activity/"), -ENOENT);
	start("amdgpu/*/", 1);
	EQUAL(take_sample().valid, 1);
	set(18, 2, 0xffff);
	place_file();
	EQUAL(take_sample().valid, 0);
}

TEST_WITH(begin_card, end_tree, "a GPU that sleeps is not read, and neither is one that refuses")
{
	struct seen seen;

	make_file(1, 4, 288);
	set(24, 8, 65536);
	place_file();
	start(AMD "energy_accumulator/", 1);
	put(PLACE "/power/runtime_status", "suspended\n");
	set(24, 8, 3 * 65536);
	place_file();
	reads = 0;
	EQUAL(take_sample().valid, 0);
	EQUAL(reads, 0);
	put(PLACE "/power/runtime_status", "active\n");
	read_error = -EPERM;
	EQUAL(take_sample().valid, 0);
	EQUAL(reads, 1);
	read_error = 0;
	seen = take_sample();
	EQUAL(seen.valid, 1);
	EQUAL(seen.values[0], 2000000);
	/* its firmware starts again */
	set(24, 8, 100);
	place_file();
	CHECK(take_sample().states & DRM_PERFCTR_STATE_LOST);
}

TEST_WITH(begin_card, end_tree, "a count that is first read after START says that some is lost")
{
	struct seen seen;

	make_file(1, 4, 288);
	set(24, 8, 65536);
	place_file();
	EQUAL(perfctr_selection_add(selection, AMD "energy_accumulator/"), 1);
	EQUAL(perfctr_session_new(selection, NULL, &session), 0);
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	read_error = -EPERM;
	EQUAL(perfctr_session_start(session, 0), 0);
	EQUAL(take_sample().valid, 0);
	read_error = 0;
	seen = take_sample();
	EQUAL(seen.values[0], 0);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	EQUAL(perfctr_session_stop(session, 0), 0);
	/* the next START begins anew */
	EQUAL(perfctr_cursor_next(cursor, &(struct perfctr_sample){ 0 }), 1);
	perfctr_cursor_advance(cursor, 1);
	EQUAL(perfctr_session_start(session, 0), 0);
	set(24, 8, 2 * 65536);
	place_file();
	seen = take_sample();
	EQUAL(seen.values[0], 1000000);
	CHECK(!(seen.states & DRM_PERFCTR_STATE_LOST));
}

TEST_WITH(begin_card, end_tree, "an unknown format is refused by its name")
{
	static const struct {
		unsigned int format, content;
		size_t bytes;
		const char *text;
	} unknown[] = {
		{ 1, 10, 120, "format 1.10 of 120 bytes" },
		{ 2, 5, 168, "format 2.5" },
		{ 3, 1, 264, "format 3.1" },
		{ 4, 0, 300, "format 4.0" },
		{ 1, 3, 128, "format 1.3 of 128 bytes" },
		{ 0, 0, 4, "format 0.0" },
	};

	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	for (size_t n = 0; n < ARRAY_SIZE(unknown); n++) {
		make_file(unknown[n].format, unknown[n].content, unknown[n].bytes);
		memset(file + 4, 0, used - 4);
		place_file();
		EQUAL(count_events(), 0);
		EQUAL(perfctr_selection_add(selection, AMD "average_gfx_activity/"), -EOPNOTSUPP);
		HAS_TEXT(perfctr_ctx_error(ctx), unknown[n].text);
		HAS_TEXT(perfctr_ctx_error(ctx), "0000:03:00.0");
		EQUAL(perfctr_selection_add(selection, "amdgpu/*/"), -EOPNOTSUPP);
		HAS_TEXT(perfctr_ctx_error(ctx), unknown[n].text);
	}
	/* a file that ends early */
	make_file(1, 3, 120);
	used = 119;
	place_file();
	EQUAL(perfctr_selection_add(selection, "amdgpu/*/"), -EOPNOTSUPP);
	used = 3;
	place_file();
	EQUAL(perfctr_selection_add(selection, "amdgpu/*/"), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "3 of the 4 bytes");
	put(PLACE "/power/runtime_status", "suspended\n");
	EQUAL(perfctr_selection_add(selection, "amdgpu/*/"), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "sleeps");
}

/* --- the format that describes itself ----------------------------------------------- */

static void begin_attributes(void)
{
	make_file(1, 9, 4);
	memset(file + 4, 0, 4);
	used = 8;
}

static size_t add_attribute(unsigned int unit, unsigned int type, unsigned int id,
			    unsigned int count, uint64_t value)
{
	const unsigned int bytes = 1u << type / 2;
	const size_t at = used + 8;

	set(used, 8, (uint64_t)unit << 24 | type << 20 | id << 10 | count);
	for (unsigned int n = 0; n < count; n++)
		set(at + n * bytes, bytes, value + n);
	used = at + (size_t)count * bytes;
	file[4]++;
	return at;
}

TEST_WITH(begin_card, end_tree, "a file that describes itself is read at odd places")
{
	struct seen seen;
	size_t energy;

	begin_attributes();
	add_attribute(2, 3, 0, 1, (uint16_t)-7); /* degC, signed */
	add_attribute(0, 0, 31, 3, 1); /* three bytes: the rest is not aligned */
	energy = add_attribute(0, 6, 7, 1, 65536);
	add_attribute(1, 2, 33, 8, 1000); /* MHz */
	add_attribute(200, 4, 5, 1, 3); /* an unknown unit */
	add_attribute(0, 4, 500, 2, 9); /* an unknown attribute */
	add_attribute(10, 4, 4, 1, 42); /* percent */
	place_file();
	EQUAL(count_events(), 1 + 3 + 1 + 8 + 1);
	start(AMD "temperature_hotspot/," AMD "xgmi_link_status-2/," AMD "energy_accumulator/," AMD
		  "current_gfxclk-3/," AMD "average_gfx_activity/",
	      5);
	set(energy, 8, 2 * 65536);
	place_file();
	seen = take_sample();
	EQUAL(seen.valid, 0x1f);
	EQUAL((int64_t)seen.values[0], -7000);
	EQUAL(seen.values[1], 3);
	EQUAL(seen.values[2], 1000000);
	EQUAL(seen.values[3], 1003000000);
	EQUAL(seen.values[4], 42000);
	/* its description changes: the values are others */
	set(8, 8, (uint64_t)2 << 24 | 3 << 20 | 1 << 10 | 1);
	place_file();
	EQUAL(take_sample().valid, 0x1e);
}

TEST_WITH(begin_card, end_tree, "a file that describes itself wrongly is refused")
{
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	begin_attributes();
	add_attribute(2, 2, 0, 1, 50);
	add_attribute(2, 9, 1, 0, 50);
	place_file();
	EQUAL(perfctr_selection_add(selection, AMD "temperature_mem/"), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "values of type 9");
	/* more values, or attributes, than the file has bytes for */
	for (size_t cut = 1; cut <= 10; cut++) {
		begin_attributes();
		add_attribute(2, 2, 0, 1, 50);
		add_attribute(2, 2, 1, 1, 50);
		used -= cut;
		place_file();
		EQUAL(perfctr_selection_add(selection, AMD "temperature_mem/"), -EOPNOTSUPP);
		HAS_TEXT(perfctr_ctx_error(ctx), "ends in attribute 1 of 2");
	}
	begin_attributes();
	set(4, 4, UINT32_MAX);
	place_file();
	EQUAL(perfctr_selection_add(selection, AMD "temperature_mem/"), -EOPNOTSUPP);
}

TEST_WITH(begin_card, end_tree, "another GPU that gets a number is not read for the first")
{
	make_file(1, 3, 120);
	set(16, 2, 37);
	place_file();
	start(AMD "average_gfx_activity/", 1);
	put_bytes("/sys/devices/pci0000:00/0000:83:00.0/gpu_metrics", file, used);
	put_link(CARD "/device", "../../../devices/pci0000:00/0000:83:00.0");
	EQUAL(take_sample().valid, 0);
	put_link(CARD "/device", "../../../devices/pci0000:00/0000:03:00.0");
	EQUAL(take_sample().valid, 1);
	/* one in the same place, of another generation */
	make_file(3, 0, 264);
	memset(file + 4, 0, used - 4);
	place_file();
	EQUAL(take_sample().valid, 0);
}

static int read_copy(void *arg, const char *name, const struct gpu_field *field)
{
	void *const *copy = arg;
	uint64_t value;

	CHECK(field->kind && strlen(name) < GPU_METRICS_NAME_BYTES - 1);
	gpu_metrics_read(copy[0], (size_t)copy[1], field, &value);
	return 0;
}

/* the address sanitizer judges */
TEST("no byte beyond a file is read, whatever it has")
{
	uint64_t random = 1;

	for (unsigned int round = 0; round < 20000; round++) {
		char reason[GAUGE_REASON_BYTES];
		size_t bytes;
		unsigned char *copy;

		for (size_t n = 0; n < 160; n++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			file[n] = (unsigned char)(random >> 60 ? random >> 56 & 3 : random >> 48);
		}
		file[2] = (unsigned char)(1 + round % 3);
		file[3] = (unsigned char)(round % 16 < 8 ? 9 : round % 10);
		file[5] = file[6] = file[7] = 0;
		bytes = random >> 33 & 127;
		copy = malloc(bytes ?: 1);
		memcpy(copy, file, bytes);
		gpu_metrics_walk(copy, bytes, read_copy, (void *[]){ copy, (void *)bytes }, reason);
		free(copy);
	}
}
