/* SPDX-License-Identifier: Apache-2.0 */
/* TensorRT's enumerators of releases 10 and 11, so that command lines for both work, and errors can
 * list the valid names. */
#include <string.h>

#include "cli/groups/trt.h"

#define NAMES(variable, option_, ...)                                  \
    static const char *const variable##_WORDS[] = {__VA_ARGS__, NULL}; \
    const trt_names variable = {.option = option_, .names = variable##_WORDS}

NAMES(TRT_TACTIC_SOURCES, "--tactic-sources", "CUBLAS", "CUBLAS_LT", "CUDNN",
      "EDGE_MASK_CONVOLUTIONS", "JIT_CONVOLUTIONS");
NAMES(TRT_POOLS, "--pool-limit", "WORKSPACE", "DLA_MANAGED_SRAM", "DLA_LOCAL_DRAM",
      "DLA_GLOBAL_DRAM", "TACTIC_DRAM", "TACTIC_SHARED_MEMORY");
NAMES(TRT_PREVIEW_FEATURES, "--preview-features", "PROFILE_SHARING_0806", "ALIASED_PLUGIN_IO_10_03",
      "RUNTIME_ACTIVATION_RESIZE_10_10", "FASTER_DYNAMIC_SHAPES_0805",
      "DISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805");
NAMES(TRT_QUANTIZATION_FLAGS, "--quantization-flags", "CALIBRATE_BEFORE_FUSION");
NAMES(TRT_VERBOSITIES, "--profiling-verbosity", "LAYER_NAMES_ONLY", "NONE", "DETAILED");
NAMES(TRT_HARDWARE_LEVELS, "--hardware-compatibility-level", "NONE", "AMPERE_PLUS",
      "SAME_COMPUTE_CAPABILITY");
NAMES(TRT_PLATFORMS, "--runtime-platform", "SAME_AS_BUILD", "WINDOWS_AMD64");
NAMES(TRT_CAPABILITIES, "--engine-capability", "STANDARD", "SAFETY", "DLA_STANDALONE");
NAMES(TRT_TILING_LEVELS, "--tiling-optimization-level", "NONE", "FAST", "MODERATE", "FULL");
NAMES(TRT_ONNX_FLAGS, "--onnx-flags", "NATIVE_INSTANCENORM",
      "ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA", "REPORT_CAPABILITY_DLA",
      "ENABLE_PLUGIN_OVERRIDE", "ADJUST_FOR_DLA");
NAMES(TRT_DLA_STRATEGIES, "--dla-workspace-allocation-strategy", "DEFAULT", "SHARED_STATIC");
NAMES(TRT_CALIBRATORS, "--calibration-base-class", "IInt8EntropyCalibrator2",
      "IInt8EntropyCalibrator", "IInt8MinMaxCalibrator", "IInt8LegacyCalibrator");

const char *const TRT_FORMATS[] = {"LINEAR",   "CHW2",  "HWC8",   "CHW4", "CHW16",
                                   "CHW32",    "DHWC8", "CDHW32", "HWC",  "DLA_LINEAR",
                                   "DLA_HWC4", "HWC16", "DHWC",   NULL};
const char *const TRT_DTYPES[] = {"float32", "float16", "bfloat16", "int8", "int32",
                                  "int64",   "int4",    "uint8",    "bool", "fp8",
                                  "fp4",     "float",   "half",     "bf16", NULL};

pgy_status trt_name(const char **out, const char *text, const trt_names *set, pgy_error *err)
{
    str valid = {0};
    for (size_t i = 0; set->names[i]; i++) {
        if (str_equal_nocase(set->names[i], text)) {
            str_deinit(&valid);
            *out = set->names[i];
            return PGY_OK;
        }
        str_printf(&valid, "%s%s", i ? ", " : "", set->names[i]);
    }
    const pgy_status st = pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not one of %s",
                                        set->option, text, str_text(&valid));
    str_deinit(&valid);
    return st;
}

pgy_status trt_name_list(pgy_name_list *out, const pgy_text_list *words, const trt_names *set,
                         arena *a, pgy_error *err)
{
    *out = (pgy_name_list){.given = words->given};
    if (!words->count) return PGY_OK;
    const char **items = arena_alloc_array(a, words->count, sizeof *items);
    if (!items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < words->count; i++)
        st = trt_name(&items[i], words->items[i], set, err);
    out->items = items;
    out->count = words->count;
    return st;
}
