/* SPDX-License-Identifier: Apache-2.0 */
/* Expresses newer elementwise operators in older ones, and handles versions without broadcasting.
 */
#include "transform/opset/adapters.h"

static pgy_value *constant(rewrite *r, double value)
{
    return rw_scalar_like(r, value, rw_input(r, 0));
}

/* ---- Activations ---------------------------------------------------------------------------- */

/* x / 2 * (1 + erf(x / sqrt 2)), or the approximation by tanh of a polynomial. */
void gelu_down(rewrite *r)
{
    pgy_value *x = rw_input(r, 0), *inner;
    if (rw_is(r, "approximate", "tanh", "none")) {
        pgy_value *cube = rw_emit(r, "Mul", 2, rw_emit(r, "Mul", 2, x, x), x);
        pgy_value *sum = rw_emit(r, "Add", 2, x, rw_emit(r, "Mul", 2, cube, constant(r, 0.044715)));
        inner =
            rw_emit(r, "Tanh", 1, rw_emit(r, "Mul", 2, sum, constant(r, 0.79788456080286535588)));
    } else {
        inner = rw_emit(r, "Erf", 1, rw_emit(r, "Mul", 2, x, constant(r, 0.70710678118654752440)));
    }
    pgy_value *half = rw_emit(r, "Mul", 2, x, constant(r, 0.5));
    rw_become(r, "Mul", 2, half, rw_emit(r, "Add", 2, inner, constant(r, 1)));
}

void hard_swish_down(rewrite *r)
{
    pgy_value *x = rw_input(r, 0);
    pgy_value *gate = rw_emit(r, "HardSigmoid", 1, x);
    rw_with_float(r, gate, "alpha", 1.0f / 6.0f);
    rw_with_float(r, gate, "beta", 0.5f);
    rw_become(r, "Mul", 2, x, gate);
}

void mish_down(rewrite *r)
{
    pgy_value *x = rw_input(r, 0);
    rw_become(r, "Mul", 2, x, rw_emit(r, "Tanh", 1, rw_emit(r, "Softplus", 1, x)));
}

static pgy_value *swish_gate(rewrite *r, pgy_value *x)
{
    const double alpha = (double)rw_float(r, "alpha", 1);
    return rw_emit(r, "Sigmoid", 1, alpha == 1 ? x : rw_emit(r, "Mul", 2, x, constant(r, alpha)));
}

void swish_down(rewrite *r)
{
    pgy_value *x = rw_input(r, 0);
    rw_become(r, "Mul", 2, x, swish_gate(r, x));
}

void swi_glu_down(rewrite *r)
{
    pgy_value *gate = rw_input(r, 0);
    pgy_value *gated = rw_emit(r, "Mul", 2, gate, swish_gate(r, gate));
    rw_become(r, "Mul", 2, gated, rw_input(r, 1));
}

/* alpha * elu(x / alpha) */
void celu_down(rewrite *r)
{
    pgy_value *alpha = constant(r, (double)rw_float(r, "alpha", 1));
    pgy_value *elu = rw_emit(r, "Elu", 1, rw_emit(r, "Div", 2, rw_input(r, 0), alpha));
    rw_become(r, "Mul", 2, elu, alpha);
}

/* ---- Comparisons ---------------------------------------------------------------------------- */

static pgy_value *compare(rewrite *r, const char *op_type)
{
    pgy_value *v = rw_emit(r, op_type, 2, rw_input(r, 0), rw_input(r, 1));
    if (v) box_of(v)->known.dtype = PGY_BOOL;
    return v;
}

/* Not the negation of Less, because comparisons with NaN are always false. */
void greater_or_equal_down(rewrite *r)
{
    pgy_value *greater = compare(r, "Greater");
    rw_become(r, "Or", 2, greater, compare(r, "Equal"));
}

void less_or_equal_down(rewrite *r)
{
    pgy_value *less = compare(r, "Less");
    rw_become(r, "Or", 2, less, compare(r, "Equal"));
}

static pgy_value *is_nan(rewrite *r, size_t input)
{
    pgy_value *v = rw_emit(r, "IsNaN", 1, rw_input(r, input));
    if (v) box_of(v)->known.dtype = PGY_BOOL;
    return v;
}

/* Older versions of Equal lack floats: equal is neither less nor greater, and not NaN. */
void equal_down(rewrite *r)
{
    const pgy_dtype dtype = rw_dtype(rw_input(r, 0));
    if (!dtype || !pgy_dtype_is_float(dtype)) return;
    pgy_value *less = compare(r, "Less");
    pgy_value *differs = rw_emit(r, "Or", 2, less, compare(r, "Greater"));
    pgy_value *undefined = is_nan(r, 0);
    undefined = rw_emit(r, "Or", 2, undefined, is_nan(r, 1));
    rw_become(r, "Not", 1, rw_emit(r, "Or", 2, differs, undefined));
}

/* ---- Triangles ------------------------------------------------------------------------------ */

void trilu_down(rewrite *r)
{
    pgy_value *x = rw_input(r, 0), *k = rw_input(r, 1);
    const bool upper = rw_int(r, "upper", 1) != 0;
    pgy_value *rows = rw_positions(r, x, -2, 1);
    pgy_value *diagonal = rw_emit(r, "Sub", 2, rw_positions(r, x, -1, 0), rows);
    pgy_value *outside =
        rw_emit(r, upper ? "Less" : "Greater", 2, diagonal, k ? k : rw_scalar(r, PGY_I64, 0));
    rw_become(r, "Where", 3, outside, rw_scalar_like(r, 0, x), x);
}

/* ---- Before broadcasting -------------------------------------------------------------------- */

static bool same_shapes(const rewrite *r)
{
    if (r->node->input_count == 0) return true;
    const op_value *first = &box_of(rw_input(r, 0))->known;
    for (size_t i = 1; i < r->node->input_count; i++) {
        if (!rw_input(r, i)) return false;
        const op_value *other = &box_of(rw_input(r, i))->known;
        if (first->rank < 0 || other->rank != first->rank) return false;
        for (int32_t k = 0; k < first->rank; k++)
            if (!dim_equal(first->dims[k], other->dims[k])) return false;
    }
    return true;
}

void broadcast_down(rewrite *r)
{
    if (!same_shapes(r))
        rw_refuse(r, "below opset 8 its inputs must have one shape, which is not certain here");
}

static pgy_value *sum_of_inputs(rewrite *r, size_t count)
{
    pgy_value *sum = rw_input(r, 0);
    for (size_t i = 1; i < count; i++) sum = rw_emit(r, "Add", 2, sum, rw_input(r, i));
    return sum;
}

void sum_down(rewrite *r)
{
    const size_t last = r->node->input_count - 1;
    if (!same_shapes(r)) rw_become(r, "Add", 2, sum_of_inputs(r, last), rw_input(r, last));
}

void mean_down(rewrite *r)
{
    const size_t count = r->node->input_count;
    if (!same_shapes(r))
        rw_become(r, "Div", 2, sum_of_inputs(r, count), constant(r, (double)count));
}
