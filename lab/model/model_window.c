// SPDX-License-Identifier: GPL-2.0
/*
 * Registers of a model on User-mode Linux, whose emulation of I/O memory calls the model for each
 * access.
 */
#include <linux/export.h>
#include <linux/logic_iomem.h>

#include "model.h"

/* the emulation's map callback has no context pointer */
static const struct model_window *the_window;

static unsigned long window_read(void *priv, unsigned int offset, int size)
{
	const struct model_window *window = priv;

	return size == sizeof(u32) ? window->read(window->gpu, offset) : 0;
}

static void window_write(void *priv, unsigned int offset, int size, unsigned long value)
{
	const struct model_window *window = priv;

	if (size == sizeof(u32))
		window->write(window->gpu, offset, value);
}

static const struct logic_iomem_ops window_ops = {
	.read = window_read,
	.write = window_write,
};

static long window_map(unsigned long offset, size_t size, const struct logic_iomem_ops **ops,
		       void **priv)
{
	*ops = &window_ops;
	*priv = (void *)the_window;
	return offset;
}

static const struct logic_iomem_region_ops region_ops = {
	.map = window_map,
};

/* the region can never be removed, so the model cannot be unloaded afterwards */
int model_add_window(const struct model_window *window, struct resource *place)
{
	the_window = window;
	return logic_iomem_add_region(place, &region_ops);
}
EXPORT_SYMBOL_GPL(model_add_window);
