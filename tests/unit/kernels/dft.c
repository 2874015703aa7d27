/* SPDX-License-Identifier: Apache-2.0 */
/* DFT and STFT in float32 against the reference definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/reference_case.h"

/* Small factors, one large prime factor, powers, primes. */
static const int LENGTHS[] = {1,  2,   3,   4,   5,   6,   7,   8,   9,   11,   12,
                              15, 16,  17,  25,  31,  32,  37,  49,  60,  64,   74,
                              97, 100, 127, 128, 240, 400, 403, 512, 625, 1009, 1000};
enum { COUNT = sizeof LENGTHS / sizeof *LENGTHS };
static const double TOLERANCE = 4e-6;

typedef struct transform {
    int outer, inner, size, length, parts; /* length 0: that of the axis */
    bool onesided, inverse, old;
} transform;

static void run_dft(const transform *t)
{
    char shape[64];
    reference_case c;
    reference_start(&c, "", "DFT", t->old ? 17 : 20);
    reference_attr_int(&c, "onesided", t->onesided);
    reference_attr_int(&c, "inverse", t->inverse);
    if (t->old) reference_attr_int(&c, "axis", 1);
    snprintf(shape, sizeof shape, "%d %d %d %d", t->outer, t->size, t->inner, t->parts);
    reference_input(&c, PGY_F32, shape);
    if (t->length) {
        *(int64_t *)reference_input(&c, PGY_I64, "") = t->length;
        reference_constant(&c);
    } else {
        reference_input(&c, PGY_I64, NULL);
    }
    if (!t->old) {
        *(int64_t *)reference_input(&c, PGY_I64, "") = 1;
        reference_constant(&c);
    }
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
}

static void test_dft__lengths(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        const int n = LENGTHS[i];
        run_dft(&(transform){3, 1, n, 0, 1, .onesided = true});
        run_dft(&(transform){1, 18, n, 0, 1});
        run_dft(&(transform){1, 1, n, 0, 2});
        run_dft(&(transform){5, 1, n, 0, 2, .inverse = true});
        run_dft(&(transform){2, 1, n / 2 + 1, n, 2, .onesided = true, .inverse = true});
        run_dft(&(transform){17, 1, n, 0, 1, .inverse = true, .old = true});
    }
}

static void test_dft__cut_and_padded(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 120; i++) {
        const int parts = 1 + rand() % 2, inverse = rand() % 2;
        const transform t = {.outer = 1 + rand() % 4,
                             .inner = 1 + rand() % 20,
                             .size = 1 + rand() % 60,
                             .length = 1 + rand() % 60,
                             .parts = parts,
                             .onesided = rand() % 2 && parts == 1 + inverse,
                             .inverse = inverse,
                             .old = rand() % 2};
        run_dft(&t);
    }
}

static void test_dft__frames(void **state)
{
    (void)state;
    srand(2);
    for (int i = 0; i < 60; i++) {
        const int length = 1 + rand() % 50, samples = length + rand() % 100, parts = 1 + rand() % 2;
        const int form = rand() % 3; /* window and length, length, window */
        char shape[64];
        reference_case c;
        reference_start(&c, "", "STFT", 17);
        reference_attr_int(&c, "onesided", parts == 1 && rand() % 2);
        snprintf(shape, sizeof shape, "%d %d %d", 1 + rand() % 2, samples, parts);
        reference_input(&c, PGY_F32, shape);
        *(int64_t *)reference_input(&c, PGY_I64, "") = 1 + rand() % 20;
        reference_constant(&c);
        snprintf(shape, sizeof shape, "%d", length);
        reference_input(&c, PGY_F32, form == 1 ? NULL : shape);
        if (form < 2) {
            *(int64_t *)reference_input(&c, PGY_I64, "") = length;
            reference_constant(&c);
        }
        assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    }
}

/* A line with a NaN gives only NaN; its neighbours are as without it. */
static void test_dft__lines_are_independent(void **state)
{
    (void)state;
    reference_case c;
    reference_start(&c, "", "DFT", 17);
    reference_attr_int(&c, "onesided", 1);
    float *x = reference_input(&c, PGY_F32, "20 24 1");
    x[24 * 3 + 5] = NAN;
    for (int k = 0; k < 24; k++) x[24 * 4 + k] *= 1e30f;
    assert_true(reference_run(&c, 1, 1) > 0);
}
