/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of types, shapes, attributes and names for entries. Long lists are cut, because their
 * values are compared elsewhere. */
#include <string.h>

#include "base/alloc.h"
#include "base/pytext.h"
#include "inspect/diff.h"

enum { LIST_SHOWN = 16, TEXT_SHOWN = 400 };

const char *diff_text(pgy_diff *d, str *s)
{
    const char *kept = s->failed ? NULL : arena_strdup(&d->memory, str_text(s));
    str_deinit(s);
    if (!kept) d->failed = true;
    return kept ? kept : "";
}

const char *diff_text_int(pgy_diff *d, int64_t v)
{
    str s = {0};
    str_printf(&s, "%lld", (long long)v);
    return diff_text(d, &s);
}

static void append_code(str *s, int32_t code)
{
    const pgy_dtype_info *info = pgy_dtype_describe(pgy_dtype_from_onnx(code));
    if (info->dtype)
        str_append(s, info->name);
    else
        str_printf(s, "type %d", (int)code);
}

static void append_shape(str *s, const pgy_onnx_shape *shape)
{
    str_append(s, " (");
    for (size_t i = 0; i < shape->dim_count; i++) {
        const pgy_onnx_dim *dim = shape->dims[i];
        if (i) str_append(s, ", ");
        if (dim->message.present >> 2 & 1 || dim->dim_param[0])
            str_append_py_repr(s, dim->dim_param);
        else if (dim->message.present >> 1 & 1 || dim->dim_value)
            str_printf(s, "%lld", (long long)dim->dim_value);
        else
            str_append_char(s, '?');
        if (dim->denotation[0]) str_printf(s, " <%.100s>", dim->denotation);
    }
    str_append(s, shape->dim_count == 1 ? ",)" : ")");
}

static void append_tensor_type(str *s, const pgy_onnx_tensor_type *t)
{
    append_code(s, t->elem_type);
    if (t->shape)
        append_shape(s, t->shape);
    else
        str_append(s, " of any rank");
}

static void append_type(str *s, const pgy_onnx_type *t, int depth)
{
    if (!t || depth > DIFF_MAX_DEPTH) {
        str_append(s, "no type");
        return;
    }
    if (t->tensor_type) append_tensor_type(s, t->tensor_type);
    if (t->sparse_tensor_type) {
        str_append(s, "sparse ");
        append_tensor_type(s, t->sparse_tensor_type);
    }
    if (t->sequence_type || t->optional_type) {
        str_append(s, t->sequence_type ? "sequence of " : "optional ");
        append_type(s, (t->sequence_type ? t->sequence_type : t->optional_type)->elem_type,
                    depth + 1);
    }
    if (t->map_type) {
        str_append(s, "map of ");
        append_code(s, t->map_type->key_type);
        str_append(s, " to ");
        append_type(s, t->map_type->value_type, depth + 1);
    }
    if (t->opaque_type)
        str_printf(s, "opaque %.200s.%.200s", t->opaque_type->domain, t->opaque_type->name);
    if (!t->tensor_type && !t->sparse_tensor_type && !t->sequence_type && !t->optional_type &&
        !t->map_type && !t->opaque_type)
        str_append(s, "no type");
    if (t->denotation[0]) str_printf(s, " <%.100s>", t->denotation);
}

const char *diff_text_type(pgy_diff *d, const pgy_onnx_type *t)
{
    str s = {0};
    append_type(&s, t, 0);
    return diff_text(d, &s);
}

static void append_tensor(str *s, const pgy_onnx_tensor *t)
{
    append_code(s, t->data_type);
    str_append_char(s, ' ');
    str_append_py_tuple(s, t->dims, t->dim_count);
}

const char *diff_text_tensor(pgy_diff *d, const pgy_onnx_tensor *t)
{
    str s = {0};
    append_tensor(&s, t);
    return diff_text(d, &s);
}

static void append_bytes(str *s, pgy_bytes b)
{
    str text = {0};
    str_append_n(&text, b.data, b.size < TEXT_SHOWN ? b.size : TEXT_SHOWN);
    str_append_py_repr(s, str_text(&text));
    if (b.size > TEXT_SHOWN) str_printf(s, "... (%zu bytes)", b.size);
    str_deinit(&text);
}

static void append_float(str *s, float v)
{
    char text[40];
    py_float_repr(text, v);
    str_append(s, text);
}

static void append_item(str *s, const pgy_onnx_attribute *a, pgy_onnx_attribute_type kind, size_t i)
{
    switch (kind) {
    case PGY_ATTR_FLOATS: append_float(s, a->floats[i]); break;
    case PGY_ATTR_INTS: str_printf(s, "%lld", (long long)a->ints[i]); break;
    case PGY_ATTR_STRINGS: append_bytes(s, a->strings[i]); break;
    case PGY_ATTR_TENSORS: append_tensor(s, a->tensors[i]); break;
    case PGY_ATTR_GRAPHS: str_printf(s, "graph of %zu nodes", a->graphs[i]->node_count); break;
    case PGY_ATTR_TYPE_PROTOS: append_type(s, a->type_protos[i], 0); break;
    default: str_append(s, "sparse"); break;
    }
}

static void append_list(str *s, const pgy_onnx_attribute *a, pgy_onnx_attribute_type kind)
{
    const size_t count = pgy_onnx_attribute_count(a);
    str_append_char(s, '[');
    for (size_t i = 0; i < count && i < LIST_SHOWN; i++) {
        if (i) str_append(s, ", ");
        append_item(s, a, kind, i);
    }
    if (count > LIST_SHOWN) str_printf(s, ", ... (%zu items)", count);
    str_append_char(s, ']');
}

const char *diff_text_attribute(pgy_diff *d, const pgy_onnx_attribute *a)
{
    const pgy_onnx_attribute_type kind = pgy_onnx_attribute_kind(a);
    str s = {0};
    if (a->ref_attr_name[0])
        str_printf(&s, "@%.400s", a->ref_attr_name);
    else if (kind == PGY_ATTR_FLOAT)
        append_float(&s, a->f);
    else if (kind == PGY_ATTR_INT)
        str_printf(&s, "%lld", (long long)a->i);
    else if (kind == PGY_ATTR_STRING)
        append_bytes(&s, a->s);
    else if (kind == PGY_ATTR_TENSOR && a->t)
        append_tensor(&s, a->t);
    else if (kind == PGY_ATTR_GRAPH && a->g)
        str_printf(&s, "graph of %zu nodes", a->g->node_count);
    else if (kind == PGY_ATTR_TYPE_PROTO && a->tp)
        append_type(&s, a->tp, 0);
    else if (kind == PGY_ATTR_SPARSE_TENSOR)
        str_append(&s, "sparse");
    else
        append_list(&s, a, kind);
    return diff_text(d, &s);
}

const char *diff_text_props(pgy_diff *d, pgy_onnx_string_entry *const *items, size_t count)
{
    str s = {0};
    for (size_t i = 0; i < count; i++) {
        if (i) str_append(&s, ", ");
        str_printf(&s, "%.*s=%.*s", TEXT_SHOWN, items[i]->key, TEXT_SHOWN, items[i]->value);
    }
    return diff_text(d, &s);
}

const char *diff_text_node(pgy_diff *d, const pgy_onnx_node *n)
{
    if (n->name[0]) return n->name;
    str s = {0};
    str_append(&s, "(makes ");
    for (size_t i = 0; i < n->output_count && i < LIST_SHOWN; i++)
        str_printf(&s, "%s%.400s", i ? ", " : "", n->outputs[i]);
    str_append_char(&s, ')');
    return diff_text(d, &s);
}

const char *diff_domain(const pgy_onnx_node *n)
{
    return strcmp(n->domain, "ai.onnx") == 0 ? "" : n->domain;
}
