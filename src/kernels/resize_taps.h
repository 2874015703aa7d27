/* SPDX-License-Identifier: Apache-2.0 */
/* Linear and cubic Resize: the input elements and weights of each output index along an axis, as in
 * the definition. */
#ifndef KERNELS_RESIZE_TAPS_H
#define KERNELS_RESIZE_TAPS_H

#include "kernels/kernel.h"

enum { RESIZE_MAX_TAPS = 64 };

/* Is the node a Resize of this kind, along all axes, with the sizes or scales as they are? */
bool resize_is_interpolation(const kernel_problem *u);
/* Reads the scale of axis d, which must be positive. */
bool resize_read_scale(double *scale, const kernel_problem *u, int32_t d);
/* The input position of output index o; false if the mode is another. */
bool resize_position(double *x, const op_node *n, uint64_t in, uint64_t out, double scale,
                     double o);
/* The number of taps of an output index; more than RESIZE_MAX_TAPS: too many. */
uint32_t resize_taps_of(const op_node *n, double scale);
/* The taps of output index o. Those outside the input read the edge, or get weight 0
 * (exclude_outside). */
void resize_fill_taps(int32_t *places, double *weights, uint32_t taps, const op_node *n,
                      uint64_t in, uint64_t out, double scale, uint64_t o);

#endif
