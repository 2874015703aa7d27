/* SPDX-License-Identifier: Apache-2.0 */
/* Images with blocked channels, which ONNX Runtime's optimiser makes for its convolutions (domain
 * com.microsoft.nchwc): a tensor of shape [N, C, spatial...] holds its elements in the order
 * [N, C / B, spatial..., B]. B is 8 or 16, depending on the machine that saved the model, and no
 * node stores it. The graph derives it from the shapes in the model and adds it to each node as
 * attribute `block_size`. */
#ifndef OPS_CLASS_NCHWC_H
#define OPS_CLASS_NCHWC_H

#include "ops/class_check.h"

#define NCHWC_DOMAIN "com.microsoft.nchwc"
#define NCHWC_BLOCK_ATTR                                      \
    {                                                         \
        "block_size", OP_ATTR_INT, false, "16", NULL, "8..16" \
    }

/* Reads the block size B from the node; PGY_E_ARGUMENT if it is neither 8 nor 16. */
pgy_status nchwc_block(size_t *out, const op_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Copy a blocked tensor to row-major layout, and back. PGY_E_SHAPE if B does not divide
 * the channels. */
pgy_status nchwc_to_plain(pgy_tensor **out, const op_node *n, const pgy_tensor *x,
                          pgy_error *err) PGY_MUST_CHECK;
pgy_status nchwc_from_plain(pgy_tensor **out, const op_node *n, const pgy_tensor *x,
                            pgy_error *err) PGY_MUST_CHECK;

/* Of a convolution with weights of this shape: is its image row-major? It is if it has fewer
 * channels than a block, and the convolution is not depthwise. */
bool nchwc_takes_plain(const int64_t *weights, int64_t group, size_t block);
/* Do its weights lie as [O / B, I, spatial..., B of O], because the image is row-major or the
 * convolution depthwise? Else as [O / B, I / B, spatial..., B of I, B of O]. */
bool nchwc_is_alone(const int64_t *weights, int64_t group, size_t block);
/* Are they whole blocks? */
bool nchwc_weights_fit(size_t rank, const int64_t *weights, int64_t group, size_t block);
/* Copies weights that fit to row-major layout. */
pgy_status nchwc_plain_weights(pgy_tensor **out, const pgy_tensor *w, size_t block, bool alone,
                               pgy_error *err) PGY_MUST_CHECK;

/* The row-major operator that computes a blocked one. Of its inputs, images 0 and 3 and the weights
 * are blocked. */
typedef struct nchwc_spec {
    const char *domain, *inner;
    int64_t version;
    bool is_conv;
} nchwc_spec;
pgy_status nchwc_infer(op_infer *c, pgy_error *err);
pgy_status nchwc_eval(op_eval *c, pgy_error *err);

#endif
