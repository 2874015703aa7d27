/* SPDX-License-Identifier: Apache-2.0 */
/* CategoryMapper: maps texts to integers, or integers to texts, by two lists of equal length. */
#include "ops/class_check.h"
#include "ops/class_label.h"

static const op_attr_def ATTRS[] = {
    {"cats_int64s", OP_ATTR_INTS, true, NULL},
    {"cats_strings", OP_ATTR_STRINGS, true, NULL},
    {"default_int64", OP_ATTR_INT, false, "-1"},
    {"default_string", OP_ATTR_STRING, false, "_Unused"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const op_attr *ints = op_attr_find(c->node, "cats_int64s");
    const op_attr *texts = op_attr_find(c->node, "cats_strings");
    if (ints->count != texts->count)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attributes cats_int64s and cats_strings have %zu and %zu entries, but "
                        "must have equally many",
                        ints->count, texts->count);
    const pgy_dtype type = x->dtype == PGY_STRING ? PGY_I64 : x->dtype ? PGY_STRING : x->dtype;
    op_set_output(c, 0, type, x->rank, x->dims);
    return PGY_OK;
}

static pgy_status put(op_eval *c, size_t i, size_t found, bool to_int, pgy_error *err)
{
    const op_attr *ints = op_attr_find(c->node, "cats_int64s");
    const op_attr *texts = op_attr_find(c->node, "cats_strings");
    const op_attr *unknown = op_attr_find(c->node, "default_string");
    if (to_int) {
        out_i64(c, 0)[i] =
            found ? ints->ints[found - 1] : op_attr_int(c->node, "default_int64", -1);
        return PGY_OK;
    }
    const span text = found ? texts->strings[found - 1] : unknown ? unknown->s : span_of("_Unused");
    return pgy_tensor_set_string(c->outputs[0].value, i, text.data, text.size, err);
}

static pgy_status map_texts(op_eval *c, pgy_error *err)
{
    const pgy_string *x = in_data(c, 0);
    label_texts texts;
    pgy_status st = label_texts_read(&texts, op_attr_find(c->node, "cats_strings"), in_count(c, 0))
                        ? PGY_OK
                        : rule_no_memory(c->node, err);
    for (size_t i = 0; !st && i < in_count(c, 0); i++)
        st = put(c, i, label_texts_find(&texts, x[i].data, x[i].size), true, err);
    label_texts_deinit(&texts);
    return st;
}

/* The keys are looked up as the bytes of their numbers. */
static pgy_status map_numbers(op_eval *c, pgy_error *err)
{
    const op_attr *keys = op_attr_find(c->node, "cats_int64s");
    const int64_t *x = in_i64(c, 0);
    label_texts bytes;
    bool fine = label_texts_init(&bytes, keys->count);
    for (size_t i = 0; fine && i < keys->count; i++)
        bytes.texts[i] = (span){(const char *)&keys->ints[i], sizeof *keys->ints};
    fine = fine && label_texts_sort(&bytes, in_count(c, 0));
    pgy_status st = fine ? PGY_OK : rule_no_memory(c->node, err);
    for (size_t i = 0; !st && i < in_count(c, 0); i++)
        st = put(c, i, label_texts_find(&bytes, (const char *)&x[i], sizeof *x), false, err);
    label_texts_deinit(&bytes);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    return pgy_tensor_dtype(c->inputs[0].value) == PGY_STRING ? map_texts(c, err)
                                                              : map_numbers(c, err);
}

const op_def OP_category_mapper[] = {
    {"CategoryMapper", "ai.onnx.ml", 1, 0, 1, 1, 1, 1, 0, ATTRS, "string int64", infer, eval,
     rule_no_flops, .signature = "T1 = string int64; T2 = string int64; X:T1 -> Y:T2"},
    {NULL},
};
