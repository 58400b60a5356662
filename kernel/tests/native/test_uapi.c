// SPDX-License-Identifier: GPL-2.0
/*
 * The uAPI's layout is frozen: every size and offset, for 64- and 32-bit user space, C and C++ (the
 * Makefile builds this file four times). igt-tests/check-map checks that no member is missing here.
 */
#include <assert.h>
#include <stddef.h>
#include <drm/perfctr_drm.h>
#include <drm/perfctr_mali.h>
#include <drm/perfctr_nv50.h>
#include <drm/perfctr_tegra410.h>
#include <drm/vsoc_drm.h>

#include "test.h"

/* a wrong size or offset does not compile */
#define LAYOUT(have, bytes)	static_assert((have) == (bytes), #have)
#define SIZE(type, bytes)	LAYOUT(sizeof(struct drm_perfctr_##type), bytes)
#define OFFSET(type, member, bytes) \
	LAYOUT(offsetof(struct drm_perfctr_##type, member), bytes)

SIZE(sample_header, 72); OFFSET(sample_header, size, 0); OFFSET(sample_header, header_size, 4);
OFFSET(sample_header, block_count, 6); OFFSET(sample_header, seq, 8);
OFFSET(sample_header, start_ns, 16); OFFSET(sample_header, end_ns, 24);
OFFSET(sample_header, user_data, 32); OFFSET(sample_header, flags, 40);
OFFSET(sample_header, merged_periods, 44); OFFSET(sample_header, lost_ns, 48);
OFFSET(sample_header, merged_others, 56); OFFSET(sample_header, gpu_epoch, 60);
OFFSET(sample_header, gpu_timestamp, 64);

SIZE(block_header, 48); OFFSET(block_header, size, 0); OFFSET(block_header, type, 4);
OFFSET(block_header, index, 6); OFFSET(block_header, section, 8); OFFSET(block_header, format, 9);
OFFSET(block_header, set, 10); OFFSET(block_header, clock, 11); OFFSET(block_header, states, 12);
OFFSET(block_header, clock_cycles, 16); OFFSET(block_header, enable_mask, 24);
OFFSET(block_header, valid_mask, 32); OFFSET(block_header, capture_ns, 40);
OFFSET(block_header, header_size, 44); OFFSET(block_header, product, 46);

SIZE(pmu_identity, 64); OFFSET(pmu_identity, config, 0); OFFSET(pmu_identity, config1, 8);
OFFSET(pmu_identity, config2, 16); OFFSET(pmu_identity, pmu_type, 24);
OFFSET(pmu_identity, cpu, 28); OFFSET(pmu_identity, pmu_name, 32);
SIZE(block_span, 16); OFFSET(block_span, start_ns, 0); OFFSET(block_span, end_ns, 8);

SIZE(running_times, 16); OFFSET(running_times, time_enabled, 0);
OFFSET(running_times, time_running, 8);

SIZE(ring_control, 128); OFFSET(ring_control, extract_idx, 0);
OFFSET(ring_control, user_reserved, 4); OFFSET(ring_control, insert_idx, 64);
OFFSET(ring_control, state, 68); OFFSET(ring_control, slots, 72);
OFFSET(ring_control, slot_stride, 76); OFFSET(ring_control, ring_offset, 80);
OFFSET(ring_control, sample_size, 84); OFFSET(ring_control, kernel_reserved, 88);

SIZE(query, 24); OFFSET(query, type, 0); OFFSET(query, count, 4); OFFSET(query, stride, 8);
OFFSET(query, pad, 12); OFFSET(query, pointer, 16);

SIZE(device_info, 128); OFFSET(device_info, features, 0); OFFSET(device_info, version, 4);
OFFSET(device_info, sample_header_size, 8); OFFSET(device_info, block_header_size, 12);
OFFSET(device_info, ring_control_size, 16); OFFSET(device_info, block_count, 20);
OFFSET(device_info, clock_count, 24); OFFSET(device_info, sets, 28);
OFFSET(device_info, active_set, 32); OFFSET(device_info, max_slots, 36);
OFFSET(device_info, max_sessions_per_file, 40); OFFSET(device_info, max_requests, 44);
OFFSET(device_info, product, 48); OFFSET(device_info, pad, 52);
OFFSET(device_info, min_period_ns, 56); OFFSET(device_info, unprivileged_min_period_ns, 64);
OFFSET(device_info, max_period_ns, 72); OFFSET(device_info, max_ring_bytes, 80);
OFFSET(device_info, gpu_id, 88); OFFSET(device_info, name, 96);

SIZE(block_info, 112); OFFSET(block_info, type, 0); OFFSET(block_info, index, 2);
OFFSET(block_info, counters, 4); OFFSET(block_info, product, 6); OFFSET(block_info, sets, 8);
OFFSET(block_info, clock, 12); OFFSET(block_info, format, 13);
OFFSET(block_info, first_section, 14); OFFSET(block_info, pad, 15);
OFFSET(block_info, available, 16); OFFSET(block_info, set_available, 48);

SIZE(clock_info, 72); OFFSET(clock_info, clock, 0); OFFSET(clock_info, valid_bits, 4);
OFFSET(clock_info, frequency_hz, 8); OFFSET(clock_info, max_frequency_hz, 16);
OFFSET(clock_info, name, 24); OFFSET(clock_info, gpu_timestamp, 40); OFFSET(clock_info, raw_ns, 48);
OFFSET(clock_info, age_ns, 56); OFFSET(clock_info, epoch, 64); OFFSET(clock_info, pad, 68);

SIZE(block_request, 56); OFFSET(block_request, type, 0); OFFSET(block_request, index, 2);
OFFSET(block_request, section, 4); OFFSET(block_request, set, 6); OFFSET(block_request, pad, 7);
OFFSET(block_request, flags, 8); OFFSET(block_request, cpu, 12); OFFSET(block_request, mask, 16);
OFFSET(block_request, pmu_type, 24); OFFSET(block_request, pad2, 28);
OFFSET(block_request, config, 32); OFFSET(block_request, config1, 40);
OFFSET(block_request, config2, 48);

SIZE(layout, 24); OFFSET(layout, slots, 0); OFFSET(layout, slot_stride, 4);
OFFSET(layout, sample_size, 8); OFFSET(layout, block_count, 12); OFFSET(layout, ring_offset, 16);
OFFSET(layout, map_bytes, 20);

SIZE(open, 72); OFFSET(open, flags, 0); OFFSET(open, slots, 4); OFFSET(open, period_ns, 8);
OFFSET(open, eventfd, 16); OFFSET(open, watermark, 20); OFFSET(open, requests, 24);
OFFSET(open, request_count, 32); OFFSET(open, request_stride, 36); OFFSET(open, layout, 40);
OFFSET(open, layout_size, 48); OFFSET(open, pad, 52); OFFSET(open, reserved, 56);

SIZE(command, 16); OFFSET(command, user_data, 0); OFFSET(command, flags, 8);
OFFSET(command, pad, 12);

SIZE(status, 112); OFFSET(status, flags, 0); OFFSET(status, slots, 4);
OFFSET(status, published, 8); OFFSET(status, merged_periods, 16);
OFFSET(status, merged_others, 24); OFFSET(status, pending_merged, 32); OFFSET(status, lost_ns, 40);
OFFSET(status, errors, 48); OFFSET(status, overflows, 56); OFFSET(status, resets, 64);
OFFSET(status, bad_extract, 72); OFFSET(status, ring_full, 80); OFFSET(status, wakeups, 88);
OFFSET(status, insert_idx, 96); OFFSET(status, extract_idx, 100); OFFSET(status, readers, 104);
OFFSET(status, pad, 108);

#define VSOC_SIZE(type, bytes)	LAYOUT(sizeof(struct drm_vsoc_##type), bytes)
#define VSOC_OFFSET(type, member, bytes) \
	LAYOUT(offsetof(struct drm_vsoc_##type, member), bytes)

VSOC_SIZE(info, 104); VSOC_OFFSET(info, version, 0); VSOC_OFFSET(info, counters_per_block, 4);
VSOC_OFFSET(info, shader_present, 8); VSOC_OFFSET(info, l2_slices, 16);
VSOC_OFFSET(info, max_commands, 20); VSOC_OFFSET(info, max_contexts, 24);
VSOC_OFFSET(info, max_queued_jobs, 28); VSOC_OFFSET(info, max_units, 32);
VSOC_OFFSET(info, top_hz, 40); VSOC_OFFSET(info, coregroup_hz, 48);
VSOC_OFFSET(info, shader_hz, 56); VSOC_OFFSET(info, max_wait_ns, 64);
VSOC_OFFSET(info, sockets, 72); VSOC_OFFSET(info, root_complexes, 76);
VSOC_OFFSET(info, root_ports, 80); VSOC_OFFSET(info, gpus, 84); VSOC_OFFSET(info, max_listing, 88);
VSOC_OFFSET(info, max_steps, 92); VSOC_OFFSET(info, max_job_steps, 96);

VSOC_SIZE(get_info, 16); VSOC_OFFSET(get_info, pointer, 0); VSOC_OFFSET(get_info, size, 8);
VSOC_OFFSET(get_info, pad, 12);

VSOC_SIZE(cmd_draw, 64); VSOC_OFFSET(cmd_draw, vertices, 0); VSOC_OFFSET(cmd_draw, primitives, 8);
VSOC_OFFSET(cmd_draw, fragments, 16); VSOC_OFFSET(cmd_draw, texels, 24);
VSOC_OFFSET(cmd_draw, primitives_culled, 32); VSOC_OFFSET(cmd_draw, points, 40);
VSOC_OFFSET(cmd_draw, lines, 48); VSOC_OFFSET(cmd_draw, streamed, 56);

VSOC_SIZE(instruction, 16); VSOC_OFFSET(instruction, opcode, 0); VSOC_OFFSET(instruction, guard, 2);
VSOC_OFFSET(instruction, pad, 3); VSOC_OFFSET(instruction, guard_times, 4);
VSOC_OFFSET(instruction, target, 8); VSOC_OFFSET(instruction, reserved, 12);

VSOC_SIZE(cmd_compute, 32); VSOC_OFFSET(cmd_compute, threads, 0);
VSOC_OFFSET(cmd_compute, instructions, 8); VSOC_OFFSET(cmd_compute, listing_count, 12);
VSOC_OFFSET(cmd_compute, listing, 16); VSOC_OFFSET(cmd_compute, listing_stride, 24);
VSOC_OFFSET(cmd_compute, pad, 28);

VSOC_SIZE(cmd_copy, 64); VSOC_OFFSET(cmd_copy, bytes, 0); VSOC_OFFSET(cmd_copy, address, 8);
VSOC_OFFSET(cmd_copy, reserved, 16); VSOC_OFFSET(cmd_copy, flags, 24);
VSOC_OFFSET(cmd_copy, initiator, 28); VSOC_OFFSET(cmd_copy, home, 32);
VSOC_OFFSET(cmd_copy, socket, 36); VSOC_OFFSET(cmd_copy, reserved2, 40);
VSOC_OFFSET(cmd_copy, gpu, 44); VSOC_OFFSET(cmd_copy, rate, 48);
VSOC_OFFSET(cmd_copy, window, 56); VSOC_OFFSET(cmd_copy, pad, 60);

VSOC_SIZE(cmd_pcie, 64); VSOC_OFFSET(cmd_pcie, bytes, 0); VSOC_OFFSET(cmd_pcie, address, 8);
VSOC_OFFSET(cmd_pcie, flags, 16); VSOC_OFFSET(cmd_pcie, socket, 20);
VSOC_OFFSET(cmd_pcie, root_complex, 24); VSOC_OFFSET(cmd_pcie, root_port, 28);
VSOC_OFFSET(cmd_pcie, bdf, 32); VSOC_OFFSET(cmd_pcie, home, 36);
VSOC_OFFSET(cmd_pcie, initiator, 40); VSOC_OFFSET(cmd_pcie, reserved, 44);
VSOC_OFFSET(cmd_pcie, rate, 48); VSOC_OFFSET(cmd_pcie, window, 56); VSOC_OFFSET(cmd_pcie, pad, 60);

VSOC_SIZE(cmd_core, 8); VSOC_OFFSET(cmd_core, elements, 0);
VSOC_SIZE(cmd_wait, 8); VSOC_OFFSET(cmd_wait, duration_ns, 0);

VSOC_SIZE(cmd_sample, 16); VSOC_OFFSET(cmd_sample, user_data, 0);
VSOC_OFFSET(cmd_sample, session, 8); VSOC_OFFSET(cmd_sample, pad, 12);

VSOC_SIZE(method, 8); VSOC_OFFSET(method, method, 0); VSOC_OFFSET(method, data, 4);

VSOC_SIZE(cmd_methods, 88); VSOC_OFFSET(cmd_methods, count, 0); VSOC_OFFSET(cmd_methods, pad, 4);
VSOC_OFFSET(cmd_methods, methods, 8);

VSOC_SIZE(mp_record, 20); VSOC_OFFSET(mp_record, counters, 0); VSOC_OFFSET(mp_record, sequence, 16);

VSOC_SIZE(cmd_mp_store, 16); VSOC_OFFSET(cmd_mp_store, offset, 0);
VSOC_OFFSET(cmd_mp_store, handle, 8); VSOC_OFFSET(cmd_mp_store, sequence, 12);

VSOC_SIZE(command, 96); VSOC_OFFSET(command, type, 0); VSOC_OFFSET(command, pad, 4);
VSOC_OFFSET(command, draw, 8); VSOC_OFFSET(command, compute, 8); VSOC_OFFSET(command, copy, 8);
VSOC_OFFSET(command, pcie, 8); VSOC_OFFSET(command, wait, 8); VSOC_OFFSET(command, sample, 8);
VSOC_OFFSET(command, methods, 8); VSOC_OFFSET(command, mp_store, 8);
VSOC_OFFSET(command, core, 8);
VSOC_OFFSET(command, reserved, 8);

VSOC_SIZE(submit, 40); VSOC_OFFSET(submit, flags, 0); VSOC_OFFSET(submit, ctx_id, 4);
VSOC_OFFSET(submit, commands, 8); VSOC_OFFSET(submit, command_count, 16);
VSOC_OFFSET(submit, command_stride, 20); VSOC_OFFSET(submit, job_id, 24);
VSOC_OFFSET(submit, fence_fd, 32); VSOC_OFFSET(submit, pad, 36);

VSOC_SIZE(wait, 32); VSOC_OFFSET(wait, job_id, 0); VSOC_OFFSET(wait, timeout_ns, 8);
VSOC_OFFSET(wait, flags, 16); VSOC_OFFSET(wait, status, 20); VSOC_OFFSET(wait, sample_errors, 24);
VSOC_OFFSET(wait, sample_errno, 28);

VSOC_SIZE(ctx_create, 8); VSOC_OFFSET(ctx_create, flags, 0); VSOC_OFFSET(ctx_create, ctx_id, 4);

VSOC_SIZE(ctx_destroy, 8); VSOC_OFFSET(ctx_destroy, ctx_id, 0); VSOC_OFFSET(ctx_destroy, pad, 4);

VSOC_SIZE(ctx_hold, 16); VSOC_OFFSET(ctx_hold, ctx_id, 0); VSOC_OFFSET(ctx_hold, hold, 4);
VSOC_OFFSET(ctx_hold, pid, 8); VSOC_OFFSET(ctx_hold, pad, 12);
VSOC_SIZE(bo_create, 24); VSOC_OFFSET(bo_create, size, 0); VSOC_OFFSET(bo_create, mmap_offset, 8);
VSOC_OFFSET(bo_create, handle, 16); VSOC_OFFSET(bo_create, pad, 20);

/* an opcode is its class, then a number in it */
TEST(opcodes_are_frozen)
{
	check_eq(DRM_VSOC_OP_VABSDIFF4, 0x11a);
	check_eq(DRM_VSOC_OP_SHFL, 0x701);
}

TEST(ioctl_numbers_are_frozen)
{
	check_eq(DRM_PERFCTR_IOCTL_QUERY(0x9a), 0xc018649a);
	check_eq(DRM_PERFCTR_IOCTL_OPEN(0x9a), 0x4048649b);
	check_eq(DRM_PERFCTR_IOCTL_START, 0x401064e0);
	check_eq(DRM_PERFCTR_IOCTL_SAMPLE, 0x401064e1);
	check_eq(DRM_PERFCTR_IOCTL_STOP, 0x401064e2);
	check_eq(DRM_PERFCTR_IOCTL_STATUS, 0x807064e3);
	check_eq(DRM_PERFCTR_IOCTL_LAYOUT, 0x801864e4);
	check_eq(DRM_PERFCTR_IOCTL_READER, 0x64e5);
	check_eq(DRM_IOCTL_VSOC_BO_CREATE, 0xc0186445);
}
