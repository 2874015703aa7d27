/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of results share: the graph that they belong to, names that it lacks, and the
 * quantities with fixed names. */
#ifndef VIEWER_SOURCES_RESULT_FILE_H
#define VIEWER_SOURCES_RESULT_FILE_H

#include <math.h>

#include "data/feeds.h"
#include "viewer/sources/source.h"

/* Quantities of docs/formats/page.md, and some more of the same groups. */
typedef enum known_quantity {
    Q_MAXABS,
    Q_MEANABS,
    Q_MAXREL,
    Q_COSINE,
    Q_SNR,
    Q_BEYOND,
    Q_PASSED,
    Q_ERROR,
    Q_FLOOR_TIMES,
    Q_MADE,
    Q_HANDED,
    Q_AMPLIFICATION,
    Q_TIME,
    Q_SHARE,
    Q_SPREAD,
    Q_TIME_B,
    Q_TIME_RATIO,
    Q_LIVE_BYTES,
    Q_STATE,
    Q_HEADROOM,
    Q_FLOOR,
    Q_KERNEL, /* categories whose names come from the files */
    Q_PRECISION,
    Q_DEVICE,
    Q_FORMAT,
    Q_SUPPORT
} known_quantity;
const view_quantity *known_quantity_like(known_quantity which);

/* The categories of `passed` and `state`. */
enum { VIEW_FAILED, VIEW_PASSED };
typedef enum view_health {
    HEALTH_NORMAL,
    HEALTH_NAN,
    HEALTH_INF,
    HEALTH_ZERO,
    HEALTH_SATURATED,
    HEALTH_CONSTANT
} view_health;

/* A file of results while it is read. */
typedef struct result_file {
    pgy_page *page;
    view_results *results; /* of the graph: quantities have graph 0 here, whichever it is */
    view_graph *graph;     /* A, unless the file belongs to another */
    const char *path;
    json_file json; /* open if has_json */
    bool has_json;
    size_t found, missing; /* names that were looked up */
    str examples;          /* of missing ones */
    bool may_be_foreign;   /* no name of the graph is no error, only a warning */
} result_file;

/* Errors do not name the file: who calls a source adds its name. PGY_E_ARGUMENT: there is no graph.
 */
pgy_status result_open(result_file *f, pgy_page *p, const char *path,
                       pgy_error *err) PGY_MUST_CHECK;
pgy_status result_open_json(result_file *f, pgy_page *p, const char *path,
                            pgy_error *err) PGY_MUST_CHECK;
void result_close(result_file *f);
/* The next file of this kind, from place *at on, that was added before this one and belongs to the
 * same graph; NULL: there is none. */
const char *result_earlier(const result_file *f, size_t *at);
/* Look up and count. VIEW_NONE: there is none. A node without a name goes by that of its tensor. */
uint32_t result_tensor(result_file *f, const char *name);
uint32_t result_node(result_file *f, const char *name);
/* Counts a name that the caller looked up itself, and gives `at` back. */
uint32_t result_counted(result_file *f, uint32_t at, const char *name);
/* Warns about names that the graph lacks. PGY_E_FORMAT if it lacks all of them: the file is of
 * another model. @param what  "tensors" */
pgy_status result_end(result_file *f, const char *what, pgy_error *err) PGY_MUST_CHECK;
pgy_status result_warn(result_file *f, pgy_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A member of an object. The text is decoded and lives as long as the file; NULL: there is no such
 * text, or memory ran out. The number is NaN if there is none, or its text in reports of runs. */
const char *result_text(result_file *f, const json_value *object, const char *key);
double result_number(const json_value *object, const char *key);
bool result_bool(const json_value *object, const char *key);
/* Is there a number, or the text of one? */
bool result_has(const json_value *object, const char *key);

/* Set a value of the graph; VIEW_NONE is no place. result_set_worst keeps a worse one. */
pgy_status result_set(result_file *f, known_quantity which, uint32_t at, double value,
                      pgy_error *err) PGY_MUST_CHECK;
pgy_status result_set_worst(result_file *f, known_quantity which, uint32_t at, double value,
                            pgy_error *err) PGY_MUST_CHECK;
/* The worse one of two values; NaN is the worst. */
double worse_value(known_quantity which, double a, double b);
/* Sets a category by its name, which becomes a new one if needed. @param like  without
 * names */
pgy_status result_set_category(result_file *f, const view_quantity *like, uint32_t at,
                               const char *name, pgy_error *err) PGY_MUST_CHECK;
/* Marks a node or tensor, once for each kind. */
pgy_status result_mark(result_file *f, view_of of, uint32_t at, view_mark_kind kind, pgy_error *err,
                       const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Marks the first wrong node. There is one such mark: that of a `decisive` source, else the
 * earliest. */
pgy_status result_mark_first(result_file *f, uint32_t node, bool decisive, const char *text,
                             pgy_error *err) PGY_MUST_CHECK;
/* Gives the verdict of the view. A failure replaces a pass, and a decisive one another failure. */
pgy_status result_judge(result_file *f, bool passed, bool decisive, const char *text,
                        pgy_error *err) PGY_MUST_CHECK;
pgy_status result_summary(result_file *f, const char *section, const char *name, pgy_error *err,
                          const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Gives the table of this id, a new one if there is none. */
pgy_status result_table(view_table **out, result_file *f, const char *id, const char *title,
                        const view_column *columns, uint32_t count, pgy_error *err) PGY_MUST_CHECK;

static inline view_cell cell_text(const char *text)
{
    return (view_cell){.text = text};
}
static inline view_cell cell_verdict(bool passed)
{
    return (view_cell){.text = passed ? "pass" : "fail"};
}
static inline view_cell cell_number(double v)
{
    return (view_cell){.number = v};
}
/* NaN: an empty cell. */
static inline view_cell cell_measured(double v)
{
    return (view_cell){.number = v, .is_empty = isnan(v)};
}
static inline view_cell cell_ref(uint32_t ref, const char *name)
{
    return (view_cell){.text = name, .ref = ref};
}

#endif
