/* SPDX-License-Identifier: MIT */
/*
 * Counters of libperfctr in every Gallium driver, for the HUD and for GL_AMD_performance_monitor.
 *
 * The hook replaces a few functions of a screen and its contexts to add driver queries. Drivers,
 * HUD and state tracker are unchanged. The environment variable GALLIUM_PERFCTR enables it:
 *
 * 	GALLIUM_PERFCTR=1          the device of the screen, or the only one
 * 	GALLIUM_PERFCTR=renderD128 this device: node, driver or name
 *
 * On a virtual SoC the rendering of softpipe or llvmpipe becomes jobs of the virtual GPU, and
 * monitors count the jobs of their own context. GALLIUM_PERFCTR_JOBS=0 disables that.
 *
 * With PERFCTR_FRAMES, which perfctr perfkit --frames sets, contexts report the ends of frames,
 * with or without counters: see pctr_frames.h.
 *
 * Each counter is listed three times, because HUD and GL read values in different formats: twice
 * outside of groups for the HUD, as "group.COUNTER" and, hidden, as "COUNTER"; then for GL in its
 * group.
 */
#pragma once

struct pipe_screen;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Add counters to a screen.
 * @screen: completely wrapped screen, or NULL. Drivers share screens, so the same screen can be
 * passed several times. Each call pairs with one screen->destroy().
 */
void pctr_screen_hook(struct pipe_screen *screen);

#ifdef __cplusplus
}
#endif
