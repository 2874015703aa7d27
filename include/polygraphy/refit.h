/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Refitting: replaces the weights of an engine without building it again.
 *
 *     pgy_refitter *r = NULL;
 *     if (pgy_refitter_create(&r, engine, &err)) ...           // built with config.refittable
 *     if (pgy_refitter_set_weights(r, "conv1.weight", tensor, &err)) ...
 *     if (pgy_refitter_refit(r, &err)) ...
 *     pgy_refitter_destroy(r);
 *
 * Weights are named like the model's initializers, as they were before constant folding. A refitted
 * engine keeps its kernels and computes what an engine built from the model with the new weights
 * would compute. An engine from a plan that was stripped (config.strip_plan) must be refitted
 * before it can run; pgy_refitter_set_model takes all weights from an ONNX model.
 */
#ifndef POLYGRAPHY_REFIT_H
#define POLYGRAPHY_REFIT_H

#include <polygraphy/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_refitter pgy_refitter; /**< belongs to one thread */

/** Retains the engine. @return PGY_E_ARGUMENT if it was not built to be refitted */
PGY_API PGY_MUST_CHECK pgy_status pgy_refitter_create(pgy_refitter **out, pgy_engine *e,
                                                      pgy_error *err);
PGY_API void pgy_refitter_destroy(pgy_refitter *r); /**< NULL is fine */

/** Number of weights. pgy_refitter_weight_at gives name, type and shape, in the model's order. */
PGY_API size_t pgy_refitter_weight_count(const pgy_refitter *r);
PGY_API const pgy_tensor_info *pgy_refitter_weight_at(const pgy_refitter *r, size_t i);
/** True if weight i has no value: the plan was stripped, and no value was set. */
PGY_API bool pgy_refitter_is_missing(const pgy_refitter *r, size_t i);
PGY_API size_t pgy_refitter_missing_count(const pgy_refitter *r);
/** Gives the value that was set for a weight, else its present one; the caller releases it. @return
 * PGY_E_NOT_FOUND if the weight does not exist or has no value */
PGY_API PGY_MUST_CHECK pgy_status pgy_refitter_weights(pgy_tensor **out, pgy_refitter *r,
                                                       const char *name, pgy_error *err);

/** Sets a weight for the next refit; `t` is retained and must not change until then.
 *  @return PGY_E_NOT_FOUND, PGY_E_TYPE or PGY_E_SHAPE, naming the weight */
PGY_API PGY_MUST_CHECK pgy_status pgy_refitter_set_weights(pgy_refitter *r, const char *name,
                                                           pgy_tensor *t, pgy_error *err);
/** Sets all weights from the initializers of the same names in a model. @return PGY_E_NOT_FOUND if
 * the model lacks one; PGY_E_ARGUMENT if the model differs in more than its weights */
PGY_API PGY_MUST_CHECK pgy_status pgy_refitter_set_model(pgy_refitter *r, pgy_model *model,
                                                         pgy_error *err);
/** Refits the engine. Current runs finish with the old weights; contexts take the new ones from
 * their next run on. Weights stay set for later refits. On failure the engine is unchanged. @return
 * PGY_E_NOT_FOUND naming weights without a value */
PGY_API PGY_MUST_CHECK pgy_status pgy_refitter_refit(pgy_refitter *r, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
