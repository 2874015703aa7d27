/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised operators that are defined by an operator on floats: inputs are dequantised, the inner
 * operator runs in double precision, and its output is quantised. */
#ifndef OPS_CLASS_QLINEAR_H
#define OPS_CLASS_QLINEAR_H

#include "ops/class_check.h"

typedef struct qlinear_spec {
    const char *inner; /* name of the float operator, in the default domain */
    int64_t version;   /* opset of the inner operator; the node's attribute `opset` overrides it */
    size_t first, count; /* the data inputs are first, first + 3, ..., each followed by its scale
                            and zero point; count: how many; 0: up to the last input */
    size_t scale; /* index of the input with the output's scale; the next input is its zero point */
} qlinear_spec;

/* op_def.user_data is the qlinear_spec. */
pgy_status qlinear_infer(op_infer *c, pgy_error *err);
pgy_status qlinear_eval(op_eval *c, pgy_error *err);

/* Dequantises input i with the scale and zero point that follow it. */
pgy_status qlinear_dequantise(op_tensor *out, const op_eval *c, size_t i,
                              pgy_error *err) PGY_MUST_CHECK;
/* Quantises floats to output 0 with input `scale` and the zero point that follows it. */
pgy_status qlinear_quantise(op_eval *c, const pgy_tensor *made, size_t scale,
                            pgy_error *err) PGY_MUST_CHECK;

#define QLINEAR_ROW(op, least, most, flag_bits, definitions, spec, text)                 \
    {                                                                                    \
        .name = op, .domain = "com.microsoft", .since = 1, .min_inputs = least,          \
        .max_inputs = most, .min_outputs = 1, .max_outputs = 1, .flags = flag_bits,      \
        .attrs = definitions, .types = "", .infer = qlinear_infer, .eval = qlinear_eval, \
        .user_data = spec, .signature = text                                             \
    }

#endif
