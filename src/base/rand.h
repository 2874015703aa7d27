/* SPDX-License-Identifier: Apache-2.0 */
/* MT19937 as NumPy's legacy RandomState uses it; bit-identical streams. */
#ifndef BASE_RAND_H
#define BASE_RAND_H

#include <stddef.h>
#include <stdint.h>

typedef struct mt19937 {
    uint32_t state[624];
    int index;
} mt19937;
void mt19937_seed(mt19937 *g, uint32_t seed);
uint32_t mt19937_u32(mt19937 *g);
double mt19937_double(mt19937 *g); /* 53 bits, [0, 1) */
/* Draws `count` numbers at once, which is faster than one by one. */
void mt19937_fill_u32(mt19937 *g, uint32_t *out, size_t count);

#endif
