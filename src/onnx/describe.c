/* SPDX-License-Identifier: Apache-2.0 */
/* Answers questions about a tree without reading data: shapes and types of tensors and values,
 * opsets, attributes. */
#include <string.h>

#include "onnx/elements.h"
#include "onnx/model.h"
#include "onnx/schema.h"

enum { DIM_VALUE = 1, DIM_PARAM = 2 };

int64_t pgy_model_opset(const pgy_onnx_model *m, const char *domain)
{
    static const char DEFAULT[] = "ai.onnx";
    const bool wanted_default = !domain || !*domain || strcmp(domain, DEFAULT) == 0;
    for (size_t i = 0; i < m->opset_import_count; i++) {
        const pgy_onnx_opset *o = m->opset_imports[i];
        const bool is_default = !*o->domain || strcmp(o->domain, DEFAULT) == 0;
        if (wanted_default ? is_default : strcmp(o->domain, domain) == 0) return o->version;
    }
    return 0;
}

pgy_onnx_attribute_type pgy_onnx_attribute_kind(const pgy_onnx_attribute *a)
{
    if (a->type > PGY_ATTR_UNDEFINED && a->type <= PGY_ATTR_TYPE_PROTOS)
        return (pgy_onnx_attribute_type)a->type;
    const uint64_t seen = a->message.present;
    const struct {
        bool set;
        pgy_onnx_attribute_type kind;
    } GUESSES[] = {
        {a->t, PGY_ATTR_TENSOR},
        {a->g, PGY_ATTR_GRAPH},
        {a->sparse_tensor, PGY_ATTR_SPARSE_TENSOR},
        {a->tp, PGY_ATTR_TYPE_PROTO},
        {a->float_count, PGY_ATTR_FLOATS},
        {a->int_count, PGY_ATTR_INTS},
        {a->string_count, PGY_ATTR_STRINGS},
        {a->tensor_count, PGY_ATTR_TENSORS},
        {a->graph_count, PGY_ATTR_GRAPHS},
        {a->sparse_tensor_count, PGY_ATTR_SPARSE_TENSORS},
        {a->type_proto_count, PGY_ATTR_TYPE_PROTOS},
        {a->s.size || seen & field_bit(4), PGY_ATTR_STRING},
        {a->i || seen & field_bit(3), PGY_ATTR_INT},
        {a->f != 0 || seen & field_bit(2), PGY_ATTR_FLOAT},
    };
    for (size_t i = 0; i < sizeof(GUESSES) / sizeof(GUESSES[0]); i++)
        if (GUESSES[i].set) return GUESSES[i].kind;
    return PGY_ATTR_UNDEFINED;
}

size_t pgy_onnx_attribute_count(const pgy_onnx_attribute *a)
{
    switch (pgy_onnx_attribute_kind(a)) {
    case PGY_ATTR_FLOATS: return a->float_count;
    case PGY_ATTR_INTS: return a->int_count;
    case PGY_ATTR_STRINGS: return a->string_count;
    case PGY_ATTR_TENSORS: return a->tensor_count;
    case PGY_ATTR_GRAPHS: return a->graph_count;
    case PGY_ATTR_SPARSE_TENSORS: return a->sparse_tensor_count;
    case PGY_ATTR_TYPE_PROTOS: return a->type_proto_count;
    default: return 0;
    }
}

const pgy_onnx_attribute *pgy_onnx_node_attribute(const pgy_onnx_node *n, const char *name)
{
    for (size_t i = 0; i < n->attribute_count; i++)
        if (n->attributes[i]->name && strcmp(n->attributes[i]->name, name) == 0)
            return n->attributes[i];
    return NULL;
}

pgy_status pgy_onnx_tensor_info(pgy_tensor_info *out, const pgy_onnx_tensor *t, pgy_error *err)
{
    size_t size = 0;
    pgy_status st = tensor_needs_bytes(&size, t, err);
    if (st) return st;
    *out = (pgy_tensor_info){
        .name = t->name ? t->name : "",
        .dtype = pgy_dtype_from_onnx(t->data_type),
        .rank = (int32_t)t->dim_count,
        .shape = t->dims,
    };
    return PGY_OK;
}

/* Types of ONNX without a pgy_dtype are unknown, not an error. */
static pgy_status element_type(pgy_dtype *out, const char *name, int32_t code, pgy_error *err)
{
    enum { UNDEFINED = 0, FLOAT6E2M3 = 27, FLOAT6E3M2 = 28 };
    *out = pgy_dtype_from_onnx(code);
    if (*out != PGY_DTYPE_NONE || code == UNDEFINED || code == FLOAT6E2M3 || code == FLOAT6E3M2)
        return PGY_OK;
    return pgy_error_set(err, PGY_E_FORMAT, "value '%.200s': element type %d is unknown", name,
                         code);
}

static void describe_dims(const pgy_onnx_shape *shape, int64_t *dims, const char **names)
{
    for (size_t i = 0; i < shape->dim_count; i++) {
        const pgy_onnx_dim *d = shape->dims[i];
        const bool valued = d->message.present & field_bit(DIM_VALUE) || d->dim_value > 0;
        dims[i] = valued && d->dim_value >= 0 ? d->dim_value : -1;
        if (dims[i] < 0 && d->dim_param && *d->dim_param) names[i] = d->dim_param;
    }
}

static bool is_tensor(const pgy_onnx_type *t)
{
    return t && t->tensor_type;
}

/* The form of a type, and the type of the tensors in it (NULL if it has none). Sequences may be
 * nested. */
static pgy_form form_of(const pgy_onnx_type **tensor, const pgy_onnx_type *t)
{
    enum { DEEPEST = 32 };
    const bool optional = t->optional_type != NULL;
    const pgy_onnx_type *inner = optional ? t->optional_type->elem_type : t;
    *tensor = NULL;
    if (is_tensor(inner)) {
        *tensor = inner;
        return optional ? PGY_FORM_OPTIONAL : PGY_FORM_TENSOR;
    }
    if (!optional && t->map_type) {
        *tensor = is_tensor(t->map_type->value_type) ? t->map_type->value_type : NULL;
        return PGY_FORM_MAP;
    }
    if (!optional && (t->sparse_tensor_type || t->opaque_type)) return PGY_FORM_OTHER;
    if (!inner || !inner->sequence_type) return optional ? PGY_FORM_OPTIONAL : PGY_FORM_TENSOR;
    for (int depth = 0; inner && inner->sequence_type && depth < DEEPEST; depth++)
        inner = inner->sequence_type->elem_type;
    if (is_tensor(inner)) *tensor = inner;
    return optional ? PGY_FORM_OPTIONAL_SEQUENCE : PGY_FORM_SEQUENCE;
}

pgy_status pgy_onnx_value_info_describe(pgy_tensor_info *out, pgy_model *m,
                                        const pgy_onnx_value_info *v, pgy_error *err)
{
    const char *name = v->name ? v->name : "";
    const pgy_onnx_tensor_type *type = NULL;
    pgy_tensor_info info = {.name = name, .rank = -1};
    const pgy_onnx_type *tensor = NULL;
    if (v->type) info.form = form_of(&tensor, v->type);
    if (v->type) type = tensor ? tensor->tensor_type : v->type->sparse_tensor_type;
    pgy_status st = type ? element_type(&info.dtype, name, type->elem_type, err) : PGY_OK;
    if (st) return st;
    if (type && type->shape && info.form != PGY_FORM_MAP) {
        const size_t rank = type->shape->dim_count;
        if (rank > PGY_MAX_RANK)
            return pgy_error_set(err, PGY_E_FORMAT,
                                 "value '%.200s' has %zu dimensions; at most %d are supported",
                                 name, rank, PGY_MAX_RANK);
        int64_t *dims = model_alloc(m, rank + 1, sizeof(*dims));
        const char **names = model_alloc(m, rank + 1, sizeof(*names));
        if (!dims || !names)
            return pgy_error_set(err, PGY_E_MEMORY, "value '%.200s': out of memory", name);
        describe_dims(type->shape, dims, names);
        info.rank = (int32_t)rank;
        info.shape = dims;
        info.dim_names = names;
    }
    *out = info;
    return PGY_OK;
}
