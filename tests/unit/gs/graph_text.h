/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs for tests in a few lines, and what became of them as text:
 *
 *     pgy_gs_graph *g = text_graph();
 *     text_node(g, "Add", "a", "x w", "y");     // Add "a" (x, w -> y); "-" is an omitted slot
 *     text_io(g, "x", "y");
 *     assert_nodes(g, "a");
 *     assert_node(g, "a", "Add(x, w -> y)");
 *
 * Names are looked up on the level and outwards, else a float32 variable is made. */
#ifndef TESTS_GRAPH_TEXT_H
#define TESTS_GRAPH_TEXT_H

#include <string.h>

#include "gs/graph/gs.h"

enum { TEXT_NAMES = 16 };

static inline pgy_gs_graph *text_graph(void)
{
    pgy_gs_graph *g = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_create(&g, &err), PGY_OK);
    return g;
}

static inline pgy_gs_tensor *text_tensor(pgy_gs_graph *g, const char *name)
{
    pgy_gs_tensor *t = NULL;
    pgy_error err = {0};
    if (!strcmp(name, "-")) {
        assert_int_equal(pgy_gs_omitted(&t, g, &err), PGY_OK);
        return t;
    }
    for (const pgy_gs_graph *at = g; at && !t; at = at->parent) t = pgy_gs_find_tensor(at, name);
    if (!t) assert_int_equal(pgy_gs_variable(&t, g, name, PGY_F32, -1, NULL, &err), PGY_OK);
    return t;
}

static inline size_t text_list(pgy_gs_tensor **out, pgy_gs_graph *g, const char *names)
{
    size_t count = 0;
    char text[512];
    snprintf(text, sizeof text, "%s", names);
    for (char *rest = NULL, *w = strtok_r(text, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        size_t same = 0;
        char other[512];
        snprintf(other, sizeof other, "%s", names);
        /* A name twice in one list is one tensor, though nothing holds it yet. */
        char *more = NULL, *v = strtok_r(other, " ", &more);
        while (same < count && strcmp(v, w)) {
            same++;
            v = strtok_r(NULL, " ", &more);
        }
        assert_true(count < TEXT_NAMES);
        out[count] = same < count && strcmp(w, "-") ? out[same] : text_tensor(g, w);
        count++;
    }
    return count;
}

static inline pgy_gs_node *text_node(pgy_gs_graph *g, const char *op, const char *name,
                                     const char *inputs, const char *outputs)
{
    pgy_gs_tensor *in[TEXT_NAMES], *out[TEXT_NAMES];
    pgy_gs_node *n = NULL;
    pgy_error err = {0};
    size_t in_count = text_list(in, g, inputs);
    /* An input that is an output too is one tensor. */
    size_t out_count = 0;
    pgy_gs_node_spec spec = {.op = op, .name = name, .inputs = in, .input_count = in_count};
    assert_int_equal(pgy_gs_add_node(&n, g, &spec, &err), PGY_OK);
    out_count = text_list(out, g, outputs);
    assert_int_equal(pgy_gs_set_outputs(n, out, out_count, &err), PGY_OK);
    return n;
}

static inline void text_io(pgy_gs_graph *g, const char *inputs, const char *outputs)
{
    pgy_gs_tensor *list[TEXT_NAMES];
    pgy_error err = {0};
    size_t count = text_list(list, g, inputs);
    assert_int_equal(pgy_gs_set_graph_inputs(g, list, count, &err), PGY_OK);
    count = text_list(list, g, outputs);
    assert_int_equal(pgy_gs_set_graph_outputs(g, list, count, &err), PGY_OK);
}

/* An empty subgraph under an attribute of n. */
static inline pgy_gs_graph *text_subgraph(pgy_gs_node *n, const char *attribute)
{
    pgy_gs_graph *g = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_gs_subgraph(&g, n->graph, attribute, &err), PGY_OK);
    pgy_gs_attr a = pgy_gs_attr_graph(attribute, g);
    assert_int_equal(pgy_gs_set_attr(n, &a, &err), PGY_OK);
    return g;
}

static inline void assert_nodes(const pgy_gs_graph *g, const char *names)
{
    str text = {0};
    for (size_t i = 0; i < g->node_count; i++)
        str_printf(&text, "%s%s", i ? " " : "", g->nodes[i]->name);
    assert_string_equal(str_text(&text), names);
    str_deinit(&text);
}

static inline void text_names(str *out, pgy_gs_tensor *const *tensors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        str_printf(out, "%s%s", i ? ", " : "", *tensors[i]->name ? tensors[i]->name : "-");
}

static inline void assert_tensors(pgy_gs_tensor *const *tensors, size_t count, const char *names)
{
    str text = {0};
    text_names(&text, tensors, count);
    assert_string_equal(str_text(&text), names);
    str_deinit(&text);
}

static inline void assert_node(const pgy_gs_graph *g, const char *name, const char *wanted)
{
    str text = {0};
    const pgy_gs_node *n = pgy_gs_find_node(g, name);
    assert_non_null(n);
    str_printf(&text, "%s(", n->op);
    text_names(&text, n->inputs, n->input_count);
    str_append(&text, " -> ");
    text_names(&text, n->outputs, n->output_count);
    str_append(&text, ")");
    assert_string_equal(str_text(&text), wanted);
    str_deinit(&text);
}

/* Every edge is in both of its ends, as often. */
static inline size_t text_count(void *const *list, size_t count, const void *x)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) n += list[i] == x;
    return n;
}

static inline void assert_edges(const pgy_gs_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        assert_ptr_equal(n->graph, g);
        assert_int_equal(pgy_gs_node_index(n), i);
        for (size_t j = 0; j < n->input_count; j++) {
            const pgy_gs_tensor *t = n->inputs[j];
            assert_int_equal(text_count((void **)t->consumers, t->consumer_count, n),
                             text_count((void **)n->inputs, n->input_count, t));
        }
        for (size_t j = 0; j < n->output_count; j++) {
            const pgy_gs_tensor *t = n->outputs[j];
            assert_int_equal(text_count((void **)t->producers, t->producer_count, n),
                             text_count((void **)n->outputs, n->output_count, t));
        }
    }
}

#endif
