/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceAt at a constant position of the pieces of SplitToSequence, as exported splits of tensors
 * are: a Slice of the tensor, so no sequence is made. If each piece is one index of the axis, the
 * position may be any number: a Gather. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

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

static bool lower_anywhere(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "SequenceAt") || n->input_count != 2) return false;
    const pgy_node *split = pattern_from(n->inputs[0], "SplitToSequence");
    if (!split || !split->input_count || pattern_input(split, 1) ||
        pattern_is_constant(p, n->inputs[1]) || pattern_rank(n->inputs[1]) != 0)
        return false;
    const int64_t axis = pattern_int(split, "axis", 0);
    const int32_t rank = pattern_rank(split->inputs[0]);
    if (rank < 1 || axis < -rank || axis >= rank) return false;
    pgy_value *const inputs[] = {split->inputs[0], n->inputs[1]};
    if (!pattern_int(split, "keepdims", 1)) {
        pgy_node *made = pattern_put(p, n, "Gather", inputs, 2);
        pattern_set_int(p, made, "axis", axis);
        return made != NULL;
    }
    pgy_value *const kept[] = {pattern_make(p, n, NULL, "Gather", inputs, 2),
                               pattern_list(p, n, NULL, &axis, 1)};
    if (!kept[0] || !kept[1]) return false;
    pattern_set_int(p, kept[0]->producer, "axis", axis);
    return pattern_put(p, n, "Unsqueeze", kept, 2) != NULL;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {lower_at, lower_anywhere, NULL};
    return pattern_run(g, "lower_sequences", RULES, changes, err);
}

const pass PASS_lower_sequences = {.name = "lower_sequences",
                                   .summary = "SequenceAt of SplitToSequence as Slice or Gather",
                                   .run = run};
