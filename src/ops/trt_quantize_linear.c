/* SPDX-License-Identifier: Apache-2.0 */
/* The quantise operators that NVIDIA's ModelOpt writes for TensorRT in the domain "trt": the
 * standard QuantizeLinear and DequantizeLinear without zero points, with the quantised type in the
 * name, for a tensor, an axis or blocks of an axis. */
#include "ops/class_check.h"

enum { MAX_ATTRS = 3 };

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, NULL},
    {"block_size", OP_ATTR_INT, false, "0"},
    {"output_dtype", OP_ATTR_INT, false, NULL},
    {"saturate", OP_ATTR_INT, false, "1"},
    {NULL},
};

/* op_def.user: the type's code in ONNX files, what the node says, or the other direction. */
enum { BACK = -1, FROM_NODE = 0, FP8 = 17, INT4 = 22 };

typedef struct inner {
    op_node node;
    op_attr attrs[MAX_ATTRS];
} inner;

static void make_inner(inner *in, const op_node *n)
{
    const bool back = n->def->user == BACK;
    const int64_t code =
        back || n->def->user == FROM_NODE ? op_attr_int(n, "output_dtype", 0) : n->def->user;
    in->attrs[0] = (op_attr){.name = "axis", .kind = OP_ATTR_INT, .i = op_attr_int(n, "axis", -1)};
    in->attrs[1] =
        (op_attr){.name = "block_size", .kind = OP_ATTR_INT, .i = op_attr_int(n, "block_size", 0)};
    in->attrs[2] = (op_attr){.name = "output_dtype", .kind = OP_ATTR_INT, .i = code};
    in->node = *n;
    in->node.signature = NULL;
    in->node.def = op_find("", back ? "DequantizeLinear" : "QuantizeLinear", 23);
    in->node.opset = 23;
    in->node.attrs = in->attrs;
    in->node.attr_count = MAX_ATTRS;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    inner in;
    op_infer other = *c;
    make_inner(&in, c->node);
    other.node = &in.node;
    const pgy_status st = in.node.def->infer(&other, err);
    c->why = other.why;
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    inner in;
    op_eval other = *c;
    make_inner(&in, c->node);
    other.node = &in.node;
    return in.node.def->eval(&other, err);
}

#define QUANTISE(op, most, type, text)                                                           \
    {                                                                                            \
        op, "trt", 1, 0, 2, most, 1, 1, 0, ATTRS, "float16 float32 bfloat16", infer, eval, NULL, \
            type, NULL, .signature = text                                                        \
    }
#define DEQUANTISE(op, most, text)                                                   \
    {                                                                                \
        op, "trt", 1, 0, 2, most, 1, 1, 0, ATTRS, "", infer, eval, NULL, BACK, NULL, \
            .signature = text                                                        \
    }
#define FLOATS "T = float16 float32 bfloat16; "
const op_def OP_trt_quantize_linear[] = {
    QUANTISE("TRT_FP8QuantizeLinear", 2, FP8, FLOATS "x:T, y_scale:T -> y:float8e4m3fn"),
    DEQUANTISE("TRT_FP8DequantizeLinear", 2, FLOATS "x:float8e4m3fn, x_scale:T -> y:T"),
    QUANTISE("TRT_INT4QuantizeLinear", 2, INT4, FLOATS "x:T, y_scale:T -> y:int4"),
    DEQUANTISE("TRT_INT4DequantizeLinear", 2, FLOATS "x:int4, x_scale:T -> y:T"),
    QUANTISE("QuantizeLinear", 3, FROM_NODE,
             FLOATS "Q = int8 int4 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float4; "
                    "x:T, y_scale:T, ?y_zero_point:Q -> y:Q"),
    DEQUANTISE("DequantizeLinear", 3,
               FLOATS "Q = int8 int4 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float4; "
                      "x:Q, x_scale:T, ?x_zero_point:Q -> y:T"),
    {NULL},
};
