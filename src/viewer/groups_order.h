/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a list of items into parts so that no part is left and entered again, in an order in
 * which arrows go forward. */
#ifndef VIEWER_GROUPS_ORDER_H
#define VIEWER_GROUPS_ORDER_H

#include "viewer/groups.h"

typedef struct group_part {
    uint32_t scope; /* VIEW_NONE: an item by itself */
    uint32_t *items;
    uint32_t count;
    uint32_t number, total; /* which part of the scope in this list, from 1; total 1: all of it */
} group_part;

/* What group_order remembers of items and scopes between calls; zeroed arrays. */
typedef struct group_order_state {
    uint32_t *owner;   /* of items: the call that they take part in */
    uint32_t *blocked; /* of items: how many edges from items that are not placed yet */
    uint32_t *unit;    /* of items */
    bool *placed, *queued;
    uint32_t *scope_unit, *scope_owner;
    uint32_t calls;
} group_order_state;

bool group_order_start(group_order_state *o, grouping *s);
/* Items are units of their own if their path has `depth` parts only, else they belong to the unit
 * of the scope at that depth. Units in the order of their first items, unless arrows want another
 * one; a scope that is left and entered again is divided. The parts live in `memory`. */
pgy_status group_order(group_part **out, uint32_t *count, grouping *s, group_order_state *o,
                       const uint32_t *items, uint32_t item_count, uint32_t depth, arena *memory,
                       pgy_error *err) PGY_MUST_CHECK;

#endif
