/* SPDX-License-Identifier: Apache-2.0 */
/* Col2Im: puts columns of blocks back into an image and sums overlapping elements. Input
 * [N, C * block, L] gives [N, C, image...], where L is the number of block positions. */
#include <inttypes.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"
#include "ops/class_window.h"

static const op_attr_def ATTRS[] = {
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {0},
};

/* Makes dims for an image of unknown size, one per axis; NULL: the number of axes is unknown, too.
 */
static const dim *unknown_image(op_infer *c, size_t *axes)
{
    const op_value *image = &c->inputs[1], *block = &c->inputs[2];
    int64_t count = -1;
    if (image->rank == 1 && dim_is_const(image->dims[0])) count = image->dims[0].value;
    if (count < 0 && block->rank == 1 && dim_is_const(block->dims[0])) count = block->dims[0].value;
    static const char *const LISTS[] = {"dilations", "strides", "pads"};
    for (size_t i = 0, given; count < 0 && i < 3; i++)
        if (op_attr_ints(c->node, LISTS[i], &given)) count = (int64_t)(i < 2 ? given : given / 2);
    if (count < 1 || count > PGY_MAX_RANK - 2) return NULL;
    dim *dims = op_dims(c, (size_t)count);
    for (int64_t i = 0; dims && i < count; i++)
        dims[i] = dim_unknown(c->dims, "the shape of the image is computed at run time");
    *axes = (size_t)count;
    return dims;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const dim *image, *block;
    size_t axes, count;
    window w;
    pgy_status st = rank_check(c, 0, 3, 3, err);
    if (st) return st;
    if (!rule_values(c, 1, &image, &axes) && !(image = unknown_image(c, &axes))) {
        op_set_unknown(c, 0, x->dtype, -1, "the shape of the image is computed at run time");
        return PGY_OK;
    }
    st = window_read(&w, c->node, axes, err);
    dim *dims = op_dims(c, axes + 2);
    if (st) return st;
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] =
        x->rank < 0 ? dim_unknown(c->dims, "the shape of the input is not known") : x->dims[0];
    dims[1] = dim_unknown(c->dims, "the shape of the blocks is computed at run time");
    if (x->rank >= 0 && rule_values(c, 2, &block, &count)) {
        if (count != axes)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "the blocks have %zu axes, but the image has %zu", count, axes);
        dims[1] = dim_div_floor(c->dims, x->dims[1], op_dims_product(c, block, 0, count));
    }
    for (size_t i = 0; i < axes; i++) {
        dims[i + 2] = image[i];
        if (rule_is_negative(image[i]))
            return op_error(c->node, err, PGY_E_SHAPE, "the image has size %" PRId64,
                            image[i].value);
    }
    op_set_output(c, 0, x->dtype, (int32_t)axes + 2, dims);
    return PGY_OK;
}

typedef struct folding {
    window w;
    const void *x;
    void *y;
    size_t taps, places, plane;
} folding;

#define T double
#define NAME fold_f64
#include "ops/col2_im.inc"
#undef T
#undef NAME
#define T uint64_t
#define NAME fold_u64
#include "ops/col2_im.inc"
#undef T
#undef NAME

/* Computes the number of block positions along each axis; their product must equal the input's
 * columns. */
static pgy_status find_places(folding *f, const op_eval *c, pgy_error *err)
{
    const int64_t *shape = in_shape(c, 0);
    double taps = 1, places = 1;
    for (size_t i = 0; i < f->w.rank; i++) {
        const int64_t room =
            f->w.in[i] + f->w.begin[i] + f->w.end[i] - f->w.dilation[i] * (f->w.kernel[i] - 1) - 1;
        f->w.out[i] = room < 0 ? 0 : room / f->w.stride[i] + 1;
        taps *= (double)f->w.kernel[i];
        places *= (double)f->w.out[i];
    }
    if (places != (double)shape[2] || taps > INT32_MAX || shape[1] % (int64_t)taps)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 0 has %" PRId64 " columns of %" PRId64
                        ", but %.0f blocks of %.0f elements fit the image",
                        shape[2], shape[1], places, taps);
    f->taps = (size_t)taps;
    f->places = (size_t)places;
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    folding f = {.plane = 1};
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "!II", err);
    if (!st) st = rule_output(c, 0, &y, err);
    const size_t axes = st ? 0 : in_count(c, 1);
    if (!st) st = window_read(&f.w, c->node, axes, err);
    if (!st) st = window_kernel(&f.w, c->node, in_i64(c, 2), err);
    if (st) return st;
    for (size_t i = 0; i < axes; i++) {
        f.w.in[i] = in_i64(c, 1)[i];
        if (f.w.in[i] > INT64_C(1) << 40)
            return op_error(c->node, err, PGY_E_SHAPE, "the image has size %" PRId64, f.w.in[i]);
        f.plane *= (size_t)f.w.in[i];
    }
    st = find_places(&f, c, err);
    if (st) return st;
    f.x = in_data(c, 0);
    f.y = out_data(c, 0);
    const pgy_dtype storage = pgy_tensor_dtype(y);
    if (storage != PGY_F64 && storage != PGY_I64 && storage != PGY_U64)
        return op_error(c->node, err, PGY_E_TYPE, "elements of type %s cannot be added",
                        pgy_dtype_name(c->outputs[0].dtype));
    if (!out_count(c, 0)) return PGY_OK;
    rows_run((size_t)(out_shape(c, 0)[0] * out_shape(c, 0)[1]), f.taps * f.places * 8,
             storage == PGY_F64 ? fold_f64 : fold_u64, &f);
    return PGY_OK;
}

const op_def OP_col2_im[] = {
    RULE_ROW("Col2Im", 18, 3, 3, ATTRS, infer, eval),
    {0},
};
