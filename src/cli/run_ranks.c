/* SPDX-License-Identifier: Apache-2.0 */
/* Models, devices and runners of ranks. If the line names a file "<stem>_tp<N>_rank<i>.onnx", as
 * 'multi-device shard' writes them, each rank loads the one with its own number; all ranks load any
 * other file. */
#include "cli/run_ranks.h"

#include <polygraphy/timing_cache.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/str.h"
#include "base/system.h"
#include "cli/groups/decode.h"
#include "cli/groups/model.h"
#include "cli/groups/script.h"
#include "cli/groups/trt.h"

static const char LOG_PATH[] = "cli/run_ranks.c";

static const pgy_option OPTIONS[] = {
    PGY_OPT_INT("--ranks", ranks_args, ranks, .meta = "N",
                .help = "run a model that 'multi-device shard' divided: N ranks, each in a thread "
                        "of its own, and with --device cuda on a GPU of its own. Of a file "
                        "<name>_tp<N>_rank<i>.onnx each rank runs its own. The outputs are those "
                        "of rank 0; it is an error if those of other ranks differ, unless they are "
                        "parts. Default 1"),
    PGY_OPT_END,
};

static void set_defaults(void *settings)
{
    *(ranks_args *)settings = (ranks_args){.ranks = 1};
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    const ranks_args *s = settings;
    (void)line;
    if (s->ranks >= 1 && s->ranks <= PGY_MAX_RANKS) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT, "argument --ranks: %lld; expected 1 to %d",
                         (long long)s->ranks, PGY_MAX_RANKS);
}

const option_group GROUP_RANKS = {.title = "Ranks",
                                  .description = "Options related to models divided among devices",
                                  .options = OPTIONS,
                                  ARGS_TYPE(ranks_args),
                                  .defaults = set_defaults,
                                  .finish = finish};

bool ranks_are_asked(const args *line)
{
    return ARGS_OF(line, ranks_args)->ranks > 1;
}

/* ---- Checks --------------------------------------------------------------------------------- */

static pgy_status check_runners(const args *line, pgy_error *err)
{
    const runner_args *runners = ARGS_OF(line, runner_args);
    for (size_t i = 0; i < runners->names.count; i++)
        if (!runner_has(runners->names.items[i], PGY_BACKEND_RUNS_RANKS))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "argument --ranks: --%s cannot run the ranks of a divided model; "
                                 "use --trt or --opref",
                                 runners->names.items[i]);
    return PGY_OK;
}

pgy_status run_ranks_check(const args *line, pgy_error *err)
{
    const model_args *model = ARGS_OF(line, model_args);
    const char *const *plan = runner_option(line, "trt", "--save-engine");
    const struct {
        bool given;
        const char *what;
    } OTHERS[] = {
        {script_is_asked_for(line), "a script cannot make ranks"},
        {decode_is_asked(line), "decoding does not run several ranks"},
        {model_is_engine(model), "a plan is of one rank: give the model"},
        {plan && *plan, "--save-engine writes one plan, and each rank has its own"},
        {model_is_edited(line) || trt_model_is_edited(line),
         "options that change the model or save it do not apply to the models of ranks; change "
         "them with 'convert' or 'surgeon' first"},
    };
    if (!ranks_are_asked(line)) return PGY_OK;
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (OTHERS[i].given)
            return pgy_error_set(err, PGY_E_ARGUMENT, "argument --ranks: %s", OTHERS[i].what);
    return check_runners(line, err);
}

/* ---- Models --------------------------------------------------------------------------------- */

/* Finds "_tp<ranks>_rank<i>" before the extension: *begin is where <i> begins, *end where it ends.
 */
static bool find_rank(const char **begin, const char **end, unsigned long *ranks, const char *path)
{
    static const char TP[] = "_tp", RANK[] = "_rank";
    const char *name = strrchr(path, '/'), *found = NULL;
    char *stop;
    for (const char *at = name ? name : path; (at = strstr(at, TP)) != NULL; at++) found = at;
    if (!found) return false;
    *ranks = strtoul(found + strlen(TP), &stop, 10);
    if (stop == found + strlen(TP) || strncmp(stop, RANK, strlen(RANK)) != 0) return false;
    *begin = stop + strlen(RANK);
    *end = *begin + strspn(*begin, "0123456789");
    return *end > *begin && (**end == '.' || !**end);
}

static pgy_status rank_path(str *out, const char *path, size_t rank, size_t count, pgy_error *err)
{
    const char *begin, *end;
    unsigned long ranks;
    if (!find_rank(&begin, &end, &ranks, path)) {
        str_append(out, path);
    } else if (ranks != count) {
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --ranks: '%s' is a model for %lu ranks, but %zu are to run",
                             path, ranks, count);
    } else {
        str_printf(out, "%.*s%zu%s", (int)(begin - path), path, rank, end);
    }
    return out->failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
}

static pgy_status load_rank(run_ranks *r, size_t rank, const args *line, size_t *collectives,
                            pgy_error *err)
{
    const onnx_load_args *load = ARGS_OF(line, onnx_load_args);
    const pgy_model_load_options options = {.size = sizeof options,
                                            .external_data_dir = load->external_data_dir,
                                            .allow_outside = load->allow_outside};
    pgy_model *model = NULL;
    str path = {0};
    pgy_status st = rank_path(&path, ARGS_OF(line, model_args)->path, rank, r->count, err);
    if (!st) st = pgy_model_load(&model, str_text(&path), &options, err);
    if (!st) st = pgy_graph_import(&r->graphs[rank], model, err);
    if (!st) st = pgy_graph_set_ranks(r->graphs[rank], (int64_t)r->count, collectives, err);
    if (!st) st = pgy_graph_export(&r->models[rank], r->graphs[rank], err);
    pgy_model_destroy(model);
    str_deinit(&path);
    return st;
}

static void log_parts(const run_ranks *r)
{
    for (size_t i = 0; i < r->part_count; i++)
        LOG(INFO, "Output '%s' differs between ranks: only that of rank 0 is compared",
            r->parts[i]);
}

pgy_status run_ranks_load(run_ranks *r, const args *line, pgy_error *err)
{
    pgy_status st = PGY_OK;
    size_t collectives = 0;
    if (!ranks_are_asked(line) || !ARGS_OF(line, model_args)->path) return PGY_OK;
    r->count = (size_t)ARGS_OF(line, ranks_args)->ranks;
    /* As the library does (device/cuda/nccl.c), but before there are other threads that may read
     * the environment. */
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    for (size_t i = 0; !st && i < r->count; i++) st = load_rank(r, i, line, &collectives, err);
    if (!st) st = pgy_graph_find_parts(&r->parts, &r->part_count, r->graphs, r->count, err);
    if (!st) st = pgy_timing_cache_create(&r->times, err);
    if (st) return st;
    if (!collectives)
        LOG(WARNING, "The model has no DistCollective node: each rank runs on its own");
    log_parts(r);
    return PGY_OK;
}

void run_ranks_release(run_ranks *r)
{
    for (size_t i = 0; i < r->count; i++) {
        pgy_model_destroy(r->models[i]);
        pgy_graph_destroy(r->graphs[i]);
    }
    pgy_timing_cache_destroy(r->times);
    *r = (run_ranks){0};
}

/* ---- Configurations and runners ------------------------------------------------------------- */

/* "cuda" and "cuda:2" are the GPU of rank 0. */
static pgy_status place(run_ranks *r, size_t rank, pgy_error *err)
{
    pgy_name_list *devices = &r->config.devices;
    if (!devices->count) return PGY_OK;
    const char *name = devices->items[0];
    if (devices->count > 1 || strncmp(name, "cuda", 4) != 0)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "argument --device: with --ranks it is 'cuda', or the GPU of rank 0 as "
            "'cuda:2'");
    const unsigned long first = name[4] == ':' ? strtoul(name + 5, NULL, 10) : 0;
    snprintf(r->device, sizeof r->device, "cuda:%lu", first + rank);
    r->device_name = r->device;
    *devices = (pgy_name_list){.items = &r->device_name, .count = 1};
    return PGY_OK;
}

pgy_status run_ranks_config(const pgy_build_config **out, run_ranks *r, size_t rank,
                            const pgy_build_config *config, pgy_error *err)
{
    r->config = *config;
    if (!r->config.timing_cache) r->config.timing_cache = r->times;
    if (!r->config.threads) r->config.threads = (cpu_count() + r->count - 1) / r->count;
    const pgy_status st = place(r, rank, err);
    if (!st) *out = &r->config;
    return st;
}

static pgy_status join(pgy_runner ***out, pgy_runner **const *made, size_t runners,
                       const run_ranks *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    pgy_runner **joined = mem_calloc(runners + 1, sizeof *joined);
    if (!joined) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < runners; i++) {
        pgy_runner *ranks[PGY_MAX_RANKS];
        for (size_t k = 0; k < r->count; k++) {
            ranks[k] = made[k][i];
            made[k][i] = NULL; /* taken over */
        }
        st = pgy_runner_create_ranks(&joined[i], ranks, r->count, r->parts, r->part_count, err);
    }
    if (st)
        runners_destroy(joined, runners);
    else
        *out = joined;
    return st;
}

pgy_status run_ranks_create(pgy_runner ***out, size_t *count, const args *line,
                            const runner_maker *maker, const run_ranks *r, size_t *current,
                            pgy_error *err)
{
    pgy_runner **made[PGY_MAX_RANKS] = {NULL};
    size_t runners = 0;
    pgy_status st = PGY_OK;
    if (!r->count) return runners_create(out, count, line, maker, err);
    for (size_t i = 0; !st && i < r->count; i++) {
        *current = i;
        st = runners_create(&made[i], &runners, line, maker, err);
    }
    if (!st) st = join(out, made, runners, r, err);
    if (!st) *count = runners;
    for (size_t i = 0; i < r->count; i++) runners_destroy(made[i], runners);
    return st;
}
