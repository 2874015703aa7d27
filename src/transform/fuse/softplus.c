/* SPDX-License-Identifier: Apache-2.0 */
/* log(1 + exp(x)). */
#include "transform/fuse/fuse.h"

bool fuse_softplus(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "Log") || !pattern_is_float(n->outputs[0])) return false;
    const pgy_node *add = pattern_inner(n->inputs[0], "Add");
    for (size_t i = 0; add && i < 2; i++) {
        const pgy_node *e = pattern_inner(add->inputs[i], "Exp");
        if (!e || !pattern_scalar_is(p, add->inputs[1 - i], 1) ||
            !pattern_same_shape(e->inputs[0], n->outputs[0]))
            continue;
        pgy_value *x = e->inputs[0];
        pattern_put(p, n, "Softplus", &x, 1);
        return true;
    }
    return false;
}
