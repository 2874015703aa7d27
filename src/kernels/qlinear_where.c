/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearWhere: each operand becomes bytes of the output by a table, then one of them
 * is chosen. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/byte_loops.h"
#include "kernels/int_problem.h"
#include "kernels/walk.h"
#include "ops/class_quantize.h"

enum { VALUES = 256, CONDITION = 0, FIRST = 1, SECOND = 4 };

typedef struct params {
    walk w; /* operands: condition, first, second */
    uint32_t level, inputs;
    uint32_t copies[2];       /* 1: the table maps each byte to itself */
    uint8_t table[2][VALUES]; /* indexed by the byte as stored */
} params;

static bool make_table(params *p, const kernel_problem *u, size_t which)
{
    const size_t x = which ? SECOND : FIRST;
    const pgy_dtype from = u->inputs[x].dtype, to = u->outputs[0].dtype;
    if (!int_problem_is_byte(&u->inputs[x]) || !int_problem_are_scales(u, x + 1, 1) ||
        !int_problem_is_fixed(u, x + 2, 1))
        return false;
    const double scale = int_problem_float(u, x + 1, 0), to_scale = int_problem_float(u, 7, 0);
    const int64_t zero = int_problem_int(u, x + 2, 0), to_zero = int_problem_int(u, 8, 0);
    p->copies[which] = 1;
    for (int i = 0; i < VALUES; i++) {
        const int value = from == PGY_I8 ? (int8_t)i : i;
        const double v = (double)(value - zero) * scale / to_scale;
        p->table[which][i] = (uint8_t)quantize_int(v, to_zero, to);
        if (p->table[which][i] != i) p->copies[which] = 0;
    }
    return true;
}

static bool qlinear_where_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *y = &u->outputs[0];
    *p = (params){.inputs = (uint32_t)u->input_count};
    if (u->input_count < 8 || u->inputs[CONDITION].dtype != PGY_BOOL || !int_problem_is_byte(y) ||
        !kernel_count(y) || !int_problem_are_scales(u, 7, 1) || !int_problem_is_fixed(u, 8, 1))
        return false;
    for (size_t i = 0; i < 2; i++)
        if (!make_table(p, u, i)) return false;
    return walk_init(&p->w, y,
                     (const kernel_tensor *const[]){&u->inputs[CONDITION], &u->inputs[FIRST],
                                                    &u->inputs[SECOND]},
                     3);
}

static bool qlinear_where_accept(kernel_problem *u, double *cost_ns)
{
    const double ns = u->self->rates[0];
    params p;
    if (!qlinear_where_describe(&p, u)) return false;
    int_problem_linear(u);
    *cost_ns = 100 + (double)p.w.count * ns;
    return true;
}

static pgy_status qlinear_where_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)qlinear_where_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = walk_parts(p->w.count, 4);
    out->scratch_bytes = 2 * WALK_PIECE;
    return PGY_OK;
}

static bool qlinear_where_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !walk_extent(e, &p->w, true)) return false;
    if (p->w.operands != 3 || p->inputs != q->input_count || p->inputs <= SECOND)
        return extent_refuse(e, "number of operands");
    extent_tensor(e, CONDITION, walk_reach(&p->w, 0), 1);
    extent_tensor(e, FIRST, walk_reach(&p->w, 1), 1);
    extent_tensor(e, SECOND, walk_reach(&p->w, 2), 1);
    extent_tensor(e, p->inputs, p->w.count, 1);
    e->scratch = 2 * WALK_PIECE;
    return true;
}

/* Returns n bytes of an operand as bytes of the output, in `room` if need be. */
static const uint8_t *mapped(const params *p, size_t which, const uint8_t *x, bool spread, size_t n,
                             uint8_t *room)
{
    if (spread)
        memset(room, p->table[which][*x], n);
    else if (p->copies[which])
        return x;
    else
        byte_loops_of((cpu_level)p->level)->map(room, x, n, p->table[which]);
    return room;
}

static void qlinear_where_run(const kernel_run *r)
{
    const params *p = r->params;
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    const uint32_t last = p->w.rank - 1;
    const bool spread[3] = {!p->w.strides[0][last], !p->w.strides[1][last], !p->w.strides[2][last]};
    walk_at at;
    size_t n;
    walk_begin(&at, &p->w, r->part, r->parts);
    for (; walk_run(&at, &p->w, WALK_PIECE, &n); walk_next(&at, &p->w, n)) {
        const uint8_t *c = (const uint8_t *)r->tensors[CONDITION] + at.offset[0];
        const uint8_t *a = (const uint8_t *)r->tensors[FIRST] + at.offset[1];
        const uint8_t *b = (const uint8_t *)r->tensors[SECOND] + at.offset[2];
        uint8_t *y = (uint8_t *)r->tensors[p->inputs] + at.done, *room = r->scratch;
        if (spread[0]) {
            memcpy(y,
                   *c ? mapped(p, 0, a, spread[1], n, room) : mapped(p, 1, b, spread[2], n, room),
                   n);
            continue;
        }
        a = mapped(p, 0, a, spread[1], n, room);
        loops->choose(y, c, a, mapped(p, 1, b, spread[2], n, room + WALK_PIECE), n);
    }
}

#define ROW(suffix, level, ns)                                                                     \
    {                                                                                              \
        .name = "qlinear_where_" #suffix, .version = 1, .ops = "com.microsoft:QLinearWhere",       \
        .needs = level, .rates = {ns}, .accept = qlinear_where_accept,                             \
        .prepare = qlinear_where_prepare, .run = qlinear_where_run, .extent = qlinear_where_extent \
    }
const kernel KERNELS_qlinear_where[] = {
    ROW(portable, CPU_PORTABLE, 1.5),
    ROW(avx2, CPU_AVX2, 1),
    ROW(avx512, CPU_AVX512, 0.9),
    {0},
};
