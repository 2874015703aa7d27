/* SPDX-License-Identifier: Apache-2.0 */
/* Transposing rectangles of 4-byte elements in squares of eight by eight. */
#ifndef KERNELS_SQUARES_H
#define KERNELS_SQUARES_H

#include <stddef.h>
#include <stdint.h>

enum { SQUARE = 8 };

/* to[j * to_step + i] = from[i * from_step + j] for i < rows, j < columns. Steps count elements. */
void squares_transpose(uint32_t *to, size_t to_step, const uint32_t *from, size_t from_step,
                       size_t rows, size_t columns);
#if defined(__x86_64__)
/* The same with AVX2, of whole squares: rows and columns are multiples of SQUARE. */
void squares_avx2(uint32_t *to, size_t to_step, const uint32_t *from, size_t from_step, size_t rows,
                  size_t columns);
#endif

#endif
