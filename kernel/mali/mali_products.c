// SPDX-License-Identifier: GPL-2.0
/*
 * Table of products.
 */
#include <linux/array_size.h>
#include <linux/string.h>

#include "mali_products.h"

const unsigned long mali_core_hz[3] = { 300000000, 500000000, 1000000000 };

static const struct mali_product products[] = {
	{ "g310", 0xac740000, 64, 0x1, true },
	/* as in the RK3588: four cores */
	{ "g610", 0xa8670005, 64, 0x50005, true },
	{ "g610-incoherent", 0xa8670005, 64, 0x50005, false },
	{ "g710", 0xa8620000, 64, 0x50777, true },
	{ "g615", 0xb8030000, 128, 0x10015, true },
	{ "g720", 0xc8700000, 128, 0x30077, true },
	{ "g725", 0xd8300000, 128, 0x70077, true },
};

/* returns NULL if there is no product of this name */
const struct mali_product *mali_product_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(products); i++)
		if (!strcmp(products[i].name, name))
			return &products[i];
	return NULL;
}
