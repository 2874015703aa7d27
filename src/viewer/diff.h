/* SPDX-License-Identifier: Apache-2.0 */
/* Two graphs in one picture: which nodes belong together, what changed, and the merged graph. */
#ifndef VIEWER_DIFF_H
#define VIEWER_DIFF_H

#include <polygraphy/diff.h>

#include "viewer/page.h"

/* The categories of the quantity `change`, in the order of their numbers. */
typedef enum view_change {
    VIEW_SAME,
    VIEW_CHANGED,
    VIEW_ADDED,
    VIEW_REMOVED,
    VIEW_FUSED_INTO
} view_change;
enum { VIEW_CHANGE_COUNT = VIEW_FUSED_INTO + 1 };

typedef struct view_source_entry {
    const pgy_onnx_node *source;
    uint32_t node;
} view_source_entry;

/* One side of a comparison. A node has a counterpart (`pair`), or is one of several that one node
 * of the other side replaces (`whole`: that node), or has nothing on the other side. */
typedef struct view_side {
    const view_graph *graph;
    uint32_t *pair;        /* of each node; VIEW_NONE: none */
    uint32_t *whole;       /* of each node; VIEW_NONE: none */
    uint32_t *part_count;  /* of each node: nodes of the other side whose `whole` it is */
    uint32_t *tensor_pair; /* of each tensor; VIEW_NONE: none */
    uint32_t *use_start;   /* uses of tensor t: uses[use_start[t]] to uses[use_start[t + 1] - 1] */
    uint32_t *uses;        /* nodes, once for each input */
    view_change *change;   /* of each node */
    view_source_entry *sources; /* sorted: to find the nodes that were made from a model's node */
    uint32_t source_count;
} view_side;

typedef struct view_match {
    arena memory;
    view_side side[2];
    pgy_diff *diff; /* NULL: one of the graphs is no model */
} view_match;

/* diff_side.c: tables of a side; pairs. */
void view_match_deinit(view_match *m);
bool view_side_init(view_side *s, const view_graph *g,
                    arena *memory) PGY_MUST_CHECK; /* false: out of memory */
void view_pair_nodes(view_match *m, uint32_t a, uint32_t b);
void view_pair_tensors(view_match *m, uint32_t a, uint32_t b);
/* Has the node neither a counterpart nor a whole? */
bool view_is_alone(const view_side *s, uint32_t node);
void view_join_node(view_match *m, int side, uint32_t part, uint32_t whole);
/* The first node that was made from a model's node, in `sources`; source_count: there is none. */
uint32_t view_find_source(const view_side *s, const pgy_onnx_node *source);
const char *view_op_name(const view_graph *g, uint32_t node);
/* Is the tensor a weight or a constant, which no node computes? */
bool view_is_constant(const view_graph *g, uint32_t tensor);

/* diff_pairs.c */
/* Pairs the nodes and tensors of two graphs, and finds fused regions. */
pgy_status view_match_make(view_match *m, const view_graph *a, const view_graph *b,
                           pgy_error *err) PGY_MUST_CHECK;
/* Is it a change of a node's operator, attributes or weights, not of names, places, notes and
 * neighbours? */
bool view_is_own_change(const pgy_difference *e);
/* diff_members.c: nodes whose lists of members (a model's node: its name) say what belongs
 * together. */
pgy_status view_match_members(view_match *m, pgy_error *err) PGY_MUST_CHECK;
/* diff_structure.c: by name and operator, names of outputs, neighbours, order. */
pgy_status view_match_structure(view_match *m, pgy_error *err) PGY_MUST_CHECK;
/* diff_fuse.c: regions of one side that one node of the other replaces. */
pgy_status view_match_fused(view_match *m, pgy_error *err) PGY_MUST_CHECK;

/* diff_chain.c: chains that a shorter one replaces. */
pgy_status view_match_chains(view_match *m, pgy_error *err) PGY_MUST_CHECK;

/* diff_report.c: categories, marks, pairs, the table `diff`, the summary and the verdict.
 * @param nodes  for each side, the merged node of each node */
pgy_status view_diff_report(pgy_page *p, view_match *m, uint32_t *const nodes[2],
                            pgy_error *err) PGY_MUST_CHECK;

/* diff_rows.c: the quantity `change` and the table `diff`. */
enum { VIEW_RENAMED_LIMIT = 2000 }; /* rows: a renamed model would fill the table */
pgy_status view_change_quantity(view_quantity **out, view_results *r, const view_graph *g,
                                uint32_t graph, pgy_error *err) PGY_MUST_CHECK;
typedef struct view_diff_row {
    uint32_t node; /* of the table's graph; VIEW_NONE: none */
    const char *name, *op, *change, *what, *before, *after; /* NULL: empty */
} view_diff_row;
pgy_status view_diff_table(view_table **out, view_results *r, uint32_t graph,
                           pgy_error *err) PGY_MUST_CHECK;
pgy_status view_diff_add_row(view_results *r, view_table *t, const view_diff_row *row,
                             pgy_error *err) PGY_MUST_CHECK;
/* "attribute alpha", "weight w", "input 1": what of its node a difference is in. */
void view_diff_what(str *out, const pgy_difference *e);
/* What is told instead of, or after, the value after the change. */
void view_diff_after(str *out, const pgy_difference *e);
/* The value before the change; "" if `after` tells all. */
const char *view_diff_before(const pgy_difference *e);
/* "attribute alpha: 1 > 2" */
void view_diff_tell(str *out, const char *what, const char *before, const char *after);

/* merge.c: both graphs in one. Its texts are those of a and b, which must live as long.
 * @param nodes  room for each side's nodes; gets the merged node of each. VIEW_NONE: a container
 * with the nodes that it replaces, or that replace it, is drawn instead
 * @param tensors  the same for tensors, of which each has a merged one */
pgy_status view_merge(view_graph **out, const view_match *m, uint32_t *nodes[2],
                      uint32_t *tensors[2], pgy_error *err) PGY_MUST_CHECK;

/* Compares graphs 0 and 1 of a page: adds graph 2 (both merged), pairs, the quantity `change`,
 * marks, the table `diff`, and a summary. Call it before groups and layouts are made. */
pgy_status view_diff_make(pgy_page *p, pgy_error *err) PGY_MUST_CHECK;

/* diff_results.c: what is known of both graphs side by side, once results of B are among those of
 * the page: quantities of the merged graph, those of B and ratios at the nodes of A, columns of the
 * table `diff`, and the table `compared`. */
pgy_status view_diff_results(pgy_page *p, pgy_error *err) PGY_MUST_CHECK;

#endif
