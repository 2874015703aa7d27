/* SPDX-License-Identifier: Apache-2.0 */
/* Top-k post-processing. */
#include "judging.h"

static void assert_top(pgy_dtype dtype, const void *data, size_t rank, const int64_t *shape,
                       pgy_top_k rule, const int64_t *want, size_t count)
{
    pgy_iteration it = judging_iteration("a");
    pgy_postprocess p = {.size = sizeof p, .top_k = &rule, .top_k_count = 1};
    judging_add(&it, "o", dtype, data, rank, shape);
    GOOD(postprocess_iteration(&it, &p, &judging_error));
    pgy_tensor *t = pgy_tensor_map_at(it.outputs, 0);
    assert_int_equal(pgy_tensor_dtype(t), PGY_I64);
    assert_int_equal(pgy_tensor_count(t), count);
    if (count) assert_memory_equal(pgy_tensor_data(t), want, count * sizeof *want);
    pgy_tensor_map_destroy(it.outputs);
}

static void test_postprocess__golden(void **state)
{
    (void)state;
    float a[] = {NAN, 1, 5, INFINITY, 2, 2};
    int64_t shape[] = {2, 3};
    assert_top(PGY_F32, a, 2, shape, (pgy_top_k){"", 2, false, 0}, (int64_t[]){2, 1, 0, 1}, 4);
    assert_top(PGY_F32, a, 2, shape, (pgy_top_k){"o", 2, true, 0}, (int64_t[]){1, 1, 0, 0, 0, 1},
               6);
    assert_top(PGY_F32, a, 2, shape, (pgy_top_k){"o", 1, true, -2}, (int64_t[]){1, 1, 0}, 3);
    assert_top(PGY_F32, a, 2, shape, (pgy_top_k){"o", 9, true, 1}, (int64_t[]){2, 1, 0, 0, 1, 2},
               6);
    assert_top(PGY_F32, a, 2, shape, (pgy_top_k){"o", -1, false, 0}, NULL, 0);
}

/* Where the original negates and wraps. */
static void test_postprocess__unsigned_bool_and_minimum(void **state)
{
    (void)state;
    uint8_t u[] = {0, 3, 2}, flags[] = {0, 1, 1};
    int8_t s[] = {-128, 127, 0};
    uint64_t w[] = {0, UINT64_MAX, 1};
    int64_t shape[] = {3};
    assert_top(PGY_U8, u, 1, shape, (pgy_top_k){"", 3, false, 0}, (int64_t[]){1, 2, 0}, 3);
    assert_top(PGY_BOOL, flags, 1, shape, (pgy_top_k){"", 2, false, 0}, (int64_t[]){1, 2}, 2);
    assert_top(PGY_I8, s, 1, shape, (pgy_top_k){"", 3, false, 0}, (int64_t[]){1, 2, 0}, 3);
    assert_top(PGY_U64, w, 1, shape, (pgy_top_k){"", 3, false, 0}, (int64_t[]){1, 2, 0}, 3);
}

static void test_postprocess__ties_keep_the_lower_index(void **state)
{
    (void)state;
    double a[] = {1, 0.0, 3, 3, -0.0, 3, 1};
    int64_t shape[] = {7};
    assert_top(PGY_F64, a, 1, shape, (pgy_top_k){"", 7, false, 0}, (int64_t[]){2, 3, 5, 0, 6, 1, 4},
               7);
    assert_top(PGY_F64, a, 1, shape, (pgy_top_k){"", 2, false, 0}, (int64_t[]){2, 3}, 2);
}

static void test_postprocess__rules(void **state)
{
    (void)state;
    float a[] = {1, 2};
    int64_t shape[] = {2};
    pgy_top_k rules[] = {{"p", 0, false, 0}, {"q", 1, true, 5}};
    pgy_postprocess p = {.size = sizeof p, .top_k = rules, .top_k_count = 1};
    pgy_iteration it = judging_iteration("a");
    judging_add(&it, "p", PGY_F32, a, 1, shape);
    judging_add(&it, "q", PGY_F32, a, 1, shape);
    GOOD(postprocess_iteration(&it, &p, &judging_error)); /* k = 0, and no rule */
    assert_int_equal(pgy_tensor_dtype(pgy_tensor_map_at(it.outputs, 0)), PGY_F32);
    assert_int_equal(pgy_tensor_dtype(pgy_tensor_map_at(it.outputs, 1)), PGY_F32);
    p.top_k_count = 2;
    assert_int_equal(postprocess_iteration(&it, &p, &judging_error), PGY_E_SHAPE);
    assert_string_equal(judging_error.text, "output 'q' of a: axis 5 of top-1 is not in [-1, 1)");
    pgy_tensor_map_destroy(it.outputs);
}
