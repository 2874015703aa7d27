/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes of all variants against the reference, bit by bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/int_case.h"

typedef struct conv_case {
    int64_t batch, in, out, group, size[2], kernel[2], stride[2], dilation[2], pads[4];
} conv_case;

static const conv_case CASES[] = {
    {1, 3, 8, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 4, 7, 1, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {1, 17, 33, 1, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {1, 8, 16, 1, {13, 10}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {1, 8, 9, 1, {12, 12}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
    {1, 3, 16, 1, {23, 19}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
    {2, 12, 18, 3, {8, 9}, {3, 2}, {1, 2}, {2, 1}, {2, 0, 1, 1}},
    {1, 6, 6, 6, {10, 37}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 5, 10, 5, {11, 12}, {3, 5}, {2, 3}, {1, 2}, {1, 4, 2, 0}},
    {1, 20, 24, 1, {30, 31}, {3, 3}, {3, 3}, {2, 3}, {0, 1, 2, 3}},
    {1, 160, 256, 1, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
};
enum { COUNT = sizeof CASES / sizeof *CASES };
/* The largest case is slow, so four forms must do, with each choice made both ways. Sanitizers make
 * all slow: every third form is enough for them, and one of the largest case. */
#ifdef __SANITIZE_ADDRESS__
enum { LAST_STEP = 7 };
#else
enum { LAST_STEP = 3 };
#endif
static int next_form(const conv_case *t)
{
#ifdef __SANITIZE_ADDRESS__
    return t->in > 100 ? 32 : 3;
#else
    return t->in > 100 ? 5 : 1;
#endif
}

static void geometry(int_case *c, const conv_case *t)
{
    case_attr_int(&c->c, "group", t->group);
    case_attr_ints(&c->c, "strides", t->stride, 2);
    case_attr_ints(&c->c, "dilations", t->dilation, 2);
    case_attr_ints(&c->c, "pads", t->pads, 4);
}

static void image(int_case *c, const conv_case *t, pgy_dtype dtype)
{
    int_case_input(c, dtype, false, 4, (const int64_t[]){t->batch, t->in, t->size[0], t->size[1]});
}

static void kernel_of(int_case *c, const conv_case *t, pgy_dtype dtype)
{
    int_case_input(c, dtype, true, 4,
                   (const int64_t[]){t->out, t->in / t->group, t->kernel[0], t->kernel[1]});
}

/* scales: of the weights; 0 zero points of the weights. */
static void run_qlinear(const conv_case *t, pgy_dtype x, pgy_dtype w, bool each, bool bias)
{
    int_case c;
    int_case_start(&c, "", "QLinearConv", 10);
    geometry(&c, t);
    image(&c, t, x);
    int_case_scalar(&c, PGY_F32, 0.02);
    int_case_scalar(&c, x, x == PGY_U8 ? 113 : -7);
    kernel_of(&c, t, w);
    int_case_scales(&c, each ? t->out : 1, 0.004);
    if (each && w == PGY_U8)
        int_case_input(&c, w, true, 1, &t->out);
    else
        int_case_scalar(&c, w, w == PGY_U8 ? 127 : 0);
    int_case_scalar(&c, PGY_F32, 0.31);
    int_case_scalar(&c, x, x == PGY_U8 ? 100 : 3);
    if (bias) {
        double values[256];
        for (int64_t i = 0; i < t->out; i++) values[i] = (double)(i * 7919 % 4001 - 2000);
        int_case_values(&c, PGY_I32, 1, &t->out, values);
    }
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_int_conv__quantised(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        for (int form = 0; form < 16; form += next_form(&CASES[i]))
            run_qlinear(&CASES[i], form & 1 ? PGY_I8 : PGY_U8, form & 2 ? PGY_I8 : PGY_U8, form & 4,
                        form & 8);
}

static void run_integer(const conv_case *t, pgy_dtype x, pgy_dtype w, bool x_zero, bool w_zero)
{
    int_case c;
    int_case_start(&c, "", "ConvInteger", 10);
    geometry(&c, t);
    image(&c, t, x);
    kernel_of(&c, t, w);
    int_case_input(&c, x, false, x_zero ? 0 : -1, NULL);
    if (w_zero) int_case_input(&c, w, true, 1, &t->out);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_int_conv__sums(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        for (int form = 0; form < 16; form += next_form(&CASES[i]))
            run_integer(&CASES[i], form & 1 ? PGY_I8 : PGY_U8, form & 2 ? PGY_I8 : PGY_U8, form & 4,
                        form & 8);
}

static void test_int_conv__one_axis(void **state)
{
    (void)state;
    int_case c;
    int_case_start(&c, "", "ConvInteger", 10);
    case_attr_ints(&c.c, "pads", (const int64_t[]){2, 1}, 2);
    int_case_input(&c, PGY_U8, false, 3, (const int64_t[]){2, 5, 29});
    int_case_input(&c, PGY_I8, true, 3, (const int64_t[]){6, 5, 4});
    int_case_scalar(&c, PGY_U8, 9);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

typedef struct volume_case {
    int64_t in, out, group, size[3], kernel[3], stride[3], dilation[3], pads[6];
} volume_case;

static const volume_case VOLUMES[] = {
    {5, 9, 1, {4, 6, 7}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}},
    {8, 6, 2, {5, 8, 9}, {2, 3, 3}, {2, 1, 2}, {1, 2, 1}, {0, 1, 1, 1, 0, 2}},
    {3, 16, 1, {3, 9, 60}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}},
    {6, 7, 1, {3, 5, 4}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {12, 40, 1, {4, 4, 4}, {4, 4, 4}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {5, 5, 5, {4, 6, 30}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}},
    {4, 8, 4, {7, 11, 12}, {3, 2, 5}, {2, 3, 2}, {2, 1, 1}, {2, 0, 2, 1, 1, 2}},
};

static void volume_start(int_case *c, const char *domain, const char *op, int64_t opset,
                         const volume_case *t)
{
    int_case_start(c, domain, op, opset);
    case_attr_int(&c->c, "group", t->group);
    case_attr_ints(&c->c, "strides", t->stride, 3);
    case_attr_ints(&c->c, "dilations", t->dilation, 3);
    case_attr_ints(&c->c, "pads", t->pads, 6);
}

static void volume_operands(int_case *c, const volume_case *t, pgy_dtype x, pgy_dtype w)
{
    const bool integer = strcmp(c->c.node.def->name, "ConvInteger") == 0;
    const int64_t *s = t->size, *k = t->kernel;
    int_case_input(c, x, false, 5, (const int64_t[]){2, t->in, s[0], s[1], s[2]});
    if (!integer) {
        int_case_scalar(c, PGY_F32, 0.02);
        int_case_scalar(c, x, x == PGY_U8 ? 113 : -7);
    }
    int_case_input(c, w, true, 5, (const int64_t[]){t->out, t->in / t->group, k[0], k[1], k[2]});
}

static void test_int_conv__three_axes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof VOLUMES / sizeof *VOLUMES; i++)
        for (int form = 0; form < 8; form++) {
            const volume_case *t = &VOLUMES[i];
            const pgy_dtype x = form & 1 ? PGY_I8 : PGY_U8, w = form & 2 ? PGY_I8 : PGY_U8;
            int_case c;
            if (form & 4) {
                volume_start(&c, "", "ConvInteger", 10, t);
                volume_operands(&c, t, x, w);
                int_case_input(&c, x, false, 0, NULL);
                int_case_input(&c, w, true, 1, &t->out);
            } else {
                volume_start(&c, i & 1 ? "com.microsoft" : "", "QLinearConv", i & 1 ? 1 : 10, t);
                volume_operands(&c, t, x, w);
                int_case_scales(&c, t->out, 0.004);
                int_case_input(&c, w, true, 1, &t->out);
                int_case_scalar(&c, PGY_F32, 0.31);
                int_case_scalar(&c, x, x == PGY_U8 ? 100 : 3);
            }
            assert_true(int_case_run(&c, 1, 0) > 0);
            int_case_end(&c);
        }
}

/* Other bytes, which are added to those of a convolution of `axes` axes with the channels last. */
static void last_sum(int_case *c, const volume_case *t, size_t axes, pgy_dtype y)
{
    int64_t shape[5] = {2};
    for (size_t d = 3 - axes; d < 3; d++) {
        const int64_t reach = t->dilation[d] * (t->kernel[d] - 1) + 1;
        shape[1 + d - (3 - axes)] =
            (t->size[d] + t->pads[d] + t->pads[3 + d] - reach) / t->stride[d] + 1;
    }
    shape[1 + axes] = t->out;
    int_case_input(c, y, false, (int32_t)axes + 2, shape);
    int_case_scalar(c, PGY_F32, 0.237);
    int_case_scalar(c, y, y == PGY_U8 ? 131 : -11);
    int_case_scalar(c, PGY_F32, 0.413);
    int_case_scalar(c, y, y == PGY_U8 ? 90 : 17);
}

/* The channels last: X is [2, size..., in], of two or three axes. */
static void run_last(const volume_case *t, size_t axes, int form, bool sum)
{
    const pgy_dtype x = form & 1 ? PGY_I8 : PGY_U8, w = form & 2 ? PGY_U8 : PGY_I8;
    const pgy_dtype y = form & 4 ? PGY_I8 : PGY_U8;
    const size_t skip = 3 - axes;
    int64_t shape[5] = {2}, weights[5] = {t->out, t->in / t->group};
    int64_t pads[6];
    int_case c;
    for (size_t d = 0; d < axes; d++) {
        shape[1 + d] = t->size[skip + d];
        weights[2 + d] = t->kernel[skip + d];
        pads[d] = t->pads[skip + d];
        pads[axes + d] = t->pads[3 + skip + d];
    }
    shape[1 + axes] = t->in;
    int_case_start(&c, sum ? "pgy" : "com.microsoft", "QLinearConv", 1);
    case_attr_int(&c.c, "channels_last", 1);
    case_attr_int(&c.c, "group", t->group);
    case_attr_ints(&c.c, "strides", t->stride + skip, axes);
    case_attr_ints(&c.c, "dilations", t->dilation + skip, axes);
    case_attr_ints(&c.c, "pads", pads, 2 * axes);
    int_case_input(&c, x, false, (int32_t)axes + 2, shape);
    int_case_scalar(&c, PGY_F32, 0.02);
    int_case_scalar(&c, x, x == PGY_U8 ? 113 : -7);
    int_case_input(&c, w, true, (int32_t)axes + 2, weights);
    int_case_scales(&c, form & 8 ? t->out : 1, 0.004);
    if (form & 8 && w == PGY_U8)
        int_case_input(&c, w, true, 1, &t->out);
    else
        int_case_scalar(&c, w, w == PGY_U8 ? 128 : 0);
    int_case_scalar(&c, PGY_F32, 0.31);
    int_case_scalar(&c, y, y == PGY_U8 ? 100 : 3);
    if (form & 16 || sum) {
        double values[256];
        for (int64_t i = 0; i < t->out; i++) values[i] = (double)(i * 7919 % 4001 - 2000);
        int_case_values(&c, PGY_I32, 1, &t->out, values);
    }
    if (sum) last_sum(&c, t, axes, y);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static const volume_case LAST[] = {
    {64, 50, 1, {1, 9, 9}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {8, 100, 1, {1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}},
    {8, 17, 1, {1, 11, 13}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {3, 16, 1, {1, 12, 150}, {1, 5, 5}, {1, 2, 2}, {1, 1, 1}, {0, 2, 2, 0, 2, 2}},
    {12, 18, 3, {1, 8, 9}, {1, 3, 2}, {1, 1, 2}, {1, 2, 1}, {0, 2, 0, 0, 1, 1}},
    {20, 8, 1, {1, 5, 6}, {1, 1, 1}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {6, 6, 6, {1, 10, 37}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}},
    {70, 70, 70, {1, 6, 5}, {1, 3, 5}, {1, 2, 1}, {1, 1, 2}, {0, 1, 4, 0, 2, 4}},
    {130, 130, 130, {1, 4, 4}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {5, 10, 5, {1, 9, 8}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}},
    {96, 96, 96, {1, 4, 5}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}},
    {4, 4, 4, {1, 3, 3}, {1, 7, 7}, {1, 1, 1}, {1, 1, 1}, {0, 3, 3, 0, 3, 3}},
    {32, 32, 32, {1, 7, 12}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}},
    {32, 32, 32, {1, 9, 17}, {1, 3, 3}, {1, 1, 1}, {1, 2, 2}, {0, 2, 1, 0, 2, 4}},
    {32, 32, 32, {1, 6, 11}, {1, 2, 2}, {1, 2, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {32, 32, 32, {1, 6, 11}, {1, 5, 2}, {1, 1, 1}, {1, 1, 1}, {0, 2, 0, 0, 2, 1}},
};

static void test_int_conv__channels_last(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof LAST / sizeof *LAST; i++)
        for (int form = 0; form < 32; form += LAST_STEP) run_last(&LAST[i], 2, form, false);
    for (size_t i = 0; i < sizeof VOLUMES / sizeof *VOLUMES; i++)
        for (int form = 0; form < 32; form += 7) run_last(&VOLUMES[i], 3, form, false);
    for (int form = 0; form < 32; form += 5) run_last(&LAST[3], 1, form, false);
}

/* Tiles of seven rows, panels of one, two and three vectors; rows of taps that are joined, because
 * they have few channels. */
static const volume_case SUMS[] = {
    {64, 50, 1, {1, 9, 9}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {8, 100, 1, {1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}},
    {12, 48, 1, {1, 3, 14}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}},
    {12, 24, 1, {1, 9, 9}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {3, 16, 1, {1, 12, 150}, {1, 5, 5}, {1, 2, 2}, {1, 1, 1}, {0, 2, 2, 0, 2, 2}},
    {1, 80, 1, {1, 7, 9}, {1, 7, 7}, {1, 1, 1}, {1, 2, 1}, {0, 6, 3, 0, 6, 3}},
    {6, 33, 1, {1, 3, 21}, {1, 2, 4}, {1, 1, 3}, {1, 1, 1}, {0, 0, 0, 0, 1, 2}},
};

static void test_int_conv__channels_last_with_a_sum(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof SUMS / sizeof *SUMS; i++)
        for (int form = 0; form < 16; form += 3) {
            run_last(&SUMS[i], 2, form, true);
            run_last(&SUMS[i], 2, form, false);
        }
}

/* Every product lies in the middle between two results. */
static void test_int_conv__halves_go_to_even(void **state)
{
    (void)state;
    int_case c;
    int_case_start(&c, "", "QLinearConv", 10);
    int_case_input(&c, PGY_U8, false, 4, (const int64_t[]){1, 1, 16, 16});
    int_case_scalar(&c, PGY_F32, 0.5);
    int_case_scalar(&c, PGY_U8, 128);
    int_case_values(&c, PGY_I8, 4, (const int64_t[]){1, 1, 1, 1}, (const double[]){1});
    int_case_scalar(&c, PGY_F32, 1);
    int_case_scalar(&c, PGY_I8, 0);
    int_case_scalar(&c, PGY_F32, 1);
    int_case_scalar(&c, PGY_U8, 128);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

/* The same with the channels last and whole tiles of output channels. */
static void test_int_conv__halves_of_channels_last_go_to_even(void **state)
{
    (void)state;
    double ones[100];
    int_case c;
    for (size_t i = 0; i < 100; i++) ones[i] = i % 2 ? 1 : -1;
    int_case_start(&c, "com.microsoft", "QLinearConv", 1);
    case_attr_int(&c.c, "channels_last", 1);
    int_case_input(&c, PGY_U8, false, 4, (const int64_t[]){1, 16, 16, 1});
    int_case_scalar(&c, PGY_F32, 0.5);
    int_case_scalar(&c, PGY_U8, 128);
    int_case_values(&c, PGY_I8, 4, (const int64_t[]){100, 1, 1, 1}, ones);
    int_case_scalar(&c, PGY_F32, 1);
    int_case_scalar(&c, PGY_I8, 0);
    int_case_scalar(&c, PGY_F32, 1);
    int_case_scalar(&c, PGY_U8, 128);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static const conv_case DEPTHWISE[] = {
    {1, 6, 6, 6, {10, 37}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 5, 10, 5, {11, 12}, {3, 5}, {2, 3}, {1, 2}, {1, 4, 2, 0}},
    {1, 4, 4, 4, {20, 120}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
    {1, 4, 4, 4, {15, 131}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {1, 3, 3, 3, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {1, 3, 3, 3, {9, 50}, {2, 9}, {1, 4}, {3, 1}, {3, 0, 1, 9}},
    {1, 3, 3, 3, {9, 50}, {1, 4}, {1, 5}, {1, 3}, {0, 2, 0, 2}},
};

static void test_int_conv__depthwise(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof DEPTHWISE / sizeof *DEPTHWISE; i++)
        for (int form = 0; form < 8; form += next_form(&DEPTHWISE[i]))
            run_qlinear(&DEPTHWISE[i], form & 1 ? PGY_I8 : PGY_U8, PGY_I8, form & 2, form & 4);
    for (size_t i = 0; i < sizeof DEPTHWISE / sizeof *DEPTHWISE; i++)
        for (int form = 0; form < 8; form += next_form(&DEPTHWISE[i]))
            run_integer(&DEPTHWISE[i], form & 1 ? PGY_I8 : PGY_U8, PGY_U8, form & 2, form & 4);
}

static void run_floats(const conv_case *t, int form)
{
    int_case c;
    const pgy_dtype x = form & 1 ? PGY_I8 : PGY_U8;
    int64_t y[4] = {t->batch, t->out};
    for (int d = 0; d < 2; d++)
        y[2 + d] =
            (t->size[d] + t->pads[d] + t->pads[2 + d] - t->dilation[d] * (t->kernel[d] - 1) - 1) /
                t->stride[d] +
            1;
    int_case_start(&c, "pgy", "QuantizedConv", 1);
    geometry(&c, t);
    if (form & 8) case_attr_text(&c.c, "activation", "Relu");
    image(&c, t, x);
    int_case_scalar(&c, PGY_F32, 0.02);
    int_case_scalar(&c, x, 13);
    kernel_of(&c, t, PGY_I8);
    int_case_scales(&c, t->out, 0.004);
    int_case_scalar(&c, PGY_I8, form & 16 ? 5 : 0);
    int_case_input(&c, PGY_F32, false, form & 2 ? 1 : -1, &t->out);
    int_case_input(&c, PGY_F32, false, form & 4 ? 4 : -1, y);
    assert_true(int_case_run(&c, 1, 1e-6) > 0);
    int_case_end(&c);
}

static void test_int_conv__floats(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        for (int form = 0; form < 32; form += next_form(&CASES[i])) run_floats(&CASES[i], form);
}
