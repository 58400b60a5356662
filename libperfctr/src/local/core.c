// SPDX-License-Identifier: MIT
/* The core's pure files, which are GPL-2.0 OR MIT: the same code writes rings and samples here. */
#pragma GCC diagnostic ignored "-Wsign-compare"
#ifdef __clang__
#pragma clang diagnostic ignored "-Wc2x-extensions"
#endif
#include "../../../kernel/perfctr/perfctr_block.c"
#include "../../../kernel/perfctr/perfctr_layout.c"
#include "../../../kernel/perfctr/perfctr_ring.c"
#include "../../../kernel/perfctr/pmu/pmu_layout.c"
