/* SPDX-License-Identifier: Apache-2.0 */
/* ModelOpt's blocked quantisation for TensorRT (domain "trt"): each block's largest magnitude m
 * gives its scale. MXFP8: 8-bit floats; the scale is the least power of two not below m / 448,
 * stored as its biased exponent. FP4: 4-bit floats; the scale is an 8-bit float, m / 6 divided by a
 * scale for the whole tensor. TRT_FP4QDQ quantises weights like FP4 and dequantises them again. */
#include <inttypes.h>
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_quantize.h"
#include "ops/class_rows.h"
#include "tensor/convert.h"

enum { MXFP8, MXFP8_BACK, FP4, FP4_BOTH }; /* op_def.user */
static const double FP8_MOST = 448, FP4_MOST = 6;

static const op_attr_def ATTRS_32[] = {
    {"axis", OP_ATTR_INT, false, "-1"},
    {"block_size", OP_ATTR_INT, false, "32"},
    {"output_dtype", OP_ATTR_INT, false, NULL},
    {NULL},
};

static const op_attr_def ATTRS_16[] = {
    {"axis", OP_ATTR_INT, false, "-1"},
    {"block_size", OP_ATTR_INT, false, "16"},
    {"scale_type", OP_ATTR_INT, false, "17"},
    {NULL},
};

static pgy_status read_block(int64_t *block, const op_node *n, pgy_error *err)
{
    *block = op_attr_int(n, "block_size", 0);
    if (*block >= 1 && *block <= INT32_MAX) return PGY_OK;
    return op_error(n, err, PGY_E_ARGUMENT,
                    "attribute block_size is %" PRId64 ", but must be positive", *block);
}

/* The shape of the scales. */
static pgy_status set_scales(op_infer *c, pgy_dtype dtype, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    int64_t block;
    size_t axis;
    pgy_status st = read_block(&block, c->node, err);
    if (st || c->node->output_count < 2) return st;
    if (x->rank < 0) {
        op_set_unknown(c, 1, dtype, -1, "the shape of the input is not known");
        return PGY_OK;
    }
    st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), x->rank, err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    dims[axis] = dim_div_ceil(c->dims, x->dims[axis], dim_const(block));
    op_set_output(c, 1, dtype, x->rank, dims);
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const int which = c->node->def->user;
    pgy_dtype type;
    pgy_status st = quantize_type(&type, c->node, "output_dtype", err);
    if (st) return st;
    op_set_like(c, 0, 0);
    if (which == MXFP8_BACK) c->outputs[0].dtype = type ? type : PGY_F32;
    if (which == MXFP8) c->outputs[0].dtype = type ? type : PGY_F8E4M3FN;
    if (which == FP4) c->outputs[0].dtype = PGY_F4E2M1;
    if (!pgy_dtype_is_float(c->outputs[0].dtype) && c->outputs[0].dtype)
        return op_error(c->node, err, PGY_E_TYPE,
                        "attribute output_dtype is %s, which is not a float type",
                        pgy_dtype_name(c->outputs[0].dtype));
    return set_scales(c, which == MXFP8 ? PGY_U8 : PGY_F8E4M3FN, err);
}

typedef struct blocks {
    const op_eval *c;
    axis_view view;
    size_t block, count; /* block: elements of a block; count: blocks along the axis */
    double scale;        /* FP4: the scale of the whole tensor */
    pgy_dtype type;      /* MXFP8: the 8-bit type of the elements */
} blocks;

static double *cell(double *data, const blocks *b, size_t run, size_t i)
{
    return data + (run / b->view.inner * b->view.length + i) * b->view.inner + run % b->view.inner;
}

static const double *input_cell(const blocks *b, size_t run, size_t i)
{
    return cell((double *)pgy_tensor_data(b->c->inputs[0].value), b, run, i);
}

/* The biased exponent of the least power of two that is not below x. */
static int64_t exponent_of(double x)
{
    int exponent;
    if (!(x > 0)) return isnan(x) ? 255 : 0;
    if (isinf(x)) return 254;
    if (frexp(x, &exponent) == 0.5) exponent--;
    exponent += 127;
    return exponent < 0 ? 0 : exponent > 254 ? 254 : exponent;
}

static void quantise_block(const blocks *b, size_t run, size_t block, size_t begin, size_t end)
{
    const op_eval *c = b->c;
    const int which = c->node->def->user;
    const size_t at =
        (run / b->view.inner * b->count + block) * b->view.inner + run % b->view.inner;
    double most = 0, scale;
    for (size_t i = begin; i < end; i++) most = fmax(most, fabs(*input_cell(b, run, i)));
    if (which == MXFP8) {
        const int64_t exponent = exponent_of(most / FP8_MOST);
        if (out_i64(c, 1)) out_i64(c, 1)[at] = exponent;
        scale = exponent == 255 ? NAN : ldexp(1, (int)exponent - 127);
    } else {
        scale = b->scale == 0 ? 0 : float_round(PGY_F8E4M3FN, most / FP4_MOST / b->scale, true);
        if (which == FP4 && out_f64(c, 1)) out_f64(c, 1)[at] = scale;
        scale *= b->scale;
    }
    for (size_t i = begin; i < end; i++) {
        const double v = scale == 0 ? 0 : *input_cell(b, run, i) / scale;
        const double q = float_round(which == MXFP8 ? b->type : PGY_F4E2M1, v, true);
        *cell(out_f64(c, 0), b, run, i) = which == FP4_BOTH ? q * scale : q;
    }
}

static void quantise(size_t begin, size_t end, void *user)
{
    const blocks *b = user;
    for (size_t run = begin; run < end; run++)
        for (size_t k = 0; k < b->count; k++) {
            const size_t last = (k + 1) * b->block;
            quantise_block(b, run, k, k * b->block, last < b->view.length ? last : b->view.length);
        }
}

/* Scales are exponents in bytes, or floats of a type that holds only exponents. */
static void dequantise(size_t begin, size_t end, void *user)
{
    const blocks *b = user;
    const bool bytes = pgy_tensor_dtype(b->c->inputs[1].value) == PGY_I64;
    for (size_t run = begin; run < end; run++)
        for (size_t i = 0; i < b->view.length; i++) {
            const size_t at = (run / b->view.inner * b->count + i / b->block) * b->view.inner +
                              run % b->view.inner;
            double scale;
            if (bytes) {
                const int64_t e = in_i64(b->c, 1)[at] & 255;
                scale = e == 255 ? NAN : ldexp(1, (int)e - 127);
            } else {
                scale = in_f64(b->c, 1)[at];
            }
            *cell(out_f64(b->c, 0), b, run, i) = *input_cell(b, run, i) * scale;
        }
}

static pgy_status check_back(const blocks *b, pgy_error *err)
{
    const op_eval *c = b->c;
    const pgy_dtype held = pgy_tensor_dtype(c->inputs[1].value);
    if (held != PGY_I64 && held != PGY_F64)
        return op_error(c->node, err, PGY_E_TYPE, "the scales have type %s, which is not supported",
                        pgy_dtype_name(c->inputs[1].dtype));
    if (in_count(c, 1) != b->view.outer * b->count * b->view.inner)
        return op_error(c->node, err, PGY_E_SHAPE, "there are %zu scales, but %zu blocks",
                        in_count(c, 1), b->view.outer * b->count * b->view.inner);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const int which = c->node->def->user;
    int64_t block;
    size_t axis;
    blocks b = {.c = c, .scale = 1, .type = c->outputs[0].dtype};
    pgy_status st = inputs_check(c, which == FP4 ? "FF" : which == MXFP8_BACK ? "F!" : "F", err);
    if (!st) st = read_block(&block, c->node, err);
    if (!st)
        st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), (int32_t)in_rank(c, 0), err);
    if (st || !in_count(c, 0)) return st;
    b.view = axis_view_of(in_shape(c, 0), in_rank(c, 0), axis, axis + 1);
    b.block = (size_t)block;
    b.count = (b.view.length + b.block - 1) / b.block;
    if (which == FP4 && in_count(c, 1) != 1)
        return op_error(c->node, err, PGY_E_SHAPE, "the scale has %zu elements, but must have one",
                        in_count(c, 1));
    if (which == FP4) b.scale = in_f64(c, 1)[0];
    if (which == FP4_BOTH) {
        double most = 0;
        for (size_t i = 0; i < in_count(c, 0); i++) most = fmax(most, fabs(in_f64(c, 0)[i]));
        b.scale = most / (FP4_MOST * FP8_MOST);
    }
    if (which == MXFP8_BACK) st = check_back(&b, err);
    if (!st)
        rows_run(b.view.outer * b.view.inner, b.view.length * 32,
                 which == MXFP8_BACK ? dequantise : quantise, &b);
    return st;
}

#define ROW(op, inputs, outputs, attrs, words, which, text)                                     \
    {                                                                                           \
        op, "trt", 1, 0, inputs, inputs, 1, outputs, 0, attrs, words, infer, eval, NULL, which, \
            NULL, .signature = text                                                             \
    }
#define FLOATS "float16 float32 bfloat16"
const op_def OP_trt_dynamic_quantize[] = {
    ROW("TRT_MXFP8DynamicQuantize", 1, 2, ATTRS_32, FLOATS, MXFP8,
        "T = float16 float32 bfloat16; Q = float8e4m3fn float8e5m2; x:T -> y:Q, ?scales:uint8"),
    ROW("TRT_MXFP8DequantizeLinear", 2, 1, ATTRS_32, "float8e4m3fn float8e5m2", MXFP8_BACK,
        "Q = float8e4m3fn float8e5m2; T = float16 float32 bfloat16; x:Q, scales:uint8 -> y:T"),
    ROW("TRT_FP4DynamicQuantize", 2, 2, ATTRS_16, FLOATS, FP4,
        "T = float16 float32 bfloat16; S = float16 float32 bfloat16; x:T, scale:S -> y:float4, "
        "?scales:float8e4m3fn"),
    ROW("TRT_FP4QDQ", 1, 1, ATTRS_16, FLOATS, FP4_BOTH, "T = float16 float32 bfloat16; x:T -> y:T"),
    {NULL},
};
