/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax, ArgMin, TopK and CumSum along an axis, for float32, int64 and int32. NaN ranks before
 * every number. Of equal numbers the one with the lower index ranks first, unless the node selects
 * the last index. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"

typedef enum kind { ARG, TOP, RUNNING } kind;

typedef struct params {
    uint64_t outer, length, inner, k;
    uint32_t kind, type, smallest, last;          /* type: 0 float32, 1 int64, 2 int32 */
    uint32_t exclusive, reverse, inputs, outputs; /* outputs: bit i: output i is given */
} params;

static bool constant_int(int64_t *out, const kernel_tensor *t)
{
    if (!t->data || kernel_count(t) != 1) return false;
    if (t->dtype != PGY_I64 && t->dtype != PGY_I32) return false;
    *out = t->dtype == PGY_I64 ? *(const int64_t *)t->data : *(const int32_t *)t->data;
    return true;
}

static bool search_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    const char *op = u->node->def->name;
    *p = (params){.outer = 1, .inner = 1, .inputs = (uint32_t)u->input_count};
    p->kind = op[0] == 'A' ? ARG : op[0] == 'T' ? TOP : RUNNING;
    int64_t axis = op_attr_int(u->node, "axis", p->kind == TOP ? -1 : 0), k = 1;
    if (x->dtype != PGY_F32 && x->dtype != PGY_I64 && x->dtype != PGY_I32) return false;
    p->type = x->dtype == PGY_F32 ? 0 : x->dtype == PGY_I64 ? 1 : 2;
    if (p->kind == RUNNING && !constant_int(&axis, &u->inputs[1])) return false;
    if (p->kind == TOP && (u->input_count < 2 || !constant_int(&k, &u->inputs[1]))) return false;
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis >= x->rank || !kernel_count(x)) return false;
    for (int64_t d = 0; d < axis; d++) p->outer *= (uint64_t)x->shape[d];
    for (int64_t d = axis + 1; d < x->rank; d++) p->inner *= (uint64_t)x->shape[d];
    p->length = (uint64_t)x->shape[axis];
    if (k < 1 || (uint64_t)k > p->length) return false;
    p->k = (uint64_t)k;
    p->smallest = p->kind == TOP ? !op_attr_int(u->node, "largest", 1) : strcmp(op, "ArgMin") == 0;
    p->last = p->kind == ARG && op_attr_int(u->node, "select_last_index", 0);
    p->exclusive = p->kind == RUNNING && op_attr_int(u->node, "exclusive", 0);
    p->reverse = p->kind == RUNNING && op_attr_int(u->node, "reverse", 0);
    for (size_t i = 0; i < u->output_count; i++)
        if (u->outputs[i].dtype) p->outputs |= 1u << i;
    return p->outputs != 0;
}

static bool search_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!search_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.outer * p.length * p.inner) * (p.kind == TOP ? 8 : 2);
    return true;
}

static pgy_status search_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)search_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    if (p->kind == TOP) out->scratch_bytes = p->length * 2 * sizeof(uint64_t);
    const uint64_t lines = p->outer * p->inner, worth = lines * p->length / 4096 + 1;
    out->parts = (uint32_t)(lines < worth ? lines : worth);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

static bool search_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_enum(e, p->kind, RUNNING + 1, "kind") || !extent_enum(e, p->type, 3, "type"))
        return false;
    if (p->inputs != q->input_count || !p->inputs) return extent_refuse(e, "number of inputs");
    if (!p->length || !p->inner || !p->k || p->k > p->length) return extent_refuse(e, "shape");
    const uint64_t item = p->type == 1 ? 8 : 4, count = extent_mul3(p->outer, p->length, p->inner);
    extent_tensor(e, 0, count, item);
    if (p->kind == RUNNING) extent_tensor(e, p->inputs, count, item);
    if (p->kind == ARG)
        extent_tensor(e, p->inputs, extent_mul(p->outer, p->inner), sizeof(int64_t));
    if (p->kind != TOP) return true;
    const uint64_t found = extent_mul3(p->outer, p->k, p->inner);
    if (p->outputs & 1) extent_tensor(e, p->inputs, found, item);
    if (p->outputs & 2) extent_tensor(e, p->inputs + 1, found, sizeof(int64_t));
    e->scratch = extent_mul(p->k, 2 * sizeof(uint64_t));
    return true;
}

/* ---- Order ---------------------------------------------------------------------------------- */

/* An element of a line, which has all elements along the axis. Elements are ordered by key, then by
 * index. */
typedef struct ranked {
    uint64_t key, index;
} ranked;

static uint64_t search_key_of(const params *p, const void *x, size_t i)
{
    static const uint64_t SIGN = UINT64_C(1) << 63;
    uint64_t key;
    if (p->type == 0) {
        const float v = ((const float *)x)[i] + 0.0f; /* -0 becomes 0, so that both rank alike */
        uint32_t bits;
        if (isnan(v)) return 0;
        memcpy(&bits, &v, sizeof bits);
        key = (uint64_t)(bits >> 31 ? ~bits : bits | 0x80000000u) << 32 | 1;
    } else {
        const int64_t v = p->type == 1 ? ((const int64_t *)x)[i] : ((const int32_t *)x)[i];
        key = (uint64_t)v ^ SIGN;
    }
    return p->smallest ? key : ~key;
}

static bool before(ranked a, ranked b)
{
    return a.key != b.key ? a.key < b.key : a.index < b.index;
}

/* Restores the heap, whose top is the element that ranks last. */
static void search_sift(ranked *heap, size_t count, size_t i)
{
    for (;;) {
        size_t most = i;
        for (size_t child = 2 * i + 1; child < 2 * i + 3 && child < count; child++)
            if (before(heap[most], heap[child])) most = child;
        if (most == i) return;
        const ranked kept = heap[i];
        heap[i] = heap[most];
        heap[most] = kept;
        i = most;
    }
}

/* Finds the first k elements of a line in order; a heap holds the best k so far. */
static void find_top(const params *p, ranked *heap, const void *x, size_t from)
{
    const size_t k = p->k;
    for (size_t i = 0; i < p->length && (i < k || !cancel_requested()); i++) {
        const ranked r = {search_key_of(p, x, from + i * p->inner), i};
        if (i < k) {
            heap[i] = r;
            for (size_t j = k / 2; i + 1 == k && j-- > 0;) search_sift(heap, k, j);
        } else if (before(r, heap[0])) {
            heap[0] = r;
            search_sift(heap, k, 0);
        }
    }
    for (size_t n = k; n-- > 1 && !cancel_requested();) {
        const ranked kept = heap[0];
        heap[0] = heap[n];
        heap[n] = kept;
        search_sift(heap, n, 0);
    }
}

/* ---- Lines ---------------------------------------------------------------------------------- */

static void search_arg(const params *p, const kernel_run *r, size_t line)
{
    const void *x = r->tensors[0];
    const size_t from = line / p->inner * p->length * p->inner + line % p->inner;
    uint64_t best = search_key_of(p, x, from);
    size_t index = 0;
    for (size_t i = 1; i < p->length; i++) {
        const uint64_t key = search_key_of(p, x, from + i * p->inner);
        if (key < best || (p->last && key == best)) {
            best = key;
            index = i;
        }
    }
    ((int64_t *)r->tensors[p->inputs])[line] = (int64_t)index;
}

static void search_top(const params *p, const kernel_run *r, size_t line)
{
    ranked *heap = r->scratch;
    const char *x = r->tensors[0];
    const size_t item = p->type == 1 ? 8 : 4;
    const size_t from = line / p->inner * p->length * p->inner + line % p->inner;
    const size_t to = line / p->inner * p->k * p->inner + line % p->inner;
    find_top(p, heap, x, from);
    for (size_t i = 0; i < p->k; i++) {
        const size_t at = to + i * p->inner, source = from + heap[i].index * p->inner;
        if (p->outputs & 1)
            memcpy((char *)r->tensors[p->inputs] + at * item, x + source * item, item);
        if (p->outputs & 2) ((int64_t *)r->tensors[p->inputs + 1])[at] = (int64_t)heap[i].index;
    }
}

#define T float
#define SUM double
#define RUN search_sum_f32
#include "kernels/search_sum.inc"
#define T int64_t
#define SUM uint64_t
#define RUN search_sum_i64
#include "kernels/search_sum.inc"
#define T int32_t
#define SUM uint32_t
#define RUN search_sum_i32
#include "kernels/search_sum.inc"

static void search_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->outer * p->inner, r->part, r->parts);
    for (size_t line = from; line < to && !cancel_requested(); line++) {
        if (p->kind == ARG)
            search_arg(p, r, line);
        else if (p->kind == TOP)
            search_top(p, r, line);
        else if (p->type == 0)
            search_sum_f32(p, r, line);
        else if (p->type == 1)
            search_sum_i64(p, r, line);
        else
            search_sum_i32(p, r, line);
    }
}

const kernel KERNELS_search[] = {
    {.name = "search",
     .version = 1,
     .ops = "ArgMax ArgMin TopK CumSum",
     .accept = search_accept,
     .prepare = search_prepare,
     .run = search_run,
     .extent = search_extent},
    {0},
};
