/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which virtual SoCs there are, and of what shape.
 */
#ifndef _VSOC_DEVICES_H_
#define _VSOC_DEVICES_H_

#include <linux/types.h>

struct attribute_group;
struct platform_device;
struct vsoc_instance;

/**
 * enum vsoc_product - which counters the GPU has
 */
enum vsoc_product {
	/** @VSOC_PRODUCT_CSF: those of a Mali GPU, from its firmware. */
	VSOC_PRODUCT_CSF,
	/** @VSOC_PRODUCT_NV50: PCOUNTER and MP counters. */
	VSOC_PRODUCT_NV50,
	/** @VSOC_PRODUCTS: number of products. */
	VSOC_PRODUCTS,
};

/**
 * struct vsoc_config - what a device is to be like
 */
struct vsoc_config {
	/** @shader_present: mask of shader cores, not zero. */
	u64 shader_present;
	/** @l2_slices: 1..VSOC_MAX_L2_SLICES. */
	u32 l2_slices;
	/** @counters_per_block: 64 or 128. */
	u32 counters_per_block;
	/** @fw_slots: of the firmware's ring, a power of two, 2..128. */
	u32 fw_slots;
	/** @profile: enum vsoc_profile, negative if it was none. */
	int profile;
	/** @product: enum vsoc_product, negative if it was none. */
	int product;
	/** @shader_dense: no holes in firmware's samples. */
	bool shader_dense;
	/** @stepped: time moves only when a test says so. */
	bool stepped;
};

/**
 * struct vsoc_platform_data - what comes with the platform device
 */
struct vsoc_platform_data {
	/** @config: shape of the device. */
	struct vsoc_config config;
	/** @instance: whose device it is. */
	struct vsoc_instance *instance;
};

extern const struct attribute_group *vsoc_devices_groups[];

const char *vsoc_config_fault(const struct vsoc_config *config);
struct vsoc_config vsoc_devices_config(struct platform_device *pdev,
				       struct vsoc_instance **instance);
int vsoc_devices_probed(struct platform_device *pdev, int error);
int vsoc_devices_init(struct platform_driver *driver);
void vsoc_devices_exit(void);

#endif /* _VSOC_DEVICES_H_ */
