/* SPDX-License-Identifier: Apache-2.0 */
/* Layout: rows, order and coordinates of the children of each container (docs/formats/page.md).
 *
 * A container is laid out with all its children folded; what is shown is arranged from that, with
 * the sizes of the open ones. The result is the same for the same graph, whatever the machine and
 * its speed, unless the time limit is reached. */
#ifndef VIEWER_LAYOUT_H
#define VIEWER_LAYOUT_H

#include "viewer/graph.h"

enum {
    VIEW_FRAME = 10,      /* between a container's frame and its content, on all sides */
    VIEW_HEADER = 22,     /* height of an open container's header */
    VIEW_CARD_HEIGHT = 40 /* of a node or folded container without further rows */
};

typedef struct view_layout_edge {
    uint32_t tensor, from, to; /* items */
    uint32_t *bends;           /* items from the top to the bottom */
    uint32_t bend_count;
} view_layout_edge;

struct view_layout {
    float width, height;           /* of the content as it is shown now */
    float card_width, card_height; /* of the container when it is folded */
    view_item *items;              /* sorted by row, then from left to right */
    uint32_t *rows;                /* of each item */
    float *x;                      /* centre of each item */
    float *widths, *heights;
    uint32_t item_count;
    float *tops; /* of each row */
    uint32_t row_count;
    view_layout_edge *edges;
    uint32_t edge_count;
    uint32_t like;     /* container whose layout this shares; VIEW_NONE: its own */
    uint32_t *tensors; /* with `like`: the tensor of each edge */
    struct {           /* the same with all children folded: what is written */
        float width, height;
        float *x, *widths, *heights, *tops;
    } folded;
};

typedef struct view_layout_options {
    double seconds; /* 0: 5 */
} view_layout_options;

typedef struct view_layout_report {
    bool simplified; /* the time limit was reached, so orders are poorer */
    double seconds;
} view_layout_report;

/* Lays out all containers that can be shown. @param report  may be NULL */
pgy_status view_layout_run(view_graph *g, const view_layout_options *options,
                           view_layout_report *report, pgy_error *err) PGY_MUST_CHECK;
/* Computes y and x again after states of containers or sizes of cards changed, keeping rows and
 * orders: what the page does when something is unfolded. A repeat in VIEW_ONE shows its first
 * instance. */
pgy_status view_layout_arrange(view_graph *g, pgy_error *err) PGY_MUST_CHECK;
/* Writes a container's layout as in docs/formats/page.md. */
void view_layout_write(json_writer *w, const view_graph *g, uint32_t container);

/* Absolute positions of what is shown now, for drawings. */
typedef struct view_place {
    view_item item;            /* node, or container with its state */
    float x, y, width, height; /* left, top */
} view_place;
typedef struct view_line {
    uint32_t tensor;
    bool is_tunnel;  /* enters a subgraph from outside */
    bool ends_there; /* at a node or a folded container: an arrow; else another line goes on */
    float *points;   /* x, y pairs */
    uint32_t count;  /* of points */
} view_line;
typedef struct view_scene {
    arena memory;
    float width, height;
    view_place *places; /* containers before what they contain */
    uint32_t place_count;
    view_line *lines;
    uint32_t line_count;
} view_scene;
void view_scene_deinit(view_scene *s);
/* @param root  container: 0 is the main graph */
pgy_status view_scene_make(view_scene *out, const view_graph *g, uint32_t root,
                           pgy_error *err) PGY_MUST_CHECK;

#endif
