/* SPDX-License-Identifier: Apache-2.0 */
/* AttnLSTM against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 4e-6;

typedef struct attention_case {
    const char *direction;
    int steps, batch, in, hidden, units, rows, depth, layer; /* layer 0: none */
    bool bias, lengths, states, peepholes, memory_lengths, coupled;
} attention_case;

static void *add(reference_case *c, bool given, pgy_dtype dtype, int a, int b, int d)
{
    char text[64];
    if (d)
        snprintf(text, sizeof text, "%d %d %d", a, b, d);
    else if (b)
        snprintf(text, sizeof text, "%d %d", a, b);
    else
        snprintf(text, sizeof text, "%d", a);
    return reference_input(c, dtype, given ? text : NULL);
}

static void weight(reference_case *c, bool given, int a, int b, int d)
{
    float *x = add(c, given, PGY_F32, a, b, d);
    for (size_t i = 0; given && i < pgy_tensor_count(c->inputs[c->input_count - 1]); i++)
        x[i] /= 16;
    if (given) reference_constant(c);
}

static void start(reference_case *c, const attention_case *t)
{
    const int d = t->direction[0] == 'b' ? 2 : 1, size = t->layer ? t->layer : t->depth;
    reference_start(c, "com.microsoft", "AttnLSTM", 1);
    reference_attr_text(c, "direction", t->direction);
    reference_attr_int(c, "hidden_size", t->hidden);
    if (t->coupled) reference_attr_int(c, "input_forget", 1);
    add(c, true, PGY_F32, t->steps, t->batch, t->in);
    weight(c, true, d, 4 * t->hidden, t->in + size);
    weight(c, true, d, 4 * t->hidden, t->hidden);
    weight(c, t->bias, d, 8 * t->hidden, 0);
    int32_t *lengths = add(c, t->lengths, PGY_I32, t->batch, 0, 0);
    for (int b = 0; t->lengths && b < t->batch; b++) lengths[b] = (b * 3 + 1) % (t->steps + 1);
    for (int i = 0; i < 2; i++) add(c, t->states, PGY_F32, d, t->batch, t->hidden);
    weight(c, t->peepholes, d, 3 * t->hidden, 0);
    weight(c, true, d, t->hidden, t->units);
    weight(c, true, d, t->depth, t->units);
    weight(c, true, d, t->units, 0);
    add(c, true, PGY_F32, t->batch, t->rows, t->depth);
    lengths = add(c, t->memory_lengths, PGY_I32, t->batch, 0, 0);
    for (int b = 0; t->memory_lengths && b < t->batch; b++) lengths[b] = 1 + b * 5 % t->rows;
    weight(c, t->layer > 0, d, t->depth + t->hidden, t->layer);
}

static void test_attn_lstm__sizes_and_inputs(void **state)
{
    (void)state;
    static const attention_case CASES[] = {
        {.direction = "forward", 5, 1, 7, 20, 9, 6, 11, 0, .bias = true},
        {.direction = "reverse", 4, 3, 16, 32, 32, 5, 8, 16, .states = true},
        {"bidirectional", 6, 14, 9, 33, 40, 70, 33, 5, true, false, true, true, true, false},
        {"bidirectional", 7, 5, 9, 17, 3, 4, 2, 0, true, true, true, true, true, true},
        {.direction = "forward", 2, 4, 3, 300, 100, 3, 130, 64, .bias = true},
        {.direction = "reverse", 6, 4, 5, 37, 1, 1, 1, 1, .lengths = true, .bias = true},
        {.direction = "forward", 3, 2, 4, 8, 2100, 3, 5, 7, .bias = true},
        {.direction = "forward", 1, 1, 1, 1, 1, 1, 1, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        reference_case c;
        start(&c, &CASES[i]);
        assert_true(reference_run(&c, 3, TOLERANCE) > 0);
    }
}

/* Left to the definition: weights that are computed, and what the cells of LSTM do not know. */
static void test_attn_lstm__what_the_kernels_refuse(void **state)
{
    (void)state;
    static const attention_case CASE = {
        .direction = "forward", 2, 2, 3, 4, 5, 3, 2, 6, .bias = true};
    for (int i = 0; i < 14; i++) {
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
