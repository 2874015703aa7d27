/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of ai.onnx.ml and com.microsoft that a few standard operators with kernels compute:
 * Binarizer, Imputer and FeatureVectorizer on matrices, MatMulInteger16, and
 * ConvTransposeWithDynamicPads with constant pads. Encoders that give texts give places of texts,
 * for which they have kernels. */
#include <math.h>

#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "ops/class_label.h"
#include "transform/pattern.h"

static pgy_value *make(pattern *p, pgy_node *n, const char *op, pgy_value *a, pgy_value *b)
{
    return pattern_make(p, n, NULL, op, (pgy_value *const[]){a, b}, b ? 2 : 1);
}

static pgy_value *cast(pattern *p, pgy_node *n, pgy_value *x, pgy_dtype to)
{
    if (pattern_dtype(x) == to) return x;
    pgy_value *y = pattern_make(p, n, NULL, "Cast", &x, 1);
    if (y) pattern_set_int(p, y->producer, "to", pgy_dtype_describe(to)->onnx);
    return y;
}

/* ---- ai.onnx.ml ----------------------------------------------------------------------------- */

static bool lower_binarizer(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "ai.onnx.ml:Binarizer") || pattern_dtype(n->inputs[0]) != PGY_F32)
        return false;
    const double threshold = pattern_float(n, "threshold", 0);
    pgy_value *limit =
        pattern_weight(p, n->graph, n->outputs[0]->name, PGY_F32, 0, NULL, &threshold);
    pgy_value *above = limit ? make(p, n, "Greater", n->inputs[0], limit) : NULL;
    pgy_node *made = above ? pattern_put(p, n, "Cast", &above, 1) : NULL;
    if (made) pattern_set_int(p, made, "to", pgy_dtype_describe(PGY_F32)->onnx);
    return made != NULL;
}

/* One number, or one for each column. */
static bool fits_columns(const pgy_value *x, size_t count)
{
    const int32_t rank = pattern_rank(x);
    return count == 1 ||
           (count && rank >= 1 && rank <= 2 && pattern_size(x, rank - 1) == (int64_t)count);
}

static bool put_imputed(pattern *p, pgy_node *n, pgy_value *missing, pgy_value *numbers)
{
    pgy_value *const inputs[] = {missing, numbers, n->inputs[0]};
    return missing && numbers && pattern_put(p, n, "Where", inputs, 3);
}

static bool impute_floats(pattern *p, pgy_node *n, const pgy_onnx_attribute *a)
{
    const double replaced = pattern_float(n, "replaced_value_float", 0);
    const int64_t count = (int64_t)a->float_count;
    double *copy = mem_calloc(a->float_count, sizeof *copy);
    if (!copy) {
        p->status = graph_no_memory(p->err);
        return false;
    }
    for (size_t i = 0; i < a->float_count; i++) copy[i] = (double)a->floats[i];
    const char *stem = n->outputs[0]->name;
    pgy_value *numbers = pattern_weight(p, n->graph, stem, PGY_F32, count > 1, &count, copy);
    mem_free(copy);
    if (isnan(replaced)) return put_imputed(p, n, make(p, n, "IsNaN", n->inputs[0], NULL), numbers);
    pgy_value *wanted = pattern_weight(p, n->graph, stem, PGY_F32, 0, NULL, &replaced);
    return wanted && put_imputed(p, n, make(p, n, "Equal", n->inputs[0], wanted), numbers);
}

static bool impute_ints(pattern *p, pgy_node *n, const pgy_onnx_attribute *a)
{
    const int64_t replaced = pattern_int(n, "replaced_value_int64", 0);
    pgy_value *wanted = pattern_list(p, n, NULL, &replaced, 1);
    pgy_value *numbers = pattern_list(p, n, NULL, a->ints, a->int_count);
    return wanted && put_imputed(p, n, make(p, n, "Equal", n->inputs[0], wanted), numbers);
}

static bool lower_imputer(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "ai.onnx.ml:Imputer") || pattern_rank(n->inputs[0]) < 1) return false;
    const pgy_dtype dtype = pattern_dtype(n->inputs[0]);
    const pgy_onnx_attribute *floats = node_attribute(n, "imputed_value_floats");
    const pgy_onnx_attribute *ints = node_attribute(n, "imputed_value_int64s");
    if (dtype == PGY_F32 && floats && fits_columns(n->inputs[0], floats->float_count))
        return impute_floats(p, n, floats);
    if (dtype == PGY_I64 && ints && fits_columns(n->inputs[0], ints->int_count))
        return impute_ints(p, n, ints);
    return false;
}

static bool is_number(pgy_dtype dtype)
{
    return dtype == PGY_F32 || dtype == PGY_F64 || dtype == PGY_I32 || dtype == PGY_I64;
}

/* Matrices whose widths are those of the attribute, so that none is cut or filled. */
static bool lower_feature_vectorizer(pattern *p, pgy_node *n)
{
    enum { MOST = 16 };
    pgy_value *inputs[MOST];
    if (!pattern_is(n, "ai.onnx.ml:FeatureVectorizer") || n->input_count > MOST) return false;
    const pgy_onnx_attribute *widths = node_attribute(n, "inputdimensions");
    if (widths && widths->int_count != n->input_count) return false;
    for (size_t i = 0; i < n->input_count; i++) {
        const pgy_value *x = n->inputs[i];
        if (!x || pattern_rank(x) != 2 || !is_number(pattern_dtype(x)) ||
            (widths && pattern_size(x, 1) != widths->ints[i]))
            return false;
    }
    for (size_t i = 0; i < n->input_count; i++)
        if (!(inputs[i] = cast(p, n, n->inputs[i], PGY_F32))) return false;
    pgy_node *made = pattern_put(p, n, "Concat", inputs, n->input_count);
    if (made) pattern_set_int(p, made, "axis", 1);
    return made != NULL;
}

/* ---- Labels --------------------------------------------------------------------------------- */

/* The texts of an attribute and behind them the default, as a constant. */
static pgy_value *label_texts_of(pattern *p, pgy_node *n, const pgy_onnx_attribute *texts)
{
    pgy_tensor *t = NULL;
    const pgy_onnx_attribute *other = node_attribute(n, "default_string");
    const size_t listed = texts->string_count;
    const int64_t count = (int64_t)listed + 1;
    p->status = pgy_tensor_create(&t, PGY_STRING, 1, &count, p->err);
    for (size_t i = 0; !p->status && i < listed; i++)
        p->status =
            pgy_tensor_set_string(t, i, texts->strings[i].data, texts->strings[i].size, p->err);
    if (!p->status)
        p->status = other ? pgy_tensor_set_string(t, listed, other->s.data, other->s.size, p->err)
                          : pgy_tensor_set_string(t, listed, "_Unused", 7, p->err);
    pgy_value *made = p->status ? NULL : pattern_tensor(p, n->graph, n->outputs[0]->name, t);
    pgy_tensor_release(t);
    return made;
}

/* An encoder that gives the place of a text, which a Gather takes from a constant. */
static bool put_places(pattern *p, pgy_node *n, const char *keys, const char *from,
                       const pgy_onnx_attribute *texts)
{
    const size_t count = texts->string_count;
    int64_t *places = mem_realloc_array(NULL, count, sizeof *places);
    if (!places) {
        p->status = graph_no_memory(p->err);
        return false;
    }
    for (size_t i = 0; i < count; i++) places[i] = (int64_t)i;
    pgy_value *place = pattern_make(p, n, NULL, "ai.onnx.ml:LabelEncoder", n->inputs, 1);
    if (place) {
        pattern_copy_as(p, place->producer, keys, n, from);
        pattern_set_ints(p, place->producer, "values_int64s", places, count);
        pattern_set_int(p, place->producer, "default_int64", (int64_t)count);
    }
    mem_free(places);
    pgy_value *const picked[] = {place ? label_texts_of(p, n, texts) : NULL, place};
    return picked[0] && pattern_put(p, n, "Gather", picked, 2);
}

static bool lower_label_encoder(pattern *p, pgy_node *n)
{
    static const char *const KEYS[] = {"keys_int64s", "keys_floats", "keys_strings"};
    if (!pattern_is(n, "ai.onnx.ml:LabelEncoder") || node_attribute(n, "default_tensor"))
        return false;
    const pgy_onnx_attribute *texts = node_attribute(n, "values_strings");
    for (size_t i = 0; texts && texts->string_count && i < sizeof KEYS / sizeof *KEYS; i++)
        if (node_attribute(n, KEYS[i])) return put_places(p, n, KEYS[i], KEYS[i], texts);
    return false;
}

/* Version 1 of LabelEncoder has no lists of keys. */
static bool lower_category_mapper(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "ai.onnx.ml:CategoryMapper") || node_box_of(n)->opset < 2) return false;
    const pgy_onnx_attribute *texts = node_attribute(n, "cats_strings");
    const pgy_onnx_attribute *keys = node_attribute(n, "cats_int64s");
    if (!texts || !keys || !texts->string_count || keys->int_count != texts->string_count)
        return false;
    if (pattern_dtype(n->inputs[0]) == PGY_I64)
        return put_places(p, n, "keys_int64s", "cats_int64s", texts);
    if (pattern_dtype(n->inputs[0]) != PGY_STRING) return false;
    pgy_node *made = pattern_add(p, n, "ai.onnx.ml:LabelEncoder", n->inputs, 1, n->outputs[0]);
    if (!made) return false;
    pattern_copy_as(p, made, "keys_strings", n, "cats_strings");
    pattern_copy_as(p, made, "values_int64s", n, "cats_int64s");
    pattern_copy(p, made, n, "default_int64");
    pattern_drop(p, n);
    return true;
}

/* The pool's texts as numbers: the last place where the pool has the text, which is what an encoder
 * with the pool as its keys gives. */
static bool number_pool(int64_t *numbers, int64_t *places, const pgy_onnx_attribute *pool)
{
    label_texts texts;
    bool fine = label_texts_init(&texts, pool->string_count);
    for (size_t i = 0; fine && i < pool->string_count; i++)
        texts.texts[i] = (span){(const char *)pool->strings[i].data, pool->strings[i].size};
    fine = fine && label_texts_sort(&texts, SIZE_MAX);
    for (size_t i = 0; fine && i < pool->string_count; i++) {
        const span *s = &texts.texts[i];
        places[i] = (int64_t)i;
        numbers[i] = (int64_t)label_texts_find(&texts, s->data, s->size) - 1;
    }
    label_texts_deinit(&texts);
    return fine;
}

/* Texts become numbers, of which the vectorizer has a kernel. Version 1 of LabelEncoder, which a
 * model without ai.onnx.ml gets, gives the places of texts. */
static bool lower_vectorizer(pattern *p, pgy_node *n)
{
    static const char *const NAMES[] = {
        "max_gram_length", "max_skip_count", "min_gram_length", "mode",
        "ngram_counts",    "ngram_indexes",  "weights"};
    const int64_t version = pgy_graph_opset(n->graph, "ai.onnx.ml");
    const pgy_onnx_attribute *pool = node_attribute(n, "pool_strings");
    if (!pattern_is(n, "TfIdfVectorizer") || pattern_dtype(n->inputs[0]) != PGY_STRING || !pool ||
        !pool->string_count || node_attribute(n, "pool_int64s"))
        return false;
    int64_t *numbers = mem_realloc_array(NULL, 2 * pool->string_count, sizeof *numbers);
    int64_t *places = numbers ? numbers + pool->string_count : NULL;
    if (!numbers || !number_pool(numbers, places, pool)) {
        mem_free(numbers);
        p->status = graph_no_memory(p->err);
        return false;
    }
    pgy_value *x = pattern_make(p, n, NULL, "ai.onnx.ml:LabelEncoder", n->inputs, 1);
    if (x && version < 2) pattern_copy_as(p, x->producer, "classes_strings", n, "pool_strings");
    if (x && version > 1) {
        pattern_copy_as(p, x->producer, "keys_strings", n, "pool_strings");
        pattern_set_ints(p, x->producer, "values_int64s", places, pool->string_count);
    }
    pgy_node *made = x ? pattern_add(p, n, "TfIdfVectorizer", &x, 1, n->outputs[0]) : NULL;
    for (size_t i = 0; made && i < sizeof NAMES / sizeof *NAMES; i++)
        pattern_copy(p, made, n, NAMES[i]);
    if (made) pattern_set_ints(p, made, "pool_int64s", numbers, pool->string_count);
    if (made) pattern_drop(p, n);
    mem_free(numbers);
    return made != NULL;
}

/* ---- com.microsoft -------------------------------------------------------------------------- */

/* A product modulo 2^32, whatever the sign of the factors. */
static bool lower_matmul_integer16(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "com.microsoft:MatMulInteger16") || n->input_count != 2) return false;
    const pgy_dtype to = pattern_dtype(n->outputs[0]);
    if ((to != PGY_I32 && to != PGY_U32) || !pattern_dtype(n->inputs[0]) ||
        !pattern_dtype(n->inputs[1]))
        return false;
    pgy_value *a = cast(p, n, n->inputs[0], to), *b = cast(p, n, n->inputs[1], to);
    return a && b && pattern_put(p, n, "MatMul", (pgy_value *const[]){a, b}, 2);
}

static bool lower_conv_transpose(pattern *p, pgy_node *n)
{
    static const char *const NAMES[] = {"auto_pad",     "dilations",      "group",
                                        "kernel_shape", "output_padding", "strides"};
    enum { X, W, PADS, BIAS };
    const int64_t *pads = NULL;
    size_t count = 0;
    if (!pattern_is(n, "com.microsoft:ConvTransposeWithDynamicPads")) return false;
    pgy_value *given = pattern_input(n, PADS), *bias = pattern_input(n, BIAS);
    if (given && !pattern_ints(p, given, &pads, &count)) return false;
    for (size_t i = 0; i < count; i++)
        if (pads[i] < 0 || pads[i] > INT32_MAX) return false;
    pgy_value *const inputs[] = {n->inputs[X], n->inputs[W], bias};
    int64_t *copy = count ? mem_realloc_array(NULL, count, sizeof *copy) : NULL;
    if (count && !copy) {
        p->status = graph_no_memory(p->err);
        return false;
    }
    for (size_t i = 0; i < count; i++) copy[i] = pads[i];
    pgy_node *made = pattern_add(p, n, "ConvTranspose", inputs, bias ? 3 : 2, n->outputs[0]);
    for (size_t i = 0; made && i < sizeof NAMES / sizeof *NAMES; i++)
        pattern_copy(p, made, n, NAMES[i]);
    if (made && count) pattern_set_ints(p, made, "pads", copy, count);
    if (made) pattern_drop(p, n);
    mem_free(copy);
    return made != NULL;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {
        lower_binarizer,        lower_imputer,         lower_feature_vectorizer,
        lower_label_encoder,    lower_category_mapper, lower_vectorizer,
        lower_matmul_integer16, lower_conv_transpose,  NULL};
    return pattern_run(g, "lower_others", RULES, changes, err);
}

const pass PASS_lower_others = {
    .name = "lower_others",
    .summary =
        "Binarizer, Imputer, FeatureVectorizer and encoders of ai.onnx.ml, MatMulInteger16 and "
        "ConvTransposeWithDynamicPads of com.microsoft as standard operators",
    .run = run};
