/* SPDX-License-Identifier: Apache-2.0 */
/* MRotaryEmbedding in float32. A token has three positions, and each of its angles follows one of
 * them. The first phase gathers a row of cosines and sines for each token, the second one rotates
 * all heads by it. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/attention_loops.h"
#include "kernels/extent.h"

enum { X, POSITIONS, COS, SIN, INPUTS };
enum { STREAMS = 3, PARTS = 256, ROWS_OF_PART = 32 };

typedef struct params {
    uint64_t batch, heads, length, size;
    uint64_t half, places; /* rotated pairs of a row; rows of the tables */
    uint64_t sections[STREAMS];
    uint32_t level;
    uint32_t flat;        /* 1: [batch, length, heads, size], else heads first */
    uint32_t every_third; /* angles of the streams alternate, else the sections lie in turn */
    uint32_t interleaved;
    float scale;
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool read_rows(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[X];
    if (x->rank != 3 && x->rank != 4) return false;
    p->flat = x->rank == 3;
    const int64_t heads = p->flat ? op_attr_int(u->node, "num_heads", 0) : x->shape[1];
    if (heads < 1 || (p->flat && x->shape[2] % heads)) return false;
    p->batch = (uint64_t)x->shape[0];
    p->heads = (uint64_t)heads;
    p->length = (uint64_t)x->shape[p->flat ? 1 : 2];
    p->size = (uint64_t)(p->flat ? x->shape[2] / heads : x->shape[3]);
    const int64_t turned = op_attr_int(u->node, "rotary_embedding_dim", 0);
    return turned >= 0 && p->half && 2 * p->half == (turned ? (uint64_t)turned : p->size) &&
           2 * p->half <= p->size;
}

static bool read_sections(params *p, const kernel_problem *u)
{
    size_t count;
    const int64_t *sections = op_attr_ints(u->node, "mrope_section", &count);
    uint64_t sum = 0;
    if (count != STREAMS) return false;
    for (size_t s = 0; s < STREAMS; s++) {
        if (sections[s] < 0 || (uint64_t)sections[s] > p->half) return false;
        p->sections[s] = (uint64_t)sections[s];
        sum += p->sections[s];
    }
    return sum == p->half;
}

static bool m_rotary_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *cosines = &u->inputs[COS], *sines = &u->inputs[SIN];
    if (u->input_count != INPUTS || u->outputs[0].dtype != PGY_F32 ||
        u->inputs[X].dtype != PGY_F32 || u->inputs[POSITIONS].dtype != PGY_I64 ||
        cosines->dtype != PGY_F32 || sines->dtype != PGY_F32 || cosines->rank != 2 ||
        sines->rank != 2 || !kernel_count(&u->inputs[X]) || !kernel_count(cosines) ||
        sines->shape[0] != cosines->shape[0] || sines->shape[1] != cosines->shape[1])
        return false;
    *p = (params){.half = (uint64_t)cosines->shape[1],
                  .places = (uint64_t)cosines->shape[0],
                  .level = u->self->needs,
                  .every_third = op_attr_int(u->node, "mrope_layout", 0) == 1,
                  .interleaved = op_attr_int(u->node, "interleaved", 0) != 0,
                  .scale = (float)op_attr_float(u->node, "scale", 1)};
    return read_rows(p, u) && read_sections(p, u) &&
           kernel_count(&u->inputs[POSITIONS]) == STREAMS * p->batch * p->length;
}

static bool m_rotary_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!m_rotary_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 200 + (double)(p.batch * p.length * p.half) +
               (double)kernel_count(&u->inputs[X]) * u->self->rates[0];
    return true;
}

/* Floats in the workspace: the cosines of a token, then its sines. */
static uint64_t table_count(const params *p)
{
    return extent_mul(extent_mul3(p->batch, p->length, p->half), 2);
}

static pgy_status m_rotary_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)m_rotary_describe(p, u); /* cannot fail after `accept` */
    const uint64_t worth = p->batch * p->heads * p->length / ROWS_OF_PART + 1;
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .workspace_bytes = table_count(p) * sizeof(float),
                         .phases = 2,
                         .in_place = X};
    out->parts = (uint32_t)(worth < PARTS ? worth : PARTS);
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool has_valid_sections(const params *p)
{
    uint64_t sum = 0;
    for (size_t s = 0; s < STREAMS; s++) {
        if (p->sections[s] > p->half) return false;
        sum += p->sections[s];
    }
    return sum == p->half;
}

static bool m_rotary_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (q->input_count != INPUTS) return extent_refuse(e, "number of inputs");
    const uint64_t tokens = extent_mul(p->batch, p->length);
    const uint64_t count = extent_mul3(tokens, p->heads, p->size);
    if (!p->batch || !p->heads || !p->length || !p->half || p->half > p->size / 2 ||
        p->half > INT32_MAX)
        return extent_refuse(e, "sizes");
    if (!has_valid_sections(p)) return extent_refuse(e, "sections");
    extent_tensor(e, X, count, sizeof(float));
    extent_tensor(e, POSITIONS, extent_mul(tokens, STREAMS), sizeof(int64_t));
    extent_tensor(e, COS, extent_mul(p->places, p->half), sizeof(float));
    extent_tensor(e, SIN, extent_mul(p->places, p->half), sizeof(float));
    extent_tensor(e, INPUTS, count, sizeof(float));
    e->workspace = extent_mul(table_count(p), sizeof(float));
    e->phases = 2;
    e->indices = 1U << POSITIONS;
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* The angles of a token from a table, each from the row of its stream's place. */
static void gather_angles(const params *p, float *row, const float *table,
                          const uint64_t places[STREAMS])
{
    uint64_t at = 0;
    for (uint64_t s = 0; s < STREAMS; s++) {
        const float *from = table + places[s] * p->half;
        const uint64_t end = p->every_third ? p->half : at + p->sections[s];
        if (p->every_third && s > 0)
            for (uint64_t i = s; i < p->half && i < STREAMS * p->sections[s]; i += STREAMS)
                row[i] = p->scale * from[i];
        else
            for (uint64_t i = at; i < end; i++) row[i] = p->scale * from[i];
        at = end;
    }
}

static void gather_tables(const kernel_run *r, const params *p)
{
    const uint64_t tokens = p->batch * p->length;
    const int64_t *ids = r->tensors[POSITIONS];
    size_t from, to;
    kernel_share(&from, &to, tokens, r->part, r->parts);
    for (size_t t = from; t < to && !cancel_requested(); t++) {
        const uint64_t places[STREAMS] = {(uint64_t)ids[t], (uint64_t)ids[tokens + t],
                                          (uint64_t)ids[2 * tokens + t]};
        float *row = (float *)r->workspace + t * 2 * p->half;
        for (size_t s = 0; s < STREAMS; s++) {
            if (places[s] < p->places) continue;
            kernel_fail(r, KERNEL_FAULT_LENGTH);
            return;
        }
        gather_angles(p, row, r->tensors[COS], places);
        gather_angles(p, row + p->half, r->tensors[SIN], places);
    }
}

static void m_rotary_run(const kernel_run *r)
{
    const params *p = r->params;
    const attention_loops *loops = attention_loops_of((cpu_level)p->level);
    const uint64_t turned = 2 * p->half;
    size_t from, to;
    if (r->phase == 0) {
        gather_tables(r, p);
        return;
    }
    kernel_share(&from, &to, p->batch * p->heads * p->length, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) { /* rows in memory order */
        const uint64_t b = i / (p->heads * p->length), rest = i % (p->heads * p->length);
        const uint64_t t = p->flat ? rest / p->heads : rest % p->length;
        const float *row = (const float *)r->workspace + (b * p->length + t) * turned;
        const float *x = (const float *)r->tensors[X] + i * p->size;
        float *y = (float *)r->tensors[INPUTS] + i * p->size;
        loops->rotate(y, x, row, row + p->half, p->half, p->interleaved);
        if (y != x) memcpy(y + turned, x + turned, (p->size - turned) * sizeof *y);
    }
}

#define ROW(suffix, level, each)                                                                 \
    {                                                                                            \
        .name = "m_rotary_f32_" #suffix, .version = 1, .ops = "com.microsoft:MRotaryEmbedding",  \
        .needs = level, .rates = {each}, .accept = m_rotary_accept, .prepare = m_rotary_prepare, \
        .run = m_rotary_run, .extent = m_rotary_extent                                           \
    }
const kernel KERNELS_m_rotary[] = {
    ROW(portable, CPU_PORTABLE, 0.6),
    ROW(avx2, CPU_AVX2, 0.3),
    ROW(avx512, CPU_AVX512, 0.25),
    {0},
};
