/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps: files, places, the worst points, and pictures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "perf/bench_sweep.h"

static const char *const NAMES[] = {"a", "b<&\"'\n"};

/* Batches 1 and 2, lengths 8 and 16. Side a takes 1 us for each element; b takes 3 times as long at
 * batch 2, length 8, and as long elsewhere. Its error grows with the length. */
static pgy_bench_sweep *make_sweep(void)
{
    static const char *const WORDS[] = {"batch=1,2", "length=8,16"};
    pgy_bench_axes *axes = NULL;
    pgy_bench_sweep *s = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_bench_axes_parse(&axes, WORDS, 2, &err), PGY_OK);
    assert_int_equal(bench_sweep_create(&s, axes, &err), PGY_OK);
    pgy_bench_axes_destroy(axes);
    for (size_t p = 0; p < s->count; p++) {
        const int64_t base = 1000 * bench_axes_at(s->axes, p, 0) * bench_axes_at(s->axes, p, 1);
        assert_int_equal(pgy_bench_create(&s->points[p], NAMES, 2, NULL, &err), PGY_OK);
        for (int64_t k = 0; k < 10; k++) {
            const int64_t a = base + k, b = base * (p == 2 ? 3 : 1) + k;
            assert_int_equal(pgy_bench_add(s->points[p], 0, &a, 1, false, &err), PGY_OK);
            assert_int_equal(pgy_bench_add(s->points[p], 1, &b, 1, false, &err), PGY_OK);
        }
        bench_accuracy *found = &s->points[p]->sides[1].accuracy;
        found->reference = mem_strdup("opref");
        found->measured = true;
        found->error = found->relative_error = 1e-6 * (double)bench_axes_at(s->axes, p, 1);
    }
    return s;
}

static void test_bench_sweep__finds_the_worst_points(void **state)
{
    pgy_bench_sweep *s = make_sweep();
    pgy_error err = {0};
    size_t point, side;
    double value;
    (void)state;
    assert_string_equal(pgy_bench_sweep_place(s, 2), "batch=2 length=8");
    assert_int_equal(pgy_bench_sweep_worst(&point, &side, &value, s, PGY_BENCH_SLOWEST_AGAINST, &err), PGY_OK);
    assert_true(point == 2 && side == 1 && fabs(value - 2) < 0.01);
    assert_int_equal(pgy_bench_sweep_worst(&point, &side, &value, s, PGY_BENCH_SLOWEST, &err), PGY_OK);
    assert_true(point == 2 && side == 1 && fabs(value - 0.048) < 1e-4);
    assert_int_equal(pgy_bench_sweep_worst(&point, &side, &value, s, PGY_BENCH_SLOWEST_PER_UNIT, &err), PGY_OK);
    assert_true(point == 2 && side == 1 && fabs(value - 0.003) < 1e-5);
    assert_int_equal(pgy_bench_sweep_worst(&point, &side, &value, s, PGY_BENCH_LARGEST_ERROR, &err), PGY_OK);
    assert_true(point == 1 && side == 1 && value == 1.6e-5);
    s->points[2]->sides[1].accuracy.measured = false; /* worse than any error */
    assert_int_equal(pgy_bench_sweep_worst(&point, &side, &value, s, PGY_BENCH_LARGEST_ERROR, &err), PGY_OK);
    assert_true(point == 2 && isnan(value));
    pgy_bench_sweep_destroy(s);
}

static void test_bench_sweep__points_are_found_in_any_order_of_axes(void **state)
{
    static const char *const WORDS[] = {"length=16,8", "batch=2"};
    pgy_bench_sweep *s = make_sweep(), *other = NULL;
    pgy_bench_axes *axes = NULL;
    pgy_error err = {0};
    size_t point;
    (void)state;
    assert_int_equal(pgy_bench_axes_parse(&axes, WORDS, 2, &err), PGY_OK);
    assert_int_equal(bench_sweep_create(&other, axes, &err), PGY_OK);
    assert_true(pgy_bench_sweep_find(&point, s, other, 0) && point == 3);
    assert_true(pgy_bench_sweep_find(&point, s, other, 1) && point == 2);
    assert_false(pgy_bench_sweep_find(&point, other, s, 0));
    pgy_bench_sweep_destroy(other);
    pgy_bench_axes_destroy(axes);
    pgy_bench_sweep_destroy(s);
}

static void test_bench_sweep__a_file_gives_the_same_report(void **state)
{
    pgy_bench_sweep *s = make_sweep(), *again = NULL;
    char *text = NULL, *report = NULL, *same = NULL;
    pgy_error err = {0};
    (void)state;
    s->points[3]->sides[1].accuracy.measured = false;
    s->points[3]->sides[1].accuracy.reason = mem_strdup("no output was compared");
    assert_int_equal(json_to_text(&text, bench_sweep_write, s, &err), PGY_OK);
    assert_int_equal(bench_sweep_parse(&again, span_of(text), "file", &err), PGY_OK);
    assert_int_equal(pgy_bench_sweep_text(&report, s, &err), PGY_OK);
    assert_int_equal(pgy_bench_sweep_text(&same, again, &err), PGY_OK);
    assert_string_equal(report, same);
    pgy_bench_accuracy a;
    assert_true(pgy_bench_check(&a, again->points[3], 1) && !a.measured && !a.passed);
    assert_string_equal(a.reason, "no output was compared");
    assert_false(pgy_bench_check(&a, again->points[3], 0));
    pgy_text_free(report);
    pgy_text_free(same);
    mem_free(text);
    pgy_bench_sweep_destroy(again);
    pgy_bench_sweep_destroy(s);
}

static void test_bench_sweep__pictures_have_no_loose_markup(void **state)
{
    pgy_bench_sweep *s = make_sweep(), *single = NULL;
    str svg = {0};
    pgy_error err = {0};
    (void)state;
    assert_int_equal(bench_sweep_svg(&svg, s, &err), PGY_OK);
    assert_null(strstr(str_text(&svg), "b<&"));
    assert_non_null(strstr(str_text(&svg), "b&lt;&amp;&quot;&#39;"));
    assert_null(strstr(str_text(&svg), "nan"));
    assert_null(strstr(str_text(&svg), "inf"));
    str_deinit(&svg);
    assert_int_equal(bench_sweep_create(&single, NULL, &err), PGY_OK);
    single->points[0] = s->points[0];
    s->points[0] = NULL;
    assert_int_equal(bench_sweep_svg(&svg, single, &err), PGY_OK);
    assert_null(strstr(str_text(&svg), "b<&"));
    assert_null(strstr(str_text(&svg), "nan"));
    str_deinit(&svg);
    pgy_bench_sweep_destroy(single);
    pgy_bench_sweep_destroy(s);
}
