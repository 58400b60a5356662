// SPDX-License-Identifier: MIT
/* Engines of a V3D by its driver's file gpu_stats, as Linux 6.12 and 7.3 write it. */
#include "tree.h"

#define CARD "/sys/class/drm/card0"
#define DEVICE "/sys/devices/platform/axi/1002000000.v3d"
#define V3D "gpu_stats/1002000000.v3d:"

static void put_table(unsigned long long bin, unsigned long long render, unsigned int jobs)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "queue\ttimestamp\tjobs\truntime\nbin\t239043069420\t%u\t%llu\n"
		 "render\t239043069420\t%u\t%llu\ncache_clean\t239043069420\t3\t7\n",
		 jobs, bin, jobs + 1, render);
	put(DEVICE "/gpu_stats", text);
}

static void begin_card(void)
{
	begin();
	put_link(CARD "/device", "../../../devices/platform/axi/1002000000.v3d");
	put_table(1000, 5000, 10);
}

TEST_WITH(begin_card, end_tree, "times and jobs of the queues are counts")
{
	struct seen seen;

	start(V3D "engine-bin/," V3D "engine-render/," V3D "jobs-render/," V3D
		  "engine-cache_clean/",
	      4);
	put_table(1500, 25000, 12);
	seen = take_sample();
	EQUAL(seen.valid, 0xf);
	EQUAL(seen.values[0], 500);
	EQUAL(seen.values[1], 20000);
	EQUAL(seen.values[2], 2);
	EQUAL(seen.values[3], 0);
	/* it was bound again */
	put_table(10, 0, 0);
	CHECK(take_sample().states & DRM_PERFCTR_STATE_LOST);
}

TEST_WITH(begin_card, end_tree, "a time above that of an engine is no count")
{
	struct seen seen;

	start(V3D "engine-bin/", 1);
	put_table(1ull << 62, 5000, 10);
	seen = take_sample();
	EQUAL(seen.values[0], 0);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
}

TEST_WITH(begin_card, end_tree,
	  "another card with its number, and a file that is gone, are no values")
{
	start(V3D "jobs-bin/", 1);
	put_link(CARD "/device", "../../../devices/platform/other");
	put("/sys/devices/platform/other/gpu_stats",
	    "queue\ttimestamp\tjobs\truntime\nbin\t1\t5000\t5000\n");
	EQUAL(take_sample().valid, 0);
	put_link(CARD "/device", "../../../devices/platform/axi/1002000000.v3d");
	put_table(1000, 5000, 11);
	EQUAL(take_sample().values[0], 1);
	put(DEVICE "/gpu_stats", "");
	EQUAL(take_sample().valid, 0);
}

TEST_WITH(begin_card, end_tree, "other columns are refused")
{
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	put(DEVICE "/gpu_stats", "queue\ttimestamp\truntime\tjobs\nbin\t1\t2\t3\n");
	EQUAL(perfctr_selection_add(selection, V3D "engine-bin/"), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "its columns are not those that this perfctr knows");
	put_table(1, 1, 1);
	EQUAL(perfctr_selection_add(selection, V3D "engine-tfu/"), -ENOENT);
}
