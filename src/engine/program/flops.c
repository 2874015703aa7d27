/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of products, from the shapes of their operands. */
#include "engine/program/flops.h"

#include <string.h>

static double elements(flops_shape s)
{
    double n = 1;
    for (int32_t i = 0; i < s.rank; i++) n *= (double)s.dims[i];
    return n;
}

/* Every element of `each` meets the channels and taps of a filter; w is [filters, channels, taps].
 */
static double conv(flops_shape each, flops_shape w)
{
    return w.rank < 3 || each.rank < 0 || !w.dims[0]
               ? 0
               : 2 * elements(each) * elements(w) / (double)w.dims[0];
}

/* a has the batch and the rows of y, and the summed dimension; it may be transposed. */
static double matmul(flops_shape a, flops_shape y)
{
    if (a.rank < 2 || a.rank != y.rank || !y.dims[y.rank - 1]) return 0;
    for (int32_t i = 0; i + 2 < a.rank; i++)
        if (a.dims[i] != y.dims[i]) return 0;
    const double rows = elements(y) / (double)y.dims[y.rank - 1];
    return rows > 0 ? 2 * elements(y) * (elements(a) / rows) : 0;
}

/* A pointwise convolution of x, whose filters are w, and a convolution with the filters v. */
static double expanded_conv(flops_shape x, flops_shape w, flops_shape v, flops_shape y)
{
    const double second = conv(y, v);
    return w.rank < 3 || x.rank < 0 || second <= 0 ? 0
                                                   : 2 * elements(x) * (double)w.dims[0] + second;
}

double program_flops(const char *op, const flops_shape inputs[FLOPS_INPUTS], flops_shape y)
{
    const flops_shape a = inputs[0], b = inputs[1];
    if (strstr(op, "ConvTranspose")) return conv(a, b);
    if (strstr(op, "ExpandedConv")) return expanded_conv(a, b, inputs[2], y);
    if (strstr(op, "Conv")) return conv(y, b);
    if (strstr(op, "MatMul") || strstr(op, "Gemm")) return matmul(a, y);
    return 0;
}
