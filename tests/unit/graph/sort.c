/* SPDX-License-Identifier: Apache-2.0 */
/* Topological order: stable, deep chains, cycles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <polygraphy/graph.h>

#include "harness/graph_case.h"

static void test_sort__a_right_order_stays(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Abs", "x", "a");
    builder_node(&b, "Neg", "x", "b");
    builder_node(&b, "Add", "b a", "c");
    builder_node(&b, "Relu", "x", "d");
    builder_output(&b, "c", PGY_F32, NULL);
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_sort(g, NULL), PGY_OK);
    const char *const wanted[] = {"Abs", "Neg", "Add", "Relu"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(g->nodes[i]->op_type, wanted[i]);
        assert_int_equal(g->nodes[i]->index, i);
    }
    pgy_graph_destroy(g);
}

static void test_sort__long_reversed_chain(void **state)
{
    (void)state;
    enum { COUNT = 50000 };
    model_builder b = builder_start(17);
    char in[32], out[32];
    builder_input(&b, "v0", PGY_F32, "2");
    for (int i = COUNT; i > 0; i--) {
        snprintf(in, sizeof in, "v%d", i - 1);
        snprintf(out, sizeof out, "v%d", i);
        builder_node(&b, "Relu", in, out);
    }
    builder_output(&b, "v50000", PGY_F32, NULL);
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_sort(g, NULL), PGY_OK);
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(out, sizeof out, "v%zu", i + 1);
        assert_string_equal(g->nodes[i]->outputs[0]->name, out);
    }
    pgy_graph_destroy(g);
}

static void test_sort__cycle_names_a_node(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_node(&b, "Relu", "x", "before");
    builder_node(&b, "Add", "before q", "p");
    builder_node(&b, "Neg", "p", "q");
    builder_output(&b, "q", PGY_F32, NULL);
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_sort(g, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "cycle"));
    assert_true(strstr(err.text, "Add 'n1'") || strstr(err.text, "Neg 'n2'"));
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_E_FORMAT);
    pgy_graph_destroy(g);
}

static void test_sort__a_node_that_needs_itself(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_node(&b, "Relu", "y", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = import_graph(&b);
    assert_int_equal(pgy_graph_sort(g, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "Relu 'n0'"));
    pgy_graph_destroy(g);
}
