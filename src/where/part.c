/* SPDX-License-Identifier: Apache-2.0 */
/* Makes parts of models. */
#include "where/part.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/edit.h"
#include "onnx/model.h"

/* Protobuf limits messages to 2 GiB. */
static const uint64_t MAX_BYTES = 2000000000;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static bool append_input(pgy_graph *g, pgy_value *v)
{
    pgy_value **inputs =
        arena_alloc_array(&state_of(g)->memory, g->input_count + 1, sizeof *inputs);
    if (!inputs) return false;
    if (g->input_count) memcpy(inputs, g->inputs, g->input_count * sizeof *inputs);
    inputs[g->input_count++] = v;
    g->inputs = level_of(g)->declared = inputs;
    level_of(g)->declared_count = g->input_count;
    v->is_input = true;
    return true;
}

static pgy_status declare(pgy_value *v, const pgy_tensor *t, pgy_error *err)
{
    const size_t rank = pgy_tensor_rank(t);
    value_box *box = box_of(v);
    dim *dims = arena_alloc_array(&state_of(v->graph)->memory, rank, sizeof *dims);
    if (rank && !dims) return no_memory(err);
    for (size_t d = 0; d < rank; d++) dims[d] = dim_const(pgy_tensor_shape(t)[d]);
    v->kind = PGY_VALUE_TENSOR;
    box->declared = (op_value){.dtype = pgy_tensor_dtype(t), .rank = (int32_t)rank, .dims = dims};
    box->known = box->declared;
    return value_publish(v, err);
}

static pgy_status hand(pgy_graph *g, where_part *p, const char *name, const pgy_tensor *t,
                       pgy_error *err)
{
    str stem = {0};
    pgy_value *from = pgy_graph_find_value(g, name), *to = NULL;
    if (!from || !from->producer || !from->consumer_count) return PGY_OK;
    str_printf(&stem, "handed/%s", name);
    pgy_status st = stem.failed ? no_memory(err) : PGY_OK;
    if (!st) to = value_create_unique(g, str_text(&stem), err);
    if (!st && !to) st = PGY_E_MEMORY;
    if (!st) st = declare(to, t, err);
    if (!st && !append_input(g, to)) st = no_memory(err);
    if (!st) st = value_replace_uses(from, to, err);
    if (!st && (!strvec_push(&p->inputs, to->name) || !strvec_push(&p->origins, name)))
        st = no_memory(err);
    str_deinit(&stem);
    return st;
}

/* Nodes that no wanted tensor needs would still demand their inputs. Nodes are sorted. */
static void mark_needed(bool *needed, const pgy_graph *g)
{
    for (size_t i = 0; i < g->output_count; i++) {
        const pgy_node *n = g->outputs[i]->producer;
        if (n && n->graph == g) needed[n->index] = true;
    }
    for (size_t i = g->node_count; i--;) {
        const pgy_node *n = g->nodes[i];
        const node_box *box = node_box_of(n);
        for (size_t k = 0; needed[i] && k < n->input_count + box->captured_count; k++) {
            const pgy_value *v =
                k < n->input_count ? n->inputs[k] : box->captured[k - n->input_count];
            if (v && v->producer && v->producer->graph == g) needed[v->producer->index] = true;
        }
    }
}

static pgy_status prune(pgy_graph *g, pgy_error *err)
{
    bool *needed = arena_alloc_array(&state_of(g)->memory, g->node_count + 1, sizeof *needed);
    if (!needed) return no_memory(err);
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_status st = node_captures(g->nodes[i], err);
        if (st) return st;
    }
    mark_needed(needed, g);
    const size_t count = g->node_count;
    for (size_t i = 0; i < count; i++)
        if (!needed[i]) node_unlink(g->nodes[i]);
    graph_sweep(g);
    size_t kept = 0;
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i]->consumer_count) g->inputs[kept++] = g->inputs[i];
    g->input_count = level_of(g)->declared_count = kept;
    level_of(g)->declared = g->inputs;
    kept = 0;
    for (size_t i = 0; i < g->initializer_count; i++)
        if (g->initializers[i]->consumer_count) g->initializers[kept++] = g->initializers[i];
    g->initializer_count = kept;
    graph_mark_changed(g);
    return PGY_OK;
}

/* Inputs of the whole model that the part still reads; `handed` of them are the part's own. */
static pgy_status list_inputs(where_part *p, const pgy_graph *g, pgy_error *err)
{
    strvec inputs = p->inputs, origins = p->origins;
    pgy_status st = PGY_OK;
    p->inputs = p->origins = (strvec){0};
    for (size_t i = 0; !st && i < g->input_count; i++) {
        const char *name = g->inputs[i]->name, *origin = name;
        for (size_t k = 0; k < inputs.count; k++)
            if (!strcmp(inputs.items[k], name)) origin = origins.items[k];
        if (!strvec_push(&p->inputs, name) || !strvec_push(&p->origins, origin))
            st = no_memory(err);
    }
    strvec_deinit(&inputs);
    strvec_deinit(&origins);
    return st;
}

static pgy_status edit(where_part *p, pgy_graph *g, const pgy_tensor_map *handed,
                       const char *const *outputs, size_t count, pgy_error *err)
{
    const pgy_output_selection wanted = {
        .size = sizeof wanted, .names = outputs, .name_count = count};
    pgy_status st = pgy_graph_sort(g, err);
    /* unknown types of outputs are no failure: most runtimes infer them */
    if (!st && pgy_graph_infer_shapes(g, NULL, NULL) == PGY_E_CANCELLED)
        st = pgy_error_set(err, PGY_E_CANCELLED, "cancelled");
    if (!st) st = pgy_graph_select_outputs(g, &wanted, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(handed); i++)
        st = hand(g, p, pgy_tensor_map_name(handed, i), pgy_tensor_map_at(handed, i), err);
    if (!st) st = prune(g, err);
    return st ? st : list_inputs(p, g, err);
}

/* Takes the graph. */
static pgy_status finish(where_part *out, pgy_graph *g, const pgy_tensor_map *handed,
                         const char *const *outputs, size_t count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++)
        if (!strvec_push(&out->outputs, outputs[i])) st = no_memory(err);
    if (!st) st = edit(out, g, handed, outputs, count, err);
    if (!st) st = pgy_graph_export(&out->model, g, err);
    pgy_graph_destroy(g);
    if (st) where_part_deinit(out);
    return st;
}

pgy_status where_part_make(where_part *out, pgy_model *whole, const pgy_tensor_map *handed,
                           const char *const *outputs, size_t count, pgy_error *err)
{
    pgy_graph *g = NULL;
    *out = (where_part){0};
    const pgy_status st = pgy_graph_import(&g, whole, err);
    return st ? st : finish(out, g, handed, outputs, count, err);
}

/* ---- Slices ---------------------------------------------------------------------------------- */

static pgy_status add_value(pgy_value **out, pgy_graph *g, const char *name, pgy_dtype dtype,
                            pgy_error *err)
{
    *out = value_create_unique(g, name, err);
    if (!*out) return PGY_E_MEMORY;
    (*out)->kind = PGY_VALUE_TENSOR;
    (*out)->dtype = dtype;
    box_of(*out)->known.dtype = dtype;
    return PGY_OK;
}

static pgy_status add_number(pgy_value **out, pgy_graph *g, const char *name, int64_t number,
                             pgy_error *err)
{
    static const int64_t ONE = 1;
    const pgy_onnx_tensor *stored = NULL;
    pgy_tensor *t = NULL;
    pgy_status st = add_value(out, g, name, PGY_I64, err);
    if (!st) st = pgy_tensor_copy(&t, pgy_view_of(&number, PGY_I64, 1, &ONE), err);
    if (!st) st = weight_create(&stored, g->model, (*out)->name, t, err);
    if (!st) st = value_set_weight(*out, stored, err);
    pgy_tensor_release(t);
    return st;
}

/* Reshape to one axis, then Slice. */
static pgy_status add_slice(pgy_value **out, pgy_graph *g, pgy_value *from, uint64_t begin,
                            uint64_t end, pgy_error *err)
{
    pgy_value *all = NULL, *first = NULL, *last = NULL, *flat = NULL;
    pgy_node *n = NULL;
    pgy_status st = add_number(&all, g, "slice/all", -1, err);
    if (!st) st = add_number(&first, g, "slice/begin", (int64_t)begin, err);
    if (!st) st = add_number(&last, g, "slice/end", (int64_t)end, err);
    if (!st) st = add_value(&flat, g, "slice/flat", from->dtype, err);
    if (!st) st = add_value(out, g, "slice/values", from->dtype, err);
    if (st) return st;
    pgy_value *const shape[] = {from, all}, *const range[] = {flat, first, last};
    st = node_create(&n, g, "Reshape", shape, 2, &flat, 1, err);
    return st ? st : node_create(&n, g, "Slice", range, 3, out, 1, err);
}

pgy_status where_part_make_slice(where_part *out, pgy_model *whole, const pgy_tensor_map *handed,
                                 const char *name, uint64_t begin, uint64_t end, pgy_error *err)
{
    enum { SLICE_WITH_INPUTS = 10 };
    pgy_graph *g = NULL;
    pgy_value *made = NULL;
    *out = (where_part){0};
    pgy_status st = pgy_graph_import(&g, whole, err);
    pgy_value *from = st ? NULL : pgy_graph_find_value(g, name);
    if (!st && (!from || pgy_graph_opset(g, "") < SLICE_WITH_INPUTS))
        st = pgy_error_set(err, PGY_E_UNSUPPORTED, "tensor '%s' cannot be sliced", name);
    if (!st) st = add_slice(&made, g, from, begin, end, err);
    const char *const outputs[] = {made ? made->name : NULL};
    if (!st) return finish(out, g, handed, outputs, 1, err);
    pgy_graph_destroy(g);
    return st;
}

void where_part_deinit(where_part *p)
{
    pgy_model_destroy(p->model);
    pgy_text_free(p->bytes);
    strvec_deinit(&p->inputs);
    strvec_deinit(&p->origins);
    strvec_deinit(&p->outputs);
    *p = (where_part){0};
}

pgy_status where_part_serialize(where_part *p, pgy_error *err)
{
    if (pgy_model_size_bytes(p->model) >= MAX_BYTES) return PGY_OK;
    const pgy_status st = pgy_model_serialize(&p->bytes, &p->size_bytes, p->model, err);
    /* the walk reads all weights once; mapped pages of segments that are done would add up */
    model_forget_pages(p->model);
    return st;
}

pgy_status where_part_feed(pgy_tensor_map **out, const where_part *p, const pgy_tensor_map *first,
                           const pgy_tensor_map *second, const pgy_tensor_map *inputs,
                           pgy_error *err)
{
    const pgy_tensor_map *const from[] = {first, second, inputs};
    pgy_tensor_map *feed = NULL;
    pgy_status st = pgy_tensor_map_create(&feed, err);
    for (size_t i = 0; !st && i < p->inputs.count; i++) {
        const char *name = p->origins.items[i];
        pgy_tensor *t = NULL;
        for (size_t k = 0; !t && k < sizeof from / sizeof *from; k++)
            if (from[k]) t = pgy_tensor_map_find(from[k], name);
        st = t ? pgy_tensor_map_set(feed, p->inputs.items[i], t, err)
               : pgy_error_set(err, PGY_E_UNSUPPORTED, "input '%s' has no data", name);
    }
    if (st)
        pgy_tensor_map_destroy(feed);
    else
        *out = feed;
    return st;
}

bool where_part_fits(const where_part *p, const pgy_tensor_map *feed)
{
    const pgy_onnx_graph *g = pgy_model_proto(p->model)->graph;
    for (size_t i = 0; i < g->input_count; i++) {
        const pgy_tensor *t = pgy_tensor_map_find(feed, g->inputs[i]->name);
        pgy_tensor_info info = {0};
        if (!t) continue;
        if (pgy_onnx_value_info_describe(&info, p->model, g->inputs[i], NULL)) return false;
        if (info.rank < 0) continue;
        if ((size_t)info.rank != pgy_tensor_rank(t)) return false;
        for (int32_t d = 0; d < info.rank; d++)
            if (info.shape[d] >= 0 && info.shape[d] != pgy_tensor_shape(t)[d]) return false;
    }
    return true;
}
