/* SPDX-License-Identifier: Apache-2.0 */
/* Planted faults: a model fails if it has certain nodes, or if a weight is huge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <polygraphy/debug_minimise.h>
#include <polygraphy/gs.h>
#include <polygraphy/record.h>

#include <stdio.h>
#include <string.h>

/* x -> node_0 -> t0 -> node_1 -> t1 ...; every third node adds an earlier tensor. */
static pgy_model *make_chain(size_t count)
{
    const pgy_dim dims[] = {{2, NULL}, {6, NULL}};
    pgy_gs_graph *g = NULL;
    pgy_gs_tensor *x = NULL, *before, *last;
    pgy_model *model = NULL;
    assert_int_equal(pgy_gs_create(&g, NULL), PGY_OK);
    assert_int_equal(pgy_gs_variable(&x, g, "x", PGY_F32, 2, dims, NULL), PGY_OK);
    assert_int_equal(pgy_gs_add_graph_input(g, x, NULL), PGY_OK);
    before = last = x;
    for (size_t i = 0; i < count; i++) {
        char name[32], output[32];
        pgy_gs_tensor *y = NULL;
        pgy_gs_node *n = NULL;
        snprintf(name, sizeof name, "node_%zu", i);
        snprintf(output, sizeof output, "t%zu", i);
        const bool join = i % 3 == 2;
        const pgy_gs_operand in[] = {pgy_gs_tensor_operand(last), pgy_gs_tensor_operand(before)};
        assert_int_equal(pgy_gs_variable(&y, g, output, PGY_F32, 2, dims, NULL), PGY_OK);
        const pgy_gs_operand out[] = {pgy_gs_tensor_operand(y)};
        const pgy_gs_layer_spec spec = {.op = join ? "Max" : "Neg",
                                        .name = name,
                                        .inputs = in,
                                        .input_count = join ? 2 : 1,
                                        .outputs = out,
                                        .output_count = 1};
        assert_int_equal(pgy_gs_layer(&n, g, &spec, NULL), PGY_OK);
        before = last;
        last = y;
    }
    assert_int_equal(pgy_gs_add_graph_output(g, last, NULL), PGY_OK);
    assert_int_equal(pgy_gs_export(&model, g, NULL, NULL), PGY_OK);
    pgy_gs_destroy(g);
    return model;
}

typedef struct fault {
    size_t nodes[3], count; /* a part that has the outputs of all these nodes fails */
    int64_t least;          /* and whose inputs have at least so many columns */
} fault;

static bool has_output(const pgy_onnx_graph *g, size_t node)
{
    char name[32];
    snprintf(name, sizeof name, "t%zu", node);
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->outputs[0], name) == 0) return true;
    return false;
}

static pgy_status find_fault(pgy_debug_finding *out, pgy_model *model,
                             const pgy_tensor_map *const *feeds, size_t count, void *user,
                             pgy_error *err)
{
    const fault *f = user;
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    (void)err;
    *out = (pgy_debug_finding){.outcome = PGY_DEBUG_MISMATCH};
    assert_int_equal(count, 1);
    assert_int_equal(pgy_tensor_map_count(feeds[0]), g->input_count);
    for (size_t i = 0; i < f->count; i++)
        if (!has_output(g, f->nodes[i])) out->outcome = PGY_DEBUG_PASSED;
    for (size_t i = 0; i < g->input_count; i++)
        if (pgy_tensor_shape(pgy_tensor_map_at(feeds[0], i))[1] < f->least)
            out->outcome = PGY_DEBUG_PASSED;
    return PGY_OK;
}

static pgy_status unused(bool *passed, const char *candidate, void *user, pgy_error *err)
{
    (void)passed, (void)candidate, (void)user;
    return pgy_error_set(err, PGY_E_INTERNAL, "the session's check ran");
}

static pgy_status minimise(pgy_debug_minimum *found, pgy_model *model,
                           const pgy_debug_minimise_options *o, const char *load, const char *save,
                           pgy_error *err)
{
    const pgy_debug_check check = {.size = sizeof check, .judge = unused};
    pgy_debug_options options = pgy_debug_options_default();
    pgy_debug_session *s = NULL;
    pgy_tensor_map *feed = NULL;
    options.check = &check;
    options.load_replay = load;
    options.save_replay = save;
    assert_int_equal(pgy_debug_session_create(&s, &options, NULL), PGY_OK);
    assert_int_equal(pgy_record_feed(&feed, model, NULL, NULL), PGY_OK);
    const pgy_tensor_map *const feeds[] = {feed};
    const pgy_status st = pgy_debug_minimise(found, s, model, feeds, 1, o, err);
    pgy_tensor_map_destroy(feed);
    pgy_debug_session_destroy(s);
    return st;
}

static pgy_debug_minimise_options options_of(fault *f)
{
    return (pgy_debug_minimise_options){.size = sizeof(pgy_debug_minimise_options),
                                        .on = PGY_DEBUG_MISMATCH,
                                        .test = find_fault,
                                        .user = f,
                                        .record_backend = "opref"};
}

static size_t expect_nodes(size_t nodes, fault f)
{
    pgy_model *model = make_chain(nodes);
    pgy_debug_minimise_options o = options_of(&f);
    pgy_debug_minimum found = {0};
    o.nodes_only = true;
    pgy_error err = {0};
    if (minimise(&found, model, &o, NULL, NULL, &err)) fail_msg("%s", err.text);
    assert_int_equal(found.nodes, f.count);
    assert_int_equal(found.original_nodes, nodes);
    for (size_t i = 0; i < f.count; i++)
        assert_true(has_output(pgy_model_proto(found.model)->graph, f.nodes[i]));
    const size_t evaluations = found.evaluations;
    pgy_debug_minimum_free(&found);
    pgy_model_destroy(model);
    return evaluations;
}

static void test_minimise__one_node(void **state)
{
    (void)state;
    for (size_t bad = 0; bad < 500; bad += 71)
        assert_in_range(expect_nodes(500, (fault){.nodes = {bad}, .count = 1}), 2, 19);
    for (size_t bad = 0; bad < 7; bad++) expect_nodes(7, (fault){.nodes = {bad}, .count = 1});
    assert_int_equal(expect_nodes(1, (fault){.nodes = {0}, .count = 1}), 1);
}

static void test_minimise__several_nodes(void **state)
{
    (void)state;
    expect_nodes(40, (fault){.nodes = {3, 4}, .count = 2});
    expect_nodes(40, (fault){.nodes = {19, 20}, .count = 2});
    expect_nodes(40, (fault){.nodes = {0, 39}, .count = 2});
    expect_nodes(40, (fault){.nodes = {2, 17, 31}, .count = 3});
    expect_nodes(3, (fault){.nodes = {0, 1, 2}, .count = 3});
}

static void test_minimise__shapes_and_inputs(void **state)
{
    (void)state;
    fault f = {.nodes = {8}, .count = 1, .least = 3};
    pgy_model *model = make_chain(12);
    const pgy_debug_minimise_options o = options_of(&f);
    pgy_debug_minimum found = {0};
    assert_int_equal(minimise(&found, model, &o, NULL, NULL, NULL), PGY_OK);
    assert_int_equal(found.nodes, 1); /* a Max: one of its inputs became a constant */
    const pgy_tensor_map *feed = found.feeds[0];
    assert_int_equal(pgy_tensor_map_count(feed), 1);
    assert_int_equal(pgy_tensor_shape(pgy_tensor_map_at(feed, 0))[0], 1);
    pgy_debug_minimum_free(&found);
    pgy_model_destroy(model);
}

static void test_minimise__passing_model(void **state)
{
    (void)state;
    fault f = {.nodes = {99}, .count = 1};
    pgy_model *model = make_chain(4);
    const pgy_debug_minimise_options o = options_of(&f);
    pgy_debug_minimum found;
    pgy_error err = {0};
    assert_int_equal(minimise(&found, model, &o, NULL, NULL, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "the whole model does not fail by 'mismatch': its verdict is "
                                  "'pass'. There is nothing to reduce");
    pgy_model_destroy(model);
}

static void test_minimise__replay(void **state)
{
    (void)state;
    static const char REPLAY[] = "minimise_replay.json";
    fault f = {.nodes = {5}, .count = 1};
    pgy_model *model = make_chain(9), *other = make_chain(10);
    pgy_debug_minimise_options o = options_of(&f);
    pgy_debug_minimum found = {0};
    pgy_error err = {0};
    assert_int_equal(minimise(&found, model, &o, NULL, REPLAY, NULL), PGY_OK);
    pgy_debug_minimum_free(&found);
    assert_int_equal(minimise(&found, model, &o, REPLAY, NULL, NULL), PGY_OK);
    assert_int_equal(found.evaluations, 0);
    assert_int_equal(found.nodes, 1);
    pgy_debug_minimum_free(&found);
    assert_int_equal(minimise(&found, other, &o, REPLAY, NULL, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "belongs to another model"));
    pgy_model_destroy(model);
    pgy_model_destroy(other);
    remove(REPLAY);
    remove("minimise_replay_skip_current.json");
}

/* ---- Attributes ----------------------------------------------------------------------------- */

/* A model of one node fails as long as an attribute has this number at this place; one of a list
 * also if the list has other lengths. */
typedef struct attribute_fault {
    const char *name;
    size_t at;
    float number;
} attribute_fault;

static const pgy_onnx_attribute *find_attribute(const pgy_model *model, const char *name)
{
    const pgy_onnx_node *n = pgy_model_proto(model)->graph->nodes[0];
    for (size_t i = 0; i < n->attribute_count; i++)
        if (strcmp(n->attributes[i]->name, name) == 0) return n->attributes[i];
    return NULL;
}

static pgy_status find_attribute_fault(pgy_debug_finding *out, pgy_model *model,
                                       const pgy_tensor_map *const *feeds, size_t count, void *user,
                                       pgy_error *err)
{
    const attribute_fault *f = user;
    const pgy_onnx_attribute *a = find_attribute(model, f->name);
    (void)feeds, (void)count, (void)err;
    bool bad = a && a->type == PGY_ATTR_FLOAT && a->f >= f->number;
    for (size_t i = 0; a && i < a->int_count; i++)
        bad |= i == f->at && (float)a->ints[i] == f->number;
    *out = (pgy_debug_finding){.outcome = bad ? PGY_DEBUG_MISMATCH : PGY_DEBUG_PASSED};
    return PGY_OK;
}

static pgy_model *make_node(const char *op, const pgy_gs_attr *attrs, size_t attr_count,
                            const int64_t *sizes, int32_t rank)
{
    pgy_dim dims[PGY_MAX_RANK];
    pgy_gs_graph *g = NULL;
    pgy_gs_tensor *x = NULL, *y = NULL;
    pgy_gs_node *n = NULL;
    pgy_model *model = NULL;
    for (int32_t i = 0; i < rank; i++) dims[i] = (pgy_dim){sizes[i], NULL};
    assert_int_equal(pgy_gs_create(&g, NULL), PGY_OK);
    g->opset = 11;
    assert_int_equal(pgy_gs_variable(&x, g, "x", PGY_F32, rank, dims, NULL), PGY_OK);
    assert_int_equal(pgy_gs_variable(&y, g, "y", PGY_F32, -1, NULL, NULL), PGY_OK);
    const pgy_gs_node_spec spec = {.op = op,
                                   .name = "only",
                                   .inputs = &x,
                                   .input_count = 1,
                                   .outputs = &y,
                                   .output_count = 1,
                                   .attrs = attrs,
                                   .attr_count = attr_count};
    assert_int_equal(pgy_gs_add_node(&n, g, &spec, NULL), PGY_OK);
    assert_int_equal(pgy_gs_add_graph_input(g, x, NULL), PGY_OK);
    assert_int_equal(pgy_gs_add_graph_output(g, y, NULL), PGY_OK);
    assert_int_equal(pgy_gs_export(&model, g, NULL, NULL), PGY_OK);
    pgy_gs_destroy(g);
    return model;
}

/* Minimises, frees `model`, and gives the minimum. */
static pgy_debug_minimum minimise_node(pgy_model *model, attribute_fault f)
{
    pgy_debug_minimise_options o = options_of(NULL);
    pgy_debug_minimum found = {0};
    pgy_error err = {0};
    o.test = find_attribute_fault;
    o.user = &f;
    if (minimise(&found, model, &o, NULL, NULL, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(model);
    assert_int_equal(found.nodes, 1);
    return found;
}

static void test_minimise__numbers_become_simple(void **state)
{
    (void)state;
    const pgy_gs_attr alpha = pgy_gs_attr_float("alpha", 0.37F);
    pgy_model *model = make_node("LeakyRelu", &alpha, 1, (const int64_t[]){2, 3}, 2);
    pgy_debug_minimum found = minimise_node(model, (attribute_fault){"alpha", 0, 0.2F});
    assert_true(find_attribute(found.model, "alpha")->f == 1);
    pgy_debug_minimum_free(&found);
    model = make_node("LeakyRelu", &alpha, 1, (const int64_t[]){2, 3}, 2);
    found = minimise_node(model, (attribute_fault){"alpha", 0, -1});
    assert_true(find_attribute(found.model, "alpha")->f == 0); /* without it the model passes */
    pgy_debug_minimum_free(&found);
}

static void test_minimise__lists_become_short_and_simple(void **state)
{
    (void)state;
    const pgy_gs_attr axes = pgy_gs_attr_ints("axes", (const int64_t[]){0, 1, 3}, 3);
    pgy_model *model = make_node("Squeeze", &axes, 1, (const int64_t[]){1, 1, 5, 1}, 4);
    pgy_debug_minimum found = minimise_node(model, (attribute_fault){"axes", 1, 1});
    const pgy_onnx_attribute *a = find_attribute(found.model, "axes");
    assert_int_equal(a->int_count, 2); /* one axis passes */
    pgy_debug_minimum_free(&found);
    const pgy_gs_attr pool[] = {
        pgy_gs_attr_ints("kernel_shape", (const int64_t[]){3, 3}, 2),
        pgy_gs_attr_ints("strides", (const int64_t[]){2, 2}, 2),
        pgy_gs_attr_ints("pads", (const int64_t[]){1, 1, 2, 1}, 4),
        pgy_gs_attr_int("ceil_mode", 1),
    };
    model = make_node("MaxPool", pool, 4, (const int64_t[]){1, 1, 6, 6}, 4);
    found = minimise_node(model, (attribute_fault){"pads", 2, 2});
    assert_null(find_attribute(found.model, "strides"));
    assert_null(find_attribute(found.model, "ceil_mode"));
    a = find_attribute(found.model, "pads");
    assert_int_equal(a->int_count, 4);
    for (size_t i = 0; i < 4; i++) assert_int_equal(a->ints[i], i == 2 ? 2 : 0);
    pgy_debug_minimum_free(&found);
}
