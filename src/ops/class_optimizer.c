/* SPDX-License-Identifier: Apache-2.0 */
/* Training steps, tensor by tensor: gradient i and state i belong to tensor i and must have its
 * shape. */
#include "ops/class_optimizer.h"

enum { FIRST = 2 }; /* index of the first tensor among the inputs */

/* Gives the number of optimised tensors, which is the length of each group of inputs (tensors,
 * gradients, state). */
static pgy_status group_size(size_t *out, const op_node *n, size_t kept, pgy_error *err)
{
    const size_t given = n->input_count - FIRST;
    *out = given / (kept + 2);
    if (given % (kept + 2))
        return op_error(
            n, err, PGY_E_FORMAT,
            "the node has %zu inputs after the step count, which is not a multiple of %zu", given,
            kept + 2);
    if (n->output_count > *out * (kept + 1))
        return op_error(n, err, PGY_E_FORMAT,
                        "the node has %zu outputs, but its inputs give only %zu", n->output_count,
                        *out * (kept + 1));
    return PGY_OK;
}

static pgy_status check_group(op_infer *c, size_t i, size_t size, size_t kept, pgy_error *err)
{
    const op_value *x = &c->inputs[FIRST + i];
    for (size_t k = 1; k < kept + 2; k++) {
        const size_t at = FIRST + k * size + i;
        pgy_status st = rule_same_type(c, FIRST + i, at, err);
        if (!st && x->rank >= 0) st = rank_check(c, at, x->rank, x->rank, err);
        for (int32_t d = 0; !st && d < x->rank; d++)
            st = dim_check(c, at, (size_t)d, x->dims[d], "the same dimension of the tensor", err);
        if (st) return st;
    }
    return PGY_OK;
}

pgy_status optimizer_infer(op_infer *c, size_t kept, pgy_error *err)
{
    size_t size;
    pgy_status st = group_size(&size, c->node, kept, err);
    for (size_t i = 0; !st && i < size; i++) st = check_group(c, i, size, kept, err);
    for (size_t i = 0; !st && i < c->node->output_count; i++)
        op_set_like(c, i, i < size ? FIRST + i : FIRST + size + i);
    return st;
}

pgy_status optimizer_start(const op_eval *c, double *rate, int64_t *count, pgy_error *err)
{
    const int64_t *steps;
    size_t given;
    pgy_status st = inputs_check(c, "FIF", err);
    if (!st) st = op_eval_ints(c, 1, &steps, &given, err);
    if (st) return st;
    if (given != 1 || in_count(c, 0) != 1)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the learning rate and the step count have %zu and %zu elements, but must "
                        "have one each",
                        in_count(c, 0), given);
    *rate = *in_f64(c, 0);
    *count = *steps;
    return PGY_OK;
}

static void run_group(op_eval *c, size_t i, size_t size, size_t kept, double rate,
                      optimizer_step step, const void *user)
{
    const double *x = in_f64(c, FIRST + i), *gradient = in_f64(c, FIRST + size + i);
    double *y = out_f64(c, i);
    for (size_t e = 0, n = in_count(c, FIRST + i); e < n; e++) {
        double state[OPTIMIZER_MAX_KEPT], value = x[e];
        for (size_t k = 0; k < kept; k++) state[k] = in_f64(c, FIRST + (k + 2) * size + i)[e];
        step(&value, gradient[e], state, rate, user);
        if (y) y[e] = value;
        for (size_t k = 0; k < kept; k++) {
            double *out = out_f64(c, (k + 1) * size + i);
            if (out) out[e] = state[k];
        }
    }
}

pgy_status optimizer_run(op_eval *c, size_t kept, double rate, optimizer_step step,
                         const void *user, pgy_error *err)
{
    size_t size;
    pgy_status st = group_size(&size, c->node, kept, err);
    for (size_t i = FIRST; !st && i < c->node->input_count; i++)
        if (!c->inputs[i].value || pgy_tensor_dtype(c->inputs[i].value) != PGY_F64)
            st = op_error(c->node, err, PGY_E_TYPE, "input %zu must hold floats", i);
    for (size_t i = 0; !st && i < size; i++) run_group(c, i, size, kept, rate, step, user);
    return st;
}
