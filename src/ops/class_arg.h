/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin: index of the largest or smallest element along an axis. */
#ifndef OPS_CLASS_ARG_H
#define OPS_CLASS_ARG_H

#include "ops/class_check.h"

extern const op_attr_def arg_attrs_1[], arg_attrs_12[];
pgy_status arg_infer(op_infer *c, pgy_error *err) PGY_MUST_CHECK;
pgy_status arg_eval(op_eval *c,
                    pgy_error *err) PGY_MUST_CHECK; /* def->user: 1 = largest, 0 = smallest */
double arg_flops(const op_infer *c);

#define ARG_ROW(name, largest, version, attrs, words)                                              \
    {                                                                                              \
        name, "", version, 0, 1, 1, 1, 1, 0, attrs, words, arg_infer, arg_eval, arg_flops, largest \
    }
#define ARG_ROWS(name, largest)                              \
    ARG_ROW(name, largest, 1, arg_attrs_1, TYPES_N11),       \
        ARG_ROW(name, largest, 11, arg_attrs_1, TYPES_N11),  \
        ARG_ROW(name, largest, 12, arg_attrs_12, TYPES_N11), \
        ARG_ROW(name, largest, 13, arg_attrs_12, TYPES_N12)

#endif
