/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose elements are made when they are wanted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <polygraphy/onnx.h>

#include "base/alloc.h"
#include "harness/model_builder.h"
#include "harness/test_folder.h"
#include "onnx/computed.h"

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
    assert_non_null(strstr(
        err.text, "the function that computes the tensor made 131072 bytes; 262144 are declared"));
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

/* ---- In parts ------------------------------------------------------------------------------- */

enum {
    UNIT = 12,
    PARTS = 3 * 100 * 1000
}; /* in floats: several parts, and a unit that fits none */

/* Adds to what it is made from, or counts if that is nothing. */
typedef struct adder {
    float by;
    size_t largest, next; /* bytes of one part; where the next one begins if they are in order */
    bool in_order, fails;
} adder;

static pgy_status add_part(const tensor_part *p, void *user, pgy_error *err)
{
    adder *a = user;
    float *x = p->to;
    assert_int_equal(p->offset % (UNIT * sizeof *x), 0);
    a->largest = p->size_bytes > a->largest ? p->size_bytes : a->largest;
    a->in_order = a->in_order && (p->offset == a->next || p->offset == 0);
    a->next = p->offset + p->size_bytes;
    if (a->fails && p->offset) return pgy_error_set(err, PGY_E_IO, "nothing more to be had");
    for (size_t i = 0; i < p->size_bytes / sizeof *x; i++) x[i] = (float)(p->offset / 4 + i);
    if (!p->source) return PGY_OK;
    const pgy_status st = element_reader_get(p->source, x, p->offset, p->size_bytes, err);
    for (size_t i = 0; i < p->size_bytes / sizeof *x; i++) x[i] += a->by;
    return st;
}

static pgy_onnx_tensor *added(pgy_model *m, const pgy_onnx_tensor *to, const pgy_onnx_tensor *like,
                              adder *a)
{
    pgy_error err = {0};
    pgy_onnx_tensor *made = NULL;
    a->in_order = true;
    const parts_maker adding = {
        .make = add_part, .user = a, .source = to, .unit_bytes = UNIT * sizeof(float)};
    if (computed_parts_tensor(&made, m, like, &adding, &err)) fail_msg("%s", err.text);
    return made;
}

/* A model whose weight is made by `depth` adders, one from the other. */
static pgy_model *model_in_parts(adder *adders, size_t depth, int64_t count)
{
    pgy_error err = {0};
    model_builder b = builder_start(17);
    pgy_tensor *zeros = NULL;
    assert_int_equal(pgy_tensor_create(&zeros, PGY_F32, 1, &count, &err), PGY_OK);
    builder_initializer(&b, "w", zeros);
    pgy_tensor_release(zeros);
    builder_node(&b, "Neg", "w", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    const pgy_onnx_tensor *like = b.graph->initializers[0];
    pgy_onnx_tensor *made = NULL;
    for (size_t i = 0; i < depth; i++) made = added(b.model, made, like, &adders[i]);
    ((pgy_onnx_tensor **)b.graph->initializers)[0] = made;
    return builder_finish(&b);
}

static void expect_floats(const float *x, size_t first, size_t count, float by)
{
    for (size_t i = 0; i < count; i++)
        if (x[i] != (float)(first + i) + by) fail_msg("element %zu is %g", first + i, (double)x[i]);
}

static void expect_weight(pgy_model *m, size_t count, float by)
{
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    if (pgy_onnx_tensor_load(&t, m, pgy_model_proto(m)->graph->initializers[0], &err))
        fail_msg("%s", err.text);
    assert_int_equal(pgy_tensor_count(t), count);
    expect_floats(pgy_tensor_data(t), 0, count, by);
    pgy_tensor_release(t);
}

static void test_computed__parts_are_made_in_order_and_are_small(void **state)
{
    (void)state;
    adder a = {0};
    pgy_model *m = model_in_parts(&a, 1, PARTS + 5), *again = reread(m);
    expect_weight(again, PARTS + 5, 0);
    assert_true(a.in_order);
    assert_true(a.largest <= PART_BYTES);
    assert_int_equal(a.next, (PARTS + 5) * sizeof(float));
    expect_weight(m, PARTS + 5, 0); /* for somebody who wants them all */
    pgy_model_destroy(again);
    pgy_model_destroy(m);
}

static void test_computed__parts_are_made_from_parts(void **state)
{
    (void)state;
    enum { DEPTH = 12 }; /* deeper than what is made on the way */
    adder a[DEPTH] = {{0}};
    for (size_t i = 1; i < DEPTH; i++) a[i].by = (float)i;
    pgy_model *m = model_in_parts(a, DEPTH, PARTS), *again = reread(m);
    expect_weight(again, PARTS, DEPTH * (DEPTH - 1) / 2);
    pgy_model_destroy(again);
    pgy_model_destroy(m);
}

static void test_computed__any_range_can_be_read(void **state)
{
    (void)state;
    static const struct {
        size_t first, count;
    } RANGES[] = {{0, 1}, {1, 2}, {11, 2}, {5, 40000}, {PARTS - 3, 3}, {7, PARTS - 7}, {12, 24}};
    adder a = {0};
    pgy_error err = {0};
    pgy_model *m = model_in_parts(&a, 1, PARTS);
    element_reader r = {0};
    float *x = malloc(PARTS * sizeof *x);
    assert_non_null(x);
    assert_int_equal(element_reader_open(&r, m, pgy_model_proto(m)->graph->initializers[0], &err),
                     PGY_OK);
    assert_int_equal(r.size_bytes, PARTS * sizeof *x);
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++) {
        if (element_reader_get(&r, x, RANGES[i].first * sizeof *x, RANGES[i].count * sizeof *x,
                               &err))
            fail_msg("%s", err.text);
        expect_floats(x, RANGES[i].first, RANGES[i].count, 0);
    }
    element_reader_close(&r);
    free(x);
    pgy_model_destroy(m);
}

static void test_computed__another_shape_has_the_same_elements(void **state)
{
    (void)state;
    adder a = {0};
    pgy_error err = {0};
    pgy_model *m = model_in_parts(&a, 1, PARTS);
    pgy_onnx_tensor other = *pgy_model_proto(m)->graph->initializers[0];
    other.dims = (const int64_t[]){3, PARTS / 3};
    other.dim_count = 2;
    pgy_tensor *t = NULL;
    if (pgy_onnx_tensor_load(&t, m, &other, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_tensor_rank(t), 2);
    expect_floats(pgy_tensor_data(t), 0, PARTS, 0);
    pgy_tensor_release(t);
    pgy_model_destroy(m);
}

static void test_computed__a_part_that_cannot_be_made_leaves_no_file(void **state)
{
    (void)state;
    char folder[TEST_PATH_SIZE], path[TEST_PATH_SIZE + 16], data[TEST_PATH_SIZE + 16];
    adder a = {.fails = true};
    pgy_error err = {0};
    test_path(folder, "computed_XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    snprintf(data, sizeof data, "%s/m.onnx.data", folder);
    pgy_model *m = model_in_parts(&a, 1, PARTS);
    pgy_model_save_options o = pgy_model_save_options_default();
    for (int external = 0; external < 2; external++) {
        o.external_data = external;
        assert_int_equal(pgy_model_save(m, path, &o, &err), PGY_E_IO);
        assert_non_null(strstr(err.text, "nothing more to be had"));
        assert_int_not_equal(access(path, F_OK), 0);
        assert_int_not_equal(access(data, F_OK), 0);
    }
    assert_int_equal(rmdir(folder), 0); /* not even a temporary is left */
    pgy_model_destroy(m);
}

static void test_computed__refused_allocations_are_errors(void **state)
{
    (void)state;
    pgy_status st = PGY_E_MEMORY;
    for (uint64_t n = 1; st; n++) {
        adder a[3] = {{0}};
        pgy_error err = {0};
        void *bytes = NULL;
        size_t size = 0;
        pgy_model *m = model_in_parts(a, 3, PARTS);
        const bool refuses = mem_fail_nth(n);
        st = pgy_model_serialize(&bytes, &size, m, &err);
        mem_fail_nth(0);
        if (st) assert_int_equal(st, PGY_E_MEMORY);
        if (st) assert_null(bytes);
        pgy_text_free(bytes);
        pgy_model_destroy(m);
        if (!refuses) skip();
    }
}
