/* SPDX-License-Identifier: Apache-2.0 */
/* One row per option. The help of a row without effect, or refused, is the reason that its line or
 * error gives. */
#include "cli/trtexec/options.h"

#include <string.h>

#define ROW(names_, kind_, nargs_, member_, ...)                            \
    {                                                                       \
        .names = names_, .kind = PGY_OPTION_##kind_, .nargs = PGY_##nargs_, \
        .offset = offsetof(trtexec_args, member_), __VA_ARGS__              \
    }
#define FLAG(names, member, help_) PGY_OPT_FLAG(names, trtexec_args, member, .help = help_)
#define INT(names, member, meta_, help_) \
    PGY_OPT_INT(names, trtexec_args, member, .meta = meta_, .help = help_)
#define TEXT(names, member, meta_, help_) \
    PGY_OPT_TEXT(names, trtexec_args, member, .meta = meta_, .help = help_)
#define LIST(names, member, meta_, help_) \
    PGY_OPT_APPEND(names, trtexec_args, member, .meta = meta_, .help = help_)
#define NOTE(names, why) ROW(names, APPEND, NONE, noted, .help = why)
#define NOTE_VALUE(names, meta_, why) ROW(names, APPEND, ONE, noted, .meta = meta_, .help = why)
#define REFUSE(names, why) ROW(names, APPEND, NONE, refused, .help = why)
#define REFUSE_VALUE(names, meta_, why) ROW(names, APPEND, ONE, refused, .meta = meta_, .help = why)
#define SHAPES "NAME:1x3x224x224,..."

static const pgy_option MODEL[] = {
    TEXT("--onnx", onnx, "FILE", "ONNX model to build"),
    TEXT("--loadEngine", load_engine, "FILE", "plan to load instead of building one"),
    TEXT("--saveEngine", save_engine, "FILE", "file for the plan that is built"),
    REFUSE_VALUE("--model", "FILE", "Caffe models are not supported; convert them to ONNX"),
    REFUSE_VALUE("--deploy", "FILE", "Caffe models are not supported; convert them to ONNX"),
    REFUSE_VALUE("--output", "NAMES",
                 "an ONNX model names its outputs itself; "
                 "'polygraphy convert --onnx-outputs' chooses others"),
    REFUSE_VALUE("--uff", "FILE", "UFF models are not supported; convert them to ONNX"),
    REFUSE_VALUE("--uffInput", "NAME,C,H,W", "UFF models are not supported; convert them to ONNX"),
    REFUSE("--uffNHWC", "UFF models are not supported; convert them to ONNX"),
    PGY_OPT_END,
};

static const pgy_option BUILD[] = {
    LIST("--minShapes", shapes, SHAPES, "smallest shapes of a profile"),
    LIST("--optShapes", shapes, SHAPES, "usual shapes of a profile"),
    LIST("--maxShapes", shapes, SHAPES, "largest shapes of a profile"),
    LIST("--profile", shapes, "N", "the shapes that follow belong to profile N, from 0 on"),
    TEXT(
        "--inputIOFormats", input_formats, "TYPE:chw,...",
        "types of inputs, one for each or one for all: fp32, fp16, bf16, int32, int64, int8, uint8 "
        "or bool; the layout is always chw"),
    TEXT("--outputIOFormats", output_formats, "TYPE:chw,...", "types of outputs"),
    TEXT("--memPoolSize", memory, "workspace:MIB",
         "largest workspace of a kernel, in MiB or with B, K, M or G"),
    PGY_OPT_TEXT("--workspace", trtexec_args, workspace, .meta = "MIB",
                 .help = "largest workspace of a kernel, in MiB",
                 .deprecated = "use --memPoolSize=workspace:MIB"),
    FLAG("--fp16", fp16, "permit float16"),
    FLAG("--bf16", bf16, "permit bfloat16"),
    FLAG("--int8", int8, "permit int8"),
    FLAG("--fp8", fp8, "permit float8 in models with Q/DQ in float8"),
    FLAG("--best", best, "permit float16 and int8"),
    FLAG("--noTF32", no_tf32, "forbid TF32, which no CPU has"),
    PGY_OPT_TEXT("--precisionConstraints", trtexec_args, constraints, .meta = "none|obey|prefer",
                 .help = "what to do if a layer cannot have its type; default none"),
    TEXT("--layerPrecisions", layer_types, "LAYER:TYPE,...",
         "types to compute layers in: fp32, fp16, bf16 or int8; * in a name matches all names"),
    TEXT("--layerOutputTypes", output_types, "LAYER:TYPE[+TYPE],...",
         "types of the outputs of layers: float outputs are rounded to fp16 or bf16, or stay fp32"),
    TEXT("--calib", calibration, "FILE", "calibration cache for int8, read or written"),
    TEXT("--sparsity", sparsity, "disable|enable", "use of sparse weights; default disable"),
    INT("--builderOptimizationLevel", level, "N",
        "0 to 5: how many kernels are measured; default 3"),
    TEXT("--timingCacheFile", timing_cache, "FILE", "measured times of kernels, read and extended"),
    FLAG("--noBuilderCache", no_builder_cache, "do not use --timingCacheFile"),
    FLAG("--errorOnTimingCacheMiss", cache_miss_is_error, "fail if the timing cache lacks a time"),
    PGY_OPT_TEXT("--profilingVerbosity --nvtxMode", trtexec_args, verbosity,
                 .meta = "layer_names_only|detailed|none",
                 .help = "information about layers in the plan; default layer_names_only"),
    FLAG("--refit", refit, "the plan's weights can be replaced"),
    FLAG("--stripWeights --stripAllWeights --weightless", strip, "build a plan without weights"),
    FLAG("--refitFromOnnx", refit_from_onnx, "take the weights of a loaded plan from --onnx"),
    TEXT("--markDebug", mark_debug, "NAME,...", "tensors that --saveDebugTensors can save"),
    FLAG("--markUnfusedTensorsAsDebugTensors", debug_unfused,
         "make all tensors that fusion keeps debug tensors"),
    FLAG("--getPlanVersionOnly", plan_version_only,
         "print the version that wrote the plan of --loadEngine, and stop"),
    FLAG("--monitorMemory", monitor_memory, "print the peak of the memory"),
    PGY_OPT_END,
};

static const pgy_option INFERENCE[] = {
    LIST("--shapes", shapes, SHAPES, "shapes to run; default: the usual ones of the profile"),
    TEXT("--loadInputs", load_inputs, "NAME:FILE,...",
         "files with the elements of inputs; others get generated data"),
    INT("--seed", seed, "N", "seed of the generated data; default 0"),
    INT("--iterations", iterations, "N", "least number of measured runs; default 10"),
    TEXT("--warmUp", warm_up, "MS", "time before measuring; default 200"),
    TEXT("--duration", duration, "S",
         "least time of measuring; default 3; -1: until "
         "interrupted, and the figures are those of the last 262144 queries"),
    TEXT("--sleepTime", sleep, "MS", "pause between copies and run; default 0"),
    TEXT("--idleTime", idle, "MS", "pause after each run; default 0"),
    INT("--infStreams --streams", streams, "N", "contexts that run at the same time; default 1"),
    NOTE("--threads", "each stream always has a thread of its own"),
    INT("--threads-per-op", op_threads, "N",
        "threads of each context; default: all processors, divided by the streams"),
    TEXT("--pin", pin, "CPULIST", "processors to use, such as 0-3,6; default: all"),
    FLAG("--noDataTransfers", no_copies, "use inputs and outputs in place"),
    FLAG("--includeDataTransfers", copies, "copy inputs and outputs, which is the default"),
    FLAG("--timeDeserialize", time_deserialize, "measure the time of loading the plan, and stop"),
    FLAG("--timeRefit", time_refit, "measure the time of replacing the weights by those of --onnx"),
    FLAG("--skipInference --buildOnly", skip_inference, "build only"),
    INT("--useProfile", use_profile, "N", "profile to run with; default: the one that fits"),
    TEXT("--saveDebugTensors", debug_files, "NAME:FILE,...", "files for debug tensors"),
    TEXT("--saveAllDebugTensors", all_debug, "summary,numpy,string,raw",
         "save all debug tensors in these forms in the current folder"),
    PGY_OPT_END,
};

static const pgy_option ACCURACY[] = {
    LIST("--loadRefOutputs", references, "NAME:FILE,...", "files with expected outputs"),
    LIST("--refPair", references, "N",
         "the --loadInputs and --loadRefOutputs that follow belong together"),
    TEXT("--accuracyAlgorithm", algorithm, "l0|l1|l2|lInf|cos", "loss; default l0"),
    TEXT("--atol", atol, "X", "absolute tolerance of l0; default 1e-5"),
    TEXT("--rtol", rtol, "X", "relative tolerance of l0; default 1e-5"),
    TEXT("--accuracyThreshold", threshold, "X", "a loss of at least this fails"),
    FLAG("--compat", compat, "pass where the original passes: a loss of NaN, a missing output"),
    PGY_OPT_END,
};

static const pgy_option REPORTING[] = {
    FLAG("--verbose", verbose, "print more"),
    INT("--avgRuns", average_runs, "N", "runs of a group in the listing; default 10"),
    TEXT("--percentile", percentiles, "P,...", "percentiles, 0 to 100; default 90,95,99"),
    FLAG("--dumpRefit", dump_refit, "list the weights that can be replaced"),
    FLAG("--dumpOutput", dump_output, "print the outputs of the last run"),
    FLAG("--dumpRawBindingsToFile", dump_raw, "write inputs and outputs to files"),
    FLAG("--dumpProfile", dump_profile, "print the times of layers"),
    FLAG("--dumpLayerInfo", dump_layers, "print the layers"),
    FLAG("--dumpOptimizationProfile", dump_profiles, "print the ranges of shapes"),
    TEXT("--exportTimes", export_times, "FILE", "JSON file for the times of all runs"),
    TEXT("--exportOutput", export_output, "FILE", "JSON file for the outputs"),
    TEXT("--exportProfile", export_profile, "FILE", "JSON file for the times of layers"),
    TEXT("--exportTrace", export_trace, "FILE",
         "file for a timeline of the build and of runs after the measured ones: Chrome's JSON, or "
         "Perfetto's protobuf (.pftrace); .gz compresses it"),
    TEXT("--traceRuns", trace_runs, "N|all", "runs whose layers the timeline shows; default 20"),
    TEXT("--exportLayerInfo", export_layers, "FILE", "JSON file for the layers"),
    TEXT("--report", report, "FILE", "JSON file for all figures, and for a later --compare"),
    FLAG("--json", json, "print the figures as JSON on stdout, and everything else on stderr"),
    TEXT("--compare", compare, "FILE",
         "compare the latencies with those of an earlier --report, with an interval"),
    TEXT("--failOnRegression", fail_on_regression, "P%",
         "fail if --compare shows that the latency is at least P % greater"),
    INT("--device", device, "N", "device; only 0, the host"),
    PGY_OPT_END,
};

static const pgy_option ROUTES[] = {
    TEXT(
        "--setBuildRoute", route, "ROUTE",
        "values for knobs of the builder, such as '-level=5 -fp16=on'; they replace those of other "
        "options"),
    TEXT("--tuneBuildRoutes", routes, "EXPR",
         "build and measure many routes: '-level=[2|5] -fp16=[off|on]'"),
    TEXT("--tuneBuildRouteFile", routes_file, "FILE", "file with such an expression"),
    TEXT("--tuningSearch", strategy, "fast|full|mixed",
         "the baseline and one change at a time; all combinations; or those of the knobs that made "
         "a route faster alone; default fast"),
    TEXT("--tuningCacheFile", results, "FILE",
         "file for the result of each route; default best_config.json"),
    TEXT("--tuningTimeOut", time_limit, "S",
         "begin no further route after this time; default -1: no limit"),
    FLAG("--saveAllEngines", keep_all_plans,
         "keep the plan of route N as ENGINE.iterN, beside that of the fastest in --saveEngine"),
    FLAG("--dryRun", dry_run, "list the routes, and build none"),
    FLAG("--continue", resume,
         "go on with the search of --tuningCacheFile; no other option may be given"),
    PGY_OPT_TEXT("--helpBuildRoute", trtexec_args, help_route, .meta = "KNOB",
                 .nargs = PGY_OPTIONAL, .constant = "",
                 .help = "list all knobs, or one, as JSON, and stop"),
    TEXT("--tuningResultFile", answer, "FILE",
         "file for the figures of this run; a search gives this option to its processes"),
    PGY_OPT_END,
};

#define SYNCHRONOUS "runs of this engine are synchronous"
static const pgy_option NOTED[] = {
    NOTE("--explicitBatch", "ONNX models always have it"),
    NOTE("--explicitPrecision", "the types in the model always count"),
    NOTE("--stronglyTyped", "the types in the model count unless an option permits others"),
    NOTE("--directIO", "inputs and outputs are always used in place"),
    NOTE("--useCudaGraph", SYNCHRONOUS),
    NOTE("--noCudaGraph", SYNCHRONOUS),
    NOTE("--useSpinWait", SYNCHRONOUS),
    NOTE("--noSpinWait", SYNCHRONOUS),
    NOTE("--useManagedMemory", "host and engine share memory"),
    NOTE("--exposeDMA", "copies never overlap runs"),
    NOTE("--separateProfileRun", "layers are always timed in runs of their own"),
    NOTE_VALUE("--avgTiming", "N", "the engine chooses how often it measures a kernel"),
    NOTE_VALUE("--minTiming", "N", "the engine chooses how often it measures a kernel"),
    NOTE_VALUE("--maxTactics", "N", "--builderOptimizationLevel limits the kernels to measure"),
    NOTE_VALUE("--maxAuxStreams", "N", "a context runs its layers one after the other"),
    NOTE_VALUE("--persistentCacheRatio", "X", "no CPU has such a cache"),
    NOTE_VALUE("--allocationStrategy", "NAME", "memory is allocated once, before the loop"),
    NOTE("--noCompilationCache", "nothing is compiled"),
    NOTE("--asyncFileReader", "plans are mapped, not read"),
    NOTE("--pluginInstanceNorm --pi", "normalisations need no plugin"),
    NOTE("--ignoreParsedPluginLibs", "ONNX models name no plugin libraries"),
    PGY_OPT_END,
};

#define DLA "there is no DLA"
#define SAFE "it belongs to TensorRT's safety runtime"
#define PLUGINS "TensorRT's plugins cannot be loaded; 'polygraphy --op-library' loads operators"
#define RUNTIMES "it belongs to TensorRT's runtimes"
#define CALIBRATES "calibration uses the usual shapes"
#define STREAMING "weights are always read directly from the plan"
static const pgy_option REFUSED[] = {
    REFUSE_VALUE("--batch", "N", "there are no implicit batches; use --shapes"),
    REFUSE_VALUE("--maxBatch", "N", "there are no implicit batches; use --maxShapes"),
    REFUSE_VALUE("--minShapesCalib", "LIST", CALIBRATES),
    REFUSE_VALUE("--optShapesCalib", "LIST", CALIBRATES),
    REFUSE_VALUE("--maxShapesCalib", "LIST", CALIBRATES),
    REFUSE_VALUE("--calibProfile", "N", CALIBRATES),
    REFUSE_VALUE("--layerDeviceTypes", "LIST", DLA),
    REFUSE_VALUE("--decomposableAttentions", "LIST", "it belongs to TensorRT's attention kernels"),
    REFUSE("--int4", "TensorRT's int4 mode does not exist; int4 weights in the model work"),
    REFUSE("--distributiveIndependence", "kernels may differ with the batch"),
    REFUSE("--heuristic", "it chooses among TensorRT's kernels; use --builderOptimizationLevel"),
    REFUSE_VALUE("--tacticSources", "LIST", "all kernels are built in"),
    REFUSE_VALUE("--preview", "LIST", "TensorRT's preview features do not exist here"),
    REFUSE_VALUE("--tilingOptimizationLevel", "N", "it belongs to TensorRT's GPU kernels"),
    REFUSE_VALUE("--l2LimitForTiling", "N", "it belongs to TensorRT's GPU kernels"),
    REFUSE("--allowWeightStreaming", STREAMING),
    REFUSE_VALUE("--weightStreamingBudget", "N", STREAMING),
    REFUSE("--versionCompatible --vc",
           RUNTIMES "; 'polygraphy convert --version-compatible' makes plans for later versions"),
    REFUSE("--excludeLeanRuntime", RUNTIMES),
    REFUSE_VALUE("--leanDLLPath", "FILE", RUNTIMES),
    REFUSE_VALUE("--useRuntime", "NAME", RUNTIMES),
    REFUSE_VALUE("--hardwareCompatibilityLevel", "NAME",
                 "it names GPUs; 'polygraphy convert --hardware-compatibility-level' names CPUs"),
    REFUSE_VALUE("--runtimePlatform", "NAME", "plans are for the platform that builds them"),
    REFUSE_VALUE("--tempdir", "DIR", "TMPDIR names the folder of temporary files"),
    REFUSE_VALUE("--tempfileControls", "LIST", "no library is unpacked into files"),
    REFUSE("--enablePluginOverride", PLUGINS),
    REFUSE_VALUE("--staticPlugins --plugins", "FILE", PLUGINS),
    REFUSE_VALUE("--dynamicPlugins", "FILE", PLUGINS),
    REFUSE_VALUE("--setPluginsToSerialize", "FILE", PLUGINS),
    REFUSE_VALUE("--useDLACore", "N", DLA),
    REFUSE("--allowGPUFallback", DLA),
    REFUSE("--buildDLAStandalone", DLA),
    REFUSE("--uint8AsymmetricQuantizationDLA", DLA),
    REFUSE("--reportCapabilityDLA", DLA),
    REFUSE("--adjustForDLA", DLA),
    REFUSE("--safe", SAFE),
    REFUSE("--consistency", SAFE),
    REFUSE("--restricted", SAFE),
    REFUSE("--dumpKernelText", SAFE),
    REFUSE_VALUE("--remoteAutoTuningConfig", "TEXT", SAFE),
    REFUSE("--cpuOnly", SAFE),
    REFUSE_VALUE("--safetyPlugins", "FILE", SAFE),
    REFUSE_VALUE("--serialized", "FILE", SAFE),
    REFUSE("--std", SAFE),
    REFUSE("-v", SAFE),
    PGY_OPT_END,
};

static void defaults(void *settings)
{
    trtexec_args *a = settings;
    a->iterations = a->average_runs = 10;
    a->streams = 1;
    a->use_profile = a->level = -1;
}

static const option_group GROUP_MODEL = {
    .title = "Model", .options = MODEL, ARGS_TYPE(trtexec_args), .defaults = defaults};
static const option_group GROUP_BUILD = {.title = "Build", .options = BUILD};
static const option_group GROUP_INFERENCE = {.title = "Inference", .options = INFERENCE};
static const option_group GROUP_ACCURACY = {.title = "Accuracy", .options = ACCURACY};
static const option_group GROUP_ROUTES = {.title = "Build routes", .options = ROUTES};
static const option_group GROUP_REPORTING = {.title = "Reporting", .options = REPORTING};
static const option_group GROUP_NOTED = {
    .title = "Accepted without effect", .description = "The text says why.", .options = NOTED};
static const option_group GROUP_REFUSED = {.title = "Options of TensorRT that are refused",
                                           .description = "The text says why.",
                                           .options = REFUSED};
const option_group *const TRTEXEC_GROUPS[] = {&GROUP_MODEL,    &GROUP_BUILD,   &GROUP_INFERENCE,
                                              &GROUP_ACCURACY, &GROUP_ROUTES,  &GROUP_REPORTING,
                                              &GROUP_NOTED,    &GROUP_REFUSED, NULL};

trtexec_verdict trtexec_verdict_of(const pgy_option *row)
{
    if (row->offset == offsetof(trtexec_args, noted)) return TRTEXEC_NOTED;
    return row->offset == offsetof(trtexec_args, refused) ? TRTEXEC_REFUSED : TRTEXEC_KEPT;
}
