/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft EmbedLayerNormalization against the reference definition. */
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

enum { WORDS = 40, PLACES = 32, KINDS = 3 };

typedef struct embed_case {
    int batch, length, width, outputs;
    bool segments, mask;
    int positions; /* number of given positions; 0: none */
} embed_case;

static void add_table(reference_case *c, pgy_dtype dtype, int rows, int width)
{
    char shape[32];
    snprintf(shape, sizeof shape, "%d %d", rows, width);
    reference_input(c, dtype, shape);
}

/* Numbers below `most`. */
static void add_ids(reference_case *c, bool given, int batch, int length, int most)
{
    char shape[32];
    snprintf(shape, sizeof shape, "%d %d", batch, length);
    int32_t *ids = reference_input(c, PGY_I32, given ? shape : NULL);
    for (int i = 0; ids && i < batch * length; i++) ids[i] = rand() % most;
}

static void start(reference_case *c, const embed_case *t, pgy_dtype dtype)
{
    const int rows[] = {WORDS, PLACES, KINDS};
    reference_start(c, "com.microsoft", "EmbedLayerNormalization", 1);
    reference_attr_float(c, "epsilon", 1e-5);
    add_ids(c, true, t->batch, t->length, WORDS);
    add_ids(c, t->segments, t->batch, t->length, KINDS);
    for (int i = 0; i < 3; i++) {
        if (i < 2 || t->segments)
            add_table(c, dtype, rows[i], t->width);
        else
            reference_input(c, dtype, NULL);
    }
    for (int i = 0; i < 2; i++) {
        char width[16];
        snprintf(width, sizeof width, "%d", t->width);
        reference_input(c, dtype, width);
    }
    add_ids(c, t->mask, t->batch, t->length, 2);
    if (t->positions) add_ids(c, true, t->positions / t->length, t->length, PLACES);
}

static void test_embed_layer_norm__cases(void **state)
{
    (void)state;
    static const struct {
        pgy_dtype dtype;
        double tolerance;
    } TYPES[] = {{PGY_F32, 4e-6}, {PGY_F16, 2e-3}};
    static const embed_case CASES[] = {
        {2, 5, 48, 1, .segments = true, .mask = true},
        {2, 5, 48, 3, .segments = true, .mask = true},
        {3, 7, 33, 2, .mask = true},
        {1, 1, 4, 2},
        {2, 6, 20, 3, .segments = true, .positions = 6},
        {2, 6, 20, 1, .positions = 12},
        {1, 32, 768, 1, .segments = true},
    };
    srand(1);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (size_t k = 0; k < sizeof TYPES / sizeof *TYPES; k++) {
            reference_case c;
            start(&c, &CASES[i], TYPES[k].dtype);
            assert_true(reference_run(&c, (size_t)CASES[i].outputs, TYPES[k].tolerance) > 0);
        }
}

/* A run with one index of input `input` changed. */
static pgy_status run_with(size_t input, int32_t index)
{
    static const embed_case T = {1, 2, 4, 1, .segments = true, .mask = true, .positions = 2};
    static const int64_t SHAPE[] = {1, 2, 4};
    float y[8], scratch[64];
    void *tensors[10] = {0};
    kernel_plan plan = {0};
    kernel_bad_index bad = {0};
    atomic_int fault = 0;
    double cost;
    pgy_error err = {0};
    reference_case c;
    start(&c, &T, PGY_F32);
    c.node.output_count = 1;
    ((int32_t *)pgy_tensor_data(c.inputs[input]))[1] = index;
    kernel_problem u = {.node = &c.node, .input_count = c.input_count, .output_count = 1};
    for (size_t i = 0; i < c.input_count; i++) {
        u.inputs[i] = (kernel_tensor){.dtype = pgy_tensor_dtype(c.inputs[i]),
                                      .rank = (int32_t)pgy_tensor_rank(c.inputs[i]),
                                      .shape = pgy_tensor_shape(c.inputs[i])};
        tensors[i] = pgy_tensor_data(c.inputs[i]);
    }
    u.outputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 3, .shape = SHAPE};
    tensors[c.input_count] = y;
    const kernel *k = kernel_for("com.microsoft", "EmbedLayerNormalization", 0);
    assert_true(kernel_accept(k, &u, &cost));
    pgy_status st = k->prepare(&plan, &u, &err);
    if (!st) {
        launch l = launch_of(k, &plan, 1);
        assert_true(plan.scratch_bytes <= sizeof scratch);
        l.run.tensors = tensors;
        l.run.fault = &fault;
        l.run.bad = &bad;
        l.scratch = (char *)scratch;
        st = launch_alone(&l);
    }
    kernel_plan_deinit(&plan);
    for (size_t i = 0; i < c.input_count; i++) pgy_tensor_release(c.inputs[i]);
    return st;
}

static void test_embed_layer_norm__indices_outside_of_tables(void **state)
{
    (void)state;
    static const struct {
        size_t input;
        int32_t rows;
    } TABLES[] = {{0, WORDS}, {1, KINDS}, {8, PLACES}};
    const pgy_status outside = kernel_fault_status(KERNEL_FAULT_INDEX);
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++) {
        if (run_with(TABLES[i].input, TABLES[i].rows - 1)) return; /* memory is short */
        assert_int_equal(run_with(TABLES[i].input, TABLES[i].rows), outside);
        assert_int_equal(run_with(TABLES[i].input, -1), outside);
        assert_int_equal(run_with(TABLES[i].input, INT32_MIN), outside);
    }
}
