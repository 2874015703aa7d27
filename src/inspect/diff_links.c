/* SPDX-License-Identifier: Apache-2.0 */
/* Links between differences and the nodes that they belong to. */
#include "inspect/diff_links.h"

#include "base/alloc.h"
#include "inspect/diff.h"

static void push(pgy_diff *d, diff_link **list, size_t *count, size_t *capacity, diff_link link)
{
    void *items = *list;
    const bool grown = mem_grow(&items, capacity, *count + 1, sizeof link);
    *list = items;
    if (grown)
        (*list)[(*count)++] = link;
    else
        d->failed = true;
}

void diff_link_pairs(pgy_diff *d, const diff_side *a)
{
    for (size_t i = 0; i < a->node_count; i++)
        if (a->nodes[i].pair)
            push(d, &d->pairs, &d->pair_count, &d->pair_capacity,
                 (diff_link){.a = a->nodes[i].proto, .b = a->nodes[i].pair->proto});
}

static void link_entry(pgy_diff *d, size_t entry, const pgy_onnx_node *a, const pgy_onnx_node *b)
{
    push(d, &d->links, &d->link_count, &d->link_capacity,
         (diff_link){.a = a, .b = b, .entry = entry});
}

/* Links an entry to the node that computes a value, or to all that read it. A reader of b whose
 * pair reads `other` was linked with that. */
static void link_value(pgy_diff *d, size_t entry, const diff_value *v, bool is_b,
                       const diff_value *other)
{
    if (v->producer) {
        const diff_node *pair = v->producer->pair;
        if (is_b && pair && other) return;
        const pgy_onnx_node *p = v->producer->proto, *q = pair ? pair->proto : NULL;
        link_entry(d, entry, is_b ? q : p, is_b ? p : q);
        return;
    }
    for (size_t i = 0; i < v->use_count; i++) {
        const diff_node *n = &v->side->nodes[v->uses[i]];
        const pgy_onnx_node *p = n->proto, *q = n->pair ? n->pair->proto : NULL;
        if (i && v->uses[i] == v->uses[i - 1]) continue;
        if (is_b && n->pair && other) continue;
        link_entry(d, entry, is_b ? q : p, is_b ? p : q);
    }
}

void diff_link_entry(pgy_diff *d, size_t entry)
{
    const diff_subject *s = &d->subject;
    if (s->a || s->b) link_entry(d, entry, s->a, s->b);
    if (s->value_a) link_value(d, entry, s->value_a, false, s->value_b);
    if (s->value_b) link_value(d, entry, s->value_b, true, s->value_a);
}

const diff_link *diff_pairs(const pgy_diff *d, size_t *count)
{
    *count = d->pair_count;
    return d->pairs;
}

const diff_link *diff_links(const pgy_diff *d, size_t *count)
{
    *count = d->link_count;
    return d->links;
}
