/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors times matrices that Gather or GatherND takes from a constant table, as mixtures of
 * experts are exported: GatherMatMul of pgy. The matrices are never copied, and each is read once
 * for all its vectors. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

/* The node that takes v, whole matrices, from a constant table by a list of indices; or NULL. */
static pgy_node *gather_of(pattern *p, const pgy_value *v)
{
    pgy_node *gather = pattern_inner(v, "Gather"),
             *n = gather ? gather : pattern_inner(v, "GatherND");
    if (!n || !pattern_is_constant(p, n->inputs[0]) || pattern_rank(n->inputs[0]) != 3 ||
        !pattern_is_float(n->inputs[0]) || pattern_int(n, "axis", 0) ||
        pattern_int(n, "batch_dims", 0))
        return NULL;
    const int32_t rank = pattern_rank(n->inputs[1]);
    const bool is_list = gather ? rank == 1 : rank == 2 && pattern_size(n->inputs[1], 1) == 1;
    return is_list ? n : NULL;
}

static bool rule(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "MatMul")) return false;
    for (size_t side = 0; side < 2; side++) { /* 0: the vectors are columns */
        const pgy_node *gather = gather_of(p, n->inputs[side]);
        pgy_value *a = n->inputs[!side];
        if (!gather || pattern_rank(a) != 3 || pattern_size(a, side ? 1 : 2) != 1 ||
            !pattern_same_size(a, 0, gather->inputs[1], 0))
            continue;
        pgy_value *inputs[] = {a, gather->inputs[0], gather->inputs[1]};
        pgy_node *made = pattern_put(p, n, "pgy:GatherMatMul", inputs, 3);
        if (!side) pattern_set_int(p, made, "column", 1);
        return true;
    }
    return false;
}

/* CUDA devices have kernels of Gather and MatMul. */
static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {rule, NULL};
    if (pass_is_for_cuda(target)) return PGY_OK;
    return pattern_run(g, "fuse_gather_matmul", RULES, changes, err);
}

const pass PASS_fuse_gather_matmul = {
    .name = "fuse_gather_matmul",
    .summary = "vectors times matrices that their indices take from a table, as of experts",
    .run_for = run};
