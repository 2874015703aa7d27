/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each option makes its row for the command line and its row for trtexec. */
#include "backends/trtexec/options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/pytext.h"

#define NOT_GIVEN INT64_MIN

/* X(kind, option, member, name in trtexec, placeholder, help) */
#define PASSED(X)                                                                               \
    X(FLAG, "--use-cuda-graph", use_cuda_graph, "useCudaGraph", NULL,                           \
      "capture the run as a CUDA graph")                                                        \
    X(INT, "--avg-runs", avg_runs, "avgRuns", "N", "runs of a group in trtexec's listing")      \
    X(FLAG, "--best", best, "best", NULL, "permit all types that trtexec knows")                \
    X(INT, "--duration", duration, "duration", "SECONDS",                                       \
      "least time of measuring; trtexec's default is 3")                                        \
    X(INT, "--streams", streams, "streams", "N", "streams that run at the same time")           \
    X(INT, "--min-timing", min_timing, "minTiming", "N",                                        \
      "least number of measurements of a kernel (until TensorRT 8.6)")                          \
    X(INT, "--avg-timing", avg_timing, "avgTiming", "N", "measurements of a kernel to average") \
    X(FLAG, "--expose-dma", expose_dma, "exposeDMA", NULL, "copies do not overlap runs")        \
    X(FLAG, "--no-data-transfers", no_data_transfers, "noDataTransfers", NULL,                  \
      "leave out the copies of inputs and outputs")                                             \
    X(INT, "--trtexec-warmup", warm_up, "warmUp", "MS",                                         \
      "time before measuring; trtexec's default is 200")                                        \
    X(INT, "--trtexec-iterations", iterations, "iterations", "N",                               \
      "least number of measured runs; trtexec's default is 10")                                 \
    X(TEXT, "--trtexec-export-times", export_times, "exportTimes", "PATH",                      \
      "JSON file for the times of all runs")                                                    \
    X(TEXT, "--trtexec-export-profile", export_profile, "exportProfile", "PATH",                \
      "JSON file for the times of layers")                                                      \
    X(TEXT, "--trtexec-export-layer-info", export_layer_info, "exportLayerInfo", "PATH",        \
      "JSON file for the layers")                                                               \
    X(FLAG, "--use-spin-wait", use_spin_wait, "useSpinWait", NULL, "wait busily for the GPU")   \
    X(FLAG, "--threads", threads, "threads", NULL, "one thread of the host for each stream")    \
    X(FLAG, "--use-managed-memory", use_managed_memory, "useManagedMemory", NULL,               \
      "share memory between host and GPU")                                                      \
    X(FLAG, "--dump-refit", dump_refit, "dumpRefit", NULL,                                      \
      "print the weights that can be replaced")                                                 \
    X(FLAG, "--dump-output", dump_output, "dumpOutput", NULL, "print the outputs")              \
    X(FLAG, "--dump-profile", dump_profile, "dumpProfile", NULL, "print the times of layers")   \
    X(FLAG, "--dump-layer-info", dump_layer_info, "dumpLayerInfo", NULL, "print the layers")    \
    X(FLAG, "--separate-profile-run", separate_profile_run, "separateProfileRun", NULL,         \
      "measure layers in runs of their own")                                                    \
    X(FLAG, "--trtexec-no-builder-cache", no_builder_cache, "noBuilderCache", NULL,             \
      "do not use a timing cache")                                                              \
    X(TEXT, "--trtexec-profiling-verbosity", profiling_verbosity, "profilingVerbosity", "NAME", \
      "information about layers in the plan: layer_names_only, detailed or none")               \
    X(TEXT, "--layer-output-types", layer_output_types, "layerOutputTypes", "LAYER:TYPE,...",   \
      "types of the outputs of layers, with --precision-constraints obey or prefer")

#define OPTION_FLAG(option, member_, meta_, help_) \
    PGY_OPT_FLAG(option, trtexec_options, member_, .help = help_),
#define OPTION_INT(option, member_, meta_, help_) \
    PGY_OPT_INT(option, trtexec_options, member_, .meta = meta_, .help = help_),
#define OPTION_TEXT(option, member_, meta_, help_) \
    PGY_OPT_TEXT(option, trtexec_options, member_, .meta = meta_, .help = help_),
#define OPTION(kind, option, member, key, meta, help) OPTION_##kind(option, member, meta, help)
#define ROW(kind_, option_, member, key_, meta, help) \
    {.option = option_,                               \
     .key = key_,                                     \
     .kind = PGY_OPTION_##kind_,                      \
     .offset = offsetof(trtexec_options, member)},

const pgy_option TRTEXEC_OPTIONS[] = {
    PGY_OPT_TEXT("--trtexec-path", trtexec_options, path, .meta = "PATH",
                 .help = "the trtexec program, NVIDIA's or this project's; default: 'trtexec' in "
                         "PATH, else the one beside this program"),
    PASSED(OPTION) PGY_OPT_TEXT("--trtexec-export-output", trtexec_options, export_output,
                                .meta = "PATH", .help = "JSON file for the outputs"),
    PGY_OPT_APPEND("--trtexec-option", trtexec_options, extra, .meta = "KEY[=VALUE]",
                   .help = "any other option of trtexec, without its dashes, such as "
                           "builderOptimizationLevel=5; it replaces what the runner would pass"),
    PGY_OPT_TEXT("--trtexec-timeout", trtexec_options, timeout, .meta = "SECONDS",
                 .help = "end a trtexec that takes longer, and fail; default: no limit"),
    PGY_OPT_END,
};

static const trtexec_passed ROWS[] = {PASSED(ROW)};

size_t trtexec_passed_count(void)
{
    return sizeof ROWS / sizeof *ROWS;
}

const trtexec_passed *trtexec_passed_at(size_t i)
{
    return &ROWS[i];
}

void trtexec_options_defaults(void *options)
{
    for (size_t i = 0; i < trtexec_passed_count(); i++)
        if (ROWS[i].kind == PGY_OPTION_INT)
            *(int64_t *)((char *)options + ROWS[i].offset) = NOT_GIVEN;
}

bool trtexec_passed_value(const char **value, char buffer[32], const trtexec_passed *p,
                          const trtexec_options *o)
{
    const void *at = (const char *)o + p->offset;
    *value = "";
    switch (p->kind) {
    case PGY_OPTION_FLAG: return *(const bool *)at;
    case PGY_OPTION_INT:
        snprintf(buffer, 32, "%" PRId64, *(const int64_t *)at);
        *value = buffer;
        return *(const int64_t *)at != NOT_GIVEN;
    default:
        if (!*(const char *const *)at) return false;
        *value = *(const char *const *)at;
        return true;
    }
}

bool trtexec_options_dump(const trtexec_options *o)
{
    return o->dump_refit || o->dump_output || o->dump_profile || o->dump_layer_info;
}

/* ---- Extra options -------------------------------------------------------------------------- */

const char *trtexec_extra(const trtexec_options *o, const char *key)
{
    const size_t size = strlen(key);
    for (size_t i = 0; i < o->extra.count; i++) {
        const char *text = o->extra.items[i];
        if (!text || strncmp(text, key, size) || (text[size] && text[size] != '=')) continue;
        return text[size] ? text + size + 1 : "";
    }
    return NULL;
}

static pgy_status check_extra(const trtexec_options *o, pgy_error *err)
{
    static const struct {
        const char *key, *instead;
    } OWN[] = {{"onnx", "the model is the runner's"},
               {"loadEngine", "the plan is the runner's model"},
               {"loadInputs", "the runner's feed gives the inputs"},
               {"exportOutput", "use trtexec.trtexec_export_output"}};
    for (size_t i = 0; i < o->extra.count; i++) {
        const char *text = o->extra.items[i];
        if (text && (text[0] == '-' || text[0] == '=' || !text[0]))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "trtexec.trtexec_option: '%s' is not of the form KEY or KEY=VALUE",
                                 text);
    }
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++)
        if (trtexec_extra(o, OWN[i].key))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "trtexec.trtexec_option: '%s' cannot be given: %s", OWN[i].key,
                                 OWN[i].instead);
    return PGY_OK;
}

/* ---- Checks --------------------------------------------------------------------------------- */

/* "--avg-runs" is the field avg_runs. */
static pgy_status below_zero(const trtexec_passed *row, int64_t number, pgy_error *err)
{
    char field[64];
    snprintf(field, sizeof field, "%s", row->option + 2);
    for (char *c = field; *c; c++)
        if (*c == '-') *c = '_';
    return pgy_error_set(err, PGY_E_ARGUMENT, "trtexec.%s: %" PRId64 " is below 0", field, number);
}

pgy_status trtexec_options_check(double *timeout_s, const trtexec_options *o, pgy_error *err)
{
    char *end = NULL;
    *timeout_s = 0;
    for (size_t i = 0; i < trtexec_passed_count(); i++) {
        const int64_t *number = (const int64_t *)((const char *)o + ROWS[i].offset);
        if (ROWS[i].kind == PGY_OPTION_INT && *number < 0 && *number != NOT_GIVEN)
            return below_zero(&ROWS[i], *number, err);
    }
    if (o->timeout) {
        *timeout_s = text_to_double(o->timeout, &end);
        if (end == o->timeout || *end || !(*timeout_s > 0) || *timeout_s > 1e9)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "trtexec.trtexec_timeout: '%s' is not a number of seconds above 0",
                                 o->timeout);
    }
    return check_extra(o, err);
}
