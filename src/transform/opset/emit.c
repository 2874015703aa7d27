/* SPDX-License-Identifier: Apache-2.0 */
/* Makes nodes for adapters: one output each, constants as Constant nodes (which work in subgraphs
 * and functions, too), and the few operators whose inputs depend on the version. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "transform/opset/rewrite.h"

static void make(rewrite *r, pgy_value *out, const char *op_type, size_t count, va_list args)
{
    pgy_value *inputs[8];
    pgy_node *n = NULL;
    for (size_t i = 0; i < count && i < 8; i++) inputs[i] = va_arg(args, pgy_value *);
    if (r->status) return;
    r->status = node_create(&n, r->graph, op_type, inputs, count, &out, 1, r->err);
    if (r->status) return;
    rw_note_rewritten(r, n);
    if (count && inputs[0] && !rw_dtype(out)) box_of(out)->known.dtype = rw_dtype(inputs[0]);
}

static const char *stem_of(const rewrite *r)
{
    for (size_t i = 0; i < r->node->output_count; i++)
        if (r->node->outputs[i]) return r->node->outputs[i]->name;
    return r->node->name;
}

static pgy_value *fresh(rewrite *r, const char *op_type)
{
    char stem[256];
    if (r->status) return NULL;
    snprintf(stem, sizeof stem, "%.200s_%s", stem_of(r), op_type);
    pgy_value *v = value_create_unique(r->graph, stem, r->err);
    if (!v) r->status = PGY_E_MEMORY;
    return v;
}

pgy_value *rw_emit(rewrite *r, const char *op_type, size_t count, ...)
{
    pgy_value *out = fresh(r, op_type);
    va_list args;
    va_start(args, count);
    make(r, out, op_type, count, args);
    va_end(args);
    return r->status ? NULL : out;
}

void rw_emit_into(rewrite *r, pgy_value *out, const char *op_type, size_t count, ...)
{
    va_list args;
    va_start(args, count);
    make(r, out, op_type, count, args);
    va_end(args);
}

pgy_value *rw_with_int(rewrite *r, pgy_value *v, const char *name, int64_t value)
{
    if (!r->status) rw_set_int(r, v->producer, name, value);
    return v;
}

pgy_value *rw_with_float(rewrite *r, pgy_value *v, const char *name, float value)
{
    if (!r->status) rw_set_float(r, v->producer, name, value);
    return v;
}

pgy_value *rw_with_ints(rewrite *r, pgy_value *v, const char *name, const int64_t *values,
                        size_t count)
{
    if (!r->status) rw_set_ints(r, v->producer, name, values, count);
    return v;
}

/* ---- Constants ------------------------------------------------------------------------------ */

pgy_value *rw_tensor(rewrite *r, pgy_tensor *t)
{
    pgy_value *v = t ? rw_emit(r, "Constant", 0) : NULL;
    if (v) {
        rw_set_tensor(r, v->producer, "value", t);
        box_of(v)->known.dtype = pgy_tensor_dtype(t);
    }
    pgy_tensor_release(t);
    return r->status ? NULL : v;
}

static pgy_tensor *new_tensor(rewrite *r, pgy_dtype dtype, size_t rank, size_t count)
{
    pgy_tensor *t = NULL;
    const int64_t shape[1] = {(int64_t)count};
    if (!r->status) r->status = pgy_tensor_create(&t, dtype, rank, shape, r->err);
    return r->status ? NULL : t;
}

pgy_value *rw_vector(rewrite *r, const int64_t *values, size_t count)
{
    pgy_tensor *t = new_tensor(r, PGY_I64, 1, count);
    for (size_t i = 0; t && i < count; i++) op_i64(t)[i] = values[i];
    return rw_tensor(r, t);
}

pgy_value *rw_vector1(rewrite *r, int64_t value)
{
    return rw_vector(r, &value, 1);
}

pgy_value *rw_floats(rewrite *r, const float *values, size_t count)
{
    pgy_tensor *t = new_tensor(r, PGY_F32, 1, count);
    for (size_t i = 0; t && i < count; i++) ((float *)pgy_tensor_data(t))[i] = values[i];
    return rw_tensor(r, t);
}

pgy_value *rw_scalar(rewrite *r, pgy_dtype dtype, double value)
{
    pgy_tensor *t = NULL, *wide = new_tensor(r, PGY_F64, 0, 1);
    if (!wide) return NULL;
    *op_f64(wide) = value;
    r->status = pgy_tensor_cast(&t, pgy_tensor_view(wide), dtype, r->err);
    pgy_tensor_release(wide);
    return rw_tensor(r, t);
}

pgy_value *rw_scalar_like(rewrite *r, double value, pgy_value *like)
{
    const pgy_dtype dtype = rw_dtype(like);
    if (dtype) return rw_scalar(r, dtype, value);
    if (r->version < 15 && r->target < 15) {
        rw_refuse(r, "the type of its input is unknown");
        return NULL;
    }
    pgy_value *v = rw_emit(r, "CastLike", 2, rw_scalar(r, PGY_F32, value), like);
    if (v) box_of(v)->known.dtype = PGY_DTYPE_NONE;
    return v;
}

pgy_value *rw_cast(rewrite *r, pgy_value *v, pgy_dtype dtype)
{
    if (r->status || rw_dtype(v) == dtype) return v;
    pgy_value *out = rw_emit(r, "Cast", 1, v);
    if (out) box_of(out)->known.dtype = dtype;
    return rw_with_int(r, out, "to", pgy_dtype_describe(dtype)->onnx);
}

pgy_value *rw_cast_like(rewrite *r, pgy_value *v, pgy_value *like)
{
    if (r->status) return NULL;
    if (rw_dtype(like)) return rw_cast(r, v, rw_dtype(like));
    if (r->version < 15 && r->target < 15) {
        rw_refuse(r, "the type of its input is unknown");
        return NULL;
    }
    pgy_value *out = rw_emit(r, "CastLike", 2, v, like);
    if (out) box_of(out)->known.dtype = PGY_DTYPE_NONE;
    return out;
}

/* ---- Forms that depend on the version ------------------------------------------------------- */

/* Makes a node with axes: an input from version `since` on, an attribute before. */
static pgy_value *with_axes(rewrite *r, const char *op_type, pgy_value *x, const int64_t *axes,
                            size_t count, int since)
{
    if (r->version >= since) return rw_emit(r, op_type, 2, x, rw_vector(r, axes, count));
    return rw_with_ints(r, rw_emit(r, op_type, 1, x), "axes", axes, count);
}

pgy_value *rw_reduce(rewrite *r, const char *op_type, pgy_value *x, const int64_t *axes,
                     size_t count)
{
    return with_axes(r, op_type, x, axes, count, strcmp(op_type, "ReduceSum") ? 18 : 13);
}

pgy_value *rw_unsqueeze(rewrite *r, pgy_value *x, const int64_t *axes, size_t count)
{
    return with_axes(r, "Unsqueeze", x, axes, count, 13);
}

pgy_value *rw_transpose(rewrite *r, pgy_value *x, const int64_t *perm, size_t count)
{
    return rw_with_ints(r, rw_emit(r, "Transpose", 1, x), "perm", perm, count);
}

pgy_value *rw_dim(rewrite *r, pgy_value *x, int64_t axis)
{
    const int64_t size = rw_size(x, (int32_t)axis);
    if (size >= 0) return rw_vector1(r, size);
    if (axis < 0 && rw_rank(x) >= 0) axis += rw_rank(x);
    if (axis < 0 && r->version < 11) rw_refuse(r, "the rank of its input is unknown");
    pgy_value *shape = rw_emit(r, "Shape", 1, x);
    if (shape) box_of(shape)->known.dtype = PGY_I64;
    return rw_with_int(r, rw_emit(r, "Gather", 2, shape, rw_vector1(r, axis)), "axis", 0);
}

pgy_value *rw_positions(rewrite *r, pgy_value *x, int64_t axis, int64_t new_axis)
{
    pgy_value *size = rw_emit(r, "Squeeze", 1, rw_dim(r, x, axis));
    pgy_value *range =
        rw_emit(r, "Range", 3, rw_scalar(r, PGY_I64, 0), size, rw_scalar(r, PGY_I64, 1));
    return rw_unsqueeze(r, range, &new_axis, 1);
}

pgy_value *rw_concat(rewrite *r, pgy_value *a, pgy_value *b, int64_t axis)
{
    return rw_with_int(r, rw_emit(r, "Concat", 2, a, b), "axis", axis);
}

pgy_value *rw_slice(rewrite *r, pgy_value *x, pgy_value *start, pgy_value *end, int64_t axis,
                    int64_t step)
{
    return rw_emit(r, "Slice", 5, x, start, end, rw_vector1(r, axis), rw_vector1(r, step));
}
