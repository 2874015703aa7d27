/* SPDX-License-Identifier: Apache-2.0 */
/* The models in a plan: their weights lie in sections of the plan, not within them. */
#ifndef ENGINE_PLAN_WEIGHTS_H
#define ENGINE_PLAN_WEIGHTS_H

#include <polygraphy/onnx.h>

#include "engine/plan/pool.h"

typedef enum plan_weights_rule {
    PLAN_WEIGHTS_ALL,   /* every weight can be read again */
    PLAN_WEIGHTS_SMALL, /* only small ones, which decide about shapes and operators */
    PLAN_WEIGHTS_STRIP  /* the same; of the others the hash is kept */
} plan_weights_rule;

/* The model with weights in the pools: among the constants if they are there as they are, else
 * among `weights`. *out keeps alive what `weights` borrows. */
pgy_status plan_weights_detach(pgy_model **out, pgy_model *model, const plan_pool *constants,
                               plan_pool *weights, plan_weights_rule rule,
                               pgy_error *err) PGY_MUST_CHECK;

/* Sections of an open plan. */
typedef struct plan_weights_bytes {
    const unsigned char *constants, *weights;
    uint64_t constant_bytes, weight_bytes;
} plan_weights_bytes;
/* Gives the weights of a model, which was just parsed from memory of its own, their bytes again.
 * Those that are left out stay without. */
pgy_status plan_weights_attach(pgy_model *model, const plan_weights_bytes *bytes,
                               pgy_error *err) PGY_MUST_CHECK;

/* Was this weight left out? *hash, if it is known, is that of its elements; else 0. */
bool plan_weight_is_left_out(const pgy_onnx_tensor *t, uint64_t *hash);

#endif
