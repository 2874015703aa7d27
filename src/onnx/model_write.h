/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes a tree in two passes: measure, then write to a sink, which may be a file or memory. */
#ifndef ONNX_MODEL_WRITE_H
#define ONNX_MODEL_WRITE_H

#include <polygraphy/onnx.h>

/* Called for every TensorProto while measuring. *out is `t` itself or a tensor to write in its
 * place, which must live until writing ends. `initializer`: `t` is an initializer of a graph. */
typedef pgy_status (*tensor_replace)(const pgy_onnx_tensor **out, const pgy_onnx_tensor *t,
                                     bool initializer, void *user, pgy_error *err);

typedef struct encode_options {
    bool rebuild; /* encode the fields even if the original bytes of a message could be copied */
    tensor_replace replace; /* NULL: write all tensors as they are */
    void *user;
    bool weights_first; /* write the initializers of a graph before its other fields */
} encode_options;

/* Large pieces are passed without a copy, as views of mapped files or tensors. */
typedef pgy_status (*encode_sink)(void *user, const void *data, size_t size_bytes, pgy_error *err);

/* Encodes one model: create measures it, write produces the bytes. The model must not change in
 * between. */
typedef struct encoder encoder;
pgy_status encoder_create(encoder **out, const pgy_onnx_model *model, const encode_options *options,
                          pgy_error *err) PGY_MUST_CHECK;
void encoder_destroy(encoder *e);
size_t encoder_size_bytes(const encoder *e); /* the size that encoder_write will write */
pgy_status encoder_write(encoder *e, encode_sink sink, void *user, pgy_error *err) PGY_MUST_CHECK;

/* Measures and encodes a model into one buffer (mem_free). */
pgy_status model_encode(void **out, size_t *size_bytes, pgy_model *m, const encode_options *options,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
