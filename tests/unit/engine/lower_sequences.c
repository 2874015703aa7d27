/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of SplitToSequence, and those that stay sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/pass_case.h"

/* Piece `at` of x, 7 rows of 5, along `axis`, in pieces of `lengths`; "": of one length. */
static model_builder start_piece(const char *shape, const int64_t *lengths, int64_t axis,
                                 int64_t keepdims, int64_t at)
{
    model_builder b = start("7, 5");
    if (lengths) ints(&b, "n", shape, lengths);
    ints(&b, "at", "", &at);
    pgy_onnx_node *n = builder_node(&b, "SplitToSequence", lengths ? "x n" : "x", "s");
    builder_attr_int(&b, n, "axis", axis);
    builder_attr_int(&b, n, "keepdims", keepdims);
    builder_node(&b, "SequenceAt", "s at", "y");
    return b;
}

static void test_lower_sequences__listed_lengths(void **state)
{
    (void)state;
    static const int64_t ROWS[] = {2, 1, 4}, COLUMNS[] = {5};
    for (int64_t at = -3; at < 3; at++) {
        model_builder b = start_piece("3", ROWS, 0, 1, at);
        expect_y(&b, "Slice");
    }
    model_builder b = start_piece("1", COLUMNS, -1, 1, 0);
    expect_y(&b, "Slice");
}

static void test_lower_sequences__equal_lengths(void **state)
{
    (void)state;
    static const int64_t LENGTH[] = {3};
    for (int64_t at = -3; at < 3; at++) {
        model_builder b = start_piece("", LENGTH, 0, 0, at);
        expect_y(&b, "Slice");
    }
    model_builder b = start_piece("", LENGTH, 1, 1, 1);
    expect_y(&b, "Slice");
}

static void test_lower_sequences__single_rows(void **state)
{
    (void)state;
    for (int64_t at = -2; at < 3; at++) {
        model_builder b = start_piece("", NULL, 1, 1, at);
        expect_y(&b, "Slice");
        b = start_piece("", NULL, 1, 0, at);
        expect_y(&b, "Slice Squeeze");
    }
}

/* A piece of x, 6 rows of 4, at a position that the run decides: 0 or 1 (`at`), from the end
 * (`back`), or from the end in a list (`listed`). */
static model_builder start_found(const char *shape, const int64_t *lengths, int64_t axis,
                                 int64_t keepdims, const char *position)
{
    static const int64_t TWO = 2;
    model_builder b = start("6, 4");
    if (lengths) ints(&b, "n", shape, lengths);
    ints(&b, "two", "", &TWO);
    ints(&b, "twos", "1", &TWO);
    builder_attr_int(&b, builder_node(&b, "ReduceMax", "x", "most"), "keepdims", 0);
    builder_attr_int(&b, builder_node(&b, "Cast", "most", "whole"), "to", 7);
    builder_node(&b, "Mod", "whole two", "at");
    builder_node(&b, "Neg", "at", "back");
    builder_node(&b, "Sub", "at twos", "listed");
    pgy_onnx_node *n = builder_node(&b, "SplitToSequence", lengths ? "x n" : "x", "s");
    builder_attr_int(&b, n, "axis", axis);
    builder_attr_int(&b, n, "keepdims", keepdims);
    builder_node(&b, "SequenceAt", position, "y");
    return b;
}

static void test_lower_sequences__single_rows_at_any_position(void **state)
{
    (void)state;
    model_builder b = start_found("", NULL, 1, 0, "s at");
    expect_y(&b, "ReduceMax Cast Mod Gather");
    b = start_found("", NULL, -2, 0, "s back");
    expect_y(&b, "ReduceMax Cast Mod Neg Gather");
    b = start_found("", NULL, 0, 0, "s listed");
    expect_y(&b, "ReduceMax Cast Mod Sub Squeeze Gather");
    b = start_found("", NULL, 0, 1, "s at");
    expect_y(&b, "ReduceMax Cast Mod Unsqueeze Gather");
    b = start_found("", NULL, 1, 1, "s listed");
    expect_y(&b, "ReduceMax Cast Mod Sub Gather");
}

static void test_lower_sequences__equal_pieces_at_any_position(void **state)
{
    (void)state;
    static const int64_t THREE[] = {3}, TWICE[] = {3, 3}, COLUMNS[] = {2, 2};
    model_builder b = start_found("", THREE, 0, 1, "s at");
    expect_y(&b, "ReduceMax Cast Mod Reshape Gather");
    b = start_found("2", TWICE, 0, 0, "s back");
    expect_y(&b, "ReduceMax Cast Mod Neg Reshape Gather");
    b = start_found("2", COLUMNS, -1, 1, "s at");
    expect_y(&b, "ReduceMax Cast Mod Reshape Gather");
}

static void test_lower_sequences__unequal_pieces_at_any_position_stay(void **state)
{
    (void)state;
    static const int64_t FOUR[] = {4}, LISTED[] = {2, 4};
    model_builder b = start_found("", FOUR, 0, 1, "s at");
    expect_y(&b, "ReduceMax Cast Mod SplitToSequence SequenceAt");
    b = start_found("2", LISTED, 0, 1, "s at");
    expect_y(&b, "ReduceMax Cast Mod SplitToSequence SequenceAt");
}

/* Item `at` of three tensors, and all of them along an axis. */
static void test_lower_sequences__listed_tensors(void **state)
{
    (void)state;
    static const char *const NODES[] = {"Relu", "Neg", "Identity"};
    for (int64_t at = -3; at < 3; at++) {
        model_builder b = start("2, 3");
        ints(&b, "at", "", &at);
        builder_node(&b, "Relu", "x", "r");
        builder_node(&b, "Neg", "x", "m");
        builder_node(&b, "SequenceConstruct", "r m x", "s");
        builder_node(&b, "SequenceAt", "s at", "y");
        expect_y(&b, NODES[(at + 3) % 3]);
    }
    for (int64_t axis = -3; axis < 3; axis++) {
        const bool stacked = axis == -3 || axis == 2;
        model_builder b = start("2, 3");
        builder_node(&b, "Relu", "x", "r");
        builder_node(&b, "SequenceConstruct", "x r", "s");
        pgy_onnx_node *n = builder_node(&b, "ConcatFromSequence", "s", "y");
        builder_attr_int(&b, n, "axis", axis);
        builder_attr_int(&b, n, "new_axis", stacked);
        expect_y(&b, stacked ? NULL : "Relu Concat");
    }
}

/* A position that is out of range stays, and its error. */
static void test_lower_sequences__no_such_item_stays(void **state)
{
    (void)state;
    static const int64_t THIRD = 2;
    model_builder b = start("2, 3");
    ints(&b, "at", "", &THIRD);
    builder_node(&b, "SequenceConstruct", "x x", "s");
    builder_node(&b, "SequenceAt", "s at", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    pgy_graph *g = NULL;
    size_t changes = 0;
    assert_int_equal(pgy_graph_import(&g, model, NULL), PGY_OK);
    assert_int_equal(PASS_lower_sequences.run(g, &changes, NULL), PGY_OK);
    assert_int_equal(changes, 0);
    pgy_graph_destroy(g);
    pgy_model_destroy(model);
}

static void test_lower_sequences__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_lower_sequences)) skip();
    test_lower_sequences__listed_lengths(state);
    test_lower_sequences__equal_lengths(state);
    test_lower_sequences__single_rows(state);
    test_lower_sequences__single_rows_at_any_position(state);
    test_lower_sequences__equal_pieces_at_any_position(state);
    test_lower_sequences__listed_tensors(state);
    refuse_allocations_of(NULL);
}
