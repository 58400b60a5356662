// SPDX-License-Identifier: MIT
/* Reads a campaign from JSON, and checks what it refers to. */
#include "builtin.h"
#include "campaign.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "disassembly.h"

enum { DEFAULT_MAX_WEIGHT = 2, DEFAULT_RUNS = 3, MAX_GROUPS = 1000 };

long campaign_event(const struct campaign *campaign, const char *name)
{
	for (size_t i = 0; i < campaign->event_count; i++)
		if (!strcmp(campaign->events[i].name, name))
			return (long)i;
	return -1;
}

long campaign_benchmark(const struct campaign *campaign, const char *name)
{
	for (size_t i = 0; i < campaign->benchmark_count; i++)
		if (!strcmp(campaign->benchmarks[i].name, name))
			return (long)i;
	return -1;
}

long benchmark_parameter(const struct benchmark *benchmark, const char *name)
{
	for (size_t i = 0; i < benchmark->parameter_count; i++)
		if (!strcmp(benchmark->parameters[i].name, name))
			return (long)i;
	return -1;
}

bool benchmark_states(const struct benchmark *benchmark, size_t event)
{
	return !benchmark->events || benchmark->events[event];
}

uint64_t acceptance_limit(const struct acceptance *accept, uint64_t expected)
{
	uint64_t relative = (uint64_t)((unsigned __int128)expected * accept->relative_ppm / PPM);

	return relative > accept->absolute ? relative : accept->absolute;
}

bool acceptance_is_narrow(const struct acceptance *accept, uint64_t expected)
{
	return expected &&
	       acceptance_limit(accept, expected) <= expected / (PPM / MAX_ACCEPTED_PPM);
}

/* --- parts -------------------------------------------------------------------------- */

/* classes of mnemonics for rules, used while a file is read */
struct class
{
	const char *name;
	const char **members;
};

struct campaign_reader {
	struct document doc;
	struct campaign *campaign;
	struct class *classes;
	size_t class_count;
	const char *folder; /* folder of the file, "" for a built-in one */
	const char *asked; /* for numbers of branches that benchmarks lack, or NULL */
	bool own; /* a file, whose listings are preferred to built-in ones */
};

static bool failed(const struct campaign_reader *r)
{
	return r->doc.failure->text[0];
}

static const char **parse_names(struct campaign_reader *r, const struct json_object *list)
{
	size_t count = json_object_array_length(list);
	const char **names = arena_array(r->doc.arena, count + 1, sizeof(*names));

	for (size_t i = 0; i < count; i++)
		names[i] = document_string(&r->doc, json_object_array_get_idx(list, i), "a name");
	return names;
}

static struct acceptance parse_accept(struct campaign_reader *r, const struct json_object *object,
				      const struct acceptance *fallback)
{
	static const char *const keys[] = { "absolute", "relative_ppm", NULL };
	const struct json_object *accept =
		document_get(&r->doc, object, "accept", json_type_object, false);
	struct acceptance result = *fallback;

	if (!accept)
		return result;
	document_only(&r->doc, accept, keys);
	result.absolute = document_u64(&r->doc, accept, "absolute", INT64_MAX, 0);
	result.relative_ppm = document_u64(&r->doc, accept, "relative_ppm", INT64_MAX, 0);
	if (result.relative_ppm > MAX_ACCEPTED_PPM)
		document_fail(
			&r->doc, accept,
			"'relative_ppm' is millionths, at most %d (10 %%): a wider acceptance "
			"does not tell a right count from a wrong one",
			MAX_ACCEPTED_PPM);
	return result;
}

/* "MOV", "NOP:dead", "2 BRA", "-1 BRA", "INTEGER:off" with INTEGER a class */
static void parse_term(struct campaign_reader *r, const struct json_object *value,
		       struct rule *rule)
{
	const char *text = document_string(&r->doc, value, "a feature");
	struct failure reason = { "" };
	struct feature feature;
	long weight = 1;
	char *end;

	if (!text)
		return;
	if (*text == '-' || isdigit((unsigned char)*text)) {
		weight = strtol(text, &end, 10);
		text = end + strspn(end, " ");
	}
	if (feature_parse(r->doc.arena, text, &feature, &reason) < 0) {
		document_fail(&r->doc, value, "%s", reason.text);
		return;
	}
	for (size_t c = 0; c < r->class_count; c++) {
		if (strcmp(r->classes[c].name, feature.name))
			continue;
		for (const char **name = r->classes[c].members; *name; name++) {
			feature.name = *name;
			features_intern(r->doc.arena, &r->campaign->keep, &feature);
			rule_add(r->doc.arena, rule, &feature, weight);
		}
		return;
	}
	/* a name with modifiers can count something only if it is kept */
	features_intern(r->doc.arena, &r->campaign->keep, &feature);
	rule_add(r->doc.arena, rule, &feature, weight);
}

static void parse_rule(struct campaign_reader *r, const struct json_object *list, struct rule *rule)
{
	rule->given = true;
	for (size_t i = 0; i < json_object_array_length(list) && !failed(r); i++)
		parse_term(r, json_object_array_get_idx(list, i), rule);
}

/* rule of "sum": the sum of the documented rules of other events */
static void parse_sum(struct campaign_reader *r, const struct json_object *list, struct rule *rule)
{
	for (size_t i = 0; i < json_object_array_length(list) && !failed(r); i++) {
		const struct json_object *value = json_object_array_get_idx(list, i);
		const char *name = document_string(&r->doc, value, "an event");
		long part = name ? campaign_event(r->campaign, name) : -1;
		const struct rule *of;

		if (part < 0) {
			document_fail(&r->doc, value, "'%s' is no event further up",
				      name ? name : "");
			return;
		}
		of = &r->campaign->events[part].documented;
		for (size_t t = 0; t < of->count; t++)
			rule_add(r->doc.arena, rule, &of->terms[t].feature, of->terms[t].weight);
	}
}

static unsigned int parse_set(struct campaign_reader *r, const struct json_object *object)
{
	static const char *const names[] = { "primary", "secondary", "tertiary" };
	const char *set = document_text(&r->doc, object, "set", names[0]);

	for (unsigned int i = 0; set && i < ARRAY_SIZE(names); i++)
		if (!strcmp(set, names[i]))
			return i;
	document_fail(&r->doc, object, "'set' is primary, secondary or tertiary");
	return 0;
}

/* Calls @parse for each object of a list; returns the array, of @count elements of @bytes. */
static void *parse_objects(struct campaign_reader *r, const struct json_object *root,
			   const char *key, bool required, size_t bytes, size_t *count,
			   void (*parse)(struct campaign_reader *r,
					 const struct json_object *object, void *item))
{
	const struct json_object *list =
		document_get(&r->doc, root, key, json_type_array, required);
	size_t length = list ? json_object_array_length(list) : 0;
	char *items = arena_array(r->doc.arena, length ? length : 1, bytes);

	/* the parsers read the elements before theirs */
	if (count == &r->campaign->event_count)
		r->campaign->events = (struct campaign_event *)items;
	else if (count == &r->campaign->benchmark_count)
		r->campaign->benchmarks = (struct benchmark *)items;
	for (size_t i = 0; i < length && !failed(r); i++) {
		const struct json_object *object = json_object_array_get_idx(list, i);

		if (json_object_get_type(object) != json_type_object) {
			document_fail(&r->doc, object ? object : list, "'%s' is a list of objects",
				      key);
			break;
		}
		parse(r, object, items + i * bytes);
		++*count;
	}
	return items;
}

/* "weights": [0, 1, 32], or "max_weight": 2 for all up to it */
static weight_set parse_weights(struct campaign_reader *r, const struct json_object *object)
{
	const struct json_object *list =
		document_get(&r->doc, object, "weights", json_type_array, false);
	weight_set set = 0;

	if (!list)
		return weights_up_to((unsigned int)document_u64(&r->doc, object, "max_weight",
								MAX_WEIGHT, DEFAULT_MAX_WEIGHT));
	if (json_object_object_get_ex(object, "max_weight", NULL))
		document_fail(&r->doc, list, "either 'weights' or 'max_weight'");
	for (size_t i = 0; i < json_object_array_length(list) && !failed(r); i++) {
		const struct json_object *one = json_object_array_get_idx(list, i);
		uint64_t weight = 0;

		document_count(&r->doc, one ? one : list, "weights", MAX_WEIGHT, &weight);
		set |= weight_bit((unsigned int)weight);
	}
	/* a feature that is not counted is always a hypothesis */
	if (!(set & 1) && !failed(r))
		document_fail(&r->doc, list, "'weights' has no 0");
	return set;
}

static void parse_idea(struct campaign_reader *r, const struct json_object *object, void *item)
{
	static const char *const keys[] = { "name", "rule", NULL };
	struct idea *idea = item;
	const struct json_object *rule;

	document_only(&r->doc, object, keys);
	idea->name = document_text(&r->doc, object, "name", NULL);
	rule = document_get(&r->doc, object, "rule", json_type_array, true);
	if (rule)
		parse_rule(r, rule, &idea->rule);
}

static void parse_event(struct campaign_reader *r, const struct json_object *object, void *item)
{
	struct campaign_event *event = item;
	static const char *const keys[] = { "name",	    "counter",	  "set",    "group",
					    "text",	    "documented", "sum",    "candidates",
					    "max_weight",   "weights",	  "accept", "hypotheses",
					    "requirements", "guess",	  NULL };
	const struct acceptance exact = { 0 };
	const struct json_object *list;

	document_only(&r->doc, object, keys);
	event->name = document_text(&r->doc, object, "name", NULL);
	if (event->name && campaign_event(r->campaign, event->name) >= 0)
		document_fail(&r->doc, object, "event '%s' stands twice", event->name);
	event->counter = document_text(&r->doc, object, "counter", "");
	event->text = document_text(&r->doc, object, "text", "");
	event->set = parse_set(r, object);
	event->group = (unsigned int)document_u64(&r->doc, object, "group", MAX_GROUPS, 0);
	event->weights = parse_weights(r, object);
	event->accept = parse_accept(r, object, &exact);
	list = document_get(&r->doc, object, "requirements", json_type_array, false);
	if (list)
		event->requirements = parse_names(r, list);
	list = document_get(&r->doc, object, "documented", json_type_array, false);
	if (list)
		parse_rule(r, list, &event->documented);
	list = document_get(&r->doc, object, "sum", json_type_array, false);
	if (list)
		parse_sum(r, list, &event->documented);
	list = document_get(&r->doc, object, "guess", json_type_boolean, false);
	event->is_guess = list && json_object_get_boolean(list);
	if (event->is_guess && !event->documented.given)
		document_fail(&r->doc, list, "'guess' is about 'documented', which is missing");
	list = document_get(&r->doc, object, "candidates", json_type_array, false);
	if (list) {
		struct rule rule = { 0 };

		parse_rule(r, list, &rule);
		event->candidates =
			arena_array(r->doc.arena, rule.count, sizeof(*event->candidates));
		for (size_t i = 0; i < rule.count; i++)
			event->candidates[event->candidate_count++] = rule.terms[i].feature;
	}
	event->ideas = parse_objects(r, object, "hypotheses", false, sizeof(*event->ideas),
				     &event->idea_count, parse_idea);
}

static void parse_parameters(struct campaign_reader *r, const struct json_object *object,
			     struct benchmark *benchmark)
{
	json_object_object_foreach((struct json_object *)object, key, list)
	{
		struct parameter *p = &benchmark->parameters[benchmark->parameter_count];
		size_t count;

		if (benchmark->parameter_count == MAX_PARAMETERS) {
			document_fail(&r->doc, list, "more than %d parameters", MAX_PARAMETERS);
			return;
		}
		if (json_object_get_type(list) != json_type_array ||
		    !json_object_array_length(list) ||
		    json_object_array_length(list) > MAX_PARAMETER_VALUES) {
			document_fail(&r->doc, list ? list : object,
				      "a parameter is a list of 1 to %d values",
				      MAX_PARAMETER_VALUES);
			return;
		}
		benchmark->parameter_count++;
		count = json_object_array_length(list);
		p->name = arena_copy(r->doc.arena, key, strlen(key));
		p->values = arena_array(r->doc.arena, count, sizeof(*p->values));
		for (size_t i = 0; i < count; i++) {
			uint64_t number = 0;

			document_count(&r->doc, json_object_array_get_idx(list, i), key, INT64_MAX,
				       &number);
			p->values[p->count++] = (int64_t)number;
		}
	}
}

static void parse_quantities(struct campaign_reader *r, const struct json_object *object,
			     struct benchmark *benchmark)
{
	benchmark->quantities = arena_array(r->doc.arena, (size_t)json_object_object_length(object),
					    sizeof(*benchmark->quantities));
	json_object_object_foreach((struct json_object *)object, key, value)
	{
		const char *formula = document_string(&r->doc, value, "a formula");
		struct failure reason = { "" };
		struct feature feature;

		if (!formula)
			return;
		if (feature_parse(r->doc.arena, key, &feature, &reason) < 0) {
			document_fail(&r->doc, value, "%s", reason.text);
			return;
		}
		benchmark->quantities[benchmark->quantity_count++] = (struct quantity){
			feature.name,
			formula,
		};
	}
}

/* a built-in listing, or a file in the campaign's folder */
static const char *find_listing(struct campaign_reader *r, const struct json_object *at,
				const char *name)
{
	const struct builtin *builtin = r->own ? NULL : builtin_find(name);
	struct failure reason = { "" };
	const char *text;
	size_t length;

	if (builtin)
		return builtin->text;
	text = read_file(r->doc.arena, arena_printf(r->doc.arena, "%s%s", r->folder, name), &length,
			 &reason);
	builtin = text ? NULL : builtin_find(name);
	if (!text && !builtin)
		document_fail(&r->doc, at, "%s", reason.text);
	return builtin ? builtin->text : text;
}

static void parse_benchmark_events(struct campaign_reader *r, const struct json_object *list,
				   struct benchmark *benchmark)
{
	benchmark->events =
		arena_array(r->doc.arena, r->campaign->event_count + 1, sizeof(*benchmark->events));
	for (size_t i = 0; i < json_object_array_length(list) && !failed(r); i++) {
		const struct json_object *item = json_object_array_get_idx(list, i);
		const char *name = document_string(&r->doc, item, "an event");
		long event = name ? campaign_event(r->campaign, name) : -1;

		if (event >= 0)
			benchmark->events[event] = true;
		else if (name)
			document_fail(&r->doc, item, "there is no event '%s'", name);
	}
}

/* addresses and formulas */
static struct taken *parse_taken(struct campaign_reader *r, const struct json_object *object,
				 size_t *count)
{
	const struct json_object *list =
		document_get(&r->doc, object, "taken", json_type_object, false);
	struct taken *taken = NULL;

	*count = 0;
	if (!list)
		return NULL;
	json_object_object_foreach((struct json_object *)list, key, value)
	{
		char *end;

		const bool from_start = *key == '+';
		const char *digits = key + from_start;

		taken = arena_grow(r->doc.arena, taken, *count, sizeof(*taken));
		taken[*count] = (struct taken){
			.address = strtoull(digits, &end, 16),
			.from_start = from_start,
			.formula = document_string(&r->doc, value ? value : list, key),
		};
		if (*end || end == digits || !isxdigit((unsigned char)*digits))
			document_fail(&r->doc, list, "'%s' is no address, as 0x120 or +0x12", key);
		++*count;
	}
	return taken;
}

/* function or region of a program */
struct place {
	const char *symbol, *until;
};

/* The disassembled program for the numbers of branches in an object. */
static const char *convert(struct campaign_reader *r, const struct json_object *object,
			   struct benchmark *benchmark, const struct place *place)
{
	struct disassembly d = {
		.arena = r->doc.arena,
		.name = benchmark->listing_name,
		.text = benchmark->listing_file,
		.symbol = place->symbol,
		.until = place->until,
		.failure = r->doc.failure,
	};
	const char *listing;

	d.taken = parse_taken(r, object, &d.count);
	if (failed(r))
		return NULL;
	listing = convert_disassembly(&d);
	benchmark->code = d.code;
	if (!d.lacks_taken)
		return listing;
	/* the other benchmarks may lack numbers as well: all are asked for at once */
	r->asked = arena_printf(r->doc.arena, "%s%s%s: %s", r->asked ? r->asked : "",
				r->asked ? "; " : "", benchmark->name, r->doc.failure->text);
	r->doc.failure->text[0] = '\0';
	return "\tEXIT\n";
}

/* "paths": [{"lanes": FORMULA, "taken": {...}}, ...] */
static void parse_paths(struct campaign_reader *r, const struct json_object *list,
			const struct place *place, struct benchmark *benchmark)
{
	static const char *const keys[] = { "lanes", "taken", NULL };
	const size_t count = json_object_array_length(list);

	if (!count)
		document_fail(&r->doc, list, "'paths' is empty");
	benchmark->paths = arena_array(r->doc.arena, count, sizeof(*benchmark->paths));
	for (size_t i = 0; i < count && !failed(r); i++) {
		const struct json_object *one = json_object_array_get_idx(list, i);
		struct path *path = &benchmark->paths[benchmark->path_count++];

		if (!json_object_is_type(one, json_type_object)) {
			document_fail(&r->doc, one ? one : list, "a path is an object");
			return;
		}
		document_only(&r->doc, one, keys);
		path->lanes = document_text(&r->doc, one, "lanes", NULL);
		path->listing = failed(r) ? NULL : convert(r, one, benchmark, place);
	}
	if (!failed(r))
		benchmark->listing = benchmark->paths[0].listing;
}

/* "symbol": NAME, or "region": [FROM, TO] */
static struct place parse_place(struct campaign_reader *r, const struct json_object *object,
				const struct benchmark *benchmark)
{
	const struct json_object *region =
		document_get(&r->doc, object, "region", json_type_array, false);
	struct place place = { benchmark->symbol, NULL };
	const char **names;

	if (!region)
		return place;
	names = parse_names(r, region);
	if (benchmark->symbol || json_object_array_length(region) != 2)
		document_fail(&r->doc, region,
			      "'region' is two labels, where it begins and where it ends, "
			      "instead of 'symbol'");
	else
		place = (struct place){ names[0], names[1] };
	return place;
}

static void parse_listing(struct campaign_reader *r, const struct json_object *object,
			  const struct json_object *at, struct benchmark *benchmark)
{
	const struct place place = parse_place(r, object, benchmark);
	const struct json_object *paths =
		document_get(&r->doc, object, "paths", json_type_array, false);
	const bool taken = json_object_object_get_ex(object, "taken", NULL);

	benchmark->listing = find_listing(r, at, benchmark->listing_name);
	benchmark->listing_file = benchmark->listing;
	if (failed(r))
		return;
	if (!is_disassembly(benchmark->listing)) {
		if (place.symbol || taken || paths)
			document_fail(&r->doc, at,
				      "'symbol', 'region', 'taken' and 'paths' are for "
				      "disassembled programs");
	} else if (paths && taken) {
		document_fail(&r->doc, paths, "either 'taken' or 'paths', each with its own");
	} else if (paths) {
		parse_paths(r, paths, &place, benchmark);
	} else {
		benchmark->listing = convert(r, object, benchmark, &place);
	}
}

static void parse_benchmark(struct campaign_reader *r, const struct json_object *object, void *item)
{
	struct benchmark *benchmark = item;
	static const char *const keys[] = { "name",	  "title",   "listing", "threads",
					    "kernels",	  "command", "reserve", "parameters",
					    "quantities", "events",  "symbol",	"taken",
					    "paths",	  "region",  "call",	NULL };
	struct json_object *member;

	document_only(&r->doc, object, keys);
	benchmark->name = document_text(&r->doc, object, "name", NULL);
	if (benchmark->name && campaign_benchmark(r->campaign, benchmark->name) >= 0)
		document_fail(&r->doc, object, "benchmark '%s' stands twice", benchmark->name);
	benchmark->title = document_text(&r->doc, object, "title", "");
	benchmark->threads = document_text(&r->doc, object, "threads", "1");
	benchmark->kernels = document_text(&r->doc, object, "kernels", "1");
	benchmark->command = document_text(&r->doc, object, "command", "");
	if (json_object_object_get_ex(object, "symbol", NULL))
		benchmark->symbol = document_text(&r->doc, object, "symbol", NULL);
	if (json_object_object_get_ex(object, "call", NULL))
		benchmark->call = document_text(&r->doc, object, "call", NULL);
	member = document_get(&r->doc, object, "reserve", json_type_boolean, false);
	benchmark->reserve = member && json_object_get_boolean(member);
	member = document_get(&r->doc, object, "parameters", json_type_object, false);
	if (member)
		parse_parameters(r, member, benchmark);
	member = document_get(&r->doc, object, "quantities", json_type_object, false);
	if (member)
		parse_quantities(r, member, benchmark);
	member = document_get(&r->doc, object, "events", json_type_array, false);
	if (member)
		parse_benchmark_events(r, member, benchmark);
	member = document_get(&r->doc, object, "listing", json_type_string, false);
	if (member) {
		benchmark->listing_name = document_string(&r->doc, member, "listing");
		if (!failed(r))
			parse_listing(r, object, member, benchmark);
	} else if (!benchmark->quantity_count && !failed(r)) {
		document_fail(&r->doc, object, "a benchmark needs a 'listing' or 'quantities'");
	}
}

static void parse_relation(struct campaign_reader *r, const struct json_object *object, void *item)
{
	struct relation *relation = item;
	static const char *const keys[] = { "name", "left", "right", "accept", NULL };
	const struct acceptance exact = { 0 };

	document_only(&r->doc, object, keys);
	relation->name = document_text(&r->doc, object, "name", NULL);
	relation->left = document_text(&r->doc, object, "left", NULL);
	relation->right = document_text(&r->doc, object, "right", NULL);
	relation->accept = parse_accept(r, object, &exact);
}

/* --- the file --------------------------------------------------------------------------- */

static void parse_classes(struct campaign_reader *r, const struct json_object *object)
{
	r->classes = arena_array(r->doc.arena, (size_t)json_object_object_length(object),
				 sizeof(*r->classes));
	json_object_object_foreach((struct json_object *)object, key, list)
	{
		if (json_object_get_type(list) != json_type_array) {
			document_fail(&r->doc, list ? list : object,
				      "a class is a list of mnemonics");
			return;
		}
		r->classes[r->class_count++] = (struct class){
			arena_copy(r->doc.arena, key, strlen(key)),
			parse_names(r, list),
		};
	}
}

static void parse_constants(struct campaign_reader *r, const struct json_object *object)
{
	struct campaign *campaign = r->campaign;

	campaign->constants = arena_array(r->doc.arena, (size_t)json_object_object_length(object),
					  sizeof(*campaign->constants));
	json_object_object_foreach((struct json_object *)object, key, value)
	{
		uint64_t number = 0;

		document_count(&r->doc, value ? value : object, key, INT64_MAX, &number);
		campaign->constants[campaign->constant_count++] = (struct constant){
			arena_copy(r->doc.arena, key, strlen(key)),
			(int64_t)number,
		};
	}
}

/* "amounts": {"branches": ["BRA", "BRA:off"]} */
static void parse_amounts(struct campaign_reader *r, const struct json_object *object)
{
	struct campaign *campaign = r->campaign;

	campaign->amounts = arena_array(r->doc.arena, (size_t)json_object_object_length(object),
					sizeof(*campaign->amounts));
	json_object_object_foreach((struct json_object *)object, key, list)
	{
		struct amount *amount = &campaign->amounts[campaign->amount_count++];
		struct failure reason = { "" };
		struct feature feature;

		if (!json_object_is_type(list, json_type_array)) {
			document_fail(&r->doc, list ? list : object, "an amount is a rule");
			return;
		}
		if (feature_parse(r->doc.arena, key, &feature, &reason) < 0) {
			document_fail(&r->doc, list, "%s", reason.text);
			return;
		}
		amount->name = feature.name;
		parse_rule(r, list, &amount->rule);
		for (size_t i = 0; i < amount->rule.count; i++)
			if (amount->rule.terms[i].weight < 0)
				document_fail(&r->doc, list, "'%s' is negative", key);
	}
}

static void parse_root(struct campaign_reader *r)
{
	static const char *const keys[] = { "campaign",	  "database",  "title",	  "text",
					    "device",	  "profile",   "anchor",  "keep",
					    "runs",	  "constants", "classes", "events",
					    "benchmarks", "relations", "product", "amounts",
					    NULL };
	const struct json_object *root = r->doc.root, *member;
	struct campaign *campaign = r->campaign;
	struct rule kept = { 0 };

	document_only(&r->doc, root, keys);
	campaign->name = document_text(&r->doc, root, "campaign", NULL);
	campaign->title = document_text(&r->doc, root, "title", "");
	campaign->text = document_text(&r->doc, root, "text", "");
	campaign->device = document_text(&r->doc, root, "device", "");
	campaign->profile = document_text(&r->doc, root, "profile", "");
	campaign->product = document_text(&r->doc, root, "product", "");
	member = document_get(&r->doc, root, "database", json_type_boolean, false);
	campaign->database = member && json_object_get_boolean((struct json_object *)member);
	campaign->anchor = document_text(&r->doc, root, "anchor", "");
	campaign->runs = (unsigned int)document_u64(&r->doc, root, "runs", MAX_RUNS, DEFAULT_RUNS);
	member = document_get(&r->doc, root, "keep", json_type_array, false);
	if (member)
		parse_rule(r, member, &kept);
	member = document_get(&r->doc, root, "classes", json_type_object, false);
	if (member)
		parse_classes(r, member);
	member = document_get(&r->doc, root, "amounts", json_type_object, false);
	if (member)
		parse_amounts(r, member);
	member = document_get(&r->doc, root, "constants", json_type_object, false);
	if (member)
		parse_constants(r, member);
	parse_objects(r, root, "events", true, sizeof(struct campaign_event),
		      &campaign->event_count, parse_event);
	parse_objects(r, root, "benchmarks", true, sizeof(struct benchmark),
		      &campaign->benchmark_count, parse_benchmark);
	campaign->relations = parse_objects(r, root, "relations", false, sizeof(struct relation),
					    &campaign->relation_count, parse_relation);
	if (!failed(r) && !*campaign->anchor)
		campaign->anchor = NULL;
	else if (!failed(r) && campaign_event(campaign, campaign->anchor) < 0)
		document_fail(&r->doc, root, "the anchor '%s' is no event", campaign->anchor);
	if (!failed(r) && !campaign->runs)
		document_fail(&r->doc, root, "'runs' is 0");
}

const char *campaign_word(const struct campaign_event *event)
{
	return event->is_guess ? "guessed" : "documented";
}

int64_t *campaign_constant(struct campaign *campaign, const char *name)
{
	for (size_t i = 0; i < campaign->constant_count; i++)
		if (!strcmp(campaign->constants[i].name, name))
			return &campaign->constants[i].value;
	return NULL;
}

long campaign_construct(struct arena *arena, struct campaign *campaign, const char *name,
			const char *file, const char *listing, const char *threads,
			struct failure *failure)
{
	struct disassembly d = {
		.arena = arena,
		.name = file,
		.text = listing,
		.failure = failure,
	};
	const char *text = listing;
	/* rarely more than a few dozen, so copying is cheap */
	struct benchmark *more = arena_array(arena, campaign->benchmark_count + 1, sizeof(*more));

	if (is_disassembly(listing))
		text = convert_disassembly(&d);
	if (!text)
		return -1;
	if (campaign->benchmark_count)
		memcpy(more, campaign->benchmarks, campaign->benchmark_count * sizeof(*more));
	more[campaign->benchmark_count] = (struct benchmark){
		.name = name,
		.title = "constructed to separate the remaining rules",
		.listing = text,
		.listing_name = file,
		.listing_file = listing,
		.threads = threads,
		.kernels = "1",
		.command = "",
		.code = d.code,
		.constructed = true,
	};
	campaign->benchmarks = more;
	return (long)campaign->benchmark_count++;
}

const char *campaign_builtin(size_t n)
{
	const struct builtin *file;

	for (size_t i = 0; (file = builtin_get(i)); i++)
		if (strstr(file->name, ".json") && !n--)
			return file->name;
	return NULL;
}

int campaign_load(struct arena *arena, const char *which, struct campaign *campaign,
		  struct failure *failure)
{
	const struct builtin *builtin = builtin_find(arena_printf(arena, "%s.json", which));
	struct campaign_reader r = {
		.doc = { .arena = arena, .failure = failure },
		.campaign = campaign,
		.folder = "",
	};

	*campaign = (struct campaign){ .name = which };
	if (builtin) {
		r.doc.name = builtin->name;
		r.doc.text = builtin->text;
		r.doc.length = (size_t)(builtin->end - builtin->text) - 1;
	} else if (strpbrk(which, "/.")) {
		const char *slash = strrchr(which, '/');

		r.doc.name = which;
		r.own = true;
		if (slash)
			r.folder = arena_copy(arena, which, (size_t)(slash - which) + 1);
		campaign->folder = r.folder;
		r.doc.text = read_file(arena, which, &r.doc.length, failure);
		if (!r.doc.text)
			return -1;
	} else {
		return fail(failure,
			    "there is no campaign '%s'; perfctr validate --list has all, "
			    "a file is given with its path",
			    which);
	}
	campaign->source = r.doc.text;
	if (document_parse(&r.doc) < 0)
		return -1;
	if (json_object_get_type(r.doc.root) != json_type_object)
		document_fail(&r.doc, r.doc.root, "a campaign is an object");
	else
		parse_root(&r);
	if (r.asked && !failed(&r))
		fail(failure, "%s", r.asked);
	document_free(&r.doc);
	return failed(&r) ? -1 : 0;
}
