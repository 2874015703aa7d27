/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the operator cases of a text file (tests/ops/README.md). */
#ifndef HARNESS_OP_CASE_H
#define HARNESS_OP_CASE_H

#include <stddef.h>

#include "base/str.h"
#include "ops/op.h"

typedef struct op_case_report {
    size_t run, failed;
    str text; /* one paragraph per failure */
    /* If not NULL, receives the cases that have values and must succeed, which then do not run
     * here. */
    void (*visit)(const op_node *n, const op_tensor *inputs, const bool *wanted, void *user);
    void *user;
} op_case_report;

void op_cases_run(op_case_report *report, const char *path);

#endif
