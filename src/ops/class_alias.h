/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are computed by another operator, which has another name, domain or version. */
#ifndef OPS_CLASS_ALIAS_H
#define OPS_CLASS_ALIAS_H

#include "ops/rule.h"

typedef struct alias_spec {
    const char *domain, *name;
    int64_t version;
    size_t inputs; /* passes only the first `inputs` inputs on; 0: all */
} alias_spec;

/* op_def.user_data is the alias_spec. */
pgy_status alias_infer(op_infer *c, pgy_error *err);
pgy_status alias_eval(op_eval *c, pgy_error *err);

/* The op_def row of an alias in domain com.microsoft. */
#define ALIAS_ROW(op, least, most, outputs, definitions, words, spec, text)                 \
    {                                                                                       \
        .name = op, .domain = "com.microsoft", .since = 1, .min_inputs = least,             \
        .max_inputs = most, .min_outputs = 1, .max_outputs = outputs, .attrs = definitions, \
        .types = words, .infer = alias_infer, .eval = alias_eval, .user_data = spec,        \
        .signature = text                                                                   \
    }

#endif
