/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN in float32 against the reference definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 2e-6;

typedef struct rnn_case {
    const char *op, *direction;
    int steps, batch, in, hidden;
    int layout, late_reset, coupled;
    bool bias, lengths, states, peepholes;
} rnn_case;

static void shape(char *out, size_t room, int a, int b, int c)
{
    if (c)
        snprintf(out, room, "%d %d %d", a, b, c);
    else
        snprintf(out, room, "%d %d", a, b);
}

static void weight(reference_case *c, int a, int b, int d)
{
    char text[64];
    shape(text, sizeof text, a, b, d);
    float *x = reference_input(c, PGY_F32, text);
    for (size_t i = 0; i < pgy_tensor_count(c->inputs[c->input_count - 1]); i++) x[i] /= 16;
    reference_constant(c);
}

static void state(reference_case *c, const rnn_case *t, int directions)
{
    char text[64];
    if (t->layout)
        shape(text, sizeof text, t->batch, directions, t->hidden);
    else
        shape(text, sizeof text, directions, t->batch, t->hidden);
    reference_input(c, PGY_F32, t->states ? text : NULL);
}

static size_t run_case(const rnn_case *t)
{
    reference_case c;
    char text[64];
    const int directions = t->direction[0] == 'b' ? 2 : 1;
    const int gates = t->op[0] == 'L' ? 4 : t->op[0] == 'G' ? 3 : 1;
    reference_start(&c, "", t->op, 22);
    reference_attr_text(&c, "direction", t->direction);
    reference_attr_int(&c, "hidden_size", t->hidden);
    reference_attr_int(&c, "layout", t->layout);
    if (t->late_reset) reference_attr_int(&c, "linear_before_reset", 1);
    if (t->coupled) reference_attr_int(&c, "input_forget", 1);
    shape(text, sizeof text, t->layout ? t->batch : t->steps, t->layout ? t->steps : t->batch,
          t->in);
    reference_input(&c, PGY_F32, text);
    weight(&c, directions, gates * t->hidden, t->in);
    weight(&c, directions, gates * t->hidden, t->hidden);
    if (t->bias)
        weight(&c, directions, 2 * gates * t->hidden, 0);
    else
        reference_input(&c, PGY_F32, NULL);
    snprintf(text, sizeof text, "%d", t->batch);
    int32_t *lengths = reference_input(&c, PGY_I32, t->lengths ? text : NULL);
    for (int b = 0; t->lengths && b < t->batch; b++) lengths[b] = (b * 3 + 1) % (t->steps + 1);
    state(&c, t, directions);
    if (gates == 4) state(&c, t, directions);
    if (t->peepholes) weight(&c, directions, 3 * t->hidden, 0);
    return reference_run(&c, gates == 4 ? 3 : 2, TOLERANCE);
}

static void test_rnn__all_cells(void **state)
{
    (void)state;
    static const rnn_case CASES[] = {
        {"LSTM", "forward", 5, 1, 7, 20, 0, 0, 0, true, false, false, false},
        {"LSTM", "reverse", 4, 3, 16, 32, 0, 0, 0, false, false, true, false},
        {"LSTM", "bidirectional", 6, 14, 9, 33, 1, 0, 0, true, false, true, true},
        {"LSTM", "bidirectional", 7, 5, 9, 17, 0, 0, 1, true, true, true, true},
        {"LSTM", "forward", 2, 4, 3, 300, 0, 0, 0, true, false, false, false},
        {"LSTM", "bidirectional", 3, 2, 3, 300, 0, 0, 0, true, false, true, false},
        {"LSTM", "bidirectional", 4, 1, 3, 130, 1, 0, 0, true, true, true, false},
        {"GRU", "forward", 5, 2, 7, 20, 0, 0, 0, true, false, true, false},
        {"GRU", "bidirectional", 3, 13, 40, 64, 1, 0, 0, true, false, true, false},
        {"GRU", "reverse", 6, 4, 5, 37, 0, 1, 0, true, true, true, false},
        {"GRU", "bidirectional", 6, 4, 5, 37, 1, 1, 0, false, true, false, false},
        {"GRU", "bidirectional", 4, 3, 5, 260, 0, 0, 0, true, true, false, false},
        {"RNN", "forward", 5, 2, 7, 20, 0, 0, 0, true, false, true, false},
        {"RNN", "bidirectional", 8, 3, 7, 100, 1, 0, 0, true, true, true, false},
        {"RNN", "reverse", 1, 1, 1, 1, 0, 0, 0, false, false, false, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

/* What the kernels do not know is left to the reference. */
static void test_rnn__clipping_and_late_weights_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        reference_case c;
        reference_start(&c, "", "RNN", 22);
        if (i) reference_attr_float(&c, "clip", 1);
        reference_input(&c, PGY_F32, "2 1 3");
        reference_input(&c, PGY_F32, "1 4 3");
        if (i) reference_constant(&c);
        reference_input(&c, PGY_F32, "1 4 4");
        reference_constant(&c);
        assert_int_equal(reference_run(&c, 1, TOLERANCE), 0);
    }
}
