/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exception codes: why a command stream stopped, why an address could not be translated.
 */
#ifndef _MALI_EXCEPTION_H_
#define _MALI_EXCEPTION_H_

#define MALI_EXCEPTION_CS_CONFIG_FAULT		0x40
#define MALI_EXCEPTION_CS_UNRECOVERABLE		0x41
#define MALI_EXCEPTION_CS_BUS_FAULT		0x48
#define MALI_EXCEPTION_CS_INSTR_INVALID		0x49
#define MALI_EXCEPTION_CS_CALL_STACK_OVERFLOW	0x4a
#define MALI_EXCEPTION_CS_INHERIT_FAULT		0x4b

/* the level of the page table is added */
#define MALI_EXCEPTION_TRANSLATION		0xc0
#define MALI_EXCEPTION_PERMISSION		0xc8
#define MALI_EXCEPTION_ACCESS_FLAG		0xd8
#define MALI_EXCEPTION_ADDRESS_SIZE_IN		0xe0
#define MALI_EXCEPTION_ADDRESS_SIZE_OUT		0xe4

#endif /* _MALI_EXCEPTION_H_ */
