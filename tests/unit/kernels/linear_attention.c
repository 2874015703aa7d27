/* SPDX-License-Identifier: Apache-2.0 */
/* LinearAttention of both domains in float32 against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "harness/reference_case.h"
#include "tensor/convert.h"

static const double TOLERANCE = 4e-6;

typedef struct linear_case {
    const char *rule;
    int batch, tokens, heads, kv_heads, size, v_size;
    bool past, decay_each, beta_once;
} linear_case;

/* Adds an input whose elements are scale * x, or scale * |x|, for x in [-4, 4). */
static void add(reference_case *c, pgy_dtype dtype, const int *shape, size_t rank, double scale,
                bool magnitudes)
{
    char text[64];
    size_t size = 0, count = 1;
    for (size_t d = 0; d < rank; d++) {
        size += (size_t)snprintf(text + size, sizeof text - size, "%d ", shape[d]);
        count *= (size_t)shape[d];
    }
    void *data = reference_input(c, dtype, text);
    for (size_t i = 0; i < count; i++) {
        const double x = dtype == PGY_F32 ? ((float *)data)[i] : f16_to_f32(((uint16_t *)data)[i]);
        const double y = scale * (magnitudes ? fabs(x) : x);
        if (dtype == PGY_F32)
            ((float *)data)[i] = (float)y;
        else
            ((uint16_t *)data)[i] = f16_from_f64(y);
    }
}

/* Keys are so short that the delta rule does not amplify the state. */
static void build(reference_case *c, const linear_case *t, const char *domain, pgy_dtype dtype)
{
    const bool gated = t->rule[0] == 'g', delta = t->rule[0] == 'd' || t->rule[5] == '_';
    const double unit = 0.25 / sqrt(t->size);
    const int b = t->batch, n = t->tokens;
    reference_start(c, domain, "LinearAttention", *domain ? 1 : 27);
    reference_attr_int(c, "q_num_heads", t->heads);
    reference_attr_int(c, "kv_num_heads", t->kv_heads);
    reference_attr_text(c, "update_rule", t->rule);
    add(c, dtype, (int[]){b, n, t->heads * t->size}, 3, unit, false);
    add(c, dtype, (int[]){b, n, t->kv_heads * t->size}, 3, unit, false);
    add(c, dtype, (int[]){b, n, t->kv_heads * t->v_size}, 3, 1, false);
    if (t->past)
        add(c, dtype, (int[]){b, t->kv_heads, t->size, t->v_size}, 4, 1, false);
    else
        reference_input(c, dtype, NULL);
    if (gated)
        add(c, dtype, (int[]){b, n, t->kv_heads * (t->decay_each ? t->size : 1)}, 3, -0.25, true);
    else
        reference_input(c, dtype, NULL);
    if (delta) add(c, dtype, (int[]){b, n, t->beta_once ? 1 : t->kv_heads}, 3, 0.25, true);
}

static const linear_case CASES[] = {
    {"linear", 1, 3, 2, 2, 16, 32, false, false, false},
    {"linear", 2, 4, 4, 2, 5, 40, true, false, false},
    {"gated", 2, 3, 2, 2, 8, 64, true, false, false},
    {"gated", 1, 5, 6, 2, 7, 33, true, true, false},
    {"gated", 1, 1, 2, 1, 64, 96, false, true, false},
    {"delta", 2, 4, 2, 2, 17, 32, true, false, false},
    {"delta", 1, 3, 3, 3, 3, 1, false, false, true},
    {"delta", 1, 1, 2, 1, 12, 70, true, false, false},
    {"gated_delta", 1, 9, 2, 2, 128, 128, true, false, false},
    {"gated_delta", 2, 3, 4, 2, 20, 50, true, true, true},
    {"gated_delta", 1, 1, 4, 4, 32, 64, true, false, false},
    {"gated_delta", 1, 2, 4, 1, 1, 31, false, true, false},
};

static void test_linear_attention__all_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (int contrib = 0; contrib < 2; contrib++) {
            reference_case c;
            build(&c, &CASES[i], contrib ? "com.microsoft" : "", PGY_F32);
            assert_true(reference_run(&c, 2, TOLERANCE) > 0);
        }
}

static void test_linear_attention__given_scale(void **state)
{
    (void)state;
    reference_case c;
    build(&c, &CASES[8], "", PGY_F32);
    reference_attr_float(&c, "scale", 0.75F);
    assert_true(reference_run(&c, 2, TOLERANCE) > 0);
}

static void test_linear_attention__float16(void **state)
{
    (void)state;
    reference_case c;
    build(&c, &CASES[9], "", PGY_F16);
    assert_true(reference_run(&c, 2, 2e-3) > 0);
}

/* Gates that do not fit the rule or the heads are left to the definition, which explains the error.
 */
static void test_linear_attention__misfits_are_refused(void **state)
{
    (void)state;
    static const int64_t X[] = {1, 3, 8}, PER_HEAD[] = {1, 3, 2}, OTHER[] = {1, 3, 3};
    const op_attr attrs[] = {{.name = "q_num_heads", .kind = OP_ATTR_INT, .i = 2},
                             {.name = "kv_num_heads", .kind = OP_ATTR_INT, .i = 2}};
    const op_node node = {.def = op_find("", "LinearAttention", 27),
                          .opset = 27,
                          .input_count = 6,
                          .attrs = attrs,
                          .attr_count = 2};
    for (int misfit = 0; misfit < 4; misfit++) {
        kernel_problem u = {.node = &node, .input_count = 6, .output_count = 2};
        const kernel_tensor x = {.dtype = PGY_F32, .rank = 3, .shape = X};
        u.inputs[0] = u.inputs[1] = u.inputs[2] = u.outputs[0] = x;
        u.inputs[4] = u.inputs[5] = (kernel_tensor){PGY_F32, .rank = 3, .shape = PER_HEAD};
        if (misfit == 1) u.inputs[4].shape = OTHER;
        if (misfit == 2) u.inputs[5].shape = OTHER;
        if (misfit == 3) u.inputs[5] = (kernel_tensor){0};
        double cost;
        size_t asked = 0, accepted = 0;
        for (const kernel *k; (k = kernel_for("", "LinearAttention", asked)); asked++)
            accepted += kernel_accept(k, &u, &cost);
        assert_int_equal(accepted > 0, misfit == 0);
    }
}
