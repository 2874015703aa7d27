/* SPDX-License-Identifier: Apache-2.0 */
/* Containers: scopes, repetitions, what is open at first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/model_builder.h"
#include "viewer/graph.h"

/* ---- What holds for all groupings ----------------------------------------------------------- */

static void count_children(const view_graph *g, uint32_t container, uint32_t *nodes,
                           uint32_t *containers)
{
    const view_container *c = &g->containers[container];
    containers[container]++;
    if (c->node != VIEW_NONE) nodes[c->node]++;
    for (uint32_t i = 0; i < c->child_count; i++) {
        const view_item item = c->children[i];
        if (item.kind == VIEW_ITEM_NODE) {
            nodes[item.ref]++;
            assert_int_equal(g->nodes[item.ref].parent, container);
        } else {
            assert_int_equal(g->containers[item.ref].parent, container);
            count_children(g, item.ref, nodes, containers);
        }
    }
}

static void expect_tree(const view_graph *g)
{
    uint32_t *nodes = calloc(g->node_count + 1, sizeof *nodes);
    uint32_t *containers = calloc(g->container_count + 1, sizeof *containers);
    for (uint32_t i = 0; i < g->container_count; i++)
        if (g->containers[i].parent == VIEW_NONE) count_children(g, i, nodes, containers);
    for (uint32_t i = 0; i < g->node_count; i++) assert_int_equal(nodes[i], 1);
    for (uint32_t i = 0; i < g->container_count; i++) assert_int_equal(containers[i], 1);
    free(nodes);
    free(containers);
}

static void expect_same(const view_graph *g, view_item a, view_item b)
{
    assert_int_equal(a.kind, b.kind);
    if (a.kind == VIEW_ITEM_NODE) {
        assert_int_equal(g->nodes[a.ref].op, g->nodes[b.ref].op);
        assert_int_equal(g->nodes[a.ref].input_count, g->nodes[b.ref].input_count);
        return;
    }
    const view_container *x = &g->containers[a.ref], *y = &g->containers[b.ref];
    assert_int_equal(x->kind, y->kind);
    assert_int_equal(x->state, y->state);
    assert_int_equal(x->child_count, y->child_count);
    for (uint32_t i = 0; i < x->child_count; i++) expect_same(g, x->children[i], y->children[i]);
}

static void expect_instances(const view_graph *g)
{
    for (uint32_t i = 0; i < g->container_count; i++) {
        const view_container *c = &g->containers[i];
        if (c->kind != VIEW_REPEAT) continue;
        assert_true(c->child_count >= 2);
        for (uint32_t k = 0; k < c->child_count; k++) {
            assert_int_equal(g->containers[c->children[k].ref].kind, VIEW_INSTANCE);
            expect_same(g, c->children[0], c->children[k]);
        }
    }
}

/* The child of `container` that a node lies in; its index, or VIEW_NONE. */
static uint32_t child_of(const view_graph *g, uint32_t node, uint32_t container)
{
    view_item item = {VIEW_ITEM_NODE, node};
    uint32_t parent = g->nodes[node].parent;
    while (parent != container && parent != VIEW_NONE) {
        item = (view_item){VIEW_ITEM_CONTAINER, parent};
        parent = g->containers[parent].parent;
    }
    for (uint32_t i = 0; parent == container && i < g->containers[container].child_count; i++) {
        const view_item c = g->containers[container].children[i];
        if (c.kind == item.kind && c.ref == item.ref) return i;
    }
    return VIEW_NONE;
}

/* Children lie in an order in which all arrows between them go forward. */
static void expect_forward(const view_graph *g)
{
    for (uint32_t n = 0; n < g->node_count; n++)
        for (uint32_t k = 0; k < g->nodes[n].input_count; k++) {
            const uint32_t t = g->nodes[n].inputs[k];
            if (t == VIEW_NONE || g->tensors[t].producer == VIEW_NONE) continue;
            const uint32_t from = g->tensors[t].producer;
            for (uint32_t c = g->nodes[from].parent; c != VIEW_NONE; c = g->containers[c].parent) {
                const uint32_t a = child_of(g, from, c), b = child_of(g, n, c);
                if (a == VIEW_NONE || b == VIEW_NONE || g->containers[c].kind == VIEW_CALL)
                    continue;
                if (a > b) fail_msg("an arrow to '%s' goes back", g->nodes[n].name);
            }
        }
}

/* Takes the model over. */
static view_graph *grouped(pgy_model *m)
{
    pgy_error err = {0};
    strvec warnings = {0};
    view_graph *g = NULL;
    pgy_status st = view_graph_from_model(&g, m, "m", &warnings, &err);
    pgy_model_destroy(m);
    if (!st) st = view_graph_group(g, &err);
    if (st) fail_msg("%s", err.text);
    strvec_deinit(&warnings);
    expect_tree(g);
    expect_instances(g);
    expect_forward(g);
    return g;
}

static uint32_t find(const view_graph *g, view_container_kind kind, const char *name)
{
    for (uint32_t i = 0; i < g->container_count; i++)
        if (g->containers[i].kind == kind && (!name || strcmp(g->containers[i].name, name) == 0))
            return i;
    return VIEW_NONE;
}

static uint32_t count_of(const view_graph *g, view_container_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->container_count; i++) count += g->containers[i].kind == kind;
    return count;
}

/* ---- Models --------------------------------------------------------------------------------- */

static void named(model_builder *b, const char *op, const char *in, const char *out,
                  const char *name)
{
    builder_node(b, op, in, out)->name = pgy_model_strdup(b->model, name);
}

/* Layers of five nodes with a residual; `format` makes a node's name from layer, room and number.
 */
static pgy_model *layers(int count, const char *format, bool numbered)
{
    static const char *const NODES[][3] = {
        {"MatMul", "x%d w", "a%d"}, {"Softmax", "a%d", "b%d"}, {"Add", "x%d b%d", "c%d"},
        {"Relu", "c%d", "d%d"},     {"Add", "c%d d%d", "x%d"},
    };
    static const char *const ROOMS[] = {"attention", "attention", "attention", "mlp", "mlp"};
    model_builder b = builder_start(17);
    char in[64], out[64], name[128];
    builder_input(&b, "ids", PGY_F32, "N, 4");
    builder_floats(&b, "w", "4, 4", NULL);
    builder_node(&b, "Tanh", "ids", "x0");
    for (int i = 0, n = 0; i < count; i++)
        for (size_t k = 0; k < 5; k++, n++) {
            snprintf(in, sizeof in, NODES[k][1], i, i);
            snprintf(out, sizeof out, NODES[k][2], k == 4 ? i + 1 : i);
            if (numbered)
                snprintf(name, sizeof name, "node_%d", n);
            else
                snprintf(name, sizeof name, format, i, ROOMS[k], (int)k);
            named(&b, NODES[k][0], in, out, name);
        }
    snprintf(in, sizeof in, "x%d", count);
    builder_node(&b, "Sigmoid", in, "y");
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish(&b);
}

static void test_groups__folders_in_names_become_scopes_and_a_repeat(void **state)
{
    (void)state;
    view_graph *g = grouped(layers(24, "/encoder/layer.%d/%s/n%d", false));
    const uint32_t repeat = find(g, VIEW_REPEAT, "layer.*");
    assert_int_not_equal(repeat, VIEW_NONE);
    assert_int_equal(g->containers[repeat].child_count, 24);
    assert_string_equal(g->containers[repeat].note, "layer.0 to layer.23");
    assert_int_equal(g->containers[repeat].state, VIEW_ONE);
    assert_string_equal(g->containers[g->containers[repeat].parent].name, "encoder");
    const view_container *first = &g->containers[g->containers[repeat].children[0].ref];
    assert_int_equal(first->child_count, 2);
    assert_string_equal(g->containers[first->children[0].ref].name, "attention");
    assert_string_equal(g->containers[first->children[1].ref].name, "mlp");
    view_graph_destroy(g);
}

static void test_groups__dots_in_names_become_scopes(void **state)
{
    (void)state;
    view_graph *g = grouped(layers(6, "decoder.blocks.%d.%s.n%d", false));
    const uint32_t repeat = find(g, VIEW_REPEAT, NULL);
    assert_int_equal(g->containers[repeat].child_count, 6);
    assert_string_equal(g->containers[repeat].note, "blocks.0 to blocks.5");
    view_graph_destroy(g);
}

static void set_scopes(model_builder *b, pgy_onnx_node *n, const char *list)
{
    pgy_onnx_string_entry *e = pgy_model_alloc(b->model, 1, sizeof *e);
    pgy_onnx_string_entry **all = pgy_model_alloc(b->model, 1, sizeof *all);
    assert_true(e && all);
    *e = (pgy_onnx_string_entry){.key = "pkg.torch.onnx.name_scopes", .value = list};
    *all = e;
    n->metadata_props = all;
    n->metadata_prop_count = 1;
}

static void test_groups__modules_of_pytorch_become_scopes(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    set_scopes(&b, builder_node(&b, "Relu", "x", "a"), "['', 'stem', 'relu']");
    set_scopes(&b, builder_node(&b, "Exp", "a", "b"), "['', 'stem', 'exp']");
    set_scopes(&b, builder_node(&b, "Neg", "b", "c"), "['', 'stem', 'stem.norm.0', 'neg']");
    set_scopes(&b, builder_node(&b, "Abs", "c", "d"), "['', 'stem', 'stem.norm.0', 'abs']");
    set_scopes(&b, builder_node(&b, "Tanh", "d", "e"), "['', 'head', 'damaged");
    builder_output(&b, "e", PGY_F32, "4");
    view_graph *g = grouped(builder_finish(&b));
    assert_int_equal(count_of(g, VIEW_SCOPE), 2);
    const uint32_t norm = find(g, VIEW_SCOPE, "norm.0");
    assert_int_not_equal(norm, VIEW_NONE);
    assert_string_equal(g->containers[g->containers[norm].parent].name, "stem");
    view_graph_destroy(g);
}

static void test_groups__equal_blocks_are_found_without_scopes(void **state)
{
    (void)state;
    view_graph *g = grouped(layers(24, NULL, true));
    const uint32_t repeat = find(g, VIEW_REPEAT, NULL);
    assert_int_not_equal(repeat, VIEW_NONE);
    assert_int_equal(count_of(g, VIEW_REPEAT), 1);
    assert_int_equal(g->containers[repeat].child_count, 24);
    const view_container *first = &g->containers[g->containers[repeat].children[0].ref];
    assert_int_equal(first->child_count, 5);
    assert_string_equal(g->nodes[first->children[0].ref].name, "node_0");
    assert_string_equal(g->nodes[first->children[4].ref].name, "node_4");
    view_graph_destroy(g);
}

static void test_groups__blocks_with_other_wiring_are_not_equal(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    char in[64], out[64];
    builder_input(&b, "x0", PGY_F32, "4");
    for (int i = 0; i < 6; i++) {
        snprintf(in, sizeof in, "x%d", i);
        snprintf(out, sizeof out, "a%d", i);
        builder_node(&b, "Relu", in, out);
        snprintf(in, sizeof in, "a%d", i);
        snprintf(out, sizeof out, "b%d", i);
        builder_node(&b, "Exp", in, out);
        /* every second block reads its first value twice */
        snprintf(in, sizeof in, i % 2 ? "a%d a%d" : "a%d b%d", i, i);
        snprintf(out, sizeof out, "x%d", i + 1);
        builder_node(&b, "Add", in, out);
    }
    builder_output(&b, "x6", PGY_F32, "4");
    view_graph *g = grouped(builder_finish(&b));
    for (uint32_t i = 0; i < g->container_count; i++)
        if (g->containers[i].kind == VIEW_INSTANCE)
            assert_int_equal(g->containers[i].child_count % 6, 0);
    view_graph_destroy(g);
}

static void test_groups__scope_left_and_entered_again_is_divided(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    named(&b, "Relu", "x", "a", "/p/a");
    named(&b, "Exp", "a", "b", "/p/b");
    named(&b, "Neg", "b", "c", "/q/c");
    named(&b, "Abs", "c", "d", "/q/d");
    named(&b, "Tanh", "d", "e", "/p/e");
    named(&b, "Ceil", "e", "f", "/p/f");
    builder_output(&b, "f", PGY_F32, "4");
    view_graph *g = grouped(builder_finish(&b));
    assert_int_equal(count_of(g, VIEW_SCOPE), 3);
    assert_string_equal(g->containers[1].note, "part 1 of 2");
    view_graph_destroy(g);
}

static void test_groups__a_convex_scope_waits_for_all_it_needs(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "4");
    named(&b, "Relu", "x", "a", "/p/a");
    named(&b, "Neg", "x", "c", "/q/c");
    named(&b, "Abs", "c", "d", "/q/d");
    named(&b, "Add", "a d", "e", "/p/e");
    builder_output(&b, "e", PGY_F32, "4");
    view_graph *g = grouped(builder_finish(&b));
    assert_int_equal(count_of(g, VIEW_SCOPE), 2);
    view_graph_destroy(g);
}

static void test_groups__first_picture_is_small(void **state)
{
    (void)state;
    /* 400 different blocks cannot be folded into a repeat */
    model_builder b = builder_start(17);
    char in[32], out[32], name[64];
    builder_input(&b, "x0", PGY_F32, "4");
    for (int i = 0, n = 0; i < 60; i++)
        for (int k = 0; k < 10 + i % 7; k++, n++) {
            snprintf(in, sizeof in, "x%d", n);
            snprintf(out, sizeof out, "x%d", n + 1);
            snprintf(name, sizeof name, "/s%c%c/n", 'a' + i / 26, 'a' + i % 26);
            named(&b, (k * i) % 3 ? "Relu" : "Exp", in, out, name);
        }
    builder_output(&b, "y", PGY_F32, "4");
    view_graph *g = grouped(builder_finish(&b));
    uint32_t shown = 0, open = 0;
    for (uint32_t i = 0; i < g->containers[0].child_count; i++) {
        const view_item c = g->containers[0].children[i];
        const bool is_open = c.kind == VIEW_ITEM_CONTAINER && g->containers[c.ref].state;
        shown += is_open ? g->containers[c.ref].child_count : 1;
        open += is_open;
    }
    assert_true(shown <= 300);
    assert_true(shown > 250);
    assert_true(open > 10 && open < 60);
    view_graph_destroy(g);
}

/* ---- Wrapping ------------------------------------------------------------------------------- */

static void test_groups__wrap_makes_one_item_of_siblings(void **state)
{
    (void)state;
    pgy_error err = {0};
    strvec warnings = {0};
    view_graph *g = NULL;
    pgy_model *m = layers(2, "/l%d/%s/n%d", false);
    assert_int_equal(view_graph_from_model(&g, m, "m", &warnings, &err), PGY_OK);
    const uint32_t nodes[] = {view_graph_node(g, "/l0/attention/n1"),
                              view_graph_node(g, "/l0/attention/n0")};
    uint32_t fused;
    assert_int_equal(view_graph_wrap(g, VIEW_FUSED, "n0 + n1", nodes, 2, &fused, &err), PGY_OK);
    assert_int_equal(g->containers[fused].child_count, 2);
    /* in the model's order, at the place of the first */
    assert_int_equal(g->containers[fused].children[0].ref, nodes[1]);
    assert_int_equal(g->containers[0].children[2].ref, fused);
    assert_int_equal(view_graph_group(g, &err), PGY_OK);
    expect_tree(g);
    expect_forward(g);
    assert_string_equal(g->containers[g->containers[fused].parent].name, "attention");
    view_graph_destroy(g);
    pgy_model_destroy(m);
    strvec_deinit(&warnings);
}

static void test_groups__wrap_refuses_nodes_of_different_containers(void **state)
{
    (void)state;
    pgy_error err = {0};
    view_graph *g = grouped(layers(2, "/l%d/%s/n%d", false));
    const uint32_t nodes[] = {view_graph_node(g, "/l0/attention/n0"),
                              view_graph_node(g, "/l0/mlp/n3")};
    assert_int_equal(view_graph_wrap(g, VIEW_FUSED, "f", nodes, 2, NULL, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "'f'"));
    expect_tree(g);
    view_graph_destroy(g);
}

static void test_groups__a_fusion_that_turns_arrows_back_is_opened(void **state)
{
    (void)state;
    pgy_error err = {0};
    strvec warnings = {0};
    view_graph *g = NULL;
    pgy_model *m = layers(2, "/l%d/%s/n%d", false);
    assert_int_equal(view_graph_from_model(&g, m, "m", &warnings, &err), PGY_OK);
    const uint32_t nodes[] = {view_graph_node(g, "/l0/attention/n0"),
                              view_graph_node(g, "/l0/mlp/n3")};
    assert_int_equal(view_graph_wrap(g, VIEW_FUSED, "n0 + n3", nodes, 2, NULL, &err), PGY_OK);
    assert_int_equal(view_graph_group(g, &err), PGY_OK);
    expect_forward(g);
    expect_tree(g);
    assert_int_equal(find(g, VIEW_FUSED, NULL), VIEW_NONE);
    view_graph_destroy(g);
    pgy_model_destroy(m);
    strvec_deinit(&warnings);
}

/* ---- Random graphs -------------------------------------------------------------------------- */

/* Nodes in random scopes that read random earlier values, some of them again and again. */
static pgy_model *random_model(unsigned *seed)
{
    static const char *const OPS[] = {"Add", "Mul", "Sub"};
    static const char *const SCOPES[] = {"/a", "/a/b", "/a/c", "/d", "/d/e.0", "/d/e.1", ""};
    const int count = 5 + rand_r(seed) % 60, period = 2 + rand_r(seed) % 9;
    const bool repeats = rand_r(seed) % 2;
    unsigned again = *seed;
    model_builder b = builder_start(17);
    char in[64], out[32], name[64];
    builder_input(&b, "x0", PGY_F32, "4");
    for (int i = 1; i <= count; i++) {
        if (repeats && i % period == 0) *seed = again;
        const int reach = i < 6 ? i : 6;
        snprintf(in, sizeof in, "x%d x%d", i - 1 - rand_r(seed) % reach,
                 i - 1 - rand_r(seed) % reach);
        snprintf(out, sizeof out, "x%d", i);
        snprintf(name, sizeof name, "%s/n%d", SCOPES[rand_r(seed) % 7], i);
        named(&b, OPS[rand_r(seed) % 3], in, out, name);
    }
    builder_output(&b, out, PGY_F32, NULL);
    again = *seed;
    return builder_finish(&b);
}

static void test_groups__random_graphs_keep_all_rules(void **state)
{
    (void)state;
    unsigned seed = 1, repeats = 0, scopes = 0;
    for (unsigned i = 0; i < 400; i++) {
        seed = i * 7919 + 1;
        view_graph *g = grouped(random_model(&seed));
        repeats += count_of(g, VIEW_REPEAT);
        scopes += count_of(g, VIEW_SCOPE);
        view_graph_destroy(g);
    }
    assert_true(repeats > 20);
    assert_true(scopes > 400);
}

static void test_groups__the_same_model_gives_the_same_groups(void **state)
{
    (void)state;
    unsigned a = 77, b = 77;
    view_graph *x = grouped(random_model(&a)), *y = grouped(random_model(&b));
    assert_int_equal(x->container_count, y->container_count);
    for (uint32_t i = 0; i < x->container_count; i++) {
        assert_string_equal(x->containers[i].name, y->containers[i].name);
        assert_int_equal(x->containers[i].child_count, y->containers[i].child_count);
    }
    view_graph_destroy(x);
    view_graph_destroy(y);
}

/* ---- Memory --------------------------------------------------------------------------------- */

static pgy_status view_and_write(pgy_model *m)
{
    pgy_error err = {0};
    strvec warnings = {0};
    view_graph *g = NULL;
    json_writer *w = NULL;
    str s = {0};
    pgy_status st = view_graph_from_model(&g, m, "m", &warnings, &err);
    if (!st) st = view_graph_group(g, &err);
    if (!st) st = json_writer_create_str(&w, &s, &err);
    if (!st) {
        view_graph_write(w, g);
        st = json_writer_finish(w, &err);
        json_writer_destroy(w);
    }
    str_deinit(&s);
    view_graph_destroy(g);
    strvec_deinit(&warnings);
    return st;
}

static void test_groups__survive_failing_allocations(void **state)
{
    (void)state;
    pgy_model *m = layers(3, "/l.%d/%s/n%d", false);
    /* some failures change nothing but a look-up; many in a row mean that all were tried */
    for (uint64_t n = 1, passed = 0; passed < 30; n++) {
        if (!mem_fail_nth(n)) break;
        const pgy_status st = view_and_write(m);
        mem_fail_nth(0);
        passed = st ? 0 : passed + 1;
        if (st) assert_int_equal(st, PGY_E_MEMORY);
    }
    assert_int_equal(view_and_write(m), PGY_OK);
    pgy_model_destroy(m);
}
