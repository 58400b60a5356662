// SPDX-License-Identifier: MIT
#include <stdbool.h>
#include <stdio.h>

static int number, failed;

static void check(bool ok, const char *name)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", ++number, name);
	failed += !ok;
}
