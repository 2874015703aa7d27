/* SPDX-License-Identifier: Apache-2.0 */
/* DequantizeLinear: (x - zero point) * scale, per tensor, per axis or per block. */
#include "ops/class_quantize.h"

static const op_attr_def ATTRS_13[] = {
    {"axis", OP_ATTR_INT, false, "1"},
    {0},
};
static const op_attr_def ATTRS_21[] = {
    {"axis", OP_ATTR_INT, false, "1"},
    {"block_size", OP_ATTR_INT, false, "0", NULL, "0.."},
    {0},
};
static const op_attr_def ATTRS_23[] = {
    {"axis", OP_ATTR_INT, false, "1"},
    {"block_size", OP_ATTR_INT, false, "0", NULL, "0.."},
    {"output_dtype", OP_ATTR_INT, false, "0"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_dtype to;
    pgy_status st = quantize_type(&to, c->node, "output_dtype", err);
    if (!st) st = rule_same_type(c, 0, 2, err);
    if (st) return st;
    op_set_like(c, 0, 0);
    c->outputs[0].dtype = to ? to : c->inputs[1].dtype;
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    quantize_grid g;
    pgy_tensor *y;
    pgy_status st = quantize_grid_init(&g, c, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    const pgy_dtype storage = pgy_tensor_dtype(c->inputs[0].value);
    if ((storage != PGY_I64 && storage != PGY_F64) || pgy_tensor_dtype(y) != PGY_F64)
        return op_error(c->node, err, PGY_E_TYPE, "cannot dequantise %s to %s",
                        pgy_dtype_name(c->inputs[0].dtype), pgy_dtype_name(c->outputs[0].dtype));
    const void *x = pgy_tensor_data(c->inputs[0].value);
    const void *zero = op_has_value(c, 2) ? pgy_tensor_data(c->inputs[2].value) : NULL;
    const double *scale = pgy_tensor_data(c->inputs[1].value);
    double *to = pgy_tensor_data(y);
    for (size_t i = 0; i < g.count; i++) {
        const size_t k = quantize_scale_index(&g, i);
        if (storage == PGY_I64)
            to[i] = (double)(((const int64_t *)x)[i] - (zero ? ((const int64_t *)zero)[k] : 0)) *
                    scale[k];
        else
            to[i] = (((const double *)x)[i] - (zero ? ((const double *)zero)[k] : 0)) * scale[k];
    }
    return PGY_OK;
}

#define TYPES_8 "int8 uint8 int32"
#define TYPES_19 TYPES_8 " float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz"
#define TYPES_21 TYPES_19 " int16 uint16 int4 uint4"
#define TYPES_23 TYPES_21 " float4 int2 uint2"
#define TYPES_28 TYPES_23 " float6e2m3 float6e3m2"
#define ROW(version, definitions, accepted)                                          \
    {                                                                                \
        .name = "DequantizeLinear", .domain = "", .since = version, .min_inputs = 2, \
        .max_inputs = 3, .min_outputs = 1, .max_outputs = 1, .attrs = definitions,   \
        .types = accepted, .infer = infer, .eval = eval                              \
    }

const op_def OP_dequantize_linear[] = {
    ROW(10, NULL, TYPES_8),
    ROW(13, ATTRS_13, TYPES_8),
    ROW(19, ATTRS_13, TYPES_19),
    ROW(21, ATTRS_21, TYPES_21),
    ROW(23, ATTRS_23, TYPES_23),
    ROW(28, ATTRS_23, TYPES_28),
    {.name = "DequantizeLinear",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 2,
     .max_inputs = 3,
     .min_outputs = 1,
     .max_outputs = 1,
     .attrs = ATTRS_21,
     .types = TYPES_21,
     .infer = infer,
     .eval = eval,
     .signature =
         "T1 = int8 uint8 int16 uint16 int32 int4 uint4 float8e4m3fn float8e4m3fnuz float8e5m2 "
         "float8e5m2fnuz; T2 = float16 float32; x:T1, x_scale:T2, ?x_zero_point:T1 -> y:T2"},
    {0},
};
