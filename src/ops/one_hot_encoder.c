/* SPDX-License-Identifier: Apache-2.0 */
/* OneHotEncoder: a new last axis with 1 at the position of the element's category. Floats are
 * truncated to integers. */
#include "ops/class_check.h"
#include "ops/class_label.h"

static const op_attr_def ATTRS[] = {
    {"cats_int64s", OP_ATTR_INTS, false, NULL},
    {"cats_strings", OP_ATTR_STRINGS, false, NULL},
    {"zeros", OP_ATTR_INT, false, "1"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const op_attr *ints = op_attr_find(c->node, "cats_int64s");
    const op_attr *texts = op_attr_find(c->node, "cats_strings");
    const size_t int_count = ints ? ints->count : 0, text_count = texts ? texts->count : 0;
    if (!int_count == !text_count)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attributes cats_int64s and cats_strings have %zu and %zu categories, but "
                        "exactly one must have some",
                        int_count, text_count);
    if (x->rank < 0) {
        op_set_unknown(c, 0, PGY_F32, -1, "the rank of the input is not known");
        return PGY_OK;
    }
    const pgy_status st = rule_check_rank(c->node, (int64_t)x->rank + 1, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)x->rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    for (int32_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    dims[x->rank] = dim_const((int64_t)(int_count + text_count));
    op_set_output(c, 0, PGY_F32, x->rank + 1, dims);
    return PGY_OK;
}

/* Marks the category `found` - 1 of element i; 0: it has none. */
static pgy_status mark(op_eval *c, size_t i, size_t found, pgy_error *err)
{
    const size_t categories = (size_t)out_shape(c, 0)[in_rank(c, 0)];
    if (found)
        out_f64(c, 0)[i * categories + found - 1] = 1;
    else if (!op_attr_int(c->node, "zeros", 1))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "element %zu of input 0 is none of the categories, and attribute zeros "
                        "is 0",
                        i);
    return PGY_OK;
}

static pgy_status encode_texts(op_eval *c, const op_attr *categories, pgy_error *err)
{
    const pgy_string *x = in_data(c, 0);
    label_texts texts;
    pgy_status st = label_texts_read(&texts, categories, in_count(c, 0))
                        ? PGY_OK
                        : rule_no_memory(c->node, err);
    for (size_t i = 0; !st && i < in_count(c, 0); i++)
        st = mark(c, i, label_texts_find(&texts, x[i].data, x[i].size), err);
    label_texts_deinit(&texts);
    return st;
}

/* The categories are looked up as the bytes of their numbers. */
static pgy_status encode_numbers(op_eval *c, const op_attr *categories, pgy_error *err)
{
    const bool floats = pgy_tensor_dtype(c->inputs[0].value) == PGY_F64;
    label_texts bytes;
    bool fine = label_texts_init(&bytes, categories->count);
    for (size_t i = 0; fine && i < categories->count; i++)
        bytes.texts[i] = (span){(const char *)&categories->ints[i], sizeof *categories->ints};
    fine = fine && label_texts_sort(&bytes, in_count(c, 0));
    pgy_status st = fine ? PGY_OK : rule_no_memory(c->node, err);
    for (size_t i = 0; !st && i < in_count(c, 0); i++) {
        const int64_t x = floats ? rule_truncate(in_f64(c, 0)[i]) : in_i64(c, 0)[i];
        st = mark(c, i, label_texts_find(&bytes, (const char *)&x, sizeof x), err);
    }
    label_texts_deinit(&bytes);
    return st;
}

/* No element equals a category of the other kind. */
static pgy_status encode_none(op_eval *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < in_count(c, 0); i++) st = mark(c, i, 0, err);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    const op_attr *ints = op_attr_find(c->node, "cats_int64s");
    const op_attr *texts = op_attr_find(c->node, "cats_strings");
    const bool numbers = ints && ints->count;
    if (numbers == (pgy_tensor_dtype(c->inputs[0].value) == PGY_STRING)) return encode_none(c, err);
    return numbers ? encode_numbers(c, ints, err) : encode_texts(c, texts, err);
}

#define TYPES "string int64 int32 float32 float64"
const op_def OP_one_hot_encoder[] = {
    {"OneHotEncoder", "ai.onnx.ml", 1, 0, 1, 1, 1, 1, 0, ATTRS, TYPES, infer, eval, rule_no_flops,
     .signature = "T = " TYPES "; X:T -> Y:float32"},
    {NULL},
};
