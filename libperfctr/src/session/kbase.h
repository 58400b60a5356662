/* SPDX-License-Identifier: MIT */
/*
 * kbase, the driver of Mali GPUs in vendors' kernels, behind /dev/mali0: our declarations of its
 * interface for counters, kinstr_prfcnt, and what a file says of its GPU.
 */
#pragma once

#include <linux/ioctl.h>

#include "base/ctx.h"

#define KBASE_DRIVER "kbase"

/* items of lists; structures as of version 0 of each */
enum {
	KBASE_ENUM_BLOCK = 0,
	KBASE_REQUEST_MODE = 0x1000,
	KBASE_REQUEST_ENABLE = 0x1001,
	KBASE_REQUEST_SCOPE = 0x1002,
	KBASE_META_SAMPLE = 0x2000,
	KBASE_META_CLOCK = 0x2001,
	KBASE_META_BLOCK = 0x2002,
};

struct kbase_item {
	uint16_t type, version;
	uint8_t pad[4];
};

struct kbase_enum_item {
	struct kbase_item head;
	union {
		struct {
			uint8_t type, set, pad[2];
			uint16_t instances, values;
			uint64_t mask[2];
		} block;
	} u;
};

struct kbase_request_item {
	struct kbase_item head;
	union {
		struct {
			uint8_t mode, pad[7]; /* 0: samples by command */
			uint64_t period_ns;
		} mode;
		struct {
			uint8_t type, set, pad[6];
			uint64_t mask[2];
		} enable;
		uint8_t scope;
	} u;
};

struct kbase_metadata_item {
	struct kbase_item head;
	union {
		struct {
			uint64_t start_ns, end_ns, seq, user_data;
			uint32_t flags, pad;
		} sample;
		struct {
			uint32_t count, pad;
			uint64_t cycles[4];
		} clock;
		struct {
			uint8_t type, index, set, pad;
			uint32_t states, values_offset, pad2;
		} block;
	} u;
};

/* of a sample */
enum {
	KBASE_SAMPLE_STRETCHED = 1 << 0,
	KBASE_SAMPLE_ERROR = 1 << 30,
};

enum kbase_command {
	KBASE_START = 1,
	KBASE_STOP = 2,
	KBASE_SAMPLE_SYNC = 3,
};

struct kbase_version {
	uint16_t major, minor;
};

struct kbase_enum_info {
	uint32_t item_size, item_count;
	uint64_t list;
};

struct kbase_setup {
	uint32_t item_count, item_size;
	uint64_t requests;
	/* out, where the call's argument begins */
};

struct kbase_setup_result {
	uint32_t metadata_item_size, mmap_bytes;
};

union kbase_setup_args {
	struct kbase_setup in;
	struct kbase_setup_result out;
};

struct kbase_command_args {
	uint16_t command, pad[3];
	uint64_t user_data;
};

struct kbase_sample_access {
	uint64_t sequence, offset;
};

struct kbase_get_gpuprops {
	uint64_t buffer;
	uint32_t size, flags;
};

#define KBASE_VERSION_CHECK_CSF _IOWR(0x80, 52, struct kbase_version)
#define KBASE_VERSION_CHECK_JM _IOWR(0x80, 0, struct kbase_version)
#define KBASE_SET_FLAGS _IOW(0x80, 1, uint32_t)
#define KBASE_GET_GPUPROPS _IOW(0x80, 3, struct kbase_get_gpuprops)
#define KBASE_ENUM_INFO _IOWR(0x80, 56, struct kbase_enum_info)
#define KBASE_SETUP _IOWR(0x80, 57, union kbase_setup_args)
/* on the file that KBASE_SETUP gives */
#define KBASE_COMMAND _IOW(0xbf, 0, struct kbase_command_args)
#define KBASE_GET_SAMPLE _IOR(0xbf, 1, struct kbase_sample_access)
#define KBASE_PUT_SAMPLE _IOW(0xbf, 16, struct kbase_sample_access)

/* what a file of kbase says */
struct kbase_gpu {
	bool csf; /* with command streams, else with a job manager */
	struct kbase_version version;
	uint64_t gpu_id, shader_present;
	uint32_t l2_features;
};

/* Whether a path is a node of kbase: /dev/mali0. */
bool kbase_is_node(const char *path);
/* Which interface and GPU it is; does not wake the GPU. Return: 0; a negative errno. */
int kbase_identify(struct perfctr_ctx *ctx, int fd, struct kbase_gpu *gpu);
