/* SPDX-License-Identifier: Apache-2.0 */
/* Query, key and value that stay in one tensor, and, for CUDA devices, products that become one and
 * slices that become a Split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "harness/pass_case.h"

enum { HEADS = 2, SIZE = 8, WIDTH = HEADS * SIZE };

static const int64_t ORDER[] = {0, 2, 1, 3};

/* `name` as [batch, heads, length, size] of `from`. */
static void heads(model_builder *b, const char *from, const char *name, const int64_t *perm)
{
    char cut[32], input[64];
    snprintf(cut, sizeof cut, "%s_r", name);
    snprintf(input, sizeof input, "%s split", from);
    builder_node(b, "Reshape", input, cut);
    builder_attr_ints(b, builder_node(b, "Transpose", cut, name), "perm", 4, perm);
}

static model_builder begin(void)
{
    static const int64_t SPLIT[] = {0, 0, HEADS, SIZE};
    model_builder b = start("2, 5, 8");
    ints(&b, "split", "4", SPLIT);
    scalar(&b, "scale", 0.5f);
    return b;
}

static void attend(model_builder *b, const char *q, const char *k, const char *v)
{
    static const int64_t JOIN[] = {0, 0, WIDTH}, TURNED[] = {0, 2, 3, 1};
    ints(b, "join", "3", JOIN);
    heads(b, q, "qh", ORDER);
    heads(b, k, "kh", TURNED);
    heads(b, v, "vh", ORDER);
    builder_node(b, "MatMul", "qh kh", "qk");
    builder_node(b, "Mul", "qk scale", "s");
    builder_attr_int(b, builder_node(b, "Softmax", "s", "p"), "axis", -1);
    builder_node(b, "MatMul", "p vh", "o");
    builder_attr_ints(b, builder_node(b, "Transpose", "o", "t"), "perm", 4, ORDER);
    builder_node(b, "Reshape", "t join", "y");
}

/* name = x * w + bias */
static void linear(model_builder *b, const char *name, const char *shape, size_t count,
                   const char *width, size_t columns)
{
    char w[32], product[32], inputs[64];
    snprintf(w, sizeof w, "%s_w", name);
    snprintf(product, sizeof product, "%s_m", name);
    snprintf(inputs, sizeof inputs, "x %s", w);
    weights(b, w, shape, count);
    builder_node(b, "MatMul", inputs, product);
    snprintf(w, sizeof w, "%s_b", name);
    weights(b, w, width, columns);
    snprintf(inputs, sizeof inputs, "%s %s", product, w);
    builder_node(b, "Add", inputs, name);
}

static void three_products(model_builder *b)
{
    linear(b, "q", "8, 16", 128, "16", 16);
    linear(b, "k", "8, 16", 128, "16", 16);
    linear(b, "v", "8, 16", 128, "16", 16);
    attend(b, "q", "k", "v");
}

static void test_pack_attention__products_of_one_tensor(void **state)
{
    (void)state;
    model_builder b = begin();
    three_products(&b);
    expect_y_on(&b, "cuda:0", "FusedMatMul PackedAttention Reshape Reshape");
}

static void test_pack_attention__products_become_one_only_for_cuda(void **state)
{
    (void)state;
    model_builder b = begin();
    three_products(&b);
    expect_y_on(&b, NULL, "FusedMatMul FusedMatMul FusedMatMul Attention Reshape Reshape");
}

/* Columns [from, from + 16) of "all". */
static void slice(model_builder *b, const char *name, int64_t from)
{
    char first[32], last[32], inputs[96];
    const int64_t end = from + WIDTH;
    snprintf(first, sizeof first, "%s_from", name);
    snprintf(last, sizeof last, "%s_to", name);
    ints(b, first, "1", &from);
    ints(b, last, "1", &end);
    snprintf(inputs, sizeof inputs, "all %s %s axis", first, last);
    builder_node(b, "Slice", inputs, name);
}

static model_builder begin_slices(int64_t k, int64_t v)
{
    static const int64_t AXIS = 2;
    model_builder b = begin();
    linear(&b, "all", "8, 48", 384, "48", 48);
    ints(&b, "axis", "1", &AXIS);
    slice(&b, "q", 0);
    slice(&b, "k", k);
    slice(&b, "v", v);
    return b;
}

static void test_pack_attention__slices_of_one_tensor(void **state)
{
    (void)state;
    model_builder b = begin_slices(WIDTH, 2 * WIDTH);
    attend(&b, "q", "k", "v");
    expect_y_on(&b, "cuda", "FusedMatMul PackedAttention Reshape Reshape");
}

static void test_pack_attention__slices_on_the_host(void **state)
{
    (void)state;
    model_builder b = begin_slices(WIDTH, 2 * WIDTH);
    attend(&b, "q", "k", "v");
    expect_y_on(&b, NULL, "FusedMatMul PackedAttention Reshape Reshape");
}

static void test_pack_attention__another_order_stays_on_the_host(void **state)
{
    (void)state;
    model_builder b = begin_slices(2 * WIDTH, WIDTH);
    attend(&b, "q", "k", "v");
    expect_y_on(&b, NULL, "FusedMatMul Slice Slice Slice Attention Reshape Reshape");
}

static void test_pack_attention__another_order_is_split(void **state)
{
    (void)state;
    model_builder b = begin_slices(2 * WIDTH, WIDTH);
    attend(&b, "q", "k", "v");
    expect_y_on(&b, "cuda", "FusedMatMul Split Attention Reshape Reshape");
}

static void test_pack_attention__overlapping_slices_stay(void **state)
{
    (void)state;
    model_builder b = begin_slices(SIZE, 2 * WIDTH);
    attend(&b, "q", "k", "v");
    expect_y_on(&b, "cuda", "FusedMatMul Slice Slice Slice Attention Reshape Reshape");
}

static void test_pack_attention__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_pack_attention)) skip();
    test_pack_attention__products_of_one_tensor(state);
    test_pack_attention__slices_of_one_tensor(state);
    refuse_allocations_of(NULL);
}
