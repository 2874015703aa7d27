/* SPDX-License-Identifier: Apache-2.0 */
/* Random operators. The specification names no generator; here it is MT19937, seeded anew for every
 * run of a node with its attribute `seed` (truncated to 32 bits) or, without it, with the host's
 * seed. Uniform numbers have 53 random bits; normal ones come in pairs from the polar form of two
 * uniform ones (Box and Muller). So every run of a node gives the same numbers. */
#ifndef OPS_CLASS_RANDOM_H
#define OPS_CLASS_RANDOM_H

#include "base/rand.h"
#include "ops/class_check.h"

/* Creates the node's generator; the caller frees it with mem_free. */
pgy_status random_create(mt19937 **out, const op_eval *c, pgy_error *err) PGY_MUST_CHECK;
void random_uniform(mt19937 *g, double *y, size_t count, double low, double high);
void random_normal(mt19937 *g, double *y, size_t count, double mean, double scale);
/* The type that attribute `dtype` names; `fallback` without it. */
pgy_status random_type(pgy_dtype *out, const op_node *n, pgy_dtype fallback,
                       pgy_error *err) PGY_MUST_CHECK;

/* Shape rules: output 0 has the shape in attribute `shape`, or that of input 0, and a float
 * type. */
pgy_status random_infer_shape(op_infer *c, pgy_error *err);
pgy_status random_infer_like(op_infer *c, pgy_error *err);
/* Fill output 0 from attributes mean and scale, or low and high. */
pgy_status random_eval_normal(op_eval *c, pgy_error *err);
pgy_status random_eval_uniform(op_eval *c, pgy_error *err);

#define RANDOM_ROW(op, version, inputs, definitions, rule, work)                                   \
    {                                                                                              \
        .name = op, .domain = "", .since = version, .min_inputs = inputs, .max_inputs = inputs,    \
        .min_outputs = 1, .max_outputs = 1, .flags = OP_RANDOM, .attrs = definitions, .types = "", \
        .infer = rule, .eval = work                                                                \
    }

#endif
