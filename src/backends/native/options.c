/* SPDX-License-Identifier: Apache-2.0 */
/* Option descriptions of the built-in engine's runner, their checks, and the summary of a build. */
#include "backends/native/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/build/config.h"
#include "engine/build/config_fields.h"

static const char ORIGINAL_PATH[] = "backend/trt/util.py";

static const char *const STRATEGIES[] = {"static", "profile", "runtime", NULL};

const pgy_option NATIVE_OPTIONS[] = {
    PGY_OPT_TEXT("--save-engine", native_options, save_engine, .meta = "PATH",
                 .help = "save the plan, built for the usual shapes of the first profile"),
    PGY_OPT_INT("--optimization-profile", native_options, profile, .meta = "N",
                .help = "number of the profile that must admit the input shapes; default: any "
                        "profile that admits them"),
    PGY_OPT_TEXT("--allocation-strategy", native_options, allocation_strategy,
                 .choices = STRATEGIES,
                 .help = "when the engine allocates memory for intermediate tensors: static, at "
                         "start, for the largest shapes of all profiles; profile, at start, for "
                         "the largest shapes of the profile in use (--optimization-profile, or the "
                         "only one); runtime, which is the default, for the shapes of each run"),
    PGY_OPT_END,
};

/* ---- Checks --------------------------------------------------------------------------------- */

void native_options_defaults(void *options)
{
    ((native_options *)options)->profile = -1;
}

pgy_allocation native_options_allocation(const native_options *o)
{
    const char *name = o->allocation_strategy;
    if (name && !strcmp(name, "static")) return PGY_ALLOCATION_STATIC;
    if (name && !strcmp(name, "profile")) return PGY_ALLOCATION_PROFILE;
    return PGY_ALLOCATION_RUNTIME;
}

pgy_status native_options_check(size_t *profile, const native_options *o, size_t count,
                                pgy_error *err)
{
    *profile = PROFILE_ANY;
    if (o->profile == -1) return PGY_OK;
    if (o->profile < 0 || (uint64_t)o->profile >= count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "trt.optimization_profile: profile %lld does not exist; the engine "
                             "has %zu, counted from 0",
                             (long long)o->profile, count);
    *profile = (size_t)o->profile;
    return PGY_OK;
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

/* Adds the flags of the configuration under TensorRT's names. */
static void put_flags(str *out, const pgy_build_config *c)
{
    static const char *const CONSTRAINTS[] = {
        [PGY_CONSTRAINTS_PREFER] = "PREFER_PRECISION_CONSTRAINTS",
        [PGY_CONSTRAINTS_OBEY] = "OBEY_PRECISION_CONSTRAINTS",
    };
    const char *items[64];
    pgy_name_list list = {.items = items};
    for (size_t i = 0; i < config_field_count() && list.count < 64; i++) {
        const config_field *f = config_field_at(i);
        const void *at = (const char *)c + f->offset;
        if (f->kind == CONFIG_FLAG && f->log && *(const bool *)at) items[list.count++] = f->log;
        if (at == &c->constraints && c->constraints)
            items[list.count++] = CONSTRAINTS[c->constraints];
    }
    put_names(out, "Flags", &list);
}

/* Adds a line to the summary: a title and an enumerator under TensorRT's name. */
static void put_value(str *out, const char *title, const char *enumeration, const char *field,
                      int value)
{
    const char *name = config_field_find(field)->names[value];
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
    if (!pgy_log_is_on(PGY_LOG_INFO, ORIGINAL_PATH)) return;
    if (!c) c = &NONE;
    profiles_text(&text, profiles);
    LOG_ORIGINAL(INFO, "Configuring with profiles:[\n%s\n]", str_text(&text));
    str_deinit(&text);
    put_flags(&text, c);
    put_value(&text, "Engine Capability", "EngineCapability", "engine_capability",
              (int)c->engine_capability);
    if (c->has_workspace_limit) put_pools(&text, c);
    put_value(&text, "Profiling Verbosity", "ProfilingVerbosity", "profiling_verbosity",
              (int)c->profiling_verbosity);
    if (profiles_count(profiles) > 1) {
        str count = {0};
        str_printf(&count, "%zu profile(s)", profiles_count(profiles));
        put_row(&text, "Optimization Profiles", str_text(&count));
        str_deinit(&count);
    }
    if (c->preview_features.count) put_names(&text, "Preview Features", &c->preview_features);
    if (c->int8 && c->calibration) put_row(&text, "Calibrator", CALIBRATORS[c->calibration->kind]);
    if (c->quantization_flags.count) put_names(&text, "Quantization Flags", &c->quantization_flags);
    LOG_ORIGINAL(INFO, "Building engine with configuration:%s", str_text(&text));
    str_deinit(&text);
}
