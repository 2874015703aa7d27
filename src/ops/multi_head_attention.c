/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MultiHeadAttention on query, key and value of shape [batch, length, heads * size],
 * with an optional concatenated bias for all three. They may be packed: all three in the query
 * [batch, length, heads, 3, size], or key and value in the key [.., 2, size]. Key and value of an
 * encoder may be [batch, heads, length, size], without a bias. */
#include <inttypes.h>
#include <string.h>

#include "ops/class_packed_attention.h"

enum { QUERY, KEY, VALUE, BIAS, PADDING, SCORES, PAST_K, PAST_V, PAST_LENGTH, BEAMS };

static const op_attr_def ATTRS[] = {
    {"mask_filter_value", OP_ATTR_FLOAT, false, "-10000"},
    {"num_heads", OP_ATTR_INT, true, NULL},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {"unidirectional", OP_ATTR_INT, false, "0"},
    {NULL},
};

/* Where query, key or value is stored: in input `input`, as part `index` of `count` packed parts.
 */
typedef struct part {
    size_t input, index, count; /* count 1: the input is not packed */
} part;

static part part_of(bool has_key, bool has_value, size_t which)
{
    if (!has_key) return (part){QUERY, which, 3};
    if (!has_value && which > 0) return (part){KEY, which - 1, 2};
    return (part){which, 0, 1};
}

/* ---- Shape ---------------------------------------------------------------------------------- */

typedef struct part_dims {
    dim length, width;
} part_dims;

static pgy_status read_part(part_dims *to, op_infer *c, part p, pgy_error *err)
{
    const op_value *v = &c->inputs[p.input];
    const int64_t heads = op_attr_int(c->node, "num_heads", 1);
    if (v->rank != (p.count > 1 ? 5 : 3) && (p.input == QUERY || v->rank != 4 || p.count > 1))
        return op_error(c->node, err, PGY_E_SHAPE, "input %zu has rank %d, which does not fit %s",
                        p.input, v->rank, p.count > 1 ? "a packed input" : "this input");
    pgy_status st = PGY_OK;
    if (v->rank > 3)
        st = dim_check(c, p.input, v->rank == 5 ? 2 : 1, dim_const(heads), "num_heads", err);
    if (!st && p.count > 1)
        st = dim_check(c, p.input, 3, dim_const((int64_t)p.count), "the number of parts", err);
    if (st) return st;
    to->length = v->dims[v->rank == 4 ? 2 : 1];
    to->width =
        v->rank == 3 ? v->dims[2] : dim_mul(c->dims, v->dims[v->rank - 1], dim_const(heads));
    if (dim_is_const(to->width) && to->width.value % heads)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "attribute num_heads is %" PRId64
                        ", which does not divide the width %" PRId64,
                        heads, to->width.value);
    return PGY_OK;
}

static pgy_status check(const op_infer *c, pgy_error *err)
{
    const int64_t heads = op_attr_int(c->node, "num_heads", 0);
    if (heads < 1 || heads > INT32_MAX)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute num_heads is %" PRId64 ", but must be positive", heads);
    if (op_has_input(c, VALUE) && !op_has_input(c, KEY))
        return op_error(c->node, err, PGY_E_ARGUMENT, "the value is given, but not the key");
    if (op_has_input(c, BEAMS) || op_has_input(c, PAST_LENGTH))
        return op_error(c->node, err, PGY_E_UNSUPPORTED,
                        "caches that are shared between beams are not supported");
    pgy_status st = rank_check(c, PAST_K, 4, 4, err);
    return st ? st : rank_check(c, PAST_V, 4, 4, err);
}

static bool all_known(const op_infer *c)
{
    bool known = true;
    for (size_t i = QUERY; i <= VALUE; i++)
        if (op_has_input(c, i) && !rank_known(c, i)) known = false;
    return known;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *q = &c->inputs[QUERY];
    part_dims d[3];
    pgy_status st = check(c, err);
    if (st) return st;
    if (!all_known(c)) {
        for (size_t i = 0; i < c->node->output_count; i++)
            op_set_unknown(c, i, q->dtype, i ? 4 : 3, "the shape of an input is not known");
        return PGY_OK;
    }
    for (size_t i = 0; !st && i < 3; i++)
        st = read_part(&d[i], c, part_of(op_has_input(c, KEY), op_has_input(c, VALUE), i), err);
    if (st) return st;
    dim *out = op_dims(c, 15);
    if (!out) return rule_no_memory(c->node, err);
    dim total = d[KEY].length;
    if (op_has_input(c, PAST_K))
        total = rank_known(c, PAST_K) ? dim_add(c->dims, total, c->inputs[PAST_K].dims[2])
                                      : dim_unknown(c->dims, "the shape of the cache is not known");
    const dim count = dim_const(op_attr_int(c->node, "num_heads", 1));
    memcpy(out, (dim[]){q->dims[0], q->dims[1], d[VALUE].width}, 3 * sizeof *out);
    memcpy(out + 3,
           (dim[]){q->dims[0], count, total, dim_div_floor(c->dims, d[QUERY].width, count)},
           4 * sizeof *out);
    memcpy(out + 7,
           (dim[]){q->dims[0], count, total, dim_div_floor(c->dims, d[VALUE].width, count)},
           4 * sizeof *out);
    memcpy(out + 11, (dim[]){q->dims[0], count, q->dims[1], total}, 4 * sizeof *out);
    op_set_output(c, 0, q->dtype, 3, out);
    output_set(c, 1, q->dtype, 4, out + 3);
    output_set(c, 2, q->dtype, 4, out + 7);
    output_set(c, 3, q->dtype, 4, out + 11);
    return PGY_OK;
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

/* Copies a part to [batch, length, heads, size] and adds its part of the bias. */
static pgy_status take_part(op_tensor *out, const op_eval *c, part p, size_t *at, pgy_error *err)
{
    const int64_t *s = in_shape(c, p.input);
    const size_t rank = in_rank(c, p.input), heads = (size_t)op_attr_int(c->node, "num_heads", 1);
    const size_t batch = (size_t)s[0], length = (size_t)s[rank == 4 ? 2 : 1];
    const size_t size = rank == 3 ? (size_t)s[2] / heads : (size_t)s[rank - 1],
                 width = heads * size;
    const double *bias = rank == 4 ? NULL : in_f64(c, BIAS), *x = in_f64(c, p.input);
    if (bias && (in_rank(c, BIAS) != 1 || in_count(c, BIAS) < *at + width))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the bias has %zu elements, fewer than the widths of its inputs need",
                        in_count(c, BIAS));
    const int64_t shape[3] = {s[0], (int64_t)length, (int64_t)width};
    pgy_status st = pgy_tensor_create(&out->value, PGY_F64, 3, shape, err);
    if (st) return st;
    out->dtype = c->inputs[p.input].dtype;
    for (size_t row = 0; row < batch * length * heads; row++) {
        const size_t head = row % heads, token = row / heads;
        const size_t b = length ? token / length : 0, t = length ? token % length : 0;
        const size_t from = rank == 4 ? (b * heads + head) * length + t : row * p.count + p.index;
        double *y = op_f64(out->value) + row * size;
        for (size_t k = 0; k < size; k++)
            y[k] = x[from * size + k] + (bias ? bias[*at + head * size + k] : 0);
    }
    *at += width;
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    packed_attention a = {
        .mask = PADDING, .bias = SCORES, .scores = c->node->output_count > 3 && c->wanted[3]};
    size_t at = 0;
    pgy_status st = inputs_check(c, "Ffffifff", err);
    for (size_t i = 0; !st && i < 3; i++)
        st = take_part(&a.parts[i], c, part_of(op_has_value(c, KEY), op_has_value(c, VALUE), i),
                       &at, err);
    for (size_t i = PAST_K; !st && i <= PAST_V && i < c->node->input_count; i++)
        a.parts[i - PAST_K + 4] = op_tensor_retain(&c->inputs[i]);
    if (!st) st = packed_attention_run(&a, c, err);
    for (size_t i = 0; !st && i < c->node->output_count && i < (a.scores ? 4 : 3); i++) {
        op_tensor_release(&c->outputs[i]);
        c->outputs[i] = op_tensor_retain(&a.made[i]);
    }
    packed_attention_deinit(&a);
    return st;
}

const op_def OP_multi_head_attention[] = {
    {"MultiHeadAttention", "com.microsoft", 1, 0, 1, 10, 1, 4, 0, ATTRS, TYPES_F4, infer, eval,
     NULL,
     .signature = "T = float16 float32 float64 bfloat16; QK = float16 float32 bfloat16; M = "
                  "int32; query:T, ?key:T, ?value:T, ?bias:T, ?key_padding_mask:M, "
                  "?attention_bias:T, ?past_key:T, ?past_value:T, ?past_sequence_length:M, "
                  "?cache_indirection:M -> output:T, ?present_key:T, ?present_value:T, ?qk:QK"},
    {NULL},
};
