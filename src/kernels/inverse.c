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

/* y -= times * x; element `own` of y is the one that the unit matrix gives. */
INLINE void subtract(double *restrict y, const double *restrict x, size_t own, size_t n)
{
    const double times = y[own];
    for (size_t i = 0; i < n; i++) y[i] -= times * x[i];
    y[own] = -times * x[own];
}

/* The same with two rows at once. */
INLINE void subtract_two(double *restrict y, const double *restrict a, const double *restrict b,
                         size_t own, size_t n)
{
    const double s = y[own], t = y[own + 1];
    for (size_t i = 0; i < n; i++) y[i] = y[i] - s * a[i] - t * b[i];
    y[own] = -s * a[own] - t * b[own];
    y[own + 1] = -s * a[own + 1] - t * b[own + 1];
}

/* The row from k on whose element in column k is the largest. before: the finished row k - 1,
 * which is not subtracted from the others yet; or NULL. */
INLINE size_t find_pivot(const double *x, size_t n, size_t k, const double *before)
{
    size_t pivot = k;
    double most = -1;
    for (size_t r = k; r < n; r++) {
        const double *row = x + r * n;
        const double size = fabs(before ? row[k] - row[k - 1] * before[k] : row[k]);
        if (size > most) {
            most = size;
            pivot = r;
        }
    }
    return pivot;
}

/* Exchanges row k with the pivot's and divides it. */
INLINE void take_pivot(double *x, uint64_t *pivots, size_t n, size_t k, const double *before)
{
    double *row = x + k * n;
    pivots[k] = find_pivot(x, n, k, before);
    if (pivots[k] != k) swap_rows(row, x + pivots[k] * n, n);
    if (before) subtract(row, before, k - 1, n);
    const double factor = 1 / row[k];
    for (size_t i = 0; i < n; i++) row[i] *= factor;
    row[k] = factor;
}

/* Replaces x by its inverse; pivots has room for n. Two pivots at a time halve the passes through
 * the matrix. */
INLINE void invert(double *x, uint64_t *pivots, size_t n)
{
    size_t k = 0;
    for (; k + 2 <= n; k += 2) {
        double *a = x + k * n, *b = a + n;
        take_pivot(x, pivots, n, k, NULL);
        take_pivot(x, pivots, n, k + 1, a);
        subtract(a, b, k + 1, n);
        for (size_t r = 0; r < n; r++)
            if (r != k && r != k + 1) subtract_two(x + r * n, a, b, k, n);
    }
    if (k < n) {
        take_pivot(x, pivots, n, k, NULL);
        for (size_t r = 0; r < n; r++)
            if (r != k) subtract(x + r * n, x + k * n, k, n);
    }
    for (k = n; k-- > 0;) /* exchanged rows are exchanged columns of the inverse */
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
