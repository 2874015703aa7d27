/* SPDX-License-Identifier: Apache-2.0 */
/* StringSplit: every text cut at a delimiter, or at runs of ASCII white space without one; the
 * parts are a new last axis, filled up with empty texts. After `maxsplit` cuts the rest stays
 * whole. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "ops/class_text.h"

static const op_attr_def ATTRS[] = {
    {"delimiter", OP_ATTR_STRING, false, NULL},
    {"maxsplit", OP_ATTR_INT, false, NULL},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const char WHY[] = "it depends on the strings of the input";
    const op_value *x = &c->inputs[0];
    (void)err;
    if (x->rank < 0) {
        op_set_unknown(c, 0, PGY_STRING, -1, "the rank of the input is not known");
        if (c->node->output_count > 1)
            op_set_unknown(c, 1, PGY_I64, -1, "the rank of the input is not known");
        return PGY_OK;
    }
    dim *dims = op_dims(c, (size_t)x->rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    if (x->rank) memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[x->rank] = dim_unknown(c->dims, WHY);
    op_set_output(c, 0, PGY_STRING, x->rank + 1, dims);
    output_set(c, 1, PGY_I64, x->rank, dims);
    return rule_check_rank(c->node, (int64_t)x->rank + 1, err);
}

typedef struct splitter {
    pgy_string delimiter; /* empty: white space */
    size_t most;          /* largest number of cuts */
    text_list parts;      /* of all texts */
    size_t *counts;       /* of the parts of each text */
    size_t widest, bytes;
} splitter;

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* False: out of memory. */
static bool split_words(splitter *s, const char *at, const char *end)
{
    for (size_t done = 0;; done++) {
        while (at < end && is_space(*at)) at++;
        if (at == end) return true;
        const char *begin = at;
        if (done >= s->most) {
            while (is_space(end[-1])) end--;
            at = end;
        }
        while (at < end && !is_space(*at)) at++;
        if (!text_list_push(&s->parts, begin, (size_t)(at - begin))) return false;
    }
}

static const char *find_delimiter(const splitter *s, const char *at, const char *end)
{
    const size_t size = s->delimiter.size;
    while ((size_t)(end - at) >= size) {
        at = memchr(at, s->delimiter.data[0], (size_t)(end - at) - size + 1);
        if (!at || memcmp(at, s->delimiter.data, size) == 0) return at;
        at++;
    }
    return NULL;
}

/* False: out of memory. */
static bool split_fields(splitter *s, const char *at, const char *end)
{
    for (size_t done = 0;; done++) {
        const char *cut = done < s->most ? find_delimiter(s, at, end) : NULL;
        if (!text_list_push(&s->parts, at, (size_t)((cut ? cut : end) - at))) return false;
        if (!cut) return true;
        at = cut + s->delimiter.size;
    }
}

static pgy_status split(splitter *s, const op_eval *c, pgy_error *err)
{
    const pgy_string *x = in_data(c, 0);
    for (size_t i = 0; i < in_count(c, 0) && !cancel_requested(); i++) {
        const char *text = x[i].data ? x[i].data : "";
        const size_t before = s->parts.count;
        const bool done = s->delimiter.size ? split_fields(s, text, text + x[i].size)
                                            : split_words(s, text, text + x[i].size);
        if (!done) return rule_no_memory(c->node, err);
        s->counts[i] = s->parts.count - before;
        if (s->counts[i] > s->widest) s->widest = s->counts[i];
        /* Parts do not overlap. */
        if (!size_add(&s->bytes, s->bytes, x[i].size + s->counts[i]))
            return rule_no_memory(c->node, err);
    }
    return cancel_check(err);
}

static pgy_status write(op_eval *c, const splitter *s, pgy_error *err)
{
    const size_t rank = in_rank(c, 0);
    const span *part = s->parts.items;
    int64_t shape[PGY_MAX_RANK];
    char *at = NULL;
    if (rank) memcpy(shape, in_shape(c, 0), rank * sizeof *shape);
    shape[rank] = (int64_t)s->widest;
    pgy_status st = op_output(c, 0, PGY_STRING, rank + 1, shape, err);
    if (!st) st = text_room(&at, c, 0, s->bytes, err);
    if (st) return st;
    pgy_string *y = out_data(c, 0);
    int64_t *counts = out_i64(c, 1);
    for (size_t i = 0; i < in_count(c, 0); i++, y += s->widest) {
        for (size_t k = 0; k < s->counts[i]; k++, part++)
            y[k] = text_put(&at, part->data, part->size);
        if (counts) counts[i] = (int64_t)s->counts[i];
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_attr *delimiter = op_attr_find(c->node, "delimiter");
    const int64_t most = op_attr_int(c->node, "maxsplit", -1);
    splitter s = {.most = most < 0 ? SIZE_MAX : (size_t)most};
    pgy_status st = inputs_check(c, "!", err);
    if (!st && pgy_tensor_dtype(c->inputs[0].value) != PGY_STRING)
        st = op_error(c->node, err, PGY_E_TYPE, "input 0 must hold strings");
    if (delimiter) s.delimiter = (pgy_string){delimiter->s.data, delimiter->s.size};
    if (!st) st = workspace_alloc((void **)&s.counts, c, in_count(c, 0), sizeof *s.counts, err);
    if (!st) st = split(&s, c, err);
    if (!st) st = write(c, &s, err);
    text_list_deinit(&s.parts);
    mem_free(s.counts);
    return st;
}

const op_def OP_string_split[] = {
    {"StringSplit", "", 20, 0, 1, 1, 2, 2, 0, ATTRS, "string", infer, eval, rule_no_flops},
    {NULL},
};
