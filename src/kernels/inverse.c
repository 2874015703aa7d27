/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Inverse of matrices of float32: elimination in place with row exchanges, in float64
 * as the definition does it. Column k of the unit matrix takes the place of column k. */
#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/target_avx512.h"

typedef struct params {
    uint64_t count, n; /* matrices, rows */
    uint32_t level, unused;
} params;

/* ---- Loops ---------------------------------------------------------------------------------- */

#define INLINE static inline __attribute__((always_inline))

INLINE void swap_rows(double *restrict a, double *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

INLINE size_t find_pivot(const double *x, size_t n, size_t k)
{
    size_t pivot = k;
    for (size_t r = k + 1; r < n; r++)
        if (fabs(x[r * n + k]) > fabs(x[pivot * n + k])) pivot = r;
    return pivot;
}

/* y -= times * x */
INLINE void subtract(double *restrict y, const double *restrict x, double times, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] -= times * x[i];
}

/* Replaces x by its inverse; pivots has room for n. */
INLINE void invert(double *x, uint64_t *pivots, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double *row = x + k * n;
        pivots[k] = find_pivot(x, n, k);
        if (pivots[k] != k) swap_rows(row, x + pivots[k] * n, n);
        const double factor = 1 / row[k];
        for (size_t i = 0; i < n; i++) row[i] *= factor;
        row[k] = factor;
        for (size_t r = 0; r < n; r++) {
            if (r == k) continue;
            const double times = x[r * n + k];
            subtract(x + r * n, row, times, n);
            x[r * n + k] = -times * factor;
        }
    }
    for (size_t k = n; k-- > 0;) /* exchanged rows are exchanged columns of the inverse */
        for (size_t r = 0; pivots[k] != k && r < n; r++) {
            const double t = x[r * n + k];
            x[r * n + k] = x[r * n + pivots[k]];
            x[r * n + pivots[k]] = t;
        }
}

typedef void (*invert_function)(double *x, uint64_t *pivots, size_t n);

static void invert_portable(double *x, uint64_t *pivots, size_t n)
{
    invert(x, pivots, n);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void invert_avx2(double *x, uint64_t *pivots, size_t n)
{
    invert(x, pivots, n);
}

TARGET_AVX512 static void invert_avx512(double *x, uint64_t *pivots, size_t n)
{
    invert(x, pivots, n);
}
#endif

static invert_function find_invert(const params *p)
{
#if defined(__x86_64__)
    if (p->level >= CPU_AVX512) return invert_avx512;
    if (p->level >= CPU_AVX2) return invert_avx2;
#endif
    (void)p;
    return invert_portable;
}

/* ---- The problem ---------------------------------------------------------------------------- */

static bool inverse_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    if (u->input_count != 1 || x->dtype != PGY_F32 || x->rank < 2 || !kernel_count(x)) return false;
    *p = (params){.n = (uint64_t)x->shape[x->rank - 1], .level = u->self->needs};
    p->count = kernel_count(x) / p->n / p->n;
    return x->shape[x->rank - 2] == x->shape[x->rank - 1];
}

static bool inverse_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!inverse_describe(&p, u)) return false;
    u->inputs[0].layout = u->outputs[0].layout = KERNEL_LINEAR;
    const double n = (double)p.n;
    *cost_ns = 100 + (double)p.count * n * n * (n / u->self->rates[0] + 2);
    return true;
}

/* Bytes: a matrix, its pivots. */
static uint64_t inverse_scratch(const params *p)
{
    return extent_mul(extent_mul(p->n, extent_add(p->n, 1)), sizeof(double));
}

static pgy_status inverse_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)inverse_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .scratch_bytes = inverse_scratch(p),
                         .phases = 1,
                         .in_place = 0};
    out->parts = (uint32_t)(p->count < 256 ? p->count : 256);
    return PGY_OK;
}

static bool inverse_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    if (!p->count || !p->n) return extent_refuse(e, "sizes");
    const uint64_t count = extent_mul3(p->count, p->n, p->n);
    extent_tensor(e, 0, count, sizeof(float));
    extent_tensor(e, 1, count, sizeof(float));
    e->scratch = inverse_scratch(p);
    return true;
}

static void inverse_run(const kernel_run *r)
{
    const params *p = r->params;
    const size_t size = p->n * p->n;
    double *x = r->scratch;
    uint64_t *pivots = (uint64_t *)(void *)(x + size);
    size_t from, to;
    kernel_share(&from, &to, p->count, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const float *in = (const float *)r->tensors[0] + i * size;
        float *y = (float *)r->tensors[1] + i * size;
        for (size_t k = 0; k < size; k++) x[k] = (double)in[k];
        find_invert(p)(x, pivots, p->n);
        for (size_t k = 0; k < size; k++) y[k] = (float)x[k];
    }
}

#define ROW(suffix, level, flops_per_ns)                                                          \
    {                                                                                             \
        .name = "inverse_" #suffix, .version = 1, .ops = "com.microsoft:Inverse", .needs = level, \
        .rates = {flops_per_ns}, .accept = inverse_accept, .prepare = inverse_prepare,            \
        .run = inverse_run, .extent = inverse_extent                                              \
    }
const kernel KERNELS_inverse[] = {
    ROW(portable, CPU_PORTABLE, 2),
    ROW(avx2, CPU_AVX2, 6),
    ROW(avx512, CPU_AVX512, 10),
    {0},
};
