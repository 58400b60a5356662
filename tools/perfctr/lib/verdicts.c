// SPDX-License-Identifier: MIT
/* Reads and writes the file of verdicts, and looks up what a row can be trusted for. */
#include "verdicts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "app.h"
#include "json.h"
#include "output.h"
#include "stream.h"

enum { PATH_BYTES = 1024, NAME_BYTES = 128, LAPSED_BYTES = 512, NOTE_INDENT = 5 };

static const char format_name[] = "perfctr verdicts 2";
/*
 * It named no machine, and its TRUSTED did not require that no other rule fits: all its verdicts
 * have lapsed
 */
static const char old_format[] = "perfctr verdicts 1";
static const char system_path[] = "/var/lib/perfctr/verdicts.json";

/* what a verdict depends on; members of one in the file */
enum { PLACE_MACHINE, PLACE_KERNEL, PLACE_FIRMWARE, PLACES };
enum { PLACE_BYTES = 192 };

static const char *const place_names[PLACES] = { "machine", "kernel", "firmware" };

/* maps the id of a counter to an object */
struct verdicts {
	struct json_object *all;
	struct json_object *put; /* ids added since loading */
	char place[PLACES][PLACE_BYTES]; /* empty until there is a verdict */
};

static const struct {
	const char *name;
	char mark;
	int rank; /* higher is worse */
} trusts[] = {
	[PERFCTR_TRUST_UNVALIDATED] = { "unvalidated", ' ', 0 },
	[PERFCTR_TRUST_TRUSTED] = { "trusted", '+', 1 },
	[PERFCTR_TRUST_EXPLAINED] = { "explained", '=', 2 },
	[PERFCTR_TRUST_QUARANTINED] = { "quarantined", '?', 3 },
	[PERFCTR_TRUST_UNTRUSTED] = { "untrusted", '!', 4 },
};

const char *verdicts_trust_name(unsigned int trust)
{
	return trust < ARRAY_SIZE(trusts) ? trusts[trust].name : "unknown";
}

char verdicts_mark(unsigned int trust)
{
	return trust < ARRAY_SIZE(trusts) ? trusts[trust].mark : ' ';
}

/* --- this machine ---------------------------------------------------------------------- */

/* Append the first line of a file, without what it ends with. Return: whether there is one. */
static bool append_file(char *text, size_t size, const char *path)
{
	const size_t used = strlen(text);
	char line[PLACE_BYTES] = "";
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	if (!fgets(line, sizeof(line), file))
		*line = '\0';
	fclose(file);
	for (size_t n = strlen(line); n && isspace((unsigned char)line[n - 1]); n--)
		line[n - 1] = '\0';
	if (*line)
		snprintf(text + used, size - used, "%s%s", used ? " " : "", line);
	return *line;
}

/* Append the value of a line of /proc/cpuinfo. */
static void append_cpuinfo(char *text, size_t size, const char *key)
{
	const size_t used = strlen(text);
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		const char *value = strchr(line, ':');

		found = value && !strncmp(line, key, strlen(key));
		if (found)
			snprintf(text + used, size - used, "%s%s %.*s", used ? ", " : "", key,
				 (int)strcspn(value + 2, "\n"), value + 2);
	}
	if (file)
		fclose(file);
}

/* A PC's names are in its DMI tables, a board's in its device tree. */
static void find_place(char place[PLACES][PLACE_BYTES])
{
	static const char dmi[] = "/sys/class/dmi/id/", tree[] = "/proc/device-tree/";
	char *machine = place[PLACE_MACHINE], *firmware = place[PLACE_FIRMWARE];
	char path[64];
	struct utsname uts;

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s%s", dmi, i ? "product_name" : "sys_vendor");
		append_file(machine, PLACE_BYTES, path);
	}
	snprintf(path, sizeof(path), "%smodel", tree);
	if (!*machine)
		append_file(machine, PLACE_BYTES, path);
	append_cpuinfo(machine, PLACE_BYTES, "model name");
	snprintf(path, sizeof(path), "%sbios_version", dmi);
	append_file(firmware, PLACE_BYTES, path);
	snprintf(path, sizeof(path), "%schosen/u-boot,version", tree);
	append_file(firmware, PLACE_BYTES, path);
	append_cpuinfo(firmware, PLACE_BYTES, "microcode");
	if (!uname(&uts)) {
		snprintf(place[PLACE_KERNEL], PLACE_BYTES, "%s", uts.release);
		if (!*machine)
			snprintf(machine, PLACE_BYTES, "%s", uts.machine);
	}
	if (!*firmware)
		snprintf(firmware, PLACE_BYTES, "not known");
}

/* Not without a verdict: reading /proc/cpuinfo interrupts all CPUs. */
static void know_place(struct verdicts *verdicts)
{
	if (!*verdicts->place[PLACE_MACHINE])
		find_place(verdicts->place);
}

/* --- files --------------------------------------------------------------------------- */

static void user_path(char *path, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && *state == '/')
		snprintf(path, size, "%s/perfctr/verdicts.json", state);
	else
		snprintf(path, size, "%s/.local/state/perfctr/verdicts.json", home ? home : "");
}

static void read_verdicts(struct verdicts *verdicts, const char *path, FILE *err)
{
	struct json_object *root, *list, *format;

	if (access(path, R_OK))
		return;
	root = json_object_from_file(path);
	if (!json_object_object_get_ex(root, "format", &format) ||
	    !json_object_object_get_ex(root, "verdicts", &list) ||
	    (strcmp(json_object_get_string(format), format_name) != 0 &&
	     strcmp(json_object_get_string(format), old_format) != 0) ||
	    !json_object_is_type(list, json_type_object)) {
		fprintf(err, "perfctr: %s: no file of verdicts; it is not used\n", path);
		json_object_put(root);
		return;
	}
	json_object_object_foreach(list, id, verdict)
	{
		if (json_object_is_type(verdict, json_type_object))
			json_object_object_add(verdicts->all, id, json_object_get(verdict));
	}
	json_object_put(root);
}

struct verdicts *verdicts_load(FILE *err)
{
	struct verdicts *verdicts = calloc(1, sizeof(*verdicts));
	const char *chosen = getenv("PERFCTR_VERDICTS");
	char path[PATH_BYTES];

	if (!verdicts)
		return NULL;
	verdicts->all = json_object_new_object();
	verdicts->put = json_object_new_object();
	if (chosen && *chosen) {
		read_verdicts(verdicts, chosen, err);
	} else {
		read_verdicts(verdicts, system_path, err);
		user_path(path, sizeof(path));
		read_verdicts(verdicts, path, err);
	}
	if (json_object_object_length(verdicts->all))
		know_place(verdicts);
	return verdicts;
}

void verdicts_free(struct verdicts *verdicts)
{
	if (!verdicts)
		return;
	json_object_put(verdicts->all);
	json_object_put(verdicts->put);
	free(verdicts);
}

/* Create the folder of a file if it does not exist. */
static void make_folder(const char *path)
{
	char folder[PATH_BYTES];

	snprintf(folder, sizeof(folder), "%s", path);
	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(folder, 0755);
		*slash = '/';
	}
}

int verdicts_save(const struct verdicts *verdicts, const char *path, char *where, size_t size)
{
	const char *chosen = getenv("PERFCTR_VERDICTS");
	struct json_object *root = json_object_new_object();
	char temporary[OUTPUT_PATH_BYTES];
	int fd, error;
	FILE *file;

	if (path)
		snprintf(where, size, "%s", path);
	else if (chosen && *chosen)
		snprintf(where, size, "%s", chosen);
	else if (!geteuid())
		snprintf(where, size, "%s", system_path);
	else
		user_path(where, size);
	make_folder(where);
	json_add_text(root, "format", format_name);
	json_add(root, "verdicts", json_object_get(verdicts->all));
	error = output_is_writable(where);
	fd = error ? error : output_open_part(where, temporary);
	error = fd < 0 ? fd : output_take_mode(fd, where);
	file = error ? NULL : stream_new(fd, true);
	if (!file) {
		error = error ? error : -ENOMEM;
		json_object_put(root);
		if (fd >= 0) {
			close(fd);
			unlink(temporary);
		}
		return error;
	}
	/* readers see either the old file or the new one */
	json_write(file, root, true);
	error = stream_flush(file);
	if (!error && fsync(fd))
		error = -errno;
	if (fclose(file) && !error)
		error = -errno;
	if (!error && rename(temporary, where))
		error = -errno;
	if (error)
		unlink(temporary);
	return error;
}

/* --- looking up ------------------------------------------------------------------------ */

static const char *member(const struct json_object *object, const char *name)
{
	struct json_object *value;

	return json_object_object_get_ex(object, name, &value) &&
			       json_object_is_type(value, json_type_string) ?
		       json_object_get_string(value) :
		       NULL;
}

/* The part of the machine that has changed since a verdict, or that it does not name; -1: none. */
static int changed_part(const struct verdicts *verdicts, const struct json_object *verdict)
{
	for (int i = 0; i < PLACES; i++) {
		const char *was = member(verdict, place_names[i]);

		if (!was || strcmp(was, verdicts->place[i]) != 0)
			return i;
	}
	return -1;
}

const char *verdicts_lapsed(const struct verdicts *verdicts,
			    const struct perfctr_counter_desc *desc, char *text, size_t size)
{
	struct json_object *verdict;
	const char *trust, *was, *campaign, *time;
	size_t used;
	int part;

	if (!verdicts || !desc || !json_object_object_get_ex(verdicts->all, desc->id, &verdict))
		return NULL;
	part = changed_part(verdicts, verdict);
	if (part < 0)
		return NULL;
	was = member(verdict, place_names[part]);
	trust = member(verdict, "trust");
	campaign = member(verdict, "campaign");
	time = member(verdict, "time");
	snprintf(text, size, "%s by %s%s%s, lapsed: ", trust ? trust : "?",
		 campaign ? campaign : "an unknown campaign", time ? ", " : "", time ? time : "");
	used = strlen(text);
	if (was)
		snprintf(text + used, size - used, "it is of %s %s, this is %s", place_names[part],
			 was, verdicts->place[part]);
	else
		snprintf(text + used, size - used,
			 "it names no %s; an older perfctr, which saved no machine, asked less of "
			 "a trusted counter",
			 place_names[part]);
	return text;
}

const struct verdict_note *verdicts_find(const struct verdicts *verdicts,
					 const struct perfctr_counter_desc *desc,
					 struct verdict_note *note)
{
	struct json_object *verdict;
	const char *trust;

	if (!verdicts || !desc || !json_object_object_get_ex(verdicts->all, desc->id, &verdict))
		return NULL;
	if (changed_part(verdicts, verdict) >= 0)
		return NULL;
	trust = member(verdict, "trust");
	for (unsigned int i = 0; trust && i < ARRAY_SIZE(trusts); i++) {
		if (strcmp(trusts[i].name, trust) != 0)
			continue;
		*note = (struct verdict_note){
			.trust = i,
			.definition = member(verdict, "definition"),
			.reason = member(verdict, "reason"),
			.campaign = member(verdict, "campaign"),
			.time = member(verdict, "time"),
		};
		return note;
	}
	return NULL;
}

unsigned int verdicts_trust(const struct verdicts *verdicts,
			    const struct perfctr_counter_desc *desc)
{
	struct verdict_note note;

	if (verdicts_find(verdicts, desc, &note))
		return note.trust;
	return desc ? desc->trust : PERFCTR_TRUST_UNVALIDATED;
}

/* a name in a metric's formula: "L2_READ" or "MEMSYS.L2_READ" */
static const struct perfctr_counter_desc *formula_counter(const struct perfctr_metric_desc *metric,
							  const char *name)
{
	const char *dot = strchr(name, '.'), *own = perfctr_block_type_name(metric->block_type);
	const struct perfctr_counter_desc *c = NULL;

	while ((c = perfctr_counter_next(c))) {
		const char *type = perfctr_block_type_name(c->block_type);

		if (!type || strcmp(c->name, dot ? dot + 1 : name) != 0)
			continue;
		if (dot ? strlen(type) == (size_t)(dot - name) &&
				    !strncasecmp(type, name, (size_t)(dot - name)) :
			  c->product == metric->product && own && !strcmp(type, own))
			return c;
	}
	return NULL;
}

unsigned int verdicts_metric_trust(const struct verdicts *verdicts, struct perfctr_ctx *ctx,
				   const struct perfctr_metric_desc *metric)
{
	unsigned int worst = PERFCTR_TRUST_TRUSTED;
	bool known = false, all = true;
	struct perfctr_expr *expr;
	const char *name;

	if (perfctr_expr_new(ctx, metric->formula, &expr))
		return metric->trust;
	for (size_t n = 0; (name = perfctr_expr_name(expr, n)); n++) {
		const struct perfctr_counter_desc *c = formula_counter(metric, name);
		unsigned int trust = verdicts_trust(verdicts, c);

		/* elapsed_s and similar names are no counters */
		if (!c)
			continue;
		known = true;
		all &= trust != PERFCTR_TRUST_UNVALIDATED;
		if (trust != PERFCTR_TRUST_UNVALIDATED && trusts[trust].rank > trusts[worst].rank)
			worst = trust;
	}
	perfctr_expr_unref(expr);
	if (!known || (!all && worst == PERFCTR_TRUST_TRUSTED))
		return metric->trust;
	return worst;
}

void verdicts_print_note(const struct verdicts *verdicts, FILE *out, const char *name,
			 const struct perfctr_counter_desc *desc)
{
	struct verdict_note note = { 0 };
	const int columns = terminal_columns(out, INT_MAX);
	char lapsed[LAPSED_BYTES], *text = NULL;
	FILE *line;
	size_t size;

	if (!desc)
		return;
	if (verdicts_lapsed(verdicts, desc, lapsed, sizeof(lapsed))) {
		fprintf(out, "   %s: ", name);
		columns_wrap(out, lapsed, (int)strlen(name) + 5, NOTE_INDENT, columns);
	}
	if (!verdicts_find(verdicts, desc, &note))
		note = (struct verdict_note){ .trust = desc->trust,
					      .definition = desc->definition };
	if (note.trust == PERFCTR_TRUST_TRUSTED || note.trust == PERFCTR_TRUST_UNVALIDATED)
		return;
	line = open_memstream(&text, &size);
	if (!line)
		return;
	fprintf(line, " %c %s is %s", verdicts_mark(note.trust), name,
		verdicts_trust_name(note.trust));
	if (note.reason)
		fprintf(line, ": %s", note.reason);
	if (note.definition)
		fprintf(line, "; it counts %s", note.definition);
	if (note.campaign)
		fprintf(line, " (%s%s%s)", note.campaign, note.time ? ", " : "",
			note.time ? note.time : "");
	fclose(line);
	columns_wrap(out, text, COLUMNS_UNINDENTED, NOTE_INDENT, columns);
	free(text);
}

/* whether "shader16" or "pcie0_rc1" is a block of type "shader", "pcie" */
static bool is_label_of(const char *label, size_t length, const char *type)
{
	size_t prefix = strlen(type);

	if (length < prefix || strncasecmp(label, type, prefix) != 0)
		return false;
	for (size_t i = prefix; i < length; i++)
		if (!isdigit((unsigned char)label[i]) && !strchr("_rc", label[i]))
			return false;
	return length == prefix || isdigit((unsigned char)label[prefix]);
}

const struct perfctr_counter_desc *verdicts_counter(const char *event, unsigned int set)
{
	const char *slash = strchr(event, '/');
	const struct perfctr_counter_desc *c = NULL;
	char name[NAME_BYTES];

	/* a filter makes it a different event */
	if (!slash || strchr(event, ','))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(slash + 1, "/"), slash + 1);
	while ((c = perfctr_counter_next(c))) {
		const char *type = c->block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU ?
					   c->pmu :
					   perfctr_block_type_name(c->block_type);

		if (type && c->sets >> set & 1 && !strcasecmp(c->name, name) &&
		    is_label_of(event, (size_t)(slash - event), type))
			return c;
	}
	return NULL;
}

/* --- noting ------------------------------------------------------------------------------ */

static int rank_of(const struct json_object *verdict)
{
	const char *trust = member(verdict, "trust");

	for (unsigned int i = 0; trust && i < ARRAY_SIZE(trusts); i++)
		if (!strcmp(trusts[i].name, trust))
			return trusts[i].rank;
	return 0;
}

void verdicts_put(struct verdicts *verdicts, const struct perfctr_counter_desc *desc,
		  const struct verdict_note *note)
{
	struct json_object *verdict, *old;

	if (json_object_object_get_ex(verdicts->put, desc->id, NULL) &&
	    json_object_object_get_ex(verdicts->all, desc->id, &old) &&
	    rank_of(old) >= trusts[note->trust].rank)
		return;
	know_place(verdicts);
	verdict = json_object_new_object();
	json_add_text(verdict, "trust", verdicts_trust_name(note->trust));
	json_add_text(verdict, "definition", note->definition);
	json_add_text(verdict, "reason", note->reason);
	json_add_text(verdict, "campaign", note->campaign);
	json_add_text(verdict, "time", note->time);
	for (int i = 0; i < PLACES; i++)
		json_add_text(verdict, place_names[i], verdicts->place[i]);
	json_object_object_add(verdicts->all, desc->id, verdict);
	json_object_object_add(verdicts->put, desc->id, NULL);
}
