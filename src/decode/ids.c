/* SPDX-License-Identifier: Apache-2.0 */
/* Files of token ids: lines of integers, a JSON array (of arrays), or a .npy file. The content
 * decides which. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/json.h"
#include "decode/decode.h"

/* Ids of all rows so far. */
typedef struct id_list {
    int64_t *items;
    size_t count, capacity;
    size_t rows, width; /* width: length of the first row */
    const char *name;   /* of the file */
} id_list;

static pgy_status add_id(id_list *l, int64_t id, pgy_error *err)
{
    if (!mem_grow((void **)&l->items, &l->capacity, l->count + 1, sizeof *l->items))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    l->items[l->count++] = id;
    return PGY_OK;
}

/* `first`: index of the row's first id in the list. */
static pgy_status end_row(id_list *l, size_t first, pgy_error *err)
{
    const size_t count = l->count - first;
    if (!l->rows) l->width = count;
    l->rows++;
    if (count == l->width) return PGY_OK;
    return pgy_error_set(
        err, PGY_E_FORMAT,
        "%s: row %zu has %zu ids, but row 0 has %zu; all rows need the same number", l->name,
        l->rows - 1, count, l->width);
}

static pgy_status give_list(pgy_tensor **out, const id_list *l, pgy_error *err)
{
    const int64_t shape[2] = {(int64_t)l->rows, (int64_t)l->width};
    pgy_tensor *t = NULL;
    if (!l->count) return pgy_error_set(err, PGY_E_FORMAT, "%s: there are no token ids", l->name);
    const pgy_status st = pgy_tensor_create(&t, PGY_I64, 2, shape, err);
    if (st) return st;
    memcpy(pgy_tensor_data(t), l->items, l->count * sizeof *l->items);
    *out = t;
    return PGY_OK;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static bool is_separator(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == ',';
}

static pgy_status bad_word(const id_list *l, size_t line, const char *word, size_t size,
                           pgy_error *err)
{
    str shown = {0};
    str_append_n(&shown, word, size < 40 ? size : 40);
    if (size > 40) str_append(&shown, "...");
    for (size_t i = 0; i < shown.size; i++)
        if ((unsigned char)shown.data[i] < ' ' || (unsigned char)shown.data[i] > '~')
            shown.data[i] = '?';
    const pgy_status st = pgy_error_set(err, PGY_E_FORMAT,
                                        "%s, line %zu: '%s' is no token id; expected integers with "
                                        "blanks or commas between them",
                                        l->name, line, str_text(&shown));
    str_deinit(&shown);
    return st;
}

/* Reads a decimal integer of `size` characters. */
static bool read_id(int64_t *out, const char *word, size_t size)
{
    size_t i = word[0] == '-' || word[0] == '+';
    int64_t value = 0;
    if (i == size) return false;
    for (; i < size; i++) {
        if (word[i] < '0' || word[i] > '9') return false;
        if (!i64_mul(&value, value, 10) || !i64_add(&value, value, word[i] - '0')) return false;
    }
    *out = word[0] == '-' ? -value : value;
    return true;
}

static pgy_status read_line(id_list *l, const char *line, size_t size, size_t number,
                            pgy_error *err)
{
    const size_t first = l->count;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < size;) {
        size_t end = i;
        int64_t id = 0;
        while (end < size && !is_separator(line[end])) end++;
        if (end == i) {
            i++;
            continue;
        }
        st = read_id(&id, line + i, end - i) ? add_id(l, id, err)
                                             : bad_word(l, number, line + i, end - i, err);
        i = end;
    }
    return st || l->count == first ? st : end_row(l, first, err);
}

static pgy_status read_lines(id_list *l, const char *text, size_t size, pgy_error *err)
{
    pgy_status st = PGY_OK;
    size_t number = 1;
    for (size_t i = 0; !st && i < size; number++) {
        const char *end = memchr(text + i, '\n', size - i);
        const size_t length = end ? (size_t)(end - text) - i : size - i;
        st = cancel_check(err);
        if (!st) st = read_line(l, text + i, length, number, err);
        i += length + 1;
    }
    return st;
}

/* ---- JSON and npy ---------------------------------------------------------------------------- */

static pgy_status read_items(id_list *l, const json_value *array, pgy_error *err)
{
    const size_t first = l->count;
    pgy_status st = PGY_OK;
    for (const json_value *v = array->first; !st && v; v = v->next)
        st = v->type == JSON_INT
                 ? add_id(l, v->integer, err)
                 : pgy_error_set(err, PGY_E_FORMAT, "%s, line %u: expected an integer id", l->name,
                                 v->line);
    return st ? st : end_row(l, first, err);
}

static pgy_status read_json(id_list *l, const char *text, size_t size, pgy_error *err)
{
    arena memory = {0};
    json_value *all = NULL;
    pgy_status st = json_parse(&all, text, size, &memory, err);
    if (st) st = pgy_error_prefix(err, st, "%s: ", l->name);
    if (!st && all->type != JSON_ARRAY)
        st = pgy_error_set(err, PGY_E_FORMAT, "%s: expected an array of ids", l->name);
    const bool nested = !st && all->first && all->first->type == JSON_ARRAY;
    if (!st && !nested) st = read_items(l, all, err);
    for (const json_value *v = nested ? all->first : NULL; !st && v; v = v->next)
        st = v->type == JSON_ARRAY
                 ? read_items(l, v, err)
                 : pgy_error_set(err, PGY_E_FORMAT, "%s, line %u: expected an array of ids",
                                 l->name, v->line);
    arena_deinit(&memory);
    return st;
}

/* Ids above INT64_MAX would become negative. */
static pgy_status check_unsigned(const pgy_tensor *ids, const char *what, pgy_error *err)
{
    const uint64_t *x = pgy_tensor_data(ids);
    for (size_t i = 0; i < pgy_tensor_count(ids); i++)
        if (x[i] > INT64_MAX)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "%s: element %zu is %llu, which is no token id; expected at most "
                                 "%lld",
                                 what, i, (unsigned long long)x[i], (long long)INT64_MAX);
    return PGY_OK;
}

pgy_status ids_cast(pgy_tensor **out, pgy_view given, const char *what, pgy_error *err)
{
    const int64_t shape[2] = {given.rank == 2 ? given.shape[0] : 1, given.shape[given.rank - 1]};
    pgy_tensor *copy = NULL, *ids = NULL;
    pgy_status st = given.dtype == PGY_U64 ? pgy_tensor_copy(&copy, given, err) : PGY_OK;
    if (!st && copy) st = check_unsigned(copy, what, err);
    if (!st) st = pgy_tensor_cast(&ids, given, PGY_I64, err);
    if (!st) st = pgy_tensor_reshape(out, ids, 2, shape, err);
    pgy_tensor_release(copy);
    pgy_tensor_release(ids);
    return st;
}

static pgy_status read_npy(pgy_tensor **out, const void *data, size_t size, const char *name,
                           pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = pgy_npy_parse(&t, data, size, err);
    if (st) return pgy_error_prefix(err, st, "%s: ", name);
    const size_t rank = pgy_tensor_rank(t);
    if (!pgy_dtype_is_integer(pgy_tensor_dtype(t)) || rank < 1 || rank > 2)
        st = pgy_error_set(err, PGY_E_FORMAT,
                           "%s: expected integers of rank 1 or 2, but it has %s of rank %zu", name,
                           pgy_dtype_name(pgy_tensor_dtype(t)), rank);
    else if (!pgy_tensor_count(t))
        st = pgy_error_set(err, PGY_E_FORMAT, "%s: there are no token ids", name);
    if (!st) st = ids_cast(out, pgy_tensor_view(t), name, err);
    pgy_tensor_release(t);
    return st;
}

/* ---- Any ------------------------------------------------------------------------------------- */

pgy_status pgy_decode_ids_parse(pgy_tensor **out, const void *data, size_t size_bytes,
                                const char *name, pgy_error *err)
{
    const char *text = data;
    size_t start = 0;
    id_list l = {.name = name ? name : "ids"};
    if (size_bytes >= 6 && !memcmp(data, "\x93NUMPY", 6))
        return read_npy(out, data, size_bytes, l.name, err);
    while (start < size_bytes && (is_separator(text[start]) || text[start] == '\n')) start++;
    const bool json = start < size_bytes && text[start] == '[';
    pgy_status st =
        json ? read_json(&l, text, size_bytes, err) : read_lines(&l, text, size_bytes, err);
    if (!st) st = give_list(out, &l, err);
    mem_free(l.items);
    return st;
}

pgy_status pgy_decode_ids_load(pgy_tensor **out, const char *path, pgy_error *err)
{
    str text = {0};
    pgy_status st = file_read(&text, path, err);
    if (!st) st = pgy_decode_ids_parse(out, str_text(&text), text.size, path, err);
    str_deinit(&text);
    return st;
}
