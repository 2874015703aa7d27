/* SPDX-License-Identifier: Apache-2.0 */
/* Formats types, edges and attributes for the list of an edit's changes. */
#include "gs/edit/changes.h"

#include <string.h>

void change_put_names(str *s, pgy_gs_tensor *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) str_printf(s, "%s%s", i ? ", " : "", list[i]->name);
}

static void put_element_type(str *s, const pgy_gs_tensor *t)
{
    str_append(s, t->dtype ? pgy_dtype_describe(t->dtype)->onnx_name : "?");
    if (t->rank < 0) return;
    str_append(s, "[");
    for (int32_t i = 0; i < t->rank; i++) {
        if (i) str_append(s, ",");
        if (t->dims[i].value >= 0)
            str_printf(s, "%lld", (long long)t->dims[i].value);
        else
            str_append(s, t->dims[i].text ? t->dims[i].text : "?");
    }
    str_append(s, "]");
}

/* Of nested sequences and optionals, names only the outermost. */
void change_put_type(str *s, const pgy_gs_tensor *t)
{
    const bool is_list = t->type_kind == PGY_VALUE_SEQUENCE && t->kind == PGY_GS_VARIABLE;
    const bool is_optional = t->type_kind == PGY_VALUE_OPTIONAL && t->kind == PGY_GS_VARIABLE;
    if (is_list || is_optional) str_append(s, is_list ? "seq(" : "optional(");
    put_element_type(s, t);
    if (is_list || is_optional) str_append(s, ")");
}

void change_put_edges(str *s, const pgy_gs_node *n)
{
    str_append(s, "(");
    change_put_names(s, n->inputs, n->input_count);
    str_append(s, " -> ");
    change_put_names(s, n->outputs, n->output_count);
    str_append(s, ")");
}

/* Appends a short text of an attribute's value. Different values may have the same text, such as
 * two tensors. */
void change_put_attribute(str *s, const pgy_gs_attribute *attribute)
{
    const pgy_onnx_attribute *a = attribute->value;
    if (attribute->graphs || !a) {
        str_append(s, "graph");
        return;
    }
    if (*a->ref_attr_name) {
        str_printf(s, "@%s", a->ref_attr_name);
        return;
    }
    switch (pgy_onnx_attribute_kind(a)) {
    case PGY_ATTR_FLOAT: str_printf(s, "%.9g", a->f); break;
    case PGY_ATTR_INT: str_printf(s, "%lld", (long long)a->i); break;
    case PGY_ATTR_STRING: str_append_n(s, a->s.data, a->s.size); break;
    case PGY_ATTR_INTS:
        for (size_t i = 0; i < a->int_count; i++)
            str_printf(s, "%s%lld", i ? "," : "[", (long long)a->ints[i]);
        str_append(s, a->int_count ? "]" : "[]");
        break;
    case PGY_ATTR_FLOATS:
        for (size_t i = 0; i < a->float_count; i++)
            str_printf(s, "%s%.9g", i ? "," : "[", a->floats[i]);
        str_append(s, a->float_count ? "]" : "[]");
        break;
    case PGY_ATTR_STRINGS:
        for (size_t i = 0; i < a->string_count; i++) {
            str_append(s, i ? "," : "[");
            str_append_n(s, a->strings[i].data, a->strings[i].size);
        }
        str_append(s, a->string_count ? "]" : "[]");
        break;
    case PGY_ATTR_TENSOR: str_append(s, "tensor"); break;
    default: str_append(s, "value"); break;
    }
}
