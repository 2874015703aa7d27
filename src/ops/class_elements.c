/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of GatherElements and ScatterElements, and the reductions of the scatter family. */
#include "ops/class_elements.h"

#include <math.h>
#include <string.h>

pgy_status elements_check(const op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0], *indices = &c->inputs[1];
    size_t axis;
    if (x->rank < 0) return PGY_OK;
    pgy_status st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), x->rank, err);
    if (!st) st = rule_check_rank(c->node, x->rank, err);
    if (st || indices->rank < 0) return st;
    if (indices->rank != x->rank)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the indices have rank %d, but the data has rank %d", indices->rank,
                        x->rank);
    for (int32_t d = 0; d < x->rank; d++) {
        const dim i = indices->dims[d], s = x->dims[d];
        if ((size_t)d != axis && dim_is_const(i) && dim_is_const(s) && i.value > s.value)
            return op_error(
                c->node, err, PGY_E_SHAPE,
                "the indices have %lld elements along axis %d, but the data has only %lld",
                (long long)i.value, d, (long long)s.value);
    }
    return PGY_OK;
}

pgy_status elements_begin(elements_walk *w, const op_eval *c, const pgy_tensor *data,
                          pgy_error *err)
{
    memset(w, 0, sizeof *w);
    pgy_status st = op_eval_ints(c, 1, &w->indices, &w->count, err);
    w->rank = pgy_tensor_rank(data);
    if (!st)
        st = op_axis(&w->axis, c->node, op_attr_int(c->node, "axis", 0), (int32_t)w->rank, err);
    if (st) return st;
    if (pgy_tensor_rank(c->inputs[1].value) != w->rank)
        return op_error(c->node, err, PGY_E_SHAPE, "the indices and the data have different ranks");
    for (size_t d = 0; d < w->rank; d++)
        w->dims[d] = (size_t)pgy_tensor_shape(c->inputs[1].value)[d];
    w->size = (size_t)pgy_tensor_shape(data)[w->axis];
    move_strides(w->strides, w->rank, pgy_tensor_shape(data));
    return PGY_OK;
}

pgy_status elements_next(elements_walk *w, const op_eval *c, size_t *at, pgy_error *err)
{
    size_t index;
    const int64_t given = w->indices[w->next++];
    if (!rule_index(&index, given, w->size))
        return op_error(c->node, err, PGY_E_SHAPE, "index %lld is not in [-%zu, %zu)",
                        (long long)given, w->size, w->size);
    *at = w->base + index * (size_t)w->strides[w->axis];
    for (size_t d = w->rank; d-- > 0;) {
        const size_t step = d == w->axis ? 0 : (size_t)w->strides[d];
        w->base += step;
        if (++w->position[d] < w->dims[d]) break;
        w->base -= w->position[d] * step;
        w->position[d] = 0;
    }
    return PGY_OK;
}

static const char *const NAMES[] = {"none", "add", "mul", "min", "max"};

pgy_status scatter_reduction_of(scatter_reduction *out, const op_node *n, pgy_error *err)
{
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (!op_attr_is(n, "reduction", NAMES[i], "none")) continue;
        *out = (scatter_reduction)i;
        return PGY_OK;
    }
    return op_error(n, err, PGY_E_ARGUMENT,
                    "attribute reduction must be none, add, mul, min or max");
}

#define T double
#define NAME reduce_f64
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define KEEP(a) isnan(a)
#include "ops/scatter_loop.inc"
#define T int64_t
#define NAME reduce_i64
#define ADD(a, b) (int64_t)((uint64_t)(a) + (uint64_t)(b))
#define MUL(a, b) (int64_t)((uint64_t)(a) * (uint64_t)(b))
#define KEEP(a) false
#include "ops/scatter_loop.inc"
#define T uint64_t
#define NAME reduce_u64
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define KEEP(a) false
#include "ops/scatter_loop.inc"
#define T uint8_t
#define NAME reduce_bool
#define ADD(a, b) ((a) | (b))
#define MUL(a, b) ((a) & (b))
#define KEEP(a) false
#include "ops/scatter_loop.inc"

pgy_status scatter_apply(const op_node *n, pgy_dtype storage, scatter_reduction reduction, void *to,
                         const void *from, size_t count, pgy_error *err)
{
    if (reduction == SCATTER_NONE) {
        if (count) memcpy(to, from, count * move_size(storage));
        return PGY_OK;
    }
    switch (storage) {
    case PGY_F64: reduce_f64(to, from, count, reduction); return PGY_OK;
    case PGY_I64: reduce_i64(to, from, count, reduction); return PGY_OK;
    case PGY_U64: reduce_u64(to, from, count, reduction); return PGY_OK;
    case PGY_BOOL: reduce_bool(to, from, count, reduction); return PGY_OK;
    default:
        return op_error(n, err, PGY_E_TYPE, "elements of type %s cannot be reduced",
                        pgy_dtype_name(storage));
    }
}
