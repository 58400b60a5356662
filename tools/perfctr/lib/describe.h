/* SPDX-License-Identifier: MIT */
/* Captures and rows in words, for report, diff and the plots. */
#pragma once

#include "capture_file.h"
#include "rows.h"

/* "NAME (DRIVER, NODE)". Return: @text. */
char *describe_device(const struct capture_file *file, char *text, size_t size);

/* "2026-11-21 07:31:12 UTC", empty if the capture has none. Return: @text. */
char *describe_date(const struct capture_file *file, char *text, size_t size);

/*
 * One sentence on a problem with the counts, NULL after the last one. n: 0.. ; text: buffer.
 * Return: @text.
 */
char *describe_trouble(const struct capture_file *file, size_t n, char *text, size_t size);

/* flags of samples that something is wrong with */
#define DESCRIBE_ODD_FLAGS                                                                   \
	(DRM_PERFCTR_SAMPLE_OVERFLOW | DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_RESET | \
	 DRM_PERFCTR_SAMPLE_SUSPENDED | DRM_PERFCTR_SAMPLE_UNPLUGGED)

/* "samples are marked: reset". Return: whether there are such flags. */
bool describe_flags(const struct perfctr_span *span, char *text, size_t size);

/* The value of a row with all digits; "not measured" or a similar text if there is none. */
char *describe_value(const struct row *row, char *text, size_t size);

/* The same with its unit: "1,000 bytes", of a metric "439.2 Mbytes/s". Return: @text. */
char *describe_value_unit(const struct row *row, char *text, size_t size);

/*
 * The rate of a row with its unit; blanks in place of the unit if it has none, so that numbers of a
 * column end at the same place. Return: @text.
 */
char *describe_rate(const struct row *row, char *text, size_t size);

/* Unit of rates in a timeline, or after timeline_use_shares(). Return: @text. */
char *describe_rate_unit(const struct row *row, bool of_shares, char *text, size_t size);

/* Notes on a value, separated by "; ", empty if there are none. Return: @text. */
char *describe_notes(const struct row *row, char *text, size_t size);
