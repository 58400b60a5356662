/* SPDX-License-Identifier: MIT */
/* Signals read from a file descriptor: none is lost, and none interrupts a call. */
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include "app.h"

/* blocked signals */
struct signals {
	int fd; /* readable when a signal is pending; -1 if none are caught */
	sigset_t before; /* previous signal mask */
};

/*
 * Block SIGINT, SIGTERM and SIGHUP, and some more.
 * @more: 0 terminated.
 * Return: 0 or EXIT_FAILED, the message was printed; call signals_release() in both cases.
 */
int signals_catch(const struct app *app, struct signals *signals, const int *more);

/* The next pending signal. Return: false if there is none. */
bool signals_next(const struct signals *signals, struct signalfd_siginfo *info);

/* Restore the mask. Pending signals are dropped, because the work that they would end is done. */
void signals_release(struct signals *signals);
