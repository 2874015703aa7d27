/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of .npy files. Little-endian row-major elements are copied as they are; big-endian ones
 * are swapped after the copy; Fortran order is a view with reversed strides that is made compact.
 * Strings are fixed-width UTF-32 or bytes, padded with zeros. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tensor/npy_data.h"
#include "tensor/tensor.h"

static void swap_items(uint8_t *data, size_t count, size_t item)
{
    for (size_t i = 0; i < count; i++, data += item)
        for (size_t a = 0, b = item - 1; a < b; a++, b--) {
            uint8_t byte = data[a];
            data[a] = data[b];
            data[b] = byte;
        }
}

/* ---- Strings -------------------------------------------------------------------------------- */

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(c | (size == 2 ? 0xc0 : size == 3 ? 0xe0 : 0xf0));
    return size;
}

/* Reads one code point; an invalid byte is taken as Latin-1. */
static uint32_t take_utf8(const char **p, const char *end)
{
    const uint8_t *s = (const uint8_t *)*p;
    size_t size = s[0] < 0xc2 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 1;
    uint32_t c = size == 1 ? s[0] : s[0] & (0x7fu >> size);
    if ((size_t)(end - *p) < size) size = 1;
    for (size_t i = 1; i < size; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            size = 1;
            break;
        }
        c = c << 6 | (s[i] & 0x3f);
    }
    if (size == 1) c = s[0];
    *p += size;
    return c;
}

static uint32_t read_u32(const uint8_t *p, bool big_endian)
{
    return big_endian ? (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]
                      : (uint32_t)p[3] << 24 | p[2] << 16 | p[1] << 8 | p[0];
}

/* Decodes one element of a string array to UTF-8. */
static pgy_status decode_string(str *text, const npy_header *h, const uint8_t *item, pgy_error *err)
{
    size_t width = h->string_width;
    str_clear(text);
    if (!h->wide) {
        while (width && !item[width - 1]) width--;
        str_append_n(text, (const char *)item, width);
        return PGY_OK;
    }
    while (width && !read_u32(item + (width - 1) * 4, h->big_endian)) width--;
    for (size_t i = 0; i < width; i++) {
        char utf8[4];
        uint32_t c = read_u32(item + i * 4, h->big_endian);
        if (c > 0x10ffff)
            return pgy_error_set(err, PGY_E_FORMAT,
                                 "npy: a string holds %u, which is not a Unicode code point", c);
        str_append_n(text, utf8, put_utf8(utf8, c));
    }
    return PGY_OK;
}

static pgy_status decode_strings(pgy_tensor *t, const npy_header *h, const uint8_t *data,
                                 pgy_error *err)
{
    size_t item = h->count ? h->data_bytes / h->count : 0;
    str text = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < h->count && !st; i++) {
        st = decode_string(&text, h, data + i * item, err);
        if (!st && text.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        if (!st) st = pgy_tensor_set_string(t, i, str_text(&text), text.size, err);
    }
    str_deinit(&text);
    return st;
}

static size_t code_points(pgy_string s)
{
    size_t n = 0;
    for (const char *p = s.data, *end = p + s.size; p < end; n++) take_utf8(&p, end);
    return n;
}

static size_t widest_string(pgy_view v)
{
    const pgy_string *s = pgy_view_data(v);
    size_t width = 1, count = pgy_view_count(v);
    for (size_t i = 0; i < count; i++) {
        size_t n = code_points(s[i]);
        if (n > width) width = n;
    }
    return width;
}

static pgy_status encode_strings(str *out, pgy_view v, size_t width, pgy_error *err)
{
    const pgy_string *s = pgy_view_data(v);
    size_t count = pgy_view_count(v);
    for (size_t i = 0; i < count; i++) {
        size_t n = 0;
        for (const char *p = s[i].data, *end = p + s[i].size; p < end; n++) {
            uint32_t c = take_utf8(&p, end);
            char bytes[4] = {(char)c, (char)(c >> 8), (char)(c >> 16), (char)(c >> 24)};
            str_append_n(out, bytes, 4);
        }
        str_append_fill(out, 0, (width - n) * 4);
    }
    return out->failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static pgy_status make_row_major(pgy_tensor **t, pgy_error *err)
{
    pgy_tensor *row_major = NULL;
    int64_t strides[PGY_MAX_RANK], step = 1;
    pgy_view v = pgy_tensor_view(*t);
    for (int32_t i = 0; i < v.rank; i++) {
        strides[i] = step;
        step *= v.shape[i];
    }
    v.strides = strides;
    pgy_status st = pgy_tensor_copy(&row_major, v, err);
    if (st) return st;
    pgy_tensor_release(*t);
    *t = row_major;
    return PGY_OK;
}

pgy_status npy_finish(pgy_tensor **t, const npy_header *h, pgy_error *err)
{
    const pgy_dtype_info *info = pgy_dtype_describe(h->dtype);
    if (h->big_endian && h->dtype != PGY_STRING) {
        size_t parts = info->kind == PGY_KIND_COMPLEX ? 2 : 1;
        swap_items(pgy_tensor_data(*t), h->count * parts, info->bits / 8 / parts);
    }
    return h->fortran && h->rank > 1 && h->count ? make_row_major(t, err) : PGY_OK;
}

/* Makes a tensor of the elements that begin at `offset` of the map. */
static pgy_status decode(pgy_tensor **out, const npy_header *h, const file_map *map, size_t offset,
                         pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = tensor_create_raw(&t, h->dtype, h->rank, h->shape, err);
    if (st) goto done;
    if (h->dtype == PGY_STRING)
        st = decode_strings(t, h, (const uint8_t *)map->data + offset, err);
    else
        tensor_read_bytes(pgy_tensor_data(t), map, offset, h->data_bytes);
    if (!st) st = npy_finish(&t, h, err);
    if (st) goto done;
    *out = t;
    t = NULL;
done:
    pgy_tensor_release(t);
    return st;
}

pgy_status npy_decode(pgy_tensor **out, const npy_header *h, const void *elements, pgy_error *err)
{
    file_map memory = {elements, h->data_bytes, -1};
    return decode(out, h, &memory, 0, err);
}

static pgy_status parse_map(pgy_tensor **out, const file_map *map, pgy_error *err)
{
    npy_header h;
    pgy_status st = npy_header_parse(&h, map->data, map->size_bytes, err);
    if (st) return st;
    if (map->size_bytes - h.data_offset < h.data_bytes)
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "npy: the file is truncated: the header says %zu bytes of elements, but %zu follow",
            h.data_bytes, map->size_bytes - h.data_offset);
    return decode(out, &h, map, h.data_offset, err);
}

pgy_status pgy_npy_parse(pgy_tensor **out, const void *data, size_t size_bytes, pgy_error *err)
{
    file_map memory = {data, size_bytes, -1};
    return parse_map(out, &memory, err);
}

pgy_status pgy_npy_load(pgy_tensor **out, const char *path, pgy_error *err)
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

void npy_image_deinit(npy_image *image)
{
    pgy_tensor_release(image->compact);
    str_deinit(&image->header);
    str_deinit(&image->strings);
    *image = (npy_image){0};
}

pgy_status npy_image_init(npy_image *image, pgy_view v, pgy_error *err)
{
    size_t width = 0;
    *image = (npy_image){0};
    pgy_status st = view_need_host(&v, err);
    if (st) return st;
    if (!pgy_view_is_compact(v)) {
        st = pgy_tensor_copy(&image->compact, v, err);
        if (st) goto done;
        v = pgy_tensor_view(image->compact);
    }
    if (v.dtype == PGY_STRING) width = widest_string(v);
    st = npy_header_write(&image->header, v.dtype, width, (size_t)v.rank, v.shape, err);
    if (st) goto done;
    image->elements = pgy_view_data(v);
    image->elements_bytes = pgy_view_size_bytes(v);
    if (v.dtype != PGY_STRING) goto done;
    st = encode_strings(&image->strings, v, width, err);
    image->elements = str_text(&image->strings);
    image->elements_bytes = image->strings.size;
done:
    if (st) npy_image_deinit(image);
    return st;
}

pgy_status pgy_npy_save(const char *path, pgy_view v, pgy_error *err)
{
    npy_image image;
    file_writer *w = NULL;
    pgy_status st = npy_image_init(&image, v, err);
    if (st) return pgy_error_prefix(err, st, "%s: ", path);
    st = file_writer_create(&w, path, err);
    if (!st) st = file_writer_write(w, image.header.data, image.header.size, err);
    if (!st) st = file_writer_write(w, image.elements, image.elements_bytes, err);
    if (!st) st = file_writer_commit(w, err);
    file_writer_destroy(w);
    npy_image_deinit(&image);
    return st;
}
