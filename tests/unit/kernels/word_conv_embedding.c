/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft WordConvEmbedding with constant weights against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/reference_case.h"

enum { CHARACTERS = 11 };

static void start(reference_case *c, int words, int letters, int filters, int window)
{
    char shape[64];
    const int size = 5;
    reference_start(c, "com.microsoft", "WordConvEmbedding", 1);
    snprintf(shape, sizeof shape, "%d %d", words, letters);
    int32_t *word = reference_input(c, PGY_I32, shape);
    for (int i = 0; i < words * letters; i++) /* words end by zeros; some are empty */
        word[i] = i % letters > i / letters % letters ? 0 : rand() % CHARACTERS;
    snprintf(shape, sizeof shape, "%d 1 %d %d", filters, window, size);
    reference_input(c, PGY_F32, shape);
    reference_constant(c);
    snprintf(shape, sizeof shape, "%d", filters);
    reference_input(c, PGY_F32, shape);
    snprintf(shape, sizeof shape, "%d %d", CHARACTERS, size);
    float *x = reference_input(c, PGY_F32, shape);
    for (int i = 0; i < CHARACTERS * size; i++) x[i] /= 32;
    reference_constant(c);
}

static void test_word_conv_embedding__sizes(void **state)
{
    (void)state;
    static const int SIZES[][4] = {
        {6, 9, 100, 3}, {3, 4, 64, 4}, {20, 12, 7, 1}, {1, 1, 1, 1}, {5, 20, 130, 2}};
    srand(1);
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        reference_case c;
        start(&c, SIZES[i][0], SIZES[i][1], SIZES[i][2], SIZES[i][3]);
        assert_true(reference_run(&c, 1, 4e-6) > 0);
    }
}

static void test_word_conv_embedding__nan_stays(void **state)
{
    (void)state;
    reference_case c;
    start(&c, 4, 9, 40, 3);
    ((float *)pgy_tensor_data(c.inputs[3]))[7] = NAN;
    assert_true(reference_run(&c, 1, 4e-6) > 0);
}
