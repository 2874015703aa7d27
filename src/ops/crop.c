/* SPDX-License-Identifier: Apache-2.0 */
/* Crop: an image without its border, or the part of size `scale` behind the left and top border. An
 * experimental operator of ONNX that models before opset 10 may have. */
#include <inttypes.h>

#include "ops/class_check.h"
#include "ops/move.h"

enum { LEFT, TOP, RIGHT, BOTTOM };

static const op_attr_def ATTRS[] = {
    {"border", OP_ATTR_INTS, true, NULL, NULL, "0..2147483647"},
    {"scale", OP_ATTR_INTS, false, NULL, NULL, "0..2147483647"},
    {0},
};

typedef struct crop {
    const int64_t *border, *scale; /* scale: height and width, or NULL */
} crop;

static pgy_status read_crop(crop *p, const op_node *n, pgy_error *err)
{
    size_t borders, scales;
    p->border = op_attr_ints(n, "border", &borders);
    p->scale = op_attr_ints(n, "scale", &scales);
    if (borders != 4 || (scales && scales != 2))
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attributes border and scale have %zu and %zu values, but need 4 and 2",
                        borders, scales);
    if (!scales) p->scale = NULL;
    return PGY_OK;
}

/* The size that is left of an axis from which `before` and `after` are cut, or which is cut to
 * `size`. */
static pgy_status cut(dim *out, op_infer *c, const crop *p, size_t axis, pgy_error *err)
{
    const dim in = c->inputs[0].dims[axis];
    const int64_t before = p->border[axis == 2 ? TOP : LEFT];
    const int64_t after = p->border[axis == 2 ? BOTTOM : RIGHT];
    const int64_t taken = before + (p->scale ? p->scale[axis - 2] : after);
    *out = p->scale ? dim_const(p->scale[axis - 2]) : dim_sub(c->dims, in, dim_const(taken));
    if (!dim_is_const(in) || taken <= in.value) return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "axis %zu has size %" PRId64 ", but border and scale take %" PRId64, axis,
                    in.value, taken);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    crop p;
    pgy_status st = rank_check(c, 0, 4, 4, err);
    if (!st) st = read_crop(&p, c->node, err);
    if (st) return st;
    if (!rank_known(c, 0)) {
        op_set_unknown(c, 0, c->inputs[0].dtype, 4, "the input's shape is not known");
        return PGY_OK;
    }
    dim *dims = rule_copy_dims(c, &c->inputs[0]);
    if (!dims) return rule_no_memory(c->node, err);
    st = cut(&dims[2], c, &p, 2, err);
    if (!st) st = cut(&dims[3], c, &p, 3, err);
    if (!st) op_set_output(c, 0, c->inputs[0].dtype, 4, dims);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    crop p;
    ptrdiff_t strides[PGY_MAX_RANK];
    move_box box;
    pgy_status st = inputs_check(c, "F", err);
    if (!st) st = read_crop(&p, c->node, err);
    if (st || !out_count(c, 0)) return st;
    move_strides(strides, 4, in_shape(c, 0));
    move_box_init(&box, 4, out_shape(c, 0));
    for (size_t d = 0; d < 4; d++) box.from[d] = strides[d];
    const ptrdiff_t first = p.border[TOP] * strides[2] + p.border[LEFT] * strides[3];
    move_copy(out_f64(c, 0), in_f64(c, 0) + first, sizeof(double), &box);
    return PGY_OK;
}

const op_def OP_crop[] = {
    {.name = "Crop",
     .domain = "",
     .since = 1,
     .deprecated = 10,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .flags = OP_FILLS,
     .attrs = ATTRS,
     .types = TYPES_F3,
     .infer = infer,
     .eval = eval,
     .flops = rule_no_flops},
    {0},
};
