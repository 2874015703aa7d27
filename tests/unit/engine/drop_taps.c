/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose outer taps only read padding, and similar ones that stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "engine/passes/pass.h"
#include "harness/pass_case.h"

/* A convolution of a 2 x 4 x 5 image with 3 x 2 x 3 x 3 weights. */
typedef struct conv_case {
    int64_t strides[2], dilations[2], pads[4];
    int64_t kernel[2], kept_pads[4]; /* what the pass leaves */
} conv_case;

static model_builder conv(const conv_case *c)
{
    model_builder b = start("1, 2, 4, 5");
    weights(&b, "w", "3, 2, 3, 3", 54);
    weights(&b, "b", "3", 3);
    pgy_onnx_node *n = builder_node(&b, "Conv", "x w b", "y");
    builder_attr_ints(&b, n, "strides", 2, c->strides);
    builder_attr_ints(&b, n, "dilations", 2, c->dilations);
    builder_attr_ints(&b, n, "pads", 4, c->pads);
    return b;
}

static void expect_conv(const conv_case *c)
{
    pgy_graph *g = NULL;
    pgy_error err = {0};
    model_builder b = conv(c);
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    if (pgy_graph_import(&g, model, &err)) fail_msg("%s", err.text);
    if (pgy_graph_infer_shapes(g, NULL, &err)) fail_msg("%s", err.text);
    if (passes_run(g, &(pass_target){0}, &err)) fail_msg("%s", err.text);
    assert_int_equal(g->node_count, 1);
    const pgy_value *w = g->nodes[0]->inputs[1];
    assert_int_equal(w->rank, 4);
    assert_int_equal(w->dims[2].value, c->kernel[0]);
    assert_int_equal(w->dims[3].value, c->kernel[1]);
    const pgy_onnx_attribute *pads = node_attribute(g->nodes[0], "pads");
    assert_non_null(pads);
    assert_memory_equal(pads->ints, c->kept_pads, sizeof c->kept_pads);
    pgy_graph_destroy(g);
    pgy_model_destroy(model);
    b = conv(c);
    expect_y(&b, "Conv");
}

static void test_drop_taps__taps_in_padding_go(void **state)
{
    (void)state;
    static const conv_case CASES[] = {
        /* A dilation larger than the image leaves the middle. */
        {{1, 1}, {6, 6}, {6, 6, 6, 6}, {1, 1}, {0, 0, 0, 0}},
        {{1, 1}, {4, 4}, {4, 4, 4, 4}, {1, 3}, {0, 4, 0, 4}},
        /* Only the first row, and only the last column. */
        {{1, 1}, {3, 1}, {7, 0, 0, 1}, {2, 3}, {4, 0, 0, 1}},
        {{1, 2}, {1, 4}, {1, 0, 1, 4}, {3, 2}, {1, 0, 1, 0}},
        /* The first row stays: without it the pads would be negative. */
        {{9, 1}, {6, 1}, {3, 1, 6, 1}, {2, 3}, {3, 1, 0, 1}},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) expect_conv(&CASES[i]);
}

static void test_drop_taps__others_stay(void **state)
{
    (void)state;
    static const conv_case CASES[] = {
        {{1, 1}, {1, 1}, {1, 1, 1, 1}, {3, 3}, {1, 1, 1, 1}},
        {{1, 1}, {2, 2}, {2, 2, 2, 2}, {3, 3}, {2, 2, 2, 2}},
        /* All taps only read padding: the output is the bias. */
        {{9, 1}, {20, 1}, {5, 0, 33, 0}, {3, 3}, {5, 0, 33, 0}},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) expect_conv(&CASES[i]);
}

/* Padding times Inf is NaN, so the kernel is left whole. */
static void test_drop_taps__infinite_weights_stay(void **state)
{
    (void)state;
    const int64_t shape[] = {1, 2, 3, 3};
    pgy_tensor *w = NULL;
    assert_int_equal(pgy_tensor_create(&w, PGY_F32, 4, shape, NULL), PGY_OK);
    ((float *)pgy_tensor_data(w))[0] = INFINITY;
    model_builder b = start("1, 2, 4, 5");
    builder_initializer(&b, "w", w);
    pgy_tensor_release(w);
    pgy_onnx_node *n = builder_node(&b, "Conv", "x w", "y");
    builder_attr_ints(&b, n, "dilations", 2, (const int64_t[]){6, 6});
    builder_attr_ints(&b, n, "pads", 4, (const int64_t[]){6, 6, 6, 6});
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    pgy_graph *g = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_graph_import(&g, model, &err), PGY_OK);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_OK);
    assert_int_equal(passes_run(g, &(pass_target){0}, &err), PGY_OK);
    assert_int_equal(g->nodes[0]->inputs[1]->dims[2].value, 3);
    pgy_graph_destroy(g);
    pgy_model_destroy(model);
}
