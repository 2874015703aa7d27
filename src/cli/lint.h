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

typedef struct lint_entry {
    lint_level level;
    lint_source source;
    const char *code;    /* of the rule; kept as it is */
    const char *node;    /* path, "" = the whole model; NULL is "" */
    const char *value;   /* path of what is wrong when it is no node; NULL is "" */
    const char *op_type; /* "" or NULL: the line does not begin with the node */
    const char *message;
} lint_entry;

typedef struct lint_report {
    arena memory;
    lint_entry *entries;
    size_t count, capacity;
    strvec passing, failing; /* node names, sorted when written */
    bool failed;             /* out of memory */
} lint_report;

void lint_report_deinit(lint_report *r);
/* Records (copies) and logs one finding. */
void lint_add(lint_report *r, const lint_entry *entry);
bool lint_has_exception(const lint_report *r);
/* Is there an exception-level entry for this node? */
bool lint_node_failed(const lint_report *r, const char *node);
pgy_status lint_report_save(lint_report *r, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* lint_sarif.c; `model` is the file that was looked at, or NULL. */
pgy_status lint_report_save_sarif(const lint_report *r, const char *path, const char *model,
                                  pgy_error *err) PGY_MUST_CHECK;

/* One node as a model of its own: every tensor that it, or a subgraph in it, uses from outside
 * becomes an input with the type and shape of `values` (name -> tensor). *out is NULL when a tensor
 * it needs is not among them. */
pgy_status lint_node_model(pgy_model **out, const pgy_node *node, pgy_model *whole,
                           const pgy_tensor_map *values, pgy_error *err) PGY_MUST_CHECK;

#endif
