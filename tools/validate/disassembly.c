// SPDX-License-Identifier: MIT
#include "disassembly.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/listing.h"

/* a line of the text: an instruction, the name of a function, a label, or nothing of these */
struct line {
	const char *start;
	size_t number;
	bool is_code;
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
	const char *end;
};

static bool is_word(const struct line *l, const char *word)
{
	return strlen(word) == l->length && !memcmp(l->mnemonic, word, l->length);
}

static bool begins(const struct line *l, const char *word)
{
	return l->length >= strlen(word) && !memcmp(l->mnemonic, word, strlen(word));
}

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
		if (at - word != 2 && at - word != 4 && at - word != 8)
			return false;
		any = true;
	}
	return any;
}

static void read_cpu(struct line *l, const char *at)
{
	static const char *const prefixes[] = { "lock", "rep", "repz", "repnz", "bnd", "notrack" };
	const char *tab = memchr(at, '\t', (size_t)(l->end - at));
	bool prefix = true;

	if (has_bytes(at, tab ? tab : l->end)) {
		/* bytes of the instruction above */
		if (!tab)
			return;
		at = tab;
	}
	while (prefix) {
		read_instruction(l, at);
		prefix = false;
		for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
			prefix |= is_word(l, prefixes[i]);
		at = l->operands;
	}
}

static void read_line(struct line *l)
{
	const char *at = skip(l->start, l->end, " \t"), *name, *rest;

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
	} else {
		rest = read_hex(at, l->end, ":\t", &l->address);
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
	return false;
}

/* --- flow ------------------------------------------------------------------------------- */

struct conversion {
	struct arena *arena;
	const char *file;
	const char *text;
	const char *symbol;
	struct taken *taken;
	size_t count;
	struct failure *failure;
};

enum flow { FLOW_NEXT, FLOW_BRANCH, FLOW_IF, FLOW_END, FLOW_UNKNOWN };

static enum flow flow_of(const struct line *l)
{
	/* of a GPU: targets in registers, calls, and ends that depend on other threads */
	static const char *const unknown[] = { "BRX", "JMX",  "JMP", "CALL", "RET",  "SYNC",
					       "BRK", "CONT", "PBK", "SSY",  "KILL", "RTT" };
	static const char *const cpu_calls[] = { "call", "bl",	"blr", "br",  "jmpq", "syscall",
						 "svc",	 "hlt", "ud2", "brk", "braa", "blraa" };

	if (l->is_gpu) {
		for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
			if (begins(l, unknown[i]))
				return FLOW_UNKNOWN;
		return begins(l, "BRA") ? FLOW_BRANCH : begins(l, "EXIT") ? FLOW_END : FLOW_NEXT;
	}
	if (begins(l, "ret"))
		return FLOW_END;
	for (size_t i = 0; i < ARRAY_SIZE(cpu_calls); i++)
		if (is_word(l, cpu_calls[i]) || (i == 0 && begins(l, cpu_calls[i])))
			return FLOW_UNKNOWN;
	if (is_word(l, "jmp") || is_word(l, "b"))
		return memchr(l->operands, '*', (size_t)(l->end - l->operands)) ? FLOW_UNKNOWN :
										  FLOW_BRANCH;
	if (*l->mnemonic == 'j' || begins(l, "loop") || begins(l, "b.") || is_word(l, "cbz") ||
	    is_word(l, "cbnz") || is_word(l, "tbz") || is_word(l, "tbnz"))
		return FLOW_IF;
	return FLOW_NEXT;
}

static int refuse(const struct conversion *c, const struct line *l, const char *at,
		  const char *reason)
{
	return fail(c->failure, "%s:%zu:%zu: %s", c->file, l->number, (size_t)(at - l->start) + 1,
		    reason);
}

/* whether a line is in the function that is converted */
static bool selects(const struct conversion *c, const struct line *l, bool inside)
{
	if (!l->name || !l->is_function)
		return inside;
	return !c->symbol ||
	       (l->name_length == strlen(c->symbol) && !memcmp(l->name, c->symbol, l->name_length));
}

/* the address that a name in a branch stands for: that of the next instruction */
static bool find_label(const struct conversion *c, const char *name, size_t length,
		       uint64_t *address)
{
	struct line l = { 0 };
	bool found = false;

	while (next_line(&l, c->text)) {
		found |= l.name && l.name_length == length && !memcmp(l.name, name, length);
		*address = l.address;
		if (found && l.is_code)
			return true;
	}
	return false;
}

/* whether the function has an instruction at an address */
static bool has_address(const struct conversion *c, uint64_t address)
{
	struct line l = { 0 };
	bool inside = !c->symbol;

	while (next_line(&l, c->text)) {
		inside = selects(c, &l, inside);
		if (inside && l.is_code && l.address == address)
			return true;
	}
	return false;
}

static int target_of(const struct conversion *c, const struct line *l, uint64_t *target)
{
	const char *at = find(l->operands, l->end, " <"), *end = l->end, *name;
	bool found;

	name = l->is_gpu ? find(l->operands, l->end, "(.") : NULL;
	if (name) {
		end = memchr(name, ')', (size_t)(l->end - name));
		found = end && find_label(c, name + 1, (size_t)(end - name) - 1, target);
	} else {
		/* the last number before the name, a comment or the end */
		const char *comment = find(l->operands, l->end, l->is_gpu ? ";" : "//");

		end = at ? at : comment ? comment : end;
		while (end > l->operands && strchr(" \t\r", end[-1]))
			end--;
		at = end;
		while (at > l->operands && (isxdigit((unsigned char)at[-1]) || at[-1] == 'x'))
			at--;
		at += end - at > 2 && at[1] == 'x' ? 2 : 0;
		found = read_hex(at, end, "", target) != NULL;
	}
	if (!found)
		return refuse(c, l, l->operands, "the branch's target is no address or label");
	return has_address(c, *target) ?
		       0 :
		       refuse(c, l, l->operands, "the branch leaves the function");
}

/* "@P0{FORMULA} " of an instruction that depends on something, "" of others; NULL: refused */
static const char *guard_of(const struct conversion *c, const struct line *l, enum flow flow)
{
	const bool inverted = l->guard && l->guard[1] == '!';
	const char *predicate = l->guard ? l->guard + 1 + inverted : "";

	if (l->guard && l->guard_length == (size_t)(3 + inverted) && predicate[0] == 'P' &&
	    predicate[1] == 'T')
		return inverted ? "@!PT " : "";
	if (!l->guard && flow != FLOW_IF)
		return "";
	for (size_t i = 0; i < c->count; i++) {
		if (c->taken[i].address != l->address)
			continue;
		c->taken[i].used = true;
		return arena_printf(c->arena, "@P0{%s} ", c->taken[i].formula);
	}
	refuse(c, l, l->guard ? l->guard : l->mnemonic,
	       arena_printf(c->arena,
			    "how often it is executed is not in the program: give the benchmark "
			    "\"taken\": {\"0x%" PRIx64 "\": FORMULA}",
			    l->address));
	return NULL;
}

/* modifiers that do not fit are left out */
static int mnemonic_length(const struct line *l, size_t room)
{
	size_t length = l->length;

	while (length > room) {
		const char *dot = memrchr(l->mnemonic, '.', length);

		if (!dot || dot == l->mnemonic)
			return (int)room;
		length = (size_t)(dot - l->mnemonic);
	}
	return (int)length;
}

/* "L120: @P0{N - 1} BRA.NE L90" */
static const char *convert_line(const struct conversion *c, const struct line *l)
{
	const enum flow flow = flow_of(l);
	const char *guard = guard_of(c, l, flow);
	const size_t room = LISTING_MNEMONIC_BYTES - 1;
	uint64_t target = 0;

	if (flow == FLOW_UNKNOWN) {
		refuse(c, l, l->mnemonic,
		       "where it goes is not in the program: give the benchmark a program without "
		       "calls, returns in the middle and targets in registers");
		return NULL;
	}
	if (!guard || ((flow == FLOW_BRANCH || flow == FLOW_IF) && target_of(c, l, &target) < 0))
		return NULL;
	if (flow == FLOW_NEXT || (flow == FLOW_END && l->is_gpu))
		return arena_printf(c->arena, "L%" PRIx64 ": %s%.*s", l->address, guard,
				    mnemonic_length(l, room), l->mnemonic);
	if (flow == FLOW_END)
		return arena_printf(c->arena, "L%" PRIx64 ": EXIT", l->address);
	if (l->is_gpu)
		return arena_printf(c->arena, "L%" PRIx64 ": %s%.*s L%" PRIx64, l->address, guard,
				    mnemonic_length(l, room), l->mnemonic, target);
	return arena_printf(c->arena, "L%" PRIx64 ": %sBRA.%.*s L%" PRIx64, l->address, guard,
			    mnemonic_length(l, room - strlen("BRA.")), l->mnemonic, target);
}

/* the functions of the text: "a, b, c" */
static const char *functions(const struct conversion *c, size_t *count)
{
	const char *names = "";
	struct line l = { 0 };

	*count = 0;
	while (next_line(&l, c->text))
		if (l.is_function)
			names = arena_printf(c->arena, "%s%s%.*s", names, (*count)++ ? ", " : "",
					     (int)l.name_length, l.name);
	return names;
}

const char *convert_disassembly(struct arena *arena, const char *name, const char *text,
				const char *symbol, struct taken *taken, size_t count,
				struct failure *failure)
{
	struct conversion c = { arena, name, text, symbol, taken, count, failure };
	struct line l = { 0 };
	char *listing = NULL;
	size_t size = 0, code = 0, named;
	const char *names = functions(&c, &named);
	bool inside = !symbol, refused = !symbol && named > 1;
	FILE *out = open_memstream(&listing, &size);

	if (refused)
		fail(failure, "%s: give the benchmark a \"symbol\", one of: %s", name, names);
	while (out && !refused && next_line(&l, text)) {
		const char *line = "";

		inside = selects(&c, &l, inside);
		if (inside && l.is_code) {
			line = convert_line(&c, &l);
			refused = !line;
			code++;
		}
		fprintf(out, "%s\n", line ? line : "");
	}
	if (!out || fclose(out)) {
		fail(failure, "%s: out of memory", name);
		refused = true;
	}
	if (!refused && !code)
		refused = fail(failure, "%s: there is no function %s; there are: %s", name, symbol,
			       names);
	for (size_t i = 0; !refused && i < count; i++)
		if (!taken[i].used)
			refused = fail(failure,
				       "%s: \"taken\" names 0x%" PRIx64
				       ", where nothing depends on a predicate or a flag",
				       name, taken[i].address);
	names = refused ? NULL : arena_copy(arena, listing, size);
	free(listing);
	return names;
}
