/* SPDX-License-Identifier: GPL-2.0 */
/* What kernels of arm64 before the drivers lack, of all that these call. */
#ifndef _ACPI_CPU_UID_H_
#define _ACPI_CPU_UID_H_

#include <linux/acpi.h>

static inline int acpi_get_cpu_uid(unsigned int cpu, u32 *uid)
{
	*uid = get_acpi_id_for_cpu(cpu);
	return 0;
}

#endif /* _ACPI_CPU_UID_H_ */
