/* SPDX-License-Identifier: Apache-2.0 */
/* pgy PackedAttention, which the engine's passes make: Attention whose query, key and value lie
 * side by side in the last axis of one tensor [batch, rows, (q_num_heads + 2 kv_num_heads) * size].
 * Second input: the mask of Attention. */
#include <string.h>

#include "ops/class_check.h"
#include "ops/rule.h"

enum { X, MASK, PARTS = 3, OPERANDS };

static const op_attr_def ATTRS[] = {
    {"is_causal", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {"kv_num_heads", OP_ATTR_INT, true, NULL, NULL, "1.."},
    {"q_num_heads", OP_ATTR_INT, true, NULL, NULL, "1.."},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {"softcap", OP_ATTR_FLOAT, false, "0"},
    {NULL},
};

/* The node as Attention has it: query, key, value, mask. */
static op_node attention_of(const op_node *n)
{
    op_node of = *n;
    of.def = op_find("", "Attention", 24);
    of.input_count = n->input_count > MASK ? OPERANDS : PARTS;
    return of;
}

/* Divides `width` elements among query, key and value. False: they do not fit. */
static bool divide(int64_t parts[PARTS], const op_node *n, int64_t width)
{
    const int64_t q = op_attr_int(n, "q_num_heads", 0), kv = op_attr_int(n, "kv_num_heads", 0);
    if (q < 1 || kv < 1 || q > INT32_MAX || kv > INT32_MAX || width % (q + 2 * kv)) return false;
    parts[0] = width / (q + 2 * kv) * q;
    parts[1] = parts[2] = width / (q + 2 * kv) * kv;
    return true;
}

static pgy_status refuse(const op_node *n, int64_t width, pgy_error *err)
{
    return op_error(n, err, PGY_E_SHAPE,
                    "input 0 has %lld columns, which %lld heads of queries and %lld of keys cannot "
                    "share",
                    (long long)width, (long long)op_attr_int(n, "q_num_heads", 0),
                    (long long)op_attr_int(n, "kv_num_heads", 0));
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    const op_node of = attention_of(c->node);
    op_value parts[OPERANDS] = {{0}};
    bool present[OPERANDS] = {true, true, true, op_has_input(c, MASK)};
    int64_t widths[PARTS];
    const pgy_status st = rank_check(c, X, 3, 3, err);
    if (st) return st;
    if (x->rank < 0 || !dim_is_const(x->dims[2])) {
        op_set_unknown(c, 0, x->dtype, 3, "the columns of input 0 are not known");
        return PGY_OK;
    }
    if (!divide(widths, c->node, x->dims[2].value)) return refuse(c->node, x->dims[2].value, err);
    for (size_t i = 0; i < PARTS; i++) {
        dim *dims = rule_copy_dims(c, x);
        if (!dims) return rule_no_memory(c->node, err);
        dims[2] = dim_const(widths[i]);
        parts[i] = (op_value){.dtype = x->dtype, .rank = 3, .dims = dims};
    }
    parts[PARTS] = (op_value){.rank = -1};
    if (present[PARTS]) parts[PARTS] = c->inputs[MASK];
    op_infer inner = *c;
    inner.node = &of;
    inner.inputs = parts;
    inner.present = present;
    const pgy_status made = of.def->infer(&inner, err);
    c->why = inner.why;
    return made;
}

static pgy_status take_part(pgy_tensor **out, const pgy_tensor *x, int64_t from, int64_t width,
                            pgy_error *err)
{
    const int64_t *shape = pgy_tensor_shape(x);
    const int64_t own[] = {shape[0], shape[1], width};
    const pgy_status st = pgy_tensor_create(out, PGY_F64, 3, own, err);
    if (st) return st;
    const double *source = pgy_tensor_data((pgy_tensor *)x);
    double *to = pgy_tensor_data(*out);
    for (int64_t row = 0; row < shape[0] * shape[1]; row++)
        memcpy(to + row * width, source + row * shape[2] + from, (size_t)width * sizeof *to);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_tensor *x = &c->inputs[X];
    const op_node of = attention_of(c->node);
    op_tensor parts[OPERANDS] = {{0}};
    int64_t widths[PARTS], from = 0;
    pgy_status st = inputs_check(c, "F", err);
    if (st) return st;
    const int64_t width = pgy_tensor_shape(x->value)[2];
    if (!divide(widths, c->node, width)) return refuse(c->node, width, err);
    for (size_t i = 0; !st && i < PARTS; from += widths[i++]) {
        parts[i].dtype = x->dtype;
        st = take_part(&parts[i].value, x->value, from, widths[i], err);
    }
    if (c->node->input_count > MASK) parts[PARTS] = c->inputs[MASK];
    op_eval inner = *c;
    inner.node = &of;
    inner.inputs = parts;
    if (!st) st = of.def->eval(&inner, err);
    for (size_t i = 0; i < PARTS; i++) pgy_tensor_release(parts[i].value);
    return st;
}

const op_def OP_pgy_packed_attention[] = {
    {"PackedAttention", "pgy", 1, 0, 1, 2, 1, 1, 0, ATTRS, TYPES_F4, infer, eval, NULL,
     .signature = "T = float16 float32 float64 bfloat16; U = bool float16 float32 float64 "
                  "bfloat16; X:T, ?mask:U -> Y:T"},
    {NULL},
};
