// SPDX-License-Identifier: GPL-2.0
/*
 * csf_sample.c as a part of this module: not exported a second time.
 */
#include <linux/export.h>
#include <linux/module.h>

#include "kunit_csf.h"
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(symbol)
#undef MODULE_DESCRIPTION
#define MODULE_DESCRIPTION(text)
#undef MODULE_LICENSE
#define MODULE_LICENSE(text)
#include "../../csf/csf_sample.c"
