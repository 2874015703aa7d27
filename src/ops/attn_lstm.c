/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft AttnLSTM: an LSTM that also reads what its state attends to in a memory (additive
 * attention after Bahdanau). Behind each step with state H:
 *
 *     scores = sum over the attention's units of V tanh(M MW + H QW)
 *     context = softmax(scores) M, over the first memory_seq_lens rows of M
 *     attention = [H, context] AW, or the context if AW is absent
 *
 * The next step reads the attention behind the columns of X; the first one reads zeros. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_rnn.h"
#include "ops/gemm.h"

enum { QW = RNN_P + 1, MW, V, M, MEMORY_LENGTHS, AW, INPUTS };
/* Of the inner node, which has the products of the memory in place of MW, and the columns of W that
 * belong to the attention as another input. */
enum { KEYS = MW, WA = INPUTS, INNER_INPUTS };

static const op_attr_def ATTRS[] = {
    {"activation_alpha", OP_ATTR_FLOATS, false, NULL},
    {"activation_beta", OP_ATTR_FLOATS, false, NULL},
    {"activations", OP_ATTR_STRINGS, false, NULL},
    {"clip", OP_ATTR_FLOAT, false, NULL},
    {"direction", OP_ATTR_STRING, false, "forward"},
    {"hidden_size", OP_ATTR_INT, false, NULL},
    {"input_forget", OP_ATTR_INT, false, "0"},
    {NULL},
};

/* ---- The attention -------------------------------------------------------------------------- */

/* Sizes, and the operands of one direction. */
typedef struct attention {
    size_t units, rows, depth, size; /* rows and depth of the memory; size: of the attention */
    const double *query, *keys, *v, *memory, *layer, *weights;
    const int64_t *lengths;
} attention;

static attention attention_of(const rnn_problem *p)
{
    const op_eval *c = p->c;
    const size_t d = p->direction;
    attention a = {.units = (size_t)in_shape(c, V)[1],
                   .rows = (size_t)in_shape(c, M)[1],
                   .depth = (size_t)in_shape(c, M)[2],
                   .size = (size_t)in_shape(c, WA)[2],
                   .memory = in_f64(c, M),
                   .lengths = in_i64(c, MEMORY_LENGTHS)};
    a.query = in_f64(c, QW) + d * p->hidden * a.units;
    a.keys = in_f64(c, KEYS) + d * p->batch * a.rows * a.units;
    a.v = in_f64(c, V) + d * a.units;
    a.weights = in_f64(c, WA) + d * p->gates * p->hidden * a.size;
    if (in_f64(c, AW)) a.layer = in_f64(c, AW) + d * (p->hidden + a.depth) * a.size;
    return a;
}

/* Writes the scores of a batch entry, and turns them into weights that sum to 1. */
static void align(double *scores, const attention *a, const double *query, size_t b, size_t rows)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < rows; i++) {
        const double *key = a->keys + (b * a->rows + i) * a->units;
        scores[i] = 0;
        for (size_t k = 0; k < a->units; k++) scores[i] += a->v[k] * tanh(key[k] + query[k]);
        most = fmax(most, scores[i]);
    }
    for (size_t i = 0; i < rows; i++) sum += scores[i] = exp(scores[i] - most);
    for (size_t i = 0; i < rows; i++) scores[i] /= sum;
}

static void read_memory(double *context, double *scores, const attention *a, const double *queries,
                        size_t batch)
{
    memset(context, 0, batch * a->depth * sizeof *context);
    for (size_t b = 0; b < batch; b++, context += a->depth) {
        const size_t rows = a->lengths ? (size_t)a->lengths[b] : a->rows;
        align(scores, a, queries + b * a->units, b, rows);
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < a->depth; k++)
                context[k] += scores[i] * a->memory[(b * a->rows + i) * a->depth + k];
    }
}

/* c (+)= rows of x times a matrix [depth, n] */
static pgy_status times(double *c, size_t n, const double *x, size_t rows, size_t depth,
                        const double *matrix, bool accumulate, pgy_error *err)
{
    return gemm_f64(rows, n, depth, (gemm_matrix){x, (int64_t)depth, 1},
                    (gemm_matrix){matrix, (int64_t)n, 1}, c, n, accumulate, err);
}

/* Computes the attention of the whole batch into `to`. */
static pgy_status attend(double *to, const rnn_problem *p, const attention *a, pgy_error *err)
{
    double *queries = NULL, *scores = NULL, *context = NULL;
    pgy_status st =
        workspace_alloc((void **)&queries, p->c, p->batch * a->units, sizeof(double), err);
    if (!st) st = workspace_alloc((void **)&scores, p->c, a->rows, sizeof(double), err);
    if (!st)
        st = workspace_alloc((void **)&context, p->c, p->batch * a->depth, sizeof(double), err);
    if (!st) st = times(queries, a->units, p->h, p->batch, p->hidden, a->query, false, err);
    if (!st) read_memory(a->layer ? context : to, scores, a, queries, p->batch);
    if (!st && a->layer) st = times(to, a->size, p->h, p->batch, p->hidden, a->layer, false, err);
    if (!st && a->layer)
        st = times(to, a->size, context, p->batch, a->depth, a->layer + p->hidden * a->size, true,
                   err);
    mem_free(queries);
    mem_free(scores);
    mem_free(context);
    return st;
}

static pgy_status multiply(const rnn_problem *p, size_t input, size_t step, pgy_error *err)
{
    const attention a = attention_of(p);
    const size_t width = p->gates * p->hidden;
    double *state = NULL;
    pgy_status st = rnn_multiply_plain(p, input, step, err);
    if (st || input != RNN_R || !step) return st;
    st = workspace_alloc((void **)&state, p->c, p->batch * a.size, sizeof *state, err);
    if (!st) st = attend(state, p, &a, err);
    if (!st)
        st = gemm_f64(p->batch, width, a.size, (gemm_matrix){state, (int64_t)a.size, 1},
                      (gemm_matrix){a.weights, 1, (int64_t)a.size}, p->hr, width, true, err);
    mem_free(state);
    return st;
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static const rnn_kind KIND = {.gates = 4,
                              .functions = 3,
                              .defaults = RNN_LSTM_FUNCTIONS,
                              .has_cell = true,
                              .cell = rnn_lstm_cell,
                              .multiply = multiply};
static const op_def INNER = {.name = "AttnLSTM",
                             .domain = "pgy",
                             .since = 1,
                             .min_inputs = RNN_B,
                             .max_inputs = INNER_INPUTS,
                             .max_outputs = 3,
                             .attrs = ATTRS,
                             .types = "float32 float64",
                             .infer = rnn_infer,
                             .eval = rnn_eval,
                             .user_data = &KIND};

static op_node inner_node(const op_node *n)
{
    op_node inner = *n;
    inner.signature = NULL;
    inner.def = &INNER;
    return inner;
}

static pgy_status expect(const op_infer *c, size_t input, int32_t rank, const dim *dims,
                         pgy_error *err)
{
    pgy_status st = rank_check(c, input, rank, rank, err);
    for (int32_t i = 0; !st && i < rank; i++)
        st = dim_check(c, input, (size_t)i, dims[i], "the size that the other inputs give", err);
    return st;
}

/* Dim `axis` of an input, or an unknown one. */
static dim size_of(const op_infer *c, size_t input, size_t axis, int32_t rank)
{
    return op_has_input(c, input) && c->inputs[input].rank == rank
               ? c->inputs[input].dims[axis]
               : dim_unknown(c->dims, "the shape of an input is not known");
}

static pgy_status check_memory(const op_infer *c, pgy_error *err)
{
    const dim d = size_of(c, RNN_R, 0, 3), hidden = size_of(c, RNN_R, 2, 3);
    const dim units = size_of(c, V, 1, 2), batch = size_of(c, RNN_X, 1, 3);
    const dim rows = size_of(c, M, 1, 3), depth = size_of(c, M, 2, 3);
    const dim both = dim_add(c->dims, depth, hidden);
    pgy_status st = expect(c, QW, 3, (dim[]){d, hidden, units}, err);
    if (!st) st = expect(c, MW, 3, (dim[]){d, depth, units}, err);
    if (!st) st = expect(c, V, 2, (dim[]){d, units}, err);
    if (!st) st = expect(c, M, 3, (dim[]){batch, rows, depth}, err);
    if (!st) st = expect(c, MEMORY_LENGTHS, 1, &batch, err);
    if (!st) st = expect(c, AW, 3, (dim[]){d, both, size_of(c, AW, 2, 3)}, err);
    return st;
}

/* The rule of LSTM, for the columns of W that belong to X. */
static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_value values[INPUTS];
    const op_node node = inner_node(c->node);
    const dim in = size_of(c, RNN_X, 2, 3);
    const dim size = op_has_input(c, AW) ? size_of(c, AW, 2, 3) : size_of(c, M, 2, 3);
    pgy_status st = rank_check(c, RNN_W, 3, 3, err);
    if (!st)
        st = dim_check(c, RNN_W, 2, dim_add(c->dims, in, size),
                       "the sizes of X and of the attention together", err);
    if (!st) st = check_memory(c, err);
    if (st) return st;
    memcpy(values, c->inputs, c->node->input_count * sizeof *values);
    if (values[RNN_W].rank == 3) {
        dim *dims = op_dims(c, 3);
        if (!dims) return rule_no_memory(c->node, err);
        memcpy(dims, c->inputs[RNN_W].dims, 2 * sizeof *dims);
        dims[2] = in;
        values[RNN_W].dims = dims;
    }
    op_infer inner = *c;
    inner.node = &node;
    inner.inputs = values;
    st = node.def->infer(&inner, err);
    c->why = inner.why;
    return st;
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

/* Gives columns [from, from + count) of W. */
static pgy_status take_columns(op_tensor *out, const op_eval *c, size_t from, size_t count,
                               pgy_error *err)
{
    const int64_t *s = in_shape(c, RNN_W);
    const size_t rows = (size_t)(s[0] * s[1]), width = (size_t)s[2];
    const int64_t shape[] = {s[0], s[1], (int64_t)count};
    const pgy_status st = pgy_tensor_create(&out->value, PGY_F64, 3, shape, err);
    out->dtype = c->inputs[RNN_X].dtype;
    for (size_t i = 0; !st && i < rows; i++)
        memcpy(op_f64(out->value) + i * count, in_f64(c, RNN_W) + i * width + from,
               count * sizeof(double));
    return st;
}

/* Gives M MW of all directions: [directions, batch, rows, units]. */
static pgy_status make_keys(op_tensor *out, const op_eval *c, pgy_error *err)
{
    const int64_t *m = in_shape(c, M), *w = in_shape(c, MW);
    const int64_t shape[] = {w[0], m[0], m[1], w[2]};
    const size_t rows = (size_t)(m[0] * m[1]), depth = (size_t)m[2], units = (size_t)w[2];
    pgy_status st = pgy_tensor_create(&out->value, PGY_F64, 4, shape, err);
    out->dtype = c->inputs[RNN_X].dtype;
    for (size_t d = 0; !st && d < (size_t)w[0]; d++)
        st = times(op_f64(out->value) + d * rows * units, units, in_f64(c, M), rows, depth,
                   in_f64(c, MW) + d * depth * units, false, err);
    return st;
}

static pgy_status check_lengths(const op_eval *c, pgy_error *err)
{
    const int64_t *lengths = in_i64(c, MEMORY_LENGTHS), rows = in_shape(c, M)[1];
    for (size_t b = 0; lengths && b < in_count(c, MEMORY_LENGTHS); b++)
        if (lengths[b] < 1 || lengths[b] > rows)
            return op_error(c->node, err, PGY_E_SHAPE, "memory length %lld is not in [1, %lld]",
                            (long long)lengths[b], (long long)rows);
    return PGY_OK;
}

static pgy_status make_inputs(op_tensor *in, const op_eval *c, pgy_error *err)
{
    const size_t columns = (size_t)in_shape(c, RNN_X)[2], all = (size_t)in_shape(c, RNN_W)[2];
    pgy_status st = take_columns(&in[RNN_W], c, 0, columns, err);
    if (!st) st = take_columns(&in[WA], c, columns, all - columns, err);
    if (!st) st = make_keys(&in[KEYS], c, err);
    for (size_t i = 0; !st && i < c->node->input_count; i++)
        if (i != RNN_W && i != MW && op_has_value(c, i)) in[i] = op_tensor_retain(&c->inputs[i]);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    op_node node = inner_node(c->node);
    op_tensor in[INNER_INPUTS] = {{0}}, made[3] = {{0}};
    op_host host = c->host ? *c->host : (op_host){0};
    host.model_precision = false;
    node.input_count = INNER_INPUTS;
    pgy_status st = inputs_check(c, "FFFfifffFFFFif", err);
    if (!st) st = check_lengths(c, err);
    if (!st) st = make_inputs(in, c, err);
    if (!st) st = op_run(&node, in, made, c->wanted, &host, err);
    for (size_t i = 0; !st && i < c->node->output_count; i++) {
        op_tensor_release(&c->outputs[i]);
        c->outputs[i] = made[i];
    }
    for (size_t i = 0; i < INNER_INPUTS; i++) op_tensor_release(&in[i]);
    return st;
}

const op_def OP_attn_lstm[] = {
    {"AttnLSTM", "com.microsoft", 1, 0, M + 1, INPUTS, 0, 3, 0, ATTRS, "float32 float64", infer,
     eval, NULL,
     .signature = "T = float32 float64; T1 = int32; X:T, W:T, R:T, ?B:T, ?sequence_lens:T1, "
                  "?initial_h:T, ?initial_c:T, ?P:T, QW:T, MW:T, V:T, M:T, ?memory_seq_lens:T1, "
                  "?AW:T -> ?Y:T, ?Y_h:T, ?Y_c:T"},
    {NULL},
};
