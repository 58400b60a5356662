// SPDX-License-Identifier: GPL-2.0
/*
 * The caches of the memory system: set-associative for single lines (exact mode), or ranges of
 * lines in the order of their last use (coarse mode).
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "memsim.h"

/* --- accounting ----------------------------------------------------------- */

static void count_hit(struct memsim_lookup *out, u64 lines, u8 had, u8 wants)
{
	out->hits += lines;
	if (had == wants)
		return;
	if (had == MEMSIM_HOLDER_CPU)
		out->local_snoops += lines;
	else if (had == MEMSIM_HOLDER_EXTERNAL)
		out->external_snoops += lines;
}

static void count_leave(struct memsim_lookup *out, u64 line, u64 lines, bool dirty)
{
	if (dirty)
		out->victim = line;
	if (dirty && line & MEMSIM_FAR_LINE)
		out->far_writebacks += lines;
	else if (dirty)
		out->writebacks += lines;
}

static void count_evict(struct memsim_lookup *out, u64 line, u64 lines, bool dirty, u8 holder)
{
	count_leave(out, line, lines, dirty);
	if (holder == MEMSIM_HOLDER_EXTERNAL)
		out->external_evicts += lines;
}

static bool dirties(enum memsim_op op)
{
	return op == MEMSIM_WRITE || op == MEMSIM_ATOMIC;
}

/* --- exact mode ----------------------------------------------------------- */

#define TAG_VALID	1ULL
#define TAG_DIRTY	2ULL
#define TAG_HOLDER	2	/* shift, two bits */
#define TAG_LINE	4	/* shift */

static u8 tag_holder(u64 tag)
{
	return tag >> TAG_HOLDER & 3;
}

/* the way of a line in its set, or the number of ways */
static u32 find_way(const struct memsim_cache *c, const u64 *set, u64 line)
{
	u32 way;

	for (way = 0; way < c->ways; way++) {
		if ((set[way] & TAG_VALID) && set[way] >> TAG_LINE == line)
			break;
	}
	return way;
}

bool memsim_has(const struct memsim_cache *cache, u64 line)
{
	return find_way(cache, cache->tags + (line & (cache->sets - 1)) * cache->ways, line) <
	       cache->ways;
}

static void access_set(struct memsim_cache *c, u64 line, enum memsim_op op, u8 holder,
		       struct memsim_lookup *out)
{
	u64 *set = c->tags + (line & (c->sets - 1)) * c->ways;
	u32 way = find_way(c, set, line);
	u64 tag = 0;

	if (way < c->ways) {
		tag = set[way];
		count_hit(out, 1, tag_holder(tag), holder);
		if (op == MEMSIM_DATALESS) {
			count_leave(out, line, 1, tag & TAG_DIRTY);
			set[way] = 0;
			return;
		}
	} else {
		if (op == MEMSIM_DATALESS)
			return;
		out->fills++;
		/* an invalid way first */
		for (way = 0; way < c->ways - 1 && (set[way] & TAG_VALID); way++)
			;
		if (set[way] & TAG_VALID)
			count_evict(out, set[way] >> TAG_LINE, 1, set[way] & TAG_DIRTY,
				    tag_holder(set[way]));
	}
	memmove(set + 1, set, way * sizeof(*set));
	set[0] = line << TAG_LINE | (u64)holder << TAG_HOLDER | TAG_VALID | (tag & TAG_DIRTY) |
		 (dirties(op) ? TAG_DIRTY : 0);
}

/* --- coarse mode ---------------------------------------------------------- */

static void remove_extent(struct memsim_cache *c, u32 i)
{
	memmove(&c->extents[i], &c->extents[i + 1],
		(--c->extent_count - i) * sizeof(c->extents[0]));
}

/* replaces up to @lines of the least recently used extent; returns how many */
static u64 evict(struct memsim_cache *c, u64 lines, struct memsim_lookup *out)
{
	struct memsim_extent *e = &c->extents[0];

	lines = min(lines, e->lines);
	count_evict(out, e->first, lines, e->dirty, e->holder);
	c->used -= lines;
	e->first += lines;
	e->lines -= lines;
	if (!e->lines)
		remove_extent(c, 0);
	return lines;
}

/* makes room for another extent: the smallest one costs least, the oldest of these first */
static void drop_extent(struct memsim_cache *c, struct memsim_lookup *out)
{
	u32 least = 0;

	for (u32 i = 1; i < c->extent_count; i++)
		if (c->extents[i].lines < c->extents[least].lines)
			least = i;
	c->used -= c->extents[least].lines;
	count_evict(out, c->extents[least].first, c->extents[least].lines,
		    c->extents[least].dirty, c->extents[least].holder);
	remove_extent(c, least);
}

/* takes [@line, @line + @lines) out of extent @i */
static void cut(struct memsim_cache *c, u32 i, u64 line, u64 lines)
{
	struct memsim_extent *e = &c->extents[i];
	struct memsim_extent right = *e;

	right.first = line + lines;
	right.lines = e->first + e->lines - right.first;
	e->lines = line - e->first;
	c->used -= lines;
	if (e->lines && right.lines) {
		memmove(e + 2, e + 1, (c->extent_count - i - 1) * sizeof(*e));
		e[1] = right;
		c->extent_count++;
	} else if (right.lines) {
		*e = right;
	} else if (!e->lines) {
		remove_extent(c, i);
	}
}

/* [@line, @line + @lines) were used last */
static void append(struct memsim_cache *c, u64 line, u64 lines, bool dirty, u8 holder)
{
	struct memsim_extent *e = &c->extents[c->extent_count];

	c->used += lines;
	if (c->extent_count && e[-1].first + e[-1].lines == line && e[-1].dirty == dirty &&
	    e[-1].holder == holder) {
		e[-1].lines += lines;
		return;
	}
	*e = (struct memsim_extent){ line, lines, holder, dirty };
	c->extent_count++;
}

/* the extent that has @line, or extent_count; @run: lines from there to the next change */
static u32 find_extent(const struct memsim_cache *c, u64 line, u64 *run)
{
	for (u32 i = c->extent_count; i--;) {
		const struct memsim_extent *e = &c->extents[i];

		if (line - e->first < e->lines) {
			*run = min(*run, e->first + e->lines - line);
			return i;
		}
		if (e->first > line)
			*run = min(*run, e->first - line);
	}
	return c->extent_count;
}

/* accesses the first lines of a range; returns how many */
static u64 access_range(struct memsim_cache *c, u64 line, u64 lines, enum memsim_op op, u8 holder,
			struct memsim_lookup *out)
{
	bool dirty = dirties(op);
	u64 run = lines, passing = 0;
	u32 i;

	/* a cut and an extent more must fit */
	while (c->extent_count > MEMSIM_EXTENTS - 2)
		drop_extent(c, out);
	i = find_extent(c, line, &run);
	if (i < c->extent_count) {
		const struct memsim_extent e = c->extents[i];

		count_hit(out, run, e.holder, holder);
		cut(c, i, line, run);
		if (op == MEMSIM_DATALESS) {
			count_leave(out, line, run, e.dirty);
			return run;
		}
		dirty |= e.dirty;
	} else {
		if (op == MEMSIM_DATALESS)
			return run;
		while (c->used && c->used + run > c->lines)
			evict(c, c->used + run - c->lines, out);
		out->fills += run;
		/* the first of more lines than fit are replaced by the others */
		if (run > c->lines) {
			passing = run - c->lines;
			count_evict(out, line, passing, dirty, holder);
		}
	}
	append(c, line + passing, run - passing, dirty, holder);
	return run;
}

void memsim_access(struct memsim_cache *cache, u64 line, u64 lines, enum memsim_op op, u8 holder,
		   struct memsim_lookup *out)
{
	while (lines) {
		u64 run = 1;

		if (cache->tags)
			access_set(cache, line, op, holder, out);
		else
			run = access_range(cache, line, lines, op, holder, out);
		line += run;
		lines -= run;
	}
}
