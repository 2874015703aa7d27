/* SPDX-License-Identifier: Apache-2.0 */
/* STFT: transforms of frames of a signal [batch, length, 1 or 2], each multiplied by a window. Real
 * signals may also be [batch, length]: exporters write them so, and runtimes accept that. */
#include <string.h>

#include "base/alloc.h"
#include "ops/class_fourier.h"

enum { SIGNAL, STEP, WINDOW, LENGTH };

static const op_attr_def ATTRS[] = {
    {"onesided", OP_ATTR_INT, false, "1"},
    {NULL},
};

static dim scalar_of(op_infer *c, size_t i)
{
    const dim *values;
    size_t count;
    if (rule_values(c, i, &values, &count) && count == 1) return *values;
    return dim_unknown(c->dims, "the step or length of the frames is computed at run time");
}

static pgy_status frame_length(dim *out, op_infer *c, pgy_error *err)
{
    const dim unknown = dim_unknown(c->dims, "the length of the frames is computed at run time");
    dim window = unknown;
    if (rank_known(c, WINDOW)) window = c->inputs[WINDOW].dims[0];
    *out = op_has_input(c, LENGTH)       ? scalar_of(c, LENGTH)
           : op_has_input(c, WINDOW)     ? window
           : c->inputs[SIGNAL].rank >= 0 ? c->inputs[SIGNAL].dims[1]
                                         : unknown;
    if (op_has_input(c, WINDOW) && dim_differ(*out, window))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "frame_length differs from the length of the window");
    if (dim_is_const(*out) && (out->value < 1 || out->value > INT32_MAX))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the frames have length %lld, which is out of range",
                        (long long)out->value);
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[SIGNAL];
    const dim one = dim_const(1), step = scalar_of(c, STEP);
    dim length;
    pgy_status st = rank_check(c, SIGNAL, 2, 3, err);
    if (!st) st = rank_check(c, WINDOW, 1, 1, err);
    if (!st) st = frame_length(&length, c, err);
    if (!st && dim_is_const(step) && step.value < 1)
        st = op_error(c->node, err, PGY_E_ARGUMENT,
                      "input 1 (frame_step) is %lld, but must be positive", (long long)step.value);
    if (st) return st;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, 4, "the shape of the signal is not known");
        return PGY_OK;
    }
    const dim parts = x->rank == 3 ? x->dims[2] : one;
    const bool onesided = op_attr_int(c->node, "onesided", 1) != 0;
    if (dim_is_const(parts) && parts.value != 1 && (parts.value != 2 || onesided))
        return op_error(
            c->node, err, PGY_E_SHAPE, "the last axis has %lld elements, but must have 1%s",
            (long long)parts.value, onesided ? ", because onesided needs a real signal" : " or 2");
    dim *dims = op_dims(c, 4);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = x->dims[0];
    dims[1] =
        dim_add(c->dims, dim_div_floor(c->dims, dim_sub(c->dims, x->dims[1], length), step), one);
    dims[2] =
        onesided ? dim_add(c->dims, dim_div_floor(c->dims, length, dim_const(2)), one) : length;
    dims[3] = dim_const(2);
    if (dim_is_const(x->dims[1]) && dim_is_const(length) && length.value > x->dims[1].value)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the frames have length %lld, but the signal has only %lld elements",
                        (long long)length.value, (long long)x->dims[1].value);
    op_set_output(c, 0, x->dtype, 4, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    fourier_plan plan = {0};
    double *line = NULL;
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "FIfi", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    const int64_t *shape = in_shape(c, SIGNAL), *to = out_shape(c, 0);
    const size_t bins = (size_t)to[2], step = (size_t)in_i64(c, STEP)[0];
    const size_t parts = in_rank(c, SIGNAL) == 3 ? (size_t)shape[2] : 1;
    const size_t length = in_i64(c, LENGTH)   ? (size_t)in_i64(c, LENGTH)[0]
                          : in_f64(c, WINDOW) ? in_count(c, WINDOW)
                                              : (size_t)shape[1];
    const double *window = in_f64(c, WINDOW);
    st = fourier_init(&plan, c, length, err);
    if (!st) st = workspace_alloc((void **)&line, c, 6 * length, sizeof *line, err);
    for (size_t i = 0; !st && i < (size_t)to[0] * (size_t)to[1]; i++) {
        const size_t batch = i / (size_t)to[1], frame = i % (size_t)to[1];
        const double *x = in_f64(c, SIGNAL) + (batch * (size_t)shape[1] + frame * step) * parts;
        for (size_t k = 0; k < length; k++) {
            const double factor = window ? window[k] : 1;
            line[2 * k] = x[k * parts] * factor;
            line[2 * k + 1] = parts == 2 ? x[2 * k + 1] * factor : 0;
        }
        fourier_run(&plan, line + 2 * length, line, line + 4 * length, false);
        memcpy(out_f64(c, 0) + i * bins * 2, line + 2 * length, 2 * bins * sizeof *line);
    }
    mem_free(line);
    fourier_deinit(&plan);
    return st;
}

const op_def OP_stft[] = {
    {"STFT", "", 17, 0, 2, 4, 1, 1, 0, ATTRS, TYPES_F4, infer, eval, NULL},
    {NULL},
};
