/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf wire primitives: a bounds-checked reader over memory and an appender. It knows no
 * messages. */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

#include <polygraphy/base.h>

#include "base/str.h"

typedef enum wire_type {
    WIRE_VARINT = 0,
    WIRE_I64 = 1,
    WIRE_LEN = 2,
    WIRE_GROUP = 3,
    WIRE_END = 4,
    WIRE_I32 = 5
} wire_type;

typedef struct wire_reader {
    const uint8_t *p, *end;
    const uint8_t *start; /* start of the file, for offsets in messages */
} wire_reader;

typedef struct wire_field {
    uint32_t number;
    wire_type type;
    uint64_t value;      /* varint, or the bits of I32/I64 */
    const uint8_t *data; /* bytes of a WIRE_LEN field */
    size_t size;
    const uint8_t *begin; /* start of the tag, to keep unknown fields byte for byte */
    size_t whole_size;    /* bytes from `begin`, tag included */
} wire_field;

/* Reads the next field; *more is false at the end. A group is reported as one field of type
 * WIRE_GROUP with its whole_size. */
pgy_status wire_next(wire_reader *r, wire_field *out, bool *more, pgy_error *err) PGY_MUST_CHECK;
/* Reads one varint of a packed repeated field. */
pgy_status wire_varint(wire_reader *r, uint64_t *out, pgy_error *err) PGY_MUST_CHECK;

/* Writing: the size of a varint in bytes, a varint, and a field's tag. */
size_t wire_varint_size(uint64_t v);
void wire_put_varint(str *out, uint64_t v);
void wire_put_tag(str *out, uint32_t number, wire_type type);

#endif
