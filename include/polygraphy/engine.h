/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Plans of the built-in engine: a model made ready to run, in a file.
 *
 *     if (pgy_plan_build("net.plan", model, NULL, &err)) ...       // then: run net.plan --trt
 *
 *     pgy_plan *plan = NULL;
 *     if (pgy_plan_open(&plan, "net.plan", &err)) ...
 *     printf("%zu steps\n", pgy_plan_layer_count(plan));
 *     pgy_plan_close(plan);
 *
 * A plan is run by the backend "trt" (runner.h), which takes its path like that of a model. It holds
 * the kernels' names, not their code; damage is found by checksums. It is not made to be proof
 * against forgery: run plans of people you trust.
 */
#ifndef POLYGRAPHY_ENGINE_H
#define POLYGRAPHY_ENGINE_H

#include <polygraphy/build_config.h>
#include <polygraphy/onnx.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Builds a model and saves the plan. The file appears whole or not at all; the same model, shapes
 * and processor give the same bytes.
 *  @param config  the shapes are the usual ones of its first profile; dimensions that are not fixed
 *                 are 1, with a warning. May be NULL */
PGY_API PGY_MUST_CHECK pgy_status pgy_plan_build(const char *path, pgy_model *model,
                                                 const pgy_build_config *config, pgy_error *err);

/** Does the file begin like a plan? */
PGY_API bool pgy_plan_is_plan(const char *path);

/** A plan to be looked at; it need not be one that this processor can run. */
typedef struct pgy_plan pgy_plan;
/** Everything is checked, the checksums of weights too. @return PGY_E_FORMAT: damaged, or no plan;
 * PGY_E_UNSUPPORTED: of a newer format */
PGY_API PGY_MUST_CHECK pgy_status pgy_plan_open(pgy_plan **out, const char *path, pgy_error *err);
PGY_API void pgy_plan_close(pgy_plan *p); /**< NULL is fine */

typedef struct pgy_plan_info {
    const char *name;    /**< of the model's graph */
    const char *library; /**< version that wrote the plan */
    const char *cpu;     /**< what processors need: "portable", "avx2" ... */
    uint64_t model_hash; /**< XXH64 of the model's file; 0: it had none */
    uint64_t file_bytes;
    uint64_t arena_bytes;    /**< memory for what is computed */
    uint64_t arena_bound;    /**< no plan of this order of steps can do with less */
    uint64_t constant_bytes; /**< weights, in the kernels' own forms */
    bool is_built; /**< false: the graph's shapes depend on data; it is built when it runs, there
                      are no layers and no profile */
} pgy_plan_info;
/* What these return is the plan's. */
PGY_API const pgy_plan_info *pgy_plan_describe(const pgy_plan *p);
PGY_API const pgy_metadata *pgy_plan_inputs(const pgy_plan *p); /**< as the model declares them */
PGY_API const pgy_metadata *pgy_plan_outputs(const pgy_plan *p);
/** The shapes of inputs that the plan was built for; others work too, but are built when they come.
 * NULL if it is not built. */
PGY_API const pgy_metadata *pgy_plan_shapes(const pgy_plan *p);

typedef struct pgy_plan_tensor {
    const char *name;
    pgy_dtype dtype;
    int32_t rank;
    const int64_t *shape;
    size_t block; /**< channels that lie side by side: 8 or 16; 1: row-major */
} pgy_plan_tensor;

/** A step. Weights are not among its inputs. */
typedef struct pgy_plan_layer {
    const char *name;   /**< of the node */
    const char *type;   /**< operator; "Reorder", "Copy" */
    const char *tactic; /**< kernel; NULL: the operator's reference definition */
    const pgy_plan_tensor *inputs, *outputs;
    size_t input_count, output_count;
} pgy_plan_layer;
PGY_API size_t pgy_plan_layer_count(const pgy_plan *p);
PGY_API const pgy_plan_layer *pgy_plan_layer_at(const pgy_plan *p, size_t i);

#ifdef __cplusplus
}
#endif
#endif
