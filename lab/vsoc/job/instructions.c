// SPDX-License-Identifier: MIT
#include "instructions.h"

#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define OPCODE(name)                      \
	{                                 \
#name, DRM_VSOC_OP_##name \
	}

static const struct {
	const char *mnemonic;
	uint16_t opcode;
} opcodes[] = {
	OPCODE(BMSK),	   OPCODE(BREV),      OPCODE(FLO),  OPCODE(IABS),    OPCODE(IADD),
	OPCODE(IADD3),	   OPCODE(IADD32I),   OPCODE(IDP),  OPCODE(IDP4A),   OPCODE(IMAD),
	OPCODE(IMMA),	   OPCODE(IMNMX),     OPCODE(IMUL), OPCODE(IMUL32I), OPCODE(ISCADD),
	OPCODE(ISCADD32I), OPCODE(ISETP),     OPCODE(LEA),  OPCODE(LOP),     OPCODE(LOP3),
	OPCODE(LOP32I),	   OPCODE(POPC),      OPCODE(SHF),  OPCODE(SHL),     OPCODE(SHR),
	OPCODE(VABSDIFF),  OPCODE(VABSDIFF4), OPCODE(FADD), OPCODE(FMUL),    OPCODE(FSEL),
	OPCODE(FSETP),	   OPCODE(LDG),	      OPCODE(STG),  OPCODE(LDS),     OPCODE(STS),
	OPCODE(BRA),	   OPCODE(EXIT),      OPCODE(I2F),  OPCODE(S2R),     OPCODE(NOP),
	OPCODE(BAR),	   OPCODE(MOV),	      OPCODE(SHFL), OPCODE(PMTRIG),
};

static const uint8_t guards[] = {
	[LISTING_ALWAYS] = DRM_VSOC_GUARD_TRUE,
	[LISTING_NEVER] = DRM_VSOC_GUARD_FALSE,
	[LISTING_TIMES] = DRM_VSOC_GUARD_TIMES,
};

/* Its opcode, 0: there is none. Modifiers are ignored. */
static uint16_t opcode_of(const char *mnemonic, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++)
		if (strlen(opcodes[i].mnemonic) == length &&
		    !memcmp(opcodes[i].mnemonic, mnemonic, length))
			return opcodes[i].opcode;
	return 0;
}

static bool knows(const char *mnemonic, size_t length)
{
	return opcode_of(mnemonic, length) != 0;
}

const struct listing_machine virtual_soc = { .name = "the virtual SoC", .knows = knows };

struct drm_vsoc_instruction *instructions_of(const struct listing *listing, char *error,
					     size_t error_bytes)
{
	struct drm_vsoc_instruction *to = calloc(listing->count, sizeof(*to));

	if (!to)
		snprintf(error, error_bytes, "out of memory");
	for (size_t i = 0; to && i < listing->count; i++) {
		const struct listing_instruction *from = &listing->instructions[i];
		const char *mnemonic = listing->mnemonics[i];

		to[i] = (struct drm_vsoc_instruction){
			.opcode = opcode_of(mnemonic, strcspn(mnemonic, ".")),
			.guard = guards[from->guard],
			.guard_times = from->guard_times,
			.target = from->target,
		};
		if (to[i].opcode)
			continue;
		snprintf(error, error_bytes, "'%s' is no instruction of %s", mnemonic,
			 virtual_soc.name);
		free(to);
		to = NULL;
	}
	return to;
}
