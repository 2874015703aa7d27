/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises LayerNormalization in elementary nodes: the mean is subtracted, the difference divided
 * by its standard deviation, scaled and shifted by constants; or value and mean are scaled before
 * the subtraction. */
#include "transform/fuse/fuse.h"
#include "transform/pattern_norm.h"

bool fuse_layer_norm(pattern *p, pgy_node *n)
{
    pattern_norm m;
    const bool apart = pattern_norm_find_apart(&m, p, n);
    if (!apart && (!pattern_norm_find(&m, p, n) || !pattern_norm_centre(&m, p))) return false;
    if (!apart) pattern_norm_narrow(&m, p);
    if (!pattern_fits_attribute(p, m.x, m.epsilon) || !pattern_norm_affine(&m, p, true))
        return false;
    pgy_value *inputs[] = {m.x, m.scale, m.shift};
    pgy_node *made = pattern_put(p, m.last, "LayerNormalization", inputs, 3);
    pattern_set_int(p, made, "axis", m.axis);
    pattern_set_float(p, made, "epsilon", m.epsilon);
    return true;
}
