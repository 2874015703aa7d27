/* SPDX-License-Identifier: Apache-2.0 */
/* Answers two questions before a model runs: how much memory its tensors need, and which nodes are
 * not supported. The supported and unsupported parts become separate models.
 *
 *     memory_and_capability model.onnx
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

/* Sizes need shapes, so dynamic dimensions of the inputs become 1. */
static pgy_status fixed_inputs(pgy_metadata *out, const pgy_graph *graph, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < graph->input_count; i++) {
        const pgy_value *v = graph->inputs[i];
        int64_t shape[PGY_MAX_RANK];
        for (int32_t k = 0; k < v->rank; k++) shape[k] = v->dims[k].value < 0 ? 1 : v->dims[k].value;
        const pgy_tensor_info info = {.name = v->name, .dtype = v->dtype, .rank = v->rank, .shape = shape};
        if (v->rank >= 0) st = pgy_metadata_set(out, &info, err);
    }
    return st;
}

static pgy_status show_memory(pgy_graph *graph, pgy_error *err)
{
    pgy_memory_options options = {.size = sizeof options, .in_place = true};
    pgy_metadata *inputs = NULL;
    pgy_memory *memory = NULL;
    char *text = NULL;
    pgy_status st = pgy_metadata_create(&inputs, err);
    if (!st) st = fixed_inputs(inputs, graph, err);
    options.inputs = inputs;
    if (!st) st = pgy_memory_create(&memory, graph, &options, err);
    if (!st) st = pgy_memory_text(&text, memory, NULL, err);
    if (!st) printf("%s\n\npeak: %llu bytes\n", text, (unsigned long long)pgy_memory_summarize(memory)->peak_bytes);
    pgy_text_free(text);
    pgy_memory_destroy(memory);
    pgy_metadata_destroy(inputs);
    return st;
}

static pgy_status show_parts(pgy_graph *graph, pgy_error *err)
{
    const pgy_unsupported *rows = NULL;
    const pgy_capability_part *parts = NULL;
    size_t row_count = 0, part_count = 0;
    char *text = NULL;
    pgy_status st = pgy_graph_sort(graph, err);
    if (!st) st = pgy_graph_capability(&rows, &row_count, graph, err);
    if (!st) st = pgy_graph_partition(&parts, &part_count, graph, rows, row_count, err);
    if (!st) st = pgy_unsupported_text(&text, rows, row_count, err);
    if (!st) printf("%s%zu nodes cannot be run\n", row_count ? text : "", row_count);
    for (size_t i = 0; !st && i < part_count; i++) {
        pgy_model *part = NULL;
        st = pgy_graph_extract(&part, graph, parts[i].first, parts[i].end, err);
        if (!st)
            printf("nodes [%zu, %zu): %s, a model with %zu inputs\n", parts[i].first, parts[i].end,
                   parts[i].supported ? "supported" : "not supported", pgy_model_proto(part)->graph->input_count);
        pgy_model_destroy(part);
    }
    pgy_text_free(text);
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
    if (!st) st = show_memory(graph, &err);
    if (!st) st = show_parts(graph, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
    return st != PGY_OK;
}
