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
