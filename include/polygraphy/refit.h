/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Refitting: an engine gets other weights without being built for other kernels.
 *
 *     pgy_refitter *r = NULL;
 *     if (pgy_refitter_create(&r, engine, &err)) ...           // built with config.refittable
 *     if (pgy_refitter_set_weights(r, "conv1.weight", tensor, &err)) ...
 *     if (pgy_refitter_refit(r, &err)) ...
 *     pgy_refitter_destroy(r);
 *
 * Weights go by the names of the model's initializers, as they were before anything was folded. The
 * engine then computes what one built from the model with these weights would compute, with the
 * kernels that it had. An engine from a plan that was stripped (config.strip_plan) must be refitted
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

/** All weights, in the model's order: name, type and shape. */
PGY_API size_t pgy_refitter_weight_count(const pgy_refitter *r);
PGY_API const pgy_tensor_info *pgy_refitter_weight_at(const pgy_refitter *r, size_t i);
/** Is there no value for weight i yet: it was stripped, and none was set? */
PGY_API bool pgy_refitter_is_missing(const pgy_refitter *r, size_t i);
PGY_API size_t pgy_refitter_missing_count(const pgy_refitter *r);
/** The value that weight `name` has, or that was set, to be released. @return PGY_E_NOT_FOUND if
 * there is no such weight or it is missing */
PGY_API PGY_MUST_CHECK pgy_status pgy_refitter_weights(pgy_tensor **out, pgy_refitter *r,
                                                       const char *name, pgy_error *err);

/** Sets a weight for the next refit; `t` is retained and must not change until then.
 *  @return PGY_E_NOT_FOUND, PGY_E_TYPE or PGY_E_SHAPE, naming the weight */
PGY_API PGY_MUST_CHECK pgy_status pgy_refitter_set_weights(pgy_refitter *r, const char *name,
                                                           pgy_tensor *t, pgy_error *err);
/** Sets all weights to those of the same names in a model. @return PGY_E_NOT_FOUND if the model has
 * not all of them, PGY_E_ARGUMENT if it is not the same model but for its weights */
PGY_API PGY_MUST_CHECK pgy_status pgy_refitter_set_model(pgy_refitter *r, pgy_model *model,
                                                         pgy_error *err);
/** Does it. Runs that are going on end with the old weights; contexts use the new ones from their
 * next run on. What was set stays set. On failure the engine is as it was.
 *  @return PGY_E_NOT_FOUND naming weights that are missing */
PGY_API PGY_MUST_CHECK pgy_status pgy_refitter_refit(pgy_refitter *r, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
