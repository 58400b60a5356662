/* SPDX-License-Identifier: MIT */
/*
 * What relations between events say of their rules. If a relation holds at all measured points, its
 * two sides are taken to count the same of each feature. So an event has a known weight of a
 * feature if all other events of the relation have one, and a limited one if they are limited.
 */
#pragma once

#include "verdict.h"

/*
 * Exclude weights of events whose rules are open.
 * @analysis: its limits are narrowed; @searches: of each event, empty if there was none; @ignored:
 * by event: exclude nothing; @changed: by event, set for those that have new limits; their outcome
 * names the relations.
 * Return: 0 or -1.
 */
int prune_by_relations(struct analysis *analysis, const struct relation_result *results,
		       const struct search *searches, const bool *ignored, struct outcome *outcomes,
		       bool *changed);
