/* SPDX-License-Identifier: Apache-2.0 */
/* Operators one by one with kernels: the same as by their definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "engine/program/interpret.h"
#include "harness/model_builder.h"

static pgy_tensor_map *feed_of(int64_t rows)
{
    pgy_tensor_map *feed = NULL;
    pgy_tensor *t = NULL;
    const int64_t shape[2] = {rows, 6};
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 2, shape, NULL), PGY_OK);
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        ((float *)pgy_tensor_data(t))[i] = (float)((i * 37) % 17) / 8 - 1;
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", t, NULL), PGY_OK);
    return feed;
}

static void expect_texts(const pgy_tensor *a, const pgy_tensor *b)
{
    const pgy_string *x = pgy_tensor_data(a), *y = pgy_tensor_data(b);
    for (size_t i = 0; i < pgy_tensor_count(a); i++) {
        assert_int_equal(x[i].size, y[i].size);
        assert_memory_equal(x[i].data, y[i].data, x[i].size);
    }
}

static void expect_close(const pgy_tensor_map *got, const pgy_tensor_map *wanted)
{
    assert_int_equal(pgy_tensor_map_count(got), pgy_tensor_map_count(wanted));
    for (size_t i = 0; i < pgy_tensor_map_count(wanted); i++) {
        const pgy_tensor *a = pgy_tensor_map_at(got, i), *b = pgy_tensor_map_at(wanted, i);
        assert_int_equal(pgy_tensor_dtype(a), pgy_tensor_dtype(b));
        assert_true(pgy_view_same_shape(pgy_tensor_view(a), pgy_tensor_view(b)));
        if (pgy_tensor_dtype(a) == PGY_STRING) {
            expect_texts(a, b);
            continue;
        }
        if (pgy_tensor_dtype(a) != PGY_F32) {
            assert_memory_equal(pgy_tensor_data(a), pgy_tensor_data(b), pgy_tensor_size_bytes(a));
            continue;
        }
        const float *x = pgy_tensor_data(a), *y = pgy_tensor_data(b);
        for (size_t k = 0; k < pgy_tensor_count(a); k++)
            assert_true(fabsf(x[k] - y[k]) <= 1e-4f * (1 + fabsf(y[k])));
    }
}

/* Both ways, at several shapes; how many nodes ran by a kernel. */
static uint64_t compare(pgy_model *model, team *t)
{
    pgy_graph *g = NULL;
    graph_plan plan = {0};
    interpreter *it = NULL;
    pgy_error err = {0};
    assert_int_equal(interpreter_create(&it, t, NULL), PGY_OK);
    assert_int_equal(pgy_graph_import(&g, model, &err), PGY_OK);
    assert_int_equal(plan_build(&plan, g, &err), PGY_OK);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_OK);
    for (int64_t rows = 1; rows < 40; rows = rows * 2 + 1) {
        const execute_limits by_definition = {0};
        const execute_limits by_kernels = {.operators = interpreter_operators(it)};
        pgy_tensor_map *feed = feed_of(rows), *wanted = NULL, *got = NULL;
        assert_int_equal(pgy_tensor_map_create(&wanted, NULL), PGY_OK);
        assert_int_equal(pgy_tensor_map_create(&got, NULL), PGY_OK);
        if (execute_graph(&plan, g, feed, wanted, false, &by_definition, &err))
            fail_msg("%s", err.text);
        if (execute_graph(&plan, g, feed, got, false, &by_kernels, &err)) fail_msg("%s", err.text);
        expect_close(got, wanted);
        pgy_tensor_map_destroy(feed);
        pgy_tensor_map_destroy(wanted);
        pgy_tensor_map_destroy(got);
    }
    const uint64_t runs = interpreter_kernel_runs(it);
    interpreter_destroy(it);
    pgy_graph_destroy(g);
    graph_plan_deinit(&plan);
    return runs;
}

static void test_interpret__shapes_that_depend_on_data(void **state)
{
    (void)state;
    static const int64_t flat[2] = {-1, 2}, zero[1] = {0};
    model_builder b = builder_start(17);
    team *t = NULL;
    builder_input(&b, "x", PGY_F32, "N, 6");
    builder_floats(&b, "w", "6, 6", NULL);
    builder_ints(&b, "flat", "2", flat);
    builder_ints(&b, "zero", "1", zero);
    builder_node(&b, "MatMul", "x w", "m");
    builder_node(&b, "Add", "m x", "a");
    builder_node(&b, "Relu", "a", "r");
    builder_node(&b, "NonZero", "r", "n"); /* [2, ?] */
    builder_node(&b, "Transpose", "n", "nt");
    builder_node(&b, "GatherND", "r nt", "g");
    builder_node(&b, "Unsqueeze", "g zero", "u");
    builder_node(&b, "Reshape", "a flat", "f");
    builder_output(&b, "n", PGY_I64, NULL);
    builder_output(&b, "u", PGY_F32, NULL);
    builder_output(&b, "f", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    assert_int_equal(team_create(&t, 2, NULL), PGY_OK);
    assert_true(compare(model, t) > 0);
    assert_true(compare(model, NULL) > 0);
    team_destroy(t);
    pgy_model_destroy(model);
}

static void test_interpret__bodies_of_loops_use_kernels(void **state)
{
    (void)state;
    static const int64_t count[1] = {3};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 6");
    builder_floats(&b, "w", "6, 6", NULL);
    builder_ints(&b, "count", "", count);
    model_builder body = builder_subgraph(&b, "body");
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "go", PGY_BOOL, "");
    builder_input(&body, "state", PGY_F32, NULL);
    builder_node(&body, "Identity", "go", "go_on");
    builder_node(&body, "MatMul", "state w", "product");
    builder_node(&body, "Tanh", "product", "next");
    builder_output(&body, "go_on", PGY_BOOL, "");
    builder_output(&body, "next", PGY_F32, NULL);
    builder_output(&body, "product", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(&b, "Loop", "count - x", "last all");
    builder_attr_graph(&b, n, "body", &body);
    builder_output(&b, "last", PGY_F32, NULL);
    builder_output(&b, "all", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    assert_true(compare(model, NULL) >= 3);
    pgy_model_destroy(model);
}

static void put_texts(model_builder *b, const char *name, const char *const *texts, int64_t count)
{
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, PGY_STRING, 1, &count, NULL), PGY_OK);
    for (size_t i = 0; i < (size_t)count; i++)
        assert_int_equal(pgy_tensor_set_string(t, i, texts[i], strlen(texts[i]), NULL), PGY_OK);
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
}

/* What classifiers end in: labels that are texts, and maps, also of labels that are not in order or
 * occur twice. */
static void test_interpret__labels_and_maps(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {"f", "", "dd", "c", "b", "a"}, *const LABELS[] = {
                                                                           "c", "a", "dd",
                                                                           "a", "",  "b"};
    static const int64_t ORDER[] = {1, 2, 3, 4, 5, 6}, BACK[] = {-6};
    model_builder b = builder_start(17);
    builder_opset(&b, "ai.onnx.ml", 1);
    builder_input(&b, "x", PGY_F32, "N, 6");
    builder_ints(&b, "back", "1", BACK);
    put_texts(&b, "texts", TEXTS, 6);
    pgy_onnx_node *best = builder_node(&b, "ArgMax", "x", "place");
    builder_attr_int(&b, best, "axis", 1);
    builder_attr_int(&b, best, "keepdims", 0);
    builder_node(&b, "Add", "place back", "from_end");
    builder_node(&b, "Relu", "x", "r");
    builder_node(&b, "Gather", "texts place", "label");
    builder_node(&b, "Gather", "texts from_end", "same");
    pgy_onnx_node *ints = builder_node(&b, "ai.onnx.ml:ZipMap", "r", "numbered");
    builder_attr_ints(&b, ints, "classlabels_int64s", 6, ORDER);
    pgy_onnx_node *names = builder_node(&b, "ai.onnx.ml:ZipMap", "r", "named");
    builder_attr_strings(&b, names, "classlabels_strings", 6, LABELS);
    builder_output(&b, "label", PGY_STRING, NULL);
    builder_output(&b, "same", PGY_STRING, NULL);
    builder_output(&b, "numbered", PGY_DTYPE_NONE, NULL);
    builder_output(&b, "named", PGY_DTYPE_NONE, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    assert_true(compare(model, NULL) > 0);
    pgy_model_destroy(model);
}

/* Operators on texts, which keep what they made of their attributes from run to run: each node its
 * own. */
static void test_interpret__texts(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {"ab 12", "", "12", "b", "a-b 3", "\xc3\xa9"};
    static const char *const BLANKS[] = {" +", "-"};
    model_builder b = builder_start(20);
    builder_opset(&b, "com.microsoft", 1);
    builder_input(&b, "x", PGY_F32, "N, 6");
    put_texts(&b, "texts", TEXTS, 6);
    pgy_onnx_node *best = builder_node(&b, "ArgMax", "x", "place");
    builder_attr_int(&b, best, "axis", 1);
    builder_attr_int(&b, best, "keepdims", 0);
    builder_node(&b, "Gather", "texts place", "text");
    builder_attr_string(&b, builder_node(&b, "RegexFullMatch", "text", "digits"), "pattern",
                        "[0-9]+");
    builder_attr_string(&b, builder_node(&b, "RegexFullMatch", "text", "words"), "pattern", "\\w*");
    pgy_onnx_node *cut = builder_node(&b, "com.microsoft:Tokenizer", "text", "tokens");
    builder_attr_int(&b, cut, "mark", 1);
    builder_attr_int(&b, cut, "mincharnum", 1);
    builder_attr_string(&b, cut, "pad_value", "#");
    builder_attr_strings(&b, cut, "separators", 2, BLANKS);
    builder_node(&b, "StringSplit", "text", "parts counts");
    builder_output(&b, "digits", PGY_BOOL, NULL);
    builder_output(&b, "words", PGY_BOOL, NULL);
    builder_output(&b, "tokens", PGY_STRING, NULL);
    builder_output(&b, "parts", PGY_STRING, NULL);
    builder_output(&b, "counts", PGY_I64, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    compare(model, NULL);
    pgy_model_destroy(model);
}
