/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose elements are made on demand (pgy_model_computed_tensor), whole or in parts. */
#ifndef ONNX_COMPUTED_H
#define ONNX_COMPUTED_H

#include "onnx/model.h"
#include "onnx/model_write.h"
#include "onnx/reader.h"

/* A request for a part of the elements. `to` is aligned for any element. */
typedef struct tensor_part {
    void *to;
    size_t offset, size_bytes; /* range of the tensor's element bytes */
    element_reader *source;    /* reader of parts_maker.source; NULL: the maker has no source */
    void *memory;              /* scratch of this reading, of parts_maker.memory_bytes */
} tensor_part;

/* Makes elements in parts. A reading usually requests parts in order from the first, but it may
 * begin anywhere and skip some. Several readings may run at once. */
typedef struct parts_maker {
    pgy_status (*make)(const tensor_part *part, void *user, pgy_error *err);
    /* Makes a range of at most PICK_BYTES bytes more cheaply than the whole unit that contains it;
     * may be NULL. */
    pgy_status (*pick)(const tensor_part *part, void *user, pgy_error *err);
    void *user;                    /* lives as long as the model */
    const pgy_onnx_tensor *source; /* tensor from which elements are made, in the model or in one
                                      that it keeps; may be NULL */
    size_t unit_bytes;   /* every part begins and ends at a multiple of this, except at the tensor's
                            end; a part has at most PART_BYTES, or one unit if that is larger */
    size_t memory_bytes; /* scratch of a reading, zeroed at its start */
    bool by_types; /* an element depends on `make`, the same element of the source, and the types of
                      both alone */
} parts_maker;
enum { PART_BYTES = 512 * 1024, PICK_BYTES = 1024 };

/* A computed tensor of a model, as pgy_model.computed lists it. */
struct computed_tensor {
    void *reserved;
    size_t size_bytes;
    pgy_make_tensor whole; /* makes all elements at once; NULL: the maker works in parts */
    void *user;
    parts_maker parts;
    pgy_model *model; /* the model that the tensor belongs to */
    unsigned
        depth; /* number of makers that run to make an element: this one, and those of its source */
};

/* Makes a copy of the record `like` whose elements are made in parts, so that saving the model
 * keeps only one part of one tensor in memory. Fails at once if the source cannot be opened. */
pgy_status computed_parts_tensor(pgy_onnx_tensor **out, pgy_model *m, const pgy_onnx_tensor *like,
                                 const parts_maker *maker, pgy_error *err) PGY_MUST_CHECK;

/* A reading of a computed tensor, which is found by its raw bytes in m or in a model that m keeps.
 * *out is NULL if no computed tensor has these bytes. */
typedef struct computed_reading computed_reading;
pgy_status computed_reading_create(computed_reading **out, pgy_model *m, pgy_bytes bytes,
                                   pgy_error *err) PGY_MUST_CHECK;
pgy_status computed_reading_get(computed_reading *r, void *to, size_t offset, size_t size_bytes,
                                pgy_error *err) PGY_MUST_CHECK;
void computed_reading_destroy(computed_reading *r); /* NULL is fine */

/* True if these are the raw bytes of a computed tensor, which must not be read. */
bool computed_has(pgy_model *m, pgy_bytes bytes);
/* If these are the raw bytes of a computed tensor that is made in parts, sets *out to its maker. */
bool computed_maker(parts_maker *out, pgy_model *m, pgy_bytes bytes);
/* If these are the raw bytes of a computed tensor, makes its elements in the shape of record t; the
 * caller releases *out. Else *out is NULL. */
pgy_status computed_tensor_make(pgy_tensor **out, pgy_model *m, pgy_bytes bytes,
                                const pgy_onnx_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* If these are the raw bytes of a computed tensor, sends its elements to the sink in order and sets
 * *sent. */
pgy_status computed_tensor_send(bool *sent, pgy_model *m, pgy_bytes bytes, encode_sink sink,
                                void *user, pgy_error *err) PGY_MUST_CHECK;

#endif
