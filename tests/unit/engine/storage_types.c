/* SPDX-License-Identifier: Apache-2.0 */
/* Types that only store: 16-bit floats, float8, float4 and 4-bit integers, as weights and between
 * nodes of a whole model in the engine. All numbers are such that every type holds them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/context/context.h"
#include "harness/model_builder.h"
#include "tensor/convert.h"

enum { COUNT = 15 };

static const float VALUES[] = {0, 1, 2, 3, 4, 6};

static float value_at(size_t i)
{
    return VALUES[i * 7 % 6];
}

static void add_and_release(model_builder *b, pgy_tensor *w)
{
    builder_initializer(b, "w", w);
    pgy_tensor_release(w);
}

/* 5 x 3 elements of VALUES in a type. */
static pgy_tensor *weights(pgy_dtype dtype)
{
    const int64_t shape[] = {5, 3};
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, dtype, 2, shape, NULL), PGY_OK);
    uint8_t *data = pgy_tensor_data(t);
    memset(data, 0, pgy_tensor_size_bytes(t));
    for (size_t i = 0; i < COUNT; i++) {
        const double v = (double)value_at(i);
        unsigned code = (unsigned)v;
        if (dtype == PGY_F16) {
            ((uint16_t *)pgy_tensor_data(t))[i] = f16_from_f64(v);
            continue;
        }
        if (dtype == PGY_BF16) {
            ((uint16_t *)pgy_tensor_data(t))[i] = bf16_from_f64(v);
            continue;
        }
        if (pgy_dtype_is_float(dtype)) code = f8_from_f64(dtype, v, true);
        if (pgy_dtype_describe(dtype)->bits == 8)
            data[i] = (uint8_t)code;
        else
            data[i / 2] |= (uint8_t)(code << i % 2 * 4);
    }
    return t;
}

/* Runs the model on x[i] = value_at(i + 2); y must be `wanted`. */
static void run_model(pgy_model *model, pgy_dtype dtype, const float *wanted)
{
    const int64_t shape[] = {5, 3};
    engine *e = NULL;
    context *c = NULL;
    pgy_tensor_map *feed = NULL, *got = NULL;
    pgy_tensor *x = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&got, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&x, PGY_F32, 2, shape, NULL), PGY_OK);
    for (size_t i = 0; i < COUNT; i++) ((float *)pgy_tensor_data(x))[i] = value_at(i + 2);
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", x, NULL), PGY_OK);
    if (engine_build(&e, model, NULL, &err) || context_create(&c, e, 2, &err) ||
        context_run(c, feed, got, NULL, &err))
        fail_msg("%s: %s", pgy_dtype_name(dtype), err.text);
    const float *y = pgy_tensor_data(pgy_tensor_map_at(got, 0));
    for (size_t i = 0; i < COUNT; i++)
        if (y[i] != wanted[i])
            fail_msg("%s: element %zu is %g, not %g", pgy_dtype_name(dtype), i, (double)y[i],
                     (double)wanted[i]);
    context_destroy(c);
    engine_release(e);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(got);
    pgy_model_destroy(model);
}

static const pgy_dtype TYPES[] = {PGY_I4,     PGY_U4,         PGY_F8E4M3FN,
                                  PGY_F8E5M2, PGY_F8E4M3FNUZ, PGY_F8E5M2FNUZ,
                                  PGY_F4E2M1, PGY_F16,        PGY_BF16};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES, NARROW_COUNT = TYPE_COUNT - 2 };

static int64_t code_of(pgy_dtype dtype)
{
    return pgy_dtype_describe(dtype)->onnx;
}

static void test_storage_types__weights_that_are_cast(void **state)
{
    (void)state;
    for (size_t t = 0; t < TYPE_COUNT; t++) {
        float wanted[COUNT];
        model_builder b = builder_start(23);
        builder_input(&b, "x", PGY_F32, "5, 3");
        add_and_release(&b, weights(TYPES[t]));
        builder_attr_int(&b, builder_node(&b, "Cast", "w", "c"), "to", code_of(PGY_F32));
        builder_node(&b, "Add", "x c", "y");
        builder_output(&b, "y", PGY_F32, NULL);
        for (size_t i = 0; i < COUNT; i++) wanted[i] = value_at(i) + value_at(i + 2);
        run_model(builder_finish_bytes(&b), TYPES[t], wanted);
    }
}

static void test_storage_types__weights_that_are_dequantized(void **state)
{
    (void)state;
    static const float scale[] = {0.5f, 2, 0.25f};
    for (size_t t = 0; t < NARROW_COUNT; t++) {
        float wanted[COUNT];
        model_builder b = builder_start(23);
        builder_input(&b, "x", PGY_F32, "5, 3");
        add_and_release(&b, weights(TYPES[t]));
        builder_floats(&b, "s", "3", scale);
        builder_attr_int(&b, builder_node(&b, "DequantizeLinear", "w s", "c"), "axis", 1);
        builder_node(&b, "Add", "x c", "y");
        builder_output(&b, "y", PGY_F32, NULL);
        for (size_t i = 0; i < COUNT; i++) wanted[i] = value_at(i) * scale[i % 3] + value_at(i + 2);
        run_model(builder_finish_bytes(&b), TYPES[t], wanted);
    }
}

static void test_storage_types__between_nodes(void **state)
{
    (void)state;
    for (size_t t = 0; t < TYPE_COUNT; t++) {
        float wanted[COUNT];
        model_builder b = builder_start(23);
        builder_input(&b, "x", PGY_F32, "5, 3");
        builder_attr_int(&b, builder_node(&b, "Cast", "x", "c"), "to", code_of(TYPES[t]));
        builder_node(&b, "Transpose", "c", "t");
        builder_attr_int(&b, builder_node(&b, "Cast", "t", "y"), "to", code_of(PGY_F32));
        builder_output(&b, "y", PGY_F32, NULL);
        for (size_t i = 0; i < COUNT; i++) wanted[i] = value_at(i % 5 * 3 + i / 5 + 2);
        run_model(builder_finish_bytes(&b), TYPES[t], wanted);
    }
}

/* relu(x * w') * 0.5 + x in 16 bits, with sums that 8 bits of mantissa hold. */
static void test_storage_types__products_in_16_bits(void **state)
{
    (void)state;
    static const float half[] = {0.5f};
    for (size_t t = NARROW_COUNT; t < TYPE_COUNT; t++) {
        float wanted[COUNT];
        pgy_tensor *square = NULL;
        const int64_t shape[] = {3, 3};
        assert_int_equal(pgy_tensor_create(&square, TYPES[t], 2, shape, NULL), PGY_OK);
        uint16_t *w = pgy_tensor_data(square);
        const double numbers[] = {1, -1, 0, 2, 1, -1, 0, 1, 1};
        for (size_t i = 0; i < 9; i++)
            w[i] = TYPES[t] == PGY_F16 ? f16_from_f64(numbers[i]) : bf16_from_f64(numbers[i]);
        model_builder b = builder_start(23);
        builder_input(&b, "x", PGY_F32, "5, 3");
        add_and_release(&b, square);
        builder_floats(&b, "h", "1", half);
        builder_attr_int(&b, builder_node(&b, "Cast", "x", "c"), "to", code_of(TYPES[t]));
        builder_attr_int(&b, builder_node(&b, "Cast", "h", "k"), "to", code_of(TYPES[t]));
        builder_node(&b, "MatMul", "c w", "m");
        builder_node(&b, "Relu", "m", "r");
        builder_node(&b, "Mul", "r k", "p");
        builder_node(&b, "Add", "p c", "a");
        builder_attr_int(&b, builder_node(&b, "Cast", "a", "y"), "to", code_of(PGY_F32));
        builder_output(&b, "y", PGY_F32, NULL);
        for (size_t i = 0; i < COUNT; i++) {
            double sum = 0;
            for (size_t k = 0; k < 3; k++)
                sum += (double)value_at(i / 3 * 3 + k + 2) * numbers[k * 3 + i % 3];
            wanted[i] = (float)(sum > 0 ? sum / 2 : 0) + value_at(i + 2);
        }
        run_model(builder_finish_bytes(&b), TYPES[t], wanted);
    }
}
