/* SPDX-License-Identifier: Apache-2.0 */
/* What is known about a view's nodes and tensors: quantities, marks, tables, statistics, a timeline
 * and the steps of a search (docs/formats/page.md). Sources add to it; the page, drawings and
 * exports read it. All texts are copied into the arena. */
#ifndef VIEWER_RESULTS_H
#define VIEWER_RESULTS_H

#include "viewer/graph.h"

typedef enum view_of { VIEW_OF_NODE, VIEW_OF_TENSOR } view_of;
typedef enum view_scale { VIEW_LOG, VIEW_LINEAR, VIEW_DIVERGING, VIEW_CATEGORY } view_scale;
typedef enum view_fold { VIEW_FOLD_MAX, VIEW_FOLD_MIN, VIEW_FOLD_SUM, VIEW_FOLD_SAME } view_fold;
typedef enum view_better { VIEW_BETTER_NONE, VIEW_BETTER_LOW, VIEW_BETTER_HIGH } view_better;

typedef struct view_quantity {
    const char *id, *label, *unit, *group;
    uint32_t graph;
    view_of of;
    view_scale scale;
    view_fold fold;
    view_better better;
    const char *const *names; /* of categories */
    uint32_t name_count;
    double *values;    /* one for each node or tensor of the graph */
    bool *is_measured; /* false: the value means nothing */
    uint32_t count;
} view_quantity;

typedef enum view_mark_kind {
    VIEW_MARK_FAIL,
    VIEW_MARK_NAN,
    VIEW_MARK_INF,
    VIEW_MARK_FIRST,
    VIEW_MARK_FUSED,
    VIEW_MARK_NOT_RUN,
    VIEW_MARK_PRECISION,
    VIEW_MARK_CONTRADICTION,
    VIEW_MARK_FINDING,
    VIEW_MARK_ADDED,
    VIEW_MARK_REMOVED,
    VIEW_MARK_CHANGED,
    VIEW_MARK_UNSUPPORTED
} view_mark_kind;
enum { VIEW_MARK_COUNT = VIEW_MARK_UNSUPPORTED + 1 };

typedef struct view_mark {
    uint32_t graph, at; /* node or tensor */
    view_of of;
    view_mark_kind kind;
    const char *text;
} view_mark;

/* ---- Tables --------------------------------------------------------------------------------- */

typedef enum view_column_kind {
    VIEW_COLUMN_TEXT,
    VIEW_COLUMN_NUMBER,
    VIEW_COLUMN_BYTES,
    VIEW_COLUMN_US,
    VIEW_COLUMN_PERCENT,
    VIEW_COLUMN_VERDICT,
    VIEW_COLUMN_NODE,
    VIEW_COLUMN_TENSOR
} view_column_kind;

typedef struct view_cell {
    const char *text; /* text, verdict, and the name of a node or tensor; NULL: empty */
    double number;    /* NaN is a value; `is_empty` says that there is none */
    uint32_t ref;     /* node or tensor; VIEW_NONE: the graph has none of that name */
    bool is_empty;
} view_cell;

typedef struct view_column {
    const char *name;
    view_column_kind kind;
} view_column;

typedef struct view_table {
    const char *id, *title, *note; /* note may be NULL */
    uint32_t graph;
    view_column *columns;
    uint32_t column_count;
    view_cell *cells; /* row by row */
    size_t row_count, capacity;
} view_table;

/* ---- Statistics ----------------------------------------------------------------------------- */

enum { VIEW_BINS = 40, VIEW_WORST = 10, VIEW_CURVE = 32 };

typedef struct view_side_stats {
    const char *runner, *dtype, *shape; /* runner NULL: this side has none */
    uint64_t count, nan, inf, zeros;
    double min, max, mean, std;
} view_side_stats;

typedef struct view_stats {
    uint32_t tensor; /* of graph 0 */
    view_side_stats side[2];
    double low, high; /* of the histogram; low > high: none */
    uint64_t bins[2][VIEW_BINS];
    double difference_low, difference_high;
    uint64_t difference[VIEW_BINS];
    struct {
        const char *index; /* "0, 3, 17" */
        double a, b;
    } worst[VIEW_WORST];
    uint32_t worst_count;
    struct {
        double tolerance, share;
    } curve[VIEW_CURVE];
    uint32_t curve_count;
    double *plane[2]; /* all values; NULL: not kept */
    const int64_t *plane_shape;
    uint32_t plane_rank;
} view_stats;

/* ---- Timeline and search -------------------------------------------------------------------- */

typedef struct view_slice {
    uint32_t row, node; /* node: VIEW_NONE */
    int64_t run;        /* -1: none */
    double start_us, duration_us;
    const char *name, *category;
} view_slice;

typedef struct view_timeline {
    const char *source, *note; /* source NULL: there is no timeline */
    bool is_synthetic;
    struct {
        const char *process, *name;
    } * rows;
    uint32_t row_count;
    size_t row_capacity;
    view_slice *slices;
    size_t slice_count, slice_capacity;
} view_timeline;

typedef enum view_verdict { VIEW_PASS, VIEW_FAIL, VIEW_SKIP } view_verdict;
typedef struct view_step {
    const char *title, *detail;
    view_verdict verdict;
    uint32_t *nodes;
    uint32_t node_count;
    double seconds; /* NaN: unknown */
} view_step;

/* Times of a node in each run, from which two graphs are compared. */
typedef struct view_samples {
    double *us;
    size_t count; /* 0: none that can be compared */
    bool is_known;
} view_samples;

/* ---- All of it ------------------------------------------------------------------------------ */

typedef struct view_results {
    arena memory;
    view_quantity *quantities;
    view_mark *marks;
    view_table **tables;
    view_stats **stats; /* in the order of their tensors */
    view_step *steps;
    view_samples *samples; /* of each node, by the first timeline of the graph; NULL: none */
    size_t quantity_count, quantity_capacity, mark_count, mark_capacity, table_count,
        table_capacity, stats_count, stats_capacity, step_count, step_capacity;
    const char *search_title, *search_found;
    view_timeline timeline;
    uint32_t *pairs[3]; /* graphs a, b, merged; NULL: one graph */
    size_t pair_count;
    bool is_judged, passed;
    const char *verdict;
    struct {
        const char *section, *name, *text;
    } * summary; /* sections in the order of their first row */
    size_t summary_count, summary_capacity;
    strmap placed; /* what view_mark_once added */
} view_results;

void view_results_deinit(view_results *r);
/* Copies a text into the arena; NULL: out of memory. */
const char *view_text(view_results *r, const char *text);
/* Adds a quantity without measured values, or gives the one that has this id and graph. @param out
 * stands until the next one is added. @param like everything but values, is_measured and count */
pgy_status view_quantity_add(view_quantity **out, view_results *r, const view_graph *g,
                             const view_quantity *like, pgy_error *err) PGY_MUST_CHECK;
void view_quantity_set(view_quantity *q, uint32_t at, double value);
const view_quantity *view_quantity_find(const view_results *r, const char *id, uint32_t graph);
pgy_status view_mark_add(view_results *r, const view_mark *mark, pgy_error *err) PGY_MUST_CHECK;
/* The same, unless this function added a mark of that kind there before. */
pgy_status view_mark_once(view_results *r, const view_mark *mark, pgy_error *err) PGY_MUST_CHECK;
pgy_status view_table_add(view_table **out, view_results *r, const view_table *like,
                          pgy_error *err) PGY_MUST_CHECK;
view_table *view_table_find(const view_results *r, const char *id); /* NULL: none */
/* Appends a row; the cells' texts are copied. */
pgy_status view_table_row(view_results *r, view_table *t, const view_cell *cells,
                          pgy_error *err) PGY_MUST_CHECK;
pgy_status view_summary_add(view_results *r, const char *section, const char *name,
                            const char *text, pgy_error *err) PGY_MUST_CHECK;
/* Gives the statistics of a tensor of graph 0, new ones if it has none: with an empty histogram. */
pgy_status view_stats_add(view_stats **out, view_results *r, uint32_t tensor,
                          pgy_error *err) PGY_MUST_CHECK;
const view_stats *view_stats_find(const view_results *r, uint32_t tensor); /* NULL: none */
/* Adds the times of a layer to those of its node: run by run, if there are as many as before. */
pgy_status view_samples_add(view_results *r, const view_graph *g, uint32_t node, const double *us,
                            size_t count, pgy_error *err) PGY_MUST_CHECK;
/* Appends a step of the search; its texts and nodes are copied. */
pgy_status view_step_add(view_results *r, const view_step *step, pgy_error *err) PGY_MUST_CHECK;
/* Gives the row of the timeline that has these names, a new one if there is none. */
pgy_status view_timeline_row(uint32_t *row, view_results *r, const char *process, const char *name,
                             pgy_error *err) PGY_MUST_CHECK;
/* Appends a slice. Its texts are not copied: they must live in the results' arena. */
pgy_status view_timeline_slice(view_results *r, const view_slice *slice,
                               pgy_error *err) PGY_MUST_CHECK;

/* Write blocks of the page. Chunk k of the statistics ends with its last tensor that has any. */
void view_results_write(json_writer *w, const view_results *r);
void view_stats_write(json_writer *w, const view_results *r, size_t k);
void view_timeline_write(json_writer *w, const view_results *r);
void view_search_write(json_writer *w, const view_results *r);
void view_table_write(json_writer *w, const view_table *t);
/* Writes the member `columns` of a table: names and kinds. */
void view_table_write_columns(json_writer *w, const view_table *t);

#endif
