/* SPDX-License-Identifier: MIT */
/* The parts of cuda-counter. */
#pragma once

#include <sys/types.h>

#include "cuda.h"
#include "protocol.h"

#define DECLARE(name, arguments) extern int(*name) arguments;
CUDA_FUNCTIONS(DECLARE)
CUPTI_FUNCTIONS(DECLARE)
#undef DECLARE

/* Open the libraries; does not return if that fails. */
void library_open_driver(void);
void library_open_cupti(void);
/* The file of CUPTI that was taken; files that were refused before it, with reasons, or "". */
const char *library_cupti_path(void);
const char *library_refused(void);

/* Send a message. */
void say(const char *text);

/* Receive a message. Return: its length, 0 or less at the end */
ssize_t hear(void *data, size_t size);

/* "at STEP" */
void say_step(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "error KIND TEXT"; the program ends */
_Noreturn void end_with_error(const char *kind, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define ABSENT "absent"
#define OTHER "other"
#define DENIED "denied"
#define FAILED "failed"

/* End with an error if a function of the driver, or of CUPTI, failed. @what: for people */
void check_driver(int result, const char *what);
void check_cupti(int result, const char *what);
/* What a result of CUPTI means. @text: room for an unknown one */
const char *cupti_text(int result, char *text, size_t size);
