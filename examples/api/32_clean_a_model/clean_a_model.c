/* SPDX-License-Identifier: Apache-2.0 */
/* Cleans up a model in four ways: folds constants, makes measured rewrites, runs an edit script,
 * and inserts a custom node after an input.
 *
 *     clean_a_model model.onnx 'remove dropout_3'
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status fold(pgy_model *model, pgy_error *err)
{
    const pgy_fold_options o = pgy_fold_options_default();
    pgy_fold_report report;
    pgy_graph *graph = NULL;
    pgy_status st = pgy_graph_import(&graph, model, err);
    const size_t before = st ? 0 : graph->node_count;
    if (!st) st = pgy_graph_infer_shapes(graph, NULL, err);
    if (!st) st = pgy_graph_fold_constants(graph, &o, &report, err);
    if (!st) st = pgy_graph_remove_unused(graph, err);
    if (!st) printf("folding: %zu nodes become %zu\n", before, graph->node_count);
    pgy_graph_destroy(graph);
    return st;
}

/* Without samples nothing can be measured, so only exact rewrites are made. */
static pgy_status simplify(pgy_model *model, pgy_error *err)
{
    const pgy_simplify_options o = pgy_simplify_options_default();
    pgy_simplify_report *report = NULL;
    pgy_model *simple = NULL;
    const pgy_status st = pgy_model_simplify(&simple, model, &o, &report, err);
    if (!st)
        printf("rewriting: %zu nodes become %zu, %zu changes\n", report->nodes_before, report->nodes_after,
               report->change_count);
    pgy_simplify_report_destroy(report);
    pgy_model_destroy(simple);
    return st;
}

static pgy_status edit(pgy_model *model, const char *lines, pgy_error *err)
{
    pgy_gs_graph *before = NULL, *g = NULL;
    pgy_gs_script *script = NULL;
    pgy_gs_change_list changes = {0};
    char *text = NULL;
    pgy_status st = pgy_gs_import(&before, model, err);
    if (!st) st = pgy_gs_import(&g, model, err);
    if (!st) st = pgy_gs_script_create(&script, g, err);
    if (!st) st = pgy_gs_script_run(script, "argument", lines, err);
    if (!st) st = pgy_gs_changes(&changes, before, g, err);
    if (!st) text = pgy_gs_changes_text(&changes, 10);
    if (!st) printf("script: %zu changes\n%s", changes.count, text ? text : "");
    pgy_text_free(text);
    pgy_gs_change_list_free(&changes);
    pgy_gs_script_destroy(script);
    pgy_gs_destroy(g);
    pgy_gs_destroy(before);
    return st;
}

/* input -> Identity -> everything that read the input */
static pgy_status insert(pgy_model *model, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_gs_tensor *copy = NULL;
    pgy_gs_node *node = NULL;
    pgy_status st = pgy_gs_import(&g, model, err);
    if (!st) st = pgy_gs_variable(&copy, g, "input_copy", PGY_F32, -1, NULL, err);
    if (!st) st = pgy_gs_replace_uses(g->inputs[0], copy, err);
    const pgy_gs_node_spec spec = {.op = "Identity",
                                   .name = "inserted",
                                   .inputs = g ? g->inputs : NULL,
                                   .input_count = 1,
                                   .outputs = &copy,
                                   .output_count = 1};
    if (!st) st = pgy_gs_add_node(&node, g, &spec, err);
    if (!st) st = pgy_gs_toposort(g, NULL, err);
    if (!st) printf("inserting: the first node is %s\n", g->nodes[0]->name);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s model.onnx script\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model *model = NULL;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = fold(model, &err);
    if (!st) st = simplify(model, &err);
    if (!st) st = edit(model, argv[2], &err);
    if (!st) st = insert(model, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_model_destroy(model);
    return st != PGY_OK;
}
