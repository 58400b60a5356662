/* SPDX-License-Identifier: MIT */
/* Listings in the kernel's format. */
#pragma once

#include <drm/vsoc_drm.h>

#include "common/listing.h"

/* the instructions that the virtual SoC executes */
extern const struct listing_machine virtual_soc;

/*
 * The instructions of a listing of @virtual_soc.
 * @error: set to a reason if the result is NULL.
 * Return: an array of listing->count, to be freed; NULL: out of memory, or the virtual SoC has no
 * such instruction.
 */
struct drm_vsoc_instruction *instructions_of(const struct listing *listing, char *error,
					     size_t error_bytes);
