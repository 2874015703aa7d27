/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes of tensors: read from ValueInfoProto and initializers, written as TypeProto. No
 * type is refused: one that this library does not know counts as unknown, and its message is kept.
 */
#include "gs/graph/type.h"

#include <string.h>

#include "gs/graph/document.h"

enum { DIM_VALUE = 1, DIM_PARAM = 2, DEEPEST = 64 };

static const pgy_onnx_tensor_type *tensor_part(pgy_value_kind *kind, const pgy_onnx_type *type)
{
    *kind = PGY_VALUE_TENSOR;
    if (!type || type->tensor_type) return type ? type->tensor_type : NULL;
    if (type->sparse_tensor_type) {
        *kind = PGY_VALUE_SPARSE;
        return type->sparse_tensor_type;
    }
    if (type->map_type || type->opaque_type) *kind = PGY_VALUE_MAP;
    if (!type->sequence_type && !type->optional_type) return NULL;
    *kind = type->sequence_type ? PGY_VALUE_SEQUENCE : PGY_VALUE_OPTIONAL;
    for (int depth = 0; type && depth < DEEPEST; depth++) {
        const pgy_onnx_elem_type *list =
            type->sequence_type ? type->sequence_type : type->optional_type;
        if (!list) break;
        type = list->elem_type;
    }
    return type ? type->tensor_type : NULL;
}

static pgy_dim dim_of(const pgy_onnx_dim *d)
{
    if (d->dim_param && *d->dim_param) return (pgy_dim){-1, d->dim_param};
    const bool has_value = d->message.present >> DIM_VALUE & 1 || d->dim_value > 0;
    return (pgy_dim){has_value && d->dim_value >= 0 ? d->dim_value : -1, NULL};
}

/* A sequence has no shape, because each of its elements has its own. */
static const pgy_onnx_shape *shape_of(pgy_value_kind kind, const pgy_onnx_tensor_type *part)
{
    const bool has = part && (kind == PGY_VALUE_TENSOR || kind == PGY_VALUE_SPARSE);
    return has ? part->shape : NULL;
}

pgy_status gs_type_fill(pgy_gs_tensor *t, const pgy_onnx_value_info *info, pgy_error *err)
{
    pgy_value_kind kind;
    if (!info->type || t->kind == PGY_GS_CONSTANT) return PGY_OK;
    const pgy_onnx_tensor_type *part = tensor_part(&kind, info->type);
    const bool empty = t->dtype == PGY_DTYPE_NONE && t->rank < 0;
    if (empty && t->type_kind == PGY_VALUE_TENSOR) t->type_kind = kind;
    if (!part || t->type_kind != kind) return PGY_OK;
    if (t->dtype == PGY_DTYPE_NONE) t->dtype = pgy_dtype_from_onnx(part->elem_type);
    const pgy_onnx_shape *shape = shape_of(kind, part);
    if (!shape || t->rank >= 0) return PGY_OK;
    pgy_dim *dims = gs_alloc(tensor_box(t)->document, shape->dim_count, sizeof(*dims));
    if (!dims) return gs_no_memory(err);
    for (size_t i = 0; i < shape->dim_count; i++) dims[i] = dim_of(shape->dims[i]);
    t->dims = dims;
    t->rank = (int32_t)shape->dim_count;
    return PGY_OK;
}

static bool same_dim(pgy_dim a, pgy_dim b)
{
    return a.value == b.value &&
           (a.value >= 0 || strcmp(a.text ? a.text : "", b.text ? b.text : "") == 0);
}

bool gs_type_agrees(const pgy_gs_tensor *t, const pgy_onnx_value_info *info)
{
    pgy_value_kind kind;
    const pgy_onnx_tensor_type *part = tensor_part(&kind, info->type);
    const pgy_onnx_shape *shape = shape_of(kind, part);
    const pgy_dtype dtype = part ? pgy_dtype_from_onnx(part->elem_type) : PGY_DTYPE_NONE;
    if (kind != t->type_kind || dtype != t->dtype) return false;
    if (!shape) return t->rank < 0;
    if (t->rank < 0 || (size_t)t->rank != shape->dim_count) return false;
    for (size_t i = 0; i < shape->dim_count; i++)
        if (!same_dim(dim_of(shape->dims[i]), t->dims[i])) return false;
    return true;
}

pgy_status gs_type_of_stored(pgy_gs_tensor *t, pgy_error *err)
{
    const pgy_onnx_tensor *values = t->stored ? t->stored : t->sparse->values;
    const size_t rank = t->stored ? t->stored->dim_count : t->sparse->dim_count;
    const int64_t *from = t->stored ? t->stored->dims : t->sparse->dims;
    pgy_dim *dims = gs_alloc(tensor_box(t)->document, rank, sizeof(*dims));
    if (!dims) return gs_no_memory(err);
    for (size_t i = 0; i < rank; i++) dims[i] = (pgy_dim){from[i] < 0 ? -1 : from[i], NULL};
    t->type_kind = PGY_VALUE_TENSOR;
    t->dtype = values ? pgy_dtype_from_onnx(values->data_type) : PGY_DTYPE_NONE;
    t->rank = (int32_t)rank;
    t->dims = dims;
    return PGY_OK;
}

/* ---- Messages -------------------------------------------------------------------------------- */

static pgy_onnx_dim *make_dim(pgy_model *to, pgy_dim from, const char *denotation)
{
    pgy_onnx_dim *d = pgy_model_alloc(to, 1, sizeof(*d));
    if (!d) return NULL;
    d->dim_param = "";
    d->denotation = denotation;
    if (from.value >= 0) {
        d->dim_value = from.value;
        d->message.present = 1u << DIM_VALUE;
    } else if (from.text && *from.text) {
        d->dim_param = from.text;
        d->message.present = 1u << DIM_PARAM;
    }
    return d;
}

static pgy_onnx_shape *make_shape(pgy_model *to, const pgy_gs_tensor *t, const pgy_onnx_shape *from)
{
    const size_t rank = (size_t)t->rank;
    const bool same_rank = from && from->dim_count == rank;
    pgy_onnx_shape *shape = pgy_model_alloc(to, 1, sizeof(*shape));
    pgy_onnx_dim **dims = pgy_model_alloc(to, rank ? rank : 1, sizeof(*dims));
    if (!shape || !dims) return NULL;
    for (size_t i = 0; i < rank; i++) {
        dims[i] = make_dim(to, t->dims[i], same_rank ? from->dims[i]->denotation : "");
        if (!dims[i]) return NULL;
    }
    shape->dims = dims;
    shape->dim_count = rank;
    return shape;
}

pgy_onnx_type *gs_type_wrap(pgy_model *to, pgy_value_kind kind, pgy_onnx_type *inner)
{
    pgy_onnx_type *type = pgy_model_alloc(to, 1, sizeof(*type));
    pgy_onnx_elem_type *list = pgy_model_alloc(to, 1, sizeof(*list));
    if (!type || !list) return NULL;
    type->denotation = "";
    list->elem_type = inner;
    if (kind == PGY_VALUE_SEQUENCE)
        type->sequence_type = list;
    else
        type->optional_type = list;
    return type;
}

pgy_onnx_type *gs_type_make(pgy_model *to, const pgy_gs_tensor *t, const pgy_onnx_type *from)
{
    pgy_value_kind kind;
    const pgy_onnx_tensor_type *old = tensor_part(&kind, from);
    pgy_onnx_type *type = pgy_model_alloc(to, 1, sizeof(*type));
    pgy_onnx_tensor_type *part = pgy_model_alloc(to, 1, sizeof(*part));
    if (!type || !part) return NULL;
    type->denotation = from && kind == t->type_kind ? from->denotation : "";
    part->elem_type = t->dtype ? pgy_dtype_describe(t->dtype)->onnx : 0;
    if (!part->elem_type && old) part->elem_type = old->elem_type;
    if (t->rank >= 0 && !(part->shape = make_shape(to, t, shape_of(kind, old)))) return NULL;
    if (t->type_kind == PGY_VALUE_SPARSE) {
        type->sparse_tensor_type = part;
        return type;
    }
    type->tensor_type = part;
    if (t->type_kind == PGY_VALUE_TENSOR) return type;
    return gs_type_wrap(to, t->type_kind, type);
}
