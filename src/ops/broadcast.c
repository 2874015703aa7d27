/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcasting loops. Neighbouring dimensions that behave alike for all inputs are merged, so
 * inputs of equal shape, or scalars, need a single run, and a bias along the last axis needs one
 * run per row. The output is cut into pieces of a fixed number of elements. Each piece computes its
 * own position, so the result does not depend on threads. */
#include "ops/broadcast.h"

#include <string.h>

#include "base/system.h"

enum { PIECE = 32768 };

/* Stride of an input along each output dimension, 0 where it is broadcast. */
static void natural_strides(size_t *strides, const pgy_tensor *out, const pgy_tensor *in)
{
    const size_t rank = pgy_tensor_rank(out), own = pgy_tensor_rank(in);
    const int64_t *shape = pgy_tensor_shape(in);
    size_t step = 1;
    for (size_t i = rank; i-- > 0;) {
        const size_t skipped = rank - own;
        const size_t size = i >= skipped ? (size_t)shape[i - skipped] : 1;
        strides[i] = size == 1 ? 0 : step;
        step *= size;
    }
}

/* Do all inputs step from dimension d into merged dimension `target` without a gap, so that the two
 * can be merged? */
static bool continues(const broadcast *b, size_t (*strides)[PGY_MAX_RANK], size_t d, size_t target)
{
    for (size_t k = 0; k < b->inputs; k++)
        if (strides[k][d] != b->strides[k][target] * b->dims[target]) return false;
    return true;
}

void broadcast_init(broadcast *b, const pgy_tensor *out, const pgy_tensor *const *in, size_t inputs)
{
    size_t strides[BROADCAST_INPUTS][PGY_MAX_RANK];
    const int64_t *shape = pgy_tensor_shape(out);
    memset(b, 0, sizeof *b);
    b->inputs = inputs;
    b->count = pgy_tensor_count(out);
    for (size_t k = 0; k < inputs; k++) natural_strides(strides[k], out, in[k]);
    size_t kept = PGY_MAX_RANK; /* filled from the back, moved to the front below */
    for (size_t d = pgy_tensor_rank(out); d-- > 0;) {
        if (shape[d] == 1) continue;
        if (kept < PGY_MAX_RANK && continues(b, strides, d, kept)) {
            b->dims[kept] *= (size_t)shape[d];
            continue;
        }
        kept--;
        b->dims[kept] = (size_t)shape[d];
        for (size_t k = 0; k < inputs; k++) b->strides[k][kept] = strides[k][d];
    }
    b->rank = PGY_MAX_RANK - kept;
    memmove(b->dims, b->dims + kept, b->rank * sizeof *b->dims);
    for (size_t k = 0; k < inputs; k++)
        memmove(b->strides[k], b->strides[k] + kept, b->rank * sizeof *b->strides[k]);
}

typedef struct walk {
    const broadcast *b;
    broadcast_run run;
    void *user;
} walk;

/* Computes the position of output element `at`: indices per dimension and offsets per input. */
static void seek(const broadcast *b, size_t at, size_t *index, size_t *from)
{
    for (size_t k = 0; k < b->inputs; k++) from[k] = 0;
    for (size_t d = b->rank; d-- > 0;) {
        index[d] = at % b->dims[d];
        at /= b->dims[d];
        for (size_t k = 0; k < b->inputs; k++) from[k] += index[d] * b->strides[k][d];
    }
}

/* Moves to the beginning of the next run, at the end of the last dimension. */
static void advance(const broadcast *b, size_t *index, size_t *from)
{
    const size_t last = b->rank - 1;
    for (size_t k = 0; k < b->inputs; k++) from[k] -= index[last] * b->strides[k][last];
    index[last] = 0;
    for (size_t d = last; d-- > 0;) {
        index[d]++;
        for (size_t k = 0; k < b->inputs; k++) from[k] += b->strides[k][d];
        if (index[d] < b->dims[d]) return;
        for (size_t k = 0; k < b->inputs; k++) from[k] -= index[d] * b->strides[k][d];
        index[d] = 0;
    }
}

static void walk_piece(size_t piece, void *user)
{
    const walk *w = user;
    const broadcast *b = w->b;
    size_t index[PGY_MAX_RANK], from[BROADCAST_INPUTS], step[BROADCAST_INPUTS] = {0};
    size_t at = piece * PIECE;
    const size_t end = b->count - at < PIECE ? b->count : at + PIECE;
    if (!b->rank) {
        const size_t zero[BROADCAST_INPUTS] = {0};
        w->run(0, zero, zero, 1, w->user);
        return;
    }
    const size_t last = b->rank - 1;
    for (size_t k = 0; k < b->inputs; k++) step[k] = b->strides[k][last];
    seek(b, at, index, from);
    while (at < end) {
        const size_t left = b->dims[last] - index[last];
        const size_t n = left < end - at ? left : end - at;
        w->run(at, from, step, n, w->user);
        at += n;
        advance(b, index, from);
    }
}

void broadcast_each(const broadcast *b, broadcast_run run, void *user)
{
    walk w = {b, run, user};
    parallel_for_until_cancelled((b->count + PIECE - 1) / PIECE, walk_piece, &w);
}
