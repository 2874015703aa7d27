/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of SplitToSequence at constant positions, and those that stay sequences. */
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

/* A position that the run decides, in pieces of 2 or of single rows. */
static model_builder start_anywhere(bool rows, int64_t axis, int64_t keepdims)
{
    static const int64_t LENGTH[] = {2};
    model_builder b = start("7, 5");
    if (!rows) ints(&b, "n", "", LENGTH);
    pgy_onnx_node *n = builder_node(&b, "SplitToSequence", rows ? "x" : "x n", "s");
    builder_attr_int(&b, n, "axis", axis);
    builder_attr_int(&b, n, "keepdims", keepdims);
    builder_node(&b, "ReduceMax", "x", "most");
    builder_attr_int(&b, builder_node(&b, "Cast", "most", "at"), "to", 7);
    builder_node(&b, "Squeeze", "at", "place");
    builder_node(&b, "SequenceAt", "s place", "y");
    return b;
}

static void test_lower_sequences__other_positions_of_longer_pieces_stay(void **state)
{
    (void)state;
    model_builder b = start_anywhere(false, 0, 1);
    expect_y(&b, "SplitToSequence ReduceMax Cast Squeeze SequenceAt");
}

static void test_lower_sequences__other_positions_of_single_rows(void **state)
{
    (void)state;
    for (int64_t axis = -2; axis < 2; axis++) {
        model_builder b = start_anywhere(true, axis, 0);
        expect_y(&b, "ReduceMax Cast Squeeze Gather");
        b = start_anywhere(true, axis, 1);
        expect_y(&b, "ReduceMax Cast Squeeze Gather Unsqueeze");
    }
}

static void test_lower_sequences__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_lower_sequences)) skip();
    test_lower_sequences__listed_lengths(state);
    test_lower_sequences__equal_lengths(state);
    test_lower_sequences__single_rows(state);
    test_lower_sequences__other_positions_of_single_rows(state);
    refuse_allocations_of(NULL);
}
