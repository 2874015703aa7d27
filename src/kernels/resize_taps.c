/* SPDX-License-Identifier: Apache-2.0 */
/* The positions and weights of resize_taps.h, as the definition computes them. */
#include "kernels/resize_taps.h"

#include <math.h>

static bool is(const op_node *n, const char *attr, const char *word, const char *fallback)
{
    return op_attr_is(n, attr, word, fallback);
}

bool resize_position(double *x, const op_node *n, uint64_t size, uint64_t out_size, double scale,
                     double o)
{
    static const char *const NAME = "coordinate_transformation_mode";
    const double in = (double)size, out = (double)out_size;
    if (is(n, NAME, "half_pixel", "half_pixel"))
        *x = (o + 0.5) / scale - 0.5;
    else if (is(n, NAME, "pytorch_half_pixel", "half_pixel"))
        *x = out > 1 ? (o + 0.5) / scale - 0.5 : 0;
    else if (is(n, NAME, "align_corners", "half_pixel"))
        *x = out > 1 ? o * (in - 1) / (out - 1) : 0;
    else if (is(n, NAME, "asymmetric", "half_pixel"))
        *x = o / scale;
    else if (is(n, NAME, "half_pixel_symmetric", "half_pixel"))
        *x = in / 2 * (1 - out / (scale * in)) + (o + 0.5) / scale - 0.5;
    else
        return false;
    return true;
}

static double weight_at(const op_node *n, double scale, double d)
{
    if (op_attr_int(n, "antialias", 0) && scale < 1) d *= scale;
    d = fabs(d);
    if (!is(n, "mode", "cubic", "nearest")) return d < 1 ? 1 - d : 0;
    const double c = op_attr_float(n, "cubic_coeff_a", -0.75);
    if (d <= 1) return ((c + 2) * d - (c + 3)) * d * d + 1;
    return d < 2 ? (((d - 5) * d + 8) * d - 4) * c : 0;
}

uint32_t resize_taps_of(const op_node *n, double scale)
{
    double reach = is(n, "mode", "cubic", "nearest") ? 2 : 1;
    if (op_attr_int(n, "antialias", 0) && scale < 1) reach /= scale;
    return reach <= RESIZE_MAX_TAPS / 2 ? (uint32_t)(2 * ceil(reach)) : RESIZE_MAX_TAPS + 1;
}

void resize_fill_taps(int32_t *places, double *weights, uint32_t taps, const op_node *n,
                      uint64_t in, uint64_t out, double scale, uint64_t o)
{
    double x = 0, sum = 0;
    (void)resize_position(&x, n, in, out, scale, (double)o); /* the caller has asked before */
    const double first = floor(x) - (double)(taps / 2 - 1);
    for (uint32_t i = 0; i < taps; i++) {
        const double from = first + i;
        const bool inside = from >= 0 && from < (double)in;
        places[i] = !(from > 0) ? 0 : inside ? (int32_t)from : (int32_t)in - 1;
        weights[i] =
            op_attr_int(n, "exclude_outside", 0) && !inside ? 0 : weight_at(n, scale, from - x);
        sum += weights[i];
    }
    for (uint32_t i = 0; i < taps && sum != 0; i++) weights[i] /= sum;
}

bool resize_is_interpolation(const kernel_problem *u)
{
    size_t listed;
    return u->node->def->since >= 11 && !is(u->node, "mode", "nearest", "nearest") &&
           is(u->node, "keep_aspect_ratio_policy", "stretch", "stretch") &&
           !op_attr_ints(u->node, "axes", &listed);
}

bool resize_read_scale(double *scale, const kernel_problem *u, int32_t d)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const bool has_scales = u->input_count > 2 && u->inputs[2].dtype && kernel_count(&u->inputs[2]);
    const bool has_sizes = u->input_count > 3 && u->inputs[3].dtype && kernel_count(&u->inputs[3]);
    if (has_scales == has_sizes) return false;
    *scale = (double)y->shape[d] / (double)x->shape[d];
    if (has_sizes) return *scale > 0;
    if (u->inputs[2].dtype != PGY_F32 || !u->inputs[2].data) return false;
    if (kernel_count(&u->inputs[2]) != (size_t)x->rank) return false;
    *scale = (double)((const float *)u->inputs[2].data)[d];
    return *scale > 0;
}
