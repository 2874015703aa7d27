/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out one graph, for bench/viewer_layout: bench.viewer_layout GRAPH [RUNS]
 * GRAPH is a text: the number of nodes, their widths and heights, the number of edges, and for each
 * edge its two nodes. Prints the shortest time in seconds, then for each node its left, top, width
 * and height, then for each edge its points. */
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

static void print_scene(const view_graph *g)
{
    view_scene s;
    pgy_error err = {0};
    if (view_scene_make(&s, g, 0, &err)) exit(1);
    for (uint32_t i = 0; i < s.place_count; i++) {
        const view_place *p = &s.places[i];
        printf("node %u %g %g %g %g\n", p->item.ref, (double)p->x, (double)p->y, (double)p->width,
               (double)p->height);
    }
    const view_layout *l = g->containers[0].layout;
    for (uint32_t i = 0; i < s.line_count; i++) {
        const view_layout_edge *e = &l->edges[i];
        printf("edge %u %u", l->items[e->from].ref, l->items[e->to].ref);
        for (uint32_t k = 0; k < 2 * s.lines[i].count; k++)
            printf(" %g", (double)s.lines[i].points[k]);
        putchar('\n');
    }
    view_scene_deinit(&s);
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
    print_scene(g);
    view_graph_destroy(g);
    return 0;
}
