/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Rfft and Irfft: the Fourier transform of real signals over the last axes. Of the
 * last transformed axis only the first half of the spectrum is kept, as pairs of real and
 * imaginary part in a further axis. Irfft includes the factor 1 / N. */
#include <string.h>

#include "base/alloc.h"
#include "ops/class_fourier.h"

enum { FORWARD, INVERSE };

static const op_attr_def ATTRS[] = {
    {"normalized", OP_ATTR_INT, false, "0", .range = "0..0"},
    {"onesided", OP_ATTR_INT, false, "1", .range = "1..1"},
    {"signal_ndim", OP_ATTR_INT, false, "1", .range = "1..1"},
    {NULL},
};

static pgy_status infer_forward(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const pgy_status st = rank_check(c, 0, 1, PGY_MAX_RANK - 1, err);
    op_set_unknown(c, 0, x->dtype, -1, "the shape of the input is not known");
    if (st || x->rank < 0) return st;
    dim *dims = op_dims(c, (size_t)x->rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dim *length = &dims[x->rank - 1];
    if (dim_is_const(*length) && (length->value < 1 || length->value > INT32_MAX))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the signal has %lld elements, but must have 1 to 2^31 - 1",
                        (long long)length->value);
    *length = dim_add(c->dims, dim_div_floor(c->dims, *length, dim_const(2)), dim_const(1));
    dims[x->rank] = dim_const(2);
    op_set_output(c, 0, x->dtype, x->rank + 1, dims);
    return PGY_OK;
}

static pgy_status infer_inverse(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    pgy_status st = rank_check(c, 0, 2, PGY_MAX_RANK, err);
    op_set_unknown(c, 0, x->dtype, -1, "the shape of the input is not known");
    if (!st && x->rank >= 2)
        st = dim_check(c, 0, (size_t)x->rank - 1, dim_const(2), "real and imaginary part", err);
    if (st || x->rank < 0) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    dim *length = &dims[x->rank - 2];
    if (dim_is_const(*length) && (length->value < 2 || length->value > INT32_MAX / 2))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the spectrum has %lld elements, but must have 2 to 2^30",
                        (long long)length->value);
    *length = dim_mul(c->dims, dim_const(2), dim_sub(c->dims, *length, dim_const(1)));
    op_set_output(c, 0, x->dtype, x->rank - 1, dims);
    return PGY_OK;
}

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

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const bool inverse = c->node->def->user == INVERSE;
    const size_t rank = out_rank(c, 0);
    const size_t kept = rank && inverse ? (size_t)in_shape(c, 0)[rank - 1] : 0;
    fourier_plan plan = {0};
    double *work = NULL;
    pgy_status st = inputs_check(c, "F", err);
    if (st || !out_count(c, 0)) return st;
    const size_t n = inverse ? 2 * (kept - 1) : (size_t)in_shape(c, 0)[in_rank(c, 0) - 1];
    st = fourier_init(&plan, c, n, err);
    if (!st) st = workspace_alloc((void **)&work, c, 6 * n, sizeof *work, err);
    if (st) goto done;
    const size_t from = inverse ? 2 * kept : n, to = inverse ? n : 2 * (n / 2 + 1);
    for (size_t i = 0; i < in_count(c, 0) / from; i++) {
        const double *x = in_f64(c, 0) + i * from;
        double *y = out_f64(c, 0) + i * to;
        if (inverse)
            transform_back(y, x, work, &plan);
        else
            transform(y, x, work, &plan);
    }
done:
    mem_free(work);
    fourier_deinit(&plan);
    return st;
}

#define SIGNATURE "T = float16 float32 float64; X:T -> Y:T"

const op_def OP_rfft[] = {
    {"Rfft", "com.microsoft", 1, 0, 1, 1, 1, 1, 0, ATTRS, TYPES_F3, infer_forward, eval, NULL,
     .user = FORWARD, .signature = SIGNATURE},
    {"Irfft", "com.microsoft", 1, 0, 1, 1, 1, 1, 0, ATTRS, TYPES_F3, infer_inverse, eval, NULL,
     .user = INVERSE, .signature = SIGNATURE},
    {NULL},
};
