/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GatherBlockQuantized: rows of a quantised table, dequantised by one scale and zero
 * point per block along an axis. Values narrower than a byte are packed along the last axis, low
 * bits first. Indices out of range give zeros. */
#include <inttypes.h>
#include <string.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { DATA, INDICES, SCALES, ZEROS };

static const op_attr_def ATTRS[] = {
    {"bits", OP_ATTR_INT, false, "4"},
    {"block_size", OP_ATTR_INT, false, "128"},
    {"gather_axis", OP_ATTR_INT, false, "0"},
    {"quantize_axis", OP_ATTR_INT, false, "1"},
    {NULL},
};

/* Gives the number of quantised values that are packed in one element of the data. */
static pgy_status packing(int64_t *per, const op_infer *c, pgy_error *err)
{
    const int64_t bits = op_attr_int(c->node, "bits", 4);
    const int64_t block = op_attr_int(c->node, "block_size", 128);
    const bool floats = pgy_dtype_is_float(c->inputs[DATA].dtype);
    *per = 1;
    if (block < (floats ? 0 : 1) || block > INT32_MAX)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute block_size is %" PRId64 ", which is out of range", block);
    if (floats && op_has_input(c, ZEROS))
        return op_error(c->node, err, PGY_E_ARGUMENT, "float data takes no zero points");
    if (c->inputs[DATA].dtype != PGY_U8) return PGY_OK;
    if (bits != 2 && bits != 4 && bits != 8)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute bits is %" PRId64 ", but must be 2, 4 or 8", bits);
    *per = 8 / bits;
    return PGY_OK;
}

/* Checks the known sizes of the scales, and the number of zero points. */
static pgy_status check_scales(const op_infer *c, int64_t per, size_t along, pgy_error *err)
{
    const op_value *data = &c->inputs[DATA], *scales = &c->inputs[SCALES];
    const bool floats = pgy_dtype_is_float(data->dtype);
    const int64_t block = op_attr_int(c->node, "block_size", 128);
    const size_t rank = (size_t)data->rank;
    int64_t zeros = 1;
    if (scales->rank < 0 || !block) return PGY_OK;
    for (size_t d = 0; d < rank; d++) {
        const dim have = scales->dims[d];
        if (!dim_is_const(data->dims[d]) || !dim_is_const(have)) return PGY_OK;
        int64_t size = data->dims[d].value;
        if (d + 1 == rank && __builtin_mul_overflow(size, per, &size)) return PGY_OK;
        const int64_t wanted = d == along ? size / block + (size % block != 0) : size;
        if (have.value != wanted && !(floats && have.value == 1))
            return op_error(c->node, err, PGY_E_SHAPE,
                            "dimension %zu of the scales is %" PRId64 ", but must be %" PRId64, d,
                            have.value, wanted);
        const int64_t bytes = d + 1 == rank ? (have.value + per - 1) / per : have.value;
        if (__builtin_mul_overflow(zeros, bytes, &zeros)) return PGY_OK;
    }
    dim count;
    if (!op_has_input(c, ZEROS) ||
        !rule_count(c, &count, c->inputs[ZEROS].rank, c->inputs[ZEROS].dims) ||
        !dim_is_const(count) || count.value == zeros)
        return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "there are %" PRId64 " zero points, but %" PRId64 " are needed", count.value,
                    zeros);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *data = &c->inputs[DATA], *indices = &c->inputs[INDICES];
    const pgy_dtype dtype = c->inputs[SCALES].dtype;
    int64_t per;
    size_t axis, along, to = 0;
    pgy_status st = packing(&per, c, err);
    if (st) return st;
    if (data->rank < 0 || indices->rank < 0) {
        op_set_unknown(c, 0, dtype, -1, "the shape of an input is not known");
        return PGY_OK;
    }
    st = op_axis(&axis, c->node, op_attr_int(c->node, "gather_axis", 0), data->rank, err);
    if (!st)
        st = op_axis(&along, c->node, op_attr_int(c->node, "quantize_axis", 1), data->rank, err);
    if (!st) st = rule_check_rank(c->node, (int64_t)data->rank + indices->rank - 1, err);
    if (!st) st = rank_check(c, SCALES, data->rank, data->rank, err);
    if (!st) st = check_scales(c, per, along, err);
    if (!st && per > 1 && axis + 1 == (size_t)data->rank)
        st = op_error(
            c->node, err, PGY_E_ARGUMENT,
            "attribute gather_axis is the last axis, but values are packed along that axis");
    if (st) return st;
    dim *dims = op_dims(c, (size_t)data->rank + (size_t)indices->rank);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t d = 0; d < (size_t)data->rank; d++) {
        const bool last = d + 1 == (size_t)data->rank;
        for (int32_t k = 0; d == axis && k < indices->rank; k++) dims[to++] = indices->dims[k];
        if (d != axis)
            dims[to++] = last ? dim_mul(c->dims, data->dims[d], dim_const(per)) : data->dims[d];
    }
    op_set_output(c, 0, dtype, (int32_t)to, dims);
    return PGY_OK;
}

/* The data as [outer, size, inner] around the gathered axis; sizes count unpacked values. */
typedef struct table {
    const op_eval *c;
    axis_view view;
    size_t rank, along, block, per, bits;
    size_t shape[PGY_MAX_RANK];         /* of the data, in unpacked values */
    size_t scale_strides[PGY_MAX_RANK]; /* 0 on broadcast axes */
    /* length of the scales' last axis; bytes of a row of packed zero points */
    size_t zero_width, zero_row;
} table;

static double value_at(const table *t, size_t i)
{
    const void *data = in_data(t->c, DATA);
    if (pgy_tensor_dtype(t->c->inputs[DATA].value) == PGY_F64) return ((const double *)data)[i];
    const size_t width = t->shape[t->rank - 1], row = i / width, at = i % width;
    const int64_t packed = ((const int64_t *)data)[row * (width / t->per) + at / t->per];
    return (double)(t->per == 1 ? packed
                                : packed >> (at % t->per * t->bits) & ((1 << t->bits) - 1));
}

static double zero_at(const table *t, size_t scale)
{
    const int64_t *zeros = in_i64(t->c, ZEROS);
    const bool bytes = t->c->inputs[DATA].dtype == PGY_U8;
    if (!zeros) return bytes ? (double)(1 << (t->bits - 1)) : 0;
    if (t->per == 1) return (double)zeros[scale];
    const size_t row = scale / t->zero_width, at = scale % t->zero_width;
    return (double)(zeros[row * t->zero_row + at / t->per] >> (at % t->per * t->bits) &
                    ((1 << t->bits) - 1));
}

static double dequantise(const table *t, size_t i)
{
    size_t left = i, scale = 0;
    for (size_t d = t->rank; d-- > 0;) {
        const size_t at = left % t->shape[d];
        left /= t->shape[d];
        scale += (d == t->along ? at / t->block : at) * t->scale_strides[d];
    }
    return (value_at(t, i) - zero_at(t, scale)) * in_f64(t->c, SCALES)[scale];
}

static void run(size_t begin, size_t end, void *user)
{
    const table *t = user;
    const size_t count = in_count(t->c, INDICES), inner = t->view.inner;
    for (size_t r = begin; r < end; r++) {
        size_t index;
        double *y = out_f64(t->c, 0) + r * inner;
        const size_t outer = r / count;
        if (!rule_index(&index, in_i64(t->c, INDICES)[r % count], t->view.length)) continue;
        for (size_t k = 0; k < inner; k++)
            y[k] = dequantise(t, (outer * t->view.length + index) * inner + k);
    }
}

static pgy_status prepare(table *t, const op_eval *c, pgy_error *err)
{
    const int64_t *data = in_shape(c, DATA), *scales = in_shape(c, SCALES);
    int64_t full[PGY_MAX_RANK];
    size_t axis, stride = 1;
    const bool floats = pgy_tensor_dtype(c->inputs[DATA].value) == PGY_F64;
    t->c = c;
    t->rank = in_rank(c, DATA);
    t->bits = (size_t)op_attr_int(c->node, "bits", 4);
    t->per = c->inputs[DATA].dtype == PGY_U8 ? 8 / t->bits : 1;
    pgy_status st =
        op_axis(&axis, c->node, op_attr_int(c->node, "gather_axis", 0), (int32_t)t->rank, err);
    if (!st)
        st = op_axis(&t->along, c->node, op_attr_int(c->node, "quantize_axis", 1), (int32_t)t->rank,
                     err);
    if (st) return st;
    for (size_t d = 0; d < t->rank; d++) full[d] = data[d];
    full[t->rank - 1] *= (int64_t)t->per;
    t->block = (size_t)op_attr_int(c->node, "block_size", 128);
    if (!t->block) t->block = full[t->along] ? (size_t)full[t->along] : 1;
    for (size_t d = t->rank; d-- > 0;) {
        const size_t size = t->shape[d] = (size_t)full[d];
        const size_t wanted = d == t->along ? (size + t->block - 1) / t->block : size;
        if ((size_t)scales[d] != wanted && !(floats && scales[d] == 1))
            return op_error(c->node, err, PGY_E_SHAPE,
                            "dimension %zu of the scales is %" PRId64 ", but must be %zu", d,
                            scales[d], wanted);
        t->scale_strides[d] = scales[d] == 1 ? 0 : stride;
        stride *= (size_t)scales[d];
    }
    t->zero_width = (size_t)scales[t->rank - 1];
    t->zero_row = (t->zero_width + t->per - 1) / t->per;
    const size_t zeros = t->zero_width ? stride / t->zero_width * t->zero_row : 0;
    if (in_i64(c, ZEROS) && in_count(c, ZEROS) != zeros)
        return op_error(c->node, err, PGY_E_SHAPE, "there are %zu zero points, but %zu are needed",
                        in_count(c, ZEROS), zeros);
    t->view = axis_view_of(full, t->rank, axis, axis + 1);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    table t = {0};
    pgy_status st = inputs_check(c, "!IFi", err);
    if (!st) st = prepare(&t, c, err);
    if (st || !out_count(c, 0)) return st;
    rows_run(t.view.outer * in_count(c, INDICES), t.view.inner * 8, run, &t);
    return PGY_OK;
}

const op_def OP_gather_block_quantized[] = {
    {"GatherBlockQuantized", "com.microsoft", 1, 0, 3, 4, 1, 1, 0, ATTRS,
     "uint8 int4 uint4 int8 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float4", infer,
     eval, NULL,
     .signature = "T1 = int8 uint8 int4 uint4 float4 float8e4m3fn float8e4m3fnuz float8e5m2 "
                  "float8e5m2fnuz; T2 = float16 float32 bfloat16; Tind = int32 int64; data:T1, "
                  "indices:Tind, scales:T2, ?zero_points:T1 -> output:T2"},
    {NULL},
};
