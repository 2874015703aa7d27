/* SPDX-License-Identifier: Apache-2.0 */
/* Unique of the flattened tensor: sorts keys that order like the elements, and numbers the groups
 * of equal ones. NaN equals NaN and comes last; 0 equals -0. Slices along an axis are left to the
 * definition. */
#include <math.h>

#include "base/cancel.h"
#include "kernels/finder.h"
#include "kernels/finder_sort.h"

static bool unique_accept(const finder_call *c)
{
    const kernel_tensor *x = &c->inputs[0];
    switch (x->dtype) {
    case PGY_BOOL:
    case PGY_U8:
    case PGY_I8:
    case PGY_I32:
    case PGY_I64:
    case PGY_F32: return !op_attr_find(c->node, "axis") && kernel_count(x) < UINT32_MAX;
    default: return false;
    }
}

static void unique_keys(finder_key *to, const kernel_tensor *x, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) to[i].index = (uint32_t)i;
    switch (x->dtype) {
    case PGY_F32:
        for (size_t i = from; i < end; i++)
            to[i].key = finder_order_f32(((const float *)x->data)[i]);
        break;
    case PGY_I64:
        for (size_t i = from; i < end; i++)
            to[i].key = ((const uint64_t *)x->data)[i] ^ (uint64_t)1 << 63;
        break;
    case PGY_I32:
        for (size_t i = from; i < end; i++) to[i].key = ((const uint32_t *)x->data)[i] ^ 1u << 31;
        break;
    case PGY_I8:
        for (size_t i = from; i < end; i++) to[i].key = ((const uint8_t *)x->data)[i] ^ 0x80u;
        break;
    default:
        for (size_t i = from; i < end; i++) to[i].key = ((const uint8_t *)x->data)[i];
    }
}

/* Groups of equal elements, in the order of their keys. */
typedef struct unique_groups {
    size_t count;
    uint32_t *of;       /* indexed by element */
    uint32_t *first;    /* indexed by group: its first element */
    uint32_t *members;  /* their number */
    uint32_t *position; /* of the group in the result */
} unique_groups;

static void unique_group(unique_groups *g, const finder_key *sorted, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        if (!i || sorted[i].key != sorted[i - 1].key) {
            g->first[g->count] = sorted[i].index;
            g->members[g->count++] = 0;
        }
        g->of[sorted[i].index] = (uint32_t)g->count - 1;
        g->members[g->count - 1]++;
    }
}

/* The position of each group: that of its key, or of its first element among the others'. */
static void unique_order(unique_groups *g, size_t n, bool sorted)
{
    const size_t count = sorted ? g->count : n;
    uint32_t next = 0;
    for (size_t i = 0, end; i < count && !cancel_requested();)
        for (end = finder_piece_end(i, count); i < end; i++) {
            if (sorted)
                g->position[i] = (uint32_t)i;
            else if (g->first[g->of[i]] == i)
                g->position[g->of[i]] = next++;
        }
}

static void unique_copy(void *to, const kernel_tensor *x, const unique_groups *g, size_t begin,
                        size_t end)
{
    const size_t item = pgy_dtype_describe(x->dtype)->bits / 8;
    for (size_t k = begin; k < end; k++) {
        const size_t at = g->position[k], from = g->first[k];
        if (item == 8)
            ((uint64_t *)to)[at] = ((const uint64_t *)x->data)[from];
        else if (item == 4)
            ((uint32_t *)to)[at] = ((const uint32_t *)x->data)[from];
        else
            ((uint8_t *)to)[at] = ((const uint8_t *)x->data)[from];
    }
}

static pgy_status unique_values(const finder_call *c, const unique_groups *g, pgy_error *err)
{
    const kernel_tensor *x = &c->inputs[0];
    void *to;
    const pgy_status st =
        c->create(&to, c->user, 0, x->dtype, 1, (int64_t[]){(int64_t)g->count}, err);
    for (size_t k = 0, end; !st && k < g->count && !cancel_requested(); k = end) {
        end = finder_piece_end(k, g->count);
        unique_copy(to, x, g, k, end);
    }
    return st;
}

/* Output `i`, entries [from, end). */
static void unique_list(int64_t *to, const unique_groups *g, size_t i, size_t from, size_t end)
{
    for (size_t k = from; i == 1 && k < end; k++) to[g->position[k]] = g->first[k];
    for (size_t k = from; i == 2 && k < end; k++) to[k] = g->position[g->of[k]];
    for (size_t k = from; i == 3 && k < end; k++) to[g->position[k]] = g->members[k];
}

/* First positions, positions of each element's value, numbers of members. */
static pgy_status unique_lists(const finder_call *c, const unique_groups *g, size_t n,
                               pgy_error *err)
{
    void *data;
    pgy_status st = PGY_OK;
    for (size_t i = 1; !st && i < c->node->output_count; i++) {
        const size_t count = i == 2 ? n : g->count;
        if (!c->wanted[i]) continue;
        st = c->create(&data, c->user, i, PGY_I64, 1, (int64_t[]){(int64_t)count}, err);
        if (st) return st;
        for (size_t k = 0, end; k < count && !cancel_requested(); k = end) {
            end = finder_piece_end(k, count);
            unique_list(data, g, i, k, end);
        }
    }
    return st;
}

static pgy_status unique_run(const finder_call *c, pgy_error *err)
{
    const size_t n = kernel_count(&c->inputs[0]);
    void *memory;
    pgy_status st =
        finder_memory(&memory, c, n + 1, 2 * sizeof(finder_key) + 4 * sizeof(uint32_t), err);
    if (st) return st;
    finder_key *keys = memory;
    unique_groups g = {.of = (uint32_t *)(keys + 2 * n)};
    g.first = g.of + n;
    g.members = g.first + n;
    g.position = g.members + n;
    for (size_t i = 0, end; i < n && !cancel_requested(); i = end) {
        end = finder_piece_end(i, n);
        unique_keys(keys, &c->inputs[0], i, end);
    }
    const finder_key *sorted = finder_sort(keys, keys + n, n);
    for (size_t i = 0, end; i < n && !cancel_requested(); i = end) {
        end = finder_piece_end(i, n);
        unique_group(&g, sorted, i, end);
    }
    /* What a cancelled loop has not written must not be read as an index. */
    st = cancel_check(err);
    if (st) return st;
    unique_order(&g, n, op_attr_int(c->node, "sorted", 1) != 0);
    st = cancel_check(err);
    if (!st && c->wanted[0]) st = unique_values(c, &g, err);
    if (!st) st = unique_lists(c, &g, n, err);
    return st ? st : cancel_check(err);
}

const finder FINDER_unique = {"Unique", unique_accept, unique_run};
