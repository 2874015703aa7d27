/* SPDX-License-Identifier: Apache-2.0 */
/* Models in a plan. Their weights lie in sections of the plan, not in the models. */
#ifndef ENGINE_PLAN_WEIGHTS_H
#define ENGINE_PLAN_WEIGHTS_H

#include <polygraphy/onnx.h>

#include "engine/plan/areas.h"
#include "kernels/packing.h"

typedef enum plan_weights_rule {
    PLAN_WEIGHTS_ALL,   /* every weight can be read again */
    PLAN_WEIGHTS_SMALL, /* only small weights, which shape inference and operators read */
    PLAN_WEIGHTS_STRIP  /* like SMALL; for each larger weight the plan keeps a hash */
} plan_weights_rule;

/* Makes a copy of the model whose weights lie in the pools: in `constants` if it holds the same
 * bytes, or these packed so that they can be restored (`packed` has the pieces; it may be NULL),
 * else in `weights`. *out keeps alive what `weights` borrows. */
pgy_status plan_weights_detach(pgy_model **out, pgy_model *model, const area_pools *constants,
                               packed_table *packed, plan_pool *weights, plan_weights_rule rule,
                               pgy_error *err) PGY_MUST_CHECK;

/* The sections of an open plan that hold weights. */
typedef struct plan_weights_bytes {
    area_bytes constants;
    pgy_bytes weights;
} plan_weights_bytes;
/* Restores the elements of the weights of a model that was just parsed. Weights that the plan
 * leaves out stay without elements. Packed weights go into the table, which may be NULL. */
pgy_status plan_weights_attach(pgy_model *model, const plan_weights_bytes *bytes,
                               packed_table *packed, pgy_error *err) PGY_MUST_CHECK;

/* Was this weight left out? *hash: the hash of its elements, or 0 if unknown. */
bool plan_weight_is_left_out(const pgy_onnx_tensor *t, uint64_t *hash);

#endif
