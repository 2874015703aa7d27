/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two graphs, or the bodies of two functions: makes and matches the sides, and adds
 * entries for differences in this order: the graph's own texts, inputs and outputs, nodes with
 * their subgraphs, tensors, weights. */
#include <string.h>

#include "base/alloc.h"
#include "inspect/diff.h"
#include "onnx/elements.h"

typedef struct level {
    pgy_diff *d;
    const char *path;
    diff_side a, b;
    size_t depth;
} level;

static bool is_weights_only(const level *l)
{
    return l->d->options.weights_only;
}

static pgy_difference entry_of(const level *l, pgy_diff_part part, const char *name)
{
    return (pgy_difference){
        .part = part, .change = PGY_DIFF_CHANGED, .path = l->path, .name = name};
}

/* ---- Interfaces ------------------------------------------------------------------------------ */

/* Finds the longest increasing subsequence of places; moved[i] is set for the others. Skips
 * places[i] == DIFF_NONE. False: out of memory. */
static bool find_moved(bool *moved, const size_t *places, size_t count)
{
    size_t *tails = mem_calloc(count + 1, sizeof *tails),
           *before = mem_calloc(count + 1, sizeof *tails);
    size_t length = 0;
    bool ok = tails && before;
    for (size_t i = 0; ok && i < count; i++) {
        moved[i] = places[i] != DIFF_NONE;
        if (!moved[i]) continue;
        size_t low = 0, high = length; /* tails[k]: lowest end of a subsequence of length k + 1 */
        while (low < high) {
            const size_t middle = (low + high) / 2;
            if (places[tails[middle]] < places[i])
                low = middle + 1;
            else
                high = middle;
        }
        before[i] = low ? tails[low - 1] : DIFF_NONE;
        tails[low] = i;
        if (low == length) length++;
    }
    for (size_t at = ok && length ? tails[length - 1] : DIFF_NONE; at != DIFF_NONE; at = before[at])
        moved[at] = false;
    mem_free(tails);
    mem_free(before);
    return ok;
}

static void compare_info(const level *l, pgy_difference e, const pgy_onnx_value_info *a,
                         const pgy_onnx_value_info *b)
{
    if (!a && !b) return;
    e.field = "type";
    diff_add_texts(l->d, e, a ? diff_text_type(l->d, a->type) : NULL,
                   b ? diff_text_type(l->d, b->type) : NULL);
    if (!a || !b || l->d->options.ignore_notes) return;
    e.field = "doc_string";
    diff_add_texts(l->d, e, a->doc_string, b->doc_string);
    diff_add_props(l->d, e, a->metadata_props, a->metadata_prop_count, b->metadata_props,
                   b->metadata_prop_count);
}

/* The first position of v in the list that is not taken; a file may list a value twice. */
static size_t place_of(diff_value *const *list, size_t count, const diff_value *v,
                       const bool *taken)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == v && !taken[i]) return i;
    return DIFF_NONE;
}

/* Position of v's counterpart among the inputs or outputs of side b. Inputs: the matched value.
 * Outputs: the value of the same name, else the matched value. */
static size_t counterpart(const level *l, const diff_value *v, bool inputs, const bool *taken)
{
    diff_value *const *list = inputs ? l->b.inputs : l->b.outputs;
    const size_t count = inputs ? l->b.input_count : l->b.output_count;
    const diff_value *named = inputs ? NULL : strmap_get(&l->b.names, v->name);
    size_t at = named ? place_of(list, count, named, taken) : DIFF_NONE;
    if (at == DIFF_NONE && v->pair) at = place_of(list, count, v->pair, taken);
    return at;
}

static const pgy_onnx_value_info *info_at(const diff_side *s, bool inputs, size_t i)
{
    return !s->graph ? NULL : inputs ? s->graph->inputs[i] : s->graph->outputs[i];
}

static void compare_one(const level *l, bool inputs, size_t i, size_t at, bool moved)
{
    const diff_value *v = inputs ? l->a.inputs[i] : l->a.outputs[i];
    const diff_value *w = inputs ? l->b.inputs[at] : l->b.outputs[at];
    pgy_difference e = entry_of(l, inputs ? PGY_DIFF_INPUT : PGY_DIFF_OUTPUT, v->name);
    if (strcmp(v->name, w->name)) {
        e.new_name = w->name;
        e.change = PGY_DIFF_RENAMED;
        diff_add(l->d, e);
    }
    if (moved) {
        e.change = PGY_DIFF_MOVED;
        e.before = diff_text_int(l->d, (int64_t)i);
        e.after = diff_text_int(l->d, (int64_t)at);
        diff_add(l->d, e);
        e.before = e.after = NULL;
    }
    if (!inputs && v->pair != w && v->producer && w->producer &&
        (v->producer->pair || w->producer->pair)) {
        e.change = PGY_DIFF_REWIRED;
        e.field = "producer";
        e.before = diff_text_node(l->d, v->producer->proto);
        e.after = diff_text_node(l->d, w->producer->proto);
        diff_add(l->d, e);
        e.before = e.after = NULL;
    }
    e.change = PGY_DIFF_CHANGED;
    compare_info(l, e, info_at(&l->a, inputs, i), info_at(&l->b, inputs, at));
}

static pgy_status compare_interface(const level *l, bool inputs, pgy_error *err)
{
    const size_t m = inputs ? l->a.input_count : l->a.output_count;
    const size_t n = inputs ? l->b.input_count : l->b.output_count;
    diff_value *const *list_a = inputs ? l->a.inputs : l->a.outputs;
    diff_value *const *list_b = inputs ? l->b.inputs : l->b.outputs;
    size_t *places = mem_calloc(m + 1, sizeof *places);
    bool *taken = mem_calloc(n + 1, 1), *moved = mem_calloc(m + 1, 1);
    bool ok = places && taken && moved;
    for (size_t i = 0; ok && i < m; i++) {
        places[i] = counterpart(l, list_a[i], inputs, taken);
        if (places[i] != DIFF_NONE) taken[places[i]] = true;
    }
    ok = ok && find_moved(moved, places, m);
    pgy_difference e = entry_of(l, inputs ? PGY_DIFF_INPUT : PGY_DIFF_OUTPUT, "");
    for (size_t i = 0; ok && i < m; i++) {
        if (places[i] != DIFF_NONE) {
            compare_one(l, inputs, i, places[i], moved[i]);
            continue;
        }
        e.change = PGY_DIFF_REMOVED;
        e.name = list_a[i]->name;
        diff_add(l->d, e);
    }
    for (size_t i = 0; ok && i < n; i++) {
        if (taken[i]) continue;
        e.change = PGY_DIFF_ADDED;
        e.name = list_b[i]->name;
        diff_add(l->d, e);
    }
    mem_free(places);
    mem_free(taken);
    mem_free(moved);
    return ok ? PGY_OK : diff_no_memory(err);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static void add_whole_node(const level *l, const diff_node *n, pgy_diff_change change)
{
    pgy_difference e = entry_of(l, PGY_DIFF_NODE, diff_text_node(l->d, n->proto));
    e.change = change;
    e.op_type = n->proto->op_type;
    l->d->subject =
        change == PGY_DIFF_ADDED ? (diff_subject){.b = n->proto} : (diff_subject){.a = n->proto};
    diff_add(l->d, e);
    l->d->subject = (diff_subject){0};
}

static pgy_status compare_order(const level *l, pgy_error *err)
{
    const size_t count = l->a.node_count;
    size_t *places = mem_calloc(count + 1, sizeof *places);
    bool *moved = mem_calloc(count + 1, 1);
    bool ok = places && moved;
    for (size_t i = 0; ok && i < count; i++)
        places[i] = l->a.nodes[i].pair ? l->a.nodes[i].pair->index : DIFF_NONE;
    ok = ok && find_moved(moved, places, count);
    for (size_t i = 0; ok && i < count; i++) {
        if (!moved[i]) continue;
        const diff_node *n = &l->a.nodes[i];
        pgy_difference e = entry_of(l, PGY_DIFF_NODE, diff_text_node(l->d, n->proto));
        e.change = PGY_DIFF_MOVED;
        e.op_type = n->proto->op_type;
        e.before = diff_text_int(l->d, (int64_t)n->index);
        e.after = diff_text_int(l->d, (int64_t)n->pair->index);
        l->d->subject = (diff_subject){.a = n->proto, .b = n->pair->proto};
        diff_add(l->d, e);
        l->d->subject = (diff_subject){0};
    }
    mem_free(places);
    mem_free(moved);
    return ok ? PGY_OK : diff_no_memory(err);
}

static pgy_status compare_nodes(level *l, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < l->a.node_count; i++) {
        const diff_node *n = &l->a.nodes[i];
        if (n->pair)
            st = diff_nodes(l->d, l->path, n, n->pair, &l->a, &l->b, l->depth, err);
        else if (!is_weights_only(l))
            add_whole_node(l, n, PGY_DIFF_REMOVED);
    }
    for (size_t i = 0; !st && i < l->b.node_count && !is_weights_only(l); i++)
        if (!l->b.nodes[i].pair) add_whole_node(l, &l->b.nodes[i], PGY_DIFF_ADDED);
    if (!st && l->d->options.order && !is_weights_only(l)) st = compare_order(l, err);
    return st;
}

/* ---- Tensors and weights --------------------------------------------------------------------- */

static void compare_tensors(const level *l)
{
    for (size_t i = 0; i < l->a.value_count; i++) {
        const diff_value *v = &l->a.values[i], *w = v->pair;
        if (!w || diff_is_weight(v) || v->is_input || v->is_output) continue;
        pgy_difference e = entry_of(l, PGY_DIFF_TENSOR, v->name);
        if (strcmp(v->name, w->name)) e.new_name = w->name;
        l->d->subject = (diff_subject){.value_a = v, .value_b = w};
        if (e.new_name && !l->d->options.ignore_names) {
            e.change = PGY_DIFF_RENAMED;
            diff_add(l->d, e);
        }
        e.change = PGY_DIFF_CHANGED;
        if (!w->is_output && !w->is_input) compare_info(l, e, v->info, w->info);
        l->d->subject = (diff_subject){0};
    }
}

static const pgy_onnx_quant_annotation *annotation(const pgy_onnx_graph *g, const char *name)
{
    for (size_t i = 0; i < g->quantization_annotation_count; i++)
        if (strcmp(g->quantization_annotations[i]->tensor_name, name) == 0)
            return g->quantization_annotations[i];
    return NULL;
}

static void compare_annotations(const level *l)
{
    const pgy_onnx_graph *a = l->a.graph, *b = l->b.graph;
    pgy_onnx_string_entry *const *none = NULL;
    for (size_t i = 0; i < a->quantization_annotation_count; i++) {
        const pgy_onnx_quant_annotation *x = a->quantization_annotations[i];
        const diff_value *v = strmap_get(&l->a.names, x->tensor_name);
        if (annotation(a, x->tensor_name) != x) continue;
        const pgy_onnx_quant_annotation *y =
            annotation(b, v && v->pair ? v->pair->name : x->tensor_name);
        diff_add_props(l->d, entry_of(l, PGY_DIFF_TENSOR, x->tensor_name),
                       x->quant_parameter_tensor_names, x->quant_parameter_tensor_name_count,
                       y ? y->quant_parameter_tensor_names : none,
                       y ? y->quant_parameter_tensor_name_count : 0);
    }
    for (size_t i = 0; i < b->quantization_annotation_count; i++) {
        const pgy_onnx_quant_annotation *y = b->quantization_annotations[i];
        const diff_value *w = strmap_get(&l->b.names, y->tensor_name);
        if (annotation(a, w && w->pair ? w->pair->name : y->tensor_name)) continue;
        diff_add_props(l->d, entry_of(l, PGY_DIFF_TENSOR, y->tensor_name), none, 0,
                       y->quant_parameter_tensor_names, y->quant_parameter_tensor_name_count);
    }
}

static void count_weight(pgy_diff *d, const diff_value *v, bool after)
{
    const pgy_onnx_tensor *t = v->weight ? v->weight : v->sparse->values;
    size_t size = 0;
    if (t && !tensor_needs_bytes(&size, t, NULL))
        *(after ? &d->summary.weight_bytes_b : &d->summary.weight_bytes_a) += size;
    (*(after ? &d->summary.weights_b : &d->summary.weights_a))++;
}

static void add_whole_weight(const level *l, const diff_value *v, pgy_diff_change change)
{
    pgy_difference e = entry_of(l, PGY_DIFF_WEIGHT, v->name);
    const pgy_onnx_tensor *t = v->weight ? v->weight : v->sparse->values;
    const char *text = t ? diff_text_tensor(l->d, t) : NULL;
    e.change = change;
    *(change == PGY_DIFF_ADDED ? &e.after : &e.before) = text;
    l->d->subject =
        change == PGY_DIFF_ADDED ? (diff_subject){.value_b = v} : (diff_subject){.value_a = v};
    diff_add(l->d, e);
    l->d->subject = (diff_subject){0};
}

static void compare_weights(const level *l)
{
    for (size_t i = 0; i < l->a.value_count; i++) {
        const diff_value *v = &l->a.values[i];
        if (!diff_is_weight(v)) continue;
        count_weight(l->d, v, false);
        if (v->pair && diff_is_weight(v->pair))
            diff_add_weight(l->d, l->path, v, v->pair);
        else
            add_whole_weight(l, v, PGY_DIFF_REMOVED);
    }
    for (size_t i = 0; i < l->b.value_count; i++) {
        const diff_value *w = &l->b.values[i];
        if (!diff_is_weight(w)) continue;
        count_weight(l->d, w, true);
        if (!w->pair || !diff_is_weight(w->pair)) add_whole_weight(l, w, PGY_DIFF_ADDED);
    }
    l->d->subject = (diff_subject){0};
}

/* ---- Levels ---------------------------------------------------------------------------------- */

static void count_nodes(level *l)
{
    pgy_diff_summary *s = &l->d->summary;
    s->nodes_a += l->a.node_count;
    s->nodes_b += l->b.node_count;
    for (size_t i = 0; i < l->a.node_count; i++) s->nodes_matched += l->a.nodes[i].pair != NULL;
}

static pgy_status compare_level(level *l, pgy_error *err)
{
    pgy_status st = diff_match(l->d, &l->a, &l->b, err);
    if (!st) count_nodes(l);
    if (!st) diff_link_pairs(l->d, &l->a);
    if (!st && !is_weights_only(l)) st = compare_interface(l, true, err);
    if (!st && !is_weights_only(l)) st = compare_interface(l, false, err);
    if (!st) st = compare_nodes(l, err);
    if (!st && !is_weights_only(l)) compare_tensors(l);
    if (!st && !is_weights_only(l) && l->a.graph) compare_annotations(l);
    if (!st) compare_weights(l);
    if (!st) st = diff_weights(l->d, err);
    l->d->subject = (diff_subject){0};
    if (!st && l->d->failed) st = diff_no_memory(err);
    return st;
}

pgy_status diff_graphs(pgy_diff *d, const char *path, const pgy_onnx_graph *a,
                       const pgy_onnx_graph *b, const diff_side *outer_a, const diff_side *outer_b,
                       size_t depth, pgy_error *err)
{
    arena memory = {0};
    level l = {.d = d, .path = path, .depth = depth};
    pgy_difference e = {.part = PGY_DIFF_GRAPH, .change = PGY_DIFF_CHANGED, .path = path};
    if (!d->options.ignore_notes) {
        e.field = "name";
        diff_add_texts(d, e, a->name, b->name);
        e.field = "doc_string";
        diff_add_texts(d, e, a->doc_string, b->doc_string);
        diff_add_props(d, e, a->metadata_props, a->metadata_prop_count, b->metadata_props,
                       b->metadata_prop_count);
    }
    pgy_status st = diff_side_init(&l.a, a, NULL, outer_a, &memory, err);
    if (!st) st = diff_side_init(&l.b, b, NULL, outer_b, &memory, err);
    if (!st) st = compare_level(&l, err);
    diff_side_deinit(&l.a);
    diff_side_deinit(&l.b);
    arena_deinit(&memory);
    return st;
}

pgy_status diff_functions(pgy_diff *d, const pgy_onnx_function *a, const pgy_onnx_function *b,
                          pgy_error *err)
{
    arena memory = {0};
    level l = {.d = d, .path = a->name, .depth = 1};
    pgy_status st = diff_side_init(&l.a, NULL, a, NULL, &memory, err);
    if (!st) st = diff_side_init(&l.b, NULL, b, NULL, &memory, err);
    if (!st) st = compare_level(&l, err);
    diff_side_deinit(&l.a);
    diff_side_deinit(&l.b);
    arena_deinit(&memory);
    return st;
}
