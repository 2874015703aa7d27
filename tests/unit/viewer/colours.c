/* SPDX-License-Identifier: Apache-2.0 */
/* Colours of values: even steps, readable text, and states that cannot be mistaken for each other.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "viewer/draw/colours.h"

/* Lightness of the CIE Lab space, which a scale must change evenly. */
static double lightness(uint32_t rgb)
{
    static const double WEIGHT[] = {0.0722, 0.7152, 0.2126};
    double y = 0;
    for (int k = 0; k < 3; k++) {
        const double c = (rgb >> 8 * k & 255) / 255.0;
        y += WEIGHT[k] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return 116 * cbrt(y) - 16;
}

static colour_range range_of(const view_quantity *q, const double *values, size_t count)
{
    colour_range r = colour_range_begin(q);
    for (size_t i = 0; i < count; i++) colour_range_add(&r, values[i]);
    colour_range_finish(&r);
    return r;
}

static void test_colours__even_steps(void **state)
{
    (void)state;
    const double whole =
        lightness(COLOUR_MAGNITUDE[COLOUR_STOPS - 1]) - lightness(COLOUR_MAGNITUDE[0]);
    assert_true(whole > 65);
    for (int i = 1; i < COLOUR_STOPS; i++) {
        const double step = lightness(COLOUR_MAGNITUDE[i]) - lightness(COLOUR_MAGNITUDE[i - 1]);
        assert_true(step > 0.8 * whole / (COLOUR_STOPS - 1));
        assert_true(step < 1.2 * whole / (COLOUR_STOPS - 1));
    }
    const uint32_t middle = COLOUR_DIFFERENCE[COLOUR_STOPS / 2];
    assert_int_equal(middle >> 16, middle & 255); /* grey */
    for (int i = 1; i <= COLOUR_STOPS / 2; i++) {
        assert_true(lightness(COLOUR_DIFFERENCE[i]) > lightness(COLOUR_DIFFERENCE[i - 1]) + 5);
        assert_true(lightness(COLOUR_DIFFERENCE[COLOUR_STOPS - 1 - i]) >
                    lightness(COLOUR_DIFFERENCE[COLOUR_STOPS - i]) + 5);
    }
}

static void test_colours__logarithmic(void **state)
{
    (void)state;
    const view_quantity q = {.id = "maxabs", .scale = VIEW_LOG, .better = VIEW_BETTER_LOW};
    const double values[] = {0, 1e-6, NAN, 1e-2, INFINITY, 1e-4};
    const colour_range r = range_of(&q, values, 6);
    assert_true(r.low == 1e-6 && r.high == 1e-2);
    assert_true(fabs(colour_place(&r, 1e-4) - 0.5) < 1e-9);
    assert_int_equal(colour_of(&r, &q, 1e-6), COLOUR_MAGNITUDE[0]);
    assert_int_equal(colour_of(&r, &q, 1e-2), COLOUR_MAGNITUDE[COLOUR_STOPS - 1]);
    assert_int_equal(colour_of(&r, &q, 1e9), COLOUR_MAGNITUDE[COLOUR_STOPS - 1]);
    assert_int_equal(colour_of(&r, &q, 0), COLOUR_ZERO);
    assert_int_equal(colour_of(&r, &q, NAN), COLOUR_NOT_FINITE);
    assert_int_equal(colour_of(&r, &q, INFINITY), COLOUR_NOT_FINITE);
    const double zero = 0;
    assert_true(range_of(&q, &zero, 1).is_empty);
}

static void test_colours__two_sided(void **state)
{
    (void)state;
    const view_quantity difference = {.id = "time_diff", .scale = VIEW_DIVERGING},
                        ratio = {.id = "time_ratio", .scale = VIEW_DIVERGING},
                        gain = {.id = "amplification", .unit = "x", .scale = VIEW_DIVERGING};
    const double values[] = {0.5, 3, 4};
    colour_range r = range_of(&difference, values, 3);
    assert_true(r.low == -4 && r.high == 4);
    assert_int_equal(colour_of(&r, &difference, 0), COLOUR_DIFFERENCE[COLOUR_STOPS / 2]);
    r = range_of(&ratio, values, 3);
    assert_true(fabs(r.low - 0.25) < 1e-12 && fabs(r.high - 4) < 1e-12);
    assert_int_equal(colour_of(&r, &ratio, 1), COLOUR_DIFFERENCE[COLOUR_STOPS / 2]);
    assert_int_equal(colour_of(&r, &ratio, 0), COLOUR_ZERO);
    assert_true(range_of(&gain, values, 3).is_ratio);
    assert_int_equal(colour_of(&r, &ratio, 4), COLOUR_DIFFERENCE[COLOUR_STOPS - 1]);
}

static void test_colours__linear_and_reversed(void **state)
{
    (void)state;
    const view_quantity snr = {.id = "snr", .scale = VIEW_LINEAR, .better = VIEW_BETTER_HIGH};
    const double values[] = {20, 80, -INFINITY};
    colour_range r = range_of(&snr, values, 3);
    assert_true(r.low == 0 && r.high == 80);
    assert_int_equal(colour_of(&r, &snr, 80), COLOUR_MAGNITUDE[0]);
    const double huge[] = {-1.7e308, 1.7e308};
    r = range_of(&snr, huge, 2);
    assert_true(fabs(colour_place(&r, 0) - 0.5) < 1e-9);
    const double one[] = {1e300};
    const view_quantity bytes = {.id = "b", .scale = VIEW_LINEAR};
    r = range_of(&bytes, one, 1);
    assert_int_equal(colour_of(&r, &bytes, 1e300), COLOUR_MAGNITUDE[COLOUR_STOPS - 1]);
    const double negative[] = {-1e300};
    r = range_of(&bytes, negative, 1);
    assert_true(r.low < r.high);
}

static void test_colours__names(void **state)
{
    (void)state;
    const char *const names[] = {"fail", "pass", "float16"};
    const view_quantity q = {
        .id = "passed", .scale = VIEW_CATEGORY, .names = names, .name_count = 3};
    const colour_range r = range_of(&q, NULL, 0);
    assert_int_equal(colour_of(&r, &q, 0), 0xd55e00);
    assert_int_equal(colour_of(&r, &q, 1), 0x56b4e9);
    assert_int_equal(colour_of(&r, &q, 2), COLOUR_OF_NAMES[2]);
    assert_int_equal(colour_of(&r, &q, 3), COLOUR_NOT_FINITE); /* no such name */
    assert_int_equal(colour_of(&r, &q, NAN), COLOUR_NOT_FINITE);
}

/* WCAG asks for a contrast of 4.5 for text of this size. */
static double contrast(uint32_t a, uint32_t b)
{
    const double x = pow((lightness(a) + 16) / 116, 3), y = pow((lightness(b) + 16) / 116, 3);
    return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

static void test_colours__text_is_readable(void **state)
{
    (void)state;
    const colour_theme *const themes[] = {&THEME_LIGHT, &THEME_DARK};
    for (int t = 0; t < 2; t++)
        for (int back = ROLE_PAGE; back <= ROLE_HEADER; back++) {
            if (back != ROLE_PAGE && back != ROLE_CARD && back < ROLE_FRAME) continue;
            const uint32_t *of = themes[t]->of;
            assert_true(contrast(of[ROLE_TEXT], of[back]) > 7);
            assert_true(contrast(of[ROLE_DIM], of[back]) > 4.5);
            assert_true(contrast(of[ROLE_ALERT], of[back]) > 4.5);
        }
    const view_quantity q = {.id = "x", .scale = VIEW_LINEAR};
    const colour_range r = range_of(&q, NULL, 0);
    for (int i = 0; i <= 100; i++) {
        const uint32_t c = colour_at(&r, i / 100.0);
        assert_true(contrast(c, colour_of_text(c)) > 4.5);
    }
    assert_true(contrast(COLOUR_NOT_FINITE, colour_of_text(COLOUR_NOT_FINITE)) > 4.5);
}
