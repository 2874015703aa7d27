/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in float32 of all variants against the reference in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "harness/kernel_reference.h"
#include "kernels/conv_flat.h"
#include "kernels/extent.h"
#include "kernels/packing.h"

static const double TOLERANCE = 2e-6;

typedef struct conv_case {
    int64_t batch, in, out, height, width, group;
    int64_t kernel[2], stride[2], dilation[2], pads[4];
    const char *activation;
    bool bias, sum;
} conv_case;

static size_t run_case(const conv_case *t)
{
    kernel_case c;
    const bool fused = t->activation || t->sum;
    static const int64_t ONES[2] = {1, 1};
    const bool own = t->activation && strstr("Silu HardSwish Gelu FastGelu", t->activation);
    case_start(&c,
               own     ? "pgy"
               : fused ? "com.microsoft"
                       : "",
               fused ? "FusedConv" : "Conv", fused ? 1 : 17);
    case_attr_int(&c, "group", t->group ? t->group : 1);
    case_attr_ints(&c, "strides", t->stride[0] ? t->stride : ONES, 2);
    case_attr_ints(&c, "dilations", t->dilation[0] ? t->dilation : ONES, 2);
    case_attr_ints(&c, "pads", t->pads, 4);
    if (t->activation) case_attr_text(&c, "activation", t->activation);
    case_input(&c, false, 4, (const int64_t[]){t->batch, t->in, t->height, t->width});
    case_input(
        &c, true, 4,
        (const int64_t[]){t->out, t->in / (t->group ? t->group : 1), t->kernel[0], t->kernel[1]});
    case_input(&c, true, t->bias ? 1 : -1, &t->out);
    if (t->sum) { /* of the output's shape */
        int64_t shape[4] = {t->batch, t->out};
        for (int d = 0; d < 2; d++) {
            const int64_t size = d ? t->width : t->height;
            const int64_t reach = (t->kernel[d] - 1) * (t->dilation[0] ? t->dilation[d] : 1) + 1;
            shape[2 + d] =
                (size + t->pads[d] + t->pads[2 + d] - reach) / (t->stride[0] ? t->stride[d] : 1) +
                1;
        }
        case_input(&c, false, 4, shape);
    }
    case_output_of_reference(&c);
    /* Sums of magnitude 10 become values of magnitude 1. */
    const bool narrows = t->activation && strstr("Sigmoid HardSigmoid Tanh", t->activation);
    const size_t ran = case_run_layouts(&c, narrows ? 10 * TOLERANCE : TOLERANCE);
    case_end(&c);
    return ran;
}

static void test_conv__pointwise_of_many_sizes(void **state)
{
    (void)state;
    static const int64_t CHANNELS[] = {1, 3, 8, 15, 16, 17, 40, 65};
    static const int64_t PIXELS[] = {1, 2, 5, 7, 13, 14, 15, 30};
    for (size_t i = 0; i < 8; i++)
        for (size_t k = 0; k < 8; k++)
            assert_true(run_case(&(conv_case){.batch = 1 + (int64_t)(k % 2),
                                              .in = CHANNELS[i],
                                              .out = CHANNELS[(i + k) % 8],
                                              .height = 1 + (int64_t)(i % 3),
                                              .width = PIXELS[k],
                                              .kernel = {1, 1},
                                              .bias = k % 2}) > 0);
}

/* Few tiles by several units of output channels: threads take the tiles of a unit, or rows of one,
 * in shorter runs and bands than one thread. */
static void test_conv__few_tiles_for_many_threads(void **state)
{
    (void)state;
    static const int64_t SIDES[] = {7, 14, 21};
    for (size_t i = 0; i < 3; i++)
        assert_true(run_case(&(conv_case){.batch = 1 + (int64_t)(i % 2),
                                          .in = 33,
                                          .out = i ? 80 : 32,
                                          .height = SIDES[i],
                                          .width = SIDES[i],
                                          .kernel = {3, 3},
                                          .pads = {1, 1, 1, 1},
                                          .bias = true,
                                          .activation = i ? "Silu" : "Relu"}) > 0);
}

/* Weights of many input channels are read in slices, between which the output keeps the sums. */
static void test_conv__sums_in_slices(void **state)
{
    (void)state;
    static const conv_case CASES[] = {
        {.batch = 1, .in = 811, .out = 40, .height = 1, .width = 31, .kernel = {1, 1}},
        {.batch = 2,
         .in = 400,
         .out = 17,
         .height = 5,
         .width = 7,
         .kernel = {1, 1},
         .bias = true,
         .sum = true,
         .activation = "Relu"},
        {.batch = 1,
         .in = 70,
         .out = 35,
         .height = 6,
         .width = 17,
         .kernel = {3, 3},
         .pads = {1, 1, 1, 1},
         .bias = true,
         .activation = "Silu"},
        {.batch = 1,
         .in = 90,
         .out = 33,
         .height = 9,
         .width = 9,
         .kernel = {3, 3},
         .stride = {2, 2},
         .pads = {2, 1, 2, 1},
         .bias = true,
         .sum = true,
         .activation = "Clip"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

static void test_conv__kernels_strides_dilations_and_pads(void **state)
{
    (void)state;
    static const conv_case CASES[] = {
        {1, 16, 16, 9, 9, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {2, 19, 33, 7, 15, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {1, 16, 40, 15, 29, 1, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, NULL, false},
        {1, 24, 16, 13, 31, 1, {5, 3}, {2, 1}, {1, 2}, {2, 1, 0, 3}, NULL, true},
        {1, 32, 32, 6, 6, 1, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}, NULL, true},
        {1, 20, 20, 14, 14, 1, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}, NULL, true},
        {1, 8, 8, 4, 4, 1, {1, 1}, {1, 1}, {1, 1}, {2, 3, 1, 0}, NULL, true},
        {1, 8, 8, 3, 3, 1, {3, 3}, {1, 1}, {3, 3}, {5, 5, 5, 5}, NULL, true},
        {1, 16, 16, 60, 75, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {1, 7, 9, 5, 1, 1, {7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}, NULL, true},
        {1, 16, 16, 20, 3, 1, {1, 7}, {3, 3}, {1, 1}, {0, 9, 0, 9}, NULL, true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

/* Kernels dilated so far that many of their columns read only padding at most pixels. */
static void test_conv__columns_in_padding_are_left_out(void **state)
{
    (void)state;
    static const conv_case CASES[] = {
        {1, 24, 40, 28, 28, 1, {3, 3}, {1, 1}, {12, 12}, {12, 12, 12, 12}, NULL, true},
        {2, 16, 16, 9, 5, 1, {3, 3}, {1, 1}, {7, 7}, {7, 7, 7, 7}, "Relu", true, true},
        {1, 20, 16, 13, 40, 1, {3, 5}, {2, 3}, {6, 8}, {6, 16, 6, 16}, NULL, true},
        {1, 16, 33, 6, 30, 1, {1, 4}, {1, 2}, {1, 6}, {0, 25, 0, 40}, "Silu", true},
        {1, 150, 32, 10, 20, 1, {3, 3}, {1, 1}, {6, 9}, {6, 30, 6, 2}, NULL, true, true},
        {1, 32, 32, 4, 3, 2, {1, 2}, {1, 1}, {1, 64}, {0, 70, 0, 70}, NULL, true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

/* Of an image of one row, threads copy windows with padding instead of the whole row. */
static void test_conv__long_rows_are_copied_in_windows(void **state)
{
    (void)state;
    static const conv_case CASES[] = {
        {1, 40, 33, 1, 1000, 1, {1, 3}, {1, 2}, {1, 1}, {0, 1, 0, 1}, "Relu", true, true},
        {2, 80, 20, 1, 999, 1, {1, 5}, {1, 1}, {1, 1}, {0, 40, 0, 70}, NULL, true},
        {1, 48, 16, 2, 700, 1, {3, 4}, {1, 1}, {1, 9}, {0, 13, 1, 40}, NULL, true},
        {1, 64, 32, 1, 900, 2, {1, 3}, {1, 3}, {1, 2}, {0, 2, 0, 2}, "Silu", true},
        {1, 3, 32, 1, 30000, 1, {1, 7}, {1, 2}, {1, 1}, {0, 3, 0, 3}, NULL, true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

static void test_conv__first_layers_read_linear_images(void **state)
{
    (void)state;
    static const conv_case CASES[] = {
        {1, 3, 64, 37, 41, 1, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}, NULL, true},
        {2, 3, 32, 33, 33, 1, {3, 3}, {2, 2}, {1, 1}, {0, 0, 1, 1}, NULL, true},
        {1, 1, 20, 28, 28, 1, {5, 5}, {1, 1}, {1, 1}, {0, 0, 0, 0}, NULL, true},
        {1, 4, 16, 16, 16, 1, {4, 4}, {4, 4}, {1, 1}, {0, 0, 0, 0}, NULL, false},
        {1, 2, 16, 16, 16, 1, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}, NULL, true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

static void test_conv__groups_and_depthwise(void **state)
{
    (void)state;
    static const conv_case CASES[] = {
        {1, 32, 64, 9, 9, 2, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {1, 32, 32, 9, 31, 32, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {2, 21, 21, 8, 17, 21, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {1, 16, 16, 7, 7, 16, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}, NULL, false},
        {1, 24, 24, 4, 3, 24, {7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}, NULL, true},
        {1, 16, 16, 9, 9, 16, {3, 3}, {1, 1}, {4, 4}, {4, 4, 4, 4}, NULL, true},
        {1, 16, 16, 3, 3, 16, {1, 1}, {1, 1}, {1, 1}, {2, 2, 2, 2}, NULL, true},
        /* Several bands of rows are copied. */
        {2, 20, 20, 90, 6, 20, {7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}, "Relu", true, true},
        {1, 17, 17, 400, 13, 17, {5, 5}, {2, 3}, {2, 1}, {4, 1, 2, 3}, "Clip", true},
        /* Wide rows have several tiles, whose edges are computed alone. */
        {1, 16, 16, 5, 120, 16, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "Relu", true, true},
        /* More padding than image. */
        {1, 16, 16, 6, 5, 16, {3, 3}, {1, 1}, {1, 1}, {9, 11, 1, 8}, NULL, true},
        {2, 9, 9, 3, 2, 9, {1, 9}, {1, 1}, {1, 1}, {0, 4, 0, 4}, NULL, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

/* Depthwise convolutions that conv_plane computes: all its kernels, rows of one to several tiles,
 * numbers of rows that do not fill tiles, windows without any row or column of the image. */
static void test_conv__planes(void **state)
{
    (void)state;
    static const conv_case CASES[] = {
        {2, 3, 3, 9, 16, 3, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {1, 2, 2, 13, 70, 2, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "Relu", true, true},
        {1, 2, 2, 6, 200, 2, {5, 5}, {1, 1}, {1, 1}, {2, 0, 1, 4}, "Clip", true},
        {1, 2, 2, 11, 45, 2, {7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}, "Silu", true, true},
        {1, 2, 2, 3, 33, 2, {9, 7}, {1, 1}, {1, 1}, {6, 3, 4, 3}, NULL, false},
        {2, 3, 3, 23, 57, 3, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {1, 2, 2, 14, 131, 2, {5, 5}, {2, 2}, {1, 1}, {1, 2, 2, 1}, "HardSwish", true},
        {1, 2, 2, 21, 64, 2, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}, NULL, true, true},
        {1, 2, 2, 19, 40, 2, {1, 3}, {2, 2}, {1, 1}, {0, 0, 0, 1}, NULL, true},
        {1, 3, 3, 28, 28, 3, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}, NULL, true},
        {1, 2, 2, 17, 35, 2, {3, 3}, {1, 1}, {5, 2}, {5, 0, 6, 7}, "LeakyRelu", true, true},
        {1, 2, 2, 2, 20, 2, {3, 5}, {1, 1}, {7, 1}, {7, 2, 7, 2}, NULL, true},
        {1, 2, 2, 4, 5, 2, {3, 3}, {1, 1}, {1, 1}, {11, 16, 9, 16}, NULL, true},
        {1, 2, 2, 3, 40, 2, {3, 3}, {2, 2}, {1, 1}, {9, 16, 9, 40}, NULL, true},
        {1, 1, 1, 10, 2048, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {1, 1, 1, 5, 2100, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL, true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

static const kernel *find_kernel(const char *name)
{
    for (size_t i = 0; kernel_at(i); i++)
        if (strcmp(kernel_at(i)->name, name) == 0) return kernel_at(i);
    return NULL;
}

enum { PLANE_FLOATS = 2 * 26 * 45 };

/* Runs a kernel on a problem with three inputs, of which the last two are packed. */
static void run_kernel(const kernel *k, kernel_case *c, float y[PLANE_FLOATS])
{
    kernel_plan plan = {0};
    double cost;
    c->problem.node = &c->node;
    assert_true(kernel_accept(k, &c->problem, &cost));
    assert_int_equal(kernel_prepare(&plan, k, &c->problem, NULL), PGY_OK);
    void *const tensors[] = {c->inputs[0], NULL, NULL, y};
    k->run(&(kernel_run){
        .self = k, .params = plan.params, .packed = plan.packed, .tensors = tensors, .parts = 1});
    kernel_plan_deinit(&plan);
}

/* Tiles of all instruction sets add the products in the same order. */
static void test_conv__planes_have_the_same_bits_on_all_processors(void **state)
{
    (void)state;
    static const int64_t KINDS[][3] = {
        {3, 1, 1}, {5, 1, 1}, {7, 1, 1}, {3, 2, 1},
        {5, 2, 1}, {7, 2, 1}, {3, 1, 2}}; /* kernel, stride, dilation */
    const kernel *narrow = find_kernel("conv_f32_plane_avx2");
    const kernel *wide = find_kernel("conv_f32_plane_avx512");
    if (cpu_features() < CPU_AVX512) skip();
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        static float results[2][PLANE_FLOATS];
        const int64_t size = KINDS[i][0];
        kernel_case c;
        case_start(&c, "", "Conv", 17);
        case_attr_int(&c, "group", 2);
        case_attr_ints(&c, "strides", (const int64_t[]){KINDS[i][1], KINDS[i][1]}, 2);
        case_attr_ints(&c, "dilations", (const int64_t[]){KINDS[i][2], KINDS[i][2]}, 2);
        case_attr_ints(&c, "pads", (const int64_t[]){2, 2, 2, 2}, 4);
        case_input(&c, false, 4, (const int64_t[]){1, 2, 24, 43});
        case_input(&c, true, 4, (const int64_t[]){2, 1, size, size});
        case_input(&c, true, 1, (const int64_t[]){2});
        case_output_of_reference(&c);
        assert_true(case_count(&c.problem.outputs[0]) <= PLANE_FLOATS);
        run_kernel(narrow, &c, results[0]);
        run_kernel(wide, &c, results[1]);
        assert_memory_equal(results[0], results[1],
                            case_count(&c.problem.outputs[0]) * sizeof(float));
        case_end(&c);
    }
}

/* Parameters of a plan file that no tile can compute. */
static void test_conv__planes_refuse_parameters_without_tiles(void **state)
{
    (void)state;
    const conv_flat good = {.level = CPU_AVX2,
                            .inputs = 2,
                            .batch = 1,
                            .groups = 2,
                            .in = 1,
                            .out = 1,
                            .from = {1, 20, 40},
                            .to = {1, 20, 40},
                            .kernel = {1, 3, 3},
                            .stride = {1, 1, 1},
                            .dilation = {1, 1, 1},
                            .pad = {0, 1, 1}};
    const kernel *k = find_kernel("conv_f32_plane_avx2");
    if (cpu_features() < CPU_AVX2) skip();
    for (int i = 0; i < 8; i++) {
        _Alignas(64) conv_flat p = good;
        kernel_extent e;
        const kernel_claim claim = {
            .params = &p, .params_bytes = sizeof p, .input_count = 2, .output_count = 1};
        if (i == 1) p.level = CPU_PORTABLE;
        if (i == 2) p.kernel[2] = 4;
        if (i == 3) p.stride[1] = p.stride[2] = 3;
        if (i == 4) p.pad[2] = 17;
        if (i == 5) p.to[2] = 2049;
        if (i == 6) p.kernel[1] = 33;
        if (i == 7) p.in = 2;
        assert_int_equal(kernel_extent_of(&e, k, &claim), i == 0);
    }
}

static void test_conv__groups_of_few_channels(void **state)
{
    (void)state;
    static const conv_case CASES[] = {
        {1, 12, 8, 6, 9, 4, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {2, 9, 18, 7, 7, 9, {3, 3}, {2, 1}, {1, 1}, {1, 0, 1, 1}, NULL, true},
        {1, 12, 12, 8, 8, 3, {3, 3}, {1, 1}, {2, 2}, {1, 3, 1, 1}, "Relu", true, true},
        {1, 6, 26, 8, 40, 2, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, "Clip", false, true},
        {1, 250, 14, 4, 7, 1, {3, 3}, {2, 1}, {1, 1}, {1, 1, 1, 1}, "Relu", true, true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

static void test_conv__three_axes_and_weights_known_late(void **state)
{
    (void)state;
    static const int64_t PADS[6] = {1, 0, 2, 1, 1, 0}, STRIDES[3] = {1, 2, 1};
    for (int constant = 0; constant < 2; constant++) {
        kernel_case c;
        case_start(&c, "", "Conv", 17);
        case_attr_ints(&c, "pads", PADS, 6);
        case_attr_ints(&c, "strides", STRIDES, 3);
        case_input(&c, false, 5, (const int64_t[]){2, 5, 4, 6, 7});
        case_input(&c, constant, 5, (const int64_t[]){17, 5, 3, 2, 3});
        case_input(&c, constant, 1, (const int64_t[]){17});
        case_output_of_reference(&c);
        assert_true(case_run_layouts(&c, TOLERANCE) > 0);
        case_end(&c);
    }
}

static void test_conv__three_by_three_in_tiles_of_four(void **state)
{
    (void)state;
    static const conv_case CASES[] = {
        {1, 16, 16, 8, 8, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {2, 33, 49, 7, 9, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "Relu", true, true},
        {3, 64, 40, 13, 14, 1, {3, 3}, {1, 1}, {1, 1}, {0, 2, 1, 0}, "LeakyRelu", false, false},
        {1, 16, 32, 42, 45, 1, {3, 3}, {1, 1}, {1, 1}, {2, 0, 2, 2}, NULL, true, true},
        /* more weights than are transformed in a phase of their own, and channels left over */
        {2, 150, 147, 9, 10, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "Relu", true, true},
        {1, 192, 130, 8, 6, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL, false, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

/* The largest error of a plain float32 loop, as a part of the largest value. */
static double naive_error(const kernel_case *c, int64_t in, int64_t out, int64_t size)
{
    double worst = 0, scale = 0;
    for (int64_t o = 0; o < out; o++)
        for (int64_t i = 0; i < (size - 2) * (size - 2); i++) {
            const int64_t y = i / (size - 2), x = i % (size - 2);
            float sum = 0;
            for (int64_t k = 0; k < in * 9; k++)
                sum += c->inputs[0][(k / 9 * size + y + k / 3 % 3) * size + x + k % 3] *
                       c->inputs[1][o * in * 9 + k];
            const double wanted = c->wanted[o * (size - 2) * (size - 2) + i];
            worst = fmax(worst, fabs((double)sum - wanted));
            scale = fmax(scale, fabs(wanted));
        }
    return worst / scale;
}

static void test_conv__errors_are_near_those_of_a_plain_loop(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* sanitizers change no number, and other tests have such sizes */
#endif
    for (int i = 0; i < 6; i++) {
        const int kind = i % 3; /* of values: evenly around 0, positive, far apart */
        const int64_t in = i < 3 ? 64 : 192, out = i < 3 ? 32 : 128, size = i < 3 ? 14 : 10;
        kernel_case c;
        case_start(&c, "", "Conv", 17);
        case_input(&c, false, 4, (const int64_t[]){1, in, size, size});
        case_input(&c, true, 4, (const int64_t[]){out, in, 3, 3});
        for (int x = 0; x < 2; x++)
            for (size_t k = 0; k < case_count(&c.problem.inputs[x]); k++) {
                float *v = &c.inputs[x][k];
                if (kind == 1) *v = fabsf(*v);
                if (kind == 2) *v = *v * *v * *v * 1000;
            }
        case_output_of_reference(&c);
        assert_true(case_run_layouts(&c, 4 * naive_error(&c, in, out, size)) > 0);
        case_end(&c);
    }
}

static void test_conv__sums_and_activations(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"Relu",    "LeakyRelu", "Clip", "HardSigmoid",
                                        "Sigmoid", "Tanh",      "Silu", "HardSwish",
                                        "Gelu",    "FastGelu"};
    for (size_t i = 0; i < 10; i++)
        for (int64_t k = 0; k < 4; k++)
            assert_true(run_case(&(conv_case){.batch = 1,
                                              .in = 19,
                                              .out = 19,
                                              .height = 6,
                                              .width = 17,
                                              .group = k % 2 ? 19 : 1,
                                              .kernel = {3, 3},
                                              .pads = {1, 1, 1, 1},
                                              .activation = NAMES[i],
                                              .bias = true,
                                              .sum = k > 1}) > 0);
}

static void test_conv__one_spatial_axis(void **state)
{
    (void)state;
    kernel_case c;
    static const int64_t PADS[2] = {2, 2}, BIAS[1] = {24};
    case_start(&c, "", "Conv", 17);
    case_attr_ints(&c, "pads", PADS, 2);
    case_input(&c, false, 3, (const int64_t[]){2, 18, 33});
    case_input(&c, true, 3, (const int64_t[]){24, 18, 5});
    case_input(&c, true, 1, BIAS);
    case_output_of_reference(&c);
    assert_true(case_run_layouts(&c, TOLERANCE) > 0);
    case_end(&c);
}

/* Inf, NaN and numbers whose transform overflows reach the outputs whose windows hold them, and no
 * others; activations keep NaN. */
static void test_conv__strange_numbers_stay_where_they_are(void **state)
{
    (void)state;
    static const char *const NAMES[] = {NULL,      "Relu", "Clip", "HardSigmoid",
                                        "Sigmoid", "Silu", "Relu"};
    for (size_t i = 0; i < 7; i++) { /* the last one with many weights, and so with few tiles */
        const int64_t in = i < 6 ? 19 : 150, out = i < 6 ? 35 : 147;
        const int64_t rows = i < 6 ? 13 : 7, columns = i < 6 ? 14 : 6, plane = rows * columns;
        const char *fused = NAMES[i] && !strcmp(NAMES[i], "Silu") ? "pgy" : "com.microsoft";
        kernel_case c;
        case_start(&c, NAMES[i] ? fused : "", NAMES[i] ? "FusedConv" : "Conv", NAMES[i] ? 1 : 17);
        case_attr_ints(&c, "pads", (const int64_t[]){1, 1, 1, 1}, 4);
        if (NAMES[i]) case_attr_text(&c, "activation", NAMES[i]);
        case_input(&c, false, 4, (const int64_t[]){2, in, rows, columns});
        case_input(&c, true, 4, (const int64_t[]){out, in, 3, 3});
        case_input(&c, true, 1, &out);
        float *x = c.inputs[0];
        x[0] = NAN;
        x[5 * plane + rows / 2 * columns + columns / 2] = NAN;
        x[18 * plane + (rows - 1) * columns + columns - 1] = INFINITY;
        x[(in + 3) * plane + 5 * columns + 2] = -INFINITY;
        /* Strange tiles side by side: all of a row, also at the edges. */
        for (int64_t k = 0; i % 2 && k < columns; k++) x[7 * plane + 6 * columns + k] = NAN;
        case_output_of_reference(&c);
        assert_true(case_run_layouts(&c, NAMES[i] ? 10 * TOLERANCE : TOLERANCE) > 0);
        case_end(&c);
    }
}

/* Sums, activations, groups and dilated strided windows over one, two and three axes; the last axis
 * of one is long enough to be cut. */
static void test_conv__flat_positions(void **state)
{
    (void)state;
    static const struct {
        size_t axes;
        int64_t x[5], w[5], group, stride[3], dilation[3], pads[6];
        const char *activation;
        bool sum;
    } CASES[] = {
        {3,
         {2, 6, 5, 7, 9},
         {15, 2, 3, 3, 3},
         3,
         {1, 1, 1},
         {1, 1, 1},
         {1, 1, 1, 1, 1, 1},
         NULL,
         true},
        {3,
         {1, 3, 9, 8, 11},
         {13, 3, 2, 3, 3},
         1,
         {3, 2, 2},
         {2, 3, 1},
         {1, 2, 3, 0, 1, 2},
         "Sigmoid",
         false},
        {3,
         {1, 4, 6, 5, 4},
         {4, 1, 1, 3, 2},
         4,
         {2, 1, 3},
         {1, 2, 2},
         {0, 0, 5, 0, 3, 0},
         "Relu",
         true},
        {1, {1, 40, 1300}, {9, 40, 3}, 1, {1}, {17}, {17, 17}, "LeakyRelu", true},
        {1, {2, 6, 50}, {6, 1, 4}, 6, {1}, {1}, {3, 3}, NULL, false},
        {1, {1, 1, 400}, {21, 1, 10}, 1, {5}, {1}, {0, 0}, NULL, false},
        {1, {1, 8, 30}, {3, 8, 2}, 1, {1}, {29}, {0, 0}, NULL, true},
        {1, {1, 2, 9}, {3, 2, 2}, 1, {1}, {3}, {20, 25}, "Clip", false},
        {2, {1, 12, 31, 33}, {12, 4, 5, 5}, 3, {1, 1}, {1, 1}, {2, 2, 2, 2}, "HardSwish", false},
        {2, {1, 6, 40, 45}, {12, 1, 3, 3}, 6, {2, 2}, {1, 1}, {1, 1, 1, 1}, NULL, true},
        {2, {1, 3, 12, 20}, {9, 3, 2, 3}, 1, {5, 4}, {1, 6}, {0, 3, 2, 1}, NULL, true},
        {2, {1, 64, 60, 50}, {5, 64, 3, 3}, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        kernel_case c;
        const size_t axes = CASES[i].axes;
        const bool own = CASES[i].activation && strstr("HardSwish", CASES[i].activation);
        const bool fused = CASES[i].activation || CASES[i].sum;
        case_start(&c,
                   own     ? "pgy"
                   : fused ? "com.microsoft"
                           : "",
                   fused ? "FusedConv" : "Conv", fused ? 1 : 17);
        case_attr_int(&c, "group", CASES[i].group);
        case_attr_ints(&c, "strides", CASES[i].stride, axes);
        case_attr_ints(&c, "dilations", CASES[i].dilation, axes);
        case_attr_ints(&c, "pads", CASES[i].pads, 2 * axes);
        if (CASES[i].activation) case_attr_text(&c, "activation", CASES[i].activation);
        case_input(&c, false, (int32_t)axes + 2, CASES[i].x);
        case_input(&c, true, (int32_t)axes + 2, CASES[i].w);
        case_input(&c, true, 1, CASES[i].w);
        int64_t shape[5] = {CASES[i].x[0], CASES[i].w[0]};
        for (size_t d = 0; d < axes; d++)
            shape[d + 2] = (CASES[i].x[d + 2] + CASES[i].pads[d] + CASES[i].pads[d + axes] -
                            (CASES[i].w[d + 2] - 1) * CASES[i].dilation[d] - 1) /
                               CASES[i].stride[d] +
                           1;
        if (CASES[i].sum) case_input(&c, false, (int32_t)axes + 2, shape);
        case_output_of_reference(&c);
        assert_true(case_run_layouts(&c, CASES[i].activation ? 10 * TOLERANCE : TOLERANCE) > 0);
        case_end(&c);
    }
}
