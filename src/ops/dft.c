/* SPDX-License-Identifier: Apache-2.0 */
/* DFT: the discrete Fourier transform along an axis of real ([..., 1]) or complex ([..., 2]) input,
 * cut or padded with zeros to dft_length. With onesided it gives the first half of the spectrum of
 * real input, or as an inverse the real signal of such a half. */
#include <string.h>

#include "base/alloc.h"
#include "ops/class_fourier.h"
#include "ops/class_rows.h"

static const op_attr_def ATTRS_17[] = {
    {"axis", OP_ATTR_INT, false, "1"},
    {"inverse", OP_ATTR_INT, false, "0"},
    {"onesided", OP_ATTR_INT, false, "0"},
    {NULL},
};
static const op_attr_def ATTRS_20[] = {
    {"inverse", OP_ATTR_INT, false, "0"},
    {"onesided", OP_ATTR_INT, false, "0"},
    {NULL},
};

static bool flag(const op_node *n, const char *name)
{
    return op_attr_int(n, name, 0) != 0;
}

/* Reads the axis, an attribute or an input. False: it is an input whose value is unknown. */
static bool find_axis(const op_infer *c, int64_t *axis)
{
    const int64_t *values;
    size_t count;
    *axis = c->node->def->since < 20 ? op_attr_int(c->node, "axis", 1) : -2;
    if (c->node->def->since < 20 || !op_has_input(c, 2)) return true;
    if (!op_input_constants(c, 2, &values, &count) || count != 1) return false;
    *axis = values[0];
    return true;
}

static pgy_status check_axis(size_t *out, const op_node *n, int64_t axis, int32_t rank,
                             pgy_error *err)
{
    const pgy_status st = op_axis(out, n, axis, rank, err);
    if (!st && *out + 1 == (size_t)rank)
        return op_error(n, err, PGY_E_SHAPE,
                        "axis %lld holds the real and imaginary parts and cannot be transformed",
                        (long long)axis);
    return st;
}

static pgy_status find_length(dim *length, op_infer *c, size_t axis, pgy_error *err)
{
    const dim *given;
    size_t count;
    const dim size = c->inputs[0].dims[axis], one = dim_const(1);
    if (!op_has_input(c, 1)) {
        *length = flag(c->node, "onesided") && flag(c->node, "inverse")
                      ? dim_mul(c->dims, dim_const(2), dim_sub(c->dims, size, one))
                      : size;
    } else if (rule_values(c, 1, &given, &count) && count == 1) {
        *length = *given;
    } else {
        *length = dim_unknown(c->dims, "the length of the transform is computed at run time");
    }
    /* As in ONNX Runtime, a length that is given must not be 0, and the spectrum of no elements
     * has no first half. */
    const bool some =
        op_has_input(c, 1) || (flag(c->node, "onesided") && !flag(c->node, "inverse"));
    if (dim_is_const(*length) && (length->value < some || length->value > INT32_MAX))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the length of the transform is %lld, which is out of range",
                        (long long)length->value);
    return PGY_OK;
}

/* Sets the output shape when the axis is unknown: any axis but the last may be transformed, so
 * their lengths are unknown. */
static pgy_status infer_without_axis(op_infer *c, int64_t parts, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    const bool keeps = !op_has_input(c, 1) && !flag(c->node, "onesided");
    for (int32_t i = 0; !keeps && i < x->rank - 1; i++)
        dims[i] = dim_unknown(c->dims, "the axis of the transform is computed at run time");
    dims[x->rank - 1] = dim_const(parts);
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const bool onesided = flag(c->node, "onesided"), inverse = flag(c->node, "inverse");
    int64_t given;
    size_t axis;
    dim length;
    pgy_status st = rank_check(c, 0, 2, PGY_MAX_RANK, err);
    if (st) return st;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the shape of the input is not known");
        return PGY_OK;
    }
    if (!find_axis(c, &given)) return infer_without_axis(c, onesided && inverse ? 1 : 2, err);
    const dim parts = x->dims[x->rank - 1];
    if (dim_is_const(parts) && parts.value != 1 && parts.value != 2)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the last axis has %lld elements, but must have 1 (real) or 2 (complex)",
                        (long long)parts.value);
    if (onesided && dim_is_const(parts) && parts.value != (inverse ? 2 : 1))
        return op_error(c->node, err, PGY_E_SHAPE, "a onesided %s needs %s input",
                        inverse ? "inverse" : "transform", inverse ? "complex" : "real");
    st = check_axis(&axis, c->node, given, x->rank, err);
    if (!st) st = find_length(&length, c, axis, err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    dims[axis] = length;
    if (onesided && !inverse)
        dims[axis] = dim_add(c->dims, dim_div_floor(c->dims, length, dim_const(2)), dim_const(1));
    dims[x->rank - 1] = dim_const(onesided && inverse ? 1 : 2);
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

typedef struct dft {
    const double *x;
    double *y, *line, *spectrum, *work;
    size_t in_parts, out_parts, in_size, out_size, inner;
    fourier_plan plan;
    bool inverse, half;
} dft;

/* Reads line i of the input as complex numbers (pairs of doubles). The missing half of a one-sided
 * spectrum is its mirrored conjugate. */
static void read_line(dft *d, size_t i)
{
    const size_t n = d->plan.length, used = d->in_size < n ? d->in_size : n;
    const size_t step = d->inner * d->in_parts;
    const double *x = d->x + i / d->inner * d->in_size * step + i % d->inner * d->in_parts;
    memset(d->line, 0, 2 * n * sizeof *d->line);
    for (size_t k = 0; k < used && !(d->half && k > n / 2); k++) {
        d->line[2 * k] = x[k * step];
        d->line[2 * k + 1] = d->in_parts == 2 ? x[k * step + 1] : 0;
    }
    if (!d->half) return;
    d->line[1] = 0;
    if (n % 2 == 0) d->line[n + 1] = 0;
    for (size_t k = n / 2 + 1; k < n; k++) {
        d->line[2 * k] = d->line[2 * (n - k)];
        d->line[2 * k + 1] = -d->line[2 * (n - k) + 1];
    }
}

static void write_line(const dft *d, size_t i)
{
    const size_t step = d->inner * d->out_parts;
    const double scale = d->inverse ? 1 / (double)d->plan.length : 1;
    double *y = d->y + i / d->inner * d->out_size * step + i % d->inner * d->out_parts;
    for (size_t k = 0; k < d->out_size; k++)
        for (size_t part = 0; part < d->out_parts; part++)
            y[k * step + part] = d->spectrum[2 * k + part] * scale;
}

/* Gives the length of the transform: dft_length if present. Without it, the output's length for an
 * inverse one-sided transform, else the input's length. */
static pgy_status transform_length(size_t *out, const op_eval *c, size_t axis, pgy_error *err)
{
    const int64_t *given;
    size_t count;
    *out = (size_t)in_shape(c, 0)[axis];
    if (flag(c->node, "onesided") && flag(c->node, "inverse")) *out = (size_t)out_shape(c, 0)[axis];
    if (!op_has_value(c, 1)) return PGY_OK;
    const pgy_status st = op_eval_ints(c, 1, &given, &count, err);
    if (!st) *out = (size_t)given[0];
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    dft d = {.inverse = flag(c->node, "inverse")};
    const size_t rank = in_rank(c, 0);
    size_t axis, length;
    const int64_t axis_in = c->node->def->since >= 20 ? -2 : op_attr_int(c->node, "axis", 1);
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "Fii", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st)
        st = check_axis(&axis, c->node, in_count(c, 2) ? in_i64(c, 2)[0] : axis_in, (int32_t)rank,
                        err);
    if (!st) st = transform_length(&length, c, axis, err);
    if (st || !out_count(c, 0)) return st;
    d.half = d.inverse && flag(c->node, "onesided");
    d.x = in_f64(c, 0);
    d.y = out_f64(c, 0);
    d.in_parts = (size_t)in_shape(c, 0)[rank - 1];
    d.out_parts = (size_t)out_shape(c, 0)[rank - 1];
    d.in_size = (size_t)in_shape(c, 0)[axis];
    d.out_size = (size_t)out_shape(c, 0)[axis];
    const axis_view v = axis_view_of(in_shape(c, 0), rank - 1, axis, axis + 1);
    d.inner = v.inner;
    st = fourier_init(&d.plan, c, length, err);
    if (!st) st = workspace_alloc((void **)&d.line, c, 6 * length, sizeof *d.line, err);
    if (st) goto done;
    d.spectrum = d.line + 2 * length;
    d.work = d.line + 4 * length;
    for (size_t i = 0; i < v.outer * v.inner; i++) {
        read_line(&d, i);
        fourier_run(&d.plan, d.spectrum, d.line, d.work, d.inverse);
        write_line(&d, i);
    }
done:
    mem_free(d.line);
    fourier_deinit(&d.plan);
    return st;
}

const op_def OP_dft[] = {
    {"DFT", "", 17, 0, 1, 2, 1, 1, 0, ATTRS_17, TYPES_F4, infer, eval, NULL},
    {"DFT", "", 20, 0, 1, 3, 1, 1, 0, ATTRS_20, TYPES_F4, infer, eval, NULL},
    {NULL},
};
