/* SPDX-License-Identifier: Apache-2.0 */
/* A model file goes through everything that needs no runtime: import, order, inference, check,
 * another opset version, summary, outputs, export. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <polygraphy/transform.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_model *model = NULL, *edited = NULL;
    pgy_graph *g = NULL;
    const pgy_finding *findings;
    const pgy_op_summary *rows;
    size_t count;
    pgy_error err = {0};
    const pgy_output_selection all = {.size = sizeof all, .mark_all = true};
    if (pgy_model_parse(&model, data, size, true, NULL, &err)) return 0;
    pgy_status st = pgy_graph_import(&g, model, &err);
    if (pgy_model_check(&findings, &count, model, &err) == PGY_OK && st == PGY_E_FORMAT && !count &&
        pgy_model_proto(model)->graph)
        abort(); /* an import that fails has a reason */
    if (!st) {
        st = pgy_graph_infer_shapes(g, NULL, &err);
        if (!st) st = pgy_graph_summarize(&rows, &count, g, NULL, &err);
        st = pgy_graph_check(&findings, &count, g, &err);
        if (!st) st = pgy_graph_sort(g, &err);
        if (!st) st = pgy_graph_convert_opset(g, 7 + (int64_t)(size % 22), NULL, &err);
        if (st == PGY_E_UNSUPPORTED) st = PGY_OK; /* the graph is as it was */
        if (!st) st = pgy_graph_select_outputs(g, &all, &err);
        if (!st) st = pgy_graph_export(&edited, g, &err);
    }
    pgy_graph_destroy(g);
    pgy_model_destroy(edited);
    pgy_model_destroy(model);
    return 0;
}
