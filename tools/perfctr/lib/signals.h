/* SPDX-License-Identifier: MIT */
/* Signals that are read like data, so that none is missed and none interrupts. */
#ifndef PERFCTR_SIGNALS_H
#define PERFCTR_SIGNALS_H

#include <signal.h>
#include <sys/signalfd.h>

#include "app.h"

/* blocked signals */
struct signals {
	int fd; /* readable when one came; -1 if none are caught */
	sigset_t before; /* the mask that was there */
};

/**
 * signals_catch() - block SIGINT, SIGTERM and SIGHUP, and some more
 * @app: for messages
 * @signals: filled
 * @more: 0 terminated
 *
 * Return: 0 or EXIT_FAILED, the message was printed; signals_release() is due in both cases.
 */
int signals_catch(const struct app *app, struct signals *signals, const int *more);

/* The next one that came. Return: false if there is none. */
bool signals_next(const struct signals *signals, struct signalfd_siginfo *info);

/*
 * The mask as it was. Signals that came and were not looked at are dropped: what they should
 * have ended is at its end.
 */
void signals_release(struct signals *signals);

#endif /* PERFCTR_SIGNALS_H */
