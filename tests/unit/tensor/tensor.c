/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"
#include "tensor/tensor.h"

#include <stdlib.h>
#include <unistd.h>

static void count_free(void *data, void *user)
{
    (void)data;
    ++*(int *)user;
}

static void test_tensor__is_zeroed_and_aligned(void **state)
{
    (void)state;
    pgy_tensor *t = tensor_of(PGY_F32, DIMS(3, 5), NULL);
    assert_int_equal((uintptr_t)pgy_tensor_data(t) % 64, 0);
    for (size_t i = 0; i < 15; i++) assert_true(((float *)pgy_tensor_data(t))[i] == 0);
    assert_int_equal(pgy_tensor_size_bytes(t), 60);
    pgy_tensor_release(t);
}

static void test_tensor__empty_and_rank_0(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *empty = NULL, *scalar = NULL, *copy = NULL;
    int64_t shape[3] = {0, INT64_MAX, INT64_MAX};
    expect_ok(pgy_tensor_create(&empty, PGY_F64, 3, shape, &err), &err);
    assert_int_equal(pgy_tensor_count(empty), 0);
    assert_non_null(pgy_tensor_data(empty));
    expect_ok(pgy_tensor_copy(&copy, pgy_tensor_view(empty), &err), &err);
    expect_ok(pgy_tensor_create(&scalar, PGY_I32, 0, NULL, &err), &err);
    assert_int_equal(pgy_tensor_count(scalar), 1);
    pgy_tensor_release(empty);
    pgy_tensor_release(copy);
    pgy_tensor_release(scalar);
    pgy_tensor_release(NULL);
}

static void test_tensor__all_together_stay_below_the_limit(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *first = NULL, *second = NULL;
    pgy_set_max_memory(100000);
    assert_int_equal(pgy_tensor_create(&first, PGY_U8, DIMS(60000), &err), PGY_OK);
    expect_error(pgy_tensor_create(&second, PGY_U8, DIMS(60000), &err), PGY_E_MEMORY, &err,
                 "exceeds the memory limit of 100000 bytes");
    pgy_tensor_release(first);
    assert_int_equal(pgy_tensor_create(&second, PGY_U8, DIMS(60000), &err), PGY_OK);
    pgy_tensor_release(second);
    pgy_set_max_memory(0);
}

static void test_tensor__hostile_shapes(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    int64_t deep[PGY_MAX_RANK + 1] = {0};
    expect_error(pgy_tensor_create(&t, PGY_F32, DIMS(INT64_MAX, 2), &err), PGY_E_SHAPE, &err,
                 "too many elements");
    expect_error(pgy_tensor_create(&t, PGY_F32, DIMS(3, -2), &err), PGY_E_SHAPE, &err,
                 "dimension 1 is -2;");
    expect_error(pgy_tensor_create(&t, PGY_F64, DIMS(INT64_MAX / 2), &err), PGY_E_SHAPE, &err,
                 "do not fit");
    expect_error(pgy_tensor_create(&t, PGY_U8, DIMS(INT64_MAX / 4), &err), PGY_E_MEMORY, &err,
                 "exceeds the memory limit");
    expect_error(pgy_tensor_create(&t, PGY_U8, PGY_MAX_RANK + 1, deep, &err), PGY_E_SHAPE, &err,
                 "rank 65");
    expect_error(pgy_tensor_create(&t, PGY_DTYPE_NONE, 0, NULL, &err), PGY_E_TYPE, &err,
                 "element type");
    assert_null(t);
}

static void test_tensor__wrap_frees_once_at_the_last_release(void **state)
{
    (void)state;
    pgy_error err = {0};
    int freed = 0;
    float data[6] = {1, 2, 3, 4, 5, 6};
    pgy_tensor *t = NULL, *r = NULL;
    expect_ok(pgy_tensor_wrap(&t, data, PGY_F32, DIMS(2, 3), count_free, &freed, &err), &err);
    expect_ok(pgy_tensor_reshape(&r, t, DIMS(6), &err), &err);
    assert_ptr_equal(pgy_tensor_data(r), data);
    pgy_tensor_release(pgy_tensor_retain(t));
    pgy_tensor_release(t);
    assert_int_equal(freed, 0);
    pgy_tensor_release(r);
    assert_int_equal(freed, 1);
}

static void test_tensor__reshape_keeps_the_count(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *t = tensor_of(PGY_I8, DIMS(2, 3), NULL), *r = NULL;
    expect_error(pgy_tensor_reshape(&r, t, DIMS(7), &err), PGY_E_SHAPE, &err,
                 "6 elements cannot be reshaped to 7");
    assert_null(r);
    pgy_tensor_release(t);
}

static void test_tensor__strings_are_copied_deeply(void **state)
{
    (void)state;
    pgy_error err = {0};
    char text[] = "hello";
    pgy_tensor *t = tensor_of(PGY_STRING, DIMS(2), NULL), *copy = NULL;
    expect_ok(pgy_tensor_set_string(t, 1, text, 5, &err), &err);
    text[0] = 'j';
    expect_ok(pgy_tensor_copy(&copy, pgy_tensor_view(t), &err), &err);
    pgy_tensor_release(t);
    const pgy_string *s = pgy_tensor_data(copy);
    assert_int_equal(s[0].size, 0);
    assert_int_equal(s[1].size, 5);
    assert_memory_equal(s[1].data, "hello", 5);
    expect_error(pgy_tensor_set_string(copy, 2, "x", 1, &err), PGY_E_SHAPE, &err, "element 2");
    pgy_tensor_release(copy);
}

static void test_tensor__texts_can_be_shared(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *t = tensor_of(PGY_STRING, DIMS(2), NULL),
               *other = tensor_of(PGY_STRING, DIMS(1), NULL);
    expect_ok(pgy_tensor_set_string(t, 1, "hello", 5, &err), &err);
    tensor_share_texts(other, t);
    ((pgy_string *)pgy_tensor_data(other))[0] = ((pgy_string *)pgy_tensor_data(t))[1];
    pgy_tensor_release(t);
    const pgy_string *s = pgy_tensor_data(other);
    assert_memory_equal(s[0].data, "hello", 5);
    pgy_tensor_release(other);
}

static void test_tensor__copies_a_transposed_view(void **state)
{
    (void)state;
    pgy_error err = {0};
    int16_t x[6] = {0, 1, 2, 3, 4, 5};
    const int16_t turned[6] = {0, 3, 1, 4, 2, 5};
    int64_t strides[2] = {1, 3};
    pgy_view v = pgy_view_of(x, PGY_I16, DIMS(3, 2));
    v.strides = strides;
    assert_false(pgy_view_is_compact(v));
    pgy_tensor *t = NULL;
    expect_ok(pgy_tensor_copy(&t, v, &err), &err);
    assert_memory_equal(pgy_tensor_data(t), turned, sizeof turned);
    pgy_tensor_release(t);
}

static void swap_case(const char *threshold, size_t bytes, bool swaps)
{
    pgy_error err = {0};
    pgy_tensor *t = tensor_of(PGY_U8, 1, (int64_t[]){(int64_t)bytes}, NULL), *back = NULL;
    for (size_t i = 0; i < bytes; i++) ((uint8_t *)pgy_tensor_data(t))[i] = (uint8_t)(i * 7);
    setenv("POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB", threshold, 1);
    expect_ok(pgy_tensor_swap_out(t, &err), &err);
    unsetenv("POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB");
    assert_int_equal(pgy_tensor_is_swapped(t), swaps);
    assert_int_equal(pgy_tensor_data(t) == NULL, swaps);
    for (int round = 0; round < 2; round++) {
        expect_ok(pgy_tensor_load(&back, t, &err), &err);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(((uint8_t *)pgy_tensor_data(back))[i], (uint8_t)(i * 7));
        pgy_tensor_release(back);
    }
    pgy_tensor_release(t);
}

static void test_tensor__swaps_strictly_above_the_threshold(void **state)
{
    (void)state;
    swap_case("1", 1 << 20, false);
    swap_case("1", (1 << 20) + 1, true);
    swap_case("0", 1, true);
    swap_case("0", 0, false);
    swap_case("-1", 5 << 20, false);
    swap_case("9223372036854775807", 4, false);
}

static void test_tensor__bad_threshold_is_named(void **state)
{
    (void)state;
    pgy_error err = {0};
    int64_t mb;
    setenv("POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB", "many", 1);
    expect_error(pgy_swap_threshold_mb(&mb, &err), PGY_E_ARGUMENT, &err, "'many'");
    unsetenv("POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB");
    expect_ok(pgy_swap_threshold_mb(&mb, &err), &err);
    assert_int_equal(mb, -1);
}

static void test_tensor__shared_buffers_stay_in_memory(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor *t = tensor_of(PGY_U8, DIMS(16), NULL), *r = NULL;
    expect_ok(pgy_tensor_reshape(&r, t, DIMS(4, 4), &err), &err);
    setenv("POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB", "0", 1);
    expect_ok(pgy_tensor_swap_out(t, &err), &err);
    unsetenv("POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB");
    assert_false(pgy_tensor_is_swapped(t));
    pgy_tensor_release(t);
    pgy_tensor_release(r);
}

/* Whoever retained the tensor, or got it from pgy_tensor_load, may be reading it. */
static void test_tensor__retained_tensors_stay_in_memory(void **state)
{
    (void)state;
    static const uint8_t value[4] = {1, 2, 3, 4};
    pgy_error err = {0};
    pgy_tensor *t = tensor_of(PGY_U8, DIMS(4), value), *loaded = NULL;
    expect_ok(pgy_tensor_load(&loaded, t, &err), &err);
    const pgy_view read = pgy_tensor_view(loaded);
    setenv("POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB", "0", 1);
    expect_ok(pgy_tensor_swap_out(t, &err), &err);
    assert_false(pgy_tensor_is_swapped(t));
    assert_memory_equal(read.data, value, sizeof value);
    pgy_tensor_release(loaded);
    expect_ok(pgy_tensor_swap_out(t, &err), &err);
    assert_true(pgy_tensor_is_swapped(t));
    unsetenv("POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB");
    pgy_tensor_release(t);
}

/* Elements of another device cannot be read by the host. */
static void test_tensor__views_of_other_devices_are_refused(void **state)
{
    (void)state;
    static const int64_t shape[1] = {2};
    static const char PATH[] = TEST_BINARY_DIR "/device_view.npy";
    float data[2] = {1, 2};
    pgy_view v = pgy_view_of(data, PGY_F32, 1, shape);
    pgy_tensor *t = NULL;
    char *text = NULL;
    pgy_error err = {0};
    assert_int_equal(v.device.type, PGY_DEVICE_CPU);
    v.device = (pgy_device){.type = PGY_DEVICE_CUDA, .id = 1};
    assert_int_equal(pgy_tensor_copy(&t, v, &err), PGY_E_DEVICE);
    assert_non_null(strstr(err.text, "the array lies in the memory of device 2:1"));
    assert_int_equal(pgy_view_text(&text, v, NULL, &err), PGY_E_DEVICE);
    assert_int_equal(pgy_npy_save(PATH, v, &err), PGY_E_DEVICE);
    assert_int_equal(pgy_raw_save(PATH, v, &err), PGY_E_DEVICE);
    v.device = (pgy_device){0};
    assert_int_equal(pgy_tensor_copy(&t, v, &err), PGY_OK);
    assert_memory_equal(pgy_tensor_data(t), data, sizeof data);
    pgy_tensor_release(t);
}
