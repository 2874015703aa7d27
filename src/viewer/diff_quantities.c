/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities of two compared graphs at each other's nodes and tensors: pictures of the merged graph
 * can show what was measured on either side, and those of A what B took beside it. */
#include "viewer/diff_quantities.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"

/* Suffixed texts live as long as the results. */
static pgy_status derive(view_quantity **out, pgy_page *p, const view_quantity *like,
                         const char *suffix, const char *label, uint32_t graph, pgy_error *err)
{
    view_quantity q = *like;
    arena *a = &p->results.memory;
    q.id = arena_printf(a, "%s%s", like->id, suffix);
    q.label = arena_printf(a, "%s%s", like->label, label);
    q.graph = graph;
    if (!q.id || !q.label)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing results");
    return view_quantity_add(out, &p->results, p->graphs[graph], &q, err);
}

pgy_status diff_quantity_b(view_quantity **out, pgy_page *p, const view_quantity *like,
                           uint32_t graph, pgy_error *err)
{
    return derive(out, p, like, "_b", ", of B", graph, err);
}

pgy_status diff_quantity_ratio(view_quantity **out, pgy_page *p, const view_quantity *like,
                               uint32_t graph, pgy_error *err)
{
    view_quantity q = *like;
    q.unit = "x";
    q.scale = VIEW_DIVERGING;
    q.fold = VIEW_FOLD_MAX;
    q.better = VIEW_BETTER_LOW;
    return derive(out, p, &q, "_ratio", ", B / A", graph, err);
}

/* ---- The merged graph ------------------------------------------------------------------------ */

/* Nodes and tensors of a graph in the merged one; several nodes that one replaces have one place.
 */
static void copy_values(view_quantity *to, const pgy_page *p, const view_quantity *from)
{
    const view_results *r = &p->results;
    const uint32_t side = from->graph;
    if (from->of == VIEW_OF_TENSOR) {
        for (uint32_t i = 0; i < from->count; i++)
            if (from->is_measured[i])
                view_quantity_set(to, p->merged_tensor[side][i], from->values[i]);
        return;
    }
    uint32_t last = VIEW_NONE; /* the parts of a whole follow each other: the first has its value */
    for (size_t i = 0; i < r->pair_count; i++) {
        const uint32_t at = r->pairs[side][i];
        if (at == VIEW_NONE || at == last || !from->is_measured[at]) continue;
        if (!to->is_measured[r->pairs[VIEW_MERGED][i]])
            view_quantity_set(to, r->pairs[VIEW_MERGED][i], from->values[at]);
        last = at;
    }
}

pgy_status diff_quantities_merge(pgy_page *p, pgy_error *err)
{
    char id[64];
    const size_t count = p->results.quantity_count; /* without those that are added here */
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < count && !st; i++) {
        const view_quantity from = p->results.quantities[i];
        view_quantity *to = NULL;
        if (from.graph >= VIEW_COMPARED || strcmp(from.group, "change") == 0) continue;
        /* A second run of A has the name that times of B would get. */
        snprintf(id, sizeof id, "%s_b", from.id);
        if (from.graph && view_quantity_find(&p->results, id, VIEW_MERGED)) continue;
        st = from.graph ? diff_quantity_b(&to, p, &from, VIEW_MERGED, err)
                        : derive(&to, p, &from, "", "", VIEW_MERGED, err);
        if (!st) copy_values(to, p, &from);
        if (!st) st = cancel_check(err);
    }
    return st;
}

/* ---- Errors --------------------------------------------------------------------------------- */

static double value_at(const view_quantity *q, uint32_t at, bool *has)
{
    *has = q && at < q->count && q->is_measured[at];
    return *has ? q->values[at] : NAN;
}

pgy_status diff_quantities_of_tensors(pgy_page *p, const char *id, pgy_error *err)
{
    const view_quantity *a = view_quantity_find(&p->results, id, 0),
                        *b = view_quantity_find(&p->results, id, 1);
    if (!a || !b) return PGY_OK;
    const view_quantity like_a = *a, like_b = *b;
    uint32_t *const *merged = p->merged_tensor;
    const uint32_t room = p->graphs[VIEW_MERGED]->tensor_count;
    arena scratch = {0};
    uint32_t *in_a = arena_alloc_array(&scratch, room + 1ull, sizeof *in_a);
    view_quantity *own = NULL, *ratio = NULL;
    pgy_status st =
        in_a ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing results");
    for (uint32_t i = 0; !st && i < room; i++) in_a[i] = VIEW_NONE;
    for (uint32_t i = 0; !st && i < like_a.count; i++) in_a[merged[0][i]] = i;
    for (uint32_t i = 0; !st && i < like_b.count; i++) {
        bool has_a, has_b;
        const uint32_t at = in_a[merged[1][i]];
        const double vb = value_at(&like_b, i, &has_b), va = value_at(&like_a, at, &has_a);
        if (!has_b || at == VIEW_NONE) continue;
        st = diff_quantity_b(&own, p, &like_a, 0, err);
        if (!st) view_quantity_set(own, at, vb);
        if (st || !has_a || !(va > 0) || !isfinite(vb)) continue;
        for (uint32_t graph = 0; graph <= VIEW_MERGED && !st; graph += VIEW_MERGED) {
            st = diff_quantity_ratio(&ratio, p, &like_a, graph, err);
            if (!st) view_quantity_set(ratio, graph ? merged[0][at] : at, vb / va);
        }
    }
    arena_deinit(&scratch);
    return st;
}
