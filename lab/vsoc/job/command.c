// SPDX-License-Identifier: MIT
#include "command.h"
#include "instructions.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

enum { MAX_REPEAT = 65536 };

enum field_kind {
	FIELD_AMOUNT, /* a number that can be summed */
	FIELD_NUMBER, /* a number that cannot be summed */
	FIELD_TIME, /* a duration */
	FIELD_INITIATOR, /* enum drm_vsoc_initiator by name */
	FIELD_HOME, /* enum drm_vsoc_home by name */
	FIELD_FLAG, /* a word that sets a bit */
	FIELD_LISTING, /* a file with instructions */
	FIELD_METHOD, /* value of a method; each such field is one more method of the command */
};

struct field {
	const char *name;
	enum field_kind kind;
	uint8_t offset;
	uint8_t bytes;
	uint32_t flag;
};

#define FIELD(kind, member, name)                                         \
	{                                                                 \
		name, kind, offsetof(struct drm_vsoc_command, member),    \
			sizeof(((struct drm_vsoc_command *)0)->member), 0 \
	}
#define FLAG(member, name, bit)                                              \
	{                                                                    \
		name, FIELD_FLAG, offsetof(struct drm_vsoc_command, member), \
			sizeof(((struct drm_vsoc_command *)0)->member), bit  \
	}

#define METHOD(name, method)                                                                      \
	{                                                                                         \
		name, FIELD_METHOD, offsetof(struct drm_vsoc_command, methods), sizeof(uint32_t), \
			method                                                                    \
	}

static const struct field draw_fields[] = {
	FIELD(FIELD_AMOUNT, draw.vertices, "vertices"),
	FIELD(FIELD_AMOUNT, draw.primitives, "primitives"),
	FIELD(FIELD_AMOUNT, draw.fragments, "fragments"),
	FIELD(FIELD_AMOUNT, draw.texels, "texels"),
	FIELD(FIELD_AMOUNT, draw.primitives_culled, "culled"),
	FIELD(FIELD_AMOUNT, draw.points, "points"),
	FIELD(FIELD_AMOUNT, draw.lines, "lines"),
	FIELD(FIELD_AMOUNT, draw.streamed, "streamed"),
};

static const struct field compute_fields[] = {
	FIELD(FIELD_AMOUNT, compute.threads, "threads"),
	FIELD(FIELD_NUMBER, compute.instructions, "instructions"),
	FIELD(FIELD_LISTING, compute.listing, "listing"),
};

static const struct field copy_fields[] = {
	FIELD(FIELD_AMOUNT, copy.bytes, "bytes"),
	FIELD(FIELD_NUMBER, copy.address, "address"),
	FLAG(copy.flags, "read", DRM_VSOC_COPY_READ),
	FLAG(copy.flags, "write", DRM_VSOC_COPY_WRITE),
	FLAG(copy.flags, "atomic", DRM_VSOC_COPY_ATOMIC),
	FLAG(copy.flags, "dataless", DRM_VSOC_COPY_DATALESS),
	FIELD(FIELD_INITIATOR, copy.initiator, "initiator"),
	FIELD(FIELD_HOME, copy.home, "home"),
	FIELD(FIELD_NUMBER, copy.socket, "socket"),
	FIELD(FIELD_NUMBER, copy.gpu, "gpu"),
	FIELD(FIELD_NUMBER, copy.rate, "rate"),
	FIELD(FIELD_NUMBER, copy.window, "window"),
};

static const struct field pcie_fields[] = {
	FIELD(FIELD_AMOUNT, pcie.bytes, "bytes"),
	FIELD(FIELD_NUMBER, pcie.address, "address"),
	FLAG(pcie.flags, "read", DRM_VSOC_PCIE_READ),
	/* no flag means write; the word is accepted for readability */
	FLAG(pcie.flags, "write", 0),
	FLAG(pcie.flags, "target", DRM_VSOC_PCIE_TARGET),
	FIELD(FIELD_NUMBER, pcie.socket, "socket"),
	FIELD(FIELD_NUMBER, pcie.root_complex, "rc"),
	FIELD(FIELD_NUMBER, pcie.root_port, "rp"),
	FIELD(FIELD_NUMBER, pcie.bdf, "bdf"),
	FIELD(FIELD_HOME, pcie.home, "home"),
	FIELD(FIELD_INITIATOR, pcie.initiator, "initiator"),
	FIELD(FIELD_NUMBER, pcie.rate, "rate"),
	FIELD(FIELD_NUMBER, pcie.window, "window"),
};

static const struct field core_fields[] = {
	FIELD(FIELD_AMOUNT, core.elements, "elements"),
};

static const struct field wait_fields[] = {
	FIELD(FIELD_TIME, wait.duration_ns, "time"),
};

static const struct field sample_fields[] = {
	FIELD(FIELD_NUMBER, sample.session, "session"),
	FIELD(FIELD_NUMBER, sample.user_data, "user_data"),
};

/* each may be repeated up to the limit; executed in this order */
static const struct field methods_fields[] = {
	METHOD("control0", DRM_VSOC_MP_PM_CONTROL(0)),
	METHOD("control1", DRM_VSOC_MP_PM_CONTROL(1)),
	METHOD("control2", DRM_VSOC_MP_PM_CONTROL(2)),
	METHOD("control3", DRM_VSOC_MP_PM_CONTROL(3)),
	METHOD("set0", DRM_VSOC_MP_PM_SET(0)),
	METHOD("set1", DRM_VSOC_MP_PM_SET(1)),
	METHOD("set2", DRM_VSOC_MP_PM_SET(2)),
	METHOD("set3", DRM_VSOC_MP_PM_SET(3)),
};

/* the runner sets the address */
static const struct field store_fields[] = {
	FIELD(FIELD_NUMBER, mp_store.sequence, "sequence"),
};

struct command_kind {
	const char *name;
	uint32_t type;
	const struct field *fields;
	size_t field_count;
};

static const struct command_kind kinds[] = {
	{ "draw", DRM_VSOC_CMD_DRAW, draw_fields, ARRAY_SIZE(draw_fields) },
	{ "compute", DRM_VSOC_CMD_COMPUTE, compute_fields, ARRAY_SIZE(compute_fields) },
	{ "copy", DRM_VSOC_CMD_COPY, copy_fields, ARRAY_SIZE(copy_fields) },
	{ "pcie", DRM_VSOC_CMD_PCIE, pcie_fields, ARRAY_SIZE(pcie_fields) },
	{ "core", DRM_VSOC_CMD_CORE, core_fields, ARRAY_SIZE(core_fields) },
	{ "wait", DRM_VSOC_CMD_WAIT, wait_fields, ARRAY_SIZE(wait_fields) },
	{ "sample", DRM_VSOC_CMD_SAMPLE, sample_fields, ARRAY_SIZE(sample_fields) },
	{ "methods", DRM_VSOC_CMD_METHODS, methods_fields, ARRAY_SIZE(methods_fields) },
	{ "store", DRM_VSOC_CMD_MP_STORE, store_fields, ARRAY_SIZE(store_fields) },
};

static const char *const initiators[] = {
	[DRM_VSOC_INITIATOR_GPU] = "gpu",
	[DRM_VSOC_INITIATOR_CPU] = "cpu",
	[DRM_VSOC_INITIATOR_NONCPU] = "noncpu",
	[DRM_VSOC_INITIATOR_REMOTE] = "remote",
};

static const char *const homes[] = {
	[DRM_VSOC_HOME_CMEM] = "cmem",	   [DRM_VSOC_HOME_GMEM] = "gmem",
	[DRM_VSOC_HOME_CXL] = "cxl",	   [DRM_VSOC_HOME_PCIE_PEER] = "peer",
	[DRM_VSOC_HOME_REMOTE] = "remote",
};

void job_clear(struct job *job)
{
	for (size_t i = 0; i < job->listing_count; i++)
		free(job->listings[i]);
	job->listing_count = 0;
	job->count = 0;
}

void job_free(struct job *job)
{
	job_clear(job);
	free(job->listings);
	free(job->commands);
	*job = (struct job){ 0 };
}

int job_add(struct job *job, const struct drm_vsoc_command *command)
{
	if (job->count == job->capacity) {
		size_t capacity = job->capacity ? job->capacity * 2 : 16;
		void *commands = realloc(job->commands, capacity * sizeof(*job->commands));

		if (!commands)
			return -ENOMEM;
		job->commands = commands;
		job->capacity = capacity;
	}
	job->commands[job->count++] = *command;
	return 0;
}

static const struct command_kind *find_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static const struct command_kind *kind_of(uint32_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}

static uint64_t load_field(const struct drm_vsoc_command *command, const struct field *field)
{
	const unsigned char *at = (const unsigned char *)command + field->offset;
	uint64_t wide;
	uint32_t narrow;

	if (field->bytes == sizeof(wide)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

static bool store_field(struct drm_vsoc_command *command, const struct field *field, uint64_t value)
{
	unsigned char *at = (unsigned char *)command + field->offset;
	uint32_t narrow = (uint32_t)value;

	if (field->bytes == sizeof(value)) {
		memcpy(at, &value, sizeof(value));
		return true;
	}
	memcpy(at, &narrow, sizeof(narrow));
	return narrow == value;
}

static void list_fields(const struct command_kind *kind, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < kind->field_count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s%s", i ? " " : "",
					 kind->fields[i].name,
					 kind->fields[i].kind == FIELD_FLAG ? "" : "=");
}

static int parse_name(const char *const *names, size_t count, const char *text, uint64_t *value)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(names[i], text)) {
			*value = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_value(const struct field *field, const char *text, uint64_t *value)
{
	switch (field->kind) {
	case FIELD_TIME:
		return number_parse_time(text, 1, value);
	case FIELD_INITIATOR:
		return parse_name(initiators, ARRAY_SIZE(initiators), text, value);
	case FIELD_HOME:
		return parse_name(homes, ARRAY_SIZE(homes), text, value);
	default:
		return number_parse_count(text, value);
	}
}

static const char *value_help(enum field_kind kind)
{
	switch (kind) {
	case FIELD_TIME:
		return "a time such as 500us or 10ms";
	case FIELD_INITIATOR:
		return "one of gpu, cpu, noncpu, remote";
	case FIELD_HOME:
		return "one of cmem, gmem, cxl, peer, remote";
	default:
		return "a number such as 4096, 64k, 1Mi or 0x1000 that fits the field";
	}
}

/* state of the parser of a command */
struct command_reader {
	const struct command_kind *kind;
	struct drm_vsoc_command command;
	const char *listing;
	/* pcie: which of the two words were given */
	bool reads, writes;
	struct listing_parameter parameters[LISTING_MAX_PARAMETERS];
	size_t parameter_count;
	char *error;
	size_t error_bytes;
};

/* "N=10" */
static int parse_parameter(struct command_reader *r, const char *word, size_t length)
{
	struct listing_parameter *parameter = &r->parameters[r->parameter_count];
	uint64_t value;

	if (r->parameter_count == LISTING_MAX_PARAMETERS || length >= LISTING_NAME_BYTES) {
		snprintf(r->error, r->error_bytes,
			 "compute: '%s': at most %d parameters, names of up to %d letters", word,
			 LISTING_MAX_PARAMETERS, LISTING_NAME_BYTES - 1);
		return -EINVAL;
	}
	if (number_parse_count(word + length + 1, &value) || value > UINT32_MAX) {
		snprintf(r->error, r->error_bytes,
			 "compute: '%s': give a number from 0 to %" PRIu32, word, UINT32_MAX);
		return -EINVAL;
	}
	memcpy(parameter->name, word, length);
	parameter->name[length] = '\0';
	parameter->value = (int64_t)value;
	r->parameter_count++;
	return 0;
}

int job_add_listing(struct job *job, struct drm_vsoc_cmd_compute *compute,
		    const struct listing *listing, char *error, size_t error_bytes)
{
	struct drm_vsoc_instruction **listings = realloc(
		job->listings, (job->listing_count + 1) * sizeof(struct drm_vsoc_instruction *));

	if (!listings) {
		snprintf(error, error_bytes, "out of memory");
		return -ENOMEM;
	}
	job->listings = listings;
	listings[job->listing_count] = instructions_of(listing, error, error_bytes);
	if (!listings[job->listing_count])
		return -EINVAL;
	compute->listing = (uintptr_t)listings[job->listing_count++];
	compute->listing_count = (uint32_t)listing->count;
	compute->listing_stride = sizeof(struct drm_vsoc_instruction);
	return 0;
}

static int read_listing(struct command_reader *r, struct job *job)
{
	struct listing listing;
	FILE *file;
	int ret;

	if (!r->listing) {
		if (!r->parameter_count)
			return 0;
		snprintf(r->error, r->error_bytes,
			 "compute: '%s=' is a parameter of a listing, add listing=FILE",
			 r->parameters[0].name);
		return -EINVAL;
	}
	file = fopen(r->listing, "re");
	if (!file) {
		snprintf(r->error, r->error_bytes, "%s: %s", r->listing, strerror(errno));
		return -EINVAL;
	}
	ret = listing_read(file, r->listing, &virtual_soc, r->parameters, r->parameter_count,
			   &listing, r->error, r->error_bytes);
	fclose(file);
	if (ret)
		return ret == -EIO ? -EINVAL : ret;
	ret = job_add_listing(job, &r->command.compute, &listing, r->error, r->error_bytes);
	listing_free(&listing);
	return ret;
}

static int parse_method(struct command_reader *r, const struct field *field, const char *word,
			const char *text)
{
	struct drm_vsoc_cmd_methods *methods = &r->command.methods;
	uint64_t value;

	if (number_parse_count(text, &value) || value > UINT32_MAX) {
		snprintf(r->error, r->error_bytes, "methods: '%s': give a number of 32 bits", word);
		return -EINVAL;
	}
	if (methods->count == ARRAY_SIZE(methods->methods)) {
		snprintf(r->error, r->error_bytes,
			 "methods: '%s': a command has %zu methods, begin another one", word,
			 ARRAY_SIZE(methods->methods));
		return -EINVAL;
	}
	methods->methods[methods->count].method = field->flag;
	methods->methods[methods->count++].data = (uint32_t)value;
	return 0;
}

static int parse_field(struct command_reader *r, const char *word)
{
	const struct command_kind *kind = r->kind;
	struct drm_vsoc_command *command = &r->command;
	char *error = r->error;
	size_t error_bytes = r->error_bytes;
	size_t length = strcspn(word, "=");
	const struct field *field = NULL;
	uint64_t value;
	char known[256];

	for (size_t i = 0; i < kind->field_count; i++)
		if (strlen(kind->fields[i].name) == length &&
		    !memcmp(kind->fields[i].name, word, length))
			field = &kind->fields[i];

	if (!field && kind->type == DRM_VSOC_CMD_COMPUTE && word[length] &&
	    isupper((unsigned char)word[0]) && listing_name_length(word) == length)
		return parse_parameter(r, word, length);
	if (!field || (field->kind == FIELD_FLAG) != (word[length] == '\0')) {
		list_fields(kind, known, sizeof(known));
		snprintf(error, error_bytes,
			 "%s: '%s' is neither a field nor a command; %s has: %s", kind->name, word,
			 kind->name, known);
		return -EINVAL;
	}
	if (field->kind == FIELD_FLAG && kind->type == DRM_VSOC_CMD_PCIE) {
		r->reads |= field->flag == DRM_VSOC_PCIE_READ;
		r->writes |= !field->flag;
		if (r->reads && r->writes) {
			snprintf(error, error_bytes,
				 "%s: reads or writes: give two commands for both", kind->name);
			return -EINVAL;
		}
	}
	if (field->kind == FIELD_FLAG) {
		store_field(command, field, load_field(command, field) | field->flag);
		return 0;
	}
	if (field->kind == FIELD_METHOD)
		return parse_method(r, field, word, word + length + 1);
	if (field->kind == FIELD_LISTING) {
		r->listing = word + length + 1;
		return 0;
	}
	if (parse_value(field, word + length + 1, &value) || !store_field(command, field, value)) {
		snprintf(error, error_bytes, "%s: '%s': give %s", kind->name, word,
			 value_help(field->kind));
		return -EINVAL;
	}
	return 0;
}

int job_parse(struct job *job, const char *const *words, size_t count, char *error,
	      size_t error_bytes)
{
	size_t at = 0;

	while (at < count) {
		struct command_reader r = { .error = error, .error_bytes = error_bytes };
		uint64_t repeat = 1;
		char known[256];
		int ret;

		if (words[at][0] == 'x' && !number_parse_count(words[at] + 1, &repeat)) {
			if (repeat < 1 || repeat > MAX_REPEAT || ++at == count) {
				snprintf(error, error_bytes,
					 "'xN' repeats the command after it, N = 1..%d",
					 MAX_REPEAT);
				return -EINVAL;
			}
		}

		r.kind = find_kind(words[at]);
		if (!r.kind) {
			snprintf(error, error_bytes,
				 "'%s' is no command; there are: draw compute copy pcie "
				 "wait sample methods store",
				 words[at]);
			return -EINVAL;
		}
		r.command.type = r.kind->type;
		for (at++; at < count && !find_kind(words[at]); at++) {
			uint64_t ignored;

			if (words[at][0] == 'x' && !number_parse_count(words[at] + 1, &ignored))
				break;
			ret = parse_field(&r, words[at]);
			if (ret)
				return ret;
		}

		if (r.kind->type == DRM_VSOC_CMD_COPY && !r.command.copy.flags) {
			snprintf(error, error_bytes, "copy: add 'read', 'write' or both");
			return -EINVAL;
		}
		if (r.kind->type == DRM_VSOC_CMD_METHODS && !r.command.methods.count) {
			list_fields(r.kind, known, sizeof(known));
			snprintf(error, error_bytes, "methods: add at least one of %s", known);
			return -EINVAL;
		}
		ret = read_listing(&r, job);
		if (ret)
			return ret;
		while (repeat--) {
			ret = job_add(job, &r.command);
			if (ret)
				return ret;
		}
	}
	return 0;
}

void command_amounts_add(struct command_amount *amounts, const struct drm_vsoc_command *command)
{
	const struct command_kind *kind = kind_of(command->type);

	for (size_t f = 0; kind && f < kind->field_count; f++) {
		const struct field *field = &kind->fields[f];

		if (field->kind != FIELD_AMOUNT && field->kind != FIELD_TIME)
			continue;
		for (size_t i = 0; i < COMMAND_AMOUNTS; i++) {
			if (!amounts[i].command) {
				amounts[i].command = kind->name;
				amounts[i].field = field->name;
			}
			if (amounts[i].command == kind->name && amounts[i].field == field->name) {
				amounts[i].sum += load_field(command, field);
				break;
			}
		}
	}
}

static void list_names(const char *field, const char *const *names, size_t count)
{
	printf("%s=", field);
	for (size_t i = 0; i < count; i++)
		printf("%s%s", i ? "|" : "", names[i]);
}

void command_help(void)
{
	char fields[256];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		list_fields(&kinds[i], fields, sizeof(fields));
		printf("  %-8s %s\n", kinds[i].name, fields);
	}
	printf("\n");
	list_names("initiator", initiators, ARRAY_SIZE(initiators));
	list_names(", home", homes, ARRAY_SIZE(homes));
	printf("\n");
}
