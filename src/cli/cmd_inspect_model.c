/* SPDX-License-Identifier: Apache-2.0 */
/* inspect model: shows the structure of a model and, on request, its nodes, attributes, weights,
 * and a summary of its cost, or shows it as a page. */
#include <string.h>

#include <polygraphy/describe.h>
#include <polygraphy/saved.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/page.h"

static const char LOG_PATH[] = "tools/inspect/subtool/model.py";

typedef struct inspect_model_args {
    pgy_text_list show;
    const char *old_mode, *display_as, *combine, *save_visual;
    int64_t visual_port;
    bool list_unbounded, summary, explicit_precision, visual;
    pgy_describe_options text;
} inspect_model_args;

static const char *const PARTS[] = {"layers", "attrs", "weights", NULL};
static const char *const DISPLAYS[] = {"trt", "onnx", NULL};
/* The last two are model types, not modes: "--mode" is also a prefix of --model-type. */
static const char *const OLD_MODES[] = {"none", "basic", "attrs", "full", "onnx", "engine", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_LIST(
        "--show", inspect_model_args, show, .nargs = PGY_ZERO_OR_MORE, .choices = PARTS,
        .help =
            "also show these parts: layers, attrs (attributes of layers), weights; default: none"),
    PGY_OPT_TEXT("--display-as --convert-to", inspect_model_args, display_as, .choices = DISPLAYS,
                 .help = "trt: show the layers that --trt builds from an ONNX model, with inferred "
                         "shapes; onnx: show the model unchanged"),
    PGY_OPT_FLAG("--summary", inspect_model_args, summary,
                 .help = "add a table of nodes, parameters and floating-point operations for each "
                         "operator (a multiply-add counts as two)"),
    PGY_OPT_FLAG("--list-unbounded-dds", inspect_model_args, list_unbounded,
                 .help = "list tensors whose data-dependent shape has no upper bound; needs folded "
                         "constants and inferred shapes"),
    PGY_OPT_TEXT("--combine-tensor-info", inspect_model_args, combine, .meta = "PATH",
                 .help = "add the minimum, maximum and mean of the outputs in this file (of 'run "
                         "--save-outputs') to the tensors of a plan's layers; needs --show layers"),
    PGY_OPT_FLAG("--visual", inspect_model_args, visual,
                 .help = "instead of text, show the model as a page in the browser, served on "
                         "127.0.0.1 until Ctrl-C; '{program} view' has more options"),
    PGY_OPT_INT("--visual-port", inspect_model_args, visual_port, .meta = "N",
                .help = "with --visual: port of the server; default 8000"),
    PGY_OPT_TEXT("--save-visual", inspect_model_args, save_visual, .meta = "PATH",
                 .help = "with --visual: write the page to this file (.html) and end"),
    PGY_OPT_TEXT("--mode --layer-info", inspect_model_args, old_mode, .hidden = true,
                 .choices = OLD_MODES,
                 .deprecated = "is an older spelling; use --show, or --model-type"),
    PGY_OPT_FLAG("--explicit-precision", inspect_model_args, explicit_precision, .hidden = true,
                 .deprecated = "has no effect any more"),
    PGY_OPT_END,
};

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    inspect_model_args *s = settings;
    s->text.size = sizeof s->text;
    model_args *model = args_get(line, &GROUP_MODEL_TYPE);
    if (s->old_mode && (!strcmp(s->old_mode, OLD_MODES[4]) || !strcmp(s->old_mode, OLD_MODES[5]))) {
        model->type = s->old_mode;
        s->old_mode = NULL;
    }
    for (size_t i = 0; i < s->show.count; i++) {
        s->text.layers |= strcmp(s->show.items[i], PARTS[0]) == 0;
        s->text.attributes |= strcmp(s->show.items[i], PARTS[1]) == 0;
        s->text.weights |= strcmp(s->show.items[i], PARTS[2]) == 0;
    }
    if (s->old_mode && !s->show.given) {
        s->text.layers = strcmp(s->old_mode, OLD_MODES[0]) != 0;
        s->text.attributes =
            !strcmp(s->old_mode, OLD_MODES[2]) || !strcmp(s->old_mode, OLD_MODES[3]);
        s->text.weights = !strcmp(s->old_mode, OLD_MODES[3]);
    }
    s->text.network = s->display_as && strcmp(s->display_as, "trt") == 0;
    if (s->show.given && !s->show.count)
        LOG(WARNING, "--show without a value is an older spelling and shows no parts");
    (void)err;
    return PGY_OK;
}

static const option_group OWN = {
    .options = OPTIONS, ARGS_TYPE(inspect_model_args), .finish = finish};
static const option_group *const GROUPS[] = {
    &OWN, &GROUP_LOGGING, &GROUP_MODEL_TYPE, &GROUP_ONNX_SHAPE, &GROUP_ONNX_READ, &GROUP_OPERATORS,
    NULL};

/* ---- The command ---------------------------------------------------------------------------- */

/* Loads saved outputs. *out is NULL, after a warning, for a file without outputs. */
static pgy_status load_values(pgy_results **out, const char *path, pgy_error *err)
{
    pgy_saved_kind kind;
    pgy_status st = pgy_saved_kind_of(&kind, path, err);
    if (!st && kind == PGY_SAVED_RESULTS) return pgy_results_load(out, path, err);
    if (!st) LOG(WARNING, "'%s' has no outputs of runners, so no values are shown", path);
    return st;
}

static pgy_status show_plan(const char *path, const inspect_model_args *s, pgy_error *err)
{
    pgy_describe_options o = s->text;
    pgy_results *values = NULL;
    pgy_plan *plan = NULL;
    char *text = NULL;
    if ((s->text.weights && !s->text.attributes) || s->summary || s->list_unbounded ||
        s->display_as)
        LOG(WARNING, "--show weights, --summary, --list-unbounded-dds and --display-as need an "
                     "ONNX model; this is a plan");
    LOG(INFO, "Loading bytes from %s", path);
    pgy_status st = s->combine ? load_values(&values, s->combine, err) : PGY_OK;
    o.values = values;
    if (!st) st = pgy_plan_open(&plan, path, err);
    if (!st) st = pgy_plan_text(&text, plan, &o, err);
    if (!st) LOG(INFO, "%s", text);
    pgy_text_free(text);
    pgy_results_destroy(values);
    pgy_plan_close(plan);
    return st;
}

static pgy_status show_graph(const inspect_model_args *s, pgy_model *model, pgy_error *err)
{
    pgy_graph *graph = NULL;
    char *unbounded = NULL, *summary = NULL;
    pgy_status st = pgy_graph_import(&graph, model, err);
    if (!st && s->list_unbounded) st = pgy_graph_unbounded_text(&unbounded, graph, err);
    if (unbounded) LOG(INFO, "Found tensors with unbounded DDS: %s", unbounded);
    if (!st && s->summary) st = pgy_graph_summary_text(&summary, graph, err);
    if (summary) LOG(INFO, "%s", summary);
    pgy_text_free(unbounded);
    pgy_text_free(summary);
    pgy_graph_destroy(graph);
    return st;
}

static pgy_status show_onnx(args *line, pgy_error *err)
{
    const inspect_model_args *s = args_get(line, &OWN);
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    char *text = NULL;
    pgy_status st = model_loader(&loader, line, err);
    if (!st && s->text.network) st = pgy_loader_infer_shapes(&loader, NULL, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = pgy_model_text(&text, model, &s->text, err);
    if (!st) LOG(INFO, "%s", text);
    if (!st && (s->list_unbounded || s->summary)) st = show_graph(s, model, err);
    pgy_text_free(text);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

/* ---- The page ------------------------------------------------------------------------------- */

enum { VISUAL_PORT = 8000 };

static pgy_status add_onnx(pgy_page *page, args *line, const char *name, pgy_error *err)
{
    const inspect_model_args *s = args_get(line, &OWN);
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_status st = model_loader(&loader, line, err);
    if (!st && s->text.network) st = pgy_loader_infer_shapes(&loader, NULL, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = pgy_page_add_model(page, model, name, err);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

static pgy_status show_page(args *line, pgy_error *err)
{
    const inspect_model_args *s = args_get(line, &OWN);
    const model_args *model = args_get(line, &GROUP_MODEL_TYPE);
    const pgy_page_options options = {.size = sizeof options, .command = page_command(line)};
    pgy_page *page = NULL;
    uint16_t port = 0;
    pgy_status st =
        page_port(&port, s->visual_port ? s->visual_port : VISUAL_PORT, "--visual-port", err);
    if (!st) st = pgy_page_create(&page, &options, err);
    if (!st)
        st = model_is_engine(model) ? pgy_page_add(page, model->path, err)
                                    : add_onnx(page, line, path_basename(model->path), err);
    if (!st && !s->save_visual) st = page_serve(page, port, true, err);
    if (!st) st = pgy_page_save(page, s->save_visual, err);
    if (!st) page_warn(page);
    if (!st) LOG(INFO, "Viewer HTML saved to %s", s->save_visual);
    pgy_page_destroy(page);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const inspect_model_args *s = args_get(line, &OWN);
    const model_args *model = args_get(line, &GROUP_MODEL_TYPE);
    if (s->visual) return show_page(line, err);
    if (s->text.attributes && !s->text.layers)
        LOG(WARNING, "--show attrs has no effect without layers; give --show layers attrs");
    if (s->combine && (!model_is_engine(model) || !s->text.layers))
        LOG(WARNING, "--combine-tensor-info has no effect without a plan and --show layers");
    return model_is_engine(model) ? show_plan(model->path, s, err) : show_onnx(line, err);
}

const command COMMAND_inspect_model = {
    .tool = "inspect",
    .subtool = "model",
    .summary = "Show the structure of a model.",
    .description = "Show the structure of a model: inputs, outputs, weights and nodes. --show "
                   "selects the detail.",
    .groups = GROUPS,
    .run = run,
};
