// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of PCOUNTER's RECORD mode inside the kernel.
 */
#include "kunit_native.h"
#include "../../source/pcounter/pcounter_record.c"
#include "../../vsoc/nv50/pm_model.c"
#include "../native/test_record.c"

KUNIT_NATIVE_SUITE("perfctr_record");
