/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the builder's configuration, checked and collected in one struct. */
#include <string.h>

#include "base/file.h"
#include "cli/args/values.h"
#include "cli/groups/model.h"
#include "cli/groups/trt.h"

static const char *const QUANTIZATIONS[] = {"symmetric", "asymmetric", NULL};
static const char *const CONSTRAINTS[] = {"prefer", "obey", "none", NULL};

#define SHAPE_ROW(names_, member_, help_)                                      \
    PGY_OPT_APPEND(names_, trt_config_args, member_, .nargs = PGY_ONE_OR_MORE, \
                   .meta = "NAME:SHAPE", .help = help_)
#define OLD_SHAPE_ROW(name_, member_, new_)                                                   \
    PGY_OPT_APPEND(name_, trt_config_args, member_, .nargs = PGY_ONE_OR_MORE, .hidden = true, \
                   .deprecated = "is an older spelling; use " new_)
#define FLAG(name_, member_, help_) PGY_OPT_FLAG(name_, trt_config_args, member_, .help = help_)
#define TEXT(name_, member_, meta_, help_) \
    PGY_OPT_TEXT(name_, trt_config_args, member_, .meta = meta_, .help = help_)
#define LIST(name_, member_, nargs_, meta_, help_) \
    PGY_OPT_LIST(name_, trt_config_args, member_, .nargs = nargs_, .meta = meta_, .help = help_)
#define OLD_FLAG(name_, member_, text_) \
    PGY_OPT_FLAG(name_, trt_config_args, member_, .hidden = true, .deprecated = text_)

#define SHAPE_ROWS                                                                                 \
    SHAPE_ROW("--trt-min-shapes", min_words,                                                       \
              "smallest shapes of inputs, for example 'image:{shape}'. The first use of "          \
              "--trt-min-shapes, --trt-opt-shapes and --trt-max-shapes describes the first "       \
              "profile, the second use the next, and so on. A shape that is not given is the one " \
              "given last before it, in the order --input-shapes, min, opt, max"),                 \
        SHAPE_ROW("--trt-opt-shapes", opt_words, "shapes for which the plan is optimised"),        \
        SHAPE_ROW("--trt-max-shapes", max_words, "largest shapes of inputs"),                      \
        OLD_SHAPE_ROW("--min-shape", min_words, "--trt-min-shapes"),                               \
        OLD_SHAPE_ROW("--opt-shape", opt_words, "--trt-opt-shapes"),                               \
        OLD_SHAPE_ROW("--max-shape", max_words, "--trt-max-shapes")

/* Flag options are generated from the list of pgy_build_config fields, and are parsed directly into
 * these fields. */
#define FIELD_ROW(kind, member, detail, place, option, help) FIELD_##kind(member, option, help)
#define FIELD_FLAG(member_, option_, help_) \
    PGY_OPT_FLAG(option_, trt_config_args, config.member_, .help = help_),
#define FIELD_BOOL(member, option, help)
#define FIELD_NUMBER(member, option, help)
#define FIELD_REAL(member, option, help)
#define FIELD_ENUM(member, option, help)
#define FIELD_TEXT(member, option, help)
#define FIELD_NAMES(member, option, help)
#define FIELD_TYPES(member, option, help)
#define FIELD_FORMATS(member, option, help)
#define FIELD_PROFILES(member, option, help)
#define FIELD_CALIBRATION(member, option, help)
#define FIELD_MONITOR(member, option, help)
#define FIELD_HOOKS(member, option, help)
#define FIELD_OBJECT(member, option, help)

#define PRECISION_ROWS(default_)                                                                   \
    PGY_BUILD_CONFIG_PRECISION(FIELD_ROW)                                                          \
    PGY_OPT_TEXT("--precision-constraints", trt_config_args, precision_constraints,                \
                 .choices = CONSTRAINTS,                                                           \
                 .help = "what the builder does if a layer cannot have the type that "             \
                         "--layer-precisions requests: obey: fail; prefer: warn and choose "       \
                         "another type; none: choose another type; default " default_),            \
        OLD_FLAG("--strict-types --obey-precision-constraints", strict_types,                      \
                 "is an older spelling; use --precision-constraints obey"),                        \
        OLD_FLAG("--explicit-precision", explicit_precision, "has no effect any more"),            \
        TEXT("--calibration-cache", calibration_cache, "PATH",                                     \
             "file with the calibrated range of each tensor for --int8, in TensorRT's format; it " \
             "is read if it exists and is not empty, otherwise written"),                          \
        TEXT("--calibration-base-class --calib-base-cls", calibration_class, "NAME",               \
             "calibration method: IInt8EntropyCalibrator2, IInt8EntropyCalibrator, "               \
             "IInt8MinMaxCalibrator or IInt8LegacyCalibrator; by default calibration chooses the " \
             "range with the smallest squared error for each tensor"),                             \
        LIST("--quantization", quantization_words, PGY_ZERO_OR_MORE, "KIND",                       \
             "quantization of activations with --int8: symmetric (default), or asymmetric: with "  \
             "zero points, which is more exact if values are not centred on 0. Flags of "          \
             "--quantization-flags are accepted too"),                                             \
        TEXT("--save-quantized", save_quantized, "PATH",                                           \
             "save an ONNX model that has the types which the engine chose for the layers"),       \
        TEXT("--quantile", quantile, "Q", "quantile that IInt8LegacyCalibrator uses"),             \
        TEXT("--regression-cutoff", regression_cutoff, "C",                                        \
             "cutoff that IInt8LegacyCalibrator uses")

#define CHOICE_ROWS                                                                            \
    PGY_BUILD_CONFIG_CHOICE(FIELD_ROW)                                                         \
    TEXT("--load-timing-cache", load_timing_cache, "PATH",                                     \
         "timing cache to read: the builder does not measure a kernel whose time is in it"),   \
        PGY_OPT_TEXT("--timing-cache", trt_config_args, old_timing_cache, .hidden = true,      \
                     .deprecated = "is an older spelling; use --load-timing-cache and "        \
                                   "--save-timing-cache"),                                     \
        PGY_OPT_TEXT("--save-tactics --save-tactic-replay", trt_config_args, save_tactics,     \
                     .meta = "PATH", .exclusive = "tactics",                                   \
                     .help = "write a tactic replay: the kernel of each node"),                \
        PGY_OPT_TEXT("--passes", trt_config_args, config.passes, .meta = "LIST",               \
                     .help = "which graph passes to leave out, separated by commas: "          \
                             "--passes=-fuse_gelu,-fold switches two off, none all, "          \
                             "until=fuse_conv:3 ends after the third rewrite of fuse_conv; "   \
                             "docs/engine.md lists the passes"),                               \
        PGY_OPT_TEXT("--load-tactics --load-tactic-replay", trt_config_args, load_tactics,     \
                     .meta = "PATH", .exclusive = "tactics",                                   \
                     .help = "read a tactic replay and use its kernels"),                      \
        PGY_OPT_TEXT("--tactic-replay", trt_config_args, old_tactics, .hidden = true,          \
                     .exclusive = "tactics",                                                   \
                     .deprecated = "is an older spelling; use --load-tactics or "              \
                                   "--save-tactics"),                                          \
        LIST("--tactic-sources", tactic_sources, PGY_ZERO_OR_MORE, "NAME",                     \
             "libraries to take kernels from; no effect: all kernels are built in"),           \
        PGY_OPT_INT(                                                                           \
            "--builder-optimization-level", trt_config_args, optimization_level, .meta = "N",  \
            .help = "0 to 5: which candidate kernels the builder measures. 0 and 1: none, it " \
                    "chooses by estimated times; 2: the three with the best estimates; 3 "     \
                    "(default): those whose estimates are close to the best; 4 and 5: all"),   \
        LIST("--preview-features", preview_features, PGY_ZERO_OR_MORE, "NAME",                 \
             "preview features of TensorRT; no effect"),                                       \
        LIST("--quantization-flags", quantization_flags, PGY_ZERO_OR_MORE, "NAME",             \
             "quantization flags of TensorRT; no effect"),                                     \
        TEXT("--tiling-optimization-level", tiling_level, "NAME", "no effect")

#define DEVICE_ROWS                                                                                \
    PGY_BUILD_CONFIG_DEVICE(FIELD_ROW)                                                             \
    LIST("--pool-limit --memory-pool-limit", pool_words, PGY_ONE_OR_MORE, "POOL:BYTES",            \
         "memory limits of the build, for example 'workspace:250M'; K, M and G may follow the "    \
         "number. The builder does not choose kernels that need a larger workspace; other pools "  \
         "have no effect on a CPU"),                                                               \
        PGY_OPT_TEXT("--workspace", trt_config_args, old_workspace, .hidden = true,                \
                     .deprecated = "is an older spelling; use --pool-limit workspace:BYTES"),      \
        TEXT("--hardware-compatibility-level", hardware_level, "NAME",                             \
             "processors that the plan must run on: AMPERE_PLUS: all that have AVX2; NONE "        \
             "(default) or SAME_COMPUTE_CAPABILITY: those of this machine's level, which "         \
             "'inspect model' shows"),                                                             \
        TEXT("--runtime-platform", runtime_platform, "NAME", "no effect"),                         \
        PGY_OPT_INT("--max-aux-streams", trt_config_args, max_aux_streams, .meta = "N",            \
                    .help = "no effect on a CPU"),                                                 \
        TEXT("--profiling-verbosity", profiling_verbosity, "NAME",                                 \
             "how much the plan records about its layers: DETAILED, LAYER_NAMES_ONLY or NONE"),    \
        FLAG("--use-dla", use_dla, "no effect on a CPU"),                                          \
        TEXT("--device", device, "NAME[,NAME]",                                                    \
             "device to build for: 'cuda' or 'cuda:0' is the first GPU, a number N is cuda:N, "    \
             "and 'host' (default) is the CPU. Layers without a kernel for the device run on the " \
             "host. With 'host' in the list, as in 'cuda,host', each layer runs on the device "    \
             "with the shortest expected time"),                                                   \
        FLAG("--allow-gpu-fallback", config.gpu_fallback,                                          \
             "with --device: build for the host, with a warning, if the device cannot be used"),   \
        TEXT("--trt-config-postprocess-script --trt-cpps", config_postprocess, "LIBRARY[:FUNC]",   \
             "shared object with a function (default postprocess_config) that changes the "        \
             "configuration before the build")

static const pgy_option RUN_OPTIONS[] = {SHAPE_ROWS, PRECISION_ROWS("none"), CHOICE_ROWS,
                                         DEVICE_ROWS, PGY_OPT_END};
static const pgy_option OBEY_OPTIONS[] = {
    SHAPE_ROWS,
    PRECISION_ROWS("obey"),
    CHOICE_ROWS,
    DEVICE_ROWS,
    OLD_FLAG("--no-strict-types --no-obey-precision-constraints", no_strict_types,
             "is an older spelling; use --precision-constraints none"),
    PGY_OPT_END,
};
static const pgy_option CONVERT_OPTIONS[] = {
    SHAPE_ROWS,
    PRECISION_ROWS("none"),
    CHOICE_ROWS,
    DEVICE_ROWS,
    TEXT("--engine-capability", engine_capability, "NAME",
         "STANDARD (default); SAFETY and DLA_STANDALONE have no effect"),
    PGY_OPT_FLAG("--use-gpu", trt_config_args, use_gpu, .exclusive = "targets",
                 .help = "no effect on a CPU"),
    PGY_OPT_LIST("--compute-capabilities", trt_config_args, compute_capabilities,
                 .nargs = PGY_ONE_OR_MORE, .meta = "MAJOR.MINOR", .exclusive = "targets",
                 .help = "no effect on a CPU"),
    PGY_OPT_END,
};

/* ---- Checks --------------------------------------------------------------------------------- */

static void defaults(void *settings)
{
    trt_config_args *s = settings;
    s->optimization_level = s->max_aux_streams = -1;
}

static void obey_defaults(void *settings)
{
    defaults(settings);
    ((trt_config_args *)settings)->default_constraints = "obey";
}

/* Checks texts that must be one of TensorRT's names. */
static pgy_status check_names(trt_config_args *s, pgy_error *err)
{
    const struct {
        const char **text;
        const trt_names *names;
    } CHECKS[] = {
        {&s->profiling_verbosity, &TRT_VERBOSITIES}, {&s->hardware_level, &TRT_HARDWARE_LEVELS},
        {&s->runtime_platform, &TRT_PLATFORMS},      {&s->tiling_level, &TRT_TILING_LEVELS},
        {&s->engine_capability, &TRT_CAPABILITIES},  {&s->calibration_class, &TRT_CALIBRATORS}};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < sizeof CHECKS / sizeof *CHECKS; i++)
        if (*CHECKS[i].text) st = trt_name(CHECKS[i].text, *CHECKS[i].text, CHECKS[i].names, err);
    return st;
}

/* In the original `--quantization` is an abbreviation of --quantization-flags, so words other than
 * this program's are flags. */
static pgy_status take_quantization(trt_config_args *s, pgy_error *err)
{
    const pgy_text_list *words = &s->quantization_words;
    for (size_t i = 0; words->count == 1 && QUANTIZATIONS[i]; i++)
        if (!strcmp(words->items[0], QUANTIZATIONS[i])) s->quantization = QUANTIZATIONS[i];
    if (!words->given || s->quantization) return PGY_OK;
    if (s->quantization_flags.given)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--quantization: '%s' is neither symmetric nor asymmetric",
                             words->count ? words->items[0] : "");
    s->quantization_flags = *words;
    s->quantization_words = (pgy_text_list){0}; /* a script names the other option */
    return PGY_OK;
}

static pgy_status check_lists(trt_config_args *s, arena *a, pgy_error *err)
{
    pgy_build_config *c = &s->config;
    pgy_status st = take_quantization(s, err);
    if (!st)
        st = trt_name_list(&c->tactic_sources, &s->tactic_sources, &TRT_TACTIC_SOURCES, a, err);
    if (!st)
        st = trt_name_list(&c->preview_features, &s->preview_features, &TRT_PREVIEW_FEATURES, a,
                           err);
    if (!st)
        st = trt_name_list(&c->quantization_flags, &s->quantization_flags, &TRT_QUANTIZATION_FLAGS,
                           a, err);
    return st;
}

static pgy_status read_pools(trt_config_args *s, arena *a, pgy_error *err)
{
    const key_value *pairs = NULL;
    size_t count = 0;
    pgy_build_config *c = &s->config;
    if (s->old_workspace) {
        const pgy_status st =
            value_bytes(&c->workspace_bytes, s->old_workspace, "--workspace", err);
        if (st) return st;
        c->has_workspace_limit = true;
    }
    pgy_status st = values_split(&pairs, &count, &s->pool_words, a, err);
    for (size_t i = 0; !st && i < count; i++) {
        const char *pool = NULL;
        uint64_t bytes = 0;
        if (!*pairs[i].key)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "--pool-limit: '%s' is not in the form POOL:BYTES, as in "
                                 "'workspace:250M'",
                                 pairs[i].value);
        st = trt_name(&pool, pairs[i].key, &TRT_POOLS, err);
        if (!st) st = value_bytes(&bytes, pairs[i].value, "--pool-limit", err);
        if (st) break;
        if (strcmp(pool, "WORKSPACE")) {
            s->other_pools = true;
            continue;
        }
        c->has_workspace_limit = true;
        c->workspace_bytes = bytes;
    }
    return st;
}

static pgy_status read_number(const char *text, const char *option, arena *a, pgy_error *err)
{
    cast_value v;
    if (!text) return PGY_OK;
    const pgy_status st = value_cast(&v, text, a, err);
    if (st) return st;
    if (v.kind == CAST_INT || v.kind == CAST_REAL) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT, "%s: '%s' is not a number", option, text);
}

static pgy_status check_numbers(trt_config_args *s, arena *a, pgy_error *err)
{
    pgy_build_config *c = &s->config;
    if (s->optimization_level < -1 || s->optimization_level > 5)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--builder-optimization-level: %lld is not between 0 and 5",
                             (long long)s->optimization_level);
    if (s->max_aux_streams < -1)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--max-aux-streams: %lld is less than 0",
                             (long long)s->max_aux_streams);
    c->has_optimization_level = s->optimization_level >= 0;
    c->optimization_level = s->optimization_level;
    const pgy_status st = read_number(s->quantile, "--quantile", a, err);
    return st ? st : read_number(s->regression_cutoff, "--regression-cutoff", a, err);
}

static const char *device_name(arena *a, const char *word, size_t size)
{
    const bool number = size && strspn(word, "0123456789") >= size;
    return arena_printf(a, "%s%.*s", number ? "cuda:" : "", (int)size, word);
}

/* "host" is not a device of the configuration: it allows nodes to run on the host, too. */
static pgy_status read_devices(trt_config_args *s, arena *a, pgy_error *err)
{
    pgy_build_config *c = &s->config;
    const char *word = s->device ? s->device : "";
    const char **names = arena_alloc_array(a, strlen(word) + 1, sizeof *names);
    if (!names) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    c->devices = (pgy_name_list){.items = names};
    c->devices_first = s->device != NULL;
    for (size_t size; s->device; word += size + 1) {
        size = strcspn(word, ",");
        const char *name = device_name(a, word, size);
        if (!name) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        if (!strcmp(name, "host"))
            c->devices_first = false;
        else
            names[c->devices.count++] = name;
        if (!word[size]) break;
    }
    return PGY_OK;
}

/* "8.0", "12.1" */
static pgy_status check_capabilities(const trt_config_args *s, pgy_error *err)
{
    for (size_t i = 0; i < s->compute_capabilities.count; i++) {
        const char *text = s->compute_capabilities.items[i];
        const size_t major = strspn(text, "0123456789");
        const size_t minor = text[major] == '.' ? strspn(text + major + 1, "0123456789") : 0;
        if (!major || !minor || text[major + 1 + minor])
            return pgy_error_set(
                err, PGY_E_ARGUMENT,
                "--compute-capabilities: '%s' is not in the form MAJOR.MINOR, as in '8.6'", text);
    }
    return PGY_OK;
}

/* The option of releases before 0.35: reads the file if it exists and is not empty, else writes it.
 */
static void apply_old_tactics(trt_config_args *s)
{
    file_map map = {0};
    pgy_error ignored = {0};
    if (!s->old_tactics) return;
    const bool there = file_exists(s->old_tactics) &&
                       file_map_open(&map, s->old_tactics, &ignored) == PGY_OK &&
                       map.size_bytes > 0;
    file_map_close(&map);
    *(there ? &s->load_tactics : &s->save_tactics) = s->old_tactics;
}

/* Index of a name in a list that contains it. */
static int place_of(const char *name, const char *const *names)
{
    int i = 0;
    while (name && names[i] && strcmp(names[i], name)) i++;
    return name && names[i] ? i : 0;
}

static void fill_enumerators(trt_config_args *s)
{
    static const char *const CAPABILITIES[] = {
        [PGY_CAPABILITY_STANDARD] = "STANDARD",
        [PGY_CAPABILITY_SAFETY] = "SAFETY",
        [PGY_CAPABILITY_DLA_STANDALONE] = "DLA_STANDALONE",
        NULL,
    };
    static const char *const VERBOSITIES[] = {
        [PGY_VERBOSITY_DETAILED] = "DETAILED",
        [PGY_VERBOSITY_LAYER_NAMES_ONLY] = "LAYER_NAMES_ONLY",
        [PGY_VERBOSITY_NONE] = "NONE",
        NULL,
    };
    static const char *const LEVELS[] = {
        [PGY_CONSTRAINTS_NONE] = "none",
        [PGY_CONSTRAINTS_PREFER] = "prefer",
        [PGY_CONSTRAINTS_OBEY] = "obey",
        NULL,
    };
    pgy_build_config *c = &s->config;
    c->engine_capability = (pgy_engine_capability)place_of(s->engine_capability, CAPABILITIES);
    c->profiling_verbosity = (pgy_profiling_verbosity)place_of(s->profiling_verbosity, VERBOSITIES);
    c->constraints = (pgy_constraints)place_of(s->precision_constraints, LEVELS);
    if (s->hardware_level && !strcmp(s->hardware_level, "AMPERE_PLUS")) c->cpu_level = PGY_CPU_AVX2;
}

static const pgy_metadata *input_shapes(const args *line)
{
    const model_args *model = ARGS_OF(line, model_args);
    return model ? model->shapes : NULL;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    trt_config_args *s = settings;
    arena *a = &line->memory;
    s->config.size = sizeof s->config;
    if (!s->precision_constraints)
        s->precision_constraints = s->strict_types      ? "obey"
                                   : s->no_strict_types ? "none"
                                                        : s->default_constraints;
    if (s->config.exclude_lean_runtime && !s->config.version_compatible)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--exclude-lean-runtime needs --version-compatible");
    apply_old_tactics(s);
    pgy_status st = check_names(s, err);
    if (!st) st = check_lists(s, a, err);
    if (!st) st = check_numbers(s, a, err);
    if (!st) st = check_capabilities(s, err);
    if (!st) st = read_devices(s, a, err);
    if (!st) st = read_pools(s, a, err);
    if (st) return st;
    s->config.save_tactics = s->save_tactics;
    s->config.load_tactics = s->load_tactics;
    fill_enumerators(s);
    return PGY_OK;
}

#define CONFIG_GROUP(table, set)                                                            \
    {                                                                                       \
        .title = "Engine Configuration",                                                    \
        .description =                                                                      \
            "Options related to building the engine of --trt: profiles, precision, limits", \
        .options = table, ARGS_TYPE(trt_config_args), .defaults = set, .finish = finish     \
    }
const option_group GROUP_TRT_CONFIG = CONFIG_GROUP(RUN_OPTIONS, defaults);
const option_group GROUP_TRT_CONFIG_CONVERT = CONFIG_GROUP(CONVERT_OPTIONS, defaults);
const option_group GROUP_TRT_CONFIG_OBEY = CONFIG_GROUP(OBEY_OPTIONS, obey_defaults);

/* ---- For commands --------------------------------------------------------------------------- */

static void fill_timing(trt_config_args *s, const trt_engine_args *e)
{
    pgy_build_config *c = &s->config;
    c->load_timing_cache = s->load_timing_cache ? s->load_timing_cache : s->old_timing_cache;
    c->save_timing_cache = e && e->save_timing_cache ? e->save_timing_cache : s->old_timing_cache;
}

static void fill_budget(pgy_build_config *c, const trt_engine_args *e)
{
    if (!e) return;
    c->weight_budget = e->budget;
    c->weight_budget_bytes = e->budget_bytes;
    c->weight_budget_percent = e->budget_percent;
}

static void fill_debug(pgy_build_config *c, const trt_network_args *n)
{
    if (!n) return;
    c->debug_tensors = (pgy_name_list){
        .items = n->mark_debug.items, .count = n->mark_debug.count, .given = n->mark_debug.given};
    c->debug_unfused = n->mark_unfused;
}

pgy_status trt_config_fill(const pgy_build_config **out, args *line, pgy_error *err)
{
    trt_config_args *s = ARGS_OF(line, trt_config_args);
    pgy_status st = trt_profiles_resolve(&s->config.profiles, &s->config.profile_count, s,
                                         input_shapes(line), line, err);
    if (!st) st = trt_precision_fill(s, line, err);
    if (st) return st;
    fill_debug(&s->config, ARGS_OF(line, trt_network_args));
    fill_timing(s, ARGS_OF(line, trt_engine_args));
    fill_budget(&s->config, ARGS_OF(line, trt_engine_args));
    trt_notes(line);
    *out = &s->config;
    return PGY_OK;
}

pgy_status trt_config_make(const pgy_build_config **out, args *line, pgy_error *err)
{
    trt_config_args *s = ARGS_OF(line, trt_config_args);
    const pgy_status st =
        trt_hooks_load(&s->config, s, ARGS_OF(line, trt_network_args), &line->memory, err);
    return st ? st : trt_config_fill(out, line, err);
}
