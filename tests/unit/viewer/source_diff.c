/* SPDX-License-Identifier: Apache-2.0 */
#include "sources_support.h"

static void expect_row(const view_table *t, size_t row, const char *const wanted[6])
{
    for (uint32_t i = 0; i < 6; i++) {
        const char *text = cell_at(t, row, i)->text;
        assert_string_equal(text ? text : "", wanted[i]);
    }
}

static void test_source_diff__report_of_inspect_marks_the_wrong_weight(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "diff", DATA "diff.json");
    assert_string_equal(category_at(&p, "change", node_at(&p, "/layer.2/matmul")), "changed");
    assert_string_equal(category_at(&p, "change", node_at(&p, "/layer.1/matmul")), "same");
    assert_int_equal(mark_count(&p, VIEW_MARK_CHANGED), 1);
    assert_string_equal(
        mark_at(&p, VIEW_MARK_CHANGED, VIEW_OF_NODE, node_at(&p, "/layer.2/matmul")),
        "weight w2: values: 1 of 64 elements differ, by 0.75 at most; SNR 13.1 dB");
    assert_string_equal(p.results.verdict, "1 changed, 0 added, 0 removed; 12 the same");
    assert_false(p.results.passed);
    support_close(&p);
}

static void test_source_diff__rows_name_nodes_of_the_first_model(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "diff", DATA "diff_edited.json");
    const view_table *t = table_of(&p, "diff");
    assert_int_equal(t->graph, 0);
    assert_int_equal(t->row_count, 7);
    static const char *const ROWS[][6] = {
        {"", "", "changed", "opset of ai.onnx", "17", "18"},
        {"/layer.1/relu", "Relu", "removed", "node", "", ""},
        {"/layer.1/gelu", "Gelu", "added", "node", "", ""},
        {"/layer.2/matmul", "MatMul", "rewired", "input 0", "r1", "g1"},
        {"(makes y)", "Softmax", "changed", "attribute axis", "-1", "1"},
        {"m0", "", "renamed", "tensor m0", "m0", "product"},
        {"w2", "", "not compared", "weight w2", "", "the file 'w.bin' does not exist"}};
    for (size_t i = 0; i < 7; i++) expect_row(t, i, ROWS[i]);
    assert_int_equal(cell_at(t, 1, 0)->ref, node_at(&p, "/layer.1/relu"));
    assert_int_equal(cell_at(t, 2, 0)->ref, VIEW_NONE);
    assert_int_equal(cell_at(t, 4, 0)->ref, node_at(&p, "/softmax"));
    assert_int_equal(cell_at(t, 5, 0)->ref, node_at(&p, "/layer.0/matmul"));
    assert_int_equal(mark_count(&p, VIEW_MARK_REMOVED), 1);
    assert_string_equal(category_at(&p, "change", node_at(&p, "/layer.2/matmul")), "same");
    assert_string_equal(p.results.verdict, "1 changed, 1 added, 1 removed; 11 the same");
    assert_int_equal(p.warnings.count, 1);
    assert_non_null(strstr(p.warnings.items[0], "1 differences are of unknown kinds"));
    support_close(&p);
}

static void test_source_diff__of_another_model(void **state)
{
    (void)state;
    pgy_page p;
    pgy_error err = {0};
    support_page(&p, DATA "states.onnx");
    assert_int_equal(support_add(&p, "diff", DATA "diff_edited.json", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "it is of another model"));
    support_close(&p);
}
