/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts a part of a graph: the inputs and outputs of a node become those of the graph, and the
 * cleanup removes all other nodes.
 *
 *     08_isolate_a_subgraph before.onnx after.onnx
 */
#include "../models.h"

static pgy_status isolate(pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_node *add;
    pgy_status st = pgy_gs_get_node(&add, g, "myAdd", err);
    if (!st) st = pgy_gs_set_graph_inputs(g, add->inputs, 1, err);
    return st ? st : pgy_gs_set_graph_outputs(g, add->outputs, add->output_count, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build_identities(g, 4, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = isolate(g, err);
    if (!st) st = tidy(g, err);
    if (!st) st = write_model(g, paths[1], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}
