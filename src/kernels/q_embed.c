/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QEmbedLayerNormalization in float32: rows of 8-bit tables are dequantised as they
 * are added. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/target_avx512.h"
#include "kernels/vec_math.h"

enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, SCALES, ZEROS = 13, INPUTS = 18 };
enum { TABLES = 3 }; /* word, position, segment */

typedef struct params {
    uint64_t batch, length, width;
    uint64_t words, positions, segments; /* rows of the tables; segments 0: none is added */
    uint32_t level, is_signed;
    uint32_t masked, counted; /* is there a mask, and an output for its sums? */
    float epsilon;
    uint32_t outputs;
} params;

/* ---- Loops ---------------------------------------------------------------------------------- */

/* y += (x - zero) * scale */
typedef void (*add_function)(float *y, const void *x, size_t n, float scale, float zero,
                             bool is_signed);

#define INLINE static inline __attribute__((always_inline))

INLINE void add_row(float *restrict y, const void *x, size_t n, float scale, float zero,
                    bool is_signed)
{
    const int8_t *s = x;
    const uint8_t *u = x;
    if (is_signed)
        for (size_t i = 0; i < n; i++) y[i] += ((float)s[i] - zero) * scale;
    else
        for (size_t i = 0; i < n; i++) y[i] += ((float)u[i] - zero) * scale;
}

static void add_portable(float *y, const void *x, size_t n, float scale, float zero, bool is_signed)
{
    add_row(y, x, n, scale, zero, is_signed);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void add_avx2(float *y, const void *x, size_t n, float scale,
                                                     float zero, bool is_signed)
{
    add_row(y, x, n, scale, zero, is_signed);
}

TARGET_AVX512 static void add_avx512(float *y, const void *x, size_t n, float scale, float zero,
                                     bool is_signed)
{
    add_row(y, x, n, scale, zero, is_signed);
}
#endif

static add_function find_add(const params *p)
{
#if defined(__x86_64__)
    if (p->level >= CPU_AVX512) return add_avx512;
    if (p->level >= CPU_AVX2) return add_avx2;
#endif
    (void)p;
    return add_portable;
}

/* ---- The problem ---------------------------------------------------------------------------- */

static bool is_table(const kernel_tensor *t, pgy_dtype dtype, uint64_t width, int32_t rank)
{
    return t->dtype == dtype && t->rank == rank && (uint64_t)t->shape[rank - 1] == width;
}

static bool q_embed_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *t = u->inputs, *y = &u->outputs[0];
    const pgy_dtype q = t[WORD].dtype;
    if (u->input_count != INPUTS || t[IDS].dtype != PGY_I32 || t[IDS].rank != 2 ||
        y->dtype != PGY_F32 || !kernel_count(y) || (q != PGY_I8 && q != PGY_U8) ||
        t[WORD].rank != 2)
        return false;
    *p = (params){.batch = (uint64_t)t[IDS].shape[0],
                  .length = (uint64_t)t[IDS].shape[1],
                  .width = (uint64_t)t[WORD].shape[1],
                  .words = (uint64_t)t[WORD].shape[0],
                  .level = u->self->needs,
                  .is_signed = q == PGY_I8,
                  .masked = t[MASK].dtype != PGY_DTYPE_NONE,
                  .counted = u->output_count > 1 && u->outputs[1].dtype,
                  .epsilon = (float)op_attr_float(u->node, "epsilon", 1e-12),
                  .outputs = (uint32_t)u->output_count};
    if (!is_table(&t[POSITION], q, p->width, 2) || !is_table(&t[GAMMA], q, p->width, 1) ||
        !is_table(&t[BETA], q, p->width, 1))
        return false;
    p->positions = (uint64_t)t[POSITION].shape[0];
    const bool segments = t[SEGMENT].dtype && t[SEGMENTS].dtype;
    if (!segments != !t[SEGMENT].dtype || !segments != !t[SEGMENTS].dtype) return false;
    if (segments && (!is_table(&t[SEGMENT], q, p->width, 2) || t[SEGMENTS].dtype != PGY_I32 ||
                     kernel_count(&t[SEGMENTS]) != p->batch * p->length))
        return false;
    p->segments = segments ? (uint64_t)t[SEGMENT].shape[0] : 0;
    for (size_t i = 0; i < 5; i++) {
        const bool given = i != SEGMENT - WORD || segments;
        if (given && (t[SCALES + i].dtype != PGY_F32 || kernel_count(&t[SCALES + i]) != 1 ||
                      t[ZEROS + i].dtype != q || kernel_count(&t[ZEROS + i]) != 1))
            return false;
    }
    return (!segments || p->segments) && p->words && p->length <= p->positions &&
           (!p->masked ||
            (t[MASK].dtype == PGY_I32 && kernel_count(&t[MASK]) == p->batch * p->length));
}

static bool q_embed_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!q_embed_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    *cost_ns = 200 + (double)kernel_count(&u->outputs[0]) * u->self->rates[0];
    return true;
}

static pgy_status q_embed_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)q_embed_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .scratch_bytes = 2 * p->width * sizeof(float),
                         .phases = 1,
                         .in_place = -1};
    const uint64_t rows = p->batch * p->length, worth = rows / 8 + 1;
    out->parts = (uint32_t)(worth < 256 ? worth : 256);
    return PGY_OK;
}

static bool q_embed_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (q->input_count != INPUTS || !p->outputs || p->outputs > 2 || p->counted > 1 ||
        p->masked > 1 || p->is_signed > 1 || (p->counted && p->outputs < 2))
        return extent_refuse(e, "operands");
    if (!p->batch || !p->length || !p->width || !p->words || p->length > p->positions ||
        p->words > INT32_MAX || p->segments > INT32_MAX)
        return extent_refuse(e, "sizes");
    const uint64_t rows = extent_mul(p->batch, p->length);
    const uint64_t tables[TABLES] = {p->words, p->positions, p->segments};
    extent_tensor(e, IDS, rows, sizeof(int32_t));
    if (p->segments) extent_tensor(e, SEGMENTS, rows, sizeof(int32_t));
    for (uint32_t i = 0; i < TABLES; i++)
        extent_tensor(e, WORD + i, extent_mul(tables[i], p->width), 1);
    extent_tensor(e, GAMMA, p->width, 1);
    extent_tensor(e, BETA, p->width, 1);
    if (p->masked) extent_tensor(e, MASK, rows, sizeof(int32_t));
    for (uint32_t i = 0; i < 5; i++) {
        if (i == SEGMENT - WORD && !p->segments) continue;
        extent_tensor(e, SCALES + i, 1, sizeof(float));
        extent_tensor(e, ZEROS + i, 1, 1);
    }
    extent_tensor(e, INPUTS, extent_mul(rows, p->width), sizeof(float));
    if (p->counted) extent_tensor(e, INPUTS + 1, p->batch, sizeof(int32_t));
    e->indices = 1U << IDS | 1U << SEGMENTS;
    e->scratch = extent_mul(p->width, 2 * sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Adds row `row` of a table, or all of gamma or beta. */
static void add_dequantised(float *y, const params *p, const kernel_run *r, size_t input,
                            uint64_t row)
{
    const float scale = *(const float *)r->tensors[SCALES + input - WORD];
    const void *zero = r->tensors[ZEROS + input - WORD];
    find_add(p)(y, (const char *)r->tensors[input] + row * p->width, p->width, scale,
                p->is_signed ? (float)*(const int8_t *)zero : (float)*(const uint8_t *)zero,
                p->is_signed);
}

/* False: an index lies outside of its table. */
static bool embed(float *y, const params *p, const kernel_run *r, uint64_t token)
{
    const int64_t word = ((const int32_t *)r->tensors[IDS])[token];
    const int64_t segment = p->segments ? ((const int32_t *)r->tensors[SEGMENTS])[token] : 0;
    if ((uint64_t)word >= p->words) {
        kernel_fault_index(r, word, p->words);
        return false;
    }
    if (p->segments && (uint64_t)segment >= p->segments) {
        kernel_fault_index(r, segment, p->segments);
        return false;
    }
    memset(y, 0, p->width * sizeof *y);
    add_dequantised(y, p, r, WORD, (uint64_t)word);
    add_dequantised(y, p, r, POSITION, token % p->length);
    if (p->segments) add_dequantised(y, p, r, SEGMENT, (uint64_t)segment);
    return true;
}

static void count_mask(const params *p, const kernel_run *r, uint64_t entry)
{
    const int32_t *mask = p->masked ? r->tensors[MASK] : NULL;
    int32_t count = 0;
    for (uint64_t i = 0; mask && i < p->length; i++) count += mask[entry * p->length + i] != 0;
    ((int32_t *)r->tensors[INPUTS + 1])[entry] = count;
}

static void q_embed_run(const kernel_run *r)
{
    const params *p = r->params;
    float *gamma = r->scratch, *beta = gamma + p->width;
    const vec_norm norm = {.epsilon = p->epsilon, .scale = gamma, .bias = beta};
    size_t from, to;
    kernel_share(&from, &to, p->batch * p->length, r->part, r->parts);
    memset(gamma, 0, 2 * p->width * sizeof *gamma);
    add_dequantised(gamma, p, r, GAMMA, 0);
    add_dequantised(beta, p, r, BETA, 0);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        float *y = (float *)r->tensors[INPUTS] + i * p->width;
        if (p->counted && i % p->length == 0) count_mask(p, r, i / p->length);
        if (!embed(y, p, r, i)) return;
        vec_math_of((cpu_level)p->level)->normalize_rows(y, y, 1, p->width, &norm, NULL, NULL);
    }
}

#define ROW(suffix, level, ns)                                                                     \
    {                                                                                              \
        .name = "q_embed_" #suffix, .version = 1, .ops = "com.microsoft:QEmbedLayerNormalization", \
        .needs = level, .rates = {ns}, .accept = q_embed_accept, .prepare = q_embed_prepare,       \
        .run = q_embed_run, .extent = q_embed_extent                                               \
    }
const kernel KERNELS_q_embed[] = {
    ROW(portable, CPU_PORTABLE, 3),
    ROW(avx2, CPU_AVX2, 0.6),
    ROW(avx512, CPU_AVX512, 0.4),
    {0},
};
