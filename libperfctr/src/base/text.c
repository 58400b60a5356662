// SPDX-License-Identifier: MIT
/* Text of processes, files and drivers: any bytes, also cut within a character. */
#include "ctx.h"

/*
 * Whether a character shows nothing, but changes the order or the lines of others: U+061C, U+200B
 * to U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF.
 */
static bool is_format(const unsigned char *text)
{
	if (text[0] == 0xd8)
		return text[1] == 0x9c;
	if (text[0] == 0xe2 && text[1] == 0x80)
		return (text[2] >= 0x8b && text[2] <= 0x8f) || (text[2] >= 0xa8 && text[2] <= 0xae);
	if (text[0] == 0xe2 && text[1] == 0x81)
		return text[2] >= 0xa0 && text[2] <= 0xaf;
	return text[0] == 0xef && text[1] == 0xbb && text[2] == 0xbf;
}

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
	/* overlong forms, surrogates, beyond U+10FFFF; control and format characters */
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f) ||
	    text[0] < ' ' || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0) ||
	    is_format(text))
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
