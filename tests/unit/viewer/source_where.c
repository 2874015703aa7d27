/* SPDX-License-Identifier: Apache-2.0 */
#include "sources_support.h"

/* The figures are those that `where` printed. */
static void test_source_where__names_the_node_with_the_wrong_weight(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "where", DATA "where.json");
    const uint32_t m2 = tensor_at(&p, "m2"), matmul = node_at(&p, "/layer.2/matmul"),
                   add2 = node_at(&p, "/layer.2/add");
    assert_float_equal(value_at(&p, "error", m2), 0.14696, 5e-6);
    assert_float_equal(value_at(&p, "made", matmul), 0.14696, 5e-6);
    assert_true(value_at(&p, "handed", matmul) == 0);
    assert_false(is_measured(&p, "amplification", matmul));
    assert_float_equal(value_at(&p, "handed", add2), 0.14696, 5e-6);
    assert_float_equal(value_at(&p, "made", add2), 1.6818e-08, 5e-13);
    assert_float_equal(value_at(&p, "amplification", add2), 0.89676, 5e-6);
    assert_int_equal(mark_count(&p, VIEW_MARK_FIRST), 1);
    assert_string_equal(
        mark_at(&p, VIEW_MARK_FIRST, VIEW_OF_NODE, matmul),
        "first wrong tensor 'm2' of node '/layer.2/matmul': error 0.147, allowed 0.0001");
    assert_string_equal(mark_at(&p, VIEW_MARK_FAIL, VIEW_OF_NODE, matmul),
                        "starts an error: makes 0.147, is handed 0");
    assert_null(mark_at(&p, VIEW_MARK_FAIL, VIEW_OF_NODE, add2));
    assert_non_null(mark_at(&p, VIEW_MARK_FAIL, VIEW_OF_TENSOR, tensor_at(&p, "y")));
    assert_int_equal(mark_count(&p, VIEW_MARK_FAIL), 8); /* seven tensors, one node */
    assert_string_equal(category_at(&p, "passed", tensor_at(&p, "m1")), "pass");
    assert_false(p.results.passed);
    assert_string_equal(summary_of(&p, "First wrong tensor", "node"), "/layer.2/matmul (MatMul)");
    assert_string_equal(summary_of(&p, "First wrong tensor", "made by the node"), "0.147");
    assert_string_equal(summary_of(&p, "First wrong tensor", "next command"),
                        "polygraphy surgeon cut net_wrong.onnx --nodes /layer.2/matmul -o "
                        "culprit.onnx --load-inputs inputs.json");
    assert_string_equal(summary_of(&p, "Search", "tensors"), "13 of 13 compared, 7 differ");
    const view_table *t = table_of(&p, "where");
    assert_int_equal(t->row_count, 13);
    assert_int_equal(cell_at(t, 6, 0)->ref, m2);
    assert_int_equal(cell_at(t, 6, 1)->ref, matmul);
    assert_string_equal(cell_at(t, 6, 2)->text, "fail");
    assert_string_equal(cell_at(t, 6, 3)->text, "starts an error");
    assert_string_equal(cell_at(t, 6, 10)->text, "1, 7");
    assert_true(cell_at(t, 6, 7)->is_empty);
    support_close(&p);
}

/* Whichever file comes first: `where` knows better than the verdicts of outputs. */
static void test_source_where__its_first_node_wins(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        pgy_page p;
        support_page(&p, DATA "net.onnx");
        support_add_good(&p, order ? "where" : "accuracy",
                         order ? DATA "where.json" : DATA "accuracy.json");
        support_add_good(&p, order ? "accuracy" : "where",
                         order ? DATA "accuracy.json" : DATA "where.json");
        assert_int_equal(mark_count(&p, VIEW_MARK_FIRST), 1);
        assert_non_null(strstr(p.results.verdict, "first wrong tensor 'm2'"));
        assert_int_equal(mark_count(&p, VIEW_MARK_FAIL), 8);
        support_close(&p);
    }
}

static void test_source_where__bodies_missing_tensors_and_nan(void **state)
{
    (void)state;
    static const char TEXT[] =
        "{\"a\": \"opref\", \"b\": \"trt\", \"passed\": false, \"complete\": false, \"first\": "
        "\"loop/iter_12/m1\", \"starters\": [], \"failures\": [\"output z has no counterpart\"],"
        "\"tensors\": [{\"name\": \"loop/iter_12/m1\", \"other_name\": \"q\", \"node\": \"n\", "
        "\"compared\": true, \"differs\": true, \"starts\": true, \"error\": NaN, \"made\": null},"
        "{\"name\": \"renamed\", \"other_name\": \"r0\", \"node\": \"\", \"compared\": true, "
        "\"differs\": false, \"error\": 0.5, \"floor_times\": 2.5},"
        "{\"name\": \"a1\", \"compared\": false, \"note\": \"fused away\", \"error\": null},"
        "{\"name\": \"gone\", \"compared\": true, \"differs\": true, \"error\": 1}]}";
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    assert_int_equal(support_add_text(&p, "where", TEXT, NULL), PGY_OK);
    assert_non_null(mark_at(&p, VIEW_MARK_NAN, VIEW_OF_TENSOR, tensor_at(&p, "m1")));
    assert_non_null(mark_at(&p, VIEW_MARK_FIRST, VIEW_OF_NODE, node_at(&p, "/layer.1/matmul")));
    assert_false(is_measured(&p, "made", node_at(&p, "/layer.1/matmul")));
    assert_true(value_at(&p, "error", tensor_at(&p, "r0")) == 0.5);
    assert_true(value_at(&p, "floor_times", tensor_at(&p, "r0")) == 2.5);
    assert_string_equal(mark_at(&p, VIEW_MARK_NOT_RUN, VIEW_OF_TENSOR, tensor_at(&p, "a1")),
                        "not compared: fused away");
    assert_false(is_measured(&p, "passed", tensor_at(&p, "a1")));
    assert_int_equal(p.warnings.count, 2);
    assert_non_null(strstr(p.warnings.items[0], "1 of 4 tensors are not in 'net.onnx': 'gone'"));
    assert_non_null(strstr(p.warnings.items[1], "interrupted"));
    assert_string_equal(summary_of(&p, "Search", "failure"), "output z has no counterpart");
    support_close(&p);
}

static void test_source_where__nan_headroom_and_floor(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "states.onnx");
    support_add_good(&p, "noise", DATA "where_nan.json");
    assert_string_equal(category_at(&p, "state", tensor_at(&p, "not_a_number")), "nan");
    assert_string_equal(category_at(&p, "state", tensor_at(&p, "infinite")), "inf");
    assert_string_equal(mark_at(&p, VIEW_MARK_INF, VIEW_OF_TENSOR, tensor_at(&p, "infinite")),
                        "4 of 4 elements become infinite here");
    assert_non_null(mark_at(&p, VIEW_MARK_FIRST, VIEW_OF_NODE, node_at(&p, "log")));
    assert_string_equal(p.results.verdict, "first NaN or infinity: 'not_a_number' of node 'log'");
    assert_int_equal(table_of(&p, "nan")->row_count, 2);
    support_close(&p);

    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "noise", DATA "where_headroom.json");
    assert_float_equal(value_at(&p, "headroom", tensor_at(&p, "m2")), 15.3311, 5e-5);
    assert_int_equal(table_of(&p, "headroom")->row_count, 22);
    assert_int_equal(mark_count(&p, VIEW_MARK_FINDING), 0);
    support_add_good(&p, "noise", DATA "where_floor.json");
    assert_int_equal(table_of(&p, "floor")->row_count, 13);
    assert_float_equal(value_at(&p, "floor", tensor_at(&p, "m0")), 7.5649e-08, 5e-13);
    assert_false(p.results.is_judged);
    support_close(&p);
}

static void test_source_where__overflow_in_half_is_a_finding(void **state)
{
    (void)state;
    static const char TEXT[] = "{\"model\": \"m\", \"headroom\": [{\"tensor\": \"y\", \"dtype\": "
                               "\"float32\", \"count\": 10, \"max_abs\": 1e6, \"formats\": "
                               "{\"float16\": {\"bits\": -3.9, \"overflows\": 4}}}]}";
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    assert_int_equal(support_add_text(&p, "noise", TEXT, NULL), PGY_OK);
    assert_true(value_at(&p, "headroom", tensor_at(&p, "y")) == -3.9);
    assert_string_equal(mark_at(&p, VIEW_MARK_FINDING, VIEW_OF_TENSOR, tensor_at(&p, "y")),
                        "4 of 10 elements overflow in float16");
    support_close(&p);
}

static void test_source_where__vote_names_the_odd_one_out(void **state)
{
    (void)state;
    static const char TEXT[] =
        "{\"a\": \"opref\", \"b\": \"onnxrt\", \"c\": \"trt\", \"referee\": \"opref\", \"passed\": "
        "false, \"first\": \"m2\", \"tensors\": ["
        "{\"name\": \"m1\", \"odd\": null, \"ab\": 0, \"ac\": 1e-7, \"bc\": 2e-7}, {\"name\": "
        "\"m2\", \"node\": \"/layer.2/matmul\", \"odd\": \"c\", \"ab\": 0, \"ac\": 0.25, "
        "\"bc\": 0.5, \"referee\": {\"a\": 0, \"b\": 1e-8, \"c\": 0.25}, \"margin\": 100}, "
        "{\"name\": \"y\", \"odd\": \"undecided\", \"ab\": 1, \"ac\": 2, \"bc\": null}]}";
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    assert_int_equal(support_add_text(&p, "vote", TEXT, NULL), PGY_OK);
    assert_true(value_at(&p, "error", tensor_at(&p, "m2")) == 0.5);
    assert_true(value_at(&p, "error", tensor_at(&p, "y")) == 2);
    assert_string_equal(mark_at(&p, VIEW_MARK_FAIL, VIEW_OF_TENSOR, tensor_at(&p, "m2")),
                        "side c (trt) is the odd one out");
    assert_string_equal(mark_at(&p, VIEW_MARK_FAIL, VIEW_OF_TENSOR, tensor_at(&p, "y")),
                        "no two runners agree");
    assert_non_null(mark_at(&p, VIEW_MARK_FIRST, VIEW_OF_NODE, node_at(&p, "/layer.2/matmul")));
    assert_string_equal(p.results.verdict, "first tensor without agreement 'm2'");
    assert_int_equal(table_of(&p, "vote")->row_count, 3);
    support_close(&p);
}
