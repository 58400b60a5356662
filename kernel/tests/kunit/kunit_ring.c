// SPDX-License-Identifier: GPL-2.0
/*
 * The ring inside the kernel.
 */
#include "kunit_native.h"
#include "../../perfctr/perfctr_ring.c"
#include "../native/test_ring.c"

KUNIT_NATIVE_SUITE("perfctr_ring");

MODULE_DESCRIPTION("Tests of the counter core and the CSF source");
MODULE_LICENSE("GPL");
