/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Rfft and Irfft: the Fourier transform of real signals over the last one to three
 * axes. Of the last axis only the first half of the spectrum is kept, as pairs of real and
 * imaginary part in a further axis. Irfft includes the factor 1 / N. */
#include <string.h>

#include "base/alloc.h"
#include "ops/class_fourier.h"
#include "ops/class_rows.h"

enum { FORWARD, INVERSE };

static const op_attr_def ATTRS[] = {
    {"normalized", OP_ATTR_INT, false, "0"},
    {"onesided", OP_ATTR_INT, false, "1"},
    {"signal_ndim", OP_ATTR_INT, false, "1", .range = "1..3"},
    {NULL},
};

static int32_t signal_axes(const op_node *n)
{
    return (int32_t)op_attr_int(n, "signal_ndim", 1);
}

/* ONNX Runtime's schema says of these two that no other value is supported; its kernel ignores
 * `normalized`, and leaves a part of the result unwritten if onesided is 0. */
static pgy_status check_attributes(const op_node *n, pgy_error *err)
{
    static const struct {
        const char *name;
        int64_t only;
    } FIXED[] = {{"normalized", 0}, {"onesided", 1}};
    for (size_t i = 0; i < sizeof FIXED / sizeof *FIXED; i++) {
        const int64_t value = op_attr_int(n, FIXED[i].name, FIXED[i].only);
        if (value != FIXED[i].only)
            return op_error(n, err, PGY_E_UNSUPPORTED,
                            "attribute %s is %lld, but ONNX Runtime, which defines this operator, "
                            "gives only %lld a meaning",
                            FIXED[i].name, (long long)value, (long long)FIXED[i].only);
    }
    return PGY_OK;
}

/* Checks the lengths of `count` axes of the signal or the spectrum. */
static pgy_status check_lengths(const op_infer *c, const dim *dims, int32_t count, int64_t least,
                                int64_t most, pgy_error *err)
{
    for (int32_t i = 0; i < count; i++)
        if (dim_is_const(dims[i]) && (dims[i].value < least || dims[i].value > most))
            return op_error(c->node, err, PGY_E_SHAPE,
                            "the %s has %lld elements along an axis, but must have %lld to %lld",
                            c->node->def->user == INVERSE ? "spectrum" : "signal",
                            (long long)dims[i].value, (long long)least, (long long)most);
    return PGY_OK;
}

static pgy_status infer_forward(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const int32_t axes = signal_axes(c->node);
    pgy_status st = check_attributes(c->node, err);
    if (!st) st = rank_check(c, 0, axes, PGY_MAX_RANK - 1, err);
    op_set_unknown(c, 0, x->dtype, -1, "the shape of the input is not known");
    if (!st && x->rank >= 0)
        st = check_lengths(c, x->dims + x->rank - axes, axes, 1, INT32_MAX, err);
    if (st || x->rank < 0) return st;
    dim *dims = op_dims(c, (size_t)x->rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dim *length = &dims[x->rank - 1];
    *length = dim_add(c->dims, dim_div_floor(c->dims, *length, dim_const(2)), dim_const(1));
    dims[x->rank] = dim_const(2);
    op_set_output(c, 0, x->dtype, x->rank + 1, dims);
    return PGY_OK;
}

static pgy_status infer_inverse(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const int32_t axes = signal_axes(c->node);
    pgy_status st = check_attributes(c->node, err);
    if (!st) st = rank_check(c, 0, axes + 1, PGY_MAX_RANK, err);
    op_set_unknown(c, 0, x->dtype, -1, "the shape of the input is not known");
    if (st || x->rank < 0) return st;
    st = dim_check(c, 0, (size_t)x->rank - 1, dim_const(2), "real and imaginary part", err);
    if (!st) st = check_lengths(c, x->dims + x->rank - 1 - axes, axes - 1, 1, INT32_MAX, err);
    if (!st) st = check_lengths(c, x->dims + x->rank - 2, 1, 2, INT32_MAX / 2, err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    dim *length = &dims[x->rank - 2];
    *length = dim_mul(c->dims, dim_const(2), dim_sub(c->dims, *length, dim_const(1)));
    op_set_output(c, 0, x->dtype, x->rank - 1, dims);
    return PGY_OK;
}

/* ---- The last axis -------------------------------------------------------------------------- */

static void transform(double *y, const double *x, double *work, const fourier_plan *p)
{
    const size_t n = p->length, kept = n / 2 + 1;
    double *in = work, *out = work + 2 * n;
    for (size_t i = 0; i < n; i++) {
        in[2 * i] = x[i];
        in[2 * i + 1] = 0;
    }
    fourier_run(p, out, in, work + 4 * n, false);
    memcpy(y, out, 2 * kept * sizeof *y);
}

/* The other half of the spectrum is the conjugate of the given one. The imaginary parts of its
 * first and last element do not count. */
static void transform_back(double *y, const double *x, double *work, const fourier_plan *p)
{
    const size_t n = p->length, kept = n / 2 + 1;
    double *in = work, *out = work + 2 * n;
    memcpy(in, x, 2 * kept * sizeof *in);
    in[1] = in[2 * kept - 1] = 0;
    for (size_t i = kept; i < n; i++) {
        in[2 * i] = x[2 * (n - i)];
        in[2 * i + 1] = -x[2 * (n - i) + 1];
    }
    fourier_run(p, out, in, work + 4 * n, true);
    for (size_t i = 0; i < n; i++) y[i] = out[2 * i] / (double)n;
}

/* Transforms the lines of the last axis, from x to y. */
static pgy_status transform_lines(const op_eval *c, double *y, const double *x, size_t length,
                                  size_t lines, pgy_error *err)
{
    const bool inverse = c->node->def->user == INVERSE;
    const size_t pairs = 2 * (length / 2 + 1);
    fourier_plan plan = {0};
    double *work = NULL;
    pgy_status st = fourier_init(&plan, c, length, err);
    if (!st) st = workspace_alloc((void **)&work, c, 6 * length, sizeof *work, err);
    for (size_t i = 0; !st && i < lines; i++)
        if (inverse)
            transform_back(y + i * length, x + i * pairs, work, &plan);
        else
            transform(y + i * pairs, x + i * length, work, &plan);
    mem_free(work);
    fourier_deinit(&plan);
    return st;
}

/* ---- The axes before it --------------------------------------------------------------------- */

/* Transforms the complex lines of one axis of `data` in place. */
static pgy_status transform_axis(const op_eval *c, double *data, axis_view v, pgy_error *err)
{
    const bool inverse = c->node->def->user == INVERSE;
    const double scale = inverse ? 1 / (double)v.length : 1;
    fourier_plan plan = {0};
    double *in = NULL;
    pgy_status st = fourier_init(&plan, c, v.length, err);
    if (!st) st = workspace_alloc((void **)&in, c, 6 * v.length, sizeof *in, err);
    double *out = st ? NULL : in + 2 * v.length;
    for (size_t i = 0; !st && i < v.outer * v.inner; i++) {
        double *line = data + 2 * (i / v.inner * v.length * v.inner + i % v.inner);
        for (size_t k = 0; k < v.length; k++)
            memcpy(in + 2 * k, line + 2 * k * v.inner, 2 * sizeof *in);
        fourier_run(&plan, out, in, out + 2 * v.length, inverse);
        for (size_t k = 0; k < v.length; k++)
            for (size_t part = 0; part < 2; part++)
                line[2 * k * v.inner + part] = out[2 * k + part] * scale;
    }
    mem_free(in);
    fourier_deinit(&plan);
    return st;
}

/* shape: that of the spectrum `data`, whose last axis holds the pairs. */
static pgy_status transform_axes(const op_eval *c, double *data, const int64_t *shape, size_t rank,
                                 pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t axis = rank - 1 - (size_t)signal_axes(c->node); !st && axis < rank - 2; axis++)
        st = transform_axis(c, data, axis_view_of(shape, rank - 1, axis, axis + 1), err);
    return st;
}

static pgy_status eval_forward(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "F", err);
    if (st || !out_count(c, 0)) return st;
    const size_t length = (size_t)in_shape(c, 0)[in_rank(c, 0) - 1];
    st = transform_lines(c, out_f64(c, 0), in_f64(c, 0), length, in_count(c, 0) / length, err);
    return st ? st : transform_axes(c, out_f64(c, 0), out_shape(c, 0), out_rank(c, 0), err);
}

static pgy_status eval_inverse(op_eval *c, pgy_error *err)
{
    double *spectrum = NULL;
    pgy_status st = inputs_check(c, "F", err);
    if (st || !out_count(c, 0)) return st;
    const size_t length = (size_t)out_shape(c, 0)[out_rank(c, 0) - 1];
    st = workspace_alloc((void **)&spectrum, c, in_count(c, 0), sizeof *spectrum, err);
    if (st) return st;
    memcpy(spectrum, in_f64(c, 0), in_count(c, 0) * sizeof *spectrum);
    st = transform_axes(c, spectrum, in_shape(c, 0), in_rank(c, 0), err);
    if (!st)
        st = transform_lines(c, out_f64(c, 0), spectrum, length, out_count(c, 0) / length, err);
    mem_free(spectrum);
    return st;
}

#define SIGNATURE "T = float16 float32 float64; X:T -> Y:T"

const op_def OP_rfft[] = {
    {"Rfft", "com.microsoft", 1, 0, 1, 1, 1, 1, 0, ATTRS, TYPES_F3, infer_forward, eval_forward,
     NULL, .user = FORWARD, .signature = SIGNATURE},
    {"Irfft", "com.microsoft", 1, 0, 1, 1, 1, 1, 0, ATTRS, TYPES_F3, infer_inverse, eval_inverse,
     NULL, .user = INVERSE, .signature = SIGNATURE},
    {NULL},
};
