/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces a node on two copies of a graph: in place, and by a new node between the tensors of the
 * old one. The original does not change.
 *
 *     04_replace_a_node original.onnx in_place.onnx new_node.onnx
 */
#include "../models.h"

static pgy_status replace_in_place(pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_node *add;
    pgy_status st = pgy_gs_get_node(&add, g, "myAdd", err);
    if (!st) st = pgy_gs_set_op(add, "Sub", err);
    return st ? st : pgy_gs_set_node_name(add, "mySub", err);
}

/* tensor2 has two producers until the old node's outputs are cleared. */
static pgy_status replace_by_new(pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_node *add;
    pgy_status st = pgy_gs_get_node(&add, g, "myAdd", err);
    if (!st) st = add_node(g, "Sub", "mySub", add->inputs, add->input_count, add->outputs, add->output_count, err);
    return st ? st : pgy_gs_set_outputs(add, NULL, 0, err);
}

static pgy_status write_changed(const pgy_gs_graph *g, pgy_status (*change)(pgy_gs_graph *, pgy_error *), const char *path, pgy_error *err)
{
    pgy_gs_graph *copy = NULL;
    pgy_status st = pgy_gs_copy(&copy, g, err);
    if (!st) st = change(copy, err);
    if (!st) st = tidy(copy, err);
    if (!st) st = write_model(copy, path, err);
    pgy_gs_destroy(copy);
    return st;
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build_identities(g, -1, err);
    if (!st) st = write_changed(g, replace_in_place, paths[1], err);
    if (!st) st = write_changed(g, replace_by_new, paths[2], err);
    if (!st) st = write_model(g, paths[0], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 3, work);
}
