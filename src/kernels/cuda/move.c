/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA kernels that move elements: Transpose, Slice and Expand, Concat and Split, Gather, Pad and
 * nearest Resize. The structs match those in move.cu. */
#include <string.h>

#include "kernels/axis_tables.h"
#include "kernels/cuda/adapted.h"
#include "kernels/cuda/move.h"
#include "kernels/shared_params.h"

extern const kernel KERNELS_concat[], KERNELS_expand[], KERNELS_gather[], KERNELS_pad[],
    KERNELS_resize_nearest[], KERNELS_slice[], KERNELS_transpose[];

static bool always(const kernel_problem *u)
{
    (void)u;
    return true;
}

static bool never(const void *inner, uint32_t inputs, uint32_t i)
{
    (void)inner, (void)inputs, (void)i;
    return false;
}

void move_write_source(cuda_source *s, str *defines, uint32_t item, const char *entry)
{
    static const char *const TYPES[] = {
        [1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64", [16] = "u128"};
    *s = (cuda_source){.name = "move", .text = CUDA_SOURCE_move, .entries = {entry}};
    cuda_define(defines, "T", TYPES[item]);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* ---- Strided copies ------------------------------------------------------------------------- */

typedef struct strided {
    uint64_t x, y, count, shape[WALK_AXES], strides[WALK_AXES];
    uint32_t rank;
} strided;

/* Elements of at most 16 bytes together that are copied at once. */
static uint32_t strided_vector(const strided_copy *p)
{
    const walk *w = &p->w;
    const uint32_t last = w->rank ? w->rank - 1 : 0;
    uint32_t vector = p->item && 16 % p->item == 0 ? 16 / p->item : 1;
    if (!w->rank || w->strides[0][last] != 1) return 1;
    while (p->offset % vector || w->shape[last] % vector) vector /= 2;
    for (uint32_t d = 0; d < last; d++)
        while (w->strides[0][d] % vector) vector /= 2;
    return vector;
}

static void load_strided(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    const strided_copy *p = inner;
    (void)a;
    move_write_source(s, defines, p->item * strided_vector(p), "strided_copy");
}

/* Arguments of woven_copy: the same struct as there. */
typedef struct woven {
    uint64_t x, y, planes, pixels, blocks, plane_step, step;
    uint32_t last;
} woven;

/* Is the axis of stride 1 the one in front of a short one, with whole packs of four? */
static bool is_woven(const transpose_params *p)
{
    enum { PACK = 4, MOST_LAST = 8 };
    const walk *w = &p->c.w;
    if (w->rank < 2 || w->rank > 3 || w->strides[0][w->rank - 2] != 1) return false;
    return p->c.item <= sizeof(float) && w->shape[w->rank - 1] > 1 &&
           w->shape[w->rank - 1] <= MOST_LAST && w->shape[w->rank - 2] % PACK == 0 &&
           w->strides[0][w->rank - 1] % PACK == 0 && p->c.offset % PACK == 0 &&
           (w->rank < 3 || w->strides[0][0] % PACK == 0);
}

static pgy_status launch_woven(const adapted_run *r, const transpose_params *p, pgy_error *err)
{
    enum { PIXELS = 1024 };
    const walk *w = &p->c.w;
    const uint32_t last = w->rank - 1;
    woven a = {.x = address((const char *)r->run->tensors[0] + p->c.offset * p->c.item),
               .y = address(r->run->tensors[p->c.inputs]),
               .planes = last > 1 ? w->shape[0] : 1,
               .pixels = w->shape[last - 1],
               .blocks = (w->shape[last - 1] + PIXELS - 1) / PIXELS,
               .plane_step = last > 1 ? w->strides[0][0] : 0,
               .step = w->strides[0][last],
               .last = (uint32_t)w->shape[last]};
    const uint64_t units = extent_mul(a.planes, a.blocks);
    return cuda_launch_blocks(r->stream, r->loaded->functions[0],
                              units < INT32_MAX ? units : INT32_MAX, CUDA_BLOCK, &a, err);
}

static void load_transpose(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    const transpose_params *p = inner;
    (void)a;
    if (is_woven(p)) {
        move_write_source(s, defines, p->c.item, "woven_copy");
        cuda_define_int(defines, "WOVEN", 1);
        return;
    }
    move_write_source(s, defines, p->turned ? p->c.item : p->c.item * strided_vector(&p->c),
                      p->turned ? "turned_copy" : "strided_copy");
}

pgy_status move_launch_turned(device_stream *s, const cuda_loaded *l, move_turned *t,
                              pgy_error *err)
{
    const uint64_t rows = t->shape[t->turned], columns = t->shape[t->rank - 1];
    uint64_t count = 1;
    for (uint32_t d = t->rank; d-- > 0; count *= t->shape[d]) t->out_strides[d] = count;
    if (!count) return PGY_OK;
    t->planes = count / (columns * rows);
    t->row_tiles = (rows + 31) / 32;
    t->column_tiles = (columns + 31) / 32;
    const uint64_t units = t->planes * t->row_tiles * t->column_tiles;
    return cuda_launch_blocks(s, l->functions[0], units < INT32_MAX ? units : INT32_MAX, CUDA_BLOCK,
                              t, err);
}

static pgy_status launch_turned(const adapted_run *r, const transpose_params *p, pgy_error *err)
{
    const walk *w = &p->c.w;
    move_turned t = {.x = address((const char *)r->run->tensors[0] + p->c.offset * p->c.item),
                     .y = address(r->run->tensors[p->c.inputs]),
                     .rank = w->rank,
                     .turned = (uint32_t)p->turned - 1};
    for (uint32_t d = 0; d < w->rank; d++) {
        t.shape[d] = w->shape[d];
        t.strides[d] = w->strides[0][d];
    }
    return move_launch_turned(r->stream, r->loaded, &t, err);
}

static pgy_status launch_strided(const adapted_run *r, pgy_error *err)
{
    const strided_copy *p = r->inner;
    const walk *w = &p->w;
    const uint32_t vector = strided_vector(p);
    if (!w->count) return PGY_OK;
    strided s = {.x = address((const char *)r->run->tensors[0] + p->offset * p->item),
                 .y = address(r->run->tensors[p->inputs]),
                 .count = w->count / vector,
                 .rank = w->rank};
    for (uint32_t d = 0; d < w->rank; d++) {
        const bool inner = d + 1 == w->rank;
        s.shape[d] = w->shape[d] / (inner ? vector : 1);
        s.strides[d] = inner ? w->strides[0][d] : w->strides[0][d] / vector;
    }
    return cuda_launch_for(r->stream, r->loaded->functions[0], s.count, CUDA_BLOCK, &s, err);
}

static pgy_status launch_transpose(const adapted_run *r, pgy_error *err)
{
    const transpose_params *p = r->inner;
    if (!p->c.w.count) return PGY_OK;
    if (is_woven(p)) return launch_woven(r, p, err);
    return p->turned ? launch_turned(r, p, err) : launch_strided(r, err);
}

#define STRIDED_FAMILY(inner_)                                                           \
    {                                                                                    \
        .inner = &inner_[0], .is_move = always, .is_float = never, .load = load_strided, \
        .launch = launch_strided                                                         \
    }
const adapted_family ADAPTED_EXPAND = STRIDED_FAMILY(KERNELS_expand);
const adapted_family ADAPTED_SLICE = STRIDED_FAMILY(KERNELS_slice);
const adapted_family ADAPTED_TRANSPOSE = {.inner = &KERNELS_transpose[0],
                                          .is_move = always,
                                          .is_float = never,
                                          .load = load_transpose,
                                          .launch = launch_transpose};

/* ---- Concat and Split ----------------------------------------------------------------------- */

enum { SEGMENTS = 4 }; /* of one launch */

typedef struct segment {
    uint64_t x, y, width, from_pitch, to_pitch, end;
} segment;

typedef struct segments {
    segment at[SEGMENTS];
    uint64_t count;
} segments;

/* Bytes of the widest element, up to 16, that divides the ends of all segments. */
static uint32_t segment_item(const concat_params *p)
{
    uint32_t item = 16;
    for (uint32_t i = 0; i < p->segments; i++)
        while (p->ends[i] % item) item /= 2;
    return item;
}

static void load_concat(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    (void)a;
    move_write_source(s, defines, segment_item(inner), "segment_copy");
}

static segment segment_of(const adapted_run *r, uint32_t i)
{
    const concat_params *p = r->inner;
    const uint64_t item = segment_item(p), pitch = p->row_bytes / item;
    const uint64_t start = i ? p->ends[i - 1] : 0, width = (p->ends[i] - start) / item;
    const char *whole = r->run->tensors[p->whole], *piece = r->run->tensors[p->first + i];
    return (segment){.x = address(p->splits ? whole + start : piece),
                     .y = address(p->splits ? piece : whole + start),
                     .width = width,
                     .from_pitch = p->splits ? pitch : width,
                     .to_pitch = p->splits ? width : pitch};
}

static pgy_status launch_segments(const adapted_run *r, segments *s, pgy_error *err)
{
    const pgy_status st =
        cuda_launch_for(r->stream, r->loaded->functions[0], s->count, CUDA_BLOCK, s, err);
    *s = (segments){.count = 0};
    return st;
}

static pgy_status launch_concat(const adapted_run *r, pgy_error *err)
{
    const concat_params *p = r->inner;
    segments s = {.count = 0};
    pgy_status st = PGY_OK;
    uint32_t used = 0;
    for (uint32_t i = 0; !st && i < p->segments; i++) {
        const segment one = segment_of(r, i);
        if (!one.width || !p->rows) continue;
        s.count += p->rows * one.width;
        s.at[used] = one;
        for (uint32_t k = used++; k < SEGMENTS; k++) s.at[k].end = s.count;
        if (used < SEGMENTS) continue;
        st = launch_segments(r, &s, err);
        used = 0;
    }
    return st || !used ? st : launch_segments(r, &s, err);
}

const adapted_family ADAPTED_CONCAT = {.inner = &KERNELS_concat[0],
                                       .is_move = always,
                                       .any_order = true,
                                       .is_float = never,
                                       .load = load_concat,
                                       .launch = launch_concat};

/* ---- Gather --------------------------------------------------------------------------------- */

typedef struct gather {
    uint64_t x, indices, y, fault, outer, length, count, block;
    uint32_t wide, fault_kind;
} gather;

static uint32_t block_item(const gather_params *p)
{
    uint32_t item = 16;
    while (p->block % item) item /= 2;
    return item;
}

static void load_gather(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    (void)a;
    move_write_source(s, defines, block_item(inner), "gather_rows");
}

static pgy_status launch_gather(const adapted_run *r, pgy_error *err)
{
    const gather_params *p = r->inner;
    const uint64_t block = p->block / block_item(p);
    gather g = {.x = address(r->run->tensors[0]),
                .indices = address(r->run->tensors[1]),
                .y = address(r->run->tensors[2]),
                .fault = address(r->run->fault),
                .outer = p->outer,
                .length = p->length,
                .count = p->count,
                .block = block,
                .wide = p->wide,
                .fault_kind = KERNEL_FAULT_INDEX};
    return cuda_launch_for(r->stream, r->loaded->functions[0], p->outer * p->count * block,
                           CUDA_BLOCK, &g, err);
}

const adapted_family ADAPTED_GATHER = {.inner = &KERNELS_gather[0],
                                       .is_move = always,
                                       .is_float = never,
                                       .load = load_gather,
                                       .launch = launch_gather};

/* ---- Pad and nearest Resize ----------------------------------------------------------------- */

typedef struct mapped {
    uint64_t x, value, y, tables, fault, count;
    uint64_t in[WALK_AXES], shape[WALK_AXES], strides[WALK_AXES], starts[WALK_AXES];
    uint32_t rank, fault_kind;
} mapped;

/* Neighbours of at most 16 bytes together that are copied at once, from an axis that keeps its
 * indices. */
static uint32_t mapped_vector(const axis_tables *p)
{
    uint32_t vector = axis_tables_keeps_last(p) && !p->value ? 16 / p->item : 1;
    while (p->shape[p->rank - 1] % vector) vector /= 2;
    return vector;
}

static void load_mapped(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    const axis_tables *p = inner;
    (void)a;
    move_write_source(s, defines, p->item * mapped_vector(p), "mapped_copy");
}

static pgy_status launch_mapped(const adapted_run *r, pgy_error *err)
{
    const axis_tables *p = r->inner;
    const uint32_t vector = mapped_vector(p);
    mapped m = {.x = address(r->run->tensors[0]),
                .value = address(p->value ? r->run->tensors[p->value] : NULL),
                .y = address(r->run->tensors[p->inputs]),
                .tables = address(r->run->packed),
                .fault = address(r->run->fault),
                .count = 1,
                .rank = p->rank,
                .fault_kind = KERNEL_FAULT_INDEX};
    for (uint32_t d = 0; d < p->rank; d++) {
        const bool last = d + 1 == p->rank;
        m.in[d] = p->in[d] / (last ? vector : 1);
        m.shape[d] = p->shape[d] / (last ? vector : 1);
        m.strides[d] = last ? 1 : p->strides[d] / vector;
        m.starts[d] = p->tables[d];
        m.count *= m.shape[d];
    }
    return cuda_launch_for(r->stream, r->loaded->functions[0], m.count, CUDA_BLOCK, &m, err);
}

#define MAPPED_FAMILY(inner_, turn_)                                                    \
    {                                                                                   \
        .inner = &inner_[0], .is_move = always, .is_float = never, .load = load_mapped, \
        .launch = launch_mapped, .turn = turn_                                          \
    }
const adapted_family ADAPTED_PAD = MAPPED_FAMILY(KERNELS_pad, NULL);
const adapted_family ADAPTED_RESIZE_NEAREST =
    MAPPED_FAMILY(KERNELS_resize_nearest, axis_tables_turn);
