/* SPDX-License-Identifier: Apache-2.0 */
/* The shape rule and evaluation of elementwise operators of one input. The operators' own files
 * hold the loops; this file chooses one by storage type and cuts large tensors into pieces for
 * several threads. */
#include "ops/class_unary.h"

#include "base/system.h"
#include "ops/move.h"

enum { PIECE = 16384 };

static void propagate(op_infer *c, const unary_spec *spec)
{
    const dim *values;
    size_t count;
    if (!spec->symbolic || !rule_values(c, 0, &values, &count) || count > RULE_MAX_ELEMENTS) return;
    dim *elements = op_dims(c, count + 1);
    if (!elements) return;
    for (size_t i = 0; i < count; i++) elements[i] = spec->symbolic(c->dims, values[i]);
    rule_set_elements(c, 0, elements, count);
}

pgy_status unary_infer(op_infer *c, pgy_error *err)
{
    const unary_spec *spec = c->node->def->user_data;
    (void)err;
    op_set_like(c, 0, 0);
    if (spec->predicate) c->outputs[0].dtype = PGY_BOOL;
    propagate(c, spec);
    return PGY_OK;
}

typedef struct job {
    unary_loop loop;
    char *y;
    const char *x;
    size_t y_bytes, x_bytes, count;
    const void *params;
} job;

static void run_piece(size_t piece, void *user)
{
    const job *j = user;
    const size_t begin = piece * PIECE;
    const size_t n = j->count - begin < PIECE ? j->count - begin : PIECE;
    j->loop(j->y + begin * j->y_bytes, j->x + begin * j->x_bytes, n, j->params);
}

pgy_status unary_run(op_eval *c, unary_loop loop, const void *params, pgy_error *err)
{
    pgy_tensor *x, *y;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    job j = {loop,
             pgy_tensor_data(y),
             pgy_tensor_data(x),
             move_size(pgy_tensor_dtype(y)),
             move_size(pgy_tensor_dtype(x)),
             pgy_tensor_count(x),
             params};
    if (pgy_tensor_count(y) != j.count)
        return op_error(c->node, err, PGY_E_SHAPE, "the input has %zu elements, but the output %zu",
                        j.count, pgy_tensor_count(y));
    parallel_for_until_cancelled((j.count + PIECE - 1) / PIECE, run_piece, &j);
    return PGY_OK;
}

unary_loop unary_choose(const unary_spec *spec, pgy_dtype storage)
{
    switch (storage) {
    case PGY_F64: return spec->f64;
    case PGY_I64: return spec->i64;
    case PGY_U64: return spec->u64;
    case PGY_BOOL: return spec->boolean;
    default: return NULL;
    }
}

pgy_status unary_eval(op_eval *c, pgy_error *err)
{
    const unary_spec *spec = c->node->def->user_data;
    double params[UNARY_PARAMS] = {0};
    pgy_tensor *x;
    pgy_status st = rule_input(c, 0, &x, err);
    if (st) return st;
    for (size_t i = 0; i < UNARY_PARAMS && spec->params[i]; i++)
        params[i] = op_attr_float(c->node, spec->params[i], 0);
    unary_loop loop = unary_choose(spec, pgy_tensor_dtype(x));
    if (!loop)
        return op_error(c->node, err, PGY_E_TYPE, "type %s is not supported",
                        pgy_dtype_name(c->inputs[0].dtype));
    return unary_run(c, loop, params, err);
}
