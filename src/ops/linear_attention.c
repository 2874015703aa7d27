/* SPDX-License-Identifier: Apache-2.0 */
/* LinearAttention: a recurrence over tokens with a state S [d_k, d_v] for each key head:
 *
 *     S <- exp(decay) * S;  v <- beta * (v - S^T k);  S <- S + k v^T;  o = scale * q^T S
 *
 * update_rule selects the first (gated) and the second step (delta). Inputs are packed
 * [batch, tokens, heads * size]; several query heads may share a state. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_check.h"

enum { Q, K, V, PAST, DECAY, BETA };

static const op_attr_def ATTRS[] = {
    {"chunk_size", OP_ATTR_INT, false, "64"},
    {"kv_num_heads", OP_ATTR_INT, true, NULL},
    {"q_num_heads", OP_ATTR_INT, true, NULL},
    {"scale", OP_ATTR_FLOAT, false, "0"},
    {"update_rule", OP_ATTR_STRING, false, "gated_delta", "linear gated delta gated_delta"},
    {NULL},
};

typedef struct rule_steps {
    bool gated, delta;
} rule_steps;

static pgy_status read_rule(rule_steps *r, const op_node *n, pgy_error *err)
{
    static const char *const NAMES[] = {"linear", "gated", "delta", "gated_delta"};
    for (int i = 0; i < 4; i++)
        if (op_attr_is(n, "update_rule", NAMES[i], "gated_delta")) {
            *r = (rule_steps){(i & 1) != 0, (i & 2) != 0};
            return PGY_OK;
        }
    return op_error(n, err, PGY_E_ARGUMENT,
                    "attribute update_rule must be linear, gated, delta or gated_delta");
}

static pgy_status check_given(const op_infer *c, size_t i, bool needed, pgy_error *err)
{
    if (op_has_input(c, i) == needed) return PGY_OK;
    return op_error(c->node, err, PGY_E_ARGUMENT, "this update_rule %s input %zu (%s)",
                    needed ? "needs" : "does not take", i, i == DECAY ? "decay" : "beta");
}

/* The size of a head, for a last axis of heads * size. */
static pgy_status head_size(dim *size, op_infer *c, size_t i, int64_t heads, pgy_error *err)
{
    const dim width = c->inputs[i].dims[2];
    if (dim_is_const(width) && width.value % heads)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input %zu has width %lld, which is not divisible by its %lld heads", i,
                        (long long)width.value, (long long)heads);
    *size = dim_div_floor(c->dims, width, dim_const(heads));
    return PGY_OK;
}

static pgy_status check_inputs(op_infer *c, pgy_error *err)
{
    rule_steps r;
    const int64_t heads = op_attr_int(c->node, "q_num_heads", 0),
                  kv_heads = op_attr_int(c->node, "kv_num_heads", 0);
    pgy_status st = read_rule(&r, c->node, err);
    if (!st) st = check_given(c, DECAY, r.gated, err);
    if (!st) st = check_given(c, BETA, r.delta, err);
    if (st) return st;
    if (kv_heads < 1 || heads < 1 || heads > INT32_MAX || heads % kv_heads)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "%lld query heads (q_num_heads) cannot share %lld heads (kv_num_heads)",
                        (long long)heads, (long long)kv_heads);
    for (size_t i = Q; !st && i <= BETA; i++) {
        st = rank_check(c, i, i == PAST ? 4 : 3, i == PAST ? 4 : 3, err);
        if (st || !rank_known(c, Q) || i == Q) continue;
        st = dim_check(c, i, 0, c->inputs[Q].dims[0], "the batch", err);
        if (!st && i != PAST)
            st = dim_check(c, i, 1, c->inputs[Q].dims[1], "the number of tokens", err);
    }
    return st;
}

/* Checks that there is one decay per head, or one per head and element of a key. */
static pgy_status check_decay(const op_infer *c, int64_t heads, dim size, pgy_error *err)
{
    if (!rank_known(c, DECAY)) return PGY_OK;
    const dim width = c->inputs[DECAY].dims[2], whole = dim_mul(c->dims, size, dim_const(heads));
    if (!dim_differ(width, dim_const(heads)) || !dim_differ(width, whole)) return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "the last axis of input %d must have %lld or %lld elements", DECAY,
                    (long long)heads, (long long)(dim_is_const(whole) ? whole.value : -1));
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *q = &c->inputs[Q], *past = &c->inputs[PAST];
    const int64_t kv_heads = op_attr_int(c->node, "kv_num_heads", 1);
    dim size, v_size, k_size;
    pgy_status st = check_inputs(c, err);
    if (st) return st;
    const pgy_dtype held = op_has_input(c, PAST) ? past->dtype : q->dtype;
    if (!rank_known(c, Q) || !rank_known(c, K) || !rank_known(c, V)) {
        op_set_unknown(c, 0, q->dtype, 3, "the shape of an input is not known");
        op_set_unknown(c, 1, held, 4, "the shape of an input is not known");
        return PGY_OK;
    }
    const int64_t heads = op_attr_int(c->node, "q_num_heads", 1);
    st = head_size(&size, c, Q, heads, err);
    if (!st) st = head_size(&k_size, c, K, kv_heads, err);
    if (!st) st = head_size(&v_size, c, V, kv_heads, err);
    if (!st && dim_differ(size, k_size))
        st = op_error(c->node, err, PGY_E_SHAPE, "the head sizes of queries and keys differ");
    if (!st) st = check_decay(c, kv_heads, k_size, err);
    dim *out = op_dims(c, 3), *state = op_dims(c, 4);
    if (st) return st;
    if (!out || !state) return rule_no_memory(c->node, err);
    if (dim_is_const(k_size)) size = k_size;
    v_size = dim_joined(c, PAST, 3, v_size);
    out[0] = q->dims[0];
    out[1] = q->dims[1];
    for (size_t i = K; i <= BETA; i++) {
        out[0] = dim_joined(c, i, 0, out[0]);
        if (i != PAST) out[1] = dim_joined(c, i, 1, out[1]);
    }
    state[0] = out[0];
    out[2] = dim_mul(c->dims, v_size, dim_const(heads));
    state[1] = dim_const(kv_heads);
    state[2] = dim_joined(c, PAST, 2, size);
    state[3] = v_size;
    for (size_t d = 1; !st && d < 4; d++)
        st = dim_check(c, PAST, d, state[d], "the same dimension of the state", err);
    op_set_output(c, 0, q->dtype, 3, out);
    output_set(c, 1, held, 4, state);
    return st;
}

typedef struct linear {
    const op_eval *c;
    size_t tokens, heads, kv_heads, size, v_size, decay_width, beta_width;
    double *states, *row;
    double scale;
    rule_steps steps;
} linear;

static void decay_state(const linear *l, double *state, size_t token, size_t head)
{
    const double *g = in_f64(l->c, DECAY) + token * l->decay_width;
    const bool each = l->decay_width != l->kv_heads;
    for (size_t i = 0; i < l->size; i++) {
        const double factor = exp(g[each ? head * l->size + i : head]);
        for (size_t j = 0; j < l->v_size; j++) state[i * l->v_size + j] *= factor;
    }
}

static void step(const linear *l, double *state, double *row, size_t token, size_t head)
{
    const size_t n = l->size, m = l->v_size, group = l->heads / l->kv_heads;
    const double *k = in_f64(l->c, K) + (token * l->kv_heads + head) * n;
    const double *v = in_f64(l->c, V) + (token * l->kv_heads + head) * m;
    if (l->steps.gated) decay_state(l, state, token, head);
    for (size_t j = 0; j < m; j++) row[j] = v[j];
    if (l->steps.delta) {
        const double beta =
            in_f64(l->c, BETA)[token * l->beta_width + (l->beta_width == 1 ? 0 : head)];
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < m; j++) row[j] -= state[i * m + j] * k[i];
        for (size_t j = 0; j < m; j++) row[j] *= beta;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) state[i * m + j] += k[i] * row[j];
    for (size_t h = head * group; h < (head + 1) * group; h++) {
        const double *q = in_f64(l->c, Q) + (token * l->heads + h) * n;
        double *y = out_f64(l->c, 0) + (token * l->heads + h) * m;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < m; j++) y[j] += q[i] * state[i * m + j];
        for (size_t j = 0; j < m; j++) y[j] *= l->scale;
    }
}

static void run_head(size_t index, void *user)
{
    const linear *l = user;
    const size_t batch = index / l->kv_heads, head = index % l->kv_heads;
    double *state = l->states + index * l->size * l->v_size, *row = l->row + index * l->v_size;
    for (size_t t = 0; t < l->tokens; t++) step(l, state, row, batch * l->tokens + t, head);
}

static pgy_status check_widths(const linear *l, pgy_error *err)
{
    const op_node *n = l->c->node;
    if (l->steps.gated && l->decay_width != l->kv_heads && l->decay_width != l->kv_heads * l->size)
        return op_error(n, err, PGY_E_SHAPE,
                        "decay has width %zu, which does not fit %zu heads of size %zu",
                        l->decay_width, l->kv_heads, l->size);
    if (l->steps.delta && l->beta_width != l->kv_heads && l->beta_width != 1)
        return op_error(n, err, PGY_E_SHAPE, "beta has width %zu, which does not fit %zu heads",
                        l->beta_width, l->kv_heads);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    linear l = {.c = c};
    pgy_tensor *y;
    double *room = NULL;
    pgy_status st = inputs_check(c, "FFFfff", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = read_rule(&l.steps, c->node, err);
    if (st) return st;
    const size_t batch = (size_t)in_shape(c, Q)[0];
    l.tokens = (size_t)in_shape(c, Q)[1];
    l.heads = (size_t)op_attr_int(c->node, "q_num_heads", 1);
    l.kv_heads = (size_t)op_attr_int(c->node, "kv_num_heads", 1);
    l.size = (size_t)in_shape(c, Q)[2] / l.heads;
    l.v_size = (size_t)in_shape(c, V)[2] / l.kv_heads;
    l.decay_width = in_f64(c, DECAY) ? (size_t)in_shape(c, DECAY)[2] : 0;
    l.beta_width = in_f64(c, BETA) ? (size_t)in_shape(c, BETA)[2] : 0;
    l.scale = op_attr_float(c->node, "scale", 0);
    if (l.scale == 0) l.scale = 1 / sqrt((double)l.size);
    st = check_widths(&l, err);
    if (st) return st;
    size_t states = 0, total = 0;
    if (!size_mul(&states, batch, l.kv_heads) || !size_mul(&total, states, l.v_size) ||
        !size_mul(&states, total, l.size) || states > SIZE_MAX / 16 - total)
        return op_error(c->node, err, PGY_E_MEMORY, "the states are too large for memory");
    st = workspace_alloc((void **)&room, c, states + total, sizeof *room, err);
    if (st) return st;
    l.states = room;
    l.row = room + states;
    if (in_f64(c, PAST)) memcpy(l.states, in_f64(c, PAST), states * sizeof *room);
    parallel_for_until_cancelled(batch * l.kv_heads, run_head, &l);
    if (out_f64(c, 1)) memcpy(out_f64(c, 1), l.states, states * sizeof *room);
    mem_free(room);
    return PGY_OK;
}

const op_def OP_linear_attention[] = {
    {"LinearAttention", "", 27, 0, 3, 6, 2, 2, 0, ATTRS, TYPES_F4, infer, eval, NULL},
    {NULL},
};
