/* SPDX-License-Identifier: Apache-2.0 */
/* Bags of embeddings (pgy EmbeddingBag): what its definition and its kernel share. */
#ifndef OPS_CLASS_BAG_H
#define OPS_CLASS_BAG_H

#include "ops/op.h"

enum { BAG_TABLE, BAG_INDICES, BAG_OFFSETS, BAG_WEIGHTS, BAG_INPUTS };

typedef enum bag_mode { BAG_SUM, BAG_MEAN, BAG_MAX, BAG_MODES } bag_mode;

static inline bag_mode bag_mode_of(const op_node *n)
{
    if (op_attr_is(n, "mode", "mean", "sum")) return BAG_MEAN;
    return op_attr_is(n, "mode", "max", "sum") ? BAG_MAX : BAG_SUM;
}

/* The indices [first, first + count) of a bag between two offsets. */
typedef struct bag_range {
    int64_t first, count;
    int64_t divisor; /* of a mean */
    bool zero;       /* the result is zeros, whatever the mode */
} bag_range;

/* Attributes that say what exporters write for bags without elements and for the last bag. */
typedef struct bag_rules {
    bag_mode mode;
    bool empty_is_zero, last_to_end;
} bag_rules;

static inline bag_rules bag_rules_of(const op_node *n)
{
    return (bag_rules){.mode = bag_mode_of(n),
                       .empty_is_zero = op_attr_int(n, "empty_is_zero", 0) != 0,
                       .last_to_end = op_attr_int(n, "last_to_end", 0) != 0};
}

/* An offset as Slice takes it: negative ones count from the end, and all are clamped. */
static inline int64_t bag_bound(int64_t offset, int64_t size)
{
    if (offset < 0) offset = offset < -size ? 0 : offset + size;
    return offset < size ? offset : size;
}

static inline bag_range bag_between(bag_rules rules, int64_t size, int64_t start, int64_t end,
                                    bool last)
{
    const bool to_end = last && rules.last_to_end;
    const int64_t from = bag_bound(start, size);
    const int64_t to = to_end && rules.mode == BAG_MAX ? size : bag_bound(end, size);
    const int64_t count = to > from ? to - from : 0;
    bag_range b = {.first = from, .count = count, .divisor = count};
    b.zero = rules.empty_is_zero && start == end;
    if (to_end && __builtin_sub_overflow(size, start, &b.divisor)) b.divisor = INT64_MAX;
    if (to_end && b.divisor < 1) b.divisor = 1;
    return b;
}

#endif
