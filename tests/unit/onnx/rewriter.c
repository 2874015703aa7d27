/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a model with four weights of 80 KB are saved one after the other. */
#include "onnx_test.h"

#include "harness/model_builder.h"
#include "onnx/rewriter.h"

enum { WEIGHTS = 4, COUNT = 20000, WEIGHT_BYTES = COUNT * 4 };

static pgy_model *make_whole(void)
{
    model_builder b = builder_start(17);
    float values[COUNT];
    pgy_model *whole = NULL, *built;
    builder_input(&b, "x", PGY_F32, "20000");
    for (int i = 0; i < WEIGHTS; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        for (int k = 0; k < COUNT; k++) values[k] = (float)(i * COUNT + k);
        builder_floats(&b, name, "20000", values);
    }
    builder_node(&b, "Sum", "x a b c d", "y");
    builder_output(&b, "y", PGY_F32, "20000");
    built = builder_finish(&b);
    OK(pgy_model_save(built, scratch("whole.onnx"), NULL, &test_err));
    pgy_model_destroy(built);
    OK(pgy_model_load(&whole, scratch("whole.onnx"), NULL, &test_err));
    return whole;
}

/* The whole model with these of its weights, in this order. */
static pgy_model *make_part(pgy_model *whole, const char *names)
{
    pgy_model *part = NULL;
    OK(pgy_model_create(&part, &test_err));
    pgy_onnx_model *proto = pgy_model_alloc(part, 1, sizeof *proto);
    pgy_onnx_graph *graph = pgy_model_alloc(part, 1, sizeof *graph);
    pgy_onnx_tensor **list = pgy_model_alloc(part, strlen(names) + 1, sizeof(pgy_onnx_tensor *));
    *proto = *pgy_model_proto(whole);
    *graph = *proto->graph;
    proto->message.raw = graph->message.raw = (pgy_bytes){0};
    for (size_t i = 0; names[i]; i++)
        list[i] = (pgy_onnx_tensor *)initializer(whole, (char[]){names[i], '\0'});
    graph->initializers = list;
    graph->initializer_count = strlen(names);
    proto->graph = graph;
    pgy_model_set_proto(part, proto);
    OK(pgy_model_keep(part, whole, &test_err));
    return part;
}

/* Saves the part and returns how many weights had to be written. */
static uint64_t save(model_rewriter *w, pgy_model *whole, const char *names)
{
    pgy_model *part = make_part(whole, names);
    bool saved = false;
    OK(model_rewriter_save(&saved, w, part, &test_err));
    assert_true(saved);
    pgy_model_destroy(part);
    return model_rewriter_written(w) / WEIGHT_BYTES;
}

static void expect_saved(const char *path, pgy_model *whole, const char *names)
{
    pgy_model *read = NULL;
    OK(pgy_model_load(&read, path, NULL, &test_err));
    assert_int_equal(pgy_model_proto(read)->graph->initializer_count, strlen(names));
    assert_int_equal(pgy_model_proto(read)->graph->node_count, 1);
    assert_int_equal(pgy_model_proto(read)->opset_import_count, 1);
    for (size_t i = 0; names[i]; i++) {
        const char name[] = {names[i], '\0'};
        const pgy_bytes is = initializer(read, name)->raw_data;
        const pgy_bytes wanted = initializer(whole, name)->raw_data;
        assert_int_equal(is.size, wanted.size);
        assert_memory_equal(is.data, wanted.data, is.size);
    }
    pgy_model_destroy(read);
}

static void test_rewriter__keeps_shared_weights(void **state)
{
    (void)state;
    pgy_model *whole = make_whole();
    model_rewriter *w = NULL;
    const char *path = scratch("part.onnx");
    OK(model_rewriter_create(&w, whole, path, 0, &test_err));
    static const struct {
        const char *names;
        uint64_t written; /* if the kernel lets the file be reused */
    } STEPS[] = {{"cd", 2}, {"abcd", 2}, {"bcd", 1}, {"d", 1}, {"abcd", 3}, {"cdab", 0}, {"", 0}};
    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++) {
        const uint64_t written = save(w, whole, STEPS[i].names);
        if (written != strlen(STEPS[i].names)) assert_int_equal(written, STEPS[i].written);
        expect_saved(path, whole, STEPS[i].names);
        assert_true(model_rewriter_hide(w));
    }
    model_rewriter_destroy(w);
    assert_false(file_exists(path));
    pgy_model_destroy(whole);
    scratch_remove();
}

static void test_rewriter__leaves_small_parts(void **state)
{
    (void)state;
    pgy_model *whole = make_whole();
    model_rewriter *w = NULL;
    bool saved = true;
    OK(model_rewriter_create(&w, whole, scratch("part.onnx"), 3 * WEIGHT_BYTES, &test_err));
    pgy_model *part = make_part(whole, "ab");
    OK(model_rewriter_save(&saved, w, part, &test_err));
    assert_false(saved);
    assert_false(file_exists(scratch("part.onnx")));
    pgy_model_destroy(part);
    model_rewriter_destroy(w);
    pgy_model_destroy(whole);
    scratch_remove();
}
