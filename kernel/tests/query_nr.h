/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Programs that call the ioctls themselves: the number of a DRM file's QUERY. */
#ifndef QUERY_NR_H
#define QUERY_NR_H

#include <stdio.h>

/* from fdinfo; 0: the file offers no counters */
static inline unsigned int query_nr(int fd)
{
	char path[64], line[128];
	unsigned int nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "drm-perfctr: %*u ioctls %x", &nr) == 1)
			break;
	if (f)
		fclose(f);
	return nr;
}

#endif /* QUERY_NR_H */
