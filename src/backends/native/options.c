/* SPDX-License-Identifier: Apache-2.0 */
/* Option rows of the built-in engine's runner, their checks, and the summary of a build. */
#include "backends/native/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const char LOG_PATH[] = "backend/trt/util.py";

static const char *const STRATEGIES[] = {"static", "profile", "runtime", NULL};

const pgy_option NATIVE_OPTIONS[] = {
    PGY_OPT_TEXT("--save-engine", pgy_trt_options, save_engine, .meta = "PATH",
                 .help = "save the plan, for the usual shapes of the first profile"),
    PGY_OPT_TEXT("--optimization-profile", pgy_trt_options, optimization_profile, .meta = "N",
                 .help = "the profile that shapes must lie in; any that fits if not given"),
    PGY_OPT_TEXT(
        "--allocation-strategy", pgy_trt_options, allocation_strategy, .choices = STRATEGIES,
        .help = "when memory is taken for what is computed: at once, for the largest shapes of "
                "all profiles; for those of the profile that is used (without "
                "--optimization-profile: if there is one only); or for the shapes that "
                "come, which is the default"),
    PGY_OPT_TEXT("--weight-streaming-budget", pgy_trt_options, weight_streaming_budget,
                 .meta = "BYTES",
                 .help = "-2 (off), -1 (automatic), a share as in '50%', or bytes; no effect on a "
                         "CPU"),
    PGY_OPT_END,
};

/* ---- Checks --------------------------------------------------------------------------------- */

static pgy_status read_profile(size_t *out, const char *text, size_t count, pgy_error *err)
{
    char *end = NULL;
    errno = 0;
    const long long n = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--optimization-profile: '%s' is not a number",
                             text);
    if (n < 0 || (unsigned long long)n >= count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--optimization-profile: there is no profile %s; there %s %zu, from 0",
                             text, count == 1 ? "is" : "are", count);
    *out = (size_t)n;
    return PGY_OK;
}

static bool is_budget(const char *text)
{
    char *end = NULL;
    const double v = strtod(text, &end);
    if (end == text || !strpbrk(text, "0123456789")) return false;
    if (!*end && (v == -1 || v == -2)) return true;
    if (!strcmp(end, "%")) return v >= 0 && v <= 100;
    return v >= 0 && (!*end || (strchr("kKmMgG", *end) && !end[1]));
}

pgy_allocation native_options_allocation(const pgy_trt_options *o)
{
    const char *name = o->allocation_strategy;
    if (name && !strcmp(name, "static")) return PGY_ALLOCATION_STATIC;
    if (name && !strcmp(name, "profile")) return PGY_ALLOCATION_PROFILE;
    return PGY_ALLOCATION_RUNTIME;
}

pgy_status native_options_check(size_t *profile, const pgy_trt_options *o, size_t count,
                                pgy_error *err)
{
    *profile = PROFILE_ANY;
    if (o->weight_streaming_budget) {
        if (!is_budget(o->weight_streaming_budget))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "--weight-streaming-budget: '%s' is none of -2, -1, a share from "
                                 "0%% to 100%%, and a number of bytes, as in '512M'",
                                 o->weight_streaming_budget);
        LOG(WARNING, "--weight-streaming-budget: no effect on a CPU");
    }
    if (!o->optimization_profile) return PGY_OK;
    return read_profile(profile, o->optimization_profile, count, err);
}

/* ---- The summary ---------------------------------------------------------------------------- */

static void put_row(str *out, const char *title, const char *text)
{
    str_printf(out, "\n%-22s | %s", title, text);
}

static void put_names(str *out, const char *title, const pgy_name_list *list)
{
    str names = {0};
    str_printf(&names, "[");
    for (size_t i = 0; i < list->count; i++)
        str_printf(&names, "%s%s", i ? ", " : "", list->items[i]);
    str_printf(&names, "]");
    put_row(out, title, str_text(&names));
    str_deinit(&names);
}

static void put_value(str *out, const char *title, const char *enumeration, const char *name)
{
    str text = {0};
    str_printf(&text, "%s.%s", enumeration, name);
    put_row(out, title, str_text(&text));
    str_deinit(&text);
}

static void put_pools(str *out, const pgy_build_config *c)
{
    str text = {0};
    str_printf(&text, "[WORKSPACE: %.2f MiB]", (double)c->workspace_bytes / 1048576.0);
    put_row(out, "Memory Pools", str_text(&text));
    str_deinit(&text);
}

static const char *const CALIBRATORS[] = {
    [PGY_CALIBRATOR_ENTROPY_2] = "IInt8EntropyCalibrator2",
    [PGY_CALIBRATOR_ENTROPY] = "IInt8EntropyCalibrator",
    [PGY_CALIBRATOR_MIN_MAX] = "IInt8MinMaxCalibrator",
    [PGY_CALIBRATOR_LEGACY] = "IInt8LegacyCalibrator",
    [PGY_CALIBRATOR_LEAST_ERROR] = "least squared error",
};

void native_log_build(const pgy_build_config *c, const profile_set *profiles)
{
    static const pgy_build_config NONE = {.size = sizeof NONE};
    str text = {0};
    if (!LOG_IS_ON(INFO)) return;
    if (!c) c = &NONE;
    profiles_text(&text, profiles);
    LOG(INFO, "Configuring with profiles:[\n%s\n]", str_text(&text));
    str_deinit(&text);
    put_names(&text, "Flags", &c->flags);
    put_value(&text, "Engine Capability", "EngineCapability",
              c->engine_capability ? c->engine_capability : "STANDARD");
    if (c->has_workspace_limit) put_pools(&text, c);
    put_value(&text, "Profiling Verbosity", "ProfilingVerbosity",
              c->profiling_verbosity ? c->profiling_verbosity : "DETAILED");
    if (profiles_count(profiles) > 1) {
        str count = {0};
        str_printf(&count, "%zu profile(s)", profiles_count(profiles));
        put_row(&text, "Optimization Profiles", str_text(&count));
        str_deinit(&count);
    }
    if (c->preview_features.count) put_names(&text, "Preview Features", &c->preview_features);
    if (c->int8 && c->calibration) put_row(&text, "Calibrator", CALIBRATORS[c->calibration->kind]);
    if (c->quantization_flags.count) put_names(&text, "Quantization Flags", &c->quantization_flags);
    LOG(INFO, "Building engine with configuration:%s", str_text(&text));
    str_deinit(&text);
}
