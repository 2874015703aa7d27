/* SPDX-License-Identifier: Apache-2.0 */
/* MRotaryEmbedding in float32 against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 1e-6;

typedef struct m_rotary_case {
    const char *x, *tables, *positions;
    int64_t sections[3];
    int heads, turned;
    bool every_third, interleaved;
} m_rotary_case;

static void build(reference_case *c, const m_rotary_case *t, pgy_dtype dtype)
{
    reference_start(c, "com.microsoft", "MRotaryEmbedding", 1);
    reference_attr_ints(c, "mrope_section", t->sections, 3);
    if (t->heads) reference_attr_int(c, "num_heads", t->heads);
    if (t->turned) reference_attr_int(c, "rotary_embedding_dim", t->turned);
    if (t->every_third) reference_attr_int(c, "mrope_layout", 1);
    if (t->interleaved) reference_attr_int(c, "interleaved", 1);
    reference_attr_float(c, "scale", 0.5F);
    reference_input(c, dtype, t->x);
    int64_t *ids = reference_input(c, PGY_I64, t->positions);
    for (size_t i = 0; i < pgy_tensor_count(c->inputs[1]); i++) ids[i] = (int64_t)(i * 7 % 11);
    reference_input(c, dtype, t->tables);
    reference_input(c, dtype, t->tables);
}

static const m_rotary_case CASES[] = {
    {"2 3 5 16", "11 8", "3 2 5", {2, 3, 3}, 0, 0, false, false},
    {"2 3 5 80", "11 40", "3 2 5", {10, 30, 0}, 0, 0, false, false},
    {"2 5 48", "11 8", "3 2 5", {4, 2, 2}, 3, 0, true, false},
    {"2 5 90", "11 10", "3 2 5", {4, 3, 3}, 3, 20, false, true},
    {"1 28 4 66", "12 33", "3 1 4", {11, 11, 11}, 0, 0, true, true},
    {"1 4 1 128", "11 64", "3 1 1", {16, 24, 24}, 0, 0, true, false},
};

static void test_m_rotary__sections(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        reference_case c;
        build(&c, &CASES[i], PGY_F32);
        assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    }
}

static void test_m_rotary__float16(void **state)
{
    (void)state;
    reference_case c;
    build(&c, &CASES[2], PGY_F16);
    assert_true(reference_run(&c, 1, 1e-3) > 0);
}

/* A position outside the tables, in any of the streams, fails the run. */
static void test_m_rotary__position_outside(void **state)
{
    static const int64_t X[] = {1, 1, 2, 4}, TABLE[] = {5, 2}, PLACES[] = {3, 1, 2};
    static const int64_t SECTIONS[] = {1, 1, 0};
    const op_attr sections = {
        .name = "mrope_section", .kind = OP_ATTR_INTS, .ints = SECTIONS, .count = 3};
    const op_node node = {.def = op_find("com.microsoft", "MRotaryEmbedding", 1),
                          .opset = 1,
                          .input_count = 4,
                          .attrs = &sections,
                          .attr_count = 1};
    float x[8] = {0}, table[10] = {0}, y[8];
    kernel_problem u = {.node = &node, .input_count = 4, .output_count = 1};
    size_t asked = 0;
    double cost;
    (void)state;
    u.inputs[0] = u.outputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 4, .shape = X};
    u.inputs[1] = (kernel_tensor){.dtype = PGY_I64, .rank = 3, .shape = PLACES};
    u.inputs[2] = u.inputs[3] = (kernel_tensor){.dtype = PGY_F32, .rank = 2, .shape = TABLE};
    for (const kernel *k; (k = kernel_for("com.microsoft", "MRotaryEmbedding", asked)); asked++) {
        if (!kernel_accept(k, &u, &cost)) continue;
        kernel_plan plan = {0};
        assert_int_equal(k->prepare(&plan, &u, NULL), PGY_OK);
        for (int wrong = -1; wrong < 6; wrong++) {
            int64_t ids[6] = {0, 4, 1, 2, 3, 0};
            float workspace[16];
            void *tensors[] = {x, ids, table, table, y};
            atomic_int fault = KERNEL_FAULT_NONE;
            if (wrong >= 0) ids[wrong] = wrong % 2 ? -1 : 5;
            kernel_run r = {.self = k,
                            .params = plan.params,
                            .tensors = tensors,
                            .workspace = workspace,
                            .parts = 1,
                            .fault = &fault};
            assert_true(plan.workspace_bytes <= sizeof workspace);
            k->run(&r);
            assert_int_equal(atomic_load(&fault),
                             wrong < 0 ? KERNEL_FAULT_NONE : KERNEL_FAULT_LENGTH);
        }
        kernel_plan_deinit(&plan);
    }
    assert_true(asked > 0);
}
