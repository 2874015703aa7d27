/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of convolution over flat positions, any processor. */
#include <string.h>

#include "kernels/conv_flat.h"

#include "kernels/vector_portable.h"

#include "kernels/conv_end.inc"

static inline __attribute__((always_inline)) VEC flat_load(const float *p, size_t count,
                                                           size_t step)
{
    float some[LANES] = {0};
    if (step == 1 && count == LANES) return LOAD(p);
    for (size_t i = 0; i < count; i++) some[i] = p[step * i];
    return LOAD(some);
}

static inline __attribute__((always_inline)) VEC flat_pack(VEC v, uint32_t mask)
{
    float from[LANES], to[LANES] = {0};
    if (mask == 0xff) return v;
    STORE(from, v);
    for (size_t i = 0, n = 0; i < LANES; n += mask >> i++ & 1) to[n] = from[i];
    return LOAD(to);
}

#define FLAT_LOAD(p, n) flat_load(p, n, 1)
#define FLAT_LOAD_EVEN(p, n) flat_load(p, n, 2)
#define FLAT_PACK(v, mask) flat_pack(v, mask)
#define LOOPS conv_flat_portable
#include "kernels/conv_flat_narrow.inc"
