/* SPDX-License-Identifier: Apache-2.0 */
/* GatherMatMul of pgy against its definition: sizes around those of tiles and panels, rows and
 * columns, matrices that all vectors, few or none use, indices of both types and from the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "harness/reference_case.h"

typedef struct gather_case {
    size_t count, length, n, k;
    /* narrow: int32; list: the indices are [count, 1]; shared: 1: one vector for all indices, 2:
     * one index for all vectors */
    bool column, narrow, list;
    int shared;
} gather_case;

static size_t run(const gather_case *g, pgy_dtype dtype, bool constant, uint64_t seed)
{
    reference_case c;
    char shape[64];
    reference_start(&c, "pgy", "GatherMatMul", 1);
    if (g->column) reference_attr_int(&c, "column", 1);
    const size_t vectors = g->shared == 1 ? 1 : g->count, count = g->shared == 2 ? 1 : g->count;
    snprintf(shape, sizeof shape, g->column ? "%zu %zu 1" : "%zu 1 %zu", vectors, g->k);
    reference_input(&c, dtype, shape);
    snprintf(shape, sizeof shape, "%zu %zu %zu", g->length, g->column ? g->n : g->k,
             g->column ? g->k : g->n);
    reference_input(&c, dtype, shape);
    if (constant) reference_constant(&c);
    snprintf(shape, sizeof shape, g->list ? "%zu 1" : "%zu", count);
    void *indices = reference_input(&c, g->narrow ? PGY_I32 : PGY_I64, shape);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const int64_t at = (int64_t)((seed >> 33) % (2 * g->length)) - (int64_t)g->length;
        if (g->narrow)
            ((int32_t *)indices)[i] = (int32_t)at;
        else
            ((int64_t *)indices)[i] = at;
    }
    return reference_run(&c, 1, 2e-6);
}

static void test_gather_matmul__sizes(void **state)
{
    (void)state;
    static const gather_case CASES[] = {
        {.count = 1, .length = 1, .n = 1, .k = 1},
        {.count = 7, .length = 3, .n = 33, .k = 5},
        {.count = 40, .length = 2, .n = 32, .k = 17},
        {.count = 3, .length = 9, .n = 130, .k = 64},
        {.count = 60, .length = 4, .n = 300, .k = 40},
        {.count = 5, .length = 4, .n = 20, .k = 1100},
        {.count = 300, .length = 1, .n = 40, .k = 8},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (int way = 0; way < 24; way++) {
            gather_case g = CASES[i];
            g.column = way & 1;
            g.narrow = way & 2;
            g.list = way & 4;
            g.shared = way / 8;
            assert_true(run(&g, PGY_F32, true, i + 1) > 0);
        }
}

static void test_gather_matmul__left_to_the_definition(void **state)
{
    (void)state;
    const gather_case g = {.count = 4, .length = 3, .n = 8, .k = 6};
    assert_int_equal(run(&g, PGY_F32, false, 1), 0); /* the table is no constant */
    assert_int_equal(run(&g, PGY_F64, true, 1), 0);
}

/* ---- Bad indices ---------------------------------------------------------------------------- */

static void expect_bad(int64_t index, const char *wanted)
{
    static const float TABLE[4 * 3 * 2] = {0};
    static const int64_t SHAPES[][3] = {{2, 1, 3}, {4, 3, 2}, {2}, {2, 1, 2}};
    const float a[6] = {1, 2, 3, 4, 5, 6};
    const int64_t indices[] = {1, index};
    float y[4];
    const op_node node = {.def = op_find("pgy", "GatherMatMul", 1), .name = "n", .opset = 1};
    kernel_problem u = {.node = &node, .input_count = 3, .output_count = 1};
    u.inputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 3, .shape = SHAPES[0]};
    u.inputs[1] = (kernel_tensor){.dtype = PGY_F32, .rank = 3, .shape = SHAPES[1], .data = TABLE};
    u.inputs[2] = (kernel_tensor){.dtype = PGY_I64, .rank = 1, .shape = SHAPES[2]};
    u.outputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 3, .shape = SHAPES[3]};
    void *const tensors[] = {(void *)a, (void *)TABLE, (void *)indices, y};
    size_t ran = 0;
    for (size_t i = 0; kernel_for("pgy", "GatherMatMul", i); i++) {
        const kernel *k = kernel_for("pgy", "GatherMatMul", i);
        kernel_plan plan = {0};
        kernel_bad_index bad = {0};
        atomic_int fault = KERNEL_FAULT_NONE;
        char text[KERNEL_FAULT_BYTES], room[4096], scratch[8192];
        double cost;
        if (!kernel_accept(k, &u, &cost)) continue; /* those for 16 bits */
        ran++;
        assert_int_equal(k->prepare(&plan, &u, NULL), PGY_OK);
        assert_true(plan.workspace_bytes <= sizeof room && plan.scratch_bytes <= sizeof scratch);
        kernel_run r = {.self = k,
                        .params = plan.params,
                        .packed = plan.packed,
                        .tensors = tensors,
                        .workspace = room,
                        .scratch = scratch,
                        .parts = 1,
                        .fault = &fault,
                        .bad = &bad};
        for (r.phase = 0; r.phase < plan.phases; r.phase++) k->run(&r);
        kernel_plan_deinit(&plan);
        assert_int_equal(fault, wanted ? KERNEL_FAULT_INDEX : KERNEL_FAULT_NONE);
        kernel_fault_print(text, PGY_E_SHAPE, &bad);
        if (wanted) assert_string_equal(text, wanted);
    }
    assert_true(ran > 0);
}

static void test_gather_matmul__names_an_index_out_of_range(void **state)
{
    (void)state;
    expect_bad(3, NULL);
    expect_bad(-4, NULL);
    expect_bad(4, "index 4 is not in [-4, 4)");
    expect_bad(-5, "index -5 is not in [-4, 4)");
    expect_bad(INT64_MIN, "index -9223372036854775808 is not in [-4, 4)");
}
