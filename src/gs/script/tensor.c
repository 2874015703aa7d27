/* SPDX-License-Identifier: Apache-2.0 */
/* Parses tensors in edit scripts: ones[2,3], INT64[2]=1,2, [1,2], 0.5, @file.npy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gs/script/script.h"

typedef struct elements {
    piece_list flat;
    int64_t shape[PGY_MAX_RANK];
    size_t rank;
    bool known[PGY_MAX_RANK];
} elements;

/* Collects the elements of a value or of nested lists, which must have equal lengths at each depth.
 */
static pgy_status gather(elements *e, piece p, size_t depth, arena *a, pgy_error *err)
{
    piece_list items;
    if (!piece_starts(p, "[")) {
        if (e->flat.count && e->rank != depth)
            return pgy_error_set(err, PGY_E_SHAPE,
                                 "'%s' has another nesting depth than the values before it",
                                 p.text);
        e->rank = depth;
        return piece_push(&e->flat, p, a) ? PGY_OK : gs_no_memory(err);
    }
    if (depth == 8) return pgy_error_set(err, PGY_E_SHAPE, "lists are nested too deeply");
    pgy_status st = piece_items(&items, p, a, err);
    if (st) return st;
    if (e->known[depth] && e->shape[depth] != (int64_t)items.count)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "'%s' has another length than the other lists of its level", p.text);
    e->known[depth] = true;
    e->shape[depth] = (int64_t)items.count;
    if (items.count == 0) {
        if (depth) return pgy_error_set(err, PGY_E_SHAPE, "a list inside a list is empty");
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

pgy_status value_bad_element(const char *text, const pgy_dtype_info *type, pgy_error *err)
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
            return value_bad_element(text, type, err);
        ((int64_t *)pgy_tensor_data(t))[i] = yes;
        return PGY_OK;
    }
    case PGY_KIND_SIGNED:
        if (!piece_int(&whole, text) || !fits(whole, type))
            return value_bad_element(text, type, err);
        ((int64_t *)pgy_tensor_data(t))[i] = whole;
        return PGY_OK;
    case PGY_KIND_UNSIGNED:
        errno = 0;
        ((uint64_t *)pgy_tensor_data(t))[i] = strtoull(text, &end, 10);
        if (!*text || *end || errno || strchr(text, '-') ||
            (type->bits < 64 && (!piece_int(&whole, text) || !fits(whole, type))))
            return value_bad_element(text, type, err);
        return PGY_OK;
    case PGY_KIND_FLOAT:
        if (!value_is_number(text)) return value_bad_element(text, type, err);
        ((double *)pgy_tensor_data(t))[i] = strtod(text, NULL);
        return PGY_OK;
    default:
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "elements of type %s cannot be written as values", type->onnx_name);
    }
}

/* The 64-bit type as which elements are parsed before they are cast to their own type. */
static pgy_dtype wide_type(const pgy_dtype_info *type)
{
    switch (type->kind) {
    case PGY_KIND_STRING: return PGY_STRING;
    case PGY_KIND_UNSIGNED: return PGY_U64;
    case PGY_KIND_FLOAT: return PGY_F64;
    default: return PGY_I64;
    }
}

/* Makes a tensor from one text per element, or from one text for all elements. */
static pgy_status make_tensor(pgy_tensor **out, pgy_dtype dtype, size_t rank, const int64_t *shape,
                              const piece_list *flat, pgy_error *err)
{
    const pgy_dtype_info *type = pgy_dtype_describe(dtype);
    pgy_tensor *wide = NULL;
    size_t count;
    pgy_status st = pgy_shape_count(&count, rank, shape, err);
    if (!st && flat->count != count && flat->count != 1)
        st = pgy_error_set(err, PGY_E_SHAPE, "%zu values are given, but the shape has %zu elements",
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

/* Makes a tensor of 0, 1, 2..., or of one value in all elements. */
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
    if (type->depth)
        return pgy_error_set(err, PGY_E_TYPE, "'%s' is not a tensor type, so it has no values",
                             text);
    if (type->has_shape && type->rank < 0)
        return pgy_error_set(err, PGY_E_SHAPE, "'%s': values need a shape", text);
    for (int32_t i = 0; i < type->rank; i++)
        if (type->dims[i].value < 0)
            return pgy_error_set(err, PGY_E_SHAPE, "'%s': values need fixed dimensions", text);
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

/* Reads numbers and lists without a type, as INT64 if all are integers, else as FLOAT. */
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
