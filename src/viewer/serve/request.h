/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of HTTP/1.1 (RFC 9112), as strictly as a browser needs: GET and HEAD, no bodies, no line
 * folding, no bare line feeds. Everything else is refused, so that no two readers can understand
 * one request differently. */
#ifndef VIEWER_SERVE_REQUEST_H
#define VIEWER_SERVE_REQUEST_H

#include "base/str.h"

enum { HTTP_REQUEST_LIMIT = 8 << 10, HTTP_HEADER_LIMIT = 64 };

/* Statuses of answers. */
enum {
    HTTP_OK = 200,
    HTTP_BAD_REQUEST = 400,
    HTTP_NOT_FOUND = 404,
    HTTP_BAD_METHOD = 405,
    HTTP_TIMEOUT = 408,
    HTTP_TOO_LARGE = 413,
    HTTP_WRONG_HOST = 421,
    HTTP_LONG_HEADER = 431,
    HTTP_INTERNAL = 500,
    HTTP_BAD_VERSION = 505
};

typedef struct http_request {
    bool is_head;    /* HEAD: the same answer without its body */
    bool keep_alive; /* the client may send another request */
    span path;       /* "/token/values", as sent: percent escapes are not decoded */
    span query;      /* after the question mark, or empty */
    span host;       /* "localhost:8000", or empty (HTTP/1.0 only) */
    size_t size;     /* bytes of the request; what follows is the next one */
} http_request;

/* Reads a request; its spans point into `bytes`. Returns HTTP_OK, the status of the answer that
 * refuses it, or 0: the request goes on after these bytes. */
int http_request_read(http_request *out, const char *bytes, size_t size);

/* Finds the `nth` parameter `name` in a query and decodes it ("%2F", "+") into `out`. False: there
 * is none, or it has a broken escape or a zero byte. */
bool http_parameter(str *out, span query, const char *name, size_t nth);
/* The same as a number in [0, most]; `fallback` if there is none. False: it is no such number. */
bool http_number(uint64_t *out, span query, const char *name, uint64_t fallback, uint64_t most);

#endif
