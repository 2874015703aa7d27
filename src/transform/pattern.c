/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a fusing pass and the edits of its rules. Nodes that a rewrite makes superfluous are
 * unlinked at once, so that the next rule sees the true number of uses. */
#include "transform/pattern.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "transform/opset/rewrite.h"

static const char LOG_PATH[] = "transform/pattern.c";

enum { MAX_ROUNDS = 16 };

static void fail(pattern *p, pgy_status st)
{
    if (!p->status) p->status = st;
}

/* ---- The loop ------------------------------------------------------------------------------- */

/* Names p->made after the nodes that it replaces. */
static void name_made(pattern *p)
{
    str name = {0};
    if (p->status || !p->made || !p->made->graph || !p->parts) return;
    for (const pattern_part *part = p->parts; part; part = part->next)
        str_printf(&name, "%s%s", part == p->parts ? "" : " + ", part->label);
    const char *kept = name.failed ? NULL : arena_strdup(&p->f.state->memory, str_text(&name));
    if (kept)
        p->made->name = kept;
    else
        fail(p, graph_no_memory(p->err));
    str_deinit(&name);
}

static bool apply(pattern *p, const pattern_rule *rules, size_t i, pgy_node *n)
{
    const pattern_watch *watch = p->watch;
    const pgy_value *at = n->outputs[0];
    p->made = NULL;
    p->parts = NULL;
    if (watch && !watch->admits(i, n, watch->user)) return false;
    if (!rules[i](p, n)) return false;
    name_made(p);
    if (watch && !p->status) fail(p, watch->made(i, at, p, watch->user, p->err));
    return true;
}

static void run_node(pattern *p, pgy_node *n, const pattern_rule *rules)
{
    if (n->output_count == 0 || !n->outputs[0]) return;
    for (size_t k = 0; rules[k] && n->graph && !p->status; k++)
        if (apply(p, rules, k, n)) p->count++;
}

static void run_level(pattern *p, pgy_graph *level, const pattern_rule *rules)
{
    for (size_t i = 0; !p->status && i < level->node_count; i++) {
        pgy_node *n = level->nodes[i];
        for (size_t k = 0; n->graph && k < n->subgraph_count; k++)
            run_level(p, n->subgraphs[k], rules);
        run_node(p, n, rules);
        p->status = cancel_check_after(p->status, p->err);
    }
    graph_sweep(level);
}

static pgy_status run_round(pattern *p, const pattern_rule *rules)
{
    pgy_status st = pgy_graph_infer_shapes(p->f.graph, NULL, p->err);
    if (st) return st;
    run_level(p, p->f.graph, rules);
    arena_deinit(&p->f.memory);
    return p->status ? p->status : pgy_graph_sort(p->f.graph, p->err);
}

static pgy_status run(pattern p, const pattern_rule *rules, size_t *changes, pgy_error *err)
{
    pgy_graph *g = p.f.graph;
    pgy_status st = PGY_OK;
    for (size_t round = 0, before = SIZE_MAX; !st && before != p.count && round < MAX_ROUNDS;
         round++) {
        before = p.count;
        st = run_round(&p, rules);
    }
    /* Replaced weights are removed, too. */
    if (!st && p.count) st = pgy_graph_remove_unused(g, err);
    *changes = p.count;
    return st;
}

static pattern start(pgy_graph *g, const char *pass, pgy_error *err)
{
    return (pattern){.f = {.graph = g,
                           .state = state_of(g),
                           .weak_names = pgy_model_proto(g->model)->ir_version < 4},
                     .pass = pass,
                     .err = err};
}

pgy_status pattern_run(pgy_graph *g, const char *pass, const pattern_rule *rules, size_t *changes,
                       pgy_error *err)
{
    pattern p = start(g, pass, err);
    p.watch = p.f.state->watch;
    return run(p, rules, changes, err);
}

void pattern_set_watch(pgy_graph *g, const pattern_watch *watch)
{
    state_of(g)->watch = watch;
}

pgy_status pattern_run_watched(pgy_graph *g, const char *pass, const pattern_rule *rules,
                               const pattern_watch *watch, size_t *changes, pgy_error *err)
{
    pattern p = start(g, pass, err);
    p.standard = true;
    p.watch = watch;
    return run(p, rules, changes, err);
}

pgy_status pattern_fold_level(folder *f, pgy_graph *level, const pattern_rule *rules,
                              pgy_error *err)
{
    pattern p = {.f = *f, .pass = "fold", .standard = true, .err = err};
    for (size_t i = 0; !p.status && i < level->node_count; i++) {
        run_node(&p, level->nodes[i], rules);
        p.status = cancel_check_after(p.status, err);
    }
    if (p.count) graph_sweep(level);
    *f = p.f;
    return p.status;
}

/* ---- Making nodes --------------------------------------------------------------------------- */

/* The text before the colon of "com.microsoft:FusedConv", kept in the graph's memory. */
static const char *split(pattern *p, const char **op)
{
    const char *colon = strchr(*op, ':');
    if (!colon) return "";
    char *domain = arena_strdup(&p->f.state->memory, *op);
    if (domain) domain[colon - *op] = 0;
    *op = colon + 1;
    return domain;
}

/* Adds the domain to the opset imports, which a saved model needs. */
static void import_domain(pattern *p, const char *domain)
{
    graph_level *top = level_of(p->f.graph);
    pgy_onnx_opset *const *old = top->opsets;
    const size_t count = top->opset_count;
    if (!*domain || pgy_graph_opset(p->f.graph, domain)) return;
    pgy_onnx_opset **opsets = pgy_model_alloc(p->f.graph->model, count + 1, sizeof *opsets);
    pgy_onnx_opset *added = pgy_model_alloc(p->f.graph->model, 1, sizeof *added);
    if (!opsets || !added) {
        fail(p, graph_no_memory(p->err));
        return;
    }
    if (count) memcpy(opsets, old, count * sizeof *opsets);
    added->domain = domain;
    added->version = 1;
    opsets[count] = added;
    for (size_t i = 0; i < p->f.state->level_count; i++) {
        graph_level *level = level_of(p->f.state->levels[i]);
        if (level->opsets != old || level->opset_count != count || level->is_function) continue;
        level->opsets = opsets;
        level->opset_count = count + 1;
    }
}

static void drop_unused(pattern *p, pgy_value *v)
{
    pgy_node *n = v->producer;
    if (v->consumer_count || v->is_output || !n || !n->graph) return;
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] && (n->outputs[i]->consumer_count || n->outputs[i]->is_output)) return;
    pattern_drop(p, n);
}

static void note_part(pattern *p, const pgy_node *n)
{
    pattern_part **at = &p->parts;
    if (p->status || node_is(n, "Constant")) return;
    pattern_part *part = arena_alloc_array(&p->f.memory, 1, sizeof *part);
    const char *label = arena_strdup(&p->f.memory, node_label(n));
    if (!part || !label) {
        fail(p, graph_no_memory(p->err));
        return;
    }
    while (*at && (*at)->index <= n->index) at = &(*at)->next;
    *part = (pattern_part){.label = label, .index = n->index, .next = *at};
    *at = part;
}

void pattern_drop(pattern *p, pgy_node *n)
{
    note_part(p, n);
    fold_drop_node(&p->f, n);
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i]) drop_unused(p, n->inputs[i]);
}

static pgy_node *create(pattern *p, pgy_graph *level, const char *op, pgy_value *const *inputs,
                        size_t count, pgy_value *const *outputs, size_t output_count)
{
    pgy_node *n = NULL;
    const char *domain = split(p, &op);
    if (p->status) return NULL;
    if (!domain) {
        fail(p, graph_no_memory(p->err));
        return NULL;
    }
    import_domain(p, domain);
    while (count && !inputs[count - 1]) count--; /* inputs omitted at the end */
    if (!p->status)
        fail(p, node_create(&n, level, op, inputs, count, outputs, output_count, p->err));
    if (p->status) return NULL;
    n->domain = domain;
    return n;
}

pgy_node *pattern_put_outputs(pattern *p, pgy_node *last, const char *op, pgy_value *const *inputs,
                              size_t count, pgy_value *const *outputs, size_t output_count)
{
    pgy_node *n = create(p, last->graph, op, inputs, count, outputs, output_count);
    if (!n) return NULL;
    LOG(VERBOSE, "Pass %s: %s '%s' becomes %s", p->pass, last->op_type, node_label(last), op);
    p->made = n;
    pattern_drop(p, last);
    return n;
}

pgy_node *pattern_put(pattern *p, pgy_node *last, const char *op, pgy_value *const *inputs,
                      size_t count)
{
    return pattern_put_outputs(p, last, op, inputs, count, last->outputs, 1);
}

pgy_value *pattern_value(pattern *p, pgy_graph *level, const char *stem)
{
    pgy_value *v = p->status ? NULL : value_create_unique(level, stem, p->err);
    if (!v) fail(p, PGY_E_MEMORY);
    return v;
}

static const char *stem_of(const pgy_node *before, const char *stem)
{
    return stem ? stem : before->outputs[0]->name;
}

pgy_value *pattern_list(pattern *p, const pgy_node *before, const char *stem, const int64_t *values,
                        size_t count)
{
    pgy_value *v = NULL;
    if (!p->status)
        fail(p, value_create_ints(&v, before->graph, stem_of(before, stem), values, count, p->err));
    return v;
}

pgy_value *pattern_make(pattern *p, pgy_node *before, const char *stem, const char *op,
                        pgy_value *const *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!inputs[i]) return NULL;
    pgy_value *v = pattern_value(p, before->graph, stem_of(before, stem));
    return v && pattern_add(p, before, op, inputs, count, v) ? v : NULL;
}

pgy_node *pattern_add(pattern *p, pgy_node *before, const char *op, pgy_value *const *inputs,
                      size_t count, pgy_value *output)
{
    return create(p, before->graph, op, inputs, count, &output, 1);
}

pgy_node *pattern_add_outputs(pattern *p, pgy_node *before, const char *op,
                              pgy_value *const *inputs, size_t count, pgy_value *const *outputs,
                              size_t output_count)
{
    return create(p, before->graph, op, inputs, count, outputs, output_count);
}

/* ---- Attributes ----------------------------------------------------------------------------- */

static rewrite setter(pattern *p, pgy_node *n)
{
    return (rewrite){.graph = n ? n->graph : NULL,
                     .node = n,
                     .status = p->status ? p->status
                               : n       ? PGY_OK
                                         : PGY_E_MEMORY,
                     .err = p->err};
}

void pattern_set_int(pattern *p, pgy_node *n, const char *name, int64_t value)
{
    rewrite r = setter(p, n);
    rw_set_int(&r, n, name, value);
    fail(p, r.status);
}

void pattern_set_float(pattern *p, pgy_node *n, const char *name, double value)
{
    rewrite r = setter(p, n);
    rw_set_float(&r, n, name, (float)value);
    fail(p, r.status);
}

void pattern_set_ints(pattern *p, pgy_node *n, const char *name, const int64_t *values,
                      size_t count)
{
    rewrite r = setter(p, n);
    rw_set_ints(&r, n, name, values, count);
    fail(p, r.status);
}

void pattern_set_floats(pattern *p, pgy_node *n, const char *name, const double *values,
                        size_t count)
{
    rewrite r = setter(p, n);
    float few[8];
    for (size_t i = 0; i < count && i < 8; i++) few[i] = (float)values[i];
    rw_set_floats(&r, n, name, few, count < 8 ? count : 8);
    fail(p, r.status);
}

void pattern_set_text(pattern *p, pgy_node *n, const char *name, const char *text)
{
    rewrite r = setter(p, n);
    rw_set_string(&r, n, name, text);
    fail(p, r.status);
}

void pattern_copy_as(pattern *p, pgy_node *n, const char *name, const pgy_node *from,
                     const char *source)
{
    const pgy_onnx_attribute *a = node_attribute(from, source);
    const pgy_onnx_attribute_type type = a ? pgy_onnx_attribute_kind(a) : PGY_ATTR_UNDEFINED;
    rewrite r = setter(p, n);
    if (type == PGY_ATTR_INT) rw_set_int(&r, n, name, a->i);
    if (type == PGY_ATTR_FLOAT) rw_set_float(&r, n, name, a->f);
    if (type == PGY_ATTR_INTS) rw_set_ints(&r, n, name, a->ints, a->int_count);
    if (type == PGY_ATTR_FLOATS) rw_set_floats(&r, n, name, a->floats, a->float_count);
    if (type == PGY_ATTR_STRINGS) rw_set_strings(&r, n, name, a->strings, a->string_count);
    if (type == PGY_ATTR_STRING) {
        char *text = arena_alloc(&p->f.memory, a->s.size + 1);
        if (text && a->s.size) memcpy(text, a->s.data, a->s.size);
        if (text)
            rw_set_string(&r, n, name, text);
        else
            r.status = graph_no_memory(p->err);
    }
    fail(p, r.status);
}

void pattern_copy(pattern *p, pgy_node *n, const pgy_node *from, const char *name)
{
    pattern_copy_as(p, n, name, from, name);
}

/* ---- Weights -------------------------------------------------------------------------------- */

pgy_value *pattern_tensor(pattern *p, pgy_graph *level, const char *stem, pgy_tensor *t)
{
    const pgy_onnx_tensor *stored = NULL;
    pgy_value *v = pattern_value(p, level, stem);
    if (!p->status) fail(p, weight_create(&stored, p->f.graph->model, v->name, t, p->err));
    if (!p->status) fail(p, value_set_weight(v, stored, p->err));
    return p->status ? NULL : v;
}

pgy_value *pattern_weight(pattern *p, pgy_graph *level, const char *stem, pgy_dtype dtype,
                          size_t rank, const int64_t *shape, const double *values)
{
    pgy_tensor *wide = NULL, *t = NULL;
    pgy_value *v = NULL;
    if (p->status) return NULL;
    fail(p, pgy_tensor_create(&wide, PGY_F64, rank, shape, p->err));
    if (!p->status) {
        memcpy(op_f64(wide), values, pgy_tensor_count(wide) * sizeof *values);
        fail(p, pgy_tensor_cast(&t, pgy_tensor_view(wide), dtype, p->err));
    }
    if (!p->status) v = pattern_tensor(p, level, stem, t);
    pgy_tensor_release(wide);
    pgy_tensor_release(t);
    return v;
}

pgy_value *pattern_reshaped(pattern *p, pgy_value *v, size_t rank, const int64_t *shape)
{
    pgy_tensor *t = NULL, *view = NULL;
    pgy_value *made = NULL;
    if (p->status) return NULL;
    fail(p, fold_constant(&t, &p->f, v, p->err));
    if (!p->status && t) fail(p, pgy_tensor_reshape(&view, t, rank, shape, p->err));
    if (!p->status && view) made = pattern_tensor(p, v->graph, v->name, view);
    pgy_tensor_release(view);
    pgy_tensor_release(t);
    return made;
}
