/* SPDX-License-Identifier: Apache-2.0 */
/* Where an operator rounds, besides rounding its result. */
#ifndef WHERE_FLOOR_RULES_H
#define WHERE_FLOOR_RULES_H

#include "graph/graph.h"

typedef enum floor_rule {
    FLOOR_INNER,    /* steps inside, of unknown kind: errors of operands and of the result */
    FLOOR_RESULT,   /* exact but for the rounding of the result */
    FLOOR_FUNCTION, /* an approximated function: one more error of the result */
    FLOOR_SUM,      /* a sum of products of the operands */
    FLOOR_MEAN      /* a sum divided by the number of terms */
} floor_rule;

floor_rule floor_rule_of(const pgy_node *n);

/* For FLOOR_SUM and FLOOR_MEAN: the RMS error of each element of output 0 due to rounding each
 * partial sum to a type of this unit roundoff. *out has the output's shape, or is NULL if the
 * operator refuses squared operands. Inputs are in storage type. */
pgy_status floor_sum_errors(pgy_tensor **out, floor_rule rule, const op_node *node,
                            const op_tensor *inputs, const op_tensor *output, double unit,
                            const op_host *host, pgy_error *err) PGY_MUST_CHECK;

#endif
