/* SPDX-License-Identifier: Apache-2.0 */
/* convert: saves the model with all changes that the options ask for. With --opset it is rewritten
 * for another version of ONNX's operators; as a plan it is built by the engine. */
#include <string.h>

#include <polygraphy/describe.h>
#include <polygraphy/gs.h>
#include <polygraphy/refit.h>
#include <polygraphy/transform.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/trace.h"
#include "cli/groups/trt.h"
#include "cli/groups/trt_plan.h"

static const char LOG_PATH[] = "tools/convert/convert.py";

typedef struct convert_args {
    const char *output, *format, *refit_from;
    int64_t opset; /* opset to convert to; -1: keep the model's */
} convert_args;

static const char *const FORMATS[] = {"onnx", "trt", "onnx-like-trt-network", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", convert_args, output, .required = true, .meta = "PATH",
                 .help = "file for the converted model"),
    PGY_OPT_TEXT("--convert-to", convert_args, format, .choices = FORMATS,
                 .help = "format of the result; by default the extension of the output decides. "
                         "onnx-like-trt-network: an ONNX file for viewers, with the layers of "
                         "--trt in place of the operators; it cannot run"),
    PGY_OPT_INT("--opset", convert_args, opset, .meta = "N",
                .help = "convert the model to this opset version, 7 to 28; newer and older ones "
                        "than the model's are possible"),
    PGY_OPT_TEXT("--refit-from", convert_args, refit_from, .meta = "PATH",
                 .help = "give a plan the weights of this ONNX model; the plan must have been "
                         "built with --refittable or --strip-plan"),
    PGY_OPT_END,
};

static void defaults(void *settings)
{
    ((convert_args *)settings)->opset = -1;
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    (void)line;
    convert_args *s = settings;
    if (!s->format && str_ends_with(s->output, ".onnx")) s->format = FORMATS[0];
    if (!s->format && (str_ends_with(s->output, ".plan") || str_ends_with(s->output, ".engine")))
        s->format = FORMATS[1];
    if (s->format) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "'%s': the extension does not tell the format: expected .onnx, .plan or "
                         ".engine; otherwise give --convert-to onnx or trt",
                         s->output);
}

static const option_group OWN = {
    .options = OPTIONS, ARGS_TYPE(convert_args), .defaults = defaults, .finish = finish};
static const option_group *const GROUPS[] = {&OWN,
                                             &GROUP_LOGGING,
                                             &GROUP_MODEL_CONVERT,
                                             &GROUP_ONNX_SHAPE,
                                             &GROUP_ONNX_LOAD,
                                             &GROUP_ONNX_WRITE,
                                             &GROUP_DATA,
                                             &GROUP_TRT_CONFIG_CONVERT,
                                             &GROUP_TRT_NETWORK,
                                             &GROUP_TRT_ENGINE_CONVERT,
                                             &GROUP_TRACE_BUILD,
                                             &GROUP_OPERATORS,
                                             NULL};

/* ---- The opset ------------------------------------------------------------------------------ */

static void log_report(const pgy_opset_report *report)
{
    for (size_t i = 0; i < report->impossible_count; i++)
        LOG(ERROR, "Node '%s' (%s) cannot be expressed in opset %lld: %s",
            report->impossible[i].node, report->impossible[i].op_type, (long long)report->to,
            report->impossible[i].reason);
}

static pgy_status convert_opset(pgy_model **model, void *user, pgy_error *err)
{
    const convert_args *s = user;
    pgy_opset_report report = {0};
    pgy_graph *graph = NULL;
    pgy_model *converted = NULL;
    pgy_status st = pgy_graph_import(&graph, *model, err);
    if (!st) st = pgy_graph_convert_opset(graph, s->opset, &report, err);
    log_report(&report);
    if (report.impossible_count)
        st = pgy_error_set(err, st, "%zu of the model's nodes cannot be expressed in opset %lld",
                           report.impossible_count, (long long)report.to);
    if (!st) st = pgy_graph_export(&converted, graph, err);
    if (!st) {
        LOG(INFO, "Converted from opset %lld to %lld; nodes rewritten: %zu", (long long)report.from,
            (long long)report.to, report.changed_count);
        pgy_model_destroy(*model);
        *model = converted;
    }
    pgy_graph_destroy(graph);
    return st;
}

/* ---- The command ---------------------------------------------------------------------------- */

static pgy_status save_onnx(args *line, pgy_error *err)
{
    convert_args *s = args_get(line, &OWN);
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_status st = model_loader_wide(&loader, line, err);
    if (!st && s->opset != -1) st = pgy_loader_extend(&loader, convert_opset, s, err);
    if (!st)
        st = model_loader_half(
            &loader, line,
            err); /* after the opset: newer opsets support 16 bits in more operators */
    if (!st) st = model_loader_save(&loader, line, s->output, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

/* Renames node types to the layer types of --trt; an attribute keeps the operator. Shapes are
 * inferred, so that viewers show them. */
static pgy_status name_layers(pgy_gs_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        pgy_gs_node *n = g->nodes[i];
        const pgy_gs_attr op = pgy_gs_attr_text("onnx_op_type", n->op);
        st = pgy_gs_set_attr(n, &op, err);
        if (!st) st = pgy_gs_set_op(n, pgy_trt_layer_of(n->op), err);
        for (size_t k = 0; !st && k < n->attribute_count; k++)
            for (size_t j = 0; !st && j < n->attributes[k].graph_count; j++)
                st = name_layers(n->attributes[k].graphs[j], err);
    }
    return st;
}

static pgy_status show_layers(pgy_model **model, void *user, pgy_error *err)
{
    (void)user;
    pgy_gs_graph *g = NULL;
    pgy_model *shown = NULL;
    pgy_status st = pgy_gs_import(&g, *model, err);
    if (!st) st = name_layers(g, err);
    if (!st) st = pgy_gs_export(&shown, g, NULL, err);
    if (!st) {
        pgy_model_destroy(*model);
        *model = shown;
    }
    pgy_gs_destroy(g);
    return st;
}

static pgy_status save_layers(args *line, pgy_error *err)
{
    convert_args *s = args_get(line, &OWN);
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_status st = trt_model_loader(&loader, line, false, err);
    if (!st && s->opset != -1) st = pgy_loader_extend(&loader, convert_opset, s, err);
    if (!st) st = pgy_loader_infer_shapes(&loader, NULL, err);
    if (!st) st = pgy_loader_extend(&loader, show_layers, NULL, err);
    if (!st) st = model_loader_save(&loader, line, s->output, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

static pgy_status save_plan(args *line, pgy_error *err)
{
    convert_args *s = args_get(line, &OWN);
    pgy_loader *loader = NULL;
    pgy_status st = trt_model_loader(&loader, line, false, err);
    if (!st && s->opset != -1) st = pgy_loader_extend(&loader, convert_opset, s, err);
    if (!st) return trt_save_plan(loader, line, s->output, err);
    pgy_loader_destroy(loader);
    return st;
}

/* Saves the plan with other weights, or with weights if it was stripped. */
static pgy_status refit_plan(const char *path, const convert_args *s, pgy_error *err)
{
    pgy_engine *engine = NULL;
    pgy_refitter *refitter = NULL;
    pgy_model *model = NULL;
    LOG(INFO, "Loading bytes from %s", path);
    pgy_status st = pgy_engine_open(&engine, path, err);
    if (!st) st = pgy_refitter_create(&refitter, engine, err);
    if (!st) st = pgy_model_load(&model, s->refit_from, NULL, err);
    if (!st) {
        st = pgy_refitter_set_model(refitter, model, err);
        if (st) st = pgy_error_prefix(err, st, "'%s': ", s->refit_from);
    }
    if (!st) st = pgy_refitter_refit(refitter, err);
    if (!st) {
        LOG(INFO, "Refitted %zu weights from %s", pgy_refitter_weight_count(refitter),
            s->refit_from);
        st = pgy_engine_save(engine, s->output, err);
    }
    pgy_model_destroy(model);
    pgy_refitter_destroy(refitter);
    pgy_engine_release(engine);
    return st;
}

static pgy_status convert(args *line, pgy_error *err)
{
    const convert_args *s = args_get(line, &OWN);
    const model_args *model = ARGS_OF(line, model_args);
    const bool is_plan = model_is_engine(model);
    if (s->refit_from && (!is_plan || strcmp(s->format, FORMATS[1])))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--refit-from replaces the weights of a plan: both the input and the "
                             "output must be plans");
    if (s->refit_from) return refit_plan(model->path, s, err);
    if (is_plan)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s' is a plan and cannot be converted; --refit-from can give it the "
                             "weights of an ONNX model",
                             model->path);
    if (strcmp(s->format, FORMATS[2]) == 0) return save_layers(line, err);
    return strcmp(s->format, FORMATS[0]) == 0 ? save_onnx(line, err) : save_plan(line, err);
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const trace_args *trace = ARGS_OF(line, trace_args);
    const convert_args *s = args_get(line, &OWN);
    const char *model = ARGS_OF(line, model_args)->path;
    trace_session session = {0};
    (void)passed;
    if (trace->path && !strcmp(trace->path, s->output))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--export-trace and --output would write to the same file: '%s'",
                             trace->path);
    pgy_status st = trace_begin(&session, trace->path, &trace->options, err);
    if (st) return st;
    st = convert(line, err);
    return trace_end(&session, st, line->name, line->command, model, err);
}

const command COMMAND_convert = {
    .tool = "convert",
    .summary = "Convert a model to another format.",
    .description = "Save a model with changes: other outputs, 16-bit floats, another opset "
                   "version. Or build a plan from it, which --trt runs.",
    .groups = GROUPS,
    .run = run,
};
