/* SPDX-License-Identifier: Apache-2.0 */
/* Small changes of graphs: the order of consumers, which passes go by, and free names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "graph/edit.h"
#include "harness/graph_case.h"

enum { NODES = 60, VALUES = 3, MAX_USES = 4 * NODES, STEPS = 4000 };

/* Consumers as plain lists: new ones go behind, the last entry of a node is removed first. */
typedef struct plain {
    pgy_value *value;
    pgy_node *users[MAX_USES];
    size_t count;
} plain;

static void plain_add(plain *p, pgy_node *n)
{
    assert_true(p->count < MAX_USES);
    p->users[p->count++] = n;
}

static void plain_remove(plain *p, const pgy_node *n)
{
    size_t at = p->count;
    while (at > 0 && p->users[at - 1] != n) at--;
    assert_true(at > 0);
    memmove(p->users + at - 1, p->users + at, (p->count-- - at) * sizeof *p->users);
}

static plain *plain_of(plain *all, const pgy_value *v)
{
    for (size_t i = 0; i < VALUES; i++)
        if (all[i].value == v) return &all[i];
    fail_msg("no such value");
    return NULL;
}

static void plain_set(plain *all, const pgy_node *n, size_t slot, plain *to)
{
    plain_remove(plain_of(all, n->inputs[slot]), n);
    plain_add(to, (pgy_node *)n);
}

static void plain_replace(plain *from, plain *to)
{
    while (from->count) plain_add(to, from->users[--from->count]);
}

static void expect_same(const plain *all)
{
    for (size_t i = 0; i < VALUES; i++) {
        assert_int_equal(all[i].value->consumer_count, all[i].count);
        for (size_t k = 0; k < all[i].count; k++)
            assert_ptr_equal(all[i].value->consumers[k], all[i].users[k]);
    }
}

static pgy_graph *wide_graph(plain *all)
{
    static const char *const NAMES[VALUES] = {"x", "y", "z"};
    static const char *const READS[] = {"x y", "x x", "y x z", "z z"};
    model_builder b = builder_start(17);
    char name[16];
    for (size_t i = 0; i < VALUES; i++) builder_input(&b, NAMES[i], PGY_F32, "2");
    for (size_t i = 0; i < NODES; i++) {
        snprintf(name, sizeof name, "r%zu", i);
        builder_node(&b, "Sum", READS[i % 4], name);
    }
    builder_output(&b, "r0", PGY_F32, "2");
    pgy_graph *g = import_graph(&b);
    for (size_t i = 0; i < VALUES; i++) {
        all[i] = (plain){.value = pgy_graph_find_value(g, NAMES[i])};
        all[i].count = all[i].value->consumer_count;
        memcpy(all[i].users, all[i].value->consumers, all[i].count * sizeof *all[i].users);
    }
    return g;
}

static unsigned pick(uint32_t *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static void test_edit__consumers_keep_their_order(void **state)
{
    (void)state;
    static plain all[VALUES];
    pgy_error err = {0};
    pgy_graph *g = wide_graph(all);
    uint32_t seed = 1;
    for (size_t i = 0; i < STEPS; i++) {
        plain *to = &all[pick(&seed, VALUES)];
        if (pick(&seed, 200) == 0) {
            plain *from = &all[pick(&seed, VALUES)];
            if (from == to || from->count + to->count > MAX_USES) continue;
            plain_replace(from, to);
            assert_int_equal(value_replace_uses(from->value, to->value, &err), PGY_OK);
        } else {
            pgy_node *n = g->nodes[pick(&seed, NODES)];
            const size_t slot = pick(&seed, (unsigned)n->input_count);
            plain_set(all, n, slot, to);
            assert_int_equal(node_set_input(n, slot, to->value, &err), PGY_OK);
        }
        expect_same(all);
    }
    for (size_t i = 0; i < NODES; i++) { /* every second one, then the rest from behind */
        pgy_node *n = g->nodes[i < NODES / 2 ? 2 * i : 2 * (NODES - i) - 1];
        for (size_t k = 0; k < n->input_count; k++) plain_remove(plain_of(all, n->inputs[k]), n);
        node_unlink(n);
        expect_same(all);
    }
    for (size_t i = 0; i < VALUES; i++) assert_int_equal(all[i].value->consumer_count, 0);
    pgy_graph_destroy(g);
}

/* As a queue: what is removed in front makes room behind. */
static void test_edit__consumers_come_and_go(void **state)
{
    (void)state;
    static plain all[VALUES];
    pgy_error err = {0};
    pgy_graph *g = wide_graph(all);
    pgy_value *x = all[0].value, *y = all[1].value;
    for (size_t i = 0; i < 50 * NODES; i++) {
        pgy_node *n = g->nodes[i % NODES / 4 * 4]; /* that read x y */
        plain_set(all, n, 0, &all[1]);
        assert_int_equal(node_set_input(n, 0, y, &err), PGY_OK);
        expect_same(all);
        plain_set(all, n, 0, &all[0]);
        assert_int_equal(node_set_input(n, 0, x, &err), PGY_OK);
        expect_same(all);
    }
    pgy_graph_destroy(g);
}

static void add_choice(model_builder *b, int i)
{
    char name[16];
    model_builder yes = builder_subgraph(b, "yes"), no = builder_subgraph(b, "no");
    snprintf(name, sizeof name, "inner%d", i);
    builder_node(&yes, "Neg", "x", name);
    builder_output(&yes, name, PGY_F32, "2");
    builder_node(&no, "Abs", "x", "shared");
    builder_output(&no, "shared", PGY_F32, "2");
    snprintf(name, sizeof name, "y%d", i);
    pgy_onnx_node *n = builder_node(b, "If", "c", name);
    builder_attr_graph(b, n, "then_branch", &yes);
    builder_attr_graph(b, n, "else_branch", &no);
}

/* The names of all levels count, and a name that went is free again. */
static void test_edit__free_names(void **state)
{
    enum { CHOICES = 20 };
    (void)state;
    pgy_error err = {0};
    model_builder b = builder_start(17);
    builder_input(&b, "c", PGY_BOOL, "");
    builder_input(&b, "x", PGY_F32, "2");
    for (int i = 0; i < CHOICES; i++) add_choice(&b, i);
    builder_output(&b, "y0", PGY_F32, "2");
    pgy_graph *g = import_graph(&b);
    graph_state *s = state_of(g);
    assert_string_equal(graph_free_name(s, "new", NULL, NULL), "new"); /* asking does not take it */
    assert_string_equal(graph_free_name(s, "new", NULL, NULL), "new");
    assert_string_equal(value_create_unique(g, "new", &err)->name, "new");
    assert_string_equal(value_create_unique(g, "new", &err)->name, "new_0");
    assert_string_equal(value_create_unique(g, "inner7", &err)->name, "inner7_1");
    assert_string_equal(value_create_unique(g, "shared", &err)->name, "shared_2");
    pgy_graph *branch = g->nodes[3]->subgraphs[0];
    pgy_value *inner = pgy_graph_find_value(branch, "inner3");
    assert_non_null(inner);
    assert_int_equal(value_rename(inner, "other", &err), PGY_OK);
    assert_string_equal(graph_free_name(s, "other", NULL, NULL), "other_3");
    assert_string_equal(graph_free_name(s, "inner3", NULL, NULL), "inner3");
    for (size_t i = 0; i < CHOICES; i++) { /* the same name, in one level less each time */
        pgy_value *shared = pgy_graph_find_value(g->nodes[i]->subgraphs[1], "shared");
        const char *name = graph_free_name(s, "shared", NULL, NULL);
        assert_int_equal(strncmp(name, "shared_", 7), 0);
        assert_int_equal(value_rename(shared, name, &err), PGY_OK);
    }
    assert_string_equal(graph_free_name(s, "shared", NULL, NULL), "shared");
    pgy_graph_destroy(g);
}
