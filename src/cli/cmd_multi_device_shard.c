/* SPDX-License-Identifier: Apache-2.0 */
/* multi-device shard: divides a model among several devices. Dividing sequences gives one model
 * with collectives; dividing weights gives one model per device. */
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/groups/model.h"
#include "cli/groups/shard.h"

static const char LOG_PATH[] = "tools/multi_device/subtool/shard.py";

typedef struct shard_command_args {
    const char *hints, *output;
    bool one_shot;
} shard_command_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-s --hint", shard_command_args, hints, .required = true, .exclusive = "hints",
                 .opens = true, .meta = "PATH",
                 .help = "file of hints that 'template shard-hints' wrote"),
    PGY_OPT_FLAG("--one-shot", shard_command_args, one_shot, .required = true, .exclusive = "hints",
                 .help = "create the hints from the model and the options below"),
    PGY_OPT_TEXT("-o --output", shard_command_args, output, .required = true, .meta = "PATH",
                 .help = "file for the model; tensor parallelism writes one file "
                         "NAME_tp<N>_rank<i>.onnx for each device"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(shard_command_args)};
static const option_group *const GROUPS[] = {&OWN,
                                             &GROUP_LOGGING,
                                             &GROUP_MODEL_FILE,
                                             &GROUP_ONNX_SHAPE,
                                             &GROUP_ONNX_READ,
                                             &GROUP_ONNX_WRITE,
                                             &GROUP_SHARD,
                                             NULL};

static void log_hints(const pgy_shard_hints *h)
{
    str groups = {0};
    for (size_t i = 0; i < h->group_count; i++)
        str_printf(&groups, "%s%lld", i ? ", " : "", (long long)h->groups[i]);
    LOG(INFO, "Loaded hints: parallelism=%s, group_size=%lld, root=%lld, groups=[%s]",
        h->parallelism == PGY_PARALLEL_TENSOR ? "TP" : "CP", (long long)h->group_size,
        (long long)h->root, str_text(&groups));
    str_deinit(&groups);
}

static pgy_status get_hints(pgy_shard_hints **out, const args *line, const pgy_gs_graph *g,
                            pgy_error *err)
{
    const shard_command_args *s = args_get(line, &OWN);
    const shard_args *shard = ARGS_OF(line, shard_args);
    if (!s->hints) return pgy_shard_suggest(out, g, &shard->options, err);
    LOG(INFO, "Loading sharding hints from: %s", s->hints);
    LOG(INFO, "Loading shard hints from %s", s->hints);
    const pgy_status st = pgy_shard_hints_load(out, s->hints, err);
    if (!st) log_hints(*out);
    return st;
}

static pgy_status save(pgy_gs_graph *g, const args *line, const char *path, bool external,
                       pgy_error *err)
{
    const onnx_save_args *s = ARGS_OF(line, onnx_save_args);
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = external;
    o.size_threshold = s->threshold;
    return model_save_graph(g, line, path, external ? &o : NULL, err);
}

/* "dir/name.onnx": "dir/name_tp4_rank0.onnx" */
static pgy_status save_rank(pgy_gs_graph *g, const args *line, const pgy_shard_hints *h,
                            int64_t rank, pgy_error *err)
{
    const shard_command_args *s = args_get(line, &OWN);
    const char *extension = path_extension(s->output);
    str path = {0};
    str_append_n(&path, s->output, strlen(s->output) - strlen(extension));
    str_printf(&path, "_tp%lld_rank%lld%s", (long long)h->nb_rank, (long long)rank,
               *extension ? extension : ".onnx");
    LOG(INFO, "Saving rank %lld graph", (long long)rank);
    const pgy_status st = path.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                                      : save(g, line, str_text(&path), true, err);
    str_deinit(&path);
    return st;
}

static pgy_status divide_weights(pgy_gs_graph *g, const args *line, const pgy_shard_hints *h,
                                 pgy_error *err)
{
    const onnx_save_args *s = ARGS_OF(line, onnx_save_args);
    pgy_status st = PGY_OK;
    if (s->one_file_per_tensor)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--no-save-all-tensors-to-one-file cannot be combined with tensor "
                             "parallelism, which stores one file of weights for each rank");
    if (s->external.count && *s->external.items[0])
        LOG(WARNING,
            "--save-external-data: the name '%s' has no effect: each rank has its own file",
            s->external.items[0]);
    for (int64_t rank = 0; !st && rank < h->nb_rank; rank++) {
        pgy_gs_graph *part = NULL;
        st = pgy_gs_copy(&part, g, err);
        if (!st) st = pgy_shard_tensors(part, h, rank, err);
        if (!st) st = save_rank(part, line, h, rank, err);
        pgy_gs_destroy(part);
    }
    return st;
}

static pgy_status divide(pgy_gs_graph *g, const args *line, pgy_error *err)
{
    const shard_command_args *s = args_get(line, &OWN);
    const shard_args *shard = ARGS_OF(line, shard_args);
    pgy_shard_hints *hints = NULL;
    pgy_status st = pgy_shard_name_nodes(g, err);
    if (!st) st = get_hints(&hints, line, g, err);
    if (!st && hints->parallelism == PGY_PARALLEL_TENSOR) {
        st = divide_weights(g, line, hints, err);
    } else if (!st) {
        st = pgy_shard_context(g, hints, shard->options.pattern, err);
        if (!st) st = save(g, line, s->output, false, err);
    }
    pgy_shard_hints_destroy(hints);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_gs_graph *graph = NULL;
    (void)passed;
    pgy_status st = model_loader(&loader, line, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = pgy_gs_import(&graph, model, err);
    if (!st) st = divide(graph, line, err);
    pgy_gs_destroy(graph);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

const command COMMAND_multi_device_shard = {
    .tool = "multi-device",
    .subtool = "shard",
    .summary = "Divide a model among devices according to hints.",
    .description = "Divide a model among devices. Context parallelism: each device processes a "
                   "part of the sequences, and the model gets collectives. Tensor parallelism: "
                   "each device has a part of the weights and its own model.",
    .groups = GROUPS,
    .run = run,
};
