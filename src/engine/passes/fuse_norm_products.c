/* SPDX-License-Identifier: Apache-2.0 */
/* For CUDA devices: normalisations of few rows that only a product reads, as before each product of
 * a decoder's step, become part of it: each of its blocks normalises the rows for itself, which
 * takes less than a launch. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

/* Less than the kernel can do (kernels/cuda/matmul_few.c): what a block normalises with one access
 * of each thread, which takes less than a launch; longer rows were not measured. */
enum { MOST_ROWS = 2, MOST_ELEMENTS = 2048, PACK = 8 };
enum { A, B, BIAS, RESIDUAL };

static const char FUSED[] = "pgy:FusedMatMul";

/* Are the rows few and of a known, suitable length? */
static bool has_few_rows(const pgy_value *v)
{
    const int64_t length = pattern_size(v, -1);
    int64_t rows = 1;
    if (pattern_rank(v) < 2 || length < 1 || length % PACK) return false;
    for (int32_t d = 0; d + 1 < pattern_rank(v); d++) {
        const int64_t size = pattern_size(v, d);
        if (size < 1 || size > MOST_ROWS) return false;
        rows *= size;
        if (rows > MOST_ROWS) return false;
    }
    return rows * length <= MOST_ELEMENTS;
}

static bool is_row_of(const pgy_value *v, const pgy_value *x)
{
    return pattern_rank(v) == 1 && pattern_same_size(v, 0, x, -1) &&
           pattern_dtype(v) == pattern_dtype(x);
}

static bool is_root(const pgy_node *n)
{
    return pattern_is(n, "RMSNormalization") || pattern_is(n, "SimplifiedLayerNormalization");
}

/* The normalisation of the last axis that makes v, and that nothing else reads; or NULL. */
static pgy_node *norm_of(const pgy_value *v)
{
    pgy_node *n = pattern_inner(v, "LayerNormalization");
    if (!n) n = pattern_inner(v, "RMSNormalization");
    if (!n) n = pattern_inner(v, "SimplifiedLayerNormalization");
    if (!n || n->input_count < 2 || pattern_int(n, "stash_type", 1) != 1) return NULL;
    for (size_t i = 1; i < n->output_count; i++)
        if (n->outputs[i]) return NULL;
    const pgy_value *x = n->inputs[0], *shift = pattern_input(n, 2);
    const int64_t axis = pattern_int(n, "axis", -1);
    const bool last = axis == -1 || axis + 1 == pattern_rank(x);
    return last && is_row_of(n->inputs[1], x) && (!shift || is_row_of(shift, x)) ? n : NULL;
}

static bool is_product(const pattern *p, const pgy_node *n)
{
    if ((!pattern_is(n, "MatMul") && !pattern_is(n, FUSED)) || n->input_count < 2) return false;
    const pgy_dtype t = pattern_dtype(n->inputs[A]);
    return (t == PGY_F16 || t == PGY_BF16) && pattern_dtype(n->inputs[B]) == t &&
           pattern_rank(n->inputs[B]) == 2 && pattern_is_constant(p, n->inputs[B]) &&
           pattern_size(n->inputs[B], 0) > 0 && pattern_size(n->inputs[B], 1) > 0 &&
           !pattern_int(n, "transA", 0) && has_few_rows(n->inputs[A]);
}

static bool take_norm(pattern *p, pgy_node *n)
{
    if (!is_product(p, n)) return false;
    pgy_node *norm = norm_of(n->inputs[A]);
    if (!norm) return false;
    const double epsilon = pattern_float(norm, "epsilon", 1e-5);
    const bool root = is_root(norm), turned = pattern_int(n, "transB", 0) != 0;
    pgy_value *const inputs[] = {norm->inputs[0],        n->inputs[B],
                                 pattern_input(n, BIAS), pattern_input(n, RESIDUAL),
                                 norm->inputs[1],        pattern_input(norm, 2)};
    pgy_node *made = pattern_put(p, n, "pgy:NormalisedMatMul", inputs, inputs[5] ? 6 : 5);
    pattern_copy(p, made, n, "activation");
    pattern_copy(p, made, n, "alpha");
    if (turned) pattern_set_int(p, made, "transB", 1);
    if (root) pattern_set_int(p, made, "root", 1);
    pattern_set_float(p, made, "epsilon", epsilon);
    return true;
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {take_norm, NULL};
    return pass_is_for_cuda(target) ? pattern_run(g, "fuse_norm_products", RULES, changes, err)
                                    : PGY_OK;
}

const pass PASS_fuse_norm_products = {
    .name = "fuse_norm_products",
    .summary = "normalisations of few rows in front of a product, for CUDA devices",
    .run_for = run};
