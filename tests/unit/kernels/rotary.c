/* SPDX-License-Identifier: Apache-2.0 */
/* RotaryEmbedding of both domains in float32 against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 1e-6;

typedef struct rotary_case {
    const char *domain, *x, *tables, *positions; /* positions NULL: omitted */
    int heads, turned;
    bool interleaved;
} rotary_case;

static size_t run_case(const rotary_case *t)
{
    reference_case c;
    const bool contrib = t->domain[0] != 0;
    reference_start(&c, t->domain, "RotaryEmbedding", contrib ? 1 : 23);
    if (t->heads) reference_attr_int(&c, "num_heads", t->heads);
    if (t->turned) reference_attr_int(&c, "rotary_embedding_dim", t->turned);
    if (t->interleaved) reference_attr_int(&c, "interleaved", 1);
    reference_input(&c, PGY_F32, t->x);
    for (int i = 0; i < 2 && !contrib; i++) reference_input(&c, PGY_F32, t->tables);
    if (t->positions) {
        int64_t *ids = reference_input(&c, PGY_I64, t->positions);
        for (size_t i = 0; i < pgy_tensor_count(c.inputs[c.input_count - 1]); i++)
            ids[i] = (int64_t)(i * 3 % 5);
    }
    for (int i = 0; i < 2 && contrib; i++) reference_input(&c, PGY_F32, t->tables);
    return reference_run(&c, 1, TOLERANCE);
}

static void test_rotary__standard(void **state)
{
    (void)state;
    static const rotary_case CASES[] = {
        {"", "2 3 5 16", "12 8", "2 5", 0, 0, false}, {"", "2 3 5 80", "12 40", "2 5", 0, 0, false},
        {"", "2 5 48", "2 5 8", NULL, 3, 0, false},   {"", "2 3 5 16", "2 5 8", NULL, 0, 0, true},
        {"", "2 5 90", "7 10", "2 5", 3, 20, false},  {"", "1 40 4 66", "1 4 33", NULL, 0, 0, true},
        {"", "3 2 5 16", "1 5 8", NULL, 0, 0, false}, {"", "3 5 48", "1 5 8", NULL, 3, 0, true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

static void test_rotary__of_onnx_runtime(void **state)
{
    (void)state;
    static const rotary_case CASES[] = {
        {"com.microsoft", "2 3 5 16", "12 8", "2 5", 0, 0, false},
        {"com.microsoft", "2 5 192", "12 32", "2 5", 0, 0, false},
        {"com.microsoft", "2 5 192", "12 32", "1", 3, 0, true},
        {"com.microsoft", "2 5 96", "12 10", "1", 3, 20, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

/* Tables that do not fit the heads are left to the definition, which explains the error. */
static void test_rotary__misfits_are_refused(void **state)
{
    (void)state;
    static const int64_t X[] = {1, 2, 3, 8}, TABLE[] = {6, 3}, IDS[] = {1, 3};
    const op_node node = {.def = op_find("", "RotaryEmbedding", 23), .opset = 23, .input_count = 4};
    kernel_problem u = {.node = &node, .input_count = 4, .output_count = 1};
    u.inputs[0] = u.outputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 4, .shape = X};
    u.inputs[1] = u.inputs[2] = (kernel_tensor){.dtype = PGY_F32, .rank = 2, .shape = TABLE};
    u.inputs[3] = (kernel_tensor){.dtype = PGY_I64, .rank = 2, .shape = IDS};
    double cost;
    size_t asked = 0;
    for (const kernel *k; (k = kernel_for("", "RotaryEmbedding", asked)); asked++)
        assert_false(kernel_accept(k, &u, &cost));
    assert_true(asked > 0);
}
