// SPDX-License-Identifier: MIT
/* Recognises the machine of a program by what its instructions look like. */
#include "architecture.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base.h"

enum { TOKEN_BYTES = 24 };

/* extended regular expressions, of whole words without case; NULL: none */
struct pattern {
	const char *text;
	regex_t regex;
	bool is_compiled;
};

/* the only one of these that is supported */
static const char riscv_name[] = "RISC-V";

#define RISCV_REGISTER "(x[0-9]+|zero|ra|[sgt]p|a[0-7]|s[0-9]+|t[0-6])"

/*
 * Machines by their names: file formats of objdump, and instructions that no other machine prints
 * like this: "MNEMONIC OPERANDS". Registers such as a0 and r1 name none: many have them.
 */
static struct {
	const char *name;
	struct pattern format, instruction;
} foreign[] = {
	{ "AMD GCN or RDNA",
	  { .text = "elf64-amdgpu|.*amdgcn.*" },
	  { .text = "s_(endpgm|waitcnt|cbranch_[a-z0-9_]+) .*|"
		    "[sv]_[a-z0-9_]+_[biuf](16|32|64)(_[a-z0-9]+)? .*" } },
	{ "NVIDIA PTX",
	  { .text = ".*nvptx.*" },
	  { .text = "(ld|st)\\.(param|global|shared|const)\\.[a-z0-9.]+ .*" } },
	{ riscv_name,
	  { .text = ".*riscv.*" },
	  { .text = "(auipc|addiw|subw|mulw|sext\\.w|csrr[wsc]?i?) .*|"
		    "mv " RISCV_REGISTER ", ?" RISCV_REGISTER "|"
		    "addi (x[0-9]+|zero|ra|a0|[st][0-9]+), ?(x[0-9]+|zero|ra|a0|[st][0-9]+),.*" } },
	{ "LoongArch",
	  { .text = ".*loongarch.*" },
	  { .text = "(addi\\.[wd]|lu12i\\.w|jirl|pcaddu12i|pcalau12i|bceqz|bcnez) \\$.*" } },
	{ "MIPS", { .text = ".*mips.*" }, { .text = "d?addiu .*" } },
	{ "PowerPC",
	  { .text = ".*(powerpc|ppc|rs6000|xcoff).*" },
	  { .text = "(mflr|mtlr|mtctr|bdnz|stwu|stdu) .*" } },
	{ "s390x",
	  { .text = ".*s390.*" },
	  { .text = "(brasl|larl|stmg|lmg|brctg|aghi) %r[0-9]+,.*" } },
	{ "SPARC", { .text = ".*sparc.*" }, { .text = "retl |.*%[goli][0-7].*" } },
	{ "32-bit Arm",
	  { .text = "elf32-(little|big)arm|.*-arm|arm.*|.*thumb.*" },
	  { .text = "(push|pop)(\\.w)? \\{.*|bx lr" } },
	{ "eBPF", { .text = ".*bpf.*" }, { .text = "if [rw][0-9] .* goto .*" } },
	{ "Mali",
	  { .text = ".*mali.*|.*bifrost.*|.*valhall.*" },
	  { .text = "(BRANCHZ|CLPER|LD_VAR|LEA_TEX|TEXC|TEXS|NEXPORT)[A-Z_0-9]*(\\.[^ ]*)? .*" } },
	{ "AVR", { .text = ".*avr.*" }, { .text = "(sbiw|adiw|rjmp|rcall|brne|breq) .*" } },
	{ "Xtensa",
	  { .text = ".*xtensa.*" },
	  { .text = "(entry|l32r|l32i|s32i|retw|movi)(\\.n)? a[0-9]+,.*|addi(\\.n)? a[1-9].*" } },
	{ "OpenRISC", { .text = ".*or1k.*|.*openrisc.*" }, { .text = "l\\.[a-z]+ .*" } },
	{ "MicroBlaze",
	  { .text = ".*microblaze.*" },
	  { .text = "(addik|rtsd|bneid|beqid|brlid|swi|lwi) .*" } },
	{ "C-SKY", { .text = ".*csky.*" }, { .text = "(bez|lrw|subi|jmpix) r[0-9]+.*" } },
	{ "MSP430", { .text = ".*msp430.*" }, { .text = "j(nz|z|mp|c|nc) \\$[-+].*" } },
	{ "SuperH", { .text = ".*-sh.*" }, { .text = "(bt|bf)(\\.s|/s)? [0-9a-f]+|mov\\.l @.*" } },
	{ "m68k",
	  { .text = ".*m68k.*" },
	  { .text = ".*%[ad][0-7]@.*|(moveq|lea|dbf) .*%[ad][0-7]" } },
	{ "Hexagon", { .text = ".*hexagon.*" }, { .text = "\\{.*r[0-9]+ = .*" } },
	{ "ARC", { .text = ".*arc.*" }, { .text = NULL } },
	{ "Adreno (ir3)", { .text = NULL }, { .text = "\\((sy|ss|jp|rpt[0-9])\\).*" } },
	{ "Intel EU", { .text = NULL }, { .text = "[a-z.0-9]+\\([0-9]+\\) .*g[0-9]+.*" } },
};

_Static_assert(ARRAY_SIZE(foreign) <= 8 * sizeof(((struct architecture *)0)->names), "names");

/* what the supported machines have */
static struct pattern
	x86_format = { .text = "(elf(32|64)|pei?|coff|mach-o|a\\.out|efi-app)-?(x86|i.86|ia32|"
			       "x64|amd64).*|elf32-iamcu.*" },
	arm64_format = { .text = ".*(aarch64|arm64).*" };
static struct pattern no_format = { .text = "binary|srec|symbolsrec|ihex|tekhex|verilog" };
static struct pattern x86_token = {
	.text = "%?([re]?(ax|bx|cx|dx|si|di|bp|sp|ip)|[abcd][lh]|(si|di|bp|sp)l|r([89]|"
		"1[0-5])[dwb]?|"
		"[xyz]?mm[0-9]+|[cdefgs]s|st|k[0-7]|[cd]r[0-9]+|bnd[0-3]|riz|eiz)|"
		"%st|([dqxyzt]?mm)?(byte|o?word|dword|qword|tbyte|ptr)"
};
static struct pattern arm64_token = {
	.text = "([xw]([12]?[0-9]|30)|w?sp|[xw]zr|[bhsdqvz]([12]?[0-9]|3[01])(\\..*)?|pn?([0-9]|"
		"1[0-5])"
		"(\\..*|/[mz])?|za[0-9]*.*|lr|nzcv|fpcr|fpsr|daif|[a-z0-9_]+_el[0-3])"
};
/* what begins as a branch: others of that beginning are of another machine */
static struct pattern x86_branch = {
	.text = "j(mp[lqw]?|n?[abglceopsz]|n?[abgl]e|p[eo]|[er]?cxz)(,p[tn])?|bs[fr].?|"
		"bt[crs]?.?|bswap.?|"
		"bound.?|bextr.?|bls.*|bzhi.?|bnd.*|bl[ct].*|loop.*"
};
static struct pattern arm64_branch = {
	.text = "b|bl|br|blr|b\\.[a-z]+|bc\\.[a-z]+|bl?ra[ab]z?|brk|bti|bf.*|bic.*|bi[ft]|bsl.*|"
		"bcax|bdep|"
		"bext|bgrp|bmop[as]|br[kn][a-z]*|b1.*"
};
/* words of branches, calls and ends that have no such beginning there */
static struct pattern elsewhere = {
	.text = "ret[a-z].*|rts|jal.*|jr.*|jirl|call\\..*|tail|auipc|addiu|daddiu|lui|sethi|"
		"retl|restore|"
		"(s|v)_[a-z0-9_]+|[a-z.0-9]+\\([0-9]+\\).*|goto|exit|if|bra|brct.*|pop\\..*"
};
static struct pattern x86_returns = { .text = "ret[lqwf]?|retn?" };
static struct pattern arm64_returns = { .text = "reta[ab](sppcr?)?|ret" };
/* registers that neither of them has */
static struct pattern foreign_token = {
	.text = "\\$[a-z][a-z0-9]*|%([goli][0-7]|[rfav][0-7]|f[0-9]+|v[0-9]+|fp|[ix]cc|rd[0-9]+|"
		"rs[0-9]+)|"
		"[at][0-9]|r[0-7]|ra|zero|[gt]p|f[ast][0-9]+|cr[0-7]"
};
/* capital letters of a GPU that is not NVIDIA's, and branches that have no target in a listing */
static struct pattern gpu_elsewhere = {
	.text = "(BRANCH|JUMP|BLEND|CLPER|DISCARD|LD_VAR|LEA_TEX|TEXC|"
		"NEXPORT)[A-Z_0-9]*(\\..*)?|B\\..*|"
		"(BRX|BRXU|JMX|JMXU|JMP|CALL|CAL|JCAL|PCAL|RET|PRET|SYNC|BSYNC|BRK|PBK|CONT|"
		"PCNT|SSY|KILL|"
		"RTT|LONGJMP|PLONGJMP|BPT|J|JR|JAL|JALR|BL|BLR|BR)(\\..*)?"
};

/* what may have an address as its last operand, which looks like a register: "a0" */
static struct pattern has_address = {
	.text = "j.*|b.*|call.*|cbn?z|tbn?z|loop.*|xbegin|adrp?|ldr(sw)?|prfm"
};

static bool fits(struct pattern *pattern, const char *word, int flags)
{
	char whole[1024];

	if (!pattern->text)
		return false;
	if (!pattern->is_compiled) {
		snprintf(whole, sizeof(whole), "^(%s)$", pattern->text);
		pattern->is_compiled =
			!regcomp(&pattern->regex, whole, REG_EXTENDED | REG_NOSUB | flags);
	}
	return pattern->is_compiled && !regexec(&pattern->regex, word, 0, NULL, 0);
}

static bool same(struct pattern *pattern, const char *word)
{
	return fits(pattern, word, REG_ICASE);
}

static char *copy_word(char *word, const char *from, size_t length)
{
	snprintf(word, TOKEN_BYTES, "%.*s", (int)(length < TOKEN_BYTES ? length : TOKEN_BYTES - 1),
		 from);
	return word;
}

/* The next register or name of the operands: "%rax", "$a0", "v0.4s". */
static const char *next_token(const char *at, const char *end, char *word)
{
	static const char inside[] = "%$_.[/";
	const char *start;

	while (at < end && !isalpha((unsigned char)*at) && !strchr("%$_", *at)) {
		/* not the letters of a number */
		if (isdigit((unsigned char)*at))
			while (at < end && isalnum((unsigned char)*at))
				at++;
		else
			at++;
	}
	start = at;
	while (at < end && *at && (isalnum((unsigned char)*at) || strchr(inside, *at)))
		at++;
	if (at == start)
		return NULL;
	copy_word(word, start, (size_t)(at - start));
	return at;
}

/* the end of the operands without an address that a branch goes to */
static const char *registers_end(const struct printed *p, const char *mnemonic)
{
	const char *end = p->operands + p->operands_length, *at = end;

	while (at > p->operands && isxdigit((unsigned char)at[-1]))
		at--;
	/* digits that are a whole operand */
	return (at == p->operands || strchr(", \t", at[-1])) && same(&has_address, mnemonic) ? at :
											       end;
}

/* the bytes are groups of two digits, not one number of eight */
static bool is_bytes(const struct printed *p)
{
	return p->bytes_length && (p->bytes_length < 3 || !isxdigit((unsigned char)p->bytes[2]));
}

/*
 * Whether arm64's instruction of this encoding goes where one of this mnemonic does: branches,
 * returns and calls have encodings of their own (Arm ARM, C4.1).
 */
static bool agrees_with_arm64(const struct printed *p, const char *mnemonic)
{
	unsigned int code, word;
	bool branches, named;

	if (p->bytes_length < 8 || is_bytes(p) || sscanf(p->bytes, "%8x", &word) != 1)
		return true;
	code = word >> 26;
	/* b, bl; cbz, cbnz, tbz, tbnz; b.cond, bc.cond; br, blr, ret and relatives */
	branches = code == 0x05 || code == 0x25 || (word & 0x7c000000) == 0x34000000 ||
		   (word & 0xfe000000) == 0x54000000 || (word & 0xfe000000) == 0xd6000000;
	named = *mnemonic == 'b' &&
		(!mnemonic[1] || strchr("lr.", mnemonic[1]) || !strncmp(mnemonic, "bc.", 3));
	named |= !strncmp(mnemonic, "ret", 3) || !strncmp(mnemonic, "cbz", 3) ||
		 !strncmp(mnemonic, "cbnz", 4) || !strncmp(mnemonic, "tb", 2) ||
		 !strncmp(mnemonic, "eret", 4) || !strncmp(mnemonic, "drps", 4);
	named &= strncmp(mnemonic, "brk", 3) && strncmp(mnemonic, "brn", 3) &&
		 strcmp(mnemonic, "tbl") && strcmp(mnemonic, "tbx");
	return branches == named;
}

/* x86's returns and jumps, whose first byte is known; prefixes are not looked behind. */
static bool agrees_with_x86(const struct printed *p, const char *mnemonic)
{
	if (p->bytes_length && !is_bytes(p))
		return false;
	if (p->bytes_length < 2 || strncmp(mnemonic, "ret", 3) != 0)
		return true;
	return strchr("cCfF", p->bytes[0]) && strchr("2233aAbB", p->bytes[1]);
}

static void take_name(struct architecture *a, const struct printed *p)
{
	size_t blanks = strspn(p->operands, " \t");
	char text[128];

	blanks = blanks < p->operands_length ? blanks : p->operands_length;
	snprintf(text, sizeof(text), "%.*s %.*s", (int)p->mnemonic_length, p->mnemonic,
		 (int)(p->operands_length - blanks), p->operands + blanks);
	for (size_t n = 0; n < ARRAY_SIZE(foreign); n++)
		if (same(&foreign[n].instruction, text))
			a->names |= 1u << n;
}

static void take_gpu(struct architecture *a, const char *mnemonic)
{
	bool is_sass = isupper((unsigned char)*mnemonic);

	a->sass += is_sass;
	if (!is_sass && !a->not_sass)
		a->not_sass = a->count;
}

void architecture_take(struct architecture *a, const struct printed *p)
{
	const char *at = p->operands, *end;
	bool x86 = false, arm64 = false, neither = false, strange;
	char mnemonic[TOKEN_BYTES], word[TOKEN_BYTES];

	a->count++;
	copy_word(mnemonic, p->mnemonic, p->mnemonic_length);
	end = registers_end(p, mnemonic);
	while ((at = next_token(at, end, word))) {
		bool is_x86 = same(&x86_token, word), is_arm64 = same(&arm64_token, word);

		x86 |= is_x86;
		arm64 |= is_arm64;
		neither |= !is_x86 && !is_arm64 && same(&foreign_token, word);
	}
	take_name(a, p);
	if (p->is_gpu) {
		take_gpu(a, mnemonic);
		return;
	}
	a->x86 += x86 && !arm64;
	a->arm64 += arm64 && !x86;
	a->x86_bytes += is_bytes(p);
	/* no mnemonic of x86 has a point, no operand such signs */
	strange = strchr(mnemonic, '.') || memchr(p->operands, '#', p->operands_length) ||
		  memchr(p->operands, '=', p->operands_length);
	if (!a->not_x86 &&
	    (neither || strange || (arm64 && !x86) || !agrees_with_x86(p, mnemonic) ||
	     (strchr("jb", *mnemonic) && !same(&x86_branch, mnemonic)) ||
	     (same(&elsewhere, mnemonic) && !same(&x86_returns, mnemonic))))
		a->not_x86 = a->count;
	if (!a->not_arm64 &&
	    (neither || (x86 && !arm64) || !agrees_with_arm64(p, mnemonic) || *mnemonic == 'j' ||
	     (*mnemonic == 'b' && !same(&arm64_branch, mnemonic)) ||
	     (same(&elsewhere, mnemonic) && !same(&arm64_returns, mnemonic))))
		a->not_arm64 = a->count;
	/* encodings tell returns and jumps apart */
	if (!is_bytes(p) && p->bytes_length >= 8 && !a->not_arm64 &&
	    (same(&arm64_returns, mnemonic) || same(&arm64_branch, mnemonic)))
		a->arm64++;
}

/* NULL: no instruction names a machine, or two name different ones */
static const char *name_of(const struct architecture *a)
{
	for (size_t n = 0; n < ARRAY_SIZE(foreign); n++)
		if (a->names == 1u << n)
			return foreign[n].name;
	return NULL;
}

static enum architecture_support by_format(const char *format, size_t length, const char **name)
{
	char word[TOKEN_BYTES];

	copy_word(word, format, length);
	*name = NULL;
	if (same(&arm64_format, word))
		return ARCHITECTURE_ARM64;
	if (same(&x86_format, word))
		return ARCHITECTURE_X86;
	for (size_t n = 0; n < ARRAY_SIZE(foreign); n++) {
		if (!same(&foreign[n].format, word))
			continue;
		*name = foreign[n].name;
		if (*name == riscv_name)
			return ARCHITECTURE_RISCV;
		break;
	}
	/* these are of any machine */
	return same(&no_format, word) ? ARCHITECTURE_UNKNOWN : ARCHITECTURE_FOREIGN;
}

enum architecture_support architecture_of(const struct architecture *a, const char *format,
					  size_t length, const char **name)
{
	enum architecture_support found = ARCHITECTURE_UNKNOWN;

	*name = NULL;
	if (format)
		found = by_format(format, length, name);
	if (found != ARCHITECTURE_UNKNOWN)
		return found;
	*name = name_of(a);
	if (*name == riscv_name)
		return ARCHITECTURE_RISCV;
	*name = NULL;
	if (a->sass && a->sass == a->count)
		return ARCHITECTURE_SASS;
	if (a->arm64 && a->arm64 > a->x86 && !a->not_arm64)
		return ARCHITECTURE_ARM64;
	if ((a->x86 || a->x86_bytes == a->count) && a->x86 >= a->arm64 && !a->not_x86)
		return ARCHITECTURE_X86;
	*name = name_of(a);
	return *name ? ARCHITECTURE_FOREIGN : ARCHITECTURE_UNKNOWN;
}

const char *architecture_format(const char *text, const char *end, size_t *length)
{
	static const char key[] = "file format ";
	const char *found = NULL, *at = text;

	while ((at = strstr(at, key)) && at < end)
		found = at += sizeof(key) - 1;
	*length = found ? strcspn(found, "\r\n") : 0;
	return found;
}

bool architecture_is_foreign(const char *mnemonic)
{
	return islower((unsigned char)*mnemonic) || fits(&gpu_elsewhere, mnemonic, 0);
}
