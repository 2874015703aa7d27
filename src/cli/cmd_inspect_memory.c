/* SPDX-License-Identifier: Apache-2.0 */
/* inspect memory: shows the live ranges of tensors while a model runs, the peak, and the tensors
 * alive at the peak. */
#include <polygraphy/memory.h>

#include "base/log.h"
#include "base/pytext.h"
#include "cli/args/values.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"

static const char LOG_PATH[] = "cli/cmd_inspect_memory.c";

typedef struct inspect_memory_args {
    bool all, in_place, sort, free_inputs, with_weights;
    const char *json, *limit_text;
    uint64_t limit;
} inspect_memory_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_FLAG("-a --all", inspect_memory_args, all,
                 .help = "show all nodes, and all tensors that are live at the peak"),
    PGY_OPT_TEXT("--json", inspect_memory_args, json, .meta = "PATH",
                 .help = "save nodes, tensors and totals as JSON to this file"),
    PGY_OPT_FLAG(
        "--in-place", inspect_memory_args, in_place,
        .help = "let elementwise operators write into an input whose live range ends there, and "
                "let outputs of Reshape and similar operators share the memory of their input"),
    PGY_OPT_FLAG("--sort", inspect_memory_args, sort,
                 .help = "assume topological order of the nodes instead of the file's order"),
    PGY_OPT_FLAG("--free-inputs", inspect_memory_args, free_inputs,
                 .help = "free the model's inputs after their last use"),
    PGY_OPT_TEXT(
        "--limit", inspect_memory_args, limit_text, .meta = "BYTES",
        .help = "exit with status 1 if the peak exceeds this; K, M and G may follow the number"),
    PGY_OPT_FLAG("--with-weights", inspect_memory_args, with_weights,
                 .help = "add the weights to the peak that --limit checks"),
    PGY_OPT_END,
};

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    (void)line;
    inspect_memory_args *s = settings;
    return s->limit_text ? value_bytes(&s->limit, s->limit_text, "--limit", err) : PGY_OK;
}

static const option_group OWN = {
    .options = OPTIONS, ARGS_TYPE(inspect_memory_args), .finish = finish};
static const option_group *const GROUPS[] = {
    &OWN, &GROUP_LOGGING, &GROUP_MODEL_DATA, &GROUP_ONNX_READ, &GROUP_OPERATORS, NULL};

/* Appends "image:[?,1,8,8]" for every input with dynamic dimensions. */
static void append_open_inputs(str *out, const pgy_memory *m)
{
    for (size_t i = 0; i < pgy_memory_tensor_count(m); i++) {
        const pgy_memory_tensor *t = pgy_memory_tensor_at(m, i);
        if (!t->is_input || !t->unknown_why || t->rank < 0) continue;
        str_printf(out, " %s:[", t->name);
        for (int32_t d = 0; d < t->rank; d++) {
            if (d) str_append_char(out, ',');
            if (t->shape[d] < 0)
                str_append_char(out, '?');
            else
                str_printf(out, "%lld", (long long)t->shape[d]);
        }
        str_append_char(out, ']');
    }
}

static void report_unknown(const pgy_memory *m)
{
    const size_t count = pgy_memory_summarize(m)->unknown_count;
    const pgy_memory_tensor *first = pgy_memory_unknown_at(m, 0);
    str open = {0};
    append_open_inputs(&open, m);
    if (open.size)
        LOG(ERROR,
            "The peak is larger: %zu tensor size%s unknown, because inputs have dynamic "
            "dimensions. Give their shapes with --input-shapes%s",
            count, count == 1 ? " is" : "s are", str_text(&open));
    else
        LOG(ERROR,
            "The peak is larger: %zu tensor size%s unknown and without an upper bound. The first: "
            "'%s': %s",
            count, count == 1 ? " is" : "s are", first->name, first->unknown_why);
    str_deinit(&open);
}

static bool keeps_limit(const pgy_memory *m, const inspect_memory_args *s)
{
    const pgy_memory_summary *sum = pgy_memory_summarize(m);
    const uint64_t bytes = sum->peak_bytes + (s->with_weights ? sum->weight_bytes : 0);
    bool good = true;
    if (sum->unknown_count) {
        report_unknown(m);
        good = false;
    }
    if (s->limit_text && bytes > s->limit) {
        str text = {0};
        str_append_bytes(&text, bytes - s->limit);
        LOG(ERROR, "The peak of %s%llu bytes exceeds the limit of %llu bytes by %s",
            sum->bound_count && !sum->unknown_count ? "at most " : "", (unsigned long long)bytes,
            (unsigned long long)s->limit, str_text(&text));
        str_deinit(&text);
        good = false;
    }
    return good;
}

static pgy_status show(const pgy_memory *m, const inspect_memory_args *s, const char *path,
                       pgy_error *err)
{
    const pgy_memory_report_options o = {.size = sizeof o,
                                         .model = path,
                                         .all = s->all,
                                         .more = ", see --all",
                                         .sort_advice = ": --sort uses one that can"};
    char *text = NULL;
    pgy_status st = pgy_memory_text(&text, m, &o, err);
    if (!st) LOG(INFO, "%s", text);
    if (!st && s->json) st = pgy_memory_save_json(m, s->json, &o, err);
    if (!st && s->json) LOG(INFO, "Saving the timeline to %s", s->json);
    pgy_text_free(text);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const inspect_memory_args *s = args_get(line, &OWN);
    const model_args *given = args_get(line, &GROUP_MODEL_DATA);
    const pgy_memory_options o = {.size = sizeof o,
                                  .inputs = given->shapes,
                                  .sort = s->sort,
                                  .in_place = s->in_place,
                                  .free_inputs = s->free_inputs};
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_graph *graph = NULL;
    pgy_memory *memory = NULL;
    pgy_status st = model_loader(&loader, line, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = pgy_graph_import(&graph, model, err);
    if (!st) st = pgy_memory_create(&memory, graph, &o, err);
    if (!st) st = show(memory, s, given->path, err);
    if (!st) *passed = keeps_limit(memory, s);
    pgy_memory_destroy(memory);
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

const command COMMAND_inspect_memory = {
    .tool = "inspect",
    .subtool = "memory",
    .summary = "Show how much memory the tensors of an ONNX model need.",
    .description = "Show the memory that the tensors of an ONNX model need when it runs node by "
                   "node: the peak, the tensors that are live there, and the total after each "
                   "node. The exit status is 1 if the peak exceeds --limit or a size is unknown.",
    .groups = GROUPS,
    .run = run,
};
