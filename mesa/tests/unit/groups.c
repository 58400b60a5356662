// SPDX-License-Identifier: MIT
/*
 * Mesa's performance_monitor.c with a driver of inconsistent groups: one without counters, one with
 * more counters than it announces. Built against Mesa's source by mesa/tests/groups.
 */
#include "main/performance_monitor.c"
#include "tap.h"

#if PCTR_MESA >= 25
#define _glapi_set_context _mesa_glapi_set_context
#endif

enum { GROUPS = 3, COUNTERS = 5, ANNOUNCED = 2 };

static struct gl_context context;
static struct gl_shared_state shared;

/* --- what performance_monitor.c calls --------------------------------------- */

void st_flush_bitmap_cache(struct st_context *st)
{
}

void vbo_exec_FlushVertices(struct gl_context *ctx, GLuint flags)
{
}

int ST_DEBUG;

/* --- the driver ------------------------------------------------------------ */

/* Group 0 is empty, group 1 has and announces two counters, group 2 has three and announces two. */
static int group_info(struct pipe_screen *screen, unsigned int index,
		      struct pipe_driver_query_group_info *info)
{
	static const char *const names[GROUPS] = { "empty", "right", "too many" };

	if (!info)
		return GROUPS;
	info->name = names[index];
	info->num_queries = index ? ANNOUNCED : 0;
	info->max_active_queries = info->num_queries;
	return 1;
}

static int query_info(struct pipe_screen *screen, unsigned int index,
		      struct pipe_driver_query_info *info)
{
	static const unsigned int groups[COUNTERS] = { 1, 2, 2, 1, 2 };

	if (!info)
		return COUNTERS;
	memset(info, 0, sizeof(*info));
	info->name = "counter";
	info->query_type = PIPE_QUERY_DRIVER_SPECIFIC + index;
	info->type = PIPE_DRIVER_QUERY_TYPE_UINT64;
	info->group_id = groups[index];
	return 1;
}

int main(void)
{
	static struct pipe_screen screen = { .get_driver_query_info = query_info,
					     .get_driver_query_group_info = group_info };
	static struct pipe_context pipe = { .screen = &screen };
	GLint groups = -1, counters = -1, max = -1;
	char name[16] = "";

	context.pipe = &pipe;
	context.Shared = &shared;
	_glapi_set_context(&context);
	_mesa_init_performance_monitors(&context);

	puts("1..4");
	_mesa_GetPerfMonitorGroupsAMD(&groups, 0, NULL);
	check(groups == GROUPS - 1, "patched: a group without counters is left out");
	/* without the patch the groups have no counters: stop here */
	if (!context.PerfMonitor.Groups) {
		puts("Bail out! groups were announced and there are none");
		return 1;
	}
	_mesa_GetPerfMonitorGroupStringAMD(0, sizeof(name), NULL, name);
	check(!strcmp(name, "right"), "patched: the groups after it move up");
	_mesa_GetPerfMonitorCountersAMD(0, &counters, &max, 0, NULL);
	check(counters == ANNOUNCED && max == ANNOUNCED, "all counters of a group");
	_mesa_GetPerfMonitorCountersAMD(1, &counters, NULL, 0, NULL);
	check(counters == ANNOUNCED, "patched: not more counters than there is room for");
	_mesa_free_perfomance_monitor_groups(&context);
	return failed != 0;
}
