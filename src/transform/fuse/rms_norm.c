/* SPDX-License-Identifier: Apache-2.0 */
/* RMSNormalization written out. Before opset 23 it is SimplifiedLayerNormalization, ONNX Runtime's
 * name in the default domain. */
#include "transform/fuse/fuse.h"
#include "transform/pattern_norm.h"

bool fuse_rms_norm(pattern *p, pgy_node *n)
{
    pattern_norm m, centred;
    if (!pattern_norm_find(&m, p, n)) return false;
    centred = m;
    if (m.fast || pattern_norm_centre(&centred, p)) return false;
    pattern_norm_narrow(&m, p);
    if (!pattern_fits_attribute(p, m.x, m.epsilon) || !pattern_norm_affine(&m, p, false))
        return false;
    const bool has = pgy_graph_opset(n->graph, "") >= 23;
    pgy_value *inputs[] = {m.x, m.scale};
    pgy_node *made = pattern_put(
        p, m.last, has || p->standard ? "RMSNormalization" : "SimplifiedLayerNormalization", inputs,
        2);
    pattern_set_int(p, made, "axis", m.axis);
    pattern_set_float(p, made, "epsilon", m.epsilon);
    return true;
}
