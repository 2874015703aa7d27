/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of onnx.proto as tables: for each field its number, kind and place in the struct.
 * Reading, writing and visiting a model are each one loop over these rows. */
#ifndef ONNX_SCHEMA_H
#define ONNX_SCHEMA_H

#include <polygraphy/onnx.h>

#include "base/wire.h"

typedef enum field_kind {
    FIELD_INT32,        /* int32_t */
    FIELD_INT64,        /* int64_t */
    FIELD_FLOAT,        /* float */
    FIELD_STRING,       /* const char *, terminated UTF-8 */
    FIELD_BYTES,        /* pgy_bytes */
    FIELD_MESSAGE,      /* pointer, NULL if absent */
    FIELD_INT32_LIST,   /* a list: const int64_t *, sign-extended, and its count */
    FIELD_INT64_LIST,   /* a list: const int64_t * or const uint64_t *, and its count */
    FIELD_FLOAT_LIST,   /* a list: const float * and its count */
    FIELD_FLOAT_BYTES,  /* pgy_bytes of packed little-endian floats */
    FIELD_DOUBLE_BYTES, /* pgy_bytes of packed little-endian doubles */
    FIELD_STRING_LIST,  /* a list: const char *const * and its count */
    FIELD_BYTES_LIST,   /* a list: const pgy_bytes * and its count */
    FIELD_MESSAGE_LIST, /* a list: array of pointers and its count */
    FIELD_KIND_COUNT
} field_kind;

enum { FIELD_PACKED = 1, FIELD_ONEOF = 2, FIELD_INITIALIZER = 4 };
enum { SCHEMA_MAX_FIELDS = 20, SCHEMA_MAX_DEPTH = 100 };

typedef struct schema schema;
typedef struct schema_field {
    uint8_t number;  /* field number; its bit in pgy_onnx_message.present if below 64 */
    uint8_t kind;    /* field_kind */
    uint8_t flags;   /* FIELD_PACKED: written packed; FIELD_ONEOF: excludes the other such fields */
    uint16_t offset; /* offset of the value in the struct */
    uint16_t count_offset; /* offset of the size_t with the count of a list */
    const char *name;      /* name of the field in onnx.proto */
    const schema *message;
} schema_field;

struct schema {
    size_t size_bytes; /* size of the message's struct */
    const schema_field *fields;
    size_t field_count;
    /* Gives the bits (as in pgy_onnx_message.present) of fields that are written even if they are 0
     * and not present; NULL: none. */
    uint64_t (*implied)(const void *message);
};

extern const schema SCHEMA_MODEL, SCHEMA_TENSOR;

/* The encoding of a kind on the wire and in a list. */
typedef struct field_kind_info {
    wire_type wire; /* wire type of one element */
    bool list;
    bool packable;     /* elements may be packed into one length-delimited field */
    size_t item_bytes; /* size of one element in memory; for the *_BYTES kinds, in the file */
} field_kind_info;
extern const field_kind_info FIELD_KINDS[FIELD_KIND_COUNT];

static inline uint64_t field_bit(unsigned number)
{
    return (uint64_t)1 << number;
}

/* Pointers in structs have many types; they are read and written as void * through these. */
void *field_pointer(const void *message, const schema_field *f);
void field_set_pointer(void *message, const schema_field *f, const void *value);
size_t field_count(const void *message, const schema_field *f);

/* Calls visit(tensor, f, user) for every TensorProto of the tree; f is the field that holds it.
 * Stops at the first failure. */
typedef pgy_status (*tensor_visit)(const pgy_onnx_tensor *t, const schema_field *f, void *user,
                                   pgy_error *err);
pgy_status schema_visit_tensors(const schema *s, const void *message, tensor_visit visit,
                                void *user, pgy_error *err) PGY_MUST_CHECK;
/* Replaces NULL texts by "" in a whole tree that a caller built. */
void schema_fill_texts(const schema *s, void *message);

#endif
