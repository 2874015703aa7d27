/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics line: golden lines of the original, and order statistics against a plain sort. */
#include "judging.h"

#include <stdlib.h>

#include "compare/stats.h"

static void assert_line(pgy_dtype dtype, const void *data, size_t rank, const int64_t *shape,
                        const char *want)
{
    char *text = NULL;
    GOOD(pgy_statistics_text(&text, pgy_view_of((void *)data, dtype, rank, shape), &judging_error));
    assert_string_equal(text, want);
    pgy_text_free(text);
}

static void test_stats__lines_are_those_of_the_original(void **state)
{
    (void)state;
    float a[] = {1, 2.5f, 3, 4}, nan[] = {1, NAN, 3};
    double scalar[] = {3.5}, inf[] = {INFINITY, -INFINITY, 1};
    uint8_t flags[] = {1, 0, 1};
    uint64_t big[] = {UINT64_MAX, 0, UINT64_C(1) << 63};
    assert_line(PGY_F32, a, 2, (int64_t[]){2, 2},
                "mean=2.625, std-dev=1.0825, var=1.1719, median=2.75, min=1 at (0, 0), max=4 at "
                "(1, 1), avg-magnitude=2.625, p90=3.7, p95=3.85, p99=3.97");
    assert_line(PGY_F32, a, 1, (int64_t[]){0},
                "mean=nan, std-dev=0, var=0, median=0, min=0 at 0, max=0 at 0, avg-magnitude=nan, "
                "p90=inf, p95=inf, p99=inf");
    assert_line(PGY_F64, scalar, 0, NULL,
                "mean=3.5, std-dev=0, var=0, median=3.5, min=3.5 at (), max=3.5 at (), "
                "avg-magnitude=3.5, p90=3.5, p95=3.5, p99=3.5");
    assert_line(PGY_BOOL, flags, 1, (int64_t[]){3},
                "mean=0.66667, std-dev=0.4714, var=0.22222, median=1, min=0 at (1,), max=1 at "
                "(0,), avg-magnitude=0.66667");
    assert_line(PGY_F32, nan, 1, (int64_t[]){3},
                "mean=nan, std-dev=nan, var=nan, median=nan, min=nan at (1,), max=nan at (1,), "
                "avg-magnitude=nan, p90=nan, p95=nan, p99=nan");
    assert_line(PGY_F64, inf, 1, (int64_t[]){3},
                "mean=nan, std-dev=nan, var=nan, median=1, min=-inf at (1,), max=inf at (0,), "
                "avg-magnitude=inf, p90=nan, p95=nan, p99=nan");
    assert_line(PGY_U64, big, 1, (int64_t[]){3},
                "mean=9.2234e+18, std-dev=7.5309e+18, var=5.6714e+37, median=9.2234e+18, min=0 at "
                "(1,), max=1.8447e+19 at (0,), avg-magnitude=9.2234e+18, p90=1.6602e+19, "
                "p95=1.7524e+19, p99=1.8262e+19");
}

/* Percentiles of float16 are formed in float16. */
static void test_stats__half_precision(void **state)
{
    (void)state;
    pgy_tensor *half = NULL;
    double values[20];
    int64_t shape[] = {20};
    for (int i = 0; i < 20; i++) values[i] = i;
    GOOD(pgy_tensor_cast(&half, pgy_view_of(values, PGY_F64, 1, shape), PGY_F16, &judging_error));
    assert_line(PGY_F16, pgy_tensor_data(half), 1, (int64_t[]){3},
                "mean=1, std-dev=0.8165, var=0.66667, median=1, min=0 at (0,), max=2 at (2,), "
                "avg-magnitude=1, p90=1.7998, p95=1.9004, p99=1.9805");
    pgy_tensor_release(half);
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void assert_order(pgy_dtype dtype, const void *data, double *sorted, size_t n)
{
    int64_t shape[] = {(int64_t)n};
    array_stats got;
    source s = source_array(pgy_view_of((void *)data, dtype, 1, shape));
    stats_request request = {.median = true, .quantiles = {0, 0.25, 1, 0.75}, .quantile_count = 4};
    qsort(sorted, n, sizeof *sorted, by_value);
    GOOD(stats_compute(&got, NULL, &s, &request, &judging_error));
    assert_true(got.min == sorted[0] && got.max == sorted[n - 1]);
    assert_true(got.quantiles[0] == sorted[0] && got.quantiles[2] == sorted[n - 1]);
    assert_true(got.quantiles[1] == sorted[(n - 1) / 4] &&
                got.quantiles[3] == sorted[(n - 1) / 4 * 3]);
    assert_true(got.median == sorted[n / 2]);
}

/* n - 1 is a multiple of 4: quartiles are elements. */
static void test_stats__order_statistics_match_a_sort(void **state)
{
    (void)state;
    const size_t sizes[] = {5, 1001, 1025, 8193, 100001};
    for (size_t k = 0; k < 5; k++) {
        size_t n = sizes[k];
        float *f = calloc(n, sizeof *f), *b = calloc(n, sizeof *b);
        double *d = calloc(n, sizeof *d), *sorted = calloc(n, sizeof *sorted);
        int64_t *i64 = calloc(n, sizeof *i64);
        judging_golden(f, b, n);
        for (size_t i = 0; i < n; i++) sorted[i] = (double)f[i];
        assert_order(PGY_F32, f, sorted, n);
        for (size_t i = 0; i < n; i++)
            sorted[i] = d[i] = (double)f[i] * 1e-300 * (i % 3 ? 1 : 1e290);
        assert_order(PGY_F64, d, sorted, n);
        for (size_t i = 0; i < n; i++)
            sorted[i] = (double)(i64[i] = (int64_t)((double)f[i] * 1e12));
        assert_order(PGY_I64, i64, sorted, n);
        for (size_t i = 0; i < n; i++) sorted[i] = (double)(f[i] = i % 7 ? 0.25f : -0.0f);
        assert_order(PGY_F32, f, sorted, n);
        free(f);
        free(b);
        free(d);
        free(sorted);
        free(i64);
    }
}

/* Both versions of the kernels give the same bits, for every length around a vector. */
static void test_stats__kernels_agree(void **state)
{
    (void)state;
    float a[600], b[600];
    double c[600];
    judging_golden(a, b, 600);
    for (int i = 0; i < 600; i++) c[i] = (double)a[i] / 3;
    const block_kernels *p = &block_kernels_portable, *k = block_kernels_best();
    for (size_t n = 1; n < 600; n++) {
        block_range r, q;
        assert_true(p->sum_f32(a, n) == k->sum_f32(a, n) &&
                    p->abs_sum_f32(a, n) == k->abs_sum_f32(a, n));
        assert_true(p->sum_f64(c, n) == k->sum_f64(c, n));
        assert_true(p->deviation_f32(a, n, 1) == k->deviation_f32(a, n, 1));
        assert_true(p->deviation_f64(c, n, 1) == k->deviation_f64(c, n, 1));
        p->range_f32(&r, a, n);
        k->range_f32(&q, a, n);
        assert_true(r.low == q.low && r.high == q.high && !q.nan);
    }
}

static void test_stats__strides_are_honoured(void **state)
{
    (void)state;
    float a[] = {1, 9, 2, 9, 3, 9};
    int64_t shape[] = {3}, strides[] = {2};
    char *text = NULL;
    pgy_view v = pgy_view_of(a, PGY_F32, 1, shape);
    v.strides = strides;
    GOOD(pgy_statistics_text(&text, v, &judging_error));
    assert_memory_equal(text, "mean=2, ", 8);
    pgy_text_free(text);
}

static void test_stats__strings_have_none(void **state)
{
    (void)state;
    pgy_string s[] = {{"a", 1}};
    assert_line(PGY_STRING, s, 1, (int64_t[]){1}, "<Error while computing statistics>");
}
