/* SPDX-License-Identifier: Apache-2.0 */
/* What `check lint` finds, shown as lines and written as the original's JSON report or as SARIF. */
#ifndef CLI_LINT_H
#define CLI_LINT_H

#include <polygraphy/graph.h>

#include "base/arena.h"
#include "base/str.h"

typedef enum lint_level { LINT_EXCEPTION, LINT_WARNING, LINT_INFO } lint_level;
typedef enum lint_source { LINT_RUNTIME, LINT_CHECKER, LINT_LOADER, LINT_GRAPH } lint_source;

/* Rules of what is not found by pgy_graph_check. */
#define LINT_CODE_LOAD "load-failed"
#define LINT_CODE_RUNTIME "runtime-failed"
#define LINT_CODE_DATA "generated-data"
#define LINT_CODE_DUPLICATE "duplicate-node-name" /* of the checker, too */

typedef struct lint_entry {
    lint_level level;
    lint_source source;
    bool own;            /* the original does not find it: the JSON report has the code */
    const char *code;    /* of the rule; kept as it is; NULL: a summary of findings that follow */
    const char *node;    /* path, "" = the whole model; NULL is "" */
    const char *value;   /* path of what is wrong when it is no node; NULL is "" */
    const char *op_type; /* "" or NULL: the line does not begin with the node */
    const char *message;
} lint_entry;

typedef struct lint_report {
    arena memory;
    lint_entry *entries;
    size_t count, capacity;
    strmap passing, failing; /* names of nodes; one is in one of them at most */
    bool failed;             /* out of memory */
} lint_report;

void lint_report_deinit(lint_report *r);
/* Records (copies) and logs one finding; the node of an exception fails. */
void lint_add(lint_report *r, const lint_entry *entry);
/* The node passes, unless it has failed. */
void lint_pass(lint_report *r, const char *node);
bool lint_has_exception(const lint_report *r);
pgy_status lint_report_save(const lint_report *r, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* lint_sarif.c; `model` is the file that was looked at, or NULL. */
pgy_status lint_report_save_sarif(const lint_report *r, const char *path, const char *model,
                                  pgy_error *err) PGY_MUST_CHECK;

/* ---- lint_names.c ---------------------------------------------------------------------------- */

/* Names nodes without a name after their place in `nodes`, as the original does. */
pgy_status lint_name_nodes(pgy_node *const *nodes, size_t count, arena *memory,
                           pgy_error *err) PGY_MUST_CHECK;
/* An exception for each name that several nodes have: they cannot be told apart. */
pgy_status lint_check_names(lint_report *r, pgy_node *const *nodes, size_t count,
                            pgy_error *err) PGY_MUST_CHECK;

/* ---- lint_nodes.c ---------------------------------------------------------------------------- */

/* Is it a weight that a model of one node holds as it is? (One of another file is not.) */
bool lint_weight_stays(const pgy_value *v);
/* One node as a model of its own: weights that it, or a subgraph in it, uses stay weights; every
 * other tensor from outside becomes an input with the type and shape of `values` (name -> tensor).
 * *out is NULL when a tensor it needs is not among them. */
pgy_status lint_node_model(pgy_model **out, const pgy_node *node, const pgy_graph *whole,
                           const pgy_tensor_map *values, pgy_error *err) PGY_MUST_CHECK;

#endif
