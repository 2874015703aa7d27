/* SPDX-License-Identifier: Apache-2.0 */
/* Fitting supplied data to a runner's inputs: names, types, shapes. Values from the original's
 * try_match_shape. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <polygraphy/data.h>

static char logged[8192];

static void keep_log(pgy_severity severity, const char *text, size_t size, void *user)
{
    (void)severity, (void)user;
    size_t used = strlen(logged), room = sizeof logged - 1 - used;
    memcpy(logged + used, text, size < room ? size : room);
    logged[used + (size < room ? size : room)] = 0;
}

/* 0, 1, 2, ... */
static pgy_tensor *counting(pgy_dtype dtype, size_t rank, const int64_t *shape)
{
    pgy_tensor *t = NULL, *cast = NULL;
    assert_int_equal(pgy_tensor_create(&t, PGY_I32, rank, shape, NULL), PGY_OK);
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        ((int32_t *)pgy_tensor_data(t))[i] = (int32_t)i;
    assert_int_equal(pgy_tensor_cast(&cast, pgy_tensor_view(t), dtype, NULL), PGY_OK);
    pgy_tensor_release(t);
    return cast;
}

static void assert_match(size_t rank, const int64_t *shape, size_t wanted_rank,
                         const int64_t *wanted, size_t new_rank, const int64_t *expected,
                         const int32_t *values)
{
    pgy_tensor *t = counting(PGY_I32, rank, shape), *m = NULL;
    pgy_error err = {0};
    if (pgy_match_shape(&m, t, wanted_rank, wanted, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_tensor_rank(m), new_rank);
    for (size_t i = 0; i < new_rank; i++) assert_int_equal(pgy_tensor_shape(m)[i], expected[i]);
    if (values) assert_memory_equal(pgy_tensor_data(m), values, pgy_tensor_size_bytes(m));
    pgy_tensor_release(m);
    pgy_tensor_release(t);
}
#define S(...)                                          \
    (sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]) \
    {                                                   \
        __VA_ARGS__                                     \
    }

static void test_match__shapes(void **state)
{
    (void)state;
    assert_match(S(2, 3), S(2, 3), S(2, 3), (int32_t[]){0, 1, 2, 3, 4, 5});
    assert_match(S(2, 3), S(3, 2), S(3, 2), (int32_t[]){0, 3, 1, 4, 2, 5}); /* permuted */
    assert_match(S(2, 3), S(6), S(6), (int32_t[]){0, 1, 2, 3, 4, 5});       /* reshaped */
    assert_match(S(2, 3), S(1, 6), S(1, 6), (int32_t[]){0, 1, 2, 3, 4, 5});
    assert_match(S(6), S(2, -1), S(2, 3),
                 (int32_t[]){0, 1, 2, 3, 4, 5}); /* one dynamic: what is left */
    assert_match(S(2, 3), S(-1, -1), S(2, 3),
                 (int32_t[]){0, 1, 2, 3, 4, 5}); /* several: taken over */
    assert_match(S(1, 2, 3), S(2, 3), S(2, 3), (int32_t[]){0, 1, 2, 3, 4, 5});
    assert_match(S(1), 0, NULL, 0, NULL, (int32_t[]){0});
    assert_match(0, NULL, S(1, 1), S(1, 1), (int32_t[]){0});
}

static void test_match__shapes_that_do_not_fit_stay(void **state)
{
    (void)state;
    assert_match(S(2, 3), S(2, 4), S(2, 3), NULL);
    assert_match(S(2, 3), S(5), S(2, 3), NULL);
    assert_match(S(2, 3), S(0, -1), S(2, 3), NULL);
    assert_match(S(2, 3), S(INT64_MAX, INT64_MAX, -1), S(2, 3), NULL);
}

typedef struct fixture {
    pgy_tensor_map *feed;
    pgy_metadata *inputs;
} fixture;

static fixture begin(void)
{
    fixture f = {0};
    assert_int_equal(pgy_tensor_map_create(&f.feed, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_create(&f.inputs, NULL), PGY_OK);
    logged[0] = 0;
    pgy_log_set_sink(keep_log, NULL);
    return f;
}

static void end(fixture *f)
{
    pgy_log_set_sink(NULL, NULL);
    pgy_tensor_map_destroy(f->feed);
    pgy_metadata_destroy(f->inputs);
}

static void supply(fixture *f, const char *name, pgy_dtype dtype, size_t rank, const int64_t *shape)
{
    assert_int_equal(pgy_tensor_map_adopt(f->feed, name, counting(dtype, rank, shape), NULL),
                     PGY_OK);
}

static void want(fixture *f, const char *name, pgy_dtype dtype, size_t rank, const int64_t *shape)
{
    pgy_tensor_info info = {.name = name, .dtype = dtype, .rank = (int32_t)rank, .shape = shape};
    assert_int_equal(pgy_metadata_set(f->inputs, &info, NULL), PGY_OK);
}

static pgy_tensor_map *match(fixture *f)
{
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    if (pgy_feed_match(&m, f->feed, f->inputs, &err)) fail_msg("%s", err.text);
    return m;
}

static void test_match__exact_inputs_pass_unchanged_and_silently(void **state)
{
    (void)state;
    fixture f = begin();
    supply(&f, "extra", PGY_F32, S(1));
    supply(&f, "b", PGY_F32, S(2));
    supply(&f, "a", PGY_I64, S(3));
    want(&f, "a", PGY_I64, S(-1));
    want(&f, "b", PGY_F32, S(2));
    pgy_tensor_map *m = match(&f);
    assert_int_equal(pgy_tensor_map_count(m), 2);
    assert_string_equal(pgy_tensor_map_name(m, 0), "a");
    assert_ptr_equal(pgy_tensor_map_at(m, 1), pgy_tensor_map_find(f.feed, "b"));
    assert_string_equal(logged, "");
    pgy_tensor_map_destroy(m);
    end(&f);
}

static void test_match__by_substring_then_by_position(void **state)
{
    (void)state;
    fixture f = begin();
    supply(&f, "first", PGY_F32, S(1));
    supply(&f, "the_IMAGE", PGY_F32, S(2));
    want(&f, "unrelated", PGY_F32, S(1));
    want(&f, "image", PGY_F32, S(2));
    pgy_tensor_map *m = match(&f);
    assert_ptr_equal(pgy_tensor_map_find(m, "unrelated"), pgy_tensor_map_find(f.feed, "first"));
    assert_ptr_equal(pgy_tensor_map_find(m, "image"), pgy_tensor_map_find(f.feed, "the_IMAGE"));
    assert_non_null(strstr(logged, "Input tensor: image | Buffer name (the_IMAGE) does not match "
                                   "expected input name (image)."));
    pgy_tensor_map_destroy(m);
    end(&f);
}

static void test_match__casts_with_warnings(void **state)
{
    (void)state;
    fixture f = begin();
    supply(&f, "x", PGY_F32, S(301));
    want(&f, "x", PGY_U8, S(301));
    pgy_tensor_map *m = match(&f);
    const uint8_t *x = pgy_tensor_data(pgy_tensor_map_find(m, "x"));
    assert_int_equal(x[255], 255);
    assert_int_equal(x[300], 44);
    assert_non_null(strstr(logged, "does not match expected input dtype"));
    assert_non_null(strstr(logged, "out of range"));
    pgy_tensor_map_destroy(m);
    end(&f);
}

static void test_match__reshapes_with_a_warning(void **state)
{
    (void)state;
    fixture f = begin();
    supply(&f, "x", PGY_F32, S(2, 3));
    want(&f, "x", PGY_F32, S(-1, 2));
    pgy_tensor_map *m = match(&f);
    const float *x = pgy_tensor_data(pgy_tensor_map_find(m, "x"));
    assert_memory_equal(x, ((float[]){0, 3, 1, 4, 2, 5}), 24);
    assert_non_null(strstr(logged, "attempting to transpose/reshape"));
    pgy_tensor_map_destroy(m);
    end(&f);
}

static void test_match__what_cannot_be_served_is_named(void **state)
{
    (void)state;
    fixture f = begin();
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    supply(&f, "x", PGY_F32, S(2));
    want(&f, "x", PGY_F32, S(3));
    assert_int_equal(pgy_feed_match(&m, f.feed, f.inputs, &err), PGY_E_ARGUMENT);
    assert_string_equal(
        err.text,
        "Input tensor: x | Cannot reuse input data due to mismatch in shape or data type: "
        "provided input: [dtype=float32, shape=(2,)], requested input: [dtype=float32, "
        "shape=(3,)]");
    end(&f);
    f = begin();
    want(&f, "x", PGY_F32, S(3));
    assert_int_equal(pgy_feed_match(&m, f.feed, f.inputs, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "Input tensor: x | Does not exist in the provided input data.");
    assert_null(m);
    end(&f);
}
