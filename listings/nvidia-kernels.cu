// SPDX-License-Identifier: MIT
// Work of which the number of instructions is known from its SASS.
#include <stdint.h>

// copy of a matrix of 1024 x 1024, one thread for each element (paper, figure 2)
extern "C" __global__ void matrix_copy(float *to, const float *from)
{
	const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	const int y = (int)(blockIdx.y * blockDim.y + threadIdx.y);

	to[y * 1024 + x] = from[y * 1024 + x];
}

// a loop of n rounds: single precision, conversion, selection (paper, figure 3)
extern "C" __global__ void float_loop(float *to, const float *a, const float *b, int n)
{
	const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	float sum = 0.5f, step = a[i] * 0.25f;

#pragma unroll 1
	for (int k = 0; k < n; k++) {
		const float f = (float)(k & 7);

		sum = sum + step;
		step = f < sum ? step * 0.5f : step + f;
	}
	to[i] = sum + b[i];
}

// shared memory and barriers, n rounds
extern "C" __global__ void shared_loop(float *to, const float *from, int n)
{
	__shared__ float tile[256];
	const int t = (int)threadIdx.x, i = (int)blockIdx.x * 256 + t;
	float value = from[i];

#pragma unroll 1
	for (int k = 0; k < n; k++) {
		tile[t] = value;
		__syncthreads();
		value += tile[t ^ 1];
		__syncthreads();
	}
	to[i] = value;
}

// eight rounds, in n of which the predicate of four instructions is true
extern "C" __global__ void predicated(uint32_t *to, int n)
{
	const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	uint32_t value = (uint32_t)i;

#pragma unroll 1
	for (int k = 0; k < 8; k++)
		asm volatile("{ .reg .pred p;\n"
			     "  setp.lt.s32 p, %1, %2;\n"
			     "  @p mad.lo.u32 %0, %0, %0, 3;\n"
			     "  @p xor.b32 %0, %0, 0x5555;\n"
			     "  @p mad.lo.u32 %0, %0, %0, 5;\n"
			     "  @p popc.b32 %0, %0; }"
			     : "+r"(value) : "r"(k), "r"(n));
	to[i] = value;
}

// lanes below n load from memory, the others from shared memory; the warps diverge for 0 < n < 32
extern "C" __global__ void divergent(uint32_t *to, const uint32_t *from, int n)
{
	__shared__ uint32_t tile[256];
	const int t = (int)threadIdx.x, i = (int)blockIdx.x * 256 + t;
	uint32_t value = (uint32_t)t;

	tile[t] = (uint32_t)i;
	__syncthreads();
	if ((t & 31) < n) {
#pragma unroll 1
		for (int k = 0; k < 4; k++)
			value += ((const volatile uint32_t *)from)[(value + (uint32_t)i) & 0xfffff];
	} else {
#pragma unroll 1
		for (int k = 0; k < 8; k++)
			value += ((volatile uint32_t *)tile)[(value + (uint32_t)t) & 255];
	}
	to[i] = value;
}

// eight rounds, in n of which the predicate of loads and stores is true; then two stores
extern "C" __global__ void guarded_memory(uint32_t *to, const uint32_t *from, int n)
{
	__shared__ uint32_t tile[256];
	const int t = (int)threadIdx.x, i = (int)blockIdx.x * 256 + t;
	const uint32_t shared = (uint32_t)__cvta_generic_to_shared(&tile[t]);
	uint32_t value = (uint32_t)i;

#pragma unroll 1
	for (int k = 0; k < 8; k++)
		asm volatile("{ .reg .pred p;\n"
			     "  setp.lt.s32 p, %4, %5;\n"
			     "  @p ld.volatile.global.u32 %0, [%1];\n"
			     "  @p st.volatile.shared.u32 [%3], %0;\n"
			     "  @p ld.volatile.shared.u32 %0, [%3];\n"
			     "  @p st.volatile.global.u32 [%2], %0; }"
			     : "+r"(value)
			     : "l"(from + i), "l"(to + i), "r"(shared), "r"(k), "r"(n)
			     : "memory");
	((volatile uint32_t *)to)[i] = value;
	((volatile uint32_t *)to)[i] = value + 1;
}

// n rounds with an instruction that nvidia-nop.py replaces by a NOP
extern "C" __global__ void executed_nop(uint32_t *to, int n)
{
	const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

#pragma unroll 1
	for (int k = 0; k < n; k++)
		asm volatile("pmevent 3;");
	to[i] = (uint32_t)n;
}

// 16 bytes a thread
extern "C" __global__ void wide_copy(uint4 *to, const uint4 *from)
{
	const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	to[i] = from[i];
}

// the GPU's time in ns, at the beginning and the end of each block, around n rounds of work
extern "C" __global__ void timed(uint64_t *times, float *to, int n)
{
	const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	float sum = 1.0f + (float)i;
	uint64_t begin, end;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
#pragma unroll 1
	for (int k = 0; k < n; k++)
		sum = sum * 0.999f + 0.5f;
	to[i] = sum;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
	if (threadIdx.x == 0) {
		times[2 * blockIdx.x] = begin;
		times[2 * blockIdx.x + 1] = end;
	}
}
