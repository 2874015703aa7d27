/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Configuration of a build: ranges of input shapes, limits, precision and other choices of the
 * built-in engine.
 *
 * Functions that take a configuration copy it with all its texts and arrays. Zero (with `size` set)
 * is the default of every member. build_config_fields.h has one line for each member.
 */
#ifndef POLYGRAPHY_BUILD_CONFIG_H
#define POLYGRAPHY_BUILD_CONFIG_H

#include <polygraphy/build_config_fields.h>
#include <polygraphy/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The smallest, the usual and the largest shape of one input. For an input whose elements are a
 * shape (as Reshape reads), they are its elements instead. A negative entry means the model's
 * dimension, or 1 if that is dynamic. */
typedef struct pgy_profile_range {
    const char *name; /**< name of an input; may be a wildcard */
    size_t count;     /**< number of entries in each of min, opt and max */
    const int64_t *min, *opt, *max;
} pgy_profile_range;

/** A profile: one range for each input. Inputs without an entry get the model's shape, with 1 for
 * dynamic dimensions. */
typedef struct pgy_profile {
    const pgy_profile_range *ranges;
    size_t range_count;
} pgy_profile;

typedef struct pgy_name_list {
    const char *const *items;
    size_t count;
    bool given;
} pgy_name_list;

/** A requested element type, in which a layer computes or a tensor is stored. */
typedef struct pgy_type_choice {
    const char *name; /**< name of a node or tensor; may be a wildcard */
    pgy_dtype dtype;
} pgy_type_choice;

/** The formats that an input or output may have, in TensorRT's names. */
typedef struct pgy_format_choice {
    const char *name;
    pgy_name_list formats;
} pgy_format_choice;

typedef enum pgy_constraints {
    PGY_CONSTRAINTS_NONE,   /**< types of layers are hints: the builder may choose a faster type */
    PGY_CONSTRAINTS_PREFER, /**< warn about a layer that cannot have its type */
    PGY_CONSTRAINTS_OBEY    /**< fail if a layer cannot have its type */
} pgy_constraints;

/** How calibration chooses the int8 range of a tensor from its values on sample data. */
typedef enum pgy_calibrator {
    PGY_CALIBRATOR_ENTROPY_2, /**< range of least divergence; weights get a scale per channel */
    PGY_CALIBRATOR_ENTROPY,   /**< like ENTROPY_2, but zeros are not counted */
    PGY_CALIBRATOR_MIN_MAX,
    PGY_CALIBRATOR_LEGACY,     /**< a quantile of the values, then regression_cutoff */
    PGY_CALIBRATOR_LEAST_ERROR /**< tries the ranges of the others and many more, and takes the one
                                  with the least squared error for each tensor */
} pgy_calibrator;

/** The result of calibration for one tensor. Texts are valid during the callback only. */
typedef struct pgy_calibrated_tensor {
    size_t size;            /**< sizeof(pgy_calibrated_tensor) */
    const char *name;       /**< of the tensor */
    const char *layer;      /**< layer that computes the tensor; "" for an input of the model */
    double lowest, highest; /**< extreme values in the samples */
    double held_lowest, held_highest; /**< int8 range; values beyond it are clipped */
    float scale;
    int32_t zero_point; /**< zero point in int8; 0 unless asymmetric */
    double snr_db; /**< signal-to-noise ratio of int8 against float32, from the histogram; +Inf:
                      exact */
} pgy_calibrated_tensor;

typedef struct pgy_calibration {
    size_t size; /**< sizeof(pgy_calibration) */
    pgy_calibrator kind;
    const char *cache; /**< a file: read if it exists and is not empty, else written; NULL: none */
    pgy_data_loader *data;    /**< samples to run the model on; NULL: use the cache only */
    double quantile;          /**< parameter of PGY_CALIBRATOR_LEGACY; 0 means 0.5 */
    double regression_cutoff; /**< parameter of PGY_CALIBRATOR_LEGACY; 0 means 0.5 */
    bool data_is_random;      /**< the samples are generated, not chosen: draws a warning */
    bool asymmetric; /**< activations get zero points, so that int8 covers exactly the range of
                        values that occurred */
    /** Called for each tensor that is calibrated, not for tensors from a cache; NULL: not called.
     */
    void (*report)(const pgy_calibrated_tensor *tensor, void *user);
    void *report_user;
} pgy_calibration;

/** The instructions that a plan may use, and so the processors that can run it. */
typedef enum pgy_cpu_level {
    PGY_CPU_NATIVE,   /**< those of the processor that builds the plan */
    PGY_CPU_PORTABLE, /**< those that all processors of this architecture have */
    PGY_CPU_AVX2,     /**< AVX2, FMA and F16C */
    PGY_CPU_AVX512    /**< AVX-512 F, BW, DQ and VL */
} pgy_cpu_level;

/** TensorRT's engine capabilities. This engine has only the first; the others have no effect. */
typedef enum pgy_engine_capability {
    PGY_CAPABILITY_STANDARD,
    PGY_CAPABILITY_SAFETY,
    PGY_CAPABILITY_DLA_STANDALONE
} pgy_engine_capability;

/** How much information about its layers a plan stores. */
typedef enum pgy_profiling_verbosity {
    PGY_VERBOSITY_DETAILED,
    PGY_VERBOSITY_LAYER_NAMES_ONLY,
    PGY_VERBOSITY_NONE
} pgy_profiling_verbosity;

/** How much of the weights stays in a device's memory while a plan runs; the others are copied to
 * it when they are needed. No effect so far: all weights stay. */
typedef enum pgy_weight_budget {
    PGY_WEIGHT_BUDGET_ALL,
    PGY_WEIGHT_BUDGET_AUTOMATIC, /**< as much as there is room for */
    PGY_WEIGHT_BUDGET_BYTES,     /**< pgy_build_config.weight_budget_bytes */
    PGY_WEIGHT_BUDGET_PERCENT    /**< pgy_build_config.weight_budget_percent */
} pgy_weight_budget;

/** Receives the progress of a build; phases may be nested. `step` returns false to stop the build,
 * which then ends with PGY_E_CANCELLED. Any of the three may be NULL. */
typedef struct pgy_progress_monitor {
    size_t size; /**< sizeof(pgy_progress_monitor) */
    void *user;
    void (*start)(void *user, const char *phase, const char *parent, size_t step_count);
    bool (*step)(void *user, const char *phase, size_t step);
    void (*finish)(void *user, const char *phase);
} pgy_progress_monitor;

/** A pass of the engine: a rewrite of the graph before kernels are chosen. */
typedef struct pgy_pass {
    const char *name, *summary;
    size_t occurrence; /**< a pass may run several times: 1 for the first time */
} pgy_pass;
/** Gives the pass that runs as number i, counted from 0. @return false if there are fewer */
PGY_API bool pgy_pass_at(pgy_pass *out, size_t i);

/** A change that a fusing pass made. Texts are valid during the callback only. */
typedef struct pgy_rewrite {
    size_t size;         /**< sizeof(pgy_rewrite) */
    size_t pass;         /**< for pgy_pass_at */
    size_t number;       /**< of the rewrite in this pass, counted from 1 */
    const char *made;    /**< operator of the node that it made; "" if it made none */
    const char *name;    /**< of that node; "" if it has none */
    const char *tensor;  /**< output of the node at which the pass found its pattern */
    const char *dropped; /**< labels of the nodes that it removed, joined by " + " */
} pgy_rewrite;

/** Receives every rewrite of the fusing passes while an engine is built. */
typedef struct pgy_rewrite_watch {
    size_t size; /**< sizeof(pgy_rewrite_watch) */
    pgy_status (*rewrote)(const pgy_rewrite *rewrite, void *user, pgy_error *err);
    void *user;
} pgy_rewrite_watch;

typedef struct pgy_timing_cache pgy_timing_cache; /* timing_cache.h */
typedef struct pgy_network pgy_network;           /* network.h */
struct pgy_build_config;

/** Functions that change the network and the configuration before the build begins. Either may be
 * NULL. A shared object exports them as `postprocess_network` and `postprocess_config`. If one
 * fails, so does the build. */
typedef struct pgy_build_hook {
    pgy_status (*network)(pgy_network *network, pgy_error *err);
    /** Receives a copy of the configuration. Whatever its new pointers refer to must outlive the
     * engine. */
    pgy_status (*config)(struct pgy_build_config *config, pgy_network *network, pgy_error *err);
} pgy_build_hook;

typedef struct pgy_build_config {
    size_t size; /**< sizeof(pgy_build_config) */
    const pgy_profile *profiles;
    size_t profile_count; /**< 0: shapes are not restricted */
    size_t threads;       /**< threads to build the plan for; 0: one for each processor */
    bool has_workspace_limit;
    uint64_t workspace_bytes; /**< kernels that need a larger workspace are not candidates */
    bool has_optimization_level;
    int64_t optimization_level; /**< 0 to 5, 3 if not given: how many candidates are measured */
    const char *save_tactics;   /**< file to write the tactic replay of the first profile to; NULL:
                                   none */
    const char *load_tactics;   /**< a tactic replay to follow; NULL: none */
    /* Measured times of kernels: */
    pgy_timing_cache *timing_cache; /**< cache to use and extend; NULL: one for this build only */
    const char *load_timing_cache;  /**< a file; NULL: none */
    const char *save_timing_cache;  /**< a file to merge the times into; NULL: none */
    bool error_on_timing_cache_miss;
    /* Precision: types that layers may use besides float32. */
    bool fp16, bf16, int8, fp8;
    pgy_constraints constraints;
    const pgy_type_choice *layer_types; /**< types to compute layers in */
    size_t layer_type_count;
    const pgy_type_choice *tensor_types; /**< types of inputs and outputs */
    size_t tensor_type_count;
    const pgy_format_choice *tensor_formats;
    size_t tensor_format_count;
    const pgy_calibration *calibration; /**< for int8 without Q/DQ; NULL: none */
    const char *save_quantized; /**< file to save the model to, with the element types that its
                                   layers got; NULL: none */
    /* Plans: */
    bool refittable;         /**< weights can be replaced later, by refitting */
    bool strip_plan;         /**< the plan has no weights; refitting puts them back */
    bool version_compatible; /**< the plan must run with later versions, which may lack some of its
                                kernels */
    pgy_cpu_level cpu_level;
    pgy_name_list debug_tensors; /**< tensors that a debug listener can receive */
    bool debug_unfused;          /**< make every tensor that exists after fusion a debug tensor */
    const pgy_progress_monitor *monitor; /**< NULL: none */
    const pgy_build_hook *hooks; /**< called in order: `network` of all, then `config` of all */
    size_t hook_count;
    pgy_engine_capability engine_capability;
    pgy_profiling_verbosity profiling_verbosity;
    /* TensorRT's options that have no effect here except a line in the log: */
    bool tf32, sparse_weights, exclude_lean_runtime, disable_compilation_cache;
    bool safety_restricted, weight_streaming, direct_io;
    pgy_name_list tactic_sources, preview_features, quantization_flags; /**< TensorRT's names */
    /** Names of the devices ("cuda:0", or "cuda" for the first GPU), at most 3, that nodes may run
     * on besides the host. A plan runs only in a process that has the same devices. */
    pgy_name_list devices;
    pgy_weight_budget weight_budget;
    uint64_t weight_budget_bytes;
    double weight_budget_percent; /**< 0 to 100 */
    bool devices_first; /**< a node runs on the host only if no device has a kernel for it; else the
                           expected times decide */
    bool gpu_fallback;  /**< build without a device that cannot be used, instead of failing */
    /** Passes to leave out, separated by commas. "-NAME" switches a pass off, "none" all.
     * "until=NAME" makes NAME the last pass that runs, "until=NAME:3" stops it after its third
     * rewrite; NAME#2 is its second run. NULL: the environment's POLYGRAPHY_PASSES. */
    const char *passes;
    const pgy_rewrite_watch *rewrite_watch; /**< NULL: none */
} pgy_build_config;

/** A field of pgy_build_config, as build_config_fields.h describes it. */
typedef struct pgy_config_field {
    const char *name;   /**< of the member */
    const char *option; /**< option of the command line, "" if the field has none */
    const char *help;   /**< one line */
} pgy_config_field;
/** Lists all fields of pgy_build_config except `size` and the numbers of entries. @return their
 * number; *out is static */
PGY_API size_t pgy_build_config_fields(const pgy_config_field **out);
/** Gives the fields that differ from their defaults as a JSON object. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_build_config_json(char **out, const pgy_build_config *config,
                                                        pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
