/* SPDX-License-Identifier: Apache-2.0 */
/* DictVectorizer: the values of a map in the order of a vocabulary; keys that the map lacks give 0
 * or an empty text. */
#include "ops/class_check.h"
#include "ops/class_map.h"
#include "ops/class_text_key.h"

static const op_attr_def ATTRS[] = {
    {"int64_vocabulary", OP_ATTR_INTS, false, NULL},
    {"string_vocabulary", OP_ATTR_STRINGS, false, NULL},
    {NULL},
};

/* The vocabulary, and the type of its keys. */
static const op_attr *vocabulary_of(pgy_dtype *key, const op_node *n)
{
    const op_attr *texts = op_attr_find(n, "string_vocabulary");
    *key = texts && texts->count ? PGY_STRING : PGY_I64;
    return *key == PGY_STRING ? texts : op_attr_find(n, "int64_vocabulary");
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_dtype key;
    const op_attr *words = vocabulary_of(&key, c->node);
    if (!words || !words->count || (key == PGY_STRING && op_attr_find(c->node, "int64_vocabulary")))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "exactly one of attributes int64_vocabulary and string_vocabulary must "
                        "have keys");
    const pgy_status st = map_infer(c, key, err);
    if (st) return st;
    dim *dims = op_dims(c, 2);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = dim_const(1);
    dims[1] = dim_const((int64_t)words->count);
    op_set_output(c, 0, c->inputs[0].map_value, 2, dims);
    return PGY_OK;
}

/* Maps keys to positions + 1. */
static pgy_status index_keys(strmap *index, const map_parts *m, const op_node *n, pgy_error *err)
{
    str key = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < m->count; i++) {
        str_clear(&key);
        text_key_element(&key, pgy_tensor_dtype(m->keys), pgy_tensor_data(m->keys), i);
        if (!key.failed && strmap_has(index, str_text(&key)))
            st = op_error(n, err, PGY_E_ARGUMENT, "key %zu of the map occurs twice", i);
        else if (key.failed || !strmap_put(index, str_text(&key), (void *)(uintptr_t)(i + 1)))
            st = rule_no_memory(n, err);
    }
    str_deinit(&key);
    return st;
}

static pgy_status put(op_eval *c, size_t i, const map_parts *m, size_t at, pgy_error *err)
{
    const void *values = pgy_tensor_data(m->values);
    switch (pgy_tensor_dtype(m->values)) {
    case PGY_F64: out_f64(c, 0)[i] = ((const double *)values)[at]; return PGY_OK;
    case PGY_I64: out_i64(c, 0)[i] = ((const int64_t *)values)[at]; return PGY_OK;
    case PGY_STRING: {
        const pgy_string *s = (const pgy_string *)values + at;
        return pgy_tensor_set_string(c->outputs[0].value, i, s->data, s->size, err);
    }
    default:
        return op_error(c->node, err, PGY_E_TYPE, "the values of the map have type %s",
                        pgy_dtype_name(m->value_type));
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_dtype type;
    const op_attr *words = vocabulary_of(&type, c->node);
    const int64_t shape[] = {1, (int64_t)words->count};
    map_parts m;
    strmap index = {0};
    str key = {0};
    pgy_status st = map_input(&m, c, type, err);
    if (!st) st = op_output(c, 0, m.value_type, 2, shape, err);
    if (!st) st = index_keys(&index, &m, c->node, err);
    for (size_t i = 0; !st && i < words->count; i++) {
        str_clear(&key);
        if (type == PGY_STRING)
            text_key_string(&key, words->strings[i].data, words->strings[i].size);
        else
            text_key_int(&key, words->ints[i]);
        const size_t found = (uintptr_t)strmap_get(&index, str_text(&key));
        if (key.failed)
            st = rule_no_memory(c->node, err);
        else if (found)
            st = put(c, i, &m, found - 1, err);
    }
    str_deinit(&key);
    strmap_deinit(&index);
    return st;
}

const op_def OP_dict_vectorizer[] = {
    {"DictVectorizer", "ai.onnx.ml", 1, 0, 1, 1, 1, 1, OP_SEQUENCES, ATTRS, "", infer, eval,
     rule_no_flops, .signature = "T = float32 float64 int64 string; X:T -> Y:T"},
    {NULL},
};
