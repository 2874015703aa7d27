/* SPDX-License-Identifier: Apache-2.0 */
/* Longformer's attention: a token sees the tokens of a window around it and all global tokens; a
 * global token sees all tokens, by projections of its own. */
#ifndef OPS_CLASS_LONGFORMER_H
#define OPS_CLASS_LONGFORMER_H

#include "ops/class_check.h"

/* indices of the inputs that both operators have */
typedef struct longformer_inputs {
    size_t x, weight, bias, mask, global_weight, global_bias, flags;
} longformer_inputs;

/* Checks the shapes and sets output 0 like x. */
pgy_status longformer_infer(op_infer *c, const longformer_inputs *in,
                            pgy_error *err) PGY_MUST_CHECK;

/* Projects row `row` of x into query, key and value [3 * width], by the weights of local attention
 * or those of global attention. */
typedef void (*longformer_project)(double *to, size_t row, bool global, const void *user);
/* Computes the attention into `to` [batch, tokens, width]. */
pgy_status longformer_run(double *to, const op_eval *c, const longformer_inputs *in,
                          longformer_project project, const void *user,
                          pgy_error *err) PGY_MUST_CHECK;

#endif
