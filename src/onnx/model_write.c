/* SPDX-License-Identifier: Apache-2.0 */
/* Writing traverses the tree twice. Measuring adds up sizes and records, for each nested message,
 * its size and whether its original bytes can be copied; writing uses these records in the same
 * order and sends bytes. So weights are never buffered, and a message with known bytes and no
 * replaced tensors costs one copy. */
#include "onnx/model_write.h"

#include <string.h>

#include "base/alloc.h"
#include "onnx/computed.h"
#include "onnx/schema.h"

enum { BUFFER_BYTES = 64 * 1024, DIRECT_BYTES = 8 * 1024 };

/* The record of one nested message, in the order of traversal. */
typedef struct slot {
    const pgy_onnx_message *message; /* what is written: the original or its replacement */
    size_t size_bytes;
    bool verbatim;
} slot;

struct encoder {
    const pgy_onnx_model *model;
    encode_options options;
    pgy_status status; /* the first error, which later calls keep */
    pgy_error *err;
    bool measuring;
    size_t total;   /* bytes measured so far */
    size_t changes; /* messages that cannot be copied because of a replacement */
    slot *slots;
    size_t slot_count, slot_capacity, slot_next;
    encode_sink sink;
    void *sink_user;
    size_t buffered;
    uint8_t buffer[BUFFER_BYTES];
};

static void encode_fields(encoder *e, const schema *s, const pgy_onnx_message *m);

/* ---- Bytes ---------------------------------------------------------------------------------- */

static void flush(encoder *e)
{
    if (!e->status && e->buffered)
        e->status = e->sink(e->sink_user, e->buffer, e->buffered, e->err);
    e->buffered = 0;
}

static void put(encoder *e, const void *data, size_t size)
{
    if (e->measuring) {
        if (!e->status && !size_add(&e->total, e->total, size))
            e->status = pgy_error_set(e->err, PGY_E_MEMORY,
                                      "the model is too large: its size in bytes overflows");
        return;
    }
    if (size == 0 || e->status) return;
    if (size > BUFFER_BYTES - e->buffered) flush(e);
    if (size >= DIRECT_BYTES) {
        flush(e);
        if (!e->status) e->status = e->sink(e->sink_user, data, size, e->err);
        return;
    }
    memcpy(e->buffer + e->buffered, data, size);
    e->buffered += size;
}

static void put_varint(encoder *e, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    put(e, bytes, n);
}

static void put_tag(encoder *e, const schema_field *f, wire_type type)
{
    put_varint(e, (uint64_t)f->number << 3 | (uint64_t)type);
}

static void put_block(encoder *e, const schema_field *f, const void *data, size_t size)
{
    put_tag(e, f, WIRE_LEN);
    put_varint(e, size);
    put(e, data, size);
}

/* ---- Nested messages ------------------------------------------------------------------------ */

static size_t push_slot(encoder *e)
{
    void *items = e->slots;
    if (!mem_grow(&items, &e->slot_capacity, e->slot_count + 1, sizeof(slot))) {
        e->status = pgy_error_set(e->err, PGY_E_MEMORY, "out of memory while measuring the model");
        return 0;
    }
    e->slots = items;
    e->slots[e->slot_count] = (slot){0};
    return e->slot_count++;
}

static const pgy_onnx_message *replaced(encoder *e, const schema_field *f,
                                        const pgy_onnx_message *m)
{
    if (!e->options.replace || f->message != &SCHEMA_TENSOR) return m;
    const pgy_onnx_tensor *t = (const pgy_onnx_tensor *)m;
    const bool initializer = f->flags & FIELD_INITIALIZER;
    e->status = e->options.replace(&t, t, initializer, e->options.user, e->err);
    if (&t->message != m) e->changes++;
    return &t->message;
}

/* Measures one message without its tag and length. If its bytes can be copied, the records of the
 * messages inside it are dropped, because writing will not visit them. */
static void measure_message(encoder *e, const schema *s, const pgy_onnx_message *m, bool inspect)
{
    const size_t index = push_slot(e), before = e->total, changes = e->changes;
    if (e->status) return;
    const bool copyable = m->raw.data && !e->options.rebuild;
    if (!copyable || inspect) encode_fields(e, s, m);
    const bool verbatim = copyable && e->changes == changes;
    if (verbatim) {
        e->slot_count = index + 1;
        e->total = before;
        put(e, m->raw.data, m->raw.size);
    }
    if (!e->status) e->slots[index] = (slot){m, e->total - before, verbatim};
}

static void write_message(encoder *e, const schema *s, const slot *at)
{
    if (at->verbatim)
        put(e, at->message->raw.data, at->message->raw.size);
    else
        encode_fields(e, s, at->message);
}

static void encode_child(encoder *e, const schema_field *f, const void *child)
{
    if (e->status) return;
    if (!e->measuring) {
        const slot *at = &e->slots[e->slot_next++];
        put_tag(e, f, WIRE_LEN);
        put_varint(e, at->size_bytes);
        write_message(e, f->message, at);
        return;
    }
    const pgy_onnx_message *m = replaced(e, f, child);
    if (e->status) return;
    const size_t before = e->total;
    measure_message(e, f->message, m, e->options.replace && f->message != &SCHEMA_TENSOR);
    const size_t size = e->total - before;
    put_tag(e, f, WIRE_LEN);
    put_varint(e, size);
}

/* ---- Fields, by kind ------------------------------------------------------------------------ */

/* `marked`: the field is written even if it is 0 or empty. */
typedef void (*encode_kind)(encoder *e, const schema_field *f, const pgy_onnx_message *m,
                            bool marked);

static const void *value_at(const pgy_onnx_message *m, const schema_field *f)
{
    return (const char *)m + f->offset;
}

static void encode_int(encoder *e, const schema_field *f, const pgy_onnx_message *m, bool marked)
{
    int64_t v = 0;
    int32_t narrow = 0;
    if (f->kind == FIELD_INT64) {
        memcpy(&v, value_at(m, f), sizeof(v));
    } else {
        memcpy(&narrow, value_at(m, f), sizeof(narrow));
        v = narrow;
    }
    if (v == 0 && !marked) return;
    put_tag(e, f, WIRE_VARINT);
    put_varint(e, (uint64_t)v);
}

static void encode_float(encoder *e, const schema_field *f, const pgy_onnx_message *m, bool marked)
{
    uint32_t bits;
    memcpy(&bits, value_at(m, f), sizeof(bits));
    if (bits == 0 && !marked) return;
    put_tag(e, f, WIRE_I32);
    put(e, &bits, sizeof(bits));
}

static void encode_string(encoder *e, const schema_field *f, const pgy_onnx_message *m, bool marked)
{
    const char *text = field_pointer(m, f);
    const size_t size = text ? strlen(text) : 0;
    if (size || marked) put_block(e, f, text, size);
}

static void encode_bytes(encoder *e, const schema_field *f, const pgy_onnx_message *m, bool marked)
{
    pgy_bytes v;
    memcpy(&v, value_at(m, f), sizeof(v));
    const bool packed = f->flags & FIELD_PACKED;
    if (v.size || (marked && !packed)) put_block(e, f, v.data, v.size);
}

static void encode_message(encoder *e, const schema_field *f, const pgy_onnx_message *m,
                           bool marked)
{
    (void)marked;
    const void *child = field_pointer(m, f);
    if (child) encode_child(e, f, child);
}

static void encode_ints(encoder *e, const schema_field *f, const pgy_onnx_message *m, bool marked)
{
    (void)marked;
    const size_t n = field_count(m, f);
    const uint64_t *v = field_pointer(m, f);
    const bool packed = f->flags & FIELD_PACKED;
    if (packed && n) {
        size_t size = 0;
        for (size_t i = 0; i < n; i++) size += wire_varint_size(v[i]);
        put_tag(e, f, WIRE_LEN);
        put_varint(e, size);
    }
    for (size_t i = 0; i < n; i++) {
        if (!packed) put_tag(e, f, WIRE_VARINT);
        put_varint(e, v[i]);
    }
}

static void encode_floats(encoder *e, const schema_field *f, const pgy_onnx_message *m, bool marked)
{
    (void)marked;
    const size_t n = field_count(m, f);
    const float *v = field_pointer(m, f);
    for (size_t i = 0; i < n; i++) {
        put_tag(e, f, WIRE_I32);
        put(e, &v[i], sizeof(v[i]));
    }
}

/* Item i of a list whose items are pointers of any type. */
static const void *pointer_item(const pgy_onnx_message *m, const schema_field *f, size_t i)
{
    const void *item;
    memcpy(&item, (const char *)field_pointer(m, f) + i * sizeof(item), sizeof(item));
    return item;
}

static void encode_strings(encoder *e, const schema_field *f, const pgy_onnx_message *m,
                           bool marked)
{
    (void)marked;
    const size_t n = field_count(m, f);
    for (size_t i = 0; i < n; i++) {
        const char *text = pointer_item(m, f, i);
        put_block(e, f, text, text ? strlen(text) : 0);
    }
}

static void encode_bytes_list(encoder *e, const schema_field *f, const pgy_onnx_message *m,
                              bool marked)
{
    (void)marked;
    const size_t n = field_count(m, f);
    const pgy_bytes *v = field_pointer(m, f);
    for (size_t i = 0; i < n; i++) put_block(e, f, v[i].data, v[i].size);
}

static void encode_messages(encoder *e, const schema_field *f, const pgy_onnx_message *m,
                            bool marked)
{
    (void)marked;
    const size_t n = field_count(m, f);
    for (size_t i = 0; i < n; i++) encode_child(e, f, pointer_item(m, f, i));
}

static const encode_kind ENCODE[FIELD_KIND_COUNT] = {
    [FIELD_INT32] = encode_int,
    [FIELD_INT64] = encode_int,
    [FIELD_FLOAT] = encode_float,
    [FIELD_STRING] = encode_string,
    [FIELD_BYTES] = encode_bytes,
    [FIELD_MESSAGE] = encode_message,
    [FIELD_INT32_LIST] = encode_ints,
    [FIELD_INT64_LIST] = encode_ints,
    [FIELD_FLOAT_LIST] = encode_floats,
    [FIELD_FLOAT_BYTES] = encode_bytes,
    [FIELD_DOUBLE_BYTES] = encode_bytes,
    [FIELD_STRING_LIST] = encode_strings,
    [FIELD_BYTES_LIST] = encode_bytes_list,
    [FIELD_MESSAGE_LIST] = encode_messages,
};

/* Encodes the fields with all of these flags, or without them. */
static void encode_flagged(encoder *e, const schema *s, const pgy_onnx_message *m, unsigned flags,
                           bool with)
{
    const uint64_t marked = m->present | (s->implied ? s->implied(m) : 0);
    for (size_t i = 0; i < s->field_count && !e->status; i++) {
        const schema_field *f = &s->fields[i];
        if (((f->flags & flags) != 0) == with)
            ENCODE[f->kind](e, f, m, marked & field_bit(f->number));
    }
}

static void encode_fields(encoder *e, const schema *s, const pgy_onnx_message *m)
{
    if (e->options.weights_first) encode_flagged(e, s, m, FIELD_INITIALIZER, true);
    encode_flagged(e, s, m, e->options.weights_first ? FIELD_INITIALIZER : 0, false);
    for (size_t i = 0; i < m->unknown_count; i++) put(e, m->unknown[i].data, m->unknown[i].size);
}

/* ---- The whole model ------------------------------------------------------------------------ */

pgy_status encoder_create(encoder **out, const pgy_onnx_model *model, const encode_options *options,
                          pgy_error *err)
{
    encoder *e = mem_calloc(1, sizeof(*e));
    if (!e) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while measuring the model");
    e->model = model;
    e->options = *options;
    e->err = err;
    e->measuring = true;
    measure_message(e, &SCHEMA_MODEL, &model->message, options->replace);
    pgy_status st = e->status;
    if (st) {
        encoder_destroy(e);
        return st;
    }
    *out = e;
    return PGY_OK;
}

void encoder_destroy(encoder *e)
{
    if (!e) return;
    mem_free(e->slots);
    mem_free(e);
}

size_t encoder_size_bytes(const encoder *e)
{
    return e->total;
}

pgy_status encoder_write(encoder *e, encode_sink sink, void *user, pgy_error *err)
{
    e->measuring = false;
    e->sink = sink;
    e->sink_user = user;
    e->err = err;
    e->slot_next = 1; /* slot 0 is the model itself, so nested messages begin at 1 */
    write_message(e, &SCHEMA_MODEL, &e->slots[0]);
    flush(e);
    return e->status;
}

typedef struct memory_target {
    pgy_model *m;
    uint8_t *at;
} memory_target;

static pgy_status append_bytes(void *user, const void *data, size_t size_bytes, pgy_error *err)
{
    memory_target *to = user;
    (void)err;
    memcpy(to->at, data, size_bytes);
    to->at += size_bytes;
    return PGY_OK;
}

static pgy_status append_memory(void *user, const void *data, size_t size_bytes, pgy_error *err)
{
    memory_target *to = user;
    bool sent;
    const pgy_status st =
        computed_tensor_send(&sent, to->m, (pgy_bytes){data, size_bytes}, append_bytes, user, err);
    return st || sent ? st : append_bytes(user, data, size_bytes, err);
}

pgy_status model_encode(void **out, size_t *size_bytes, pgy_model *m, const encode_options *options,
                        pgy_error *err)
{
    encoder *e = NULL;
    uint8_t *buffer = NULL;
    pgy_status st = encoder_create(&e, m->proto, options, err);
    if (st) goto done;
    const size_t size = encoder_size_bytes(e);
    buffer = mem_alloc(size);
    if (!buffer) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory: the model needs %zu bytes", size);
        goto done;
    }
    memory_target to = {m, buffer};
    st = encoder_write(e, append_memory, &to, err);
    if (st) goto done;
    *out = buffer;
    *size_bytes = size;
    buffer = NULL;
done:
    encoder_destroy(e);
    mem_free(buffer);
    return st;
}
