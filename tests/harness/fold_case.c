/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/fold_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

pgy_graph *fold_with(model_builder *b, const pgy_fold_options *options)
{
    pgy_error err = {0};
    pgy_model *model = NULL, *again = NULL;
    pgy_graph *g = import_graph(b), *result = NULL;
    void *bytes = NULL;
    size_t size = 0;
    if (pgy_graph_fold_constants(g, options, NULL, &err)) fail_msg("%s", err.text);
    if (pgy_graph_export(&model, g, &err)) fail_msg("%s", err.text);
    if (pgy_model_serialize(&bytes, &size, model, &err)) fail_msg("%s", err.text);
    if (pgy_model_parse(&again, bytes, size, false, NULL, &err)) fail_msg("%s", err.text);
    if (pgy_graph_import(&result, again, &err)) fail_msg("%s", err.text);
    pgy_text_free(bytes);
    pgy_model_destroy(again);
    pgy_model_destroy(model);
    pgy_graph_destroy(g);
    return result;
}

void expect_folded(model_builder *b, const char *wanted)
{
    pgy_graph *g = fold_with(b, NULL);
    expect_nodes(g, wanted);
    pgy_graph_destroy(g);
}
