/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that work element by element, quantisation, shapes, and what is made from nothing: each
 * run by the reference and by the engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "harness/network_case.h"

static const float SIX[] = {-2, -0.5f, 0, 0.5f, 1, 3};

/* ---- Activations ---------------------------------------------------------------------------- */

static double activate(pgy_activation_type type, double x, double a, double b)
{
    switch (type) {
    case PGY_ACTIVATION_RELU: return x > 0 ? x : 0;
    case PGY_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
    case PGY_ACTIVATION_TANH: return tanh(x);
    case PGY_ACTIVATION_LEAKY_RELU: return x >= 0 ? x : a * x;
    case PGY_ACTIVATION_ELU: return x >= 0 ? x : a * (exp(x) - 1);
    case PGY_ACTIVATION_SELU: return b * (x > 0 ? x : a * (exp(x) - 1));
    case PGY_ACTIVATION_SOFTSIGN: return x / (1 + fabs(x));
    case PGY_ACTIVATION_SOFTPLUS: return a * log(exp(b * x) + 1);
    case PGY_ACTIVATION_CLIP: return fmax(a, fmin(b, x));
    case PGY_ACTIVATION_HARD_SIGMOID: return fmax(0, fmin(1, a * x + b));
    case PGY_ACTIVATION_SCALED_TANH: return a * tanh(b * x);
    case PGY_ACTIVATION_THRESHOLDED_RELU: return x > a ? x : 0;
    case PGY_ACTIVATION_GELU_ERF: return x / 2 * (1 + erf(x / sqrt(2)));
    case PGY_ACTIVATION_GELU_TANH:
        return x / 2 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    }
    return NAN;
}

static void test_network_plain__all_activations(void **state)
{
    (void)state;
    for (int type = 0; type <= PGY_ACTIVATION_GELU_TANH; type++) {
        network_case c = net_start();
        pgy_layer *layer = NULL;
        pgy_value *x = net_floats(&c, "x", "2?, 3", SIX);
        double wanted[6];
        for (int i = 0; i < 6; i++)
            wanted[i] = activate((pgy_activation_type)type, (double)SIX[i], 0.6, 0.9);
        net_ok(&c, pgy_network_add_activation(&layer, c.net, x, (pgy_activation_type)type, 0.6, 0.9,
                                              &c.err));
        net_expect(&c, layer->outputs[0], "2, 3", wanted);
        net_finish(&c);
    }
}

/* ---- Operations ----------------------------------------------------------------------------- */

static double recip(double x)
{
    return 1 / x;
}
static double negate(double x)
{
    return -x;
}
static double sign(double x)
{
    return (x > 0) - (x < 0);
}

static void test_network_plain__all_unary_operations_of_numbers(void **state)
{
    (void)state;
    static double (*const RUN[])(double) = {exp,   log,  sqrt,  recip, fabs, negate, sin,   cos,
                                            tan,   sinh, cosh,  asin,  acos, atan,   asinh, acosh,
                                            atanh, ceil, floor, erf,   NULL, sign,   rint};
    static const float FROM[4] = {0.25f, 0.5f, 0.75f, 0.125f}, OVER_1[4] = {1.5f, 2, 2.5f, 3};
    for (int op = 0; op <= PGY_UNARY_ROUND; op++) {
        const float *from = op == PGY_UNARY_ACOSH || op == PGY_UNARY_ROUND ? OVER_1 : FROM;
        if (op == PGY_UNARY_NOT) continue;
        network_case c = net_start();
        pgy_layer *layer = NULL;
        double wanted[4];
        for (int i = 0; i < 4; i++) wanted[i] = RUN[op]((double)from[i]);
        pgy_value *x = net_floats(&c, "x", "4", from);
        net_ok(&c, pgy_network_add_unary(&layer, c.net, x, (pgy_unary_operation)op, &c.err));
        net_expect(&c, layer->outputs[0], "4", wanted);
        net_finish(&c);
    }
}

static void test_network_plain__unary_operations_that_ask(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *not = NULL, *inf = NULL, *nan = NULL;
    const float special[] = {1, INFINITY, NAN, -INFINITY};
    const bool bits[] = {true, false};
    pgy_value *x = net_floats(&c, "x", "4", special), *b = net_bools(&c, "b", "2", bits);
    net_ok(&c, pgy_network_add_unary(&not, c.net, b, PGY_UNARY_NOT, &c.err));
    net_ok(&c, pgy_network_add_unary(&inf, c.net, x, PGY_UNARY_ISINF, &c.err));
    net_ok(&c, pgy_network_add_unary(&nan, c.net, x, PGY_UNARY_ISNAN, &c.err));
    net_expect(&c, not ->outputs[0], "2", (double[]){0, 1});
    net_expect(&c, inf->outputs[0], "4", (double[]){0, 1, 0, 1});
    net_expect(&c, nan->outputs[0], "4", (double[]){0, 0, 1, 0});
    net_finish(&c);
}

static void test_network_plain__elementwise_of_floats(void **state)
{
    (void)state;
    static const float A[] = {3, -3, 7, 0.5f}, B[] = {2, 2};
    static const double WANTED[][4] = {
        [PGY_ELEMENTWISE_SUM] = {5, -1, 9, 2.5},  [PGY_ELEMENTWISE_PROD] = {6, -6, 14, 1},
        [PGY_ELEMENTWISE_MAX] = {3, 2, 7, 2},     [PGY_ELEMENTWISE_MIN] = {2, -3, 2, 0.5},
        [PGY_ELEMENTWISE_SUB] = {1, -5, 5, -1.5}, [PGY_ELEMENTWISE_DIV] = {1.5, -1.5, 3.5, 0.25},
        [PGY_ELEMENTWISE_POW] = {9, 9, 49, 0.25}, [PGY_ELEMENTWISE_FLOOR_DIV] = {1, -2, 3, 0},
        [PGY_ELEMENTWISE_EQUAL] = {0, 0, 0, 0},   [PGY_ELEMENTWISE_GREATER] = {1, 0, 1, 0},
        [PGY_ELEMENTWISE_LESS] = {0, 1, 0, 1},
    };
    for (int op = 0; op <= PGY_ELEMENTWISE_LESS; op++) {
        if (op >= PGY_ELEMENTWISE_AND && op <= PGY_ELEMENTWISE_XOR) continue;
        network_case c = net_start();
        pgy_layer *layer = NULL;
        pgy_value *a = net_floats(&c, "a", "2, 2", A), *b = net_floats(&c, "b", "1, 2", B);
        net_ok(&c, pgy_network_add_elementwise(&layer, c.net, a, b, (pgy_elementwise_operation)op,
                                               &c.err));
        net_expect(&c, layer->outputs[0], "2, 2", WANTED[op]);
        net_finish(&c);
    }
}

static void test_network_plain__elementwise_of_integers_and_bools(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *div = NULL, *floor_div = NULL, *and = NULL, * or = NULL, *xor = NULL;
    const int64_t x[] = {7, -7, 7, -7}, y[] = {2, 2, -2, -2};
    const bool p[] = {false, false, true, true}, q[] = {false, true, false, true};
    pgy_value *a = net_ints(&c, "a", "4", x), *b = net_ints(&c, "b", "4", y);
    pgy_value *s = net_bools(&c, "s", "4", p), *t = net_bools(&c, "t", "4", q);
    net_ok(&c, pgy_network_add_elementwise(&div, c.net, a, b, PGY_ELEMENTWISE_DIV, &c.err));
    net_ok(&c,
           pgy_network_add_elementwise(&floor_div, c.net, a, b, PGY_ELEMENTWISE_FLOOR_DIV, &c.err));
    net_ok(&c, pgy_network_add_elementwise(&and, c.net, s, t, PGY_ELEMENTWISE_AND, &c.err));
    net_ok(&c, pgy_network_add_elementwise(& or, c.net, s, t, PGY_ELEMENTWISE_OR, &c.err));
    net_ok(&c, pgy_network_add_elementwise(&xor, c.net, s, t, PGY_ELEMENTWISE_XOR, &c.err));
    net_expect(&c, div->outputs[0], "4", (double[]){3, -3, -3, 3});
    net_expect(&c, floor_div->outputs[0], "4", (double[]){3, -4, -4, 3});
    net_expect(&c, and->outputs[0], "4", (double[]){0, 0, 0, 1});
    net_expect(&c, or->outputs[0], "4", (double[]){0, 1, 1, 1});
    net_expect(&c, xor->outputs[0], "4",
               (double[]){
                   0, 1, 1, 0});
    net_finish(&c);
}

static void test_network_plain__cast_shape_constant_select_prelu(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *cast = NULL, *shape = NULL, *select = NULL, *prelu = NULL;
    const bool bits[] = {true, false, true};
    const float slopes[] = {2, 4, 8};
    pgy_value *x = net_floats(&c, "x", "2?, 3", SIX), *b = net_bools(&c, "b", "1, 3", bits);
    pgy_value *w = net_const_floats(&c, "1, 3", slopes);
    net_ok(&c, pgy_network_add_cast(&cast, c.net, x, PGY_I32, &c.err));
    net_ok(&c, pgy_network_add_shape(&shape, c.net, x, &c.err));
    net_ok(&c, pgy_network_add_select(&select, c.net, b, x, w, &c.err));
    net_ok(&c, pgy_network_add_parametric_relu(&prelu, c.net, x, w, &c.err));
    assert_int_equal(cast->outputs[0]->dtype, PGY_I32);
    assert_int_equal(shape->outputs[0]->dtype, PGY_I64);
    net_expect(&c, cast->outputs[0], "2, 3", (double[]){-2, 0, 0, 0, 1, 3});
    net_expect(&c, shape->outputs[0], "2", (double[]){2, 3});
    net_expect(&c, select->outputs[0], "2, 3", (double[]){-2, 4, 0, 0.5, 4, 3});
    net_expect(&c, prelu->outputs[0], "2, 3", (double[]){-4, -2, 0, 0.5, 1, 3});
    net_finish(&c);
}

static void test_network_plain__scale(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *uniform = NULL, *channel = NULL, *each = NULL, *none = NULL;
    const float one[] = {2}, two[] = {1, 10}, four[] = {1, 2, 3, 4}, half[] = {2};
    const float data[] = {1, 2, 3, 4};
    pgy_value *x = net_floats(&c, "x", "1, 2, 2", data);
    const pgy_scale u = {.mode = PGY_SCALE_UNIFORM,
                         .scale = net_const_floats(&c, "1", one),
                         .shift = net_const_floats(&c, "1", one),
                         .power = net_const_floats(&c, "1", half)};
    const pgy_scale p = {.mode = PGY_SCALE_CHANNEL, .scale = net_const_floats(&c, "2", two)};
    const pgy_scale e = {.mode = PGY_SCALE_ELEMENTWISE,
                         .shift = net_const_floats(&c, "2, 2", four)};
    const pgy_scale nothing = {.mode = PGY_SCALE_UNIFORM};
    net_ok(&c, pgy_network_add_scale(&uniform, c.net, x, &u, &c.err));
    net_ok(&c, pgy_network_add_scale(&channel, c.net, x, &p, &c.err));
    net_ok(&c, pgy_network_add_scale(&each, c.net, x, &e, &c.err));
    net_refused(&c, pgy_network_add_scale(&none, c.net, x, &nothing, &c.err), PGY_E_ARGUMENT,
                "all missing");
    assert_int_equal(uniform->type, PGY_LAYER_SCALE);
    assert_true(uniform->node_count >= 3); /* one layer, whatever it is made of */
    net_expect(&c, uniform->outputs[0], "1, 2, 2", (double[]){16, 36, 64, 100});
    net_expect(&c, channel->outputs[0], "1, 2, 2", (double[]){1, 2, 30, 40});
    net_expect(&c, each->outputs[0], "1, 2, 2", (double[]){2, 4, 6, 8});
    net_finish(&c);
}

/* ---- Quantisation --------------------------------------------------------------------------- */

static void test_network_plain__quantize_and_dequantize(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *q = NULL, *d = NULL, *by_channel = NULL, *bytes = NULL;
    const float data[] = {0.24f, -0.26f, 1, 100};
    pgy_value *x = net_floats(&c, "x", "2, 2", data);
    const pgy_quantization whole = {.scale = net_const_floats(&c, "", (float[]){0.5f})};
    const pgy_quantization rows = {.scale = net_const_floats(&c, "2", (float[]){0.5f, 4}),
                                   .axis_is_first = true};
    const pgy_quantization offset = {
        .scale = net_const_floats(&c, "", (float[]){0.5f}),
        .zero_point = net_const(&c, PGY_U8, "", (double[]){128}),
    };
    net_ok(&c, pgy_network_add_quantize(&q, c.net, x, &whole, &c.err));
    assert_int_equal(q->outputs[0]->dtype, PGY_I8);
    net_ok(&c, pgy_network_add_dequantize(&d, c.net, q->outputs[0], &whole, &c.err));
    net_ok(&c, pgy_network_add_quantize(&by_channel, c.net, x, &rows, &c.err));
    net_ok(&c, pgy_network_add_quantize(&bytes, c.net, x, &offset, &c.err));
    assert_int_equal(bytes->outputs[0]->dtype, PGY_U8);
    net_expect(&c, q->outputs[0], "2, 2", (double[]){0, -1, 2, 127});
    net_expect(&c, d->outputs[0], "2, 2", (double[]){0, -0.5, 1, 63.5});
    net_expect(&c, by_channel->outputs[0], "2, 2", (double[]){0, -1, 0, 25});
    net_expect(&c, bytes->outputs[0], "2, 2", (double[]){128, 127, 130, 255});
    net_finish(&c);
}

static void test_network_plain__dynamic_quantize(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *q = NULL, *none = NULL;
    float data[32];
    double wanted[32];
    for (int i = 0; i < 32; i++) {
        data[i] = (float)(i + 1) * 28; /* up to 896: the scale is 2, biased 128 */
        wanted[i] = 0;
    }
    pgy_value *x = net_floats(&c, "x", "1, 32", data);
    net_refused(&c, pgy_network_add_dynamic_quantize(&none, c.net, x, -1, 32, PGY_I8, NULL, &c.err),
                PGY_E_TYPE, "the quantized type is int8");
    net_ok(&c, pgy_network_add_dynamic_quantize(&q, c.net, x, -1, 32, PGY_F8E4M3FN, NULL, &c.err));
    assert_int_equal(q->output_count, 2);
    assert_int_equal(q->outputs[0]->dtype, PGY_F8E4M3FN);
    net_expect(&c, q->outputs[1], "1, 1", (double[]){128});
    pgy_layer *floats = NULL;
    net_ok(&c, pgy_network_add_cast(&floats, c.net, q->outputs[0], PGY_F32, &c.err));
    /* halves of the numbers, with three bits behind the first */
    for (int i = 0; i < 32; i++) {
        const double half = (double)data[i] / 2, unit = exp2(floor(log2(half)) - 3);
        wanted[i] = rint(half / unit) * unit;
    }
    net_expect(&c, floats->outputs[0], "1, 32", wanted);
    net_finish(&c);
}

static void test_network_plain__dynamic_quantize_to_four_bits(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *q = NULL, *floats = NULL, *none = NULL;
    /* All that four bits hold, times 4: the scale of the block is 24 / 6, over 2 for all. */
    const float data[16] = {0, 2, 4, 6, 8, 12, 16, 24, 0, -2, -4, -6, -8, -12, -16, -24};
    double wanted[16];
    for (int i = 0; i < 16; i++) wanted[i] = (double)data[i] / 4;
    pgy_value *x = net_floats(&c, "x", "1, 16", data);
    pgy_value *all = net_const_floats(&c, "", (float[]){2});
    net_refused(&c,
                pgy_network_add_dynamic_quantize(&none, c.net, x, 1, 16, PGY_F4E2M1, NULL, &c.err),
                PGY_E_ARGUMENT, "needs a double scale");
    net_ok(&c, pgy_network_add_dynamic_quantize(&q, c.net, x, 1, 16, PGY_F4E2M1, all, &c.err));
    assert_int_equal(q->outputs[0]->dtype, PGY_F4E2M1);
    net_ok(&c, pgy_network_add_cast(&floats, c.net, q->outputs[0], PGY_F32, &c.err));
    net_expect(&c, floats->outputs[0], "1, 16", wanted);
    net_expect(&c, q->outputs[1], "1, 1", (double[]){2});
    net_finish(&c);
}

/* Blocks of two along the last axis; float16 comes back. */
static void test_network_plain__quantize_blocks(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *q = NULL, *d = NULL;
    const float data[] = {1, 2, 30, 40};
    pgy_value *x = net_floats(&c, "x", "1, 4", data);
    const pgy_quantization by_block = {
        .scale = net_const_floats(&c, "1, 2", (float[]){1, 10}), .axis = 1, .block_size = 2};
    pgy_quantization back = by_block;
    back.dtype = PGY_F16;
    net_ok(&c, pgy_network_add_quantize(&q, c.net, x, &by_block, &c.err));
    net_ok(&c, pgy_network_add_dequantize(&d, c.net, q->outputs[0], &back, &c.err));
    assert_int_equal(d->outputs[0]->dtype, PGY_F16);
    net_expect(&c, q->outputs[0], "1, 4", (double[]){1, 2, 3, 4});
    net_expect(&c, d->outputs[0], "1, 4", (double[]){1, 2, 30, 40});
    net_finish(&c);
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static void test_network_plain__shuffle(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *all = NULL, *zero = NULL, *at_run_time = NULL, *nothing = NULL, *none = NULL;
    const int32_t swap[] = {1, 0}, bad[] = {0, 0};
    const int64_t dims[] = {1, -1, 2}, keep[] = {0, 3};
    const int32_t last[] = {2, 1, 0};
    pgy_value *x = net_floats(&c, "x", "2, 3", SIX);
    const pgy_shuffle p = {
        .first_transpose = swap, .reshape = dims, .reshape_rank = 3, .second_transpose = last};
    const pgy_shuffle q = {.reshape = keep, .reshape_rank = 2};
    const pgy_shuffle r = {.reshape_to = net_const_ints(&c, "1", (int64_t[]){6})};
    const pgy_shuffle wrong = {.first_transpose = bad};
    const pgy_shuffle empty = {0};
    net_ok(&c, pgy_network_add_shuffle(&all, c.net, x, &p, &c.err));
    net_ok(&c, pgy_network_add_shuffle(&zero, c.net, x, &q, &c.err));
    net_ok(&c, pgy_network_add_shuffle(&at_run_time, c.net, x, &r, &c.err));
    net_ok(&c, pgy_network_add_shuffle(&nothing, c.net, x, &empty, &c.err));
    net_refused(&c, pgy_network_add_shuffle(&none, c.net, x, &wrong, &c.err), PGY_E_SHAPE,
                "each of the 2 axes once");
    /* x' = -2 .5 | -.5 1 | 0 3, as [1, 3, 2], turned around */
    net_expect(&c, all->outputs[0], "2, 3, 1", (double[]){-2, -0.5, 0, 0.5, 1, 3});
    net_expect(&c, zero->outputs[0], "2, 3", (double[]){-2, -0.5, 0, 0.5, 1, 3});
    net_expect(&c, at_run_time->outputs[0], "6", (double[]){-2, -0.5, 0, 0.5, 1, 3});
    net_expect(&c, nothing->outputs[0], "2, 3", (double[]){-2, -0.5, 0, 0.5, 1, 3});
    net_finish(&c);
}

static void test_network_plain__squeeze_unsqueeze_concatenate(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *wide = NULL, *narrow = NULL, *both = NULL, *none = NULL;
    const int64_t axes[] = {0, 3}, front[] = {0}, second[] = {1};
    pgy_value *x = net_floats(&c, "x", "2, 3", SIX);
    net_ok(&c, pgy_network_add_unsqueeze(&wide, c.net, x, 2, axes, &c.err));
    net_ok(&c, pgy_network_add_squeeze(&narrow, c.net, wide->outputs[0], 1, front, &c.err));
    net_refused(&c, pgy_network_add_squeeze(&none, c.net, x, 1, second, &c.err), PGY_E_SHAPE,
                "(SQUEEZE)");
    pgy_value *parts[] = {x, x};
    net_ok(&c, pgy_network_add_concatenation(&both, c.net, parts, 2, 1, &c.err));
    net_expect(&c, wide->outputs[0], "1, 2, 3, 1", (double[]){-2, -0.5, 0, 0.5, 1, 3});
    net_expect(&c, narrow->outputs[0], "2, 3, 1", (double[]){-2, -0.5, 0, 0.5, 1, 3});
    net_expect(&c, both->outputs[0], "2, 6",
               (double[]){-2, -0.5, 0, -2, -0.5, 0, 0.5, 1, 3, 0.5, 1, 3});
    net_finish(&c);
}

static pgy_layer *slice(network_case *c, pgy_value *x, const pgy_slice *p)
{
    pgy_layer *layer = NULL;
    net_ok(c, pgy_network_add_slice(&layer, c->net, x, p, &c->err));
    return layer;
}

static void test_network_plain__slices_in_all_modes(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *none = NULL;
    const float four[] = {10, 20, 30, 40};
    pgy_value *x = net_floats(&c, "x", "4?", four);
    const int64_t start[] = {-2}, size[] = {8}, three[] = {3}, back[] = {-1}, one[] = {1},
                  two[] = {2};
    const pgy_slice wrap = {.start = start, .size = size, .mode = PGY_SAMPLE_WRAP};
    const pgy_slice clamp = {.start = start, .size = size, .mode = PGY_SAMPLE_CLAMP};
    const pgy_slice fill = {.start = start,
                            .size = size,
                            .mode = PGY_SAMPLE_FILL,
                            .fill = net_const_floats(&c, "", (float[]){7})};
    const pgy_slice reflect = {.start = start, .size = size, .mode = PGY_SAMPLE_REFLECT};
    const pgy_slice backwards = {.start = three, .size = three, .stride = back};
    const pgy_slice strided = {.start = one, .size = two, .stride = two};
    const pgy_slice computed = {.start_at = net_ints(&c, "start", "1", one),
                                .size_at = net_ints(&c, "size", "1", two),
                                .stride_at = net_const_ints(&c, "1", two)};
    net_expect(&c, slice(&c, x, &wrap)->outputs[0], "8",
               (double[]){30, 40, 10, 20, 30, 40, 10, 20});
    net_expect(&c, slice(&c, x, &clamp)->outputs[0], "8",
               (double[]){10, 10, 10, 20, 30, 40, 40, 40});
    net_expect(&c, slice(&c, x, &fill)->outputs[0], "8", (double[]){7, 7, 10, 20, 30, 40, 7, 7});
    net_expect(&c, slice(&c, x, &reflect)->outputs[0], "8",
               (double[]){30, 20, 10, 20, 30, 40, 30, 20});
    net_expect(&c, slice(&c, x, &backwards)->outputs[0], "3", (double[]){40, 30, 20});
    net_expect(&c, slice(&c, x, &strided)->outputs[0], "2", (double[]){20, 40});
    net_expect(&c, slice(&c, x, &computed)->outputs[0], "2", (double[]){20, 40});
    pgy_value *fixed = net_const_floats(&c, "4", four);
    const pgy_slice beyond = {.start = two, .size = three};
    net_refused(&c, pgy_network_add_slice(&none, c.net, fixed, &beyond, &c.err), PGY_E_SHAPE,
                "the slice of axis 0 goes from 2 to 4, outside of its 4 elements");
    net_finish(&c);
}

static void test_network_plain__slices_of_some_axes(void **state)
{
    (void)state;
    network_case c = net_start();
    const int64_t axes[] = {-1}, start[] = {2}, size[] = {3}, back[] = {-1};
    pgy_value *x = net_floats(&c, "x", "2, 3", SIX);
    const pgy_slice turned = {
        .count = 1, .axes = axes, .start = start, .size = size, .stride = back};
    const pgy_slice around = {
        .count = 1, .axes = axes, .start = start, .size = size, .mode = PGY_SAMPLE_WRAP};
    net_expect(&c, slice(&c, x, &turned)->outputs[0], "2, 3", (double[]){0, -0.5, -2, 3, 1, 0.5});
    net_expect(&c, slice(&c, x, &around)->outputs[0], "2, 3", (double[]){0, -2, -0.5, 3, 0.5, 1});
    net_finish(&c);
}

static void test_network_plain__fill(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *lines = NULL, *at_run_time = NULL, *uniform = NULL, *normal = NULL, *most = NULL,
              *least = NULL;
    const int64_t dims[] = {2, 3}, many[] = {1000};
    const double beta[] = {10, 1}, high[] = {7};
    const pgy_fill p = {.rank = 2, .dims = dims, .alpha = 5, .beta = beta};
    const pgy_fill q = {.shape = net_ints(&c, "shape", "2", dims),
                        .dtype = PGY_I32,
                        .alpha_at = net_const(&c, PGY_I32, "", (double[]){1}),
                        .beta_at = net_const(&c, PGY_I32, "2", (double[]){0, 2})};
    const pgy_fill u = {.operation = PGY_FILL_RANDOM_UNIFORM,
                        .rank = 1,
                        .dims = many,
                        .alpha = 5,
                        .beta = high,
                        .has_seed = true,
                        .seed = 3};
    const pgy_fill n = {
        .operation = PGY_FILL_RANDOM_NORMAL, .rank = 1, .dims = many, .dtype = PGY_F64};
    net_ok(&c, pgy_network_add_fill(&lines, c.net, &p, &c.err));
    net_ok(&c, pgy_network_add_fill(&at_run_time, c.net, &q, &c.err));
    net_ok(&c, pgy_network_add_fill(&uniform, c.net, &u, &c.err));
    net_ok(&c, pgy_network_add_fill(&normal, c.net, &n, &c.err));
    assert_int_equal(normal->outputs[0]->dtype, PGY_F64);
    assert_int_equal(normal->outputs[0]->dims[0].value, 1000);
    net_ok(&c, pgy_network_add_reduce(&most, c.net, uniform->outputs[0], PGY_REDUCE_MAX, 1, false,
                                      &c.err));
    net_ok(&c, pgy_network_add_reduce(&least, c.net, uniform->outputs[0], PGY_REDUCE_MIN, 1, false,
                                      &c.err));
    net_expect(&c, lines->outputs[0], "2, 3", (double[]){5, 6, 7, 15, 16, 17});
    net_expect(&c, at_run_time->outputs[0], "2, 3", (double[]){1, 3, 5, 1, 3, 5});
    net_expect(&c, most->outputs[0], "", (double[]){7});
    net_expect(&c, least->outputs[0], "", (double[]){5});
    c.expected[2].tolerance = c.expected[3].tolerance = 0.01; /* a thousand come that near */
    net_finish(&c);
}
