/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample: values of an image at normalised positions, in any number of spatial axes. Every axis
 * gives up to four taps (index and weight); the sample is the sum over their product. The grid's
 * coordinates start with the last axis. */
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { MAX_AXES = 6 };
typedef enum sample_mode { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC } sample_mode;
typedef enum sample_padding { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION } sample_padding;

static const op_attr_def ATTRS_16[] = {
    {"align_corners", OP_ATTR_INT, false, "0"},
    {"mode", OP_ATTR_STRING, false, "bilinear", "bilinear nearest bicubic"},
    {"padding_mode", OP_ATTR_STRING, false, "zeros", "zeros border reflection"},
    {NULL},
};

static const op_attr_def ATTRS_20[] = {
    {"align_corners", OP_ATTR_INT, false, "0"},
    {"mode", OP_ATTR_STRING, false, "linear", "linear nearest cubic"},
    {"padding_mode", OP_ATTR_STRING, false, "zeros", "zeros border reflection"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0], *grid = &c->inputs[1];
    bool flat = c->node->def->since < 20;
    pgy_status st = rank_check(c, 0, flat ? 4 : 3, flat ? 4 : MAX_AXES + 2, err);
    if (st) return st;
    if (x->rank < 0 || grid->rank < 0) {
        op_set_unknown(c, 0, x->dtype, x->rank >= 0 ? x->rank : grid->rank,
                       "the shape of an input is not known");
        return PGY_OK;
    }
    st = rank_check(c, 1, x->rank, x->rank, err);
    if (!st) st = dim_check(c, 1, 0, x->dims[0], "the batch of input 0", err);
    if (!st)
        st = dim_check(c, 1, (size_t)grid->rank - 1, dim_const(x->rank - 2),
                       "the number of spatial axes", err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = dim_joined(c, 1, 0, dims[0]);
    for (int32_t i = 2; i < x->rank; i++) dims[i] = grid->dims[i - 1];
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

typedef struct sampler {
    const op_eval *c;
    const double *x;
    double *y;
    /* plane: elements of an image; positions: elements of an output image */
    size_t axes, channels, plane, positions;
    const int64_t *extents;
    sample_mode mode;
    sample_padding padding;
    bool align;
} sampler;

typedef struct tap {
    /* index of the image element along this axis; negative: outside, counts as zero */
    int64_t index;
    double weight;
} tap;

static double reflect(double x, double low, double high)
{
    double length = high - low;
    if (length <= 0) return low;
    double offset = fmod(fabs(x - low), 2 * length);
    return low + (offset > length ? 2 * length - offset : offset);
}

static double low_border(const sampler *s)
{
    return s->align ? 0 : -0.5;
}

static double high_border(const sampler *s, double extent)
{
    return s->align ? extent - 1 : extent - 0.5;
}

static double denormalize(const sampler *s, double x, double extent)
{
    return s->align ? (x + 1) / 2 * (extent - 1) : ((x + 1) * extent - 1) / 2;
}

static double pad(const sampler *s, double x, double extent)
{
    if (s->padding == PAD_BORDER) return fmin(fmax(x, 0), extent - 1);
    if (s->padding == PAD_REFLECTION) return reflect(x, low_border(s), high_border(s, extent));
    return x;
}

/* Converts an integer position to an index by the padding mode. */
static int64_t index_of(const sampler *s, double x, double extent)
{
    if (s->padding == PAD_ZEROS) return x >= 0 && x < extent ? (int64_t)x : -1;
    double padded = nearbyint(pad(s, x, extent));
    return (int64_t)fmin(fmax(padded, 0), extent - 1);
}

static double cubic(double d)
{
    const double a = -0.75;
    d = fabs(d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? (((d - 5) * d + 8) * d - 4) * a : 0;
}

static size_t find_taps(const sampler *s, tap *taps, double normal, double extent)
{
    double x = denormalize(s, normal, extent);
    if (!(fabs(x) < 1e15))
        x = s->padding == PAD_ZEROS || isnan(x) ? -1e9 : fmin(fmax(x, -1e15), 1e15);
    if (s->mode == SAMPLE_NEAREST) {
        taps[0] = (tap){index_of(s, nearbyint(pad(s, x, extent)), extent), 1};
        return 1;
    }
    if (s->mode == SAMPLE_LINEAR) {
        x = pad(s, x, extent);
        double low = floor(x);
        taps[0] = (tap){index_of(s, low, extent), 1 - (x - low)};
        taps[1] = (tap){index_of(s, low + 1, extent), x - low};
        return 2;
    }
    double low = floor(x);
    for (int i = 0; i < 4; i++)
        taps[i] = (tap){index_of(s, low - 1 + i, extent), cubic(x - (low - 1 + i))};
    return 4;
}

/* The sum over the product of the taps of the axes from `axis` on. */
static double gather(const sampler *s, const double *x, tap taps[][4], size_t count, size_t axis,
                     size_t at)
{
    double sum = 0;
    for (size_t t = 0; t < count; t++) {
        const tap *p = &taps[axis][t];
        if (p->index < 0) continue;
        size_t next = at * (size_t)s->extents[axis] + (size_t)p->index;
        sum +=
            p->weight * (axis + 1 == s->axes ? x[next] : gather(s, x, taps, count, axis + 1, next));
    }
    return sum;
}

static void run(size_t begin, size_t end, void *user)
{
    const sampler *s = user;
    for (size_t i = begin; i < end; i++) {
        size_t image = i / s->positions, at = i % s->positions, count = 0;
        const double *grid = in_f64(s->c, 1) + i * s->axes;
        tap taps[MAX_AXES][4];
        for (size_t a = 0; a < s->axes; a++)
            count = find_taps(s, taps[a], grid[s->axes - 1 - a], (double)s->extents[a]);
        for (size_t ch = 0; ch < s->channels; ch++) {
            size_t plane = image * s->channels + ch;
            s->y[plane * s->positions + at] = gather(s, s->x + plane * s->plane, taps, count, 0, 0);
        }
    }
}

static pgy_status read_modes(sampler *s, const op_node *n, pgy_error *err)
{
    if (op_attr_is(n, "mode", "nearest", NULL))
        s->mode = SAMPLE_NEAREST;
    else if (op_attr_is(n, "mode", "bilinear", NULL) || op_attr_is(n, "mode", "linear", NULL))
        s->mode = SAMPLE_LINEAR;
    else if (op_attr_is(n, "mode", "bicubic", NULL) || op_attr_is(n, "mode", "cubic", NULL))
        s->mode = SAMPLE_CUBIC;
    else
        return op_error(n, err, PGY_E_ARGUMENT, "attribute mode must be nearest, linear or cubic");
    if (op_attr_is(n, "padding_mode", "zeros", NULL))
        s->padding = PAD_ZEROS;
    else if (op_attr_is(n, "padding_mode", "border", NULL))
        s->padding = PAD_BORDER;
    else if (op_attr_is(n, "padding_mode", "reflection", NULL))
        s->padding = PAD_REFLECTION;
    else
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute padding_mode must be zeros, border or reflection");
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    sampler s = {
        .c = c, .axes = in_rank(c, 0) - 2, .align = op_attr_int(c->node, "align_corners", 0) != 0};
    pgy_tensor *x = NULL, *y = NULL;
    pgy_status st = inputs_check(c, "!F", err);
    if (!st) st = read_modes(&s, c->node, err);
    if (st || !out_count(c, 0)) return st;
    if (!in_count(c, 0))
        return op_error(c->node, err, PGY_E_SHAPE, "input 0 is empty, so it cannot be sampled");
    s.extents = in_shape(c, 0) + 2;
    s.channels = (size_t)in_shape(c, 0)[1];
    s.plane = axis_view_of(in_shape(c, 0), in_rank(c, 0), 2, in_rank(c, 0)).length;
    s.positions = axis_view_of(out_shape(c, 0), out_rank(c, 0), 2, out_rank(c, 0)).length;
    if (pgy_tensor_dtype(c->inputs[0].value) == PGY_F64) {
        x = pgy_tensor_retain(c->inputs[0].value);
        y = pgy_tensor_retain(c->outputs[0].value);
    } else {
        st = pgy_tensor_cast(&x, pgy_tensor_view(c->inputs[0].value), PGY_F64, err);
        if (!st) st = pgy_tensor_create(&y, PGY_F64, out_rank(c, 0), out_shape(c, 0), err);
    }
    if (!st) {
        s.x = op_f64(x);
        s.y = op_f64(y);
        rows_run((size_t)in_shape(c, 0)[0] * s.positions, s.channels * 16, run, &s);
        if (y != c->outputs[0].value)
            st = pgy_view_convert(pgy_tensor_view(c->outputs[0].value), pgy_tensor_view(y), false,
                                  err);
    }
    pgy_tensor_release(x);
    pgy_tensor_release(y);
    return st;
}

static double flops(const op_infer *c)
{
    return 8 * dims_product(&c->outputs[0]);
}

/* Integers are interpolated in double precision and truncated; bool, complex numbers and strings
 * are not accepted. */
#define TYPES TYPES_N11
#define ROW(version, attrs, words)                                                    \
    {                                                                                 \
        "GridSample", "", version, 0, 2, 2, 1, 1, 0, attrs, words, infer, eval, flops \
    }
const op_def OP_grid_sample[] = {ROW(16, ATTRS_16, TYPES),
                                 ROW(20, ATTRS_20, TYPES),
                                 ROW(22, ATTRS_20, TYPES " bfloat16"),
                                 {NULL}};
