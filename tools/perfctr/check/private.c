// SPDX-License-Identifier: MIT
/* Finds private words, paths and numbers in texts and puts a neutral word in their place. */
#include "private.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/app.h"

/* what is at the place of a private text; @length: of that text, 0: none is there */
struct found {
	size_t length;
	const char *instead;
};

struct words {
	struct utsname system;
	size_t host_length; /* without the domain */
	const char *users[4];
	const char *homes[2];
};

static void find_words(struct words *w)
{
	const struct passwd *entry = getpwuid(getuid());

	*w = (struct words){ .host_length = 0 };
	if (!uname(&w->system))
		w->host_length = strcspn(w->system.nodename, ".");
	if (!strcmp(w->system.nodename, "localhost") || *w->system.nodename == '(')
		w->host_length = 0;
	w->users[0] = getenv("USER");
	w->users[1] = getenv("LOGNAME");
	w->users[2] = getenv("SUDO_USER");
	w->users[3] = entry ? entry->pw_name : NULL;
	w->homes[0] = getenv("HOME");
	w->homes[1] = entry ? entry->pw_dir : NULL;
}

/* Whether a word is at @at, which is in @text, and is no part of a longer one. */
static bool is_word(const char *text, const char *at, const char *word, size_t length)
{
	return length && !strncasecmp(at, word, length) && !isalnum((unsigned char)at[length]) &&
	       (at == text || !isalnum((unsigned char)at[-1]));
}

/* Length of groups of hexadecimal digits with separators; 0: they are not there. */
static size_t hex_groups(const char *at, const unsigned int *digits, size_t groups, char separator)
{
	const char *end = at;

	for (size_t g = 0; g < groups; g++) {
		if (g && *end++ != separator)
			return 0;
		for (unsigned int n = 0; n < digits[g]; n++)
			if (!isxdigit((unsigned char)*end++))
				return 0;
	}
	return isxdigit((unsigned char)*end) ? 0 : (size_t)(end - at);
}

static size_t path_length(const char *at)
{
	return strcspn(at, " \t\n\"'`;,()");
}

static struct found find_home(const struct words *w, const char *at)
{
	for (size_t n = 0; n < ARRAY_SIZE(w->homes); n++) {
		const size_t length = w->homes[n] ? strlen(w->homes[n]) : 0;

		if (length > 1 && !strncmp(at, w->homes[n], length) &&
		    (at[length] == '/' || !isalnum((unsigned char)at[length])))
			return (struct found){ path_length(at), "HOME" };
	}
	if (!strncmp(at, "/home/", 6) || !strncmp(at, "/root/", 6))
		return (struct found){ path_length(at), "HOME" };
	return (struct found){ 0 };
}

static struct found find_number(const char *text, const char *at)
{
	static const unsigned int mac[] = { 2, 2, 2, 2, 2, 2 }, uuid[] = { 8, 4, 4, 4, 12 };
	const bool begins = at == text || !isxdigit((unsigned char)at[-1]);
	size_t length = begins ? hex_groups(at, mac, ARRAY_SIZE(mac), ':') : 0;

	if (!length && begins)
		length = hex_groups(at, mac, ARRAY_SIZE(mac), '-');
	if (length)
		return (struct found){ length, "MAC" };
	length = begins ? hex_groups(at, uuid, ARRAY_SIZE(uuid), '-') : 0;
	return (struct found){ length, "UUID" };
}

static struct found find(const struct words *w, const char *text, const char *at)
{
	struct found found = *at == '/' ? find_home(w, at) : find_number(text, at);

	if (found.length)
		return found;
	/* its domain, too */
	if (is_word(text, at, w->system.nodename, strlen(w->system.nodename)) && w->host_length)
		return (struct found){ strlen(w->system.nodename), "HOST" };
	if (is_word(text, at, w->system.nodename, w->host_length))
		return (struct found){ w->host_length, "HOST" };
	for (size_t n = 0; n < ARRAY_SIZE(w->users); n++)
		if (w->users[n] && strcmp(w->users[n], "root") != 0 &&
		    is_word(text, at, w->users[n], strlen(w->users[n])))
			return (struct found){ strlen(w->users[n]), "USER" };
	return (struct found){ 0 };
}

static int clean_text(const struct words *w, struct json_object *value)
{
	const char *text = json_object_get_string(value), *at = text;
	bool changed = false;
	size_t size;
	char *clean;
	FILE *to = open_memstream(&clean, &size);

	if (!to)
		return -ENOMEM;
	while (*at) {
		const struct found found = find(w, text, at);

		if (found.length)
			fputs(found.instead, to);
		else
			fputc(*at, to);
		at += found.length ? found.length : 1;
		changed |= found.length;
	}
	if (fclose(to))
		return -ENOMEM;
	if (changed)
		changed = json_object_set_string(value, clean);
	free(clean);
	return 0;
}

static int clean(const struct words *w, struct json_object *value)
{
	int error = 0;

	switch (json_object_get_type(value)) {
	case json_type_string:
		return clean_text(w, value);
	case json_type_array:
		for (size_t n = 0; !error && n < json_object_array_length(value); n++)
			error = clean(w, json_object_array_get_idx(value, n));
		return error;
	case json_type_object: {
		json_object_object_foreach(value, name, member)
		{
			(void)name;
			error = error ? error : clean(w, member);
		}
		return error;
	}
	default:
		return 0;
	}
}

int private_remove(struct json_object *value)
{
	struct words words;

	find_words(&words);
	return clean(&words, value);
}
