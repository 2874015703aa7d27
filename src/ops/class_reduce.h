/* SPDX-License-Identifier: Apache-2.0 */
/* The Reduce operators: a fold over the reduced elements and a function of its result. */
#ifndef OPS_CLASS_REDUCE_H
#define OPS_CLASS_REDUCE_H

#include "ops/class_check.h"

typedef enum reduce_kind {
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_L1,
    REDUCE_L2,
    REDUCE_SUM_SQUARE,
    REDUCE_LOG_SUM,
    REDUCE_LOG_SUM_EXP
} reduce_kind;

extern const op_attr_def reduce_attrs_axes[]; /* axes as an attribute */
extern const op_attr_def reduce_attrs[];      /* axes as input 1 */

pgy_status reduce_infer(op_infer *c, pgy_error *err) PGY_MUST_CHECK;
/* def->user is the reduce_kind */
pgy_status reduce_eval(op_eval *c, pgy_error *err) PGY_MUST_CHECK;
double reduce_flops(const op_infer *c);

/* Rows of an operator's op_def table: REDUCE_ROW_ATTR takes the axes as an attribute, REDUCE_ROW as
 * input 1. */
#define REDUCE_ROW_ATTR(name, kind, version, words)                                               \
    {                                                                                             \
        name, "", version, 0, 1, 1, 1, 1, 0, reduce_attrs_axes, words, reduce_infer, reduce_eval, \
            reduce_flops, kind                                                                    \
    }
#define REDUCE_ROW(name, kind, version, words)                                               \
    {                                                                                        \
        name, "", version, 0, 1, 2, 1, 1, 0, reduce_attrs, words, reduce_infer, reduce_eval, \
            reduce_flops, kind                                                               \
    }
#define REDUCE_ROWS(name, kind)                                                          \
    REDUCE_ROW_ATTR(name, kind, 1, TYPES_W3), REDUCE_ROW_ATTR(name, kind, 11, TYPES_W3), \
        REDUCE_ROW_ATTR(name, kind, 13, TYPES_W4), REDUCE_ROW(name, kind, 18, TYPES_W4)

#endif
