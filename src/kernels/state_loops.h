/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of operators that carry a state from token to token (LinearAttention,
 * CausalConvWithState), one set for each processor level. Strides count elements. */
#ifndef KERNELS_STATE_LOOPS_H
#define KERNELS_STATE_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/system.h"

/* The loops work on this many columns of a state [rows, columns] at once. */
enum { STATE_COLUMNS = 32 };

/* One token: s <- decay * s, then v <- beta * (v - factor * w^T s) with the state before the decay
 * if there are weights w, s <- s + k v^T, y = scale * q^T s. Vectors k, q and w have `rows`
 * elements. */
typedef struct state_token {
    const float *from; /* the state before the token */
    float *to;         /* the state behind it; may be `from` */
    size_t from_step, to_step, rows;
    const float *decay; /* one factor, or one for each row; NULL: no decay */
    bool decay_each;
    const float *k, *q, *v;
    const float *w; /* may be NULL */
    float factor, beta, scale;
    float *y;
} state_token;

typedef struct state_loops {
    void (*update)(const state_token *t);
    /* y = scale * w^T s */
    void (*recall)(float *y, const float *s, size_t step, const float *w, size_t rows, float scale);
    /* y[i] = bias + sum over k < taps of w[k] * x[i + k], for i < count */
    void (*convolve)(float *y, const float *x, size_t count, const float *w, size_t taps,
                     float bias);
} state_loops;

extern const state_loops state_loops_portable, state_loops_avx2, state_loops_avx512;
const state_loops *state_loops_of(cpu_level level);

#endif
