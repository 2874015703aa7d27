/* SPDX-License-Identifier: Apache-2.0 */
/* Concats and Splits that have nothing to copy, because their pieces are made where they belong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/build/engine.h"
#include "engine/context/context.h"
#include "engine/tactics/replay.h"
#include "harness/model_builder.h"

/* A model of one input x, [16, 16]. */
static model_builder start_model(void)
{
    model_builder b = builder_start(18);
    builder_input(&b, "x", PGY_F32, "16, 16");
    return b;
}

static void join(model_builder *b, const char *inputs, int64_t axis, const char *output)
{
    builder_attr_int(b, builder_node(b, "Concat", inputs, output), "axis", axis);
}

/* Pieces p and q of 8 rows. */
static void split(model_builder *b, const char *input)
{
    builder_attr_int(b, builder_node(b, "Split", input, "p q"), "num_outputs", 2);
}

/* A tactic replay names the kernels of steps that are left out, too. */
static void expect_tactics(const program *p)
{
    tactics *t = NULL;
    assert_int_equal(tactics_of(&t, p, NULL), PGY_OK);
    for (size_t i = 0; i < p->left_out_count; i++)
        assert_non_null(tactics_find(t, p->left_out[i].label));
    tactics_destroy(t);
}

/* A run of the model on numbers from -2 to 2; *copies: its steps of Concat and Split. */
static pgy_tensor_map *run(pgy_model *model, bool unfused, size_t *copies)
{
    static const int64_t SHAPE[] = {16, 16};
    const pgy_build_config config = {.size = sizeof config, .debug_unfused = unfused};
    engine *e = NULL;
    context *c = NULL;
    program *p = NULL;
    pgy_tensor *x = NULL;
    pgy_tensor_map *feed = NULL, *got = NULL;
    pgy_error err = {0};
    if (engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    if (engine_program_for(&p, e, 0, &err)) fail_msg("%s", err.text);
    *copies = 0;
    for (size_t i = 0; i < p->step_count; i++)
        *copies += !strcmp(p->steps[i].op_type, "Concat") || !strcmp(p->steps[i].op_type, "Split");
    expect_tactics(p);
    program_release(p);
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&got, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&x, PGY_F32, 2, SHAPE, NULL), PGY_OK);
    for (size_t i = 0; i < 256; i++)
        ((float *)pgy_tensor_data(x))[i] = (float)(i * 37 % 101) / 25 - 2;
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", x, NULL), PGY_OK);
    assert_int_equal(context_create(&c, e, 1, &err), PGY_OK);
    for (int again = 0; again < 2; again++)
        if (context_run(c, feed, got, NULL, &err)) fail_msg("%s", err.text);
    context_destroy(c);
    engine_release(e);
    pgy_tensor_map_destroy(feed);
    return got;
}

/* The outputs y (and z) are those of a build that leaves all steps as they are, and `wanted` of the
 * Concats and Splits are left. */
static void expect(model_builder *b, const char *shape, size_t wanted)
{
    size_t copies, all;
    builder_output(b, "y", PGY_F32, shape);
    pgy_model *model = builder_finish_bytes(b);
    pgy_tensor_map *got = run(model, false, &copies), *plain = run(model, true, &all);
    assert_int_equal(copies, wanted);
    assert_true(all >= wanted);
    for (size_t i = 0; i < pgy_tensor_map_count(plain); i++)
        assert_memory_equal(pgy_tensor_data(pgy_tensor_map_at(got, i)),
                            pgy_tensor_data(pgy_tensor_map_at(plain, i)),
                            pgy_tensor_size_bytes(pgy_tensor_map_at(plain, i)));
    pgy_tensor_map_destroy(got);
    pgy_tensor_map_destroy(plain);
    pgy_model_destroy(model);
}

static void test_joins__results_are_made_in_the_output_of_concat(void **state)
{
    (void)state;
    model_builder b = start_model();
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "Sigmoid", "x", "c");
    join(&b, "a c", 0, "j");
    builder_node(&b, "Transpose", "j", "y");
    expect(&b, "16, 32", 0);
}

/* Each Concat has all inputs of the one before it, as in a dense block, or that one itself. */
static void test_joins__concats_of_concats(void **state)
{
    (void)state;
    for (int nested = 0; nested < 2; nested++) {
        model_builder b = start_model();
        builder_node(&b, "Relu", "x", "a");
        builder_node(&b, "Sigmoid", "x", "c");
        join(&b, "a c", 0, "j");
        builder_node(&b, "Softmax", "j", "s");
        join(&b, nested ? "j s" : "a c s", 0, "k");
        builder_node(&b, "Transpose", "k", "y");
        expect(&b, "16, 64", 0);
    }
}

/* Sizes of the pieces are an input, a constant. */
static void test_joins__pieces_of_given_sizes_are_views(void **state)
{
    (void)state;
    static const int64_t SIZES[] = {4, 12};
    model_builder b = start_model();
    builder_ints(&b, "sizes", "2", SIZES);
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "Split", "a sizes", "p q");
    builder_node(&b, "Softmax", "q", "s");
    join(&b, "p q s", 0, "j");
    builder_node(&b, "Transpose", "j", "y");
    expect(&b, "16, 28", 0);
}

static void test_joins__pieces_of_split_are_views(void **state)
{
    (void)state;
    model_builder b = start_model();
    builder_node(&b, "Relu", "x", "a");
    split(&b, "a");
    builder_node(&b, "Softmax", "q", "s");
    join(&b, "p q s", 0, "j");
    builder_node(&b, "Transpose", "j", "y");
    expect(&b, "16, 24", 0);
    b = start_model();
    builder_node(&b, "Relu", "x", "a");
    split(&b, "a");
    join(&b, "q p", 0, "j"); /* not in the order in which they lie in memory */
    builder_node(&b, "Transpose", "j", "y");
    expect(&b, "16, 16", 1);
}

static void test_joins__views(void **state)
{
    static const int64_t ROWS[] = {32, 8};
    (void)state;
    model_builder b = start_model();
    builder_ints(&b, "rows", "2", ROWS);
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "Sigmoid", "x", "c");
    builder_node(&b, "Reshape", "a rows", "v");
    builder_node(&b, "Reshape", "c rows", "w");
    join(&b, "v w", 0, "j");
    builder_node(&b, "Transpose", "w", "t");
    builder_node(&b, "MatMul", "j t", "m");
    builder_node(&b, "Transpose", "m", "y");
    expect(&b, "32, 64", 0);
}

static void test_joins__what_must_be_copied(void **state)
{
    (void)state;
    model_builder b = start_model(); /* the same piece twice */
    builder_node(&b, "Relu", "x", "a");
    join(&b, "a a", 0, "j");
    builder_node(&b, "Transpose", "j", "y");
    expect(&b, "16, 32", 1);
    b = start_model(); /* memory of the caller */
    builder_node(&b, "Relu", "x", "a");
    join(&b, "x a", 0, "j");
    builder_node(&b, "Transpose", "j", "y");
    expect(&b, "16, 32", 1);
    b = start_model();
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "Softmax", "a", "c");
    join(&b, "a c", 0, "y");
    expect(&b, "32, 16", 1);
    b = start_model(); /* rows in turn */
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "Softmax", "a", "c");
    join(&b, "a c", 1, "j");
    builder_node(&b, "Transpose", "j", "y");
    expect(&b, "32, 16", 1);
}

/* A piece that does not begin at a multiple of 64 bytes. */
static void test_joins__addresses_that_kernels_expect(void **state)
{
    (void)state;
    model_builder b = start_model();
    builder_attr_int(&b, builder_node(&b, "ReduceSum", "x", "r"), "keepdims", 1);
    builder_node(&b, "Relu", "x", "a");
    builder_node(&b, "Flatten", "a", "f");
    builder_attr_int(&b, builder_node(&b, "Flatten", "r", "g"), "axis", 0);
    builder_attr_int(&b, builder_node(&b, "Flatten", "f", "h"), "axis", 0);
    join(&b, "g h", 1, "j");
    builder_node(&b, "Transpose", "j", "y");
    expect(&b, "257, 1", 1);
}

/* The output of the Concat would have to be kept from the first step to the last. */
static void test_joins__memory_does_not_grow(void **state)
{
    static const int64_t TIMES[] = {64, 64};
    (void)state;
    model_builder b = start_model();
    builder_ints(&b, "times", "2", TIMES);
    builder_node(&b, "Relu", "x", "early");
    builder_node(&b, "Tile", "x times", "large");
    builder_node(&b, "Softmax", "large", "other");
    builder_node(&b, "ReduceMax", "other", "one");
    builder_node(&b, "Add", "x one", "s");
    builder_node(&b, "Tile", "s times", "late");
    builder_attr_int(&b, builder_node(&b, "Flatten", "early", "e"), "axis", 0);
    builder_attr_int(&b, builder_node(&b, "Flatten", "late", "l"), "axis", 0);
    join(&b, "e l", 1, "j");
    builder_node(&b, "Transpose", "j", "y");
    expect(&b, "1048832, 1", 1);
}
