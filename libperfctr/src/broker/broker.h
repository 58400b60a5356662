/* SPDX-License-Identifier: MIT */
/* The connection to a broker that has the device and lets us ask. */
#ifndef PERFCTR_BROKER_PRIVATE_H
#define PERFCTR_BROKER_PRIVATE_H

#include "private.h"

/* what comes with the reply to SETUP, in this order */
enum broker_file { BROKER_RING, BROKER_EVENTFD, BROKER_FILES };

/*
 * DRM_IOCTL_PERFCTR_QUERY or DRM_IOCTL_PERFCTR_CONTROL of the broker's device, as the kernel
 * does it; SETUP fills in the eventfd too, and the caller owns it as it owns ring_fd.
 * A failure that is not the kernel's own has its reason in the context.
 */
int broker_ioctl(struct broker *broker, unsigned long request, void *argument);

/* Whether the last failed broker_ioctl() left the broker's reason in the context. */
bool broker_said_why(const struct broker *broker);

void broker_free(struct broker *broker);

#endif /* PERFCTR_BROKER_PRIVATE_H */
