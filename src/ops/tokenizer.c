/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Tokenizer: texts of shape [C] or [N, C] cut into tokens, which are a new last axis:
 *
 *     separators  expressions whose matches are cut out, one expression after the other
 *     tokenexp    an expression whose matches are the tokens
 *
 * One empty separator, or `.` as tokenexp, gives characters. Tokens of fewer than mincharnum
 * characters are dropped. A match is the first one, and of those that begin there the longest;
 * behind an empty match the search skips a character. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "base/utf8.h"
#include "ops/class_regex.h"
#include "ops/class_text.h"

static const op_attr_def ATTRS[] = {
    {"mark", OP_ATTR_INT, true, NULL},
    {"mincharnum", OP_ATTR_INT, true, NULL, .range = "1.."},
    {"pad_value", OP_ATTR_STRING, true, NULL},
    {"separators", OP_ATTR_STRINGS, false, NULL},
    {"tokenexp", OP_ATTR_STRING, false, NULL},
    {NULL},
};

/* The separators, or the expression of the tokens. */
typedef struct token_cuts {
    regex **items;
    size_t count;
} token_cuts;

typedef struct tokenizer {
    const op_eval *c;
    token_cuts *cuts;       /* NULL for characters */
    bool characters, keeps; /* a match is kept (tokenexp), not cut out */
    bool mark;
    uint64_t least;
    text_list tokens, pieces, parts;
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

static pgy_status push(text_list *l, const tokenizer *t, span token, pgy_error *err)
{
    return text_list_push(l, token.data, token.size) ? PGY_OK : rule_no_memory(t->c->node, err);
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
static pgy_status cut_piece(text_list *to, tokenizer *t, regex *cut, span text, pgy_error *err)
{
    size_t at = 0, begin, end;
    pgy_status st = PGY_OK;
    while (!st && at < text.size && regex_search(&begin, &end, cut, text, at)) {
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
    for (size_t i = 0; !st && i < t->cuts->count; i++) {
        t->parts.count = 0;
        for (size_t k = 0; !st && k < t->pieces.count; k++)
            st = cut_piece(&t->parts, t, t->cuts->items[i], t->pieces.items[k], err);
        const text_list swap = t->pieces;
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
    while (!st && at < text.size && regex_search(&begin, &end, t->cuts->items[0], text, at)) {
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

static void destroy_cuts(void *data)
{
    token_cuts *cuts = data;
    for (size_t i = 0; i < cuts->count; i++) regex_destroy(cuts->items[i]);
    mem_free(cuts->items);
    mem_free(cuts);
}

static pgy_status compile(tokenizer *t, const span *patterns, size_t count, pgy_error *err)
{
    t->cuts = op_find_kept(t->c);
    if (t->cuts) return PGY_OK;
    token_cuts *cuts = mem_calloc(1, sizeof *cuts);
    if (!cuts) return rule_no_memory(t->c->node, err);
    pgy_status st = workspace_alloc((void **)&cuts->items, t->c, count, sizeof *cuts->items, err);
    if (!st) cuts->count = count;
    for (size_t i = 0; !st && i < count; i++) {
        st = regex_compile(&cuts->items[i], patterns[i], err);
        if (st) pgy_error_prefix(err, st, "%s '%s': ", t->c->node->def->name, t->c->node->name);
    }
    if (st)
        destroy_cuts(cuts);
    else
        t->cuts = cuts;
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

static const char BEGIN[] = "\x02", END[] = "\x03";

/* The bytes of all texts: tokens, marks, and one padding, which all elements share. */
static bool count_bytes(size_t *bytes, const tokenizer *t, span pad)
{
    *bytes = sizeof BEGIN + sizeof END;
    bool fits = text_count(bytes, pad.size);
    for (size_t i = 0; fits && i < t->tokens.count; i++)
        fits = text_count(bytes, t->tokens.items[i].size);
    return fits;
}

/* Texts of all tokens of all texts: marks stand around the tokens, padding behind them. */
static pgy_status fill(const tokenizer *t, size_t width, pgy_error *err)
{
    const op_attr *padding = op_attr_find(t->c->node, "pad_value");
    const span *token = t->tokens.items;
    pgy_string *y = out_data(t->c, 0);
    char *at = NULL;
    size_t bytes;
    if (!count_bytes(&bytes, t, padding->s)) return rule_no_memory(t->c->node, err);
    const pgy_status st = text_room(&at, t->c, 0, bytes, err);
    if (st) return st;
    const pgy_string begin = text_put(&at, BEGIN, 1), end = text_put(&at, END, 1);
    const pgy_string pad = text_put(&at, padding->s.data, padding->s.size);
    for (size_t i = 0; i < in_count(t->c, 0); i++) {
        const pgy_string *last = y + width;
        if (t->mark) *y++ = begin;
        for (size_t k = 0; k < t->counts[i]; k++, token++)
            *y++ = text_put(&at, token->data, token->size);
        if (t->mark) *y++ = end;
        while (y < last) *y++ = pad;
    }
    return PGY_OK;
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
    if (t->cuts) op_keep(t->c, t->cuts, destroy_cuts);
    text_list_deinit(&t->tokens);
    text_list_deinit(&t->pieces);
    text_list_deinit(&t->parts);
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
    {"Tokenizer", "com.microsoft", 1, 0, 1, 1, 1, 1, OP_KEEPS, ATTRS, "string", infer, eval,
     rule_no_flops, .signature = "T = string; X:T -> Y:T"},
    {NULL},
};
