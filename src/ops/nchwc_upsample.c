/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft.nchwc Upsample: enlarges a blocked image by integer factors. See class_nchwc.h. */
#include "ops/class_nchwc.h"
#include "ops/class_resize.h"

static const op_attr_def ATTRS[] = {
    NCHWC_BLOCK_ATTR,
    {"coordinate_transformation_mode", OP_ATTR_STRING, false, "asymmetric",
     "asymmetric align_corners half_pixel"},
    {"mode", OP_ATTR_STRING, false, "nearest", "nearest linear"},
    {"scales", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    size_t count, block = 0;
    const int64_t *scales = op_attr_ints(c->node, "scales", &count);
    pgy_status st = nchwc_block(&block, c->node, err);
    if (st) return st;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the rank of the image is not known");
        return PGY_OK;
    }
    if (count != (size_t)x->rank || count < 3 || scales[0] != 1 || scales[1] != 1)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "there are %zu scales for an image of rank %d; there must be one for each "
                        "axis, and 1 for batch and channels",
                        count, (int)x->rank);
    dim *dims = op_dims(c, count);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < count; i++) dims[i] = dim_mul(c->dims, x->dims[i], dim_const(scales[i]));
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

static resize_coords coords_of(const op_node *n)
{
    static const char NAME[] = "coordinate_transformation_mode", FALLBACK[] = "asymmetric";
    if (op_attr_is(n, NAME, "align_corners", FALLBACK)) return RESIZE_ALIGN_CORNERS;
    return op_attr_is(n, NAME, "half_pixel", FALLBACK) ? RESIZE_HALF_PIXEL : RESIZE_ASYMMETRIC;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    resize_axis axes[PGY_MAX_RANK];
    resize_settings s = {.coords = coords_of(c->node), .rounding = RESIZE_FLOOR};
    size_t count;
    const int64_t *scales = op_attr_ints(c->node, "scales", &count);
    op_tensor plain = {.dtype = c->inputs[0].dtype};
    pgy_tensor *y = NULL;
    pgy_status st = inputs_check(c, "F", err);
    if (st) return st;
    s.mode = op_attr_is(c->node, "mode", "linear", "nearest") ? RESIZE_LINEAR : RESIZE_NEAREST;
    for (size_t i = 0; i < count && i < PGY_MAX_RANK; i++)
        axes[i] = (resize_axis){(double)scales[i], 0, 1};
    st = nchwc_to_plain(&plain.value, c->node, c->inputs[0].value, err);
    if (!st) {
        op_eval inner = *c;
        inner.inputs = &plain;
        st = resize_run(&inner, &s, axes, err);
    }
    if (!st) st = nchwc_from_plain(&y, c->node, c->outputs[0].value, err);
    if (!st) {
        pgy_tensor_release(c->outputs[0].value);
        c->outputs[0].value = y;
    }
    op_tensor_release(&plain);
    return st;
}

const op_def OP_nchwc_upsample[] = {
    {"Upsample", NCHWC_DOMAIN, 1, 0, 1, 1, 1, 1, 0, ATTRS, "float32", infer, eval, NULL,
     .signature = "T = float32; X:T -> Y:T"},
    {NULL},
};
