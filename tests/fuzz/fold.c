/* SPDX-License-Identifier: Apache-2.0 */
/* A model file is folded within small limits, cleaned, and written out: whatever it holds, there is
 * a model again that can be read, or an error. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <polygraphy/transform.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was folded must be a sound graph. */
static void read_again(pgy_graph *g)
{
    pgy_error err = {0};
    pgy_model *model = NULL, *again = NULL;
    pgy_graph *read = NULL;
    void *bytes = NULL;
    size_t size = 0;
    pgy_status st = pgy_graph_export(&model, g, &err);
    if (!st) st = pgy_model_serialize(&bytes, &size, model, &err);
    if (!st) st = pgy_model_parse(&again, bytes, size, true, NULL, &err);
    if (!st) {
        st = pgy_graph_import(&read, again, &err);
        if (st == PGY_E_FORMAT) abort();
    }
    pgy_graph_destroy(read);
    pgy_model_destroy(again);
    pgy_text_free(bytes);
    pgy_model_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_model *model = NULL;
    pgy_graph *g = NULL;
    pgy_fold_report report;
    pgy_error err = {0};
    pgy_fold_options o = pgy_fold_options_default();
    o.max_result_bytes = 1 << 12;
    o.max_node_growth = 1 << 12;
    o.max_total_growth = 1 << 14;
    o.keep_shape_inference = size % 5 == 0;
    o.keep_separate = size % 7 == 0;
    o.passes = 3;
    if (pgy_model_parse(&model, data, size, true, NULL, &err)) return 0;
    pgy_status st = pgy_graph_import(&g, model, &err);
    if (!st) {
        st = pgy_graph_sort(g, &err);
        if (!st) st = pgy_graph_fold_constants(g, &o, &report, &err);
        if (!st) st = pgy_graph_remove_unused(g, &err);
        if (!st) read_again(g);
    }
    pgy_graph_destroy(g);
    pgy_model_destroy(model);
    return 0;
}
