/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, caches and the runtime that reads them. */
#include <stdlib.h>
#include <string.h>

#include "cli/args/values.h"
#include "cli/groups/trt.h"

#define CACHE_ROW                                                                           \
    PGY_OPT_TEXT("--save-timing-cache", trt_engine_args, save_timing_cache, .meta = "PATH", \
                 .help = "timing cache to which the builder adds its measurements")

static const pgy_option RUN_OPTIONS[] = {
    CACHE_ROW,
    PGY_OPT_TEXT(
        "--load-runtime", trt_engine_args, load_runtime, .meta = "PATH",
        .help = "lean runtime library of TensorRT; no effect: plans run in the built-in engine"),
    PGY_OPT_TEXT("--dla-workspace-allocation-strategy", trt_engine_args, dla_strategy,
                 .meta = "NAME", .help = "no effect on a CPU"),
    PGY_OPT_TEXT("--weight-streaming-budget", trt_engine_args, weight_budget, .meta = "BYTES",
                 .help = "GPU memory for streamed weights: -2 (off), -1 (automatic), a percentage "
                         "such as 50%, or a number of bytes; no effect on a CPU"),
    PGY_OPT_END,
};
static const pgy_option CONVERT_OPTIONS[] = {CACHE_ROW, PGY_OPT_END};

/* "50%" as a number. */
static bool read_percent(double *out, const char *text)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && strcmp(end, "%") == 0 && *out >= 0 && *out <= 100;
}

static pgy_status read_budget(trt_engine_args *s, pgy_error *err)
{
    const char *text = s->weight_budget;
    if (!strcmp(text, "-2")) {
        s->budget = PGY_WEIGHT_BUDGET_ALL;
    } else if (!strcmp(text, "-1")) {
        s->budget = PGY_WEIGHT_BUDGET_AUTOMATIC;
    } else if (read_percent(&s->budget_percent, text)) {
        s->budget = PGY_WEIGHT_BUDGET_PERCENT;
    } else if (!value_bytes(&s->budget_bytes, text, "--weight-streaming-budget", NULL)) {
        s->budget = PGY_WEIGHT_BUDGET_BYTES;
    } else {
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "--weight-streaming-budget is '%s'; expected -2, -1, a percentage from "
            "0%% to 100%%, or a number of bytes such as 512M",
            text);
    }
    return PGY_OK;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    (void)line;
    trt_engine_args *s = settings;
    const pgy_status st = s->weight_budget ? read_budget(s, err) : PGY_OK;
    if (st || !s->dla_strategy) return st;
    return trt_name(&s->dla_strategy, s->dla_strategy, &TRT_DLA_STRATEGIES, err);
}

#define ENGINE_GROUP(table)                                                                     \
    {                                                                                           \
        .title = "Engine Files", .description = "Options related to plans and caches of --trt", \
        .options = table, ARGS_TYPE(trt_engine_args), .finish = finish                          \
    }
const option_group GROUP_TRT_ENGINE = ENGINE_GROUP(RUN_OPTIONS);
const option_group GROUP_TRT_ENGINE_CONVERT = ENGINE_GROUP(CONVERT_OPTIONS);
