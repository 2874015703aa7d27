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
 * Threads may share an engine; runtime.h runs it. A plan holds the names of kernels, not their
 * code. Opening a plan from anyone proves that it accesses no memory but its own; what it computes
 * is not proven. docs/engine.md, "Plans made by an attacker", explains the proof.
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

/** Builds an engine for the usual shapes of every profile of the config. Without profiles it builds
 * for the model's shapes, with 1 for dynamic dimensions, and the engine accepts all shapes.
 * @param config copied, except what calibration, monitor and timing_cache point to, which is used
 * during this call only. NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_build(pgy_engine **out, pgy_model *model,
                                                   const pgy_build_config *config, pgy_error *err);
/** Maps a plan file. @return PGY_E_FORMAT: damaged, or not a plan; PGY_E_UNSUPPORTED: a newer
 * format, or made for another processor */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_open(pgy_engine **out, const char *path,
                                                  pgy_error *err);
/** Opens a plan in memory. `borrow`: use the bytes in place; the caller keeps them as long as any
 * reference to the engine exists. Bytes whose address is not a multiple of 64 are copied even then.
 */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_load(pgy_engine **out, const void *data,
                                                  size_t size_bytes, bool borrow, pgy_error *err);
/** Writes a plan. The file appears whole or not at all. The same model, config and processor give
 * the same bytes if kernels are chosen by estimates, a replay, or a complete timing cache. Measured
 * choices may differ from build to build. */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_save(pgy_engine *e, const char *path, pgy_error *err);
/** Gives a plan's bytes in memory. Free with pgy_engine_free_bytes. */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_serialize(void **out, size_t *size_bytes,
                                                       pgy_engine *e, pgy_error *err);
PGY_API void pgy_engine_free_bytes(void *data); /**< NULL is fine */
PGY_API pgy_engine *pgy_engine_retain(pgy_engine *e);
PGY_API void pgy_engine_release(pgy_engine *e); /**< NULL is fine */

/* The engine owns what these functions return. */
PGY_API const char *pgy_engine_name(const pgy_engine *e); /**< name of the model's graph */
/** In the model's order, as declared: dynamic dimensions are -1. */
PGY_API const pgy_metadata *pgy_engine_inputs(const pgy_engine *e);
PGY_API const pgy_metadata *pgy_engine_outputs(const pgy_engine *e);
/** The configuration that it was built with. Of a loaded plan: only the fields that plans store
 * (STORED in build_config_fields.h, and the flags of plans). */
PGY_API const pgy_build_config *pgy_engine_config(const pgy_engine *e);
PGY_API bool pgy_engine_is_refittable(const pgy_engine *e);
/** True if its weights were stripped and not put back by refitting yet. Then it cannot run. */
PGY_API bool pgy_engine_is_stripped(const pgy_engine *e);

PGY_API size_t pgy_engine_profile_count(const pgy_engine *e); /**< at least 1 */
typedef enum pgy_bound_kind {
    PGY_BOUND_NONE,  /**< the input is not a tensor of known rank: no bound */
    PGY_BOUND_ANY,   /**< no range was given: the three are the shape it was built for; other shapes
                        work, too */
    PGY_BOUND_SHAPE, /**< the three are shapes */
    PGY_BOUND_ELEMENTS /**< the elements of the input are a shape: the three are such elements */
} pgy_bound_kind;
/** The range of input `i` in a profile, with the input's name. */
PGY_API pgy_bound_kind pgy_engine_range(pgy_profile_range *out, const pgy_engine *e, size_t profile,
                                        size_t i);
/** Bytes of intermediate tensors in a context, at the usual shapes of a profile; 0 if they depend
 * on data. */
PGY_API uint64_t pgy_engine_arena_bytes(const pgy_engine *e, size_t profile);

/* ---- Plan files ----------------------------------------------------------------------------- */

/** Builds a model and saves the plan, like pgy_engine_build and pgy_engine_save.
 * @param config  dynamic dimensions without a range are 1, with a warning. May be NULL */
PGY_API PGY_MUST_CHECK pgy_status pgy_plan_build(const char *path, pgy_model *model,
                                                 const pgy_build_config *config, pgy_error *err);

/** Does the file begin like a plan? */
PGY_API bool pgy_plan_is_plan(const char *path);

/** A plan opened for inspection; it may be one that this processor cannot run. */
typedef struct pgy_plan pgy_plan;
/** Opens a plan and checks all of it, with the checksums of weights. @return PGY_E_FORMAT: damaged,
 * or not a plan; PGY_E_UNSUPPORTED: a newer format */
PGY_API PGY_MUST_CHECK pgy_status pgy_plan_open(pgy_plan **out, const char *path, pgy_error *err);
PGY_API void pgy_plan_close(pgy_plan *p); /**< NULL is fine */

typedef struct pgy_plan_info {
    const char *name;      /**< name of the model's graph */
    const char *library;   /**< version that wrote the plan */
    const char *cpu;       /**< instruction set that it needs: "portable", "avx2" ... */
    const char *verbosity; /**< information about layers: "DETAILED", "LAYER_NAMES_ONLY", "NONE" */
    uint64_t model_hash;   /**< XXH64 of the model's file; 0: the model had no file */
    uint64_t file_bytes;
    uint64_t constant_bytes; /**< weights in the kernels' own layouts, for all profiles */
    bool refittable, stripped, version_compatible;
} pgy_plan_info;
/* The plan owns what these functions return. */
PGY_API const pgy_plan_info *pgy_plan_describe(const pgy_plan *p);
PGY_API const pgy_metadata *pgy_plan_inputs(const pgy_plan *p); /**< inputs as declared */
PGY_API const pgy_metadata *pgy_plan_outputs(const pgy_plan *p);

typedef struct pgy_plan_tensor {
    const char *name;
    pgy_dtype dtype;
    int32_t rank;
    const int64_t *shape;
    size_t block; /**< channels per block of a blocked layout: 8 or 16; 1: row-major; 0: channels
                       last */
} pgy_plan_tensor;

/** A step of a plan. */
typedef struct pgy_plan_layer {
    const char *name;   /**< name of the node; the names of fused nodes are joined by " + " */
    const char *type;   /**< operator; "Reorder", "Copy"; "Record" and "Wait" of an event */
    const char *tactic; /**< kernel; NULL: the operator's reference definition */
    const pgy_plan_tensor *inputs, *outputs, *constants;
    size_t input_count, output_count, constant_count;
    uint64_t packed_bytes;      /**< bytes of weights in the kernel's own layout */
    const char *const *sources; /**< nodes of the model */
    size_t source_count;
    const char *device; /**< device that runs the step; NULL: the host */
} pgy_plan_layer;

/** Memory on the host or on a device. */
typedef struct pgy_plan_space {
    const char *device;      /**< "cuda:0"; NULL: the host */
    uint64_t arena_bytes;    /**< for intermediate tensors and workspaces */
    uint64_t constant_bytes; /**< copies of constants; of the host: those that steps there read */
} pgy_plan_space;

typedef struct pgy_plan_profile {
    bool is_built; /**< false: shapes depend on data, so programs are built at run time, and there
                      are no layers */
    uint64_t arena_bytes; /**< memory for intermediate tensors, on the host and on all devices */
    uint64_t arena_bound; /**< lower bound of arena_bytes for this order of steps */
    const pgy_plan_layer *layers;
    size_t layer_count;
    const pgy_plan_space *spaces; /**< the host first; there are others if devices run layers */
    size_t space_count;
} pgy_plan_profile;
PGY_API size_t pgy_plan_profile_count(const pgy_plan *p);
PGY_API const pgy_plan_profile *pgy_plan_profile_at(const pgy_plan *p, size_t i);
/** The range of input `i` in a profile, as pgy_engine_range. */
PGY_API pgy_bound_kind pgy_plan_range(pgy_profile_range *out, const pgy_plan *p, size_t profile,
                                      size_t i);

/* ---- Inspection ----------------------------------------------------------------------------- */

typedef enum pgy_inspect_format {
    PGY_INSPECT_JSON,   /**< JSON with the field names of TensorRT's engine inspector */
    PGY_INSPECT_ONELINE /**< a line for each layer */
} pgy_inspect_format;
/** Describes a plan, as far as its stored verbosity permits. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plan_inspect(char **out, const pgy_plan *p,
                                                   pgy_inspect_format format, pgy_error *err);
/** Describes an engine in the same way. */
PGY_API PGY_MUST_CHECK pgy_status pgy_engine_inspect(char **out, pgy_engine *e,
                                                     pgy_inspect_format format, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
