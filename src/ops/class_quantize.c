/* SPDX-License-Identifier: Apache-2.0 */
/* Granularities of quantization: one scale for all, one per index of an axis, or one per block
 * along an axis. */
#include "ops/class_quantize.h"

#include <math.h>

#include "ops/move.h"

static pgy_status set_axis(quantize_grid *g, const op_eval *c, const pgy_tensor *x,
                           const pgy_tensor *scale, pgy_error *err)
{
    const op_node *n = c->node;
    const int64_t block = op_attr_int(n, "block_size", 0);
    const size_t rank = pgy_tensor_rank(x);
    size_t axis;
    pgy_status st = op_axis(&axis, n, op_attr_int(n, "axis", 1), (int32_t)rank, err);
    if (st) return st;
    if (block < 0)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute block_size is %lld, but must not be negative", (long long)block);
    const int64_t *shape = pgy_tensor_shape(x), *scales = pgy_tensor_shape(scale);
    g->size = (size_t)shape[axis];
    g->inner = move_product(shape, axis + 1, rank);
    g->blocked = block > 0;
    g->block = block ? (size_t)block : 1;
    g->blocks = g->size / g->block + (g->size % g->block != 0);
    bool fits = pgy_tensor_rank(scale) == (g->blocked ? rank : 1);
    for (size_t d = 0; fits && g->blocked && d < rank; d++)
        fits = (size_t)scales[d] == (d == axis ? g->blocks : (size_t)shape[d]);
    if (fits && !g->blocked) fits = (size_t)scales[0] == g->size;
    if (!fits)
        return op_error(
            n, err, PGY_E_SHAPE,
            "the number of scales, %zu, does not fit axis %zu of %zu elements with block size %lld",
            pgy_tensor_count(scale), axis, g->size, (long long)block);
    return PGY_OK;
}

pgy_status quantize_grid_init(quantize_grid *g, const op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *scale, *zero;
    *g = (quantize_grid){.size = 1, .inner = 1, .block = 1, .blocks = 1};
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_input(c, 1, &scale, err);
    if (st) return st;
    g->count = pgy_tensor_count(x);
    g->per_tensor = pgy_tensor_count(scale) == 1 && pgy_tensor_rank(scale) <= 1;
    if (pgy_tensor_dtype(scale) != PGY_F64)
        return op_error(c->node, err, PGY_E_TYPE, "the scale must be a float tensor");
    if (!g->per_tensor) st = set_axis(g, c, x, scale, err);
    if (st || !op_has_value(c, 2)) return st;
    st = rule_input(c, 2, &zero, err);
    if (!st && pgy_tensor_count(zero) != pgy_tensor_count(scale))
        return op_error(c->node, err, PGY_E_SHAPE, "there are %zu zero points for %zu scales",
                        pgy_tensor_count(zero), pgy_tensor_count(scale));
    return st;
}

size_t quantize_scale_index(const quantize_grid *g, size_t i)
{
    if (g->per_tensor) return 0;
    const size_t along = i / g->inner % g->size;
    if (!g->blocked) return along;
    return (i / g->inner / g->size * g->blocks + along / g->block) * g->inner + i % g->inner;
}

pgy_status quantize_type(pgy_dtype *out, const op_node *n, const char *attr, pgy_error *err)
{
    const int64_t code = op_attr_int(n, attr, 0);
    *out = code > 0 && code < 1000 ? pgy_dtype_from_onnx((int)code) : PGY_DTYPE_NONE;
    if (code == 0 || *out) return PGY_OK;
    return op_error(n, err, PGY_E_TYPE, "attribute '%s' is %lld, which is not an element type",
                    attr, (long long)code);
}

int64_t quantize_int(double v, int64_t zero, pgy_dtype to)
{
    const pgy_dtype_info *info = pgy_dtype_describe(to);
    const bool is_signed = info->kind == PGY_KIND_SIGNED;
    const double low = is_signed ? -ldexp(1, (int)info->bits - 1) : 0;
    const double high = ldexp(1, (int)info->bits - is_signed) - 1;
    const double moved = nearbyint(v) + (double)zero;
    return (int64_t)(moved > low ? moved < high ? moved : high : low);
}

static double to_f32(double v)
{
    return (double)(float)v;
}

void quantize_extend(double *low, double *high, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        *low = x[i] < *low ? x[i] : *low;
        *high = x[i] > *high ? x[i] : *high;
    }
}

/* Scale and quotients are rounded to float32, the type the operator is defined in, because they
 * decide ties. */
double quantize_dynamic_scale(int64_t *zero, double low, double high)
{
    const double scale = high == low ? 1 : to_f32(to_f32(to_f32(high) - to_f32(low)) / 255);
    *zero = quantize_int(to_f32(-to_f32(low) / scale), 0, PGY_U8);
    return scale;
}

int64_t quantize_dynamic_int(double x, double scale, int64_t zero)
{
    return quantize_int(to_f32(to_f32(x) / scale), zero, PGY_U8);
}
