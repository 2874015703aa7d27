/* SPDX-License-Identifier: Apache-2.0 */
/* Parses numbers, element types and shapes in edit scripts. tensor.c and attr.c parse tensors and
 * attributes. */
#include <stdlib.h>
#include <string.h>

#include "gs/script/script.h"

bool value_is_number(const char *text)
{
    char *end;
    if (!*text || strspn(text, " \t")) return false;
    strtod(text, &end);
    return !*end;
}

/* ---- Types and shapes ------------------------------------------------------------------------ */

static pgy_dtype find_dtype(const char *name)
{
    const pgy_dtype_info *types;
    const size_t count = pgy_dtype_list(&types);
    for (size_t i = 0; i < count; i++)
        if (str_equal_nocase(types[i].onnx_name, name)) return types[i].dtype;
    return pgy_dtype_from_name(name);
}

pgy_status value_dtype(pgy_dtype *out, const char *name, pgy_error *err)
{
    const pgy_dtype_info *types;
    const char *names[64];
    const size_t count = pgy_dtype_list(&types);
    const pgy_dtype found = find_dtype(name);
    str near = {0};
    if (found) {
        *out = found;
        return PGY_OK;
    }
    for (size_t i = 0; i < count && i < 64; i++) names[i] = types[i].onnx_name;
    gs_suggest(&near, name, names, count < 64 ? count : 64);
    const pgy_status st =
        pgy_error_set(err, PGY_E_TYPE, "there is no type '%s'%s", name, str_text(&near));
    str_deinit(&near);
    return st;
}

static pgy_status read_dim(pgy_dim *out, piece p, pgy_error *err)
{
    int64_t value;
    *out = (pgy_dim){.value = -1};
    if (!p.text[0])
        return pgy_error_set(err, PGY_E_SHAPE, "a dimension is empty; write a size, a name or ?");
    if (piece_is(p, "?")) return PGY_OK;
    if (p.quoted[0] == '0' && piece_int(&value, p.text)) {
        if (value < -1)
            return pgy_error_set(err, PGY_E_SHAPE,
                                 "%lld is not a dimension; write a size, a name or ?",
                                 (long long)value);
        out->value = value;
        return PGY_OK;
    }
    out->text = p.text;
    return PGY_OK;
}

pgy_status value_shape(type_spec *out, piece p, arena *a, pgy_error *err)
{
    piece_list items;
    *out = (type_spec){.has_shape = true, .rank = -1};
    if (piece_is(p, "[*]")) return PGY_OK;
    pgy_status st = piece_items(&items, p, a, err);
    if (st) return st;
    if (items.count > PGY_MAX_RANK)
        return pgy_error_set(err, PGY_E_SHAPE, "the shape has %zu dimensions, which is too many",
                             items.count);
    out->dims = arena_alloc_array(a, items.count + 1, sizeof *out->dims);
    if (!out->dims) return gs_no_memory(err);
    for (size_t i = 0; !st && i < items.count; i++)
        st = read_dim(&out->dims[i], items.items[i], err);
    out->rank = (int32_t)items.count;
    return st;
}

/* Reads and strips "seq(", "optional(" and "tensor(" from a type. */
static pgy_status read_kinds(type_spec *out, piece *p, arena *a, pgy_error *err)
{
    static const struct {
        const char *text;
        pgy_value_kind kind;
    } KINDS[] = {{"seq(", PGY_VALUE_SEQUENCE},
                 {"optional(", PGY_VALUE_OPTIONAL},
                 {"tensor(", PGY_VALUE_TENSOR}};
    for (size_t i = 0; i < 3;) {
        const size_t size = strlen(KINDS[i].text), whole = strlen(p->text);
        if (!piece_starts(*p, KINDS[i].text)) {
            i++;
            continue;
        }
        if (p->text[whole - 1] != ')' || p->quoted[whole - 1] != '0')
            return pgy_error_set(err, PGY_E_ARGUMENT, "'%s' lacks its ')'", p->text);
        if (out->depth == sizeof out->kinds / sizeof *out->kinds)
            return pgy_error_set(err, PGY_E_ARGUMENT, "the type is nested too deeply");
        piece inner = piece_from(*p, size);
        inner.text = arena_strndup(a, inner.text, whole - size - 1);
        inner.quoted = arena_strndup(a, inner.quoted, whole - size - 1);
        if (!inner.text || !inner.quoted) return gs_no_memory(err);
        *p = inner;
        out->has_kind = true;
        if (KINDS[i].kind != PGY_VALUE_TENSOR) out->kinds[out->depth++] = KINDS[i].kind;
        i = KINDS[i].kind == PGY_VALUE_TENSOR ? 3 : 0;
    }
    return PGY_OK;
}

pgy_status value_apply_type(pgy_gs_tensor *t, const type_spec *type, pgy_error *err)
{
    if (type->has_kind)
        return pgy_gs_set_nested_type(t, type->kinds, type->depth, type->dtype, type->rank,
                                      type->dims, err);
    return pgy_gs_set_type(t, type->dtype, type->rank, type->dims, err);
}

pgy_status value_type(type_spec *out, piece p, arena *a, pgy_error *err)
{
    type_spec type = {.rank = -1};
    pgy_status st = read_kinds(&type, &p, a, err);
    if (st) return st;
    const char *bracket = piece_find(p, '[');
    const size_t size = bracket ? (size_t)(bracket - p.text) : strlen(p.text);
    const char *name = arena_strndup(a, p.text, size);
    if (!name) return gs_no_memory(err);
    type_spec shape = {.rank = -1};
    if (bracket) st = value_shape(&shape, piece_from(p, size), a, err);
    type.has_shape = shape.has_shape;
    type.rank = shape.rank;
    type.dims = shape.dims;
    if (!st && (size || !bracket)) st = value_dtype(&type.dtype, name, err);
    if (!st) *out = type;
    return st;
}
