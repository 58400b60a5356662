/* SPDX-License-Identifier: MIT */
/*
 * What is needed of NVIDIA's driver (libcuda.so.1) and of its library CUPTI (libcupti.so.12 or
 * .13), declared here: names of functions are NVIDIA's, the rest is ours. Both are opened at run
 * time.
 * tests/cupti-headers.py compares this with NVIDIA's headers where they are installed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* --- the driver; a result is 0 or an error ------------------------------------------------ */

enum { CUDA_NO_DEVICE = 100, CUDA_NO_BINARY = 209 };
enum { CUDA_CC_MAJOR = 75, CUDA_CC_MINOR = 76 };

struct cuda_uuid {
	uint8_t bytes[16];
};

#define CUDA_FUNCTIONS(X)                                                                       \
	X(cuInit, (unsigned int))                                                               \
	X(cuDriverGetVersion, (int *))                                                          \
	X(cuDeviceGetCount, (int *))                                                            \
	X(cuDeviceGet, (int *, int))                                                            \
	X(cuDeviceGetName, (char *, int, int))                                                  \
	X(cuDeviceGetAttribute, (int *, int, int))                                              \
	X(cuDeviceGetPCIBusId, (char *, int, int))                                              \
	X(cuDeviceGetUuid_v2, (struct cuda_uuid *, int))                                        \
	X(cuDevicePrimaryCtxRetain, (void **, int))                                             \
	X(cuDevicePrimaryCtxRelease_v2, (int))                                                  \
	X(cuCtxSetCurrent, (void *))                                                            \
	X(cuCtxSynchronize, (void))                                                             \
	X(cuModuleLoadData, (void **, const void *))                                            \
	X(cuModuleGetFunction, (void **, void *, const char *))                                 \
	X(cuMemAlloc_v2, (uint64_t *, size_t))                                                  \
	X(cuMemFree_v2, (uint64_t))                                                             \
	X(cuMemsetD32_v2, (uint64_t, unsigned int, size_t))                                     \
	X(cuLaunchKernel, (void *, unsigned int, unsigned int, unsigned int, unsigned int,      \
			   unsigned int, unsigned int, unsigned int, void *, void **, void **)) \
	X(cuGetErrorName, (int, const char **))

/* --- CUPTI -------------------------------------------------------------------------------- */

enum cupti_result {
	CUPTI_INVALID_PARAMETER = 1,
	CUPTI_INVALID_OPERATION = 7,
	CUPTI_OVERFLOW = 8,
	CUPTI_UNKNOWN_METRIC = 17,
	CUPTI_BUSY = 26,
	CUPTI_NOT_SUPPORTED = 27,
	CUPTI_NO_PRIVILEGE = 35,
	CUPTI_NO_PRIVILEGE_VGPU = 40,
	CUPTI_CONFIDENTIAL = 41,
	CUPTI_MINING_CARD = 42,
	CUPTI_MIG = 43,
	CUPTI_SLI = 44,
	CUPTI_WSL = 45,
	CUPTI_CHIP_NAME = 46,
	CUPTI_UNKNOWN = 999,
};

enum { CUPTI_KIND_RANGE = 0, CUPTI_API_RANGE = 0 };
enum { CUPTI_USER_RANGE = 2, CUPTI_USER_REPLAY = 3 };
enum { CUPTI_SUPPORT_DISABLED = 2, CUPTI_SUPPORTED = 3 };

/*
 * The argument of a function begins with its size and a pointer that is NULL. CUPTI accepts one
 * size only, that up to the end of the last member, without padding behind it.
 */
#define CUPTI_HEAD   \
	size_t size; \
	void *reserved

/* struct cupti_NAME with its size up to @last; designators of members follow */
#define CUPTI_ARGUMENT(name, last, ...)                           \
	(struct cupti_##name)                                     \
	{                                                         \
		.size = offsetof(struct cupti_##name, last) +     \
			sizeof(((struct cupti_##name *)0)->last), \
		__VA_ARGS__                                       \
	}

struct cupti_initialize {
	CUPTI_HEAD;
};

struct cupti_supported {
	CUPTI_HEAD;
	int32_t device;
	int32_t supported, architecture, sli, vgpu, confidential, cmp, wsl; /* set */
	int32_t api;
};

struct cupti_chip {
	CUPTI_HEAD;
	size_t device;
	const char *name; /* set */
};

struct cupti_availability {
	CUPTI_HEAD;
	void *context;
	size_t bytes; /* set if @image is NULL */
	uint8_t *image;
};

struct cupti_host_open {
	CUPTI_HEAD;
	int32_t kind;
	const char *chip;
	const uint8_t *availability;
	void *host; /* set */
};

struct cupti_host_close {
	CUPTI_HEAD;
	void *host;
};

struct cupti_add {
	CUPTI_HEAD;
	void *host;
	const char **names;
	size_t count;
};

struct cupti_image_size {
	CUPTI_HEAD;
	void *host;
	size_t bytes; /* set */
};

struct cupti_image {
	CUPTI_HEAD;
	void *host;
	size_t bytes;
	uint8_t *image;
};

struct cupti_passes {
	CUPTI_HEAD;
	size_t bytes;
	uint8_t *image;
	size_t passes; /* set */
};

struct cupti_evaluate {
	CUPTI_HEAD;
	void *host;
	const uint8_t *data;
	size_t data_bytes;
	size_t range;
	const char **names;
	size_t count;
	double *values; /* set */
};

struct cupti_range_enable {
	CUPTI_HEAD;
	void *context;
	void *profiler; /* set */
};

/* disable, start, pop */
struct cupti_range {
	CUPTI_HEAD;
	void *profiler;
};

struct cupti_range_config {
	CUPTI_HEAD;
	void *profiler;
	size_t config_bytes;
	const uint8_t *config;
	size_t data_bytes;
	uint8_t *data;
	int32_t range, replay;
	size_t ranges_per_pass;
	uint16_t levels, first_level;
	size_t pass;
	uint16_t target_level;
};

struct cupti_range_stop {
	CUPTI_HEAD;
	void *profiler;
	size_t pass, target_level; /* set */
	uint8_t all_submitted; /* set */
};

struct cupti_range_push {
	CUPTI_HEAD;
	void *profiler;
	const char *name;
};

struct cupti_range_decode {
	CUPTI_HEAD;
	void *profiler;
	size_t dropped; /* set */
};

struct cupti_range_data_size {
	CUPTI_HEAD;
	void *profiler;
	const char **names;
	size_t count;
	size_t ranges;
	uint32_t nodes;
	size_t bytes; /* set */
};

struct cupti_data_init {
	CUPTI_HEAD;
	void *profiler;
	size_t bytes;
	uint8_t *data;
};

struct cupti_range_data_info {
	CUPTI_HEAD;
	const uint8_t *data;
	size_t bytes;
	size_t ranges; /* set */
};

#define CUPTI_FUNCTIONS(X)                                                          \
	X(cuptiGetVersion, (uint32_t *))                                            \
	X(cuptiGetResultString, (int, const char **))                               \
	X(cuptiProfilerInitialize, (struct cupti_initialize *))                     \
	X(cuptiDeviceGetChipName, (struct cupti_chip *))                            \
	X(cuptiProfilerDeviceSupported, (struct cupti_supported *))                 \
	X(cuptiProfilerGetCounterAvailability, (struct cupti_availability *))       \
	X(cuptiProfilerHostInitialize, (struct cupti_host_open *))                  \
	X(cuptiProfilerHostDeinitialize, (struct cupti_host_close *))               \
	X(cuptiProfilerHostConfigAddMetrics, (struct cupti_add *))                  \
	X(cuptiProfilerHostGetConfigImageSize, (struct cupti_image_size *))         \
	X(cuptiProfilerHostGetConfigImage, (struct cupti_image *))                  \
	X(cuptiProfilerHostGetNumOfPasses, (struct cupti_passes *))                 \
	X(cuptiProfilerHostEvaluateToGpuValues, (struct cupti_evaluate *))          \
	X(cuptiRangeProfilerEnable, (struct cupti_range_enable *))                  \
	X(cuptiRangeProfilerDisable, (struct cupti_range *))                        \
	X(cuptiRangeProfilerGetCounterDataSize, (struct cupti_range_data_size *))   \
	X(cuptiRangeProfilerCounterDataImageInitialize, (struct cupti_data_init *)) \
	X(cuptiRangeProfilerSetConfig, (struct cupti_range_config *))               \
	X(cuptiRangeProfilerStart, (struct cupti_range *))                          \
	X(cuptiRangeProfilerPushRange, (struct cupti_range_push *))                 \
	X(cuptiRangeProfilerPopRange, (struct cupti_range *))                       \
	X(cuptiRangeProfilerStop, (struct cupti_range_stop *))                      \
	X(cuptiRangeProfilerDecodeData, (struct cupti_range_decode *))              \
	X(cuptiRangeProfilerGetCounterDataInfo, (struct cupti_range_data_info *))
