/* SPDX-License-Identifier: Apache-2.0 */
/* LabelEncoder and OneHotEncoder of ai.onnx.ml against their definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "harness/reference_case.h"
#include "kernels/launch.h"

enum { KEYS = 90 };

static const pgy_dtype TYPES[] = {PGY_I64, PGY_F32, PGY_F64, PGY_I32, PGY_I16};

/* Keys and values as tensors of their types; some keys occur twice. */
static void start_encoder(reference_case *c, pgy_dtype from, pgy_dtype to, bool fallback)
{
    double keys[KEYS], values[KEYS], other[] = {-3};
    reference_start(c, "ai.onnx.ml", "LabelEncoder", 4);
    for (int i = 0; i < KEYS; i++) {
        keys[i] = i % 80 - 4;
        values[i] = rand() % 1000;
    }
    reference_attr_tensor(c, "keys_tensor", from, keys, KEYS);
    reference_attr_tensor(c, "values_tensor", to, values, KEYS);
    if (fallback) reference_attr_tensor(c, "default_tensor", to, other, 1);
    reference_input(c, from, "7 31");
}

static void test_labels__types(void **state)
{
    (void)state;
    srand(1);
    for (size_t i = 0; i < 25; i++)
        for (int fallback = 0; fallback < 2; fallback++) {
            reference_case c;
            start_encoder(&c, TYPES[i / 5], TYPES[i % 5], fallback);
            assert_true(reference_run(&c, 1, 0) > 0);
        }
}

static void test_labels__lists(void **state)
{
    (void)state;
    static const int64_t INTS[] = {5, INT64_MIN, INT64_MAX, 0, -1, 5};
    static const float FLOATS[] = {NAN, -0.0f, INFINITY, 2.5f, -INFINITY, 1};
    for (int i = 0; i < 4; i++) {
        reference_case c;
        reference_start(&c, "ai.onnx.ml", "LabelEncoder", 2);
        if (i & 1)
            reference_attr_floats(&c, "keys_floats", FLOATS, 6);
        else
            reference_attr_ints(&c, "keys_int64s", INTS, 6);
        if (i & 2)
            reference_attr_floats(&c, "values_floats", FLOATS, 6);
        else
            reference_attr_ints(&c, "values_int64s", INTS, 6);
        if (i & 2) reference_attr_float(&c, "default_float", 0.25f);
        void *x = reference_input(&c, i & 1 ? PGY_F32 : PGY_I64, "20");
        for (int k = 0; k < 6; k++)
            if (i & 1)
                ((float *)x)[k] = k == 1 ? 0 : FLOATS[k];
            else
                ((int64_t *)x)[k] = INTS[k];
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

static void start_marks(reference_case *c, pgy_dtype from, int zeros)
{
    static const int64_t CATEGORIES[] = {3, -2, 0, 7, 3, 1};
    reference_start(c, "ai.onnx.ml", "OneHotEncoder", 1);
    reference_attr_ints(c, "cats_int64s", CATEGORIES, 6);
    reference_attr_int(c, "zeros", zeros);
    reference_input(c, from, "5 3 8");
}

static void test_labels__marks(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        reference_case c;
        start_marks(&c, TYPES[i], 1);
        if (TYPES[i] == PGY_F32) ((float *)pgy_tensor_data(c.inputs[0]))[4] = NAN;
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

/* Runs the first kernel of the operator on the inputs of c alone; the output is float32. */
static pgy_status run_alone(reference_case *c, const int64_t *shape, int32_t rank, float *y)
{
    void *tensors[4] = {0};
    double cost;
    pgy_error err = {0};
    kernel_plan plan = {0};
    kernel_problem u = {.node = &c->node, .input_count = c->input_count, .output_count = 1};
    c->node.output_count = 1;
    for (size_t i = 0; i < c->input_count; i++) {
        u.inputs[i] = (kernel_tensor){.dtype = pgy_tensor_dtype(c->inputs[i]),
                                      .rank = (int32_t)pgy_tensor_rank(c->inputs[i]),
                                      .shape = pgy_tensor_shape(c->inputs[i])};
        tensors[i] = pgy_tensor_data(c->inputs[i]);
    }
    tensors[c->input_count] = y;
    u.outputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = rank, .shape = shape};
    const kernel *k = kernel_for(c->node.def->domain, c->node.def->name, 0);
    assert_true(kernel_accept(k, &u, &cost));
    pgy_status st = k->prepare(&plan, &u, &err);
    if (!st) {
        launch l = launch_of(k, &plan, 1);
        atomic_int fault = 0;
        l.run.tensors = tensors;
        l.run.fault = &fault;
        st = launch_alone(&l);
    }
    kernel_plan_deinit(&plan);
    for (size_t i = 0; i < c->input_count; i++) pgy_tensor_release(c->inputs[i]);
    return st;
}

static void test_labels__an_element_without_category(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        reference_case c;
        float y[120 * 6];
        start_marks(&c, PGY_I64, 0);
        for (int i = 0; i < 120; i++) ((int64_t *)pgy_tensor_data(c.inputs[0]))[i] = 7;
        if (!known) ((int64_t *)pgy_tensor_data(c.inputs[0]))[119] = 4;
        const pgy_status st = run_alone(&c, (const int64_t[]){5, 3, 8, 6}, 4, y);
        assert_true(st == (known ? PGY_OK : PGY_E_SHAPE) || st == PGY_E_MEMORY);
    }
}
