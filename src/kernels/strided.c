/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose output is the input read with other strides: Transpose, Slice with constant
 * bounds, Expand, Tile, DepthToSpace, SpaceToDepth. Only the width of an element matters, not its
 * type. If the last axis is contiguous in the input, runs are copied; if another axis is, the two
 * are transposed in tiles. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/walk.h"

enum { MAX_AXES = 16, TILE = 16 };

typedef struct params {
    walk w;
    uint64_t offset; /* of the first element of the input */
    uint32_t item;   /* bytes */
    uint32_t inputs;
    uint32_t turned; /* 1 + the axis of stride 1 that is transposed with the last axis; 0: none */
} params;

/* The input seen through the output's axes: their sizes and strides. */
typedef struct view {
    int32_t rank;
    int64_t shape[MAX_AXES], strides[MAX_AXES], offset;
} view;

/* ---- Operators ------------------------------------------------------------------------------ */

static bool plain_view(view *v, const kernel_tensor *t)
{
    int64_t stride = 1;
    *v = (view){.rank = t->rank};
    if (t->rank > MAX_AXES / 2) return false;
    for (int32_t d = t->rank - 1; d >= 0; d--) {
        v->shape[d] = t->shape[d];
        v->strides[d] = stride;
        stride *= t->shape[d];
    }
    return true;
}

static bool describe_transpose(view *v, const kernel_problem *u)
{
    const view x = *v;
    size_t count;
    const int64_t *perm = op_attr_ints(u->node, "perm", &count);
    for (int32_t d = 0; d < x.rank; d++) {
        const int64_t from = perm ? perm[d] : x.rank - 1 - d;
        if ((perm && count != (size_t)x.rank) || from < 0 || from >= x.rank) return false;
        v->shape[d] = x.shape[from];
        v->strides[d] = x.strides[from];
    }
    return true;
}

static int64_t constant_int(const kernel_tensor *t, size_t i)
{
    return t->dtype == PGY_I32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

static bool is_constant_ints(const kernel_problem *u, size_t i)
{
    if (i >= u->input_count || !u->inputs[i].dtype) return false;
    const kernel_tensor *t = &u->inputs[i];
    return (t->dtype == PGY_I64 || t->dtype == PGY_I32) && (t->data || !kernel_count(t));
}

static int64_t limit(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static bool slice_axis(view *v, const kernel_problem *u, size_t i)
{
    const bool has_axes = u->input_count > 3 && u->inputs[3].dtype;
    const bool has_steps = u->input_count > 4 && u->inputs[4].dtype;
    int64_t axis = has_axes ? constant_int(&u->inputs[3], i) : (int64_t)i;
    const int64_t step = has_steps ? constant_int(&u->inputs[4], i) : 1;
    if (axis < 0) axis += v->rank;
    if (axis < 0 || axis >= v->rank || !step || step == INT64_MIN) return false;
    const int64_t size = v->shape[axis];
    int64_t start = constant_int(&u->inputs[1], i), end = constant_int(&u->inputs[2], i);
    if (start < 0) start = start < -size ? -1 : start + size;
    if (end < 0) end = end < -size ? -1 : end + size;
    start = step > 0 ? limit(start, 0, size) : limit(start, 0, size - 1);
    end = step > 0 ? limit(end, 0, size) : limit(end, -1, size - 1);
    const int64_t range = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
    v->shape[axis] = range > 0 ? (range - 1) / stride + 1 : 0;
    v->offset += start * v->strides[axis];
    if (v->shape[axis] > 1) v->strides[axis] *= step;
    return true;
}

static bool describe_slice(view *v, const kernel_problem *u)
{
    for (size_t i = 1; i < 5; i++)
        if ((i < 3 || (i < u->input_count && u->inputs[i].dtype)) && !is_constant_ints(u, i))
            return false;
    const size_t count = kernel_count(&u->inputs[1]);
    for (size_t i = 2; i < u->input_count; i++)
        if (u->inputs[i].dtype && kernel_count(&u->inputs[i]) != count) return false;
    for (size_t i = 0; i < count; i++)
        if (!slice_axis(v, u, i)) return false;
    return true;
}

static bool describe_expand(view *v, const kernel_problem *u)
{
    const kernel_tensor *y = &u->outputs[0];
    const view x = *v;
    *v = (view){.rank = y->rank};
    if (y->rank > MAX_AXES / 2) return false;
    for (int32_t d = 0; d < y->rank; d++) {
        const int32_t from = d - (y->rank - x.rank);
        v->shape[d] = y->shape[d];
        v->strides[d] = from < 0 || x.shape[from] == 1 ? 0 : x.strides[from];
    }
    return true;
}

/* Every axis becomes [repeats, size]. */
static bool describe_tile(view *v, const kernel_problem *u)
{
    const kernel_tensor *y = &u->outputs[0];
    const view x = *v;
    *v = (view){.rank = 2 * x.rank};
    for (int32_t d = 0; d < x.rank; d++) {
        v->shape[2 * d] = x.shape[d] ? y->shape[d] / x.shape[d] : 0;
        v->shape[2 * d + 1] = x.shape[d];
        v->strides[2 * d + 1] = x.strides[d];
    }
    return true;
}

/* Permutes six axes: DepthToSpace and SpaceToDepth are such transposes. */
static void turn(view *v, const int64_t *sizes, const int *order)
{
    int64_t strides[6], stride = 1;
    for (int d = 5; d >= 0; d--) {
        strides[d] = stride;
        stride *= sizes[d];
    }
    *v = (view){.rank = 6};
    for (int d = 0; d < 6; d++) {
        v->shape[d] = sizes[order[d]];
        v->strides[d] = strides[order[d]];
    }
}

static bool describe_depth_to_space(view *v, const kernel_problem *u)
{
    const int64_t b = op_attr_int(u->node, "blocksize", 0), *s = u->inputs[0].shape;
    if (u->inputs[0].rank != 4 || b < 1 || s[1] % (b * b)) return false;
    if (op_attr_is(u->node, "mode", "CRD", "DCR"))
        turn(v, (const int64_t[]){s[0], s[1] / b / b, b, b, s[2], s[3]},
             (const int[]){0, 1, 4, 2, 5, 3});
    else
        turn(v, (const int64_t[]){s[0], b, b, s[1] / b / b, s[2], s[3]},
             (const int[]){0, 3, 4, 1, 5, 2});
    return true;
}

static bool describe_space_to_depth(view *v, const kernel_problem *u)
{
    const int64_t b = op_attr_int(u->node, "blocksize", 0), *s = u->inputs[0].shape;
    if (u->inputs[0].rank != 4 || b < 1 || s[2] % b || s[3] % b) return false;
    const bool crd = op_attr_is(u->node, "mode", "CRD", "DCR");
    turn(v, (const int64_t[]){s[0], s[1], s[2] / b, b, s[3] / b, b},
         crd ? (const int[]){0, 1, 3, 5, 2, 4} : (const int[]){0, 3, 5, 1, 2, 4});
    return true;
}

static const struct {
    const char *name;
    bool (*describe)(view *v, const kernel_problem *u);
} OPS[] = {
    {"Transpose", describe_transpose},
    {"Slice", describe_slice},
    {"Expand", describe_expand},
    {"Tile", describe_tile},
    {"DepthToSpace", describe_depth_to_space},
    {"SpaceToDepth", describe_space_to_depth},
};

/* ---- The kernel ----------------------------------------------------------------------------- */

/* Returns 1 + the axis of stride 1 to transpose with the last axis; 0 if the last has stride 0 or
 * 1, or if an axis is too short. */
static uint32_t find_turned(const walk *w)
{
    const uint64_t last = w->strides[0][w->rank - 1];
    if (last <= 1 || w->shape[w->rank - 1] < 4) return 0;
    for (uint32_t d = 0; d + 1 < w->rank; d++)
        if (w->strides[0][d] == 1 && w->shape[d] >= 4) return d + 1;
    return 0;
}

static bool describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const unsigned bits = pgy_dtype_describe(x->dtype)->bits;
    view v;
    size_t i = 0;
    while (strcmp(OPS[i].name, u->node->def->name)) i++; /* every operator of .ops is listed */
    *p = (params){.item = bits / 8, .inputs = (uint32_t)u->input_count};
    if (x->dtype == PGY_STRING || x->dtype != y->dtype) return false;
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return false;
    if (!plain_view(&v, x) || !OPS[i].describe(&v, u)) return false;
    if (!walk_init_strided(&p->w, v.shape, v.rank, v.strides, 1)) return false;
    p->offset = (uint64_t)v.offset;
    p->turned = find_turned(&p->w);
    return p->w.count == kernel_count(y);
}

static bool accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const uint64_t last = p.w.shape[p.w.rank - 1];
    const double bytes = (double)kernel_size_bytes(&u->outputs[0]);
    *cost_ns = 100 + bytes / 5 + (double)(p.w.count / (last ? last : 1)) * 4;
    if (p.w.strides[0][p.w.rank - 1] > 1) *cost_ns += (double)p.w.count * 0.5;
    return true;
}

static uint64_t tile_rows(const params *p)
{
    return (p->w.shape[p->turned - 1] + TILE - 1) / TILE;
}

/* Units of work: rows of tiles in all planes of the two transposed axes. */
static uint64_t turned_units(const params *p)
{
    const uint64_t last = p->w.shape[p->w.rank - 1];
    return p->w.count / (last * p->w.shape[p->turned - 1]) * tile_rows(p);
}

static pgy_status prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)describe(p, u); /* accepted before */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = walk_parts(p->w.count, p->item);
    if (p->turned && p->w.count && out->parts > turned_units(p))
        out->parts = (uint32_t)turned_units(p);
    return PGY_OK;
}

/* Elements up to the last one that is read. Strides of a reversed axis are negative (stored as
 * unsigned numbers), so the walk may start behind its lowest element. */
static uint64_t source_reach(const params *p)
{
    uint64_t ahead[WALK_AXES] = {0}, back[WALK_AXES] = {0};
    for (uint32_t d = 0; d < p->w.rank; d++) {
        const int64_t stride = (int64_t)p->w.strides[0][d];
        (stride < 0 ? back : ahead)[d] = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
    }
    const uint64_t before = extent_reach(p->w.shape, back, p->w.rank);
    if (!p->w.count) return 0;
    if (before == EXTENT_TOO_MUCH || before - 1 > p->offset) return EXTENT_TOO_MUCH;
    return extent_add(p->offset, extent_reach(p->w.shape, ahead, p->w.rank));
}

static bool extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !walk_extent(e, &p->w, false)) return false;
    if (p->w.operands != 1 || p->inputs != q->input_count || !p->inputs)
        return extent_refuse(e, "number of operands");
    if (p->item != 1 && p->item != 2 && p->item != 4 && p->item != 8)
        return extent_refuse(e, "size of an element");
    if (p->turned && (p->turned >= p->w.rank || p->w.strides[0][p->turned - 1] != 1))
        return extent_refuse(e, "turned axis");
    extent_tensor(e, 0, source_reach(p), p->item);
    extent_tensor(e, p->inputs, p->w.count, p->item);
    return true;
}

#define T uint8_t
#define NAME(x) x##_1
#include "kernels/strided.inc"
#define T uint16_t
#define NAME(x) x##_2
#include "kernels/strided.inc"
#define T uint32_t
#define NAME(x) x##_4
#include "kernels/strided.inc"
#define T uint64_t
#define NAME(x) x##_8
#include "kernels/strided.inc"

static void copy_run(const params *p, void *y, const void *x, uint64_t stride, size_t n)
{
    if (stride == 1)
        memcpy(y, x, n * p->item);
    else if (p->item == 1)
        run_1(y, x, stride, n);
    else if (p->item == 2)
        run_2(y, x, stride, n);
    else if (p->item == 4)
        run_4(y, x, stride, n);
    else
        run_8(y, x, stride, n);
}

static void run_turned(const params *p, const kernel_run *r)
{
    const void *x = r->tensors[0];
    void *y = r->tensors[p->inputs];
    size_t from, to;
    kernel_share(&from, &to, turned_units(p), r->part, r->parts);
    for (size_t unit = from; unit < to && !cancel_requested(); unit++) {
        if (p->item == 1) turn_1(p, y, x, unit);
        if (p->item == 2) turn_2(p, y, x, unit);
        if (p->item == 4) turn_4(p, y, x, unit);
        if (p->item == 8) turn_8(p, y, x, unit);
    }
}

static void run(const kernel_run *r)
{
    const params *p = r->params;
    const char *x = r->tensors[0];
    char *y = r->tensors[p->inputs];
    const uint64_t stride = p->w.strides[0][p->w.rank - 1];
    walk_at at;
    size_t n;
    if (!p->w.count) return;
    if (p->turned) {
        run_turned(p, r);
        return;
    }
    walk_begin(&at, &p->w, r->part, r->parts);
    for (; walk_run(&at, &p->w, SIZE_MAX, &n); walk_next(&at, &p->w, n))
        copy_run(p, y + at.done * p->item, x + (p->offset + at.offset[0]) * p->item, stride, n);
}

const kernel KERNELS_strided[] = {
    {.name = "strided",
     .version = 1,
     .ops = "Transpose Slice Expand Tile DepthToSpace SpaceToDepth",
     .accept = accept,
     .prepare = prepare,
     .run = run,
     .extent = extent},
    {0},
};
