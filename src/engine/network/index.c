/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that read or write elements by index: gather, scatter, one-hot, indices of non-zero
 * elements, non-maximum suppression, reversed sequences. */
#include "engine/network/network.h"

/* ---- Gather --------------------------------------------------------------------------------- */

/* Gathers slices along an axis, with other indices for each item of the batch. The axis moves
 * behind the batch axis, where GatherND with batch_dims = 1 can address it. */
static pgy_value *gather_in_batch(builder *b, pgy_value *data, pgy_value *indices, int32_t axis,
                                  int32_t rank)
{
    const int32_t of_indices = build_rank(b, indices);
    int64_t perm[2 * PGY_MAX_RANK];
    if (b->status) return NULL;
    if (of_indices < 1 || axis < 1 || rank + of_indices > PGY_MAX_RANK) {
        build_fail(b, PGY_E_SHAPE,
                   "axis %d and indices of rank %d do not fit one elementwise axis: axis and rank "
                   "must be at least 1",
                   axis, of_indices);
        return NULL;
    }
    for (int32_t i = 0; i < rank; i++) perm[i] = i == 1 ? axis : i > 1 && i <= axis ? i - 1 : i;
    pgy_value *x = build_transpose(b, data, perm, rank);
    x = build_emit(b, "GatherND", 2, x, build_unsqueeze(b, indices, -1));
    build_int(b, x, "batch_dims", 1);
    /* axes of the result: batch, those before the axis, indices, those after the axis */
    const int32_t result = rank + of_indices - 2, before = axis - 1;
    int32_t at = 0;
    perm[at++] = 0;
    for (int32_t i = 0; i < before; i++) perm[at++] = of_indices + i;
    for (int32_t i = 1; i < of_indices; i++) perm[at++] = i;
    while (at < result) {
        perm[at] = at;
        at++;
    }
    return build_transpose(b, x, perm, result);
}

pgy_status pgy_network_add_gather(pgy_layer **out, pgy_network *net, pgy_value *data,
                                  pgy_value *indices, pgy_gather_mode mode, int32_t axis,
                                  int32_t elementwise, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_GATHER, data, err);
    build_input(&b, indices, "the indices");
    const int32_t rank = build_rank(&b, data);
    if ((size_t)mode > PGY_GATHER_ND)
        build_fail(&b, PGY_E_ARGUMENT, "%d is not a gather mode", (int)mode);
    if (elementwise < 0 || (mode == PGY_GATHER_DEFAULT && elementwise > 1) ||
        (mode == PGY_GATHER_ELEMENT && elementwise))
        build_fail(&b, PGY_E_ARGUMENT, "this gather mode does not allow %d elementwise axes",
                   elementwise);
    const int32_t at = mode == PGY_GATHER_ND ? 0 : build_axis(&b, axis, rank);
    if (b.status) return build_finish(&b, out);
    if (mode == PGY_GATHER_ND)
        build_output(&b, build_int(&b, build_emit(&b, "GatherND", 2, data, indices), "batch_dims",
                                   elementwise));
    else if (elementwise)
        build_output(&b, gather_in_batch(&b, data, indices, at, rank));
    else
        build_output(
            &b, build_int(&b,
                          build_emit(&b, mode == PGY_GATHER_ELEMENT ? "GatherElements" : "Gather",
                                     2, data, indices),
                          "axis", at));
    return build_finish(&b, out);
}

/* ---- Scatter and others --------------------------------------------------------------------- */

pgy_status pgy_network_add_scatter(pgy_layer **out, pgy_network *net, pgy_value *data,
                                   pgy_value *indices, pgy_value *updates, pgy_scatter_mode mode,
                                   int32_t axis, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_SCATTER, data, err);
    build_input(&b, indices, "the indices");
    build_input(&b, updates, "the updates");
    if ((size_t)mode > PGY_SCATTER_ND)
        build_fail(&b, PGY_E_ARGUMENT, "%d is not a scatter mode", (int)mode);
    if (mode == PGY_SCATTER_ND) {
        build_output(&b, build_emit(&b, "ScatterND", 3, data, indices, updates));
    } else {
        const int32_t at = build_axis(&b, axis, build_rank(&b, data));
        pgy_value *y = build_emit(&b, "ScatterElements", 3, data, indices, updates);
        build_output(&b, build_int(&b, y, "axis", at));
    }
    return build_finish(&b, out);
}

pgy_status pgy_network_add_one_hot(pgy_layer **out, pgy_network *net, pgy_value *indices,
                                   pgy_value *values, pgy_value *depth, int32_t axis,
                                   pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_ONE_HOT, indices, err);
    build_input(&b, values, "the values");
    build_input(&b, depth, "the depth");
    const int32_t at = build_axis(&b, axis, build_rank(&b, indices) + 1);
    pgy_value *y = build_emit(&b, "OneHot", 3, indices, depth, values);
    build_output(&b, build_int(&b, y, "axis", at));
    return build_finish(&b, out);
}

static void check_type(builder *b, pgy_dtype dtype)
{
    if (dtype != PGY_I32 && dtype != PGY_I64)
        build_fail(b, PGY_E_TYPE, "the type for indices is %s; expected int32 or int64",
                   pgy_dtype_name(dtype));
}

pgy_status pgy_network_add_non_zero(pgy_layer **out, pgy_network *net, pgy_value *input,
                                    pgy_dtype indices_type, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_NON_ZERO, input, err);
    check_type(&b, indices_type);
    build_output(&b, build_cast(&b, build_emit(&b, "NonZero", 1, input), indices_type));
    return build_finish(&b, out);
}

pgy_status pgy_network_add_nms(pgy_layer **out, pgy_network *net, const pgy_nms *p, pgy_error *err)
{
    static const int64_t SWAPPED[3] = {0, 2, 1};
    builder b = build_start(net, PGY_LAYER_NMS, err);
    if (!p) build_fail(&b, PGY_E_ARGUMENT, "the parameters must not be NULL");
    if (b.status) return build_finish(&b, out);
    const pgy_dtype dtype = p->indices_type ? p->indices_type : PGY_I32;
    const int64_t one = 1;
    build_input(&b, p->boxes, "the boxes");
    build_input(&b, p->scores, "the scores");
    build_input(&b, p->max_per_class, "the number of boxes for each class");
    check_type(&b, dtype);
    if ((size_t)p->format > PGY_BOX_CENTER_SIZES)
        build_fail(&b, PGY_E_ARGUMENT, "%d is not a box format", (int)p->format);
    if (build_rank(&b, p->scores) != 3 || build_rank(&b, p->boxes) != 3)
        build_fail(&b, PGY_E_SHAPE, "the boxes and the scores do not both have rank 3");
    pgy_value *scores = build_transpose(&b, p->scores, SWAPPED, 3);
    pgy_value *most = build_cast(&b, build_reshape(&b, p->max_per_class, &one, 1), PGY_I64);
    pgy_value *iou = build_number(&b, PGY_F32, p->iou_threshold);
    pgy_value *least =
        p->has_score_threshold ? build_number(&b, PGY_F32, p->score_threshold) : NULL;
    pgy_value *y = build_emit(&b, "NonMaxSuppression", 5, p->boxes, scores, most, iou, least);
    build_int(&b, y, "center_point_box", p->format == PGY_BOX_CENTER_SIZES);
    build_output(&b, build_cast(&b, y, dtype));
    build_output(&b, build_cast(&b, build_dim(&b, y, 0), dtype));
    return build_finish(&b, out);
}

pgy_status pgy_network_add_reverse_sequence(pgy_layer **out, pgy_network *net, pgy_value *input,
                                            pgy_value *lengths, int32_t batch_axis,
                                            int32_t sequence_axis, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_REVERSE_SEQUENCE, input, err);
    build_input(&b, lengths, "the lengths");
    const int32_t rank = build_rank(&b, input);
    const int32_t batch = build_axis(&b, batch_axis, rank);
    const int32_t time = build_axis(&b, sequence_axis, rank);
    if (!b.status && (batch > 1 || time > 1 || batch == time))
        build_fail(&b, PGY_E_UNSUPPORTED,
                   "batch axis %d and sequence axis %d; expected 0 and 1, or 1 and 0", batch, time);
    pgy_value *y = build_emit(&b, "ReverseSequence", 2, input, build_cast(&b, lengths, PGY_I64));
    build_int(&b, y, "batch_axis", batch);
    build_output(&b, build_int(&b, y, "time_axis", time));
    return build_finish(&b, out);
}
