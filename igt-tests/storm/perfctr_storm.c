// SPDX-License-Identifier: MIT
/**
 * TEST: Samples are exact or flagged after any events in any order
 * Description: Everything at once, in an order that follows from a seed. The effect of a step
 *   depends on the hardware too, so a replay is close but not exact. The account of every
 *   well-behaved session is exact unless its samples report a loss. Environment:
 *   PERFCTR_STORM_SEED (1), PERFCTR_STORM_SECONDS (10), PERFCTR_STORM_STEPS (to replay up to a
 *   failure), PERFCTR_STORM_SUSPEND=1 (see storm/run), PERFCTR_STORM_TRACE=1 (print each step).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_client.h"
#include "igt_random.h"
#include "igt_perfctr.h"
#include "igt_sys.h"

#define CPU1 "/sys/devices/system/cpu/cpu1/online"

#define DEVICES 3
#define CLIENTS 10
#define MAX_DOOMED 3
/* the last third of the steps has no faults, so no count may be missing */
#define WEATHER_STEPS 96
#define TELL_EVERY_NS (10 * 1000 * MS)

static const char *const reader_names[IGT_READERS] = { "prompt", "slow", "hostile" };

/* the first device stays, others come and go, the last one has multiplexed counters */
static struct igt_target devices[DEVICES] = {
	{ .number = 0 },
	{ .number = 9 },
	{ .number = 10, .nv50 = true },
};
static struct igt_client clients[CLIENTS];
static pid_t doomed[MAX_DOOMED];
static bool with_suspend, with_trace;

static struct igt_chance chance;
static struct igt_tally tally;
static struct {
	uint64_t step;
	const char *doing;
	uint64_t suspends;
} storm;

static uint32_t any(uint32_t below)
{
	return igt_chance_any(&chance, below);
}

static bool one_in(uint32_t n)
{
	return igt_chance_one_in(&chance, n);
}

static void begin_step(uint64_t step)
{
	storm.step = step;
	igt_chance_begin(&chance, step);
}

/* print the step for a trace */
static void __attribute__((format(printf, 1, 2))) trace(const char *format, ...)
{
	va_list args;

	if (!with_trace)
		return;
	fprintf(stderr, "%6llu %s: ", (unsigned long long)storm.step, storm.doing);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static void seed_faults(const struct igt_target *d)
{
	char seed[24];

	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)(chance.seed + storm.step));
	igt_vsoc_debugfs_try(&d->dev, "fail_seed", seed);
}

static void come(struct igt_target *d)
{
	static const char *const shapes[] = {
		"shader_present=0x12 l2_slices=1 counters_per_block=128 shader_dense=1 fw_slots=4",
		"shader_present=0x1 l2_slices=3",
		"shader_present=0x1110055 l2_slices=2 fw_slots=8",
		"shader_present=0xff l2_slices=1 shader_dense=1",
	};
	static const char *const nv50_shapes[] = {
		"product=nv50",
		"product=nv50 shader_present=0x5",
	};
	const char *shape = d->nv50 ? nv50_shapes[any(2)] : shapes[any(4)];
	char name[16], text[128];

	d->recorded = one_in(2);
	snprintf(text, sizeof(text), "%u %s", d->number, shape);
	trace("%s", text);
	igt_assert_eq(igt_write(IGT_VSOC_DRIVER "/new_device", text), 0);
	snprintf(name, sizeof(name), "vsoc.%u", d->number);
	igt_assert(igt_perfctr_open_device(&d->dev, name));
	seed_faults(d);
	d->fault_free_epoch = 0;
	d->present = true;
}

static void open_contexts(struct igt_target *d)
{
	for (unsigned int i = 0; i < sizeof(d->contexts) / sizeof(d->contexts[0]); i++)
		d->contexts[i] = igt_vsoc_ctx_create(d->dev.fd);
}

static struct igt_client *pick(bool (*suits)(const struct igt_client *c))
{
	unsigned int first = any(CLIENTS);

	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct igt_client *c = &clients[(first + i) % CLIENTS];

		if (c->used && !c->on->gone && suits(c))
			return c;
	}
	return NULL;
}

static bool is_active(const struct igt_client *c)
{
	return c->active;
}

static bool is_idle(const struct igt_client *c)
{
	return !c->active;
}

static bool is_any(const struct igt_client *c)
{
	return true;
}

static void settle(struct igt_client *c)
{
	igt_client_settle(c, storm.step, &tally);
}

/* another session counts on the device of @c, perhaps in a process that will be killed */
static bool others_count(const struct igt_client *c)
{
	for (unsigned int i = 0; i < CLIENTS; i++)
		if (&clients[i] != c && clients[i].active && clients[i].on == c->on)
			return true;
	for (unsigned int i = 0; i < MAX_DOOMED && c->on == &devices[0]; i++)
		if (doomed[i])
			return true;
	return false;
}

/* actions; each returns whether it did something */
static struct igt_target *some_device(void)
{
	struct igt_target *d = &devices[any(DEVICES)];

	return d->present && !d->gone ? d : &devices[0];
}

static bool do_job(void)
{
	struct drm_vsoc_command commands[IGT_RANDOM_COMMANDS];
	struct igt_target *d = some_device();
	uint64_t job;
	int ret;

	ret = igt_vsoc_submit_to(d->dev.fd, d->contexts[any(3)], commands,
				 igt_random_commands(&chance, commands, d->nv50, NULL, 0), &job,
				 NULL);
	if (igt_target_is_gone(d, ret))
		return true;
	igt_assert_f(!ret || ret == -EAGAIN || (ret == -ENOMEM && d->armed), "SUBMIT: %d\n", ret);
	if (ret)
		return true;
	if (d->job_count == IGT_TARGET_JOBS || one_in(4)) {
		igt_target_wait_job(d, d->dev.fd, job);
		d->job_count = 0;
	} else {
		d->jobs[d->job_count++] = job;
	}
	return true;
}

/* SAMPLE between commands */
static bool do_in_stream(void)
{
	struct drm_vsoc_command commands[IGT_RANDOM_COMMANDS];
	struct igt_client *c = pick(is_active);
	uint64_t job;
	int ret;

	if (!c)
		return false;
	ret = igt_vsoc_submit_to(c->file.fd, DRM_VSOC_CTX_DEFAULT, commands,
				 igt_random_commands(&chance, commands, c->on->nv50, &c->session,
						     storm.step),
				 &job, NULL);
	if (igt_target_is_gone(c->on, ret))
		return true;
	igt_assert_f(!ret || (ret == -ENOMEM && c->on->armed), "SUBMIT: %d\n", ret);
	if (!ret)
		igt_target_wait_job(c->on, c->file.fd, job);
	return true;
}

static bool do_setup(void)
{
	static const uint64_t periods_ns[] = { 0, 0, 0, MS, 2 * MS, 7 * MS, 20 * MS };
	/* the shortest are recorded if no session prevents it */
	static const uint64_t recorded_ns[] = { 200000, 500000 };
	struct igt_target *d = some_device();
	struct igt_client *c = NULL;
	int ret;

	for (unsigned int i = 0; i < CLIENTS && !c; i++)
		if (!clients[i].used)
			c = &clients[i];
	if (!c)
		return false;
	ret = igt_client_open(c, d);
	if (ret) {
		/* unplug removes the node */
		igt_assert_f(d->armed && (ret == -ENOMEM ||
					  (d->number && (ret == -ENODEV || ret == -ENOENT))),
			     "open: %s\n", strerror(-ret));
		return true;
	}
	c->set = one_in(6) && !d->nv50 ? any(3) : DRM_PERFCTR_SET_PRIMARY;
	c->reader = one_in(3) ? any(IGT_READERS) : IGT_READER_PROMPT;
	igt_perfctr_session_init_set(&c->session, &c->file, c->set);
	igt_random_counters(&chance, &c->session,
			    !d->nv50	? IGT_RANDOM_ANY :
			    d->recorded ? IGT_RANDOM_RECORDED :
					  IGT_RANDOM_TURNS);
	if (!d->number && one_in(3))
		igt_perfctr_add_ucf(&c->session);
	c->session.params.slots = 4u << any(5);
	c->session.params.period_ns = periods_ns[any(ARRAY_SIZE(periods_ns))];
	if (d->nv50 && one_in(2))
		c->session.params.period_ns = recorded_ns[any(2)];
	if (one_in(4) && d->dev.info.features & DRM_PERFCTR_FEATURE_AUTOMATIC)
		c->session.params.flags |= DRM_PERFCTR_OPEN_AUTOMATIC;
	if (one_in(6))
		c->session.params.flags |= DRM_PERFCTR_OPEN_KEEP_AWAKE;
	ret = igt_perfctr_session_try_open(&c->session);
	/* a fault removed a PMU */
	igt_assert_f(!ret || (d->armed && (ret == -ENODEV || ret == -ENOENT)), "OPEN: %d\n", ret);
	c->used = true;
	igt_target_is_gone(d, ret);
	if (ret)
		igt_client_drop(c, &tally);
	return true;
}

static bool do_start(void)
{
	struct igt_client *c = pick(is_idle);
	int ret;

	if (!c || !igt_target_quiesce(c->on))
		return c;
	igt_target_disarm_counting(c->on);
	ret = igt_client_start(c, storm.step, !others_count(c));
	trace("client %d on %u, %s, period %llu us, %u slots, flags %#x: %d", (int)(c - clients),
	      c->on->number, reader_names[c->reader],
	      (unsigned long long)c->session.params.period_ns / 1000, c->session.params.slots,
	      c->session.params.flags, ret);
	if (igt_target_is_gone(c->on, ret))
		return true;
	/* -EBUSY: another session counts another set */
	igt_assert_f(!ret || ret == -EBUSY || (ret == -ENOSPC && !igt_client_is_valid_reader(c)) ||
			     (c->on->armed && (ret == -EIO || ret == -ETIMEDOUT)),
		     "START: %d\n", ret);
	return true;
}

static bool do_stop(void)
{
	struct igt_client *c = pick(is_active);
	bool unanswered;
	int ret;

	if (!c || !igt_target_quiesce(c->on))
		return c;
	igt_target_disarm_counting(c->on);
	ret = igt_client_stop(c, storm.step, others_count(c), &tally);
	trace("client %d: %d", (int)(c - clients), ret);
	if (igt_target_is_gone(c->on, ret))
		return true;
	igt_assert_f(!ret, "STOP: %d\n", ret);
	unanswered = igt_client_is_valid_reader(c) &&
		     c->session.last.flags & DRM_PERFCTR_SAMPLE_ERROR;
	/* counts that it did not get are in the other sessions */
	for (unsigned int i = 0; i < CLIENTS && unanswered && !c->on->gone; i++)
		if (clients[i].used && clients[i].on == c->on &&
		    igt_client_has_account(&clients[i]))
			settle(&clients[i]);
	return true;
}

static void on_alarm(int signal)
{
}

/* sometimes a signal interrupts SAMPLE */
static bool do_sample(void)
{
	const struct itimerval soon = { .it_value.tv_usec = 1 + any(3000) }, never = { 0 };
	struct igt_client *c = pick(is_active);
	bool interrupt = one_in(4);
	int ret;

	if (!c)
		return false;
	if (interrupt)
		setitimer(ITIMER_REAL, &soon, NULL);
	ret = igt_perfctr_sample(&c->session, storm.step);
	setitimer(ITIMER_REAL, &never, NULL);
	trace("client %d: %d", (int)(c - clients), ret);
	if (igt_target_is_gone(c->on, ret))
		return true;
	igt_assert_f(!ret || ret == -ENOSPC || (interrupt && ret == -EINTR), "SAMPLE: %d\n", ret);
	return true;
}

static bool do_read(void)
{
	for (unsigned int i = 0; i < CLIENTS; i++)
		if (clients[i].used && clients[i].session.ring &&
		    clients[i].reader == IGT_READER_PROMPT)
			igt_perfctr_drain(&clients[i].session);
	return true;
}

static bool do_settle(void)
{
	struct igt_client *c = pick(igt_client_has_account);

	if (!c)
		return false;
	trace("client %d, %llu samples so far", (int)(c - clients),
	      (unsigned long long)c->session.samples);
	settle(c);
	return true;
}

static bool do_leave(void)
{
	struct igt_client *c = pick(is_any);

	if (!c)
		return false;
	if (one_in(2))
		igt_perfctr_session_end(&c->session);
	igt_client_drop(c, &tally);
	return true;
}

/* write to members that the kernel owns, and invalid values to the reader's */
static bool do_scribble(void)
{
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct igt_client *c = &clients[i];

		if (!c->used || c->reader != IGT_READER_HOSTILE || !c->session.ring)
			continue;
		switch (any(4)) {
		case 0:
			c->session.control->extract_idx = chance.state;
			break;
		case 1:
			c->session.control->extract_idx = c->session.control->insert_idx;
			break;
		case 2:
			c->session.control->insert_idx = chance.state;
			break;
		default:
			memset(c->session.control, 0xff, sizeof(*c->session.control));
		}
	}
	return true;
}

static bool is_fair(void)
{
	return storm.step % WEATHER_STEPS >= WEATHER_STEPS * 2 / 3;
}

/* disarm all faults */
static void calm(void)
{
	for (unsigned int i = 0; i < DEVICES; i++)
		if (devices[i].present && !devices[i].gone && igt_target_quiesce(&devices[i]))
			igt_target_disarm(&devices[i]);
}

static bool do_fault(void)
{
	static const char *const how[] = { "1000 1", "1000 2", "300 3", "50 10" };
	struct igt_target *d = some_device();
	const char *name = igt_target_fault(any(igt_target_fault_count()));
	const char *much = how[any(4)];

	if (is_fair())
		return false;
	/* the first device stays, as every device uses its PMUs */
	if (!d->number && !strcmp(name, "fail_unplug_in_request"))
		return false;
	trace("%s %s on %u", name, much, d->number);
	d->armed = true;
	if (!igt_target_is_gone(d,
				igt_vsoc_debugfs_try(&d->dev, name, much) == -ENOENT ? -ENODEV : 0))
		igt_assert_eq(igt_vsoc_debugfs_try(&d->dev, name, much), 0);
	return true;
}

static bool do_reset(void)
{
	struct igt_target *d = some_device();
	int ret;

	if (is_fair())
		return false;
	ret = igt_vsoc_debugfs_try(&d->dev, "reset", "1");
	trace("%u: %d", d->number, ret);
	if (!igt_target_is_gone(d, ret == -ENOENT ? -ENODEV : ret))
		igt_assert_f(!ret || ret == -EINTR, "reset: %d\n", ret);
	return true;
}

static uint64_t cores_of(const struct igt_target *d)
{
	uint64_t cores = 0;

	for (unsigned int i = 0; i < d->dev.block_count; i++)
		if (d->dev.blocks[i].type == DRM_PERFCTR_MALI_BLOCK_SHADER)
			cores |= 1ull << d->dev.blocks[i].index;
	return cores;
}

static bool do_power(void)
{
	static const char *const what_names[] = { "cores", "protected", "autosuspend", "clock" };
	struct igt_target *d = some_device();
	char text[24];

	uint32_t what = any(4);

	trace("%s on %u", what_names[what], d->number);
	switch (what) {
	case 0:
		snprintf(text, sizeof(text), "%#llx",
			 (unsigned long long)(cores_of(d) & chance.state));
		/* cores of a running job stay on */
		igt_vsoc_debugfs_try(&d->dev, "cores_on", text);
		break;
	case 1:
		igt_vsoc_debugfs_try(&d->dev, "protected", one_in(3) ? "1" : "0");
		break;
	case 2:
		igt_power_try(&d->dev, "auto");
		/* may be long enough to suspend */
		usleep(any(120) * 1000);
		break;
	default:
		snprintf(text, sizeof(text), "%u", 50000000 + any(450000000));
		igt_vsoc_debugfs_try(&d->dev, "shader_hz", text);
	}
	return true;
}

static bool do_cpu(void)
{
	static bool offline;

	if (access(CPU1, W_OK))
		return false;
	offline = !offline;
	igt_assert_eq(igt_write(CPU1, offline ? "0" : "1"), 0);
	return true;
}

static bool do_suspend(void)
{
	if (!with_suspend)
		return false;
	igt_assert_eq(igt_write("/sys/power/state", "freeze"), 0);
	storm.suspends++;
	return true;
}

/* a device is added or removed, with or without work in it */
static void add_or_remove(struct igt_target *d)
{
	static struct igt_vsoc_totals totals[CLIENTS];
	char number[16];
	bool quiet;

	if (!d->present) {
		come(d);
		open_contexts(d);
		return;
	}
	quiet = !d->gone && one_in(2) && igt_target_quiesce(d);
	if (quiet) {
		igt_target_disarm(d);
		quiet = !d->gone;
		for (unsigned int i = 0; i < CLIENTS; i++)
			if (quiet && clients[i].used && clients[i].on == d &&
			    igt_client_has_account(&clients[i])) {
				/* needs room for the final sample, and no armed fault */
				settle(&clients[i]);
				igt_vsoc_totals(&d->dev, clients[i].set, &totals[i]);
			}
	}
	snprintf(number, sizeof(number), "%u", d->number);
	igt_assert_eq(igt_write(IGT_VSOC_DRIVER "/del_device", number), 0);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct igt_client *c = &clients[i];

		if (!c->used || c->on != d)
			continue;
		if (igt_client_is_valid_reader(c) && c->session.ring) {
			igt_assert_eq_u32(c->session.control->state, DRM_PERFCTR_RING_DEAD);
			igt_perfctr_drain(&c->session);
			if (c->active)
				igt_assert(c->session.last.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
			if (c->active && quiet) {
				igt_assert(c->session.last.flags & DRM_PERFCTR_SAMPLE_FINAL);
				igt_client_end(c, &totals[i], &tally);
			}
		}
		igt_assert_eq(igt_perfctr_sample(&c->session, 0), -ENODEV);
		igt_client_drop(c, &tally);
	}
	igt_perfctr_close(&d->dev);
	d->present = d->gone = d->armed = false;
	d->job_count = 0;
}

static bool do_device(void)
{
	struct igt_target *d = &devices[1 + any(DEVICES - 1)];

	/* a device is present for longer than it is absent */
	if (d->present && !one_in(4))
		return false;
	add_or_remove(d);
	return true;
}

static void close_removed_devices(void)
{
	for (unsigned int i = 1; i < DEVICES; i++)
		if (devices[i].gone)
			add_or_remove(&devices[i]);
}

static void kill_doomed(unsigned int i)
{
	if (!doomed[i])
		return;
	kill(doomed[i], SIGKILL);
	igt_assert_eq(waitpid(doomed[i], NULL, 0), doomed[i]);
	doomed[i] = 0;
}

/* a process that counts until it is killed */
static bool do_doom(void)
{
	struct igt_perfctr_session s;
	struct igt_perfctr_device file;
	bool restless;
	unsigned int i;
	int ready[2];
	char byte;

	for (i = 0; i < MAX_DOOMED && doomed[i]; i++)
		;
	if (i == MAX_DOOMED) {
		kill_doomed(any(MAX_DOOMED));
		return true;
	}
	igt_assert_eq(pipe(ready), 0);
	restless = one_in(2);
	igt_perfctr_session_init(&s, &devices[0].dev);
	/* one that every user may have */
	s.params.period_ns = (10 + any(5)) * MS;
	doomed[i] = fork();
	igt_assert_lte(0, doomed[i]);
	if (!doomed[i]) {
		char path[32];

		/* sessions of the parent end when it closes them */
		for (unsigned int c = 0; c < CLIENTS; c++)
			if (clients[c].used)
				igt_perfctr_session_end(&clients[c].session);
		file = devices[0].dev;
		s.dev = &file;
		snprintf(path, sizeof(path), "/dev/dri/renderD%d", file.minor);
		file.fd = open(path, O_RDWR);
		if (restless)
			igt_drop_to(IGT_NOBODY - i, 0);
		/* errors come from a fault, or from another set in use */
		if (file.fd >= 0 && !igt_perfctr_session_try_open(&s))
			igt_perfctr_start(&s, 0);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		/* short sessions of an unprivileged user */
		while (restless) {
			igt_perfctr_session_end(&s);
			usleep(1000);
			if (!igt_perfctr_session_try_bare(&s))
				igt_perfctr_start(&s, 0);
		}
		for (;;)
			igt_perfctr_sample(&s, 0), usleep(2000);
	}
	close(ready[1]);
	igt_assert_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return true;
}

static const struct {
	const char *name;
	unsigned int weight;
	bool (*happens)(void);
} actions[] = {
	{ "job", 24, do_job },	      { "in-stream sample", 8, do_in_stream },
	{ "setup", 10, do_setup },    { "start", 12, do_start },
	{ "stop", 5, do_stop },	      { "sample", 14, do_sample },
	{ "read", 12, do_read },      { "settle", 8, do_settle },
	{ "leave", 2, do_leave },     { "scribble", 3, do_scribble },
	{ "fault", 10, do_fault },    { "reset", 2, do_reset },
	{ "power", 5, do_power },     { "cpu hotplug", 1, do_cpu },
	{ "suspend", 1, do_suspend }, { "device", 6, do_device },
	{ "doom", 2, do_doom },
};
#define HAPPENINGS ARRAY_SIZE(actions)

static uint64_t happened[HAPPENINGS];

static void happen(void)
{
	unsigned int sum = 0, at = 0;
	uint32_t n;

	for (unsigned int i = 0; i < HAPPENINGS; i++)
		sum += actions[i].weight;
	/* Draw before any check: a different result must not shift later draws. */
	begin_step(storm.step + 1);
	if (storm.step % WEATHER_STEPS == WEATHER_STEPS * 2 / 3)
		calm();
	n = any(sum);
	while (n >= actions[at].weight)
		n -= actions[at++].weight;
	storm.doing = actions[at].name;
	happened[at] += actions[at].happens();
	if (one_in(8))
		usleep(any(4000));
	close_removed_devices();
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	char *end;
	uint64_t n;

	if (!text || !*text)
		return otherwise;
	errno = 0;
	n = strtoull(text, &end, 0);
	igt_assert_f(!errno && !*end && *text != '-', "%s=%s is not a number\n", name, text);
	return n;
}

static void end_doomed(void)
{
	for (unsigned int i = 0; i < MAX_DOOMED; i++)
		kill_doomed(i);
}

/* printed last if an assertion ended the storm */
static void print_replay_command(void)
{
	if (storm.doing)
		fprintf(stderr,
			"storm: step %llu (%s); replay: PERFCTR_STORM_SEED=%llu "
			"PERFCTR_STORM_STEPS=%llu\n",
			(unsigned long long)storm.step, storm.doing,
			(unsigned long long)chance.seed, (unsigned long long)storm.step);
}

/* all remaining devices must work, and a new session must be fault-free */
static void calm_down(void)
{
	static struct igt_truth before, after;
	struct igt_perfctr_session s;

	storm.doing = "calming down";
	calm();
	close_removed_devices();
	for (unsigned int i = 0; i < CLIENTS; i++) {
		if (!clients[i].used)
			continue;
		if (igt_client_has_account(&clients[i]))
			settle(&clients[i]);
		igt_client_drop(&clients[i], &tally);
	}
	for (unsigned int i = 1; i < DEVICES; i++)
		if (devices[i].present)
			add_or_remove(&devices[i]);
	end_doomed();
	igt_write(CPU1, "1");
	igt_vsoc_debugfs_try(&devices[0].dev, "protected", "0");
	igt_vsoc_debugfs_try(&devices[0].dev, "shader_hz", "500000000");
	igt_perfctr_session_init(&s, &devices[0].dev);
	igt_perfctr_session_open(&s);
	igt_vsoc_truth(&devices[0].dev, &before);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_vsoc_work(&devices[0].dev, 1);
	igt_perfctr_finish(&s);
	igt_assert_eq_u32(s.flags & (DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_RESET), 0);
	igt_vsoc_truth(&devices[0].dev, &after);
	igt_assert_conserved(&s, &before, &after);
	igt_perfctr_session_close(&s);
	storm.doing = NULL;
}

/* per thousand of the counts */
static double permille(uint64_t counts)
{
	return tally.truth ? 1000.0 * counts / tally.truth : 0;
}

static void print_tally(uint64_t begin_ns)
{
	igt_info("%3llu s: %llu steps, %llu accounts settled (%llu of nv50, %llu recorded, %llu "
		 "fault-free), "
		 "%llu counters compared: of %llu counts %llu in %llu samples (%llu merged), %llu "
		 "(%.3f permille) destroyed by hardware, %llu (%.3f permille) refused, %llu (%.3f "
		 "permille) multiplexed, %.3f s lost; %llu fabric bytes, %llu faults, %llu "
		 "suspends\n",
		 (unsigned long long)((igt_raw_ns() - begin_ns) / (1000 * MS)),
		 (unsigned long long)storm.step, (unsigned long long)tally.settled,
		 (unsigned long long)tally.nv50, (unsigned long long)tally.recorded,
		 (unsigned long long)tally.unaffected, (unsigned long long)tally.compared,
		 (unsigned long long)tally.truth, (unsigned long long)tally.counts,
		 (unsigned long long)tally.samples, (unsigned long long)tally.merged,
		 (unsigned long long)tally.dropped, permille(tally.dropped),
		 (unsigned long long)tally.refused, permille(tally.refused),
		 (unsigned long long)tally.multiplexed, permille(tally.multiplexed),
		 tally.lost_ns / 1e9, (unsigned long long)tally.ucf_bytes,
		 (unsigned long long)(devices[0].hits + devices[1].hits + devices[2].hits),
		 (unsigned long long)storm.suspends);
}

/* runs with more steps must have compared counts */
#define FEW_STEPS 2000

static void run_storm(void)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	uint64_t duration_ns = from_environment("PERFCTR_STORM_SECONDS", 10) * 1000 * MS;
	uint64_t steps = from_environment("PERFCTR_STORM_STEPS", UINT64_MAX);
	uint64_t begin_ns = igt_raw_ns(), printed_ns = begin_ns;

	chance.seed = from_environment("PERFCTR_STORM_SEED", 1);
	begin_step(0);
	with_trace = from_environment("PERFCTR_STORM_TRACE", 0);
	with_suspend = from_environment("PERFCTR_STORM_SUSPEND", 0);
	igt_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
	igt_target_find(&devices[0]);
	open_contexts(&devices[0]);
	seed_faults(&devices[0]);
	/* the delay of late answers is shorter than any timeout */
	igt_vsoc_debugfs_try(&devices[0].dev, "fail_delay_ms", "60");
	if (with_suspend) {
		igt_assert_eq(igt_write("/sys/module/suspend/parameters/pm_test_delay", "0"), 0);
		igt_assert_eq(igt_write("/sys/power/pm_test", "devices"), 0);
	}

	/* a slow machine needs longer until there are counts to compare */
	while (storm.step < steps &&
	       (steps != UINT64_MAX || igt_raw_ns() - begin_ns < duration_ns ||
		(duration_ns && storm.step < FEW_STEPS && (!tally.unaffected || !tally.counts)))) {
		happen();
		if (igt_raw_ns() - printed_ns >= TELL_EVERY_NS) {
			printed_ns = igt_raw_ns();
			print_tally(begin_ns);
		}
	}
	calm_down();
	print_tally(begin_ns);
	for (unsigned int i = 0; i < HAPPENINGS; i++)
		igt_info("%8llu %s\n", (unsigned long long)happened[i], actions[i].name);
	igt_vsoc_debugfs_try(&devices[0].dev, "fail_delay_ms", "150");
	/* the run compared some counts */
	if (steps == UINT64_MAX && duration_ns >= 1000 * MS) {
		igt_assert_lte_u64(1, tally.settled);
		/* some of them in fault-free spans */
		igt_assert_lte_u64(1, tally.unaffected);
		igt_assert_lte_u64(1, tally.counts);
	}
}

/* system suspend during a job, without other actions */
static void suspend_exact(void)
{
	static struct igt_truth before, after;
	struct drm_vsoc_command commands[3] = { 0 };
	struct igt_perfctr_session s, manual;
	uint64_t job;

	igt_assert_eq(igt_write("/sys/module/suspend/parameters/pm_test_delay", "0"), 0);
	igt_assert_eq(igt_write("/sys/power/pm_test", "devices"), 0);
	igt_perfctr_session_init(&s, &devices[0].dev);
	s.params.period_ns = 2 * MS;
	s.params.slots = 64;
	igt_perfctr_session_open(&s);
	igt_perfctr_session_init(&manual, &devices[0].dev);
	igt_perfctr_session_open(&manual);
	igt_vsoc_truth(&devices[0].dev, &before);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&manual, 0), 0);
	commands[0].type = DRM_VSOC_CMD_COMPUTE;
	commands[0].compute.threads = 50000;
	commands[0].compute.instructions = 1000;
	job = igt_vsoc_submit(&devices[0].dev, commands, 1);
	for (unsigned int i = 0; i < 3; i++)
		igt_assert_eq(igt_write("/sys/power/state", "freeze"), 0);
	/* the job continues where it was */
	igt_assert_eq(igt_vsoc_wait(&devices[0].dev, job).status, 0);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&manual, 0), 0);
	igt_vsoc_truth(&devices[0].dev, &after);
	igt_perfctr_drain(&s);
	igt_perfctr_drain(&manual);
	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_SUSPENDED);
	igt_assert(manual.flags & DRM_PERFCTR_SAMPLE_SUSPENDED);
	igt_assert_eq_u64(s.lost_ns + manual.lost_ns, 0);
	igt_assert_conserved(&s, &before, &after);
	igt_assert_conserved(&manual, &before, &after);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&manual);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_device(&devices[0].dev, "vsoc.0"),
			      "no virtual SoC\n");
		devices[0].present = true;
		igt_perfctr_sysctl("paranoid", "0");
		/* left by a run that was interrupted */
		igt_write(IGT_VSOC_DRIVER "/del_device", "9");
		igt_write(IGT_VSOC_DRIVER "/del_device", "10");
	}
	igt_describe("random sessions, jobs, faults, power, hotplug, hostile readers: accounts "
		     "are exact or flagged");
	igt_subtest("storm") run_storm();
	igt_describe("system suspend during a job loses no count, and samples have SUSPENDED");
	igt_subtest("system-suspend")
	{
		igt_require_f(from_environment("PERFCTR_STORM_SUSPEND", 0),
			      "PERFCTR_STORM_SUSPEND=1 is not set: not every machine resumes\n");
		suspend_exact();
	}
	igt_fixture() {
		print_replay_command();
		end_doomed();
		igt_perfctr_sysctl("paranoid", "1");
		igt_perfctr_close(&devices[0].dev);
	}
}
