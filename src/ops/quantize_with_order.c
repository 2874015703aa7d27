/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QuantizeWithOrder and DequantizeWithOrder: int8 with a scale, and another memory
 * order. */
#include "ops/class_ordered.h"
#include "ops/class_quantize.h"
#include "tensor/convert.h"

static const op_attr_def QUANTIZE_ATTRS[] = {
    ORDERED_ATTR("order_input", true),
    ORDERED_ATTR("order_output", true),
    {NULL},
};

static const op_attr_def DEQUANTIZE_ATTRS[] = {
    ORDERED_ATTR("order_input", true),
    ORDERED_ATTR("order_output", true),
    {"to", OP_ATTR_INT, true, NULL},
    {NULL},
};

static pgy_status infer_as(op_infer *c, pgy_dtype dtype)
{
    op_set_like(c, 0, 0);
    c->outputs[0].dtype = dtype;
    return PGY_OK;
}

static pgy_status infer_quantize(op_infer *c, pgy_error *err)
{
    (void)err;
    return infer_as(c, PGY_I8);
}

static pgy_status infer_dequantize(op_infer *c, pgy_error *err)
{
    pgy_dtype to;
    const pgy_status st = quantize_type(&to, c->node, "to", err);
    if (st) return st;
    if (to != PGY_F32 && to != PGY_F16)
        return op_error(c->node, err, PGY_E_TYPE,
                        "attribute to is %s, but must be float32 or float16",
                        to ? pgy_dtype_name(to) : "no type");
    return infer_as(c, to);
}

static ordered_order order_of(const op_node *n, const char *attr)
{
    return (ordered_order)op_attr_int(n, attr, ORDERED_ROW);
}

typedef struct reorder {
    ordered_matrix m;
    ordered_order from, to;
    double scale;
} reorder;

static pgy_status read_reorder(reorder *r, const op_eval *c, pgy_error *err)
{
    r->m = ordered_matrix_of(in_shape(c, 0), in_rank(c, 0));
    r->from = order_of(c->node, "order_input");
    r->to = order_of(c->node, "order_output");
    pgy_status st = ordered_scale(&r->scale, c, 1, err);
    if (!st) st = ordered_fits(c, &r->m, r->from, err);
    return st ? st : ordered_fits(c, &r->m, r->to, err);
}

/* Where the n-th element in row-major order is read and written. */
static void places_of(const reorder *r, size_t n, size_t *from, size_t *to)
{
    const size_t size = r->m.rows * r->m.columns, matrix = n / size * size;
    const size_t row = n % size / r->m.columns, column = n % r->m.columns;
    *from = matrix + ordered_place(r->from, &r->m, row, column);
    *to = matrix + ordered_place(r->to, &r->m, row, column);
}

static pgy_status eval_quantize(op_eval *c, pgy_error *err)
{
    reorder r;
    pgy_status st = inputs_check(c, "FF", err);
    if (!st) st = read_reorder(&r, c, err);
    if (st) return st;
    for (size_t n = 0, from, to; n < in_count(c, 0); n++) {
        places_of(&r, n, &from, &to);
        out_i64(c, 0)[to] = ordered_byte(in_f64(c, 0)[from] / r.scale);
    }
    return PGY_OK;
}

static pgy_status eval_dequantize(op_eval *c, pgy_error *err)
{
    reorder r;
    pgy_status st = inputs_check(c, "IF", err);
    if (!st) st = read_reorder(&r, c, err);
    if (st) return st;
    for (size_t n = 0, from, to; n < in_count(c, 0); n++) {
        places_of(&r, n, &from, &to);
        out_f64(c, 0)[to] = (double)in_i64(c, 0)[from] * r.scale;
    }
    return PGY_OK;
}

const op_def OP_quantize_with_order[] = {
    {"QuantizeWithOrder", "com.microsoft", 1, 0, 2, 2, 1, 1, 0, QUANTIZE_ATTRS, "float16 float32",
     infer_quantize, eval_quantize, NULL,
     .signature = "Q = int8; F = float16 float32; S = float32; input:F, scale_input:S -> output:Q"},
    {"DequantizeWithOrder", "com.microsoft", 1, 0, 2, 2, 1, 1, 0, DEQUANTIZE_ATTRS, "int8",
     infer_dequantize, eval_dequantize, NULL,
     .signature = "Q = int8; F = float16 float32; S = float32; input:Q, scale_input:S -> output:F"},
    {NULL},
};
