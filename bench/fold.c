/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding of large graphs: fold KIND NODES [RUNS] prints the best and the median time, in
 * milliseconds, to fold a graph of so many nodes, and how many are left. KIND is `wide`: nodes that
 * do nothing and share one input; `mixed`: only every second one does nothing; or `branches`: Ifs
 * with a constant condition. Prints, asserts nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/gs.h>
#include <polygraphy/transform.h>

#include "base/system.h"

enum { MAX_RUNS = 1000 };

typedef struct maker {
    pgy_gs_graph *g;
    pgy_gs_tensor *x, *condition;
    pgy_error err;
} maker;

static pgy_status make_tensor(pgy_gs_tensor **out, maker *m, pgy_gs_graph *g, const char *stem,
                              size_t i)
{
    static const pgy_dim DIMS[] = {{2, NULL}};
    char name[48];
    snprintf(name, sizeof name, "%s_%zu", stem, i);
    return pgy_gs_variable(out, g, name, PGY_F32, 1, DIMS, &m->err);
}

static pgy_status make_node(pgy_gs_node **out, maker *m, pgy_gs_graph *g, const char *op,
                            pgy_gs_tensor *x, pgy_gs_tensor *y)
{
    const pgy_gs_node_spec spec = {.op = op,
                                   .name = y->name,
                                   .inputs = &x,
                                   .input_count = 1,
                                   .outputs = &y,
                                   .output_count = 1};
    return pgy_gs_add_node(out, g, &spec, &m->err);
}

static pgy_status make_branch(maker *m, pgy_gs_node *n, const char *attribute, const char *op,
                              size_t i)
{
    pgy_gs_graph *g = NULL;
    pgy_gs_tensor *y = NULL;
    pgy_status st = pgy_gs_subgraph(&g, m->g, attribute, &m->err);
    if (!st) st = make_tensor(&y, m, g, attribute, i);
    if (!st) st = make_node(NULL, m, g, op, m->x, y);
    if (!st) st = pgy_gs_add_graph_output(g, y, &m->err);
    if (st) return st;
    const pgy_gs_attr attr = pgy_gs_attr_graph(attribute, g);
    return pgy_gs_set_attr(n, &attr, &m->err);
}

static pgy_status make_wide(maker *m, pgy_gs_tensor *y, size_t i)
{
    (void)i;
    return make_node(NULL, m, m->g, "Identity", m->x, y);
}

static pgy_status make_mixed(maker *m, pgy_gs_tensor *y, size_t i)
{
    return make_node(NULL, m, m->g, i % 2 ? "Identity" : "Neg", m->x, y);
}

static pgy_status make_choice(maker *m, pgy_gs_tensor *y, size_t i)
{
    pgy_gs_node *n = NULL;
    pgy_status st = make_node(&n, m, m->g, "If", m->condition, y);
    if (!st) st = make_branch(m, n, "then_branch", "Neg", i);
    return st ? st : make_branch(m, n, "else_branch", "Abs", i);
}

static const struct kind {
    const char *name;
    pgy_status (*make)(maker *m, pgy_gs_tensor *y, size_t i);
} KINDS[] = {{"wide", make_wide}, {"mixed", make_mixed}, {"branches", make_choice}};

/* All results go into one sum, which is the output. */
static pgy_status make_graph(maker *m, const struct kind *kind, size_t nodes)
{
    pgy_tensor *yes = NULL;
    pgy_gs_tensor *y = NULL, *sum = NULL;
    pgy_gs_node *last = NULL;
    pgy_status st = pgy_gs_create(&m->g, &m->err);
    if (!st) st = pgy_gs_set_opset(m->g, 17, &m->err);
    if (!st) st = make_tensor(&m->x, m, m->g, "x", 0);
    if (!st) st = pgy_gs_add_graph_input(m->g, m->x, &m->err);
    if (!st) st = pgy_tensor_create(&yes, PGY_BOOL, 0, NULL, &m->err);
    if (!st) memset(pgy_tensor_data(yes), 1, 1);
    if (!st) st = pgy_gs_constant(&m->condition, m->g, "condition", yes, &m->err);
    if (!st) st = make_tensor(&sum, m, m->g, "sum", 0);
    if (!st) st = make_node(&last, m, m->g, "Sum", m->x, sum);
    for (size_t i = 0; i < nodes && !st; i++) {
        st = make_tensor(&y, m, m->g, "y", i);
        if (!st) st = kind->make(m, y, i);
        if (!st) st = pgy_gs_set_input(last, i, y, &m->err);
    }
    if (!st) st = pgy_gs_place_node(last, m->g, nodes, &m->err);
    if (!st) st = pgy_gs_add_graph_output(m->g, sum, &m->err);
    pgy_tensor_release(yes);
    return st;
}

static pgy_status fold_once(pgy_model *model, int64_t *took, size_t *left, pgy_error *err)
{
    pgy_graph *g = NULL;
    pgy_status st = pgy_graph_import(&g, model, err);
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    const int64_t start = clock_ns();
    if (!st) st = pgy_graph_fold_constants(g, NULL, NULL, err);
    *took = clock_ns() - start;
    if (!st) *left = g->node_count;
    pgy_graph_destroy(g);
    return st;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int measure(const struct kind *kind, size_t nodes, int runs)
{
    static int64_t took[MAX_RUNS];
    maker m = {0};
    pgy_model *model = NULL;
    size_t left = 0;
    pgy_status st = make_graph(&m, kind, nodes);
    if (!st) st = pgy_gs_export(&model, m.g, NULL, &m.err);
    for (int i = 0; i < runs && !st; i++) st = fold_once(model, &took[i], &left, &m.err);
    pgy_model_destroy(model);
    pgy_gs_destroy(m.g);
    if (st) {
        fprintf(stderr, "%s: %s\n", kind->name, m.err.text);
        return 1;
    }
    qsort(took, (size_t)runs, sizeof *took, compare);
    printf("%s %zu %.3f %.3f %zu\n", kind->name, nodes, (double)took[0] / 1e6,
           (double)took[runs / 2] / 1e6, left);
    return 0;
}

int main(int argc, char **argv)
{
    const size_t nodes = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 0;
    const int runs = argc > 3 ? atoi(argv[3]) : 3;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS && nodes && runs > 0 && runs <= MAX_RUNS;
         i++)
        if (strcmp(argv[1], KINDS[i].name) == 0) return measure(&KINDS[i], nodes, runs);
    fprintf(stderr, "fold wide|mixed|branches NODES [RUNS]\n");
    return 2;
}
