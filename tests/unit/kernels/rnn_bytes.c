/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicQuantizeLSTM against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "harness/reference_case.h"

/* No number of H in these cases is so close to a tie that kernels and definition round it to
 * different bytes. */
static const double TOLERANCE = 2e-6;

typedef struct bytes_case {
    const char *direction;
    int steps, batch, in, hidden;
    pgy_dtype dtype;
    int zero;     /* of all weights */
    bool columns; /* scales and zero points of columns */
    bool bias, lengths, states, peepholes, coupled;
} bytes_case;

static void *add(reference_case *c, pgy_dtype dtype, int a, int b, int d)
{
    char text[64];
    if (d)
        snprintf(text, sizeof text, "%d %d %d", a, b, d);
    else if (b)
        snprintf(text, sizeof text, "%d %d", a, b);
    else
        snprintf(text, sizeof text, "%d", a);
    return reference_input(c, dtype, text);
}

/* Adds scales and zero points of a matrix. */
static void scales(reference_case *c, const bytes_case *t, int directions)
{
    const int columns = t->columns ? 4 * t->hidden : 0;
    const int count = directions * (columns ? columns : 1);
    float *s = add(c, PGY_F32, directions, columns, 0);
    for (int i = 0; i < count; i++) s[i] = (float)(1 + i % 3) / 256;
    reference_constant(c);
    int8_t *z = add(c, t->dtype, directions, columns, 0);
    for (int i = 0; i < count; i++) z[i] = (int8_t)(t->zero + (t->columns ? i % 3 : 0));
    reference_constant(c);
}

static void weights(reference_case *c, const bytes_case *t, int directions, int depth)
{
    uint8_t *w = add(c, t->dtype, directions, depth, 4 * t->hidden);
    for (int i = 0; t->zero && i < directions * depth * 4 * t->hidden; i++)
        w[i] = (uint8_t)(w[i] + t->zero);
    reference_constant(c);
}

static void start(reference_case *c, const bytes_case *t)
{
    const int directions = t->direction[0] == 'b' ? 2 : 1;
    reference_start(c, "com.microsoft", "DynamicQuantizeLSTM", 1);
    reference_attr_text(c, "direction", t->direction);
    reference_attr_int(c, "hidden_size", t->hidden);
    if (t->coupled) reference_attr_int(c, "input_forget", 1);
    add(c, PGY_F32, t->steps, t->batch, t->in);
    weights(c, t, directions, t->in);
    weights(c, t, directions, t->hidden);
    if (t->bias)
        add(c, PGY_F32, directions, 8 * t->hidden, 0);
    else
        reference_input(c, PGY_F32, NULL);
    if (t->bias) reference_constant(c);
    int32_t *lengths = t->lengths ? add(c, PGY_I32, t->batch, 0, 0) : NULL;
    if (!lengths) reference_input(c, PGY_I32, NULL);
    for (int b = 0; lengths && b < t->batch; b++) lengths[b] = (b * 3 + 1) % (t->steps + 1);
    for (int i = 0; i < 2; i++)
        if (t->states)
            add(c, PGY_F32, directions, t->batch, t->hidden);
        else
            reference_input(c, PGY_F32, NULL);
    if (t->peepholes) {
        add(c, PGY_F32, directions, 3 * t->hidden, 0);
        reference_constant(c);
    } else {
        reference_input(c, PGY_F32, NULL);
    }
    scales(c, t, directions);
    scales(c, t, directions);
}

static size_t run_case(const bytes_case *t)
{
    reference_case c;
    start(&c, t);
    return reference_run(&c, 3, TOLERANCE);
}

static void test_rnn_bytes__sizes_and_types(void **state)
{
    (void)state;
    static const bytes_case CASES[] = {
        {"forward", 5, 1, 7, 20, PGY_I8, 0, false, true, false, false, false, false},
        {"reverse", 4, 3, 16, 32, PGY_I8, 5, false, false, false, true, false, false},
        {"bidirectional", 6, 14, 9, 33, PGY_U8, 128, false, true, false, true, true, false},
        {"bidirectional", 7, 5, 9, 17, PGY_U8, 100, true, true, true, true, true, true},
        {"forward", 2, 4, 3, 300, PGY_I8, -3, true, true, false, false, false, false},
        {"reverse", 6, 40, 70, 130, PGY_I8, 0, true, true, true, true, false, false},
        {"bidirectional", 3, 9, 64, 64, PGY_U8, 0, false, true, true, false, true, false},
        {"forward", 1, 1, 1, 1, PGY_U8, 7, false, false, false, false, false, false},
        {"bidirectional", 130, 1, 9, 20, PGY_I8, 2, false, true, false, true, false, false},
        {"reverse", 3, 70, 5, 40, PGY_I8, 0, false, true, false, false, false, false},
        {"forward", 3, 70, 5, 40, PGY_U8, 90, false, true, true, false, false, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

/* X and scales that are not finite: what the definition gives. */
static void test_rnn_bytes__special_values(void **state)
{
    (void)state;
    static const float SPECIAL[] = {0, INFINITY, -INFINITY, NAN, 1e-42f, 3e38f};
    static const bytes_case CASE = {.direction = "bidirectional",
                                    .steps = 4,
                                    .batch = 2,
                                    .in = 5,
                                    .hidden = 18,
                                    .dtype = PGY_U8,
                                    .zero = 3,
                                    .columns = true};
    enum { W_SCALE = 8, R_SCALE = 10 };
    for (size_t i = 0; i < sizeof SPECIAL / sizeof *SPECIAL; i++)
        for (int where = 0; where < 3; where++) {
            reference_case c;
            start(&c, &CASE);
            pgy_tensor *t = c.inputs[where == 0 ? 0 : where == 1 ? W_SCALE : R_SCALE];
            ((float *)pgy_tensor_data(t))[7] = SPECIAL[i];
            assert_true(reference_run(&c, 3, TOLERANCE) > 0);
        }
}

/* What the kernels do not know is left to the definition. */
static void test_rnn_bytes__others_are_refused(void **state)
{
    (void)state;
    static const bytes_case CASE = {
        .direction = "forward", .steps = 2, .batch = 1, .in = 3, .hidden = 4, .dtype = PGY_I8};
    for (int i = 0; i < 12; i++) {
        reference_case c;
        start(&c, &CASE);
        const bool constant = c.constant[i];
        c.constant[i] = false;
        if (i == 0) reference_attr_float(&c, "clip", 1);
        const size_t accepted = reference_run(&c, 3, TOLERANCE);
        if (i == 0 || constant)
            assert_int_equal(accepted, 0);
        else
            assert_true(accepted > 0);
    }
}

/* Does any kernel accept these sizes? No elements are read. */
static bool is_accepted(int64_t steps, int64_t batch, int64_t in, int64_t hidden)
{
    static const int64_t one = 1;
    static const pgy_dtype DTYPES[] = {PGY_F32, PGY_I8, PGY_I8,  0,      0,       0,
                                       0,       0,      PGY_F32, PGY_I8, PGY_F32, PGY_I8};
    const int64_t x[] = {steps, batch, in}, w[] = {1, in, 4 * hidden},
                  r[] = {1, hidden, 4 * hidden};
    const int64_t y[] = {steps, 1, batch, hidden};
    reference_case c;
    bool accepted = false;
    reference_start(&c, "com.microsoft", "DynamicQuantizeLSTM", 1);
    kernel_problem u = {.node = &c.node, .input_count = 12, .output_count = 1};
    for (size_t i = 0; i < u.input_count; i++)
        u.inputs[i] = (kernel_tensor){.dtype = DTYPES[i],
                                      .rank = i < 3 ? 3 : 1,
                                      .shape = i == 0   ? x
                                               : i == 1 ? w
                                               : i == 2 ? r
                                                        : &one,
                                      .data = i ? &one : NULL};
    u.outputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 4, .shape = y};
    for (size_t i = 0; kernel_for("com.microsoft", "DynamicQuantizeLSTM", i); i++) {
        double cost;
        kernel_problem own = u;
        accepted |=
            kernel_accept(kernel_for("com.microsoft", "DynamicQuantizeLSTM", i), &own, &cost);
    }
    return accepted;
}

/* Sums of more products of bytes than these may overflow, and so may sizes. */
static void test_rnn_bytes__large_sizes_are_refused(void **state)
{
    (void)state;
    assert_true(is_accepted(2, 3, 32768, 8));
    assert_false(is_accepted(2, 3, 32769, 8));
    assert_true(is_accepted(1, 1, 8, 32768));
    assert_false(is_accepted(1, 1, 8, 32769));
    assert_false(is_accepted((1 << 20) + 1, 1, 1, 1));
    assert_false(is_accepted(1 << 20, INT64_MAX >> 20, 1, 1));
    assert_false(is_accepted(0, 1, 1, 1));
    assert_false(is_accepted(1, 0, 1, 1));
}
