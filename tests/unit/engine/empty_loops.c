/* SPDX-License-Identifier: Apache-2.0 */
/* Loops and scans that run no iteration: what they collect is empty, and its other sizes are those
 * that an iteration would have given, as far as they follow from what the loop reads. The reference
 * and the engine agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/str.h"
#include "engine/context/context.h"
#include "evaluate/execute.h"
#include "harness/model_builder.h"

static void give(pgy_tensor_map *feed, const char *name, pgy_dtype dtype, size_t rank,
                 const int64_t *shape)
{
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, dtype, rank, shape, NULL), PGY_OK);
    for (size_t i = 0; i < pgy_tensor_count(t) && dtype == PGY_I64; i++)
        ((int64_t *)pgy_tensor_data(t))[i] = 0;
    assert_int_equal(pgy_tensor_map_adopt(feed, name, t, NULL), PGY_OK);
}

static pgy_tensor_map *new_map(void)
{
    pgy_tensor_map *m = NULL;
    assert_int_equal(pgy_tensor_map_create(&m, NULL), PGY_OK);
    return m;
}

static void expect_shape(const pgy_tensor_map *out, const char *name, const char *shape,
                         const char *by)
{
    const pgy_tensor *t = pgy_tensor_map_find(out, name);
    str text = {0};
    assert_non_null(t);
    for (size_t i = 0; i < pgy_tensor_rank(t); i++)
        str_printf(&text, "%s%lld", i ? " " : "", (long long)pgy_tensor_shape(t)[i]);
    if (strcmp(str_text(&text), shape))
        fail_msg("%s gives %s the shape [%s], not [%s]", by, name, str_text(&text), shape);
    str_deinit(&text);
}

/* Runs the model by both; destroys model and feed. */
static void expect(pgy_model *model, pgy_tensor_map *feed, const char *shape)
{
    pgy_graph *g = NULL;
    graph_plan plan = {0};
    engine *e = NULL;
    context *c = NULL;
    const execute_limits limits = {0};
    pgy_tensor_map *wanted = new_map(), *got = new_map();
    pgy_error err = {0};
    assert_int_equal(pgy_graph_import(&g, model, &err), PGY_OK);
    assert_int_equal(plan_build(&plan, g, &err), PGY_OK);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_OK);
    if (execute_graph(&plan, g, feed, wanted, false, &limits, &err)) fail_msg("%s", err.text);
    expect_shape(wanted, "y", shape, "the reference");
    if (engine_build(&e, model, NULL, &err) || context_create(&c, e, 1, &err) ||
        context_run(c, feed, got, NULL, &err))
        fail_msg("%s", err.text);
    expect_shape(got, "y", shape, "the engine");
    context_destroy(c);
    engine_release(e);
    pgy_graph_destroy(g);
    graph_plan_deinit(&plan);
    pgy_tensor_map_destroy(wanted);
    pgy_tensor_map_destroy(got);
    pgy_tensor_map_destroy(feed);
    pgy_model_destroy(model);
}

/* ---- Loop ----------------------------------------------------------------------------------- */

/* y collects what `op` makes of `inputs`: x from outside, c is carried and becomes `next`. */
typedef struct loop_case {
    const char *op, *inputs;
    pgy_dtype dtype;
    const char
        *next;  /* operator from c to its next value, Concat with itself or Relu; NULL: none */
    bool fixed; /* the number of iterations is a constant */
} loop_case;

static pgy_model *loops(const loop_case *t)
{
    static const int64_t none = 0;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, M");
    if (t->fixed)
        builder_ints(&b, "count", "", &none);
    else
        builder_input(&b, "count", PGY_I64, "");
    model_builder body = builder_subgraph(&b, "body");
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "go", PGY_BOOL, "");
    if (t->next) builder_input(&body, "c", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(&body, t->op, t->inputs, "s");
    if (strcmp(t->op, "Concat") == 0) builder_attr_int(&body, n, "axis", 1);
    builder_output(&body, "go", PGY_BOOL, "");
    if (t->next) {
        n = builder_node(&body, t->next, strcmp(t->next, "Concat") ? "c" : "c c", "following");
        if (strcmp(t->next, "Concat") == 0) builder_attr_int(&body, n, "axis", 0);
        builder_output(&body, "following", PGY_F32, NULL);
    }
    builder_output(&body, "s", t->dtype, NULL);
    n = builder_node(&b, "Loop", t->next ? "count - x" : "count -", t->next ? "last y" : "y");
    builder_attr_graph(&b, n, "body", &body);
    builder_output(&b, "y", t->dtype, NULL);
    return builder_finish_bytes(&b);
}

static void expect_loop(loop_case t, const char *shape)
{
    for (int fixed = 0; fixed < 2; fixed++) {
        pgy_tensor_map *feed = new_map();
        t.fixed = fixed;
        give(feed, "x", PGY_F32, 2, (const int64_t[]){3, 4});
        if (!fixed) give(feed, "count", PGY_I64, 0, NULL);
        expect(loops(&t), feed, shape);
    }
}

static void test_empty_loops__sizes_from_what_the_loop_reads(void **state)
{
    (void)state;
    expect_loop((loop_case){.op = "Identity", .inputs = "i", .dtype = PGY_I64}, "0");
    expect_loop((loop_case){.op = "Relu", .inputs = "x", .dtype = PGY_F32}, "0 3 4");
    expect_loop((loop_case){.op = "Concat", .inputs = "x x", .dtype = PGY_F32}, "0 3 8");
    expect_loop((loop_case){.op = "Relu", .inputs = "c", .dtype = PGY_F32, .next = "Relu"},
                "0 3 4");
}

/* What depends on data, or differs between iterations, is 0. */
static void test_empty_loops__unknown_sizes_are_zero(void **state)
{
    (void)state;
    expect_loop((loop_case){.op = "NonZero", .inputs = "x", .dtype = PGY_I64}, "0 2 0");
    expect_loop((loop_case){.op = "Relu", .inputs = "c", .dtype = PGY_F32, .next = "Concat"},
                "0 0 4");
}

/* ---- Scan ----------------------------------------------------------------------------------- */

static void test_empty_loops__scan(void **state)
{
    (void)state;
    for (int64_t axis = 0; axis < 2; axis++) {
        model_builder b = builder_start(17);
        pgy_tensor_map *feed = new_map();
        builder_input(&b, "h", PGY_F32, "M");
        builder_input(&b, "x", PGY_F32, "N, M");
        model_builder body = builder_subgraph(&b, "body");
        builder_input(&body, "s", PGY_F32, NULL);
        builder_input(&body, "slice", PGY_F32, NULL);
        builder_node(&body, "Add", "s slice", "following");
        builder_node(&body, "Relu", "following", "item");
        builder_output(&body, "following", PGY_F32, NULL);
        builder_output(&body, "item", PGY_F32, NULL);
        pgy_onnx_node *n = builder_node(&b, "Scan", "h x", "last y");
        builder_attr_graph(&b, n, "body", &body);
        builder_attr_int(&b, n, "num_scan_inputs", 1);
        builder_attr_ints(&b, n, "scan_output_axes", 1, &axis);
        builder_output(&b, "last", PGY_F32, NULL);
        builder_output(&b, "y", PGY_F32, NULL);
        give(feed, "h", PGY_F32, 1, (const int64_t[]){4});
        give(feed, "x", PGY_F32, 2, (const int64_t[]){0, 4});
        expect(builder_finish_bytes(&b), feed, axis ? "4 0" : "0 4");
    }
}

/* A loop in a loop: the inner one has sizes that the outer body computes. */
static void test_empty_loops__nested(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    pgy_tensor_map *feed = new_map();
    static const int64_t two = 2;
    builder_input(&b, "x", PGY_F32, "N, M");
    builder_input(&b, "count", PGY_I64, "");
    builder_ints(&b, "two", "", &two);
    model_builder outer = builder_subgraph(&b, "outer");
    builder_input(&outer, "i", PGY_I64, "");
    builder_input(&outer, "go", PGY_BOOL, "");
    builder_attr_int(&outer, builder_node(&outer, "Concat", "x x", "xx"), "axis", 0);
    model_builder inner = builder_subgraph(&outer, "inner");
    builder_input(&inner, "k", PGY_I64, "");
    builder_input(&inner, "on", PGY_BOOL, "");
    builder_node(&inner, "Relu", "xx", "item");
    builder_output(&inner, "on", PGY_BOOL, "");
    builder_output(&inner, "item", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(&outer, "Loop", "count -", "items");
    builder_attr_graph(&outer, n, "body", &inner);
    builder_output(&outer, "go", PGY_BOOL, "");
    builder_output(&outer, "items", PGY_F32, NULL);
    n = builder_node(&b, "Loop", "two -", "y");
    builder_attr_graph(&b, n, "body", &outer);
    builder_output(&b, "y", PGY_F32, NULL);
    give(feed, "x", PGY_F32, 2, (const int64_t[]){3, 4});
    give(feed, "count", PGY_I64, 0, NULL);
    expect(builder_finish_bytes(&b), feed, "2 0 6 4");
}
