/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a plan is to be built for: ranges of input shapes, limits and choices of the built-in
 * engine.
 *
 * What is given a configuration copies it with all its texts and arrays. Zero (with `size` set) is
 * the default of every member. build_config_fields.h has one line for each.
 */
#ifndef POLYGRAPHY_BUILD_CONFIG_H
#define POLYGRAPHY_BUILD_CONFIG_H

#include <polygraphy/build_config_fields.h>
#include <polygraphy/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The smallest, most usual and largest shape of one input. For an input whose elements are a shape
 * the three are elements instead. A negative entry stands for the model's dimension, or 1 where
 * that is not fixed. */
typedef struct pgy_profile_range {
    const char *name; /**< of an input; may be a wildcard */
    size_t count;     /**< entries of each of the three */
    const int64_t *min, *opt, *max;
} pgy_profile_range;

/** Ranges of inputs that are used together. Inputs that no entry names get the model's shape, with
 * 1 for dimensions that are not fixed. */
typedef struct pgy_profile {
    const pgy_profile_range *ranges;
    size_t range_count;
} pgy_profile;

typedef struct pgy_name_list {
    const char *const *items;
    size_t count;
    bool given;
} pgy_name_list;

/** The element type that a layer is to compute in or a tensor is to have. */
typedef struct pgy_type_choice {
    const char *name; /**< of a node or tensor; may be a wildcard */
    pgy_dtype dtype;
} pgy_type_choice;

/** The formats that an input or output may have, in TensorRT's names. */
typedef struct pgy_format_choice {
    const char *name;
    pgy_name_list formats;
} pgy_format_choice;

typedef enum pgy_constraints {
    PGY_CONSTRAINTS_NONE,   /**< types of layers are hints that speed may overrule */
    PGY_CONSTRAINTS_PREFER, /**< a type that a layer cannot have is told by a warning */
    PGY_CONSTRAINTS_OBEY    /**< a type that a layer cannot have is an error */
} pgy_constraints;

/** How ranges for int8 are found from what flows through the model. */
typedef enum pgy_calibrator {
    PGY_CALIBRATOR_ENTROPY_2, /**< least divergence; weights by channel */
    PGY_CALIBRATOR_ENTROPY,   /**< the same, zeros not counted */
    PGY_CALIBRATOR_MIN_MAX,
    PGY_CALIBRATOR_LEGACY,     /**< quantile, then a cutoff */
    PGY_CALIBRATOR_LEAST_ERROR /**< of the ranges of the others and many more, for each tensor the
                                  one with the least squared error */
} pgy_calibrator;

/** What calibration found of one tensor. Text is valid during the call that gets it. */
typedef struct pgy_calibrated_tensor {
    size_t size;                      /**< sizeof(pgy_calibrated_tensor) */
    const char *name;                 /**< of the tensor */
    const char *layer;                /**< that gives it; "" for an input of the model */
    double lowest, highest;           /**< that came */
    double held_lowest, held_highest; /**< that int8 holds; what is beyond is clipped */
    float scale;
    int32_t zero_point; /**< in int8; 0 unless asymmetric */
    double snr_db; /**< of the tensor in int8 against float32, from the histogram; +Inf: exact */
} pgy_calibrated_tensor;

typedef struct pgy_calibration {
    size_t size; /**< sizeof(pgy_calibration) */
    pgy_calibrator kind;
    const char *cache;        /**< read if it is there and not empty, else written; NULL: none */
    pgy_data_loader *data;    /**< what flows through; NULL: only a cache can tell the ranges */
    double quantile;          /**< of PGY_CALIBRATOR_LEGACY; 0: 0.5 */
    double regression_cutoff; /**< of PGY_CALIBRATOR_LEGACY; 0: 0.5 */
    bool data_is_random;      /**< nobody chose the data: worth a warning */
    bool asymmetric; /**< activations get zero points, so that int8 holds just what comes */
    /** Told of each tensor that is calibrated (not of those of a cache); NULL: none. */
    void (*report)(const pgy_calibrated_tensor *tensor, void *user);
    void *report_user;
} pgy_calibration;

/** For which processors a plan is made. */
typedef enum pgy_cpu_level {
    PGY_CPU_NATIVE,   /**< the one that builds */
    PGY_CPU_PORTABLE, /**< any of this architecture */
    PGY_CPU_AVX2,     /**< AVX2, FMA and F16C */
    PGY_CPU_AVX512    /**< AVX-512 F, BW, DQ and VL */
} pgy_cpu_level;

/** What TensorRT could build a plan for. There is one here; others have no effect. */
typedef enum pgy_engine_capability {
    PGY_CAPABILITY_STANDARD,
    PGY_CAPABILITY_SAFETY,
    PGY_CAPABILITY_DLA_STANDALONE
} pgy_engine_capability;

/** How much a plan tells about its layers. */
typedef enum pgy_profiling_verbosity {
    PGY_VERBOSITY_DETAILED,
    PGY_VERBOSITY_LAYER_NAMES_ONLY,
    PGY_VERBOSITY_NONE
} pgy_profiling_verbosity;

/** Hears of the progress of a build, phase within phase. `step` returns false to stop the build,
 * which then ends with PGY_E_CANCELLED. Any of the three may be NULL. */
typedef struct pgy_progress_monitor {
    size_t size; /**< sizeof(pgy_progress_monitor) */
    void *user;
    void (*start)(void *user, const char *phase, const char *parent, size_t step_count);
    bool (*step)(void *user, const char *phase, size_t step);
    void (*finish)(void *user, const char *phase);
} pgy_progress_monitor;

typedef struct pgy_timing_cache pgy_timing_cache; /* timing_cache.h */
typedef struct pgy_network pgy_network;           /* network.h */
struct pgy_build_config;

/** Changes what is to be built before anything else is done with it. Either may be NULL. A shared
 * object exports such functions as `postprocess_network` and `postprocess_config`. A failure ends
 * the build. */
typedef struct pgy_build_hook {
    pgy_status (*network)(pgy_network *network, pgy_error *err);
    /** Gets a copy of the configuration; what it puts there must outlive the engine. */
    pgy_status (*config)(struct pgy_build_config *config, pgy_network *network, pgy_error *err);
} pgy_build_hook;

typedef struct pgy_build_config {
    size_t size; /**< sizeof(pgy_build_config) */
    const pgy_profile *profiles;
    size_t profile_count; /**< 0: shapes are not restricted */
    size_t threads;       /**< that the plan is made for; 0: one for each processor */
    bool has_workspace_limit;
    uint64_t workspace_bytes; /**< kernels that need more memory while they run are left out */
    bool has_optimization_level;
    int64_t optimization_level; /**< 0 to 5; 3 if not given: how much is measured */
    const char *save_tactics;   /**< where to write which kernel does which node; NULL: nowhere */
    const char *load_tactics;   /**< such a file, to be obeyed; NULL: none */
    /* Measured times of kernels: */
    pgy_timing_cache *timing_cache; /**< used and added to; NULL: one for this build alone */
    const char *load_timing_cache;  /**< a file; NULL: none */
    const char *save_timing_cache;  /**< a file that the times are merged into; NULL: none */
    bool error_on_timing_cache_miss;
    /* Precision: what else than float32 layers may use. */
    bool fp16, bf16, int8, fp8;
    pgy_constraints constraints;
    const pgy_type_choice *layer_types; /**< what layers are to compute in */
    size_t layer_type_count;
    const pgy_type_choice *tensor_types; /**< of inputs and outputs */
    size_t tensor_type_count;
    const pgy_format_choice *tensor_formats;
    size_t tensor_format_count;
    const pgy_calibration *calibration; /**< for int8 in models without Q/DQ; NULL: none */
    const char
        *save_quantized; /**< where to write the model with the types it got; NULL: nowhere */
    /* Plans: */
    bool refittable;         /**< weights can be exchanged later */
    bool strip_plan;         /**< weights are left out, to be put back by refitting */
    bool version_compatible; /**< kernels of this version must be known to later ones */
    pgy_cpu_level cpu_level;
    pgy_name_list debug_tensors;         /**< that can be looked at while the plan runs */
    bool debug_unfused;                  /**< all tensors that no fusion has swallowed */
    const pgy_progress_monitor *monitor; /**< NULL: none */
    const pgy_build_hook *hooks;         /**< in order: all networks', then all configurations' */
    size_t hook_count;
    pgy_engine_capability engine_capability;
    pgy_profiling_verbosity profiling_verbosity;
    /* What TensorRT can be asked for, and what has no effect here but in the log: */
    bool tf32, sparse_weights, exclude_lean_runtime, disable_compilation_cache;
    bool safety_restricted, weight_streaming, direct_io;
    pgy_name_list tactic_sources, preview_features, quantization_flags; /**< TensorRT's names */
    /** Devices of the process that nodes may run on besides the host, by name ("cuda:0"); at most 3.
     * Plans need the same ones. */
    pgy_name_list devices;
} pgy_build_config;

/** One line of build_config_fields.h. */
typedef struct pgy_config_field {
    const char *name;   /**< of the member */
    const char *option; /**< of the program, "" if it has none */
    const char *help;   /**< one line */
} pgy_config_field;
/** All fields of pgy_build_config but `size` and numbers of entries. @return their number; *out is
 * static */
PGY_API size_t pgy_build_config_fields(const pgy_config_field **out);
/** The fields that differ from their defaults, as a JSON object. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_build_config_json(char **out, const pgy_build_config *config,
                                                        pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
