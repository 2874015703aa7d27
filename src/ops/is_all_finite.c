/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft IsAllFinite: true if no element of any input is infinite or NaN; isinf_only and
 * isnan_only restrict the test to one of both. */
#include <math.h>

#include "ops/class_check.h"

static const op_attr_def ATTRS[] = {
    {"isinf_only", OP_ATTR_INT, false, "0"},
    {"isnan_only", OP_ATTR_INT, false, "0"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    if (op_attr_int(c->node, "isinf_only", 0) && op_attr_int(c->node, "isnan_only", 0))
        return op_error(c->node, err, PGY_E_ARGUMENT, "isinf_only and isnan_only are both set");
    op_set_output(c, 0, PGY_BOOL, 0, NULL);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const bool inf = !op_attr_int(c->node, "isnan_only", 0);
    const bool nan = !op_attr_int(c->node, "isinf_only", 0);
    bool found = false;
    for (size_t k = 0; k < c->node->input_count; k++) {
        if (!op_has_value(c, k)) continue;
        if (pgy_tensor_dtype(c->inputs[k].value) != PGY_F64)
            return op_error(c->node, err, PGY_E_TYPE, "input %zu has type %s", k,
                            pgy_dtype_name(c->inputs[k].dtype));
        const double *x = in_f64(c, k);
        for (size_t i = 0; i < in_count(c, k); i++)
            found |= (inf && isinf(x[i])) || (nan && isnan(x[i]));
    }
    *(uint8_t *)out_data(c, 0) = !found;
    return PGY_OK;
}

const op_def OP_is_all_finite[] = {
    {"IsAllFinite", "com.microsoft", 1, 0, 1, 255, 1, 1, OP_VARIADIC_INPUTS, ATTRS, TYPES_F4, infer,
     eval, NULL, .signature = "V = float16 float32 float64 bfloat16; *input:V -> output:bool"},
    {NULL},
};
