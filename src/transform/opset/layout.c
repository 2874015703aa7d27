/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent operators with the batch first (opset 14), as transposes around those without; and
 * quantisation per axis and with a wanted type. */
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

/* Before opset 13 scale and zero point are one number each. */
void quantize_axis_down(rewrite *r)
{
    const int32_t rank = rw_rank(rw_input(r, SCALE));
    const bool single = rank == 1 && rw_size(rw_input(r, SCALE), 0) == 1;
    if (rank != 0 && !single) {
        rw_refuse(r, rank < 0 ? "the rank of its scale is not known, and scales per axis came with "
                                "opset 13"
                              : "scales per axis came with opset 13");
        return;
    }
    rw_drop(r, "axis");
    if (rank == 0) return;
    rw_set_input(r, SCALE, rw_emit(r, "Squeeze", 1, rw_input(r, SCALE)));
    if (rw_input(r, ZERO)) rw_set_input(r, ZERO, rw_emit(r, "Squeeze", 1, rw_input(r, ZERO)));
}

/* The wanted type was that of the zero point. */
void quantize_output_down(rewrite *r)
{
    const int64_t type = rw_int(r, "output_dtype", 0);
    const pgy_dtype dtype = pgy_dtype_from_onnx((int)type);
    rw_drop(r, "output_dtype");
    if (type == 0 || rw_input(r, ZERO) || r->status) return;
    if (dtype == PGY_DTYPE_NONE || pgy_dtype_describe(dtype)->bits < 8) {
        rw_refuse(r, "output type %lld came with opset 21", (long long)type);
        return;
    }
    const int64_t one = 1;
    pgy_tensor *zero = NULL;
    r->status = pgy_tensor_create(&zero, dtype, 1, &one, r->err); /* zeroed */
    pgy_value *shape = rw_emit(r, "Shape", 1, rw_input(r, SCALE));
    pgy_value *zeros = rw_emit(r, "ConstantOfShape", 1, shape);
    if (zeros) {
        rw_set_tensor(r, zeros->producer, "value", zero);
        box_of(zeros)->known.dtype = dtype;
    }
    pgy_tensor_release(zero);
    rw_set_input(r, ZERO, zeros);
}

/* The result has the type of the scale. */
void dequantize_output_down(rewrite *r)
{
    const int64_t type = rw_int(r, "output_dtype", 0);
    const pgy_dtype dtype = pgy_dtype_from_onnx((int)type);
    rw_drop(r, "output_dtype");
    if (dtype) rw_set_input(r, SCALE, rw_cast(r, rw_input(r, SCALE), dtype));
}
