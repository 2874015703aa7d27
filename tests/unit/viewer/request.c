/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the server of pages: what is read, what waits for more, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "viewer/serve/request.h"

#define HOST "Host: localhost:8000\r\n"

static int read_text(http_request *r, const char *text)
{
    *r = (http_request){0};
    return http_request_read(r, text, strlen(text));
}

static int status_of(const char *text)
{
    http_request r;
    return read_text(&r, text);
}

static void test_request__parts(void **state)
{
    (void)state;
    http_request r;
    static const char TEXT[] = "GET /t/values?tensor=3&at=0%2C1 HTTP/1.1\r\nhOsT: \tlocalhost:8000 "
                               "\r\nAccept: */*\r\n\r\nGET /next";
    assert_int_equal(read_text(&r, TEXT), HTTP_OK);
    assert_false(r.is_head);
    assert_true(r.keep_alive);
    assert_true(span_equals(r.path, "/t/values"));
    assert_true(span_equals(r.query, "tensor=3&at=0%2C1"));
    assert_true(span_equals(r.host, "localhost:8000"));
    assert_string_equal(TEXT + r.size, "GET /next");
    assert_int_equal(read_text(&r, "HEAD / HTTP/1.1\r\n" HOST "Connection: x, Close\r\n\r\n"),
                     HTTP_OK);
    assert_true(r.is_head);
    assert_false(r.keep_alive);
    assert_int_equal(read_text(&r, "GET / HTTP/1.0\r\n\r\n"), HTTP_OK);
    assert_false(r.keep_alive);
}

/* Whatever the packets are, nothing is decided before the blank line. */
static void test_request__every_prefix_waits(void **state)
{
    (void)state;
    static const char TEXT[] = "GET /a?b HTTP/1.1\r\n" HOST "X: y\r\n\r\n";
    http_request r;
    for (size_t n = 0; n < sizeof TEXT - 1; n++)
        assert_int_equal(http_request_read(&r, TEXT, n), 0);
    assert_int_equal(http_request_read(&r, TEXT, sizeof TEXT - 1), HTTP_OK);
}

static void test_request__refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } CASES[] = {
        {"POST / HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_METHOD},
        {"DELETE / HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_METHOD},
        {"get / HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_METHOD},
        {"GET / HTTP/2.0\r\n" HOST "\r\n", HTTP_BAD_VERSION},
        {"GET / HTTP/1.1\r\n\r\n", HTTP_BAD_REQUEST},
        {"GET / HTTP/1.1\r\nHost:\r\n\r\n", HTTP_BAD_REQUEST},
        {"GET / HTTP/1.1\r\n" HOST HOST "\r\n", HTTP_BAD_REQUEST},
        {"GET / HTTP/1.1\n" HOST "\r\n", HTTP_BAD_REQUEST},
        {"GET / HTTP/1.1\r\nHost: a\n\r\n", HTTP_BAD_REQUEST},
        {"\r\nGET / HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST},
        {"GET  / HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST},
        {"GET / HTTP/1.1 \r\n" HOST "\r\n", HTTP_BAD_REQUEST},
        {"GET /\tHTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST},
        {"GET / http/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST},
        {"GET * HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST},
        {"GET http://localhost/ HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST},
        {"GET /a#b HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST},
        {"GET /\x01 HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST},
        {"GET /\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST},
        {"GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n", HTTP_BAD_REQUEST},
        {"GET / HTTP/1.1\r\n" HOST "Name : x\r\n\r\n", HTTP_BAD_REQUEST},
        {"GET / HTTP/1.1\r\n" HOST "no colon\r\n\r\n", HTTP_BAD_REQUEST},
        {"GET / HTTP/1.1\r\n" HOST "A: b\rc\r\n\r\n", HTTP_BAD_REQUEST},
        {"GET / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", HTTP_TOO_LARGE},
        {"GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", HTTP_TOO_LARGE},
        {"GET / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", HTTP_OK},
        {"\x16\x03\x01 TLS\r\n", HTTP_BAD_REQUEST},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        if (status_of(CASES[i].text) != CASES[i].status)
            fail_msg("case %zu: %d", i, status_of(CASES[i].text));
}

/* A zero byte is not the end of a text. */
static void test_request__zero_bytes_are_refused(void **state)
{
    (void)state;
    static const char TARGET[] = "GET /\0 HTTP/1.1\r\n" HOST "\r\n";
    static const char HEADER[] = "GET / HTTP/1.1\r\n" HOST "A: \0\r\n\r\n";
    http_request r;
    assert_int_equal(http_request_read(&r, TARGET, sizeof TARGET - 1), HTTP_BAD_REQUEST);
    assert_int_equal(http_request_read(&r, HEADER, sizeof HEADER - 1), HTTP_BAD_REQUEST);
}

static void test_request__too_long_and_too_many(void **state)
{
    (void)state;
    static char text[2 * HTTP_REQUEST_LIMIT];
    http_request r;
    memset(text, 'a', sizeof text);
    memcpy(text, "GET /", 5);
    assert_int_equal(http_request_read(&r, text, HTTP_REQUEST_LIMIT - 1), 0);
    assert_int_equal(http_request_read(&r, text, HTTP_REQUEST_LIMIT), HTTP_LONG_HEADER);
    str many = {0};
    str_append(&many, "GET / HTTP/1.1\r\n" HOST);
    for (int i = 0; i < HTTP_HEADER_LIMIT - 1; i++) str_append(&many, "A: b\r\n");
    str_append(&many, "\r\n");
    assert_int_equal(status_of(str_text(&many)), HTTP_OK);
    many.size -= 2;
    str_append(&many, "A: b\r\n\r\n");
    assert_int_equal(status_of(str_text(&many)), HTTP_LONG_HEADER);
    str_deinit(&many);
}

static void test_request__parameters(void **state)
{
    (void)state;
    const span query = span_of("a=1&b=x%20y%2fz&a=two+words&c=%zz&d=%00&e&n=12&nine=9&"
                               "big=99999999999999999999&f=%4");
    str text = {0};
    assert_true(http_parameter(&text, query, "b", 0));
    assert_string_equal(str_text(&text), "x y/z");
    str_clear(&text);
    assert_true(http_parameter(&text, query, "a", 1));
    assert_string_equal(str_text(&text), "two words");
    assert_false(http_parameter(&text, query, "a", 2));
    assert_false(http_parameter(&text, query, "c", 0));
    assert_false(http_parameter(&text, query, "d", 0));
    assert_false(http_parameter(&text, query, "e", 0));
    assert_false(http_parameter(&text, query, "f", 0));
    str_deinit(&text);
    uint64_t n = 7;
    assert_true(http_number(&n, query, "n", 0, 12));
    assert_int_equal(n, 12);
    assert_false(http_number(&n, query, "n", 0, 11));
    assert_false(http_number(&n, query, "big", 0, UINT64_MAX));
    assert_false(http_number(&n, query, "nine", 0, 5));
    assert_false(http_number(&n, query, "b", 0, 100));
    assert_true(http_number(&n, query, "missing", 5, 100));
    assert_int_equal(n, 5);
}
