/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_text.h"

static void assert_users(pgy_gs_node *const *users, size_t count, const char *names)
{
    str text = {0};
    for (size_t i = 0; i < count; i++) str_printf(&text, "%s%s", i ? " " : "", users[i]->name);
    assert_string_equal(str_text(&text), names);
    str_deinit(&text);
}

static void assert_readers(const pgy_gs_graph *g, const char *tensor, const char *names)
{
    const pgy_gs_tensor *t = pgy_gs_find_tensor(g, tensor);
    assert_users(t ? t->consumers : NULL, t ? t->consumer_count : 0, names);
}

/* n1 reads a twice. */
static pgy_gs_graph *two_readers(pgy_gs_node **n1, pgy_gs_node **n2)
{
    pgy_gs_graph *g = text_graph();
    *n1 = text_node(g, "Op", "n1", "a a b", "x");
    *n2 = text_node(g, "Op", "n2", "a", "y");
    return g;
}

/* ---- Order of use lists, as the lists of the original have it -------------------------------- */

static void test_edge__a_slot_that_is_set_leaves_first_and_joins_last(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_node *n1, *n2;
    pgy_gs_graph *g = two_readers(&n1, &n2);
    pgy_gs_tensor *a = pgy_gs_find_tensor(g, "a");
    assert_readers(g, "a", "n1 n1 n2");
    assert_int_equal(pgy_gs_set_input(n1, 1, text_tensor(g, "c"), &err), PGY_OK);
    assert_readers(g, "a", "n1 n2");
    assert_readers(g, "c", "n1");
    assert_int_equal(pgy_gs_set_input(n1, 0, a, &err), PGY_OK);
    assert_readers(g, "a", "n2 n1");
    assert_node(g, "n1", "Op(a, c, b -> x)");
    assert_edges(g);
    pgy_gs_destroy(g);
}

static void test_edge__inserting_moves_up_and_removing_moves_down(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_node *n1, *n2;
    pgy_gs_graph *g = two_readers(&n1, &n2);
    pgy_gs_tensor *b = pgy_gs_find_tensor(g, "b");
    assert_int_equal(pgy_gs_insert_input(n1, 0, b, &err), PGY_OK);
    assert_node(g, "n1", "Op(b, a, a, b -> x)");
    assert_readers(g, "b", "n1 n1");
    assert_int_equal(pgy_gs_remove_input(n1, 1, &err), PGY_OK);
    assert_node(g, "n1", "Op(b, a, b -> x)");
    assert_readers(g, "a", "n1 n2");
    assert_int_equal(pgy_gs_set_input(n1, 3, b, &err), PGY_OK);
    assert_node(g, "n1", "Op(b, a, b, b -> x)");
    assert_int_equal(pgy_gs_insert_output(n1, 0, text_tensor(g, "w"), &err), PGY_OK);
    assert_int_equal(pgy_gs_remove_output(n1, 1, &err), PGY_OK);
    assert_node(g, "n1", "Op(b, a, b, b -> w)");
    assert_edges(g);
    pgy_gs_destroy(g);
}

static void test_edge__a_list_detaches_all_and_attaches_in_order(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_node *n1, *n2;
    pgy_gs_graph *g = two_readers(&n1, &n2);
    pgy_gs_node *n3 = text_node(g, "Op", "n3", "a b a b", "z");
    pgy_gs_tensor *list[] = {pgy_gs_find_tensor(g, "b"), pgy_gs_find_tensor(g, "a")};
    assert_readers(g, "a", "n1 n1 n2 n3 n3");
    assert_int_equal(pgy_gs_set_inputs(n3, list, 2, &err), PGY_OK);
    assert_readers(g, "a", "n1 n1 n2 n3");
    assert_readers(g, "b", "n1 n3");
    assert_int_equal(pgy_gs_set_inputs(n1, n1->inputs, 2, &err), PGY_OK);
    assert_node(g, "n1", "Op(a, a -> x)");
    assert_readers(g, "a", "n2 n3 n1 n1");
    assert_int_equal(pgy_gs_set_inputs(n2, n3->inputs, n3->input_count, &err), PGY_OK);
    assert_node(g, "n2", "Op(b, a -> y)");
    assert_node(g, "n3", "Op(b, a -> z)");
    assert_edges(g);
    pgy_gs_destroy(g);
}

static void test_edge__clearing_readers_takes_their_slots(void **state)
{
    (void)state;
    pgy_gs_node *n1, *n2;
    pgy_gs_graph *g = two_readers(&n1, &n2);
    pgy_gs_tensor *a = pgy_gs_find_tensor(g, "a");
    pgy_gs_clear_consumers(a);
    assert_node(g, "n1", "Op(b -> x)");
    assert_node(g, "n2", "Op( -> y)");
    assert_int_equal(a->consumer_count, 0);
    assert_edges(g);
    pgy_gs_destroy(g);
}

/* The second way of case 4: for a while two nodes make one tensor. */
static void test_edge__of_two_makers_only_the_one_that_is_emptied_goes(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *p = text_node(g, "Add", "p", "a", "o");
    pgy_gs_node *q = text_node(g, "Sub", "q", "a", "o");
    pgy_gs_tensor *o = pgy_gs_find_tensor(g, "o");
    assert_users(o->producers, o->producer_count, "p q");
    assert_int_equal(pgy_gs_set_outputs(p, NULL, 0, &err), PGY_OK);
    assert_users(o->producers, o->producer_count, "q");
    pgy_gs_clear_producers(o);
    assert_int_equal(q->output_count, 0);
    assert_edges(g);
    pgy_gs_destroy(g);
}

static void test_edge__uses_are_replaced_in_their_slots_and_not_at_the_outputs(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_node *n1, *n2;
    pgy_gs_graph *g = two_readers(&n1, &n2);
    pgy_gs_tensor *a = pgy_gs_find_tensor(g, "a"), *b = pgy_gs_find_tensor(g, "b");
    text_io(g, "a", "a x");
    assert_int_equal(pgy_gs_replace_uses(a, b, &err), PGY_OK);
    assert_node(g, "n1", "Op(b, b, b -> x)");
    assert_node(g, "n2", "Op(b -> y)");
    assert_readers(g, "b", "n1 n1 n1 n2");
    assert_int_equal(a->consumer_count, 0);
    assert_tensors(g->outputs, g->output_count, "a, x");
    assert_int_equal(pgy_gs_replace_uses(b, b, &err), PGY_OK);
    assert_readers(g, "b", "n1 n1 n1 n2");
    assert_edges(g);
    pgy_gs_destroy(g);
}

/* Case 2's trap: the first reader is the one that was there first. */
static void test_edge__neighbours_are_in_the_order_of_attachment(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *first = text_node(g, "Identity", "first", "x", "t");
    pgy_gs_node *second = text_node(g, "Identity", "second", "t", "y");
    pgy_gs_node *add = text_node(g, "Add", "add", "t c", "u");
    pgy_gs_tensor *t = pgy_gs_find_tensor(g, "t");
    assert_ptr_equal(pgy_gs_node_o(first, 0, 0), second);
    assert_ptr_equal(pgy_gs_node_o(first, 1, 0), add);
    assert_null(pgy_gs_node_o(first, 2, 0));
    assert_null(pgy_gs_node_o(first, 0, 1));
    assert_ptr_equal(pgy_gs_node_i(add, 0, 0), first);
    assert_null(pgy_gs_node_i(add, 1, 0));
    assert_null(pgy_gs_node_i(add, 2, 0));
    assert_string_equal(pgy_gs_tensor_i(t, 0, 0)->name, "x");
    assert_string_equal(pgy_gs_tensor_o(t, 1, 0)->name, "u");
    assert_null(pgy_gs_tensor_i(t, 0, 1));
    assert_null(pgy_gs_tensor_o(t, 1, 1));
    assert_int_equal(pgy_gs_set_input(second, 0, add->outputs[0], &err), PGY_OK);
    assert_ptr_equal(pgy_gs_node_o(first, 0, 0), add);
    pgy_gs_destroy(g);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void test_edge__slots_that_are_not_there_are_named(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_node *n1, *n2;
    pgy_gs_graph *g = two_readers(&n1, &n2);
    pgy_gs_tensor *b = pgy_gs_find_tensor(g, "b");
    assert_int_equal(pgy_gs_set_input(n2, 2, b, &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text, "node 'n2' (Op): input 2 does not exist; the node has 1");
    assert_int_equal(pgy_gs_remove_output(n2, 1, &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text, "node 'n2' (Op): output 1 does not exist; the node has 1");
    pgy_gs_destroy(g);
}

static void test_edge__tensors_of_other_documents_are_refused(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_node *n1, *n2;
    pgy_gs_graph *g = two_readers(&n1, &n2), *other = text_graph();
    pgy_gs_tensor *t = text_tensor(other, "t");
    pgy_gs_tensor *list[] = {pgy_gs_find_tensor(g, "b"), t};
    assert_int_equal(pgy_gs_set_input(n2, 0, t, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "tensor 't' belongs to another graph"));
    assert_int_equal(pgy_gs_set_inputs(n1, list, 2, &err), PGY_E_ARGUMENT);
    assert_node(g, "n1", "Op(a, a, b -> x)");
    assert_int_equal(pgy_gs_replace_uses(list[0], t, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_add_graph_output(g, t, &err), PGY_E_ARGUMENT);
    assert_edges(g);
    pgy_gs_destroy(g);
    pgy_gs_destroy(other);
}

/* Lists of many readers stay right from whichever end they are taken apart. */
static void test_edge__many_readers(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    pgy_gs_graph *g = text_graph();
    pgy_gs_tensor *a = text_tensor(g, "a");
    pgy_gs_node *nodes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        pgy_error err = {0};
        const pgy_gs_node_spec spec = {.op = "Op", .inputs = &a, .input_count = 1};
        assert_int_equal(pgy_gs_add_node(&nodes[i], g, &spec, &err), PGY_OK);
    }
    for (int i = 0; i < COUNT; i += 3) pgy_gs_remove_node(nodes[i]);
    for (int i = COUNT - 1; i > 0; i -= 3) pgy_gs_remove_node(nodes[i]);
    assert_int_equal(a->consumer_count, COUNT / 3);
    for (int i = 0; i < COUNT / 3; i++) assert_ptr_equal(a->consumers[i], nodes[3 * i + 1]);
    assert_int_equal(g->node_count, COUNT / 3);
    assert_edges(g);
    pgy_gs_destroy(g);
}
