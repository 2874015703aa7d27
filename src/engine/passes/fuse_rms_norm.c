/* SPDX-License-Identifier: Apache-2.0 */
/* RMSNormalization written out. Before opset 23 it is SimplifiedLayerNormalization, ONNX Runtime's
 * name in the default domain. */
#include "engine/pass.h"
#include "engine/pattern_norm.h"

static bool fuse(pattern *p, pgy_node *n)
{
    pattern_norm m, centred;
    if (!pattern_norm_find(&m, p, n)) return false;
    centred = m;
    if (pattern_norm_centre(&centred, p) || !pattern_norm_affine(&m, p, false)) return false;
    const bool has = pgy_graph_opset(n->graph, "") >= 23;
    pgy_value *inputs[] = {m.x, m.scale};
    pgy_node *made = pattern_put(
        p, m.last, has ? "RMSNormalization" : "SimplifiedLayerNormalization", inputs, 2);
    pattern_set_int(p, made, "axis", m.axis);
    pattern_set_float(p, made, "epsilon", m.epsilon);
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse, NULL};
    return pattern_run(g, "fuse_rms_norm", RULES, changes, err);
}

const pass PASS_fuse_rms_norm = {
    .name = "fuse_rms_norm", .summary = "RMSNormalization written out", .run = run};
