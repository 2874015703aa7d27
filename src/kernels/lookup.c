/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one byte, computed by a table of 256 results: com.microsoft QLinearSigmoid and
 * QLinearLeakyRelu, pgy:Lookup, and QLinearConcat with one table for each input. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/byte_loops.h"
#include "kernels/extent.h"
#include "kernels/int_problem.h"
#include "kernels/shared_params.h"
#include "ops/class_quantize.h"

enum { VALUES = LOOKUP_VALUES, MAX_SEGMENTS = LOOKUP_SEGMENTS };

typedef lookup_params params;

/* ---- Tables --------------------------------------------------------------------------------- */

static double lookup_activate(const op_node *n, double x)
{
    if (strcmp(n->def->name, "QLinearSigmoid") == 0) return 1 / (1 + exp(-x));
    if (strcmp(n->def->name, "QLinearLeakyRelu") == 0)
        return x < 0 ? op_attr_float(n, "alpha", 0.01) * x : x;
    return x;
}

/* Makes the table of segment s. Input x is followed by its scale and zero point; input y is the
 * scale of the output. */
static bool make_table(params *p, const kernel_problem *u, uint32_t s, size_t x, size_t y)
{
    const pgy_dtype from = u->inputs[x].dtype, to = u->outputs[0].dtype;
    if (!int_problem_is_byte(&u->inputs[x]) || !int_problem_is_byte(&u->outputs[0])) return false;
    if (!int_problem_are_scales(u, x + 1, 1) || !int_problem_are_scales(u, y, 1)) return false;
    if (!int_problem_is_fixed(u, x + 2, 1) || !int_problem_is_fixed(u, y + 1, 1)) return false;
    const double scale = int_problem_float(u, x + 1, 0), to_scale = int_problem_float(u, y, 0);
    const int64_t zero = int_problem_int(u, x + 2, 0), to_zero = int_problem_int(u, y + 1, 0);
    p->place[s] = (uint32_t)x;
    p->copies[s] = true;
    for (int i = 0; i < VALUES; i++) {
        const int value = from == PGY_I8 ? (int8_t)i : i;
        const double v = lookup_activate(u->node, (double)(value - zero) * scale) / to_scale;
        p->table[s][i] = (uint8_t)quantize_int(v, to_zero, to);
        if (p->table[s][i] != i) p->copies[s] = false;
    }
    return true;
}

static bool describe_concat(params *p, const kernel_problem *u)
{
    const kernel_tensor *y = &u->outputs[0];
    int64_t axis = op_attr_int(u->node, "axis", 0);
    uint64_t inner = 1, end = 0;
    if (axis < 0) axis += y->rank;
    p->segments = (uint32_t)(u->input_count - 2) / 3;
    if (axis < 0 || axis >= y->rank || p->segments > MAX_SEGMENTS) return false;
    p->rows = 1;
    for (int64_t d = 0; d < axis; d++) p->rows *= (uint64_t)y->shape[d];
    for (int64_t d = axis + 1; d < y->rank; d++) inner *= (uint64_t)y->shape[d];
    for (uint32_t s = 0; s < p->segments; s++) {
        const size_t x = 2 + 3 * (size_t)s;
        if (u->inputs[x].rank != y->rank || !make_table(p, u, s, x, 0)) return false;
        end += inner * (uint64_t)u->inputs[x].shape[axis];
        p->ends[s] = end;
    }
    p->row_bytes = end;
    return true;
}

static bool lookup_describe(params *p, const kernel_problem *u)
{
    *p = (params){.inputs = (uint32_t)u->input_count, .segments = 1, .rows = 1};
    p->row_bytes = p->ends[0] = kernel_count(&u->outputs[0]);
    if (!p->row_bytes || u->input_count > KERNEL_MAX_INPUTS) return false;
    if (strcmp(u->node->def->name, "QLinearConcat") == 0) return describe_concat(p, u);
    if (strcmp(u->node->def->name, "Lookup")) return make_table(p, u, 0, 0, 3);
    const kernel_tensor *t = &u->inputs[1];
    if (!t->data || !int_problem_is_byte(t) || kernel_count(t) != VALUES) return false;
    memcpy(p->table[0], t->data, VALUES);
    return int_problem_is_byte(&u->inputs[0]);
}

static bool lookup_accept(kernel_problem *u, double *cost_ns)
{
    const double ns = u->self->rates[0];
    params p;
    if (!lookup_describe(&p, u)) return false;
    int_problem_linear(u);
    *cost_ns = 100 + (double)(p.rows * p.row_bytes) * ns;
    return true;
}

static pgy_status lookup_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)lookup_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    if (p->segments == 1 && !u->inputs[p->place[0]].data) out->in_place = (int8_t)p->place[0];
    const uint64_t parts = p->rows * p->row_bytes / 16384 + 1;
    out->parts = (uint32_t)(parts < 256 ? parts : 256);
    return PGY_OK;
}

static bool lookup_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    uint64_t start = 0;
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || p->segments > MAX_SEGMENTS)
        return extent_refuse(e, "number of inputs");
    for (uint32_t s = 0; s < p->segments; start = p->ends[s++]) {
        if (p->ends[s] < start || p->place[s] >= p->inputs) return extent_refuse(e, "segments");
        extent_tensor(e, p->place[s], p->rows, p->ends[s] - start);
    }
    if (start != p->row_bytes) return extent_refuse(e, "segments");
    extent_tensor(e, p->inputs, p->rows, p->row_bytes);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Computes bytes [from, to) of a row. */
static void lookup_row(const params *p, const kernel_run *r, uint64_t row, uint64_t from,
                       uint64_t to)
{
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    uint8_t *y = (uint8_t *)r->tensors[p->inputs] + row * p->row_bytes;
    uint64_t start = 0;
    for (uint32_t s = 0; s < p->segments; start = p->ends[s++]) {
        const uint64_t begin = from > start ? from : start, end = to < p->ends[s] ? to : p->ends[s];
        if (begin >= end) continue;
        const uint8_t *x = (const uint8_t *)r->tensors[p->place[s]] + row * (p->ends[s] - start);
        if (!p->copies[s])
            loops->map(y + begin, x + (begin - start), end - begin, p->table[s]);
        else if (x != y)
            memcpy(y + begin, x + (begin - start), end - begin);
    }
}

static void lookup_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->rows * p->row_bytes, r->part, r->parts);
    while (from < to) {
        const uint64_t row = from / p->row_bytes, at = from % p->row_bytes;
        const uint64_t rest = to - from, left = p->row_bytes - at, n = rest < left ? rest : left;
        lookup_row(p, r, row, at, at + n);
        from += n;
    }
}

#define ROW(suffix, level, ns)                                                             \
    {                                                                                      \
        .name = "lookup_" #suffix, .version = 1,                                           \
        .ops = "com.microsoft:QLinearSigmoid com.microsoft:QLinearLeakyRelu "              \
               "com.microsoft:QLinearConcat pgy:Lookup",                                   \
        .needs = level, .rates = {ns}, .accept = lookup_accept, .prepare = lookup_prepare, \
        .run = lookup_run, .extent = lookup_extent                                         \
    }
const kernel KERNELS_lookup[] = {
    ROW(portable, CPU_PORTABLE, 0.5),
    ROW(avx2, CPU_AVX2, 0.4),
    ROW(avx512, CPU_AVX512, 0.3),
    {0},
};
