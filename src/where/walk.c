/* SPDX-License-Identifier: Apache-2.0 */
/* A foreign runtime runs the model in segments, because all its tensors together, the copies of
 * weights that its session makes, and the time to build it are too much. A segment reads what
 * earlier segments of its side left. If the parts of both sides are the same bytes, one session
 * runs both. */
#include "where/walk.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "where/compare_rows.h"

/* Segments are no larger than this, also if the limit allows more: small sessions cost no more time
 * than a large one, and a fault then needs its own sessions for a small part only. */
enum { SEGMENT_BYTES = 128 << 20, UNKNOWN_SHARE = 16 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_value *value_of_a(const where_row *r)
{
    return r->a ? r->a : r->b;
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
        useful[value_of_a(&s->report->rows.items[i])->producer->index] = true;
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
    if (!st)
        st = where_cuts_find(&s->cuts, s->graph_b, &s->report->rows, shown,
                             s->budget / UNKNOWN_SHARE, &s->report->memory, err);
    pgy_tensor_map_destroy(held);
    return st;
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
    return st ? st : find_cuts(s, err);
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
                wanted[count++] = value_of_a(r);
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
    for (size_t i = 0; !st && i < g->count; i++) wanted[i] = value_of_a(g->rows[i]);
    if (!st && !s->a.whole) {
        const size_t count = s->model ? add_read(s, wanted, g->count, g) : g->count;
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

/* Finds out whether one session can run both sides. */
static pgy_status prepare(where_search *s, where_segment *g, size_t sample, pgy_error *err)
{
    where_lane *a = &s->a, *b = &s->b;
    pgy_status st = a->whole ? PGY_OK : where_lane_prepare(a, s->feeds[sample], sample, err);
    if (!st && !b->whole) st = where_lane_prepare(b, s->feeds[sample], sample, err);
    g->shared = !st && !a->whole && !b->whole && where_is_one_runner(a->source.side, b->source.side) &&
                a->part.bytes && b->part.bytes && a->part.size_bytes == b->part.size_bytes &&
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
    pgy_status st = prepare(s, g, sample, err);
    if (!st) st = where_lane_read(&va, &held_a, &s->a, NULL, feed, sample, err);
    if (last && !g->shared) close_part(&s->a);
    if (!st) st = where_lane_read(&vb, &held_b, &s->b, g->shared ? &s->a : NULL, feed, sample, err);
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

/* The rows of the nodes up to the next cut. */
static void choose(where_search *s, where_segment *g)
{
    const uint64_t goal = s->budget < SEGMENT_BYTES ? s->budget : SEGMENT_BYTES;
    const where_rows *rows = &s->report->rows;
    g->end = where_cuts_next(&s->cuts, s->node, goal);
    for (; s->done < rows->count; s->done++) {
        where_row *r = &rows->items[s->done];
        if (r->b->producer->index >= g->end) break;
        if (!r->too_large) g->rows[g->count++] = r;
    }
}

pgy_status where_walk_next(bool *any, where_search *s, pgy_error *err)
{
    where_segment g = {.rows = mem_calloc(s->report->rows.count + 1, sizeof *g.rows)};
    pgy_status st = g.rows ? PGY_OK : no_memory(err);
    while (!st && !g.count && s->done < s->report->rows.count) {
        choose(s, &g);
        if (g.count) st = run_segment(s, &g, err);
        s->node = g.end;
    }
    *any = g.count > 0;
    mem_free(g.rows);
    return st;
}
