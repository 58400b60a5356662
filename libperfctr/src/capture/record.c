// SPDX-License-Identifier: MIT
/* Accessing the content of a record. */
#include "capture.h"

#include <string.h>

EXPORT void perfctr_capture_copy(const struct perfctr_capture_record *record, void *to, size_t size)
{
	memset(to, 0, size);
	memcpy(to, record->content, record->size < size ? record->size : size);
}

EXPORT int perfctr_capture_text(const struct perfctr_capture_record *record, const char **key,
				const char **value)
{
	const char *text = record->content;
	size_t length = record->size ? strnlen(text, record->size) + 1 : record->size;

	if (length >= record->size ||
	    strnlen(text + length, record->size - length) == record->size - length)
		return -EBADMSG;
	*key = text;
	*value = text + length;
	return 0;
}
