/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the operator of a node, removes an input of it, appends a node, changes the graph's
 * output, and removes unused inputs.
 *
 *     13_modify before.onnx after.onnx
 */
#include "../models.h"

static pgy_gs_node *first_of(const pgy_gs_graph *g, const char *op)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->op, op) == 0) return g->nodes[i];
    return NULL;
}

static pgy_status modify(pgy_gs_graph *g, pgy_error *err)
{
    const pgy_dim image[] = {{1, NULL}, {3, NULL}, {224, NULL}, {224, NULL}};
    const pgy_gs_attr alpha = pgy_gs_attr_float("alpha", 0.02f);
    pgy_gs_node *add = first_of(g, "Add");
    pgy_gs_tensor *y;
    pgy_status st = add ? PGY_OK : pgy_error_set(err, PGY_E_NOT_FOUND, "the graph has no Add node");
    for (size_t i = 0; !st && i < add->input_count; i++)
        if (strcmp(add->inputs[i]->name, "b") == 0) st = pgy_gs_remove_input(add, i, err);
    if (!st) st = pgy_gs_set_op(add, "LeakyRelu", err);
    if (!st) st = pgy_gs_set_attr(add, &alpha, err);
    if (!st) st = pgy_gs_variable(&y, g, "identity_out", PGY_F32, 4, image, err);
    if (!st) st = add_node(g, "Identity", NULL, add->outputs, 1, TENSORS(y), err);
    return st ? st : pgy_gs_set_graph_outputs(g, &y, 1, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    const pgy_gs_cleanup_options options = {.size = sizeof options, .remove_unused_graph_inputs = true};
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build_scaled_sum(g, 4, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = modify(g, err);
    if (!st) st = pgy_gs_cleanup(g, &options, err);
    if (!st) st = pgy_gs_toposort(g, NULL, err);
    if (!st) st = write_model(g, paths[1], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}
