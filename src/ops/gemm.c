/* SPDX-License-Identifier: Apache-2.0 */
/* The operator Gemm: alpha * A' * B' + beta * C, where C broadcasts to the product. */
#include "ops/class_matmul.h"
#include "ops/class_rows.h"

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {"beta", OP_ATTR_FLOAT, false, "1"},
    {"transA", OP_ATTR_INT, false, "0"},
    {"transB", OP_ATTR_INT, false, "0"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    bool ta = op_attr_int(c->node, "transA", 0) != 0, tb = op_attr_int(c->node, "transB", 0) != 0;
    pgy_status st = rank_check(c, 0, 2, 2, err);
    if (!st) st = rank_check(c, 1, 2, 2, err);
    if (st) return st;
    if (rank_known(c, 0) && rank_known(c, 1))
        st = dim_check(c, 1, tb, c->inputs[0].dims[!ta], "the inner dimension of input 0", err);
    if (st) return st;
    dim *dims = op_dims(c, 2);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = rank_known(c, 0) ? c->inputs[0].dims[ta]
                               : dim_unknown(c->dims, "the shape of input 0 is not known");
    dims[1] = rank_known(c, 1) ? c->inputs[1].dims[!tb]
                               : dim_unknown(c->dims, "the shape of input 1 is not known");
    st = rank_check(c, 2, 0, 2, err);
    for (size_t i = 0; !st && rank_known(c, 2) && i < (size_t)c->inputs[2].rank; i++) {
        const op_value *v = &c->inputs[2];
        if (dim_is_const(v->dims[i]) && v->dims[i].value == 1) continue;
        st =
            dim_check(c, 2, i, dims[i + 2 - (size_t)v->rank], "that dimension of the product", err);
    }
    if (st) return st;
    op_set_output(c, 0, c->inputs[0].dtype, 2, dims);
    return PGY_OK;
}

typedef struct finish {
    const op_eval *c;
    size_t n, row_step, col_step; /* row_step, col_step: strides of C; 0 where it is broadcast */
    double alpha, beta;
} finish;

static void finish_f64(size_t begin, size_t end, void *user)
{
    const finish *f = user;
    const double *bias = in_f64(f->c, 2);
    for (size_t i = begin; i < end; i++) {
        double *y = out_f64(f->c, 0) + i * f->n;
        for (size_t j = 0; j < f->n; j++) {
            double v = f->alpha == 1 ? y[j] : f->alpha * y[j];
            y[j] = bias ? v + f->beta * bias[i * f->row_step + j * f->col_step] : v;
        }
    }
}

/* alpha * product + beta * C for integers: exact if alpha and beta are 1, else computed in doubles
 * and truncated. */
static void finish_u64(size_t begin, size_t end, void *user)
{
    const finish *f = user;
    const uint64_t *bias = in_data(f->c, 2);
    bool unit = f->alpha == 1 && f->beta == 1;
    for (size_t i = begin; i < end; i++) {
        uint64_t *y = (uint64_t *)out_data(f->c, 0) + i * f->n;
        for (size_t j = 0; j < f->n; j++) {
            uint64_t b = bias ? bias[i * f->row_step + j * f->col_step] : 0;
            double v = unit ? 0 : f->alpha * (double)(int64_t)y[j] + f->beta * (double)(int64_t)b;
            bool fits = v > -9.2e18 && v < 9.2e18;
            y[j] = unit ? y[j] + b : fits ? (uint64_t)(int64_t)v : 0;
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "!!s", err);
    const bool narrow = !st && pgy_tensor_dtype(c->inputs[1].value) == PGY_F32;
    if (!st && !narrow) st = inputs_check(c, "!S", err);
    if (st) return st;
    bool ta = op_attr_int(c->node, "transA", 0) != 0, tb = op_attr_int(c->node, "transB", 0) != 0;
    const int64_t *a = in_shape(c, 0), *b = in_shape(c, 1), *bias = in_shape(c, 2);
    size_t m = (size_t)a[ta], k = (size_t)a[!ta], n = (size_t)b[!tb], rank = in_rank(c, 2);
    finish f = {c, n, 0, 0, op_attr_float(c->node, "alpha", 1), op_attr_float(c->node, "beta", 1)};
    if (rank > 0 && bias[rank - 1] > 1) f.col_step = 1;
    if (rank > 1 && bias[0] > 1) f.row_step = (size_t)bias[1];
    if (pgy_tensor_dtype(c->inputs[0].value) == PGY_F64) {
        const gemm_call call = {
            .m = m,
            .n = n,
            .k = k,
            .a = {in_f64(c, 0), false, ta ? 1 : (int64_t)k, ta ? (int64_t)m : 1},
            .b = {in_data(c, 1), narrow, tb ? 1 : (int64_t)n, tb ? (int64_t)k : 1},
            .c = out_f64(c, 0),
            .ldc = n};
        st = gemm_run(&call, err);
        if (!st && (bias || f.alpha != 1)) rows_run(m, n, finish_f64, &f);
        return st;
    }
    matmul_u64(m, n, k, in_data(c, 0), (matmul_strides){ta ? 1 : k, ta ? m : 1}, in_data(c, 1),
               (matmul_strides){tb ? 1 : n, tb ? k : 1}, out_data(c, 0));
    rows_run(m, n, finish_u64, &f);
    return PGY_OK;
}

static double flops(const op_infer *c)
{
    if (c->inputs[0].rank != 2) return 0;
    bool ta = op_attr_int(c->node, "transA", 0) != 0;
    return 2 * dims_product(&c->outputs[0]) * (double)c->inputs[0].dims[!ta].value;
}

#define ROW(version, inputs, words)                                                             \
    {                                                                                           \
        "Gemm", "", version, 0, inputs, 3, 1, 1, OP_SAME_TYPES | OP_FILLS, ATTRS, words, infer, \
            eval, flops, .narrow_inputs = 1 << 1                                                \
    }
const op_def OP_gemm[] = {
    ROW(7, 3, TYPES_F3), ROW(9, 3, TYPES_W3), ROW(11, 2, TYPES_W3), ROW(13, 2, TYPES_W4), {NULL},
};
