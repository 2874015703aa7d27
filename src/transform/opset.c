/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a whole graph to another opset version. Every level, including subgraphs and function
 * bodies, goes from version to version; each step rewrites the nodes whose operator changed there
 * by its rows of opset/adapters.def.
 *
 * Adapters depend on types, ranks and constants, so shapes are inferred first. The conversion runs
 * on a copy, and the result is checked against the definitions of the target version. Only if that
 * succeeds are the same steps applied to the graph itself. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "ops/signature.h"
#include "transform/opset/convert.h"

/* ---- Notes ---------------------------------------------------------------------------------- */

static pgy_status add_note(conversion *c, const char *node, const char *op_type, const char *reason,
                           pgy_error *err)
{
    char key[512];
    snprintf(key, sizeof key, "%s %s", op_type, node);
    if (strmap_has(&c->noted, key)) return PGY_OK;
    if (!strmap_put(&c->noted, key, c)) return graph_no_memory(err);
    void *notes = c->notes;
    if (!mem_grow(&notes, &c->capacity, c->count + 1, sizeof *c->notes))
        return graph_no_memory(err);
    c->notes = notes;
    pgy_transform_note *note = &c->notes[c->count];
    note->node = arena_strdup(&c->memory, node);
    note->op_type = arena_strdup(&c->memory, op_type);
    note->reason = arena_strdup(&c->memory, reason);
    if (!note->node || !note->op_type || !note->reason) return graph_no_memory(err);
    c->count++;
    return PGY_OK;
}

static node_origin *origin_of(const conversion *c, const pgy_node *n)
{
    return node_origins_get(&c->origins, node_id(n));
}

/* Adds a note about node n, under its name in the original model. */
static pgy_status note_node(conversion *c, const pgy_node *n, const char *reason, pgy_error *err)
{
    const node_origin *o = origin_of(c, n);
    return add_note(c, o ? o->name : node_label(n), o ? o->op_type : n->op_type, reason, err);
}

/* ---- Levels --------------------------------------------------------------------------------- */

static pgy_status import_functions(pgy_graph *g, pgy_error *err)
{
    const strmap *functions = &state_of(g)->functions;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < functions->count; i++) {
        pgy_graph *body = NULL;
        st = function_body(&body, functions->entries[i].value, g, err);
    }
    return st;
}

/* The state of a value before inference. Only the adapters need inferred facts, so they are undone
 * at the end. */
typedef struct value_state {
    value_box *box;
    pgy_value value;
    op_value declared, known;
} value_state;

static pgy_status remember_values(value_state **out, size_t *count, pgy_graph *g, pgy_error *err)
{
    const graph_state *s = state_of(g);
    size_t n = 0, at = 0;
    for (size_t i = 0; i < s->level_count; i++) n += level_of(s->levels[i])->values.count;
    value_state *list = mem_calloc(n ? n : 1, sizeof *list);
    if (!list) return graph_no_memory(err);
    for (size_t i = 0; i < s->level_count; i++) {
        const strmap *values = &level_of(s->levels[i])->values;
        for (size_t k = 0; k < values->count; k++) {
            value_box *box = box_of(values->entries[k].value);
            list[at++] = (value_state){box, box->value, box->declared, box->known};
        }
    }
    *out = list;
    *count = n;
    return PGY_OK;
}

static void restore_values(const value_state *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pgy_value *v = &list[i].box->value;
        v->dtype = list[i].value.dtype;
        v->rank = list[i].value.rank;
        v->dims = list[i].value.dims;
        v->unknown_why = list[i].value.unknown_why;
        list[i].box->declared = list[i].declared;
        list[i].box->known = list[i].known;
    }
}

/* Drops facts inferred for function bodies, because they come from the last call and need not hold
 * for others. */
static void forget_calls(pgy_graph *g)
{
    const graph_state *s = state_of(g);
    for (size_t i = 0; i < s->level_count; i++) {
        const graph_level *level = level_of(s->levels[i]);
        for (size_t k = 0; level->is_function && k < level->values.count; k++) {
            value_box *box = box_of(level->values.entries[k].value);
            box->known = box->declared;
        }
    }
}

static pgy_status set_origins(conversion *c, const pgy_graph *level, pgy_error *err)
{
    node_origin *origins = arena_alloc_array(&c->memory, level->node_count, sizeof *origins);
    if (!origins) return graph_no_memory(err);
    for (size_t i = 0; i < level->node_count; i++) {
        const pgy_node *n = level->nodes[i];
        node_origin **entry = node_origins_at(&c->origins, node_id(n));
        if (!entry) return graph_no_memory(err);
        origins[i] = (node_origin){
            .name = node_label(n), .op_type = n->op_type, .opset = level_of(level)->default_opset};
        *entry = &origins[i];
    }
    return PGY_OK;
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static pgy_status is_ours(bool *out, pgy_node *n, pgy_error *err)
{
    graph_function *f = NULL;
    *out = false;
    if (!domain_is_default(n->domain)) return PGY_OK;
    const pgy_status st = function_find(&f, n->graph, n, err);
    *out = !st && !f;
    return st;
}

static pgy_status step_node(conversion *c, pgy_node *n, int64_t step, pgy_error *err)
{
    pgy_error reason = {{0}};
    bool ours;
    if (!adapter_exists(n->op_type, step)) return PGY_OK;
    pgy_status st = is_ours(&ours, n, err);
    if (st || !ours) return st;
    rewrite r = {.graph = n->graph,
                 .node = n,
                 .version = c->up ? step : step - 1,
                 .target = c->version,
                 .origins = &c->origins,
                 .err = &reason};
    const op_def *def = op_find("", n->op_type, c->up ? step - 1 : step);
    if (def && def->min_inputs && !rw_input(&r, 0))
        rw_refuse(&r, "its first input is omitted");
    else if (n->output_count == 0)
        rw_refuse(&r, "it has no output");
    adapter_apply(&r, step, c->up);
    if (r.status == PGY_E_UNSUPPORTED) return note_node(c, n, reason.text, err);
    return r.status
               ? pgy_error_set(err, r.status, "%s '%s': %s", n->op_type, node_label(n), reason.text)
               : PGY_OK;
}

static pgy_status step_level(conversion *c, pgy_graph *level, int64_t step, pgy_error *err)
{
    /* Nodes that adapters append conform to the new version already. */
    const size_t count = level->node_count;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++)
        st = cancel_check_after(step_node(c, level->nodes[i], step, err), err);
    return st;
}

static pgy_status convert_level(conversion *c, pgy_graph *level, pgy_error *err)
{
    const int64_t from = level_of(level)->default_opset;
    pgy_status st = set_origins(c, level, err);
    c->up = c->version > from;
    for (int64_t v = from + 1; !st && v <= c->version; v++) st = step_level(c, level, v, err);
    for (int64_t v = from; !st && v > c->version; v--) st = step_level(c, level, v, err);
    return st;
}

/* ---- Versions ------------------------------------------------------------------------------- */

/* The IR version with which ONNX released this opset. */
static int64_t ir_of(int64_t opset)
{
    static const int FIRST[][2] = {{28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9},
                                   {15, 8},  {12, 7},  {11, 6},  {10, 5},  {9, 4}};
    for (size_t i = 0; i < sizeof FIRST / sizeof *FIRST; i++)
        if (opset >= FIRST[i][0]) return FIRST[i][1];
    return 3;
}

static pgy_status import_version(pgy_graph *level, int64_t version, pgy_error *err)
{
    graph_level *l = level_of(level);
    size_t count = l->opset_count, place = 0;
    pgy_onnx_opset **list = pgy_model_alloc(level->model, count + 1, sizeof *list);
    pgy_onnx_opset *entry = pgy_model_alloc(level->model, 1, sizeof *entry);
    if (!list || !entry) return graph_no_memory(err);
    for (size_t i = 0; i < count; i++) list[i] = (pgy_onnx_opset *)l->opsets[i];
    while (place < count && !domain_is_default(list[place]->domain)) place++;
    *entry = place < count ? *list[place] : (pgy_onnx_opset){.domain = ""};
    entry->message.raw = (pgy_bytes){0};
    entry->version = version;
    list[place] = entry;
    l->opset_count = place < count ? count : count + 1;
    l->opsets = list;
    l->default_opset = version;
    graph_mark_changed(level);
    for (size_t i = 0; i < level->node_count; i++) node_box_of(level->nodes[i])->prepared = false;
    return PGY_OK;
}

pgy_status opset_import_default(pgy_graph *g, int64_t version, pgy_error *err)
{
    const graph_state *s = state_of(g);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->level_count; i++)
        if (!level_of(s->levels[i])->default_opset && !level_of(s->levels[i])->is_function)
            st = import_version(s->levels[i], version, err);
    return st;
}

static pgy_status convert_levels(conversion *c, pgy_graph *g, pgy_error *err)
{
    const graph_state *s = state_of(g);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->level_count; i++)
        if (level_of(s->levels[i])->default_opset) st = convert_level(c, s->levels[i], err);
    for (size_t i = 0; !st && i < s->level_count; i++)
        if (level_of(s->levels[i])->default_opset)
            st = import_version(s->levels[i], c->version, err);
    for (size_t i = 0; !st && i < s->level_count; i++)
        if (!s->levels[i]->parent) st = pgy_graph_sort(s->levels[i], err);
    if (state_of(g)->ir_version < ir_of(c->version)) state_of(g)->ir_version = ir_of(c->version);
    return st;
}

/* ---- Judging the result --------------------------------------------------------------------- */

static int64_t first_version(const char *op_type)
{
    for (int64_t v = 1; v <= OPSET_NEWEST; v++)
        if (op_find("", op_type, v) || op_signature_find("", op_type, v)) return v;
    return 0;
}

static pgy_status refuse(conversion *c, const pgy_node *n, pgy_error *err, const char *format, ...)
    PGY_PRINTF(4, 5);
static pgy_status refuse(conversion *c, const pgy_node *n, pgy_error *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return note_node(c, n, text, err);
}

/* Adds a note about n, whose operator this library lacks, unless its definition in the new opset is
 * the same as before. */
static pgy_status judge_unknown(conversion *c, const pgy_node *n, pgy_error *err)
{
    const node_origin *o = origin_of(c, n);
    const op_signature *now = op_signature_find("", n->op_type, c->version);
    const op_signature *before = o ? op_signature_find("", n->op_type, o->opset) : NULL;
    const int64_t first = first_version(n->op_type);
    if (now && now == before) return PGY_OK;
    if (first > c->version)
        return refuse(c, n, err, "%s was introduced in opset %lld", n->op_type, (long long)first);
    return refuse(c, n, err, "%s is not a known operator", n->op_type);
}

/* Adds a note if n omits an input that the target opset requires. */
static pgy_status judge_inputs(conversion *c, const pgy_node *n, pgy_error *err)
{
    const op_signature *s = op_signature_find("", n->op_type, c->version);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && s && i < n->input_count; i++) {
        const op_parameter *p = op_signature_input(s, i);
        if (!n->inputs[i] && p && !(p->flags & (OP_PARAM_OPTIONAL | OP_PARAM_VARIADIC)))
            st = refuse(c, n, err, "input %zu '%s' is required in opset %lld", i, p->name,
                        (long long)c->version);
    }
    return st;
}

static bool knows(const op_def *def, const char *attribute)
{
    const op_attr_def *d = def ? def->attrs : NULL;
    while (d && d->name && strcmp(d->name, attribute) != 0) d++;
    return d && d->name;
}

/* True if the original model's opset did not know the attribute of n either, so the conversion is
 * not to blame. */
static bool was_unknown(const conversion *c, const pgy_node *n, const char *attribute)
{
    const node_origin *o = origin_of(c, n);
    return o && strcmp(o->op_type, n->op_type) == 0 &&
           !knows(op_find("", o->op_type, o->opset), attribute);
}

static pgy_status judge_node(conversion *c, pgy_node *n, pgy_error *err)
{
    bool ours;
    pgy_status st = is_ours(&ours, n, err);
    if (st || !ours) return st;
    const op_def *def = op_find("", n->op_type, c->version);
    if (!def) return judge_unknown(c, n, err);
    if (def->deprecated && c->version >= def->deprecated)
        return refuse(c, n, err, "%s was removed in opset %d", n->op_type, def->deprecated);
    for (size_t i = 0; !st && i < n->attribute_count; i++) {
        const char *name = n->attributes[i]->name;
        if (!knows(def, name) && !was_unknown(c, n, name))
            st = refuse(c, n, err, "%s has no attribute '%s' in opset %lld", n->op_type, name,
                        (long long)c->version);
    }
    return st ? st : judge_inputs(c, n, err);
}

static pgy_status map_labels(strmap *out, const graph_state *s, pgy_error *err)
{
    for (size_t i = 0; i < s->level_count; i++)
        for (size_t k = 0; k < s->levels[i]->node_count; k++) {
            pgy_node *n = s->levels[i]->nodes[k];
            if (!strmap_put(out, node_label(n), n)) return graph_no_memory(err);
        }
    return PGY_OK;
}

static pgy_status map_failures(strmap *out, const finding_list *findings, pgy_error *err)
{
    for (size_t i = 0; i < findings->count; i++) {
        const pgy_finding *f = &findings->items[i];
        if (f->severity == PGY_LOG_ERROR && !strmap_put(out, f->node, (void *)f))
            return graph_no_memory(err);
    }
    return PGY_OK;
}

/* Adds a note for each error of inference that the original graph did not have. */
static pgy_status note_findings(conversion *c, const graph_state *s, const finding_list *before,
                                const finding_list *after, pgy_error *err)
{
    strmap labels = {0}, failed = {0};
    pgy_status st = after->count ? map_labels(&labels, s, err) : PGY_OK;
    if (!st) st = map_failures(&failed, before, err);
    for (size_t i = 0; !st && i < after->count; i++) {
        const pgy_finding *f = &after->items[i];
        const pgy_node *n = strmap_get(&labels, f->node);
        const node_origin *o = n ? origin_of(c, n) : NULL;
        if (f->severity == PGY_LOG_ERROR && n && !strmap_has(&failed, o ? o->name : f->node))
            st = note_node(c, n, f->message, err);
    }
    strmap_deinit(&labels);
    strmap_deinit(&failed);
    return st;
}

/* Checks types, arity and attributes against the definitions of the new version, for all nodes that
 * inference reaches. Nodes that were invalid before are ignored. */
static pgy_status judge(conversion *c, pgy_graph *g, const finding_list *before, pgy_error *err)
{
    const graph_state *s = state_of(g);
    finding_list after = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->level_count; i++)
        for (size_t k = 0; !st && k < s->levels[i]->node_count; k++)
            if (level_of(s->levels[i])->default_opset)
                st = judge_node(c, s->levels[i]->nodes[k], err);
    if (!st && c->count == 0) st = graph_infer_all(g, &after, err);
    if (!st) st = note_findings(c, s, before, &after, err);
    strmap_deinit(&after.seen);
    return st;
}

/* ---- The conversion -------------------------------------------------------------------------- */

static pgy_status convert(conversion *c, pgy_graph *g, bool trial, pgy_error *err)
{
    finding_list before = {0};
    value_state *values = NULL;
    size_t count = 0;
    pgy_status st = import_functions(g, err);
    if (!st) st = remember_values(&values, &count, g, err);
    if (!st) st = graph_infer_all(g, &before, err);
    if (!st) {
        forget_calls(g);
        st = convert_levels(c, g, err);
    }
    restore_values(values, values ? count : 0);
    if (!st && trial) st = judge(c, g, &before, err);
    strmap_deinit(&before.seen);
    mem_free(values);
    return st;
}

static pgy_status try_copy(conversion *c, pgy_graph *g, pgy_error *err)
{
    pgy_graph *copy = NULL;
    pgy_status st = graph_clone(&copy, g, err);
    if (!st) st = convert(c, copy, true, err);
    node_origins_clear(&c->origins); /* records about nodes of the copy */
    pgy_graph_destroy(copy);
    return st;
}

static size_t count_rewritten(const conversion *c, const pgy_graph *g)
{
    const graph_state *s = state_of(g);
    size_t count = 0;
    for (size_t i = 0; i < s->level_count; i++)
        for (size_t k = 0; k < s->levels[i]->node_count; k++) {
            node_origin *o = origin_of(c, s->levels[i]->nodes[k]);
            count += o && o->rewritten;
            if (o) o->rewritten = false; /* count each original node once */
        }
    return count;
}

static pgy_status fill_report(pgy_opset_report *report, const conversion *c, pgy_graph *g,
                              pgy_error *err)
{
    arena *memory = &state_of(g)->memory;
    pgy_transform_note *notes = arena_alloc_array(memory, c->count, sizeof *notes);
    if (!notes) return graph_no_memory(err);
    for (size_t i = 0; i < c->count; i++) {
        notes[i] = (pgy_transform_note){arena_strdup(memory, c->notes[i].node),
                                        arena_strdup(memory, c->notes[i].op_type),
                                        arena_strdup(memory, c->notes[i].reason)};
        if (!notes[i].node || !notes[i].op_type || !notes[i].reason) return graph_no_memory(err);
    }
    report->impossible = notes;
    report->impossible_count = c->count;
    return PGY_OK;
}

static pgy_status check_versions(pgy_graph *g, int64_t version, pgy_error *err)
{
    const int64_t from = g ? pgy_graph_opset(g, "") : 0;
    if (!g || g->parent)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'g' must be a whole graph, not a subgraph or NULL");
    if (version < OPSET_OLDEST || version > OPSET_NEWEST)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "cannot convert to opset %lld: versions %d to %d are supported",
                             (long long)version, OPSET_OLDEST, OPSET_NEWEST);
    if (from < OPSET_OLDEST || from > OPSET_NEWEST)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "cannot convert a model of opset %lld: versions %d to %d are supported",
            (long long)from, OPSET_OLDEST, OPSET_NEWEST);
    return PGY_OK;
}

pgy_status pgy_graph_convert_opset(pgy_graph *g, int64_t version, pgy_opset_report *report,
                                   pgy_error *err)
{
    conversion c = {.version = version};
    pgy_opset_report result = {.to = version};
    pgy_status st = check_versions(g, version, err);
    if (st) return st;
    result.from = pgy_graph_opset(g, "");
    if (report) *report = result;
    st = try_copy(&c, g, err);
    if (!st) st = fill_report(&result, &c, g, err);
    if (!st && c.count) {
        st =
            pgy_error_set(err, PGY_E_UNSUPPORTED, "%s '%s' cannot be expressed in opset %lld: %s%s",
                          c.notes[0].op_type, c.notes[0].node, (long long)version,
                          c.notes[0].reason, c.count > 1 ? " (and other nodes)" : "");
        if (report) *report = result;
        goto done;
    }
    if (!st) st = convert(&c, g, false, err);
    if (st) goto done;
    result.changed_count = count_rewritten(&c, g);
    if (report) *report = result;
done:
    mem_free(c.notes);
    strmap_deinit(&c.noted);
    node_origins_deinit(&c.origins);
    arena_deinit(&c.memory);
    return st;
}
