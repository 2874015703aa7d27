/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a drawing: what all of them know, and one function for each part. */
#ifndef VIEWER_DRAW_PARTS_H
#define VIEWER_DRAW_PARTS_H

#include "viewer/draw/draw.h"
#include "viewer/layout/layout.h"

/* A card's value: its node's, or folded over all nodes of a container. */
typedef struct card_value {
    bool is_measured, is_mixed; /* mixed: names that differ */
    bool is_shared;             /* it is that of the fused layer, whose frame shows it */
    double value;
} card_value;

typedef struct drawing {
    picture_list *list;
    const view_graph *g;
    const view_results *r;
    const view_scene *scene;
    const view_draw_options *options;
    const view_quantity *q; /* NULL: none */
    colour_range range;
    /* Each made for the nodes, then for the containers. */
    card_value *values;
    uint32_t *marks;                  /* a bit for each view_mark_kind */
    uint32_t *first_mark, *next_mark; /* of nodes: chains of indices of marks; VIEW_NONE ends */
    bool *contradicted;               /* tensors with a mark that says so */
    uint32_t *sizes;                  /* of containers: nodes in them */
    double x, y;                      /* where the scene begins */
} drawing;

/* values.c: finds values and marks of all cards. The arrays live in the list's memory. */
pgy_status drawing_find_values(drawing *d, pgy_error *err) PGY_MUST_CHECK;
card_value drawing_value(const drawing *d, view_item item);
uint32_t drawing_marks(const drawing *d, view_item item);
/* True if the place is a card, false if it is a frame. */
bool drawing_is_card(const drawing *d, const view_place *place);
/* True if a frame shows a value and marks in its header: those of one fused layer, or of all
 * instances of a repeat that shows one. */
bool drawing_has_header_value(const drawing *d, const view_place *place);
/* The nodes whose outputs a mark or a value of a tensor is shown at; VIEW_NONE: at none. */
uint32_t drawing_node_of(const view_graph *g, view_of of, uint32_t at);
/* "1.25e-05", "3.2 ms", "float16" */
const char *drawing_value_text(const drawing *d, double value);
const view_quantity *drawing_choose(const view_results *r, const view_draw_options *options);

/* marks.c */
void mark_draw(picture_list *p, view_mark_kind kind, double x, double y, double radius);
/* A row of marks (a bit for each) from right to left, the first five. */
void marks_draw(picture_list *p, uint32_t marks, double x, double y);
const char *mark_words(view_mark_kind kind);

/* legend.c: draws it at the margin; returns its height. */
double legend_draw(drawing *d, double width);

/* rows.c: attributes, shapes and types below the name. */
double rows_height(const view_graph *g, uint32_t node, const view_draw_options *options);
double rows_width(const drawing *d, uint32_t node); /* of the widest row, without margins */
void rows_draw(const drawing *d, uint32_t node, double x, double y, double width, paint colour);
/* "1×64×56×56 f32"; "" if neither is known */
const char *shape_text(picture_list *p, const char *size, const char *dtype);

/* card.c, frame.c, edges.c */
void card_draw(const drawing *d, const view_place *place);
void frame_draw(const drawing *d, const view_place *place);
void frame_header_draw(const drawing *d, const view_place *place); /* over the edges */
const char *container_title(const drawing *d, const view_container *c);
pgy_status edges_draw(const drawing *d, pgy_error *err) PGY_MUST_CHECK;

/* compose.c: all of it. */
pgy_status drawing_make(picture_list *out, const view_graph *g, const view_results *r,
                        const view_scene *scene, const view_draw_options *options,
                        const char *title, pgy_error *err) PGY_MUST_CHECK;

#endif
