/* SPDX-License-Identifier: Apache-2.0 */
/* MaxUnpool: puts every value back where MaxPool found it, zeros elsewhere. Indices are positions
 * in the flattened output. output_shape gives its size, or else the attributes imply it. */
#include <inttypes.h>

#include "ops/class_check.h"
#include "ops/class_window.h"

static const op_attr_def ATTRS[] = {
    {"kernel_shape", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

static dim implied(dim_table *t, const window *w, size_t i, dim in)
{
    dim size = dim_mul(t, dim_sub(t, in, dim_const(1)), dim_const(w->stride[i]));
    return dim_add(t, size, dim_const(w->kernel[i] - w->begin[i] - w->end[i]));
}

static pgy_status given_shape(op_infer *c, const dim **dims, pgy_error *err)
{
    size_t count = 0;
    int32_t rank = c->inputs[0].rank;
    if (!rule_values(c, 2, dims, &count)) {
        *dims = NULL;
        return PGY_OK;
    }
    if (count != (size_t)rank)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 2 (output_shape) has %zu elements, but %d are needed", count,
                        (int)rank);
    for (size_t i = 0; i < count; i++)
        if (rule_is_negative((*dims)[i]))
            return op_error(c->node, err, PGY_E_SHAPE,
                            "input 2 (output_shape) has the negative value %" PRId64,
                            (*dims)[i].value);
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    window w;
    const op_value *x = &c->inputs[0];
    const dim *given = NULL;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the input's shape is not known");
        return PGY_OK;
    }
    pgy_status st = rank_check(c, 0, 3, WINDOW_MAX + 2, err);
    if (!st) st = rank_check(c, 1, x->rank, x->rank, err);
    for (int32_t i = 0; !st && rank_known(c, 1) && i < x->rank; i++)
        st = dim_check(c, 1, (size_t)i, x->dims[i], "the same dimension of input 0", err);
    if (!st) st = window_read(&w, c->node, (size_t)x->rank - 2, err);
    if (!st) st = given_shape(c, &given, err);
    if (st) return st;
    if (op_has_input(c, 2) && !given) {
        op_set_unknown(c, 0, x->dtype, x->rank, "the output shape is not known");
        return PGY_OK;
    }
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < w.rank + 2; i++) dims[i] = dim_joined(c, 1, i, dims[i]);
    for (size_t i = 0; i < w.rank; i++) dims[i + 2] = implied(c->dims, &w, i, dims[i + 2]);
    op_set_output(c, 0, x->dtype, x->rank, given ? given : dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t count = in_count(c, 0), size = out_count(c, 0);
    pgy_status st = inputs_check(c, "FIi", err);
    if (st) return st;
    if (!c->outputs[0].value)
        return op_error(c->node, err, PGY_E_INTERNAL, "the shape of output 0 is unknown");
    for (size_t i = 0; i < count; i++) {
        int64_t at = in_i64(c, 1)[i];
        if (at < 0 || (uint64_t)at >= size)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "index %" PRId64 " lies outside of the output of %zu elements", at,
                            size);
        out_f64(c, 0)[at] = in_f64(c, 0)[i];
    }
    return PGY_OK;
}

#define ROW(version, words)                                                         \
    {                                                                               \
        "MaxUnpool", "", version, 0, 2, 3, 1, 1, 0, ATTRS, words, infer, eval, NULL \
    }
const op_def OP_max_unpool[] = {ROW(9, TYPES_F3), ROW(11, TYPES_F3), ROW(22, TYPES_F4), {NULL}};
