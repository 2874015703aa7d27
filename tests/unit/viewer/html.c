/* SPDX-License-Identifier: Apache-2.0 */
/* A page as HTML: its parts, its policy, and names that try to leave their place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/sha256.h"
#include "harness/model_builder.h"
#include "viewer/html.h"
#include "viewer/html_parts.h"

static pgy_page *page_of(pgy_model *m, const char *title)
{
    pgy_error err = {0};
    pgy_page *p = NULL;
    const pgy_page_options options = {.size = sizeof options, .title = title};
    if (pgy_page_create(&p, &options, &err) || pgy_page_add_model(p, m, "net.onnx", &err))
        fail_msg("%s", err.text);
    pgy_model_destroy(m);
    return p;
}

static pgy_model *model_named(const char *name)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 3");
    pgy_onnx_node *n = builder_node(&b, "Relu", "x", "y");
    n->name = name;
    n->doc_string = name;
    builder_output(&b, "y", PGY_F32, "N, 3");
    b.graph->name = name;
    b.proto->producer_name = name;
    return builder_finish(&b);
}

static void write(str *out, pgy_page *p, bool served, str *policy)
{
    pgy_error err = {0};
    if (html_write(out, p, served, policy, &err)) fail_msg("%s", err.text);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

/* The text between two others. */
static span between(const char *text, const char *from, const char *to)
{
    const char *start = strstr(text, from);
    assert_non_null(start);
    start += strlen(from);
    const char *end = strstr(start, to);
    assert_non_null(end);
    return (span){start, (size_t)(end - start)};
}

static void test_html__has_all_parts_and_no_placeholder(void **state)
{
    (void)state;
    str text = {0};
    pgy_page *p = page_of(model_named("relu"), NULL);
    write(&text, p, false, NULL);
    const char *html = str_text(&text);
    assert_null(strstr(html, "{{"));
    assert_int_equal(count(html, "<title>net.onnx</title>"), 1);
    assert_int_equal(count(html, "id=\"pgy-head\""), 1);
    assert_int_equal(count(html, "id=\"pgy-graph-0\""), 1);
    assert_int_equal(count(html, "id=\"pgy-results\""), 1);
    assert_non_null(strstr(html, "<td><bdi>relu</bdi></td><td><bdi>Relu</bdi></td>"));
    str_deinit(&text);
    pgy_page_destroy(p);
}

static void expect_hash(span part, span policy, const char *directive)
{
    uint8_t hash[SHA256_SIZE];
    char code[64] = {0}, expected[128];
    char *copy = strndup(policy.data, policy.size);
    sha256(hash, part.data, part.size);
    base64_encode(code, hash, sizeof hash);
    snprintf(expected, sizeof expected, "%s 'sha256-%s';", directive, code);
    assert_non_null(strstr(copy, expected));
    free(copy);
}

/* A browser runs the script and takes the style only if these hashes are those of the parts. */
static void test_html__policy_has_the_hashes_of_script_and_style(void **state)
{
    (void)state;
    str text = {0}, policy = {0};
    pgy_page *p = page_of(model_named("relu"), NULL);
    write(&text, p, false, &policy);
    const char *html = str_text(&text);
    const span rule = between(html, "Content-Security-Policy\" content=\"", "\"");
    assert_true(span_equals(rule, str_text(&policy)));
    expect_hash(between(html, "<style>", "</style>"), rule, "style-src");
    expect_hash(between(html, "<script type=\"module\">", "</script>"), rule, "script-src");
    assert_non_null(strstr(str_text(&policy), "default-src 'none'; "));
    assert_non_null(strstr(str_text(&policy), "connect-src 'none'; "));
    str_clear(&text);
    str_clear(&policy);
    write(&text, p, true, &policy);
    assert_non_null(strstr(str_text(&policy), "connect-src 'self'; "));
    str_deinit(&text);
    str_deinit(&policy);
    pgy_page_destroy(p);
}

static const char *const HOSTILE[] = {
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>--></noscript></title><img src=x onerror=alert(1)>",
    "\"'><b onmouseover=alert(1)>",
    "&lt;script&gt;&amp;",
    "\xe2\x80\xae\xe2\x81\xa6 right to left \xe2\x80\xa8\xe2\x80\xa9",
    "\x01\x02\x1b[31m\r\n\t\x7f",
    "\xff\xfe\xc0\xaf\xed\xa0\x80",
    "{{SCRIPT}}{{DATA}}",
    "__proto__",
};

/* Tags and the sizes of elements are those of a page with a harmless name. */
static void test_html__hostile_names_stay_text(void **state)
{
    (void)state;
    str plain = {0};
    pgy_page *p = page_of(model_named("relu"), "relu");
    write(&plain, p, false, NULL);
    pgy_page_destroy(p);
    for (size_t i = 0; i < sizeof HOSTILE / sizeof *HOSTILE; i++) {
        str text = {0};
        p = page_of(model_named(HOSTILE[i]), HOSTILE[i]);
        write(&text, p, false, NULL);
        static const char *const MARKUP[] = {"<",    ">",          "</script", "<script",
                                             "<!--", "</noscript", "</title"};
        for (size_t k = 0; k < sizeof MARKUP / sizeof *MARKUP; k++)
            assert_int_equal(count(str_text(&text), MARKUP[k]), count(str_text(&plain), MARKUP[k]));
        assert_null(strstr(str_text(&text), "\xe2\x80\xae"));
        assert_null(strchr(str_text(&text), 0x01));
        assert_null(strchr(str_text(&text), 0xff));
        assert_int_equal(strlen(str_text(&text)), text.size);
        pgy_page_destroy(p);
        str_deinit(&text);
    }
    str_deinit(&plain);
}

static void test_html__a_long_name_is_cut_only_where_nobody_needs_it_whole(void **state)
{
    (void)state;
    char name[10001];
    memset(name, 'n', 10000);
    name[10000] = 0;
    str text = {0};
    pgy_page *p = page_of(model_named(name), NULL);
    write(&text, p, false, NULL);
    assert_true(count(str_text(&text), name) > 0);
    const span row = between(str_text(&text), "<td><bdi>nn", "</bdi>");
    assert_true(row.size < 300);
    str_deinit(&text);
    pgy_page_destroy(p);
}

/* ---- The script's parts --------------------------------------------------------------------- */

typedef struct module {
    const char *name, *text;
} module;

#define STYLE(name_)
#define MODULE(name_) extern const char PAGE_JS_##name_[];
#include "viewer/page/modules.def"
#undef MODULE
static const module MODULES[] = {
#define MODULE(name_) {#name_, PAGE_JS_##name_},
#include "viewer/page/modules.def"
};

/* The word at p. */
static span word_at(const char *p)
{
    size_t n = 0;
    while (p[n] == '_' || p[n] == '$' || (p[n] >= '0' && p[n] <= '9') ||
           (p[n] >= 'a' && p[n] <= 'z') || (p[n] >= 'A' && p[n] <= 'Z'))
        n++;
    return (span){p, n};
}

/* The name that a line declares at the top level; empty: none. */
static span declared(const char *line)
{
    static const char *const WORDS[] = {"export ", "async ", "function ", "function* ",
                                        "class ",  "const ", "let ",      "var "};
    const char *p = line;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (str_starts_with(p, WORDS[i])) p += strlen(WORDS[i]);
    return p == line ? (span){p, 0} : word_at(p);
}

static void check_import(const module *m, const char *line, const strmap *before)
{
    char text[1024];
    const size_t size = strcspn(line, "\n");
    assert_true(size < sizeof text);
    memcpy(text, line, size);
    text[size] = 0;
    const char *from = strstr(text, "} from './");
    if (!str_starts_with(text, "import {") || !from || !str_ends_with(text, ".js';") ||
        strstr(text, " as "))
        fail_msg("%s.js: '%s' is not a plain import in one line", m->name, text);
    const span name = word_at(from + strlen("} from './"));
    if (!strmap_get_n(before, name.data, name.size))
        fail_msg("%s.js imports %.*s.js, which comes later in modules.def", m->name, (int)name.size,
                 name.data);
}

/* Lines lose their indentation, so a template literal must end in its line. */
static void check_literals(const module *m, const char *line)
{
    size_t quotes = 0;
    const size_t size = strcspn(line, "\n");
    for (size_t i = 0; i < size; i++) quotes += line[i] == '`';
    if (quotes % 2)
        fail_msg("%s.js: a template literal goes on in the next line: '%.*s'", m->name, (int)size,
                 line);
}

static void check_line(const module *m, const char *line, strmap *names)
{
    check_literals(m, line);
    const span name = declared(line);
    if (!name.size) return;
    const char *other = strmap_get_n(names, name.data, name.size);
    if (other)
        fail_msg("%s.js and %s.js both declare %.*s", other, m->name, (int)name.size, name.data);
    assert_true(strmap_put_n(names, name.data, name.size, (void *)m->name));
    if (str_starts_with(line, "export default")) fail_msg("%s.js has a default export", m->name);
}

/* The rules of src/viewer/page/README.md, without which the joined script would not run. */
static void test_html__modules_can_be_joined(void **state)
{
    (void)state;
    strmap names = {0}, before = {0};
    for (size_t i = 0; i < sizeof MODULES / sizeof *MODULES; i++) {
        const module *m = &MODULES[i];
        for (const char *line = m->text; *line;) {
            if (str_starts_with(line, "import")) check_import(m, line, &before);
            check_line(m, line, &names);
            line += strcspn(line, "\n");
            line += *line == '\n';
        }
        assert_null(strstr(m->text, "</script"));
        assert_null(strstr(m->text, "<!--"));
        assert_true(strmap_put(&before, m->name, (void *)m->name));
    }
    strmap_deinit(&names);
    strmap_deinit(&before);
}

static void test_html__the_script_has_no_imports_exports_and_comments(void **state)
{
    (void)state;
    str script = {0};
    html_script(&script);
    assert_null(strstr(str_text(&script), "\nimport "));
    assert_null(strstr(str_text(&script), "\nexport "));
    assert_null(strstr(str_text(&script), "\n//"));
    assert_null(strstr(str_text(&script), "\n/*"));
    assert_non_null(strstr(str_text(&script), "\nclass Data "));
    str_deinit(&script);
}
