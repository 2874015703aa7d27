/* SPDX-License-Identifier: Apache-2.0 */
/* DistCollective on the host: each rank reads the inputs of the others where they lie. A rank waits
 * for the others in the thread that runs the step, alone. Ranks are reduced in their order, so all
 * of them get the same bits. */
#include "ops/class_collective.h"

#include <string.h>

#include "base/alloc.h"
#include "kernels/extent.h"
#include "kernels/half.h"
#include "kernels/kernel.h"

/* ---- Reductions ----------------------------------------------------------------------------- */

#define LOOP(expression) \
    for (uint64_t i = 0; i < count; i++) y[i] = (expression)

/* Joins `count` elements of another rank to y. sum and prod are done in `wide`, whose overflow is
 * defined. */
#define JOIN(type, wide)                                                                \
    static void join_##type(type *y, const type *x, uint32_t reduction, uint64_t count) \
    {                                                                                   \
        switch (reduction) {                                                            \
        case COLLECTIVE_PROD: LOOP((type)((wide)y[i] * (wide)x[i])); break;             \
        case COLLECTIVE_MIN: LOOP(x[i] < y[i] || x[i] != x[i] ? x[i] : y[i]); break;    \
        case COLLECTIVE_MAX: LOOP(x[i] > y[i] || x[i] != x[i] ? x[i] : y[i]); break;    \
        default: LOOP((type)((wide)y[i] + (wide)x[i])); break;                          \
        }                                                                               \
    }

/* Averages of integers are summed in 64 bits: sums of the narrower type could wrap. */
#define REDUCE(type, wide, sum)                                                                 \
    JOIN(type, wide)                                                                            \
    static void reduce_##type(void *out, const void *const *data, const collective *c,          \
                              uint64_t from, uint64_t count)                                    \
    {                                                                                           \
        type *y = out;                                                                          \
        if (c->reduction == COLLECTIVE_AVG) {                                                   \
            for (uint64_t i = 0; i < count; i++) {                                              \
                sum s = 0;                                                                      \
                for (uint32_t r = 0; r < c->ranks; r++) s += ((const type *)data[r])[from + i]; \
                y[i] = (type)(s / (sum)c->ranks);                                               \
            }                                                                                   \
            return;                                                                             \
        }                                                                                       \
        memcpy(y, (const type *)data[0] + from, count * sizeof *y);                             \
        for (uint32_t r = 1; r < c->ranks; r++)                                                 \
            join_##type(y, (const type *)data[r] + from, c->reduction, count);                  \
    }

REDUCE(float, float, float)
REDUCE(double, double, double)
REDUCE(int8_t, uint32_t, int64_t)
REDUCE(int16_t, uint32_t, int64_t)
REDUCE(int32_t, uint64_t, int64_t)
REDUCE(uint8_t, uint32_t, uint64_t)
REDUCE(uint16_t, uint32_t, uint64_t)
REDUCE(uint32_t, uint64_t, uint64_t)
REDUCE(uint64_t, uint64_t, uint64_t)

JOIN(int64_t, uint64_t)
static void reduce_int64_t(void *out, const void *const *data, const collective *c, uint64_t from,
                           uint64_t count)
{
    int64_t *y = out;
    const uint32_t join = c->reduction;
    memcpy(y, (const int64_t *)data[0] + from, count * sizeof *y);
    for (uint32_t r = 1; r < c->ranks; r++)
        join_int64_t(y, (const int64_t *)data[r] + from, join, count);
    for (uint64_t i = 0; join == COLLECTIVE_AVG && i < count; i++) y[i] /= (int64_t)c->ranks;
}

/* 16-bit floats are joined in float32 and rounded once. */
static void reduce_half(void *out, const void *const *data, const collective *c, uint64_t from,
                        uint64_t count)
{
    enum { BLOCK = 1024 };
    float y[BLOCK], x[BLOCK];
    const half_loops *h = half_loops_of((pgy_dtype)c->type, cpu_features());
    for (uint64_t at = 0; at < count; at += BLOCK) {
        const size_t n = count - at < BLOCK ? count - at : BLOCK;
        h->widen(y, (const uint16_t *)data[0] + from + at, n);
        for (uint32_t r = 1; r < c->ranks; r++) {
            h->widen(x, (const uint16_t *)data[r] + from + at, n);
            join_float(y, x, c->reduction, n);
        }
        for (size_t i = 0; c->reduction == COLLECTIVE_AVG && i < n; i++) y[i] /= (float)c->ranks;
        h->narrow((uint16_t *)out + at, y, n);
    }
}

static const struct {
    pgy_dtype dtype;
    collective_reducer reduce;
} REDUCERS[] = {{PGY_F32, reduce_float},    {PGY_F64, reduce_double},   {PGY_F16, reduce_half},
                {PGY_BF16, reduce_half},    {PGY_I8, reduce_int8_t},    {PGY_I16, reduce_int16_t},
                {PGY_I32, reduce_int32_t},  {PGY_I64, reduce_int64_t},  {PGY_U8, reduce_uint8_t},
                {PGY_U16, reduce_uint16_t}, {PGY_U32, reduce_uint32_t}, {PGY_U64, reduce_uint64_t}};

static collective_reducer reducer_of(uint32_t dtype)
{
    for (size_t i = 0; i < sizeof REDUCERS / sizeof *REDUCERS; i++)
        if (REDUCERS[i].dtype == (pgy_dtype)dtype) return REDUCERS[i].reduce;
    return NULL;
}

/* ---- The kernel ----------------------------------------------------------------------------- */

static bool collective_accept(kernel_problem *u, double *cost_ns)
{
    collective c;
    const kernel_tensor *x = &u->inputs[0];
    if (collective_read(&c, u->node, NULL)) return false;
    if (x->dtype != PGY_BOOL && !reducer_of((uint32_t)x->dtype)) return false;
    u->inputs[0].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 20000 + (double)kernel_size_bytes(x) * c.ranks * 0.1;
    return true;
}

static pgy_status collective_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    collective *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const pgy_status st = collective_read(p, u->node, err);
    if (st) {
        mem_free(p);
        return st;
    }
    p->type = (uint32_t)u->inputs[0].dtype;
    p->count = kernel_count(&u->inputs[0]);
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    return PGY_OK;
}

static bool collective_extent(kernel_extent *e, const kernel_claim *q)
{
    const collective *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    if (!collective_is_valid(p)) return extent_refuse(e, "collective");
    if (p->type != PGY_BOOL && !reducer_of(p->type)) return extent_refuse(e, "type");
    if (p->type == PGY_BOOL && collective_reduces(p->operation)) return extent_refuse(e, "type");
    const uint64_t item = pgy_dtype_describe((pgy_dtype)p->type)->bits / 8;
    extent_tensor(e, 0, p->count, item);
    if (collective_multiplies(p->operation))
        extent_tensor(e, 1, extent_mul(p->count, p->ranks), item);
    else
        extent_tensor(e, 1, collective_out_count(p), item);
    e->parts = 1;
    return true;
}

static void collective_kernel_run(const kernel_run *r)
{
    const collective *p = r->params;
    pgy_error why = {0};
    const size_t item = pgy_dtype_describe((pgy_dtype)p->type)->bits / 8;
    const pgy_status st =
        collective_run(p, r->tensors[1], r->tensors[0], item, reducer_of(p->type), &why);
    if (!st || st == PGY_E_CANCELLED) return; /* the run itself hears the request */
    communicator_note(why.text);
    kernel_fail(r, KERNEL_FAULT_RANKS);
}

const kernel KERNELS_collective[] = {
    {.name = "collective",
     .version = 1,
     .ops = "DistCollective",
     .flags = KERNEL_TAKES_HALF | KERNEL_JOINS_RANKS,
     .accept = collective_accept,
     .prepare = collective_prepare,
     .run = collective_kernel_run,
     .extent = collective_extent},
    {0},
};
