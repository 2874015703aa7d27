/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators of several inputs: the broadcasting shape rule, symbolic values, and the
 * choice of a loop by storage type. Variadic operators fold their inputs from the left, one chunk
 * of elements at a time. */
#include "ops/class_binary.h"

#include <string.h>

#include "ops/broadcast.h"
#include "ops/move.h"

static void propagate(op_infer *c, const binary_spec *spec)
{
    const dim *values, *more;
    size_t count, more_count;
    if (!spec->symbolic || !rule_values(c, 0, &values, &count)) return;
    for (size_t k = 1; k < c->node->input_count; k++) {
        if (!rule_values(c, k, &more, &more_count)) return;
        if (count != more_count && count != 1 && more_count != 1) return;
        const size_t n = count == 1 ? more_count : count;
        dim *elements = n <= RULE_MAX_ELEMENTS ? op_dims(c, n + 1) : NULL;
        if (!elements) return;
        for (size_t i = 0; i < n; i++)
            elements[i] = spec->symbolic(c->dims, rule_element(values, count, i),
                                         rule_element(more, more_count, i));
        values = elements;
        count = n;
    }
    rule_set_elements(c, 0, values, count);
}

static pgy_status infer(op_infer *c, const binary_spec *spec, pgy_error *err)
{
    int32_t rank;
    const dim *dims;
    pgy_status st = op_broadcast(c, &rank, &dims, c->inputs, c->node->input_count, err);
    if (!st) st = rule_check_rank(c->node, rank, err);
    for (size_t k = 1; !st && !spec->mixed && k < c->node->input_count; k++)
        st = rule_same_type(c, 0, k, err);
    if (st) return st;
    pgy_dtype dtype = spec->predicate ? PGY_BOOL : c->inputs[0].dtype;
    for (size_t k = 1; dtype == PGY_DTYPE_NONE && !spec->mixed && k < c->node->input_count; k++)
        dtype = c->inputs[k].dtype;
    op_set_output(c, 0, dtype, rank, dims);
    propagate(c, spec);
    return PGY_OK;
}

pgy_status binary_infer(op_infer *c, pgy_error *err)
{
    return infer(c, c->node->def->user_data, err);
}

pgy_status variadic_infer(op_infer *c, pgy_error *err)
{
    return infer(c, c->node->def->user_data, err);
}

binary_loop binary_choose(const binary_spec *spec, pgy_dtype storage)
{
    switch (storage) {
    case PGY_F64: return spec->f64;
    case PGY_I64: return spec->i64;
    case PGY_U64: return spec->u64;
    case PGY_BOOL: return spec->boolean;
    case PGY_STRING: return spec->string;
    default: return NULL;
    }
}

typedef struct job {
    binary_loop loop;
    char *y;
    const char *a, *b;
    size_t y_bytes, a_bytes, b_bytes;
} job;

static void run(size_t at, const size_t *from, const size_t *step, size_t n, void *user)
{
    const job *j = user;
    j->loop(j->y + at * j->y_bytes, j->a + from[0] * j->a_bytes, step[0],
            j->b + from[1] * j->b_bytes, step[1], n);
}

void binary_run(pgy_tensor *y, const pgy_tensor *a, const pgy_tensor *b, binary_loop loop)
{
    const pgy_tensor *in[] = {a, b};
    broadcast walk;
    job j = {loop,
             pgy_tensor_data(y),
             pgy_tensor_data(a),
             pgy_tensor_data(b),
             move_size(pgy_tensor_dtype(y)),
             move_size(pgy_tensor_dtype(a)),
             move_size(pgy_tensor_dtype(b))};
    broadcast_init(&walk, y, in, 2);
    broadcast_each(&walk, run, &j);
}

static pgy_status wrong_type(const op_eval *c, pgy_error *err)
{
    return op_error(c->node, err, PGY_E_TYPE, "type %s is not supported",
                    pgy_dtype_name(c->inputs[0].dtype));
}

pgy_status binary_eval_with(op_eval *c, const binary_spec *spec, pgy_error *err)
{
    pgy_tensor *a, *b, *y;
    pgy_status st = rule_input(c, 0, &a, err);
    if (!st) st = rule_input(c, 1, &b, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    binary_loop loop = binary_choose(spec, pgy_tensor_dtype(b));
    if (!loop || (!spec->mixed && pgy_tensor_dtype(a) != pgy_tensor_dtype(b)))
        return wrong_type(c, err);
    binary_run(y, a, b, loop);
    return PGY_OK;
}

pgy_status binary_eval(op_eval *c, pgy_error *err)
{
    return binary_eval_with(c, c->node->def->user_data, err);
}

enum { STRETCH = 512 };

/* Computes y = f(y, b). The loops cannot write over their input, so y is first copied to a small
 * buffer, chunk by chunk. */
typedef struct fold {
    binary_loop loop;
    char *y;
    const char *b;
    size_t bytes;
} fold;

static void run_fold(size_t at, const size_t *from, const size_t *step, size_t n, void *user)
{
    const fold *f = user;
    uint64_t left[STRETCH];
    for (size_t i = 0; i < n; i += STRETCH) {
        const size_t m = n - i < STRETCH ? n - i : STRETCH;
        char *y = f->y + (at + i) * f->bytes;
        memcpy(left, y, m * f->bytes);
        f->loop(y, left, 1, f->b + (from[0] + i * step[0]) * f->bytes, step[0], m);
    }
}

static void fold_in(pgy_tensor *y, const pgy_tensor *x, binary_loop loop)
{
    fold f = {loop, pgy_tensor_data(y), pgy_tensor_data(x), move_size(pgy_tensor_dtype(y))};
    broadcast walk;
    broadcast_init(&walk, y, &x, 1);
    broadcast_each(&walk, run_fold, &f);
}

pgy_status variadic_eval(op_eval *c, pgy_error *err)
{
    const size_t count = c->node->input_count;
    binary_loop loop = binary_choose(c->node->def->user_data, op_storage(c->inputs[0].dtype));
    pgy_tensor *first, *x, *y;
    pgy_status st = rule_input(c, 0, &first, err);
    if (!st) st = rule_output(c, 0, &y, err);
    for (size_t k = 0; k < count && !st; k++) {
        st = rule_input(c, k, &x, err);
        if (!st && (!loop || pgy_tensor_dtype(x) != pgy_tensor_dtype(first)))
            st = wrong_type(c, err);
    }
    if (st) return st;
    if (count == 1) return op_forward(c, 0, 0, err);
    binary_run(y, first, c->inputs[1].value, loop);
    for (size_t k = 2; k < count; k++) fold_in(y, c->inputs[k].value, loop);
    return PGY_OK;
}
