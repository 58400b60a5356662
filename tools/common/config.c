// SPDX-License-Identifier: MIT
/* Lines of a configuration file for inih, whole or refused. */
#include "config.h"

#include <stdarg.h>
#include <string.h>

int config_refuse(struct config_file *config, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(config->reason, sizeof(config->reason), format, args);
	va_end(args);
	config->wrong = config->line;
	return 0;
}

/* Of a section inih would cut a long name, and drop what follows it or if no key does. */
static void check_section(struct config_file *f, const char *section)
{
	const size_t length = strcspn(section, "]\n");
	const char *rest = section + length;

	if (*rest != ']') {
		config_refuse(f, "a section is [NAME]");
		return;
	}
	rest += 1 + strspn(rest + 1, " \t\r");
	if (length > CONFIG_SECTION_MOST)
		config_refuse(f, "[%.*s...]: the name of a section has at most %d bytes", 16,
			      section, CONFIG_SECTION_MOST);
	else if (!strchr(";#\n", *rest))
		config_refuse(f, "a section and '%.*s' in one line: write KEY = VALUE below",
			      (int)strcspn(rest, "\r\n"), rest);
}

char *config_line(char *line, int size, void *config)
{
	struct config_file *f = config;
	int used = 0, c = 0;

	if (f->wrong)
		return NULL;
	while (used + 1 < size && c != '\n' && (c = getc(f->file)) != EOF)
		line[used++] = (char)c;
	if (!used)
		return NULL;
	line[used] = '\0';
	f->line++;
	if (strlen(line) != (size_t)used)
		config_refuse(f, "a byte in it is 0");
	else if (c != '\n' && c != EOF)
		config_refuse(f, "longer than %d bytes: %s", size - 2, f->instead);
	else if (line[strspn(line, " \t")] == '[')
		check_section(f, line + strspn(line, " \t") + 1);
	return f->wrong ? NULL : line;
}
