/* SPDX-License-Identifier: Apache-2.0 */
/* Removes a node: its consumer reads its input, its outputs are cleared, and the cleanup removes it
 * together with its weight.
 *
 *     03_remove_a_node before.onnx after.onnx
 */
#include "../models.h"

static pgy_status remove_add(pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_node *add;
    pgy_status st = pgy_gs_get_node(&add, g, "myAdd", err);
    if (!st) st = pgy_gs_set_input(pgy_gs_node_o(add, 0, 0), 0, add->inputs[0], err);
    return st ? st : pgy_gs_set_outputs(add, NULL, 0, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build_identities(g, -1, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = remove_add(g, err);
    if (!st) st = tidy(g, err);
    if (!st) st = write_model(g, paths[1], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}
