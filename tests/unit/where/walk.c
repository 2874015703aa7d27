/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <polygraphy/data.h>
#include <polygraphy/where.h>

#include "harness/model_builder.h"

/* ---- Help ------------------------------------------------------------------------------------ */

enum { BLOCKS = 6 };

/* Residual blocks; those in `faults` have another slope. */
static pgy_model *blocks(const char *faults)
{
    model_builder b = builder_start(17);
    char x[32] = "x", in[80], h[32], y[32];
    builder_input(&b, "x", PGY_F32, "N, 4");
    builder_floats(&b, "w", "4, 4",
                   (const float[]){1, 0, -1, 0, 0, -1, 0, 1, 1, 1, -1, 0, 0, 1, 0, -1});
    for (int i = 0; i < BLOCKS; i++) {
        snprintf(in, sizeof in, "%s w", x);
        snprintf(h, sizeof h, "h%d", i);
        builder_node(&b, "MatMul", in, h);
        snprintf(in, sizeof in, "l%d", i);
        pgy_onnx_node *n = builder_node(&b, "LeakyRelu", h, in);
        builder_attr_float(&b, n, "alpha", strchr(faults, '0' + i) ? 0.3F : 0.1F);
        snprintf(in, sizeof in, "l%d %s", i, x);
        snprintf(y, sizeof y, "y%d", i);
        builder_node(&b, "Add", in, y);
        snprintf(x, sizeof x, "%s", y);
    }
    builder_output(&b, x, PGY_F32, "N, 4");
    return builder_finish_bytes(&b);
}

/* Samples of input x, each with a shape of its own. */
static pgy_data_loader *data_of(size_t count, size_t rank, const int64_t shapes[][2])
{
    const pgy_tensor_map *maps[4] = {NULL};
    pgy_tensor_map *made[4] = {NULL};
    pgy_data_loader *loader = NULL;
    for (size_t i = 0; i < count; i++) {
        pgy_tensor *t = NULL;
        assert_int_equal(pgy_tensor_create(&t, PGY_F32, rank, shapes[i], NULL), PGY_OK);
        for (size_t k = 0; k < pgy_tensor_count(t); k++)
            ((float *)pgy_tensor_data(t))[k] = (float)(k % 7) - 3;
        assert_int_equal(pgy_tensor_map_create(&made[i], NULL), PGY_OK);
        assert_int_equal(pgy_tensor_map_adopt(made[i], "x", t, NULL), PGY_OK);
        maps[i] = made[i];
    }
    assert_int_equal(pgy_list_loader_create(&loader, maps, count, NULL), PGY_OK);
    for (size_t i = 0; i < count; i++) pgy_tensor_map_destroy(made[i]);
    return loader;
}

static const int64_t ONE[][2] = {{3, 4}};

static pgy_where_report *compare(pgy_model *good, pgy_model *bad, const pgy_where_options *o)
{
    const pgy_where_side a = {
        .size = sizeof a, .backend = pgy_backend_find("opref"), .model = good};
    const pgy_where_side b = {.size = sizeof b, .backend = a.backend, .model = bad};
    pgy_where_report *r = NULL;
    pgy_error err = {0};
    if (pgy_where(&r, &a, &b, o, &err)) fail_msg("%s", err.text);
    return r;
}

static const pgy_where_tensor *line(const pgy_where_report *r, const char *name)
{
    for (size_t i = 0; i < pgy_where_report_count(r); i++)
        if (!strcmp(pgy_where_report_at(r, i)->name, name)) return pgy_where_report_at(r, i);
    fail_msg("no tensor %s", name);
    return NULL;
}

static void expect_starters(const pgy_where_report *r, const char *list)
{
    char found[256] = "";
    for (size_t i = 0; i < pgy_where_report_count(r); i++) {
        const pgy_where_tensor *t = pgy_where_report_at(r, i);
        const size_t used = strlen(found);
        if (t->starts) snprintf(found + used, sizeof found - used, "%s ", t->name);
    }
    assert_string_equal(found, list);
}

/* ---- Segments -------------------------------------------------------------------------------- */

static void test_walk__segments_do_not_change_the_ledger(void **state)
{
    (void)state;
    pgy_model *good = blocks(""), *bad = blocks("135");
    pgy_where_options o = pgy_where_options_default();
    o.own_errors = true;
    o.data = data_of(1, 2, ONE);
    pgy_where_report *whole = compare(good, bad, &o);
    expect_starters(whole, "l1 l3 l5 ");
    /* 48 bytes for a tensor, 64 for a weight: from one node to all in a segment */
    for (uint64_t limit = 700; limit < 12001; limit *= 2) {
        o.max_memory = limit;
        assert_int_equal(pgy_data_loader_rewind(o.data, NULL), PGY_OK);
        pgy_where_report *cut = compare(good, bad, &o);
        assert_int_equal(pgy_where_report_count(cut), pgy_where_report_count(whole));
        for (size_t i = 0; i < pgy_where_report_count(cut); i++) {
            const pgy_where_tensor *x = pgy_where_report_at(whole, i);
            const pgy_where_tensor *y = pgy_where_report_at(cut, i);
            assert_true(y->compared);
            /* the reference computes in float64 between the borders of segments */
            assert_float_equal(x->error, y->error, 1e-6);
            assert_float_equal(x->handed, y->handed, 1e-6);
            assert_float_equal(x->made, y->made, 1e-6);
            assert_int_equal(x->starts, y->starts);
        }
        pgy_where_report_destroy(cut);
    }
    pgy_where_report_destroy(whole);
    pgy_data_loader_destroy(o.data);
    pgy_model_destroy(good);
    pgy_model_destroy(bad);
}

static void test_walk__samples_of_different_shapes(void **state)
{
    (void)state;
    static const int64_t FOUR[][2] = {{2, 4}, {5, 4}, {2, 4}, {1, 4}};
    pgy_model *good = blocks(""), *bad = blocks("2");
    pgy_where_options o = pgy_where_options_default();
    o.data = data_of(4, 2, FOUR);
    o.max_memory = 700;
    pgy_where_report *r = compare(good, bad, &o);
    expect_starters(r, "l2 ");
    for (size_t i = 0; i < pgy_where_report_count(r); i++)
        assert_true(pgy_where_report_at(r, i)->compared);
    assert_int_equal(pgy_where_report_failure_count(r), 0);
    pgy_where_report_destroy(r);
    pgy_data_loader_destroy(o.data);
    pgy_model_destroy(good);
    pgy_model_destroy(bad);
}

/* The body of an If reads a value that an earlier segment computed. */
static pgy_model *with_branch(float slope)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3, 4");
    builder_floats(&b, "yes", "", NULL);
    pgy_onnx_node *n = builder_node(&b, "LeakyRelu", "x", "first");
    builder_attr_float(&b, n, "alpha", slope);
    builder_node(&b, "Neg", "first", "second");
    builder_node(&b, "Exp", "second", "third");
    builder_node(&b, "Greater", "yes zero", "go");
    builder_floats(&b, "zero", "", (const float[]){0});
    model_builder then = builder_subgraph(&b, "then"), other = builder_subgraph(&b, "other");
    builder_node(&then, "Add", "first third", "t");
    builder_output(&then, "t", PGY_F32, "3, 4");
    builder_node(&other, "Sub", "first third", "e");
    builder_output(&other, "e", PGY_F32, "3, 4");
    n = builder_node(&b, "If", "go", "y");
    builder_attr_graph(&b, n, "then_branch", &then);
    builder_attr_graph(&b, n, "else_branch", &other);
    builder_output(&b, "y", PGY_F32, "3, 4");
    return builder_finish_bytes(&b);
}

static void test_walk__a_body_reads_a_value_of_an_earlier_segment(void **state)
{
    (void)state;
    pgy_model *good = with_branch(0.1F), *bad = with_branch(0.2F);
    pgy_where_options o = pgy_where_options_default();
    o.max_memory = 600;
    o.data = data_of(1, 2, ONE);
    pgy_where_report *r = compare(good, bad, &o);
    expect_starters(r, "first ");
    assert_true(line(r, "y")->compared && line(r, "y")->differs);
    pgy_where_report_destroy(r);
    pgy_data_loader_destroy(o.data);
    pgy_model_destroy(good);
    pgy_model_destroy(bad);
}

static pgy_model *wide(float slope)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    builder_ints(&b, "many", "2", (const int64_t[]){1000, 4});
    builder_ints(&b, "zero", "1", (const int64_t[]){0});
    pgy_onnx_node *n = builder_node(&b, "LeakyRelu", "x", "narrow");
    builder_attr_float(&b, n, "alpha", slope);
    builder_node(&b, "Expand", "narrow many", "wide");
    builder_attr_int(&b, builder_node(&b, "ReduceSum", "wide zero", "sum"), "keepdims", 0);
    builder_node(&b, "Neg", "sum", "y");
    builder_output(&b, "y", PGY_F32, "4");
    return builder_finish_bytes(&b);
}

static const int64_t FOUR_NUMBERS[][2] = {{4}};

/* The tensor has 16000 bytes: it fits once in float64, but not three times. */
static void test_walk__a_tensor_over_the_limit_is_compared_in_slices(void **state)
{
    (void)state;
    pgy_model *good = wide(0.1F), *bad = wide(0.2F);
    pgy_where_options o = pgy_where_options_default();
    o.data = data_of(1, 1, FOUR_NUMBERS);
    o.worst_count = 7;
    pgy_where_report *whole = compare(good, bad, &o);
    for (uint64_t limit = 36000; limit < 48000; limit += 4000) {
        o.max_memory = limit;
        assert_int_equal(pgy_data_loader_rewind(o.data, NULL), PGY_OK);
        pgy_where_report *r = compare(good, bad, &o);
        expect_starters(r, "narrow ");
        for (size_t i = 0; i < pgy_where_report_count(r); i++) {
            const pgy_where_tensor *x = pgy_where_report_at(whole, i);
            const pgy_where_tensor *y = pgy_where_report_at(r, i);
            assert_true(y->compared);
            assert_string_equal(y->note, "");
            assert_float_equal(x->error, y->error, 1e-6);
            assert_int_equal(x->rank, y->rank);
            assert_memory_equal(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape);
            assert_int_equal(x->worst_count, y->worst_count);
            for (size_t k = 0; k < x->worst_count; k++)
                assert_int_equal(x->worst[k].index, y->worst[k].index);
        }
        assert_int_equal(pgy_where_report_failure_count(r), 0);
        pgy_where_report_destroy(r);
    }
    pgy_where_report_destroy(whole);
    pgy_data_loader_destroy(o.data);
    pgy_model_destroy(good);
    pgy_model_destroy(bad);
}

static void test_walk__a_node_that_does_not_fit_the_limit_ends_the_search(void **state)
{
    (void)state;
    pgy_model *good = wide(0.1F);
    pgy_where_options o = pgy_where_options_default();
    o.max_memory = 15000;
    o.data = data_of(1, 1, FOUR_NUMBERS);
    const pgy_where_side side = {
        .size = sizeof side, .backend = pgy_backend_find("opref"), .model = good};
    pgy_where_report *r = NULL;
    pgy_error err;
    assert_int_equal(pgy_where(&r, &side, &side, &o, &err), PGY_E_MEMORY);
    assert_null(r);
    /* no runtime could hold the tensor between them */
    assert_non_null(strstr(err.text, "the 2 nodes from 'n1' (Expand) to 'n2' (ReduceSum) run together and need "));
    assert_non_null(strstr(err.text, ", which is more than the memory limit of 14.65 KiB; raise the limit"));
    pgy_data_loader_destroy(o.data);
    pgy_model_destroy(good);
}

/* ---- Own errors ------------------------------------------------------------------------------ */

static void test_walk__own_errors_of_all_nodes_on_request(void **state)
{
    (void)state;
    pgy_model *good = blocks(""), *bad = blocks("0");
    for (int own = 0; own < 2; own++) {
        pgy_where_options o = pgy_where_options_default();
        o.own_errors = own;
        o.rtol = 1000;
        o.data = data_of(1, 2, ONE);
        pgy_where_report *r = compare(good, bad, &o);
        assert_true(line(r, "l0")->made > 0.01);
        assert_int_equal(isnan(line(r, "l4")->made) == 0, own);
        if (own) assert_true(line(r, "l4")->made == 0);
        pgy_where_report_destroy(r);
        pgy_data_loader_destroy(o.data);
    }
    pgy_model_destroy(good);
    pgy_model_destroy(bad);
}

/* Every node reads its predecessor twice: a search along all paths would not end. */
static void test_walk__many_paths_through_tensors_that_are_not_compared(void **state)
{
    (void)state;
    enum { NODES = 100 };
    model_builder b = builder_start(17);
    char x[32] = "x", in[80], y[32];
    builder_input(&b, "x", PGY_F32, "4");
    for (int i = 0; i < NODES; i++) {
        snprintf(in, sizeof in, "%s %s", x, x);
        snprintf(y, sizeof y, "y%d", i);
        builder_node(&b, "Max", in, y);
        snprintf(x, sizeof x, "%s", y);
    }
    builder_output(&b, x, PGY_F32, "4");
    pgy_model *model = builder_finish_bytes(&b);
    pgy_where_options o = pgy_where_options_default();
    const pgy_where_side a = {
        .size = sizeof a, .backend = pgy_backend_find("opref"), .model = model};
    const pgy_where_side trt = {
        .size = sizeof trt, .backend = pgy_backend_find("trt"), .model = model};
    pgy_where_report *r = NULL;
    pgy_error err = {0};
    if (pgy_where(&r, &a, &trt, &o, &err)) fail_msg("%s", err.text);
    assert_true(line(r, x)->compared && !line(r, x)->differs);
    pgy_where_report_destroy(r);
    pgy_model_destroy(model);
}
