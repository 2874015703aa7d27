/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The fields of pgy_build_config, one line each. These lines generate the copy, the plan storage,
 * the JSON, the log, and the program's options and error texts.
 *
 *     X(kind, member, detail, place, option, help)
 *
 * detail: of a flag its name in the log, of an enumeration the names of its values, of an array the
 * member with the number of entries; else NONE. place: STORED fields go into plans, LOCAL ones
 * count during the build only. option: the field's option on the command line, or "". Each FLAG
 * becomes an option by its line alone; the other kinds need rows of their own in the program.
 */
#ifndef POLYGRAPHY_BUILD_CONFIG_FIELDS_H
#define POLYGRAPHY_BUILD_CONFIG_FIELDS_H

#include <polygraphy/base.h>

#define PGY_BUILD_CONFIG_PRECISION(X)                                                              \
    X(FLAG, fp16, "FP16", STORED, "--fp16",                                                        \
      "store weights and activations in float16 where that is safe")                               \
    X(FLAG, int8, "INT8", STORED, "--int8",                                                        \
      "compute convolutions and matrix products in int8: where the model has Q/DQ, or else with "  \
      "ranges from calibration, for which the data loader options give the data")                  \
    X(FLAG, bf16, "BF16", STORED, "--bf16",                                                        \
      "store weights and activations in bfloat16 where that is safe; with --fp16, only where the " \
      "range of float16 is too small")                                                             \
    X(FLAG, fp8, "FP8", STORED, "--fp8",                                                           \
      "permit float8 in models that have Q/DQ in float8; no effect on other models")               \
    X(FLAG, tf32, "TF32", LOCAL, "--tf32", "permit TF32; no effect on a CPU")                      \
    X(ENUM, constraints, CONSTRAINTS, STORED, "--precision-constraints",                           \
      "what the builder does if a layer cannot have its requested type")                           \
    X(TYPES, layer_types, layer_type_count, STORED, "--layer-precisions",                          \
      "types to compute layers in")                                                                \
    X(TYPES, tensor_types, tensor_type_count, STORED, "--tensor-dtypes",                           \
      "types of inputs and outputs")                                                               \
    X(FORMATS, tensor_formats, tensor_format_count, LOCAL, "--tensor-formats",                     \
      "memory formats of inputs and outputs")                                                      \
    X(CALIBRATION, calibration, NONE, LOCAL, "--calibration-cache",                                \
      "how ranges for int8 are found")                                                             \
    X(TEXT, save_quantized, NONE, LOCAL, "--save-quantized",                                       \
      "file for an ONNX model that has the types which the builder chose for the layers")

#define PGY_BUILD_CONFIG_CHOICE(X)                                                                \
    X(FLAG, sparse_weights, "SPARSE_WEIGHTS", LOCAL, "--sparse-weights",                          \
      "permit kernels for sparse weights; no effect: the engine has none yet")                    \
    X(NUMBER, optimization_level, NONE, LOCAL, "--builder-optimization-level",                    \
      "0 to 5: which candidate kernels the builder measures")                                     \
    X(BOOL, has_optimization_level, NULL, LOCAL, "", "optimization_level is given; else it is 3") \
    X(TEXT, save_tactics, NONE, LOCAL, "--save-tactics",                                          \
      "file for a tactic replay: the kernel of each node")                                        \
    X(TEXT, load_tactics, NONE, LOCAL, "--load-tactics",                                          \
      "a tactic replay: the builder uses its kernels")                                            \
    X(OBJECT, timing_cache, NONE, LOCAL, "",                                                      \
      "measured times of kernels; the builder reads them and adds new ones")                      \
    X(TEXT, load_timing_cache, NONE, LOCAL, "--load-timing-cache", "a timing cache to read")      \
    X(TEXT, save_timing_cache, NONE, LOCAL, "--save-timing-cache",                                \
      "a timing cache to which the builder adds its measurements")                                \
    X(NAMES, tactic_sources, NONE, LOCAL, "--tactic-sources",                                     \
      "libraries to take kernels from; no effect: all kernels are built in")                      \
    X(NAMES, preview_features, NONE, LOCAL, "--preview-features",                                 \
      "preview features of TensorRT; no effect")                                                  \
    X(NAMES, quantization_flags, NONE, LOCAL, "--quantization-flags",                             \
      "quantization flags of TensorRT; no effect")

#define PGY_BUILD_CONFIG_DEVICE(X)                                                                 \
    X(PROFILES, profiles, profile_count, LOCAL, "--trt-min-shapes", "ranges of input shapes")      \
    X(NUMBER, threads, NONE, STORED, "",                                                           \
      "number of threads for which kernels are chosen; 0: one for each processor")                 \
    X(NUMBER, workspace_bytes, NONE, STORED, "--pool-limit",                                       \
      "largest workspace of a kernel, in bytes")                                                   \
    X(BOOL, has_workspace_limit, NULL, STORED, "",                                                 \
      "workspace_bytes is given; else there is no limit")                                          \
    X(FLAG, version_compatible, "VERSION_COMPATIBLE", LOCAL, "--version-compatible",               \
      "keep the weights in the plan, so that a later version of the program can rebuild the plan " \
      "if it lacks the plan's kernels")                                                            \
    X(FLAG, exclude_lean_runtime, "EXCLUDE_LEAN_RUNTIME", LOCAL, "--exclude-lean-runtime",         \
      "no effect: plans contain no code")                                                          \
    X(FLAG, error_on_timing_cache_miss, "ERROR_ON_TIMING_CACHE_MISS", LOCAL,                       \
      "--error-on-timing-cache-miss",                                                              \
      "fail if the timing cache lacks a time, instead of measuring it")                            \
    X(FLAG, disable_compilation_cache, "DISABLE_COMPILATION_CACHE", LOCAL,                         \
      "--disable-compilation-cache", "no effect: nothing is compiled")                             \
    X(FLAG, safety_restricted, "SAFETY_SCOPE", LOCAL, "--trt-safety-restricted",                   \
      "no effect on a CPU")                                                                        \
    X(FLAG, refittable, "REFIT", LOCAL, "--refittable",                                            \
      "store the model in the plan, so that its weights can be replaced later")                    \
    X(FLAG, strip_plan, "STRIP_PLAN", LOCAL, "--strip-plan",                                       \
      "build a plan without weights; 'convert PLAN --refit-from MODEL -o NEW' adds them")          \
    X(FLAG, weight_streaming, "WEIGHT_STREAMING", LOCAL, "--weight-streaming",                     \
      "no effect: the engine reads weights directly from the mapped plan")                         \
    X(ENUM, weight_budget, WEIGHT_BUDGETS, LOCAL, "--weight-streaming-budget",                     \
      "how much of the weights stays on a device; no effect yet")                                  \
    X(NUMBER, weight_budget_bytes, NONE, LOCAL, "", "bytes of weight_budget BYTES; no effect yet") \
    X(REAL, weight_budget_percent, NONE, LOCAL, "",                                                \
      "percentage of weight_budget PERCENT; no effect yet")                                        \
    X(FLAG, direct_io, "DIRECT_IO", LOCAL, "--direct-io",                                          \
      "no effect: the engine always uses inputs and outputs in place")                             \
    X(ENUM, cpu_level, CPU_LEVELS, STORED, "--hardware-compatibility-level",                       \
      "processors that the plan must run on")                                                      \
    X(ENUM, engine_capability, CAPABILITIES, STORED, "--engine-capability",                        \
      "no effect beyond STANDARD")                                                                 \
    X(ENUM, profiling_verbosity, VERBOSITIES, STORED, "--profiling-verbosity",                     \
      "how much the plan records about its layers")                                                \
    X(NAMES, devices, NONE, STORED, "--device", "devices that nodes run on besides the host")      \
    X(BOOL, devices_first, NULL, STORED, "",                                                       \
      "nodes run on a device wherever one has a kernel for them")                                  \
    X(BOOL, gpu_fallback, NULL, LOCAL, "--allow-gpu-fallback",                                     \
      "build without a device that cannot be used")                                                \
    X(NAMES, debug_tensors, NONE, STORED, "--mark-debug",                                          \
      "tensors that can be read while the plan runs; no fusion removes them")                      \
    X(BOOL, debug_unfused, NULL, STORED, "--mark-unfused-tensors-as-debug-tensors",                \
      "all tensors that fusion keeps can be read while the plan runs")                             \
    X(TEXT, passes, NONE, STORED, "--passes", "passes that do not run, or stop early")             \
    X(OBJECT, rewrite_watch, NONE, LOCAL, "", "receives every rewrite of the fusing passes")       \
    X(MONITOR, monitor, NONE, LOCAL, "", "receives the progress of the build")                     \
    X(HOOKS, hooks, hook_count, LOCAL, "--trt-network-postprocess-script",                         \
      "functions that change the network and the configuration before the build")

#define PGY_BUILD_CONFIG_FIELDS(X) \
    PGY_BUILD_CONFIG_PRECISION(X)  \
    PGY_BUILD_CONFIG_CHOICE(X)     \
    PGY_BUILD_CONFIG_DEVICE(X)

#endif
