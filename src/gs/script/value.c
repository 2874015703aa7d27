/* SPDX-License-Identifier: Apache-2.0 */
/* The values of edit scripts: types, shapes, tensors written out, attributes. */
#include <errno.h>
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

static pgy_status read_dtype(pgy_dtype *out, const char *name, pgy_error *err)
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
        return pgy_error_set(err, PGY_E_SHAPE, "a shape of %zu dimensions is too long",
                             items.count);
    out->dims = arena_alloc_array(a, items.count + 1, sizeof *out->dims);
    if (!out->dims) return gs_no_memory(err);
    for (size_t i = 0; !st && i < items.count; i++)
        st = read_dim(&out->dims[i], items.items[i], err);
    out->rank = (int32_t)items.count;
    return st;
}

/* Strips "seq(", "optional(" and "tensor(" from a type. */
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
            return pgy_error_set(err, PGY_E_ARGUMENT, "types are nested too deep");
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
    if (!st && (size || !bracket)) st = read_dtype(&type.dtype, name, err);
    if (!st) *out = type;
    return st;
}

/* ---- Elements -------------------------------------------------------------------------------- */

typedef struct elements {
    piece_list flat;
    int64_t shape[PGY_MAX_RANK];
    size_t rank;
    bool known[PGY_MAX_RANK];
} elements;

/* Flattens a value, or nested lists that must form a full shape. */
static pgy_status gather(elements *e, piece p, size_t depth, arena *a, pgy_error *err)
{
    piece_list items;
    if (!piece_starts(p, "[")) {
        if (e->flat.count && e->rank != depth)
            return pgy_error_set(err, PGY_E_SHAPE,
                                 "'%s' is nested less or more deeply than the values before it",
                                 p.text);
        e->rank = depth;
        return piece_push(&e->flat, p, a) ? PGY_OK : gs_no_memory(err);
    }
    if (depth == 8) return pgy_error_set(err, PGY_E_SHAPE, "lists are nested too deep");
    pgy_status st = piece_items(&items, p, a, err);
    if (st) return st;
    if (e->known[depth] && e->shape[depth] != (int64_t)items.count)
        return pgy_error_set(err, PGY_E_SHAPE, "'%s' differs in length from the lists beside it",
                             p.text);
    e->known[depth] = true;
    e->shape[depth] = (int64_t)items.count;
    if (items.count == 0) {
        if (depth) return pgy_error_set(err, PGY_E_SHAPE, "an empty list inside a list");
        e->rank = 1;
    }
    for (size_t i = 0; !st && i < items.count; i++)
        st = gather(e, items.items[i], depth + 1, a, err);
    return st;
}

static bool fits(int64_t value, const pgy_dtype_info *type)
{
    if (type->bits >= 64) return type->kind == PGY_KIND_SIGNED || value >= 0;
    if (type->kind == PGY_KIND_UNSIGNED) return value >= 0 && value < (int64_t)1 << type->bits;
    const int64_t half = (int64_t)1 << (type->bits - 1);
    return value >= -half && value < half;
}

static pgy_status bad_element(const char *text, const pgy_dtype_info *type, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_TYPE, "'%s' is not a value of type %s", text, type->onnx_name);
}

static pgy_status read_element(pgy_tensor *t, size_t i, const char *text,
                               const pgy_dtype_info *type, pgy_error *err)
{
    int64_t whole;
    char *end;
    switch (type->kind) {
    case PGY_KIND_STRING: return pgy_tensor_set_string(t, i, text, strlen(text), err);
    case PGY_KIND_BOOL: {
        const bool yes = strcmp(text, "1") == 0 || str_equal_nocase(text, "true");
        if (!yes && strcmp(text, "0") != 0 && !str_equal_nocase(text, "false"))
            return bad_element(text, type, err);
        ((int64_t *)pgy_tensor_data(t))[i] = yes;
        return PGY_OK;
    }
    case PGY_KIND_SIGNED:
        if (!piece_int(&whole, text) || !fits(whole, type)) return bad_element(text, type, err);
        ((int64_t *)pgy_tensor_data(t))[i] = whole;
        return PGY_OK;
    case PGY_KIND_UNSIGNED:
        errno = 0;
        ((uint64_t *)pgy_tensor_data(t))[i] = strtoull(text, &end, 10);
        if (!*text || *end || errno || strchr(text, '-') ||
            (type->bits < 64 && (!piece_int(&whole, text) || !fits(whole, type))))
            return bad_element(text, type, err);
        return PGY_OK;
    case PGY_KIND_FLOAT:
        if (!value_is_number(text)) return bad_element(text, type, err);
        ((double *)pgy_tensor_data(t))[i] = strtod(text, NULL);
        return PGY_OK;
    default: return pgy_error_set(err, PGY_E_UNSUPPORTED, "values of %s", type->onnx_name);
    }
}

/* The type in which elements are read, before the cast to their own. */
static pgy_dtype wide_type(const pgy_dtype_info *type)
{
    switch (type->kind) {
    case PGY_KIND_STRING: return PGY_STRING;
    case PGY_KIND_UNSIGNED: return PGY_U64;
    case PGY_KIND_FLOAT: return PGY_F64;
    default: return PGY_I64;
    }
}

/* Makes a tensor from one piece per element, or from one piece for all. */
static pgy_status make_tensor(pgy_tensor **out, pgy_dtype dtype, size_t rank, const int64_t *shape,
                              const piece_list *flat, pgy_error *err)
{
    const pgy_dtype_info *type = pgy_dtype_describe(dtype);
    pgy_tensor *wide = NULL;
    size_t count;
    pgy_status st = pgy_shape_count(&count, rank, shape, err);
    if (!st && flat->count != count && flat->count != 1)
        st = pgy_error_set(err, PGY_E_SHAPE, "%zu values are given for a shape of %zu elements",
                           flat->count, count);
    if (!st) st = pgy_tensor_create(&wide, wide_type(type), rank, shape, err);
    for (size_t i = 0; !st && i < count && i < flat->count; i++)
        st = read_element(wide, i, flat->items[i].text, type, err);
    if (!st && flat->count == 1 && count > 1 && dtype != PGY_STRING) {
        uint64_t *x = pgy_tensor_data(wide);
        for (size_t i = 1; i < count; i++) x[i] = x[0];
    }
    for (size_t i = 1; !st && flat->count == 1 && dtype == PGY_STRING && i < count; i++)
        st = read_element(wide, i, flat->items[0].text, type, err);
    if (!st && wide_type(type) == dtype) {
        *out = wide;
        return PGY_OK;
    }
    if (!st) st = pgy_tensor_cast(out, pgy_tensor_view(wide), dtype, err);
    pgy_tensor_release(wide);
    return st;
}

/* A tensor of 0, 1, 2..., or of one value everywhere. */
static pgy_status make_filled(pgy_tensor **out, const char *fill, const type_spec *type, arena *a,
                              pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    size_t count;
    const pgy_dtype dtype = type->dtype ? type->dtype : PGY_F32;
    const piece value = {.text = strcmp(fill, "ones") == 0 ? "1" : "0", .quoted = "0"};
    piece_list flat = {0};
    for (int32_t i = 0; i < type->rank; i++) shape[i] = type->dims[i].value;
    if (strcmp(fill, "iota") != 0) {
        if (!piece_push(&flat, value, a)) return gs_no_memory(err);
        return make_tensor(out, dtype, (size_t)type->rank, shape, &flat, err);
    }
    pgy_tensor *wide = NULL;
    pgy_status st = pgy_tensor_create(&wide, PGY_I64, (size_t)type->rank, shape, err);
    if (st) return st;
    count = pgy_tensor_count(wide);
    int64_t *x = pgy_tensor_data(wide);
    for (size_t i = 0; i < count; i++) x[i] = (int64_t)i;
    st = dtype == PGY_STRING ? pgy_error_set(err, PGY_E_TYPE, "iota cannot make STRING")
                             : pgy_tensor_cast(out, pgy_tensor_view(wide), dtype, err);
    pgy_tensor_release(wide);
    return st;
}

static pgy_status check_static(const type_spec *type, const char *text, pgy_error *err)
{
    if (type->depth) return pgy_error_set(err, PGY_E_TYPE, "'%s': only tensors have values", text);
    if (type->has_shape && type->rank < 0)
        return pgy_error_set(err, PGY_E_SHAPE, "'%s': values need a shape", text);
    for (int32_t i = 0; i < type->rank; i++)
        if (type->dims[i].value < 0)
            return pgy_error_set(err, PGY_E_SHAPE, "'%s': values need dimensions that are numbers",
                                 text);
    return PGY_OK;
}

static pgy_status read_filled(pgy_tensor **out, const char *fill, piece rest, arena *a,
                              pgy_error *err)
{
    type_spec type = {.rank = 0};
    pgy_status st = PGY_OK;
    if (piece_starts(rest, ":")) rest = piece_from(rest, 1);
    if (rest.text[0]) st = value_type(&type, rest, a, err);
    if (!st && !type.has_shape) type.rank = 0;
    if (!st) st = check_static(&type, rest.text, err);
    return st ? st : make_filled(out, fill, &type, a, err);
}

/* Numbers and lists without a type: INT64 if all are whole, else FLOAT. */
static pgy_status read_plain(pgy_tensor **out, piece p, arena *a, pgy_error *err)
{
    elements e = {0};
    int64_t whole;
    pgy_dtype dtype = PGY_I64;
    const pgy_status st = gather(&e, p, 0, a, err);
    if (st) return st;
    for (size_t i = 0; i < e.flat.count; i++)
        if (!piece_int(&whole, e.flat.items[i].text)) dtype = PGY_F32;
    return make_tensor(out, dtype, e.rank, e.shape, &e.flat, err);
}

static pgy_status read_typed(pgy_tensor **out, piece p, arena *a, pgy_error *err)
{
    const char *equals = piece_find(p, '=');
    elements e = {0};
    type_spec type;
    int64_t shape[PGY_MAX_RANK];
    if (!equals)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s' is not a tensor; write ones[2,3], FLOAT[2]=1,2, [1,2], 0.5 or "
                             "@file.npy",
                             p.text);
    const size_t size = (size_t)(equals - p.text);
    piece head = p;
    head.text = arena_strndup(a, p.text, size);
    head.quoted = arena_strndup(a, p.quoted, size);
    if (!head.text || !head.quoted) return gs_no_memory(err);
    pgy_status st = value_type(&type, head, a, err);
    if (!st) st = check_static(&type, head.text, err);
    const piece tail = piece_from(p, size + 1);
    if (!st && type.has_shape && !piece_starts(tail, "["))
        st = piece_split(&e.flat, tail, a, err);
    else if (!st)
        st = gather(&e, tail, 0, a, err);
    if (st) return st;
    for (int32_t i = 0; i < type.rank; i++) shape[i] = type.dims[i].value;
    return make_tensor(out, type.dtype ? type.dtype : PGY_F32,
                       type.has_shape ? (size_t)type.rank : e.rank,
                       type.has_shape ? shape : e.shape, &e.flat, err);
}

pgy_status value_tensor(pgy_tensor **out, bool *plain, piece p, arena *a, pgy_error *err)
{
    static const char *const FILLS[] = {"ones", "zeros", "iota"};
    *plain = piece_starts(p, "[") || value_is_number(p.text);
    if (*plain) return read_plain(out, p, a, err);
    if (piece_starts(p, "@")) return pgy_npy_load(out, p.text + 1, err);
    for (size_t i = 0; i < sizeof FILLS / sizeof *FILLS; i++) {
        const size_t size = strlen(FILLS[i]);
        if (piece_starts(p, FILLS[i]) &&
            (!p.text[size] || p.text[size] == '[' || p.text[size] == ':'))
            return read_filled(out, FILLS[i], piece_from(p, size), a, err);
    }
    return read_typed(out, p, a, err);
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static pgy_status attr_ints(pgy_gs_attr *out, const char *name, const piece_list *list, arena *a,
                            pgy_error *err)
{
    int64_t *values = arena_alloc_array(a, list->count + 1, sizeof *values);
    if (!values) return gs_no_memory(err);
    for (size_t i = 0; i < list->count; i++)
        if (!piece_int(&values[i], list->items[i].text))
            return bad_element(list->items[i].text, pgy_dtype_describe(PGY_I64), err);
    *out = pgy_gs_attr_ints(name, values, list->count);
    return PGY_OK;
}

static pgy_status attr_floats(pgy_gs_attr *out, const char *name, const piece_list *list, arena *a,
                              pgy_error *err)
{
    float *values = arena_alloc_array(a, list->count + 1, sizeof *values);
    if (!values) return gs_no_memory(err);
    for (size_t i = 0; i < list->count; i++) {
        if (!value_is_number(list->items[i].text))
            return bad_element(list->items[i].text, pgy_dtype_describe(PGY_F32), err);
        values[i] = strtof(list->items[i].text, NULL);
    }
    *out = pgy_gs_attr_floats(name, values, list->count);
    return PGY_OK;
}

static pgy_status attr_texts(pgy_gs_attr *out, const char *name, const piece_list *list, arena *a,
                             pgy_error *err)
{
    const char **values = arena_alloc_array(a, list->count + 1, sizeof *values);
    if (!values) return gs_no_memory(err);
    for (size_t i = 0; i < list->count; i++) values[i] = list->items[i].text;
    *out = pgy_gs_attr_texts(name, values, list->count);
    return PGY_OK;
}

/* True for an integer, even if it does not fit an int64. */
static bool is_whole(const char *text)
{
    text += *text == '-' || *text == '+';
    return *text && !text[strspn(text, "0123456789")];
}

/* Quoted pieces are text. */
static bool is_text(piece p)
{
    return strchr(p.quoted, '1') || !value_is_number(p.text);
}

/* 'i': whole numbers, 'f': numbers, 's': texts, '?': numbers and texts. */
static char kind_of(const piece_list *list)
{
    char kind = 'i';
    int64_t whole;
    size_t texts = 0;
    for (size_t i = 0; i < list->count; i++) {
        texts += is_text(list->items[i]);
        if (!piece_int(&whole, list->items[i].text)) kind = 'f';
    }
    if (texts) return texts == list->count ? 's' : '?';
    return kind;
}

static pgy_status attr_guess(pgy_gs_attr *out, const char *name, piece p, arena *a, pgy_error *err)
{
    piece_list list = {0};
    const bool is_list = piece_starts(p, "[");
    if (is_list) {
        const pgy_status st = piece_items(&list, p, a, err);
        if (st) return st;
    } else if (!piece_push(&list, p, a)) {
        return gs_no_memory(err);
    }
    const char kind = kind_of(&list);
    if (kind == '?')
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s' has numbers and texts; write texts:%s if all are texts", p.text,
                             p.text);
    if (is_list)
        return kind == 'i'   ? attr_ints(out, name, &list, a, err)
               : kind == 'f' ? attr_floats(out, name, &list, a, err)
                             : attr_texts(out, name, &list, a, err);
    int64_t whole = 0;
    if (kind == 'i' && piece_int(&whole, p.text))
        *out = pgy_gs_attr_int(name, whole);
    else if (kind == 'f' && is_whole(p.text))
        return bad_element(p.text, pgy_dtype_describe(PGY_I64), err);
    else if (kind == 'f')
        *out = pgy_gs_attr_float(name, strtof(p.text, NULL));
    else
        *out = pgy_gs_attr_text(name, p.text);
    return PGY_OK;
}

static pgy_status attr_ref(pgy_gs_attr *out, const char *name, piece p, arena *a, pgy_error *err)
{
    static const char *const KINDS[] = {
        [PGY_ATTR_FLOAT] = "FLOAT",     [PGY_ATTR_INT] = "INT",
        [PGY_ATTR_STRING] = "STRING",   [PGY_ATTR_TENSOR] = "TENSOR",
        [PGY_ATTR_GRAPH] = "GRAPH",     [PGY_ATTR_FLOATS] = "FLOATS",
        [PGY_ATTR_INTS] = "INTS",       [PGY_ATTR_STRINGS] = "STRINGS",
        [PGY_ATTR_TENSORS] = "TENSORS", [PGY_ATTR_GRAPHS] = "GRAPHS",
    };
    const char *colon = strrchr(p.text, ':');
    if (colon)
        for (size_t i = 1; i < sizeof KINDS / sizeof *KINDS; i++)
            if (strcmp(KINDS[i], colon + 1) == 0) {
                const char *ref = arena_strndup(a, p.text, (size_t)(colon - p.text));
                if (!ref) return gs_no_memory(err);
                *out = pgy_gs_attr_ref(name, ref, (pgy_onnx_attribute_type)i);
                return PGY_OK;
            }
    return pgy_error_set(err, PGY_E_ARGUMENT, "'ref:%s' lacks a kind; write ref:alpha:FLOAT",
                         p.text);
}

pgy_status value_attr(pgy_gs_attr *out, pgy_tensor **held, const char *name, piece p, arena *a,
                      pgy_error *err)
{
    static const char *const PREFIXES[] = {
        "int:", "float:", "text:", "ints:", "floats:", "texts:", "type:", "tensor:", "ref:"};
    size_t kind = 0;
    while (kind < 9 && !piece_starts(p, PREFIXES[kind])) kind++;
    if (kind == 9) return attr_guess(out, name, p, a, err);
    const piece rest = piece_from(p, strlen(PREFIXES[kind]));
    piece_list list = {0};
    pgy_dtype dtype;
    bool plain;
    pgy_status st = PGY_OK;
    if (kind >= 3 && kind <= 5) st = piece_items(&list, rest, a, err);
    if (kind < 2 && !piece_push(&list, rest, a)) return gs_no_memory(err);
    if (st) return st;
    switch (kind) {
    case 0:
        st = attr_ints(out, name, &list, a, err);
        if (!st) *out = pgy_gs_attr_int(name, out->value.ints[0]);
        return st;
    case 1:
        st = attr_floats(out, name, &list, a, err);
        if (!st) *out = pgy_gs_attr_float(name, out->value.floats[0]);
        return st;
    case 2: *out = pgy_gs_attr_text(name, rest.text); return PGY_OK;
    case 3: return attr_ints(out, name, &list, a, err);
    case 4: return attr_floats(out, name, &list, a, err);
    case 5: return attr_texts(out, name, &list, a, err);
    case 6:
        st = read_dtype(&dtype, rest.text, err);
        if (!st) *out = pgy_gs_attr_dtype(name, dtype);
        return st;
    case 7:
        st = value_tensor(held, &plain, rest, a, err);
        if (!st) *out = pgy_gs_attr_tensor(name, *held);
        return st;
    default: return attr_ref(out, name, rest, a, err);
    }
}
