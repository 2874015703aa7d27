/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of float32 whose numbers all are float16 or bfloat16 numbers take half the memory, with
 * the same results, also in plans and after a refit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <polygraphy/refit.h>
#include <polygraphy/runtime.h>
#include <string.h>

#include "engine/build/engine.h"
#include "harness/model_builder.h"

enum { IN = 320, OUT = 256, COUNT = IN * OUT, MOST = 100 };

/* What the weights are; the last one differs from bfloat16 in one number. */
typedef enum numbers { BFLOAT16, FLOAT16, FLOAT32, ALMOST } numbers;

static float number(numbers kind, size_t i)
{
    const float small = (float)((int)(i * 29 % 251) - 125) / 128;
    switch (kind) {
    case BFLOAT16: return small * 0x1p-30F; /* too small for float16 */
    case FLOAT16: return small + (small < 0 ? -0x1p-10F : 0x1p-10F) * 2;
    case FLOAT32: return small * 1.0001F;
    default: return i + 1 == COUNT ? 0x1.01p-30F : small * 0x1p-30F;
    }
}

static const float *weights(numbers kind)
{
    static float w[COUNT];
    for (size_t i = 0; i < COUNT; i++) w[i] = number(kind, i);
    return w;
}

/* One matrix as it is, and one turned. */
static pgy_model *model_of(numbers kind, const char *rows)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, rows);
    builder_floats(&b, "plain", "320, 256", weights(kind));
    builder_floats(&b, "turned", "320, 256", weights(kind));
    builder_node(&b, "MatMul", "x plain", "a");
    builder_attr_int(&b, builder_node(&b, "Gemm", "a turned", "y"), "transB", 1);
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static pgy_engine *build(numbers kind, const char *rows)
{
    static const int64_t MIN[] = {1, IN}, OPT[] = {4, IN}, MAX[] = {MOST, IN};
    const pgy_profile_range x = {.name = "x", .count = 2, .min = MIN, .opt = OPT, .max = MAX};
    const pgy_profile profile = {.ranges = &x, .range_count = 1};
    const pgy_build_config config = {.size = sizeof config,
                                     .profiles = &profile,
                                     .profile_count = rows[0] == 'N',
                                     .refittable = true,
                                     .has_optimization_level = true};
    pgy_model *model = model_of(kind, rows);
    pgy_engine *e = NULL;
    pgy_error err = {0};
    const pgy_status st = pgy_engine_build(&e, model, &config, &err);
    pgy_model_destroy(model);
    if (st) fail_msg("%s", err.text);
    return e;
}

static float x_at(size_t i)
{
    return (float)((int)(i * 37 % 101) - 50) / 64;
}

static void run(float *y, pgy_engine *e, int64_t n)
{
    static float x[MOST * IN];
    const size_t bytes = (size_t)n * IN * sizeof *x;
    const pgy_context_options o = {.size = sizeof o, .threads = 1};
    pgy_context *c = NULL;
    pgy_error err = {0};
    for (size_t i = 0; i < (size_t)n * IN; i++) x[i] = x_at(i);
    pgy_status st = pgy_context_create(&c, e, &o, &err);
    if (!st) st = pgy_context_set_input_shape(c, "x", 2, (const int64_t[]){n, IN}, &err);
    if (!st) st = pgy_context_set_input(c, "x", x, bytes, &err);
    if (!st) st = pgy_context_set_output(c, "y", y, bytes, &err);
    if (!st) st = pgy_context_execute(c, &err);
    pgy_context_destroy(c);
    if (st) fail_msg("%s", err.text);
}

static float got[MOST * IN], again[MOST * IN];

/* Compares a row with sums in float64. */
static void assert_row(numbers kind, size_t row)
{
    const float *w = weights(kind);
    double a[OUT] = {0}, most = 0;
    for (size_t p = 0; p < IN; p++)
        for (size_t j = 0; j < OUT; j++)
            a[j] += (double)x_at(row * IN + p) * (double)w[p * OUT + j];
    for (size_t j = 0; j < OUT; j++) most = fmax(most, fabs(a[j]));
    for (size_t i = 0; i < IN; i++) {
        double y = 0, scale = 0;
        for (size_t j = 0; j < OUT; j++) {
            y += a[j] * (double)w[i * OUT + j];
            scale += most * fabs((double)w[i * OUT + j]);
        }
        assert_true(fabs((double)got[row * IN + i] - y) <= 1e-6 * scale);
    }
}

static void assert_results(pgy_engine *e, numbers kind)
{
    static const int64_t ROWS[] = {1, 3, 4, 9, 30, MOST};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        run(got, e, ROWS[i]);
        for (int64_t row = 0; row < ROWS[i]; row += 29) assert_row(kind, (size_t)row);
        assert_row(kind, (size_t)ROWS[i] - 1);
    }
}

/* Of both matrices, which fill whole panels. */
static void assert_bytes(pgy_engine *e, size_t each)
{
    const uint64_t bytes = engine_packed(e).bytes, wanted = 2 * COUNT * (uint64_t)each;
    if (bytes < wanted || bytes > wanted + 4096)
        fail_msg("packed weights have %llu bytes, not %llu", (unsigned long long)bytes,
                 (unsigned long long)wanted);
}

static void test_narrow__weights_take_half_the_memory(void **state)
{
    (void)state;
    static const size_t BYTES[] = {[BFLOAT16] = 2, [FLOAT16] = 2, [FLOAT32] = 4, [ALMOST] = 4};
    for (numbers kind = BFLOAT16; kind <= ALMOST; kind++) {
        pgy_engine *e = build(kind, "N, 320"), *fixed = build(kind, "4, 320");
        assert_results(e, kind);
        assert_bytes(e, BYTES[kind]); /* after programs for other numbers of rows */
        run(got, fixed, 4);
        assert_row(kind, 3);
        assert_bytes(fixed, BYTES[kind]);
        pgy_engine_release(e);
        pgy_engine_release(fixed);
    }
}

static pgy_engine *reload(pgy_engine *e, size_t *size_bytes)
{
    pgy_engine *loaded = NULL;
    pgy_error err = {0};
    void *bytes = NULL;
    pgy_status st = pgy_engine_serialize(&bytes, size_bytes, e, &err);
    if (!st) st = pgy_engine_load(&loaded, bytes, *size_bytes, false, &err);
    pgy_engine_free_bytes(bytes);
    if (st) fail_msg("%s", err.text);
    return loaded;
}

static void test_narrow__plans_give_the_same_bits(void **state)
{
    (void)state;
    for (numbers kind = BFLOAT16; kind <= FLOAT32; kind++) {
        size_t size_bytes;
        pgy_engine *e = build(kind, "N, 320"), *loaded = reload(e, &size_bytes);
        for (int64_t n = 1; n <= MOST; n += 11) {
            run(got, e, n);
            run(again, loaded, n);
            assert_memory_equal(got, again, (size_t)n * IN * sizeof *got);
        }
        pgy_engine_release(e);
        pgy_engine_release(loaded);
    }
}

static void refit(pgy_engine *e, numbers kind)
{
    pgy_refitter *r = NULL;
    pgy_model *model = model_of(kind, "N, 320");
    pgy_error err = {0};
    pgy_status st = pgy_refitter_create(&r, e, &err);
    if (!st) st = pgy_refitter_set_model(r, model, &err);
    if (!st) st = pgy_refitter_refit(r, &err);
    pgy_refitter_destroy(r);
    pgy_model_destroy(model);
    if (st) fail_msg("%s", err.text);
}

static void test_narrow__a_refit_may_need_wider_weights(void **state)
{
    (void)state;
    size_t size_bytes;
    pgy_engine *e = build(BFLOAT16, "N, 320"), *loaded = reload(e, &size_bytes);
    refit(e, FLOAT32);
    assert_results(e, FLOAT32);
    assert_bytes(e, 4);
    refit(e, FLOAT16);
    assert_results(e, FLOAT16);
    refit(loaded, ALMOST);
    assert_results(loaded, ALMOST);
    pgy_engine_release(e);
    pgy_engine_release(loaded);
}
