/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormalization written out: the mean is subtracted, the rest divided by its standard
 * deviation, scaled and shifted by constants. */
#include "engine/pass.h"
#include "engine/pattern_norm.h"

static bool fuse(pattern *p, pgy_node *n)
{
    pattern_norm m;
    if (!pattern_norm_find(&m, p, n) || !pattern_norm_centre(&m, p) ||
        !pattern_norm_affine(&m, p, true))
        return false;
    pgy_value *inputs[] = {m.x, m.scale, m.shift};
    pgy_node *made = pattern_put(p, m.last, "LayerNormalization", inputs, 3);
    pattern_set_int(p, made, "axis", m.axis);
    pattern_set_float(p, made, "epsilon", m.epsilon);
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse, NULL};
    return pattern_run(g, "fuse_layer_norm", RULES, changes, err);
}

const pass PASS_fuse_layer_norm = {
    .name = "fuse_layer_norm", .summary = "LayerNormalization written out", .run = run};
