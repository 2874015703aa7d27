/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by cuBLASLt. The library sees column-major matrices: a row-major C = A B is its
 * C' = B' A', so its first operand is our B. */
#include "device/cuda/cublaslt.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/dl.h"
#include "device/cuda/gpu.h"
#include "device/cuda/libraries.h"
#include "device/cuda_blas.h"

enum { MOST_ALGORITHMS = 32, ALIGNMENT = 16 };

struct cuda_blas_product {
    const cuda_cublaslt *lt;
    cuda_gpu *gpu;
    cuda_blas_shape s;
    lt_desc desc;
    lt_layout first, second, out; /* of our B, A and C */
    lt_algorithm algorithm;
    size_t workspace_bytes;
};

/* ---- The library ---------------------------------------------------------------------------- */

static cuda_cublaslt library;
static pgy_status opened;
static pgy_error why;

static void open_once(void)
{
    static const char *const NAMES[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    const dl_symbol symbols[] = {
#define X(member, symbol, result, arguments) {symbol, (void **)(void *)&library.member, true},
#include "device/cuda/cublaslt.def"
#undef X
    };
    void *handle = NULL;
    opened = cuda_library_open(&handle, NAMES, &why);
    if (!opened) opened = dl_resolve(handle, symbols, sizeof symbols / sizeof *symbols, &why);
}

pgy_status cuda_cublaslt_open(const cuda_cublaslt **out, pgy_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_once);
    if (opened) return pgy_error_set(err, opened, "cuBLASLt: %s", why.text);
    *out = &library;
    return PGY_OK;
}

pgy_status cuda_blas_version(size_t *out, pgy_error *err)
{
    const cuda_cublaslt *lt = NULL;
    const pgy_status st = cuda_cublaslt_open(&lt, err);
    if (!st) *out = lt->version();
    return st;
}

static pgy_status check(const cuda_gpu *g, int status, const char *doing, pgy_error *err)
{
    if (!status) return PGY_OK;
    return pgy_error_set(err, PGY_E_DEVICE, "device '%s': cuBLASLt failed while %s (status %d)",
                         g->name, doing, status);
}

/* One handle for each GPU, kept until the process ends, as its context is. */
static pgy_status handle_of(lt_handle *out, const cuda_cublaslt *lt, cuda_gpu *g, pgy_error *err)
{
    lt_handle made = NULL;
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&g->lock);
    if (!g->blas) {
        st = check(g, lt->create(&made), "starting", err);
        if (!st) g->blas = made;
    }
    *out = g->blas;
    pthread_mutex_unlock(&g->lock);
    return st;
}

/* ---- A problem ------------------------------------------------------------------------------ */

static int type_of(cuda_blas_type type)
{
    return type == CUDA_BLAS_F16 ? LT_R_16F : type == CUDA_BLAS_BF16 ? LT_R_16BF : LT_R_32F;
}

static int make_layout(lt_layout *out, const cuda_cublaslt *lt, cuda_blas_type type, uint64_t rows,
                       uint64_t columns, uint64_t stride, const cuda_blas_shape *s, uint64_t batch)
{
    const int32_t count = (int32_t)s->batch;
    const int64_t step = (int64_t)batch;
    int code = lt->layout_create(out, type_of(type), rows, columns, (int64_t)stride);
    if (code || s->batch == 1) return code;
    code = lt->layout_set(*out, LT_LAYOUT_BATCH_COUNT, &count, sizeof count);
    return code ? code : lt->layout_set(*out, LT_LAYOUT_BATCH_STRIDE, &step, sizeof step);
}

static int make_layouts(cuda_blas_product *p)
{
    const cuda_blas_shape *s = &p->s;
    int code = make_layout(&p->first, p->lt, s->type, s->b_turned ? s->k : s->n,
                           s->b_turned ? s->n : s->k, s->b_stride, s, s->b_batch);
    if (!code)
        code = make_layout(&p->second, p->lt, s->type, s->a_turned ? s->m : s->k,
                           s->a_turned ? s->k : s->m, s->a_stride, s, s->a_batch);
    if (!code) code = make_layout(&p->out, p->lt, s->out_type, s->n, s->m, s->n, s, s->m * s->n);
    return code;
}

static int make_desc(cuda_blas_product *p)
{
    const cuda_blas_shape *s = &p->s;
    const int32_t turns[] = {s->b_turned, s->a_turned}, bias_type = type_of(s->out_type);
    const uint32_t epilogue = s->bias ? LT_EPILOGUE_BIAS : LT_EPILOGUE_NONE;
    const void *somewhere = (const void *)(uintptr_t)256; /* the ranking looks at its alignment */
    int code = p->lt->desc_create(&p->desc, LT_COMPUTE_32F, LT_R_32F);
    for (int i = 0; !code && i < 2; i++)
        code = p->lt->desc_set(p->desc, LT_DESC_TRANSPOSE_A + i, &turns[i], sizeof turns[i]);
    if (!code) code = p->lt->desc_set(p->desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (code || !s->bias) return code;
    code = p->lt->desc_set(p->desc, LT_DESC_BIAS_TYPE, &bias_type, sizeof bias_type);
    if (code) return code;
    return p->lt->desc_set(p->desc, LT_DESC_BIAS_POINTER, &somewhere, sizeof somewhere);
}

/* Sums in the type of C would lose digits: parts of k are added in float32 only. */
static int set_preference(const cuda_cublaslt *lt, lt_preference preference,
                          const cuda_blas_shape *s)
{
    const uint64_t bytes = s->workspace_bytes;
    const uint32_t reductions = LT_REDUCE_COMPUTE_TYPE, alignment = ALIGNMENT;
    int code = lt->preference_set(preference, LT_PREFERENCE_WORKSPACE, &bytes, sizeof bytes);
    if (!code)
        code = lt->preference_set(preference, LT_PREFERENCE_REDUCTIONS, &reductions,
                                  sizeof reductions);
    for (int i = 0; !code && i < 4; i++)
        code = lt->preference_set(preference, LT_PREFERENCE_ALIGNMENT_A + i, &alignment,
                                  sizeof alignment);
    return code;
}

/* Takes the algorithm of this rank among those that work. */
static pgy_status choose(cuda_blas_product *p, lt_handle handle, uint32_t rank, pgy_error *err)
{
    lt_found found[MOST_ALGORITHMS] = {{{{0}}}};
    lt_preference preference = NULL;
    int count = 0;
    int code = p->lt->preference_create(&preference);
    if (!code) code = set_preference(p->lt, preference, &p->s);
    if (!code)
        code = p->lt->heuristic(handle, p->desc, p->first, p->second, p->out, p->out, preference,
                                MOST_ALGORITHMS, found, &count);
    if (preference) (void)p->lt->preference_destroy(preference);
    for (int i = 0; !code && i < count; i++) {
        if (found[i].state || found[i].workspace_bytes > p->s.workspace_bytes) continue;
        if (rank--) continue;
        p->algorithm = found[i].algorithm;
        p->workspace_bytes = found[i].workspace_bytes;
        return PGY_OK;
    }
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "cuBLASLt has no further algorithm for this product (status %d)", code);
}

static pgy_status create(cuda_blas_product *p, uint32_t rank, pgy_error *err)
{
    lt_handle handle = NULL;
    pgy_status st = gpu_enter(p->gpu, err);
    if (st) return st;
    st = handle_of(&handle, p->lt, p->gpu, err);
    if (!st) st = check(p->gpu, make_layouts(p), "describing matrices", err);
    if (!st) st = check(p->gpu, make_desc(p), "describing a product", err);
    if (!st) st = choose(p, handle, rank, err);
    gpu_leave(p->gpu);
    return st;
}

pgy_status cuda_blas_create(cuda_blas_product **out, device *d, const cuda_blas_shape *s,
                            uint32_t rank, pgy_error *err)
{
    const cuda_cublaslt *lt = NULL;
    pgy_status st = cuda_cublaslt_open(&lt, err);
    if (st) return st;
    cuda_blas_product *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *p = (cuda_blas_product){.lt = lt, .gpu = gpu_of(d), .s = *s};
    st = create(p, rank, err);
    if (st)
        cuda_blas_destroy(p);
    else
        *out = p;
    return st;
}

void cuda_blas_destroy(cuda_blas_product *p)
{
    if (!p) return;
    if (p->desc) (void)p->lt->desc_destroy(p->desc);
    if (p->first) (void)p->lt->layout_destroy(p->first);
    if (p->second) (void)p->lt->layout_destroy(p->second);
    if (p->out) (void)p->lt->layout_destroy(p->out);
    mem_free(p);
}

pgy_status cuda_blas_enqueue(cuda_blas_product *p, device_stream *stream,
                             const cuda_blas_operands *o, pgy_error *err)
{
    const float beta = p->s.residual ? 1 : 0;
    const void *c = p->s.residual ? o->residual : o->c;
    pgy_status st = gpu_enter(p->gpu, err);
    if (st) return st;
    int code = 0;
    if (p->s.bias) code = p->lt->desc_set(p->desc, LT_DESC_BIAS_POINTER, &o->bias, sizeof o->bias);
    if (!code)
        code = p->lt->matmul(p->gpu->blas, p->desc, &p->s.alpha, o->b, p->first, o->a, p->second,
                             &beta, c, p->out, o->c, p->out, &p->algorithm, o->workspace,
                             p->workspace_bytes, cuda_stream_handle(stream));
    st = check(p->gpu, code, "enqueueing a product", err);
    gpu_leave(p->gpu);
    return st;
}
