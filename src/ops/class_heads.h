/* SPDX-License-Identifier: Apache-2.0 */
/* What attention operators do to the elements of one head in front of the scores. */
#ifndef OPS_CLASS_HEADS_H
#define OPS_CLASS_HEADS_H

#include <stdbool.h>
#include <stddef.h>

/* Rotary embedding: turns `half` pairs of elements by angles whose cosines and sines are given. A
 * pair is two neighbours if interleaved, else an element of each half. */
void heads_turn(double *x, const double *cosines, const double *sines, size_t half,
                bool interleaved);
/* Divides x by its root mean square and multiplies it by the weights; NULL: does nothing. */
void heads_normalise(double *x, size_t size, const double *weights, double epsilon);

#endif
