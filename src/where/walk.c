/* SPDX-License-Identifier: Apache-2.0 */
/* A foreign runtime runs the model in segments, because all its tensors together, the copies of
 * weights that its session makes, and the time to build it are too much. A segment reads what
 * earlier segments of its side left. If the parts of both sides are the same bytes, one session
 * runs both. A segment that cannot be cut and does not fit the memory limit compares its tensors
 * one by one (slices.c). If even that does not fit, the search fails before anything runs. */
#include "where/walk.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "where/slices.h"

/* Segments are no larger than this, also if the limit allows more: small sessions cost no more time
 * than a large one, and a fault then needs its own sessions for a small part only. */
enum { SEGMENT_BYTES = 128 << 20, UNKNOWN_SHARE = 16 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Before the first segment ---------------------------------------------------------------- */

static const char *too_large(where_search *s, uint64_t bytes)
{
    str text = {0};
    str_append(&text, "comparing it needs ");
    str_append_bytes(&text, bytes);
    str_append(&text, ", more than the memory limit of ");
    str_append_bytes(&text, s->budget);
    const char *kept = arena_strdup(&s->report->memory, str_text(&text));
    str_deinit(&text);
    return kept ? kept : "comparing it needs more than the memory limit";
}

static uint64_t all_bytes(const where_search *s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->report->rows.count; i++) sum += s->report->rows.items[i].size_bytes;
    return sum;
}

static void mark_too_large(where_search *s)
{
    enum { COPIES = 3 };
    for (size_t i = 0; i < s->report->rows.count; i++) {
        where_row *r = &s->report->rows.items[i];
        const uint64_t bytes = COPIES * r->size_bytes;
        r->too_large = bytes > s->budget;
        if (r->too_large) r->line.note = too_large(s, bytes);
    }
}

/* Side A runs only what the tensors with a counterpart need. */
static pgy_status skip_unmatched(where_search *s, pgy_error *err)
{
    const pgy_graph *g = s->a.graph;
    bool *useful = mem_calloc(g->node_count + 1, sizeof *useful);
    if (!useful) return no_memory(err);
    for (size_t i = 0; i < s->report->rows.count; i++)
        useful[where_row_value_of_a(&s->report->rows.items[i])->producer->index] = true;
    for (size_t i = g->node_count; i--;) {
        const pgy_node *n = g->nodes[i];
        const node_box *box = node_box_of(n);
        for (size_t k = 0; useful[i] && k < n->input_count + box->captured_count; k++) {
            const pgy_value *v =
                k < n->input_count ? n->inputs[k] : box->captured[k - n->input_count];
            if (v && v->producer && v->producer->graph == g) useful[v->producer->index] = true;
        }
    }
    where_lane_skip(&s->a, useful);
    mem_free(useful);
    return PGY_OK;
}

static pgy_status make_differs(where_search *s, pgy_error *err)
{
    const size_t nodes = s->graph_b->node_count + 1;
    s->differs = mem_calloc(s->feed_count, nodes * sizeof *s->differs);
    s->hidden = mem_calloc(nodes, sizeof *s->hidden);
    return s->differs && s->hidden ? PGY_OK : no_memory(err);
}

/* What an engine shows is known after a run. */
static pgy_status find_cuts(where_search *s, pgy_error *err)
{
    const pgy_tensor_map *shown = NULL;
    pgy_tensor_map *held = NULL;
    pgy_status st = PGY_OK;
    if (s->b.whole) st = where_lane_read(&shown, &held, &s->b, NULL, s->feeds[0], 0, err);
    arena *memory = &s->report->memory;
    const where_rows *rows = &s->report->rows;
    if (!st)
        st = where_cuts_find(&s->cuts, s->graph_b, rows, shown, s->budget / UNKNOWN_SHARE, memory,
                             err);
    if (!st) st = where_cuts_find(&s->sure, s->graph_b, rows, shown, 0, memory, err);
    s->cuts.wide = s->sure.wide =
        pgy_backend_has(s->a.source.side->backend, PGY_BACKEND_IS_REFERENCE) ||
        pgy_backend_has(s->b.source.side->backend, PGY_BACKEND_IS_REFERENCE);
    pgy_tensor_map_destroy(held);
    return st;
}

static size_t next_end(const where_search *s, size_t begin)
{
    const uint64_t goal = s->budget < SEGMENT_BYTES ? s->budget : SEGMENT_BYTES;
    return where_cuts_next(&s->cuts, begin, goal);
}

/* The limit is hard: a segment that cannot run within it ends the search. */
static pgy_status check_segments(const where_search *s, pgy_error *err)
{
    for (size_t i = 0, end = 0; i < s->graph_b->node_count; i = end) {
        end = next_end(s, i);
        if (where_cuts_cost(&s->sure, i, end) <= s->budget) continue;
        const where_need need = where_cuts_least(&s->sure, i, end);
        if (need.bytes <= s->budget) continue;
        const pgy_node *first = s->graph_b->nodes[i], *last = s->graph_b->nodes[end - 1];
        str text = {0};
        if (first == last)
            str_printf(&text, "node '%s' (%s) needs ", node_label(first), first->op_type);
        else
            str_printf(&text, "the %zu nodes from '%s' (%s) to '%s' (%s) run together and need ",
                       end - i, node_label(first), first->op_type, node_label(last), last->op_type);
        str_append_bytes(&text, need.bytes);
        str_append(&text, first == last ? " to be compared: " : ": ");
        str_append_bytes(&text, need.values + need.slices);
        str_append(&text, " of values and ");
        str_append_bytes(&text, need.weights);
        str_append(&text, " for copies of weights, which is more than the memory limit of ");
        str_append_bytes(&text, s->budget);
        str_append(&text, "; raise the limit (max_memory)");
        const pgy_status st = pgy_error_set(err, PGY_E_MEMORY, "%s", str_text(&text));
        str_deinit(&text);
        return st;
    }
    return PGY_OK;
}

pgy_status where_walk_start(where_search *s, pgy_error *err)
{
    const uint64_t all = all_bytes(s);
    const bool hold = all <= s->budget / s->feed_count;
    pgy_model *ma = s->a.source.side->model, *mb = s->b.source.side->model;
    pgy_status st =
        where_lane_init(&s->a, ma, s->graph_a ? s->graph_a : s->graph_b, s->feed_count, err);
    if (!st) st = where_lane_init(&s->b, mb, s->graph_b, s->feed_count, err);
    if (!st) st = make_differs(s, err);
    if (st) return st;
    mark_too_large(s);
    if (!s->a.whole) st = skip_unmatched(s, err);
    if (!st) st = where_lane_start(&s->a, s->feeds, hold, err);
    if (!st) st = where_lane_start(&s->b, s->feeds, hold, err);
    if (!st) st = find_cuts(s, err);
    return st ? st : check_segments(s, err);
}

void where_walk_deinit(where_search *s)
{
    where_lane_deinit(&s->a);
    where_lane_deinit(&s->b);
    mem_free(s->differs);
    mem_free(s->hidden);
}

/* ---- Choosing -------------------------------------------------------------------------------- */

/* Values of side A that the segment's nodes read, in addition to those that it gives. */
static size_t add_read(where_search *s, pgy_value **wanted, size_t count, const where_segment *g)
{
    const size_t room = s->report->rows.count;
    for (size_t i = s->node; i < g->end; i++) {
        const pgy_node *n = s->graph_b->nodes[i];
        const node_box *box = node_box_of(n);
        for (size_t k = 0; k < n->input_count + box->captured_count; k++) {
            const pgy_value *v =
                k < n->input_count ? n->inputs[k] : box->captured[k - n->input_count];
            const where_row *r = where_row_of(&s->report->rows, v);
            if (!r || r->too_large || r->b->producer->index >= s->node || count >= room) continue;
            if (!s->a.kept[0] || !pgy_tensor_map_find(s->a.kept[0], r->line.name))
                wanted[count++] = where_row_value_of_a(r);
        }
    }
    return count;
}

static pgy_status select_outputs(where_search *s, const where_segment *g, pgy_error *err)
{
    pgy_value **wanted = mem_calloc(s->report->rows.count + 1, sizeof *wanted);
    pgy_status st = wanted ? PGY_OK : no_memory(err);
    for (size_t i = 0; !st && i < g->count; i++) wanted[i] = g->rows[i]->b;
    if (!st && !s->b.whole) st = where_lane_select(&s->b, wanted, g->count, err);
    for (size_t i = s->node; i < g->end; i++) s->b.reached[i] = true;
    for (size_t i = 0; !st && i < g->count; i++) wanted[i] = where_row_value_of_a(g->rows[i]);
    if (!st && !s->a.whole) {
        const bool alone = s->model && !g->sliced_count;
        const size_t count = alone ? add_read(s, wanted, g->count, g) : g->count;
        st = where_lane_select(&s->a, wanted, count, err);
    }
    mem_free(wanted);
    return st;
}

/* ---- Keeping --------------------------------------------------------------------------------- */

/* A value of side A is also kept for nodes of side B that will run alone. */
static bool is_read(const where_search *s, const where_lane *l, const char *name)
{
    const where_row *r = l == &s->a ? where_row_of_a(&s->report->rows, name) : NULL;
    return where_lane_reads(l, pgy_graph_find_value(l->graph, name)) ||
           (r && where_lane_reads(&s->b, r->b));
}

/* A value that does not fit the limit is computed again. */
static pgy_status add_keep(where_search *s, where_lane *l, const char *name, const pgy_tensor *t,
                           uint64_t *bytes, pgy_error *err)
{
    const uint64_t size = (uint64_t)pgy_tensor_size_bytes(t) * s->feed_count;
    if (!is_read(s, l, name) || size > s->budget / 2 || *bytes > s->budget / 2 - size)
        return PGY_OK;
    *bytes += size;
    return strvec_push(&l->keeps, name) ? PGY_OK : no_memory(err);
}

static pgy_status keep(where_search *s, where_lane *l, const pgy_tensor_map *results, size_t sample,
                       pgy_error *err)
{
    const pgy_tensor_map *kept = l->kept[0];
    uint64_t bytes = 0;
    pgy_status st = PGY_OK;
    if (l->whole) return PGY_OK;
    for (size_t i = 0; !st && !sample && kept && i < pgy_tensor_map_count(kept); i++)
        st = add_keep(s, l, pgy_tensor_map_name(kept, i), pgy_tensor_map_at(kept, i), &bytes, err);
    for (size_t i = 0; !st && !sample && i < l->outputs.count; i++) {
        const pgy_tensor *t = pgy_tensor_map_find(results, l->outputs.items[i]);
        const bool has = kept && pgy_tensor_map_find(kept, l->outputs.items[i]);
        if (t && !has) st = add_keep(s, l, l->outputs.items[i], t, &bytes, err);
    }
    return st ? st : where_lane_keep(l, results, sample, err);
}

/* ---- Running --------------------------------------------------------------------------------- */

/* A segment whose tensors are all compared in slices may leave nothing to later ones. */
static bool runs_part(const where_lane *l)
{
    return !l->whole && l->outputs.count;
}

static pgy_status read_lane(const pgy_tensor_map **out, pgy_tensor_map **held, where_lane *l,
                            where_lane *through, const pgy_tensor_map *feed, size_t sample,
                            pgy_error *err)
{
    return l->whole || runs_part(l) ? where_lane_read(out, held, l, through, feed, sample, err)
                                    : PGY_OK;
}

/* Finds out whether one session can run both sides. */
static pgy_status prepare(where_search *s, where_segment *g, size_t sample, pgy_error *err)
{
    where_lane *a = &s->a, *b = &s->b;
    pgy_status st = PGY_OK;
    if (runs_part(a)) st = where_lane_prepare(a, s->feeds[sample], sample, err);
    if (!st && runs_part(b)) st = where_lane_prepare(b, s->feeds[sample], sample, err);
    g->shared = !st && !a->whole && !b->whole &&
                where_is_one_runner(a->source.side, b->source.side) && a->part.bytes &&
                b->part.bytes && a->part.size_bytes == b->part.size_bytes &&
                !memcmp(a->part.bytes, b->part.bytes, a->part.size_bytes);
    return st;
}

static void close_part(where_lane *l)
{
    if (!l->whole) where_source_close(&l->source);
}

/* After the last sample each session closes before the next opens. */
static pgy_status run_sample(where_search *s, where_segment *g, size_t sample, pgy_error *err)
{
    const bool last = sample + 1 == s->feed_count;
    const pgy_tensor_map *va = NULL, *vb = NULL, *feed = s->feeds[sample];
    pgy_tensor_map *held_a = NULL, *held_b = NULL;
    pgy_status st = PGY_OK;
    if (g->sliced_count) {
        close_part(&s->a), close_part(&s->b);
        st = where_slices_compare(s, g, sample, err);
    }
    if (!st) st = prepare(s, g, sample, err);
    if (!st) st = read_lane(&va, &held_a, &s->a, NULL, feed, sample, err);
    if (last && !g->shared) close_part(&s->a);
    if (!st) st = read_lane(&vb, &held_b, &s->b, g->shared ? &s->a : NULL, feed, sample, err);
    if (last) close_part(&s->a), close_part(&s->b);
    if (!st) st = where_compare_rows(s, g, va, vb, sample, err);
    if (!st) st = keep(s, &s->b, vb, sample, err);
    if (!st) st = where_own_errors(s, g, va, vb, sample, err);
    if (!st) st = keep(s, &s->a, va, sample, err);
    pgy_tensor_map_destroy(held_a);
    pgy_tensor_map_destroy(held_b);
    return st;
}

static pgy_status run_segment(where_search *s, where_segment *g, pgy_error *err)
{
    pgy_status st = select_outputs(s, g, err);
    for (size_t i = 0; !st && i < s->feed_count; i++) st = run_sample(s, g, i, err);
    where_source_close(&g->alone);
    where_part_deinit(&g->alone_part);
    where_lane_finish(&s->a);
    where_lane_finish(&s->b);
    return cancel_check_after(st, err);
}

/* Can the tensor be compared in slices? A floor is that of the whole tensor. */
static bool can_slice(const where_search *s, const where_row *r)
{
    return !s->a.whole && !s->b.whole && !s->judge->needs_floor && r->size_bytes;
}

/* The rows of the nodes up to the next cut. */
static void choose(where_search *s, where_segment *g)
{
    const where_rows *rows = &s->report->rows;
    g->end = next_end(s, s->node);
    const bool fits = where_cuts_cost(&s->sure, s->node, g->end) <= s->budget;
    for (; s->done < rows->count; s->done++) {
        where_row *r = &rows->items[s->done];
        if (r->b->producer->index >= g->end) break;
        r->sliced = (!fits || r->too_large) && can_slice(s, r);
        if (!fits && !r->sliced && !r->too_large) {
            r->too_large = true;
            r->line.note = "the nodes that run together with its node need more than the memory "
                           "limit";
        }
        if (r->sliced)
            g->sliced[g->sliced_count++] = r;
        else if (!r->too_large)
            g->rows[g->count++] = r;
    }
}

pgy_status where_walk_next(bool *any, where_search *s, pgy_error *err)
{
    const size_t room = s->report->rows.count + 1;
    where_segment g = {.rows = mem_calloc(room, sizeof *g.rows),
                       .sliced = mem_calloc(room, sizeof *g.sliced)};
    pgy_status st = g.rows && g.sliced ? PGY_OK : no_memory(err);
    while (!st && !g.count && !g.sliced_count && s->done < s->report->rows.count) {
        choose(s, &g);
        if (g.count || g.sliced_count) st = run_segment(s, &g, err);
        s->node = g.end;
    }
    *any = g.count > 0 || g.sliced_count > 0;
    mem_free(g.rows);
    mem_free(g.sliced);
    return st;
}
