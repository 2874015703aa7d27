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

/* input[1, 3]: Add(a, b -> c), Add(c, d -> e), Add(input, e -> output) */
static pgy_gs_graph *chain(void)
{
    static const int64_t shape[] = {1, 3};
    static const float ones[] = {1, 1, 1};
    pgy_gs_graph *g = text_graph();
    pgy_gs_tensor *in[3];
    static const char *const names[] = {"a", "b", "d"};
    pgy_error err = {0};
    for (size_t i = 0; i < 3; i++) in[i] = text_constant(g, names[i], PGY_F32, 2, shape, ones);
    pgy_gs_node *first = text_node(g, "Add", "first", "", "c");
    pgy_gs_node *second = text_node(g, "Add", "second", "c", "e");
    assert_int_equal(pgy_gs_set_inputs(first, in, 2, &err), PGY_OK);
    assert_int_equal(pgy_gs_set_input(second, 1, in[2], &err), PGY_OK);
    text_node(g, "Add", "third", "input e", "output");
    text_io(g, "input", "output");
    return g;
}

static void test_fold__producers_keep_inputs_and_lose_outputs(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    pgy_gs_tensor *e = text_tensor(g, "e");
    fold(g);
    assert_nodes(g, "first second third");
    assert_node(g, "first", "Add(a, b -> )");
    assert_node(g, "second", "Add(c, d -> )");
    assert_node(g, "third", "Add(input, e -> output)");
    assert_value(g, "c", "float32 (1, 3): 2 2 2");
    assert_value(g, "e", "float32 (1, 3): 3 3 3");
    assert_ptr_equal(text_tensor(g, "e"), e);
    pgy_gs_destroy(g);
}

static void test_fold__threshold_is_the_largest_size_that_folds(void **state)
{
    (void)state;
    static const uint64_t thresholds[] = {11, 12, 13};
    for (size_t declared = 0; declared < 2; declared++)
        for (size_t i = 0; i < 3; i++) {
            pgy_gs_graph *g = chain();
            pgy_gs_fold_options o = pgy_gs_fold_options_default();
            o.size_threshold = thresholds[i];
            text_type(g, "c", declared ? PGY_F32 : PGY_DTYPE_NONE, "1 3");
            fold_with(g, o);
            assert_value(g, "c", i ? "float32 (1, 3): 2 2 2" : "variable");
            assert_value(g, "e", i ? "float32 (1, 3): 3 3 3" : "variable");
            pgy_gs_destroy(g);
        }
}

/* Case 6 of the reference: nodes in reverse order. */
static pgy_gs_graph *reversed(void)
{
    static const int64_t shape[] = {1, 1, 1, 1};
    static const float one = 1;
    pgy_gs_graph *g = text_graph();
    pgy_gs_tensor *w = text_constant(g, "w", PGY_F32, 4, shape, &one);
    static const char *const nodes[][3] = {{"myAdd4", "tensor5", "tensor6"},
                                           {"myAdd3", "tensor1", "tensor2"},
                                           {"myAdd2", "tensor0 tensor8", "tensor1"},
                                           {"myAdd1", "tensor7", "tensor8"},
                                           {"myAdd0", "", "tensor7"}};
    pgy_error err = {0};
    for (size_t i = 0; i < 5; i++) {
        pgy_gs_node *n = text_node(g, "Add", nodes[i][0], nodes[i][1], nodes[i][2]);
        while (n->input_count < 2)
            assert_int_equal(pgy_gs_set_input(n, n->input_count, w, &err), PGY_OK);
    }
    text_io(g, "tensor0 tensor3", "tensor2 tensor4");
    return g;
}

static void test_fold__a_reversed_list_stays_reversed(void **state)
{
    (void)state;
    pgy_gs_graph *g = reversed();
    pgy_gs_tensor_list list = {0};
    pgy_error err = {0};
    fold(g);
    assert_nodes(g, "myAdd4 myAdd3 myAdd2 myAdd1 myAdd0");
    assert_node(g, "myAdd1", "Add(tensor7, w -> )");
    assert_node(g, "myAdd0", "Add(w, w -> )");
    assert_value(g, "tensor8", "float32 (1, 1, 1, 1): 3");
    assert_value(g, "tensor7", "float32 (1, 1, 1, 1): 2");
    assert_int_equal(pgy_gs_tensors(&list, g, true, &err), PGY_OK);
    assert_tensors(list.items, list.count,
                   "tensor0, tensor3, tensor5, w, tensor6, tensor1, tensor2, tensor8, tensor7, "
                   "tensor4");
    pgy_gs_tensor_list_free(&list);
    fold(g);
    assert_int_equal(pgy_gs_cleanup(g, NULL, &err), PGY_OK);
    assert_nodes(g, "myAdd3 myAdd2");
    assert_node(g, "myAdd2", "Add(tensor0, tensor8 -> tensor1)");
    pgy_gs_destroy(g);
}

/* ---- Failures -------------------------------------------------------------------------------- */

static pgy_gs_graph *with_unknown(void)
{
    pgy_gs_graph *g = text_graph();
    pgy_gs_tensor *w = text_floats(g, "w", "1 2 3");
    pgy_error err = {0};
    pgy_gs_node *n0 = text_node(g, "Neg", "n0", "", "c");
    assert_int_equal(pgy_gs_set_input(n0, 0, w, &err), PGY_OK);
    text_node(g, "Nope", "n1", "c", "d");
    text_node(g, "Add", "n2", "d w", "e");
    text_node(g, "Mul", "n3", "w w", "f");
    text_node(g, "Add", "n4", "f e", "h");
    text_node(g, "Sum", "n5", "x h c", "o");
    text_io(g, "x", "o");
    return g;
}

static void test_fold__one_failure_undoes_all_without_partitioning(void **state)
{
    (void)state;
    pgy_gs_graph *g = with_unknown();
    static text_log log;
    text_log_open(&log);
    fold(g);
    assert_variable(g, "c");
    assert_variable(g, "f");
    assert_node(g, "n0", "Neg(w -> c)");
    assert_int_equal(log.lines, 1);
    assert_non_null(strstr(str_text(&log.text), "partitioning"));
    assert_non_null(strstr(str_text(&log.text), "node 'n1' (Nope)"));
    text_log_close(&log);
    pgy_gs_destroy(g);
}

static void test_fold__partitioning_keeps_failures_local(void **state)
{
    (void)state;
    static const pgy_gs_partitioning ways[] = {PGY_GS_PARTITION_BASIC, PGY_GS_PARTITION_RECURSIVE};
    for (size_t i = 0; i < 2; i++) {
        pgy_gs_graph *g = with_unknown();
        pgy_gs_fold_options o = pgy_gs_fold_options_default();
        o.partitioning = ways[i];
        fold_with(g, o);
        assert_value(g, "c", "float32 (3): -1 -2 -3");
        assert_value(g, "f", "float32 (3): 1 4 9");
        assert_node(g, "n0", "Neg(w -> )");
        assert_node(g, "n1", "Nope(c -> d)");
        assert_node(g, "n2", "Add(d, w -> e)");
        assert_node(g, "n4", "Add(f, e -> h)");
        pgy_gs_destroy(g);
    }
}

static void test_fold__a_failure_may_be_an_error(void **state)
{
    (void)state;
    pgy_gs_graph *g = with_unknown();
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    pgy_error err = {0};
    o.fail = true;
    assert_int_equal(pgy_gs_fold_constants(g, &o, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "node 'n1' (Nope)"));
    assert_variable(g, "c");
    pgy_gs_destroy(g);
}

static void test_fold__shapes_fold_though_evaluation_fails(void **state)
{
    (void)state;
    pgy_gs_graph *g = with_unknown();
    text_node(g, "Shape", "shape", "x", "s");
    text_io(g, "x", "o s");
    text_type(g, "x", PGY_F32, "3");
    fold(g);
    assert_value(g, "s", "int64 (1): 3");
    assert_variable(g, "f");
    pgy_gs_destroy(g);
}

/* ---- What is left alone ---------------------------------------------------------------------- */

static bool is_named(const pgy_gs_node *n, void *user)
{
    return strcmp(n->name, user) == 0;
}

static void test_fold__excluded_nodes_block_what_reads_them(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    o.exclude = is_named;
    o.user = "first";
    fold_with(g, o);
    assert_variable(g, "c");
    assert_variable(g, "e");
    o.user = "second";
    fold_with(g, o);
    assert_value(g, "c", "float32 (1, 3): 2 2 2");
    assert_variable(g, "e");
    pgy_gs_destroy(g);
}

static void test_fold__quantisation_stays_visible(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    static const float scale = 0.5f;
    static const int8_t zero = 0;
    pgy_error err = {0};
    pgy_gs_tensor *in[] = {text_floats(g, "w", "1 2"),
                           text_constant(g, "scale", PGY_F32, 0, NULL, &scale),
                           text_constant(g, "zero", PGY_I8, 0, NULL, &zero)};
    pgy_gs_node *q = text_node(g, "QuantizeLinear", "q", "", "b");
    assert_int_equal(pgy_gs_set_inputs(q, in, 3, &err), PGY_OK);
    text_node(g, "DequantizeLinear", "dq", "b scale zero", "f");
    text_node(g, "Add", "add", "x f", "o");
    text_io(g, "x", "o");
    fold(g);
    assert_node(g, "q", "QuantizeLinear(w, scale, zero -> b)");
    assert_node(g, "dq", "DequantizeLinear(b, scale, zero -> f)");
    pgy_gs_destroy(g);
}

static void test_fold__random_operators_are_not_samples(void **state)
{
    (void)state;
    static const int64_t shape[] = {3};
    pgy_gs_graph *g = text_graph();
    text_attr(text_node(g, "RandomNormal", "r", "", "y"), pgy_gs_attr_ints("shape", shape, 1));
    text_node(g, "Neg", "n", "y", "z");
    text_io(g, "", "z");
    fold(g);
    assert_node(g, "r", "RandomNormal( -> y)");
    assert_variable(g, "z");
    pgy_gs_destroy(g);
}

static void test_fold__unknown_operators_of_other_domains_stay_in_silence(void **state)
{
    (void)state;
    pgy_gs_graph *g = with_unknown();
    pgy_error err = {0};
    static text_log log;
    assert_int_equal(pgy_gs_set_domain(pgy_gs_find_node(g, "n1"), "acme", &err), PGY_OK);
    text_log_open(&log);
    fold(g);
    assert_int_equal(log.lines, 0);
    text_log_close(&log);
    assert_value(g, "f", "float32 (3): 1 4 9");
    assert_variable(g, "e");
    pgy_gs_destroy(g);
}

static void test_fold__what_two_nodes_make_stays(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    text_node(g, "Neg", "other", "d", "c");
    fold(g);
    assert_variable(g, "c");
    assert_node(g, "first", "Add(a, b -> c)");
    assert_node(g, "other", "Neg(d -> c)");
    pgy_gs_destroy(g);
}

static void test_fold__inputs_of_the_graph_stay_inputs(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    pgy_error err = {0};
    assert_int_equal(pgy_gs_add_graph_input(g, text_tensor(g, "c"), &err), PGY_OK);
    fold(g);
    assert_variable(g, "c");
    assert_variable(g, "e");
    pgy_gs_destroy(g);
}

static void test_fold__a_cycle_is_named(void **state)
{
    (void)state;
    pgy_gs_graph *g = chain();
    pgy_error err = {0};
    text_node(g, "Neg", "n0", "p", "q");
    text_node(g, "Neg", "n1", "q", "p");
    assert_int_equal(pgy_gs_fold_constants(g, NULL, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "n0"));
    assert_non_null(strstr(err.text, "n1"));
    pgy_gs_destroy(g);
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static pgy_gs_graph *expanding(const char *count)
{
    pgy_gs_graph *g = text_graph();
    pgy_gs_tensor *n = text_ints(g, "n", count);
    pgy_error err = {0};
    pgy_gs_node *fill = text_node(g, "ConstantOfShape", "fill", "", "big");
    assert_int_equal(pgy_gs_set_input(fill, 0, n, &err), PGY_OK);
    text_node(g, "ReduceMax", "reduce", "big", "small");
    text_node(g, "Add", "add", "x small", "o");
    text_io(g, "x", "o");
    return g;
}

static void test_fold__small_results_of_large_ones_fold(void **state)
{
    (void)state;
    for (size_t declared = 0; declared < 2; declared++) {
        pgy_gs_graph *g = expanding("100");
        pgy_gs_fold_options o = pgy_gs_fold_options_default();
        o.size_threshold = 50;
        if (declared) text_type(g, "big", PGY_F32, "100");
        fold_with(g, o);
        assert_node(g, "fill", "ConstantOfShape(n -> big)");
        assert_node(g, "reduce", "ReduceMax(big -> )");
        assert_value(g, "small", "float32 (1): 0");
        pgy_gs_destroy(g);
    }
}

static void test_fold__large_results_draw_one_warning(void **state)
{
    (void)state;
    pgy_gs_graph *g = expanding("300000");
    static text_log log;
    text_log_open(&log);
    fold(g);
    assert_int_equal(log.lines, 1);
    assert_non_null(strstr(str_text(&log.text), "big (1 MiB)"));
    assert_null(strstr(str_text(&log.text), "small ("));
    text_log_close(&log);
    pgy_gs_destroy(g);
}

static void test_fold__huge_results_are_refused(void **state)
{
    (void)state;
    pgy_gs_graph *g = expanding("1000000 1000000");
    static text_log log;
    text_log_open(&log);
    fold(g);
    assert_int_equal(log.lines, 1);
    assert_non_null(strstr(str_text(&log.text), "node 'fill' (ConstantOfShape)"));
    text_log_close(&log);
    assert_variable(g, "big");
    assert_variable(g, "small");
    pgy_gs_destroy(g);
}

static void test_fold__outputs_keep_their_places(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    int64_t sizes[] = {1, 5};
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    pgy_gs_tensor *w = text_floats(g, "w", "1 2 3 4 5 6");
    pgy_gs_node *split = text_node(g, "Split", "split", "", "a b");
    assert_int_equal(pgy_gs_set_input(split, 0, w, &err), PGY_OK);
    text_attr(split, pgy_gs_attr_ints("split", sizes, 2));
    text_node(g, "Add", "p", "x a", "y");
    text_node(g, "Add", "q", "x b", "z");
    text_io(g, "x", "y z");
    o.size_threshold = 10;
    fold_with(g, o);
    assert_value(g, "a", "float32 (1): 1");
    assert_node(g, "split", "Split(w -> a_unused, b)");
    assert_node(g, "q", "Add(x, b -> z)");
    pgy_gs_destroy(g);
}

/* ---- Levels ---------------------------------------------------------------------------------- */

/* Loop over `start` whose body adds ow + k, ow from outside. */
static pgy_gs_graph *loop(const char *start)
{
    pgy_gs_graph *g = text_graph();
    static const int64_t trips = 3;
    pgy_error err = {0};
    pgy_gs_tensor *w = text_floats(g, "w", "1 1");
    pgy_gs_tensor *in[] = {text_constant(g, "n", PGY_I64, 0, NULL, &trips),
                           text_bool(g, "go", true), NULL};
    pgy_gs_node *outside = text_node(g, "Neg", "outside", "", "ow");
    assert_int_equal(pgy_gs_set_input(outside, 0, w, &err), PGY_OK);
    in[2] = strcmp(start, "w") ? text_tensor(g, start) : w;
    pgy_gs_node *n = text_node(g, "Loop", "loop", "", "last");
    assert_int_equal(pgy_gs_set_inputs(n, in, 3, &err), PGY_OK);
    pgy_gs_graph *body = text_subgraph(n, "body");
    pgy_gs_tensor *k = text_floats(body, "k", "10 20");
    text_node(body, "Identity", "again", "cond", "cond_out");
    pgy_gs_node *add = text_node(body, "Add", "step", "ow", "r");
    assert_int_equal(pgy_gs_set_input(add, 1, k, &err), PGY_OK);
    text_node(body, "Add", "sum", "acc r", "acc_out");
    text_io(body, "i cond acc", "cond_out acc_out");
    text_node(g, "Add", "end", "last x", "o");
    text_io(g, "x", "o");
    return g;
}

static pgy_gs_graph *body_of(const pgy_gs_graph *g)
{
    return pgy_gs_find_attr(pgy_gs_find_node(g, "loop"), "body")->graphs[0];
}

static void test_fold__bodies_see_outer_constants(void **state)
{
    (void)state;
    pgy_gs_graph *g = loop("x");
    fold(g);
    assert_value(body_of(g), "ow", "float32 (2): -1 -1");
    assert_value(body_of(g), "r", "float32 (2): 9 19");
    assert_node(body_of(g), "step", "Add(ow, k -> )");
    assert_node(g, "loop", "Loop(n, go, x -> last)");
    assert_edges(body_of(g));
    pgy_gs_destroy(g);
}

static void test_fold__exclusion_holds_in_bodies(void **state)
{
    (void)state;
    pgy_gs_graph *g = loop("x");
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    o.exclude = is_named;
    o.user = "step";
    fold_with(g, o);
    assert_value(body_of(g), "ow", "float32 (2): -1 -1");
    assert_variable(body_of(g), "r");
    pgy_gs_destroy(g);
}

static void test_fold__bodies_may_be_kept(void **state)
{
    (void)state;
    pgy_gs_graph *g = loop("x");
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    o.keep_subgraphs = true;
    fold_with(g, o);
    assert_value(body_of(g), "ow", "float32 (2): -1 -1");
    assert_variable(body_of(g), "r");
    pgy_gs_destroy(g);
}

static void test_fold__a_loop_of_constants_runs(void **state)
{
    (void)state;
    pgy_gs_graph *g = loop("w");
    fold(g);
    assert_value(g, "last", "float32 (2): 28 58");
    assert_node(g, "loop", "Loop(n, go, w -> )");
    pgy_gs_destroy(g);
}

static void test_fold__a_loop_with_something_random_inside_does_not(void **state)
{
    (void)state;
    pgy_gs_graph *g = loop("w");
    text_node(body_of(g), "RandomNormalLike", "noise", "acc", "unused");
    fold(g);
    assert_variable(g, "last");
    pgy_gs_destroy(g);
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* F(a) = a + LeakyRelu(-k, alpha), called on a constant and on x. */
static pgy_gs_graph *with_function(pgy_gs_graph **function)
{
    pgy_gs_graph *g = text_graph();
    pgy_gs_graph *f = NULL;
    pgy_error err = {0};
    const pgy_gs_attr half = pgy_gs_attr_float("alpha", 0.5f);
    assert_int_equal(pgy_gs_function(&f, g, "F", "acme", &err), PGY_OK);
    assert_int_equal(pgy_gs_add_parameter(f, "alpha", &half, &err), PGY_OK);
    pgy_gs_tensor *k = text_floats(f, "k", "1 2"), *w = text_floats(g, "w", "1 2");
    pgy_gs_node *neg = text_node(f, "Neg", "neg", "", "m");
    assert_int_equal(pgy_gs_set_input(neg, 0, k, &err), PGY_OK);
    text_attr(text_node(f, "LeakyRelu", "leaky", "m", "l"),
              pgy_gs_attr_ref("alpha", "alpha", PGY_ATTR_FLOAT));
    text_node(f, "Add", "add", "a l", "b");
    text_io(f, "a", "b");
    assert_int_equal(pgy_gs_set_import(g, "acme", 1, &err), PGY_OK);
    pgy_gs_node *first = text_node(g, "F", "first", "", "p");
    assert_int_equal(pgy_gs_set_input(first, 0, w, &err), PGY_OK);
    pgy_gs_node *second = text_node(g, "F", "second", "x", "q");
    assert_int_equal(pgy_gs_set_domain(first, "acme", &err), PGY_OK);
    assert_int_equal(pgy_gs_set_domain(second, "acme", &err), PGY_OK);
    text_node(g, "Add", "end", "p q", "o");
    text_io(g, "x", "o");
    *function = f;
    return g;
}

static void test_fold__calls_and_bodies_of_functions_fold(void **state)
{
    (void)state;
    pgy_gs_graph *f, *g = with_function(&f);
    fold(g);
    assert_value(g, "p", "float32 (2): 0.5 1");
    assert_node(g, "second", "F(x -> q)");
    assert_value(f, "m", "float32 (2): -1 -2");
    assert_node(f, "leaky", "LeakyRelu(m -> l)"); /* alpha is the caller's */
    assert_edges(f);
    pgy_gs_destroy(g);
}

static void test_fold__functions_may_be_kept(void **state)
{
    (void)state;
    pgy_gs_graph *f, *g = with_function(&f);
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    o.keep_functions = true;
    fold_with(g, o);
    assert_value(g, "p", "float32 (2): 0.5 1");
    assert_variable(f, "m");
    pgy_gs_destroy(g);
}

static void test_fold__a_function_that_calls_itself_does_not_hang(void **state)
{
    (void)state;
    pgy_gs_graph *f, *g = with_function(&f);
    pgy_error err = {0};
    pgy_gs_node *self = text_node(f, "F", "self", "l", "again");
    assert_int_equal(pgy_gs_set_domain(self, "acme", &err), PGY_OK);
    fold(g);
    assert_variable(g, "p");
    pgy_gs_destroy(g);
}

/* ---- Bad input ------------------------------------------------------------------------------- */

static void test_fold__without_a_graph(void **state)
{
    (void)state;
    pgy_error err = {0};
    const pgy_gs_fold_options zero = {0};
    pgy_gs_graph *g = chain();
    assert_int_equal(pgy_gs_fold_constants(NULL, NULL, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_gs_fold_constants(g, &zero, &err), PGY_E_ARGUMENT);
    pgy_gs_destroy(g);
}

static void test_fold__refused_memory(void **state)
{
    (void)state;
    bool done = false;
    if (!mem_fail_nth(0)) skip();
    for (uint64_t n = 1; !done && n < 5000; n++) {
        pgy_error err = {0};
        pgy_gs_graph *f, *g = n % 2 ? with_function(&f) : loop("w");
        mem_fail_nth(n);
        const pgy_status st = pgy_gs_fold_constants(g, NULL, &err);
        done = mem_fail_nth(0) && st == PGY_OK && n > 600;
        assert_true(st == PGY_OK || st == PGY_E_MEMORY);
        assert_edges(g);
        pgy_gs_destroy(g);
    }
    assert_true(done);
}
