/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose elements are made when they are wanted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/onnx.h>

#include "harness/model_builder.h"

enum { LARGE = 64 * 1024, SMALL = 6 }; /* in floats */

typedef struct maker {
    int64_t count;
    int calls;
    bool fails;
} maker;

static pgy_status make(pgy_tensor **out, void *user, pgy_error *err)
{
    maker *m = user;
    m->calls++;
    if (m->fails) return pgy_error_set(err, PGY_E_IO, "nothing to be had");
    pgy_status st = pgy_tensor_create(out, PGY_F32, 1, &m->count, err);
    for (int64_t i = 0; !st && i < m->count; i++) ((float *)pgy_tensor_data(*out))[i] = (float)i;
    return st;
}

/* A model with a weight of `count` floats that `m` makes. */
static pgy_model *model_with(maker *m, int64_t count)
{
    pgy_error err = {0};
    model_builder b = builder_start(17);
    pgy_tensor *zeros = NULL;
    m->count = count;
    assert_int_equal(pgy_tensor_create(&zeros, PGY_F32, 1, &count, &err), PGY_OK);
    builder_initializer(&b, "w", zeros);
    pgy_tensor_release(zeros);
    builder_node(&b, "Neg", "w", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_onnx_tensor *made = NULL;
    if (pgy_model_computed_tensor(&made, b.model, b.graph->initializers[0], make, m, &err))
        fail_msg("%s", err.text);
    ((pgy_onnx_tensor **)b.graph->initializers)[0] = made;
    return builder_finish(&b);
}

static void expect_counting(pgy_model *m, size_t count)
{
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    const pgy_onnx_tensor *w = pgy_model_proto(m)->graph->initializers[0];
    assert_string_equal(w->name, "w");
    if (pgy_onnx_tensor_load(&t, m, w, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_tensor_count(t), count);
    for (size_t i = 0; i < count; i++) assert_true(((float *)pgy_tensor_data(t))[i] == (float)i);
    pgy_tensor_release(t);
}

static pgy_model *reread(pgy_model *m)
{
    pgy_error err = {0};
    void *bytes = NULL;
    size_t size = 0;
    pgy_model *again = NULL;
    if (pgy_model_serialize(&bytes, &size, m, &err)) fail_msg("%s", err.text);
    if (pgy_model_parse(&again, bytes, size, false, NULL, &err)) fail_msg("%s", err.text);
    pgy_text_free(bytes);
    return again;
}

static void test_computed__large_tensors_are_made_each_time(void **state)
{
    (void)state;
    maker m = {0};
    pgy_model *model = model_with(&m, LARGE);
    assert_int_equal(m.calls, 0);
    expect_counting(model, LARGE);
    assert_int_equal(m.calls, 1);
    pgy_model *again = reread(model);
    assert_int_equal(m.calls, 2);
    expect_counting(again, LARGE);
    pgy_model_destroy(again);
    pgy_model_destroy(model);
}

static void test_computed__small_tensors_are_made_at_once(void **state)
{
    (void)state;
    maker m = {0};
    pgy_model *model = model_with(&m, SMALL);
    assert_int_equal(m.calls, 1);
    pgy_model *again = reread(model);
    expect_counting(again, SMALL);
    assert_int_equal(m.calls, 1);
    pgy_model_destroy(again);
    pgy_model_destroy(model);
}

static void test_computed__a_model_that_keeps_it_finds_it(void **state)
{
    (void)state;
    maker m = {0};
    pgy_error err = {0};
    pgy_model *inner = model_with(&m, LARGE), *outer = NULL;
    assert_int_equal(pgy_model_create(&outer, &err), PGY_OK);
    assert_int_equal(pgy_model_keep(outer, inner, &err), PGY_OK);
    pgy_model_set_proto(outer, (pgy_onnx_model *)pgy_model_proto(inner));
    pgy_model_destroy(inner);
    expect_counting(outer, LARGE);
    pgy_model_destroy(outer);
}

static void test_computed__what_cannot_be_made_is_an_error(void **state)
{
    (void)state;
    maker m = {0};
    pgy_error err = {0};
    void *bytes = NULL;
    size_t size = 0;
    pgy_model *model = model_with(&m, LARGE);
    m.fails = true;
    assert_int_equal(pgy_model_serialize(&bytes, &size, model, &err), PGY_E_IO);
    assert_null(bytes);
    m.fails = false;
    m.count = LARGE / 2;
    assert_int_equal(pgy_model_serialize(&bytes, &size, model, &err), PGY_E_SHAPE);
    assert_non_null(strstr(err.text, "131072 bytes were made where the record has 262144"));
    pgy_model_destroy(model);
}

static void test_computed__an_empty_record_has_raw_data_of_no_bytes(void **state)
{
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_floats(&b, "w", "4", NULL);
    builder_node(&b, "Neg", "w", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_onnx_tensor *empty = NULL;
    assert_int_equal(pgy_model_empty_tensor(&empty, b.model, b.graph->initializers[0], &err),
                     PGY_OK);
    ((pgy_onnx_tensor **)b.graph->initializers)[0] = empty;
    pgy_model *m = builder_finish(&b), *again = reread(m);
    const pgy_onnx_tensor *t = pgy_model_proto(again)->graph->initializers[0];
    assert_int_equal(t->raw_data.size, 0);
    assert_true(t->message.present >> 9 & 1);
    assert_int_equal(t->dims[0], 4);
    pgy_model_destroy(again);
    pgy_model_destroy(m);
}
