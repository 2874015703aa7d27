/* SPDX-License-Identifier: Apache-2.0 */
/* The error that a node makes is known without running it alone in three cases: the values that it
 * reads are the same bits on both sides, so the whole error is its own; one session runs both
 * sides, so the node is the same; or the error is less than what a node may make. */
#include "where/compare_rows.h"

#include <polygraphy/noise.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"

static const char LOG_PATH[] = "where/compare_rows.c";

/* In a larger group rounding accumulates, so it may make as much error as a whole model. */
enum { GROUP_NODES = 8, MANY_NODES = 1000 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Comparing ------------------------------------------------------------------------------- */

/* The floor of nodes that run alone lacks the rounding of nodes that are fused with this one, and
 * infinities that a node reads. */
static const pgy_floor *floor_of(const where_search *s, const where_row *r, const char *name,
                                 bool own)
{
    const pgy_floor_tensor *t = s->floors.all ? pgy_floor_find(s->floors.all, name) : NULL;
    const bool alone = own && !s->hidden[r->b->producer->index] && !(t && t->overflows);
    return alone ? s->floors.own : s->floors.all;
}

/* An engine times its kernels, so two builds of a node may round differently. */
static bool are_twins(const where_search *s, const where_row *r)
{
    const pgy_where_side *a = s->a.source.side, *b = s->b.source.side;
    return a && b && where_is_one_runner(a, b) && !a->plan && !b->plan &&
           !pgy_backend_has(b->backend, PGY_BACKEND_BUILDS_PLANS) && r->a && r->a->producer &&
           !strcmp(r->a->producer->op_type, r->b->producer->op_type) &&
           !s->hidden[r->b->producer->index];
}

pgy_status where_judge_row(where_verdict *out, const char **why, const where_search *s,
                           const where_row *r, bool own, pgy_tensor *a, pgy_tensor *b,
                           pgy_error *err)
{
    const char *name = r->floor_name ? r->floor_name : r->line.other_name;
    const where_terms terms = {.options = &s->options,
                               .floor = floor_of(s, r, name, own),
                               .name = name,
                               .own = own,
                               .twins = own && are_twins(s, r)};
    pgy_tensor *la = NULL, *lb = NULL;
    *why = NULL;
    if (!pgy_view_same_shape(pgy_tensor_view(a), pgy_tensor_view(b)))
        *why = "the two sides have different shapes";
    else if (pgy_tensor_dtype(a) == PGY_STRING || pgy_tensor_dtype(b) == PGY_STRING)
        *why = "it has strings";
    if (*why) return PGY_OK;
    pgy_status st = pgy_tensor_load(&la, a, err);
    if (!st) st = pgy_tensor_load(&lb, b, err);
    if (!st) st = s->judge->judge(out, &terms, la, lb, err);
    pgy_tensor_release(la);
    pgy_tensor_release(lb);
    return st;
}

pgy_status where_set_shape(where_search *s, pgy_where_tensor *t, size_t rank, const int64_t *shape,
                           pgy_dtype dtype, pgy_error *err)
{
    int64_t *kept = arena_alloc_array(&s->report->memory, rank + 1, sizeof *kept);
    if (!kept) return no_memory(err);
    if (rank) memcpy(kept, shape, rank * sizeof *kept);
    t->shape = kept;
    t->rank = (int32_t)rank;
    t->dtype = dtype;
    return PGY_OK;
}

/* Keeps the figures of the worst sample. */
static pgy_status take_worst(where_search *s, pgy_where_tensor *t, const where_verdict *v,
                             size_t sample, pgy_error *err)
{
    pgy_where_element *kept =
        arena_alloc_array(&s->report->memory, v->worst_count + 1, sizeof *kept);
    if (!kept) return no_memory(err);
    memcpy(kept, v->worst, v->worst_count * sizeof *kept);
    t->worst = kept;
    t->worst_count = v->worst_count;
    t->worst_index = kept->index;
    t->worst_a = kept->a;
    t->worst_b = kept->b;
    t->error = v->error;
    t->sample = sample;
    t->allowed = v->allowed;
    t->floor_times = v->times;
    t->floor_dtype = v->floor_dtype;
    return PGY_OK;
}

static const char *missing(const where_search *s, bool in_a)
{
    const where_source *side = in_a ? &s->a.source : &s->b.source;
    if (side->results) return "the stored results do not have it";
    if (side->side->plan) return "the plan shows its outputs and debug tensors only";
    return side->marks ? "the engine fused it away" : "the runner did not return it";
}

pgy_status where_take_verdict(where_search *s, where_row *r, const where_verdict *v, size_t sample,
                              pgy_error *err)
{
    pgy_where_tensor *t = &r->line;
    pgy_status st = PGY_OK;
    r->now = v->error;
    if (!t->compared) t->note = "";
    if (!t->compared || v->error > t->error) st = take_worst(s, t, v, sample, err);
    t->compared = true;
    t->differs |= v->differs;
    if (v->nans) t->note = "it has NaN";
    return st;
}

static pgy_status compare(where_search *s, where_row *r, pgy_tensor *a, pgy_tensor *b,
                          size_t sample, pgy_error *err)
{
    pgy_where_tensor *t = &r->line;
    where_verdict v;
    const char *why;
    r->now = NAN;
    if (!a || !b) {
        t->note = missing(s, !a);
        return PGY_OK;
    }
    pgy_status st = where_judge_row(&v, &why, s, r, false, a, b, err);
    if (!st && t->rank < 0)
        st = where_set_shape(s, t, pgy_tensor_rank(a), pgy_tensor_shape(a), pgy_tensor_dtype(a),
                             err);
    if (st) return st;
    if (why) {
        t->note = why;
        if (strstr(why, "shapes")) t->compared = t->differs = true, t->error = r->now = INFINITY;
        return PGY_OK;
    }
    return where_take_verdict(s, r, &v, sample, err);
}

/* Tensors between two that are compared: a fused group, or what stored results lack. */
static uint32_t hidden_nodes(const where_search *s, const pgy_node *n)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < n->input_count; k++) {
        const pgy_value *v = n->inputs[k];
        const where_row *r = where_row_of(&s->report->rows, v);
        if (!v || !v->producer || v->producer->graph != n->graph || (r && r->line.compared))
            continue;
        sum += 1 + (uint64_t)s->hidden[v->producer->index];
    }
    return sum < MANY_NODES ? (uint32_t)sum : MANY_NODES;
}

static bool reads_differing(const bool *differs, const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    for (size_t k = 0; k < n->input_count + box->captured_count; k++) {
        const pgy_value *v = k < n->input_count ? n->inputs[k] : box->captured[k - n->input_count];
        if (v && v->producer && v->producer->graph == n->graph && differs[v->producer->index])
            return true;
    }
    return false;
}

/* A tensor that was not compared differs if its node reads one that does. */
void where_note_nodes(where_search *s, size_t begin, size_t end, size_t sample)
{
    if (!s->graph_b) return; /* stored results have no nodes */
    bool *differs = where_differs(s, sample);
    for (size_t i = begin; i < end; i++) {
        const pgy_node *n = s->graph_b->nodes[i];
        bool unknown = false;
        s->hidden[i] = hidden_nodes(s, n);
        for (size_t k = 0; k < n->output_count; k++) {
            const where_row *r = where_row_of(&s->report->rows, n->outputs[k]);
            const bool skipped = !r || (r->too_large && !r->sliced);
            unknown |= skipped || isnan(r->now);
            if (!skipped && r->now > 0) differs[i] = true;
        }
        if (unknown && reads_differing(differs, n)) differs[i] = true;
    }
}

pgy_status where_compare_rows(where_search *s, where_segment *g, const pgy_tensor_map *va,
                              const pgy_tensor_map *vb, size_t sample, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->count; i++) {
        const pgy_where_tensor *t = &g->rows[i]->line;
        st = compare(s, g->rows[i], pgy_tensor_map_find(va, t->name),
                     pgy_tensor_map_find(vb, t->other_name), sample, err);
        if (!st) st = cancel_check(err);
    }
    if (!st) where_note_nodes(s, s->node, g->end, sample);
    return st;
}

/* ---- Own errors without a run ---------------------------------------------------------------- */

bool where_reads_differing(const where_search *s, const where_row *r, size_t sample)
{
    return reads_differing(where_differs(s, sample), r->b->producer);
}

bool where_is_own(const where_search *s, const where_row *r)
{
    return s->hidden[r->b->producer->index] <= GROUP_NODES;
}

void where_take_own(where_row *r, const where_verdict *v)
{
    r->own_differs |= v->differs;
    if (!(v->error <= r->line.made)) r->line.made = v->error;
}

static pgy_status judge_own(where_search *s, where_row *r, pgy_tensor *x, pgy_tensor *y,
                            pgy_error *err)
{
    where_verdict v;
    const char *why;
    pgy_status st = where_judge_row(&v, &why, s, r, where_is_own(s, r), x, y, err);
    if (st) return st;
    if (why) v.error = INFINITY, v.differs = true;
    where_take_own(r, &v);
    return PGY_OK;
}

/* *needs: only a run of the node alone can tell. */
static pgy_status settle(bool *needs, where_search *s, const where_segment *g, where_row *r,
                         pgy_tensor *a, pgy_tensor *b, size_t sample, pgy_error *err)
{
    where_verdict v;
    const char *why;
    *needs = false;
    if (isnan(r->now) || !a || !b) return PGY_OK;
    if (!where_reads_differing(s, r, sample)) return judge_own(s, r, a, b, err);
    if (g->shared && !isinf(r->now)) {
        if (isnan(r->line.made)) r->line.made = 0;
        return PGY_OK;
    }
    *needs = true;
    if (s->options.own_errors || isinf(r->now)) return PGY_OK;
    pgy_status st = where_judge_row(&v, &why, s, r, where_is_own(s, r), a, b, err);
    if (!st && !why) *needs = v.differs;
    return st;
}

/* ---- Nodes alone ----------------------------------------------------------------------------- */

/* Names the reference's values as side B's model does; tensors that B does not show stay connected.
 */
static pgy_status hand(pgy_tensor_map **out, where_search *s, const pgy_tensor_map *va,
                       size_t sample, pgy_error *err)
{
    const where_rows *rows = &s->report->rows;
    const pgy_tensor_map *kept = s->a.kept[sample];
    pgy_status st = pgy_tensor_map_create(out, err);
    for (size_t i = 0; !st && i < s->done; i++) {
        const pgy_where_tensor *t = &rows->items[i].line;
        if (!t->compared) continue;
        pgy_tensor *a = pgy_tensor_map_find(va, t->name);
        if (!a && kept) a = pgy_tensor_map_find(kept, t->name);
        if (a && pgy_tensor_dtype(a) != PGY_STRING)
            st = pgy_tensor_map_set(*out, t->other_name, a, err);
    }
    return st;
}

static bool is_list(const strvec *list, const char *const *names, size_t count)
{
    bool same = list->count == count;
    for (size_t i = 0; same && i < count; i++) same = !strcmp(list->items[i], names[i]);
    return same;
}

/* The session of the sample before is used again, unless it calibrates with what it is handed. */
static pgy_status open_alone(pgy_tensor_map **inputs, where_search *s, where_segment *g,
                             const pgy_tensor_map *handed, const char *const *names, size_t count,
                             const pgy_tensor_map *feed, pgy_error *err)
{
    where_part *part = &g->alone_part;
    const bool same = g->alone.runner && is_list(&part->outputs, names, count) &&
                      !pgy_backend_has(s->b.source.side->backend, PGY_BACKEND_BUILDS_PLANS);
    pgy_status st = same ? where_part_feed(inputs, part, handed, NULL, feed, err) : PGY_OK;
    if (st || (same && where_part_fits(part, *inputs))) return st;
    pgy_tensor_map_destroy(*inputs);
    *inputs = NULL;
    where_source_close(&g->alone);
    where_part_deinit(part);
    g->alone = (where_source){.side = s->b.source.side};
    st = where_part_make(part, s->model, handed, names, count, err);
    if (!st) st = where_part_feed(inputs, part, handed, NULL, feed, err);
    if (!st && !pgy_backend_has(s->b.source.side->backend, PGY_BACKEND_BUILDS_PLANS))
        st = where_part_serialize(part, err);
    g->alone.handed = *inputs;
    return st ? st : where_source_open_part(&g->alone, part, err);
}

static pgy_status run_alone(where_search *s, where_segment *g, where_row *const *rows,
                            const char *const *names, size_t count, const pgy_tensor_map *va,
                            size_t sample, pgy_error *err)
{
    const pgy_tensor_map *made = NULL;
    pgy_tensor_map *handed = NULL, *inputs = NULL, *held = NULL;
    pgy_status st = hand(&handed, s, va, sample, err);
    if (!st) st = open_alone(&inputs, s, g, handed, names, count, s->feeds[sample], err);
    if (!st) st = where_source_read(&made, &held, &g->alone, inputs, 0, err);
    for (size_t i = 0; !st && i < count; i++) {
        pgy_tensor *x = pgy_tensor_map_find(va, rows[i]->line.name);
        pgy_tensor *y = pgy_tensor_map_find(made, names[i]);
        if (x && y) st = judge_own(s, rows[i], x, y, err);
        if (!st) st = cancel_check(err);
    }
    g->alone.handed = NULL;
    if (st || sample + 1 == s->feed_count) where_source_close(&g->alone);
    pgy_tensor_map_destroy(held);
    pgy_tensor_map_destroy(inputs);
    pgy_tensor_map_destroy(handed);
    return st;
}

/* A node that cannot run alone leaves its own error unknown; the comparison itself still counts. */
static pgy_status try_alone(where_search *s, where_segment *g, where_row *const *rows,
                            const char *const *names, size_t count, const pgy_tensor_map *va,
                            size_t sample, pgy_error *err)
{
    pgy_error why = {0};
    if (!s->model || s->alone_failed || !count) return PGY_OK;
    const pgy_status st = run_alone(s, g, rows, names, count, va, sample, &why);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) LOG(WARNING, "Nodes cannot run alone, so their own errors are unknown: %s", why.text);
    s->alone_failed = st != PGY_OK;
    return PGY_OK;
}

pgy_status where_own_errors(where_search *s, where_segment *g, const pgy_tensor_map *va,
                            const pgy_tensor_map *vb, size_t sample, pgy_error *err)
{
    where_row **rows = mem_calloc(g->count + 1, sizeof *rows);
    const char **names = mem_calloc(g->count + 1, sizeof *names);
    pgy_status st = rows && names ? PGY_OK : no_memory(err);
    size_t count = 0;
    for (size_t i = 0; !st && i < g->count; i++) {
        where_row *r = g->rows[i];
        bool needs;
        st = settle(&needs, s, g, r, pgy_tensor_map_find(va, r->line.name),
                    pgy_tensor_map_find(vb, r->line.other_name), sample, err);
        if (!st && needs) {
            names[count] = r->line.other_name;
            rows[count++] = r;
        }
    }
    if (!st) st = try_alone(s, g, rows, names, count, va, sample, err);
    mem_free(rows);
    mem_free(names);
    return st;
}
