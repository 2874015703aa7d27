/* SPDX-License-Identifier: Apache-2.0 */
/* Constant: a tensor, or since version 12 a number, a text or a list of either, given as an
 * attribute. */
#include <string.h>

#include "ops/rule.h"

static const op_attr_def ATTRS_1[] = {
    {"value", OP_ATTR_TENSOR, true, NULL},
    {0},
};
static const op_attr_def ATTRS_11[] = {
    {"value", OP_ATTR_TENSOR, false, NULL},
    {"sparse_value", OP_ATTR_SPARSE_TENSOR, false, NULL},
    {0},
};
static const op_attr_def ATTRS_12[] = {
    {"value", OP_ATTR_TENSOR, false, NULL},
    {"sparse_value", OP_ATTR_SPARSE_TENSOR, false, NULL},
    {"value_float", OP_ATTR_FLOAT, false, NULL},
    {"value_floats", OP_ATTR_FLOATS, false, NULL},
    {"value_int", OP_ATTR_INT, false, NULL},
    {"value_ints", OP_ATTR_INTS, false, NULL},
    {"value_string", OP_ATTR_STRING, false, NULL},
    {"value_strings", OP_ATTR_STRINGS, false, NULL},
    {0},
};

static pgy_dtype type_of(op_attr_kind kind)
{
    switch (kind) {
    case OP_ATTR_FLOAT:
    case OP_ATTR_FLOATS: return PGY_F32;
    case OP_ATTR_INT:
    case OP_ATTR_INTS: return PGY_I64;
    case OP_ATTR_STRING:
    case OP_ATTR_STRINGS: return PGY_STRING;
    default: return PGY_DTYPE_NONE;
    }
}

static bool is_list(op_attr_kind kind)
{
    return kind == OP_ATTR_FLOATS || kind == OP_ATTR_INTS || kind == OP_ATTR_STRINGS;
}

/* Finds the attribute with the value; a node must have exactly one. */
static pgy_status find_value(const op_attr **out, const op_node *n, pgy_error *err)
{
    const op_attr *found = NULL;
    for (const op_attr_def *d = n->def->attrs; d->name; d++) {
        const op_attr *a = op_attr_find(n, d->name);
        if (!a) continue;
        if (found)
            return op_error(n, err, PGY_E_FORMAT,
                            "the node has both '%s' and '%s', but must have one value", found->name,
                            a->name);
        found = a;
    }
    if (!found) return op_error(n, err, PGY_E_FORMAT, "the node has no attribute with a value");
    if (!found->tensor && !type_of(found->kind))
        return op_error(n, err, PGY_E_UNSUPPORTED,
                        "attribute '%s' is of a kind that is not supported", found->name);
    *out = found;
    return PGY_OK;
}

static pgy_status infer_tensor(op_infer *c, const op_attr *a, pgy_error *err)
{
    const size_t rank = pgy_tensor_rank(a->tensor);
    dim *dims = rule_from_ints(c, pgy_tensor_shape(a->tensor), rank);
    if (!dims) return rule_no_memory(c->node, err);
    op_set_output(c, 0, a->tensor_dtype, (int32_t)rank, dims);
    c->outputs[0].data = a->tensor;
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_attr *a;
    pgy_status st = find_value(&a, c->node, err);
    if (st) return st;
    if (a->tensor) return infer_tensor(c, a, err);
    dim *dims = op_dims(c, 1);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = dim_const((int64_t)a->count);
    op_set_output(c, 0, type_of(a->kind), is_list(a->kind) ? 1 : 0, dims);
    if (a->kind == OP_ATTR_INT) rule_set_elements(c, 0, rule_from_ints(c, &a->i, 1), 1);
    if (a->kind == OP_ATTR_INTS)
        rule_set_elements(c, 0, rule_from_ints(c, a->ints, a->count), a->count);
    return PGY_OK;
}

static pgy_status fill_strings(pgy_tensor *y, const span *texts, size_t count, pgy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        pgy_status st = pgy_tensor_set_string(y, i, texts[i].data, texts[i].size, err);
        if (st) return st;
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_attr *a;
    pgy_tensor *y;
    pgy_status st = find_value(&a, c->node, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    void *to = pgy_tensor_data(y);
    if (a->tensor) {
        pgy_tensor_release(y);
        c->outputs[0].value = pgy_tensor_retain(a->tensor);
        return PGY_OK;
    }
    switch (a->kind) {
    case OP_ATTR_FLOAT: *(double *)to = (double)a->f; return PGY_OK;
    case OP_ATTR_INT: *(int64_t *)to = a->i; return PGY_OK;
    case OP_ATTR_STRING: return fill_strings(y, &a->s, 1, err);
    case OP_ATTR_STRINGS: return fill_strings(y, a->strings, a->count, err);
    case OP_ATTR_INTS:
        if (a->count) memcpy(to, a->ints, a->count * sizeof *a->ints);
        return PGY_OK;
    default:
        for (size_t i = 0; i < a->count; i++) ((double *)to)[i] = (double)a->floats[i];
        return PGY_OK;
    }
}

const op_def OP_constant[] = {
    RULE_ROW("Constant", 1, 0, 0, ATTRS_1, infer, eval),
    RULE_ROW("Constant", 11, 0, 0, ATTRS_11, infer, eval),
    RULE_ROW("Constant", 12, 0, 0, ATTRS_12, infer, eval),
    {0},
};
