/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QGemm: the exact product of 8-bit matrices, either transposed, plus an integer C,
 * scaled by alpha * a_scale * b_scale. The result is float, or quantised if the output has a
 * scale. */
#include "ops/class_integer.h"
#include "ops/gemm.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C, Y_SCALE, Y_ZERO };

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {"transA", OP_ATTR_INT, false, "0"},
    {"transB", OP_ATTR_INT, false, "0"},
    {NULL},
};

/* Scales and zero points are single, or one for each of the n columns. */
static pgy_status check_count(const op_infer *c, size_t input, dim n, pgy_error *err)
{
    dim count;
    const bool columns = input == B_SCALE || input == B_ZERO;
    if (!op_has_input(c, input) ||
        !rule_count(c, &count, c->inputs[input].rank, c->inputs[input].dims) ||
        !dim_differ(count, dim_const(1)) || (columns && !dim_differ(count, n)))
        return PGY_OK;
    str text = {0};
    dim_print(&text, count);
    const pgy_status st = op_error(c->node, err, PGY_E_SHAPE,
                                   "input %zu has %s elements, which does not fit the output",
                                   input, str_text(&text));
    str_deinit(&text);
    return st;
}

static pgy_status check_counts(const op_infer *c, pgy_error *err)
{
    static const size_t INPUTS[] = {A_SCALE, A_ZERO, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO};
    const op_value *y = &c->outputs[0];
    const dim n = y->rank == 2 ? y->dims[1] : dim_unknown(c->dims, "the shape is not known");
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < sizeof INPUTS / sizeof *INPUTS; i++)
        st = check_count(c, INPUTS[i], n, err);
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const bool quantised = op_has_input(c, Y_SCALE);
    const op_value values[3] = {c->inputs[A], c->inputs[B],
                                op_has_input(c, C) ? c->inputs[C] : (op_value){.rank = -1}};
    const bool present[3] = {true, true, op_has_input(c, C)};
    op_node node = *c->node;
    node.signature = NULL;
    op_infer inner = *c;
    node.def = op_find("", "Gemm", 13);
    node.opset = 13;
    node.input_count = 3;
    inner.node = &node;
    inner.inputs = values;
    inner.present = present;
    const pgy_status st = node.def->infer(&inner, err);
    c->why = inner.why;
    if (st) return st;
    c->outputs[0].dtype = !quantised                ? c->inputs[A_SCALE].dtype
                          : op_has_input(c, Y_ZERO) ? c->inputs[Y_ZERO].dtype
                                                    : c->inputs[A].dtype;
    return check_counts(c, err);
}

typedef struct product {
    size_t m, n, k;
    bool trans_a, trans_b;
} product;

static void store(const op_eval *c, const product *p, const double *acc)
{
    const double factor = op_attr_float(c->node, "alpha", 1) * in_f64(c, A_SCALE)[0];
    const double *scale = in_f64(c, B_SCALE), *y_scale = in_f64(c, Y_SCALE);
    const int64_t *bias = in_i64(c, C), zero = in_i64(c, Y_ZERO) ? in_i64(c, Y_ZERO)[0] : 0;
    const int64_t *s = in_shape(c, C);
    const size_t rank = in_rank(c, C), scales = in_count(c, B_SCALE);
    const bool columns = rank && s[rank - 1] != 1, rows = rank == 2 && s[0] != 1;
    for (size_t i = 0; i < p->m * p->n; i++) {
        const size_t row = i / p->n, column = i % p->n;
        const size_t at = (rows ? row * (columns ? p->n : 1) : 0) + (columns ? column : 0);
        const double sum = acc[i] + (bias ? (double)bias[at] : 0);
        const double v = sum * factor * scale[scales == 1 ? 0 : column];
        if (y_scale)
            out_i64(c, 0)[i] = integer_quantize(v / y_scale[0], zero, c->outputs[0].dtype);
        else
            out_f64(c, 0)[i] = v;
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    product p = {.trans_a = op_attr_int(c->node, "transA", 0) != 0,
                 .trans_b = op_attr_int(c->node, "transB", 0) != 0};
    double *a = NULL, *b = NULL, *acc = NULL;
    pgy_status st = inputs_check(c, "IFiIFiifi", err);
    if (st || !out_count(c, 0)) return st;
    const int64_t *s = in_shape(c, A);
    p.m = (size_t)out_shape(c, 0)[0];
    p.n = (size_t)out_shape(c, 0)[1];
    p.k = (size_t)s[p.trans_a ? 0 : 1];
    if (pgy_tensor_dtype(c->outputs[0].value) != (in_f64(c, Y_SCALE) ? PGY_I64 : PGY_F64))
        st = op_error(c->node, err, PGY_E_TYPE, "the output cannot have type %s",
                      pgy_dtype_name(c->outputs[0].dtype));
    if (!st) st = integer_shifted(&a, c, A, A_ZERO, 0, err);
    if (!st) st = integer_shifted(&b, c, B, B_ZERO, p.trans_b ? 0 : 1, err);
    if (!st) st = workspace_alloc((void **)&acc, c, p.m * p.n, sizeof *acc, err);
    if (!st) {
        const gemm_matrix left = {a, p.trans_a ? 1 : s[1], p.trans_a ? s[1] : 1};
        const int64_t width = in_shape(c, B)[1];
        const gemm_matrix right = {b, p.trans_b ? 1 : width, p.trans_b ? width : 1};
        st = gemm_f64(p.m, p.n, p.k, left, right, acc, p.n, false, err);
    }
    if (!st) store(c, &p, acc);
    mem_free(a);
    mem_free(b);
    mem_free(acc);
    return st;
}

static double flops(const op_infer *c)
{
    const op_value *a = &c->inputs[A];
    const size_t inner = op_attr_int(c->node, "transA", 0) ? 0 : 1;
    return a->rank == 2 ? 2 * dims_product(&c->outputs[0]) * (double)a->dims[inner].value : 0;
}

const op_def OP_q_gemm[] = {
    {"QGemm", "com.microsoft", 1, 0, 6, 9, 1, 1, 0, ATTRS, "int8 uint8", infer, eval, flops,
     .signature = "T = float32; TA = int8 uint8; TB = int8 uint8; TC = int32; TYZ = int8 "
                  "uint8; TY = float32 int8 uint8; A:TA, a_scale:T, a_zero_point:TA, B:TB, "
                  "b_scale:T, b_zero_point:TB, ?C:TC, ?y_scale:T, ?y_zero_point:TYZ -> Y:TY"},
    {NULL},
};
