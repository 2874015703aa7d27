/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of comparison functions: iterations made of plain arrays, one comparison, and
 * the captured log. */
#ifndef TESTS_JUDGING_H
#define TESTS_JUDGING_H

#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "compare/judge.h"

#define GOOD(call) judging_good((call), &judging_error, #call)

static pgy_error judging_error;
static str judging_log;

static inline void judging_good(pgy_status st, const pgy_error *err, const char *what)
{
    if (st) print_error("%s: %s\n", what, err->text);
    assert_int_equal(st, PGY_OK);
}

static inline void judging_sink(pgy_severity severity, const char *text, size_t size, void *user)
{
    (void)severity;
    (void)user;
    str_append_n(&judging_log, text, size);
}

/* From here on messages of at least this severity are kept in judging_log. */
static inline void judging_listen(int severity)
{
    str_deinit(&judging_log);
    judging_log = (str){0};
    pgy_log_set_sink(judging_sink, NULL);
    GOOD(pgy_log_set_severity(NULL, severity, &judging_error));
}

static inline void judging_stop(void)
{
    pgy_log_set_sink(NULL, NULL);
    str_deinit(&judging_log);
    judging_log = (str){0};
}

static inline void assert_logged(const char *text)
{
    if (!strstr(str_text(&judging_log), text))
        print_error("not logged: %s\nlog:\n%s\n", text, str_text(&judging_log));
    assert_non_null(strstr(str_text(&judging_log), text));
}

static inline void assert_not_logged(const char *text)
{
    assert_null(strstr(str_text(&judging_log), text));
}

static inline pgy_tensor *judging_tensor(pgy_dtype dtype, const void *data, size_t rank,
                                         const int64_t *shape)
{
    pgy_tensor *t = NULL;
    GOOD(pgy_tensor_create(&t, dtype, rank, shape, &judging_error));
    if (pgy_tensor_size_bytes(t)) memcpy(pgy_tensor_data(t), data, pgy_tensor_size_bytes(t));
    return t;
}

static inline pgy_iteration judging_iteration(const char *runner)
{
    pgy_iteration it = {.runner_name = (char *)runner, .runtime_s = NAN};
    GOOD(pgy_tensor_map_create(&it.outputs, &judging_error));
    return it;
}

static inline void judging_add(pgy_iteration *it, const char *output, pgy_dtype dtype,
                               const void *data, size_t rank, const int64_t *shape)
{
    GOOD(pgy_tensor_map_adopt(it->outputs, output, judging_tensor(dtype, data, rank, shape),
                              &judging_error));
}

/* Compares and returns the verdicts; *unmatched may be NULL. */
static inline pgy_verdicts *judging_compare(const pgy_compare_options *o, const pgy_iteration *a,
                                            const pgy_iteration *b, bool compat, size_t *unmatched)
{
    pgy_compare *c = NULL;
    pgy_verdicts *v = NULL;
    compare_gaps gaps = {0};
    GOOD(pgy_compare_create(&c, o, &judging_error));
    GOOD(verdicts_create(&v, &judging_error));
    GOOD(compare_iteration(v, &gaps, c, a, b, compat, &judging_error));
    if (unmatched) *unmatched = gaps.unmatched;
    compare_gaps_deinit(&gaps);
    pgy_compare_destroy(c);
    return v;
}

/* The verdict on one pair of one-dimensional arrays of n elements. */
static inline pgy_verdict judging_one(const pgy_compare_options *o, pgy_dtype a_dtype,
                                      const void *a, pgy_dtype b_dtype, const void *b, size_t n,
                                      bool compat)
{
    int64_t shape[] = {(int64_t)n};
    pgy_iteration x = judging_iteration("a"), y = judging_iteration("b");
    judging_add(&x, "o", a_dtype, a, 1, shape);
    judging_add(&y, "o", b_dtype, b, 1, shape);
    pgy_verdicts *list = judging_compare(o, &x, &y, compat, NULL);
    assert_int_equal(pgy_verdicts_count(list), 1);
    pgy_verdict v = *pgy_verdicts_at(list, 0);
    v.output = NULL;
    verdicts_destroy(list);
    pgy_tensor_map_destroy(x.outputs);
    pgy_tensor_map_destroy(y.outputs);
    return v;
}

static inline pgy_number judging_real(double v)
{
    return (pgy_number){.real = v};
}

/* The arrays of the golden values: multiples of powers of two made by a linear congruential
 * generator. */
static inline void judging_golden(float *a, float *b, size_t n)
{
    uint32_t s = 1;
    for (size_t i = 0; i < n; i++) {
        s = s * 1664525u + 1013904223u;
        a[i] = ((float)(s >> 8) * 0x1p-24f - 0.5f) * 8;
    }
    for (size_t i = 0; i < n; i++) {
        s = s * 1664525u + 1013904223u;
        b[i] = a[i] + ((float)(s >> 8) * 0x1p-24f - 0.5f) * 1e-3f;
    }
}

#endif
