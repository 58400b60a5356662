/* SPDX-License-Identifier: MIT */
/* A made-up /proc and /sys in a folder, and a session of the local device that reads it. */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

static struct perfctr_sys sys;
static char root[32];

/* --- the tree ---------------------------------------------------------------------- */

/* Path below the tree for what it has. */
static inline const char *in_tree(const char *path, char *text)
{
	if (strncmp(path, "/proc", 5) && strncmp(path, "/sys/class", 10) &&
	    strncmp(path, "/sys/bus/platform", 17) && strncmp(path, "/sys/bus/pci", 12) &&
	    strncmp(path, "/sys/dev/char", 13))
		return path;
	snprintf(text, PATH_BYTES, "%s%s", root, path);
	return text;
}

static inline int tree_open(void *data, const char *path, int flags)
{
	char text[PATH_BYTES];

	return perfctr_sys_real.open(data, in_tree(path, text), flags);
}

static inline int tree_readlink(void *data, const char *path, char *target, size_t size)
{
	char text[PATH_BYTES];

	return perfctr_sys_real.readlink(data, in_tree(path, text), target, size);
}

/* "/anywhere/226:129" is a node of that number; others cannot be found out. */
static inline int tree_node_number(void *data, const char *path, unsigned int *major,
				   unsigned int *minor)
{
	char target[PATH_BYTES];

	if (tree_readlink(data, path, target, sizeof(target)) < 0 ||
	    sscanf(strrchr(target, '/'), "/%u:%u", major, minor) != 2)
		return -ENOENT;
	return 0;
}

static unsigned int searches; /* of all processes */
static unsigned int sensor_lists; /* lists of a chip's files */

static inline int tree_list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	char text[PATH_BYTES];

	searches += !strcmp(path, "/proc");
	sensor_lists += !strncmp(path, "/sys/class/hwmon/hwmon", 22);
	return perfctr_sys_real.list(data, in_tree(path, text), fn, arg);
}

static inline void put_bytes(const char *path, const void *content, size_t bytes)
{
	char text[PATH_BYTES + sizeof(root)];
	FILE *file;

	snprintf(text, sizeof(text), "%s%s", root, path);
	for (char *slash = text + strlen(root); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(text, 0755);
		*slash = '/';
	}
	if (!strcmp(strrchr(text, '/'), "/."))
		return;
	file = fopen(text, "w");
	if (!file || fwrite(content, 1, bytes, file) != bytes || fclose(file))
		abort();
}

static inline void put(const char *path, const char *content)
{
	put_bytes(path, content, strlen(content));
}

/* A symbolic link, whose target is below the same folder. */
static inline void put_link(const char *path, const char *target)
{
	char text[PATH_BYTES];

	snprintf(text, sizeof(text), "%s%s", root, path);
	unlink(text);
	/* for the folders above it */
	put(path, "");
	unlink(text);
	if (symlink(target, text))
		abort();
}

static inline int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static inline void drop(const char *path)
{
	char text[PATH_BYTES];

	snprintf(text, sizeof(text), "%s%s", root, path);
	nftw(text, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void begin(void)
{
	strcpy(root, "/tmp/perfctr-XXXXXX");
	if (!mkdtemp(root))
		abort();
	sys = perfctr_sys_real;
	sys.open = tree_open;
	sys.readlink = tree_readlink;
	sys.node_number = tree_node_number;
	sys.list = tree_list;
	put("/sys/class/drm/version", "drm\n");
	put("/proc/stat", "");
	EQUAL(perfctr_ctx_new_with(&sys, &ctx), 0);
	open_device(PERFCTR_DEVICE_LOCAL);
}

static inline void start(const char *events, int count)
{
	EQUAL(perfctr_selection_add(selection, events), count);
	EQUAL(perfctr_session_new(selection, NULL, &session), 0);
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	EQUAL(perfctr_session_start(session, 0), 0);
}

static inline void end_tree(void)
{
	end();
	drop("");
}

struct seen {
	uint64_t values[16], lost_ns;
	uint32_t states, valid; /* valid: mask of blocks */
};

static inline struct seen take_sample(void)
{
	struct seen seen = { 0 };
	struct perfctr_sample sample;
	struct perfctr_block block;

	EQUAL(perfctr_session_sample(session, 0), 0);
	EQUAL(perfctr_cursor_next(cursor, &sample), 1);
	seen.lost_ns = sample.lost_ns;
	for (unsigned int n = 0; perfctr_decode_block(&sample, &block) > 0; n++) {
		seen.values[n] = perfctr_block_value(&block, 0);
		seen.valid |= (uint32_t)(block.valid_mask & 1) << n;
		seen.states |= block.states;
	}
	perfctr_cursor_advance(cursor, 1);
	/* a loss is said by block and by time, or not at all */
	EQUAL(!!(seen.states & DRM_PERFCTR_STATE_LOST), !!seen.lost_ns);
	return seen;
}
