/* SPDX-License-Identifier: Apache-2.0 */
/* polygraphy check lint: what is wrong with a model, node by node: structure first, then the whole
 * model in a runtime, then, if that fails, each node alone on the data that reach it. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/operators.h"
#include "cli/groups/runners.h"
#include "cli/interrupt.h"
#include "cli/lint.h"

static const char LOG_PATH[] = "tools/check/subtool/lint.py";

typedef struct lint_args {
    const char *output, *sarif;
    bool without_runtime;
} lint_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", lint_args, output, .meta = "PATH",
                 .help = "write the findings as JSON"),
    PGY_OPT_TEXT("--sarif", lint_args, sarif, .meta = "PATH",
                 .help = "write the findings as SARIF, with their rules and the paths of nodes"),
    PGY_OPT_FLAG("--static", lint_args, without_runtime,
                 .help = "only look at the model: no runtime is opened and nothing is run"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, .settings_size = sizeof(lint_args)};

static const char DUPLICATE_NAME[] = "duplicate-node-name";
static const char RUNTIME[] = "onnxrt", FALLBACK[] = "opref";

/* ONNX Runtime's own options (providers and the like) belong to this command too. */
static const option_group *const *groups(void)
{
    static const option_group *all[8];
    if (all[0]) return all;
    size_t n = 0;
    all[n++] = &OWN;
    all[n++] = &GROUP_LOGGING;
    all[n++] = &GROUP_MODEL_DATA;
    all[n++] = &GROUP_ONNX_READ;
    all[n++] = &GROUP_DATA;
    all[n++] = &GROUP_OPERATORS;
    const option_group *runtime = group_backend_options(RUNTIME);
    if (runtime) all[n++] = runtime;
    return all;
}

typedef struct linter {
    args *line;
    lint_report report;
    pgy_model *model;
    pgy_graph *graph;
    pgy_node **stored;      /* the order of the file; the graph's is topological */
    pgy_tensor_map *values; /* everything computed so far */
    const pgy_backend *backend;
    bool cyclic; /* cannot be run */
    /* Options that cannot be followed: no finding of the model. */
    pgy_status misuse;
    pgy_error misuse_why;
} linter;

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

/* Runs a model on what it needs of `values`. */
static pgy_status run_model(pgy_tensor_map **out, linter *l, pgy_model *model, pgy_error *err)
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
    if (!st) st = pgy_runner_inputs(&inputs, runner, err);
    if (!st) st = pgy_feed_match(&feed, l->values, inputs, err);
    if (!st) st = pgy_runner_infer(out, runner, feed, err);
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(runner);
    return st;
}

/* ---- Steps ---------------------------------------------------------------------------------- */

/* Names for unnamed nodes, as the original gives them. */
static pgy_status name_nodes(linter *l, pgy_error *err)
{
    for (size_t i = 0; i < l->graph->node_count; i++) {
        pgy_node *n = l->graph->nodes[i];
        if (n->name && n->name[0]) continue;
        char *name = arena_printf(&l->report.memory, "polygraphy_unnamed_node_%zu", i);
        for (size_t k = 0; name && pgy_graph_find_node(l->graph, name); k++)
            name = arena_printf(&l->report.memory, "polygraphy_unnamed_node_%zu_%zu", i, k);
        if (!name) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        n->name = name;
    }
    return PGY_OK;
}

static bool keep_order(linter *l)
{
    const size_t count = l->graph->node_count;
    l->stored = arena_alloc_array(&l->report.memory, count, sizeof *l->stored);
    if (l->stored) memcpy(l->stored, l->graph->nodes, count * sizeof *l->stored);
    return l->stored != NULL;
}

static void add_finding(linter *l, const pgy_finding *f, lint_level level, lint_source source)
{
    lint_add(&l->report, &(lint_entry){.level = level,
                                       .source = source,
                                       .code = f->code,
                                       .node = f->node[0] ? f->path : "",
                                       .value = f->node[0] ? "" : f->path,
                                       .op_type = f->op_type,
                                       .message = f->message});
}

/* Why the model is no graph: everything that a check finds, or else what the import said. */
static pgy_status add_broken(linter *l, const char *why, pgy_error *err)
{
    const pgy_finding *findings = NULL;
    size_t count = 0;
    const pgy_status st = l->model ? pgy_model_check(&findings, &count, l->model, err) : PGY_OK;
    if (st) return st;
    for (size_t i = 0; i < count; i++) add_finding(l, &findings[i], LINT_EXCEPTION, LINT_CHECKER);
    if (count == 0)
        lint_add(&l->report, &(lint_entry){.level = LINT_EXCEPTION,
                                           .source = l->model ? LINT_CHECKER : LINT_LOADER,
                                           .code = LINT_CODE_LOAD,
                                           .message = why});
    return PGY_OK;
}

static pgy_status load(linter *l, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_error why = {0};
    pgy_status st = model_loader(&loader, l->line, err);
    if (st) return st;
    st = pgy_loader_call(&l->model, loader, &why);
    pgy_loader_destroy(loader);
    if (!st && pgy_model_proto(l->model)->graph->node_count == 0) {
        lint_add(&l->report, &(lint_entry){.level = LINT_WARNING,
                                           .source = LINT_LOADER,
                                           .code = "empty-model",
                                           .message = "ONNX model has no nodes"});
        return PGY_OK;
    }
    if (!st) st = pgy_graph_import(&l->graph, l->model, &why);
    if (!st && !keep_order(l)) st = pgy_error_set(&why, PGY_E_MEMORY, "out of memory");
    if (!st) {
        st = pgy_graph_sort(l->graph, &why);
        l->cyclic = st == PGY_E_FORMAT;
        if (l->cyclic) st = PGY_OK; /* the check says where */
    }
    if (st == PGY_E_MEMORY) return pgy_error_set(err, st, "%s", why.text);
    if (st) {
        pgy_graph_destroy(l->graph);
        l->graph = NULL;
        return add_broken(l, why.text, err);
    }
    return name_nodes(l, err);
}

static pgy_status add_duplicate(linter *l, const char *name, pgy_error *err)
{
    str ids = {0};
    for (size_t i = 0; i < l->graph->node_count; i++)
        if (!strcmp(l->graph->nodes[i]->name, name))
            str_printf(&ids, ids.size ? ", %zu" : "%zu", i);
    char *text =
        ids.failed
            ? NULL
            : arena_printf(&l->report.memory,
                           "Duplicate node name: '%s' for nodes with topological IDs: [%s] found.",
                           name, str_text(&ids));
    str_deinit(&ids);
    if (!text) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    lint_add(&l->report, &(lint_entry){.level = LINT_EXCEPTION,
                                       .source = LINT_GRAPH,
                                       .code = DUPLICATE_NAME,
                                       .node = name,
                                       .message = text});
    return PGY_OK;
}

/* Two nodes of one name cannot be told apart in anything that follows. */
static pgy_status check_names(linter *l, pgy_error *err)
{
    strmap seen = {0}, repeated = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < l->graph->node_count; i++) {
        const char *name = l->graph->nodes[i]->name;
        ok = strmap_put(strmap_has(&seen, name) ? &repeated : &seen, name, l);
    }
    pgy_status st = ok ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < repeated.count; i++)
        st = add_duplicate(l, repeated.entries[i].key, err);
    strmap_deinit(&seen);
    strmap_deinit(&repeated);
    return st;
}

static bool has_code(const pgy_finding *f, const char *code)
{
    return !strcmp(f->code, code);
}

/* Is it about an output of which only the shape is missing? */
static bool is_shapeless_output(const linter *l, const pgy_finding *f)
{
    const pgy_onnx_graph *g = pgy_model_proto(l->model)->graph;
    for (size_t i = 0; i < g->output_count && has_code(f, "incomplete-declaration"); i++) {
        const pgy_onnx_type *t = g->outputs[i]->type;
        if (!strcmp(g->outputs[i]->name, f->path))
            return t && t->tensor_type && t->tensor_type->elem_type && !t->tensor_type->shape;
    }
    return false;
}

/* Shapes that contradict each other, or that an output lacks, stop a model only if the runtime says
 * so: it uses its own. */
static bool is_exception(const linter *l, const pgy_finding *f)
{
    const lint_args *s = args_get(l->line, &OWN);
    if (f->severity != PGY_LOG_ERROR) return false;
    return s->without_runtime || !(has_code(f, "declared-shape") || is_shapeless_output(l, f));
}

/* Structural findings; what does not matter for any output is kept for the end. The order of nodes
 * is checked as the file has it. */
static pgy_status check_structure(linter *l, const pgy_finding **findings, size_t *count,
                                  pgy_error *err)
{
    pgy_node **sorted = l->graph->nodes;
    l->graph->nodes = l->stored;
    pgy_status st = pgy_graph_check(findings, count, l->graph, err);
    l->graph->nodes = sorted;
    for (size_t i = 0; i < l->graph->node_count; i++) sorted[i]->index = i;
    for (size_t i = 0; !st && i < *count; i++) {
        const pgy_finding *f = &(*findings)[i];
        if (is_exception(l, f) && !has_code(f, DUPLICATE_NAME))
            add_finding(l, f, LINT_EXCEPTION, LINT_CHECKER);
    }
    return st;
}

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
            model->shapes && info.rank < 0 ? pgy_metadata_find(model->shapes, info.name) : NULL;
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

static pgy_status first_feed(linter *l, pgy_metadata **inputs, pgy_error *err)
{
    const model_args *model = args_get(l->line, &GROUP_MODEL_DATA);
    pgy_data_loader *loader = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_status st = graph_inputs(inputs, l, err);
    if (!st) st = data_loader_create(&loader, l->line, model->shapes, err);
    note_misuse(l, st, err);
    if (!st) st = pgy_data_loader_set_metadata(loader, *inputs, err);
    if (!st) st = pgy_data_loader_next(&feed, loader, err);
    if (!st && !feed)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "there is no input data to run the model on");
    if (!st) st = pgy_feed_match(&l->values, feed, *inputs, err);
    pgy_tensor_map_destroy(feed);
    pgy_data_loader_destroy(loader);
    return st;
}

/* The check may have met the same. */
static bool is_said(const linter *l, const char *message)
{
    for (size_t i = 0; i < l->report.count; i++)
        if (!strcmp(l->report.entries[i].message, message)) return true;
    return false;
}

static pgy_status add_weights(linter *l, pgy_error *err)
{
    for (size_t i = 0; i < l->graph->initializer_count; i++) {
        pgy_tensor *t = NULL;
        pgy_error why = {0};
        pgy_value *v = l->graph->initializers[i];
        if (pgy_graph_value_data(&t, v, &why)) {
            if (!is_said(l, why.text))
                lint_add(&l->report, &(lint_entry){.level = LINT_EXCEPTION,
                                                   .source = LINT_LOADER,
                                                   .code = LINT_CODE_LOAD,
                                                   .message = why.text});
            continue;
        }
        pgy_status st = pgy_tensor_map_adopt(l->values, v->name, t, err);
        if (st) return st;
    }
    return PGY_OK;
}

static bool is_unknown_operator(const char *message)
{
    return strstr(message, "No opset import for domain") ||
           strstr(message, "is not a registered function/op") ||
           strstr(message, "does not implement");
}

/* What a runtime says of a node, or (NULL) of the whole model. */
static void add_runtime(linter *l, lint_level level, const pgy_node *n, const char *message)
{
    lint_add(&l->report, &(lint_entry){.level = level,
                                       .source = LINT_RUNTIME,
                                       .code = LINT_CODE_RUNTIME,
                                       .node = n ? n->name : "",
                                       .op_type = n ? n->op_type : "",
                                       .message = message});
}

/* One node alone. A node whose inputs are missing is below a failure and is skipped. */
static pgy_status run_node(linter *l, const pgy_node *n, pgy_error *err)
{
    pgy_model *one = NULL;
    pgy_tensor_map *outputs = NULL;
    pgy_error why = {0};
    pgy_status st = lint_node_model(&one, n, l->model, l->values, err);
    if (st || !one) return st;
    st = run_model(&outputs, l, one, &why);
    if (st == PGY_OK) {
        for (size_t i = 0; !st && i < pgy_tensor_map_count(outputs); i++)
            st = pgy_tensor_map_set(l->values, pgy_tensor_map_name(outputs, i),
                                    pgy_tensor_map_at(outputs, i), err);
        if (!st && !lint_node_failed(&l->report, n->name) &&
            !strvec_push(&l->report.passing, n->name))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    } else if (!lint_node_failed(&l->report, n->name)) {
        const bool tolerated = is_unknown_operator(why.text);
        add_runtime(l, tolerated ? LINT_WARNING : LINT_EXCEPTION, n, why.text);
        st = tolerated && !strvec_push(&l->report.passing, n->name)
                 ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                 : PGY_OK;
    } else {
        st = PGY_OK;
    }
    pgy_tensor_map_destroy(outputs);
    pgy_model_destroy(one);
    return st;
}

static pgy_status run_nodes(linter *l, pgy_error *err)
{
    pgy_status st = add_weights(l, err);
    for (size_t i = 0; !st && !l->misuse && i < l->graph->node_count; i++)
        st = interrupt_requested() ? pgy_error_set(err, PGY_E_CANCELLED, "Interrupted.")
                                   : run_node(l, l->graph->nodes[i], err);
    return st;
}

static pgy_status all_passed(linter *l, pgy_error *err)
{
    for (size_t i = 0; i < l->graph->node_count; i++)
        if (!lint_node_failed(&l->report, l->graph->nodes[i]->name) &&
            !strvec_push(&l->report.passing, l->graph->nodes[i]->name))
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    return PGY_OK;
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

static bool run_whole(linter *l, pgy_tensor_map **outputs, pgy_error *why)
{
    strvec warnings = {0};
    pgy_log_set_sink(hear_runtime, &warnings);
    const bool passed = run_model(outputs, l, l->model, why) == PGY_OK;
    fflush(stdout);
    pgy_log_open_console();
    for (size_t i = 0; passed && i < warnings.count; i++)
        add_runtime(l, LINT_WARNING, NULL, warnings.items[i]);
    strvec_deinit(&warnings);
    return passed;
}

static pgy_status run_runtime(linter *l, pgy_error *err)
{
    pgy_metadata *inputs = NULL;
    pgy_tensor_map *outputs = NULL;
    pgy_error why = {0};
    pgy_status st = first_feed(l, &inputs, &why);
    if (st == PGY_E_MEMORY || st == PGY_E_CANCELLED || l->misuse) {
        pgy_error_set(err, st, "%s", why.text);
    } else if (st) {
        add_runtime(l, LINT_EXCEPTION, NULL, why.text);
        st = PGY_OK;
    } else {
        l->backend = choose_backend();
        bool whole = !lint_has_exception(&l->report) && run_whole(l, &outputs, &why);
        if (interrupt_requested())
            st = pgy_error_set(err, PGY_E_CANCELLED, "Interrupted.");
        else if (!l->misuse)
            st = whole ? all_passed(l, err) : run_nodes(l, err);
        if (!st && l->misuse) st = pgy_error_set(err, l->misuse, "%s", l->misuse_why.text);
        /* A failure of the whole that no node shows alone must not be lost. */
        if (!st && !whole && why.text[0] && !is_unknown_operator(why.text) &&
            !lint_has_exception(&l->report))
            add_runtime(l, LINT_EXCEPTION, NULL, why.text);
    }
    pgy_tensor_map_destroy(outputs);
    pgy_metadata_destroy(inputs);
    return st;
}

/* What does not stop the model: first of the whole model, then of its nodes. The original warns of
 * nodes and inputs that nobody uses; what it does not look for is information. */
static void add_warnings(linter *l, const pgy_finding *findings, size_t count)
{
    for (int of_nodes = 0; of_nodes < 2; of_nodes++) {
        for (size_t i = 0; i < count; i++) {
            const pgy_finding *f = &findings[i];
            const bool unused = has_code(f, "unused-node") || has_code(f, "unused-input");
            if (is_exception(l, f) || has_code(f, DUPLICATE_NAME) || (f->node[0] != 0) != of_nodes)
                continue;
            add_finding(l, f, f->severity > PGY_LOG_INFO || unused ? LINT_WARNING : LINT_INFO,
                        unused ? LINT_GRAPH : LINT_CHECKER);
        }
    }
}

static pgy_status note_failing(linter *l, pgy_error *err)
{
    for (size_t i = 0; i < l->report.count; i++) {
        const lint_entry *e = &l->report.entries[i];
        if (e->level == LINT_EXCEPTION && e->node[0] && !strvec_push(&l->report.failing, e->node))
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    return PGY_OK;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const lint_args *s = args_get(line, &OWN);
    const model_args *model = args_get(line, &GROUP_MODEL_DATA);
    linter l = {.line = line};
    const pgy_finding *findings = NULL;
    size_t count = 0;
    pgy_status st = load(&l, err);
    if (!st && l.graph) st = check_names(&l, err);
    if (!st && l.graph) st = check_structure(&l, &findings, &count, err);
    if (!st && l.graph && !l.cyclic)
        st = s->without_runtime ? all_passed(&l, err) : run_runtime(&l, err);
    if (!st && l.graph) add_warnings(&l, findings, count);
    if (!st) st = note_failing(&l, err);
    if (!st && l.report.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st && s->output) st = lint_report_save(&l.report, s->output, err);
    if (!st && s->sarif) st = lint_report_save_sarif(&l.report, s->sarif, model->path, err);
    if (!st) *passed = !lint_has_exception(&l.report);
    pgy_tensor_map_destroy(l.values);
    pgy_graph_destroy(l.graph);
    pgy_model_destroy(l.model);
    lint_report_deinit(&l.report);
    return st;
}

const command COMMAND_check_lint = {
    .tool = "check",
    .subtool = "lint",
    .summary = "Find what is wrong with a model, node by node.",
    .description = "Check a model: structure, operators, types and shapes, then inference of the "
                   "whole model and, if it fails, of each node alone on the data that reach it. "
                   "Exit status 1 if anything would keep the model from running.",
    .make_groups = groups,
    .frames = true,
    .run = run,
};
