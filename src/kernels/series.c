/* SPDX-License-Identifier: Apache-2.0 */
/* Range: each element follows from its index, so that rounding does not accumulate; floats are
 * computed in float64. Integers wrap. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/unroll.h"

enum { SERIES_I32, SERIES_I64, SERIES_F32, SERIES_F64, SERIES_TYPES };

typedef struct params {
    uint64_t count;
    uint32_t type;
} params;

static bool series_describe(params *p, const kernel_problem *u)
{
    const pgy_dtype dtype = u->outputs[0].dtype;
    *p = (params){.count = kernel_count(&u->outputs[0])};
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype != dtype || kernel_count(&u->inputs[i]) != 1) return false;
    p->type = dtype == PGY_I32   ? SERIES_I32
              : dtype == PGY_I64 ? SERIES_I64
              : dtype == PGY_F32 ? SERIES_F32
              : dtype == PGY_F64 ? SERIES_F64
                                 : SERIES_TYPES;
    return p->count && p->type < SERIES_TYPES;
}

static bool series_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (u->input_count != 3 || !series_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)p.count * 0.5;
    return true;
}

static pgy_status series_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)series_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = p->count / 16384 < 64 ? (uint32_t)(p->count / 16384 + 1) : 64;
    return PGY_OK;
}

static uint32_t series_item(uint32_t type)
{
    return type == SERIES_I32 || type == SERIES_F32 ? 4 : 8;
}

static bool series_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_enum(e, p->type, SERIES_TYPES, "type")) return false;
    if (q->input_count != 3) return extent_refuse(e, "number of inputs");
    if (!p->count) return extent_refuse(e, "sizes");
    extent_tensor(e, 0, 1, series_item(p->type));
    extent_tensor(e, 2, 1, series_item(p->type));
    extent_tensor(e, 3, p->count, series_item(p->type));
    return true;
}

#define SERIES(name, type)                                                                   \
    static void name(const kernel_run *r, size_t from, size_t to)                            \
    {                                                                                        \
        const double first = (double)*(const type *)r->tensors[0];                           \
        const double step = (double)*(const type *)r->tensors[2];                            \
        type *y = r->tensors[3];                                                             \
        for (size_t i = from; i < to; i++) y[i] = (type)(first + (double)(int64_t)i * step); \
    }
/* Sums of integers are exact, and take less time than products of 64 bits. A loop of one vector
 * takes twice as long where it lies across two lines of the cache, so several are made at once. */
#define SERIES_OF_INTS(name, type, wide)                                                  \
    static void name(const kernel_run *r, size_t from, size_t to)                         \
    {                                                                                     \
        enum { SOME = 64 / sizeof(type) };                                                \
        const wide step = (wide) * (const type *)r->tensors[2];                           \
        wide v = (wide) * (const type *)r->tensors[0] + (wide)from * step;                \
        wide ahead[SOME];                                                                 \
        type *y = r->tensors[3];                                                          \
        size_t i = from;                                                                  \
        for (size_t k = 0; k < SOME; k++) ahead[k] = (wide)k * step;                      \
        for (; i + SOME <= to; i += SOME, v += SOME * step)                               \
            UNROLL(16) for (size_t k = 0; k < SOME; k++) y[i + k] = (type)(v + ahead[k]); \
        for (; i < to; i++, v += step) y[i] = (type)v;                                    \
    }
SERIES_OF_INTS(series_i32, int32_t, uint32_t)
SERIES_OF_INTS(series_i64, int64_t, uint64_t)
SERIES(series_f32, float)
SERIES(series_f64, double)

static void series_run(const kernel_run *r)
{
    static void (*const LOOPS[SERIES_TYPES])(const kernel_run *r, size_t from,
                                             size_t to) = {[SERIES_I32] = series_i32,
                                                           [SERIES_I64] = series_i64,
                                                           [SERIES_F32] = series_f32,
                                                           [SERIES_F64] = series_f64};
    enum { PIECE = 1 << 18 };
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->count, r->part, r->parts);
    for (; from < to && !cancel_requested(); from += PIECE)
        LOOPS[p->type](r, from, to - from < PIECE ? to : from + PIECE);
}

const kernel KERNELS_series[] = {
    {.name = "series",
     .version = 1,
     .ops = "Range",
     .accept = series_accept,
     .prepare = series_prepare,
     .run = series_run,
     .extent = series_extent},
    {0},
};
