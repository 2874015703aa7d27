/* SPDX-License-Identifier: Apache-2.0 */
/* Converts tensors to values of ONNX Runtime and back. Numbers are never copied: an input is a
 * value over the tensor's memory, an output a tensor over the value's. Strings are copied, because
 * ONNX Runtime stores its own. */
#include "backends/onnxruntime/value.h"

#include <string.h>

#include "base/alloc.h"

const char *ort_kind_name(int kind)
{
    static const char *const NAMES[] = {
        "value of unknown type", "tensor",        "sequence",      "map",
        "opaque value",          "sparse tensor", "optional value"};
    return kind >= 0 && kind <= ORT_OPTIONAL ? NAMES[kind] : NAMES[ORT_UNKNOWN];
}

/* ---- Strings -------------------------------------------------------------------------------- */

/* Copies all elements as terminated strings, in one block after the pointers. */
static pgy_status copy_texts(char ***out, const char *name, const pgy_tensor *t, pgy_error *err)
{
    const pgy_string *s = pgy_tensor_data(t);
    size_t count = pgy_tensor_count(t), size = 0, pointers;
    for (size_t i = 0; i < count; i++) {
        if (s[i].size && memchr(s[i].data, '\0', s[i].size))
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "input '%s': the string in element %zu has a zero byte, which the "
                                 "C interface of ONNX Runtime cannot represent",
                                 name, i);
        if (!size_add(&size, size, s[i].size + 1))
            return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    if (!size_mul(&pointers, count, sizeof(char *)) || !size_add(&size, size, pointers))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    char **texts = mem_alloc(size);
    if (!texts) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    char *at = (char *)(texts + count);
    for (size_t i = 0; i < count; i++) {
        texts[i] = at;
        if (s[i].size) memcpy(at, s[i].data, s[i].size);
        at[s[i].size] = '\0';
        at += s[i].size + 1;
    }
    *out = texts;
    return PGY_OK;
}

static pgy_status from_strings(ort_value **out, const ort_api *api, const char *name,
                               const pgy_tensor *t, pgy_error *err)
{
    char **texts = NULL;
    ort_value *value = NULL;
    pgy_status st = copy_texts(&texts, name, t, err);
    if (st) return st;
    st = ort_check(api,
                   api->create_tensor(api->allocator, pgy_tensor_shape(t), pgy_tensor_rank(t),
                                      ort_type_from_dtype(PGY_STRING), &value),
                   name, err);
    if (!st)
        st = ort_check(api,
                       api->fill_strings(value, (const char *const *)texts, pgy_tensor_count(t)),
                       name, err);
    mem_free(texts);
    if (!st)
        *out = value;
    else if (value)
        api->release_value(value);
    return st;
}

static pgy_status fill_tensor(pgy_tensor *t, const char *text, const size_t *offsets, size_t size,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0, n = pgy_tensor_count(t); !st && i < n; i++) {
        size_t end = i + 1 < n ? offsets[i + 1] : size;
        st = pgy_tensor_set_string(t, i, text + offsets[i], end - offsets[i], err);
    }
    return st;
}

static pgy_status to_strings(pgy_tensor *t, const ort_api *api, const char *name,
                             const ort_value *value, pgy_error *err)
{
    size_t size, count = pgy_tensor_count(t);
    if (!count) return PGY_OK;
    pgy_status st = ort_check(api, api->strings_size(value, &size), name, err);
    if (st) return st;
    char *text = mem_alloc(size + 1);
    size_t *offsets = mem_calloc(count, sizeof *offsets);
    if (!text || !offsets)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    else
        st = ort_check(api, api->strings_content(value, text, size, offsets, count), name, err);
    if (!st) st = fill_tensor(t, text, offsets, size, err);
    mem_free(text);
    mem_free(offsets);
    return st;
}

/* ---- Both ways ------------------------------------------------------------------------------ */

pgy_status ort_value_from_tensor(ort_value **out, const ort_api *api, const char *name,
                                 const pgy_tensor *t, pgy_error *err)
{
    if (pgy_tensor_dtype(t) == PGY_STRING) return from_strings(out, api, name, t, err);
    return ort_check(api,
                     api->wrap_tensor(api->memory, pgy_tensor_data(t), pgy_tensor_size_bytes(t),
                                      pgy_tensor_shape(t), pgy_tensor_rank(t),
                                      ort_type_from_dtype(pgy_tensor_dtype(t)), out),
                     name, err);
}

typedef struct shape {
    pgy_dtype dtype;
    size_t rank;
    int64_t dims[PGY_MAX_RANK];
} shape;

static pgy_status read_shape(shape *out, const ort_api *api, const char *name,
                             const ort_value *value, pgy_error *err)
{
    ort_shape_info *info = NULL;
    int type = 0;
    pgy_status st = ort_check(api, api->value_shape(value, &info), name, err);
    if (st) return st;
    st = ort_check(api, api->element_type(info, &type), name, err);
    if (!st) st = ort_check(api, api->rank(info, &out->rank), name, err);
    if (!st && out->rank > PGY_MAX_RANK)
        st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                           "output '%s' has %zu dimensions; at most %d are supported", name,
                           out->rank, PGY_MAX_RANK);
    if (!st) st = ort_check(api, api->dims(info, out->dims, out->rank), name, err);
    api->release_shape_info(info);
    out->dtype = ort_dtype_from_type(type);
    if (!st && out->dtype == PGY_DTYPE_NONE)
        st = pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "output '%s' has element type %d of ONNX Runtime, which this library does not know",
            name, type);
    return st;
}

static pgy_status check_kind(const ort_api *api, const char *name, const ort_value *value,
                             pgy_error *err)
{
    int kind = ORT_UNKNOWN;
    pgy_status st = ort_check(api, api->value_kind(value, &kind), name, err);
    if (st || kind == ORT_TENSOR) return st;
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "output '%s' is a %s; only tensors and sequences of them can be compared "
                         "and saved",
                         name, ort_kind_name(kind));
}

/* What a tensor over a value owns: the value, which it releases at the end. The API table lives as
 * long as the process. */
typedef struct owner {
    const ort_api *api;
    ort_value *value;
} owner;

static void release_owner(void *data, void *user)
{
    owner *o = user;
    (void)data;
    o->api->release_value(o->value);
    mem_free(o);
}

static pgy_status wrap_numbers(pgy_tensor **out, const ort_api *api, const char *name,
                               ort_value *value, const shape *s, pgy_error *err)
{
    void *data = NULL;
    pgy_status st = ort_check(api, api->tensor_data(value, &data), name, err);
    if (st) return st;
    owner *o = mem_alloc(sizeof *o);
    if (!o) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *o = (owner){api, value};
    st = pgy_tensor_wrap(out, data, s->dtype, s->rank, s->dims, release_owner, o, err);
    if (st) mem_free(o);
    return st;
}

pgy_status ort_value_to_tensor(pgy_tensor **out, const ort_api *api, const char *name,
                               ort_value *value, pgy_error *err)
{
    shape s = {0};
    pgy_tensor *t = NULL;
    pgy_status st = check_kind(api, name, value, err);
    if (!st) st = read_shape(&s, api, name, value, err);
    if (!st && s.dtype != PGY_STRING) {
        st = wrap_numbers(out, api, name, value, &s, err);
        if (!st) return PGY_OK; /* the tensor now owns the value */
    } else if (!st) {
        st = pgy_tensor_create(&t, PGY_STRING, s.rank, s.dims, err);
        if (!st) st = to_strings(t, api, name, value, err);
        if (!st)
            *out = t;
        else
            pgy_tensor_release(t);
    }
    if (value) api->release_value(value);
    return st;
}
