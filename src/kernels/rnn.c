/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN in float32. Phase 0 computes X W' with the biases for all steps as one product.
 * Then each step takes one phase (two for a GRU that resets before the product): it adds H R' to
 * the rows of that step, and applies the gates to get the next H. Parts divide the hidden units, so
 * one thread computes each sum. Gates are padded to whole panels of the matrix product. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/matmul.h"
#include "kernels/packing.h"
#include "kernels/vec_math.h"

enum { X, W, R, B, LENGTHS, H0, C0, P, INPUTS };
enum { GATES_MAX = 4, MOST_STEPS = 1 << 20, MOST_FLOATS = 1 << 28 };
typedef enum cell { CELL_RNN, CELL_GRU, CELL_LSTM } cell;
typedef enum function { SIGMOID, TANH, RELU } function;

typedef struct params {
    uint32_t cell, level, directions, reverse; /* bit d of reverse: direction d runs backwards */
    uint32_t gates, batch_first, late_reset, coupled; /* late_reset: linear_before_reset */
    uint32_t has_lengths, has_peephole, inputs, outputs, functions[6];
    /* padded: `hidden` rounded up to whole panels of the product; width: padded size of all gates
     */
    uint64_t steps, batch, in, hidden, padded, width;
    /* Offsets into the packed floats of one direction; `each` is their number. */
    uint64_t bias_r, peephole, w, r, each;
    matmul_shape product; /* X W' of one direction */
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool read_functions(params *p, const op_node *n)
{
    static const char *const NAMES[] = {[SIGMOID] = "Sigmoid", [TANH] = "Tanh", [RELU] = "Relu"};
    static const uint32_t DEFAULTS[][3] = {
        [CELL_RNN] = {TANH}, [CELL_GRU] = {SIGMOID, TANH}, [CELL_LSTM] = {SIGMOID, TANH, TANH}};
    const size_t each = p->cell + 1, count = each * p->directions;
    const op_attr *given = op_attr_find(n, "activations");
    for (size_t i = 0; i < count; i++) p->functions[i] = DEFAULTS[p->cell][i % each];
    if (!given || given->kind != OP_ATTR_STRINGS || !given->count) return true;
    if (given->count != count) return false;
    for (size_t i = 0; i < count; i++) {
        const span word = given->strings[i];
        uint32_t k = 0;
        while (k < 3 && (word.size != strlen(NAMES[k]) || memcmp(word.data, NAMES[k], word.size)))
            k++;
        if (k == 3) return false;
        p->functions[i] = k;
    }
    return true;
}

static bool read_node(params *p, const op_node *n)
{
    const char *name = n->def->name;
    p->cell = strcmp(name, "LSTM") == 0  ? CELL_LSTM
              : strcmp(name, "GRU") == 0 ? CELL_GRU
                                         : CELL_RNN;
    p->gates = p->cell == CELL_LSTM ? 4 : p->cell == CELL_GRU ? 3 : 1;
    p->directions = op_attr_is(n, "direction", "bidirectional", "forward") ? 2 : 1;
    p->reverse = op_attr_is(n, "direction", "forward", "forward") ? 0 : p->directions;
    p->batch_first = op_attr_int(n, "layout", 0) != 0;
    p->late_reset = p->cell == CELL_GRU && op_attr_int(n, "linear_before_reset", 0) != 0;
    p->coupled = p->cell == CELL_LSTM && op_attr_int(n, "input_forget", 0) != 0;
    return !op_attr_find(n, "clip") && read_functions(p, n);
}

static bool are_known(const params *p, const kernel_problem *u)
{
    for (size_t i = 0; i < u->input_count; i++) {
        const kernel_tensor *t = &u->inputs[i];
        if (t->dtype && t->dtype != (i == LENGTHS ? PGY_I32 : PGY_F32)) return false;
        if (t->dtype && (i == W || i == R || i == B || i == P) && !t->data) return false;
    }
    for (size_t i = 0; i < u->output_count; i++)
        if (u->outputs[i].dtype && u->outputs[i].dtype != PGY_F32) return false;
    return p->cell == CELL_LSTM || u->input_count <= H0 + 1;
}

static bool has(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype;
}

static uint64_t padded_of(const params *p)
{
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    return (p->hidden + columns - 1) / columns * columns;
}

/* Are the sizes small enough that nothing computed from them overflows? */
static bool has_valid_sizes(const params *p)
{
    if (!p->steps || !p->batch || !p->in || !p->hidden || p->steps > MOST_STEPS) return false;
    if (p->hidden > MOST_FLOATS / 64 || p->in > MOST_FLOATS / 64) return false;
    return p->batch <= MOST_FLOATS / p->steps &&
           p->steps * p->batch <= MOST_FLOATS / (p->gates * padded_of(p));
}

/* Sets the members that follow from the sizes: padding, the product, offsets of packed weights. */
static void rnn_place(params *p)
{
    p->padded = padded_of(p);
    p->width = p->gates * p->padded;
    p->product = (matmul_shape){.m = p->steps * p->batch,
                                .n = p->width,
                                .k = p->in,
                                .a_row = p->in,
                                .a_column = 1,
                                .b_row = 1,
                                .b_column = p->in,
                                .batch = 1,
                                .alpha = 1,
                                .beta = 1,
                                .bias = MATMUL_BIAS_COLUMN};
    p->bias_r = p->width;
    p->peephole = p->bias_r + p->padded;
    p->w = p->peephole + 3 * p->padded;
    p->r = p->w + p->width * p->in;
    p->each = p->r + p->width * p->hidden;
}

static bool rnn_describe(params *p, const kernel_problem *u, cpu_level level)
{
    const kernel_tensor *x = &u->inputs[X], *r = &u->inputs[R];
    *p = (params){
        .level = level, .inputs = (uint32_t)u->input_count, .outputs = (uint32_t)u->output_count};
    if (u->input_count < 3 || !read_node(p, u->node) || !are_known(p, u) || x->rank != 3)
        return false;
    p->steps = (uint64_t)x->shape[p->batch_first ? 1 : 0];
    p->batch = (uint64_t)x->shape[p->batch_first ? 0 : 1];
    p->in = (uint64_t)x->shape[2];
    p->hidden = (uint64_t)r->shape[2];
    p->has_lengths = has(u, LENGTHS);
    p->has_peephole = has(u, P);
    if (!has_valid_sizes(p)) return false;
    rnn_place(p);
    return true;
}

static double step_flops(const params *p)
{
    return 2.0 * (double)(p->batch * p->width) * (double)p->hidden;
}

static bool rnn_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    const double flops_per_ns = u->self->rates[0];
    params p;
    if (!rnn_describe(&p, u, level)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    const double all = (double)(p.directions * p.steps * p.batch * p.width);
    *cost_ns = (2 * all * (double)p.in + 1.2 * (double)(p.directions * p.steps) * step_flops(&p)) /
                   flops_per_ns +
               all * 0.5 + (double)p.steps * 100;
    return true;
}

/* ---- Packing -------------------------------------------------------------------------------- */

/* Copies the gates of one direction; pads each gate with rows of zeros behind its hidden units. */
static void pad_gates(float *to, const params *p, const float *from, uint64_t depth)
{
    for (uint64_t g = 0; g < p->gates; g++, to += p->padded * depth) {
        memcpy(to, from + g * p->hidden * depth, p->hidden * depth * sizeof *to);
        memset(to + p->hidden * depth, 0, (p->padded - p->hidden) * depth * sizeof *to);
    }
}

/* Adds both biases into one, except the bias of R that a late reset scales. */
static void pack_biases(float *to, const params *p, const float *bias)
{
    const uint64_t last = p->gates - 1;
    memset(to, 0, (p->width + p->padded) * sizeof *to);
    for (uint64_t g = 0; bias && g < p->gates; g++)
        for (uint64_t j = 0; j < p->hidden; j++) {
            const float w = bias[g * p->hidden + j], r = bias[(p->gates + g) * p->hidden + j];
            const bool apart = p->late_reset && g == last;
            to[g * p->padded + j] = apart ? w : w + r;
            if (apart) to[p->bias_r + j] = r;
        }
}

static void pack_direction(float *to, const params *p, const kernel_problem *u, uint64_t d,
                           float *rows)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const uint64_t all = p->gates * p->hidden;
    const matmul_shape r = {.n = p->width, .k = p->hidden, .b_row = 1, .b_column = p->hidden};
    const float *peephole = p->has_peephole ? u->inputs[P].data : NULL;
    pack_biases(to, p, has(u, B) ? (const float *)u->inputs[B].data + d * 2 * all : NULL);
    memset(to + p->peephole, 0, 3 * p->padded * sizeof *to);
    for (uint64_t k = 0; peephole && k < 3; k++)
        memcpy(to + p->peephole + k * p->padded, peephole + (3 * d + k) * p->hidden,
               p->hidden * sizeof *to);
    pad_gates(rows, p, (const float *)u->inputs[W].data + d * all * p->in, p->in);
    matmul_pack(to + p->w, rows, &p->product, t, 0, matmul_panel_count(&p->product, t));
    pad_gates(rows, p, (const float *)u->inputs[R].data + d * all * p->hidden, p->hidden);
    matmul_pack(to + p->r, rows, &r, t, 0, matmul_panel_count(&r, t));
}

static bool rnn_fill(void *packed, const kernel_problem *u, const void *user)
{
    const params *p = user;
    const uint64_t depth = p->in > p->hidden ? p->in : p->hidden;
    float *rows = mem_alloc_aligned(64, p->width * depth * sizeof *rows);
    for (uint64_t d = 0; rows && d < p->directions; d++)
        pack_direction((float *)packed + d * p->each, p, u, d, rows);
    mem_free(rows);
    return rows != NULL;
}

static pgy_status rnn_pack(kernel_plan *out, const params *p, const kernel_problem *u,
                           pgy_error *err)
{
    const kernel_packing how = {.form = "rnn",
                                .numbers = {matmul_tile_of((cpu_level)p->level)->columns, p->cell,
                                            p->in, p->hidden, p->directions, p->late_reset,
                                            p->has_peephole},
                                .inputs = 1u << W | 1u << R | 1u << B | 1u << P,
                                .size_bytes = p->directions * p->each * sizeof(float),
                                .fill = rnn_fill,
                                .user = p};
    out->packed_inputs = how.inputs;
    const pgy_status st = kernel_pack(out, u, &how, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static uint64_t step_panels(const params *p)
{
    return p->padded / matmul_tile_of((cpu_level)p->level)->columns;
}

static bool resets_early(const params *p)
{
    return p->cell == CELL_GRU && !p->late_reset;
}

static uint32_t phase_count(const params *p)
{
    return 1 + (uint32_t)(p->directions * p->steps) * (resets_early(p) ? 2 : 1);
}

/* Workspace of all directions: gate rows of all steps, and four state matrices for each direction.
 */
static uint64_t workspace_floats(const params *p)
{
    return p->directions * (p->steps * p->batch * p->width + 4 * p->batch * p->padded);
}

static pgy_status rnn_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const cpu_level level = u->self->needs;
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)rnn_describe(p, u, level); /* cannot fail after `accept` */
    const matmul_tile *t = matmul_tile_of(level);
    /* Each step ends in a barrier, so small steps get few parts. */
    const double worth = step_flops(p) / 200000 + 1;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    out->phases = phase_count(p);
    out->parts = (uint32_t)(step_panels(p) < 64 ? step_panels(p) : 64);
    if (out->parts > worth) out->parts = (uint32_t)worth;
    out->scratch_bytes = matmul_scratch_count(&p->product, t) * sizeof(float);
    out->workspace_bytes = workspace_floats(p) * sizeof(float);
    return rnn_pack(out, p, u, err);
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool is_same_product(const matmul_shape *a, const matmul_shape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->a_row == b->a_row &&
           a->a_column == b->a_column && a->b_row == b->b_row && a->b_column == b->b_column &&
           a->batch == b->batch && a->batch_rank == b->batch_rank && a->bias == b->bias &&
           a->activation == b->activation;
}

/* Do the members that follow from others have the values that `prepare` computes? */
static bool is_consistent(const params *p)
{
    static const uint32_t GATES[] = {[CELL_RNN] = 1, [CELL_GRU] = 3, [CELL_LSTM] = 4};
    params own = *p;
    if (p->cell > CELL_LSTM || p->gates != GATES[p->cell] || p->inputs > INPUTS) return false;
    if (p->directions != 1 && p->directions != 2) return false;
    for (size_t i = 0; i < sizeof p->functions / sizeof *p->functions; i++)
        if (p->functions[i] > RELU) return false;
    if (!has_valid_sizes(&own)) return false;
    rnn_place(&own);
    return own.padded == p->padded && own.width == p->width && own.bias_r == p->bias_r &&
           own.peephole == p->peephole && own.w == p->w && own.r == p->r && own.each == p->each &&
           is_same_product(&own.product, &p->product);
}

static bool rnn_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || p->outputs != q->output_count || p->inputs < 3)
        return extent_refuse(e, "number of operands");
    if (!is_consistent(p)) return extent_refuse(e, "sizes");
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const uint64_t state = p->directions * p->batch * p->hidden, item = sizeof(float);
    extent_tensor(e, X, p->steps * p->batch * p->in, item);
    if (p->has_lengths) extent_tensor(e, LENGTHS, p->batch, sizeof(int32_t));
    for (uint32_t i = H0; i <= C0; i++)
        if (i < p->inputs && extent_has(q, i)) extent_tensor(e, i, state, item);
    for (uint32_t i = 0; i < 3 && i < p->outputs; i++)
        if (extent_has(q, p->inputs + i))
            extent_tensor(e, p->inputs + i, i ? state : p->steps * state, item);
    e->indices = 1u << LENGTHS;
    e->packed = p->directions * p->each * item;
    e->phases = phase_count(p);
    e->scratch = matmul_scratch_count(&p->product, t) * item;
    e->workspace = workspace_floats(p) * item;
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Memory of one direction during a run. */
typedef struct run_state {
    const params *p;
    const kernel_run *r;
    const float *packed;
    float *xw; /* a row of all gates for each step and batch entry */
    /* States as [batch][padded]; h[0] is read and h[1] written in even steps, else the reverse. */
    float *h[2], *c, *other;
    uint64_t direction;
} run_state;

static run_state state_of(const params *p, const kernel_run *r, uint64_t d)
{
    const uint64_t rows = p->steps * p->batch * p->width, one = p->batch * p->padded;
    float *states = (float *)r->workspace + p->directions * rows + d * 4 * one;
    return (run_state){.p = p,
                       .r = r,
                       .packed = (const float *)r->packed + d * p->each,
                       .xw = (float *)r->workspace + d * rows,
                       .h = {states, states + one},
                       .c = states + 2 * one,
                       .other = states + 3 * one,
                       .direction = d};
}

static uint64_t length_of(const run_state *s, uint64_t b)
{
    const params *p = s->p;
    if (!p->has_lengths) return p->steps;
    const int32_t n = ((const int32_t *)s->r->tensors[LENGTHS])[b];
    return n < 0 ? 0 : (uint64_t)n > p->steps ? p->steps : (uint64_t)n;
}

/* The time index that batch entry b reads at `step`; `step` must be below the entry's length. */
static uint64_t rnn_time_of(const run_state *s, uint64_t step, uint64_t b)
{
    return s->p->reverse >> s->direction & 1 ? length_of(s, b) - 1 - step : step;
}

static float *rnn_row_of(const run_state *s, uint64_t time, uint64_t b)
{
    const params *p = s->p;
    return s->xw + (p->batch_first ? b * p->steps + time : time * p->batch + b) * p->width;
}

/* Offset of batch entry b of this direction in Y_h, Y_c, initial_h and initial_c. */
static uint64_t state_at(const run_state *s, uint64_t b)
{
    const params *p = s->p;
    return (p->batch_first ? b * p->directions + s->direction : s->direction * p->batch + b) *
           p->hidden;
}

static void rnn_load_state(const run_state *s, float *to, size_t input)
{
    const params *p = s->p;
    const float *from = input < p->inputs ? s->r->tensors[input] : NULL;
    memset(to, 0, p->batch * p->padded * sizeof *to);
    for (uint64_t b = 0; from && b < p->batch; b++)
        memcpy(to + b * p->padded, from + state_at(s, b), p->hidden * sizeof *to);
}

static void rnn_begin(const params *p, const kernel_run *r)
{
    const int32_t *lengths = p->has_lengths ? r->tensors[LENGTHS] : NULL;
    for (uint64_t b = 0; lengths && b < p->batch; b++)
        if (lengths[b] < 0 || (uint64_t)lengths[b] > p->steps) kernel_fault(r);
    for (uint64_t d = 0; d < p->directions; d++) {
        const run_state s = state_of(p, r, d);
        rnn_load_state(&s, s.h[0], H0);
        rnn_load_state(&s, s.c, p->cell == CELL_LSTM ? C0 : INPUTS);
    }
}

static void multiply_inputs(const params *p, const kernel_run *r)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const size_t units = matmul_unit_count(&p->product, t, r->parts);
    size_t from, to;
    kernel_share(&from, &to, p->directions * units, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const run_state s = state_of(p, r, i / units);
        const matmul_data d = {.a = r->tensors[X],
                               .packed = s.packed + p->w,
                               .b_shared = true,
                               .bias = s.packed,
                               .c = s.xw};
        matmul_unit(&p->product, t, r->parts, i % units, &d, r->scratch);
    }
}

/* Multiplies the state `from` by one panel of a gate's R' and adds the product to the gate rows of
 * this step; with `other`, stores it in s->other instead. */
static void rnn_multiply(const run_state *s, uint64_t step, uint64_t gate, uint64_t panel,
                         const float *from, bool other)
{
    const params *p = s->p;
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const uint64_t column = panel * t->columns;
    const float *b = s->packed + p->r + (gate * p->padded + column) * p->hidden;
    /* With lengths, the rows of one step may not be evenly spaced. */
    const uint64_t most = p->has_lengths ? 1 : t->rows;
    const uint64_t stride = p->batch_first ? p->steps * p->width : p->width;
    for (uint64_t i = 0; i < p->batch; i += most) {
        const uint64_t rows = p->batch - i < most ? p->batch - i : most;
        if (step >= length_of(s, i)) continue;
        float *to = other ? s->other + i * p->padded + column
                          : rnn_row_of(s, rnn_time_of(s, step, i), i) + gate * p->padded + column;
        matmul_tile_run(t, rows, p->hidden, from + i * p->padded, p->padded, b, to,
                        other ? p->padded : stride, !other);
    }
}

/* ---- Cells, for hidden units of one batch entry --------------------------------------------- */

static void rnn_apply(const run_state *s, size_t which, float *x, size_t n)
{
    const params *p = s->p;
    const vec_math *m = vec_math_of((cpu_level)p->level);
    const uint32_t f = p->functions[s->direction * (p->cell + 1) + which];
    if (f == SIGMOID) m->sigmoid(x, x, n);
    if (f == TANH) m->tanh(x, x, n);
    for (size_t j = 0; f == RELU && j < n; j++) x[j] = x[j] < 0 ? 0 : x[j];
}

static void add_products(float *y, const float *a, const float *b, size_t n)
{
    for (size_t j = 0; j < n; j++) y[j] += a[j] * b[j];
}

/* Computes part of an LSTM cell. `row` holds the gates i, o, f, c. */
static void rnn_lstm(const run_state *s, float *row, float *h, float *c, size_t at, size_t n)
{
    const params *p = s->p;
    float *in = row, *out = row + p->padded, *forget = out + p->padded, *next = forget + p->padded;
    const float *peephole = s->packed + p->peephole + at;
    if (p->has_peephole) {
        add_products(in, peephole, c, n);
        add_products(forget, peephole + 2 * p->padded, c, n);
    }
    rnn_apply(s, 0, in, n);
    rnn_apply(s, 0, forget, n);
    rnn_apply(s, 1, next, n);
    for (size_t j = 0; p->coupled && j < n; j++) forget[j] = 1 - in[j];
    for (size_t j = 0; j < n; j++) c[j] = forget[j] * c[j] + in[j] * next[j];
    if (p->has_peephole) add_products(out, peephole + p->padded, c, n);
    rnn_apply(s, 0, out, n);
    memcpy(h, c, n * sizeof *h);
    rnn_apply(s, 2, h, n);
    for (size_t j = 0; j < n; j++) h[j] *= out[j];
}

/* Computes part of a GRU cell. `row` holds the gates z, r, h; z and r are already activated. */
static void rnn_gru(const run_state *s, float *row, float *h, const float *before,
                    const float *other, size_t at, size_t n)
{
    const params *p = s->p;
    const float *update = row, *reset = row + p->padded, *bias = s->packed + p->bias_r + at;
    float *next = row + 2 * p->padded;
    for (size_t j = 0; p->late_reset && j < n; j++) next[j] += reset[j] * (other[j] + bias[j]);
    rnn_apply(s, 1, next, n);
    for (size_t j = 0; j < n; j++) h[j] = (1 - update[j]) * next[j] + update[j] * before[j];
}

/* Computes hidden units [at, at + n) of batch entry b. The first phase of an early-reset GRU only
 * computes its first two gates. */
static void rnn_cell(const run_state *s, uint64_t step, uint64_t b, size_t at, size_t n, bool ends)
{
    const params *p = s->p;
    const uint64_t place = b * p->padded + at;
    float *row = rnn_row_of(s, rnn_time_of(s, step, b), b) + at;
    float *h = s->h[(step + 1) % 2] + place, *before = s->h[step % 2] + place;
    float *other = s->other + place;
    if (p->cell == CELL_LSTM) {
        rnn_lstm(s, row, h, s->c + place, at, n);
    } else if (p->cell == CELL_RNN) {
        rnn_apply(s, 0, row, n);
        memcpy(h, row, n * sizeof *h);
    } else {
        if (!ends || p->late_reset) {
            rnn_apply(s, 0, row, n);
            rnn_apply(s, 0, row + p->padded, n);
        }
        if (ends) rnn_gru(s, row, h, before, other, at, n);
        for (size_t j = 0; !ends && j < n; j++) other[j] = row[p->padded + j] * before[j];
    }
}

/* The address of output i; NULL if it is omitted, or the node has fewer outputs. */
static float *output_of(const run_state *s, uint32_t i)
{
    return i < s->p->outputs ? s->r->tensors[s->p->inputs + i] : NULL;
}

static void rnn_store(const run_state *s, uint64_t step, uint64_t b, size_t at, size_t n)
{
    const params *p = s->p;
    float *all = output_of(s, 0), *last = output_of(s, 1), *last_c = output_of(s, 2);
    const bool here = step < length_of(s, b);
    const uint64_t time = here ? rnn_time_of(s, step, b) : step;
    const uint64_t row = p->batch_first ? (b * p->steps + time) * p->directions + s->direction
                                        : (time * p->directions + s->direction) * p->batch + b;
    float *h = s->h[(step + 1) % 2] + b * p->padded + at;
    if (!here) memcpy(h, s->h[step % 2] + b * p->padded + at, n * sizeof *h);
    const size_t count = at + n > p->hidden ? p->hidden - at : n;
    float *y = all ? all + row * p->hidden + at : NULL;
    if (y && here) memcpy(y, h, count * sizeof *y);
    if (y && !here) memset(y, 0, count * sizeof *y);
    if (step + 1 < p->steps) return;
    if (last) memcpy(last + state_at(s, b) + at, h, count * sizeof *h);
    if (p->cell == CELL_LSTM && last_c)
        memcpy(last_c + state_at(s, b) + at, s->c + b * p->padded + at, count * sizeof *h);
}

/* Computes panels [from, to) of one direction. */
static void rnn_panels(const run_state *s, uint64_t step, bool second, size_t from, size_t to)
{
    const params *p = s->p;
    const size_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    const bool early = resets_early(p), ends = !early || second;
    const uint64_t first = early && second ? 2 : 0, end = early && !second ? 2 : p->gates;
    const float *h = early && second ? s->other : s->h[step % 2];
    for (size_t panel = from; panel < to && !cancel_requested(); panel++)
        for (uint64_t g = first; g < end; g++)
            rnn_multiply(s, step, g, panel, h, p->late_reset && g == 2);
    for (uint64_t b = 0; b < p->batch; b++) {
        const size_t at = from * columns, n = (to - from) * columns;
        if (step < length_of(s, b)) rnn_cell(s, step, b, at, n, ends);
        if (ends) rnn_store(s, step, b, at, n);
    }
}

static void rnn_run(const kernel_run *r)
{
    const params *p = r->params;
    if (r->phase == 0) {
        if (r->part == 0) rnn_begin(p, r);
        multiply_inputs(p, r);
        return;
    }
    const uint32_t each = resets_early(p) ? 2 : 1, index = (r->phase - 1) / each;
    const run_state s = state_of(p, r, index / p->steps);
    size_t from, to;
    kernel_share(&from, &to, step_panels(p), r->part, r->parts);
    if (from < to) rnn_panels(&s, index % p->steps, (r->phase - 1) % each, from, to);
}

#define ROW(suffix, level, flops_per_ns)                                                   \
    {                                                                                      \
        .name = "rnn_f32_" #suffix, .version = 2, .ops = "LSTM GRU RNN", .needs = level,   \
        .rates = {flops_per_ns}, .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED,     \
        .accept = rnn_accept, .prepare = rnn_prepare, .run = rnn_run, .extent = rnn_extent \
    }
const kernel KERNELS_rnn[] = {
    ROW(portable, CPU_PORTABLE, 12),
    ROW(avx2, CPU_AVX2, 80),
    ROW(avx512, CPU_AVX512, 90),
    {0},
};
