/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes as texts. */
#include "viewer/graph_type.h"

#include <string.h>

#include "base/alloc.h"
#include "base/pytext.h"
#include "viewer/graph_text.h"
#include "viewer/graph_value.h"

enum { TYPE_DEPTH = 8, SCALAR_BYTES = 16 };

uint64_t graph_type_bytes(pgy_dtype dtype, const int64_t *dims, size_t count)
{
    const unsigned bits = pgy_dtype_describe(dtype)->bits;
    int64_t elements = 1, total;
    if (dtype == PGY_DTYPE_NONE || dtype == PGY_STRING) return 0;
    for (size_t i = 0; i < count; i++)
        if (dims[i] < 0 || !i64_mul(&elements, elements, dims[i])) return 0;
    if (!i64_mul(&total, elements, (int64_t)bits) || !i64_add(&total, total, 7)) return 0;
    return (uint64_t)total / 8;
}

const char *graph_shape_text(graph_parts *b, const int64_t *dims, size_t count)
{
    str s = {0};
    for (size_t i = 0; i < count; i++) {
        if (i) str_append_char(&s, 'x');
        if (dims[i] < 0)
            str_append_char(&s, '?');
        else
            str_printf(&s, "%lld", (long long)dims[i]);
    }
    return collect_take(b, &s);
}

static const char *shape_text(graph_parts *b, const pgy_onnx_shape *shape)
{
    enum { VALUE = 1, PARAM = 2 };
    str s = {0};
    for (size_t i = 0; i < shape->dim_count; i++) {
        const pgy_onnx_dim *d = shape->dims[i];
        if (i) str_append_char(&s, 'x');
        if (d->message.present >> PARAM & 1 && d->dim_param[0])
            str_append(&s, collect_kept_text(b, d->dim_param));
        else if (d->message.present >> VALUE & 1 && d->dim_value >= 0)
            str_printf(&s, "%lld", (long long)d->dim_value);
        else
            str_append_char(&s, '?');
    }
    return collect_take(b, &s);
}

static uint64_t shape_bytes(const pgy_onnx_tensor_type *t)
{
    enum { VALUE = 1, MAX_RANK = 64 };
    int64_t dims[MAX_RANK];
    if (!t->shape || t->shape->dim_count > MAX_RANK) return 0;
    for (size_t i = 0; i < t->shape->dim_count; i++) {
        const pgy_onnx_dim *d = t->shape->dims[i];
        dims[i] = d->message.present >> VALUE & 1 ? d->dim_value : -1;
    }
    return graph_type_bytes(pgy_dtype_from_onnx(t->elem_type), dims, t->shape->dim_count);
}

static void append_element(str *s, int code)
{
    const pgy_dtype dtype = pgy_dtype_from_onnx(code);
    if (dtype != PGY_DTYPE_NONE)
        str_append(s, pgy_dtype_name(dtype));
    else if (code)
        str_printf(s, "type %d", code);
}

static void append_type(graph_parts *b, str *s, const pgy_onnx_type *t, int depth)
{
    if (!t || depth > TYPE_DEPTH) {
        str_append_char(s, '?');
    } else if (t->tensor_type) {
        append_element(s, t->tensor_type->elem_type);
        if (depth && t->tensor_type->shape)
            str_printf(s, " %s", shape_text(b, t->tensor_type->shape));
    } else if (t->sequence_type || t->optional_type) {
        str_append(s, t->sequence_type ? "sequence(" : "optional(");
        const pgy_onnx_elem_type *e = t->sequence_type ? t->sequence_type : t->optional_type;
        append_type(b, s, e->elem_type, depth + 1);
        str_append_char(s, ')');
    } else if (t->map_type) {
        str_append(s, "map(");
        append_element(s, t->map_type->key_type);
        str_append(s, ", ");
        append_type(b, s, t->map_type->value_type, depth + 1);
        str_append_char(s, ')');
    } else if (t->sparse_tensor_type) {
        str_append(s, "sparse(");
        append_element(s, t->sparse_tensor_type->elem_type);
        str_append_char(s, ')');
    } else if (t->opaque_type) {
        str_printf(s, "opaque(%s.%s)", collect_kept_text(b, t->opaque_type->domain),
                   collect_kept_text(b, t->opaque_type->name));
    }
}

void graph_type_declare(graph_parts *b, view_tensor *t, const pgy_onnx_type *type)
{
    t->dtype = "";
    t->shape = NULL;
    if (!type) return;
    str s = {0};
    append_type(b, &s, type, 0);
    t->dtype = collect_take(b, &s);
    const pgy_onnx_tensor_type *dense = type->tensor_type;
    const pgy_onnx_tensor_type *any = dense ? dense : type->sparse_tensor_type;
    if (any && any->shape) t->shape = shape_text(b, any->shape);
    if (dense) t->bytes = shape_bytes(dense);
}

/* ---- Weights -------------------------------------------------------------------------------- */

void graph_type_sparse(graph_parts *b, view_tensor *t, const pgy_onnx_sparse_tensor *stored)
{
    str s = {0};
    str_append(&s, "sparse(");
    append_element(&s, stored->values ? stored->values->data_type : 0);
    str_append_char(&s, ')');
    t->dtype = collect_take(b, &s);
    t->shape = graph_shape_text(b, stored->dims, stored->dim_count);
}

/* A single element as text. */
static const char *value_text(graph_parts *b, const pgy_onnx_tensor *stored)
{
    str s = {0};
    if (!graph_append_values(&s, b->g->model, stored, 1)) b->failed = true;
    return s.size || b->failed ? collect_take(b, &s) : NULL;
}

void graph_type_weight(graph_parts *b, view_tensor *t, const pgy_onnx_tensor *stored)
{
    str s = {0};
    append_element(&s, stored->data_type);
    t->dtype = collect_take(b, &s);
    t->shape = graph_shape_text(b, stored->dims, stored->dim_count);
    t->bytes =
        graph_type_bytes(pgy_dtype_from_onnx(stored->data_type), stored->dims, stored->dim_count);
    if (t->bytes <= SCALAR_BYTES) t->value = value_text(b, stored);
}

static void set_constant(graph_parts *b, view_tensor *t, pgy_dtype dtype, int64_t count,
                         bool is_list, str *value)
{
    t->dtype = pgy_dtype_name(dtype);
    t->shape = is_list ? graph_shape_text(b, &count, 1) : "";
    t->bytes = graph_type_bytes(dtype, &count, 1);
    if (value->size && count == 1) t->value = collect_take(b, value);
    str_deinit(value);
}

void graph_type_constant(graph_parts *b, view_tensor *t, const pgy_onnx_node *n)
{
    for (size_t i = 0; i < n->attribute_count; i++) {
        const pgy_onnx_attribute *a = n->attributes[i];
        str s = {0};
        if (strcmp(a->name, "value") == 0 && a->t) {
            graph_type_weight(b, t, a->t);
        } else if (strcmp(a->name, "sparse_value") == 0 && a->sparse_tensor) {
            graph_type_sparse(b, t, a->sparse_tensor);
        } else if (strcmp(a->name, "value_int") == 0) {
            str_printf(&s, "%lld", (long long)a->i);
            set_constant(b, t, PGY_I64, 1, false, &s);
        } else if (strcmp(a->name, "value_float") == 0) {
            str_append_g(&s, 9, (double)a->f);
            set_constant(b, t, PGY_F32, 1, false, &s);
        } else if (strcmp(a->name, "value_string") == 0) {
            graph_append_valid(&s, a->s.data, a->s.size);
            set_constant(b, t, PGY_STRING, 1, false, &s);
        } else if (strcmp(a->name, "value_ints") == 0) {
            if (a->int_count == 1) str_printf(&s, "%lld", (long long)a->ints[0]);
            set_constant(b, t, PGY_I64, (int64_t)a->int_count, true, &s);
        } else if (strcmp(a->name, "value_floats") == 0) {
            if (a->float_count == 1) str_append_g(&s, 9, (double)a->floats[0]);
            set_constant(b, t, PGY_F32, (int64_t)a->float_count, true, &s);
        } else if (strcmp(a->name, "value_strings") == 0) {
            set_constant(b, t, PGY_STRING, (int64_t)a->string_count, true, &s);
        }
    }
}
