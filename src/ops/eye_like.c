/* SPDX-License-Identifier: Apache-2.0 */
/* EyeLike: ones on the k-th diagonal of a matrix of the input's shape. */
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"dtype", OP_ATTR_INT, false, NULL},
    {"k", OP_ATTR_INT, false, "0"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const int64_t code = op_attr_int(c->node, "dtype", 0);
    if (x->rank >= 0 && x->rank != 2)
        return op_error(c->node, err, PGY_E_SHAPE, "the input has rank %d, but must have rank 2",
                        x->rank);
    pgy_dtype dtype = x->dtype;
    if (op_attr_find(c->node, "dtype"))
        dtype = code > 0 && code < 1000 ? pgy_dtype_from_onnx((int)code) : PGY_DTYPE_NONE;
    if (op_attr_find(c->node, "dtype") && (!dtype || dtype == PGY_STRING))
        return op_error(c->node, err, PGY_E_TYPE,
                        "attribute dtype is %lld, which is not a numeric type", (long long)code);
    if (x->rank < 0)
        op_set_unknown(c, 0, dtype, 2, "the shape of the input is not known");
    else
        op_set_output(c, 0, dtype, 2, x->dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *y;
    pgy_status st = rule_output(c, 0, &y, err);
    if (st) return st;
    const int64_t rows = pgy_tensor_shape(y)[0], columns = pgy_tensor_shape(y)[1];
    const int64_t k = op_attr_int(c->node, "k", 0);
    void *data = pgy_tensor_data(y); /* outputs begin as zeros */
    if (k <= -rows || k >= columns) return PGY_OK;
    for (int64_t r = k < 0 ? -k : 0; r < rows && r + k < columns; r++) {
        const size_t at = (size_t)(r * columns + r + k);
        switch (pgy_tensor_dtype(y)) {
        case PGY_F64: ((double *)data)[at] = 1; break;
        case PGY_C128: ((double *)data)[2 * at] = 1; break;
        case PGY_BOOL: ((uint8_t *)data)[at] = 1; break;
        case PGY_I64:
        case PGY_U64: ((uint64_t *)data)[at] = 1; break;
        default:
            return op_error(c->node, err, PGY_E_TYPE, "type %s cannot represent 1",
                            pgy_dtype_name(c->outputs[0].dtype));
        }
    }
    return PGY_OK;
}

const op_def OP_eye_like[] = {
    RULE_ROW("EyeLike", 9, 1, 1, ATTRS, infer, eval),
    {0},
};
