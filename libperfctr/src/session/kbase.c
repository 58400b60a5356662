// SPDX-License-Identifier: MIT
/*
 * What a file of kbase says of its GPU. A file accepts other calls only after its version was asked
 * for, and its flags were set, which a file allows once.
 */
#include "kbase.h"

#include <ctype.h>
#include <stdlib.h>

#define NODE "/dev/mali"

enum {
	/* only monitoring: the file submits no jobs */
	SYSTEM_MONITOR = 2,
	/* a property's key: its number and, in the last bits, log2 of its bytes */
	KEY_SIZE_BITS = 2,
	RAW_SHADER_PRESENT = 25,
	RAW_L2_FEATURES = 29,
	RAW_GPU_ID = 55,
	MOST_BYTES = 65536, /* of all properties */
};

bool kbase_is_node(const char *path)
{
	return !strncmp(path, NODE, strlen(NODE)) && isdigit((unsigned char)path[strlen(NODE)]) &&
	       !path[strlen(NODE) + 1];
}

static int ask_version(struct perfctr_ctx *ctx, int fd, struct kbase_gpu *gpu)
{
	const struct perfctr_sys *sys = ctx->sys;
	int error = sys->ioctl(sys->data, fd, KBASE_VERSION_CHECK_CSF, &gpu->version);

	gpu->csf = !error && gpu->version.major;
	if (gpu->csf)
		return 0;
	gpu->version = (struct kbase_version){ 0 };
	return sys->ioctl(sys->data, fd, KBASE_VERSION_CHECK_JM, &gpu->version);
}

static void take_property(struct kbase_gpu *gpu, unsigned int key, uint64_t value)
{
	switch (key) {
	case RAW_SHADER_PRESENT:
		gpu->shader_present = value;
		break;
	case RAW_L2_FEATURES:
		gpu->l2_features = (uint32_t)value;
		break;
	case RAW_GPU_ID:
		gpu->gpu_id = value;
		break;
	}
}

/* little-endian, as the GPU is */
static void take_properties(struct kbase_gpu *gpu, const unsigned char *at, size_t size)
{
	const unsigned char *end = at + size;

	while (end - at >= 4) {
		uint32_t key = at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
		size_t bytes = (size_t)1 << (key & ((1u << KEY_SIZE_BITS) - 1));
		uint64_t value = 0;

		at += 4;
		if ((size_t)(end - at) < bytes)
			return;
		for (size_t i = 0; i < bytes; i++)
			value |= (uint64_t)at[i] << 8 * i;
		take_property(gpu, key >> KEY_SIZE_BITS, value);
		at += bytes;
	}
}

static int read_properties(struct perfctr_ctx *ctx, int fd, struct kbase_gpu *gpu)
{
	struct kbase_get_gpuprops get = { 0 };
	int size = ctx->sys->ioctl(ctx->sys->data, fd, KBASE_GET_GPUPROPS, &get);
	unsigned char *bytes;

	if (size <= 0 || size > MOST_BYTES)
		return size < 0 ? size : -EPROTO;
	bytes = malloc((size_t)size);
	if (!bytes)
		return -ENOMEM;
	get.buffer = (uintptr_t)bytes;
	get.size = (uint32_t)size;
	size = ctx->sys->ioctl(ctx->sys->data, fd, KBASE_GET_GPUPROPS, &get);
	if (size > 0 && (uint32_t)size <= get.size)
		take_properties(gpu, bytes, (size_t)size);
	free(bytes);
	return size < 0 ? size : gpu->gpu_id ? 0 : -EPROTO;
}

int kbase_identify(struct perfctr_ctx *ctx, int fd, struct kbase_gpu *gpu)
{
	uint32_t flags = SYSTEM_MONITOR;
	int error;

	*gpu = (struct kbase_gpu){ .csf = false };
	error = ask_version(ctx, fd, gpu);
	if (error)
		return error;
	error = ctx->sys->ioctl(ctx->sys->data, fd, KBASE_SET_FLAGS, &flags);
	/* they were set before */
	if (error && error != -EPERM && error != -EINVAL)
		return error;
	return read_properties(ctx, fd, gpu);
}
