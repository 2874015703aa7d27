/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceAt of the pieces of SplitToSequence, as exported splits of tensors are, so no sequence is
 * made: at a constant position a Slice of the tensor, at another one a Gather if all pieces have
 * the same length. Tensors that SequenceConstruct lists are read and concatenated without it. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

/* ---- Pieces of a tensor --------------------------------------------------------------------- */

/* The part [from, to) of an axis. */
typedef struct piece {
    int64_t axis, from, to;
} piece;

/* Pieces of one length; the last may be shorter. */
static bool equal_piece(piece *out, int64_t at, int64_t length, int64_t size)
{
    if (length < 1 || size < 1) return false;
    const int64_t count = size / length + (size % length != 0);
    if (at < 0) at += count;
    if (at < 0 || at >= count) return false;
    out->from = at * length;
    out->to = size - out->from < length ? size : out->from + length;
    return true;
}

static bool listed_piece(piece *out, int64_t at, const int64_t *lengths, size_t count, int64_t size)
{
    int64_t end = 0;
    if (at < 0) at += (int64_t)count;
    if (at < 0 || (uint64_t)at >= count) return false;
    for (size_t i = 0; i < count; i++) {
        if (lengths[i] < 0 || lengths[i] > size - end) return false;
        if (i == (size_t)at) out->from = end;
        end += lengths[i];
        if (i == (size_t)at) out->to = end;
    }
    return end == size;
}

/* Piece `at` of a SplitToSequence. */
static bool find_piece(piece *out, pattern *p, const pgy_node *split, int64_t at)
{
    const pgy_value *x = split->inputs[0];
    const int64_t *lengths;
    size_t count;
    const int32_t rank = pattern_rank(x);
    out->axis = pattern_int(split, "axis", 0);
    if (rank < 1 || out->axis < -rank || out->axis >= rank) return false;
    const int64_t size = pattern_size(x, (int32_t)out->axis);
    pgy_value *given = pattern_input(split, 1);
    if (size < 0) return false;
    if (!given) return equal_piece(out, at, 1, size);
    if (pattern_rank(given) < 0 || !pattern_ints(p, given, &lengths, &count) || !count)
        return false;
    return pattern_rank(given) == 0 ? equal_piece(out, at, lengths[0], size)
                                    : listed_piece(out, at, lengths, count, size);
}

static bool lower_at(pattern *p, pgy_node *n)
{
    const int64_t *at;
    size_t count;
    piece found;
    if (!pattern_is(n, "SequenceAt") || n->input_count != 2) return false;
    const pgy_node *split = pattern_from(n->inputs[0], "SplitToSequence");
    if (!split || !split->input_count || !pattern_ints(p, n->inputs[1], &at, &count) ||
        count != 1 || !find_piece(&found, p, split, at[0]))
        return false;
    const bool drops = !pattern_input(split, 1) && !pattern_int(split, "keepdims", 1);
    pgy_value *axes = pattern_list(p, n, NULL, &found.axis, 1);
    pgy_value *const inputs[] = {split->inputs[0], pattern_list(p, n, NULL, &found.from, 1),
                                 pattern_list(p, n, NULL, &found.to, 1), axes};
    if (!axes || !inputs[1] || !inputs[2]) return false;
    if (!drops) return pattern_put(p, n, "Slice", inputs, 4) != NULL;
    pgy_value *const kept[] = {pattern_make(p, n, NULL, "Slice", inputs, 4), axes};
    return kept[0] && pattern_put(p, n, "Squeeze", kept, 2);
}

/* The length of the pieces, if all have the same one; else 0. */
static int64_t common_length(pattern *p, const pgy_node *split, int64_t size)
{
    const int64_t *lengths;
    size_t count;
    pgy_value *given = pattern_input(split, 1);
    if (!given) return 1;
    if (size < 1 || pattern_rank(given) < 0 || !pattern_ints(p, given, &lengths, &count) ||
        !count || lengths[0] < 1 || size % lengths[0] != 0)
        return 0;
    const int64_t pieces = size / lengths[0];
    if (pattern_rank(given) > 0 && (uint64_t)pieces != count) return 0;
    for (size_t i = 1; i < count; i++)
        if (lengths[i] != lengths[0]) return 0;
    return lengths[0];
}

/* Can a Reshape divide this axis? It keeps the axes in front, but must be told those behind. */
static bool can_divide(const pgy_value *x, int64_t axis)
{
    const int32_t rank = pattern_rank(x);
    bool known = rank < PGY_MAX_RANK;
    for (int64_t d = axis + 1; known && d < rank; d++) known = pattern_size(x, (int32_t)d) > 0;
    return known;
}

/* x with its axis divided into pieces and their length. */
static pgy_value *divided(pattern *p, pgy_node *n, pgy_value *x, int64_t axis, int64_t length)
{
    int64_t shape[PGY_MAX_RANK] = {0}; /* 0: as in x */
    const int32_t rank = pattern_rank(x);
    shape[axis] = pattern_size(x, (int32_t)axis) / length;
    shape[axis + 1] = length;
    for (int64_t d = axis + 1; d < rank; d++) shape[d + 1] = pattern_size(x, (int32_t)d);
    pgy_value *const inputs[] = {x, pattern_list(p, n, NULL, shape, (size_t)rank + 1)};
    return inputs[1] ? pattern_make(p, n, NULL, "Reshape", inputs, 2) : NULL;
}

static bool is_position(const pgy_value *at)
{
    return pattern_rank(at) == 0 || (pattern_rank(at) == 1 && pattern_size(at, 0) == 1);
}

/* The position as a tensor of rank 0 or 1. */
static pgy_value *position_as(pattern *p, pgy_node *n, int32_t rank)
{
    static const int64_t FIRST = 0;
    pgy_value *at = n->inputs[1];
    if (pattern_rank(at) == rank) return at;
    pgy_value *const inputs[] = {at, pattern_list(p, n, NULL, &FIRST, 1)};
    return inputs[1] ? pattern_make(p, n, NULL, rank ? "Unsqueeze" : "Squeeze", inputs, 2) : NULL;
}

/* Gather, too, counts negative positions from the end and refuses those out of range. */
static bool lower_at_data(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "SequenceAt") || n->input_count != 2) return false;
    const pgy_node *split = pattern_from(n->inputs[0], "SplitToSequence");
    if (!split || !split->input_count || pattern_is_constant(p, n->inputs[1])) return false;
    pgy_value *x = split->inputs[0];
    const int32_t rank = pattern_rank(x);
    int64_t axis = pattern_int(split, "axis", 0);
    if (rank < 1 || axis < -rank || axis >= rank || !is_position(n->inputs[1])) return false;
    if (axis < 0) axis += rank;
    const bool given = pattern_input(split, 1) != NULL;
    const bool keeps = !given && pattern_int(split, "keepdims", 1);
    const int64_t length = common_length(p, split, pattern_size(x, (int32_t)axis));
    if (!length || (given && !can_divide(x, axis))) return false;
    pgy_value *const inputs[] = {given ? divided(p, n, x, axis, length) : x,
                                 position_as(p, n, keeps)};
    if (!inputs[0] || !inputs[1]) return false;
    pgy_node *gather = pattern_put(p, n, "Gather", inputs, 2);
    if (gather) pattern_set_int(p, gather, "axis", axis);
    return gather != NULL;
}

/* ---- Listed tensors ------------------------------------------------------------------------- */

static bool lower_at_listed(pattern *p, pgy_node *n)
{
    const int64_t *at;
    size_t count;
    if (!pattern_is(n, "SequenceAt") || n->input_count != 2) return false;
    const pgy_node *list = pattern_from(n->inputs[0], "SequenceConstruct");
    if (!list || !pattern_ints(p, n->inputs[1], &at, &count) || count != 1) return false;
    const int64_t items = (int64_t)list->input_count, place = *at < 0 ? *at + items : *at;
    if (place < 0 || place >= items || !list->inputs[place]) return false;
    return pattern_put(p, n, "Identity", &list->inputs[place], 1);
}

/* The items with another axis of size 1. False: a failure. */
static bool stack(pgy_value **items, pattern *p, pgy_node *n, size_t count, int64_t axis)
{
    pgy_value *axes = pattern_list(p, n, NULL, &axis, 1);
    for (size_t i = 0; axes && i < count; i++) {
        pgy_value *const inputs[] = {items[i], axes};
        items[i] = pattern_make(p, n, NULL, "Unsqueeze", inputs, 2);
        if (!items[i]) return false;
    }
    return axes != NULL;
}

static bool lower_concat(pattern *p, pgy_node *n)
{
    enum { MAX_ITEMS = 255 };
    pgy_value *items[MAX_ITEMS];
    if (!pattern_is(n, "ConcatFromSequence") || !n->input_count) return false;
    const pgy_node *list = pattern_from(n->inputs[0], "SequenceConstruct");
    const size_t count = list ? list->input_count : 0;
    if (!count || count > MAX_ITEMS) return false;
    for (size_t i = 0; i < count; i++) {
        items[i] = list->inputs[i];
        if (!items[i] || pattern_rank(items[i]) < 0) return false;
    }
    const int64_t axis = pattern_int(n, "axis", 0);
    if (pattern_int(n, "new_axis", 0) && !stack(items, p, n, count, axis)) return false;
    pgy_node *concat = pattern_put(p, n, "Concat", items, count);
    if (concat) pattern_set_int(p, concat, "axis", axis);
    return concat != NULL;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {lower_at, lower_at_data, lower_at_listed, lower_concat,
                                         NULL};
    return pattern_run(g, "lower_sequences", RULES, changes, err);
}

const pass PASS_lower_sequences = {
    .name = "lower_sequences",
    .summary =
        "SequenceAt of SplitToSequence as Slice or Gather, SequenceConstruct without a sequence",
    .run = run};
