/* SPDX-License-Identifier: Apache-2.0 */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/alloc.h"
#include "graph_text.h"

static void sort(pgy_gs_graph *g, const pgy_gs_sort_options *options)
{
    pgy_error err = {0};
    assert_int_equal(pgy_gs_toposort(g, options, &err), PGY_OK);
    assert_edges(g);
}

static void test_toposort__order_is_by_level(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    text_node(g, "Add", "Q", "c b", "q");
    text_node(g, "Relu", "P0", "x", "b");
    text_node(g, "Relu", "R", "q", "r");
    text_node(g, "Relu", "P1", "x", "c");
    text_io(g, "x", "r");
    sort(g, NULL);
    /* Q's inputs are settled in the order of its slots. */
    assert_nodes(g, "P1 P0 Q R");
    pgy_gs_destroy(g);
}

static void test_toposort__level_order_moves_what_is_sorted_already(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    text_node(g, "Shape", "shape", "x", "s");
    text_node(g, "Reshape", "reshape", "x s", "y");
    text_node(g, "Gather", "gather", "s i", "z");
    text_node(g, "Shape", "other", "x", "t");
    text_io(g, "x i", "y z t");
    pgy_gs_sort_options stable = {.size = sizeof stable, .stable = true};
    sort(g, &stable);
    assert_nodes(g, "shape reshape gather other");
    sort(g, NULL);
    assert_nodes(g, "shape other reshape gather");
    pgy_gs_destroy(g);
}

static void test_toposort__stable_moves_only_what_must(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    text_node(g, "Add", "a", "z x", "a");
    text_node(g, "Relu", "b", "a", "b");
    text_node(g, "Relu", "c", "b", "c");
    text_node(g, "Relu", "z", "x", "z");
    text_node(g, "Relu", "d", "x", "d");
    text_io(g, "x", "c d");
    pgy_gs_sort_options stable = {.size = sizeof stable, .stable = true};
    sort(g, &stable);
    assert_nodes(g, "z a b c d");
    pgy_gs_destroy(g);
}

static void test_toposort__chain_and_diamond(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    text_node(g, "Relu", "T0", "x", "t0");
    text_node(g, "Relu", "T2", "t1", "t2");
    text_node(g, "Relu", "T3", "t2", "t3");
    text_node(g, "Relu", "T1", "t0", "t1");
    text_node(g, "Add", "join", "left right", "y");
    text_node(g, "Relu", "L", "t3", "left");
    text_node(g, "Relu", "R", "t3", "right");
    text_io(g, "x", "y");
    sort(g, NULL);
    assert_nodes(g, "T0 T1 T2 T3 L R join");
    pgy_gs_destroy(g);
}

static void test_toposort__circle_is_named_and_nothing_moves(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    text_node(g, "Relu", "end", "b", "y");
    text_node(g, "Relu", "b", "a", "b");
    text_node(g, "Add", "a", "x b", "a");
    text_io(g, "x", "y");
    assert_int_equal(pgy_gs_toposort(g, NULL, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "node b -> node a -> node b"));
    assert_nodes(g, "end b a");
    pgy_gs_destroy(g);
}

static void test_toposort__node_that_needs_itself(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    text_node(g, "Relu", "", "a", "a");
    assert_int_equal(pgy_gs_toposort(g, NULL, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "node (node with output 'a') -> node (node with output 'a')"));
    pgy_gs_destroy(g);
}

static void test_toposort__long_circle_is_shortened(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    for (int i = 0; i < 20; i++) {
        char name[16], from[16];
        snprintf(name, sizeof name, "n%d", i);
        snprintf(from, sizeof from, "n%d", (i + 19) % 20);
        text_node(g, "Relu", name, from, name);
    }
    assert_int_equal(pgy_gs_toposort(g, NULL, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "node n0 -> node n1 -> node n2 -> node n3 -> (12 more) -> "
                                     "node n16 -> node n17 -> node n18 -> node n19 -> node n0"));
    pgy_gs_destroy(g);
}

static void sort_outer_levels(bool keep_subgraphs)
{
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *choice = text_node(g, "If", "If", "c", "y");
    text_node(g, "Relu", "A", "x", "a");
    text_node(g, "Relu", "B", "x", "b");
    text_node(g, "Relu", "C", "x", "c");
    text_node(g, "Relu", "D", "x", "d");
    pgy_gs_graph *then_branch = text_subgraph(choice, "then_branch");
    text_node(then_branch, "Add", "S2", "s1 d", "s2");
    text_node(then_branch, "Add", "S1", "b a", "s1");
    text_io(then_branch, "", "s2");
    pgy_gs_graph *else_branch = text_subgraph(choice, "else_branch");
    text_node(else_branch, "Relu", "E1", "d", "e1");
    text_io(else_branch, "", "e1");
    text_io(g, "x", "y");

    pgy_gs_sort_options outer = {.size = sizeof outer, .keep_subgraphs = keep_subgraphs};
    sort(g, &outer);
    assert_nodes(then_branch, keep_subgraphs ? "S2 S1" : "S1 S2");
    assert_nodes(g, keep_subgraphs ? "C D B A If" : "C B A D If");
    pgy_gs_destroy(g);
}

static void test_toposort__subgraphs_need_what_they_take_from_outside(void **state)
{
    (void)state;
    sort_outer_levels(false);
    sort_outer_levels(true);
}

static void test_toposort__circle_in_a_subgraph_moves_nothing_outside(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    pgy_gs_node *choice = text_node(g, "If", "If", "c", "y");
    text_node(g, "Relu", "C", "x", "c");
    pgy_gs_graph *branch = text_subgraph(choice, "then_branch");
    text_node(branch, "Relu", "p", "q", "p");
    text_node(branch, "Relu", "q", "p", "q");
    text_io(g, "x", "y");
    assert_int_equal(pgy_gs_toposort(g, NULL, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "graph 'then_branch'"));
    assert_nodes(g, "If C");
    pgy_gs_destroy(g);
}

/* ---- Functions ------------------------------------------------------------------------------- */

static pgy_gs_graph *add_function(pgy_gs_graph *g, const char *name)
{
    pgy_gs_graph *f = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_function(&f, g, name, "d", &err), PGY_OK);
    return f;
}

static void call(pgy_gs_graph *g, const char *function, const char *inputs, const char *outputs)
{
    pgy_error err = {0};
    assert_int_equal(
        pgy_gs_set_domain(text_node(g, function, function, inputs, outputs), "d", &err), PGY_OK);
}

static void assert_functions(const pgy_gs_graph *g, const char *names)
{
    str text = {0};
    for (size_t i = 0; i < g->function_count; i++)
        str_printf(&text, "%s%s", i ? " " : "", g->functions[i]->name);
    assert_string_equal(str_text(&text), names);
    str_deinit(&text);
}

/* A calls C and B (listed in this order, B first by data flow), both call D; E calls nothing. */
static pgy_gs_graph *calling_graph(void)
{
    pgy_gs_graph *g = text_graph();
    pgy_gs_graph *a = add_function(g, "A");
    call(a, "C", "t", "y");
    call(a, "B", "x", "t");
    text_io(a, "x", "y");
    call(add_function(g, "B"), "D", "x", "y");
    call(add_function(g, "C"), "D", "x", "y");
    text_node(add_function(g, "D"), "Relu", "r", "x", "y");
    text_node(add_function(g, "E"), "Relu", "r", "x", "y");
    call(g, "A", "x", "y");
    text_io(g, "x", "y");
    return g;
}

static void test_toposort__functions_come_before_their_callers(void **state)
{
    (void)state;
    pgy_gs_graph *g = calling_graph();
    pgy_gs_graph *a = g->functions[0];
    sort(g, NULL);
    assert_functions(g, "D E B C A");
    assert_functions(a, "D E B C A");
    assert_nodes(a, "B C");
    pgy_gs_destroy(g);
}

static void test_toposort__what_is_sorted_of_functions_can_be_chosen(void **state)
{
    (void)state;
    pgy_gs_sort_options options[] = {
        {.size = sizeof *options, .nodes_only = true},
        {.size = sizeof *options, .functions_only = true},
        {.size = sizeof *options, .keep_functions = true},
        {.size = sizeof *options, .stable = true},
    };
    const char *lists[] = {"A B C D E", "D E C B A", "D E C B A", "D B C A E"};
    const char *bodies[] = {"B C", "C B", "C B", "B C"};
    for (size_t i = 0; i < 4; i++) {
        pgy_gs_graph *g = calling_graph();
        pgy_gs_graph *a = g->functions[0];
        sort(g, &options[i]);
        assert_functions(g, lists[i]);
        assert_nodes(a, bodies[i]);
        pgy_gs_destroy(g);
    }
    /* Of a function, its nodes. */
    pgy_gs_graph *g = calling_graph();
    sort(g->functions[0], NULL);
    assert_functions(g, "A B C D E");
    assert_nodes(g->functions[0], "B C");
    pgy_gs_destroy(g);
}

static void test_toposort__call_in_a_subgraph_counts(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_gs_graph *a = add_function(g, "A");
    pgy_gs_node *choice = text_node(a, "If", "If", "c", "y");
    call(text_subgraph(choice, "then_branch"), "B", "x", "s");
    text_node(add_function(g, "B"), "Relu", "r", "x", "y");
    sort(g, NULL);
    assert_functions(g, "B A");
    pgy_gs_destroy(g);
}

static void test_toposort__functions_that_call_each_other(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    call(add_function(g, "A"), "B", "x", "y");
    call(add_function(g, "B"), "A", "x", "y");
    text_node(g, "Relu", "late", "t", "y");
    text_node(g, "Relu", "early", "x", "t");
    assert_int_equal(pgy_gs_toposort(g, NULL, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "function A -> function B -> function A"));
    assert_nodes(g, "late early");
    pgy_gs_destroy(g);
}

/* ---- Size ------------------------------------------------------------------------------------ */

static void test_toposort__long_chain_in_reverse(void **state)
{
    (void)state;
    enum { LENGTH = 200000 };
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    pgy_gs_tensor *after = NULL, *before = NULL;
    assert_int_equal(pgy_gs_variable(&after, g, "end", PGY_F32, -1, NULL, &err), PGY_OK);
    for (size_t i = 0; i < LENGTH; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%zu", i);
        assert_int_equal(pgy_gs_variable(&before, g, name, PGY_F32, -1, NULL, &err), PGY_OK);
        pgy_gs_node_spec spec = {.op = "Relu",
                                 .inputs = &before,
                                 .input_count = 1,
                                 .outputs = &after,
                                 .output_count = 1};
        pgy_gs_node *n = NULL;
        assert_int_equal(pgy_gs_add_node(&n, g, &spec, &err), PGY_OK);
        after = before;
    }
    pgy_gs_node *first = g->nodes[LENGTH - 1], *last = g->nodes[0];
    assert_int_equal(pgy_gs_toposort(g, NULL, &err), PGY_OK);
    assert_ptr_equal(g->nodes[0], first);
    assert_ptr_equal(g->nodes[LENGTH - 1], last);
    for (size_t i = 0; i + 1 < LENGTH; i++)
        assert_ptr_equal(g->nodes[i]->outputs[0], g->nodes[i + 1]->inputs[0]);

    /* The last feeds the first: a circle of all of them. */
    assert_int_equal(pgy_gs_set_output(last, 0, first->inputs[0], &err), PGY_OK);
    assert_int_equal(pgy_gs_toposort(g, NULL, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "(199992 more)"));
    pgy_gs_destroy(g);
}

static void test_toposort__refused_allocation(void **state)
{
    (void)state;
    pgy_status st = PGY_E_MEMORY;
    for (uint64_t n = 1; st; n++) {
        pgy_gs_graph *g = calling_graph();
        pgy_error err = {0};
        if (!mem_fail_nth(n)) {
            pgy_gs_destroy(g);
            skip();
        }
        st = pgy_gs_toposort(g, NULL, &err);
        mem_fail_nth(0);
        if (st)
            assert_int_equal(st, PGY_E_MEMORY);
        else
            assert_functions(g, "D E B C A");
        pgy_gs_destroy(g);
    }
}
