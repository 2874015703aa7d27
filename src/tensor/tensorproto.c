/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX TensorProto to tensors. Elements come either as raw_data (little-endian, our own layout, so
 * one copy or none) or in the typed list of the element type; a list_rule gives that list, its item
 * size and the conversion to elements. Amounts are checked before memory is allocated. */
#include "tensor/tensorproto.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/wire.h"
#include "tensor/pack.h"
#include "tensor/tensor.h"

enum {
    FIELD_DIMS = 1,
    FIELD_DATA_TYPE = 2,
    FIELD_SEGMENT = 3,
    FIELD_FLOATS = 4,
    FIELD_INT32S = 5,
    FIELD_STRINGS = 6,
    FIELD_INT64S = 7,
    FIELD_NAME = 8,
    FIELD_RAW = 9,
    FIELD_DOUBLES = 10,
    FIELD_UINT64S = 11,
    FIELD_LOCATION = 14
};

/* ---- Elements ------------------------------------------------------------------------------- */

static pgy_status fail(const tensorproto_fields *f, pgy_status status, const char *what, size_t has,
                       size_t needs, pgy_error *err)
{
    int size = f->name.size < 200 ? (int)f->name.size : 200;
    return pgy_error_set(err, status, "tensor '%.*s': %s (has %zu, needs %zu)", size,
                         size ? f->name.data : "", what, has, needs);
}

static void release_owner(void *data, void *user)
{
    const tensorproto_owner *owner = user;
    (void)data;
    owner->release(owner->user);
    mem_free(user);
}

static size_t alignment_of(pgy_dtype dtype)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    size_t bytes = info->bits / 8;
    if (info->kind == PGY_KIND_COMPLEX) bytes /= 2;
    return bytes ? bytes : 1;
}

static pgy_status borrow_raw(pgy_tensor **out, const tensorproto_fields *f, pgy_dtype dtype,
                             const tensorproto_owner *owner, pgy_error *err)
{
    tensorproto_owner *kept = mem_alloc(sizeof *kept);
    if (!kept) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *kept = *owner;
    pgy_status st = pgy_tensor_wrap(out, (void *)(uintptr_t)f->raw.data, dtype, f->rank, f->dims,
                                    release_owner, kept, err);
    if (st)
        mem_free(kept);
    else
        owner->retain(owner->user);
    return st;
}

static pgy_status decode_raw(pgy_tensor **out, const tensorproto_fields *f, pgy_dtype dtype,
                             const tensorproto_owner *owner, pgy_error *err)
{
    size_t count, size_bytes;
    pgy_tensor *t = NULL;
    pgy_status st = pgy_shape_count(&count, f->rank, f->dims, err);
    if (!st) st = pgy_dtype_size_bytes(&size_bytes, dtype, count, err);
    if (st) return st;
    if (f->raw.size != size_bytes)
        return fail(f, PGY_E_FORMAT, "its raw data has the wrong size in bytes", f->raw.size,
                    size_bytes, err);
    if (owner && size_bytes &&
        (owner->any_address || (uintptr_t)f->raw.data % alignment_of(dtype) == 0))
        return borrow_raw(out, f, dtype, owner, err);
    st = tensor_create_raw(&t, dtype, f->rank, f->dims, err);
    if (st) return st;
    tensor_copy_bytes(pgy_tensor_data(t), f->raw.data, size_bytes);
    *out = t;
    return PGY_OK;
}

static void narrow_int32s(void *to, const char *from, size_t count, size_t item)
{
    char *p = to;
    for (size_t i = 0; i < count; i++, p += item, from += 4) memcpy(p, from, item);
}

static void narrow_uint64s(void *to, const char *from, size_t count, size_t item)
{
    char *p = to;
    for (size_t i = 0; i < count; i++, p += item, from += 8) memcpy(p, from, item);
}

typedef struct list_rule {
    size_t offset;     /* offset of the list in tensorproto_fields */
    size_t item_bytes; /* size of one item of the list */
    void (*narrow)(
        void *to, const char *from, size_t count,
        size_t item); /* converts items to elements; NULL: items are copied as they are */
} list_rule;

static const list_rule RULE_FLOATS = {offsetof(tensorproto_fields, floats), 4, NULL};
static const list_rule RULE_DOUBLES = {offsetof(tensorproto_fields, doubles), 8, NULL};
static const list_rule RULE_INT64S = {offsetof(tensorproto_fields, int64s), 8, NULL};
static const list_rule RULE_UINT64S = {offsetof(tensorproto_fields, uint64s), 8, narrow_uint64s};
static const list_rule RULE_INT32S = {offsetof(tensorproto_fields, int32s), 4, narrow_int32s};

static const list_rule *find_rule(pgy_dtype dtype)
{
    switch ((int)dtype) {
    case PGY_F32:
    case PGY_C64: return &RULE_FLOATS;
    case PGY_F64:
    case PGY_C128: return &RULE_DOUBLES;
    case PGY_I64: return &RULE_INT64S;
    case PGY_U32:
    case PGY_U64: return &RULE_UINT64S;
    default: return &RULE_INT32S;
    }
}

/* Elements of 6 bits are not packed in the list: each item holds the code of one. */
static pgy_status decode_codes(pgy_tensor **out, const tensorproto_fields *f, pgy_dtype dtype,
                               pgy_error *err)
{
    const unsigned bits = pgy_dtype_describe(dtype)->bits;
    const int32_t *codes = f->int32s.data;
    size_t count;
    pgy_tensor *t = NULL;
    pgy_status st = pgy_shape_count(&count, f->rank, f->dims, err);
    if (st) return st;
    if (f->int32s.count != count)
        return fail(f, PGY_E_FORMAT, "it has the wrong number of values", f->int32s.count, count,
                    err);
    st = pgy_tensor_create(&t, dtype, f->rank, f->dims, err);
    if (st) return st;
    if (count) memset(pgy_tensor_data(t), 0, pgy_tensor_size_bytes(t));
    for (size_t i = 0; i < count; i++) packed_put(pgy_tensor_data(t), i, bits, (unsigned)codes[i]);
    *out = t;
    return PGY_OK;
}

/* Decodes elements from the typed list: one item holds one element, half a complex number, or a
 * byte of packed elements. */
static pgy_status decode_list(pgy_tensor **out, const tensorproto_fields *f, pgy_dtype dtype,
                              pgy_error *err)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    const list_rule *rule = find_rule(dtype);
    const tensorproto_list *list = (const void *)((const char *)f + rule->offset);
    size_t count, size_bytes, item = info->bits < 8 ? 1 : info->bits / 8;
    pgy_tensor *t = NULL;
    pgy_status st = pgy_shape_count(&count, f->rank, f->dims, err);
    if (!st) st = pgy_dtype_size_bytes(&size_bytes, dtype, count, err);
    if (st) return st;
    size_t items = rule->narrow ? size_bytes / item : size_bytes / rule->item_bytes;
    if (list->count != items)
        return fail(f, PGY_E_FORMAT, "it has the wrong number of values", list->count, items, err);
    st = tensor_create_raw(&t, dtype, f->rank, f->dims, err);
    if (st) return st;
    if (items && rule->narrow)
        rule->narrow(pgy_tensor_data(t), list->data, items, item);
    else if (items)
        memcpy(pgy_tensor_data(t), list->data, size_bytes);
    *out = t;
    return PGY_OK;
}

static pgy_status decode_strings(pgy_tensor **out, const tensorproto_fields *f, pgy_error *err)
{
    const span *items = f->strings.data;
    size_t count;
    pgy_tensor *t = NULL;
    pgy_status st = pgy_shape_count(&count, f->rank, f->dims, err);
    if (st) return st;
    if (f->strings.count != count)
        return fail(f, PGY_E_FORMAT, "it has the wrong number of strings", f->strings.count, count,
                    err);
    st = pgy_tensor_create(&t, PGY_STRING, f->rank, f->dims, err);
    for (size_t i = 0; !st && i < count; i++)
        st = pgy_tensor_set_string(t, i, items[i].data, items[i].size, err);
    if (!st) {
        *out = t;
        t = NULL;
    }
    pgy_tensor_release(t);
    return st;
}

pgy_status tensorproto_decode(pgy_tensor **out, const tensorproto_fields *f,
                              const tensorproto_owner *owner, pgy_error *err)
{
    pgy_dtype dtype = pgy_dtype_from_onnx(f->data_type);
    int size = f->name.size < 200 ? (int)f->name.size : 200;
    const char *name = size ? f->name.data : "";
    if (dtype == PGY_DTYPE_NONE)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "tensor '%.*s': element type %d is unknown",
                             size, name, (int)f->data_type);
    if (f->external)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "tensor '%.*s': its elements are external data, which can be read only with its model",
            size, name);
    if (dtype == PGY_STRING) return decode_strings(out, f, err);
    if (f->has_raw) return decode_raw(out, f, dtype, owner, err);
    if (pgy_dtype_describe(dtype)->bits == 6) return decode_codes(out, f, dtype, err);
    return decode_list(out, f, dtype, err);
}

/* ---- Wire ----------------------------------------------------------------------------------- */

/* Appends a number to a repeated field that is being collected; `item_bytes` is 4 or 8. */
static bool list_append(tensorproto_list *list, size_t *capacity, arena *a, uint64_t value,
                        size_t item_bytes)
{
    char *data = (char *)(uintptr_t)list->data;
    if (list->count == *capacity) {
        size_t wanted = *capacity ? *capacity * 2 : 16;
        char *grown = arena_alloc_array(a, wanted, item_bytes);
        if (!grown) return false;
        if (list->count) memcpy(grown, data, list->count * item_bytes);
        list->data = data = grown;
        *capacity = wanted;
    }
    memcpy(data + list->count * item_bytes, &value, item_bytes);
    list->count++;
    return true;
}

typedef struct scan {
    tensorproto_fields *out;
    arena *memory;
    tensorproto_list dims;
    size_t capacities[FIELD_LOCATION + 1];
    bool has_segment;
} scan;

static pgy_status out_of_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* Collects fixed-width items. A single packed run, the usual case, is borrowed. */
static pgy_status scan_fixed(scan *s, tensorproto_list *list, const wire_field *field,
                             size_t item_bytes, pgy_error *err)
{
    size_t *capacity = &s->capacities[field->number];
    if (field->type != WIRE_LEN)
        return list_append(list, capacity, s->memory, field->value, item_bytes)
                   ? PGY_OK
                   : out_of_memory(err);
    if (field->size % item_bytes)
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "TensorProto: %zu bytes are not a multiple of %zu, the size of a value", field->size,
            item_bytes);
    if (list->count == 0) {
        *list = (tensorproto_list){field->data, field->size / item_bytes};
        *capacity = list->count; /* the borrowed list counts as full, so that a further item moves
                                    it into the arena */
        return PGY_OK;
    }
    for (size_t i = 0; i < field->size; i += item_bytes) {
        uint64_t value = 0;
        memcpy(&value, field->data + i, item_bytes);
        if (!list_append(list, capacity, s->memory, value, item_bytes)) return out_of_memory(err);
    }
    return PGY_OK;
}

static pgy_status scan_varints(scan *s, tensorproto_list *list, const wire_field *field,
                               size_t item_bytes, pgy_error *err)
{
    size_t *capacity = &s->capacities[field->number];
    if (field->type != WIRE_LEN)
        return list_append(list, capacity, s->memory, field->value, item_bytes)
                   ? PGY_OK
                   : out_of_memory(err);
    wire_reader r = {field->data, field->data + field->size, field->data};
    while (r.p < r.end) {
        uint64_t value;
        pgy_status st = wire_varint(&r, &value, err);
        if (st) return st;
        if (!list_append(list, capacity, s->memory, value, item_bytes)) return out_of_memory(err);
    }
    return PGY_OK;
}

static pgy_status scan_string(scan *s, const wire_field *field, pgy_error *err)
{
    tensorproto_list *list = &s->out->strings;
    size_t *capacity = &s->capacities[FIELD_STRINGS];
    span *items = (span *)(uintptr_t)list->data;
    if (list->count == *capacity) {
        size_t wanted = *capacity ? *capacity * 2 : 16;
        span *grown = arena_alloc_array(s->memory, wanted, sizeof *grown);
        if (!grown) return out_of_memory(err);
        if (list->count) memcpy(grown, items, list->count * sizeof *grown);
        list->data = items = grown;
        *capacity = wanted;
    }
    items[list->count++] = (span){(const char *)field->data, field->size};
    return PGY_OK;
}

/* True if the field has its wire type; lists may also be packed. */
static bool type_is_good(const wire_field *f)
{
    switch (f->number) {
    case FIELD_DIMS:
    case FIELD_INT32S:
    case FIELD_INT64S:
    case FIELD_UINT64S: return f->type == WIRE_VARINT || f->type == WIRE_LEN;
    case FIELD_FLOATS: return f->type == WIRE_I32 || f->type == WIRE_LEN;
    case FIELD_DOUBLES: return f->type == WIRE_I64 || f->type == WIRE_LEN;
    case FIELD_DATA_TYPE:
    case FIELD_LOCATION: return f->type == WIRE_VARINT;
    case FIELD_SEGMENT:
    case FIELD_STRINGS:
    case FIELD_NAME:
    case FIELD_RAW: return f->type == WIRE_LEN;
    default: return true;
    }
}

static pgy_status scan_field(scan *s, const wire_field *field, pgy_error *err)
{
    tensorproto_fields *out = s->out;
    if (!type_is_good(field))
        return pgy_error_set(err, PGY_E_FORMAT, "TensorProto: field %u has the wrong wire type, %d",
                             field->number, (int)field->type);
    switch (field->number) {
    case FIELD_DIMS: return scan_varints(s, &s->dims, field, 8, err);
    case FIELD_DATA_TYPE: out->data_type = (int32_t)field->value; return PGY_OK;
    case FIELD_SEGMENT: s->has_segment = true; return PGY_OK;
    case FIELD_FLOATS: return scan_fixed(s, &out->floats, field, 4, err);
    case FIELD_INT32S: return scan_varints(s, &out->int32s, field, 4, err);
    case FIELD_STRINGS: return scan_string(s, field, err);
    case FIELD_INT64S: return scan_varints(s, &out->int64s, field, 8, err);
    case FIELD_NAME: out->name = (span){(const char *)field->data, field->size}; return PGY_OK;
    case FIELD_RAW:
        out->raw = (span){(const char *)field->data, field->size};
        out->has_raw = true;
        return PGY_OK;
    case FIELD_DOUBLES: return scan_fixed(s, &out->doubles, field, 8, err);
    case FIELD_UINT64S: return scan_varints(s, &out->uint64s, field, 8, err);
    case FIELD_LOCATION: out->external = field->value == 1; return PGY_OK;
    default: return PGY_OK;
    }
}

pgy_status tensorproto_scan(tensorproto_fields *out, span message, arena *a, pgy_error *err)
{
    tensorproto_fields fields = {0};
    scan s = {.out = &fields, .memory = a};
    wire_reader r = {(const uint8_t *)message.data, (const uint8_t *)message.data + message.size,
                     (const uint8_t *)message.data};
    for (;;) {
        wire_field field;
        bool more;
        pgy_status st = wire_next(&r, &field, &more, err);
        if (st) return pgy_error_prefix(err, st, "TensorProto: ");
        if (!more) break;
        st = scan_field(&s, &field, err);
        if (st) return st;
    }
    if (s.has_segment)
        return pgy_error_set(
            err, PGY_E_UNSUPPORTED,
            "TensorProto: its data is split into segments, which are not supported");
    fields.dims = s.dims.data;
    fields.rank = s.dims.count;
    *out = fields;
    return PGY_OK;
}

/* ---- Files ---------------------------------------------------------------------------------- */

pgy_status pgy_tensorproto_parse(pgy_tensor **out, char **name, const void *data, size_t size_bytes,
                                 pgy_error *err)
{
    arena a = {0};
    tensorproto_fields f;
    pgy_tensor *t = NULL;
    char *copy = NULL;
    pgy_status st = tensorproto_scan(&f, (span){data, size_bytes}, &a, err);
    if (st) goto done;
    st = tensorproto_decode(&t, &f, NULL, err);
    if (st) goto done;
    if (name) {
        copy = mem_strndup(f.name.size ? f.name.data : "", f.name.size);
        if (!copy) {
            st = out_of_memory(err);
            goto done;
        }
        *name = copy;
    }
    *out = t;
    t = NULL;
done:
    pgy_tensor_release(t);
    arena_deinit(&a);
    return st;
}

pgy_status pgy_tensorproto_load(pgy_tensor **out, char **name, const char *path, pgy_error *err)
{
    file_map map = {.fd = -1};
    pgy_status st = file_map_open(&map, path, err);
    if (st) return st;
    st = pgy_tensorproto_parse(out, name, map.data, map.size_bytes, err);
    if (st) st = pgy_error_prefix(err, st, "%s: ", path);
    file_map_close(&map);
    return st;
}

static void put_bytes(str *out, uint32_t field, const char *data, size_t size)
{
    wire_put_tag(out, field, WIRE_LEN);
    wire_put_varint(out, size);
    str_append_n(out, data, size);
}

pgy_status tensorproto_encode(str *head, const char *name, pgy_view v, pgy_error *err)
{
    const pgy_dtype_info *info = pgy_dtype_describe(v.dtype);
    size_t count = pgy_view_count(v), size_bytes = pgy_view_size_bytes(v);
    if (!info->bits) return pgy_error_set(err, PGY_E_TYPE, "a TensorProto needs an element type");
    for (int32_t i = 0; i < v.rank; i++) {
        wire_put_tag(head, FIELD_DIMS, WIRE_VARINT);
        wire_put_varint(head, (uint64_t)v.shape[i]);
    }
    wire_put_tag(head, FIELD_DATA_TYPE, WIRE_VARINT);
    wire_put_varint(head, (uint64_t)info->onnx);
    const pgy_string *strings = v.dtype == PGY_STRING ? pgy_view_data(v) : NULL;
    for (size_t i = 0; strings && i < count; i++)
        put_bytes(head, FIELD_STRINGS, strings[i].data, strings[i].size);
    if (name && *name) put_bytes(head, FIELD_NAME, name, strlen(name));
    if (v.dtype != PGY_STRING) {
        wire_put_tag(head, FIELD_RAW, WIRE_LEN);
        wire_put_varint(head, size_bytes);
    }
    return head->failed ? out_of_memory(err) : PGY_OK;
}

pgy_status pgy_tensorproto_save(const char *path, const char *name, pgy_view v, pgy_error *err)
{
    str head = {0};
    file_writer *w = NULL;
    pgy_tensor *compact = NULL;
    pgy_status st = PGY_OK;
    if (!pgy_view_is_compact(v)) {
        st = pgy_tensor_copy(&compact, v, err);
        if (st) goto done;
        v = pgy_tensor_view(compact);
    }
    st = tensorproto_encode(&head, name, v, err);
    if (!st) st = file_writer_create(&w, path, err);
    if (!st) st = file_writer_write(w, head.data, head.size, err);
    if (!st && v.dtype != PGY_STRING)
        st = file_writer_write(w, pgy_view_data(v), pgy_view_size_bytes(v), err);
    if (!st) st = file_writer_commit(w, err);
done:
    file_writer_destroy(w);
    str_deinit(&head);
    pgy_tensor_release(compact);
    return st;
}
