/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "fold_text.h"

/* An If after "pre"; `condition` is a constant of that name. Its else branch gives x. */
static pgy_gs_node *add_if(pgy_gs_graph *g, const char *name, bool condition, const char *outputs,
                           pgy_gs_graph **then_branch)
{
    pgy_error err = {0};
    char text[64];
    snprintf(text, sizeof text, "%s_condition", name);
    pgy_gs_tensor *c = text_bool(g, text, condition);
    pgy_gs_node *n = text_node(g, "If", name, "", outputs);
    assert_int_equal(pgy_gs_set_input(n, 0, c, &err), PGY_OK);
    *then_branch = text_subgraph(n, "then_branch");
    pgy_gs_graph *other = text_subgraph(n, "else_branch");
    assert_int_equal(pgy_gs_set_name(*then_branch, "yes", &err), PGY_OK);
    assert_int_equal(pgy_gs_set_name(other, "no", &err), PGY_OK);
    text_node(other, "Identity", "same", "x", "same_out");
    text_io(other, "", "same_out");
    return n;
}

/* pre, If (t = x + k, t * t), add */
static pgy_gs_graph *simple(bool condition)
{
    pgy_gs_graph *g = text_graph(), *yes = NULL;
    pgy_error err = {0};
    text_node(g, "Relu", "pre", "x", "p");
    add_if(g, "if", condition, "y", &yes);
    pgy_gs_node *n = text_node(yes, "Add", "add", "x", "t");
    assert_int_equal(pgy_gs_set_input(n, 1, text_floats(yes, "k", "3 4"), &err), PGY_OK);
    text_node(yes, "Mul", "mul", "t t", "t_out");
    text_io(yes, "", "t_out");
    text_node(g, "Add", "add", "y p", "o");
    text_io(g, "x", "o");
    return g;
}

static void test_fold_if__the_branch_takes_its_place(void **state)
{
    (void)state;
    pgy_gs_graph *g = simple(true);
    fold(g);
    assert_nodes(g, "pre add_1 mul add");
    assert_node(g, "add_1", "Add(x, k_subg_1_yes -> t_subg_1_yes)");
    assert_node(g, "mul", "Mul(t_subg_1_yes, t_subg_1_yes -> y)");
    assert_node(g, "add", "Add(y, p -> o)");
    assert_value(g, "k_subg_1_yes", "float32 (2): 3 4");
    assert_int_equal(text_tensor(g, "x")->consumer_count, 2); /* not those of the other branch */
    pgy_gs_destroy(g);
    g = simple(false);
    fold(g);
    assert_nodes(g, "pre same add");
    assert_node(g, "same", "Identity(x -> y)");
    pgy_gs_destroy(g);
}

static void test_fold_if__node_names_stay_unique(void **state)
{
    (void)state;
    pgy_gs_graph *g = simple(true);
    fold(g);
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(g->nodes[i]->name, g->nodes[k]->name);
    pgy_gs_destroy(g);
}

static void test_fold_if__may_be_kept(void **state)
{
    (void)state;
    pgy_gs_graph *g = simple(true);
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    o.keep_ifs = true;
    fold_with(g, o);
    assert_nodes(g, "pre if add");
    pgy_gs_destroy(g);
}

static bool is_if(const pgy_gs_node *n, void *user)
{
    (void)user;
    return strcmp(n->op, "If") == 0;
}

static void test_fold_if__excluded_ones_stay(void **state)
{
    (void)state;
    pgy_gs_graph *g = simple(true);
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    o.exclude = is_if;
    fold_with(g, o);
    assert_nodes(g, "pre if add");
    pgy_gs_destroy(g);
}

static void test_fold_if__places_count_what_was_inlined_before(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    static const char *const names[] = {"first", "second"}, *const outputs[] = {"y", "z"};
    for (size_t i = 0; i < 2; i++) {
        pgy_gs_graph *yes = NULL;
        add_if(g, names[i], true, outputs[i], &yes);
        text_node(yes, "Neg", "a", "x", "t");
        text_node(yes, "Abs", "b", "t", "t_out");
        text_io(yes, "", "t_out");
    }
    text_node(g, "Add", "add", "y z", "o");
    text_io(g, "x", "o");
    fold(g);
    assert_nodes(g, "a b a_1 b_1 add");
    assert_node(g, "a", "Neg(x -> t_subg_0_yes)");
    assert_node(g, "a_1", "Neg(x -> t_subg_2_yes)");
    assert_node(g, "b_1", "Abs(t_subg_2_yes -> z)");
    pgy_gs_destroy(g);
}

static void test_fold_if__nested(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph(), *outer = NULL, *inner = NULL;
    pgy_error err = {0};
    add_if(g, "if", true, "o", &outer);
    text_node(outer, "Relu", "r0", "x", "u");
    add_if(outer, "if2", true, "m", &inner);
    assert_int_equal(pgy_gs_set_name(inner, "inner", &err), PGY_OK);
    text_node(inner, "Neg", "n0", "u", "v");
    text_node(inner, "Neg", "n1", "v", "v_out");
    text_io(inner, "", "v_out");
    text_node(outer, "Add", "a", "m m", "t_out");
    text_io(outer, "", "t_out");
    text_io(g, "x", "o");
    fold(g);
    assert_nodes(g, "r0 n0 n1 a");
    assert_node(g, "r0", "Relu(x -> u_subg_0_yes)");
    assert_node(g, "n0", "Neg(u_subg_0_yes -> v_subg_1_inner_subg_0_yes)");
    assert_node(g, "n1", "Neg(v_subg_1_inner_subg_0_yes -> m_subg_0_yes)");
    assert_node(g, "a", "Add(m_subg_0_yes, m_subg_0_yes -> o)");
    pgy_gs_destroy(g);
}

static void test_fold_if__constant_results(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph(), *yes = NULL;
    pgy_error err = {0};
    add_if(g, "if", true, "y", &yes);
    pgy_gs_node *n = text_node(yes, "Neg", "neg", "", "t");
    assert_int_equal(pgy_gs_set_input(n, 0, text_floats(yes, "k", "3 4"), &err), PGY_OK);
    text_io(yes, "", "t");
    text_node(g, "Add", "add", "y x", "o");
    text_io(g, "x", "o");
    fold(g);
    assert_value(g, "y", "float32 (2): -3 -4");
    assert_node(g, "add", "Add(y, x -> o)");
    pgy_gs_destroy(g);
}

static void test_fold_if__outer_tensors_and_repeated_results(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph(), *yes = NULL;
    add_if(g, "if", true, "a b c", &yes);
    text_node(yes, "Neg", "neg", "x", "t");
    text_io(yes, "", "t t x");
    text_node(g, "Sum", "sum", "a b c", "o");
    text_io(g, "x", "o");
    fold(g);
    assert_nodes(g, "neg if if_1 sum");
    assert_node(g, "neg", "Neg(x -> a)");
    assert_node(g, "if", "Identity(a -> b)");
    assert_node(g, "if_1", "Identity(x -> c)");
    pgy_gs_destroy(g);
}

static void test_fold_if__constants_of_others_keep_their_names(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph(), *yes = NULL;
    pgy_error err = {0};
    pgy_gs_tensor *w = text_floats(g, "w", "1 2");
    pgy_gs_node *outside = text_node(g, "Mul", "mul", "x", "p");
    assert_int_equal(pgy_gs_set_input(outside, 1, w, &err), PGY_OK);
    add_if(g, "if", true, "o", &yes);
    text_node(yes, "Add", "add", "p w", "t");
    text_io(yes, "", "t");
    text_io(g, "x", "o");
    fold(g);
    assert_node(g, "mul", "Mul(x, w -> p)");
    assert_node(g, "add", "Add(p, w -> o)");
    pgy_gs_destroy(g);
}

static void test_fold_if__bodies_inside_move_along(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph(), *yes = NULL, *body = NULL;
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    add_if(g, "if", true, "o", &yes);
    text_node(yes, "Neg", "neg", "x", "t");
    pgy_gs_node *inner = text_node(yes, "If", "dynamic", "go", "u");
    body = text_subgraph(inner, "then_branch");
    text_node(body, "Abs", "abs", "t", "v");
    text_io(body, "", "v");
    body = text_subgraph(inner, "else_branch");
    text_io(body, "", "t");
    text_io(yes, "", "u");
    text_io(g, "x go", "o");
    fold_with(g, o);
    body = pgy_gs_find_attr(pgy_gs_find_node(g, "dynamic"), "then_branch")->graphs[0];
    assert_ptr_equal(body->parent, g);
    assert_node(body, "abs", "Abs(t_subg_0_yes -> v)");
    assert_node(g, "dynamic", "If(go -> o)");
    assert_string_equal(pgy_gs_find_attr(pgy_gs_find_node(g, "dynamic"), "else_branch")
                            ->graphs[0]
                            ->outputs[0]
                            ->name,
                        "t_subg_0_yes");
    pgy_gs_destroy(g);
}

static void test_fold_if__conditions_that_are_no_single_bool_stay(void **state)
{
    (void)state;
    pgy_gs_graph *g = simple(true);
    pgy_error err = {0};
    pgy_gs_tensor *odd = text_ints(g, "odd", "1");
    assert_int_equal(pgy_gs_set_input(pgy_gs_find_node(g, "if"), 0, odd, &err), PGY_OK);
    fold(g);
    assert_nodes(g, "pre if add");
    pgy_gs_destroy(g);
}

static void test_fold_if__branches_of_two_nodes_stay(void **state)
{
    (void)state;
    pgy_gs_graph *g = simple(true);
    pgy_gs_node *other = text_node(g, "If", "other", "if_condition", "z");
    text_attr(other, pgy_gs_attr_graph(
                         "then_branch",
                         pgy_gs_find_attr(pgy_gs_find_node(g, "if"), "then_branch")->graphs[0]));
    text_io(g, "x", "o z");
    fold(g);
    assert_nodes(g, "pre if add other");
    pgy_gs_destroy(g);
}

static void test_fold_if__refused_memory(void **state)
{
    (void)state;
    bool done = false;
    if (!mem_fail_nth(0)) skip();
    for (uint64_t n = 1; !done && n < 5000; n++) {
        pgy_error err = {0};
        pgy_gs_graph *g = simple(true);
        mem_fail_nth(n);
        const pgy_status st = pgy_gs_fold_constants(g, NULL, &err);
        mem_fail_nth(0);
        done = st == PGY_OK && g->node_count == 4 && n > 200;
        assert_true(st == PGY_OK || st == PGY_E_MEMORY);
        assert_edges(g);
        pgy_gs_destroy(g);
    }
    assert_true(done);
}
