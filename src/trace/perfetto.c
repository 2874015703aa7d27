/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto's protobuf (TracePacket, TrackDescriptor, TrackEvent; the numbers are those of
 * Perfetto's published definitions). Each row is a track below the track of its process. There is
 * no event with a duration: a slice is a begin and an end, and the packets of a track are in time
 * order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/wire.h"
#include "trace/trace.h"

enum { /* fields */
       TRACE_PACKET = 1,
       PACKET_TIMESTAMP = 8,
       PACKET_SEQUENCE = 10,
       PACKET_EVENT = 11,
       PACKET_DESCRIPTOR = 60,
       TRACK_UUID = 1,
       TRACK_NAME = 2,
       TRACK_PROCESS = 3,
       TRACK_PARENT = 5,
       TRACK_COUNTER = 8,
       PROCESS_PID = 1,
       PROCESS_NAME = 6,
       COUNTER_UNIT = 3,
       EVENT_ANNOTATION = 4,
       EVENT_TYPE = 9,
       EVENT_TRACK = 11,
       EVENT_CATEGORY = 22,
       EVENT_NAME = 23,
       EVENT_COUNTER = 30,
       EVENT_REAL_COUNTER = 44,
       EVENT_FLOW = 47,
       EVENT_LAST_FLOW = 48,
       NOTE_BOOL = 2,
       NOTE_INT = 4,
       NOTE_REAL = 5,
       NOTE_TEXT = 6,
       NOTE_NAME = 10,
       NOTE_MEMBER = 11,
       NOTE_ITEM = 12
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { SEQUENCE = 1, UNIT_BYTES = 3 };

/* ---- Fields --------------------------------------------------------------------------------- */

static void put_uint(str *s, uint32_t field, uint64_t value)
{
    wire_put_tag(s, field, WIRE_VARINT);
    wire_put_varint(s, value);
}

static void put_bytes(str *s, uint32_t field, const char *data, size_t size)
{
    wire_put_tag(s, field, WIRE_LEN);
    wire_put_varint(s, size);
    str_append_n(s, data, size);
}

static void put_message(str *s, uint32_t field, const str *m)
{
    put_bytes(s, field, str_text(m), m->size);
    if (m->failed) s->failed = true;
}

static void put_name(str *s, uint32_t field, const char *text)
{
    put_bytes(s, field, text, strlen(text));
}

static void put_fixed(str *s, uint32_t field, uint64_t bits)
{
    char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (char)(bits >> (8 * i));
    wire_put_tag(s, field, WIRE_I64);
    str_append_n(s, bytes, sizeof bytes);
}

static void put_real(str *s, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_fixed(s, field, bits);
}

/* ---- Tracks --------------------------------------------------------------------------------- */

typedef struct packer {
    trace_sink *sink;
    const pgy_trace *t;
    str packet, body, part; /* reused for each packet */
    str *labels;            /* indexed by label: its args as annotations; empty: not made yet */
    arena memory;           /* of the args of one event */
} packer;

static uint64_t process_track(const trace_row *row)
{
    return (uint64_t)(row->process + 1) << 32;
}

static uint64_t row_track(const pgy_trace *t, uint32_t row)
{
    return process_track(&t->rows[row]) + 1 + row;
}

/* A counter's series: an own track below its process. */
static uint64_t series_track(const pgy_trace *t, const trace_record *r, size_t series)
{
    return process_track(&t->rows[r->row]) + (1u << 24) + (uint64_t)r->label * TRACE_MAX_ARGS +
           series;
}

/* Writes `body` as a packet with this field; time -1: without time. */
static void finish_packet(packer *p, uint32_t field, int64_t ns)
{
    str *out = sink_text(p->sink);
    str_clear(&p->packet);
    if (ns >= 0) put_uint(&p->packet, PACKET_TIMESTAMP, (uint64_t)ns);
    put_uint(&p->packet, PACKET_SEQUENCE, SEQUENCE);
    put_message(&p->packet, field, &p->body);
    put_message(out, TRACE_PACKET, &p->packet);
    str_clear(&p->body);
    sink_flow(p->sink);
}

static void put_process(packer *p, const trace_row *row)
{
    str_clear(&p->part);
    put_uint(&p->part, PROCESS_PID, (uint64_t)row->process);
    put_name(&p->part, PROCESS_NAME, row->process_name);
    put_uint(&p->body, TRACK_UUID, process_track(row));
    put_message(&p->body, TRACK_PROCESS, &p->part);
    finish_packet(p, PACKET_DESCRIPTOR, -1);
}

static void put_tracks(packer *p)
{
    const pgy_trace *t = p->t;
    for (size_t i = 0; i < t->row_count; i++) {
        bool known = false;
        for (size_t k = 0; k < i; k++) known |= t->rows[k].process == t->rows[i].process;
        if (!known) put_process(p, &t->rows[i]);
        put_uint(&p->body, TRACK_UUID, row_track(t, (uint32_t)i));
        put_name(&p->body, TRACK_NAME, t->rows[i].name);
        put_uint(&p->body, TRACK_PARENT, process_track(&t->rows[i]));
        finish_packet(p, PACKET_DESCRIPTOR, -1);
    }
}

/* ---- Args ----------------------------------------------------------------------------------- */

static void begin_note(packer *p, const char *name)
{
    str_clear(&p->part);
    put_name(&p->part, NOTE_NAME, name);
}

static void end_note(packer *p)
{
    put_message(&p->body, EVENT_ANNOTATION, &p->part);
}

/* Appends an annotation's value; arrays and objects contain further annotations. */
static void put_value(str *out, const json_value *v, arena *memory)
{
    size_t size = 0;
    const char *text = v->type == JSON_STRING ? json_string(v, memory, &size) : NULL;
    switch (v->type) {
    case JSON_NULL: break;
    case JSON_BOOL: put_uint(out, NOTE_BOOL, v->boolean); break;
    case JSON_INT: put_uint(out, NOTE_INT, (uint64_t)v->integer); break;
    case JSON_REAL: put_real(out, NOTE_REAL, v->real); break;
    case JSON_STRING: put_bytes(out, NOTE_TEXT, text ? text : "", size); break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        for (const json_value *item = v->first; item; item = item->next) {
            str part = {0};
            if (v->type == JSON_OBJECT) put_bytes(&part, NOTE_NAME, item->key.data, item->key.size);
            put_value(&part, item, memory);
            put_message(out, v->type == JSON_OBJECT ? NOTE_MEMBER : NOTE_ITEM, &part);
            str_deinit(&part);
        }
    }
}

/* The members of a label's args. */
static void put_label_args(packer *p, const char *members)
{
    str text = {0};
    json_value *root = NULL;
    pgy_error ignored = {0};
    if (!*members) return;
    str_printf(&text, "{%s}", members);
    if (!text.failed && !json_parse(&root, str_text(&text), text.size, &p->memory, &ignored))
        for (const json_value *v = root->first; v; v = v->next) {
            str_clear(&p->part);
            put_bytes(&p->part, NOTE_NAME, v->key.data, v->key.size);
            put_value(&p->part, v, &p->memory);
            end_note(p);
        }
    str_deinit(&text);
    arena_deinit(&p->memory);
}

/* The same, made once for all events of a label. */
static void put_kept_args(packer *p, uint32_t label)
{
    str *kept = &p->labels[label];
    const size_t from = p->body.size;
    if (kept->size) {
        str_append_n(&p->body, kept->data, kept->size);
        return;
    }
    put_label_args(p, p->t->labels[label].args);
    if (!p->body.failed) str_append_n(kept, p->body.data + from, p->body.size - from);
}

static void put_args(packer *p, const trace_record *r)
{
    trace_arg args[TRACE_MAX_ARGS];
    const size_t count = trace_event_args(args, p->t, r);
    if (trace_kind_form(r->kind)->has_label_args) put_kept_args(p, r->label);
    for (size_t i = 0; i < count; i++) {
        begin_note(p, args[i].name);
        if (args[i].type == ARG_MILLI)
            put_real(&p->part, NOTE_REAL, (double)args[i].value / 1e3);
        else
            put_uint(&p->part, args[i].type == ARG_BOOL ? NOTE_BOOL : NOTE_INT,
                     (uint64_t)args[i].value);
        end_note(p);
    }
}

/* ---- Events --------------------------------------------------------------------------------- */

static void put_event(packer *p, const trace_record *r, int type)
{
    const trace_label *l = &p->t->labels[r->label];
    const char *category = l->category ? l->category : trace_kind_form(r->kind)->category;
    put_uint(&p->body, EVENT_TYPE, (uint64_t)type);
    put_uint(&p->body, EVENT_TRACK, row_track(p->t, r->row));
    if (type != TYPE_END) {
        if (*category) put_name(&p->body, EVENT_CATEGORY, category);
        put_name(&p->body, EVENT_NAME, l->name);
        bool is_end = false;
        const uint64_t flow = trace_flow(r, &is_end);
        if (flow) put_fixed(&p->body, is_end ? EVENT_LAST_FLOW : EVENT_FLOW, flow);
        put_args(p, r);
    }
    finish_packet(p, PACKET_EVENT, (type == TYPE_END ? r->end_ns : r->start_ns) - p->t->start_ns);
}

/* Each member of the args is a series. The first event of a label describes its tracks. */
static void put_series(packer *p, const trace_record *r, size_t i, const char *name, bool is_new,
                       double value)
{
    const uint64_t track = series_track(p->t, r, i);
    if (is_new) {
        const size_t size = strlen(name);
        str_clear(&p->part);
        if (size > 6 && !strcmp(name + size - 6, "_bytes"))
            put_uint(&p->part, COUNTER_UNIT, UNIT_BYTES);
        put_uint(&p->body, TRACK_UUID, track);
        put_name(&p->body, TRACK_NAME, name);
        put_uint(&p->body, TRACK_PARENT, process_track(&p->t->rows[r->row]));
        put_message(&p->body, TRACK_COUNTER, &p->part);
        finish_packet(p, PACKET_DESCRIPTOR, -1);
    }
    put_uint(&p->body, EVENT_TYPE, TYPE_COUNTER);
    put_uint(&p->body, EVENT_TRACK, track);
    put_real(&p->body, EVENT_REAL_COUNTER, value);
    finish_packet(p, PACKET_EVENT, r->start_ns - p->t->start_ns);
}

static bool is_described(packer *p, const trace_record *r, strmap *described)
{
    char key[64];
    snprintf(key, sizeof key, "%llx %x", (unsigned long long)process_track(&p->t->rows[r->row]),
             r->label);
    if (strmap_has(described, key)) return true;
    if (!strmap_put(described, key, NULL)) p->body.failed = true;
    return false;
}

static void put_counter(packer *p, const trace_record *r, strmap *described)
{
    trace_arg args[TRACE_MAX_ARGS];
    const bool is_new = !is_described(p, r, described);
    size_t i = 0;
    if (r->kind != TRACE_COUNT) {
        const size_t count = trace_event_args(args, p->t, r);
        for (; i < count; i++) put_series(p, r, i, args[i].name, is_new, (double)args[i].value);
        return;
    }
    str text = {0};
    arena memory = {0};
    json_value *root = NULL;
    pgy_error ignored = {0};
    str_printf(&text, "{%s}", p->t->labels[r->label].args);
    if (!text.failed && !json_parse(&root, str_text(&text), text.size, &memory, &ignored))
        for (const json_value *v = root->first; v && i < TRACE_MAX_ARGS; v = v->next, i++) {
            const char *name = arena_strndup(&memory, v->key.data, v->key.size);
            if (name) put_series(p, r, i, name, is_new, v->real);
        }
    arena_deinit(&memory);
    str_deinit(&text);
}

/* ---- The order ------------------------------------------------------------------------------ */

/* The open slices of a row, innermost last; only their ends are still to be written. */
typedef struct open_slices {
    const trace_record **items;
    size_t count, capacity;
} open_slices;

static void close_until(packer *p, open_slices *o, int64_t ns)
{
    for (; o->count && o->items[o->count - 1]->end_ns <= ns; o->count--)
        put_event(p, o->items[o->count - 1], TYPE_END);
}

static bool put_slice(packer *p, open_slices *o, const trace_record *r)
{
    close_until(p, o, r->start_ns);
    put_event(p, r, TYPE_BEGIN);
    if (r->end_ns == r->start_ns) {
        put_event(p, r, TYPE_END);
        return true;
    }
    if (!mem_grow((void **)&o->items, &o->capacity, o->count + 1, sizeof *o->items)) return false;
    o->items[o->count++] = r;
    return true;
}

static bool put_events(packer *p, open_slices *rows)
{
    const pgy_trace *t = p->t;
    strmap described = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < t->record_count; i++) {
        const trace_record *r = &t->records[i];
        switch (trace_kind_form(r->kind)->form) {
        case PGY_TRACE_SLICE: ok = put_slice(p, &rows[r->row], r); break;
        case PGY_TRACE_INSTANT: put_event(p, r, TYPE_INSTANT); break;
        case PGY_TRACE_COUNTER: put_counter(p, r, &described); break;
        }
    }
    for (size_t i = 0; i < t->row_count; i++) close_until(p, &rows[i], INT64_MAX);
    strmap_deinit(&described);
    return ok;
}

/* The facts are args of an instant on the first row. */
static void put_facts(packer *p)
{
    const pgy_trace *t = p->t;
    str members = {0};
    if (!t->row_count) return;
    for (size_t i = 0; i < t->facts.count; i++) {
        trace_put_key(&members, t->facts.entries[i].key);
        str_append(&members, t->facts.entries[i].value);
    }
    put_uint(&p->body, EVENT_TYPE, TYPE_INSTANT);
    put_uint(&p->body, EVENT_TRACK, row_track(t, 0));
    put_name(&p->body, EVENT_NAME, "facts");
    put_label_args(p, str_text(&members));
    finish_packet(p, PACKET_EVENT, 0);
    str_deinit(&members);
}

void trace_write_perfetto(trace_sink *s, const pgy_trace *t)
{
    packer p = {.sink = s, .t = t, .labels = mem_calloc(t->label_count + 1, sizeof *p.labels)};
    open_slices *rows = mem_calloc(t->row_count + 1, sizeof *rows);
    put_tracks(&p);
    put_facts(&p);
    if (!rows || !p.labels || !put_events(&p, rows) || p.body.failed || p.packet.failed ||
        p.part.failed)
        sink_text(s)->failed = true;
    for (size_t i = 0; rows && i < t->row_count; i++) mem_free((void *)rows[i].items);
    mem_free(rows);
    for (size_t i = 0; p.labels && i < t->label_count; i++) str_deinit(&p.labels[i]);
    mem_free(p.labels);
    str_deinit(&p.packet);
    str_deinit(&p.body);
    str_deinit(&p.part);
    arena_deinit(&p.memory);
}
