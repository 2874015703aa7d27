/* SPDX-License-Identifier: Apache-2.0 */
/* Post-processing: replaces an output by the indices of its k largest values along an axis. The
 * order is that of a stable descending sort: among equal values the lower index comes first, NaN
 * comes last. Unsigned integers, bools and the smallest signed value are sorted correctly; the
 * original sorts the negated array and misplaces them. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/sized.h"
#include "compare/arith.h"
#include "compare/judge.h"
#include "compare/select.h"

static const char LOG_PATH[] = "comparator/comparator.py";

typedef struct ranked {
    uint64_t key; /* sort key: smaller for larger values */
    bool nan;     /* NaN sorts last */
    int64_t index;
} ranked;

static int by_key(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    if (a->nan != b->nan) return a->nan ? 1 : -1;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static ranked rank_of(work_type work, pgy_dtype dtype, const void *data, size_t at, size_t index)
{
    union {
        float f32;
        double f64;
        int64_t i64;
        uint64_t u64;
    } v;
    ranked r = {.index = (int64_t)index};
    arith_widen(work, &v, dtype, data, at, 1);
    r.nan = (work == WORK_F32 && v.f32 != v.f32) || (work == WORK_F64 && v.f64 != v.f64);
    if (!r.nan) r.key = ~select_key(work, &v, 0);
    return r;
}

/* Restores the heap, which has the worst of the best k on top. */
static void sift_down(ranked *heap, size_t count, size_t i)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= count) return;
        if (child + 1 < count && by_key(&heap[child + 1], &heap[child]) > 0) child++;
        if (by_key(&heap[child], &heap[i]) <= 0) return;
        ranked swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
        i = child;
    }
}

typedef struct top_k_run {
    pgy_dtype dtype;
    work_type work;
    const void *data;
    size_t length, inner; /* length of the axis; distance between its neighbours, in elements */
    size_t k;
    ranked *heap;
} top_k_run;

static void take_row(int64_t *to, const top_k_run *run, size_t start)
{
    size_t filled = 0;
    for (size_t i = 0; i < run->length; i++) {
        ranked r = rank_of(run->work, run->dtype, run->data, start + i * run->inner, i);
        if (filled < run->k) {
            run->heap[filled++] = r;
            if (filled == run->k)
                for (size_t n = run->k / 2 + 1; n-- > 0;) sift_down(run->heap, run->k, n);
        } else if (by_key(&r, &run->heap[0]) < 0) {
            run->heap[0] = r;
            sift_down(run->heap, run->k, 0);
        }
    }
    qsort(run->heap, run->k, sizeof *run->heap, by_key);
    for (size_t i = 0; i < run->k; i++) to[i * run->inner] = run->heap[i].index;
}

static pgy_status top_k(pgy_tensor **out, pgy_tensor *t, size_t k, size_t axis, pgy_error *err)
{
    size_t rank = pgy_tensor_rank(t), outer = 1;
    const int64_t *shape = pgy_tensor_shape(t);
    int64_t to_shape[PGY_MAX_RANK];
    pgy_tensor *narrow = NULL, *result = NULL;
    top_k_run run = {.inner = 1, .length = (size_t)shape[axis]};
    run.k = k < run.length ? k : run.length;
    for (size_t i = 0; i < rank; i++) {
        to_shape[i] = i == axis ? (int64_t)run.k : shape[i];
        if (i < axis) outer *= (size_t)shape[i];
        if (i > axis) run.inner *= (size_t)shape[i];
    }
    pgy_status st = arith_compact(&narrow, t, err);
    if (!st) st = pgy_tensor_create(&result, PGY_I64, rank, to_shape, err);
    if (st) goto done;
    run.dtype = pgy_tensor_dtype(narrow);
    run.work = arith_work_type(run.dtype);
    run.data = pgy_tensor_data(narrow);
    run.heap = mem_calloc(run.k + 1, sizeof *run.heap);
    if (!run.heap) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for the top %zu of %zu values", run.k,
                           run.length);
        goto done;
    }
    for (size_t o = 0; run.k && o < outer; o++)
        for (size_t i = 0; i < run.inner; i++)
            take_row((int64_t *)pgy_tensor_data(result) + o * run.k * run.inner + i, &run,
                     o * run.length * run.inner + i);
    *out = result;
    result = NULL;
done:
    mem_free(run.heap);
    pgy_tensor_release(narrow);
    pgy_tensor_release(result);
    return st;
}

static const pgy_top_k *find_rule(const pgy_postprocess *p, const char *output)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = p->top_k_count; i-- > 0;)
            if (!strcmp(p->top_k[i].output ? p->top_k[i].output : "", pass ? "" : output))
                return &p->top_k[i];
    return NULL;
}

static pgy_status apply_rule(pgy_tensor **out, pgy_tensor *t, const pgy_top_k *rule, pgy_error *err)
{
    int64_t rank = (int64_t)pgy_tensor_rank(t), axis = rule->has_axis ? rule->axis : -1;
    pgy_tensor *loaded = NULL;
    if (axis < -rank || axis >= rank)
        return pgy_error_set(err, PGY_E_SHAPE, "axis %lld of top-%lld is not in [%lld, %lld)",
                             (long long)axis, (long long)rule->k, (long long)-rank,
                             (long long)rank);
    if (pgy_tensor_dtype(t) == PGY_STRING)
        return pgy_error_set(err, PGY_E_TYPE, "the largest values of strings are not defined");
    if (axis < 0) axis += rank;
    pgy_status st = pgy_tensor_load(&loaded, t, err);
    if (st) return st;
    st = top_k(out, loaded, rule->k > 0 ? (size_t)rule->k : 0, (size_t)axis, err);
    pgy_tensor_release(loaded);
    return st;
}

pgy_status postprocess_iteration(pgy_iteration *it, const pgy_postprocess *p, pgy_error *err)
{
    if (p->callback) return p->callback(it, p->user, err);
    for (size_t i = 0; i < pgy_tensor_map_count(it->outputs); i++) {
        const char *name = pgy_tensor_map_name(it->outputs, i);
        const pgy_top_k *rule = find_rule(p, name);
        pgy_tensor *indices = NULL;
        if (!rule || rule->k == 0) continue;
        pgy_status st = apply_rule(&indices, pgy_tensor_map_at(it->outputs, i), rule, err);
        if (st) return pgy_error_prefix(err, st, "output '%s' of %s: ", name, it->runner_name);
        st = pgy_tensor_map_adopt(it->outputs, name, indices, err);
        if (st) return st;
    }
    return PGY_OK;
}

pgy_status pgy_postprocess_apply(pgy_results *r, const pgy_postprocess *given, pgy_error *err)
{
    pgy_postprocess taken = {.size = sizeof taken};
    const pgy_postprocess *p = &taken;
    pgy_status st = SIZED_TAKE(pgy_postprocess, &taken, given, err);
    if (st || (!p->callback && !p->top_k_count)) return st;
    LOG(START, "Applying post-processing to outputs: %s",
        p->name ? p->name : "TopKPostprocessFunc");
    for (size_t i = 0; i < pgy_results_runner_count(r); i++)
        for (size_t k = 0; k < pgy_results_iteration_count(r, i); k++) {
            st = postprocess_iteration(results_mutable_at(r, i, k), p, err);
            if (st) return st;
        }
    LOG(FINISH, "Finished applying post-processing");
    return PGY_OK;
}
