/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/graph_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

pgy_graph *import_graph(model_builder *b)
{
    pgy_error err = {0};
    pgy_graph *g = NULL;
    pgy_model *model = builder_finish_bytes(b);
    const pgy_status st = pgy_graph_import(&g, model, &err);
    pgy_model_destroy(model);
    if (st) fail_msg("%s", err.text);
    return g;
}

void expect_nodes(const pgy_graph *g, const char *wanted)
{
    char text[1024] = "";
    size_t n = 0;
    for (size_t i = 0; i < g->node_count && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, i ? " %s" : "%s", g->nodes[i]->op_type);
    assert_string_equal(text, wanted);
}

void expect_input(const pgy_graph *g, size_t n, size_t i, size_t size, const void *wanted)
{
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    assert_true(n < g->node_count && i < g->nodes[n]->input_count);
    if (pgy_graph_value_data(&t, g->nodes[n]->inputs[i], &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_tensor_size_bytes(t), size);
    assert_memory_equal(pgy_tensor_data(t), wanted, size);
    pgy_tensor_release(t);
}
