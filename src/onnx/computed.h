/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that are made when they are wanted (pgy_model_computed_tensor), whole or in parts. */
#ifndef ONNX_COMPUTED_H
#define ONNX_COMPUTED_H

#include "onnx/model.h"
#include "onnx/model_write.h"
#include "onnx/reader.h"

/* A part of the elements, to be made. `to` is aligned for any element. */
typedef struct tensor_part {
    void *to;
    size_t offset, size_bytes; /* of the elements */
    element_reader *source;    /* of the tensor they are made from; NULL if there is none */
    void *memory;              /* of this reading */
} tensor_part;

/* How elements are made in parts. A reading asks for them in order from the first, as a rule: it
 * may begin anywhere, and leave some out. Several readings may be under way at once. */
typedef struct parts_maker {
    pgy_status (*make)(const tensor_part *part, void *user, pgy_error *err);
    /* Any bytes, PICK_BYTES at most, where that is cheaper than a unit; or NULL. */
    pgy_status (*pick)(const tensor_part *part, void *user, pgy_error *err);
    void *user;                    /* lives as long as the model */
    const pgy_onnx_tensor *source; /* of the model or one that it keeps; or NULL */
    size_t unit_bytes;   /* parts begin at multiples of it, and end there or at the end; they have
                            PART_BYTES or one unit at most */
    size_t memory_bytes; /* that a reading has, zero at its start */
} parts_maker;
enum { PART_BYTES = 512 * 1024, PICK_BYTES = 1024 };

/* The record `like` with elements that are made in parts: a model is saved with one part of one
 * tensor in memory. Fails at once if the source cannot be found. */
pgy_status computed_parts_tensor(pgy_onnx_tensor **out, pgy_model *m, const pgy_onnx_tensor *like,
                                 const parts_maker *maker, pgy_error *err) PGY_MUST_CHECK;

/* One reading of the tensor, of m or of a model that it keeps, whose raw bytes these are; NULL if
 * there is none. */
typedef struct computed_reading computed_reading;
pgy_status computed_reading_create(computed_reading **out, pgy_model *m, pgy_bytes bytes,
                                   pgy_error *err) PGY_MUST_CHECK;
pgy_status computed_reading_get(computed_reading *r, void *to, size_t offset, size_t size_bytes,
                                pgy_error *err) PGY_MUST_CHECK;
void computed_reading_destroy(computed_reading *r); /* NULL is fine */

/* Are these the raw bytes of such a tensor, that is, not to be read? */
bool computed_has(pgy_model *m, pgy_bytes bytes);
/* If these are the raw bytes of such a tensor: its elements in the shape of record t, for the
 * caller to release; else NULL. */
pgy_status computed_tensor_make(pgy_tensor **out, pgy_model *m, pgy_bytes bytes,
                                const pgy_onnx_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* If they are: sends its elements to the sink, in order. */
pgy_status computed_tensor_send(bool *sent, pgy_model *m, pgy_bytes bytes, encode_sink sink,
                                void *user, pgy_error *err) PGY_MUST_CHECK;
void computed_tensors_deinit(pgy_model *m);

#endif
