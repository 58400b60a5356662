// SPDX-License-Identifier: MIT
/*
 * Who counts on a device that fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "minigt.h"
#include "igt_client.h"
#include "igt_sys.h"

#define MS 1000000ull

bool igt_client_is_honest(const struct igt_client *c)
{
	return c->reader != IGT_READER_HOSTILE;
}

bool igt_client_has_ledger(const struct igt_client *c)
{
	return c->active && igt_client_is_honest(c);
}

int igt_client_open(struct igt_client *c, struct igt_fragile *d)
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
	tally->turned += c->ledger.turned;
	tally->compared += c->ledger.compared;
	tally->counts += c->ledger.counts;
	tally->truth += c->ledger.truth;
	tally->dropped += c->ledger.dropped;
	tally->refused += c->ledger.refused;
	tally->lost_ns += c->ledger.lost_ns;
	tally->ucf_bytes += c->ledger.ucf_bytes;
	tally->samples += c->session.samples;
	tally->merged += c->session.merged;
	memset(&c->ledger, 0, sizeof(c->ledger));
}

void igt_client_drop(struct igt_client *c, struct igt_tally *tally)
{
	remember(c, tally);
	igt_perfctr_session_unmap(&c->session);
	igt_perfctr_close(&c->file);
	c->used = false;
	c->active = false;
}

/* the device cannot be read: a fault has taken it */
static int assert_gone(struct igt_fragile *d)
{
	igt_assert(igt_fragile_is_gone(d, -ENODEV));
	return -ENODEV;
}

/* nothing has failed since the ledger began, if @troubles is what the device has had */
static bool is_innocent(const struct igt_client *c, uint64_t troubles)
{
	return c->troubles != IGT_FRAGILE_UNKNOWN && c->troubles == troubles;
}

/* whatever samples say, and whatever the model calls doubtful: without a trouble there is no loss */
static void settled(const struct igt_client *c, bool innocent, uint64_t missing,
		    struct igt_tally *tally)
{
	tally->settled++;
	tally->nv50 += c->on->nv50;
	tally->innocent += innocent;
	if (!innocent || !missing)
		return;
	igt_vsoc_tell_log(&c->on->dev);
	igt_assert_f(false, "%llu counts are missing, although nothing failed: flags %#x\n",
		     (unsigned long long)missing, c->session.last.flags);
}

int igt_client_start(struct igt_client *c, uint64_t user_data, bool only)
{
	struct igt_fragile *d = c->on;
	uint64_t troubles = igt_fragile_troubles(d);
	int ret;

	if (igt_client_is_honest(c)) {
		igt_perfctr_drain(&c->session);
		if (!igt_ledger_try_open(&c->ledger, &c->session, c->set))
			return assert_gone(d);
	}
	ret = igt_perfctr_start(&c->session, user_data);
	if (ret)
		return ret;
	c->active = true;
	if (only && troubles != IGT_FRAGILE_UNKNOWN && igt_fragile_troubles(d) == troubles)
		d->sound = troubles;
	c->troubles = d->sound == troubles ? troubles : IGT_FRAGILE_UNKNOWN;
	return 0;
}

int igt_client_stop(struct igt_client *c, uint64_t user_data, bool others, struct igt_tally *tally)
{
	static struct igt_vsoc_totals before, totals;
	uint64_t missing;
	int ret;

	/* a device that goes in this moment tells nothing any more */
	if (igt_client_is_honest(c) && !igt_vsoc_try_totals(&c->on->dev, c->set, &before))
		return assert_gone(c->on);
	ret = igt_perfctr_stop(&c->session, user_data);
	if (ret)
		return ret;
	c->active = false;
	if (!igt_client_is_honest(c))
		return 0;
	igt_perfctr_drain(&c->session);
	/* what STOP itself lost is in it, too; nothing was counted meanwhile */
	if (!igt_vsoc_try_totals(&c->on->dev, c->set, &totals))
		return assert_gone(c->on);
	missing = igt_ledger_settle_stopped(&c->ledger, &before, &totals, others);
	settled(c, is_innocent(c, igt_fragile_troubles(c->on)), missing, tally);
	remember(c, tally);
	return 0;
}

void igt_client_settle(struct igt_client *c, uint64_t user_data, struct igt_tally *tally)
{
	static struct igt_vsoc_totals now;
	struct igt_perfctr_session *s = &c->session;
	struct igt_fragile *d = c->on;
	uint64_t until_ns, t0, troubles;
	bool good;
	int ret = 0;

	if (!igt_fragile_quiesce(d))
		return;
	igt_fragile_disarm(d);
	if (d->gone)
		return;
	if (igt_perfctr_is_batched(s))
		tally->recorded++;
	troubles = igt_fragile_troubles(d);
	until_ns = igt_raw_ns();
	t0 = until_ns;
	do {
		igt_assert_f(igt_raw_ns() - t0 < IGT_FRAGILE_PATIENCE_NS,
			     "no good sample for %llu ms: SAMPLE %d, %llu samples, the last with "
			     "flags %#x ended %lld us too early\n",
			     IGT_FRAGILE_PATIENCE_NS / MS, ret, (unsigned long long)s->samples,
			     s->last.flags, (long long)(until_ns - s->last.end_ns) / 1000);
		igt_perfctr_drain(s);
		ret = igt_perfctr_sample(s, user_data);
		/* a signal, or a period that came first and took the slot */
		igt_assert_f(!ret || ret == -EINTR || ret == -ENOSPC, "SAMPLE: %d\n", ret);
		igt_perfctr_drain(s);
		/* the end of a recorded period is that of a packet: counts behind it come later */
		good = s->samples && s->last.end_ns >= until_ns &&
		       !(s->last.flags & DRM_PERFCTR_SAMPLE_ERROR) &&
		       (!d->nv50 || s->last.flags & DRM_PERFCTR_SAMPLE_MANUAL);
	} while (!good);
	igt_vsoc_totals(&d->dev, c->set, &now);
	settled(c, is_innocent(c, troubles), igt_ledger_settle(&c->ledger, &now), tally);
	if (igt_fragile_troubles(d) == troubles)
		d->sound = troubles;
	c->troubles = d->sound == troubles ? troubles : IGT_FRAGILE_UNKNOWN;
}

void igt_client_end(struct igt_client *c, const struct igt_vsoc_totals *totals,
		    struct igt_tally *tally)
{
	settled(c, is_innocent(c, c->on->sound), igt_ledger_settle_unplugged(&c->ledger, totals),
		tally);
}
