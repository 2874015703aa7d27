/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of attention that simplification recognises, and those that are something else. Each
 * rewrite is measured on data, so a form that is read wrongly is refused and the test fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <polygraphy/graph.h>
#include <polygraphy/simplify.h>

#include "harness/model_builder.h"

/* ---- Helpers -------------------------------------------------------------------------------- */

enum { LENGTH = 5, SIZE = 4 };

static pgy_status sample(pgy_tensor_map **out, const pgy_metadata *inputs, size_t set, void *user,
                         pgy_error *err)
{
    size_t *given = user;
    pgy_tensor_map *map = NULL;
    (void)err;
    *out = NULL;
    if (set || (*given)++) return PGY_OK;
    assert_int_equal(pgy_tensor_map_create(&map, NULL), 0);
    for (size_t i = 0; i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        pgy_tensor *t = NULL;
        assert_int_equal(pgy_tensor_create(&t, PGY_F32, (size_t)info->rank, info->shape, NULL), 0);
        float *x = pgy_tensor_data(t);
        for (size_t k = 0; k < pgy_tensor_count(t); k++) x[k] = 2 * sinf((float)(k * 7 + i + 1));
        assert_int_equal(pgy_tensor_map_set(map, info->name, t, NULL), 0);
        pgy_tensor_release(t);
    }
    *out = map;
    return PGY_OK;
}

/* The operators that are left, with what Attention has: its inputs, then attributes by name. */
static void describe(char *text, size_t size, const pgy_graph *g)
{
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *node = g->nodes[i];
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? " " : "", node->op_type);
        if (strcmp(node->op_type, "Attention") != 0) continue;
        n += (size_t)snprintf(text + n, size - n, "(%zu", node->input_count);
        for (size_t k = 0; k < node->attribute_count; k++) {
            const pgy_onnx_attribute *a = node->attributes[k];
            if (pgy_onnx_attribute_kind(a) == PGY_ATTR_FLOAT)
                n += (size_t)snprintf(text + n, size - n, " %s=%g", a->name, (double)a->f);
            else
                n += (size_t)snprintf(text + n, size - n, " %s=%lld", a->name, (long long)a->i);
        }
        n += (size_t)snprintf(text + n, size - n, ")");
    }
}

static void check(model_builder *b, const char *expected, size_t refused)
{
    pgy_model *model = builder_finish_bytes(b), *made = NULL;
    pgy_simplify_options o = pgy_simplify_options_default();
    pgy_simplify_report *report = NULL;
    pgy_graph *g = NULL;
    pgy_error err = {0};
    char text[512];
    size_t given = 0;
    o.sample = sample;
    o.user = &given;
    if (pgy_model_simplify(&made, model, &o, &report, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_graph_import(&g, made, NULL), 0);
    describe(text, sizeof text, g);
    assert_string_equal(text, expected);
    assert_int_equal(report->refusal_count, refused);
    assert_true(report->passed);
    pgy_graph_destroy(g);
    pgy_simplify_report_destroy(report);
    pgy_model_destroy(made);
    pgy_model_destroy(model);
}

static void expect(model_builder *b, const char *expected)
{
    check(b, expected, 0);
}

static void number(model_builder *b, const char *name, float x)
{
    builder_floats(b, name, "", &x);
}

static void turn(model_builder *b, const char *in, const char *out, size_t rank,
                 const int64_t *perm)
{
    builder_attr_ints(b, builder_node(b, "Transpose", in, out), "perm", rank, perm);
}

/* Queries, keys and values are three functions of x; scores are the product of the first two, kt
 * being the keys turned. */
static model_builder start(const char *shape, size_t rank)
{
    static const int64_t LAST[][4] = {{0, 2, 1}, {0, 1, 3, 2}};
    model_builder b = builder_start(23);
    builder_input(&b, "x", PGY_F32, shape);
    builder_output(&b, "y", PGY_F32, shape);
    builder_node(&b, "Sin", "x", "q");
    builder_node(&b, "Cos", "x", "k");
    builder_node(&b, "Neg", "x", "v");
    turn(&b, "k", "kt", rank, LAST[rank - 3]);
    return b;
}

static void end(model_builder *b, const char *scores)
{
    builder_attr_int(b, builder_node(b, "Softmax", scores, "p"), "axis", -1);
    builder_node(b, "MatMul", "p v", "y");
}

static void bools(model_builder *b, const char *name, const uint8_t *values)
{
    pgy_tensor *t = NULL;
    const int64_t shape[] = {LENGTH, LENGTH};
    assert_int_equal(pgy_tensor_create(&t, PGY_BOOL, 2, shape, NULL), 0);
    memcpy(pgy_tensor_data(t), values, LENGTH * LENGTH);
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
}

static void triangle(model_builder *b, const char *name, bool lower)
{
    uint8_t values[LENGTH * LENGTH];
    for (size_t i = 0; i < sizeof values; i++) values[i] = (i % LENGTH <= i / LENGTH) == lower;
    bools(b, name, values);
}

/* Every third key is closed. */
static void gaps(model_builder *b, const char *name)
{
    uint8_t values[LENGTH * LENGTH];
    for (size_t i = 0; i < sizeof values; i++) values[i] = i % 3 != 0;
    bools(b, name, values);
}

static void bias(model_builder *b, const char *name, const char *shape, size_t count)
{
    float values[256];
    for (size_t i = 0; i < count; i++) values[i] = cosf((float)i);
    builder_floats(b, name, shape, values);
}

/* ---- Scale and cap -------------------------------------------------------------------------- */

static void test_attention__scale_is_split_between_queries_and_keys(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 5, 4", 4);
    number(&b, "half", 0.5f);
    number(&b, "four", 4);
    builder_node(&b, "Mul", "q half", "qs");
    builder_node(&b, "Div", "kt four", "ks");
    builder_node(&b, "MatMul", "qs ks", "s");
    end(&b, "s");
    expect(&b, "Sin Cos Neg Attention(3 scale=0.125)");
}

static model_builder capped(bool mask_inside)
{
    model_builder b = start("2, 3, 5, 4", 4);
    number(&b, "half", 0.5f);
    number(&b, "cap", 3);
    bias(&b, "mask", "5, 5", 25);
    builder_node(&b, "MatMul", "q kt", "qk");
    builder_node(&b, "Mul", "qk half", "s");
    if (mask_inside) builder_node(&b, "Add", "s mask", "sm");
    builder_node(&b, "Div", mask_inside ? "sm cap" : "s cap", "u");
    builder_node(&b, "Tanh", "u", "t");
    builder_node(&b, "Mul", "t cap", "c");
    if (!mask_inside) builder_node(&b, "Add", "c mask", "cm");
    end(&b, mask_inside ? "c" : "cm");
    return b;
}

static void test_attention__soft_cap_comes_before_the_mask(void **state)
{
    (void)state;
    model_builder b = capped(false);
    expect(&b, "Sin Cos Neg Attention(4 scale=0.5 softcap=3)");
    b = capped(true);
    expect(&b, "Sin Cos Neg Transpose MatMul Mul Add Div Tanh Mul Softmax MatMul");
}

static void test_attention__a_factor_for_each_head_goes_to_the_queries(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 5, 4", 4);
    bias(&b, "factors", "3, 1, 1", 3);
    builder_node(&b, "MatMul", "q kt", "qk");
    builder_node(&b, "Mul", "factors qk", "s");
    end(&b, "s");
    expect(&b, "Sin Cos Neg Mul Attention(3 scale=1)");
}

/* softmax(32 (s / 32 - m)), where m is the largest of the row. */
static void test_attention__a_shift_of_rows_goes(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 5, 4", 4);
    number(&b, "large", 32);
    builder_ints(&b, "axes", "1", (const int64_t[]){-1});
    builder_node(&b, "MatMul", "q kt", "s");
    builder_node(&b, "Div", "s large", "d");
    builder_node(&b, "ReduceMax", "d axes", "m");
    builder_node(&b, "Sub", "d m", "e");
    builder_node(&b, "Mul", "e large", "f");
    end(&b, "f");
    expect(&b, "Sin Cos Neg Attention(3 scale=1)");
}

/* The softmax of a model of 16 bits in float32. */
static void test_attention__a_wide_softmax(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 5, 4", 4);
    const char *const narrow[][2] = {{"q", "qn"}, {"kt", "kn"}, {"v", "vn"}};
    for (size_t i = 0; i < 3; i++)
        builder_attr_int(&b, builder_node(&b, "Cast", narrow[i][0], narrow[i][1]), "to", 10);
    builder_node(&b, "MatMul", "qn kn", "s");
    builder_attr_int(&b, builder_node(&b, "Cast", "s", "sw"), "to", 1);
    builder_attr_int(&b, builder_node(&b, "Softmax", "sw", "p"), "axis", -1);
    builder_attr_int(&b, builder_node(&b, "Cast", "p", "pn"), "to", 10);
    builder_node(&b, "MatMul", "pn vn", "yn");
    builder_attr_int(&b, builder_node(&b, "Cast", "yn", "y"), "to", 1);
    expect(&b, "Sin Cos Neg Transpose Cast Cast Cast Transpose Attention(3 scale=1 "
               "softmax_precision=1) Cast");
}

/* ---- Masks ---------------------------------------------------------------------------------- */

static model_builder chosen(bool causal, bool opposite, float closed, bool more)
{
    model_builder b = start("2, 3, 5, 4", 4);
    number(&b, "closed", closed);
    if (causal)
        triangle(&b, "open", !opposite);
    else
        gaps(&b, "open");
    builder_node(&b, "MatMul", "q kt", "s");
    builder_node(&b, "Where", opposite ? "open closed s" : "open s closed", "w");
    bias(&b, "bias", "3, 5, 5", 75);
    if (more) builder_node(&b, "Add", "w bias", "m");
    end(&b, more ? "m" : "w");
    return b;
}

static void test_attention__a_condition_stays_one(void **state)
{
    (void)state;
    model_builder b = chosen(false, false, -INFINITY, false);
    expect(&b, "Sin Cos Neg Attention(4 scale=1)");
    b = chosen(false, true, -INFINITY, false);
    expect(&b, "Sin Cos Neg Attention(4 scale=1)");
    b = chosen(false, false, -3.4028235e38f, true);
    expect(&b, "Sin Cos Neg Attention(4 scale=1)");
    /* A score that is only low is seen. */
    b = chosen(false, false, -5, false);
    expect(&b, "Sin Cos Neg Transpose MatMul Where Softmax MatMul");
}

static void test_attention__the_triangle_is_causal(void **state)
{
    (void)state;
    static const char CAUSAL[] = "Sin Cos Neg Attention(3 is_causal=1 scale=1)";
    model_builder b = chosen(true, false, -INFINITY, false);
    expect(&b, CAUSAL);
    b = chosen(true, true, -3.4028235e38f, false);
    expect(&b, CAUSAL);
    b = chosen(true, false, -INFINITY, true);
    expect(&b, "Sin Cos Neg Attention(4 is_causal=1 scale=1)");
    /* What is finite could be opened again by another mask. */
    b = chosen(true, false, -3.4028235e38f, true);
    expect(&b, "Sin Cos Neg Attention(4 scale=1)");
    b = start("2, 3, 5, 4", 4);
    float values[LENGTH * LENGTH];
    for (size_t i = 0; i < LENGTH * LENGTH; i++)
        values[i] = i % LENGTH <= i / LENGTH ? 0 : -INFINITY;
    builder_floats(&b, "mask", "1, 1, 5, 5", values);
    builder_node(&b, "MatMul", "q kt", "s");
    builder_node(&b, "Add", "s mask", "m");
    end(&b, "m");
    expect(&b, CAUSAL);
}

/* What a query sees of `k` keys up to its own place, `k` being whatever x has. */
static model_builder any_length(void)
{
    model_builder b = start("N, 3, L, 4", 4);
    pgy_onnx_node *shape = builder_node(&b, "Shape", "x", "length");
    builder_attr_int(&b, shape, "start", 2);
    builder_attr_int(&b, shape, "end", 3);
    number(&b, "closed", -INFINITY);
    builder_ints(&b, "none", "", (const int64_t[]){0});
    builder_ints(&b, "one", "", (const int64_t[]){1});
    builder_ints(&b, "first", "1", (const int64_t[]){0});
    builder_ints(&b, "second", "1", (const int64_t[]){1});
    builder_node(&b, "MatMul", "q kt", "s");
    return b;
}

static model_builder compared(const char *op, const char *places, bool opposite)
{
    model_builder b = any_length();
    builder_node(&b, "Squeeze", "length", "l");
    builder_node(&b, "Range", "none l one", "r");
    builder_node(&b, "Unsqueeze", "r first", "keys");
    builder_node(&b, "Unsqueeze", "r second", "queries");
    builder_node(&b, op, places, "open");
    builder_node(&b, "Where", opposite ? "open closed s" : "open s closed", "w");
    end(&b, "w");
    return b;
}

static void test_attention__a_triangle_of_any_length(void **state)
{
    (void)state;
    static const char CAUSAL[] = "Sin Cos Neg Attention(3 is_causal=1 scale=1)";
    model_builder b = compared("LessOrEqual", "keys queries", false);
    expect(&b, CAUSAL);
    b = compared("GreaterOrEqual", "queries keys", false);
    expect(&b, CAUSAL);
    b = compared("Greater", "keys queries", true);
    expect(&b, CAUSAL);
    b = compared("Less", "queries keys", true);
    expect(&b, CAUSAL);
    /* Keys from the query's own place on. */
    b = compared("GreaterOrEqual", "keys queries", false);
    expect(&b, "Sin Cos Neg Shape Squeeze Range Unsqueeze Unsqueeze GreaterOrEqual "
               "Attention(4 scale=1)");
}

static void test_attention__a_triangle_of_one_number(void **state)
{
    (void)state;
    model_builder b = any_length();
    const float closed = -INFINITY;
    pgy_tensor *value = NULL;
    assert_int_equal(pgy_tensor_create(&value, PGY_F32, 1, (const int64_t[]){1}, NULL), 0);
    *(float *)pgy_tensor_data(value) = closed;
    builder_attr_int(&b, builder_node(&b, "Concat", "length length", "both"), "axis", 0);
    builder_attr_tensor(&b, builder_node(&b, "ConstantOfShape", "both", "all"), "value", value);
    builder_node(&b, "Trilu", "all one", "above");
    builder_node(&b, "Add", "s above", "m");
    end(&b, "m");
    expect(&b, "Sin Cos Neg Attention(3 is_causal=1 scale=1)");
    pgy_tensor_release(value);
}

/* The front of a triangle that is large enough, for Where and for an addition. */
static void test_attention__a_part_of_a_triangle(void **state)
{
    (void)state;
    float values[16 * 16];
    for (size_t i = 0; i < 256; i++) values[i] = i % 16 <= i / 16;
    for (int added = 0; added < 2; added++) {
        model_builder b = any_length();
        builder_floats(&b, "bias", "1, 1, 16, 16", values);
        builder_ints(&b, "rows", "1", (const int64_t[]){2});
        builder_ints(&b, "columns", "1", (const int64_t[]){3});
        number(&b, "low", -3.4028235e38f);
        number(&b, "unit", 1);
        number(&b, "zero", 0);
        builder_node(&b, "Slice", "bias first length rows", "top");
        builder_node(&b, "Slice", "top first length columns", "part");
        if (added) {
            builder_node(&b, "Sub", "unit part", "rest");
            builder_node(&b, "Mul", "rest low", "mask");
            builder_node(&b, "Add", "s mask", "m");
        } else {
            builder_node(&b, "Equal", "part zero", "shut");
            builder_node(&b, "Where", "shut closed s", "m");
        }
        end(&b, "m");
        expect(&b, "Sin Cos Neg Attention(3 is_causal=1 scale=1)");
    }
}

/* Scores and mask are multiplied together. */
static void test_attention__a_mask_before_the_scale(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 5, 4", 4);
    number(&b, "half", 0.5f);
    bias(&b, "mask", "5, 5", 25);
    builder_node(&b, "MatMul", "q kt", "qk");
    builder_node(&b, "Add", "qk mask", "sm");
    builder_node(&b, "Mul", "sm half", "s");
    end(&b, "s");
    expect(&b, "Sin Cos Neg Attention(4 scale=0.5)");
}

/* ONNX Runtime gives 0 for a row that is closed with the lowest number, where a mean was. */
static void test_attention__no_mask_closes_with_the_lowest_number(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 5, 4", 4);
    builder_input(&b, "mask", PGY_F32, "2, 1, 5, 5");
    builder_node(&b, "MatMul", "q kt", "s");
    builder_node(&b, "Add", "s mask", "m");
    end(&b, "m");
    expect(&b, "Sin Cos Neg Max Attention(4 scale=1)");
    b = start("2, 3, 5, 4", 4);
    builder_input(&b, "seen", PGY_F32, "2, 1, 5, 5");
    number(&b, "zero", 0);
    number(&b, "low", -3.4028235e38f);
    builder_node(&b, "Greater", "seen zero", "open");
    builder_node(&b, "Where", "open zero low", "mask");
    builder_node(&b, "MatMul", "q kt", "s");
    builder_node(&b, "Add", "s mask", "m");
    end(&b, "m");
    expect(&b, "Sin Cos Neg Greater Where Attention(4 scale=1)");
    /* What is computed otherwise is no mask that closes. */
    b = start("2, 3, 5, 4", 4);
    builder_node(&b, "MatMul", "v kt", "s");
    builder_node(&b, "Tanh", "s", "bias");
    builder_node(&b, "MatMul", "q kt", "s2");
    builder_node(&b, "Add", "s2 bias", "m");
    end(&b, "m");
    expect(&b, "Sin Cos Neg Transpose MatMul Tanh Attention(4 scale=1)");
}

/* Rows that see no key are 0, as Attention has it. */
static void test_attention__rows_without_keys(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 5, 4", 4);
    uint8_t open[LENGTH * LENGTH];
    for (size_t i = 0; i < sizeof open; i++) open[i] = i / LENGTH != 2;
    bools(&b, "open", open);
    number(&b, "closed", -INFINITY);
    number(&b, "zero", 0);
    builder_node(&b, "MatMul", "q kt", "s");
    builder_node(&b, "Where", "open s closed", "w");
    builder_attr_int(&b, builder_node(&b, "Softmax", "w", "p"), "axis", -1);
    builder_node(&b, "IsNaN", "p", "none");
    builder_node(&b, "Where", "none zero p", "pz");
    builder_node(&b, "MatMul", "pz v", "y");
    expect(&b, "Sin Cos Neg Attention(4 scale=1)");
    /* Without the guard they are no numbers. */
    b = start("2, 3, 5, 4", 4);
    bools(&b, "open", open);
    number(&b, "closed", -INFINITY);
    builder_node(&b, "MatMul", "q kt", "s");
    builder_node(&b, "Where", "open s closed", "w");
    end(&b, "w");
    check(&b, "Sin Cos Neg Transpose MatMul Where Softmax MatMul", 1);
}

static void test_attention__a_floor_below_everything_goes(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 5, 4", 4);
    number(&b, "floor", -3.4028235e38f);
    bias(&b, "mask", "2, 1, 5, 5", 50);
    builder_node(&b, "MatMul", "q kt", "s");
    builder_node(&b, "Add", "s mask", "m");
    builder_node(&b, "Max", "m floor", "f");
    end(&b, "f");
    expect(&b, "Sin Cos Neg Attention(4 scale=1)");
}

/* ---- Axes ----------------------------------------------------------------------------------- */

/* Heads are part of the batch, a bias is added there, and the mask where they are apart. */
static model_builder merged(const char *shape)
{
    model_builder b = start(shape, 4);
    builder_ints(&b, "rows", "3", (const int64_t[]){-1, 5, 4});
    builder_ints(&b, "columns", "3", (const int64_t[]){-1, 4, 5});
    builder_ints(&b, "scores", "4", (const int64_t[]){-1, 3, 5, 5});
    builder_ints(&b, "joined", "3", (const int64_t[]){-1, 5, 5});
    builder_ints(&b, "apart", "4", (const int64_t[]){-1, 3, 5, 4});
    bias(&b, "bias", "1, 5, 5", 25);
    bias(&b, "mask", "1, 3, 1, 5", 15);
    builder_node(&b, "Reshape", "q rows", "q3");
    builder_node(&b, "Reshape", "kt columns", "k3");
    builder_node(&b, "Reshape", "v rows", "v3");
    builder_node(&b, "MatMul", "q3 k3", "s3");
    builder_node(&b, "Add", "s3 bias", "b3");
    builder_node(&b, "Reshape", "b3 scores", "s");
    builder_node(&b, "Add", "s mask", "m");
    builder_attr_int(&b, builder_node(&b, "Softmax", "m", "p"), "axis", -1);
    builder_node(&b, "Reshape", "p joined", "p3");
    builder_node(&b, "MatMul", "p3 v3", "y3");
    builder_node(&b, "Reshape", "y3 apart", "y");
    return b;
}

static void test_attention__heads_in_the_batch(void **state)
{
    (void)state;
    model_builder b = merged("2, 3, 5, 4");
    expect(&b, "Sin Cos Neg Attention(4 scale=1)");
    b = merged("N, 3, 5, 4");
    expect(&b, "Sin Cos Neg Attention(4 scale=1)");
}

static void test_attention__no_batch(void **state)
{
    (void)state;
    model_builder b = start("3, 5, 4", 3);
    bias(&b, "mask", "3, 5, 5", 75);
    builder_node(&b, "MatMul", "q kt", "s");
    builder_node(&b, "Add", "s mask", "m");
    end(&b, "m");
    expect(&b, "Sin Cos Neg Unsqueeze Unsqueeze Unsqueeze Attention(4 scale=1) Squeeze");
}

/* [length, heads, size], as torch's MultiheadAttention has it. */
static void test_attention__length_first(void **state)
{
    (void)state;
    static const int64_t FRONT[] = {1, 0, 2}, TURNED[] = {1, 2, 0};
    model_builder b = builder_start(23);
    builder_input(&b, "x", PGY_F32, "5, 3, 4");
    builder_output(&b, "y", PGY_F32, "5, 3, 4");
    builder_node(&b, "Sin", "x", "q");
    builder_node(&b, "Cos", "x", "k");
    turn(&b, "q", "qh", 3, FRONT);
    turn(&b, "k", "kt", 3, TURNED);
    turn(&b, "x", "v", 3, FRONT);
    builder_node(&b, "MatMul", "qh kt", "s");
    builder_attr_int(&b, builder_node(&b, "Softmax", "s", "p"), "axis", 2);
    builder_node(&b, "MatMul", "p v", "z");
    turn(&b, "z", "y", 3, FRONT);
    expect(&b, "Sin Cos Reshape Reshape Reshape Attention(3 q_num_heads=3 kv_num_heads=3 scale=1) "
               "Reshape");
}

static void test_attention__einsum_of_matrices(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 5, 4", 4);
    builder_attr_string(&b, builder_node(&b, "Einsum", "q k", "s"), "equation",
                        "bhid, bhjd -> bhij");
    builder_attr_int(&b, builder_node(&b, "Softmax", "s", "p"), "axis", -1);
    builder_attr_string(&b, builder_node(&b, "Einsum", "p v", "y"), "equation", "bhij,bhjd->bhid");
    expect(&b, "Sin Cos Neg Attention(3 scale=1)");
    /* The sum is over the queries. */
    b = start("2, 3, 4, 4", 4);
    builder_attr_string(&b, builder_node(&b, "Einsum", "q k", "s"), "equation", "bhdi,bhdj->bhij");
    end(&b, "s");
    expect(&b, "Sin Cos Neg Einsum Softmax MatMul");
}

/* [batch, length, heads, size] on all sides; the mask is subtracted. */
static void test_attention__einsum_of_heads_apart(void **state)
{
    (void)state;
    model_builder b = builder_start(23);
    builder_input(&b, "x", PGY_F32, "2, 5, 3, 4");
    builder_output(&b, "y", PGY_F32, "2, 5, 3, 4");
    bias(&b, "mask", "2, 1, 1, 5", 10);
    builder_node(&b, "Sin", "x", "q");
    builder_node(&b, "Cos", "x", "k");
    builder_attr_string(&b, builder_node(&b, "Einsum", "q k", "s"), "equation",
                        "...qhd,...khd->...hqk");
    builder_node(&b, "Sub", "s mask", "m");
    builder_attr_int(&b, builder_node(&b, "Softmax", "m", "p"), "axis", -1);
    builder_attr_string(&b, builder_node(&b, "Einsum", "p x", "y"), "equation", "bnij,bjnd->bind");
    expect(&b, "Sin Cos Reshape Reshape Reshape Attention(4 q_num_heads=3 kv_num_heads=3 scale=1) "
               "Reshape");
}

/* [length, batch, heads, size] on all sides, as XLNet has it. */
static void test_attention__einsum_of_lengths_first(void **state)
{
    (void)state;
    model_builder b = builder_start(23);
    builder_input(&b, "x", PGY_F32, "5, 2, 3, 4");
    builder_output(&b, "y", PGY_F32, "5, 2, 3, 4");
    number(&b, "half", 0.5f);
    bias(&b, "mask", "2, 3, 5, 5", 150);
    builder_node(&b, "Sin", "x", "q");
    builder_node(&b, "Cos", "x", "k");
    builder_attr_string(&b, builder_node(&b, "Einsum", "q k", "s"), "equation", "ibnd,jbnd->bnij");
    builder_node(&b, "Add", "s mask", "sm");
    builder_node(&b, "Mul", "sm half", "m");
    builder_attr_int(&b, builder_node(&b, "Softmax", "m", "p"), "axis", 3);
    builder_attr_string(&b, builder_node(&b, "Einsum", "p x", "y"), "equation", "bnij,jbnd->ibnd");
    expect(&b, "Sin Cos Transpose Transpose Transpose Attention(4 scale=0.5) Transpose");
}

/* ---- Caches --------------------------------------------------------------------------------- */

/* Keys and values are those of a cache and new ones; both are given back. */
static model_builder cached(const char *values, bool given_back)
{
    model_builder b = start("2, 3, 5, 4", 4);
    builder_input(&b, "old_k", PGY_F32, "2, 3, P, 4");
    builder_input(&b, "old_v", PGY_F32, "2, 3, P, 4");
    builder_attr_int(&b, builder_node(&b, "Concat", "old_k k", "all_k"), "axis", 2);
    builder_attr_int(&b, builder_node(&b, "Concat", values, "all_v"), "axis", -2);
    builder_output(&b, "all_k", PGY_F32, NULL);
    if (given_back) builder_output(&b, "all_v", PGY_F32, NULL);
    turn(&b, "all_k", "at", 4, (const int64_t[]){0, 1, 3, 2});
    builder_node(&b, "MatMul", "q at", "s");
    builder_attr_int(&b, builder_node(&b, "Softmax", "s", "p"), "axis", -1);
    builder_node(&b, "MatMul", "p all_v", "y");
    return b;
}

static void test_attention__a_cache_is_an_input(void **state)
{
    (void)state;
    model_builder b = cached("old_v v", true);
    expect(&b, "Sin Cos Neg Attention(6 scale=1)");
    /* New values that come first, and a cache that nobody gets. */
    b = cached("v old_v", true);
    expect(&b, "Sin Cos Neg Concat Concat Attention(3 scale=1)");
    b = cached("old_v v", false);
    expect(&b, "Sin Cos Neg Concat Concat Attention(3 scale=1)");
}

/* The shape of the new keys is computed from those of the cache and the keys, so their readers do
 * not keep the cache from Attention. Other readers do. */
static void test_attention__shapes_of_a_cache(void **state)
{
    static const struct {
        int64_t start, end;
        const char *nodes;
    } CASES[] = {{0, 4, "Shape Add "}, {2, 3, "Shape Add "}, {1, -1, "Shape Add "},
                 {-9, 2, ""},          {3, 9, ""},           {2, 2, ""}};
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        model_builder b = cached("old_v v", true);
        pgy_onnx_node *n = builder_node(&b, "Shape", "all_k", "sizes");
        char nodes[64];
        builder_attr_int(&b, n, "start", CASES[i].start);
        builder_attr_int(&b, n, "end", CASES[i].end);
        builder_output(&b, "sizes", PGY_I64, NULL);
        snprintf(nodes, sizeof nodes, "Sin Cos Neg %sAttention(6 scale=1)", CASES[i].nodes);
        expect(&b, nodes);
    }
    model_builder b = cached("old_v v", true);
    builder_node(&b, "Neg", "all_k", "seen");
    builder_output(&b, "seen", PGY_F32, NULL);
    expect(&b, "Sin Cos Neg Concat Concat Neg Attention(3 scale=1)");
}

/* ---- Shared keys ---------------------------------------------------------------------------- */

static model_builder grouped(bool values_too)
{
    model_builder b = builder_start(23);
    builder_input(&b, "x", PGY_F32, "2, 4, 5, 4");
    builder_input(&b, "k", PGY_F32, "2, 2, 5, 4");
    builder_output(&b, "y", PGY_F32, "2, 4, 5, 4");
    builder_ints(&b, "axis", "1", (const int64_t[]){2});
    builder_ints(&b, "many", "5", (const int64_t[]){2, 2, 2, 5, 4});
    builder_ints(&b, "whole", "4", (const int64_t[]){2, 4, 5, 4});
    builder_node(&b, "Neg", "k", "v");
    for (size_t i = 0; i < 2; i++) {
        const char *const names[][4] = {{"k axis", "k1", "k1 many", "k2"},
                                        {"v axis", "v1", "v1 many", "v2"}};
        builder_node(&b, "Unsqueeze", names[i][0], names[i][1]);
        builder_node(&b, "Expand", names[i][2], names[i][3]);
    }
    builder_node(&b, "Reshape", "k2 whole", "kr");
    builder_node(&b, "Reshape", "v2 whole", "vr");
    turn(&b, "kr", "kt", 4, (const int64_t[]){0, 1, 3, 2});
    builder_node(&b, "MatMul", "x kt", "s");
    builder_attr_int(&b, builder_node(&b, "Softmax", "s", "p"), "axis", -1);
    builder_node(&b, "MatMul", values_too ? "p vr" : "p x", "y");
    return b;
}

static void test_attention__repeated_keys_are_shared(void **state)
{
    (void)state;
    model_builder b = grouped(true);
    expect(&b, "Neg Attention(3 scale=1)");
    /* Values that are not repeated need keys that are. */
    b = grouped(false);
    expect(&b, "Unsqueeze Expand Reshape Attention(3 scale=1)");
}
