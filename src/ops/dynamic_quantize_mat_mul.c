/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft DynamicQuantizeMatMul: A is quantised to uint8 as DynamicQuantizeLinear does, then
 * multiplied with B; the product is scaled to floats. */
#include "ops/class_integer_matmul.h"

enum { A, B, B_SCALE, B_ZERO, BIAS };

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return matmul_infer(c, A, B, c->inputs[A].dtype, err);
}

/* Quantises A to integers minus their zero point, and gives its scale. */
static pgy_status quantise(double **out, double *scale, const op_eval *c, pgy_error *err)
{
    static const bool wanted[3] = {true, true, true};
    const op_node node = {.def = op_find("", "DynamicQuantizeLinear", 11),
                          .name = c->node->name,
                          .opset = 11,
                          .input_count = 1,
                          .output_count = 3};
    op_tensor made[3] = {0};
    double *a = NULL;
    pgy_status st = op_run(&node, &c->inputs[A], made, wanted, c->host, err);
    if (!st) st = workspace_alloc((void **)&a, c, in_count(c, A), sizeof *a, err);
    if (!st) {
        const int64_t zero = op_i64(made[2].value)[0];
        for (size_t i = 0; i < in_count(c, A); i++)
            a[i] = (double)(op_i64(made[0].value)[i] - zero);
        *scale = op_f64(made[1].value)[0];
        *out = a;
    }
    for (size_t i = 0; i < 3; i++) op_tensor_release(&made[i]);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    integer_matmul m = {NULL, 1, B, B_SCALE, B_ZERO, BIAS};
    double *a = NULL;
    pgy_status st = inputs_check(c, "FIFif", err);
    if (!st) st = quantise(&a, &m.a_scale, c, err);
    if (st) return st;
    m.a = a;
    st = integer_matmul_run(c, &m, err);
    mem_free(a);
    return st;
}

static double flops(const op_infer *c)
{
    return matmul_flops(c, A);
}

const op_def OP_dynamic_quantize_mat_mul[] = {
    {"DynamicQuantizeMatMul", "com.microsoft", 1, 0, 3, 5, 1, 1, 0, NULL, "float32", infer, eval,
     flops,
     .signature = "T1 = float32; T2 = int8 uint8; A:T1, B:T2, b_scale:T1, ?b_zero_point:T2, "
                  "?bias:T1 -> Y:T1"},
    {NULL},
};
