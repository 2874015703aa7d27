/* SPDX-License-Identifier: Apache-2.0 */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "graph_text.h"

static pgy_gs_pattern *new_pattern(void)
{
    pgy_gs_pattern *p = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_pattern_create(&p, &err), PGY_OK);
    return p;
}

static pgy_gs_slot variable(pgy_gs_pattern *p)
{
    pgy_gs_slot slot = -1;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_pattern_variable(&slot, p, &err), PGY_OK);
    return slot;
}

static pgy_gs_slot constant(pgy_gs_pattern *p, const char *name)
{
    pgy_gs_slot slot = -1;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_pattern_constant(&slot, p, name, &err), PGY_OK);
    return slot;
}

/* Up to two inputs, one output; slot -1 ends the inputs. */
static pgy_gs_slot add(pgy_gs_pattern *p, const char *name, const char *op, pgy_gs_slot a,
                       pgy_gs_slot b)
{
    pgy_gs_slot inputs[] = {a, b}, out = -1;
    pgy_gs_pattern_node node = {.name = name, .op = op, .inputs = inputs};
    pgy_error err = {0};
    node.input_count = (a >= 0) + (b >= 0);
    assert_int_equal(pgy_gs_pattern_add(&out, 1, p, &node, &err), PGY_OK);
    return out;
}

static pgy_gs_slot nest(pgy_gs_pattern *p, const char *name, const pgy_gs_pattern *inner,
                        pgy_gs_slot a)
{
    pgy_gs_slot out = -1;
    pgy_gs_pattern_node node = {.name = name, .pattern = inner, .inputs = &a, .input_count = 1};
    pgy_error err = {0};
    assert_int_equal(pgy_gs_pattern_add(&out, 1, p, &node, &err), PGY_OK);
    return out;
}

static void outputs(pgy_gs_pattern *p, pgy_gs_slot a, pgy_gs_slot b)
{
    pgy_gs_slot slots[] = {a, b};
    pgy_error err = {0};
    assert_int_equal(pgy_gs_pattern_outputs(p, slots, (a >= 0) + (b >= 0), &err), PGY_OK);
}

static size_t match(pgy_gs_match **out, const pgy_gs_pattern *p, const pgy_gs_graph *g)
{
    size_t count = 0;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_match_all(out, &count, p, g, &err), PGY_OK);
    return count;
}

static size_t count_matches(const pgy_gs_pattern *p, const pgy_gs_graph *g)
{
    pgy_gs_match *matches = NULL;
    size_t count = match(&matches, p, g);
    pgy_gs_matches_free(matches, count);
    return count;
}

static const char *met(const pgy_gs_match *m, const char *name)
{
    const pgy_gs_node *n = pgy_gs_match_node(m, name);
    return n ? n->name : "(none)";
}

static void make_constant(pgy_gs_graph *g, const char *name)
{
    pgy_tensor *values = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_create(&values, PGY_F32, 0, NULL, &err), PGY_OK);
    *(float *)pgy_tensor_data(values) = 1;
    assert_int_equal(pgy_gs_to_constant(pgy_gs_find_tensor(g, name), values, &err), PGY_OK);
    pgy_tensor_release(values);
}

/* ---- The toy pattern ------------------------------------------------------------------------- */

static bool is_small(const pgy_gs_node *n, void *user)
{
    ++*(int *)user;
    return pgy_gs_attr_as_int(n, "x", 9) < 2;
}

/* A and B feed C, which feeds D and E; C's attribute x is less than 2. */
static pgy_gs_pattern *toy_pattern(int *asked)
{
    pgy_gs_pattern *p = new_pattern();
    pgy_error err = {0};
    pgy_gs_slot in[2], c = -1;
    pgy_gs_slot v = variable(p), w = variable(p);
    in[0] = add(p, "a", "A", v, -1);
    in[1] = add(p, "b", "B", w, -1);
    pgy_gs_pattern_node node = {
        .name = "c", .op = "C", .check = is_small, .user = asked, .inputs = in, .input_count = 2};
    assert_int_equal(pgy_gs_pattern_add(&c, 1, p, &node, &err), PGY_OK);
    pgy_gs_slot d = add(p, "d", "D", c, -1);
    outputs(p, d, add(p, "e", "E", c, -1));
    return p;
}

static pgy_gs_graph *toy_graph(int64_t x)
{
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    pgy_gs_attr attr = pgy_gs_attr_int("x", x);
    text_node(g, "E", "n4", "tc", "te");
    text_node(g, "A", "n0", "i0", "ta");
    text_node(g, "B", "n1", "i1", "tb");
    pgy_gs_node *c = text_node(g, "C", "n2", "ta tb", "tc");
    text_node(g, "D", "n3", "tc", "td");
    text_node(g, "F", "after", "td te", "y");
    assert_int_equal(pgy_gs_set_attr(c, &attr, &err), PGY_OK);
    text_io(g, "i0 i1", "y");
    return g;
}

static void test_pattern__toy_matches_once(void **state)
{
    (void)state;
    int asked = 0;
    pgy_gs_pattern *p = toy_pattern(&asked);
    pgy_gs_graph *g = toy_graph(1);
    pgy_gs_match *m = NULL;
    assert_int_equal(match(&m, p, g), 1);
    assert_int_equal(asked, 1);
    assert_string_equal(met(m, "a"), "n0");
    assert_string_equal(met(m, "b"), "n1");
    assert_string_equal(met(m, "c"), "n2");
    assert_string_equal(met(m, "d"), "n3");
    assert_string_equal(met(m, "e"), "n4");
    assert_string_equal(met(m, "f"), "(none)");
    assert_null(pgy_gs_match_nested(m, "a"));
    assert_tensors(m->inputs, m->input_count, "i0, i1");
    assert_tensors(m->outputs, m->output_count, "td, te");
    assert_int_equal(m->constant_count, 0);
    pgy_gs_matches_free(m, 1);
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(p);
}

static void test_pattern__toy_does_not_match(void **state)
{
    (void)state;
    int asked = 0;
    pgy_error err = {0};
    pgy_gs_pattern *p = toy_pattern(&asked);
    pgy_gs_graph *g = toy_graph(5);
    assert_int_equal(count_matches(p, g), 0);
    pgy_gs_destroy(g);

    g = toy_graph(1);
    assert_int_equal(pgy_gs_set_op(pgy_gs_find_node(g, "n3"), "X", &err), PGY_OK);
    assert_int_equal(count_matches(p, g), 0);
    pgy_gs_destroy(g);

    const char *inner[] = {"ta", "tb", "tc"};
    for (size_t i = 0; i < 3; i++) {
        g = toy_graph(1);
        text_node(g, "F", "reader", inner[i], "z");
        assert_int_equal(count_matches(p, g), 0);
        pgy_gs_destroy(g);

        g = toy_graph(1);
        assert_int_equal(pgy_gs_add_graph_output(g, pgy_gs_find_tensor(g, inner[i]), &err), PGY_OK);
        assert_int_equal(count_matches(p, g), 0);
        pgy_gs_destroy(g);

        /* A reader in a subgraph is one. */
        g = toy_graph(1);
        pgy_gs_node *choice = text_node(g, "If", "if", "i0", "z");
        text_node(text_subgraph(choice, "then_branch"), "D", "inside", inner[i], "s");
        assert_int_equal(count_matches(p, g), 0);
        pgy_gs_destroy(g);
    }
    /* Outputs may have any reader. */
    g = toy_graph(1);
    text_node(g, "F", "reader", "td te", "z");
    assert_int_equal(count_matches(p, g), 1);
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(p);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static void test_pattern__constants_meet_constants_only(void **state)
{
    (void)state;
    pgy_gs_pattern *p = new_pattern();
    pgy_gs_slot v = variable(p), k = constant(p, NULL);
    pgy_gs_slot sum = add(p, "first", "Add", v, k);
    outputs(p, add(p, "second", "Add", sum, constant(p, "bias")), -1);
    pgy_gs_graph *g = text_graph();
    text_node(g, "Add", "n0", "x w", "t");
    text_node(g, "Add", "n1", "t w", "y");
    text_node(g, "Add", "n2", "w x", "z");
    text_node(g, "Add", "n3", "z x", "zz");
    text_io(g, "x", "y zz");
    assert_int_equal(count_matches(p, g), 0);
    make_constant(g, "w");
    pgy_gs_match *m = NULL;
    assert_int_equal(match(&m, p, g), 1);
    assert_string_equal(met(m, "first"), "n0");
    assert_tensors(m->inputs, m->input_count, "x");
    assert_tensors(m->constants, m->constant_count, "w, w");
    assert_string_equal(pgy_gs_match_constant(m, "unnamed_constant_tensor_1")->name, "w");
    assert_string_equal(pgy_gs_match_constant(m, "bias")->name, "w");
    assert_null(pgy_gs_match_constant(m, "scale"));
    pgy_gs_matches_free(m, 1);
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(p);
}

static void test_pattern__one_variable_is_one_tensor(void **state)
{
    (void)state;
    pgy_gs_pattern *same = new_pattern(), *any = new_pattern();
    pgy_gs_slot v = variable(same);
    outputs(same, add(same, "a", "Add", v, v), -1);
    pgy_gs_slot w = variable(any), u = variable(any);
    outputs(any, add(any, "a", "Add", u, w), -1);
    pgy_gs_graph *g = text_graph();
    text_node(g, "Add", "n0", "x x", "t");
    text_node(g, "Add", "n1", "t x", "y");
    text_node(g, "Add", "n2", "x -", "z");
    text_io(g, "x", "y z");
    pgy_gs_match *m = NULL;
    assert_int_equal(match(&m, same, g), 1);
    assert_string_equal(met(m, "a"), "n0");
    pgy_gs_matches_free(m, 1);
    size_t count = match(&m, any, g);
    assert_int_equal(count, 3);
    assert_tensors(m[1].inputs, m[1].input_count, "x, t");
    assert_tensors(m[2].inputs, m[2].input_count, "-, x");
    pgy_gs_matches_free(m, count);
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(same);
    pgy_gs_pattern_destroy(any);
}

static void test_pattern__inner_tensor_read_twice_by_one_node(void **state)
{
    (void)state;
    pgy_gs_pattern *p = new_pattern();
    pgy_gs_slot r = add(p, "r", "Relu", variable(p), -1);
    outputs(p, add(p, "m", "Mul", r, r), -1);
    pgy_gs_graph *g = text_graph();
    text_node(g, "Relu", "relu", "x", "t");
    text_node(g, "Mul", "mul", "t t", "y");
    text_io(g, "x", "y");
    assert_int_equal(count_matches(p, g), 1);
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(p);
}

/* ---- Fan-out --------------------------------------------------------------------------------- */

static void test_pattern__consumers_are_tried_in_turn(void **state)
{
    (void)state;
    /* C feeds two Relus, of which the second feeds a Neg: the first choice fails. */
    pgy_gs_pattern *p = new_pattern();
    pgy_gs_slot c = add(p, "c", "C", variable(p), -1);
    pgy_gs_slot d = add(p, "d", "Relu", c, -1), e = add(p, "e", "Relu", c, -1);
    outputs(p, add(p, "neg", "Neg", d, -1), add(p, "abs", "Abs", e, -1));
    pgy_gs_graph *g = text_graph();
    text_node(g, "C", "top", "x", "t");
    text_node(g, "Relu", "r0", "t", "t0");
    text_node(g, "Relu", "r1", "t", "t1");
    text_node(g, "Abs", "a", "t0", "y0");
    text_node(g, "Neg", "n", "t1", "y1");
    text_io(g, "x", "y0 y1");
    pgy_gs_match *m = NULL;
    assert_int_equal(match(&m, p, g), 1);
    assert_string_equal(met(m, "d"), "r1");
    assert_string_equal(met(m, "e"), "r0");
    pgy_gs_matches_free(m, 1);
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(p);
}

static void test_pattern__branches_need_a_node_each(void **state)
{
    (void)state;
    pgy_gs_pattern *p = new_pattern();
    pgy_gs_slot c = add(p, "c", "C", variable(p), -1);
    pgy_gs_slot d = add(p, "d", "Relu", c, -1);
    outputs(p, d, add(p, "e", "Relu", c, -1));
    const size_t wanted[] = {0, 0, 1, 0};
    for (size_t k = 1; k <= 3; k++) {
        pgy_gs_graph *g = text_graph();
        text_node(g, "C", "c", "x", "t");
        for (size_t i = 0; i < k; i++) {
            char name[32];
            snprintf(name, sizeof name, "r%zu", i);
            text_node(g, "Relu", name, "t", name);
        }
        assert_int_equal(count_matches(p, g), wanted[k]);
        pgy_gs_destroy(g);
    }
    pgy_gs_pattern_destroy(p);
}

/* The reference forgets the nodes behind an output. */
static void test_pattern__nodes_behind_a_declared_output(void **state)
{
    (void)state;
    pgy_gs_pattern *p = new_pattern();
    pgy_gs_slot c = add(p, "c", "C", variable(p), -1);
    outputs(p, c, add(p, "d", "Neg", c, -1));
    pgy_gs_graph *g = text_graph();
    text_node(g, "C", "top", "x", "t");
    text_node(g, "Relu", "other", "t", "y0");
    text_node(g, "Neg", "neg", "t", "y1");
    text_io(g, "x", "y0 y1 t");
    pgy_gs_match *m = NULL;
    assert_int_equal(match(&m, p, g), 1);
    assert_string_equal(met(m, "d"), "neg");
    assert_tensors(m->outputs, m->output_count, "t, y1");
    pgy_gs_matches_free(m, 1);
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(p);
}

static void test_pattern__connected_by_an_input_alone(void **state)
{
    (void)state;
    pgy_gs_pattern *p = new_pattern();
    pgy_gs_slot v = variable(p);
    pgy_gs_slot a = add(p, "a", "Relu", v, -1);
    outputs(p, a, add(p, "b", "Neg", v, -1));
    pgy_gs_graph *g = text_graph();
    text_node(g, "Relu", "r0", "x", "t0");
    text_node(g, "Neg", "n0", "other", "t1");
    text_node(g, "Neg", "n1", "x", "t2");
    pgy_gs_match *m = NULL;
    assert_int_equal(match(&m, p, g), 1);
    assert_string_equal(met(m, "b"), "n1");
    pgy_gs_matches_free(m, 1);
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(p);
}

static void test_pattern__matches_may_overlap_and_have_the_order_of_the_list(void **state)
{
    (void)state;
    pgy_gs_pattern *p = new_pattern();
    pgy_gs_slot a = add(p, "a", "Relu", variable(p), -1);
    outputs(p, add(p, "b", "Relu", a, -1), -1);
    pgy_gs_graph *g = text_graph();
    text_node(g, "Relu", "r2", "t2", "t3");
    text_node(g, "Relu", "r1", "t1", "t2");
    text_node(g, "Relu", "r0", "t0", "t1");
    text_io(g, "t0", "t3");
    pgy_gs_match *m = NULL;
    size_t count = match(&m, p, g);
    assert_int_equal(count, 2);
    assert_string_equal(met(&m[0], "a"), "r1");
    assert_string_equal(met(&m[1], "a"), "r0");
    pgy_gs_matches_free(m, count);
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(p);
}

/* ---- Nested patterns ------------------------------------------------------------------------- */

static pgy_gs_pattern *inner_pattern(void)
{
    pgy_gs_pattern *p = new_pattern();
    pgy_gs_slot v = variable(p);
    pgy_gs_slot r = add(p, "i1", "Add", v, constant(p, "k"));
    outputs(p, add(p, "i2", "Neg", r, -1), -1);
    return p;
}

static pgy_gs_graph *nested_graph(void)
{
    pgy_gs_graph *g = text_graph();
    text_node(g, "Add", "n0", "x w0", "t0");
    text_node(g, "Neg", "n1", "t0", "t1");
    text_node(g, "Add", "n2", "t1 w1", "t2");
    text_node(g, "Neg", "n3", "t2", "t3");
    text_node(g, "Abs", "n4", "t3", "y");
    text_io(g, "x", "y");
    make_constant(g, "w0");
    make_constant(g, "w1");
    return g;
}

static void test_pattern__nested(void **state)
{
    (void)state;
    pgy_gs_pattern *inner = inner_pattern(), *p = new_pattern();
    pgy_gs_slot a = nest(p, "first", inner, variable(p));
    pgy_gs_slot b = nest(p, "second", inner, a);
    outputs(p, add(p, "last", "Abs", b, -1), -1);
    pgy_gs_graph *g = nested_graph();
    pgy_gs_match *m = NULL;
    assert_int_equal(match(&m, p, g), 1);
    assert_string_equal(met(m, "last"), "n4");
    assert_string_equal(met(m, "first"), "(none)");
    const pgy_gs_match *second = pgy_gs_match_nested(m, "second");
    assert_non_null(second);
    assert_string_equal(met(second, "i1"), "n2");
    assert_string_equal(met(second, "i2"), "n3");
    assert_tensors(second->inputs, second->input_count, "t1");
    assert_tensors(second->outputs, second->output_count, "t3");
    assert_string_equal(pgy_gs_match_constant(second, "k")->name, "w1");
    assert_int_equal(m->constant_count, 0);
    assert_tensors(m->inputs, m->input_count, "x");
    assert_tensors(m->outputs, m->output_count, "y");
    pgy_gs_matches_free(m, 1);
    /* What a nested pattern gives is inside the outer one. */
    text_node(g, "Relu", "reader", "t1", "z");
    assert_int_equal(count_matches(p, g), 0);
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(p);
    pgy_gs_pattern_destroy(inner);
}

/* ---- Errors and limits ----------------------------------------------------------------------- */

static void test_pattern__wrong_declarations(void **state)
{
    (void)state;
    pgy_gs_pattern *p = new_pattern(), *inner = inner_pattern();
    pgy_error err = {0};
    pgy_gs_slot v = variable(p), out[2], bad = 7;
    pgy_gs_pattern_node node = {.name = "n", .op = "Relu", .inputs = &bad, .input_count = 1};
    assert_int_equal(pgy_gs_pattern_add(out, 1, p, &node, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "the pattern has no tensor 7");
    node.inputs = &v;
    node.op = NULL;
    assert_int_equal(pgy_gs_pattern_add(out, 1, p, &node, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "node 'n' of a pattern needs an operator or a nested pattern");
    node.pattern = inner;
    assert_int_equal(pgy_gs_pattern_add(out, 2, p, &node, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text,
                        "pattern 'n' has 1 inputs and 1 outputs, but is used with 1 and 2");
    assert_int_equal(pgy_gs_pattern_outputs(p, &v, 1, &err), PGY_E_ARGUMENT);
    assert_string_equal(
        err.text,
        "tensor 0 cannot be an output of the pattern: no node of the pattern computes it");
    add(p, "n", "Relu", v, -1);
    node = (pgy_gs_pattern_node){.name = "n", .op = "Relu"};
    assert_int_equal(pgy_gs_pattern_add(out, 1, p, &node, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "the pattern already has a node 'n'");
    constant(p, "k");
    assert_int_equal(pgy_gs_pattern_constant(out, p, "k", &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "the pattern already has a constant 'k'");
    pgy_gs_pattern_destroy(p);
    pgy_gs_pattern_destroy(inner);
}

static void test_pattern__nodes_must_hang_together(void **state)
{
    (void)state;
    pgy_gs_pattern *p = new_pattern();
    pgy_gs_graph *g = nested_graph();
    pgy_gs_match *m = NULL;
    size_t count = 0;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_match_all(&m, &count, p, g, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "the pattern has no nodes");
    add(p, "a", "Relu", variable(p), -1);
    add(p, "b", "Relu", variable(p), -1);
    assert_int_equal(pgy_gs_match_all(&m, &count, p, g, &err), PGY_E_ARGUMENT);
    assert_string_equal(
        err.text,
        "node 'b' of the pattern is not connected with its node 'a'; match the parts separately");
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(p);
}

static void test_pattern__deep_nesting_is_refused(void **state)
{
    (void)state;
    /* Each pattern holds the one before twice. */
    pgy_gs_pattern *list[40] = {inner_pattern()};
    pgy_gs_graph *g = nested_graph();
    pgy_gs_match *m = NULL;
    size_t count = 0;
    pgy_error err = {0};
    for (size_t i = 1; i < 40; i++) {
        list[i] = new_pattern();
        pgy_gs_slot a = nest(list[i], "one", list[i - 1], variable(list[i]));
        outputs(list[i], nest(list[i], "two", list[i - 1], a), -1);
    }
    assert_int_equal(pgy_gs_match_all(&m, &count, list[39], g, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "a pattern has at most 1024 nodes");
    assert_int_equal(count_matches(list[1], g), 1);
    for (size_t i = 0; i < 40; i++) pgy_gs_pattern_destroy(list[i]);
    pgy_gs_destroy(g);
}

/* Twelve equal readers, the last of which can never be there: 12! ways without a limit. */
static void test_pattern__too_many_ways(void **state)
{
    (void)state;
    enum { WIDTH = 12 };
    pgy_gs_pattern *p = new_pattern();
    pgy_gs_graph *g = text_graph();
    pgy_gs_match *m = NULL;
    size_t count = 0;
    pgy_error err = {0};
    pgy_gs_slot c = add(p, "c", "C", variable(p), -1);
    pgy_gs_slot last = -1;
    text_node(g, "C", "top", "x", "t");
    for (int i = 0; i < WIDTH; i++) {
        char name[8];
        snprintf(name, sizeof name, "r%d", i);
        last = add(p, name, "Relu", c, -1);
        text_node(g, "Relu", name, "t", name);
        /* The branches end alike, so that no choice is seen to be wrong before the end. */
        last = add(p, name + 1, i == WIDTH - 1 ? "Abs" : "Neg", last, -1);
    }
    for (int i = 0; i < WIDTH; i++) {
        char from[8], to[8];
        snprintf(from, sizeof from, "r%d", i);
        snprintf(to, sizeof to, "s%d", i);
        text_node(g, "Neg", to, from, to);
    }
    outputs(p, last, -1);
    assert_int_equal(pgy_gs_match_all(&m, &count, p, g, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "node 'top' (C): the pattern is ambiguous here"));
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(p);
}

static void test_pattern__refused_allocation(void **state)
{
    (void)state;
    pgy_gs_pattern *inner = inner_pattern(), *p = new_pattern();
    pgy_gs_slot a = nest(p, "first", inner, variable(p));
    outputs(p, nest(p, "second", inner, a), -1);
    pgy_gs_graph *g = nested_graph();
    pgy_status st = PGY_E_MEMORY;
    for (uint64_t n = 1; st; n++) {
        pgy_gs_match *m = NULL;
        size_t count = 0;
        pgy_error err = {0};
        if (!mem_fail_nth(n)) break;
        st = pgy_gs_match_all(&m, &count, p, g, &err);
        mem_fail_nth(0);
        assert_int_equal(st, st ? PGY_E_MEMORY : PGY_OK);
        assert_int_equal(count, st ? 0 : 1);
        pgy_gs_matches_free(m, count);
    }
    pgy_gs_destroy(g);
    pgy_gs_pattern_destroy(p);
    pgy_gs_pattern_destroy(inner);
}
