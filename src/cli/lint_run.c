/* SPDX-License-Identifier: Apache-2.0 */
/* What `check lint` hears from a runtime: of the whole model, and, if that fails, of each node
 * alone on the data that reach it. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/pytext.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/runners.h"
#include "cli/interrupt.h"
#include "cli/lint_work.h"

static const char LOG_PATH[] = "tools/check/subtool/lint.py";
static const char RUNTIME[] = "onnxrt", FALLBACK[] = "opref";

/* ---- Runtimes ------------------------------------------------------------------------------- */

static const pgy_backend *choose_backend(void)
{
    char why[1024];
    const pgy_backend *wanted = pgy_backend_find(RUNTIME);
    if (wanted && wanted->probe(why, sizeof why) == PGY_OK) return wanted;
    LOG(WARNING, "%s; the float64 reference is used instead",
        wanted ? why : "ONNX Runtime is not available");
    return pgy_backend_find(FALLBACK);
}

/* A runtime that refuses its settings says nothing of the model. */
static void note_misuse(linter *l, pgy_status st, const pgy_error *why)
{
    if (l->misuse || (st != PGY_E_ARGUMENT && st != PGY_E_NOT_FOUND)) return;
    l->misuse = pgy_error_set(&l->misuse_why, st, "%s", why->text);
}

/* Runs a model on what it needs of `values`; *opened (may be NULL): the runtime has taken it. */
static pgy_status run_model(pgy_tensor_map **out, bool *opened, linter *l, pgy_model *model,
                            pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_model_source source;
    pgy_runner *runner = NULL;
    const pgy_metadata *inputs;
    pgy_tensor_map *feed = NULL;
    const option_group *group = group_backend_options(l->backend->name);
    pgy_status st = pgy_loader_from_model(&loader, model, err);
    if (!st) st = pgy_loader_source(&source, loader, err);
    if (!st)
        st = pgy_runner_create(&runner, l->backend, &source,
                               group ? args_get(l->line, group) : NULL, "lint", err);
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
    const model_args *model = args_get(l->line, &GROUP_MODEL_DATA);
    pgy_metadata *m = NULL;
    const pgy_onnx_graph *g = pgy_model_proto(l->model)->graph;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < g->input_count; i++) {
        pgy_tensor_info info;
        const pgy_value *v = pgy_graph_find_value(l->graph, g->inputs[i]->name);
        if (v && v->initializer) continue;
        st = pgy_onnx_value_info_describe(&info, l->model, g->inputs[i], err);
        const pgy_tensor_info *given =
            model->shapes ? pgy_metadata_find(model->shapes, info.name) : NULL;
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

static bool is_generated(const linter *l)
{
    const data_args *data = args_get(l->line, &GROUP_DATA);
    return !data->load_inputs.given && !data->script;
}

/* The inputs of known shape, as if the user had given it: then integers that may be a shape are
 * taken for one, as in the original. */
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

static pgy_status first_feed(linter *l, pgy_error *err)
{
    pgy_data_loader *loader = NULL;
    pgy_metadata *fixed = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_status st = graph_inputs(&l->inputs, l, err);
    if (!st) st = fixed_shapes(&fixed, l->inputs, err);
    if (!st) st = data_loader_create(&loader, l->line, fixed, err);
    note_misuse(l, st, err);
    if (!st) st = pgy_data_loader_set_metadata(loader, l->inputs, err);
    if (!st) st = pgy_data_loader_next(&feed, loader, err);
    if (!st && !feed)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "there is no input data to run the model on");
    if (!st) st = pgy_feed_match(&l->values, feed, l->inputs, err);
    /* Data that someone gave and that do not fit say nothing of the model. */
    if (st && !l->misuse && !is_generated(l))
        l->misuse = pgy_error_set(&l->misuse_why, st, "%s", err->text);
    pgy_tensor_map_destroy(feed);
    pgy_metadata_destroy(fixed);
    pgy_data_loader_destroy(loader);
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

/* The model is accepted as a whole and fails on data that nobody chose. */
static void blame_data(linter *l)
{
    str text = {0};
    if (!l->opened || !is_generated(l) || !pgy_metadata_count(l->inputs)) return;
    str_append(&text, "The runtime accepts the model and fails on generated data, so the data may "
                      "be at fault: ");
    append_generated(&text, l);
    str_append(&text, ". Dynamic dimensions are 1 unless --input-shapes says otherwise, values are "
                      "in [0, 1] unless --val-range does; --load-inputs and "
                      "--data-loader-script take data of your own");
    if (!text.failed)
        lint_add(&l->report, &(lint_entry){.level = LINT_WARNING,
                                           .source = LINT_RUNTIME,
                                           .own = true,
                                           .code = LINT_CODE_DATA,
                                           .message = str_text(&text)});
    l->report.failed |= text.failed;
    str_deinit(&text);
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Weights that a model of one node cannot hold as they are, because they lie in other files or are
 * sparse, are values like the rest. The checker may have said why one cannot be read. */
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
            lint_add(&l->report, &(lint_entry){.level = LINT_EXCEPTION,
                                               .source = LINT_LOADER,
                                               .own = true,
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

/* What a runtime says of the whole model. */
static void add_whole(linter *l, lint_level level, bool own, const char *message)
{
    lint_add(&l->report, &(lint_entry){.level = level,
                                       .source = LINT_RUNTIME,
                                       .own = own,
                                       .code = LINT_CODE_RUNTIME,
                                       .message = message});
}

/* What a runtime says of a node, and in parentheses what the checker does: one finding. */
static void add_node(linter *l, lint_level level, const pgy_node *n, const char *message)
{
    str text = {0};
    const char *code = NULL;
    str_append(&text, message);
    for (size_t i = lint_first_finding(l, n->name); i != LINT_NONE; i = l->next_of_node[i]) {
        const pgy_finding *f = &l->findings[i];
        if (l->is_said[i] || f->severity < PGY_LOG_WARNING ||
            (level == LINT_EXCEPTION) != (f->severity == PGY_LOG_ERROR))
            continue;
        if (!strstr(message, f->message)) str_printf(&text, " (%s)", f->message);
        if (!code) code = f->code;
        l->is_said[i] = true;
    }
    lint_add(&l->report, &(lint_entry){.level = level,
                                       .source = LINT_RUNTIME,
                                       .code = code ? code : LINT_CODE_RUNTIME,
                                       .node = n->name,
                                       .op_type = n->op_type,
                                       .message = str_text(&text)});
    l->report.failed |= text.failed;
    str_deinit(&text);
}

/* One node alone. A node whose inputs are missing is below a failure and is skipped. */
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
        lint_pass(&l->report, n->name);
    } else {
        const bool tolerated = is_unknown_operator(why.text);
        add_node(l, tolerated ? LINT_WARNING : LINT_EXCEPTION, n, why.text);
        if (tolerated) lint_pass(&l->report, n->name);
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
        st = interrupt_requested() ? pgy_error_set(err, PGY_E_CANCELLED, "Interrupted.")
                                   : run_node(l, l->stored[i], err);
        progress_advance(i + 1);
    }
    progress_end();
    return st;
}

/* What the runtime warns of while the whole model runs is a finding, not a line of the log. */
static void hear_runtime(pgy_severity severity, const char *text, size_t size_bytes, void *user)
{
    static const char MARK[] = "ONNX Runtime: ";
    const char *message = severity == PGY_LOG_WARNING ? strstr(text, MARK) : NULL;
    strvec *warnings = user;
    if (!message || !strvec_push(warnings, message + sizeof MARK - 1))
        fwrite(text, 1, size_bytes, severity >= PGY_LOG_CRITICAL ? stderr : stdout);
}

static bool run_whole(linter *l, pgy_error *why)
{
    strvec warnings = {0};
    pgy_tensor_map *outputs = NULL;
    pgy_log_set_sink(hear_runtime, &warnings);
    const bool passed = run_model(&outputs, &l->opened, l, l->model, why) == PGY_OK;
    fflush(stdout);
    pgy_log_open_console();
    for (size_t i = 0; passed && i < warnings.count; i++)
        add_whole(l, LINT_WARNING, false, warnings.items[i]);
    strvec_deinit(&warnings);
    pgy_tensor_map_destroy(outputs);
    return passed;
}

/* The whole model, if it is a graph; else, or if it fails, node by node. */
static pgy_status run_on_feed(linter *l, bool is_graph, pgy_error *err)
{
    pgy_error why = {0};
    const bool whole = is_graph && run_whole(l, &why);
    const size_t before = l->report.failing.count;
    if (interrupt_requested()) return pgy_error_set(err, PGY_E_CANCELLED, "Interrupted.");
    pgy_status st = PGY_OK;
    if (whole)
        for (size_t i = 0; i < l->graph->node_count; i++)
            lint_pass(&l->report, l->graph->nodes[i]->name);
    else if (!l->misuse)
        st = run_nodes(l, err);
    if (st || whole) return st;
    if (l->misuse) return pgy_error_set(err, l->misuse, "%s", l->misuse_why.text);
    /* A failure of the whole that no node shows alone must not be lost. */
    const bool lost = why.text[0] && !is_unknown_operator(why.text) &&
                      l->report.failing.count == before && !lint_has_errors(l);
    if (lost) add_whole(l, LINT_EXCEPTION, true, why.text);
    if (lost || l->report.failing.count > before) blame_data(l);
    return PGY_OK;
}

pgy_status lint_run(linter *l, bool is_graph, pgy_error *err)
{
    pgy_error why = {0};
    const pgy_status st = first_feed(l, &why);
    if (status_ends_all(st) || l->misuse)
        return pgy_error_set(err, st, "%s", why.text);
    if (st) {
        add_whole(l, LINT_EXCEPTION, true, why.text);
        return PGY_OK;
    }
    l->backend = choose_backend();
    return run_on_feed(l, is_graph, err);
}
