/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceMax, ReduceMin, ArgMax and ArgMin of bytes. Bytes are compared as keys: XORed with a mask
 * so that the wanted one is the largest unsigned number. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/byte_loops.h"
#include "kernels/extent.h"
#include "kernels/int_problem.h"
#include "kernels/reduce_axes.h"

/* COLUMNS: neighbouring lines that are read together. */
enum { COLUMNS = 1024 };

/* Lines of `length` elements, `inner` bytes apart. */
typedef struct params {
    uint64_t outer, length, inner;
    uint32_t level, inputs, finds; /* finds: the result is an index, else a byte */
    uint32_t last;                 /* the index of the last of equal elements */
    uint8_t mask;
} params;

/* Joins the reduced axes; false unless they are neighbours. */
static bool join_axes(params *p, const kernel_tensor *x, const bool *reduced)
{
    int state = 0; /* before, within, behind the reduced axes */
    p->outer = p->length = p->inner = 1;
    for (int32_t d = 0; d < x->rank; d++) {
        if (x->shape[d] == 1) continue;
        if (reduced[d] && state == 2) return false;
        if (reduced[d]) state = 1;
        if (!reduced[d] && state == 1) state = 2;
        uint64_t *part = reduced[d] ? &p->length : state == 2 ? &p->inner : &p->outer;
        *part *= (uint64_t)x->shape[d];
    }
    return true;
}

static bool byte_extremes_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    const char *name = u->node->def->name;
    bool reduced[PGY_MAX_RANK] = {false};
    *p = (params){.inputs = (uint32_t)u->input_count, .finds = name[0] == 'A'};
    if (!int_problem_is_byte(x) || !kernel_count(x) || x->rank > PGY_MAX_RANK) return false;
    p->mask = x->dtype == PGY_I8 ? 0x80 : 0;
    if (strcmp(name, "ReduceMin") == 0 || strcmp(name, "ArgMin") == 0) p->mask ^= 0xff;
    if (p->finds) {
        const int64_t given = op_attr_int(u->node, "axis", 0);
        const int64_t axis = given < 0 ? given + x->rank : given;
        if (axis < 0 || axis >= x->rank) return false;
        reduced[axis] = true;
        p->last = op_attr_int(u->node, "select_last_index", 0) != 0;
    } else if (u->outputs[0].dtype != x->dtype || !reduce_mark_axes(reduced, u)) {
        return false;
    }
    return join_axes(p, x, reduced);
}

static uint64_t byte_extremes_units(const params *p)
{
    return p->outer * ((p->inner + COLUMNS - 1) / COLUMNS);
}

static bool byte_extremes_accept(kernel_problem *u, double *cost_ns)
{
    const double ns = u->self->rates[0];
    params p;
    if (!byte_extremes_describe(&p, u)) return false;
    int_problem_linear(u);
    *cost_ns = 100 + (double)kernel_count(&u->inputs[0]) * ns + (double)(p.outer * p.inner);
    return true;
}

static uint64_t scratch_bytes(const params *p)
{
    return p->finds && p->inner > 1 ? COLUMNS : 0;
}

static pgy_status byte_extremes_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)byte_extremes_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t units = byte_extremes_units(p);
    const uint64_t worth = p->outer * p->length * p->inner / 32768 + 1;
    out->parts = (uint32_t)(units < worth ? units : worth);
    if (out->parts > 256) out->parts = 256;
    out->scratch_bytes = scratch_bytes(p);
    return PGY_OK;
}

static bool byte_extremes_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || !p->inputs) return extent_refuse(e, "number of inputs");
    if (!p->outer || !p->length || !p->inner) return extent_refuse(e, "shape");
    extent_tensor(e, 0, extent_mul3(p->outer, p->length, p->inner), 1);
    extent_tensor(e, p->inputs, extent_mul(p->outer, p->inner), p->finds ? sizeof(int64_t) : 1);
    e->scratch = scratch_bytes(p);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static int64_t find_byte(const uint8_t *x, uint8_t value, size_t n, bool last)
{
    if (!last) return (const uint8_t *)memchr(x, value, n) - x;
    while (n > 1 && x[n - 1] != value) n--;
    return (int64_t)n - 1;
}

static void one_line(const params *p, const kernel_run *r, size_t line)
{
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    const uint8_t *x = (const uint8_t *)r->tensors[0] + line * p->length;
    const uint8_t best = loops->most(x, p->length, p->mask) ^ p->mask;
    if (p->finds)
        ((int64_t *)r->tensors[p->inputs])[line] = find_byte(x, best, p->length, p->last);
    else
        ((uint8_t *)r->tensors[p->inputs])[line] = best;
}

/* Indices of n neighbouring lines. The index within 256 elements is a byte. */
static void find_columns(const params *p, int64_t *y, const uint8_t *x, size_t n, uint8_t *best)
{
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    uint8_t piece[COLUMNS], place[COLUMNS];
    for (size_t first = 0; first < p->length && !cancel_requested(); first += 256) {
        const size_t count = p->length - first < 256 ? p->length - first : 256;
        memset(place, 0, n);
        for (size_t i = 0; i < n; i++) piece[i] = x[first * p->inner + i] ^ p->mask;
        for (size_t k = 1; k < count; k++)
            loops->follow(piece, place, x + (first + k) * p->inner, n, (uint8_t)k, p->mask,
                          p->last);
        for (size_t i = 0; i < n; i++) {
            if (first && (p->last ? piece[i] < best[i] : piece[i] <= best[i])) continue;
            best[i] = piece[i];
            y[i] = (int64_t)(first + place[i]);
        }
    }
}

static void columns_of(const params *p, const kernel_run *r, size_t unit)
{
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    const size_t groups = (p->inner + COLUMNS - 1) / COLUMNS;
    const size_t outer = unit / groups, first = unit % groups * COLUMNS;
    const size_t n = p->inner - first < COLUMNS ? p->inner - first : COLUMNS;
    const uint8_t *x = (const uint8_t *)r->tensors[0] + outer * p->length * p->inner + first;
    const size_t to = outer * p->inner + first;
    if (p->finds) {
        find_columns(p, (int64_t *)r->tensors[p->inputs] + to, x, n, r->scratch);
        return;
    }
    uint8_t *y = (uint8_t *)r->tensors[p->inputs] + to;
    memcpy(y, x, n);
    for (size_t k = 1; k < p->length && !cancel_requested(); k++)
        loops->max(y, x + k * p->inner, n, p->mask);
}

static void byte_extremes_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, byte_extremes_units(p), r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        if (p->inner == 1)
            one_line(p, r, i);
        else
            columns_of(p, r, i);
    }
}

#define ROW(suffix, level, ns)                                                     \
    {                                                                              \
        .name = "byte_extremes_" #suffix, .version = 1,                            \
        .ops = "ReduceMax ReduceMin ArgMax ArgMin", .needs = level, .rates = {ns}, \
        .accept = byte_extremes_accept, .prepare = byte_extremes_prepare,          \
        .run = byte_extremes_run, .extent = byte_extremes_extent                   \
    }
const kernel KERNELS_byte_extremes[] = {
    ROW(portable, CPU_PORTABLE, 0.2),
    ROW(avx2, CPU_AVX2, 0.05),
    ROW(avx512, CPU_AVX512, 0.03),
    {0},
};
