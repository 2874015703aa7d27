/* SPDX-License-Identifier: Apache-2.0 */
/* Adapters for operators whose attributes, inputs or outputs changed their meaning in a way that
 * MOVE, NEUTRAL and AXIS do not cover. */
#include <string.h>

#include "base/alloc.h"
#include "transform/opset/adapters.h"

/* ---- Constants and types -------------------------------------------------------------------- */

void constant_12_down(rewrite *r)
{
    pgy_tensor *t = NULL;
    if (r->status || node_attribute(r->node, "value") || !r->node->outputs[0]) return;
    for (size_t i = 0; i < r->node->attribute_count; i++)
        if (!rw_attr(r, r->node->attributes[i]->name)) return;
    if (r->version >= 11 && node_attribute(r->node, "sparse_value")) return;
    r->status = pgy_graph_value_data(&t, r->node->outputs[0], r->err);
    if (!r->status) r->node->attribute_count = 0;
    if (!r->status) rw_set_tensor(r, r->node, "value", t);
    pgy_tensor_release(t);
}

void constant_11_down(rewrite *r)
{
    constant_12_down(r);
}

void cast_like_down(rewrite *r)
{
    const pgy_dtype dtype = rw_dtype(rw_input(r, 1));
    if (!dtype) {
        rw_refuse(r, "Cast needs the type of input 1, which is unknown");
        return;
    }
    rw_become(r, "Cast", 1, rw_input(r, 0));
    rw_set_int(r, r->node, "to", pgy_dtype_describe(dtype)->onnx);
}

/* Drops `saturate`, which only affects float8 types; older versions lack them. */
void saturate_down(rewrite *r)
{
    rw_drop(r, "saturate");
}

void round_mode_down(rewrite *r)
{
    rw_drop(r, "round_mode");
}

void range_27_down(rewrite *r)
{
    rw_drop(r, "stash_type"); /* only affects 16-bit types, which older versions lack */
}

void pow_down(rewrite *r)
{
    const pgy_dtype base = rw_dtype(rw_input(r, 0)), exponent = rw_dtype(rw_input(r, 1));
    if (base && exponent && base != exponent && pgy_dtype_is_float(base))
        rw_set_input(r, 1, rw_cast(r, rw_input(r, 1), base));
}

/* Computes the operator in another type, with Casts of its input and output. */
static void compute_in(rewrite *r, pgy_dtype dtype)
{
    const pgy_dtype own = rw_dtype(rw_input(r, 0));
    rw_set_input(r, 0, rw_cast(r, rw_input(r, 0), dtype));
    pgy_value *old = rw_detach(r, 0);
    if (!old) return;
    rw_emit_into(r, old, "Cast", 1, r->node->outputs[0]);
    rw_with_int(r, old, "to", pgy_dtype_describe(own)->onnx);
}

static bool is_integer(const rewrite *r)
{
    const pgy_dtype dtype = rw_dtype(rw_input(r, 0));
    return dtype && pgy_dtype_is_integer(dtype);
}

void erf_up(rewrite *r)
{
    if (is_integer(r)) compute_in(r, PGY_F32);
}

void integer_reduce_up(rewrite *r)
{
    if (is_integer(r)) compute_in(r, PGY_F64);
}

void bool_reduce_down(rewrite *r)
{
    if (rw_dtype(rw_input(r, 0)) == PGY_BOOL) compute_in(r, PGY_U8);
}

/* ---- Shapes --------------------------------------------------------------------------------- */

void shape_15_down(rewrite *r)
{
    const bool cut = node_attribute(r->node, "end") != NULL;
    const int64_t start = rw_int(r, "start", 0), end = rw_int(r, "end", INT64_MAX);
    rw_drop(r, "start");
    rw_drop(r, "end");
    if (start == 0 && !cut) return;
    pgy_value *old = rw_detach(r, 0);
    if (old)
        rw_emit_into(r, old, "Slice", 3, r->node->outputs[0], rw_vector1(r, start),
                     rw_vector1(r, end));
}

/* True if it does not matter whether 0 means "no elements" or "size of the input": the size cannot
 * be 0, or equals that of the input. */
static bool is_safe_size(const op_value *x, size_t i, dim size)
{
    const bool is_there = x->rank >= 0 && i < (size_t)x->rank;
    return dim_is_positive(size) || (dim_is_const(size) && size.value < 0) ||
           (is_there && dim_equal(size, x->dims[i]));
}

static void refuse_size(rewrite *r, size_t i, dim size)
{
    str text = {0};
    dim_print(&text, size);
    rw_refuse(r,
              "element %zu of the shape, '%s', may be 0: with allowzero that means no elements, "
              "but the target opset copies the input's size",
              i, str_text(&text));
    str_deinit(&text);
}

/* Refuses shapes in which a 0 would change its meaning. Tests the elements of the shape if they are
 * known, else the inferred sizes of the output. */
static void check_zeros(rewrite *r)
{
    size_t count = 0;
    const pgy_value *shape = rw_input(r, 1), *out = r->node->outputs[0];
    if (!rw_input(r, 0) || !shape || !out) return;
    const op_value *x = &box_of(rw_input(r, 0))->known, *y = &box_of((pgy_value *)out)->known;
    const op_value *s = &box_of((pgy_value *)shape)->known;
    const pgy_tensor *t = rw_constant(r, 1);
    const int64_t *values = t && pgy_tensor_dtype(t) == PGY_I64 ? op_i64(t) : NULL;
    if (values)
        count = pgy_tensor_count(t);
    else if (s->elements)
        count = s->element_count;
    else if (y->rank >= 0)
        count = (size_t)y->rank;
    else
        rw_refuse(r,
                  "the shape '%s' is not constant and may hold 0: with allowzero that means no "
                  "elements, but the target opset copies the input's size",
                  shape->name);
    for (size_t i = 0; i < count && !r->status; i++) {
        const dim size = values ? dim_const(values[i]) : s->elements ? s->elements[i] : y->dims[i];
        const bool shown = y->rank >= 0 && i < (size_t)y->rank && is_safe_size(x, i, y->dims[i]);
        if (!shown && !is_safe_size(x, i, size)) refuse_size(r, i, size);
    }
}

void reshape_14_down(rewrite *r)
{
    if (rw_int(r, "allowzero", 0)) check_zeros(r);
    rw_drop(r, "allowzero");
}

/* ---- Slice, Pad, Split, Gemm ---------------------------------------------------------------- */

void slice_10_down(rewrite *r)
{
    size_t count = 0;
    if (!rw_input(r, 4)) return;
    const int64_t *steps = rw_constant_ints(r, 4, &count);
    for (size_t i = 0; steps && i < count; i++)
        if (steps[i] != 1)
            rw_refuse(r, "step %lld cannot be expressed: the target opset has steps of 1 only",
                      (long long)steps[i]);
    rw_cut_inputs(r, 4);
}

void pad_axes_down(rewrite *r)
{
    int64_t full[2 * PGY_MAX_RANK] = {0};
    size_t count = 0, pad_count = 0;
    const int32_t rank = rw_rank(rw_input(r, 0));
    if (!rw_input(r, 3)) {
        rw_cut_inputs(r, 3);
        return;
    }
    const int64_t *axes = rw_constant_ints(r, 3, &count);
    const int64_t *pads = rw_constant_ints(r, 1, &pad_count);
    if (rank < 0) rw_refuse(r, "the axes need a known rank, but the rank of the input is unknown");
    if (!r->status && pad_count != 2 * count)
        rw_refuse(r, "there are %zu pads for %zu axes", pad_count, count);
    for (size_t i = 0; !r->status && i < count; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank) {
            rw_refuse(r, "axis %lld is out of range", (long long)axes[i]);
            return;
        }
        full[axis] = pads[i];
        full[axis + rank] = pads[i + count];
    }
    rw_cut_inputs(r, 3);
    if (!r->status) rw_set_input(r, 1, rw_vector(r, full, 2 * (size_t)rank));
}

void pad_wrap_down(rewrite *r)
{
    if (rw_is(r, "mode", "wrap", "constant"))
        rw_refuse(r, "mode 'wrap' was introduced in opset 19");
}

void gemm_11_down(rewrite *r)
{
    if (!rw_input(r, 2)) rw_set_input(r, 2, rw_scalar_like(r, 0, rw_input(r, 0)));
}

void split_18_up(rewrite *r)
{
    if (!rw_input(r, 1)) rw_set_int(r, r->node, "num_outputs", (int64_t)r->node->output_count);
}

/* Makes nodes that compute the sizes of the n outputs of a Split of `length` elements; the last one
 * may be smaller. */
static pgy_value *computed_parts(rewrite *r, pgy_value *length, int64_t n)
{
    pgy_value *chunk =
        rw_emit(r, "Div", 2, rw_emit(r, "Add", 2, length, rw_vector1(r, n - 1)), rw_vector1(r, n));
    pgy_value *whole = rw_emit(r, "Mul", 2, chunk, rw_vector1(r, n - 1));
    pgy_value *last = rw_emit(r, "Sub", 2, length, whole);
    pgy_value *first = rw_emit(r, "Tile", 2, chunk, rw_vector1(r, n - 1));
    return rw_with_int(r, rw_emit(r, "Concat", 2, first, last), "axis", 0);
}

void split_18_down(rewrite *r)
{
    enum { MOST = 256 };
    int64_t parts[MOST];
    const int64_t n = (int64_t)r->node->output_count;
    const int64_t axis = rw_int(r, "axis", 0);
    const int64_t length = rw_size(rw_input(r, 0), (int32_t)axis);
    if (!node_attribute(r->node, "num_outputs")) return;
    rw_drop(r, "num_outputs");
    if (n == 1 || (length >= 0 && length % n == 0)) return;
    if (length < 0) {
        rw_set_input(r, 1, computed_parts(r, rw_dim(r, rw_input(r, 0), axis), n));
        return;
    }
    if (n > MOST) {
        rw_refuse(r, "it has more than %d outputs of unequal length", MOST);
        return;
    }
    const int64_t chunk = (length + n - 1) / n;
    for (int64_t i = 0; i < n; i++) parts[i] = i + 1 < n ? chunk : length - chunk * (n - 1);
    if (parts[n - 1] < 0)
        rw_refuse(r, "an axis of length %lld cannot be split into %lld parts", (long long)length,
                  (long long)n);
    rw_set_input(r, 1, rw_vector(r, parts, (size_t)n));
}

/* ---- Scatter, MaxPool, Dropout -------------------------------------------------------------- */

void scatter_11_up(rewrite *r)
{
    rw_rename(r, "ScatterElements");
}

void scatter_11_down(rewrite *r)
{
    rw_rename(r, "Scatter");
}

void scatter_18_down(rewrite *r)
{
    if (rw_is(r, "reduction", "max", "none") || rw_is(r, "reduction", "min", "none"))
        rw_refuse(r, "reductions 'min' and 'max' were introduced in opset 18");
}

void one_output_down(rewrite *r)
{
    if (rw_wants(r, 1))
        rw_refuse(r, "output 1 was introduced in opset %lld", (long long)r->version + 1);
    rw_cut_outputs(r, 1);
}

void dropout_12_down(rewrite *r)
{
    const pgy_tensor *training = rw_constant(r, 2);
    if (!rw_input(r, 2)) return;
    if (!training)
        rw_refuse(r, "input 2 'training_mode' is not constant");
    else if (pgy_tensor_dtype(training) != PGY_BOOL || pgy_tensor_count(training) != 1 ||
             *(const uint8_t *)pgy_tensor_data(training))
        rw_refuse(r, "training mode was introduced in opset 12");
    rw_cut_inputs(r, 2);
}

static int64_t element(const int64_t *list, size_t count, size_t i, int64_t fallback)
{
    return list && i < count ? list[i] : fallback;
}

/* Does the last pooling window end exactly at the padded end of every axis? */
static bool windows_fit(rewrite *r)
{
    size_t sizes = 0, strides = 0, pads = 0, dilations = 0;
    const int64_t *size = rw_ints(r, "kernel_shape", &sizes);
    const int64_t *stride = rw_ints(r, "strides", &strides), *pad = rw_ints(r, "pads", &pads);
    const int64_t *dilation = rw_ints(r, "dilations", &dilations);
    const int32_t rank = rw_rank(rw_input(r, 0));
    if (!rw_is(r, "auto_pad", "NOTSET", "NOTSET") || !size || rank < 2 || sizes != (size_t)rank - 2)
        return false;
    for (size_t i = 0; i < sizes; i++) {
        int64_t room = rw_size(rw_input(r, 0), (int32_t)i + 2), reach;
        const int64_t step = element(stride, strides, i, 1);
        if (room < 0 || step < 1 || !i64_add(&room, room, element(pad, pads, i, 0)) ||
            !i64_add(&room, room, element(pad, pads, i + sizes, 0)) || size[i] < 1 ||
            !i64_mul(&reach, 1 - size[i], element(dilation, dilations, i, 1)) ||
            !i64_add(&room, room, reach) || room < 1 || (room - 1) % step)
            return false;
    }
    return true;
}

/* If all windows fit exactly, ceil_mode makes no difference. */
void ceil_mode_down(rewrite *r)
{
    if (rw_int(r, "ceil_mode", 0) && windows_fit(r)) rw_drop(r, "ceil_mode");
}

/* The mask had the type of the data before it became bool. */
void mask_type(rewrite *r)
{
    const pgy_dtype data = rw_dtype(rw_input(r, 0)), other = r->version >= 10 ? data : PGY_BOOL;
    if (!rw_wants(r, 1)) return;
    if (!data) rw_refuse(r, "the type of its input is unknown");
    pgy_value *old = rw_detach(r, 1);
    if (!old) return;
    box_of(r->node->outputs[1])->known.dtype = r->version >= 10 ? PGY_BOOL : data;
    rw_emit_into(r, old, "Cast", 1, r->node->outputs[1]);
    rw_with_int(r, old, "to", pgy_dtype_describe(other)->onnx);
}

/* ---- Others --------------------------------------------------------------------------------- */

void roi_align_up(rewrite *r)
{
    rw_set_string(r, r->node, "coordinate_transformation_mode", "output_half_pixel");
}

void roi_align_down(rewrite *r)
{
    if (!rw_is(r, "coordinate_transformation_mode", "output_half_pixel", "half_pixel"))
        rw_refuse(r, "the target opset has the coordinates 'output_half_pixel' only");
    rw_drop(r, "coordinate_transformation_mode");
}

static void rename_mode(rewrite *r, const char *from, const char *to, const char *fallback)
{
    if (node_attribute(r->node, "mode") && rw_is(r, "mode", from, fallback))
        rw_set_string(r, r->node, "mode", to);
}

void grid_sample_up(rewrite *r)
{
    rename_mode(r, "bilinear", "linear", "");
    rename_mode(r, "bicubic", "cubic", "");
}

void grid_sample_down(rewrite *r)
{
    const int32_t rank = rw_rank(rw_input(r, 0));
    if (rank != 4)
        rw_refuse(r, "its input has rank %d, but the target opset samples rank 4 only", (int)rank);
    rename_mode(r, "linear", "bilinear", "");
    rename_mode(r, "cubic", "bicubic", "");
}

void dft_up(rewrite *r)
{
    rw_set_input(r, 2, rw_scalar(r, PGY_I64, (double)rw_int(r, "axis", 1)));
    rw_drop(r, "axis");
}

void dft_down(rewrite *r)
{
    size_t count = 0;
    int64_t axis = -2;
    if (rw_input(r, 2)) {
        const int64_t *given = rw_constant_ints(r, 2, &count);
        if (given && count == 1) axis = given[0];
    }
    rw_cut_inputs(r, 2);
    rw_set_int(r, r->node, "axis", axis);
}

void attention_24_down(rewrite *r)
{
    if (rw_input(r, 6)) rw_refuse(r, "input 6 'nonpad_kv_seqlen' was introduced in opset 24");
    rw_cut_inputs(r, 6);
}

/* Older versions of OptionalHasElement require the input. If it is omitted, the result is the
 * constant false. */
void optional_down(rewrite *r)
{
    pgy_tensor *none = NULL;
    if (rw_input(r, 0)) return;
    rw_become(r, "Constant", 0);
    if (!r->status) r->status = pgy_tensor_create(&none, PGY_BOOL, 0, NULL, r->err); /* false */
    rw_set_tensor(r, r->node, "value", none);
    pgy_tensor_release(none);
}

void scan_9(rewrite *r)
{
    rw_refuse(r, "Scan has a batch axis in opset 8, but not from opset 9 on");
}
