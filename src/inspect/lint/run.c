/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a lint that needs a runtime: it runs the whole model and, if that fails, each node
 * alone on the data that reach it. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/pytext.h"
#include "inspect/lint/linter.h"

static const char LOG_PATH[] = "inspect/lint/run.c";
static const char RUNTIME[] = "onnxrt";

/* ---- Runtimes ------------------------------------------------------------------------------- */

/* Uses the reference backend if ONNX Runtime is not installed. */
static pgy_status choose_backend(linter *l, pgy_error *err)
{
    char why[1024];
    const pgy_backend *wanted = l->options.backend ? l->options.backend : pgy_backend_find(RUNTIME);
    l->backend = wanted;
    l->backend_options = l->options.backend_options;
    if (wanted && wanted->probe(why, sizeof why) == PGY_OK) return PGY_OK;
    LOG(WARNING, "%s; lint uses the float64 reference instead",
        wanted ? why : "ONNX Runtime is not available");
    l->backend = pgy_backend_find_trait(PGY_BACKEND_IS_REFERENCE);
    l->backend_options = NULL;
    return l->backend ? PGY_OK
                      : pgy_error_set(err, PGY_E_NOT_FOUND, "this build has no reference backend");
}

/* A runtime that refuses its settings says nothing about the model. */
static void note_misuse(linter *l, pgy_status st, const pgy_error *why)
{
    if (l->misuse || (st != PGY_E_ARGUMENT && st != PGY_E_NOT_FOUND)) return;
    l->misuse = pgy_error_set(&l->misuse_why, st, "%s", why->text);
}

/* Runs a model on its inputs from `values`. *opened (may be NULL): the runtime has opened the
 * model. */
static pgy_status run_model(pgy_tensor_map **out, bool *opened, linter *l, pgy_model *model,
                            pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_model_source source;
    pgy_runner *runner = NULL;
    const pgy_metadata *inputs;
    pgy_tensor_map *feed = NULL;
    pgy_status st = pgy_loader_from_model(&loader, model, err);
    if (!st) st = pgy_loader_source(&source, loader, err);
    if (!st) st = pgy_runner_create(&runner, l->backend, &source, l->backend_options, "lint", err);
    if (!st) st = pgy_runner_activate(runner, err);
    note_misuse(l, st, err);
    if (opened) *opened = st == PGY_OK;
    if (!st) st = pgy_runner_inputs(&inputs, runner, err);
    if (!st) st = pgy_feed_match(&feed, l->values, inputs, err);
    if (!st) st = pgy_runner_infer(out, runner, feed, err);
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(runner);
    return st;
}

/* ---- Data ----------------------------------------------------------------------------------- */

static pgy_status graph_inputs(pgy_metadata **out, linter *l, pgy_error *err)
{
    const pgy_metadata *shapes = l->options.inputs;
    pgy_metadata *m = NULL;
    const pgy_onnx_graph *g = pgy_model_proto(l->model)->graph;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < g->input_count; i++) {
        pgy_tensor_info info;
        const pgy_value *v = pgy_graph_find_value(l->graph, g->inputs[i]->name);
        if (v && v->initializer) continue;
        st = pgy_onnx_value_info_describe(&info, l->model, g->inputs[i], err);
        const pgy_tensor_info *given = shapes ? pgy_metadata_find(shapes, info.name) : NULL;
        if (given)
            info.rank = given->rank, info.shape = given->shape, info.dim_names = given->dim_names;
        if (!st) st = pgy_metadata_set(m, &info, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

/* The inputs with known shapes, passed as if the user had given them: then the loader treats
 * integers that may be a shape as one, as in the original. */
static pgy_status fixed_shapes(pgy_metadata **out, const pgy_metadata *inputs, pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        bool is_fixed = info->rank >= 0;
        for (int32_t k = 0; k < info->rank; k++) is_fixed = is_fixed && info->shape[k] >= 0;
        if (is_fixed) st = pgy_metadata_set(m, info, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

static pgy_status make_generator(pgy_data_loader **out, const linter *l, pgy_error *err)
{
    pgy_random_options o = *l->options.random;
    pgy_metadata *fixed = NULL;
    pgy_status st = fixed_shapes(&fixed, l->inputs, err);
    o.inputs = fixed;
    if (!st) st = pgy_random_loader_create(out, &o, err);
    pgy_metadata_destroy(fixed);
    return st;
}

static pgy_status first_feed(linter *l, pgy_error *err)
{
    pgy_data_loader *generator = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_status st = graph_inputs(&l->inputs, l, err);
    if (!st && !l->options.data) st = make_generator(&generator, l, err);
    pgy_data_loader *data = l->options.data ? l->options.data : generator;
    note_misuse(l, st, err);
    if (!st) st = pgy_data_loader_set_metadata(data, l->inputs, err);
    if (!st) st = pgy_data_loader_next(&feed, data, err);
    if (!st && !feed)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "the data loader has no input data; lint needs one iteration");
    if (!st) st = pgy_feed_match(&l->values, feed, l->inputs, err);
    /* If the caller's data do not fit, that says nothing about the model. */
    if (st && !l->misuse && l->options.data)
        l->misuse = pgy_error_set(&l->misuse_why, st, "%s", err->text);
    pgy_tensor_map_destroy(feed);
    pgy_data_loader_destroy(generator);
    return st;
}

static void append_generated(str *out, const linter *l)
{
    enum { SHOWN = 8 };
    size_t count = pgy_metadata_count(l->inputs);
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        const pgy_tensor_info *info = pgy_metadata_at(l->inputs, i);
        const pgy_tensor *t = pgy_tensor_map_find(l->values, info->name);
        if (!t) continue;
        str_printf(out, "%s'%s' (%s) has the shape ", i ? ", " : "", info->name,
                   pgy_dtype_name(pgy_tensor_dtype(t)));
        str_append_py_tuple(out, pgy_tensor_shape(t), pgy_tensor_rank(t));
    }
    if (count > SHOWN) str_printf(out, " and %zu more", count - SHOWN);
}

static const char ADVICE[] =
    "Set pgy_lint_options.inputs to change dynamic dimensions (default 1), .random to change the "
    "range of values (default [0, 1]), or .data to use your own data";

/* Warns that the runtime accepts the model, but it fails on generated data. */
static void blame_data(linter *l)
{
    str text = {0};
    if (!l->opened || l->options.data || !pgy_metadata_count(l->inputs)) return;
    str_append(&text, "The runtime accepts the model but fails on generated data, so the data may "
                      "be the cause: ");
    append_generated(&text, l);
    str_printf(&text, ". %s", l->options.data_advice ? l->options.data_advice : ADVICE);
    if (!text.failed)
        lint_add(l->report, &(pgy_lint_finding){.level = PGY_LINT_WARNING,
                                                .source = PGY_LINT_RUNTIME,
                                                .extra = true,
                                                .code = LINT_CODE_DATA,
                                                .message = str_text(&text)});
    l->report->failed |= text.failed;
    str_deinit(&text);
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Weights in other files and sparse weights cannot go into a model of one node, so they become
 * values like other tensors. The checker may already have reported why one cannot be read. */
static pgy_status add_weights(linter *l, pgy_error *err)
{
    strmap said = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < l->finding_count; i++)
        if (!l->findings[i].node[0] && !strmap_put(&said, l->findings[i].path, l))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < l->graph->initializer_count; i++) {
        pgy_tensor *t = NULL;
        pgy_error why = {0};
        pgy_value *v = l->graph->initializers[i];
        if (lint_weight_stays(v)) continue;
        if (pgy_graph_value_data(&t, v, &why) == PGY_OK)
            st = pgy_tensor_map_adopt(l->values, v->name, t, err);
        else if (!strmap_has(&said, v->name))
            lint_add(l->report, &(pgy_lint_finding){.level = PGY_LINT_EXCEPTION,
                                                    .source = PGY_LINT_LOADER,
                                                    .extra = true,
                                                    .code = LINT_CODE_LOAD,
                                                    .value = v->name,
                                                    .message = why.text});
    }
    strmap_deinit(&said);
    return st;
}

static bool is_unknown_operator(const char *message)
{
    return strstr(message, "No opset import for domain") ||
           strstr(message, "is not a registered function/op") ||
           strstr(message, "does not implement");
}

/* Adds a runtime's message about the whole model. */
static void add_whole(linter *l, pgy_lint_level level, bool own, const char *message)
{
    lint_add(l->report, &(pgy_lint_finding){.level = level,
                                            .source = PGY_LINT_RUNTIME,
                                            .extra = own,
                                            .code = LINT_CODE_RUNTIME,
                                            .message = message});
}

/* Adds one finding for a node: the runtime's message, and the checker's in parentheses. */
static void add_node(linter *l, pgy_lint_level level, const pgy_node *n, const char *message)
{
    str text = {0};
    const char *code = NULL;
    str_append(&text, message);
    for (size_t i = lint_first_finding(l, n->name); i != LINT_NONE; i = l->next_of_node[i]) {
        const pgy_finding *f = &l->findings[i];
        if (l->is_said[i] || f->severity < PGY_LOG_WARNING ||
            (level == PGY_LINT_EXCEPTION) != (f->severity == PGY_LOG_ERROR))
            continue;
        if (!strstr(message, f->message)) str_printf(&text, " (%s)", f->message);
        if (!code) code = f->code;
        l->is_said[i] = true;
    }
    lint_add(l->report, &(pgy_lint_finding){.level = level,
                                            .source = PGY_LINT_RUNTIME,
                                            .code = code ? code : LINT_CODE_RUNTIME,
                                            .node = n->name,
                                            .op_type = n->op_type,
                                            .message = str_text(&text)});
    l->report->failed |= text.failed;
    str_deinit(&text);
}

/* Runs one node alone. Skips a node whose inputs are missing, because a node before it failed. */
static pgy_status run_node(linter *l, const pgy_node *n, pgy_error *err)
{
    pgy_model *one = NULL;
    pgy_tensor_map *outputs = NULL;
    pgy_error why = {0};
    pgy_status st = lint_node_model(&one, n, l->graph, l->values, err);
    if (st || !one) return st;
    if (run_model(&outputs, NULL, l, one, &why) == PGY_OK) {
        for (size_t i = 0; !st && i < pgy_tensor_map_count(outputs); i++)
            st = pgy_tensor_map_set(l->values, pgy_tensor_map_name(outputs, i),
                                    pgy_tensor_map_at(outputs, i), err);
        lint_pass(l->report, n->name);
    } else {
        const bool tolerated = is_unknown_operator(why.text);
        add_node(l, tolerated ? PGY_LINT_WARNING : PGY_LINT_EXCEPTION, n, why.text);
        if (tolerated) lint_pass(l->report, n->name);
    }
    pgy_tensor_map_destroy(outputs);
    pgy_model_destroy(one);
    return st;
}

static pgy_status run_nodes(linter *l, pgy_error *err)
{
    pgy_status st = add_weights(l, err);
    progress_begin("Checking nodes", l->graph->node_count);
    for (size_t i = 0; !st && !l->misuse && i < l->graph->node_count; i++) {
        st = cancel_check(err);
        if (!st) st = run_node(l, l->stored[i], err);
        progress_advance(i + 1);
    }
    progress_end();
    return st;
}

/* A warning of the runtime while the whole model runs is a finding, not a line of the log. */
static bool take_warning(pgy_severity severity, const char *text, void *user)
{
    static const char MARK[] = "ONNX Runtime: ";
    if (severity != PGY_LOG_WARNING || strncmp(text, MARK, sizeof MARK - 1) != 0) return false;
    return strvec_push(user, text + sizeof MARK - 1);
}

static bool run_whole(linter *l, pgy_error *why)
{
    strvec warnings = {0};
    pgy_tensor_map *outputs = NULL;
    log_set_listener(take_warning, &warnings);
    const bool passed = run_model(&outputs, &l->opened, l, l->model, why) == PGY_OK;
    log_set_listener(NULL, NULL);
    for (size_t i = 0; passed && i < warnings.count; i++)
        add_whole(l, PGY_LINT_WARNING, false, warnings.items[i]);
    strvec_deinit(&warnings);
    pgy_tensor_map_destroy(outputs);
    return passed;
}

/* Runs the whole model if it is a graph. Otherwise, or if that fails, runs it node by node. */
static pgy_status run_on_feed(linter *l, bool is_graph, pgy_error *err)
{
    pgy_error why = {0};
    const bool whole = is_graph && run_whole(l, &why);
    const size_t before = l->report->failing.count;
    pgy_status st = cancel_check(err);
    if (st) return st;
    if (whole)
        for (size_t i = 0; i < l->graph->node_count; i++)
            lint_pass(l->report, l->graph->nodes[i]->name);
    else if (!l->misuse)
        st = run_nodes(l, err);
    if (st || whole) return st;
    if (l->misuse) return pgy_error_set(err, l->misuse, "%s", l->misuse_why.text);
    /* Report a failure of the whole model that no single node shows. */
    const bool lost = why.text[0] && !is_unknown_operator(why.text) &&
                      l->report->failing.count == before && !lint_has_errors(l);
    if (lost) add_whole(l, PGY_LINT_EXCEPTION, true, why.text);
    if (lost || l->report->failing.count > before) blame_data(l);
    return PGY_OK;
}

pgy_status lint_run(linter *l, bool is_graph, pgy_error *err)
{
    pgy_error why = {0};
    const pgy_status st = first_feed(l, &why);
    if (status_ends_all(st) || l->misuse) return pgy_error_set(err, st, "%s", why.text);
    if (st) {
        add_whole(l, PGY_LINT_EXCEPTION, true, why.text);
        return PGY_OK;
    }
    const pgy_status found = choose_backend(l, err);
    return found ? found : run_on_feed(l, is_graph, err);
}
