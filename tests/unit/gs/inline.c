/* SPDX-License-Identifier: Apache-2.0 */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/alloc.h"
#include "graph_text.h"
#include "harness/model_builder.h"

static pgy_gs_graph *import(model_builder *b)
{
    pgy_gs_graph *g = NULL;
    pgy_error err = {0};
    pgy_model *model = builder_finish_bytes(b);
    assert_int_equal(pgy_gs_import(&g, model, &err), PGY_OK);
    pgy_model_destroy(model);
    return g;
}

static pgy_onnx_node *call(model_builder *b, const char *function, const char *name,
                           const char *inputs, const char *outputs)
{
    pgy_onnx_node *n = builder_node(b, function, inputs, outputs);
    n->domain = "d";
    n->name = name;
    return n;
}

static void start(model_builder *b)
{
    *b = builder_start(17);
    builder_opset(b, "d", 1);
    builder_input(b, "x", PGY_F32, "3");
}

/* What is exported is whole: imported again it has the same nodes. */
static void assert_exports(pgy_gs_graph *g)
{
    pgy_model *model = NULL;
    pgy_error err = {0};
    pgy_gs_graph *again = NULL;
    assert_int_equal(pgy_gs_export(&model, g, NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_import(&again, model, &err), PGY_OK);
    assert_int_equal(again->node_count, g->node_count);
    assert_true(pgy_gs_graph_equal(g, again));
    pgy_gs_destroy(again);
    pgy_model_destroy(model);
}

static void inline_all(pgy_gs_graph *g)
{
    pgy_error err = {0};
    const pgy_status st = pgy_gs_inline_functions(g, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(st, PGY_OK);
    assert_int_equal(g->function_count, 0);
    assert_edges(g);
    assert_exports(g);
}

/* F(a, b) = Relu(a) + b. */
static void add_simple(model_builder *b)
{
    model_builder f = builder_function(b, "d", "F", "a b", "c", "");
    builder_node(&f, "Relu", "a", "t")->name = "relu";
    builder_node(&f, "Add", "t b", "c")->name = "add";
    builder_end_function(&f);
}

/* ---- One call -------------------------------------------------------------------------------- */

static void test_inline__body_takes_the_place_of_the_call(void **state)
{
    (void)state;
    model_builder b;
    start(&b);
    add_simple(&b);
    builder_node(&b, "Neg", "x", "n")->name = "before";
    call(&b, "F", "f", "n x", "m");
    builder_node(&b, "Neg", "m", "y")->name = "after";
    builder_output(&b, "y", PGY_F32, "3");
    pgy_gs_graph *g = import(&b);
    pgy_gs_node *n = pgy_gs_find_node(g, "f");
    pgy_error err = {0};
    bool done = false;
    assert_int_equal(pgy_gs_inline_call(&done, n, &err), PGY_OK);
    assert_true(done);
    assert_nodes(g, "before relu_f add_f after");
    assert_node(g, "relu_f", "Relu(n -> t_f)");
    assert_node(g, "add_f", "Add(t_f, x -> m)");
    assert_edges(g);
    assert_null(n->graph);
    assert_int_equal(n->input_count, 0);
    assert_int_equal(g->function_count, 1);
    assert_exports(g);

    assert_int_equal(pgy_gs_inline_call(&done, pgy_gs_find_node(g, "after"), &err), PGY_OK);
    assert_false(done);
    assert_int_equal(pgy_gs_inline_call(&done, n, &err), PGY_E_ARGUMENT);
    pgy_gs_destroy(g);
}

static void test_inline__names_are_made_free(void **state)
{
    (void)state;
    model_builder b;
    start(&b);
    add_simple(&b);
    builder_node(&b, "Neg", "x", "t_f")->name = "relu_f";
    call(&b, "F", "f", "x t_f", "m");
    call(&b, "F", "", "m m", "k");
    call(&b, "F", "", "k k", "y");
    builder_output(&b, "y", PGY_F32, "3");
    pgy_gs_graph *g = import(&b);
    inline_all(g);
    assert_int_equal(g->node_count, 7);
    assert_node(g, "relu_f", "Neg(x -> t_f)");
    assert_string_equal(g->nodes[1]->op, "Relu");
    assert_string_not_equal(g->nodes[1]->name, "relu_f");
    assert_string_not_equal(g->nodes[1]->outputs[0]->name, "t_f");
    /* Calls without name leave the place where they were. */
    assert_node(g, "relu_3", "Relu(m -> t_3)");
    assert_node(g, "add_5", "Add(t_5, k -> y)");
    pgy_gs_destroy(g);
}

static void test_inline__inputs_and_outputs_that_are_left_out(void **state)
{
    (void)state;
    model_builder b;
    start(&b);
    model_builder f = builder_function(&b, "d", "F", "a lo hi", "c spare", "");
    builder_node(&f, "Clip", "a lo hi", "c")->name = "clip";
    builder_node(&f, "Neg", "c", "spare")->name = "neg";
    builder_end_function(&f);
    builder_floats(&b, "top", "", NULL);
    call(&b, "F", "f0", "x", "y0");
    call(&b, "F", "f1", "x - top", "- y1");
    builder_output(&b, "y0", PGY_F32, "3");
    builder_output(&b, "y1", PGY_F32, "3");
    pgy_gs_graph *g = import(&b);
    inline_all(g);
    assert_node(g, "clip_f0", "Clip(x, -, - -> y0)");
    assert_node(g, "neg_f0", "Neg(y0 -> spare_f0)");
    assert_node(g, "clip_f1", "Clip(x, -, top -> c_f1)");
    assert_node(g, "neg_f1", "Neg(c_f1 -> y1)");
    pgy_gs_destroy(g);
}

static void test_inline__outputs_that_are_inputs_or_come_twice(void **state)
{
    (void)state;
    model_builder b;
    start(&b);
    model_builder f = builder_function(&b, "d", "F", "a", "a c c", "");
    builder_node(&f, "Neg", "a", "c")->name = "neg";
    builder_end_function(&f);
    call(&b, "F", "f", "x", "y0 y1 y2");
    builder_output(&b, "y0", PGY_F32, "3");
    builder_output(&b, "y1", PGY_F32, "3");
    builder_output(&b, "y2", PGY_F32, "3");
    pgy_gs_graph *g = import(&b);
    inline_all(g);
    assert_int_equal(g->node_count, 3);
    assert_node(g, "neg_f", "Neg(x -> y1)");
    assert_string_equal(g->nodes[1]->op, "Identity");
    assert_tensors(g->nodes[1]->inputs, 1, "x");
    assert_tensors(g->nodes[1]->outputs, 1, "y0");
    assert_tensors(g->nodes[2]->inputs, 1, "y1");
    assert_tensors(g->nodes[2]->outputs, 1, "y2");
    pgy_gs_destroy(g);
}

/* ---- Attributes ------------------------------------------------------------------------------ */

/* F(a) = LeakyRelu(a, alpha=@slope); the parameter has a default if `fallback`. */
static void add_leaky(model_builder *b, const char *name, bool fallback)
{
    model_builder f = builder_function(b, "d", name, "a", "c", fallback ? "" : "slope");
    pgy_onnx_node *n = builder_node(&f, "LeakyRelu", "a", "c");
    n->name = "leaky";
    builder_attr_ref(&f, n, "alpha", PGY_ATTR_FLOAT, "slope");
    builder_end_function(&f);
    if (!fallback) return;
    pgy_onnx_function *made = b->proto->functions[b->proto->function_count - 1];
    pgy_onnx_node *holder = builder_node(b, "Holder", "", "");
    builder_attr_float(b, holder, "slope", 0.25f);
    b->graph->node_count--;
    made->attribute_protos = holder->attributes;
    made->attribute_proto_count = 1;
}

static void test_inline__attributes_come_from_the_call_or_the_default(void **state)
{
    (void)state;
    model_builder b;
    start(&b);
    add_leaky(&b, "Asks", false);
    add_leaky(&b, "Knows", true);
    builder_attr_float(&b, call(&b, "Asks", "f0", "x", "t0"), "slope", 0.5f);
    call(&b, "Asks", "f1", "t0", "t1");
    builder_attr_float(&b, call(&b, "Knows", "f2", "t1", "t2"), "slope", 0.75f);
    call(&b, "Knows", "f3", "t2", "y");
    builder_output(&b, "y", PGY_F32, "3");
    pgy_gs_graph *g = import(&b);
    inline_all(g);
    assert_true(pgy_gs_attr_as_float(g->nodes[0], "alpha", -1) == 0.5f);
    assert_null(pgy_gs_find_attr(g->nodes[1], "alpha"));
    assert_true(pgy_gs_attr_as_float(g->nodes[2], "alpha", -1) == 0.75f);
    assert_true(pgy_gs_attr_as_float(g->nodes[3], "alpha", -1) == 0.25f);
    assert_null(pgy_gs_find_attr(g->nodes[3], "slope"));
    pgy_gs_destroy(g);
}

/* An outer function that passes on what it was not given: the inner default holds. */
static void test_inline__attributes_reach_inner_calls(void **state)
{
    (void)state;
    model_builder b;
    start(&b);
    add_leaky(&b, "Inner", true);
    model_builder f = builder_function(&b, "d", "Outer", "a", "c", "s");
    builder_attr_ref(&f, call(&f, "Inner", "inner", "a", "c"), "slope", PGY_ATTR_FLOAT, "s");
    builder_end_function(&f);
    builder_attr_float(&b, call(&b, "Outer", "o0", "x", "t"), "s", 0.5f);
    call(&b, "Outer", "o1", "t", "y");
    builder_output(&b, "y", PGY_F32, "3");
    pgy_gs_graph *g = import(&b);
    inline_all(g);
    assert_nodes(g, "leaky_inner_o0 leaky_inner_o1");
    assert_true(pgy_gs_attr_as_float(g->nodes[0], "alpha", -1) == 0.5f);
    assert_true(pgy_gs_attr_as_float(g->nodes[1], "alpha", -1) == 0.25f);
    pgy_gs_destroy(g);
}

static void test_inline__attribute_of_a_wrong_type(void **state)
{
    (void)state;
    model_builder b;
    start(&b);
    add_leaky(&b, "F", false);
    call(&b, "F", "good", "x", "t");
    builder_attr_int(&b, call(&b, "F", "bad", "t", "y"), "slope", 1);
    builder_output(&b, "y", PGY_F32, "3");
    pgy_gs_graph *g = import(&b);
    pgy_error err = {0};
    assert_int_equal(pgy_gs_inline_functions(g, &err), PGY_E_TYPE);
    assert_string_equal(
        err.text,
        "node 'bad' (F): attribute 'slope' has type 2, but function 'F' uses it as type 1");
    /* Nothing of the level has changed. */
    assert_nodes(g, "good bad");
    assert_node(g, "good", "F(x -> t)");
    assert_int_equal(pgy_gs_find_tensor(g, "x")->consumer_count, 1);
    assert_int_equal(pgy_gs_find_tensor(g, "t")->producer_count, 1);
    assert_edges(g);
    assert_int_equal(g->function_count, 1);
    pgy_gs_destroy(g);
}

/* ---- Nesting --------------------------------------------------------------------------------- */

static void test_inline__calls_inside_functions(void **state)
{
    (void)state;
    model_builder b;
    start(&b);
    model_builder f = builder_function(&b, "d", "Twice", "a", "c", "");
    call(&f, "F", "one", "a a", "t");
    call(&f, "F", "two", "t a", "c");
    builder_end_function(&f);
    add_simple(&b);
    call(&b, "Twice", "top", "x", "y");
    builder_output(&b, "y", PGY_F32, "3");
    pgy_gs_graph *g = import(&b);
    inline_all(g);
    assert_nodes(g, "relu_one_top add_one_top relu_two_top add_two_top");
    assert_node(g, "add_one_top", "Add(t_one_top, x -> t_top)");
    assert_node(g, "add_two_top", "Add(t_two_top, x -> y)");
    pgy_gs_destroy(g);
}

/* F(a, c) = If(c) { Neg(a + w) } else { a }, w a weight of the branch. */
static void add_choice(model_builder *b)
{
    model_builder f = builder_function(b, "d", "F", "a c", "y", "");
    model_builder then_branch = builder_subgraph(&f, "then"), other = builder_subgraph(&f, "else");
    builder_floats(&then_branch, "w", "3", NULL);
    builder_node(&then_branch, "Add", "a w", "s")->name = "add";
    builder_node(&then_branch, "Neg", "s", "r")->name = "neg";
    builder_output(&then_branch, "r", PGY_F32, "N");
    builder_node(&other, "Identity", "a", "r2")->name = "same";
    builder_output(&other, "r2", PGY_F32, "N");
    pgy_onnx_node *n = builder_node(&f, "If", "c", "y");
    n->name = "if";
    builder_attr_graph(&f, n, "then_branch", &then_branch);
    builder_attr_graph(&f, n, "else_branch", &other);
    builder_end_function(&f);
}

static void test_inline__subgraphs_are_copied(void **state)
{
    (void)state;
    model_builder b;
    start(&b);
    add_choice(&b);
    builder_input(&b, "p", PGY_BOOL, "");
    call(&b, "F", "f0", "x p", "t");
    call(&b, "F", "f1", "t p", "y");
    builder_output(&b, "y", PGY_F32, "3");
    pgy_gs_graph *g = import(&b);
    inline_all(g);
    assert_nodes(g, "if_f0 if_f1");
    const pgy_gs_graph *branch = pgy_gs_find_attr(g->nodes[1], "then_branch")->graphs[0];
    assert_edges(branch);
    assert_ptr_equal(branch->parent, g);
    assert_node(branch, "add_f1", "Add(t, w_f1 -> s_f1)");
    assert_node(branch, "neg_f1", "Neg(s_f1 -> r_f1)");
    assert_tensors(branch->outputs, branch->output_count, "r_f1");
    assert_int_equal(branch->nodes[0]->inputs[1]->kind, PGY_GS_CONSTANT);
    assert_ptr_equal(branch->nodes[0]->inputs[0], pgy_gs_find_tensor(g, "t"));

    pgy_model *model = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_export(&model, g, NULL, &err), PGY_OK);
    const pgy_onnx_node *n = pgy_model_proto(model)->graph->nodes[1];
    const pgy_onnx_graph *written = pgy_onnx_node_attribute(n, "then_branch")->g;
    assert_int_equal(written->initializer_count, 1);
    assert_string_equal(written->initializers[0]->name, "w_f1");
    assert_string_equal(written->outputs[0]->name, "r_f1");
    pgy_model_destroy(model);
    pgy_gs_destroy(g);
}

static void test_inline__calls_inside_subgraphs(void **state)
{
    (void)state;
    model_builder b;
    start(&b);
    add_simple(&b);
    model_builder outer = builder_function(&b, "d", "G", "a c", "y", "");
    model_builder branch = builder_subgraph(&outer, "then");
    call(&branch, "F", "inner", "a a", "r");
    builder_output(&branch, "r", PGY_F32, "3");
    pgy_onnx_node *n = builder_node(&outer, "If", "c", "y");
    n->name = "if";
    builder_attr_graph(&outer, n, "then_branch", &branch);
    builder_end_function(&outer);
    builder_input(&b, "p", PGY_BOOL, "");
    model_builder own = builder_subgraph(&b, "own");
    call(&own, "G", "g", "x p", "q");
    builder_output(&own, "q", PGY_F32, "3");
    builder_attr_graph(&b, builder_node(&b, "If", "p", "y"), "then_branch", &own);
    builder_output(&b, "y", PGY_F32, "3");
    pgy_gs_graph *g = import(&b);
    inline_all(g);
    const pgy_gs_graph *first = pgy_gs_find_attr(g->nodes[0], "then_branch")->graphs[0];
    assert_nodes(first, "if_g");
    const pgy_gs_graph *second = pgy_gs_find_attr(first->nodes[0], "then_branch")->graphs[0];
    assert_nodes(second, "relu_inner_g add_inner_g");
    assert_node(second, "add_inner_g", "Add(t_inner_g, x -> r_g)");
    assert_edges(second);
    pgy_gs_destroy(g);
}

/* ---- Opsets ---------------------------------------------------------------------------------- */

static pgy_gs_graph *opset_graph(int64_t model, int64_t function, const char *domain)
{
    pgy_gs_graph *g = text_graph(), *f = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_set_opset(g, model, &err), PGY_OK);
    assert_int_equal(pgy_gs_function(&f, g, "F", "d", &err), PGY_OK);
    assert_int_equal(pgy_gs_set_import(f, domain, function, &err), PGY_OK);
    pgy_gs_node *n = text_node(f, "Relu", "r", "a", "b");
    assert_int_equal(pgy_gs_set_domain(n, domain, &err), PGY_OK);
    text_io(f, "a", "b");
    n = text_node(g, "F", "f", "x", "y");
    assert_int_equal(pgy_gs_set_domain(n, "d", &err), PGY_OK);
    text_io(g, "x", "y");
    return g;
}

static void test_inline__other_opset_is_refused(void **state)
{
    (void)state;
    pgy_gs_graph *g = opset_graph(17, 18, "");
    pgy_error err = {0};
    assert_int_equal(pgy_gs_inline_functions(g, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(
        err.text, "function 'F' cannot be inlined in graph "
                  "'onnx_graphsurgeon_graph': it uses opset 18 of domain '', but there it is 17"));
    assert_nodes(g, "f");
    pgy_gs_destroy(g);
}

static void test_inline__other_domains_are_imported(void **state)
{
    (void)state;
    pgy_gs_graph *g = opset_graph(17, 3, "custom");
    inline_all(g);
    bool found = false;
    for (size_t i = 0; i < g->import_count; i++)
        found |= !strcmp(g->imports[i].domain, "custom") && g->imports[i].version == 3;
    assert_true(found);
    pgy_gs_destroy(g);
}

/* ---- Hostile --------------------------------------------------------------------------------- */

static void text_call(pgy_gs_graph *g, const char *function, const char *in, const char *out)
{
    pgy_error err = {0};
    assert_int_equal(pgy_gs_set_domain(text_node(g, function, function, in, out), "d", &err),
                     PGY_OK);
}

static void test_inline__functions_that_call_themselves(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph(), *f = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_function(&f, g, "F", "d", &err), PGY_OK);
    text_call(f, "F", "a", "b");
    text_io(f, "a", "b");
    text_call(g, "F", "x", "y");
    assert_int_equal(pgy_gs_inline_functions(g, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "function F -> function F"));
    assert_nodes(g, "F");
    pgy_gs_destroy(g);
}

/* Thirty functions, each of which calls the next twice. */
static void test_inline__explosion_is_refused(void **state)
{
    (void)state;
    enum { DEPTH = 30 };
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    for (int i = 0; i < DEPTH; i++) {
        pgy_gs_graph *f = NULL;
        char name[8], next[8];
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, "F%d", i + 1);
        assert_int_equal(pgy_gs_function(&f, g, name, "d", &err), PGY_OK);
        text_call(f, next, "a", "t");
        text_call(f, next, "t", "b");
        text_io(f, "a", "b");
    }
    text_call(g, "F0", "x", "y");
    assert_int_equal(pgy_gs_inline_functions(g, &err), PGY_E_UNSUPPORTED);
    assert_string_equal(
        err.text,
        "inlining all functions would make more than 2000000 nodes; inline single calls instead");
    assert_nodes(g, "F0");
    assert_int_equal(pgy_gs_find_tensor(g, "x")->consumer_count, 1);
    assert_int_equal(g->function_count, DEPTH);
    pgy_gs_destroy(g);
}

static void test_inline__long_chain_of_functions(void **state)
{
    (void)state;
    enum { DEPTH = 5000 };
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    for (int i = 0; i < DEPTH; i++) {
        pgy_gs_graph *f = NULL;
        char name[16], next[16];
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, "F%d", i + 1);
        assert_int_equal(pgy_gs_function(&f, g, name, "d", &err), PGY_OK);
        pgy_gs_tensor *a = NULL, *b = NULL;
        assert_int_equal(pgy_gs_variable(&a, f, "a", PGY_F32, -1, NULL, &err), PGY_OK);
        assert_int_equal(pgy_gs_variable(&b, f, "b", PGY_F32, -1, NULL, &err), PGY_OK);
        pgy_gs_node_spec spec = {.op = i + 1 < DEPTH ? next : "Relu",
                                 .name = "n",
                                 .domain = i + 1 < DEPTH ? "d" : "",
                                 .inputs = &a,
                                 .input_count = 1,
                                 .outputs = &b,
                                 .output_count = 1};
        assert_int_equal(pgy_gs_add_node(NULL, f, &spec, &err), PGY_OK);
        assert_int_equal(pgy_gs_add_graph_input(f, a, &err), PGY_OK);
        assert_int_equal(pgy_gs_add_graph_output(f, b, &err), PGY_OK);
    }
    text_call(g, "F0", "x", "y");
    text_io(g, "x", "y");
    assert_int_equal(pgy_gs_inline_functions(g, &err), PGY_OK);
    assert_int_equal(g->node_count, 1);
    assert_string_equal(g->nodes[0]->op, "Relu");
    assert_tensors(g->nodes[0]->inputs, 1, "x");
    assert_tensors(g->nodes[0]->outputs, 1, "y");
    pgy_gs_destroy(g);
}

static void test_inline__refused_allocation(void **state)
{
    (void)state;
    pgy_status st = PGY_E_MEMORY;
    for (uint64_t n = 1; st; n++) {
        model_builder b;
        start(&b);
        add_choice(&b);
        builder_input(&b, "p", PGY_BOOL, "");
        call(&b, "F", "f0", "x p", "t");
        call(&b, "F", "f1", "t p", "y");
        builder_output(&b, "y", PGY_F32, "3");
        pgy_gs_graph *g = import(&b);
        pgy_error err = {0};
        if (!mem_fail_nth(n)) {
            pgy_gs_destroy(g);
            skip();
        }
        st = pgy_gs_inline_functions(g, &err);
        mem_fail_nth(0);
        if (st) {
            assert_int_equal(st, PGY_E_MEMORY);
            assert_edges(g);
            assert_int_equal(g->function_count, 1);
        }
        assert_exports(g);
        pgy_gs_destroy(g);
    }
}
