/* SPDX-License-Identifier: Apache-2.0 */
#include "debug/candidate.h"

#include <polygraphy/record.h>

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/str.h"

static const char LOG_PATH[] = "tools/debug/subtool/reduce.py";

/* Tensors of one graph, each once. */
typedef struct tensor_set {
    pgy_gs_tensor **items;
    size_t count, capacity;
} tensor_set;

static pgy_status add(tensor_set *s, pgy_gs_tensor *t, pgy_error *err)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i] == t) return PGY_OK;
    if (s->count == s->capacity) {
        const size_t capacity = s->capacity ? 2 * s->capacity : 8;
        pgy_gs_tensor **items = mem_realloc(s->items, capacity * sizeof(pgy_gs_tensor *));
        if (!items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a candidate");
        s->items = items;
        s->capacity = capacity;
    }
    s->items[s->count++] = t;
    return PGY_OK;
}

static bool is_variable(const pgy_gs_tensor *t)
{
    return t->kind == PGY_GS_VARIABLE && !pgy_gs_is_omitted(t);
}

static void log_border(const char *which, const tensor_set *border)
{
    str text = {0};
    for (size_t i = 0; i < border->count; i++) {
        char *tensor = pgy_gs_tensor_text(border->items[i]);
        str_printf(&text, "%s%s", i ? ", " : "", tensor ? tensor : border->items[i]->name);
        pgy_text_free(tensor);
    }
    LOG(INFO, "Marking model %s: [%s]", which, str_text(&text));
    str_deinit(&text);
}

void candidate_log_kept(const pgy_gs_graph *g, bool outputs)
{
    const tensor_set border = outputs ? (tensor_set){.items = g->outputs, .count = g->output_count}
                                      : (tensor_set){.items = g->inputs, .count = g->input_count};
    log_border(outputs ? "outputs" : "inputs", &border);
}

/* ---- Recorded values ------------------------------------------------------------------------ */

static pgy_status record_default(pgy_tensor_map **out, pgy_model *model, const char *const *names,
                                 size_t count, pgy_error *err)
{
    const pgy_record_options o = {.size = sizeof o, .names = names, .name_count = count};
    return pgy_record(out, model, &o, err);
}

/* The values of inputs need no inference. */
static bool needs_inference(const tensor_set *wanted, pgy_model *model)
{
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    for (size_t i = 0; i < wanted->count; i++) {
        bool found = false;
        for (size_t k = 0; k < g->input_count && !found; k++)
            found = strcmp(g->inputs[k]->name, wanted->items[i]->name) == 0;
        if (!found) return true;
    }
    return false;
}

static pgy_status run_recording(pgy_tensor_map **out, const tensor_set *wanted,
                                const candidate_source *source, pgy_error *err)
{
    const pgy_debug_reduce_options *o = source->options;
    const char **names = mem_calloc(wanted->count + 1, sizeof *names);
    if (!names) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a candidate");
    for (size_t i = 0; i < wanted->count; i++) names[i] = wanted->items[i]->name;
    if (needs_inference(wanted, source->model))
        LOG(INFO, "Running inference with ONNX-Runtime to determine metadata for intermediate "
                  "tensors.\nThis will cause intermediate models to have static shapes.");
    pgy_log_indent(1);
    const pgy_status st = o->record
                              ? o->record(out, source->model, names, wanted->count, o->user, err)
                              : record_default(out, source->model, names, wanted->count, err);
    pgy_log_indent(-1);
    mem_free(names);
    return st;
}

static uint64_t size_of(const pgy_tensor_map *m)
{
    uint64_t size = 0;
    for (size_t i = 0; i < pgy_tensor_map_count(m); i++)
        size += pgy_tensor_size_bytes(pgy_tensor_map_at(m, i));
    return size;
}

/* Adds what was just recorded; takes it over. Too many values are forgotten, except the last. */
static pgy_status remember(pgy_tensor_map **known, pgy_tensor_map *recorded, pgy_error *err)
{
    const uint64_t limit = 256 << 20;
    pgy_status st = PGY_OK;
    if (!*known || size_of(*known) + size_of(recorded) > limit) {
        pgy_tensor_map_destroy(*known);
        *known = recorded;
        return PGY_OK;
    }
    for (size_t i = 0; !st && i < pgy_tensor_map_count(recorded); i++)
        st = pgy_tensor_map_set(*known, pgy_tensor_map_name(recorded, i),
                                pgy_tensor_map_at(recorded, i), err);
    pgy_tensor_map_destroy(recorded);
    return st;
}

/* *out is borrowed from `source`. */
static pgy_status record(const pgy_tensor_map **out, const tensor_set *wanted,
                         const candidate_source *source, pgy_error *err)
{
    pgy_tensor_map *recorded = NULL;
    bool all = *source->known != NULL;
    for (size_t i = 0; all && i < wanted->count; i++)
        all = pgy_tensor_map_find(*source->known, wanted->items[i]->name) != NULL;
    pgy_status st = all ? PGY_OK : run_recording(&recorded, wanted, source, err);
    if (!st && recorded) st = remember(source->known, recorded, err);
    *out = *source->known;
    return st;
}

static pgy_status take_type(pgy_gs_tensor *t, const pgy_tensor_map *values, pgy_error *err)
{
    const pgy_tensor *v = pgy_tensor_map_find(values, t->name);
    pgy_dim dims[PGY_MAX_RANK];
    if (!v) return PGY_OK;
    const size_t rank = pgy_tensor_rank(v);
    for (size_t d = 0; d < rank; d++) dims[d] = (pgy_dim){pgy_tensor_shape(v)[d], NULL};
    return pgy_gs_set_type(t, pgy_tensor_dtype(v), (int32_t)rank, dims, err);
}

/* Inputs and outputs of a model need a type, and inputs a shape. */
static pgy_status complete_types(const tensor_set *border, const candidate_source *source,
                                 pgy_error *err)
{
    tensor_set unknown = {0};
    const pgy_tensor_map *values = NULL;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < border->count; i++) {
        pgy_gs_tensor *t = border->items[i];
        if (t->type_kind == PGY_VALUE_TENSOR &&
            (!t->dtype || t->rank < 0 || source->options->record_types))
            st = add(&unknown, t, err);
    }
    if (!st && unknown.count) st = record(&values, &unknown, source, err);
    for (size_t i = 0; !st && i < unknown.count; i++) st = take_type(unknown.items[i], values, err);
    mem_free(unknown.items);
    return st;
}

/* ---- Branches ------------------------------------------------------------------------------- */

static void warn_of_branches(const candidate_source *source)
{
    if (!*source->warned)
        LOG(WARNING,
            "This model includes multiple branches/paths. In order to continue reducing, one "
            "branch needs to be folded away.\nPlease ensure that you have provided a data loader "
            "argument directly to `debug reduce` (i.e. prior to `--check`) if your `--check` "
            "command is using a non-default data loader.\nNot doing so may result in false "
            "negatives!");
    *source->warned = true;
}

static bool is_input(const pgy_gs_graph *g, const pgy_gs_tensor *t)
{
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i] == t) return true;
    return false;
}

static pgy_status add_undefined(tensor_set *out, const pgy_gs_graph *g,
                                const pgy_gs_tensor_list *list, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < list->count; i++) {
        pgy_gs_tensor *t = list->items[i];
        if (is_variable(t) && !t->producer_count && !is_input(g, t)) st = add(out, t, err);
    }
    return st;
}

static pgy_status add_captured(tensor_set *out, const pgy_gs_graph *g, const pgy_gs_node *n,
                               pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < n->attribute_count; i++)
        for (size_t k = 0; !st && k < n->attributes[i].graph_count; k++) {
            pgy_gs_tensor_list captured = {0};
            st = pgy_gs_foreign_tensors(&captured, n->attributes[i].graphs[k], err);
            if (!st) st = add_undefined(out, g, &captured, err);
            pgy_gs_tensor_list_free(&captured);
        }
    return st;
}

/* Tensors that nodes and their subgraphs read, but that have neither a producer nor a value. */
static pgy_status find_undefined(tensor_set *out, const pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_tensor_list all = {0};
    pgy_status st = pgy_gs_tensors(&all, g, false, err);
    if (!st) st = add_undefined(out, g, &all, err);
    for (size_t i = 0; !st && i < g->node_count; i++) st = add_captured(out, g, g->nodes[i], err);
    pgy_gs_tensor_list_free(&all);
    return st;
}

static pgy_status freeze(const tensor_set *undefined, const pgy_tensor_map *values, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < undefined->count; i++) {
        pgy_gs_tensor *t = undefined->items[i];
        pgy_tensor *v = pgy_tensor_map_find(values, t->name);
        char *text = pgy_gs_tensor_text(t);
        if (!v)
            st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                               "tensor '%s' was not recorded, so the branch that makes it cannot "
                               "become a constant",
                               t->name);
        LOG(INFO, "Freezing tensor: %s to eliminate branches.", text ? text : t->name);
        if (!st) st = pgy_gs_to_constant(t, v, err);
        pgy_text_free(text);
    }
    return st;
}

static pgy_status clean(pgy_gs_graph *g, pgy_error *err)
{
    const pgy_gs_cleanup_options o = {
        .size = sizeof o, .remove_unused_graph_inputs = true, .keep_subgraphs = true};
    return pgy_gs_cleanup(g, &o, err);
}

static pgy_status freeze_branches(pgy_gs_graph *g, const candidate_source *source, pgy_error *err)
{
    tensor_set undefined = {0};
    const pgy_tensor_map *values = NULL;
    pgy_status st = find_undefined(&undefined, g, err);
    if (!st && undefined.count) {
        const pgy_gs_fold_options o = pgy_gs_fold_options_default();
        warn_of_branches(source);
        st = record(&values, &undefined, source, err);
        if (!st) st = freeze(&undefined, values, err);
        if (!st) st = pgy_gs_fold_constants(g, &o, err);
        if (!st) st = clean(g, err);
    }
    mem_free(undefined.items);
    return st;
}

/* ---- Cutting -------------------------------------------------------------------------------- */

static pgy_status end_at(pgy_gs_graph *g, size_t i, const candidate_source *source, pgy_error *err)
{
    const pgy_gs_node *n = g->nodes[i];
    tensor_set border = {0};
    pgy_status st = PGY_OK;
    for (size_t k = 0; !st && k < n->output_count; k++)
        if (is_variable(n->outputs[k])) st = add(&border, n->outputs[k], err);
    if (!st) {
        log_border("outputs", &border);
        st = complete_types(&border, source, err);
    }
    if (!st) st = pgy_gs_set_graph_outputs(g, border.items, border.count, err);
    if (!st) st = clean(g, err);
    mem_free(border.items);
    return st;
}

pgy_status candidate_end_at(pgy_gs_graph **out, const pgy_gs_graph *whole, size_t i,
                            const candidate_source *source, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_copy(&g, whole, err);
    if (!st) st = end_at(g, i, source, err);
    if (st)
        pgy_gs_destroy(g);
    else
        *out = g;
    return st;
}

/* The producers of the new inputs lose their other outputs as outputs of the model, too: they would
 * need the inputs that were cut off. */
static pgy_status drop_outputs_beside(pgy_gs_graph *g, const tensor_set *border, pgy_error *err)
{
    tensor_set kept = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->output_count; i++) {
        pgy_gs_tensor *t = g->outputs[i];
        bool beside = false, is_border = false;
        for (size_t k = 0; k < border->count; k++) {
            is_border |= border->items[k] == t;
            beside |= t->producer_count && border->items[k]->producer_count &&
                      border->items[k]->producers[0] == t->producers[0];
        }
        if (!beside || is_border) st = add(&kept, t, err);
    }
    if (!st && kept.count < g->output_count)
        st = pgy_gs_set_graph_outputs(g, kept.items, kept.count, err);
    mem_free(kept.items);
    return st;
}

static pgy_status find_border(tensor_set *out, const pgy_gs_graph *g, const pgy_gs_node *n,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t k = 0; !st && k < n->input_count; k++) {
        pgy_gs_tensor *t =
            is_variable(n->inputs[k]) ? pgy_gs_find_tensor(g, n->inputs[k]->name) : NULL;
        if (t && is_variable(t)) st = add(out, t, err);
    }
    return st;
}

static pgy_status begin_at(pgy_gs_graph *g, const pgy_gs_node *n, const candidate_source *source,
                           pgy_error *err)
{
    tensor_set border = {0};
    pgy_status st = find_border(&border, g, n, err);
    for (size_t i = 0; !st && !border.count && i < g->input_count; i++)
        st = add(&border, g->inputs[i], err);
    if (!st) {
        log_border("inputs", &border);
        st = complete_types(&border, source, err);
    }
    if (!st) st = drop_outputs_beside(g, &border, err);
    for (size_t i = 0; !st && i < border.count; i++) pgy_gs_clear_producers(border.items[i]);
    if (!st) st = pgy_gs_set_graph_inputs(g, border.items, border.count, err);
    if (!st) st = clean(g, err);
    if (!st) st = freeze_branches(g, source, err);
    mem_free(border.items);
    return st;
}

pgy_status candidate_begin_at(pgy_gs_graph **out, const pgy_gs_graph *whole, const pgy_gs_graph *of,
                              size_t i, const candidate_source *source, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_copy(&g, whole, err);
    if (!st) st = begin_at(g, of->nodes[i], source, err);
    if (st)
        pgy_gs_destroy(g);
    else
        *out = g;
    return st;
}
