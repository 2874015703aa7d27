/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows. Attribute values are limited to 31 bits, so that no product or sum of two of
 * them overflows. */
#include "ops/class_window.h"

#include <inttypes.h>

static const int64_t LIMIT = INT32_MAX;

static pgy_status read_list(int64_t *to, size_t count, const op_node *n, const char *name,
                            int64_t least, pgy_error *err)
{
    size_t given = 0;
    const int64_t *values = op_attr_ints(n, name, &given);
    if (!given) return PGY_OK;
    if (given != count)
        return op_error(n, err, PGY_E_ARGUMENT, "attribute %s has %zu values, but %zu are needed",
                        name, given, count);
    for (size_t i = 0; i < count; i++) {
        if (values[i] < least || values[i] > LIMIT)
            return op_error(n, err, PGY_E_ARGUMENT,
                            "attribute %s has the value %" PRId64 ", which is not in [%" PRId64
                            ", %" PRId64 "]",
                            name, values[i], least, LIMIT);
        to[i] = values[i];
    }
    return PGY_OK;
}

static pgy_status read_auto_pad(window *w, const op_node *n, pgy_error *err)
{
    static const char *const NAMES[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    for (int i = 0; i < 4; i++)
        if (op_attr_is(n, "auto_pad", NAMES[i], "NOTSET")) {
            w->auto_pad = (window_pad)i;
            return PGY_OK;
        }
    const op_attr *a = op_attr_find(n, "auto_pad");
    return op_error(
        n, err, PGY_E_ARGUMENT,
        "attribute auto_pad is '%.*s', but must be NOTSET, SAME_UPPER, SAME_LOWER or VALID",
        a ? (int)a->s.size : 0, a && a->s.data ? a->s.data : "");
}

pgy_status window_read(window *w, const op_node *n, size_t rank, pgy_error *err)
{
    *w = (window){.rank = rank};
    if (rank < 1 || rank > WINDOW_MAX)
        return op_error(n, err, PGY_E_UNSUPPORTED,
                        "input 0 has %zu spatial axes; 1 to %d are supported", rank, WINDOW_MAX);
    for (size_t i = 0; i < rank; i++) w->stride[i] = w->dilation[i] = 1;
    int64_t pads[2 * WINDOW_MAX] = {0};
    pgy_status st = read_list(w->kernel, rank, n, "kernel_shape", 1, err);
    if (!st) st = read_list(w->stride, rank, n, "strides", 1, err);
    if (!st) st = read_list(w->dilation, rank, n, "dilations", 1, err);
    if (!st) st = read_list(pads, 2 * rank, n, "pads", 0, err);
    if (!st) st = read_auto_pad(w, n, err);
    if (st) return st;
    for (size_t i = 0; i < rank && w->auto_pad == WINDOW_PAD_EXPLICIT; i++) {
        w->begin[i] = pads[i];
        w->end[i] = pads[rank + i];
    }
    double taps = 1;
    for (size_t i = 0; i < rank; i++) taps *= (double)w->kernel[i];
    if (taps > (double)LIMIT)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute kernel_shape covers %.0f elements, more than is supported",
                        taps);
    w->ceil_mode = op_attr_int(n, "ceil_mode", 0) != 0;
    return PGY_OK;
}

pgy_status window_kernel(window *w, const op_node *n, const int64_t *shape, pgy_error *err)
{
    for (size_t i = 0; i < w->rank; i++) {
        if (shape[i] < 1 || shape[i] > LIMIT)
            return op_error(n, err, PGY_E_SHAPE,
                            "the weights have kernel size %" PRId64
                            " on spatial axis %zu, which is not supported",
                            shape[i], i);
        if (w->kernel[i] && w->kernel[i] != shape[i])
            return op_error(n, err, PGY_E_SHAPE,
                            "attribute kernel_shape says %" PRId64
                            " on spatial axis %zu, but the weights"
                            " have %" PRId64,
                            w->kernel[i], i, shape[i]);
        w->kernel[i] = shape[i];
    }
    return PGY_OK;
}

static pgy_status check_fit(const window *w, const op_infer *c, size_t i, dim padded, dim kernel,
                            dim extent, pgy_error *err)
{
    if (!dim_is_const(padded) || !dim_is_const(extent) || padded.value >= extent.value)
        return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "the kernel covers %" PRId64 " elements on spatial axis %zu (size %" PRId64
                    ", dilation %" PRId64 "), but the padded input has only %" PRId64,
                    extent.value, i, kernel.value, w->dilation[i], padded.value);
}

pgy_status window_out(dim *out, const window *w, op_infer *c, size_t i, dim in, dim kernel,
                      pgy_error *err)
{
    dim_table *t = c->dims;
    dim one = dim_const(1), stride = dim_const(w->stride[i]);
    if (dim_is_const(in) && (in.value < 0 || in.value > (INT64_C(1) << 60)))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "spatial axis %zu of input 0 has size %" PRId64 ", which is out of range",
                        i, in.value);
    if (w->auto_pad == WINDOW_PAD_SAME_UPPER || w->auto_pad == WINDOW_PAD_SAME_LOWER) {
        *out = dim_div_ceil(t, in, stride);
        return PGY_OK;
    }
    dim extent = dim_add(t, dim_mul(t, dim_sub(t, kernel, one), dim_const(w->dilation[i])), one);
    /* every window starts before this position */
    dim started = dim_add(t, in, dim_const(w->begin[i]));
    dim padded = dim_add(t, started, dim_const(w->end[i]));
    pgy_status st = check_fit(w, c, i, padded, kernel, extent, err);
    if (st) return st;
    dim room = dim_sub(t, padded, extent);
    if (!w->ceil_mode) {
        *out = dim_add(t, dim_div_floor(t, room, stride), one);
        return PGY_OK;
    }
    *out = dim_add(t, dim_div_ceil(t, room, stride), one);
    /* With ceil_mode, a last window that lies wholly in the end padding is dropped. If the kernel's
     * extent is at least end padding plus stride, no such window exists. */
    if (!dim_is_const(extent) || extent.value < w->end[i] + w->stride[i])
        *out = dim_min(t, *out, dim_div_ceil(t, started, stride));
    return PGY_OK;
}

void window_resolve(window *w, const int64_t *in, const int64_t *out)
{
    for (size_t i = 0; i < w->rank; i++) {
        w->in[i] = in[i];
        w->out[i] = out[i];
        if (w->auto_pad != WINDOW_PAD_SAME_UPPER && w->auto_pad != WINDOW_PAD_SAME_LOWER) continue;
        int64_t total =
            (out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - in[i];
        if (total < 0) total = 0;
        w->begin[i] = w->auto_pad == WINDOW_PAD_SAME_UPPER ? total / 2 : total - total / 2;
        w->end[i] = total - w->begin[i];
    }
}

static size_t product(const int64_t *values, size_t count)
{
    size_t p = 1;
    for (size_t i = 0; i < count; i++) p *= (size_t)values[i];
    return p;
}

size_t window_out_rows(const window *w)
{
    return product(w->out, w->rank - 1);
}

size_t window_in_rows(const window *w)
{
    return product(w->in, w->rank - 1);
}

size_t window_taps(const window *w)
{
    return product(w->kernel, w->rank - 1);
}

size_t window_kernel_count(const window *w)
{
    return product(w->kernel, w->rank);
}

size_t window_in_count(const window *w)
{
    return product(w->in, w->rank);
}

size_t window_out_count(const window *w)
{
    return product(w->out, w->rank);
}

bool window_row(const window *w, size_t row, size_t tap, size_t *in_row)
{
    size_t at = 0, scale = 1;
    for (size_t i = w->rank - 1; i-- > 0;) {
        int64_t o = (int64_t)(row % (size_t)w->out[i]), k = (int64_t)(tap % (size_t)w->kernel[i]);
        row /= (size_t)w->out[i];
        tap /= (size_t)w->kernel[i];
        int64_t x = o * w->stride[i] + k * w->dilation[i] - w->begin[i];
        if (x < 0 || x >= w->in[i]) return false;
        at += (size_t)x * scale;
        scale *= (size_t)w->in[i];
    }
    *in_row = at;
    return true;
}

void window_columns(const window *w, int64_t tap, int64_t *lo, int64_t *hi, int64_t *first)
{
    size_t i = w->rank - 1;
    int64_t stride = w->stride[i],
            shift = w->begin[i] - tap * w->dilation[i]; /* x = o * stride - shift */
    int64_t from = shift > 0 ? (shift + stride - 1) / stride : 0;
    int64_t last = w->in[i] - 1 + shift;
    int64_t to = last < 0 ? 0 : last / stride + 1;
    if (to > w->out[i]) to = w->out[i];
    if (from > to) from = to;
    *lo = from;
    *hi = to;
    *first = from * stride - shift;
}
