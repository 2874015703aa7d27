/* SPDX-License-Identifier: Apache-2.0 */
/* Two compared models of which each has results: times and errors side by side. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "viewer/page.h"

#define DATA TEST_SOURCE_DIR "/tests/data/viewer/"

static pgy_error err;

#define GOOD(call) \
    if (call) fail_msg("%s", err.text)

static pgy_page *compare(const char *of_a, const char *of_b)
{
    pgy_page *p = NULL;
    GOOD(pgy_page_create(&p, NULL, &err));
    if (of_b) GOOD(pgy_page_add_results(p, of_b, PGY_PAGE_B, 0, &err));
    GOOD(pgy_page_add(p, DATA "net.onnx", &err));
    GOOD(pgy_page_add(p, DATA "net_wrong.onnx", &err));
    if (of_a) GOOD(pgy_page_add(p, of_a, &err));
    GOOD(page_complete(p, &err));
    return p;
}

static double value_of(const pgy_page *p, const char *id, uint32_t graph, const char *name)
{
    const view_quantity *q = view_quantity_find(&p->results, id, graph);
    if (!q) fail_msg("graph %u has no '%s'", graph, id);
    const uint32_t at = q->of == VIEW_OF_NODE ? view_graph_node(p->graphs[graph], name)
                                              : view_graph_tensor(p->graphs[graph], name);
    assert_true(at < q->count && q->is_measured[at]);
    return q->values[at];
}

static uint32_t column_of(const view_table *t, const char *name)
{
    for (uint32_t i = 0; i < t->column_count; i++)
        if (strcmp(t->columns[i].name, name) == 0) return i;
    fail_msg("no column '%s'", name);
    return 0;
}

static const view_cell *cell_of(const view_table *t, size_t row, const char *column)
{
    assert_true(row < t->row_count);
    return &t->cells[row * t->column_count + column_of(t, column)];
}

static size_t row_of(const view_table *t, const char *name)
{
    for (size_t i = 0; i < t->row_count; i++)
        if (t->cells[i * t->column_count].text && !strcmp(t->cells[i * t->column_count].text, name))
            return i;
    fail_msg("no row '%s'", name);
    return 0;
}

static void test_diff_results__times_of_both_are_compared(void **state)
{
    (void)state;
    pgy_page *p = compare(DATA "trace_a.json", DATA "trace_b.json");
    const view_table *t = view_table_find(&p->results, "compared");
    assert_non_null(t);
    const char *slow = "/layer.2/matmul";
    for (uint32_t graph = 0; graph <= VIEW_MERGED; graph += VIEW_MERGED) {
        assert_float_equal(value_of(p, "time", graph, slow), 40.5, 1e-9);
        assert_float_equal(value_of(p, "time_b", graph, slow), 80.5, 1e-9);
        assert_float_equal(value_of(p, "time_ratio", graph, slow), 80.5 / 40.5, 1e-9);
    }
    assert_float_equal(value_of(p, "time", 1, slow), 80.5, 1e-9);
    assert_string_equal(cell_of(t, 0, "node")->text, slow); /* the greatest change comes first */
    assert_string_equal(cell_of(t, 0, "B is")->text, "slower");
    assert_true(cell_of(t, 0, "p")->number < 0.01);
    const size_t same = row_of(t, "/layer.1/matmul");
    assert_string_equal(cell_of(t, same, "B is")->text, "not shown to differ");
    assert_true(cell_of(t, same, "B / A")->number == 1);
    pgy_page_destroy(p);
}

static void test_diff_results__differences_have_columns_of_both(void **state)
{
    (void)state;
    pgy_page *p = compare(DATA "trace_a.json", DATA "trace_b.json");
    const view_table *t = view_table_find(&p->results, "diff");
    assert_non_null(t);
    assert_true(t->row_count > 0);
    for (size_t i = 0; i < t->row_count; i++) {
        const view_cell *node = &t->cells[i * t->column_count], *time = cell_of(t, i, "time of A");
        const view_quantity *q = view_quantity_find(&p->results, "time", VIEW_MERGED);
        if (node->ref == VIEW_NONE || !q->is_measured[node->ref]) continue;
        assert_false(time->is_empty);
        assert_float_equal(time->number, q->values[node->ref], 1e-9);
    }
    pgy_page_destroy(p);
}

static void test_diff_results__errors_of_both_are_compared(void **state)
{
    (void)state;
    pgy_page *p = compare(DATA "accuracy.json", DATA "accuracy.json");
    const view_quantity *a = view_quantity_find(&p->results, "maxabs", 0);
    assert_non_null(a);
    size_t measured = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        const char *name = p->graphs[0]->tensors[i].name;
        if (!a->is_measured[i] || !(a->values[i] > 0) || !isfinite(a->values[i])) continue;
        assert_float_equal(value_of(p, "maxabs_b", 0, name), a->values[i], 0);
        assert_float_equal(value_of(p, "maxabs_ratio", VIEW_MERGED, name), 1, 0);
        measured++;
    }
    assert_true(measured > 0);
    const view_table *t = view_table_find(&p->results, "compared");
    assert_non_null(t);
    column_of(t, "largest absolute error of A");
    column_of(t, "largest absolute error of B");
    assert_non_null(view_table_find(&p->results, "accuracy_b"));
    pgy_page_destroy(p);
}

static void test_diff_results__one_side_alone_is_not_compared(void **state)
{
    (void)state;
    pgy_page *p = compare(NULL, DATA "trace_b.json");
    assert_null(view_table_find(&p->results, "compared"));
    assert_null(view_quantity_find(&p->results, "time_ratio", 0));
    assert_float_equal(value_of(p, "time", 1, "/layer.2/matmul"), 80.5, 1e-9);
    assert_float_equal(value_of(p, "time_b", VIEW_MERGED, "/layer.2/matmul"), 80.5, 1e-9);
    assert_non_null(view_table_find(&p->results, "layers_b"));
    pgy_page_destroy(p);
}

static void test_diff_results__results_of_b_need_b(void **state)
{
    (void)state;
    pgy_page *p = NULL;
    GOOD(pgy_page_create(&p, NULL, &err));
    GOOD(pgy_page_add(p, DATA "net.onnx", &err));
    GOOD(pgy_page_add_results(p, DATA "trace_b.json", PGY_PAGE_B, 0, &err));
    assert_int_equal(page_complete(p, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "has results of a second model; give that model, too"));
    assert_int_equal(pgy_page_add_results(p, DATA "net.onnx", PGY_PAGE_B, 0, &err),
                     PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "is a model or a plan; expected a file of results"));
    pgy_page_destroy(p);
}
