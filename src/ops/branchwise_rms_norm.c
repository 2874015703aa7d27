/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft BranchwiseRMSNorm: each branch of the input, [..., C, H] or [..., C * H] with
 * attribute num_branches, is divided by the root of its mean square and scaled. */
#include <math.h>

#include "ops/class_branches.h"
#include "ops/class_rows.h"

enum { X, SCALE };

static const op_attr_def ATTRS[] = {
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {"num_branches", OP_ATTR_INT, false, "0", .range = "0.."},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_set_like(c, 0, X);
    const pgy_status st = branches_check(c, X, err);
    return st ? st : rank_check(c, SCALE, 1, 2, err);
}

typedef struct norm {
    const op_eval *c;
    branches b;
    size_t scale_count;
    double epsilon;
} norm;

static void run(size_t begin, size_t end, void *user)
{
    const norm *n = user;
    const double *scale = in_f64(n->c, SCALE);
    const size_t width = n->b.width;
    for (size_t r = begin; r < end; r++) {
        const double *x = in_f64(n->c, X) + r * width;
        double *y = out_f64(n->c, 0) + r * width;
        const double square = row_sum_squares(x, width, 0) / (double)width;
        const double factor = 1 / sqrt(square + n->epsilon);
        const size_t first = n->scale_count == width ? 0 : r % n->b.count * width;
        for (size_t i = 0; i < width; i++) y[i] = x[i] * factor * (scale ? scale[first + i] : 1);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    norm n = {.c = c, .epsilon = op_attr_float(c->node, "epsilon", 1e-5)};
    pgy_status st = inputs_check(c, "Ff", err);
    if (st || !out_count(c, 0)) return st;
    n.b = branches_of(c, X);
    n.scale_count = in_count(c, SCALE);
    if (op_has_value(c, SCALE) && n.scale_count != n.b.width &&
        n.scale_count != n.b.count * n.b.width)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the scale has %zu elements, but %zu branches have %zu each", n.scale_count,
                        n.b.count, n.b.width);
    rows_run(n.b.rows * n.b.count, 5 * n.b.width, run, &n);
    return PGY_OK;
}

#define TYPES "float16 float32 bfloat16"

const op_def OP_branchwise_rms_norm[] = {
    {"BranchwiseRMSNorm", "com.microsoft", 1, 0, 1, 2, 1, 1, 0, ATTRS, TYPES, infer, eval, NULL,
     .signature = "T = " TYPES "; M = " TYPES "; X:T, ?scale:M -> Y:T"},
    {NULL},
};
