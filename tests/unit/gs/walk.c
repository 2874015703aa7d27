/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_text.h"
#include "harness/model_builder.h"

static void assert_list(pgy_gs_tensor_list *list, const char *names)
{
    assert_tensors(list->items, list->count, names);
    pgy_gs_tensor_list_free(list);
}

static void test_walk__tensors_come_by_first_appearance(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_tensor_list list = {0};
    pgy_gs_graph *g = text_graph();
    text_node(g, "Add", "late", "t w", "u");
    text_node(g, "Conv", "early", "x w -", "t -");
    text_io(g, "unread x", "u unmade");
    assert_int_equal(pgy_gs_tensors(&list, g, true, &err), PGY_OK);
    assert_list(&list, "unread, x, t, w, u, unmade");
    pgy_gs_destroy(g);
}

static void count_warnings(pgy_severity severity, const char *text, size_t size_bytes, void *user)
{
    (void)text;
    (void)size_bytes;
    if (severity == PGY_LOG_WARNING) ++*(int *)user;
}

/* The place is that of the first, the object the last. */
static void test_walk__tensors_of_one_name(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_tensor_list list = {0};
    pgy_gs_tensor *second = NULL;
    pgy_gs_graph *g = text_graph();
    int warnings = 0;
    text_node(g, "Op", "n1", "a", "b");
    pgy_gs_node *n2 = text_node(g, "Op", "n2", "b", "c");
    assert_int_equal(pgy_gs_variable(&second, g, "a", PGY_F32, -1, NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_set_input(n2, 1, second, &err), PGY_OK);
    pgy_log_set_sink(count_warnings, &warnings);
    const pgy_status st = pgy_gs_tensors(&list, g, false, &err);
    pgy_log_set_sink(NULL, NULL);
    assert_int_equal(st, PGY_OK);
    assert_int_equal(warnings, 1);
    assert_ptr_equal(list.items[0], second);
    assert_list(&list, "a, b, c");
    assert_ptr_equal(pgy_gs_find_tensor(g, "a"), second);
    assert_int_equal(pgy_gs_tensors(&list, g, true, &err), PGY_E_FORMAT);
    assert_string_equal(err.text, "graph 'onnx_graphsurgeon_graph': two tensors are named 'a'");
    pgy_gs_destroy(g);
}

/* If "if" holds a branch that reads outer t, its own p and, in a level of its own, outer u. */
static pgy_gs_graph *nested(pgy_gs_graph **branch, pgy_gs_graph **inner)
{
    pgy_gs_graph *g = text_graph();
    text_io(g, "x", "");
    text_node(g, "Op", "make", "x", "t u");
    pgy_gs_node *n = text_node(g, "If", "if", "c", "y");
    *branch = text_subgraph(n, "then_branch");
    text_node(*branch, "Op", "own", "t", "p");
    pgy_gs_node *loop = text_node(*branch, "Loop", "loop", "p", "q");
    *inner = text_subgraph(loop, "body");
    text_io(*inner, "i", "r");
    text_node(*inner, "Op", "deep", "i u p x t", "r");
    text_io(*branch, "", "q");
    return g;
}

static void test_walk__what_a_level_takes_from_outside(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_tensor_list list = {0};
    pgy_gs_graph *branch, *inner, *g = nested(&branch, &inner);
    assert_int_equal(pgy_gs_foreign_tensors(&list, branch, &err), PGY_OK);
    assert_list(&list, "t, u, x");
    assert_int_equal(pgy_gs_foreign_tensors(&list, inner, &err), PGY_OK);
    assert_list(&list, "u, p, x, t");
    assert_edges(g);
    pgy_gs_destroy(g);
}

static pgy_status note(pgy_gs_tensor *t, void *user, pgy_error *err)
{
    (void)err;
    str_printf(user, "%s ", t->name);
    return PGY_OK;
}

static void test_walk__a_node_depends_on_what_its_subgraphs_take(void **state)
{
    (void)state;
    pgy_error err = {0};
    str names = {0};
    pgy_gs_graph *branch, *inner, *g = nested(&branch, &inner);
    assert_int_equal(gs_each_dependency(pgy_gs_find_node(g, "if"), note, &names, &err), PGY_OK);
    assert_string_equal(str_text(&names), "c t u x ");
    str_deinit(&names);
    pgy_gs_destroy(g);
}

static void test_walk__things_are_found_on_their_level_only(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_node *n = NULL;
    pgy_gs_tensor *t = NULL;
    pgy_gs_graph *branch, *inner, *g = nested(&branch, &inner);
    assert_non_null(pgy_gs_find_node(g, "make"));
    assert_null(pgy_gs_find_node(g, "own"));
    assert_ptr_equal(pgy_gs_find_tensor(branch, "t"), pgy_gs_find_tensor(g, "t"));
    assert_null(pgy_gs_find_tensor(g, "p"));
    assert_null(pgy_gs_find_tensor(branch, "c"));
    assert_int_equal(pgy_gs_get_node(&n, g, "makes", &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text, "graph 'onnx_graphsurgeon_graph' has no node 'makes'; did you "
                                  "mean 'make'?");
    assert_int_equal(pgy_gs_get_tensor(&t, g, "something", &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text, "graph 'onnx_graphsurgeon_graph' has no tensor 'something'");
    pgy_gs_unlist_node(pgy_gs_find_node(g, "make"));
    assert_null(pgy_gs_find_node(g, "make"));
    pgy_gs_destroy(g);
}

static void test_walk__of_several_nodes_of_a_name_the_first_is_found(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *a = text_node(g, "Op", "same", "x", "a");
    pgy_gs_node *b = text_node(g, "Op", "same", "x", "b");
    assert_ptr_equal(pgy_gs_find_node(g, "same"), a);
    assert_int_equal(pgy_gs_place_node(b, g, 0, &err), PGY_OK);
    assert_ptr_equal(pgy_gs_find_node(g, "same"), b);
    assert_int_equal(pgy_gs_set_node_name(b, "other", &err), PGY_OK);
    assert_ptr_equal(pgy_gs_find_node(g, "same"), a);
    pgy_gs_destroy(g);
}

/* Nodes that leave are not visited, nor are new ones. */
static void test_walk__nodes_while_they_are_edited(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    const char *const names[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < 4; i++) text_node(g, "Op", names[i], "x", "");
    pgy_gs_iter it = {0};
    pgy_gs_node *n = NULL;
    str seen = {0};
    pgy_status st;
    while (!(st = pgy_gs_next(&n, &it, g, &err)) && n) {
        str_append(&seen, n->name);
        if (strcmp(n->name, "a") == 0) pgy_gs_remove_node(pgy_gs_find_node(g, "c"));
        text_node(g, "Op", "new", "x", "");
        pgy_gs_remove_node(n);
    }
    assert_int_equal(st, PGY_OK);
    assert_string_equal(str_text(&seen), "abd");
    assert_nodes(g, "new new new");
    assert_int_equal(pgy_gs_next(&n, &it, g, &err), PGY_OK);
    pgy_gs_iter_end(&it);
    assert_edges(g);
    str_deinit(&seen);
    pgy_gs_destroy(g);
}

/* ---- Lists of nodes -------------------------------------------------------------------------- */

static void test_walk__nodes_move_in_and_out_of_lists(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *branch, *inner, *g = nested(&branch, &inner);
    pgy_gs_node *own = pgy_gs_find_node(branch, "own");
    assert_int_equal(pgy_gs_place_node(own, g, 1, &err), PGY_OK);
    assert_nodes(g, "make own if");
    assert_nodes(branch, "loop");
    assert_ptr_equal(own->graph, g);
    assert_int_equal(pgy_gs_node_index(own), 1);
    assert_int_equal(pgy_gs_place_node(own, g, 3, &err), PGY_E_NOT_FOUND);
    assert_int_equal(pgy_gs_place_node(own, g, 2, &err), PGY_OK);
    assert_nodes(g, "make if own");
    assert_node(g, "own", "Op(t -> p)");
    pgy_gs_unlist_node(own);
    assert_true(pgy_gs_node_index(own) == SIZE_MAX);
    assert_string_equal(own->inputs[0]->name, "t"); /* edges stay */
    pgy_gs_node *loop = pgy_gs_find_node(branch, "loop");
    assert_int_equal(pgy_gs_place_node(loop, g, 0, &err), PGY_OK);
    assert_ptr_equal(inner->parent, g);
    pgy_gs_destroy(g);
}

static void test_walk__no_graph_contains_itself(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *branch, *inner, *g = nested(&branch, &inner);
    pgy_gs_node *deep = pgy_gs_find_node(inner, "deep");
    pgy_gs_attr a = pgy_gs_attr_graph("body", branch);
    assert_int_equal(pgy_gs_set_attr(deep, &a, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "node 'deep' (Op): graph 'then_branch' would contain itself");
    a = pgy_gs_attr_graph("body", g);
    assert_int_equal(pgy_gs_set_attr(deep, &a, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_place_node(pgy_gs_find_node(g, "if"), inner, 0, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "node 'if' (If): graph 'body' is inside this node");
    assert_int_equal(deep->attribute_count, 0);
    pgy_gs_destroy(g);
}
