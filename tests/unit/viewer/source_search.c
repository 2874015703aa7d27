/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "sources_support.h"

/* The names of a step's nodes, joined by blanks. */
static const char *nodes_of(const pgy_page *p, size_t step)
{
    static char text[400];
    const view_step *s = &p->results.steps[step];
    text[0] = 0;
    for (uint32_t i = 0; i < s->node_count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
                 p->graphs[0]->nodes[s->nodes[i]].name);
    return text;
}

/* The verdicts and marked tensors are those of the log: outputs m2 FAILED, m1 PASSED, r1 PASSED;
 * inputs r0, a1 and r1 FAILED. */
static void test_source_search__reduction_has_the_steps_of_the_log(void **state)
{
    (void)state;
    static const struct {
        const char *title, *detail, *nodes;
        view_verdict verdict;
    } STEPS[] = {
        {"Reducing outputs: Iteration 1", "7 of 13 nodes",
         "/layer.0/matmul /layer.0/add /layer.0/relu /layer.1/matmul /layer.1/add /layer.1/relu "
         "/layer.2/matmul",
         VIEW_FAIL},
        {"Reducing outputs: Iteration 2", "4 of 13 nodes",
         "/layer.0/matmul /layer.0/add /layer.0/relu /layer.1/matmul", VIEW_PASS},
        {"Reducing outputs: Iteration 3", "6 of 13 nodes",
         "/layer.0/matmul /layer.0/add /layer.0/relu /layer.1/matmul /layer.1/add /layer.1/relu",
         VIEW_PASS},
        {"Reducing inputs: Iteration 1", "4 of 7 nodes",
         "/layer.1/matmul /layer.1/add /layer.1/relu /layer.2/matmul", VIEW_FAIL},
        {"Reducing inputs: Iteration 2", "2 of 7 nodes", "/layer.1/relu /layer.2/matmul",
         VIEW_FAIL},
        {"Reducing inputs: Iteration 3", "1 of 7 nodes", "/layer.2/matmul", VIEW_FAIL}};
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "search", DATA "replay_reduce.json");
    assert_int_equal(p.results.step_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(p.results.steps[i].title, STEPS[i].title);
        assert_string_equal(p.results.steps[i].detail, STEPS[i].detail);
        assert_string_equal(nodes_of(&p, i), STEPS[i].nodes);
        assert_int_equal(p.results.steps[i].verdict, STEPS[i].verdict);
    }
    assert_string_equal(p.results.search_found,
                        "2 of 6 iterations passed. One node is left that fails: '/layer.2/matmul'");
    assert_int_equal(mark_count(&p, VIEW_MARK_FINDING), 1);
    assert_non_null(mark_at(&p, VIEW_MARK_FINDING, VIEW_OF_NODE, node_at(&p, "/layer.2/matmul")));
    assert_int_equal(table_of(&p, "search")->row_count, 6);
    support_close(&p);
}

static void test_source_search__replay_without_a_model_and_of_another(void **state)
{
    (void)state;
    pgy_page p;
    pgy_error err = {0};
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "search", DATA "replay_repeat.json");
    assert_int_equal(p.results.step_count, 4);
    assert_int_equal(p.results.steps[0].verdict, VIEW_PASS);
    assert_int_equal(p.results.steps[1].verdict, VIEW_FAIL);
    assert_int_equal(p.results.steps[0].node_count, 0);
    assert_string_equal(p.results.search_found, "2 of 4 iterations passed");
    support_close(&p);
    support_page(&p, DATA "states.onnx");
    assert_int_equal(support_add(&p, "search", DATA "replay_reduce.json", &err), PGY_E_FORMAT);
    assert_non_null(strstr(
        err.text, "began with 13 nodes, but 'states.onnx' has 6: the file is of another model"));
    support_close(&p);
}

/* A search with --check-with takes turns at phases; its steps stay in the order of the log. */
static void test_source_search__minimisation(void **state)
{
    (void)state;
    static const view_verdict VERDICTS[] = {VIEW_FAIL, VIEW_PASS, VIEW_PASS,
                                            VIEW_PASS, VIEW_PASS, VIEW_FAIL};
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "search", DATA "replay_minimise.json");
    assert_int_equal(p.results.step_count, 6);
    for (size_t i = 0; i < 6; i++) assert_int_equal(p.results.steps[i].verdict, VERDICTS[i]);
    assert_string_equal(p.results.steps[0].title, "Reducing whole: Iteration 1");
    assert_string_equal(p.results.steps[5].title, "Reducing nodes: Iteration 6");
    assert_string_equal(p.results.steps[5].detail, "1 node");
    assert_string_equal(p.results.search_found,
                        "4 of 6 iterations passed. The smallest model that fails has 1 node");
    support_close(&p);
}

/* Numbers of nodes that no cut of this model has: the steps are shown, without nodes. */
static void test_source_search__steps_that_do_not_fit_have_no_nodes(void **state)
{
    (void)state;
    static const char TEXT[] =
        "{\"_N0_outputs\": {\"state\": {\"num_nodes\": 11, \"max_nodes\": 13}, \"iteration_info\": "
        "{\"iteration\": 0}, \"success\": false, \"polygraphy_class\": "
        "\"IterationContext\"}}";
    pgy_page p;
    char *path = NULL;
    assert_int_equal(file_temp_path(&path, ".json", NULL), PGY_OK);
    assert_int_equal(file_write_all(path, TEXT, sizeof TEXT - 1, NULL), PGY_OK);
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "search", path);
    assert_int_equal(p.results.step_count, 1);
    assert_string_equal(p.results.steps[0].detail, "11 of 13 nodes");
    assert_int_equal(p.results.steps[0].node_count, 0);
    support_close(&p);
    file_temp_release(path);
}

static void test_source_search__bisected_passes(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, TEST_SOURCE_DIR "/examples/models/transformer_block.onnx");
    support_add_good(&p, "search", DATA "passes.json");
    assert_int_equal(p.results.step_count, 10);
    assert_string_equal(p.results.steps[0].detail, "all passes");
    assert_int_equal(p.results.steps[0].verdict, VIEW_FAIL);
    assert_string_equal(p.results.steps[1].detail, "no passes");
    assert_int_equal(p.results.steps[1].verdict, VIEW_PASS);
    assert_non_null(strstr(p.results.search_found, "fuse_layer_norm at tensor 'norm.q'"));
    assert_non_null(strstr(p.results.search_found, "--passes=-fuse_layer_norm"));
    assert_int_equal(mark_count(&p, VIEW_MARK_FINDING), 9);
    assert_non_null(mark_at(&p, VIEW_MARK_FINDING, VIEW_OF_NODE,
                            p.graphs[0]->tensors[tensor_at(&p, "norm.mean")].producer));
    support_close(&p);
    pgy_error err = {0};
    support_page(&p, DATA "net.onnx");
    assert_int_equal(support_add(&p, "search", DATA "passes.json", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "none of its 9 nodes is in 'net.onnx'"));
    support_close(&p);
}
