/* SPDX-License-Identifier: Apache-2.0 */
/* Declared shapes after an edit: forgets those that may be wrong, and infers unknown ones. Shape
 * inference runs on a pgy_graph of the exported model. */
#include <polygraphy/gs_script.h>

#include <string.h>

#include "base/alloc.h"
#include "graph/graph.h"
#include "gs/graph/gs.h"

/* ---- Forgetting ------------------------------------------------------------------------------ */

typedef struct stain {
    strmap names; /* names of tensors that depend on the changed one */
    bool found;   /* the current node depends on one of `names` */
    bool ranks;   /* forget ranks, too, not only dimensions */
} stain;

static pgy_status look(pgy_gs_tensor *t, void *user, pgy_error *err)
{
    stain *s = user;
    (void)err;
    if (strmap_has(&s->names, t->name)) s->found = true;
    return PGY_OK;
}

static pgy_status forget(pgy_gs_tensor *t, bool ranks, pgy_error *err)
{
    pgy_dim dims[PGY_MAX_RANK];
    if (t->kind == PGY_GS_CONSTANT || t->rank < 0) return PGY_OK;
    if (ranks || t->rank > PGY_MAX_RANK) return pgy_gs_set_type(t, t->dtype, -1, NULL, err);
    for (int32_t i = 0; i < t->rank; i++) dims[i] = (pgy_dim){.value = -1};
    return pgy_gs_set_type(t, t->dtype, t->rank, dims, err);
}

static pgy_status forget_graph(pgy_gs_graph *g, void *user, pgy_error *err);

static pgy_status forget_outputs(const pgy_gs_node *n, const stain *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->output_count; i++) st = forget(n->outputs[i], s->ranks, err);
    return st ? st : gs_each_subgraph(n, forget_graph, (void *)s, err);
}

static pgy_status forget_graph(pgy_gs_graph *g, void *user, pgy_error *err)
{
    const stain *s = user;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->input_count; i++) st = forget(g->inputs[i], s->ranks, err);
    for (size_t i = 0; !st && i < g->node_count; i++) st = forget_outputs(g->nodes[i], s, err);
    return st;
}

static pgy_status spread(stain *s, const pgy_gs_node *n, bool *grew, pgy_error *err)
{
    s->found = false;
    pgy_status st = gs_each_dependency(n, look, s, err);
    if (st || !s->found) return st;
    bool fresh = false;
    for (size_t i = 0; i < n->output_count; i++) {
        const char *name = n->outputs[i]->name;
        if (!*name || strmap_has(&s->names, name)) continue;
        if (!strmap_put(&s->names, name, NULL)) return gs_no_memory(err);
        fresh = *grew = true;
    }
    return fresh ? forget_outputs(n, s, err) : PGY_OK;
}

pgy_status pgy_gs_forget_shapes(pgy_gs_graph *g, pgy_gs_tensor *from, bool ranks, pgy_error *err)
{
    stain s = {.ranks = ranks};
    bool grew = true;
    pgy_status st = PGY_OK;
    if (!strmap_put(&s.names, from->name, NULL)) st = gs_no_memory(err);
    while (!st && grew) { /* a second pass finds more only if the nodes are not sorted */
        grew = false;
        for (size_t i = 0; !st && i < g->node_count; i++) st = spread(&s, g->nodes[i], &grew, err);
    }
    strmap_deinit(&s.names);
    return st;
}

/* ---- Inferring ------------------------------------------------------------------------------- */

enum { MAX_NESTED = 8 };

/* Copies the inferred element type of a sequence or optional. */
static pgy_status copy_nested(pgy_gs_tensor *t, const op_value *known, pgy_error *err)
{
    pgy_value_kind kinds[MAX_NESTED];
    pgy_dim dims[PGY_MAX_RANK];
    size_t depth = 0;
    for (; known->sequence && depth < MAX_NESTED; known = known->sequence)
        kinds[depth++] = known->optional ? PGY_VALUE_OPTIONAL : PGY_VALUE_SEQUENCE;
    if (known->sequence || known->dtype == PGY_DTYPE_NONE || known->rank > PGY_MAX_RANK)
        return PGY_OK;
    for (int32_t i = 0; i < known->rank; i++)
        dims[i] = (pgy_dim){.value = dim_is_const(known->dims[i]) ? known->dims[i].value : -1};
    return pgy_gs_set_nested_type(t, kinds, depth, known->dtype, known->rank, dims, err);
}

/* Inference invents names for unknown sizes; these are copied as unknown. */
static pgy_status copy_type(pgy_gs_tensor *t, pgy_value *v, pgy_error *err)
{
    const op_value *known = &box_of(v)->known;
    pgy_dim dims[PGY_MAX_RANK];
    if (known->sequence && t->kind == PGY_GS_VARIABLE && t->dtype == PGY_DTYPE_NONE && t->rank < 0)
        return copy_nested(t, known, err);
    const pgy_dtype dtype = t->dtype ? t->dtype : v->dtype;
    if (t->kind == PGY_GS_CONSTANT || v->kind != PGY_VALUE_TENSOR || v->rank > PGY_MAX_RANK)
        return PGY_OK;
    if (t->rank >= 0 && t->rank != v->rank) return PGY_OK;
    if (v->rank < 0 && dtype == t->dtype) return PGY_OK;
    for (int32_t i = 0; i < v->rank; i++) {
        dims[i] = v->dims[i];
        if (dims[i].text && str_starts_with(dims[i].text, "unk__")) dims[i].text = NULL;
        if (t->rank >= 0 && (t->dims[i].value >= 0 || t->dims[i].text)) dims[i] = t->dims[i];
    }
    return pgy_gs_set_type(t, dtype, v->rank, dims, err);
}

static pgy_status copy_types(pgy_gs_graph *g, const pgy_graph *inferred, pgy_error *err)
{
    pgy_gs_tensor_list list = {0};
    pgy_status st = pgy_gs_tensors(&list, g, false, err);
    for (size_t i = 0; !st && i < list.count; i++) {
        pgy_value *v = pgy_graph_find_value(inferred, list.items[i]->name);
        if (v) st = copy_type(list.items[i], v, err);
    }
    pgy_gs_tensor_list_free(&list);
    for (size_t i = 0; !st && i < g->node_count && i < inferred->node_count; i++) {
        const pgy_gs_node *n = g->nodes[i];
        const pgy_node *m = inferred->nodes[i];
        size_t k = 0;
        for (size_t a = 0; a < n->attribute_count; a++)
            for (size_t x = 0; !st && x < n->attributes[a].graph_count; x++, k++)
                if (k < m->subgraph_count && n->attributes[a].graphs)
                    st = copy_types(n->attributes[a].graphs[x], m->subgraphs[k], err);
    }
    return st;
}

pgy_status pgy_gs_infer_shapes(pgy_gs_graph *g, pgy_error *err)
{
    const pgy_gs_export_options options = {.size = sizeof options, .no_type_check = true};
    pgy_model *model = NULL;
    pgy_graph *inferred = NULL;
    pgy_status st = pgy_gs_export(&model, g, &options, err);
    if (!st) st = pgy_graph_import(&inferred, model, err);
    if (!st) st = pgy_graph_infer_shapes(inferred, NULL, err);
    if (!st) st = copy_types(g, inferred, err);
    pgy_graph_destroy(inferred);
    pgy_model_destroy(model);
    return st;
}
