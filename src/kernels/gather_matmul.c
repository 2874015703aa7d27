/* SPDX-License-Identifier: Apache-2.0 */
/* GatherMatMul of pgy with a constant table. Vectors are sorted by matrix, so that each matrix that
 * is used computes one product for all its vectors, and is read once. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/group_sort.h"
#include "kernels/matmul.h"

enum { A, TABLE, INDICES, INPUTS };
enum { SORT, COLLECT, MULTIPLY, HAND_OUT, PHASES };
enum { MAX_PARTS = 64 };

typedef struct params {
    uint64_t count, n, k, length;         /* products, lengths of vectors in Y and A, matrices */
    uint64_t vectors, indices;            /* of the inputs: `count`, or one for all products */
    uint32_t level, column, wide, unused; /* wide: indices are int64 */
    /* Byte offsets in the workspace. A row is a vector at its place among those of its matrix. */
    uint64_t at_start;  /* of each matrix: its first row; and the number of rows */
    uint64_t at_matrix; /* of each vector */
    uint64_t at_vector; /* of each row */
    uint64_t at_a, at_y;
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

/* The product of `rows` vectors with one matrix; of all matrices, if b_batch is used. */
static matmul_shape shape_of(const params *p, uint64_t rows)
{
    matmul_shape s = {.m = rows,
                      .n = p->n,
                      .k = p->k,
                      .a_row = p->k,
                      .a_column = 1,
                      .b_row = p->column ? 1 : p->n,
                      .b_column = p->column ? p->k : 1,
                      .batch = p->length,
                      .batch_rank = 1,
                      .alpha = 1,
                      .beta = 1};
    s.batch_shape[0] = p->length;
    s.b_batch[0] = p->n * p->k;
    return s;
}

static const matmul_tile *tile_of(const params *p)
{
    return matmul_tile_of((cpu_level)p->level);
}

/* Sets the places in the workspace. @return its bytes */
static uint64_t lay_out(params *p)
{
    uint64_t end = 0;
    extent_place(&p->at_start, &end, p->length + 1, sizeof(uint32_t));
    extent_place(&p->at_matrix, &end, p->count, sizeof(uint32_t));
    extent_place(&p->at_vector, &end, p->count, sizeof(uint32_t));
    extent_place(&p->at_a, &end, extent_mul(p->count, p->k), sizeof(float));
    extent_place(&p->at_y, &end, extent_mul(p->count, p->n), sizeof(float));
    return end;
}

static bool has_counts(const params *p)
{
    return (p->vectors == p->count || p->vectors == 1) &&
           (p->indices == p->count || p->indices == 1);
}

static bool gather_matmul_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *table = &u->inputs[TABLE];
    const pgy_dtype index = u->inputs[INDICES].dtype;
    *p = (params){.level = u->self->needs, .wide = index == PGY_I64};
    if (u->inputs[A].dtype != PGY_F32 || table->dtype != PGY_F32 || !table->data ||
        (index != PGY_I64 && index != PGY_I32) || !kernel_count(&u->outputs[0]) ||
        !kernel_count(table))
        return false;
    p->column = op_attr_int(u->node, "column", 0) != 0;
    p->length = (uint64_t)table->shape[0];
    p->n = (uint64_t)table->shape[p->column ? 1 : 2];
    p->k = (uint64_t)table->shape[p->column ? 2 : 1];
    p->count = kernel_count(&u->outputs[0]) / p->n;
    p->vectors = kernel_count(&u->inputs[A]) / p->k;
    p->indices = kernel_count(&u->inputs[INDICES]);
    return p->count <= INT32_MAX && p->length <= INT32_MAX && has_counts(p);
}

static bool gather_matmul_accept(kernel_problem *u, double *cost_ns)
{
    const double flops_per_ns = u->self->rates[0];
    params p;
    if (!gather_matmul_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const double matrix = (double)(p.n * p.k);
    *cost_ns = 500 + 2 * (double)p.count * matrix / flops_per_ns +
               (double)(p.count < p.length ? p.count : p.length) * matrix * 4 / 20;
    return true;
}

static bool gather_matmul_fill(void *to, const kernel_problem *u, const void *user)
{
    const params *p = user;
    const matmul_shape s = shape_of(p, 1);
    return matmul_pack_products(to, u, &s, tile_of(p), NULL, p->length);
}

static pgy_status gather_matmul_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)gather_matmul_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .phases = PHASES,
                         .parts = MAX_PARTS,
                         .in_place = -1,
                         .packed_inputs = 1u << TABLE};
    const matmul_shape s = shape_of(p, 1);
    const matmul_tile *t = tile_of(p);
    out->workspace_bytes = lay_out(p);
    out->scratch_bytes = matmul_scratch_count(&s, t) * sizeof(float);
    kernel_packing how = matmul_packed_form(&s, t, false);
    how.size_bytes = p->length * matmul_packed_count(&s, t) * sizeof(float);
    how.fill = gather_matmul_fill;
    how.any_address = true;
    how.user = p;
    const pgy_status st = kernel_pack(out, u, &how, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool gather_matmul_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    const uint64_t most = INT32_MAX;
    if (!p || !extent_level(e, p->level)) return false;
    if (q->input_count != INPUTS) return extent_refuse(e, "number of inputs");
    if (!p->count || !p->n || !p->k || !p->length || p->count > most || p->n > most ||
        p->k > most || p->length > most || p->column > 1 || p->wide > 1 || !has_counts(p))
        return extent_refuse(e, "shape");
    params again = *p;
    e->workspace = lay_out(&again);
    if (memcmp(&again, p, sizeof again)) return extent_refuse(e, "place in the workspace");
    const matmul_shape s = shape_of(p, 1);
    const uint64_t columns = extent_round_up(p->n, tile_of(p)->columns);
    e->packed = extent_mul(extent_mul3(p->length, columns, p->k), sizeof(float));
    e->scratch = matmul_scratch_count(&s, tile_of(p)) * sizeof(float);
    e->phases = PHASES;
    e->indices = 1u << INDICES;
    extent_tensor(e, A, extent_mul(p->vectors, p->k), sizeof(float));
    extent_tensor(e, INDICES, p->indices, p->wide ? sizeof(int64_t) : sizeof(int32_t));
    extent_tensor(e, INPUTS, extent_mul(p->count, p->n), sizeof(float));
    return true;
}

/* ---- The run -------------------------------------------------------------------------------- */

/* A view of the workspace. */
typedef struct rows {
    uint32_t *start, *matrix, *vector;
    float *a, *y;
} rows;

static rows rows_of(const params *p, const kernel_run *r)
{
    char *w = r->workspace;
    return (rows){.start = (uint32_t *)(w + p->at_start),
                  .matrix = (uint32_t *)(w + p->at_matrix),
                  .vector = (uint32_t *)(w + p->at_vector),
                  .a = (float *)(w + p->at_a),
                  .y = (float *)(w + p->at_y)};
}

/* The matrix of product i. A bad index fails the run, and counts as 0. */
static uint32_t matrix_of(const params *p, const kernel_run *r, uint64_t i)
{
    const void *from = r->tensors[INDICES];
    if (p->indices == 1) i = 0;
    const int64_t given = p->wide ? ((const int64_t *)from)[i] : ((const int32_t *)from)[i];
    const uint64_t at = (uint64_t)given + (given < 0 ? p->length : 0);
    if (at < p->length) return (uint32_t)at;
    kernel_fault_index(r, given, p->length);
    return 0;
}

static void sort_vectors(const params *p, const kernel_run *r, const rows *w)
{
    for (uint64_t i = 0; i < p->count; i++) w->matrix[i] = matrix_of(p, r, i);
    group_sort(w->start, w->vector, w->matrix, p->count, p->length);
}

/* Shares the units of work of all matrices that are used. */
static void multiply(const params *p, const kernel_run *r, const rows *w)
{
    const matmul_tile *t = tile_of(p);
    size_t all = 0, used = 0, from = 0, to = 0, at = 0;
    for (uint64_t e = 0; e < p->length; e++) used += w->start[e] < w->start[e + 1];
    const uint32_t parts = used ? (uint32_t)((r->parts + used - 1) / used) : 1; /* of a product */
    for (int run = 0; run < 2; run++) {
        if (run) kernel_share(&from, &to, all, r->part, r->parts);
        for (uint64_t e = 0; e < p->length; e++) {
            const uint32_t first = w->start[e], count = w->start[e + 1] - first;
            matmul_shape s = shape_of(p, count);
            s.batch = 1;
            s.batch_rank = 0;
            const size_t units = count ? matmul_unit_count(&s, t, parts) : 0;
            const matmul_data d = {.a = w->a + (size_t)first * p->k,
                                   .packed =
                                       (const float *)r->packed + e * matmul_packed_count(&s, t),
                                   .b_shared = true,
                                   .c = w->y + (size_t)first * p->n};
            all += run ? 0 : units;
            for (size_t i = 0; run && i < units && !cancel_requested(); i++, at++)
                if (at >= from && at < to) matmul_unit(&s, t, parts, i, &d, r->scratch);
        }
    }
}

static void gather_matmul_run(const kernel_run *r)
{
    const params *p = r->params;
    const rows w = rows_of(p, r);
    size_t from, to;
    if (r->phase == SORT) {
        if (!r->part) sort_vectors(p, r, &w);
        return;
    }
    if (r->phase == MULTIPLY) {
        multiply(p, r, &w);
        return;
    }
    kernel_share(&from, &to, p->count, r->part, r->parts);
    for (size_t row = from; row < to && !cancel_requested(); row++)
        if (r->phase == COLLECT)
            memcpy(w.a + row * p->k,
                   (const float *)r->tensors[A] + (p->vectors == 1 ? 0 : w.vector[row] * p->k),
                   p->k * sizeof(float));
        else
            memcpy((float *)r->tensors[INPUTS] + w.vector[row] * p->n, w.y + row * p->n,
                   p->n * sizeof(float));
}

#define ROW(suffix, level, flops_per_ns)                                                           \
    {                                                                                              \
        .name = "gather_matmul_f32_" #suffix, .version = 1, .ops = "pgy:GatherMatMul",             \
        .needs = level, .rates = {flops_per_ns},                                                   \
        .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED, .accept = gather_matmul_accept,      \
        .prepare = gather_matmul_prepare, .run = gather_matmul_run, .extent = gather_matmul_extent \
    }
const kernel KERNELS_gather_matmul[] = {
    ROW(portable, CPU_PORTABLE, 8),
    ROW(avx2, CPU_AVX2, 60),
    ROW(avx512, CPU_AVX512, 70),
    {0},
};
