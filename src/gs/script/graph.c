/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs on whole graphs: inputs and outputs, folding, cleaning, sorting, and fields of the
 * model. */
#include <string.h>

#include "gs/script/script.h"
#include "ops/signature.h"

/* ---- Inputs and outputs ---------------------------------------------------------------------- */

static pgy_status check_inputs(const tensor_refs *list, pgy_error *err)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->kind == PGY_GS_CONSTANT || pgy_gs_is_omitted(list->items[i]))
            return pgy_error_set(err, PGY_E_ARGUMENT, "weight '%s' cannot be an input of the graph",
                                 list->items[i]->name);
    return PGY_OK;
}

/* Fails if t is listed twice as input, or as output of the main graph. Only subgraphs and functions
 * may output a tensor twice. */
static pgy_status check_twice(const pgy_gs_script *s, pgy_gs_tensor *const *before, size_t count,
                              const pgy_gs_tensor *t, bool inputs, pgy_error *err)
{
    const bool matters = inputs || (!s->current->parent && !s->current->is_function);
    for (size_t i = 0; matters && i < count; i++)
        if (before[i] == t)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "tensor '%s' would become an %s of the graph twice", t->name,
                                 inputs ? "input" : "output");
    return PGY_OK;
}

static pgy_status check_list(const pgy_gs_script *s, const tensor_refs *list, bool inputs,
                             pgy_error *err)
{
    pgy_status st = inputs ? check_inputs(list, err) : PGY_OK;
    for (size_t i = 1; !st && i < list->count; i++)
        st = check_twice(s, list->items, i, list->items[i], inputs, err);
    return st;
}

pgy_status verb_set_io(pgy_gs_script *s, const call *c, pgy_error *err)
{
    const piece *in = call_get(c, "inputs"), *out = call_get(c, "outputs");
    tensor_refs inputs = {0}, outputs = {0};
    pgy_status st = in ? ref_tensors(&inputs, s, *in, NULL, c->memory, err) : PGY_OK;
    if (!st) st = check_list(s, &inputs, true, err);
    if (!st && out) st = ref_tensors(&outputs, s, *out, NULL, c->memory, err);
    if (!st) st = check_list(s, &outputs, false, err);
    if (!st && in) st = pgy_gs_set_graph_inputs(s->current, inputs.items, inputs.count, err);
    if (!st && out) st = pgy_gs_set_graph_outputs(s->current, outputs.items, outputs.count, err);
    return st;
}

pgy_status verb_extract(pgy_gs_script *s, const call *c, pgy_error *err)
{
    const pgy_status st = verb_set_io(s, c, err);
    return st ? st : pgy_gs_cleanup(s->current, NULL, err);
}

static pgy_status add_each(pgy_gs_script *s, const call *c, bool inputs, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->rest.count; i++) {
        pgy_gs_tensor *t;
        st = ref_tensor(&t, s, c->rest.items[i], NULL, c->memory, err);
        const tensor_refs one = {&t, 1};
        if (!st) st = check_list(s, &one, inputs, err);
        if (!st)
            st = check_twice(s, inputs ? s->current->inputs : s->current->outputs,
                             inputs ? s->current->input_count : s->current->output_count, t, inputs,
                             err);
        if (!st)
            st = inputs ? pgy_gs_add_graph_input(s->current, t, err)
                        : pgy_gs_add_graph_output(s->current, t, err);
    }
    return st;
}

pgy_status verb_add_input(pgy_gs_script *s, const call *c, pgy_error *err)
{
    return add_each(s, c, true, err);
}

pgy_status verb_add_output(pgy_gs_script *s, const call *c, pgy_error *err)
{
    return add_each(s, c, false, err);
}

static pgy_status find_input(pgy_gs_tensor **out, const pgy_gs_script *s, const char *name,
                             arena *a, pgy_error *err)
{
    const pgy_gs_graph *g = s->current;
    const char **names = arena_alloc_array(a, g->input_count + 1, sizeof *names);
    str near = {0};
    if (!names) return gs_no_memory(err);
    for (size_t i = 0; i < g->input_count; i++) {
        names[i] = g->inputs[i]->name;
        if (strcmp(names[i], name) == 0) {
            *out = g->inputs[i];
            return PGY_OK;
        }
    }
    gs_suggest(&near, name, names, g->input_count);
    const pgy_status st =
        pgy_error_set(err, PGY_E_NOT_FOUND, "the graph has no input '%s'%s", name, str_text(&near));
    str_deinit(&near);
    return st;
}

pgy_status verb_set_input_shape(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_tensor *t = NULL;
    type_spec type;
    pgy_status st = find_input(&t, s, call_text(c, "tensor"), c->memory, err);
    if (!st) st = value_shape(&type, *call_get(c, "shape"), c->memory, err);
    if (st) return st;
    const bool ranks = t->rank != type.rank;
    st = pgy_gs_set_type(t, t->dtype, type.rank, type.dims, err);
    if (!st && !call_has(c, "--keep-stale")) st = pgy_gs_forget_shapes(s->current, t, ranks, err);
    return st;
}

/* ---- Fields of the model --------------------------------------------------------------------- */

/* Fails for an opset of ONNX's own operators that this library does not know, unless the model has
 * it already. */
static pgy_status check_opset(const pgy_gs_script *s, int64_t version, pgy_error *err)
{
    const int newest = op_newest_opset();
    if (version <= newest || version == s->current->opset) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "opset %lld is newer than %d, the newest that this version knows",
                         (long long)version, newest);
}

pgy_status verb_set_opset(pgy_gs_script *s, const call *c, pgy_error *err)
{
    int64_t version;
    pgy_status st = call_int(&version, c, "version", 1, INT32_MAX, 0, err);
    if (!st) st = check_opset(s, version, err);
    return st ? st : pgy_gs_set_opset(s->current, version, err);
}

pgy_status verb_set_import(pgy_gs_script *s, const call *c, pgy_error *err)
{
    int64_t version;
    const char *domain = call_text(c, "domain");
    const bool standard = !*domain || strcmp(domain, "ai.onnx") == 0;
    pgy_status st = call_int(&version, c, "version", 0, INT32_MAX, 0, err);
    if (!st && standard) st = check_opset(s, version, err);
    return st ? st : pgy_gs_set_import(s->current, domain, version, err);
}

pgy_status verb_set_name(pgy_gs_script *s, const call *c, pgy_error *err)
{
    return pgy_gs_set_name(s->current, call_text(c, "name"), err);
}

pgy_status verb_set_doc(pgy_gs_script *s, const call *c, pgy_error *err)
{
    return pgy_gs_set_doc(s->current, call_text(c, "text"), err);
}

pgy_status verb_set_producer(pgy_gs_script *s, const call *c, pgy_error *err)
{
    const char *version = call_text(c, "version");
    return pgy_gs_set_producer(s->top, call_text(c, "name"),
                               version ? version : s->top->producer_version, err);
}

pgy_status verb_set_ir_version(pgy_gs_script *s, const call *c, pgy_error *err)
{
    int64_t version;
    const pgy_status st = call_int(&version, c, "version", 0, INT32_MAX, 0, err);
    if (!st) pgy_gs_set_ir_version(s->top, version);
    return st;
}

/* ---- Whole graphs ---------------------------------------------------------------------------- */

typedef struct excluded {
    pgy_gs_node **nodes;
    size_t count;
} excluded;

static bool is_excluded(const pgy_gs_node *n, void *user)
{
    const excluded *x = user;
    for (size_t i = 0; i < x->count; i++)
        if (x->nodes[i] == n) return true;
    return false;
}

static pgy_status read_excluded(excluded *out, pgy_gs_script *s, const call *c, pgy_error *err)
{
    const piece *p = call_get(c, "exclude");
    piece_list names = {0};
    pgy_status st = p ? piece_split(&names, *p, c->memory, err) : PGY_OK;
    if (st) return st;
    out->nodes = arena_alloc_array(c->memory, names.count + 1, sizeof(pgy_gs_node *));
    if (!out->nodes) return gs_no_memory(err);
    for (; !st && out->count < names.count; out->count++)
        st = ref_node(&out->nodes[out->count], s, names.items[out->count], err);
    return st;
}

static pgy_status read_partitioning(pgy_gs_partitioning *out, const call *c, pgy_error *err)
{
    static const char *const NAMES[] = {"none", "basic", "recursive"};
    const char *how = call_text(c, "--partition");
    for (size_t i = 0; how && i < 3; i++)
        if (strcmp(NAMES[i], how) == 0) {
            *out = (pgy_gs_partitioning)i;
            return PGY_OK;
        }
    return how ? pgy_error_set(err, PGY_E_ARGUMENT,
                               "--partition is '%s'; expected none, basic or recursive", how)
               : PGY_OK;
}

pgy_status verb_fold(pgy_gs_script *s, const call *c, pgy_error *err)
{
    excluded blocked = {0};
    int64_t threshold = -1;
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    pgy_status st = read_partitioning(&o.partitioning, c, err);
    if (!st) st = read_excluded(&blocked, s, c, err);
    if (!st) st = call_int(&threshold, c, "--threshold", 0, INT64_MAX, -1, err);
    if (st) return st;
    if (threshold >= 0) o.size_threshold = (uint64_t)threshold;
    o.keep_shapes = call_has(c, "--keep-shapes");
    o.keep_ifs = call_has(c, "--keep-ifs");
    o.keep_subgraphs = call_has(c, "--no-subgraphs");
    o.keep_functions = call_has(c, "--no-functions");
    o.fail = call_has(c, "--fail");
    if (blocked.count) {
        o.exclude = is_excluded;
        o.user = &blocked;
    }
    return pgy_gs_fold_constants(s->current, &o, err);
}

pgy_status verb_cleanup(pgy_gs_script *s, const call *c, pgy_error *err)
{
    const pgy_gs_cleanup_options o = {.size = sizeof o,
                                      .remove_unused_node_outputs = call_has(c, "--unused-outputs"),
                                      .remove_unused_graph_inputs = call_has(c, "--unused-inputs"),
                                      .keep_subgraphs = call_has(c, "--no-subgraphs"),
                                      .keep_functions = call_has(c, "--no-functions")};
    return pgy_gs_cleanup(s->current, &o, err);
}

pgy_status verb_sort(pgy_gs_script *s, const call *c, pgy_error *err)
{
    const pgy_gs_sort_options o = {.size = sizeof o,
                                   .stable = call_has(c, "--stable"),
                                   .keep_subgraphs = call_has(c, "--no-subgraphs"),
                                   .keep_functions = call_has(c, "--no-functions"),
                                   .functions_only = call_has(c, "--functions-only")};
    return pgy_gs_toposort(s->current, &o, err);
}

pgy_status verb_infer_shapes(pgy_gs_script *s, const call *c, pgy_error *err)
{
    (void)c;
    return pgy_gs_infer_shapes(s->top, err);
}

pgy_status verb_inline(pgy_gs_script *s, const call *c, pgy_error *err)
{
    pgy_gs_node *n;
    bool done;
    pgy_status st = ref_node_arg(&n, s, c, "node", err);
    if (st) return st;
    if (!n) {
        s->current = s->top; /* leaves a function, since inlining removes all functions */
        return pgy_gs_inline_functions(s->top, err);
    }
    st = pgy_gs_inline_call(&done, n, err);
    if (!st && !done) st = gs_node_error(n, err, PGY_E_ARGUMENT, "calls no function of the model");
    return st;
}
