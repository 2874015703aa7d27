/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <polygraphy/trace_summary.h>

#include "sources_support.h"

static const char LAYER_2[] = "/layer.2/matmul + /layer.2/add + /layer.2/relu";

/* The container of a node; its kind must be fused. */
static const view_container *fused_of(const pgy_page *p, const char *node)
{
    const view_graph *g = p->graphs[0];
    const view_container *c = &g->containers[g->nodes[node_at(p, node)].parent];
    assert_int_equal(c->kind, VIEW_FUSED);
    return c;
}

/* Figures printed by `trace summary`: 11 runs without the one that warms up. */
static void test_source_trace__times_of_nodes_and_fused_groups(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "trace", DATA "trace_a.json");
    const uint32_t softmax = node_at(&p, "/softmax"), first = node_at(&p, "/layer.2/matmul");
    assert_float_equal(value_at(&p, "time", softmax), 10.5, 1e-9);
    assert_float_equal(value_at(&p, "share", softmax), 100 * 115.5 / 1897.5, 1e-9);
    assert_float_equal(value_at(&p, "spread", softmax), 0.8, 1e-9);
    assert_float_equal(value_at(&p, "time", first), 40.5, 1e-9);
    /* One time for the group: the other members have none. */
    assert_false(is_measured(&p, "time", node_at(&p, "/layer.2/add")));
    assert_false(is_measured(&p, "time", node_at(&p, "/layer.2/relu")));
    assert_string_equal(fused_of(&p, "/layer.2/relu")->name, LAYER_2);
    assert_int_equal(fused_of(&p, "/layer.2/relu")->child_count, 3);
    assert_ptr_equal(fused_of(&p, "/layer.2/relu"), fused_of(&p, "/layer.2/matmul"));
    assert_int_equal(mark_count(&p, VIEW_MARK_FUSED), 12);
    assert_non_null(
        strstr(mark_at(&p, VIEW_MARK_FUSED, VIEW_OF_NODE, node_at(&p, "/layer.2/add")), LAYER_2));
    assert_null(mark_at(&p, VIEW_MARK_FUSED, VIEW_OF_NODE, softmax));
    assert_string_equal(category_at(&p, "kernel", softmax), "softmax");
    assert_string_equal(category_at(&p, "kernel", first), "fusedmatmul");
    assert_string_equal(category_at(&p, "precision", first), "float32");
    const view_table *t = table_of(&p, "layers");
    assert_int_equal(t->row_count, 5);
    assert_int_equal(t->column_count, 10);
    assert_string_equal(cell_at(t, 4, 0)->text, "/softmax");
    assert_int_equal(cell_at(t, 4, 0)->ref, softmax);
    assert_true(cell_at(t, 4, 2)->number == 11);
    assert_float_equal(cell_at(t, 4, 8)->number, 115.5, 1e-9);
    assert_string_equal(summary_of(&p, "Time", "file"), "trace_a.json, of Polygraphy");
    assert_string_equal(summary_of(&p, "Time", "command"), "polygraphy run net.onnx --trt");
    assert_int_equal(p.warnings.count, 0);
    support_close(&p);
}

static void test_source_trace__timeline_is_linked_with_nodes(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "trace", DATA "trace_a.json");
    const view_timeline *t = &p.results.timeline;
    assert_string_equal(t->source, "Polygraphy");
    assert_false(t->is_synthetic);
    assert_null(t->note);
    assert_int_equal(t->row_count, 2);
    assert_string_equal(t->rows[1].process, "runner 0: trt");
    assert_string_equal(t->rows[1].name, "layers");
    assert_int_equal(t->slice_count, 12 * 6);
    /* Run 0: the run, then its layers. */
    assert_string_equal(t->slices[0].category, "iteration");
    assert_int_equal(t->slices[0].node, VIEW_NONE);
    assert_true(t->slices[1].start_us == 1 && t->slices[1].duration_us == 40);
    assert_int_equal(t->slices[1].node, node_at(&p, "/layer.0/matmul"));
    assert_int_equal(t->slices[5].node, node_at(&p, "/softmax"));
    assert_int_equal(t->slices[11].run, 1);
    support_close(&p);
}

/* The synthetic slow layer: twice as long in B, and shown to be. */
static void test_source_trace__second_run_finds_the_slow_layer(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "trace", DATA "trace_a.json");
    support_add_good(&p, "trace", DATA "trace_b.json");
    const uint32_t slow = node_at(&p, "/layer.2/matmul"), same = node_at(&p, "/layer.1/matmul");
    assert_float_equal(value_at(&p, "time", slow), 40.5, 1e-9);
    assert_float_equal(value_at(&p, "time_b", slow), 80.5, 1e-9);
    assert_float_equal(value_at(&p, "time_ratio", slow), 80.5 / 40.5, 1e-9);
    assert_true(value_at(&p, "time_ratio", same) == 1);
    assert_false(is_measured(&p, "time_ratio", node_at(&p, "/layer.2/add")));
    const view_table *t = table_of(&p, "layers");
    assert_int_equal(t->column_count, 14);
    assert_int_equal(t->row_count, 5);
    assert_string_equal(cell_at(t, 0, 0)->text, LAYER_2); /* the greatest change comes first */
    assert_string_equal(cell_at(t, 0, 13)->text, "slower");
    assert_true(cell_at(t, 0, 12)->number < 0.01);
    assert_float_equal(cell_at(t, 0, 10)->number, 80.5, 1e-9);
    for (size_t row = 1; row < 5; row++)
        assert_string_equal(cell_at(t, row, 13)->text, "not shown to differ");
    assert_int_equal(mark_count(&p, VIEW_MARK_FUSED), 12);
    assert_int_equal(p.graphs[0]->container_count, 5); /* the frames are made once */
    assert_int_equal(p.results.timeline.row_count, 4);
    assert_string_equal(p.results.timeline.rows[2].process, "B: runner 0: trt");
    assert_non_null(strstr(summary_of(&p, "Time of B", "runs beside A"), "slower"));
    support_close(&p);
}

static void test_source_trace__profile_of_sums_stands_end_to_end(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "trace", DATA "trtexec_profile.json");
    const view_timeline *t = &p.results.timeline;
    assert_true(t->is_synthetic);
    assert_string_equal(t->source, "trtexec");
    assert_int_equal(t->slice_count, 5);
    for (size_t i = 1; i < 5; i++)
        assert_true(t->slices[i].start_us ==
                    t->slices[i - 1].start_us + t->slices[i - 1].duration_us);
    /* The names of the engine are in another order than the nodes; it is the same group. */
    assert_true(value_at(&p, "time", node_at(&p, "/layer.3/matmul")) > 0);
    assert_false(is_measured(&p, "time", node_at(&p, "/layer.3/relu")));
    assert_int_equal(fused_of(&p, "/layer.3/relu")->child_count, 3);
    assert_false(is_measured(&p, "spread", node_at(&p, "/softmax")));
    const view_table *table = table_of(&p, "layers");
    assert_int_equal(table->row_count, 5);
    double share = 0;
    for (size_t i = 0; i < 5; i++) share += cell_at(table, i, 9)->number;
    assert_float_equal(share, 100, 1e-9);
    support_close(&p);
}

static void test_source_trace__recorded_timeline_and_profile_of_onnxruntime(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "trace", DATA "trace.json");
    assert_string_equal(category_at(&p, "device", node_at(&p, "/softmax")), "host");
    assert_int_equal(fused_of(&p, "/layer.0/relu")->child_count, 3);
    support_close(&p);

    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "trace", DATA "onnxruntime_profile.json");
    assert_string_equal(p.results.timeline.source, "ONNX Runtime");
    /* "fused /layer.1/matmul/MatMulAddFusion": the profile does not name the other nodes. */
    assert_true(is_measured(&p, "time", node_at(&p, "/layer.1/matmul")));
    assert_non_null(
        strstr(mark_at(&p, VIEW_MARK_FUSED, VIEW_OF_NODE, node_at(&p, "/layer.1/matmul")),
               "does not name"));
    assert_true(is_measured(&p, "time", node_at(&p, "/softmax")));
    assert_null(mark_at(&p, VIEW_MARK_FUSED, VIEW_OF_NODE, node_at(&p, "/softmax")));
    assert_int_equal(p.warnings.count, 0);
    support_close(&p);
}

static void test_source_trace__other_models_and_programs(void **state)
{
    (void)state;
    pgy_page p;
    pgy_error err = {0};
    support_page(&p, DATA "states.onnx");
    assert_int_equal(support_add(&p, "trace", DATA "trace_a.json", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "none of its 5 layers is in"));
    support_close(&p);
    /* A program that was never given the model: its timeline is shown, with a warning. */
    support_page(&p, DATA "states.onnx");
    support_add_good(&p, "trace", TEST_SOURCE_DIR "/tests/data/trace/pytorch.json");
    assert_true(p.results.timeline.slice_count > 0);
    assert_int_equal(p.warnings.count, 1);
    assert_true(table_of(&p, "layers")->row_count > 0);
    support_close(&p);
    support_page(&p, DATA "states.onnx");
    support_add_good(&p, "trace", TEST_SOURCE_DIR "/tests/data/trace/nsys_stats.csv");
    assert_string_equal(p.results.timeline.source, "Nsight Systems");
    support_close(&p);
}

enum { MANY_RUNS = 220, MANY_LAYERS = 1000 };

static void add_event(pgy_trace *t, const pgy_trace_event *e)
{
    assert_int_equal(pgy_trace_add(t, e, NULL, NULL), PGY_OK);
}

/* Run 7 is the slowest one. */
static void save_many(const char *path)
{
    pgy_trace *t = NULL;
    size_t runs, layers;
    assert_int_equal(pgy_trace_create(&t, NULL), PGY_OK);
    assert_int_equal(
        pgy_trace_add_row(&runs, t, &(pgy_trace_row){10, 0, "runner", "iterations"}, NULL), PGY_OK);
    assert_int_equal(
        pgy_trace_add_row(&layers, t, &(pgy_trace_row){10, 1, "runner", "layers"}, NULL), PGY_OK);
    for (int64_t run = 0; run < MANY_RUNS; run++) {
        const int64_t start = run * 3000000;
        add_event(t, &(pgy_trace_event){PGY_TRACE_SLICE, "run", "iteration", runs, start,
                                        run == 7 ? 2000000 : 1000000, true, run, false, 0, 0});
        for (int64_t i = 0; i < MANY_LAYERS; i++)
            add_event(t, &(pgy_trace_event){PGY_TRACE_SLICE, i ? "other" : "/softmax", "layer",
                                            layers, start + i * 1000, 500, true, run, false, 0, 0});
    }
    pgy_trace_sort(t);
    assert_int_equal(pgy_trace_save(path, t, NULL), PGY_OK);
    pgy_trace_destroy(t);
}

static void test_source_trace__very_many_slices_are_thinned_by_run(void **state)
{
    (void)state;
    pgy_page p;
    char *path = NULL;
    assert_int_equal(file_temp_path(&path, ".json", NULL), PGY_OK);
    save_many(path);
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "trace", path);
    const view_timeline *t = &p.results.timeline;
    assert_int_equal(t->slice_count, MANY_RUNS + 3 * MANY_LAYERS); /* all runs, layers of three */
    for (size_t i = 0; i < t->slice_count; i++) {
        const int64_t run = t->slices[i].run;
        if (!strcmp(t->slices[i].category, "layer"))
            assert_true(run == 0 || run == 7 || run == MANY_RUNS - 1);
    }
    assert_non_null(strstr(
        t->note,
        "3220 of 220220 slices are shown, those of the first, the last and the slowest run"));
    /* The times are those of all runs. */
    assert_true(cell_at(table_of(&p, "layers"), 1, 2)->number == MANY_RUNS);
    assert_int_equal(p.warnings.count, 1); /* 'other' */
    support_close(&p);
    file_temp_release(path);
}
