/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the server of pages without sockets: values of tensors of all kinds, and missing
 * memory. tests/viewer/serve.py has what needs a connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/model_builder.h"
#include "viewer/serve/answer.h"

static pgy_tensor *tensor_of(pgy_dtype dtype, size_t rank, const int64_t *shape, const void *bytes)
{
    pgy_error err = {0};
    pgy_tensor *t = NULL;
    if (pgy_tensor_create(&t, dtype, rank, shape, &err)) fail_msg("%s", err.text);
    memcpy(pgy_tensor_data(t), bytes, pgy_tensor_size_bytes(t));
    return t;
}

static void add_weight(model_builder *b, const char *name, pgy_tensor *t)
{
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
}

#define HOSTILE "/../encoder.0/w\"\r\nX:1;\xc3\xa9_w2"

/* A model with weights of several types. */
static pgy_model *weights_model(void)
{
    static const float CUBE[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const uint16_t BF16[] = {0x3f80, 0x7fc0, 0xff80}; /* 1, NaN, -infinity */
    static const uint8_t INT4[] = {0x21, 0xf3};              /* 1 2 3 -1 */
    model_builder b = builder_start(21);
    builder_input(&b, "x", PGY_F32, "3");
    builder_floats(&b, "cube", "2, 3, 2", CUBE);
    builder_floats(&b, "scalar", "", (const float[]){0.5f});
    add_weight(&b, "bf16", tensor_of(PGY_BF16, 1, (const int64_t[]){3}, BF16));
    add_weight(&b, "int4", tensor_of(PGY_I4, 2, (const int64_t[]){2, 2}, INT4));
    builder_floats(&b, "empty", "0, 3", NULL);
    builder_floats(&b, HOSTILE, "", (const float[]){0.5f});
    builder_floats(&b, "/..", "", (const float[]){0.5f});
    builder_node(&b, "Custom", "x cube scalar bf16 int4 empty " HOSTILE " /..", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish(&b);
}

static void open_site(site *s)
{
    pgy_error err = {0};
    pgy_model *m = weights_model();
    pgy_page *p = NULL;
    if (pgy_page_create(&p, NULL, &err) || pgy_page_add_model(p, m, "m", &err) ||
        site_init(s, p, &err))
        fail_msg("%s", err.text);
    s->port = 8000;
    pgy_model_destroy(m);
}

static void close_site(site *s)
{
    pgy_page *p = s->page;
    site_deinit(s);
    pgy_page_destroy(p);
}

/* Asks for "values?tensor=NAME's index&REST", and expects this body. */
static void ask(site *s, const char *route, const char *name, const char *rest, const char *body)
{
    char text[512];
    http_request r;
    http_answer a;
    snprintf(text, sizeof text, "GET /%s/%s?tensor=%u%s HTTP/1.1\r\nHost: localhost:8000\r\n\r\n",
             s->token, route, view_graph_tensor(s->page->graphs[0], name), rest);
    assert_int_equal(http_request_read(&r, text, strlen(text)), HTTP_OK);
    answer_make(&a, s, &r);
    if (!span_equals(a.body, body))
        fail_msg("%s: %.*s instead of %s", name, (int)a.body.size, a.body.data, body);
    answer_deinit(&a);
}

static void test_serve__pieces_of_values(void **state)
{
    (void)state;
    site s;
    open_site(&s);
    ask(&s, "values", "cube", "&at=1&row=1&rows=2&columns=1",
        "{\"shape\":[2,3,2],\"at\":[1],\"row\":1,\"column\":0,\"rows\":2,\"columns\":1,"
        "\"values\":[9,11]}");
    ask(&s, "values", "scalar", "",
        "{\"shape\":[],\"at\":[],\"row\":0,\"column\":0,\"rows\":1,\"columns\":1,\"values\":[0.5]"
        "}");
    ask(&s, "values", "bf16", "&side=b",
        "{\"shape\":[3],\"at\":[],\"row\":0,\"column\":0,\"rows\":1,\"columns\":3,"
        "\"values\":[1,\"nan\",\"-inf\"]}");
    ask(&s, "values", "int4", "&row=1",
        "{\"shape\":[2,2],\"at\":[],\"row\":1,\"column\":0,\"rows\":1,\"columns\":2,"
        "\"values\":[3,-1]}");
    ask(&s, "values", "empty", "", "the piece is outside the plane of 0x3\n");
    ask(&s, "values", "cube", "&at=1&rows=99999999999&columns=0",
        "the piece is outside the plane of 3x2\n");
    ask(&s, "values", "x", "", "no file of outputs has 'x' of runner A\n");
    close_site(&s);
}

static void test_serve__npy_of_a_type_that_numpy_lacks(void **state)
{
    (void)state;
    char text[256];
    http_request r;
    http_answer a;
    site s;
    open_site(&s);
    snprintf(text, sizeof text,
             "GET /%s/values.npy?tensor=%u HTTP/1.1\r\nHost: localhost:8000\r\n\r\n", s.token,
             view_graph_tensor(s.page->graphs[0], "bf16"));
    assert_int_equal(http_request_read(&r, text, strlen(text)), HTTP_OK);
    answer_make(&a, &s, &r);
    assert_int_equal(pgy_tensor_dtype(a.elements), PGY_F32);
    assert_non_null(strstr(a.body.data + 10, "'<f4'"));
    assert_true(((const float *)pgy_tensor_data(a.elements))[0] == 1.0f);
    char expected[64];
    snprintf(expected, sizeof expected, "Content-Length: %zu\r\n", a.body.size + 12);
    assert_non_null(strstr(str_text(&a.head), expected));
    answer_deinit(&a);
    close_site(&s);
}

static void expect_file_name(site *s, const char *tensor, const char *file)
{
    char text[256], expected[128];
    http_request r;
    http_answer a;
    snprintf(text, sizeof text,
             "GET /%s/values.npy?tensor=%u HTTP/1.1\r\nHost: localhost:8000\r\n\r\n", s->token,
             view_graph_tensor(s->page->graphs[0], tensor));
    assert_int_equal(http_request_read(&r, text, strlen(text)), HTTP_OK);
    answer_make(&a, s, &r);
    snprintf(expected, sizeof expected, "\r\nContent-Disposition: attachment; filename=\"%s\"\r\n",
             file);
    assert_non_null(strstr(str_text(&a.head), expected));
    assert_null(strstr(str_text(&a.head), "X:"));
    answer_deinit(&a);
}

static void test_serve__npy_is_named_after_the_tensor(void **state)
{
    (void)state;
    site s;
    open_site(&s);
    expect_file_name(&s, "cube", "cube_A.npy");
    expect_file_name(&s, HOSTILE, "encoder.0_w_X_1_w2_A.npy");
    expect_file_name(&s, "/..", "tensor_A.npy");
    close_site(&s);
}

/* Each allocation of a page fails once. */
static void test_serve__missing_memory(void **state)
{
    (void)state;
    /* A few allocations are not needed, so one success is not the end. */
    size_t passed = 0;
    uint64_t n = 1;
    if (!mem_fail_nth(0)) skip();
    for (; passed < 50; n++) {
        pgy_model *m = weights_model();
        pgy_page *p = NULL;
        pgy_error err = {0};
        site s = {0};
        assert_true(mem_fail_nth(n));
        pgy_status st = pgy_page_create(&p, NULL, &err);
        if (!st) st = pgy_page_add_model(p, m, "m", &err);
        if (!st) st = site_init(&s, p, &err);
        mem_fail_nth(0);
        passed = st ? 0 : passed + 1;
        if (st) assert_int_equal(st, PGY_E_MEMORY);
        if (!st) site_deinit(&s);
        pgy_page_destroy(p);
        pgy_model_destroy(m);
    }
    assert_true(n > 300); /* a page takes more than that */
}
