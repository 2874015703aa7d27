/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of an engine: programs for shapes that vary as earlier shapes did. */
#ifndef ENGINE_BUILD_ENGINE_RANGES_H
#define ENGINE_BUILD_ENGINE_RANGES_H

#include "engine/program/range.h"

enum { RANGES_KEPT = 4, RANGES_SEEN = 8 };

/* Which range to build: from samples of shapes, in a pattern of axes that vary. */
typedef struct range_wish {
    pgy_metadata *samples[RANGES_SEEN + 2]; /* first those to build for */
    size_t count;                           /* 0: none; else at least 2 */
    str pattern;
} range_wish;

typedef struct engine_ranges {
    bool off;
    bool in_segments; /* some shapes had no program, or one with subgraphs, which has no range */
    range *kept[RANGES_KEPT];       /* the latest first */
    range_wish wishes[RANGES_KEPT]; /* what they were built from */
    size_t kept_count;
    pgy_metadata *seen[RANGES_SEEN]; /* the latest shapes that a program was built for */
    size_t seen_count;
    strmap refused;          /* patterns of varying sizes that have no range */
    uint64_t profiles_tried; /* bit i: the range of profile i was built, or cannot be */
} engine_ranges;

void ranges_init(engine_ranges *r, const pgy_build_config *config);
void ranges_deinit(engine_ranges *r);
/* Drops all ranges and samples, since they hold old weights. */
void ranges_forget(engine_ranges *r);
/* A program of a range that covers the shapes; *out NULL: there is none. */
pgy_status ranges_find(program **out, engine_ranges *r, const pgy_metadata *shapes,
                       pgy_error *err) PGY_MUST_CHECK;
/* Finds earlier shapes to build a range with. The samples are copies. */
pgy_status ranges_wish(range_wish *out, const engine_ranges *r, const pgy_metadata *shapes,
                       pgy_error *err) PGY_MUST_CHECK;
void range_wish_deinit(range_wish *w);
/* Takes a range that was built, and its wish. */
void ranges_keep(engine_ranges *r, range *made, range_wish *w);
/* Notes that a pattern has no range, and why. */
void ranges_refuse(engine_ranges *r, const range_wish *w, const char *why);
/* Notes shapes that a program is built for. */
pgy_status ranges_note(engine_ranges *r, const pgy_metadata *shapes, pgy_error *err) PGY_MUST_CHECK;

#endif
