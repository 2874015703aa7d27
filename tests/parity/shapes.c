/* SPDX-License-Identifier: Apache-2.0 */
/* What shape inference knows of every node output of a model: shapes MODEL
 * First "seconds S", then one line each, fields separated by tabs: depth of the subgraph, name,
 * type, shape
 * ("?" for an unknown rank, and within brackets for an unknown dimension), why something is
 * unknown. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <polygraphy/polygraphy.h>

static void print_value(const pgy_value *v, int depth)
{
    if (v->kind != PGY_VALUE_TENSOR) return;
    printf("%d\t%s\t%s\t", depth, v->name, v->dtype ? pgy_dtype_name(v->dtype) : "?");
    for (int32_t i = 0; i < v->rank; i++) {
        printf("%s", i ? ", " : "[");
        if (v->dims[i].value >= 0)
            printf("%lld", (long long)v->dims[i].value);
        else
            printf("%s", v->dims[i].text ? v->dims[i].text : "?");
    }
    printf("%s\t%s\n",
           v->rank < 0 ? "?"
           : v->rank   ? "]"
                       : "[]",
           v->unknown_why ? v->unknown_why : "");
}

static void print_graph(const pgy_graph *g, int depth)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        for (size_t k = 0; k < n->output_count; k++)
            if (n->outputs[k]) print_value(n->outputs[k], depth);
        for (size_t k = 0; k < n->subgraph_count; k++) print_graph(n->subgraphs[k], depth + 1);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    pgy_error err = {{0}};
    pgy_model *model = NULL;
    pgy_graph *graph = NULL;
    double start = 0;
    if (argc != 2) return 2;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = pgy_graph_import(&graph, model, &err);
    start = now();
    if (!st) st = pgy_graph_infer_shapes(graph, NULL, &err);
    if (st)
        fprintf(stderr, "%s\n", err.text);
    else {
        printf("seconds %.6f\n", now() - start);
        print_graph(graph, 0);
    }
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
    return st ? 1 : 0;
}
