/* SPDX-License-Identifier: Apache-2.0 */
/* Upsample: the predecessor of Resize, with scales as attribute (7) or input (9), removed in
 * version 10. See class_resize.h. */
#include "ops/class_resize.h"

static const op_attr_def ATTRS_7[] = {
    {"mode", OP_ATTR_STRING, false, "nearest"},
    {"scales", OP_ATTR_FLOATS, true, NULL},
    {NULL},
};
static const op_attr_def ATTRS_9[] = {{"mode", OP_ATTR_STRING, false, "nearest"}, {NULL}};

/* Reads scales as doubles (PGY_MAX_RANK entries). False: unknown. */
static bool read_scales(double *to, size_t *count, const op_node *n, const pgy_tensor *input)
{
    const float *values = op_attr_floats(n, "scales", count);
    if (n->def->since >= 9) {
        if (!input || pgy_tensor_dtype(input) != PGY_F64) return false;
        *count = pgy_tensor_count(input);
    }
    for (size_t i = 0; i < *count && i < PGY_MAX_RANK; i++)
        to[i] =
            n->def->since >= 9 ? ((const double *)pgy_tensor_data(input))[i] : (double)values[i];
    return true;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    double scales[PGY_MAX_RANK];
    size_t count = 0;
    const op_value *x = &c->inputs[0];
    const pgy_tensor *input = c->node->input_count > 1 ? c->inputs[1].data : NULL;
    if (x->rank < 0 || !read_scales(scales, &count, c->node, input)) {
        op_set_unknown(c, 0, x->dtype, x->rank, "the input's shape or the scales are not known");
        return PGY_OK;
    }
    pgy_status st = rule_check_rank(c->node, x->rank, err);
    if (st) return st;
    if (count != (size_t)x->rank)
        return op_error(c->node, err, PGY_E_SHAPE, "there are %zu scales for an input of rank %d",
                        count, (int)x->rank);
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = 0; !st && i < count; i++)
        st = resize_scaled(&dims[i], c, dims[i], scales[i], err);
    if (st) return st;
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    double scales[PGY_MAX_RANK];
    resize_axis axes[PGY_MAX_RANK];
    size_t count = 0;
    resize_settings s = {.coords = RESIZE_ASYMMETRIC, .rounding = RESIZE_FLOOR_UP_CEIL_DOWN};
    pgy_status st = inputs_check(c, c->node->def->since >= 9 ? "!F" : "!", err);
    if (st) return st;
    if (op_attr_is(c->node, "mode", "linear", "nearest"))
        s.mode = RESIZE_LINEAR;
    else if (!op_attr_is(c->node, "mode", "nearest", "nearest"))
        return op_error(c->node, err, PGY_E_ARGUMENT, "attribute mode must be nearest or linear");
    if (!read_scales(scales, &count, c->node,
                     c->node->input_count > 1 ? c->inputs[1].value : NULL) ||
        count != in_rank(c, 0))
        return op_error(c->node, err, PGY_E_SHAPE, "there are %zu scales for an input of rank %zu",
                        count, in_rank(c, 0));
    for (size_t i = 0; i < count; i++) axes[i] = (resize_axis){scales[i], 0, 1};
    return resize_run(c, &s, axes, err);
}

#define ROW(version, gone, inputs, attrs)                                                       \
    {                                                                                           \
        "Upsample", "", version, gone, inputs, inputs, 1, 1, 0, attrs, "all", infer, eval, NULL \
    }
const op_def OP_upsample[] = {
    ROW(7, 0, 1, ATTRS_7), ROW(9, 0, 2, ATTRS_9), ROW(10, 10, 2, ATTRS_9), {NULL}};
