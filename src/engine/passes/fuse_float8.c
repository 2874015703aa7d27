/* SPDX-License-Identifier: Apache-2.0 */
/* For CUDA devices: products of a dequantised float8 tensor and dequantised constant float8 weights
 * become Float8MatMul of domain pgy, which fuse_matmul gives a bias, a residual and an activation.
 * If a QuantizeLinear alone reads the result, it makes float8 itself. */
#include "engine/passes/pass.h"
#include "tensor/convert.h"
#include "transform/pattern.h"

static const char FUSED[] = "pgy:Float8MatMul";

enum { A, B, BIAS, CHUNK = 16 }; /* CHUNK: kernels read rows in whole chunks of 16 bytes */

static bool is_float8(pgy_dtype t)
{
    return t == PGY_F8E4M3FN || t == PGY_F8E5M2;
}

static bool is_zero(pattern *p, pgy_value *v)
{
    pgy_tensor *t = NULL;
    const bool found = pattern_is_constant(p, v) && !fold_constant(&t, &p->f, v, NULL) && t;
    const bool zero = found && pgy_tensor_count(t) == 1 &&
                      element_as_f64(pgy_tensor_dtype(t), pgy_tensor_data(t), 0) == 0;
    pgy_tensor_release(t);
    return zero;
}

/* Has node n (Q or DQ) one constant scale and no zero point but 0? */
static bool has_one_scale(pattern *p, const pgy_node *n, double *scale)
{
    pgy_value *zero = pattern_input(n, 2);
    return !pattern_int(n, "block_size", 0) && pattern_rank(n->inputs[1]) <= 1 &&
           pattern_has_at_most(n->inputs[1], 1) && pattern_scalar(p, n->inputs[1], scale) &&
           *scale > 0 && (!zero || is_zero(p, zero));
}

/* Reads v = DequantizeLinear of float8. */
static pgy_value *dequantised(pattern *p, const pgy_value *v, double *scale)
{
    const pgy_node *n = pattern_from(v, "DequantizeLinear");
    if (!n || pattern_int(n, "output_dtype", 0) || !is_float8(pattern_dtype(n->inputs[0])) ||
        !has_one_scale(p, n, scale))
        return NULL;
    return n->inputs[0];
}

static bool is_product(const pgy_node *n)
{
    if (pattern_is(n, "Gemm"))
        return !pattern_int(n, "transA", 0) && pattern_float(n, "alpha", 1) == 1 &&
               (!pattern_input(n, BIAS) ||
                (pattern_float(n, "beta", 1) == 1 && pattern_rank(n->inputs[BIAS]) == 1 &&
                 pattern_same_size(n->inputs[BIAS], 0, n->outputs[0], 1)));
    return pattern_is(n, "MatMul");
}

static int64_t onnx_type(pgy_dtype t)
{
    return pgy_dtype_describe(t)->onnx;
}

static bool fuse_product(pattern *p, pgy_node *n)
{
    double scales[2];
    if (!is_product(n) || pattern_rank(n->inputs[A]) < 2 || pattern_rank(n->inputs[B]) != 2)
        return false;
    pgy_value *const a = dequantised(p, n->inputs[A], &scales[0]), *const b = dequantised(
                                                                       p, n->inputs[B], &scales[1]);
    const bool turned = pattern_int(n, "transB", 0) != 0;
    const pgy_dtype type = pattern_dtype(n->outputs[0]);
    if (!a || !b || !pattern_is_constant(p, b) || pattern_dtype(a) != pattern_dtype(b) ||
        pattern_size(b, turned) <= 0 || pattern_size(b, turned) % CHUNK ||
        (type != PGY_F16 && type != PGY_BF16 && type != PGY_F32))
        return false;
    pgy_value *const inputs[] = {a, b, pattern_input(n, BIAS)};
    pgy_node *made = pattern_put(p, n, FUSED, inputs, 3);
    pattern_set_float(p, made, "alpha", scales[0] * scales[1]);
    pattern_set_int(p, made, "output_dtype", onnx_type(type));
    if (turned) pattern_set_int(p, made, "transB", 1);
    return true;
}

/* A QuantizeLinear to the type of A, and nothing else, reads the result. */
static bool fuse_end(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"activation", "alpha", "transB"};
    pgy_value *inputs[4];
    double scale;
    pgy_node *end = pattern_user(n);
    if (!pattern_is(n, FUSED) || !pattern_is(end, "QuantizeLinear") ||
        end->inputs[0] != n->outputs[0] || is_float8(pattern_dtype(n->outputs[0])))
        return false;
    const pgy_dtype type = pattern_dtype(end->outputs[0]);
    if (!is_float8(type) || !pattern_int(end, "saturate", 1) || pattern_int(end, "precision", 0) ||
        !has_one_scale(p, end, &scale))
        return false;
    for (size_t i = 0; i < 4; i++) inputs[i] = pattern_input(n, i);
    pgy_node *made = pattern_put(p, end, FUSED, inputs, 4);
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, n, KEPT[i]);
    pattern_set_int(p, made, "output_dtype", onnx_type(type));
    pattern_set_float(p, made, "y_scale", scale);
    return true;
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_product, fuse_end, NULL};
    return pass_is_for_cuda(target) ? pattern_run(g, "fuse_float8", RULES, changes, err) : PGY_OK;
}

const pass PASS_fuse_float8 = {
    .name = "fuse_float8", .summary = "products of float8, for CUDA devices", .run_for = run};
