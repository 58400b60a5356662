/* SPDX-License-Identifier: MIT */
/*
 * Ends of frames for "perfctr perfkit --frames", which changes what is counted between frames.
 *
 * The environment variable PERFCTR_FRAMES names a socket of the tool. The protocol is that of
 * docs/perfkit.md: each process has a connection of its own. One window's frames are what is
 * counted: those of the context that ends a frame first, until that context is destroyed.
 */
#ifndef GPC_FRAMES_H
#define GPC_FRAMES_H

#include <stdbool.h>

/**
 * typedef gpc_frames_say_fn - tells the user, one line without a line feed
 */
typedef void (*gpc_frames_say_fn)(const char *text);

/**
 * gpc_frames_wanted() - whether this process shall tell ends of frames
 *
 * Return: whether the environment names a socket.
 */
bool gpc_frames_wanted(void);

/**
 * gpc_frames_listens() - whether somebody waits for the end of this context's frames
 * @context: whatever stands for the context, not NULL
 * @say: where messages go, each once in a process
 *
 * The first call in a process connects, if a process of this user or of root listens. The first context
 * that asks is the one whose frames count.
 *
 * Return: whether gpc_frames_end() is due, once all that the frame gave the GPU is done.
 */
bool gpc_frames_listens(const void *context, gpc_frames_say_fn say);

/**
 * gpc_frames_end() - tell that a frame ended, and wait until the next one may begin
 * @context: for which gpc_frames_listens()
 *
 * Waits as long as the tool needs to change its counters. If the tool has what it wants, or is gone,
 * frames are told no more.
 */
void gpc_frames_end(const void *context);

/**
 * gpc_frames_leave() - a context is destroyed: the frames of another one may count
 * @context: context
 */
void gpc_frames_leave(const void *context);

#endif /* GPC_FRAMES_H */
