/* SPDX-License-Identifier: Apache-2.0 */
/* Makes tensors from TensorProtos, and TensorProtos from tensors. The tensor layer decodes. This
 * file finds external bytes first, and lends out bytes of mapped files; tensors that borrow them
 * keep the model alive. */
#include "onnx/elements.h"

#include <string.h>

#include "base/alloc.h"
#include "onnx/computed.h"
#include "onnx/external.h"
#include "tensor/tensorproto.h"

enum { RAW_DATA = 9 };
_Static_assert(sizeof(span) == sizeof(pgy_bytes) &&
                   offsetof(span, size) == offsetof(pgy_bytes, size),
               "string_data is handed over as it is");

/* Prefix of the doc string of a weight whose elements were stripped. */
static const char STRIPPED[] = "TRT_WEIGHTLESS/";

static const char *name_of(const pgy_onnx_tensor *t)
{
    return t->name ? t->name : "";
}

static pgy_status in_tensor(const pgy_onnx_tensor *t, pgy_status st, pgy_error *err)
{
    return pgy_error_prefix(err, st, "tensor '%.200s': ", name_of(t));
}

pgy_status tensor_needs_bytes(size_t *out, const pgy_onnx_tensor *t, pgy_error *err)
{
    const pgy_dtype dtype = pgy_dtype_from_onnx(t->data_type);
    size_t count = 0;
    if (dtype == PGY_DTYPE_NONE)
        return pgy_error_set(err, PGY_E_FORMAT, "tensor '%.200s': element type %d is unknown",
                             name_of(t), t->data_type);
    pgy_status st = pgy_shape_count(&count, t->dim_count, t->dims, err);
    if (!st) st = pgy_dtype_size_bytes(out, dtype, count, err);
    return st ? in_tensor(t, PGY_E_FORMAT, err) : PGY_OK;
}

static void keep_model(void *user)
{
    pgy_model_retain(user);
}

static void drop_model(void *user)
{
    pgy_model_destroy(user);
}

/* Copies int32_data as 32-bit integers, which the decoder expects. Owned. */
static pgy_status narrow_ints(int32_t **out, const pgy_onnx_tensor *t, pgy_error *err)
{
    int32_t *narrow = mem_calloc(t->int32_count + 1, sizeof(*narrow));
    if (!narrow)
        return pgy_error_set(err, PGY_E_MEMORY, "tensor '%.200s': out of memory for %zu values",
                             name_of(t), t->int32_count);
    for (size_t i = 0; i < t->int32_count; i++) narrow[i] = (int32_t)t->int32_data[i];
    *out = narrow;
    return PGY_OK;
}

static pgy_status load(pgy_tensor **out, pgy_model *m, const pgy_onnx_tensor *t, bool any_address,
                       pgy_error *err)
{
    size_t wanted = 0;
    int32_t *narrow = NULL;
    pgy_bytes raw = t->raw_data;
    bool has_raw = raw.size || (t->message.present >> RAW_DATA & 1);
    pgy_status st = tensor_needs_bytes(&wanted, t, err);
    if (st) return st;
    if (t->segment)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "tensor '%.200s': its data is split into segments, which are not supported",
            name_of(t));
    if (tensor_is_external(t)) {
        st = external_bytes(&raw, m, t, wanted, err);
        if (st) return in_tensor(t, st, err);
        has_raw = true;
    }
    if (wanted && !raw.size && t->doc_string && !strncmp(t->doc_string, STRIPPED, strlen(STRIPPED)))
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "tensor '%.200s': weight-strip removed its elements from the model; "
                             "restore them with weight-reconstruct",
                             name_of(t));
    pgy_tensor *made = NULL;
    st = computed_tensor_make(&made, m, raw, t, err);
    if (made) *out = made;
    if (st || made) return st;
    st = narrow_ints(&narrow, t, err);
    if (st) return st;
    const tensorproto_fields fields = {
        .name = span_of(name_of(t)),
        .data_type = t->data_type,
        .dims = t->dims,
        .rank = t->dim_count,
        .has_raw = has_raw,
        .raw = {raw.data, raw.size},
        .floats = {t->float_data.data, t->float_data.size / sizeof(float)},
        .int32s = {narrow, t->int32_count},
        .int64s = {t->int64_data, t->int64_count},
        .doubles = {t->double_data.data, t->double_data.size / sizeof(double)},
        .uint64s = {t->uint64_data, t->uint64_count},
        .strings = {t->string_data, t->string_count},
    };
    pgy_model *holder = has_raw ? model_owner(m, raw.data) : NULL;
    const tensorproto_owner owner = {keep_model, drop_model, holder ? holder : m, any_address};
    st = tensorproto_decode(out, &fields, &owner, err);
    mem_free(narrow);
    return st;
}

pgy_status pgy_onnx_tensor_load(pgy_tensor **out, pgy_model *m, const pgy_onnx_tensor *t,
                                pgy_error *err)
{
    return load(out, m, t, false, err);
}

pgy_status onnx_tensor_load_anywhere(pgy_tensor **out, pgy_model *m, const pgy_onnx_tensor *t,
                                     pgy_error *err)
{
    return load(out, m, t, true, err);
}

/* ---- Building ------------------------------------------------------------------------------- */

static pgy_status set_strings(pgy_onnx_tensor *p, pgy_model *m, pgy_tensor *t)
{
    const size_t n = pgy_tensor_count(t);
    const pgy_string *from = pgy_tensor_data(t);
    pgy_bytes *items = model_alloc(m, n ? n : 1, sizeof(*items));
    if (!items) return PGY_E_MEMORY;
    for (size_t i = 0; i < n; i++) items[i] = (pgy_bytes){from[i].data, from[i].size};
    p->string_data = items;
    p->string_count = n;
    return PGY_OK;
}

static pgy_status describe(pgy_onnx_tensor *p, pgy_model *m, const char *name, pgy_tensor *t)
{
    const size_t rank = pgy_tensor_rank(t);
    int64_t *dims = model_alloc(m, rank ? rank : 1, sizeof(*dims));
    p->name = pgy_model_strdup(m, name);
    if (!dims || !p->name) return PGY_E_MEMORY;
    if (rank) memcpy(dims, pgy_tensor_shape(t), rank * sizeof(*dims));
    p->dims = dims;
    p->dim_count = rank;
    p->doc_string = "";
    p->data_type = pgy_dtype_describe(pgy_tensor_dtype(t))->onnx;
    if (pgy_tensor_dtype(t) == PGY_STRING) return set_strings(p, m, t);
    p->raw_data = (pgy_bytes){pgy_tensor_data(t), pgy_tensor_size_bytes(t)};
    p->message.present = (uint64_t)1 << RAW_DATA;
    return PGY_OK;
}

pgy_status pgy_model_tensor(pgy_onnx_tensor **out, pgy_model *m, const char *name, pgy_tensor *t,
                            pgy_error *err)
{
    pgy_tensor *resident = NULL;
    if (!m || !t || !name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'m', 't' and 'name' must not be NULL");
    pgy_status st = pgy_tensor_load(&resident, t, err);
    if (st) goto done;
    st = pgy_model_keep_tensor(m, resident, err);
    if (st) goto done;
    pgy_onnx_tensor *p = model_alloc(m, 1, sizeof(*p));
    if (!p || describe(p, m, name, resident)) {
        st = pgy_error_set(err, PGY_E_MEMORY, "tensor '%.200s': out of memory", name);
        goto done;
    }
    *out = p;
done:
    pgy_tensor_release(resident);
    return st;
}
