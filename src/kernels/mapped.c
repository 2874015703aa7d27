/* SPDX-License-Identifier: Apache-2.0 */
/* Pad in all modes and nearest Resize: a table for each axis maps output indices to input indices;
 * -1 stands for the padding value. The tables are the packed data. The longest run of consecutive
 * indices of the last axis is copied at once. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/walk.h"

typedef struct params {
    uint32_t item, rank, inputs, value;       /* value: the padding value's input; 0: zeros */
    uint64_t rows;                            /* number of rows along the output's last axis */
    uint64_t in[WALK_AXES], shape[WALK_AXES]; /* of the input and the output */
    uint64_t strides[WALK_AXES], tables[WALK_AXES]; /* strides of the input; start of each table */
    uint64_t entries;
    uint64_t run_from, run_count; /* indices of the last axis with consecutive sources */
} params;

/* ---- Pad ------------------------------------------------------------------------------------ */

typedef enum pad_mode { CONSTANT, EDGE, REFLECT, WRAP } pad_mode;

static bool pad_mode_of(pad_mode *out, const op_node *n)
{
    static const char *const NAMES[] = {"constant", "edge", "reflect", "wrap"};
    for (int i = 0; i < 4; i++) {
        *out = (pad_mode)i;
        if (op_attr_is(n, "mode", NAMES[i], "constant")) return true;
    }
    return false;
}

static bool read_pads(int64_t *before, int64_t *after, const kernel_problem *u)
{
    const int32_t rank = u->inputs[0].rank;
    const int64_t *pads = u->input_count > 1 ? u->inputs[1].data : NULL, *axes = NULL;
    if (!pads || u->inputs[1].dtype != PGY_I64) return false;
    size_t count = (size_t)rank;
    if (u->input_count > 3 && u->inputs[3].dtype) {
        axes = u->inputs[3].data;
        count = kernel_count(&u->inputs[3]);
        if (!axes || u->inputs[3].dtype != PGY_I64) return false;
    }
    if (kernel_count(&u->inputs[1]) != 2 * count) return false;
    for (int32_t d = 0; d < rank; d++) before[d] = after[d] = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t axis = axes ? axes[i] : (int64_t)i;
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank) return false;
        before[axis] = pads[i];
        after[axis] = pads[i + count];
    }
    return true;
}

/* Negative pads remove elements; the mode then pads the remaining ones. */
static void map_pad(int32_t *table, int64_t size, int64_t before, int64_t after, pad_mode mode)
{
    const int64_t first = before < 0 ? -before : 0, last = size + (after < 0 ? after : 0);
    const int64_t kept = last - first, lead = before > 0 ? before : 0;
    const int64_t total = size + before + after;
    for (int64_t o = 0; o < total; o++) {
        int64_t i = o - lead;
        const int64_t period = mode == REFLECT && kept > 1 ? 2 * (kept - 1) : kept;
        if (mode == CONSTANT && (i < 0 || i >= kept)) {
            table[o] = -1;
            continue;
        }
        if (mode == EDGE || kept == 1) {
            i = i < 0 ? 0 : i >= kept ? kept - 1 : i;
        } else {
            i %= period;
            if (i < 0) i += period;
            if (i >= kept) i = period - i;
        }
        table[o] = (int32_t)(first + i);
    }
}

static bool map_all_pads(int32_t *tables, const params *p, const kernel_problem *u)
{
    int64_t before[WALK_AXES], after[WALK_AXES];
    pad_mode mode;
    if (!pad_mode_of(&mode, u->node) || !read_pads(before, after, u)) return false;
    for (uint32_t d = 0; d < p->rank; d++) {
        const int64_t size = u->inputs[0].shape[d];
        const int64_t taken = (before[d] < 0 ? -before[d] : 0) + (after[d] < 0 ? -after[d] : 0);
        if (size + before[d] + after[d] != u->outputs[0].shape[d] || taken >= size) return false;
        if (tables) map_pad(tables + p->tables[d], size, before[d], after[d], mode);
    }
    return true;
}

/* ---- Resize --------------------------------------------------------------------------------- */

/* Reads the scale of each axis, rounded as in the definition. */
static bool read_scales(float *scales, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const bool has_scales = u->input_count > 2 && u->inputs[2].dtype && kernel_count(&u->inputs[2]);
    const bool has_sizes = u->input_count > 3 && u->inputs[3].dtype && kernel_count(&u->inputs[3]);
    size_t axis_count = 0;
    if (op_attr_ints(u->node, "axes", &axis_count) || has_scales == has_sizes) return false;
    if (!op_attr_is(u->node, "keep_aspect_ratio_policy", "stretch", "stretch")) return false;
    if (has_scales && (!u->inputs[2].data || u->inputs[2].dtype != PGY_F32 ||
                       kernel_count(&u->inputs[2]) != (size_t)x->rank))
        return false;
    for (int32_t d = 0; d < x->rank; d++)
        scales[d] = has_scales ? ((const float *)u->inputs[2].data)[d]
                               : (float)((double)y->shape[d] / (double)x->shape[d]);
    return true;
}

/* Computes the input position, rounded to float32 like the definition's, so that ties round
 * alike. */
static bool position(double *out, const op_node *n, double o, float scale, double in, double size)
{
    static const char *const NAME = "coordinate_transformation_mode";
    const bool half = op_attr_is(n, NAME, "half_pixel", "half_pixel");
    if (half || op_attr_is(n, NAME, "pytorch_half_pixel", "half_pixel"))
        *out = half || size > 1 ? (double)((float)(o + 0.5) / scale) - 0.5 : 0;
    else if (op_attr_is(n, NAME, "asymmetric", "half_pixel"))
        *out = (double)((float)o / scale);
    else if (op_attr_is(n, NAME, "align_corners", "half_pixel"))
        *out = size > 1 ? o * (in - 1) / (size - 1) : 0;
    else
        return false;
    *out = (double)(float)*out;
    return true;
}

static bool rounded(double *x, const op_node *n)
{
    if (op_attr_is(n, "nearest_mode", "round_prefer_floor", "round_prefer_floor"))
        *x = ceil(*x - 0.5);
    else if (op_attr_is(n, "nearest_mode", "round_prefer_ceil", "round_prefer_floor"))
        *x = floor(*x + 0.5);
    else if (op_attr_is(n, "nearest_mode", "floor", "round_prefer_floor"))
        *x = floor(*x);
    else if (op_attr_is(n, "nearest_mode", "ceil", "round_prefer_floor"))
        *x = ceil(*x);
    else
        return false;
    return true;
}

static bool map_resize(int32_t *tables, const params *p, const kernel_problem *u)
{
    float scales[WALK_AXES];
    if (u->node->def->since < 11 || !op_attr_is(u->node, "mode", "nearest", "nearest"))
        return false;
    if (!read_scales(scales, u)) return false;
    for (uint32_t d = 0; d < p->rank; d++) {
        const int64_t in = u->inputs[0].shape[d], size = u->outputs[0].shape[d];
        for (int64_t o = 0; o < (tables ? size : size > 0); o++) {
            double x;
            if (!position(&x, u->node, (double)o, scales[d], (double)in, (double)size) ||
                !rounded(&x, u->node))
                return false;
            if (!tables) continue;
            tables[p->tables[d] + (uint64_t)o] = !(x > 0)          ? 0
                                                 : x >= (double)in ? (int32_t)in - 1
                                                                   : (int32_t)x;
        }
    }
    return true;
}

/* ---- The kernel ----------------------------------------------------------------------------- */

/* Sets the members that follow from the shapes. */
static void place(params *p)
{
    uint64_t stride = 1;
    for (uint32_t d = p->rank; d-- > 0;) {
        p->strides[d] = stride;
        p->tables[d] = p->entries;
        p->entries += p->shape[d];
        stride *= p->in[d];
        if (d + 1 < p->rank) p->rows *= p->shape[d];
    }
}

static bool describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const unsigned bits = pgy_dtype_describe(x->dtype)->bits;
    const bool pads = strcmp(u->node->def->name, "Pad") == 0;
    *p = (params){
        .item = bits / 8, .rank = (uint32_t)x->rank, .inputs = (uint32_t)u->input_count, .rows = 1};
    if (x->rank < 1 || x->rank > WALK_AXES || y->rank != x->rank) return false;
    if (x->dtype == PGY_STRING || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
        return false;
    if (!kernel_count(x) || !kernel_count(y)) return false;
    for (uint32_t d = 0; d < p->rank; d++) {
        if (x->shape[d] > INT32_MAX || y->shape[d] > INT32_MAX) return false;
        p->in[d] = (uint64_t)x->shape[d];
        p->shape[d] = (uint64_t)y->shape[d];
    }
    place(p);
    if (pads && u->input_count > 2 && u->inputs[2].dtype) {
        if (u->inputs[2].dtype != x->dtype || kernel_count(&u->inputs[2]) != 1) return false;
        p->value = 2;
    }
    return pads ? u->node->def->since >= 11 && map_all_pads(NULL, p, u) : map_resize(NULL, p, u);
}

static bool accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)kernel_size_bytes(&u->outputs[0]) / 4 + (double)p.rows * 10;
    return true;
}

/* Finds the longest run of consecutive source indices. */
static void find_run(params *p, const int32_t *last)
{
    const uint64_t n = p->shape[p->rank - 1];
    for (uint64_t i = 0; i < n;) {
        uint64_t end = i + 1;
        while (end < n && last[i] >= 0 && last[end] == last[i] + (int32_t)(end - i)) end++;
        if (last[i] >= 0 && end - i > p->run_count) {
            p->run_from = i;
            p->run_count = end - i;
        }
        i = end;
    }
}

static pgy_status prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)describe(p, u); /* accepted before */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->packed_bytes = p->entries * sizeof(int32_t);
    int32_t *tables = mem_alloc_aligned(64, out->packed_bytes);
    if (!tables) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    memset(tables, 0xff, out->packed_bytes);
    out->packed = tables;
    if (strcmp(u->node->def->name, "Pad") == 0)
        (void)map_all_pads(tables, p, u);
    else
        (void)map_resize(tables, p, u);
    find_run(p, tables + p->tables[p->rank - 1]);
    const uint64_t parts = p->rows * p->shape[p->rank - 1] * p->item / 32768 + 1;
    out->parts = (uint32_t)(parts < p->rows ? parts : p->rows);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

/* Do all other members follow from the shapes of input and output? */
static bool is_consistent(const params *p)
{
    params own = {.rank = p->rank, .rows = 1};
    if (!p->rank || p->rank > WALK_AXES) return false;
    for (uint32_t d = 0; d < p->rank; d++)
        if (!p->in[d] || !p->shape[d] || p->in[d] > INT32_MAX || p->shape[d] > INT32_MAX)
            return false;
    if (extent_product(p->in, p->rank) == EXTENT_TOO_MUCH ||
        extent_product(p->shape, p->rank) == EXTENT_TOO_MUCH)
        return false;
    memcpy(own.in, p->in, sizeof own.in);
    memcpy(own.shape, p->shape, sizeof own.shape);
    place(&own);
    return own.rows == p->rows && own.entries == p->entries &&
           !memcmp(own.strides, p->strides, sizeof own.strides) &&
           !memcmp(own.tables, p->tables, sizeof own.tables);
}

static bool extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->inputs != q->input_count || p->value >= p->inputs)
        return extent_refuse(e, "number of inputs");
    if (p->item != 1 && p->item != 2 && p->item != 4 && p->item != 8)
        return extent_refuse(e, "size of an element");
    if (!is_consistent(p)) return extent_refuse(e, "shape");
    const uint64_t n = p->shape[p->rank - 1];
    if (p->run_from > n || p->run_count > n - p->run_from) return extent_refuse(e, "run");
    extent_tensor(e, 0, extent_product(p->in, p->rank), p->item);
    if (p->value) extent_tensor(e, p->value, 1, p->item);
    extent_tensor(e, p->inputs, extent_product(p->shape, p->rank), p->item);
    e->packed = extent_mul(p->entries, sizeof(int32_t));
    return true;
}

/* Checks the tables at run time, because they come from the plan file, too. */
static bool are_inside(const params *p, const int32_t *tables)
{
    for (uint32_t d = 0; d < p->rank; d++)
        for (uint64_t i = 0; i < p->shape[d]; i++)
            if (tables[p->tables[d] + i] < -1 || tables[p->tables[d] + i] >= (int64_t)p->in[d])
                return false;
    const uint32_t last = p->rank - 1;
    if (p->run_count < 4) return true;
    const int32_t first = tables[p->tables[last] + p->run_from];
    return first >= 0 && (uint64_t)first + p->run_count <= p->in[last];
}

/* Copies indices [from, to) of a row one by one. x: NULL if the whole row is padding. */
static void move_some(const params *p, char *y, const char *x, const char *value,
                      const int32_t *last, size_t from, size_t to)
{
    static const uint64_t zero;
    const char *fill = value ? value : (const char *)&zero;
    const size_t item = p->item;
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const char *source = x && last[i] >= 0 ? x + (size_t)last[i] * item : fill;
        if (item == 4)
            memcpy(y + i * 4, source, 4);
        else
            memcpy(y + i * item, source, item);
    }
}

static void run(const kernel_run *r)
{
    const params *p = r->params;
    const int32_t *tables = r->packed, *last = tables + p->tables[p->rank - 1];
    const char *value = p->value ? r->tensors[p->value] : NULL;
    const uint64_t n = p->shape[p->rank - 1], end = p->run_from + p->run_count;
    size_t from, to;
    if (!are_inside(p, tables)) {
        kernel_fault(r);
        return;
    }
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    for (size_t row = from; row < to && !cancel_requested(); row++) {
        const char *x = r->tensors[0];
        char *y = (char *)r->tensors[p->inputs] + row * n * p->item;
        uint64_t rest = row;
        for (uint32_t d = p->rank - 1; d-- > 0 && x; rest /= p->shape[d]) {
            const int32_t at = tables[p->tables[d] + rest % p->shape[d]];
            x = at < 0 ? NULL : x + (uint64_t)at * p->strides[d] * p->item;
        }
        if (!x || p->run_count < 4) {
            move_some(p, y, x, value, last, 0, n);
            continue;
        }
        move_some(p, y, x, value, last, 0, p->run_from);
        memcpy(y + p->run_from * p->item, x + (size_t)last[p->run_from] * p->item,
               p->run_count * p->item);
        move_some(p, y, x, value, last, end, n);
    }
}

const kernel KERNELS_mapped[] = {
    {.name = "mapped",
     .version = 2,
     .ops = "Pad Resize",
     .accept = accept,
     .prepare = prepare,
     .run = run,
     .extent = extent},
    {0},
};
