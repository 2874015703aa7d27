/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul of int32, uint32, int64 and uint64, modulo their size. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/target_avx512.h"
#include "kernels/walk.h"

/* batch: its strides count matrices of A and of B. */
typedef struct params {
    walk batch;
    uint64_t m, n, k;
    uint32_t level, item;
} params;

typedef void (*row_function)(void *y, const void *a, const void *b, size_t n, size_t k);

#define TARGET
#define T uint32_t
#define RUN row_u32_portable
#include "kernels/matmul_ints.inc"
#define T uint64_t
#define RUN row_u64_portable
#include "kernels/matmul_ints.inc"
#undef TARGET
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define T uint32_t
#define RUN row_u32_avx2
#include "kernels/matmul_ints.inc"
#define T uint64_t
#define RUN row_u64_avx2
#include "kernels/matmul_ints.inc"
#undef TARGET
#define TARGET TARGET_AVX512
#define T uint32_t
#define RUN row_u32_avx512
#include "kernels/matmul_ints.inc"
#define T uint64_t
#define RUN row_u64_avx512
#include "kernels/matmul_ints.inc"
#endif

static row_function find_row(const params *p)
{
    const bool wide = p->item == 8;
#if defined(__x86_64__)
    if (p->level >= CPU_AVX512) return wide ? row_u64_avx512 : row_u32_avx512;
    if (p->level >= CPU_AVX2) return wide ? row_u64_avx2 : row_u32_avx2;
#endif
    return wide ? row_u64_portable : row_u32_portable;
}

/* Finds the strides of the leading axes of an operand that broadcasts to `rank` axes. */
static void batch_strides(int64_t *strides, const kernel_tensor *t, int32_t rank)
{
    int64_t step = 1;
    for (int32_t d = rank - 1, from = t->rank - 3; d >= 0; d--, from--) {
        strides[d] = from < 0 || t->shape[from] == 1 ? 0 : step;
        if (from >= 0) step *= t->shape[from];
    }
}

static bool matmul_ints_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *a = &u->inputs[0], *b = &u->inputs[1], *y = &u->outputs[0];
    int64_t strides[2 * WALK_AXES];
    *p = (params){.level = u->self->needs};
    if (u->input_count != 2 || a->dtype != b->dtype || y->dtype != a->dtype) return false;
    if (a->dtype == PGY_I32 || a->dtype == PGY_U32)
        p->item = 4;
    else if (a->dtype == PGY_I64 || a->dtype == PGY_U64)
        p->item = 8;
    else
        return false;
    if (a->rank < 2 || b->rank < 2 || y->rank - 2 > WALK_AXES || !kernel_count(y) ||
        !kernel_count(a))
        return false;
    p->m = (uint64_t)a->shape[a->rank - 2];
    p->k = (uint64_t)a->shape[a->rank - 1];
    p->n = (uint64_t)b->shape[b->rank - 1];
    batch_strides(strides, a, y->rank - 2);
    batch_strides(strides + y->rank - 2, b, y->rank - 2);
    return walk_init_strided(&p->batch, y->shape, y->rank - 2, strides, 2);
}

static bool matmul_ints_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!matmul_ints_describe(&p, u)) return false;
    u->inputs[0].layout = u->inputs[1].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)kernel_count(&u->outputs[0]) * (double)p.k * u->self->rates[0] *
                         (p.item == 8 ? 4 : 1);
    return true;
}

static pgy_status matmul_ints_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)matmul_ints_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t rows = p->batch.count * p->m, worth = rows * p->n * p->k / 65536 + 1;
    out->parts = (uint32_t)(rows < worth ? rows : worth);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

static bool matmul_ints_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !walk_extent(e, &p->batch, false)) return false;
    if (p->batch.operands != 2 || q->input_count != 2)
        return extent_refuse(e, "number of operands");
    if (p->item != 4 && p->item != 8) return extent_refuse(e, "element type");
    if (!p->m || !p->n || !p->k) return extent_refuse(e, "shape");
    extent_tensor(e, 0, walk_reach(&p->batch, 0), extent_mul3(p->m, p->k, p->item));
    extent_tensor(e, 1, walk_reach(&p->batch, 1), extent_mul3(p->k, p->n, p->item));
    extent_tensor(e, 2, p->batch.count, extent_mul3(p->m, p->n, p->item));
    return true;
}

/* Finds the matrix of an operand in product `index`. */
static uint64_t find_matrix(const walk *w, uint32_t operand, uint64_t index)
{
    uint64_t at = 0;
    for (uint32_t d = w->rank; d-- > 0; index /= w->shape[d])
        at += index % w->shape[d] * w->strides[operand][d];
    return at;
}

static void matmul_ints_run(const kernel_run *r)
{
    const params *p = r->params;
    const row_function run = find_row(p);
    size_t from, to;
    kernel_share(&from, &to, p->batch.count * p->m, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t product = i / p->m, row = i % p->m;
        const uint64_t a = find_matrix(&p->batch, 0, product) * p->m + row;
        const uint64_t b = find_matrix(&p->batch, 1, product) * p->k;
        run((char *)r->tensors[2] + i * p->n * p->item,
            (const char *)r->tensors[0] + a * p->k * p->item,
            (const char *)r->tensors[1] + b * p->n * p->item, p->n, p->k);
    }
}

#define ROW(suffix, level, ns)                                                         \
    {                                                                                  \
        .name = "matmul_ints_" #suffix, .version = 1, .ops = "MatMul", .needs = level, \
        .rates = {ns}, .accept = matmul_ints_accept, .prepare = matmul_ints_prepare,   \
        .run = matmul_ints_run, .extent = matmul_ints_extent                           \
    }
const kernel KERNELS_matmul_ints[] = {
    ROW(portable, CPU_PORTABLE, 0.5),
    ROW(avx2, CPU_AVX2, 0.15),
    ROW(avx512, CPU_AVX512, 0.06),
    {0},
};
