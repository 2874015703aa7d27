/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the server of pages: a request that is accepted lies within its bytes, is the same
 * without what follows it, is incomplete if one byte is missing, and its parameters can be read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/serve/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_span(span s, const char *bytes, size_t size)
{
    if (s.size && (s.data < bytes || s.data + s.size > bytes + size)) abort();
}

static void check_parameters(const http_request *r)
{
    static const char *const NAMES[] = {"tensor", "at", "input"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        str text = {0};
        uint64_t number = 0;
        if (http_parameter(&text, r->query, NAMES[i], 0) && strlen(str_text(&text)) != text.size)
            abort();
        if (http_number(&number, r->query, NAMES[i], 0, 1000) && number > 1000) abort();
        str_deinit(&text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    http_request r, again;
    char *bytes = malloc(size ? size : 1); /* so that a sanitizer sees reads past the end */
    if (!bytes) return 0;
    if (size) memcpy(bytes, data, size);
    const int st = http_request_read(&r, bytes, size);
    if (st == HTTP_OK) {
        if (r.size > size || r.size > HTTP_REQUEST_LIMIT || !r.path.size) abort();
        check_span(r.path, bytes, r.size);
        check_span(r.query, bytes, r.size);
        check_span(r.host, bytes, r.size);
        if (http_request_read(&again, bytes, r.size) != HTTP_OK || again.size != r.size) abort();
        if (http_request_read(&again, bytes, r.size - 1) == HTTP_OK) abort();
        check_parameters(&r);
    } else if (!st && size >= HTTP_REQUEST_LIMIT) {
        abort(); /* would be read forever */
    }
    free(bytes);
    return 0;
}
