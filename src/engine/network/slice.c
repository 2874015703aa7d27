/* SPDX-License-Identifier: Apache-2.0 */
/* Slices. Constant ranges inside the bounds become ONNX's Slice. Otherwise the indices along each
 * axis are computed, mapped into the bounds by the sample mode, and gathered; the fill mode then
 * replaces elements from outside. */
#include "engine/network/network.h"

typedef struct slicing {
    builder *b;
    const pgy_slice *p;
    pgy_value *input;
    size_t count;
    int64_t axes[PGY_MAX_RANK];
    int32_t rank;
} slicing;

static void read_axes(slicing *s)
{
    uint64_t seen = 0;
    s->rank = build_rank(s->b, s->input);
    s->count = s->p->count ? s->p->count : (size_t)s->rank;
    if (s->count > (size_t)s->rank)
        build_fail(s->b, PGY_E_SHAPE, "%zu axes are given to slice, but the input has rank %d",
                   s->count, s->rank);
    for (size_t i = 0; !s->b->status && i < s->count; i++) {
        const int64_t axis = s->p->axes ? s->p->axes[i] : (int64_t)i;
        s->axes[i] = axis < -s->rank || axis >= s->rank ? build_axis(s->b, PGY_MAX_RANK, s->rank)
                                                        : build_axis(s->b, (int32_t)axis, s->rank);
        if (!s->b->status && (seen >> s->axes[i] & 1))
            build_fail(s->b, PGY_E_SHAPE, "axis %lld is given twice", (long long)s->axes[i]);
        seen |= (uint64_t)1 << s->axes[i];
    }
}

static int64_t stride_of(const slicing *s, size_t i)
{
    return s->p->stride ? s->p->stride[i] : 1;
}

static void check_bounds(slicing *s, size_t i)
{
    const int64_t room = build_size(s->b, s->input, (int32_t)s->axes[i]);
    const int64_t start = s->p->start[i], size = s->p->size[i], stride = stride_of(s, i);
    if (s->b->status || size == 0) return;
    int64_t steps, last;
    if (size < 0 || __builtin_mul_overflow(size - 1, stride, &steps) ||
        __builtin_add_overflow(start, steps, &last))
        build_fail(s->b, PGY_E_SHAPE,
                   "the slice of axis %lld has size %lld, which is negative or overflows",
                   (long long)s->axes[i], (long long)size);
    else if (start < 0 || last < 0 || (room >= 0 && (start >= room || last >= room)))
        build_fail(s->b, PGY_E_SHAPE,
                   "the slice of axis %lld goes from %lld to %lld, outside of its %lld elements",
                   (long long)s->axes[i], (long long)start, (long long)last, (long long)room);
}

static pgy_value *inside(slicing *s)
{
    int64_t ends[PGY_MAX_RANK], strides[PGY_MAX_RANK];
    for (size_t i = 0; !s->b->status && i < s->count; i++) {
        strides[i] = stride_of(s, i);
        if (strides[i] == 0) {
            if (s->p->size[i] > 1)
                build_fail(s->b, PGY_E_ARGUMENT, "the stride of axis %lld is 0",
                           (long long)s->axes[i]);
            strides[i] = 1;
        }
        check_bounds(s, i);
        if (s->b->status) return NULL;
        ends[i] = s->p->start[i] + s->p->size[i] * strides[i];
        if (ends[i] < 0) ends[i] = INT64_MIN; /* a negative end: the slice runs down to entry 0 */
        if (s->p->size[i] == 0) ends[i] = s->p->start[i];
    }
    return build_emit(s->b, "Slice", 5, s->input, build_vector(s->b, s->p->start, s->count),
                      build_vector(s->b, ends, s->count), build_vector(s->b, s->axes, s->count),
                      build_vector(s->b, strides, s->count));
}

/* ---- Slices by computed index --------------------------------------------------------------- */

static pgy_value *entry(slicing *s, const int64_t *numbers, pgy_value *tensor, size_t i,
                        int64_t otherwise)
{
    if (tensor) return build_element(s->b, tensor, (int64_t)i);
    return build_index(s->b, numbers ? numbers[i] : otherwise);
}

static pgy_value *reflect(builder *b, pgy_value *at, pgy_value *room)
{
    pgy_value *one = build_index(b, 1), *two = build_index(b, 2);
    pgy_value *period = build_emit(b, "Mul", 2, build_emit(b, "Sub", 2, room, one), two);
    period = build_emit(b, "Max", 2, period, one); /* the period of an axis with one entry would
                                                      be 0 */
    at = build_emit(b, "Mod", 2, at, period);
    return build_emit(b, "Min", 2, at, build_emit(b, "Sub", 2, period, at));
}

static pgy_value *bring_inside(slicing *s, pgy_value *at, pgy_value *room)
{
    builder *b = s->b;
    if (s->p->mode == PGY_SAMPLE_STRICT_BOUNDS) return at;
    if (s->p->mode == PGY_SAMPLE_WRAP) return build_emit(b, "Mod", 2, at, room);
    if (s->p->mode == PGY_SAMPLE_REFLECT) return reflect(b, at, room);
    pgy_value *last = build_emit(b, "Sub", 2, room, build_index(b, 1));
    return build_emit(b, "Min", 2, build_emit(b, "Max", 2, at, build_index(b, 0)), last);
}

/* Replaces elements of x by the fill where the index on axis i was out of bounds. */
static pgy_value *fill(slicing *s, pgy_value *x, pgy_value *at, pgy_value *moved, size_t i)
{
    builder *b = s->b;
    int64_t dims[PGY_MAX_RANK];
    for (int32_t k = 0; k < s->rank; k++) dims[k] = 1;
    dims[s->axes[i]] = -1;
    pgy_value *was_inside = build_emit(b, "Equal", 2, at, moved);
    was_inside = build_reshape(b, was_inside, dims + s->axes[i], (size_t)(s->rank - s->axes[i]));
    pgy_value *number =
        s->p->fill ? build_scalar(b, s->p->fill) : build_number(b, build_dtype(b, s->input), 0);
    return build_emit(b, "Where", 3, was_inside, x, number);
}

static pgy_value *by_place(slicing *s)
{
    builder *b = s->b;
    pgy_value *x = s->input;
    for (size_t i = 0; !b->status && i < s->count; i++) {
        pgy_value *start = entry(s, s->p->start, s->p->start_at, i, 0);
        pgy_value *size = entry(s, s->p->size, s->p->size_at, i, 0);
        pgy_value *stride = entry(s, s->p->stride, s->p->stride_at, i, 1);
        pgy_value *at = build_emit(b, "Range", 3, build_index(b, 0), size, build_index(b, 1));
        at = build_emit(b, "Add", 2, build_emit(b, "Mul", 2, at, stride), start);
        pgy_value *moved = bring_inside(s, at, build_dim(b, s->input, s->axes[i]));
        x = build_int(b, build_emit(b, "Gather", 2, x, moved), "axis", s->axes[i]);
        if (s->p->mode == PGY_SAMPLE_FILL) x = fill(s, x, at, moved, i);
    }
    return x;
}

pgy_status pgy_network_add_slice(pgy_layer **out, pgy_network *net, pgy_value *input,
                                 const pgy_slice *p, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_SLICE, input, err);
    if (!p || !(p->start || p->start_at) || !(p->size || p->size_at))
        build_fail(&b, PGY_E_ARGUMENT, "start or size is missing");
    if (p && (size_t)p->mode > PGY_SAMPLE_REFLECT)
        build_fail(&b, PGY_E_ARGUMENT, "%d is not a sample mode", (int)p->mode);
    if (b.status) return build_finish(&b, out);
    build_optional(&b, p->start_at);
    build_optional(&b, p->size_at);
    build_optional(&b, p->stride_at);
    build_optional(&b, p->fill);
    slicing s = {.b = &b, .p = p, .input = input};
    read_axes(&s);
    const bool numbers = !p->start_at && !p->size_at && !p->stride_at;
    if (!b.status)
        build_output(&b,
                     numbers && p->mode == PGY_SAMPLE_STRICT_BOUNDS ? inside(&s) : by_place(&s));
    return build_finish(&b, out);
}
