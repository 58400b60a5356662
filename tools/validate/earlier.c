// SPDX-License-Identifier: MIT
/* The verdicts of a result file that is read again, to show what they have become. */
#include "study.h"

#include <string.h>

#include "document.h"

/* the campaign's part of a result file; NULL: the file has readings only */
static const struct json_object *result_of(const struct document *file, const char *campaign)
{
	const struct json_object *list = NULL;

	if (json_object_is_type(file->root, json_type_object))
		list = document_get(file, file->root, "campaigns", json_type_array, false);
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		const struct json_object *one = json_object_array_get_idx(list, i);
		struct json_object *name;

		if (json_object_is_type(one, json_type_object) &&
		    json_object_object_get_ex(one, "campaign", &name) &&
		    !strcmp(json_object_get_string(name), campaign))
			return one;
	}
	return NULL;
}

int earlier_read(const struct document *file, struct study *study)
{
	const struct campaign *c = study->analysis.campaign;
	const struct json_object *result = file->root ? result_of(file, c->name) : NULL;
	const struct json_object *events =
		result ? document_get(file, result, "events", json_type_array, false) : NULL;

	if (!events)
		return file->failure->text[0] ? -1 : 0;
	study->earlier = arena_array(file->arena, c->event_count, sizeof(*study->earlier));
	study->earlier_tool = document_text(file, file->root, "tool", "");
	for (size_t i = 0; i < json_object_array_length(events); i++) {
		const struct json_object *one = json_object_array_get_idx(events, i);
		const char *name, *verdict;
		long event;

		if (!json_object_is_type(one, json_type_object))
			return document_fail(file, one ? one : events, "an event is an object");
		name = document_text(file, one, "event", NULL);
		verdict = name ? document_text(file, one, "verdict", NULL) : NULL;
		if (!verdict)
			return -1;
		event = campaign_event(c, name);
		if (event >= 0)
			study->earlier[event] = verdict;
	}
	return 0;
}

const char *earlier_verdict(const struct study *study, size_t event)
{
	const char *was = study->earlier ? study->earlier[event] : NULL;

	return was && strcmp(was, verdict_names[study->outcomes[event].verdict]) ? was : NULL;
}
