/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators of two inputs, or of any number, which broadcast to each other. */
#ifndef OPS_CLASS_BINARY_H
#define OPS_CLASS_BINARY_H

#include "ops/rule.h"

/* y[i] = f(a[i * a_step], b[i * b_step]) with steps of 0 or 1, in a storage type; made by
 * binary_loop.inc. */
typedef void (*binary_loop)(void *y, const void *a, size_t a_step, const void *b, size_t b_step,
                            size_t n);

typedef struct binary_spec {
    binary_loop f64, i64, u64, boolean,
        string;     /* a loop for each storage type; NULL: the type is not supported */
    bool predicate; /* the output is boolean */
    bool mixed;     /* the second input may have another type */
    /* the function for symbolic elements (shape arithmetic); may be NULL */
    dim (*symbolic)(dim_table *t, dim a, dim b);
} binary_spec;

/* op_def.user_data is the binary_spec. */
pgy_status binary_infer(op_infer *c, pgy_error *err);
pgy_status binary_eval(op_eval *c, pgy_error *err);
/* Evaluates with the loops of a spec, chosen by the storage type of the second input. */
pgy_status binary_eval_with(op_eval *c, const binary_spec *spec, pgy_error *err) PGY_MUST_CHECK;
binary_loop binary_choose(const binary_spec *spec, pgy_dtype storage);
/* Runs a loop over tensors a and b, which broadcast to the shape of y. */
void binary_run(pgy_tensor *y, const pgy_tensor *a, const pgy_tensor *b, binary_loop loop);

/* For operators of any number of inputs, which are combined from the left: f(f(x0, x1), x2).
 * op_def.user_data is the binary_spec, too. */
pgy_status variadic_infer(op_infer *c, pgy_error *err);
pgy_status variadic_eval(op_eval *c, pgy_error *err);

#define BINARY_ROW(op, version, accepted, spec)                                       \
    {                                                                                 \
        .name = op, .domain = "", .since = version, .min_inputs = 2, .max_inputs = 2, \
        .min_outputs = 1, .max_outputs = 1, .flags = OP_FILLS, .types = accepted,     \
        .infer = binary_infer, .eval = binary_eval, .user_data = spec                 \
    }
#define VARIADIC_ROW(op, version, accepted, spec)                                            \
    {                                                                                        \
        .name = op, .domain = "", .since = version, .min_inputs = 1, .max_inputs = 255,      \
        .min_outputs = 1, .max_outputs = 1, .flags = OP_VARIADIC_INPUTS | OP_FILLS,          \
        .types = accepted, .infer = variadic_infer, .eval = variadic_eval, .user_data = spec \
    }

#endif
