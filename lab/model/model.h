/* SPDX-License-Identifier: GPL-2.0 */
/* What the models of GPUs share: threads, interrupt lines, registers. Module gpu_model. */
#ifndef _MODEL_H_
#define _MODEL_H_

#include <linux/types.h>
#include <linux/wait.h>

struct device;
struct resource;

/*
 * Interrupt lines of a model. A thread calls the handler when a line rises, and again if it is
 * still high afterwards: a driver writes registers with interrupts off and its locks held. It is
 * not irq_work, which User-mode Linux delays until its next tick.
 */
struct model_lines {
	int first;	/* the kernel's number of line 0; the others follow */
	unsigned int count;
	bool (*is_high)(const struct model_lines *lines, unsigned int line);
	unsigned long due;	/* lines that rose, one bit each */
	wait_queue_head_t wait;
};

/* a thread that ends with the device @model; errors: those of kthread_run() */
int model_thread(struct device *model, int (*run)(void *), void *data, const char *name);

/*
 * Allocates @count numbers and starts the thread; both end with the device @model. The thread
 * calls @is_high without locks.
 */
int model_lines_init(struct model_lines *lines, struct device *model, unsigned int count,
		     bool (*is_high)(const struct model_lines *lines, unsigned int line));

/* the line has risen; any context */
void model_line_rose(struct model_lines *lines, unsigned int line);

/* registers of a model, 32 bits each */
struct model_window {
	u32 (*read)(void *gpu, u32 offset);
	void (*write)(void *gpu, u32 offset, u32 value);
	void *gpu;
};

/*
 * User-mode Linux only: accesses to @place, for the one model of a machine, call @window's
 * functions. Both must stay.
 */
int model_add_window(const struct model_window *window, struct resource *place);

#endif /* _MODEL_H_ */
