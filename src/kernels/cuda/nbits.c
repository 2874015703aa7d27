/* SPDX-License-Identifier: Apache-2.0 */
/* MatMulNBits with constant weights of 4 bits on CUDA devices: few rows, which read weights as fast
 * as memory gives them, and tiles for many rows. X and results are 16-bit floats or float32. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/nbits.h"

enum { A, B, SCALES, ZEROS, GROUPS, BIAS };
enum {
    VECTOR = 8,
    STEP = 16,
    FEW_ROWS = 32,
    LEAST_ROWS = 8,
    WARPS = 8,
    THREADS = 256,
    MULTIPROCESSORS = 132
};
enum { MOST_SPLITS = 8, LEAST_GROUPS = 4 };

typedef cuda_nbits_params params;

/* What a block of threads computes at a time. */
typedef struct tile_shape {
    uint32_t n, m;   /* n: 16 for each of 8 warps */
    uint32_t stages; /* groups of k in shared memory at the same time */
    uint32_t blocks; /* that a multiprocessor shall run */
    double rate;     /* floating-point operations per ns and multiprocessor, for estimates */
} tile_shape;
static const tile_shape TILES[] = {
    {128, 128, 4, 1, 2600}, {128, 64, 4, 2, 2400}, {128, 32, 4, 2, 1400}};
enum { TILE_COUNT = sizeof TILES / sizeof *TILES };

/* How few rows of X are computed: blocks that shall have work, groups of k that are under way for a
 * thread at most, blocks that a multiprocessor shall run. */
typedef struct few_way {
    uint32_t wanted, batch, blocks;
} few_way;
static const few_way FEW[] = {{264, 8, 2}, {396, 4, 3}, {792, 4, 3}};

/* The tile of a row; from TILE_COUNT on the ways of few rows of X. */
static uint32_t tile_of(const kernel *self);

static bool is_few(const kernel *self)
{
    return tile_of(self) >= TILE_COUNT;
}

/* ---- The problem ---------------------------------------------------------------------------- */

static bool has(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype;
}

/* Is input i a constant of this type with at least `count` elements? */
static bool is_constant(const kernel_problem *u, size_t i, pgy_dtype dtype, uint64_t count)
{
    return u->inputs[i].dtype == dtype && u->inputs[i].data && kernel_count(&u->inputs[i]) >= count;
}

static bool read_zeros(params *p, const kernel_problem *u)
{
    if (!has(u, ZEROS)) return true;
    p->zeros = u->inputs[ZEROS].dtype == PGY_U8 ? NBITS_PACKED_ZEROS : NBITS_FLOAT_ZEROS;
    return p->zeros == NBITS_PACKED_ZEROS
               ? is_constant(u, ZEROS, PGY_U8, p->n * ((p->blocks + 1) / 2))
               : is_constant(u, ZEROS, (pgy_dtype)p->scale_type, p->n * p->blocks);
}

static bool has_sizes(const params *p, bool few)
{
    const uint64_t most = INT32_MAX / 2;
    if (!p->m || !p->n || !p->k || p->m > most || p->n > most || p->k > most / 8) return false;
    if (!p->block || p->block > most || p->blocks != (p->k + p->block - 1) / p->block) return false;
    return p->k % VECTOR == 0 && (p->blocks == 1 || p->block % STEP == 0) &&
           (few ? p->m <= FEW_ROWS : p->m > LEAST_ROWS);
}

static uint64_t ratio_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t blocks_of(const params *p, const tile_shape *t)
{
    return ratio_up(p->n, t->n) * ratio_up(p->m, t->m);
}

/* Blocks that share k, so that all multiprocessors have work. */
static uint32_t splits_of(const params *p, uint32_t tile)
{
    uint32_t splits = 1;
    if (tile >= TILE_COUNT) return 1;
    while (splits < MOST_SPLITS &&
           blocks_of(p, &TILES[tile]) * splits * 2 <= MULTIPROCESSORS * 3 / 2 &&
           nbits_groups(p) >= 2 * (uint64_t)splits * LEAST_GROUPS)
        splits *= 2;
    return splits;
}

static bool nbits_describe(params *p, const kernel_problem *u)
{
    const op_node *n = u->node;
    *p = (params){.n = (uint64_t)op_attr_int(n, "N", 0),
                  .k = (uint64_t)op_attr_int(n, "K", 0),
                  .block = (uint64_t)op_attr_int(n, "block_size", 0),
                  .type = u->inputs[A].dtype,
                  .scale_type = u->inputs[SCALES].dtype,
                  .bias_type = has(u, BIAS) ? u->inputs[BIAS].dtype : PGY_F32,
                  .out_type = u->outputs[0].dtype,
                  .inputs = (uint32_t)u->input_count,
                  .has_bias = has(u, BIAS)};
    if (op_attr_int(n, "bits", 4) != 4 || has(u, GROUPS) || !p->n || !p->k || !p->block)
        return false;
    if (!cuda_is_float((pgy_dtype)p->type) || !cuda_is_float((pgy_dtype)p->scale_type) ||
        !cuda_is_float((pgy_dtype)p->bias_type) || !cuda_is_float((pgy_dtype)p->out_type))
        return false;
    const uint64_t count = kernel_count(&u->inputs[A]);
    p->blocks = ratio_up(p->k, p->block);
    if (count % p->k || !is_constant(u, B, PGY_U8, p->n * p->blocks * p->block / 2) ||
        !is_constant(u, SCALES, (pgy_dtype)p->scale_type, p->n * p->blocks) || !read_zeros(p, u))
        return false;
    p->m = count / p->k;
    p->splits = splits_of(p, tile_of(u->self));
    p->few = is_few(u->self);
    return has_sizes(p, is_few(u->self)) &&
           (!p->has_bias || kernel_count(&u->inputs[BIAS]) == p->n);
}

static bool cuda_nbits_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    cuda_set_linear(u);
    if (!nbits_describe(&p, u)) return false;
    *cost_ns = cuda_cost(cuda_bytes(u), 0, true);
    if (is_few(u->self)) return true;
    const tile_shape *t = &TILES[tile_of(u->self)];
    const double waves = (double)ratio_up(blocks_of(&p, t) * p.splits, MULTIPROCESSORS),
                 each = 2.0 * t->m * t->n * (double)p.k / p.splits,
                 parts = p.type == PGY_F32 ? 3 : 1;
    const double computed = 2500 + waves * each * parts / t->rate;
    if (computed > *cost_ns) *cost_ns = computed;
    return true;
}

static pgy_status cuda_nbits_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)nbits_describe(p, u); /* cannot fail after `accept` */
    const cuda_nbits_weights w = {
        .codes = u->inputs[B].data,
        .scales = u->inputs[SCALES].data,
        .zeros = p->zeros == NBITS_PACKED_ZEROS ? u->inputs[ZEROS].data : NULL,
        .float_zeros = p->zeros == NBITS_FLOAT_ZEROS ? u->inputs[ZEROS].data : NULL};
    const uint64_t bytes = cuda_nbits_places(p).bytes;
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .packed = mem_alloc_aligned(64, bytes),
                         .packed_bytes = bytes,
                         .packed_inputs = 1u << B | 1u << SCALES | (p->zeros ? 1u << ZEROS : 0),
                         .phases = 1,
                         .parts = 1,
                         .in_place = -1};
    if (!out->packed) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    cuda_nbits_pack(out->packed, p, &w);
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool cuda_nbits_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->inputs != q->input_count || p->inputs < 3 || p->has_bias > 1 ||
        (p->has_bias && p->inputs <= BIAS) || (p->zeros && p->inputs <= ZEROS))
        return extent_refuse(e, "number of inputs");
    if (!cuda_is_float((pgy_dtype)p->type) || !cuda_is_float((pgy_dtype)p->scale_type) ||
        !cuda_is_float((pgy_dtype)p->bias_type) || !cuda_is_float((pgy_dtype)p->out_type))
        return extent_refuse(e, "types");
    if (!extent_enum(e, p->zeros, NBITS_FLOAT_ZEROS + 1, "zero points")) return false;
    if (!has_sizes(p, is_few(q->self))) return extent_refuse(e, "shape");
    if (p->few != is_few(q->self) || p->splits != splits_of(p, tile_of(q->self)))
        return extent_refuse(e, "parts");
    extent_tensor(e, A, extent_mul(p->m, p->k), cuda_item((pgy_dtype)p->type));
    if (p->has_bias) extent_tensor(e, BIAS, p->n, cuda_item((pgy_dtype)p->bias_type));
    extent_tensor(e, p->inputs, extent_mul(p->m, p->n), cuda_item((pgy_dtype)p->out_type));
    e->packed = cuda_nbits_places(p).bytes;
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* How nbits_few.cu divides the work: warps that share k of 16 columns, groups that are under way.
 */
typedef struct few_cut {
    uint32_t share, batch, ahead, eights;
} few_cut;

static few_cut few_cut_of(const params *p, const kernel *self)
{
    enum { LEAST = 2 };
    const few_way *way = &FEW[tile_of(self) - TILE_COUNT];
    const uint64_t groups = nbits_groups(p);
    const uint32_t parts = p->type == PGY_F32 ? 3 : 1;
    few_cut c = {.share = 1, .batch = 1, .ahead = 4, .eights = (uint32_t)ratio_up(p->m, 8)};
    while (c.share < WARPS && groups >= 2 * (uint64_t)c.share * LEAST &&
           ratio_up(nbits_tiles(p) * c.share, WARPS) < way->wanted)
        c.share *= 2;
    const uint64_t own = ratio_up(groups, c.share);
    const uint32_t most = c.eights * parts > 1 && way->batch > 4 ? way->batch / 2 : way->batch;
    while (c.batch < most && c.batch < own) c.batch *= 2;
    while (c.ahead > c.batch || (c.ahead > 1 && c.ahead * c.eights * parts > 16 / way->blocks / 2))
        c.ahead /= 2;
    return c;
}

static void define_few(str *defines, const params *p, const kernel *self)
{
    const few_cut c = few_cut_of(p, self);
    const uint32_t blocks = FEW[tile_of(self) - TILE_COUNT].blocks;
    cuda_define_int(defines, "ROWS", (int64_t)p->m);
    cuda_define_int(defines, "EIGHTS", c.eights);
    cuda_define_int(defines, "SHARE", c.share);
    cuda_define_int(defines, "BATCH", c.batch);
    cuda_define_int(defines, "AHEAD", c.ahead);
    cuda_define_int(defines, "BLOCKS", c.eights > 1 || p->type == PGY_F32 ? 2 : blocks);
}

static void define_tile(str *defines, const params *p, const tile_shape *t, uint32_t splits)
{
    cuda_define_int(defines, "BM", t->m);
    cuda_define_int(defines, "BN", t->n);
    cuda_define_int(defines, "STAGES", p->type == PGY_F32 ? 2 : t->stages);
    cuda_define_int(defines, "BLOCKS", t->blocks);
    cuda_define_int(defines, "SPLITS", splits);
    cuda_define_int(defines, "VECTOR", p->n % VECTOR == 0);
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    static const cuda_source ROWS = {"nbits_few",
                                     CUDA_SOURCE_nbits_few,
                                     {"run"},
                                     {CUDA_SOURCE_mma, CUDA_SOURCE_nbits}},
                             TILE = {"nbits_tile",
                                     CUDA_SOURCE_nbits_tile,
                                     {"run"},
                                     {CUDA_SOURCE_mma, CUDA_SOURCE_groups, CUDA_SOURCE_nbits}};
    const params *p = plan->params;
    const bool whole = p->type == PGY_F32;
    str defines = {0};
    cuda_define_int(&defines, "TENSOR", p->type == PGY_F16 ? 1 : 2);
    cuda_define_int(&defines, "PARTS", whole ? 3 : 1);
    cuda_define_int(&defines, "SUB", cuda_nbits_sub(p));
    cuda_define_int(&defines, "SPAN", (int64_t)cuda_nbits_span(p));
    cuda_define_int(&defines, "ZEROS", p->zeros);
    cuda_define_int(&defines, "BIASED", p->has_bias);
    cuda_define_int(&defines, "SCALE_WORDS", p->scale_type == PGY_F32 ? 2 : 1);
    cuda_define_type(&defines, "IN", (pgy_dtype)p->type);
    cuda_define_type(&defines, "X", whole ? PGY_BF16 : (pgy_dtype)p->type);
    cuda_define_type(&defines, "SCALE", (pgy_dtype)p->scale_type);
    cuda_define_type(&defines, "BIAS", (pgy_dtype)p->bias_type);
    cuda_define_type(&defines, "Y", (pgy_dtype)p->out_type);
    if (is_few(self))
        define_few(&defines, p, self);
    else
        define_tile(&defines, p, &TILES[tile_of(self)], cuda_has_clusters(d) ? p->splits : 1);
    return cuda_load(out, d, is_few(self) ? &ROWS : &TILE, &defines, err);
}

/* Arguments of the kernels: the same struct as in nbits.cu. */
typedef struct nbits_call {
    uint64_t x, codes, scales, zeros, bias, y;
    uint32_t m, n, k, tiles, groups, blocks;
} nbits_call;

static uint32_t room_of(const params *p, const tile_shape *t)
{
    const bool whole = p->type == PGY_F32;
    const uint32_t stages = (whole ? 2 * 3 : t->stages) * t->m * NBITS_GROUP * 2,
                   sums = t->m * (t->n + 4) * (uint32_t)sizeof(float);
    return (stages > sums ? stages : sums) + 1024; /* stages begin at a multiple of 1024 */
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const cuda_loaded *l = r->loaded;
    const uint64_t packed = (uint64_t)(uintptr_t)r->packed;
    const nbits_places at = cuda_nbits_places(p);
    nbits_call c = {.x = (uint64_t)(uintptr_t)r->tensors[A],
                    .codes = packed,
                    .scales = packed + at.scales,
                    .zeros = packed + at.zeros,
                    .bias = p->has_bias ? (uint64_t)(uintptr_t)r->tensors[BIAS] : 0,
                    .y = (uint64_t)(uintptr_t)r->tensors[p->inputs],
                    .m = (uint32_t)p->m,
                    .n = (uint32_t)p->n,
                    .k = (uint32_t)p->k,
                    .tiles = (uint32_t)nbits_tiles(p),
                    .groups = (uint32_t)nbits_groups(p),
                    .blocks = (uint32_t)cuda_nbits_blocks(p)};
    if (is_few(r->self))
        return cuda_launch_blocks(stream, l->functions[0],
                                  ratio_up(nbits_tiles(p) * few_cut_of(p, r->self).share, WARPS),
                                  THREADS, &c, err);
    const tile_shape *t = &TILES[tile_of(r->self)];
    const uint32_t splits = cuda_has_clusters(stream->device) ? p->splits : 1;
    return cuda_launch_shared(stream, l->functions[0], blocks_of(p, t) * splits, THREADS,
                              room_of(p, t), &c, err);
}

#define ROW(name_)                                                                           \
    {                                                                                        \
        .name = "nbits_" name_, .version = 1, .ops = "com.microsoft:MatMulNBits",            \
        .device = "cuda", .accept = cuda_nbits_accept, .prepare = cuda_nbits_prepare,        \
        .extent = cuda_nbits_extent, .load = load, .unload = cuda_unload, .enqueue = enqueue \
    }
const kernel KERNELS_cuda_nbits[] = {
    ROW("128x128"), ROW("128x64"), ROW("128x32"), ROW("few"), ROW("few_396"), ROW("few_792"), {0},
};

static uint32_t tile_of(const kernel *self)
{
    return (uint32_t)(self - KERNELS_cuda_nbits);
}
