// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "minigt.h"
#include "igt_client.h"
#include "igt_sys.h"

bool igt_client_is_valid_reader(const struct igt_client *c)
{
	return c->reader != IGT_READER_HOSTILE;
}

bool igt_client_has_account(const struct igt_client *c)
{
	return c->active && igt_client_is_valid_reader(c);
}

int igt_client_open(struct igt_client *c, struct igt_target *d)
{
	char path[32];

	memset(c, 0, sizeof(*c));
	c->on = d;
	c->file = d->dev;
	snprintf(path, sizeof(path), "/dev/dri/renderD%d", d->dev.minor);
	c->file.fd = open(path, O_RDWR | O_CLOEXEC);
	return c->file.fd < 0 ? -errno : 0;
}

static void remember(struct igt_client *c, struct igt_tally *tally)
{
	tally->multiplexed += c->account.multiplexed;
	tally->compared += c->account.compared;
	tally->counts += c->account.counts;
	tally->truth += c->account.truth;
	tally->dropped += c->account.dropped;
	tally->refused += c->account.refused;
	tally->lost_ns += c->account.lost_ns;
	tally->ucf_bytes += c->account.ucf_bytes;
	tally->samples += c->session.samples;
	tally->merged += c->session.merged;
	memset(&c->account, 0, sizeof(c->account));
}

void igt_client_drop(struct igt_client *c, struct igt_tally *tally)
{
	remember(c, tally);
	igt_perfctr_session_close(&c->session);
	igt_perfctr_close(&c->file);
	c->used = false;
	c->active = false;
}

/* the device cannot be read: a fault has removed it */
static int assert_removed(struct igt_target *d)
{
	igt_assert(igt_target_is_gone(d, -ENODEV));
	return -ENODEV;
}

/* nothing has failed since the account began; @fault_epoch: the device's now */
static bool is_unaffected(const struct igt_client *c, uint64_t fault_epoch)
{
	return c->fault_epoch != IGT_TARGET_EPOCH_UNKNOWN && c->fault_epoch == fault_epoch;
}

/* without a fault nothing is lost, even if samples or the model report a loss */
static void settled(const struct igt_client *c, bool unaffected, uint64_t missing,
		    struct igt_tally *tally)
{
	tally->settled++;
	tally->nv50 += c->on->nv50;
	tally->unaffected += unaffected;
	if (!unaffected || !missing)
		return;
	igt_vsoc_print_log(&c->on->dev);
	igt_assert_f(false, "%llu counts are missing, although nothing failed: flags %#x\n",
		     (unsigned long long)missing, c->session.last.flags);
}

int igt_client_start(struct igt_client *c, uint64_t user_data, bool only)
{
	struct igt_target *d = c->on;
	uint64_t fault_epoch = igt_target_fault_epoch(d);
	int ret;

	if (igt_client_is_valid_reader(c)) {
		igt_perfctr_drain(&c->session);
		if (!igt_account_try_open(&c->account, &c->session, c->set))
			return assert_removed(d);
	}
	ret = igt_perfctr_start(&c->session, user_data);
	if (ret)
		return ret;
	c->active = true;
	if (only && fault_epoch != IGT_TARGET_EPOCH_UNKNOWN &&
	    igt_target_fault_epoch(d) == fault_epoch)
		d->fault_free_epoch = fault_epoch;
	c->fault_epoch = d->fault_free_epoch == fault_epoch ? fault_epoch :
							      IGT_TARGET_EPOCH_UNKNOWN;
	return 0;
}

int igt_client_stop(struct igt_client *c, uint64_t user_data, bool others, struct igt_tally *tally)
{
	static struct igt_vsoc_totals before, totals;
	uint64_t missing;
	int ret;

	if (igt_client_is_valid_reader(c) && !igt_vsoc_try_totals(&c->on->dev, c->set, &before))
		return assert_removed(c->on);
	ret = igt_perfctr_stop(&c->session, user_data);
	if (ret)
		return ret;
	c->active = false;
	if (!igt_client_is_valid_reader(c))
		return 0;
	igt_perfctr_drain(&c->session);
	/* @totals include what STOP itself lost; nothing was counted since */
	if (!igt_vsoc_try_totals(&c->on->dev, c->set, &totals))
		return assert_removed(c->on);
	missing = igt_account_settle_stopped(&c->account, &before, &totals, others);
	settled(c, is_unaffected(c, igt_target_fault_epoch(c->on)), missing, tally);
	remember(c, tally);
	return 0;
}

void igt_client_settle(struct igt_client *c, uint64_t user_data, struct igt_tally *tally)
{
	static struct igt_vsoc_totals now;
	struct igt_perfctr_session *s = &c->session;
	struct igt_target *d = c->on;
	uint64_t until_ns, t0, fault_epoch;
	bool good;
	int ret = 0;

	if (!igt_target_quiesce(d))
		return;
	igt_target_disarm(d);
	if (d->gone)
		return;
	if (igt_perfctr_is_batched(s))
		tally->recorded++;
	fault_epoch = igt_target_fault_epoch(d);
	until_ns = igt_raw_ns();
	t0 = until_ns;
	do {
		igt_assert_f(igt_raw_ns() - t0 < IGT_TARGET_PATIENCE_NS,
			     "no good sample for %llu ms: SAMPLE %d, %llu samples, the last with "
			     "flags %#x ended %lld us too early\n",
			     IGT_TARGET_PATIENCE_NS / MS, ret, (unsigned long long)s->samples,
			     s->last.flags, (long long)(until_ns - s->last.end_ns) / 1000);
		igt_perfctr_drain(s);
		ret = igt_perfctr_sample(s, user_data);
		/* a signal, or a period that took the slot first */
		igt_assert_f(!ret || ret == -EINTR || ret == -ENOSPC, "SAMPLE: %d\n", ret);
		igt_perfctr_drain(s);
		/* counts behind the last packet of a recorded period come later */
		good = s->samples && s->last.end_ns >= until_ns &&
		       !(s->last.flags & DRM_PERFCTR_SAMPLE_ERROR) &&
		       (!d->nv50 || s->last.flags & DRM_PERFCTR_SAMPLE_MANUAL);
	} while (!good);
	igt_vsoc_totals(&d->dev, c->set, &now);
	settled(c, is_unaffected(c, fault_epoch), igt_account_settle(&c->account, &now), tally);
	if (igt_target_fault_epoch(d) == fault_epoch)
		d->fault_free_epoch = fault_epoch;
	c->fault_epoch = d->fault_free_epoch == fault_epoch ? fault_epoch :
							      IGT_TARGET_EPOCH_UNKNOWN;
}

void igt_client_end(struct igt_client *c, const struct igt_vsoc_totals *totals,
		    struct igt_tally *tally)
{
	settled(c, is_unaffected(c, c->on->fault_free_epoch),
		igt_account_settle_unplugged(&c->account, totals), tally);
}
