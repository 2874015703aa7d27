/* SPDX-License-Identifier: Apache-2.0 */
/* Files of NVIDIA's trtexec do not name the types of tensors, so ours have the key "dtype" besides.
 * Theirs have NaN and infinities as C++ prints them (nan, -inf), which is not JSON; the reader takes
 * these words, too. */
#include "data/trtexec_outputs.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

/* ---- Writing -------------------------------------------------------------------------------- */

/* Integers are exact; all other numbers become doubles, which hold every float type but none of the
 * complex ones. */
static pgy_status write_values(json_writer *w, const char *name, pgy_tensor *t, pgy_error *err)
{
    const pgy_dtype_info *type = pgy_dtype_describe(pgy_tensor_dtype(t));
    const bool whole = type->kind != PGY_KIND_FLOAT && type->dtype != PGY_U64;
    pgy_tensor *wide = NULL;
    if (type->kind == PGY_KIND_COMPLEX || type->kind == PGY_KIND_STRING)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "output '%s' is %s; expected real numbers",
                             name, type->name);
    const pgy_dtype as = type->dtype == PGY_U64 ? PGY_U64 : whole ? PGY_I64 : PGY_F64;
    const pgy_status st = pgy_tensor_cast(&wide, pgy_tensor_view(t), as, err);
    if (st) return st;
    const void *data = pgy_tensor_data(wide);
    for (size_t i = 0; i < pgy_tensor_count(wide); i++) {
        if (as == PGY_I64)
            json_int(w, ((const int64_t *)data)[i]);
        else if (as == PGY_U64)
            json_uint(w, ((const uint64_t *)data)[i]);
        else
            json_real_or_text(w, ((const double *)data)[i]);
    }
    pgy_tensor_release(wide);
    return PGY_OK;
}

static pgy_status write_output(json_writer *w, const char *name, pgy_tensor *t, pgy_error *err)
{
    str shape = {0};
    for (size_t i = 0; i < pgy_tensor_rank(t); i++)
        str_printf(&shape, "%s%lld", i ? "x" : "", (long long)pgy_tensor_shape(t)[i]);
    json_begin_object(w);
    json_put_text(w, "name", name);
    json_put_text(w, "dimensions", str_text(&shape));
    json_put_text(w, "dtype", pgy_dtype_name(pgy_tensor_dtype(t)));
    json_key(w, "values");
    json_begin_array(w);
    const pgy_status st = write_values(w, name, t, err);
    json_end_array(w);
    json_end_object(w);
    str_deinit(&shape);
    return st;
}

pgy_status trtexec_outputs_write(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_tensor_map *m = user;
    pgy_status st = PGY_OK;
    json_begin_array(w);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(m); i++)
        st = write_output(w, pgy_tensor_map_name(m, i), pgy_tensor_map_at(m, i), err);
    json_end_array(w);
    return st;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* "1x10"; "" or "scalar" for rank 0 */
static bool read_shape(int64_t *shape, size_t *rank, const char *text)
{
    *rank = 0;
    if (!strcmp(text, "scalar")) return true;
    while (*text) {
        char *end = NULL;
        if (*rank == PGY_MAX_RANK || *text < '0' || *text > '9') return false;
        shape[(*rank)++] = strtoll(text, &end, 10);
        if (*end && *end != 'x') return false;
        text = end + (*end == 'x');
        if (*end == 'x' && !*text) return false;
    }
    return true;
}

static bool read_value(double *out, const json_value *v)
{
    if (v->type == JSON_INT || v->type == JSON_REAL)
        *out = v->real;
    else if (v->type == JSON_STRING && span_equals(v->raw, "NaN"))
        *out = NAN;
    else if (v->type == JSON_STRING && span_equals(v->raw, "Infinity"))
        *out = INFINITY;
    else if (v->type == JSON_STRING && span_equals(v->raw, "-Infinity"))
        *out = -INFINITY;
    else
        return false;
    return true;
}

/* Integers beyond int64 are JSON_REAL, but their digits are exact. */
static bool read_uint(uint64_t *out, const json_value *v)
{
    char *end = NULL;
    if ((v->type != JSON_INT && v->type != JSON_REAL) || !v->raw.size || v->raw.data[0] == '-')
        return false;
    errno = 0;
    *out = strtoull(v->raw.data, &end, 10);
    return !errno && end == v->raw.data + v->raw.size;
}

static bool read_item(pgy_tensor *wide, size_t i, const json_value *v)
{
    void *data = pgy_tensor_data(wide);
    if (pgy_tensor_dtype(wide) == PGY_F64) return read_value((double *)data + i, v);
    if (pgy_tensor_dtype(wide) == PGY_U64) return read_uint((uint64_t *)data + i, v);
    if (v->type == JSON_INT) ((int64_t *)data)[i] = v->integer;
    if (v->type == JSON_BOOL) ((int64_t *)data)[i] = v->boolean;
    return v->type == JSON_INT || v->type == JSON_BOOL;
}

/* The type in which values of `type` are exact */
static pgy_dtype wide_type(pgy_dtype type)
{
    if (type == PGY_U64) return PGY_U64;
    return type == PGY_BOOL || pgy_dtype_is_integer(type) ? PGY_I64 : PGY_F64;
}

/* The number of values is checked before memory is taken: the dimensions may be any. */
static pgy_status read_values(pgy_tensor **out, pgy_dtype type, size_t rank, const int64_t *shape,
                              const json_value *values, const char *name, pgy_error *err)
{
    size_t count, i = 0;
    pgy_status st = pgy_shape_count(&count, rank, shape, err);
    if (!st && values->count != count)
        st = pgy_error_set(err, PGY_E_SHAPE, "'%s' has %zu values, but its dimensions need %zu",
                           name, values->count, count);
    if (st) return st;
    st = pgy_tensor_create(out, wide_type(type), rank, shape, err);
    for (const json_value *v = st ? NULL : values->first; !st && v; v = v->next, i++)
        if (!read_item(*out, i, v))
            st = pgy_error_set(err, PGY_E_FORMAT, "line %u: value %zu of '%s' is not %s", v->line,
                               i, name, wide_type(type) == PGY_F64 ? "a number" : "an integer");
    return st;
}

/* Fails if integers have changed because their type cannot hold them. */
static pgy_status check_range(const pgy_tensor *wide, const pgy_tensor *narrow, const char *name,
                              pgy_error *err)
{
    pgy_tensor *back = NULL;
    pgy_status st = pgy_tensor_cast(&back, pgy_tensor_view(narrow), PGY_I64, err);
    const int64_t *a = pgy_tensor_data(wide), *b = st ? a : pgy_tensor_data(back);
    for (size_t i = 0; !st && i < pgy_tensor_count(wide); i++)
        if (a[i] != b[i])
            st = pgy_error_set(err, PGY_E_FORMAT, "value %zu of '%s' is %lld, which %s cannot hold",
                               i, name, (long long)a[i], pgy_dtype_name(pgy_tensor_dtype(narrow)));
    pgy_tensor_release(back);
    return st;
}

/* The name of the type of a tensor for which the file names none */
static const char *type_name(const pgy_metadata *types, const char *title)
{
    const pgy_tensor_info *info = types ? pgy_metadata_find(types, title) : NULL;
    return pgy_dtype_name(info && info->dtype != PGY_DTYPE_NONE ? info->dtype : PGY_F32);
}

static pgy_status read_output(pgy_tensor_map *map, const json_value *item,
                              const pgy_metadata *types, arena *memory, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    size_t rank;
    const json_value *name = json_get(item, "name"), *dims = json_get(item, "dimensions");
    const json_value *dtype = json_get(item, "dtype"), *values = json_get(item, "values");
    pgy_tensor *wide = NULL, *t = NULL;
    if (!name || name->type != JSON_STRING || !dims || dims->type != JSON_STRING || !values ||
        values->type != JSON_ARRAY || (dtype && dtype->type != JSON_STRING))
        return pgy_error_set(err, PGY_E_FORMAT,
                             "line %u: expected an object with name, dimensions and values",
                             item->line);
    const char *title = json_string(name, memory, NULL), *text = json_string(dims, memory, NULL);
    const char *word = dtype   ? json_string(dtype, memory, NULL)
                       : title ? type_name(types, title)
                               : NULL;
    if (!title || !text || !word) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const pgy_dtype type = pgy_dtype_from_name(word);
    const pgy_dtype_kind kind = type ? pgy_dtype_describe(type)->kind : PGY_KIND_STRING;
    if (!read_shape(shape, &rank, text) || kind == PGY_KIND_STRING || kind == PGY_KIND_COMPLEX)
        return pgy_error_set(err, PGY_E_FORMAT, "line %u: '%s': bad dimensions '%s' or type '%s'",
                             item->line, title, text, word);
    pgy_status st = read_values(&wide, type, rank, shape, values, title, err);
    if (!st) st = pgy_tensor_cast(&t, pgy_tensor_view(wide), type, err);
    if (!st && pgy_tensor_dtype(wide) == PGY_I64) st = check_range(wide, t, title, err);
    if (!st)
        st = pgy_tensor_map_adopt(map, title, t, err);
    else
        pgy_tensor_release(t);
    pgy_tensor_release(wide);
    return st;
}

/* The size of a word that C++ prints for NaN or infinity; 0: the text begins with something else.
 */
static size_t special_size(const char *text, size_t size, const char **json)
{
    static const struct {
        const char *word, *json;
    } WORDS[] = {{"nan", "NaN"}, {"inf", "Infinity"}};
    const size_t sign = size && *text == '-';
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        const size_t n = strlen(WORDS[i].word);
        if (size - sign < n || memcmp(text + sign, WORDS[i].word, n)) continue;
        if (size - sign > n && isalnum((unsigned char)text[sign + n])) continue;
        *json = WORDS[i].json;
        return sign + n;
    }
    return 0;
}

/* Copies the text, with the words of C++ outside strings as those of our JSON dialect. */
static void copy_json(str *out, span text)
{
    bool quoted = false;
    size_t kept = 0;
    for (size_t i = 0; i < text.size; i++) {
        const char *json = NULL;
        const char c = text.data[i];
        if (c == '"') quoted = !quoted;
        if (quoted && c == '\\') i++;
        if (quoted || (c != '-' && c != 'n' && c != 'i')) continue;
        if (i && isalnum((unsigned char)text.data[i - 1])) continue;
        const size_t size = special_size(text.data + i, text.size - i, &json);
        if (!size) continue;
        str_append_n(out, text.data + kept, i - kept);
        str_append(out, *json == 'I' && c == '-' ? "-Infinity" : json);
        kept = i + size;
        i = kept - 1;
    }
    str_append_n(out, text.data + kept, text.size - kept);
}

/* Reads one output at a time: a JSON value takes many times the memory of its number. */
static pgy_status read_items(pgy_tensor_map *map, json_cursor *at, const pgy_metadata *types,
                             pgy_error *err)
{
    pgy_status st = json_expect(at, '[', "a JSON array of outputs", err);
    if (!st && json_peek(at) == ']') return json_expect(at, ']', "']'", err);
    while (!st) {
        arena memory = {0};
        json_value *item = NULL;
        st = json_next(&item, at, &memory, err);
        if (!st) st = read_output(map, item, types, &memory, err);
        arena_deinit(&memory);
        if (st || json_peek(at) != ',') break;
        st = json_expect(at, ',', "','", err);
    }
    return st ? st : json_expect(at, ']', "',' or ']'", err);
}

static pgy_status read_outputs(pgy_tensor_map **out, span text, const pgy_metadata *types,
                               pgy_error *err)
{
    pgy_tensor_map *map = NULL;
    json_cursor at = json_cursor_at(text);
    pgy_status st = pgy_tensor_map_create(&map, err);
    if (!st) st = read_items(map, &at, types, err);
    if (!st && json_peek(&at) >= 0)
        st = pgy_error_set(err, PGY_E_FORMAT, "line %u: there is more text behind the array",
                           at.line);
    if (st)
        pgy_tensor_map_destroy(map);
    else
        *out = map;
    return st;
}

pgy_status trtexec_outputs_parse(pgy_tensor_map **out, span text, const char *path,
                                 const pgy_metadata *types, pgy_error *err)
{
    str json = {0};
    copy_json(&json, text);
    const pgy_status st =
        json.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for a file of outputs")
                    : read_outputs(out, (span){str_text(&json), json.size}, types, err);
    str_deinit(&json);
    return st ? pgy_error_prefix(err, st, "%s: ", path) : PGY_OK;
}

pgy_status trtexec_outputs_load(pgy_tensor_map **out, const char *path, const pgy_metadata *types,
                                pgy_error *err)
{
    str text = {0};
    pgy_status st = file_read(&text, path, err);
    if (!st) st = trtexec_outputs_parse(out, (span){str_text(&text), text.size}, path, types, err);
    str_deinit(&text);
    return st;
}
