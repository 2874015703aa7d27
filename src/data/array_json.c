/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays inside Polygraphy's JSON. The base64 text holds a whole .npy file: its header is decoded
 * first, then the elements go in blocks, on several threads, straight into the new tensor, and the
 * pages of decoded text are released. So an array needs its own size in memory only once. Layouts
 * that a plain copy cannot serve (byte-swapped, column-major, strings) take the general npy reader.
 */
#include "data/array_json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/cancel.h"
#include "base/system.h"
#include "data/torch_tensor.h"
#include "tensor/npy_data.h"

static const char MARKER[] = "polygraphy_class";
static const char LEGACY_PREFIX[] = "__polygraphy_encoded_";
static const char LEGACY_VALUE[] = "polygraphy_serialized_json_type";

enum {
    HEADER_CHARS = 16384,  /* enough text for any header NumPy writes */
    BLOCK_CHARS = 1 << 16, /* characters of one task, a multiple of 4 */
    STAGE_BLOCKS = 64      /* blocks between two releases of pages */
};

/* ---- Typed objects ---- */

static const char *known_class(span name)
{
    static const char *const CLASSES[] = {"ndarray",
                                          "Tensor",
                                          "LazyArray",
                                          "IterationResult",
                                          "RunResults",
                                          "AccuracyResults",
                                          "AccuracyResult",
                                          "OutputCompareResult",
                                          "L2Result",
                                          "CosineSimilarityResult",
                                          "PsnrResult",
                                          "SnrResult",
                                          "PerceptualMetricsResult",
                                          "SimpleThreshold",
                                          "L2Threshold",
                                          "CosineSimilarityThreshold",
                                          "PsnrThreshold",
                                          "SnrThreshold",
                                          "LpipsThreshold",
                                          "FormattedArray",
                                          "TensorInfo",
                                          "Algorithm",
                                          "TacticReplayData",
                                          "IterationContext",
                                          "ShardTensor",
                                          "AttentionLayerHint",
                                          "ShardHints",
                                          "DistCollective",
                                          "FusedAttention"};
    if (span_equals(name, "LazyNumpyArray")) return "LazyArray";
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++)
        if (span_equals(name, CLASSES[i])) return CLASSES[i];
    return "?";
}

const char *typed_json_class(const json_value *v)
{
    if (!v || v->type != JSON_OBJECT) return NULL;
    size_t prefix = sizeof LEGACY_PREFIX - 1;
    for (const json_value *c = v->first; c; c = c->next)
        if (c->type == JSON_STRING && span_equals(c->raw, LEGACY_VALUE) && c->key.size > prefix &&
            !memcmp(c->key.data, LEGACY_PREFIX, prefix))
            return known_class((span){c->key.data + prefix, c->key.size - prefix});
    const json_value *marker = json_get(v, MARKER);
    return marker && marker->type == JSON_STRING ? known_class(marker->raw) : NULL;
}

pgy_status typed_json_expect(const json_value *v, const char *wanted, const char *where,
                             pgy_error *err)
{
    const char *found = typed_json_class(v);
    if (found && strcmp(found, wanted) == 0) return PGY_OK;
    const json_value *marker = json_get(v, MARKER);
    if (found && found[0] == '?' && marker)
        return pgy_error_set(err, PGY_E_FORMAT, "%s: Could not decode serialized type: %.*s", where,
                             (int)(marker->raw.size < 80 ? marker->raw.size : 80),
                             marker->raw.data);
    return pgy_error_set(
        err, PGY_E_FORMAT, "%s: line %u column %u: JSON cannot be decoded into '%s': found %s",
        where, v ? v->line : 1, v ? v->column : 1, wanted, found ? found : "no typed object");
}

/* ---- Base64 of npy ---- */

typedef struct block_job {
    const char *text;
    size_t size, first_block;
    char *data;
    size_t data_offset, data_bytes;
    bool *bad;
} block_job;

static void decode_block(size_t index, void *user)
{
    block_job *job = user;
    unsigned char bytes[BLOCK_CHARS / 4 * 3 + 4];
    size_t at = (job->first_block + index) * BLOCK_CHARS, got;
    size_t chars = job->size - at < BLOCK_CHARS ? job->size - at : BLOCK_CHARS;
    if (!base64_decode(bytes, &got, job->text + at, chars, at + chars == job->size)) {
        *job->bad = true;
        return;
    }
    size_t from = at / 4 * 3, skip = from < job->data_offset ? job->data_offset - from : 0;
    if (skip >= got) return;
    size_t to = from + skip - job->data_offset, count = got - skip;
    if (to >= job->data_bytes) return;
    if (count > job->data_bytes - to) count = job->data_bytes - to;
    memcpy(job->data + to, bytes + skip, count);
}

static bool decode_elements(char *data, const npy_header *h, span text, const file_map *map)
{
    bool bad = false;
    size_t blocks = (text.size + BLOCK_CHARS - 1) / BLOCK_CHARS;
    for (size_t first = 0; first < blocks && !bad && !cancel_requested(); first += STAGE_BLOCKS) {
        block_job job = {text.data, text.size, first, data, h->data_offset, h->data_bytes, &bad};
        size_t count = blocks - first < STAGE_BLOCKS ? blocks - first : STAGE_BLOCKS;
        parallel_for_until_cancelled(count, decode_block, &job);
        if (map && map->data && text.data >= (const char *)map->data)
            file_map_forget(map,
                            (size_t)(text.data - (const char *)map->data) + first * BLOCK_CHARS,
                            count * BLOCK_CHARS);
    }
    return !bad;
}

static bool is_plain(const npy_header *h)
{
    return !h->big_endian && h->dtype != PGY_STRING && (!h->fortran || h->rank < 2);
}

/* Reads a .npy file, or the first array of a .npz archive. */
static pgy_status parse_file(pgy_tensor **out, const void *bytes, size_t size, pgy_error *err)
{
    pgy_tensor_map *members = NULL;
    if (size < 2 || memcmp(bytes, "PK", 2) != 0) return pgy_npy_parse(out, bytes, size, err);
    pgy_status st = pgy_npz_parse(&members, bytes, size, err);
    if (!st && pgy_tensor_map_count(members) == 0)
        st = pgy_error_set(err, PGY_E_FORMAT, "the npz archive holds no array");
    if (!st) *out = pgy_tensor_retain(pgy_tensor_map_at(members, 0));
    pgy_tensor_map_destroy(members);
    return st;
}

/* Decodes the whole text into one buffer, for archives and layouts that need the general reader. */
static pgy_status read_whole(pgy_tensor **out, span text, const char *where, pgy_error *err)
{
    size_t size, got;
    if (!base64_decoded_size(&size, text.data, text.size))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "%s: %zu characters are not a valid length of base64", where,
                             text.size);
    void *bytes = mem_alloc(size + 4);
    if (!bytes)
        return pgy_error_set(err, PGY_E_MEMORY, "%s: out of memory for %zu bytes", where, size);
    pgy_status st = base64_decode(bytes, &got, text.data, text.size, true)
                        ? parse_file(out, bytes, got, err)
                        : pgy_error_set(err, PGY_E_FORMAT, "the base64 text is invalid");
    mem_free(bytes);
    return st ? pgy_error_prefix(err, st, "%s: ", where) : PGY_OK;
}

static pgy_status read_base64(pgy_tensor **out, span text, const file_map *map, const char *where,
                              pgy_error *err)
{
    unsigned char head[HEADER_CHARS / 4 * 3 + 4];
    size_t chars = text.size < HEADER_CHARS ? text.size : HEADER_CHARS, got, total;
    if (!base64_decoded_size(&total, text.data, text.size) ||
        !base64_decode(head, &got, text.data, chars, chars == text.size))
        return pgy_error_set(err, PGY_E_FORMAT, "%s: the base64 text is invalid", where);
    npy_header h;
    pgy_status st = npy_header_parse(&h, head, got, err);
    if (st) return pgy_error_prefix(err, st, "%s: ", where);
    if (!is_plain(&h)) return read_whole(out, text, where, err);
    if (total < h.data_offset || total - h.data_offset < h.data_bytes)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "%s: the array has %zu bytes, but its shape needs %zu", where,
                             total < h.data_offset ? 0 : total - h.data_offset, h.data_bytes);
    pgy_tensor *t = NULL;
    st = pgy_tensor_create(&t, h.dtype, h.rank, h.shape, err);
    if (st) return pgy_error_prefix(err, st, "%s: ", where);
    const bool good = decode_elements(pgy_tensor_data(t), &h, text, map);
    st = cancel_check(err);
    if (!st && !good)
        st = pgy_error_set(err, PGY_E_FORMAT, "%s: the base64 text is invalid", where);
    if (st)
        pgy_tensor_release(t);
    else
        *out = t;
    return st;
}

/* ---- Legacy: the bytes as Latin-1 text ---- */

static pgy_status latin1_bytes(str *out, const json_value *v, pgy_error *err)
{
    arena a = {0};
    size_t size = 0;
    const unsigned char *p = (const unsigned char *)json_string(v, &a, &size);
    const unsigned char *end = p ? p + size : NULL;
    bool no_memory = !p, good = true;
    while (good && p < end) {
        unsigned c = *p++;
        if (c >= 0x80) {
            good = c >= 0xC2 && c <= 0xC3 && p < end && (*p & 0xC0) == 0x80;
            if (good) c = (c & 3) << 6 | (*p++ & 0x3F);
        }
        str_append_char(out, (char)c);
    }
    arena_deinit(&a);
    if (no_memory || out->failed)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for an array");
    return good ? PGY_OK
                : pgy_error_set(err, PGY_E_FORMAT,
                                "the text of the array is neither base64 nor Latin-1");
}

static pgy_status read_latin1(pgy_tensor **out, const json_value *v, const char *where,
                              pgy_error *err)
{
    str bytes = {0};
    pgy_status st = latin1_bytes(&bytes, v, err);
    if (!st) st = parse_file(out, bytes.data, bytes.size, err);
    str_deinit(&bytes);
    return st ? pgy_error_prefix(err, st, "%s: ", where) : PGY_OK;
}

/* ---- Reading ---- */

static bool begins_in_base64(span text, const char *magic)
{
    size_t size, length = strlen(magic);
    return base64_decoded_size(&size, text.data, text.size) && text.size >= length &&
           memcmp(text.data, magic, length) == 0;
}

/* The text is a .npy file or a .npz archive (older releases may have written them), else bytes as
 * Latin-1. */
static pgy_status read_text(pgy_tensor **out, span text, const json_value *v, const file_map *map,
                            const char *where, pgy_error *err)
{
    if (begins_in_base64(text, "k05VTVBZ")) return read_base64(out, text, map, where, err);
    if (begins_in_base64(text, "UEs")) return read_whole(out, text, where, err);
    return read_latin1(out, v, where, err);
}

static pgy_status read_ndarray(pgy_tensor **out, const json_value *v, const file_map *map,
                               const char *where, pgy_error *err)
{
    const json_value *array = json_get(v, "array");
    if (!array || array->type != JSON_STRING)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "%s: line %u: the ndarray object lacks the key 'array'", where,
                             v->line);
    if (!array->escaped) return read_text(out, array->raw, array, map, where, err);
    arena memory = {0};
    span text = {.size = 0};
    text.data = json_string(array, &memory, &text.size);
    pgy_status st = text.data ? read_text(out, text, array, NULL, where, err)
                              : read_latin1(out, array, where, err);
    arena_deinit(&memory);
    return st;
}

pgy_status array_json_read(pgy_tensor **out, const json_value *v, const file_map *map,
                           const char *where, pgy_error *err)
{
    const char *name = typed_json_class(v);
    if (name && strcmp(name, "LazyArray") == 0) {
        v = json_get(v, "values");
        name = typed_json_class(v);
    }
    if (name && strcmp(name, "ndarray") == 0) return read_ndarray(out, v, map, where, err);
    if (name && strcmp(name, "FormattedArray") == 0 && json_get(v, "array"))
        return read_ndarray(out, json_get(v, "array"), map, where, err);
    if (name && strcmp(name, "Tensor") == 0)
        return torch_tensor_read(out, json_get(v, "tensor"), where, err);
    return typed_json_expect(v, "ndarray", where, err);
}

/* ---- Writing ---- */

pgy_status array_json_write(json_writer *w, pgy_view v, pgy_error *err)
{
    npy_image image;
    pgy_status st = npy_image_init(&image, v, err);
    if (st) return st;
    json_begin_object(w);
    json_key(w, "array");
    json_base64_begin(w);
    json_base64_append(w, image.header.data, image.header.size);
    json_base64_append(w, image.elements, image.elements_bytes);
    json_base64_end(w);
    json_put_text(w, MARKER, "ndarray");
    json_end_object(w);
    npy_image_deinit(&image);
    return PGY_OK;
}

pgy_status lazy_array_json_write(json_writer *w, pgy_view v, pgy_error *err)
{
    json_begin_object(w);
    json_key(w, "values");
    pgy_status st = array_json_write(w, v, err);
    if (st) json_null(w); /* completes the JSON item; the caller discards the file */
    json_put_text(w, MARKER, "LazyArray");
    json_end_object(w);
    return st;
}
