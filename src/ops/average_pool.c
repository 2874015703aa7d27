/* SPDX-License-Identifier: Apache-2.0 */
/* AveragePool: the mean under the window, over the elements of the input or, with
 * count_include_pad, of the padded input. Elements that a last window (ceil_mode) covers beyond the
 * padding never count. */
#include "ops/class_pool.h"

static const op_attr_def ATTRS_7[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"count_include_pad", OP_ATTR_INT, false, "0"},
    {"kernel_shape", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

static const op_attr_def ATTRS_10[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"ceil_mode", OP_ATTR_INT, false, "0"},
    {"count_include_pad", OP_ATTR_INT, false, "0"},
    {"kernel_shape", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

static const op_attr_def ATTRS_19[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"ceil_mode", OP_ATTR_INT, false, "0"},
    {"count_include_pad", OP_ATTR_INT, false, "0"},
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"kernel_shape", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

/* Along axis i, the number of kernel positions that count for the mean at output position o. */
static int64_t counted(const pool_problem *p, size_t i, int64_t o)
{
    const window *w = &p->window;
    int64_t start = o * w->stride[i] - w->begin[i], step = w->dilation[i];
    int64_t least = p->count_padding ? -w->begin[i] : 0;
    int64_t limit = w->in[i] + (p->count_padding ? w->end[i] : 0);
    int64_t first = start < least ? (least - start + step - 1) / step : 0;
    int64_t end = start < limit ? (limit - start + step - 1) / step : 0;
    if (end > w->kernel[i]) end = w->kernel[i];
    return end > first ? end - first : 0;
}

static void average_row(const pool_problem *p, size_t plane, size_t row)
{
    const window *w = &p->window;
    size_t last = w->rank - 1, taps = window_taps(w), rest = row;
    const double *x = in_f64(p->c, 0) + plane * window_in_count(w);
    double *y = out_f64(p->c, 0) + (plane * window_out_rows(w) + row) * (size_t)w->out[last];
    double outer = 1;
    for (size_t i = last; i-- > 0;) {
        outer *= (double)counted(p, i, (int64_t)(rest % (size_t)w->out[i]));
        rest /= (size_t)w->out[i];
    }
    for (int64_t i = 0; i < w->out[last]; i++) y[i] = 0;
    for (size_t tap = 0; tap < taps; tap++) {
        size_t in_row;
        if (!window_row(w, row, tap, &in_row)) continue;
        const double *line = x + in_row * (size_t)w->in[last];
        for (int64_t t = 0; t < w->kernel[last]; t++) {
            int64_t lo, hi, from, stride = w->stride[last];
            window_columns(w, t, &lo, &hi, &from);
            for (int64_t i = lo; i < hi; i++, from += stride) y[i] += line[from];
        }
    }
    for (int64_t i = 0; i < w->out[last]; i++) y[i] /= outer * (double)counted(p, last, i);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pool_problem p;
    pgy_status st = inputs_check(c, "F", err);
    if (!st) st = pool_prepare(&p, c, err);
    if (st) return st;
    p.count_padding = op_attr_int(c->node, "count_include_pad", 0) != 0;
    pool_run(&p, average_row);
    return PGY_OK;
}

#define ROW(version, attrs, words)                                                               \
    {                                                                                            \
        "AveragePool", "", version, 0, 1, 1, 1, 1, 0, attrs, words, pool_infer, eval, pool_flops \
    }
const op_def OP_average_pool[] = {
    ROW(7, ATTRS_7, TYPES_F3),   ROW(10, ATTRS_10, TYPES_F3), ROW(11, ATTRS_10, TYPES_F3),
    ROW(19, ATTRS_19, TYPES_F3), ROW(22, ATTRS_19, TYPES_F4), {NULL},
};
