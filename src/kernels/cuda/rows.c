/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA kernels in which a block of threads computes a row: Softmax, normalisations, reductions. The
 * structs match those in rows.cu and layer_norm.cu. */
#include <string.h>

#include "kernels/cuda/adapted.h"
#include "kernels/shared_params.h"

extern const kernel KERNELS_softmax[], KERNELS_norm[], KERNELS_reduce[];

enum { MOST_BLOCKS = 1 << 20, FEW = 64 };

static uint64_t address(const kernel_run *r, uint32_t i)
{
    return i == NORM_NO_TENSOR ? 0 : (uint64_t)(uintptr_t)r->tensors[i];
}

static void define_operand(str *out, const char *name, const adapted_params *a, uint32_t i)
{
    cuda_define_type(out, name, i < KERNEL_TENSORS ? (pgy_dtype)a->types[i] : PGY_DTYPE_NONE);
}

/* Threads of a block that computes rows of `length` elements. */
static uint32_t threads_for(uint64_t length)
{
    return length <= 256 ? 64 : length <= 1024 ? 128 : length <= 4096 ? 256 : 512;
}

static uint64_t blocks_for(uint64_t rows)
{
    return rows < MOST_BLOCKS ? rows : MOST_BLOCKS;
}

/* ---- Softmax -------------------------------------------------------------------------------- */

typedef struct softmax {
    uint64_t x, y, rows, length, inner;
} softmax;

static void load_softmax(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    const softmax_params *p = inner;
    *s = (cuda_source){.name = "rows", .text = CUDA_SOURCE_rows, .entries = {"run"}};
    cuda_define_int(defines, "THREADS", threads_for(p->length));
    cuda_define_int(defines, "SOFTMAX", p->logarithm ? 2 : 1);
    define_operand(defines, "X", a, 0);
    define_operand(defines, "Y", a, 1);
}

static pgy_status launch_softmax(const adapted_run *r, pgy_error *err)
{
    const softmax_params *p = r->inner;
    softmax s = {.x = address(r->run, 0),
                 .y = address(r->run, 1),
                 .rows = p->outer * p->inner,
                 .length = p->length,
                 .inner = p->inner};
    return cuda_launch_blocks(r->stream, r->loaded->functions[0], blocks_for(s.rows),
                              threads_for(p->length), &s, err);
}

const adapted_family ADAPTED_SOFTMAX = {
    .inner = &KERNELS_softmax[0], .load = load_softmax, .launch = launch_softmax};

/* ---- Normalisations ------------------------------------------------------------------------- */

typedef struct layer {
    uint64_t x, skip, extra, scale, bias, y, mean, factor, sum;
    uint64_t rows, length, skip_count;
    float epsilon;
    uint32_t root;
} layer;

typedef struct planes {
    uint64_t x, scale, bias, mean, variance, y;
    uint64_t rows, length, plane, groups;
    float epsilon;
} planes;

static bool is_layer(const norm_params *p)
{
    return p->kind == NORM_LAYER || p->kind == NORM_ROOT;
}

/* Elements that a thread of a layer normalisation takes at once. */
static uint32_t layer_vector(const norm_params *p)
{
    uint32_t vector = 8;
    while (p->length % vector || (p->skip_count && p->skip_count % vector)) vector /= 2;
    return vector;
}

/* Elements of one channel that a thread takes at once: 16 bytes of half, as long as a channel's are
 * a multiple. */
static uint32_t plane_vector(const norm_params *p)
{
    uint32_t vector = p->kind == NORM_LP || p->kind == NORM_BATCH || !p->plane ? 1 : 8;
    while (vector > 1 && (p->plane % vector || p->length % vector)) vector /= 2;
    return vector;
}

/* Does a warp compute a row of a layer normalisation? Rows must suffice for all multiprocessors,
 * and fit into the registers of a warp. */
static bool is_warped(const norm_params *p)
{
    enum { MANY_ROWS = 1024, LONGEST = 2048 };
    return is_layer(p) && layer_vector(p) == 8 && p->rows >= MANY_ROWS && p->length <= LONGEST;
}

/* Few long rows, as of a group normalisation, get the largest blocks. */
static uint32_t norm_threads(const norm_params *p)
{
    enum { FEW_ROWS = 264, LONG = 8192 };
    if (is_warped(p)) return 128;
    if (!is_layer(p) && p->rows <= FEW_ROWS && p->length >= LONG) return 1024;
    return threads_for(is_layer(p) ? p->length / layer_vector(p) * 4 : p->length);
}

/* Packs of a row that a thread keeps in registers. */
static uint32_t norm_kept(const norm_params *p)
{
    const uint32_t vector = is_layer(p) ? layer_vector(p) : plane_vector(p);
    const uint64_t packs = p->length / vector, line = is_warped(p) ? 32 : norm_threads(p),
                   each = packs ? (packs + line - 1) / line : 1,
                   most = is_warped(p) ? 8 : 8 / vector + 2;
    return (uint32_t)(each < most ? each : most);
}

/* Blocks of warps with rows that a multiprocessor runs at the same time, by their registers. */
static uint32_t warped_blocks(const norm_params *p)
{
    static const uint32_t BLOCKS[] = {8, 8, 7, 7, 5};
    const uint32_t kept = norm_kept(p);
    return kept < sizeof BLOCKS / sizeof *BLOCKS ? BLOCKS[kept] : 3;
}

static uint64_t norm_blocks(const norm_params *p)
{
    enum { MULTIPROCESSORS = 132 };
    const uint64_t lines = norm_threads(p) / 32, blocks = (p->rows + lines - 1) / lines,
                   at_once = (uint64_t)MULTIPROCESSORS * warped_blocks(p);
    return !is_warped(p) ? blocks_for(p->rows) : blocks < at_once ? blocks : at_once;
}

static void load_norm(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    const norm_params *p = inner;
    *s = (cuda_source){.name = is_layer(p) ? "layer_norm" : "rows",
                       .text = is_layer(p) ? CUDA_SOURCE_layer_norm : CUDA_SOURCE_rows,
                       .entries = {"run"}};
    cuda_define_int(defines, "THREADS", norm_threads(p));
    define_operand(defines, "X", a, 0);
    define_operand(defines, "Y", a, p->y);
    define_operand(defines, "SCALE", a, p->scale);
    define_operand(defines, "BIAS", a, p->bias);
    cuda_define_int(defines, "VECTOR", is_layer(p) ? layer_vector(p) : plane_vector(p));
    cuda_define_int(defines, "KEPT", norm_kept(p));
    if (is_layer(p)) {
        cuda_define_int(defines, "WARPED", is_warped(p));
        cuda_define_int(defines, "BLOCKS", warped_blocks(p));
        cuda_define_int(defines, "FULL", p->length == 32 * layer_vector(p) * norm_kept(p));
        cuda_define_int(defines, "SKIPPED", p->skip_count != 0);
        cuda_define_int(defines, "EXTRAS", p->extra != NORM_NO_TENSOR);
        cuda_define_int(defines, "SCALED", p->scale != NORM_NO_TENSOR);
        cuda_define_int(defines, "BIASED", p->bias != NORM_NO_TENSOR);
        cuda_define_int(defines, "SUMMED", p->sum != NORM_NO_TENSOR);
        define_operand(defines, "SKIP", a, p->skip_count ? 1 : KERNEL_TENSORS);
        define_operand(defines, "EXTRA", a, p->extra);
        define_operand(defines, "MEAN", a, p->mean);
        define_operand(defines, "FACTOR", a, p->factor);
        define_operand(defines, "SUM", a, p->sum);
        return;
    }
    cuda_define_int(defines, "PLANES", p->kind == NORM_LP ? 5 : p->kind == NORM_BATCH ? 4 : 2);
    define_operand(defines, "MEAN", a, p->kind == NORM_BATCH ? 3 : KERNEL_TENSORS);
    define_operand(defines, "FACTOR", a, p->kind == NORM_BATCH ? 4 : KERNEL_TENSORS);
}

static pgy_status launch_norm(const adapted_run *r, pgy_error *err)
{
    const norm_params *p = r->inner;
    const kernel_run *run = r->run;
    const bool batch = p->kind == NORM_BATCH;
    layer l = {.x = address(run, 0),
               .skip = p->skip_count ? address(run, 1) : 0,
               .extra = address(run, p->extra),
               .scale = address(run, p->scale),
               .bias = address(run, p->bias),
               .y = address(run, p->y),
               .mean = address(run, p->mean),
               .factor = address(run, p->factor),
               .sum = address(run, p->sum),
               .rows = p->rows,
               .length = p->length,
               .skip_count = p->skip_count,
               .epsilon = p->epsilon,
               .root = p->kind == NORM_ROOT};
    planes q = {.x = l.x,
                .scale = l.scale,
                .bias = l.bias,
                .mean = batch ? address(run, 3) : 0,
                .variance = batch ? address(run, 4) : 0,
                .y = l.y,
                .rows = p->rows,
                .length = p->length,
                .plane = p->plane,
                .groups = p->channels * p->plane / p->length,
                .epsilon = p->epsilon};
    return cuda_launch_blocks(r->stream, r->loaded->functions[0], norm_blocks(p), norm_threads(p),
                              is_layer(p) ? (void *)&l : (void *)&q, err);
}

const adapted_family ADAPTED_NORM = {
    .inner = &KERNELS_norm[0], .load = load_norm, .launch = launch_norm};

/* ---- Reductions ----------------------------------------------------------------------------- */

typedef struct axes {
    uint64_t count, shape[WALK_AXES], strides[WALK_AXES];
    uint32_t rank;
} axes;

typedef struct reduce {
    uint64_t x, y;
    axes kept, reduced;
} reduce;

static bool is_float_reduce(const void *inner, uint32_t inputs, uint32_t i)
{
    const reduce_params *p = inner;
    return !p->integer && (!i || i >= inputs);
}

/* Does a block of threads compute one output together? */
static bool has_rows(const reduce_params *p)
{
    return !p->integer && p->rows && p->reduced.count >= FEW;
}

static void load_reduce(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    static const char *const KINDS[] = {"SUM", "MEAN", "MAX",        "MIN",     "PROD",
                                        "L1",  "L2",   "SUM_SQUARE", "LOG_SUM", "LOG_SUM_EXP"};
    const reduce_params *p = inner;
    const char *integer = p->bytes == 8 ? "i64" : "i32";
    *s = (cuda_source){
        .name = "rows", .text = CUDA_SOURCE_rows, .entries = {has_rows(p) ? "rows" : "columns"}};
    cuda_define_int(defines, "THREADS", threads_for(p->reduced.count));
    cuda_define(defines, "REDUCE", KINDS[p->kind]);
    cuda_define_int(defines, "REDUCE_INTEGER", p->integer != 0);
    if (p->integer) {
        cuda_define(defines, "X", integer);
        cuda_define(defines, "Y", integer);
        return;
    }
    define_operand(defines, "X", a, 0);
    define_operand(defines, "Y", a, a->inputs);
}

static void set_axes(axes *a, const walk *w)
{
    a->count = w->count;
    a->rank = w->rank;
    for (uint32_t d = 0; d < w->rank; d++) {
        a->shape[d] = w->shape[d];
        a->strides[d] = w->strides[0][d];
    }
}

static pgy_status launch_reduce(const adapted_run *r, pgy_error *err)
{
    const reduce_params *p = r->inner;
    reduce c = {.x = address(r->run, 0), .y = address(r->run, p->inputs)};
    set_axes(&c.kept, &p->kept);
    set_axes(&c.reduced, &p->reduced);
    if (has_rows(p))
        return cuda_launch_blocks(r->stream, r->loaded->functions[0], blocks_for(p->kept.count),
                                  threads_for(p->reduced.count), &c, err);
    return cuda_launch_for(r->stream, r->loaded->functions[0], p->kept.count, CUDA_BLOCK, &c, err);
}

const adapted_family ADAPTED_REDUCE = {.inner = &KERNELS_reduce[0],
                                       .is_float = is_float_reduce,
                                       .load = load_reduce,
                                       .launch = launch_reduce};
