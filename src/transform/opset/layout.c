/* SPDX-License-Identifier: Apache-2.0 */
/* Expresses recurrent operators with the batch first (opset 14) by Transposes around the older
 * layout, and quantisation per axis or with an explicit output type. */
#include "transform/opset/adapters.h"

/* ---- Recurrent operators -------------------------------------------------------------------- */

void layout_down(rewrite *r)
{
    static const int64_t SWAP[3] = {1, 0, 2}, OUT[4] = {2, 0, 1, 3};
    static const size_t STATES[] = {0, 5, 6};
    const bool batch_first = rw_int(r, "layout", 0) != 0;
    rw_drop(r, "layout");
    if (!batch_first) return;
    for (size_t i = 0; i < sizeof STATES / sizeof *STATES; i++)
        if (rw_input(r, STATES[i]))
            rw_set_input(r, STATES[i], rw_transpose(r, rw_input(r, STATES[i]), SWAP, 3));
    for (size_t i = 0; i < r->node->output_count; i++) {
        if (!rw_wants(r, i)) continue;
        pgy_value *old = rw_detach(r, i);
        if (!old) return;
        rw_emit_into(r, old, "Transpose", 1, r->node->outputs[i]);
        rw_with_ints(r, old, "perm", i ? SWAP : OUT, i ? 3 : 4);
    }
}

/* ---- Quantisation --------------------------------------------------------------------------- */

enum { SCALE = 1, ZERO = 2 };

static bool one_number(const pgy_value *v)
{
    return rw_rank(v) == 0 || (rw_rank(v) == 1 && rw_size(v, 0) == 1);
}

static void make_scalar(rewrite *r, size_t i)
{
    if (rw_input(r, i) && rw_rank(rw_input(r, i)) != 0)
        rw_set_input(r, i, rw_emit(r, "Squeeze", 1, rw_input(r, i)));
}

/* Scales or zero points along an axis, as float32 in a shape that broadcasts to the data; NULL:
 * none. */
static pgy_value *along_axis(rewrite *r, size_t i)
{
    int64_t others[PGY_MAX_RANK];
    size_t count = 0;
    const int32_t rank = rw_rank(rw_input(r, 0));
    int64_t axis = rw_int(r, "axis", 1);
    if (!rw_input(r, i)) return NULL;
    if (rank < 0 || rw_rank(rw_input(r, i)) != 1)
        rw_refuse(
            r,
            "scales per axis were introduced in opset 13, and the ranks of its inputs are unknown");
    if (axis < 0) axis += rank;
    for (int32_t k = 0; !r->status && k < rank; k++)
        if (k != axis) others[count++] = k;
    pgy_value *v = rw_cast(r, rw_input(r, i), PGY_F32);
    return count ? rw_unsqueeze(r, v, others, count) : v;
}

void dequantize_axis_down(rewrite *r)
{
    if (one_number(rw_input(r, SCALE))) {
        make_scalar(r, SCALE);
        make_scalar(r, ZERO);
        rw_drop(r, "axis");
        return;
    }
    pgy_value *x = rw_cast(r, rw_input(r, 0), PGY_F32), *zero = along_axis(r, ZERO);
    pgy_value *scale = along_axis(r, SCALE);
    rw_become(r, "Mul", 2, zero ? rw_emit(r, "Sub", 2, x, zero) : x, scale);
}

void quantize_axis_down(rewrite *r)
{
    const pgy_dtype type = rw_input(r, ZERO) ? rw_dtype(rw_input(r, ZERO)) : PGY_U8;
    if (one_number(rw_input(r, SCALE))) {
        make_scalar(r, SCALE);
        make_scalar(r, ZERO);
        rw_drop(r, "axis");
        return;
    }
    if (type != PGY_U8 && type != PGY_I8)
        rw_refuse(
            r,
            "scales per axis were introduced in opset 13, and its type is neither int8 nor uint8");
    pgy_value *x = rw_cast(r, rw_input(r, 0), PGY_F32), *zero = along_axis(r, ZERO);
    pgy_value *rounded = rw_emit(r, "Round", 1, rw_emit(r, "Div", 2, x, along_axis(r, SCALE)));
    pgy_value *moved = zero ? rw_emit(r, "Add", 2, rounded, zero) : rounded;
    pgy_value *low = rw_scalar(r, PGY_F32, type == PGY_I8 ? -128 : 0);
    pgy_value *high = rw_scalar(r, PGY_F32, type == PGY_I8 ? 127 : 255);
    rw_become(r, "Cast", 1, rw_emit(r, "Clip", 3, moved, low, high));
    rw_set_int(r, r->node, "to", pgy_dtype_describe(type ? type : PGY_U8)->onnx);
}

/* Older versions take the output type from the zero point. */
void quantize_output_down(rewrite *r)
{
    const int64_t type = rw_int(r, "output_dtype", 0);
    const pgy_dtype dtype = pgy_dtype_from_onnx((int)type);
    rw_drop(r, "output_dtype");
    if (type == 0 || rw_input(r, ZERO) || r->status) return;
    if (dtype == PGY_DTYPE_NONE || pgy_dtype_describe(dtype)->bits < 8) {
        rw_refuse(r, "output type %lld was introduced in opset 21", (long long)type);
        return;
    }
    const int64_t one = 1;
    pgy_tensor *zero = NULL;
    r->status = pgy_tensor_create(&zero, dtype, 1, &one, r->err); /* zero-initialised */
    pgy_value *shape = rw_emit(r, "Shape", 1, rw_input(r, SCALE));
    pgy_value *zeros = rw_emit(r, "ConstantOfShape", 1, shape);
    if (zeros) {
        rw_set_tensor(r, zeros->producer, "value", zero);
        box_of(zeros)->known.dtype = dtype;
    }
    pgy_tensor_release(zero);
    rw_set_input(r, ZERO, zeros);
}

/* Older versions give the result the type of the scale. */
void dequantize_output_down(rewrite *r)
{
    const int64_t type = rw_int(r, "output_dtype", 0);
    const pgy_dtype dtype = pgy_dtype_from_onnx((int)type);
    rw_drop(r, "output_dtype");
    if (dtype) rw_set_input(r, SCALE, rw_cast(r, rw_input(r, SCALE), dtype));
}
