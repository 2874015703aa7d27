/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Engines: a model made ready to run, in memory or in a plan file.
 *
 *     pgy_engine *engine = NULL;
 *     if (pgy_engine_build(&engine, model, &config, &err)) ...
 *     if (pgy_engine_save(engine, "net.plan", &err)) ...            // then: run net.plan --trt
 *     pgy_engine_release(engine);
 *
 *     if (pgy_engine_open(&engine, "net.plan", &err)) ...           // a millisecond
 *
 * An engine does not change, so threads may share it; runtime.h runs it. A plan holds the kernels'
 * names, not their code. Opening one proves that it cannot leave its memory, whoever made it; what
 * it computes is not proven. docs/engine.md, "Plans made by an attacker", says what that rests on.
 */
#ifndef POLYGRAPHY_ENGINE_H
#define POLYGRAPHY_ENGINE_H

#include <polygraphy/build_config.h>
#include <polygraphy/onnx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Engines -------------------------------------------------------------------------------- */

typedef struct pgy_engine pgy_engine; /**< reference counted */

/** Builds for the usual shapes of every profile of the config; without profiles for the model's
 * shapes with 1 where they are not fixed, and any shapes may come.
 *  @param config copied; but what its calibration, monitor and timing_cache point to is used during
 *                this call only. NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_build(pgy_engine **out, pgy_model *model,
                                                   const pgy_build_config *config, pgy_error *err);
/** Maps a plan file. @return PGY_E_FORMAT: damaged, or no plan; PGY_E_UNSUPPORTED: of a newer
 * format, or for another processor */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_open(pgy_engine **out, const char *path,
                                                  pgy_error *err);
/** A plan in memory. `borrow`: the bytes stay where they are and outlive the engine and whatever
 * retains it; at addresses that are no multiple of 64 they are copied all the same. */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_load(pgy_engine **out, const void *data,
                                                  size_t size_bytes, bool borrow, pgy_error *err);
/** Writes a plan. The file appears whole or not at all. The same model, config and processor give
 * the same bytes if kernels are chosen by estimates, a replay, or a timing cache that has all
 * times; what is measured may come out another way the next time. */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_save(pgy_engine *e, const char *path, pgy_error *err);
/** The same bytes in memory, to be given to pgy_engine_free_bytes. */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_serialize(void **out, size_t *size_bytes,
                                                       pgy_engine *e, pgy_error *err);
PGY_API void pgy_engine_free_bytes(void *data); /**< NULL is fine */
PGY_API pgy_engine *pgy_engine_retain(pgy_engine *e);
PGY_API void pgy_engine_release(pgy_engine *e); /**< NULL is fine */

/* What these return is the engine's. */
PGY_API const char *pgy_engine_name(const pgy_engine *e); /**< of the model's graph */
/** In the model's order, as declared: dimensions that are not fixed are -1. */
PGY_API const pgy_metadata *pgy_engine_inputs(const pgy_engine *e);
PGY_API const pgy_metadata *pgy_engine_outputs(const pgy_engine *e);
/** What it was built for. Of a loaded plan: what the plan remembers, which is precision, limits and
 * what is said of plans. */
PGY_API const pgy_build_config *pgy_engine_config(const pgy_engine *e);
PGY_API bool pgy_engine_is_refittable(const pgy_engine *e);
/** Was it stripped of its weights and not been refitted yet? Then it cannot run. */
PGY_API bool pgy_engine_is_stripped(const pgy_engine *e);

PGY_API size_t pgy_engine_profile_count(const pgy_engine *e); /**< at least 1 */
typedef enum pgy_bound_kind {
    PGY_BOUND_NONE,    /**< the input is no tensor of known rank: anything goes */
    PGY_BOUND_ANY,     /**< nobody gave a range: the three are what was built for, others work */
    PGY_BOUND_SHAPE,   /**< the three are shapes */
    PGY_BOUND_ELEMENTS /**< the input is a shape itself: the three are its elements */
} pgy_bound_kind;
/** The range of input `i` in a profile, with the input's name. */
PGY_API pgy_bound_kind pgy_engine_range(pgy_profile_range *out, const pgy_engine *e, size_t profile,
                                        size_t i);
/** Memory that a context needs for what is computed, at the usual shapes of a profile; 0 if that is
 * not known before the data. */
PGY_API uint64_t pgy_engine_arena_bytes(const pgy_engine *e, size_t profile);

/* ---- Plan files ----------------------------------------------------------------------------- */

/** Builds a model and saves the plan, as pgy_engine_build and pgy_engine_save.
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
    const char *name;      /**< of the model's graph */
    const char *library;   /**< version that wrote the plan */
    const char *cpu;       /**< what processors need: "portable", "avx2" ... */
    const char *verbosity; /**< what it tells of layers: "DETAILED", "LAYER_NAMES_ONLY", "NONE" */
    uint64_t model_hash;   /**< XXH64 of the model's file; 0: it had none */
    uint64_t file_bytes;
    uint64_t constant_bytes; /**< weights in the kernels' own forms, of all profiles */
    bool refittable, stripped, version_compatible;
} pgy_plan_info;
/* What these return is the plan's. */
PGY_API const pgy_plan_info *pgy_plan_describe(const pgy_plan *p);
PGY_API const pgy_metadata *pgy_plan_inputs(const pgy_plan *p); /**< as the model declares them */
PGY_API const pgy_metadata *pgy_plan_outputs(const pgy_plan *p);

typedef struct pgy_plan_tensor {
    const char *name;
    pgy_dtype dtype;
    int32_t rank;
    const int64_t *shape;
    size_t block; /**< channels that lie side by side: 8 or 16; 1: row-major */
} pgy_plan_tensor;

/** A step. */
typedef struct pgy_plan_layer {
    const char *name;   /**< of the node; of several that became one, joined by " + " */
    const char *type;   /**< operator; "Reorder", "Copy"; "Record" and "Wait" of an event */
    const char *tactic; /**< kernel; NULL: the operator's reference definition */
    const pgy_plan_tensor *inputs, *outputs, *constants;
    size_t input_count, output_count, constant_count;
    uint64_t packed_bytes;      /**< of weights in the kernel's own form */
    const char *const *sources; /**< nodes of the model */
    size_t source_count;
    const char *device; /**< that does it; NULL: the host */
} pgy_plan_layer;

typedef struct pgy_plan_profile {
    bool is_built; /**< false: the graph's shapes depend on data; it is built when it runs, and
                      there are no layers */
    uint64_t arena_bytes; /**< memory for what is computed */
    uint64_t arena_bound; /**< no plan of this order of steps can do with less */
    const pgy_plan_layer *layers;
    size_t layer_count;
} pgy_plan_profile;
PGY_API size_t pgy_plan_profile_count(const pgy_plan *p);
PGY_API const pgy_plan_profile *pgy_plan_profile_at(const pgy_plan *p, size_t i);
/** The range of input `i` in a profile, as pgy_engine_range. */
PGY_API pgy_bound_kind pgy_plan_range(pgy_profile_range *out, const pgy_plan *p, size_t profile,
                                      size_t i);

/* ---- Inspection ----------------------------------------------------------------------------- */

typedef enum pgy_inspect_format {
    PGY_INSPECT_JSON,   /**< in the field names of TensorRT's engine inspector */
    PGY_INSPECT_ONELINE /**< a line for each layer */
} pgy_inspect_format;
/** What a plan tells of itself, as much as its verbosity allows. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plan_inspect(char **out, const pgy_plan *p,
                                                   pgy_inspect_format format, pgy_error *err);
/** The same of an engine. */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_inspect(char **out, pgy_engine *e,
                                                     pgy_inspect_format format, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
