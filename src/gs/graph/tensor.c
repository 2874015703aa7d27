/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and renames tensors, and turns variables into constants and back; nodes stay connected. A
 * constant refers to the TensorProto that an export writes; its elements are read only on request.
 */
#include <string.h>

#include "base/pytext.h"
#include "gs/graph/document.h"
#include "gs/graph/sparse.h"
#include "gs/graph/type.h"

enum { MAX_NESTED = 16 };

pgy_status gs_tensor_create(pgy_gs_tensor **out, gs_document *d, const char *name, pgy_error *err)
{
    gs_tensor *box = gs_alloc(d, 1, sizeof(*box));
    if (!box) return gs_no_memory(err);
    pgy_gs_tensor *t = &box->tensor;
    t->name = name;
    t->rank = -1;
    t->internal = box;
    box->document = d;
    box->home = d->top;
    box->serial = d->serial++;
    box->named = (gs_named){.name = name, .hash = gs_hash(name), .owner = t};
    if (!gs_names_add(&d->tensor_names, &box->named)) return gs_no_memory(err);
    *out = t;
    return PGY_OK;
}

void gs_tensor_take(pgy_gs_tensor *t, const pgy_gs_tensor *from)
{
    t->kind = from->kind;
    t->type_kind = from->type_kind;
    t->dtype = from->dtype;
    t->rank = from->rank;
    t->dims = from->dims;
    t->stored = from->stored;
    t->sparse = from->sparse;
}

/* Copies dims with their names. */
static pgy_status set_shape(pgy_gs_tensor *t, pgy_dtype dtype, int32_t rank, const pgy_dim *dims,
                            pgy_error *err)
{
    gs_document *d = tensor_box(t)->document;
    if (pgy_dtype_describe(dtype)->dtype != dtype)
        return pgy_error_set(err, PGY_E_ARGUMENT, "tensor '%.200s': unknown element type %d",
                             t->name, (int)dtype);
    if (rank > 0 && !dims)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "tensor '%.200s': the dims of a shape of rank %d must not be NULL",
                             t->name, rank);
    const size_t count = rank > 0 ? (size_t)rank : 0;
    pgy_dim *copies = gs_alloc(d, count, sizeof(*copies));
    if (!copies) return gs_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *text = dims[i].value < 0 && dims[i].text && *dims[i].text ? dims[i].text : NULL;
        copies[i] = (pgy_dim){dims[i].value < 0 ? -1 : dims[i].value, NULL};
        const pgy_status st = text ? gs_keep_text(&copies[i].text, d, text, err) : PGY_OK;
        if (st) return st;
    }
    t->rank = rank < 0 ? -1 : rank;
    t->dims = rank < 0 ? NULL : copies;
    return PGY_OK;
}

static pgy_status no_argument(pgy_error *err, const char *what)
{
    return pgy_error_set(err, PGY_E_ARGUMENT, "a tensor needs a graph and %s", what);
}

/* Creates a tensor outside the document's index of names, so that a failure in the caller leaves
 * nothing behind. */
static pgy_status create_named(pgy_gs_tensor **out, pgy_gs_graph *g, const char *name,
                               pgy_error *err)
{
    gs_document *d = graph_box(g)->document;
    const char *kept = NULL;
    pgy_status st = gs_keep_text(&kept, d, name, err);
    if (!st) st = gs_tensor_create(out, d, kept, err);
    if (!st) tensor_box(*out)->home = g;
    return st;
}

pgy_status pgy_gs_variable(pgy_gs_tensor **out, pgy_gs_graph *g, const char *name, pgy_dtype dtype,
                           int32_t rank, const pgy_dim *dims, pgy_error *err)
{
    pgy_gs_tensor *t = NULL;
    if (!out || !g || !name) return no_argument(err, "a name");
    pgy_status st = create_named(&t, g, name, err);
    if (!st) st = set_shape(t, dtype, rank, dims, err);
    if (st) return st;
    t->dtype = dtype;
    *out = t;
    return PGY_OK;
}

pgy_status gs_set_stored(pgy_gs_tensor *t, const pgy_onnx_tensor *stored, pgy_error *err)
{
    const pgy_gs_tensor before = *t;
    t->kind = PGY_GS_CONSTANT;
    t->stored = stored;
    t->sparse = NULL;
    const pgy_status st = gs_type_of_stored(t, err);
    if (st) {
        *t = before;
        return st;
    }
    tensor_box(t)->info_changed = true;
    return PGY_OK;
}

pgy_status pgy_gs_constant(pgy_gs_tensor **out, pgy_gs_graph *g, const char *name,
                           pgy_tensor *values, pgy_error *err)
{
    pgy_gs_tensor *t = NULL;
    pgy_onnx_tensor *stored = NULL;
    if (!out || !g || !name || !values) return no_argument(err, "a name and values");
    pgy_status st = pgy_model_tensor(&stored, graph_box(g)->document->store, name, values, err);
    if (!st) st = create_named(&t, g, name, err);
    if (!st) st = gs_set_stored(t, stored, err);
    if (!st) *out = t;
    return st;
}

pgy_status pgy_gs_omitted(pgy_gs_tensor **out, pgy_gs_graph *g, pgy_error *err)
{
    if (!out || !g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    return create_named(out, g, "", err);
}

bool pgy_gs_is_omitted(const pgy_gs_tensor *t)
{
    return !*t->name;
}

/* ---- Values ---------------------------------------------------------------------------------- */

pgy_status pgy_gs_values(pgy_tensor **out, pgy_gs_tensor *t, pgy_error *err)
{
    if (!out || !t) return pgy_error_set(err, PGY_E_ARGUMENT, "the tensor must not be NULL");
    pgy_model *store = tensor_box(t)->document->store;
    if (t->kind != PGY_GS_CONSTANT)
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "tensor '%.200s' has no values, because it is a variable", t->name);
    return t->stored ? pgy_onnx_tensor_load(out, store, t->stored, err)
                     : gs_sparse_load(out, store, t->sparse, err);
}

uint64_t pgy_gs_size_bytes(const pgy_gs_tensor *t)
{
    size_t count = 1, size = 0;
    if (t->dtype == PGY_DTYPE_NONE || t->rank < 0 || t->rank > PGY_MAX_RANK) return UINT64_MAX;
    int64_t shape[PGY_MAX_RANK];
    for (int32_t i = 0; i < t->rank; i++) {
        if (t->dims[i].value < 0) return UINT64_MAX;
        shape[i] = t->dims[i].value;
    }
    if (pgy_shape_count(&count, (size_t)t->rank, shape, NULL) ||
        pgy_dtype_size_bytes(&size, t->dtype, count, NULL))
        return UINT64_MAX;
    return size;
}

/* ---- Changes --------------------------------------------------------------------------------- */

pgy_status pgy_gs_rename(pgy_gs_tensor *t, const char *name, pgy_error *err)
{
    if (!t || !name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the tensor and the name must not be NULL");
    gs_tensor *box = tensor_box(t);
    if (strcmp(t->name, name) == 0) return PGY_OK;
    const char *kept = NULL;
    const pgy_status st = gs_keep_text(&kept, box->document, name, err);
    if (st) return st;
    if (!gs_names_rename(&box->document->tensor_names, &box->named, kept)) return gs_no_memory(err);
    t->name = kept;
    box->info_changed = true;
    gs_touch_tensor(t);
    return PGY_OK;
}

pgy_status pgy_gs_set_type(pgy_gs_tensor *t, pgy_dtype dtype, int32_t rank, const pgy_dim *dims,
                           pgy_error *err)
{
    if (!t) return pgy_error_set(err, PGY_E_ARGUMENT, "the tensor must not be NULL");
    if (t->kind == PGY_GS_CONSTANT)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the type of tensor '%.200s' cannot change, because it is a constant; "
                             "replace its values",
                             t->name);
    const pgy_status st = set_shape(t, dtype, rank, dims, err);
    if (st) return st;
    t->dtype = dtype;
    if (t->type_kind == PGY_VALUE_MAP) t->type_kind = PGY_VALUE_TENSOR;
    tensor_box(t)->info_changed = true;
    gs_touch_tensor(t);
    return PGY_OK;
}

static pgy_status check_nested(const pgy_gs_tensor *t, const pgy_value_kind *kinds, size_t depth,
                               pgy_dtype dtype, pgy_error *err)
{
    if (t->kind == PGY_GS_CONSTANT)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the type of tensor '%.200s' cannot change, because it is a constant; "
                             "replace its values",
                             t->name);
    if (dtype == PGY_DTYPE_NONE)
        return pgy_error_set(err, PGY_E_TYPE,
                             "tensor '%.200s': a sequence or optional needs an element type",
                             t->name);
    if (depth > MAX_NESTED)
        return pgy_error_set(err, PGY_E_ARGUMENT, "tensor '%.200s': its type is nested too deeply",
                             t->name);
    for (size_t i = 0; i < depth; i++)
        if (kinds[i] != PGY_VALUE_SEQUENCE && kinds[i] != PGY_VALUE_OPTIONAL)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "tensor '%.200s': kind %d is neither a sequence nor an optional",
                                 t->name, (int)kinds[i]);
    return PGY_OK;
}

/* The public struct has no room for nested types, so a separate declaration holds them. */
pgy_status pgy_gs_set_nested_type(pgy_gs_tensor *t, const pgy_value_kind *kinds, size_t depth,
                                  pgy_dtype dtype, int32_t rank, const pgy_dim *dims,
                                  pgy_error *err)
{
    if (!t || (depth && !kinds))
        return pgy_error_set(err, PGY_E_ARGUMENT, "the tensor and the kinds must not be NULL");
    if (!depth && t->kind != PGY_GS_CONSTANT) t->type_kind = PGY_VALUE_TENSOR;
    if (!depth) return pgy_gs_set_type(t, dtype, rank, dims, err);
    pgy_model *store = tensor_box(t)->document->store;
    pgy_onnx_value_info *info = pgy_model_alloc(store, 1, sizeof *info);
    pgy_gs_tensor inner = *t;
    pgy_status st = info ? check_nested(t, kinds, depth, dtype, err) : gs_no_memory(err);
    if (!st) st = set_shape(&inner, dtype, rank, dims, err);
    if (st) return st;
    inner.type_kind = PGY_VALUE_TENSOR;
    inner.dtype = dtype;
    if (t->info) *info = *t->info;
    info->message.raw = (pgy_bytes){0};
    info->name = t->name;
    if (!info->doc_string) info->doc_string = "";
    info->type = gs_type_make(store, &inner, NULL);
    for (size_t i = depth; info->type && i-- > 0;)
        info->type = gs_type_wrap(store, kinds[i], info->type);
    if (!info->type) return gs_no_memory(err);
    t->info = info;
    t->type_kind = kinds[0];
    t->dtype = dtype;
    t->rank = -1;
    t->dims = NULL;
    tensor_box(t)->info_changed = true;
    gs_touch_tensor(t);
    return PGY_OK;
}

pgy_status pgy_gs_to_constant(pgy_gs_tensor *t, pgy_tensor *values, pgy_error *err)
{
    pgy_onnx_tensor *stored = NULL;
    if (!t || !values) return pgy_error_set(err, PGY_E_ARGUMENT, "a constant needs values");
    if (!*t->name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "an omitted slot cannot become a constant");
    pgy_status st = pgy_model_tensor(&stored, tensor_box(t)->document->store, t->name, values, err);
    if (!st) st = gs_set_stored(t, stored, err);
    if (!st) gs_touch_tensor(t);
    return st;
}

pgy_status pgy_gs_to_variable(pgy_gs_tensor *t, pgy_dtype dtype, int32_t rank, const pgy_dim *dims,
                              pgy_error *err)
{
    if (!t) return pgy_error_set(err, PGY_E_ARGUMENT, "the tensor must not be NULL");
    const pgy_status st = set_shape(t, dtype, rank, dims, err);
    if (st) return st;
    t->kind = PGY_GS_VARIABLE;
    t->stored = NULL;
    t->sparse = NULL;
    if (dtype != PGY_DTYPE_NONE) t->dtype = dtype;
    tensor_box(t)->info_changed = true;
    gs_touch_tensor(t);
    return PGY_OK;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void append_dim(str *s, pgy_dim d)
{
    if (d.value >= 0)
        str_printf(s, "%lld", (long long)d.value);
    else if (d.text)
        str_append_py_repr(s, d.text);
    else
        str_append(s, "None");
}

static void append_shape(str *s, const pgy_gs_tensor *t)
{
    const bool constant = t->kind == PGY_GS_CONSTANT;
    if (t->rank < 0) {
        str_append(s, "None");
        return;
    }
    str_append(s, constant ? "(" : "[");
    for (int32_t i = 0; i < t->rank; i++) {
        if (i) str_append(s, ", ");
        append_dim(s, t->dims[i]);
    }
    str_append(s, constant ? (t->rank == 1 ? ",)" : ")") : "]");
}

char *pgy_gs_tensor_text(const pgy_gs_tensor *t)
{
    str s = {0};
    const char *kind = t->kind == PGY_GS_CONSTANT ? "Constant" : "Variable";
    str_printf(&s, "%s (%s): (shape=", kind, t->name);
    append_shape(&s, t);
    str_printf(&s, ", dtype=%s)", t->dtype ? pgy_dtype_name(t->dtype) : "None");
    return str_take(&s);
}
