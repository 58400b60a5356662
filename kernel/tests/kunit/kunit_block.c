// SPDX-License-Identifier: GPL-2.0
/*
 * Blocks and the layout of samples inside the kernel.
 */
#include "kunit_native.h"
#include "../../perfctr/perfctr_block.c"
#include "../../perfctr/perfctr_layout.c"
#include "../../perfctr/pmu/pmu_layout.c"
#include "../native/test_block.c"

KUNIT_NATIVE_SUITE("perfctr_block");
