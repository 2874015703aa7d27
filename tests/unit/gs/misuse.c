/* SPDX-License-Identifier: Apache-2.0 */
/* What a program can get wrong: tensors of another document, slots and places that do not exist,
 * graphs that hold themselves, edits while the nodes are visited, operands of the wrong kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_text.h"

static void test_misuse__tensors_of_another_document(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *a = text_graph(), *b = text_graph();
    text_node(a, "Add", "n", "x w", "y");
    text_node(b, "Add", "m", "p q", "r");
    pgy_gs_node *n = pgy_gs_find_node(a, "n"), *other = pgy_gs_find_node(b, "m"), *made = NULL;
    pgy_gs_tensor *t = pgy_gs_find_tensor(b, "p"), *own = pgy_gs_find_tensor(a, "x");
    assert_int_equal(pgy_gs_set_input(n, 0, t, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_set_output(n, 0, t, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_insert_input(n, 0, t, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_insert_output(n, 0, t, &err), PGY_E_ARGUMENT);
    pgy_gs_tensor *mixed[] = {own, t};
    assert_int_equal(pgy_gs_set_inputs(n, mixed, 2, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_set_outputs(n, mixed, 2, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_replace_uses(own, t, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_set_graph_inputs(a, mixed, 2, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_set_graph_outputs(a, mixed, 2, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_add_graph_input(a, t, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_add_graph_output(a, t, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_place_node(other, a, 0, &err), PGY_E_ARGUMENT);
    const pgy_gs_node_spec spec = {.op = "Add", .inputs = mixed, .input_count = 2};
    assert_int_equal(pgy_gs_add_node(&made, a, &spec, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_replace_region(&made, a, &spec, &err), PGY_E_ARGUMENT);
    const pgy_gs_operand operand = pgy_gs_tensor_operand(t);
    const pgy_gs_layer_spec layer = {.op = "Abs", .inputs = &operand, .input_count = 1};
    assert_int_equal(pgy_gs_layer(&made, a, &layer, &err), PGY_E_ARGUMENT);
    assert_null(made);
    assert_node(a, "n", "Add(x, w -> y)");
    assert_node(b, "m", "Add(p, q -> r)");
    assert_int_equal(a->node_count, 1);
    assert_int_equal(a->input_count, 0);
    pgy_gs_destroy(a);
    pgy_gs_destroy(b);
}

static void test_misuse__places_that_do_not_exist(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    text_node(g, "Add", "n", "x w", "y");
    pgy_gs_node *n = pgy_gs_find_node(g, "n");
    pgy_gs_tensor *x = pgy_gs_find_tensor(g, "x");
    assert_int_equal(pgy_gs_set_input(n, 3, x, &err), PGY_E_NOT_FOUND);
    assert_int_equal(pgy_gs_set_output(n, SIZE_MAX, x, &err), PGY_E_NOT_FOUND);
    assert_int_equal(pgy_gs_insert_input(n, 3, x, &err), PGY_E_NOT_FOUND);
    assert_int_equal(pgy_gs_remove_input(n, 2, &err), PGY_E_NOT_FOUND);
    assert_int_equal(pgy_gs_remove_output(n, 1, &err), PGY_E_NOT_FOUND);
    assert_int_not_equal(pgy_gs_place_node(n, g, 7, &err), PGY_OK);
    assert_null(pgy_gs_node_i(n, 9, 0));
    assert_null(pgy_gs_node_o(n, 0, 9));
    assert_null(pgy_gs_tensor_i(x, 0, 0));
    assert_null(pgy_gs_tensor_o(x, 0, 9));
    assert_null(pgy_gs_find_attr(n, "none"));
    assert_false(pgy_gs_remove_attr(n, "none"));
    assert_int_equal(pgy_gs_set_type(x, PGY_F32, 2, NULL, &err), PGY_E_ARGUMENT);
    assert_node(g, "n", "Add(x, w -> y)");
    pgy_gs_destroy(NULL);
    pgy_gs_destroy(g);
}

static void test_misuse__a_graph_does_not_hold_itself(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph(), *other = text_graph(), *body = NULL;
    text_node(g, "If", "n", "c", "y");
    text_node(other, "If", "m", "c", "y");
    pgy_gs_node *n = pgy_gs_find_node(g, "n");
    assert_int_equal(pgy_gs_subgraph(&body, g, "body", &err), PGY_OK);
    pgy_gs_attr a = pgy_gs_attr_graph("then_branch", g);
    assert_int_equal(pgy_gs_set_attr(n, &a, &err), PGY_E_ARGUMENT);
    a = pgy_gs_attr_graph("then_branch", body);
    assert_int_equal(pgy_gs_set_attr(pgy_gs_find_node(other, "m"), &a, &err), PGY_E_ARGUMENT);
    text_node(body, "If", "inner", "c", "z");
    assert_int_equal(pgy_gs_set_attr(pgy_gs_find_node(body, "inner"), &a, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_set_attr(n, &a, &err), PGY_OK);
    assert_int_not_equal(pgy_gs_place_node(n, body, 0, &err), PGY_OK);
    pgy_gs_destroy(g);
    pgy_gs_destroy(other);
}

static void test_misuse__edits_while_visiting(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    for (int i = 0; i < 40; i++) {
        char name[16], in[16], out[16];
        snprintf(name, sizeof name, "n%d", i);
        snprintf(in, sizeof in, "t%d", i);
        snprintf(out, sizeof out, "t%d", i + 1);
        text_node(g, "Relu", name, in, out);
    }
    size_t seen = 0;
    pgy_gs_iter it = {0};
    for (pgy_gs_node *n; pgy_gs_next(&n, &it, g, &err) == PGY_OK && n; seen++) {
        const pgy_gs_node_spec spec = {.op = "Neg", .name = "more"};
        pgy_gs_node *made = NULL, *next = pgy_gs_node_o(n, 0, 0);
        assert_int_equal(pgy_gs_add_node(&made, g, &spec, &err), PGY_OK);
        if (next) pgy_gs_remove_node(next);
        pgy_gs_remove_node(n);
        assert_int_equal(pgy_gs_cleanup(g, NULL, &err), PGY_OK);
    }
    pgy_gs_iter_end(&it);
    assert_int_equal(seen, 1); /* the first cleanup took all */
    assert_int_equal(g->node_count, 0);
    pgy_gs_destroy(g);
}

static pgy_status build_none(pgy_gs_node **out, pgy_gs_graph *g, const pgy_gs_call *call,
                             void *user, pgy_error *err)
{
    const pgy_gs_layer_spec spec = {
        .op = user, .inputs = call->inputs, .input_count = call->input_count};
    return pgy_gs_layer(out, g, &spec, err);
}

static void test_misuse__operands_of_the_wrong_kind(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *n = NULL;
    pgy_gs_operation o = {.name = "op",
                          .min_inputs = 2,
                          .max_inputs = 2,
                          .input_kinds = "ti",
                          .build = build_none,
                          .user = (void *)"Op"};
    assert_int_equal(pgy_gs_register(g, &o, &err), PGY_OK);
    const pgy_gs_operand bad[] = {pgy_gs_float_operand(1), pgy_gs_int_operand(1)};
    const pgy_gs_operand null[] = {pgy_gs_tensor_operand(NULL), pgy_gs_int_operand(1)};
    pgy_gs_call call = {.inputs = bad, .input_count = 2};
    assert_int_equal(pgy_gs_invoke(&n, g, "op", &call, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "op"));
    call.inputs = null;
    assert_int_equal(pgy_gs_invoke(&n, g, "op", &call, &err), PGY_E_ARGUMENT);
    call.input_count = 1;
    assert_int_equal(pgy_gs_invoke(&n, g, "op", &call, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_invoke(&n, g, "op", NULL, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_invoke(&n, g, "ops", NULL, &err), PGY_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "'op'"));
    o.input_kinds = "tz";
    assert_int_equal(pgy_gs_register(g, &o, &err), PGY_E_ARGUMENT);
    o.input_kinds = NULL, o.build = NULL;
    assert_int_equal(pgy_gs_register(g, &o, &err), PGY_E_ARGUMENT);
    const pgy_gs_operand number = pgy_gs_int_operand(1);
    const pgy_gs_layer_spec spec = {.op = "Op", .outputs = &number, .output_count = 1};
    assert_int_equal(pgy_gs_layer(&n, g, &spec, &err), PGY_E_ARGUMENT);
    const pgy_gs_operand nameless = pgy_gs_name_operand(NULL), empty = pgy_gs_array_operand(NULL);
    const pgy_gs_layer_spec without = {.op = "Op", .outputs = &nameless, .output_count = 1};
    assert_int_equal(pgy_gs_layer(&n, g, &without, &err), PGY_E_ARGUMENT);
    const pgy_gs_layer_spec array = {.op = "Op", .inputs = &empty, .input_count = 1};
    assert_int_equal(pgy_gs_layer(&n, g, &array, &err), PGY_E_ARGUMENT);
    assert_null(n);
    assert_int_equal(g->node_count, 0);
    pgy_gs_destroy(g);
}

static void test_misuse__lists_and_texts_that_are_not_there(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *n = NULL;
    const char *const texts[] = {"a", NULL};
    text_node(g, "Relu", "n", "x", "y");
    const pgy_gs_attr list = pgy_gs_attr_texts("names", texts, 2),
                      none = pgy_gs_attr_texts("names", NULL, 2);
    assert_int_equal(pgy_gs_set_attr(pgy_gs_find_node(g, "n"), &list, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "'names'"));
    assert_int_equal(pgy_gs_set_attr(pgy_gs_find_node(g, "n"), &none, &err), PGY_E_ARGUMENT);
    const pgy_gs_layer_spec layer = {.op = "Abs", .input_count = 1};
    assert_int_equal(pgy_gs_layer(&n, g, &layer, &err), PGY_E_ARGUMENT);
    const pgy_gs_layer_spec made = {.op = "Abs", .output_count = 1};
    assert_int_equal(pgy_gs_layer(&n, g, &made, &err), PGY_E_ARGUMENT);
    const pgy_gs_operation o = {.name = "op", .build = build_none, .user = (void *)"Op"};
    const pgy_gs_call call = {.input_count = 1};
    assert_int_equal(pgy_gs_register(g, &o, &err), PGY_OK);
    assert_int_equal(pgy_gs_invoke(&n, g, "op", &call, &err), PGY_E_ARGUMENT);
    assert_null(n);
    assert_int_equal(g->node_count, 1);
    pgy_gs_destroy(g);
}

static void test_misuse__types_that_do_not_exist(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_tensor *t = NULL;
    text_node(g, "Relu", "n", "x", "y");
    pgy_gs_tensor *x = pgy_gs_find_tensor(g, "x");
    assert_int_equal(pgy_gs_variable(&t, g, "t", (pgy_dtype)999, -1, NULL, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "999"));
    assert_null(t);
    assert_null(pgy_gs_find_tensor(g, "t"));
    assert_int_equal(pgy_gs_set_type(x, (pgy_dtype)-1, -1, NULL, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_to_variable(x, (pgy_dtype)999, -1, NULL, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_set_type(x, PGY_DTYPE_NONE, -1, NULL, &err), PGY_OK);
    pgy_gs_destroy(g);
}
