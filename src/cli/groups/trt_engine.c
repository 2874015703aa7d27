/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, caches and the runtime that reads them. */
#include "cli/groups/trt.h"

#define CACHE_ROW                                                                           \
    PGY_OPT_TEXT("--save-timing-cache", trt_engine_args, save_timing_cache, .meta = "PATH", \
                 .help = "file to add measured times to")

static const pgy_option RUN_OPTIONS[] = {
    CACHE_ROW,
    PGY_OPT_TEXT("--load-runtime", trt_engine_args, load_runtime, .meta = "PATH",
                 .help = "lean runtime library; no effect: plans run in the built-in engine"),
    PGY_OPT_TEXT("--dla-workspace-allocation-strategy", trt_engine_args, dla_strategy,
                 .meta = "NAME", .help = "no effect on a CPU"),
    PGY_OPT_END,
};
static const pgy_option CONVERT_OPTIONS[] = {CACHE_ROW, PGY_OPT_END};

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    (void)line;
    trt_engine_args *s = settings;
    if (!s->dla_strategy) return PGY_OK;
    return trt_name(&s->dla_strategy, s->dla_strategy, &TRT_DLA_STRATEGIES, err);
}

#define ENGINE_GROUP(table)                                                                     \
    {                                                                                           \
        .title = "Engine Files", .description = "Options related to plans and caches of --trt", \
        .options = table, ARGS_TYPE(trt_engine_args), .finish = finish                          \
    }
const option_group GROUP_TRT_ENGINE = ENGINE_GROUP(RUN_OPTIONS);
const option_group GROUP_TRT_ENGINE_CONVERT = ENGINE_GROUP(CONVERT_OPTIONS);
