/* SPDX-License-Identifier: Apache-2.0 */
/* Window functions: a sum of cosines of multiples of 2 pi n / N, where N is the size (periodic) or
 * one less (symmetric). */
#ifndef OPS_CLASS_WINDOW_FUNCTION_H
#define OPS_CLASS_WINDOW_FUNCTION_H

#include "ops/class_check.h"

enum { WINDOW_FUNCTION_TERMS = 3 };
extern const op_attr_def window_function_attrs[];
/* op_def.user_data is an array of WINDOW_FUNCTION_TERMS doubles: the factor of each cosine. */
pgy_status window_function_infer(op_infer *c, pgy_error *err);
pgy_status window_function_eval(op_eval *c, pgy_error *err);
/* Reads a numeric type from attribute `name`, which holds its ONNX code (default 1, float32). */
pgy_status window_function_type(pgy_dtype *out, const op_node *n, const char *name,
                                pgy_error *err) PGY_MUST_CHECK;
/* Stores doubles into an output of any numeric type: integers are truncated. */
void window_function_store(pgy_tensor *y, size_t i, double value);

#define WINDOW_FUNCTION_ROW(op, terms)                                                             \
    {                                                                                              \
        .name = op, .domain = "", .since = 17, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1, \
        .max_outputs = 1, .attrs = window_function_attrs, .types = "int32 int64",                  \
        .infer = window_function_infer, .eval = window_function_eval, .user_data = terms           \
    }

#endif
