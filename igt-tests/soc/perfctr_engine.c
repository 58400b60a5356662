// SPDX-License-Identifier: MIT
/**
 * TEST: Jobs of the virtual SoC count as documented, for the right context
 * Description: What listings of the virtual SoC count, and for which context.
 *
 * SUBTEST: %s
 * Description: %arg[1]
 *
 * arg[1]:
 * @listing-errors: each invalid listing, too long or without an end, has its own errno
 * @truth-contexts: the truth of all contexts adds up to the truth at any moment
 * @truth-contexts-bounded: contexts beyond the number of accounts share one, and nothing is lost
 * @attribution-exact: two samples in a job enclose exactly the counts of the commands between them
 * @contexts-fair: contexts are scheduled round-robin, independent of order and number of their jobs
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_perfctr.h"
#include "igt_vsoc.h"

#define CONTEXTS 4
/* accounts of the device, and with the fixed ones */
#define DEVICE_ACCOUNTS 256
#define MAX_ACCOUNTS (4 * (DEVICE_ACCOUNTS + 4))
/* durations of kernel/vsoc/README.md, "Rules" */
#define JOB_START_NS 400
#define JOB_END_NS 200
#define COMMAND_NS 200

static struct igt_perfctr_device dev;
static struct igt_vsoc_truth before, after;
static struct drm_vsoc_info info;

static struct drm_vsoc_command compute(uint64_t threads, const struct drm_vsoc_instruction *code,
				       uint32_t count)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_COMPUTE };

	c.compute.threads = threads;
	c.compute.listing = (uintptr_t)code;
	c.compute.listing_count = count;
	c.compute.listing_stride = sizeof(*code);
	return c;
}

static struct drm_vsoc_instruction forever[] = {
	{ .opcode = DRM_VSOC_OP_BRA, .target = 0 },
	{ .opcode = DRM_VSOC_OP_EXIT },
};

static int try_listing(const struct drm_vsoc_instruction *code, uint32_t count, uint32_t stride,
		       uint32_t instructions)
{
	struct drm_vsoc_command c = compute(16, code, count);

	c.compute.instructions = instructions;
	c.compute.listing_stride = stride;
	return igt_vsoc_submit_to(dev.fd, 0, &c, 1, NULL, NULL);
}

static void listing_errors(void)
{
	static const struct drm_vsoc_instruction bad[] = {
		{ .opcode = 0 },
		{ .opcode = DRM_VSOC_OP_SHFL + 1 },
		{ .opcode = DRM_VSOC_OP_EXIT, .guard = 3 },
		{ .opcode = DRM_VSOC_OP_EXIT, .guard_times = 1 },
		{ .opcode = DRM_VSOC_OP_EXIT, .target = 1 },
		{ .opcode = DRM_VSOC_OP_EXIT, .pad = 1 },
		{ .opcode = DRM_VSOC_OP_EXIT, .reserved = 1 },
		{ .opcode = DRM_VSOC_OP_BRA, .target = 1 },
		{ .opcode = DRM_VSOC_OP_NOP },
		{ .opcode = DRM_VSOC_OP_EXIT, .guard = DRM_VSOC_GUARD_FALSE },
	};
	static struct drm_vsoc_instruction many[5000];
	struct {
		struct drm_vsoc_instruction insn;
		uint64_t tail;
	} wide = { .insn.opcode = DRM_VSOC_OP_EXIT };
	const struct drm_vsoc_instruction good = { .opcode = DRM_VSOC_OP_EXIT };
	struct drm_vsoc_command c[8] = { 0 };

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		igt_assert_f(try_listing(&bad[i], 1, sizeof(bad[i]), 0) == -EINVAL, "case %u\n", i);
	igt_assert_eq(try_listing(&good, 1, sizeof(good), 0), 0);
	igt_assert_eq(try_listing(&good, 1, sizeof(good), 1), -EINVAL);
	igt_assert_eq(try_listing(&good, 1, 8, 0), -EINVAL);
	igt_assert_eq(try_listing(&good, 1, 20, 0), -EINVAL);
	igt_assert_eq(try_listing(&good, 1, 8192, 0), -EINVAL);
	igt_assert_eq(try_listing(&good, 0, 16, 0), -EINVAL);
	igt_assert_eq(try_listing(NULL, 1, 16, 0), -EFAULT);
	igt_assert_eq(try_listing(&wide.insn, 1, sizeof(wide), 0), 0);
	wide.tail = 1;
	igt_assert_eq(try_listing(&wide.insn, 1, sizeof(wide), 0), -E2BIG);

	for (unsigned int i = 0; i < info.max_listing; i++)
		many[i].opcode = DRM_VSOC_OP_NOP;
	many[info.max_listing - 1].opcode = DRM_VSOC_OP_EXIT;
	igt_assert_eq(try_listing(many, info.max_listing, 16, 0), 0);
	many[info.max_listing].opcode = DRM_VSOC_OP_EXIT;
	igt_assert_eq(try_listing(many, info.max_listing + 1, 16, 0), -E2BIG);
	igt_assert_eq(try_listing(forever, 2, 16, 0), -ELOOP);

	/* max_steps includes EXIT; five more steps are too many */
	forever[0].guard = DRM_VSOC_GUARD_TIMES;
	forever[0].guard_times = info.max_steps - 1;
	igt_assert_eq(try_listing(forever, 2, 16, 0), -ELOOP);
	forever[0].guard_times = info.max_steps - 2;
	igt_assert_eq(try_listing(forever, 2, 16, 0), 0);
	for (unsigned int i = 0; i < 8; i++)
		c[i] = compute(0, forever, 2);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, c, 3, NULL, NULL), 0);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, c, 5, NULL, NULL), -E2BIG);
}

/* counts of one counter by account, from one read of truth_contexts */
struct account {
	char owner[40];
	uint64_t value;
};

struct accounts {
	unsigned int count;
	struct account at[MAX_ACCOUNTS];
	/* counters that differ from the sum of the accounts */
	unsigned int wrong, counters;
};

static void read_accounts_of_set(const char *set, const char *wanted, struct accounts *accounts)
{
	static struct {
		uint16_t type, index, counter;
		uint64_t total, sum;
	} sums[IGT_VSOC_MAX_COUNTERS];
	char path[96], owner[40], type[16], name[40];
	unsigned int index, counter, used = 0;
	unsigned long long value;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/vsoc/truth_contexts%s", dev.minor,
		 set);
	f = fopen(path, "re");
	igt_require_f(f, "%s: %s\n", path, strerror(errno));
	memset(accounts, 0, sizeof(*accounts));
	while (fscanf(f, "%39s %15s %u %u %39s %llu", owner, type, &index, &counter, name,
		      &value) == 6) {
		unsigned int i;

		for (i = 0; i < used; i++)
			if (sums[i].type == type[0] && sums[i].index == index &&
			    sums[i].counter == counter)
				break;
		if (!strcmp(owner, "total")) {
			igt_assert_eq(i, used);
			igt_assert_lt(used, IGT_VSOC_MAX_COUNTERS);
			/* the first letter identifies a block type */
			sums[used].type = type[0];
			sums[used].index = index;
			sums[used].counter = counter;
			sums[used].sum = 0;
			sums[used++].total = value;
			continue;
		}
		igt_assert_f(i < used, "%s counted %s, the total did not\n", owner, name);
		sums[i].sum += value;
		if (strcmp(name, wanted))
			continue;
		igt_assert_lt(accounts->count, MAX_ACCOUNTS);
		strcpy(accounts->at[accounts->count].owner, owner);
		accounts->at[accounts->count++].value = value;
	}
	igt_assert(feof(f));
	fclose(f);
	accounts->counters = used;
	for (unsigned int i = 0; i < used; i++)
		accounts->wrong += sums[i].sum != sums[i].total;
}

static void read_accounts(const char *wanted, struct accounts *accounts)
{
	read_accounts_of_set("", wanted, accounts);
}

/* sum of the wanted counter over the blocks, of context @ctx of this process's latest file */
static uint64_t account_of(const struct accounts *accounts, uint32_t file, uint32_t ctx)
{
	char owner[40];
	uint64_t sum = 0;

	snprintf(owner, sizeof(owner), "%d/%u/%u", getpid(), file, ctx);
	for (unsigned int i = 0; i < accounts->count; i++)
		if (!strcmp(accounts->at[i].owner, owner))
			sum += accounts->at[i].value;
	return sum;
}

/* number of a file: that of its context with the only account that has the counter */
static uint32_t file_number(const struct igt_perfctr_device *d)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	struct accounts accounts;
	uint32_t last = 0;

	igt_assert_eq(igt_vsoc_wait(d, igt_vsoc_submit(d, &c, 1)).status, 0);
	read_accounts("JOBS_DONE", &accounts);
	for (unsigned int i = 0; i < accounts.count; i++) {
		int pid;
		unsigned int file, ctx;

		if (sscanf(accounts.at[i].owner, "%d/%u/%u", &pid, &file, &ctx) == 3 &&
		    pid == getpid() && file > last)
			last = file;
	}
	igt_assert_lt(0, last);
	return last;
}

static void contexts_add_up(void)
{
	struct igt_perfctr_device other;
	uint32_t ctx[CONTEXTS], file;
	struct accounts accounts;
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_DRAW };
	struct drm_vsoc_wait w;
	uint64_t job = 0, closed;

	igt_perfctr_reopen(&other, &dev);
	file = file_number(&other);
	for (unsigned int i = 0; i < CONTEXTS; i++)
		ctx[i] = igt_vsoc_ctx_create(other.fd);
	for (unsigned int n = 0; n < 8; n++) {
		for (unsigned int i = 0; i < CONTEXTS; i++) {
			c.draw.fragments = 1000 * (i + 1) + n;
			c.draw.texels = 100000;
			igt_assert_eq(igt_vsoc_submit_to(other.fd, ctx[i], &c, 1, &job, NULL), 0);
		}
	}
	/* several reads while they run */
	do {
		read_accounts("FRAGMENTS", &accounts);
		igt_assert_eq(accounts.wrong, 0);
	} while (igt_vsoc_wait_for(other.fd, job, 2 * MS, &w) == -ETIME);

	read_accounts("FRAGMENTS", &accounts);
	igt_assert_eq(accounts.wrong, 0);
	igt_assert_lt(20, accounts.counters);
	for (unsigned int i = 0; i < CONTEXTS; i++)
		igt_assert_eq_u64(account_of(&accounts, file, ctx[i]), 8000 * (i + 1) + 28);

	/* the counts of a destroyed context remain */
	closed = 0;
	for (unsigned int i = 0; i < accounts.count; i++)
		if (!strcmp(accounts.at[i].owner, "closed"))
			closed += accounts.at[i].value;
	igt_assert_eq(igt_vsoc_ctx_destroy(other.fd, ctx[2]), 0);
	read_accounts("FRAGMENTS", &accounts);
	igt_assert_eq(accounts.wrong, 0);
	igt_assert_eq_u64(account_of(&accounts, file, ctx[2]), 0);
	for (unsigned int i = 0; i < accounts.count; i++)
		if (!strcmp(accounts.at[i].owner, "closed"))
			closed -= accounts.at[i].value;
	igt_assert_eq_u64(-closed, 24028);
	/* other counter sets have accounts, too */
	read_accounts_of_set("_secondary", "THREADS", &accounts);
	igt_assert_eq(accounts.wrong, 0);
	igt_assert_lt(0, account_of(&accounts, file, ctx[0]));
	read_accounts_of_set("_tertiary", "TILES_WRITTEN", &accounts);
	igt_assert_eq(accounts.wrong, 0);
	igt_assert_lt(0, account_of(&accounts, file, ctx[0]));
	igt_perfctr_close(&other);
}

/* with more contexts than accounts, some share one and nothing is lost */
static void accounts_bounded(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	struct igt_perfctr_device files[2];
	static struct accounts accounts;
	unsigned int own = 0, made = 0;
	uint64_t others = 0, job = 0;
	struct drm_vsoc_wait w;

	for (unsigned int f = 0; f < 2; f++) {
		igt_perfctr_reopen(&files[f], &dev);
		for (unsigned int i = 0; i < DEVICE_ACCOUNTS / 2 + 20; i++, made++)
			igt_assert_eq(igt_vsoc_submit_to(files[f].fd,
							 igt_vsoc_ctx_create(files[f].fd), &c, 1,
							 &job, NULL),
				      0);
		igt_assert_eq(igt_vsoc_wait_for(files[f].fd, job, 20000 * MS, &w), 0);
	}
	read_accounts("JOBS_DONE", &accounts);
	igt_assert_eq(accounts.wrong, 0);
	for (unsigned int i = 0; i < accounts.count; i++) {
		own += !!strchr(accounts.at[i].owner, '/');
		if (!strcmp(accounts.at[i].owner, "others"))
			others += accounts.at[i].value;
	}
	igt_assert_lte(own, DEVICE_ACCOUNTS);
	igt_assert_lte_u64(made - DEVICE_ACCOUNTS, others);
	igt_perfctr_close(&files[0]);
	igt_perfctr_close(&files[1]);
	/* closing the files has freed accounts */
	igt_perfctr_reopen(&files[0], &dev);
	igt_assert_lt(0, file_number(&files[0]));
	igt_perfctr_close(&files[0]);
}

/* A, SAMPLE, B, SAMPLE: exactly the counts of A and B beside any other contexts */
static void attribution(void)
{
	struct drm_vsoc_command c[5] = { 0 }, noise = { .type = DRM_VSOC_CMD_DRAW };
	static uint64_t alone[2][IGT_VSOC_MAX_COUNTERS];
	struct igt_perfctr_device other;
	struct igt_perfctr_session s;
	struct drm_vsoc_wait w;
	uint64_t job, last = 0;
	unsigned int compared = 0;
	uint32_t ctx[CONTEXTS];

	c[0].type = c[2].type = c[4].type = DRM_VSOC_CMD_SAMPLE;
	c[1].type = c[3].type = DRM_VSOC_CMD_DRAW;
	c[1].draw.vertices = 301;
	c[1].draw.primitives = 99;
	c[1].draw.fragments = 12345;
	c[1].draw.texels = 20000;
	c[3].draw.vertices = 77;
	c[3].draw.primitives = 500;
	c[3].draw.primitives_culled = 123;
	c[3].draw.fragments = 54321;
	for (unsigned int i = 0; i < 2; i++) {
		igt_vsoc_truth(&dev, &before);
		igt_assert_eq(igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, &c[2 * i + 1], 1)).status,
			      0);
		igt_vsoc_truth(&dev, &after);
		for (unsigned int k = 0; k < after.count; k++)
			alone[i][k] = after.at[k].value - before.at[k].value;
	}

	igt_perfctr_session_init(&s, &dev);
	igt_perfctr_session_create(&s);
	for (unsigned int i = 0; i < 5; i += 2) {
		c[i].sample.handle = s.handle;
		c[i].sample.user_data = i;
	}
	igt_perfctr_reopen(&other, &dev);
	noise.draw.fragments = 200000;
	noise.draw.vertices = 1000;
	for (unsigned int i = 0; i < CONTEXTS; i++)
		ctx[i] = igt_vsoc_ctx_create(other.fd);
	/* so that no context ends before the check */
	igt_vsoc_debugfs(&dev, "stepped", "1");
	for (unsigned int n = 0; n < 48; n++)
		igt_assert_eq(
			igt_vsoc_submit_to(other.fd, ctx[n % CONTEXTS], &noise, 1, &last, NULL), 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, c, 5, &job, NULL), 0);
	while (igt_vsoc_wait_for(dev.fd, job, 0, &w) == -ETIME)
		igt_vsoc_debugfs_u64(&dev, "step_ns", MS);
	igt_assert_eq(w.status, 0);
	igt_assert_eq(w.sample_errors, 0);
	/* the others were active all the time */
	igt_assert_eq(igt_vsoc_wait_for(other.fd, last, 0, &w), -ETIME);
	igt_vsoc_debugfs(&dev, "stepped", "0");

	for (unsigned int i = 0; i < 2; i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, i + 1);

		igt_assert_eq_u64(h->user_data, 2 * i + 2);
		for (unsigned int k = 0; k < after.count; k++) {
			/* commands only; FW and CSHW count the job and the SAMPLE too */
			if (after.at[k].type != DRM_PERFCTR_MALI_BLOCK_TILER &&
			    after.at[k].type != DRM_PERFCTR_MALI_BLOCK_MEMSYS &&
			    after.at[k].type != DRM_PERFCTR_MALI_BLOCK_SHADER)
				continue;
			if (after.at[k].counter >= DRM_PERFCTR_SECTION_COUNTERS)
				continue;
			igt_assert_eq_u64(igt_perfctr_value(h, after.at[k].type, after.at[k].index,
							    after.at[k].counter),
					  alone[i][k]);
			compared++;
		}
	}
	igt_assert_lt(100, compared);
	igt_perfctr_stop(&s, 0);
	igt_perfctr_session_fini(&s);
	igt_perfctr_close(&other);
}

static void fair(void)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
	struct igt_perfctr_device other;
	uint32_t ctx[CONTEXTS], file;
	struct accounts accounts;
	unsigned int seen = 0;

	igt_perfctr_reopen(&other, &dev);
	file = file_number(&other);
	igt_vsoc_debugfs(&dev, "stepped", "1");
	c.wait.duration_ns = 100000;
	for (unsigned int i = 0; i < CONTEXTS; i++)
		ctx[i] = igt_vsoc_ctx_create(other.fd);
	/* the contexts alternate although the first one queues all its jobs first */
	for (unsigned int i = 0; i < CONTEXTS; i++)
		for (unsigned int n = 0; n < 6; n++)
			igt_assert_eq(igt_vsoc_submit_to(other.fd, ctx[i], &c, 1, NULL, NULL), 0);
	for (unsigned int n = 0; n < 6 * CONTEXTS; n++) {
		uint64_t least = UINT64_MAX, most = 0;

		igt_vsoc_debugfs_u64(&dev, "step_ns",
				     c.wait.duration_ns + COMMAND_NS + JOB_START_NS + JOB_END_NS);
		read_accounts("JOBS_DONE", &accounts);
		igt_assert_eq(accounts.wrong, 0);
		for (unsigned int i = 0; i < CONTEXTS; i++) {
			uint64_t jobs = account_of(&accounts, file, ctx[i]);

			least = jobs < least ? jobs : least;
			most = jobs > most ? jobs : most;
		}
		igt_assert_lte_u64(most, least + 1);
		seen += most > least;
	}
	igt_assert_lt(0, seen);
	for (unsigned int i = 0; i < CONTEXTS; i++)
		igt_assert_eq_u64(account_of(&accounts, file, ctx[i]), 6);
	igt_vsoc_debugfs(&dev, "stepped", "0");
	igt_perfctr_close(&other);
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open(&dev, "vsoc"), "no virtual SoC\n");
		igt_vsoc_info(&dev, &info);
	}
	igt_subtest("listing-errors") listing_errors();
	igt_subtest("truth-contexts") contexts_add_up();
	igt_subtest("truth-contexts-bounded") accounts_bounded();
	igt_subtest("attribution-exact") attribution();
	igt_subtest("contexts-fair") fair();
}
