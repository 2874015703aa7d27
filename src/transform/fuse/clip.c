/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses Min and Max with one number each, in either order, into Clip. */
#include "transform/fuse/fuse.h"

/* Returns the variable operand of a Min or Max, and its constant operand as value *bound and as
 * *number. NULL: n is no such node. */
static pgy_value *take_apart(pattern *p, const pgy_node *n, const char *op, pgy_value **bound,
                             double *number)
{
    if (!n || !pattern_is(n, op) || n->input_count != 2) return NULL;
    for (size_t i = 0; i < 2; i++) {
        pgy_value *x = n->inputs[1 - i];
        if (!pattern_scalar(p, n->inputs[i], number) || !pattern_same_shape(x, n->outputs[0]))
            continue;
        *bound = n->inputs[i];
        return x;
    }
    return NULL;
}

bool fuse_clip(pattern *p, pgy_node *n)
{
    static const char *const OPS[] = {"Max", "Min"};
    pgy_value *bounds[2];
    double numbers[2];
    if (!n->outputs[0] || !pattern_is_float(n->outputs[0])) return false;
    const size_t outer = pattern_is(n, "Max") ? 0 : 1;
    pgy_value *x = take_apart(p, n, OPS[outer], &bounds[outer], &numbers[outer]);
    const pgy_node *inner = x ? pattern_inner(x, OPS[1 - outer]) : NULL;
    x = take_apart(p, inner, OPS[1 - outer], &bounds[1 - outer], &numbers[1 - outer]);
    if (!x || !(numbers[0] <= numbers[1])) return false;
    pgy_value *inputs[] = {x, bounds[0], bounds[1]};
    for (size_t i = 1; i < 3; i++)
        if (pattern_rank(inputs[i]) != 0) inputs[i] = pattern_reshaped(p, inputs[i], 0, NULL);
    if (!inputs[1] || !inputs[2]) return false;
    pattern_put(p, n, "Clip", inputs, 3);
    return true;
}
