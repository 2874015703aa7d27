/* SPDX-License-Identifier: Apache-2.0 */
/* A product of matrices and the addition behind it. */
#include "transform/fuse/fuse.h"

/* May c be Gemm's third input: does it broadcast to the shape of product y, not y to its shape? */
static bool fits(const pgy_value *c, const pgy_value *y)
{
    const int32_t rank = pattern_rank(c);
    if (rank < 1 || rank > 2 || pattern_dtype(c) != pattern_dtype(y)) return false;
    for (int32_t d = 1; d <= rank; d++)
        if (pattern_size(c, -d) != 1 && !pattern_same_size(c, -d, y, -d)) return false;
    return true;
}

bool fuse_gemm(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "Add") || !pattern_is_float(n->outputs[0])) return false;
    for (size_t i = 0; i < 2; i++) {
        const pgy_node *product = pattern_inner(n->inputs[i], "MatMul");
        if (!product || pattern_rank(product->inputs[0]) != 2 ||
            pattern_rank(product->inputs[1]) != 2 ||
            !pattern_same_shape(product->outputs[0], n->outputs[0]) ||
            !fits(n->inputs[1 - i], n->outputs[0]))
            continue;
        pgy_value *inputs[] = {product->inputs[0], product->inputs[1], n->inputs[1 - i]};
        pattern_put(p, n, "Gemm", inputs, 3);
        return true;
    }
    return false;
}
