/* SPDX-License-Identifier: Apache-2.0 */
/* Values that inference knows: a node on small constants is run, so arithmetic on shapes is exact.
 */
#include "base/alloc.h"
#include "graph/infer.h"

enum { MAX_FOLDED = 4096 };

static bool is_small(const op_value *v)
{
    int64_t count = 1;
    for (int32_t i = 0; i < v->rank; i++) {
        if (!dim_is_const(v->dims[i])) return v->dims[i].expr != NULL;
        if (v->dims[i].value < 0 || !i64_mul(&count, count, v->dims[i].value) || count > MAX_FOLDED)
            return false;
    }
    return true;
}

static bool can_fold(const op_infer *c)
{
    if ((c->node->def->flags & (OP_RANDOM | OP_HAS_GRAPHS)) || c->node->input_count == 0)
        return false;
    for (size_t i = 0; i < c->node->input_count; i++)
        if (c->present[i] && !c->inputs[i].data) return false;
    for (size_t i = 0; i < c->node->output_count; i++)
        if (c->outputs[i].sequence || !is_small(&c->outputs[i])) return false;
    return true;
}

/* Stores a computed tensor as the known value of an output. */
static pgy_status adopt_result(op_infer *c, size_t i, op_tensor *result, graph_state *s,
                               pgy_error *err)
{
    pgy_tensor *t = result->value;
    if (!t || pgy_tensor_count(t) > MAX_FOLDED) {
        op_tensor_release(result);
        return PGY_OK;
    }
    dim *dims = op_dims(c, pgy_tensor_rank(t));
    const pgy_dtype dtype = result->dtype;
    *result = (op_tensor){0};
    const pgy_status st = state_keep_tensor(s, t, err);
    if (st || !dims) return st ? st : graph_no_memory(err);
    for (size_t d = 0; d < pgy_tensor_rank(t); d++) dims[d] = dim_const(pgy_tensor_shape(t)[d]);
    c->outputs[i] =
        (op_value){.dtype = dtype, .rank = (int32_t)pgy_tensor_rank(t), .dims = dims, .data = t};
    return PGY_OK;
}

/* If the node fails on its constants, its outputs stay unknown; that is no error, because a run may
 * never reach the node. */
pgy_status infer_fold(graph_state *s, op_infer *c, pgy_error *err)
{
    if (!can_fold(c)) return PGY_OK;
    arena memory = {0};
    pgy_status st = PGY_OK;
    op_tensor *in = arena_alloc_array(&memory, c->node->input_count, sizeof *in);
    op_tensor *out = arena_alloc_array(&memory, c->node->output_count, sizeof *out);
    if (!in || !out) st = graph_no_memory(err);
    for (size_t i = 0; !st && i < c->node->input_count; i++)
        if (c->present[i])
            in[i] =
                (op_tensor){.dtype = c->inputs[i].dtype, .value = (pgy_tensor *)c->inputs[i].data};
    if (!st && op_run(c->node, in, out, c->wanted, c->host, NULL) == PGY_OK) {
        for (size_t i = 0; i < c->node->output_count; i++) {
            const pgy_status one = st ? PGY_OK : adopt_result(c, i, &out[i], s, err);
            if (one) st = one;
            if (out[i].value) op_tensor_release(&out[i]);
        }
    }
    arena_deinit(&memory);
    return st;
}

pgy_status infer_elements(graph_state *s, op_value *v, pgy_error *err)
{
    pgy_tensor *t = NULL;
    const int64_t shape[1] = {(int64_t)v->element_count};
    const pgy_dtype held = op_storage(v->dtype);
    if (v->data || !v->elements || v->rank < 0 || v->rank > 1 ||
        (held != PGY_I64 && held != PGY_BOOL))
        return PGY_OK;
    for (size_t i = 0; i < v->element_count; i++)
        if (!dim_is_const(v->elements[i])) return PGY_OK;
    if (v->rank == 0 && v->element_count != 1) return PGY_OK;
    pgy_status st = pgy_tensor_create(&t, held, (size_t)v->rank, shape, err);
    if (!st) st = state_keep_tensor(s, t, err);
    if (st) return st;
    for (size_t i = 0; i < v->element_count; i++) {
        if (held == PGY_BOOL)
            ((bool *)pgy_tensor_data(t))[i] = v->elements[i].value != 0;
        else
            op_i64(t)[i] = v->elements[i].value;
    }
    op_conform(t, v->dtype, false);
    v->data = t;
    return PGY_OK;
}
