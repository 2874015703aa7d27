/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "perf/perf.h"

static char *path;

static void write_text(const char *text)
{
    pgy_error err = {0};
    if (!path) assert_int_equal(file_temp_path(&path, ".json", &err), PGY_OK);
    assert_int_equal(file_write_all(path, text, strlen(text), &err), PGY_OK);
}

static void test_times__written_and_read_back(void **state)
{
    static const pgy_perf_run RUNS[] = {{0.1, 0.2, 0.05, 0.1, 0.1, 0.3, 0.3, 1.0 / 3},
                                        {1.1, 1.2, 1.05, 1.1, 1.1, 1.3, 1.3, 4.0 / 3}};
    pgy_perf_trace *t = NULL, *back = NULL;
    pgy_error err = {0};
    (void)state;
    write_text("");
    assert_int_equal(pgy_perf_trace_create(&t, RUNS, 2, &err), PGY_OK);
    assert_int_equal(pgy_perf_times_save(path, t, &err), PGY_OK);
    assert_int_equal(pgy_perf_times_load(&back, path, &err), PGY_OK);
    assert_int_equal(pgy_perf_trace_count(back), 2);
    for (size_t i = 0; i < 2; i++)
        assert_memory_equal(pgy_perf_trace_at(back, i), &RUNS[i], sizeof RUNS[i]);
    pgy_perf_trace_destroy(t);
    pgy_perf_trace_destroy(back);
}

static void test_times__reads_the_keys_before_8_4(void **state)
{
    pgy_perf_trace *t = NULL;
    pgy_error err = {0};
    (void)state;
    write_text("[{\"startInMs\": 1, \"endInMs\": 2, \"startComputeMs\": 2, \"endComputeMs\": 5.5, "
               "\"startOutMs\": 6, \"endOutMs\": 7, \"inMs\": 1, \"computeMs\": 3.5, \"outMs\": 1, "
               "\"latencyMs\": 5.5, \"endToEndMs\": 6}]");
    assert_int_equal(pgy_perf_times_load(&t, path, &err), PGY_OK);
    assert_true(pgy_perf_time(pgy_perf_trace_at(t, 0), PGY_PERF_LATENCY) == 5.5);
    assert_true(pgy_perf_time(pgy_perf_trace_at(t, 0), PGY_PERF_ENQUEUE) == 3.5);
    pgy_perf_trace_destroy(t);
}

static void test_times__refuses_other_files(void **state)
{
    static const char *const TEXTS[] = {"", "{}", "[1]", "[{}]", "[{\"startH2dMs\": \"x\"}]", "[{"};
    pgy_perf_trace *t = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        pgy_error err = {0};
        write_text(TEXTS[i]);
        assert_int_equal(pgy_perf_times_load(&t, path, &err), PGY_E_FORMAT);
        assert_non_null(strstr(err.text, path));
    }
}

static void test_times__outputs_with_nan_are_json(void **state)
{
    const int64_t shape[] = {1, 4};
    float values[] = {NAN, INFINITY, -INFINITY, 0.1F};
    int8_t bytes[] = {-128, 127, 0, 5};
    pgy_tensor_map *m = NULL, *back = NULL;
    pgy_tensor *t = NULL;
    pgy_error err = {0};
    str text = {0};
    (void)state;
    write_text("");
    assert_int_equal(pgy_tensor_map_create(&m, &err), PGY_OK);
    assert_int_equal(pgy_tensor_copy(&t, pgy_view_of(values, PGY_F32, 2, (int64_t *)shape), &err),
                     PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(m, "y:0", t, &err), PGY_OK);
    assert_int_equal(pgy_tensor_copy(&t, pgy_view_of(bytes, PGY_I8, 2, (int64_t *)shape), &err),
                     PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(m, "q\"", t, &err), PGY_OK);
    assert_int_equal(pgy_perf_outputs_save(path, m, &err), PGY_OK);
    assert_int_equal(file_read(&text, path, &err), PGY_OK);
    assert_non_null(strstr(str_text(&text), "\"NaN\""));
    assert_non_null(strstr(str_text(&text), "\"1x4\""));
    assert_int_equal(pgy_perf_outputs_load(&back, path, &err), PGY_OK);
    assert_memory_equal((float *)pgy_tensor_data(pgy_tensor_map_at(back, 0)) + 1, values + 1, 12);
    assert_true(isnan(*(float *)pgy_tensor_data(pgy_tensor_map_at(back, 0))));
    assert_memory_equal(pgy_tensor_data(pgy_tensor_map_find(back, "q\"")), bytes, 4);
    str_deinit(&text);
    pgy_tensor_map_destroy(m);
    pgy_tensor_map_destroy(back);
    file_temp_release(path);
    path = NULL;
}

static void test_times__outputs_of_uint64_are_exact(void **state)
{
    const uint64_t values[] = {0, 9007199254740993, UINT64_MAX};
    pgy_tensor_map *m = NULL;
    pgy_error err = {0};
    (void)state;
    write_text("[{\"name\": \"u\", \"dimensions\": \"3\", \"dtype\": \"uint64\", "
               "\"values\": [0, 9007199254740993, 18446744073709551615]}]");
    assert_int_equal(pgy_perf_outputs_load(&m, path, &err), PGY_OK);
    assert_memory_equal(pgy_tensor_data(pgy_tensor_map_find(m, "u")), values, sizeof values);
    pgy_tensor_map_destroy(m);
    file_temp_release(path);
    path = NULL;
}

/* An error, before memory is taken for what the dimensions say. */
static void test_times__outputs_that_are_refused(void **state)
{
    static const struct refused {
        const char *dimensions, *type, *values, *text;
    } REFUSED[] = {
        {"1000000000x1000", "float32", "[1]",
         "has 1 values, but its dimensions need 1000000000000"},
        {"4000000000x4000000000", "int8", "[1]", "shape"},
        {"1", "complex64", "[1]", "type 'complex64'"},
        {"1", "uint64", "[-1]", "value 0 of 'u' is not an integer"},
        {"1", "uint64", "[18446744073709551616]", "value 0 of 'u' is not an integer"},
        {"1", "int8", "[1.5]", "value 0 of 'u' is not an integer"},
        {"2", "int8", "[-128, 128]", "value 1 of 'u' is 128, which int8 cannot hold"},
        {"1", "bool", "[2]", "value 0 of 'u' is 2, which bool cannot hold"},
        {"1x", "float32", "[1]", "bad dimensions '1x'"},
        {"scalars", "float32", "[1]", "bad dimensions 'scalars'"},
        {"1", "float32", "[\"nan\"]", "value 0 of 'u' is not a number"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        const struct refused *r = &REFUSED[i];
        char text[256];
        pgy_tensor_map *m = NULL;
        pgy_error err = {0};
        snprintf(text, sizeof text,
                 "[{\"name\": \"u\", \"dimensions\": \"%s\", \"dtype\": \"%s\", \"values\": %s}]",
                 r->dimensions, r->type, r->values);
        write_text(text);
        assert_int_not_equal(pgy_perf_outputs_load(&m, path, &err), PGY_OK);
        assert_null(m);
        assert_non_null(strstr(err.text, path));
        if (!strstr(err.text, r->text)) fail_msg("%s", err.text);
    }
    file_temp_release(path);
    path = NULL;
}
