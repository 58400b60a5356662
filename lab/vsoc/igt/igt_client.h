/* SPDX-License-Identifier: MIT */
/* A session on a fault target, in a separate file. Its account, if any, is added to a tally. */
#ifndef IGT_CLIENT_H
#define IGT_CLIENT_H

#include "igt_target.h"
#include "igt_account.h"

enum igt_reader {
	IGT_READER_PROMPT,
	IGT_READER_SLOW,
	/* writes to members that the kernel owns, so its session has no account */
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
	/* of the device when the account began; IGT_TARGET_EPOCH_UNKNOWN: not recovered */
	uint64_t fault_epoch;
};

struct igt_tally {
	uint64_t settled; /* settled accounts */
	/* accounts of product nv50, and of sessions that were recorded at the end */
	uint64_t nv50, recorded;
	/* accounts of fault-free spans: no count may be missing */
	uint64_t unaffected;
	uint64_t compared, truth, counts, dropped, refused; /* struct igt_account */
	uint64_t multiplexed, lost_ns, ucf_bytes;
	uint64_t samples, merged;
};

bool igt_client_is_valid_reader(const struct igt_client *c);
/* active, with an account */
bool igt_client_has_account(const struct igt_client *c);

/* opens a separate file on @d; 0 or -errno */
int igt_client_open(struct igt_client *c, struct igt_target *d);
/* closes the file and its sessions, as the end of a process does */
void igt_client_drop(struct igt_client *c, struct igt_tally *tally);

/*
 * START on an idle device. @only: no other session counts on it, so that a successful START shows
 * that the device works. 0 or -errno, -ENODEV if a fault removed the device.
 */
int igt_client_start(struct igt_client *c, uint64_t user_data, bool only);
/* STOP on an idle device, and settle. @others: sessions that count on it */
int igt_client_stop(struct igt_client *c, uint64_t user_data, bool others, struct igt_tally *tally);
/*
 * Settle the account of an active session: once no fault is armed, a good sample must soon have
 * everything that was counted until now. Does nothing if a fault removes the device.
 */
void igt_client_settle(struct igt_client *c, uint64_t user_data, struct igt_tally *tally);
/* the device is gone; @totals was read before, with the device idle */
void igt_client_end(struct igt_client *c, const struct igt_vsoc_totals *totals,
		    struct igt_tally *tally);

#endif
