/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of a lint, and which nodes pass and fail. */
#ifndef INSPECT_LINT_REPORT_H
#define INSPECT_LINT_REPORT_H

#include <polygraphy/lint.h>

#include "base/arena.h"
#include "base/str.h"

/* Rules of what pgy_graph_check does not find. */
#define LINT_CODE_LOAD "load-failed"
#define LINT_CODE_RUNTIME "runtime-failed"
#define LINT_CODE_DATA "generated-data"
#define LINT_CODE_DUPLICATE "duplicate-node-name" /* pgy_graph_check has it, too */

typedef struct lint_report {
    arena memory;
    pgy_lint_finding *findings;
    size_t count, capacity;
    strmap passing, failing; /* names of nodes; a node can be in both: then it fails */
    void (*found)(const pgy_lint_finding *finding, void *user); /* or NULL */
    void *user;
    bool failed; /* out of memory */
} lint_report;

struct pgy_lint {
    lint_report report;
};

void report_deinit(lint_report *r);
/* Records (copies) one finding; the node of an exception fails. NULL texts are "". */
void lint_add(lint_report *r, const pgy_lint_finding *finding);
void lint_pass(lint_report *r, const char *node);
/* messages.c: what a runtime or the checker says as one line, without what says nothing: places in
 * its sources, phrases like "Error: ". Double quotes are back-quotes, as in the original. NULL: out
 * of memory. */
char *lint_clean_message(arena *a, const char *message);

/* ---- names.c -------------------------------------------------------------------------------- */

/* Names nodes without a name after their place in `nodes`, as the original does. */
pgy_status lint_name_nodes(pgy_node *const *nodes, size_t count, arena *memory,
                           pgy_error *err) PGY_MUST_CHECK;
/* An exception for each name that several nodes share: findings could not tell them apart. */
pgy_status lint_check_names(lint_report *r, pgy_node *const *nodes, size_t count,
                            pgy_error *err) PGY_MUST_CHECK;

/* ---- one_node.c ----------------------------------------------------------------------------- */

/* Can a model of one node hold this weight as it is? Not if its data are in another file. */
bool lint_weight_stays(const pgy_value *v);
/* One node as a model of its own: weights that it, or a subgraph in it, uses stay weights; every
 * other tensor from outside becomes an input with the type and shape of `values` (name -> tensor).
 * *out is NULL when a tensor it needs is not among them. */
pgy_status lint_node_model(pgy_model **out, const pgy_node *node, const pgy_graph *whole,
                           const pgy_tensor_map *values, pgy_error *err) PGY_MUST_CHECK;

#endif
