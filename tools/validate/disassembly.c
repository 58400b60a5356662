// SPDX-License-Identifier: MIT
/* Reads what four disassemblers print, and makes listings of it. */
#include "disassembly.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "architecture.h"
#include "common/listing.h"

/* a message names fewer functions */
enum { MAX_NAMES = 11 };

/* a line of the text: an instruction, the name of a function, a label, or nothing of these */
struct line {
	const char *start;
	size_t number;
	size_t index; /* instructions of the function above it */
	bool is_code;
	bool is_data; /* it has an address and no instruction */
	bool is_gpu;
	uint64_t address;
	const char *name; /* of a function, or label; NULL: none */
	size_t name_length;
	bool is_function;
	const char *guard; /* "@!P0", as printed */
	size_t guard_length;
	const char *mnemonic;
	size_t length; /* of @mnemonic */
	const char *operands;
	const char *bytes; /* of the instruction, as printed; NULL: none */
	size_t bytes_length;
	const char *end;
};

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
static const char *read_hex(const char *at, const char *end, const char *stop, uint64_t *value)
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

enum flow { FLOW_NEXT, FLOW_BRANCH, FLOW_IF, FLOW_END, FLOW_UNKNOWN };

/* words of mnemonics; "rep*": all that begin so */
static const char prefixes[] = "lock rep* bnd notrack data16 data32 addr16 addr32 rex* cs ds es fs "
			       "gs ss xacquire xrelease";

/* the first row with a fitting word applies */
static const struct {
	enum flow flow;
	const char *words;
} flows[] = {
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

static bool is_one_of(const struct line *l, const char *words)
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
static const char *operands_end(const struct line *l)
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
static const char *last_operand(const struct line *l, const char **end)
{
	const char *at;

	at = *end = operands_end(l);
	while (at > l->operands && at[-1] != ',')
		at--;
	return skip(at, *end, " \t`");
}

static enum flow flow_of(const struct line *l)
{
	enum flow flow = FLOW_NEXT;
	const char *end, *last;

	for (size_t i = 0; i < ARRAY_SIZE(flows); i++) {
		if (is_one_of(l, flows[i].words)) {
			flow = flows[i].flow;
			break;
		}
	}
	if (!l->is_gpu || (flow != FLOW_BRANCH && flow != FLOW_END))
		return flow;
	/* a predicate may be an operand: "BRA P1, 0x40" */
	last = last_operand(l, &end);
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
		if (at - word != 2 && at - word != 8)
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
		/* bytes of the instruction above */
		if (!tab)
			return;
		l->bytes = skip(start, l->end, " ");
		l->bytes_length = (size_t)(tab - l->bytes);
		start = tab;
	} else if (!is_tab) {
		return;
	}
	do {
		read_instruction(l, start);
		start = l->operands;
	} while (is_one_of(l, prefixes));
}

static void read_line(struct line *l)
{
	const char *at = skip(l->start, l->end, " \t"), *name, *rest;

	/* a file may be called "f" */
	if (find(at, l->end, "file format "))
		return;

	/* the address in a comment, then the instruction: a GPU */
	if (l->end - at > 2 && !memcmp(at, "/*", 2)) {
		rest = read_hex(at + 2, l->end, "*/", &l->address);
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
	} else if (read_hex(at, l->end, " <", &l->address)) {
		l->name = find(at, l->end, "<") + 1;
		l->is_function = true;
		rest = memrchr(l->name, '>', (size_t)(l->end - l->name));
		l->name_length = rest ? (size_t)(rest - l->name) : 0;
		return;
	} else {
		rest = read_hex(at, l->end, ":", &l->address);
		if (rest)
			read_cpu(l, rest);
		return;
	}
	while (l->name + l->name_length < l->end && !strchr(" \t\r:>", l->name[l->name_length]))
		l->name_length++;
}

static bool next_line(struct line *l, const char *text)
{
	const char *start = l->start ? l->end + (*l->end == '\n') : text;
	const size_t number = l->number + 1;

	if (!*start)
		return false;
	*l = (struct line){ .start = start, .number = number, .end = start + strcspn(start, "\n") };
	read_line(l);
	return true;
}

bool is_disassembly(const char *text)
{
	struct line l = { 0 };

	while (next_line(&l, text))
		if (l.is_code)
			return true;
	return architecture_format(text, text + strlen(text), &(size_t){ 0 });
}

/* --- flow ------------------------------------------------------------------------------- */

struct conversion {
	struct arena *arena;
	const char *file;
	const char *symbol;
	struct taken *taken;
	size_t count;
	struct failure *failure;
	struct line *lines; /* instructions and labels of the function */
	size_t line_count;
	size_t code; /* number of instructions */
};

static int refuse(const struct conversion *c, const struct line *l, const char *at,
		  const char *reason)
{
	return fail(c->failure, "%s:%zu:%zu: %s", c->file, l->number, (size_t)(at - l->start) + 1,
		    reason);
}

/* the number of the instruction that a branch goes to */
static int target_of(const struct conversion *c, const struct line *l, size_t *target)
{
	const char *end, *at = last_operand(l, &end), *digits;
	const bool label = l->is_gpu && at < end && *at == '(';
	uint64_t address = 0;

	digits = at + (end - at > 2 && !memcmp(at, "0x", 2) ? 2 : 0);
	if (!label && read_hex(digits, end, "", &address) != end)
		return refuse(c, l, l->operands, "the branch's target is no address or label");
	for (size_t i = 0; i < c->line_count; i++) {
		const struct line *there = &c->lines[i];

		*target = there->index;
		if (*target >= c->code)
			break;
		if (!label && there->is_code && there->address == address)
			return 0;
		if (label && there->name && there->name_length == (size_t)(end - at) - 2 &&
		    !memcmp(there->name, at + 1, there->name_length))
			return 0;
	}
	return refuse(c, l, l->operands, "the branch leaves the function");
}

/* whether threads go on behind a BSYNC: there they wait, and go where their BSSY says */
static bool goes_on(const struct conversion *c, const struct line *l)
{
	size_t target;

	for (size_t i = 0; i < c->line_count; i++)
		if (c->lines[i].is_code && is_one_of(&c->lines[i], "BSSY") &&
		    !strncmp(c->lines[i].operands, l->operands, 2) &&
		    !target_of(c, &c->lines[i], &target) && target == l->index + 1)
			return true;
	return false;
}

/*
 * "@P0{FORMULA} " of an instruction that depends on something, "@PT{FORMULA} " of a branch that
 * does not, "" of others; NULL: refused. @back: it is a branch back
 */
static const char *guard_of(const struct conversion *c, const struct line *l, enum flow flow,
			    bool back)
{
	const bool inverted = l->guard && l->guard[1] == '!';
	const bool constant = l->guard && l->guard_length == (size_t)(3 + inverted) &&
			      !memcmp(l->guard + 1 + inverted, "PT", 2);
	const bool depends = flow == FLOW_IF || (l->guard && !constant);

	if (constant && inverted)
		return "@!PT ";
	for (size_t i = 0; i < c->count; i++) {
		if (c->taken[i].address != l->address || (!depends && !back))
			continue;
		c->taken[i].used = true;
		return arena_printf(c->arena, "@%s{%s} ", depends ? "P0" : "PT",
				    c->taken[i].formula);
	}
	if (!depends && !back)
		return "";
	refuse(c, l, l->guard ? l->guard : l->mnemonic,
	       arena_printf(c->arena,
			    "how often it is executed is not in the program: give the benchmark "
			    "\"taken\": {\"0x%" PRIx64 "\": FORMULA}",
			    l->address));
	return NULL;
}

/* "@P0{N - 1} BRA.NE -3" */
static const char *convert_line(const struct conversion *c, const struct line *l)
{
	const bool waits = l->is_gpu && is_one_of(l, "BSYNC") && goes_on(c, l);
	const enum flow flow = waits ? FLOW_NEXT : flow_of(l);
	const bool branches = flow == FLOW_BRANCH || flow == FLOW_IF;
	const char *guard, *bra = branches && !l->is_gpu ? "BRA." : "";
	const int room = LISTING_MNEMONIC_BYTES - 1 - (int)strlen(bra);
	const int length = l->length < (size_t)room ? (int)l->length : room;
	size_t target = l->index;

	if (flow == FLOW_UNKNOWN) {
		refuse(c, l, l->mnemonic,
		       "where it goes is not in the program: give the benchmark a program without "
		       "calls, returns in the middle and targets in registers");
		return NULL;
	}
	if (branches && target_of(c, l, &target) < 0)
		return NULL;
	guard = guard_of(c, l, flow, target < l->index);
	if (!guard || (flow == FLOW_END && !l->is_gpu))
		return guard ? "EXIT" : NULL;
	return arena_printf(c->arena, branches ? "%s%s%.*s %+ld" : "%s%s%.*s", guard, bra, length,
			    l->mnemonic, (long)target - (long)l->index);
}

/* the functions of a text: "a, b, c" */
static const char *functions(struct arena *arena, const char *text)
{
	const char *names = "";
	struct line l = { 0 };
	int count = 0;

	while (count < MAX_NAMES && next_line(&l, text))
		if (l.is_function && ++count < MAX_NAMES)
			names = arena_printf(arena, "%s%s%.*s", names, count > 1 ? ", " : "",
					     (int)l.name_length, l.name);
	return count < MAX_NAMES ? names : arena_printf(arena, "%s, ...", names);
}

/* Refuse a program of a machine whose branches are not known. @data: a line of it, or NULL */
static int check_architecture(const struct conversion *c, const char *text, const struct line *data)
{
	const struct line *first = data, *odd = data;
	struct architecture a = { 0 };
	enum architecture_support support;
	const char *format, *name, *reason;
	size_t length, at;

	for (size_t i = c->line_count; i-- > 0;)
		first = c->lines[i].is_code ? &c->lines[i] : first;
	for (size_t i = 0; i < c->line_count; i++) {
		const struct line *l = &c->lines[i];

		if (l->is_code)
			architecture_take(&a, &(struct printed){
						      .mnemonic = l->mnemonic,
						      .mnemonic_length = l->length,
						      .operands = l->operands,
						      .operands_length = (size_t)(operands_end(l) -
										  l->operands),
						      .bytes = l->bytes,
						      .bytes_length = l->bytes_length,
						      .is_gpu = l->is_gpu,
					      });
	}
	format = architecture_format(text, first ? first->start : text + strlen(text), &length);
	support = architecture_of(&a, format, length, &name);
	if (support > ARCHITECTURE_FOREIGN)
		return data ? refuse(c, data, data->mnemonic, "this is no instruction") : 0;
	reason = support == ARCHITECTURE_UNKNOWN ?
			 "nothing shows which machine this program is for" :
			 arena_printf(c->arena, "programs of %.*s are not supported",
				      name ? (int)strlen(name) : (int)length, name ? name : format);
	reason =
		arena_printf(c->arena, "%s; supported are x86-64, arm64 and NVIDIA's SASS", reason);
	/* the first instruction that rules out the likeliest machine */
	at = a.sass ? a.not_sass : a.arm64 > a.x86 ? a.not_arm64 : a.not_x86;
	for (size_t i = 0; at && i < c->line_count; i++)
		odd = c->lines[i].is_code && c->lines[i].index + 1 == at ? &c->lines[i] : odd;
	return odd ? refuse(c, odd, odd->mnemonic, reason) :
		     fail(c->failure, "%s: %s", c->file, reason);
}

/* the lines of the function */
static int find_function(struct conversion *c, const char *text)
{
	bool inside = !c->symbol;
	struct line l = { 0 }, data = { 0 };
	size_t found = 0, length;

	while (next_line(&l, text)) {
		if (l.is_function) {
			inside = !c->symbol || (l.name_length == strlen(c->symbol) &&
						!memcmp(l.name, c->symbol, l.name_length));
			found += inside;
			if (found > 1 && !c->symbol)
				return fail(c->failure,
					    "%s: give the benchmark a \"symbol\", one of: %s",
					    c->file, functions(c->arena, text));
			if (found > 1 && inside)
				return refuse(c, &l, l.name, "a second function of this name");
		} else if (l.name && l.name_length == 8 && !memcmp(l.name, ".section", 8)) {
			inside = false;
		}
		if (inside && l.is_data && !data.start)
			data = l;
		if (!inside || (!l.is_code && !l.name))
			continue;
		l.index = c->code;
		c->code += l.is_code;
		if (c->code > LISTING_MAX_INSTRUCTIONS)
			return refuse(c, &l, l.start, "the function is too long");
		c->lines = arena_grow(c->arena, c->lines, c->line_count, sizeof(l));
		c->lines[c->line_count++] = l;
	}
	if (c->code || data.start || (!c->symbol && architecture_format(text, l.end, &length)))
		return check_architecture(c, text, data.start ? &data : NULL);
	return fail(c->failure, "%s: there is no function %s; there are: %s", c->file,
		    c->symbol ? c->symbol : "", functions(c->arena, text));
}

const char *convert_disassembly(struct arena *arena, const char *name, const char *text,
				const char *symbol, struct taken *taken, size_t count,
				struct failure *failure)
{
	struct conversion c = { arena, name, symbol, taken, count, failure, NULL, 0, 0 };
	bool refused = find_function(&c, text) < 0;
	const char *result = NULL;
	char *listing = NULL;
	size_t size = 0, number = 1;
	FILE *out = open_memstream(&listing, &size);

	for (size_t i = 0; out && !refused && i < c.line_count; i++) {
		const char *line;

		if (!c.lines[i].is_code)
			continue;
		line = convert_line(&c, &c.lines[i]);
		refused = !line;
		for (; number < c.lines[i].number; number++)
			fputc('\n', out);
		fputs(line ? line : "", out);
	}
	if (!out || fclose(out))
		refused = fail(failure, "%s: out of memory", name);
	for (size_t i = 0; !refused && i < count; i++)
		if (!taken[i].used)
			refused = fail(failure,
				       "%s: \"taken\" names 0x%" PRIx64
				       ", where there is no branch and no predicate",
				       name, taken[i].address);
	if (!refused)
		result = arena_copy(arena, listing, size);
	free(listing);
	return result;
}
