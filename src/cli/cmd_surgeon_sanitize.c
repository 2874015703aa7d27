/* SPDX-License-Identifier: Apache-2.0 */
/* surgeon sanitize: folds constants, cleans up and sorts a model, and sets input shapes or upper
 * bounds. It shows the summary before and after. */
#include <polygraphy/gs.h>
#include <polygraphy/loader.h>
#include <polygraphy/transform.h>

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/args/values.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/surgeon.h"

static const char LOG_PATH[] = "tools/surgeon/subtool/sanitize.py";

typedef struct sanitize_args {
    const char *output;
    bool cleanup, toposort;
} sanitize_args;

typedef struct fold_args {
    bool fold, keep_shapes, keep_separate, keep_inference;
    int64_t passes; /* UNLIMITED: until nothing changes */
    const char *partitioning, *threshold_text, *growth_text;
    uint64_t threshold, node_growth, total_growth;
} fold_args;

typedef struct shape_args {
    bool no_inference, fallback, no_onnxruntime;
    pgy_text_list bound_words;
    pgy_upper_bound *bounds;
    size_t bound_count;
} shape_args;

static const int64_t UNLIMITED = INT64_MIN;
static const uint64_t LARGE_BYTES = 1u << 20; /* new weights above this size get a warning */

static const char *const PARTITIONINGS[] = {"basic", "recursive", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", sanitize_args, output, .required = true, .meta = "PATH",
                 .help = "file for the new model"),
    PGY_OPT_FLAG("--cleanup", sanitize_args, cleanup,
                 .help = "remove nodes that do not contribute to the outputs"),
    PGY_OPT_FLAG("--toposort", sanitize_args, toposort, .help = "sort the nodes topologically"),
    PGY_OPT_END,
};

static const pgy_option FOLD_OPTIONS[] = {
    PGY_OPT_FLAG("--fold-constants", fold_args, fold,
                 .help = "replace nodes that do not depend on inputs by their values"),
    PGY_OPT_INT("--num-passes --num-const-fold-passes", fold_args, passes, .meta = "N",
                .help = "largest number of folding passes; default: fold until nothing changes"),
    PGY_OPT_TEXT("--partitioning", fold_args, partitioning, .choices = PARTITIONINGS,
                 .help = "no effect: folding always keeps nodes that it cannot compute"),
    PGY_OPT_FLAG("--no-fold-shapes", fold_args, keep_shapes,
                 .help = "do not fold Shape nodes and arithmetic on shapes"),
    PGY_OPT_FLAG("--no-fold-into-weights", fold_args, keep_separate,
                 .help =
                     "do not merge nodes into a neighbouring Conv, ConvTranspose, Gemm or MatMul "
                     "(Mul, Div, Add, Sub and BatchNormalization into its weights, Pad into its "
                     "pads); do not join the matrix products of one value into one product and a "
                     "Split; do not remove Reshapes around elementwise operators"),
    PGY_OPT_FLAG("--no-per-pass-shape-inference", fold_args, keep_inference,
                 .help = "do not infer shapes between the passes"),
    PGY_OPT_TEXT("--fold-size-threshold", fold_args, threshold_text, .meta = "BYTES",
                 .help =
                     "do not fold nodes with a larger result; K, M and G may follow the number"),
    PGY_OPT_TEXT(
        "--max-growth", fold_args, growth_text, .meta = "BYTES[:TOTAL]",
        .help =
            "do not fold nodes whose results exceed the weights that they replace by more than "
            "BYTES, or by more than TOTAL in the whole model. Without this option folding keeps "
            "the Transpose of a weight above 1 MiB if other nodes read the weight untransposed"),
    PGY_OPT_END,
};

static const pgy_option SHAPE_OPTIONS[] = {
    PGY_OPT_FLAG("--no-shape-inference", shape_args, no_inference, .exclusive = "shapes",
                 .help = "do not infer shapes"),
    PGY_OPT_FLAG("--force-fallback-shape-inference", shape_args, fallback, .exclusive = "shapes",
                 .help = "find shapes by running the model on generated data, with ONNX Runtime or "
                         "else the reference; dynamic dimensions become fixed"),
    PGY_OPT_FLAG("--no-onnxruntime-shape-inference", shape_args, no_onnxruntime,
                 .help = "no effect: the program infers shapes without a runtime",
                 .deprecated = "has no effect: the program infers shapes without a runtime"),
    PGY_OPT_LIST("--set-unbounded-dds-upper-bound", shape_args, bound_words,
                 .nargs = PGY_ONE_OR_MORE, .meta = "[NAME:]BOUND",
                 .help = "insert upper bounds for the tensors whose values determine an unbounded "
                         "data-dependent shape; a bound without a name is for all of them. Fold "
                         "the model's constants first"),
    PGY_OPT_END,
};

/* ---- Options -------------------------------------------------------------------------------- */

static pgy_status read_growth(fold_args *s, arena *memory, pgy_error *err)
{
    char *text = arena_strdup(memory, s->growth_text);
    if (!text) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    char *colon = strchr(text, ':');
    if (colon) *colon = '\0';
    pgy_status st =
        *text || !colon ? value_bytes(&s->node_growth, text, "--max-growth", err) : PGY_OK;
    if (!st && colon) st = value_bytes(&s->total_growth, colon + 1, "--max-growth", err);
    return st;
}

static pgy_status read_bounds(shape_args *s, arena *memory, pgy_error *err)
{
    const key_value *pairs;
    size_t count;
    pgy_status st = values_split(&pairs, &count, &s->bound_words, memory, err);
    if (st) return st;
    s->bounds = arena_alloc_array(memory, count, sizeof *s->bounds);
    if (!s->bounds) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        char *end;
        const long long bound = strtoll(pairs[i].value, &end, 10);
        if (end == pairs[i].value || *end)
            return pgy_error_set(
                err, PGY_E_ARGUMENT,
                "--set-unbounded-dds-upper-bound: '%s' is not an integer; expected [NAME:]BOUND",
                pairs[i].value);
        s->bounds[i] = (pgy_upper_bound){pairs[i].key, bound};
    }
    s->bound_count = count;
    return PGY_OK;
}

static void warn_unused(const fold_args *s)
{
    const struct {
        bool given;
        const char *name;
    } options[] = {{s->passes != UNLIMITED, "--num-passes"},
                   {s->partitioning != NULL, "--partitioning"},
                   {s->keep_shapes, "--no-fold-shapes"},
                   {s->keep_separate, "--no-fold-into-weights"},
                   {s->keep_inference, "--no-per-pass-shape-inference"},
                   {s->threshold_text != NULL, "--fold-size-threshold"},
                   {s->growth_text != NULL, "--max-growth"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given)
            LOG(WARNING, "%s has no effect without --fold-constants", options[i].name);
}

static void fold_defaults(void *settings)
{
    fold_args *s = settings;
    s->passes = UNLIMITED;
}

static pgy_status finish_fold(void *settings, args *line, pgy_error *err)
{
    fold_args *s = settings;
    pgy_status st = PGY_OK;
    s->threshold = s->node_growth = s->total_growth = UINT64_MAX;
    if (!s->fold) warn_unused(s);
    if (s->passes < 0 && s->passes != UNLIMITED)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--num-passes: %lld is negative",
                             (long long)s->passes);
    if (s->threshold_text)
        st = value_bytes(&s->threshold, s->threshold_text, "--fold-size-threshold", err);
    if (!st && s->growth_text) st = read_growth(s, &line->memory, err);
    return st;
}

static pgy_status finish_shapes(void *settings, args *line, pgy_error *err)
{
    shape_args *s = settings;
    return s->bound_words.given ? read_bounds(s, &line->memory, err) : PGY_OK;
}

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(sanitize_args)};
static const option_group FOLD = {.title = "Constant Folding",
                                  .description = "Options related to folding constants",
                                  .options = FOLD_OPTIONS,
                                  ARGS_TYPE(fold_args),
                                  .defaults = fold_defaults,
                                  .finish = finish_fold};
static const option_group SHAPES = {.title = "ONNX Shape Inference",
                                    .description = "Options related to shape inference",
                                    .options = SHAPE_OPTIONS,
                                    ARGS_TYPE(shape_args),
                                    .finish = finish_shapes};
static const option_group *const GROUPS[] = {&OWN,
                                             &FOLD,
                                             &GROUP_LOGGING,
                                             &GROUP_MODEL_OVERRIDE,
                                             &GROUP_DATA,
                                             &SHAPES,
                                             &GROUP_ONNX_EDIT,
                                             &GROUP_ONNX_WRITE,
                                             &GROUP_OPERATORS,
                                             NULL};

/* ---- Shapes --------------------------------------------------------------------------------- */

/* If shape inference fails, this logs a warning and leaves the model unchanged. */
static void infer_shapes(pgy_graph *graph)
{
    pgy_error why = {0};
    if (pgy_graph_infer_shapes(graph, NULL, &why))
        LOG(WARNING, "Shape inference failed: %s", why.text);
    else
        LOG(VERBOSE, "Shape inference completed successfully");
}

static pgy_status run_for_shapes(pgy_graph *graph, args *line, pgy_error *err)
{
    const pgy_record_options all = {.all = true, .before_run = surgeon_show_feed};
    pgy_model *model = NULL;
    pgy_tensor_map *values = NULL;
    pgy_metadata *shapes = NULL;
    LOG(INFO, "Running the model to find shapes; dynamic dimensions become fixed");
    pgy_status st = pgy_graph_export(&model, graph, err);
    if (!st) st = surgeon_record(&values, model, all, NULL, line, err);
    if (!st) st = pgy_metadata_from_map(&shapes, values, err);
    if (!st) st = pgy_graph_declare_shapes(graph, shapes, err);
    pgy_metadata_destroy(shapes);
    pgy_tensor_map_destroy(values);
    pgy_model_destroy(model);
    return st;
}

static pgy_status set_bounds(pgy_graph *graph, const shape_args *s, pgy_error *err)
{
    const pgy_upper_bound *set;
    size_t count;
    str text = {0};
    pgy_status st = pgy_graph_set_upper_bounds(graph, s->bounds, s->bound_count, &set, &count, err);
    if (st) return st;
    for (size_t i = 0; i < count; i++)
        str_printf(&text, "%s'%s': %lld", i ? ", " : "", set[i].name, (long long)set[i].bound);
    LOG(INFO, "Set tensor upper bounds: {%s}", str_text(&text));
    str_deinit(&text);
    return PGY_OK;
}

/* ---- Folding -------------------------------------------------------------------------------- */

static void show_progress(size_t pass, size_t before, size_t after, void *user)
{
    (void)user;
    if (after == SIZE_MAX) {
        LOG(START, "Folding Constants | Pass %zu", pass);
        return;
    }
    LOG(FINISH, "    Total Nodes | Original: %5zu, After Folding: %5zu | %5lld Nodes Folded",
        before, after, (long long)before - (long long)after);
}

static void show_refused(const pgy_fold_report *report)
{
    enum { SHOWN = 20 };
    str text = {0};
    if (report->refused_count == 0) return;
    str_printf(&text, "Constant nodes that were not folded: %zu", report->refused_count);
    for (size_t i = 0; i < report->refused_count && i < SHOWN; i++)
        str_printf(&text, "\n    %s (%s): %s", report->refused[i].node, report->refused[i].op_type,
                   report->refused[i].reason);
    if (report->refused_count > SHOWN)
        str_printf(&text, "\n    ... and %zu more", report->refused_count - SHOWN);
    LOG(WARNING, "%s", str_text(&text));
    str_deinit(&text);
}

static uint64_t weight_bytes(const pgy_onnx_tensor *t)
{
    pgy_tensor_info info;
    size_t count, bytes;
    if (pgy_onnx_tensor_info(&info, t, NULL) ||
        pgy_shape_count(&count, (size_t)info.rank, info.shape, NULL) ||
        pgy_dtype_size_bytes(&bytes, info.dtype, count, NULL))
        return 0;
    return bytes;
}

/* Warns of large new weights if the weights together have grown. */
static void show_large(const pgy_graph *graph, const pgy_fold_report *report)
{
    str text = {0};
    strmap before = {0};
    bool kept = report->weight_bytes_after > report->weight_bytes_before + LARGE_BYTES;
    for (size_t i = 0; kept && i < graph->proto->initializer_count; i++)
        kept = strmap_put(&before, graph->proto->initializers[i]->name, &before);
    for (size_t i = 0; kept && i < graph->initializer_count; i++) {
        const pgy_value *v = graph->initializers[i];
        const uint64_t bytes = v->initializer ? weight_bytes(v->initializer) : 0;
        if (bytes > LARGE_BYTES && !strmap_has(&before, v->name))
            str_printf(&text, "%s%s (%llu MiB)", text.size ? ", " : "", v->name,
                       (unsigned long long)(bytes >> 20));
    }
    if (text.size)
        LOG(WARNING,
            "Constant folding added large weights; --fold-size-threshold or --max-growth can limit "
            "this: %s",
            str_text(&text));
    str_deinit(&text);
    strmap_deinit(&before);
}

/* A failing pass ends folding, not the command. */
static pgy_status fold(pgy_graph *graph, const args *line, pgy_error *err)
{
    const fold_args *s = args_get(line, &FOLD);
    const shape_args *shapes = args_get(line, &SHAPES);
    pgy_fold_report report = {0};
    pgy_error why = {0};
    pgy_fold_options o = pgy_fold_options_default();
    o.max_result_bytes = s->threshold;
    o.max_node_growth = s->node_growth;
    o.max_total_growth = s->total_growth;
    if (s->growth_text)
        o.max_copy_bytes = UINT64_MAX; /* the user's limit on growth applies instead */
    o.keep_shapes = s->keep_shapes;
    o.keep_separate = s->keep_separate;
    o.keep_shape_inference = s->keep_inference || shapes->no_inference || shapes->fallback;
    o.passes = s->passes == UNLIMITED ? 0 : s->passes;
    o.progress = show_progress;
    const pgy_status st = pgy_graph_fold_constants(graph, &o, &report, &why);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st)
        LOG(WARNING, "Constant folding stopped early: %s", why.text);
    else
        show_refused(&report);
    if (!st && !s->threshold_text && !s->growth_text) show_large(graph, &report);
    return PGY_OK;
}

/* ---- The command ---------------------------------------------------------------------------- */

static pgy_status show_graph(const char *title, pgy_graph *graph, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_status st = pgy_graph_export(&model, graph, err);
    if (!st) st = surgeon_show(title, model, err);
    pgy_model_destroy(model);
    return st;
}

static pgy_status change(pgy_graph *graph, args *line, pgy_error *err)
{
    const sanitize_args *s = args_get(line, &OWN);
    const fold_args *folding = args_get(line, &FOLD);
    const shape_args *shapes = args_get(line, &SHAPES);
    const model_args *model = ARGS_OF(line, model_args);
    pgy_status st = PGY_OK;
    if (model->shapes) st = surgeon_override_shapes(graph, model->shapes, err);
    if (!st && shapes->fallback) st = run_for_shapes(graph, line, err);
    if (!st && s->cleanup) st = pgy_graph_remove_unused(graph, err);
    if (!st && s->toposort) st = pgy_graph_sort(graph, err);
    if (!st && folding->fold && folding->passes != 0) st = fold(graph, line, err);
    if (!st && !shapes->no_inference && !shapes->fallback) infer_shapes(graph);
    return st;
}

static pgy_status save(pgy_graph *graph, args *line, pgy_error *err)
{
    const sanitize_args *s = args_get(line, &OWN);
    pgy_model *model = NULL;
    pgy_status st = pgy_graph_export(&model, graph, err);
    if (!st) st = surgeon_save(model, line, s->output, false, err);
    pgy_model_destroy(model);
    return st;
}

/* Imports the model without nodes that no output needs, which may be its only defect. */
static pgy_status import_cleaned(pgy_graph **out, pgy_model *model, pgy_error *err)
{
    static const pgy_gs_export_options LOOSE = {.size = sizeof LOOSE, .no_type_check = true};
    pgy_gs_graph *loose = NULL;
    pgy_model *cleaned = NULL;
    pgy_status st = pgy_gs_import(&loose, model, err);
    if (!st) st = pgy_gs_cleanup(loose, NULL, err);
    if (!st) st = pgy_gs_export(&cleaned, loose, &LOOSE, err);
    if (!st) st = pgy_graph_import(out, cleaned, err);
    pgy_model_destroy(cleaned);
    pgy_gs_destroy(loose);
    return st;
}

static pgy_status import_graph(pgy_graph **out, pgy_model *model, const args *line, pgy_error *err)
{
    const sanitize_args *s = args_get(line, &OWN);
    const fold_args *folding = args_get(line, &FOLD);
    pgy_error why = {0};
    pgy_status st = pgy_graph_import(out, model, &why);
    if (!st) return st;
    const bool cleans = s->cleanup || (folding->fold && folding->passes != 0);
    if (st != PGY_E_FORMAT || !cleans) return pgy_error_set(err, st, "%s", why.text);
    st = import_cleaned(out, model, err);
    if (!st)
        LOG(WARNING,
            "Removed the nodes that no output needs, because the model is not valid with them: %s",
            why.text);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    (void)passed;
    const shape_args *shapes = args_get(line, &SHAPES);
    pgy_model *model = NULL;
    pgy_graph *graph = NULL;
    pgy_status st = surgeon_read(&model, line, err);
    if (!st) st = import_graph(&graph, model, line, err);
    if (!st && !shapes->no_inference && !shapes->fallback) infer_shapes(graph);
    if (!st && shapes->bound_count) st = set_bounds(graph, shapes, err);
    if (!st) st = show_graph("Original Model:", graph, err);
    if (!st) st = change(graph, line, err);
    if (!st) st = save(graph, line, err);
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
    return st;
}

const command COMMAND_surgeon_sanitize = {
    .tool = "surgeon",
    .subtool = "sanitize",
    .summary = "Fold constants, clean up, change input shapes.",
    .description = "Clean up a model: fold constants, remove unused nodes, sort the nodes, change "
                   "input shapes, or set upper bounds for data-dependent shapes.",
    .groups = GROUPS,
    .frames = true,
    .run = run,
};
