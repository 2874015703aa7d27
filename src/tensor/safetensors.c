/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: eight bytes of header length, a JSON object from names to {dtype, shape,
 * data_offsets}, then the elements. As the format demands, the tensors must cover the data exactly,
 * without holes or overlap. The writer orders tensors by falling element size, then by name, so
 * that all are aligned; the header is padded to eight bytes with blanks. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "tensor/tensor.h"

enum { LENGTH_BYTES = 8, MAX_HEADER = 100 << 20 };
static const char METADATA_KEY[] = "__metadata__";

/* ---- Reading -------------------------------------------------------------------------------- */

typedef struct record {
    const json_value *json;
    pgy_dtype dtype;
    size_t rank, begin, end;
    int64_t shape[PGY_MAX_RANK];
} record;

static int name_size(const json_value *v)
{
    return v->key.size < 200 ? (int)v->key.size : 200;
}

static pgy_status bad(const json_value *v, const char *what, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT, "safetensors: tensor '%.*s': %s", name_size(v),
                         v->key.data, what);
}

static pgy_status find_dtype(pgy_dtype *out, const json_value *v, const json_value *name,
                             pgy_error *err)
{
    const pgy_dtype_info *types;
    size_t count = pgy_dtype_list(&types);
    if (!name || name->type != JSON_STRING) return bad(v, "'dtype' is not a string", err);
    for (size_t i = 0; i < count; i++)
        if (types[i].safetensors && span_equals(name->raw, types[i].safetensors)) {
            *out = types[i].dtype;
            return PGY_OK;
        }
    return pgy_error_set(
        err, PGY_E_UNSUPPORTED, "safetensors: tensor '%.*s': element type '%.*s' is unknown",
        name_size(v), v->key.data, name->raw.size < 40 ? (int)name->raw.size : 40, name->raw.data);
}

static bool take_dim(int64_t *out, const json_value *v)
{
    if (!v || v->type != JSON_INT || v->integer < 0) return false;
    *out = v->integer;
    return true;
}

static bool take_size(size_t *out, const json_value *v)
{
    int64_t value;
    if (!take_dim(&value, v)) return false;
    *out = (size_t)value;
    return true;
}

static pgy_status read_record(record *r, const json_value *v, size_t data_bytes, pgy_error *err)
{
    const json_value *shape = json_get(v, "shape"), *offsets = json_get(v, "data_offsets");
    size_t count, size_bytes;
    *r = (record){.json = v};
    pgy_status st = find_dtype(&r->dtype, v, json_get(v, "dtype"), err);
    if (st) return st;
    if (!shape || shape->type != JSON_ARRAY || shape->count > PGY_MAX_RANK)
        return bad(v, "'shape' is not a list of dimensions", err);
    for (const json_value *d = shape->first; d; d = d->next, r->rank++)
        if (!take_dim(&r->shape[r->rank], d))
            return bad(v, "'shape' is not a list of dimensions", err);
    if (!offsets || offsets->type != JSON_ARRAY || offsets->count != 2 ||
        !take_size(&r->begin, offsets->first) || !take_size(&r->end, offsets->first->next))
        return bad(v, "'data_offsets' is not a list of two byte offsets", err);
    if (r->begin > r->end || r->end > data_bytes)
        return bad(v, "'data_offsets' lies outside the file", err);
    st = pgy_shape_count(&count, r->rank, r->shape, err);
    if (!st) st = pgy_dtype_size_bytes(&size_bytes, r->dtype, count, err);
    if (st)
        return pgy_error_prefix(err, st, "safetensors: tensor '%.*s': ", name_size(v), v->key.data);
    if (size_bytes != r->end - r->begin)
        return bad(v, "'shape' and 'data_offsets' give different sizes in bytes", err);
    return PGY_OK;
}

static int by_place(const void *a, const void *b)
{
    const record *x = *(record *const *)a, *y = *(record *const *)b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static pgy_status check_cover(record *records, size_t count, size_t data_bytes, pgy_error *err)
{
    size_t at = 0;
    record **order = mem_realloc_array(NULL, count ? count : 1, sizeof *order);
    pgy_status st = PGY_OK;
    if (!order) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) order[i] = &records[i];
    qsort(order, count, sizeof *order, by_place);
    for (size_t i = 0; i < count && !st; i++) {
        if (order[i]->begin != at)
            st = bad(order[i]->json, "its data overlaps another tensor's or leaves a gap before it",
                     err);
        at = order[i]->end;
    }
    if (!st && at != data_bytes)
        st = pgy_error_set(
            err, PGY_E_FORMAT,
            "safetensors: the file has %zu bytes of data, but its header describes %zu", data_bytes,
            at);
    mem_free(order);
    return st;
}

static pgy_status load_record(pgy_tensor_map *out, const record *r, const file_map *map,
                              size_t offset, pgy_error *err)
{
    pgy_tensor *t = NULL;
    char *name = mem_strndup(r->json->key.data, r->json->key.size);
    pgy_status st = name ? tensor_create_raw(&t, r->dtype, r->rank, r->shape, err)
                         : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) {
        tensor_read_bytes(pgy_tensor_data(t), map, offset + r->begin, r->end - r->begin);
        st = pgy_tensor_map_adopt(out, name, t, err);
    }
    mem_free(name);
    return st;
}

/* The elements begin at `offset` of the map. */
static pgy_status load_all(pgy_tensor_map **out, const json_value *root, const file_map *file,
                           size_t offset, pgy_error *err)
{
    pgy_tensor_map *map = NULL;
    size_t count = 0, data_bytes = file->size_bytes - offset;
    record *records = mem_realloc_array(NULL, root->count ? root->count : 1, sizeof *records);
    pgy_status st = records ? pgy_tensor_map_create(&map, err)
                            : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (const json_value *v = root->first; v && !st; v = v->next)
        if (!span_equals(v->key, METADATA_KEY))
            st = read_record(&records[count++], v, data_bytes, err);
    if (!st) st = check_cover(records, count, data_bytes, err);
    for (size_t i = 0; i < count && !st; i++) st = load_record(map, &records[i], file, offset, err);
    if (!st) {
        *out = map;
        map = NULL;
    }
    pgy_tensor_map_destroy(map);
    mem_free(records);
    return st;
}

static pgy_status parse_map(pgy_tensor_map **out, const file_map *map, pgy_error *err)
{
    const uint8_t *bytes = map->data;
    arena a = {0};
    json_value *root = NULL;
    uint64_t length = 0;
    if (map->size_bytes < LENGTH_BYTES)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "safetensors: the file is truncated after %zu bytes", map->size_bytes);
    for (int i = LENGTH_BYTES; i-- > 0;) length = length << 8 | bytes[i];
    if (length > MAX_HEADER || length > map->size_bytes - LENGTH_BYTES)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "safetensors: the header's length is %llu bytes, more than the file "
                             "has or the limit allows",
                             (unsigned long long)length);
    pgy_status st = json_parse(&root, (const char *)bytes + LENGTH_BYTES, length, &a, err);
    if (st)
        st = pgy_error_prefix(err, st, "safetensors: header: ");
    else if (root->type != JSON_OBJECT)
        st = pgy_error_set(err, PGY_E_FORMAT, "safetensors: the header is not a JSON object");
    else
        st = load_all(out, root, map, LENGTH_BYTES + length, err);
    arena_deinit(&a);
    return st;
}

pgy_status pgy_safetensors_parse(pgy_tensor_map **out, const void *data, size_t size_bytes,
                                 pgy_error *err)
{
    file_map memory = {data, size_bytes, -1};
    return parse_map(out, &memory, err);
}

pgy_status pgy_safetensors_load(pgy_tensor_map **out, const char *path, pgy_error *err)
{
    file_map map = {.fd = -1};
    pgy_status st = file_map_open(&map, path, err);
    if (st) return st;
    st = parse_map(out, &map, err);
    if (st) st = pgy_error_prefix(err, st, "%s: ", path);
    file_map_close(&map);
    return st;
}

/* ---- Writing -------------------------------------------------------------------------------- */

typedef struct named {
    const char *name;
    pgy_tensor *tensor;
} named;

static int by_alignment(const void *a, const void *b)
{
    const named *x = a, *y = b;
    unsigned p = pgy_dtype_describe(pgy_tensor_dtype(x->tensor))->bits,
             q = pgy_dtype_describe(pgy_tensor_dtype(y->tensor))->bits;
    if (p != q) return p > q ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Appends a JSON string. json_writer does not serve here, because other readers of the format want
 * JSON without blanks between tokens. */
static void append_json(str *s, const char *text)
{
    str_append_char(s, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            str_printf(s, "\\%c", *p);
        else if ((unsigned char)*p < 0x20)
            str_printf(s, "\\u%04x", *p);
        else
            str_append_char(s, *p);
    }
    str_append_char(s, '"');
}

static pgy_status append_record(str *s, const named *n, size_t *at, pgy_error *err)
{
    const pgy_dtype_info *info = pgy_dtype_describe(pgy_tensor_dtype(n->tensor));
    const int64_t *shape = pgy_tensor_shape(n->tensor);
    size_t end = *at + pgy_tensor_size_bytes(n->tensor);
    if (!info->safetensors)
        return pgy_error_set(
            err, PGY_E_TYPE,
            "safetensors: cannot store tensor '%s': the format has no element type %s", n->name,
            info->name);
    append_json(s, n->name);
    str_printf(s, ":{\"dtype\":\"%s\",\"shape\":[", info->safetensors);
    for (size_t i = 0; i < pgy_tensor_rank(n->tensor); i++)
        str_printf(s, "%s%lld", i ? "," : "", (long long)shape[i]);
    str_printf(s, "],\"data_offsets\":[%zu,%zu]}", *at, end);
    *at = end;
    return PGY_OK;
}

static pgy_status make_header(str *s, const named *items, size_t count, pgy_error *err)
{
    size_t at = 0;
    str_append_fill(s, 0, LENGTH_BYTES);
    str_append_char(s, '{');
    for (size_t i = 0; i < count; i++) {
        if (i) str_append_char(s, ',');
        pgy_status st = append_record(s, &items[i], &at, err);
        if (st) return st;
    }
    str_append_char(s, '}');
    str_append_fill(s, ' ', (8 - s->size % 8) % 8);
    if (s->failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    uint64_t length = s->size - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++, length >>= 8) s->data[i] = (char)(length & 0xff);
    return PGY_OK;
}

static pgy_status write_elements(file_writer *w, const named *n, pgy_error *err)
{
    pgy_tensor *resident = NULL;
    pgy_status st = pgy_tensor_load(&resident, n->tensor, err);
    if (!st)
        st = file_writer_write(w, pgy_tensor_data(resident), pgy_tensor_size_bytes(resident), err);
    pgy_tensor_release(resident);
    return st;
}

pgy_status pgy_safetensors_save(const char *path, const pgy_tensor_map *m, pgy_error *err)
{
    size_t count = pgy_tensor_map_count(m);
    file_writer *w = NULL;
    str header = {0};
    named *items = mem_realloc_array(NULL, count ? count : 1, sizeof *items);
    pgy_status st = items ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (st) goto done;
    for (size_t i = 0; i < count; i++)
        items[i] = (named){pgy_tensor_map_name(m, i), pgy_tensor_map_at(m, i)};
    qsort(items, count, sizeof *items, by_alignment);
    st = make_header(&header, items, count, err);
    if (!st) st = file_writer_create(&w, path, err);
    if (!st) st = file_writer_write(w, header.data, header.size, err);
    for (size_t i = 0; i < count && !st; i++) st = write_elements(w, &items[i], err);
    if (!st) st = file_writer_commit(w, err);
done:
    file_writer_destroy(w);
    str_deinit(&header);
    mem_free(items);
    return st;
}
