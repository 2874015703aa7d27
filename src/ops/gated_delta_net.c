/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GatedDeltaNet: the recurrence of LinearAttention over packed sequences of different
 * lengths, with a state [size of a value, size of a key] for each value head:
 *
 *     S <- exp(g) * S;  d <- beta * (v - S k);  S <- S + d k^T;  o = scale * S q
 *
 * update_rule selects the first (gated) and the second step (delta). The activations that models
 * apply to g, beta, q and k in front can be part of the operator. The first factors of each
 * sequence can be returned, so that a caller can replay a part of it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_check.h"

enum { Q, K, V, FIRSTS, DECAY, BETA, STATE, A_LOG, DT_BIAS, CAPTURE, ACTIVE };

static const op_attr_def ATTRS[] = {
    {"beta_activation", OP_ATTR_STRING, false, "none", .choices = "none sigmoid"},
    {"chunk_size", OP_ATTR_INT, false, "64"},
    {"gate_activation", OP_ATTR_STRING, false, "none", .choices = "none qwen"},
    {"qk_l2_norm", OP_ATTR_INT, false, "0", .range = "0..1"},
    {"scale", OP_ATTR_FLOAT, false, "0"},
    {"state_update_capacity", OP_ATTR_INT, false, "0", .range = "0..8"},
    {"update_rule", OP_ATTR_STRING, false, "gated_delta",
     .choices = "linear gated delta gated_delta"},
    {NULL},
};

static bool has_rule(const op_node *n, const char *part)
{
    return op_attr_is(n, "update_rule", part, "gated_delta") ||
           op_attr_is(n, "update_rule", "gated_delta", "gated_delta");
}

static int64_t captured(const op_node *n)
{
    return op_attr_int(n, "state_update_capacity", 0);
}

/* ---- Shapes --------------------------------------------------------------------------------- */

typedef struct sizes {
    dim batch, tokens, k_heads, heads, size, v_size;
    size_t token_axes; /* 1: [tokens, ...]; 2: [batch, tokens of each, ...] */
    bool known;
} sizes;

static pgy_status check_given(const op_infer *c, pgy_error *err)
{
    const struct {
        size_t input;
        const char *name;
        bool needed;
    } RULES[] = {{DECAY, "decay", has_rule(c->node, "gated")},
                 {BETA, "beta", has_rule(c->node, "delta")},
                 {A_LOG, "a_log", op_attr_is(c->node, "gate_activation", "qwen", "none")},
                 {DT_BIAS, "dt_bias", op_attr_is(c->node, "gate_activation", "qwen", "none")},
                 {CAPTURE, "capture_count", captured(c->node) > 0}};
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++)
        if (op_has_input(c, RULES[i].input) != RULES[i].needed)
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "the attributes %s input %zu (%s), but it is %s",
                            RULES[i].needed ? "need" : "do not take", RULES[i].input, RULES[i].name,
                            RULES[i].needed ? "absent" : "given");
    if (op_has_input(c, K) != op_has_input(c, V))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "key and value must both be given or both be omitted");
    if (!op_has_input(c, STATE) && (!op_has_input(c, K) || !op_has_input(c, FIRSTS)))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "without initial_state, key, value and cu_seqlens must be given");
    return PGY_OK;
}

static pgy_status check_ranks(op_infer *c, sizes *s, pgy_error *err)
{
    const bool packed = !op_has_input(c, K);
    const int32_t least = packed ? 2 : 3;
    pgy_status st = rank_check(c, Q, least, least + 1, err);
    if (st || !rank_known(c, Q)) return st;
    s->token_axes = c->inputs[Q].rank == least ? 1 : 2;
    const int32_t axes = (int32_t)s->token_axes;
    st = rank_check(c, K, axes + 2, axes + 2, err);
    if (!st) st = rank_check(c, V, axes + 2, axes + 2, err);
    if (!st) st = rank_check(c, DECAY, axes + 1, axes + 2, err);
    if (!st) st = rank_check(c, BETA, axes + 1, axes + 1, err);
    if (!st) st = rank_check(c, STATE, 4, 4, err);
    for (size_t i = 0; !st && i < 2; i++) st = rank_check(c, i ? A_LOG : DT_BIAS, 1, 1, err);
    for (size_t i = 0; !st && i < 3; i++)
        st = rank_check(c, i == 0 ? FIRSTS : i == 1 ? CAPTURE : ACTIVE, 1, 1, err);
    if (!st && axes == 2 && op_has_input(c, FIRSTS))
        st = op_error(c->node, err, PGY_E_ARGUMENT,
                      "cu_seqlens needs tokens on one axis, but the query has rank %d",
                      (int)c->inputs[Q].rank);
    return st;
}

/* Reads head counts and sizes of query, key and value, or of a packed query and the state. */
static pgy_status read_sizes(op_infer *c, sizes *s, pgy_error *err)
{
    const size_t at = s->token_axes;
    const op_value *q = &c->inputs[Q], *state = &c->inputs[STATE];
    const bool packed = !op_has_input(c, K);
    s->known =
        q->rank >= 0 && (packed ? rank_known(c, STATE) : rank_known(c, K) && rank_known(c, V));
    if (!s->known) return PGY_OK;
    s->tokens = at == 2 ? dim_mul(c->dims, q->dims[0], q->dims[1]) : q->dims[0];
    if (rank_known(c, STATE))
        s->batch = state->dims[0];
    else if (rank_known(c, FIRSTS))
        s->batch = dim_sub(c->dims, c->inputs[FIRSTS].dims[0], dim_const(1));
    else
        s->batch = dim_unknown(c->dims, "the batch is not known");
    if (!packed) {
        s->k_heads = c->inputs[K].dims[at];
        s->size = q->dims[at + 1];
        s->heads = c->inputs[V].dims[at];
        s->v_size = c->inputs[V].dims[at + 1];
        return PGY_OK;
    }
    s->heads = state->dims[1];
    s->v_size = state->dims[2];
    s->size = state->dims[3];
    const dim rest = dim_sub(c->dims, q->dims[at], dim_mul(c->dims, s->heads, s->v_size));
    s->k_heads = dim_div_floor(c->dims, rest, dim_mul(c->dims, s->size, dim_const(2)));
    if (dim_is_const(s->size) && s->size.value < 1)
        return op_error(c->node, err, PGY_E_SHAPE, "the state has keys of size 0");
    if (dim_is_const(rest) && dim_is_const(s->size) &&
        (rest.value < 0 || rest.value % (2 * s->size.value)))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "a packed query of width %" PRId64 " does not fit the state's heads",
                        dim_is_const(q->dims[at]) ? q->dims[at].value : -1);
    return PGY_OK;
}

static pgy_status check_tokens(op_infer *c, const sizes *s, pgy_error *err)
{
    const size_t at = s->token_axes;
    static const size_t ROWS[] = {K, V, DECAY, BETA};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < 4; i++)
        for (size_t d = 0; !st && rank_known(c, ROWS[i]) && d < at; d++)
            st = dim_check(c, ROWS[i], d, c->inputs[Q].dims[d], "the number of tokens", err);
    if (!st && op_has_input(c, K)) {
        st = dim_check(c, Q, at, s->k_heads, "the number of key heads", err);
        if (!st) st = dim_check(c, K, at + 1, s->size, "the size of a query head", err);
    }
    if (!st) st = dim_check(c, DECAY, at, s->heads, "the number of value heads", err);
    if (!st && rank_known(c, DECAY) && (size_t)c->inputs[DECAY].rank == at + 2) {
        st = dim_check(c, DECAY, at + 1, s->size, "the size of a key head", err);
        if (!st && captured(c->node))
            st = op_error(c->node, err, PGY_E_UNSUPPORTED,
                          "state_update_capacity needs one decay for each head");
    }
    return st ? st : dim_check(c, BETA, at, s->heads, "the number of value heads", err);
}

static pgy_status check_rest(op_infer *c, const sizes *s, pgy_error *err)
{
    const dim state[] = {s->batch, s->heads, s->v_size, s->size};
    pgy_status st = PGY_OK;
    for (size_t d = 0; !st && d < 4; d++)
        st = dim_check(c, STATE, d, state[d], "the heads and sizes of the inputs", err);
    if (!st)
        st = dim_check(c, FIRSTS, 0, dim_add(c->dims, s->batch, dim_const(1)), "the batch and 1",
                       err);
    for (size_t i = A_LOG; !st && i <= DT_BIAS; i++)
        st = dim_check(c, i, 0, s->heads, "the number of value heads", err);
    if (!st) st = dim_check(c, CAPTURE, 0, s->batch, "the batch", err);
    if (!st) st = dim_check(c, ACTIVE, 0, dim_const(1), "1", err);
    if (!st && s->token_axes == 2 && dim_differ(s->batch, c->inputs[Q].dims[0]))
        st = op_error(c->node, err, PGY_E_SHAPE, "the query's batch differs from initial_state's");
    if (!st && dim_is_const(s->size) && s->size.value < 1)
        st = op_error(c->node, err, PGY_E_SHAPE, "the keys have size 0");
    const bool both = dim_is_const(s->heads) && dim_is_const(s->k_heads);
    if (!st && both &&
        (s->k_heads.value < 1 || s->heads.value < 1 || s->heads.value % s->k_heads.value))
        st = op_error(c->node, err, PGY_E_SHAPE,
                      "%" PRId64 " value heads cannot share %" PRId64 " query heads",
                      s->heads.value, s->k_heads.value);
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *q = &c->inputs[Q];
    sizes s = {.token_axes = 1};
    pgy_status st = check_given(c, err);
    if (!st) st = check_ranks(c, &s, err);
    if (!st) st = read_sizes(c, &s, err);
    if (!st && s.known) st = check_tokens(c, &s, err);
    if (!st && s.known) st = check_rest(c, &s, err);
    if (st) return st;
    if (!s.known) {
        for (size_t i = 0; i < c->node->output_count; i++)
            op_set_unknown(c, i, i ? PGY_F32 : q->dtype, -1, "the shape of an input is not known");
        return PGY_OK;
    }
    dim *out = op_dims(c, 4), *state = op_dims(c, 4), *update = op_dims(c, 2);
    if (!out || !state || !update) return rule_no_memory(c->node, err);
    memcpy(out, q->dims, s.token_axes * sizeof *out);
    out[s.token_axes] = s.heads;
    out[s.token_axes + 1] = s.v_size;
    memcpy(state, (dim[]){s.batch, s.heads, s.v_size, s.size}, 4 * sizeof *state);
    const dim factors = dim_add(
        c->dims, s.heads,
        dim_add(c->dims, dim_mul(c->dims, s.k_heads, s.size), dim_mul(c->dims, s.heads, s.v_size)));
    update[0] = s.batch;
    update[1] = dim_mul(c->dims, dim_const(captured(c->node)), factors);
    op_set_output(c, 0, q->dtype, (int32_t)s.token_axes + 2, out);
    output_set(c, 1, PGY_F32, 4, state);
    output_set(c, 2, PGY_F32, 2, update);
    return PGY_OK;
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

typedef struct net {
    const op_eval *c;
    size_t batch, tokens, k_heads, heads, size, v_size, width; /* width: of a packed query */
    size_t room;                                               /* transitions that are returned */
    double scale;
    bool gated, delta, each, qwen, sigmoid, normed;
    double *states, *rows; /* for each head of the batch: a state; a key, a query and a delta */
} net;

/* Head `head` of the query (or key) of a token, divided by its norm if it is to be. */
static void take_head(const net *n, double *to, size_t input, size_t token, size_t head)
{
    const double *from =
        n->width ? in_f64(n->c, Q) + token * n->width + (input == K ? n->k_heads * n->size : 0)
                 : in_f64(n->c, input) + token * n->k_heads * n->size;
    double squares = 0;
    for (size_t i = 0; i < n->size; i++) {
        to[i] = from[head * n->size + i];
        squares += to[i] * to[i];
    }
    const double factor = n->normed ? 1 / sqrt(squares + 1e-6) : 1;
    for (size_t i = 0; i < n->size; i++) to[i] *= factor;
}

/* The factor of the state for element i of the key. */
static double decay(const net *n, size_t token, size_t head, size_t i)
{
    const size_t at = token * n->heads + head;
    double g = in_f64(n->c, DECAY)[n->each ? at * n->size + i : at];
    if (n->qwen) {
        const double x = g + in_f64(n->c, DT_BIAS)[head];
        g = -exp(in_f64(n->c, A_LOG)[head]) * (x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)));
    }
    return exp(g);
}

static void step(const net *n, double *state, double *k, size_t token, size_t head)
{
    double *q = k + n->size, *d = q + n->size;
    const size_t shared = head / (n->heads / n->k_heads);
    const double *v = n->width ? in_f64(n->c, Q) + token * n->width + 2 * n->k_heads * n->size
                               : in_f64(n->c, V) + token * n->heads * n->v_size;
    double beta = n->delta ? in_f64(n->c, BETA)[token * n->heads + head] : 1;
    if (n->sigmoid && n->delta) beta = 1 / (1 + exp(-beta));
    take_head(n, q, Q, token, shared);
    take_head(n, k, K, token, shared);
    for (size_t i = 0; n->gated && i < n->size; i++) {
        const double factor = decay(n, token, head, i);
        for (size_t j = 0; j < n->v_size; j++) state[j * n->size + i] *= factor;
    }
    double *y = out_f64(n->c, 0) + (token * n->heads + head) * n->v_size;
    for (size_t j = 0; j < n->v_size; j++) {
        double *row = state + j * n->size, seen = 0, sum = 0;
        for (size_t i = 0; n->delta && i < n->size; i++) seen += row[i] * k[i];
        d[j] = beta * (v[head * n->v_size + j] - seen);
        for (size_t i = 0; i < n->size; i++) {
            row[i] += d[j] * k[i];
            sum += row[i] * q[i];
        }
        y[j] = n->scale * sum;
    }
}

/* Returns the factors of transition t of a sequence: all decays, then all keys, then all deltas. */
static void keep(const net *n, size_t sequence, size_t t, size_t token, size_t head,
                 const double *k)
{
    const size_t keys = n->k_heads * n->size, deltas = n->heads * n->v_size;
    double *to = out_f64(n->c, 2) + sequence * n->room * (n->heads + keys + deltas);
    to[t * n->heads + head] = n->gated ? decay(n, token, head, 0) : 1;
    to += n->room * n->heads;
    const size_t group = n->heads / n->k_heads;
    if (head % group == 0) memcpy(to + t * keys + head / group * n->size, k, n->size * sizeof *k);
    to += n->room * keys;
    memcpy(to + t * deltas + head * n->v_size, k + 2 * n->size, n->v_size * sizeof *k);
}

static void run_head(size_t index, void *user)
{
    const net *n = user;
    const size_t sequence = index / n->heads, head = index % n->heads;
    const int64_t *firsts = in_i64(n->c, FIRSTS);
    const size_t each = n->tokens / n->batch;
    const size_t first = firsts ? (size_t)firsts[sequence] : sequence * each;
    const size_t end = firsts ? (size_t)firsts[sequence + 1] : first + each;
    double *state = n->states + index * n->size * n->v_size;
    double *row = n->rows + index * (2 * n->size + n->v_size);
    const int64_t *counts = n->room && out_count(n->c, 2) ? in_i64(n->c, CAPTURE) : NULL;
    for (size_t token = first; token < end; token++) {
        const size_t t = token - first;
        step(n, state, row, token, head);
        if (counts && (int64_t)t < counts[sequence] && t < n->room)
            keep(n, sequence, t, token, head, row);
    }
}

static pgy_status check_firsts(const net *n, pgy_error *err)
{
    const int64_t *firsts = in_i64(n->c, FIRSTS);
    if (!firsts && (n->batch ? n->tokens % n->batch : n->tokens))
        return op_error(n->c->node, err, PGY_E_SHAPE,
                        "%zu tokens cannot be shared equally by a batch of %zu", n->tokens,
                        n->batch);
    for (size_t i = 0; firsts && i < n->batch; i++)
        if (firsts[i] < 0 || firsts[i + 1] < firsts[i])
            return op_error(n->c->node, err, PGY_E_ARGUMENT,
                            "cu_seqlens goes from %" PRId64 " to %" PRId64 " in sequence %zu",
                            firsts[i], firsts[i + 1], i);
    if (firsts && (firsts[0] != 0 || (uint64_t)firsts[n->batch] != n->tokens))
        return op_error(n->c->node, err, PGY_E_ARGUMENT,
                        "cu_seqlens goes from %" PRId64 " to %" PRId64
                        ", but must go from 0 to the %zu tokens",
                        firsts[0], firsts[n->batch], n->tokens);
    return PGY_OK;
}

static void init(net *n, const op_eval *c)
{
    const size_t rank = out_rank(c, 0);
    const int64_t *y = out_shape(c, 0), *q = in_shape(c, Q), *past = in_shape(c, STATE);
    n->c = c;
    n->heads = (size_t)y[rank - 2];
    n->v_size = (size_t)y[rank - 1];
    n->tokens = rank == 4 ? (size_t)(y[0] * y[1]) : (size_t)y[0];
    n->batch = past ? (size_t)past[0] : in_count(c, FIRSTS) - 1;
    if (in_f64(c, K)) {
        n->size = (size_t)q[in_rank(c, Q) - 1];
        n->k_heads = (size_t)q[in_rank(c, Q) - 2];
    } else {
        n->width = (size_t)q[in_rank(c, Q) - 1];
        n->size = (size_t)past[3];
        n->k_heads = (n->width - n->heads * n->v_size) / 2 / n->size;
    }
    n->gated = has_rule(c->node, "gated");
    n->delta = has_rule(c->node, "delta");
    n->each = n->gated && in_rank(c, DECAY) == rank;
    n->qwen = op_attr_is(c->node, "gate_activation", "qwen", "none");
    n->sigmoid = op_attr_is(c->node, "beta_activation", "sigmoid", "none");
    n->normed = op_attr_int(c->node, "qk_l2_norm", 0) != 0;
    n->scale = op_attr_float(c->node, "scale", 0);
    if (n->scale == 0) n->scale = 1 / sqrt((double)n->size);
    const int64_t *active = in_i64(c, ACTIVE);
    n->room = active && !active[0] ? 0 : (size_t)captured(c->node);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    net n = {0};
    double *room = NULL;
    size_t heads, state, states, rows;
    pgy_status st = inputs_check(c, "Fffifffffii", err);
    if (st) return st;
    init(&n, c);
    st = check_firsts(&n, err);
    if (st) return st;
    if (!size_mul(&heads, n.batch, n.heads) || !size_mul(&state, n.size, n.v_size) ||
        !size_mul(&states, heads, state) || !size_mul(&rows, heads, 2 * n.size + n.v_size) ||
        rows > SIZE_MAX / 16 - states)
        return op_error(c->node, err, PGY_E_MEMORY, "the states are too large for memory");
    st = workspace_alloc((void **)&room, c, states + rows, sizeof *room, err);
    if (st) return st;
    n.states = room;
    n.rows = room + states;
    if (in_f64(c, STATE)) memcpy(n.states, in_f64(c, STATE), states * sizeof *room);
    parallel_for_until_cancelled(heads, run_head, &n);
    if (out_count(c, 1)) memcpy(out_f64(c, 1), n.states, states * sizeof *room);
    mem_free(room);
    return PGY_OK;
}

#define TYPES "float16 float32 bfloat16"
const op_def OP_gated_delta_net[] = {
    {"GatedDeltaNet", "com.microsoft", 1, 0, 1, 11, 1, 3, 0, ATTRS, TYPES, infer, eval, NULL,
     .signature =
         "T = " TYPES "; S = float32; I = int32; query:T, ?key:T, ?value:T, ?cu_seqlens:I, "
         "?decay:S, ?beta:S, ?initial_state:S, ?a_log:S, ?dt_bias:S, ?capture_count:I, "
         "?state_update_active:I -> output:T, ?final_state:S, ?state_update:S"},
    {NULL},
};
