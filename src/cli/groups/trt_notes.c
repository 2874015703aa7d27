/* SPDX-License-Identifier: Apache-2.0 */
/* Logs one line for every given option that has no effect in the built-in engine, so that users do
 * not rely on it. */
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/runners.h"
#include "cli/groups/trt.h"

static const char LOG_PATH[] = "cli/groups/trt_notes.c";

typedef struct note {
    bool given;
    const char *option, *text;
} note;

static void say(const note *notes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (notes[i].given) LOG(WARNING, "%s: %s", notes[i].option, notes[i].text);
}
#define SAY(notes) say(notes, sizeof notes / sizeof *notes)

static bool has_int8_layer(const pgy_build_config *c)
{
    for (size_t i = 0; i < c->layer_type_count; i++)
        if (c->layer_types[i].dtype == PGY_I8) return true;
    return false;
}

static void note_precision(const trt_config_args *s)
{
    const bool calibrates =
        s->calibration_cache || s->calibration_class || s->quantile || s->regression_cutoff;
    const bool legacy =
        s->calibration_class && !strcmp(s->calibration_class, "IInt8LegacyCalibrator");
    const note NOTES[] = {
        {s->config.tf32, "--tf32", "no effect on a CPU: float32 is computed in float32"},
        {s->config.fp8, "--fp8",
         "no effect: models with Q/DQ in float8 run as they are, other models do not change"},
        {calibrates && !s->config.int8 && !has_int8_layer(&s->config),
         "--calibration-cache and other options of calibration", "ignored without --int8"},
        {(s->quantile || s->regression_cutoff) && !legacy, "--quantile, --regression-cutoff",
         "no effect: only IInt8LegacyCalibrator uses them"},
        {s->config.sparse_weights, "--sparse-weights",
         "no effect: the engine has no kernels for sparse weights yet"},
    };
    SAY(NOTES);
}

static void note_choices(const trt_config_args *s)
{
    const bool measures = s->optimization_level < 0 || s->optimization_level > 1;
    const note NOTES[] = {
        {s->config.error_on_timing_cache_miss && !measures, "--error-on-timing-cache-miss",
         "no effect: the builder measures no kernels at this optimization level"},
        {s->config.disable_compilation_cache, "--disable-compilation-cache",
         "no effect: nothing is compiled"},
        {s->tactic_sources.given, "--tactic-sources", "no effect: all kernels are built in"},
        {s->preview_features.given, "--preview-features",
         "no effect: they are features of TensorRT"},
        {s->quantization_flags.given, "--quantization-flags",
         "no effect: calibration always runs before fusion"},
        {s->tiling_level != NULL, "--tiling-optimization-level", "no effect"},
    };
    SAY(NOTES);
}

static void note_device(const trt_config_args *s, const trt_engine_args *e)
{
    const bool capability = s->engine_capability && strcmp(s->engine_capability, "STANDARD") != 0;
    const note NOTES[] = {
        {s->other_pools, "--pool-limit", "pools other than workspace have no effect on a CPU"},
        {s->config.exclude_lean_runtime, "--exclude-lean-runtime",
         "no effect: plans contain no code"},
        {s->runtime_platform != NULL, "--runtime-platform", "no effect"},
        {s->max_aux_streams >= 0, "--max-aux-streams", "no effect on a CPU"},
        {s->config.weight_streaming, "--weight-streaming", "no effect on a CPU"},
        {s->config.direct_io, "--direct-io",
         "no effect: the engine always uses inputs and outputs in place"},
        {s->use_dla, "--use-dla", "there is no DLA: every layer runs on the CPU"},
        {s->config.gpu_fallback && !s->config.devices.count, "--allow-gpu-fallback",
         "no effect without --device"},
        {s->config.safety_restricted, "--trt-safety-restricted", "no effect on a CPU"},
        {capability, "--engine-capability",
         "no effect: the engine's capability is always STANDARD"},
        {s->use_gpu, "--use-gpu", "no effect on a CPU"},
        {s->compute_capabilities.given, "--compute-capabilities", "no effect on a CPU"},
        {e && e->load_runtime, "--load-runtime", "no effect: plans run in the built-in engine"},
        {e && e->weight_budget, "--weight-streaming-budget", "no effect on a CPU"},
        {e && e->dla_strategy, "--dla-workspace-allocation-strategy", "no effect on a CPU"},
    };
    SAY(NOTES);
}

static void note_network(const trt_network_args *s)
{
    const note NOTES[] = {
        {s->tensor_dtypes.given && s->all_dtypes, "--tensor-dtypes",
         "no effect: --all-tensor-dtypes wins"},
        {s->tensor_formats.given && s->all_formats.given, "--tensor-formats",
         "no effect: --all-tensor-formats wins"},
        {s->decomposable_attentions, "--decomposable-attentions",
         "no effect: the engine may always compute attention in several steps"},
        {s->onnx_flags.given || s->uint8_dla, "--onnx-flags",
         "no effect: the program does not use TensorRT's parser"},
        {s->plugin_instancenorm, "--plugin-instancenorm",
         "no effect: InstanceNormalization is built in"},
    };
    SAY(NOTES);
}

/* Without inference, data are only used for calibration. */
static void note_data(const data_args *s, const trt_config_args *config)
{
    if (config->config.calibration || s->needed) return;
    if (s->load_inputs.given || s->script || s->val_range.given || s->seed >= 0 ||
        s->iterations >= 0)
        LOG(WARNING, "The data loader options have no effect: only calibration reads data, and "
                     "this build does not calibrate");
}

/* --onnx-outputs applies to the other runners only. */
static void note_onnx_outputs(const args *line)
{
    const onnx_load_args *load = ARGS_OF(line, onnx_load_args);
    const runner_args *runners = ARGS_OF(line, runner_args);
    if (!load || !(load->outputs.given || load->exclude.given || load->by_type.given)) return;
    if (runners && runners_with(line, PGY_BACKEND_BUILDS_PLANS) < runners->names.count) return;
    LOG(WARNING, "--onnx-outputs, --onnx-exclude-outputs and --onnx-outputs-by-type have no effect "
                 "on --trt; --trt-outputs selects the engine's outputs");
}

void trt_notes(const args *line)
{
    const trt_config_args *config = ARGS_OF(line, trt_config_args);
    const trt_engine_args *engine = ARGS_OF(line, trt_engine_args);
    const trt_network_args *network = ARGS_OF(line, trt_network_args);
    const data_args *data = ARGS_OF(line, data_args);
    if (ARGS_OF(line, runner_args) && !runners_with(line, PGY_BACKEND_BUILDS_PLANS)) return;
    note_precision(config);
    note_choices(config);
    note_device(config, engine);
    if (network) note_network(network);
    note_onnx_outputs(line);
    /* `where` has neither runner flags nor network options, and compares on the data */
    if (data && network && !ARGS_OF(line, runner_args)) note_data(data, config);
}
