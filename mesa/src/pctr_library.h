/* SPDX-License-Identifier: MIT */
/* libperfctr, loaded on demand: the driver also runs without the library. */
#pragma once

#include <perfctr/perfctr.h>
#include <perfctr/perfkit.h>

/* Functions of the library that are used, without their prefix "perfctr_". */
#define PCTR_FUNCTIONS(X)           \
	X(block_label)              \
	X(block_read_times)         \
	X(block_type_name)          \
	X(counter_at)               \
	X(ctx_error)                \
	X(ctx_new)                  \
	X(ctx_unref)                \
	X(cursor_advance)           \
	X(cursor_lag)               \
	X(cursor_new)               \
	X(cursor_next)              \
	X(cursor_unref)             \
	X(decode_block)             \
	X(decode_rewind)            \
	X(device_block)             \
	X(device_driver)            \
	X(device_fd)                \
	X(device_info)              \
	X(device_list_get)          \
	X(device_list_new)          \
	X(device_list_unref)        \
	X(device_open)              \
	X(device_path)              \
	X(device_unref)             \
	X(metric_next)              \
	X(perfkit_add)              \
	X(perfkit_begin_experiment) \
	X(perfkit_begin_object)     \
	X(perfkit_begin_pass)       \
	X(perfkit_count)            \
	X(perfkit_counter)          \
	X(perfkit_end_experiment)   \
	X(perfkit_end_object)       \
	X(perfkit_end_pass)         \
	X(perfkit_new)              \
	X(perfkit_passes)           \
	X(perfkit_remove)           \
	X(perfkit_unref)            \
	X(perfkit_value)            \
	X(pmu_events)               \
	X(selection_add)            \
	X(selection_new)            \
	X(selection_request)        \
	X(selection_unref)          \
	X(session_check)            \
	X(session_fd)               \
	X(session_new)              \
	X(session_sample)           \
	X(session_start)            \
	X(session_stop)             \
	X(session_unref)            \
	X(totals_add)               \
	X(totals_block)             \
	X(totals_block_info)        \
	X(totals_counter)           \
	X(totals_metric)            \
	X(totals_new)               \
	X(totals_reset)             \
	X(totals_sum)               \
	X(totals_unref)

/*
 * the library's functions
 *
 * pctr.ctx_new() is perfctr_ctx_new().
 */
struct pctr_library {
#define PCTR_MEMBER(name) __typeof__(&perfctr_##name) name;
	PCTR_FUNCTIONS(PCTR_MEMBER)
#undef PCTR_MEMBER
};

/** pctr - the functions, valid once pctr_library_load() returned NULL. */
extern struct pctr_library pctr;

/*
 * Load the library at the first call. It stays loaded until the process ends. Any thread may call
 * this.
 * Return: NULL on success; otherwise a sentence, valid forever, with the reason.
 */
const char *pctr_library_load(void);
