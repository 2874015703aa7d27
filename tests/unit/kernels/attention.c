/* SPDX-License-Identifier: Apache-2.0 */
/* Attention in float32 against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 4e-6;

typedef struct attention_case {
    const char *q, *k, *v, *mask;
    pgy_dtype mask_type;
    int heads, kv_heads; /* of inputs of rank 3 */
    bool causal;
    float scale, cap; /* 0: not given */
} attention_case;

static size_t run_case(const attention_case *t)
{
    reference_case c;
    reference_start(&c, "", "Attention", 23);
    if (t->heads) reference_attr_int(&c, "q_num_heads", t->heads);
    if (t->heads) reference_attr_int(&c, "kv_num_heads", t->kv_heads);
    if (t->causal) reference_attr_int(&c, "is_causal", 1);
    if (t->scale > 0) reference_attr_float(&c, "scale", t->scale);
    if (t->cap > 0) reference_attr_float(&c, "softcap", t->cap);
    reference_input(&c, PGY_F32, t->q);
    reference_input(&c, PGY_F32, t->k);
    reference_input(&c, PGY_F32, t->v);
    if (t->mask) {
        void *mask = reference_input(&c, t->mask_type, t->mask);
        float *numbers = mask;
        for (size_t i = 0; t->mask_type == PGY_F32 && i < pgy_tensor_count(c.inputs[3]); i++)
            if (i % 7 == 3) numbers[i] = -INFINITY;
    }
    return reference_run(&c, 1, TOLERANCE);
}

static void test_attention__heads_apart_and_together(void **state)
{
    (void)state;
    static const attention_case CASES[] = {
        {"2 3 7 16", "2 3 9 16", "2 3 9 16", NULL, 0, 0, 0, false, 0, 0},
        {"1 2 100 64", "1 2 130 64", "1 2 130 40", NULL, 0, 0, 0, false, 0.0625f, 0},
        {"2 5 24", "2 8 24", "2 8 12", NULL, 0, 3, 3, false, 0, 0},
        {"1 60 64", "1 33 32", "1 33 16", NULL, 0, 4, 2, false, 0, 0},
        {"1 4 6 8", "1 2 6 8", "1 2 6 8", NULL, 0, 0, 0, true, 0, 0},
        {"1 1 1 1", "1 1 1 1", "1 1 1 1", NULL, 0, 0, 0, false, 0, 0},
        {"1 50 64", "1 50 64", "1 50 64", NULL, 0, 2, 2, true, 0, 5},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

static void test_attention__masks(void **state)
{
    (void)state;
    static const attention_case CASES[] = {
        {"2 3 7 16", "2 3 9 16", "2 3 9 16", "2 1 7 9", PGY_F32, 0, 0, false, 0, 0},
        {"2 3 7 16", "2 3 9 16", "2 3 9 16", "2 1 1 9", PGY_F32, 0, 0, true, 0, 0},
        {"2 3 7 16", "2 3 9 16", "2 3 9 16", "7 9", PGY_BOOL, 0, 0, false, 0, 2},
        {"2 3 7 16", "2 3 9 16", "2 3 9 16", "3 1 9", PGY_BOOL, 0, 0, false, 0, 0},
        {"2 3 7 16", "2 3 9 16", "2 3 9 16", "2 3 7 5", PGY_F32, 0, 0, false, 0, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

static void test_attention__more_keys_than_a_block(void **state)
{
    (void)state;
    static const attention_case CASES[] = {
        {"1 2 50 8", "1 2 1300 8", "1 2 1300 8", NULL, 0, 0, 0, false, 0, 0},
        {"1 1 1100 8", "1 1 1100 8", "1 1 1100 5", "1 1 1100 1100", PGY_F32, 0, 0, true, 0, 0},
        {"1 2 3 8", "1 2 1025 8", "1 2 1025 8", "1 1 1 1025", PGY_BOOL, 0, 0, false, 4, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) assert_true(run_case(&CASES[i]) > 0);
}

/* A row that sees nothing gives zeros. */
static void test_attention__closed_rows(void **state)
{
    (void)state;
    reference_case c;
    reference_start(&c, "", "Attention", 23);
    reference_input(&c, PGY_F32, "1 1 3 4");
    reference_input(&c, PGY_F32, "1 1 600 4");
    reference_input(&c, PGY_F32, "1 1 600 4");
    uint8_t *mask = reference_input(&c, PGY_BOOL, "3 600");
    memset(mask, 0, 600);
    memset(mask + 600, 1, 1200);
    memset(mask + 1200, 0, 560); /* the first block is closed */
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
}

/* Numbers of query rows that fill vectors of each length, leave lanes idle, or a few rows over. */
static void test_attention__numbers_of_rows(void **state)
{
    (void)state;
    static const int ROWS[] = {1, 4, 5, 7, 8, 9, 11, 15, 16, 17, 24, 25, 31, 32, 33, 49, 70};
    char q[32], full[32], shared[32];
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        (void)snprintf(q, sizeof q, "2 4 %d 24", ROWS[i]);
        (void)snprintf(full, sizeof full, "2 4 %d 37", ROWS[i]);
        (void)snprintf(shared, sizeof shared, "%d 37", ROWS[i]);
        const attention_case cases[] = {
            {q, "2 4 37 24", "2 4 37 20", NULL, 0, 0, 0, false, 0, 0},
            {q, "2 4 37 24", "2 4 37 20", NULL, 0, 0, 0, true, 0, 2},
            {q, "2 4 37 24", "2 4 37 20", full, PGY_F32, 0, 0, false, 0, 0},
            {q, "2 4 37 24", "2 4 37 20", shared, PGY_BOOL, 0, 0, false, 0, 0},
            /* rows of a head of keys are not equally far apart */
            {q, "2 2 37 24", "2 2 37 20", full, PGY_F32, 0, 0, true, 0, 0},
            {q, "2 2 37 24", "2 2 37 20", shared, PGY_BOOL, 0, 0, false, 0, 0},
            {q, "2 2 37 24", "2 2 37 20", "2 1 1 37", PGY_F32, 0, 0, false, 0, 0},
            {q, "2 2 37 24", "2 2 37 20", "2 1 1 37", PGY_BOOL, 0, 0, false, 0, 0},
        };
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
            assert_true(run_case(&cases[k]) > 0);
    }
}

/* NaN and infinities stay in the rows of their queries, also beside rows that see nothing. */
static void test_attention__special_rows(void **state)
{
    (void)state;
    reference_case c;
    reference_start(&c, "", "Attention", 23);
    float *q = reference_input(&c, PGY_F32, "1 1 20 8");
    reference_input(&c, PGY_F32, "1 1 300 8");
    reference_input(&c, PGY_F32, "1 1 300 8");
    float *mask = reference_input(&c, PGY_F32, "20 300");
    q[3 * 8] = NAN;
    q[5 * 8 + 1] = INFINITY;
    q[19 * 8 + 2] = NAN;
    for (size_t j = 0; j < 300; j++) {
        mask[7 * 300 + j] = -INFINITY;
        mask[8 * 300 + j] = j == 299 ? NAN : -INFINITY;
        mask[18 * 300 + j] = j < 299 ? -INFINITY : 0;
    }
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
}

/* ---- Packed --------------------------------------------------------------------------------- */

typedef struct packed_case {
    const char *x, *mask;
    pgy_dtype mask_type;
    int heads, kv_heads;
    bool causal;
    float scale, cap; /* 0: not given */
} packed_case;

static size_t run_packed(const packed_case *t, pgy_dtype dtype, double tolerance)
{
    reference_case c;
    reference_start(&c, "pgy", "PackedAttention", 1);
    reference_attr_int(&c, "q_num_heads", t->heads);
    reference_attr_int(&c, "kv_num_heads", t->kv_heads);
    if (t->causal) reference_attr_int(&c, "is_causal", 1);
    if (t->scale > 0) reference_attr_float(&c, "scale", t->scale);
    if (t->cap > 0) reference_attr_float(&c, "softcap", t->cap);
    reference_input(&c, dtype, t->x);
    if (t->mask) (void)reference_input(&c, t->mask_type == PGY_BOOL ? PGY_BOOL : dtype, t->mask);
    return reference_run(&c, 1, tolerance);
}

/* Queries, keys and values are read side by side in one tensor. */
static void test_attention__packed(void **state)
{
    (void)state;
    static const packed_case CASES[] = {
        {"2 7 48", NULL, 0, 2, 2, false, 0, 0},
        {"1 130 144", NULL, 0, 4, 1, true, 0, 0}, /* heads of queries share keys */
        {"2 40 120", "1 1 40 40", PGY_F32, 3, 1, false, 0.5f, 0},
        {"2 9 60", "2 1 1 9", PGY_BOOL, 4, 4, false, 0, 3},
        {"3 20 66", "3 1 20 11", PGY_F32, 1, 1, false, 0, 0}, /* the mask ends before the keys */
        {"1 1 9", NULL, 0, 1, 1, false, 0, 0},
        {"1 20 1040", NULL, 0, 3, 1, true, 0, 0},
    };
    static const struct {
        pgy_dtype dtype;
        double tolerance;
    } TYPES[] = {{PGY_F32, 4e-6}, {PGY_F16, 2e-3}, {PGY_BF16, 2e-2}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (size_t k = 0; k < sizeof TYPES / sizeof *TYPES; k++)
            assert_true(run_packed(&CASES[i], TYPES[k].dtype, TYPES[k].tolerance) > 0);
}
