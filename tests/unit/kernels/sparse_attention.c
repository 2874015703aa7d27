/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft SparseAttention against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/reference_case.h"
#include "kernels/half.h"
#include "kernels/launch.h"

typedef struct sparse_case {
    int batch, heads, kv_heads, rows, size;
    int capacity, total, lengths[2];
    int block, layouts;
    bool rotary, interleaved;
    int density; /* of 8 blocks, those that a block of queries sees besides its own */
} sparse_case;

static void *add(reference_case *c, bool given, pgy_dtype dtype, const int *sizes, size_t rank)
{
    char shape[96] = "";
    for (size_t i = 0, at = 0; i < rank; i++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, "%d ", sizes[i]);
    return reference_input(c, dtype, given ? shape : NULL);
}

/* Columns in any order; a block of queries may see none, or one twice. */
static void add_layouts(reference_case *c, const sparse_case *t)
{
    enum { MOST = 4096 };
    int32_t columns[8][MOST], *rows;
    const int blocks = (t->capacity + t->block - 1) / t->block;
    int width = 1;
    rows = add(c, true, PGY_I32, (int[]){t->layouts, blocks + 1}, 2);
    for (int l = 0; l < t->layouts; l++) {
        int count = 0;
        for (int q = 0; q < blocks; q++) {
            rows[l * (blocks + 1) + q] = count;
            if (q % 5 != 4 && count < MOST) columns[l][count++] = q;
            for (int k = q; k-- > 0;)
                if (rand() % 8 < t->density && count < MOST) columns[l][count++] = k;
        }
        rows[l * (blocks + 1) + blocks] = count;
        for (int i = count; i < MOST; i++) columns[l][i] = -7;
        width = count > width ? count : width;
    }
    int32_t *all = add(c, true, PGY_I32, (int[]){t->layouts, width}, 2);
    for (int l = 0; l < t->layouts; l++)
        memcpy(all + l * width, columns[l], (size_t)width * sizeof *all);
}

static void add_table(reference_case *c, const sparse_case *t, pgy_dtype dtype,
                      float (*function)(float))
{
    const int pairs = t->size / 2, places = t->total + 3;
    void *x = add(c, t->rotary, dtype, (int[]){places, pairs}, 2);
    for (int i = 0; x && i < places * pairs; i++) {
        const float value = function((float)(i / pairs) / (float)(1 + i % pairs));
        if (dtype == PGY_F32)
            ((float *)x)[i] = value;
        else
            half_loops_of(dtype, CPU_PORTABLE)->narrow((uint16_t *)x + i, &value, 1);
    }
}

static void start(reference_case *c, const sparse_case *t, pgy_dtype dtype)
{
    const int width = t->kv_heads * t->size;
    reference_start(c, "com.microsoft", "SparseAttention", 1);
    reference_attr_int(c, "num_heads", t->heads);
    reference_attr_int(c, "kv_num_heads", t->kv_heads);
    reference_attr_int(c, "sparse_block_size", t->block);
    if (t->rotary) reference_attr_int(c, "do_rotary", 1);
    if (t->interleaved) reference_attr_int(c, "rotary_interleaved", 1);
    add(c, true, dtype, (int[]){t->batch, t->rows, t->heads * t->size}, 3);
    for (int i = 0; i < 2; i++) add(c, true, dtype, (int[]){t->batch, t->rows, width}, 3);
    for (int i = 0; i < 2; i++)
        add(c, true, dtype, (int[]){t->batch, t->kv_heads, t->capacity, t->size}, 4);
    add_layouts(c, t);
    *(int32_t *)reference_input(c, PGY_I32, "1") = t->total;
    int32_t *lengths = add(c, true, PGY_I32, &t->batch, 1);
    for (int i = 0; i < t->batch; i++) lengths[i] = t->lengths[i];
    for (int i = 0; i < 2; i++) add_table(c, t, dtype, i ? sinf : cosf);
}

static void run_cases(const sparse_case *cases, size_t count)
{
    static const struct {
        pgy_dtype dtype;
        double tolerance;
    } TYPES[] = {{PGY_F32, 4e-6}, {PGY_F16, 4e-3}, {PGY_BF16, 4e-2}};
    srand(3);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof TYPES / sizeof *TYPES; k++) {
            reference_case c;
            start(&c, &cases[i], TYPES[k].dtype);
            assert_true(reference_run(&c, 3, TYPES[k].tolerance) > 0);
        }
}

#define RUN(cases) run_cases(cases, sizeof(cases) / sizeof *(cases))

static void test_sparse_attention__prompts(void **state)
{
    (void)state;
    static const sparse_case CASES[] = {
        {1, 2, 1, 3, 8, .capacity = 3, .total = 3, .lengths = {3}, .block = 1, .layouts = 1,
         .density = 4},
        {2, 4, 2, 50, 16, .capacity = 64, .total = 50, .lengths = {50, 33}, .block = 16,
         .layouts = 4, .density = 2, .rotary = true},
        {1, 6, 2, 40, 64, .capacity = 48, .total = 40, .lengths = {40}, .block = 5, .layouts = 2,
         .density = 3, .rotary = true, .interleaved = true},
        {1, 2, 2, 70, 8, .capacity = 70, .total = 70, .lengths = {70}, .block = 64, .layouts = 1},
        {1, 1, 1, 40, 8, .capacity = 40, .total = 40, .lengths = {40}, .block = 4, .layouts = 1,
         .density = 8},
    };
    RUN(CASES);
}

static void test_sparse_attention__steps_with_a_cache(void **state)
{
    (void)state;
    static const sparse_case CASES[] = {
        {1, 4, 2, 1, 64, .capacity = 300, .total = 280, .lengths = {280}, .block = 16, .layouts = 2,
         .density = 2, .rotary = true},
        {2, 8, 2, 3, 20, .capacity = 90, .total = 90, .lengths = {90, 17}, .block = 16,
         .layouts = 8, .density = 2, .rotary = true},
        {1, 4, 1, 20, 16, .capacity = 2600, .total = 2500, .lengths = {2500}, .block = 64,
         .layouts = 4, .density = 2},
        {1, 2, 1, 1, 8, .capacity = 2600, .total = 2600, .lengths = {2600}, .block = 2000,
         .layouts = 1, .density = 8},
    };
    RUN(CASES);
}

/* ---- What a run refuses --------------------------------------------------------------------- */

enum { ROWS = 5, COLUMNS, TOTAL, LENGTHS };

/* Runs the kernel with one number of an int32 input replaced. */
static pgy_status run_with(size_t input, size_t at, int32_t value)
{
    static const sparse_case T = {1,           2,
                                  1,           1,
                                  4,           .capacity = 6,
                                  .total = 5,  .lengths = {5},
                                  .block = 2,  .layouts = 1,
                                  .density = 8};
    reference_case c;
    void *tensors[14] = {0};
    double cost;
    pgy_error err = {0};
    kernel_plan plan = {0};
    float y[64], keys[64], values[64];
    const int64_t shapes[2][4] = {{1, 1, 8}, {1, 1, 6, 4}};
    start(&c, &T, PGY_F32);
    c.node.output_count = 3;
    kernel_problem u = {.node = &c.node, .input_count = c.input_count, .output_count = 3};
    ((int32_t *)pgy_tensor_data(c.inputs[input]))[at] = value;
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
    const kernel *k = kernel_for("com.microsoft", "SparseAttention", 0);
    assert_true(kernel_accept(k, &u, &cost));
    pgy_status st = k->prepare(&plan, &u, &err);
    if (!st) {
        launch l = launch_of(k, &plan, 1);
        _Alignas(64) float workspace[64], scratch[16384];
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

static void test_sparse_attention__bad_numbers(void **state)
{
    (void)state;
    if (run_with(TOTAL, 0, 5)) return; /* memory is short */
    assert_int_equal(run_with(ROWS, 0, -1), PGY_E_SHAPE);
    assert_int_equal(run_with(ROWS, 3, INT32_MAX), PGY_E_SHAPE);
    assert_int_equal(run_with(TOTAL, 0, 7), PGY_E_ARGUMENT);
    assert_int_equal(run_with(TOTAL, 0, INT32_MIN), PGY_E_ARGUMENT);
    assert_int_equal(run_with(LENGTHS, 0, 6), PGY_E_ARGUMENT);
    assert_int_equal(run_with(LENGTHS, 0, -1), PGY_E_ARGUMENT);
    assert_int_equal(run_with(COLUMNS, 0, INT32_MAX), PGY_OK); /* keys that nobody has */
    assert_int_equal(run_with(COLUMNS, 0, INT32_MIN), PGY_OK);
}
