/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "sources_support.h"

#define CLI TEST_SOURCE_DIR "/tests/data/cli/"

/* The figures are those that `inspect memory` printed. */
static void test_source_reports__memory_alive_at_each_node(void **state)
{
    (void)state;
    pgy_page p;
    pgy_error err = {0};
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "memory", DATA "memory.json");
    assert_true(value_at(&p, "live_bytes", node_at(&p, "/layer.0/matmul")) == 128);
    assert_true(value_at(&p, "live_bytes", node_at(&p, "/layer.0/add")) == 192);
    assert_true(value_at(&p, "live_bytes", node_at(&p, "/softmax")) == 192);
    assert_int_equal(table_of(&p, "memory")->row_count, 13);
    assert_string_equal(summary_of(&p, "Memory", "peak of activations"),
                        "192 bytes, at node '/layer.0/add'");
    assert_string_equal(summary_of(&p, "Memory", "weights"), "1.12 KiB");
    /* Held at the peak: x, m0 and a0. */
    const view_table *t = table_of(&p, "lifetimes");
    size_t held = 0;
    for (size_t i = 0; i < t->row_count; i++) held += cell_at(t, i, 4)->text != NULL;
    assert_int_equal(held, 3);
    assert_int_equal(p.warnings.count, 0);
    support_close(&p);
    support_page(&p, DATA "states.onnx");
    assert_int_equal(support_add(&p, "memory", DATA "memory.json", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "none of its 13 nodes is in 'states.onnx'"));
    support_close(&p);
}

static void test_source_reports__memory_of_nodes_without_names(void **state)
{
    (void)state;
    static const char TEXT[] = "{\"peak_bytes\": 9, \"peak_step\": 1e300, \"weight_bytes\": 1, "
                               "\"unknown_count\": 2, \"steps\": ["
                               "{\"node\": \"\", \"op_type\": \"Log\", \"live_bytes\": 7}, "
                               "{\"node\": \"div\", \"op_type\": \"Div\", \"live_bytes\": 9}]}";
    pgy_page p;
    support_page(&p, DATA "states.onnx");
    assert_int_equal(support_add_text(&p, "memory", TEXT, NULL), PGY_OK);
    assert_true(value_at(&p, "live_bytes", node_at(&p, "div")) == 9);
    assert_int_equal(p.warnings.count,
                     2); /* two steps for six nodes: the first is not known; sizes are not known */
    support_close(&p);
}

static void test_source_reports__lint_marks_nodes(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, CLI "lint.onnx");
    support_add_good(&p, "lint", DATA "lint.json");
    assert_non_null(strstr(mark_at(&p, VIEW_MARK_FAIL, VIEW_OF_NODE, node_at(&p, "bad")),
                           "Incompatible dimensions"));
    assert_string_equal(mark_at(&p, VIEW_MARK_FINDING, VIEW_OF_NODE, node_at(&p, "unused")),
                        "Does not affect outputs, can be removed.");
    assert_null(mark_at(&p, VIEW_MARK_FINDING, VIEW_OF_NODE, node_at(&p, "good")));
    const view_table *t = table_of(&p, "lint");
    assert_int_equal(t->row_count, 3);
    assert_string_equal(cell_at(t, 0, 1)->text, "exception");
    assert_null(cell_at(t, 1, 0)->text); /* of the whole model */
    assert_false(p.results.passed);
    assert_string_equal(p.results.verdict, "1 errors and 2 warnings of lint");
    support_close(&p);
    pgy_error err = {0};
    support_page(&p, DATA "net.onnx");
    assert_int_equal(support_add(&p, "lint", DATA "lint.json", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "it is of another model"));
    support_close(&p);
}

static void test_source_reports__capability_by_node_and_part(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, CLI "custom.onnx");
    support_add_good(&p, "capability", DATA "capability.json");
    assert_string_equal(category_at(&p, "support", node_at(&p, "first")), "supported");
    assert_string_equal(category_at(&p, "support", node_at(&p, "n7")), "unsupported");
    assert_string_equal(category_at(&p, "support", node_at(&p, "after")), "supported");
    assert_string_equal(category_at(&p, "support", node_at(&p, "choose")), "unsupported");
    assert_string_equal(category_at(&p, "support", node_at(&p, "last")), "supported");
    assert_non_null(strstr(mark_at(&p, VIEW_MARK_UNSUPPORTED, VIEW_OF_NODE, node_at(&p, "choose")),
                           "choose (If): Fake is not a known operator"));
    assert_int_equal(mark_count(&p, VIEW_MARK_UNSUPPORTED), 3);
    assert_int_equal(table_of(&p, "capability")->row_count, 3);
    assert_string_equal(p.results.verdict, "3 nodes cannot run");
    support_close(&p);
    pgy_error err = {0};
    support_page(&p, DATA "states.onnx"); /* six nodes */
    assert_int_equal(support_add(&p, "capability", DATA "capability.json", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "has 6 nodes: the file is of another model"));
    support_close(&p);
}

/* Whichever allocation fails, each source says so or does without it. */
static void test_source_reports__any_allocation_may_fail(void **state)
{
    (void)state;
    static const char *const FILES[][2] = {
        {"accuracy", "accuracy.json"},     {"accuracy", "report.json"},
        {"outputs", "outputs_good.json"},  {"where", "where.json"},
        {"noise", "where_headroom.json"},  {"noise", "where_floor.json"},
        {"trace", "trace_a.json"},         {"trace", "trtexec_profile.json"},
        {"layers", "trtexec_layers.json"}, {"memory", "memory.json"},
        {"search", "replay_reduce.json"}};
    if (!mem_fail_nth(0)) skip();
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        char path[512];
        size_t failures = 0, successes = 0;
        snprintf(path, sizeof path, DATA "%s", FILES[i][1]);
        const view_source *from = support_source(FILES[i][0]);
        for (uint64_t n = 1; n < 100000 && successes < 4; n += 1 + n / 8) {
            pgy_page p;
            support_page(&p, DATA "net.onnx");
            p.options.embed_values = 64;
            assert_true(mem_fail_nth(n));
            const pgy_status st = from->add(&p, path, NULL);
            assert_true(mem_fail_nth(0));
            if (st != PGY_OK && st != PGY_E_MEMORY)
                fail_msg("%s, allocation %d: status %d", path, (int)n, (int)st);
            *(st ? &failures : &successes) += 1;
            support_close(&p);
        }
        if (!failures || successes < 4)
            fail_msg("%s: %zu failures, %zu successes", path, failures, successes);
    }
}
