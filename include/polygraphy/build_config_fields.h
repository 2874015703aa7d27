/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The fields of pgy_build_config, one line each. These lines generate the copy, the plan storage,
 * the JSON, the log, and the program's options and error texts.
 *
 *     X(kind, member, detail, place, option, help)
 *
 * detail: a flag's name in the log, the names of an enumeration, or the member that holds the
 * number of entries; else NONE. place: STORED fields go into plans, LOCAL ones count during the
 * build only. option: the field's option on the command line, or "". Each FLAG becomes an option by
 * its line alone; the other kinds need rows of their own in the program.
 */
#ifndef POLYGRAPHY_BUILD_CONFIG_FIELDS_H
#define POLYGRAPHY_BUILD_CONFIG_FIELDS_H

#include <polygraphy/base.h>

#define PGY_BUILD_CONFIG_PRECISION(X)                                                             \
    X(FLAG, fp16, "FP16", STORED, "--fp16",                                                       \
      "store weights and what flows between layers in float16, where that is safe")               \
    X(FLAG, int8, "INT8", STORED, "--int8",                                                       \
      "compute convolutions and products in int8: where the model has Q/DQ, else by calibration " \
      "on the data of the data loader options")                                                   \
    X(FLAG, bf16, "BF16", STORED, "--bf16",                                                       \
      "as --fp16, in bfloat16; with --fp16 where float16's range is not enough")                  \
    X(FLAG, fp8, "FP8", STORED, "--fp8",                                                          \
      "permit models with Q/DQ in float8; others do not change")                                  \
    X(FLAG, tf32, "TF32", LOCAL, "--tf32", "permit TF32; no effect on a CPU")                     \
    X(ENUM, constraints, CONSTRAINTS, STORED, "--precision-constraints",                          \
      "what to do about a layer that cannot have the type it was given")                          \
    X(TYPES, layer_types, layer_type_count, STORED, "--layer-precisions",                         \
      "types to compute layers in")                                                               \
    X(TYPES, tensor_types, tensor_type_count, STORED, "--tensor-dtypes",                          \
      "types of inputs and outputs")                                                              \
    X(FORMATS, tensor_formats, tensor_format_count, LOCAL, "--tensor-formats",                    \
      "memory formats of inputs and outputs")                                                     \
    X(CALIBRATION, calibration, NONE, LOCAL, "--calibration-cache",                               \
      "how ranges for int8 are found")                                                            \
    X(TEXT, save_quantized, NONE, LOCAL, "--save-quantized",                                      \
      "where to save the model with the types that its layers got")

#define PGY_BUILD_CONFIG_CHOICE(X)                                                                 \
    X(FLAG, sparse_weights, "SPARSE_WEIGHTS", LOCAL, "--sparse-weights",                           \
      "permit kernels for sparse weights; there are none so far")                                  \
    X(NUMBER, optimization_level, NONE, LOCAL, "--builder-optimization-level",                     \
      "0 to 5: which kernels are measured where there is a choice")                                \
    X(BOOL, has_optimization_level, NULL, LOCAL, "", "optimization_level is given; else it is 3")  \
    X(TEXT, save_tactics, NONE, LOCAL, "--save-tactics",                                           \
      "where to write which kernel does which node")                                               \
    X(TEXT, load_tactics, NONE, LOCAL, "--load-tactics", "a tactic replay whose kernels are used") \
    X(OBJECT, timing_cache, NONE, LOCAL, "", "measured times, used and added to")                  \
    X(TEXT, load_timing_cache, NONE, LOCAL, "--load-timing-cache", "a file of measured times")     \
    X(TEXT, save_timing_cache, NONE, LOCAL, "--save-timing-cache",                                 \
      "a file that measured times are added to")                                                   \
    X(NAMES, tactic_sources, NONE, LOCAL, "--tactic-sources",                                      \
      "libraries to take kernels from; no effect: they are all built in")                          \
    X(NAMES, preview_features, NONE, LOCAL, "--preview-features",                                  \
      "features of TensorRT; no effect")                                                           \
    X(NAMES, quantization_flags, NONE, LOCAL, "--quantization-flags",                              \
      "how to quantize; no effect so far")

#define PGY_BUILD_CONFIG_DEVICE(X)                                                            \
    X(PROFILES, profiles, profile_count, LOCAL, "--trt-min-shapes", "ranges of input shapes") \
    X(NUMBER, threads, NONE, STORED, "",                                                      \
      "threads that the plan is made for; 0: one for each processor")                         \
    X(NUMBER, workspace_bytes, NONE, STORED, "--pool-limit",                                  \
      "most memory that a kernel may take beside its tensors")                                \
    X(BOOL, has_workspace_limit, NULL, STORED, "",                                            \
      "workspace_bytes is given; else there is no limit")                                     \
    X(FLAG, version_compatible, "VERSION_COMPATIBLE", LOCAL, "--version-compatible",          \
      "keep what is needed to build a plan anew where a later version lacks its kernels")     \
    X(FLAG, exclude_lean_runtime, "EXCLUDE_LEAN_RUNTIME", LOCAL, "--exclude-lean-runtime",    \
      "no effect: plans hold no code")                                                        \
    X(FLAG, error_on_timing_cache_miss, "ERROR_ON_TIMING_CACHE_MISS", LOCAL,                  \
      "--error-on-timing-cache-miss",                                                         \
      "measure nothing: a time that the cache has not is an error")                           \
    X(FLAG, disable_compilation_cache, "DISABLE_COMPILATION_CACHE", LOCAL,                    \
      "--disable-compilation-cache", "no effect: nothing is compiled")                        \
    X(FLAG, safety_restricted, "SAFETY_SCOPE", LOCAL, "--trt-safety-restricted",              \
      "no effect on a CPU")                                                                   \
    X(FLAG, refittable, "REFIT", LOCAL, "--refittable",                                       \
      "keep the model in the plan, so that its weights can be exchanged later")               \
    X(FLAG, strip_plan, "STRIP_PLAN", LOCAL, "--strip-plan",                                  \
      "leave weights out; 'convert PLAN --refit-from MODEL -o NEW' puts them in again")       \
    X(FLAG, weight_streaming, "WEIGHT_STREAMING", LOCAL, "--weight-streaming",                \
      "no effect: weights are read from where they lie")                                      \
    X(FLAG, direct_io, "DIRECT_IO", LOCAL, "--direct-io",                                     \
      "inputs and outputs are used where they lie anyway")                                    \
    X(ENUM, cpu_level, CPU_LEVELS, STORED, "--hardware-compatibility-level",                  \
      "for which processors the plan is made")                                                \
    X(ENUM, engine_capability, CAPABILITIES, STORED, "--engine-capability",                   \
      "no effect beyond STANDARD")                                                            \
    X(ENUM, profiling_verbosity, VERBOSITIES, STORED, "--profiling-verbosity",                \
      "how much plans tell about layers")                                                     \
    X(NAMES, devices, NONE, STORED, "", "devices that nodes may run on besides the host")     \
    X(NAMES, debug_tensors, NONE, STORED, "--mark-debug",                                     \
      "tensors to look at while the plan runs")                                               \
    X(BOOL, debug_unfused, NULL, STORED, "--mark-unfused-tensors-as-debug-tensors",           \
      "all tensors that are left after fusing can be looked at")                              \
    X(MONITOR, monitor, NONE, LOCAL, "", "hears of the progress of the build")                \
    X(HOOKS, hooks, hook_count, LOCAL, "--trt-network-postprocess-script",                    \
      "functions that change network and configuration")

#define PGY_BUILD_CONFIG_FIELDS(X) \
    PGY_BUILD_CONFIG_PRECISION(X)  \
    PGY_BUILD_CONFIG_CHOICE(X)     \
    PGY_BUILD_CONFIG_DEVICE(X)

#endif
