/* SPDX-License-Identifier: Apache-2.0 */
/* BitCast: the same bits read as another type of the same size. */
#include "ops/class_quantize.h"

static const op_attr_def ATTRS[] = {
    {"to", OP_ATTR_INT, true, NULL},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    pgy_dtype to;
    pgy_status st = quantize_type(&to, c->node, "to", err);
    if (st) return st;
    if (!to || to == PGY_STRING || x->dtype == PGY_STRING)
        return op_error(c->node, err, PGY_E_TYPE,
                        "BitCast does not take strings or undefined types");
    if (x->dtype && pgy_dtype_describe(x->dtype)->bits != pgy_dtype_describe(to)->bits)
        return op_error(c->node, err, PGY_E_TYPE, "%s and %s have different sizes in bits",
                        pgy_dtype_name(x->dtype), pgy_dtype_name(to));
    op_set_output(c, 0, to, x->rank, x->dims);
    return PGY_OK;
}

/* Converts storage to the declared type to get its bits, relabels them, and converts back to
 * storage. */
static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *bits = NULL, *relabelled = NULL, *y = NULL;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = op_from_storage(&bits, x, c->inputs[0].dtype, err);
    if (!st)
        st = pgy_tensor_copy(&relabelled,
                             pgy_view_of(pgy_tensor_data(bits), c->outputs[0].dtype,
                                         pgy_tensor_rank(bits), pgy_tensor_shape(bits)),
                             err);
    if (!st) st = op_to_storage(&y, relabelled, err);
    if (!st) {
        uint8_t *truth = pgy_tensor_dtype(y) == PGY_BOOL ? pgy_tensor_data(y) : NULL;
        for (size_t i = 0; truth && i < pgy_tensor_count(y); i++) truth[i] = truth[i] != 0;
        pgy_tensor_release(c->outputs[0].value);
        c->outputs[0].value = y;
    }
    pgy_tensor_release(bits);
    pgy_tensor_release(relabelled);
    return st;
}

const op_def OP_bit_cast[] = {
    RULE_ROW("BitCast", 26, 1, 1, ATTRS, infer, eval),
    {0},
};
