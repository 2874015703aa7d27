/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the tensors of a graph that is being imported: from names, weights, and declarations. */
#include "gs/io/import.h"

#include <string.h>

#include "base/alloc.h"
#include "gs/graph/type.h"

/* ---- Tensors --------------------------------------------------------------------------------- */

static pgy_gs_tensor *find_local(const import_scope *l, const char *name, uint64_t hash)
{
    const gs_named *item = gs_names_find(&l->local, name, hash);
    return item ? item->owner : NULL;
}

/* Adds a tensor to the names of its graph. The table refers to entries of the document's index, but
 * does not change their links, because its names are unique. */
static pgy_status add_local(import_scope *l, pgy_gs_tensor *t)
{
    if (!gs_names_put(&l->local, &tensor_box(t)->named)) return gs_no_memory(l->err);
    tensor_box(t)->home = l->g;
    return PGY_OK;
}

static pgy_status make_local(pgy_gs_tensor **out, import_scope *l, const char *name)
{
    pgy_gs_tensor *t = NULL;
    pgy_status st = gs_tensor_create(&t, l->d, name, l->err);
    if (!st) st = add_local(l, t);
    if (!st) *out = t;
    return st;
}

pgy_status import_local_tensor(pgy_gs_tensor **out, import_scope *l, const char *name)
{
    *out = find_local(l, name, gs_hash(name));
    return *out ? PGY_OK : make_local(out, l, name);
}

pgy_status import_omitted(pgy_gs_tensor **out, import_scope *l)
{
    const pgy_status st = gs_tensor_create(out, l->d, "", l->err);
    if (!st) tensor_box(*out)->home = l->g;
    return st;
}

pgy_status import_read_tensor(pgy_gs_tensor **out, import_scope *l, const char *name)
{
    const uint64_t hash = gs_hash(name);
    for (const import_scope *at = l; at; at = at->up)
        if ((*out = find_local(at, name, hash))) return PGY_OK;
    return make_local(out, l, name);
}

static pgy_status note_declared(import_scope *l, pgy_gs_tensor *t)
{
    const pgy_status st =
        gs_grow(l->d, &l->declared, l->declared_count, &l->declared_capacity, l->err);
    if (!st) l->declared[l->declared_count++] = t;
    return st;
}

/* ---- Weights and declarations ---------------------------------------------------------------- */

static pgy_status import_weight(import_scope *l, const char *name, const pgy_onnx_tensor *dense,
                                const pgy_onnx_sparse_tensor *sparse)
{
    pgy_gs_tensor *t = NULL;
    if (!*name || find_local(l, name, gs_hash(name))) return PGY_OK;
    pgy_status st = make_local(&t, l, name);
    if (!st) st = note_declared(l, t);
    if (st) return st;
    t->kind = PGY_GS_CONSTANT;
    t->stored = dense;
    t->sparse = sparse;
    return gs_type_of_stored(t, l->err);
}

pgy_status import_weights(import_scope *l, const pgy_onnx_graph *from)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < from->initializer_count && !st; i++)
        st = import_weight(l, from->initializers[i]->name, from->initializers[i], NULL);
    for (size_t i = 0; i < from->sparse_initializer_count && !st; i++) {
        const pgy_onnx_sparse_tensor *s = from->sparse_initializers[i];
        if (s->values) st = import_weight(l, s->values->name, NULL, s);
    }
    return st;
}

pgy_status import_interface(import_scope *l, pgy_gs_tensor ***items, size_t *count,
                            pgy_onnx_value_info *const *infos, size_t info_count, bool are_inputs)
{
    pgy_gs_tensor **list = gs_alloc(l->d, info_count, sizeof(*list));
    size_t n = 0;
    if (!list) return gs_no_memory(l->err);
    for (size_t i = 0; i < info_count; i++) {
        pgy_gs_tensor *t = NULL;
        pgy_status st = import_local_tensor(&t, l, infos[i]->name);
        if (!st) st = gs_type_fill(t, infos[i], l->err);
        if (st) return st;
        const bool weight = are_inputs && t->kind == PGY_GS_CONSTANT;
        if (!t->info && (!weight || gs_weights_are_inputs(l->d))) t->info = infos[i];
        if (weight) continue;
        list[n++] = t;
    }
    *items = list;
    *count = n;
    return PGY_OK;
}

/* Creates the tensor of a value info. If an enclosing graph has a tensor of that name, the new one
 * is not found by name, so that it does not hide the outer one. */
static pgy_status make_declared(pgy_gs_tensor **out, import_scope *l, const char *name)
{
    const uint64_t hash = gs_hash(name);
    const import_scope *at = l->up;
    while (at && !find_local(at, name, hash)) at = at->up;
    if (!at) return make_local(out, l, name);
    const pgy_status st = gs_tensor_create(out, l->d, name, l->err);
    if (!st) tensor_box(*out)->home = l->g;
    return st;
}

pgy_status import_value_infos(import_scope *l, pgy_onnx_value_info *const *infos, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const pgy_onnx_value_info *info = infos[i];
        pgy_gs_tensor *t = find_local(l, info->name, gs_hash(info->name));
        pgy_status st = PGY_OK;
        if (!*info->name) continue;
        if (!t) {
            st = make_declared(&t, l, info->name);
            if (!st) st = note_declared(l, t);
        }
        if (!st) st = gs_type_fill(t, info, l->err);
        if (st) return st;
        if (!t->info) t->info = info;
        if (t->kind == PGY_GS_VARIABLE && t->info != info && !gs_type_agrees(t, t->info))
            tensor_box(t)->info_changed = true;
    }
    return PGY_OK;
}

pgy_status import_keep_unused(import_scope *l)
{
    gs_graph *box = graph_box(l->g);
    const uint64_t epoch = ++l->d->epoch;
    for (size_t i = 0; i < l->g->output_count; i++) tensor_box(l->g->outputs[i])->mark = epoch;
    box->kept = l->declared;
    for (size_t i = 0; i < l->declared_count; i++) {
        pgy_gs_tensor *t = l->declared[i];
        const bool used = t->producer_count || t->consumer_count || tensor_box(t)->mark == epoch;
        if (used) continue;
        box->kept[box->kept_count++] = t;
        gs_names_remove(&l->d->tensor_names, &tensor_box(t)->named);
    }
    return PGY_OK;
}
