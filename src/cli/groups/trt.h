/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `--trt`: one group for the configuration, one for the network, one for plans and
 * caches. trt_config_make logs the effect of options in the built-in engine when that engine is
 * used. */
#ifndef CLI_GROUPS_TRT_H
#define CLI_GROUPS_TRT_H

#include <polygraphy/engine_runner.h>
#include <polygraphy/graph.h>
#include <polygraphy/loader.h>

#include "cli/command.h"

/* ---- Configuration: trt_config.c ------------------------------------------------------------ */

typedef struct trt_config_args {
    pgy_text_list min_words, opt_words, max_words; /* words of all uses of each option */
    const char *precision_constraints;
    const char *default_constraints; /* if the line does not say; NULL: none */
    const char *calibration_cache, *calibration_class, *quantization, *quantile, *regression_cutoff;
    const char *save_quantized;
    const char *load_timing_cache, *old_timing_cache;
    const char *save_tactics, *load_tactics, *old_tactics;
    pgy_text_list tactic_sources;
    const char *config_postprocess;
    bool use_dla;
    const char *device; /* names, separated by commas */
    pgy_text_list pool_words;
    const char *old_workspace;
    pgy_text_list preview_features, quantization_flags, quantization_words;
    int64_t optimization_level, max_aux_streams; /* -1: not given */
    const char *hardware_level, *profiling_verbosity, *runtime_platform, *tiling_level;
    const char *engine_capability;
    bool strict_types, no_strict_types, explicit_precision;
    bool use_gpu;
    pgy_text_list compute_capabilities;
    pgy_build_config config; /* flags are parsed into it; `finish` fills the rest from the words */
    bool other_pools;        /* --pool-limit names memory pools that a CPU does not have */
    struct trt_calibration *calibration; /* NULL: none */
    bool inputs_vary; /* set by commands whose runs have other sizes than --input-shapes */
} trt_config_args;
extern const option_group GROUP_TRT_CONFIG;         /* of run */
extern const option_group GROUP_TRT_CONFIG_CONVERT; /* with the options that only convert has */
extern const option_group GROUP_TRT_CONFIG_OBEY;    /* --precision-constraints is obey by default */

/* ---- The network: trt_network.c ------------------------------------------------------------- */

typedef struct trt_network_args {
    pgy_text_list onnx_flags;
    bool plugin_instancenorm, uint8_dla;
    pgy_text_list outputs, exclude, by_type;
    bool mark_all; /* outputs is "mark all" or "*" */
    pgy_text_list layer_precisions, tensor_dtypes, tensor_formats, all_formats;
    const char *all_dtypes;
    bool decomposable_attentions, strongly_typed;
    pgy_text_list postprocess, mark_debug;
    bool mark_unfused;
} trt_network_args;
extern const option_group GROUP_TRT_NETWORK;

/* ---- Plans and caches: trt_engine.c --------------------------------------------------------- */

typedef struct trt_engine_args {
    const char *save_timing_cache, *load_runtime, *dla_strategy, *weight_budget;
    pgy_weight_budget budget; /* weight_budget, parsed: kind, and bytes or percent */
    uint64_t budget_bytes;
    double budget_percent;
} trt_engine_args;
extern const option_group GROUP_TRT_ENGINE;         /* of run */
extern const option_group GROUP_TRT_ENGINE_CONVERT; /* caches only */

/* ---- For commands --------------------------------------------------------------------------- */

/* Makes the configuration, which lives as long as the line. Logs the effect of the line's options
 * in the built-in engine, and refuses unsupported ones. Call it when the engine is used. */
pgy_status trt_config_make(const pgy_build_config **out, args *line, pgy_error *err) PGY_MUST_CHECK;
/* The same without the functions of shared objects, which stay closed: for scripts. */
pgy_status trt_config_fill(const pgy_build_config **out, args *line, pgy_error *err) PGY_MUST_CHECK;
/* Releases the resources of a configuration, which must not be used afterwards. */
void trt_config_release(args *line);
/* Does the engine need a changed model in place of the file: other outputs or any other change? */
bool trt_model_is_edited(const args *line);
/* The loader of the engine's model: with all ONNX options except --onnx-outputs, and with
 * --trt-outputs. `save` includes --save-onnx. */
pgy_status trt_model_loader(pgy_loader **out, const args *line, bool save,
                            pgy_error *err) PGY_MUST_CHECK;

/* The outputs that --trt-outputs and the like select, if trt_selects_outputs; `operators` keeps
 * their texts. */
bool trt_selects_outputs(const trt_network_args *s);
pgy_status trt_outputs(pgy_output_selection *out, strvec *operators, const args *line,
                       pgy_error *err) PGY_MUST_CHECK;

/* ---- Parts ---------------------------------------------------------------------------------- */

/* trt_profiles.c: makes the profiles. `first`: shapes from --input-shapes, or NULL. */
pgy_status trt_profiles_resolve(const pgy_profile **out, size_t *count, const trt_config_args *s,
                                const pgy_metadata *first, args *line,
                                pgy_error *err) PGY_MUST_CHECK;

/* trt_precision.c: types, formats, calibration. */
pgy_status trt_precision_fill(trt_config_args *s, args *line, pgy_error *err) PGY_MUST_CHECK;

/* trt_hooks.c: loads functions of shared objects that change network and configuration. */
typedef struct trt_hook {
    const char *option, *path, *function;
} trt_hook;
/* The functions that the options name, those of networks first. */
pgy_status trt_hooks_parse(const trt_hook **out, size_t *network_count, size_t *count,
                           const trt_config_args *s, const trt_network_args *n, arena *a,
                           pgy_error *err) PGY_MUST_CHECK;
pgy_status trt_hooks_load(pgy_build_config *c, const trt_config_args *s, const trt_network_args *n,
                          arena *a, pgy_error *err) PGY_MUST_CHECK;

/* trt_notes.c: logs a warning for each given option that has no effect. */
void trt_notes(const args *line);

/* trt_names.c: names of TensorRT's enumerators, accepted in upper or lower case. */
typedef struct trt_names {
    const char *option;
    const char *const *names; /* NULL-ended */
} trt_names;
/* The name as TensorRT writes it; the error lists the valid ones. */
pgy_status trt_name(const char **out, const char *text, const trt_names *set,
                    pgy_error *err) PGY_MUST_CHECK;
pgy_status trt_name_list(pgy_name_list *out, const pgy_text_list *words, const trt_names *set,
                         arena *a, pgy_error *err) PGY_MUST_CHECK;
extern const trt_names TRT_TACTIC_SOURCES, TRT_POOLS, TRT_PREVIEW_FEATURES, TRT_QUANTIZATION_FLAGS,
    TRT_VERBOSITIES, TRT_HARDWARE_LEVELS, TRT_PLATFORMS, TRT_CAPABILITIES, TRT_TILING_LEVELS,
    TRT_ONNX_FLAGS, TRT_DLA_STRATEGIES, TRT_CALIBRATORS;
extern const char *const TRT_FORMATS[], *const TRT_DTYPES[];

/* trt_layers.c: the operators in a model file that the words of --trt-outputs-by-type select. */
pgy_status trt_layer_operators(strvec *out, const pgy_text_list *words, const char *path,
                               pgy_error *err) PGY_MUST_CHECK;

#endif
