/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MultiHeadAttention and ProjectedAttention of pgy in float32 against the reference
 * definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 6e-6;

typedef struct heads_case {
    int heads;
    const char *q, *k, *v, *bias, *mask, *added, *past_k, *past_v; /* NULL: omitted */
    size_t outputs;
    bool causal;
    float scale;
} heads_case;

static void start(reference_case *c, const heads_case *t)
{
    reference_start(c, "com.microsoft", "MultiHeadAttention", 1);
    reference_attr_int(c, "num_heads", t->heads);
    if (t->causal) reference_attr_int(c, "unidirectional", 1);
    if (t->scale > 0) reference_attr_float(c, "scale", t->scale);
    const char *const shapes[] = {t->q, t->k, t->v, t->bias};
    for (size_t i = 0; i < 4; i++) reference_input(c, PGY_F32, shapes[i]);
    int32_t *mask = reference_input(c, PGY_I32, t->mask);
    for (size_t i = 0; mask && i < pgy_tensor_count(c->inputs[4]); i++)
        mask[i] = pgy_tensor_rank(c->inputs[4]) > 1 ? i % 3 > 0 : (int32_t)(5 - i);
    reference_input(c, PGY_F32, t->added);
    reference_input(c, PGY_F32, t->past_k);
    reference_input(c, PGY_F32, t->past_v);
}

static void run_cases(const heads_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        reference_case c;
        start(&c, &cases[i]);
        assert_true(reference_run(&c, cases[i].outputs, TOLERANCE) > 0);
    }
}

#define RUN(cases) run_cases(cases, sizeof(cases) / sizeof *(cases))

static void test_multi_head_attention__inputs(void **state)
{
    (void)state;
    static const heads_case CASES[] = {
        {2, "2 5 16", "2 7 16", "2 7 12", .outputs = 1},
        {2, "2 5 16", "2 7 16", "2 7 12", "44", .outputs = 1},
        {3, "1 40 192", "1 300 192", "1 300 192", .outputs = 1, .scale = 0.25f},
        {2, "2 5 16", "2 2 7 8", "2 2 7 6", .outputs = 1},
        {2, "2 5 2 3 8", .outputs = 1},
        {2, "2 5 2 3 8", .bias = "48", .outputs = 3},
        {2, "2 5 16", "2 7 2 2 8", .outputs = 1},
        {1, "1 1 1", "1 1 1", "1 1 1", .outputs = 1},
    };
    RUN(CASES);
}

static void test_multi_head_attention__masks(void **state)
{
    (void)state;
    static const heads_case CASES[] = {
        {2, "2 5 16", "2 7 16", "2 7 16", .mask = "2", .outputs = 1},
        {2, "2 5 16", "2 7 16", "2 7 16", .mask = "4", .outputs = 1},
        {2, "2 5 16", "2 7 16", "2 7 16", .mask = "8", .outputs = 1},
        {2, "2 5 16", "2 7 16", "2 7 16", .mask = "2 7", .outputs = 1},
        {2, "2 5 16", "2 7 16", "2 7 16", .mask = "2 5 7", .added = "1 2 5 7", .outputs = 1},
        {2, "2 5 16", "2 7 16", "2 7 16", .added = "2 1 5 7", .outputs = 1, .causal = true},
    };
    RUN(CASES);
}

static void test_multi_head_attention__caches(void **state)
{
    (void)state;
    static const heads_case CASES[] = {
        {2, "2 1 16", "2 1 16", "2 1 12", .past_k = "2 2 9 8", .past_v = "2 2 9 6", .outputs = 3},
        {2, "1 3 16", "1 3 16", "1 3 16", .past_k = "1 2 400 8", .past_v = "1 2 400 8",
         .outputs = 3, .causal = true, .mask = "1 403", .bias = "48"},
        {2, "1 3 16", "1 3 16", "1 3 16", .past_k = "1 2 4 8", .past_v = "1 2 4 8", .outputs = 1},
        {2, "1 3 16", "1 3 16", "1 3 16", .outputs = 3},
        {2, "1 70 16", "1 70 16", "1 70 16", .past_k = "1 2 300 8", .past_v = "1 2 300 8",
         .outputs = 3, .causal = true, .mask = "1 370", .bias = "48"},
    };
    RUN(CASES);
}

typedef struct projected_case {
    int heads;
    const char *x, *mask, *past, *added; /* NULL: omitted */
    size_t outputs;
    bool causal;
    int64_t widths[3]; /* 0: thirds */
} projected_case;

static void test_multi_head_attention__projected(void **state)
{
    (void)state;
    static const projected_case CASES[] = {
        {2, "2 5 48", .outputs = 1},
        {2, "2 5 48", .outputs = 2, .causal = true},
        {3, "1 130 288", "1 130", .outputs = 1},
        {3, "2 40 288", "2 40 40", .added = "1 3 40 40", .outputs = 1},
        {2, "2 5 44", "2", .outputs = 1, .widths = {16, 16, 12}},
        {2, "2 50 44", "4", .outputs = 1, .widths = {16, 16, 12}},
        {2, "2 5 48", "2 1 8 8", .outputs = 1, .causal = true},
        {2, "2 1 48", "2 12", "2 2 2 11 8", .outputs = 2},
        {2, "2 1 48", NULL, "2 2 2 300 8", .outputs = 2, .causal = true},
        {2, "1 40 48", "1 1 64 64", "2 1 2 20 8", "1 1 40 60", .outputs = 2, .causal = true},
        {2, "1 3 48", "1", "2 1 2 4 8", .outputs = 1},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const projected_case *t = &CASES[i];
        reference_case c;
        reference_start(&c, "pgy", "ProjectedAttention", 1);
        reference_attr_int(&c, "num_heads", t->heads);
        if (t->causal) reference_attr_int(&c, "unidirectional", 1);
        if (t->widths[0]) reference_attr_ints(&c, "qkv_hidden_sizes", t->widths, 3);
        reference_attr_float(&c, "mask_filter_value", -3);
        reference_input(&c, PGY_F32, t->x);
        int32_t *mask = reference_input(&c, PGY_I32, t->mask);
        for (size_t k = 0; mask && k < pgy_tensor_count(c.inputs[1]); k++)
            mask[k] = pgy_tensor_rank(c.inputs[1]) > 1 ? k % 3 > 0 : (int32_t)(4 - k);
        reference_input(&c, PGY_F32, t->past);
        reference_input(&c, PGY_F32, t->added);
        assert_true(reference_run(&c, t->outputs, TOLERANCE) > 0);
    }
}

/* The definition returns scores; a mask for a maximum length is its, too. */
static void test_multi_head_attention__the_rest_is_refused(void **state)
{
    (void)state;
    static const heads_case CASES[] = {
        {2, "2 5 16", "2 7 16", "2 7 16", .outputs = 4},
        {2, "2 5 16", "2 5 16", "2 5 16", .mask = "2 1 6 6", .outputs = 1},
    };
    for (size_t i = 0; i < 2; i++) {
        reference_case c;
        start(&c, &CASES[i]);
        assert_int_equal(reference_run(&c, CASES[i].outputs, TOLERANCE), 0);
    }
}
