// SPDX-License-Identifier: MIT
/* Reader of instruction listings: mnemonics, guards, labels, branches, formulas. */
#include "listing.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <perfctr/perfctr.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* the definition of a label, or a branch that refers to one */
struct label {
	char name[LISTING_NAME_BYTES];
	size_t at;
	size_t line;
};

struct parser {
	struct perfctr_ctx *ctx;
	const char *file;
	size_t line;
	const struct listing_machine *machine;
	struct listing_parameter *parameters;
	size_t parameter_count;
	bool unknown; /* a formula has a name that is no parameter */
	struct listing_instruction *instructions;
	char (*mnemonics)[LISTING_MNEMONIC_BYTES];
	uint32_t *lines;
	size_t count;
	struct label *labels;
	size_t label_count;
	struct label *branches;
	size_t branch_count;
	char *error;
	size_t error_bytes;
};

static int __attribute__((format(printf, 3, 4)))
fail(struct parser *p, size_t line, const char *format, ...)
{
	size_t used;
	va_list args;

	if (line)
		snprintf(p->error, p->error_bytes, "%s:%zu: ", p->file, line);
	else
		snprintf(p->error, p->error_bytes, "%s: ", p->file);
	used = strlen(p->error);
	va_start(args, format);
	vsnprintf(p->error + used, p->error_bytes - used, format, args);
	va_end(args);
	return -EINVAL;
}

static char *skip_space(char *text)
{
	return text + strspn(text, " \t\r");
}

const char *listing_line(const char *text, size_t lines)
{
	for (; lines && *text; lines--) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return text;
}

size_t listing_name_length(const char *text)
{
	size_t length = 0;

	if (!isalpha((unsigned char)*text) && *text != '_')
		return 0;
	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	return length;
}

static void lookup(void *data, const char *name, struct perfctr_value *value)
{
	struct parser *p = data;

	for (size_t i = 0; i < p->parameter_count; i++) {
		struct listing_parameter *parameter = &p->parameters[i];

		if (strcmp(parameter->name, name))
			continue;
		parameter->used = true;
		value->integer = parameter->value;
		value->number = (double)value->integer;
		value->flags = PERFCTR_VALUE_INTEGER;
		return;
	}
	value->state = PERFCTR_VALUE_NOT_MEASURED;
	fail(p, p->line, "formula: '%s' has no value, give %s=NUMBER", name, name);
	p->unknown = true;
}

static int evaluate(struct parser *p, const char *text, int64_t *result)
{
	struct perfctr_value value = { 0 };
	struct perfctr_expr *expr;
	int ret = perfctr_expr_new(p->ctx, text, &expr);

	if (ret == -EINVAL)
		fail(p, p->line, "%s", perfctr_ctx_error(p->ctx));
	if (ret)
		return ret;
	perfctr_expr_eval(expr, lookup, p, &value);
	perfctr_expr_unref(expr);
	*result = value.integer;
	if (!p->unknown && !(value.flags & PERFCTR_VALUE_INTEGER))
		return fail(p, p->line, "formula \"%s\" gives no integer of 64 bits", text);
	return p->unknown ? -EINVAL : 0;
}

/* --- lines ---------------------------------------------------------------- */

static int add_label(struct parser *p, struct label **labels, size_t *count, const char *name,
		     size_t length)
{
	struct label *label;
	void *more;

	if (!length || length >= LISTING_NAME_BYTES)
		return fail(p, p->line, "'%.*s' is no name of at most %d letters, digits and _",
			    (int)length, name, LISTING_NAME_BYTES - 1);
	more = realloc(*labels, (*count + 1) * sizeof(**labels));
	if (!more)
		return -ENOMEM;
	*labels = more;
	label = &(*labels)[(*count)++];
	memcpy(label->name, name, length);
	label->name[length] = '\0';
	label->at = p->count;
	label->line = p->line;
	return 0;
}

static const struct label *find_label(const struct parser *p, const char *name, size_t length)
{
	for (size_t i = 0; i < p->label_count; i++)
		if (strlen(p->labels[i].name) == length && !memcmp(p->labels[i].name, name, length))
			return &p->labels[i];
	return NULL;
}

static int parse_repeat(struct parser *p, char **text, unsigned long *repeat)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return 0;
	*repeat = strtoul(*text, &end, 10);
	end = skip_space(end);
	if (*end != '*' || !*repeat || *repeat > LISTING_MAX_INSTRUCTIONS)
		return fail(p, p->line, "a repetition is written '7 * NOP', 1 to %d times",
			    LISTING_MAX_INSTRUCTIONS);
	*text = skip_space(end + 1);
	return 0;
}

static int parse_guard(struct parser *p, char **text, struct listing_instruction *insn)
{
	char *at = *text, *end;
	int64_t times;
	int ret;

	if (*at != '@')
		return 0;
	at++;
	if (!strncmp(at, "!PT", 3)) {
		insn->guard = LISTING_NEVER;
		at += 3;
	} else if (!strncmp(at, "PT", 2) && !(!p->machine && at[2] == '{')) {
		at += 2;
	} else {
		const bool stated = !strncmp(at, "PT", 2);

		insn->guard = stated ? LISTING_ALWAYS : LISTING_TIMES;
		at += *at == '!';
		if (at[0] != 'P' || (!stated && !isdigit((unsigned char)at[1])))
			return fail(p, p->line,
				    "a guard is @PT, @!PT, @P0{FORMULA} or @!P0{FORMULA}");
		at += 2;
		end = strchr(at, '}');
		if (*at != '{' || !end)
			return fail(p, p->line,
				    "say in braces how often the guard is true: @P0{N - 1}");
		*end = '\0';
		ret = evaluate(p, at + 1, &times);
		if (ret)
			return ret;
		if (times < 0 || times > UINT32_MAX)
			return fail(p, p->line, "the guard would be true %" PRId64 " times", times);
		insn->guard_times = (uint32_t)times;
		at = end + 1;
	}
	if (*at && *at != ' ' && *at != '\t')
		return fail(p, p->line, "a space is missing behind the guard");
	*text = skip_space(at);
	return 0;
}

static enum listing_kind kind_of(const char *mnemonic, size_t length)
{
	static const char *const names[] = {
		[LISTING_BRANCH] = "BRA", [LISTING_EXIT] = "EXIT", [LISTING_TRIGGER] = "PMTRIG"
	};

	for (size_t kind = LISTING_BRANCH; kind < ARRAY_SIZE(names); kind++)
		if (strlen(names[kind]) == length && !memcmp(names[kind], mnemonic, length))
			return (enum listing_kind)kind;
	return LISTING_STEP;
}

static int parse_mnemonic(struct parser *p, char **text, struct listing_instruction *insn)
{
	size_t word = strcspn(*text, " \t\r;"), base = strcspn(*text, ". \t\r;");
	bool known = isalpha((unsigned char)**text) && word < LISTING_MNEMONIC_BYTES;

	for (size_t i = 0; i < word; i++)
		known &= isalnum((unsigned char)(*text)[i]) || strchr("._", (*text)[i]);
	if (word >= LISTING_MNEMONIC_BYTES)
		return fail(p, p->line, "'%.*s' is longer than the %d characters of a mnemonic",
			    (int)word, *text, LISTING_MNEMONIC_BYTES - 1);
	if (p->machine)
		known = p->machine->knows(*text, base);
	if (!known)
		return fail(p, p->line, "'%.*s' is no instruction%s%s", (int)word, *text,
			    p->machine ? " of " : "", p->machine ? p->machine->name : "");
	memcpy(p->mnemonics[p->count], *text, word);
	insn->kind = kind_of(*text, base);
	*text = skip_space(*text + word);
	return 0;
}

static int parse_target(struct parser *p, char *text, struct listing_instruction *insn)
{
	char *end;
	long target;

	if (*text != '+' && *text != '-') {
		if (!listing_name_length(text))
			return fail(p, p->line, "say where BRA goes: a label, +n or -n");
		return add_label(p, &p->branches, &p->branch_count, text,
				 listing_name_length(text));
	}
	target = strtol(text, &end, 10);
	if (end == text + 1 || target > LISTING_MAX_INSTRUCTIONS ||
	    target < -LISTING_MAX_INSTRUCTIONS || (long)p->count + target < 0)
		return fail(p, p->line, "BRA %s leaves the listing", text);
	/* checked against the number of instructions after the last line */
	insn->target = (uint32_t)((long)p->count + target);
	return 0;
}

static int parse_triggers(struct parser *p, const char *text, struct listing_instruction *insn)
{
	char *end;
	unsigned long mask = isdigit((unsigned char)*text) ? strtoul(text, &end, 0) : 0;

	if (!mask || mask > UINT8_MAX || end[strspn(end, " \t\r;")])
		return fail(p, p->line, "say which triggers PMTRIG fires: a mask from 1 to 0xff");
	insn->target = (uint32_t)mask;
	return 0;
}

static int parse_line(struct parser *p, char *text)
{
	struct listing_instruction insn = { 0 };
	unsigned long repeat = 1;
	bool labelled = false;
	size_t length;
	int ret;

	text[strcspn(text, "#\n")] = '\0';
	text = skip_space(text);
	ret = parse_repeat(p, &text, &repeat);
	if (ret)
		return ret;

	length = listing_name_length(text);
	if (length && text[length] == ':') {
		if (find_label(p, text, length))
			return fail(p, p->line, "label '%.*s' stands twice", (int)length, text);
		ret = add_label(p, &p->labels, &p->label_count, text, length);
		if (ret)
			return ret;
		labelled = true;
		text = skip_space(text + length + 1);
	}
	if (!*text && repeat == 1)
		return 0;
	if (p->count == LISTING_MAX_INSTRUCTIONS)
		return fail(p, p->line, "more than %d instructions", LISTING_MAX_INSTRUCTIONS);
	ret = parse_guard(p, &text, &insn);
	if (!ret)
		ret = parse_mnemonic(p, &text, &insn);
	if (ret)
		return ret;
	if (repeat > 1 && (labelled || insn.kind == LISTING_BRANCH))
		return fail(p, p->line, "a label or a branch stands for one place, not for %lu",
			    repeat);
	if (insn.kind == LISTING_BRANCH) {
		ret = parse_target(p, text, &insn);
		if (ret)
			return ret;
	}
	if (insn.kind == LISTING_TRIGGER && parse_triggers(p, text, &insn))
		return -1;
	if (p->count + repeat > LISTING_MAX_INSTRUCTIONS)
		return fail(p, p->line, "more than %d instructions", LISTING_MAX_INSTRUCTIONS);
	for (size_t first = p->count; repeat--; p->count++) {
		p->instructions[p->count] = insn;
		p->lines[p->count] = (uint32_t)p->line;
		if (p->count > first)
			memcpy(p->mnemonics[p->count], p->mnemonics[first], LISTING_MNEMONIC_BYTES);
	}
	return 0;
}

static int finish(struct parser *p)
{
	if (!p->count)
		return fail(p, 0, "the listing is empty");
	for (size_t i = 0; i < p->branch_count; i++) {
		const struct label *branch = &p->branches[i];
		const struct label *label = find_label(p, branch->name, strlen(branch->name));

		if (!label)
			return fail(p, branch->line, "there is no label '%s'", branch->name);
		p->instructions[branch->at].target = (uint32_t)label->at;
	}
	for (size_t i = 0; i < p->count; i++)
		if (p->instructions[i].kind == LISTING_BRANCH &&
		    p->instructions[i].target >= p->count)
			return fail(p, 0, "the branch at instruction %zu leaves the listing", i);
	/* a point of a campaign has parameters for other uses too */
	for (size_t i = 0; i < p->parameter_count && p->machine; i++)
		if (!p->parameters[i].used)
			return fail(p, 0, "no formula has the parameter '%s'",
				    p->parameters[i].name);
	return 0;
}

int listing_read(FILE *file, const char *name, const struct listing_machine *machine,
		 struct listing_parameter *parameters, size_t parameter_count,
		 struct listing *listing, char *error, size_t error_bytes)
{
	struct parser p = {
		.file = name,
		.machine = machine,
		.parameters = parameters,
		.parameter_count = parameter_count,
		.instructions = calloc(LISTING_MAX_INSTRUCTIONS, sizeof(*p.instructions)),
		.mnemonics = calloc(LISTING_MAX_INSTRUCTIONS, sizeof(*p.mnemonics)),
		.lines = calloc(LISTING_MAX_INSTRUCTIONS, sizeof(*p.lines)),
		.error = error,
		.error_bytes = error_bytes,
	};
	size_t capacity = 0;
	char *line = NULL;
	int ret = perfctr_ctx_new(&p.ctx);

	if (!p.instructions || !p.mnemonics || !p.lines)
		ret = -ENOMEM;

	for (size_t i = 0; i < parameter_count; i++)
		parameters[i].used = false;
	while (!ret && getline(&line, &capacity, file) >= 0) {
		p.line++;
		ret = parse_line(&p, line);
	}
	if (!ret && ferror(file)) {
		fail(&p, 0, "cannot be read");
		ret = -EIO;
	}
	if (!ret)
		ret = finish(&p);
	if (ret == -ENOMEM)
		snprintf(error, error_bytes, "%s: out of memory", name);

	perfctr_ctx_unref(p.ctx);
	free(line);
	free(p.labels);
	free(p.branches);
	if (ret) {
		free(p.instructions);
		free(p.mnemonics);
		free(p.lines);
	} else {
		*listing = (struct listing){ .instructions = p.instructions,
					     .mnemonics = p.mnemonics,
					     .count = p.count,
					     .lines = p.lines };
	}
	return ret;
}

void listing_free(struct listing *listing)
{
	free(listing->instructions);
	free(listing->mnemonics);
	free(listing->lines);
	*listing = (struct listing){ 0 };
}
