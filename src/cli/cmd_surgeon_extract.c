/* SPDX-License-Identifier: Apache-2.0 */
/* surgeon extract: saves the part of a model between some tensors. Types and shapes that the
 * command line lacks come from the model, then from shape inference, then from running the model.
 */
#include <polygraphy/gs.h>

#include <string.h>

#include "base/cancel.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/args/values.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/surgeon.h"

static const char LOG_PATH[] = "tools/surgeon/subtool/extract.py";

typedef struct tensor_list {
    bool given;
    const pgy_tensor_info *items;
    size_t count;
} tensor_list;

typedef struct extract_args {
    const char *output;
    pgy_text_list input_words, output_words;
    tensor_list inputs, outputs;
} extract_args;

typedef struct shape_args {
    bool infer, fallback, no_onnxruntime;
} shape_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_LIST(
        "--inputs", extract_args, input_words, .nargs = PGY_ZERO_OR_MORE,
        .meta = "NAME:SHAPE:DTYPE",
        .help =
            "inputs of the new model, in this order, for example 'x:[1,3,224,224]:float32' or "
            "'x:auto:auto'; --inputs without a value: no inputs; default: the inputs of the model"),
    PGY_OPT_LIST("--outputs", extract_args, output_words, .nargs = PGY_ONE_OR_MORE,
                 .meta = "NAME:DTYPE",
                 .help = "outputs of the new model, in this order, for example 'y:float32' or "
                         "'y:auto'; default: the outputs of the model"),
    PGY_OPT_TEXT("-o --output", extract_args, output, .required = true, .meta = "PATH",
                 .help = "file for the new model"),
    PGY_OPT_END,
};

static const pgy_option SHAPE_OPTIONS[] = {
    PGY_OPT_FLAG("--shape-inference --do-shape-inference", shape_args, infer, .exclusive = "shapes",
                 .help = "infer shapes when loading the model"),
    PGY_OPT_FLAG("--force-fallback-shape-inference", shape_args, fallback, .exclusive = "shapes",
                 .help = "ignore the types and shapes in the model, and find them by running the "
                         "model on generated data, with ONNX Runtime or else the reference; "
                         "dynamic dimensions become fixed"),
    PGY_OPT_FLAG("--no-onnxruntime-shape-inference", shape_args, no_onnxruntime,
                 .help = "no effect: the program infers shapes without a runtime",
                 .deprecated = "has no effect: the program infers shapes without a runtime"),
    PGY_OPT_END,
};

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    extract_args *s = settings;
    pgy_status st = PGY_OK;
    s->inputs.given = s->input_words.given;
    s->outputs.given = s->output_words.given;
    if (s->inputs.given)
        st = values_tensors(&s->inputs.items, &s->inputs.count, &s->input_words, "--inputs", true,
                            &line->memory, err);
    if (!st && s->outputs.given)
        st = values_tensors(&s->outputs.items, &s->outputs.count, &s->output_words, "--outputs",
                            false, &line->memory, err);
    return st;
}

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(extract_args), .finish = finish};
static const option_group SHAPES = {.title = "ONNX Shape Inference",
                                    .description = "Options related to shape inference",
                                    .options = SHAPE_OPTIONS,
                                    ARGS_TYPE(shape_args)};
static const option_group *const GROUPS[] = {
    &OWN,    &GROUP_LOGGING,   &GROUP_MODEL_RECORD, &GROUP_DATA,
    &SHAPES, &GROUP_ONNX_READ, &GROUP_ONNX_WRITE,   &GROUP_OPERATORS,
    NULL};

/* ---- The tensors of the new interface ------------------------------------------------------- */

/* One input or output of the extracted model: as the command line asks, then as it will be.
 */
typedef struct end {
    pgy_tensor_info wanted; /* rank -1, dtype NONE: not given */
    pgy_gs_tensor *tensor;
    pgy_dtype dtype;
    int32_t rank;
    const pgy_dim *dims;
} end;

typedef struct extraction {
    args *line;
    pgy_model *model;
    pgy_gs_graph *graph;
    end *inputs, *outputs;
    size_t input_count, output_count;
} extraction;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status dims_of(end *e, arena *memory, pgy_error *err)
{
    const pgy_tensor_info *w = &e->wanted;
    pgy_dim *dims = arena_alloc_array(memory, (size_t)w->rank + 1, sizeof *dims);
    if (!dims) return no_memory(err);
    for (int32_t i = 0; i < w->rank; i++)
        dims[i] = (pgy_dim){w->shape[i], w->dim_names ? w->dim_names[i] : NULL};
    e->rank = w->rank;
    e->dims = dims;
    return PGY_OK;
}

/* Takes type and shape from the command line, else from the model. */
static pgy_status fill_end(end *e, const extraction *x, pgy_error *err)
{
    pgy_status st = pgy_gs_get_tensor(&e->tensor, x->graph, e->wanted.name, err);
    if (st) return st;
    e->dtype = e->wanted.dtype ? e->wanted.dtype : e->tensor->dtype;
    e->rank = e->tensor->rank;
    e->dims = e->tensor->dims;
    return e->wanted.rank >= 0 ? dims_of(e, &x->line->memory, err) : PGY_OK;
}

static pgy_status fill_ends(end **out, size_t *count, const extraction *x, const tensor_list *list,
                            pgy_gs_tensor *const *present, size_t present_count, pgy_error *err)
{
    const size_t n = list->given ? list->count : present_count;
    end *ends = arena_alloc_array(&x->line->memory, n + 1, sizeof *ends);
    pgy_status st = ends ? PGY_OK : no_memory(err);
    for (size_t i = 0; !st && i < n; i++) {
        ends[i].wanted =
            list->given ? list->items[i] : (pgy_tensor_info){.name = present[i]->name, .rank = -1};
        st = fill_end(&ends[i], x, err);
    }
    if (!st) {
        *out = ends;
        *count = n;
    }
    return st;
}

/* Loads the graph, and fills both ends from the line and the model. */
static pgy_status look(extraction *x, pgy_error *err)
{
    const extract_args *s = args_get(x->line, &OWN);
    pgy_gs_destroy(x->graph);
    x->graph = NULL;
    pgy_status st = pgy_gs_import(&x->graph, x->model, err);
    if (!st)
        st = fill_ends(&x->inputs, &x->input_count, x, &s->inputs, x->graph->inputs,
                       x->graph->input_count, err);
    if (!st)
        st = fill_ends(&x->outputs, &x->output_count, x, &s->outputs, x->graph->outputs,
                       x->graph->output_count, err);
    return st;
}

/* Is it a sequence, optional or map by the model's declaration? --inputs and --outputs cannot
 * express these. */
static bool is_other_kind(const end *e)
{
    return e->tensor->type_kind != PGY_VALUE_TENSOR && !e->wanted.dtype && e->wanted.rank < 0;
}

static bool misses(const end *e, bool is_input)
{
    if (is_other_kind(e)) return false;
    return !e->dtype || (is_input && e->rank < 0);
}

static bool any_missing(const extraction *x)
{
    for (size_t i = 0; i < x->input_count; i++)
        if (misses(&x->inputs[i], true)) return true;
    for (size_t i = 0; i < x->output_count; i++)
        if (misses(&x->outputs[i], false)) return true;
    return false;
}

/* ---- What is not known ---------------------------------------------------------------------- */

/* If shape inference fails, this logs a warning and leaves the model unchanged. */
static pgy_status infer_shapes(extraction *x, pgy_error *err)
{
    pgy_error why = {0};
    pgy_graph *graph = NULL;
    pgy_model *inferred = NULL;
    pgy_status st = pgy_graph_import(&graph, x->model, &why);
    if (!st) st = pgy_graph_infer_shapes(graph, NULL, &why);
    if (!st) st = pgy_graph_export(&inferred, graph, &why);
    pgy_graph_destroy(graph);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) {
        LOG(WARNING, "Shape inference failed: %s", why.text);
        return PGY_OK;
    }
    LOG(VERBOSE, "Shape inference completed successfully");
    pgy_model_destroy(x->model);
    x->model = inferred;
    return look(x, err);
}

static void append_missing(str *out, const end *ends, size_t count, bool are_inputs)
{
    for (size_t i = 0; i < count; i++)
        if (misses(&ends[i], are_inputs))
            str_printf(out, "%s'%s'", out->size ? ", " : "", ends[i].wanted.name);
}

static void announce_run(const extraction *x, bool forced)
{
    str names = {0};
    if (forced) {
        LOG(INFO, "Running the model to find types and shapes; dynamic dimensions become fixed");
        return;
    }
    append_missing(&names, x->inputs, x->input_count, true);
    append_missing(&names, x->outputs, x->output_count, false);
    LOG(WARNING,
        "The type or shape of %s is neither in the model nor can it be inferred. Running the model "
        "to find it; dynamic dimensions may become fixed.\nGive types and shapes with --inputs and "
        "--outputs to avoid this.",
        str_text(&names));
    str_deinit(&names);
}

/* Takes type and shape from a run if the line does not give them and the model does not have them.
 * With `forced` the model's are ignored. */
static pgy_status take_result(end *e, const pgy_tensor_map *results, bool forced, bool shape_too,
                              arena *memory, pgy_error *err)
{
    const pgy_tensor *t = pgy_tensor_map_find(results, e->wanted.name);
    if (!t) return PGY_OK;
    if (!e->wanted.dtype && (forced || !e->dtype)) e->dtype = pgy_tensor_dtype(t);
    if (!shape_too || e->wanted.rank >= 0 || (!forced && e->rank >= 0)) return PGY_OK;
    const size_t rank = pgy_tensor_rank(t);
    pgy_dim *dims = arena_alloc_array(memory, rank + 1, sizeof *dims);
    if (!dims) return no_memory(err);
    for (size_t i = 0; i < rank; i++) dims[i] = (pgy_dim){pgy_tensor_shape(t)[i], NULL};
    e->rank = (int32_t)rank;
    e->dims = dims;
    return PGY_OK;
}

static size_t add_made(const char **names, size_t n, const end *ends, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool known = ends[i].tensor->producer_count == 0;
        for (size_t k = 0; k < n && !known; k++) known = !strcmp(names[k], ends[i].wanted.name);
        if (!known) names[n++] = ends[i].wanted.name;
    }
    return n;
}

static pgy_status run_for_types(extraction *x, bool forced, pgy_error *err)
{
    arena *memory = &x->line->memory;
    const model_args *model = args_get(x->line, &GROUP_MODEL_RECORD);
    const char **names =
        arena_alloc_array(memory, x->input_count + x->output_count + 1, sizeof *names);
    pgy_tensor_map *results = NULL;
    if (!names) return no_memory(err);
    announce_run(x, forced);
    size_t n = add_made(names, 0, x->inputs, x->input_count);
    n = add_made(names, n, x->outputs, x->output_count);
    const pgy_record_options o = {.names = names, .name_count = n};
    pgy_status st = surgeon_record(&results, x->model, o, model->shapes, x->line, err);
    if (st) st = pgy_error_prefix(err, st, "running the model to find types and shapes failed: ");
    for (size_t i = 0; !st && i < x->input_count; i++)
        st = take_result(&x->inputs[i], results, forced, true, memory, err);
    for (size_t i = 0; !st && i < x->output_count; i++)
        st = take_result(&x->outputs[i], results, forced, forced, memory, err);
    pgy_tensor_map_destroy(results);
    return st;
}

/* ---- Cutting -------------------------------------------------------------------------------- */

static pgy_status set_interface(extraction *x, bool outputs, pgy_error *err)
{
    end *ends = outputs ? x->outputs : x->inputs;
    const size_t count = outputs ? x->output_count : x->input_count;
    pgy_gs_tensor **list = arena_alloc_array(&x->line->memory, count + 1, sizeof *list);
    pgy_status st = list ? PGY_OK : no_memory(err);
    for (size_t i = 0; !st && i < count; i++) {
        end *e = &ends[i];
        list[i] = e->tensor;
        if (e->tensor->kind == PGY_GS_VARIABLE && !is_other_kind(e))
            st = pgy_gs_set_type(e->tensor, e->dtype, e->rank, e->dims, err);
        if (!outputs) pgy_gs_clear_producers(e->tensor);
    }
    if (st) return st;
    return outputs ? pgy_gs_set_graph_outputs(x->graph, list, count, err)
                   : pgy_gs_set_graph_inputs(x->graph, list, count, err);
}

static void report_tensor(const pgy_gs_graph *g, const pgy_gs_tensor *t)
{
    str readers = {0};
    if (t->kind != PGY_GS_VARIABLE || t->producer_count ||
        surgeon_is_in(g->inputs, g->input_count, t))
        return;
    for (size_t k = 0; k < t->consumer_count; k++)
        str_printf(&readers, "%sNode: '%s' (Op: %s)", k ? ", " : "", t->consumers[k]->name,
                   t->consumers[k]->op);
    LOG(ERROR,
        "Tensor: '%s' is read by: [%s], but it is neither an output of a node nor an input of the "
        "new model.\nThe saved model is not valid; add this tensor, or one that depends on it, to "
        "--inputs.",
        t->name, str_text(&readers));
    str_deinit(&readers);
}

/* Reports undefined tensors: those that nodes of the graph read, then those that only subgraphs
 * read. The model is saved anyway, so that the user can inspect it. */
static pgy_status report_undefined(const pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_tensor_list own = {0}, taken = {0};
    pgy_status st = pgy_gs_tensors(&own, g, false, err);
    if (!st) st = pgy_gs_foreign_tensors(&taken, g, err);
    for (size_t i = 0; !st && i < own.count; i++) report_tensor(g, own.items[i]);
    for (size_t i = 0; !st && i < taken.count; i++)
        if (!surgeon_is_in(own.items, own.count, taken.items[i])) report_tensor(g, taken.items[i]);
    pgy_gs_tensor_list_free(&taken);
    pgy_gs_tensor_list_free(&own);
    return st;
}

static pgy_status cut(extraction *x, pgy_error *err)
{
    pgy_status st = set_interface(x, false, err);
    if (!st) st = set_interface(x, true, err);
    if (!st) st = pgy_gs_cleanup(x->graph, NULL, err);
    if (!st) st = report_undefined(x->graph, err);
    return st;
}

static pgy_status complete(extraction *x, pgy_error *err)
{
    const shape_args *s = args_get(x->line, &SHAPES);
    pgy_status st = look(x, err);
    if (!st && any_missing(x) && !s->fallback && !s->infer) {
        LOG(INFO, "Running shape inference to find the types and shapes that were not given.\nTo "
                  "avoid this, give them with --inputs and --outputs.");
        st = infer_shapes(x, err);
    }
    if (!st && (s->fallback || any_missing(x))) st = run_for_types(x, s->fallback, err);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    static const pgy_gs_export_options LOOSE = {.size = sizeof LOOSE, .no_type_check = true};
    const extract_args *s = args_get(line, &OWN);
    const shape_args *shapes = args_get(line, &SHAPES);
    extraction x = {.line = line};
    pgy_model *extracted = NULL;
    pgy_status st = surgeon_read(&x.model, line, err);
    if (!st && shapes->infer) st = infer_shapes(&x, err);
    if (!st) st = surgeon_show("Original Model:", x.model, err);
    if (!st) st = complete(&x, err);
    if (!st) st = cut(&x, err);
    if (!st) st = pgy_gs_export(&extracted, x.graph, &LOOSE, err);
    if (!st) st = surgeon_save(extracted, line, s->output, false, err);
    pgy_model_destroy(extracted);
    pgy_gs_destroy(x.graph);
    pgy_model_destroy(x.model);
    return st;
}

const command COMMAND_surgeon_extract = {
    .tool = "surgeon",
    .subtool = "extract",
    .summary = "Extract a part of a model.",
    .description =
        "Save the part of a model between given inputs and outputs. Types and shapes that are not "
        "given come from the model, from shape inference, or from running the model. For inputs of "
        "the model this command can also change shapes and types.",
    .groups = GROUPS,
    .frames = true,
    .run = run,
};
