/* SPDX-License-Identifier: Apache-2.0 */
/* FeatureVectorizer: the inputs side by side. Each is cut, or filled with zeros, to the number of
 * columns that attribute inputdimensions gives for it. */
#include <inttypes.h>

#include "ops/class_check.h"
#include "ops/move.h"

static const op_attr_def ATTRS[] = {
    {"inputdimensions", OP_ATTR_INTS, false, NULL, .range = "0.."},
    {NULL},
};

static dim row_count(const op_value *x)
{
    return x->rank == 1 ? dim_const(1) : x->dims[0];
}

/* Gives the columns of input i: those of the attribute, else its own. */
static dim columns_of(op_infer *c, size_t i)
{
    const op_value *x = &c->inputs[i];
    size_t count;
    const int64_t *given = op_attr_ints(c->node, "inputdimensions", &count);
    if (given) return dim_const(given[i]);
    if (x->rank < 0) return dim_unknown(c->dims, "the rank of an input is not known");
    return x->rank == 1 ? x->dims[0] : op_dims_product(c, x->dims, 1, (size_t)x->rank);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    size_t count;
    const int64_t *given = op_attr_ints(c->node, "inputdimensions", &count);
    if (given && count != c->node->input_count)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute inputdimensions has %zu numbers, but the node has %zu inputs",
                        count, c->node->input_count);
    dim rows = dim_unknown(c->dims, "the ranks of the inputs are not known"),
        columns = dim_const(0);
    bool known = false;
    for (size_t i = 0; i < c->node->input_count; i++) {
        const op_value *x = &c->inputs[i];
        pgy_status st = rank_check(c, i, 1, PGY_MAX_RANK, err);
        if (!st && x->rank > 0 && known && dim_differ(row_count(x), rows))
            st = op_error(c->node, err, PGY_E_SHAPE,
                          "inputs 0 and %zu have different numbers of rows", i);
        if (st) return st;
        if (x->rank > 0 && (!known || !dim_is_const(rows))) rows = row_count(x);
        known = known || x->rank > 0;
        columns = dim_add(c->dims, columns, columns_of(c, i));
    }
    dim *dims = op_dims(c, 2);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = rows;
    dims[1] = columns;
    op_set_output(c, 0, PGY_F32, 2, dims);
    return PGY_OK;
}

/* Copies input i to the columns from `at`, and moves `at` behind them. */
static void copy_input(op_eval *c, size_t i, size_t *at)
{
    const size_t rank = in_rank(c, i), total = (size_t)out_shape(c, 0)[1];
    const size_t rows = (size_t)out_shape(c, 0)[0];
    const size_t width = rank == 1 ? in_count(c, i) : move_product(in_shape(c, i), 1, rank);
    const bool floats = pgy_tensor_dtype(c->inputs[i].value) == PGY_F64;
    size_t count;
    const int64_t *given = op_attr_ints(c->node, "inputdimensions", &count);
    const size_t wanted = given ? (size_t)given[i] : width, used = wanted < width ? wanted : width;
    for (size_t row = 0; row < rows; row++)
        for (size_t k = 0; k < used; k++)
            out_f64(c, 0)[row * total + *at + k] =
                floats ? in_f64(c, i)[row * width + k] : (double)in_i64(c, i)[row * width + k];
    *at += wanted;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *y;
    size_t at = 0;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = rule_output(c, 0, &y, err);
    for (size_t i = 0; !st && i < c->node->input_count; i++) {
        if (!c->inputs[i].value)
            st = op_error(c->node, err, PGY_E_ARGUMENT, "input %zu is missing", i);
        else
            copy_input(c, i, &at);
    }
    return st;
}

const op_def OP_feature_vectorizer[] = {
    {"FeatureVectorizer", "ai.onnx.ml", 1, 0, 1, 255, 1, 1, OP_VARIADIC_INPUTS, ATTRS,
     "int32 int64 float32 float64", infer, eval, rule_no_flops,
     .signature = "T1 = int32 int64 float32 float64; *X:T1 -> Y:float32"},
    {NULL},
};
