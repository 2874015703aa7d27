/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the tensors of a segment that does not fit the memory limit: each alone, and in slices
 * if it is large. The segment runs again for every slice, so that only the slice leaves the
 * runtime, and one side's session closes before the other's opens. */
#include "where/slices.h"

#include <math.h>
#include <string.h>

#include "base/cancel.h"

enum { COPIES = 3 }; /* of a slice: both sides, and the runtime's */

typedef struct slice {
    uint64_t begin, end, count; /* elements; of all the tensor */
} slice;

/* ---- One side -------------------------------------------------------------------------------- */

static pgy_status make_part(where_part *out, where_lane *l, const pgy_value *v, slice at,
                            size_t sample, pgy_error *err)
{
    const char *const name = v->name;
    pgy_tensor_map *none = NULL;
    const pgy_tensor_map *handed = l->kept[sample];
    pgy_status st = handed ? PGY_OK : pgy_tensor_map_create(&none, err);
    if (!handed) handed = none;
    if (!st && at.end - at.begin == at.count)
        st = where_part_make(out, l->model, handed, &name, 1, err);
    else if (!st)
        st = where_part_make_slice(out, l->model, handed, name, at.begin, at.end, err);
    if (!st) st = where_part_serialize(out, err);
    if (st) where_part_deinit(out);
    pgy_tensor_map_destroy(none);
    return st;
}

/* *out: a copy, since a tensor of a runtime may keep the memory of its session. */
static pgy_status read_part(pgy_tensor **out, where_lane *l, where_part *part,
                            const pgy_tensor_map *feed, size_t sample, pgy_error *err)
{
    where_source source = {.side = l->source.side};
    const pgy_tensor_map *results = NULL;
    pgy_tensor_map *inputs = NULL, *held = NULL;
    pgy_status st = where_source_open_part(&source, part, err);
    if (!st) st = where_part_feed(&inputs, part, l->kept[sample], NULL, feed, err);
    if (!st) st = where_source_read(&results, &held, &source, inputs, 0, err);
    pgy_tensor *t = st ? NULL : pgy_tensor_map_find(results, part->outputs.items[0]);
    if (t && pgy_tensor_dtype(t) != PGY_STRING) st = pgy_tensor_copy(out, pgy_tensor_view(t), err);
    pgy_tensor_map_destroy(held);
    pgy_tensor_map_destroy(inputs);
    where_source_close(&source);
    return st;
}

static bool same_bytes(const where_part *a, const where_part *b)
{
    return a->bytes && b->bytes && a->size_bytes == b->size_bytes &&
           !memcmp(a->bytes, b->bytes, a->size_bytes);
}

/* ---- One tensor ------------------------------------------------------------------------------ */

/* *same: both sides run the same bytes. */
static pgy_status read_both(pgy_tensor **a, pgy_tensor **b, bool *same, where_search *s,
                            const where_row *r, slice at, size_t sample, pgy_error *err)
{
    where_part pa = {0}, pb = {0};
    pgy_status st = make_part(&pa, &s->a, where_row_value_of_a(r), at, sample, err);
    if (!st) st = make_part(&pb, &s->b, r->b, at, sample, err);
    *same = !st && same_bytes(&pa, &pb);
    if (!st) st = read_part(a, &s->a, &pa, s->feeds[sample], sample, err);
    where_part_deinit(&pa);
    if (!st) st = read_part(b, &s->b, &pb, s->feeds[sample], sample, err);
    where_part_deinit(&pb);
    return cancel_check_after(st, err);
}

/* Verdicts on the tensor, and on what its node may make. */
typedef struct verdicts {
    where_verdict all, own;
    const char *why; /* the tensors cannot be compared; else NULL */
    bool same;
} verdicts;

static pgy_status compare_slice(verdicts *v, where_search *s, const where_row *r, slice at,
                                size_t sample, pgy_error *err)
{
    const size_t worst = s->options.worst_count ? s->options.worst_count : WHERE_WORST;
    pgy_tensor *a = NULL, *b = NULL;
    where_verdict all, own;
    pgy_status st = read_both(&a, &b, &v->same, s, r, at, sample, err);
    if (!st && (!a || !b)) v->why = "the runner did not return it as numbers";
    if (!st && !v->why) st = where_judge_row(&all, &v->why, s, r, false, a, b, err);
    if (!st && !v->why) st = where_judge_row(&own, &v->why, s, r, where_is_own(s, r), a, b, err);
    if (!st && !v->why) {
        where_verdict_add(&v->all, &all, at.begin, worst);
        where_verdict_add(&v->own, &own, at.begin, worst);
    }
    pgy_tensor_release(a);
    pgy_tensor_release(b);
    return st;
}

static uint64_t elements_of(const pgy_value *v)
{
    uint64_t count = 1;
    for (int32_t d = 0; d < v->rank; d++) count *= (uint64_t)v->dims[d].value;
    return count;
}

static pgy_status set_shape(where_search *s, where_row *r, pgy_error *err)
{
    const pgy_value *v = where_row_value_of_a(r);
    int64_t shape[PGY_MAX_RANK];
    if (r->line.rank >= 0 || !r->size_bytes) return PGY_OK;
    for (int32_t d = 0; d < v->rank; d++) shape[d] = v->dims[d].value;
    return where_set_shape(s, &r->line, (size_t)v->rank, shape, v->dtype, err);
}

/* Own errors need a run of the node alone, unless it reads equal values or is the same node. */
static void take_own(const where_search *s, where_row *r, const verdicts *v, size_t sample)
{
    const bool one_runner = where_is_one_runner(s->a.source.side, s->b.source.side);
    if (!where_reads_differing(s, r, sample))
        where_take_own(r, &v->own);
    else if (v->same && one_runner && r->line.made != r->line.made)
        r->line.made = 0;
}

static pgy_status compare_row(where_search *s, where_row *r, uint64_t room, size_t sample,
                              pgy_error *err)
{
    const uint64_t count = r->size_bytes ? elements_of(where_row_value_of_a(r)) : 1;
    const uint64_t slices = r->size_bytes / (room ? room : 1) + 1, step = count / slices + 1;
    verdicts v = {.why = NULL};
    pgy_status st = PGY_OK;
    for (uint64_t i = 0; !st && !v.why && i < count; i += step) {
        const slice at = {i, count - i < step ? count : i + step, count};
        st = compare_slice(&v, s, r, at, sample, err);
    }
    if (st) return st;
    r->now = NAN;
    if (v.why) {
        r->line.note = v.why;
        return PGY_OK;
    }
    st = set_shape(s, r, err);
    if (!st) st = where_take_verdict(s, r, &v.all, sample, err);
    if (!st) take_own(s, r, &v, sample);
    return st;
}

/* ---- All tensors of the segment -------------------------------------------------------------- */

pgy_status where_slices_compare(where_search *s, const where_segment *g, size_t sample,
                                pgy_error *err)
{
    const where_need need = where_cuts_least(&s->sure, s->node, g->end);
    const uint64_t rest = s->budget - (need.bytes - need.slices);
    size_t noted = s->node;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->sliced_count; i++) {
        where_row *r = g->sliced[i];
        const size_t node = r->b->producer->index;
        where_note_nodes(s, noted, node, sample);
        if (node > noted) noted = node;
        st = compare_row(s, r, rest / COPIES, sample, err);
    }
    return st;
}
