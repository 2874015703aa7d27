/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicQuantizeLSTM: the problem, packed weights, and plans from files. */
#include "kernels/rnn_bytes.h"

#include <string.h>

#include "base/alloc.h"
#include "kernels/int_problem.h"
#include "kernels/packing.h"

/* Sums of products of bytes with more rows may overflow. */
enum { MOST_DEPTH = 32768, ROWS = 64 };

/* ---- The problem ---------------------------------------------------------------------------- */

static bool is_weight(const kernel_tensor *t, pgy_dtype dtype)
{
    return t->dtype == dtype && t->data;
}

static bool are_known(const rnn_params *p, const kernel_problem *u)
{
    const pgy_dtype bytes = u->inputs[RNN_W].dtype;
    if (!int_problem_is_byte(&u->inputs[RNN_W]) || !is_weight(&u->inputs[RNN_W], bytes) ||
        !is_weight(&u->inputs[RNN_R], bytes))
        return false;
    for (size_t i = RNN_W_SCALE; i < RNN_BYTES_INPUTS; i++) {
        const size_t count = kernel_count(&u->inputs[i]);
        const bool is_scale = i == RNN_W_SCALE || i == RNN_R_SCALE;
        if (!is_weight(&u->inputs[i], is_scale ? PGY_F32 : bytes)) return false;
        if (count != p->directions && count != p->directions * p->gates * p->hidden) return false;
    }
    static const size_t OPTIONAL[] = {RNN_B, RNN_LENGTHS, RNN_H0, RNN_C0, RNN_P};
    for (size_t k = 0; k < sizeof OPTIONAL / sizeof *OPTIONAL; k++) {
        const size_t i = OPTIONAL[k];
        const kernel_tensor *t = &u->inputs[i];
        if (t->dtype && t->dtype != (i == RNN_LENGTHS ? PGY_I32 : PGY_F32)) return false;
        if (t->dtype && (i == RNN_B || i == RNN_P) && !t->data) return false;
    }
    for (size_t i = 0; i < u->output_count; i++)
        if (u->outputs[i].dtype && u->outputs[i].dtype != PGY_F32) return false;
    return u->inputs[RNN_X].dtype == PGY_F32;
}

static uint64_t padded_of(const rnn_params *p)
{
    const uint64_t lanes = int_tile_of((cpu_level)p->level)->lanes;
    return (p->hidden + lanes - 1) / lanes * lanes;
}

/* Rounds a count of `item` bytes up to whole cache lines. */
static uint64_t lines(uint64_t count, uint64_t item)
{
    const uint64_t each = 64 / item;
    return (count + each - 1) / each * each;
}

static uint64_t place_matrix(rnn_bytes_matrix *m, uint64_t at, uint64_t depth, uint64_t width)
{
    m->depth = depth;
    m->groups = (depth + INT_GROUP - 1) / INT_GROUP;
    m->has_zeros = at;
    m->scales = at + lines(1, 4);
    m->shifts = m->scales + lines(width, 4);
    m->zeros = m->shifts + lines(width, 4);
    m->bytes = m->zeros + lines(width, 4);
    return m->bytes + lines(width * m->groups, 4);
}

/* Sets the members that follow from the sizes and the level. */
static void rnn_bytes_place(rnn_bytes *p)
{
    rnn_params *n = &p->rnn;
    const int_tile *t = int_tile_of((cpu_level)n->level);
    const uint64_t panel = t->vectors * t->lanes, rows = n->steps * n->batch;
    n->padded = padded_of(n);
    n->width = n->gates * n->padded;
    n->bias_r = n->width;
    n->peephole = n->bias_r + n->padded;
    n->w = n->r = 0;
    n->product = (matmul_shape){0};
    n->each = place_matrix(&p->w, lines(n->peephole + 3 * n->padded, 4), n->in, n->width);
    n->each = place_matrix(&p->r, n->each, n->hidden, n->width);
    p->lanes = t->lanes;
    p->panels = (n->padded + panel - 1) / panel;
    p->chunk = rows < ROWS ? rows : ROWS;
    p->chunks = (rows + p->chunk - 1) / p->chunk;
    p->at_ranges = lines(rnn_workspace_floats(n), 4) * 4;
    p->at_x = p->at_ranges + lines(RNN_BYTES_PARTS * 2, 4) * 4;
    p->at_x_sums = p->at_x + lines(rows * p->w.groups, 4) * 4;
    p->workspace = p->at_x_sums + lines(rows, 4) * 4;
    p->at_h = 64;
    p->at_h_sums = p->at_h + lines(n->batch * p->r.groups, 4) * 4;
    p->at_tile = p->at_h_sums + lines(n->batch, 4) * 4;
    const uint64_t tile = INT_AMX_MOST_ROWS * INT_MAX_COLUMNS;
    p->scratch = p->at_tile + (n->width > tile ? n->width : tile) * sizeof(int32_t);
}

static bool are_sizes(const rnn_params *p)
{
    return rnn_are_sizes(p, padded_of(p)) && p->in <= MOST_DEPTH && p->hidden <= MOST_DEPTH;
}

static bool rnn_bytes_describe(rnn_bytes *p, const kernel_problem *u)
{
    rnn_params *n = &p->rnn;
    const kernel_tensor *x = &u->inputs[RNN_X], *r = &u->inputs[RNN_R];
    memset(p, 0, sizeof *p);
    n->level = u->self->needs;
    n->inputs = (uint32_t)u->input_count;
    n->outputs = (uint32_t)u->output_count;
    if (n->inputs != RNN_BYTES_INPUTS || !rnn_read_node(n, u->node)) return false;
    if (x->rank != 3 || r->rank != 3) return false;
    n->steps = (uint64_t)x->shape[0];
    n->batch = (uint64_t)x->shape[1];
    n->in = (uint64_t)x->shape[2];
    n->hidden = (uint64_t)r->shape[1];
    n->has_lengths = int_problem_has(u, RNN_LENGTHS);
    n->has_peephole = int_problem_has(u, RNN_P);
    if (!are_sizes(n) || !are_known(n, u)) return false;
    rnn_bytes_place(p);
    return true;
}

static double step_products(const rnn_bytes *p)
{
    const rnn_params *n = &p->rnn;
    return (double)(n->directions * n->batch * n->width) * (double)n->hidden;
}

static bool rnn_bytes_accept(kernel_problem *u, double *cost_ns)
{
    rnn_bytes p;
    if (!rnn_bytes_describe(&p, u)) return false;
    int_problem_linear(u);
    const rnn_params *n = &p.rnn;
    const double all = (double)(n->directions * n->steps * n->batch * n->width);
    *cost_ns = (all * (double)n->in + (double)n->steps * step_products(&p)) / u->self->rates[0] +
               all * 0.5 + (double)n->steps * 100;
    return true;
}

/* ---- Packing -------------------------------------------------------------------------------- */

/* One matrix [depth, columns] of a direction, as the operator has it. */
typedef struct source {
    const uint8_t *bytes, *zeros;
    const float *scales;
    bool is_signed, has_scales, has_zeros; /* has_...: one for each column */
} source;

static source source_of(const rnn_params *p, const kernel_problem *u, size_t input, size_t scale,
                        uint64_t d)
{
    const kernel_tensor *w = &u->inputs[input], *s = &u->inputs[scale], *z = &u->inputs[scale + 1];
    const uint64_t columns = p->gates * p->hidden, depth = input == RNN_W ? p->in : p->hidden;
    source out = {.bytes = (const uint8_t *)w->data + d * depth * columns,
                  .is_signed = w->dtype == PGY_I8,
                  .has_scales = kernel_count(s) != p->directions,
                  .has_zeros = kernel_count(z) != p->directions};
    out.scales = (const float *)s->data + d * (out.has_scales ? columns : 1);
    out.zeros = (const uint8_t *)z->data + d * (out.has_zeros ? columns : 1);
    return out;
}

/* Packs column j of the operator's matrix as column `at`; `line` is where its first group lies, and
 * its groups are `step` bytes apart. */
static void pack_column(float *to, const rnn_params *p, const rnn_bytes_matrix *m, const source *s,
                        uint64_t j, uint64_t at, uint8_t *line, uint64_t step)
{
    const uint64_t columns = p->gates * p->hidden;
    const uint8_t flip = s->is_signed ? 0 : 0x80;
    const int32_t zero = (int8_t)(s->zeros[s->has_zeros ? j : 0] ^ flip);
    int32_t sum = 0, has_zeros;
    for (uint64_t k = 0; k < m->depth; k++) {
        const uint8_t byte = s->bytes[k * columns + j] ^ flip;
        line[k / INT_GROUP * step + k % INT_GROUP] = byte;
        sum += (int8_t)byte;
    }
    sum -= (int32_t)m->depth * zero;
    memcpy(&has_zeros, to + m->has_zeros, sizeof has_zeros);
    has_zeros |= zero != 0;
    memcpy(to + m->has_zeros, &has_zeros, sizeof has_zeros);
    to[m->scales + at] = s->scales[s->has_scales ? j : 0];
    memcpy(to + m->shifts + at, &sum, sizeof sum);
    memcpy(to + m->zeros + at, &zero, sizeof zero);
}

static void pack_matrix(float *to, const rnn_bytes *p, const rnn_bytes_matrix *m, const source *s)
{
    const rnn_params *n = &p->rnn;
    for (uint64_t i = 0; i < n->gates * p->panels; i++) {
        const uint64_t g = i / p->panels, first = rnn_bytes_first(p, i % p->panels);
        const uint64_t end = rnn_bytes_first(p, i % p->panels + 1),
                       step = (end - first) * INT_GROUP;
        uint8_t *line = (uint8_t *)(to + m->bytes + (g * n->padded + first) * m->groups);
        for (uint64_t j = first; j < end && j < n->hidden; j++, line += INT_GROUP)
            pack_column(to, n, m, s, g * n->hidden + j, g * n->padded + j, line, step);
    }
}

static bool rnn_bytes_fill(void *packed, const kernel_problem *u, const void *user)
{
    const rnn_bytes *p = user;
    const rnn_params *n = &p->rnn;
    memset(packed, 0, n->directions * n->each * sizeof(float));
    for (uint64_t d = 0; d < n->directions; d++) {
        float *to = (float *)packed + d * n->each;
        const source w = source_of(n, u, RNN_W, RNN_W_SCALE, d);
        const source r = source_of(n, u, RNN_R, RNN_R_SCALE, d);
        rnn_pack_floats(to, n, u, d);
        pack_matrix(to, p, &p->w, &w);
        pack_matrix(to, p, &p->r, &r);
    }
    return true;
}

static pgy_status rnn_bytes_pack(kernel_plan *out, const rnn_bytes *p, const kernel_problem *u,
                                 pgy_error *err)
{
    const rnn_params *n = &p->rnn;
    const int_tile *t = int_tile_of((cpu_level)n->level);
    uint32_t scales = 0;
    for (size_t i = RNN_W_SCALE; i < RNN_BYTES_INPUTS; i++) scales |= 1u << i;
    const kernel_packing how = {
        .form = "rnn_bytes",
        .numbers = {t->lanes, t->vectors, n->in, n->hidden, n->directions, n->has_peephole,
                    u->inputs[RNN_W].dtype, kernel_count(&u->inputs[RNN_W_SCALE]),
                    kernel_count(&u->inputs[RNN_W_ZERO]), kernel_count(&u->inputs[RNN_R_SCALE]),
                    kernel_count(&u->inputs[RNN_R_ZERO])},
        .inputs = 1u << RNN_W | 1u << RNN_R | 1u << RNN_B | 1u << RNN_P | scales,
        .size_bytes = n->directions * n->each * sizeof(float),
        .fill = rnn_bytes_fill,
        .user = p};
    out->packed_inputs = how.inputs;
    const pgy_status st = kernel_pack(out, u, &how, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static uint32_t phase_count(const rnn_bytes *p)
{
    return 3 + (uint32_t)p->rnn.steps;
}

static pgy_status rnn_bytes_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    rnn_bytes *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)rnn_bytes_describe(p, u); /* cannot fail after `accept` */
    /* Threads wait for each other behind each step, so small steps get few parts. */
    const double worth = step_products(p) / 200000 + 1;
    const uint64_t panels = p->rnn.directions * p->panels;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    out->phases = phase_count(p);
    out->parts = (uint32_t)(panels < RNN_BYTES_PARTS ? panels : RNN_BYTES_PARTS);
    if (out->parts > worth) out->parts = (uint32_t)worth;
    out->scratch_bytes = p->scratch;
    out->workspace_bytes = p->workspace;
    return rnn_bytes_pack(out, p, u, err);
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool rnn_bytes_extent(kernel_extent *e, const kernel_claim *q)
{
    const rnn_bytes *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->rnn.level)) return false;
    if (p->rnn.inputs != RNN_BYTES_INPUTS) return extent_refuse(e, "number of operands");
    if (!rnn_is_node(&p->rnn) || p->rnn.cell != RNN_CELL_LSTM || p->rnn.batch_first ||
        !are_sizes(&p->rnn))
        return extent_refuse(e, "sizes");
    rnn_bytes own;
    memcpy(&own, p, sizeof own);
    rnn_bytes_place(&own);
    if (memcmp(&own, p, sizeof own)) return extent_refuse(e, "places in memory");
    if (!rnn_extent_tensors(e, q, &p->rnn)) return false;
    e->packed = p->rnn.directions * p->rnn.each * sizeof(float);
    e->phases = phase_count(p);
    e->parts = RNN_BYTES_PARTS;
    e->scratch = p->scratch;
    e->workspace = p->workspace;
    return true;
}

#define ROW(suffix, level, products_per_ns)                                                    \
    {                                                                                          \
        .name = "rnn_int8_" #suffix, .version = 1, .ops = "com.microsoft:DynamicQuantizeLSTM", \
        .needs = level, .rates = {products_per_ns},                                            \
        .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED, .accept = rnn_bytes_accept,      \
        .prepare = rnn_bytes_prepare, .run = rnn_bytes_run, .extent = rnn_bytes_extent         \
    }
const kernel KERNELS_rnn_bytes[] = {
    ROW(portable, CPU_PORTABLE, 2),
    ROW(avx2, CPU_AVX2, 50),
    ROW(avx512, CPU_AVX512, 100),
    {0},
};
