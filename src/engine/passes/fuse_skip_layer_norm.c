/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses LayerNormalization of a sum into SkipLayerNormalization of com.microsoft, which can output
 * the sum, too. It supports rows of the last of three axes. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

static bool is_row(const pgy_value *v)
{
    return pattern_rank(v) == 1;
}

static bool is_suitable(const pgy_node *n)
{
    const pgy_value *x = n->inputs[0];
    if (!pattern_is(n, "LayerNormalization") || n->input_count < 2 || pattern_rank(x) != 3 ||
        !pattern_is_float(x) || !is_row(n->inputs[1]) || pattern_int(n, "stash_type", 1) != 1)
        return false;
    for (size_t i = 1; i < n->output_count; i++)
        if (n->outputs[i]) return false;
    const int64_t axis = pattern_int(n, "axis", -1);
    return (axis == -1 || axis == 2) && pattern_same_size(n->inputs[1], 0, x, 2) &&
           (!pattern_input(n, 2) || pattern_same_size(n->inputs[2], 0, x, 2));
}

static bool fuse(pattern *p, pgy_node *n)
{
    if (n->input_count == 0 || !n->inputs[0] || !is_suitable(n)) return false;
    pgy_value *sum = n->inputs[0];
    pgy_node *add = pattern_from(sum, "Add");
    if (!add || !pattern_same_shape(add->inputs[0], sum) ||
        !pattern_same_shape(add->inputs[1], sum))
        return false;
    const double epsilon = pattern_float(n, "epsilon", 1e-5);
    const bool shared = !pattern_is_inner(sum);
    pgy_value *inputs[] = {add->inputs[0], add->inputs[1], n->inputs[1], pattern_input(n, 2)};
    pgy_value *outputs[] = {n->outputs[0], NULL, NULL, sum};
    pgy_node *made = pattern_put_outputs(p, n, "com.microsoft:SkipLayerNormalization", inputs, 4,
                                         outputs, shared ? 4 : 1);
    if (shared && made) pattern_drop(p, add);
    pattern_set_float(p, made, "epsilon", epsilon);
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse, NULL};
    return pattern_run(g, "fuse_skip_layer_norm", RULES, changes, err);
}

const pass PASS_fuse_skip_layer_norm = {
    .name = "fuse_skip_layer_norm", .summary = "LayerNormalization of a sum", .run = run};
