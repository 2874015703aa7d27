/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of `check lint` share: cmd_check_lint.c calls lint_look.c, then lint_run.c. */
#ifndef CLI_LINT_WORK_H
#define CLI_LINT_WORK_H

#include <polygraphy/transform.h>

#include "cli/command.h"
#include "cli/lint.h"

typedef struct linter {
    args *line;
    bool is_static, strict;
    lint_report report;
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
    bool opened; /* the runtime has taken the whole model: what fails then depends on data */
    /* Options that cannot be followed: no finding of the model. */
    pgy_status misuse;
    pgy_error misuse_why;
} linter;

#define LINT_NONE SIZE_MAX

/* ---- lint_look.c ----------------------------------------------------------------------------- */

/* Reads the model; one that is no graph has its findings in the report and no l->graph. */
pgy_status lint_load(linter *l, pgy_error *err) PGY_MUST_CHECK;
/* The shapes of --input-shapes become those of the graph, so that the check sees them;
 * PGY_E_ARGUMENT for one that contradicts the model. */
pgy_status lint_take_shapes(linter *l, pgy_error *err) PGY_MUST_CHECK;
/* Fills l->findings; nothing is reported. */
pgy_status lint_look(linter *l, pgy_error *err) PGY_MUST_CHECK;
/* The first finding of a node, or LINT_NONE. */
size_t lint_first_finding(const linter *l, const char *node);
/* Has the checker found an error? */
bool lint_has_errors(const linter *l);
/* Reports what ONNX's checker finds, as the original does. False: it finds nothing. */
bool lint_add_as_checker(linter *l);
/* Reports the errors that nothing else has said. */
void lint_add_errors(linter *l);
/* Reports what does not stop the model. */
void lint_add_warnings(linter *l);

/* ---- lint_run.c ------------------------------------------------------------------------------ */

/* Runs the model, as a whole only if `is_graph`. */
pgy_status lint_run(linter *l, bool is_graph, pgy_error *err) PGY_MUST_CHECK;

#endif
