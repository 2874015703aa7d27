/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearConv: the standard one, or the same with the channels last in the image;
 * see class_nhwc.h. */
#include "ops/class_alias.h"
#include "ops/class_nhwc.h"

static const op_attr_def ATTRS[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET"}, {"channels_last", OP_ATTR_INT, false, "0"},
    {"dilations", OP_ATTR_INTS, false, NULL},      {"group", OP_ATTR_INT, false, "1"},
    {"kernel_shape", OP_ATTR_INTS, false, NULL},   {"pads", OP_ATTR_INTS, false, NULL},
    {"strides", OP_ATTR_INTS, false, NULL},        {NULL},
};

static const nhwc_spec LAST = {"", "QLinearConv", 10, 0};
static const alias_spec SECOND = {"", "QLinearConv", 10, 0};

/* Makes the op_def for the node: with attribute channels_last for class_nhwc.h, else for
 * class_alias.h. */
static op_def definition(const op_node *n, bool *last)
{
    op_def def = *n->def;
    *last = op_attr_int(n, "channels_last", 0) != 0;
    def.user_data = *last ? (const void *)&LAST : (const void *)&SECOND;
    return def;
}

pgy_status qlinear_conv_infer(op_infer *c, pgy_error *err)
{
    bool last;
    const op_def def = definition(c->node, &last);
    op_node node = *c->node;
    node.signature = NULL;
    op_infer inner = *c;
    node.def = &def;
    inner.node = &node;
    const pgy_status st = last ? nhwc_infer(&inner, err) : alias_infer(&inner, err);
    c->why = inner.why;
    return st;
}

pgy_status qlinear_conv_eval(op_eval *c, pgy_error *err)
{
    bool last;
    const op_def def = definition(c->node, &last);
    op_node node = *c->node;
    node.signature = NULL;
    op_eval inner = *c;
    node.def = &def;
    inner.node = &node;
    return last ? nhwc_eval(&inner, err) : alias_eval(&inner, err);
}

const op_def OP_contrib_qlinear_conv[] = {
    {"QLinearConv", "com.microsoft", 1, 0, 8, 9, 1, 1, 0, ATTRS, "int8 uint8", qlinear_conv_infer,
     qlinear_conv_eval, NULL,
     .signature = "T1 = int8 uint8; T2 = int8 uint8; T3 = int8 uint8; T4 = int32; x:T1, "
                  "x_scale:float32, x_zero_point:T1, w:T2, w_scale:float32, w_zero_point:T2, "
                  "y_scale:float32, y_zero_point:T3, ?B:T4 -> y:T3"},
    {NULL},
};
