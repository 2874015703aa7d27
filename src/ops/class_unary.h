/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that compute each output element from the input element at the same place. */
#ifndef OPS_CLASS_UNARY_H
#define OPS_CLASS_UNARY_H

#include "ops/rule.h"

enum { UNARY_PARAMS = 2 };

/* y[i] = f(x[i], params) in a storage type; made by unary_loop.inc. */
typedef void (*unary_loop)(void *y, const void *x, size_t n, const void *params);

typedef struct unary_spec {
    unary_loop f64, i64, u64,
        boolean; /* a loop for each storage type; NULL: the type is not supported */
    const char *params[UNARY_PARAMS];     /* float attributes handed to the loop as doubles */
    bool predicate;                       /* the output is boolean */
    dim (*symbolic)(dim_table *t, dim x); /* the function on symbolic values; may be NULL */
} unary_spec;

/* op_def.user_data is the unary_spec. */
pgy_status unary_infer(op_infer *c, pgy_error *err);
pgy_status unary_eval(op_eval *c, pgy_error *err);
/* Runs a loop over input 0 into output 0. */
pgy_status unary_run(op_eval *c, unary_loop loop, const void *params,
                     pgy_error *err) PGY_MUST_CHECK;
/* The loop of a spec for a storage type, or NULL. */
unary_loop unary_choose(const unary_spec *spec, pgy_dtype storage);

#define UNARY_ROW(op, version, accepted, spec)                                        \
    {                                                                                 \
        .name = op, .domain = "", .since = version, .min_inputs = 1, .max_inputs = 1, \
        .min_outputs = 1, .max_outputs = 1, .flags = OP_FILLS, .types = accepted,     \
        .infer = unary_infer, .eval = unary_eval, .user_data = spec                   \
    }
#define UNARY_ROW_ATTRS(op, version, accepted, spec, attributes)                         \
    {                                                                                    \
        .name = op, .domain = "", .since = version, .min_inputs = 1, .max_inputs = 1,    \
        .min_outputs = 1, .max_outputs = 1, .flags = OP_FILLS, .types = accepted,        \
        .attrs = attributes, .infer = unary_infer, .eval = unary_eval, .user_data = spec \
    }
/* An operator that opset `gone` removed. */
#define UNARY_ROW_UNTIL(op, gone, accepted, spec, attributes)                                      \
    {                                                                                              \
        .name = op, .domain = "", .since = 1, .deprecated = gone, .min_inputs = 1,                 \
        .max_inputs = 1, .min_outputs = 1, .max_outputs = 1, .flags = OP_FILLS, .types = accepted, \
        .attrs = attributes, .infer = unary_infer, .eval = unary_eval, .user_data = spec           \
    }

#endif
