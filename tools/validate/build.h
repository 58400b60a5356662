/* SPDX-License-Identifier: MIT */
/* Which build of a program it is. */
#pragma once

#include "base.h"

/* The id that the linker gave an ELF file of 64 bits, as hexadecimal digits; NULL: it has none. */
const char *build_id_of(struct arena *arena, const char *path);

/* The ids of this program and of libperfctr, if that is a file of its own. */
const char *build_id(struct arena *arena);
