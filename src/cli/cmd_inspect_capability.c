/* SPDX-License-Identifier: Apache-2.0 */
/* inspect capability: checks whether the model can run here. If not, it lists the unsupported nodes
 * and saves the parts between them as models of their own. */
#include <polygraphy/capability.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/args/values.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"

static const char LOG_PATH[] = "tools/inspect/subtool/capability.py";
static const char ENGINE[] = "the built-in engine"; /* the runtime to check for */

typedef struct capability_args {
    bool partition, operators, one_file_per_tensor, no_inference;
    const char *folder, *json, *threshold_text;
    uint64_t threshold;
    pgy_text_list suffixes; /* values of --save-external-data: suffixes of the data files */
} capability_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_FLAG("--with-partitioning", capability_args, partition,
                 .help = "summarise the unsupported nodes by part of the model, not by node; the "
                         "parts are saved in both cases"),
    PGY_OPT_FLAG("--operators", capability_args, operators,
                 .help = "list all supported operators and their versions in a table"),
    PGY_OPT_TEXT("-o --output", capability_args, folder, .meta = "FOLDER",
                 .help = "folder for the summary and the parts if a node is not supported; default "
                         "{program}_capability_dumps"),
    PGY_OPT_TEXT("--json", capability_args, json, .meta = "PATH",
                 .help = "save the unsupported nodes and the parts as JSON to this file"),
    PGY_OPT_APPEND("--save-external-data --external-data-path", capability_args, suffixes,
                   .nargs = PGY_OPTIONAL, .constant = "_ext_data", .meta = "SUFFIX",
                   .help = "store the weights of each part in a separate file, named after the "
                           "part and this suffix; default _ext_data"),
    PGY_OPT_TEXT("--external-data-size-threshold", capability_args, threshold_text, .meta = "BYTES",
                 .help = "smallest weight that is stored outside the model; K, M and G may follow "
                         "the number; default 1024"),
    PGY_OPT_FLAG("--no-save-all-tensors-to-one-file", capability_args, one_file_per_tensor,
                 .help = "store each external weight in its own file"),
    PGY_OPT_FLAG("--no-shape-inference", capability_args, no_inference, .hidden = true,
                 .deprecated =
                     "has no effect any more; shapes are inferred with --shape-inference"),
    PGY_OPT_END,
};

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    capability_args *s = settings;
    if (!s->folder)
        s->folder = arena_printf(&line->memory, "%s_capability_dumps", line->dialect->program);
    if (!s->folder) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    s->threshold = 1024;
    if (!s->suffixes.given && (s->threshold_text || s->one_file_per_tensor))
        LOG(WARNING, "--external-data-size-threshold and --no-save-all-tensors-to-one-file have no "
                     "effect without --save-external-data");
    return s->threshold_text ? value_bytes(&s->threshold, s->threshold_text,
                                           "--external-data-size-threshold", err)
                             : PGY_OK;
}

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(capability_args), .finish = finish};
static const option_group *const GROUPS[] = {&OWN,
                                             &GROUP_LOGGING,
                                             &GROUP_MODEL_OPTIONAL,
                                             &GROUP_ONNX_SHAPE,
                                             &GROUP_ONNX_READ,
                                             &GROUP_OPERATORS,
                                             NULL};

/* ---- Saving --------------------------------------------------------------------------------- */

static pgy_status save_part(const capability_args *s, pgy_graph *g, const pgy_capability_part *part,
                            pgy_error *err)
{
    pgy_model *model = NULL;
    char name[96], weights[256];
    snprintf(name, sizeof name, "%ssupported_subgraph-nodes-%zu-%zu.onnx",
             part->supported ? "" : "un", part->first, part->end - 1);
    char *path = path_join(s->folder, name);
    if (!path) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = s->suffixes.given;
    o.size_threshold = s->threshold;
    o.one_file_per_tensor = s->one_file_per_tensor;
    if (s->suffixes.given) {
        snprintf(weights, sizeof weights, "%.*s%s", (int)(strlen(name) - strlen(".onnx")), name,
                 s->suffixes.items[0]);
        o.external_data_path = weights;
    }
    pgy_status st = pgy_graph_extract(&model, g, part->first, part->end, err);
    if (!st) LOG(INFO, "Saving ONNX model to: %s", path);
    if (!st) st = pgy_model_save(model, path, &o, err);
    pgy_model_destroy(model);
    mem_free(path);
    return st;
}

static pgy_status save_text(const capability_args *s, const char *text, pgy_error *err)
{
    char *path = path_join(s->folder, "results.txt");
    if (!path) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    LOG(INFO, "Saving results to %s", path);
    const pgy_status st = file_write_all(path, text, strlen(text), err);
    mem_free(path);
    return st;
}

static pgy_status save_json(const capability_args *s, const pgy_unsupported *rows, size_t row_count,
                            const pgy_capability_part *parts, size_t count, pgy_error *err)
{
    char *text = NULL;
    pgy_status st = pgy_capability_json(&text, rows, row_count, parts, count, err);
    if (!st) LOG(INFO, "Saving the parts to %s", s->json);
    if (!st) st = file_write_all(s->json, text, strlen(text), err);
    pgy_text_free(text);
    return st;
}

/* ---- The command ---------------------------------------------------------------------------- */

static pgy_status report(const capability_args *s, pgy_graph *g, const pgy_unsupported *rows,
                         size_t row_count, const pgy_capability_part *parts, size_t count,
                         pgy_error *err)
{
    char *text = NULL;
    pgy_status st = s->partition ? pgy_capability_parts_text(&text, parts, count, err)
                                 : pgy_unsupported_text(&text, rows, row_count, err);
    if (!st) LOG(INFO, "%s", text);
    for (size_t i = 0; !st && i < count; i++) st = save_part(s, g, &parts[i], err);
    if (!st) st = save_text(s, text, err);
    pgy_text_free(text);
    return st;
}

static pgy_status examine(const capability_args *s, pgy_model *model, pgy_error *err)
{
    pgy_graph *graph = NULL;
    const pgy_unsupported *rows = NULL;
    const pgy_capability_part *parts = NULL;
    size_t count = 0, part_count = 0;
    pgy_status st = pgy_graph_import(&graph, model, err);
    if (!st) st = pgy_graph_sort(graph, err);
    if (!st) st = pgy_graph_capability(&rows, &count, graph, err);
    if (!st && (count || s->json))
        st = pgy_graph_partition(&parts, &part_count, graph, rows, count, err);
    if (!st && s->json) st = save_json(s, rows, count, parts, part_count, err);
    if (!st && count)
        st = report(s, graph, rows, count, parts, part_count, err);
    else if (!st)
        LOG(INFO, "Graph is fully supported by %s; %sWill not generate subgraphs.", ENGINE,
            s->partition ? "" : "Will not report errors. ");
    pgy_graph_destroy(graph);
    return st;
}

static pgy_status list_operators(pgy_error *err)
{
    char *text = NULL;
    const pgy_status st = pgy_operators_text(&text, err);
    if (!st) fputs(text, stdout);
    pgy_text_free(text);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const capability_args *s = args_get(line, &OWN);
    const model_args *given = args_get(line, &GROUP_MODEL_OPTIONAL);
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    if (s->operators) return list_operators(err);
    if (!given->path)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "expected a model file, or --operators to list the supported operators");
    pgy_status st = model_loader(&loader, line, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = examine(s, model, err);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

const command COMMAND_inspect_capability = {
    .tool = "inspect",
    .subtool = "capability",
    .summary = "Show whether a model can run, and which of its nodes are not supported.",
    .description =
        "Show whether the built-in reference can run a model. If it cannot run some nodes, list "
        "them with the reason, and save the supported and the unsupported parts of the model.",
    .groups = GROUPS,
    .run = run,
};
