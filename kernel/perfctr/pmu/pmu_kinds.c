// SPDX-License-Identifier: GPL-2.0
/*
 * Kinds of perf PMUs with a block type of their own, registered by drivers.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include <drm/drm_perfctr_extension.h>
#include "pmu_events.h"

static DEFINE_MUTEX(tables_lock);
static struct drm_perfctr_pmu_kinds *tables;

/**
 * drm_perfctr_register_pmu_kinds() - register block types of perf PMUs
 * @table: must remain valid until unregistered
 */
void drm_perfctr_register_pmu_kinds(struct drm_perfctr_pmu_kinds *table)
{
	mutex_lock(&tables_lock);
	table->next = tables;
	tables = table;
	mutex_unlock(&tables_lock);
}
EXPORT_SYMBOL_GPL(drm_perfctr_register_pmu_kinds);

/**
 * drm_perfctr_unregister_pmu_kinds() - undo drm_perfctr_register_pmu_kinds()
 * @table: unused: each session that uses it pins the owner
 */
void drm_perfctr_unregister_pmu_kinds(struct drm_perfctr_pmu_kinds *table)
{
	struct drm_perfctr_pmu_kinds **at = &tables;

	mutex_lock(&tables_lock);
	while (*at != table)
		at = &(*at)->next;
	*at = table->next;
	mutex_unlock(&tables_lock);
}
EXPORT_SYMBOL_GPL(drm_perfctr_unregister_pmu_kinds);

/*
 * Looks up the kind of a block type and pins its module; *@kind is NULL if any PMU is accepted.
 * Returns 0 or -ENXIO.
 */
int drm_perfctr_pmu_kind_get(u16 type, const struct drm_perfctr_pmu_kind **kind,
			     struct module **owner)
{
	const struct drm_perfctr_pmu_kinds *table;
	int ret = -ENXIO;
	unsigned int i;

	*kind = NULL;
	*owner = NULL;
	if (type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return 0;
	mutex_lock(&tables_lock);
	for (table = tables; table; table = table->next) {
		for (i = 0; ret && i < table->count; i++) {
			if (table->kinds[i].type != type || !try_module_get(table->owner))
				continue;
			*kind = &table->kinds[i];
			*owner = table->owner;
			ret = 0;
		}
	}
	mutex_unlock(&tables_lock);
	return ret;
}

/*
 * Returns the bits of @value that are not filters of that kind of PMU; @field 0 to 2: config,
 * config1, config2. A PMU ignores most of these bits, but requests that differ in them would be
 * different blocks.
 */
u64 drm_perfctr_pmu_kind_invalid_bits(const struct drm_perfctr_pmu_kind *kind, unsigned int field,
				      u64 config, u64 value)
{
	if (!kind)
		return 0;
	if (field && kind->filter_enable & ~config)
		return value;
	return value & ~kind->filter[field];
}

/*
 * Checks that a PMU's name is that of block @index. Userspace selects a PMU by its dynamic number;
 * the name identifies its kind.
 */
bool drm_perfctr_pmu_kind_matches(const struct drm_perfctr_pmu_kind *kind, const char *pmu_name,
				  u16 index)
{
	char wanted[DRM_PERFCTR_PMU_NAME_BYTES + 16];

	if (!kind)
		return true;
	if (kind->infix)
		scnprintf(wanted, sizeof(wanted), "%s%u%s%u", kind->prefix, index >> 8,
			  kind->infix, index & 0xff);
	else
		scnprintf(wanted, sizeof(wanted), "%s%u", kind->prefix, index);
	return !strcmp(wanted, pmu_name);
}
