/* SPDX-License-Identifier: Apache-2.0 */
/* A pointwise and a depthwise convolution become ExpandedConv of pgy. Near misses stay as they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine/build/engine.h"
#include "harness/pass_case.h"

typedef struct residual {
    int64_t size, stride, group; /* group 0: depthwise */
    int64_t kernel;              /* of the first convolution */
    const char *inner, *last;    /* activations */
    bool twice;                  /* the expanded tensor has another reader */
    bool bias, late;             /* late: the depthwise weights are computed */
    int64_t far;                 /* dilation of the depthwise convolution; 0: 1 */
} residual;

enum { IN = 4, EXPANDED = 12 };

static void put_block(model_builder *b, const residual *r)
{
    const int64_t pads[4] = {1, 1, 1, 1}, strides[2] = {r->stride, r->stride};
    weights(b, "w", r->kernel == 3 ? "12, 4, 3, 3" : "12, 4, 1, 1",
            IN * EXPANDED * (size_t)(r->kernel * r->kernel));
    weights(b, "v", r->group ? "12, 2, 3, 3" : "12, 1, 3, 3", EXPANDED * 9 * (r->group ? 2 : 1));
    if (r->bias) weights(b, "wb", "12", EXPANDED);
    if (r->bias) weights(b, "vb", "12", EXPANDED);
    if (r->late) builder_node(b, "Softmax", "late", "vl");
    pgy_onnx_node *first = builder_node(b, "Conv", r->bias ? "x w wb" : "x w", "e");
    if (r->kernel == 3) builder_attr_ints(b, first, "pads", 4, pads);
    if (r->inner) builder_node(b, r->inner, "e", "a");
    const char *in = r->inner ? "a" : "e";
    char list[32];
    snprintf(list, sizeof list, "%s %s%s", in, r->late ? "vl" : "v", r->bias ? " vb" : "");
    pgy_onnx_node *deep = builder_node(b, "Conv", list, r->last ? "d" : "z");
    builder_attr_int(b, deep, "group", r->group ? r->group : EXPANDED);
    builder_attr_ints(b, deep, "pads", 4, pads);
    builder_attr_ints(b, deep, "strides", 2, strides);
    const int64_t dilations[2] = {r->far, 1};
    if (r->far) builder_attr_ints(b, deep, "dilations", 2, dilations);
    if (r->last) builder_node(b, r->last, "d", "z");
    if (r->twice) builder_node(b, "Mul", r->inner ? "a z" : "e z", "y");
    if (!r->twice) builder_node(b, "Softmax", "z", "y");
}

static void expect(const residual *r, const char *nodes)
{
    char shape[32];
    snprintf(shape, sizeof shape, "1, 4, %d, %d", (int)r->size, (int)r->size);
    model_builder b = start(shape);
    if (r->late) builder_input(&b, "late", PGY_F32, "12, 1, 3, 3");
    put_block(&b, r);
    expect_y(&b, nodes);
}

static void test_fuse_expanded_conv__inverted_residuals(void **state)
{
    (void)state;
    static const char *const NAMES[] = {NULL, "Relu", "HardSwish", "LeakyRelu", "Sigmoid"};
    for (size_t i = 0; i < 5; i++)
        expect(&(residual){.size = 40,
                           .stride = 1 + (int64_t)i % 2,
                           .kernel = 1,
                           .inner = NAMES[i],
                           .last = NAMES[(i + 2) % 5],
                           .bias = i != 3},
               "ExpandedConv Softmax");
}

static void test_fuse_expanded_conv__near_misses(void **state)
{
    (void)state;
    const residual usual = {.size = 40, .stride = 1, .kernel = 1, .inner = "Relu", .bias = true};
    residual r = usual;
    r.twice = true;
    expect(&r, "FusedConv Conv Mul");
    r = usual;
    r.kernel = 3;
    expect(&r, "FusedConv Conv Softmax");
    r = usual;
    r.group = 6;
    expect(&r, "FusedConv Conv Softmax");
    r = usual;
    r.late = true;
    expect(&r, "Softmax FusedConv Conv Softmax");
    r = usual;
    r.size = 70;
    r.far = 33; /* no kernel of the pair accepts more */
    expect(&r, "FusedConv Conv Softmax");
    r = usual;
    r.size = 30;
    expect(&r, "FusedConv Conv Softmax");
}

static void test_fuse_expanded_conv__sizes_known_only_at_run_time(void **state)
{
    (void)state;
    for (int batch = 0; batch < 2; batch++) {
        model_builder b = start(batch ? "N, 4, 40, 40" : "1, 4, H, W");
        put_block(&b, &(residual){.size = 40, .stride = 1, .kernel = 1, .inner = "Relu"});
        expect_y(&b, batch ? "ExpandedConv Softmax" : "FusedConv Conv Softmax");
    }
}

static void test_fuse_expanded_conv__not_for_cuda(void **state)
{
    (void)state;
    model_builder b = start("1, 4, 40, 40");
    put_block(&b, &(residual){.size = 40, .stride = 1, .kernel = 1, .inner = "Relu"});
    expect_y_on(&b, "cuda", "FusedConv Conv Softmax");
}

/* ---- Engines -------------------------------------------------------------------------------- */

static size_t count_fused(const pgy_build_config *config)
{
    model_builder b = start("1, 4, 40, 40");
    engine *e = NULL;
    program *p = NULL;
    pgy_error err = {0};
    size_t count = 0;
    put_block(&b, &(residual){.size = 40, .stride = 1, .kernel = 1, .inner = "Relu", .bias = true});
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    if (engine_build(&e, model, config, &err) || engine_program_for(&p, e, 0, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        if (strcmp(s->op_type, "ExpandedConv")) continue;
        assert_non_null(s->kernel);
        count++;
    }
    program_release(p);
    engine_release(e);
    pgy_model_destroy(model);
    return count;
}

static void test_fuse_expanded_conv__steps_have_kernels(void **state)
{
    (void)state;
    for (int level = 0; level < 4; level++) {
        pgy_build_config config = {.size = sizeof config,
                                   .threads = 1,
                                   .has_optimization_level = true,
                                   .optimization_level = level};
        assert_int_equal(count_fused(&config), 1);
    }
    pgy_build_config config = {.size = sizeof config, .cpu_level = PGY_CPU_PORTABLE};
    assert_int_equal(count_fused(&config), 1);
}

static void test_fuse_expanded_conv__little_memory_keeps_both(void **state)
{
    (void)state;
    const pgy_build_config config = {
        .size = sizeof config, .has_workspace_limit = true, .workspace_bytes = 1000};
    assert_int_equal(count_fused(&config), 0);
}

static void test_fuse_expanded_conv__marked_tensors_stay(void **state)
{
    (void)state;
    static const char *MARKED[] = {"a"}, *OTHERS[] = {"z"};
    pgy_build_config config = {.size = sizeof config,
                               .debug_tensors = {.items = MARKED, .count = 1, .given = true}};
    assert_int_equal(count_fused(&config), 0);
    config.debug_tensors.items = OTHERS;
    assert_int_equal(count_fused(&config), 1);
}
