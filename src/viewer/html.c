/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the template of a page: {{NAME}} is replaced by the part NAME, once each. */
#include "viewer/html.h"

#include <string.h>

#include "viewer/html_parts.h"
#include "viewer/page_blocks.h"
#include "viewer/page_head.h"

extern const char PAGE_HTML_index[];

typedef struct html_parts {
    str script, style, policy, title, noscript, data;
} html_parts;

static void parts_deinit(html_parts *x)
{
    str_deinit(&x->script);
    str_deinit(&x->style);
    str_deinit(&x->policy);
    str_deinit(&x->title);
    str_deinit(&x->noscript);
    str_deinit(&x->data);
}

pgy_status html_data(str *out, const pgy_page *p, bool served, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < p->block_count && !st; i++) {
        const page_block *b = &p->blocks[i];
        if (served && page_block_is_piece(b)) continue;
        str_append(out, "<script type=\"application/json\" id=\"pgy-");
        html_text(out, b->name);
        str_append(out, "\">");
        st = page_block_write(out, p, b, served, err);
        str_append(out, "</script>\n");
    }
    return st;
}

static pgy_status fill(str *out, const html_parts *x, pgy_error *err)
{
    const struct {
        const char *name;
        const str *text;
    } PARTS[] = {{"CSP", &x->policy},    {"TITLE", &x->title},       {"STYLE", &x->style},
                 {"SCRIPT", &x->script}, {"NOSCRIPT", &x->noscript}, {"DATA", &x->data}};
    const char *at = PAGE_HTML_index, *open;
    while ((open = strstr(at, "{{"))) {
        const char *name = open + 2, *close = strstr(name, "}}");
        const str *text = NULL;
        for (size_t i = 0; close && i < sizeof PARTS / sizeof *PARTS; i++)
            if (span_equals((span){name, (size_t)(close - name)}, PARTS[i].name))
                text = PARTS[i].text;
        if (!text)
            return pgy_error_set(err, PGY_E_INTERNAL, "page/index.html has an unknown part '%.20s'",
                                 open);
        str_append_n(out, at, (size_t)(open - at));
        str_append_n(out, str_text(text), text->size);
        at = close + 2;
    }
    str_append(out, at);
    return PGY_OK;
}

pgy_status html_write(str *out, pgy_page *p, bool served, str *policy, pgy_error *err)
{
    html_parts x = {0};
    pgy_status st = page_complete(p, err);
    if (st) return st;
    html_script(&x.script);
    html_style(&x.style);
    html_policy(&x.policy, &x.script, &x.style, served);
    html_text(&x.title, page_title(p));
    html_noscript(&x.noscript, p);
    st = html_data(&x.data, p, served, err);
    if (!st) st = fill(out, &x, err);
    if (policy) str_append(policy, str_text(&x.policy));
    if (!st && (out->failed || x.script.failed || x.style.failed || x.policy.failed ||
                x.title.failed || x.noscript.failed || x.data.failed || (policy && policy->failed)))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while a page is written");
    parts_deinit(&x);
    return st;
}
