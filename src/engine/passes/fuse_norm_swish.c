/* SPDX-License-Identifier: Apache-2.0 */
/* GroupNormalization, then x * sigmoid(x), becomes GroupNorm of com.microsoft, which has both. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

enum { NORM_INPUTS = 3, SCALE_PER_CHANNEL = 21 /* opset */ };

static bool is_plain_swish(const pgy_node *n)
{
    return (pattern_is(n, "com.microsoft:QuickGelu") && pattern_float(n, "alpha", 1.702) == 1) ||
           (pattern_is(n, "Swish") && pattern_float(n, "alpha", 1) == 1);
}

static bool has_kernel_type(const pgy_value *v)
{
    const pgy_dtype t = pattern_dtype(v);
    return t == PGY_F32 || t == PGY_F16 || t == PGY_BF16;
}

static bool fuse(pattern *p, pgy_node *n)
{
    const pgy_node *norm =
        is_plain_swish(n) ? pattern_inner(n->inputs[0], "GroupNormalization") : NULL;
    if (!norm || norm->input_count != NORM_INPUTS || pattern_int(norm, "stash_type", 1) != 1 ||
        pgy_graph_opset(n->graph, "") < SCALE_PER_CHANNEL || pattern_rank(norm->inputs[0]) < 3)
        return false;
    for (size_t i = 0; i < NORM_INPUTS; i++)
        if (!has_kernel_type(norm->inputs[i])) return false;
    const int64_t groups = pattern_int(norm, "num_groups", 0);
    const double epsilon = pattern_float(norm, "epsilon", 1e-5);
    pgy_value *inputs[] = {norm->inputs[0], norm->inputs[1], norm->inputs[2]};
    pgy_node *made = pattern_put(p, n, "com.microsoft:GroupNorm", inputs, NORM_INPUTS);
    pattern_set_int(p, made, "groups", groups);
    pattern_set_int(p, made, "channels_last", 0);
    pattern_set_int(p, made, "activation", 1);
    pattern_set_float(p, made, "epsilon", epsilon);
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse, NULL};
    return pattern_run(g, "fuse_norm_swish", RULES, changes, err);
}

const pass PASS_fuse_norm_swish = {.name = "fuse_norm_swish",
                                   .summary = "GroupNormalization and x * sigmoid(x) after it",
                                   .run = run};
