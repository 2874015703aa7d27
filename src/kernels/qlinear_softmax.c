/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearSoftmax. A number lies a whole number of steps below the largest one of its
 * row, so a table has all exponentials. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/byte_loops.h"
#include "kernels/extent.h"
#include "kernels/int_problem.h"
#include "kernels/shared_params.h"
#include "ops/vmath.h"

enum { COLUMNS = 16 };

typedef qlinear_softmax_params params;

/* Neighbouring rows that are computed together. */
static uint64_t columns_of(const params *p)
{
    return p->inner < COLUMNS ? p->inner : COLUMNS;
}

static bool read_axis(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    op_node inner = *u->node;
    inner.opset = op_attr_int(u->node, "opset", 13);
    inner.def = op_find("", "Softmax", inner.opset);
    if (!inner.def) return false;
    const bool cut = inner.def->since < 13; /* the input is seen as a matrix */
    int64_t axis = op_attr_int(&inner, "axis", -1);
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis >= x->rank) return false;
    p->outer = p->length = p->inner = 1;
    for (int64_t d = 0; d < x->rank; d++) {
        uint64_t *part = d < axis ? &p->outer : d == axis || cut ? &p->length : &p->inner;
        *part *= (uint64_t)x->shape[d];
    }
    return true;
}

static bool qlinear_softmax_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    *p = (params){.inputs = (uint32_t)u->input_count};
    if (u->input_count < 5 || !int_problem_is_byte(x) || !int_problem_is_byte(y) ||
        !kernel_count(y))
        return false;
    for (size_t i = 1; i < 4; i += 2)
        if (!int_problem_are_scales(u, i, 1) || !int_problem_is_fixed(u, i + 1, 1)) return false;
    p->q.flip = x->dtype == PGY_I8 ? 0x80 : 0;
    p->q.scale = int_problem_float(u, 3, 0);
    p->q.finish = (int_finish){.zero = (int32_t)int_problem_int(u, 4, 0),
                               .low = int_problem_low(y->dtype),
                               .high = int_problem_high(y->dtype)};
    return read_axis(p, u);
}

static bool qlinear_softmax_accept(kernel_problem *u, double *cost_ns)
{
    const double ns = u->self->rates[0];
    params p;
    if (!qlinear_softmax_describe(&p, u)) return false;
    int_problem_linear(u);
    *cost_ns = 200 + (double)kernel_count(&u->outputs[0]) * ns;
    return true;
}

static pgy_status qlinear_softmax_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)qlinear_softmax_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    const double scale = int_problem_float(u, 1, 0);
    for (int i = 0; i < 256; i++) p->q.powers[i] = -i * scale;
    vmath_exp(p->q.powers, p->q.powers, 256);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t units = p->outer * ((p->inner + COLUMNS - 1) / COLUMNS);
    out->parts = (uint32_t)(units < 256 ? units : 256);
    out->scratch_bytes = p->length * (sizeof(double) + columns_of(p));
    return PGY_OK;
}

static bool qlinear_softmax_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count) return extent_refuse(e, "number of inputs");
    if (!p->outer || !p->length || !p->inner) return extent_refuse(e, "shape");
    if (!int_finish_is_valid(&p->q.finish)) return extent_refuse(e, "zero points");
    const uint64_t count = extent_mul3(p->outer, p->length, p->inner);
    extent_tensor(e, 0, count, 1);
    extent_tensor(e, p->inputs, count, 1);
    e->scratch = extent_mul(p->length, sizeof(double) + columns_of(p));
    return true;
}

/* Rows of neighbouring columns: `count` of them, from x to y. */
static void softmax_columns(const params *p, uint8_t *y, const uint8_t *x, size_t count,
                            double *room)
{
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    const size_t n = p->length, step = p->inner;
    uint8_t *rows = (uint8_t *)(room + n);
    for (size_t k = 0; k < n; k++)
        for (size_t c = 0; c < count; c++) rows[c * n + k] = x[k * step + c];
    for (size_t c = 0; c < count; c++) loops->softmax(rows + c * n, rows + c * n, n, &p->q, room);
    for (size_t k = 0; k < n; k++)
        for (size_t c = 0; c < count; c++) y[k * step + c] = rows[c * n + k];
}

static void qlinear_softmax_run(const kernel_run *r)
{
    const params *p = r->params;
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    const size_t n = p->length, step = p->inner, blocks = (step + COLUMNS - 1) / COLUMNS;
    size_t from, to;
    kernel_share(&from, &to, p->outer * blocks, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const size_t column = i % blocks * COLUMNS, at = i / blocks * n * step + column;
        const uint8_t *x = (const uint8_t *)r->tensors[0] + at;
        uint8_t *y = (uint8_t *)r->tensors[p->inputs] + at;
        if (step == 1)
            loops->softmax(y, x, n, &p->q, r->scratch);
        else
            softmax_columns(p, y, x, step - column < COLUMNS ? step - column : COLUMNS, r->scratch);
    }
}

#define ROW(suffix, level, ns)                                                                   \
    {                                                                                            \
        .name = "qlinear_softmax_" #suffix, .version = 1, .ops = "com.microsoft:QLinearSoftmax", \
        .needs = level, .rates = {ns}, .accept = qlinear_softmax_accept,                         \
        .prepare = qlinear_softmax_prepare, .run = qlinear_softmax_run,                          \
        .extent = qlinear_softmax_extent                                                         \
    }
const kernel KERNELS_qlinear_softmax[] = {
    ROW(portable, CPU_PORTABLE, 6),
    ROW(avx2, CPU_AVX2, 3),
    ROW(avx512, CPU_AVX512, 1.5),
    {0},
};
