/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: a model of any bytes becomes a page whose markup is that of the template and the blocks
 * alone, and whose data can be parsed; what cannot be loaded is no page. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/html.h"
#include "viewer/page_blocks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

/* Each block has an element, and the script one. */
static void check_markup(const pgy_page *p, const str *html)
{
    const char *text = str_text(html);
    if (strlen(text) != html->size) abort();
    if (count(text, "<script") != p->block_count + 1) abort();
    if (count(text, "</script") != p->block_count + 1) abort();
    if (count(text, "<!--") || count(text, "</noscript") != 1 || count(text, "</title") != 1)
        abort();
}

static void check_data(const pgy_page *p)
{
    for (size_t i = 0; i < p->block_count; i++) {
        arena memory = {0};
        str text = {0};
        json_value *v = NULL;
        if (page_block_write(&text, p, &p->blocks[i], false, NULL)) abort();
        if (json_parse(&v, str_text(&text), text.size, &memory, NULL)) abort();
        str_deinit(&text);
        arena_deinit(&memory);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pgy_model_load_options options = {.size = sizeof options, .ignore_external_data = true};
    const pgy_page_options page_options = {.size = sizeof page_options, .layout_seconds = 0.1};
    pgy_model *m = NULL;
    pgy_page *p = NULL;
    str html = {0};
    if (pgy_model_parse(&m, data, size, false, &options, NULL)) return 0;
    if (pgy_page_create(&p, &page_options, NULL)) abort();
    if (!pgy_page_add_model(p, m, pgy_model_proto(m)->producer_name, NULL) &&
        !html_write(&html, p, false, NULL, NULL)) {
        check_markup(p, &html);
        check_data(p);
    }
    str_deinit(&html);
    pgy_page_destroy(p);
    pgy_model_destroy(m);
    return 0;
}
