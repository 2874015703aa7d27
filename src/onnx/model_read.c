/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: one function for all messages. Each message is read twice: the first pass counts the
 * items of every list, the second fills lists of exactly that size. Bytes and packed floats stay
 * views of the input, so weights are skipped and never touched; texts are copied, so that they can
 * be terminated. If a single message occurs more than once, the encodings are joined and read as
 * one, as protobuf does. */
#include "onnx/model_read.h"

#include <string.h>

#include "base/log.h"
#include "base/printable.h"
#include "onnx/schema.h"
#include "onnx/text_check.h"

static const char LOG_PATH[] = "onnx/model_read.c";

enum { SHOWN = 100 }; /* bytes of a text that an error shows */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "views of files are little-endian");

typedef struct reader {
    arena *a;
    pgy_error *err;
    const uint8_t *start; /* offsets in messages count from here */
    unsigned depth;
    bool has_path; /* the error text begins with a field path already */
    bool warned;   /* true after a warning about a text that is not UTF-8 */
} reader;

/* What the two passes over a message count for each field; indexed by the field's row in the
 * schema. */
typedef struct tally {
    size_t runs[SCHEMA_MAX_FIELDS];   /* occurrences of the field */
    size_t items[SCHEMA_MAX_FIELDS];  /* elements in all occurrences */
    size_t filled[SCHEMA_MAX_FIELDS]; /* elements that the second pass has stored so far */
    size_t unknown;
} tally;

/* One occurrence of a known field, to be stored in a struct. */
typedef struct store_args {
    reader *d;
    void *message;
    const schema_field *f;
    const wire_field *w;
    size_t runs;
    size_t *filled;
} store_args;

static pgy_status read_message(reader *d, const schema *s, void **out, const uint8_t *data,
                               size_t size);

static pgy_status out_of_memory(reader *d)
{
    return pgy_error_set(d->err, PGY_E_MEMORY, "out of memory while reading the model");
}

/* Gives the row of a field in the schema, or field_count if it is unknown or has another wire type
 * (protobuf keeps such a field, too). */
static size_t find_row(const schema *s, const wire_field *w)
{
    for (size_t i = 0; i < s->field_count; i++) {
        if (s->fields[i].number != w->number) continue;
        const field_kind_info *kind = &FIELD_KINDS[s->fields[i].kind];
        const bool fits = w->type == kind->wire || (kind->packable && w->type == WIRE_LEN);
        return fits ? i : s->field_count;
    }
    return s->field_count;
}

static bool is_packed(const schema_field *f, const wire_field *w)
{
    return FIELD_KINDS[f->kind].packable && w->type == WIRE_LEN;
}

static pgy_status count_items(reader *d, const schema_field *f, const wire_field *w, size_t *items)
{
    if (!is_packed(f, w)) {
        *items += 1;
        return PGY_OK;
    }
    const field_kind_info *kind = &FIELD_KINDS[f->kind];
    size_t n = 0;
    if (kind->wire == WIRE_VARINT) {
        for (size_t i = 0; i < w->size; i++) n += w->data[i] < 0x80;
    } else {
        if (w->size % kind->item_bytes)
            return pgy_error_set(d->err, PGY_E_FORMAT,
                                 "%s at byte %zu: its size, %zu bytes, is not a multiple of %zu",
                                 f->name, (size_t)(w->begin - d->start), w->size, kind->item_bytes);
        n = w->size / kind->item_bytes;
    }
    *items += n;
    return PGY_OK;
}

static pgy_status scan(reader *d, const schema *s, const uint8_t *data, size_t size, tally *t)
{
    wire_reader r = {data, data + size, d->start};
    for (;;) {
        wire_field w;
        bool more = false;
        pgy_status st = wire_next(&r, &w, &more, d->err);
        if (st || !more) return st;
        const size_t row = find_row(s, &w);
        if (row == s->field_count) {
            t->unknown++;
            continue;
        }
        t->runs[row]++;
        st = count_items(d, &s->fields[row], &w, &t->items[row]);
        if (st) return st;
    }
}

/* Allocates the lists that the second pass fills. Packed floats in one run need no list, because
 * they stay a view. */
static pgy_status make_lists(reader *d, const schema *s, pgy_onnx_message *m, const tally *t)
{
    for (size_t i = 0; i < s->field_count; i++) {
        const schema_field *f = &s->fields[i];
        const field_kind_info *kind = &FIELD_KINDS[f->kind];
        if (t->items[i] == 0 || kind->item_bytes == 0) continue;
        if (!kind->list && t->runs[i] == 1 && t->items[i] > 1) continue;
        void *items = arena_alloc_array(d->a, t->items[i], kind->item_bytes);
        if (!items) return out_of_memory(d);
        field_set_pointer(m, f, items);
        if (kind->list) memcpy((char *)m + f->count_offset, &t->items[i], sizeof(size_t));
    }
    if (t->unknown == 0) return PGY_OK;
    m->unknown = arena_alloc_array(d->a, t->unknown, sizeof(pgy_bytes));
    return m->unknown ? PGY_OK : out_of_memory(d);
}

/* ---- Storing one field ---------------------------------------------------------------------- */

/* Only warns, because protobuf's Python readers accept such texts, so models with them exist. */
static void warn_of_bytes(reader *d, const char *text, const uint8_t *wrong)
{
    if (!d->warned)
        LOG(WARNING,
            "The model has text that is not UTF-8, first at byte %zu of the file: '%.*s'. Output "
            "shows it with escapes; saving keeps its bytes",
            (size_t)(wrong - d->start), SHOWN, printable_name(text));
    d->warned = true;
}

static pgy_status copy_text(reader *d, const wire_field *w, const char **out)
{
    const uint8_t *wrong = text_find_bad(w->data, w->size);
    const uint8_t *nul = wrong ? memchr(wrong, 0, w->size - (size_t)(wrong - w->data)) : NULL;
    if (nul)
        return pgy_error_set(d->err, PGY_E_FORMAT,
                             "a text holds a NUL byte, at byte %zu of the file",
                             (size_t)(nul - d->start));
    *out = w->size ? arena_strndup(d->a, (const char *)w->data, w->size) : "";
    if (wrong && *out) warn_of_bytes(d, *out, wrong);
    return *out ? PGY_OK : out_of_memory(d);
}

static void *value_at(const store_args *x)
{
    return (char *)x->message + x->f->offset;
}

static void *next_item(const store_args *x)
{
    char *items = field_pointer(x->message, x->f);
    return items + FIELD_KINDS[x->f->kind].item_bytes * (*x->filled)++;
}

static pgy_status store_int32(const store_args *x)
{
    const int32_t v = (int32_t)(uint32_t)x->w->value;
    memcpy(value_at(x), &v, sizeof(v));
    return PGY_OK;
}

static pgy_status store_int64(const store_args *x)
{
    memcpy(value_at(x), &x->w->value, sizeof(int64_t));
    return PGY_OK;
}

static pgy_status store_float(const store_args *x)
{
    const uint32_t bits = (uint32_t)x->w->value;
    memcpy(value_at(x), &bits, sizeof(bits));
    return PGY_OK;
}

static pgy_status store_string(const store_args *x)
{
    const char *text = NULL;
    pgy_status st = copy_text(x->d, x->w, &text);
    if (!st) field_set_pointer(x->message, x->f, text);
    return st;
}

static pgy_status store_bytes(const store_args *x)
{
    const pgy_bytes v = {x->w->data, x->w->size};
    memcpy(value_at(x), &v, sizeof(v));
    return PGY_OK;
}

static pgy_status store_message(const store_args *x)
{
    if (x->runs > 1) return PGY_OK; /* read_merged has read all occurrences already */
    void *child = NULL;
    pgy_status st = read_message(x->d, x->f->message, &child, x->w->data, x->w->size);
    if (!st) field_set_pointer(x->message, x->f, child);
    return st;
}

static void store_item_int(const store_args *x, uint64_t v)
{
    if (x->f->kind == FIELD_INT32_LIST) v = (uint64_t)(int64_t)(int32_t)(uint32_t)v;
    memcpy(next_item(x), &v, sizeof(v));
}

static pgy_status store_ints(const store_args *x)
{
    if (!is_packed(x->f, x->w)) {
        store_item_int(x, x->w->value);
        return PGY_OK;
    }
    wire_reader r = {x->w->data, x->w->data + x->w->size, x->d->start};
    while (r.p < r.end) {
        uint64_t v = 0;
        pgy_status st = wire_varint(&r, &v, x->d->err);
        if (st) return st;
        store_item_int(x, v);
    }
    return PGY_OK;
}

/* Copies one element or a packed run to the end of the gathered elements. */
static void gather_fixed(const store_args *x)
{
    const size_t item_bytes = FIELD_KINDS[x->f->kind].item_bytes;
    char *to = (char *)field_pointer(x->message, x->f) + *x->filled * item_bytes;
    const bool packed = is_packed(x->f, x->w);
    const size_t size = packed ? x->w->size : item_bytes;
    if (size) memcpy(to, packed ? (const void *)x->w->data : (const void *)&x->w->value, size);
    *x->filled += size / item_bytes;
}

static pgy_status store_floats(const store_args *x)
{
    if (x->w->type != WIRE_LEN || x->w->size) gather_fixed(x);
    return PGY_OK;
}

static pgy_status store_fixed_bytes(const store_args *x)
{
    const size_t item_bytes = FIELD_KINDS[x->f->kind].item_bytes;
    if (x->runs == 1 && is_packed(x->f, x->w) && x->w->size != item_bytes) return store_bytes(x);
    if (x->w->type == WIRE_LEN && x->w->size == 0) return PGY_OK;
    gather_fixed(x);
    pgy_bytes *v = value_at(x);
    v->size = *x->filled * item_bytes;
    return PGY_OK;
}

static pgy_status store_strings(const store_args *x)
{
    const char *text = NULL;
    pgy_status st = copy_text(x->d, x->w, &text);
    if (!st) memcpy(next_item(x), &text, sizeof(text));
    return st;
}

static pgy_status store_bytes_item(const store_args *x)
{
    const pgy_bytes v = {x->w->data, x->w->size};
    memcpy(next_item(x), &v, sizeof(v));
    return PGY_OK;
}

static pgy_status store_messages(const store_args *x)
{
    void *child = NULL;
    pgy_status st = read_message(x->d, x->f->message, &child, x->w->data, x->w->size);
    if (!st) memcpy(next_item(x), &child, sizeof(child));
    return st;
}

static pgy_status (*const STORE[FIELD_KIND_COUNT])(const store_args *x) = {
    [FIELD_INT32] = store_int32,
    [FIELD_INT64] = store_int64,
    [FIELD_FLOAT] = store_float,
    [FIELD_STRING] = store_string,
    [FIELD_BYTES] = store_bytes,
    [FIELD_MESSAGE] = store_message,
    [FIELD_INT32_LIST] = store_ints,
    [FIELD_INT64_LIST] = store_ints,
    [FIELD_FLOAT_LIST] = store_floats,
    [FIELD_FLOAT_BYTES] = store_fixed_bytes,
    [FIELD_DOUBLE_BYTES] = store_fixed_bytes,
    [FIELD_STRING_LIST] = store_strings,
    [FIELD_BYTES_LIST] = store_bytes_item,
    [FIELD_MESSAGE_LIST] = store_messages,
};

/* ---- Messages ------------------------------------------------------------------------------- */

/* Puts this field in front of the path in the error text. The outer part of a very long path is
 * omitted, so that the cause at its end stays readable. */
static pgy_status add_path(reader *d, pgy_status st, const schema_field *f, size_t index)
{
    enum { LONGEST_TEXT = 400 };
    if (d->err && strlen(d->err->text) > LONGEST_TEXT) {
        if (strncmp(d->err->text, "...", 3) != 0) pgy_error_prefix(d->err, st, "...");
        return st;
    }
    const char *join = d->has_path ? "." : ": ";
    d->has_path = true;
    if (FIELD_KINDS[f->kind].list)
        return pgy_error_prefix(d->err, st, "%s[%zu]%s", f->name, index, join);
    return pgy_error_prefix(d->err, st, "%s%s", f->name, join);
}

/* Copies all occurrences of a length-delimited field, one after the other; with to NULL only adds
 * up their size. */
static pgy_status join_runs(reader *d, const schema_field *f, const uint8_t *data, size_t size,
                            uint8_t *to, size_t *total)
{
    wire_reader r = {data, data + size, d->start};
    *total = 0;
    for (;;) {
        wire_field w;
        bool more = false;
        pgy_status st = wire_next(&r, &w, &more, d->err);
        if (st || !more) return st;
        if (w.number != f->number || w.type != WIRE_LEN) continue;
        if (to && w.size) memcpy(to + *total, w.data, w.size);
        *total += w.size;
    }
}

/* Reads a single message that occurs more than once. Offsets in errors count from the start of the
 * joined bytes. */
static pgy_status read_merged(reader *d, const schema_field *f, void *message, const uint8_t *data,
                              size_t size)
{
    size_t total = 0;
    void *child = NULL;
    pgy_status st = join_runs(d, f, data, size, NULL, &total);
    if (st) return st;
    uint8_t *joined = arena_alloc(d->a, total + 1);
    if (!joined) return out_of_memory(d);
    st = join_runs(d, f, data, size, joined, &total);
    if (st) return st;
    const uint8_t *start = d->start;
    d->start = joined;
    st = read_message(d, f->message, &child, joined, total);
    d->start = start;
    if (!st) field_set_pointer(message, f, child);
    return st;
}

static pgy_status fill(reader *d, const schema *s, pgy_onnx_message *m, tally *t,
                       size_t *last_oneof)
{
    const uint8_t *data = m->raw.data;
    wire_reader r = {data, data + m->raw.size, d->start};
    for (;;) {
        wire_field w;
        bool more = false;
        pgy_status st = wire_next(&r, &w, &more, d->err);
        if (st || !more) return st;
        const size_t row = find_row(s, &w);
        if (row == s->field_count) {
            ((pgy_bytes *)m->unknown)[m->unknown_count++] = (pgy_bytes){w.begin, w.whole_size};
            continue;
        }
        const schema_field *f = &s->fields[row];
        const store_args x = {d, m, f, &w, t->runs[row], &t->filled[row]};
        const size_t index = t->filled[row];
        st = STORE[f->kind](&x);
        if (st) return add_path(d, st, f, index);
        m->present |= field_bit(f->number);
        if (f->flags & FIELD_ONEOF) *last_oneof = row;
    }
}

/* Keeps only the last field of a oneof; absent texts become "". */
static void settle(const schema *s, pgy_onnx_message *m, size_t last_oneof)
{
    for (size_t i = 0; i < s->field_count; i++) {
        const schema_field *f = &s->fields[i];
        if ((f->flags & FIELD_ONEOF) && i != last_oneof) {
            memset((char *)m + f->offset, 0, sizeof(int64_t)); /* an integer or a pointer */
            m->present &= ~field_bit(f->number);
        }
        if (f->kind == FIELD_STRING && !field_pointer(m, f)) field_set_pointer(m, f, "");
    }
}

static pgy_status read_body(reader *d, const schema *s, pgy_onnx_message *m)
{
    tally t = {0};
    size_t last_oneof = s->field_count;
    pgy_status st = scan(d, s, m->raw.data, m->raw.size, &t);
    if (!st) st = make_lists(d, s, m, &t);
    for (size_t i = 0; i < s->field_count && !st; i++) {
        if (s->fields[i].kind != FIELD_MESSAGE || t.runs[i] < 2) continue;
        st = read_merged(d, &s->fields[i], m, m->raw.data, m->raw.size);
        if (st) return add_path(d, st, &s->fields[i], 0);
    }
    if (!st) st = fill(d, s, m, &t, &last_oneof);
    if (!st) settle(s, m, last_oneof);
    return st;
}

static pgy_status read_message(reader *d, const schema *s, void **out, const uint8_t *data,
                               size_t size)
{
    if (d->depth == SCHEMA_MAX_DEPTH)
        return pgy_error_set(d->err, PGY_E_FORMAT,
                             "messages are nested more than %d deep at byte %zu", SCHEMA_MAX_DEPTH,
                             (size_t)(data - d->start));
    pgy_onnx_message *m = arena_alloc(d->a, s->size_bytes);
    if (!m) return out_of_memory(d);
    m->raw = (pgy_bytes){data, size};
    d->depth++;
    pgy_status st = read_body(d, s, m);
    d->depth--;
    if (!st) *out = m;
    return st;
}

pgy_status model_read(pgy_onnx_model **out, arena *a, const void *data, size_t size_bytes,
                      pgy_error *err)
{
    enum { FIRST_TAG = 0x08 }; /* ir_version: every writer begins with it, no text does */
    reader d = {a, err, data, 0, false};
    void *tree = NULL;
    if (size_bytes == 0)
        return pgy_error_set(err, PGY_E_FORMAT, "not an ONNX model: the file is empty");
    pgy_status st = read_message(&d, &SCHEMA_MODEL, &tree, data, size_bytes);
    if (st == PGY_E_FORMAT && !d.has_path && *d.start != FIRST_TAG)
        return pgy_error_prefix(err, st, "not an ONNX model: ");
    if (st) return st;
    pgy_onnx_model *model = tree;
    if (!model->graph)
        return pgy_error_set(err, PGY_E_FORMAT, "not an ONNX model: it has no graph");
    *out = model;
    return PGY_OK;
}
