/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences and optionals, which the case files cannot hold: each operator run on values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "ops/op.h"

static op_tensor vector(size_t count, const int64_t *values)
{
    op_tensor t = {.dtype = PGY_I64};
    const int64_t shape[1] = {(int64_t)count};
    assert_int_equal(pgy_tensor_create(&t.value, PGY_I64, 1, shape, NULL), PGY_OK);
    memcpy(pgy_tensor_data(t.value), values, count * sizeof *values);
    return t;
}

static op_tensor scalar(int64_t value)
{
    op_tensor t = {.dtype = PGY_I64};
    assert_int_equal(pgy_tensor_create(&t.value, PGY_I64, 0, NULL, NULL), PGY_OK);
    *op_i64(t.value) = value;
    return t;
}

static pgy_status run_with(op_tensor *out, const char *op, int64_t opset, const op_attr *attrs,
                           size_t attr_count, const op_tensor *inputs, size_t count, pgy_error *err)
{
    const bool wanted[1] = {true};
    const op_node n = {.def = op_find("", op, opset),
                       .name = "n",
                       .opset = opset,
                       .attrs = attrs,
                       .attr_count = attr_count,
                       .input_count = count,
                       .output_count = 1};
    assert_non_null(n.def);
    const pgy_status st = op_check_node(&n, err);
    return st ? st : op_run(&n, inputs, out, wanted, NULL, err);
}

/* Runs an operator without attributes that must succeed. */
static op_tensor run(const char *op, int64_t opset, const op_tensor *inputs, size_t count)
{
    op_tensor out = {0};
    pgy_error err = {0};
    const pgy_status st = run_with(&out, op, opset, NULL, 0, inputs, count, &err);
    if (st) fail_msg("%s", err.text);
    return out;
}

static void assert_vector(const op_tensor *t, size_t count, const int64_t *values)
{
    assert_non_null(t->value);
    assert_int_equal(pgy_tensor_count(t->value), count);
    assert_memory_equal(pgy_tensor_data(t->value), values, count * sizeof *values);
}

static void release(op_tensor *values, size_t count)
{
    for (size_t i = 0; i < count; i++) op_tensor_release(&values[i]);
}

static op_tensor two_items(void)
{
    op_tensor items[2] = {vector(2, (int64_t[]){1, 2}), vector(1, (int64_t[]){3})};
    op_tensor s = run("SequenceConstruct", 11, items, 2);
    release(items, 2);
    return s;
}

static void test_sequence__at_counts_negative_positions_from_the_end(void **state)
{
    (void)state;
    op_tensor in[2] = {two_items(), scalar(-1)};
    op_tensor item = run("SequenceAt", 11, in, 2);
    assert_vector(&item, 1, (int64_t[]){3});
    release(&item, 1);
    *op_i64(in[1].value) = 0;
    item = run("SequenceAt", 11, in, 2);
    assert_vector(&item, 2, (int64_t[]){1, 2});
    release(&item, 1);
    release(in, 2);
}

static void test_sequence__at_refuses_positions_outside(void **state)
{
    (void)state;
    static const int64_t POSITIONS[] = {2, -3, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 4; i++) {
        op_tensor in[2] = {two_items(), scalar(POSITIONS[i])}, out = {0};
        pgy_error err = {0};
        assert_int_equal(run_with(&out, "SequenceAt", 11, NULL, 0, in, 2, &err), PGY_E_ARGUMENT);
        assert_non_null(strstr(err.text, "out of range for a sequence of 2"));
        release(in, 2);
    }
}

static void test_sequence__insert_and_erase_leave_the_original_alone(void **state)
{
    (void)state;
    op_tensor in[3] = {two_items(), vector(1, (int64_t[]){9}), scalar(1)};
    op_tensor longer = run("SequenceInsert", 11, in, 3);
    assert_int_equal(longer.sequence->count, 3);
    assert_vector(&longer.sequence->items[1], 1, (int64_t[]){9});
    assert_vector(&longer.sequence->items[2], 1, (int64_t[]){3});
    assert_int_equal(in[0].sequence->count, 2);
    op_tensor shorter = run("SequenceErase", 11, &longer, 1);
    assert_int_equal(shorter.sequence->count, 2);
    assert_vector(&shorter.sequence->items[1], 1, (int64_t[]){9});
    assert_int_equal(longer.sequence->count, 3);
    release(&shorter, 1);
    release(&longer, 1);
    op_tensor at_end = run("SequenceInsert", 11, in, 2);
    assert_vector(&at_end.sequence->items[2], 1, (int64_t[]){9});
    release(&at_end, 1);
    release(in, 3);
}

static void test_sequence__empty_has_no_items_to_erase(void **state)
{
    (void)state;
    op_tensor empty = run("SequenceEmpty", 11, NULL, 0), length, out = {0};
    pgy_error err = {0};
    length = run("SequenceLength", 11, &empty, 1);
    assert_int_equal(*op_i64(length.value), 0);
    assert_int_equal(run_with(&out, "SequenceErase", 11, NULL, 0, &empty, 1, &err), PGY_E_ARGUMENT);
    release(&length, 1);
    release(&empty, 1);
}

static void test_sequence__split_gives_a_shorter_last_piece(void **state)
{
    (void)state;
    op_tensor in[2] = {vector(5, (int64_t[]){1, 2, 3, 4, 5}), scalar(2)};
    op_tensor s = run("SplitToSequence", 11, in, 2);
    assert_int_equal(s.sequence->count, 3);
    assert_vector(&s.sequence->items[1], 2, (int64_t[]){3, 4});
    assert_vector(&s.sequence->items[2], 1, (int64_t[]){5});
    release(&s, 1);
    release(in, 2);
}

static void test_sequence__split_by_lengths_and_join_again(void **state)
{
    (void)state;
    const op_attr axis = {.name = "axis", .kind = OP_ATTR_INT, .i = 0};
    op_tensor in[2] = {vector(4, (int64_t[]){1, 2, 3, 4}), vector(2, (int64_t[]){3, 1})}, y = {0};
    op_tensor s = run("SplitToSequence", 24, in, 2);
    assert_vector(&s.sequence->items[0], 3, (int64_t[]){1, 2, 3});
    assert_int_equal(run_with(&y, "ConcatFromSequence", 11, &axis, 1, &s, 1, NULL), PGY_OK);
    assert_vector(&y, 4, (int64_t[]){1, 2, 3, 4});
    release(&y, 1);
    release(&s, 1);
    release(in, 2);
}

static void test_sequence__split_without_lengths_can_drop_the_axis(void **state)
{
    (void)state;
    const op_attr keep = {.name = "keepdims", .kind = OP_ATTR_INT, .i = 0};
    op_tensor x = vector(2, (int64_t[]){7, 8}), s = {0};
    assert_int_equal(run_with(&s, "SplitToSequence", 11, &keep, 1, &x, 1, NULL), PGY_OK);
    assert_int_equal(s.sequence->count, 2);
    assert_int_equal(pgy_tensor_rank(s.sequence->items[0].value), 0);
    assert_vector(&s.sequence->items[1], 1, (int64_t[]){8});
    release(&s, 1);
    release(&x, 1);
}

static void test_sequence__split_refuses_lengths_that_do_not_add_up(void **state)
{
    (void)state;
    op_tensor in[2] = {vector(4, (int64_t[]){1, 2, 3, 4}), vector(2, (int64_t[]){3, 2})}, y = {0};
    pgy_error err = {0};
    assert_int_equal(run_with(&y, "SplitToSequence", 11, NULL, 0, in, 2, &err), PGY_E_SHAPE);
    release(&in[1], 1);
    in[1] = scalar(0);
    assert_int_equal(run_with(&y, "SplitToSequence", 11, NULL, 0, in, 2, &err), PGY_E_ARGUMENT);
    release(in, 2);
}

static void test_sequence__stacking_needs_equal_shapes(void **state)
{
    (void)state;
    const op_attr attrs[2] = {{.name = "axis", .kind = OP_ATTR_INT, .i = -1},
                              {.name = "new_axis", .kind = OP_ATTR_INT, .i = 1}};
    op_tensor items[2] = {vector(2, (int64_t[]){1, 2}), vector(2, (int64_t[]){3, 4})}, y = {0};
    op_tensor s = run("SequenceConstruct", 11, items, 2), uneven = two_items();
    assert_int_equal(run_with(&y, "ConcatFromSequence", 11, attrs, 2, &s, 1, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_rank(y.value), 2);
    assert_vector(&y, 4, (int64_t[]){1, 3, 2, 4});
    release(&y, 1);
    assert_int_equal(run_with(&y, "ConcatFromSequence", 11, attrs, 2, &uneven, 1, NULL),
                     PGY_E_SHAPE);
    release(&uneven, 1);
    release(&s, 1);
    release(items, 2);
}

static void test_sequence__tensors_are_no_sequences(void **state)
{
    (void)state;
    op_tensor x = scalar(1), y = {0};
    pgy_error err = {0};
    assert_int_equal(run_with(&y, "SequenceLength", 11, NULL, 0, &x, 1, &err), PGY_E_TYPE);
    release(&x, 1);
}

static void test_sequence__operators_on_tensors_refuse_them(void **state)
{
    (void)state;
    op_tensor s[2] = {two_items(), two_items()}, y = {0};
    pgy_error err = {0};
    assert_int_equal(run_with(&y, "Abs", 13, NULL, 0, s, 1, &err), PGY_E_TYPE);
    assert_non_null(strstr(err.text, "input 0 'X' is a sequence of"));
    assert_int_equal(run_with(&y, "Concat", 13,
                              &(op_attr){.name = "axis", .kind = OP_ATTR_INT, .i = 0}, 1, s, 2,
                              &err),
                     PGY_E_TYPE);
    release(s, 2);
}

static bool has_element(const op_tensor *t, size_t count)
{
    op_tensor y = run("OptionalHasElement", 18, t, count);
    const bool has = *(const uint8_t *)pgy_tensor_data(y.value) != 0;
    release(&y, 1);
    return has;
}

static void test_sequence__optional_holds_what_it_was_given(void **state)
{
    (void)state;
    op_tensor x = vector(1, (int64_t[]){5}), empty = run("SequenceEmpty", 11, NULL, 0);
    op_tensor some = run("Optional", 15, &x, 1), list = run("Optional", 15, &empty, 1);
    op_tensor y = run("OptionalGetElement", 15, &some, 1);
    assert_vector(&y, 1, (int64_t[]){5});
    assert_true(has_element(&some, 1));
    assert_true(has_element(&list, 1)); /* an empty sequence is an element too */
    release(&y, 1);
    release(&list, 1);
    release(&some, 1);
    release(&empty, 1);
    release(&x, 1);
}

static void test_sequence__optional_without_element(void **state)
{
    (void)state;
    op_tensor none = run("Optional", 15, NULL, 0), y = {0}, omitted = {0};
    pgy_error err = {0};
    assert_false(has_element(&none, 1));
    assert_false(has_element(&omitted, 1));
    assert_false(has_element(NULL, 0));
    assert_int_equal(run_with(&y, "OptionalGetElement", 18, NULL, 0, &none, 1, &err),
                     PGY_E_ARGUMENT);
    release(&none, 1);
}
