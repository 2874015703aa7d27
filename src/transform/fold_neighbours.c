/* SPDX-License-Identifier: Apache-2.0 */
/* Merges neighbours: MatMul and the addition of a bias into Gemm, a Pad with zeros into the
 * convolution behind it, and an operation into the Gemm from which a Reshape separates it. Folding
 * uses only those fusion rules that need no newer operators and that ONNX Runtime applies, too. */
#include "transform/fuse/fuse.h"

/* Is v a constant with one number per column of a matrix product? */
static bool is_bias(const pattern *p, const pgy_value *v)
{
    const int32_t rank = pattern_rank(v);
    return pattern_is_constant(p, v) && (rank == 1 || (rank == 2 && pattern_size(v, 0) == 1));
}

static bool add_bias(pattern *p, pgy_node *n)
{
    return pattern_is(n, "Add") && n->input_count == 2 &&
           (is_bias(p, n->inputs[0]) || is_bias(p, n->inputs[1])) && fuse_gemm(p, n);
}

pgy_status fold_neighbours(folder *f, pgy_graph *level, pgy_error *err)
{
    static const pattern_rule RULES[] = {add_bias, fuse_pad_into_conv, fuse_through_view, NULL};
    if (f->options.keep_separate || level_of(level)->is_function) return PGY_OK;
    return pattern_fold_level(f, level, RULES, err);
}
