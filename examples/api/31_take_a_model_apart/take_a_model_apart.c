/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts one node as a model, with its inputs and outputs recorded by a run of the whole model;
 * extracts the model up to a tensor; and records the values of a tensor inside the model.
 *
 *     take_a_model_apart model.onnx node tensor part.onnx
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static void print_map(const char *title, const pgy_tensor_map *m)
{
    for (size_t i = 0; i < pgy_tensor_map_count(m); i++)
        printf("%s %s: %zu elements\n", title, pgy_tensor_map_name(m, i), pgy_tensor_count(pgy_tensor_map_at(m, i)));
}

/* The reference records the values, also inside loops; pgy_record_cut uses a runtime instead. */
static pgy_status cut_node(const char *path, pgy_model *model, const char *node, pgy_error *err)
{
    const pgy_cut_selection what = {.size = sizeof what, .nodes = &node, .node_count = 1};
    pgy_cut *cut = NULL;
    pgy_tensor_map *feed = NULL, *inputs = NULL, *outputs = NULL, *again_in = NULL, *again_out = NULL;
    pgy_model *part = NULL;
    pgy_status st = pgy_cut_create(&cut, model, &what, err);
    if (!st) st = pgy_record_feed(&feed, pgy_cut_source(cut), NULL, err);
    if (!st) st = pgy_cut_record(&inputs, &outputs, cut, feed, err);
    if (!st) st = pgy_record_cut(&again_in, &again_out, cut, NULL, err);
    if (!st) st = pgy_cut_model(&part, cut, inputs, outputs, err);
    if (!st) st = pgy_model_save(part, path, NULL, err);
    if (!st) print_map("goes in:", again_in);
    if (!st) print_map("comes out:", again_out);
    pgy_model_destroy(part);
    pgy_tensor_map_destroy(again_out);
    pgy_tensor_map_destroy(again_in);
    pgy_tensor_map_destroy(outputs);
    pgy_tensor_map_destroy(inputs);
    pgy_tensor_map_destroy(feed);
    pgy_cut_destroy(cut);
    return st;
}

/* The inputs stay; the tensor becomes the only output. */
static pgy_status extract(pgy_model *model, const char *name, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_gs_tensor *t = NULL;
    pgy_status st = pgy_gs_import(&g, model, err);
    const size_t before = st ? 0 : g->node_count;
    if (!st) st = pgy_gs_get_tensor(&t, g, name, err);
    if (!st) st = pgy_gs_set_graph_outputs(g, &t, 1, err);
    if (!st) st = pgy_gs_cleanup(g, NULL, err);
    if (!st) printf("up to %s: %zu of %zu nodes\n", name, g->node_count, before);
    pgy_gs_destroy(g);
    return st;
}

static pgy_status record(pgy_model *model, const char *name, pgy_error *err)
{
    const pgy_record_options o = {.size = sizeof o, .names = &name, .name_count = 1};
    pgy_tensor_map *values = NULL;
    const pgy_status st = pgy_record(&values, model, &o, err);
    if (!st) print_map("recorded", values);
    pgy_tensor_map_destroy(values);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: %s model.onnx node tensor part.onnx\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model *model = NULL;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = cut_node(argv[4], model, argv[2], &err);
    if (!st) st = extract(model, argv[3], &err);
    if (!st) st = record(model, argv[3], &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_model_destroy(model);
    return st != PGY_OK;
}
