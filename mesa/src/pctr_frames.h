/* SPDX-License-Identifier: MIT */
/*
 * Ends of frames for "perfctr perfkit --frames", which changes the counters between frames.
 *
 * The environment variable PERFCTR_FRAMES names a socket of the tool; perfctr-perfkit(1) has the
 * protocol. Each process has its own connection. Frames of one window count: those of the context
 * that ends a frame first, until that context is destroyed. Nothing here is Gallium's: the Vulkan
 * layer (tools/vulkan) is built with the same file.
 */
#pragma once

#include <stdbool.h>

/* reports one line, without a line feed, to the user */
typedef void (*pctr_frames_say_fn)(const char *text);

/* Whether the environment names a socket to which this process reports ends of frames. */
bool pctr_frames_wanted(void);

/*
 * Whether the tool waits for the end of this context's frames. The first call in a process
 * connects, if a process of this user or of root listens. Only frames of the first context that
 * calls this are counted.
 * @context: any pointer that identifies the context, not NULL; @say: reports messages, each once in
 * a process.
 * Return: whether to call pctr_frames_end() once the GPU has finished the frame.
 */
bool pctr_frames_listens(const void *context, pctr_frames_say_fn say);

/*
 * Report the end of a frame and wait until the next one may begin. Waits while the tool changes its
 * counters. When the tool has enough frames, or is gone, no more frames are reported.
 * @context: for which pctr_frames_listens() returned true; @values: counters of the driver, as the
 * protocol has them behind "frame", or "".
 */
void pctr_frames_end(const void *context, const char *values);

/* The context is destroyed: frames of another context may count. */
void pctr_frames_leave(const void *context);
