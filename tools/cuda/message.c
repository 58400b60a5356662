// SPDX-License-Identifier: MIT
/* Messages to perfctr-validate. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "counter.h"

void say(const char *text)
{
	ssize_t sent;

	do
		sent = send(CUDA_SOCKET, text, strlen(text), MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	/* without the one who asked there is nothing to do */
	if (sent < 0)
		exit(1);
}

ssize_t hear(void *data, size_t size)
{
	ssize_t got;

	do
		got = recv(CUDA_SOCKET, data, size, 0);
	while (got < 0 && errno == EINTR);
	return got;
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
