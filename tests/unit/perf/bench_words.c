/* SPDX-License-Identifier: Apache-2.0 */
/* The words of bench: axes of sweeps, and budgets with what they find in a measurement. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "perf/bench_budget.h"

/* ---- Axes ------------------------------------------------------------------------------------ */

static void expect_sizes(const char *word, const char *wanted)
{
    pgy_bench_axes *a = NULL;
    pgy_error err = {0};
    str found = {0};
    assert_int_equal(pgy_bench_axes_parse(&a, &word, 1, &err), PGY_OK);
    str_printf(&found, "%s", pgy_bench_axes_name(a, 0));
    for (size_t i = 0; i < pgy_bench_axes_size_count(a, 0); i++)
        str_printf(&found, " %" PRId64, pgy_bench_axes_size(a, 0, i));
    assert_string_equal(str_text(&found), wanted);
    str_deinit(&found);
    pgy_bench_axes_destroy(a);
}

static void test_bench_axes__sizes_are_lists_and_ranges(void **state)
{
    (void)state;
    expect_sizes("batch=1,2,4,8", "batch 1 2 4 8");
    expect_sizes("seq=64:1024:x2", "seq 64 128 256 512 1024");
    expect_sizes("seq=64:1000:x2", "seq 64 128 256 512");
    expect_sizes("n=3:5", "n 3 4 5");
    expect_sizes("n=1:9:4,20", "n 1 5 9 20");
    expect_sizes("x:0=7", "x:0 7");
    expect_sizes("a=b:1=2", "a=b:1 2");
    expect_sizes("n=2147483647:2147483647:x2147483647", "n 2147483647");
}

static void test_bench_axes__mistakes_are_named(void **state)
{
    static const char *const BAD[][2] = {
        {"batch", "it has no '=' behind a name"},
        {"=1", "it has no '=' behind a name"},
        {"b=", "a size is not a number up to 2147483647"},
        {"b=-1", "a size is not a number up to 2147483647"},
        {"b=2147483648", "a size is not a number up to 2147483647"},
        {"b=99999999999999999999", "a size is not a number up to 2147483647"},
        {"b=1,", "a size is not a number up to 2147483647"},
        {"b=0", "has the size 0; expected 1 to 2147483647"},
        {"b=1,2,1", "has the size 1 twice"},
        {"b=1 ", "something follows the last size"},
        {"b=4:2", "a range ends below its begin"},
        {"b=1:2:0", "a step must be at least 1"},
        {"b=1:8:x1", "a factor must be at least 2"},
        {"b=0:8:x2", "a factor must be at least 2"},
        {"b=1:2:3:4", "something follows the last size"},
        {"b=1:2000", "more than 1000 sizes"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        pgy_bench_axes *a = NULL;
        pgy_error err = {0};
        assert_int_equal(pgy_bench_axes_parse(&a, &BAD[i][0], 1, &err), PGY_E_ARGUMENT);
        if (!strstr(err.text, BAD[i][1])) fail_msg("%s: %s", BAD[i][0], err.text);
        assert_null(a);
    }
}

static void test_bench_axes__the_number_of_points_is_limited(void **state)
{
    static const char *const MANY[] = {"a=1:100", "b=1:10", "c=1,2"};
    static const char *const TWICE[] = {"a=1", "a=2"};
    static const char *const NINE[] = {"a=1", "b=1", "c=1", "d=1", "e=1", "f=1", "g=1", "h=1", "i=1"};
    pgy_bench_axes *a = NULL;
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_bench_axes_parse(&a, MANY, 2, &err), PGY_OK);
    assert_int_equal(bench_axes_points(a), 1000);
    assert_int_equal(bench_axes_at(a, 999, 0), 100);
    assert_int_equal(bench_axes_at(a, 12, 0), 2);
    assert_int_equal(bench_axes_at(a, 12, 1), 3);
    pgy_bench_axes_destroy(a);
    assert_int_equal(pgy_bench_axes_parse(&a, MANY, 3, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "more than 1000 points"));
    assert_int_equal(pgy_bench_axes_parse(&a, TWICE, 2, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "'a' is given twice"));
    assert_int_equal(pgy_bench_axes_parse(&a, NINE, 9, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "more than 8 axes"));
}

/* ---- Which dimensions they name -------------------------------------------------------------- */

static pgy_metadata *describe_inputs(void)
{
    static const int64_t X[] = {-1, 3, -1}, Y[] = {-1};
    static const char *const X_NAMES[] = {"batch", NULL, NULL}, *const Y_NAMES[] = {"batch"};
    pgy_metadata *m = NULL;
    pgy_error err = {0};
    const pgy_tensor_info x = {.name = "x", .dtype = PGY_F32, .rank = 3, .shape = X, .dim_names = X_NAMES},
                          y = {.name = "y", .dtype = PGY_F32, .rank = 1, .shape = Y, .dim_names = Y_NAMES};
    assert_int_equal(pgy_metadata_create(&m, &err), PGY_OK);
    assert_int_equal(pgy_metadata_set(m, &x, &err), PGY_OK);
    assert_int_equal(pgy_metadata_set(m, &y, &err), PGY_OK);
    return m;
}

static void test_bench_axes__name_dimensions_by_symbol_or_input(void **state)
{
    static const char *const GOOD[] = {"batch=5", "x:2=7"};
    static const char *const BAD[] = {"x:1=4", "z=1", "x:02=1", "y:1=1"};
    pgy_metadata *m = describe_inputs(), *found = NULL;
    pgy_bench_axes *a = NULL;
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_bench_axes_parse(&a, GOOD, 2, &err), PGY_OK);
    assert_int_equal(bench_axes_apply(&found, m, a, 0, &err), PGY_OK);
    const int64_t *x = pgy_metadata_find(found, "x")->shape;
    assert_true(x[0] == 5 && x[1] == 3 && x[2] == 7);
    assert_int_equal(pgy_metadata_find(found, "y")->shape[0], 5);
    pgy_metadata_destroy(found);
    pgy_bench_axes_destroy(a);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        assert_int_equal(pgy_bench_axes_parse(&a, &BAD[i], 1, &err), PGY_OK);
        assert_int_equal(bench_axes_apply(&found, m, a, 0, &err), PGY_E_ARGUMENT);
        assert_non_null(strstr(err.text, "there are: 'batch' (x:0), x:2, 'batch' (y:0)"));
        pgy_bench_axes_destroy(a);
    }
    pgy_metadata_destroy(m);
}

/* ---- Budgets --------------------------------------------------------------------------------- */

static void test_bench_budget__values_are_in_one_unit(void **state)
{
    static const struct {
        const char *text, *figure;
        double value;
        bench_relation relation;
    } GOOD[] = {
        {"p99<12ms", "p99", 12, BENCH_BELOW},
        {"p99.9<=500us", "p99.9", 0.5, BENCH_AT_MOST},
        {"median<2s", "median", 2000, BENCH_BELOW},
        {"first<3000000ns", "first", 3, BENCH_BELOW},
        {"peak<300M", "peak", 300.0 * 1048576, BENCH_BELOW},
        {"peak<1.5GiB", "peak", 1.5 * 1073741824, BENCH_BELOW},
        {"peak<7", "peak", 7, BENCH_BELOW},
        {"throughput>=100/s", "throughput", 100, BENCH_AT_LEAST},
        {"throughput > 1e3", "throughput", 1000, BENCH_ABOVE},
        {"err<1e-3", "err", 1e-3, BENCH_BELOW},
        {"rel_err<0.5", "rel_err", 0.5, BENCH_BELOW},
        {"cpu_energy<3mJ", "cpu_energy", 3e-3, BENCH_BELOW},
        {"gpu_energy<2J", "gpu_energy", 2, BENCH_BELOW},
    };
    (void)state;
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        pgy_bench_budget *b = NULL;
        pgy_error err = {0};
        assert_int_equal(pgy_bench_budget_parse(&b, GOOD[i].text, &err), PGY_OK);
        assert_int_equal(b->count, 1);
        assert_string_equal(b->items[0].on->name, GOOD[i].figure);
        assert_true(fabs(b->items[0].value / GOOD[i].value - 1) < 1e-12);
        assert_int_equal(b->items[0].relation, GOOD[i].relation);
        pgy_bench_budget_destroy(b);
    }
}

static void test_bench_budget__mistakes_are_named(void **state)
{
    static const char *const BAD[][2] = {
        {"", "it has no '<' or '>'"},
        {"p99", "it has no '<' or '>'"},
        {"p99=12ms", "it has no '<' or '>'"},
        {"p99<12", "a unit of this figure is one of ns, us, ms, s"},
        {"p99<12m", "a unit of this figure is one of ns, us, ms, s"},
        {"p98<12ms", "there is no such figure; there are median, p50"},
        {"<12ms", "there is no such figure"},
        {"p99<", "the limit is not a number of at least 0"},
        {"p99<-1ms", "the limit is not a number of at least 0"},
        {"p99<infms", "the limit is not a number of at least 0"},
        {"err<nan", "the limit is not a number of at least 0"},
        {"err<0x1p3", "the limit is not a number of at least 0"},
        {"err<1e999", "the limit is not a number of at least 0"},
        {"p99<1e308s", "the limit is too large"},
        {"err<1e-3,", "it has no '<' or '>'"},
        {"err<1%", "this figure has no unit"},
        {"err<<1", "the limit is not a number of at least 0"},
        {"peak<300X", "a unit of this figure is one of B, K, M"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        pgy_bench_budget *b = NULL;
        pgy_error err = {0};
        assert_int_equal(pgy_bench_budget_parse(&b, BAD[i][0], &err), PGY_E_ARGUMENT);
        if (!strstr(err.text, BAD[i][1])) fail_msg("%s: %s", BAD[i][0], err.text);
        assert_null(b);
    }
}

static void test_bench_budget__the_number_of_conditions_is_limited(void **state)
{
    str text = {0};
    pgy_bench_budget *b = NULL;
    pgy_error err = {0};
    (void)state;
    for (int i = 0; i < BENCH_LIMITS; i++) str_append(&text, i ? ",err<1" : "err<1");
    assert_int_equal(pgy_bench_budget_parse(&b, str_text(&text), &err), PGY_OK);
    pgy_bench_budget_destroy(b);
    b = NULL;
    str_append(&text, ",err<1");
    assert_int_equal(pgy_bench_budget_parse(&b, str_text(&text), &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "more than 64 conditions"));
    str_deinit(&text);
}

/* ---- What they find -------------------------------------------------------------------------- */

/* One side with 100 runs of 1 to 100 ms. */
static pgy_bench_sweep *measured(void)
{
    static const char *const NAMES[] = {"m"};
    pgy_bench_sweep *s = NULL;
    pgy_error err = {0};
    int64_t times[100];
    for (int i = 0; i < 100; i++) times[i] = (i + 1) * 1000000;
    assert_int_equal(bench_sweep_create(&s, NULL, &err), PGY_OK);
    assert_int_equal(pgy_bench_create(&s->points[0], NAMES, 1, NULL, &err), PGY_OK);
    assert_int_equal(pgy_bench_add(s->points[0], 0, times, 100, false, &err), PGY_OK);
    return s;
}

/* The exit status, and what the last demand found. */
static int status_of(const pgy_bench_sweep *s, const char *text, char *found, size_t size)
{
    pgy_bench_budget *b = NULL;
    pgy_bench_demands *d = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_bench_budget_parse(&b, text, &err), PGY_OK);
    assert_int_equal(pgy_bench_demands_create(&d, &err), PGY_OK);
    assert_int_equal(pgy_bench_budget_check(d, b, s, &err), PGY_OK);
    const int status = pgy_bench_demands_status(d);
    const pgy_bench_demand *last = pgy_bench_demands_at(d, pgy_bench_demands_count(d) - 1);
    snprintf(found, size, "%s", last->found);
    pgy_bench_demands_destroy(d);
    pgy_bench_budget_destroy(b);
    return status;
}

static void test_bench_budget__limits_are_compared_with_the_figures(void **state)
{
    pgy_bench_sweep *s = measured();
    char found[300];
    (void)state;
    assert_int_equal(status_of(s, "p99<=99ms,p50>49ms", found, sizeof found), 0);
    assert_int_equal(status_of(s, "p99<99ms", found, sizeof found), PGY_BENCH_LATENCY);
    assert_string_equal(found, "99 ms");
    assert_int_equal(status_of(s, "throughput>20/s", found, sizeof found), PGY_BENCH_THROUGHPUT);
    assert_int_equal(status_of(s, "p99<1ms,throughput>20/s", found, sizeof found), PGY_BENCH_LATENCY);
    s->points[0]->sides[0].peak_bytes = 1 << 20;
    assert_int_equal(status_of(s, "peak<=1M", found, sizeof found), 0);
    assert_int_equal(status_of(s, "peak<1M", found, sizeof found), PGY_BENCH_MEMORY);
    assert_string_equal(found, "1.00 MiB");
    pgy_bench_sweep_destroy(s);
}

static void test_bench_budget__what_was_not_measured_never_passes(void **state)
{
    static const char *const UNKNOWN[] = {"peak<1G",     "peak>0",       "err<1", "err>0",      "rel_err>=0",
                                          "first<1000s", "load<1000s",   "load>0s", "cpu_energy<1J", "gpu_energy>0J"};
    pgy_bench_sweep *s = measured();
    char found[300];
    (void)state;
    for (size_t i = 0; i < sizeof UNKNOWN / sizeof *UNKNOWN; i++) {
        assert_int_equal(status_of(s, UNKNOWN[i], found, sizeof found), PGY_BENCH_UNMEASURED);
        assert_memory_equal(found, "not measured", 12);
    }
    bench_accuracy *a = &s->points[0]->sides[0].accuracy;
    a->reference = mem_strdup("opref");
    a->reason = mem_strdup("the largest difference of output 'y' is NaN");
    assert_int_equal(status_of(s, "err<1", found, sizeof found), PGY_BENCH_UNMEASURED);
    assert_string_equal(found, "not measured: the largest difference of output 'y' is NaN");
    mem_free(a->reason);
    a->reason = NULL;
    a->measured = true;
    a->error = 0.5;
    a->relative_error = INFINITY;
    assert_int_equal(status_of(s, "err<1", found, sizeof found), 0);
    assert_int_equal(status_of(s, "rel_err<1", found, sizeof found), PGY_BENCH_ACCURACY);
    pgy_bench_sweep_destroy(s);
}
