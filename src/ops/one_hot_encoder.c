/* SPDX-License-Identifier: Apache-2.0 */
/* OneHotEncoder: a new last axis with 1 at the position of the element's category. Floats are
 * truncated to integers. */
#include "ops/class_check.h"
#include "ops/class_text_key.h"

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

/* Maps categories to positions + 1; the last of repeated categories counts. */
static pgy_status build_map(strmap *map, size_t *count, const op_node *n, pgy_error *err)
{
    const op_attr *ints = op_attr_find(n, "cats_int64s"), *texts = op_attr_find(n, "cats_strings");
    const op_attr *a = ints && ints->count ? ints : texts;
    str key = {0};
    bool fine = true;
    *count = a->count;
    for (size_t i = 0; fine && i < a->count; i++) {
        str_clear(&key);
        if (a == ints)
            text_key_int(&key, a->ints[i]);
        else
            text_key_string(&key, a->strings[i].data, a->strings[i].size);
        fine = !key.failed && strmap_put(map, str_text(&key), (void *)(uintptr_t)(i + 1));
    }
    str_deinit(&key);
    return fine ? PGY_OK : rule_no_memory(n, err);
}

static pgy_status encode(op_eval *c, const strmap *map, size_t categories, pgy_error *err)
{
    const pgy_dtype held = pgy_tensor_dtype(c->inputs[0].value);
    const bool zeros = op_attr_int(c->node, "zeros", 1) != 0;
    str key = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < in_count(c, 0); i++) {
        str_clear(&key);
        if (held == PGY_F64)
            text_key_int(&key, rule_truncate(in_f64(c, 0)[i]));
        else
            text_key_element(&key, held, in_data(c, 0), i);
        const size_t found = (uintptr_t)strmap_get(map, str_text(&key));
        if (key.failed)
            st = rule_no_memory(c->node, err);
        else if (found)
            out_f64(c, 0)[i * categories + found - 1] = 1;
        else if (!zeros)
            st = op_error(c->node, err, PGY_E_ARGUMENT,
                          "element %zu of input 0 is none of the categories, and attribute zeros "
                          "is 0",
                          i);
    }
    str_deinit(&key);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    strmap map = {0};
    pgy_tensor *y;
    size_t categories;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = build_map(&map, &categories, c->node, err);
    if (!st) st = encode(c, &map, categories, err);
    strmap_deinit(&map);
    return st;
}

#define TYPES "string int64 int32 float32 float64"
const op_def OP_one_hot_encoder[] = {
    {"OneHotEncoder", "ai.onnx.ml", 1, 0, 1, 1, 1, 1, 0, ATTRS, TYPES, infer, eval, rule_no_flops,
     .signature = "T = " TYPES "; X:T -> Y:float32"},
    {NULL},
};
