/* SPDX-License-Identifier: Apache-2.0 */
/* DeformConv: a convolution whose taps are shifted by offsets [N, groups * taps * axes, out...] and
 * weighted by a mask [N, groups * taps, out...]. Values between elements are interpolated linearly;
 * outside the image they are zero. */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "ops/class_conv.h"
#include "ops/class_rows.h"

enum { X, W, OFFSET, BIAS, MASK };
enum { MAX_AXES = 3 };

static const op_attr_def ATTRS[] = {
    {"dilations", OP_ATTR_INTS, false, NULL},
    {"group", OP_ATTR_INT, false, "1"},
    {"kernel_shape", OP_ATTR_INTS, false, NULL},
    {"offset_group", OP_ATTR_INT, false, "1"},
    {"pads", OP_ATTR_INTS, false, NULL},
    {"strides", OP_ATTR_INTS, false, NULL},
    {0},
};

/* Checks the shape of the offsets or the mask: `each` channels per kernel position and offset
 * group. */
static pgy_status check_field(op_infer *c, size_t input, int64_t each, const dim *out,
                              pgy_error *err)
{
    const op_value *x = &c->inputs[X], *w = &c->inputs[W];
    const int64_t groups = op_attr_int(c->node, "offset_group", 1);
    pgy_status st = rank_check(c, input, x->rank, x->rank, err);
    if (st || !rank_known(c, input) || w->rank < 0) return st;
    const dim taps = op_dims_product(c, w->dims, 2, (size_t)w->rank);
    st = dim_check(c, input, 0, x->dims[0], "the batch", err);
    if (!st)
        st = dim_check(c, input, 1, dim_mul(c->dims, taps, dim_const(groups * each)),
                       "the number of offset taps", err);
    for (int32_t d = 2; !st && d < x->rank; d++)
        st = dim_check(c, input, (size_t)d, out[d], "the same dimension of the output", err);
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    const int64_t groups = op_attr_int(c->node, "offset_group", 1);
    pgy_status st = rank_check(c, X, 3, MAX_AXES + 2, err);
    if (!st) st = conv_infer(c, W, BIAS, x->dtype, err);
    if (st || x->rank < 0) return st;
    if (groups < 1 || groups > INT32_MAX || (dim_is_const(x->dims[1]) && x->dims[1].value % groups))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute offset_group is %" PRId64 ", which does not divide the channels",
                        groups);
    const dim *out = c->outputs[0].dims;
    if (c->outputs[0].rank != x->rank) return PGY_OK;
    st = check_field(c, OFFSET, x->rank - 2, out, err);
    return st ? st : check_field(c, MASK, 1, out, err);
}

typedef struct deform {
    const op_eval *c;
    window w;
    /* in_channels and out_channels are those of one group */
    size_t axes, groups, in_channels, out_channels, offset_groups;
    size_t taps, in_plane, out_plane;
} deform;

/* The image at a position, interpolated between the 2^axes elements around it. */
static double sample(const deform *d, const double *plane, const double *at)
{
    double low[MAX_AXES], sum = 0;
    for (size_t a = 0; a < d->axes; a++) low[a] = floor(at[a]);
    for (unsigned corner = 0; corner < 1u << d->axes; corner++) {
        double weight = 1;
        size_t index = 0;
        for (size_t a = 0; a < d->axes; a++) {
            const double p = low[a] + (corner >> a & 1);
            if (!(p >= 0 && p < (double)d->w.in[a])) {
                weight = 0;
                break;
            }
            weight *= corner >> a & 1 ? at[a] - low[a] : 1 - (at[a] - low[a]);
            index = index * (size_t)d->w.in[a] + (size_t)p;
        }
        if (weight != 0) sum += weight * plane[index];
    }
    return sum;
}

/* Gives the position in the image of a kernel tap for an output element, before the offset is
 * added. */
static void place(const deform *d, double *at, size_t tap, size_t out)
{
    for (size_t a = d->axes; a-- > 0;) {
        at[a] = (double)((int64_t)(out % (size_t)d->w.out[a]) * d->w.stride[a] - d->w.begin[a] +
                         (int64_t)(tap % (size_t)d->w.kernel[a]) * d->w.dilation[a]);
        out /= (size_t)d->w.out[a];
        tap /= (size_t)d->w.kernel[a];
    }
}

/* Computes one output element of every channel from the samples of all input channels. */
static void run_element(const deform *d, size_t batch, size_t out)
{
    const size_t channels = d->in_channels * d->groups;
    const double *mask = in_f64(d->c, MASK), *bias = in_f64(d->c, BIAS);
    double *y = out_f64(d->c, 0) + batch * d->groups * d->out_channels * d->out_plane + out;
    for (size_t o = 0; bias && o < d->groups * d->out_channels; o++) y[o * d->out_plane] = bias[o];
    for (size_t ch = 0; ch < channels; ch++) {
        const size_t group = ch / d->in_channels, moved = ch / (channels / d->offset_groups);
        const double *plane = in_f64(d->c, X) + (batch * channels + ch) * d->in_plane;
        for (size_t tap = 0; tap < d->taps; tap++) {
            const size_t field = (batch * d->offset_groups + moved) * d->taps + tap;
            double at[MAX_AXES];
            place(d, at, tap, out);
            for (size_t a = 0; a < d->axes; a++)
                at[a] += in_f64(d->c, OFFSET)[(field * d->axes + a) * d->out_plane + out];
            const double value =
                sample(d, plane, at) * (mask ? mask[field * d->out_plane + out] : 1);
            const double *w =
                in_f64(d->c, W) +
                (group * d->out_channels * d->in_channels + ch % d->in_channels) * d->taps + tap;
            for (size_t o = 0; o < d->out_channels; o++)
                y[(group * d->out_channels + o) * d->out_plane] +=
                    value * w[o * d->in_channels * d->taps];
        }
    }
}

static void run(size_t begin, size_t end, void *user)
{
    const deform *d = user;
    for (size_t i = begin; i < end; i++) run_element(d, i / d->out_plane, i % d->out_plane);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    conv_problem p;
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "FFFff", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = conv_prepare(&p, c, W, err);
    if (st || !out_count(c, 0)) return st;
    deform d = {.c = c,
                .w = p.window,
                .axes = p.window.rank,
                .groups = p.groups,
                .in_channels = p.in_channels,
                .out_channels = p.out_channels,
                .offset_groups = (size_t)op_attr_int(c->node, "offset_group", 1),
                .taps = window_kernel_count(&p.window),
                .in_plane = window_in_count(&p.window),
                .out_plane = window_out_count(&p.window)};
    rows_run(p.batch * d.out_plane, d.in_channels * d.groups * d.taps * (d.out_channels + 8), run,
             &d);
    return PGY_OK;
}

static double flops(const op_infer *c)
{
    return conv_flops(c, W);
}

const op_def OP_deform_conv[] = {
    {"DeformConv", "", 19, 0, 3, 5, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F3, infer, eval, flops},
    {"DeformConv", "", 22, 0, 3, 5, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F4, infer, eval, flops},
    {NULL},
};
