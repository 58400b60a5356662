// SPDX-License-Identifier: MIT
/* The common part of kernel and library: the same code writes rings and samples here. */
#pragma GCC diagnostic ignored "-Wsign-compare"
#ifdef __clang__
#pragma clang diagnostic ignored "-Wc2x-extensions"
#endif
#include "format/perfctr_block.c"
#include "format/perfctr_layout.c"
#include "format/perfctr_ring.c"
#include "format/pmu_layout.c"
