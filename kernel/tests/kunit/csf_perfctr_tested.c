// SPDX-License-Identifier: GPL-2.0
/*
 * csf_perfctr.c as a part of this module, with the core's functions replaced.
 */
#include "kunit_csf.h"
#include "../../source/csf/csf_perfctr.c"
