/* SPDX-License-Identifier: MIT */
/*
 * Who counts on a device that fails: a session in a file of its own, with a account if its reader is
 * honest. What is settled goes to a tally.
 */
#ifndef IGT_CLIENT_H
#define IGT_CLIENT_H

#include "igt_target.h"
#include "igt_account.h"

enum igt_reader {
	IGT_READER_PROMPT,
	IGT_READER_SLOW,
	/* it writes where only the kernel should: no account */
	IGT_READER_HOSTILE,
	IGT_READERS,
};

struct igt_client {
	bool used;
	struct igt_target *on;
	struct igt_perfctr_device file;
	struct igt_perfctr_session session;
	struct igt_account account;
	enum igt_reader reader;
	bool active;
	unsigned int set; /* enum drm_perfctr_set */
	/* of the device when the account began; IGT_TARGET_EPOCH_UNKNOWN: it had not recovered yet */
	uint64_t fault_epoch;
};

struct igt_tally {
	uint64_t settled; /* accounts */
	uint64_t nv50, recorded; /* of them, those of product nv50, and in batches at the end */
	/* of them, those of spans in which nothing failed: no count may be missing there */
	uint64_t unaffected;
	uint64_t compared, truth, counts, dropped, refused; /* struct igt_account */
	uint64_t multiplexed, lost_ns, ucf_bytes;
	uint64_t samples, merged;
};

bool igt_client_is_honest(const struct igt_client *c);
/* active, with a account */
bool igt_client_has_account(const struct igt_client *c);

/* a file of its own on @d; 0 or -errno */
int igt_client_open(struct igt_client *c, struct igt_target *d);
/* the file goes with all that is in it: what a process does that ends */
void igt_client_drop(struct igt_client *c, struct igt_tally *tally);

/*
 * START on a device that stands still. @only: nobody else counts on it, so that a START that
 * succeeds says that the device works. 0 or -errno, -ENODEV if a fault took the device.
 */
int igt_client_start(struct igt_client *c, uint64_t user_data, bool only);
/* STOP on a device that stands still, and settle. @others: count on it */
int igt_client_stop(struct igt_client *c, uint64_t user_data, bool others, struct igt_tally *tally);
/*
 * Settle the account of a session that goes on: what was counted until now must come with a good
 * sample soon, once nothing fails any more. Nothing, if a fault takes the device.
 */
void igt_client_settle(struct igt_client *c, uint64_t user_data, struct igt_tally *tally);
/* the session ended with its device, which stood still at @totals, settled before */
void igt_client_end(struct igt_client *c, const struct igt_vsoc_totals *totals,
		    struct igt_tally *tally);

#endif
