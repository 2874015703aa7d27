/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized values as doubles. Sums of products of 8-bit values are exact in a double for any
 * length that fits in memory. */
#include "ops/class_integer.h"

#include <math.h>

#include "ops/class_rows.h"
#include "tensor/convert.h"

static double value_at(const op_eval *c, size_t input, size_t i)
{
    return element_as_f64(pgy_tensor_dtype(c->inputs[input].value), in_data(c, input), i);
}

pgy_status integer_shifted(double **out, const op_eval *c, size_t x, size_t zero, size_t axis,
                           pgy_error *err)
{
    size_t count = in_count(c, x), zeros = in_count(c, zero), length = 1, inner = 1;
    if (zeros > 1) {
        axis_view v = axis < in_rank(c, x)
                          ? axis_view_of(in_shape(c, x), in_rank(c, x), axis, axis + 1)
                          : (axis_view){1, 1, 1};
        length = v.length;
        inner = v.inner;
        if (length != zeros)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "input %zu (a zero point) has %zu elements, but dimension %zu of input"
                            " %zu is %zu",
                            zero, zeros, axis, x, length);
    }
    double *values = NULL;
    pgy_status st = workspace_alloc((void **)&values, c, count, sizeof *values, err);
    if (st) return st;
    for (size_t i = 0; i < count; i++) {
        double shift = zeros == 0 ? 0 : value_at(c, zero, zeros == 1 ? 0 : i / inner % length);
        values[i] = value_at(c, x, i) - shift;
    }
    *out = values;
    return PGY_OK;
}

void integer_store(int64_t *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool fits = from[i] > -9.2e18 && from[i] < 9.2e18; /* always true for 8-bit inputs */
        to[i] = fits ? (int64_t)from[i] : 0;
    }
}

int64_t integer_quantize(double x, int64_t zero, pgy_dtype dtype)
{
    double least = dtype == PGY_U8 ? 0 : -128, most = dtype == PGY_U8 ? 255 : 127;
    double v = nearbyint(x) + (double)zero;
    if (!(v > least)) return (int64_t)least;
    return (int64_t)(v < most ? v : most);
}

pgy_status integer_add(op_eval *c, size_t y_scale, size_t r, pgy_error *err)
{
    const size_t count = out_count(c, 0), have = in_count(c, r);
    for (size_t i = r + 1; i <= r + 4; i++)
        if (in_count(c, i) != 1)
            return op_error(c->node, err, PGY_E_SHAPE, "input %zu must have one element", i);
    const double scales[] = {in_f64(c, y_scale)[0], in_f64(c, r + 1)[0], in_f64(c, r + 3)[0]};
    const int64_t zeros[] = {in_i64(c, y_scale + 1)[0], in_i64(c, r + 2)[0], in_i64(c, r + 4)[0]};
    const int64_t *x = in_i64(c, r);
    int64_t *y = out_i64(c, 0);
    for (size_t i = 0; i < count; i++) {
        const double sum =
            (double)(y[i] - zeros[0]) * scales[0] + (double)(x[i % have] - zeros[1]) * scales[1];
        y[i] = integer_quantize(sum / scales[2], zeros[2], c->outputs[0].dtype);
    }
    return PGY_OK;
}
