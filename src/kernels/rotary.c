/* SPDX-License-Identifier: Apache-2.0 */
/* RotaryEmbedding of both domains in float32: each row, a head at one position, is rotated by the
 * cosines and sines of its position. The row of the tables comes from position ids, from a first
 * position, or is the number of the token: in all batches, or in its own where all share tables. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/attention_loops.h"
#include "kernels/extent.h"

enum { PARTS = 256, ROWS_OF_PART = 32 };
/* Which row of the tables a token has. */
typedef enum place_kind { PLACE_OF_TOKEN, PLACE_GIVEN, PLACE_COUNTED } place_kind;

typedef struct params {
    uint64_t batch, heads, length, size;
    uint64_t half, places; /* rotated pairs of a row; rows of the tables */
    uint32_t level, inputs, kind;
    uint32_t positions, cosines, sines; /* inputs */
    uint32_t flat;                      /* 1: [batch, length, heads, size], else heads first */
    uint32_t interleaved;
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool read_rows(params *p, const kernel_problem *u, bool contrib)
{
    const kernel_tensor *x = &u->inputs[0], *cosines = &u->inputs[p->cosines];
    const int64_t table = cosines->shape[cosines->rank - 1];
    int64_t heads = op_attr_int(u->node, "num_heads", 0);
    if (x->rank != 3 && x->rank != 4) return false;
    p->flat = x->rank == 3;
    if (contrib && !heads && p->flat && table > 0 && table < INT32_MAX)
        heads = x->shape[2] / (2 * table);
    if (p->flat && (heads < 1 || x->shape[2] % heads)) return false;
    p->batch = (uint64_t)x->shape[0];
    p->heads = (uint64_t)(p->flat ? heads : x->shape[1]);
    p->length = (uint64_t)x->shape[p->flat ? 1 : 2];
    p->size = (uint64_t)(p->flat ? x->shape[2] / heads : x->shape[3]);
    const int64_t given = op_attr_int(u->node, "rotary_embedding_dim", 0);
    const uint64_t turned = given ? (uint64_t)given : p->size;
    p->half = turned / 2;
    return given >= 0 && turned <= p->size && turned % 2 == 0 && p->half == (uint64_t)table;
}

static bool read_places(params *p, const kernel_problem *u, bool contrib)
{
    const kernel_tensor *cosines = &u->inputs[p->cosines], *sines = &u->inputs[p->sines];
    const kernel_tensor *ids = u->input_count > p->positions ? &u->inputs[p->positions] : NULL;
    const uint64_t tokens = p->batch * p->length;
    p->kind = ids && ids->dtype ? PLACE_GIVEN : PLACE_OF_TOKEN;
    p->places = kernel_count(cosines) / p->half;
    if (kernel_count(sines) != kernel_count(cosines) || sines->rank != cosines->rank ||
        sines->shape[sines->rank - 1] != cosines->shape[cosines->rank - 1])
        return false;
    if (p->kind == PLACE_OF_TOKEN)
        return !contrib && cosines->rank == 3 &&
               p->places == (cosines->shape[0] == 1 ? p->length : tokens);
    if (ids->dtype != PGY_I64 || cosines->rank != 2 || !p->places) return false;
    if (contrib && ids->rank == 1) p->kind = PLACE_COUNTED;
    return kernel_count(ids) == (p->kind == PLACE_COUNTED ? 1 : tokens);
}

static bool rotary_describe(params *p, const kernel_problem *u)
{
    const bool contrib = u->node->def->domain[0] != 0;
    *p = (params){.level = u->self->needs,
                  .inputs = (uint32_t)u->input_count,
                  .positions = contrib ? 1 : 3,
                  .cosines = contrib ? 2 : 1,
                  .sines = contrib ? 3 : 2,
                  .interleaved = op_attr_int(u->node, "interleaved", 0) != 0};
    if (u->input_count <= p->sines || u->outputs[0].dtype != PGY_F32 ||
        u->inputs[0].dtype != PGY_F32 || u->inputs[p->cosines].dtype != PGY_F32 ||
        u->inputs[p->sines].dtype != PGY_F32 || u->inputs[p->cosines].rank < 2 ||
        !kernel_count(&u->inputs[0]))
        return false;
    return read_rows(p, u, contrib) && p->half && read_places(p, u, contrib);
}

static bool rotary_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!rotary_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)kernel_count(&u->inputs[0]) * u->self->rates[0];
    return true;
}

static pgy_status rotary_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)rotary_describe(p, u); /* cannot fail after `accept` */
    const uint64_t worth = p->batch * p->heads * p->length / ROWS_OF_PART + 1;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = 0};
    out->parts = (uint32_t)(worth < PARTS ? worth : PARTS);
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool rotary_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !extent_enum(e, p->kind, PLACE_COUNTED + 1, "kind"))
        return false;
    if (p->inputs != q->input_count || p->cosines >= p->inputs || p->sines >= p->inputs ||
        (p->kind != PLACE_OF_TOKEN && p->positions >= p->inputs))
        return extent_refuse(e, "number of inputs");
    const uint64_t tokens = extent_mul(p->batch, p->length);
    const uint64_t count = extent_mul3(tokens, p->heads, p->size);
    if (!p->heads || !p->length || !p->half || p->half > p->size / 2 ||
        (p->kind == PLACE_OF_TOKEN && p->places != tokens && p->places != p->length))
        return extent_refuse(e, "sizes");
    extent_tensor(e, 0, count, sizeof(float));
    extent_tensor(e, p->inputs, count, sizeof(float));
    extent_tensor(e, p->cosines, extent_mul(p->places, p->half), sizeof(float));
    extent_tensor(e, p->sines, extent_mul(p->places, p->half), sizeof(float));
    if (p->kind == PLACE_OF_TOKEN) return true;
    extent_tensor(e, p->positions, p->kind == PLACE_COUNTED ? 1 : tokens, sizeof(int64_t));
    e->indices = 1U << p->positions;
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* The tables' row of token t of batch b; a row outside the tables if its position is invalid. */
static uint64_t place_of(const params *p, const kernel_run *r, uint64_t b, uint64_t t)
{
    const uint64_t token = b * p->length + t;
    if (p->kind == PLACE_OF_TOKEN) return p->places == p->length ? t : token;
    const int64_t *ids = r->tensors[p->positions];
    if (p->kind == PLACE_GIVEN) return (uint64_t)ids[token];
    return (uint64_t)ids[0] + t;
}

static void rotary_run(const kernel_run *r)
{
    const params *p = r->params;
    const attention_loops *loops = attention_loops_of((cpu_level)p->level);
    const float *cosines = r->tensors[p->cosines], *sines = r->tensors[p->sines];
    size_t from, to;
    kernel_share(&from, &to, p->batch * p->heads * p->length, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) { /* rows in memory order */
        const uint64_t b = i / (p->heads * p->length), rest = i % (p->heads * p->length);
        const uint64_t t = p->flat ? rest / p->heads : rest % p->length;
        const uint64_t place = place_of(p, r, b, t), turned = 2 * p->half;
        const float *x = (const float *)r->tensors[0] + i * p->size;
        float *y = (float *)r->tensors[p->inputs] + i * p->size;
        if (place >= p->places) {
            kernel_fail(r, KERNEL_FAULT_LENGTH);
            return;
        }
        loops->rotate(y, x, cosines + place * p->half, sines + place * p->half, p->half,
                      p->interleaved);
        if (y != x) memcpy(y + turned, x + turned, (p->size - turned) * sizeof *y);
    }
}

#define ROW(suffix, level, each)                                                                 \
    {                                                                                            \
        .name = "rotary_f32_" #suffix, .version = 1,                                             \
        .ops = "RotaryEmbedding com.microsoft:RotaryEmbedding", .needs = level, .rates = {each}, \
        .accept = rotary_accept, .prepare = rotary_prepare, .run = rotary_run,                   \
        .extent = rotary_extent                                                                  \
    }
const kernel KERNELS_rotary[] = {
    ROW(portable, CPU_PORTABLE, 0.6),
    ROW(avx2, CPU_AVX2, 0.3),
    ROW(avx512, CPU_AVX512, 0.25),
    {0},
};
