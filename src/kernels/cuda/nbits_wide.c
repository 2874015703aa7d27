/* SPDX-License-Identifier: Apache-2.0 */
/* MatMulNBits with constant weights of 4 bits and many rows of 16-bit floats on CUDA devices: one
 * kernel makes 16-bit floats of the weights, in memory that other steps use, too, and a product of
 * packed B follows (boxed.c, matmul_piped.c). Tensor cores then do without the scales of blocks,
 * which cost nbits_tile.cu as much time as the products. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/boxed.h"
#include "kernels/cuda/matmul_packed.h"

enum { A, B, SCALES, ZEROS, GROUPS, BIAS };
enum { EIGHT = 8, LEAST_ROWS = 33, BLOCK = 256, PLACE = 64 };
enum { PRODUCT_BIAS = 2, PRODUCT_INPUTS = 3 }; /* of a Gemm */

extern const kernel KERNELS_cuda_matmul_piped[];

typedef struct params {
    uint64_t m, n, k, block, blocks; /* blocks of k that share a scale, and how many a row has */
    uint32_t type, scale_type, bias_type, out_type;
    uint32_t inputs, has_bias, has_zeros, unused;
} params;

typedef struct loaded {
    cuda_loaded *widen;
    boxed_loaded *boxed; /* NULL if `piped` is not */
    void *piped;
} loaded;

static const kernel *const PIPED = KERNELS_cuda_matmul_piped;

/* PIPED, or NULL: boxed.c with this tile computes the product of a row. */
static const kernel *product_of(const kernel *self, uint32_t *tile);

/* ---- Weights -------------------------------------------------------------------------------- */

/* Where the parts of packed weights lie, which are those of the model. */
typedef struct places {
    uint64_t scales, zeros, bytes;
} places;

static places places_of(const params *p)
{
    const uint64_t zero_pitch = p->blocks / 2 + p->blocks % 2;
    places at;
    at.scales = extent_round_up(extent_mul3(p->n, p->blocks, p->block / 2), PLACE);
    at.zeros = extent_add(
        at.scales,
        extent_round_up(extent_mul3(p->n, p->blocks, cuda_item((pgy_dtype)p->scale_type)), PLACE));
    at.bytes = extent_add(at.zeros,
                          p->has_zeros ? extent_round_up(extent_mul(p->n, zero_pitch), PLACE) : 0);
    return at;
}

/* Are the largest scales of all columns such that weights keep their precision in 16 bits? Scales
 * without their signs compare as integers do. */
static bool are_usual(const void *scales, const params *p)
{
    static const struct {
        pgy_dtype type;
        uint32_t least, most; /* 2^-17, 2^12 */
    } LIMITS[] = {
        {PGY_F16, 0x0080, 0x6c00}, {PGY_BF16, 0x3700, 0x4580}, {PGY_F32, 0x37000000, 0x45800000}};
    const uint16_t *half = scales;
    const uint32_t *whole = scales;
    size_t i = 0;
    while (LIMITS[i].type != (pgy_dtype)p->scale_type) i++;
    for (uint64_t n = 0; n < p->n; n++) {
        uint32_t most = 0;
        for (uint64_t b = n * p->blocks; b < (n + 1) * p->blocks; b++) {
            const uint32_t x =
                p->scale_type == PGY_F32 ? whole[b] & 0x7fffffff : half[b] & UINT32_C(0x7fff);
            most = x > most ? x : most;
        }
        if (most && (most < LIMITS[i].least || most > LIMITS[i].most)) return false;
    }
    return true;
}

/* ---- The problem ---------------------------------------------------------------------------- */

static bool has_sizes(const params *p)
{
    const uint64_t most = INT32_MAX / 2;
    return p->m >= LEAST_ROWS && p->n && p->k && p->m <= most && p->n <= most &&
           p->k <= most / EIGHT && p->k % EIGHT == 0 && p->block && p->block <= most &&
           p->block % EIGHT == 0 && p->blocks == p->k / p->block + (p->k % p->block != 0);
}

/* The product with the widened weights. */
static matmul_packed_params describe_product(const params *p, uint32_t tile)
{
    return (matmul_packed_params){
        .own = {.s = {.m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .a_row = p->k,
                      .a_column = 1,
                      .b_row = 1,
                      .b_column = p->k,
                      .batch = 1,
                      .alpha = 1,
                      .beta = 1,
                      .bias = p->has_bias ? MATMUL_BIAS_COLUMN : MATMUL_NO_BIAS},
                .type = p->type,
                .bias_type = p->bias_type,
                .residual_type = p->type,
                .out_type = p->out_type,
                .inputs = PRODUCT_INPUTS},
        .cut = packed_cut_of(tile, p->m, p->n, p->k, 1)};
}

/* Does the kernel of the product compute this one? */
static bool suits(const params *p, const kernel *product)
{
    return !product || (p->out_type == p->type && p->n % PACKED_VECTOR == 0 &&
                        (!p->has_bias || p->bias_type == p->type));
}

static bool has_types(const params *p)
{
    return cuda_is_half((pgy_dtype)p->type) && cuda_is_float((pgy_dtype)p->scale_type) &&
           cuda_is_float((pgy_dtype)p->bias_type) && cuda_is_float((pgy_dtype)p->out_type);
}

static bool is_constant(const kernel_tensor *t, pgy_dtype dtype, uint64_t count)
{
    return t->dtype == dtype && t->data && kernel_count(t) >= count;
}

static bool has(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype;
}

static bool nbits_wide_describe(params *p, const kernel_problem *u)
{
    const op_node *n = u->node;
    uint32_t tile;
    *p = (params){.n = (uint64_t)op_attr_int(n, "N", 0),
                  .k = (uint64_t)op_attr_int(n, "K", 0),
                  .block = (uint64_t)op_attr_int(n, "block_size", 0),
                  .type = u->inputs[A].dtype,
                  .scale_type = u->inputs[SCALES].dtype,
                  .bias_type = has(u, BIAS) ? u->inputs[BIAS].dtype : PGY_F32,
                  .out_type = u->outputs[0].dtype,
                  .inputs = (uint32_t)u->input_count,
                  .has_bias = has(u, BIAS),
                  .has_zeros = has(u, ZEROS)};
    if (op_attr_int(n, "bits", 4) != 4 || has(u, GROUPS) || !p->k || !p->block) return false;
    const uint64_t count = kernel_count(&u->inputs[A]);
    p->m = count / p->k;
    p->blocks = p->k / p->block + (p->k % p->block != 0);
    return count % p->k == 0 && has_sizes(p) && has_types(p) &&
           is_constant(&u->inputs[B], PGY_U8, p->n * p->blocks * p->block / 2) &&
           is_constant(&u->inputs[SCALES], (pgy_dtype)p->scale_type, p->n * p->blocks) &&
           (!p->has_zeros ||
            is_constant(&u->inputs[ZEROS], PGY_U8, p->n * ((p->blocks + 1) / 2))) &&
           (!p->has_bias || kernel_count(&u->inputs[BIAS]) == p->n) &&
           suits(p, product_of(u->self, &tile)) && are_usual(u->inputs[SCALES].data, p);
}

static bool nbits_wide_accept(kernel_problem *u, double *cost_ns)
{
    const double piped_rate = 4800 * 132, widened = 2500; /* flop and bytes per ns */
    params p;
    uint32_t tile;
    cuda_set_linear(u);
    if (!nbits_wide_describe(&p, u)) return false;
    const kernel *product = product_of(u->self, &tile);
    const matmul_packed_params own = describe_product(&p, tile);
    const double flop = 2.0 * (double)p.m * (double)p.n * (double)p.k;
    *cost_ns = product ? 2500 + flop / piped_rate : boxed_cost(u, &own.cut, p.m, p.n, p.k);
    *cost_ns += 1000 + 2.5 * (double)p.n * (double)p.k / widened;
    return product || boxed_is_useful(&own.cut);
}

static pgy_status nbits_wide_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)nbits_wide_describe(p, u); /* cannot fail after `accept` */
    const places at = places_of(p);
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .packed = mem_alloc_aligned(64, at.bytes),
                         .packed_bytes = at.bytes,
                         .packed_inputs = 1u << B | 1u << SCALES | (p->has_zeros ? 1u << ZEROS : 0),
                         .workspace_bytes = p->n * p->k * sizeof(uint16_t),
                         .phases = 1,
                         .parts = 1,
                         .in_place = -1};
    if (!out->packed) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    char *to = out->packed;
    memset(to, 0, at.bytes);
    memcpy(to, u->inputs[B].data, p->n * p->blocks * p->block / 2);
    memcpy(to + at.scales, u->inputs[SCALES].data,
           p->n * p->blocks * cuda_item((pgy_dtype)p->scale_type));
    if (p->has_zeros) memcpy(to + at.zeros, u->inputs[ZEROS].data, p->n * ((p->blocks + 1) / 2));
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool nbits_wide_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    uint32_t tile;
    if (!p) return false;
    if (p->inputs != q->input_count || p->has_bias > 1 || p->has_zeros > 1 || p->inputs < 3 ||
        (p->has_bias && p->inputs <= BIAS) || (p->has_zeros && p->inputs <= ZEROS))
        return extent_refuse(e, "number of inputs");
    if (!has_types(p)) return extent_refuse(e, "types");
    if (!has_sizes(p) || !suits(p, product_of(q->self, &tile))) return extent_refuse(e, "shape");
    extent_tensor(e, A, extent_mul(p->m, p->k), cuda_item((pgy_dtype)p->type));
    if (p->has_bias) extent_tensor(e, BIAS, p->n, cuda_item((pgy_dtype)p->bias_type));
    extent_tensor(e, p->inputs, extent_mul(p->m, p->n), cuda_item((pgy_dtype)p->out_type));
    e->packed = places_of(p).bytes;
    e->workspace = extent_mul3(p->n, p->k, sizeof(uint16_t));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static void unload(void *given)
{
    loaded *l = given;
    if (!l) return;
    cuda_unload(l->widen);
    boxed_unload(l->boxed);
    PIPED->unload(l->piped);
    mem_free(l);
}

static pgy_status load_widen(loaded *l, const params *p, device *d, pgy_error *err)
{
    static const cuda_source SOURCE = {"nbits_wide", CUDA_SOURCE_nbits_wide, {"run"}, {NULL}};
    str defines = {0};
    void *code = NULL;
    cuda_define_int(&defines, "ZEROS", p->has_zeros);
    cuda_define_type(&defines, "SCALE", (pgy_dtype)p->scale_type);
    cuda_define_type(&defines, "W", (pgy_dtype)p->type);
    const pgy_status st = cuda_load(&code, d, &SOURCE, &defines, err);
    l->widen = code;
    return st;
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    uint32_t tile;
    loaded *l = mem_calloc(1, sizeof *l);
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const kernel *product = product_of(self, &tile);
    matmul_packed_params own = describe_product(plan->params, tile);
    const kernel_plan inner = {.params = &own, .params_bytes = sizeof own};
    packed_kind kind = matmul_packed_kind(&own);
    kind.late = true;
    pgy_status st = load_widen(l, plan->params, d, err);
    if (!st && product) {
        st = product->load(&l->piped, product, &inner, d, err);
    } else if (!st) {
        void *boxed = NULL;
        st = boxed_load(&boxed, &kind, d, err);
        l->boxed = boxed;
    }
    if (st)
        unload(l);
    else
        *out = l;
    return st;
}

/* Arguments of nbits_wide.cu: the same struct as there. */
typedef struct wide_call {
    uint64_t codes, scales, zeros, w, rows;
    uint32_t pitch, blocks, zero_pitch, eights, block;
} wide_call;

static pgy_status widen(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const loaded *l = r->loaded;
    const places at = places_of(p);
    const uint64_t packed = (uint64_t)(uintptr_t)r->packed;
    wide_call c = {.codes = packed,
                   .scales = packed + at.scales,
                   .zeros = p->has_zeros ? packed + at.zeros : 0,
                   .w = (uint64_t)(uintptr_t)r->workspace,
                   .rows = p->n,
                   .pitch = (uint32_t)(p->blocks * p->block / EIGHT),
                   .blocks = (uint32_t)p->blocks,
                   .zero_pitch = (uint32_t)((p->blocks + 1) / 2),
                   .eights = (uint32_t)(p->k / EIGHT),
                   .block = (uint32_t)(p->block / EIGHT)};
    return cuda_launch_for(stream, l->widen->functions[0], p->n * c.eights, BLOCK, &c, err);
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const loaded *l = r->loaded;
    uint32_t tile;
    const kernel *product = product_of(r->self, &tile);
    matmul_packed_params own = describe_product(p, tile);
    void *tensors[PRODUCT_INPUTS + 1] = {r->tensors[A]};
    if (p->has_bias) tensors[PRODUCT_BIAS] = r->tensors[BIAS];
    tensors[PRODUCT_INPUTS] = r->tensors[p->inputs];
    kernel_run inner = *r;
    inner.self = product;
    inner.params = &own;
    inner.packed = r->workspace;
    inner.tensors = tensors;
    inner.workspace = NULL;
    inner.loaded = l->piped;
    const pgy_status st = widen(r, stream, err);
    if (st || product) return st ? st : product->enqueue(&inner, stream, err);
    boxed_call c = {.own = matmul_packed_call(&inner)};
    return boxed_launch_matrix(l->boxed, &own.cut, &c, (pgy_dtype)p->type, stream, err);
}

#define ROW(name_)                                                                      \
    {                                                                                   \
        .name = "nbits_wide_" name_, .version = 1, .ops = "com.microsoft:MatMulNBits",  \
        .device = "cuda", .accept = nbits_wide_accept, .prepare = nbits_wide_prepare,   \
        .extent = nbits_wide_extent, .load = load, .unload = unload, .enqueue = enqueue \
    }
const kernel KERNELS_cuda_nbits_wide[] = {
    ROW("piped"), ROW("128x128"), ROW("128x64"), ROW("64x64"), {0},
};

static const kernel *product_of(const kernel *self, uint32_t *tile)
{
    static const uint32_t TILES[] = {0, 0, 1, 2};
    const size_t i = (size_t)(self - KERNELS_cuda_nbits_wide);
    *tile = TILES[i];
    return i ? NULL : PIPED;
}
