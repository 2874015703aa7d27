/* SPDX-License-Identifier: Apache-2.0 */
/* Initial states of recurrent layers: zeros are omitted, everything else stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/fold_case.h"

enum { HIDDEN = 3 };

/* x [time, batch, 2] and weights for `gates`; sizes: [1, batch, 3], computed. */
static model_builder start(int gates)
{
    const int64_t last[] = {HIDDEN}, one[] = {1};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "T, N, 2");
    builder_floats(&b, "w", gates == 4 ? "1, 12, 2" : gates == 3 ? "1, 9, 2" : "1, 3, 2", NULL);
    builder_floats(&b, "r", gates == 4 ? "1, 12, 3" : gates == 3 ? "1, 9, 3" : "1, 3, 3", NULL);
    builder_ints(&b, "last", "1", last);
    builder_ints(&b, "one", "1", one);
    builder_ints(&b, "two", "1", (const int64_t[]){2});
    builder_node(&b, "Shape", "x", "s");
    builder_node(&b, "Slice", "s one two", "n");
    builder_attr_int(&b, builder_node(&b, "Concat", "one n last", "sizes"), "axis", 0);
    return b;
}

static void fill(model_builder *b, const char *y, const float *value)
{
    pgy_onnx_node *n = builder_node(b, "ConstantOfShape", "sizes", y);
    pgy_tensor *t = NULL;
    if (!value) return;
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 1, (const int64_t[]){1}, NULL), PGY_OK);
    memcpy(pgy_tensor_data(t), value, sizeof *value);
    builder_attr_tensor(b, n, "value", t);
    pgy_tensor_release(t);
}

static pgy_graph *finish(model_builder *b, const char *op, const char *inputs)
{
    builder_attr_int(b, builder_node(b, op, inputs, "y"), "hidden_size", HIDDEN);
    builder_output(b, "y", PGY_F32, NULL);
    return fold_with(b, NULL);
}

static void expect_states(pgy_graph *g, const char *nodes, size_t input_count)
{
    expect_nodes(g, nodes);
    assert_int_equal(g->nodes[g->node_count - 1]->input_count, input_count);
    pgy_graph_destroy(g);
}

static void test_fold_states__zeros_are_omitted(void **state)
{
    (void)state;
    const float zero = 0;
    model_builder b = start(3);
    fill(&b, "h", NULL);
    expect_states(finish(&b, "GRU", "x w r - - h"), "GRU", 3);
    b = start(4);
    fill(&b, "h", &zero);
    builder_node(&b, "Expand", "h sizes", "c0");
    builder_node(&b, "Identity", "c0", "c");
    expect_states(finish(&b, "LSTM", "x w r - - h c"), "LSTM", 3);
    b = start(1);
    float zeros[2 * HIDDEN] = {0};
    builder_floats(&b, "h", "1, 2, 3", zeros);
    expect_states(finish(&b, "RNN", "x w r - - h"), "RNN", 3);
}

/* What the layer gives last may be all that is wanted of it. */
static void test_fold_states__only_the_last_state_is_used(void **state)
{
    (void)state;
    model_builder b = start(3);
    fill(&b, "h", NULL);
    builder_attr_int(&b, builder_node(&b, "GRU", "x w r - - h", "- y"), "hidden_size", HIDDEN);
    builder_output(&b, "y", PGY_F32, NULL);
    expect_states(fold_with(&b, NULL), "GRU", 3);
}

static void test_fold_states__others_stay(void **state)
{
    (void)state;
    const float half = 0.5F, minus = -0.0F;
    const float ones[] = {0, 0, 0, 0, 0, 1};
    model_builder b = start(3);
    fill(&b, "h", &half);
    expect_states(finish(&b, "GRU", "x w r - - h"), "Shape Slice Concat ConstantOfShape GRU", 6);
    b = start(3);
    fill(&b, "h", &minus);
    expect_states(finish(&b, "GRU", "x w r - - h"), "Shape Slice Concat ConstantOfShape GRU", 6);
    b = start(1);
    builder_floats(&b, "h", "1, 2, 3", ones);
    expect_states(finish(&b, "RNN", "x w r - - h"), "RNN", 6);
    b = start(1);
    builder_input(&b, "h", PGY_F32, "1, N, 3");
    expect_states(finish(&b, "RNN", "x w r - - h"), "RNN", 6);
    b = start(4);
    builder_input(&b, "c", PGY_F32, "1, N, 3");
    fill(&b, "h", NULL);
    pgy_graph *g = finish(&b, "LSTM", "x w r - - h c");
    expect_nodes(g, "LSTM");
    assert_null(g->nodes[0]->inputs[5]);
    assert_string_equal(g->nodes[0]->inputs[6]->name, "c");
    pgy_graph_destroy(g);
}
