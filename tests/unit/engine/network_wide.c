/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that look at many elements: windows, reductions, products, indices, sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "harness/network_case.h"

static const float SIX[] = {1, 2, 3, 4, 5, 6};
static const float NINE[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static const float ONES[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};

/* ---- Windows -------------------------------------------------------------------------------- */

static pgy_layer *convolve(network_case *c, pgy_value *x, const pgy_convolution *p)
{
    pgy_layer *layer = NULL;
    net_ok(c, pgy_network_add_convolution(&layer, c->net, x, p, &c->err));
    return layer;
}

static void test_network_wide__convolution_and_its_paddings(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_value *x = net_floats(&c, "x", "1, 1, 3, 3", NINE);
    pgy_value *k = net_const_floats(&c, "1, 1, 2, 2", ONES);
    const pgy_convolution plain = {.kernel = k, .bias = net_const_floats(&c, "1", (float[]){10})};
    const pgy_convolution uneven = {.kernel = k,
                                    .window = {.pre_padding = {1, 0}, .post_padding = {0, 1}}};
    const pgy_convolution down = {.kernel = k, .window = {.stride = {2, 2}}};
    const pgy_convolution up = {
        .kernel = k, .window = {.stride = {2, 2}, .padding_mode = PGY_PADDING_EXPLICIT_ROUND_UP}};
    const pgy_convolution upper = {
        .kernel = k, .window = {.stride = {2, 2}, .padding_mode = PGY_PADDING_SAME_UPPER}};
    const pgy_convolution lower = {
        .kernel = k, .window = {.stride = {2, 2}, .padding_mode = PGY_PADDING_SAME_LOWER}};
    const pgy_convolution dilated = {.kernel = k, .window = {.dilation = {2, 2}}};
    net_expect(&c, convolve(&c, x, &plain)->outputs[0], "1, 1, 2, 2", (double[]){22, 26, 34, 38});
    net_expect(&c, convolve(&c, x, &uneven)->outputs[0], "1, 1, 3, 3",
               (double[]){3, 5, 3, 12, 16, 9, 24, 28, 15});
    net_expect(&c, convolve(&c, x, &down)->outputs[0], "1, 1, 1, 1", (double[]){12});
    net_expect(&c, convolve(&c, x, &up)->outputs[0], "1, 1, 2, 2", (double[]){12, 9, 15, 9});
    net_expect(&c, convolve(&c, x, &upper)->outputs[0], "1, 1, 2, 2", (double[]){12, 9, 15, 9});
    net_expect(&c, convolve(&c, x, &lower)->outputs[0], "1, 1, 2, 2", (double[]){1, 5, 11, 28});
    net_expect(&c, convolve(&c, x, &dilated)->outputs[0], "1, 1, 1, 1", (double[]){20});
    net_finish(&c);
}

static void test_network_wide__groups_and_one_spatial_axis(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_value *x = net_floats(&c, "x", "1, 2, 3", SIX);
    const pgy_convolution p = {.kernel = net_const_floats(&c, "2, 1, 2", (float[]){1, 1, 1, -1}),
                               .groups = 2};
    net_expect(&c, convolve(&c, x, &p)->outputs[0], "1, 2, 2", (double[]){3, 5, -1, -1});
    net_finish(&c);
}

static void test_network_wide__wrong_windows(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *none = NULL;
    pgy_value *x = net_floats(&c, "x", "1, 2, 3", SIX), *flat = net_floats(&c, "flat", "6", SIX);
    pgy_value *k = net_const_floats(&c, "2, 1, 2", ONES);
    const pgy_convolution p = {.kernel = k}, missing = {0};
    const pgy_convolution minus = {.kernel = k, .groups = 2, .window = {.stride = {-1}}};
    const pgy_convolution both = {
        .kernel = k,
        .groups = 2,
        .window = {.pre_padding = {1}, .padding_mode = PGY_PADDING_SAME_UPPER}};
    net_refused(&c, pgy_network_add_convolution(&none, c.net, x, &p, &c.err), PGY_E_SHAPE,
                "(CONVOLUTION) of 'x' float32 [1, 2, 3]");
    net_refused(&c, pgy_network_add_convolution(&none, c.net, flat, &p, &c.err), PGY_E_SHAPE,
                "rank 1");
    net_refused(&c, pgy_network_add_convolution(&none, c.net, x, &missing, &c.err), PGY_E_ARGUMENT,
                "the kernel is missing");
    net_refused(&c, pgy_network_add_convolution(&none, c.net, x, &minus, &c.err), PGY_E_ARGUMENT,
                "is negative");
    net_refused(&c, pgy_network_add_convolution(&none, c.net, x, &both, &c.err), PGY_E_ARGUMENT,
                "SAME padding mode exclude each other");
    net_drop(&c);
}

static void test_network_wide__deconvolution(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *layer = NULL, *cut = NULL;
    pgy_value *x = net_floats(&c, "x", "1, 1, 2, 2", SIX);
    const pgy_convolution p = {.kernel = net_const_floats(&c, "1, 1, 2, 2", ONES),
                               .window = {.stride = {2, 2}}};
    const pgy_convolution q = {
        .kernel = p.kernel,
        .window = {.stride = {2, 2}, .pre_padding = {1, 0}, .post_padding = {0, 1}}};
    net_ok(&c, pgy_network_add_deconvolution(&layer, c.net, x, &p, &c.err));
    net_ok(&c, pgy_network_add_deconvolution(&cut, c.net, x, &q, &c.err));
    net_expect(&c, layer->outputs[0], "1, 1, 4, 4",
               (double[]){1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4});
    net_expect(&c, cut->outputs[0], "1, 1, 3, 3", (double[]){1, 1, 2, 3, 3, 4, 3, 3, 4});
    net_finish(&c);
}

static pgy_layer *pool(network_case *c, pgy_value *x, const pgy_pooling *p)
{
    pgy_layer *layer = NULL;
    net_ok(c, pgy_network_add_pooling(&layer, c->net, x, p, &c->err));
    return layer;
}

static void test_network_wide__pooling(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_value *x = net_floats(&c, "x", "1, 1, 3, 3", NINE);
    const pgy_pooling most = {.type = PGY_POOLING_MAX, .window_size = {2, 2}};
    const pgy_pooling up = {
        .type = PGY_POOLING_MAX,
        .window_size = {2, 2},
        .window = {.stride = {2, 2}, .padding_mode = PGY_PADDING_EXPLICIT_ROUND_UP}};
    const pgy_pooling mean = {.type = PGY_POOLING_AVERAGE,
                              .window_size = {2, 2},
                              .window = {.stride = {2, 2}, .pre_padding = {1, 1}}};
    pgy_pooling counted = mean, blend = most;
    counted.average_counts_padding = true;
    blend.type = PGY_POOLING_MAX_AVERAGE_BLEND;
    blend.blend_factor = 0.25;
    net_expect(&c, pool(&c, x, &most)->outputs[0], "1, 1, 2, 2", (double[]){5, 6, 8, 9});
    net_expect(&c, pool(&c, x, &up)->outputs[0], "1, 1, 2, 2", (double[]){5, 6, 8, 9});
    net_expect(&c, pool(&c, x, &mean)->outputs[0], "1, 1, 2, 2", (double[]){1, 2.5, 5.5, 7});
    net_expect(&c, pool(&c, x, &counted)->outputs[0], "1, 1, 2, 2",
               (double[]){0.25, 1.25, 2.75, 7});
    net_expect(&c, pool(&c, x, &blend)->outputs[0], "1, 1, 2, 2", (double[]){4.5, 5.5, 7.5, 8.5});
    net_finish(&c);
}

static void test_network_wide__lrn_and_padding(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *lrn = NULL, *pad = NULL, *none = NULL;
    const int64_t pre[] = {0, 1}, post[] = {1, -1};
    pgy_value *x = net_floats(&c, "x", "1, 3, 1, 1", SIX), *y = net_floats(&c, "y", "2, 3", SIX);
    net_ok(&c, pgy_network_add_lrn(&lrn, c.net, x, 3, 3, 1, 1, &c.err));
    net_refused(&c, pgy_network_add_lrn(&none, c.net, x, 2, 1, 1, 1, &c.err), PGY_E_ARGUMENT,
                "odd");
    net_ok(&c, pgy_network_add_padding(&pad, c.net, y, 2, pre, post, &c.err));
    net_expect(&c, lrn->outputs[0], "1, 3, 1, 1", (double[]){1.0 / 6, 2.0 / 15, 3.0 / 14});
    net_expect(&c, pad->outputs[0], "3, 3", (double[]){0, 1, 2, 0, 4, 5, 0, 0, 0});
    net_finish(&c);
}

static pgy_layer *resize(network_case *c, pgy_value *x, const pgy_resize *p)
{
    pgy_layer *layer = NULL;
    net_ok(c, pgy_network_add_resize(&layer, c->net, x, p, &c->err));
    return layer;
}

static void test_network_wide__resize(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *none = NULL;
    const int64_t twice[] = {1, 1, 4}, one[] = {1, 1, 1}, three[] = {1, 1, 3};
    const double scales[] = {1, 1, 2};
    const float two[] = {1, 3};
    pgy_value *x = net_floats(&c, "x", "1, 1, 2", two);
    const pgy_resize nearest = {.dims = twice};
    const pgy_resize corners = {.dims = three,
                                .mode = PGY_INTERPOLATION_LINEAR,
                                .coordinates = PGY_COORDINATES_ALIGN_CORNERS};
    const pgy_resize half = {.scales = scales,
                             .mode = PGY_INTERPOLATION_LINEAR,
                             .coordinates = PGY_COORDINATES_HALF_PIXEL};
    const pgy_resize ceiling = {.size = net_const_ints(&c, "3", twice),
                                .nearest_rounding = PGY_RESIZE_ROUND_CEIL};
    const pgy_resize single = {
        .dims = one, .mode = PGY_INTERPOLATION_LINEAR, .coordinates = PGY_COORDINATES_HALF_PIXEL};
    pgy_resize upper = single;
    upper.single_pixel_is_upper = true;
    const pgy_resize both = {.dims = one, .scales = scales};
    net_expect(&c, resize(&c, x, &nearest)->outputs[0], "1, 1, 4", (double[]){1, 1, 3, 3});
    net_expect(&c, resize(&c, x, &corners)->outputs[0], "1, 1, 3", (double[]){1, 2, 3});
    net_expect(&c, resize(&c, x, &half)->outputs[0], "1, 1, 4", (double[]){1, 1.5, 2.5, 3});
    net_expect(&c, resize(&c, x, &ceiling)->outputs[0], "1, 1, 4", (double[]){1, 3, 3, 3});
    net_expect(&c, resize(&c, x, &single)->outputs[0], "1, 1, 1", (double[]){2});
    net_expect(&c, resize(&c, x, &upper)->outputs[0], "1, 1, 1", (double[]){1});
    net_refused(&c, pgy_network_add_resize(&none, c.net, x, &both, &c.err), PGY_E_ARGUMENT,
                "exactly one of dims, scales and size");
    net_finish(&c);
}

static void test_network_wide__grid_sample(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *zeros = NULL, *border = NULL, *none = NULL;
    const float grid[] = {0, 0, -1, -1, 3, 1};
    pgy_value *x = net_floats(&c, "x", "1, 1, 2, 2", SIX);
    pgy_value *g = net_floats(&c, "g", "1, 1, 3, 2", grid);
    net_ok(&c, pgy_network_add_grid_sample(&zeros, c.net, x, g, PGY_INTERPOLATION_LINEAR,
                                           PGY_SAMPLE_FILL, true, &c.err));
    net_ok(&c, pgy_network_add_grid_sample(&border, c.net, x, g, PGY_INTERPOLATION_LINEAR,
                                           PGY_SAMPLE_CLAMP, true, &c.err));
    net_refused(&c,
                pgy_network_add_grid_sample(&none, c.net, x, g, PGY_INTERPOLATION_LINEAR,
                                            PGY_SAMPLE_WRAP, true, &c.err),
                PGY_E_ARGUMENT, "FILL, CLAMP or REFLECT");
    net_expect(&c, zeros->outputs[0], "1, 1, 1, 3", (double[]){2.5, 1, 0});
    net_expect(&c, border->outputs[0], "1, 1, 1, 3", (double[]){2.5, 1, 4});
    net_finish(&c);
}

/* ---- Many to one ---------------------------------------------------------------------------- */

static void test_network_wide__all_reductions(void **state)
{
    (void)state;
    static const double WANTED[][2] = {
        [PGY_REDUCE_SUM] = {6, 15}, [PGY_REDUCE_PROD] = {6, 120}, [PGY_REDUCE_MAX] = {3, 6},
        [PGY_REDUCE_MIN] = {1, 4},  [PGY_REDUCE_AVG] = {2, 5},
    };
    network_case c = net_start();
    pgy_layer *layer = NULL, *all = NULL, *none = NULL;
    pgy_value *x = net_floats(&c, "x", "2, 3", SIX);
    for (int op = 0; op <= PGY_REDUCE_AVG; op++) {
        net_ok(&c, pgy_network_add_reduce(&layer, c.net, x, (pgy_reduce_operation)op, PGY_AXIS(1),
                                          op % 2, &c.err));
        net_expect(&c, layer->outputs[0], op % 2 ? "2, 1" : "2", WANTED[op]);
    }
    net_ok(&c, pgy_network_add_reduce(&all, c.net, x, PGY_REDUCE_SUM, PGY_AXIS(0) | PGY_AXIS(1),
                                      false, &c.err));
    net_expect(&c, all->outputs[0], "", (double[]){21});
    net_refused(&c,
                pgy_network_add_reduce(&none, c.net, x, PGY_REDUCE_SUM, PGY_AXIS(2), false, &c.err),
                PGY_E_SHAPE, "axis 2, but the rank is 2");
    net_refused(&c, pgy_network_add_reduce(&none, c.net, x, PGY_REDUCE_SUM, 0, false, &c.err),
                PGY_E_ARGUMENT, "no axes");
    net_finish(&c);
}

static void test_network_wide__softmax(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *usual = NULL, *last = NULL, *none = NULL;
    const float logs[] = {0, 0.6931472f, 0, 1.0986123f}; /* log 2, log 3 */
    pgy_value *x = net_floats(&c, "x", "2, 2", logs);
    net_ok(&c, pgy_network_add_softmax(&usual, c.net, x, 0, &c.err)); /* the first axis */
    net_ok(&c, pgy_network_add_softmax(&last, c.net, x, PGY_AXIS(1), &c.err));
    net_refused(&c, pgy_network_add_softmax(&none, c.net, x, 3, &c.err), PGY_E_ARGUMENT,
                "expected exactly one axis");
    net_expect(&c, usual->outputs[0], "2, 2", (double[]){0.5, 0.4, 0.5, 0.6});
    net_expect(&c, last->outputs[0], "2, 2", (double[]){1.0 / 3, 2.0 / 3, 0.25, 0.75});
    net_finish(&c);
}

static void test_network_wide__topk_and_cumulative(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *most = NULL, *least = NULL, *sum = NULL, *back = NULL, *none = NULL;
    const float data[] = {3, 1, 2, 5, 9, 7};
    const int64_t k[] = {1};
    pgy_value *x = net_floats(&c, "x", "2, 3", data);
    net_ok(&c,
           pgy_network_add_topk(&most, c.net, x, PGY_TOPK_MAX, 2, PGY_AXIS(1), PGY_I32, &c.err));
    net_ok(&c, pgy_network_add_topk_of(&least, c.net, x, PGY_TOPK_MIN, net_ints(&c, "k", "", k),
                                       PGY_AXIS(0), PGY_I64, &c.err));
    net_ok(&c,
           pgy_network_add_cumulative(&sum, c.net, x, 1, PGY_CUMULATIVE_SUM, false, false, &c.err));
    net_ok(&c,
           pgy_network_add_cumulative(&back, c.net, x, -1, PGY_CUMULATIVE_SUM, true, true, &c.err));
    net_refused(
        &c, pgy_network_add_topk(&none, c.net, x, PGY_TOPK_MAX, 4, PGY_AXIS(1), PGY_F32, &c.err),
        PGY_E_TYPE, "int32 or int64");
    assert_int_equal(most->outputs[1]->dtype, PGY_I32);
    assert_int_equal(least->outputs[1]->dtype, PGY_I64);
    net_expect(&c, most->outputs[0], "2, 2", (double[]){3, 2, 9, 7});
    net_expect(&c, most->outputs[1], "2, 2", (double[]){0, 2, 1, 2});
    net_expect(&c, least->outputs[0], "1, 3", (double[]){3, 1, 2});
    net_expect(&c, least->outputs[1], "1, 3", (double[]){0, 0, 0});
    net_expect(&c, sum->outputs[0], "2, 3", (double[]){3, 4, 6, 5, 14, 21});
    net_expect(&c, back->outputs[0], "2, 3", (double[]){3, 2, 0, 16, 7, 0});
    net_finish(&c);
}

static void test_network_wide__normalization(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *rows = NULL, *groups = NULL, *none = NULL;
    const float data[] = {1, 3, 10, 30, 5, 5, 0, 8};
    pgy_value *x = net_floats(&c, "x", "1?, 4, 2", data);
    const pgy_normalization p = {.axes = PGY_AXIS(2),
                                 .epsilon = 1e-9,
                                 .scale = net_const_floats(&c, "1, 1, 2", (float[]){2, 3}),
                                 .bias = net_const_floats(&c, "1, 4, 1", (float[]){0, 10, 20, 30})};
    const pgy_normalization q = {.axes = PGY_AXIS(2), .epsilon = 1e-9, .groups = 4};
    const pgy_normalization three = {.axes = PGY_AXIS(2), .groups = 3};
    net_ok(&c, pgy_network_add_normalization(&rows, c.net, x, &p, &c.err));
    net_ok(&c, pgy_network_add_normalization(&groups, c.net, x, &q, &c.err));
    net_refused(&c, pgy_network_add_normalization(&none, c.net, x, &three, &c.err), PGY_E_SHAPE,
                "4 channels cannot be divided into 3 groups");
    net_expect(&c, rows->outputs[0], "1, 4, 2", (double[]){-2, 3, 8, 13, 20, 20, 28, 33});
    net_expect(&c, groups->outputs[0], "1, 4, 2", (double[]){-1, 1, -1, 1, 0, 0, -1, 1});
    net_finish(&c);
}

static void test_network_wide__groups_of_channels(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *groups = NULL;
    const float data[] = {1, 1, 3, 3, 0, 8, 0, 8}; /* means 2 and 4, deviations 1 and 4 */
    pgy_value *x = net_floats(&c, "x", "1, 4, 2", data);
    const pgy_normalization p = {.axes = PGY_AXIS(2), .epsilon = 1e-9, .groups = 2};
    net_ok(&c, pgy_network_add_normalization(&groups, c.net, x, &p, &c.err));
    net_expect(&c, groups->outputs[0], "1, 4, 2", (double[]){-1, -1, 1, 1, -1, 1, -1, 1});
    net_finish(&c);
}

static void test_network_wide__matrix_multiply(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *plain = NULL, *turned = NULL, *vector = NULL, *dot = NULL, *none = NULL;
    pgy_value *a = net_floats(&c, "a", "2, 3", SIX), *v = net_const_floats(&c, "3", NINE);
    pgy_value *b = net_const_floats(&c, "3, 2", NINE);
    net_ok(&c, pgy_network_add_matrix_multiply(&plain, c.net, a, PGY_MATRIX_NONE, b,
                                               PGY_MATRIX_NONE, &c.err));
    net_ok(&c, pgy_network_add_matrix_multiply(&turned, c.net, a, PGY_MATRIX_TRANSPOSE, b,
                                               PGY_MATRIX_TRANSPOSE, &c.err));
    net_ok(&c, pgy_network_add_matrix_multiply(&vector, c.net, a, PGY_MATRIX_NONE, v,
                                               PGY_MATRIX_VECTOR, &c.err));
    net_ok(&c, pgy_network_add_matrix_multiply(&dot, c.net, v, PGY_MATRIX_VECTOR, v,
                                               PGY_MATRIX_VECTOR, &c.err));
    net_refused(&c,
                pgy_network_add_matrix_multiply(&none, c.net, a, PGY_MATRIX_NONE, a,
                                                PGY_MATRIX_NONE, &c.err),
                PGY_E_SHAPE, "(MATRIX_MULTIPLY) of 'a' float32 [2, 3], 'a' float32 [2, 3]");
    net_expect(&c, plain->outputs[0], "2, 2", (double[]){22, 28, 49, 64});
    net_expect(&c, turned->outputs[0], "3, 3", (double[]){9, 19, 29, 12, 26, 40, 15, 33, 51});
    net_expect(&c, vector->outputs[0], "2", (double[]){14, 32});
    net_expect(&c, dot->outputs[0], "", (double[]){14});
    net_finish(&c);
}

static void test_network_wide__einsum(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *layer = NULL, *none = NULL;
    pgy_value *a = net_floats(&c, "a", "2, 3", SIX), *b = net_floats(&c, "b", "2, 3", NINE);
    pgy_value *both[] = {a, b};
    net_ok(&c, pgy_network_add_einsum(&layer, c.net, both, 2, "ij,kj->ik", &c.err));
    net_refused(&c, pgy_network_add_einsum(&none, c.net, both, 2, "ij,jk->ik", &c.err), PGY_E_SHAPE,
                "(EINSUM)");
    net_expect(&c, layer->outputs[0], "2, 2", (double[]){14, 32, 32, 77});
    net_finish(&c);
}

/* ---- By index ------------------------------------------------------------------------------- */

static void test_network_wide__gather(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *slices = NULL, *elements = NULL, *nd = NULL, *none = NULL;
    const int64_t at[] = {2, 0}, per_element[] = {1, 1, 0, 0, 1, 1}, places[] = {1, 2, 0, 0};
    pgy_value *x = net_floats(&c, "x", "2, 3", SIX);
    pgy_value *i = net_const_ints(&c, "2", at), *e = net_const_ints(&c, "2, 3", per_element);
    pgy_value *p = net_const_ints(&c, "2, 2", places);
    net_ok(&c, pgy_network_add_gather(&slices, c.net, x, i, PGY_GATHER_DEFAULT, 1, 0, &c.err));
    net_ok(&c, pgy_network_add_gather(&elements, c.net, x, e, PGY_GATHER_ELEMENT, 0, 0, &c.err));
    net_ok(&c, pgy_network_add_gather(&nd, c.net, x, p, PGY_GATHER_ND, 0, 0, &c.err));
    net_refused(&c, pgy_network_add_gather(&none, c.net, x, i, PGY_GATHER_DEFAULT, 2, 0, &c.err),
                PGY_E_SHAPE, "axis 2 is outside of [-2, 2)");
    net_expect(&c, slices->outputs[0], "2, 2", (double[]){3, 1, 6, 4});
    net_expect(&c, elements->outputs[0], "2, 3", (double[]){4, 5, 3, 1, 5, 6});
    net_expect(&c, nd->outputs[0], "2", (double[]){6, 1});
    net_finish(&c);
}

/* out[b, j, i] = data[b, j, indices[b, i]] */
static void test_network_wide__gather_in_a_batch(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *layer = NULL, *near = NULL;
    const float data[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const int64_t at[] = {2, 0, 1, 1};
    pgy_value *x = net_floats(&c, "x", "2, 2, 3", data), *i = net_const_ints(&c, "2, 2", at);
    const int64_t rows[] = {1, 0};
    pgy_value *r = net_const_ints(&c, "2, 1", rows);
    net_ok(&c, pgy_network_add_gather(&layer, c.net, x, i, PGY_GATHER_DEFAULT, 2, 1, &c.err));
    net_ok(&c, pgy_network_add_gather(&near, c.net, x, r, PGY_GATHER_DEFAULT, 1, 1, &c.err));
    net_expect(&c, layer->outputs[0], "2, 2, 2", (double[]){2, 0, 5, 3, 7, 7, 10, 10});
    net_expect(&c, near->outputs[0], "2, 1, 3", (double[]){3, 4, 5, 6, 7, 8});
    net_finish(&c);
}

static void test_network_wide__scatter_one_hot_non_zero(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *elements = NULL, *nd = NULL, *hot = NULL, *places = NULL;
    const int64_t at[] = {2, 0}, place[] = {1, 1}, classes[] = {1, 0}, depth[] = {3};
    const float sparse[] = {0, 2, 0, 4, 0, 6};
    pgy_value *x = net_floats(&c, "x", "2, 3", sparse);
    pgy_value *i = net_const_ints(&c, "2, 1", at), *p = net_const_ints(&c, "1, 2", place);
    net_ok(&c, pgy_network_add_scatter(&elements, c.net, x, i,
                                       net_const_floats(&c, "2, 1", (float[]){70, 80}),
                                       PGY_SCATTER_ELEMENT, 1, &c.err));
    net_ok(&c, pgy_network_add_scatter(&nd, c.net, x, p, net_const_floats(&c, "1", (float[]){90}),
                                       PGY_SCATTER_ND, 0, &c.err));
    net_ok(&c, pgy_network_add_one_hot(&hot, c.net, net_ints(&c, "classes", "2", classes),
                                       net_const_floats(&c, "2", (float[]){-1, 5}),
                                       net_const_ints(&c, "", depth), -1, &c.err));
    net_ok(&c, pgy_network_add_non_zero(&places, c.net, x, PGY_I32, &c.err));
    assert_int_equal(places->outputs[0]->dtype, PGY_I32);
    net_expect(&c, elements->outputs[0], "2, 3", (double[]){0, 2, 70, 80, 0, 6});
    net_expect(&c, nd->outputs[0], "2, 3", (double[]){0, 2, 0, 4, 90, 6});
    net_expect(&c, hot->outputs[0], "2, 3", (double[]){-1, 5, -1, 5, -1, -1});
    net_expect(&c, places->outputs[0], "2, 3", (double[]){0, 1, 1, 1, 0, 2});
    net_finish(&c);
}

static void test_network_wide__nms_and_reversed_sequences(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *nms = NULL, *reversed = NULL, *none = NULL;
    const float boxes[] = {0, 0, 2, 2, 0, 0, 2, 1.9f, 5, 5, 6, 6}, scores[] = {0.5f, 0.9f, 0.3f};
    const int64_t most[] = {2}, lengths[] = {2, 3};
    const pgy_nms p = {.boxes = net_floats(&c, "boxes", "1, 3, 4", boxes),
                       .scores = net_floats(&c, "scores", "1, 3, 1", scores),
                       .max_per_class = net_const_ints(&c, "", most),
                       .iou_threshold = 0.5};
    net_ok(&c, pgy_network_add_nms(&nms, c.net, &p, &c.err));
    pgy_value *x = net_floats(&c, "x", "2, 3", SIX), *n = net_const_ints(&c, "2", lengths);
    net_ok(&c, pgy_network_add_reverse_sequence(&reversed, c.net, x, n, 0, 1, &c.err));
    net_refused(&c, pgy_network_add_reverse_sequence(&none, c.net, x, n, 0, 0, &c.err),
                PGY_E_UNSUPPORTED, "0 and 1");
    assert_int_equal(nms->outputs[1]->rank, 0);
    net_expect(&c, nms->outputs[0], "2, 3", (double[]){0, 0, 1, 0, 0, 2});
    net_expect(&c, nms->outputs[1], "", (double[]){2});
    net_expect(&c, reversed->outputs[0], "2, 3", (double[]){2, 1, 3, 6, 5, 4});
    net_finish(&c);
}

static void test_network_wide__nms_of_centres(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *nms = NULL;
    const float boxes[] = {1, 1, 2, 2, 5, 5, 2, 2, 9, 9, 2, 2}, scores[] = {0.5f, 0.9f, 0.3f};
    const int64_t most[] = {3};
    const pgy_nms p = {.boxes = net_floats(&c, "boxes", "1, 3, 4", boxes),
                       .scores = net_floats(&c, "scores", "1, 3, 1", scores),
                       .max_per_class = net_const_ints(&c, "1", most),
                       .iou_threshold = 0.5,
                       .has_score_threshold = true,
                       .score_threshold = 0.4,
                       .format = PGY_BOX_CENTER_SIZES,
                       .indices_type = PGY_I64};
    net_ok(&c, pgy_network_add_nms(&nms, c.net, &p, &c.err));
    assert_int_equal(nms->outputs[0]->dtype, PGY_I64);
    net_expect(&c, nms->outputs[0], "2, 3", (double[]){0, 0, 1, 0, 0, 0});
    net_expect(&c, nms->outputs[1], "", (double[]){2});
    net_finish(&c);
}

/* ---- Sequences ------------------------------------------------------------------------------ */

static void test_network_wide__attention(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *plain = NULL, *causal = NULL, *masked = NULL, *linear = NULL, *none = NULL;
    const float log3 = 1.0986123f;
    const float q[] = {1, 1}, k[] = {0, log3}, v[] = {4, 8};
    const bool mask[] = {true, false, true, true};
    pgy_attention p = {.query = net_floats(&c, "q", "1, 1, 2, 1", q),
                       .key = net_floats(&c, "k", "1, 1, 2, 1", k),
                       .value = net_floats(&c, "v", "1, 1, 2, 1", v)};
    net_ok(&c, pgy_network_add_attention(&plain, c.net, &p, &c.err));
    p.causal = true;
    net_ok(&c, pgy_network_add_attention(&causal, c.net, &p, &c.err));
    p.causal = false;
    p.mask = net_bools(&c, "mask", "2, 2", mask);
    net_ok(&c, pgy_network_add_attention(&masked, c.net, &p, &c.err));
    p.no_softmax = true;
    net_refused(&c, pgy_network_add_attention(&none, c.net, &p, &c.err), PGY_E_UNSUPPORTED, "mask");
    p.mask = NULL;
    net_ok(&c, pgy_network_add_attention(&linear, c.net, &p, &c.err));
    net_expect(&c, plain->outputs[0], "1, 1, 2, 1", (double[]){7, 7}); /* 1/4 and 3/4 */
    net_expect(&c, causal->outputs[0], "1, 1, 2, 1", (double[]){4, 7});
    net_expect(&c, masked->outputs[0], "1, 1, 2, 1", (double[]){4, 7});
    net_expect(&c, linear->outputs[0], "1, 1, 2, 1", (double[]){8 * 1.0986123, 8 * 1.0986123});
    net_finish(&c);
}

static void test_network_wide__rotary_embedding_and_cache(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *turned = NULL, *pairs = NULL, *cache = NULL;
    const float data[] = {1, 2, 3, 4}, cosines[] = {1, 0, 0, -1}, sines[] = {0, 1, 1, 0};
    const int64_t positions[] = {1}, at[] = {1};
    pgy_value *x = net_floats(&c, "x", "1, 1, 1, 4", data);
    pgy_rotary_embedding p = {.cos_cache = net_const_floats(&c, "2, 2", cosines),
                              .sin_cache = net_const_floats(&c, "2, 2", sines),
                              .positions = net_const_ints(&c, "1, 1", positions)};
    net_ok(&c, pgy_network_add_rotary_embedding(&turned, c.net, x, &p, &c.err));
    p.interleaved = true;
    net_ok(&c, pgy_network_add_rotary_embedding(&pairs, c.net, x, &p, &c.err));
    pgy_value *room = net_floats(&c, "room", "1, 1, 3, 2", SIX);
    net_ok(&c, pgy_network_add_kvcache_update(&cache, c.net, room,
                                              net_const_floats(&c, "1, 1, 1, 2", (float[]){70, 80}),
                                              net_ints(&c, "at", "1", at), &c.err));
    /* position 1: cos 0 -1, sin 1 0; halves (1, 3), (2, 4) and pairs (1, 2), (3, 4) */
    net_expect(&c, turned->outputs[0], "1, 1, 1, 4", (double[]){-3, -2, 1, -4});
    net_expect(&c, pairs->outputs[0], "1, 1, 1, 4", (double[]){-2, 1, -3, -4});
    net_expect(&c, cache->outputs[0], "1, 1, 3, 2", (double[]){1, 2, 70, 80, 5, 6});
    net_finish(&c);
}

static void test_network_wide__recurrent_layers(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *rnn = NULL, *lstm = NULL, *gru = NULL, *none = NULL;
    const float steps[] = {0.5f, -1}, gates[] = {1, 1, 1, 1}, zeros[] = {0, 0, 0, 0};
    pgy_value *x = net_floats(&c, "x", "2, 1, 1", steps);
    pgy_recurrent p = {.hidden_size = 1,
                       .w = net_const_floats(&c, "1, 1, 1", gates),
                       .r = net_const_floats(&c, "1, 1, 1", gates)};
    net_ok(&c, pgy_network_add_recurrent(&rnn, c.net, PGY_LAYER_RNN, x, &p, &c.err));
    p.w = net_const_floats(&c, "1, 4, 1", gates);
    p.r = net_const_floats(&c, "1, 4, 1", zeros);
    net_ok(&c, pgy_network_add_recurrent(&lstm, c.net, PGY_LAYER_LSTM, x, &p, &c.err));
    p.w = net_const_floats(&c, "1, 3, 1", gates);
    p.r = net_const_floats(&c, "1, 3, 1", zeros);
    net_ok(&c, pgy_network_add_recurrent(&gru, c.net, PGY_LAYER_GRU, x, &p, &c.err));
    net_refused(&c, pgy_network_add_recurrent(&none, c.net, PGY_LAYER_SHAPE, x, &p, &c.err),
                PGY_E_ARGUMENT, "does not exist");
    assert_int_equal(lstm->output_count, 3);
    assert_int_equal(lstm->type, PGY_LAYER_LSTM);
    const double h1 = tanh(0.5), h2 = tanh(-1 + h1);
    net_expect(&c, rnn->outputs[0], "2, 1, 1, 1", (double[]){h1, h2});
    net_expect(&c, rnn->outputs[1], "1, 1, 1", (double[]){h2});
    /* all gates are sigmoid(x), the candidate is tanh(x) */
    const double s1 = 1 / (1 + exp(-0.5)), s2 = 1 / (1 + exp(1)), t2 = tanh(-1);
    const double c1 = s1 * h1, c2 = s2 * c1 + s2 * t2;
    net_expect(&c, lstm->outputs[0], "2, 1, 1, 1", (double[]){s1 * tanh(c1), s2 * tanh(c2)});
    net_expect(&c, lstm->outputs[2], "1, 1, 1", (double[]){c2});
    const double g1 = (1 - s1) * h1, g2 = (1 - s2) * t2 + s2 * g1;
    net_expect(&c, gru->outputs[0], "2, 1, 1, 1", (double[]){g1, g2});
    net_finish(&c);
}

/* First states, lengths and both directions: with weights of zero and open gates states decay. */
static void test_network_wide__recurrent_states_and_directions(void **state)
{
    (void)state;
    network_case c = net_start();
    pgy_layer *lstm = NULL;
    const float steps[] = {0, 0, 0, 0}, zeros[8] = {0}, h[] = {9, 9, 9, 9}, cells[] = {8, 4, 2, 16};
    const pgy_recurrent p = {.hidden_size = 1,
                             .direction = PGY_RNN_BIDIRECTIONAL,
                             .w = net_const_floats(&c, "2, 4, 1", zeros),
                             .r = net_const_floats(&c, "2, 4, 1", zeros),
                             .sequence_lengths = net_const_ints(&c, "2", (int64_t[]){2, 1}),
                             .initial_h = net_const_floats(&c, "2, 2, 1", h),
                             .initial_c = net_const_floats(&c, "2, 2, 1", cells)};
    pgy_value *x = net_floats(&c, "x", "2, 2, 1", steps);
    net_ok(&c, pgy_network_add_recurrent(&lstm, c.net, PGY_LAYER_LSTM, x, &p, &c.err));
    /* every gate is 1/2 and the candidate 0: a cell halves with each step of its sequence */
    net_expect(&c, lstm->outputs[2], "2, 2, 1", (double[]){2, 2, 0.5, 8});
    net_expect(&c, lstm->outputs[1], "2, 2, 1",
               (double[]){tanh(2) / 2, tanh(2) / 2, tanh(0.5) / 2, tanh(8) / 2});
    net_finish(&c);
}
