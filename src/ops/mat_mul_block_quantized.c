/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MatMulBlockQuantizedFp8Weight and MatMulBlockQuantizedFp4Weight: 16-bit floats
 * times the transpose of weights [N, K] of 8 or 4 bits, with a scale for each block along K.
 * FP8: weights are float8e4m3fn, scales float32; with a_scale the activations are rounded to
 * float8e4m3fn, too. FP4: two float4e2m1 in a byte, low bits first; scales are bytes of
 * float8e4m3fn, times one float32 for all. */
#include <inttypes.h>

#include "base/alloc.h"
#include "ops/class_check.h"
#include "ops/class_rows.h"
#include "ops/gemm.h"
#include "tensor/convert.h"

enum { A, B, SCALES, A_SCALE, FP8_BIAS, GLOBAL = 3, FP4_BIAS = 5 };
enum { FP8, FP4 };

static const op_attr_def FP8_ATTRS[] = {
    {"block_size", OP_ATTR_INT, false, "128", .range = "1..2147483647"},
    {NULL},
};
static const op_attr_def FP4_ATTRS[] = {
    {"block_size", OP_ATTR_INT, false, "16", .range = "1..2147483647"},
    {NULL},
};

static bool is_fp4(const op_node *n)
{
    return n->def->user == FP4;
}

static int64_t block_size(const op_node *n)
{
    return op_attr_int(n, "block_size", is_fp4(n) ? 16 : 128);
}

static pgy_status check_scalar(op_infer *c, size_t i, pgy_error *err)
{
    const op_value *v = &c->inputs[i];
    dim count;
    if (!op_has_input(c, i) || !rule_count(c, &count, v->rank, v->dims) || !dim_is_const(count) ||
        count.value == 1)
        return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE, "input %zu has %" PRId64 " elements, but needs 1", i,
                    count.value);
}

static pgy_status check_weights(op_infer *c, dim *columns, dim *inner, pgy_error *err)
{
    pgy_status st = rank_check(c, B, 2, 2, err);
    if (!st) st = rank_check(c, SCALES, 2, 2, err);
    if (!st) st = rank_check(c, is_fp4(c->node) ? FP4_BIAS : FP8_BIAS, 1, 1, err);
    for (size_t i = A_SCALE; !st && i < (is_fp4(c->node) ? 5 : 4); i++)
        st = check_scalar(c, i, err);
    if (st || !rank_known(c, B)) return st;
    const op_value *b = &c->inputs[B];
    const dim block = dim_const(block_size(c->node));
    *columns = b->dims[0];
    *inner = is_fp4(c->node) ? dim_mul(c->dims, b->dims[1], dim_const(2)) : b->dims[1];
    st = dim_check(c, SCALES, 0, *columns, "the rows of the weight", err);
    if (!st)
        st = dim_check(
            c, SCALES, 1,
            dim_div_floor(c->dims, dim_add(c->dims, *inner, dim_const(block.value - 1)), block),
            "the number of blocks", err);
    if (!st)
        st = dim_check(c, is_fp4(c->node) ? FP4_BIAS : FP8_BIAS, 0, *columns,
                       "the rows of the weight", err);
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *a = &c->inputs[A];
    dim columns = dim_unknown(c->dims, "the shape of the weight is not known"), inner = columns;
    pgy_status st = rank_check(c, A, 1, PGY_MAX_RANK, err);
    if (!st) st = check_weights(c, &columns, &inner, err);
    if (st) return st;
    if (a->rank < 0) {
        op_set_unknown(c, 0, a->dtype, -1, "the shape of the input is not known");
        return PGY_OK;
    }
    const size_t last = (size_t)a->rank - 1;
    if (rank_known(c, B)) st = dim_check(c, A, last, inner, "the width of the weight", err);
    dim *dims = rule_copy_dims(c, a);
    if (st || !dims) return st ? st : rule_no_memory(c->node, err);
    dims[last] = columns;
    op_set_output(c, 0, a->dtype, a->rank, dims);
    return PGY_OK;
}

typedef struct weights {
    const op_eval *c;
    size_t inner, block, blocks;
    bool fp4;
    double *to;
} weights;

static void unpack(size_t begin, size_t end, void *user)
{
    const weights *w = user;
    const size_t bytes = w->inner / 2;
    for (size_t row = begin; row < end; row++)
        for (size_t i = 0; i < w->inner; i++) {
            const size_t at = row * w->blocks + i / w->block;
            double value;
            if (w->fp4) {
                const int64_t code = in_i64(w->c, B)[row * bytes + i / 2] >> (i % 2 * 4) & 15;
                value = f8_to_f64(PGY_F4E2M1, (uint8_t)code) *
                        f8_to_f64(PGY_F8E4M3FN, (uint8_t)in_i64(w->c, SCALES)[at]) *
                        in_f64(w->c, GLOBAL)[0];
            } else {
                value = in_f64(w->c, B)[row * w->inner + i] * in_f64(w->c, SCALES)[at];
            }
            w->to[row * w->inner + i] = value;
        }
}

/* The activations as they are multiplied: with a scale, rounded to float8. */
static pgy_status activations(double **made, const op_eval *c, pgy_error *err)
{
    const double scale = in_f64(c, A_SCALE)[0];
    const pgy_status st = workspace_alloc((void **)made, c, in_count(c, A), sizeof **made, err);
    for (size_t i = 0; !st && i < in_count(c, A); i++)
        (*made)[i] = float_round(PGY_F8E4M3FN, in_f64(c, A)[i] / scale, true) * scale;
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const bool fp4 = is_fp4(c->node);
    const size_t biased = fp4 ? FP4_BIAS : FP8_BIAS;
    double *made = NULL;
    pgy_status st = inputs_check(c, fp4 ? "FIIFff" : "FFFff", err);
    if (st || !out_count(c, 0)) return st;
    const size_t columns = (size_t)in_shape(c, B)[0];
    weights w = {c,
                 (size_t)in_shape(c, B)[1] * (fp4 ? 2 : 1),
                 (size_t)block_size(c->node),
                 (size_t)in_shape(c, SCALES)[1],
                 fp4,
                 NULL};
    const size_t rows = out_count(c, 0) / columns;
    st = workspace_alloc((void **)&w.to, c, columns * w.inner, sizeof *w.to, err);
    if (!st && !fp4 && in_f64(c, A_SCALE)) st = activations(&made, c, err);
    if (!st) {
        rows_run(columns, w.inner * 10, unpack, &w);
        st = gemm_f64(rows, columns, w.inner,
                      (gemm_matrix){made ? made : in_f64(c, A), (int64_t)w.inner, 1},
                      (gemm_matrix){w.to, 1, (int64_t)w.inner}, out_f64(c, 0), columns, false, err);
    }
    const double *bias = in_f64(c, biased);
    for (size_t i = 0; !st && bias && i < rows * columns; i++)
        out_f64(c, 0)[i] += bias[i % columns];
    mem_free(w.to);
    mem_free(made);
    return st;
}

static double flops(const op_infer *c)
{
    const op_value *b = &c->inputs[B];
    return 2 * dims_product(&c->inputs[A]) * (double)b->dims[0].value;
}

#define TYPES "float16 bfloat16"
const op_def OP_mat_mul_block_quantized[] = {
    {"MatMulBlockQuantizedFp8Weight", "com.microsoft", 1, 0, 3, 5, 1, 1, 0, FP8_ATTRS, TYPES, infer,
     eval, flops, FP8,
     .signature = "T = " TYPES "; A:T, B:float8e4m3fn, b_scale:float32, ?a_scale:float32, ?bias:T "
                  "-> Y:T"},
    {"MatMulBlockQuantizedFp4Weight", "com.microsoft", 1, 0, 4, 6, 1, 1, 0, FP4_ATTRS, TYPES, infer,
     eval, flops, FP4,
     .signature = "T = " TYPES "; A:T, B:uint8, weight_scale:uint8, weight_scale_2:float32, "
                  "?input_scale:float32, ?bias:T -> Y:T"},
    {NULL},
};
