// SPDX-License-Identifier: MIT
/* Reads what four disassemblers print, and makes listings of it. */
#include "disassembly.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/listing.h"
#include "disassembly_line.h"

/* a message names fewer functions, or branches */
enum { MAX_NAMES = 11, MAX_MISSING = 300 };

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
	const char *until;
	struct taken *taken;
	size_t count;
	struct failure *failure;
	struct line end; /* where the region ends; zeroed: a function */
	uint64_t start; /* address of the first instruction */
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
	*target = c->code;
	if (c->until && !label && address == c->end.address)
		return 0;
	return refuse(c, l, l->operands,
		      c->until ? "the branch leaves the region" : "the branch leaves the function");
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
		if (c->taken[i].address + (c->taken[i].from_start ? c->start : 0) != l->address ||
		    (!depends && !back))
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
		c->addresses = arena_printf(c->arena, "%s%s\"%s0x%" PRIx64 "\": FORMULA",
					    c->addresses ? c->addresses : "",
					    c->addresses ? ", " : "", c->start ? "+" : "",
					    l->address - c->start);
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
	if (flow == FLOW_END && c->until) {
		refuse(c, l, l->mnemonic, "the region ends elsewhere, and here it returns");
		return NULL;
	}
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
	return digits / 2;
}

/* the longest instruction, if its bytes are not printed */
static size_t longest(enum architecture_support machine)
{
	return machine == ARCHITECTURE_X86 ? 15 : 4;
}

/*
 * Whether an instruction may follow at an address. A GPU's have 16 bytes, or 8 with words of
 * control between them, which are not printed.
 */
static bool may_follow(const struct conversion *c, const struct line *l, size_t step, uint64_t next)
{
	const size_t bytes = c->machine == ARCHITECTURE_ARM64 ? 4 : bytes_of(l);

	if (!l->is_gpu)
		return bytes ? next == l->address + bytes :
			       next <= l->address + longest(c->machine);
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

/* Add what the line has to the bytes of the instruction above. */
static void add_bytes(struct conversion *c, const struct line *l)
{
	for (size_t i = c->line_count; i > 0;) {
		struct line *above = &c->lines[--i];

		if (!above->is_code)
			continue;
		above->bytes = arena_printf(c->arena, "%.*s %.*s", (int)above->bytes_length,
					    above->bytes ? above->bytes : "", (int)l->bytes_length,
					    l->bytes);
		above->bytes_length = strlen(above->bytes);
		break;
	}
}

static bool is_called(const struct line *l, const char *name)
{
	return l->name && l->name_length == strlen(name) && !memcmp(l->name, name, l->name_length);
}

/* Whether a line is the beginning or the end of what is converted; negative: refused. */
static int enter(struct conversion *c, const char *text, const struct line *l, bool *inside,
		 size_t *found)
{
	if (c->until && *inside && !c->end.start && is_called(l, c->until)) {
		c->end = *l;
		*inside = false;
	} else if (c->until && l->name && is_called(l, c->symbol)) {
		if (++*found > 1)
			return refuse(c, l, l->name, "a second label of this name");
		*inside = true;
	} else if (!c->until && l->is_function) {
		*inside = !c->symbol || is_called(l, c->symbol);
		*found += *inside;
		if (*found > 1 && !c->symbol)
			return fail(c->failure, "%s: give the benchmark a \"symbol\", one of: %s",
				    c->file, functions(c->arena, text));
		if (*found > 1 && *inside)
			return refuse(c, l, l->name, "a second function of this name");
	} else if (is_called(l, ".section")) {
		*inside = false;
	}
	return 0;
}

static int check_found(struct conversion *c, const char *text, const struct line *data)
{
	size_t length;

	if (c->until && c->code && !c->end.start)
		return fail(c->failure, "%s: the region begins at %s, but %s does not follow",
			    c->file, c->symbol, c->until);
	if (!c->code && !data->start && !c->symbol &&
	    architecture_format(text, text + strlen(text), &length) &&
	    check_architecture(c, text, NULL) == 0)
		return fail(
			c->failure,
			"%s: no line is an instruction as a disassembler prints it: an address, "
			"a colon, a tab; give the file unchanged",
			c->file);
	if (*c->failure->text)
		return -1;
	if (c->code || data->start)
		return check_architecture(c, text, data->start ? data : NULL) < 0 ?
			       -1 :
			       check_addresses(c);
	return fail(c->failure, "%s: there is no function %s; there are: %s", c->file,
		    c->symbol ? c->symbol : "", functions(c->arena, text));
}

/* the lines of the function or region */
static int find_function(struct conversion *c, const char *text)
{
	bool inside = !c->symbol;
	struct line l = { 0 }, data = { 0 };
	size_t found = 0;

	while (line_next(&l, text)) {
		if (enter(c, text, &l, &inside, &found) < 0)
			return -1;
		if (inside && l.is_data && !data.start)
			data = l;
		if (inside && l.is_more)
			add_bytes(c, &l);
		if (!inside || (!l.is_code && !l.name))
			continue;
		l.index = c->code;
		c->code += l.is_code;
		if (c->code > LISTING_MAX_INSTRUCTIONS)
			return refuse(c, &l, l.start, "the function is too long");
		if (l.is_code && c->code == 1)
			c->start = l.is_gpu ? 0 : l.address;
		c->lines = arena_grow(c->arena, c->lines, c->line_count, sizeof(l));
		c->lines[c->line_count++] = l;
	}
	return check_found(c, text, &data);
}

/* --- code -------------------------------------------------------------------------------- */

/* Write the bytes of an instruction: groups of digits are numbers in little-endian order. */
static size_t write_bytes(const struct line *l, uint8_t *to)
{
	const char *at = l->bytes, *end = l->bytes + l->bytes_length;
	size_t count = 0;

	while (at < end) {
		const char *word = at;
		uint64_t value;

		while (at < end && !strchr(" \t\r", *at))
			at++;
		line_read_hex(word, at, "", &value);
		for (size_t n = (size_t)(at - word) / 2; n > 0; n--, value >>= 8)
			to[count++] = (uint8_t)value;
		while (at < end && strchr(" \t\r", *at))
			at++;
	}
	return count;
}

/* where the instructions of a CPU's program are, and their bytes if all are printed */
static struct code code_of(const struct conversion *c)
{
	struct code code = { .end = c->end.address };
	bool all = true;

	if (c->machine == ARCHITECTURE_SASS)
		return code;
	for (size_t i = 0; i < c->line_count; i++)
		code.length += c->lines[i].is_code ? bytes_of(&c->lines[i]) : 0;
	code.addresses = arena_array(c->arena, c->code, sizeof(*code.addresses));
	code.bytes = arena_array(c->arena, code.length + 1, 1);
	code.length = 0;
	for (size_t i = 0; i < c->line_count; i++) {
		const struct line *l = &c->lines[i];

		if (!l->is_code)
			continue;
		code.addresses[code.count++] = l->address;
		code.length += write_bytes(l, code.bytes + code.length);
		all &= bytes_of(l) > 0;
		code.has_exclusive |= line_is_one_of(l, "ldx* ldax* lr.*");
	}
	code.length = all ? code.length : 0;
	return code;
}

/* Write the listing of the function's lines. */
static int write_listing(struct conversion *c, FILE *out)
{
	size_t number = 1;

	for (size_t i = 0; i < c->line_count; i++) {
		const char *line;

		if (!c->lines[i].is_code)
			continue;
		line = convert_line(c, &c->lines[i]);
		if (!line)
			return -1;
		for (; number < c->lines[i].number; number++)
			fputc('\n', out);
		fputs(line, out);
	}
	for (; c->until && number < c->end.number; number++)
		fputc('\n', out);
	if (c->until)
		fputs(REGION_END, out);
	return 0;
}

const char *convert_disassembly(struct disassembly *d)
{
	struct conversion c = {
		.arena = d->arena,
		.file = d->name,
		.symbol = d->symbol,
		.until = d->until,
		.taken = d->taken,
		.count = d->count,
		.failure = d->failure,
	};
	bool refused = find_function(&c, d->text) < 0;
	const char *result = NULL;
	char *listing = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&listing, &size);

	if (out && !refused)
		refused = write_listing(&c, out) < 0;
	if (!out || fclose(out))
		refused = fail(d->failure, "%s: out of memory", d->name);
	if (!refused) {
		refused = d->lacks_taken = check_missing(&c) < 0;
		d->code = code_of(&c);
	}
	for (size_t i = 0; !refused && i < d->count; i++)
		if (!d->taken[i].used)
			refused = fail(d->failure,
				       "%s: \"taken\" names %s0x%" PRIx64
				       ", where there is no branch and no predicate",
				       d->name, d->taken[i].from_start ? "+" : "",
				       d->taken[i].address);
	if (!refused)
		result = arena_copy(d->arena, listing, size);
	free(listing);
	return result;
}
