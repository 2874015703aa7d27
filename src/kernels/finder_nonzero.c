/* SPDX-License-Identifier: Apache-2.0 */
/* NonZero: finds the positions in the flattened tensor, then takes them apart axis by axis, last
 * axis first. Positions rise, so no division is needed: the start of the current row moves along.
 */
#include <string.h>

#include "base/cancel.h"
#include "kernels/finder.h"

static bool nonzero_accept(const finder_call *c)
{
    return finder_marks_of(c->inputs[0].dtype) && kernel_count(&c->inputs[0]) < UINT32_MAX;
}

static size_t nonzero_positions(uint32_t *to, const kernel_tensor *x)
{
    enum { PIECE = 1 << 20 };
    finder_marks *marks = finder_marks_of(x->dtype);
    const size_t count = kernel_count(x), item = pgy_dtype_describe(x->dtype)->bits / 8;
    size_t found = 0;
    for (size_t from = 0; from < count && !cancel_requested(); from += PIECE) {
        const size_t n = count - from < PIECE ? count - from : PIECE;
        found += marks(to + found, (const char *)x->data + from * item, n, (uint32_t)from);
    }
    return found;
}

/* Writes the positions within rows of `size` elements, and replaces each position by its row. */
static void nonzero_split(int64_t *to, uint32_t *at, size_t found, uint64_t size)
{
    uint64_t row = 0, start = 0;
    for (size_t i = 0; i < found; i++) {
        while (at[i] - start >= size) {
            row++;
            start += size;
        }
        to[i] = (int64_t)(at[i] - start);
        at[i] = (uint32_t)row;
    }
}

static pgy_status nonzero_run(const finder_call *c, pgy_error *err)
{
    const kernel_tensor *x = &c->inputs[0];
    const size_t rank = x->rank ? (size_t)x->rank : 1;
    void *memory, *data;
    pgy_status st = finder_memory(&memory, c, kernel_count(x) + 1, sizeof(uint32_t), err);
    if (st) return st;
    uint32_t *at = memory;
    const size_t found = nonzero_positions(at, x);
    const int64_t shape[] = {(int64_t)rank, (int64_t)found};
    st = c->create(&data, c->user, 0, PGY_I64, 2, shape, err);
    if (st) return st;
    int64_t *to = data;
    for (size_t d = rank; d-- > 1 && !cancel_requested();)
        nonzero_split(to + d * found, at, found, (uint64_t)x->shape[d]);
    for (size_t i = 0; i < found; i++) to[i] = at[i];
    return cancel_check(err);
}

const finder FINDER_nonzero = {"NonZero", nonzero_accept, nonzero_run};
