/* SPDX-License-Identifier: Apache-2.0 */
/* inspect model: the structure of a model, and, on request, its nodes, attributes,
 * weights, and a summary of what it costs. */
#include <string.h>

#include <polygraphy/transform.h>

#include "base/log.h"
#include "base/pytext.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/model_text.h"
#include "cli/plan_text.h"

static const char LOG_PATH[] = "tools/inspect/subtool/model.py";

typedef struct inspect_model_args {
    pgy_text_list show;
    const char *old_mode, *display_as, *combine;
    bool list_unbounded, summary, explicit_precision;
    model_text_options text;
} inspect_model_args;

static const char *const PARTS[] = {"layers", "attrs", "weights", NULL};
static const char *const DISPLAYS[] = {"trt", "onnx", NULL};
/* The last two are not modes but types of models: "--mode" is also the beginning of --model-type.
 */
static const char *const OLD_MODES[] = {"none", "basic", "attrs", "full", "onnx", "engine", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_LIST("--show", inspect_model_args, show, .nargs = PGY_ZERO_OR_MORE, .choices = PARTS,
                 .help = "parts to show: layers, attrs (of layers), weights; by default none"),
    PGY_OPT_TEXT("--display-as --convert-to", inspect_model_args, display_as, .choices = DISPLAYS,
                 .help = "trt: show the layers that --trt makes of an ONNX model, with shapes "
                         "inferred; onnx: as it is"),
    PGY_OPT_FLAG("--summary", inspect_model_args, summary,
                 .help = "add a table of nodes, parameters and floating-point operations for each "
                         "operator (a multiply-add counts as two)"),
    PGY_OPT_FLAG("--list-unbounded-dds", inspect_model_args, list_unbounded,
                 .help = "list tensors whose shape depends on data without a bound; needs folded "
                         "constants and inferred shapes"),
    PGY_OPT_TEXT("--combine-tensor-info", inspect_model_args, combine, .meta = "PATH",
                 .help = "file of outputs (--save-outputs of run) whose smallest, largest and mean "
                         "values are added to the tensors of a plan's layers; needs --show layers"),
    PGY_OPT_TEXT("--mode --layer-info", inspect_model_args, old_mode, .hidden = true,
                 .choices = OLD_MODES,
                 .deprecated = "is an older spelling of --show, and short for --model-type"),
    PGY_OPT_FLAG("--explicit-precision", inspect_model_args, explicit_precision, .hidden = true,
                 .deprecated = "has no effect any more"),
    PGY_OPT_END,
};

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    inspect_model_args *s = settings;
    model_args *model = args_get(line, &GROUP_MODEL_TYPE);
    if (s->old_mode && (!strcmp(s->old_mode, OLD_MODES[4]) || !strcmp(s->old_mode, OLD_MODES[5]))) {
        model->type = s->old_mode;
        s->old_mode = NULL;
    }
    for (size_t i = 0; i < s->show.count; i++) {
        s->text.layers |= strcmp(s->show.items[i], PARTS[0]) == 0;
        s->text.attrs |= strcmp(s->show.items[i], PARTS[1]) == 0;
        s->text.weights |= strcmp(s->show.items[i], PARTS[2]) == 0;
    }
    if (s->old_mode && !s->show.given) {
        s->text.layers = strcmp(s->old_mode, OLD_MODES[0]) != 0;
        s->text.attrs = !strcmp(s->old_mode, OLD_MODES[2]) || !strcmp(s->old_mode, OLD_MODES[3]);
        s->text.weights = !strcmp(s->old_mode, OLD_MODES[3]);
    }
    s->text.network = s->display_as && strcmp(s->display_as, "trt") == 0;
    if (s->show.given && !s->show.count)
        LOG(WARNING, "--show without a value is an older spelling; it shows nothing more");
    (void)err;
    return PGY_OK;
}

static const option_group OWN = {
    .options = OPTIONS, ARGS_TYPE(inspect_model_args), .finish = finish};
static const option_group *const GROUPS[] = {
    &OWN, &GROUP_LOGGING, &GROUP_MODEL_TYPE, &GROUP_ONNX_SHAPE, &GROUP_ONNX_READ, &GROUP_OPERATORS,
    NULL};

/* ---- Unbounded data-dependent shapes -------------------------------------------------------- */

/* As the original's graph library prints a tensor. */
static void append_variable(str *out, const pgy_value *v)
{
    str_printf(out, "Variable (%s): (shape=", v->name);
    if (v->rank < 0) str_append(out, "None");
    for (int32_t i = 0; i < v->rank; i++) {
        str_append(out, i ? ", " : "[");
        if (v->dims[i].value >= 0)
            str_printf(out, "%lld", (long long)v->dims[i].value);
        else if (v->dims[i].text)
            str_append_py_repr(out, v->dims[i].text);
        else
            str_append(out, "None");
    }
    if (v->rank >= 0) str_append(out, v->rank ? "]" : "[]");
    str_printf(out, ", dtype=%s)", v->dtype ? pgy_dtype_name(v->dtype) : "None");
}

static pgy_status list_unbounded(pgy_graph *graph, pgy_error *err)
{
    const pgy_value *const *items;
    size_t count = 0;
    str text = {0};
    pgy_status st = pgy_graph_list_unbounded(&items, &count, graph, err);
    for (size_t i = 0; !st && i < count; i++) {
        if (i) str_append(&text, ", ");
        append_variable(&text, items[i]);
    }
    if (!st && text.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) LOG(INFO, "Found tensors with unbounded DDS: [%s]", str_text(&text));
    str_deinit(&text);
    return st;
}

/* ---- Summary -------------------------------------------------------------------------------- */

static void append_count(str *out, double v)
{
    static const char *const UNITS[] = {"", " K", " M", " G", " T", " P"};
    size_t unit = 0;
    while (v >= 1000 && unit + 1 < sizeof UNITS / sizeof *UNITS) v /= 1000, unit++;
    str text = {0};
    str_printf(&text, unit ? "%.2f%s" : "%.0f%s", v, UNITS[unit]);
    str_printf(out, " %12s", str_text(&text));
    str_deinit(&text);
}

static void append_row(str *out, const char *name, size_t nodes, double parameters, double bytes,
                       double flops)
{
    str_printf(out, "\n%-28s %8zu", name, nodes);
    append_count(out, parameters);
    append_count(out, bytes);
    if (flops < 0)
        str_printf(out, " %12s", "unknown");
    else
        append_count(out, flops);
}

/* The inputs with every dynamic dimension set to 1, the size of generated data; *any: there was
 * one. */
static pgy_status fixed_inputs(pgy_metadata **out, bool *any, const pgy_graph *graph,
                               pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < graph->input_count; i++) {
        const pgy_value *v = graph->inputs[i];
        int64_t shape[PGY_MAX_RANK];
        if (v->rank < 0 || v->rank > PGY_MAX_RANK) continue;
        for (int32_t k = 0; k < v->rank; k++) {
            shape[k] = v->dims[k].value < 0 ? 1 : v->dims[k].value;
            *any = *any || v->dims[k].value < 0;
        }
        const pgy_tensor_info info = {
            .name = v->name, .dtype = v->dtype, .rank = v->rank, .shape = shape};
        st = pgy_metadata_set(m, &info, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

static pgy_status print_summary(pgy_graph *graph, pgy_error *err)
{
    const pgy_op_summary *rows;
    size_t count, nodes = 0;
    double parameters = 0, bytes = 0, flops = 0;
    bool dynamic = false;
    pgy_metadata *inputs = NULL;
    pgy_status st = fixed_inputs(&inputs, &dynamic, graph, err);
    if (!st) st = pgy_graph_summarize(&rows, &count, graph, inputs, err);
    pgy_metadata_destroy(inputs);
    if (st) return st;
    str text = {0};
    str_printf(&text, "==== Summary ====\n%-28s %8s %12s %12s %12s", "Operator", "Nodes",
               "Parameters", "Bytes", "FLOPs");
    for (size_t i = 0; i < count; i++) {
        str name = {0};
        str_printf(&name, "%s%s%s", rows[i].domain, rows[i].domain[0] ? "::" : "", rows[i].op_type);
        append_row(&text, str_text(&name), rows[i].node_count, (double)rows[i].parameter_count,
                   (double)rows[i].parameter_bytes, rows[i].flops);
        str_deinit(&name);
        nodes += rows[i].node_count;
        parameters += (double)rows[i].parameter_count;
        bytes += (double)rows[i].parameter_bytes;
        flops = flops < 0 || rows[i].flops < 0 ? -1 : flops + rows[i].flops;
    }
    append_row(&text, "Total", nodes, parameters, bytes, flops);
    if (flops < 0) str_append(&text, "\nunknown: some shape cannot be known before the model runs");
    if (dynamic) str_append(&text, "\nDynamic dimensions of the inputs count as 1.");
    if (text.failed)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    else
        LOG(INFO, "%s", str_text(&text));
    str_deinit(&text);
    return st;
}

/* ---- The command ---------------------------------------------------------------------------- */

static pgy_status show_plan(const char *path, const inspect_model_args *s, pgy_error *err)
{
    tensor_ranges ranges = {0};
    const plan_text_options options = {
        .layers = s->text.layers, .attrs = s->text.attrs, .ranges = &ranges};
    pgy_plan *plan = NULL;
    str text = {0};
    if ((s->text.weights && !s->text.attrs) || s->summary || s->list_unbounded || s->display_as)
        LOG(WARNING,
            "--show weights, --summary, --list-unbounded-dds and --display-as are for ONNX models "
            "only");
    LOG(INFO, "Loading bytes from %s", path);
    pgy_status st = s->combine ? tensor_ranges_load(&ranges, s->combine, err) : PGY_OK;
    if (!st) st = pgy_plan_open(&plan, path, err);
    if (!st) st = plan_text(&text, plan, options, err);
    if (!st) LOG(INFO, "%s", str_text(&text));
    str_deinit(&text);
    tensor_ranges_deinit(&ranges);
    pgy_plan_close(plan);
    return st;
}

static pgy_status show_onnx(args *line, pgy_error *err)
{
    const inspect_model_args *s = args_get(line, &OWN);
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_graph *graph = NULL;
    str text = {0};
    pgy_status st = model_loader(&loader, line, err);
    if (!st && s->text.network) st = pgy_loader_infer_shapes(&loader, NULL, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = model_text(&text, model, s->text, err);
    if (!st) LOG(INFO, "%s", str_text(&text));
    if (!st && (s->list_unbounded || s->summary)) st = pgy_graph_import(&graph, model, err);
    if (!st && s->list_unbounded) st = list_unbounded(graph, err);
    if (!st && s->summary) st = print_summary(graph, err);
    str_deinit(&text);
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const inspect_model_args *s = args_get(line, &OWN);
    const model_args *model = args_get(line, &GROUP_MODEL_TYPE);
    if (s->text.attrs && !s->text.layers)
        LOG(WARNING, "--show attrs needs layers as well: 'attrs' alone shows no attributes");
    if (s->combine && (!model_is_engine(model) || !s->text.layers))
        LOG(WARNING,
            "--combine-tensor-info is for plans with --show layers; it has no effect here");
    return model_is_engine(model) ? show_plan(model->path, s, err) : show_onnx(line, err);
}

const command COMMAND_inspect_model = {
    .tool = "inspect",
    .subtool = "model",
    .summary = "Show the structure of a model.",
    .description = "Show the structure of a model: inputs, outputs, weights and nodes, in as much "
                   "detail as asked for.",
    .groups = GROUPS,
    .run = run,
};
