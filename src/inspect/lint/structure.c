/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a lint that needs no runtime: checks that the model has a valid graph and that the
 * given shapes fit it, and runs the checker. */
#include <polygraphy/transform.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "inspect/lint/linter.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static bool has_code(const pgy_finding *f, const char *code)
{
    return !strcmp(f->code, code);
}

static bool is_among(const pgy_finding *f, const char *const *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (has_code(f, codes[i])) return true;
    return false;
}

/* ---- Loading -------------------------------------------------------------------------------- */

static bool keep_order(linter *l)
{
    const size_t count = l->graph->node_count;
    l->stored = arena_alloc_array(&l->report->memory, count, sizeof *l->stored);
    if (l->stored) memcpy(l->stored, l->graph->nodes, count * sizeof *l->stored);
    return l->stored != NULL;
}

static void add_finding(linter *l, const pgy_finding *f, pgy_lint_level level,
                        pgy_lint_source source, bool own)
{
    lint_add(l->report, &(pgy_lint_finding){.level = level,
                                            .source = source,
                                            .extra = own,
                                            .code = f->code,
                                            .node = f->node[0] ? f->path : "",
                                            .value = f->node[0] ? "" : f->path,
                                            .op_type = f->op_type,
                                            .message = f->message});
}

/* Is the finding about the main graph, and not about a subgraph or function? */
static bool is_of_top(const pgy_finding *f)
{
    const size_t size = strlen(f->node);
    const char *rest = f->path + size;
    if (strncmp(f->path, f->node, size) != 0) return false;
    if (size && *rest == '_')
        rest += 1 + strspn(rest + 1, "0123456789"); /* a node without a name */
    return !size || !*rest;
}

/* Findings of ONNX's checker about order and definitions. The original reports them once, without a
 * node. */
static bool is_disorder(const pgy_finding *f)
{
    static const char *const CODES[] = {"cycle", "duplicate-value", "not-sorted",
                                        "undefined-input"};
    return f->node[0] && is_of_top(f) && is_among(f, CODES, sizeof CODES / sizeof *CODES);
}

/* Findings of ONNX's checker about the model outside its nodes. */
static bool is_of_model(const pgy_finding *f)
{
    static const char *const CODES[] = {
        "duplicate-value", "empty-name",         "external-data",      "incomplete-declaration",
        "invalid-type",    "ir-version-missing", "ir-version-unknown", "opset-import-missing",
        "tensor-fields",   "undefined-output",
    };
    return !f->node[0] && f->severity == PGY_LOG_ERROR &&
           is_among(f, CODES, sizeof CODES / sizeof *CODES);
}

/* Reports the findings of ONNX's checker, as the original does. False: no findings. */
static bool add_as_checker(linter *l, const pgy_finding *findings, size_t count, bool *is_said)
{
    size_t disorder = 0, found = 0;
    for (size_t i = 0; i < count; i++) {
        const pgy_finding *f = &findings[i];
        disorder += is_disorder(f);
        if (!is_of_model(f) || (is_said && is_said[i])) continue;
        add_finding(l, f, PGY_LINT_EXCEPTION, PGY_LINT_CHECKER, false);
        if (is_said) is_said[i] = true;
        found++;
    }
    if (!disorder) return found > 0;
    char *text = arena_printf(&l->report->memory,
                              "Nodes in a graph must be topologically sorted, and each value must "
                              "be defined once: %zu findings with codes say where this one differs",
                              disorder);
    lint_add(l->report, &(pgy_lint_finding){.level = PGY_LINT_EXCEPTION,
                                            .source = PGY_LINT_CHECKER,
                                            .message = text ? text : ""});
    l->report->failed |= !text;
    return true;
}

/* Reports why the model has no valid graph: all findings of a check, or else the error of the
 * import. */
static pgy_status add_broken(linter *l, const char *why, pgy_error *err)
{
    const pgy_finding *findings = NULL;
    size_t count = 0;
    const pgy_status st = l->model ? pgy_model_check(&findings, &count, l->model, err) : PGY_OK;
    if (st) return st;
    if (!l->options.static_only) add_as_checker(l, findings, count, NULL);
    for (size_t i = 0; i < count; i++)
        if (l->options.static_only || !is_of_model(&findings[i]))
            add_finding(l, &findings[i], PGY_LINT_EXCEPTION, PGY_LINT_CHECKER, true);
    if (count == 0)
        lint_add(l->report,
                 &(pgy_lint_finding){.level = PGY_LINT_EXCEPTION,
                                     .source = l->model ? PGY_LINT_CHECKER : PGY_LINT_LOADER,
                                     .code = LINT_CODE_LOAD,
                                     .message = why});
    return PGY_OK;
}

pgy_status lint_load(linter *l, const pgy_loader *loader, pgy_error *err)
{
    pgy_error why = {0};
    pgy_status st = pgy_loader_call(&l->model, loader, &why);
    if (!st && pgy_model_proto(l->model)->graph->node_count == 0) {
        lint_add(l->report, &(pgy_lint_finding){.level = PGY_LINT_WARNING,
                                                .source = PGY_LINT_LOADER,
                                                .code = "empty-model",
                                                .message = "ONNX model has no nodes"});
        return PGY_OK;
    }
    if (!st) st = pgy_graph_import(&l->graph, l->model, &why);
    if (!st && !keep_order(l)) st = pgy_error_set(&why, PGY_E_MEMORY, "out of memory");
    if (!st) {
        st = pgy_graph_sort(l->graph, &why);
        if (st == PGY_E_FORMAT) st = PGY_OK; /* a cycle: the check says where */
    }
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) {
        pgy_graph_destroy(l->graph);
        l->graph = NULL;
        return add_broken(l, why.text, err);
    }
    return lint_name_nodes(l->stored, l->graph->node_count, &l->report->memory, err);
}

/* ---- Given shapes --------------------------------------------------------------------------- */

static void append_shape(str *out, const pgy_value *v)
{
    for (int32_t i = 0; i < v->rank; i++) {
        str_append(out, i ? ", " : "[");
        if (v->dims[i].value >= 0)
            str_printf(out, "%lld", (long long)v->dims[i].value);
        else
            str_append(out, v->dims[i].text ? v->dims[i].text : "?");
    }
    str_append(out, v->rank ? "]" : "[]");
}

static bool shape_fits(const pgy_tensor_info *given, const pgy_value *v)
{
    if (given->rank < 0 || v->rank < 0) return true;
    if (given->rank != v->rank) return false;
    for (int32_t i = 0; i < v->rank; i++)
        if (given->shape[i] >= 0 && v->dims[i].value >= 0 && given->shape[i] != v->dims[i].value)
            return false;
    return true;
}

static pgy_status check_shape(const pgy_tensor_info *given, const pgy_value *v, pgy_error *err)
{
    if (shape_fits(given, v)) return PGY_OK;
    str wanted = {0}, text = {0};
    append_shape(&wanted, v);
    for (int32_t i = 0; i < given->rank; i++)
        str_printf(&text, "%s%lld", i ? "," : "", (long long)given->shape[i]);
    const pgy_status st = pgy_error_set(err, PGY_E_SHAPE,
                                        "inputs %s:[%s]: the model declares the shape %s for this "
                                        "input; give a shape that fits, or change the model first",
                                        given->name, str_text(&text), str_text(&wanted));
    str_deinit(&wanted);
    str_deinit(&text);
    return st;
}

pgy_status lint_take_shapes(linter *l, pgy_error *err)
{
    const pgy_metadata *shapes = l->options.inputs;
    for (size_t i = 0; shapes && i < pgy_metadata_count(shapes); i++) {
        const pgy_tensor_info *given = pgy_metadata_at(shapes, i);
        const pgy_value *v = pgy_graph_find_value(l->graph, given->name);
        if (v && !v->is_input)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "inputs %s: the tensor is not an input of the model", given->name);
        const pgy_status st = v ? check_shape(given, v, err) : PGY_OK;
        if (st) return st;
    }
    return shapes ? pgy_graph_override_shapes(l->graph, shapes, err) : PGY_OK;
}

/* ---- Structure ------------------------------------------------------------------------------ */

/* Is only the shape of an output missing? Runtimes infer it. */
static bool is_formal(const linter *l, const pgy_finding *f)
{
    const pgy_onnx_graph *g = pgy_model_proto(l->model)->graph;
    for (size_t i = 0; i < g->output_count && has_code(f, "incomplete-declaration"); i++) {
        const pgy_onnx_type *t = g->outputs[i]->type;
        if (!strcmp(g->outputs[i]->name, f->path))
            return t && t->tensor_type && t->tensor_type->elem_type && !t->tensor_type->shape;
    }
    return false;
}

/* Contradicting declared shapes stop a model only if the runtime says so, because a runtime uses
 * its own inferred shapes. */
static bool is_exception(const linter *l, const pgy_finding *f)
{
    return f->severity == PGY_LOG_ERROR &&
           (l->options.static_only || l->options.strict || !has_code(f, "declared-shape"));
}

/* Lists findings by node, so that each can be joined with the runtime's message about the node. */
static bool index_findings(linter *l)
{
    arena *memory = &l->report->memory;
    l->next_of_node = arena_alloc_array(memory, l->finding_count + 1, sizeof *l->next_of_node);
    l->is_said = arena_alloc_array(memory, l->finding_count + 1, sizeof *l->is_said);
    if (!l->next_of_node || !l->is_said) return false;
    for (size_t i = l->finding_count; i-- > 0;) {
        const pgy_finding *f = &l->findings[i];
        l->is_said[i] = false;
        l->next_of_node[i] = LINT_NONE;
        if (!f->node[0]) continue;
        const size_t *next = strmap_get(&l->first_of_node, f->path);
        if (next) l->next_of_node[i] = (size_t)(next - l->next_of_node);
        if (!strmap_put(&l->first_of_node, f->path, &l->next_of_node[i])) return false;
    }
    return true;
}

size_t lint_first_finding(const linter *l, const char *node)
{
    const size_t *next = strmap_get(&l->first_of_node, node);
    return next ? (size_t)(next - l->next_of_node) : LINT_NONE;
}

/* Checks the nodes in the order of the file. */
pgy_status lint_check(linter *l, pgy_error *err)
{
    pgy_node **sorted = l->graph->nodes;
    l->graph->nodes = l->stored;
    pgy_status st = pgy_graph_check(&l->findings, &l->finding_count, l->graph, err);
    l->graph->nodes = sorted;
    for (size_t i = 0; i < l->graph->node_count; i++) sorted[i]->index = i;
    if (!st && !index_findings(l)) st = no_memory(err);
    for (size_t i = 0; !st && i < l->finding_count; i++)
        if (has_code(&l->findings[i], LINT_CODE_DUPLICATE) ||
            (!l->options.strict && is_formal(l, &l->findings[i])))
            l->is_said[i] = true;
    return st;
}

bool lint_add_as_checker(linter *l)
{
    return add_as_checker(l, l->findings, l->finding_count, l->is_said);
}

bool lint_has_errors(const linter *l)
{
    for (size_t i = 0; i < l->finding_count; i++)
        if (is_exception(l, &l->findings[i])) return true;
    return false;
}

void lint_add_errors(linter *l)
{
    for (size_t i = 0; i < l->finding_count; i++) {
        if (l->is_said[i] || !is_exception(l, &l->findings[i])) continue;
        l->is_said[i] = true;
        add_finding(l, &l->findings[i], PGY_LINT_EXCEPTION, PGY_LINT_CHECKER, true);
    }
}

static int by_path(const void *a, const void *b)
{
    return strcmp((*(const pgy_finding *const *)a)->path, (*(const pgy_finding *const *)b)->path);
}

/* Adds warnings for inputs and nodes of the main graph that no output needs, in the original's
 * order: by name, inputs before nodes. */
static void add_unused(linter *l, const char *code)
{
    const pgy_finding **found = mem_calloc(l->finding_count + 1, sizeof *found);
    size_t count = 0;
    for (size_t i = 0; found && i < l->finding_count; i++) {
        const pgy_finding *f = &l->findings[i];
        if (l->is_said[i] || !has_code(f, code) || !is_of_top(f)) continue;
        l->is_said[i] = true;
        found[count++] = f;
    }
    if (count) qsort(found, count, sizeof *found, by_path);
    for (size_t i = 0; i < count; i++)
        add_finding(l, found[i], PGY_LINT_WARNING, PGY_LINT_GRAPH, false);
    l->report->failed |= !found;
    mem_free(found);
}

void lint_add_warnings(linter *l)
{
    add_unused(l, "unused-input");
    add_unused(l, "unused-node");
    for (int of_nodes = 0; of_nodes < 2; of_nodes++) {
        for (size_t i = 0; i < l->finding_count; i++) {
            const pgy_finding *f = &l->findings[i];
            if (l->is_said[i] || (f->node[0] != 0) != of_nodes) continue;
            l->is_said[i] = true;
            add_finding(l, f, f->severity > PGY_LOG_INFO ? PGY_LINT_WARNING : PGY_LINT_INFO,
                        PGY_LINT_CHECKER, true);
        }
    }
}
