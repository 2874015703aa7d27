/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a Reshape a constant shape if the computed one is known symbolically: numbers stay, sizes
 * that the input has at the same position become 0 (Reshape copies those), and one other becomes
 * -1. The shape arithmetic is then dead. */
#include "transform/fold.h"

/* Reshape infers the size of -1 from the others, which must therefore not be 0. */
bool fold_constant_shape(int64_t *to, const op_value *in, const dim *shape, size_t count)
{
    bool open = false, may_be_zero = false;
    for (size_t i = 0; i < count; i++) {
        const bool copied = in->rank > (int32_t)i && dim_equal(in->dims[i], shape[i]);
        if (dim_is_const(shape[i])) {
            to[i] = shape[i].value;
            if (to[i] < -1 || (to[i] == -1 && open)) return false;
            open |= to[i] == -1;
            may_be_zero |= to[i] == 0;
            if (to[i] == 0 && !copied) return false;
        } else if (copied) {
            to[i] = 0;
            may_be_zero |= !dim_is_positive(shape[i]);
        } else if (open) {
            return false;
        } else {
            to[i] = -1;
            open = true;
        }
    }
    return !open || !may_be_zero;
}

/* Uses the requested shape or, if that fails, the inferred output shape, in which a -1 may be
 * resolved. */
static bool find_shape(int64_t *to, size_t *count, const pgy_node *n)
{
    const op_value *in = fold_known(n->inputs[0]), *asked = fold_known(n->inputs[1]);
    const op_value *out = fold_known(n->outputs[0]);
    *count = asked->element_count;
    if (asked->elements && *count <= PGY_MAX_RANK &&
        fold_constant_shape(to, in, asked->elements, *count))
        return true;
    *count = out->rank > 0 ? (size_t)out->rank : 0;
    return out->rank >= 0 && out->rank <= PGY_MAX_RANK &&
           fold_constant_shape(to, in, out->dims, *count);
}

static bool is_constant_already(const folder *f, const pgy_node *n)
{
    return fold_is_constant(f, n->inputs[1]);
}

static pgy_status try_reshape(folder *f, pgy_node *n, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    size_t count;
    pgy_value *v = NULL;
    if (n->input_count != 2 || !n->inputs[0] || !n->inputs[1] || !n->outputs[0] ||
        is_constant_already(f, n))
        return PGY_OK;
    const pgy_onnx_attribute *allowzero = node_attribute(n, "allowzero");
    if (allowzero && allowzero->i != 0) return PGY_OK;
    if (!find_shape(shape, &count, n)) return PGY_OK;
    pgy_status st = value_create_ints(&v, n->graph, n->inputs[1]->name, shape, count, err);
    if (!st) st = node_set_input(n, 1, v, err);
    if (!st) f->changes++;
    return st;
}

pgy_status fold_shapes(folder *f, pgy_graph *level, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (f->options.keep_shapes) return PGY_OK;
    for (size_t i = 0; !st && i < level->node_count; i++)
        if (node_is(level->nodes[i], "Reshape") && level->nodes[i]->output_count == 1)
            st = try_reshape(f, level->nodes[i], err);
    return st;
}
