/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Tokenizer: texts of shape [C] or [N, C] cut into tokens, which are a new last axis:
 *
 *     separators  expressions whose matches are cut out, one expression after the other
 *     tokenexp    an expression whose matches are the tokens
 *
 * One empty separator, or `.` as tokenexp, gives characters. Tokens of fewer than mincharnum
 * characters are dropped. A match is the first one, and of those that begin there the longest;
 * behind an empty match the search skips a character. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/utf8.h"
#include "ops/class_check.h"
#include "ops/class_regex.h"

static const op_attr_def ATTRS[] = {
    {"mark", OP_ATTR_INT, true, NULL},
    {"mincharnum", OP_ATTR_INT, true, NULL, .range = "1.."},
    {"pad_value", OP_ATTR_STRING, true, NULL},
    {"separators", OP_ATTR_STRINGS, false, NULL},
    {"tokenexp", OP_ATTR_STRING, false, NULL},
    {NULL},
};

typedef struct token_list {
    span *items;
    size_t count, capacity;
} token_list;

typedef struct tokenizer {
    const op_eval *c;
    regex **cuts; /* the separators, or the token's expression */
    regex_room **rooms;
    size_t cut_count;
    bool characters, keeps; /* a match is kept (tokenexp), not cut out */
    bool mark;
    uint64_t least;
    token_list tokens, pieces, parts;
    size_t *counts; /* per text */
} tokenizer;

/* ---- Shape ---------------------------------------------------------------------------------- */

/* Texts without elements keep their shape, so a dimension that may be 0 leaves the rank open. */
static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const char WHY[] = "it depends on the texts of the input";
    const op_value *x = &c->inputs[0];
    pgy_status st = rank_check(c, 0, 1, 2, err);
    if (st) return st;
    op_set_unknown(c, 0, PGY_STRING, -1, WHY);
    if (x->rank < 0) return PGY_OK;
    bool positive = true;
    for (int32_t d = 0; d < x->rank; d++) {
        if (dim_is_const(x->dims[d]) && !x->dims[d].value) {
            op_set_like(c, 0, 0);
            return PGY_OK;
        }
        positive &= dim_is_positive(x->dims[d]);
    }
    dim *dims = op_dims(c, (size_t)x->rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[x->rank] = dim_unknown(c->dims, WHY);
    if (positive) op_set_output(c, 0, PGY_STRING, x->rank + 1, dims);
    return PGY_OK;
}

/* ---- Tokens --------------------------------------------------------------------------------- */

static pgy_status push(token_list *l, const tokenizer *t, span token, pgy_error *err)
{
    if (l->count == l->capacity) {
        const size_t room = l->capacity ? 2 * l->capacity : 64;
        span *more =
            room <= SIZE_MAX / sizeof *more ? mem_realloc(l->items, room * sizeof *more) : NULL;
        if (!more) return rule_no_memory(t->c->node, err);
        l->items = more;
        l->capacity = room;
    }
    l->items[l->count++] = token;
    return PGY_OK;
}

/* Bytes of the character at a place. Texts are checked before. */
static size_t char_size(span text, size_t at)
{
    uint32_t c;
    return utf8_read(text.data + at, text.data + text.size, &c);
}

static bool is_long(const tokenizer *t, span token)
{
    uint64_t count = 0;
    for (size_t at = 0; at < token.size && count < t->least; count++) at += char_size(token, at);
    return token.size && count >= t->least;
}

static span part_of(span text, size_t begin, size_t end)
{
    return (span){text.data + begin, end - begin};
}

static pgy_status cut_characters(tokenizer *t, span text, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t at = 0; !st && at < text.size;) {
        const size_t size = char_size(text, at);
        st = push(&t->tokens, t, part_of(text, at, at + size), err);
        at += size;
    }
    return st;
}

/* Appends what lies between the matches of a separator. */
static pgy_status cut_piece(token_list *to, tokenizer *t, size_t cut, span text, pgy_error *err)
{
    size_t at = 0, begin, end;
    pgy_status st = PGY_OK;
    while (!st && at < text.size &&
           regex_search(&begin, &end, t->cuts[cut], t->rooms[cut], text, at)) {
        const span token = part_of(text, at, begin);
        if (is_long(t, token)) st = push(to, t, token, err);
        at = end > begin || begin == text.size ? end : begin + char_size(text, begin);
        if (begin == text.size) return st;
    }
    const span rest = part_of(text, at, text.size);
    return st || !is_long(t, rest) ? st : push(to, t, rest, err);
}

static pgy_status cut_out(tokenizer *t, span text, pgy_error *err)
{
    t->pieces.count = 0;
    pgy_status st = push(&t->pieces, t, text, err);
    for (size_t i = 0; !st && i < t->cut_count; i++) {
        t->parts.count = 0;
        for (size_t k = 0; !st && k < t->pieces.count; k++)
            st = cut_piece(&t->parts, t, i, t->pieces.items[k], err);
        const token_list swap = t->pieces;
        t->pieces = t->parts;
        t->parts = swap;
    }
    for (size_t k = 0; !st && k < t->pieces.count; k++)
        if (is_long(t, t->pieces.items[k])) st = push(&t->tokens, t, t->pieces.items[k], err);
    return st;
}

/* Behind a match that is too short, the search goes on at its second character. */
static pgy_status keep_matches(tokenizer *t, span text, pgy_error *err)
{
    size_t at = 0, begin, end;
    pgy_status st = PGY_OK;
    while (!st && at < text.size && regex_search(&begin, &end, t->cuts[0], t->rooms[0], text, at)) {
        const span token = part_of(text, begin, end);
        if (begin == text.size) break;
        const bool kept = is_long(t, token);
        if (kept) st = push(&t->tokens, t, token, err);
        at = kept ? end : begin + char_size(text, begin);
    }
    return st;
}

static pgy_status tokenize(tokenizer *t, pgy_error *err)
{
    const pgy_string *x = in_data(t->c, 0);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < in_count(t->c, 0); i++) {
        const span text = {x[i].data ? x[i].data : "", x[i].size};
        const size_t before = t->tokens.count;
        for (size_t at = 0, size; at < text.size; at += size)
            if (!(size = char_size(text, at)))
                return op_error(t->c->node, err, PGY_E_ARGUMENT,
                                "text %zu is not UTF-8 at its byte %zu", i, at);
        st = t->characters ? cut_characters(t, text, err)
             : t->keeps    ? keep_matches(t, text, err)
                           : cut_out(t, text, err);
        t->counts[i] = t->tokens.count - before;
        st = cancel_check_after(st, err);
    }
    return st;
}

/* ---- Attributes ----------------------------------------------------------------------------- */

static pgy_status compile(tokenizer *t, const span *patterns, size_t count, pgy_error *err)
{
    pgy_status st = workspace_alloc((void **)&t->cuts, t->c, count, sizeof *t->cuts, err);
    if (!st) st = workspace_alloc((void **)&t->rooms, t->c, count, sizeof *t->rooms, err);
    for (; !st && t->cut_count < count; t->cut_count++) {
        st = regex_compile(&t->cuts[t->cut_count], patterns[t->cut_count], err);
        if (!st) st = regex_room_create(&t->rooms[t->cut_count], t->cuts[t->cut_count], err);
        if (st) {
            t->cut_count++;
            return pgy_error_prefix(err, st, "%s '%s': ", t->c->node->def->name, t->c->node->name);
        }
    }
    return st;
}

static pgy_status read_attributes(tokenizer *t, pgy_error *err)
{
    const op_node *n = t->c->node;
    const op_attr *token = op_attr_find(n, "tokenexp"), *separators = op_attr_find(n, "separators");
    const int64_t least = op_attr_int(n, "mincharnum", 1);
    t->mark = op_attr_int(n, "mark", 0) != 0;
    t->least = least < 1 ? 1 : (uint64_t)least;
    if (!token == !separators)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "%s attributes separators and tokenexp; exactly one of them is needed",
                        token ? "the node has both" : "the node has none of the");
    if (token ? !token->s.size : !separators->count)
        return op_error(n, err, PGY_E_ARGUMENT, "attribute %s is empty",
                        token ? "tokenexp" : "separators");
    t->characters = token ? token->s.size == 1 && *token->s.data == '.'
                          : separators->count == 1 && !separators->strings[0].size;
    t->keeps = token != NULL;
    if (!t->characters)
        return compile(t, token ? &token->s : separators->strings, token ? 1 : separators->count,
                       err);
    if (t->least == 1) return PGY_OK;
    return op_error(n, err, PGY_E_ARGUMENT,
                    "attribute mincharnum is %lld, but tokens are single characters",
                    (long long)least);
}

/* ---- Output --------------------------------------------------------------------------------- */

/* Texts of all tokens of all texts: marks stand around the tokens, padding behind them. */
static pgy_status fill(const tokenizer *t, size_t width, pgy_error *err)
{
    static const char BEGIN[] = "\x02", END[] = "\x03";
    const op_attr *pad = op_attr_find(t->c->node, "pad_value");
    const span *token = t->tokens.items;
    pgy_tensor *y = t->c->outputs[0].value;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < in_count(t->c, 0); i++) {
        size_t at = i * width;
        const size_t end = at + width;
        if (t->mark) st = pgy_tensor_set_string(y, at++, BEGIN, 1, err);
        for (size_t k = 0; !st && k < t->counts[i]; k++, token++)
            st = pgy_tensor_set_string(y, at++, token->data, token->size, err);
        if (!st && t->mark) st = pgy_tensor_set_string(y, at++, END, 1, err);
        while (!st && at < end) st = pgy_tensor_set_string(y, at++, pad->s.data, pad->s.size, err);
    }
    return st;
}

static pgy_status set_output(tokenizer *t, op_eval *c, pgy_error *err)
{
    const size_t rank = in_rank(c, 0), count = in_count(c, 0);
    int64_t shape[3];
    size_t most = 0;
    for (size_t i = 0; i < count; i++) most = t->counts[i] > most ? t->counts[i] : most;
    memcpy(shape, in_shape(c, 0), rank * sizeof *shape);
    shape[rank] = (int64_t)(most + (t->mark && most ? 2 : 0));
    const pgy_status st = op_output(c, 0, PGY_STRING, count ? rank + 1 : rank, shape, err);
    return st || !most ? st : fill(t, (size_t)shape[rank], err);
}

static void tokenizer_deinit(tokenizer *t)
{
    for (size_t i = 0; i < t->cut_count; i++) {
        regex_room_destroy(t->rooms[i]);
        regex_destroy(t->cuts[i]);
    }
    mem_free(t->cuts);
    mem_free(t->rooms);
    mem_free(t->tokens.items);
    mem_free(t->pieces.items);
    mem_free(t->parts.items);
    mem_free(t->counts);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    tokenizer t = {.c = c};
    pgy_status st = inputs_check(c, "!", err);
    if (!st && pgy_tensor_dtype(c->inputs[0].value) != PGY_STRING)
        st = op_error(c->node, err, PGY_E_TYPE, "input 0 must hold strings");
    if (!st) st = read_attributes(&t, err);
    if (!st) st = workspace_alloc((void **)&t.counts, c, in_count(c, 0) + 1, sizeof *t.counts, err);
    if (!st) st = tokenize(&t, err);
    if (!st) st = set_output(&t, c, err);
    tokenizer_deinit(&t);
    return st;
}

const op_def OP_tokenizer[] = {
    {"Tokenizer", "com.microsoft", 1, 0, 1, 1, 1, 1, 0, ATTRS, "string", infer, eval, rule_no_flops,
     .signature = "T = string; X:T -> Y:T"},
    {NULL},
};
