/* SPDX-License-Identifier: MIT */
/*
 * Replacements for the kernel headers of the core's pure files. core.c builds them, so local
 * sessions write the same bytes as the kernel.
 */
#pragma once

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

typedef struct {
	int counter;
} atomic_t;

struct xarray {
	void *head;
};

#define S32_MAX INT32_MAX
#define S32_MIN INT32_MIN
#define U64_MAX UINT64_MAX

#define BIT_ULL(n) (UINT64_C(1) << (n))
#define GENMASK(high, low) ((~0ul << (low)) & (~0ul >> (sizeof(long) * 8 - 1 - (high))))
#define __ffs64(x) ((unsigned int)__builtin_ctzll(x))
#define hweight64(x) ((unsigned int)__builtin_popcountll(x))
#define cpu_to_le64(x) ((__le64)htole64(x))

#define noinline __attribute__((noinline))
#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
/* of rings with wide indices, which the library has none of */
#define mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define wmb() mb()

#define PICK(a, b, less, x, y)         \
	({                             \
		__typeof__(a) x = (a); \
		__typeof__(b) y = (b); \
		x less y ? x : y;      \
	})
#define min(a, b) PICK(a, b, <, _low_a, _low_b)
#define max(a, b) PICK(a, b, >, _high_a, _high_b)
#define clamp_t(type, value, low, high) min(max((type)(value), (type)(low)), (type)(high))
