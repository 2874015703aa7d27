/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that search the first wrong tensor. */
#ifndef WHERE_WHERE_H
#define WHERE_WHERE_H

#include <polygraphy/where.h>

#include "base/str.h"
#include "graph/graph.h"

/* ---- judge.c --------------------------------------------------------------------------------- */

typedef struct where_verdict {
    double error, allowed;
    bool differs;
    uint64_t worst;
    double worst_a, worst_b;
    size_t nans; /* elements that are NaN on either side */
} where_verdict;

/* A rule that decides whether two tensors differ. A new one is a row of JUDGES. */
typedef struct where_judge {
    const char *name;
    /* own: b is what the node made of the reference's values */
    pgy_status (*judge)(where_verdict *out, const pgy_where_options *o, bool own, pgy_tensor *a,
                        pgy_tensor *b, pgy_error *err);
} where_judge;
const where_judge *where_judge_find(const char *name); /* NULL: no such rule */

/* ---- match.c --------------------------------------------------------------------------------- */

/* A pair of tensors, with its line in the ledger. `size_bytes` is estimated from shapes; 0:
 * unknown.
 */
typedef struct where_row {
    pgy_where_tensor line;
    pgy_value *a, *b; /* NULL: the side has no graph */
    uint64_t size_bytes;
    bool is_output;
    bool own_differs; /* the error that the node makes is more than allowed */
    size_t index_a;   /* place of the producer on side A */
} where_row;

typedef struct where_rows {
    where_row *items;
    size_t count, capacity;
    strmap by_b; /* name on side B -> where_row index + 1 */
} where_rows;

void where_rows_deinit(where_rows *rows);
/* Pairs the tensors of two sorted graphs, in the order of b: by name, then by structure: nodes of
 * one operator whose inputs are paired. The list `unmatched` receives outputs of b without a
 * counterpart. `a` NULL: all tensors of b pair with equal names. */
pgy_status where_match(where_rows *out, strvec *unmatched, pgy_graph *a, pgy_graph *b,
                       arena *memory, pgy_error *err) PGY_MUST_CHECK;

/* ---- side.c ---------------------------------------------------------------------------------- */

/* Reads tensors of one side. */
typedef struct where_source {
    const pgy_where_side *side;
    pgy_runner *runner;   /* NULL: not open, or stored results */
    pgy_results *results; /* NULL: a runner */
    bool marks;           /* tensors come from debug marks; fused-away ones are missing */
    /* For nodes that run alone: the inputs of their model, which also calibrate it. */
    const pgy_tensor_map *handed;
    pgy_calibration calibration;
    pgy_data_loader *loader; /* gives `handed`; NULL: no calibration */
    bool calibrated;
} where_source;

/* Makes a runner that gives these tensors. model NULL: the side's model or plan. */
pgy_status where_source_open(where_source *s, pgy_model *model, const char *const *names,
                             size_t count, pgy_error *err) PGY_MUST_CHECK;
void where_source_close(where_source *s);
/* *out: borrowed from `held`, which the caller destroys, if it is set. */
pgy_status where_source_read(const pgy_tensor_map **out, pgy_tensor_map **held, where_source *s,
                             const pgy_tensor_map *feed, size_t sample,
                             pgy_error *err) PGY_MUST_CHECK;

/* ---- alone.c --------------------------------------------------------------------------------- */

/* Makes a model in which every node reads the given values instead of what other nodes computed, so
 * that one run shows the error that each node makes. `handed` maps tensors of the model to their
 * values; a tensor that is not in it stays connected. Inputs of the result are "handed/<name>". */
pgy_status where_alone(pgy_model **out, pgy_tensor_map **feed, pgy_model *model,
                       const pgy_tensor_map *handed, const pgy_tensor_map *inputs,
                       const char *const *outputs, size_t count, pgy_error *err) PGY_MUST_CHECK;

/* ---- The report ------------------------------------------------------------------------------ */

struct pgy_where_report {
    arena memory;
    where_rows rows;
    strvec failures;
    size_t samples, batches;
    const char *a, *b; /* names of the sides */
    bool complete;     /* false: cancelled */
};
/* module.c: the module path of a node, "" if it has none; NULL: out of memory. */
const char *where_module(const pgy_node *n, arena *memory);

#endif
