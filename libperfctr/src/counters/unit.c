// SPDX-License-Identifier: MIT
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tables.h"

/* Words of pages; they are never removed. */
static struct table_unit own[UNIT_WORDS];
static atomic_size_t own_count;

/* NULL: there are no more words. */
static const struct table_unit *word_at(size_t n)
{
	if (n < table_units_count)
		return &table_units[n];
	n -= table_units_count;
	return n < atomic_load_explicit(&own_count, memory_order_acquire) ? &own[n] : NULL;
}

const char *unit_plural(const char *word)
{
	const struct table_unit *w;

	for (size_t n = 0; (w = word_at(n)); n++)
		if (!strcasecmp(w->plural, word) || !strcasecmp(w->singular, word))
			return w->plural;
	return NULL;
}

bool unit_add_word(const char *plural)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	size_t length = strlen(plural), n;

	if (length < 2 || strspn(plural, "abcdefghijklmnopqrstuvwxyz") != length ||
	    plural[length - 1] != 's')
		return false;
	pthread_mutex_lock(&lock);
	n = own_count;
	if (!unit_plural(plural) && table_units_count + n < UNIT_WORDS) {
		own[n].plural = strdup(plural);
		own[n].singular = strndup(plural, length - 1);
		if (own[n].plural && own[n].singular)
			atomic_store_explicit(&own_count, n + 1, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	return unit_plural(plural);
}

static bool add_word(const char *word, size_t length, int power, struct unit *unit)
{
	const struct table_unit *w;

	for (size_t n = 0; (w = word_at(n)); n++) {
		if ((strlen(w->plural) == length && !memcmp(w->plural, word, length)) ||
		    (strlen(w->singular) == length && !memcmp(w->singular, word, length))) {
			unit->power[n] = (signed char)(unit->power[n] + power);
			return true;
		}
	}
	return false;
}

bool unit_read(const char *text, struct unit *unit)
{
	int power = 1;

	memset(unit, 0, sizeof(*unit));
	if (!*text || !strcmp(text, "%"))
		return true;
	for (;;) {
		size_t length = strcspn(text, "/ ");

		if (length == 2 && !memcmp(text, "Hz", 2)) {
			if (!add_word("cycle", 5, power, unit) || !add_word("s", 1, -power, unit))
				return false;
		} else if (!add_word(text, length, power, unit)) {
			return false;
		}
		text += length;
		if (!*text)
			return true;
		if (*text == '/') {
			power = -1;
			text++;
		} else if (strncmp(text, " x ", 3)) {
			return false;
		} else {
			text += 3;
		}
	}
}

void unit_text(const struct unit *unit, char *text, size_t size)
{
	const struct table_unit *w;
	bool is_empty = true;
	size_t used = 0;

	*text = '\0';
	for (int over = 1; over >= 0; over--) {
		for (size_t n = 0; (w = word_at(n)); n++) {
			int times = over ? unit->power[n] : -unit->power[n];

			for (; times > 0 && used < size; times--, is_empty = false)
				used += (size_t)snprintf(text + used, size - used, "%s%s",
							 !over ? (is_empty ? "1/" : "/") :
								 (is_empty ? "" : " x "),
							 over ? w->plural : w->singular);
		}
	}
}

bool unit_equal(const struct unit *a, const struct unit *b)
{
	return !memcmp(a, b, sizeof(*a));
}
