// SPDX-License-Identifier: MIT
/* Counters of Intel's GPUs, by the drivers and the OA unit of intel/unit.h. */
#include "fixture.h"
#include "idle.h"
#include "host/intel_devices.h"
#include "host/oa_report.h"
#include "intel/unit.h"

/* --- sessions ------------------------------------------------------------------------------ */

static void begin_machine(bool xe, uint16_t id)
{
	perfctr_ctx_new_with(make_machine(xe, id), &ctx);
}

static void begin_gen12(void)
{
	begin_machine(false, 0x9a49);
}

static void begin_xe_lpg(void)
{
	begin_machine(false, 0x7d55);
}

static void begin_xe2(void)
{
	begin_machine(true, 0x64a0);
}

static void begin_xe_gen12(void)
{
	begin_machine(true, 0x9a49);
}

static void begin_xe_xe_lpg(void)
{
	begin_machine(true, 0x7d55);
}

/* Nothing is left of the driver's but the list of registers. */
static void end_machine(void)
{
	end();
	EQUAL(m.streams, 0);
	EQUAL(m.files, 0);
	CHECK(m.configs <= 1);
}

static int open_session(const char *events, const struct perfctr_session_opts *options)
{
	int error;

	EQUAL(perfctr_device_open(ctx, NODE, &device), 0);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	CHECK(perfctr_selection_add(selection, events) > 0);
	error = perfctr_session_new(selection, options, &session);
	if (error)
		return error;
	EQUAL(m.streams, 0);
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	return 0;
}

static int start(const char *events)
{
	int error = open_session(events, NULL);

	return error ? error : perfctr_session_start(session, 0);
}

static void set_silent(bool silent)
{
	pthread_mutex_lock(&m.lock);
	run();
	m.silent = silent;
	pthread_mutex_unlock(&m.lock);
}

/* of the unread samples, by position */
struct seen {
	uint64_t sum[64], valid, cycles, lost_ns, span_ns;
	uint32_t flags, states;
	unsigned int samples;
};

static void read_samples(struct seen *seen)
{
	struct perfctr_sample s;
	struct perfctr_block block;

	while (perfctr_cursor_next(cursor, &s) > 0) {
		seen->samples++;
		seen->flags |= s.flags;
		seen->lost_ns += s.lost_ns;
		seen->span_ns += s.end_ns - s.start_ns;
		while (perfctr_decode_block(&s, &block) > 0) {
			uint64_t mask = block.enable_mask;

			seen->states |= block.states;
			seen->valid |= block.valid_mask;
			seen->cycles += block.clock_cycles;
			for (unsigned int i = 0; i < block.count; i++, mask &= mask - 1)
				seen->sum[__builtin_ctzll(mask)] += perfctr_block_value(&block, i);
		}
		perfctr_cursor_advance(cursor, 1);
	}
}

static struct seen take(bool stops)
{
	struct seen seen = { 0 };

	EQUAL(stops ? perfctr_session_stop(session, 0) : perfctr_session_sample(session, 0), 0);
	read_samples(&seen);
	return seen;
}

/* --- what is counted -------------------------------------------------------------------------- */

/* positions as pages have them, and what each is by Intel's descriptions */
#define R(n) (UINT64_C(1000) * ((n) + 1))

struct expected {
	unsigned int position;
	uint64_t value;
};

static const struct expected fixed[] = {
	{ 1, R(0) },	   { 7, R(1) },	      { 8, R(2) },	 { 9, R(3) },
	{ 10, R(5) },	   { 11, R(6) },      { 12, R(4) },	 { 16, 4 * R(21) },
	{ 17, 4 * R(22) }, { 18, 4 * R(23) }, { 19, 4 * R(24) }, { 20, 4 * R(25) },
	{ 21, 4 * R(26) }, { 22, 4 * R(27) }, { 23, 4 * R(28) }, { 24, 4 * R(29) },
	{ 27, R(32) },	   { 28, R(34) },     { 29, R(35) },
};

static const struct expected of_gen12[] = {
	{ 3, R(7) + R(8) + R(9) + R(10) },
	{ 4, R(11) + R(12) + R(13) + R(14) },
	{ 6, 8 * (R(15) + R(16) + R(17) + R(18)) },
	{ 25, 64 * R(30) },
	{ 26, 64 * R(31) },
	{ 30, 64 * (R(52) + R(53) + R(54) + R(55)) },
	{ 31, 64 * (R(50) + R(51)) },
};

static const struct expected of_xe_lpg[] = {
	{ 3, R(7) },   { 4, R(8) },   { 6, 8 * R(15) },	  { 13, R(9) },
	{ 14, R(10) }, { 15, R(11) }, { 30, 32 * R(36) }, { 31, 32 * R(37) },
};

static const struct expected of_xe2[] = {
	{ 1, R(32) },	   { 3, R(24) },      { 4, R(20) },  { 6, 8 * R(14) },
	{ 30, 2 * R(57) }, { 31, 2 * R(58) }, { 32, R(40) }, { 33, R(39) },
	{ 34, R(41) },	   { 35, R(37) },     { 36, R(38) },
};

static uint64_t expect(const struct seen *seen, const struct expected *e, size_t count)
{
	uint64_t mask = 0;

	for (size_t n = 0; n < count; n++) {
		if (seen->sum[e[n].position] != e[n].value)
			printf("# position %u\n", e[n].position);
		EQUAL(seen->sum[e[n].position], e[n].value);
		mask |= UINT64_C(1) << e[n].position;
	}
	return mask;
}

/* Ten steps that move each raw counter, all of which wrap. */
static void count_all(unsigned int eus, unsigned int threads, uint32_t registers)
{
	struct seen all = { 0 };
	uint64_t mask = 1 | 4 | 32;

	EQUAL(start("oa/*"), 0);
	for (int step = 0; step < 10; step++) {
		for (unsigned int raw = 0; raw < RAWS; raw++)
			work(raw, R(raw) / 10);
		rest(2);
		EQUAL(step == 9 ? perfctr_session_stop(session, 0) :
				  perfctr_session_sample(session, 0),
		      0);
	}
	read_samples(&all);
	EQUAL(all.samples, 10);
	EQUAL(all.lost_ns, 0);
	if (!m.pec)
		mask |= expect(&all, fixed, sizeof(fixed) / sizeof(*fixed));
	if (m.pec)
		mask |= expect(&all, of_xe2, sizeof(of_xe2) / sizeof(*of_xe2));
	else if (m.a24)
		mask |= expect(&all, of_xe_lpg, sizeof(of_xe_lpg) / sizeof(*of_xe_lpg));
	else
		mask |= expect(&all, of_gen12, sizeof(of_gen12) / sizeof(*of_gen12));
	EQUAL(all.valid, mask);
	/* 960 MHz; the time of a sample may be wrong by the 2 ms until a report is read */
	CHECK(all.sum[0] > all.span_ns * 90 / 100 && all.sum[0] < all.span_ns * 102 / 100);
	EQUAL(all.sum[0] % CLOCKS_PER_TICK, 0);
	EQUAL(all.cycles, all.sum[0]);
	EQUAL(all.sum[2], all.sum[0] * eus);
	EQUAL(all.sum[5], all.sum[0] * eus * threads);
	EQUAL(all.states, 1 | 4 | 16);
	EQUAL(m.registers, registers);
	EQUAL(m.exponent, 13);
}

TEST_WITH(begin_gen12, end_machine, "i915, Gen12: formulas, wraps, units, the list's 43 registers")
{
	count_all(96, 7, 43);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Intel Tiger Lake");
	EQUAL(perfctr_device_info(device)->gpu_id, 0x9a49);
	EQUAL(m.poll_ns, 1000000);
}

TEST_WITH(begin_xe_lpg, end_machine, "i915, Xe-LPG: formulas, wraps, the list's 14 registers")
{
	count_all(96, 8, 14);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Intel Meteor Lake");
}

TEST_WITH(begin_xe_gen12, end_machine, "xe, Gen12: the same")
{
	count_all(48, 7, 43);
}

TEST_WITH(begin_xe_xe_lpg, end_machine, "xe, Xe-LPG: the same")
{
	count_all(48, 8, 14);
}

TEST_WITH(begin_xe2, end_machine, "xe, Xe2: formulas, 64 bits, the unit of the GPU, its own units")
{
	count_all(48, 8, 59);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Intel Lunar Lake");
}

static void check_format(const struct oa_format *format, bool pec, bool a24)
{
	static const unsigned int raws[] = {
		0, 3, 4, 23, 24, 28, 31, 32, 35, 36, 37, 40, 47, 48, 55
	};
	struct oa_values values[10];
	unsigned char bytes[576];

	m.pec = pec;
	m.a24 = a24;
	EQUAL(format->bytes, report_bytes());
	for (unsigned int k = 0; k < 10; k++) {
		struct values v = { .ticks = UINT64_C(0xfffffffe) + k,
				    .clocks = UINT64_C(0xfffffff0) + 7 * k };

		for (unsigned int n = 0; n < RAWS; n++)
			v.raws[n] = (UINT64_C(1) << 40) - 4 + (n + 1) * k;
		encode(&v, bytes);
		oa_decode(format, bytes, &values[k]);
	}
	for (size_t r = 0; r < sizeof(raws) / sizeof(*raws); r++) {
		const unsigned int n = raws[r];
		const bool has = pec || a24 || (n != 36 && n != 37);
		uint64_t sum = 0;

		for (unsigned int k = 1; k < 10; k++)
			sum += oa_difference(format, n, &values[k - 1], &values[k]);
		EQUAL(sum, has ? 9 * (n + 1) : 0);
	}
	EQUAL(oa_difference(format, OA_CLOCKS, &values[0], &values[9]), 63);
	EQUAL((uint32_t)(values[9].timestamp - values[0].timestamp), 9);
}

TEST("ten reports of each format, over a wrap")
{
	check_format(&oa_a32u40, false, false);
	check_format(&oa_a24u40, false, true);
	check_format(&oa_pec64, true, false);
	EQUAL(oa_bits(&oa_a32u40, 0), 40);
	EQUAL(oa_bits(&oa_a32u40, 32), 32);
	EQUAL(oa_bits(&oa_a32u40, 36), 0);
	EQUAL(oa_bits(&oa_a24u40, 0), 32);
	EQUAL(oa_bits(&oa_a24u40, 4), 40);
	EQUAL(oa_bits(&oa_a24u40, 37), 32);
	EQUAL(oa_bits(&oa_a24u40, 38), 0);
}

/* --- loss --------------------------------------------------------------------------------- */

static void lose_reports(void)
{
	struct seen seen;

	EQUAL(start("oa/GPU_BUSY_CLOCKS"), 0);
	work(m.pec ? 32 : 0, 300);
	pthread_mutex_lock(&m.lock);
	m.skip = 5;
	pthread_mutex_unlock(&m.lock);
	rest(10);
	work(m.pec ? 32 : 0, 7);
	seen = take(true);
	EQUAL(seen.sum[1], 307);
	EQUAL(seen.lost_ns, 0);
	EQUAL(seen.flags & DRM_PERFCTR_SAMPLE_OVERFLOW, 0);
}

TEST_WITH(begin_gen12, end_machine, "a session without samples makes ten calls a second at most")
{
	idle_watch();
	EQUAL(start("metric:gpu_busy"), 0);
	CHECK(idle_calls(3000) <= 30);
}

TEST_WITH(begin_gen12, end_machine, "i915: a lost report loses nothing")
{
	lose_reports();
}

TEST_WITH(begin_xe2, end_machine, "xe: a lost report is a status, and loses nothing")
{
	lose_reports();
}

TEST_WITH(begin_gen12, end_machine, "i915: a lost buffer loses what it had, and says so")
{
	struct seen first, second, third;

	EQUAL(start("oa/PS_THREADS"), 0);
	work(6, 1000);
	first = take(false);
	rest(150);
	work(6, 50);
	rest(150);
	second = take(false);
	work(6, 3);
	third = take(true);
	EQUAL(first.sum[11], 1000);
	EQUAL(second.sum[11], 0);
	CHECK(second.flags & DRM_PERFCTR_SAMPLE_OVERFLOW);
	CHECK(second.lost_ns >= 295000000 && second.lost_ns <= second.span_ns);
	EQUAL(third.sum[11], 3);
	EQUAL(third.lost_ns, 0);
}

TEST_WITH(begin_xe_gen12, end_machine, "xe: of an overwritten buffer only the gap is lost")
{
	struct seen first, second;

	EQUAL(start("oa/PS_THREADS"), 0);
	work(6, 1000);
	first = take(false);
	rest(50);
	work(6, 50);
	rest(270);
	work(6, 2);
	second = take(true);
	EQUAL(first.sum[11], 1000);
	EQUAL(second.sum[11], 2);
	CHECK(second.flags & DRM_PERFCTR_SAMPLE_OVERFLOW);
	CHECK(second.lost_ns > 60000000 && second.lost_ns < second.span_ns);
}

TEST_WITH(begin_xe2, end_machine, "xe: counters of 64 bits lose nothing in it")
{
	struct seen seen;

	EQUAL(start("oa/GPU_BUSY_CLOCKS"), 0);
	work(32, 1000);
	rest(300);
	work(32, 2);
	seen = take(true);
	EQUAL(seen.sum[1], 1002);
	EQUAL(seen.lost_ns, 0);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_OVERFLOW);
}

static void reset(unsigned int raw, unsigned int position)
{
	struct seen first, second;

	EQUAL(start("oa/*"), 0);
	rest(20);
	work(raw, 900);
	first = take(false);
	pthread_mutex_lock(&m.lock);
	run();
	restart();
	pthread_mutex_unlock(&m.lock);
	rest(3);
	work(raw, 5);
	second = take(true);
	EQUAL(first.sum[position], 900);
	EQUAL(second.sum[position], 5);
	CHECK(second.flags & DRM_PERFCTR_SAMPLE_RESET);
	CHECK(second.lost_ns && second.lost_ns < second.span_ns);
}

TEST_WITH(begin_gen12, end_machine, "a unit that starts again is no wrap: what it had is lost")
{
	reset(6, 11);
}

TEST_WITH(begin_xe2, end_machine, "the same with 64 bits")
{
	reset(32, 1);
}

/* --- life --------------------------------------------------------------------------------- */

TEST_WITH(begin_xe2, end_machine, "a stream of xe is not inherited, and does not wait")
{
	EQUAL(start("oa/GPU_BUSY_CLOCKS"), 0);
	CHECK(m.stream >= 0 && fcntl(m.stream, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(m.stream, F_GETFL) & O_NONBLOCK);
	EQUAL(m.streams, 1);
	CHECK(m.nonblock);
	take(true);
	EQUAL(m.streams, 0);
}

TEST_WITH(begin_gen12, end_machine, "two sessions share the stream; each has its own counts")
{
	struct perfctr_session *other = NULL;
	struct seen seen;

	EQUAL(start("oa/PS_THREADS"), 0);
	EQUAL(m.opened, 2);
	work(6, 10);
	EQUAL(perfctr_session_new(selection, NULL, &other), 0);
	EQUAL(perfctr_session_start(other, 0), 0);
	work(6, 5);
	EQUAL(perfctr_session_stop(other, 0), 0);
	perfctr_session_unref(other);
	seen = take(true);
	EQUAL(seen.sum[11], 15);
	EQUAL(m.opened, 2);
}

TEST_WITH(begin_gen12, end_machine, "the list stays with the driver, and is found again")
{
	for (int n = 0; n < 2; n++) {
		EQUAL(start("oa/PS_THREADS"), 0);
		work(6, 4);
		EQUAL(take(true).sum[11], 4);
		cursor = perfctr_cursor_unref(cursor);
		session = perfctr_session_unref(session);
		selection = perfctr_selection_unref(selection);
		device = perfctr_device_unref(device);
	}
	EQUAL(m.configs, 1);
	CHECK(m.has_config);
}

TEST_WITH(begin_gen12, end, "a list that somebody removed is added again")
{
	EQUAL(start("oa/PS_THREADS"), 0);
	take(true);
	m.has_config = false;
	EQUAL(perfctr_session_start(session, 0), 0);
	take(true);
	EQUAL(m.configs, 2);
}

TEST_WITH(begin_gen12, end_machine, "a stream without reports: START fails, and nothing is left")
{
	const struct perfctr_session_opts options = { .size = sizeof(options),
						      .period_ns = 500000 };

	EQUAL(open_session("oa/PS_THREADS", &options), 0);
	m.silent = true;
	EQUAL(perfctr_session_start(session, 0), -ETIMEDOUT);
	HAS_TEXT(perfctr_ctx_error(ctx), "has written no report for a tenth of a second");
	EQUAL(m.streams, 0);
	/* also if reports are to come each 100 us */
	EQUAL(m.polls, 100);
}

TEST_WITH(begin_gen12, end_machine, "reports that stop: an error, then they are lost or found")
{
	struct seen seen;

	/* they come all at once after it */
	m.room = REPORTS;
	EQUAL(start("oa/PS_THREADS"), 0);
	work(6, 8);
	EQUAL(take(false).sum[11], 8);
	set_silent(true);
	work(6, 3);
	/* what was written before */
	take(false);
	seen = take(false);
	EQUAL(seen.sum[11], 0);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR && seen.states & DRM_PERFCTR_STATE_ERROR);
	set_silent(false);
	work(6, 2);
	seen = take(false);
	EQUAL(seen.sum[11], 5);
	EQUAL(seen.lost_ns, 0);
	CHECK(!(seen.flags & DRM_PERFCTR_SAMPLE_ERROR));
	set_silent(true);
	work(6, 4);
	seen = take(true);
	EQUAL(seen.sum[11], 0);
	CHECK(seen.lost_ns && seen.states & DRM_PERFCTR_STATE_LOST);
}

TEST_WITH(begin_gen12, end_machine, "the GPU goes away")
{
	struct seen seen = { 0 };

	EQUAL(start("oa/PS_THREADS"), 0);
	m.gone = true;
	EQUAL(perfctr_session_sample(session, 0), -ENODEV);
	read_samples(&seen);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
}

TEST_WITH(begin_gen12, end_machine, "a GPU that went away is not one without an OA unit")
{
	EQUAL(perfctr_device_open(ctx, NODE, &device), 0);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	CHECK(perfctr_selection_add(selection, "oa/PS_THREADS") > 0);
	m.gone = true;
	EQUAL(perfctr_session_new(selection, NULL, &session), -ENODEV);
	HAS_TEXT(perfctr_ctx_error(ctx), "the device is gone");
}

/* --- refusals ------------------------------------------------------------------------------- */

TEST_WITH(begin_gen12, end_machine, "i915 without permission: what to do about it")
{
	m.denied = true;
	EQUAL(start("oa/PS_THREADS"), -EACCES);
	HAS_TEXT(perfctr_ctx_error(ctx), "CAP_PERFMON");
	HAS_TEXT(perfctr_ctx_error(ctx), "dev.i915.perf_stream_paranoid=0");
}

TEST_WITH(begin_xe2, end_machine, "xe without permission: the rules of 6.12 and of 7.3")
{
	m.denied = true;
	m.perf_paranoid = 0;
	EQUAL(start("oa/GPU_CLOCKS"), -EACCES);
	HAS_TEXT(perfctr_ctx_error(ctx), "dev.xe.observation_paranoid=0");
	HAS_TEXT(perfctr_ctx_error(ctx),
		 "from Linux 7.3 on \"sysctl kernel.perf_event_paranoid=0\"");
	m.new_rules = true;
	EQUAL(perfctr_session_new(selection, NULL, &session), 0);
}

TEST_WITH(begin_xe2, end_machine, "another program has the unit")
{
	m.busy = true;
	EQUAL(start("oa/GPU_CLOCKS"), -EBUSY);
	HAS_TEXT(perfctr_ctx_error(ctx),
		 "the driver xe gives its counters to one program at a time");
}

TEST_WITH(begin_gen12, end_machine, "lost permission between two sessions")
{
	EQUAL(start("oa/GPU_CLOCKS"), 0);
	take(true);
	m.denied = true;
	EQUAL(perfctr_session_start(session, 0), -EACCES);
	HAS_TEXT(perfctr_ctx_error(ctx), "CAP_PERFMON");
}

TEST_WITH(begin_gen12, end_machine, "the number of a list that is there is not shown")
{
	EQUAL(start("oa/GPU_CLOCKS"), 0);
	take(true);
	cursor = perfctr_cursor_unref(cursor);
	session = perfctr_session_unref(session);
	selection = perfctr_selection_unref(selection);
	device = perfctr_device_unref(device);
	m.hide_config = true;
	EQUAL(start("oa/GPU_CLOCKS"), -EADDRINUSE);
	HAS_TEXT(perfctr_ctx_error(ctx), "mount /sys");
}

static void refuse(bool xe, uint16_t id, const char *text)
{
	begin_machine(xe, id);
	EQUAL(perfctr_device_open(ctx, NODE, &device), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), text);
	end();
	EQUAL(m.files, 0);
	EQUAL(m.streams, 0);
}

TEST("unknown GPUs are refused by name, or by number")
{
	refuse(false, 0x1916, "OA counters of this GPU, PCI device 8086:1916 of i915");
	refuse(false, 0x56a0, "OA counters of Intel DG2, PCI device 8086:56a0 of i915");
	refuse(true, 0xb080, "OA counters of Intel Panther Lake, PCI device 8086:b080 of xe");
	/* no kernel has i915 with Xe2 */
	refuse(false, 0x64a0, "this i915 has no OA unit for Intel Lunar Lake");
}

TEST_WITH(begin_xe2, end_machine, "a kernel without OA units is refused")
{
	m.no_units = true;
	EQUAL(perfctr_device_open(ctx, NODE, &device), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "this xe has no OA unit for Intel Lunar Lake");
}

TEST_WITH(begin_gen12, end_machine,
	  "without the number of execution units there are no shares of them")
{
	m.no_eus = true;
	EQUAL(start("oa/GPU_CLOCKS"), 0);
	EQUAL(perfctr_device_block(device, 0)->available[0] & (4 | 32), 0);
	take(true);
}

TEST_WITH(begin_gen12, end_machine,
	  "not counted unless it is named, as its GPU does not sleep then")
{
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL_TEXT(perfctr_device_path(device), PERFCTR_DEVICE_LOCAL);
	device = perfctr_device_unref(device);
	EQUAL(perfctr_device_open(ctx, "renderD128", &device), 0);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Intel Tiger Lake");
}

/* Whether one of many samples takes less than that. */
static bool is_short(uint64_t ns)
{
	bool found = false;

	for (int n = 0; n < 500 && !found; n++) {
		const uint64_t begin_ns = perfctr_time_raw_ns();

		take(false);
		found = perfctr_time_raw_ns() - begin_ns < ns;
	}
	return found;
}

TEST_WITH(begin_gen12, end_machine, "reports are fast enough for the shortest period of samples")
{
	const struct perfctr_session_opts options = { .size = sizeof(options),
						      .period_ns = 4000000,
						      .slots = 4096 };
	struct perfctr_session *fast = NULL;
	struct seen seen;

	/* for a busy host */
	m.room = REPORTS;
	EQUAL(start("oa/VS_THREADS"), 0);
	EQUAL(m.exponent, 13);
	/* it joins: the first session has a gap */
	EQUAL(perfctr_session_new(selection, &options, &fast), 0);
	EQUAL(perfctr_session_start(fast, 0), 0);
	EQUAL(m.exponent, 12);
	seen = take(false);
	CHECK(seen.lost_ns > 0 && seen.lost_ns < seen.span_ns);
	work(1, 70000);
	EQUAL(take(false).sum[7], 70000);
	/* two reports of the slow ones last 2 ms */
	CHECK(is_short(2000000));
	perfctr_session_unref(fast);
	work(1, 600000);
	EQUAL(take(true).sum[7], 600000);
}
