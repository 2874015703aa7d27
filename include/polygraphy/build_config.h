/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a plan is to be built for: ranges of input shapes, limits and choices of the built-in
 * engine.
 *
 * Everything is borrowed: texts and arrays must live as long as whoever was given the struct. Zero
 * (with `size` set) is the default of every member.
 */
#ifndef POLYGRAPHY_BUILD_CONFIG_H
#define POLYGRAPHY_BUILD_CONFIG_H

#include <polygraphy/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The smallest, most usual and largest shape of one input. For an input whose elements are a shape
 * the three are elements instead. */
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

typedef struct pgy_build_config {
    size_t size; /**< sizeof(pgy_build_config) */
    const pgy_profile *profiles;
    size_t profile_count; /**< 0: shapes are not restricted */
    bool has_workspace_limit;
    uint64_t workspace_bytes;
    bool has_optimization_level;
    int64_t optimization_level; /**< 0 to 5 */
    const char *save_tactics;   /**< where to write which kernel does which node; NULL: nowhere */
    const char *load_tactics;   /**< such a file, to be obeyed; NULL: none */
    /* What was asked for, in TensorRT's names, for messages: */
    pgy_name_list flags; /**< FP16, SPARSE_WEIGHTS ... */
    pgy_name_list tactic_sources, preview_features, quantization_flags;
    const char *engine_capability;   /**< NULL: STANDARD */
    const char *profiling_verbosity; /**< NULL: DETAILED */
} pgy_build_config;

/** Settings of the backend "trt"; the option rows of the backend fill all but `config`. */
typedef struct pgy_trt_options {
    const char *optimization_profile; /**< a number; NULL: any profile that the shapes fit */
    const char *allocation_strategy;  /**< static, profile, runtime */
    const char *weight_streaming_budget;
    const char
        *save_engine; /**< where to write the plan, when the runner is activated; NULL: nowhere */
    const pgy_build_config *config; /**< NULL: defaults */
} pgy_trt_options;

#ifdef __cplusplus
}
#endif
#endif
