/* SPDX-License-Identifier: Apache-2.0 */
/* Layers with windows over the spatial axes: convolutions, pooling, padding, resizing, sampling.
 * Explicit paddings are ONNX's pads. ONNX rounds up only in pooling, so a convolution that rounds
 * up gets more padding at the end. */
#include <string.h>

#include "engine/network/network.h"

/* A window with the attributes of ONNX's Conv and pooling operators. */
typedef struct window {
    size_t axes;
    int64_t stride[PGY_MAX_SPATIAL], dilation[PGY_MAX_SPATIAL], pads[2 * PGY_MAX_SPATIAL];
} window;

static window read_window(builder *b, const pgy_window *p, int32_t rank)
{
    window w = {0};
    if (b->status) return w;
    if (rank < 3 || rank > 2 + PGY_MAX_SPATIAL) {
        build_fail(b, PGY_E_SHAPE,
                   "the input has rank %d; expected batch, channels and 1 to %d spatial axes", rank,
                   PGY_MAX_SPATIAL);
        return w;
    }
    w.axes = (size_t)rank - 2;
    if ((size_t)p->padding_mode > PGY_PADDING_SAME_LOWER)
        build_fail(b, PGY_E_ARGUMENT, "%d is not a padding mode", (int)p->padding_mode);
    for (size_t i = 0; i < w.axes; i++) {
        w.stride[i] = p->stride[i] ? p->stride[i] : 1;
        w.dilation[i] = p->dilation[i] ? p->dilation[i] : 1;
        w.pads[i] = p->pre_padding[i];
        w.pads[w.axes + i] = p->post_padding[i];
        const bool pads = p->pre_padding[i] || p->post_padding[i];
        if (w.stride[i] < 0 || w.dilation[i] < 0 || p->pre_padding[i] < 0 || p->post_padding[i] < 0)
            build_fail(b, PGY_E_ARGUMENT,
                       "stride, dilation or padding of spatial axis %zu is negative", i);
        if (pads && p->padding_mode >= PGY_PADDING_SAME_UPPER)
            build_fail(b, PGY_E_ARGUMENT,
                       "explicit paddings and a SAME padding mode exclude each other");
    }
    return w;
}

static pgy_value *set_window(builder *b, pgy_value *v, const window *w, pgy_padding_mode mode)
{
    build_ints(b, v, "strides", w->stride, w->axes);
    build_ints(b, v, "dilations", w->dilation, w->axes);
    if (mode == PGY_PADDING_SAME_UPPER) return build_text(b, v, "auto_pad", "SAME_UPPER");
    if (mode == PGY_PADDING_SAME_LOWER) return build_text(b, v, "auto_pad", "SAME_LOWER");
    return build_ints(b, v, "pads", w->pads, 2 * w->axes);
}

/* ---- Convolutions --------------------------------------------------------------------------- */

/* Adds padding at the end of each axis, so that the last window that begins inside fits. */
static void round_up(builder *b, window *w, const pgy_value *input, const pgy_value *kernel)
{
    for (size_t i = 0; i < w->axes; i++) {
        const int64_t in = build_size(b, input, (int32_t)i + 2);
        const int64_t size = build_size(b, kernel, (int32_t)i + 2);
        if (b->status) return;
        if (w->stride[i] == 1) continue;
        if (in < 0 || size < 1) {
            build_fail(b, PGY_E_UNSUPPORTED,
                       "padding mode EXPLICIT_ROUND_UP needs a fixed size of spatial axis %zu", i);
            return;
        }
        const int64_t room =
            in + w->pads[i] + w->pads[w->axes + i] - w->dilation[i] * (size - 1) - 1;
        if (room > 0) w->pads[w->axes + i] += (w->stride[i] - room % w->stride[i]) % w->stride[i];
    }
}

static pgy_status convolve(pgy_layer **out, pgy_network *net, pgy_layer_type type, const char *op,
                           pgy_value *input, const pgy_convolution *p, pgy_error *err)
{
    builder b = build_with(net, type, input, err);
    if (!p) build_fail(&b, PGY_E_ARGUMENT, "the parameters must not be NULL");
    if (b.status) return build_finish(&b, out);
    build_input(&b, p->kernel, "the kernel");
    build_optional(&b, p->bias);
    window w = read_window(&b, &p->window, build_rank(&b, input));
    if (type == PGY_LAYER_CONVOLUTION && p->window.padding_mode == PGY_PADDING_EXPLICIT_ROUND_UP)
        round_up(&b, &w, input, p->kernel);
    pgy_value *y = build_emit(&b, op, 3, input, p->kernel, p->bias);
    set_window(&b, y, &w, p->window.padding_mode);
    build_output(&b, build_int(&b, y, "group", p->groups ? p->groups : 1));
    return build_finish(&b, out);
}

pgy_status pgy_network_add_convolution(pgy_layer **out, pgy_network *net, pgy_value *input,
                                       const pgy_convolution *p, pgy_error *err)
{
    return convolve(out, net, PGY_LAYER_CONVOLUTION, "Conv", input, p, err);
}

pgy_status pgy_network_add_deconvolution(pgy_layer **out, pgy_network *net, pgy_value *input,
                                         const pgy_convolution *p, pgy_error *err)
{
    return convolve(out, net, PGY_LAYER_DECONVOLUTION, "ConvTranspose", input, p, err);
}

/* ---- Pooling -------------------------------------------------------------------------------- */

static pgy_value *pool(builder *b, const char *op, pgy_value *input, const window *w,
                       const pgy_pooling *p)
{
    pgy_value *y = build_emit(b, op, 1, input);
    build_ints(b, y, "kernel_shape", p->window_size, w->axes);
    set_window(b, y, w, p->window.padding_mode);
    if (p->window.padding_mode == PGY_PADDING_EXPLICIT_ROUND_UP) build_int(b, y, "ceil_mode", 1);
    if (op[0] == 'A') build_int(b, y, "count_include_pad", p->average_counts_padding);
    return y;
}

static pgy_value *blend(builder *b, pgy_value *input, const window *w, const pgy_pooling *p)
{
    pgy_value *most = pool(b, "MaxPool", input, w, p), *mean = pool(b, "AveragePool", input, w, p);
    const pgy_dtype dtype = build_dtype(b, input);
    most = build_emit(b, "Mul", 2, most, build_number(b, dtype, 1 - p->blend_factor));
    mean = build_emit(b, "Mul", 2, mean, build_number(b, dtype, p->blend_factor));
    return build_emit(b, "Add", 2, most, mean);
}

pgy_status pgy_network_add_pooling(pgy_layer **out, pgy_network *net, pgy_value *input,
                                   const pgy_pooling *p, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_POOLING, input, err);
    if (!p) build_fail(&b, PGY_E_ARGUMENT, "the parameters must not be NULL");
    if (b.status) return build_finish(&b, out);
    const window w = read_window(&b, &p->window, build_rank(&b, input));
    switch (p->type) {
    case PGY_POOLING_MAX: build_output(&b, pool(&b, "MaxPool", input, &w, p)); break;
    case PGY_POOLING_AVERAGE: build_output(&b, pool(&b, "AveragePool", input, &w, p)); break;
    case PGY_POOLING_MAX_AVERAGE_BLEND: build_output(&b, blend(&b, input, &w, p)); break;
    default: build_fail(&b, PGY_E_ARGUMENT, "%d is not a pooling type", (int)p->type);
    }
    return build_finish(&b, out);
}

pgy_status pgy_network_add_lrn(pgy_layer **out, pgy_network *net, pgy_value *input, int64_t size,
                               double alpha, double beta, double k, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_LRN, input, err);
    if (size < 1 || size % 2 == 0)
        build_fail(&b, PGY_E_ARGUMENT, "the window is %lld; expected an odd number above 0",
                   (long long)size);
    pgy_value *y = build_emit(&b, "LRN", 1, input);
    build_int(&b, y, "size", size);
    build_float(&b, y, "alpha", alpha);
    build_float(&b, y, "beta", beta);
    build_output(&b, build_float(&b, y, "bias", k));
    return build_finish(&b, out);
}

pgy_status pgy_network_add_padding(pgy_layer **out, pgy_network *net, pgy_value *input,
                                   size_t count, const int64_t *pre_padding,
                                   const int64_t *post_padding, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_PADDING, input, err);
    int64_t pads[2 * PGY_MAX_RANK] = {0};
    const int32_t rank = build_rank(&b, input);
    if (!b.status && (count == 0 || count > (size_t)rank || !pre_padding || !post_padding))
        build_fail(&b, PGY_E_SHAPE,
                   "paddings are missing or given for %zu axes, but the input has rank %d", count,
                   rank);
    const size_t first = (size_t)rank - count;
    for (size_t i = 0; !b.status && i < count; i++) {
        pads[first + i] = pre_padding[i];
        pads[(size_t)rank + first + i] = post_padding[i];
    }
    build_output(&b, build_emit(&b, "Pad", 2, input, build_vector(&b, pads, 2 * (size_t)rank)));
    return build_finish(&b, out);
}

/* ---- Resize --------------------------------------------------------------------------------- */

static const char *const MODES[] = {[PGY_INTERPOLATION_NEAREST] = "nearest",
                                    [PGY_INTERPOLATION_LINEAR] = "linear",
                                    [PGY_INTERPOLATION_CUBIC] = "cubic"};
static const char *const COORDINATES[] = {[PGY_COORDINATES_ASYMMETRIC] = "asymmetric",
                                          [PGY_COORDINATES_ALIGN_CORNERS] = "align_corners",
                                          [PGY_COORDINATES_HALF_PIXEL] = "half_pixel"};
static const char *const ROUNDS[] = {[PGY_RESIZE_ROUND_FLOOR] = "floor",
                                     [PGY_RESIZE_ROUND_CEIL] = "ceil",
                                     [PGY_RESIZE_ROUND_HALF_UP] = "round_prefer_ceil",
                                     [PGY_RESIZE_ROUND_HALF_DOWN] = "round_prefer_floor"};

static pgy_value *float_vector(builder *b, const double *values, size_t count)
{
    const int64_t shape[1] = {(int64_t)count};
    pgy_tensor *t = NULL;
    pgy_error err = {0};
    if (b->status) return NULL;
    const pgy_status st = pgy_tensor_create(&t, PGY_F32, 1, shape, &err);
    if (st) build_fail(b, st, "%s", err.text);
    for (size_t i = 0; t && i < count; i++) ((float *)pgy_tensor_data(t))[i] = (float)values[i];
    pgy_value *v = build_tensor(b, t, "scales");
    pgy_tensor_release(t);
    return v;
}

pgy_status pgy_network_add_resize(pgy_layer **out, pgy_network *net, pgy_value *input,
                                  const pgy_resize *p, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_RESIZE, input, err);
    if (!p || !!p->dims + !!p->scales + !!p->size != 1)
        build_fail(&b, PGY_E_ARGUMENT, "exactly one of dims, scales and size must be given");
    if (b.status) return build_finish(&b, out);
    if ((size_t)p->mode > PGY_INTERPOLATION_CUBIC ||
        (size_t)p->coordinates > PGY_COORDINATES_HALF_PIXEL ||
        (size_t)p->nearest_rounding > PGY_RESIZE_ROUND_HALF_DOWN) {
        build_fail(&b, PGY_E_ARGUMENT,
                   "the interpolation, coordinate transformation or rounding does not exist");
        return build_finish(&b, out);
    }
    build_optional(&b, p->size);
    const size_t rank = (size_t)build_rank(&b, input);
    pgy_value *scales = p->scales ? float_vector(&b, p->scales, rank) : NULL;
    pgy_value *size = p->dims ? build_vector(&b, p->dims, rank) : p->size;
    pgy_value *y = build_emit(&b, "Resize", 4, input, NULL, scales, size);
    const bool upper = p->single_pixel_is_upper && p->coordinates == PGY_COORDINATES_HALF_PIXEL;
    build_text(&b, y, "mode", MODES[p->mode]);
    build_text(&b, y, "coordinate_transformation_mode",
               upper ? "pytorch_half_pixel" : COORDINATES[p->coordinates]);
    build_text(&b, y, "nearest_mode", ROUNDS[p->nearest_rounding]);
    if (p->cubic_coefficient != 0) build_float(&b, y, "cubic_coeff_a", p->cubic_coefficient);
    if (p->exclude_outside) build_int(&b, y, "exclude_outside", 1);
    build_output(&b, y);
    return build_finish(&b, out);
}

pgy_status pgy_network_add_grid_sample(pgy_layer **out, pgy_network *net, pgy_value *input,
                                       pgy_value *grid, pgy_interpolation interpolation,
                                       pgy_sample_mode mode, bool align_corners, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_GRID_SAMPLE, input, err);
    const char *outside = mode == PGY_SAMPLE_FILL      ? "zeros"
                          : mode == PGY_SAMPLE_CLAMP   ? "border"
                          : mode == PGY_SAMPLE_REFLECT ? "reflection"
                                                       : NULL;
    build_input(&b, grid, "the grid");
    if (!outside || (size_t)interpolation > PGY_INTERPOLATION_CUBIC)
        build_fail(&b, PGY_E_ARGUMENT,
                   "sample mode %d or interpolation %d is not supported; expected mode FILL, CLAMP "
                   "or REFLECT",
                   (int)mode, (int)interpolation);
    if (b.status) return build_finish(&b, out);
    pgy_value *y = build_emit(&b, "GridSample", 2, input, grid);
    build_text(&b, y, "mode", MODES[interpolation]);
    build_text(&b, y, "padding_mode", outside);
    build_output(&b, build_int(&b, y, "align_corners", align_corners));
    return build_finish(&b, out);
}
