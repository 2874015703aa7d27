/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of one model or two: whatever their bytes are, what a page contains of it cannot leave its
 * elements, and its data can be parsed; what cannot be loaded is no page. The template, the script
 * and their hashes are the same for all pages and a hundred times as long as the rest: a unit test
 * looks at them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/html_parts.h"
#include "viewer/page_blocks.h"
#include "viewer/page_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(const str *s, const char *part)
{
    const char *at = str_text(s);
    size_t n = 0;
    if (strlen(at) != s->size) abort();
    for (; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

/* Each block has an element, and texts of the model open or end none. */
static void check_markup(const pgy_page *p, str *data, str *noscript, str *title)
{
    html_text(title, page_title(p));
    html_noscript(noscript, p);
    if (html_data(data, p, false, NULL)) abort();
    if (data->failed || noscript->failed || title->failed) abort();
    if (count(data, "<") != 2 * p->block_count || count(data, "<script ") != p->block_count ||
        count(data, "</script>\n") != p->block_count)
        abort();
    if (count(title, "<") || count(noscript, "<s") || count(noscript, "</noscript") ||
        count(noscript, "<!") || count(noscript, "<i"))
        abort();
}

/* The texts of the elements are JSON. */
static void check_data(const str *data)
{
    for (const char *at = str_text(data); *at;) {
        arena memory = {0};
        json_value *v = NULL;
        const char *start = strchr(at, '>') + 1, *end = strchr(start, '<');
        if (json_parse(&v, start, (size_t)(end - start), &memory, NULL)) abort();
        arena_deinit(&memory);
        at = strchr(end, '\n') + 1;
    }
}

/* Adds the model of these bytes. False: they are none. */
static bool add(pgy_page *p, const uint8_t *data, size_t size)
{
    const pgy_model_load_options options = {.size = sizeof options, .ignore_external_data = true};
    pgy_model *m = NULL;
    if (pgy_model_parse(&m, data, size, false, &options, NULL)) return false;
    const bool added = !pgy_page_add_model(p, m, pgy_model_proto(m)->producer_name, NULL);
    pgy_model_destroy(m);
    return added;
}

/* A zero, with which no model begins, the size of the first of two models that are compared, and
 * both; or one model. */
static bool add_models(pgy_page *p, const uint8_t *data, size_t size)
{
    if (size < 3 || data[0] != 0) return add(p, data, size);
    const size_t first = (size_t)data[1] << 8 | data[2];
    return first <= size - 3 && add(p, data + 3, first) &&
           add(p, data + 3 + first, size - 3 - first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pgy_page_options options = {.size = sizeof options, .layout_seconds = 0.1};
    pgy_page *p = NULL;
    str blocks = {0}, noscript = {0}, title = {0};
    if (pgy_page_create(&p, &options, NULL)) abort();
    if (add_models(p, data, size) && !page_complete(p, NULL)) {
        check_markup(p, &blocks, &noscript, &title);
        check_data(&blocks);
    }
    str_deinit(&blocks);
    str_deinit(&noscript);
    str_deinit(&title);
    pgy_page_destroy(p);
    return 0;
}
