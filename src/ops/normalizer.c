/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizer: divides each row by its largest element, the sum of its magnitudes or its length; a
 * row whose divisor is 0 stays. */
#include <math.h>

#include "base/alloc.h"
#include "ops/class_scores.h"

static const op_attr_def ATTRS[] = {
    {"norm", OP_ATTR_STRING, false, "MAX", .choices = "MAX L1 L2"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const pgy_status st = rank_check(c, 0, 1, 2, err);
    if (!st) op_set_output(c, 0, PGY_F32, c->inputs[0].rank, c->inputs[0].dims);
    return st;
}

static void normalize(double *y, const double *x, size_t count, bool largest, bool length)
{
    double norm = largest ? -INFINITY : 0;
    for (size_t i = 0; i < count; i++) {
        if (largest)
            norm = x[i] > norm ? x[i] : norm;
        else
            norm += length ? x[i] * x[i] : fabs(x[i]);
    }
    if (length) norm = sqrt(norm);
    for (size_t i = 0; i < count; i++) y[i] = norm != 0 ? x[i] / norm : x[i];
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t rows, features;
    const double *x;
    double *copy = NULL;
    const bool largest = op_attr_is(c->node, "norm", "MAX", "MAX");
    const bool length = op_attr_is(c->node, "norm", "L2", "MAX");
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = scores_rows(&rows, &features, c, err);
    if (!st) st = scores_input(&x, &copy, c, PGY_DTYPE_NONE, err);
    for (size_t i = 0; !st && i < rows; i++)
        normalize(out_f64(c, 0) + i * features, x + i * features, features, largest, length);
    mem_free(copy);
    return st;
}

const op_def OP_normalizer[] = {
    {"Normalizer", "ai.onnx.ml", 1, 0, 1, 1, 1, 1, 0, ATTRS, SCORES_TYPES, infer, eval, NULL,
     .signature = "T = " SCORES_TYPES "; X:T -> Y:float32"},
    {NULL},
};
