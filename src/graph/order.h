/* SPDX-License-Identifier: Apache-2.0 */
/* Topological order of any numbered items: nodes of a strict graph or of graph surgery, nodes of a
 * file, functions. The caller numbers its items from 0 and lists the needs of each, which are the
 * items that must come before it. No graph is accessed.
 *
 *     order o;
 *     st = order_init(&o, count, err);
 *     for each item i: order_open(&o, i), then order_need(&o, need, err) for each of its needs
 *     if (!st) st = order_settle(&o, err);
 *     o.settled[0], o.settled[1], ...
 *     order_deinit(&o); */
#ifndef GRAPH_ORDER_H
#define GRAPH_ORDER_H

#include <polygraphy/base.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct order {
    size_t count;
    size_t *first; /* the needs of item i are needs[first[i]] up to needs[first[i + 1]] */
    size_t *needs;
    size_t need_count, need_capacity;
    /* If set, order_settle calls it for each need that closes a cycle and then ignores that need.
     */
    void (*on_cycle)(size_t item, size_t need, void *user);
    void *user;
    /* Results of order_settle. */
    size_t *settled;     /* items, each after its needs */
    size_t *level;       /* indexed by item: 1 + the highest level of its needs; 0 without needs */
    size_t *cycle;       /* on PGY_E_FORMAT: items of a cycle, each needed by the next */
    size_t cycle_length; /* the last item is needed by the first */
} order;

pgy_status order_init(order *o, size_t count, pgy_error *err) PGY_MUST_CHECK;
void order_deinit(order *o);
/* Begins the list of needs of an item; later calls of order_need add to it. Items must be opened in
 * the order of their numbers. */
void order_open(order *o, size_t item);
pgy_status order_need(order *o, size_t need, pgy_error *err) PGY_MUST_CHECK;
/* Sorts depth first: takes the items by number and puts the needs of each, as listed, before it. So
 * items that are in a valid order already keep it. PGY_E_FORMAT, without a text: `cycle` holds a
 * cycle. */
pgy_status order_settle(order *o, pgy_error *err) PGY_MUST_CHECK;
/* Sorts `settled` by level; items of equal level keep their order. */
pgy_status order_by_level(order *o, pgy_error *err) PGY_MUST_CHECK;

#endif
