/* SPDX-License-Identifier: Apache-2.0 */
/* surgeon cut: some nodes of a model as a model of their own. The whole model runs once,
 * and what the tensors at the borders hold is saved beside the part, so that it can be run at once.
 */
#include <polygraphy/compare.h>
#include <polygraphy/cut.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/record.h"
#include "cli/surgeon.h"

static const char LOG_PATH[] = "tools/surgeon/subtool/cut.py";

enum { MAX_LOOPS = 32 };

typedef struct cut_args {
    const char *output, *subgraph;
    pgy_text_list nodes, modules, from, to, iterations;
    int64_t times[MAX_LOOPS]; /* of `iterations` */
    bool onnxrt, no_record;
} cut_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", cut_args, output, .required = true, .meta = "PATH",
                 .help = "where to save the part; the values at its borders go beside it"),
    PGY_OPT_LIST("--nodes", cut_args, nodes, .nargs = PGY_ONE_OR_MORE, .meta = "NAME",
                 .help = "nodes of the part: names (of a node without one: that of its first "
                         "output), wildcards, or paths into subgraphs and into functions, by "
                         "the name of a call, as in If_3/then_branch/Add_2 or block_1/MatMul"),
    PGY_OPT_LIST("--module", cut_args, modules, .nargs = PGY_ONE_OR_MORE, .meta = "PATH",
                 .help =
                     "all nodes of a module, as in encoder.layer.0: those whose name begins so, "
                     "or whose scopes, as PyTorch notes them, have it"),
    PGY_OPT_LIST("--from", cut_args, from, .nargs = PGY_ONE_OR_MORE, .meta = "TENSOR",
                 .help = "only what depends on one of these tensors"),
    PGY_OPT_LIST("--to", cut_args, to, .nargs = PGY_ONE_OR_MORE, .meta = "TENSOR",
                 .help = "only what one of these tensors depends on; they become the outputs"),
    PGY_OPT_TEXT("--subgraph", cut_args, subgraph, .meta = "PATH",
                 .help = "the names above are of this subgraph, as in If_3/then_branch, or of the "
                         "function that this node calls; without names, all of it"),
    PGY_OPT_LIST("--iteration", cut_args, iterations, .nargs = PGY_ONE_OR_MORE, .meta = "N",
                 .exclusive = "recording",
                 .help =
                     "which time round is recorded of a loop around the part, from 0; of nested "
                     "loops the outermost comes first. Loops without: the first time that "
                     "comes to the part"),
    PGY_OPT_FLAG("--onnxrt", cut_args, onnxrt, .exclusive = "recording",
                 .help = "run the whole model with ONNX Runtime instead of the reference"),
    PGY_OPT_FLAG("--no-record", cut_args, no_record, .exclusive = "recording",
                 .help = "do not run the model: only the part is saved, with types and shapes as "
                         "they are inferred"),
    PGY_OPT_END,
};

static bool read_time(int64_t *out, const char *text)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    *out = value;
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    cut_args *s = settings;
    (void)line;
    if (s->iterations.count > MAX_LOOPS)
        return pgy_error_set(err, PGY_E_ARGUMENT, "argument --iteration: more than %d loops",
                             MAX_LOOPS);
    for (size_t i = 0; i < s->iterations.count; i++)
        if (!read_time(&s->times[i], s->iterations.items[i]))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "argument --iteration: '%s' is no whole number from 0 on",
                                 s->iterations.items[i]);
    return PGY_OK;
}

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(cut_args), .finish = finish};
static const option_group *const GROUPS[] = {&OWN,
                                             &GROUP_LOGGING,
                                             &GROUP_MODEL_DATA,
                                             &GROUP_DATA,
                                             &GROUP_ONNX_READ,
                                             &GROUP_ONNX_WRITE,
                                             &GROUP_OPERATORS,
                                             NULL};

typedef struct border {
    pgy_tensor_map *inputs, *outputs; /* NULL: not recorded */
    const char *recorder;
} border;

/* ---- Recording ------------------------------------------------------------------------------ */

static pgy_status add_input(pgy_metadata *inputs, const pgy_value *v, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    const char *names[PGY_MAX_RANK];
    if (v->kind != PGY_VALUE_TENSOR)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "input '%s' of the model is no tensor: use --no-record", v->name);
    for (int32_t d = 0; d < v->rank && d < PGY_MAX_RANK; d++) {
        shape[d] = v->dims[d].value;
        names[d] = v->dims[d].text;
    }
    const pgy_tensor_info info = {
        .name = v->name, .dtype = v->dtype, .rank = v->rank, .shape = shape, .dim_names = names};
    return pgy_metadata_set(inputs, &info, err);
}

static pgy_status describe_inputs(pgy_metadata **out, pgy_model *model, pgy_error *err)
{
    pgy_graph *graph = NULL;
    pgy_metadata *inputs = NULL;
    pgy_status st = pgy_graph_import(&graph, model, err);
    if (!st) st = pgy_metadata_create(&inputs, err);
    for (size_t i = 0; !st && i < graph->input_count; i++)
        st = add_input(inputs, graph->inputs[i], err);
    if (!st) {
        *out = inputs;
        inputs = NULL;
    }
    pgy_metadata_destroy(inputs);
    pgy_graph_destroy(graph);
    return st;
}

static pgy_status make_feed(pgy_tensor_map **out, pgy_model *model, args *line, pgy_error *err)
{
    const model_args *given = args_get(line, &GROUP_MODEL_DATA);
    pgy_metadata *inputs = NULL;
    pgy_data_loader *data = NULL;
    pgy_status st = describe_inputs(&inputs, model, err);
    if (!st) st = data_loader_create(&data, line, given->shapes, err);
    if (!st) st = pgy_data_loader_set_metadata(data, inputs, err);
    if (!st) st = pgy_data_loader_next(out, data, err);
    if (!st && !*out) st = pgy_error_set(err, PGY_E_ARGUMENT, "there is no input data");
    pgy_data_loader_destroy(data);
    pgy_metadata_destroy(inputs);
    return st;
}

static bool is_model_input(const pgy_onnx_graph *g, const char *name)
{
    for (size_t i = 0; i < g->input_count; i++)
        if (!strcmp(g->inputs[i]->name, name)) return true;
    return false;
}

/* A tensor, or the elements of a sequence: name[0], name[1]... */
static pgy_status pick_one(pgy_tensor_map *out, const pgy_tensor_map *all, const char *name,
                           pgy_error *err)
{
    const size_t size = strlen(name);
    pgy_tensor *t = pgy_tensor_map_find(all, name);
    bool found = t;
    pgy_status st = t ? pgy_tensor_map_set(out, name, t, err) : PGY_OK;
    for (size_t i = 0; !t && !st && i < pgy_tensor_map_count(all); i++) {
        const char *element = pgy_tensor_map_name(all, i);
        if (strncmp(element, name, size) || element[size] != '[') continue;
        found = true;
        st = pgy_tensor_map_set(out, element, pgy_tensor_map_at(all, i), err);
    }
    return st || found ? st
                       : pgy_error_set(err, PGY_E_NOT_FOUND, "the run gave no tensor '%s'", name);
}

static pgy_status pick(pgy_tensor_map **out, const pgy_tensor_map *all, const char *const *names,
                       size_t count, pgy_error *err)
{
    pgy_tensor_map *map = NULL;
    pgy_status st = pgy_tensor_map_create(&map, err);
    for (size_t i = 0; !st && i < count; i++) st = pick_one(map, all, names[i], err);
    if (st)
        pgy_tensor_map_destroy(map);
    else
        *out = map;
    return st;
}

/* ONNX Runtime gives what is an output of the top graph. */
static pgy_status record_by_runtime(border *b, pgy_model *model, const pgy_cut *cut, args *line,
                                    pgy_error *err)
{
    const model_args *given = args_get(line, &GROUP_MODEL_DATA);
    size_t inputs, outputs, n = 0;
    const char *const *before = pgy_cut_inputs(cut, &inputs);
    const char *const *after = pgy_cut_outputs(cut, &outputs);
    const char **names = arena_alloc_array(&line->memory, inputs + outputs + 1, sizeof *names);
    pgy_tensor_map *all = NULL;
    if (!names) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!pgy_cut_is_top(cut))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "--onnxrt: ONNX Runtime does not give values inside subgraphs; leave "
                             "the option out to have the reference record them");
    for (size_t i = 0; i < inputs; i++)
        if (!is_model_input(pgy_model_proto(model)->graph, before[i])) names[n++] = before[i];
    for (size_t i = 0; i < outputs; i++) names[n++] = after[i];
    const record_request request = {
        .names = names, .count = n, .backend = "onnxrt", .shapes = given->shapes};
    pgy_status st = record_tensors(&all, model, &request, line, err);
    if (!st) st = pick(&b->inputs, all, before, inputs, err);
    if (!st) st = pick(&b->outputs, all, after, outputs, err);
    pgy_tensor_map_destroy(all);
    return st;
}

static pgy_status record(border *b, pgy_model *model, pgy_cut *cut, args *line, pgy_error *err)
{
    const cut_args *s = args_get(line, &OWN);
    pgy_tensor_map *feed = NULL;
    if (s->no_record) return PGY_OK;
    b->recorder = s->onnxrt ? "onnxrt" : "opref";
    LOG(INFO, "Running the whole model with %s to record the values at the borders of the part",
        s->onnxrt ? "ONNX Runtime" : "the reference");
    if (s->onnxrt) return record_by_runtime(b, model, cut, line, err);
    pgy_status st = make_feed(&feed, model, line, err);
    if (!st) st = pgy_cut_record(&b->inputs, &b->outputs, cut, feed, err);
    pgy_tensor_map_destroy(feed);
    return st;
}

/* ---- Saving --------------------------------------------------------------------------------- */

/* "part.onnx" -> "part.inputs.json" */
static const char *beside(const char *path, const char *what, arena *a)
{
    const size_t size = strlen(path) - (str_ends_with(path, ".onnx") ? strlen(".onnx") : 0);
    return arena_printf(a, "%.*s.%s.json", (int)size, path, what);
}

static pgy_status save_results(const char *path, const border *b, pgy_error *err)
{
    pgy_results *results = NULL;
    size_t index = 0;
    pgy_status st = pgy_results_create(&results, err);
    if (!st) st = pgy_results_add_runner(results, b->recorder, &index, err);
    if (!st) st = pgy_results_add(results, index, b->outputs, NAN, err);
    if (!st) st = pgy_results_save(results, path, err);
    pgy_results_destroy(results);
    return st;
}

/* ONNX Runtime's interface cannot make a sequence without elements, which is saved as "name[]". */
static bool has_empty_sequence(const pgy_tensor_map *m)
{
    for (size_t i = 0; i < pgy_tensor_map_count(m); i++)
        if (str_ends_with(pgy_tensor_map_name(m, i), "[]")) return true;
    return false;
}

static pgy_status save_values(const border *b, args *line, const char *path, pgy_error *err)
{
    const char *inputs = beside(path, "inputs", &line->memory);
    const char *outputs = beside(path, "outputs", &line->memory);
    const pgy_tensor_map *const maps[] = {b->inputs};
    str line_text = {0};
    if (!inputs || !outputs) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    LOG(INFO, "Saving the values of its inputs to %s, those of its outputs to %s", inputs, outputs);
    pgy_status st = pgy_feeds_save(inputs, maps, 1, err);
    if (!st) st = save_results(outputs, b, err);
    str_printf(&line_text, "%s run ", line->dialect->program);
    str_append_word(&line_text, path);
    str_append(&line_text, has_empty_sequence(b->inputs) ? " --opref --load-inputs "
                                                         : " --onnxrt --opref --load-inputs ");
    str_append_word(&line_text, inputs);
    if (!st) LOG(INFO, "%s", str_text(&line_text));
    str_deinit(&line_text);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const cut_args *s = args_get(line, &OWN);
    const pgy_cut_selection what = {.size = sizeof what,
                                    .subgraph = s->subgraph,
                                    .nodes = s->nodes.items,
                                    .node_count = s->nodes.count,
                                    .modules = s->modules.items,
                                    .module_count = s->modules.count,
                                    .from = s->from.items,
                                    .from_count = s->from.count,
                                    .to = s->to.items,
                                    .to_count = s->to.count,
                                    .iterations = s->times,
                                    .iteration_count = s->iterations.count};
    border b = {0};
    pgy_model *model = NULL, *part = NULL;
    pgy_cut *cut = NULL;
    pgy_status st = surgeon_load(&model, line, err);
    if (!st) st = pgy_cut_create(&cut, model, &what, err);
    if (!st) st = record(&b, pgy_cut_source(cut), cut, line, err);
    if (!st) st = pgy_cut_model(&part, cut, b.inputs, b.outputs, err);
    if (!st) st = surgeon_save(part, line, s->output, false, err);
    if (!st && b.inputs) st = save_values(&b, line, s->output, err);
    pgy_model_destroy(part);
    pgy_tensor_map_destroy(b.inputs);
    pgy_tensor_map_destroy(b.outputs);
    pgy_cut_destroy(cut);
    pgy_model_destroy(model);
    return st;
}

const command COMMAND_surgeon_cut = {
    .tool = "surgeon",
    .subtool = "cut",
    .summary = "Take nodes out of a model, with the values at their borders.",
    .description =
        "Save some nodes of a model as a model of their own: those named, those of a module, or "
        "those between tensors, also of the body of an If, a loop or a function. The whole model "
        "runs once on "
        "input data, and what goes into the part and comes out of it is saved beside it as "
        "<part>.inputs.json and <part>.outputs.json. The last line printed is a command that runs "
        "the part on these values.",
    .groups = GROUPS,
    .run = run,
};
