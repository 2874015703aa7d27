/* SPDX-License-Identifier: Apache-2.0 */
/* Parses attribute values in edit scripts: 3, 0.5, text, [1,2], or with a prefix that gives the
 * kind, such as int:3. */
#include <stdlib.h>
#include <string.h>

#include "gs/script/script.h"

static pgy_status attr_ints(pgy_gs_attr *out, const char *name, const piece_list *list, arena *a,
                            pgy_error *err)
{
    int64_t *values = arena_alloc_array(a, list->count + 1, sizeof *values);
    if (!values) return gs_no_memory(err);
    for (size_t i = 0; i < list->count; i++)
        if (!piece_int(&values[i], list->items[i].text))
            return value_bad_element(list->items[i].text, pgy_dtype_describe(PGY_I64), err);
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
            return value_bad_element(list->items[i].text, pgy_dtype_describe(PGY_F32), err);
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

/* True for text: anything quoted, and whatever is not a number. */
static bool is_text(piece p)
{
    return strchr(p.quoted, '1') || !value_is_number(p.text);
}

/* Kind of a list's items. 'i': all integers, 'f': all numbers, 's': all texts, '?': mixed. */
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
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "'%s' mixes numbers and strings; write texts:%s to make all of them strings", p.text,
            p.text);
    if (is_list)
        return kind == 'i'   ? attr_ints(out, name, &list, a, err)
               : kind == 'f' ? attr_floats(out, name, &list, a, err)
                             : attr_texts(out, name, &list, a, err);
    int64_t whole = 0;
    if (kind == 'i' && piece_int(&whole, p.text))
        *out = pgy_gs_attr_int(name, whole);
    else if (kind == 'f' && is_whole(p.text))
        return value_bad_element(p.text, pgy_dtype_describe(PGY_I64), err);
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
        st = value_dtype(&dtype, rest.text, err);
        if (!st) *out = pgy_gs_attr_dtype(name, dtype);
        return st;
    case 7:
        st = value_tensor(held, &plain, rest, a, err);
        if (!st) *out = pgy_gs_attr_tensor(name, *held);
        return st;
    default: return attr_ref(out, name, rest, a, err);
    }
}
