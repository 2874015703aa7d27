/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft NGramHashMapping and VarlenNGramHashMapping: hashes of the last n tokens, n from 2
 * to max_ngram_size, by which Engram looks up embeddings:
 *
 *     (id[0] * m[0]) xor (id[-1] * m[1]) xor ... xor (id[-n+1] * m[n-1]), modulo the head's size
 *
 * Products wrap in the type of the ids. Tokens before the sequence come from past_ids; where there
 * are none, and behind a boundary (an end of text, another segment), they are a filling token. The
 * second operator has requests of any length one behind the other, and boundaries in the past. */
#include <inttypes.h>
#include <string.h>

#include "ops/class_check.h"

enum { IDS, MULTIPLIERS, SIZES };

/* Index of each input; 0: the operator has none. */
typedef struct hash_inputs {
    uint8_t firsts, past, offsets, end, segments, past_segments, captured;
} hash_inputs;
static const hash_inputs PLAIN = {.past = 3, .offsets = 4, .end = 5, .segments = 6};
static const hash_inputs VARLEN = {.firsts = 3,
                                   .past = 4,
                                   .offsets = 5,
                                   .end = 6,
                                   .segments = 7,
                                   .past_segments = 8,
                                   .captured = 9};

static const op_attr_def ATTRS[] = {
    {"max_ngram_size", OP_ATTR_INT, true, NULL, NULL, "2..4096"},
    {"n_head_per_ngram", OP_ATTR_INT, true, NULL, NULL, "1..2147483647"},
    {"pad_id", OP_ATTR_INT, true, NULL},
    {"reset_on_eos", OP_ATTR_INT, false, "0"},
    {NULL},
};
static const op_attr_def ATTRS_VARLEN[] = {
    {"max_ngram_size", OP_ATTR_INT, true, NULL, NULL, "2..4096"},
    {"n_head_per_ngram", OP_ATTR_INT, true, NULL, NULL, "1..2147483647"},
    {"pad_id", OP_ATTR_INT, true, NULL},
    {"reset_on_eos", OP_ATTR_INT, false, "0"},
    {"state_update_capacity", OP_ATTR_INT, false, "0", NULL, "0..8"},
    {NULL},
};

/* ---- Shapes --------------------------------------------------------------------------------- */

static int64_t history(const op_node *n)
{
    return op_attr_int(n, "max_ngram_size", 2) - 1;
}

static int64_t head_count(const op_node *n)
{
    return history(n) * op_attr_int(n, "n_head_per_ngram", 1);
}

static pgy_status check_lists(const op_infer *c, const hash_inputs *at, pgy_error *err)
{
    pgy_status st = rank_check(c, MULTIPLIERS, 1, 1, err);
    if (!st) st = rank_check(c, SIZES, 1, 1, err);
    if (!st) st = rank_check(c, at->offsets, 1, 1, err);
    if (!st) st = rank_check(c, at->end, 0, 0, err);
    const dim heads = dim_const(head_count(c->node));
    if (!st && rank_known(c, SIZES)) st = dim_check(c, SIZES, 0, heads, "the heads", err);
    if (!st && rank_known(c, at->offsets))
        st = dim_check(c, at->offsets, 0, heads, "the heads", err);
    const op_value *m = &c->inputs[MULTIPLIERS];
    if (st || m->rank != 1 || !dim_is_const(m->dims[0]) || m->dims[0].value > history(c->node))
        return st;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "input 1 (multipliers) has %" PRId64
                    " elements, but max_ngram_size is %" PRId64,
                    m->dims[0].value, history(c->node) + 1);
}

/* Checks an optional input [batch, columns]. */
static pgy_status check_matrix(op_infer *c, size_t i, dim batch, dim columns, pgy_error *err)
{
    pgy_status st = i ? rank_check(c, i, 2, 2, err) : PGY_OK;
    if (st || !i || !rank_known(c, i)) return st;
    st = dim_check(c, i, 0, batch, "the batch", err);
    return st ? st : dim_check(c, i, 1, columns, "the tokens", err);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *ids = &c->inputs[IDS];
    const dim past = dim_const(history(c->node));
    pgy_status st = check_lists(c, &PLAIN, err);
    if (!st) st = rank_check(c, IDS, 2, 2, err);
    if (st) return st;
    dim *out = op_dims(c, 3), *present = op_dims(c, 2);
    if (!out || !present) return rule_no_memory(c->node, err);
    const bool known = rank_known(c, IDS);
    static const char WHY[] = "the shape of the ids is not known";
    out[0] = present[0] = known ? ids->dims[0] : dim_unknown(c->dims, WHY);
    out[1] = known ? ids->dims[1] : dim_unknown(c->dims, WHY);
    out[2] = dim_const(head_count(c->node));
    present[1] = past;
    st = check_matrix(c, PLAIN.past, out[0], past, err);
    if (!st) st = check_matrix(c, PLAIN.segments, out[0], out[1], err);
    op_set_output(c, 0, ids->dtype, 3, out);
    output_set(c, 1, ids->dtype, 2, present);
    return st;
}

static pgy_status infer_varlen(op_infer *c, pgy_error *err)
{
    const op_value *ids = &c->inputs[IDS];
    const op_value *firsts = &c->inputs[VARLEN.firsts];
    const dim past = dim_const(history(c->node)), one = dim_const(1);
    pgy_status st = check_lists(c, &VARLEN, err);
    if (!st) st = rank_check(c, IDS, 1, 1, err);
    if (!st) st = rank_check(c, VARLEN.firsts, 1, 1, err);
    if (!st) st = rank_check(c, VARLEN.segments, 1, 1, err);
    if (!st) st = rank_check(c, VARLEN.captured, 1, 1, err);
    if (st) return st;
    dim *out = op_dims(c, 2), *present = op_dims(c, 2), *states = op_dims(c, 3);
    if (!out || !present || !states) return rule_no_memory(c->node, err);
    out[0] = rank_known(c, IDS) ? ids->dims[0] : dim_unknown(c->dims, "the ids are not known");
    out[1] = dim_const(head_count(c->node));
    present[0] = states[0] = rank_known(c, VARLEN.firsts)
                                 ? dim_sub(c->dims, firsts->dims[0], one)
                                 : dim_unknown(c->dims, "the number of requests is not known");
    present[1] = states[2] = past;
    states[1] = dim_const(op_attr_int(c->node, "state_update_capacity", 0));
    if (dim_is_const(present[0]) && present[0].value < 1)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 3 (cumulative_sequence_length) needs at least 2 elements");
    st = check_matrix(c, VARLEN.past, present[0], past, err);
    if (!st) st = check_matrix(c, VARLEN.past_segments, present[0], past, err);
    if (!st && rank_known(c, VARLEN.segments))
        st = dim_check(c, VARLEN.segments, 0, out[0], "the ids", err);
    if (!st && rank_known(c, VARLEN.captured))
        st = dim_check(c, VARLEN.captured, 0, present[0], "the requests", err);
    op_set_output(c, 0, ids->dtype, 2, out);
    output_set(c, 1, ids->dtype, 2, present);
    output_set(c, 2, PGY_I32, 2, present);
    output_set(c, 3, ids->dtype, 3, states);
    return st;
}

/* ---- Hashes --------------------------------------------------------------------------------- */

typedef struct hasher {
    const op_eval *c;
    hash_inputs at;
    int64_t gram, past, heads, per_gram; /* past: tokens before the present one */
    int64_t fill, end;
    bool resets, narrow; /* narrow: ids are int32 */
} hasher;

/* One sequence: its tokens and its past of `hasher.past` tokens. */
typedef struct sequence {
    int64_t length, index;
    const int64_t *ids, *past, *segments, *past_segments;
} sequence;

static int64_t wrap(const hasher *h, uint64_t x)
{
    return h->narrow ? (int64_t)(int32_t)(uint32_t)x : (int64_t)x;
}

/* The token at a position, which is negative in the past. */
static int64_t token_at(const hasher *h, const sequence *s, int64_t position)
{
    if (position >= 0) return s->ids[position];
    return s->past ? s->past[h->past + position] : h->fill;
}

/* Segments before a sequence without past_segment_ids are that of its first token. */
static int64_t segment_at(const hasher *h, const sequence *s, int64_t position)
{
    if (position >= 0) return s->segments[position];
    return s->past_segments ? s->past_segments[h->past + position] : s->segments[0];
}

/* Does a boundary separate this token from the one behind it? */
static bool ends_at(const hasher *h, const sequence *s, int64_t position)
{
    if (h->resets && token_at(h, s, position) == h->end) return true;
    if (!s->segments) return false;
    return segment_at(h, s, position) != segment_at(h, s, position + 1);
}

static void hash_token(const hasher *h, const sequence *s, int64_t position, int64_t *out)
{
    const int64_t *multipliers = in_i64(h->c, MULTIPLIERS), *sizes = in_i64(h->c, SIZES);
    const int64_t *offsets = in_i64(h->c, h->at.offsets);
    const bool has_offsets = h->at.offsets && op_has_value(h->c, h->at.offsets);
    bool cut = false;
    uint64_t mix = (uint64_t)s->ids[position] * (uint64_t)multipliers[0];
    for (int64_t shift = 1, head = 0; shift < h->gram; shift++) {
        cut = cut || ends_at(h, s, position - shift);
        const int64_t id = cut ? h->fill : token_at(h, s, position - shift);
        mix ^= (uint64_t)id * (uint64_t)multipliers[shift];
        for (int64_t k = 0; k < h->per_gram; k++, head++) {
            int64_t rest = wrap(h, mix) % sizes[head];
            if (rest < 0) rest += sizes[head];
            out[head] = wrap(h, (uint64_t)rest + (uint64_t)(has_offsets ? offsets[head] : 0));
        }
    }
}

/* The last tokens, or their segments, at the moment when `length` tokens have been read. */
static void copy_state(const hasher *h, const sequence *s, int64_t length, bool segments,
                       int64_t *out)
{
    for (int64_t i = 0; i < h->past; i++) {
        const int64_t position = length - h->past + i;
        out[i] = segments ? segment_at(h, s, position) : token_at(h, s, position);
    }
}

static void copy_captured(const hasher *h, const sequence *s, int64_t *out)
{
    const int64_t room = op_attr_int(h->c->node, "state_update_capacity", 0);
    int64_t count = in_i64(h->c, h->at.captured)[s->index];
    if (count > s->length) count = s->length;
    for (int64_t i = 0; i < room; i++, out += h->past) {
        if (i < count)
            copy_state(h, s, i + 1, false, out);
        else
            for (int64_t k = 0; k < h->past; k++) out[k] = op_attr_int(h->c->node, "pad_id", 0);
    }
}

static bool wants(const op_eval *c, size_t output)
{
    return c->node->output_count > output && c->wanted[output];
}

static void run_sequence(const hasher *h, const sequence *s, int64_t *hashes)
{
    const op_eval *c = h->c;
    for (int64_t i = 0; i < s->length; i++) hash_token(h, s, i, hashes + i * h->heads);
    if (wants(c, 1)) copy_state(h, s, s->length, false, out_i64(c, 1) + s->index * h->past);
    if (wants(c, 2)) copy_state(h, s, s->length, true, out_i64(c, 2) + s->index * h->past);
    if (wants(c, 3) && h->at.captured && op_has_value(c, h->at.captured))
        copy_captured(h, s,
                      out_i64(c, 3) +
                          s->index * h->past * op_attr_int(c->node, "state_update_capacity", 0));
}

static const int64_t *row_of(const hasher *h, size_t input, int64_t offset)
{
    return input && op_has_value(h->c, input) ? in_i64(h->c, input) + offset : NULL;
}

static pgy_status check_sizes(const hasher *h, pgy_error *err)
{
    const int64_t *sizes = in_i64(h->c, SIZES), *offsets = row_of(h, h->at.offsets, 0);
    const int64_t most = h->narrow ? INT32_MAX : INT64_MAX;
    for (int64_t i = 0; i < h->heads; i++) {
        if (sizes[i] < 1)
            return op_error(h->c->node, err, PGY_E_ARGUMENT,
                            "input 2 (vocab_sizes) has %" PRId64 " at %" PRId64
                            ", but sizes are positive",
                            sizes[i], i);
        if (!h->at.firsts && offsets && offsets[i] > most - sizes[i])
            return op_error(h->c->node, err, PGY_E_ARGUMENT,
                            "head %" PRId64 ": offset %" PRId64 " and size %" PRId64
                            " exceed the type of the ids",
                            i, offsets[i], sizes[i]);
    }
    return PGY_OK;
}

static pgy_status hasher_init(hasher *h, const op_eval *c, const hash_inputs *at, pgy_error *err)
{
    const op_node *n = c->node;
    *h = (hasher){.c = c,
                  .at = *at,
                  .gram = history(n) + 1,
                  .past = history(n),
                  .heads = head_count(n),
                  .per_gram = op_attr_int(n, "n_head_per_ngram", 1),
                  .fill = op_attr_int(n, "pad_id", 0),
                  .narrow = c->inputs[IDS].dtype == PGY_I32};
    h->fill = wrap(h, (uint64_t)h->fill);
    if (op_has_value(c, at->end)) {
        h->fill = h->end = *in_i64(c, at->end);
        h->resets = op_attr_int(n, "reset_on_eos", 0) != 0;
    }
    return check_sizes(h, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    hasher h;
    pgy_status st = inputs_check(c, "IIIiiii", err);
    if (!st) st = hasher_init(&h, c, &PLAIN, err);
    if (st) return st;
    const int64_t batch = in_shape(c, IDS)[0], length = in_shape(c, IDS)[1];
    for (int64_t b = 0; b < batch; b++) {
        const sequence s = {.length = length,
                            .index = b,
                            .ids = in_i64(c, IDS) + b * length,
                            .past = row_of(&h, PLAIN.past, b * h.past),
                            .segments = row_of(&h, PLAIN.segments, b * length)};
        run_sequence(&h, &s, out_i64(c, 0) + b * length * h.heads);
    }
    return PGY_OK;
}

static pgy_status check_requests(const op_eval *c, pgy_error *err)
{
    const int64_t *firsts = in_i64(c, VARLEN.firsts);
    const int64_t batch = in_shape(c, VARLEN.firsts)[0] - 1, tokens = in_shape(c, IDS)[0];
    const bool captures = op_attr_int(c->node, "state_update_capacity", 0) > 0;
    bool fits = firsts[0] == 0 && firsts[batch] == tokens;
    for (int64_t b = 0; b < batch; b++) fits &= firsts[b] < firsts[b + 1];
    if (!fits)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "input 3 (cumulative_sequence_length) must rise from 0 to the %" PRId64
                        " tokens, with one token in each request at least",
                        tokens);
    if (captures != op_has_value(c, VARLEN.captured))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "input 9 (capture_count) is needed if state_update_capacity is positive, "
                        "and only then");
    if (!op_has_value(c, VARLEN.segments) && (op_has_value(c, VARLEN.past_segments) || wants(c, 2)))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "input 8 (past_segment_ids) and output 2 (present_segment_ids) need input "
                        "7 (segment_ids)");
    return PGY_OK;
}

static pgy_status eval_varlen(op_eval *c, pgy_error *err)
{
    hasher h;
    pgy_status st = inputs_check(c, "IIIIiiiiii", err);
    if (!st) st = check_requests(c, err);
    if (!st) st = hasher_init(&h, c, &VARLEN, err);
    const int64_t *firsts = in_i64(c, VARLEN.firsts);
    for (int64_t b = 0; !st && b + 1 < in_shape(c, VARLEN.firsts)[0]; b++) {
        const sequence s = {.length = firsts[b + 1] - firsts[b],
                            .index = b,
                            .ids = in_i64(c, IDS) + firsts[b],
                            .past = row_of(&h, VARLEN.past, b * h.past),
                            .segments = row_of(&h, VARLEN.segments, firsts[b]),
                            .past_segments = row_of(&h, VARLEN.past_segments, b * h.past)};
        run_sequence(&h, &s, out_i64(c, 0) + firsts[b] * h.heads);
    }
    return st;
}

const op_def OP_n_gram_hash_mapping[] = {
    {"NGramHashMapping", "com.microsoft", 1, 0, 3, 7, 1, 2, 0, ATTRS, "int32 int64", infer, eval,
     NULL,
     .signature = "M = int32 int64; input_ids:M, multipliers:M, vocab_sizes:M, ?past_ids:M, "
                  "?head_offsets:M, ?eos_token_id:M, ?segment_ids:int32 -> hash_ids:M, "
                  "?present_ids:M"},
    {"VarlenNGramHashMapping", "com.microsoft", 1, 0, 4, 10, 1, 4, 0, ATTRS_VARLEN, "int32 int64",
     infer_varlen, eval_varlen, NULL,
     .signature = "M = int32 int64; S = int32; input_ids:M, multipliers:M, vocab_sizes:M, "
                  "cumulative_sequence_length:S, ?past_ids:M, ?head_offsets:M, ?eos_token_id:M, "
                  "?segment_ids:int32, ?past_segment_ids:S, ?capture_count:S -> hash_ids:M, "
                  "?present_ids:M, ?present_segment_ids:S, ?state_update:M"},
    {NULL},
};
