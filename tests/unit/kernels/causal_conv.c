/* SPDX-License-Identifier: Apache-2.0 */
/* CausalConvWithState of both domains in float32 against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 2e-6;

typedef struct causal_case {
    int batch, channels, length, taps;
    bool bias, past;
} causal_case;

static void run_case(const causal_case *t, const char *domain, pgy_dtype dtype, double tolerance)
{
    static const char *const ACTIVATIONS[] = {"none", "silu", "swish"};
    char text[64];
    reference_case c;
    reference_start(&c, domain, "CausalConvWithState", *domain ? 1 : 27);
    reference_attr_text(&c, "activation", ACTIVATIONS[rand() % 3]);
    snprintf(text, sizeof text, "%d %d %d", t->batch, t->channels, t->length);
    reference_input(&c, dtype, text);
    snprintf(text, sizeof text, "%d 1 %d", t->channels, t->taps);
    reference_input(&c, dtype, text);
    snprintf(text, sizeof text, "%d", t->channels);
    reference_input(&c, dtype, t->bias ? text : NULL);
    snprintf(text, sizeof text, "%d %d %d", t->batch, t->channels, t->taps - 1);
    if (t->past) reference_input(&c, dtype, text);
    assert_true(reference_run(&c, 2, tolerance) > 0);
}

/* Lengths around the number of taps and of lanes; one token has loops of its own. */
static void test_causal_conv__shapes(void **state)
{
    static const causal_case CASES[] = {
        {1, 5, 1, 4, true, true},   {2, 3, 1, 4, false, false}, {2, 7, 1, 3, true, true},
        {1, 3, 2, 4, true, true},   {1, 2, 3, 4, false, true},  {2, 3, 4, 4, true, false},
        {1, 4, 19, 4, true, true},  {1, 3, 33, 4, true, true},  {2, 2, 70, 7, false, true},
        {1, 3, 40, 2, true, true},  {1, 3, 40, 1, true, true},  {1, 3, 1, 1, true, true},
        {1, 2, 5, 12, true, true},  {1, 2, 5, 12, true, false}, {1, 1500, 1, 4, true, true},
        {3, 2, 700, 4, true, true},
    };
    (void)state;
    srand(1);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (int k = 0; k < 4; k++)
            run_case(&CASES[i], k % 2 ? "com.microsoft" : "", PGY_F32, TOLERANCE);
}

static void test_causal_conv__float16(void **state)
{
    (void)state;
    srand(2);
    run_case(&(causal_case){2, 3, 40, 4, true, true}, "", PGY_F16, 1e-3);
    run_case(&(causal_case){2, 3, 1, 4, true, true}, "com.microsoft", PGY_BF16, 1e-2);
}
