/* SPDX-License-Identifier: MIT */
/*
 * The protocol of "perfctr serve": counters for processes without permission to count.
 *
 * perfctr_device_open_broker() implements the client; this header is for authors of
 * another client or broker.
 *
 * A client connects to a Unix socket of type SOCK_SEQPACKET. Each packet is one
 * message: a struct perfctr_broker_header and its content, at most
 * PERFCTR_BROKER_MAX_BYTES. The client sends a request and waits for its reply,
 * which has the same type. The content uses the structures of perfctr_drm.h and
 * their rules of extension; numbers have the byte order of the machine.
 *
 *	request   content                                reply: content, files
 *	OPEN      name as perfctr_device_open() takes,   struct perfctr_broker_opened
 *	          NUL terminated, empty for the first
 *	QUERY     none; code, first, count, stride       count elements of stride bytes;
 *	          select the elements                    first is the total number
 *	SESSION   struct drm_perfctr_open, then count    struct drm_perfctr_layout; without
 *	          requests of stride bytes               CHECK: reader, eventfd
 *	START     struct drm_perfctr_command             none
 *	SAMPLE    struct drm_perfctr_command             none
 *	STOP      struct drm_perfctr_command             none
 *	STATUS    none                                   struct drm_perfctr_status
 *	CLOSE     none                                   none
 *
 * The first request is OPEN; it is sent once. The reply to SESSION has the handle of
 * the session for the requests after it. The session exists until CLOSE or until either
 * side ends the connection; it is then stopped, with a final sample. Its ring becomes
 * dead only after the client's last mapping and reader are gone, because the broker
 * counts its memory until then. A broker that refuses a request sends error, a negative
 * errno, and the reason as text. It sends the same with type 0 before it ends the
 * connection by itself.
 *
 * In SESSION the addresses of requests and layout must be zero and eventfd -1. The
 * client maps the reader as the kernel's header describes, and reads samples there
 * without the broker. The reader allows only reads of the slots.
 */
#ifndef PERFCTR_BROKER_H
#define PERFCTR_BROKER_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** PERFCTR_BROKER_SOCKET - socket of the system's broker. */
#define PERFCTR_BROKER_SOCKET "/run/perfctr/serve"

/** PERFCTR_BROKER_VERSION - version of the protocol. */
#define PERFCTR_BROKER_VERSION 3

/** PERFCTR_BROKER_MAX_BYTES - largest message. */
#define PERFCTR_BROKER_MAX_BYTES 131072

/** PERFCTR_BROKER_FILES - file descriptors with the reply to SESSION. */
#define PERFCTR_BROKER_FILES 2

/** enum perfctr_broker_type - type of a message */
enum perfctr_broker_type {
	PERFCTR_BROKER_END = 0, /* the broker ends the connection; no request */
	PERFCTR_BROKER_OPEN = 1, /* choose a device */
	PERFCTR_BROKER_QUERY = 2, /* as DRM_PERFCTR_IOCTL_QUERY */
	PERFCTR_BROKER_SESSION = 3, /* as DRM_PERFCTR_IOCTL_OPEN; then the session's ioctls */
	PERFCTR_BROKER_START = 4,
	PERFCTR_BROKER_SAMPLE = 5,
	PERFCTR_BROKER_STOP = 6,
	PERFCTR_BROKER_STATUS = 7,
	PERFCTR_BROKER_CLOSE = 8,
};

/** struct perfctr_broker_header - first bytes of every message */
struct perfctr_broker_header {
	uint32_t size; /* bytes of the message, this header included */
	uint16_t version; /* PERFCTR_BROKER_VERSION */
	uint16_t type; /* enum perfctr_broker_type */
	int32_t error; /* reply: 0 or a negative errno; request: 0 */
	uint32_t code; /* QUERY: its type */
	uint32_t handle; /* the session; from the reply to SESSION on */
	uint32_t first; /* QUERY: first requested element; reply: total number of elements */
	uint32_t count; /* elements in the message; QUERY: largest number wanted */
	uint32_t stride; /* bytes per element */
};

/** struct perfctr_broker_opened - reply to OPEN */
struct perfctr_broker_opened {
	char path[256]; /* path of the device's node, NUL terminated */
	char driver[32]; /* name of its kernel driver, NUL terminated */
};

#if defined(__cplusplus)
}
#endif

#endif /* PERFCTR_BROKER_H */
