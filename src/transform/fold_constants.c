/* SPDX-License-Identifier: Apache-2.0 */
/* Turns Constant nodes into weights: the stored tensor gets the name of the output and shares its
 * bytes. Constants without a tensor (value_int, value_floats...) are computed. */
#include "transform/fold.h"

static pgy_status computed(const pgy_onnx_tensor **out, folder *f, pgy_value *v, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = pgy_graph_value_data(&t, v, err);
    if (!st) st = weight_create(out, f->graph->model, v->name, t, err);
    pgy_tensor_release(t);
    return st;
}

static pgy_status take_out(folder *f, pgy_node *n, pgy_error *err)
{
    pgy_value *v = n->outputs[0];
    pgy_error why = {0};
    const pgy_onnx_tensor *stored = node_constant(n), *made = NULL;
    pgy_status st = PGY_OK;
    if (stored) {
        pgy_tensor_info info;
        st = pgy_onnx_tensor_info(&info, stored, &why);
        if (!st) {
            made =
                weight_renamed(f->graph->model, stored, v->name, stored->dims, stored->dim_count);
            if (!made) return graph_no_memory(err);
        }
    } else {
        st = computed(&made, f, v, &why);
    }
    if (st) return fold_refuse(f, n, err, "%s", why.text);
    fold_drop_node(f, n);
    return value_set_weight(v, made, err);
}

pgy_status fold_constants(folder *f, pgy_graph *level, pgy_error *err)
{
    pgy_status st = PGY_OK;
    const size_t before = f->changes;
    if (level_of(level)->is_function) return PGY_OK; /* function bodies cannot hold weights */
    for (size_t i = 0; !st && i < level->node_count; i++) {
        pgy_node *n = level->nodes[i];
        st = node_prepare(n, err);
        if (!st && fold_is_constant_node(f, n)) st = take_out(f, n, err);
    }
    if (f->changes != before) graph_sweep(level);
    return st;
}
