/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/int_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/extent_check.h"
#include "tensor/convert.h"

enum { GUARD = 256, CANARY = 0x5a };

/* ---- Making a case -------------------------------------------------------------------------- */

void int_case_start(int_case *c, const char *domain, const char *op, int64_t opset)
{
    *c = (int_case){.seed = 7};
    case_start(&c->c, domain, op, opset);
}

static double next(int_case *c)
{
    c->seed = c->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(c->seed >> 11) / 9007199254740992.0;
}

static double random_of(int_case *c, pgy_dtype dtype)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    const double x = next(c);
    if (dtype == PGY_BOOL) return x < 0.5;
    if (pgy_dtype_is_float(dtype)) return float_round(dtype, 8 * x - 4, true);
    const double size = ldexp(1, (int)info->bits);
    return floor(x * size) - (info->kind == PGY_KIND_SIGNED ? size / 2 : 0);
}

static void add(int_case *c, pgy_dtype dtype, bool constant, int32_t rank, const int64_t *shape,
                const double *values)
{
    const size_t i = c->c.problem.input_count++;
    kernel_tensor *t = &c->c.problem.inputs[i];
    pgy_error err = {0};
    c->c.node.input_count++;
    if (rank < 0) return;
    const pgy_dtype storage = dtype == PGY_BOOL           ? PGY_BOOL
                              : pgy_dtype_is_float(dtype) ? PGY_F64
                                                          : PGY_I64;
    assert_int_equal(pgy_tensor_create(&c->stored[i], storage, (size_t)rank, shape, &err), 0);
    for (size_t k = 0; k < pgy_tensor_count(c->stored[i]); k++) {
        const double v = values ? values[k] : random_of(c, dtype);
        if (storage == PGY_BOOL)
            ((bool *)pgy_tensor_data(c->stored[i]))[k] = v != 0;
        else if (storage == PGY_F64)
            op_f64(c->stored[i])[k] = float_round(dtype, v, true);
        else
            op_i64(c->stored[i])[k] = (int64_t)v;
    }
    assert_int_equal(op_from_storage(&c->declared[i], c->stored[i], dtype, &err), 0);
    *t = (kernel_tensor){.dtype = dtype, .rank = rank, .shape = c->c.shapes[i]};
    if (rank) memcpy(c->c.shapes[i], shape, (size_t)rank * sizeof *shape);
    if (constant) t->data = pgy_tensor_data(c->declared[i]);
}

void int_case_input(int_case *c, pgy_dtype dtype, bool constant, int32_t rank, const int64_t *shape)
{
    add(c, dtype, constant, rank, shape, NULL);
}

void int_case_values(int_case *c, pgy_dtype dtype, int32_t rank, const int64_t *shape,
                     const double *values)
{
    add(c, dtype, true, rank, shape, values);
}

void int_case_scalar(int_case *c, pgy_dtype dtype, double value)
{
    add(c, dtype, true, 0, NULL, &value);
}

void int_case_scales(int_case *c, int64_t count, double least)
{
    double *values = mem_calloc((size_t)count, sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++) values[i] = least * (1 + next(c));
    add(c, PGY_F32, true, 1, &count, values);
    mem_free(values);
}

void int_case_end(int_case *c)
{
    for (size_t i = 0; i < KERNEL_MAX_INPUTS; i++) {
        pgy_tensor_release(c->stored[i]);
        pgy_tensor_release(c->declared[i]);
    }
    for (size_t i = 0; i < KERNEL_MAX_OUTPUTS; i++) op_tensor_release(&c->wanted[i]);
}

/* ---- Running -------------------------------------------------------------------------------- */

static void *guarded(size_t size, const void *from)
{
    unsigned char *memory = mem_alloc_aligned(64, size + 2 * GUARD);
    assert_non_null(memory);
    memset(memory, CANARY, size + 2 * GUARD);
    if (from)
        memcpy(memory + GUARD, from, size);
    else
        memset(memory + GUARD, 0xff, size);
    return memory + GUARD;
}

static void release(void *data, size_t size, const kernel *k)
{
    unsigned char *memory = (unsigned char *)data - GUARD;
    for (size_t i = 0; i < GUARD; i++)
        if (memory[i] != CANARY || memory[GUARD + size + i] != CANARY)
            fail_msg("%s writes outside of a tensor", k->name);
    mem_free(memory);
}

static void compare(const kernel *k, const op_tensor *wanted, const void *got, double tolerance)
{
    pgy_tensor *declared = NULL;
    pgy_error err = {0};
    assert_int_equal(op_from_storage(&declared, wanted->value, wanted->dtype, &err), 0);
    double most = 0;
    for (size_t i = 0; tolerance > 0 && i < pgy_tensor_count(declared); i++)
        most = fmax(most, fabs(element_as_f64(wanted->dtype, pgy_tensor_data(declared), i)));
    for (size_t i = 0; i < pgy_tensor_count(declared); i++) {
        const double x = element_as_f64(wanted->dtype, got, i);
        const double w = element_as_f64(wanted->dtype, pgy_tensor_data(declared), i);
        if (!(fabs(x - w) <= tolerance * most) && !(isnan(x) && isnan(w)))
            fail_msg("%s: element %zu is %.9g, not %.9g", k->name, i, x, w);
    }
    pgy_tensor_release(declared);
}

static void run_variant(const kernel *k, int_case *c, const kernel_problem *problem,
                        double tolerance)
{
    static const uint32_t PARTS[] = {1, 2, 3, 7};
    kernel_plan plan = {0};
    void *tensors[KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS] = {0};
    size_t sizes[KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS] = {0};
    pgy_error err = {0};
    if (k->prepare(&plan, problem, &err)) fail_msg("%s: %s", k->name, err.text);
    for (size_t i = 0; i < problem->input_count; i++) {
        if (!c->declared[i] || (plan.packed_inputs >> i & 1)) continue;
        sizes[i] = kernel_size_bytes(&problem->inputs[i]);
        tensors[i] = guarded(sizes[i], pgy_tensor_data(c->declared[i]));
    }
    for (size_t p = 0; p < sizeof PARTS / sizeof *PARTS; p++) {
        for (size_t i = 0; i < problem->output_count; i++) {
            const size_t at = problem->input_count + i;
            sizes[at] = kernel_size_bytes(&problem->outputs[i]);
            tensors[at] = guarded(sizes[at], NULL);
        }
        kernel_run_alone(k, &plan, tensors, PARTS[p]);
        if (p == 0) extent_check(k, &plan, problem, tensors);
        for (size_t i = 0; i < problem->output_count; i++) {
            const size_t at = problem->input_count + i;
            compare(k, &c->wanted[i], tensors[at], tolerance);
            release(tensors[at], sizes[at], k);
        }
    }
    for (size_t i = 0; i < problem->input_count; i++)
        if (tensors[i]) release(tensors[i], sizes[i], k);
    kernel_plan_deinit(&plan);
}

static void find_wanted(int_case *c, size_t outputs)
{
    op_tensor inputs[KERNEL_MAX_INPUTS] = {{0}};
    bool wanted[KERNEL_MAX_OUTPUTS] = {0};
    pgy_error err = {0};
    kernel_problem *problem = &c->c.problem;
    for (size_t i = 0; i < problem->input_count; i++)
        inputs[i] = (op_tensor){.dtype = problem->inputs[i].dtype, .value = c->stored[i]};
    for (size_t i = 0; i < outputs; i++) wanted[i] = true;
    c->c.node.output_count = problem->output_count = outputs;
    const op_host host = {.model_precision = true};
    if (op_run(&c->c.node, inputs, c->wanted, wanted, &host, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < outputs; i++) {
        const pgy_tensor *t = c->wanted[i].value;
        int64_t *shape = c->c.shapes[KERNEL_MAX_INPUTS + i];
        if (pgy_tensor_rank(t))
            memcpy(shape, pgy_tensor_shape(t), pgy_tensor_rank(t) * sizeof *shape);
        problem->outputs[i] = (kernel_tensor){
            .dtype = c->wanted[i].dtype, .rank = (int32_t)pgy_tensor_rank(t), .shape = shape};
    }
}

size_t int_case_run(int_case *c, size_t outputs, double tolerance)
{
    size_t ran = 0;
    find_wanted(c, outputs);
    c->c.problem.node = &c->c.node;
    for (size_t i = 0;; i++) {
        const kernel *k = kernel_for(c->c.node.def->domain, c->c.node.def->name, i);
        if (!k) return ran;
        if (k->device) continue;
        kernel_problem problem = c->c.problem;
        double cost = -1;
        if (!kernel_accept(k, &problem, &cost)) continue;
        if (!(cost >= 0)) fail_msg("%s accepts without a cost", k->name);
        run_variant(k, c, &problem, tolerance);
        ran++;
    }
}
