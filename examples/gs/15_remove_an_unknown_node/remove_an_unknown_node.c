/* SPDX-License-Identifier: Apache-2.0 */
/* Removes a node whose operator no runtime knows: the node before it produces its output instead.
 *
 *     15_remove_an_unknown_node before.onnx after.onnx
 */
#include "../common.h"

static pgy_status build(pgy_gs_graph *g, pgy_error *err)
{
    const pgy_dim image[] = {{1, NULL}, {3, NULL}, {224, NULL}, {224, NULL}};
    pgy_gs_tensor *x, *i0, *i1, *y;
    pgy_status st = pgy_gs_variable(&x, g, "x", PGY_F32, 4, image, err);
    if (!st) st = pgy_gs_variable(&i0, g, "i0", PGY_F32, -1, NULL, err);
    if (!st) st = pgy_gs_variable(&i1, g, "i1", PGY_F32, -1, NULL, err);
    if (!st) st = pgy_gs_variable(&y, g, "y", PGY_F32, 4, image, err);
    if (!st) st = add_node(g, "Identity", NULL, TENSORS(x), TENSORS(i0), err);
    if (!st) st = add_node(g, "FakeNodeToRemove", NULL, TENSORS(i0), TENSORS(i1), err);
    if (!st) st = add_node(g, "Identity", NULL, TENSORS(i1), TENSORS(y), err);
    return st ? st : set_io(g, x, y, err);
}

static pgy_status remove_fake(pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_node *fake = NULL;
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->op, "FakeNodeToRemove") == 0) fake = g->nodes[i];
    if (!fake) return pgy_error_set(err, PGY_E_NOT_FOUND, "the graph has no node to remove");
    pgy_status st = pgy_gs_set_outputs(pgy_gs_node_i(fake, 0, 0), fake->outputs, fake->output_count, err);
    if (!st) st = pgy_gs_set_outputs(fake, NULL, 0, err);
    return st ? st : pgy_gs_cleanup(g, NULL, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build(g, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = remove_fake(g, err);
    if (!st) st = write_model(g, paths[1], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}
