/* SPDX-License-Identifier: MIT */
/*
 * Counters of libperfctr in every Gallium driver, for the HUD and for GL_AMD_performance_monitor.
 *
 * A screen and its contexts get additional driver queries: a few of their functions are replaced.
 * Drivers, HUD and state tracker stay as they are. The environment variable GALLIUM_PERFCTR enables
 * this:
 *
 * 	GALLIUM_PERFCTR=1          the device of the screen, or the only one
 * 	GALLIUM_PERFCTR=renderD128 this device: node, driver or name
 *
 * On a virtual SoC the rendering of softpipe or llvmpipe becomes jobs of the virtual GPU, and
 * monitors count the jobs of their own context. GALLIUM_PERFCTR_JOBS=0 disables that.
 *
 * With PERFCTR_FRAMES, which perfctr perfkit --frames sets, contexts report where frames end, with
 * or without counters: see pctr_frames.h.
 *
 * Each counter is listed three times, because the two users read values in different formats: first
 * outside of groups, where the HUD finds it under "group.COUNTER" and, unlisted, under "COUNTER";
 * then for GL in its group.
 */
#ifndef PCTR_HOOK_H
#define PCTR_HOOK_H

struct pipe_screen;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * pctr_screen_hook() - add counters to a screen
 * @screen: screen that nothing will wrap any more, or NULL; may have been here before, as drivers
 *	    share screens. Each call stands for one screen->destroy().
 */
void pctr_screen_hook(struct pipe_screen *screen);

#ifdef __cplusplus
}
#endif

#endif /* PCTR_HOOK_H */
