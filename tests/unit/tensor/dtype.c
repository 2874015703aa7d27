/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

static void test_dtype__names_and_codes_lead_back(void **state)
{
    (void)state;
    const pgy_dtype_info *types;
    size_t count = pgy_dtype_list(&types);
    assert_int_equal(count, 28);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pgy_dtype_from_name(types[i].name), types[i].dtype);
        assert_int_equal(pgy_dtype_from_name(types[i].onnx_name), types[i].dtype);
        assert_int_equal(pgy_dtype_from_onnx(types[i].onnx), types[i].dtype);
        assert_ptr_equal(pgy_dtype_describe(types[i].dtype), &types[i]);
    }
}

static void test_dtype__known_rows(void **state)
{
    (void)state;
    assert_int_equal(pgy_dtype_from_name("Float32"), PGY_F32);
    assert_int_equal(pgy_dtype_from_onnx(16), PGY_BF16);
    assert_int_equal(pgy_dtype_from_onnx(0), PGY_DTYPE_NONE);
    assert_int_equal(pgy_dtype_from_name("float31"), PGY_DTYPE_NONE);
    assert_string_equal(pgy_dtype_name(PGY_DTYPE_NONE), "none");
    assert_true(pgy_dtype_is_float(PGY_F4E2M1) && pgy_dtype_is_float(PGY_BF16) &&
                !pgy_dtype_is_float(PGY_C64));
    assert_true(pgy_dtype_is_integer(PGY_U2) && !pgy_dtype_is_integer(PGY_BOOL) &&
                !pgy_dtype_is_integer(PGY_DTYPE_NONE));
    assert_false(pgy_dtype_is_float(PGY_DTYPE_NONE));
}

static void test_dtype__packed_sizes_round_up(void **state)
{
    (void)state;
    size_t bytes;
    assert_int_equal(pgy_dtype_size_bytes(&bytes, PGY_I4, 3, NULL), PGY_OK);
    assert_int_equal(bytes, 2);
    assert_int_equal(pgy_dtype_size_bytes(&bytes, PGY_U2, 5, NULL), PGY_OK);
    assert_int_equal(bytes, 2);
    assert_int_equal(pgy_dtype_size_bytes(&bytes, PGY_F6E3M2, 13, NULL), PGY_OK);
    assert_int_equal(bytes, 10);
    assert_int_equal(pgy_dtype_size_bytes(&bytes, PGY_I4, SIZE_MAX, NULL), PGY_OK);
    assert_int_equal(bytes, SIZE_MAX / 2 + 1);
    assert_int_equal(pgy_dtype_size_bytes(&bytes, PGY_C128, SIZE_MAX / 2, NULL), PGY_E_SHAPE);
}

static void test_dtype__views_count_and_compare(void **state)
{
    (void)state;
    float x[12];
    int64_t strides[3] = {6, 99, 1}, gaps[3] = {8, 1, 1};
    pgy_view v = pgy_view_of(x, PGY_F32, DIMS(2, 1, 6));
    v.strides = strides;
    assert_true(pgy_view_is_compact(v));
    v.strides = gaps;
    assert_false(pgy_view_is_compact(v));
    v.byte_offset = 8;
    assert_ptr_equal(pgy_view_data(v), x + 2);
    assert_int_equal(pgy_view_size_bytes(v), 48);
    assert_false(pgy_view_same_shape(v, pgy_view_of(x, PGY_F32, DIMS(2, 6))));
}
