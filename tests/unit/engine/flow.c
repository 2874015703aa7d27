/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow and data-dependent shapes through the engine: the same as by the reference, by
 * programs instead of single nodes, for any number of threads, and stopped when asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/context/context.h"
#include "engine/program/flow.h"
#include "evaluate/execute.h"
#include "harness/model_builder.h"

/* ---- Running -------------------------------------------------------------------------------- */

static void give(pgy_tensor_map *feed, const char *name, size_t rank, const int64_t *shape)
{
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, rank, shape, NULL), PGY_OK);
    float *x = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        x[i] = (float)((i * 7919 + 13) % 101) / 50.0f - 1;
    assert_int_equal(pgy_tensor_map_adopt(feed, name, t, NULL), PGY_OK);
}

static void give_int(pgy_tensor_map *feed, const char *name, int64_t value)
{
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, PGY_I64, 0, NULL, NULL), PGY_OK);
    *(int64_t *)pgy_tensor_data(t) = value;
    assert_int_equal(pgy_tensor_map_adopt(feed, name, t, NULL), PGY_OK);
}

static pgy_tensor_map *new_map(void)
{
    pgy_tensor_map *m = NULL;
    assert_int_equal(pgy_tensor_map_create(&m, NULL), PGY_OK);
    return m;
}

static void run_reference(pgy_model *model, const pgy_tensor_map *feed, pgy_tensor_map *out)
{
    pgy_graph *g = NULL;
    graph_plan plan = {0};
    const execute_limits limits = {0};
    pgy_error err = {0};
    assert_int_equal(pgy_graph_import(&g, model, &err), PGY_OK);
    assert_int_equal(plan_build(&plan, g, &err), PGY_OK);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, &err), PGY_OK);
    if (execute_graph(&plan, g, feed, out, false, &limits, &err)) fail_msg("%s", err.text);
    pgy_graph_destroy(g);
    graph_plan_deinit(&plan);
}

static void expect_close(const pgy_tensor_map *got, const pgy_tensor_map *wanted, bool exactly)
{
    assert_int_equal(pgy_tensor_map_count(got), pgy_tensor_map_count(wanted));
    for (size_t i = 0; i < pgy_tensor_map_count(wanted); i++) {
        const pgy_tensor *a = pgy_tensor_map_at(got, i), *b = pgy_tensor_map_at(wanted, i);
        assert_string_equal(pgy_tensor_map_name(got, i), pgy_tensor_map_name(wanted, i));
        assert_int_equal(pgy_tensor_dtype(a), pgy_tensor_dtype(b));
        assert_true(pgy_view_same_shape(pgy_tensor_view(a), pgy_tensor_view(b)));
        if (exactly || pgy_tensor_dtype(a) != PGY_F32) {
            if (pgy_tensor_count(a))
                assert_memory_equal(pgy_tensor_data(a), pgy_tensor_data(b),
                                    pgy_tensor_size_bytes(a));
            continue;
        }
        const float *x = pgy_tensor_data(a), *y = pgy_tensor_data(b);
        for (size_t k = 0; k < pgy_tensor_count(a); k++)
            if (!(fabsf(x[k] - y[k]) <= 1e-4f + 1e-4f * fabsf(y[k])))
                fail_msg("%s[%zu] is %g, not %g", pgy_tensor_map_name(got, i), k, (double)x[k],
                         (double)y[k]);
    }
}

static pgy_engine *build(pgy_model *model, const pgy_build_config *config)
{
    engine *e = NULL;
    pgy_error err = {0};
    if (engine_build(&e, model, config, &err)) fail_msg("%s", err.text);
    return e;
}

static context *open_context(pgy_engine *e, size_t threads)
{
    context *c = NULL;
    pgy_error err = {0};
    if (context_create(&c, e, threads, &err)) fail_msg("%s", err.text);
    return c;
}

static pgy_tensor_map *run(context *c, const pgy_tensor_map *feed)
{
    pgy_tensor_map *got = new_map();
    pgy_error err = {0};
    if (context_run(c, feed, got, NULL, &err)) fail_msg("%s", err.text);
    return got;
}

/* By the reference, by a context of one thread twice, by one of three threads, and by the plan. */
static void compare(pgy_model *model, const pgy_tensor_map *feed)
{
    pgy_tensor_map *wanted = new_map();
    pgy_engine *e = build(model, NULL), *stored = NULL;
    void *bytes = NULL;
    size_t size = 0;
    pgy_error err = {0};
    run_reference(model, feed, wanted);
    context *one = open_context(e, 1), *three = open_context(e, 3);
    pgy_tensor_map *first = run(one, feed), *again = run(one, feed), *wide = run(three, feed);
    expect_close(first, wanted, false);
    expect_close(again, first, true);
    expect_close(wide, first, true);
    if (engine_serialize(&bytes, &size, e, &err)) fail_msg("%s", err.text);
    if (engine_load(&stored, bytes, size, false, &err)) fail_msg("%s", err.text);
    context *opened = open_context(stored, 2);
    pgy_tensor_map *planned = run(opened, feed);
    expect_close(planned, first, true);
    mem_free(bytes);
    context_destroy(opened);
    context_destroy(one);
    context_destroy(three);
    engine_release(stored);
    engine_release(e);
    pgy_tensor_map_destroy(wanted);
    pgy_tensor_map_destroy(first);
    pgy_tensor_map_destroy(again);
    pgy_tensor_map_destroy(wide);
    pgy_tensor_map_destroy(planned);
}

/* ---- Models --------------------------------------------------------------------------------- */

/* state -> tanh(state w + slice), scanned from both ends along different axes. */
static pgy_model *scans(void)
{
    static const int64_t axes[] = {1}, backwards[] = {1};
    model_builder b = builder_start(17);
    builder_input(&b, "h", PGY_F32, "2, 6");
    builder_input(&b, "x", PGY_F32, "2, T, 6");
    builder_floats(&b, "w", "6, 6", NULL);
    model_builder body = builder_subgraph(&b, "body");
    builder_input(&body, "s", PGY_F32, "2, 6");
    builder_input(&body, "slice", PGY_F32, "2, 6");
    builder_node(&body, "MatMul", "s w", "p");
    builder_node(&body, "Add", "p slice", "q");
    builder_node(&body, "Tanh", "q", "next");
    builder_node(&body, "Identity", "next", "y");
    builder_output(&body, "next", PGY_F32, "2, 6");
    builder_output(&body, "y", PGY_F32, "2, 6");
    builder_output(&body, "slice", PGY_F32, "2, 6");
    pgy_onnx_node *n = builder_node(&b, "Scan", "h x", "last ys slices");
    builder_attr_graph(&b, n, "body", &body);
    builder_attr_int(&b, n, "num_scan_inputs", 1);
    builder_attr_ints(&b, n, "scan_input_axes", 1, axes);
    builder_attr_ints(&b, n, "scan_input_directions", 1, backwards);
    builder_attr_ints(&b, n, "scan_output_axes", 1, axes);
    builder_attr_ints(&b, n, "scan_output_directions", 1, backwards);
    builder_output(&b, "last", PGY_F32, NULL);
    builder_output(&b, "ys", PGY_F32, NULL);
    builder_output(&b, "slices", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static void test_flow__scans_along_axes_in_both_directions(void **state)
{
    (void)state;
    pgy_model *model = scans();
    for (int64_t steps = 0; steps < 6; steps += 5) {
        pgy_tensor_map *feed = new_map();
        const int64_t h[] = {2, 6}, x[] = {2, steps, 6};
        give(feed, "h", 2, h);
        give(feed, "x", 3, x);
        compare(model, feed);
        pgy_tensor_map_destroy(feed);
    }
    pgy_model_destroy(model);
}

/* Lists that a loop of unknown length collects and also puts into a sequence, which is read when
 * the loop has ended. Integers, which are held as they are. */
static pgy_model *collects_twice(void)
{
    static const int64_t TENS[] = {10, 20, 30, 40};
    model_builder b = builder_start(17);
    builder_input(&b, "limit", PGY_I64, "");
    builder_ints(&b, "tens", "4", TENS);
    builder_attr_int(&b, builder_node(&b, "SequenceEmpty", "", "none"), "dtype", 7);
    model_builder body = builder_subgraph(&b, "body");
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "go", PGY_BOOL, "");
    builder_input(&body, "s", PGY_DTYPE_NONE, NULL);
    builder_node(&body, "Add", "tens i", "list");
    builder_node(&body, "SequenceInsert", "s list", "longer");
    builder_node(&body, "Less", "i limit", "go_on");
    builder_output(&body, "go_on", PGY_BOOL, "");
    builder_output(&body, "longer", PGY_DTYPE_NONE, NULL);
    builder_output(&body, "list", PGY_I64, "4");
    pgy_onnx_node *n = builder_node(&b, "Loop", "- - none", "all rows");
    builder_attr_graph(&b, n, "body", &body);
    builder_attr_int(&b, builder_node(&b, "ReduceSum", "rows", "sum"), "keepdims", 0);
    builder_attr_int(&b, builder_node(&b, "ConcatFromSequence", "all", "joined"), "axis", 0);
    builder_output(&b, "joined", PGY_I64, NULL);
    builder_output(&b, "sum", PGY_I64, NULL);
    return builder_finish_bytes(&b);
}

static void test_flow__collected_values_stay_in_a_sequence(void **state)
{
    (void)state;
    pgy_model *model = collects_twice();
    pgy_tensor_map *feed = new_map();
    give_int(feed, "limit", 40);
    compare(model, feed);
    pgy_tensor_map_destroy(feed);
    pgy_model_destroy(model);
}

/* Doubles and appends rows; ends when the count is reached or the limit passed. Its body has a
 * branch, and carries one value that it only passes on and one that it swaps. */
static pgy_model *grows(void)
{
    static const float none[1] = {0};
    static const int64_t one = 1, two = 2;
    model_builder b = builder_start(17);
    builder_input(&b, "count", PGY_I64, "");
    builder_input(&b, "limit", PGY_I64, "");
    builder_input(&b, "x", PGY_F32, "1, 6");
    builder_input(&b, "y", PGY_F32, "1, 6");
    builder_floats(&b, "w", "6, 6", NULL);
    builder_floats(&b, "none", "0, 6", none);
    builder_ints(&b, "one", "", &one);
    builder_ints(&b, "two", "", &two);
    model_builder body = builder_subgraph(&b, "body");
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "go", PGY_BOOL, "");
    builder_input(&body, "a", PGY_F32, "1, 6");
    builder_input(&body, "c", PGY_F32, "1, 6");
    builder_input(&body, "fixed", PGY_F32, "1, 6");
    builder_input(&body, "rows", PGY_F32, NULL);
    builder_node(&body, "Add", "i one", "following");
    builder_node(&body, "Less", "following limit", "go_on");
    builder_node(&body, "Mod", "i two", "odd");
    builder_node(&body, "Equal", "odd one", "is_odd");
    model_builder yes = builder_subgraph(&body, "yes");
    builder_node(&yes, "MatMul", "a w", "yes_p");
    builder_node(&yes, "Tanh", "yes_p", "yes_y");
    builder_output(&yes, "yes_y", PGY_F32, NULL);
    model_builder no = builder_subgraph(&body, "no");
    builder_node(&no, "Add", "a fixed", "no_y");
    builder_output(&no, "no_y", PGY_F32, NULL);
    pgy_onnx_node *n = builder_node(&body, "If", "is_odd", "chosen");
    builder_attr_graph(&body, n, "then_branch", &yes);
    builder_attr_graph(&body, n, "else_branch", &no);
    builder_attr_int(&body, builder_node(&body, "Concat", "rows chosen", "longer"), "axis", 0);
    builder_attr_int(&body, builder_node(&body, "Concat", "c chosen", "pair"), "axis", 0);
    builder_node(&body, "ReduceSum", "longer", "sum");
    builder_output(&body, "go_on", PGY_BOOL, "");
    builder_output(&body, "c", PGY_F32, "1, 6");
    builder_output(&body, "chosen", PGY_F32, NULL);
    builder_output(&body, "fixed", PGY_F32, "1, 6");
    builder_output(&body, "longer", PGY_F32, NULL);
    builder_output(&body, "sum", PGY_F32, NULL);
    builder_output(&body, "pair", PGY_F32, NULL);
    builder_output(&body, "i", PGY_I64, "");
    n = builder_node(&b, "Loop", "count - x y x none", "a1 c1 f1 rows sums pairs numbers");
    builder_attr_graph(&b, n, "body", &body);
    builder_output(&b, "a1", PGY_F32, NULL);
    builder_output(&b, "c1", PGY_F32, NULL);
    builder_output(&b, "f1", PGY_F32, NULL);
    builder_output(&b, "rows", PGY_F32, NULL);
    builder_output(&b, "sums", PGY_F32, NULL);
    builder_output(&b, "pairs", PGY_F32, NULL);
    builder_output(&b, "numbers", PGY_I64, NULL);
    return builder_finish_bytes(&b);
}

static pgy_tensor_map *growth(int64_t count, int64_t limit)
{
    pgy_tensor_map *feed = new_map();
    const int64_t row[] = {1, 6};
    give_int(feed, "count", count);
    give_int(feed, "limit", limit);
    give(feed, "x", 2, row);
    give(feed, "y", 2, row);
    return feed;
}

static void test_flow__loops_that_grow_branch_and_end_early(void **state)
{
    static const int64_t counts[][2] = {{0, 9}, {1, 9}, {40, 100}, {40, 7}};
    (void)state;
    pgy_model *model = grows();
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        pgy_tensor_map *feed = growth(counts[i][0], counts[i][1]);
        compare(model, feed);
        pgy_tensor_map_destroy(feed);
    }
    pgy_model_destroy(model);
}

/* The rows above a threshold, through a product, in a shape that is computed from their number. */
static pgy_model *selects(void)
{
    static const int64_t zero = 0, last = -1, axis[] = {0};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 6");
    builder_floats(&b, "w", "6, 6", NULL);
    builder_ints(&b, "zero", "", &zero);
    builder_ints(&b, "last", "1", &last);
    builder_ints(&b, "axis", "1", axis);
    builder_node(&b, "Gather", "x zero", "first");
    builder_attr_int(&b, b.graph->nodes[0], "axis", 1);
    builder_node(&b, "Relu", "first", "score");
    builder_node(&b, "NonZero", "score", "where");
    builder_node(&b, "Squeeze", "where axis", "index");
    builder_node(&b, "Gather", "x index", "rows");
    builder_node(&b, "MatMul", "rows w", "p");
    builder_node(&b, "Tanh", "p", "t");
    builder_node(&b, "Size", "index", "n");
    builder_node(&b, "Unsqueeze", "n axis", "n1");
    builder_attr_int(&b, builder_node(&b, "Concat", "last n1", "shape"), "axis", 0);
    builder_node(&b, "Reshape", "t shape", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    builder_output(&b, "index", PGY_I64, NULL);
    return builder_finish_bytes(&b);
}

static void test_flow__shapes_that_depend_on_data(void **state)
{
    (void)state;
    pgy_model *model = selects();
    for (int64_t rows = 3; rows < 60; rows = rows * 2 + 1) {
        pgy_tensor_map *feed = new_map();
        const int64_t shape[] = {rows, 6};
        give(feed, "x", 2, shape);
        compare(model, feed);
        pgy_tensor_map_destroy(feed);
    }
    pgy_model_destroy(model);
}

/* ---- Stopping and watching ------------------------------------------------------------------ */

static void *cancel_soon(void *user)
{
    usleep(50000);
    pgy_context_cancel(user);
    return NULL;
}

static void test_flow__an_endless_loop_can_be_cancelled(void **state)
{
    (void)state;
    pgy_model *model = grows();
    pgy_engine *e = build(model, NULL);
    context *c = open_context(e, 1);
    pgy_tensor_map *feed = growth(INT64_MAX / 2, INT64_MAX), *out = new_map();
    pthread_t thread;
    pgy_error err = {0};
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, c), 0);
    assert_int_equal(context_run(c, feed, out, NULL, &err), PGY_E_CANCELLED);
    assert_string_equal(err.text, "the run was cancelled");
    pthread_join(thread, NULL);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(out);
    context_destroy(c);
    engine_release(e);
    pgy_model_destroy(model);
}

typedef struct seen {
    char names[4096];
} seen;

static bool see(void *user, const char *name, pgy_view value)
{
    seen *s = user;
    (void)value;
    assert_true(strlen(s->names) + strlen(name) + 2 < sizeof s->names);
    strcat(s->names, name);
    strcat(s->names, " ");
    return true;
}

static void test_flow__tensors_of_bodies_have_the_path_of_their_iteration(void **state)
{
    static const char *const marks[] = {"*/iter_1/next"};
    const pgy_build_config config = {.size = sizeof config,
                                     .debug_tensors = {.items = marks, .count = 1, .given = true}};
    const int64_t h[] = {2, 6}, x[] = {2, 3, 6};
    (void)state;
    pgy_model *model = scans();
    pgy_engine *e = build(model, &config);
    context *c = open_context(e, 1);
    seen s = {0};
    const pgy_debug_listener l = {.size = sizeof l, .user = &s, .tensor = see};
    pgy_tensor_map *feed = new_map();
    give(feed, "h", 2, h);
    give(feed, "x", 3, x);
    assert_int_equal(pgy_context_set_debug_listener(c, &l, NULL), PGY_OK);
    pgy_tensor_map_destroy(run(c, feed));
    assert_string_equal(s.names, "n0/iter_1/next ");
    pgy_tensor_map_destroy(feed);
    context_destroy(c);
    engine_release(e);
    pgy_model_destroy(model);
}

/* ---- Failures ------------------------------------------------------------------------------- */

static void test_flow__any_allocation_may_fail(void **state)
{
    (void)state;
    if (!mem_fail_nth(0)) skip();
    pgy_model *model = grows();
    pgy_engine *e = build(model, NULL);
    size_t failures = 0;
    for (uint64_t n = 1; n < 3000; n += 1 + n / 40) {
        pgy_tensor_map *feed = growth(3, 9), *out = new_map();
        context *c = NULL;
        pgy_error err = {0};
        mem_fail_nth(n);
        pgy_status st = context_create(&c, e, 1, &err);
        if (!st) st = context_run(c, feed, out, NULL, &err);
        mem_fail_nth(0);
        if (st && st != PGY_E_MEMORY) fail_msg("allocation %d: %s", (int)n, err.text);
        failures += st != PGY_OK;
        context_destroy(c);
        pgy_tensor_map_destroy(feed);
        pgy_tensor_map_destroy(out);
    }
    assert_true(failures > 20);
    engine_release(e);
    pgy_model_destroy(model);
}
