/* SPDX-License-Identifier: Apache-2.0 */
/* The ten-bin histogram: golden text of the original and what has no histogram. */
#include "judging.h"

static void assert_text(pgy_dtype dtype, const void *data, size_t n, double low, double high,
                        const char *want)
{
    char *text = NULL;
    int64_t shape[] = {(int64_t)n};
    GOOD(pgy_histogram_text(&text, pgy_view_of((void *)data, dtype, 1, shape), low, high,
                            &judging_error));
    assert_string_equal(text, want);
    pgy_text_free(text);
}

static void test_histogram__own_range(void **state)
{
    (void)state;
    float a[] = {1, 2.5f, 3, 4};
    int8_t i[] = {-128, 127, 5};
    assert_text(PGY_F32, a, 4, 1, 0,
                "---- Histogram ----\n"
                "Bin Range  |  Num Elems | Visualization\n"
                "(1  , 1.3) |          1 | ########################################\n"
                "(1.3, 1.6) |          0 | \n"
                "(1.6, 1.9) |          0 | \n"
                "(1.9, 2.2) |          0 | \n"
                "(2.2, 2.5) |          0 | \n"
                "(2.5, 2.8) |          1 | ########################################\n"
                "(2.8, 3.1) |          1 | ########################################\n"
                "(3.1, 3.4) |          0 | \n"
                "(3.4, 3.7) |          0 | \n"
                "(3.7, 4  ) |          1 | ########################################\n");
    assert_text(PGY_I8, i, 3, 1, 0,
                "---- Histogram ----\n"
                "Bin Range      |  Num Elems | Visualization\n"
                "(-128 , -102 ) |          1 | ########################################\n"
                "(-102 , -77  ) |          0 | \n"
                "(-77  , -51.5) |          0 | \n"
                "(-51.5, -26  ) |          0 | \n"
                "(-26  , -0.5 ) |          0 | \n"
                "(-0.5 , 25   ) |          1 | ########################################\n"
                "(25   , 50.5 ) |          0 | \n"
                "(50.5 , 76   ) |          0 | \n"
                "(76   , 102  ) |          0 | \n"
                "(102  , 127  ) |          1 | ########################################\n");
}

static void test_histogram__given_range_and_equal_ends(void **state)
{
    (void)state;
    float a[] = {0, 0, 0, 5}, far[] = {7};
    assert_text(PGY_F32, a, 4, 0, 0,
                "---- Histogram ----\n"
                "Bin Range    |  Num Elems | Visualization\n"
                "(-0.5, -0.4) |          0 | \n"
                "(-0.4, -0.3) |          0 | \n"
                "(-0.3, -0.2) |          0 | \n"
                "(-0.2, -0.1) |          0 | \n"
                "(-0.1, 0   ) |          0 | \n"
                "(0   , 0.1 ) |          3 | ########################################\n"
                "(0.1 , 0.2 ) |          0 | \n"
                "(0.2 , 0.3 ) |          0 | \n"
                "(0.3 , 0.4 ) |          0 | \n"
                "(0.4 , 0.5 ) |          0 | \n");
    assert_text(PGY_F32, far, 1, 0, 1, "None");
}

static void test_histogram__none(void **state)
{
    (void)state;
    float nan[] = {NAN, 1}, wide[] = {4503599627370496.0f, 4503599627370496.0f};
    uint8_t flags[] = {1, 0};
    assert_text(PGY_F32, nan, 2, 1, 0, "");
    assert_text(PGY_F32, wide, 2, 1, 0, "");
    assert_text(PGY_BOOL, flags, 2, 1, 0, "");
    assert_text(PGY_F32, nan, 0, 1, 0, "None");
}
