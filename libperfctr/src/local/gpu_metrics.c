// SPDX-License-Identifier: MIT
/*
 * Formats of gpu_metrics. Declarations of our own, which a test compares with the kernel's header.
 *
 * A layout is a text: a capital or small letter is a kind, the digit behind it the bytes of the
 * values, whose names follow, "*8" of an array. "{8 NAME ... }" is an array of structures. All is
 * aligned as in C.
 *
 * Units are those that the header states or that all drivers assume which write the format, in
 * their own sensors. Where these contradict each other the value has no unit: the power of 2.0 to
 * 2.2 is in mW or W by the firmware, the activity of 2.3 and later in percent or hundredths, the
 * energy before 1.4 in a unit of the chip. Prefixes of bytes are those of SI, as the header has
 * them.
 */
#include "gpu_metrics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kind {
	char letter;
	struct gauge_kind kind;
} kinds[] = {
	{ 'T', { AMDGPU_TEMPERATURE, false, 1000, 1, 0 } }, /* degC */
	{ 't', { AMDGPU_TEMPERATURE, false, 10, 1, 0 } }, /* 0.01 degC */
	{ 'W', { AMDGPU_POWER, false, 1000, 1, 0 } },
	{ 'w', { AMDGPU_POWER, false, 1, 1, 0 } }, /* mW */
	{ 'J', { AMDGPU_ENERGY, true, 15625, 1024, 655360000 } }, /* 2^-16 J; 10 kW */
	{ 'M', { AMDGPU_CLOCK, false, 1000000, 1, 0 } }, /* MHz */
	{ 'P', { AMDGPU_ACTIVITY, false, 1000, 1, 0 } }, /* percent */
	{ 'p', { AMDGPU_ACTIVITY, false, 10, 1, 0 } }, /* 0.01 percent */
	{ 'V', { AMDGPU_VOLTAGE, false, 1, 1, 0 } }, /* mV */
	{ 'I', { AMDGPU_CURRENT, false, 1, 1, 0 } }, /* mA */
	{ 'F', { AMDGPU_FAN, false, 1, 1, 0 } },
	{ 'B', { AMDGPU_BANDWIDTH, false, 1000000, 1, 0 } }, /* MB/s */
	{ 'G', { AMDGPU_BANDWIDTH, false, 1000000000, 1, 0 } }, /* GB/s */
	{ 'K', { AMDGPU_DATA, true, 1000, 1, 0 } }, /* KB */
	{ 'C', { AMDGPU_EVENTS, true, 1, 1, 0 } },
	{ 'R', { AMDGPU_TICKS, true, 1, 1, 0 } },
	{ 'A', { AMDGPU_ACTIVITY_SUM, true, 1, 1, 0 } },
	{ 'g', { AMDGPU_BANDWIDTH_SUM, true, 1, 1, 0 } },
	{ 'L', { AMDGPU_LANES, false, 1, 1, 0 } },
	{ 'S', { AMDGPU_LINK_SPEED, false, 100, 1, 0 } }, /* 0.1 GT/s */
	{ 's', { AMDGPU_LINK_SPEED, false, 1000, 1, 0 } }, /* GT/s */
	{ 'b', { AMDGPU_STATUS, false, 1, 1, 0 } },
	{ 'v', { AMDGPU_VALUE, false, 1, 1, 0 } },
	{ 'e', { AMDGPU_SUM, true, 1, 1, 0 } },
};

/* Left out, as '-': the header, times, constants, and fan_pwm, whose full drive nothing states. */

#define V1_SENSORS                                                                   \
	"T2 temperature_edge temperature_hotspot temperature_mem temperature_vrgfx " \
	"temperature_vrsoc temperature_vrmem "                                       \
	"P2 average_gfx_activity average_umc_activity average_mm_activity W2 average_socket_power "
#define V1_CLOCKS                                                                      \
	"M2 average_gfxclk_frequency average_socclk_frequency average_uclk_frequency " \
	"average_vclk0_frequency average_dclk0_frequency average_vclk1_frequency "     \
	"average_dclk1_frequency current_gfxclk current_socclk current_uclk "          \
	"current_vclk0 current_dclk0 current_vclk1 current_dclk1 b4 throttle_status "  \
	"F2 current_fan_speed "
#define V1_0                                                                     \
	"-8 system_clock_counter " V1_SENSORS "e4 energy_accumulator " V1_CLOCKS \
	"L1 pcie_link_width S1 pcie_link_speed "
#define V1_1                                                                  \
	V1_SENSORS "e8 energy_accumulator -8 system_clock_counter " V1_CLOCKS \
		   "L2 pcie_link_width S2 pcie_link_speed -2 padding "        \
		   "A4 gfx_activity_acc mem_activity_acc T2 temperature_hbm*4 "
#define V1_2 V1_1 "-8 firmware_timestamp "
#define V1_3 V1_2 "V2 voltage_soc voltage_gfx voltage_mem -2 padding1 b8 indep_throttle_status "

#define V1_4_SENSORS                                                                     \
	"T2 temperature_hotspot temperature_mem temperature_vrsoc W2 curr_socket_power " \
	"P2 average_gfx_activity average_umc_activity "
#define V1_4_TIMES "J8 energy_accumulator -8 system_clock_counter "
#define V1_4_LINKS                                                                     \
	"L2 pcie_link_width S2 pcie_link_speed L2 xgmi_link_width s2 xgmi_link_speed " \
	"A4 gfx_activity_acc mem_activity_acc g8 pcie_bandwidth_acc "                  \
	"G8 pcie_bandwidth_inst C8 pcie_l0_to_recov_count_acc pcie_replay_count_acc "  \
	"pcie_replay_rover_count_acc "
#define V1_4_XGMI "K8 xgmi_read_data_acc*8 xgmi_write_data_acc*8 "
#define V1_4_CLOCKS                                                                   \
	"-8 firmware_timestamp M2 current_gfxclk*8 current_socclk*4 current_vclk0*4 " \
	"current_dclk0*4 current_uclk "
#define V1_4                                                                                   \
	V1_4_SENSORS "P2 vcn_activity*4 " V1_4_TIMES                                           \
		     "b4 throttle_status gfxclk_lock_status " V1_4_LINKS V1_4_XGMI V1_4_CLOCKS \
		     "-2 padding "
#define V1_5_NAK "C4 pcie_nak_sent_count_acc pcie_nak_rcvd_count_acc "
#define V1_5                                                                               \
	V1_4_SENSORS                                                                       \
	"P2 vcn_activity*4 jpeg_activity*32 " V1_4_TIMES                                   \
	"b4 throttle_status gfxclk_lock_status " V1_4_LINKS V1_5_NAK V1_4_XGMI V1_4_CLOCKS \
	"-2 padding "
#define V1_6_RESIDENCY                                                         \
	"R4 accumulation_counter prochot_residency_acc ppt_residency_acc "     \
	"socket_thm_residency_acc vr_thm_residency_acc hbm_thm_residency_acc " \
	"b4 gfxclk_lock_status "
#define V1_6                                                                                   \
	V1_4_SENSORS V1_4_TIMES V1_6_RESIDENCY V1_4_LINKS V1_5_NAK V1_4_XGMI V1_4_CLOCKS       \
		"v2 num_partition {8 xcp_stats P4 gfx_busy_inst*8 P2 jpeg_busy*32 vcn_busy*4 " \
		"A8 gfx_busy_acc*8 } C4 pcie_lc_perf_other_end_recovery "
#define V1_7_HEAD                                                                       \
	V1_4_SENSORS                                                                    \
	"-8 mem_max_bandwidth " V1_4_TIMES V1_6_RESIDENCY V1_4_LINKS V1_5_NAK V1_4_XGMI \
	"b2 xgmi_link_status*8 -2 padding " V1_4_CLOCKS "v2 num_partition "
#define V1_7                                                                    \
	V1_7_HEAD "{8 xcp_stats P4 gfx_busy_inst*8 P2 jpeg_busy*32 vcn_busy*4 " \
		  "A8 gfx_busy_acc*8 R8 gfx_below_host_limit_acc*8 } "          \
		  "C4 pcie_lc_perf_other_end_recovery "
#define V1_8                                                                    \
	V1_7_HEAD "{8 xcp_stats P4 gfx_busy_inst*8 P2 jpeg_busy*40 vcn_busy*4 " \
		  "A8 gfx_busy_acc*8 R8 gfx_below_host_limit_ppt_acc*8 "        \
		  "gfx_below_host_limit_thm_acc*8 gfx_low_utilization_acc*8 "   \
		  "gfx_below_host_limit_total_acc*8 } C4 pcie_lc_perf_other_end_recovery "

#define V2_TEMPERATURES "t2 temperature_gfx temperature_soc temperature_core*8 temperature_l3*2 "
#define V2_ACTIVITIES "average_gfx_activity average_mm_activity "
#define V2_TIME "-8 system_clock_counter "
#define V2_POWERS                                                                     \
	"average_socket_power average_cpu_power average_soc_power average_gfx_power " \
	"average_core_power*8 "
#define V2_CLOCKS                                                                      \
	"M2 average_gfxclk_frequency average_socclk_frequency average_uclk_frequency " \
	"average_fclk_frequency average_vclk_frequency average_dclk_frequency "        \
	"current_gfxclk current_socclk current_uclk current_fclk current_vclk "        \
	"current_dclk current_coreclk*8 current_l3clk*2 b4 throttle_status -2 fan_pwm "
#define V2_0 V2_TIME V2_TEMPERATURES "p2 " V2_ACTIVITIES "v2 " V2_POWERS V2_CLOCKS "padding "
#define V2_1 V2_TEMPERATURES "p2 " V2_ACTIVITIES V2_TIME "v2 " V2_POWERS V2_CLOCKS "padding*3 "
#define V2_2 V2_1 "b8 indep_throttle_status "
#define V2_3                                                             \
	V2_TEMPERATURES                                                  \
	"v2 " V2_ACTIVITIES V2_TIME "w2 " V2_POWERS V2_CLOCKS            \
	"padding*3 b8 indep_throttle_status t2 average_temperature_gfx " \
	"average_temperature_soc average_temperature_core*8 average_temperature_l3*2 "
#define V2_4                                                                   \
	V2_3 "V2 average_cpu_voltage average_soc_voltage average_gfx_voltage " \
	     "I2 average_cpu_current average_soc_current average_gfx_current "

#define V3_0                                                                              \
	"t2 temperature_gfx temperature_soc temperature_core*16 temperature_skin "        \
	"v2 average_gfx_activity average_vcn_activity average_ipu_activity*8 "            \
	"average_core_c0_activity*16 B2 average_dram_reads average_dram_writes "          \
	"average_ipu_reads average_ipu_writes -8 system_clock_counter "                   \
	"w4 average_socket_power w2 average_ipu_power w4 average_apu_power "              \
	"average_gfx_power average_dgpu_power average_all_core_power "                    \
	"w2 average_core_power*16 average_sys_power stapm_power_limit "                   \
	"current_stapm_power_limit M2 average_gfxclk_frequency average_socclk_frequency " \
	"average_vpeclk_frequency average_ipuclk_frequency average_fclk_frequency "       \
	"average_vclk_frequency average_uclk_frequency average_mpipu_frequency "          \
	"current_coreclk*16 current_core_maxfreq current_gfx_maxfreq "                    \
	"R4 throttle_residency_prochot throttle_residency_spl throttle_residency_fppt "   \
	"throttle_residency_sppt throttle_residency_thm_core throttle_residency_thm_gfx " \
	"throttle_residency_thm_soc -4 time_filter_alphavalue "

enum { HEADER_BYTES = 4, SELF_DESCRIBING = 0x109 };

/* @format: revision of the format, then of the content, a byte each */
static const struct layout {
	uint16_t format, bytes;
	const char *fields;
} layouts[] = {
	{ 0x100, 80, V1_0 },   { 0x101, 96, V1_1 },  { 0x102, 104, V1_2 },  { 0x103, 120, V1_3 },
	{ 0x104, 288, V1_4 },  { 0x105, 360, V1_5 }, { 0x106, 1664, V1_6 }, { 0x107, 2208, V1_7 },
	{ 0x108, 3872, V1_8 }, { 0x200, 120, V2_0 }, { 0x201, 120, V2_1 },  { 0x202, 128, V2_2 },
	{ 0x203, 152, V2_3 },  { 0x204, 168, V2_4 }, { 0x300, 264, V3_0 },
};

/* Attributes of the format 1.9 by number: the kind of a value without a unit, and its name. */
static const char *const attributes[] = {
	"T temperature_hotspot",
	"T temperature_mem",
	"T temperature_vrsoc",
	"W curr_socket_power",
	"P average_gfx_activity",
	"P average_umc_activity",
	"- mem_max_bandwidth",
	"J energy_accumulator",
	"- system_clock_counter",
	"R accumulation_counter",
	"R prochot_residency_acc",
	"R ppt_residency_acc",
	"R socket_thm_residency_acc",
	"R vr_thm_residency_acc",
	"R hbm_thm_residency_acc",
	"b gfxclk_lock_status",
	"L pcie_link_width",
	"S pcie_link_speed",
	"L xgmi_link_width",
	"s xgmi_link_speed",
	"A gfx_activity_acc",
	"A mem_activity_acc",
	"g pcie_bandwidth_acc",
	"G pcie_bandwidth_inst",
	"C pcie_l0_to_recov_count_acc",
	"C pcie_replay_count_acc",
	"C pcie_replay_rover_count_acc",
	"C pcie_nak_sent_count_acc",
	"C pcie_nak_rcvd_count_acc",
	"K xgmi_read_data_acc",
	"K xgmi_write_data_acc",
	"b xgmi_link_status",
	"- firmware_timestamp",
	"M current_gfxclk",
	"M current_socclk",
	"M current_vclk0",
	"M current_dclk0",
	"M current_uclk",
	"v num_partition",
	"C pcie_lc_perf_other_end_recovery",
	"P gfx_busy_inst",
	"P jpeg_busy",
	"P vcn_busy",
	"A gfx_busy_acc",
	"R gfx_below_host_limit_ppt_acc",
	"R gfx_below_host_limit_thm_acc",
	"R gfx_low_utilization_acc",
	"R gfx_below_host_limit_total_acc",
	"T temperature_hbm",
	"T temperature_mid",
	"T temperature_aid",
	"T temperature_xcd",
};

/*
 * Kinds by the unit of an attribute: none, MHz, degC, W, ns, 10 ns, GT/s, 0.1 GT/s, GB/s, KB, %.
 * '?': by the attribute; '-': left out.
 */
static const char attribute_units[] = "?MTW--sSGKP";

/* An attribute is u64: unit 31..24, type 23..20, number 19..10, values 9..0. */
static unsigned int unit_of(uint64_t description)
{
	return description >> 24 & 0xff;
}

/* Types are pairs, unsigned and signed, of 1, 2, 4 and 8 bytes. */
static unsigned int type_of(uint64_t description)
{
	return description >> 20 & 0xf;
}

static unsigned int id_of(uint64_t description)
{
	return description >> 10 & 0x3ff;
}

static unsigned int values_of(uint64_t description)
{
	return description & 0x3ff;
}

static const struct gauge_kind *kind_of(char letter)
{
	for (size_t n = 0; n < ARRAY_SIZE(kinds); n++)
		if (kinds[n].letter == letter)
			return &kinds[n].kind;
	return NULL;
}

static size_t align(size_t at, size_t to)
{
	return (at + to - 1) / to * to;
}

/* --- fixed layouts ------------------------------------------------------------------ */

struct walk {
	gpu_field_fn fn;
	void *arg;
	size_t at;
	char prefix[32];
	/* of the fields that follow */
	const struct gauge_kind *kind;
	uint8_t bytes;
};

/* A value of "NAME" or of "NAME*COUNT". */
static int visit_values(struct walk *w, const char *text, int length)
{
	const char *star = memchr(text, '*', (size_t)length);
	const unsigned long count = star ? strtoul(star + 1, NULL, 10) : 1;
	int error = 0;

	w->at = align(w->at, w->bytes);
	length = star ? (int)(star - text) : length;
	for (unsigned long n = 0; !error && n < count; n++, w->at += w->bytes) {
		const struct gpu_field field = { .kind = w->kind,
						 .at = (uint16_t)w->at,
						 .bytes = w->bytes };
		char name[GPU_METRICS_NAME_BYTES];

		if (star)
			snprintf(name, sizeof(name), "%s%.*s-%lu", w->prefix, length, text, n);
		else
			snprintf(name, sizeof(name), "%s%.*s", w->prefix, length, text);
		if (w->kind)
			error = w->fn(w->arg, name, &field);
	}
	return error;
}

/* Walk words up to the end of the text or of a structure, where *text is then. */
static int walk_words(struct walk *w, const char **text)
{
	int error = 0;

	while (!error && **text && **text != '}') {
		const char *word = *text;
		const int length = (int)strcspn(word, " ");

		*text += length + (word[length] == ' ');
		if (*word == '{') {
			const unsigned long count = strtoul(word + 1, NULL, 10);
			const int name = (int)strcspn(*text, " ");
			const char *body = *text + name + 1;

			for (unsigned long n = 0; !error && n < count; n++) {
				snprintf(w->prefix, sizeof(w->prefix), "%.*s-%lu.", name,
					 body - name - 1, n);
				*text = body;
				w->at = align(w->at, 8);
				error = walk_words(w, text);
			}
			w->at = align(w->at, 8);
			*w->prefix = '\0';
			*text += 1 + ((*text)[1] == ' ');
		} else if (length == 2 && word[1] <= '9') {
			w->kind = kind_of(*word);
			w->bytes = (uint8_t)(word[1] - '0');
		} else {
			error = visit_values(w, word, length);
		}
	}
	return error;
}

/* --- the format that describes itself ----------------------------------------------- */

static uint64_t read_little(const unsigned char *at, unsigned int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | at[bytes];
	return value;
}

static int visit_attribute(struct walk *w, uint64_t description, size_t described_at)
{
	const unsigned int unit = unit_of(description), id = id_of(description);
	const unsigned int count = values_of(description);
	char letter = unit < sizeof(attribute_units) - 1 ? attribute_units[unit] : '-';
	struct gpu_field field = {
		.bytes = (uint8_t)(1 << type_of(description) / 2),
		.is_signed = type_of(description) & 1,
		.described_at = (uint16_t)described_at,
		.description = description,
	};
	int error = 0;

	/* a newer kernel may have more of them: what this library cannot name is left out */
	if (id >= ARRAY_SIZE(attributes) || *attributes[id] == '-')
		return 0;
	field.kind = kind_of(letter == '?' ? *attributes[id] : letter);
	for (unsigned int n = 0; field.kind && !error && n < count; n++) {
		char name[GPU_METRICS_NAME_BYTES];

		field.at = (uint16_t)(w->at + n * field.bytes);
		if (count > 1)
			snprintf(name, sizeof(name), "%s-%u", attributes[id] + 2, n);
		else
			snprintf(name, sizeof(name), "%s", attributes[id] + 2);
		error = w->fn(w->arg, name, &field);
	}
	return error;
}

static int __attribute__((format(printf, 2, 3))) fail(char *reason, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, GAUGE_REASON_BYTES, format, args);
	va_end(args);
	return -EPROTO;
}

static int walk_attributes(struct walk *w, const unsigned char *file, size_t bytes, char *reason)
{
	const uint64_t count = bytes >= 8 ? read_little(file + HEADER_BYTES, 4) : 0;
	int error = 0;

	w->at = HEADER_BYTES + 4;
	for (uint64_t n = 0; !error && n < count; n++) {
		const size_t described_at = w->at;
		uint64_t description;

		if (bytes - w->at < 8)
			return fail(reason,
				    "gpu_metrics 1.9 ends in attribute %u of %u, at byte %zu",
				    (unsigned int)n, (unsigned int)count, bytes);
		description = read_little(file + w->at, 8);
		w->at += 8;
		if (type_of(description) > 7)
			return fail(
				reason,
				"gpu_metrics 1.9 has values of type %u (attribute %u, byte %zu), "
				"which this version of perfctr does not know",
				type_of(description), id_of(description), described_at);
		if ((bytes - w->at) >> type_of(description) / 2 < values_of(description))
			return fail(reason,
				    "gpu_metrics 1.9 ends in attribute %u of %u, at byte %zu",
				    (unsigned int)n, (unsigned int)count, bytes);
		error = visit_attribute(w, description, described_at);
		w->at += (size_t)values_of(description) << type_of(description) / 2;
	}
	return error;
}

/* --- any ---------------------------------------------------------------------------- */

int gpu_metrics_walk(const void *file, size_t bytes, gpu_field_fn fn, void *arg, char *reason)
{
	const unsigned char *header = file;
	struct walk w = { .fn = fn, .arg = arg, .at = HEADER_BYTES };
	unsigned int format;

	if (bytes < HEADER_BYTES)
		return fail(reason, "gpu_metrics has %zu of the %d bytes of its header", bytes,
			    HEADER_BYTES);
	format = (unsigned int)header[2] << 8 | header[3];
	if (format == SELF_DESCRIBING)
		return walk_attributes(&w, file, bytes, reason);
	for (size_t n = 0; n < ARRAY_SIZE(layouts); n++) {
		const char *text = layouts[n].fields;

		if (layouts[n].format != format)
			continue;
		if (read_little(header, 2) != layouts[n].bytes || bytes < layouts[n].bytes)
			break;
		return walk_words(&w, &text);
	}
	return fail(reason,
		    "gpu_metrics has the format %u.%u of %zu bytes, which this version of perfctr "
		    "does not know (it knows 1.0 to 1.9, 2.0 to 2.4 and 3.0 of the kernel's sizes)",
		    header[2], header[3], (size_t)read_little(header, 2));
}

bool gpu_metrics_read(const void *file, size_t bytes, const struct gpu_field *field,
		      uint64_t *value)
{
	const unsigned char *from = file;
	const unsigned int bits = 8 * field->bytes;
	const uint64_t ones = ~0ull >> (64 - bits);

	if ((size_t)field->at + field->bytes > bytes ||
	    (field->description &&
	     read_little(from + field->described_at, 8) != field->description))
		return false;
	*value = read_little(from + field->at, field->bytes);
	/* drivers fill the file with ones first */
	if (*value == ones)
		return false;
	if (field->is_signed && *value >> (bits - 1))
		*value |= ~ones;
	return true;
}
