/* SPDX-License-Identifier: Apache-2.0 */
/* What a view draws of a model: nodes, tensors, containers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/model_builder.h"
#include "viewer/graph.h"

static strvec warnings;

/* Takes the model over. */
static view_graph *view_of(pgy_model *m)
{
    pgy_error err = {0};
    view_graph *g = NULL;
    strvec_deinit(&warnings);
    const pgy_status st = view_graph_from_model(&g, m, "m", &warnings, &err);
    pgy_model_destroy(m);
    if (st) fail_msg("%s", err.text);
    return g;
}

static void end(view_graph *g)
{
    view_graph_destroy(g);
    strvec_deinit(&warnings);
}

static void test_graph__model_has_cards_for_inputs_and_outputs(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    builder_floats(&b, "w", "3, 4", NULL);
    builder_node(&b, "MatMul", "x w", "y");
    builder_output(&b, "y", PGY_F32, "N, 4");
    view_graph *g = view_of(builder_finish(&b));
    assert_int_equal(g->node_count, 3);
    assert_int_equal(g->nodes[0].kind, VIEW_NODE_INPUT);
    assert_int_equal(g->nodes[2].kind, VIEW_NODE_OUTPUT);
    const view_tensor *w = &g->tensors[view_graph_tensor(g, "w")];
    assert_int_equal(w->kind, VIEW_WEIGHT);
    assert_string_equal(w->shape, "3x4");
    assert_int_equal(w->bytes, 48);
    assert_int_equal(w->producer, VIEW_NONE);
    assert_string_equal(g->tensors[view_graph_tensor(g, "x")].shape, "Nx3");
    assert_int_equal(g->tensors[view_graph_tensor(g, "y")].producer, 1);
    assert_int_equal(g->containers[0].child_count, 3);
    assert_int_equal(warnings.count, 0);
    end(g);
}
