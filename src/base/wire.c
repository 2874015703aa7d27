/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf wire format: tags, varints, fixed words, lengths and groups. A field that does not fit
 * inside [p, end) is an error that names the offset from `start`. */
#include "base/wire.h"

#include <string.h>

enum { GROUP_DEPTH = 100 };

static pgy_status bad(const wire_reader *r, const uint8_t *at, pgy_error *err, const char *what)
{
    return pgy_error_set(err, PGY_E_FORMAT, "%s at byte %zu", what, (size_t)(at - r->start));
}

/* Returns the byte after the varint, or NULL when it is truncated or longer than ten bytes. Bits over
 * 64 are dropped, as the reference implementation does. */
static const uint8_t *read_varint(const uint8_t *p, const uint8_t *end, uint64_t *out)
{
    if (p < end && *p < 0x80) {
        *out = *p;
        return p + 1;
    }
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
        const uint8_t byte = *p++;
        if (shift < 64) v |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = v;
            return p;
        }
    }
    return NULL;
}

pgy_status wire_varint(wire_reader *r, uint64_t *out, pgy_error *err)
{
    const uint8_t *p = read_varint(r->p, r->end, out);
    if (!p) return bad(r, r->p, err, "a varint is truncated or longer than 10 bytes");
    r->p = p;
    return PGY_OK;
}

static uint64_t little_endian(const uint8_t *p, int size)
{
    uint64_t v = 0;
    for (int i = 0; i < size; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static pgy_status read_tag(wire_reader *r, wire_field *f, pgy_error *err)
{
    uint64_t tag;
    f->begin = r->p;
    pgy_status st = wire_varint(r, &tag, err);
    if (st) return st;
    if (tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF)
        return bad(r, f->begin, err, "a field number is out of range");
    f->number = (uint32_t)(tag >> 3);
    f->type = (wire_type)(tag & 7);
    return PGY_OK;
}

static pgy_status read_fixed(wire_reader *r, wire_field *f, int size, pgy_error *err)
{
    if (r->end - r->p < size) return bad(r, f->begin, err, "a fixed-size field is truncated");
    f->value = little_endian(r->p, size);
    r->p += size;
    return PGY_OK;
}

static pgy_status read_bytes(wire_reader *r, wire_field *f, pgy_error *err)
{
    uint64_t size;
    pgy_status st = wire_varint(r, &size, err);
    if (st) return st;
    if (size > (uint64_t)(r->end - r->p))
        return pgy_error_set(
            err, PGY_E_FORMAT, "field %u at byte %zu claims %llu bytes, but %zu remain", f->number,
            (size_t)(f->begin - r->start), (unsigned long long)size, (size_t)(r->end - r->p));
    f->data = r->p;
    f->size = (size_t)size;
    r->p += f->size;
    return PGY_OK;
}

/* Reads the value after a tag, for all wire types except groups. */
static pgy_status read_payload(wire_reader *r, wire_field *f, pgy_error *err)
{
    switch (f->type) {
    case WIRE_VARINT: return wire_varint(r, &f->value, err);
    case WIRE_I64: return read_fixed(r, f, 8, err);
    case WIRE_I32: return read_fixed(r, f, 4, err);
    case WIRE_LEN: return read_bytes(r, f, err);
    default: return bad(r, f->begin, err, "a field has an invalid wire type");
    }
}

/* r->p is just after the start tag of group `outer`; moves it past the matching end tag. */
static pgy_status skip_group(wire_reader *r, uint32_t outer, pgy_error *err)
{
    uint32_t open[GROUP_DEPTH];
    int depth = 0;
    open[depth++] = outer;
    while (depth) {
        wire_field f = {0};
        pgy_status st = read_tag(r, &f, err);
        if (st) return st;
        if (f.type == WIRE_GROUP) {
            if (depth == GROUP_DEPTH) return bad(r, f.begin, err, "groups are nested too deeply");
            open[depth++] = f.number;
        } else if (f.type == WIRE_END) {
            if (open[--depth] != f.number)
                return bad(r, f.begin, err, "a group ends with the number of another group");
        } else {
            st = read_payload(r, &f, err);
            if (st) return st;
        }
    }
    return PGY_OK;
}

pgy_status wire_next(wire_reader *r, wire_field *out, bool *more, pgy_error *err)
{
    if (r->p == r->end) {
        *more = false;
        return PGY_OK;
    }
    wire_field f = {0};
    pgy_status st = read_tag(r, &f, err);
    if (!st) st = f.type == WIRE_GROUP ? skip_group(r, f.number, err) : read_payload(r, &f, err);
    if (st) return st;
    f.whole_size = (size_t)(r->p - f.begin);
    *out = f;
    *more = true;
    return PGY_OK;
}

size_t wire_varint_size(uint64_t v)
{
    size_t n = 1;
    for (; v >= 0x80; v >>= 7) n++;
    return n;
}

void wire_put_varint(str *out, uint64_t v)
{
    char bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = (char)(v | 0x80);
    bytes[n++] = (char)v;
    str_append_n(out, bytes, n);
}

void wire_put_tag(str *out, uint32_t number, wire_type type)
{
    wire_put_varint(out, (uint64_t)number << 3 | (uint64_t)type);
}
