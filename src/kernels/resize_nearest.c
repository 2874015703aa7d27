/* SPDX-License-Identifier: Apache-2.0 */
/* Nearest Resize and Upsample: a table for each axis says which input index each output index
 * takes. */
#include <math.h>
#include <string.h>

#include "kernels/axis_tables.h"

static bool is_upsample(const op_node *n)
{
    return n->def->name[0] == 'U';
}

/* Upsample has its scales in an attribute, later in an input. */
static bool read_upsample(float *scales, const kernel_problem *u)
{
    size_t count = 0;
    const float *values = op_attr_floats(u->node, "scales", &count);
    if (u->node->def->since >= 9) {
        if (u->input_count < 2 || u->inputs[1].dtype != PGY_F32) return false;
        values = u->inputs[1].data;
        count = kernel_count(&u->inputs[1]);
    }
    if (!values || count != (size_t)u->inputs[0].rank) return false;
    memcpy(scales, values, count * sizeof *scales);
    return true;
}

/* Reads the scale of each axis, rounded as in the definition. */
static bool read_scales(float *scales, const kernel_problem *u)
{
    if (is_upsample(u->node)) return read_upsample(scales, u);
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
    if (is_upsample(n))
        *out = (double)((float)o / scale);
    else if (half || op_attr_is(n, NAME, "pytorch_half_pixel", "half_pixel"))
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

static bool rounded(double *x, const op_node *n, float scale)
{
    if (is_upsample(n))
        *x = scale < 1 ? ceil(*x) : floor(*x);
    else if (op_attr_is(n, "nearest_mode", "round_prefer_floor", "round_prefer_floor"))
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

static bool resize_nearest_fill(int32_t *tables, const axis_tables *p, const kernel_problem *u)
{
    float scales[WALK_AXES];
    if ((u->node->def->since < 11 && !is_upsample(u->node)) ||
        !op_attr_is(u->node, "mode", "nearest", "nearest"))
        return false;
    if (!read_scales(scales, u)) return false;
    for (uint32_t d = 0; d < p->rank; d++) {
        const int64_t in = u->inputs[0].shape[d], size = u->outputs[0].shape[d];
        for (int64_t o = 0; o < (tables ? size : size > 0); o++) {
            double x;
            if (!position(&x, u->node, (double)o, scales[d], (double)in, (double)size) ||
                !rounded(&x, u->node, scales[d]))
                return false;
            if (!tables) continue;
            tables[p->tables[d] + (uint64_t)o] = !(x > 0)          ? 0
                                                 : x >= (double)in ? (int32_t)in - 1
                                                                   : (int32_t)x;
        }
    }
    return true;
}

static bool resize_nearest_describe(axis_tables *p, const kernel_problem *u)
{
    return axis_tables_describe(p, u) && resize_nearest_fill(NULL, p, u);
}

static bool resize_nearest_accept(kernel_problem *u, double *cost_ns)
{
    axis_tables p;
    if (!resize_nearest_describe(&p, u)) return false;
    axis_tables_cost(u, &p, cost_ns);
    return true;
}

static pgy_status resize_nearest_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    axis_tables p;
    (void)resize_nearest_describe(&p, u); /* cannot fail after `accept` */
    const pgy_status st = axis_tables_plan(out, &p, err);
    if (st) return st;
    (void)resize_nearest_fill(out->packed, &p, u);
    axis_tables_finish(out);
    return PGY_OK;
}

static void resize_nearest_run(const kernel_run *r)
{
    axis_tables_run(r);
}

const kernel KERNELS_resize_nearest[] = {
    {.name = "resize_nearest",
     .version = 1,
     .ops = "Resize Upsample",
     .accept = resize_nearest_accept,
     .prepare = resize_nearest_prepare,
     .run = resize_nearest_run,
     .extent = axis_tables_extent},
    {0},
};
