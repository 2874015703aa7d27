/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft WordConvEmbedding with constant weights: what each character adds at each place of
 * the window is computed once and packed, for all filters, so a window is a sum of rows. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/target_avx512.h"
#include "kernels/vec_math.h"

enum { WORDS, WEIGHTS, BIAS, CHARACTERS };
enum { MOST = 1 << 24 }; /* packed numbers */

typedef struct params {
    uint64_t words, letters, filters, window, characters;
    uint32_t level, unused;
} params;

/* ---- Loops ---------------------------------------------------------------------------------- */

/* most = max(most, the sum of `window` rows); NaN stays. rows[t] has n elements. */
typedef void (*window_function)(float *most, const float *const *rows, size_t window, size_t n);

enum { LANES = 64 }; /* filters whose sums stay in registers */

static inline __attribute__((always_inline)) void add_window(float *restrict most,
                                                             const float *const *rows,
                                                             size_t window, size_t n)
{
    for (size_t first = 0; first < n; first += LANES) {
        const size_t count = n - first < LANES ? n - first : LANES;
        float sums[LANES];
        memcpy(sums, rows[0] + first, count * sizeof *sums);
        for (size_t t = 1; t < window; t++)
            for (size_t i = 0; i < count; i++) sums[i] += rows[t][first + i];
        for (size_t i = 0; i < count; i++)
            most[first + i] =
                sums[i] > most[first + i] || sums[i] != sums[i] ? sums[i] : most[first + i];
    }
}

static void window_portable(float *most, const float *const *rows, size_t window, size_t n)
{
    add_window(most, rows, window, n);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void window_avx2(float *most, const float *const *rows,
                                                        size_t window, size_t n)
{
    add_window(most, rows, window, n);
}

TARGET_AVX512 static void window_avx512(float *most, const float *const *rows, size_t window,
                                        size_t n)
{
    add_window(most, rows, window, n);
}
#endif

static window_function find_window(const params *p)
{
#if defined(__x86_64__)
    if (p->level >= CPU_AVX512) return window_avx512;
    if (p->level >= CPU_AVX2) return window_avx2;
#endif
    (void)p;
    return window_portable;
}

/* ---- The problem ---------------------------------------------------------------------------- */

enum { WINDOW = 32 }; /* the longest */

static bool word_conv_embedding_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[WORDS], *w = &u->inputs[WEIGHTS];
    const kernel_tensor *b = &u->inputs[BIAS], *c = &u->inputs[CHARACTERS];
    if (u->input_count != 4 || x->dtype != PGY_I32 || x->rank != 2 || w->dtype != PGY_F32 ||
        w->rank != 4 || w->shape[1] != 1 || b->dtype != PGY_F32 || c->dtype != PGY_F32 ||
        c->rank != 2 || c->shape[1] != w->shape[3] || !w->data || !c->data || !kernel_count(x) ||
        !kernel_count(w) || !kernel_count(c) || kernel_count(b) != (size_t)w->shape[0])
        return false;
    *p = (params){.words = (uint64_t)x->shape[0],
                  .letters = (uint64_t)x->shape[1],
                  .filters = (uint64_t)w->shape[0],
                  .window = (uint64_t)w->shape[2],
                  .characters = (uint64_t)c->shape[0],
                  .level = u->self->needs};
    return p->window <= p->letters && p->window <= WINDOW &&
           extent_mul3(p->window, p->characters, p->filters) <= MOST;
}

static bool word_conv_embedding_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!word_conv_embedding_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 200 + (double)p.words * (double)p.letters * (double)p.window * (double)p.filters *
                         u->self->rates[0];
    return true;
}

static uint64_t packed_bytes(const params *p)
{
    return extent_mul(extent_mul3(p->window, p->characters, p->filters), sizeof(float));
}

/* [window][characters][filters] */
static void pack(float *to, const params *p, const kernel_problem *u)
{
    const float *w = u->inputs[WEIGHTS].data, *letters = u->inputs[CHARACTERS].data;
    const size_t size = (size_t)u->inputs[CHARACTERS].shape[1];
    for (size_t t = 0; t < p->window; t++)
        for (size_t c = 0; c < p->characters; c++)
            for (size_t f = 0; f < p->filters; f++) {
                const float *filter = w + (f * p->window + t) * size;
                float sum = 0;
                for (size_t i = 0; i < size; i++) sum += letters[c * size + i] * filter[i];
                *to++ = sum;
            }
}

static pgy_status word_conv_embedding_prepare(kernel_plan *out, const kernel_problem *u,
                                              pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)word_conv_embedding_describe(p, u); /* cannot fail after `accept` */
    void *packed = mem_alloc_aligned(64, packed_bytes(p));
    if (!packed) {
        mem_free(p);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    pack(packed, p, u);
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .packed = packed,
                         .packed_bytes = packed_bytes(p),
                         .packed_inputs = 1U << WEIGHTS | 1U << CHARACTERS,
                         .phases = 1,
                         .in_place = -1};
    out->parts = (uint32_t)(p->words < 256 ? p->words : 256);
    return PGY_OK;
}

static bool word_conv_embedding_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (q->input_count != 4) return extent_refuse(e, "number of inputs");
    if (!p->words || !p->filters || !p->window || p->window > WINDOW || p->window > p->letters ||
        !p->characters || p->characters > INT32_MAX)
        return extent_refuse(e, "sizes");
    extent_tensor(e, WORDS, extent_mul(p->words, p->letters), sizeof(int32_t));
    extent_tensor(e, BIAS, p->filters, sizeof(float));
    extent_tensor(e, 4, extent_mul(p->words, p->filters), sizeof(float));
    e->packed = packed_bytes(p);
    e->indices = 1U << WORDS;
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static uint64_t word_length(const params *p, const int32_t *word)
{
    uint64_t length = 0;
    if (word[0] <= 0) return 0;
    for (uint64_t i = 0; i < p->letters; i++) length += word[i] > 0;
    return length < p->window ? p->window : length;
}

/* False: a character has no vector. */
static bool embed(float *y, const params *p, const kernel_run *r, const int32_t *word)
{
    const float *table = r->packed, *bias = r->tensors[BIAS], *rows[WINDOW];
    const uint64_t length = word_length(p, word);
    for (uint64_t i = 0; i < length; i++)
        if (word[i] < 0 || (uint64_t)word[i] >= p->characters) {
            kernel_fault_index(r, word[i], p->characters);
            return false;
        }
    if (!length) {
        memset(y, 0, p->filters * sizeof *y);
        return true;
    }
    for (uint64_t f = 0; f < p->filters; f++) y[f] = -INFINITY;
    for (uint64_t i = 0; i + p->window <= length; i++) {
        for (uint64_t t = 0; t < p->window; t++)
            rows[t] = table + (t * p->characters + (uint64_t)word[i + t]) * p->filters;
        find_window(p)(y, rows, p->window, p->filters);
    }
    for (uint64_t f = 0; f < p->filters; f++) y[f] += bias[f];
    vec_math_of((cpu_level)p->level)->tanh(y, y, p->filters);
    return true;
}

static void word_conv_embedding_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->words, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++)
        if (!embed((float *)r->tensors[4] + i * p->filters, p, r,
                   (const int32_t *)r->tensors[WORDS] + i * p->letters))
            return;
}

#define ROW(suffix, level, ns)                                                        \
    {                                                                                 \
        .name = "word_conv_embedding_" #suffix, .version = 1,                         \
        .ops = "com.microsoft:WordConvEmbedding", .needs = level, .rates = {ns},      \
        .accept = word_conv_embedding_accept, .prepare = word_conv_embedding_prepare, \
        .run = word_conv_embedding_run, .extent = word_conv_embedding_extent          \
    }
const kernel KERNELS_word_conv_embedding[] = {
    ROW(portable, CPU_PORTABLE, 0.3),
    ROW(avx2, CPU_AVX2, 0.08),
    ROW(avx512, CPU_AVX512, 0.05),
    {0},
};
