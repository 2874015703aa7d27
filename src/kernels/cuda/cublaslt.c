/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by cuBLASLt (device/cuda_blas.h). A row for each of its first algorithms, so that
 * the selection measures them; an activation follows in a kernel of its own, because the library's
 * ReLU drops NaN and its GELU is no erf. Where the library has no algorithm at all, the first row
 * runs our own kernels. */
#include <string.h>

#include "base/alloc.h"
#include "device/cuda_blas.h"
#include "kernels/cuda/matmul.h"

enum { WORKSPACE = 8 << 20, RANKS = 8 };

typedef struct params {
    cuda_matmul_params own;
    uint64_t version; /* of the library that ranked the algorithms */
    uint32_t rank;
} params;

typedef struct loaded {
    cuda_blas_product *product; /* NULL: `own` computes all */
    void *own, *activation;
} loaded;

/* ---- The problem ---------------------------------------------------------------------------- */

/* The stride of all leading axes together. False: they have several. */
static bool find_step(uint64_t *step, const matmul_shape *s, const uint64_t *strides)
{
    uint64_t wanted = 0;
    *step = 0;
    for (uint32_t d = s->batch_rank; d-- > 0;) {
        if (s->batch_shape[d] == 1) continue;
        if (!wanted) {
            *step = strides[d];
            wanted = extent_mul(strides[d], s->batch_shape[d]);
            if (!strides[d]) wanted = EXTENT_TOO_MUCH; /* all further strides must be 0, too */
            continue;
        }
        if (strides[d] != (*step ? wanted : 0)) return false;
        wanted = extent_mul(wanted, s->batch_shape[d]);
    }
    return true;
}

static bool has_shape(const matmul_shape *s)
{
    const uint64_t most = INT32_MAX;
    return s->m && s->n && s->k && s->batch && s->m <= most && s->n <= most && s->k <= most &&
           s->batch <= most && (s->bias == MATMUL_NO_BIAS || s->bias == MATMUL_BIAS_COLUMN) &&
           (s->bias == MATMUL_NO_BIAS || s->beta == 1) && (s->a_row == 1 || s->a_column == 1) &&
           (s->b_row == 1 || s->b_column == 1) && s->batch_rank <= MATMUL_MAX_BATCH_RANK;
}

static bool has_types(const cuda_matmul_params *p)
{
    return (p->out_type == p->type || p->out_type == PGY_F32) &&
           (!p->s.bias || p->bias_type == p->out_type) &&
           (!p->has_residual || p->residual_type == p->out_type);
}

static cuda_blas_type type_of(uint32_t dtype)
{
    return dtype == PGY_F16 ? CUDA_BLAS_F16 : dtype == PGY_BF16 ? CUDA_BLAS_BF16 : CUDA_BLAS_F32;
}

static bool cublaslt_describe(cuda_blas_shape *b, const cuda_matmul_params *p)
{
    const matmul_shape *s = &p->s;
    if (!has_shape(s) || !has_types(p)) return false;
    *b = (cuda_blas_shape){.type = type_of(p->type),
                           .out_type = type_of(p->out_type),
                           .m = s->m,
                           .n = s->n,
                           .k = s->k,
                           .batch = s->batch,
                           .a_turned = cuda_matmul_is_turned(s->a_row, s->a_column),
                           .b_turned = cuda_matmul_is_turned(s->b_row, s->b_column),
                           .alpha = s->alpha,
                           .bias = s->bias != MATMUL_NO_BIAS,
                           .residual = p->has_residual != 0,
                           .workspace_bytes = WORKSPACE};
    b->a_stride = b->a_turned ? s->a_column : s->a_row;
    b->b_stride = b->b_turned ? s->b_column : s->b_row;
    return b->a_stride >= (b->a_turned ? s->m : s->k) &&
           b->b_stride >= (b->b_turned ? s->k : s->n) && find_step(&b->a_batch, s, s->a_batch) &&
           find_step(&b->b_batch, s, s->b_batch);
}

static uint32_t rank_of(const kernel *self);

static bool cublaslt_accept(kernel_problem *u, double *cost_ns)
{
    cuda_matmul_params p;
    cuda_blas_shape b;
    size_t version;
    cuda_set_linear(u);
    if (!cuda_matmul_describe(&p, u) || !cublaslt_describe(&b, &p) ||
        cuda_blas_version(&version, NULL))
        return false;
    const double work = 2.0 * (double)p.s.m * (double)p.s.n * (double)p.s.k * (double)p.s.batch;
    const bool half = cuda_is_half((pgy_dtype)p.type);
    *cost_ns =
        cuda_cost(cuda_bytes(u), work / (half ? 4.5 : 2.5), half) * (1 + 0.01 * rank_of(u->self));
    if (p.s.activation) /* reads and writes the result once more */
        *cost_ns += cuda_cost(2 * (double)kernel_size_bytes(&u->outputs[0]), 0, false);
    return true;
}

static uint64_t workspace_of(const params *p)
{
    const uint64_t own = cuda_matmul_workspace(&p->own);
    return own > WORKSPACE ? own : WORKSPACE;
}

static pgy_status cublaslt_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    size_t version = 0;
    const pgy_status st = cuda_blas_version(&version, err);
    if (st) return st;
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)cuda_matmul_describe(&p->own, u); /* cannot fail after `accept` */
    p->version = version;
    p->rank = rank_of(u->self);
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .phases = 1,
                         .parts = 1,
                         .in_place = -1,
                         .workspace_bytes = workspace_of(p)};
    return PGY_OK;
}

static bool cublaslt_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    cuda_blas_shape b;
    if (!p || !extent_enum(e, p->rank, RANKS, "rank") || !cuda_matmul_reach(e, q, &p->own))
        return false;
    if (!cublaslt_describe(&b, &p->own)) return extent_refuse(e, "product");
    e->workspace = workspace_of(p);
    return true;
}

/* ---- Loading -------------------------------------------------------------------------------- */

static uint32_t pack_of(const cuda_matmul_params *p)
{
    const uint64_t count = extent_mul3(p->s.m, p->s.n, p->s.batch);
    return product_vector((pgy_dtype)p->out_type, &count, 1);
}

static pgy_status load_activation(void **out, const cuda_matmul_params *p, device *d,
                                  pgy_error *err)
{
    static const cuda_source SOURCE = {"activate", CUDA_SOURCE_activate, {"run"}};
    str defines = {0};
    cuda_define_int(&defines, "ACTIVATION", cuda_matmul_activation(p));
    cuda_define_int(&defines, "PACK", pack_of(p));
    cuda_define_type(&defines, "Y", (pgy_dtype)p->out_type);
    return cuda_load(out, d, &SOURCE, &defines, err);
}

/* Another version may rank its algorithms in another order, and so give other bits. */
static pgy_status check_version(const params *p, pgy_error *err)
{
    size_t version = 0;
    const pgy_status st = cuda_blas_version(&version, err);
    if (st || version == p->version) return st;
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "the plan was built with cuBLASLt %llu, this is cuBLASLt %zu; build it "
                         "again",
                         (unsigned long long)p->version, version);
}

static void unload(void *given)
{
    loaded *l = given;
    if (!l) return;
    cuda_blas_destroy(l->product);
    cuda_unload(l->own);
    cuda_unload(l->activation);
    mem_free(l);
}

static pgy_status fill_loaded(loaded *l, const params *p, device *d, pgy_error *err)
{
    cuda_blas_shape b;
    if (!cublaslt_describe(&b, &p->own))
        return pgy_error_set(err, PGY_E_INTERNAL, "the product is none of cuBLASLt");
    pgy_status st = cuda_blas_create(&l->product, d, &b, p->rank, err);
    if (st == PGY_E_UNSUPPORTED && !p->rank) return cuda_matmul_load(&l->own, &p->own, d, err);
    if (!st && p->own.s.activation) st = load_activation(&l->activation, &p->own, d, err);
    return st;
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    const params *p = plan->params;
    (void)self;
    pgy_status st = check_version(p, err);
    if (st) return st;
    loaded *l = mem_calloc(1, sizeof *l);
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    st = fill_loaded(l, p, d, err);
    if (st)
        unload(l);
    else
        *out = l;
    return st;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Arguments of the kernel in activate.cu: the same struct as there. */
typedef struct activation_call {
    uint64_t y, count;
    float first, second;
} activation_call;

static pgy_status enqueue_activation(const cuda_matmul_params *p, const cuda_loaded *l, void *y,
                                     device_stream *stream, pgy_error *err)
{
    activation_call c = {.y = (uint64_t)(uintptr_t)y,
                         .count = p->s.m * p->s.n * p->s.batch / pack_of(p)};
    return cuda_launch_for(stream, l->functions[0], c.count, CUDA_BLOCK, &c, err);
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const loaded *l = r->loaded;
    void *const *t = r->tensors;
    if (!l->product) return cuda_matmul_enqueue(&p->own, l->own, r, stream, err);
    const cuda_blas_operands o = {.a = t[0],
                                  .b = t[1],
                                  .bias = p->own.s.bias ? t[2] : NULL,
                                  .residual = p->own.has_residual ? t[3] : NULL,
                                  .c = t[p->own.inputs],
                                  .workspace = r->workspace};
    const pgy_status st = cuda_blas_enqueue(l->product, stream, &o, err);
    if (st || !l->activation) return st;
    return enqueue_activation(&p->own, l->activation, o.c, stream, err);
}

#define ROW(name_)                                                                         \
    {                                                                                      \
        .name = name_, .version = 1, .flags = KERNEL_HOLDS_NEXT,                           \
        .ops = "MatMul Gemm pgy:FusedMatMul com.microsoft:FusedMatMul", .device = "cuda",  \
        .accept = cublaslt_accept, .prepare = cublaslt_prepare, .extent = cublaslt_extent, \
        .load = load, .unload = unload, .enqueue = enqueue                                 \
    }
const kernel KERNELS_cuda_cublaslt[] = {
    ROW("cublaslt_0"), ROW("cublaslt_1"), ROW("cublaslt_2"),
    ROW("cublaslt_3"), ROW("cublaslt_4"), ROW("cublaslt_5"),
    ROW("cublaslt_6"), ROW("cublaslt_7"), {0},
};

static uint32_t rank_of(const kernel *self)
{
    return (uint32_t)(self - KERNELS_cuda_cublaslt);
}
