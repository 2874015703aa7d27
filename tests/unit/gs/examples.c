/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of examples/gs: the models they write are those that onnx-graphsurgeon writes for
 * the same work (tests/data/gs, made by tests/parity/gs_cases.py), and compute what they should. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "evaluate/execute.h"
#include "harness/gs_text.h"
#include "harness/test_folder.h"

enum { MODELS = 4, PATH_SIZE = TEST_PATH_SIZE + 32 };

typedef struct written {
    char folder[TEST_PATH_SIZE];
    pgy_model *models[MODELS];
    size_t count;
} written;

static void path_of(char *out, size_t size, const written *w, size_t i)
{
    snprintf(out, size, "%s/%zu.onnx", w->folder, i + 1);
}

static void compare_text(pgy_model *model, const char *name, size_t i)
{
    char path[512];
    str golden = {0};
    snprintf(path, sizeof path, TEST_SOURCE_DIR "/tests/data/gs/%s.%zu.txt", name, i + 1);
    assert_int_equal(file_read(&golden, path, NULL), PGY_OK);
    char *text = gs_model_text(model);
    assert_non_null(text);
    if (strcmp(text, str_text(&golden)) != 0)
        print_message("%s, model %zu is\n%sinstead of\n%s", name, i + 1, text, str_text(&golden));
    assert_string_equal(text, str_text(&golden));
    pgy_text_free(text);
    str_deinit(&golden);
}

/* Runs the program and compares all that it writes. */
static written run_example(const char *name, size_t count)
{
    written w = {.count = count};
    str command = {0};
    char path[PATH_SIZE];
    test_path(w.folder, "gs_XXXXXX");
    assert_non_null(mkdtemp(w.folder));
    str_printf(&command, "'%s/examples/gs/%s'", TEST_BINARY_DIR, name);
    for (size_t i = 0; i < count; i++) {
        path_of(path, sizeof path, &w, i);
        str_printf(&command, " %s", path);
    }
    str_append(&command, " > /dev/null");
    assert_int_equal(system(str_text(&command)), 0);
    for (size_t i = 0; i < count; i++) {
        pgy_error err = {0};
        path_of(path, sizeof path, &w, i);
        if (pgy_model_load(&w.models[i], path, NULL, &err)) fail_msg("%s", err.text);
        compare_text(w.models[i], name, i);
    }
    str_deinit(&command);
    return w;
}

static void discard(written *w)
{
    for (size_t i = 0; i < w->count; i++) {
        char path[PATH_SIZE];
        path_of(path, sizeof path, w, i);
        pgy_model_destroy(w->models[i]);
        unlink(path);
    }
    rmdir(w->folder);
}

static void check(const char *name, size_t count)
{
    written w = run_example(name, count);
    discard(&w);
}

/* Output `index` of a model whose only used input is of this shape and x everywhere. */
static pgy_tensor *compute(pgy_model *model, float x, size_t rank, const int64_t *shape,
                           size_t index)
{
    pgy_graph *g = NULL;
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_tensor *t = NULL;
    graph_plan plan = {0};
    const execute_limits limits = {0};
    pgy_error err = {0};
    pgy_status st = pgy_graph_import(&g, model, &err);
    if (!st) st = plan_build(&plan, g, &err);
    if (!st) st = pgy_tensor_map_create(&feed, &err);
    if (!st) st = pgy_tensor_map_create(&out, &err);
    if (!st) st = pgy_tensor_create(&t, PGY_F32, rank, shape, &err);
    for (size_t i = 0; !st && i < pgy_tensor_count(t); i++) ((float *)pgy_tensor_data(t))[i] = x;
    for (size_t i = 0; !st && i < g->input_count; i++)
        st = pgy_tensor_map_set(feed, g->inputs[i]->name, t, &err);
    if (!st) st = execute_graph(&plan, g, feed, out, false, &limits, &err);
    if (st) fail_msg("%s", err.text);
    pgy_tensor *result = pgy_tensor_retain(pgy_tensor_map_at(out, index));
    pgy_tensor_release(t);
    pgy_tensor_map_destroy(out);
    pgy_tensor_map_destroy(feed);
    pgy_graph_destroy(g);
    graph_plan_deinit(&plan);
    return result;
}

/* A model of one image gives y everywhere for x everywhere. */
static void assert_gives(pgy_model *model, float x, float y)
{
    pgy_tensor *t = compute(model, x, 4, (int64_t[]){2, 3, 64, 64}, 0);
    const float *values = pgy_tensor_data(t);
    assert_int_equal(pgy_tensor_count(t), 2 * 3 * 64 * 64);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) assert_float_equal(values[i], y, 1e-6);
    pgy_tensor_release(t);
}

static void test_examples__build_a_model(void **state)
{
    (void)state;
    written w = run_example("01_build_a_model", 1);
    pgy_tensor *t = compute(w.models[0], 1, 4, (int64_t[]){1, 3, 64, 64}, 0);
    const float *y = pgy_tensor_data(t);
    assert_int_equal(pgy_tensor_count(t), 64 * 64);
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < 64; k++) {
            const int sides = (i == 0 || i == 63) + (k == 0 || k == 63);
            assert_float_equal(y[64 * i + k], sides == 0 ? 28 : sides == 1 ? 19 : 13, 1e-6);
        }
    pgy_tensor_release(t);
    discard(&w);
}

static void test_examples__insert_a_node(void **state)
{
    (void)state;
    written w = run_example("02_insert_a_node", 2);
    assert_gives(w.models[0], 3, 3);
    assert_gives(w.models[1], 3, 4);
    discard(&w);
}

static void test_examples__remove_a_node(void **state)
{
    (void)state;
    written w = run_example("03_remove_a_node", 2);
    assert_gives(w.models[0], 3, 4);
    assert_gives(w.models[1], 3, 3);
    discard(&w);
}

static void test_examples__replace_a_node(void **state)
{
    (void)state;
    written w = run_example("04_replace_a_node", 3);
    assert_gives(w.models[0], 3, 4);
    assert_gives(w.models[1], 3, 2);
    assert_gives(w.models[2], 3, 2);
    discard(&w);
}

static void test_examples__walk_a_graph(void **state)
{
    (void)state;
    written w = run_example("03_remove_a_node", 2);
    str command = {0}, golden = {0}, printed = {0};
    char path[PATH_SIZE];
    str_printf(&command, "'%s/examples/gs/05_walk_a_graph' %s/2.onnx > %s/walk.txt",
               TEST_BINARY_DIR, w.folder, w.folder);
    assert_int_equal(system(str_text(&command)), 0);
    snprintf(path, sizeof path, "%s/walk.txt", w.folder);
    assert_int_equal(file_read(&printed, path, NULL), PGY_OK);
    assert_int_equal(
        file_read(&golden, TEST_SOURCE_DIR "/tests/data/gs/05_walk_a_graph.printed", NULL), PGY_OK);
    assert_string_equal(str_text(&printed), str_text(&golden));
    unlink(path);
    str_deinit(&command);
    str_deinit(&golden);
    str_deinit(&printed);
    discard(&w);
}

static void test_examples__fold_clean_sort(void **state)
{
    (void)state;
    written w = run_example("06_fold_clean_sort", 4);
    assert_gives(w.models[3], 3, 7);
    discard(&w);
}

static void test_examples__simplify_shapes(void **state)
{
    (void)state;
    written w = run_example("07_simplify_shapes", 4);
    for (size_t i = 0; i < 3; i++) {
        const int64_t shape[] = {2, 3, 4, 5};
        pgy_tensor *flat = compute(w.models[i], 1, 4, shape, 0);
        pgy_tensor *partly = compute(w.models[i], 1, 4, shape, 1);
        assert_int_equal(pgy_tensor_rank(flat), 1);
        assert_int_equal(pgy_tensor_shape(flat)[0], 120);
        assert_int_equal(pgy_tensor_rank(partly), 3);
        assert_int_equal(pgy_tensor_shape(partly)[2], 20);
        pgy_tensor_release(partly);
        pgy_tensor_release(flat);
    }
    discard(&w);
}

static void test_examples__isolate_a_subgraph(void **state)
{
    (void)state;
    written w = run_example("08_isolate_a_subgraph", 2);
    assert_gives(w.models[1], 3, 4);
    discard(&w);
}

static void test_examples__build_with_operations(void **state)
{
    (void)state;
    static const float PAIRS[][2] = {{0, 0.5f}, {0.01f, 1.14f}, {1, 3}, {-1, 0}};
    written w = run_example("09_build_with_operations", 2);
    for (size_t m = 0; m < 2; m++)
        for (size_t i = 0; i < 4; i++) {
            pgy_tensor *t = compute(w.models[m], PAIRS[i][0], 2, (int64_t[]){64, 64}, 0);
            for (size_t k = 0; k < 64 * 64; k++)
                assert_float_equal(((const float *)pgy_tensor_data(t))[k], PAIRS[i][1], 1e-5);
            pgy_tensor_release(t);
        }
    discard(&w);
}

static void test_examples__own_cases(void **state)
{
    (void)state;
    check("10_create_a_model", 1);
    check("11_create_with_weights", 1);
    check("12_isolate_between_tensors", 2);
    check("13_modify", 2);
    check("14_fold_constants", 2);
    check("15_remove_an_unknown_node", 2);
}

static void test_examples__layers(void **state)
{
    (void)state;
    check("16_layers", 1);
    check("17_replace_a_region", 2);
    check("18_shape_operations", 1);
}

static void test_examples__dynamic_batch(void **state)
{
    (void)state;
    written w = run_example("19_dynamic_batch", 2);
    pgy_tensor *t = compute(w.models[1], 1, 4, (int64_t[]){2, 3, 28, 28}, 0);
    assert_int_equal(pgy_tensor_shape(t)[0], 2);
    pgy_tensor_release(t);
    discard(&w);
}

static void test_examples__local_function(void **state)
{
    (void)state;
    check("20_local_function", 1);
}

static void test_examples__low_precision_weights(void **state)
{
    (void)state;
    written w = run_example("21_low_precision_weights", 2);
    static const unsigned char BYTES[][2] = {{0x00, 0x3F}, {0x30, 0x30}};
    for (size_t i = 0; i < 2; i++) {
        const pgy_onnx_tensor *weight = pgy_model_proto(w.models[i])->graph->initializers[0];
        assert_int_equal(weight->data_type, i ? 17 : 16);
        assert_memory_equal(weight->raw_data.data, BYTES[i], 2);
    }
    discard(&w);
}
