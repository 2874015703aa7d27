/* SPDX-License-Identifier: Apache-2.0 */
/* Cast between the types that models use: every pair has a loop (cast.inc). Floats are truncated to
 * int64, whose lowest number stands for values out of range, and then wrap to narrower integers.
 * Results in 16-bit floats are rounded once; half.h converts them from and to float32. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/extent.h"
#include "kernels/half.h"
#include "kernels/kernel.h"
#include "tensor/convert.h"

typedef void (*cast_loop)(void *y, const void *x, size_t n);

typedef struct params {
    uint64_t count;
    uint32_t from, to, in_bytes, out_bytes, level;
} params;

static inline int64_t truncated(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

#define NAME(x) cast_f32_##x
#define T float
#define NUMBER(x) ((double)(x))
#define WHOLE(x) truncated((double)(x))
#include "kernels/cast.inc"
#define NAME(x) cast_f64_##x
#define T double
#define NUMBER(x) (x)
#define WHOLE(x) truncated(x)
#include "kernels/cast.inc"
#define NAME(x) cast_f16_##x
#define T uint16_t
#define NUMBER(x) ((double)f16_to_f32(x))
#define WHOLE(x) truncated((double)f16_to_f32(x))
#include "kernels/cast.inc"
#define NAME(x) cast_bf16_##x
#define T uint16_t
#define NUMBER(x) ((double)bf16_to_f32(x))
#define WHOLE(x) truncated((double)bf16_to_f32(x))
#include "kernels/cast.inc"
#define NAME(x) cast_i64_##x
#define T int64_t
#define NUMBER(x) ((double)(x))
#define WHOLE(x) (x)
#include "kernels/cast.inc"
#define NAME(x) cast_i32_##x
#define T int32_t
#define NUMBER(x) ((double)(x))
#define WHOLE(x) (x)
#include "kernels/cast.inc"
#define NAME(x) cast_i8_##x
#define T int8_t
#define NUMBER(x) ((double)(x))
#define WHOLE(x) (x)
#include "kernels/cast.inc"
#define NAME(x) cast_u8_##x /* also for bool, whose bytes are 0 or 1 */
#define T uint8_t
#define NUMBER(x) ((double)(x))
#define WHOLE(x) (x)
#include "kernels/cast.inc"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_F64, PGY_F16, PGY_BF16, PGY_I64,
                                  PGY_I32, PGY_I8,  PGY_U8,  PGY_BOOL};
enum { F32, F64, F16, BF16, I64, I32, I8, U8, BOOL, TYPE_COUNT };

#define ROW(from)                                                                     \
    {                                                                                 \
        cast_##from##_f32, cast_##from##_f64, cast_##from##_f16, cast_##from##_bf16,  \
            cast_##from##_i64, cast_##from##_i32, cast_##from##_i8, cast_##from##_u8, \
            cast_##from##_bool                                                        \
    }
static const cast_loop LOOPS[TYPE_COUNT][TYPE_COUNT] = {
    ROW(f32), ROW(f64), ROW(f16), ROW(bf16), ROW(i64), ROW(i32), ROW(i8), ROW(u8), ROW(u8)};

static bool find_type(uint32_t *out, pgy_dtype dtype)
{
    for (uint32_t i = 0; i < TYPE_COUNT; i++) {
        *out = i;
        if (TYPES[i] == dtype) return true;
    }
    return false;
}

static bool cast_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    *p = (params){.count = kernel_count(x)};
    if (!find_type(&p->from, x->dtype) || !find_type(&p->to, y->dtype)) return false;
    p->in_bytes = pgy_dtype_describe(x->dtype)->bits / 8;
    p->out_bytes = pgy_dtype_describe(y->dtype)->bits / 8;
    return true;
}

static bool cast_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!cast_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.count * (p.in_bytes + p.out_bytes)) / 8;
    return true;
}

static pgy_status cast_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)cast_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    p->level = cpu_features();
    const uint64_t parts = p->count / 16384 + 1;
    out->parts = (uint32_t)(parts < 256 ? parts : 256);
    return PGY_OK;
}

static bool cast_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_enum(e, p->from, TYPE_COUNT, "type") ||
        !extent_enum(e, p->to, TYPE_COUNT, "type"))
        return false;
    if (p->in_bytes != pgy_dtype_describe(TYPES[p->from])->bits / 8 ||
        p->out_bytes != pgy_dtype_describe(TYPES[p->to])->bits / 8)
        return extent_refuse(e, "type");
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    extent_tensor(e, 0, p->count, p->in_bytes);
    extent_tensor(e, 1, p->count, p->out_bytes);
    return true;
}

/* Casts between float32 and 16-bit floats, and between the two 16-bit types through float32, which
 * holds both exactly. Returns false for other pairs. */
static bool cast_half(const params *p, void *y, const void *x, size_t n)
{
    enum { PIECE = 1024 };
    float wide[PIECE];
    const bool from = half_is(TYPES[p->from]), to = half_is(TYPES[p->to]);
    const half_loops *in = half_loops_of(TYPES[p->from], (cpu_level)p->level);
    const half_loops *out = half_loops_of(TYPES[p->to], (cpu_level)p->level);
    if (from && p->to == F32) in->widen(y, x, n);
    if (to && p->from == F32) out->narrow(y, x, n);
    for (size_t i = 0; from && to && i < n; i += PIECE) {
        const size_t count = n - i < PIECE ? n - i : PIECE;
        in->widen(wide, (const uint16_t *)x + i, count);
        out->narrow((uint16_t *)y + i, wide, count);
    }
    return (from && (to || p->to == F32)) || (to && p->from == F32);
}

static void cast_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, (p->count + 63) / 64, r->part, r->parts);
    from *= 64;
    to = to * 64 < p->count ? to * 64 : p->count;
    if (from >= to) return;
    const char *x = (const char *)r->tensors[0] + from * p->in_bytes;
    char *y = (char *)r->tensors[1] + from * p->out_bytes;
    if (p->from == p->to) {
        memcpy(y, x, (to - from) * p->in_bytes);
        return;
    }
    if (!cast_half(p, y, x, to - from)) LOOPS[p->from][p->to](y, x, to - from);
}

const kernel KERNELS_cast[] = {
    {.name = "cast",
     .version = 2,
     .ops = "Cast",
     .flags = KERNEL_TAKES_HALF,
     .accept = cast_accept,
     .prepare = cast_prepare,
     .run = cast_run,
     .extent = cast_extent},
    {0},
};
