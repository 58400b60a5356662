/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers from the bytes of libFuzzer; zeroes after the end.
 */
#ifndef NATIVE_FUZZ_INPUT_H
#define NATIVE_FUZZ_INPUT_H

#include "kernel.h"

struct input {
	const u8 *at, *end;
};

static inline u64 input_bytes(struct input *in, unsigned int n)
{
	u64 value = 0;

	if (n > in->end - in->at)
		n = in->end - in->at;
	memcpy(&value, in->at, n);
	in->at += n;
	return value;
}

static inline u8 input_u8(struct input *in)
{
	return input_bytes(in, 1);
}

static inline u64 input_u64(struct input *in)
{
	return input_bytes(in, 8);
}

static inline unsigned int input_below(struct input *in, unsigned int n)
{
	return input_bytes(in, n > 256 ? 4 : 1) % n;
}

static inline bool input_left(const struct input *in)
{
	return in->at < in->end;
}

/* aborts if false; libFuzzer then keeps the input */
#define require(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

/* entry point of libFuzzer */
int fuzz_one_input(const u8 *data, size_t size) __asm__("LLVMFuzzerTestOneInput");

#endif /* NATIVE_FUZZ_INPUT_H */
