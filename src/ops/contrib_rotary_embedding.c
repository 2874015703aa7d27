/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft RotaryEmbedding: the standard operator, but positions are input 1: either all of
 * them [batch, length] or the first one [1]. Without num_heads, the caches give the number of
 * heads. Like ONNX Runtime, it ignores `scale`. */
#include "ops/class_check.h"

enum { X, POSITIONS, COS, SIN };

static const op_attr_def ATTRS[] = {
    {"interleaved", OP_ATTR_INT, false, "0"}, {"is_packed_batching", OP_ATTR_INT, false, "0"},
    {"num_heads", OP_ATTR_INT, false, "0"},   {"rotary_embedding_dim", OP_ATTR_INT, false, "0"},
    {"scale", OP_ATTR_FLOAT, false, "1"},     {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = rank_check(c, X, 3, 4, err);
    if (!st) st = rank_check(c, POSITIONS, 1, 2, err);
    for (size_t i = COS; !st && i <= SIN; i++) st = rank_check(c, i, 2, 2, err);
    op_set_like(c, 0, X);
    return st;
}

/* Makes position ids [batch, length] from input 1, which may hold only the first position. */
static pgy_status spread_positions(op_tensor *out, const op_eval *c, int64_t batch, int64_t length,
                                   pgy_error *err)
{
    if (in_rank(c, POSITIONS) == 2) {
        *out = op_tensor_retain(&c->inputs[POSITIONS]);
        return PGY_OK;
    }
    if (in_count(c, POSITIONS) != 1)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 1 (position_ids) has %zu elements, but must have one here",
                        in_count(c, POSITIONS));
    const int64_t first = in_i64(c, POSITIONS)[0];
    pgy_status st = pgy_tensor_create(&out->value, PGY_I64, 2, (int64_t[]){batch, length}, err);
    if (st) return st;
    out->dtype = PGY_I64;
    for (size_t i = 0; i < pgy_tensor_count(out->value); i++)
        op_i64(out->value)[i] = (int64_t)((uint64_t)first + i % (uint64_t)length);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    static const bool wanted[1] = {true};
    pgy_status st = inputs_check(c, "FIFF", err);
    if (st) return st;
    const int64_t *x = in_shape(c, X), turned = in_shape(c, COS)[1];
    int64_t heads = op_attr_int(c->node, "num_heads", 0);
    if (heads == 0 && in_rank(c, X) == 3 && turned > 0 && turned < INT32_MAX)
        heads = x[2] / (2 * turned);
    const op_attr attrs[] = {
        {.name = "interleaved", .kind = OP_ATTR_INT, .i = op_attr_int(c->node, "interleaved", 0)},
        {.name = "num_heads", .kind = OP_ATTR_INT, .i = heads},
        {.name = "rotary_embedding_dim",
         .kind = OP_ATTR_INT,
         .i = op_attr_int(c->node, "rotary_embedding_dim", 0)},
    };
    const op_node node = {.def = op_find("", "RotaryEmbedding", 23),
                          .name = c->node->name,
                          .opset = 23,
                          .attrs = attrs,
                          .attr_count = 3,
                          .input_count = 4,
                          .output_count = 1};
    op_tensor in[4] = {c->inputs[X], c->inputs[COS], c->inputs[SIN], {0}}, made = {0};
    st = spread_positions(&in[3], c, x[0], x[in_rank(c, X) == 3 ? 1 : 2], err);
    if (!st) st = op_run(&node, in, &made, wanted, c->host, err);
    op_tensor_release(&in[3]);
    if (st) return st;
    op_tensor_release(&c->outputs[0]);
    c->outputs[0] = made;
    return PGY_OK;
}

const op_def OP_contrib_rotary_embedding[] = {
    {"RotaryEmbedding", "com.microsoft", 1, 0, 4, 4, 1, 1, 0, ATTRS, TYPES_F4, infer, eval, NULL,
     .signature = "T = float16 float32 float64 bfloat16; M = int64; input:T, position_ids:M, "
                  "cos_cache:T, sin_cache:T -> output:T"},
    {NULL},
};
