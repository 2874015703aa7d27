/* SPDX-License-Identifier: Apache-2.0 */
/* EmbeddingBag of pgy against its definition: sizes around those of vectors, groups of rows and
 * pieces of columns, all modes and types, offsets of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "harness/reference_case.h"

static const char *const MODES[] = {"sum", "mean", "max"};

typedef struct bag_case {
    const char *mode;
    pgy_dtype dtype, index;
    size_t length, width, bags, each; /* with offsets: bags * each indices in all */
    bool weights, offsets, rules;
} bag_case;

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Offsets inside and outside [-count, count], rising more often than not. */
static void draw_offsets(reference_case *c, uint64_t *seed, const bag_case *b)
{
    const int64_t count = (int64_t)(b->bags * b->each);
    char shape[32];
    snprintf(shape, sizeof shape, "%zu", b->bags + 1);
    int64_t *offsets = reference_input(c, PGY_I64, shape), at = 0;
    for (size_t i = 0; i <= b->bags; i++) {
        const uint64_t way = draw(seed) % 10;
        if (way == 0) at = -(int64_t)(draw(seed) % (uint64_t)(count + 3));
        if (way > 2) at += (int64_t)(draw(seed) % (2 * b->each + 1));
        offsets[i] = at;
    }
}

static void run(const bag_case *b, uint64_t seed)
{
    reference_case c;
    char shape[64];
    reference_start(&c, "pgy", "EmbeddingBag", 1);
    reference_attr_text(&c, "mode", b->mode);
    if (b->rules) reference_attr_int(&c, "empty_is_zero", 1);
    if (b->rules) reference_attr_int(&c, "last_to_end", 1);
    snprintf(shape, sizeof shape, "%zu %zu", b->length, b->width);
    reference_input(&c, b->dtype, shape);
    snprintf(shape, sizeof shape, b->offsets ? "%zu" : "%zu %zu",
             b->offsets ? b->bags * b->each : b->bags, b->each);
    void *indices = reference_input(&c, b->index, shape);
    for (size_t i = 0; i < b->bags * b->each; i++) {
        const int64_t at = (int64_t)(draw(&seed) % (2 * b->length)) - (int64_t)b->length;
        if (b->index == PGY_I64)
            ((int64_t *)indices)[i] = at;
        else
            ((int32_t *)indices)[i] = (int32_t)at;
    }
    if (b->offsets)
        draw_offsets(&c, &seed, b);
    else
        reference_input(&c, PGY_I64, NULL);
    snprintf(shape, sizeof shape, "%zu", b->bags * b->each);
    if (b->weights) reference_input(&c, b->dtype, shape);
    const double step = b->dtype == PGY_F32 ? 2e-6 : b->dtype == PGY_F16 ? 2e-3 : 1.6e-2;
    assert_true(reference_run(&c, 1, step) > 0);
}

static void test_embedding_bag__widths_and_modes(void **state)
{
    (void)state;
    static const size_t WIDTHS[] = {1, 7, 16, 33, 64, 100, 128, 530};
    for (size_t i = 0; i < sizeof WIDTHS / sizeof *WIDTHS; i++)
        for (size_t m = 0; m < 3; m++)
            for (int weights = 0; weights < 2; weights++)
                run(&(bag_case){.mode = MODES[m],
                                .dtype = PGY_F32,
                                .index = PGY_I64,
                                .length = 50,
                                .width = WIDTHS[i],
                                .bags = 5,
                                .each = i % 2 ? 3 : 70,
                                .weights = weights},
                    i + 1);
}

static void test_embedding_bag__types(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_F16, PGY_BF16};
    for (size_t i = 0; i < 3; i++)
        for (size_t m = 0; m < 3; m++)
            for (int way = 0; way < 4; way++)
                run(&(bag_case){.mode = MODES[m],
                                .dtype = TYPES[i],
                                .index = way & 1 ? PGY_I32 : PGY_I64,
                                .length = 9,
                                .width = way & 2 ? 600 : 20,
                                .bags = 7,
                                .each = 5,
                                .weights = way & 1,
                                .offsets = way & 2},
                    i + 7);
}

static void test_embedding_bag__offsets(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++)
        run(&(bag_case){.mode = MODES[seed % 3],
                        .dtype = PGY_F32,
                        .index = PGY_I64,
                        .length = 30,
                        .width = 1 + seed % 40,
                        .bags = 1 + seed % 9,
                        .each = 1 + seed % 5,
                        .weights = seed % 2,
                        .offsets = true,
                        .rules = seed % 4 > 1},
            seed);
}

/* A table that is too large for the caches, whose rows are fetched ahead. */
static void test_embedding_bag__large_table(void **state)
{
    (void)state;
    run(&(bag_case){.mode = "sum",
                    .dtype = PGY_F32,
                    .index = PGY_I64,
                    .length = 9000,
                    .width = 40,
                    .bags = 64,
                    .each = 9},
        1);
}

static void test_embedding_bag__nan_is_the_maximum(void **state)
{
    (void)state;
    for (int row = 0; row < 3; row++) {
        reference_case c;
        reference_start(&c, "pgy", "EmbeddingBag", 1);
        reference_attr_text(&c, "mode", "max");
        float *table = reference_input(&c, PGY_F32, "3 35");
        for (int i = 0; i < 35; i += 3) table[row * 35 + i] = i % 2 ? -NAN : NAN;
        table[1] = INFINITY;
        table[36] = -INFINITY;
        int64_t *indices = reference_input(&c, PGY_I64, "1 3");
        for (int i = 0; i < 3; i++) indices[i] = i;
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

/* ---- Bad indices ---------------------------------------------------------------------------- */

static void expect_bad(int64_t index, const int64_t *offsets, const char *wanted)
{
    static const float TABLE[12] = {0};
    const int64_t indices[] = {1, index, 2};
    float y[6];
    kernel_bad_index bad = {0};
    atomic_int fault = 0;
    char text[KERNEL_FAULT_BYTES];
    const op_node node = {.def = op_find("pgy", "EmbeddingBag", 1), .name = "n", .opset = 1};
    const int64_t shapes[][2] = {{4, 3}, {3}, {3}, {2, 3}};
    kernel_problem u = {.node = &node, .input_count = 3, .output_count = 1};
    u.inputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 2, .shape = shapes[0]};
    u.inputs[1] = u.inputs[2] = (kernel_tensor){.dtype = PGY_I64, .rank = 1, .shape = shapes[1]};
    u.outputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 2, .shape = shapes[3]};
    void *const tensors[] = {(void *)TABLE, (void *)indices, (void *)offsets, y};
    for (size_t i = 0; kernel_for("pgy", "EmbeddingBag", i); i++) {
        const kernel *k = kernel_for("pgy", "EmbeddingBag", i);
        kernel_plan plan = {0};
        double cost;
        assert_true(kernel_accept(k, &u, &cost));
        assert_int_equal(k->prepare(&plan, &u, NULL), PGY_OK);
        bad.noted = false;
        fault = KERNEL_FAULT_NONE;
        k->run(&(kernel_run){.self = k,
                             .params = plan.params,
                             .tensors = tensors,
                             .parts = 1,
                             .fault = &fault,
                             .bad = &bad});
        kernel_plan_deinit(&plan);
        assert_int_equal(fault, wanted ? KERNEL_FAULT_INDEX : KERNEL_FAULT_NONE);
        kernel_fault_print(text, PGY_E_SHAPE, &bad);
        if (wanted) assert_string_equal(text, wanted);
    }
}

static void test_embedding_bag__names_an_index_out_of_range(void **state)
{
    (void)state;
    static const int64_t ALL[] = {0, 1, 3}, FIRST[] = {0, 1, 1};
    expect_bad(4, ALL, "index 4 is not in [-4, 4)");
    expect_bad(-5, ALL, "index -5 is not in [-4, 4)");
    expect_bad(INT64_MIN, ALL, "index -9223372036854775808 is not in [-4, 4)");
    expect_bad(-4, ALL, NULL);
    /* No bag has it. */
    expect_bad(99, FIRST, NULL);
}
