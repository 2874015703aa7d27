/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GroupQueryAttention against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/reference_case.h"
#include "kernels/half.h"
#include "kernels/launch.h"

static const double TOLERANCE = 4e-6;

typedef struct group_case {
    int batch, heads, kv_heads, rows, size;
    int past, total; /* length of the caches of the input, 0: none; of the longest sequence */
    int lengths[3];  /* seqlens_k */
    bool packed, rotary, interleaved, ids, bias, sinks, norms;
    int window; /* 0: none */
    float cap;
    int smooth;
} group_case;

static void *add(reference_case *c, bool given, pgy_dtype dtype, const int *sizes, size_t rank)
{
    char shape[96] = "";
    for (size_t i = 0, at = 0; i < rank; i++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, "%d ", sizes[i]);
    return reference_input(c, dtype, given ? shape : NULL);
}

static void add_attributes(reference_case *c, const group_case *t)
{
    reference_attr_int(c, "num_heads", t->heads);
    reference_attr_int(c, "kv_num_heads", t->kv_heads);
    if (t->rotary) reference_attr_int(c, "do_rotary", 1);
    if (t->interleaved) reference_attr_int(c, "rotary_interleaved", 1);
    if (t->window) reference_attr_int(c, "local_window_size", t->window);
    if (t->cap > 0) reference_attr_float(c, "softcap", t->cap);
    if (t->smooth) reference_attr_int(c, "smooth_softmax", t->smooth);
}

static void add_table(reference_case *c, const group_case *t, pgy_dtype dtype,
                      float (*function)(float))
{
    const int pairs = t->size / 2 - (t->size > 12), places = t->total + 3;
    void *x = add(c, t->rotary, dtype, (int[]){places, pairs}, 2);
    for (int i = 0; x && i < places * pairs; i++) {
        const float value = function((float)(i / pairs) / (float)(1 + i % pairs));
        if (dtype == PGY_F32)
            ((float *)x)[i] = value;
        else
            half_loops_of(dtype, CPU_PORTABLE)->narrow((uint16_t *)x + i, &value, 1);
    }
}

static void start(reference_case *c, const group_case *t, pgy_dtype dtype)
{
    const int width = t->kv_heads * t->size, places = t->total + 3;
    const int parts = t->packed ? t->heads + 2 * t->kv_heads : t->heads;
    reference_start(c, "com.microsoft", "GroupQueryAttention", 1);
    add_attributes(c, t);
    add(c, true, dtype, (int[]){t->batch, t->rows, parts * t->size}, 3);
    for (int i = 0; i < 2; i++) add(c, !t->packed, dtype, (int[]){t->batch, t->rows, width}, 3);
    for (int i = 0; i < 2; i++)
        add(c, t->past, dtype, (int[]){t->batch, t->kv_heads, t->past, t->size}, 4);
    int32_t *lengths = add(c, true, PGY_I32, &t->batch, 1);
    for (int i = 0; i < t->batch; i++) lengths[i] = t->lengths[i];
    *(int32_t *)reference_input(c, PGY_I32, "1") = t->total;
    for (int i = 0; i < 2; i++) add_table(c, t, dtype, i ? sinf : cosf);
    int64_t *ids = add(c, t->ids, PGY_I64, (int[]){t->batch, t->rows}, 2);
    for (int i = 0; ids && i < t->batch * t->rows; i++) ids[i] = i * 5 % places;
    add(c, t->bias, dtype, (int[]){1, t->heads, t->rows, t->total}, 4);
    add(c, t->sinks, dtype, &t->heads, 1);
    for (int i = 0; i < 2; i++) reference_input(c, PGY_F32, NULL);
    for (int i = 0; i < 2; i++) add(c, t->norms, dtype, &t->size, 1);
}

static void run_cases(const group_case *cases, size_t count)
{
    static const struct {
        pgy_dtype dtype;
        double tolerance;
    } TYPES[] = {{PGY_F32, TOLERANCE}, {PGY_F16, 4e-3}, {PGY_BF16, 4e-2}};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof TYPES / sizeof *TYPES; k++) {
            reference_case c;
            start(&c, &cases[i], TYPES[k].dtype);
            assert_true(reference_run(&c, 3, TYPES[k].tolerance) > 0);
        }
}

#define RUN(cases) run_cases(cases, sizeof(cases) / sizeof *(cases))

static void test_group_attention__prompts(void **state)
{
    (void)state;
    static const group_case CASES[] = {
        {1, 2, 1, 3, 8, .total = 3, .lengths = {2}},
        {2, 4, 2, 5, 16, .total = 5, .lengths = {4, 2}},
        {2, 4, 2, 5, 20, .total = 5, .lengths = {4, 2}, .rotary = true},
        {1, 6, 2, 40, 64, .total = 40, .lengths = {39}, .packed = true, .rotary = true},
        {1, 3, 3, 7, 80, .past = 20, .total = 7, .lengths = {6}, .rotary = true},
        {1, 1, 1, 1, 2, .total = 1, .lengths = {0}},
    };
    RUN(CASES);
}

static void test_group_attention__steps_with_a_cache(void **state)
{
    (void)state;
    static const group_case CASES[] = {
        {1, 2, 1, 1, 8, .past = 4, .total = 5, .lengths = {4}},
        {2, 8, 2, 1, 64, .past = 40, .total = 33, .lengths = {32, 7}, .rotary = true},
        {1, 4, 1, 1, 128, .past = 600, .total = 600, .lengths = {599}, .packed = true},
        {3, 4, 2, 3, 33, .past = 9, .total = 12, .lengths = {11, 2, 6}, .rotary = true},
        {1, 2, 2, 4, 24, .past = 1100, .total = 1090, .lengths = {1089}, .rotary = true},
        {1, 70, 1, 1, 16, .past = 300, .total = 301, .lengths = {300}},
    };
    RUN(CASES);
}

static void test_group_attention__options(void **state)
{
    (void)state;
    static const group_case CASES[] = {
        {1, 4, 2, 1, 32, .past = 700, .total = 650, .lengths = {649}, .window = 300},
        {1, 2, 1, 50, 16, .total = 50, .lengths = {49}, .window = 3},
        {2, 4, 2, 6, 16, .past = 9, .total = 15, .lengths = {14, 8}, .cap = 5},
        {2, 4, 2, 2, 16, .past = 9, .total = 11, .lengths = {10, 8}, .bias = true},
        {1, 4, 2, 2, 16, .past = 9, .total = 11, .lengths = {10}, .sinks = true, .cap = 20},
        {1, 4, 4, 2, 16, .past = 9, .total = 11, .lengths = {10}, .smooth = 1},
        {1, 4, 2, 2, 16, .past = 9, .total = 11, .lengths = {10}, .norms = true, .rotary = true},
        {2, 4, 2, 2, 16, .past = 9, .total = 11, .lengths = {10, 5}, .rotary = true, .ids = true},
        {1, 4, 2, 2, 16, .past = 9, .total = 11, .lengths = {10}, .rotary = true,
         .interleaved = true, .packed = true},
    };
    RUN(CASES);
}

/* More keys than a part has: few rows share them among threads, many go through them in parts. */
static void test_group_attention__many_keys(void **state)
{
    (void)state;
    static const group_case CASES[] = {
        {1, 2, 1, 1, 16, .past = 2600, .total = 2500, .lengths = {2499}, .rotary = true},
        {2, 2, 1, 2, 8, .past = 2600, .total = 2600, .lengths = {2599, 700}, .sinks = true},
        {1, 2, 2, 1, 8, .past = 2100, .total = 2101, .lengths = {2100}, .window = 900},
        {1, 2, 1, 1, 8, .past = 2100, .total = 2101, .lengths = {2100}, .bias = true},
        {1, 2, 1, 40, 8, .past = 2100, .total = 2100, .lengths = {2099}, .bias = true, .cap = 9},
        {1, 2, 1, 40, 8, .past = 2100, .total = 2100, .lengths = {2099}, .smooth = 1},
        {1, 2, 1, 40, 8, .past = 2100, .total = 2100, .lengths = {2099}, .window = 1050},
    };
    RUN(CASES);
}

/* ---- What a run refuses --------------------------------------------------------------------- */

static pgy_status run_with(const group_case *t, int32_t length, int32_t total)
{
    reference_case c;
    void *tensors[19] = {0};
    double cost;
    pgy_error err = {0};
    kernel_plan plan = {0};
    float y[64], keys[64], values[64];
    const int64_t shapes[2][4] = {{1, 1, 8}, {1, 1, 6, 4}};
    start(&c, t, PGY_F32);
    c.node.output_count = 3;
    kernel_problem u = {.node = &c.node, .input_count = c.input_count, .output_count = 3};
    ((int32_t *)pgy_tensor_data(c.inputs[5]))[0] = length;
    ((int32_t *)pgy_tensor_data(c.inputs[6]))[0] = total;
    for (size_t i = 0; i < c.input_count; i++) {
        if (!c.inputs[i]) continue;
        u.inputs[i] = (kernel_tensor){.dtype = pgy_tensor_dtype(c.inputs[i]),
                                      .rank = (int32_t)pgy_tensor_rank(c.inputs[i]),
                                      .shape = pgy_tensor_shape(c.inputs[i])};
        tensors[i] = pgy_tensor_data(c.inputs[i]);
    }
    u.outputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 3, .shape = shapes[0]};
    for (size_t i = 1; i < 3; i++)
        u.outputs[i] = (kernel_tensor){.dtype = PGY_F32, .rank = 4, .shape = shapes[1]};
    memcpy(&tensors[c.input_count], (void *[]){y, keys, values}, 3 * sizeof *tensors);
    const kernel *k = kernel_for("com.microsoft", "GroupQueryAttention", 0);
    assert_true(kernel_accept(k, &u, &cost));
    pgy_status st = k->prepare(&plan, &u, &err);
    if (!st) {
        launch l = launch_of(k, &plan, 1);
        float workspace[64], scratch[16384];
        assert_true(plan.workspace_bytes <= sizeof workspace);
        assert_true(plan.scratch_bytes <= sizeof scratch);
        atomic_int fault = 0;
        l.run.tensors = tensors;
        l.run.workspace = workspace;
        l.run.fault = &fault;
        l.scratch = (char *)scratch;
        st = launch_alone(&l);
    }
    kernel_plan_deinit(&plan);
    for (size_t i = 0; i < c.input_count; i++) pgy_tensor_release(c.inputs[i]);
    return st;
}

static void test_group_attention__bad_lengths(void **state)
{
    (void)state;
    static const group_case T = {1, 2, 1, 1, 4, .past = 6};
    if (run_with(&T, 3, 4)) return; /* memory is short */
    assert_int_equal(run_with(&T, 5, 6), PGY_OK);
    assert_int_equal(run_with(&T, 4, 4), PGY_E_ARGUMENT);  /* longer than the total */
    assert_int_equal(run_with(&T, -2, 4), PGY_E_ARGUMENT); /* negative */
    assert_int_equal(run_with(&T, INT32_MAX, 4), PGY_E_ARGUMENT);
    assert_int_equal(run_with(&T, 6, 7), PGY_E_ARGUMENT); /* more than the caches hold */
    assert_int_equal(run_with(&T, 0, 0), PGY_E_ARGUMENT);
    assert_int_equal(run_with(&T, 0, INT32_MIN), PGY_E_ARGUMENT);
}
