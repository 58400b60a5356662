// SPDX-License-Identifier: MIT
/* Reads what four disassemblers print, and makes listings of it. */
#include "disassembly.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/listing.h"
#include "disassembly_line.h"

/* a message names fewer functions, or branches */
enum { MAX_NAMES = 11, MAX_MISSING = 24 };

bool is_disassembly(const char *text)
{
	struct line l = { 0 };

	while (line_next(&l, text))
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
	enum architecture_support machine;
	/* branches and predicates without a number: the first one, and their addresses */
	const struct line *missing;
	const char *addresses;
	size_t missing_count;
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
	const char *end, *at = line_last_operand(l, &end), *digits;
	const bool label = l->is_gpu && at < end && *at == '(';
	uint64_t address = 0;

	digits = at + (end - at > 2 && !memcmp(at, "0x", 2) ? 2 : 0);
	if (!label && line_read_hex(digits, end, "", &address) != end)
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
		if (c->lines[i].is_code && line_is_one_of(&c->lines[i], "BSSY") &&
		    !strncmp(c->lines[i].operands, l->operands, 2) &&
		    !target_of(c, &c->lines[i], &target) && target == l->index + 1)
			return true;
	return false;
}

/*
 * "@P0{FORMULA} " of an instruction that depends on something, "@PT{FORMULA} " of a branch that
 * does not, "" of others; NULL: refused. @back: it is a branch back
 */
static const char *guard_of(struct conversion *c, const struct line *l, enum flow flow, bool back)
{
	const bool inverted = l->guard && l->guard[1] == '!';
	const char *predicate = l->guard ? l->guard + 1 + inverted : "";
	const size_t length = l->guard ? l->guard_length - 1 - inverted : 0;
	const bool constant = (length == 2 && !memcmp(predicate, "PT", 2)) ||
			      (length == 3 && !memcmp(predicate, "UPT", 3));
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
	/* all are asked for at once */
	if (!c->missing_count++)
		c->missing = l;
	if (c->missing_count <= MAX_MISSING)
		c->addresses = arena_printf(c->arena, "%s%s\"0x%" PRIx64 "\": FORMULA",
					    c->addresses ? c->addresses : "",
					    c->addresses ? ", " : "", l->address);
	return "";
}

/* Refuse the program if a number is missing. */
static int check_missing(const struct conversion *c)
{
	const struct line *l = c->missing;

	if (!l)
		return 0;
	return refuse(c, l, l->guard ? l->guard : l->mnemonic,
		      arena_printf(c->arena,
				   "how often it is executed is not in the program: give the "
				   "benchmark \"taken\": {%s}%s",
				   c->addresses,
				   c->missing_count <= MAX_MISSING ?
					   "" :
					   arena_printf(c->arena, ", and %zu more",
							c->missing_count - MAX_MISSING)));
}

/* "@P0{N - 1} BRA.NE -3" */
static const char *convert_line(struct conversion *c, const struct line *l)
{
	const bool waits = l->is_gpu && line_is_one_of(l, "BSYNC") && goes_on(c, l);
	const enum flow flow = waits ? FLOW_NEXT : line_flow(l, c->machine);
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

	while (count < MAX_NAMES && line_next(&l, text))
		if (l.is_function && ++count < MAX_NAMES)
			names = arena_printf(arena, "%s%s%.*s", names, count > 1 ? ", " : "",
					     (int)l.name_length, l.name);
	return count < MAX_NAMES ? names : arena_printf(arena, "%s, ...", names);
}

/* Refuse a program of a machine whose branches are not known. @data: a line of it, or NULL */
static int check_architecture(struct conversion *c, const char *text, const struct line *data)
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
			architecture_take(&a,
					  &(struct printed){
						  .mnemonic = l->mnemonic,
						  .mnemonic_length = l->length,
						  .operands = l->operands,
						  .operands_length = (size_t)(line_operands_end(l) -
									      l->operands),
						  .bytes = l->bytes,
						  .bytes_length = l->bytes_length,
						  .is_gpu = l->is_gpu,
					  });
	}
	format = architecture_format(text, first ? first->start : text + strlen(text), &length);
	support = architecture_of(&a, format, length, &name);
	c->machine = support;
	if (support > ARCHITECTURE_FOREIGN)
		return data ? refuse(c, data, data->mnemonic, "this is no instruction") : 0;
	reason = support == ARCHITECTURE_UNKNOWN ?
			 "nothing shows which machine this program is for" :
			 arena_printf(c->arena, "programs of %.*s are not supported",
				      name ? (int)strlen(name) : (int)length, name ? name : format);
	reason = arena_printf(c->arena, "%s; supported are x86-64, arm64, RISC-V and NVIDIA's SASS",
			      reason);
	/* the first instruction that rules out the likeliest machine */
	at = a.sass ? a.not_sass : a.arm64 > a.x86 ? a.not_arm64 : a.not_x86;
	for (size_t i = 0; at && i < c->line_count; i++)
		odd = c->lines[i].is_code && c->lines[i].index + 1 == at ? &c->lines[i] : odd;
	return odd ? refuse(c, odd, odd->mnemonic, reason) :
		     fail(c->failure, "%s: %s", c->file, reason);
}

/* --- addresses --------------------------------------------------------------------------- */

/* the bytes of an instruction; 0: not printed */
static size_t bytes_of(const struct line *l)
{
	size_t digits = 0;

	for (size_t i = 0; i < l->bytes_length; i++)
		digits += !strchr(" \t\r", l->bytes[i]);
	return digits ? digits / 2 + l->more : 0;
}

/*
 * Whether an instruction may follow at an address. A GPU's have 16 bytes, or 8 with words of
 * control between them, which are not printed.
 */
static bool may_follow(const struct conversion *c, const struct line *l, size_t step, uint64_t next)
{
	const size_t bytes = c->machine == ARCHITECTURE_ARM64 ? 4 : bytes_of(l);

	if (!l->is_gpu)
		return !bytes || next == l->address + bytes;
	return next == l->address + step ||
	       (step == 8 && next == l->address + 16 && !((l->address + 8) % 32));
}

/* what a function's first instruction shows */
static int check_start(const struct conversion *c, const struct line *label,
		       const struct line *first, size_t step)
{
	const uint64_t start = !first->is_gpu ? (label ? label->address : first->address) :
			       step == 8      ? first->address & 8 :
						0;

	if (first->address == start)
		return 0;
	return refuse(c, first, first->start,
		      arena_printf(c->arena,
				   "the first instruction is at 0x%" PRIx64
				   ", the function begins at 0x%" PRIx64
				   ": its beginning is missing",
				   first->address, start));
}

/* Refuse a function of which instructions are missing, or stand twice. */
static int check_addresses(const struct conversion *c)
{
	const struct line *label = NULL, *last = NULL;
	size_t step = 16;

	for (size_t i = 0; i < c->line_count; i++) {
		const struct line *l = &c->lines[i];

		if (l->is_code && last && l->address == last->address + 8)
			step = 8;
		last = l->is_code ? l : last;
	}
	last = NULL;
	for (size_t i = 0; i < c->line_count; i++) {
		const struct line *l = &c->lines[i];

		if (!l->is_code) {
			label = l->is_function && !last ? l : label;
			continue;
		}
		if (!last && check_start(c, label, l, step) < 0)
			return -1;
		if (last && l->address <= last->address)
			return refuse(c, l, l->start,
				      arena_printf(c->arena,
						   "address 0x%" PRIx64
						   " does not follow 0x%" PRIx64
						   ": a line stands twice, or two functions have "
						   "no name between them",
						   l->address, last->address));
		if (last && !may_follow(c, last, step, l->address))
			return refuse(c, l, l->start,
				      arena_printf(c->arena,
						   "instructions between 0x%" PRIx64
						   " and 0x%" PRIx64 " are missing",
						   last->address, l->address));
		last = l;
	}
	return 0;
}

/* the lines of the function */
static int find_function(struct conversion *c, const char *text)
{
	bool inside = !c->symbol;
	struct line l = { 0 }, data = { 0 };
	size_t found = 0, length;

	while (line_next(&l, text)) {
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
		for (size_t i = c->line_count; inside && l.more && i > 0;) {
			struct line *above = &c->lines[--i];

			if (!above->is_code)
				continue;
			above->more += l.more;
			break;
		}
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
		return check_architecture(c, text, data.start ? &data : NULL) < 0 ?
			       -1 :
			       check_addresses(c);
	return fail(c->failure, "%s: there is no function %s; there are: %s", c->file,
		    c->symbol ? c->symbol : "", functions(c->arena, text));
}

const char *convert_disassembly(struct arena *arena, const char *name, const char *text,
				const char *symbol, struct taken *taken, size_t count,
				struct failure *failure)
{
	struct conversion c = {
		.arena = arena,
		.file = name,
		.symbol = symbol,
		.taken = taken,
		.count = count,
		.failure = failure,
	};
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
	if (!refused)
		refused = check_missing(&c) < 0;
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
