/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the server of pages: what a request gets, without sockets. */
#ifndef VIEWER_SERVE_ANSWER_H
#define VIEWER_SERVE_ANSWER_H

#include "viewer/serve/request.h"
#include "viewer/serve/values.h"

enum { SITE_TOKEN_SIZE = 32 };

/* What is served, and to whom. */
typedef struct site {
    pgy_page *page;
    page_values values;
    char token[SITE_TOKEN_SIZE + 1]; /* first part of all paths: the address is the permission */
    uint16_t port;
    str html, policy; /* the page */
} site;

/* Makes the page, and a token from the system's random numbers. */
pgy_status site_init(site *s, pgy_page *p, pgy_error *err) PGY_MUST_CHECK;
void site_deinit(site *s);

/* The bytes of an answer: head, then body, then the elements of a tensor. */
typedef struct http_answer {
    str head;
    span body; /* points into `own`, `serialized` or the site */
    str own;
    void *serialized;
    pgy_tensor *elements; /* NULL: none */
    bool closes;          /* the connection ends with this answer */
} http_answer;

void answer_deinit(http_answer *a);
/* Answers a request. */
void answer_make(http_answer *out, site *s, const http_request *r);
/* Answers what could not be read. */
void answer_refusal(http_answer *out, int status);

#endif
