/* SPDX-License-Identifier: Apache-2.0 */
/* TopK: the k largest or smallest elements along an axis and their indices, in order; of equal
 * values the lower index comes first. k is an attribute in version 1, an input from version 10 on.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "ops/class_check.h"
#include "ops/class_key.h"
#include "ops/class_rows.h"

static const op_attr_def ATTRS_1[] = {
    {"axis", OP_ATTR_INT, false, "-1"},
    {"k", OP_ATTR_INT, true, NULL},
    {NULL},
};

static const op_attr_def ATTRS_10[] = {{"axis", OP_ATTR_INT, false, "-1"}, {NULL}};

static const op_attr_def ATTRS_11[] = {
    {"axis", OP_ATTR_INT, false, "-1"},
    {"largest", OP_ATTR_INT, false, "1"},
    {"sorted", OP_ATTR_INT, false, "1"},
    {NULL},
};

static pgy_status find_k(dim *k, op_infer *c, dim size, pgy_error *err)
{
    const dim *values = NULL;
    size_t count = 0;
    if (c->node->def->since < 10) {
        *k = dim_const(op_attr_int(c->node, "k", 0));
        return PGY_OK;
    }
    if (!rule_values(c, 1, &values, &count)) {
        *k = dim_unknown_upto(c->dims, "k is not known", size);
        return PGY_OK;
    }
    if (count != 1)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 1 (k) has %zu elements, but must have one", count);
    *k = values[0];
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    size_t axis = 0;
    dim k;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the input's shape is not known");
        op_set_unknown(c, 1, PGY_I64, -1, "the input's shape is not known");
        return PGY_OK;
    }
    pgy_status st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), x->rank, err);
    const dim extent = st ? dim_const(0) : x->dims[axis];
    if (!st) st = find_k(&k, c, extent, err);
    if (st) return st;
    if (dim_is_const(k) && (k.value < 0 || (dim_is_const(extent) && k.value > extent.value)))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "k is %" PRId64 ", which is not in the range of axis %zu with %" PRId64
                        " elements",
                        k.value, axis, dim_is_const(extent) ? extent.value : -1);
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    dims[axis] = k;
    op_set_output(c, 0, x->dtype, x->rank, dims);
    op_set_output(c, 1, PGY_I64, x->rank, dims);
    return PGY_OK;
}

typedef struct ranked {
    uint64_t key;
    size_t index;
} ranked;

static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static void run_line(const op_eval *c, axis_view v, size_t k, bool largest, size_t line,
                     ranked *work)
{
    size_t from = line / v.inner * v.length * v.inner + line % v.inner,
           to = line / v.inner * k * v.inner + line % v.inner;
    pgy_dtype dtype = pgy_tensor_dtype(c->inputs[0].value);
    for (size_t i = 0; i < v.length; i++)
        work[i] = (ranked){key_of(dtype, in_data(c, 0), from + i * v.inner, largest), i};
    qsort(work, v.length, sizeof *work, compare);
    for (size_t i = 0; i < k; i++) {
        const char *x =
            (const char *)in_data(c, 0) + (from + work[i].index * v.inner) * sizeof(double);
        if (out_data(c, 0))
            memcpy((char *)out_data(c, 0) + (to + i * v.inner) * sizeof(double), x, sizeof(double));
        if (out_data(c, 1)) out_i64(c, 1)[to + i * v.inner] = (int64_t)work[i].index;
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t axis = 0, rank = in_rank(c, 0);
    ranked *work = NULL;
    pgy_status st = inputs_check(c, c->node->def->since < 10 ? "!" : "!I", err);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), (int32_t)rank, err);
    if (st) return st;
    if (!c->outputs[0].value)
        return op_error(c->node, err, PGY_E_INTERNAL, "the shape of output 0 is unknown");
    axis_view v = axis_view_of(in_shape(c, 0), rank, axis, axis + 1);
    st = workspace_alloc((void **)&work, c, v.length, sizeof *work, err);
    if (st) return st;
    size_t k = (size_t)out_shape(c, 0)[axis];
    bool largest = op_attr_int(c->node, "largest", 1) != 0;
    for (size_t line = 0; k && line < v.outer * v.inner && !cancel_requested(); line++)
        run_line(c, v, k, largest, line, work);
    mem_free(work);
    return PGY_OK;
}

#define ROW(version, inputs, attrs, words)                                               \
    {                                                                                    \
        "TopK", "", version, 0, inputs, inputs, 2, 2, 0, attrs, words, infer, eval, NULL \
    }
const op_def OP_top_k[] = {
    ROW(1, 1, ATTRS_1, TYPES_F3),
    ROW(10, 2, ATTRS_10, TYPES_F3),
    ROW(11, 2, ATTRS_11, TYPES_N11),
    ROW(24, 2, ATTRS_11, TYPES_N12),
    {NULL},
};
