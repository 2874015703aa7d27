/* SPDX-License-Identifier: Apache-2.0 */
/* MT19937 with init_genrand seeding. A block of 624 words is made at once in three runs without
 * wrap-around, so that the loops vectorise; tempering is applied on the way out. */
#include "base/rand.h"

enum { SIZE = 624, MIDDLE = 397 };

void mt19937_seed(mt19937 *g, uint32_t seed)
{
    g->state[0] = seed;
    for (uint32_t i = 1; i < SIZE; i++)
        g->state[i] = 1812433253u * (g->state[i - 1] ^ (g->state[i - 1] >> 30)) + i;
    g->index = SIZE;
}

static inline uint32_t twist(uint32_t high, uint32_t low, uint32_t far)
{
    const uint32_t y = (high & 0x80000000u) | (low & 0x7FFFFFFFu);
    return far ^ (y >> 1) ^ ((0u - (low & 1u)) & 0x9908B0DFu);
}

static void refill(uint32_t *s)
{
    for (int i = 0; i < SIZE - MIDDLE; i++) s[i] = twist(s[i], s[i + 1], s[i + MIDDLE]);
    for (int i = SIZE - MIDDLE; i < SIZE - 1; i++)
        s[i] = twist(s[i], s[i + 1], s[i + MIDDLE - SIZE]);
    s[SIZE - 1] = twist(s[SIZE - 1], s[0], s[MIDDLE - 1]);
}

static inline uint32_t temper(uint32_t y)
{
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680u;
    y ^= (y << 15) & 0xEFC60000u;
    return y ^ (y >> 18);
}

uint32_t mt19937_u32(mt19937 *g)
{
    if (g->index == SIZE) {
        refill(g->state);
        g->index = 0;
    }
    return temper(g->state[g->index++]);
}

double mt19937_double(mt19937 *g)
{
    const uint32_t high = mt19937_u32(g) >> 5, low = mt19937_u32(g) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

void mt19937_fill_u32(mt19937 *g, uint32_t *out, size_t count)
{
    while (count) {
        if (g->index == SIZE) {
            refill(g->state);
            g->index = 0;
        }
        size_t n = (size_t)(SIZE - g->index);
        if (n > count) n = count;
        const uint32_t *s = g->state + g->index;
        for (size_t i = 0; i < n; i++) out[i] = temper(s[i]);
        g->index += (int)n;
        out += n;
        count -= n;
    }
}
