/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MatMulBnb4: a float matrix times 4-bit weights [N, K] as bitsandbytes stores them:
 * codes of a table of sixteen values, two per byte with the first in the high bits. Each block of
 * the flattened weights has its largest magnitude as scale. */
#include <inttypes.h>

#include "base/alloc.h"
#include "ops/class_matmul.h"

enum { A, B, SCALES };

static const op_attr_def ATTRS[] = {
    {"K", OP_ATTR_INT, true, NULL},
    {"N", OP_ATTR_INT, true, NULL},
    {"block_size", OP_ATTR_INT, true, NULL},
    {"quant_type", OP_ATTR_INT, true, NULL},
    {"training_mode", OP_ATTR_INT, false, "0"},
    {"transB", OP_ATTR_INT, false, "1"},
    {NULL},
};

/* FP4 has a sign bit; NF4 holds quantiles of a normal distribution. Both tables are rounded to
 * float32. */
static const float FP4[8] = {0,    5.208333333e-03f, 0.66666667f, 1, 0.33333333f,
                             0.5f, 0.16666667f,      0.25f};
static const float NF4[16] = {-1,           -0.69619280f, -0.52507305f, -0.39491749f,
                              -0.28444138f, -0.18477343f, -0.09105004f, 0,
                              0.07958030f,  0.16093020f,  0.24611230f,  0.33791524f,
                              0.44070983f,  0.56261700f,  0.72295684f,  1};

/* Checks the numbers of bytes and scales, if their shapes are known. */
static pgy_status check_counts(op_infer *c, pgy_error *err)
{
    const int64_t all = op_attr_int(c->node, "N", 0) * op_attr_int(c->node, "K", 0);
    const int64_t block = op_attr_int(c->node, "block_size", 1);
    const op_value *b = &c->inputs[B], *scales = &c->inputs[SCALES];
    dim bytes, numbers;
    if (!rule_count(c, &bytes, b->rank, b->dims) || !dim_is_const(bytes) ||
        !rule_count(c, &numbers, scales->rank, scales->dims) || !dim_is_const(numbers))
        return PGY_OK;
    if (bytes.value == (all + 1) / 2 && numbers.value >= (all - 1) / block + 1) return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "inputs 1 and 2 have %" PRId64 " bytes and %" PRId64
                    " scales, which does not fit %" PRId64 " weights in blocks of %" PRId64,
                    bytes.value, numbers.value, all, block);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const char *const SIZES[] = {"K", "N", "block_size"};
    const op_node *n = c->node;
    const op_value *x = &c->inputs[A];
    const bool turned = op_attr_int(n, "transB", 1) != 0;
    const int64_t type = op_attr_int(n, "quant_type", 0);
    for (size_t i = 0; i < 3; i++) {
        const int64_t size = op_attr_int(n, SIZES[i], 0);
        if (size < 1 || size > INT32_MAX)
            return op_error(n, err, PGY_E_ARGUMENT,
                            "attribute %s is %" PRId64 ", which is out of range", SIZES[i], size);
    }
    if (type < 0 || type > 1)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute quant_type is %" PRId64 ", but must be 0 or 1", type);
    pgy_status st = rank_check(c, A, 1, PGY_MAX_RANK, err);
    if (!st) st = check_counts(c, err);
    if (st) return st;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the shape of the input is not known");
        return PGY_OK;
    }
    const size_t last = (size_t)x->rank - 1;
    const int64_t inner = op_attr_int(n, turned ? "K" : "N", 0);
    st = dim_check(c, A, last, dim_const(inner), turned ? "K" : "N", err);
    dim *dims = rule_copy_dims(c, x);
    if (st) return st;
    if (!dims) return rule_no_memory(n, err);
    dims[last] = dim_const(op_attr_int(n, turned ? "N" : "K", 0));
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

float matmul_bnb4_value(int64_t code, bool normal)
{
    if (normal) return NF4[code];
    return code & 8 ? -FP4[code & 7] : FP4[code];
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node *n = c->node;
    const int64_t rows = op_attr_int(n, "N", 0), columns = op_attr_int(n, "K", 0);
    const size_t count = (size_t)(rows * columns), block = (size_t)op_attr_int(n, "block_size", 1);
    const bool normal = op_attr_int(n, "quant_type", 0) == 1;
    const bool turned = op_attr_int(n, "transB", 1) != 0;
    double *w = NULL;
    pgy_status st = inputs_check(c, "FIF", err);
    if (!st && (in_count(c, B) != (count + 1) / 2 || in_count(c, SCALES) < (count - 1) / block + 1))
        st = op_error(n, err, PGY_E_SHAPE,
                      "inputs 1 and 2 have %zu bytes and %zu scales, which does not fit %zu "
                      "weights in blocks of %zu",
                      in_count(c, B), in_count(c, SCALES), count, block);
    if (!st) st = workspace_alloc((void **)&w, c, count, sizeof *w, err);
    if (st) return st;
    for (size_t i = 0; i < count; i++) {
        const int64_t code = in_i64(c, B)[i / 2] >> (i % 2 ? 0 : 4) & 15;
        w[i] = (double)matmul_bnb4_value(code, normal) * in_f64(c, SCALES)[i / block];
    }
    const size_t inner = (size_t)(turned ? columns : rows),
                 outer = (size_t)(turned ? rows : columns);
    st = gemm_f64(in_count(c, A) / inner, outer, inner,
                  (gemm_matrix){in_f64(c, A), (int64_t)inner, 1},
                  (gemm_matrix){w, turned ? 1 : columns, turned ? columns : 1}, out_f64(c, 0),
                  outer, false, err);
    mem_free(w);
    return st;
}

static double flops(const op_infer *c)
{
    const bool turned = op_attr_int(c->node, "transB", 1) != 0;
    return 2 * dims_product(&c->inputs[A]) * (double)op_attr_int(c->node, turned ? "N" : "K", 0);
}

const op_def OP_mat_mul_bnb4[] = {
    {"MatMulBnb4", "com.microsoft", 1, 0, 3, 3, 1, 1, 0, ATTRS, TYPES_F4, infer, eval, flops,
     .signature = "T = float16 float32 float64 bfloat16; A:T, B:uint8, absmax:T -> Y:T"},
    {NULL},
};
