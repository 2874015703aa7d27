/* SPDX-License-Identifier: Apache-2.0 */
/* MaxPool: the largest value under the window, padding excluded, and on request its index in the
 * input tensor. */
#include <float.h>
#include <math.h>

#include "ops/class_pool.h"

static const op_attr_def ATTRS_1[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"kernel_shape", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

static const op_attr_def ATTRS_8[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"kernel_shape", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"storage_order", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

static const op_attr_def ATTRS_10[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"ceil_mode", OP_ATTR_INT, false, "0"},
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"kernel_shape", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"storage_order", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

/* Index of an element of a plane (row-major) in the tensor, in the node's order of spatial axes. */
static int64_t tensor_index(const pool_problem *p, size_t plane, size_t at)
{
    const window *w = &p->window;
    size_t size = window_in_count(w), index = at;
    if (p->column_major) {
        size_t stride = size;
        index = 0;
        for (size_t i = w->rank; i-- > 0;) {
            stride /= (size_t)w->in[i];
            index += at % (size_t)w->in[i] * stride;
            at /= (size_t)w->in[i];
        }
    }
    return (int64_t)(plane * size + index);
}

/* Corrects windows with result -inf: if a window holds NaN but no -inf, its result is NaN. */
static void mark_nan(const pool_problem *p, double *y, const double *x, size_t row, size_t width)
{
    const window *w = &p->window;
    const size_t last = w->rank - 1, taps = window_taps(w);
    size_t low = 0;
    for (size_t i = 0; i < width; i++) low += y[i] == -INFINITY;
    if (!low) return;
    for (int pass = 0; pass < 2; pass++)
        for (size_t tap = 0; tap < taps; tap++) {
            size_t in_row;
            if (!window_row(w, row, tap, &in_row)) continue;
            const double *line = x + in_row * (size_t)w->in[last];
            for (int64_t t = 0; t < w->kernel[last]; t++) {
                int64_t lo, hi, from, stride = w->stride[last];
                window_columns(w, t, &lo, &hi, &from);
                for (int64_t i = lo; i < hi; i++, from += stride)
                    if (pass ? isnan(y[i]) && isinf(line[from])
                             : y[i] == -INFINITY && isnan(line[from]))
                        y[i] = line[from];
            }
        }
}

#define T double
#define ROW row_f64
#define LOWEST(p) (-INFINITY)
#define NAN_OF(v) isnan(v)
#define FINISH(p, y, x, row, width) mark_nan(p, y, x, row, width)
#include "ops/max_pool.inc"
#undef T
#undef ROW
#undef LOWEST
#undef NAN_OF
#undef FINISH

#define T int64_t
#define ROW row_i64
#define LOWEST(p) ((p)->lowest)
#define NAN_OF(v) false
#define FINISH(p, y, x, row, width) ((void)0)
#include "ops/max_pool.inc"
#undef T
#undef ROW
#undef LOWEST
#undef NAN_OF
#undef FINISH

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pool_problem p;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = pool_prepare(&p, c, err);
    if (st) return st;
    p.column_major = op_attr_int(c->node, "storage_order", 0) != 0;
    p.lowest = c->inputs[0].dtype == PGY_U8 ? 0 : -128;
    pool_run(&p, pgy_tensor_dtype(c->inputs[0].value) == PGY_F64 ? row_f64 : row_i64);
    return PGY_OK;
}

#define ROW(version, outputs, attrs, words)                                                        \
    {                                                                                              \
        "MaxPool", "", version, 0, 1, 1, 1, outputs, 0, attrs, words, pool_infer, eval, pool_flops \
    }
const op_def OP_max_pool[] = {
    ROW(1, 1, ATTRS_1, TYPES_F3),
    ROW(8, 2, ATTRS_8, TYPES_F3),
    ROW(10, 2, ATTRS_10, TYPES_F3),
    ROW(11, 2, ATTRS_10, TYPES_F3),
    ROW(12, 2, ATTRS_10, TYPES_F3 " int8 uint8"),
    ROW(22, 2, ATTRS_10, TYPES_F4 " int8 uint8"),
    {NULL},
};
