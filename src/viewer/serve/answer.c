/* SPDX-License-Identifier: Apache-2.0 */
/* Routes of the server of pages. All paths begin with the site's token:
 *
 *     /TOKEN/                                      the page
 *     /TOKEN/data/stats-0                          a block of its data
 *     /TOKEN/values?graph=0&tensor=17&side=a...    numbers of a tensor
 *     /TOKEN/values.npy?graph=0&tensor=17&side=a   all of them, as a file
 *     /TOKEN/extract?graph=0&input=x&output=y      a part of the model, as a file
 *
 * No path names a file. docs/formats/page.md describes the parameters. */
#include "viewer/serve/answer.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "tensor/npy.h"
#include "viewer/page_blocks.h"
#include "viewer/serve/extract.h"

enum { RANK_LIMIT = 64, NAME_LIMIT = 1024 };

static const char HTML[] = "text/html; charset=utf-8", TEXT[] = "text/plain; charset=utf-8",
                  JSON[] = "application/json", BYTES[] = "application/octet-stream";

void answer_deinit(http_answer *a)
{
    str_deinit(&a->head);
    str_deinit(&a->own);
    pgy_text_free(a->serialized);
    pgy_tensor_release(a->elements);
    *a = (http_answer){0};
}

/* ---- The head ------------------------------------------------------------------------------- */

static const char *reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } REASONS[] = {
        {HTTP_OK, "OK"},
        {HTTP_BAD_REQUEST, "Bad Request"},
        {HTTP_NOT_FOUND, "Not Found"},
        {HTTP_BAD_METHOD, "Method Not Allowed"},
        {HTTP_TIMEOUT, "Request Timeout"},
        {HTTP_TOO_LARGE, "Content Too Large"},
        {HTTP_WRONG_HOST, "Misdirected Request"},
        {HTTP_LONG_HEADER, "Request Header Fields Too Large"},
        {HTTP_BAD_VERSION, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof REASONS / sizeof *REASONS; i++)
        if (REASONS[i].status == status) return REASONS[i].text;
    return "Internal Server Error";
}

/* @param file  name under which a browser saves the body; NULL: it shows it */
static void make_head(http_answer *a, int status, const char *type, const char *file,
                      const char *policy)
{
    const size_t elements = a->elements ? pgy_tensor_size_bytes(a->elements) : 0;
    str_printf(&a->head, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n", status,
               reason(status), type, a->body.size + elements);
    str_printf(&a->head, "Content-Security-Policy: %s; frame-ancestors 'none'\r\n",
               policy ? policy : "default-src 'none'");
    str_append(&a->head, "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
                         "Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\n"
                         "Cross-Origin-Resource-Policy: same-origin\r\n"
                         "Cross-Origin-Opener-Policy: same-origin\r\n");
    if (status == HTTP_BAD_METHOD) str_append(&a->head, "Allow: GET, HEAD\r\n");
    if (file) str_printf(&a->head, "Content-Disposition: attachment; filename=\"%s\"\r\n", file);
    str_printf(&a->head, "Connection: %s\r\n\r\n", a->closes ? "close" : "keep-alive");
}

static void refuse(http_answer *a, int status, const char *text)
{
    str_clear(&a->own);
    str_append_printable(&a->own, text, strlen(text), "");
    str_append_char(&a->own, '\n');
    a->body = (span){str_text(&a->own), a->own.size};
    make_head(a, status, TEXT, NULL, NULL);
}

void answer_refusal(http_answer *out, int status)
{
    *out = (http_answer){.closes = true};
    refuse(out, status, reason(status));
}

/* The status of an error that a request caused. */
static int status_of(pgy_status st)
{
    switch (st) {
    case PGY_E_ARGUMENT:
    case PGY_E_TYPE:
    case PGY_E_SHAPE: return HTTP_BAD_REQUEST;
    case PGY_E_NOT_FOUND:
    case PGY_E_UNSUPPORTED: return HTTP_NOT_FOUND;
    default: return HTTP_INTERNAL;
    }
}

static pgy_status bad_parameter(const char *name, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_ARGUMENT, "parameter '%s' is missing or wrong", name);
}

/* ---- Parameters ----------------------------------------------------------------------------- */

/* Which tensor a request is about. */
typedef struct tensor_place {
    uint32_t graph, tensor;
    int side;
} tensor_place;

static pgy_status read_graph(uint32_t *out, const site *s, span query, pgy_error *err)
{
    uint64_t graph;
    if (!http_number(&graph, query, "graph", 0, s->page->graph_count - 1))
        return bad_parameter("graph", err);
    *out = (uint32_t)graph;
    return PGY_OK;
}

static pgy_status read_place(tensor_place *out, const site *s, span query, pgy_error *err)
{
    uint64_t tensor;
    str side = {0};
    pgy_status st = read_graph(&out->graph, s, query, err);
    if (st) return st;
    const uint32_t count = s->page->graphs[out->graph]->tensor_count;
    if (!count || !http_number(&tensor, query, "tensor", UINT64_MAX, count - 1) || tensor >= count)
        return bad_parameter("tensor", err);
    const bool given = http_parameter(&side, query, "side", 0);
    const char *word = str_text(&side);
    const bool is_b = !strcmp(word, "b");
    if (given && !is_b && strcmp(word, "a") != 0) st = bad_parameter("side", err);
    str_deinit(&side);
    out->tensor = (uint32_t)tensor;
    out->side = is_b;
    return st;
}

/* "0,3,17" */
static pgy_status read_indices(int64_t *out, size_t *count, span query, pgy_error *err)
{
    str text = {0};
    const char *p;
    pgy_status st = PGY_OK;
    *count = 0;
    http_parameter(&text, query, "at", 0);
    for (p = str_text(&text); *p && !st; p += *p == ',') {
        int64_t value = 0;
        const char *start = p;
        for (; *p >= '0' && *p <= '9' && p - start < 18; p++) value = value * 10 + (*p - '0');
        if (p == start || (*p && *p != ',') || *count == RANK_LIMIT)
            st = bad_parameter("at", err);
        else
            out[(*count)++] = value;
    }
    str_deinit(&text);
    return st;
}

static pgy_status read_piece(value_piece *out, int64_t *indices, span query, pgy_error *err)
{
    static const char *const NAMES[] = {"row", "column", "rows", "columns"};
    static const uint64_t FALLBACKS[] = {0, 0, 256, 256};
    uint64_t numbers[4];
    *out = (value_piece){.at = indices};
    for (size_t i = 0; i < 4; i++)
        if (!http_number(&numbers[i], query, NAMES[i], FALLBACKS[i], INT64_MAX))
            return bad_parameter(NAMES[i], err);
    out->row = (int64_t)numbers[0];
    out->column = (int64_t)numbers[1];
    out->rows = (int64_t)numbers[2];
    out->columns = (int64_t)numbers[3];
    return read_indices(indices, &out->at_count, query, err);
}

static pgy_status read_names(strvec *out, span query, const char *name, pgy_error *err)
{
    str text = {0};
    pgy_status st = PGY_OK;
    while (!st && http_parameter(&text, query, name, out->count)) {
        if (out->count == NAME_LIMIT) st = bad_parameter(name, err);
        if (!st && !strvec_push(out, str_text(&text)))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        str_clear(&text);
    }
    str_deinit(&text);
    return st;
}

/* ---- Routes --------------------------------------------------------------------------------- */

/* Each makes the body and the head, or fails. `rest` is the path behind the route. */

static pgy_status give_page(http_answer *a, site *s, span rest, span query, pgy_error *err)
{
    (void)query;
    if (rest.size) return pgy_error_set(err, PGY_E_NOT_FOUND, "no such path");
    a->body = (span){str_text(&s->html), s->html.size};
    make_head(a, HTTP_OK, HTML, NULL, str_text(&s->policy));
    return PGY_OK;
}

static pgy_status give_block(http_answer *a, site *s, span rest, span query, pgy_error *err)
{
    (void)query;
    const page_block *b = page_block_find(s->page, rest);
    if (!b) return pgy_error_set(err, PGY_E_NOT_FOUND, "the page has no such block");
    pgy_status st = page_block_write(&a->own, s->page, b, true, err);
    if (st) return st;
    a->body = (span){str_text(&a->own), a->own.size};
    make_head(a, HTTP_OK, JSON, NULL, NULL);
    return PGY_OK;
}

static pgy_status give_values(http_answer *a, site *s, span rest, span query, pgy_error *err)
{
    tensor_place at;
    value_piece piece;
    int64_t indices[RANK_LIMIT];
    pgy_tensor *t = NULL;
    if (rest.size) return pgy_error_set(err, PGY_E_NOT_FOUND, "no such path");
    pgy_status st = read_place(&at, s, query, err);
    if (!st) st = read_piece(&piece, indices, query, err);
    if (!st) st = page_values_get(&t, &s->values, at.graph, at.tensor, at.side, err);
    if (!st) st = page_values_write(&a->own, t, piece, err);
    if (st) return st;
    a->body = (span){str_text(&a->own), a->own.size};
    make_head(a, HTTP_OK, JSON, NULL, NULL);
    return PGY_OK;
}

/* NumPy lacks types such as bfloat16: their values become float32. */
static pgy_status with_npy_type(pgy_tensor **t, pgy_error *err)
{
    pgy_tensor *cast = NULL;
    if (pgy_dtype_describe(pgy_tensor_dtype(*t))->npy) {
        pgy_tensor_retain(*t);
        return PGY_OK;
    }
    pgy_status st = pgy_tensor_cast(&cast, pgy_tensor_view(*t), PGY_F32, err);
    if (!st) *t = cast;
    return st;
}

/* The name of a tensor's file: runs of other characters than letters, digits and ._- are one _, as
 * in page/sidebar_values.js, so that no name of a model leaves the header or a folder. */
static void put_file_name(str *out, const char *name, int side)
{
    const size_t most = 80;
    for (const char *p = name; *p && out->size < most; p++) {
        const bool is_plain = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
                              (*p >= 'A' && *p <= 'Z');
        if (is_plain || (out->size && (*p == '.' || *p == '-')))
            str_append_char(out, *p);
        else if (out->size && str_text(out)[out->size - 1] != '_')
            str_append_char(out, '_');
    }
    str_append(out, out->size ? "" : "tensor");
    str_append(out, side ? "_B.npy" : "_A.npy");
}

static pgy_status give_npy(http_answer *a, site *s, span rest, span query, pgy_error *err)
{
    tensor_place at;
    pgy_tensor *t = NULL;
    str name = {0};
    if (rest.size) return pgy_error_set(err, PGY_E_NOT_FOUND, "no such path");
    pgy_status st = read_place(&at, s, query, err);
    if (!st) st = page_values_get(&t, &s->values, at.graph, at.tensor, at.side, err);
    if (!st && pgy_tensor_dtype(t) == PGY_STRING)
        st = pgy_error_set(err, PGY_E_TYPE, "the tensor has texts, not numbers");
    if (!st) st = with_npy_type(&t, err);
    if (st) return st;
    a->elements = t;
    st = npy_header_write(&a->own, pgy_tensor_dtype(t), 0, pgy_tensor_rank(t), pgy_tensor_shape(t),
                          err);
    if (st) return st;
    a->body = (span){str_text(&a->own), a->own.size};
    put_file_name(&name, s->page->graphs[at.graph]->tensors[at.tensor].name, at.side);
    make_head(a, HTTP_OK, BYTES, str_text(&name), NULL);
    if (name.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    str_deinit(&name);
    return st;
}

static pgy_status give_part(http_answer *a, site *s, span rest, span query, pgy_error *err)
{
    strvec inputs = {0}, outputs = {0};
    pgy_model *model = NULL;
    uint32_t graph = 0;
    size_t size = 0;
    if (rest.size) return pgy_error_set(err, PGY_E_NOT_FOUND, "no such path");
    pgy_status st = read_graph(&graph, s, query, err);
    if (!st) st = read_names(&inputs, query, "input", err);
    if (!st) st = read_names(&outputs, query, "output", err);
    if (!st) st = page_values_model(&model, &s->values, graph, err);
    if (!st) st = model_part(&a->serialized, &size, model, &inputs, &outputs, err);
    strvec_deinit(&inputs);
    strvec_deinit(&outputs);
    if (st) return st;
    a->body = (span){a->serialized, size};
    make_head(a, HTTP_OK, BYTES, "part.onnx", NULL);
    return PGY_OK;
}

static const struct {
    const char *path; /* behind the token */
    pgy_status (*give)(http_answer *a, site *s, span rest, span query, pgy_error *err);
} ROUTES[] = {
    {"data/", give_block},  {"values.npy", give_npy}, {"values", give_values},
    {"extract", give_part}, {"", give_page},
};

/* ---- Answers -------------------------------------------------------------------------------- */

/* A page of another site can make a browser send requests here under a name of its own, but then
 * Host has that name. */
static bool is_own_host(const site *s, span host)
{
    static const char *const NAMES[] = {"127.0.0.1", "localhost"};
    char text[64];
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        snprintf(text, sizeof text, "%s:%u", NAMES[i], s->port);
        if (span_equals(host, text)) return true;
    }
    return false;
}

/* Takes "/TOKEN/" off the path. The time does not depend on how much of the token is right. */
static bool take_token(span *path, const site *s)
{
    unsigned difference = 0;
    if (path->size < SITE_TOKEN_SIZE + 2) return false;
    for (size_t i = 0; i < SITE_TOKEN_SIZE; i++)
        difference |= (unsigned char)(path->data[i + 1] ^ s->token[i]);
    if (difference || path->data[SITE_TOKEN_SIZE + 1] != '/') return false;
    path->data += SITE_TOKEN_SIZE + 2;
    path->size -= SITE_TOKEN_SIZE + 2;
    return true;
}

static pgy_status route(http_answer *a, site *s, const http_request *r, pgy_error *err)
{
    span path = r->path;
    if (!take_token(&path, s))
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "open the whole address that the program printed");
    for (size_t i = 0; i < sizeof ROUTES / sizeof *ROUTES; i++) {
        const size_t size = strlen(ROUTES[i].path);
        if (path.size >= size && !memcmp(path.data, ROUTES[i].path, size))
            return ROUTES[i].give(a, s, (span){path.data + size, path.size - size}, r->query, err);
    }
    return pgy_error_set(err, PGY_E_NOT_FOUND, "no such path");
}

void answer_make(http_answer *out, site *s, const http_request *r)
{
    pgy_error err = {0};
    *out = (http_answer){.closes = !r->keep_alive};
    if (!is_own_host(s, r->host)) {
        out->closes = true;
        refuse(out, HTTP_WRONG_HOST, reason(HTTP_WRONG_HOST));
    } else {
        const pgy_status st = route(out, s, r, &err);
        if (st) {
            const bool closes = out->closes;
            answer_deinit(out);
            out->closes = closes;
            refuse(out, status_of(st), err.text);
        }
    }
    if (r->is_head) { /* the head tells the size of the body that GET would give */
        out->body.size = 0;
        pgy_tensor_release(out->elements);
        out->elements = NULL;
    }
}
