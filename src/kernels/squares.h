/* SPDX-License-Identifier: Apache-2.0 */
/* Transposing rectangles of 4-byte elements. */
#ifndef KERNELS_SQUARES_H
#define KERNELS_SQUARES_H

#include <stddef.h>
#include <stdint.h>

/* to[j * to_step + i] = from[i * from_step + j] for i < rows, j < columns. Steps count elements. */
void squares_transpose(void *to, size_t to_step, const void *from, size_t from_step, size_t rows,
                       size_t columns);

enum { SQUARES_TILE = 16 };
/* A whole tile of so many rows and columns. */
void squares_turn_avx512(void *to, size_t to_step, const void *from, size_t from_step);

#endif
