/* SPDX-License-Identifier: Apache-2.0 */
/* Batched matrix products for MatMul, MatMulInteger and QLinearMatMul. If the whole batch shares
 * the right matrix, it becomes one tall product. */
#include "ops/class_matmul.h"

#include <stdatomic.h>
#include <string.h>

#include "base/system.h"
#include "ops/class_rows.h"

/* With at least this many products in the batch, each thread runs whole products. With fewer, all
 * threads share each of them. */
enum { MANY = 8 };

static pgy_status check_inner(op_infer *c, size_t a, size_t b, pgy_error *err)
{
    const op_value *x = &c->inputs[a], *y = &c->inputs[b];
    dim left = x->dims[x->rank - 1], right = y->dims[y->rank == 1 ? 0 : y->rank - 2];
    if (!dim_differ(left, right)) return PGY_OK;
    str s = {0}, t = {0};
    op_print_shape(&s, x->rank, x->dims);
    op_print_shape(&t, y->rank, y->dims);
    pgy_status st = op_error(c->node, err, PGY_E_SHAPE, "shapes %s and %s cannot be multiplied",
                             str_text(&s), str_text(&t));
    str_deinit(&s);
    str_deinit(&t);
    return st;
}

pgy_status matmul_infer(op_infer *c, size_t a, size_t b, pgy_dtype dtype, pgy_error *err)
{
    if (!rank_known(c, a) || !rank_known(c, b)) {
        op_set_unknown(c, 0, dtype, -1, "the shape of an input is not known");
        return PGY_OK;
    }
    pgy_status st = rank_check(c, a, 1, PGY_MAX_RANK, err);
    if (!st) st = rank_check(c, b, 1, PGY_MAX_RANK, err);
    if (!st) st = check_inner(c, a, b, err);
    if (st) return st;
    op_value batch[2] = {c->inputs[a], c->inputs[b]};
    for (int i = 0; i < 2; i++) batch[i].rank = batch[i].rank > 2 ? batch[i].rank - 2 : 0;
    int32_t rank = 0;
    const dim *dims = NULL;
    st = op_broadcast(c, &rank, &dims, batch, 2, err);
    if (st) return st;
    dim *out = op_dims(c, (size_t)rank + 2);
    if (!out) return rule_no_memory(c->node, err);
    for (int32_t i = 0; i < rank; i++) out[i] = dims[i];
    const op_value *x = &c->inputs[a], *y = &c->inputs[b];
    if (x->rank > 1) out[rank++] = x->dims[x->rank - 2];
    if (y->rank > 1) out[rank++] = y->dims[y->rank - 1];
    op_set_output(c, 0, dtype, rank, out);
    return PGY_OK;
}

double matmul_flops(const op_infer *c, size_t a)
{
    const op_value *x = &c->inputs[a];
    return x->rank < 1 ? 0 : 2 * dims_product(&c->outputs[0]) * (double)x->dims[x->rank - 1].value;
}

/* Strides of one operand along the batch axes, in elements; 0 on broadcast axes. */
static void batch_strides(size_t *strides, const matmul_plan *p, const int64_t *shape, size_t rank,
                          size_t matrix)
{
    size_t own = rank > 2 ? rank - 2 : 0, stride = matrix;
    for (size_t i = p->rank; i-- > 0;) {
        size_t behind = p->rank - i;
        bool there = behind <= own;
        size_t extent = there ? (size_t)shape[own - behind] : 1;
        strides[i] = extent == 1 ? 0 : stride;
        stride *= extent;
    }
}

void matmul_prepare(matmul_plan *p, const op_eval *c, size_t a, size_t b)
{
    const int64_t *x = in_shape(c, a), *y = in_shape(c, b);
    size_t xr = in_rank(c, a), yr = in_rank(c, b), xb = xr > 2 ? xr - 2 : 0,
           yb = yr > 2 ? yr - 2 : 0;
    *p = (matmul_plan){.batch = 1, .rank = xb > yb ? xb : yb};
    p->m = xr > 1 ? (size_t)x[xr - 2] : 1;
    p->k = (size_t)x[xr - 1];
    p->n = yr > 1 ? (size_t)y[yr - 1] : 1;
    for (size_t i = 0; i < p->rank; i++) {
        p->dims[i] = (size_t)out_shape(c, 0)[i];
        p->batch *= p->dims[i];
    }
    batch_strides(p->a_strides, p, x, xr, p->m * p->k);
    batch_strides(p->b_strides, p, y, yr, p->k * p->n);
    size_t wanted = p->m * p->k;
    bool shared = p->rank > 0;
    for (size_t i = p->rank; i-- > 0;) {
        if (p->dims[i] > 1 && (p->b_strides[i] || p->a_strides[i] != wanted)) shared = false;
        wanted *= p->dims[i];
    }
    if (!shared) return;
    p->m *= p->batch;
    p->batch = 1;
    p->rank = 0;
}

static void offsets(const matmul_plan *p, size_t index, size_t *a, size_t *b)
{
    *a = *b = 0;
    for (size_t i = p->rank; i-- > 0;) {
        size_t at = index % p->dims[i];
        index /= p->dims[i];
        *a += at * p->a_strides[i];
        *b += at * p->b_strides[i];
    }
}

typedef struct product {
    const matmul_plan *p;
    const double *a;
    const char *b;
    bool b_single;
    double *y;
    atomic_bool failed;
} product;

static void product_task(size_t index, void *user)
{
    product *job = user;
    const matmul_plan *p = job->p;
    size_t a, b;
    offsets(p, index, &a, &b);
    const size_t item = job->b_single ? sizeof(float) : sizeof(double);
    const gemm_call call = {.m = p->m,
                            .n = p->n,
                            .k = p->k,
                            .a = {job->a + a, false, (int64_t)p->k, 1},
                            .b = {job->b + b * item, job->b_single, (int64_t)p->n, 1},
                            .c = job->y + index * p->m * p->n,
                            .ldc = p->n};
    if (gemm_run(&call, NULL)) atomic_store(&job->failed, true);
}

pgy_status matmul_run_f64(const matmul_plan *p, const double *a, const double *b, double *y,
                          pgy_error *err)
{
    return matmul_run(p, a, b, false, y, err);
}

pgy_status matmul_run(const matmul_plan *p, const double *a, const void *b, bool b_single,
                      double *y, pgy_error *err)
{
    product job = {.p = p, .a = a, .b = b, .b_single = b_single, .y = y};
    if (!p->m || !p->n) return PGY_OK;
    if (p->batch >= MANY)
        parallel_for_until_cancelled(p->batch, product_task, &job);
    else
        for (size_t i = 0; i < p->batch; i++) product_task(i, &job);
    return atomic_load(&job.failed)
               ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for a matrix product")
               : PGY_OK;
}

void matmul_u64(size_t m, size_t n, size_t k, const uint64_t *a, matmul_strides as,
                const uint64_t *b, matmul_strides bs, uint64_t *y)
{
    memset(y, 0, m * n * sizeof *y);
    for (size_t i = 0; i < m; i++)
        for (size_t p = 0; p < k; p++) {
            uint64_t x = a[i * as.row + p * as.col];
            const uint64_t *line = b + p * bs.row;
            for (size_t j = 0; j < n; j++) y[i * n + j] += x * line[j * bs.col];
        }
}

typedef struct product_u64 {
    const matmul_plan *p;
    const uint64_t *a, *b;
    uint64_t *y;
} product_u64;

static void rows_u64(size_t begin, size_t end, void *user)
{
    const product_u64 *job = user;
    const matmul_plan *p = job->p;
    for (size_t i = begin; i < end; i++) {
        size_t a, b;
        offsets(p, i / p->m, &a, &b);
        matmul_u64(1, p->n, p->k, job->a + a + i % p->m * p->k, (matmul_strides){p->k, 1},
                   job->b + b, (matmul_strides){p->n, 1}, job->y + i * p->n);
    }
}

void matmul_run_u64(const matmul_plan *p, const uint64_t *a, const uint64_t *b, uint64_t *y)
{
    product_u64 job = {p, a, b, y};
    if (p->n) rows_run(p->batch * p->m, p->n * p->k, rows_u64, &job);
}
