/* SPDX-License-Identifier: Apache-2.0 */
/* Attention as exporters write it, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "harness/pass_case.h"

enum { BATCH = 2, LENGTH = 5, HEADS = 3, SIZE = 4 };

/* x as [batch, heads, length, size] under a name, after a step that is not shared. */
static void heads(model_builder *b, const char *op, const char *name, const int64_t *perm)
{
    char inner[32], cut[32], input[64];
    snprintf(inner, sizeof inner, "%s_x", name);
    snprintf(cut, sizeof cut, "%s_r", name);
    snprintf(input, sizeof input, "%s_x split", name);
    builder_node(b, op, "x", inner);
    builder_node(b, "Reshape", input, cut);
    builder_attr_ints(b, builder_node(b, "Transpose", cut, name), "perm", 4, perm);
}

static model_builder start_heads(const int64_t *k_perm)
{
    static const int64_t SPLIT[] = {0, 0, HEADS, SIZE}, ORDER[] = {0, 2, 1, 3};
    model_builder b = start("2, 5, 12");
    ints(&b, "split", "4", SPLIT);
    scalar(&b, "scale", 0.5f);
    heads(&b, "Sin", "q", ORDER);
    heads(&b, "Cos", "k", k_perm);
    heads(&b, "Neg", "v", ORDER);
    return b;
}

static const int64_t TURNED[] = {0, 2, 3, 1}, ORDER[] = {0, 2, 1, 3}, SWAP[] = {0, 1, 3, 2};

static void end(model_builder *b, const char *scores, const char *nodes)
{
    static const int64_t JOIN[] = {0, 0, HEADS * SIZE};
    ints(b, "join", "3", JOIN);
    builder_attr_int(b, builder_node(b, "Softmax", scores, "p"), "axis", -1);
    builder_node(b, "MatMul", "p v", "o");
    builder_attr_ints(b, builder_node(b, "Transpose", "o", "t"), "perm", 4, ORDER);
    builder_node(b, "Reshape", "t join", "y");
    expect_y(b, nodes);
}

static void test_fuse_attention__heads_are_taken_as_they_lie(void **state)
{
    (void)state;
    model_builder b = start_heads(TURNED);
    weights(&b, "mask", "2, 1, 5, 5", 50);
    builder_node(&b, "MatMul", "q k", "qk");
    builder_node(&b, "Mul", "qk scale", "s");
    builder_node(&b, "Add", "s mask", "m");
    end(&b, "m", "Sin Cos Neg Attention Reshape Reshape");
}

static void test_fuse_attention__factors_of_queries_and_keys(void **state)
{
    (void)state;
    model_builder b = start_heads(ORDER);
    builder_attr_ints(&b, builder_node(&b, "Transpose", "k", "kt"), "perm", 4, SWAP);
    builder_node(&b, "Mul", "q scale", "qs");
    builder_node(&b, "Mul", "kt scale", "ks");
    builder_node(&b, "MatMul", "qs ks", "m");
    end(&b, "m", "Sin Cos Neg Attention Reshape Reshape");
}

static void test_fuse_attention__heads_that_lie_apart(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 5, 4");
    scalar(&b, "eight", 8);
    weights(&b, "mask", "5", 5);
    builder_node(&b, "Sin", "x", "q");
    builder_node(&b, "Cos", "x", "k");
    builder_attr_ints(&b, builder_node(&b, "Transpose", "k", "kt"), "perm", 4, SWAP);
    builder_node(&b, "MatMul", "q kt", "s");
    builder_node(&b, "Div", "s eight", "d");
    builder_node(&b, "Add", "mask d", "m");
    builder_node(&b, "Softmax", "m", "p");
    builder_node(&b, "MatMul", "p x", "y");
    expect_y(&b, "Sin Cos Attention");
}

static void test_fuse_attention__other_softmax_axes_and_shared_weights_stay(void **state)
{
    (void)state;
    for (int64_t shared = 0; shared < 2; shared++) {
        model_builder b = start("2, 3, 4, 4");
        builder_node(&b, "Sin", "x", "q");
        builder_node(&b, "MatMul", "q x", "s");
        builder_attr_int(&b, builder_node(&b, "Softmax", "s", "p"), "axis", shared ? -1 : 2);
        builder_node(&b, "MatMul", "p x", shared ? "o" : "y");
        if (shared) builder_node(&b, "Add", "o p", "y");
        expect_y(&b, shared ? "Sin MatMul Softmax FusedMatMul" : "Sin MatMul Softmax MatMul");
    }
}

/* Adds queries, new keys and values, and their Concats with caches, which are outputs. */
static model_builder start_caches(void)
{
    model_builder b = start("2, 4, 1, 4");
    builder_input(&b, "past_k", PGY_F32, "2, 4, 6, 4");
    builder_input(&b, "past_v", PGY_F32, "2, 4, 6, 4");
    scalar(&b, "half", 0.5f);
    builder_node(&b, "Sin", "x", "q");
    builder_node(&b, "Cos", "x", "new_k");
    builder_node(&b, "Neg", "x", "new_v");
    builder_attr_int(&b, builder_node(&b, "Concat", "past_k new_k", "k"), "axis", 2);
    builder_attr_int(&b, builder_node(&b, "Concat", "past_v new_v", "v"), "axis", -2);
    builder_output(&b, "k", PGY_F32, NULL);
    builder_attr_ints(&b, builder_node(&b, "Transpose", "k", "kt"), "perm", 4, SWAP);
    builder_node(&b, "MatMul", "q kt", "qk");
    builder_node(&b, "Mul", "qk half", "s");
    return b;
}

static void test_fuse_attention__caches_that_are_outputs(void **state)
{
    (void)state;
    for (int outputs = 0; outputs < 2; outputs++) {
        model_builder b = start_caches();
        if (outputs) builder_output(&b, "v", PGY_F32, NULL);
        weights(&b, "mask", "2, 1, 1, 7", 14);
        builder_node(&b, "Add", "s mask", "m");
        builder_attr_int(&b, builder_node(&b, "Softmax", "m", "p"), "axis", -1);
        builder_node(&b, "MatMul", "p v", "y");
        expect_y(&b, outputs ? "Sin Cos Neg Attention" : "Sin Cos Neg Concat Concat Attention");
    }
}

/* A mask of one column is for all keys. */
static void test_fuse_attention__a_mask_of_one_column(void **state)
{
    (void)state;
    model_builder b = start_caches();
    builder_output(&b, "v", PGY_F32, NULL);
    weights(&b, "mask", "2, 4, 1, 1", 8);
    builder_node(&b, "Add", "mask s", "m");
    builder_attr_int(&b, builder_node(&b, "Softmax", "m", "p"), "axis", -1);
    builder_node(&b, "MatMul", "p v", "y");
    expect_y(&b, "Sin Cos Neg Attention");
}

static void test_fuse_attention__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_fuse_attention)) skip();
    test_fuse_attention__factors_of_queries_and_keys(state);
    test_fuse_attention__heads_that_lie_apart(state);
    test_fuse_attention__caches_that_are_outputs(state);
    refuse_allocations_of(NULL);
}
