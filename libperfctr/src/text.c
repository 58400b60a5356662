// SPDX-License-Identifier: MIT
/* Text of processes, files and drivers: any bytes, also cut within a character. */
#include "private.h"

/* Bytes of the printable UTF-8 character at text, 0 if there is none. */
static size_t character_length(const unsigned char *text)
{
	size_t length = *text < 0x80		      ? 1 :
			*text >= 0xc2 && *text < 0xe0 ? 2 :
			*text >= 0xe0 && *text < 0xf0 ? 3 :
			*text >= 0xf0 && *text < 0xf5 ? 4 :
							0;

	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* overlong forms, surrogates, beyond U+10FFFF; control characters */
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f) ||
	    text[0] < ' ' || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0))
		return 0;
	return length;
}

void perfctr_clean_text(char *text)
{
	while (*text) {
		const size_t length = character_length((unsigned char *)text);

		if (!length)
			*text = '?';
		text += length ? length : 1;
	}
}
