/* SPDX-License-Identifier: Apache-2.0 */
/* LabelEncoder: maps keys to values, and other elements to a default. Version 1 maps the texts of a
 * list to their positions, and positions back to texts. */
#include <stdlib.h>

#include "base/alloc.h"
#include "ops/class_check.h"
#include "ops/class_label.h"

static const op_attr_def ATTRS_1[] = {
    {"classes_strings", OP_ATTR_STRINGS, false, NULL},
    {"default_int64", OP_ATTR_INT, false, "-1"},
    {"default_string", OP_ATTR_STRING, false, "_Unused"},
    {NULL},
};
#define LISTS                                                                                 \
    {"keys_floats", OP_ATTR_FLOATS, false, NULL}, {"keys_int64s", OP_ATTR_INTS, false, NULL}, \
        {"keys_strings", OP_ATTR_STRINGS, false, NULL},                                       \
        {"values_floats", OP_ATTR_FLOATS, false, NULL},                                       \
        {"values_int64s", OP_ATTR_INTS, false, NULL},                                         \
        {"values_strings", OP_ATTR_STRINGS, false, NULL},                                     \
        {"default_float", OP_ATTR_FLOAT, false, "-0.0"},                                      \
        {"default_int64", OP_ATTR_INT, false, "-1"},                                          \
    {                                                                                         \
        "default_string", OP_ATTR_STRING, false, "_Unused"                                    \
    }
static const op_attr_def ATTRS_2[] = {LISTS, {NULL}};
static const op_attr_def ATTRS_4[] = {
    LISTS,
    {"keys_tensor", OP_ATTR_TENSOR, false, NULL},
    {"values_tensor", OP_ATTR_TENSOR, false, NULL},
    {"default_tensor", OP_ATTR_TENSOR, false, NULL},
    {NULL},
};

/* The declared type of the output. Version 1 maps texts to int64, and int64 to texts. */
static pgy_dtype output_type(const op_infer *c)
{
    if (c->node->def->since > 1) return label_values_of(c->node).dtype;
    return c->inputs[0].dtype == PGY_STRING ? PGY_I64 : PGY_STRING;
}

/* Tensors of keys and values may have any type in a file. */
static bool is_supported(pgy_dtype dtype)
{
    const pgy_dtype held = op_storage(dtype);
    return held == PGY_I64 || held == PGY_F64 || held == PGY_STRING;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const label_list keys = label_keys_of(c->node), values = label_values_of(c->node);
    if (c->node->def->since > 1 && (!keys.a || !values.a || keys.count != values.count))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "there are %zu keys but %zu values; their numbers must be equal",
                        keys.count, values.count);
    if (c->node->def->since > 1 && (!is_supported(keys.dtype) || !is_supported(values.dtype)))
        return op_error(c->node, err, PGY_E_TYPE,
                        "keys of type %s and values of type %s must be numbers or texts",
                        pgy_dtype_name(keys.dtype), pgy_dtype_name(values.dtype));
    op_set_output(c, 0, output_type(c), c->inputs[0].rank, c->inputs[0].dims);
    return PGY_OK;
}

static pgy_status put_text(op_eval *c, size_t i, span text, pgy_error *err)
{
    return pgy_tensor_set_string(c->outputs[0].value, i, text.data, text.size, err);
}

/* Sets output element i to entry k of the list. */
static pgy_status put(op_eval *c, size_t i, const label_list *l, size_t k, pgy_error *err)
{
    const pgy_tensor *t = l->a->kind == OP_ATTR_TENSOR ? l->a->tensor : NULL;
    const pgy_dtype held = op_storage(l->dtype);
    if (held == PGY_STRING && t) {
        const pgy_string *s = (const pgy_string *)pgy_tensor_data(t) + k;
        return put_text(c, i, (span){s->data, s->size}, err);
    }
    if (held == PGY_STRING) return put_text(c, i, l->a->strings[k], err);
    if (held == PGY_I64)
        out_i64(c, 0)[i] = t ? op_i64(t)[k] : l->a->ints[k];
    else
        out_f64(c, 0)[i] = t ? op_f64(t)[k] : (double)l->a->floats[k];
    return PGY_OK;
}

static pgy_status put_default(op_eval *c, size_t i, pgy_dtype held, pgy_error *err)
{
    static const char *const NAMES[] = {"default_tensor", NULL};
    const label_list given = label_list_of(c->node, NAMES);
    const op_attr *text = op_attr_find(c->node, "default_string");
    if (given.a && given.count && op_storage(given.dtype) == held) return put(c, i, &given, 0, err);
    if (held == PGY_STRING) return put_text(c, i, text ? text->s : span_of("_Unused"), err);
    if (held == PGY_I64)
        out_i64(c, 0)[i] = op_attr_int(c->node, "default_int64", -1);
    else
        out_f64(c, 0)[i] = op_attr_float(c->node, "default_float", -0.0);
    return PGY_OK;
}

/* Sets output element i for entry `found` - 1 of the lists; 0: no key is equal. */
static pgy_status put_found(op_eval *c, size_t i, const label_list *values, size_t found,
                            pgy_error *err)
{
    if (!found) return put_default(c, i, op_storage(c->outputs[0].dtype), err);
    if (values) return put(c, i, values, found - 1, err);
    out_i64(c, 0)[i] = (int64_t)found - 1;
    return PGY_OK;
}

/* ---- Keys that are numbers ------------------------------------------------------------------ */

typedef struct number_key {
    uint64_t bits;
    size_t entry;
} number_key;

static int compare_keys(const void *a, const void *b)
{
    const number_key *x = a, *y = b;
    if (x->bits != y->bits) return x->bits < y->bits ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

/* The entry of the last equal key, plus 1, or 0. */
static size_t find_number(const number_key *keys, size_t count, uint64_t bits)
{
    size_t from = 0, to = count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (keys[middle].bits <= bits)
            from = middle + 1;
        else
            to = middle;
    }
    return from && keys[from - 1].bits == bits ? keys[from - 1].entry + 1 : 0;
}

static pgy_status encode_numbers(op_eval *c, const label_list *keys, const label_list *values,
                                 pgy_error *err)
{
    const pgy_dtype held = pgy_tensor_dtype(c->inputs[0].value);
    const void *x = in_data(c, 0);
    number_key *sorted;
    pgy_status st = workspace_alloc((void **)&sorted, c, keys->count, sizeof *sorted, err);
    if (st) return st;
    for (size_t i = 0; i < keys->count; i++) sorted[i] = (number_key){label_key(keys, i), i};
    if (keys->count) qsort(sorted, keys->count, sizeof *sorted, compare_keys);
    for (size_t i = 0; !st && i < in_count(c, 0); i++)
        st = put_found(c, i, values, find_number(sorted, keys->count, label_bits(held, x, i)), err);
    mem_free(sorted);
    return st;
}

/* ---- Keys that are texts -------------------------------------------------------------------- */

static pgy_status encode_texts(op_eval *c, const label_list *keys, const label_list *values,
                               pgy_error *err)
{
    const pgy_string *x = in_data(c, 0);
    label_texts texts;
    pgy_status st =
        label_texts_read(&texts, keys->a, in_count(c, 0)) ? PGY_OK : rule_no_memory(c->node, err);
    for (size_t i = 0; !st && i < in_count(c, 0); i++)
        st = put_found(c, i, values, label_texts_find(&texts, x[i].data, x[i].size), err);
    label_texts_deinit(&texts);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    const label_list keys = label_keys_of(c->node), values = label_values_of(c->node);
    if (op_storage(keys.dtype) != pgy_tensor_dtype(c->inputs[0].value))
        return op_error(c->node, err, PGY_E_TYPE, "input 0 has type %s, but the keys have type %s",
                        pgy_dtype_name(c->inputs[0].dtype), pgy_dtype_name(keys.dtype));
    return pgy_tensor_dtype(c->inputs[0].value) == PGY_STRING
               ? encode_texts(c, &keys, &values, err)
               : encode_numbers(c, &keys, &values, err);
}

static pgy_status eval_1(op_eval *c, pgy_error *err)
{
    static const char *const NAMES[] = {"classes_strings", NULL};
    pgy_status st = inputs_check(c, "!", err);
    const label_list classes = label_list_of(c->node, NAMES);
    if (st) return st;
    if (pgy_tensor_dtype(c->inputs[0].value) == PGY_STRING)
        return encode_texts(c, &classes, NULL, err);
    const int64_t *x = in_i64(c, 0);
    for (size_t i = 0; !st && i < in_count(c, 0); i++)
        st = x[i] >= 0 && (uint64_t)x[i] < classes.count ? put(c, i, &classes, (size_t)x[i], err)
                                                         : put_default(c, i, PGY_STRING, err);
    return st;
}

#define ROW(version, attrs, types, work)                                                          \
    {                                                                                             \
        "LabelEncoder", "ai.onnx.ml", version, 0, 1, 1, 1, 1, 0, attrs, types, infer, work, NULL, \
            .signature = "T1 = " types "; T2 = " types "; X:T1 -> Y:T2"                           \
    }
const op_def OP_label_encoder[] = {
    ROW(1, ATTRS_1, "string int64", eval_1),
    ROW(2, ATTRS_2, "string int64 float32", eval),
    ROW(4, ATTRS_4, "string int64 float32 int32 int16 float64", eval),
    {NULL},
};
