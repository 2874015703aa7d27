/* SPDX-License-Identifier: Apache-2.0 */
/* State shared by the steps of a lint: lint.c calls structure.c, then run.c. */
#ifndef INSPECT_LINT_LINTER_H
#define INSPECT_LINT_LINTER_H

#include "inspect/lint/report.h"

typedef struct linter {
    pgy_lint_options options;
    lint_report *report;
    pgy_model *model;
    pgy_graph *graph;  /* NULL: the model has no valid graph, or no nodes */
    pgy_node **stored; /* nodes in file order, because the original runs them in that order */
    const pgy_finding *findings;
    size_t finding_count;
    size_t *next_of_node; /* indexed by finding: the next finding of the same node, or LINT_NONE */
    bool *is_said;        /* indexed by finding: already reported, or not to be reported */
    strmap first_of_node; /* path of a node -> &next_of_node[its first finding] */
    pgy_metadata *inputs;
    pgy_tensor_map *values; /* tensor name -> value, for all tensors computed so far */
    const pgy_backend *backend;
    const pgy_backend_options *backend_options;
    bool opened; /* the runtime opened the whole model: later failures depend on data */
    /* The runtime or the model refused settings or data of the caller: an error of the call, not a
     * finding. */
    pgy_status misuse;
    pgy_error misuse_why;
} linter;

#define LINT_NONE SIZE_MAX

/* ---- structure.c ---------------------------------------------------------------------------- */

/* Loads the model. If it has no valid graph, the report gets the reasons and l->graph stays NULL.
 */
pgy_status lint_load(linter *l, const pgy_loader *loader, pgy_error *err) PGY_MUST_CHECK;
/* Puts the shapes of the options into the graph, so that the check sees them. */
pgy_status lint_take_shapes(linter *l, pgy_error *err) PGY_MUST_CHECK;
/* Fills l->findings without reporting them. */
pgy_status lint_check(linter *l, pgy_error *err) PGY_MUST_CHECK;
/* The first finding of a node, or LINT_NONE. */
size_t lint_first_finding(const linter *l, const char *node);
/* Has the check found an error? */
bool lint_has_errors(const linter *l);
/* Reports the findings of ONNX's checker, as the original does. False: no findings. */
bool lint_add_as_checker(linter *l);
/* Reports the errors that are not reported yet. */
void lint_add_errors(linter *l);
/* Reports findings that do not stop the model. */
void lint_add_warnings(linter *l);

/* ---- run.c ---------------------------------------------------------------------------------- */

/* Runs the whole model if `is_graph`, and, without it or after a failure, each node alone. */
pgy_status lint_run(linter *l, bool is_graph, pgy_error *err) PGY_MUST_CHECK;

#endif
