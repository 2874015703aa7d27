/* SPDX-License-Identifier: Apache-2.0 */
/* What depends on what, by number, and an order in which all needs come first. Used for the nodes
 * of a level and for functions. */
#ifndef GS_EDIT_ORDER_H
#define GS_EDIT_ORDER_H

#include "gs/graph/gs.h"

typedef struct order {
    size_t count;
    size_t *first; /* of item i, the needs are needs[first[i]] up to needs[first[i + 1]] */
    size_t *needs;
    size_t need_count, need_capacity;
    /* What order_settle gives. */
    size_t *settled;      /* items, each after its needs */
    size_t *level;        /* by item: 1 more than the highest of its needs */
    size_t *circle;       /* on PGY_E_FORMAT: items of a circle, each needed by the next */
    size_t circle_length; /* the last one is needed by the first */
} order;

pgy_status order_init(order *o, size_t count, pgy_error *err) PGY_MUST_CHECK;
void order_deinit(order *o);
/* Needs are added for one item after the other: order_open(i), then its needs. */
void order_open(order *o, size_t item);
pgy_status order_need(order *o, size_t need, pgy_error *err) PGY_MUST_CHECK;
/* Items in the order in which a walk over all of them that settles needs first settles them.
 * PGY_E_FORMAT without text: there is a circle. */
pgy_status order_settle(order *o, pgy_error *err) PGY_MUST_CHECK;
/* Sorts `settled` by level; items of one level stay as they are. */
pgy_status order_by_level(order *o, pgy_error *err) PGY_MUST_CHECK;
/* The order of the functions of a document. */
pgy_status gs_function_order(order *o, const gs_document *d, pgy_error *err) PGY_MUST_CHECK;

#endif
