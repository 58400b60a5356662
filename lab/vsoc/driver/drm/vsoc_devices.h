/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual SoCs and their shapes.
 */
#ifndef _VSOC_DEVICES_H_
#define _VSOC_DEVICES_H_

#include <linux/types.h>

struct attribute_group;
struct platform_device;
struct vsoc_instance;

/* kind of counters of the GPU */
enum vsoc_product {
	VSOC_PRODUCT_CSF,	/* of a Mali GPU, from its firmware */
	VSOC_PRODUCT_NV50,	/* PCOUNTER and MP counters */
	VSOC_PRODUCTS,
};

enum vsoc_memory {
	VSOC_MEMORY_COARSE,	/* queues as fluids */
	VSOC_MEMORY_EXACT,	/* each line is simulated */
	VSOC_MEMORIES,
};

/* shape of a device */
struct vsoc_config {
	u64 shader_present;	/* mask of shader cores, not zero */
	u32 l2_slices;		/* 1..VSOC_MAX_L2_SLICES */
	u32 counters_per_block;	/* 64 or 128 */
	u32 fw_slots;		/* slots of the firmware's ring, a power of two, 2..128 */
	int profile;		/* enum vsoc_profile; negative: invalid */
	int product;		/* enum vsoc_product; negative: invalid */
	bool shader_dense;	/* firmware's samples have no gaps for absent cores */
	bool stepped;		/* time only advances in steps that a test requests */
	int memory;		/* enum vsoc_memory; negative: invalid */
};

/* platform data */
struct vsoc_platform_data {
	struct vsoc_config config;
	struct vsoc_instance *instance;	/* the device's */
};

extern const struct attribute_group *vsoc_devices_groups[];

const char *vsoc_config_fault(const struct vsoc_config *config);
struct vsoc_config vsoc_devices_config(struct platform_device *pdev,
				       struct vsoc_instance **instance);
int vsoc_devices_probed(struct platform_device *pdev, int error);
int vsoc_devices_init(struct platform_driver *driver);
void vsoc_devices_exit(void);

#endif /* _VSOC_DEVICES_H_ */
