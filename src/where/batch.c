/* SPDX-License-Identifier: Apache-2.0 */
/* The limit counts, for each tensor of a batch: its values on both sides, its value when its node
 * runs alone, and the reference's values that the node reads. */
#include "where/batch.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"

static const char LOG_PATH[] = "where/batch.c";

enum { COPIES = 3, UNKNOWN_SHARE = 16 };

typedef struct batch {
    where_row **rows;
    size_t count;
    const char **names_a, **names_b; /* names_a also has the tensors that the nodes read */
    size_t count_a;
    strmap in_a; /* names in names_a */
    uint64_t bytes;
} batch;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Choosing -------------------------------------------------------------------------------- */

static where_row *row_of(where_search *s, const pgy_value *v)
{
    const size_t at = v ? (uintptr_t)strmap_get(&s->report->rows.by_b, v->name) : 0;
    return at ? &s->report->rows.items[at - 1] : NULL;
}

static uint64_t bytes_of(const where_search *s, const where_row *r)
{
    return r->size_bytes ? r->size_bytes : s->budget / UNKNOWN_SHARE;
}

/* Visits the rows that a node reads, through nodes without a row. */
static uint64_t input_bytes(where_search *s, const batch *b, const pgy_node *n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n->input_count; i++) {
        const where_row *in = row_of(s, n->inputs[i]);
        if (in && !strmap_has(&b->in_a, in->line.name)) sum += bytes_of(s, in);
    }
    return sum;
}

static bool want_a(batch *b, const where_row *r)
{
    if (strmap_has(&b->in_a, r->line.name)) return true;
    b->names_a[b->count_a++] = r->line.name;
    return strmap_put(&b->in_a, r->line.name, b);
}

static bool put(where_search *s, batch *b, where_row *r)
{
    const pgy_node *n = r->b->producer;
    b->names_b[b->count] = r->line.other_name;
    b->rows[b->count++] = r;
    bool kept = want_a(b, r);
    for (size_t i = 0; kept && i < n->input_count; i++) {
        const where_row *in = row_of(s, n->inputs[i]);
        if (in) kept = want_a(b, in);
    }
    return kept;
}

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

static bool choose(where_search *s, batch *b)
{
    where_rows *rows = &s->report->rows;
    bool kept = true;
    for (size_t i = s->done; kept && i < rows->count; i++) {
        where_row *r = &rows->items[i];
        const uint64_t own = COPIES * bytes_of(s, r) + input_bytes(s, b, r->b->producer);
        if (own > s->budget && !b->count) {
            r->line.note = too_large(s, own);
            s->done++;
            continue;
        }
        if (b->bytes + own > s->budget) break;
        b->bytes += own;
        kept = put(s, b, r);
        s->done++;
    }
    return kept;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static pgy_status judge(where_verdict *out, const char **why, where_search *s, bool own,
                        pgy_tensor *a, pgy_tensor *b, pgy_error *err)
{
    pgy_tensor *la = NULL, *lb = NULL;
    *why = NULL;
    if (!pgy_view_same_shape(pgy_tensor_view(a), pgy_tensor_view(b)))
        *why = "the two sides have different shapes";
    else if (pgy_tensor_dtype(a) == PGY_STRING || pgy_tensor_dtype(b) == PGY_STRING)
        *why = "it has strings";
    if (*why) return PGY_OK;
    pgy_status st = pgy_tensor_load(&la, a, err);
    if (!st) st = pgy_tensor_load(&lb, b, err);
    if (!st) st = s->judge->judge(out, &s->options, own, la, lb, err);
    pgy_tensor_release(la);
    pgy_tensor_release(lb);
    return st;
}

static pgy_status set_shape(where_search *s, pgy_where_tensor *t, const pgy_tensor *a,
                            pgy_error *err)
{
    const size_t rank = pgy_tensor_rank(a);
    int64_t *shape = arena_alloc_array(&s->report->memory, rank + 1, sizeof *shape);
    if (!shape) return no_memory(err);
    if (rank) memcpy(shape, pgy_tensor_shape(a), rank * sizeof *shape);
    t->shape = shape;
    t->rank = (int32_t)rank;
    t->dtype = pgy_tensor_dtype(a);
    return PGY_OK;
}

static const char *missing(const where_search *s, bool in_a)
{
    const where_source *side = in_a ? &s->a : &s->b;
    if (side->results) return "the stored results do not have it";
    if (side->side->plan) return "the plan shows its outputs and debug tensors only";
    return side->marks ? "the engine fused it away" : "the runner did not return it";
}

static pgy_status compare(where_search *s, where_row *r, pgy_tensor *a, pgy_tensor *b,
                          size_t sample, pgy_error *err)
{
    pgy_where_tensor *t = &r->line;
    where_verdict v;
    const char *why;
    if (!a || !b) {
        t->note = missing(s, !a);
        return PGY_OK;
    }
    pgy_status st = judge(&v, &why, s, false, a, b, err);
    if (!st && t->rank < 0) st = set_shape(s, t, a, err);
    if (st) return st;
    if (why) {
        t->note = why;
        if (strstr(why, "shapes")) t->compared = t->differs = true, t->error = INFINITY;
        return PGY_OK;
    }
    if (!t->compared) t->note = "";
    if (!t->compared || v.error > t->error) {
        t->error = v.error;
        t->worst_index = v.worst;
        t->worst_a = v.worst_a;
        t->worst_b = v.worst_b;
        t->sample = sample;
        t->allowed = v.allowed;
    }
    t->compared = true;
    t->differs |= v.differs;
    if (v.nans) t->note = "it has NaN";
    return PGY_OK;
}

static pgy_status compare_all(where_search *s, batch *b, const pgy_tensor_map *va,
                              const pgy_tensor_map *feed, size_t sample, pgy_error *err)
{
    const pgy_tensor_map *vb = NULL;
    pgy_tensor_map *held = NULL;
    pgy_status st = where_source_read(&vb, &held, &s->b, feed, sample, err);
    for (size_t i = 0; !st && i < b->count; i++) {
        st = compare(s, b->rows[i], pgy_tensor_map_find(va, b->rows[i]->line.name),
                     pgy_tensor_map_find(vb, b->rows[i]->line.other_name), sample, err);
        if (!st) st = cancel_check(err);
    }
    pgy_tensor_map_destroy(held);
    return st;
}

/* ---- Nodes alone ----------------------------------------------------------------------------- */

/* Names the reference's values as side B's model does; tensors that B does not show stay connected.
 */
static pgy_status hand(pgy_tensor_map **out, where_search *s, const pgy_tensor_map *va,
                       pgy_error *err)
{
    const where_rows *rows = &s->report->rows;
    pgy_status st = pgy_tensor_map_create(out, err);
    for (size_t i = 0; !st && i < rows->count; i++) {
        const pgy_where_tensor *t = &rows->items[i].line;
        pgy_tensor *a = t->compared || i >= s->done ? pgy_tensor_map_find(va, t->name) : NULL;
        if (a && pgy_tensor_dtype(a) != PGY_STRING)
            st = pgy_tensor_map_set(*out, t->other_name, a, err);
    }
    return st;
}

static pgy_status judge_alone(where_search *s, batch *b, const pgy_tensor_map *va,
                              const pgy_tensor_map *made, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < b->count; i++) {
        pgy_where_tensor *t = &b->rows[i]->line;
        pgy_tensor *x = pgy_tensor_map_find(va, t->name);
        pgy_tensor *y = pgy_tensor_map_find(made, t->other_name);
        where_verdict v;
        const char *why;
        if (!t->compared || !x || !y) continue;
        st = judge(&v, &why, s, true, x, y, err);
        if (!st && why) v.error = INFINITY, v.differs = true;
        if (!st) b->rows[i]->own_differs |= v.differs;
        if (!st && !(v.error <= t->made)) t->made = v.error;
    }
    return st;
}

static pgy_status run_alone(where_search *s, batch *b, const pgy_tensor_map *va,
                            const pgy_tensor_map *feed, pgy_error *err)
{
    where_source alone = {.side = s->b.side};
    pgy_tensor_map *handed = NULL, *inputs = NULL, *held = NULL;
    const pgy_tensor_map *made = NULL;
    const char **names = mem_calloc(b->count + 1, sizeof *names);
    pgy_model *model = NULL;
    size_t count = 0;
    if (!names) return no_memory(err);
    for (size_t i = 0; i < b->count; i++)
        if (b->rows[i]->line.compared) names[count++] = b->rows[i]->line.other_name;
    pgy_status st = count ? hand(&handed, s, va, err) : PGY_OK;
    if (!st && count) st = where_alone(&model, &inputs, s->model, handed, feed, names, count, err);
    alone.handed = inputs;
    if (!st && count) st = where_source_open(&alone, model, names, count, err);
    if (!st && count) st = where_source_read(&made, &held, &alone, inputs, 0, err);
    if (!st && count) st = judge_alone(s, b, va, made, err);
    where_source_close(&alone);
    pgy_tensor_map_destroy(held);
    pgy_tensor_map_destroy(inputs);
    pgy_tensor_map_destroy(handed);
    pgy_model_destroy(model);
    mem_free(names);
    return st;
}

/* A node that cannot run alone leaves its own error unknown; the comparison itself still counts. */
static pgy_status try_alone(where_search *s, batch *b, const pgy_tensor_map *va,
                            const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_error why = {0};
    if (!s->model || s->alone_failed) return PGY_OK;
    const pgy_status st = run_alone(s, b, va, feed, &why);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) LOG(WARNING, "Nodes cannot run alone, so their own errors are unknown: %s", why.text);
    s->alone_failed = st != PGY_OK;
    return PGY_OK;
}

/* ---- The batch ------------------------------------------------------------------------------- */

/* After the last sample each session closes before the next opens: each holds the weights. */
static pgy_status run_sample(where_search *s, batch *b, size_t sample, pgy_error *err)
{
    const bool last = sample + 1 == s->feed_count;
    const pgy_tensor_map *va = NULL, *feed = s->feeds[sample];
    pgy_tensor_map *held = NULL;
    pgy_status st =
        s->a.runner ? PGY_OK : where_source_open(&s->a, NULL, b->names_a, b->count_a, err);
    if (!st) st = where_source_read(&va, &held, &s->a, feed, sample, err);
    if (last) where_source_close(&s->a);
    if (!st && !s->b.runner) st = where_source_open(&s->b, NULL, b->names_b, b->count, err);
    if (!st) st = compare_all(s, b, va, feed, sample, err);
    if (last) where_source_close(&s->b);
    if (!st) st = try_alone(s, b, va, feed, err);
    pgy_tensor_map_destroy(held);
    return st;
}

static pgy_status run_batch(where_search *s, batch *b, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->feed_count; i++) st = run_sample(s, b, i, err);
    where_source_close(&s->a);
    where_source_close(&s->b);
    return cancel_check_after(st, err);
}

pgy_status where_batch_run(bool *any, where_search *s, pgy_error *err)
{
    const size_t size = s->report->rows.count + 1;
    batch b = {.rows = mem_calloc(size, sizeof *b.rows),
               .names_a = mem_calloc(size, sizeof *b.names_a),
               .names_b = mem_calloc(size, sizeof *b.names_b)};
    pgy_status st = PGY_OK;
    if (!b.rows || !b.names_a || !b.names_b || !choose(s, &b)) st = no_memory(err);
    *any = !st && b.count;
    if (*any) st = run_batch(s, &b, err);
    strmap_deinit(&b.in_a);
    mem_free(b.rows);
    mem_free(b.names_a);
    mem_free(b.names_b);
    return st;
}
