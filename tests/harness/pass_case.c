/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/pass_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "evaluate/execute.h"
#include "harness/graph_case.h"

/* ---- Models --------------------------------------------------------------------------------- */

static float number(size_t i)
{
    return (float)((i * 7919 + 13) % 101) / 50.0f - 1;
}

/* Adds a weight with pseudo-random numbers above `least` - 1. */
void weights_from(model_builder *b, const char *name, const char *shape, size_t count, float least)
{
    float values[512];
    assert_true(count <= 512);
    for (size_t i = 0; i < count; i++)
        values[i] = number(i + strlen(name) + (size_t)name[0]) + least;
    builder_floats(b, name, shape, values);
}

void weights(model_builder *b, const char *name, const char *shape, size_t count)
{
    weights_from(b, name, shape, count, 0);
}

void scalar(model_builder *b, const char *name, float value)
{
    builder_floats(b, name, "", &value);
}

void ints(model_builder *b, const char *name, const char *shape, const int64_t *values)
{
    builder_ints(b, name, shape, values);
}

pgy_onnx_node *node_ints(model_builder *b, pgy_onnx_node *n, const char *name, int64_t value)
{
    builder_attr_ints(b, n, name, 1, &value);
    return n;
}

/* ---- Checking ------------------------------------------------------------------------------- */

static pgy_tensor_map *feed_for(const pgy_graph *g)
{
    pgy_tensor_map *feed = NULL;
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    for (size_t i = 0; i < g->input_count; i++) {
        const pgy_value *v = g->inputs[i];
        int64_t shape[PGY_MAX_RANK];
        pgy_tensor *t = NULL;
        for (int32_t d = 0; d < v->rank; d++)
            shape[d] = v->dims[d].value < 0 ? 2 : v->dims[d].value;
        assert_int_equal(pgy_tensor_create(&t, PGY_F32, (size_t)v->rank, shape, NULL), PGY_OK);
        for (size_t k = 0; k < pgy_tensor_count(t); k++)
            ((float *)pgy_tensor_data(t))[k] = 2 * number(k + 31 * i);
        assert_int_equal(pgy_tensor_map_adopt(feed, v->name, t, NULL), PGY_OK);
    }
    return feed;
}

static pgy_tensor_map *execute(pgy_graph *g, const pgy_tensor_map *feed)
{
    graph_plan plan = {0};
    const execute_limits limits = {0};
    pgy_error err = {0};
    pgy_tensor_map *out = NULL;
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    if (pgy_graph_infer_shapes(g, NULL, &err)) fail_msg("%s", err.text);
    if (plan_build(&plan, g, &err)) fail_msg("%s", err.text);
    if (execute_graph(&plan, g, feed, out, false, &limits, &err)) fail_msg("%s", err.text);
    graph_plan_deinit(&plan);
    return out;
}

static void expect_same(const pgy_tensor_map *got, const pgy_tensor_map *wanted)
{
    assert_int_equal(pgy_tensor_map_count(got), pgy_tensor_map_count(wanted));
    for (size_t i = 0; i < pgy_tensor_map_count(wanted); i++) {
        assert_string_equal(pgy_tensor_map_name(got, i), pgy_tensor_map_name(wanted, i));
        const pgy_tensor *a = pgy_tensor_map_at(got, i), *b = pgy_tensor_map_at(wanted, i);
        assert_int_equal(pgy_tensor_count(a), pgy_tensor_count(b));
        const float *x = pgy_tensor_data(a), *y = pgy_tensor_data(b);
        double squares = 0;
        for (size_t k = 0; k < pgy_tensor_count(a); k++) squares += (double)y[k] * (double)y[k];
        const double rms = sqrt(squares / (double)pgy_tensor_count(a));
        assert_true(rms > 0);
        for (size_t k = 0; k < pgy_tensor_count(a); k++)
            if (fabs((double)x[k] - (double)y[k]) > 1e-6 * (rms + fabs((double)y[k])))
                fail_msg("%s[%zu] is %.9g, not %.9g", pgy_tensor_map_name(got, i), k, (double)x[k],
                         (double)y[k]);
    }
}

static const pass *refused;

/* Passes start no thread, so the thread sanitizer finds nothing in them. fail_alloc refuses an
 * allocation itself, and runs the program once for each; this loop would be the same every time. */
bool refuse_allocations_of(const pass *p)
{
#ifdef __SANITIZE_THREAD__
    return false;
#endif
    if (getenv("POLYGRAPHY_TEST_FAIL_ALLOC")) return false;
    refused = p;
    return mem_fail_nth(0);
}

static pgy_status run_pass(const pass *p, pgy_graph *g, const pass_target *target, pgy_error *err)
{
    size_t changes = 0;
    return p->run_for ? p->run_for(g, target, &changes, err) : p->run(g, &changes, err);
}

/* Runs the pass `refused` on a copy of the graph, with its n-th allocation refused. A pass may go
 * on without what only showed that a rule applies. @return whether it has so many allocations */
static bool run_refused(const pgy_graph *g, const pass_target *target, uint64_t n)
{
    pgy_graph *copy = NULL;
    pgy_error err = {0};
    if (graph_clone(&copy, g, &err)) fail_msg("%s", err.text);
    mem_fail_nth(n);
    const pgy_status st = run_pass(refused, copy, target, &err);
    const bool had = !mem_fail_waits();
    mem_fail_nth(0);
    if (st && st != PGY_E_MEMORY) fail_msg("%s", err.text);
    if (!st != !*err.text)
        fail_msg("%s: allocation %d: status %d, text '%s'", refused->name, (int)n, st, err.text);
    pgy_graph_destroy(copy);
    return had;
}

/* Runs the passes up to `refused`, and this one with each of its allocations refused. */
static void refuse_each(pgy_model *model, const pass_target *target)
{
    pgy_graph *g = NULL;
    pgy_error err = {0};
    if (pgy_graph_import(&g, model, &err)) fail_msg("%s", err.text);
    if (pgy_graph_infer_shapes(g, NULL, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; pass_at(i) != refused; i++)
        if (run_pass(pass_at(i), g, target, &err)) fail_msg("%s", err.text);
    for (uint64_t n = 1; run_refused(g, target, n); n++) continue;
    pgy_graph_destroy(g);
}

/* After all passes the graph must have these nodes and compute the same outputs, also after export
 * and import.
 */
static void expect(model_builder *b, const char *device, const char *nodes)
{
    pgy_model *model = builder_finish_bytes(b), *saved = NULL;
    pgy_graph *before = NULL, *after = NULL, *again = NULL;
    const pgy_build_config config = {.size = sizeof config,
                                     .devices = {.items = &device, .count = device != NULL}};
    const pass_target target = {.config = &config};
    pgy_error err = {0};
    if (refused) {
        refuse_each(model, &target);
        pgy_model_destroy(model);
        return;
    }
    if (pgy_graph_import(&before, model, &err)) fail_msg("%s", err.text);
    if (pgy_graph_import(&after, model, &err)) fail_msg("%s", err.text);
    if (pgy_graph_infer_shapes(after, NULL, &err)) fail_msg("%s", err.text);
    if (passes_run(after, &target, &err)) fail_msg("%s", err.text);
    if (nodes) expect_nodes(after, nodes);
    if (pgy_graph_export(&saved, after, &err)) fail_msg("%s", err.text);
    if (pgy_graph_import(&again, saved, &err)) fail_msg("%s", err.text);
    pgy_tensor_map *feed = feed_for(before), *wanted = execute(before, feed);
    pgy_tensor_map *got = execute(after, feed), *reread = execute(again, feed);
    expect_same(got, wanted);
    expect_same(reread, wanted);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(wanted);
    pgy_tensor_map_destroy(got);
    pgy_tensor_map_destroy(reread);
    pgy_graph_destroy(before);
    pgy_graph_destroy(after);
    pgy_graph_destroy(again);
    pgy_model_destroy(saved);
    pgy_model_destroy(model);
}

void expect_fused_y(model_builder *b, const char *nodes)
{
    builder_output(b, "y", PGY_F32, NULL);
    expect(b, NULL, nodes);
}

void expect_y(model_builder *b, const char *nodes)
{
    const bool free = !getenv("POLYGRAPHY_PASSES");
    if (free) setenv("POLYGRAPHY_PASSES", "-fuse_elementwise", 1);
    expect_fused_y(b, nodes);
    if (free) unsetenv("POLYGRAPHY_PASSES");
}

void expect_y_on(model_builder *b, const char *device, const char *nodes)
{
    setenv("POLYGRAPHY_PASSES", "-fuse_elementwise", 1);
    builder_output(b, "y", PGY_F32, NULL);
    expect(b, device, nodes);
    unsetenv("POLYGRAPHY_PASSES");
}

model_builder start(const char *shape)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, shape);
    return b;
}
