/* SPDX-License-Identifier: Apache-2.0 */
/* Compress: single elements are gathered by the positions of true conditions; blocks behind an axis
 * are copied, neighbours at once. */
#include <string.h>

#include "base/cancel.h"
#include "kernels/finder.h"

static bool compress_accept(const finder_call *c)
{
    const unsigned bits = pgy_dtype_describe(c->inputs[0].dtype)->bits;
    return c->inputs[1].dtype == PGY_BOOL && c->inputs[0].dtype != PGY_STRING && bits >= 8 &&
           bits <= 64 && kernel_count(&c->inputs[0]) < UINT32_MAX &&
           kernel_count(&c->inputs[1]) < UINT32_MAX;
}

/* The input as [outer, size, block bytes]. */
typedef struct compress_sizes {
    size_t axis, outer, size, block;
    int64_t shape[PGY_MAX_RANK];
    size_t rank;
} compress_sizes;

static compress_sizes compress_sizes_of(const finder_call *c)
{
    const kernel_tensor *x = &c->inputs[0];
    const op_attr *given = op_attr_find(c->node, "axis");
    compress_sizes s = {.outer = 1, .block = pgy_dtype_describe(x->dtype)->bits / 8, .rank = 1};
    s.size = kernel_count(x);
    if (!given) return s;
    s.rank = (size_t)x->rank;
    s.axis = (size_t)(given->i < 0 ? given->i + x->rank : given->i); /* the rule has checked it */
    memcpy(s.shape, x->shape, s.rank * sizeof *s.shape);
    s.size = (size_t)x->shape[s.axis];
    for (size_t d = 0; d < s.axis; d++) s.outer *= (size_t)x->shape[d];
    for (size_t d = s.axis + 1; d < s.rank; d++) s.block *= (size_t)x->shape[d];
    return s;
}

#define TAKE(name, type)                                                              \
    static void name(void *to, const void *from, const uint32_t *at, size_t n)        \
    {                                                                                 \
        for (size_t i = 0; i < n; i++) ((type *)to)[i] = ((const type *)from)[at[i]]; \
    }
TAKE(compress_take_1, uint8_t)
TAKE(compress_take_2, uint16_t)
TAKE(compress_take_4, uint32_t)
TAKE(compress_take_8, uint64_t)

static void compress_blocks(char *to, const char *from, const uint32_t *at, size_t n, size_t block)
{
    for (size_t i = 0, end; i < n && !cancel_requested(); i = end) {
        for (end = i + 1; end < n && at[end] == at[end - 1] + 1;) end++;
        memcpy(to + i * block, from + at[i] * block, (end - i) * block);
    }
}

static void compress_move(char *to, const char *from, const uint32_t *at, size_t n, size_t block)
{
    switch (block) {
    case 1: compress_take_1(to, from, at, n); break;
    case 2: compress_take_2(to, from, at, n); break;
    case 4: compress_take_4(to, from, at, n); break;
    case 8: compress_take_8(to, from, at, n); break;
    default: compress_blocks(to, from, at, n, block);
    }
}

static pgy_status compress_run(const finder_call *c, pgy_error *err)
{
    compress_sizes s = compress_sizes_of(c);
    const size_t given = kernel_count(&c->inputs[1]), tested = given < s.size ? given : s.size;
    void *memory, *data;
    pgy_status st = finder_memory(&memory, c, tested + 1, sizeof(uint32_t), err);
    if (st) return st;
    const size_t kept = finder_marks_of(PGY_BOOL)(memory, c->inputs[1].data, tested, 0);
    s.shape[s.axis] = (int64_t)kept;
    st = c->create(&data, c->user, 0, c->inputs[0].dtype, s.rank, s.shape, err);
    for (size_t o = 0; !st && s.block && o < s.outer && !cancel_requested(); o++)
        compress_move((char *)data + o * kept * s.block,
                      (const char *)c->inputs[0].data + o * s.size * s.block, memory, kept,
                      s.block);
    return st ? st : cancel_check(err);
}

const finder FINDER_compress = {"Compress", compress_accept, compress_run};
