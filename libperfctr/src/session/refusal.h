/* SPDX-License-Identifier: MIT */
/* Explains why the kernel refuses a session. */
#pragma once

#include "private.h"

/* Store the reason for an error of SETUP as the context's error text. */
void refusal_explain(struct perfctr_selection *selection, const struct drm_perfctr_setup *setup,
		     int error);
