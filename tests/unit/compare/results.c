/* SPDX-License-Identifier: Apache-2.0 */
/* Results in files and folders: the original's bytes, its older markers, streams, and what is
 * refused. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <polygraphy/compare.h>

#include "base/alloc.h"
#include "base/file.h"

#define GOLDEN TEST_SOURCE_DIR "/tests/data/golden/"
#define WRITTEN TEST_BINARY_DIR "/pgy_results_written.json"
#define FOLDER TEST_BINARY_DIR "/pgy_results_folder"

static pgy_results *load(const char *path)
{
    pgy_error err = {0};
    pgy_results *r = NULL;
    if (pgy_results_load(&r, path, &err)) fail_msg("%s", err.text);
    return r;
}

static void assert_same_bytes(const char *a, const char *b)
{
    str x = {0}, y = {0};
    assert_int_equal(file_read(&x, a, NULL), PGY_OK);
    assert_int_equal(file_read(&y, b, NULL), PGY_OK);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    str_deinit(&x);
    str_deinit(&y);
}

static void test_results__same_bytes_as_the_original(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_results *r = load(GOLDEN "results.json");
    if (pgy_results_save(r, WRITTEN, &err)) fail_msg("%s", err.text);
    assert_same_bytes(WRITTEN, GOLDEN "results.json");
    pgy_results_destroy(r);
    unlink(WRITTEN);
}

static void test_results__contents_of_the_original(void **state)
{
    (void)state;
    pgy_results *r = load(GOLDEN "results.json");
    assert_int_equal(pgy_results_runner_count(r), 2);
    assert_string_equal(pgy_results_runner_name(r, 0), "onnxrt-runner-N0-07/07/26-14:42:10");
    assert_string_equal(pgy_results_runner_name(r, 1),
                        "quote \" backslash \\ \xc3\xbc \xf0\x9f\x98\x80");
    assert_int_equal(pgy_results_iteration_count(r, 0), 2);
    const pgy_iteration *first = pgy_results_at(r, 0, 0), *empty = pgy_results_at(r, 0, 1),
                        *other = pgy_results_at(r, 1, 0);
    assert_true(first->runtime_s == 0.00029540061950683594);
    assert_string_equal(first->runner_name, "a");
    assert_true(isnan(empty->runtime_s));
    assert_int_equal(pgy_tensor_map_count(empty->outputs), 0);
    assert_int_equal(pgy_tensor_map_count(first->outputs), 11);
    for (size_t i = 0; i < 11; i++) {
        const pgy_tensor *t = pgy_tensor_map_at(first->outputs, i);
        double got[6];
        int64_t shape[] = {2, 3};
        assert_string_equal(pgy_dtype_name(pgy_tensor_dtype(t)),
                            pgy_tensor_map_name(first->outputs, i));
        assert_int_equal(
            pgy_view_convert(pgy_view_of(got, PGY_F64, 2, shape), pgy_tensor_view(t), false, NULL),
            PGY_OK);
        assert_memory_equal(got, ((double[]){0, 1, 2, 3, 4, 100}), sizeof got);
    }
    assert_memory_equal(pgy_tensor_data(pgy_tensor_map_find(other->outputs, "bools")), "\1\0\1", 3);
    const pgy_string *text = pgy_tensor_data(pgy_tensor_map_find(other->outputs, "text"));
    assert_memory_equal(text[2].data, "\xc3\xa9\xf0\x9f\x98\x80", 6);
    pgy_results_destroy(r);
}

static void test_results__older_markers(void **state)
{
    (void)state;
    pgy_results *r = load(GOLDEN "legacy_results.json");
    assert_string_equal(pgy_results_runner_name(r, 0), "old");
    const pgy_iteration *it = pgy_results_at(r, 0, 0);
    assert_true(it->runtime_s == 0.25);
    assert_memory_equal(pgy_tensor_data(pgy_tensor_map_find(it->outputs, "y")), ((float[]){1, 2}),
                        8);
    pgy_results_destroy(r);
}

static void test_results__reader_and_writer_by_iteration(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_results_reader *reader = NULL;
    pgy_results_writer *writer = NULL;
    pgy_results *part = NULL;
    size_t iterations = 0;
    assert_int_equal(pgy_results_reader_open(&reader, GOLDEN "results.json", &err), PGY_OK);
    assert_int_equal(pgy_results_writer_create(&writer, WRITTEN, &err), PGY_OK);
    for (;;) {
        if (pgy_results_reader_next(&part, reader, &err)) fail_msg("%s", err.text);
        if (!part) break;
        assert_int_equal(pgy_results_runner_count(part), 2);
        assert_int_equal(pgy_results_iteration_count(part, 0), 1);
        assert_int_equal(pgy_results_iteration_count(part, 1), iterations == 0); /* it has one */
        assert_int_equal(pgy_results_writer_add(writer, part, &err), PGY_OK);
        pgy_results_destroy(part);
        iterations++;
    }
    assert_int_equal(iterations, 2);
    if (pgy_results_writer_finish(writer, &err)) fail_msg("%s", err.text);
    pgy_results_writer_destroy(writer);
    pgy_results_reader_close(reader);
    assert_same_bytes(WRITTEN, GOLDEN "results.json");
    unlink(WRITTEN);
}

/* A runner with fewer iterations keeps its place in a folder of iterations. */
static void test_results__runners_of_a_folder_stay_apart(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_results *r = NULL, *back = NULL;
    const char *folder = TEST_BINARY_DIR "/test-results-folder";
    float v = 1;
    assert_int_equal(pgy_results_create(&r, &err), PGY_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pgy_results_add_runner(r, i == 1 ? "B" : "A", NULL, &err), PGY_OK);
    for (size_t i = 0; i < 5; i++) { /* one of A, two of B, two of the other A */
        pgy_tensor_map *m = NULL;
        pgy_tensor *t = NULL;
        assert_int_equal(pgy_tensor_map_create(&m, &err), PGY_OK);
        assert_int_equal(pgy_tensor_create(&t, PGY_F32, 0, NULL, &err), PGY_OK);
        memcpy(pgy_tensor_data(t), &v, sizeof v);
        assert_int_equal(pgy_tensor_map_adopt(m, "y", t, &err), PGY_OK);
        assert_int_equal(pgy_results_add(r, (i + 1) / 2, m, 1, &err), PGY_OK);
        pgy_tensor_map_destroy(m);
    }
    if (pgy_results_save(r, folder, &err)) fail_msg("%s", err.text);
    if (pgy_results_load(&back, folder, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_results_runner_count(back), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(pgy_results_runner_name(back, i), pgy_results_runner_name(r, i));
        assert_int_equal(pgy_results_iteration_count(back, i), i ? 2 : 1);
    }
    pgy_results_destroy(r);
    pgy_results_destroy(back);
    unlink(TEST_BINARY_DIR "/test-results-folder/0000000000.json");
    unlink(TEST_BINARY_DIR "/test-results-folder/0000000001.json");
    rmdir(folder);
}

/* Nothing half-written: without finish there is no file, and its parts are gone. */
static void test_results__writer_without_finish_leaves_nothing(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_results_writer *writer = NULL;
    pgy_results *r = load(GOLDEN "results.json");
    strvec before = {0}, after = {0};
    const char *folder = TEST_BINARY_DIR "/test-results-parts";
    assert_int_equal(file_make_dirs(folder, &err), PGY_OK);
    setenv("TMPDIR", folder, 1);
    assert_int_equal(pgy_results_writer_create(&writer, WRITTEN, &err), PGY_OK);
    assert_int_equal(pgy_results_writer_add(writer, r, &err), PGY_OK);
    assert_int_equal(file_list_dir(&before, folder, NULL, &err), PGY_OK);
    assert_int_equal(before.count, 1); /* the second of two runners */
    pgy_results_writer_destroy(writer);
    unsetenv("TMPDIR");
    assert_int_equal(file_list_dir(&after, folder, NULL, &err), PGY_OK);
    assert_int_equal(after.count, 0);
    assert_false(file_exists(WRITTEN));
    strvec_deinit(&before);
    strvec_deinit(&after);
    rmdir(folder);
    pgy_results_destroy(r);
}

static void test_results__folder_of_iterations(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_results *r = load(GOLDEN "results.json");
    if (pgy_results_save(r, FOLDER, &err)) fail_msg("%s", err.text);
    pgy_results_destroy(r);
    assert_true(file_exists(FOLDER "/0000000000.json"));
    assert_true(file_exists(FOLDER "/0000000001.json"));
    r = load(FOLDER);
    assert_int_equal(pgy_results_save(r, WRITTEN, &err), PGY_OK);
    assert_same_bytes(WRITTEN, GOLDEN "results.json");
    assert_int_equal(pgy_results_save(r, FOLDER, &err), PGY_E_ARGUMENT); /* not empty */
    pgy_results_destroy(r);
    unlink(WRITTEN);
    unlink(FOLDER "/0000000000.json");
    unlink(FOLDER "/0000000001.json");
    r = load(FOLDER);
    assert_int_equal(pgy_results_runner_count(r), 0);
    pgy_results_destroy(r);
    rmdir(FOLDER);
}

static void test_results__equal_names_stay_apart(void **state)
{
    (void)state;
    pgy_results *r = NULL;
    pgy_tensor_map *m = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_results_create(&r, &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&m, &err), PGY_OK);
    for (size_t i = 0; i < 2; i++) {
        size_t runner;
        assert_int_equal(pgy_results_add_runner(r, "same", &runner, &err), PGY_OK);
        assert_int_equal(runner, i);
        assert_int_equal(pgy_results_add(r, runner, m, (double)i, &err), PGY_OK);
    }
    pgy_tensor_map_destroy(m);
    assert_int_equal(pgy_results_save(r, WRITTEN, &err), PGY_OK);
    pgy_results_destroy(r);
    r = load(WRITTEN);
    assert_int_equal(pgy_results_runner_count(r), 2);
    assert_true(pgy_results_at(r, 1, 0)->runtime_s == 1);
    pgy_results_destroy(r);
    unlink(WRITTEN);
}

static void assert_refused(const char *text, const char *expected)
{
    pgy_error err = {0};
    pgy_results *r = NULL;
    assert_int_equal(file_write_all(WRITTEN, text, strlen(text), NULL), PGY_OK);
    assert_int_equal(pgy_results_load(&r, WRITTEN, &err), PGY_E_FORMAT);
    assert_null(r);
    if (!strstr(err.text, expected))
        fail_msg("'%s' lacks '%s' for %.80s", err.text, expected, text);
    if (!strstr(err.text, WRITTEN)) fail_msg("'%s' does not name the file", err.text);
    unlink(WRITTEN);
}

#define RESULTS(lst) "{\"lst\": " lst ", \"polygraphy_class\": \"RunResults\"}"
#define ITERATION(body) \
    RESULTS("[[\"r\", [{" body ", \"polygraphy_class\": \"IterationResult\"}]]]")

static void test_results__malformed_files_are_refused(void **state)
{
    (void)state;
    assert_refused("", "line 1");
    assert_refused("{\"lst\": [", "line 1");
    assert_refused("[]", "JSON cannot be decoded into 'RunResults'");
    assert_refused("{\"polygraphy_class\": \"TacticReplayData\"}",
                   "JSON cannot be decoded into 'RunResults'");
    assert_refused("{\"polygraphy_class\": \"Unheard\"}",
                   "Could not decode serialized type: Unheard");
    assert_refused("{\"polygraphy_class\": \"RunResults\"}", "expected a list 'lst'");
    assert_refused(RESULTS("3"), "expected a list 'lst'");
    assert_refused(RESULTS("[3]"), "expected [runner name, [iterations]]");
    assert_refused(RESULTS("[[\"r\"]]"), "expected [runner name, [iterations]]");
    assert_refused(RESULTS("[[3, []]]"), "expected [runner name, [iterations]]");
    assert_refused(RESULTS("[[\"r\", [3]]]"), "JSON cannot be decoded into 'IterationResult'");
    assert_refused(ITERATION("\"outputs\": {}, \"runtime\": null"),
                   "expected 'outputs', 'runtime' and 'runner_name'");
    assert_refused(ITERATION("\"outputs\": [], \"runtime\": null, \"runner_name\": \"r\""),
                   "expected 'outputs'");
    assert_refused(ITERATION("\"outputs\": {}, \"runtime\": \"x\", \"runner_name\": \"r\""),
                   "neither a number nor null");
    assert_refused(ITERATION("\"outputs\": {\"y\": 3}, \"runtime\": 1, \"runner_name\": \"r\""),
                   "output 'y'");
}

static void test_results__every_cut_of_a_file_is_refused(void **state)
{
    (void)state;
    str whole = {0};
    assert_int_equal(file_read(&whole, GOLDEN "legacy_results.json", NULL), PGY_OK);
    for (size_t size = 0; size < whole.size; size += 7) {
        pgy_results *r = NULL;
        assert_int_equal(file_write_all(WRITTEN, whole.data, size, NULL), PGY_OK);
        assert_int_equal(pgy_results_load(&r, WRITTEN, NULL), PGY_E_FORMAT);
    }
    str_deinit(&whole);
    unlink(WRITTEN);
}

/* ---- Memory ---- */

static bool survives(uint64_t n)
{
    pgy_results *r = NULL;
    pgy_error err = {0};
    mem_fail_nth(n);
    pgy_status st = pgy_results_load(&r, GOLDEN "results.json", &err);
    if (!st) st = pgy_results_save(r, WRITTEN, &err);
    if (!st) st = pgy_results_save(r, FOLDER, &err);
    mem_fail_nth(0);
    pgy_results_destroy(r);
    unlink(FOLDER "/0000000000.json");
    unlink(FOLDER "/0000000001.json");
    if (st && st != PGY_E_MEMORY) fail_msg("allocation %d: %s", (int)n, err.text);
    return st == PGY_OK;
}

static void test_results__refused_memory_is_an_error(void **state)
{
    (void)state;
    if (!mem_fail_nth(0)) skip();
    size_t in_a_row = 0;
    for (uint64_t n = 1; in_a_row < 20; n++) {
        assert_true(n < 20000);
        in_a_row = survives(n) ? in_a_row + 1 : 0;
    }
    unlink(WRITTEN);
    rmdir(FOLDER);
}
