/* SPDX-License-Identifier: Apache-2.0 */
/* Attention between Q/DQ for CUDA devices, and tables behind products of bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "harness/quantized_case.h"

enum { WIDTH = 64 };

/* What differs between the models of the tests. */
typedef struct form {
    const char *mask;   /* its shape, or NULL */
    int64_t share_zero; /* zero point of the shares */
    float factor;       /* of the scores */
    bool sliced;        /* query, key and value are slices of one product */
    bool apart;         /* the products of query, key and value have inputs of their own */
} form;

static const form PLAIN = {NULL, -128, 0.125f, false, false};

/* a and b together, of a few letters each. */
static const char *with(char *to, size_t size, const char *a, const char *b)
{
    (void)size;
    return strcat(strcpy(to, a), b);
}

/* `name`d = bytes of x times a constant plus a row. */
static void project(model_builder *b, const char *x, const char *name, int64_t width)
{
    const int64_t shape[] = {8, width};
    char s[8][32], inputs[128];
    bytes(b, with(s[0], 32, name, "w"), PGY_I8, 2, shape, -100 + name[0] % 8, 3);
    grid(b, with(s[1], 32, name, "ws"), 0.011f, with(s[2], 32, name, "wz"), PGY_I8, 0);
    snprintf(inputs, sizeof inputs, "%s %s %s", s[0], s[1], s[2]);
    builder_node(b, "DequantizeLinear", inputs, with(s[3], 32, name, "wd"));
    bytes(b, with(s[0], 32, name, "r"), PGY_I8, 1, &width, -90, 1);
    grid(b, with(s[1], 32, name, "rs"), 0.002f, with(s[2], 32, name, "rz"), PGY_I8, 5);
    snprintf(inputs, sizeof inputs, "%s %s %s", s[0], s[1], s[2]);
    builder_node(b, "DequantizeLinear", inputs, with(s[4], 32, name, "rd"));
    snprintf(inputs, sizeof inputs, "%s %s", x, s[3]);
    builder_node(b, "MatMul", inputs, with(s[5], 32, name, "p"));
    quantise(b, s[5], with(s[6], 32, name, "q"), 0.05f, PGY_I8, 4);
    snprintf(inputs, sizeof inputs, "%s %sd", s[4], s[6]);
    builder_node(b, "Add", inputs, with(s[7], 32, name, "a"));
    quantise(b, s[7], name, name[0] == 'v' ? 0.052f : 0.051f, PGY_I8, 3);
}

/* `name`d -> `to`d: heads, rows and size in the order `order`. */
static void cut(model_builder *b, const char *name, const char *to, const int64_t *order)
{
    const float scale = name[0] == 'v' ? 0.052f : 0.051f;
    char s[4][32], inputs[128];
    snprintf(inputs, sizeof inputs, "%sd cut", name);
    builder_node(b, "Reshape", inputs, with(s[0], 32, name, "c"));
    quantise(b, s[0], with(s[1], 32, name, "cq"), scale, PGY_I8, 3);
    builder_attr_ints(
        b, builder_node(b, "Transpose", with(s[2], 32, s[1], "d"), with(s[3], 32, name, "t")),
        "perm", 4, order);
    quantise(b, s[3], to, scale, PGY_I8, 3);
}

static void slice(model_builder *b, const char *name, int64_t at)
{
    const int64_t from = at * WIDTH, end = from + WIDTH, axis = 2;
    char s[4][32], inputs[120];
    builder_ints(b, with(s[0], 32, name, "from"), "1", &from);
    builder_ints(b, with(s[1], 32, name, "end"), "1", &end);
    builder_ints(b, with(s[2], 32, name, "axis"), "1", &axis);
    snprintf(inputs, sizeof inputs, "alld %s %s %s", s[0], s[1], s[2]);
    builder_node(b, "Slice", inputs, with(s[3], 32, name, "x"));
    quantise(b, s[3], name, 0.051f, PGY_I8, 3);
}

static void query_key_value(model_builder *b, const form *f)
{
    static const char *const NAMES[] = {"q", "k", "w"};
    if (f->sliced) project(b, "xd", "all", 3 * WIDTH);
    if (f->apart) {
        builder_node(b, "Neg", "x", "n");
        quantise(b, "n", "m", 0.02f, PGY_I8, 1);
    }
    for (int64_t i = 0; i < 3; i++) {
        if (f->sliced)
            slice(b, NAMES[i], i);
        else
            project(b, f->apart && i ? "md" : "xd", NAMES[i], WIDTH);
    }
}

static model_builder attention(form f)
{
    static const int64_t CUT[] = {2, 5, 2, 32}, JOIN[] = {2, 5, WIDTH}, HEADS[] = {0, 2, 1, 3},
                         TURNED[] = {0, 2, 3, 1};
    model_builder b = start_quantised("2, 5, 8", PGY_I8);
    builder_ints(&b, "cut", "4", CUT);
    builder_ints(&b, "join", "3", JOIN);
    builder_floats(&b, "factor", "", &f.factor);
    query_key_value(&b, &f);
    cut(&b, "q", "qh", HEADS);
    cut(&b, "k", "kh", TURNED);
    cut(&b, "w", "vh", HEADS);
    builder_node(&b, "MatMul", "qhd khd", "scores");
    quantise(&b, "scores", "e", 0.4f, PGY_I8, 2);
    quantise(&b, "factor", "fq", f.factor / 255, PGY_I8, -128);
    builder_node(&b, "Mul", "ed fqd", "scaled");
    quantise(&b, "scaled", "g", 0.4f * f.factor, PGY_I8, 2);
    if (f.mask) {
        builder_input(&b, "mask", PGY_F32, f.mask);
        quantise(&b, "mask", "mq", 0.03f, PGY_I8, 7);
        builder_node(&b, "Add", "gd mqd", "masked");
        quantise(&b, "masked", "h", 0.06f, PGY_I8, 1);
    }
    builder_attr_int(&b, builder_node(&b, "Softmax", f.mask ? "hd" : "gd", "s"), "axis", -1);
    quantise(&b, "s", "u", 0.0039f, PGY_I8, f.share_zero);
    builder_node(&b, "MatMul", "ud vhd", "o");
    quantise(&b, "o", "oq", 0.02f, PGY_I8, -3);
    builder_attr_ints(&b, builder_node(&b, "Transpose", "oqd", "ot"), "perm", 4, HEADS);
    quantise(&b, "ot", "otq", 0.02f, PGY_I8, -3);
    builder_node(&b, "Reshape", "otqd join", "joined");
    end_quantised(&b, "joined", 0.02f, PGY_I8, -3);
    return b;
}

static void test_cuda_byte_attention__products_become_one(void **state)
{
    (void)state;
    model_builder b = attention(PLAIN);
    expect_y_on(&b, "cuda",
                "QuantizeLinear QLinearMatMul QLinearAttention Reshape DequantizeLinear");
}

static void test_cuda_byte_attention__slices_of_one_product(void **state)
{
    form f = PLAIN;
    (void)state;
    f.sliced = true;
    model_builder b = attention(f);
    expect_y_on(&b, "cuda",
                "QuantizeLinear QLinearMatMul QLinearAttention Reshape DequantizeLinear");
}

static void test_cuda_byte_attention__others_are_joined(void **state)
{
    form f = PLAIN;
    (void)state;
    f.apart = true;
    model_builder b = attention(f);
    expect_y_on(&b, "cuda",
                "QuantizeLinear Neg QuantizeLinear QLinearMatMul QLinearMatMul QLinearMatMul "
                "Concat QLinearAttention Reshape DequantizeLinear");
}

static void test_cuda_byte_attention__masks(void **state)
{
    form f = PLAIN;
    (void)state;
    f.mask = "2, 1, 1, 5";
    model_builder b = attention(f);
    expect_y_on(&b, "cuda",
                "QuantizeLinear QuantizeLinear QLinearMatMul QLinearAttention Reshape "
                "DequantizeLinear");
    f.mask = "1, 1, 1, 5";
    b = attention(f);
    expect_y_on(&b, "cuda",
                "QuantizeLinear QuantizeLinear QLinearMatMul QLinearAttention Reshape "
                "DequantizeLinear");
}

/* Shares with a zero point in the middle, a mask of each query row, and the host. */
static void test_cuda_byte_attention__what_stays(void **state)
{
    static const char STAYS[] =
        "QuantizeLinear QLinearMatMul Reshape Transpose QLinearMatMul Reshape QLinearMatMul "
        "Reshape Transpose Transpose QLinearMatMul QLinearSoftmax QLinearMatMul Transpose Reshape "
        "DequantizeLinear";
    form f = PLAIN;
    (void)state;
    f.share_zero = -20;
    model_builder b = attention(f);
    expect_y_on(&b, "cuda", STAYS);
    f = PLAIN;
    f.mask = "1, 1, 5, 5";
    b = attention(f);
    expect_y_on(&b, "cuda",
                "QuantizeLinear QuantizeLinear QLinearMatMul Reshape Transpose QLinearMatMul "
                "Reshape Transpose QLinearMatMul QLinearAdd QLinearMatMul Reshape Transpose "
                "QLinearSoftmax QLinearMatMul Transpose Reshape DequantizeLinear");
    b = attention(PLAIN);
    expect_y_on(&b, NULL,
                "QuantizeLinear QLinearMatMul QLinearAdd Reshape Transpose QLinearMatMul "
                "QLinearAdd Reshape Transpose QLinearMatMul DequantizeLinear Softmax "
                "QuantizeLinear QLinearMatMul QLinearAdd Reshape Transpose QLinearMatMul Transpose "
                "Reshape DequantizeLinear");
}

/* The bytes of a product with an int32 bias, as a function, perhaps in another shape. */
static model_builder function(bool reshaped, bool read_again)
{
    static const int64_t SHAPE[] = {2, 3, 16}, WEIGHTS[] = {8, 16};
    model_builder b = start_quantised("6, 8", PGY_I8);
    bytes(&b, "w", PGY_I8, 2, WEIGHTS, -100, 1);
    grid(&b, "ws", 0.011f, "wz", PGY_I8, 0);
    builder_node(&b, "DequantizeLinear", "w ws wz", "wd");
    weights(&b, "c", "16", 16);
    builder_node(&b, "Gemm", "xd wd c", "p");
    quantise(&b, "p", "q", 0.05f, PGY_I8, 4);
    builder_ints(&b, "shape", "3", SHAPE);
    if (reshaped) {
        builder_node(&b, "Reshape", "qd shape", "r");
        quantise(&b, "r", "t", 0.05f, PGY_I8, 4);
    }
    builder_node(&b, "Sigmoid", reshaped ? "td" : "qd", "f");
    end_quantised(&b, "f", 0.004f, PGY_I8, -128);
    if (read_again) {
        builder_node(&b, "Neg", "qd", "again");
        builder_output(&b, "again", PGY_F32, NULL);
    }
    return b;
}

static void test_cuda_byte_attention__tables_behind_products(void **state)
{
    (void)state;
    model_builder b = function(false, false);
    expect_y_on(&b, "cuda", "QuantizeLinear QGemm DequantizeLinear");
    b = function(true, false);
    expect_y_on(&b, "cuda", "QuantizeLinear QGemm Reshape DequantizeLinear");
    b = function(false, true);
    expect_y_on(&b, "cuda", "QuantizeLinear QGemm DequantizeLinear Lookup DequantizeLinear Neg");
    b = function(false, false);
    expect_y_on(&b, NULL, "QuantizeLinear QGemm Lookup DequantizeLinear");
}

/* The bytes of a product and a row as a function. */
static model_builder function_of_sum(bool all_known)
{
    static const int64_t WEIGHTS[] = {16, 8}, ROW[] = {8};
    model_builder b = start_quantised("6, 16", PGY_I8);
    bytes(&b, "w", PGY_I8, 2, WEIGHTS, -100, 1);
    grid(&b, "ws", 0.011f, "wz", PGY_I8, 0);
    builder_node(&b, "DequantizeLinear", "w ws wz", "wd");
    builder_node(&b, "MatMul", "xd wd", "p");
    quantise(&b, "p", "q", 0.05f, PGY_I8, 4);
    if (all_known) {
        bytes(&b, "r", PGY_I8, 1, ROW, -3, 1);
        grid(&b, "rs", 0.013f, "rz", PGY_I8, 2);
        builder_node(&b, "DequantizeLinear", "r rs rz", "rd");
    } else {
        builder_input(&b, "row", PGY_F32, "8");
        quantise(&b, "row", "r", 0.013f, PGY_I8, 2);
    }
    builder_node(&b, "Add", "qd rd", "s");
    quantise(&b, "s", "t", 0.05f, PGY_I8, 1);
    builder_node(&b, "Sigmoid", "td", "f");
    end_quantised(&b, "f", 0.004f, PGY_I8, -128);
    return b;
}

static void test_cuda_byte_attention__tables_behind_sums(void **state)
{
    (void)state;
    model_builder b = function_of_sum(true);
    expect_y_on(&b, "cuda", "QuantizeLinear QLinearMatMul DequantizeLinear");
    b = function_of_sum(false);
    expect_y_on(&b, "cuda", "QuantizeLinear QuantizeLinear QLinearMatMul Lookup DequantizeLinear");
    b = function_of_sum(true);
    expect_y_on(&b, NULL, "QuantizeLinear QLinearMatMul QLinearAdd Lookup DequantizeLinear");
}

static void test_cuda_byte_attention__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_fuse_byte_attention)) skip();
    test_cuda_byte_attention__others_are_joined(state);
    test_cuda_byte_attention__tables_behind_products(state);
    test_cuda_byte_attention__tables_behind_sums(state);
    refuse_allocations_of(NULL);
}
