/* SPDX-License-Identifier: Apache-2.0 */
/* Models of several ranks: their number, and which outputs differ between ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include <polygraphy/graph.h>

#include "base/str.h"
#include "harness/model_builder.h"

static pgy_onnx_node *collective(model_builder *b, const char *operation, const char *in,
                                 const char *out)
{
    pgy_onnx_node *n = builder_node(b, "DistCollective", in, out);
    builder_attr_string(b, n, "collective_operation", operation);
    builder_attr_string(b, n, "reduce_op", "max");
    return n;
}

static pgy_graph *import(model_builder *b)
{
    pgy_error err = {0};
    pgy_graph *g = NULL;
    pgy_model *m = builder_finish_bytes(b);
    if (pgy_graph_import(&g, m, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(m);
    return g;
}

/* Names of the parts, and of all outputs that are none of them, are not given. */
static void expect_parts(pgy_graph *const *graphs, size_t count, const char *expected)
{
    pgy_error err = {0};
    const char *const *parts = NULL;
    size_t found = 0;
    str text = {0};
    if (pgy_graph_find_parts(&parts, &found, graphs, count, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < found; i++) str_printf(&text, "%s%s", i ? " " : "", parts[i]);
    assert_string_equal(str_text(&text), expected);
    str_deinit(&text);
}

static void test_ranks__parts(void **state)
{
    (void)state;
    static const int64_t GROUP[] = {0, 1};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_node(&b, "Neg", "part", "part_neg"); /* before its input: files may be unsorted */
    collective(&b, "reduce_scatter", "x", "part");
    collective(&b, "all_gather", "part_neg", "gathered");
    collective(&b, "all_reduce", "part", "reduced");
    collective(&b, "broadcast", "part", "cast");
    collective(&b, "scatter", "x", "scattered");
    collective(&b, "gather", "part", "of_root");
    collective(&b, "reduce", "x", "sum_of_root");
    collective(&b, "all_to_all", "x", "exchanged");
    builder_attr_ints(&b, collective(&b, "all_reduce", "x", "of_group"), "groups", 2, GROUP);
    builder_node(&b, "Add", "x gathered", "whole");
    builder_node(&b, "Add", "reduced part", "mixed");
    static const char *const OUTPUTS[] = {"part",      "part_neg",  "gathered", "reduced",
                                          "cast",      "scattered", "of_root",  "sum_of_root",
                                          "exchanged", "of_group",  "whole",    "mixed"};
    for (size_t i = 0; i < 12; i++) builder_output(&b, OUTPUTS[i], PGY_F32, NULL);
    pgy_graph *g = import(&b);
    expect_parts(&g, 1, "part part_neg scattered of_root sum_of_root exchanged of_group mixed");
    pgy_graph_destroy(g);
}

static pgy_graph *with_weight(float value)
{
    model_builder b = builder_start(17);
    const float equal[] = {1, 2}, own[] = {value, 3};
    builder_input(&b, "x", PGY_F32, "2");
    builder_floats(&b, "equal", "2", equal);
    builder_floats(&b, "own", "2", own);
    builder_node(&b, "Mul", "x equal", "a");
    builder_node(&b, "Mul", "x own", "b");
    collective(&b, "all_reduce", "b", "c");
    builder_output(&b, "a", PGY_F32, "2");
    builder_output(&b, "b", PGY_F32, "2");
    builder_output(&b, "c", PGY_F32, "2");
    return import(&b);
}

static void test_ranks__weights_differ(void **state)
{
    (void)state;
    pgy_graph *graphs[] = {with_weight(1), with_weight(1), with_weight(5)};
    expect_parts(graphs, 2, "");
    expect_parts(graphs, 3, "b");
    for (size_t i = 0; i < 3; i++) pgy_graph_destroy(graphs[i]);
}

static pgy_status set_ranks(int64_t group_size, int64_t nb_rank, const int64_t *groups,
                            int64_t ranks, pgy_error *err)
{
    size_t count = 0;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    pgy_onnx_node *n = collective(&b, "all_gather", "x", "y");
    if (group_size) builder_attr_int(&b, n, "group_size", group_size);
    if (nb_rank) builder_attr_int(&b, n, "nb_rank", nb_rank);
    if (groups) builder_attr_ints(&b, n, "groups", 2, groups);
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_graph *g = import(&b);
    pgy_status st = pgy_graph_set_ranks(g, ranks, &count, err);
    if (!st) {
        assert_int_equal(count, 1);
        if (pgy_graph_infer_shapes(g, NULL, err)) fail_msg("%s", err->text);
        assert_int_equal(g->outputs[0]->dims[0].value, groups ? 8 : 4 * ranks);
    }
    pgy_graph_destroy(g);
    return st;
}

static void test_ranks__number(void **state)
{
    (void)state;
    static const int64_t GROUP[] = {0, 1};
    pgy_error err = {0};
    assert_int_equal(set_ranks(0, 0, NULL, 3, &err), PGY_OK);
    assert_int_equal(set_ranks(0, 1, NULL, 3, &err), PGY_OK);
    assert_int_equal(set_ranks(0, 3, NULL, 3, &err), PGY_OK);
    assert_int_equal(set_ranks(3, 1, NULL, 3, &err), PGY_OK);
    assert_int_equal(set_ranks(0, 1, GROUP, 3, &err), PGY_OK);
    assert_int_equal(set_ranks(0, 2, NULL, 3, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "its model is for 2 ranks (nb_rank), but 3 are to run"));
    assert_int_equal(set_ranks(2, 1, NULL, 3, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "its model is for 2 ranks (group_size), but 3 are to run"));
    assert_int_equal(set_ranks(0, 1, NULL, 0, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "0 ranks; expected 1 to 64");
}
