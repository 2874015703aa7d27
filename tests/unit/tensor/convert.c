/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions: all codes of the narrow floats, random doubles against an exact oracle, and every
 * pair of NumPy's types against NumPy's casts (tests/data/tensor/casts.npz). */
#include "tensor/convert.h"

#include <math.h>
#include <stdlib.h>

#include "support.h"

static const pgy_dtype F8[] = {PGY_F8E4M3FN, PGY_F8E4M3FNUZ, PGY_F8E5M2, PGY_F8E5M2FNUZ,
                               PGY_F8E8M0,   PGY_F6E2M3,     PGY_F6E3M2, PGY_F4E2M1};
enum { F8_COUNT = sizeof F8 / sizeof F8[0] };
static pgy_tensor_map *casts;

static int group_setup(void **state)
{
    (void)state;
    return pgy_npz_load(&casts, DATA("casts.npz"), NULL) != PGY_OK;
}

static int group_teardown(void **state)
{
    (void)state;
    pgy_tensor_map_destroy(casts);
    return 0;
}

static int codes_of(pgy_dtype dtype)
{
    return 1 << pgy_dtype_describe(dtype)->bits;
}

static bool same_value(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static void test_convert__narrow_codes_have_the_right_values(void **state)
{
    (void)state;
    for (size_t k = 0; k < F8_COUNT; k++) {
        char name[64];
        snprintf(name, sizeof name, "codes.%s", pgy_dtype_name(F8[k]));
        const pgy_tensor *t = pgy_tensor_map_find(casts, name);
        const double *expected = pgy_tensor_data(t);
        for (size_t i = 0; i < pgy_tensor_count(t); i++) {
            double v = f8_to_f64(F8[k], (uint8_t)i);
            if (!same_value(v, expected[i]))
                fail_msg("%s code %zu: %g, not %g", name, i, v, expected[i]);
        }
    }
}

static void test_convert__narrow_codes_round_trip(void **state)
{
    (void)state;
    for (size_t k = 0; k < F8_COUNT; k++)
        for (int i = 0; i < codes_of(F8[k]); i++) {
            double v = f8_to_f64(F8[k], (uint8_t)i);
            if (!isnan(v) && !isinf(v)) assert_int_equal(f8_from_f64(F8[k], v, true), i);
            if (!isnan(v)) assert_int_equal(f8_from_f64(F8[k], v, false), i);
            if (isnan(v)) assert_true(isnan(f8_to_f64(F8[k], f8_from_f64(F8[k], v, true))));
        }
    for (int i = 0; i < 65536; i++) {
        float h = f16_to_f32((uint16_t)i), b = bf16_to_f32((uint16_t)i);
        int quiet = isnan(h) ? 0x200 : 0, quiet_b = isnan(b) ? 0x40 : 0;
        assert_int_equal(f16_from_f64(h), i | quiet);
        assert_int_equal(bf16_from_f64(b), i | quiet_b);
    }
}

static uint64_t seed = 88172645463325252ull;
static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Doubles spread over the exponents around [-30, 20), often exactly on or beside a tie. */
static double random_double(void)
{
    double v = ldexp((double)(next_random() >> 11), (int)(next_random() % 50) - 30 - 53);
    unsigned kind = next_random() % 4;
    if (kind == 0) v = ldexp((double)(next_random() % 4096), (int)(next_random() % 40) - 30);
    if (kind == 1)
        v = nextafter(ldexp((double)(next_random() % 4096), (int)(next_random() % 40) - 30),
                      next_random() % 2 ? 1e9 : 0);
    return next_random() % 2 ? v : -v;
}

/* Nearest finite value by trying all codes; exact, as differences of such values are exact enough
 * to order. */
static double oracle_f8(pgy_dtype dtype, double v)
{
    double best = NAN, best_distance = INFINITY;
    int best_code = 0, codes = codes_of(dtype);
    for (int i = 0; i < codes; i++) {
        double c = f8_to_f64(dtype, (uint8_t)i);
        if (isnan(c) || isinf(c) || signbit(c)) continue;
        double distance = (double)fabsl((long double)c - fabsl((long double)v));
        if (distance < best_distance ||
            (distance == best_distance && best_code % 2 && i % 2 == 0)) {
            best = c;
            best_distance = distance;
            best_code = i;
        }
    }
    return v < 0 ? -best : best;
}

static void test_convert__narrowing_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (size_t k = 0; k < F8_COUNT; k++) {
        if (F8[k] == PGY_F8E8M0) continue;
        for (int n = 0; n < 20000; n++) {
            double v = random_double(), got = f8_to_f64(F8[k], f8_from_f64(F8[k], v, true)),
                   wanted = oracle_f8(F8[k], v);
            if (got != wanted)
                fail_msg("%s of %a: %g, not %g", pgy_dtype_name(F8[k]), v, got, wanted);
        }
    }
}

/* f16 is nearest when neither neighbouring code is nearer, and even on a tie. */
static void test_convert__f16_is_nearest_even(void **state)
{
    (void)state;
    for (int n = 0; n < 200000; n++) {
        double v = fabs(random_double());
        uint16_t code = f16_from_f64(v);
        if (v >= 65520) {
            assert_int_equal(code, 0x7c00);
            continue;
        }
        double error = fabs(f16_to_f32(code) - v);
        double up = code == 0x7bff ? 65536 - v : fabs(f16_to_f32((uint16_t)(code + 1)) - v);
        double down = code ? fabs(f16_to_f32((uint16_t)(code - 1)) - v) : INFINITY;
        assert_true(error <= up && error <= down);
        if (error == up || error == down) assert_int_equal(code % 2, 0);
    }
}

static void test_convert__saturation(void **state)
{
    (void)state;
    static const struct {
        pgy_dtype dtype;
        double v;
        uint8_t saturated, open;
    } CASES[] = {
        {PGY_F8E4M3FN, 464, 0x7e, 0x7e},
        {PGY_F8E4M3FN, 465, 0x7e, 0x7f},
        {PGY_F8E4M3FN, INFINITY, 0x7e, 0x7f},
        {PGY_F8E4M3FN, -1e6, 0xfe, 0xff},
        {PGY_F8E4M3FNUZ, 247, 0x7f, 0x7f},
        {PGY_F8E4M3FNUZ, 248, 0x7f, 0x80},
        {PGY_F8E4M3FNUZ, -INFINITY, 0xff, 0x80},
        {PGY_F8E5M2, 61439, 0x7b, 0x7b},
        {PGY_F8E5M2, 61440, 0x7b, 0x7c},
        {PGY_F8E5M2, -INFINITY, 0xfb, 0xfc},
        {PGY_F8E5M2FNUZ, 61440, 0x7f, 0x80},
        {PGY_F4E2M1, 1e9, 7, 7},
        {PGY_F6E2M3, 7.75, 0x1f, 0x1f},
        {PGY_F6E2M3, -INFINITY, 0x3f, 0x3f},
        {PGY_F6E2M3, NAN, 0x20, 0x20},
        {PGY_F6E3M2, 1e9, 0x1f, 0x1f},
        {PGY_F6E3M2, 0x1p-6, 0, 0},
        {PGY_F6E3M2, NAN, 0x20, 0x20},
        {PGY_F8E4M3FNUZ, -0.0, 0, 0},
        {PGY_F8E4M3FN, -0.0, 0x80, 0x80},
        {PGY_F8E8M0, 3.0, 0x81, 0x81},
        {PGY_F8E8M0, 0x1.8p127, 0xfe, 0xff},
        {PGY_F8E8M0, 0x1p-149, 0, 0},
        {PGY_F8E8M0, 0x1.8p-127, 1, 1},
        {PGY_F8E8M0, INFINITY, 0xff, 0xff},
        {PGY_F8E4M3FN, NAN, 0x7f, 0x7f},
        {PGY_F8E5M2, NAN, 0x7e, 0x7e},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        assert_int_equal(f8_from_f64(CASES[i].dtype, CASES[i].v, true), CASES[i].saturated);
        assert_int_equal(f8_from_f64(CASES[i].dtype, CASES[i].v, false), CASES[i].open);
    }
}

static bool same_elements(const pgy_tensor *a, const pgy_tensor *b)
{
    const pgy_dtype_info *info = pgy_dtype_describe(pgy_tensor_dtype(a));
    size_t item = info->bits / 8, n = pgy_tensor_count(a);
    if (info->kind == PGY_KIND_COMPLEX) item /= 2, n *= 2;
    pgy_dtype part = info->kind == PGY_KIND_COMPLEX ? (item == 4 ? PGY_F32 : PGY_F64) : info->dtype;
    for (size_t i = 0; i < n; i++) {
        const char *x = (const char *)pgy_tensor_data(a) + i * item,
                   *y = (const char *)pgy_tensor_data(b) + i * item;
        bool both_nan = pgy_dtype_is_float(part) && isnan(element_as_f64(part, x, 0)) &&
                        isnan(element_as_f64(part, y, 0));
        if (!both_nan && memcmp(x, y, item)) {
            print_message("element %zu: %g, not %g\n", i, element_as_f64(part, x, 0),
                          element_as_f64(part, y, 0));
            return false;
        }
    }
    return true;
}

static void test_convert__casts_as_numpy_does(void **state)
{
    (void)state;
    size_t pairs = 0;
    for (size_t i = 0; i < pgy_tensor_map_count(casts); i++) {
        pgy_error err = {0};
        char source[64];
        const char *name = pgy_tensor_map_name(casts, i), *dot = strchr(name, '.');
        pgy_tensor *got = NULL, *wanted = pgy_tensor_map_at(casts, i);
        if (!dot || !strncmp(name, "from.", 5) || !strncmp(name, "codes.", 6)) continue;
        snprintf(source, sizeof source, "from.%.*s", (int)(dot - name), name);
        expect_ok(pgy_tensor_cast(&got, pgy_tensor_view(pgy_tensor_map_find(casts, source)),
                                  pgy_tensor_dtype(wanted), &err),
                  &err);
        if (!same_elements(got, wanted)) fail_msg("%s", name);
        pgy_tensor_release(got);
        pairs++;
    }
    assert_true(pairs > 180);
}

static void test_convert__bf16_as_ml_dtypes(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *got = NULL;
    const pgy_tensor *wanted = pgy_tensor_map_find(casts, "bfloat16");
    expect_ok(pgy_tensor_cast(&got, pgy_tensor_view(pgy_tensor_map_find(casts, "from.float32")),
                              PGY_BF16, &err),
              &err);
    for (size_t i = 0; i < pgy_tensor_count(wanted); i++)
        assert_true(same_value(bf16_to_f32(((uint16_t *)pgy_tensor_data(got))[i]),
                               bf16_to_f32(((uint16_t *)pgy_tensor_data(wanted))[i])));
    pgy_tensor_release(got);
}

/* Every pair of numeric types, forced through strides, must equal the compact conversion. */
static void test_convert__strides_change_nothing(void **state)
{
    (void)state;
    const pgy_dtype_info *types;
    size_t count = pgy_dtype_list(&types);
    enum { ROWS = 37, COLS = 29 };
    double values[ROWS * COLS];
    for (int i = 0; i < ROWS * COLS; i++) values[i] = (i % 17 - 8) * 0.75;
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < count; b++) {
            pgy_error err = {0};
            pgy_tensor *from = NULL, *plain = NULL, *strided = NULL, *turned = NULL;
            int64_t shape[2] = {ROWS, COLS}, back[2] = {COLS, ROWS}, strides[2] = {1, COLS},
                    column[2] = {1, ROWS};
            if (types[a].kind == PGY_KIND_STRING || types[b].kind == PGY_KIND_STRING ||
                types[a].bits < 8)
                continue;
            expect_ok(pgy_tensor_cast(&from, pgy_view_of(values, PGY_F64, 2, shape), types[a].dtype,
                                      &err),
                      &err);
            expect_ok(pgy_tensor_cast(&plain, pgy_tensor_view(from), types[b].dtype, &err), &err);
            pgy_view v = pgy_tensor_view(from);
            v.shape = back;
            v.strides = strides;
            expect_ok(pgy_tensor_cast(&turned, v, types[b].dtype, &err), &err);
            pgy_view w = pgy_tensor_view(turned);
            if (types[b].bits >= 8) {
                w.shape = shape;
                w.strides = column;
                expect_ok(pgy_tensor_copy(&strided, w, &err), &err);
                expect_same(strided, plain);
            }
            for (size_t i = 0; i < ROWS; i++)
                for (size_t j = 0; j < COLS && types[b].kind != PGY_KIND_COMPLEX; j++) {
                    double x = element_as_f64(types[b].dtype, pgy_tensor_data(plain), i * COLS + j);
                    double y =
                        element_as_f64(types[b].dtype, pgy_tensor_data(turned), j * ROWS + i);
                    assert_true(same_value(x, y));
                }
            pgy_tensor_release(from);
            pgy_tensor_release(plain);
            pgy_tensor_release(strided);
            pgy_tensor_release(turned);
        }
}

static void test_convert__large_runs_equal_small_ones(void **state)
{
    (void)state;
    enum { COUNT = 700001 };
    pgy_error err = {0};
    pgy_tensor *from = tensor_of(PGY_F32, DIMS(COUNT), NULL), *to = NULL;
    float *x = pgy_tensor_data(from);
    for (int i = 0; i < COUNT; i++) x[i] = (float)random_double();
    static const pgy_dtype TARGETS[] = {PGY_F16,    PGY_BF16,   PGY_F8E4M3FN, PGY_I4, PGY_F4E2M1,
                                        PGY_F6E2M3, PGY_F6E3M2, PGY_I32,      PGY_F64};
    for (size_t k = 0; k < sizeof TARGETS / sizeof TARGETS[0]; k++) {
        expect_ok(pgy_tensor_cast(&to, pgy_tensor_view(from), TARGETS[k], &err), &err);
        for (size_t i = 0; i < COUNT; i += 97) {
            double got = element_as_f64(TARGETS[k], pgy_tensor_data(to), i);
            if (pgy_dtype_is_float(TARGETS[k]))
                assert_true(got == float_round(TARGETS[k], x[i], true));
            if (TARGETS[k] == PGY_I32) assert_true(got == trunc(x[i]));
        }
        pgy_tensor_release(to);
    }
    pgy_tensor_release(from);
}

/* The block path must round doubles as the scalar one does, ties and all. */
static void test_convert__f64_to_f16_blocks_round_once(void **state)
{
    (void)state;
    enum { COUNT = 30000 };
    static double values[COUNT];
    static uint16_t out[COUNT];
    for (int i = 0; i < COUNT; i++)
        values[i] = i % 100 ? random_double() : i % 200 ? NAN : -INFINITY;
    values[1] = 0x1p-25, values[2] = 0x1.0000000000001p-25, values[3] = 5e-324, values[4] = 1e300;
    assert_int_equal(pgy_view_convert(pgy_view_of(out, PGY_F16, DIMS(COUNT)),
                                      pgy_view_of(values, PGY_F64, DIMS(COUNT)), true, NULL),
                     PGY_OK);
    for (int i = 0; i < COUNT; i++) assert_int_equal(out[i], f16_from_f64(values[i]));
}

/* 2^62 + 2^54 is a tie of bf16 plus a bit that a double drops: rounding twice would go down. */
static void test_convert__int64_to_narrow_floats_rounds_once(void **state)
{
    (void)state;
    int64_t values[2] = {(1ll << 62) + (1ll << 54) + 1, -((1ll << 62) + (1ll << 54) + 1)};
    uint16_t out[2];
    assert_int_equal(pgy_view_convert(pgy_view_of(out, PGY_BF16, DIMS(2)),
                                      pgy_view_of(values, PGY_I64, DIMS(2)), true, NULL),
                     PGY_OK);
    assert_int_equal(out[0], 0x5e81);
    assert_int_equal(out[1], 0xde81);
}

static void test_convert__packed_integers(void **state)
{
    (void)state;
    int32_t values[7] = {-8, 7, 0, -1, 9, -9, 3}, back[7];
    uint8_t i4[4] = {0}, u2[2] = {0};
    const int32_t wrapped[7] = {-8, 7, 0, -1, -7, 7, 3}, quarters[7] = {0, 3, 0, 3, 1, 3, 3};
    assert_int_equal(pgy_view_convert(pgy_view_of(i4, PGY_I4, DIMS(7)),
                                      pgy_view_of(values, PGY_I32, DIMS(7)), true, NULL),
                     PGY_OK);
    assert_int_equal(i4[0], 0x78);
    assert_int_equal(pgy_view_convert(pgy_view_of(back, PGY_I32, DIMS(7)),
                                      pgy_view_of(i4, PGY_I4, DIMS(7)), true, NULL),
                     PGY_OK);
    assert_memory_equal(back, wrapped, sizeof back);
    assert_int_equal(pgy_view_convert(pgy_view_of(u2, PGY_U2, DIMS(7)),
                                      pgy_view_of(values, PGY_I32, DIMS(7)), true, NULL),
                     PGY_OK);
    assert_int_equal(pgy_view_convert(pgy_view_of(back, PGY_I32, DIMS(7)),
                                      pgy_view_of(u2, PGY_U2, DIMS(7)), true, NULL),
                     PGY_OK);
    assert_memory_equal(back, quarters, sizeof back);
}

static void test_convert__refuses(void **state)
{
    (void)state;
    pgy_error err = {0};
    float x[4] = {0};
    pgy_string s[4] = {{0}};
    int64_t strides[1] = {2};
    pgy_view packed = pgy_view_of(x, PGY_I4, DIMS(2));
    packed.strides = strides;
    expect_error(pgy_view_convert(pgy_view_of(x, PGY_F32, DIMS(4)),
                                  pgy_view_of(s, PGY_STRING, DIMS(4)), true, &err),
                 PGY_E_TYPE, &err, "string");
    expect_error(pgy_view_convert(pgy_view_of(x, PGY_F32, DIMS(4)),
                                  pgy_view_of(x, PGY_F32, DIMS(2, 2)), true, &err),
                 PGY_E_SHAPE, &err, "rank 2");
    expect_error(pgy_view_convert(pgy_view_of(s, PGY_F32, DIMS(2)), packed, true, &err), PGY_E_TYPE,
                 &err, "strides");
}
