/* SPDX-License-Identifier: Apache-2.0 */
#include "sources_support.h"

/* The wrong weight is in layer 2: the figures are those that `run` printed for its outputs. */
static void check_wrong_layer(const pgy_page *p)
{
    const uint32_t m1 = tensor_at(p, "m1"), m2 = tensor_at(p, "m2"), y = tensor_at(p, "y");
    assert_true(value_at(p, "maxabs", m1) == 0);
    assert_float_equal(value_at(p, "maxabs", m2), 0.23353, 5e-6);
    assert_float_equal(value_at(p, "meanabs", m2), 0.023449, 5e-7);
    assert_float_equal(value_at(p, "maxrel", m2), 0.12916, 5e-6);
    assert_float_equal(value_at(p, "cosine", m2), 1 - 0.99783, 5e-6);
    assert_float_equal(value_at(p, "snr", m2), 18.799, 5e-4);
    assert_true(isinf(value_at(p, "snr", m1)));
    assert_float_equal(value_at(p, "maxabs", y), 0.062295, 5e-7);
    assert_string_equal(category_at(p, "passed", m1), "pass");
    assert_string_equal(category_at(p, "passed", m2), "fail");
    assert_false(is_measured(p, "maxabs", tensor_at(p, "w2")));
}

static void check_conclusion(const pgy_page *p)
{
    assert_int_equal(mark_count(p, VIEW_MARK_FAIL), 7);
    assert_null(mark_at(p, VIEW_MARK_FAIL, VIEW_OF_TENSOR, tensor_at(p, "r1")));
    assert_non_null(
        strstr(mark_at(p, VIEW_MARK_FAIL, VIEW_OF_TENSOR, tensor_at(p, "m2")), "0.23353"));
    assert_int_equal(mark_count(p, VIEW_MARK_FIRST), 1);
    assert_non_null(mark_at(p, VIEW_MARK_FIRST, VIEW_OF_NODE, node_at(p, "/layer.2/matmul")));
    assert_true(p->results.is_judged);
    assert_false(p->results.passed);
    assert_string_equal(p->results.verdict,
                        "7 of 13 tensors beyond tolerance, first 'm2' of node '/layer.2/matmul'");
    assert_int_equal(p->warnings.count, 0);
}

static void test_source_accuracy__verdicts_of_run_name_the_wrong_layer(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "accuracy", DATA "accuracy.json");
    check_wrong_layer(&p);
    check_conclusion(&p);
    const view_table *t = table_of(&p, "accuracy");
    assert_int_equal(t->row_count, 13);
    assert_string_equal(cell_at(t, 6, 0)->text, "m2");
    assert_int_equal(cell_at(t, 6, 0)->ref, tensor_at(&p, "m2"));
    assert_string_equal(cell_at(t, 6, 1)->text, "fail");
    assert_string_equal(cell_at(t, 0, 1)->text, "pass");
    assert_float_equal(cell_at(t, 6, 2)->number, 0.23353, 5e-6);
    assert_true(cell_at(t, 6, 7)->is_empty); /* the file has no shares */
    assert_string_equal(summary_of(&p, "Accuracy", "opref-runner-N0 vs. opref-runner-N0"),
                        "simple: 0 of 1 iterations passed");
    assert_non_null(
        strstr(summary_of(&p, "Accuracy", "tolerance"), "abs 1e-05, rel 1e-05 (elemwise)"));
    support_close(&p);
}

static void test_source_accuracy__report_says_the_same(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "accuracy", DATA "report.json");
    check_wrong_layer(&p);
    check_conclusion(&p);
    /* Both at once: nothing is counted twice. */
    support_add_good(&p, "accuracy", DATA "accuracy.json");
    check_wrong_layer(&p);
    check_conclusion(&p);
    assert_int_equal(table_of(&p, "accuracy")->row_count, 13);
    support_close(&p);
}

static void test_source_accuracy__another_model_is_refused(void **state)
{
    (void)state;
    pgy_page p;
    pgy_error err = {0};
    support_page(&p, DATA "states.onnx");
    assert_int_equal(support_add(&p, "accuracy", DATA "accuracy.json", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "none of its 13 tensors is in 'states.onnx': it is of another "
                                     "model ('m0', 'a0', 'r0', ...)"));
    support_close(&p);
}

static void test_source_accuracy__needs_a_model(void **state)
{
    (void)state;
    pgy_page p = {0};
    pgy_error err = {0};
    assert_int_equal(support_add(&p, "accuracy", DATA "accuracy.json", &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "give the model"));
    support_close(&p);
}

static const char MIXED[] =
    "{\"format\": \"polygraphy-report\", \"functions\": [{\"function\": \"simple\", \"pairs\": "
    "[{\"first\": \"A\", \"second\": \"B\", \"passed\": 0, "
    "\"total\": 2, \"iterations\": ["
    "[{\"output\": \"y\", \"passed\": true, \"metrics\": {\"max_absdiff\": 1, \"max_reldiff\": 3, "
    "\"mean_absdiff\": 0.5}, \"thresholds\": "
    "{\"check_error_stat\": \"max\", \"atol\": 2, \"rtol\": 0.5}}, {\"output\": \"gone\", "
    "\"passed\": false}],"
    "[{\"output\": \"y\", \"passed\": false, \"metrics\": {\"max_absdiff\": \"nan\", "
    "\"max_reldiff\": 2, \"mean_absdiff\": 0.75}, \"thresholds\": "
    "{\"check_error_stat\": \"max\", \"atol\": 2, \"rtol\": 0.5}}]]}]}], \"failures\": "
    "[\"iterations differ\"]}";

/* The worst of all iterations counts; NaN is worse than any number. A name that the model lacks is
 * in the table and in a warning. */
static void test_source_accuracy__worst_iteration_and_unknown_names(void **state)
{
    (void)state;
    pgy_page p;
    char *path = NULL;
    assert_int_equal(file_temp_path(&path, ".json", NULL), PGY_OK);
    assert_int_equal(file_write_all(path, MIXED, sizeof MIXED - 1, NULL), PGY_OK);
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "accuracy", path);
    const uint32_t y = tensor_at(&p, "y");
    assert_true(isnan(value_at(&p, "maxabs", y)));
    assert_true(value_at(&p, "meanabs", y) == 0.75);
    assert_true(value_at(&p, "maxrel", y) == 3);
    assert_string_equal(category_at(&p, "passed", y), "fail");
    assert_non_null(mark_at(&p, VIEW_MARK_NAN, VIEW_OF_TENSOR, y));
    const view_table *t = table_of(&p, "accuracy");
    assert_int_equal(t->row_count, 2);
    assert_string_equal(cell_at(t, 0, 8)->text, "abs 2, rel 0.5 (max)");
    assert_int_equal(cell_at(t, 1, 0)->ref, VIEW_NONE);
    assert_string_equal(cell_at(t, 1, 1)->text, "fail");
    assert_int_equal(p.warnings.count, 1);
    assert_non_null(strstr(p.warnings.items[0], "1 of 2 tensors are not in 'net.onnx': 'gone'"));
    assert_string_equal(summary_of(&p, "Accuracy", "failure"), "iterations differ");
    support_close(&p);
    file_temp_release(path);
}
