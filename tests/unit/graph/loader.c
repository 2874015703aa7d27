/* SPDX-License-Identifier: Apache-2.0 */
/* Lazy loaders: order of steps, copies of arguments, and what a runner gets from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include <polygraphy/loader.h>

#include "harness/model_builder.h"

#define MODEL TEST_BINARY_DIR "/test-loader.onnx"
#define SAVED TEST_BINARY_DIR "/test-loader-saved.onnx"

static char logged[1 << 14];
static size_t logged_size;

static void keep_line(pgy_severity severity, const char *text, size_t size, void *user)
{
    (void)severity, (void)user;
    if (logged_size + size >= sizeof logged) return;
    memcpy(logged + logged_size, text, size);
    logged_size += size;
    logged[logged_size] = '\0';
}

static int times_logged(const char *needle)
{
    int n = 0;
    for (const char *p = logged; (p = strstr(p, needle)); p += strlen(needle)) n++;
    return n;
}

/* x -> Relu -> r -> Neg -> y, of which only y is an output and r has no declared type. */
static int group_setup(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 4");
    builder_node(&b, "Relu", "x", "r");
    builder_node(&b, "Neg", "r", "y");
    builder_output(&b, "y", PGY_F32, "N, 4");
    pgy_model *model = builder_finish_bytes(&b);
    pgy_model_save_options o = pgy_model_save_options_default();
    pgy_status st = pgy_model_save(model, MODEL, &o, NULL);
    pgy_model_destroy(model);
    pgy_log_set_sink(keep_line, NULL);
    return st != PGY_OK;
}

static int group_teardown(void **state)
{
    (void)state;
    pgy_log_set_sink(NULL, NULL);
    unlink(MODEL);
    return 0;
}

static pgy_loader *from_path(void)
{
    pgy_loader *l = NULL;
    logged_size = 0;
    logged[0] = '\0';
    assert_int_equal(pgy_loader_from_path(&l, MODEL, NULL, NULL), PGY_OK);
    return l;
}

static pgy_model *call(const pgy_loader *l)
{
    pgy_error err = {0};
    pgy_model *m = NULL;
    if (pgy_loader_call(&m, l, &err)) fail_msg("%s", err.text);
    return m;
}

static pgy_status select_output(pgy_loader **l, const char *name)
{
    pgy_output_selection s = {.size = sizeof s, .names = &name, .name_count = 1};
    return pgy_loader_select_outputs(l, &s, NULL);
}

static void test_loader__works_when_called_and_each_time(void **state)
{
    (void)state;
    pgy_loader *l = from_path();
    assert_int_equal(times_logged("Loading model: " MODEL), 0);
    for (int i = 1; i <= 2; i++) {
        pgy_model *m = call(l);
        assert_int_equal(pgy_model_proto(m)->graph->node_count, 2);
        assert_int_equal(times_logged("Loading model: " MODEL), i);
        pgy_model_destroy(m);
    }
    pgy_loader_destroy(l);
    pgy_loader_destroy(NULL);
}

static void test_loader__missing_file(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_loader *l = NULL;
    pgy_model *m = NULL;
    assert_int_equal(pgy_loader_from_path(&l, "no-such.onnx", NULL, &err), PGY_OK);
    assert_int_not_equal(pgy_loader_call(&m, l, &err), PGY_OK);
    assert_non_null(strstr(err.text, "no-such.onnx"));
    assert_null(m);
    pgy_loader_destroy(l);
    assert_int_equal(pgy_loader_from_path(&l, "", NULL, &err), PGY_E_ARGUMENT);
}

static void test_loader__steps_follow_each_other(void **state)
{
    (void)state;
    pgy_loader *l = from_path();
    char name[] = "r", path[] = SAVED;
    assert_int_equal(pgy_loader_infer_shapes(&l, NULL, NULL), PGY_OK);
    assert_int_equal(select_output(&l, name), PGY_OK);
    assert_int_equal(pgy_loader_save(&l, path, NULL, NULL), PGY_OK);
    name[0] = path[0] = '?'; /* arguments were copied */
    pgy_model *m = call(l), *saved = NULL;
    assert_int_equal(pgy_model_proto(m)->graph->output_count, 1);
    assert_string_equal(pgy_model_proto(m)->graph->outputs[0]->name, "r");
    assert_non_null(pgy_model_proto(m)->graph->outputs[0]->type); /* inferred before */
    assert_int_equal(times_logged("Saving ONNX model to: " SAVED), 1);
    assert_int_equal(pgy_model_load(&saved, SAVED, NULL, NULL), PGY_OK);
    assert_string_equal(pgy_model_proto(saved)->graph->outputs[0]->name, "r");
    pgy_model_destroy(saved);
    pgy_model_destroy(m);
    pgy_loader_destroy(l);
    unlink(SAVED);
}

static void test_loader__a_refused_step_leaves_it_as_it_was(void **state)
{
    (void)state;
    pgy_loader *l = from_path(), *before = l;
    assert_int_equal(pgy_loader_select_outputs(&l, NULL, NULL), PGY_E_ARGUMENT);
    assert_int_equal(pgy_loader_save(&l, "", NULL, NULL), PGY_E_ARGUMENT);
    assert_int_equal(pgy_loader_extend(&l, NULL, NULL, NULL), PGY_E_ARGUMENT);
    assert_ptr_equal(l, before);
    pgy_model_destroy(call(l));
    pgy_loader_destroy(l);
}

static void test_loader__a_failing_step_names_its_reason(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model *m = NULL;
    pgy_loader *l = from_path();
    assert_int_equal(select_output(&l, "nowhere"), PGY_OK);
    assert_int_equal(pgy_loader_call(&m, l, &err), PGY_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "nowhere"));
    assert_null(m);
    pgy_loader_destroy(l);
}

static void test_loader__failing_inference_only_warns(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 3");
    builder_node(&b, "MatMul", "x x", "y"); /* 2x3 by 2x3 */
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    pgy_loader *l = NULL;
    logged_size = 0;
    assert_int_equal(pgy_loader_from_model(&l, model, NULL), PGY_OK);
    assert_int_equal(pgy_loader_infer_shapes(&l, NULL, NULL), PGY_OK);
    pgy_model *m = call(l);
    assert_ptr_equal(m, model); /* as it was */
    assert_int_equal(times_logged("[W] Shape inference failed"), 1);
    pgy_model_destroy(m);
    pgy_model_destroy(model);
    pgy_loader_destroy(l);
}

static pgy_status count_and_fail(pgy_model **model, void *user, pgy_error *err)
{
    assert_non_null(*model);
    return ++*(int *)user > 1 ? pgy_error_set(err, PGY_E_ARGUMENT, "not twice") : PGY_OK;
}

static void test_loader__steps_of_the_caller(void **state)
{
    (void)state;
    int calls = 0;
    pgy_model *m = NULL;
    pgy_loader *l = from_path();
    assert_int_equal(pgy_loader_extend(&l, count_and_fail, &calls, NULL), PGY_OK);
    pgy_model_destroy(call(l));
    assert_int_equal(pgy_loader_call(&m, l, NULL), PGY_E_ARGUMENT);
    assert_null(m);
    pgy_loader_destroy(l);
}

static void test_loader__fp16(void **state)
{
    (void)state;
    pgy_loader *l = from_path();
    assert_int_equal(pgy_loader_convert_half(&l, NULL, NULL), PGY_OK);
    pgy_model *m = call(l);
    assert_true(pgy_model_proto(m)->graph->node_count > 2); /* casts around */
    pgy_model_destroy(m);
    pgy_loader_destroy(l);
}

/* ---- As the source of a runner -------------------------------------------------------------- */

static void test_loader__source_of_a_file_is_its_path(void **state)
{
    (void)state;
    pgy_model_source source;
    pgy_backend_model model = {.size = sizeof model};
    pgy_loader *l = from_path();
    assert_int_equal(pgy_loader_source(&source, l, NULL), PGY_OK);
    assert_int_equal(source.open(&model, source.user, NULL), PGY_OK);
    assert_string_equal(model.path, MODEL);
    assert_null(model.data);
    assert_int_equal(times_logged("Loading model"), 0); /* the runtime reads it */
    source.close(&model, source.user);
    source.destroy(source.user);
}

static void test_loader__source_of_an_edited_model_is_bytes(void **state)
{
    (void)state;
    pgy_model_source source;
    pgy_backend_model model = {.size = sizeof model};
    pgy_model *parsed = NULL;
    pgy_loader *l = from_path(), *shared;
    assert_int_equal(select_output(&l, "r"), PGY_OK);
    shared = pgy_loader_retain(l);
    assert_int_equal(pgy_loader_source(&source, l, NULL), PGY_OK);
    for (int i = 0; i < 2; i++) { /* opened anew for each activation */
        assert_int_equal(source.open(&model, source.user, NULL), PGY_OK);
        assert_null(model.path);
        assert_non_null(model.model);
        assert_int_equal(pgy_model_parse(&parsed, model.data, model.data_size, false, NULL, NULL),
                         PGY_OK);
        assert_string_equal(pgy_model_proto(parsed)->graph->outputs[0]->name, "r");
        pgy_model_destroy(parsed);
        source.close(&model, source.user);
        assert_null(model.data);
    }
    source.destroy(source.user);
    pgy_model_destroy(call(shared)); /* lives on */
    pgy_loader_destroy(shared);
}

static void test_loader__source_needs_a_loader(void **state)
{
    (void)state;
    pgy_model_source source;
    assert_int_equal(pgy_loader_source(&source, NULL, NULL), PGY_E_ARGUMENT);
}
