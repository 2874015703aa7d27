/* SPDX-License-Identifier: Apache-2.0 */
/* Netron's attachments: what is written comes back, and files of other programs can be read. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "viewer/attachment.h"

static const char MODEL[] = TEST_SOURCE_DIR "/examples/models/digits.onnx";
static pgy_error err;

static void good(pgy_status st, const char *call)
{
    if (st) fail_msg("%s: %s: %s", call, pgy_status_name(st), err.text);
}
#define GOOD(call) good(call, #call)

static pgy_page *open_page(void)
{
    pgy_page *p;
    GOOD(pgy_page_create(&p, NULL, &err));
    GOOD(pgy_page_add(p, MODEL, &err));
    return p;
}

static view_quantity *add(pgy_page *p, const view_quantity *like)
{
    view_quantity *q;
    GOOD(view_quantity_add(&q, &p->results, p->graphs[0], like, &err));
    return q;
}

/* Each node and tensor that has a name of its own. */
static uint32_t named(const view_graph *g, view_of of, uint32_t from)
{
    const uint32_t count = of == VIEW_OF_NODE ? g->node_count : g->tensor_count;
    for (uint32_t i = from; i < count; i++) {
        const char *name = of == VIEW_OF_NODE ? g->nodes[i].name : g->tensors[i].name;
        if (*name &&
            (of == VIEW_OF_NODE ? view_graph_node(g, name) : view_graph_tensor(g, name)) == i)
            return i;
    }
    fail_msg("the model has too few names");
    return 0;
}

static void fill(pgy_page *p)
{
    static const char *const TYPES[] = {"float32", "float16"};
    const view_graph *g = p->graphs[0];
    view_quantity *q = add(p, &(view_quantity){.id = "maxabs",
                                               .label = "largest absolute error",
                                               .group = "accuracy",
                                               .of = VIEW_OF_TENSOR,
                                               .scale = VIEW_LOG,
                                               .better = VIEW_BETTER_LOW});
    uint32_t at = named(g, VIEW_OF_TENSOR, 0);
    view_quantity_set(q, at, 1.2345678901234567e-7);
    at = named(g, VIEW_OF_TENSOR, at + 1);
    view_quantity_set(q, at, 0);
    at = named(g, VIEW_OF_TENSOR, at + 1);
    view_quantity_set(q, at, NAN);
    at = named(g, VIEW_OF_TENSOR, at + 1);
    view_quantity_set(q, at, -INFINITY);
    q = add(p, &(view_quantity){.id = "time",
                                .label = "time, median",
                                .unit = "us",
                                .group = "time",
                                .of = VIEW_OF_NODE,
                                .scale = VIEW_LOG,
                                .fold = VIEW_FOLD_SUM,
                                .better = VIEW_BETTER_LOW});
    at = named(g, VIEW_OF_NODE, 0);
    view_quantity_set(q, at, 12.5);
    q = add(p, &(view_quantity){.id = "precision",
                                .label = "precision",
                                .group = "type",
                                .of = VIEW_OF_NODE,
                                .scale = VIEW_CATEGORY,
                                .fold = VIEW_FOLD_SAME,
                                .names = TYPES,
                                .name_count = 2});
    view_quantity_set(q, at, 1);
    const view_mark mark = {.at = at, .of = VIEW_OF_NODE, .kind = VIEW_MARK_FIRST, .text = "here"};
    GOOD(view_mark_add(&p->results, &mark, &err));
}

static bool equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void assert_same(const view_quantity *a, const view_quantity *b)
{
    assert_non_null(b);
    assert_string_equal(a->label, b->label);
    assert_string_equal(a->unit, b->unit);
    assert_string_equal(a->group, b->group);
    assert_true(a->of == b->of && a->scale == b->scale && a->fold == b->fold &&
                a->better == b->better && a->count == b->count && a->name_count == b->name_count);
    for (uint32_t i = 0; i < a->count; i++) {
        assert_int_equal(a->is_measured[i], b->is_measured[i]);
        if (a->is_measured[i]) assert_true(equal(a->values[i], b->values[i]));
    }
    for (uint32_t i = 0; i < a->name_count; i++) assert_string_equal(a->names[i], b->names[i]);
}

static void test_attachment__round_trip(void **state)
{
    (void)state;
    char dir[] = "attachment-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char *path = path_join(dir, "a.json");
    assert_non_null(path);
    pgy_page *a = open_page(), *b = open_page();
    fill(a);
    GOOD(view_attachment_save(a, path, &err));
    GOOD(pgy_page_add(b, path, &err));
    for (size_t i = 0; i < a->results.quantity_count; i++)
        assert_same(&a->results.quantities[i],
                    view_quantity_find(&b->results, a->results.quantities[i].id, 0));
    const view_quantity *precision = view_quantity_find(&b->results, "precision", 0);
    assert_string_equal(precision->names[1], "float16");
    size_t marks = 0;
    for (size_t i = 0; i < b->results.mark_count; i++)
        if (b->results.marks[i].kind == VIEW_MARK_FIRST) {
            marks++;
            assert_string_equal(b->results.marks[i].text, "here");
            assert_int_equal(b->results.marks[i].at,
                             a->results.marks[a->results.mark_count - 1].at);
        }
    assert_int_equal(marks, 1);
    pgy_page_destroy(a);
    pgy_page_destroy(b);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
    mem_free(path);
}

/* ---- Files of other programs ---------------------------------------------------------------- */

static pgy_status add_text(pgy_page *p, const char *text)
{
    char path[] = "attachment-XXXXXX.json";
    const int file = mkstemps(path, 5);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    const pgy_status st = pgy_page_add(p, path, &err);
    unlink(path);
    return st;
}

static void test_attachment__foreign(void **state)
{
    (void)state;
    pgy_page *p = open_page();
    const view_graph *g = p->graphs[0];
    const uint32_t node = named(g, VIEW_OF_NODE, 0), other = named(g, VIEW_OF_NODE, node + 1),
                   tensor = named(g, VIEW_OF_TENSOR, 0);
    str text = {0};
    str_printf(
        &text,
        "{\"signature\": \"netron:attachment\", \"metrics\": [\n"
        "{\"kind\": \"node\", \"target\": \"%s\", \"name\": \"Latency [ms]\", \"value\": 0.002},\n"
        "{\"kind\": \"node\", \"target\": \"%s\", \"name\": \"Latency [ms]\", \"value\": 7},\n"
        "{\"kind\": \"node\", \"target\": \"%s\", \"name\": \"Latency [ms]\", \"value\": \"x\"},\n"
        "{\"kind\": \"node\", \"target\": \"no such node\", \"name\": \"Latency [ms]\", \"value\": "
        "7},\n"
        "{\"kind\": \"value\", \"target\": \"%s\", \"name\": \"loss\", \"value\": -3},\n"
        "{\"kind\": \"value\", \"target\": \"%s\", \"name\": \"layout\", \"value\": \"NCHW\", "
        "\"type\": \"string\"},\n"
        "{\"kind\": \"model\", \"target\": \"\", \"name\": \"x\", \"value\": 3}, 17, null],\n"
        "\"metadata\": [{\"kind\": \"graph\", \"target\": \"\", \"name\": \"device\", \"value\": "
        "\"phone\"}]}",
        g->nodes[node].name, g->nodes[other].name, g->nodes[other].name, g->tensors[tensor].name,
        g->tensors[tensor].name);
    good(add_text(p, str_text(&text)), "add");
    const view_quantity *latency = view_quantity_find(&p->results, "latency__ms_", 0),
                        *loss = view_quantity_find(&p->results, "loss_of_tensor", 0),
                        *layout = view_quantity_find(&p->results, "layout_of_tensor", 0);
    assert_non_null(latency);
    assert_string_equal(latency->label, "Latency [ms]");
    assert_true(latency->scale == VIEW_LOG && latency->of == VIEW_OF_NODE);
    assert_true(latency->values[node] == 0.002 && latency->values[other] == 7);
    assert_true(loss->scale == VIEW_LINEAR && loss->values[tensor] == -3);
    assert_true(layout->scale == VIEW_CATEGORY && layout->is_measured[tensor]);
    assert_string_equal(layout->names[(int)layout->values[tensor]], "NCHW");
    assert_int_equal(pgy_page_warning_count(p), 2); /* the text, and the unknown node */
    assert_non_null(strstr(pgy_page_warning(p, 0), "1 values are left out"));
    assert_non_null(strstr(pgy_page_warning(p, 1), "'no such node'"));
    str_deinit(&text);
    pgy_page_destroy(p);
}

static void test_attachment__hostile(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {"{\"signature\": \"netron:attachment\"}",
                                        "{\"signature\": \"netron:attachment\", \"metrics\": {}, "
                                        "\"metadata\": 3, \"quantities\": \"x\"}",
                                        "{\"signature\": \"netron:attachment\", \"metrics\": "
                                        "[{\"kind\": 3, \"target\": [], \"name\": {}}]}",
                                        "{\"signature\": \"netron:attachment\", \"quantities\": "
                                        "[{\"id\": \"\", \"name\": \"a\", \"of\": "
                                        "\"node\", \"scale\": \"log\"}, {\"id\": \"b\", \"name\": "
                                        "\"b\", \"of\": \"node\", \"scale\": 7}, "
                                        "{\"id\": \"c\", \"name\": \"c\", \"of\": \"tensor\", "
                                        "\"scale\": \"category\", \"names\": [1, null]}]}"};
    pgy_page *p = open_page();
    const size_t known = p->results.quantity_count;
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) good(add_text(p, TEXTS[i]), TEXTS[i]);
    assert_int_equal(p->results.quantity_count, known);
    /* Of more names than anyone can look at the rest is left out. */
    str text = {0};
    const view_graph *g = p->graphs[0];
    str_append(&text, "{\"signature\": \"netron:attachment\", \"metrics\": [");
    for (int i = 0; i < 100; i++)
        str_printf(&text,
                   "%s{\"kind\": \"node\", \"target\": \"%s\", \"name\": \"n%d\", \"value\": 1}",
                   i ? "," : "", g->nodes[named(g, VIEW_OF_NODE, 0)].name, i);
    str_append(&text, "]}");
    good(add_text(p, str_text(&text)), "many");
    assert_int_equal(p->results.quantity_count, known + 64);
    assert_non_null(strstr(pgy_page_warning(p, pgy_page_warning_count(p) - 1),
                           "36 values are left out: the file has more than 64 figures"));
    str_deinit(&text);
    pgy_page_destroy(p);
}

/* An id that another file uses for something else is not overwritten. */
static void test_attachment__id_in_use(void **state)
{
    (void)state;
    pgy_page *p = open_page();
    const view_graph *g = p->graphs[0];
    const uint32_t node = named(g, VIEW_OF_NODE, 0);
    str text = {0};
    view_quantity_set(add(p, &(view_quantity){.id = "state",
                                              .label = "health",
                                              .group = "health",
                                              .of = VIEW_OF_TENSOR,
                                              .scale = VIEW_CATEGORY}),
                      0, 0);
    str_printf(
        &text,
        "{\"signature\": \"netron:attachment\", \"metrics\": [{\"kind\": \"node\", \"target\": "
        "\"%s\", \"name\": \"State\", \"value\": 5}]}",
        g->nodes[node].name);
    good(add_text(p, str_text(&text)), "state");
    assert_true(view_quantity_find(&p->results, "state", 0)->of == VIEW_OF_TENSOR);
    assert_true(view_quantity_find(&p->results, "state_attached", 0)->values[node] == 5);
    str_deinit(&text);
    pgy_page_destroy(p);
}
