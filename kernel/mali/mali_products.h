/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Products as data: their differences, and what all of them share.
 */
#ifndef _MALI_PRODUCTS_H_
#define _MALI_PRODUCTS_H_

#include <linux/types.h>

#define MALI_L2_SLICES		4
#define MALI_GROUPS		8
#define MALI_STREAMS		8
#define MALI_REGISTERS		96
#define MALI_SCOREBOARDS	8
#define MALI_TIMESTAMP_HZ	24000000

/* supported frequencies, ascending */
extern const unsigned long mali_core_hz[3];

/* a GPU */
struct mali_product {
	const char *name;	/* value of the module parameter */
	u32 gpu_id;	/* architecture, product and version */
	u32 counters_per_block;	/* words of a block, header included */
	u64 shader_present;	/* mask of cores; their numbers have gaps */
	bool coherent;	/* host caches are snooped; otherwise its mappings are write-combined */
};

const struct mali_product *mali_product_find(const char *name);

#endif /* _MALI_PRODUCTS_H_ */
