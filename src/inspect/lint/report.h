/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of a lint, and which nodes pass and fail. */
#ifndef INSPECT_LINT_REPORT_H
#define INSPECT_LINT_REPORT_H

#include <polygraphy/lint.h>

#include "base/arena.h"
#include "base/str.h"

/* Codes of findings of the lint itself; the others come from pgy_graph_check. */
#define LINT_CODE_LOAD "load-failed"
#define LINT_CODE_RUNTIME "runtime-failed"
#define LINT_CODE_DATA "generated-data"
#define LINT_CODE_DUPLICATE "duplicate-node-name" /* pgy_graph_check has it, too */

typedef struct lint_report {
    arena memory;
    pgy_lint_finding *findings;
    size_t count, capacity;
    strmap passing, failing; /* names of nodes; a node in both fails */
    void (*found)(const pgy_lint_finding *finding, void *user); /* or NULL */
    void *user;
    bool failed; /* out of memory */
} lint_report;

struct pgy_lint {
    lint_report report;
};

void report_deinit(lint_report *r);
/* Copies one finding into the report. The node of an exception counts as failing. NULL texts become
 * "". */
void lint_add(lint_report *r, const pgy_lint_finding *finding);
void lint_pass(lint_report *r, const char *node);
/* messages.c: a message of a runtime or the checker as one line, without source positions and empty
 * phrases like "Error: ". Double quotes become back-quotes, as in the original. NULL: out of
 * memory. */
char *lint_clean_message(arena *a, const char *message);

/* ---- names.c -------------------------------------------------------------------------------- */

/* Gives nodes without a name one made of their index in `nodes`, as the original does. */
pgy_status lint_name_nodes(pgy_node *const *nodes, size_t count, arena *memory,
                           pgy_error *err) PGY_MUST_CHECK;
/* Reports an exception for each name that several nodes share, because findings could not tell them
 * apart. */
pgy_status lint_check_names(lint_report *r, pgy_node *const *nodes, size_t count,
                            pgy_error *err) PGY_MUST_CHECK;

/* ---- one_node.c ----------------------------------------------------------------------------- */

/* Can a model of one node hold this weight unchanged? False if its data are in another file. */
bool lint_weight_stays(const pgy_value *v);
/* Makes a model of one node. Weights that the node or its subgraphs use stay weights; every other
 * tensor from outside becomes an input with the type and shape in `values` (name -> tensor). *out
 * is NULL if `values` lacks a tensor that the node needs. */
pgy_status lint_node_model(pgy_model **out, const pgy_node *node, const pgy_graph *whole,
                           const pgy_tensor_map *values, pgy_error *err) PGY_MUST_CHECK;

#endif
