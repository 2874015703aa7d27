/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a model as text for a reader, as JSON for a program, and as a table of the cost of its
 * operators.
 *
 *     describe_a_model model.onnx
 */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

static pgy_status describe(pgy_model *model, pgy_graph *graph, pgy_error *err)
{
    const pgy_describe_options layers = {.size = sizeof layers, .layers = true, .attributes = true};
    char *text = NULL, *json = NULL, *costs = NULL;
    pgy_status st = pgy_model_text(&text, model, &layers, err);
    if (!st) st = pgy_model_json(&json, model, err);
    if (!st) st = pgy_graph_summary_text(&costs, graph, err);
    if (!st) printf("%s\n\n%s\n\n%zu bytes of JSON\n", text, costs, strlen(json));
    pgy_text_free(text);
    pgy_text_free(json);
    pgy_text_free(costs);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s model.onnx\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model *model = NULL;
    pgy_graph *graph = NULL;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = pgy_graph_import(&graph, model, &err);
    if (!st) st = describe(model, graph, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
    return st != PGY_OK;
}
