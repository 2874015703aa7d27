/* SPDX-License-Identifier: Apache-2.0 */
/* The working form of one container while it is laid out: items and bends as numbers, edges between
 * them, rows and orders. All of it lives in one arena that is freed afterwards. */
#ifndef VIEWER_LAYOUT_LAYERS_H
#define VIEWER_LAYOUT_LAYERS_H

#include "viewer/layout/layout.h"

enum {
    LAYER_ROW_GAP = 20,  /* between rows, and up to LAYER_WIDE_GAP more where lines run */
    LAYER_WIDE_GAP = 40, /* far sideways: 1 for each LAYER_WIDE_STEP beyond LAYER_WIDE */
    LAYER_WIDE = 160,
    LAYER_WIDE_STEP = 10,
    LAYER_ITEM_GAP = 20, /* between nodes and containers of a row */
    LAYER_BEND_GAP = 10  /* beside bends and ports */
};

/* An edge points down: `top` is in a higher row. In a cycle some edges are flipped for that. */
typedef struct layer_edge {
    uint32_t tensor, top, bottom;
    uint32_t bend, bend_count;      /* its bends are numbered on from `bend` */
    uint32_t last_bend;             /* of a cut edge: right above its bottom */
    uint32_t top_port, bottom_port; /* from the left, if its ends are containers */
    bool is_flipped;
    bool is_cut; /* has bends only right under its top and right above its bottom */
} layer_edge;

/* Neighbours of each node, one list after the other. `port`, `own_port`: where the line meets the
 * neighbour and the node, if these are containers. */
typedef struct layer_lists {
    uint32_t *start, *to, *port, *own_port;
} layer_lists;

typedef struct layers {
    arena *memory;
    const view_item *items; /* children, then ports */
    uint32_t item_count, child_count;
    layer_edge *edges; /* those of a tensor one after the other */
    uint32_t edge_count;
    uint32_t node_count; /* items and bends */
    uint32_t *rows;      /* of each node */
    uint32_t row_count;
    float *widths, *heights; /* of each item */
    uint32_t *ins, *outs;    /* of each item: ports at its top and at its bottom, 1 at least */
    layer_lists up, down;    /* between neighbouring rows, through bends */
    uint32_t *order;         /* nodes row by row, from left to right */
    uint32_t *row_start;     /* row_count + 1 places in `order` */
    uint32_t *place;         /* of each node in its row */
    float *x;                /* of each node */
    double deadline;         /* of layout_now() */
    bool is_late;            /* the deadline passed: steps end as soon as the result is valid */
} layers;

pgy_status layout_no_memory(pgy_error *err);
double layout_now(void); /* seconds */
bool layers_late(layers *l);
bool layer_is_port(const layers *l, uint32_t node);
uint32_t layer_bend(const layer_edge *e, uint32_t k); /* counted from the top */
float layer_width(const layers *l, uint32_t node);    /* 0 for bends */
float layer_gap(const layers *l, uint32_t left, uint32_t right);

/* Flips edges until there is no cycle. */
pgy_status layers_flip(layers *l, pgy_error *err) PGY_MUST_CHECK;
/* Chooses a row for each item. Ports at the top are alone in the first row, those at the bottom in
 * the last. */
pgy_status layers_rank(layers *l, pgy_error *err) PGY_MUST_CHECK;
/* Makes bends where edges pass rows, and lists neighbours. If that were too many, the longest edges
 * are cut: between their ends they pass behind everything. */
pgy_status layers_bend(layers *l, pgy_error *err) PGY_MUST_CHECK;
/* Orders rows so that few edges cross. */
pgy_status layers_order(layers *l, pgy_error *err) PGY_MUST_CHECK;
/* Finds the places with the least sum of distances between neighbours, from and in `x`. */
pgy_status layers_settle(layers *l, pgy_error *err) PGY_MUST_CHECK;
/* Gives each node its x. */
pgy_status layers_position(layers *l, pgy_error *err) PGY_MUST_CHECK;

/* Items and edges of all containers. */
typedef struct lifted_edge {
    uint32_t container, tensor, from, to; /* items of the container */
} lifted_edge;
typedef struct lifted {
    arena memory;
    view_item *items;
    uint32_t *item_start, *child_counts; /* by container */
    lifted_edge *edges;
    uint32_t *edge_start;
} lifted;
pgy_status layout_lift(lifted *out, const view_graph *g, pgy_error *err) PGY_MUST_CHECK;

/* Brings edges and ports of each container into an order that only depends on its structure. */
pgy_status layout_sort(lifted *all, const view_graph *g, pgy_error *err) PGY_MUST_CHECK;
/* True if two sorted containers can have the same layout. */
bool layout_is_equal(const lifted *all, uint32_t a, uint32_t b);
/* For each container the one that its layout could be shared with; VIEW_NONE: it has its own. */
pgy_status layout_find_like(uint32_t **out, const view_graph *g, const uint32_t *order,
                            uint32_t count, arena *a, pgy_error *err) PGY_MUST_CHECK;

/* Containers so that parents come before children; only those that hang on a root. */
pgy_status layout_parents_first(uint32_t **order, uint32_t *count, const view_graph *g, arena *a,
                                pgy_error *err) PGY_MUST_CHECK;
/* The container whose content an open one shows: of a repeat in VIEW_ONE its first instance. */
uint32_t layout_shown(const view_graph *g, uint32_t container);
/* Size of a container as its state shows it. */
void layout_size(const view_graph *g, uint32_t container, float *width, float *height);

#endif
