/* SPDX-License-Identifier: Apache-2.0 */
/* StringSplit: every text cut at a delimiter, or at runs of ASCII white space without one; the
 * parts are a new last axis, filled up with empty texts. After `maxsplit` cuts the rest stays
 * whole. */
#include <string.h>

#include "base/alloc.h"
#include "ops/class_check.h"

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
} splitter;

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_space(pgy_string *s)
{
    while (s->size && is_space(*s->data)) s->data++, s->size--;
}

/* Takes the next part off the front; false at the end. `done` counts those before it. */
static bool next_word(pgy_string *part, pgy_string *rest, size_t done, size_t most)
{
    skip_space(rest);
    if (!rest->size) return false;
    *part = *rest;
    if (done >= most) {
        while (is_space(part->data[part->size - 1])) part->size--;
        rest->size = 0;
        return true;
    }
    size_t size = 0;
    while (size < rest->size && !is_space(rest->data[size])) size++;
    part->size = size;
    rest->data += size;
    rest->size -= size;
    return true;
}

static bool next_field(pgy_string *part, pgy_string *rest, size_t done, const splitter *s)
{
    if (!rest->data) return false;
    *part = *rest;
    for (size_t i = 0; done < s->most && i + s->delimiter.size <= rest->size; i++) {
        const char *at =
            memchr(rest->data + i, s->delimiter.data[0], rest->size - s->delimiter.size + 1 - i);
        if (!at) break;
        i = (size_t)(at - rest->data);
        if (memcmp(at, s->delimiter.data, s->delimiter.size) != 0) continue;
        part->size = i;
        rest->data += i + s->delimiter.size;
        rest->size -= i + s->delimiter.size;
        return true;
    }
    rest->data = NULL;
    return true;
}

static bool next_part(pgy_string *part, pgy_string *rest, size_t done, const splitter *s)
{
    return s->delimiter.size ? next_field(part, rest, done, s)
                             : next_word(part, rest, done, s->most);
}

static pgy_string text_at(const op_eval *c, size_t i)
{
    pgy_string s = ((const pgy_string *)in_data(c, 0))[i];
    if (!s.data) s.data = "";
    return s;
}

static size_t count_parts(const op_eval *c, size_t i, const splitter *s)
{
    pgy_string rest = text_at(c, i), part;
    size_t count = 0;
    while (next_part(&part, &rest, count, s)) count++;
    return count;
}

static pgy_status fill(op_eval *c, const splitter *s, size_t width, pgy_error *err)
{
    pgy_tensor *y = c->outputs[0].value;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < in_count(c, 0); i++) {
        pgy_string rest = text_at(c, i), part;
        size_t k = 0;
        for (; !st && next_part(&part, &rest, k, s); k++)
            st = pgy_tensor_set_string(y, i * width + k, part.data, part.size, err);
        if (!st && out_i64(c, 1)) out_i64(c, 1)[i] = (int64_t)k;
    }
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_attr *delimiter = op_attr_find(c->node, "delimiter");
    const int64_t most = op_attr_int(c->node, "maxsplit", -1);
    int64_t shape[PGY_MAX_RANK];
    size_t width = 0;
    splitter s = {.most = most < 0 ? SIZE_MAX : (size_t)most};
    pgy_status st = inputs_check(c, "!", err);
    if (!st && pgy_tensor_dtype(c->inputs[0].value) != PGY_STRING)
        st = op_error(c->node, err, PGY_E_TYPE, "input 0 must hold strings");
    if (st) return st;
    if (delimiter) s.delimiter = (pgy_string){delimiter->s.data, delimiter->s.size};
    for (size_t i = 0; i < in_count(c, 0); i++) {
        const size_t parts = count_parts(c, i, &s);
        if (parts > width) width = parts;
    }
    const size_t rank = in_rank(c, 0);
    if (rank) memcpy(shape, in_shape(c, 0), rank * sizeof *shape);
    shape[rank] = (int64_t)width;
    st = op_output(c, 0, PGY_STRING, rank + 1, shape, err);
    return st ? st : fill(c, &s, width, err);
}

const op_def OP_string_split[] = {
    {"StringSplit", "", 20, 0, 1, 1, 2, 2, 0, ATTRS, "string", infer, eval, rule_no_flops},
    {NULL},
};
