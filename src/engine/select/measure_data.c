/* SPDX-License-Identifier: Apache-2.0 */
/* Data for measuring: random and never zero, since some processors are faster on zeros, and slower
 * on sums of denormal numbers. */
#include <string.h>

#include "engine/select/measure.h"

static uint32_t random_next(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* A bfloat16 is the upper half of a float32; a float16 has the same sign bit and a shorter
 * exponent. */
static void fill_halves(uint16_t *to, size_t count, bool brain, uint32_t *seed)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = random_next(seed);
        to[i] = (uint16_t)(brain ? (bits & 0x807f) | 0x3f00 : (bits & 0x83ff) | 0x3800);
    }
}

static void fill_floats(float *to, size_t count, uint32_t *seed)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = (random_next(seed) & 0x807fffff) | 0x3f000000; /* +-0.5 to 1 */
        memcpy(&to[i], &bits, sizeof bits);
    }
}

/* Small positive numbers, which are valid indices and divisors, too. */
static void fill_integers(uint8_t *to, size_t count, size_t item, uint32_t *seed)
{
    memset(to, 0, count * item);
    for (size_t i = 0; i < count; i++) to[i * item] = (uint8_t)(1 + random_next(seed) % 2);
}

static void fill_bytes(uint8_t *to, size_t count, uint32_t *seed)
{
    for (size_t i = 0; i < count; i++) to[i] = (uint8_t)(1 + random_next(seed) % 254);
}

void measure_fill(void *to, pgy_dtype dtype, size_t size_bytes)
{
    uint32_t seed = 2463534242u;
    const size_t bits = pgy_dtype_describe(dtype)->bits;
    if (dtype == PGY_F32)
        fill_floats(to, size_bytes / 4, &seed);
    else if (dtype == PGY_F16 || dtype == PGY_BF16)
        fill_halves(to, size_bytes / 2, dtype == PGY_BF16, &seed);
    else if (dtype == PGY_F64)
        for (size_t i = 0; i < size_bytes / 8; i++)
            ((double *)to)[i] = 0.5 + (double)(random_next(&seed) >> 8) * 0x1p-25;
    else if (dtype == PGY_BOOL)
        for (size_t i = 0; i < size_bytes; i++) ((uint8_t *)to)[i] = random_next(&seed) >> 7 & 1;
    else if (bits > 8)
        fill_integers(to, size_bytes / (bits / 8), bits / 8, &seed);
    else
        fill_bytes(to, size_bytes, &seed);
}
