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
    bool too_large;   /* its values exceed the memory limit */
    double now;       /* error in the current sample; infinity: NaN, or different shapes */
} where_row;

typedef struct where_rows {
    where_row *items;
    size_t count, capacity;
    strmap by_a, by_b; /* name on side A or B -> where_row index + 1 */
} where_rows;

void where_rows_deinit(where_rows *rows);
where_row *where_row_of(const where_rows *rows, const pgy_value *b); /* NULL: it has none */
where_row *where_row_of_a(const where_rows *rows, const char *name);
/* Pairs the tensors of two sorted graphs, in the order of b: by name, then by structure: nodes of
 * one operator whose inputs are paired. The list `unmatched` receives outputs of b without a
 * counterpart. `a` NULL: all tensors of b pair with equal names. */
pgy_status where_match(where_rows *out, strvec *unmatched, pgy_graph *a, pgy_graph *b,
                       arena *memory, pgy_error *err) PGY_MUST_CHECK;

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
