/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN in float32: the problem, packed weights, and plans from files. */
#include "kernels/rnn.h"

#include <string.h>

#include "base/alloc.h"
#include "kernels/extent.h"
#include "kernels/packing.h"

enum { MOST_STEPS = 1 << 20, MOST_FLOATS = 1 << 28, MOST_PARTS = 64, THREAD_FLOPS = 8000 };

/* ---- The problem ---------------------------------------------------------------------------- */

static bool read_functions(rnn_params *p, const op_node *n)
{
    static const char *const NAMES[] = {
        [RNN_SIGMOID] = "Sigmoid", [RNN_TANH] = "Tanh", [RNN_RELU] = "Relu"};
    static const uint32_t DEFAULTS[][3] = {[RNN_CELL_RNN] = {RNN_TANH},
                                           [RNN_CELL_GRU] = {RNN_SIGMOID, RNN_TANH},
                                           [RNN_CELL_LSTM] = {RNN_SIGMOID, RNN_TANH, RNN_TANH}};
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

bool rnn_read_node(rnn_params *p, const op_node *n)
{
    const char *name = n->def->name;
    p->cell = strcmp(name, "RNN") == 0   ? RNN_CELL_RNN
              : strcmp(name, "GRU") == 0 ? RNN_CELL_GRU
                                         : RNN_CELL_LSTM;
    p->gates = p->cell == RNN_CELL_LSTM ? 4 : p->cell == RNN_CELL_GRU ? 3 : 1;
    p->directions = op_attr_is(n, "direction", "bidirectional", "forward") ? 2 : 1;
    p->reverse = op_attr_is(n, "direction", "forward", "forward") ? 0 : p->directions;
    p->batch_first = op_attr_int(n, "layout", 0) != 0;
    p->late_reset = p->cell == RNN_CELL_GRU && op_attr_int(n, "linear_before_reset", 0) != 0;
    p->coupled = p->cell == RNN_CELL_LSTM && op_attr_int(n, "input_forget", 0) != 0;
    return !op_attr_find(n, "clip") && read_functions(p, n);
}

static bool are_known(const rnn_params *p, const kernel_problem *u)
{
    for (size_t i = 0; i < u->input_count && i < RNN_INPUTS; i++) {
        const kernel_tensor *t = &u->inputs[i];
        if (t->dtype && t->dtype != (i == RNN_LENGTHS ? PGY_I32 : PGY_F32)) return false;
        if (t->dtype && (i == RNN_W || i == RNN_R || i == RNN_B || i == RNN_P) && !t->data)
            return false;
    }
    for (size_t i = 0; i < u->output_count; i++)
        if (u->outputs[i].dtype && u->outputs[i].dtype != PGY_F32) return false;
    return p->cell == RNN_CELL_LSTM || u->input_count <= RNN_H0 + 1;
}

static bool has(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype;
}

static uint64_t padded_of(const rnn_params *p)
{
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    return (p->hidden + columns - 1) / columns * columns;
}

bool rnn_are_sizes(const rnn_params *p, uint64_t padded)
{
    if (!p->steps || !p->batch || !p->in || !p->hidden || p->steps > MOST_STEPS) return false;
    if (p->hidden > MOST_FLOATS / 64 || p->in > MOST_FLOATS / 64) return false;
    return p->batch <= MOST_FLOATS / p->steps &&
           p->steps * p->batch <= MOST_FLOATS / (p->gates * padded);
}

/* Sets the members that follow from the sizes: padding, the product, offsets of packed weights. */
static void rnn_place(rnn_params *p)
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

bool rnn_describe(rnn_params *p, const kernel_problem *u, cpu_level level)
{
    const kernel_tensor *x = &u->inputs[RNN_X], *r = &u->inputs[RNN_R];
    *p = (rnn_params){
        .level = level, .inputs = (uint32_t)u->input_count, .outputs = (uint32_t)u->output_count};
    if (u->input_count < 3 || !rnn_read_node(p, u->node) || !are_known(p, u) || x->rank != 3)
        return false;
    p->steps = (uint64_t)x->shape[p->batch_first ? 1 : 0];
    p->batch = (uint64_t)x->shape[p->batch_first ? 0 : 1];
    p->in = (uint64_t)x->shape[2];
    p->hidden = (uint64_t)r->shape[2];
    p->has_lengths = has(u, RNN_LENGTHS);
    p->has_peephole = has(u, RNN_P);
    if (!rnn_are_sizes(p, padded_of(p))) return false;
    rnn_place(p);
    return true;
}

static double step_flops(const rnn_params *p)
{
    return 2.0 * (double)(p->batch * p->width) * (double)p->hidden;
}

static bool rnn_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    const double flops_per_ns = u->self->rates[0];
    rnn_params p;
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

void rnn_pad_gates(float *to, const rnn_params *p, const float *from, uint64_t depth, uint64_t step)
{
    for (uint64_t g = 0; g < p->gates; g++, to += p->padded * depth) {
        for (uint64_t j = 0; j < p->hidden; j++, from += step)
            memcpy(to + j * depth, from, depth * sizeof *to);
        memset(to + p->hidden * depth, 0, (p->padded - p->hidden) * depth * sizeof *to);
    }
}

/* Adds both biases into one, except the bias of R that a late reset scales. */
static void pack_biases(float *to, const rnn_params *p, const float *bias)
{
    const uint64_t last = p->gates - 1;
    for (uint64_t g = 0; bias && g < p->gates; g++)
        for (uint64_t j = 0; j < p->hidden; j++) {
            const float w = bias[g * p->hidden + j], r = bias[(p->gates + g) * p->hidden + j];
            const bool apart = p->late_reset && g == last;
            to[g * p->padded + j] = apart ? w : w + r;
            if (apart) to[p->bias_r + j] = r;
        }
}

void rnn_pack_floats(float *to, const rnn_params *p, const kernel_problem *u, uint64_t d)
{
    const uint64_t all = p->gates * p->hidden;
    const float *peephole = p->has_peephole ? u->inputs[RNN_P].data : NULL;
    memset(to, 0, (p->peephole + 3 * p->padded) * sizeof *to);
    pack_biases(to, p, has(u, RNN_B) ? (const float *)u->inputs[RNN_B].data + d * 2 * all : NULL);
    for (uint64_t k = 0; peephole && k < 3; k++)
        memcpy(to + p->peephole + k * p->padded, peephole + (3 * d + k) * p->hidden,
               p->hidden * sizeof *to);
}

void rnn_pack_direction(float *to, const rnn_params *p, const kernel_problem *u, uint64_t d,
                        uint64_t step, float *rows)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const uint64_t all = p->gates * p->hidden;
    const matmul_shape r = {.n = p->width, .k = p->hidden, .b_row = 1, .b_column = p->hidden};
    rnn_pack_floats(to, p, u, d);
    rnn_pad_gates(rows, p, (const float *)u->inputs[RNN_W].data + d * all * step, p->in, step);
    matmul_pack(to + p->w, rows, &p->product, t, 0, matmul_panel_count(&p->product, t));
    rnn_pad_gates(rows, p, (const float *)u->inputs[RNN_R].data + d * all * p->hidden, p->hidden,
                  p->hidden);
    matmul_pack(to + p->r, rows, &r, t, 0, matmul_panel_count(&r, t));
}

static bool rnn_fill(void *packed, const kernel_problem *u, const void *user)
{
    const rnn_params *p = user;
    const uint64_t depth = p->in > p->hidden ? p->in : p->hidden;
    float *rows = mem_alloc_aligned(64, p->width * depth * sizeof *rows);
    for (uint64_t d = 0; rows && d < p->directions; d++)
        rnn_pack_direction((float *)packed + d * p->each, p, u, d, p->in, rows);
    mem_free(rows);
    return rows != NULL;
}

static pgy_status rnn_pack(kernel_plan *out, const rnn_params *p, const kernel_problem *u,
                           pgy_error *err)
{
    const kernel_packing how = {.form = "rnn",
                                .numbers = {matmul_tile_of((cpu_level)p->level)->columns, p->cell,
                                            p->in, p->hidden, p->directions, p->late_reset,
                                            p->has_peephole},
                                .inputs = 1u << RNN_W | 1u << RNN_R | 1u << RNN_B | 1u << RNN_P,
                                .size_bytes = p->directions * p->each * sizeof(float),
                                .fill = rnn_fill,
                                .user = p};
    out->packed_inputs = how.inputs;
    const pgy_status st = kernel_pack(out, u, &how, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static uint32_t phase_count(const rnn_params *p)
{
    return 1 + (uint32_t)p->steps * (rnn_resets_early(p) ? 2 : 1);
}

/* Threads wait for each other behind each step, about 0.1 us for each thread, while a thread
 * multiplies by weights in its cache at some 80 operations a ns. So n parts take least time
 * together if n^2 is the step's operations by 8000. Parts have the same number of panels, or the
 * longest would have one more. */
static uint32_t part_count(const rnn_params *p)
{
    const uint64_t panels = p->directions * rnn_panel_count(p);
    const double worth = (double)p->directions * step_flops(p) / THREAD_FLOPS;
    uint64_t each = (panels + MOST_PARTS - 1) / MOST_PARTS;
    while (each < panels && (double)(panels / each * (panels / each)) > worth) each++;
    return (uint32_t)((panels + each - 1) / each);
}

uint64_t rnn_workspace_floats(const rnn_params *p)
{
    return p->directions * (p->steps * p->batch * p->width + 4 * p->batch * p->padded);
}

static pgy_status rnn_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const cpu_level level = u->self->needs;
    rnn_params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)rnn_describe(p, u, level); /* cannot fail after `accept` */
    const matmul_tile *t = matmul_tile_of(level);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    out->phases = phase_count(p);
    out->parts = part_count(p);
    out->scratch_bytes = matmul_scratch_count(&p->product, t) * sizeof(float);
    out->workspace_bytes = rnn_workspace_floats(p) * sizeof(float);
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

bool rnn_is_node(const rnn_params *p)
{
    static const uint32_t GATES[] = {[RNN_CELL_RNN] = 1, [RNN_CELL_GRU] = 3, [RNN_CELL_LSTM] = 4};
    if (p->cell > RNN_CELL_LSTM || p->gates != GATES[p->cell]) return false;
    if (p->directions != 1 && p->directions != 2) return false;
    for (size_t i = 0; i < sizeof p->functions / sizeof *p->functions; i++)
        if (p->functions[i] > RNN_RELU) return false;
    return true;
}

bool rnn_is_consistent(const rnn_params *p)
{
    rnn_params own = *p;
    if (!rnn_is_node(p)) return false;
    if (!rnn_are_sizes(&own, padded_of(&own))) return false;
    rnn_place(&own);
    return own.padded == p->padded && own.width == p->width && own.bias_r == p->bias_r &&
           own.peephole == p->peephole && own.w == p->w && own.r == p->r && own.each == p->each &&
           is_same_product(&own.product, &p->product);
}

bool rnn_extent_tensors(kernel_extent *e, const kernel_claim *q, const rnn_params *p)
{
    const uint64_t state = p->directions * p->batch * p->hidden, item = sizeof(float);
    if (p->inputs != q->input_count || p->outputs != q->output_count || p->inputs < 3)
        return extent_refuse(e, "number of operands");
    extent_tensor(e, RNN_X, p->steps * p->batch * p->in, item);
    if (p->has_lengths) extent_tensor(e, RNN_LENGTHS, p->batch, sizeof(int32_t));
    for (uint32_t i = RNN_H0; i <= RNN_C0; i++)
        if (i < p->inputs && extent_has(q, i)) extent_tensor(e, i, state, item);
    for (uint32_t i = 0; i < 3 && i < p->outputs; i++)
        if (extent_has(q, p->inputs + i))
            extent_tensor(e, p->inputs + i, i ? state : p->steps * state, item);
    e->indices = 1u << RNN_LENGTHS;
    return true;
}

static bool rnn_extent(kernel_extent *e, const kernel_claim *q)
{
    const rnn_params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs > RNN_INPUTS || !rnn_is_consistent(p)) return extent_refuse(e, "sizes");
    if (!rnn_extent_tensors(e, q, p)) return false;
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const uint64_t item = sizeof(float);
    e->packed = p->directions * p->each * item;
    e->phases = phase_count(p);
    e->scratch = matmul_scratch_count(&p->product, t) * item;
    e->workspace = rnn_workspace_floats(p) * item;
    return true;
}

#define ROW(suffix, level, flops_per_ns)                                                   \
    {                                                                                      \
        .name = "rnn_f32_" #suffix, .version = 3, .ops = "LSTM GRU RNN", .needs = level,   \
        .rates = {flops_per_ns}, .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED,     \
        .accept = rnn_accept, .prepare = rnn_prepare, .run = rnn_run, .extent = rnn_extent \
    }
const kernel KERNELS_rnn[] = {
    ROW(portable, CPU_PORTABLE, 12),
    ROW(avx2, CPU_AVX2, 80),
    ROW(avx512, CPU_AVX512, 90),
    {0},
};
