/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearAdd and QLinearMul: sums and products of quantised bytes that broadcast. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/byte_loops.h"
#include "kernels/int_conv.h"
#include "kernels/int_problem.h"
#include "kernels/shared_params.h"
#include "kernels/walk.h"

enum { SHORT = 512 }; /* elements of a run that is too short by itself */

typedef qlinear_params params;

static bool qlinear_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *a = &u->inputs[0], *b = &u->inputs[3], *y = &u->outputs[0];
    *p = (params){.inputs = (uint32_t)u->input_count};
    if (u->input_count < 7 || !int_problem_is_byte(a) || !int_problem_is_byte(b) ||
        !int_problem_is_byte(y))
        return false;
    static const size_t SCALES[] = {1, 4, 6};
    for (size_t i = 0; i < 3; i++)
        if (!int_problem_are_scales(u, SCALES[i], 1) || !int_problem_is_fixed(u, SCALES[i] + 1, 1))
            return false;
    p->q = (byte_binary){.multiplies = strcmp(u->node->def->name, "QLinearMul") == 0,
                         .a_flip = a->dtype == PGY_I8 ? 0x80 : 0,
                         .b_flip = b->dtype == PGY_I8 ? 0x80 : 0,
                         .a_scale = int_problem_float(u, 1, 0),
                         .b_scale = int_problem_float(u, 4, 0),
                         .scale = int_problem_float(u, 6, 0)};
    p->q.a_zero = (int32_t)int_problem_int(u, 2, 0) + p->q.a_flip;
    p->q.b_zero = (int32_t)int_problem_int(u, 5, 0) + p->q.b_flip;
    p->q.finish = (int_finish){.zero = (int32_t)int_problem_int(u, 7, 0),
                               .low = int_problem_low(y->dtype),
                               .high = int_problem_high(y->dtype)};
    return kernel_count(y) && walk_init(&p->w, y, (const kernel_tensor *const[]){a, b}, 2);
}

static bool qlinear_accept(kernel_problem *u, double *cost_ns)
{
    const double ns = u->self->rates[0];
    params p;
    if (!qlinear_describe(&p, u)) return false;
    int_problem_linear(u);
    *cost_ns = 100 + (double)p.w.count * ns;
    return true;
}

static pgy_status qlinear_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)qlinear_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    for (int8_t i = 3; i >= 0; i -= 3)
        if (!u->inputs[i].data && kernel_count(&u->inputs[i]) == p->w.count) out->in_place = i;
    out->parts = walk_parts(p->w.count, 3);
    return PGY_OK;
}

static bool qlinear_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !walk_extent(e, &p->w, true)) return false;
    if (p->w.operands != 2 || p->inputs != q->input_count || p->inputs < 4)
        return extent_refuse(e, "number of operands");
    if (!byte_binary_is_valid(&p->q)) return extent_refuse(e, "zero points");
    extent_tensor(e, 0, walk_reach(&p->w, 0), 1);
    extent_tensor(e, 3, walk_reach(&p->w, 1), 1);
    extent_tensor(e, p->inputs, p->w.count, 1);
    return true;
}

/* A long run with a single number on one side is a function of one byte: its results for all bytes
 * make a table, if the processor has fast ones. */
static void run_by_table(const params *p, uint8_t *y, const uint8_t *a, const uint8_t *b,
                         const uint32_t *steps, size_t n)
{
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    uint8_t all[256], table[256];
    for (int i = 0; i < 256; i++) all[i] = (uint8_t)i;
    loops->binary(table, steps[0] ? all : a, steps[0] ? b : all, steps, 256, &p->q);
    loops->map(y, steps[0] ? a : b, n, table);
}

/* A run's operand as `n` elements. */
static void gather_operand(uint8_t *to, const uint8_t *from, uint32_t step, size_t n)
{
    if (step)
        int_conv_copy(to, from, n);
    else
        memset(to, *from, n);
}

/* Short runs, as of channels with one number each: the operands of many are gathered first. */
static void run_short(const params *p, const kernel_run *r, const uint32_t *steps)
{
    static const uint32_t BOTH[2] = {1, 1};
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    uint8_t a[WALK_PIECE], b[WALK_PIECE], *y = (uint8_t *)r->tensors[p->inputs];
    walk_at at;
    size_t n, have = 0;
    walk_begin(&at, &p->w, r->part, r->parts);
    for (; walk_run(&at, &p->w, SHORT, &n); walk_next(&at, &p->w, n)) {
        if (have + n > WALK_PIECE) {
            loops->binary(y + at.done - have, a, b, BOTH, have, &p->q);
            have = 0;
        }
        gather_operand(a + have, (const uint8_t *)r->tensors[0] + at.offset[0], steps[0], n);
        gather_operand(b + have, (const uint8_t *)r->tensors[3] + at.offset[1], steps[1], n);
        have += n;
    }
    loops->binary(y + at.done - have, a, b, BOTH, have, &p->q);
}

static void qlinear_run(const kernel_run *r)
{
    enum { LONG = 1024 };
    const params *p = r->params;
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    const uint32_t last = p->w.rank - 1;
    const uint32_t steps[2] = {(uint32_t)p->w.strides[0][last], (uint32_t)p->w.strides[1][last]};
    if (p->w.rank > 1 && p->w.shape[last] <= SHORT) {
        run_short(p, r, steps);
        return;
    }
    const bool tables = steps[0] != steps[1] && cpu_has_byte_permutes();
    walk_at at;
    size_t n;
    walk_begin(&at, &p->w, r->part, r->parts);
    for (; walk_run(&at, &p->w, tables ? SIZE_MAX : WALK_PIECE, &n); walk_next(&at, &p->w, n)) {
        uint8_t *y = (uint8_t *)r->tensors[p->inputs] + at.done;
        const uint8_t *a = (const uint8_t *)r->tensors[0] + at.offset[0];
        const uint8_t *b = (const uint8_t *)r->tensors[3] + at.offset[1];
        if (tables && n >= LONG)
            run_by_table(p, y, a, b, steps, n);
        else
            loops->binary(y, a, b, steps, n, &p->q);
    }
}

#define ROW(suffix, level, ns)                                                                     \
    {                                                                                              \
        .name = "qlinear_" #suffix, .version = 1,                                                  \
        .ops = "com.microsoft:QLinearAdd com.microsoft:QLinearMul", .needs = level, .rates = {ns}, \
        .accept = qlinear_accept, .prepare = qlinear_prepare, .run = qlinear_run,                  \
        .extent = qlinear_extent                                                                   \
    }
const kernel KERNELS_qlinear[] = {
    ROW(portable, CPU_PORTABLE, 3),
    ROW(avx2, CPU_AVX2, 1),
    ROW(avx512, CPU_AVX512, 0.25),
    {0},
};
