/* SPDX-License-Identifier: Apache-2.0 */
/* StringNormalizer: drops stop words and changes the case of the others. Upper and lower case are
 * Unicode's simple mapping of single characters; `locale` is ignored. */
#include <locale.h>
#include <wctype.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "ops/class_label.h"
#include "ops/class_text.h"
#include "ops/move.h"

enum change { KEEP, LOWER, UPPER };

static const op_attr_def ATTRS[] = {
    {"case_change_action", OP_ATTR_STRING, false, "NONE"},
    {"is_case_sensitive", OP_ATTR_INT, false, "0"},
    {"locale", OP_ATTR_STRING, false, NULL},
    {"stopwords", OP_ATTR_STRINGS, false, NULL},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const char WHY[] = "it depends on the strings of the input";
    const op_value *x = &c->inputs[0];
    pgy_status st = rank_check(c, 0, 1, 2, err);
    if (!st && x->rank == 2) st = dim_check(c, 0, 0, dim_const(1), "it", err);
    if (st) return st;
    op_set_unknown(c, 0, PGY_STRING, x->rank, WHY);
    if (x->rank != 2) return PGY_OK;
    dim *dims = c->outputs[0].rank == 2 ? op_dims(c, 2) : NULL;
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = dim_const(1);
    dims[1] = c->outputs[0].dims[1];
    op_set_output(c, 0, PGY_STRING, 2, dims);
    return PGY_OK;
}

/* Changes the case of a text; invalid UTF-8 bytes stay. */
static void append_cased(str *out, pgy_string s, enum change change, locale_t unicode)
{
    const char *p = s.data, *end = s.size ? s.data + s.size : s.data;
    if (change == KEEP) {
        if (s.size) str_append_n(out, s.data, s.size);
        return;
    }
    while (p < end) {
        uint32_t ch = 0;
        char bytes[4];
        const bool plain = !(*p & '\x80'); /* ASCII */
        const size_t size = plain ? 1 : utf8_read(p, end, &ch);
        if (plain || !size) {
            char c = *p++;
            if (change == LOWER && c >= 'A' && c <= 'Z') c = (char)(c + 'a' - 'A');
            if (change == UPPER && c >= 'a' && c <= 'z') c = (char)(c - 'a' + 'A');
            str_append_char(out, c);
            continue;
        }
        p += size;
        ch = (uint32_t)(change == LOWER ? towlower_l((wint_t)ch, unicode)
                                        : towupper_l((wint_t)ch, unicode));
        str_append_n(out, bytes, utf8_write(bytes, ch));
    }
}

typedef struct normalizer {
    label_texts stopwords; /* in lower case unless case matters */
    str lower;             /* the bytes of the stop words */
    enum change change;
    bool case_counts;
    locale_t unicode;
    str room;
} normalizer;

static bool is_ascii(pgy_string s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] & '\x80') return false;
    return true;
}

/* Are only ASCII letters changed? Then no locale is needed. */
static bool is_plain(const op_eval *c)
{
    const op_attr *a = op_attr_find(c->node, "stopwords");
    const pgy_string *x = in_data(c, 0);
    for (size_t i = 0; i < in_count(c, 0); i++)
        if (!is_ascii(x[i])) return false;
    for (size_t i = 0; a && i < a->count; i++)
        if (!is_ascii((pgy_string){a->strings[i].data, a->strings[i].size})) return false;
    return true;
}

/* Their bytes lie one after the other in z->lower. */
static pgy_status add_stopwords(normalizer *z, const op_eval *c, pgy_error *err)
{
    const op_attr *a = op_attr_find(c->node, "stopwords");
    const size_t count = a ? a->count : 0;
    if (!label_texts_init(&z->stopwords, count)) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < count; i++) {
        const size_t before = z->lower.size;
        append_cased(&z->lower, (pgy_string){a->strings[i].data, a->strings[i].size},
                     z->case_counts ? KEEP : LOWER, z->unicode);
        z->stopwords.texts[i].size = z->lower.size - before;
    }
    if (z->lower.failed) return rule_no_memory(c->node, err);
    const char *at = str_text(&z->lower);
    for (size_t i = 0; i < count; i++) {
        z->stopwords.texts[i].data = at;
        at += z->stopwords.texts[i].size;
    }
    return label_texts_sort(&z->stopwords, in_count(c, 0)) ? PGY_OK : rule_no_memory(c->node, err);
}

static bool is_stopword(normalizer *z, pgy_string s)
{
    if (!z->stopwords.count) return false;
    if (z->case_counts) return label_texts_find(&z->stopwords, s.data, s.size) != 0;
    str_clear(&z->room);
    append_cased(&z->room, s, LOWER, z->unicode);
    return !z->room.failed &&
           label_texts_find(&z->stopwords, str_text(&z->room), z->room.size) != 0;
}

static pgy_status prepare(normalizer *z, const op_eval *c, pgy_error *err)
{
    const op_node *n = c->node;
    z->case_counts = op_attr_int(n, "is_case_sensitive", 0) != 0;
    z->change = op_attr_is(n, "case_change_action", "LOWER", NULL)   ? LOWER
                : op_attr_is(n, "case_change_action", "UPPER", NULL) ? UPPER
                                                                     : KEEP;
    if (z->change == KEEP && !op_attr_is(n, "case_change_action", "NONE", NULL))
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute case_change_action must be 'LOWER', 'UPPER' or 'NONE'");
    if (!is_plain(c)) {
        z->unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
        if (!z->unicode) z->unicode = newlocale(LC_CTYPE_MASK, "C", (locale_t)0);
        if (!z->unicode) return rule_no_memory(n, err);
    }
    return add_stopwords(z, c, err);
}

/* Gives the positions of the kept texts. */
static pgy_status choose(size_t *kept, size_t *count, normalizer *z, const op_eval *c,
                         pgy_error *err)
{
    const pgy_string *x = in_data(c, 0);
    *count = 0;
    for (size_t i = 0; i < in_count(c, 0); i++)
        if (!is_stopword(z, x[i])) kept[(*count)++] = i;
    return z->room.failed ? rule_no_memory(c->node, err) : PGY_OK;
}

/* All texts one after the other, each with a terminator. */
static pgy_status write_cased(op_eval *c, normalizer *z, const size_t *kept, size_t count,
                              pgy_error *err)
{
    const pgy_string *x = in_data(c, 0);
    pgy_string *y = out_data(c, 0);
    str_clear(&z->room);
    for (size_t i = 0; i < count; i++) {
        const size_t before = z->room.size;
        append_cased(&z->room, x[kept[i]], z->change, z->unicode);
        y[i].size = z->room.size - before;
        str_append_char(&z->room, '\0');
    }
    if (!count) str_append_char(&z->room, '\0');
    return text_take(c, 0, &z->room, err);
}

static pgy_status write(op_eval *c, normalizer *z, const size_t *kept, size_t count, pgy_error *err)
{
    const pgy_string *x = in_data(c, 0);
    const size_t rank = in_rank(c, 0);
    int64_t shape[2] = {1, 1};
    shape[rank - 1] = count ? (int64_t)count : 1; /* one empty text if nothing stays */
    const pgy_status st = op_output(c, 0, PGY_STRING, rank, shape, err);
    if (st) return st;
    if (z->change != KEEP) return write_cased(c, z, kept, count, err);
    pgy_string *y = out_data(c, 0);
    for (size_t i = 0; i < count; i++) y[i] = x[kept[i]];
    return move_own(c->outputs[0].value, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    normalizer z = {0};
    size_t *kept = NULL, count = 0;
    pgy_status st = inputs_check(c, "!", err);
    if (!st && pgy_tensor_dtype(c->inputs[0].value) != PGY_STRING)
        st = op_error(c->node, err, PGY_E_TYPE, "input 0 must hold strings");
    if (!st) st = prepare(&z, c, err);
    if (!st) st = workspace_alloc((void **)&kept, c, in_count(c, 0), sizeof *kept, err);
    if (!st) st = choose(kept, &count, &z, c, err);
    if (!st) st = write(c, &z, kept, count, err);
    mem_free(kept);
    if (z.unicode) freelocale(z.unicode);
    label_texts_deinit(&z.stopwords);
    str_deinit(&z.lower);
    str_deinit(&z.room);
    return st;
}

const op_def OP_string_normalizer[] = {
    {"StringNormalizer", "", 10, 0, 1, 1, 1, 1, 0, ATTRS, "string", infer, eval, rule_no_flops},
    {NULL},
};
