/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a model and visits its nodes twice: in the file, and in the graph with inferred shapes.
 *
 *     walk_a_model model.onnx
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static void print_file(const pgy_onnx_model *m)
{
    printf("graph %s, opset %lld, %zu nodes, %zu initializers\n", m->graph->name, (long long)pgy_model_opset(m, ""), m->graph->node_count,
           m->graph->initializer_count);
    for (size_t i = 0; i < m->graph->node_count; i++) {
        const pgy_onnx_node *n = m->graph->nodes[i];
        printf("  %-10s %s:", n->op_type, n->name);
        for (size_t k = 0; k < n->attribute_count; k++) printf(" %s", n->attributes[k]->name);
        putchar('\n');
    }
}

static void print_value(const pgy_value *v)
{
    printf("  %s %s [", v->name, pgy_dtype_name(v->dtype));
    for (int32_t i = 0; i < v->rank; i++) {
        if (v->dims[i].value >= 0) printf("%s%lld", i ? ", " : "", (long long)v->dims[i].value);
        else printf("%s%s", i ? ", " : "", v->dims[i].text ? v->dims[i].text : "?");
    }
    printf("]%s%s\n", v->unknown_why ? ": " : "", v->unknown_why ? v->unknown_why : "");
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
    if (!st) print_file(pgy_model_proto(model));
    if (!st) st = pgy_graph_import(&graph, model, &err);
    if (!st) st = pgy_graph_infer_shapes(graph, NULL, &err);
    for (size_t i = 0; !st && i < graph->node_count; i++)
        for (size_t k = 0; k < graph->nodes[i]->output_count; k++)
            if (graph->nodes[i]->outputs[k]) print_value(graph->nodes[i]->outputs[k]);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
    return st != PGY_OK;
}
