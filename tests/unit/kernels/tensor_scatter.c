/* SPDX-License-Identifier: Apache-2.0 */
/* TensorScatter against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/reference_case.h"
#include "kernels/launch.h"

static void test_tensor_scatter__random_shapes(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16, PGY_F64};
    srand(1);
    for (int i = 0; i < 200; i++) {
        const int batch = 1 + rand() % 4, heads = 1 + rand() % 3, room = 1 + rand() % 40;
        const int length = 1 + rand() % room, width = 1 + rand() % 20, circular = i % 2;
        const bool last = i % 3 == 0, indexed = i % 5 != 0;
        const pgy_dtype dtype = TYPES[rand() % 5];
        char shape[64];
        reference_case c;
        reference_start(&c, "", "TensorScatter", 24);
        if (last) reference_attr_int(&c, "axis", -1);
        if (circular) reference_attr_text(&c, "mode", "circular");
        for (int k = 0; k < 2; k++) {
            const int rows = k ? length : room;
            snprintf(shape, sizeof shape, "%d %d %d %d", batch, heads, last ? width : rows,
                     last ? rows : width);
            reference_input(&c, dtype, shape);
        }
        snprintf(shape, sizeof shape, "%d", batch);
        int64_t *at = indexed ? reference_input(&c, PGY_I64, shape) : NULL;
        for (int b = 0; at && b < batch; b++)
            at[b] = circular ? rand() % 100 : rand() % (room - length + 1);
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

/* Runs a cache of 6 rows of 2 floats in place with 2 new rows at index `at`. */
static pgy_status run_in_place(float cache[12], int64_t at, const char *mode)
{
    static const int64_t shapes[][3] = {{1, 6, 2}, {1, 2, 2}, {1}};
    float update[] = {21, 22, 23, 24};
    void *tensors[] = {cache, update, &at, cache};
    reference_case c;
    kernel_plan plan = {0};
    atomic_int fault = 0;
    double cost;
    pgy_error err = {0};
    reference_start(&c, "", "TensorScatter", 24);
    reference_attr_text(&c, "mode", mode);
    kernel_problem u = {.node = &c.node, .input_count = 3, .output_count = 1};
    for (size_t i = 0; i < 4; i++) {
        kernel_tensor *t = i < 3 ? &u.inputs[i] : &u.outputs[0];
        *t = (kernel_tensor){
            .dtype = i == 2 ? PGY_I64 : PGY_F32, .rank = i == 2 ? 1 : 3, .shape = shapes[i % 3]};
    }
    const kernel *k = kernel_for("", "TensorScatter", 0);
    assert_true(kernel_accept(k, &u, &cost));
    pgy_status st = k->prepare(&plan, &u, &err);
    if (!st) {
        assert_int_equal(plan.in_place, 0);
        launch l = launch_of(k, &plan, 1);
        l.run.tensors = tensors;
        l.run.fault = &fault;
        st = launch_alone(&l);
    }
    kernel_plan_deinit(&plan);
    return st;
}

static void test_tensor_scatter__in_place(void **state)
{
    (void)state;
    static const float LINEAR[] = {0, 1, 2, 3, 4, 5, 21, 22, 23, 24, 10, 11},
                       CIRCULAR[] = {23, 24, 2, 3, 4, 5, 6, 7, 8, 9, 21, 22};
    float cache[12];
    for (int i = 0; i < 12; i++) cache[i] = (float)i;
    if (run_in_place(cache, 3, "linear")) return; /* memory is short */
    assert_memory_equal(cache, LINEAR, sizeof LINEAR);
    for (int i = 0; i < 12; i++) cache[i] = (float)i;
    assert_int_equal(run_in_place(cache, 11, "circular"), PGY_OK);
    assert_memory_equal(cache, CIRCULAR, sizeof CIRCULAR);
    assert_int_equal(run_in_place(cache, 5, "linear"), PGY_E_ARGUMENT);
    assert_int_equal(run_in_place(cache, -1, "linear"), PGY_E_ARGUMENT);
    assert_int_equal(run_in_place(cache, INT64_MIN, "circular"), PGY_E_ARGUMENT);
}
