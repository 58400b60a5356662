/* SPDX-License-Identifier: MIT */
/*
 * What perfctr-validate and cuda-counter say to each other, over a socket that keeps messages apart
 * (SOCK_SEQPACKET). All is text; words are separated by a blank, and lines by a line feed.
 *
 * "open ORDINAL CHIP"    a GPU; "-": any. Answer: "ok" and lines NAME=VALUE
 * "driver ORDINAL"       a GPU to launch kernels on, without CUPTI, for another profiler; "-": the
 *                        first one. Answer: as to "open"
 * "module BYTES"         then its bytes, in messages of up to CUDA_CHUNK. Answer: "ok"
 * "events" and lines NAME
 *                        a group, counted together. Answer: "ok PASSES", and for each name a line,
 *                        "+" or the reason why it cannot be counted
 * "measure GROUP MODULE KERNEL GRID*3 BLOCK*3 ARGUMENT..."
 *                        ARGUMENT: "NUMBER", or "bBYTES:WORD" for a buffer that is filled before
 *                        each launch. Answer: "ok LAUNCHES", and a line with the value of each name
 *                        that had "+"
 * "launch MODULE KERNEL GRID*3 BLOCK*3 ARGUMENT..."
 *                        as "measure", once and without counting. Answer: "ok"
 *
 * Before each step the helper says "at STEP", so that its death has a place and slow work is seen
 * to go on. "error KIND TEXT" is the answer to a request that failed: "absent" there is no such
 * GPU, "other" there are GPUs of other chips only, "denied" it is not permitted, "failed" anything
 * else. The helper ends with the socket.
 */
#pragma once

enum {
	CUDA_SOCKET = 3, /* the helper's descriptor */
	CUDA_MESSAGE = 1 << 16, /* bytes of the longest message */
	CUDA_CHUNK = 1 << 15,
	CUDA_MAX_EVENTS = 256,
	CUDA_MAX_NAME = 128,
	CUDA_MAX_STEPS = 32, /* of a request, besides one for each pass */
	CUDA_MAX_PASSES = 1000,
};
