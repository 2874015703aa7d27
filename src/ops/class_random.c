/* SPDX-License-Identifier: Apache-2.0 */
/* Random operators: fill the output from a seeded generator, in the order of its elements. */
#include "ops/class_random.h"

#include <math.h>

#include "base/alloc.h"

static const double TURN = 6.283185307179586476925286766559;

pgy_status random_create(mt19937 **out, const op_eval *c, pgy_error *err)
{
    const bool given = op_attr_find(c->node, "seed") != NULL;
    const double seed = op_attr_float(c->node, "seed", 0);
    mt19937 *g = mem_alloc(sizeof *g);
    if (!g) return rule_no_memory(c->node, err);
    mt19937_seed(g, given ? (uint32_t)rule_truncate(seed) : c->host ? c->host->seed : 0);
    *out = g;
    return PGY_OK;
}

void random_uniform(mt19937 *g, double *y, size_t count, double low, double high)
{
    for (size_t i = 0; i < count; i++) y[i] = low + (high - low) * mt19937_double(g);
}

void random_normal(mt19937 *g, double *y, size_t count, double mean, double scale)
{
    for (size_t i = 0; i < count; i += 2) {
        const double radius = sqrt(-2 * log(1 - mt19937_double(g)));
        const double angle = TURN * mt19937_double(g);
        y[i] = mean + scale * radius * cos(angle);
        if (i + 1 < count) y[i + 1] = mean + scale * radius * sin(angle);
    }
}

pgy_status random_type(pgy_dtype *out, const op_node *n, pgy_dtype fallback, pgy_error *err)
{
    const int64_t code = op_attr_int(n, "dtype", 0);
    *out = fallback;
    if (!op_attr_find(n, "dtype")) return PGY_OK;
    *out = code > 0 && code < 1000 ? pgy_dtype_from_onnx((int)code) : PGY_DTYPE_NONE;
    if (*out) return PGY_OK;
    return op_error(n, err, PGY_E_TYPE, "attribute dtype is %lld, which is not an element type",
                    (long long)code);
}

static pgy_status check_float(const op_node *n, pgy_dtype dtype, pgy_error *err)
{
    if (!dtype || pgy_dtype_is_float(dtype)) return PGY_OK;
    return op_error(n, err, PGY_E_TYPE, "the output would have type %s, but must have a float type",
                    pgy_dtype_name(dtype));
}

pgy_status random_infer_shape(op_infer *c, pgy_error *err)
{
    size_t count;
    pgy_dtype dtype;
    const int64_t *shape = op_attr_ints(c->node, "shape", &count);
    pgy_status st = random_type(&dtype, c->node, PGY_F32, err);
    if (!st) st = check_float(c->node, dtype, err);
    if (!st) st = rule_check_rank(c->node, (int64_t)count, err);
    for (size_t i = 0; !st && i < count; i++)
        if (shape[i] < 0)
            st = op_error(c->node, err, PGY_E_SHAPE,
                          "dimension %zu of the shape is %lld, but must not be negative", i,
                          (long long)shape[i]);
    if (st) return st;
    dim *dims = rule_from_ints(c, shape, count);
    if (!dims) return rule_no_memory(c->node, err);
    op_set_output(c, 0, dtype, (int32_t)count, dims);
    return PGY_OK;
}

pgy_status random_infer_like(op_infer *c, pgy_error *err)
{
    pgy_dtype dtype;
    pgy_status st = random_type(&dtype, c->node, c->inputs[0].dtype, err);
    if (!st) st = check_float(c->node, dtype, err);
    if (st) return st;
    op_set_like(c, 0, 0);
    c->outputs[0].dtype = dtype;
    return PGY_OK;
}

typedef void (*random_fill)(mt19937 *g, double *y, size_t count, double a, double b);

static pgy_status fill(op_eval *c, random_fill function, double a, double b, pgy_error *err)
{
    mt19937 *g = NULL;
    pgy_tensor *y;
    pgy_status st = rule_output(c, 0, &y, err);
    if (!st) st = random_create(&g, c, err);
    if (st) return st;
    function(g, op_f64(y), pgy_tensor_count(y), a, b);
    mem_free(g);
    return PGY_OK;
}

pgy_status random_eval_normal(op_eval *c, pgy_error *err)
{
    return fill(c, random_normal, op_attr_float(c->node, "mean", 0),
                op_attr_float(c->node, "scale", 1), err);
}

pgy_status random_eval_uniform(op_eval *c, pgy_error *err)
{
    return fill(c, random_uniform, op_attr_float(c->node, "low", 0),
                op_attr_float(c->node, "high", 1), err);
}
