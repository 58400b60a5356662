// SPDX-License-Identifier: MIT
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "tables.h"

static bool add_word(const char *word, size_t length, int power, struct unit *unit)
{
	for (size_t n = 0; n < table_units_count; n++) {
		const char *singular = table_units[n].singular, *plural = table_units[n].plural;

		if ((strlen(plural) == length && !memcmp(plural, word, length)) ||
		    (strlen(singular) == length && !memcmp(singular, word, length))) {
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
	bool is_empty = true;
	size_t used = 0;

	*text = '\0';
	for (int over = 1; over >= 0; over--) {
		for (size_t n = 0; n < table_units_count; n++) {
			int times = over ? unit->power[n] : -unit->power[n];

			for (; times > 0 && used < size; times--, is_empty = false)
				used += (size_t)snprintf(
					text + used, size - used, "%s%s",
					!over ? (is_empty ? "1/" : "/") : (is_empty ? "" : " x "),
					over ? table_units[n].plural : table_units[n].singular);
		}
	}
}

void unit_words(char *text, size_t size)
{
	size_t used = 0;

	for (size_t n = 0; n < table_units_count && used < size; n++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", n ? ", " : "",
					 table_units[n].plural);
}

bool unit_equal(const struct unit *a, const struct unit *b)
{
	return !memcmp(a, b, sizeof(*a));
}
