/* SPDX-License-Identifier: MIT */
/* The context, its log and error text, and what every file of the library uses. */
#pragma once

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <perfctr/perfctr.h>

#include "sys.h"

#define EXPORT __attribute__((visibility("default")))
#define PRINTF(string, first) __attribute__((format(printf, string, first)))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

enum {
	NS_PER_S = 1000000000,
	PATH_BYTES = 512,
	LABEL_BYTES = 64,
	EVENT_BYTES = 512, /* of the text of an event, including the final NUL */
	UNIT_BYTES = 64,
};

struct drm_capacity;
struct pmu;
struct sensor_place;
struct reading_ops;

struct perfctr_ctx {
	atomic_uint refs;
	const struct perfctr_sys *sys;
	perfctr_log_fn log;
	void *log_data;
	int log_level;
	bool log_from_environment;
	char error[1024];
	/* counters/pmu.h: PMUs that exist only in this library */
	const struct reading_ops *readings;
	/* counters/pmu.c: the PMUs as they were at @pmus_ns of perfctr_time_raw_ns() */
	struct pmu *pmus;
	size_t pmu_count;
	uint64_t pmus_ns;
	/* what the last searches for DRM clients found */
	struct drm_capacity *capacities;
	size_t capacity_count;
	/* where the last search for sensors found each; @next_sensor: where to look first */
	struct sensor_place *sensors;
	size_t sensor_count, next_sensor;
};

/* Return: 0 or -ENOMEM. Programs and tests have perfctr_ctx_new_with() of host/open.h. */
int ctx_new(const struct perfctr_sys *sys, const struct reading_ops *readings,
	    struct perfctr_ctx **ctx);

void perfctr_log(struct perfctr_ctx *ctx, int level, const char *format, ...) PRINTF(3, 4);

/* Keep the reason for perfctr_ctx_error(). Return: error, a negative errno. */
int perfctr_fail(struct perfctr_ctx *ctx, int error, const char *format, ...) PRINTF(3, 4);

/* As perfctr_fail() with -ENOMEM. */
int perfctr_no_memory(struct perfctr_ctx *ctx);

/*
 * Make a text one line of UTF-8: "?" for each byte that is none, and for those of control and
 * format characters.
 */
void perfctr_clean_text(char *text);

/* As snprintf() with "%s", which is dear where each sample names each counter. */
static inline int copy_text(char *text, size_t size, const char *from)
{
	size_t length = strlen(from), room = length < size ? length : size - 1;

	if (size) {
		memcpy(text, from, room);
		text[room] = '\0';
	}
	return (int)length;
}

/* Defines type_ref() and type_unref() for objects with a member refs. */
#define DEFINE_REFS(scope, type, release)                                                   \
	scope struct type *type##_ref(struct type *object)                                  \
	{                                                                                   \
		if (object)                                                                 \
			atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);  \
		return object;                                                              \
	}                                                                                   \
                                                                                            \
	scope struct type *type##_unref(struct type *object)                                \
	{                                                                                   \
		/* acquire-release: all accesses to the object happen before it is freed */ \
		if (object &&                                                               \
		    atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) == 1) \
			release(object);                                                    \
		return NULL;                                                                \
	}

/*
 * Check a versioned structure of the caller and copy the known part.
 * Return: 0; -EINVAL no size; -E2BIG not zero beyond the known part.
 */
int perfctr_take_struct(struct perfctr_ctx *ctx, const char *what, const void *from,
			size_t from_bytes, void *to, size_t to_bytes);

/* As strtod(), independent of the locale's decimal point. */
double perfctr_strtod(const char *text, char **end);
