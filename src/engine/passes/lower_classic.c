/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of ai.onnx.ml on matrices of float32, as standard operators that have kernels: Scaler
 * as Sub and Mul, ArrayFeatureExtractor as Gather, Normalizer as a reduction and Div,
 * LinearRegressor and LinearClassifier as Gemm with a transform. Other types, and transforms that
 * no operator computes, stay. */
#include <string.h>

#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "transform/pattern.h"

static bool is_matrix(const pgy_node *n)
{
    return pattern_dtype(n->inputs[0]) == PGY_F32 && pattern_rank(n->inputs[0]) == 2;
}

static const float *floats_of(const pgy_node *n, const char *name, size_t *count)
{
    const pgy_onnx_attribute *a = node_attribute(n, name);
    *count = a ? a->float_count : 0;
    return a ? a->floats : NULL;
}

/* A weight from the numbers of an attribute. */
static pgy_value *weight(pattern *p, pgy_node *n, const float *numbers, size_t rank,
                         const int64_t *shape)
{
    size_t count = 1;
    for (size_t i = 0; i < rank; i++) count *= (size_t)shape[i];
    double *copy = mem_calloc(count, sizeof *copy);
    if (!copy) {
        p->status = graph_no_memory(p->err);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) copy[i] = (double)numbers[i];
    pgy_value *v = pattern_weight(p, n->graph, n->outputs[0]->name, PGY_F32, rank, shape, copy);
    mem_free(copy);
    return v;
}

static pgy_value *binary(pattern *p, pgy_node *n, const char *op, pgy_value *a, pgy_value *b)
{
    return pattern_make(p, n, NULL, op, (pgy_value *const[]){a, b}, 2);
}

static bool lower_scaler(pattern *p, pgy_node *n)
{
    size_t count, scales;
    if (!pattern_is(n, "ai.onnx.ml:Scaler") || !is_matrix(n)) return false;
    const float *offset = floats_of(n, "offset", &count), *scale = floats_of(n, "scale", &scales);
    const int64_t shape[] = {(int64_t)count};
    if (!count || scales != count) return false;
    pgy_value *by = weight(p, n, scale, 1, shape);
    pgy_value *moved = binary(p, n, "Sub", n->inputs[0], weight(p, n, offset, 1, shape));
    pgy_value *const inputs[] = {moved, by};
    return moved && by && pattern_put(p, n, "Mul", inputs, 2);
}

/* Rows divided by a norm; one of 0 leaves the row. MAX is not lowered: it ignores NaN. */
static bool lower_normalizer(pattern *p, pgy_node *n)
{
    static const int64_t AXIS[] = {1};
    static const double ONE[] = {1}, ZERO[] = {0};
    const bool length = pattern_text_is(n, "norm", "L2", "MAX");
    pgy_value *x = n->input_count ? n->inputs[0] : NULL;
    if (!pattern_is(n, "ai.onnx.ml:Normalizer") || !is_matrix(n) ||
        pattern_text_is(n, "norm", "MAX", "MAX"))
        return false;
    pgy_value *axes = pattern_list(p, n, NULL, AXIS, 1);
    pgy_value *one = pattern_weight(p, n->graph, n->outputs[0]->name, PGY_F32, 0, NULL, ONE);
    pgy_value *zero = pattern_weight(p, n->graph, n->outputs[0]->name, PGY_F32, 0, NULL, ZERO);
    pgy_value *norm = binary(p, n, length ? "ReduceL2" : "ReduceL1", x, axes);
    pgy_value *const choices[] = {binary(p, n, "Equal", norm, zero), one, norm};
    pgy_value *const inputs[] = {x, pattern_make(p, n, NULL, "Where", choices, 3)};
    return inputs[1] && pattern_put(p, n, "Div", inputs, 2);
}

/* The operator of attribute post_transform; NULL: no standard operator computes it. */
static const char *transform_of(const pgy_node *n)
{
    if (pattern_text_is(n, "post_transform", "NONE", "NONE")) return "Identity";
    if (pattern_text_is(n, "post_transform", "SOFTMAX", "NONE")) return "Softmax";
    return pattern_text_is(n, "post_transform", "LOGISTIC", "NONE") ? "Sigmoid" : NULL;
}

/* Features times coefficients, plus intercepts. */
static pgy_value *product(pattern *p, pgy_node *n, int64_t targets)
{
    size_t count, intercepts;
    const float *w = floats_of(n, "coefficients", &count);
    const float *b = floats_of(n, "intercepts", &intercepts);
    if (targets < 1 || count % (size_t)targets || !count || pattern_size(n->inputs[0], 1) < 0)
        return NULL;
    const int64_t shape[] = {targets, (int64_t)count / targets};
    if (shape[1] != pattern_size(n->inputs[0], 1)) return NULL;
    pgy_value *inputs[] = {n->inputs[0], weight(p, n, w, 2, shape),
                           intercepts ? weight(p, n, b, 1, shape) : NULL};
    pgy_value *y = pattern_make(p, n, NULL, "Gemm", inputs, intercepts ? 3 : 2);
    if (y) pattern_set_int(p, y->producer, "transB", 1);
    return y;
}

static bool lower_regressor(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "ai.onnx.ml:LinearRegressor") || !is_matrix(n)) return false;
    const int64_t targets = pattern_int(n, "targets", 1);
    const char *transform = transform_of(n);
    if (!transform) return false;
    if (targets == 1) transform = "Identity"; /* as in ONNX Runtime */
    pgy_value *y = product(p, n, targets);
    pgy_node *made = y ? pattern_put(p, n, transform, &y, 1) : NULL;
    if (made && !strcmp(transform, "Softmax")) pattern_set_int(p, made, "axis", 1);
    return made != NULL;
}

/* Several scores and integer labels. */
static bool lower_classifier(pattern *p, pgy_node *n)
{
    size_t scores;
    if (!pattern_is(n, "ai.onnx.ml:LinearClassifier") || !is_matrix(n) || n->output_count != 2 ||
        !n->outputs[0] || !n->outputs[1])
        return false;
    const pgy_onnx_attribute *names = node_attribute(n, "classlabels_ints");
    const char *transform = transform_of(n);
    floats_of(n, "intercepts", &scores);
    if (!transform || scores < 2 || !names || names->int_count != scores ||
        node_attribute(n, "classlabels_strings"))
        return false;
    pgy_value *y = product(p, n, (int64_t)scores);
    pgy_value *best = pattern_make(p, n, NULL, "ArgMax", &y, 1);
    if (!best) return false;
    pattern_set_int(p, best->producer, "axis", 1);
    pattern_set_int(p, best->producer, "keepdims", 0);
    pgy_value *const picked[] = {pattern_list(p, n, NULL, names->ints, scores), best};
    if (!pattern_add(p, n, "Gather", picked, 2, n->outputs[0])) return false;
    pgy_node *made = pattern_add(p, n, transform, &y, 1, n->outputs[1]);
    if (made && !strcmp(transform, "Softmax")) pattern_set_int(p, made, "axis", 1);
    if (made) pattern_drop(p, n);
    return made != NULL;
}

/* The labels as a constant. */
static pgy_value *label_texts(pattern *p, pgy_node *n, const pgy_onnx_attribute *names)
{
    pgy_tensor *t = NULL;
    const int64_t count = (int64_t)names->string_count;
    p->status = pgy_tensor_create(&t, PGY_STRING, 1, &count, p->err);
    for (size_t i = 0; !p->status && i < names->string_count; i++)
        p->status =
            pgy_tensor_set_string(t, i, names->strings[i].data, names->strings[i].size, p->err);
    pgy_value *made = p->status ? NULL : pattern_tensor(p, n->graph, n->outputs[0]->name, t);
    pgy_tensor_release(t);
    return made;
}

/* A classifier that gives the place of the label, which a Gather makes a text: kernels give
 * integers. `ints` is the attribute with integer labels. */
static bool lower_text_labels(pattern *p, pgy_node *n, const char *op, const char *ints)
{
    if (!pattern_is(n, op) || !is_matrix(n) || n->output_count != 2 || !n->outputs[0]) return false;
    const pgy_onnx_attribute *names = node_attribute(n, "classlabels_strings");
    if (!names || names->string_count < 2 || node_attribute(n, ints)) return false;
    int64_t *places = mem_realloc_array(NULL, names->string_count, sizeof *places);
    if (!places) p->status = graph_no_memory(p->err);
    pgy_value *texts = places ? label_texts(p, n, names) : NULL;
    pgy_value *place = texts ? pattern_value(p, n->graph, n->outputs[0]->name) : NULL;
    pgy_value *const outputs[] = {place, n->outputs[1]}, *const picked[] = {texts, place};
    pgy_node *made = place ? pattern_add_outputs(p, n, op, n->inputs, 1, outputs, 2) : NULL;
    for (size_t i = 0; made && i < n->attribute_count; i++)
        if (n->attributes[i] != names) pattern_copy(p, made, n, n->attributes[i]->name);
    for (size_t i = 0; places && i < names->string_count; i++) places[i] = (int64_t)i;
    if (made) pattern_set_ints(p, made, ints, places, names->string_count);
    const bool done = made && pattern_add(p, n, "Gather", picked, 2, n->outputs[0]);
    if (done) pattern_drop(p, n);
    mem_free(places);
    return done;
}

static bool lower_labels_of_trees(pattern *p, pgy_node *n)
{
    return lower_text_labels(p, n, "ai.onnx.ml:TreeEnsembleClassifier", "classlabels_int64s");
}

static bool lower_labels_of_svm(pattern *p, pgy_node *n)
{
    return lower_text_labels(p, n, "ai.onnx.ml:SVMClassifier", "classlabels_ints");
}

/* A constant as a list: also a number, and a matrix of one row. */
static pgy_value *flat(pattern *p, pgy_value *v)
{
    const int32_t rank = pattern_rank(v);
    const int64_t shape[] = {rank == 0 ? 1 : pattern_size(v, rank - 1)};
    if (rank < 0 || rank > 2 || shape[0] < 0 || !pattern_is_constant(p, v)) return NULL;
    if (rank == 2 && pattern_size(v, 0) != 1) return NULL;
    return rank == 1 ? v : pattern_reshaped(p, v, 1, shape);
}

/* Columns at constant positions, which must be inside: Gather counts negative ones from the end. */
static bool lower_extractor(pattern *p, pgy_node *n)
{
    const int64_t *at;
    size_t count;
    if (!pattern_is(n, "ai.onnx.ml:ArrayFeatureExtractor") || n->input_count != 2) return false;
    const int32_t last = pattern_rank(n->inputs[0]) - 1;
    const int64_t size = last > 0 ? pattern_size(n->inputs[0], last) : -1;
    pgy_value *list = size < 0 ? NULL : flat(p, n->inputs[1]);
    if (!list || !pattern_ints(p, list, &at, &count)) return false;
    for (size_t i = 0; i < count; i++)
        if (at[i] < 0 || at[i] >= size) return false;
    pgy_value *const inputs[] = {n->inputs[0], list};
    pgy_node *made = pattern_put(p, n, "Gather", inputs, 2);
    if (made) pattern_set_int(p, made, "axis", last);
    return made != NULL;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {
        lower_scaler,          lower_normalizer,    lower_regressor, lower_classifier,
        lower_labels_of_trees, lower_labels_of_svm, lower_extractor, NULL};
    return pattern_run(g, "lower_classic", RULES, changes, err);
}

const pass PASS_lower_classic = {.name = "lower_classic",
                                 .summary = "linear models, Scaler and Normalizer of ai.onnx.ml as "
                                            "standard operators; text labels of trees and support "
                                            "vector machines",
                                 .run = run};
