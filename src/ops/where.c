/* SPDX-License-Identifier: Apache-2.0 */
/* Where: elements of the second input where the condition holds, else of the third; all three
 * broadcast. */
#include "ops/broadcast.h"
#include "ops/move.h"
#include "ops/rule.h"

static dim choose(dim_table *t, dim condition, dim x, dim y)
{
    if (dim_equal(x, y)) return x;
    if (dim_is_const(condition)) return condition.value ? x : y;
    return dim_unknown(t, "an unknown condition chooses it");
}

static void propagate(op_infer *c)
{
    const dim *values[3];
    size_t counts[3], n = 1;
    for (size_t k = 0; k < 3; k++) {
        if (!rule_values(c, k, &values[k], &counts[k])) return;
        if (counts[k] != 1) n = counts[k];
    }
    for (size_t k = 0; k < 3; k++)
        if (counts[k] != n && counts[k] != 1) return;
    dim *elements = n <= RULE_MAX_ELEMENTS ? op_dims(c, n + 1) : NULL;
    if (!elements) return;
    for (size_t i = 0; i < n; i++)
        elements[i] =
            choose(c->dims, rule_element(values[0], counts[0], i),
                   rule_element(values[1], counts[1], i), rule_element(values[2], counts[2], i));
    rule_set_elements(c, 0, elements, n);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    int32_t rank;
    const dim *dims;
    pgy_status st = op_broadcast(c, &rank, &dims, c->inputs, 3, err);
    if (!st) st = rule_check_rank(c->node, rank, err);
    if (!st) st = rule_same_type(c, 1, 2, err);
    if (st) return st;
    op_set_output(c, 0, c->inputs[1].dtype ? c->inputs[1].dtype : c->inputs[2].dtype, rank, dims);
    propagate(c);
    return PGY_OK;
}

typedef struct job {
    char *out;
    const uint8_t *condition;
    const char *x, *y;
} job;

#define T uint8_t
#define NAME run_1
#include "ops/where_loop.inc"
#define T uint64_t
#define NAME run_8
#include "ops/where_loop.inc"
typedef struct wide {
    uint64_t half[2];
} wide;
#define T wide
#define NAME run_16
#include "ops/where_loop.inc"

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *in[3], *out;
    pgy_status st = rule_output(c, 0, &out, err);
    for (size_t k = 0; k < 3 && !st; k++) st = rule_input(c, k, &in[k], err);
    if (st) return st;
    const pgy_dtype storage = pgy_tensor_dtype(out);
    if (pgy_tensor_dtype(in[0]) != PGY_BOOL || pgy_tensor_dtype(in[1]) != storage ||
        pgy_tensor_dtype(in[2]) != storage)
        return op_error(
            c->node, err, PGY_E_TYPE,
            "the inputs must be bool and two tensors of the same type, not %s, %s and %s",
            pgy_dtype_name(c->inputs[0].dtype), pgy_dtype_name(c->inputs[1].dtype),
            pgy_dtype_name(c->inputs[2].dtype));
    job j = {pgy_tensor_data(out), pgy_tensor_data(in[0]), pgy_tensor_data(in[1]),
             pgy_tensor_data(in[2])};
    const size_t bytes = move_size(storage);
    broadcast walk;
    broadcast_init(&walk, out, (const pgy_tensor *const *)in, 3);
    broadcast_each(&walk, bytes == 1 ? run_1 : bytes == 8 ? run_8 : run_16, &j);
    return move_own(out, err);
}

const op_def OP_where[] = {
    {.name = "Where",
     .domain = "",
     .since = 9,
     .min_inputs = 3,
     .max_inputs = 3,
     .min_outputs = 1,
     .max_outputs = 1,
     .types = "bool",
     .infer = infer,
     .eval = eval},
    {0},
};
