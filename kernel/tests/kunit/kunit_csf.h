/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake core for the CSF source in this module, and firmware for it. The core's functions get
 * other names, so that the real ones are not used.
 */
#ifndef KUNIT_CSF_H
#define KUNIT_CSF_H

#define drm_perfctr_add_source		kunit_add_source
#define drm_perfctr_block_totals	kunit_block_totals
#define drm_perfctr_block_report	kunit_block_report
#define drm_perfctr_source_event	kunit_source_event
#define drm_perfctr_source_transition	kunit_source_event
#define csf_perfctr_irq			kunit_csf_irq
#define csf_perfctr_sample_bytes	kunit_csf_sample_bytes
#define csf_perfctr_ring_bytes		kunit_csf_ring_bytes
#define csf_perfctr_check		kunit_csf_check
#define drmm_csf_perfctr_create		kunit_csf_create

#include <linux/spinlock.h>
#include <linux/types.h>
#include <kunit/test.h>
#include <drm/drm_device.h>

#include "csf_layout.h"
#include "csf_perfctr.h"
#include <drm/drm_perfctr.h>

int kunit_add_source(struct drm_perfctr *pc, struct drm_perfctr_source *source);

#define KUNIT_CSF_BLOCKS	(3 + 1 + 19)
#define KUNIT_CSF_VISIBLE	(3 + 1 + 4)
#define KUNIT_CSF_COUNTERS	64
#define KUNIT_CSF_SLOTS		8

/*
 * A GPU with mask 0x50005, firmware that answers at once, and the reports to the core. Time is
 * real.
 */
struct kunit_csf {
	struct drm_device *drm;
	struct csf_glb_control control;
	struct csf_glb_input input;
	struct csf_glb_output output;
	/* req and ack_irq_mask of input */
	spinlock_t lock;
	struct csf_perfctr_config config;
	struct csf_perfctr *csf;
	__le32 *ring;

	u32 hw[KUNIT_CSF_BLOCKS][KUNIT_CSF_COUNTERS];
	u32 seq;
	u64 span_start;
	bool counting;
	/* time that the model itself took */
	u64 model_ns;
	/* faults, countdowns */
	unsigned int deaf, spurious_irq, insert_beyond, ack_without_sample;

	struct drm_perfctr_source *source;
	u64 totals[KUNIT_CSF_VISIBLE][KUNIT_CSF_COUNTERS];
	u64 valid[KUNIT_CSF_VISIBLE];
	unsigned int events;
};

int kunit_csf_device_init(struct kunit *test);
void kunit_csf_device_exit(struct kunit *test);
struct kunit_csf *kunit_csf_boot(struct kunit *test);
void kunit_csf_count(struct kunit_csf *fw, u32 n);
void kunit_csf_sample(struct kunit_csf *fw, u32 reason);
int kunit_csf_collect(struct kunit_csf *fw, struct drm_perfctr_collection *c);

#endif /* KUNIT_CSF_H */
