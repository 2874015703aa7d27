/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of parallel branches: [..., C, H], or [..., C * H] if attribute num_branches gives C. */
#ifndef OPS_CLASS_BRANCHES_H
#define OPS_CLASS_BRANCHES_H

#include "ops/class_check.h"

typedef struct branches {
    size_t rows, count, width; /* product of the leading dims, C and H */
} branches;

/* Whether attribute num_branches makes the branches share the last axis. */
bool branches_are_flat(const op_node *n);
/* Checks the shape of an input of branches; unknown dims pass. PGY_E_SHAPE */
pgy_status branches_check(const op_infer *c, size_t input, pgy_error *err) PGY_MUST_CHECK;
/* The branches of an input that is not empty and that branches_check has seen. */
branches branches_of(const op_eval *c, size_t input);

#endif
