/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of a lint share: lint.c calls structure.c, then run.c. */
#ifndef INSPECT_LINT_LINTER_H
#define INSPECT_LINT_LINTER_H

#include "inspect/lint/report.h"

typedef struct linter {
    pgy_lint_options options;
    lint_report *report;
    pgy_model *model;
    pgy_graph *graph;  /* NULL: the model is no graph, or has no nodes */
    pgy_node **stored; /* the order of the file, in which the original runs nodes */
    const pgy_finding *findings;
    size_t finding_count;
    size_t *next_of_node; /* of each finding, the next of the same node, or LINT_NONE */
    bool *is_said;        /* of each finding: the report has it, or does not want it */
    strmap first_of_node; /* path of a node -> &next_of_node[its first finding] */
    pgy_metadata *inputs;
    pgy_tensor_map *values; /* everything computed so far */
    const pgy_backend *backend;
    const pgy_backend_options *backend_options;
    bool opened; /* the runtime has taken the whole model: what fails then depends on data */
    /* Settings or data that the runtime or the model refuse: an error of the call, no finding. */
    pgy_status misuse;
    pgy_error misuse_why;
} linter;

#define LINT_NONE SIZE_MAX

/* ---- structure.c ---------------------------------------------------------------------------- */

/* Loads the model. If it is no graph, the report gets the reasons and l->graph stays NULL. */
pgy_status lint_load(linter *l, const pgy_loader *loader, pgy_error *err) PGY_MUST_CHECK;
/* Puts the shapes of the options into the graph, so that the check sees them. */
pgy_status lint_take_shapes(linter *l, pgy_error *err) PGY_MUST_CHECK;
/* Fills l->findings; nothing is reported. */
pgy_status lint_check(linter *l, pgy_error *err) PGY_MUST_CHECK;
/* The first finding of a node, or LINT_NONE. */
size_t lint_first_finding(const linter *l, const char *node);
/* Has the check found an error? */
bool lint_has_errors(const linter *l);
/* Reports what ONNX's checker finds, as the original does. False: it finds nothing. */
bool lint_add_as_checker(linter *l);
/* Reports the errors that no other finding contains. */
void lint_add_errors(linter *l);
/* Reports what does not stop the model. */
void lint_add_warnings(linter *l);

/* ---- run.c ---------------------------------------------------------------------------------- */

/* Runs the model: as a whole if `is_graph`, else only node by node. */
pgy_status lint_run(linter *l, bool is_graph, pgy_error *err) PGY_MUST_CHECK;

#endif
