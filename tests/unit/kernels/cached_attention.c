/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with caches, windows and lengths against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/reference_case.h"

#define TOLERANCE 4e-6

typedef struct cached_case {
    const char *q, *k, *v, *past_k, *past_v, *mask;
    pgy_dtype mask_type;
    int heads, kv_heads;            /* of inputs of rank 3 */
    size_t outputs;                 /* 1: without the caches */
    const char *lengths;            /* shape of nonpad_kv_seqlen */
    int64_t length[2], left, right; /* left, right: 0 is no window */
    float cap;
    bool causal, own; /* own: pgy:Attention */
} cached_case;

/* Closes every fifth key of a mask of floats. */
static void close_some(void *mask, size_t count, pgy_dtype dtype)
{
    for (size_t i = 3; i < count; i += 5)
        if (dtype == PGY_F32)
            ((float *)mask)[i] = -INFINITY;
        else
            ((uint16_t *)mask)[i] = dtype == PGY_F16 ? 0xFC00 : 0xFF80;
}

static void start(reference_case *c, const cached_case *t, pgy_dtype dtype)
{
    const pgy_dtype mask_type = t->mask_type == PGY_BOOL ? PGY_BOOL : dtype;
    reference_start(c, t->own ? "pgy" : "", "Attention", t->own ? 1 : 25);
    if (t->heads) reference_attr_int(c, "q_num_heads", t->heads);
    if (t->heads) reference_attr_int(c, "kv_num_heads", t->kv_heads);
    if (t->causal) reference_attr_int(c, "is_causal", 1);
    if (t->left) reference_attr_int(c, "left_window_size", t->left);
    if (t->right) reference_attr_int(c, "right_window_size", t->right);
    if (t->cap > 0) reference_attr_float(c, "softcap", t->cap);
    reference_input(c, dtype, t->q);
    reference_input(c, dtype, t->k);
    reference_input(c, dtype, t->v);
    void *mask = reference_input(c, mask_type, t->mask);
    if (mask && mask_type == dtype) close_some(mask, pgy_tensor_count(c->inputs[3]), dtype);
    reference_input(c, dtype, t->past_k);
    reference_input(c, dtype, t->past_v);
    int64_t *lengths = t->lengths ? reference_input(c, PGY_I64, t->lengths) : NULL;
    for (size_t i = 0; lengths && i < pgy_tensor_count(c->inputs[6]); i++)
        lengths[i] = t->length[i];
}

static void run_cases(const cached_case *cases, size_t count)
{
    static const struct {
        pgy_dtype dtype;
        double tolerance;
    } TYPES[] = {{PGY_F32, TOLERANCE}, {PGY_F16, 2e-3}, {PGY_BF16, 2e-2}};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof TYPES / sizeof *TYPES; k++) {
            reference_case c;
            start(&c, &cases[i], TYPES[k].dtype);
            assert_true(reference_run(&c, cases[i].outputs, TYPES[k].tolerance) > 0);
        }
}

#define RUN(cases) run_cases(cases, sizeof(cases) / sizeof *(cases))

static void test_cached_attention__steps_and_prompts(void **state)
{
    (void)state;
    static const cached_case CASES[] = {
        {"2 3 1 16", "2 3 1 16", "2 3 1 12", "2 3 9 16", "2 3 9 12", .outputs = 3},
        {"1 6 1 8", "1 2 1 8", "1 2 1 8", "1 2 40 8", "1 2 40 8", .outputs = 3, .causal = true},
        {"2 1 24", "2 1 24", "2 1 12", "2 3 5 8", "2 3 5 4", .heads = 3, .kv_heads = 3,
         .outputs = 3},
        {"1 3 64", "1 3 32", "1 3 16", "1 2 7 16", "1 2 7 8", .heads = 4, .kv_heads = 2,
         .outputs = 3, .causal = true},
        {"1 2 50 8", "1 2 50 8", "1 2 50 8", "1 2 30 8", "1 2 30 8", .outputs = 3, .causal = true},
        {"1 2 3 8", "1 2 3 8", "1 2 3 8", "1 2 4 8", "1 2 4 8", .outputs = 1},
        {"1 2 3 8", "1 2 3 8", "1 2 3 8", "1 2 0 8", "1 2 0 8", .outputs = 3, .causal = true},
        {"2 2 3 8", "2 2 5 8", "2 2 5 8", .outputs = 3},
        {"1 1 1 1", "1 1 1 1", "1 1 1 1", "1 1 1 1", "1 1 1 1", .outputs = 3, .cap = 2},
    };
    RUN(CASES);
}

static void test_cached_attention__masks(void **state)
{
    (void)state;
    static const cached_case CASES[] = {
        {"2 3 2 16", "2 3 2 16", "2 3 2 16", "2 3 9 16", "2 3 9 16", "2 1 2 11", PGY_F32,
         .outputs = 3},
        {"2 3 2 16", "2 3 2 16", "2 3 2 16", "2 3 9 16", "2 3 9 16", "2 3 1 11", PGY_BOOL,
         .outputs = 3, .causal = true, .cap = 5},
        {"2 3 1 16", "2 3 1 16", "2 3 1 16", "2 3 9 16", "2 3 9 16", "6", PGY_F32, .outputs = 3},
        {"2 3 1 16", "2 3 1 16", "2 3 1 16", "2 3 9 16", "2 3 9 16", "2 1 1 1", PGY_F32,
         .outputs = 3, .own = true},
        {"2 3 2 16", "2 3 2 16", "2 3 2 16", "2 3 9 16", "2 3 9 16", "3 2 1", PGY_BOOL,
         .outputs = 3, .own = true},
        {"2 3 2 16", "2 3 2 16", "2 3 2 16", "2 3 9 16", "2 3 9 16", "2 1 2 11", PGY_F32,
         .outputs = 3, .own = true},
    };
    RUN(CASES);
}

static void test_cached_attention__windows_and_lengths(void **state)
{
    (void)state;
    static const cached_case CASES[] = {
        {"1 2 3 8", "1 2 3 8", "1 2 3 8", "1 2 20 8", "1 2 20 8", .outputs = 3, .left = 4,
         .causal = true},
        {"1 2 7 8", "1 2 9 8", "1 2 9 8", .outputs = 1, .left = 2, .right = 1},
        {"1 2 30 8", "1 2 3 8", "1 2 3 8", .outputs = 1, .left = 1},
        {"2 2 1 8", "2 2 9 8", "2 2 9 8", .outputs = 1, .lengths = "2", .length = {4, 9},
         .causal = true},
        {"2 2 3 8", "2 2 9 8", "2 2 9 8", .outputs = 1, .lengths = "2", .length = {0, 1},
         .causal = true},
    };
    RUN(CASES);
}

/* Rows that see nothing are computed side by side with others, whose masks count. */
static void test_cached_attention__closed_rows_have_masks(void **state)
{
    (void)state;
    static const cached_case CASES[] = {
        {"2 2 5 8", "2 2 9 8", "2 2 9 8", .mask = "2 1 5 9", .mask_type = PGY_F32, .outputs = 1,
         .lengths = "2", .length = {3, 9}, .causal = true},
        {"2 2 20 8", "2 2 25 8", "2 2 25 8", .mask = "20 25", .mask_type = PGY_BOOL, .outputs = 1,
         .lengths = "2", .length = {7, 19}, .causal = true},
        {"1 2 20 8", "1 2 20 8", "1 2 20 8", .mask = "1 2 20 11", .mask_type = PGY_F32,
         .outputs = 1, .left = 2, .right = 3},
    };
    RUN(CASES);
}

/* Keys in parts, which a last phase joins; some parts are closed. */
static void test_cached_attention__many_keys(void **state)
{
    (void)state;
    static const cached_case CASES[] = {
        {"1 2 1 8", "1 2 1 8", "1 2 1 5", "1 2 1023 8", "1 2 1023 5", .outputs = 3},
        {"1 2 1 8", "1 2 1 8", "1 2 1 5", "1 2 2500 8", "1 2 2500 5", .outputs = 3},
        {"1 2 1 8", "1 1 2500 8", "1 1 2500 8", .outputs = 1, .cap = 3},
        {"1 2 2 8", "1 2 2 8", "1 2 2 8", "1 2 3000 8", "1 2 3000 8", .outputs = 3, .left = 100,
         .causal = true},
        {"1 2 1 8", "1 2 2500 8", "1 2 2500 8", .mask = "2500", .mask_type = PGY_BOOL,
         .outputs = 1},
        {"1 1 20 8", "1 1 20 8", "1 1 20 8", "1 1 1500 8", "1 1 1500 8", .outputs = 1,
         .causal = true},
        {"1 1 40 8", "1 1 40 8", "1 1 40 8", "1 1 1500 8", "1 1 1500 8", .outputs = 3},
    };
    RUN(CASES);
}

/* ---- One buffer for both caches ------------------------------------------------------------- */

enum { BATCH = 2, HEADS = 2, PAST = 5, ROWS = 2, SIZE = 4 };
enum { OLD = BATCH * HEADS * PAST * SIZE, NEW = BATCH * HEADS * (PAST + ROWS) * SIZE };

/* Runs kernel k in `parts` parts; the caches are `keys` and `values`, from the past that they or
 * `past` hold. */
static pgy_status run_in(const kernel *k, float *y, float *const *caches, float *const *past,
                         uint32_t parts)
{
    static const int64_t FRESH[] = {BATCH, HEADS, ROWS, SIZE}, GIVEN[] = {BATCH, HEADS, PAST, SIZE},
                         MADE[] = {BATCH, HEADS, PAST + ROWS, SIZE};
    float fresh[3][BATCH * HEADS * ROWS * SIZE];
    void *tensors[9] = {fresh[0], fresh[1], fresh[2],  NULL,     past[0],
                        past[1],  y,        caches[0], caches[1]};
    reference_case c;
    kernel_plan plan = {0};
    pgy_error err = {0};
    double cost;
    reference_start(&c, "", "Attention", 25);
    kernel_problem u = {.node = &c.node, .input_count = 6, .output_count = 3};
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < sizeof fresh[i] / sizeof *fresh[i]; j++)
            fresh[i][j] = (float)((i * 31 + j * 7) % 11) - 5;
    for (size_t i = 0; i < 9; i++)
        if (i != 3) {
            kernel_tensor *t = i < 6 ? &u.inputs[i] : &u.outputs[i - 6];
            *t = (kernel_tensor){.dtype = PGY_F32,
                                 .rank = 4,
                                 .shape = i < 4 || i == 6 ? FRESH
                                          : i < 6         ? GIVEN
                                                          : MADE};
        }
    assert_true(kernel_accept(k, &u, &cost));
    const pgy_status st = k->prepare(&plan, &u, &err);
    void *workspace = st ? NULL : mem_alloc_aligned(64, plan.workspace_bytes + 64),
         *scratch = st ? NULL : mem_alloc_aligned(64, plan.scratch_bytes + 64);
    if (workspace && scratch)
        for (uint32_t phase = 0; phase < plan.phases; phase++)
            for (uint32_t part = 0; part < parts; part++)
                k->run(&(kernel_run){.self = k,
                                     .params = plan.params,
                                     .tensors = tensors,
                                     .workspace = workspace,
                                     .scratch = scratch,
                                     .phase = phase,
                                     .part = part,
                                     .parts = parts});
    const bool ran = workspace && scratch;
    mem_free(workspace);
    mem_free(scratch);
    kernel_plan_deinit(&plan);
    return ran ? PGY_OK : PGY_E_MEMORY;
}

static void test_cached_attention__one_buffer_for_both_caches(void **state)
{
    (void)state;
    for (size_t i = 0; kernel_for("", "Attention", i); i++) {
        const kernel *k = kernel_for("", "Attention", i);
        if (strncmp(k->name, "cached_attention", 16) != 0) continue;
        for (uint32_t parts = 1; parts < 4; parts++) {
            float old[2][OLD], apart[2][NEW], shared[2][NEW], y[2][BATCH * HEADS * ROWS * SIZE];
            for (size_t j = 0; j < (size_t)OLD * 2; j++)
                old[j / OLD][j % OLD] = (float)(j * 5 % 13);
            memcpy(shared[0], old[0], sizeof old[0]);
            memcpy(shared[1], old[1], sizeof old[1]);
            float *made[] = {apart[0], apart[1]}, *same[] = {shared[0], shared[1]};
            if (run_in(k, y[0], made, (float *[]){old[0], old[1]}, parts) ||
                run_in(k, y[1], same, same, parts))
                continue; /* memory is short */
            assert_memory_equal(y[0], y[1], sizeof y[0]);
            assert_memory_equal(apart, shared, sizeof apart);
        }
    }
}

/* Scores as an output are the definition's. */
static void test_cached_attention__the_rest_is_refused(void **state)
{
    (void)state;
    static const cached_case SCORES = {"1 2 3 8", "1 2 3 8", "1 2 3 8", "1 2 4 8", "1 2 4 8"};
    reference_case c;
    start(&c, &SCORES, PGY_F32);
    assert_int_equal(reference_run(&c, 4, TOLERANCE), 0);
}
