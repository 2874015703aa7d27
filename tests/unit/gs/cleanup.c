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

static void clean(pgy_gs_graph *g, const pgy_gs_cleanup_options *options)
{
    pgy_error err = {0};
    assert_int_equal(pgy_gs_cleanup(g, options, &err), PGY_OK);
    assert_edges(g);
}

static pgy_gs_cleanup_options unused_outputs(void)
{
    return (pgy_gs_cleanup_options){.size = sizeof(pgy_gs_cleanup_options),
                                    .remove_unused_node_outputs = true};
}

static pgy_gs_tensor *text_constant(pgy_gs_graph *g, const char *name)
{
    pgy_gs_tensor *t = NULL;
    pgy_tensor *values = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_create(&values, PGY_F32, 0, NULL, &err), PGY_OK);
    *(float *)pgy_tensor_data(values) = 1;
    assert_int_equal(pgy_gs_constant(&t, g, name, values, &err), PGY_OK);
    pgy_tensor_release(values);
    return t;
}

/* ---- What goes ------------------------------------------------------------------------------- */

/* The third graph of case 6: nodes in reverse, an output that nobody makes, an input nobody reads.
 */
static void test_cleanup__what_no_output_needs_goes(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    text_node(g, "Add", "myAdd4", "tensor5 w", "tensor6");
    text_node(g, "Add", "myAdd3", "tensor1 w", "tensor2");
    text_node(g, "Add", "myAdd2", "tensor0 tensor8", "tensor1");
    pgy_gs_node *one = text_node(g, "Add", "myAdd1", "tensor7 w", "tensor8");
    pgy_gs_node *zero = text_node(g, "Add", "myAdd0", "w w", "tensor7");
    text_io(g, "tensor0 tensor3", "tensor2 tensor4");
    /* As folding leaves them. */
    assert_int_equal(pgy_gs_remove_output(one, 0, &err), PGY_OK);
    assert_int_equal(pgy_gs_remove_output(zero, 0, &err), PGY_OK);
    pgy_gs_tensor *w = pgy_gs_find_tensor(g, "w");

    clean(g, NULL);
    assert_nodes(g, "myAdd3 myAdd2");
    assert_tensors(g->inputs, g->input_count, "tensor0, tensor3");
    assert_tensors(g->outputs, g->output_count, "tensor2, tensor4");
    assert_int_equal(w->consumer_count, 1);
    assert_string_equal(w->consumers[0]->name, "myAdd3");
    assert_null(one->graph);
    assert_int_equal(one->input_count, 0);
    assert_null(pgy_gs_find_tensor(g, "tensor6"));
    pgy_gs_destroy(g);
}

/* Case 8: a stretch is cut out by naming its ends. */
static void test_cleanup__inputs_are_sources(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    text_node(g, "Identity", "before", "x", "tensor1");
    text_node(g, "Add", "myAdd", "tensor1 b", "tensor2");
    text_node(g, "Identity", "after", "tensor2", "y");
    text_io(g, "tensor1", "tensor2");
    clean(g, NULL);
    assert_nodes(g, "myAdd");
    assert_int_equal(g->inputs[0]->producer_count, 0);
    assert_int_equal(g->outputs[0]->consumer_count, 0);
    pgy_gs_destroy(g);
}

static void test_cleanup__unused_inputs_go_if_asked(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_gs_cleanup_options options = {.size = sizeof options, .remove_unused_graph_inputs = true};
    pgy_gs_node *loop = text_node(g, "Loop", "loop", "trips", "y");
    text_node(g, "Relu", "dead", "seed", "nowhere");
    pgy_gs_graph *body = text_subgraph(loop, "body");
    text_io(g, "trips outer seed unused through", "y through");
    text_node(body, "Add", "inner", "outer outer", "sum");
    text_io(body, "i cond", "cond sum");
    clean(g, &options);
    assert_tensors(g->inputs, g->input_count, "trips, outer, through");
    /* A body is called by place. */
    assert_tensors(body->inputs, body->input_count, "i, cond");
    pgy_gs_destroy(g);
}

/* ---- Outputs of nodes ------------------------------------------------------------------------ */

/* Defect 12 of the reference: what is behind an output that goes keeps its place. */
static void test_cleanup__unused_outputs_keep_the_places_of_others(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_gs_cleanup_options options = unused_outputs();
    text_node(g, "Custom", "middle", "x", "a0 a1 a2");
    text_node(g, "Custom", "tail", "x", "b0 b1 - b2");
    text_node(g, "Custom", "gap", "x", "c0 - c1");
    text_io(g, "x", "a0 a2 b0 c0 c1");
    clean(g, NULL);
    assert_node(g, "middle", "Custom(x -> a0, a1, a2)");
    clean(g, &options);
    assert_node(g, "middle", "Custom(x -> a0, -, a2)");
    assert_node(g, "tail", "Custom(x -> b0)");
    assert_node(g, "gap", "Custom(x -> c0, -, c1)");
    pgy_gs_destroy(g);
}

static void test_cleanup__outputs_that_an_operator_must_have_stay(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_gs_cleanup_options options = unused_outputs();
    text_node(g, "TopK", "topk", "x k", "values indices");
    text_node(g, "Split", "split", "x", "o1 o2");
    text_node(g, "Dropout", "dropout", "x", "kept mask");
    text_node(g, "LSTM", "lstm", "x w r", "l lh lc");
    text_io(g, "x k w r", "indices o2 kept lh");
    clean(g, &options);
    assert_node(g, "topk", "TopK(x, k -> values, indices)");
    assert_node(g, "split", "Split(x -> o1, o2)");
    assert_node(g, "dropout", "Dropout(x -> kept)");
    assert_node(g, "lstm", "LSTM(x, w, r -> -, lh)");
    pgy_gs_destroy(g);
}

static void test_cleanup__output_that_became_an_input_keeps_the_places_of_others(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    text_node(g, "Custom", "three", "x", "a b c");
    text_node(g, "Add", "add", "a b", "y");
    text_node(g, "Add", "more", "y c", "z");
    text_io(g, "x b", "z");
    clean(g, NULL);
    assert_node(g, "three", "Custom(x -> a, -, c)");
    assert_int_equal(pgy_gs_find_tensor(g, "b")->producer_count, 0);
    pgy_gs_destroy(g);
}

/* ---- Subgraphs and functions ----------------------------------------------------------------- */

static pgy_gs_graph *nested_graph(pgy_gs_graph **branch)
{
    pgy_gs_graph *g = text_graph();
    text_node(g, "Relu", "a", "x", "ta");
    text_node(g, "Relu", "b", "x", "tb");
    text_node(g, "Relu", "c", "x", "cond");
    pgy_gs_node *choice = text_node(g, "If", "if", "cond", "y");
    *branch = text_subgraph(choice, "then_branch");
    text_node(*branch, "Relu", "used", "ta", "s");
    text_node(*branch, "Relu", "unused", "tb", "u");
    text_io(*branch, "", "s");
    text_io(g, "x", "y");
    return g;
}

static void test_cleanup__subgraphs_are_cleaned_first(void **state)
{
    (void)state;
    pgy_gs_graph *branch = NULL;
    pgy_gs_graph *g = nested_graph(&branch);
    clean(g, NULL);
    assert_nodes(branch, "used");
    assert_nodes(g, "a c if");
    pgy_gs_destroy(g);

    pgy_gs_cleanup_options options = {.size = sizeof options, .keep_subgraphs = true};
    g = nested_graph(&branch);
    clean(g, &options);
    assert_nodes(branch, "used unused");
    assert_nodes(g, "a b c if");
    pgy_gs_destroy(g);
}

/* Readers inside a subgraph that goes are gone as well. */
static void test_cleanup__dead_subgraphs_read_nothing(void **state)
{
    (void)state;
    pgy_gs_graph *branch = NULL;
    pgy_gs_graph *g = nested_graph(&branch);
    pgy_gs_cleanup_options options = unused_outputs();
    text_node(g, "Custom", "two", "x", "z extra");
    pgy_gs_node *inner = text_node(branch, "Relu", "reads", "extra", "s");
    assert_ptr_equal(pgy_gs_find_tensor(g, "extra")->consumers[0], inner);
    text_io(g, "x", "z");
    clean(g, &options);
    assert_nodes(g, "two");
    assert_node(g, "two", "Custom(x -> z)");
    assert_int_equal(pgy_gs_find_tensor(g, "x")->consumer_count, 1);
    pgy_gs_destroy(g);
}

static void test_cleanup__functions_are_cleaned_once_each(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph(), *f = NULL;
    pgy_error err = {0};
    pgy_gs_cleanup_options keep = {.size = sizeof keep, .keep_functions = true};
    assert_int_equal(pgy_gs_function(&f, g, "F", "d", &err), PGY_OK);
    text_node(f, "Relu", "used", "fx", "fy");
    text_node(f, "Relu", "unused", "fy", "nothing");
    text_io(f, "fx unread", "fy");
    clean(g, &keep);
    assert_nodes(f, "used unused");
    clean(g, NULL);
    assert_nodes(f, "used");
    assert_tensors(f->inputs, f->input_count, "fx, unread");
    assert_int_equal(g->function_count, 1);
    pgy_gs_destroy(g);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void test_cleanup__unused_weights_and_declarations_are_not_written(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    pgy_error err = {0};
    builder_input(&b, "x", PGY_F32, "3");
    builder_floats(&b, "spare", "3", NULL);
    builder_floats(&b, "w", "3", NULL);
    builder_floats(&b, "dead_w", "3", NULL);
    builder_floats(&b, "inner_w", "3", NULL);
    builder_value(&b, "forgotten", PGY_F32, "3");
    builder_value(&b, "t", PGY_F32, "3");
    builder_node(&b, "Add", "x w", "t");
    builder_node(&b, "Add", "x dead_w", "dead");
    model_builder sub = builder_subgraph(&b, "then");
    builder_node(&sub, "Add", "t inner_w", "s");
    builder_output(&sub, "s", PGY_F32, "3");
    builder_input(&b, "c", PGY_BOOL, "");
    pgy_onnx_node *choice = builder_node(&b, "If", "c", "y");
    builder_attr_graph(&b, choice, "then_branch", &sub);
    builder_output(&b, "y", PGY_F32, "3");
    pgy_model *model = builder_finish_bytes(&b), *out = NULL;
    pgy_gs_graph *g = NULL;
    assert_int_equal(pgy_gs_import(&g, model, &err), PGY_OK);
    clean(g, NULL);
    assert_int_equal(pgy_gs_export(&out, g, NULL, &err), PGY_OK);
    const pgy_onnx_graph *written = pgy_model_proto(out)->graph;
    assert_int_equal(written->node_count, 2);
    assert_int_equal(written->initializer_count, 2);
    assert_string_equal(written->initializers[0]->name, "w");
    assert_string_equal(written->initializers[1]->name, "inner_w");
    assert_int_equal(written->value_info_count, 1);
    assert_string_equal(written->value_infos[0]->name, "t");
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
    pgy_model_destroy(model);
}

static void test_cleanup__clean_graph_keeps_its_bytes(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    pgy_error err = {0};
    builder_input(&b, "x", PGY_F32, "3");
    builder_input(&b, "unused", PGY_F32, "3");
    builder_node(&b, "Relu", "x", "y");
    builder_output(&b, "y", PGY_F32, "3");
    pgy_model *model = builder_finish_bytes(&b), *out = NULL;
    pgy_gs_graph *g = NULL;
    assert_int_equal(pgy_gs_import(&g, model, &err), PGY_OK);
    clean(g, NULL);
    assert_int_equal(pgy_gs_toposort(g, NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_export(&out, g, NULL, &err), PGY_OK);
    void *before = NULL, *after = NULL;
    size_t before_size = 0, after_size = 0;
    assert_int_equal(pgy_model_serialize(&before, &before_size, model, &err), PGY_OK);
    assert_int_equal(pgy_model_serialize(&after, &after_size, out, &err), PGY_OK);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    pgy_text_free(before);
    pgy_text_free(after);
    pgy_model_destroy(out);
    pgy_gs_destroy(g);
    pgy_model_destroy(model);
}

/* ---- Size ------------------------------------------------------------------------------------ */

/* One weight that everybody reads, and a chain of which all but the start is dead. */
static void test_cleanup__long_chain_with_a_weight_that_all_read(void **state)
{
    (void)state;
    enum { LENGTH = 200000 };
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    pgy_gs_tensor *w = text_constant(g, "w"), *before = NULL, *after = NULL;
    assert_int_equal(pgy_gs_variable(&before, g, "x", PGY_F32, -1, NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_add_graph_input(g, before, &err), PGY_OK);
    for (size_t i = 0; i < LENGTH; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%zu", i);
        assert_int_equal(pgy_gs_variable(&after, g, name, PGY_F32, -1, NULL, &err), PGY_OK);
        pgy_gs_tensor *in[] = {before, w};
        pgy_gs_node_spec spec = {
            .op = "Add", .inputs = in, .input_count = 2, .outputs = &after, .output_count = 1};
        assert_int_equal(pgy_gs_add_node(NULL, g, &spec, &err), PGY_OK);
        before = after;
    }
    assert_int_equal(pgy_gs_add_graph_output(g, before, &err), PGY_OK);
    assert_int_equal(pgy_gs_cleanup(g, NULL, &err), PGY_OK);
    assert_int_equal(g->node_count, LENGTH);
    assert_int_equal(w->consumer_count, LENGTH);
    pgy_gs_tensor *third = g->nodes[2]->outputs[0];
    assert_int_equal(pgy_gs_set_graph_outputs(g, &third, 1, &err), PGY_OK);
    clean(g, NULL);
    assert_int_equal(g->node_count, 3);
    assert_int_equal(w->consumer_count, 3);
    pgy_gs_destroy(g);
}

static void test_cleanup__refused_allocation(void **state)
{
    (void)state;
    pgy_status st = PGY_E_MEMORY;
    for (uint64_t n = 1; st; n++) {
        pgy_gs_graph *branch = NULL;
        pgy_gs_graph *g = nested_graph(&branch);
        pgy_error err = {0};
        if (!mem_fail_nth(n)) {
            pgy_gs_destroy(g);
            skip();
        }
        st = pgy_gs_cleanup(g, NULL, &err);
        mem_fail_nth(0);
        if (st) assert_int_equal(st, PGY_E_MEMORY);
        assert_edges(g);
        pgy_gs_destroy(g);
    }
}
