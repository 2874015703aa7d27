/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out one graph, for bench/viewer_layout: bench.viewer_layout GRAPH [RUNS]
 * GRAPH is a text: the number of nodes, their widths and heights, the number of edges, and for each
 * edge its two nodes. Prints the shortest time in seconds, then for each edge its nodes and the
 * middles of its first node, its bends and its second node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "viewer/layout/layout.h"

static unsigned number(FILE *f)
{
    unsigned n = 0;
    if (fscanf(f, "%u", &n) != 1) exit(2);
    return n;
}

static view_graph *read_graph(FILE *f)
{
    view_graph *g = mem_calloc(1, sizeof *g);
    const unsigned nodes = number(f);
    if (!g) exit(2);
    arena *a = &g->memory;
    g->nodes = arena_alloc_array(a, nodes + 1, sizeof *g->nodes);
    g->tensors = arena_alloc_array(a, nodes + 1, sizeof *g->tensors);
    g->containers = arena_alloc(a, sizeof *g->containers);
    view_item *children = arena_alloc_array(a, nodes + 1, sizeof *children);
    if (!g->nodes || !g->tensors || !g->containers || !children) exit(2);
    for (unsigned i = 0; i < nodes; i++) {
        g->nodes[i].width = (float)number(f);
        g->nodes[i].height = (float)number(f);
        g->tensors[i].producer = i;
        children[i] = (view_item){VIEW_ITEM_NODE, i};
    }
    const unsigned edges = number(f);
    unsigned *ends = arena_alloc_array(a, 2 * (size_t)edges + 1, sizeof *ends);
    if (!ends) exit(2);
    for (unsigned i = 0; i < 2 * edges; i++) ends[i] = number(f);
    for (unsigned i = 0; i < edges; i++) g->nodes[ends[2 * i + 1]].input_count++;
    for (unsigned i = 0; i < nodes; i++) {
        view_node *n = &g->nodes[i];
        if (!(n->inputs = arena_alloc_array(a, n->input_count + 1, sizeof *n->inputs))) exit(2);
        n->input_count = 0;
    }
    for (unsigned i = 0; i < edges; i++) {
        view_node *n = &g->nodes[ends[2 * i + 1]];
        n->inputs[n->input_count++] = ends[2 * i];
    }
    g->node_count = g->tensor_count = nodes;
    g->container_count = 1;
    *g->containers = (view_container){.name = "",
                                      .parent = VIEW_NONE,
                                      .node = VIEW_NONE,
                                      .children = children,
                                      .child_count = nodes,
                                      .state = VIEW_OPEN};
    return g;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The middle of an item: bends lie in the middle of their row, too. */
static void print_middle(const view_layout *l, uint32_t item)
{
    const uint32_t row = l->rows[item];
    float height = 0;
    for (uint32_t i = item; i < l->item_count && l->rows[i] == row; i++)
        if (l->heights[i] > height) height = l->heights[i];
    for (uint32_t i = item; i-- > 0 && l->rows[i] == row;)
        if (l->heights[i] > height) height = l->heights[i];
    printf(" %g %g", (double)l->x[item], (double)(l->tops[row] + height / 2));
}

static void print_layout(const view_layout *l)
{
    for (uint32_t i = 0; i < l->edge_count; i++) {
        const view_layout_edge *e = &l->edges[i];
        const bool up = l->rows[e->from] > l->rows[e->to];
        printf("edge %u %u", l->items[e->from].ref, l->items[e->to].ref);
        print_middle(l, e->from);
        for (uint32_t k = 0; k < e->bend_count; k++)
            print_middle(l, e->bends[up ? e->bend_count - 1 - k : k]);
        print_middle(l, e->to);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!f) return 2;
    view_graph *g = read_graph(f);
    fclose(f);
    double best = 1e30;
    for (int run = 0; run < (argc > 2 ? atoi(argv[2]) : 1); run++) {
        const double begin = now();
        pgy_error err = {0};
        if (view_layout_run(g, NULL, NULL, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        const double seconds = now() - begin;
        if (seconds < best) best = seconds;
    }
    printf("time %.9f\n", best);
    print_layout(g->containers[0].layout);
    view_graph_destroy(g);
    return 0;
}
