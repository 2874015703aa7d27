/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of npy files, shared by .npy files and members of .npz archives. */
#ifndef TENSOR_NPY_DATA_H
#define TENSOR_NPY_DATA_H

#include "tensor/npy.h"

/* Makes a tensor from `elements`, which hold h->data_bytes. */
pgy_status npy_decode(pgy_tensor **out, const npy_header *h, const void *elements,
                      pgy_error *err) PGY_MUST_CHECK;
/* Corrects the byte order and memory order of numeric elements that were read straight into *t; may
 * replace *t. */
pgy_status npy_finish(pgy_tensor **t, const npy_header *h, pgy_error *err) PGY_MUST_CHECK;

/* An array as it is written to a file: header, then elements (borrowed from the view where
 * possible). */
typedef struct npy_image {
    str header, strings;
    pgy_tensor *compact;
    const void *elements;
    size_t elements_bytes;
} npy_image;
pgy_status npy_image_init(npy_image *image, pgy_view v, pgy_error *err) PGY_MUST_CHECK;
void npy_image_deinit(npy_image *image);

#endif
