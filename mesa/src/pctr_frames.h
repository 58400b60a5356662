/* SPDX-License-Identifier: MIT */
/*
 * Ends of frames for "perfctr perfkit --frames", which changes what is counted between frames.
 *
 * The environment variable PERFCTR_FRAMES names a socket of the tool. The protocol is that of
 * docs/perfkit.md: each process has a connection of its own. One window's frames are what is
 * counted: those of the context that ends a frame first, until that context is destroyed.
 */
#ifndef PCTR_FRAMES_H
#define PCTR_FRAMES_H

#include <stdbool.h>

/**
 * typedef pctr_frames_say_fn - tells the user, one line without a line feed
 */
typedef void (*pctr_frames_say_fn)(const char *text);

/**
 * pctr_frames_wanted() - whether this process shall tell ends of frames
 *
 * Return: whether the environment names a socket.
 */
bool pctr_frames_wanted(void);

/**
 * pctr_frames_listens() - whether somebody waits for the end of this context's frames
 * @context: whatever stands for the context, not NULL
 * @say: where messages go, each once in a process
 *
 * The first call in a process connects, if a process of this user or of root listens. The first context
 * that asks is the one whose frames count.
 *
 * Return: whether pctr_frames_end() is due, once all that the frame gave the GPU is done.
 */
bool pctr_frames_listens(const void *context, pctr_frames_say_fn say);

/**
 * pctr_frames_end() - tell that a frame ended, and wait until the next one may begin
 * @context: for which pctr_frames_listens()
 *
 * Waits as long as the tool needs to change its counters. If the tool has what it wants, or is gone,
 * frames are told no more.
 */
void pctr_frames_end(const void *context);

/**
 * pctr_frames_leave() - a context is destroyed: the frames of another one may count
 * @context: context
 */
void pctr_frames_leave(const void *context);

#endif /* PCTR_FRAMES_H */
