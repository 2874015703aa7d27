/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over any axes. If the innermost axis is reduced, each output element combines
 * contiguous rows. If it is kept, rows are combined element by element, COLUMNS at a time. Each
 * output element has a fixed order of operations, so the number of parts does not change
 * results. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/elementwise.h"
#include "kernels/extent.h"
#include "kernels/reduce_axes.h"
#include "kernels/shared_params.h"
#include "kernels/vec_math.h"
#include "kernels/walk.h"

enum { COLUMNS = 256, FEW = 16 };

typedef reduce_params params;

static const struct {
    const char *name;
    reduce_kind kind;
} OPS[] = {
    {"ReduceSum", REDUCE_SUM},        {"ReduceMean", REDUCE_MEAN},
    {"ReduceMax", REDUCE_MAX},        {"ReduceMin", REDUCE_MIN},
    {"ReduceProd", REDUCE_PROD},      {"ReduceL1", REDUCE_L1},
    {"ReduceL2", REDUCE_L2},          {"ReduceSumSquare", REDUCE_SUM_SQUARE},
    {"ReduceLogSum", REDUCE_LOG_SUM}, {"ReduceLogSumExp", REDUCE_LOG_SUM_EXP},
};

/* ---- The problem ---------------------------------------------------------------------------- */

/* Makes a walk over the axes d of x that have reduced[d] == wanted. */
static bool pick_axes(walk *w, const kernel_tensor *x, const bool *reduced, bool wanted)
{
    int64_t shape[PGY_MAX_RANK], strides[PGY_MAX_RANK], stride = 1;
    int32_t first = x->rank;
    for (int32_t d = x->rank - 1; d >= 0; d--) {
        if (reduced[d] == wanted) {
            shape[--first] = x->shape[d];
            strides[first] = stride;
        }
        stride *= x->shape[d];
    }
    return walk_init_strided(w, shape + first, x->rank - first, strides + first, 1);
}

static bool reduce_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    bool reduced[PGY_MAX_RANK] = {false};
    size_t i = 0;
    while (strcmp(OPS[i].name, u->node->def->name)) i++; /* ends: OPS lists all operators of .ops */
    *p = (params){.kind = OPS[i].kind, .inputs = (uint32_t)u->input_count};
    if (u->outputs[0].dtype != x->dtype || !kernel_count(x) || x->rank > PGY_MAX_RANK) return false;
    p->integer = x->dtype == PGY_I64 || x->dtype == PGY_I32;
    if (!p->integer && x->dtype != PGY_F32) return false;
    if (p->integer && p->kind != REDUCE_SUM && p->kind != REDUCE_MAX && p->kind != REDUCE_MIN &&
        p->kind != REDUCE_PROD)
        return false;
    p->bytes = x->dtype == PGY_I64 ? 8 : 4;
    if (!reduce_mark_axes(reduced, u)) return false;
    if (!pick_axes(&p->kept, x, reduced, false) || !pick_axes(&p->reduced, x, reduced, true))
        return false;
    int32_t d = x->rank - 1;
    while (d > 0 && x->shape[d] == 1) d--;
    p->rows = d >= 0 && reduced[d];
    if (p->kind == REDUCE_LOG_SUM_EXP && p->reduced.rank != 1) return false;
    return true;
}

static bool reduce_accept(kernel_problem *u, double *cost_ns)
{
    const double each = u->self->rates[0];
    params p;
    if (!reduce_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.kept.count * p.reduced.count) * (p.integer ? 1 : each) +
               (double)p.kept.count * (p.rows ? p.reduced.count < FEW ? 15 : 60 : 5);
    return true;
}

static pgy_status reduce_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)reduce_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t worth = p->kept.count * p->reduced.count / 8192 + 1;
    const uint64_t most = (p->kept.count + WALK_ALIGN - 1) / WALK_ALIGN;
    const uint64_t units = p->rows ? p->kept.count : most;
    out->parts = (uint32_t)(worth < units ? worth : units);
    if (out->parts > 256) out->parts = 256;
    if (!out->parts) out->parts = 1;
    return PGY_OK;
}

static bool reduce_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) ||
        !extent_enum(e, p->kind, REDUCE_LOG_SUM_EXP + 1, "kind") ||
        !walk_extent(e, &p->kept, false) || !walk_extent(e, &p->reduced, false))
        return false;
    if (p->kept.operands != 1 || p->reduced.operands != 1 || p->inputs != q->input_count ||
        !p->inputs)
        return extent_refuse(e, "number of operands");
    if (p->bytes != 4 && !(p->integer && p->bytes == 8)) return extent_refuse(e, "element type");
    if (!p->kept.count || !p->reduced.count) return extent_refuse(e, "shape");
    /* Float loops read runs along the innermost axis as contiguous memory, so its stride must be 1.
     */
    const walk *inner = p->rows ? &p->reduced : &p->kept;
    if (!p->integer && inner->strides[0][inner->rank - 1] != 1) return extent_refuse(e, "strides");
    if (!p->integer && p->kind == REDUCE_LOG_SUM_EXP && p->reduced.rank != 1)
        return extent_refuse(e, "axes");
    const uint64_t reach = extent_add(walk_reach(&p->kept, 0), walk_reach(&p->reduced, 0));
    extent_tensor(e, 0, reach == EXTENT_TOO_MUCH ? reach : reach - 1, p->bytes);
    extent_tensor(e, p->inputs, p->kept.count, p->bytes);
    return true;
}

/* ---- Floats --------------------------------------------------------------------------------- */

static float start_of(uint32_t how)
{
    return how == REDUCE_MAX    ? -INFINITY
           : how == REDUCE_MIN  ? INFINITY
           : how == REDUCE_PROD ? 1
                                : 0;
}

static float reduce_combine(uint32_t how, float a, float b)
{
    if (how == REDUCE_MAX) return a > b || a != a ? a : b;
    if (how == REDUCE_MIN) return a < b || a != a ? a : b;
    return how == REDUCE_PROD ? a * b : a + b;
}

/* Reduces one by one the elements of a run that is too short for partial sums. */
static float fold_few(uint32_t how, const float *x, size_t n)
{
    float y = x[0];
    for (size_t i = 1; i < n; i++) y = reduce_combine(how, y, x[i]);
    return y;
}

static float fold_run(const vec_math *m, uint32_t how, const float *x, size_t n)
{
    float product = 1;
    if (n && n < FEW && how != REDUCE_L1 && how != REDUCE_L2 && how != REDUCE_SUM_SQUARE)
        return fold_few(how, x, n);
    if (how == REDUCE_SUM || how == REDUCE_MEAN || how == REDUCE_LOG_SUM) return m->sum(x, n);
    if (how == REDUCE_MAX) return m->max(x, n);
    if (how == REDUCE_MIN) return m->min(x, n);
    if (how == REDUCE_L1) return m->sum_magnitudes(x, n);
    if (how == REDUCE_L2 || how == REDUCE_SUM_SQUARE) return m->sum_squares(x, n, 0);
    for (size_t i = 0; i < n; i++) product *= x[i];
    return product;
}

static float log_sum_exp(const vec_math *m, const float *x, size_t n)
{
    float piece[COLUMNS], sum = 0, most = m->max(x, n);
    if (isinf(most)) most = 0;
    for (size_t i = 0; i < n; i += COLUMNS)
        sum += m->exp_sum(piece, x + i, n - i < COLUMNS ? n - i : COLUMNS, most);
    return most + logf(sum);
}

static float reduce_finish(const params *p, float sum)
{
    if (p->kind == REDUCE_MEAN) return sum / (float)p->reduced.count;
    if (p->kind == REDUCE_L2) return sqrtf(sum);
    return p->kind == REDUCE_LOG_SUM ? logf(sum) : sum;
}

static float reduce_one(const params *p, const vec_math *m, const float *x)
{
    walk_at at;
    size_t n;
    if (p->kind == REDUCE_LOG_SUM_EXP) return log_sum_exp(m, x, p->reduced.count);
    float sum = start_of(p->kind);
    if (p->reduced.rank == 1) { /* a row is one run, and a walk would take longer than short ones */
        const float part = fold_run(m, p->kind, x, p->reduced.count);
        return reduce_finish(p, reduce_combine(p->kind, sum, part));
    }
    walk_begin(&at, &p->reduced, 0, 1);
    for (; walk_run(&at, &p->reduced, SIZE_MAX, &n); walk_next(&at, &p->reduced, n))
        sum = reduce_combine(p->kind, sum, fold_run(m, p->kind, x + at.offset[0], n));
    return reduce_finish(p, sum);
}

/* Rows so short that the loop around them counts; the same operations as in reduce_one. */
#define SHORT_ROWS(how)                                                        \
    for (size_t i = 0; i < rows; i++) {                                        \
        const float *row = x + (int64_t)(i * step);                            \
        float sum = row[0];                                                    \
        for (size_t k = 1; k < n; k++) sum = reduce_combine(how, sum, row[k]); \
        y[i] = reduce_finish(p, reduce_combine(how, start_of(how), sum));      \
    }                                                                          \
    break

static void reduce_short_rows(const params *p, float *y, const float *x, size_t rows)
{
    const size_t n = p->reduced.count, step = p->kept.strides[0][0];
    switch (p->kind) {
    case REDUCE_MAX: SHORT_ROWS(REDUCE_MAX);
    case REDUCE_MIN: SHORT_ROWS(REDUCE_MIN);
    case REDUCE_PROD: SHORT_ROWS(REDUCE_PROD);
    default: SHORT_ROWS(REDUCE_SUM);
    }
}

static bool has_short_rows(const params *p)
{
    if (p->reduced.count >= FEW || p->reduced.rank != 1 || p->kept.rank != 1) return false;
    return p->kind != REDUCE_L1 && p->kind != REDUCE_L2 && p->kind != REDUCE_SUM_SQUARE &&
           p->kind != REDUCE_LOG_SUM_EXP;
}

static size_t kept_offset(const params *p, size_t i)
{
    size_t offset = 0;
    if (p->kept.rank == 1) return i * p->kept.strides[0][0];
    for (uint32_t d = p->kept.rank; d-- > 0;) {
        offset += i % p->kept.shape[d] * p->kept.strides[0][d];
        i /= p->kept.shape[d];
    }
    return offset;
}

static void reduce_rows(const params *p, const kernel_run *r)
{
    const vec_math *m = vec_math_of((cpu_level)p->level);
    const float *x = r->tensors[0];
    float *y = r->tensors[p->inputs];
    size_t from, to;
    kernel_share(&from, &to, p->kept.count, r->part, r->parts);
    if (from < to && has_short_rows(p)) {
        reduce_short_rows(p, y + from, x + kept_offset(p, from), to - from);
        return;
    }
    for (size_t i = from; i < to; i++) y[i] = reduce_one(p, m, x + kept_offset(p, i));
}

/* Combines each of n elements of y with that of x. */
static void fold_row(const params *p, const elementwise_loop *loops, float *y, const float *x,
                     size_t n)
{
    static const uint32_t both[] = {1, 1};
    float piece[COLUMNS];
    if (p->kind == REDUCE_L1)
        loops[ELEMENTWISE_abs_f32](piece, (const void *const[]){x}, both, n, NULL);
    if (p->kind == REDUCE_L2 || p->kind == REDUCE_SUM_SQUARE)
        loops[ELEMENTWISE_mul_f32](piece, (const void *const[]){x, x}, both, n, NULL);
    if (p->kind == REDUCE_L1 || p->kind == REDUCE_L2 || p->kind == REDUCE_SUM_SQUARE) x = piece;
    const uint32_t loop = p->kind == REDUCE_MAX    ? ELEMENTWISE_max_f32
                          : p->kind == REDUCE_MIN  ? ELEMENTWISE_min_f32
                          : p->kind == REDUCE_PROD ? ELEMENTWISE_mul_f32
                                                   : ELEMENTWISE_add_f32;
    loops[loop](y, (const void *const[]){y, x}, both, n, NULL);
}

/* The logarithms of sums of exponentials of n neighbouring columns. */
static void log_sum_exp_columns(const params *p, const elementwise_loop *loops, float *y,
                                const float *x, size_t n)
{
    static const uint32_t both[] = {1, 1};
    const uint64_t count = p->reduced.count, stride = p->reduced.strides[0][0];
    float most[COLUMNS], piece[COLUMNS];
    memcpy(most, x, n * sizeof *most);
    for (uint64_t k = 1; k < count; k++)
        loops[ELEMENTWISE_max_f32](most, (const void *const[]){most, x + k * stride}, both, n,
                                   NULL);
    for (size_t i = 0; i < n; i++) most[i] = isinf(most[i]) ? 0 : most[i];
    for (size_t i = 0; i < n; i++) y[i] = 0;
    for (uint64_t k = 0; k < count; k++) {
        loops[ELEMENTWISE_sub_f32](piece, (const void *const[]){x + k * stride, most}, both, n,
                                   NULL);
        loops[ELEMENTWISE_exp_f32](piece, (const void *const[]){piece}, both, n, NULL);
        loops[ELEMENTWISE_add_f32](y, (const void *const[]){y, piece}, both, n, NULL);
    }
    for (size_t i = 0; i < n; i++) y[i] = most[i] + logf(y[i]);
}

static void reduce_columns(const params *p, const kernel_run *r)
{
    const elementwise_loop *loops = elementwise_table((cpu_level)p->level);
    walk_at kept;
    size_t n;
    walk_begin(&kept, &p->kept, r->part, r->parts);
    for (; walk_run(&kept, &p->kept, COLUMNS, &n); walk_next(&kept, &p->kept, n)) {
        const float *x = (const float *)r->tensors[0] + kept.offset[0];
        float *y = (float *)r->tensors[p->inputs] + kept.done;
        walk_at at;
        size_t run;
        if (p->kind == REDUCE_LOG_SUM_EXP) {
            log_sum_exp_columns(p, loops, y, x, n);
            continue;
        }
        for (size_t i = 0; i < n; i++) y[i] = start_of(p->kind);
        walk_begin(&at, &p->reduced, 0, 1);
        for (; walk_run(&at, &p->reduced, SIZE_MAX, &run); walk_next(&at, &p->reduced, run))
            for (size_t k = 0; k < run; k++)
                fold_row(p, loops, y,
                         x + at.offset[0] + k * p->reduced.strides[0][p->reduced.rank - 1], n);
        for (size_t i = 0; i < n; i++) y[i] = reduce_finish(p, y[i]);
    }
}

/* ---- Integers ------------------------------------------------------------------------------- */

#define T int64_t
#define U uint64_t
#define LEAST INT64_MIN
#define MOST INT64_MAX
#define RUN reduce_i64
#include "kernels/reduce_ints.inc"
#define T int32_t
#define U uint32_t
#define LEAST INT32_MIN
#define MOST INT32_MAX
#define RUN reduce_i32
#include "kernels/reduce_ints.inc"

static void reduce_run(const kernel_run *r)
{
    const params *p = r->params;
    if (p->integer && p->bytes == 8)
        reduce_i64(p, r);
    else if (p->integer)
        reduce_i32(p, r);
    else if (p->rows)
        reduce_rows(p, r);
    else
        reduce_columns(p, r);
}

#define ROW(suffix, level, each)                                                             \
    {                                                                                        \
        .name = "reduce_" #suffix, .version = 1,                                             \
        .ops = "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 "      \
               "ReduceSumSquare ReduceLogSum ReduceLogSumExp",                               \
        .needs = level, .rates = {each}, .accept = reduce_accept, .prepare = reduce_prepare, \
        .run = reduce_run, .extent = reduce_extent                                           \
    }
const kernel KERNELS_reduce[] = {
    ROW(portable, CPU_PORTABLE, 0.5),
    ROW(avx2, CPU_AVX2, 0.3),
    ROW(avx512, CPU_AVX512, 0.25),
    {0},
};
