/* SPDX-License-Identifier: MIT */
/*
 * The protocol of "perfctr serve": counters for processes that may not count themselves.
 *
 * perfctr_device_open_broker() speaks it; this header is for those who write
 * another client or another broker.
 *
 * A client connects to a Unix socket of type SOCK_SEQPACKET. Each packet is one
 * message: a struct perfctr_broker_header and its content, at most
 * PERFCTR_BROKER_MAX_BYTES. The client sends a request and waits for its reply,
 * which has the same type. The structures inside are those of perfctr_drm.h
 * and grow by its rules; numbers have the byte order of the machine.
 *
 *	request   content                                reply: content, files
 *	OPEN      name as perfctr_device_open() takes,   struct perfctr_broker_opened
 *	          NUL terminated, empty for the first
 *	QUERY     none; code, first, count, stride say   count elements of stride bytes;
 *	          which elements and how much room       first is how many there are
 *	CONTROL   the structure of the command in code;  the structure as the kernel filled
 *	          SETUP: then count requests of stride   it; SETUP that is no test: ring_fd,
 *	          bytes each                             eventfd
 *
 * OPEN comes first and once. A session is named by the handle of the reply to
 * SETUP and lives until TEARDOWN or the end of the connection, whichever side
 * ends it. A broker that refuses sends error, a negative errno, and the reason
 * as text; so it does, with type 0, when it ends the connection on its own.
 *
 * In SETUP the address of the requests must be zero and eventfd -1. The client
 * maps ring_fd as the kernel's header describes, and reads samples there without
 * asking the broker. Slots can only be read, by the ring file's own rules.
 */
#ifndef PERFCTR_BROKER_H
#define PERFCTR_BROKER_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** PERFCTR_BROKER_SOCKET - where a broker of the system listens. */
#define PERFCTR_BROKER_SOCKET "/run/perfctr/serve"

/** PERFCTR_BROKER_VERSION - of the protocol. */
#define PERFCTR_BROKER_VERSION 2

/** PERFCTR_BROKER_MAX_BYTES - largest message. */
#define PERFCTR_BROKER_MAX_BYTES 131072

/** PERFCTR_BROKER_FILES - file descriptors with the reply to SETUP. */
#define PERFCTR_BROKER_FILES 2

/**
 * enum perfctr_broker_type - what a message is about
 */
enum perfctr_broker_type {
	/** @PERFCTR_BROKER_END: the broker ends the connection; no request. */
	PERFCTR_BROKER_END = 0,
	/** @PERFCTR_BROKER_OPEN: choose a device. */
	PERFCTR_BROKER_OPEN = 1,
	/** @PERFCTR_BROKER_QUERY: as DRM_IOCTL_PERFCTR_QUERY. */
	PERFCTR_BROKER_QUERY = 2,
	/** @PERFCTR_BROKER_CONTROL: as DRM_IOCTL_PERFCTR_CONTROL. */
	PERFCTR_BROKER_CONTROL = 3,
};

/**
 * struct perfctr_broker_header - first bytes of every message
 */
struct perfctr_broker_header {
	/** @size: bytes of the message, this header included. */
	uint32_t size;
	/** @version: PERFCTR_BROKER_VERSION. */
	uint16_t version;
	/** @type: enum perfctr_broker_type. */
	uint16_t type;
	/** @error: reply: 0 or a negative errno; request: 0. */
	int32_t error;
	/** @code: QUERY: its type; CONTROL: enum drm_perfctr_cmd. */
	uint32_t code;
	/** @handle: CONTROL: the session. */
	uint32_t handle;
	/** @first: QUERY: first element wanted; reply: elements that there are. */
	uint32_t first;
	/** @count: elements in the message; QUERY: most that are wanted. */
	uint32_t count;
	/** @stride: bytes of each of them. */
	uint32_t stride;
};

/**
 * struct perfctr_broker_opened - reply to OPEN
 */
struct perfctr_broker_opened {
	/** @path: of the device's node, NUL terminated. */
	char path[256];
	/** @driver: name of its kernel driver, NUL terminated. */
	char driver[32];
};

#if defined(__cplusplus)
}
#endif

#endif /* PERFCTR_BROKER_H */
