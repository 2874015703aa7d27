/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of two models: the model's own fields and its functions. */
#include "inspect/diff.h"

#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"

/* ---- The model ------------------------------------------------------------------------------- */

static void compare_text(pgy_diff *d, const char *field, const char *a, const char *b)
{
    const pgy_difference e = {.part = PGY_DIFF_MODEL, .change = PGY_DIFF_CHANGED, .field = field};
    diff_add_texts(d, e, a, b);
}

static void compare_opsets(pgy_diff *d, pgy_difference e, pgy_onnx_opset *const *a, size_t a_count,
                           pgy_onnx_opset *const *b, size_t b_count)
{
    const pgy_onnx_model x = {.opset_imports = a, .opset_import_count = a_count};
    const pgy_onnx_model y = {.opset_imports = b, .opset_import_count = b_count};
    e.part = PGY_DIFF_OPSET;
    e.change = PGY_DIFF_CHANGED;
    for (size_t i = 0; i < a_count + b_count; i++) {
        const char *domain = i < a_count ? a[i]->domain : b[i - a_count]->domain;
        const int64_t before = pgy_model_opset(&x, domain), after = pgy_model_opset(&y, domain);
        if (before == after || (i >= a_count && before)) continue;
        e.field = domain[0] ? domain : "ai.onnx";
        e.before = before ? diff_text_int(d, before) : NULL;
        e.after = after ? diff_text_int(d, after) : NULL;
        diff_add(d, e);
    }
}

static void compare_unknown(pgy_diff *d, const pgy_onnx_message *a, const pgy_onnx_message *b)
{
    bool same = a->unknown_count == b->unknown_count;
    for (size_t i = 0; same && i < a->unknown_count; i++)
        same = a->unknown[i].size == b->unknown[i].size &&
               memcmp(a->unknown[i].data, b->unknown[i].data, a->unknown[i].size) == 0;
    if (!same)
        diff_add(d, (pgy_difference){.part = PGY_DIFF_MODEL,
                                     .change = PGY_DIFF_CHANGED,
                                     .field = "fields that are not understood"});
}

static void compare_headers(pgy_diff *d, const pgy_onnx_model *a, const pgy_onnx_model *b)
{
    compare_opsets(d, (pgy_difference){0}, a->opset_imports, a->opset_import_count,
                   b->opset_imports, b->opset_import_count);
    compare_unknown(d, &a->message, &b->message);
    if (d->options.ignore_notes) return;
    compare_text(d, "ir_version", diff_text_int(d, a->ir_version), diff_text_int(d, b->ir_version));
    compare_text(d, "producer_name", a->producer_name, b->producer_name);
    compare_text(d, "producer_version", a->producer_version, b->producer_version);
    compare_text(d, "domain", a->domain, b->domain);
    compare_text(d, "model_version", diff_text_int(d, a->model_version),
                 diff_text_int(d, b->model_version));
    compare_text(d, "doc_string", a->doc_string, b->doc_string);
    diff_add_props(d, (pgy_difference){.part = PGY_DIFF_MODEL, .change = PGY_DIFF_CHANGED},
                   a->metadata_props, a->metadata_prop_count, b->metadata_props,
                   b->metadata_prop_count);
}

/* ---- Functions ------------------------------------------------------------------------------- */

static bool is_same_function(const pgy_onnx_function *f, const pgy_onnx_function *g)
{
    return !strcmp(g->name, f->name) && !strcmp(g->domain, f->domain) &&
           !strcmp(g->overload, f->overload);
}

/* The counterpart of function `at` of `from`. Repeated definitions of one function are matched by
 * their order. */
static const pgy_onnx_function *find_function(const pgy_onnx_model *from, size_t at,
                                              const pgy_onnx_model *m)
{
    const pgy_onnx_function *f = from->functions[at];
    size_t turn = 0;
    for (size_t i = 0; i < at; i++) turn += is_same_function(from->functions[i], f);
    for (size_t i = 0; i < m->function_count; i++)
        if (is_same_function(m->functions[i], f) && !turn--) return m->functions[i];
    return NULL;
}

static pgy_difference function_entry(const pgy_onnx_function *f, pgy_diff_change change)
{
    return (pgy_difference){.part = PGY_DIFF_FUNCTION,
                            .change = change,
                            .path = f->name,
                            .name = f->name,
                            .op_type = f->domain};
}

static const char *join_names(pgy_diff *d, const char *const *items, size_t count)
{
    str s = {0};
    for (size_t i = 0; i < count; i++) str_printf(&s, "%s%s", i ? ", " : "", items[i]);
    return diff_text(d, &s);
}

static void compare_signature(pgy_diff *d, const pgy_onnx_function *a, const pgy_onnx_function *b)
{
    pgy_difference e = function_entry(a, PGY_DIFF_CHANGED);
    e.field = "attributes";
    diff_add_texts(d, e, join_names(d, a->attributes, a->attribute_count),
                   join_names(d, b->attributes, b->attribute_count));
    const pgy_onnx_node x = {.attributes = a->attribute_protos,
                             .attribute_count = a->attribute_proto_count};
    const pgy_onnx_node y = {.attributes = b->attribute_protos,
                             .attribute_count = b->attribute_proto_count};
    for (size_t i = 0; i < x.attribute_count + y.attribute_count; i++) {
        const bool second = i >= x.attribute_count;
        const char *name =
            second ? y.attributes[i - x.attribute_count]->name : x.attributes[i]->name;
        const pgy_onnx_attribute *before = pgy_onnx_node_attribute(&x, name);
        const pgy_onnx_attribute *after = pgy_onnx_node_attribute(&y, name);
        if (second && before) continue;
        e.field = name;
        diff_add_texts(d, e, before ? diff_text_attribute(d, before) : NULL,
                       after ? diff_text_attribute(d, after) : NULL);
    }
    compare_opsets(d, e, a->opset_imports, a->opset_import_count, b->opset_imports,
                   b->opset_import_count);
    if (d->options.ignore_notes) return;
    e.field = "doc_string";
    diff_add_texts(d, e, a->doc_string, b->doc_string);
    diff_add_props(d, e, a->metadata_props, a->metadata_prop_count, b->metadata_props,
                   b->metadata_prop_count);
}

static pgy_status compare_functions(pgy_diff *d, const pgy_onnx_model *a, const pgy_onnx_model *b,
                                    pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < a->function_count; i++) {
        const pgy_onnx_function *f = a->functions[i], *g = find_function(a, i, b);
        if (!g) {
            diff_add(d, function_entry(f, PGY_DIFF_REMOVED));
            continue;
        }
        compare_signature(d, f, g);
        st = diff_functions(d, f, g, err);
    }
    for (size_t i = 0; i < b->function_count; i++)
        if (!find_function(b, i, a)) diff_add(d, function_entry(b->functions[i], PGY_DIFF_ADDED));
    return st;
}

/* ---- Public ---------------------------------------------------------------------------------- */

static pgy_status compare(pgy_diff *d, pgy_error *err)
{
    const pgy_onnx_model *a = pgy_model_proto(d->a), *b = pgy_model_proto(d->b);
    compare_headers(d, a, b);
    pgy_status st = diff_graphs(d, "", a->graph, b->graph, NULL, NULL, 0, err);
    if (!st) st = compare_functions(d, a, b, err);
    return !st && d->failed ? diff_no_memory(err) : st;
}

pgy_status pgy_diff_create(pgy_diff **out, pgy_model *before, pgy_model *after,
                           const pgy_diff_options *options, pgy_error *err)
{
    if (!out || !before || !after || !pgy_model_proto(before) || !pgy_model_proto(after))
        return pgy_error_set(err, PGY_E_ARGUMENT, "both models must not be NULL");
    if (!pgy_model_proto(before)->graph || !pgy_model_proto(after)->graph)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'%.400s' has no graph to compare",
                             pgy_model_path(pgy_model_proto(before)->graph ? after : before));
    pgy_diff_options o = {.size = sizeof o};
    pgy_status st = SIZED_TAKE(pgy_diff_options, &o, options, err);
    if (st) return st;
    if (!(o.atol >= 0) || !(o.rtol >= 0))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "a tolerance is %g; expected a number of at least 0",
                             o.atol >= 0 ? o.rtol : o.atol);
    pgy_diff *d = mem_calloc(1, sizeof *d);
    if (!d) return diff_no_memory(err);
    d->a = pgy_model_retain(before);
    d->b = pgy_model_retain(after);
    d->options = o;
    st = compare(d, err);
    mem_free(d->weights);
    d->weights = NULL;
    if (st)
        pgy_diff_destroy(d);
    else
        *out = d;
    return st;
}

void pgy_diff_destroy(pgy_diff *d)
{
    if (!d) return;
    pgy_model_destroy(d->a);
    pgy_model_destroy(d->b);
    mem_free(d->items);
    mem_free(d->pairs);
    mem_free(d->links);
    arena_deinit(&d->memory);
    mem_free(d);
}

const pgy_diff_summary *pgy_diff_summarize(const pgy_diff *d)
{
    return &d->summary;
}

size_t pgy_diff_count(const pgy_diff *d)
{
    return d->count;
}

const pgy_difference *pgy_diff_at(const pgy_diff *d, size_t i)
{
    return i < d->count ? &d->items[i] : NULL;
}

const char *pgy_diff_part_name(pgy_diff_part part)
{
    static const char *const NAMES[PGY_DIFF_PART_COUNT] = {
        [PGY_DIFF_MODEL] = "model",   [PGY_DIFF_OPSET] = "opset",
        [PGY_DIFF_GRAPH] = "graph",   [PGY_DIFF_FUNCTION] = "function",
        [PGY_DIFF_INPUT] = "input",   [PGY_DIFF_OUTPUT] = "output",
        [PGY_DIFF_NODE] = "node",     [PGY_DIFF_ATTRIBUTE] = "attribute",
        [PGY_DIFF_TENSOR] = "tensor", [PGY_DIFF_WEIGHT] = "weight"};
    return (size_t)part < PGY_DIFF_PART_COUNT ? NAMES[part] : "";
}

const char *pgy_diff_change_name(pgy_diff_change change)
{
    static const char *const NAMES[PGY_DIFF_CHANGE_COUNT] = {[PGY_DIFF_ADDED] = "added",
                                                             [PGY_DIFF_REMOVED] = "removed",
                                                             [PGY_DIFF_RENAMED] = "renamed",
                                                             [PGY_DIFF_CHANGED] = "changed",
                                                             [PGY_DIFF_REWIRED] = "rewired",
                                                             [PGY_DIFF_MOVED] = "moved",
                                                             [PGY_DIFF_STORED] =
                                                                 "stored differently",
                                                             [PGY_DIFF_UNREAD] = "not compared"};
    return (size_t)change < PGY_DIFF_CHANGE_COUNT ? NAMES[change] : "";
}
