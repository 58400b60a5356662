/* SPDX-License-Identifier: MIT */
/*
 * The kernel side of the benchmark: produce.c is built against the stand-in for the linux/ headers,
 * all other files as an ordinary program.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define COUNTERS 64
/*
 * A second of a 1 kHz session. Sessions share the slots, so that all cases touch the same amount of
 * memory and profit equally from the caches.
 */
#define SLOTS 1024

/*
 * creates sessions of one block each, on the same totals, SLOTS / @count slots; 0 if out of memory
 */
int sessions_create(unsigned int count);
void sessions_destroy(void);
/* all totals grow, as if the hardware had counted */
void hardware_counts(void);
/* publish one sample in each session; readers take it at once */
void sessions_publish(void);
size_t sample_bytes(void);
size_t slot_stride(void);
/* ring of session 0 */
unsigned char *ring_memory(void);
uint32_t *ring_insert_idx(void);
uint32_t *ring_extract_idx(void);
