/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of onnx.proto as tables. A row is ONE(number, kind, field) or MANY(number, kind,
 * name, field, count field), where M is the struct; a row may end in designated members. Rows are
 * sorted by number, the order in which protobuf writes, so that an encoded tree equals the output
 * of other programs. */
#include "onnx/schema.h"

#include <string.h>

#define ROWS(rows) rows, sizeof(rows) / sizeof((rows)[0])
#define ONE(number_, kind_, field_, ...)                                                          \
    {                                                                                             \
        .number = number_, .kind = FIELD_##kind_, .name = #field_, .offset = offsetof(M, field_), \
        __VA_ARGS__                                                                               \
    }
#define MANY(number_, kind_, name_, field_, count_, ...)                                \
    {                                                                                   \
        .number = number_, .kind = FIELD_##kind_##_LIST, .name = #name_,                \
        .offset = offsetof(M, field_), .count_offset = offsetof(M, count_), __VA_ARGS__ \
    }

static const schema TYPE, GRAPH; /* the two recursive messages */

/* clang-format off */
#define M pgy_onnx_string_entry
static const schema_field STRING_ENTRY_FIELDS[] = {
    ONE(1, STRING, key),
    ONE(2, STRING, value),
};
static const schema STRING_ENTRY = {sizeof(M), ROWS(STRING_ENTRY_FIELDS)};
#undef M

#define M pgy_onnx_opset
static const schema_field OPSET_FIELDS[] = {
    ONE(1, STRING, domain),
    ONE(2, INT64, version),
};
static const schema OPSET = {sizeof(M), ROWS(OPSET_FIELDS)};
#undef M

#define M pgy_onnx_dim
static const schema_field DIM_FIELDS[] = {
    ONE(1, INT64, dim_value, .flags = FIELD_ONEOF),
    ONE(2, STRING, dim_param, .flags = FIELD_ONEOF),
    ONE(3, STRING, denotation),
};
static const schema DIM = {sizeof(M), ROWS(DIM_FIELDS)};
#undef M

#define M pgy_onnx_shape
static const schema_field SHAPE_FIELDS[] = {
    MANY(1, MESSAGE, dim, dims, dim_count, .message = &DIM),
};
static const schema SHAPE = {sizeof(M), ROWS(SHAPE_FIELDS)};
#undef M

#define M pgy_onnx_tensor_type
static const schema_field TENSOR_TYPE_FIELDS[] = {
    ONE(1, INT32, elem_type),
    ONE(2, MESSAGE, shape, .message = &SHAPE),
};
static const schema TENSOR_TYPE = {sizeof(M), ROWS(TENSOR_TYPE_FIELDS)};
#undef M

#define M pgy_onnx_map_type
static const schema_field MAP_TYPE_FIELDS[] = {
    ONE(1, INT32, key_type),
    ONE(2, MESSAGE, value_type, .message = &TYPE),
};
static const schema MAP_TYPE = {sizeof(M), ROWS(MAP_TYPE_FIELDS)};
#undef M

#define M pgy_onnx_elem_type
static const schema_field ELEM_TYPE_FIELDS[] = {
    ONE(1, MESSAGE, elem_type, .message = &TYPE),
};
static const schema ELEM_TYPE = {sizeof(M), ROWS(ELEM_TYPE_FIELDS)};
#undef M

#define M pgy_onnx_opaque_type
static const schema_field OPAQUE_TYPE_FIELDS[] = {
    ONE(1, STRING, domain),
    ONE(2, STRING, name),
};
static const schema OPAQUE_TYPE = {sizeof(M), ROWS(OPAQUE_TYPE_FIELDS)};
#undef M

#define M pgy_onnx_type
static const schema_field TYPE_FIELDS[] = {
    ONE(1, MESSAGE, tensor_type, .message = &TENSOR_TYPE, .flags = FIELD_ONEOF),
    ONE(4, MESSAGE, sequence_type, .message = &ELEM_TYPE, .flags = FIELD_ONEOF),
    ONE(5, MESSAGE, map_type, .message = &MAP_TYPE, .flags = FIELD_ONEOF),
    ONE(6, STRING, denotation),
    ONE(7, MESSAGE, opaque_type, .message = &OPAQUE_TYPE, .flags = FIELD_ONEOF),
    ONE(8, MESSAGE, sparse_tensor_type, .message = &TENSOR_TYPE, .flags = FIELD_ONEOF),
    ONE(9, MESSAGE, optional_type, .message = &ELEM_TYPE, .flags = FIELD_ONEOF),
};
static const schema TYPE = {sizeof(M), ROWS(TYPE_FIELDS)};
#undef M

#define M pgy_onnx_value_info
static const schema_field VALUE_INFO_FIELDS[] = {
    ONE(1, STRING, name),
    ONE(2, MESSAGE, type, .message = &TYPE),
    ONE(3, STRING, doc_string),
    MANY(4, MESSAGE, metadata_props, metadata_props, metadata_prop_count, .message = &STRING_ENTRY),
};
static const schema VALUE_INFO = {sizeof(M), ROWS(VALUE_INFO_FIELDS)};
#undef M

#define M pgy_onnx_segment
static const schema_field SEGMENT_FIELDS[] = {
    ONE(1, INT64, begin),
    ONE(2, INT64, end),
};
static const schema SEGMENT = {sizeof(M), ROWS(SEGMENT_FIELDS)};
#undef M

#define M pgy_onnx_tensor
static const schema_field TENSOR_FIELDS[] = {
    MANY(1, INT64, dims, dims, dim_count),
    ONE(2, INT32, data_type),
    ONE(3, MESSAGE, segment, .message = &SEGMENT),
    ONE(4, FLOAT_BYTES, float_data, .flags = FIELD_PACKED),
    MANY(5, INT32, int32_data, int32_data, int32_count, .flags = FIELD_PACKED),
    MANY(6, BYTES, string_data, string_data, string_count),
    MANY(7, INT64, int64_data, int64_data, int64_count, .flags = FIELD_PACKED),
    ONE(8, STRING, name),
    ONE(9, BYTES, raw_data),
    ONE(10, DOUBLE_BYTES, double_data, .flags = FIELD_PACKED),
    MANY(11, INT64, uint64_data, uint64_data, uint64_count, .flags = FIELD_PACKED),
    ONE(12, STRING, doc_string),
    MANY(13, MESSAGE, external_data, external_data, external_data_count, .message = &STRING_ENTRY),
    ONE(14, INT32, data_location),
    MANY(16, MESSAGE, metadata_props, metadata_props, metadata_prop_count, .message = &STRING_ENTRY),
};
const schema SCHEMA_TENSOR = {sizeof(M), ROWS(TENSOR_FIELDS)};
#undef M

#define M pgy_onnx_sparse_tensor
static const schema_field SPARSE_TENSOR_FIELDS[] = {
    ONE(1, MESSAGE, values, .message = &SCHEMA_TENSOR),
    ONE(2, MESSAGE, indices, .message = &SCHEMA_TENSOR),
    MANY(3, INT64, dims, dims, dim_count),
};
static const schema SPARSE_TENSOR = {sizeof(M), ROWS(SPARSE_TENSOR_FIELDS)};
#undef M

#define M pgy_onnx_quant_annotation
static const schema_field QUANT_ANNOTATION_FIELDS[] = {
    ONE(1, STRING, tensor_name),
    MANY(2, MESSAGE, quant_parameter_tensor_names, quant_parameter_tensor_names,
         quant_parameter_tensor_name_count, .message = &STRING_ENTRY),
};
static const schema QUANT_ANNOTATION = {sizeof(M), ROWS(QUANT_ANNOTATION_FIELDS)};
#undef M

/* Checkers require that the field named by `type` is present, so a value of 0 is written, too. */
static uint64_t attribute_implied(const void *message)
{
    static const uint8_t SCALARS[] = {[PGY_ATTR_FLOAT] = 2, [PGY_ATTR_INT] = 3, [PGY_ATTR_STRING] = 4};
    const pgy_onnx_attribute *a = message;
    const bool referred = a->ref_attr_name && *a->ref_attr_name;
    if (referred || a->type < PGY_ATTR_FLOAT || a->type > PGY_ATTR_STRING) return 0;
    return field_bit(SCALARS[a->type]);
}

#define M pgy_onnx_attribute
static const schema_field ATTRIBUTE_FIELDS[] = {
    ONE(1, STRING, name),
    ONE(2, FLOAT, f),
    ONE(3, INT64, i),
    ONE(4, BYTES, s),
    ONE(5, MESSAGE, t, .message = &SCHEMA_TENSOR),
    ONE(6, MESSAGE, g, .message = &GRAPH),
    MANY(7, FLOAT, floats, floats, float_count),
    MANY(8, INT64, ints, ints, int_count),
    MANY(9, BYTES, strings, strings, string_count),
    MANY(10, MESSAGE, tensors, tensors, tensor_count, .message = &SCHEMA_TENSOR),
    MANY(11, MESSAGE, graphs, graphs, graph_count, .message = &GRAPH),
    ONE(13, STRING, doc_string),
    ONE(14, MESSAGE, tp, .message = &TYPE),
    MANY(15, MESSAGE, type_protos, type_protos, type_proto_count, .message = &TYPE),
    ONE(20, INT32, type),
    ONE(21, STRING, ref_attr_name),
    ONE(22, MESSAGE, sparse_tensor, .message = &SPARSE_TENSOR),
    MANY(23, MESSAGE, sparse_tensors, sparse_tensors, sparse_tensor_count, .message = &SPARSE_TENSOR),
};
static const schema ATTRIBUTE = {sizeof(M), ROWS(ATTRIBUTE_FIELDS), attribute_implied};
#undef M

#define M pgy_onnx_node
static const schema_field NODE_FIELDS[] = {
    MANY(1, STRING, input, inputs, input_count),
    MANY(2, STRING, output, outputs, output_count),
    ONE(3, STRING, name),
    ONE(4, STRING, op_type),
    MANY(5, MESSAGE, attribute, attributes, attribute_count, .message = &ATTRIBUTE),
    ONE(6, STRING, doc_string),
    ONE(7, STRING, domain),
    ONE(8, STRING, overload),
    MANY(9, MESSAGE, metadata_props, metadata_props, metadata_prop_count, .message = &STRING_ENTRY),
};
static const schema NODE = {sizeof(M), ROWS(NODE_FIELDS)};
#undef M

#define M pgy_onnx_graph
static const schema_field GRAPH_FIELDS[] = {
    MANY(1, MESSAGE, node, nodes, node_count, .message = &NODE),
    ONE(2, STRING, name),
    MANY(5, MESSAGE, initializer, initializers, initializer_count, .message = &SCHEMA_TENSOR,
         .flags = FIELD_INITIALIZER),
    ONE(10, STRING, doc_string),
    MANY(11, MESSAGE, input, inputs, input_count, .message = &VALUE_INFO),
    MANY(12, MESSAGE, output, outputs, output_count, .message = &VALUE_INFO),
    MANY(13, MESSAGE, value_info, value_infos, value_info_count, .message = &VALUE_INFO),
    MANY(14, MESSAGE, quantization_annotation, quantization_annotations,
         quantization_annotation_count, .message = &QUANT_ANNOTATION),
    MANY(15, MESSAGE, sparse_initializer, sparse_initializers, sparse_initializer_count,
         .message = &SPARSE_TENSOR),
    MANY(16, MESSAGE, metadata_props, metadata_props, metadata_prop_count, .message = &STRING_ENTRY),
};
static const schema GRAPH = {sizeof(M), ROWS(GRAPH_FIELDS)};
#undef M

#define M pgy_onnx_function
static const schema_field FUNCTION_FIELDS[] = {
    ONE(1, STRING, name),
    MANY(4, STRING, input, inputs, input_count),
    MANY(5, STRING, output, outputs, output_count),
    MANY(6, STRING, attribute, attributes, attribute_count),
    MANY(7, MESSAGE, node, nodes, node_count, .message = &NODE),
    ONE(8, STRING, doc_string),
    MANY(9, MESSAGE, opset_import, opset_imports, opset_import_count, .message = &OPSET),
    ONE(10, STRING, domain),
    MANY(11, MESSAGE, attribute_proto, attribute_protos, attribute_proto_count, .message = &ATTRIBUTE),
    MANY(12, MESSAGE, value_info, value_infos, value_info_count, .message = &VALUE_INFO),
    ONE(13, STRING, overload),
    MANY(14, MESSAGE, metadata_props, metadata_props, metadata_prop_count, .message = &STRING_ENTRY),
};
static const schema FUNCTION = {sizeof(M), ROWS(FUNCTION_FIELDS)};
#undef M

#define M pgy_onnx_model
static const schema_field MODEL_FIELDS[] = {
    ONE(1, INT64, ir_version),
    ONE(2, STRING, producer_name),
    ONE(3, STRING, producer_version),
    ONE(4, STRING, domain),
    ONE(5, INT64, model_version),
    ONE(6, STRING, doc_string),
    ONE(7, MESSAGE, graph, .message = &GRAPH),
    MANY(8, MESSAGE, opset_import, opset_imports, opset_import_count, .message = &OPSET),
    MANY(14, MESSAGE, metadata_props, metadata_props, metadata_prop_count, .message = &STRING_ENTRY),
    MANY(25, MESSAGE, functions, functions, function_count, .message = &FUNCTION),
};
const schema SCHEMA_MODEL = {sizeof(M), ROWS(MODEL_FIELDS)};
#undef M

const field_kind_info FIELD_KINDS[FIELD_KIND_COUNT] = {
    [FIELD_INT32] = {WIRE_VARINT},
    [FIELD_INT64] = {WIRE_VARINT},
    [FIELD_FLOAT] = {WIRE_I32},
    [FIELD_STRING] = {WIRE_LEN},
    [FIELD_BYTES] = {WIRE_LEN},
    [FIELD_MESSAGE] = {WIRE_LEN},
    [FIELD_INT32_LIST] = {WIRE_VARINT, true, true, sizeof(int64_t)},
    [FIELD_INT64_LIST] = {WIRE_VARINT, true, true, sizeof(int64_t)},
    [FIELD_FLOAT_LIST] = {WIRE_I32, true, true, sizeof(float)},
    [FIELD_FLOAT_BYTES] = {WIRE_I32, false, true, sizeof(float)},
    [FIELD_DOUBLE_BYTES] = {WIRE_I64, false, true, sizeof(double)},
    [FIELD_STRING_LIST] = {WIRE_LEN, true, false, sizeof(char *)},
    [FIELD_BYTES_LIST] = {WIRE_LEN, true, false, sizeof(pgy_bytes)},
    [FIELD_MESSAGE_LIST] = {WIRE_LEN, true, false, sizeof(void *)},
};
/* clang-format on */

void *field_pointer(const void *message, const schema_field *f)
{
    void *p;
    memcpy(&p, (const char *)message + f->offset, sizeof(p));
    return p;
}

void field_set_pointer(void *message, const schema_field *f, const void *value)
{
    memcpy((char *)message + f->offset, &value, sizeof(value));
}

size_t field_count(const void *message, const schema_field *f)
{
    size_t n;
    memcpy(&n, (const char *)message + f->count_offset, sizeof(n));
    return n;
}

/* Child i of a field of messages; i is 0 for a single message. */
static void *child_at(const void *message, const schema_field *f, size_t i)
{
    void *p = field_pointer(message, f);
    if (f->kind == FIELD_MESSAGE) return p;
    void *child;
    memcpy(&child, (const char *)p + i * sizeof(child), sizeof(child));
    return child;
}

static size_t child_count(const void *message, const schema_field *f)
{
    if (f->kind == FIELD_MESSAGE) return field_pointer(message, f) ? 1 : 0;
    return f->kind == FIELD_MESSAGE_LIST ? field_count(message, f) : 0;
}

pgy_status schema_visit_tensors(const schema *s, const void *message, tensor_visit visit,
                                void *user, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t k = 0; k < s->field_count && !st; k++) {
        const schema_field *f = &s->fields[k];
        const size_t n = child_count(message, f);
        for (size_t i = 0; i < n && !st; i++) {
            const void *child = child_at(message, f, i);
            st = f->message == &SCHEMA_TENSOR
                     ? visit(child, f, user, err)
                     : schema_visit_tensors(f->message, child, visit, user, err);
        }
    }
    return st;
}

/* Replaces NULL texts by "". Messages shared with a parsed model have all texts, so they are never
 * changed. */
static void fill_text_list(const void *message, const schema_field *f)
{
    const size_t n = field_count(message, f);
    char *items = field_pointer(message, f);
    for (size_t i = 0; i < n; i++) {
        const char *text;
        memcpy(&text, items + i * sizeof(text), sizeof(text));
        if (text) continue;
        text = "";
        memcpy(items + i * sizeof(text), &text, sizeof(text));
    }
}

void schema_fill_texts(const schema *s, void *message)
{
    for (size_t k = 0; k < s->field_count; k++) {
        const schema_field *f = &s->fields[k];
        if (f->kind == FIELD_STRING && !field_pointer(message, f))
            field_set_pointer(message, f, "");
        if (f->kind == FIELD_STRING_LIST) fill_text_list(message, f);
        const size_t n = child_count(message, f);
        for (size_t i = 0; i < n; i++) schema_fill_texts(f->message, child_at(message, f, i));
    }
}
