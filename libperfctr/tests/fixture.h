/* SPDX-License-Identifier: MIT */
/* The objects that most tests have, each needs those before it, and a kernel in memory. */
#pragma once

#include "fake.h"
#include "test.h"

static struct fake *fake;
static struct perfctr_ctx *ctx;
static struct perfctr_device *device;
static struct perfctr_selection *selection;
static struct perfctr_session *session;
static struct perfctr_cursor *cursor;

static inline void begin_fake(void)
{
	fake = fake_new();
	perfctr_ctx_new_with(&fake->sys, &ctx);
}

static inline void open_device(const char *name)
{
	EQUAL(perfctr_device_open(ctx, name, &device), 0);
	EQUAL(perfctr_selection_new(device, &selection), 0);
}

static inline void end(void)
{
	cursor = perfctr_cursor_unref(cursor);
	session = perfctr_session_unref(session);
	selection = perfctr_selection_unref(selection);
	device = perfctr_device_unref(device);
	ctx = perfctr_ctx_unref(ctx);
	CHECK(!cursor && !session && !selection && !device && !ctx);
	if (fake)
		fake_free(fake);
	fake = NULL;
}
