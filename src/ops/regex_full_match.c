/* SPDX-License-Identifier: Apache-2.0 */
/* RegexFullMatch: whether each text matches the pattern from end to end. See class_regex.h. */
#include "ops/class_check.h"
#include "ops/class_regex.h"

static const op_attr_def ATTRS[] = {
    {"pattern", OP_ATTR_STRING, false, NULL},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    (void)err;
    op_set_output(c, 0, PGY_BOOL, c->inputs[0].rank, c->inputs[0].dims);
    return PGY_OK;
}

static pgy_status compile(regex **out, const op_eval *c, pgy_error *err)
{
    const op_attr *pattern = op_attr_find(c->node, "pattern");
    const pgy_status st = regex_compile(out, pattern ? pattern->s : (span){"", 0}, err);
    return st ? pgy_error_prefix(err, st, "%s '%s': ", c->node->def->name, c->node->name) : PGY_OK;
}

static void destroy(void *data)
{
    regex_destroy(data);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    regex *r = op_find_kept(c);
    pgy_status st = inputs_check(c, "!", err);
    if (!st && pgy_tensor_dtype(c->inputs[0].value) != PGY_STRING)
        st = op_error(c->node, err, PGY_E_TYPE, "input 0 must hold strings");
    if (!st && !r) st = compile(&r, c, err);
    if (st) return st;
    const pgy_string *x = in_data(c, 0);
    const size_t count = in_count(c, 0);
    uint8_t *y = out_data(c, 0);
    for (size_t i = 0; i < count; i++) {
        const span text = {x[i].data ? x[i].data : "", x[i].size};
        y[i] = regex_matches(r, text);
    }
    op_keep(c, r, destroy);
    return PGY_OK;
}

const op_def OP_regex_full_match[] = {
    {"RegexFullMatch", "", 20, 0, 1, 1, 1, 1, OP_KEEPS, ATTRS, "string", infer, eval, NULL},
    {NULL},
};
