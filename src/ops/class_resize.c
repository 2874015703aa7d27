/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling is separable: axis by axis, each output line is a weighted sum of source lines (one
 * line of weight 1 for nearest). Weights are computed once per axis. Nearest moves elements of any
 * type; the other modes work in double precision and truncate for integers. */
#include "ops/class_resize.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_rows.h"

/* ---- Shape ---------------------------------------------------------------------------------- */

/* Largest denominator, a power of two, of a scale that multiplies a symbolic size. Such scales are
 * exact in single precision, like whole numbers. */
enum { MAX_FRACTION = 16 };

pgy_status resize_scaled(dim *out, op_infer *c, dim in, double scale, pgy_error *err)
{
    if (!(scale > 0) || !isfinite(scale))
        return op_error(c->node, err, PGY_E_ARGUMENT, "a scale is %g, but must be positive", scale);
    if (dim_is_const(in)) {
        float size = floorf((float)in.value * (float)scale);
        if (!(size < 9e18f))
            return op_error(c->node, err, PGY_E_SHAPE,
                            "a scale of %g makes a dimension of %" PRId64 " too large", scale,
                            in.value);
        *out = dim_const((int64_t)size);
        return PGY_OK;
    }
    int64_t times = 0, by = 1;
    const double inverse = 1 / scale;
    while (scale * (double)by != floor(scale * (double)by) && by < MAX_FRACTION) by *= 2;
    if (scale * (double)by == floor(scale * (double)by) && scale * (double)by < 1e6)
        times = (int64_t)(scale * (double)by);
    else if (inverse == floor(inverse) && inverse < 1e6) {
        times = 1;
        by = (int64_t)inverse;
    }
    *out = times ? dim_div_floor(c->dims, dim_mul(c->dims, in, dim_const(times)), dim_const(by))
                 : dim_unknown(c->dims, "a symbolic dimension is scaled by a fraction");
    return PGY_OK;
}

/* ---- Weights -------------------------------------------------------------------------------- */

/* Holds `taps` source indices and weights for each output index. */
typedef struct line_map {
    size_t in, out, taps;
    size_t *index;
    double *weight;
    bool *outside; /* indexed by output index, for tf_crop_and_resize: whether its position is
                      outside the source */
} line_map;

static void map_deinit(line_map *m)
{
    mem_free(m->index);
    mem_free(m->weight);
    mem_free(m->outside);
}

/* Divides x by the scale. For nearest, this is done in single precision as in other runtimes,
 * because the rounding decides ties. */
static double quotient(const resize_settings *s, double x, double scale)
{
    return s->mode == RESIZE_NEAREST ? (double)((float)x / (float)scale) : x / scale;
}

static double source_position(const resize_settings *s, const resize_axis *a, double x, double in,
                              double out)
{
    switch (s->coords) {
    case RESIZE_HALF_PIXEL: return quotient(s, x + 0.5, a->scale) - 0.5;
    case RESIZE_PYTORCH_HALF_PIXEL: return out > 1 ? quotient(s, x + 0.5, a->scale) - 0.5 : 0;
    case RESIZE_HALF_PIXEL_SYMMETRIC:
        return in / 2 * (1 - out / (a->scale * in)) + (x + 0.5) / a->scale - 0.5;
    case RESIZE_ALIGN_CORNERS: return out > 1 ? x * (in - 1) / (out - 1) : 0;
    case RESIZE_ASYMMETRIC: return quotient(s, x, a->scale);
    case RESIZE_TF_HALF_PIXEL_FOR_NN: return quotient(s, x + 0.5, a->scale);
    case RESIZE_TF_CROP:
        if (out <= 1) return 0.5 * (a->roi_begin + a->roi_end) * (in - 1);
        return a->roi_begin * (in - 1) + x * (a->roi_end - a->roi_begin) * (in - 1) / (out - 1);
    }
    return x;
}

static double round_position(const resize_settings *s, double x, double scale)
{
    switch (s->rounding) {
    case RESIZE_ROUND_PREFER_FLOOR: return ceil(x - 0.5);
    case RESIZE_ROUND_PREFER_CEIL: return floor(x + 0.5);
    case RESIZE_FLOOR: return floor(x);
    case RESIZE_CEIL: return ceil(x);
    case RESIZE_FLOOR_UP_CEIL_DOWN: return scale < 1 ? ceil(x) : floor(x);
    }
    return x;
}

static double cubic(double a, double d)
{
    d = fabs(d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? (((d - 5) * d + 8) * d - 4) * a : 0;
}

/* Half the width of the interpolation kernel, in source elements. */
static double reach(const resize_settings *s, const resize_axis *a)
{
    double support = s->mode == RESIZE_LINEAR ? 1 : 2;
    return s->antialias && a->scale < 1 ? support / a->scale : support;
}

static double kernel(const resize_settings *s, const resize_axis *a, double d)
{
    if (s->antialias && a->scale < 1) d *= a->scale;
    if (s->mode == RESIZE_CUBIC) return cubic(s->cubic_a, d);
    return fabs(d) < 1 ? 1 - fabs(d) : 0;
}

static size_t clamp_index(double x, size_t in)
{
    if (!(x > 0)) return 0;
    return x >= (double)in ? in - 1 : (size_t)x;
}

static void weigh(line_map *m, const resize_settings *s, const resize_axis *a, size_t at, double x)
{
    size_t *index = m->index + at * m->taps;
    double *weight = m->weight + at * m->taps, sum = 0;
    if (s->mode == RESIZE_NEAREST) {
        /* Exporters and runtimes get exact ties in single precision only: 3.5 / 0.7f - 0.5 is
         * 4.5. */
        index[0] = clamp_index(round_position(s, (double)(float)x, a->scale), m->in);
        weight[0] = 1;
        return;
    }
    double first = floor(x) - (double)(m->taps / 2 - 1);
    for (size_t t = 0; t < m->taps; t++) {
        double from = first + (double)t;
        bool inside = from >= 0 && from < (double)m->in;
        index[t] = clamp_index(from, m->in);
        weight[t] = s->exclude_outside && !inside ? 0 : kernel(s, a, from - x);
        sum += weight[t];
    }
    for (size_t t = 0; t < m->taps && sum != 0; t++) weight[t] /= sum;
}

static pgy_status map_init(line_map *m, const op_eval *c, const resize_settings *s,
                           const resize_axis *a, size_t in, size_t out, pgy_error *err)
{
    double taps = s->mode == RESIZE_NEAREST ? 1 : 2 * ceil(reach(s, a));
    size_t count = 0;
    *m = (line_map){.in = in, .out = out};
    if (!(taps < 1e9) || !size_mul(&count, out, (size_t)taps))
        return op_error(c->node, err, PGY_E_ARGUMENT, "a scale of %g is too small", a->scale);
    m->taps = (size_t)taps;
    pgy_status st = workspace_alloc((void **)&m->index, c, count, sizeof *m->index, err);
    if (!st) st = workspace_alloc((void **)&m->weight, c, count, sizeof *m->weight, err);
    if (!st) st = workspace_alloc((void **)&m->outside, c, out, sizeof *m->outside, err);
    for (size_t i = 0; !st && i < out; i++) {
        double x = source_position(s, a, (double)i, (double)in, (double)out);
        if (isnan(x))
            return op_error(c->node, err, PGY_E_ARGUMENT, "the region of interest holds NaN");
        m->outside[i] = s->coords == RESIZE_TF_CROP && (x < 0 || x > (double)in - 1);
        weigh(m, s, a, i, x);
    }
    return st;
}

/* ---- Passes --------------------------------------------------------------------------------- */

typedef struct pass {
    const line_map *map;
    const double *x;
    double *y;
    size_t inner;
} pass;

static void pass_lines(size_t begin, size_t end, void *user)
{
    const pass *p = user;
    const line_map *m = p->map;
    for (size_t line = begin; line < end; line++) {
        size_t outer = line / m->out, at = line % m->out * m->taps;
        double *y = p->y + line * p->inner;
        for (size_t j = 0; j < p->inner; j++) y[j] = 0;
        for (size_t t = 0; t < m->taps; t++) {
            double w = m->weight[at + t];
            const double *x = p->x + (outer * m->in + m->index[at + t]) * p->inner;
            for (size_t j = 0; w != 0 && j < p->inner; j++) y[j] += w * x[j];
        }
    }
}

/* Resamples *x along `axis` into a new array, which replaces it, and updates shape. */
static pgy_status run_pass(double **x, int64_t *shape, size_t rank, size_t axis, const line_map *m,
                           const op_eval *c, pgy_error *err)
{
    axis_view v = axis_view_of(shape, rank, axis, axis + 1);
    double *y = NULL;
    size_t lines = 0, count = 0;
    if (!size_mul(&lines, v.outer, m->out) || !size_mul(&count, lines, v.inner))
        return op_error(c->node, err, PGY_E_MEMORY,
                        "an intermediate result is too large for memory");
    pgy_status st = workspace_alloc((void **)&y, c, count, sizeof *y, err);
    if (st) return st;
    pass p = {m, *x, y, v.inner};
    if (v.inner) rows_run(lines, v.inner * m->taps, pass_lines, &p);
    mem_free(*x);
    *x = y;
    shape[axis] = (int64_t)m->out;
    return PGY_OK;
}

static double load(const pgy_tensor *t, size_t i)
{
    const void *data = pgy_tensor_data(t);
    switch (pgy_tensor_dtype(t)) {
    case PGY_F64: return ((const double *)data)[i];
    case PGY_U64: return (double)((const uint64_t *)data)[i];
    default: return (double)((const int64_t *)data)[i];
    }
}

/* Integers are rounded with antialiasing and truncated without, as ONNX Runtime does. */
static void store(pgy_tensor *t, size_t i, double v)
{
    void *data = pgy_tensor_data(t);
    bool fits = v > -9.2e18 && v < 9.2e18;
    if (pgy_tensor_dtype(t) == PGY_F64)
        ((double *)data)[i] = v;
    else if (pgy_tensor_dtype(t) == PGY_U64)
        ((uint64_t *)data)[i] = v >= 0 && v < 1.8e19 ? (uint64_t)v : 0;
    else
        ((int64_t *)data)[i] = fits ? (int64_t)v : 0;
}

static pgy_status interpolate(op_eval *c, const line_map *maps, bool antialias, pgy_error *err)
{
    size_t rank = in_rank(c, 0), count = in_count(c, 0);
    int64_t shape[PGY_MAX_RANK];
    double *x = NULL;
    pgy_dtype held = pgy_tensor_dtype(c->inputs[0].value);
    if (held != PGY_F64 && held != PGY_I64 && held != PGY_U64)
        return op_error(c->node, err, PGY_E_TYPE, "elements of type %s cannot be interpolated",
                        pgy_dtype_name(c->inputs[0].dtype));
    pgy_status st = workspace_alloc((void **)&x, c, count, sizeof *x, err);
    if (st) return st;
    for (size_t i = 0; i < count; i++) x[i] = load(c->inputs[0].value, i);
    memcpy(shape, in_shape(c, 0), rank * sizeof *shape);
    for (size_t i = 0; !st && i < rank; i++)
        if (maps[i].index) st = run_pass(&x, shape, rank, i, &maps[i], c, err);
    const bool rounds = antialias && held != PGY_F64;
    for (size_t i = 0; !st && i < out_count(c, 0); i++)
        store(c->outputs[0].value, i, rounds ? round(x[i]) : x[i]);
    mem_free(x);
    return st;
}

typedef struct pick {
    op_eval *c;
    const line_map *maps;
    size_t item; /* size of an element in bytes */
} pick;

static size_t source_of(const pick *p, size_t i)
{
    const int64_t *in = in_shape(p->c, 0), *out = out_shape(p->c, 0);
    size_t from = 0, scale = 1;
    for (size_t d = in_rank(p->c, 0); d-- > 0; i /= (size_t)out[d]) {
        size_t at = i % (size_t)out[d];
        from += (p->maps[d].index ? p->maps[d].index[at] : at) * scale;
        scale *= (size_t)in[d];
    }
    return from;
}

static void pick_elements(size_t begin, size_t end, void *user)
{
    const pick *p = user;
    const char *x = in_data(p->c, 0);
    char *y = out_data(p->c, 0);
    for (size_t i = begin; i < end; i++)
        memcpy(y + i * p->item, x + source_of(p, i) * p->item, p->item);
}

static pgy_status nearest(op_eval *c, const line_map *maps, pgy_error *err)
{
    size_t count = out_count(c, 0);
    pick p = {c, maps, count ? pgy_tensor_size_bytes(c->outputs[0].value) / count : 0};
    if (pgy_tensor_dtype(c->inputs[0].value) != PGY_STRING) {
        rows_run(count, 8, pick_elements, &p);
        return PGY_OK;
    }
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        const pgy_string *s = (const pgy_string *)in_data(c, 0) + source_of(&p, i);
        st = pgy_tensor_set_string(c->outputs[0].value, i, s->data, s->size, err);
    }
    return st;
}

/* Sets elements whose position is outside the source in any axis to `value`. */
static void extrapolate(op_eval *c, const line_map *maps, double value)
{
    const int64_t *out = out_shape(c, 0);
    pgy_dtype held = pgy_tensor_dtype(c->inputs[0].value);
    if (held != PGY_F64 && held != PGY_I64 && held != PGY_U64) return;
    for (size_t i = 0; i < out_count(c, 0); i++) {
        bool outside = false;
        for (size_t d = out_rank(c, 0), rest = i; d-- > 0; rest /= (size_t)out[d])
            if (maps[d].outside && maps[d].outside[rest % (size_t)out[d]]) outside = true;
        if (outside) store(c->outputs[0].value, i, value);
    }
}

pgy_status resize_run(op_eval *c, const resize_settings *s, const resize_axis *axes, pgy_error *err)
{
    line_map maps[PGY_MAX_RANK] = {0};
    size_t rank = in_rank(c, 0);
    const int64_t *in = in_shape(c, 0);
    pgy_status st = PGY_OK;
    if (!c->outputs[0].value)
        return op_error(c->node, err, PGY_E_INTERNAL, "the shape of output 0 is unknown");
    if (!out_count(c, 0)) return PGY_OK;
    if (!in_count(c, 0))
        return op_error(c->node, err, PGY_E_SHAPE, "an empty input cannot be enlarged");
    for (size_t i = 0; !st && i < rank; i++) {
        bool same =
            axes[i].scale == 1 && in[i] == out_shape(c, 0)[i] && s->coords != RESIZE_TF_CROP;
        if (!same)
            st = map_init(&maps[i], c, s, &axes[i], (size_t)in[i], (size_t)out_shape(c, 0)[i], err);
    }
    if (!st)
        st = s->mode == RESIZE_NEAREST ? nearest(c, maps, err)
                                       : interpolate(c, maps, s->antialias, err);
    if (!st && s->coords == RESIZE_TF_CROP) extrapolate(c, maps, s->extrapolation);
    for (size_t i = 0; i < rank; i++) map_deinit(&maps[i]);
    return st;
}
