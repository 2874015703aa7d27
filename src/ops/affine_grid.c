/* SPDX-License-Identifier: Apache-2.0 */
/* AffineGrid: maps positions of an image or volume, from -1 to 1 along each axis, by one affine
 * matrix per batch entry. Coordinates start with the last axis. */
#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { MAX_AXES = 3 };

static const op_attr_def ATTRS[] = {
    {"align_corners", OP_ATTR_INT, false, "0"},
    {NULL},
};

/* Sets what is known of the output if the size input is not constant: theta gives the batch size,
 * and theta or the length of the size input gives the rank. */
static void set_unknown_size(op_infer *c)
{
    const op_value *theta = &c->inputs[0], *size = &c->inputs[1];
    int64_t rank = -1;
    if (theta->rank == 3 && dim_is_const(theta->dims[1])) rank = theta->dims[1].value + 2;
    if (size->rank == 1 && dim_is_const(size->dims[0])) rank = size->dims[0].value;
    if (rank != 4 && rank != 5) rank = -1;
    dim *dims = rank < 0 ? NULL : op_dims(c, (size_t)rank);
    if (!dims) {
        op_set_unknown(c, 0, theta->dtype, -1, "the size of the image is computed at run time");
        return;
    }
    for (int64_t i = 0; i < rank; i++)
        dims[i] = dim_unknown(c->dims, "the size of the image is computed at run time");
    if (theta->rank == 3) dims[0] = theta->dims[0];
    dims[rank - 1] = dim_const(rank - 2);
    op_set_output(c, 0, theta->dtype, (int32_t)rank, dims);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *theta = &c->inputs[0];
    const dim *size;
    size_t count;
    pgy_status st = rank_check(c, 0, 3, 3, err);
    if (st) return st;
    if (!rule_values(c, 1, &size, &count)) {
        set_unknown_size(c);
        return PGY_OK;
    }
    if (count != 4 && count != 5)
        return op_error(c->node, err, PGY_E_SHAPE, "input 1 (size) has %zu elements, not 4 or 5",
                        count);
    const size_t axes = count - 2;
    st = dim_check(c, 0, 1, dim_const((int64_t)axes), "the number of axes", err);
    if (!st) st = dim_check(c, 0, 2, dim_const((int64_t)axes + 1), "the number of axes + 1", err);
    if (!st) st = dim_check(c, 0, 0, size[0], "the batch", err);
    dim *dims = op_dims(c, count);
    if (st) return st;
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = dim_joined(c, 0, 0, size[0]);
    for (size_t i = 0; i < axes; i++) {
        if (rule_is_negative(size[i + 2]))
            return op_error(c->node, err, PGY_E_SHAPE, "input 1 (size) has the negative value %lld",
                            (long long)size[i + 2].value);
        dims[i + 1] = size[i + 2];
    }
    dims[axes + 1] = dim_const((int64_t)axes);
    op_set_output(c, 0, theta->dtype, (int32_t)count, dims);
    return PGY_OK;
}

typedef struct grid {
    const double *theta;
    double *y;
    size_t axes, plane;
    const int64_t *extents;
    bool align;
} grid;

static double position(const grid *g, size_t axis, size_t i)
{
    const double n = (double)g->extents[axis];
    if (!g->align) return (2 * (double)i + 1) / n - 1;
    return n > 1 ? 2 * (double)i / (n - 1) - 1 : -1;
}

static void run(size_t begin, size_t end, void *user)
{
    const grid *g = user;
    for (size_t i = begin; i < end; i++) {
        double at[MAX_AXES + 1];
        size_t left = i % g->plane;
        for (size_t d = g->axes; d-- > 0; left /= (size_t)g->extents[d])
            at[g->axes - 1 - d] = position(g, d, left % (size_t)g->extents[d]);
        at[g->axes] = 1;
        const double *m = g->theta + i / g->plane * g->axes * (g->axes + 1);
        for (size_t r = 0; r < g->axes; r++) {
            double sum = 0;
            for (size_t k = 0; k <= g->axes; k++) sum += m[r * (g->axes + 1) + k] * at[k];
            g->y[i * g->axes + r] = sum;
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "FI", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    const size_t axes = in_count(c, 1) - 2;
    grid g = {in_f64(c, 0),
              out_f64(c, 0),
              axes,
              1,
              out_shape(c, 0) + 1,
              op_attr_int(c->node, "align_corners", 0) != 0};
    for (size_t d = 0; d < axes; d++) g.plane *= (size_t)g.extents[d];
    rows_run((size_t)out_shape(c, 0)[0] * g.plane, 20, run, &g);
    return PGY_OK;
}

const op_def OP_affine_grid[] = {
    {"AffineGrid", "", 20, 0, 2, 2, 1, 1, 0, ATTRS, TYPES_F4, infer, eval, NULL},
    {NULL},
};
