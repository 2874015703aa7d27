/* SPDX-License-Identifier: Apache-2.0 */
/* Concat: inputs one after the other along an axis. */
#include <string.h>

#include "ops/move.h"
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, true, NULL},
    {0},
};

/* Concatenates known elements of integer inputs (shape arithmetic). An input whose elements are
 * unknown, but whose length is known, contributes unknown dims. */
static void propagate(op_infer *c)
{
    const op_value *y = &c->outputs[0];
    if (y->rank != 1 || !dim_is_const(y->dims[0]) || y->dims[0].value > RULE_MAX_ELEMENTS) return;
    const dim *values;
    size_t at = 0, count;
    bool any = false;
    for (size_t k = 0; !any && k < c->node->input_count; k++)
        any = rule_values(c, k, &values, &count);
    if (!any) return; /* unknown dims cost time */
    const size_t total = (size_t)y->dims[0].value;
    dim *elements = op_dims(c, total + 1);
    for (size_t k = 0; elements && k < c->node->input_count; k++) {
        const dim length = c->inputs[k].dims[0];
        if (!rule_values(c, k, &values, &count)) {
            if (!dim_is_const(length)) return;
            values = NULL;
            count = (size_t)length.value;
        }
        if (count > total - at) return;
        for (size_t i = 0; i < count; i++)
            elements[at++] =
                values
                    ? values[i]
                    : dim_unknown(c->dims, "a value of the concatenation is computed at run time");
    }
    if (at == total) rule_set_elements(c, 0, elements, total);
}

static pgy_status join(op_infer *c, dim *dims, const op_value *v, size_t k, size_t axis,
                       int32_t rank, pgy_error *err)
{
    if (v->rank != rank)
        return op_error(c->node, err, PGY_E_SHAPE, "input %zu has rank %d, but input 0 has rank %d",
                        k, v->rank, rank);
    for (int32_t d = 0; d < rank; d++) {
        if ((size_t)d == axis) {
            dims[d] = dim_add(c->dims, dims[d], v->dims[d]);
        } else if (!op_unify(&dims[d], dims[d], v->dims[d])) {
            str text = {0};
            op_print_shape(&text, v->rank, v->dims);
            pgy_status st = op_error(
                c->node, err, PGY_E_SHAPE,
                "input %zu of shape %s does not fit the other inputs: only axis %d may differ", k,
                str_text(&text), d);
            str_deinit(&text);
            return st;
        }
    }
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    size_t axis = 0;
    int32_t rank = -1;
    for (size_t k = 0; k < c->node->input_count; k++)
        if (c->inputs[k].rank >= 0) rank = c->inputs[k].rank;
    pgy_status st = rule_check_rank(c->node, rank, err);
    if (!st && rank >= 0) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), rank, err);
    if (st) return st;
    for (size_t k = 0; k < c->node->input_count; k++) {
        if (c->inputs[k].rank >= 0) continue;
        op_set_unknown(c, 0, x->dtype, rank, "the shape of an input is not known");
        return PGY_OK;
    }
    if (x->rank != rank)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the inputs have ranks %d and %d, which must be equal", x->rank, rank);
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t k = 1; k < c->node->input_count && !st; k++)
        st = join(c, dims, &c->inputs[k], k, axis, rank, err);
    if (st) return st;
    op_set_output(c, 0, x->dtype, rank, dims);
    propagate(c);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    size_t axis;
    pgy_status st = rule_output(c, 0, &y, err);
    const int32_t rank = st ? 0 : (int32_t)pgy_tensor_rank(y);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), rank, err);
    if (st) return st;
    const size_t bytes = move_size(pgy_tensor_dtype(y));
    move_box box, whole;
    move_box_init(&whole, (size_t)rank, pgy_tensor_shape(y));
    char *to = pgy_tensor_data(y);
    for (size_t k = 0; k < c->node->input_count; k++) {
        st = rule_input(c, k, &x, err);
        if (st) return st;
        if (pgy_tensor_dtype(x) != pgy_tensor_dtype(y))
            return op_error(c->node, err, PGY_E_TYPE,
                            "input %zu has type %s, which differs from the output's", k,
                            pgy_dtype_name(c->inputs[k].dtype));
        move_box_init(&box, (size_t)rank, pgy_tensor_shape(x));
        memcpy(box.to, whole.to, sizeof box.to);
        move_copy(to, pgy_tensor_data(x), bytes, &box);
        to += box.size[axis] * (size_t)whole.to[axis] * bytes;
    }
    return move_own(y, err);
}

const op_def OP_concat[] = {
    {.name = "Concat",
     .domain = "",
     .since = 4,
     .min_inputs = 1,
     .max_inputs = 255,
     .min_outputs = 1,
     .max_outputs = 1,
     .flags = OP_VARIADIC_INPUTS | OP_SAME_TYPES | OP_FILLS,
     .attrs = ATTRS,
     .types = "",
     .infer = infer,
     .eval = eval,
     .flops = rule_no_flops},
    {0},
};
