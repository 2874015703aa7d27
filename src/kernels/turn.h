/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes a tile of 16 x 16 elements of 32 bits, four by four in registers. */
#ifndef KERNELS_TURN_H
#define KERNELS_TURN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TURN = 16 };

typedef uint32_t turn_four __attribute__((vector_size(16)));

static inline turn_four turn_load(const uint32_t *x)
{
    turn_four v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline void turn_store(uint32_t *y, turn_four v)
{
    memcpy(y, &v, sizeof v);
}

/* y[i * y_step + c] = x[c * x_step + i] for all i and c below TURN. */
static inline void turn_tile(uint32_t *y, size_t y_step, const uint32_t *x, size_t x_step)
{
    for (size_t i = 0; i < TURN; i += 4)
        for (size_t c = 0; c < TURN; c += 4) {
            const uint32_t *from = x + c * x_step + i;
            uint32_t *to = y + i * y_step + c;
            const turn_four p = turn_load(from), q = turn_load(from + x_step),
                            r = turn_load(from + 2 * x_step), s = turn_load(from + 3 * x_step);
            const turn_four a = __builtin_shufflevector(p, q, 0, 4, 1, 5),
                            b = __builtin_shufflevector(r, s, 0, 4, 1, 5),
                            d = __builtin_shufflevector(p, q, 2, 6, 3, 7),
                            e = __builtin_shufflevector(r, s, 2, 6, 3, 7);
            turn_store(to, __builtin_shufflevector(a, b, 0, 1, 4, 5));
            turn_store(to + y_step, __builtin_shufflevector(a, b, 2, 3, 6, 7));
            turn_store(to + 2 * y_step, __builtin_shufflevector(d, e, 0, 1, 4, 5));
            turn_store(to + 3 * y_step, __builtin_shufflevector(d, e, 2, 3, 6, 7));
        }
}

#endif
