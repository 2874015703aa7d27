/* SPDX-License-Identifier: Apache-2.0 */
/* QuantizeLinear: saturate(round(x / scale) + zero point), per tensor, per axis or per block. The
 * quotient is first rounded to the type of the scale (or attribute precision), as specified,
 * because this decides ties. */
#include "ops/class_quantize.h"
#include "tensor/convert.h"

static const op_attr_def ATTRS_13[] = {
    {"axis", OP_ATTR_INT, false, "1"},
    {0},
};
static const op_attr_def ATTRS_19[] = {
    {"axis", OP_ATTR_INT, false, "1"},
    {"saturate", OP_ATTR_INT, false, "1"},
    {0},
};
static const op_attr_def ATTRS_21[] = {
    {"axis", OP_ATTR_INT, false, "1"},
    {"saturate", OP_ATTR_INT, false, "1"},
    {"block_size", OP_ATTR_INT, false, "0", NULL, "0.."},
    {"output_dtype", OP_ATTR_INT, false, "0"},
    {0},
};
static const op_attr_def ATTRS_23[] = {
    {"axis", OP_ATTR_INT, false, "1"},
    {"saturate", OP_ATTR_INT, false, "1"},
    {"block_size", OP_ATTR_INT, false, "0", NULL, "0.."},
    {"output_dtype", OP_ATTR_INT, false, "0"},
    {"precision", OP_ATTR_INT, false, "0"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_dtype to;
    pgy_status st = quantize_type(&to, c->node, "output_dtype", err);
    if (st) return st;
    op_set_like(c, 0, 0);
    const pgy_dtype zero = op_has_input(c, 2) ? c->inputs[2].dtype : PGY_DTYPE_NONE;
    if (zero && to && zero != to)
        return op_error(c->node, err, PGY_E_TYPE,
                        "attribute output_dtype is %s, but the zero point has type %s",
                        pgy_dtype_name(to), pgy_dtype_name(zero));
    c->outputs[0].dtype = op_has_input(c, 2) ? zero : to ? to : PGY_U8;
    return PGY_OK;
}

static void quantize_floats(const op_eval *c, const quantize_grid *g, pgy_dtype precision,
                            const double *x)
{
    const pgy_dtype to = c->outputs[0].dtype;
    const bool saturate = op_attr_int(c->node, "saturate", 1) != 0;
    const double *scale = pgy_tensor_data(c->inputs[1].value);
    const double *zero = op_has_value(c, 2) ? pgy_tensor_data(c->inputs[2].value) : NULL;
    double *y = pgy_tensor_data(c->outputs[0].value);
    for (size_t i = 0; i < g->count; i++) {
        const size_t k = quantize_scale_index(g, i);
        const double v = float_round(precision, x[i] / scale[k], false);
        y[i] = float_round(to, v + (zero ? zero[k] : 0), saturate);
    }
}

static void quantize_ints(const op_eval *c, const quantize_grid *g, pgy_dtype precision,
                          const double *x)
{
    const pgy_dtype to = c->outputs[0].dtype;
    const double *scale = pgy_tensor_data(c->inputs[1].value);
    const int64_t *zero = op_has_value(c, 2) ? pgy_tensor_data(c->inputs[2].value) : NULL;
    int64_t *y = pgy_tensor_data(c->outputs[0].value);
    for (size_t i = 0; i < g->count; i++) {
        const size_t k = quantize_scale_index(g, i);
        y[i] = quantize_int(float_round(precision, x[i] / scale[k], false), zero ? zero[k] : 0, to);
    }
}

/* The input as doubles; it may be int32. */
static pgy_status float_input(const op_eval *c, pgy_tensor **out, pgy_error *err)
{
    pgy_tensor *x = c->inputs[0].value;
    if (pgy_tensor_dtype(x) == PGY_I64)
        return pgy_tensor_cast(out, pgy_tensor_view(x), PGY_F64, err);
    if (pgy_tensor_dtype(x) != PGY_F64)
        return op_error(c->node, err, PGY_E_TYPE, "an input of type %s cannot be quantised",
                        pgy_dtype_name(c->inputs[0].dtype));
    *out = pgy_tensor_retain(x);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    quantize_grid g;
    pgy_dtype precision;
    pgy_tensor *x = NULL, *y;
    pgy_status st = quantize_grid_init(&g, c, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = quantize_type(&precision, c->node, "precision", err);
    if (st) return st;
    const pgy_dtype storage = pgy_tensor_dtype(y);
    if (!precision) precision = c->inputs[1].dtype;
    if (!pgy_dtype_is_float(precision) || (storage != PGY_F64 && storage != PGY_I64) ||
        (op_has_value(c, 2) && pgy_tensor_dtype(c->inputs[2].value) != storage))
        return op_error(c->node, err, PGY_E_TYPE, "cannot quantise to %s",
                        pgy_dtype_name(c->outputs[0].dtype));
    st = float_input(c, &x, err);
    if (st) return st;
    if (storage == PGY_F64)
        quantize_floats(c, &g, precision, pgy_tensor_data(x));
    else
        quantize_ints(c, &g, precision, pgy_tensor_data(x));
    pgy_tensor_release(x);
    return PGY_OK;
}

#define ROW(version, definitions, accepted)                                        \
    {                                                                              \
        .name = "QuantizeLinear", .domain = "", .since = version, .min_inputs = 2, \
        .max_inputs = 3, .min_outputs = 1, .max_outputs = 1, .attrs = definitions, \
        .types = accepted, .infer = infer, .eval = eval                            \
    }

const op_def OP_quantize_linear[] = {
    ROW(10, NULL, "float32 int32"),
    ROW(13, ATTRS_13, "float32 int32"),
    ROW(19, ATTRS_19, "float32 float16 bfloat16 int32"),
    ROW(21, ATTRS_21, "float32 float16 bfloat16 int32"),
    ROW(23, ATTRS_23, "float32 float16 bfloat16 int32"),
    {.name = "QuantizeLinear",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 2,
     .max_inputs = 3,
     .min_outputs = 1,
     .max_outputs = 1,
     .attrs = ATTRS_21,
     .types = "float32 float16",
     .infer = infer,
     .eval = eval,
     .signature =
         "T1 = float16 float32; T2 = int8 uint8 int16 uint16 int4 uint4 float8e4m3fn "
         "float8e4m3fnuz float8e5m2 float8e5m2fnuz; x:T1, y_scale:T1, ?y_zero_point:T2 -> y:T2"},
    {0},
};
