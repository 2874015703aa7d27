/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft EmbedLayerNormalization, computed in float32: for each token the sum of its rows in
 * the tables of words, positions and segments, normalised. An index outside of its table is a
 * fault. Tables of 16-bit floats are widened row by row. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/half.h"
#include "kernels/kernel.h"
#include "kernels/vec_math.h"

enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, POSITIONS };
enum { TABLES = 3, PARTS = 256 };

typedef struct params {
    uint64_t batch, length, width, inputs;
    uint64_t rows[TABLES];           /* of the tables of words, positions, segments */
    uint64_t positions;              /* number of given position ids; 0: none */
    uint32_t has_segments, has_mask; /* bool */
    uint32_t counts_mask, keeps_sum; /* bool: outputs 1 and 2 are wanted */
    uint32_t level, narrow;          /* narrow: PGY_F16, PGY_BF16; 0: float32 */
    float epsilon;
} params;

/* Offsets in the scratch memory, in rows of floats. */
enum { SUM, ROW, SCALES, BIASES, SCRATCH_ROWS };

/* ---- The problem ---------------------------------------------------------------------------- */

static const kernel_tensor *given(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype ? &u->inputs[i] : NULL;
}

static bool read_tables(params *p, const kernel_problem *u)
{
    const pgy_dtype t = u->inputs[WORD].dtype;
    if (t != PGY_F32 && !half_is(t)) return false;
    p->narrow = half_is(t) ? t : 0;
    if (u->inputs[WORD].rank != 2) return false;
    p->width = (uint64_t)u->inputs[WORD].shape[1];
    for (size_t i = 0; i < TABLES; i++) {
        const kernel_tensor *table = given(u, WORD + i);
        if (!table && i + 1 == TABLES && !p->has_segments) continue;
        if (!table || table->dtype != t || table->rank != 2 || !kernel_count(table) ||
            (uint64_t)table->shape[1] != p->width)
            return false;
        p->rows[i] = (uint64_t)table->shape[0];
    }
    for (size_t i = GAMMA; i <= BETA; i++)
        if (u->inputs[i].dtype != t || kernel_count(&u->inputs[i]) != p->width) return false;
    return true;
}

static bool is_ids(const params *p, const kernel_tensor *t)
{
    return t->dtype == PGY_I32 && kernel_count(t) == p->batch * p->length;
}

static bool wants(const kernel_problem *u, size_t i)
{
    return i < u->output_count && u->outputs[i].dtype;
}

static bool embed_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *ids = &u->inputs[IDS], *positions = given(u, POSITIONS);
    const kernel_tensor *segments = given(u, SEGMENTS), *mask = given(u, MASK);
    *p = (params){.level = u->self->needs, .inputs = u->input_count};
    if (u->input_count <= BETA || ids->rank != 2 || !kernel_count(ids) || !wants(u, 0))
        return false;
    p->batch = (uint64_t)ids->shape[0];
    p->length = (uint64_t)ids->shape[1];
    p->has_segments = segments != NULL;
    p->has_mask = mask != NULL;
    p->counts_mask = wants(u, 1);
    p->keeps_sum = wants(u, 2);
    p->positions = positions ? kernel_count(positions) : 0;
    p->epsilon = (float)op_attr_float(u->node, "epsilon", 1e-12);
    return is_ids(p, ids) && (!segments || is_ids(p, segments)) && (!mask || is_ids(p, mask)) &&
           (!positions || (positions->dtype == PGY_I32 &&
                           (p->positions == p->length || p->positions == p->batch * p->length))) &&
           read_tables(p, u);
}

static bool embed_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!embed_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.batch * p.length) * (50 + (double)p.width * u->self->rates[0]);
    return true;
}

static pgy_status embed_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)embed_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t tokens = p->batch * p->length;
    out->parts = (uint32_t)(tokens < PARTS ? tokens : PARTS);
    out->scratch_bytes = SCRATCH_ROWS * p->width * sizeof(float);
    return PGY_OK;
}

static bool embed_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->has_segments > 1 || p->has_mask > 1 || p->counts_mask > 1 || p->keeps_sum > 1 ||
        (p->narrow && !half_is((pgy_dtype)p->narrow)) || !p->batch || !p->length || !p->width)
        return extent_refuse(e, "sizes");
    if (p->inputs != q->input_count || p->inputs <= BETA || (p->has_mask && p->inputs <= MASK) ||
        (p->positions && p->inputs <= POSITIONS))
        return extent_refuse(e, "number of inputs");
    const uint64_t item = p->narrow ? sizeof(uint16_t) : sizeof(float);
    const uint64_t tokens = extent_mul(p->batch, p->length);
    if (p->positions && p->positions != p->length && p->positions != tokens)
        return extent_refuse(e, "number of positions");
    const uint32_t ids[] = {IDS, SEGMENTS, MASK}, present[] = {1, p->has_segments, p->has_mask};
    for (size_t i = 0; i < 3; i++)
        if (present[i]) extent_tensor(e, ids[i], tokens, sizeof(int32_t));
    if (p->positions) extent_tensor(e, POSITIONS, p->positions, sizeof(int32_t));
    for (uint32_t i = 0; i < TABLES; i++)
        if (i + 1 < TABLES || p->has_segments)
            extent_tensor(e, WORD + i, extent_mul(p->rows[i], p->width), item);
    for (uint32_t i = GAMMA; i <= BETA; i++) extent_tensor(e, i, p->width, item);
    const uint32_t y = (uint32_t)p->inputs;
    extent_tensor(e, y, extent_mul(tokens, p->width), item);
    if (p->counts_mask) extent_tensor(e, y + 1, p->batch, sizeof(int32_t));
    if (p->keeps_sum) extent_tensor(e, y + 2, extent_mul(tokens, p->width), item);
    e->indices =
        1u << IDS | (p->has_segments ? 1u << SEGMENTS : 0) | (p->positions ? 1u << POSITIONS : 0);
    e->scratch = extent_mul3(SCRATCH_ROWS, p->width, sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static const half_loops *loops_of(const params *p)
{
    return half_loops_of((pgy_dtype)p->narrow, (cpu_level)p->level);
}

/* A row of an input in float32. */
static const float *floats_of(const params *p, const kernel_run *r, size_t input, uint64_t row,
                              float *room)
{
    if (!p->narrow) return (const float *)r->tensors[input] + row * p->width;
    loops_of(p)->widen(room, (const uint16_t *)r->tensors[input] + row * p->width, p->width);
    return room;
}

static void put_row(const params *p, const kernel_run *r, uint64_t output, uint64_t row,
                    const float *x)
{
    char *to = (char *)r->tensors[p->inputs + output] +
               row * p->width * (p->narrow ? sizeof(uint16_t) : sizeof(float));
    if (p->narrow)
        loops_of(p)->narrow((uint16_t *)(void *)to, x, p->width);
    else
        memcpy(to, x, p->width * sizeof *x);
}

/* Adds the token's rows. False: an index lies outside of its table. */
static bool add_rows(float *sum, const params *p, const kernel_run *r, uint64_t token, float *room)
{
    const int32_t *positions = r->tensors[POSITIONS], *segments = r->tensors[SEGMENTS];
    const int64_t at[TABLES] = {((const int32_t *)r->tensors[IDS])[token],
                                p->positions ? positions[token % p->positions]
                                             : (int64_t)(token % p->length),
                                p->has_segments ? segments[token] : 0};
    for (size_t i = 0; i < TABLES - !p->has_segments; i++) {
        if (at[i] < 0 || (uint64_t)at[i] >= p->rows[i]) {
            kernel_fault_index(r, at[i], p->rows[i]);
            return false;
        }
        const float *x = floats_of(p, r, WORD + i, (uint64_t)at[i], i ? room : sum);
        if (!i && x != sum) memcpy(sum, x, p->width * sizeof *sum);
        for (uint64_t d = 0; i && d < p->width; d++) sum[d] += x[d];
    }
    return true;
}

static void count_mask(const params *p, const kernel_run *r)
{
    const int32_t *mask = p->has_mask ? r->tensors[MASK] : NULL;
    int32_t *counts = r->tensors[p->inputs + 1];
    for (uint64_t b = 0; b < p->batch; b++) {
        counts[b] = 0;
        for (uint64_t i = 0; mask && i < p->length; i++) counts[b] += mask[b * p->length + i] != 0;
    }
}

static void embed_run(const kernel_run *r)
{
    const params *p = r->params;
    const vec_math *m = vec_math_of((cpu_level)p->level);
    float *rows = r->scratch, *sum = rows + SUM * p->width, *row = rows + ROW * p->width;
    const float *gamma = floats_of(p, r, GAMMA, 0, rows + SCALES * p->width);
    const float *beta = floats_of(p, r, BETA, 0, rows + BIASES * p->width);
    size_t from, to;
    if (p->counts_mask && r->part == 0) count_mask(p, r);
    kernel_share(&from, &to, p->batch * p->length, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        if (!add_rows(sum, p, r, i, row)) return;
        if (p->keeps_sum) put_row(p, r, 2, i, sum);
        const float mean = m->sum(sum, p->width) / (float)p->width;
        const float variance = m->sum_squares(sum, p->width, mean) / (float)p->width;
        m->normalize(sum, sum, p->width, mean, 1 / sqrtf(variance + p->epsilon), gamma, beta);
        put_row(p, r, 0, i, sum);
    }
}

#define ROW_OF(suffix, needed, each)                                                      \
    {                                                                                     \
        .name = "embed_layer_norm_" #suffix, .version = 1,                                \
        .ops = "com.microsoft:EmbedLayerNormalization", .needs = needed, .rates = {each}, \
        .flags = KERNEL_TAKES_HALF | KERNEL_SHARES_WEIGHTS, .accept = embed_accept,       \
        .prepare = embed_prepare, .run = embed_run, .extent = embed_extent                \
    }
const kernel KERNELS_embed_layer_norm[] = {
    ROW_OF(portable, CPU_PORTABLE, 1),
    ROW_OF(avx2, CPU_AVX2, 0.4),
    ROW_OF(avx512, CPU_AVX512, 0.3),
    {0},
};
