// SPDX-License-Identifier: MIT
/* Messages to perfctr-validate. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "counter.h"

void say(const char *text)
{
	/* without the one who asked there is nothing to do */
	if (send(CUDA_SOCKET, text, strlen(text), MSG_NOSIGNAL) < 0)
		exit(1);
}

void say_step(const char *format, ...)
{
	char text[512] = "at ";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + strlen(text), sizeof(text) - strlen(text), format, arguments);
	va_end(arguments);
	say(text);
}

void end_with_error(const char *kind, const char *format, ...)
{
	char text[4096];
	va_list arguments;
	int length = snprintf(text, sizeof(text), "error %s ", kind);

	va_start(arguments, format);
	vsnprintf(text + length, sizeof(text) - (size_t)length, format, arguments);
	va_end(arguments);
	say(text);
	exit(1);
}
