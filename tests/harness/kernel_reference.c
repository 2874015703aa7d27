/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/kernel_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static op_tensor value_of(const kernel_case *c, size_t i)
{
    const kernel_tensor *t = &c->problem.inputs[i];
    op_tensor value = {.dtype = t->dtype};
    if (!t->dtype) return value;
    assert_int_equal(pgy_tensor_create(&value.value, PGY_F64, (size_t)t->rank, t->shape, NULL), 0);
    for (size_t k = 0; k < kernel_count(t); k++) op_f64(value.value)[k] = (double)c->inputs[i][k];
    return value;
}

void case_output_of_reference(kernel_case *c)
{
    op_tensor inputs[KERNEL_MAX_INPUTS], output = {0};
    const bool wanted = true;
    pgy_error err = {0};
    for (size_t i = 0; i < c->problem.input_count; i++) inputs[i] = value_of(c, i);
    c->node.output_count = 1;
    if (op_run(&c->node, inputs, &output, &wanted, &(op_host){0}, &err)) fail_msg("%s", err.text);
    c->node.output_count = 0;
    case_output(c, (int32_t)pgy_tensor_rank(output.value), pgy_tensor_shape(output.value));
    memcpy(c->wanted, op_f64(output.value), pgy_tensor_count(output.value) * sizeof *c->wanted);
    for (size_t i = 0; i < c->problem.input_count; i++) op_tensor_release(&inputs[i]);
    op_tensor_release(&output);
}

size_t case_run_layouts(kernel_case *c, double tolerance)
{
    size_t ran = 0;
    for (int layout = KERNEL_LINEAR; layout <= KERNEL_BLOCKED_16; layout++)
        ran += case_run_layout(c, (kernel_layout)layout, tolerance);
    return ran;
}
