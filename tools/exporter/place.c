// SPDX-License-Identifier: MIT
/*
 * Where a process is, by the text of /proc/PID/cgroup. What users make below their own
 * "user@1000.service" is never taken for what kubelet or the system's manager made: nobody can
 * make series in the name of others.
 */
#include <ctype.h>
#include <string.h>

#include "clients.h"
#include "lib/json.h"

enum { CONTAINER_CHARS = 64, LEAST_POD_CHARS = 32, MOST_POD_CHARS = 36 };

/* a component of a path, without its end ".slice", ".scope" or ".service" */
struct part {
	const char *text;
	int length, whole; /* without and with that end */
	bool is_slice, is_unit;
};

static bool ends_with(const char *text, int length, const char *end)
{
	const int tail = (int)strlen(end);

	return length > tail && !memcmp(text + length - tail, end, (size_t)tail);
}

/* Return: whether there is another one; @at is behind it. */
static bool next_part(const char **at, struct part *part)
{
	static const char *const ends[] = { ".slice", ".scope", ".service" };

	*at += strspn(*at, "/");
	*part = (struct part){ .text = *at, .whole = (int)strcspn(*at, "/\n") };
	part->length = part->whole;
	*at += part->whole;
	/* of a cgroup that was removed while the process ends */
	if (ends_with(part->text, part->whole, " (deleted)"))
		part->length = part->whole -= (int)strlen(" (deleted)");
	for (size_t n = 0; n < ARRAY_SIZE(ends); n++) {
		if (!ends_with(part->text, part->whole, ends[n]))
			continue;
		part->length = part->whole - (int)strlen(ends[n]);
		part->is_slice = !n;
		part->is_unit = n;
		break;
	}
	return part->whole > 0;
}

static bool is(const struct part *part, const char *text)
{
	return part->length == (int)strlen(text) && !memcmp(part->text, text, strlen(text));
}

/* "kubepods-burstable-pod1234_5678.slice" of systemd, "pod1234-5678" of cgroupfs */
static bool take_pod(const struct part *part, struct place *place)
{
	int at = part->length;

	while (at > 0 && part->text[at - 1] != '-' && part->text[at - 1] != '/')
		at--;
	/* systemd's names have '-' before each level, and '_' for '-' */
	if (!part->is_slice)
		at = 0;
	if (part->length - at < 3 || memcmp(part->text + at, "pod", 3) != 0)
		return false;
	at += 3;
	if (part->length - at < LEAST_POD_CHARS || part->length - at > MOST_POD_CHARS)
		return false;
	for (int n = at; n < part->length; n++) {
		const char c = part->text[n];

		if (!isxdigit((unsigned char)c) && c != '-' && c != '_')
			return false;
	}
	for (int n = at; n < part->length; n++)
		place->pod[n - at] = (char)(part->text[n] == '_' ? '-' : part->text[n]);
	place->pod[part->length - at] = '\0';
	return true;
}

/* "docker-ID.scope", "cri-containerd-ID.scope", "libpod-ID", "ID", "PATH:cri-containerd:ID" */
static bool take_container(const struct part *part, struct place *place)
{
	const int at = part->length - CONTAINER_CHARS;

	if (at < 0 || (at && part->text[at - 1] != '-' && part->text[at - 1] != ':'))
		return false;
	/* the program that watches a container is not in it */
	if (memmem(part->text, (size_t)at, "conmon", strlen("conmon")))
		return false;
	for (int n = 0; n < CONTAINER_CHARS; n++)
		if (!isxdigit((unsigned char)part->text[at + n]))
			return false;
	memcpy(place->container, part->text + at, CONTAINER_CHARS);
	place->container[CONTAINER_CHARS] = '\0';
	return true;
}

/* @path: up to the end of its line. */
static void read_path(const char *path, struct place *place)
{
	bool of_user = false, in_kubepods = false;
	struct part part;

	*place = (struct place){ 0 };
	while (next_part(&path, &part)) {
		of_user |= part.is_slice && is(&part, "user");
		in_kubepods |= !of_user && (is(&part, "kubepods") ||
					    !strncmp(part.text, "kubepods-", strlen("kubepods-")));
		if (in_kubepods && !*place->pod && take_pod(&part, place))
			continue;
		if (!*place->container && take_container(&part, place)) {
			place->is_users = of_user;
			continue;
		}
		/* the outermost one is of the system's manager */
		if (part.is_unit && !*place->unit && !*place->container && !*place->pod)
			snprintf(place->unit, sizeof(place->unit), "%.*s", part.whole, part.text);
	}
	json_clean_field(place->unit);
}

static int rank(const struct place *place)
{
	return *place->pod ? 3 : *place->container ? 2 : *place->unit ? 1 : 0;
}

void place_read(const char *cgroup, const char *command, struct place *place)
{
	struct place best = { 0 };

	/* "0::/path" of version 2, "4:memory:/path" of version 1, of which a manager may use one */
	while (*cgroup) {
		const size_t line = strcspn(cgroup, "\n");
		const char *path = memchr(cgroup, ':', line);

		path = path ? memchr(path + 1, ':', line - (size_t)(path + 1 - cgroup)) : NULL;
		if (path)
			read_path(path + 1, place);
		if (path && rank(place) > rank(&best))
			best = *place;
		cgroup += line + (cgroup[line] == '\n');
	}
	*place = best;
	snprintf(place->command, sizeof(place->command), "%s", command);
	json_clean_field(place->command);
}
