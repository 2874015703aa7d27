/* SPDX-License-Identifier: Apache-2.0 */
/* Products on packed weights whose tiles the copy engine of Hopper GPUs brings (boxed.cu), for all
 * types of elements. Other GPUs run packed.cu. */
#ifndef KERNELS_CUDA_BOXED_H
#define KERNELS_CUDA_BOXED_H

#include "kernels/cuda/packed.h"

typedef struct boxed_loaded boxed_loaded;

/* Arguments of the kernel in boxed.cu: the same struct as there. */
typedef struct boxed_call {
    cuda_tensor_map x, w;
    packed_call own;
} boxed_call;

/* Clusters of more blocks wait long for whole multiprocessors beside each other. */
bool boxed_is_useful(const packed_cut *c);
bool boxed_has_sizes(uint64_t m, uint64_t n);
/* Estimates nanoseconds; k counts 16 bits. */
double boxed_cost(const kernel_problem *u, const packed_cut *c, uint64_t m, uint64_t n, uint64_t k);
pgy_status boxed_load(void **out, const packed_kind *kind, device *d, pgy_error *err);
void boxed_unload(void *given);
/* False: no map of X is needed. */
bool boxed_uses_maps(const boxed_loaded *l);
/* Describes the weights and launches; c->x describes X already. */
pgy_status boxed_launch(const boxed_loaded *l, const packed_cut *cut, boxed_call *c, pgy_dtype type,
                        device_stream *stream, pgy_error *err);
/* As boxed_launch, for X that is a matrix. */
pgy_status boxed_launch_matrix(const boxed_loaded *l, const packed_cut *cut, boxed_call *c,
                               pgy_dtype type, device_stream *stream, pgy_error *err);

#endif
