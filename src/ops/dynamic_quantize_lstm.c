/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft DynamicQuantizeLSTM: an LSTM whose weights [directions, in, 4 * hidden] are 8-bit
 * integers. As in ONNX Runtime, DynamicQuantizeLinear is applied to X, all steps at once, and in
 * each step to H of the whole batch; products are sums of integers, scaled. */
#include "base/alloc.h"
#include "ops/class_quantize.h"
#include "ops/class_rnn.h"
#include "ops/gemm.h"

enum { W_SCALE = RNN_P + 1, W_ZERO, R_SCALE, R_ZERO, INPUTS };

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

/* ---- Products ------------------------------------------------------------------------------- */

/* Does row b count in the range of H before `step`? H is 0 behind the end of a sequence, as Y is;
 * the last H of a sequence counts once more. */
static bool counts(const rnn_problem *p, size_t step, size_t b)
{
    return !step || rnn_length(p, b) >= step;
}

/* Quantises `rows` rows of X or H to integers minus their zero point, and gives their scale. */
static double quantise(double *to, const rnn_problem *p, size_t input, size_t rows, size_t step)
{
    const bool state = input == RNN_R;
    const size_t depth = state ? p->hidden : p->inputs;
    const double *from = state ? p->h : in_f64(p->c, RNN_X);
    double low = 0, high = 0;
    int64_t zero;
    for (size_t i = 0; i < rows; i++)
        if (!state || counts(p, step, i)) quantize_extend(&low, &high, from + i * depth, depth);
    const double scale = quantize_dynamic_scale(&zero, low, high);
    for (size_t i = 0; i < rows * depth; i++)
        to[i] = (double)(quantize_dynamic_int(from[i], scale, zero) - zero);
    return scale;
}

static void scale_columns(double *y, const rnn_problem *p, size_t input, size_t rows, double scale)
{
    const size_t columns = p->gates * p->hidden, at = input == RNN_W ? W_SCALE : R_SCALE;
    const bool each = in_count(p->c, at) != p->directions;
    const double *scales = in_f64(p->c, at) + p->direction * (each ? columns : 1);
    for (size_t i = 0; i < rows; i++, y += columns)
        for (size_t j = 0; j < columns; j++) y[j] *= scale * scales[each ? j : 0];
}

/* No step reads rows of X behind the longest sequence, and they do not count in its range. */
static size_t rows_of(const rnn_problem *p)
{
    size_t longest = 0;
    for (size_t b = 0; b < p->batch; b++)
        if (rnn_length(p, b) > longest) longest = rnn_length(p, b);
    return longest * p->batch;
}

static pgy_status multiply(const rnn_problem *p, size_t input, size_t step, pgy_error *err)
{
    const bool state = input == RNN_R;
    const size_t rows = state ? p->batch : rows_of(p), columns = p->gates * p->hidden;
    const size_t depth = state ? p->hidden : p->inputs;
    double *a = NULL, *y = state ? p->hr : p->xw;
    pgy_status st = workspace_alloc((void **)&a, p->c, rows * depth, sizeof *a, err);
    if (st) return st;
    const double scale = quantise(a, p, input, rows, step);
    st = gemm_f64(rows, columns, depth, (gemm_matrix){a, (int64_t)depth, 1},
                  (gemm_matrix){state ? p->r : p->w, 1, (int64_t)depth}, y, columns, false, err);
    if (!st) scale_columns(y, p, input, rows, scale);
    mem_free(a);
    return st;
}

/* ---- The operator --------------------------------------------------------------------------- */

static const rnn_kind KIND = {.gates = 4,
                              .functions = 3,
                              .defaults = RNN_LSTM_FUNCTIONS,
                              .has_cell = true,
                              .cell = rnn_lstm_cell,
                              .multiply = multiply};
/* What runs, with weights as LSTM has them: [directions, 4 * hidden, in], minus zero points. Their
 * type is that of X, so the domain is one that has no signature for it. */
static const op_def INNER = {.name = "DynamicQuantizeLSTM",
                             .domain = "pgy",
                             .since = 1,
                             .min_inputs = RNN_B,
                             .max_inputs = INPUTS,
                             .max_outputs = 3,
                             .attrs = ATTRS,
                             .types = "float32",
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

/* Scales and zero points: one for each direction, or for each column of a direction. */
static pgy_status check_scales(const op_infer *c, size_t weights, size_t input, pgy_error *err)
{
    const op_value *w = &c->inputs[weights];
    const char *const what = "the size that the weights give";
    pgy_status st = rank_check(c, input, 1, 2, err);
    if (st || w->rank != 3 || !rank_known(c, input)) return st;
    st = dim_check(c, input, 0, w->dims[0], what, err);
    if (st || c->inputs[input].rank == 1) return st;
    return dim_check(c, input, 1, w->dims[2], what, err);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_value values[INPUTS];
    const op_node node = inner_node(c->node);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < INPUTS; i++) {
        values[i] = c->inputs[i];
        if (i >= W_SCALE) st = check_scales(c, i < R_SCALE ? RNN_W : RNN_R, i, err);
        if (st || (i != RNN_W && i != RNN_R)) continue;
        st = rank_check(c, i, 3, 3, err);
        values[i].dtype = c->inputs[RNN_X].dtype;
        if (st || values[i].rank < 0) continue;
        dim *dims = op_dims(c, 3);
        if (!dims) return rule_no_memory(c->node, err);
        dims[0] = c->inputs[i].dims[0];
        dims[1] = c->inputs[i].dims[2];
        dims[2] = c->inputs[i].dims[1];
        values[i].dims = dims;
    }
    if (st) return st;
    op_infer inner = *c;
    inner.node = &node;
    inner.inputs = values;
    st = node.def->infer(&inner, err);
    c->why = inner.why;
    return st;
}

/* Gives the weights minus their zero points, with columns as rows. */
static pgy_status turn_weights(op_tensor *out, const op_eval *c, size_t input, size_t zero,
                               pgy_error *err)
{
    const int64_t *s = in_shape(c, input);
    const size_t rows = (size_t)s[1], columns = (size_t)s[2];
    const bool each = in_count(c, zero) != (size_t)s[0];
    pgy_status st = pgy_tensor_create(&out->value, PGY_F64, 3, (int64_t[]){s[0], s[2], s[1]}, err);
    if (st) return st;
    out->dtype = c->inputs[RNN_X].dtype;
    for (size_t i = 0; i < in_count(c, input); i++) {
        const size_t column = i % columns, row = i / columns % rows, d = i / columns / rows;
        const int64_t less = in_i64(c, zero)[each ? d * columns + column : d];
        op_f64(out->value)[(d * columns + column) * rows + row] =
            (double)(in_i64(c, input)[i] - less);
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node node = inner_node(c->node);
    op_tensor in[INPUTS] = {{0}}, made[3] = {{0}};
    op_host host = c->host ? *c->host : (op_host){0};
    host.model_precision = false;
    pgy_status st = inputs_check(c, "FIIfifffFIFI", err);
    for (size_t i = 0; !st && i < INPUTS; i++) {
        if (i == RNN_W || i == RNN_R)
            st = turn_weights(&in[i], c, i, i == RNN_W ? W_ZERO : R_ZERO, err);
        else if (op_has_value(c, i))
            in[i] = op_tensor_retain(&c->inputs[i]);
    }
    if (!st) st = op_run(&node, in, made, c->wanted, &host, err);
    for (size_t i = 0; !st && i < c->node->output_count; i++) {
        op_tensor_release(&c->outputs[i]);
        c->outputs[i] = made[i];
    }
    for (size_t i = 0; i < INPUTS; i++) op_tensor_release(&in[i]);
    return st;
}

const op_def OP_dynamic_quantize_lstm[] = {
    {"DynamicQuantizeLSTM", "com.microsoft", 1, 0, 12, 12, 0, 3, 0, ATTRS, "float32", infer, eval,
     NULL,
     .signature = "T = float32; T1 = int32; T2 = int8 uint8; X:T, W:T2, R:T2, ?B:T, "
                  "?sequence_lens:T1, ?initial_h:T, ?initial_c:T, ?P:T, W_scale:T, "
                  "W_zero_point:T2, R_scale:T, R_zero_point:T2 -> ?Y:T, ?Y_h:T, ?Y_c:T"},
    {NULL},
};
