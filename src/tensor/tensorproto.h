/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of an ONNX TensorProto, for callers that have decoded its fields (the model codec) and
 * for callers that have its bytes. */
#ifndef TENSOR_TENSORPROTO_H
#define TENSOR_TENSORPROTO_H

#include <polygraphy/tensor.h>

#include "base/arena.h"
#include "base/str.h"

/* One of ONNX's typed repeated fields, decoded. */
typedef struct tensorproto_list {
    const void *data; /* any alignment */
    size_t count;
} tensorproto_list;

typedef struct tensorproto_fields {
    span name;         /* name of the tensor for messages; may be empty */
    int32_t data_type; /* TensorProto.DataType */
    const int64_t *dims;
    size_t rank;
    bool external; /* data_location is EXTERNAL */
    bool has_raw;
    span raw; /* raw_data, or the bytes of a resolved external tensor (then external is false)
               */
    tensorproto_list floats;  /* float_data: float */
    tensorproto_list int32s;  /* int32_data: int32_t */
    tensorproto_list int64s;  /* int64_data: int64_t */
    tensorproto_list doubles; /* double_data: double */
    tensorproto_list uint64s; /* uint64_data: uint64_t */
    tensorproto_list strings; /* string_data: span */
} tensorproto_fields;

/* Keeps the memory behind raw alive for tensors that borrow it. */
typedef struct tensorproto_owner {
    void (*retain)(void *user);
    void (*release)(void *user);
    void *user;
    bool any_address; /* also borrow raw data that is not aligned for its type */
} tensorproto_owner;

/* Reads the fields of a serialised TensorProto. Lists that are not one packed run are collected in
 * the arena; everything else borrows from `message`. */
pgy_status tensorproto_scan(tensorproto_fields *out, span message, arena *a,
                            pgy_error *err) PGY_MUST_CHECK;

/* Makes the tensor. With an owner, raw data that is aligned for its type is borrowed, read-only,
 * and the owner is retained until the tensor is freed; otherwise the data is copied.
 * @return PGY_E_UNSUPPORTED external data, segments, unknown type; PGY_E_FORMAT wrong amount of
 * data; PGY_E_SHAPE */
pgy_status tensorproto_decode(pgy_tensor **out, const tensorproto_fields *f,
                              const tensorproto_owner *owner, pgy_error *err) PGY_MUST_CHECK;

/* Appends the message up to and including the length of raw_data. The caller writes the elements'
 * bytes after it, so large data is not copied. For strings it appends the whole message. The view
 * must be compact. */
pgy_status tensorproto_encode(str *head, const char *name, pgy_view v,
                              pgy_error *err) PGY_MUST_CHECK;

#endif
