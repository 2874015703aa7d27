/* SPDX-License-Identifier: Apache-2.0 */
/* Each partial sum s_j of K products p_k is rounded, so the error's variance is
 * (0.425 u)^2 * sum of s_j^2. For terms in random order the expected sum of squares is about
 * K y^2 / 3 + K P / 6, where y is the result and P the sum of p_k^2. The operator itself computes P
 * if its operands are squared. */
#include "where/floor_rules.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "tensor/tensor.h"
#include "where/floor_round.h"
#include "where/noise_walk.h"

static const char *const RESULT[] = {
    "Abs",        "Add",     "Cast",      "CastLike",       "Ceil",     "Clip",
    "Concat",     "Div",     "Expand",    "Flatten",        "Floor",    "Gather",
    "GatherND",   "Identity", "LeakyRelu", "Max",           "MaxPool",  "Min",
    "Mul",        "Neg",     "Pad",       "PRelu",          "Reciprocal", "ReduceMax",
    "ReduceMin",  "Relu",    "Reshape",   "Round",          "Sign",     "Slice",
    "Split",      "Sqrt",    "Squeeze",   "Sub",            "Tile",     "Transpose",
    "Unsqueeze",  "Where",   "If",        "Loop",           "Scan",     "SequenceMap",
    "DepthToSpace", "SpaceToDepth", "GlobalMaxPool", "TopK", "GatherElements",
    "ScatterND",  "ScatterElements", "DequantizeLinear", "QuantizeLinear", NULL};
static const char *const FUNCTION[] = {"Exp",  "Log",  "Sin",  "Cos",      "Tan",  "Tanh",
                                       "Erf",  "Pow",  "Asin", "Acos",     "Atan", "Sinh",
                                       "Cosh", "Asinh", "Acosh", "Atanh",  NULL};
static const char *const SUM[] = {"MatMul", "Gemm", "Conv", "ConvTranspose", "ReduceSum", "Einsum",
                                  NULL};
static const char *const MEAN[] = {"ReduceMean", "GlobalAveragePool", NULL};

static bool contains(const char *const *list, const pgy_node *n)
{
    for (; *list; list++)
        if (node_is(n, *list)) return true;
    return false;
}

floor_rule floor_rule_of(const pgy_node *n)
{
    return contains(RESULT, n)     ? FLOOR_RESULT
           : contains(FUNCTION, n) ? FLOOR_FUNCTION
           : contains(SUM, n)      ? FLOOR_SUM
           : contains(MEAN, n)     ? FLOOR_MEAN
                                   : FLOOR_INNER;
}

/* The number of terms of each sum. */
static double term_count(const op_node *node, const op_tensor *inputs, const op_tensor *output)
{
    const char *op = node->def->name;
    const pgy_tensor *a = inputs[0].value, *w = node->input_count > 1 ? inputs[1].value : NULL;
    const double made = (double)pgy_tensor_count(output->value);
    const double first = (double)pgy_tensor_count(a), second = w ? (double)pgy_tensor_count(w) : 0;
    const size_t rank = pgy_tensor_rank(a);
    const int64_t *shape = pgy_tensor_shape(a);
    if (!strcmp(op, "MatMul")) return rank ? (double)shape[rank - 1] : 1;
    if (!strcmp(op, "Gemm")) return (double)shape[op_attr_int(node, "transA", 0) ? 0 : 1];
    /* Each element of the result (or of the input, if transposed) uses a filter once. */
    if (!strcmp(op, "Conv") && w && pgy_tensor_shape(w)[0])
        return second / (double)pgy_tensor_shape(w)[0];
    if (!strcmp(op, "ConvTranspose") && w && made > 0)
        return first * second / (double)pgy_tensor_shape(w)[0] / made;
    /* For two operands that share the summed axes: sqrt(|a| |b| / |y|). */
    if (!strcmp(op, "Einsum")) return w && made > 0 ? sqrt(first * second / made) : first / made;
    return made > 0 ? first / made : 1;
}

static pgy_status square(op_tensor *out, const op_tensor *from, pgy_error *err)
{
    pgy_tensor *made = NULL;
    *out = op_tensor_retain(from);
    if (!noise_is_float(from)) return PGY_OK;
    const pgy_status st = pgy_tensor_copy(&made, pgy_tensor_view(from->value), err);
    if (st) return st;
    for (size_t i = 0; i < pgy_tensor_count(made); i++) op_f64(made)[i] *= op_f64(made)[i];
    pgy_tensor_release(out->value);
    out->value = made;
    return PGY_OK;
}

static void errors_of_squares(double *p, const double *y, size_t count, double terms, bool mean,
                              double unit)
{
    const double share = mean && terms > 0 ? 1 / terms : 1;
    for (size_t i = 0; i < count; i++) {
        const double variance = terms * (y[i] * y[i] / 3 + p[i] * share / 6);
        p[i] = variance > 0 && isfinite(variance) ? FLOOR_NEAREST_RMS * unit * sqrt(variance) : 0;
    }
}

pgy_status floor_sum_errors(pgy_tensor **out, floor_rule rule, const op_node *node,
                            const op_tensor *inputs, const op_tensor *output, double unit,
                            const op_host *host, pgy_error *err)
{
    const bool wanted = true;
    op_tensor *squares = mem_calloc(node->input_count + 1, sizeof *squares), result = {0};
    pgy_status st = squares ? PGY_OK : graph_no_memory(err);
    *out = NULL;
    for (size_t i = 0; !st && i < node->input_count; i++) st = square(&squares[i], &inputs[i], err);
    if (!st) st = op_run(node, squares, &result, &wanted, host, err);
    if (!st && noise_is_float(&result) &&
        pgy_tensor_count(result.value) == pgy_tensor_count(output->value)) {
        errors_of_squares(op_f64(result.value), op_f64(output->value),
                          pgy_tensor_count(result.value), term_count(node, inputs, output),
                          rule == FLOOR_MEAN, unit);
        *out = pgy_tensor_retain(result.value);
    }
    op_tensor_release(&result);
    for (size_t i = 0; squares && i < node->input_count; i++) op_tensor_release(&squares[i]);
    mem_free(squares);
    return st && !status_ends_all(st) ? PGY_OK : st;
}
