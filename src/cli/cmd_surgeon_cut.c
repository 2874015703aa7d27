/* SPDX-License-Identifier: Apache-2.0 */
/* surgeon cut: saves some nodes of a model as a model of their own. The whole model runs once, and
 * the tensors at the borders are saved beside the part, so that the part can be run directly. */
#include <polygraphy/compare.h>
#include <polygraphy/record.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/surgeon.h"

static const char LOG_PATH[] = "cli/cmd_surgeon_cut.c";

enum { MAX_LOOPS = 32 };

typedef struct cut_args {
    const char *output, *subgraph;
    pgy_text_list nodes, modules, from, to, iterations;
    int64_t times[MAX_LOOPS]; /* the iteration of each loop to record, parsed from `iterations` */
    bool onnxrt, no_record;
} cut_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", cut_args, output, .required = true, .meta = "PATH",
                 .help =
                     "file for the part; the values of its inputs and outputs are saved beside it"),
    PGY_OPT_LIST("--nodes", cut_args, nodes, .nargs = PGY_ONE_OR_MORE, .meta = "NAME",
                 .help = "nodes of the part: names, wildcards, or paths into subgraphs and called "
                         "functions, such as If_3/then_branch/Add_2 or block_1/MatMul; a node "
                         "without a name has that of its first output"),
    PGY_OPT_LIST("--module", cut_args, modules, .nargs = PGY_ONE_OR_MORE, .meta = "PATH",
                 .help = "nodes of these modules, such as encoder.layer.0: those whose name starts "
                         "with the path, or whose PyTorch scopes contain it"),
    PGY_OPT_LIST("--from", cut_args, from, .nargs = PGY_ONE_OR_MORE, .meta = "TENSOR",
                 .help = "only nodes that depend on one of these tensors"),
    PGY_OPT_LIST(
        "--to", cut_args, to, .nargs = PGY_ONE_OR_MORE, .meta = "TENSOR",
        .help = "only nodes on which one of these tensors depends; the tensors become the outputs"),
    PGY_OPT_TEXT(
        "--subgraph", cut_args, subgraph, .meta = "PATH",
        .help =
            "look up the names above in this subgraph, such as If_3/then_branch, or in the "
            "function that this node calls; without names, take the whole subgraph or function"),
    PGY_OPT_LIST("--iteration", cut_args, iterations, .nargs = PGY_ONE_OR_MORE, .meta = "N",
                 .exclusive = "recording",
                 .help = "record the values of this iteration of the loop around the part, counted "
                         "from 0; give one number for each nested loop, the outermost first. "
                         "Default: the first iteration that runs the part"),
    PGY_OPT_FLAG("--onnxrt", cut_args, onnxrt, .exclusive = "recording",
                 .help = "run the whole model with ONNX Runtime instead of the reference"),
    PGY_OPT_FLAG("--no-record", cut_args, no_record, .exclusive = "recording",
                 .help =
                     "do not run the model: save the part only, with inferred types and shapes"),
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
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "argument --iteration: expected at most %d numbers, one for each nested loop",
            MAX_LOOPS);
    for (size_t i = 0; i < s->iterations.count; i++)
        if (!read_time(&s->times[i], s->iterations.items[i]))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "argument --iteration: '%s' is not an integer of at least 0",
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
    /* recorded tensors at the part's borders; NULL: not recorded */
    pgy_tensor_map *inputs, *outputs;
    const char *recorder;
} border;

/* ---- Recording ------------------------------------------------------------------------------ */

static pgy_status record_by_runtime(border *b, const pgy_cut *cut, const args *line, pgy_error *err)
{
    const model_args *given = args_get(line, &GROUP_MODEL_DATA);
    pgy_record_options o = {.size = sizeof o, .backend = "onnxrt"};
    if (!pgy_cut_is_top(cut))
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "--onnxrt: ONNX Runtime cannot record values inside subgraphs; remove "
                             "the option, so that the reference records them");
    pgy_status st = data_loader_create(&o.data, line, given->shapes, err);
    if (!st) st = pgy_record_cut(&b->inputs, &b->outputs, cut, &o, err);
    pgy_data_loader_destroy(o.data);
    return st;
}

static pgy_status record_by_reference(border *b, pgy_cut *cut, const args *line, pgy_error *err)
{
    const model_args *given = args_get(line, &GROUP_MODEL_DATA);
    pgy_data_loader *data = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_status st = data_loader_create(&data, line, given->shapes, err);
    if (!st) st = pgy_record_feed(&feed, pgy_cut_source(cut), data, err);
    if (st == PGY_E_TYPE && err) {
        const pgy_error why = *err;
        pgy_error_set(err, PGY_E_UNSUPPORTED, "%s: use --no-record", why.text);
    }
    if (!st) st = pgy_cut_record(&b->inputs, &b->outputs, cut, feed, err);
    pgy_tensor_map_destroy(feed);
    pgy_data_loader_destroy(data);
    return st;
}

static pgy_status record(border *b, pgy_cut *cut, const args *line, pgy_error *err)
{
    const cut_args *s = args_get(line, &OWN);
    if (s->no_record) return PGY_OK;
    b->recorder = s->onnxrt ? "onnxrt" : "opref";
    LOG(INFO, "Running the whole model with %s to record the inputs and outputs of the part",
        s->onnxrt ? "ONNX Runtime" : "the reference");
    return s->onnxrt ? record_by_runtime(b, cut, line, err)
                     : record_by_reference(b, cut, line, err);
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

/* Is a sequence empty (saved as "name[]")? ONNX Runtime's interface cannot make such an input. */
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
    LOG(INFO, "Saving the values of the part's inputs to %s, and of its outputs to %s", inputs,
        outputs);
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
    if (!st) st = record(&b, cut, line, err);
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
    .summary = "Save nodes of a model with the values of their inputs and outputs.",
    .description =
        "Save some nodes of a model as a separate model: named nodes, the nodes of a module, or "
        "the nodes between tensors, also inside the body of an If, a loop or a function. The whole "
        "model runs once on input data, and the values of the part's inputs and outputs are saved "
        "as <part>.inputs.json and <part>.outputs.json. The last line of the output is a command "
        "that runs the part on these values.",
    .groups = GROUPS,
    .run = run,
};
