/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rule and computation of HannWindow, HammingWindow and BlackmanWindow. */
#include "ops/class_window_function.h"

#include <math.h>

static const double TURN = 6.283185307179586476925286766559;

const op_attr_def window_function_attrs[] = {
    {"output_datatype", OP_ATTR_INT, false, "1"},
    {"periodic", OP_ATTR_INT, false, "1"},
    {NULL},
};

pgy_status window_function_type(pgy_dtype *out, const op_node *n, const char *name, pgy_error *err)
{
    const int64_t code = op_attr_int(n, name, 1);
    *out = code > 0 && code < 1000 ? pgy_dtype_from_onnx((int)code) : PGY_DTYPE_NONE;
    if (*out && (pgy_dtype_is_float(*out) || pgy_dtype_is_integer(*out))) return PGY_OK;
    return op_error(n, err, PGY_E_TYPE, "attribute %s is %lld, which is not a numeric type", name,
                    (long long)code);
}

void window_function_store(pgy_tensor *y, size_t i, double value)
{
    void *data = pgy_tensor_data(y);
    if (pgy_tensor_dtype(y) == PGY_F64)
        ((double *)data)[i] = value;
    else
        ((int64_t *)data)[i] = rule_truncate(value);
}

pgy_status window_function_infer(op_infer *c, pgy_error *err)
{
    const dim *size;
    size_t count;
    pgy_dtype dtype;
    pgy_status st = window_function_type(&dtype, c->node, "output_datatype", err);
    dim *dims = op_dims(c, 1);
    if (st) return st;
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = dim_unknown(c->dims, "the size of the window is computed at run time");
    if (rule_values(c, 0, &size, &count)) {
        if (count != 1)
            return op_error(c->node, err, PGY_E_SHAPE, "input 0 (size) has %zu elements, not one",
                            count);
        if (rule_is_negative(*size))
            return op_error(c->node, err, PGY_E_SHAPE,
                            "input 0 (size) is %lld, but must not be negative",
                            (long long)size->value);
        dims[0] = *size;
    }
    op_set_output(c, 0, dtype, 1, dims);
    return PGY_OK;
}

pgy_status window_function_eval(op_eval *c, pgy_error *err)
{
    const double *terms = c->node->def->user_data;
    pgy_tensor *y;
    const pgy_status st = rule_output(c, 0, &y, err);
    if (st) return st;
    const size_t count = pgy_tensor_count(y);
    const bool periodic = op_attr_int(c->node, "periodic", 1) != 0;
    const double whole = (double)(periodic || count < 2 ? count : count - 1);
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (int k = 0; k < WINDOW_FUNCTION_TERMS; k++)
            sum += terms[k] * cos(TURN * (double)i * k / whole);
        window_function_store(y, i, count == 1 && !periodic ? 1 : sum);
    }
    return PGY_OK;
}
