/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence of ONNX Runtime is a value of values; an optional is its element, or an empty value.
 * The C interface can make neither an empty sequence nor an empty optional, so these cannot be
 * inputs. */
#include "backends/onnxruntime/sequence.h"

#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "tensor/elements.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Types ---------------------------------------------------------------------------------- */

static pgy_status read_element(ort_form *out, const ort_api *api, const ort_type_info *type,
                               const char *name, pgy_error *err)
{
    const ort_sequence_info *sequence = NULL;
    const ort_shape_info *tensor = NULL;
    ort_type_info *element = NULL;
    int kind = ORT_UNKNOWN, code = 0;
    pgy_status st = ort_check(api, api->sequence_info_of(type, &sequence), name, err);
    if (!st) st = ort_check(api, api->sequence_element(sequence, &element), name, err);
    if (!st) st = ort_check(api, api->kind_of(element, &kind), name, err);
    if (!st && kind == ORT_TENSOR)
        st = ort_check(api, api->tensor_info_of(element, &tensor), name, err);
    if (!st && tensor) st = ort_check(api, api->element_type(tensor, &code), name, err);
    if (!st && tensor) out->element = ort_dtype_from_type(code);
    if (element) api->release_type_info(element);
    return st;
}

pgy_status ort_form_read(ort_form *out, const ort_api *api, const ort_type_info *type,
                         const char *name, pgy_error *err)
{
    int kind = ORT_UNKNOWN;
    pgy_status st = ort_check(api, api->kind_of(type, &kind), name, err);
    if (st) return st;
    /* The fed tensors show what an optional holds, so its element type is not read here. */
    *out = (ort_form){.form = kind == ORT_TENSOR     ? PGY_FORM_TENSOR
                              : kind == ORT_SEQUENCE ? PGY_FORM_SEQUENCE
                              : kind == ORT_OPTIONAL ? PGY_FORM_OPTIONAL_SEQUENCE
                              : kind == ORT_MAP      ? PGY_FORM_MAP
                                                     : PGY_FORM_OTHER};
    return kind == ORT_SEQUENCE ? read_element(out, api, type, name, err) : PGY_OK;
}

/* ---- Inputs --------------------------------------------------------------------------------- */

static pgy_status feed_sequence(ort_value **out, const ort_api *api, const char *name,
                                const pgy_tensor_map *feed, pgy_error *err)
{
    size_t count = 0, made = 0;
    str element = {0};
    pgy_status st = elements_count(&count, feed, name, err);
    if (st) return st;
    if (!count)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "input '%s' is an empty sequence; the C interface of ONNX Runtime cannot create one",
            name);
    ort_value **values = mem_calloc(count, sizeof *values);
    if (!values) return no_memory(err);
    for (; !st && made < count; made++) {
        str_clear(&element);
        str_printf(&element, "%s[%zu]", name, made);
        const pgy_tensor *t = pgy_tensor_map_find(feed, str_text(&element));
        if (element.failed)
            st = no_memory(err);
        else if (!t)
            st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                               "input '%s' is a sequence of sequences; ONNX Runtime takes "
                               "sequences of tensors only",
                               name);
        else
            st = ort_value_from_tensor(&values[made], api, str_text(&element), t, err);
    }
    if (!st)
        st = ort_check(
            api, api->create_sequence((const ort_value *const *)values, count, ORT_SEQUENCE, out),
            name, err);
    for (size_t i = 0; i < count; i++)
        if (values[i]) api->release_value(values[i]);
    mem_free(values);
    str_deinit(&element);
    return st;
}

static pgy_status feed_map(ort_value **out, const ort_api *api, const char *name,
                           const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_tensor *keys, *values;
    ort_value *parts[2] = {NULL, NULL};
    pgy_status st = elements_map(&keys, &values, feed, name, err);
    if (!st && !keys)
        st = pgy_error_set(err, PGY_E_NOT_FOUND, "input '%s', a map, is missing", name);
    if (!st) st = ort_value_from_tensor(&parts[0], api, name, keys, err);
    if (!st) st = ort_value_from_tensor(&parts[1], api, name, values, err);
    if (!st)
        st = ort_check(api, api->create_sequence((const ort_value *const *)parts, 2, ORT_MAP, out),
                       name, err);
    for (size_t i = 0; i < 2; i++)
        if (parts[i]) api->release_value(parts[i]);
    return st;
}

pgy_status ort_feed(ort_value **out, const ort_api *api, const char *name, const ort_form *form,
                    const pgy_tensor_map *feed, pgy_error *err)
{
    const pgy_tensor *t = pgy_tensor_map_find(feed, name);
    if (t && form->form != PGY_FORM_SEQUENCE) return ort_value_from_tensor(out, api, name, t, err);
    if (form->form == PGY_FORM_MAP) return feed_map(out, api, name, feed, err);
    if (form->form == PGY_FORM_SEQUENCE || elements_given(feed, name))
        return feed_sequence(out, api, name, feed, err);
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         form->form == PGY_FORM_OTHER
                             ? "input '%s' is no tensor, sequence of tensors or map; other "
                               "types cannot be given to ONNX Runtime"
                             : "input '%s' has no value, and the C interface of ONNX Runtime "
                               "cannot create an empty optional",
                         name);
}

/* ---- Outputs -------------------------------------------------------------------------------- */

static pgy_status take_tensor(pgy_tensor_map *out, const ort_api *api, const char *name,
                              ort_value *value, pgy_error *err)
{
    pgy_tensor *t = NULL;
    const pgy_status st = ort_value_to_tensor(&t, api, name, value, err);
    return st ? st : elements_adopt(out, name, t, err);
}

/* Gives keys and values of a map. */
static pgy_status read_map(pgy_tensor **keys, pgy_tensor **values, const ort_api *api,
                           const char *name, const ort_value *map, pgy_error *err)
{
    ort_value *part = NULL;
    *keys = *values = NULL;
    pgy_status st = ort_check(api, api->element(map, 0, api->allocator, &part), name, err);
    if (!st) st = ort_value_to_tensor(keys, api, name, part, err);
    if (!st) st = ort_check(api, api->element(map, 1, api->allocator, &part), name, err);
    if (!st) st = ort_value_to_tensor(values, api, name, part, err);
    if (!st) return PGY_OK;
    pgy_tensor_release(*keys);
    *keys = NULL;
    return st;
}

static bool same_keys(const pgy_tensor *a, const pgy_tensor *b)
{
    const size_t count = pgy_tensor_count(a);
    const pgy_dtype dtype = pgy_tensor_dtype(a);
    if (count != pgy_tensor_count(b) || dtype != pgy_tensor_dtype(b)) return false;
    if (dtype != PGY_STRING)
        return !count || !memcmp(pgy_tensor_data(a), pgy_tensor_data(b), pgy_tensor_size_bytes(a));
    const pgy_string *x = pgy_tensor_data(a), *y = pgy_tensor_data(b);
    for (size_t i = 0; i < count; i++)
        if (!span_equal((span){x[i].data, x[i].size}, (span){y[i].data, y[i].size})) return false;
    return true;
}

/* The maps of a sequence, and the matrix that they make if they have the same keys. */
typedef struct map_list {
    pgy_tensor **keys, **values;
    size_t count;
    bool alike; /* the same keys, and values that are numbers */
} map_list;

static pgy_status read_maps(map_list *l, const ort_api *api, const char *name,
                            const ort_value *value, pgy_error *err)
{
    pgy_status st = PGY_OK;
    l->keys = mem_calloc(l->count, sizeof *l->keys);
    l->values = mem_calloc(l->count, sizeof *l->values);
    l->alike = true;
    if (!l->keys || !l->values) return no_memory(err);
    for (size_t i = 0; !st && i < l->count; i++) {
        ort_value *map = NULL;
        st = ort_check(api, api->element(value, (int)i, api->allocator, &map), name, err);
        if (!st) st = read_map(&l->keys[i], &l->values[i], api, name, map, err);
        if (map) api->release_value(map);
        if (!st &&
            (!same_keys(l->keys[0], l->keys[i]) || pgy_tensor_dtype(l->values[i]) == PGY_STRING))
            l->alike = false;
    }
    return st;
}

static pgy_status take_matrix(pgy_tensor_map *out, const char *name, const map_list *l,
                              pgy_error *err)
{
    pgy_tensor *rows = NULL;
    const size_t bytes = pgy_tensor_size_bytes(l->values[0]);
    const int64_t shape[] = {(int64_t)l->count, (int64_t)pgy_tensor_count(l->values[0])};
    const pgy_status st = pgy_tensor_create(&rows, pgy_tensor_dtype(l->values[0]), 2, shape, err);
    if (st) return st;
    for (size_t i = 0; bytes && i < l->count; i++)
        memcpy((char *)pgy_tensor_data(rows) + i * bytes, pgy_tensor_data(l->values[i]), bytes);
    return elements_adopt_map(out, name, pgy_tensor_retain(l->keys[0]), rows, err);
}

static pgy_status take_each_map(pgy_tensor_map *out, const char *name, const map_list *l,
                                pgy_error *err)
{
    str part = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < l->count; i++) {
        str_clear(&part);
        str_printf(&part, "%s[%zu]", name, i);
        st = part.failed ? no_memory(err)
                         : elements_adopt_map(out, str_text(&part), pgy_tensor_retain(l->keys[i]),
                                              pgy_tensor_retain(l->values[i]), err);
    }
    str_deinit(&part);
    return st;
}

static pgy_status take_maps(pgy_tensor_map *out, const ort_api *api, const char *name,
                            const ort_value *value, size_t count, pgy_error *err)
{
    map_list l = {.count = count};
    pgy_status st = read_maps(&l, api, name, value, err);
    if (!st) st = (l.alike ? take_matrix : take_each_map)(out, name, &l, err);
    for (size_t i = 0; i < count; i++) {
        if (l.keys) pgy_tensor_release(l.keys[i]);
        if (l.values) pgy_tensor_release(l.values[i]);
    }
    mem_free(l.keys);
    mem_free(l.values);
    return st;
}

static pgy_status take_map(pgy_tensor_map *out, const ort_api *api, const char *name,
                           const ort_value *value, pgy_error *err)
{
    pgy_tensor *keys, *values;
    const pgy_status st = read_map(&keys, &values, api, name, value, err);
    return st ? st : elements_adopt_map(out, name, keys, values, err);
}

/* The kind of a sequence's first element. */
static pgy_status first_kind(int *kind, const ort_api *api, const char *name,
                             const ort_value *value, pgy_error *err)
{
    ort_value *first = NULL;
    pgy_status st = ort_check(api, api->element(value, 0, api->allocator, &first), name, err);
    if (!st) st = ort_check(api, api->value_kind(first, kind), name, err);
    if (first) api->release_value(first);
    return st;
}

static pgy_status take_sequence(pgy_tensor_map *out, const ort_api *api, const char *name,
                                const ort_value *value, pgy_dtype element, pgy_error *err)
{
    int kind = ORT_UNKNOWN;
    size_t count = 0;
    str part = {0};
    pgy_status st = ort_check(api, api->element_count(value, &count), name, err);
    if (!st && !count) return elements_adopt_none(out, name, element, err);
    if (!st) st = first_kind(&kind, api, name, value, err);
    if (!st && kind == ORT_MAP) return take_maps(out, api, name, value, count, err);
    for (size_t i = 0; !st && i < count; i++) {
        ort_value *held = NULL;
        str_clear(&part);
        str_printf(&part, "%s[%zu]", name, i);
        if (part.failed) st = no_memory(err);
        if (!st) st = ort_check(api, api->element(value, (int)i, api->allocator, &held), name, err);
        if (!st) st = take_tensor(out, api, str_text(&part), held, err);
    }
    str_deinit(&part);
    return st;
}

/* Does the value hold anything? Releases before 1.10 lack this query. */
static pgy_status is_given(int *given, const ort_api *api, const char *name, const ort_value *value,
                           pgy_error *err)
{
    *given = value != NULL;
    if (!value || !api->has_value) return PGY_OK;
    return ort_check(api, api->has_value(value, given), name, err);
}

pgy_status ort_take(pgy_tensor_map *out, const ort_api *api, const char *name, ort_value *value,
                    pgy_dtype element, pgy_error *err)
{
    int kind = ORT_UNKNOWN, given = 0;
    pgy_status st = is_given(&given, api, name, value, err);
    if (!st && given) st = ort_check(api, api->value_kind(value, &kind), name, err);
    if (!st && given && kind != ORT_SEQUENCE && kind != ORT_MAP)
        return take_tensor(out, api, name, value, err);
    if (!st && given && kind == ORT_MAP)
        st = take_map(out, api, name, value, err);
    else if (!st && given)
        st = take_sequence(out, api, name, value, element, err);
    if (value) api->release_value(value);
    return st;
}
