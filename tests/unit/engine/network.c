/* SPDX-License-Identifier: Apache-2.0 */
/* Networks as a whole: made by hand and from models, listed, renamed, changed, refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "harness/model_builder.h"
#include "harness/network_case.h"

static const float SIX[] = {-1, 2, -3, 4, -5, 6};

static void test_network__identity_with_dynamic_dimensions(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *same = NULL;
    pgy_value *x = net_floats(&c, "x", "1?, 2?, 3?", SIX);
    assert_int_equal(x->dims[0].value, -1);
    net_ok(&c, pgy_network_add_identity(&same, c.net, x, &c.err));
    net_expect(&c, same->outputs[0], "1, 2, 3", (double[]){-1, 2, -3, 4, -5, 6});
    net_finish(&c);
}

static void test_network__lists_layers_and_tensors(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *relu = NULL, *sum = NULL, *w = NULL;
    pgy_value *x = net_floats(&c, "x", "2, 3", SIX);
    pgy_tensor *t = NULL;
    net_ok(&c, pgy_tensor_create(&t, PGY_F32, 0, NULL, &c.err));
    net_ok(&c, pgy_network_add_constant(&w, c.net, t, &c.err));
    pgy_tensor_release(t);
    net_ok(&c, pgy_network_add_activation(&relu, c.net, x, PGY_ACTIVATION_RELU, 0, 0, &c.err));
    net_ok(&c, pgy_network_add_elementwise(&sum, c.net, relu->outputs[0], w->outputs[0],
                                           PGY_ELEMENTWISE_SUM, &c.err));
    assert_int_equal(pgy_network_layer_count(c.net), 3);
    assert_ptr_equal(pgy_network_layer_at(c.net, 1), relu);
    assert_null(pgy_network_layer_at(c.net, 3));
    assert_int_equal(pgy_network_layer_at(c.net, 0)->type, PGY_LAYER_CONSTANT);
    assert_int_equal(relu->type, PGY_LAYER_ACTIVATION);
    assert_string_equal(pgy_layer_type_name(sum->type), "ELEMENTWISE");
    assert_string_equal(relu->name, "Activation_1");
    assert_int_equal(relu->precision, PGY_F32);
    assert_int_equal(sum->input_count, 2);
    assert_ptr_equal(sum->inputs[0], relu->outputs[0]);
    assert_int_equal(pgy_network_tensor_count(c.net), 4);
    assert_ptr_equal(pgy_network_tensor_at(c.net, 0), x);
    assert_ptr_equal(pgy_network_tensor_at(c.net, 3), sum->outputs[0]);
    assert_null(pgy_network_tensor_at(c.net, 4));
    const pgy_value *y = pgy_network_find_tensor(c.net, "Activation_1_output");
    assert_ptr_equal(y, relu->outputs[0]);
    assert_int_equal(y->dtype, PGY_F32);
    assert_int_equal(y->rank, 2);
    assert_int_equal(y->dims[1].value, 3);
    assert_ptr_equal(pgy_network_find_layer(c.net, "Activation_1"), relu);
    assert_null(pgy_network_find_layer(c.net, "Activation_9"));
    net_drop(&c);
}

static void test_network__every_type_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < PGY_LAYER_TYPE_COUNT; i++)
        assert_non_null(pgy_layer_type_name((pgy_layer_type)i));
    assert_string_equal(pgy_layer_type_name(PGY_LAYER_KVCACHE_UPDATE), "KVCACHE_UPDATE");
    assert_null(pgy_layer_type_name(PGY_LAYER_TYPE_COUNT));
}

static void test_network__names_change(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *relu = NULL, *neg = NULL;
    pgy_value *x = net_floats(&c, "x", "2", SIX);
    net_ok(&c, pgy_network_add_activation(&relu, c.net, x, PGY_ACTIVATION_RELU, 0, 0, &c.err));
    net_ok(&c, pgy_network_add_unary(&neg, c.net, relu->outputs[0], PGY_UNARY_NEG, &c.err));
    net_ok(&c, pgy_network_set_name(c.net, "renamed", &c.err));
    net_ok(&c, pgy_layer_set_name(relu, "first", &c.err));
    net_ok(&c, pgy_network_rename_tensor(c.net, relu->outputs[0], "inner", &c.err));
    net_refused(&c, pgy_layer_set_name(neg, "first", &c.err), PGY_E_ARGUMENT,
                "already has a layer 'first'");
    net_refused(&c, pgy_network_rename_tensor(c.net, neg->outputs[0], "x", &c.err), PGY_E_ARGUMENT,
                "already has a tensor 'x'");
    assert_string_equal(pgy_network_name(c.net), "renamed");
    assert_string_equal(relu->nodes[0]->name, "first");
    assert_ptr_equal(pgy_network_find_tensor(c.net, "inner"), relu->outputs[0]);
    assert_null(pgy_network_find_tensor(c.net, "Activation_0_output"));
    net_ok(&c, pgy_network_rename_tensor(c.net, neg->outputs[0], "y", &c.err));
    net_expect(&c, neg->outputs[0], "2", (double[]){0, -2});
    net_finish(&c);
}

static void test_network__many_renames_keep_every_name(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *layers[200] = {NULL};
    char name[32];
    pgy_value *x = net_floats(&c, "x", "2", SIX);
    for (int i = 0; i < 200; i++) {
        net_ok(&c, pgy_network_add_unary(&layers[i], c.net, x, PGY_UNARY_NEG, &c.err));
        x = layers[i]->outputs[0];
    }
    for (int i = 0; i < 200; i += 2) {
        snprintf(name, sizeof name, "t%d", i);
        net_ok(&c, pgy_network_rename_tensor(c.net, layers[i]->outputs[0], name, &c.err));
    }
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, i % 2 ? "Unary_%d_output" : "t%d", i);
        assert_ptr_equal(pgy_network_find_tensor(c.net, name), layers[i]->outputs[0]);
    }
    net_expect(&c, x, "2", (double[]){-1, 2});
    net_finish(&c);
}

static void test_network__wrong_inputs_and_outputs(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_value *v = NULL;
    pgy_layer *relu = NULL;
    pgy_model *model = NULL;
    pgy_value *x = net_floats(&c, "x", "2, 3", SIX);
    const int64_t dims[] = {2, -2};
    net_refused(&c, pgy_network_add_input(&v, c.net, "x", PGY_F32, 1, dims, &c.err), PGY_E_ARGUMENT,
                "already has a tensor 'x'");
    net_refused(&c, pgy_network_add_input(&v, c.net, "y", PGY_F32, 2, dims, &c.err), PGY_E_SHAPE,
                "dimension 1 of input 'y' is -2");
    net_refused(&c, pgy_network_add_input(&v, c.net, "", PGY_F32, 1, dims, &c.err), PGY_E_ARGUMENT,
                "name");
    net_refused(&c, pgy_network_add_input(&v, c.net, "y", PGY_DTYPE_NONE, 1, dims, &c.err),
                PGY_E_TYPE, "no element type");
    net_refused(&c, pgy_network_to_model(&model, c.net, &c.err), PGY_E_ARGUMENT, "no outputs");
    net_ok(&c, pgy_network_add_activation(&relu, c.net, x, PGY_ACTIVATION_RELU, 0, 0, &c.err));
    net_ok(&c, pgy_network_mark_output(c.net, relu->outputs[0], &c.err));
    net_refused(&c, pgy_network_mark_output(c.net, relu->outputs[0], &c.err), PGY_E_ARGUMENT,
                "is already an output");
    net_ok(&c, pgy_network_unmark_output(c.net, relu->outputs[0], &c.err));
    net_refused(&c, pgy_network_unmark_output(c.net, relu->outputs[0], &c.err), PGY_E_ARGUMENT,
                "no output");
    assert_int_equal(pgy_network_output_count(c.net), 0);
    net_drop(&c);
}

static void test_network__a_wrong_layer_is_told_and_leaves_nothing(void **state)
{
    (void)state;
    network_case c = net_start(), other = net_start();
    pgy_layer *layer = NULL;
    pgy_value *a = net_floats(&c, "a", "2, 3", SIX), *b = net_floats(&c, "b", "6", SIX);
    pgy_value *foreign = net_floats(&other, "f", "2, 3", SIX);
    net_refused(&c, pgy_network_add_elementwise(&layer, c.net, a, b, PGY_ELEMENTWISE_SUM, &c.err),
                PGY_E_SHAPE,
                "layer 'Elementwise_0' (ELEMENTWISE) of 'a' float32 [2, 3], 'b' float32 [6]");
    net_refused(&c,
                pgy_network_add_elementwise(&layer, c.net, a, foreign, PGY_ELEMENTWISE_SUM, &c.err),
                PGY_E_ARGUMENT, "'f' belongs to another network");
    net_refused(&c, pgy_network_add_unary(&layer, c.net, a, PGY_UNARY_NOT, &c.err), PGY_E_TYPE,
                "(UNARY)");
    net_refused(&c, pgy_network_add_unary(&layer, c.net, NULL, PGY_UNARY_NOT, &c.err),
                PGY_E_ARGUMENT, "the input is missing");
    net_refused(&c, pgy_network_add_unary(&layer, c.net, a, (pgy_unary_operation)99, &c.err),
                PGY_E_ARGUMENT, "99 is not a unary operation");
    const pgy_normalization groups = {.axes = PGY_AXIS(1)};
    net_refused(&c, pgy_network_add_normalization(&layer, c.net, b, &groups, &c.err), PGY_E_SHAPE,
                "axis 1, but the rank is 1");
    assert_null(layer);
    assert_int_equal(pgy_network_layer_count(c.net), 0);
    assert_int_equal(pgy_network_graph(c.net)->node_count, 0);
    assert_int_equal(pgy_network_graph(c.net)->initializer_count, 0);
    net_drop(&other);
    net_drop(&c);
}

static void test_network__layers_go(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *relu = NULL, *neg = NULL, *extra = NULL, *none = NULL;
    pgy_value *x = net_floats(&c, "x", "2", SIX);
    net_ok(&c, pgy_network_add_activation(&relu, c.net, x, PGY_ACTIVATION_RELU, 0, 0, &c.err));
    net_ok(&c, pgy_network_add_unary(&neg, c.net, relu->outputs[0], PGY_UNARY_NEG, &c.err));
    net_ok(&c, pgy_network_add_activation(&extra, c.net, x, PGY_ACTIVATION_CLIP, -1, 1, &c.err));
    net_refused(&c, pgy_network_remove_layer(c.net, relu, &c.err), PGY_E_ARGUMENT,
                "'Activation_0_output', which 'Unary_1' reads");
    pgy_value *gone = extra->outputs[0];
    const char *const *names = NULL;
    assert_int_equal(pgy_network_graph(c.net)->initializer_count, 2); /* the bounds of the clip */
    net_ok(&c, pgy_network_mark_debug(c.net, gone, &c.err));
    net_ok(&c, pgy_network_remove_layer(c.net, extra, &c.err));
    net_refused(&c, pgy_network_add_unary(&none, c.net, gone, PGY_UNARY_NEG, &c.err),
                PGY_E_ARGUMENT, "nothing computes tensor");
    assert_int_equal(pgy_network_graph(c.net)->initializer_count, 0);
    assert_int_equal(pgy_network_debug_tensors(c.net, &names), 0);
    assert_int_equal(pgy_network_layer_count(c.net), 2);
    net_ok(&c, pgy_layer_set_input(neg, 0, x, &c.err));
    net_ok(&c, pgy_network_remove_layer(c.net, relu, &c.err));
    net_expect(&c, neg->outputs[0], "2", (double[]){1, -2});
    net_finish(&c);
}

static void test_network__inputs_of_layers_change(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *sum = NULL, *neg = NULL;
    pgy_value *x = net_floats(&c, "x", "2", SIX), *y = net_floats(&c, "y", "2", SIX + 2);
    pgy_value *wrong = net_floats(&c, "wrong", "3", SIX);
    net_ok(&c, pgy_network_add_elementwise(&sum, c.net, x, y, PGY_ELEMENTWISE_SUM, &c.err));
    net_ok(&c, pgy_network_add_unary(&neg, c.net, sum->outputs[0], PGY_UNARY_NEG, &c.err));
    net_refused(&c, pgy_layer_set_input(sum, 1, wrong, &c.err), PGY_E_SHAPE,
                "cannot take tensor 'wrong'");
    net_refused(&c, pgy_layer_set_input(sum, 1, neg->outputs[0], &c.err), PGY_E_FORMAT,
                "cannot take");
    net_refused(&c, pgy_layer_set_input(sum, 2, y, &c.err), PGY_E_ARGUMENT, "no input 2");
    assert_ptr_equal(sum->inputs[1], y);
    net_expect(&c, neg->outputs[0], "2", (double[]){4, -6});
    net_finish(&c);
}

static void test_network__a_refused_input_leaves_the_other_inputs(void **state)
{
    (void)state;
    network_case c = net_start();
    const pgy_convolution p = {.window.stride = {1}};
    pgy_convolution of_w = p;
    pgy_layer *product = NULL, *conv = NULL;
    pgy_value *a = net_floats(&c, "a", "1, 2", SIX), *b = net_floats(&c, "b", "2, 3", SIX);
    pgy_value *x = net_floats(&c, "x", "1, 3, 2", SIX), *w = net_floats(&c, "w", "3, 1, 1", SIX);
    net_ok(&c, pgy_network_add_matrix_multiply(&product, c.net, a, PGY_MATRIX_NONE, b,
                                               PGY_MATRIX_NONE, &c.err));
    /* Both operands are b for a moment; undoing that must bring back only the first. */
    net_refused(&c, pgy_layer_set_input(product, 0, b, &c.err), PGY_E_SHAPE,
                "cannot take tensor 'b'");
    of_w.kernel = w;
    net_ok(&c, pgy_network_add_deconvolution(&conv, c.net, x, &of_w, &c.err));
    net_refused(&c, pgy_layer_set_input(conv, 0, w, &c.err), PGY_E_SHAPE, "cannot take tensor 'w'");
    assert_ptr_equal(product->inputs[0], a);
    assert_ptr_equal(product->inputs[1], b);
    net_expect(&c, product->outputs[0], "1, 3", (double[]){9, -12, 15});
    net_expect(&c, conv->outputs[0], "1, 1, 2", (double[]){10, -12});
    net_finish(&c);
}

static void test_network__zero_sizes_are_checked_like_others(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *layer = NULL;
    pgy_value *x = net_floats(&c, "x", "1, 3, 2", SIX);
    pgy_value *none_in = net_const_floats(&c, "0, 2, 1", SIX);
    pgy_value *none_per_group = net_const_floats(&c, "2, 0, 1", SIX);
    pgy_convolution p = {.kernel = none_in};
    net_refused(&c, pgy_network_add_deconvolution(&layer, c.net, x, &p, &c.err), PGY_E_SHAPE,
                "dimension 1 of input 0 is 3, but dimension 0 of the weights is 0");
    p.groups = 3;
    net_refused(&c, pgy_network_add_deconvolution(&layer, c.net, x, &p, &c.err), PGY_E_SHAPE,
                "is 3, but");
    p = (pgy_convolution){.kernel = none_per_group};
    net_refused(&c, pgy_network_add_convolution(&layer, c.net, x, &p, &c.err), PGY_E_SHAPE,
                "is 3, but");
    p.groups = 4;
    net_refused(&c, pgy_network_add_convolution(&layer, c.net, x, &p, &c.err), PGY_E_SHAPE,
                "group");
    pgy_value *row = net_floats(&c, "row", "1, 3", SIX), *empty = net_floats(&c, "e", "0, 2", SIX);
    net_refused(&c,
                pgy_network_add_matrix_multiply(&layer, c.net, row, PGY_MATRIX_NONE, empty,
                                                PGY_MATRIX_NONE, &c.err),
                PGY_E_SHAPE, "shapes (1, 3) and (0, 2)");
    net_drop(&c);
}

static void test_network__input_types_and_shapes_change(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *neg = NULL, *sum = NULL;
    const int64_t dims[] = {-1, 2}, bad[] = {7, 5};
    pgy_value *x = net_floats(&c, "x", "2, 3", SIX), *w = net_const_floats(&c, "2", SIX);
    net_ok(&c, pgy_network_add_unary(&neg, c.net, x, PGY_UNARY_NEG, &c.err));
    net_ok(&c, pgy_network_set_shape(c.net, x, 2, dims, &c.err));
    assert_int_equal(neg->outputs[0]->dims[1].value, 2);
    net_ok(&c, pgy_network_set_dimension_name(c.net, x, 0, "batch", &c.err));
    assert_string_equal(neg->outputs[0]->dims[0].text, "batch");
    net_refused(&c, pgy_network_set_dimension_name(c.net, x, 1, "n", &c.err), PGY_E_ARGUMENT,
                "dimension 1 cannot be named");
    net_ok(&c, pgy_network_add_elementwise(&sum, c.net, neg->outputs[0], w, PGY_ELEMENTWISE_SUM,
                                           &c.err));
    net_refused(&c, pgy_network_set_shape(c.net, x, 2, bad, &c.err), PGY_E_SHAPE, "");
    net_refused(&c, pgy_network_set_type(c.net, x, PGY_I32, &c.err), PGY_E_TYPE, "");
    assert_int_equal(x->dtype, PGY_F32);
    assert_int_equal(sum->outputs[0]->dims[1].value, 2);
    net_drop(&c);
}

static void test_network__a_layer_computes_in_another_type(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *mul = NULL, *neg = NULL;
    const float more[] = {0.5f, 3};
    pgy_value *x = net_floats(&c, "x", "2", SIX), *w = net_const_floats(&c, "2", more);
    net_ok(&c, pgy_network_add_elementwise(&mul, c.net, x, w, PGY_ELEMENTWISE_SUM, &c.err));
    net_ok(&c, pgy_network_add_unary(&neg, c.net, mul->outputs[0], PGY_UNARY_NEG, &c.err));
    net_ok(&c, pgy_layer_set_precision(mul, PGY_F16, &c.err));
    assert_int_equal(mul->precision, PGY_F16);
    assert_int_equal(mul->outputs[0]->dtype, PGY_F32);
    assert_int_equal(neg->precision, PGY_F32);
    assert_int_equal(mul->node_count, 4);
    net_refused(&c, pgy_layer_set_precision(mul, PGY_I32, &c.err), PGY_E_TYPE, "int32");
    const pgy_node *n = mul->nodes[0];
    assert_string_equal(n->op_type, "Add");
    assert_int_equal(n->inputs[0]->dtype, PGY_F16);
    assert_int_equal(n->inputs[1]->dtype, PGY_F16);
    assert_int_equal(n->outputs[0]->dtype, PGY_F16);
    net_expect(&c, neg->outputs[0], "2", (double[]){0.5, -5});
    net_finish(&c);
}

static void test_network__debug_tensors(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *neg = NULL;
    const char *const *names = NULL;
    pgy_value *x = net_floats(&c, "x", "2", SIX);
    net_ok(&c, pgy_network_add_unary(&neg, c.net, x, PGY_UNARY_NEG, &c.err));
    net_ok(&c, pgy_network_mark_debug(c.net, neg->outputs[0], &c.err));
    net_ok(&c, pgy_network_mark_debug(c.net, neg->outputs[0], &c.err));
    net_ok(&c, pgy_network_rename_tensor(c.net, neg->outputs[0], "look", &c.err));
    assert_int_equal(pgy_network_debug_tensors(c.net, &names), 1);
    assert_string_equal(names[0], "look");
    assert_true(pgy_network_is_debug(c.net, neg->outputs[0]));
    net_ok(&c, pgy_network_unmark_debug(c.net, neg->outputs[0], &c.err));
    assert_int_equal(pgy_network_debug_tensors(c.net, &names), 0);
    net_drop(&c);
}

/* A model of an old opset becomes a network that is walked, renamed and added to. */
static void test_network__from_a_model(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(11);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_floats(&b, "w", "3, 2", NULL);
    builder_node(&b, "MatMul", "x w", "y");
    builder_attr_int(&b, builder_node(&b, "Softmax", "y", "z"), "axis", 1);
    builder_output(&b, "z", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b), *changed = NULL;
    network_case c = {0};
    pgy_layer *scaled = NULL;
    net_ok(&c, pgy_network_from_model(&c.net, model, &err));
    net_ok(&c, pgy_tensor_map_create(&c.feed, &c.err));
    assert_int_equal(pgy_network_layer_count(c.net), 2);
    assert_int_equal(pgy_network_layer_at(c.net, 0)->type, PGY_LAYER_MATRIX_MULTIPLY);
    assert_int_equal(pgy_network_layer_at(c.net, 1)->type, PGY_LAYER_SOFTMAX);
    assert_int_equal(pgy_network_input_count(c.net), 1);
    pgy_value *z = pgy_network_find_tensor(c.net, "z"), *w = pgy_network_find_tensor(c.net, "w");
    net_ok(&c, pgy_network_add_elementwise(&scaled, c.net, z, w, PGY_ELEMENTWISE_PROD, &c.err) ==
                       PGY_E_SHAPE
                   ? PGY_OK
                   : PGY_E_INTERNAL); /* [2, 2] and [3, 2] */
    net_ok(&c, pgy_network_add_elementwise(&scaled, c.net, z, z, PGY_ELEMENTWISE_SUM, &c.err));
    net_ok(&c, pgy_network_rename_tensor(c.net, w, "weights", &c.err));
    net_ok(&c, pgy_network_unmark_output(c.net, z, &c.err));
    pgy_tensor *t = NULL;
    const int64_t shape[] = {2, 3};
    net_ok(&c, pgy_tensor_create(&t, PGY_F32, 2, shape, &c.err));
    net_ok(&c, pgy_tensor_map_adopt(c.feed, "x", t, &c.err));
    net_expect(&c, scaled->outputs[0], "2, 2", (double[]){1, 1, 1, 1});
    assert_int_equal(pgy_model_opset(pgy_model_proto(model), ""), 11);
    pgy_model_destroy(changed);
    pgy_model_destroy(model);
    net_finish(&c);
}
