/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent networks. X W' is one product for all steps; H R' is one per step. A reversed direction
 * starts at each sequence's own end; beyond that end outputs are zero and the state does not
 * change. */
#include "ops/class_rnn.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/system.h"
#include "ops/gemm.h"
#include "ops/vmath.h"

/* ---- Shape ---------------------------------------------------------------------------------- */

static bool is_batch_first(const op_node *n)
{
    return op_attr_int(n, "layout", 0) != 0;
}

static pgy_status count_directions(size_t *out, const op_node *n, pgy_error *err)
{
    static const char *const NAMES[] = {"forward", "reverse", "bidirectional"};
    for (size_t i = 0; i < 3; i++)
        if (op_attr_is(n, "direction", NAMES[i], "forward")) {
            *out = i == 2 ? 2 : 1;
            return PGY_OK;
        }
    return op_error(n, err, PGY_E_ARGUMENT,
                    "attribute direction must be forward, reverse or bidirectional");
}

/* Checks the shape of an input, where it and the expected one are known. */
static pgy_status expect(op_infer *c, size_t input, int32_t rank, const dim *dims, pgy_error *err)
{
    pgy_status st = rank_check(c, input, rank, rank, err);
    for (int32_t i = 0; !st && i < rank; i++)
        st = dim_check(c, input, (size_t)i, dims[i], "the size that the other inputs give", err);
    return st;
}

static pgy_status expect_all(op_infer *c, dim d, dim batch, dim inputs, dim hidden, pgy_error *err)
{
    const rnn_kind *kind = c->node->def->user_data;
    dim gates = dim_mul(c->dims, hidden, dim_const((int64_t)kind->gates));
    bool first = is_batch_first(c->node);
    dim state[3] = {first ? batch : d, first ? d : batch, hidden};
    pgy_status st = expect(c, RNN_W, 3, (dim[]){d, gates, inputs}, err);
    if (!st) st = expect(c, RNN_R, 3, (dim[]){d, gates, hidden}, err);
    if (!st) st = expect(c, RNN_B, 2, (dim[]){d, dim_mul(c->dims, gates, dim_const(2))}, err);
    if (!st) st = expect(c, RNN_LENGTHS, 1, &batch, err);
    if (!st) st = expect(c, RNN_H0, 3, state, err);
    if (st || !kind->has_cell) return st;
    st = expect(c, RNN_C0, 3, state, err);
    return st ? st : expect(c, RNN_P, 2, (dim[]){d, dim_mul(c->dims, hidden, dim_const(3))}, err);
}

static dim find_hidden(op_infer *c)
{
    int64_t given = op_attr_int(c->node, "hidden_size", 0);
    if (given > 0) return dim_const(given);
    return rank_known(c, RNN_R) && c->inputs[RNN_R].rank == 3
               ? c->inputs[RNN_R].dims[2]
               : dim_unknown(c->dims, "the hidden size is not known");
}

pgy_status rnn_infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[RNN_X];
    size_t directions = 1;
    bool first = is_batch_first(c->node);
    pgy_status st = count_directions(&directions, c->node, err);
    if (!st) st = rank_check(c, RNN_X, 3, 3, err);
    if (st) return st;
    dim unknown[3];
    for (int i = 0; i < 3; i++)
        unknown[i] =
            x->rank == 3 ? x->dims[i] : dim_unknown(c->dims, "the input's shape is not known");
    dim d = dim_const((int64_t)directions), hidden = find_hidden(c), steps = unknown[first],
        batch = unknown[!first];
    st = expect_all(c, d, batch, unknown[2], hidden, err);
    if (st) return st;
    dim *all = op_dims(c, 4), *last = op_dims(c, 3);
    if (!all || !last) return rule_no_memory(c->node, err);
    memcpy(all, first ? (dim[]){batch, steps, d, hidden} : (dim[]){steps, d, batch, hidden},
           4 * sizeof *all);
    memcpy(last, first ? (dim[]){batch, d, hidden} : (dim[]){d, batch, hidden}, 3 * sizeof *last);
    for (size_t i = 0; i < c->node->output_count; i++)
        op_set_output(c, i, x->dtype, i ? 3 : 4, i ? last : all);
    return PGY_OK;
}

double rnn_flops(const op_infer *c)
{
    const op_value *x = &c->inputs[RNN_X];
    if (x->rank != 3) return 0;
    return 2 * (double)x->dims[0].value * (double)x->dims[1].value *
           (dims_product(&c->inputs[RNN_W]) + dims_product(&c->inputs[RNN_R]));
}

/* ---- Activations ---------------------------------------------------------------------------- */

static double relu(double x, double a, double b)
{
    (void)a;
    (void)b;
    return x < 0 ? 0 : x; /* a NaN stays NaN, as in Relu */
}

static double tanh_of(double x, double a, double b)
{
    (void)a;
    (void)b;
    return tanh(x);
}

static double sigmoid(double x, double a, double b)
{
    (void)a;
    (void)b;
    return 1 / (1 + exp(-x));
}

static double affine(double x, double a, double b)
{
    return a * x + b;
}

static double leaky_relu(double x, double a, double b)
{
    (void)b;
    return x >= 0 ? x : a * x;
}

static double thresholded_relu(double x, double a, double b)
{
    (void)b;
    return x >= a ? x : 0;
}

static double scaled_tanh(double x, double a, double b)
{
    return a * tanh(b * x);
}

static double hard_sigmoid(double x, double a, double b)
{
    const double y = a * x + b;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

static double elu(double x, double a, double b)
{
    (void)b;
    return x >= 0 ? x : a * expm1(x);
}

static double softsign(double x, double a, double b)
{
    (void)a;
    (void)b;
    return x / (1 + fabs(x));
}

static double softplus(double x, double a, double b)
{
    (void)a;
    (void)b;
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static const struct activation {
    const char *name;
    rnn_function function; /* activation with default parameters */
    int parameters;
} ACTIVATIONS[] = {
    {"Relu", {relu, 0, 0}, 0},
    {"Tanh", {tanh_of, 0, 0}, 0},
    {"Sigmoid", {sigmoid, 0, 0}, 0},
    {"Affine", {affine, 1, 0}, 2},
    {"LeakyRelu", {leaky_relu, 0.01f, 0}, 1},
    {"ThresholdedRelu", {thresholded_relu, 1, 0}, 1},
    {"ScaledTanh", {scaled_tanh, 1, 1}, 2},
    {"HardSigmoid", {hard_sigmoid, 0.2f, 0.5}, 2},
    {"Elu", {elu, 1, 0}, 1},
    {"Softsign", {softsign, 0, 0}, 0},
    {"Softplus", {softplus, 0, 0}, 0},
};

static bool same_word(span s, const char *name)
{
    char text[32];
    if (s.size >= sizeof text) return false;
    memcpy(text, s.data, s.size);
    text[s.size] = 0;
    return str_equal_nocase(text, name);
}

/* Reads the activation functions of all directions. The values of activation_alpha and
 * activation_beta go, in order, to the functions that take them. */
static pgy_status read_functions(rnn_function *to, const op_node *n, size_t directions,
                                 pgy_error *err)
{
    const rnn_kind *kind = n->def->user_data;
    const op_attr *given = op_attr_find(n, "activations");
    size_t count = kind->functions * directions, alphas = 0, betas = 0, alpha = 0, beta = 0;
    const float *as = op_attr_floats(n, "activation_alpha", &alphas),
                *bs = op_attr_floats(n, "activation_beta", &betas);
    bool listed = given && given->kind == OP_ATTR_STRINGS && given->count > 0;
    if (listed && given->count != count)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute activations has %zu values, but %zu are needed", given->count,
                        count);
    for (size_t i = 0; i < count; i++) {
        span word = listed ? given->strings[i] : span_of(kind->defaults[i % kind->functions]);
        const struct activation *a = NULL;
        for (size_t k = 0; k < sizeof ACTIVATIONS / sizeof *ACTIVATIONS; k++)
            if (same_word(word, ACTIVATIONS[k].name)) a = &ACTIVATIONS[k];
        if (!a)
            return op_error(n, err, PGY_E_ARGUMENT,
                            "attribute activations has the unknown name '%.*s'", (int)word.size,
                            word.data);
        to[i] = a->function;
        if (a->parameters > 0 && alpha < alphas) to[i].alpha = (double)as[alpha++];
        if (a->parameters > 1 && beta < betas) to[i].beta = (double)bs[beta++];
    }
    return PGY_OK;
}

double rnn_activate(const rnn_problem *p, size_t i, double x)
{
    const rnn_function *f = &p->functions[i];
    return f->apply(x > p->clip ? p->clip : x < -p->clip ? -p->clip : x, f->alpha, f->beta);
}

void rnn_apply_all(const rnn_problem *p, size_t i, double *x, size_t n)
{
    const rnn_function *f = &p->functions[i];
    if (f->apply == sigmoid)
        vmath_sigmoid(x, x, n);
    else if (f->apply == tanh_of)
        vmath_tanh(x, x, n);
    else
        for (size_t j = 0; j < n; j++) x[j] = f->apply(x[j], f->alpha, f->beta);
}

void rnn_activate_all(const rnn_problem *p, size_t i, double *x, size_t n)
{
    if (!isinf(p->clip))
        for (size_t j = 0; j < n; j++)
            x[j] = x[j] > p->clip ? p->clip : x[j] < -p->clip ? -p->clip : x[j];
    rnn_apply_all(p, i, x, n);
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

double rnn_bias_w(const rnn_problem *p, size_t gate, size_t j)
{
    return p->bias ? p->bias[gate * p->hidden + j] : 0;
}

double rnn_bias_r(const rnn_problem *p, size_t gate, size_t j)
{
    return p->bias ? p->bias[(p->gates + gate) * p->hidden + j] : 0;
}

size_t rnn_length(const rnn_problem *p, size_t b)
{
    const int64_t *lengths = in_i64(p->c, RNN_LENGTHS);
    return lengths ? (size_t)lengths[b] : p->steps;
}

static size_t time_of(const rnn_problem *p, size_t step, size_t b)
{
    return p->reverse ? rnn_length(p, b) - 1 - step : step;
}

const double *rnn_row(const rnn_problem *p, size_t step, size_t b)
{
    if (step >= rnn_length(p, b)) return NULL;
    size_t t = time_of(p, step, b), row = p->batch_first ? b * p->steps + t : t * p->batch + b;
    return p->xw + row * p->gates * p->hidden;
}

/* Element offset, in Y_h, Y_c, initial_h and initial_c, of the state of batch entry b for this
 * direction. */
static size_t state_at(const rnn_problem *p, size_t b)
{
    size_t row = p->batch_first ? b * p->directions + p->direction : p->direction * p->batch + b;
    return row * p->hidden;
}

static void store_step(const rnn_problem *p, size_t step, size_t b)
{
    double *y = out_f64(p->c, 0);
    size_t t = time_of(p, step, b);
    if (!y) return;
    size_t row = p->batch_first ? (b * p->steps + t) * p->directions + p->direction
                                : (t * p->directions + p->direction) * p->batch + b;
    memcpy(y + row * p->hidden, p->h + b * p->hidden, p->hidden * sizeof *y);
}

static void move_states(const rnn_problem *p, double *to, const double *from, bool out)
{
    for (size_t b = 0; to && from && b < p->batch; b++)
        memcpy(to + (out ? state_at(p, b) : b * p->hidden),
               from + (out ? b * p->hidden : state_at(p, b)), p->hidden * sizeof *to);
}

/* The plain products. */
pgy_status rnn_multiply_plain(const rnn_problem *p, size_t input, size_t step, pgy_error *err)
{
    const bool state = input == RNN_R;
    const size_t width = p->gates * p->hidden, depth = state ? p->hidden : p->inputs;
    const gemm_matrix a = {state ? p->h : in_f64(p->c, RNN_X), (int64_t)depth, 1};
    const gemm_matrix b = {state ? p->r : p->w, 1, (int64_t)depth};
    (void)step;
    return gemm_f64(state ? p->batch : p->steps * p->batch, width, depth, a, b,
                    state ? p->hr : p->xw, width, false, err);
}

static pgy_status run_direction(const rnn_problem *p, const rnn_kind *kind, pgy_error *err)
{
    const rnn_multiply product = kind->multiply ? kind->multiply : rnn_multiply_plain;
    pgy_status st = product(p, RNN_W, 0, err);
    for (size_t step = 0; !st && step < p->steps && !cancel_requested(); step++) {
        st = product(p, RNN_R, step, err);
        if (!st && kind->prepare) st = kind->prepare(p, step, err);
        for (size_t b = 0; !st && b < p->batch; b++) {
            const double *row = rnn_row(p, step, b);
            if (!row) continue;
            kind->cell(p, b, row);
            store_step(p, step, b);
        }
    }
    if (st) return st;
    move_states(p, out_f64(p->c, 1), p->h, true);
    move_states(p, out_f64(p->c, 2), p->cell, true);
    return PGY_OK;
}

static pgy_status allocate(rnn_problem *p, pgy_error *err)
{
    size_t state = p->batch * p->hidden, width = p->gates * p->hidden, rows = 0, all = 0, step = 0;
    if (!size_mul(&rows, p->steps, p->batch) || !size_mul(&all, rows, width) ||
        !size_mul(&step, p->batch, width))
        return op_error(p->c->node, err, PGY_E_MEMORY, "the workspace is too large for memory");
    pgy_status st = workspace_alloc((void **)&p->xw, p->c, all, sizeof(double), err);
    if (!st) st = workspace_alloc((void **)&p->hr, p->c, step, sizeof(double), err);
    if (!st) st = workspace_alloc((void **)&p->h, p->c, state, sizeof(double), err);
    if (!st) st = workspace_alloc((void **)&p->cell, p->c, state, sizeof(double), err);
    if (!st) st = workspace_alloc((void **)&p->scratch, p->c, state, sizeof(double), err);
    if (!st) st = workspace_alloc((void **)&p->product, p->c, state, sizeof(double), err);
    return st;
}

static pgy_status check_lengths(const rnn_problem *p, pgy_error *err)
{
    const int64_t *lengths = in_i64(p->c, RNN_LENGTHS);
    for (size_t b = 0; lengths && b < p->batch; b++)
        if (lengths[b] < 0 || lengths[b] > (int64_t)p->steps)
            return op_error(p->c->node, err, PGY_E_SHAPE,
                            "sequence length %" PRId64 " is not in [0, %zu]", lengths[b], p->steps);
    return PGY_OK;
}

static void enter_direction(rnn_problem *p, size_t direction, const rnn_function *functions)
{
    const op_eval *c = p->c;
    const rnn_kind *kind = c->node->def->user_data;
    size_t width = p->gates * p->hidden, state = p->batch * p->hidden;
    p->direction = direction;
    p->reverse = direction == 1 || op_attr_is(c->node, "direction", "reverse", "forward");
    memcpy(p->functions, functions + direction * kind->functions,
           kind->functions * sizeof *functions);
    p->w = in_f64(c, RNN_W) + direction * width * p->inputs;
    p->r = in_f64(c, RNN_R) + direction * width * p->hidden;
    p->bias = in_f64(c, RNN_B) ? in_f64(c, RNN_B) + direction * 2 * width : NULL;
    p->peephole =
        kind->has_cell && in_f64(c, RNN_P) ? in_f64(c, RNN_P) + direction * 3 * p->hidden : NULL;
    memset(p->h, 0, state * sizeof *p->h);
    memset(p->cell, 0, state * sizeof *p->cell);
    move_states(p, p->h, in_f64(c, RNN_H0), false);
    if (kind->has_cell) move_states(p, p->cell, in_f64(c, RNN_C0), false);
}

/* Both directions of a bidirectional network, run in parallel because they are independent. */
typedef struct rnn_job {
    const rnn_problem *common;
    const rnn_function *functions;
    pgy_status status[2];
    pgy_error errors[2];
} rnn_job;

static void direction_task(size_t d, void *user)
{
    rnn_job *job = user;
    rnn_problem p = *job->common;
    pgy_error *err = &job->errors[d];
    pgy_status st = allocate(&p, err);
    if (!st) {
        enter_direction(&p, d, job->functions);
        st = run_direction(&p, p.c->node->def->user_data, err);
    }
    job->status[d] = st;
    mem_free(p.xw);
    mem_free(p.hr);
    mem_free(p.h);
    mem_free(p.cell);
    mem_free(p.scratch);
    mem_free(p.product);
}

/* A step of few rows is too little work for several threads; then the directions run in
 * parallel. */
static pgy_status run_directions(const rnn_problem *p, const rnn_function *functions,
                                 pgy_error *err)
{
    enum { FEW_ROWS = 16 };
    rnn_job job = {.common = p, .functions = functions};
    if (p->batch <= FEW_ROWS)
        parallel_for_until_cancelled(p->directions, direction_task, &job);
    else
        for (size_t d = 0; d < p->directions; d++) direction_task(d, &job);
    for (size_t d = 0; d < p->directions; d++)
        if (job.status[d]) {
            if (err) *err = job.errors[d];
            return job.status[d];
        }
    return PGY_OK;
}

pgy_status rnn_eval(op_eval *c, pgy_error *err)
{
    const rnn_kind *kind = c->node->def->user_data;
    rnn_function functions[2 * RNN_MAX_FUNCTIONS];
    rnn_problem p = {
        .c = c, .gates = kind->gates, .directions = 1, .batch_first = is_batch_first(c->node)};
    pgy_status st = inputs_check(c, "FFFfifff", err);
    if (!st) st = count_directions(&p.directions, c->node, err);
    if (!st) st = read_functions(functions, c->node, p.directions, err);
    if (st) return st;
    const int64_t *x = in_shape(c, RNN_X);
    p.steps = (size_t)x[p.batch_first];
    p.batch = (size_t)x[!p.batch_first];
    p.inputs = (size_t)x[2];
    p.hidden = (size_t)in_shape(c, RNN_R)[2];
    p.clip = op_attr_float(c->node, "clip", 0);
    if (!(p.clip > 0)) p.clip = INFINITY;
    st = check_lengths(&p, err);
    if (!st) st = run_directions(&p, functions, err);
    return st;
}
