/* SPDX-License-Identifier: Apache-2.0 */
/* debug reduce: searches the smallest part of a model that still fails a check. */
#include <string.h>

#include <polygraphy/debug_minimise.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cli/groups/data.h"
#include "cli/groups/debug.h"
#include "cli/groups/debug_judge.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/runners.h"
#include "cli/groups/trt.h"
#include "cli/surgeon.h"

static const char LOG_PATH[] = "tools/debug/subtool/reduce.py";

typedef struct reduce_args {
    const char *output, *min_good, *mode;
    bool keep_inputs, keep_outputs;
} reduce_args;

typedef struct shape_args {
    bool no_inference, fallback, no_onnxruntime;
} shape_args;

static const char *const MODES[] = {"bisect", "linear", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", reduce_args, output, .meta = "PATH",
                 .help = "where to save the smallest model that fails"),
    PGY_OPT_TEXT("--min-good --minimal-good", reduce_args, min_good, .meta = "PATH",
                 .help = "where to save a model of about the same size that passes, if there is "
                         "one"),
    PGY_OPT_FLAG("--no-reduce-inputs", reduce_args, keep_inputs, .exclusive = "phase",
                 .help = "keep the inputs of the model; only move its outputs"),
    PGY_OPT_FLAG("--no-reduce-outputs", reduce_args, keep_outputs, .exclusive = "phase",
                 .help = "keep the outputs of the model; only move its inputs"),
    PGY_OPT_TEXT("--mode", reduce_args, mode, .choices = MODES,
                 .help = "bisect: halve the model in each iteration, assuming that all larger "
                         "parts fail; linear: try every node. Default bisect"),
    PGY_OPT_END,
};

static const pgy_option SHAPE_OPTIONS[] = {
    PGY_OPT_FLAG("--no-shape-inference", shape_args, no_inference, .exclusive = "shapes",
                 .help = "do not infer shapes when loading the model"),
    PGY_OPT_FLAG("--force-fallback-shape-inference", shape_args, fallback, .exclusive = "shapes",
                 .help = "find types and shapes by running the model on generated data, instead "
                         "of from the model; dynamic dimensions become fixed"),
    PGY_OPT_FLAG("--no-onnxruntime-shape-inference", shape_args, no_onnxruntime,
                 .help = "no effect: shapes are inferred without any runtime",
                 .deprecated = "has no effect here, since shapes are inferred without any runtime"),
    PGY_OPT_END,
};

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    const reduce_args *s = settings;
    const judge_args *judge = ARGS_OF(line, judge_args);
    if (judge->on || judge->with) {
        if (s->min_good || s->keep_inputs || s->keep_outputs || s->mode)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "--min-good, --mode, --no-reduce-inputs and --no-reduce-outputs "
                                 "do not apply to the search of --on and --check-with");
        if (s->output || judge->repro) return PGY_OK;
        return pgy_error_set(err, PGY_E_ARGUMENT, "--output or --repro must be provided");
    }
    if (s->output || s->min_good) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "--output (where to write the reduced model) and/or --min-good (where to "
                         "write a reduced model that passes) must be provided!");
}

static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(reduce_args), .finish = finish};
static const option_group SHAPES = {.title = "ONNX Shape Inference",
                                    .description = "Options related to shape inference",
                                    .options = SHAPE_OPTIONS,
                                    ARGS_TYPE(shape_args)};
enum { MAX_GROUPS = 64 };

static const option_group *const *groups(void)
{
    static const option_group *all[MAX_GROUPS];
    if (all[0]) return all;
    const option_group *const fixed[] = {
        &OWN,    &GROUP_DEBUG_REDUCE, &GROUP_LOGGING,    &GROUP_MODEL_FIXED, &GROUP_DATA,
        &SHAPES, &GROUP_ONNX_READ,    &GROUP_ONNX_WRITE, &GROUP_OPERATORS,   &GROUP_DEBUG_JUDGE,
        NULL,
    };
    static const option_group *const judged[] = {&GROUP_COMPARE_SAVED, &GROUP_FUNCTIONS,
                                                 &GROUP_TRT_CONFIG, NULL};
    size_t n = 0;
    while (fixed[n]) all[n] = fixed[n], n++;
    for (size_t i = 0; judged[i]; i++) all[n++] = judged[i];
    for (size_t i = 0; i < group_backend_count() && n + 1 < MAX_GROUPS; i++)
        all[n++] = group_backend_at(i);
    return all;
}

/* ---- The model ------------------------------------------------------------------------------ */

static pgy_status record(pgy_tensor_map **out, pgy_model *model, const char *const *names,
                         size_t count, void *user, pgy_error *err)
{
    const args *line = user;
    const model_args *m = args_get(line, &GROUP_MODEL_FIXED);
    const pgy_record_options o = {
        .names = names, .name_count = count, .before_run = surgeon_show_feed};
    return surgeon_record(out, model, o, m->shapes, line, err);
}

static pgy_status save(pgy_model *model, void *user, pgy_error *err)
{
    const args *line = user;
    const debug_args *s = args_get(line, &GROUP_DEBUG_REDUCE);
    return model_save(model, line, s->candidate, NULL, err);
}

/* Without options about weights the session saves candidates itself, which is faster. */
static bool has_save_options(const args *line)
{
    const onnx_load_args *load = ARGS_OF(line, onnx_load_args);
    return ARGS_OF(line, onnx_save_args)->external.given || load->ignore_external_data;
}

/* Saves each smaller model, so that an interrupted search leaves its best. */
static pgy_status keep_bad(pgy_model *bad, void *user, pgy_error *err)
{
    const args *line = user;
    const reduce_args *s = args_get(line, &OWN);
    return s->output ? model_save(bad, line, s->output, NULL, err) : PGY_OK;
}

static void warn_of_inputs(const pgy_graph *g)
{
    for (size_t i = 0; i < g->input_count; i++) {
        const pgy_value *v = g->inputs[i];
        bool dynamic = v->rank < 0;
        for (int32_t d = 0; d < v->rank; d++) dynamic |= v->dims[d].value < 0;
        if (!dynamic) continue;
        LOG(WARNING, "This model uses dynamic input shapes.\nYou may want to provide input shapes "
                     "to `debug reduce` using the `--model-input-shapes` option to prevent "
                     "unexpected behavior.");
        return;
    }
}

static void warn_of_nodes(const pgy_graph *g)
{
    size_t unknown = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        if (strcmp(g->nodes[i]->op_type, "Shape") == 0) {
            LOG(WARNING, "This model has Shape nodes, which branch off the data. Folding them "
                         "first makes smaller parts possible: surgeon sanitize --fold-constants "
                         "--override-input-shapes.");
            break;
        }
    }
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i]->output_count; k++)
            unknown += g->nodes[i]->outputs[k] && g->nodes[i]->outputs[k]->rank < 0;
    if (unknown)
        LOG(WARNING,
            "%zu tensors have no shape: a model that begins or ends at one of them is run "
            "to find it, which makes dynamic dimensions fixed.",
            unknown);
}

/* If shape inference fails, this logs a warning and leaves the model unchanged. */
static pgy_status infer_shapes(pgy_graph *g, pgy_error *err)
{
    pgy_error why = {0};
    const pgy_status st = pgy_graph_infer_shapes(g, NULL, &why);
    if (st == PGY_E_MEMORY || st == PGY_E_CANCELLED) return pgy_error_set(err, st, "%s", why.text);
    if (st) LOG(WARNING, "Shapes cannot be inferred: %s", why.text);
    return PGY_OK;
}

/* Infers shapes and sets those of the command line, before trials cut the model. */
static pgy_status prepare(pgy_model **model, const args *line, pgy_error *err)
{
    const shape_args *shapes = args_get(line, &SHAPES);
    const model_args *m = args_get(line, &GROUP_MODEL_FIXED);
    pgy_graph *g = NULL;
    pgy_model *prepared = NULL;
    pgy_status st = pgy_graph_import(&g, *model, err);
    if (!st && !shapes->no_inference && !shapes->fallback) st = infer_shapes(g, err);
    if (!st && m->shapes) st = surgeon_override_shapes(g, m->shapes, err);
    if (!st && m->shapes) st = infer_shapes(g, err);
    if (!st) {
        warn_of_inputs(g);
        warn_of_nodes(g);
        st = pgy_graph_export(&prepared, g, err);
    }
    pgy_graph_destroy(g);
    if (st) return st;
    pgy_model_destroy(*model);
    *model = prepared;
    return PGY_OK;
}

/* ---- Results ---------------------------------------------------------------------------- */

static void advise(const pgy_debug_reduction *r, const reduce_args *s)
{
    const bool linear = s->mode && strcmp(s->mode, MODES[1]) == 0;
    if (!r->failed)
        LOG(WARNING, "No reduced model failed the check, so the model stays as it is.");
    else if (!linear && s->output && r->bad_nodes > 1 && 4 * r->bad_nodes >= r->original_nodes)
        LOG(WARNING,
            "It looks like this model could potentially be reduced further.\nYou may want to "
            "reduce %s again using --mode=linear. ",
            s->output);
}

static pgy_status save_result(pgy_model *model, const char *title, const char *path,
                              const args *line, pgy_error *err)
{
    const pgy_status st = surgeon_show(title, model, err);
    return st ? st : model_save(model, line, path, NULL, err);
}

static pgy_status save_results(const pgy_debug_reduction *r, const args *line, pgy_error *err)
{
    const reduce_args *s = args_get(line, &OWN);
    pgy_status st = PGY_OK;
    advise(r, s);
    if (s->output) st = save_result(r->bad, "Minimum Bad Model:", s->output, line, err);
    if (!st && r->good) st = save_result(r->good, "Minimum Good Model:", s->min_good, line, err);
    if (!st && s->min_good && !r->good)
        LOG(WARNING, "No model is saved to %s: none that differs from the failing one passed.",
            s->min_good);
    return st;
}

/* ---- Delta debugging ------------------------------------------------------------------------ */

typedef struct sample_list {
    pgy_tensor_map **items;
    size_t count;
} sample_list;

static void samples_deinit(sample_list *s)
{
    for (size_t i = 0; i < s->count; i++) pgy_tensor_map_destroy(s->items[i]);
    mem_free(s->items);
}

static pgy_status add_sample(sample_list *s, pgy_model *model, pgy_data_loader *loader, bool *more,
                             pgy_error *err)
{
    pgy_tensor_map **items = mem_realloc(s->items, (s->count + 1) * sizeof(pgy_tensor_map *));
    pgy_error why = {0};
    if (!items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for samples");
    s->items = items;
    pgy_status st = pgy_record_feed(&s->items[s->count], model, loader, &why);
    *more = st == PGY_OK;
    if (!st) s->count++;
    if (st == PGY_E_ARGUMENT && s->count) return PGY_OK; /* the data have ended */
    return st ? pgy_error_set(err, st, "%s", why.text) : PGY_OK;
}

static pgy_status load_samples(sample_list *s, pgy_model *model, args *line, pgy_error *err)
{
    const model_args *m = args_get(line, &GROUP_MODEL_FIXED);
    pgy_data_loader *loader = NULL;
    bool more = true;
    pgy_status st = data_loader_create(&loader, line, m->shapes, err);
    while (!st && more) st = add_sample(s, model, loader, &more, err);
    pgy_data_loader_destroy(loader);
    return st;
}

/* Saves each smaller model, so that an interrupted search leaves its best. */
static pgy_status keep_best(const pgy_debug_minimum *best, void *user, pgy_error *err)
{
    const args *line = user;
    const reduce_args *s = args_get(line, &OWN);
    LOG(INFO, "%zu of %zu nodes fail alone", best->nodes, best->original_nodes);
    return s->output ? model_save(best->model, line, s->output, NULL, err) : PGY_OK;
}

static pgy_status save_minimum(const pgy_debug_minimum *found, const cli_judge *judge, args *line,
                               pgy_error *err)
{
    const reduce_args *s = args_get(line, &OWN);
    const judge_args *j = args_get(line, &GROUP_DEBUG_JUDGE);
    const model_args *m = args_get(line, &GROUP_MODEL_FIXED);
    const pgy_debug_repro_options o = {.size = sizeof o,
                                       .judge = judge->judge,
                                       .runner = judge->runner,
                                       .arguments = judge->words,
                                       .argument_count = judge->word_count,
                                       .source = m->path};
    LOG(INFO, "%zu of %zu nodes are left after %zu evaluations: %s%s%s", found->nodes,
        found->original_nodes, found->evaluations, pgy_debug_outcome_name(found->finding.outcome),
        *found->finding.text ? ": " : "", found->finding.text);
    pgy_status st =
        s->output ? save_result(found->model, "Minimum Bad Model:", s->output, line, err) : PGY_OK;
    return st || !j->repro ? st : pgy_debug_repro_save(j->repro, found, &o, err);
}

static pgy_status minimise(pgy_debug_session *session, pgy_model *model, args *line, pgy_error *err)
{
    const judge_args *s = args_get(line, &GROUP_DEBUG_JUDGE);
    cli_judge judge = {0};
    sample_list samples = {0};
    pgy_debug_minimum found = {0};
    pgy_status st = cli_judge_init(&judge, line, err);
    if (st) return st;
    st = load_samples(&samples, model, line, err);
    const pgy_debug_minimise_options o = {.size = sizeof o,
                                          .judge = judge.judge,
                                          .on = s->outcome,
                                          .capsule = s->capsule,
                                          .improved = keep_best,
                                          .user = line};
    if (!st)
        st =
            pgy_debug_minimise(&found, session, model, (const pgy_tensor_map *const *)samples.items,
                               samples.count, &o, err);
    if (!st) st = save_minimum(&found, &judge, line, err);
    pgy_debug_minimum_free(&found);
    samples_deinit(&samples);
    cli_judge_deinit(&judge, line);
    return st;
}

/* ---- The command ---------------------------------------------------------------------------- */

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const reduce_args *s = args_get(line, &OWN);
    const debug_args *debug = args_get(line, &GROUP_DEBUG_REDUCE);
    const pgy_debug_reduce_options o = {.size = sizeof o,
                                        .linear = s->mode && strcmp(s->mode, MODES[1]) == 0,
                                        .keep_inputs = s->keep_inputs,
                                        .keep_outputs = s->keep_outputs,
                                        .want_good = s->min_good != NULL,
                                        .record_types =
                                            ((const shape_args *)args_get(line, &SHAPES))->fallback,
                                        .record = record,
                                        .save = has_save_options(line) ? save : NULL,
                                        .improved = keep_bad,
                                        .user = line};
    pgy_debug_session *session = NULL;
    pgy_debug_reduction reduced = {0};
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    (void)passed;
    pgy_status st = pgy_debug_session_create(&session, &debug->options, err);
    if (!st) st = model_loader(&loader, line, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = prepare(&model, line, err);
    if (!st && ((const judge_args *)args_get(line, &GROUP_DEBUG_JUDGE))->given) {
        st = minimise(session, model, line, err);
    } else {
        if (!st) st = pgy_debug_reduce(&reduced, session, model, &o, err);
        if (!st) st = save_results(&reduced, line, err);
    }
    pgy_debug_reduction_free(&reduced);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    pgy_debug_session_destroy(session);
    return st;
}

const command COMMAND_debug_reduce = {
    .tool = "debug",
    .subtool = "reduce",
    .summary = "Search the smallest part of a model that still fails.",
    .description = "Search the smallest part of an ONNX model that still fails a check: first the "
                   "outputs of the model move towards its inputs, then the inputs towards the "
                   "outputs.",
    .common = "-o --min-good --mode --model-input-shapes --check",
    .examples = "  Reduce a model for which two runtimes disagree:\n      {program} debug reduce "
                "model.onnx -o reduced.onnx --check {program} run "
                "{program}_debug.onnx --trt --onnxrt",
    .make_groups = groups,
    .frames = true,
    .no_abbreviation = true,
    .run = run,
};
