/* SPDX-License-Identifier: Apache-2.0 */
/* A graph with nodes in reverse order, a tensor without a producer and one without a consumer:
 * folds, cleans up and sorts it, and then changes its inputs and outputs.
 *
 *     06_fold_clean_sort unfinished.onnx folded.onnx clean.onnx trimmed.onnx
 */
#include "../common.h"

static pgy_status make_variables(pgy_gs_tensor **t, pgy_gs_graph *g, pgy_error *err)
{
    const pgy_dim image[] = {{-1, "B"}, {3, NULL}, {64, NULL}, {64, NULL}}, plane[] = {{-1, "B"}, {1, NULL}, {64, NULL}, {64, NULL}};
    pgy_status st = PGY_OK;
    for (int i = 0; !st && i < 9; i++) {
        char name[16];
        snprintf(name, sizeof name, "tensor%d", i);
        st = pgy_gs_variable(&t[i], g, name, PGY_F32, i < 7 ? 4 : -1, i < 4 ? image : plane, err);
    }
    return st;
}

static pgy_status build(pgy_gs_tensor **t, pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_tensor *w;
    pgy_status st = make_variables(t, g, err);
    if (!st) st = make_weight(&w, g, "w", 1, 0, 4, (int64_t[]){1, 1, 1, 1}, err);
    if (!st) st = add_node(g, "Add", "myAdd4", TENSORS(t[5], w), TENSORS(t[6]), err);
    if (!st) st = add_node(g, "Add", "myAdd3", TENSORS(t[1], w), TENSORS(t[2]), err);
    if (!st) st = add_node(g, "Add", "myAdd2", TENSORS(t[0], t[8]), TENSORS(t[1]), err);
    if (!st) st = add_node(g, "Add", "myAdd1", TENSORS(t[7], w), TENSORS(t[8]), err);
    if (!st) st = add_node(g, "Add", "myAdd0", TENSORS(w, w), TENSORS(t[7]), err);
    if (!st) st = pgy_gs_set_graph_inputs(g, TENSORS(t[0], t[3]), err);
    return st ? st : pgy_gs_set_graph_outputs(g, TENSORS(t[2], t[4]), err);
}

static void print_order(const char *title, const pgy_gs_graph *g)
{
    printf("%s:", title);
    for (size_t i = 0; i < g->node_count; i++) printf(" %s", g->nodes[i]->name);
    printf("\n");
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_gs_tensor *t[9];
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build(t, g, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = pgy_gs_fold_constants(g, NULL, err);
    if (!st) st = write_model(g, paths[1], err);
    if (!st) st = pgy_gs_fold_constants(g, NULL, err);
    if (!st) st = pgy_gs_cleanup(g, NULL, err);
    if (!st) st = write_model(g, paths[2], err);
    if (!st) print_order("before sorting", g);
    if (!st) st = pgy_gs_toposort(g, NULL, err);
    if (!st) print_order("after sorting", g);
    if (!st) st = set_io(g, t[0], t[2], err);
    if (!st) st = write_model(g, paths[3], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 4, work);
}
