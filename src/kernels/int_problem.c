/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of problems with quantised tensors. Their elements need not be aligned, so they are
 * read with the functions of tensor/convert.h. */
#include "kernels/int_problem.h"

#include "tensor/convert.h"

bool int_problem_is_byte(const kernel_tensor *t)
{
    return t->dtype == PGY_I8 || t->dtype == PGY_U8;
}

bool int_problem_has(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype;
}

bool int_problem_is_fixed(const kernel_problem *u, size_t i, size_t count)
{
    if (!int_problem_has(u, i)) return true;
    const size_t have = kernel_count(&u->inputs[i]);
    return u->inputs[i].data && (have == 1 || have == count);
}

static bool are_above(const kernel_problem *u, size_t i, size_t count, double least)
{
    if (!int_problem_has(u, i) || u->inputs[i].dtype != PGY_F32 ||
        !int_problem_is_fixed(u, i, count))
        return false;
    for (size_t k = 0; k < kernel_count(&u->inputs[i]); k++) {
        const double scale = int_problem_float(u, i, k);
        if (!(scale >= least && scale < 1e12)) return false;
    }
    return true;
}

bool int_problem_are_scales(const kernel_problem *u, size_t i, size_t count)
{
    return are_above(u, i, count, 1e-12);
}

bool int_problem_are_factors(const kernel_problem *u, size_t i, size_t count)
{
    return are_above(u, i, count, 0);
}

double int_problem_float(const kernel_problem *u, size_t i, size_t k)
{
    if (!int_problem_has(u, i)) return 0;
    const kernel_tensor *t = &u->inputs[i];
    return element_as_f64(t->dtype, t->data, kernel_count(t) == 1 ? 0 : k);
}

int64_t int_problem_int(const kernel_problem *u, size_t i, size_t k)
{
    if (!int_problem_has(u, i)) return 0;
    const kernel_tensor *t = &u->inputs[i];
    return element_as_i64(t->dtype, t->data, kernel_count(t) == 1 ? 0 : k);
}

int32_t int_problem_low(pgy_dtype dtype)
{
    return dtype == PGY_I8 ? -128 : 0;
}

int32_t int_problem_high(pgy_dtype dtype)
{
    return dtype == PGY_I8 ? 127 : 255;
}

void int_problem_linear(kernel_problem *u)
{
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
}
