/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QEmbedLayerNormalization against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "harness/reference_case.h"

typedef struct embed_case {
    int batch, length, width;
    bool segments, mask;
    pgy_dtype dtype;
    size_t outputs;
} embed_case;

static void *add(reference_case *c, bool given, pgy_dtype dtype, int rows, int columns)
{
    char shape[64];
    if (columns)
        snprintf(shape, sizeof shape, "%d %d", rows, columns);
    else
        snprintf(shape, sizeof shape, "%d", rows);
    return reference_input(c, dtype, given ? shape : NULL);
}

static void start(reference_case *c, const embed_case *t)
{
    enum { WORDS = 9, POSITIONS = 12, SEGMENTS = 2 };
    reference_start(c, "com.microsoft", "QEmbedLayerNormalization", 1);
    int32_t *ids = add(c, true, PGY_I32, t->batch, t->length);
    int32_t *segments = add(c, t->segments, PGY_I32, t->batch, t->length);
    for (int i = 0; i < t->batch * t->length; i++) {
        ids[i] = i * 5 % WORDS;
        if (segments) segments[i] = i % SEGMENTS;
    }
    add(c, true, t->dtype, WORDS, t->width);
    add(c, true, t->dtype, POSITIONS, t->width);
    add(c, t->segments, t->dtype, SEGMENTS, t->width);
    for (int i = 0; i < 2; i++) add(c, true, t->dtype, t->width, 0);
    int32_t *mask = add(c, t->mask, PGY_I32, t->batch, t->length);
    for (int i = 0; mask && i < t->batch * t->length; i++) mask[i] = i % 3 != 0;
    for (int i = 0; i < 5; i++) {
        float *scale = reference_input(c, PGY_F32, i == 2 && !t->segments ? NULL : "1");
        if (scale) *scale = 0.01f * (float)(i + 1);
    }
    for (int i = 0; i < 5; i++) reference_input(c, t->dtype, i == 2 && !t->segments ? NULL : "1");
}

static void test_q_embed__tables(void **state)
{
    (void)state;
    static const embed_case CASES[] = {
        {1, 5, 64, true, true, PGY_U8, 2},    {3, 7, 33, true, true, PGY_I8, 2},
        {2, 12, 100, true, false, PGY_U8, 2}, {2, 3, 7, true, true, PGY_I8, 1},
        {1, 1, 16, true, false, PGY_U8, 1},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        reference_case c;
        start(&c, &CASES[i]);
        assert_true(reference_run(&c, CASES[i].outputs, 4e-6) > 0);
    }
}
