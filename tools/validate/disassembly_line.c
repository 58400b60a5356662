// SPDX-License-Identifier: MIT
/* Reads a line of objdump, llvm-objdump, cuobjdump or nvdisasm, and knows where instructions go. */
#include "disassembly_line.h"

#include <ctype.h>
#include <string.h>

static const char *skip(const char *at, const char *end, const char *what)
{
	while (at < end && strchr(what, *at))
		at++;
	return at;
}

static const char *word_end(const char *at, const char *end)
{
	while (at < end && !strchr(" \t\r;", *at))
		at++;
	return at;
}

static const char *find(const char *at, const char *end, const char *what)
{
	const size_t length = strlen(what);

	for (; at + length <= end; at++)
		if (!memcmp(at, what, length))
			return at;
	return NULL;
}

/* hexadecimal digits that @stop follows; NULL: there are none */
const char *line_read_hex(const char *at, const char *end, const char *stop, uint64_t *value)
{
	const char *digits = at;

	*value = 0;
	for (; at < end && isxdigit((unsigned char)*at); at++)
		*value =
			*value << 4 |
			(uint64_t)(isdigit((unsigned char)*at) ? *at - '0' : (*at | 32) - 'a' + 10);
	if (at == digits || at - digits > 16 || (size_t)(end - at) < strlen(stop) ||
	    memcmp(at, stop, strlen(stop)) != 0)
		return NULL;
	return at + strlen(stop);
}

/* words of mnemonics; "rep*": all that begin so */
static const char prefixes[] = "lock rep* bnd notrack data16 data32 addr16 addr32 rex* cs ds es fs "
			       "gs ss xacquire xrelease";

struct flow_words {
	enum flow flow;
	const char *words;
};

/* the first row with a fitting word applies */
static const struct flow_words flows[] = {
	/* x86-64 and arm64 */
	{ FLOW_END, "ret*" },
	{ FLOW_BRANCH, "jmp* b" },
	{ FLOW_NEXT, "cbw cbtw" },
	{ FLOW_IF, "j* loop* b.* bc.* cb* tbz tbnz" },
	{ FLOW_UNKNOWN, "call* lcall* ljmp* lret* iret* int* sys* hlt ud0 ud1 ud2 xbegin* xabort* "
			"uiret bl blr* br bra* brk eret* svc hvc smc udf dcps* drps" },
	/* GPUs: also calls, and ends that depend on other threads */
	{ FLOW_BRANCH, "BRA" },
	{ FLOW_END, "EXIT" },
	{ FLOW_UNKNOWN, "BRX BRXU JMX JMXU JMP CALL CAL JCAL PCAL RET PRET SYNC BSYNC BRK PBK CONT "
			"PCNT SSY KILL RTT LONGJMP PLONGJMP BPT" },
};

static const struct flow_words riscv_flows[] = {
	{ FLOW_END, "ret c.ret" },
	{ FLOW_BRANCH, "j c.j" },
	{ FLOW_IF, "beq bne blt bge bgt ble bltu bgeu bgtu bleu beqz bnez bltz bgez bgtz blez "
		   "c.beqz c.bnez" },
	/* ecall: what the kernel does is not in the program, as with syscall and svc */
	{ FLOW_UNKNOWN, "b* jr jal jalr call tail c.j* ecall ebreak c.ebreak mret sret uret dret "
			"mnret wfi wrs.* unimp c.unimp" },
};

bool line_is_one_of(const struct line *l, const char *words)
{
	for (size_t n; *words; words += n + (words[n] == ' ')) {
		size_t length;
		bool part;

		n = strcspn(words, " ");
		part = words[n - 1] == '*';
		length = n - part;
		if (l->length < length || memcmp(l->mnemonic, words, length) != 0)
			continue;
		if (part || l->length == length || (l->is_gpu && l->mnemonic[length] == '.'))
			return true;
	}
	return false;
}

/* the end of the operands, without a name or a comment behind them */
const char *line_operands_end(const struct line *l)
{
	static const char *const behind[] = { " <", "//", ";", "/*", "\t#", " # " };
	const char *end = l->end;

	for (size_t i = 0; i < ARRAY_SIZE(behind); i++) {
		const char *at = find(l->operands, end, behind[i]);

		end = at ? at : end;
	}
	while (end > l->operands && strchr(" \t\r", end[-1]))
		end--;
	return end;
}

/* the last operand */
const char *line_last_operand(const struct line *l, const char **end)
{
	const char *at;

	at = *end = line_operands_end(l);
	while (at > l->operands && at[-1] != ',')
		at--;
	return skip(at, *end, " \t`");
}

enum flow line_flow(const struct line *l, enum architecture_support machine)
{
	const bool riscv = machine == ARCHITECTURE_RISCV;
	const struct flow_words *table = riscv ? riscv_flows : flows;
	const size_t count = riscv ? ARRAY_SIZE(riscv_flows) : ARRAY_SIZE(flows);
	enum flow flow = FLOW_NEXT;
	const char *end, *last;

	for (size_t i = 0; i < count; i++) {
		if (line_is_one_of(l, table[i].words)) {
			flow = table[i].flow;
			break;
		}
	}
	if (!l->is_gpu || (flow != FLOW_BRANCH && flow != FLOW_END))
		return flow;
	/* a predicate may be an operand: "BRA P1, 0x40" */
	last = line_last_operand(l, &end);
	if (flow == FLOW_BRANCH)
		return last > skip(l->operands, end, "`") ? FLOW_IF : flow;
	return last < end ? FLOW_UNKNOWN : flow;
}

/* --- lines ------------------------------------------------------------------------------ */

/* "@!PT SHFL.IDX PT, RZ ;" */
static void read_instruction(struct line *l, const char *at)
{
	at = skip(at, l->end, " \t{");
	if (at < l->end && *at == '@') {
		l->guard = at;
		at = word_end(at, l->end);
		l->guard_length = (size_t)(at - l->guard);
		at = skip(at, l->end, " \t");
	}
	l->mnemonic = at;
	at = word_end(at, l->end);
	l->length = (size_t)(at - l->mnemonic);
	l->operands = skip(at, l->end, " \t");
	l->is_code = l->length && isalpha((unsigned char)*l->mnemonic);
	l->is_data = !l->is_code;
}

/* a field of objdump that has only the bytes of an instruction */
static bool has_bytes(const char *at, const char *end)
{
	bool any = false;

	while (at < end) {
		const char *word = at = skip(at, end, " \r");

		while (at < end && isxdigit((unsigned char)*at))
			at++;
		if (at == word)
			return any && at == end;
		/* four digits are RISC-V's short instructions, or a mnemonic such as fadd */
		if (at - word != 2 && at - word != 8 &&
		    ((at - word != 4 && at - word != 6) || at == end || *at != ' '))
			return false;
		any = true;
	}
	return any;
}

/* @at: behind the colon. llvm-objdump prints no tab there */
static void read_cpu(struct line *l, const char *at)
{
	const char *start = skip(at, l->end, " "), *tab;
	const bool is_tab = start < l->end && *start == '\t';

	start += is_tab;
	tab = memchr(start, '\t', (size_t)(l->end - start));
	if (has_bytes(start, tab ? tab : l->end)) {
		l->bytes = skip(start, l->end, " ");
		l->bytes_length = (size_t)((tab ? tab : l->end) - l->bytes);
		l->is_more = !tab;
		if (l->is_more)
			return;
		start = tab;
	} else if (!is_tab) {
		return;
	}
	do {
		read_instruction(l, start);
		start = l->operands;
	} while (line_is_one_of(l, prefixes));
}

/* The address in a comment, with or without blanks. Returns what follows, or NULL. */
static const char *read_comment(struct line *l, const char *at)
{
	if (l->end - at < 3 || memcmp(at, "/*", 2) != 0)
		return NULL;
	at = line_read_hex(skip(at + 2, l->end, " \t"), l->end, "", &l->address);
	at = at ? skip(at, l->end, " \t") : NULL;
	return at && l->end - at >= 2 && !memcmp(at, "*/", 2) ? at + 2 : NULL;
}

static void read_text(struct line *l, const char *at)
{
	const char *name, *rest;

	/* the address in a comment, then the instruction: a GPU */
	if (l->end - at > 2 && !memcmp(at, "/*", 2)) {
		rest = read_comment(l, at);
		l->is_gpu = true;
		if (rest)
			read_instruction(l, rest);
		return;
	}
	name = find(at, l->end, "Function : ");
	if (name) {
		l->name = name + strlen("Function : ");
		l->is_function = true;
	} else if (l->end - at > 6 && !memcmp(at, ".text.", 6)) {
		l->name = at + 6;
		l->is_function = true;
	} else if (*at == '.' && at < l->end) {
		l->name = at;
	} else if (line_read_hex(at, l->end, " <", &l->address)) {
		l->name = find(at, l->end, "<") + 1;
		/* RISC-V's assemblers keep labels as symbols: ".L3" */
		l->is_function = strncmp(l->name, ".L", 2) != 0;
		rest = memrchr(l->name, '>', (size_t)(l->end - l->name));
		l->name_length = rest ? (size_t)(rest - l->name) : 0;
		return;
	} else {
		rest = line_read_hex(at, l->end, ":", &l->address);
		if (rest)
			read_cpu(l, rest);
		return;
	}
	while (l->name + l->name_length < l->end && !strchr(" \t\r:>", l->name[l->name_length]))
		l->name_length++;
}

/* Behind the number that an editor or grep -n put before a line; NULL: there is none. */
static const char *behind_number(const char *at, const char *end)
{
	const char *digits = at;

	while (at < end && isdigit((unsigned char)*at))
		at++;
	if (at == digits || at == end || !strchr(" \t:|.)-", *at))
		return NULL;
	return skip(at + 1, end, " \t");
}

/* A line that has an address somewhere, and would be left out. */
static void read_odd(struct line *l)
{
	struct line there = *l;

	for (const char *at = l->start; (at = find(at, l->end, "/*")); at += 2) {
		const char *rest = read_comment(&there, at);

		if (!rest || rest - at < 8)
			continue;
		l->is_data = true;
		l->is_gpu = true;
		l->mnemonic = at;
		return;
	}
}

static void read_line(struct line *l)
{
	const char *at = skip(l->start, l->end, " \t");

	/* a file may be called "f" */
	if (find(at, l->end, "file format "))
		return;
	read_text(l, at);
	if (l->is_code || l->is_data || l->name || l->is_gpu || l->is_more)
		return;
	at = behind_number(at, l->end);
	if (at)
		read_text(l, at);
	if (!l->is_code && !l->is_data && !l->name && !l->is_gpu && !l->is_more)
		read_odd(l);
}

bool line_next(struct line *l, const char *text)
{
	const char *start = l->start ? l->end + (*l->end == '\n') : text;
	const size_t number = l->number + 1;

	if (!*start)
		return false;
	*l = (struct line){ .start = start, .number = number, .end = start + strcspn(start, "\n") };
	read_line(l);
	return true;
}
