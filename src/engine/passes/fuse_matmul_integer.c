/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces MatMulInteger, a Cast to float32, a Mul by the scale and an Add of a bias, as dynamic
 * quantisation writes them, by MatMulIntegerToFloat of com.microsoft. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

static const char FUSED[] = "com.microsoft:MatMulIntegerToFloat";

enum { A, B, A_SCALE, B_SCALE, A_ZERO, B_ZERO, BIAS, INPUTS };

/* Is v one number, or one for each of `columns`? */
static bool is_scale(const pgy_value *v, int64_t columns)
{
    if (!v || pattern_dtype(v) != PGY_F32) return false;
    if (pattern_rank(v) == 0) return true;
    const int64_t count = pattern_rank(v) == 1 ? pattern_size(v, 0) : -1;
    return count == 1 || (count > 1 && count == columns); /* not if both are unknown */
}

static bool is_one(const pgy_value *v)
{
    return !v || pattern_has_at_most(v, 1);
}

static bool add_scale(pattern *p, pgy_node *n)
{
    static const double ONE = 1;
    if (!pattern_is(n, "Mul") || pattern_dtype(n->outputs[0]) != PGY_F32) return false;
    for (size_t i = 0; i < 2; i++) {
        const pgy_node *cast = pattern_inner(n->inputs[i], "Cast");
        const pgy_node *sums = cast ? pattern_inner(cast->inputs[0], "MatMulInteger") : NULL;
        if (!sums || pattern_rank(sums->inputs[B]) < 2) continue;
        pgy_value *a_zero = pattern_input(sums, 2), *scale = n->inputs[1 - i];
        if (!is_one(a_zero) || !is_scale(scale, pattern_size(sums->inputs[B], -1))) return false;
        pgy_value *one = pattern_weight(p, n->graph, "scale", PGY_F32, 0, NULL, &ONE);
        pgy_value *const inputs[] = {sums->inputs[A], sums->inputs[B], one,
                                     scale,           a_zero,          pattern_input(sums, 3)};
        return one && pattern_put(p, n, FUSED, inputs, BIAS);
    }
    return false;
}

static bool add_bias(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "Add")) return false;
    for (size_t i = 0; i < 2; i++) {
        const pgy_node *sums = pattern_inner(n->inputs[i], FUSED);
        pgy_value *bias = n->inputs[1 - i], *inputs[INPUTS];
        if (!sums || pattern_input(sums, BIAS)) continue;
        if (!pattern_is_constant(p, bias) || pattern_dtype(bias) != PGY_F32 ||
            pattern_rank(bias) != 1 || pattern_size(bias, 0) < 1 ||
            pattern_size(bias, 0) != pattern_size(sums->inputs[B], -1))
            return false;
        for (size_t k = 0; k < BIAS; k++) inputs[k] = pattern_input(sums, k);
        inputs[BIAS] = bias;
        return pattern_put(p, n, FUSED, inputs, INPUTS);
    }
    return false;
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {add_scale, add_bias, NULL};
    if (pass_is_for_cuda(target)) return PGY_OK;
    return pattern_run(g, "fuse_matmul_integer", RULES, changes, err);
}

const pass PASS_fuse_matmul_integer = {
    .name = "fuse_matmul_integer",
    .summary = "MatMulInteger, Cast, Mul and a bias: MatMulIntegerToFloat",
    .run_for = run};
