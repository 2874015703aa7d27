/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of few rows of 16-bit floats with constant B on CUDA devices, as in decoding. B
 * is packed to [n][k] when the plan is made, unless it lies so already. Rows may be normalised
 * first (NormalisedMatMul of pgy). */
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/matmul.h"

enum { MOST_ROWS = 8, PACK = 8, WARP_STEP = 32 * PACK, WARPS = 8, THREADS = 256, SQUARE = 64 };

/* MOST_NORMED: elements of all normalised rows, which are in shared memory. */
enum { MOST_NORMED = 8192, SCALE = 4, SHIFT = 5 };

typedef struct few_params {
    cuda_matmul_params m;
    uint32_t normed, rooted, shifted;
    float epsilon;
} few_params;

/* How few.cu divides the work: columns of a warp, and warps that share k. */
typedef struct few_cut {
    uint32_t columns, share, batch;
} few_cut;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool is_turned(const matmul_shape *s)
{
    return cuda_matmul_is_turned(s->b_row, s->b_column) && s->b_column % PACK == 0;
}

static bool has_shape(const cuda_matmul_params *p)
{
    const matmul_shape *s = &p->s;
    return cuda_is_half((pgy_dtype)p->type) && s->batch == 1 && s->a_column == 1 && s->m &&
           s->m <= MOST_ROWS && (s->m == 1 || s->a_row % PACK == 0) && s->k % PACK == 0 && s->k &&
           s->n && s->n <= INT32_MAX / MOST_ROWS && s->k <= INT32_MAX / 2;
}

static uint64_t ratio_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Many columns: more for a warp, which then reads X less often. Few columns: warps share k, so that
 * there are blocks for all multiprocessors. */
static few_cut cut_of(const matmul_shape *s)
{
    enum { WANTED_BLOCKS = 264, MANY = 16384, LEAST_STEPS = 2, UNDER_WAY = 8 };
    const uint64_t steps = ratio_up(s->k, WARP_STEP);
    few_cut c = {.columns = s->n < MANY ? 1 : s->n < 2 * MANY || s->m > 2 ? 2 : 4, .share = 1};
    while (c.share < WARPS && ratio_up(s->n, WARPS / c.share * c.columns) < WANTED_BLOCKS &&
           steps >= 2 * (uint64_t)c.share * LEAST_STEPS)
        c.share *= 2;
    const uint64_t own = ratio_up(steps, c.share), most = UNDER_WAY / c.columns;
    c.batch = (uint32_t)(own < most ? own : most);
    return c;
}

/* For parameters that has_shape accepts. */
static bool can_normalise(const few_params *p)
{
    if (!p->normed) return !p->rooted && !p->shifted;
    return p->normed == 1 && p->rooted <= 1 && p->shifted <= 1 &&
           p->m.s.m * p->m.s.k <= MOST_NORMED;
}

static bool read_norm(few_params *p, const kernel_problem *u)
{
    p->normed = 1;
    p->rooted = op_attr_int(u->node, "root", 0) != 0;
    p->shifted = u->input_count > SHIFT && u->inputs[SHIFT].dtype;
    p->epsilon = (float)op_attr_float(u->node, "epsilon", 1e-5);
    return u->inputs[SCALE].dtype == p->m.type &&
           (!p->shifted || u->inputs[SHIFT].dtype == p->m.type) && can_normalise(p);
}

static bool few_describe(few_params *p, const kernel_problem *u)
{
    memset(p, 0, sizeof *p);
    if (u->input_count < 2 || !u->inputs[1].data || !cuda_matmul_describe(&p->m, u) ||
        !has_shape(&p->m))
        return false;
    return strcmp(u->node->def->name, "NormalisedMatMul") != 0 || read_norm(p, u);
}

static bool matmul_few_accept(kernel_problem *u, double *cost_ns)
{
    few_params p;
    cuda_set_linear(u);
    if (!few_describe(&p, u)) return false;
    *cost_ns = cuda_cost(cuda_bytes(u), 0, false);
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* To [n][k], in squares that stay in the cache. */
static void pack_b(uint16_t *to, const uint16_t *from, const matmul_shape *s)
{
    for (uint64_t n0 = 0; n0 < s->n; n0 += SQUARE)
        for (uint64_t k0 = 0; k0 < s->k; k0 += SQUARE)
            for (uint64_t n = n0; n < least(n0 + SQUARE, s->n); n++)
                for (uint64_t k = k0; k < least(k0 + SQUARE, s->k); k++)
                    to[n * s->k + k] = from[k * s->b_row + n * s->b_column];
}

static pgy_status matmul_few_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    few_params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)few_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    if (is_turned(&p->m.s)) return PGY_OK;
    out->packed_bytes = p->m.s.n * p->m.s.k * sizeof(uint16_t);
    out->packed_inputs = 2;
    out->packed = mem_alloc_aligned(64, out->packed_bytes);
    if (!out->packed) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    pack_b(out->packed, u->inputs[1].data, &p->m.s);
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool matmul_few_extent(kernel_extent *e, const kernel_claim *q)
{
    const few_params *p = extent_params(e, q, sizeof *p);
    if (!p || !cuda_matmul_reach(e, q, &p->m)) return false;
    const matmul_shape *s = &p->m.s;
    if (!has_shape(&p->m)) return extent_refuse(e, "product");
    if (!can_normalise(p)) return extent_refuse(e, "normalisation");
    if (p->normed && p->m.inputs <= SCALE + p->shifted) return extent_refuse(e, "number of inputs");
    if (p->normed) extent_tensor(e, SCALE, s->k, sizeof(uint16_t));
    if (p->normed && p->shifted) extent_tensor(e, SHIFT, s->k, sizeof(uint16_t));
    e->workspace = 0;
    if (is_turned(s)) return true;
    e->tensors[1] = 0;
    e->packed = extent_mul3(s->n, s->k, sizeof(uint16_t));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    static const cuda_source SOURCE = {"few", CUDA_SOURCE_few, {"run"}};
    const few_params *few = plan->params;
    const cuda_matmul_params *p = &few->m;
    const few_cut c = cut_of(&p->s);
    str defines = {0};
    (void)self;
    cuda_define_int(&defines, "NORMED", few->normed);
    cuda_define_int(&defines, "ROOTED", few->rooted);
    cuda_define_int(&defines, "SHIFTED", few->shifted);
    cuda_define_int(&defines, "LENGTH", (int64_t)p->s.k);
    cuda_define_int(&defines, "THREADS", THREADS);
    cuda_define_int(&defines, "ROWS", (int64_t)p->s.m);
    cuda_define_int(&defines, "COLUMNS", c.columns);
    cuda_define_int(&defines, "SHARE", c.share);
    cuda_define_int(&defines, "BATCH", c.batch);
    cuda_define_int(&defines, "BLOCKS", p->s.m <= 2 ? 4 : 2);
    cuda_define_int(&defines, "ACTIVATION", cuda_matmul_activation(p));
    cuda_define_int(&defines, "BIASED", p->s.bias);
    cuda_define_int(&defines, "ADDED", p->has_residual);
    cuda_define_type(&defines, "X", (pgy_dtype)p->type);
    cuda_define_type(&defines, "BIAS", (pgy_dtype)p->bias_type);
    cuda_define_type(&defines, "RESIDUAL", (pgy_dtype)p->residual_type);
    cuda_define_type(&defines, "Y", (pgy_dtype)p->out_type);
    return cuda_load(out, d, &SOURCE, &defines, err);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* Arguments of the kernel in few.cu: the same struct as there. */
typedef struct few_call {
    uint64_t x, w, bias, residual, y, x_row, w_row;
    uint32_t n, k;
    float alpha, beta, first, second;
    uint64_t scale, shift;
    float epsilon;
} few_call;

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const few_params *few = r->params;
    const cuda_matmul_params *p = &few->m;
    const matmul_shape *s = &p->s;
    const cuda_loaded *l = r->loaded;
    const few_cut cut = cut_of(s);
    const bool turned = is_turned(s);
    few_call c = {.x = address(r->tensors[0]),
                  .w = address(turned ? r->tensors[1] : r->packed),
                  .bias = s->bias ? address(r->tensors[2]) : 0,
                  .residual = p->has_residual ? address(r->tensors[3]) : 0,
                  .y = address(r->tensors[p->inputs]),
                  .x_row = s->a_row,
                  .w_row = turned ? s->b_column : s->k,
                  .n = (uint32_t)s->n,
                  .k = (uint32_t)s->k,
                  .alpha = s->alpha,
                  .beta = s->beta,
                  .scale = few->normed ? address(r->tensors[SCALE]) : 0,
                  .shift = few->shifted ? address(r->tensors[SHIFT]) : 0,
                  .epsilon = few->epsilon};
    return cuda_launch_blocks(stream, l->functions[0],
                              ratio_up(s->n, WARPS / cut.share * cut.columns), THREADS, &c, err);
}

const kernel KERNELS_cuda_matmul_few[] = {
    {.name = "matmul_few",
     .version = 2,
     .ops = "MatMul Gemm pgy:FusedMatMul com.microsoft:FusedMatMul pgy:NormalisedMatMul",
     .device = "cuda",
     .accept = matmul_few_accept,
     .prepare = matmul_few_prepare,
     .extent = matmul_few_extent,
     .load = load,
     .unload = cuda_unload,
     .enqueue = enqueue},
    {0},
};
